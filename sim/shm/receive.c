/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The consumer's side of the rings. live->rings holds those of all peers, in two parts: the hot
 * ones are looked at each time, a few of the cold ones (the rest) in turn. A ring becomes hot with
 * a record and cold after a long time without.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include "internal.h"

#define SKIPS_MAX 2u /* in a row: more is nonsense */

static _Atomic uint64_t *word_at(const struct ring_in *ring)
{
    return (_Atomic uint64_t *)(uintptr_t)(ring->slots + (ring->position & RING_MASK) * LIVE_LINE);
}

/* The producer begins with its rings when it adds the peer; before, they may hold anything. */
static live_cold bool is_open(struct ring_in *ring)
{
    struct peer *peer = ring->peer;
    uint64_t start;

    start = atomic_load_explicit(&peer->start->start[ring->channel], memory_order_acquire);
    if (start >> 32 != peer->live->self->to.generation)
        return false;
    ring->open = true;
    ring->position = ring->told = (uint32_t)start;
    if (peer->to.gone)
        ring->end = ring->position + LIVE_RING_SLOTS;
    else
        atomic_store_explicit(ring->executed, tagged(peer->to.generation, ring->position),
                              memory_order_release);
    return true;
}

/* Writes that down where the producer looks; it may sleep for it. */
static void tell(struct ring_in *ring)
{
    struct peer *peer = ring->peer;
    struct live *live = peer->live;
    uint32_t doze;

    ring->told = ring->position;
    if (live_unlikely(peer->to.gone))
        return; /* the word may be that of the slot's next process already */
    atomic_store_explicit(ring->executed, tagged(peer->to.generation, ring->position),
                          memory_order_release);
    if (live_unlikely(live->fences || peer->head->fences))
        atomic_thread_fence(memory_order_seq_cst);
    else
        atomic_signal_fence(memory_order_seq_cst);
    doze = atomic_load_explicit(&peer->head->doze, memory_order_relaxed);
    if (live_unlikely((doze & DOZE_OUTSTANDING) && (doze & DOZE_ASLEEP)) &&
        peer->rung_doze != doze) {
        peer->rung_doze = doze;
        live_ring_bell(peer);
    }
}

/* A peer that writes what nobody may write is treated as dead: nothing more is read from it. */
live_cold void live_break_with(struct peer *peer)
{
    unsigned channel;

    live_peer_lost(peer->live, peer);
    for (channel = 0; channel < LIVE_CHANNELS; channel++)
        peer->in[channel].end = peer->in[channel].position;
}

static inline bool look_at(struct ring_in *ring, uint64_t *word)
{
    *word = atomic_load_explicit(word_at(ring), memory_order_acquire);
    return record_there(*word, ring->position) && ring->position < ring->end;
}

/* The word of the next record, checked: it lies in the ring. Passes over the rest of a lap. */
static inline bool next_word(struct ring_in *ring, uint64_t *word)
{
    uint32_t at, skips = 0;

    if (live_unlikely(!ring->open) && !is_open(ring))
        return false;
    while (look_at(ring, word)) {
        at = (uint32_t)(ring->position & RING_MASK);
        if (live_likely(record_flags(*word) == 0)) {
            if (live_likely(record_count(*word) <= LIVE_RECORD_MAX &&
                            at + record_slots(record_count(*word)) <= LIVE_RING_SLOTS))
                return true;
            live_break_with(ring->peer);
            return false;
        }
        if (record_flags(*word) != RECORD_SKIP || record_count(*word) != 0 || at == 0 ||
            ++skips == SKIPS_MAX) {
            live_break_with(ring->peer);
            return false;
        }
        ring->position += LIVE_RING_SLOTS - at;
    }
    return false;
}

bool live_ring_ready(struct ring_in *ring)
{
    uint64_t word;

    return next_word(ring, &word);
}

/* The record says how far its sender has come with what we sent: one cache line less to look at. */
static inline void hear_by_the_way(struct ring_in *ring, uint64_t word)
{
    struct ring_out *out = &ring->peer->out[LIVE_REQUEST];
    uint16_t ahead = (uint16_t)(record_executed(word) - (uint16_t)out->told);

    if (ahead != 0 && ahead <= out->tail - out->told && !ring->peer->to.gone)
        out->told += ahead;
}

static void move(struct live *live, uint32_t from, uint32_t to)
{
    struct ring_in *ring = live->rings[from], *other = live->rings[to];

    assert(from < live->rings_room && to < live->rings_room && ring->index == from);

    live->rings[to] = ring;
    live->rings[from] = other;
    ring->index = to;
    other->index = from;
}

static void heat(struct live *live, struct ring_in *ring)
{
    ring->idle = 0;
    if (ring->index < live->hot_count)
        return;
    move(live, ring->index, live->hot_count);
    live->hot_count++;
}

static live_noinline void cool(struct live *live, struct ring_in *ring)
{
    assert(live->hot_count > 0 && ring->index < live->hot_count);
    live->hot_count--;
    move(live, ring->index, live->hot_count);
}

int live_rings_reserve(struct live *live)
{
    struct ring_in **more;
    uint32_t room = live->rings_room > 0 ? 2 * live->rings_room : 64;

    if (live->rings_count + 2 * LIVE_CHANNELS <= live->rings_room)
        return 0;
    more = realloc(live->rings, room * sizeof(struct ring_in *));
    if (more == NULL)
        return -ENOMEM;
    live->rings = more;
    live->rings_room = room;
    return 0;
}

live_cold void live_rings_add(struct live *live, struct peer *peer)
{
    unsigned channel;

    assert(!peer->listed && live->rings_count + LIVE_CHANNELS <= live->rings_room);
    peer->listed = true;
    for (channel = 0; channel < LIVE_CHANNELS; channel++) {
        struct ring_in *ring = &peer->in[channel];

        ring->index = live->rings_count;
        live->rings[live->rings_count++] = ring;
        heat(live, ring);
    }
}

void live_rings_remove(struct live *live, struct peer *peer)
{
    unsigned channel;

    for (channel = 0; channel < LIVE_CHANNELS; channel++) {
        struct ring_in *ring = &peer->in[channel];

        if (ring->index < live->hot_count)
            cool(live, ring);
        move(live, ring->index, --live->rings_count);
        if (live->current == ring)
            live->current = NULL;
    }
    live->cursor = live->cold_cursor = live->in_row = 0;
}

/* Says that this process looks, and does what has its time. */
static void stamp(struct live *live)
{
    uint64_t now;

    /* Reading the clock costs as much as half a look. */
    if (live->clock_rests > 0) {
        live->clock_rests--;
        return;
    }
    now = live_ticks();
    if (now - live->clock_read < live->stamp_ticks / 8)
        live->clock_rests = LIVE_CLOCK_RESTS;
    live->clock_read = now;
    if (now - live->looked < live->stamp_ticks)
        return;
    live->looked = now;
    atomic_store_explicit(&live->head->looked, now, memory_order_relaxed);
    live_round(live);
    if (now - live->ticked >= live->tick_ticks) {
        live->ticked = now;
        live_tick(live, now);
    }
    if (!live->helper_runs && now - live->read_at >= live->look_ticks) {
        live->read_at = now;
        atomic_store_explicit(&live->attention, true, memory_order_relaxed);
    }
}

static bool found(struct live *live, struct ring_in *ring, uint64_t word,
                  struct live_record *record)
{
    hear_by_the_way(ring, word);
    ring->idle = 0;
    live->current = ring;
    live->current_word = word;
    record->from = &ring->peer->to;
    record->bytes = ring->slots + (ring->position & RING_MASK) * LIVE_LINE + sizeof(uint64_t);
    record->count = record_count(word);
    record->kind = record_kind(word);
    record->channel = ring->channel;
    return true;
}

static struct ring_in *look_hot(struct live *live, uint64_t *word)
{
    uint32_t looks;
    struct ring_in *ring;

    for (looks = 0; looks < live->hot_count; looks++) {
        if (live->cursor >= live->hot_count)
            live->cursor = 0;
        ring = live->rings[live->cursor];
        if (!live_unlikely(ring->aside) && next_word(ring, word)) {
            if (++live->in_row >= LIVE_BATCH) {
                live->in_row = 0;
                live->cursor++;
            }
            return ring;
        }
        if (ring->told != ring->position)
            tell(ring);
        live->in_row = 0;
        if (live_unlikely(++ring->idle > LIVE_HOT_IDLE) && live->hot_count > LIVE_HOT_MIN &&
            !ring->aside)
            cool(live, ring); /* another one is in its place now */
        else
            live->cursor++;
    }
    return NULL;
}

static live_noinline struct ring_in *look_cold(struct live *live, uint64_t *word)
{
    uint32_t looks;
    struct ring_in *ring;

    for (looks = 0; looks < LIVE_COLD_LOOKS && live->hot_count < live->rings_count; looks++) {
        if (live->cold_cursor < live->hot_count || live->cold_cursor >= live->rings_count)
            live->cold_cursor = live->hot_count;
        ring = live->rings[live->cold_cursor++];
        if (next_word(ring, word)) {
            heat(live, ring);
            return ring;
        }
    }
    return NULL;
}

static live_noinline void take_up_again(struct live *live)
{
    uint32_t i;

    live->asides = false;
    for (i = 0; i < live->rings_count; i++)
        live->rings[i]->aside = false;
}

bool live_next(struct live *live, struct live_record *record)
{
    struct ring_in *ring;
    uint64_t word;

    if (live_unlikely(live->current != NULL))
        return found(live, live->current, live->current_word, record);
    ring = look_hot(live, &word);
    if (ring == NULL && live->hot_count < live->rings_count)
        ring = look_cold(live, &word);
    if (ring != NULL)
        return found(live, ring, word, record);

    if (++live->looks == LIVE_AWAKE_LOOKS)
        live_awake(live);
    stamp(live);
    if (live_unlikely(live->asides))
        take_up_again(live);
    if (live_unlikely(atomic_load_explicit(&live->attention, memory_order_relaxed)))
        live_look(live);
    else if (live_unlikely(live->dying))
        live_tell_gone(live);
    return false;
}

bool live_release(struct live *live)
{
    struct ring_in *ring = live->current;
    uint64_t word;
    bool more;

    if (ring == NULL)
        return false;
    assert((ring->position & RING_MASK) + record_slots(record_count(live->current_word)) <=
           LIVE_RING_SLOTS);
    live->current = NULL;
    ring->position += record_slots(record_count(live->current_word));
    more = look_at(ring, &word);
    if (!more) {
        tell(ring);
    } else if ((uint32_t)(ring->position - ring->told) >= LIVE_BATCH) {
        tell(ring);
        stamp(live);
    }
    return more;
}

/* The producer shall not take us for one that executes nothing. */
static void say_aside(const struct peer *peer)
{
    struct board_heads *heads = (struct board_heads *)(peer->live->board + peer->live->at.heads);

    atomic_fetch_add_explicit(&heads[peer->to.slot].aside, 1, memory_order_relaxed);
}

live_noinline void live_set_aside(struct live *live)
{
    if (live->current == NULL)
        return;
    if (live->current->peer->to.gone) {
        live_release(live);
        return;
    }
    live->current->aside = live->asides = true;
    say_aside(live->current->peer);
    if (live->current->told != live->current->position)
        tell(live->current);
    live->current = NULL;
    live->in_row = 0;
}

void live_acknowledge(struct live *live)
{
    uint32_t i;

    for (i = 0; i < live->hot_count; i++)
        if (live->rings[i]->told != live->rings[i]->position)
            tell(live->rings[i]);
}

/* Something that a sleeper must not sleep over, in any ring. What is set aside waits for room in a
 * ring of ours: see live_hear_all. */
bool live_rings_have(struct live *live)
{
    uint32_t i;
    uint64_t word;

    if (live->current != NULL)
        return true;
    for (i = 0; i < live->rings_count; i++) {
        struct ring_in *ring = live->rings[i];

        if (!ring->aside && next_word(ring, &word)) {
            heat(live, ring);
            return true;
        }
    }
    return false;
}
