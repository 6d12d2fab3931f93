/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "internal.h"

/* Rings to a slot, made once: they outlive the slot's processes. */
static struct ring_out *out_of(struct live *live, uint32_t slot)
{
    struct ring_out *out = live->outs[slot];
    unsigned channel;

    if (out != NULL)
        return out;
    out = calloc(LIVE_CHANNELS, sizeof(*out));
    if (out == NULL)
        return NULL;
    for (channel = 0; channel < LIVE_CHANNELS; channel++)
        out[channel].slots =
            live->board + live->at.rings + ((size_t)slot * LIVE_CHANNELS + channel) * RING_BYTES;
    return live->outs[slot] = out;
}

/* Where the slot's new process begins to read: nothing of what was meant for the one before. */
static void open_rings(struct live *live, struct peer *peer)
{
    struct board_start *start =
        (struct board_start *)(live->board + live->at.starts) + peer->to.slot;
    struct board_heads *heads =
        (struct board_heads *)(live->board + live->at.heads) + peer->to.slot;
    const uint8_t *rings = (const uint8_t *)peer->head + live->at.rings;
    unsigned channel;

    for (channel = 0; channel < LIVE_CHANNELS; channel++) {
        struct ring_out *out = &peer->out[channel];
        struct ring_in *in = &peer->in[channel];

        out->told = out->executed = out->tail;
        out->reserved = 0;
        atomic_store_explicit(&start->start[channel], tagged(peer->to.generation, out->tail),
                              memory_order_release);
        in->peer = peer;
        in->channel = (uint8_t)channel;
        in->slots = rings + ((size_t)live->self->to.slot * LIVE_CHANNELS + channel) * RING_BYTES;
        in->executed = &heads->executed[channel];
        in->end = UINT64_MAX;
    }
}

static int map_board(struct live *live, struct peer *peer, int file)
{
    size_t bytes = board_layout(live->facts.processes_max, peer->to.board_bytes).total;

    if (!live_memory_is_safe(file, bytes))
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

/* Only the daemon says who a peer is; its board is only looked at. */
struct peer *live_peer_add(struct live *live, const struct wire *what, int *fds, int *error)
{
    struct peer *peer;

    *error = -EPROTO;
    if (what->slot >= live->facts.processes_max || what->generation == 0 ||
        what->bytes > LIVE_BOARD_MAX)
        return NULL;
    *error = -ESRCH; /* once gone, a process does not come back: its rings were closed */
    if (what->generation <= live->ended[what->slot])
        return NULL;
    if (live->slots[what->slot] != NULL) /* the message about its end was kept for later */
        live_peer_lost(live, live->slots[what->slot]);
    *error = -ENOMEM;
    peer = calloc(1, sizeof(*peer));
    if (peer == NULL || live_rings_reserve(live) != 0)
        goto err_peer;
    peer->out = out_of(live, what->slot);
    if (peer->out == NULL)
        goto err_peer;
    peer->live = live;
    peer->doorbell = peer->pidfd = -1;
    atomic_init(&peer->memory, -1);
    peer->to = (struct live_peer){.slot = what->slot,
                                  .generation = what->generation,
                                  .node = what->node,
                                  .pid = what->pid,
                                  .self = fds == NULL,
                                  .board_bytes = what->bytes};
    if (fds != NULL) {
        *error = map_board(live, peer, fds[WIRE_BOARD]);
        if (*error != 0)
            goto err_peer;
    } else {
        live->self = peer;
        peer->head = live->head;
    }
    *error = 0;
    peer->heads = (const struct board_heads *)((const uint8_t *)peer->head + live->at.heads) +
                  live->self->to.slot;
    peer->start = (const struct board_start *)((const uint8_t *)peer->head + live->at.starts) +
                  live->self->to.slot;
    peer->to.board = (const uint8_t *)peer->head + live->at.extra;
    open_rings(live, peer);
    live_fork_hold();
    if (fds != NULL) {
        peer->doorbell = fds[WIRE_DOORBELL];
        peer->pidfd = fds[WIRE_PIDFD];
        fds[WIRE_DOORBELL] = fds[WIRE_PIDFD] = -1;
    }
    peer->next = live->peers;
    live->peers = peer;
    live_fork_release();
    live->slots[what->slot] = peer;
    if (!peer->to.self)
        live_rings_add(live, peer);
    return peer;

err_peer:
    free(peer);
    return NULL;
}

void live_peer_free(struct live *live, struct peer *peer)
{
    struct peer **at = &live->peers;

    assert(live->current == NULL || live->current->peer != peer);
    if (live->slots[peer->to.slot] == peer)
        live->slots[peer->to.slot] = NULL;
    live_fork_hold();
    while (*at != peer)
        at = &(*at)->next;
    *at = peer->next;
    live_peer_close(peer);
    live_fork_release();
    if (peer->mapping != NULL)
        munmap(peer->mapping, peer->mapping_bytes);
    free(peer);
}

struct live_peer *live_known(struct live *live, uint32_t slot, uint32_t generation)
{
    struct peer *peer;

    if (slot >= live->facts.processes_max)
        return NULL;
    peer = live->slots[slot];
    if (peer != NULL && (generation == 0 || peer->to.generation == generation))
        return &peer->to;
    for (peer = live->peers; peer != NULL; peer = peer->next)
        if (peer->to.slot == slot && peer->to.generation == generation)
            return &peer->to;
    return NULL;
}

struct live_peer *live_each_peer(struct live *live, const struct live_peer *after)
{
    struct peer *next = after == NULL ? live->peers : peer_of(after)->next;

    return next != NULL ? &next->to : NULL;
}

struct live_peer *live_peer(struct live *live, uint32_t slot, uint32_t generation, int *error)
{
    struct wire request = {.kind = WIRE_ASK, .slot = slot, .generation = generation};
    struct live_peer *known = live_known(live, slot, generation);
    struct wire_packet answer;
    struct peer *peer = NULL;
    int ignored;

    if (error == NULL)
        error = &ignored;
    *error = 0;
    if (known != NULL && !known->gone)
        return known;
    if (slot >= live->facts.processes_max || (known != NULL && generation != 0)) {
        *error = -ESRCH;
        return NULL;
    }
    *error = live_request(live, &request, &answer);
    if (*error != 0)
        return NULL;
    if (answer.head.kind == WIRE_PEER && answer.head.error == 0) {
        known = live_known(live, answer.head.slot, answer.head.generation);
        if (known != NULL) /* it was faster: its own wish is among the messages */
            peer = peer_of(known);
        else
            peer = live_peer_add(live, &answer.head, answer.fds, error);
    } else {
        *error = answer.head.error != 0 ? answer.head.error : -EPROTO;
    }
    wire_close(&answer);
    return peer != NULL ? &peer->to : NULL;
}

/* From now on nothing can be sent to it; what it had published is still executed, and what it said
 * last of what it has executed still counts. */
void live_peer_lost(struct live *live, struct peer *peer)
{
    unsigned channel;

    if (peer->to.gone)
        return;
    for (channel = 0; channel < LIVE_CHANNELS; channel++)
        live_hear(peer, channel);
    peer->to.gone = true;
    live->dying = true;
    live->ended[peer->to.slot] = peer->to.generation;
    for (channel = 0; channel < LIVE_CHANNELS; channel++) {
        peer->in[channel].end = peer->in[channel].position + LIVE_RING_SLOTS;
        peer->last_sent[channel] = peer->out[channel].tail;
        peer->last_told[channel] = peer->out[channel].told;
        peer->last_executed[channel] = peer->out[channel].executed;
    }
}

static bool drained(struct live *live, struct peer *peer)
{
    unsigned channel;

    for (channel = 0; channel < LIVE_CHANNELS; channel++)
        if (live->current == &peer->in[channel] || live_ring_ready(&peer->in[channel]))
            return false;
    return true;
}

static bool some_dying(const struct live *live)
{
    const struct peer *peer;

    for (peer = live->peers; peer != NULL; peer = peer->next)
        if (peer->to.gone && !peer->gone_told)
            return true;
    return false;
}

live_cold void live_tell_gone(struct live *live)
{
    struct peer *peer;
    bool again = true;

    /* The caller may drop a peer and meet others in the event: from the start after each. */
    while (again) {
        again = false;
        live->dying = live->lost && !live->lost_told;
        for (peer = live->peers; peer != NULL; peer = peer->next) {
            if (!peer->to.gone || peer->gone_told)
                continue;
            if (!drained(live, peer)) {
                live->dying = true;
                continue;
            }
            assert(!peer->to.self);
            peer->gone_told = true;
            live_rings_remove(live, peer);
            if (live->slots[peer->to.slot] == peer)
                live->slots[peer->to.slot] = NULL;
            if (live->events.gone != NULL)
                live->events.gone(live->arg, &peer->to);
            again = true;
            break;
        }
    }
    if (live->lost && !live->lost_told && !some_dying(live)) {
        live->lost_told = true;
        live->dying = false;
        if (live->events.lost != NULL)
            live->events.lost(live->arg);
    }
}

void live_drop(struct live *live, struct live_peer *to)
{
    struct peer *peer = peer_of(to);

    if (peer->gone_told && peer != live->self)
        live_peer_free(live, peer);
}

bool live_member(const struct live *live, uint32_t slot, struct live_member *member)
{
    const struct fabric_member *entry;
    uint32_t version, looks = 0;

    if (slot >= live->facts.processes_max)
        return false;
    entry = (const struct fabric_member *)((const char *)live->fabric + live->fabric->members_at) +
            slot;
    do {
        version = atomic_load_explicit(&entry->version, memory_order_acquire);
        member->slot = slot;
        member->generation = atomic_load_explicit(&entry->generation, memory_order_relaxed);
        member->node = atomic_load_explicit(&entry->node, memory_order_relaxed);
        member->pid = (int32_t)atomic_load_explicit(&entry->pid, memory_order_relaxed);
        atomic_thread_fence(memory_order_acquire);
        if ((version & 1) == 0 &&
            atomic_load_explicit(&entry->version, memory_order_relaxed) == version)
            return member->generation != 0;
    } while (live_written_soon(live, &looks));
    return false; /* the daemon died while it wrote */
}
