/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The consumer's side of the rings. shm->rings holds the rings of all peers in two parts. Each poll
 * visits all hot rings, and a few of the cold rings in turn. A ring becomes hot when a record is
 * found in it, and cold after many polls without a record.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include "internal.h"

#define SKIPS_MAX 2u /* in a row; a correct producer never writes more */

static _Atomic uint64_t *word_at(const struct ring_in *ring)
{
    return (_Atomic uint64_t *)(uintptr_t)(ring->slots + (ring->position & RING_MASK) * SHM_LINE);
}

/* Whether the producer has initialised this ring for this process. Before that, the ring may hold
 * anything. */
static shm_cold bool is_open(struct ring_in *ring)
{
    struct peer *peer = ring->peer;
    uint64_t start;

    start = atomic_load_explicit(&peer->start->start[ring->channel], memory_order_acquire);
    if (start >> 32 != peer->shm->self->to.generation)
        return false;
    ring->open = true;
    ring->position = ring->acked = (uint32_t)start;
    if (peer->to.gone)
        ring->end = ring->position + SHM_RING_SLOTS;
    else
        atomic_store_explicit(ring->executed, tagged(peer->to.generation, ring->position),
                              memory_order_release);
    return true;
}

/* Publishes how far this ring has been executed. Rings the producer if it sleeps and waits for
 * that. */
static void publish_ack(struct ring_in *ring)
{
    struct peer *peer = ring->peer;
    struct shm *shm = peer->shm;
    uint32_t sleep_flag;

    ring->acked = ring->position;
    if (shm_unlikely(peer->to.gone))
        return; /* the slot's next process may use the word already */
    atomic_store_explicit(ring->executed, tagged(peer->to.generation, ring->position),
                          memory_order_release);
    if (shm_unlikely(shm->fences || peer->head->fences))
        atomic_thread_fence(memory_order_seq_cst);
    else
        atomic_signal_fence(memory_order_seq_cst);
    sleep_flag = atomic_load_explicit(&peer->head->sleep_flag, memory_order_relaxed);
    if (shm_unlikely((sleep_flag & SLEEP_FLAG_OUTSTANDING) && (sleep_flag & SLEEP_FLAG_ASLEEP)) &&
        peer->rung_sleep_flag != sleep_flag) {
        peer->rung_sleep_flag = sleep_flag;
        shm_ring_doorbell(peer);
    }
}

/* A peer that breaks the rules of its rings is treated as dead: nothing more is read from it. */
shm_cold void shm_peer_break(struct peer *peer)
{
    unsigned channel;

    shm_peer_lost(peer->shm, peer);
    for (channel = 0; channel < SHM_CHANNELS; channel++)
        peer->in[channel].end = peer->in[channel].position;
}

static inline bool poll_word(struct ring_in *ring, uint64_t *word)
{
    *word = atomic_load_explicit(word_at(ring), memory_order_acquire);
    return record_there(*word, ring->position) && ring->position < ring->end;
}

/* Finds the word of the next record and checks that the record lies in the ring. Skips the unused
 * end of a lap. */
static inline bool next_word(struct ring_in *ring, uint64_t *word)
{
    uint32_t at, skips = 0;

    if (shm_unlikely(!ring->open) && !is_open(ring))
        return false;
    while (poll_word(ring, word)) {
        at = (uint32_t)(ring->position & RING_MASK);
        if (shm_likely(record_flags(*word) == 0)) {
            if (shm_likely(record_count(*word) <= SHM_RECORD_MAX &&
                           at + record_slots(record_count(*word)) <= SHM_RING_SLOTS))
                return true;
            shm_peer_break(ring->peer);
            return false;
        }
        if (record_flags(*word) != RECORD_SKIP || record_count(*word) != 0 || at == 0 ||
            ++skips == SKIPS_MAX) {
            shm_peer_break(ring->peer);
            return false;
        }
        ring->position += SHM_RING_SLOTS - at;
    }
    return false;
}

bool shm_ring_ready(struct ring_in *ring)
{
    uint64_t word;

    return next_word(ring, &word);
}

/* The record says how far its sender has executed our requests. This saves reading the consumer
 * index, which is another cache line. */
static inline void read_piggybacked_ack(struct ring_in *ring, uint64_t word)
{
    struct ring_out *out = &ring->peer->out[SHM_REQUEST];
    uint16_t ahead = (uint16_t)(record_executed(word) - (uint16_t)out->acked);

    if (ahead != 0 && ahead <= out->tail - out->acked && !ring->peer->to.gone)
        out->acked += ahead;
}

static void swap_rings(struct shm *shm, uint32_t from, uint32_t to)
{
    struct ring_in *ring = shm->rings[from], *other = shm->rings[to];

    assert(from < shm->rings_room && to < shm->rings_room && ring->index == from);

    shm->rings[to] = ring;
    shm->rings[from] = other;
    ring->index = to;
    other->index = from;
}

static void make_hot(struct shm *shm, struct ring_in *ring)
{
    ring->idle = 0;
    if (ring->index < shm->hot_count)
        return;
    swap_rings(shm, ring->index, shm->hot_count);
    shm->hot_count++;
}

static shm_noinline void make_cold(struct shm *shm, struct ring_in *ring)
{
    assert(shm->hot_count > 0 && ring->index < shm->hot_count);
    shm->hot_count--;
    swap_rings(shm, ring->index, shm->hot_count);
}

int shm_rings_reserve(struct shm *shm)
{
    struct ring_in **more;
    uint32_t room = shm->rings_room > 0 ? 2 * shm->rings_room : 64;

    if (shm->rings_count + 2 * SHM_CHANNELS <= shm->rings_room)
        return 0;
    more = realloc(shm->rings, room * sizeof(struct ring_in *));
    if (more == NULL)
        return -ENOMEM;
    shm->rings = more;
    shm->rings_room = room;
    return 0;
}

shm_cold void shm_rings_add(struct shm *shm, struct peer *peer)
{
    unsigned channel;

    assert(!peer->listed && shm->rings_count + SHM_CHANNELS <= shm->rings_room);
    peer->listed = true;
    for (channel = 0; channel < SHM_CHANNELS; channel++) {
        struct ring_in *ring = &peer->in[channel];

        ring->index = shm->rings_count;
        shm->rings[shm->rings_count++] = ring;
        make_hot(shm, ring);
    }
}

void shm_rings_remove(struct shm *shm, struct peer *peer)
{
    unsigned channel;

    for (channel = 0; channel < SHM_CHANNELS; channel++) {
        struct ring_in *ring = &peer->in[channel];

        if (ring->index < shm->hot_count)
            make_cold(shm, ring);
        swap_rings(shm, ring->index, --shm->rings_count);
        if (shm->current == ring)
            shm->current = NULL;
    }
    shm->cursor = shm->cold_cursor = shm->in_row = 0;
}

/* Publishes that this process polls, and does what is due. */
static void stamp(struct shm *shm)
{
    uint64_t now;

    /* Reading the clock costs as much as half a poll. */
    if (shm->clock_skips > 0) {
        shm->clock_skips--;
        return;
    }
    now = shm_ticks();
    if (now - shm->clock_read < shm->stamp_ticks / 8)
        shm->clock_skips = SHM_CLOCK_SKIPS;
    shm->clock_read = now;
    if (now - shm->last_poll < shm->stamp_ticks)
        return;
    shm->last_poll = now;
    atomic_store_explicit(&shm->head->last_poll, now, memory_order_relaxed);
    shm_count_poll(shm);
    if (now - shm->ticked >= shm->tick_ticks) {
        shm->ticked = now;
        shm_tick(shm, now);
    }
    if (!shm->helper_runs && now - shm->read_at >= shm->poll_ticks) {
        shm->read_at = now;
        atomic_store_explicit(&shm->attention, true, memory_order_relaxed);
    }
}

static bool fill_record(struct shm *shm, struct ring_in *ring, uint64_t word,
                        struct shm_record *record)
{
    read_piggybacked_ack(ring, word);
    ring->idle = 0;
    shm->current = ring;
    shm->current_word = word;
    record->from = &ring->peer->to;
    record->bytes = ring->slots + (ring->position & RING_MASK) * SHM_LINE + sizeof(uint64_t);
    record->count = record_count(word);
    record->kind = record_kind(word);
    record->channel = ring->channel;
    return true;
}

static struct ring_in *poll_hot(struct shm *shm, uint64_t *word)
{
    uint32_t polls;
    struct ring_in *ring;

    for (polls = 0; polls < shm->hot_count; polls++) {
        if (shm->cursor >= shm->hot_count)
            shm->cursor = 0;
        ring = shm->rings[shm->cursor];
        if (!shm_unlikely(ring->aside) && next_word(ring, word)) {
            if (++shm->in_row >= SHM_BATCH) {
                shm->in_row = 0;
                shm->cursor++;
            }
            return ring;
        }
        if (ring->acked != ring->position)
            publish_ack(ring);
        shm->in_row = 0;
        if (shm_unlikely(++ring->idle > SHM_HOT_IDLE) && shm->hot_count > SHM_HOT_MIN &&
            !ring->aside)
            make_cold(shm, ring); /* another ring has its index now */
        else
            shm->cursor++;
    }
    return NULL;
}

static shm_noinline struct ring_in *poll_cold(struct shm *shm, uint64_t *word)
{
    uint32_t polls;
    struct ring_in *ring;

    for (polls = 0; polls < SHM_COLD_POLLS && shm->hot_count < shm->rings_count; polls++) {
        if (shm->cold_cursor < shm->hot_count || shm->cold_cursor >= shm->rings_count)
            shm->cold_cursor = shm->hot_count;
        ring = shm->rings[shm->cold_cursor++];
        if (next_word(ring, word)) {
            make_hot(shm, ring);
            return ring;
        }
    }
    return NULL;
}

static shm_noinline void clear_asides(struct shm *shm)
{
    uint32_t i;

    shm->asides = false;
    for (i = 0; i < shm->rings_count; i++)
        shm->rings[i]->aside = false;
}

bool shm_next(struct shm *shm, struct shm_record *record)
{
    struct ring_in *ring;
    uint64_t word;

    if (shm_unlikely(shm->current != NULL))
        return fill_record(shm, shm->current, shm->current_word, record);
    ring = poll_hot(shm, &word);
    if (ring == NULL && shm->hot_count < shm->rings_count)
        ring = poll_cold(shm, &word);
    if (ring != NULL)
        return fill_record(shm, ring, word, record);

    if (++shm->empty_polls == SHM_AWAKE_POLLS)
        shm_sleep_flag_clear(shm);
    stamp(shm);
    if (shm_unlikely(shm->asides))
        clear_asides(shm);
    if (shm_unlikely(atomic_load_explicit(&shm->attention, memory_order_relaxed)))
        shm_poll_daemon(shm);
    else if (shm_unlikely(shm->ends_pending))
        shm_report_gone(shm);
    return false;
}

bool shm_release(struct shm *shm)
{
    struct ring_in *ring = shm->current;
    uint64_t word;
    bool more;

    if (ring == NULL)
        return false;
    assert((ring->position & RING_MASK) + record_slots(record_count(shm->current_word)) <=
           SHM_RING_SLOTS);
    shm->current = NULL;
    ring->position += record_slots(record_count(shm->current_word));
    more = poll_word(ring, &word);
    if (!more) {
        publish_ack(ring);
    } else if ((uint32_t)(ring->position - ring->acked) >= SHM_BATCH) {
        publish_ack(ring);
        stamp(shm);
    }
    return more;
}

/* Publishes that a record of this producer cannot be executed yet, so that the producer does not
 * treat this process as one that executes nothing. */
static void publish_aside(const struct peer *peer)
{
    struct consumer_indices *indices =
        (struct consumer_indices *)(peer->shm->segment + peer->shm->at.indices);

    atomic_fetch_add_explicit(&indices[peer->to.slot].aside, 1, memory_order_relaxed);
}

shm_noinline void shm_set_aside(struct shm *shm)
{
    if (shm->current == NULL)
        return;
    if (shm->current->peer->to.gone) {
        shm_release(shm);
        return;
    }
    shm->current->aside = shm->asides = true;
    publish_aside(shm->current->peer);
    if (shm->current->acked != shm->current->position)
        publish_ack(shm->current);
    shm->current = NULL;
    shm->in_row = 0;
}

void shm_acknowledge(struct shm *shm)
{
    uint32_t i;

    for (i = 0; i < shm->hot_count; i++)
        if (shm->rings[i]->acked != shm->rings[i]->position)
            publish_ack(shm->rings[i]);
}

/* Whether any ring has a record that a thread must not sleep over. A record that was set aside
 * waits for room in one of our own rings; shm_read_executed_all finds that room. */
bool shm_rings_have(struct shm *shm)
{
    uint32_t i;
    uint64_t word;

    if (shm->current != NULL)
        return true;
    for (i = 0; i < shm->rings_count; i++) {
        struct ring_in *ring = shm->rings[i];

        if (!ring->aside && next_word(ring, &word)) {
            make_hot(shm, ring);
            return true;
        }
    }
    return false;
}
