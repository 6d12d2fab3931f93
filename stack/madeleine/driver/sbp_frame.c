/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Frames of SBP: picking them up, sorting, waiting, and peers that have gone. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "sbp.h"

/* ---- memory ---------------------------------------------------------------------------------- */

struct msbp_frame *mad_sbp_frame(struct msbp_adapter *adapter)
{
    struct msbp_frame *frame;

    port_mutex_lock(&adapter->mutex);
    frame = adapter->free;
    if (frame != NULL)
        adapter->free = frame->next;
    port_mutex_unlock(&adapter->mutex);
    return frame != NULL ? frame : calloc(1, sizeof(*frame));
}

bool mad_sbp_frame_room(struct msbp_frame *frame)
{
    if (frame->room == NULL)
        frame->room = malloc(MSBP_PAYLOAD);
    frame->payload = frame->room;
    return frame->room != NULL;
}

static unsigned *held(struct msbp_adapter *adapter, unsigned long key)
{
    return key == adapter->in ? &adapter->held_in : &adapter->held_out;
}

void mad_sbp_hold(struct msbp_adapter *adapter, struct msbp_frame *frame, unsigned long key,
                  unsigned long kernel)
{
    frame->key = key;
    frame->kernel = kernel;
    frame->payload = (char *)kernel + MSBP_HEADERS; /* NOLINT: SBP names frames so */
    ++*held(adapter, key);
}

/* The buffer is not the frame's any more. */
static void let_go(struct msbp_adapter *adapter, struct msbp_frame *frame)
{
    assert(*held(adapter, frame->key) > 0);
    --*held(adapter, frame->key);
    frame->kernel = 0;
}

void mad_sbp_frame_free(struct msbp_adapter *adapter, struct msbp_frame *frame)
{
    unsigned long kernel = frame->kernel;

    if (kernel != 0) {
        let_go(adapter, frame);
        returnemptybuffer(frame->key, kernel);
    }
    port_mutex_lock(&adapter->mutex);
    frame->next = adapter->free;
    adapter->free = frame;
    port_mutex_unlock(&adapter->mutex);
}

void mad_sbp_sent(struct msbp_adapter *adapter, struct msbp_frame *frame)
{
    let_go(adapter, frame);
    mad_sbp_frame_free(adapter, frame);
}

/* Out of the kernel's buffer, which others need. */
static bool copy_out(struct msbp_adapter *adapter, struct msbp_frame *frame)
{
    unsigned long kernel = frame->kernel;
    const char *from = frame->payload;

    if (adapter->held_in <= MSBP_HELD_MAX)
        return true;
    if (!mad_sbp_frame_room(frame))
        return false;
    memcpy(frame->room, from, frame->length);
    let_go(adapter, frame);
    returnemptybuffer(frame->key, kernel);
    return true;
}

/* ---- sorting --------------------------------------------------------------------------------- */

void mad_sbp_lost(struct msbp_peer *peer, int code, const char *text)
{
    if (peer->lost)
        return;
    peer->lost = true;
    mad_driver_note(peer->in, text, 0);
    mad_driver_note(peer->out, text, 0);
    mad_connection_break(peer->in, code);
    mad_connection_break(peer->out, code);
}

static void wake_others(const struct msbp_adapter *adapter)
{
    const struct msbp_wait *wait;
    const struct port_thread *self = port_thread_self();

    for (wait = adapter->waits; wait != NULL; wait = wait->next)
        if (wait->thread != self)
            port_thread_wake(wait->thread);
}

static void append(struct msbp_frame **first, struct msbp_frame **last, struct msbp_frame *frame)
{
    frame->next = NULL;
    if (*first == NULL)
        *first = frame;
    else
        (*last)->next = frame;
    *last = frame;
}

static struct msbp_channel *find_channel(const struct msbp_adapter *adapter, int id)
{
    struct msbp_channel *channel = adapter->channels;

    while (channel != NULL && channel->object->id != id)
        channel = channel->next;
    return channel;
}

/* It is the receiver's; `unknown`: also if its channel is not open yet. */
static void sort(struct msbp_adapter *adapter, struct msbp_frame *frame)
{
    struct msbp_channel *channel = find_channel(adapter, frame->channel);
    struct msbp_peer *peer;

    if (channel == NULL) {
        append(&adapter->unknown, &adapter->unknown_last, frame);
        return;
    }
    peer =
        frame->origin >= 0 && frame->origin < channel->size ? channel->peers[frame->origin] : NULL;
    if (peer == NULL) { /* of no process of the channel */
        append(&adapter->unknown, &adapter->unknown_last, frame);
        return;
    }
    peer->probes = 0;
    if (frame->type != MSBP_REQUEST && frame->type != MSBP_DATA)
        mad_sbp_lost(peer, MAD_EWIRE, "invalid message type");
    append(&peer->first, &peer->last, frame);
}

/* A probe says that its sender lives, and no more. */
static void take_internal(struct msbp_adapter *adapter, struct msbp_frame *frame)
{
    struct msbp_channel *channel;

    for (channel = adapter->channels; channel != NULL; channel = channel->next)
        if (frame->origin >= 0 && frame->origin < channel->size &&
            channel->peers[frame->origin] != NULL)
            channel->peers[frame->origin]->probes = 0;
    mad_sbp_frame_free(adapter, frame);
}

bool mad_sbp_progress(struct msbp_adapter *adapter)
{
    unsigned long kernel = pickupfullbuffer(adapter->in);
    struct msbp_header header;
    struct msbp_frame *frame;
    SbpHeader_t outer;

    if (kernel == 0)
        return false;
    frame = mad_sbp_frame(adapter);
    memcpy(&outer, (void *)kernel, sizeof(outer)); /* NOLINT: SBP names frames so */
    memcpy(&header, (char *)kernel + SBP_HEADER_SIZE,
           sizeof(header)); /* NOLINT: SBP names frames so */
    if (frame == NULL || outer.cookie.len < MSBP_HEADERS) {
        returnemptybuffer(adapter->in, kernel);
        if (frame != NULL)
            mad_sbp_frame_free(adapter, frame);
        return true;
    }
    mad_sbp_hold(adapter, frame, adapter->in, kernel);
    frame->length = (uint32_t)(outer.cookie.len - MSBP_HEADERS);
    frame->origin = outer.cookie.origin;
    frame->channel = header.channel;
    frame->type = header.type;
    if (frame->type == MSBP_INTERNAL) {
        take_internal(adapter, frame);
        return true;
    }
    if (!copy_out(adapter, frame)) {
        mad_sbp_frame_free(adapter, frame);
        return true;
    }
    port_mutex_lock(&adapter->mutex);
    sort(adapter, frame);
    wake_others(adapter);
    port_mutex_unlock(&adapter->mutex);
    return true;
}

void mad_sbp_sort_unknown(struct msbp_channel *channel)
{
    struct msbp_adapter *adapter = channel->adapter;
    struct msbp_frame *frame;

    port_mutex_lock(&adapter->mutex);
    frame = adapter->unknown;
    adapter->unknown = NULL;
    while (frame != NULL) {
        struct msbp_frame *next = frame->next;

        sort(adapter, frame);
        frame = next;
    }
    port_mutex_unlock(&adapter->mutex);
}

/* ---- waiting --------------------------------------------------------------------------------- */

/* The kernel tells of a dead peer when a frame is sent to it. */
void mad_sbp_probe(struct msbp_peer *peer)
{
    struct msbp_adapter *adapter = peer->channel->adapter;
    unsigned long kernel;

    if (peer->lost || peer->in->remote_host_id == peer->channel->own ||
        peer->probes >= MSBP_PROBES_MAX || (kernel = pickupemptybuffer(adapter->out)) == 0)
        return;
    peer->probes++;
    mad_sbp_send(peer, kernel, MSBP_INTERNAL, 0);
}

static void probe_for(const struct msbp_waiting *waiting)
{
    if (waiting->peer != NULL)
        mad_sbp_probe(waiting->peer);
    for (int rank = 0; waiting->peer == NULL && rank < waiting->channel->size; rank++)
        if (waiting->channel->peers[rank] != NULL)
            mad_sbp_probe(waiting->channel->peers[rank]);
}

static void begin(struct msbp_waiting *waiting)
{
    struct msbp_adapter *adapter = waiting->adapter;
    struct msbp_wait *wait = &waiting->wait;

    port_mutex_lock(&adapter->mutex);
    wait->thread = port_thread_self();
    wait->next = adapter->waits;
    if (wait->next != NULL)
        wait->next->link = &wait->next;
    wait->link = &adapter->waits;
    adapter->waits = wait;
    port_mutex_unlock(&adapter->mutex);
    port_timer_start(&waiting->timer, adapter->probe_ns);
    waiting->begun = true;
}

void mad_sbp_pass(struct msbp_waiting *waiting)
{
    if (!waiting->begun)
        begin(waiting);
    if (mad_sbp_progress(waiting->adapter) || !port_timer_rang(&waiting->timer))
        return;
    probe_for(waiting);
    port_timer_stop(&waiting->timer);
    port_timer_start(&waiting->timer, waiting->adapter->probe_ns);
}

void mad_sbp_pass_end(struct msbp_waiting *waiting)
{
    if (!waiting->begun)
        return;
    port_mutex_lock(&waiting->adapter->mutex);
    *waiting->wait.link = waiting->wait.next;
    if (waiting->wait.next != NULL)
        waiting->wait.next->link = waiting->wait.link;
    port_mutex_unlock(&waiting->adapter->mutex);
    port_timer_stop(&waiting->timer);
    waiting->begun = false;
}

/* ---- sending --------------------------------------------------------------------------------- */

unsigned long mad_sbp_empty(struct msbp_peer *peer)
{
    struct msbp_waiting waiting = {
        .adapter = peer->channel->adapter, .channel = peer->channel, .peer = peer};
    unsigned long kernel;

    while ((kernel = pickupemptybuffer(waiting.adapter->out)) == 0 && !peer->lost)
        mad_sbp_pass(&waiting);
    mad_sbp_pass_end(&waiting);
    return kernel;
}

int mad_sbp_send(struct msbp_peer *peer, unsigned long kernel, enum msbp_type type, uint32_t length)
{
    struct msbp_header header = {.channel = (uint8_t)peer->channel->object->id,
                                 .type = (uint8_t)type};
    SbpHeader_t outer = {
        .cookie = {.destn_node = peer->in->remote_host_id, .len = (int)(MSBP_HEADERS + length)}};
    char *at = (char *)kernel; /* NOLINT: SBP names frames so */

    assert(length <= MSBP_PAYLOAD);
    memcpy(at, &outer, sizeof(outer));
    memcpy(at + SBP_HEADER_SIZE, &header, sizeof(header));
    if (!peer->lost && returnfullbuffer(peer->channel->adapter->out, kernel) != 0)
        return MAD_OK;
    returnemptybuffer(peer->channel->adapter->out, kernel);
    mad_sbp_lost(peer, MAD_EPEER, "the kernel does not reach the peer");
    return mad_connection_error(peer->out);
}
