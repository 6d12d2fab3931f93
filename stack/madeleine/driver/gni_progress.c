/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The GNI driver's queues, mailboxes and waits. The adapter's lock is held. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gni.h"
#include "internal.h"

/* ---- frames ---------------------------------------------------------------------------------- */

struct mgni_frame *mad_gni_frame(struct mgni_adapter *adapter)
{
    struct mgni_frame *frame = adapter->frames;

    if (frame == NULL)
        return malloc(sizeof(*frame));
    adapter->frames = frame->next;
    return frame;
}

void mad_gni_frame_free(struct mgni_adapter *adapter, struct mgni_frame *frame)
{
    frame->next = adapter->frames;
    adapter->frames = frame;
}

/* ---- peers that are gone --------------------------------------------------------------------- */

void mad_gni_lost(struct mgni_peer *peer, int code, uint32_t driver_code)
{
    if (peer->lost)
        return;
    peer->lost = true;
    mad_driver_note(peer->in, NULL, (int)driver_code);
    mad_driver_note(peer->out, NULL, (int)driver_code);
    mad_connection_break(peer->in, code);
    mad_connection_break(peer->out, code);
}

/* Reads a word of the peer's memory, which fails when its process or node has gone. */
static void probe(struct mgni_peer *peer)
{
    struct mgni_channel *channel = peer->channel;
    struct mgni_put *get = &peer->probe;
    size_t word = (size_t)peer->in->remote_host_id + 8; /* behind the first line of the block */

    if (peer->ep == NULL || peer->lost || get->state == MGNI_POSTED)
        return;
    get->desc = (gni_post_descriptor_t){
        .type = GNI_POST_FMA_GET,
        .cq_mode = GNI_CQMODE_GLOBAL_EVENT,
        .dlvr_mode = GNI_DLVMODE_PERFORMANCE,
        .local_addr = (uint64_t)(uintptr_t)channel->block + word * sizeof(uint64_t),
        .local_mem_hndl = channel->handle,
        .remote_addr = peer->block,
        .remote_mem_hndl = peer->handle,
        .length = sizeof(uint64_t),
    };
    get->state = MGNI_READY;
    mad_gni_post(get);
    if (get->state == MGNI_POSTED)
        channel->in_flight++;
}

static void probed(struct mgni_put *get)
{
    struct mgni_peer *peer = get->peer;

    peer->channel->in_flight--;
    if (get->state == MGNI_DONE)
        get->tries = 0;
    else if (get->state == MGNI_BROKEN)
        mad_gni_lost(peer, MAD_EPEER, get->status);
    else
        probe(peer);
}

/* ---- completions ----------------------------------------------------------------------------- */

void mad_gni_post(struct mgni_put *put)
{
    bool rdma = put->desc.type == GNI_POST_RDMA_PUT;
    gni_return_t rc;

    assert(put->state == MGNI_READY);
    if (put->peer->lost) {
        put->state = MGNI_BROKEN;
        return;
    }
    rc = rdma ? GNI_PostRdma(put->peer->ep, &put->desc) : GNI_PostFma(put->peer->ep, &put->desc);
    if (rc == GNI_RC_SUCCESS)
        put->state = MGNI_POSTED;
    else if (rc != GNI_RC_ERROR_RESOURCE)
        put->state = MGNI_BROKEN;
}

/* A transaction has ended. It is repeated if that may help, by whoever waits for it. */
static void completed(struct mgni_adapter *adapter, gni_cq_entry_t event)
{
    gni_post_descriptor_t *desc = NULL;
    gni_return_t rc = GNI_GetCompleted(adapter->tx, event, &desc);
    struct mgni_put *put = (struct mgni_put *)desc;
    uint32_t recoverable = 0;

    if (put == NULL)
        return;
    put->state = MGNI_DONE;
    if (rc == GNI_RC_TRANSACTION_ERROR) {
        GNI_CqErrorRecoverable(event, &recoverable);
        put->status = (uint32_t)GNI_CQ_GET_STATUS(event);
        put->state = recoverable && ++put->tries <= MGNI_TRIES_MAX ? MGNI_READY : MGNI_BROKEN;
    }
    if (put == &put->peer->probe)
        probed(put);
}

/* A message is in the peer's mailbox, or will never be. */
static void sent(struct mgni_adapter *adapter, gni_cq_entry_t event)
{
    unsigned place = (unsigned)GNI_CQ_GET_MSG_ID(event);
    struct mgni_send *send = &adapter->sends[place];

    if (place >= MGNI_SENDS_MAX || send->frame == NULL)
        return;
    mad_gni_frame_free(adapter, send->frame);
    send->frame = NULL;
    send->next = adapter->free_send;
    adapter->free_send = place;
    adapter->used_sends--;
    if (send->peer == NULL)
        return; /* its channel has been closed */
    send->peer->channel->in_flight--;
    if (!GNI_CQ_STATUS_OK(event))
        mad_gni_lost(send->peer, MAD_EPEER, (uint32_t)GNI_CQ_GET_STATUS(event));
}

/* ---- the mailboxes --------------------------------------------------------------------------- */

static uint32_t payload_of(const struct mgni_header *header)
{
    return header->flags >> MGNI_LENGTH_SHIFT;
}

static void release(struct mgni_peer *peer)
{
    GNI_SmsgRelease(peer->ep);
}

/* Copies DATA out of the mailbox, behind which something else may wait. */
static bool stash(struct mgni_peer *peer)
{
    struct mgni_frame *frame = mad_gni_frame(peer->channel->adapter);

    if (frame == NULL) {
        mad_gni_lost(peer, MAD_ENOMEM, 0);
        return false;
    }
    frame->header = *peer->head;
    frame->length = payload_of(peer->head);
    memcpy(frame->bytes, peer->head + 1, frame->length);
    port_spend(PORT_COST_COPY, frame->length);
    frame->next = NULL;
    if (peer->first == NULL)
        peer->first = frame;
    else
        peer->last->next = frame;
    peer->last = frame;
    peer->head = NULL;
    release(peer);
    return true;
}

static bool take_cts(struct mgni_peer *peer, const void *payload, uint32_t bytes)
{
    struct mgni_cts *cts = &peer->cts[peer->cts_count];

    if (peer->cts_count == MGNI_WINDOWS || bytes > sizeof(cts->pieces) ||
        bytes % sizeof(struct mgni_piece) != 0)
        return false;
    memcpy(cts->pieces, payload, bytes);
    cts->count = bytes / (uint32_t)sizeof(struct mgni_piece);
    peer->cts_count++;
    return true;
}

static bool take_fin(struct mgni_peer *peer, const void *payload, uint32_t bytes)
{
    if (peer->fin_count == MGNI_WINDOWS || bytes != sizeof(struct mgni_fin))
        return false;
    memcpy(&peer->fin[peer->fin_count++], payload, bytes);
    return true;
}

/* The next message of the mailbox. False: it is not one of this protocol. */
static bool take(struct mgni_peer *peer, const struct mgni_header *header, uint8_t tag)
{
    uint32_t bytes = payload_of(header);
    bool valid = bytes <= MGNI_FRAME_BYTES && header->channel == peer->channel->object->id &&
                 header->sequence == peer->received;

    peer->received++;
    if (!valid)
        return false;
    switch (tag) {
    case MGNI_DATA:
        peer->head = header; /* stays there until it is wanted */
        return true;
    case MGNI_NEWMSG:
        peer->announced++;
        break;
    case MGNI_CTS:
        valid = take_cts(peer, header + 1, bytes);
        break;
    case MGNI_FIN:
        valid = take_fin(peer, header + 1, bytes);
        break;
    default:
        return false;
    }
    release(peer);
    return valid;
}

bool mad_gni_examine(struct mgni_peer *peer)
{
    bool any = false;
    gni_return_t rc;
    uint8_t tag;
    void *at;

    for (;;) {
        if (peer->lost || (peer->head != NULL && (peer->waiting == 0 || !stash(peer))))
            return any;
        if (!peer->maybe)
            return any;
        tag = GNI_SMSG_ANY_TAG;
        rc = GNI_SmsgGetNextWTag(peer->ep, &at, &tag);
        if (rc == GNI_RC_NOT_DONE) {
            peer->maybe = false;
            return any;
        }
        any = true;
        if (rc != GNI_RC_SUCCESS || !take(peer, at, tag))
            mad_gni_lost(peer, rc == GNI_RC_SUCCESS ? MAD_EWIRE : MAD_EDRIVER, (uint32_t)rc);
    }
}

static void arrived(struct mgni_channel *channel, int rank)
{
    struct mgni_peer *peer = channel->peers[rank];

    if (peer == NULL || peer->ep == NULL)
        return;
    peer->maybe = true;
    mad_gni_examine(peer);
}

/* The queue was too short: events are missing, but no messages. */
static void poll_all(struct mgni_adapter *adapter)
{
    struct mgni_channel *channel;
    int rank;

    for (channel = adapter->channels; channel != NULL; channel = channel->next)
        for (rank = 0; rank < channel->size; rank++)
            arrived(channel, rank);
}

static void received(struct mgni_adapter *adapter, gni_cq_entry_t event)
{
    uint32_t index = (uint32_t)GNI_CQ_GET_REM_INST_ID(event);
    struct mgni_channel *channel;

    for (channel = adapter->channels; channel != NULL; channel = channel->next)
        if (index / (uint32_t)channel->size == (uint32_t)channel->object->id) {
            arrived(channel, (int)(index % (uint32_t)channel->size));
            return;
        }
}

/* ---- progress and waiting -------------------------------------------------------------------- */

bool mad_gni_progress(struct mgni_adapter *adapter)
{
    gni_cq_entry_t event = 0;
    bool any = false;
    gni_return_t rc = GNI_CqGetEvent(adapter->tx, &event);

    if (rc != GNI_RC_NOT_DONE) {
        any = true;
        if (GNI_CQ_GET_TYPE(event) == GNI_CQ_EVENT_TYPE_SMSG)
            sent(adapter, event);
        else
            completed(adapter, event);
    }
    rc = GNI_CqGetEvent(adapter->rx, &event);
    if (rc == GNI_RC_NOT_DONE)
        return any;
    if (rc == GNI_RC_ERROR_RESOURCE)
        poll_all(adapter);
    else
        received(adapter, event);
    return true;
}

void mad_gni_probe_all(struct mgni_channel *channel)
{
    for (int rank = 0; rank < channel->size; rank++)
        if (channel->peers[rank] != NULL)
            probe(channel->peers[rank]);
}

static void probe_for(const struct mgni_wait *wait)
{
    if (wait->peer != NULL)
        probe(wait->peer);
    else if (wait->channel != NULL)
        mad_gni_probe_all(wait->channel);
}

static void wake_others(const struct mgni_adapter *adapter)
{
    const struct mgni_wait *wait;
    const struct port_thread *self = port_thread_self();

    for (wait = adapter->waits; wait != NULL; wait = wait->next)
        if (wait->thread != self)
            port_thread_wake(wait->thread);
}

static void idle_begin(struct mgni_wait *wait)
{
    struct mgni_adapter *adapter = wait->adapter;

    wait->thread = port_thread_self();
    wait->next = adapter->waits;
    if (wait->next != NULL)
        wait->next->link = &wait->next;
    wait->link = &adapter->waits;
    adapter->waits = wait;
    port_timer_start(&wait->timer, adapter->probe_ns);
    wait->timing = true;
}

bool mad_gni_ready(const struct mgni_adapter *adapter)
{
    bool ready = GNI_CqTestEvent(adapter->tx) != GNI_RC_NOT_DONE;

    return GNI_CqTestEvent(adapter->rx) != GNI_RC_NOT_DONE || ready;
}

/* The queues are looked at without the lock, so that others get it. */
void mad_gni_pass(struct mgni_wait *wait)
{
    struct mgni_adapter *adapter = wait->adapter;
    bool ready;

    port_mutex_unlock(&adapter->mutex);
    ready = mad_gni_ready(adapter);
    if (!ready && wait->timing)
        mad_wait_idle(&wait->timer);
    port_mutex_lock(&adapter->mutex);
    if (ready) {
        if (mad_gni_progress(adapter) && adapter->waits != NULL)
            wake_others(adapter);
        return;
    }
    if (!wait->timing) {
        idle_begin(wait);
    } else if (port_timer_rang(&wait->timer)) {
        probe_for(wait);
        port_timer_stop(&wait->timer);
        port_timer_start(&wait->timer, adapter->probe_ns);
    }
}

void mad_gni_pass_end(struct mgni_wait *wait)
{
    if (!wait->timing)
        return;
    *wait->link = wait->next;
    if (wait->next != NULL)
        wait->next->link = wait->link;
    port_timer_stop(&wait->timer);
    wait->timing = false;
}

void mad_gni_describe(char *text, size_t size)
{
    p_mad_madeleine_t session = mad_get_madeleine();
    const struct mgni_wait *wait = NULL;
    char name[80] = "";

    text[0] = '\0';
    for (int i = 0; session != NULL && i < session->nb_adapter && wait == NULL; i++)
        if (session->adapter[i].driver->id == mad_GNI && session->adapter[i].specific != NULL)
            wait = mad_gni_adapter(&session->adapter[i])->waits;
    if (wait == NULL || wait->what == NULL)
        return;
    if (wait->peer != NULL) {
        const struct mgni_address *at = &wait->adapter->addresses[wait->peer->in->remote_host_id];

        port_peer_name(at->address, at->instance, name, sizeof(name));
    }
    snprintf(text, size, "%s%s%s on Madeleine's channel %s", wait->what,
             name[0] != '\0' ? ", peer " : "", name, wait->channel->object->name);
}

/* ---- sending --------------------------------------------------------------------------------- */

/* True: uGNI has taken it. */
static bool try_send(struct mgni_peer *peer, enum mgni_tag tag, struct mgni_frame *frame)
{
    struct mgni_adapter *adapter = peer->channel->adapter;
    unsigned place = adapter->free_send;
    struct mgni_send *send = &adapter->sends[place];
    gni_return_t rc;

    if (place == MGNI_SENDS_MAX)
        return false;
    frame->header.channel = (uint16_t)peer->channel->object->id;
    frame->header.sequence = peer->sent;
    rc = GNI_SmsgSendWTag(peer->ep, &frame->header, sizeof(frame->header), frame->bytes,
                          frame->length, place, (uint8_t)tag);
    if (rc == GNI_RC_NOT_DONE)
        return false;
    if (rc != GNI_RC_SUCCESS) {
        mad_gni_lost(peer, rc == GNI_RC_INVALID_STATE ? MAD_EPEER : MAD_EDRIVER, (uint32_t)rc);
        return false;
    }
    adapter->free_send = send->next;
    adapter->used_sends++;
    *send = (struct mgni_send){.peer = peer, .frame = frame};
    peer->sent++;
    peer->channel->in_flight++;
    return true;
}

int mad_gni_send(struct mgni_peer *peer, enum mgni_tag tag, struct mgni_frame *frame)
{
    struct mgni_wait wait = {.adapter = peer->channel->adapter,
                             .channel = peer->channel,
                             .peer = peer,
                             .what = "room in the mailbox"};
    bool taken = false;

    frame->header.flags = (uint16_t)(frame->length << MGNI_LENGTH_SHIFT);
    if (tag == MGNI_DATA && peer->armed)
        frame->header.flags |= MGNI_FIRST;
    if (tag == MGNI_DATA || tag == MGNI_NEWMSG)
        peer->armed = false;
    if (wait.adapter->used_sends >= MGNI_SENDS_DUE && mad_gni_progress(wait.adapter))
        wake_others(wait.adapter);
    while (!peer->lost && !(taken = try_send(peer, tag, frame)))
        if (!peer->lost)
            mad_gni_pass(&wait);
    mad_gni_pass_end(&wait);
    if (taken)
        return MAD_OK;
    mad_gni_frame_free(peer->channel->adapter, frame);
    return mad_connection_error(peer->out);
}
