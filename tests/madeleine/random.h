/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Random numbers that are the same everywhere: xorshift with 64 bits. A seed is not 0. */
#ifndef JACQUARD_TESTS_MADELEINE_RANDOM_H
#define JACQUARD_TESTS_MADELEINE_RANDOM_H

#include <stddef.h>
#include <stdint.h>

static inline size_t random_below(uint64_t *seed, size_t below)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return (size_t)(*seed % below);
}

#endif
