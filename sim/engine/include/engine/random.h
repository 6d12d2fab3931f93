/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Named random streams. A stream's numbers depend on (seed, name, index) only, so a new component
 * does not shift the numbers of another. xoshiro256++ seeded by splitmix64 (Blackman and Vigna,
 * public domain).
 */
#ifndef JACQUARD_ENGINE_RANDOM_H
#define JACQUARD_ENGINE_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

struct sim_random {
    uint64_t s[4];
};

void sim_random_init(struct sim_random *random, uint64_t seed, const char *name, uint64_t index);

static inline uint64_t sim_random_next(struct sim_random *random)
{
    uint64_t *s = random->s;
    uint64_t sum = s[0] + s[3];
    uint64_t result = ((sum << 23) | (sum >> 41)) + s[0];
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = (s[3] << 45) | (s[3] >> 19);
    return result;
}

/* Uniform in [0, bound), bound > 0; by multiplication, bias below bound/2^64. */
static inline uint64_t sim_random_below(struct sim_random *random, uint64_t bound)
{
    return (uint64_t)(((unsigned __int128)sim_random_next(random) * bound) >> 64);
}

/* Uniform in [0, 1). */
static inline double sim_random_unit(struct sim_random *random)
{
    return (double)(sim_random_next(random) >> 11) * 0x1.0p-53;
}

static inline bool sim_random_chance(struct sim_random *random, double probability)
{
    return sim_random_unit(random) < probability;
}

/* Exponential with the given mean. Uses sim_log(), whose result is the same everywhere. */
double sim_random_exponential(struct sim_random *random, double mean);

/* A well mixed 64-bit value of a string and a number, for deriving seeds and digests. */
uint64_t sim_hash_string(const char *string, uint64_t seed);
uint64_t sim_hash_bytes(const void *bytes, uint64_t length, uint64_t seed);
static inline uint64_t sim_mix(uint64_t x)
{
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9ull;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

#endif
