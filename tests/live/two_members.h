/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the tests of share.c and quiesce.c have in common: rank 0 is a program of uGNI, rank 1 a
 * member without a NIC that writes the words of its shared segment by hand. Beside the fabric, the
 * two exchange words in memory that they share.
 */
#ifndef JACQUARD_TESTS_TWO_MEMBERS_H
#define JACQUARD_TESTS_TWO_MEMBERS_H

#include "live_test.h"

#include <sys/mman.h>
#include "live/backend.h"

static inline uint32_t load_word(const uint32_t *word)
{
    return __atomic_load_n(word, __ATOMIC_SEQ_CST);
}

static inline void store_word(uint32_t *word, uint32_t value)
{
    __atomic_store_n(word, value, __ATOMIC_SEQ_CST);
}

static inline uint64_t get(const uint64_t *word)
{
    return __atomic_load_n(word, __ATOMIC_SEQ_CST);
}

static inline void set(uint64_t *word, uint64_t value)
{
    __atomic_store_n(word, value, __ATOMIC_SEQ_CST);
}

/* Memory for the words that the ranks share; NULL: there is none. */
static inline void *shared_words(size_t bytes)
{
    void *words = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    return words != MAP_FAILED ? words : NULL;
}

/* Runs a test on two nodes, with all shared words 0. */
static inline int run_two(void *words, size_t bytes, const char *name, void (*what)(void))
{
    memset(words, 0, bytes);
    return lt_run(name, 2, 2, what);
}

/* Rank 1 becomes a member on node 1; returns its part of the shared segment. */
static inline struct aries_live_share *join_without_nic(struct shm **shm)
{
    const struct shm_options options = {.node = 1, .segment_bytes = ARIES_LIVE_SEGMENT_BYTES};

    CHECK(shm_join(&options, shm, NULL) == 0);
    return (struct aries_live_share *)((char *)shm_segment(*shm) + ARIES_LIVE_SHARE_AT);
}

#endif
