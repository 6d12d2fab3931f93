/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The producer's side of the rings. */
#include <assert.h>
#include <string.h>
#include <x86intrin.h>
#include "internal.h"

uint64_t shm_ticks(void)
{
    return __rdtsc();
}

static _Atomic uint64_t *word_at(const struct ring_out *out, uint64_t position)
{
    return (_Atomic uint64_t *)(void *)(out->slots + (position & RING_MASK) * SHM_LINE);
}

/* Reads how far the peer has executed our records. A value that cannot be right, or is of an
 * earlier generation, changes nothing. */
bool shm_read_executed(const struct peer *peer, unsigned channel)
{
    struct ring_out *out = &peer->out[channel];
    uint64_t word = atomic_load_explicit(&peer->indices->executed[channel], memory_order_acquire);
    uint32_t ahead = (uint32_t)word - (uint32_t)out->acked;

    if (ahead == 0 || word >> 32 != peer->shm->self->to.generation ||
        ahead > out->tail - out->acked)
        return false;
    out->acked += ahead;
    assert(out->acked <= out->tail);
    return true;
}

/* The consumer polls `position` as soon as the record before it has been published. So the word
 * there must not match. */
static void clear_dirty(struct ring_out *out, uint64_t position)
{
    if (out->dirty[position & RING_MASK] == 0)
        return;
    out->dirty[position & RING_MASK] = 0;
    atomic_store_explicit(word_at(out, position), record_word(position + 1, 0, 0, 0, 0),
                          memory_order_relaxed);
}

static bool has_room(const struct peer *peer, struct ring_out *out, unsigned channel,
                     uint32_t slots)
{
    if (out->tail + slots - out->acked <= SHM_RING_SLOTS)
        return true;
    shm_read_executed(peer, channel);
    return out->tail + slots - out->acked <= SHM_RING_SLOTS;
}

/* A record lies in one piece. Skips the end of the ring if the record does not fit there. */
static bool skip_rest(const struct peer *peer, struct ring_out *out, unsigned channel,
                      uint32_t slots)
{
    uint64_t at = out->tail;
    uint32_t rest = SHM_RING_SLOTS - (uint32_t)(at & RING_MASK);

    if (rest >= slots)
        return true;
    if (!has_room(peer, out, channel, rest + slots))
        return false;
    /* From the next lap on, the words in the skipped part are older than one lap. */
    memset(out->dirty + (at & RING_MASK), 1, rest);
    out->dirty[at & RING_MASK] = 0;
    clear_dirty(out, at + rest);
    atomic_store_explicit(word_at(out, at),
                          record_word(at, peer->in[SHM_REQUEST].position, 0, 0, RECORD_SKIP),
                          memory_order_release);
    out->tail = at + rest;
    return true;
}

void *shm_reserve(struct shm_peer *to, enum shm_channel channel, uint32_t bytes)
{
    struct peer *peer = peer_of(to);
    struct ring_out *out = &peer->out[channel];
    uint32_t slots;

    if (shm_unlikely(to->gone || bytes > SHM_RECORD_MAX))
        return NULL;
    if (shm_unlikely(to->self && !peer->listed))
        shm_rings_add(peer->shm, peer);
    slots = record_slots(bytes);
    if (shm_unlikely(slots > 1) && !skip_rest(peer, out, channel, slots))
        return NULL;
    if (!has_room(peer, out, channel, slots))
        return NULL;
    if (shm_unlikely(slots > 1)) /* the caller may write there even if it never publishes */
        memset(out->dirty + (out->tail & RING_MASK) + 1, 1, slots - 1);
    out->reserved = bytes;
    return out->slots + (out->tail & RING_MASK) * SHM_LINE + sizeof(uint64_t);
}

uint64_t shm_publish(struct shm_peer *to, enum shm_channel channel, uint32_t kind, uint32_t bytes)
{
    struct peer *peer = peer_of(to);
    struct shm *shm = peer->shm;
    struct ring_out *out = &peer->out[channel];
    uint64_t at = out->tail, now;
    uint32_t slots, sleep_flag;

    if (shm_unlikely(to->gone))
        return 0;
    if (bytes > out->reserved)
        bytes = out->reserved;
    slots = record_slots(bytes);
    assert((at & RING_MASK) + slots <= SHM_RING_SLOTS && at + slots - out->acked <= SHM_RING_SLOTS);
    out->reserved = 0;
    clear_dirty(out, at + slots);
    atomic_store_explicit(
        word_at(out, at),
        record_word(at, peer->in[SHM_REQUEST].position, bytes, kind & SHM_KIND_MAX, 0),
        memory_order_release);
    out->tail = at + slots;

    /* A process that is about to sleep makes every processor execute a fence (membarrier) before
     * its last poll. So the compiler's order is enough here, except where a kernel has no
     * membarrier. */
    if (shm_unlikely(shm->fences || peer->head->fences))
        atomic_thread_fence(memory_order_seq_cst);
    else
        atomic_signal_fence(memory_order_seq_cst);
    sleep_flag = atomic_load_explicit(&peer->head->sleep_flag, memory_order_relaxed);
    if (shm_unlikely(sleep_flag & SLEEP_FLAG_ASLEEP)) {
        if (peer->rung_sleep_flag != sleep_flag) {
            peer->rung_sleep_flag = sleep_flag;
            shm_ring_doorbell(peer);
        }
        return out->tail;
    }
    /* The peer writes the cache line of its time stamp, so it is read only when the last known
     * stamp is old. */
    now = shm_ticks();
    if (shm_unlikely(now - peer->seen_last_poll + shm->ring_ticks > 2 * shm->ring_ticks))
        shm_check_stamp(peer, now);
    return out->tail;
}

uint64_t shm_sent(const struct shm_peer *to, enum shm_channel channel)
{
    const struct peer *peer = peer_of(to);

    return to->gone ? peer->last_sent[channel] : peer->out[channel].tail;
}

/* The replies that the peer published before it moved this word are visible by now. They are
 * returned first. */
static uint64_t executed_by(struct peer *peer, unsigned channel, uint64_t acked, uint64_t *executed)
{
    if (acked != *executed && (channel == SHM_REPLY || !shm_ring_ready(&peer->in[SHM_REPLY])))
        *executed = acked;
    return *executed;
}

uint64_t shm_executed(struct shm_peer *to, enum shm_channel channel)
{
    struct peer *peer = peer_of(to);
    struct ring_out *out = &peer->out[channel];

    if (shm_unlikely(to->gone))
        return executed_by(peer, channel, peer->last_acked[channel], &peer->last_executed[channel]);
    if (out->executed == out->tail)
        return out->executed;
    shm_read_executed(peer, channel);
    return executed_by(peer, channel, out->acked, &out->executed);
}
