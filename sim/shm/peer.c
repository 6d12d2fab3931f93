/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "internal.h"

/* The outgoing rings to a slot. They are allocated once and reused for later processes in that
 * slot. */
static struct ring_out *out_of(struct shm *shm, uint32_t slot)
{
    struct ring_out *out = shm->outs[slot];
    unsigned channel;

    if (out != NULL)
        return out;
    out = calloc(SHM_CHANNELS, sizeof(*out));
    if (out == NULL)
        return NULL;
    for (channel = 0; channel < SHM_CHANNELS; channel++)
        out[channel].slots =
            shm->segment + shm->at.rings + ((size_t)slot * SHM_CHANNELS + channel) * RING_BYTES;
    return shm->outs[slot] = out;
}

/* Publishes where the new process in the slot begins to read, so that it reads nothing that was
 * meant for an earlier process. */
static void open_rings(struct shm *shm, struct peer *peer)
{
    struct ring_starts *start =
        (struct ring_starts *)(shm->segment + shm->at.starts) + peer->to.slot;
    struct consumer_indices *indices =
        (struct consumer_indices *)(shm->segment + shm->at.indices) + peer->to.slot;
    const uint8_t *rings = (const uint8_t *)peer->head + shm->at.rings;
    unsigned channel;

    for (channel = 0; channel < SHM_CHANNELS; channel++) {
        struct ring_out *out = &peer->out[channel];
        struct ring_in *in = &peer->in[channel];

        out->acked = out->executed = out->tail;
        out->reserved = 0;
        atomic_store_explicit(&start->start[channel], tagged(peer->to.generation, out->tail),
                              memory_order_release);
        in->peer = peer;
        in->channel = (uint8_t)channel;
        in->slots = rings + ((size_t)shm->self->to.slot * SHM_CHANNELS + channel) * RING_BYTES;
        in->executed = &indices->executed[channel];
        in->end = UINT64_MAX;
    }
}

static int map_segment(struct shm *shm, struct peer *peer, int file)
{
    size_t bytes = segment_layout(shm->facts.processes_max, peer->to.segment_bytes).total;

    if (!shm_memory_is_safe(file, bytes))
        return -EPROTO;
    peer->mapping = mmap(NULL, bytes, PROT_READ, MAP_SHARED | MAP_NORESERVE, file, 0);
    if (peer->mapping == MAP_FAILED) {
        peer->mapping = NULL;
        return -errno;
    }
    madvise(peer->mapping, bytes, MADV_DONTFORK);
    peer->mapping_bytes = bytes;
    peer->head = peer->mapping;
    return 0;
}

/* Adds a peer. Its identity comes from the daemon only; from its segment nothing is taken for
 * granted. */
struct peer *shm_peer_add(struct shm *shm, const struct wire *what, int *fds, int *error)
{
    struct peer *peer;

    *error = -EPROTO;
    if (what->slot >= shm->facts.processes_max || what->generation == 0 ||
        what->bytes > SHM_SEGMENT_MAX)
        return NULL;
    *error = -ESRCH; /* a process that is gone never returns: its rings are closed */
    if (what->generation <= shm->ended[what->slot])
        return NULL;
    if (shm->slots[what->slot] != NULL) /* the message about its end was deferred */
        shm_peer_lost(shm, shm->slots[what->slot]);
    *error = -ENOMEM;
    peer = calloc(1, sizeof(*peer));
    if (peer == NULL || shm_rings_reserve(shm) != 0)
        goto err_peer;
    peer->out = out_of(shm, what->slot);
    if (peer->out == NULL)
        goto err_peer;
    peer->shm = shm;
    peer->doorbell = peer->pidfd = -1;
    atomic_init(&peer->memory, -1);
    peer->to = (struct shm_peer){.slot = what->slot,
                                 .generation = what->generation,
                                 .node = what->node,
                                 .pid = what->pid,
                                 .self = fds == NULL,
                                 .segment_bytes = what->bytes};
    if (fds != NULL) {
        *error = map_segment(shm, peer, fds[WIRE_SEGMENT]);
        if (*error != 0)
            goto err_peer;
    } else {
        shm->self = peer;
        peer->head = shm->head;
    }
    *error = 0;
    peer->indices =
        (const struct consumer_indices *)((const uint8_t *)peer->head + shm->at.indices) +
        shm->self->to.slot;
    peer->start = (const struct ring_starts *)((const uint8_t *)peer->head + shm->at.starts) +
                  shm->self->to.slot;
    peer->to.segment = (const uint8_t *)peer->head + shm->at.extra;
    open_rings(shm, peer);
    shm_fork_hold();
    if (fds != NULL) {
        peer->doorbell = fds[WIRE_DOORBELL];
        peer->pidfd = fds[WIRE_PIDFD];
        fds[WIRE_DOORBELL] = fds[WIRE_PIDFD] = -1;
    }
    peer->next = shm->peers;
    shm->peers = peer;
    shm_fork_release();
    shm->slots[what->slot] = peer;
    if (!peer->to.self)
        shm_rings_add(shm, peer);
    return peer;

err_peer:
    free(peer);
    return NULL;
}

void shm_peer_free(struct shm *shm, struct peer *peer)
{
    struct peer **at = &shm->peers;

    assert(shm->current == NULL || shm->current->peer != peer);
    if (shm->slots[peer->to.slot] == peer)
        shm->slots[peer->to.slot] = NULL;
    shm_fork_hold();
    while (*at != peer)
        at = &(*at)->next;
    *at = peer->next;
    shm_peer_close(peer);
    shm_fork_release();
    if (peer->mapping != NULL)
        munmap(peer->mapping, peer->mapping_bytes);
    free(peer);
}

struct shm_peer *shm_known(struct shm *shm, uint32_t slot, uint32_t generation)
{
    struct peer *peer;

    if (slot >= shm->facts.processes_max)
        return NULL;
    peer = shm->slots[slot];
    if (peer != NULL && (generation == 0 || peer->to.generation == generation))
        return &peer->to;
    for (peer = shm->peers; peer != NULL; peer = peer->next)
        if (peer->to.slot == slot && peer->to.generation == generation)
            return &peer->to;
    return NULL;
}

struct shm_peer *shm_peer_next(struct shm *shm, const struct shm_peer *after)
{
    struct peer *next = after == NULL ? shm->peers : peer_of(after)->next;

    return next != NULL ? &next->to : NULL;
}

struct shm_peer *shm_peer(struct shm *shm, uint32_t slot, uint32_t generation, int *error)
{
    struct wire request = {.kind = WIRE_ASK, .slot = slot, .generation = generation};
    struct shm_peer *known = shm_known(shm, slot, generation);
    struct wire_packet answer;
    struct peer *peer = NULL;
    int ignored;

    if (error == NULL)
        error = &ignored;
    *error = 0;
    if (known != NULL && !known->gone)
        return known;
    if (slot >= shm->facts.processes_max || (known != NULL && generation != 0)) {
        *error = -ESRCH;
        return NULL;
    }
    *error = shm_request(shm, &request, &answer);
    if (*error != 0)
        return NULL;
    if (answer.head.kind == WIRE_PEER && answer.head.error == 0) {
        known = shm_known(shm, answer.head.slot, answer.head.generation);
        if (known != NULL) /* its own request for an introduction is among the messages */
            peer = peer_of(known);
        else
            peer = shm_peer_add(shm, &answer.head, answer.fds, error);
    } else {
        *error = answer.head.error != 0 ? answer.head.error : -EPROTO;
    }
    shm_wire_close(&answer);
    return peer != NULL ? &peer->to : NULL;
}

/* Closes the rings to the peer. Records that it published before are still executed, and its last
 * acknowledgements still count. */
void shm_peer_lost(struct shm *shm, struct peer *peer)
{
    unsigned channel;

    if (peer->to.gone)
        return;
    for (channel = 0; channel < SHM_CHANNELS; channel++)
        shm_read_executed(peer, channel);
    peer->to.gone = true;
    shm->ends_pending = true;
    shm->ended[peer->to.slot] = peer->to.generation;
    for (channel = 0; channel < SHM_CHANNELS; channel++) {
        peer->in[channel].end = peer->in[channel].position + SHM_RING_SLOTS;
        peer->last_sent[channel] = peer->out[channel].tail;
        peer->last_acked[channel] = peer->out[channel].acked;
        peer->last_executed[channel] = peer->out[channel].executed;
    }
}

static bool drained(struct shm *shm, struct peer *peer)
{
    unsigned channel;

    for (channel = 0; channel < SHM_CHANNELS; channel++)
        if (shm->current == &peer->in[channel] || shm_ring_ready(&peer->in[channel]))
            return false;
    return true;
}

static bool some_dying(const struct shm *shm)
{
    const struct peer *peer;

    for (peer = shm->peers; peer != NULL; peer = peer->next)
        if (peer->to.gone && !peer->gone_reported)
            return true;
    return false;
}

shm_cold void shm_report_gone(struct shm *shm)
{
    struct peer *peer;
    bool again = true;

    /* The event handler may drop a peer and add others, so the search starts again after each
     * event. */
    while (again) {
        again = false;
        shm->ends_pending = shm->lost && !shm->lost_reported;
        for (peer = shm->peers; peer != NULL; peer = peer->next) {
            if (!peer->to.gone || peer->gone_reported)
                continue;
            if (!drained(shm, peer)) {
                shm->ends_pending = true;
                continue;
            }
            assert(!peer->to.self);
            peer->gone_reported = true;
            shm_rings_remove(shm, peer);
            if (shm->slots[peer->to.slot] == peer)
                shm->slots[peer->to.slot] = NULL;
            if (shm->events.gone != NULL)
                shm->events.gone(shm->arg, &peer->to);
            again = true;
            break;
        }
    }
    if (shm->lost && !shm->lost_reported && !some_dying(shm)) {
        shm->lost_reported = true;
        shm->ends_pending = false;
        if (shm->events.lost != NULL)
            shm->events.lost(shm->arg);
    }
}

void shm_drop(struct shm *shm, struct shm_peer *to)
{
    struct peer *peer = peer_of(to);

    if (peer->gone_reported && peer != shm->self)
        shm_peer_free(shm, peer);
}

bool shm_member(const struct shm *shm, uint32_t slot, struct shm_member *member)
{
    const struct fabric_member *entry;
    uint32_t seen, retries = 0;

    if (slot >= shm->facts.processes_max)
        return false;
    entry =
        (const struct fabric_member *)((const char *)shm->fabric + shm->fabric->members_at) + slot;
    do {
        if (!shm_seq_read_begin(&entry->version, &seen))
            continue;
        member->slot = slot;
        member->generation = atomic_load_explicit(&entry->generation, memory_order_relaxed);
        member->node = atomic_load_explicit(&entry->node, memory_order_relaxed);
        member->pid = (int32_t)atomic_load_explicit(&entry->pid, memory_order_relaxed);
        if (shm_seq_read_end(&entry->version, seen))
            return member->generation != 0;
    } while (shm_wait_for_writer(shm, &retries));
    return false; /* the daemon died in the middle of a change */
}
