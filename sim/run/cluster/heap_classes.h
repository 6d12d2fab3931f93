/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The size classes of blocks: see heap.c. */
#ifndef JACQUARD_CLUSTER_HEAP_CLASSES_H
#define JACQUARD_CLUSTER_HEAP_CLASSES_H

#include <stdint.h>

#define GRAIN 16u
#define SMALL 1024u /* up to here classes are multiples of GRAIN */
#define STEPS 8u /* classes for each power of two above */
#define CLASSES (SMALL / GRAIN + STEPS * 32 + 1)

static inline uint32_t log2_of(uint64_t n)
{
    return 63u - (uint32_t)__builtin_clzll(n);
}

/* The class for `bytes`, and the size of its blocks; both include the header. */
static inline uint32_t class_of(uint64_t bytes, uint64_t *size)
{
    uint32_t power, step;

    if (bytes <= SMALL) {
        *size = (bytes + GRAIN - 1) / GRAIN * GRAIN;
        return (uint32_t)(*size / GRAIN);
    }
    power = log2_of(bytes - 1);
    step = (uint32_t)((bytes - 1) >> (power - 3));
    *size = (uint64_t)(step + 1) << (power - 3);
    return SMALL / GRAIN + 1 + (power - 10) * STEPS + (step - STEPS);
}

static inline uint64_t size_of(uint32_t class)
{
    uint32_t above = class - (SMALL / GRAIN + 1);

    if (class <= SMALL / GRAIN)
        return (uint64_t) class * GRAIN;
    return (uint64_t)(above % STEPS + STEPS + 1) << (above / STEPS + 10 - 3);
}

#endif
