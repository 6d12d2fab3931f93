/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "pattern.h"

#include <string.h>

static uint64_t pattern_word(uint64_t seed, size_t index)
{
    uint64_t x = (seed + 1) * 0x9e3779b97f4a7c15ull + index * 0xd1342543de82ef95ull;

    return x ^ (x >> 29);
}

void wl_pattern_fill(void *memory, size_t bytes, uint64_t seed)
{
    uint8_t *at = memory;
    uint64_t word;
    size_t i;

    for (i = 0; i < bytes; i += sizeof(word)) {
        word = pattern_word(seed, i);
        memcpy(at + i, &word, bytes - i < sizeof(word) ? bytes - i : sizeof(word));
    }
}

int wl_pattern_differs(const void *memory, size_t bytes, uint64_t seed)
{
    const uint8_t *at = memory;
    uint64_t word;
    size_t i;

    for (i = 0; i < bytes; i += sizeof(word)) {
        word = pattern_word(seed, i);
        if (memcmp(at + i, &word, bytes - i < sizeof(word) ? bytes - i : sizeof(word)) != 0)
            return 1;
    }
    return 0;
}
