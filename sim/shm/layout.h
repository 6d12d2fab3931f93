/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The layout of shared memory: the segment of a process, which only that process writes, and the
 * segment of the fabric, which only the daemon writes. Readers load each word once, with the
 * functions of this file, and check what they got. */
#ifndef JACQUARD_SHM_LAYOUT_H
#define JACQUARD_SHM_LAYOUT_H

#include <stdatomic.h>
#include "shm/seqlock.h"
#include "shm/shm.h"

#define SHM_MAGIC 0x4a51764cu
#define SHM_VERSION 2u
#define SHM_LINE 64u
#define SHM_PAGE 4096u
#define SHM_SEGMENT_MAX (1ull << 30)
#define SHM_NODES_MAX (1u << 20)

/* ---- the word of a record -------------------------------------------------------------------- */

/*
 * The first 8 bytes of a record's first slot, stored last. The record is there when `sequence` is
 * that of its position. Words of earlier laps never match. Inside an earlier, longer record a word
 * may have any value; the producer clears such a word before the consumer polls it.
 *
 *   63      56 55     48 47          32 31        16 15       0
 *   | flags   | kind    | count (bytes) | executed  | sequence |
 */
#define RECORD_SKIP 1u /* flag: no record here; the next one is at the start of the ring */
#define RING_BYTES (SHM_RING_SLOTS * SHM_LINE)
#define RING_MASK (SHM_RING_SLOTS - 1u)

static inline uint16_t record_sequence(uint64_t position)
{
    return (uint16_t)(position + 1);
}

static inline uint64_t record_word(uint64_t position, uint64_t executed, uint32_t count,
                                   uint32_t kind, uint32_t flags)
{
    return (uint64_t)flags << 56 | (uint64_t)kind << 48 | (uint64_t)count << 32 |
           (uint64_t)(uint16_t)executed << 16 | record_sequence(position);
}

static inline bool record_there(uint64_t word, uint64_t position)
{
    return (uint16_t)word == record_sequence(position);
}

static inline uint16_t record_executed(uint64_t word)
{
    return (uint16_t)(word >> 16);
}

static inline uint32_t record_count(uint64_t word)
{
    return (uint16_t)(word >> 32);
}

static inline uint8_t record_kind(uint64_t word)
{
    return (uint8_t)(word >> 48);
}

static inline uint32_t record_flags(uint64_t word)
{
    return (uint32_t)(word >> 56);
}

static inline uint32_t record_slots(uint32_t count)
{
    return count <= SHM_RECORD_SMALL ? 1 : 1 + (count - SHM_RECORD_SMALL + SHM_LINE - 1) / SHM_LINE;
}

/* ---- the segment of a process ---------------------------------------------------------------- */

/* A generation and a position in one word. A process of another generation ignores it. */
static inline uint64_t tagged(uint32_t generation, uint64_t position)
{
    return (uint64_t)generation << 32 | (uint32_t)position;
}

/* The sleep flag. Bit 0: the process does not poll, ring its doorbell for records. Bit 1: ring it
 * for acknowledgements, too. The bits above are a count: each producer rings once per value. */
#define SLEEP_FLAG_ASLEEP 1u
#define SLEEP_FLAG_OUTSTANDING 2u
#define SLEEP_FLAG_STEP 4u

struct segment_head {
    uint32_t magic, version;
    uint32_t slot, generation, node; /* for debugging only */
    int32_t pid;
    _Alignas(SHM_LINE) _Atomic uint32_t sleep_flag;
    uint32_t fences; /* this process has no membarrier: its peers must execute fences themselves */
    _Alignas(SHM_LINE) _Atomic uint64_t last_poll; /* shm_ticks() of a recent poll of the rings */
};

/* How far the owner of the segment has executed the rings of one producer (tagged with its
 * generation). */
struct consumer_indices {
    _Alignas(SHM_LINE) _Atomic uint64_t executed[SHM_CHANNELS];
    _Atomic uint32_t
        aside; /* is incremented when a record of that producer cannot be executed yet */
};

/* Where the owner's rings begin for one consumer (tagged with its generation). */
struct ring_starts {
    _Atomic uint64_t start[SHM_CHANNELS];
};

struct segment_layout {
    size_t indices, starts, rings, extra, total;
};

static inline size_t layout_pages(size_t bytes)
{
    return (bytes + SHM_PAGE - 1) / SHM_PAGE * SHM_PAGE;
}

static inline struct segment_layout segment_layout(uint32_t processes, size_t extra)
{
    struct segment_layout at;

    at.indices = SHM_PAGE;
    at.starts = layout_pages(at.indices + processes * sizeof(struct consumer_indices));
    at.rings = layout_pages(at.starts + processes * sizeof(struct ring_starts));
    at.extra = at.rings + (size_t)processes * SHM_CHANNELS * RING_BYTES;
    at.total = layout_pages(at.extra + extra);
    return at;
}

_Static_assert(sizeof(struct segment_head) <= SHM_PAGE, "");
_Static_assert(sizeof(struct consumer_indices) == SHM_LINE, "");
_Static_assert((SHM_RING_SLOTS & RING_MASK) == 0 && SHM_RING_SLOTS <= 32768, "16-bit sequences");
_Static_assert(SHM_RECORD_MAX <= UINT16_MAX && SHM_RECORD_MAX <= RING_BYTES / 4, "");
_Static_assert(sizeof(_Atomic uint64_t) == 8, "plain words");

/* ---- the segment of the fabric --------------------------------------------------------------- */

/* `version` is a sequence counter (shm/seqlock.h). */
struct fabric_member {
    uint32_t version;
    _Atomic uint32_t generation; /* 0: nobody */
    _Atomic uint32_t node;
    _Atomic uint32_t pid;
};

/* holders 0: free. */
struct fabric_name {
    _Atomic uint64_t key[2], value;
    _Atomic uint32_t node, kind, slot, generation;
    _Atomic uint32_t holders, spare[5];
};
_Static_assert(sizeof(struct fabric_name) == SHM_LINE, "");

#define FABRIC_NAME_BYTES 64u

struct fabric_segment {
    uint32_t magic, version;
    uint32_t nodes, processes_max;
    uint64_t seed, began_ns, ticks_per_us;
    char name[FABRIC_NAME_BYTES], preset[FABRIC_NAME_BYTES];
    uint64_t members_at, names_at, scenario_at, scenario_bytes, total;
    uint32_t names_capacity; /* a power of two */
    _Alignas(SHM_LINE) uint32_t names_version; /* a sequence counter, for the whole table */
};

/* Where the search for a name begins. */
static inline uint32_t name_hash(const struct shm_key *key)
{
    uint64_t mix = key->key[0] * 0x9e3779b97f4a7c15u;

    mix ^= (key->key[1] + mix) * 0xc2b2ae3d27d4eb4fu;
    mix ^= ((uint64_t)key->kind << 32 | key->node) * 0x165667b19e3779f9u;
    mix ^= mix >> 29;
    mix *= 0xbf58476d1ce4e5b9u;
    return (uint32_t)(mix >> 32);
}

#endif
