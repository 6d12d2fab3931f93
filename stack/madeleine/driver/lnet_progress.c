/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The LNet driver's events, probes and waits. The adapter's lock is held. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>

#include "driver/lnet.h"
#include "madeleine/api.h"

/* ---- peers that are gone --------------------------------------------------------------------- */

void mad_lnet_give_up(struct mlnet_peer *peer)
{
    peer->channel->shared->status[peer->in->remote_host_id].broken = 1;
}

void mad_lnet_lost(struct mlnet_peer *peer, int code, int status)
{
    if (peer->lost || peer->closing)
        return;
    peer->lost = true;
    mad_lnet_give_up(peer);
    mad_driver_note(peer->in, NULL, status);
    mad_driver_note(peer->out, NULL, status);
    mad_connection_break(peer->in, code);
    mad_connection_break(peer->out, code);
}

/* Gets what the peer knows of this pair, which fails when its process or node has gone. */
static void probe(struct mlnet_peer *peer)
{
    struct mlnet_channel *channel = peer->channel;
    unsigned offset = (unsigned)channel->own * (unsigned)sizeof(struct mlnet_status);
    int rc;

    if (!peer->joined || peer->lost || peer->closing || peer->probe.active)
        return;
    rc = mad_lnet_get(&peer->probe, mad_lnet_bits(channel, channel->own, MLNET_PROBE, 0), offset,
                      &peer->probed, sizeof(peer->probed));
    if (rc == 0)
        channel->in_flight++;
    else if (rc != -ENOMEM)
        mad_lnet_lost(peer, MAD_EPEER, rc);
}

void mad_lnet_probe_all(struct mlnet_channel *channel)
{
    for (int rank = 0; rank < channel->size; rank++)
        if (channel->peers[rank] != NULL)
            probe(channel->peers[rank]);
}

/* A message that does not arrive, though others were sent long after it, was lost. */
static void probed(struct mlnet_peer *peer)
{
    bool missing = (int32_t)((uint32_t)peer->probed.sent - peer->received) > 0 ||
                   (int32_t)((uint32_t)peer->probed.credited - peer->credited) > 0;

    if (peer->probe.status != 0 || peer->probe.unlinked ||
        peer->probe.bytes != sizeof(peer->probed)) {
        mad_lnet_lost(peer, MAD_EPEER, peer->probe.status != 0 ? peer->probe.status : -ETIMEDOUT);
        return;
    }
    if (peer->probed.broken != 0)
        mad_lnet_lost(peer, MAD_EPEER, -ECONNRESET);
    if (!missing || peer->stalled_at != peer->received + peer->credited)
        peer->stalled = 0;
    peer->stalled_at = peer->received + peer->credited;
    if (missing && ++peer->stalled == MLNET_STALLED_MAX)
        mad_lnet_lost(peer, MAD_EPEER, -ETIMEDOUT);
}

/* ---- buffers and credits --------------------------------------------------------------------- */

int mad_lnet_post(struct mlnet_peer *peer, struct mlnet_frame *frame)
{
    uint64_t bits =
        mad_lnet_bits(peer->channel, peer->in->remote_host_id, MLNET_EAGER, peer->posted);
    int rc =
        mad_lnet_attach(&frame->slot, bits, 0, LNET_MD_OP_PUT, 1, frame->bytes, MLNET_FRAME_BYTES);

    if (rc == 0)
        peer->posted++;
    return rc == 0 ? MAD_OK : rc == -ENOMEM ? MAD_ENOMEM : MAD_EDRIVER;
}

void mad_lnet_return_credits(struct mlnet_peer *peer)
{
    struct mlnet_channel *channel = peer->channel;
    struct mlnet_status *status = &channel->shared->status[peer->in->remote_host_id];
    uint32_t used = peer->received - (uint32_t)status->credited;
    int rc;

    assert(used <= MLNET_CREDITS);
    if (MLNET_CREDITS - used > MLNET_CREDITS_LOW || peer->owed < MLNET_CREDITS_BATCH ||
        peer->lost || peer->closing || peer->returning.active)
        return;
    rc = mad_lnet_put(&peer->returning, mad_lnet_bits(channel, channel->own, MLNET_CREDIT, 0),
                      &peer->owed, 0, (uint64_t)peer->owed << MLNET_CREDIT_SHIFT);
    if (rc != 0) {
        mad_lnet_lost(peer, MAD_EPEER, rc);
        return;
    }
    channel->in_flight++;
    status->credited += peer->owed;
    peer->owed = 0;
}

/* ---- events ---------------------------------------------------------------------------------- */

/* LNet does not promise the order of two puts: frames are sorted by their sequence numbers. */
static void arrived(struct mlnet_peer *peer, struct mlnet_frame *frame)
{
    const struct mlnet_status *status = &peer->channel->shared->status[peer->in->remote_host_id];
    uint32_t sequence = (uint32_t)frame->slot.header;
    uint32_t credits = (uint32_t)(frame->slot.header >> MLNET_CREDIT_SHIFT) & MLNET_CREDIT_MASK;
    struct mlnet_frame **place = &peer->ring[sequence % MLNET_CREDITS];

    if (sequence - peer->next >= MLNET_CREDITS || *place != NULL ||
        peer->received - (uint32_t)status->credited >= MLNET_CREDITS ||
        credits > MLNET_CREDITS - peer->available) {
        mad_lnet_lost(peer, MAD_EWIRE, 0);
        return;
    }
    *place = frame;
    peer->received++;
    peer->available += credits;
    peer->credited += credits;
    mad_lnet_return_credits(peer); /* those that were too few until now */
}

static void put_ended(struct mlnet_slot *slot)
{
    struct mlnet_peer *peer = slot->peer;

    peer->channel->in_flight--;
    if (slot->status != 0)
        mad_lnet_lost(peer, MAD_EPEER, slot->status);
}

static void slot_ended(struct mlnet_slot *slot)
{
    struct mlnet_peer *peer = slot->peer;

    assert(slot->active);
    slot->active = false;
    slot->adapter->active--;
    if (peer == NULL)
        return;
    peer->active--;
    switch (slot->use) {
    case MLNET_USE_RECEIVE:
        if (slot->status != 0)
            mad_lnet_lost(peer, MAD_EPEER, slot->status);
        else if (!slot->unlinked)
            arrived(peer, (struct mlnet_frame *)slot);
        break;
    case MLNET_USE_SEND:
        mad_lnet_frame_free(slot->adapter, (struct mlnet_frame *)slot);
        put_ended(slot);
        break;
    case MLNET_USE_RETURN:
        put_ended(slot);
        mad_lnet_return_credits(peer);
        break;
    case MLNET_USE_PROBE:
        peer->channel->in_flight--;
        probed(peer);
        break;
    default: /* who started it waits */
        break;
    }
}

bool mad_lnet_progress(struct mlnet_adapter *adapter)
{
    struct mlnet_slot *slot = __atomic_exchange_n(&adapter->ended, NULL, __ATOMIC_ACQUIRE);
    struct mlnet_slot *in_order = NULL, *next;
    bool any = slot != NULL;

    for (; slot != NULL; slot = next) {
        next = slot->next;
        slot->next = in_order;
        in_order = slot;
    }
    for (; in_order != NULL; in_order = next) {
        next = in_order->next;
        slot_ended(in_order);
    }
    return any;
}

/* ---- waiting --------------------------------------------------------------------------------- */

static void probe_for_all(struct mlnet_adapter *adapter)
{
    const struct mlnet_wait *wait;
    uint64_t now = port_now();

    if (now < adapter->probe_next_ns)
        return;
    adapter->probe_next_ns = now + adapter->probe_ns;
    for (wait = adapter->waits; wait != NULL; wait = wait->next) {
        if (wait->peer != NULL)
            probe(wait->peer);
        else if (wait->channel != NULL)
            mad_lnet_probe_all(wait->channel);
    }
}

/* The first probe comes when the period has passed. */
static void list(struct mlnet_wait *wait)
{
    struct mlnet_adapter *adapter = wait->adapter;

    if (adapter->waits == NULL)
        adapter->probe_next_ns = port_now() + adapter->probe_ns;
    wait->next = adapter->waits;
    if (wait->next != NULL)
        wait->next->link = &wait->next;
    wait->link = &adapter->waits;
    adapter->waits = wait;
    wait->listed = true;
}

void mad_lnet_wait(struct mlnet_wait *wait)
{
    struct mlnet_adapter *adapter = wait->adapter;
    uint64_t now;

    if (mad_lnet_progress(adapter)) {
        port_condition_broadcast(&adapter->changed);
        return;
    }
    if (!wait->listed)
        list(wait);
    if (adapter->waiting) {
        port_condition_wait(&adapter->changed, &adapter->mutex);
        return;
    }
    adapter->waiting = true;
    now = port_now();
    port_mutex_unlock(&adapter->mutex);
    port_semaphore_wait(&adapter->events,
                        adapter->probe_next_ns > now ? adapter->probe_next_ns - now : 0);
    port_mutex_lock(&adapter->mutex);
    adapter->waiting = false;
    mad_lnet_progress(adapter);
    probe_for_all(adapter);
    port_condition_broadcast(&adapter->changed);
}

void mad_lnet_wait_end(struct mlnet_wait *wait)
{
    if (!wait->listed)
        return;
    *wait->link = wait->next;
    if (wait->next != NULL)
        wait->next->link = wait->link;
    wait->listed = false;
}

void mad_lnet_describe(char *text, size_t size)
{
    p_mad_madeleine_t session = mad_get_madeleine();
    const struct mlnet_wait *wait = NULL;
    char from[32] = "";

    text[0] = '\0';
    for (int i = 0; session != NULL && i < session->nb_adapter && wait == NULL; i++)
        if (session->adapter[i].driver->id == mad_LNET && session->adapter[i].specific != NULL)
            wait = mad_lnet_adapter(&session->adapter[i])->waits;
    if (wait == NULL || wait->what == NULL || wait->channel == NULL)
        return;
    if (wait->peer != NULL)
        snprintf(from, sizeof(from), " of rank %d", wait->peer->in->remote_host_id);
    snprintf(text, size, "%s%s on Madeleine's channel %s", wait->what, from,
             wait->channel->object->name);
}
