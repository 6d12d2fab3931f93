/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "engine/random.h"
#include "engine/real.h"

#include <string.h>

/* Golden-ratio increment of splitmix64: successive states are far apart after sim_mix(). */
#define GOLDEN 0x9e3779b97f4a7c15ull

void sim_random_init(struct sim_random *random, uint64_t seed, const char *name, uint64_t index)
{
    uint64_t state = sim_hash_string(name, sim_mix(seed + GOLDEN)) ^ sim_mix(index + GOLDEN);
    int i;

    for (i = 0; i < 4; i++) {
        state += GOLDEN;
        random->s[i] = sim_mix(state);
    }
}

double sim_random_exponential(struct sim_random *random, double mean)
{
    /* 1 - u lies in (0, 1]: the logarithm is always finite. */
    return -mean * sim_log(1.0 - sim_random_unit(random));
}

uint64_t sim_hash_bytes(const void *bytes, uint64_t length, uint64_t seed)
{
    const unsigned char *at = bytes;
    uint64_t hash = seed ^ (length + GOLDEN) * 0xff51afd7ed558ccdull;
    uint64_t word;

    for (; length >= 8; length -= 8, at += 8) {
        memcpy(&word, at, 8);
        hash = sim_mix((hash ^ word) + GOLDEN);
    }
    if (length > 0) {
        word = 0;
        memcpy(&word, at, length);
        hash = sim_mix((hash ^ word) + GOLDEN);
    }
    return sim_mix(hash);
}

uint64_t sim_hash_string(const char *string, uint64_t seed)
{
    return sim_hash_bytes(string, strlen(string), seed);
}
