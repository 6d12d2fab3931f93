/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A sequence counter protects data that one writer changes and others read: it is odd while the
 * writer changes the data. A reader copies the data between shm_seq_read_begin and
 * shm_seq_read_end, and uses the copy only if both returned true. It never blocks the writer. A
 * reader that gets false decides itself how often it tries again: the writer may have died in the
 * middle of a change. Any thread.
 */
#ifndef JACQUARD_SHM_SEQLOCK_H
#define JACQUARD_SHM_SEQLOCK_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

static inline void shm_seq_write_begin(uint32_t *sequence)
{
    assert(*sequence % 2 == 0); /* there is one writer */
    __atomic_store_n(sequence, *sequence + 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
}

static inline void shm_seq_write_end(uint32_t *sequence)
{
    assert(*sequence % 2 != 0);
    __atomic_store_n(sequence, *sequence + 1, __ATOMIC_RELEASE);
}

/* False: the writer is changing the data. *seen is for shm_seq_read_end. */
static inline bool shm_seq_read_begin(const uint32_t *sequence, uint32_t *seen)
{
    *seen = __atomic_load_n(sequence, __ATOMIC_ACQUIRE);
    return *seen % 2 == 0;
}

/* False: the data has changed since shm_seq_read_begin. */
static inline bool shm_seq_read_end(const uint32_t *sequence, uint32_t seen)
{
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return __atomic_load_n(sequence, __ATOMIC_RELAXED) == seen;
}

#endif
