/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "queue.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "engine/outside.h"
#include "internal.h"

/* A slot with at most so many entries is sorted into the front (a multiple of a chunk's entries).
 */
#define SORT_MAX (4 * QUEUE_CHUNK_ENTRIES)
/* An insertion into the front moves at most so many entries; beyond it the front goes back to the
 * wheel. */
#define MOVE_MAX 64
/* The front is filled up to so many entries when they are at hand, so that their objects can be
 * fetched early. */
#define FILL 32
#define FRONT_ENTRIES 1024
#define FRONT_GAP \
    64 /* room before the head of a fresh front, for insertions that move the shorter side */
#define COMPACT_MIN 1024
/* Slots of the lowest level get wider when they held fewer entries on average, and narrower when
 * they held more. */
#define SLOT_LEAST 3
#define SLOT_MOST 12
#define WIDTH_FIRST 12 /* bits: 4 ns */
#define WIDTH_MAX 40
#define WIDTH_SAMPLE 256 /* entries after which the width is reconsidered, at least */
/* To sort n entries costs about n * n / 32 times what it costs to enter one again. */
#define SORT_COST 32
#define BLOCK_BYTES (256u << 10)

_Static_assert(SORT_MAX % QUEUE_CHUNK_ENTRIES == 0, "slots that are sorted end with a chunk");
_Static_assert(FRONT_GAP + FILL + SORT_MAX < FRONT_ENTRIES, "a fresh front holds what fills it");
_Static_assert(sizeof(struct sim_queue_event) == 16 && BLOCK_BYTES % QUEUE_CHUNK_BYTES == 0,
               "chunks fill a block");
_Static_assert(_Alignof(struct sim_event) >= 4, "two bits of an event's address are free");

struct sim_queue_block {
    struct sim_queue_block *next;
};

static void *block_alloc(struct sim_queue *queue)
{
    struct sim_queue_block *block;

    sim_outside_begin(); /* whoever schedules */
    block = aligned_alloc(QUEUE_CHUNK_BYTES, BLOCK_BYTES);
    sim_outside_end();
    if (block == NULL)
        sim_panic("event queue: out of memory");
    block->next = queue->blocks;
    queue->blocks = block;
    return block;
}

static struct sim_queue_chunk *chunk_alloc(struct sim_queue *queue)
{
    struct sim_queue_chunk *chunk = queue->free_chunks;
    struct sim_queue_chunk *block;
    int i;

    if (sim_unlikely(chunk == NULL)) {
        block = block_alloc(queue);
        for (i = BLOCK_BYTES / QUEUE_CHUNK_BYTES - 1; i > 0;
             i--) { /* the first holds the link of the block */
            block[i].next = chunk;
            chunk = &block[i];
        }
    }
    queue->free_chunks = chunk->next;
    return chunk;
}

static void chunk_free(struct sim_queue *queue, struct sim_queue_chunk *chunk)
{
    chunk->next = queue->free_chunks;
    queue->free_chunks = chunk;
}

static struct sim_queue_entry *cell_alloc(struct sim_queue *queue)
{
    struct sim_queue_entry *cell = queue->free_cells;
    struct sim_queue_entry *block;
    int i;

    if (sim_unlikely(cell == NULL)) {
        block = block_alloc(queue);
        for (i = BLOCK_BYTES / sizeof *block - 1; i > 0; i--) {
            block[i].next = cell;
            cell = &block[i];
        }
    }
    queue->free_cells = cell->next;
    return cell;
}

static void front_reset(struct sim_queue *queue)
{
    queue->head = queue->tail = queue->stop = queue->buffer + FRONT_GAP;
}

void sim_queue_init(struct sim_queue *queue)
{
    memset(queue, 0, sizeof *queue);
    queue->buffer = calloc(FRONT_ENTRIES + QUEUE_PREFETCH, sizeof *queue->buffer);
    if (queue->buffer == NULL)
        sim_panic("event queue: out of memory");
    queue->limit = queue->buffer + FRONT_ENTRIES;
    queue->front_end = SIM_NEVER;
    queue->width = WIDTH_FIRST;
    front_reset(queue);
}

void sim_queue_fini(struct sim_queue *queue)
{
    struct sim_queue_block *next;

    for (; queue->blocks != NULL; queue->blocks = next) {
        next = queue->blocks->next;
        free(queue->blocks);
    }
    free(queue->buffer);
    memset(queue, 0, sizeof *queue);
}

/* ---- wheel ----------------------------------------------------------------------------------- */

/* The same when the slot is empty, or its last chunk is full. */
static sim_noinline void wheel_push_chunk(struct sim_queue *queue, sim_time_t time, uintptr_t word,
                                          uint32_t index)
{
    struct sim_queue_slot *slot = &queue->slots[index];
    struct sim_queue_chunk *chunk = chunk_alloc(queue);

    if (slot->end == NULL) {
        slot->first = chunk;
        queue->map[index >> 6] |= 1ull << (index & 63);
        queue->words |= 1u << (index >> 6);
    } else {
        ((struct sim_queue_chunk *)slot->end)[-1].next = chunk;
    }
    chunk->entries[0] = (struct sim_queue_event){time, word};
    slot->end = chunk->entries + 1;
}

static inline void wheel_push(struct sim_queue *queue, sim_time_t time, uintptr_t word)
{
    uint32_t width = queue->width;
    uint32_t level = /* times 8 */
        (63 - (uint32_t)__builtin_clzll((time ^ queue->last) >> width | 1)) & ~UINT32_C(7);
    uint32_t index = level << 5 | (uint32_t)(time >> width >> level & 255);
    struct sim_queue_slot *slot = &queue->slots[index];
    struct sim_queue_event *entry = slot->end;

    if (sim_unlikely(((uintptr_t)entry & (QUEUE_CHUNK_BYTES - 1)) == 0)) {
        wheel_push_chunk(queue, time, word, index);
        return;
    }
    entry->time = time;
    entry->word = word;
    slot->end = entry + 1;
}

/* Index of the lowest slot that is not empty; the wheel must not be. */
static uint32_t wheel_lowest(const struct sim_queue *queue)
{
    uint32_t word = (uint32_t)__builtin_ctz(queue->words);

    assert(queue->words != 0 && queue->map[word] != 0);
    return word << 6 | (uint32_t)__builtin_ctzll(queue->map[word]);
}

/* First instant of a slot. */
static sim_time_t wheel_base(const struct sim_queue *queue, uint32_t index)
{
    uint32_t shift = queue->width + (index >> 8) * 8;
    sim_time_t above =
        ~((256ull << shift) - 1); /* highest level: the shift gives 0, so nothing is above */

    return (queue->last & above) | (sim_time_t)(index & 255) << shift;
}

/* Takes the chain of a slot out of the wheel. */
static struct sim_queue_slot wheel_detach(struct sim_queue *queue, uint32_t index)
{
    struct sim_queue_slot chain = queue->slots[index];

    queue->slots[index] = (struct sim_queue_slot){NULL, NULL};
    queue->map[index >> 6] &= ~(1ull << (index & 63));
    if (queue->map[index >> 6] == 0)
        queue->words &= ~(1u << (index >> 6));
    return chain;
}

/* Whether all entries of a chain are in its first chunk. */
static inline bool is_short(const struct sim_queue_slot *chain)
{
    /* The end of a full chunk may be the beginning of the chain's first one. */
    return (uintptr_t)chain->end - (uintptr_t)chain->first - 1 < QUEUE_CHUNK_BYTES;
}

/* One chunk of a chain: its entries end before the result. */
static struct sim_queue_event *chunk_end(const struct sim_queue_slot *chain,
                                         struct sim_queue_chunk *chunk)
{
    struct sim_queue_event *end = chunk->entries + QUEUE_CHUNK_ENTRIES;

    return chain->end > chunk->entries && chain->end <= end ? chain->end : end;
}

static sim_noinline bool drop_timer(struct sim_queue *queue, struct sim_queue_entry *cell)
{
    if (cell->timer != NULL)
        return false;
    assert(queue->cancelled > 0 && queue->count >= queue->cancelled);
    cell->next = queue->free_cells;
    queue->free_cells = cell;
    queue->cancelled--;
    queue->count--;
    return true;
}

/* Drops an entry whose timer was cancelled: true. */
static inline bool drop(struct sim_queue *queue, uintptr_t word)
{
    return sim_unlikely((word & 1) != 0) && drop_timer(queue, (struct sim_queue_entry *)(word - 1));
}

/* Number of entries, or `most` + 1 when there are more. */
static uint32_t chain_count(const struct sim_queue_slot *chain, uint32_t most)
{
    struct sim_queue_chunk *chunk = chain->first;
    uint32_t count = 0;

    if (sim_likely(is_short(chain)))
        return (uint32_t)(chain->end - chunk->entries);
    while (count <= most) {
        struct sim_queue_event *end = chunk_end(chain, chunk);

        count += (uint32_t)(end - chunk->entries);
        if (end == chain->end)
            return count <= most ? count : most + 1;
        chunk = chunk->next;
    }
    return most + 1;
}

static bool chain_all_equal(const struct sim_queue_slot *chain)
{
    sim_time_t time = chain->first->entries[0].time;
    struct sim_queue_chunk *chunk = chain->first;

    for (;;) {
        struct sim_queue_event *end = chunk_end(chain, chunk), *entry;

        for (entry = chunk->entries; entry < end; entry++)
            if (entry->time != time)
                return false;
        if (end == chain->end)
            return true;
        chunk = chunk->next;
    }
}

/* ---- front ----------------------------------------------------------------------------------- */

/* Makes room for so many more entries behind the tail. */
static sim_noinline void front_grow(struct sim_queue *queue, size_t more)
{
    size_t count = (size_t)(queue->tail - queue->head), capacity;
    ptrdiff_t stop = queue->stop - queue->head;
    struct sim_queue_event *buffer = queue->buffer;

    capacity = (size_t)(queue->limit - buffer);
    if (FRONT_GAP + count + more > capacity || count > capacity / 2) {
        while (FRONT_GAP + count + more > capacity || count > capacity / 2)
            capacity *= 2;
        sim_outside_begin();
        buffer = calloc(capacity + QUEUE_PREFETCH, sizeof *buffer);
        sim_outside_end();
        if (buffer == NULL)
            sim_panic("event queue: out of memory");
    }
    memmove(buffer + FRONT_GAP, queue->head, count * sizeof *buffer);
    if (buffer != queue->buffer) {
        free(queue->buffer);
        queue->buffer = buffer;
        queue->limit = buffer + capacity;
    }
    queue->head = buffer + FRONT_GAP;
    queue->tail = queue->head + count;
    queue->stop = queue->head + stop;
}

static inline void front_room(struct sim_queue *queue, size_t more)
{
    if (sim_unlikely(queue->tail + more > queue->limit))
        front_grow(queue, more);
}

/* First entry of the front that is later than `time`. */
static struct sim_queue_event *front_after(const struct sim_queue *queue, sim_time_t time)
{
    struct sim_queue_event *low = queue->head;
    size_t count = (size_t)(queue->tail - low);

    while (count > 0) {
        size_t half = count / 2;
        bool right = low[half].time <= time;

        low = right ? low + half + 1 : low;
        count = right ? count - half - 1 : half;
    }
    return low;
}

/* Returns the front to the wheel. */
static sim_noinline void front_put_back(struct sim_queue *queue)
{
    struct sim_queue_event *entry;

    if (queue->words == 0)
        queue->last = queue->floor;
    for (entry = queue->head; entry < queue->tail; entry++)
        wheel_push(queue, entry->time, entry->word);
    front_reset(queue);
    queue->front_end = wheel_base(queue, wheel_lowest(queue));
}

/* False: too many entries would have to move. */
static bool front_insert(struct sim_queue *queue, sim_time_t time, uintptr_t word)
{
    struct sim_queue_event *at;

    front_room(queue, 1);
    if (queue->head == queue->tail || queue->tail[-1].time <= time) {
        at = queue->tail++;
        queue->stop++;
    } else {
        size_t before, after;

        at = front_after(queue, time);
        before = (size_t)(at - queue->head);
        after = (size_t)(queue->tail - at);
        if (before < after && queue->head > queue->buffer) {
            if (before > MOVE_MAX)
                return false;
            memmove(queue->head - 1, queue->head, before * sizeof *at);
            queue->head--;
            at--;
        } else {
            if (after > MOVE_MAX)
                return false;
            memmove(at + 1, at, after * sizeof *at);
            queue->tail++;
            queue->stop++;
        }
    }
    at->time = time;
    at->word = word;
    assert(queue->head >= queue->buffer && queue->tail <= queue->limit);
    assert(at == queue->head || at[-1].time <= time);
    assert(at + 1 == queue->tail || at[1].time > time);
    return true;
}

/* Appends a chain of so many entries to the front, in order of time. */
static void front_take(struct sim_queue *queue, struct sim_queue_slot chain, size_t count)
{
    struct sim_queue_chunk *chunk = chain.first, *next;
    struct sim_queue_event *tail;

    front_room(queue, count);
    tail = queue->tail;
    /* No entry before the chain is later than an entry of the chain, so no insertion passes them.
     */
    if (queue->head == tail)
        tail[-1].time = 0;
    for (;; chunk = next) {
        struct sim_queue_event *end = chunk_end(&chain, chunk), *entry, *at;

        for (entry = chunk->entries; entry < end; entry++) {
            struct sim_queue_event taken = *entry;

            if (drop(queue, taken.word))
                continue;
            __builtin_prefetch((const void *)taken.word);
            for (at = tail++; at[-1].time > taken.time; at--)
                *at = at[-1];
            *at = taken;
        }
        next = chunk->next;
        chunk_free(queue, chunk);
        if (end == chain.end)
            break;
    }
    queue->tail = tail;
}

/* Spreads a chain over lower levels. */
static void spread(struct sim_queue *queue, struct sim_queue_slot chain, sim_time_t base)
{
    struct sim_queue_chunk *chunk = chain.first, *next;

    queue->last = base;
    for (;; chunk = next) {
        struct sim_queue_event *end = chunk_end(&chain, chunk), *entry;

        next = chunk->next;
        if (end != chain.end)
            __builtin_prefetch(next);
        for (entry = chunk->entries; entry < end; entry++)
            if (!drop(queue, entry->word))
                wheel_push(queue, entry->time, entry->word);
        chunk_free(queue, chunk);
        if (end == chain.end)
            return;
    }
}

/*
 * Puts all entries of the wheel where they belong if the lowest level's slots are so wide, and
 * throws out those of cancelled timers. Entries with equal times are in one slot before and after,
 * and stay in order.
 */
static sim_noinline void wheel_renew(struct sim_queue *queue, uint32_t width)
{
    uint32_t index;

    queue->width = width;
    queue->slots_taken = queue->entries_taken = 0;
    for (index = 0; index < 8 * 256; index++) {
        struct sim_queue_slot chain;
        struct sim_queue_chunk *chunk, *next;

        if (queue->slots[index].end == NULL)
            continue;
        chain = wheel_detach(queue, index);
        for (chunk = chain.first;; chunk = next) {
            struct sim_queue_event *end = chunk_end(&chain, chunk), *entry;

            for (entry = chunk->entries; entry < end; entry++)
                if (!drop(queue, entry->word))
                    wheel_push(queue, entry->time, entry->word);
            next = chunk->next;
            chunk_free(queue, chunk);
            if (end == chain.end)
                break;
        }
    }
}

/* Adapts the width of the lowest level's slots to the number of entries that they held. */
static sim_noinline void adapt(struct sim_queue *queue)
{
    uint64_t slots = queue->slots_taken, entries = queue->entries_taken;
    uint32_t width = queue->width;

    queue->slots_taken = queue->entries_taken = 0;
    for (; entries < SLOT_LEAST * slots && width < WIDTH_MAX; entries *= 2)
        width++;
    for (; entries > SLOT_MOST * slots && width > 0; entries /= 2)
        width--;
    if (width != queue->width)
        wheel_renew(queue, width);
}

/* Moves a slot of so many entries to the front. */
static inline void take_slot(struct sim_queue *queue, uint32_t index, uint32_t count)
{
    /* Entries of a higher level would have been in slots of their own. */
    queue->slots_taken += index < 256 ? 1 : count;
    queue->entries_taken += count;
    front_take(queue, wheel_detach(queue, index), count);
}

/*
 * Moves slots to the front until it holds FILL entries. A large slot is opened only when the front
 * is empty and time is about to reach it (invariant 3).
 */
bool sim_queue_fill(struct sim_queue *queue, sim_time_t until)
{
    bool large = false;

    if (queue->head == queue->tail)
        front_reset(queue);
    if (sim_unlikely(queue->entries_taken >= WIDTH_SAMPLE &&
                     queue->entries_taken / 4 >= queue->count))
        adapt(queue);
    while (queue->words != 0 && queue->tail - queue->head < FILL) {
        uint32_t index = wheel_lowest(queue);
        struct sim_queue_slot *slot = &queue->slots[index];
        uint32_t count = chain_count(slot, SORT_MAX);

        if (sim_likely(count <= SORT_MAX)) {
            take_slot(queue, index, count);
        } else if (queue->head != queue->tail || wheel_base(queue, index) > until) {
            large = true;
            break;
        } else if (chain_all_equal(slot)) {
            take_slot(queue, index, chain_count(slot, UINT32_MAX - 1));
        } else if (index < 256) {
            count = chain_count(slot, UINT32_MAX - 1);
            if ((uint64_t)count * count <= SORT_COST * queue->count)
                take_slot(queue, index, count);
            else
                wheel_renew(queue, queue->width - (queue->width > 3 ? 3 : 1));
        } else {
            sim_time_t base = wheel_base(queue, index);

            spread(queue, wheel_detach(queue, index), base);
        }
    }
    if (queue->words == 0) {
        queue->front_end = SIM_NEVER;
    } else {
        sim_time_t base = wheel_base(queue, wheel_lowest(queue));

        /* A slot that got wider begins before some entries of the front. */
        if (base > queue->front_end)
            queue->front_end = base;
    }
    queue->stop = queue->tail - (large || queue->words == 0 ? 0 : QUEUE_PREFETCH);
    return queue->head != queue->tail;
}

/* The entry comes before the front's end. */
static sim_noinline void push_early(struct sim_queue *queue, sim_time_t time, uintptr_t word)
{
    if (sim_likely(front_insert(queue, time, word)))
        return;
    front_put_back(queue);
    if (time >= queue->front_end || !front_insert(queue, time, word))
        wheel_push(queue, time, word);
}

void sim_queue_push_elsewhere(struct sim_queue *queue, sim_time_t time, uintptr_t word)
{
    assert(time >= queue->floor); /* nothing happens in the past */
    if (time < queue->front_end) {
        push_early(queue, time, word);
        return;
    }
    if (sim_unlikely(queue->words == 0)) /* time is SIM_NEVER */
        queue->last = queue->floor;
    wheel_push(queue, time, word);
}

/* ---- timers ---------------------------------------------------------------------------------- */

/* Throws out all entries of cancelled timers; costs O(entries), at least half of which go. */
static void compact(struct sim_queue *queue)
{
    struct sim_queue_event *entry, *kept = queue->head;

    for (entry = queue->head; entry < queue->tail; entry++)
        if (!drop(queue, entry->word))
            *kept++ = *entry;
    queue->tail = kept;
    queue->stop = queue->head;
    wheel_renew(queue, queue->width);
    if (queue->words == 0)
        queue->front_end = SIM_NEVER;
}

void sim_queue_timer_arm(struct sim_queue *queue, struct sim_timer *timer, sim_time_t time)
{
    struct sim_queue_entry *cell = cell_alloc(queue);

    cell->timer = timer;
    timer->entry = cell;
    sim_queue_push(queue, time, (uintptr_t)cell + 1);
}

void sim_queue_timer_cancel(struct sim_queue *queue, struct sim_timer *timer)
{
    assert(timer->entry->timer == timer);
    timer->entry->timer = NULL;
    timer->entry = NULL;
    queue->cancelled++;
    if (queue->cancelled > COMPACT_MIN && queue->cancelled > queue->count / 2)
        compact(queue);
}
