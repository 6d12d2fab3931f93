/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The simulator's own memory. What is allocated between the two calls does not come from the memory
 * of the running fiber (sim_core.outside), although the fiber runs. They nest, and each fiber has
 * its own count: it may block between them. The compiler takes allocators for functions that read
 * no variables; the barriers keep the count where it is.
 */
#ifndef JACQUARD_ENGINE_OUTSIDE_H
#define JACQUARD_ENGINE_OUTSIDE_H

#include "engine/sim.h"

static inline __attribute__((always_inline)) void sim_outside_begin(void)
{
    sim_core.outside++;
    __asm__ volatile("" ::: "memory");
}

static inline __attribute__((always_inline)) void sim_outside_end(void)
{
    __asm__ volatile("" ::: "memory");
    sim_core.outside--;
}

#endif
