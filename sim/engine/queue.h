/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The event queue: a monotone hierarchical radix wheel with a sorted front.
 *
 * The wheel has 8 levels of 256 slots. An entry lies at the level of the highest byte in which its
 * time differs from `last`, in the slot named by that byte; bytes are counted from bit `width`, so
 * that a slot of the lowest level is 2^width ps wide. The width is adapted to the density of
 * entries, and then all entries of the wheel are entered again. Slots of the lowest level are
 * sorted, never spread. The lowest entries lie sorted in the
 * front, an array consumed from its head. A slot with few entries is moved to the front and sorted
 * there; a slot with many is spread over the levels below it, and only that moves `last` (to the
 * slot's first instant).
 *
 * Invariants, and why (time, order of pushing) needs no sequence numbers:
 *   1. An entry of the wheel lies where its time and the present `last` say. Spreading slot S of
 * level l sets `last` to S's base, which differs from the old one in byte l and below only. Levels
 * below l were empty (S was the lowest slot), entries of other slots of level l still differ in
 * byte l first, and higher levels see no change.
 *   2. Times in the front < front_end <= times in the wheel. (A slot that got wider may begin
 * before front_end.)
 *   3. last <= now whenever an event may be pushed: a slot is spread only when its base is about to
 * be reached. By 1 and 2 a time determines the one place where an entry with it can be: the front
 * or one slot. So of two entries with equal times the later push finds the earlier one in the place
 * it goes to, and goes behind it: slots are appended to, the front inserts after equals. Moves keep
 * the order: a slot is read from its beginning into slots that hold no entry with such times (by
 * 1), sorting is stable, and the front returns to the wheel in order. Hence equal times leave in
 * the order in which they came.
 *
 * Cost: an entry descends at most 7 levels, and the bookkeeping per move is a few instructions.
 *
 * Timers are entered as the address of a cell, tagged in the lowest bit. The cell points at the
 * timer and stays where it is when the entry moves; cancelling clears it, and the entry is dropped
 * when it is next seen.
 */
#ifndef JACQUARD_ENGINE_QUEUE_H
#define JACQUARD_ENGINE_QUEUE_H

#include "engine/sim.h"

#define QUEUE_PREFETCH 12 /* entries ahead of the head whose objects are fetched */
#define QUEUE_PREFETCH_EVENT 2 /* in the word of a struct sim_prefetch_event */
#define QUEUE_STAGE \
    3 /* entries from one stage of its fetching to the next; the last, to its turn */
#define QUEUE_STAGES 3
/* With fewer entries nothing is fetched in stages: what so few events use is in the second-level
 * cache. */
#define QUEUE_PREFETCH_LEAST 512

struct sim_queue_event {
    sim_time_t time;
    uintptr_t word; /* struct sim_event *, or struct sim_queue_entry * + 1 */
};

/* A timer's cell. */
struct sim_queue_entry {
    union {
        struct sim_timer *timer; /* NULL: cancelled */
        struct sim_queue_entry *next; /* in the list of free cells */
    };
};

#define QUEUE_CHUNK_BYTES 256
#define QUEUE_CHUNK_ENTRIES 15

/* Aligned to its size: the address of an entry tells whether it is the last of its chunk. */
struct sim_queue_chunk {
    struct sim_queue_chunk *next; /* defined unless it is the last of its slot */
    uint64_t unused;
    struct sim_queue_event entries[QUEUE_CHUNK_ENTRIES];
};
_Static_assert(sizeof(struct sim_queue_chunk) == QUEUE_CHUNK_BYTES, "a chunk is four cache lines");

struct sim_queue_slot {
    struct sim_queue_event *end; /* where the next entry goes; NULL: empty slot */
    struct sim_queue_chunk *first;
};

struct sim_queue_block; /* memory of chunks or cells */

struct sim_queue {
    struct sim_queue_event *head, *tail; /* the front */
    struct sim_queue_event
        *limit; /* end of its memory, less what prefetching reads beyond the tail */
    sim_time_t front_end;
    sim_time_t last;
    sim_time_t floor; /* time of the last entry taken out */
    struct sim_queue_event *stop; /* from here on, more entries can be had from the wheel */
    uint32_t words; /* which words of `map` are not 0 */
    uint32_t width; /* bits: of a slot of the lowest level */
    uint64_t count; /* entries, cancelled ones included */
    uint64_t cancelled;
    uint64_t slots_taken, entries_taken; /* since the width was considered */
    struct sim_queue_chunk *free_chunks;
    struct sim_queue_entry *free_cells;
    struct sim_queue_event *buffer; /* memory of the front */
    struct sim_queue_block *blocks;
    uint64_t map[32]; /* which slots are not empty */
    struct sim_queue_slot slots[8 * 256];
};

void sim_queue_init(struct sim_queue *queue);
void sim_queue_fini(struct sim_queue *queue);

/* What sim_queue_push() does where more than a store is due. */
void sim_queue_push_elsewhere(struct sim_queue *queue, sim_time_t time, uintptr_t word);

/* time >= that of the last pop */
static inline void sim_queue_push(struct sim_queue *queue, sim_time_t time, uintptr_t word)
{
    struct sim_queue_slot *slot;
    struct sim_queue_event *entry;

    queue->count++;
    /* Mostly the time lies in the lowest level, and its slot has room in its last chunk. (Of an
     * empty wheel all slots are empty.) */
    if (sim_likely(time >= queue->front_end && (time ^ queue->last) >> queue->width < 256)) {
        slot = &queue->slots[(uint8_t)(time >> queue->width)];
        entry = slot->end;
        if (sim_likely(((uintptr_t)entry & (QUEUE_CHUNK_BYTES - 1)) != 0)) {
            entry->time = time;
            entry->word = word;
            slot->end = entry + 1;
            return;
        }
    }
    sim_queue_push_elsewhere(queue, time, word);
}

/* Fills the front as far as entries can be due at `until` or before. False: it is still empty. */
bool sim_queue_fill(struct sim_queue *queue, sim_time_t until);

/*
 * Makes sure that the front has an entry; false: none is due at `until` or before. The clock must
 * then move to `until` or the time of the first entry, whichever is first, before anything else is
 * pushed (invariant 3).
 */
static inline bool sim_queue_ready(struct sim_queue *queue, sim_time_t until)
{
    return sim_likely(queue->head < queue->stop) || sim_queue_fill(queue, until);
}

/* Nothing is going to happen: there are no entries but those of cancelled timers. */
static inline bool sim_queue_empty(const struct sim_queue *queue)
{
    return queue->count == queue->cancelled;
}

/* A time before which nothing is due: exact when the front has an entry. */
static inline sim_time_t sim_queue_horizon(const struct sim_queue *queue)
{
    return queue->head < queue->tail ? queue->head->time : queue->front_end;
}

/*
 * Takes out the first entry of the front, disarming it when it is a timer; sim_queue_ready() must
 * have said true. NULL: a cancelled timer, nothing happens at its time.
 */
static inline struct sim_event *sim_queue_pop(struct sim_queue *queue)
{
    struct sim_queue_event *entry = queue->head++;
    struct sim_queue_entry *cell;
    struct sim_timer *timer;
    unsigned stage;

    if (sim_unlikely(queue->count >= QUEUE_PREFETCH_LEAST)) {
        __builtin_prefetch((const void *)entry[QUEUE_PREFETCH].word, 1);
#pragma GCC unroll 3
        for (stage = 0; stage < QUEUE_STAGES; stage++) {
            const struct sim_queue_event *ahead = entry + QUEUE_STAGE * (QUEUE_STAGES - stage);

            if (ahead < queue->tail && (ahead->word & QUEUE_PREFETCH_EVENT) != 0) {
                struct sim_prefetch_event *event =
                    (struct sim_prefetch_event *)(ahead->word - QUEUE_PREFETCH_EVENT);

                if (sim_likely(event->fetch != NULL))
                    event->fetch(&event->event, stage);
            }
        }
    }
    queue->count--;
    if (sim_unlikely((entry->word & 1) != 0)) {
        cell = (struct sim_queue_entry *)(entry->word - 1);
        timer = cell->timer;
        cell->next = queue->free_cells;
        queue->free_cells = cell;
        if (timer == NULL) {
            queue->cancelled--;
            return NULL;
        }
        timer->entry = NULL;
        queue->floor = entry->time;
        return &timer->event;
    }
    queue->floor = entry->time;
    return (struct sim_event *)(entry->word & ~(uintptr_t)QUEUE_PREFETCH_EVENT);
}

void sim_queue_timer_arm(struct sim_queue *queue, struct sim_timer *timer, sim_time_t time);
void sim_queue_timer_cancel(struct sim_queue *queue, struct sim_timer *timer);

#endif
