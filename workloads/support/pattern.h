/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Bytes that depend on a seed and on their place, so that a receiver can check what it got. */
#ifndef JACQUARD_WORKLOADS_PATTERN_H
#define JACQUARD_WORKLOADS_PATTERN_H

#include <stddef.h>
#include <stdint.h>

void wl_pattern_fill(void *memory, size_t bytes, uint64_t seed);
/* Nonzero: at least one byte differs from the pattern of this seed. */
int wl_pattern_differs(const void *memory, size_t bytes, uint64_t seed);

#endif
