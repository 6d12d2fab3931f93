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

static void free_frames(struct msbp_adapter *adapter, struct msbp_frame *first)
{
    while (first != NULL) {
        struct msbp_frame *next = first->next;

        mad_sbp_frame_free(adapter, first);
        first = next;
    }
}

/* ---- handing frames to the kernel ------------------------------------------------------------ */

/* The buffer is used up. False: the kernel does not reach the peer. */
static bool transmit(const struct msbp_peer *peer, unsigned long kernel, enum msbp_type type,
                     uint32_t length)
{
    struct msbp_header header = {.channel = (uint8_t)peer->channel->object->id,
                                 .type = (uint8_t)type};
    SbpHeader_t outer = {
        .cookie = {.destn_node = peer->in->remote_host_id, .len = (int)(MSBP_HEADERS + length)}};
    char *at = (char *)kernel; /* NOLINT: SBP names frames so */

    assert(length <= MSBP_PAYLOAD);
    memcpy(at, &outer, sizeof(outer));
    memcpy(at + SBP_HEADER_SIZE, &header, sizeof(header));
    if (returnfullbuffer(peer->channel->adapter->out, kernel) != 0)
        return true;
    returnemptybuffer(peer->channel->adapter->out, kernel);
    return false;
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

static void set_due(struct msbp_peer *peer, bool *due)
{
    peer->channel->adapter->due += !*due;
    *due = true;
}

/* Handles a frame that refuses a message or acknowledges a refusal. False: it is another frame. */
static bool note_refusal(struct msbp_peer *peer, const struct msbp_frame *frame)
{
    if (frame->type == MSBP_ACK && peer->gave_up) {
        peer->acked = true;
        return true;
    }
    if (frame->type != MSBP_REFUSED)
        return false;
    peer->refused = true;
    mad_driver_note(peer->out, "the receiver's blocks are others", 0);
    mad_connection_break(peer->out, MAD_ESYMM);
    set_due(peer, &peer->ack_due);
    return true;
}

/* Gives the frame to the connection that it is for. False: it can be freed. Needs the mutex. */
static bool sort(struct msbp_adapter *adapter, struct msbp_frame *frame)
{
    struct msbp_channel *channel = find_channel(adapter, frame->channel);
    struct msbp_peer *peer = NULL;

    if (channel != NULL && frame->origin >= 0 && frame->origin < channel->size)
        peer = channel->peers[frame->origin];
    if (peer == NULL) { /* its channel is not open yet, or it is of no process of the channel */
        append(&adapter->unknown, &adapter->unknown_last, frame);
        return true;
    }
    peer->probes = 0;
    if (note_refusal(peer, frame) || peer->gave_up)
        return false;
    if (frame->type != MSBP_REQUEST && frame->type != MSBP_DATA)
        mad_sbp_lost(peer, MAD_EWIRE, "invalid message type");
    append(&peer->first, &peer->last, frame);
    return true;
}

/* ---- refusals -------------------------------------------------------------------------------- */

/* The type of a frame that is due to the peer, which counts as sent. False: none is. */
static bool take_due(struct msbp_peer *peer, enum msbp_type *type)
{
    if (peer == NULL || (!peer->refusal_due && !peer->ack_due))
        return false;
    *type = peer->refusal_due ? MSBP_REFUSED : MSBP_ACK;
    *(peer->refusal_due ? &peer->refusal_due : &peer->ack_due) = false;
    peer->channel->adapter->due--;
    return true;
}

static struct msbp_peer *find_due(const struct msbp_adapter *adapter, enum msbp_type *type)
{
    const struct msbp_channel *channel;

    for (channel = adapter->channels; channel != NULL; channel = channel->next)
        for (int rank = 0; rank < channel->size; rank++)
            if (take_due(channel->peers[rank], type))
                return channel->peers[rank];
    return NULL;
}

/* Waits for nothing: the kernel may have no empty buffer until other processes read. */
static void send_due(struct msbp_adapter *adapter)
{
    struct msbp_peer *peer;
    enum msbp_type type;
    unsigned long kernel;

    while (adapter->due != 0 && (kernel = pickupemptybuffer(adapter->out)) != 0) {
        port_mutex_lock(&adapter->mutex);
        peer = find_due(adapter, &type);
        port_mutex_unlock(&adapter->mutex);
        if (peer == NULL)
            returnemptybuffer(adapter->out, kernel); /* another thread has sent it */
        else
            transmit(peer, kernel, type, 0); /* if the peer has gone, nobody waits for it */
    }
}

void mad_sbp_refuse(struct msbp_peer *peer)
{
    struct msbp_adapter *adapter = peer->channel->adapter;
    struct msbp_frame *unwanted = NULL;

    port_mutex_lock(&adapter->mutex);
    if (!peer->gave_up) {
        peer->gave_up = true;
        set_due(peer, &peer->refusal_due);
        unwanted = peer->first;
        peer->first = NULL;
    }
    port_mutex_unlock(&adapter->mutex);
    free_frames(adapter, unwanted);
    send_due(adapter);
}

/* ---- progress -------------------------------------------------------------------------------- */

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
    bool kept;

    send_due(adapter);
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
    kept = sort(adapter, frame);
    wake_others(adapter);
    port_mutex_unlock(&adapter->mutex);
    if (!kept)
        mad_sbp_frame_free(adapter, frame);
    return true;
}

void mad_sbp_sort_unknown(struct msbp_channel *channel)
{
    struct msbp_adapter *adapter = channel->adapter;
    struct msbp_frame *frame, *unwanted = NULL;

    port_mutex_lock(&adapter->mutex);
    frame = adapter->unknown;
    adapter->unknown = NULL;
    while (frame != NULL) {
        struct msbp_frame *next = frame->next;

        if (!sort(adapter, frame)) {
            frame->next = unwanted;
            unwanted = frame;
        }
        frame = next;
    }
    port_mutex_unlock(&adapter->mutex);
    free_frames(adapter, unwanted);
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

bool mad_sbp_pass(struct msbp_waiting *waiting)
{
    if (!waiting->begun)
        begin(waiting);
    if (mad_sbp_progress(waiting->adapter))
        return true;
    if (!port_timer_rang(&waiting->timer))
        return false;
    probe_for(waiting);
    port_timer_stop(&waiting->timer);
    port_timer_start(&waiting->timer, waiting->adapter->probe_ns);
    return false;
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

/* Whether the peer may still send frames, which somebody has to drop, or waits for an answer. */
static bool is_unsettled(const struct msbp_peer *peer)
{
    return peer != NULL &&
           (peer->refusal_due || peer->ack_due || (peer->gave_up && !peer->acked && !peer->lost));
}

/*
 * Until each refused sender has answered: it may wait for buffers that its frames occupy here. One
 * that has come to a fence does not answer; when nothing comes any more, it has sent all.
 */
int mad_sbp_quiesce(p_mad_channel_t channel)
{
    struct msbp_channel *own = mad_sbp_channel(channel);
    struct msbp_waiting waiting;
    struct port_timer silent;

    for (int rank = 0; own != NULL && rank < own->size; rank++) {
        if (!is_unsettled(own->peers[rank]))
            continue;
        waiting = (struct msbp_waiting){
            .adapter = own->adapter, .channel = own, .peer = own->peers[rank]};
        port_timer_start(&silent, own->adapter->probe_ns);
        while (is_unsettled(own->peers[rank]) && !port_timer_rang(&silent))
            if (mad_sbp_pass(&waiting)) {
                port_timer_stop(&silent);
                port_timer_start(&silent, own->adapter->probe_ns);
            }
        port_timer_stop(&silent);
        mad_sbp_pass_end(&waiting);
    }
    return MAD_OK;
}

/* ---- sending --------------------------------------------------------------------------------- */

unsigned long mad_sbp_empty(struct msbp_peer *peer)
{
    struct msbp_waiting waiting = {
        .adapter = peer->channel->adapter, .channel = peer->channel, .peer = peer};
    unsigned long kernel;

    while ((kernel = pickupemptybuffer(waiting.adapter->out)) == 0 && !peer->lost && !peer->refused)
        mad_sbp_pass(&waiting);
    mad_sbp_pass_end(&waiting);
    return kernel;
}

int mad_sbp_send(struct msbp_peer *peer, unsigned long kernel, enum msbp_type type, uint32_t length)
{
    if (peer->lost || peer->refused) {
        returnemptybuffer(peer->channel->adapter->out, kernel);
        return mad_connection_error(peer->out);
    }
    if (transmit(peer, kernel, type, length))
        return MAD_OK;
    mad_sbp_lost(peer, MAD_EPEER, "the kernel does not reach the peer");
    return mad_connection_error(peer->out);
}
