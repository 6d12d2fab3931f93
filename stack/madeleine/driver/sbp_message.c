/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Messages over SBP: the first frame is a REQUEST, the others are DATA. */
#include <assert.h>
#include <string.h>

#include "sbp.h"

static struct msbp_adapter *adapter_of(p_mad_link_t link)
{
    return mad_sbp_adapter(link->connection->channel->adapter);
}

/* ---- noticing a message ---------------------------------------------------------------------- */

int mad_sbp_new_message(p_mad_connection_t out)
{
    mad_sbp_peer(out)->announced = false;
    return MAD_OK;
}

static bool is_usable(const struct msbp_channel *own, int rank)
{
    const struct msbp_peer *peer = own->peers[rank];

    return rank != own->own && peer != NULL && !peer->lost &&
           mad_connection_error(peer->in) == MAD_OK;
}

/* In turn after the rank served last. */
static p_mad_connection_t next_message(struct msbp_channel *own)
{
    for (int i = 1; i <= own->size; i++) {
        int rank = (own->last_served + i) % own->size;

        if (!is_usable(own, rank) || own->peers[rank]->first == NULL)
            continue;
        if (own->peers[rank]->first->type != MSBP_REQUEST) {
            mad_sbp_lost(own->peers[rank], MAD_EWIRE, "unexpected message type");
            mad_sbp_refuse(own->peers[rank]);
            continue;
        }
        own->last_served = rank;
        return own->peers[rank]->in;
    }
    return NULL;
}

static bool any_left(const struct msbp_channel *own)
{
    for (int rank = 0; rank < own->size; rank++)
        if (is_usable(own, rank))
            return true;
    return false;
}

p_mad_connection_t mad_sbp_receive_message(p_mad_channel_t channel)
{
    struct msbp_channel *own = mad_sbp_channel(channel);
    struct msbp_waiting waiting = {.adapter = own->adapter, .channel = own};
    p_mad_connection_t in;

    while ((in = next_message(own)) == NULL && any_left(own))
        mad_sbp_pass(&waiting);
    mad_sbp_pass_end(&waiting);
    if (in == NULL)
        mad_channel_fail(channel, MAD_EPEER, "no peer is left");
    return in;
}

/* A program that polls for messages learns that peers have gone, too. */
static void probe_now_and_then(struct msbp_channel *own)
{
    if (own->polling && !port_timer_rang(&own->polled))
        return;
    for (int rank = 0; own->polling && rank < own->size; rank++)
        if (is_usable(own, rank))
            mad_sbp_probe(own->peers[rank]);
    if (own->polling)
        port_timer_stop(&own->polled);
    own->polling = true;
    port_timer_start(&own->polled, own->adapter->probe_ns);
}

p_mad_connection_t mad_sbp_poll_message(p_mad_channel_t channel)
{
    struct msbp_channel *own = mad_sbp_channel(channel);
    p_mad_connection_t in = next_message(own);

    if (in == NULL && mad_sbp_progress(own->adapter))
        in = next_message(own);
    if (in == NULL)
        probe_now_and_then(own);
    return in;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static p_mad_buffer_t buffer_of(p_mad_link_t link, struct msbp_frame *frame)
{
    p_mad_buffer_t buffer = mad_buffer_alloc(link->connection);

    if (buffer == NULL) {
        mad_sbp_frame_free(adapter_of(link), frame);
        return NULL;
    }
    buffer->type = mad_static_buffer;
    buffer->buffer = frame->payload;
    buffer->specific = frame;
    return buffer;
}

/*
 * A buffer of the kernel, if few are held. Those of a message whose blocks are held back come from
 * private memory, and are copied when they leave.
 */
static bool give_memory(struct msbp_adapter *adapter, struct msbp_frame *frame, bool delayed)
{
    unsigned long kernel = 0;

    if (!delayed && adapter->held_out < MSBP_HELD_MAX)
        kernel = pickupemptybuffer(adapter->out);
    if (kernel == 0) {
        port_idle_break(); /* the next call is no repetition of this one: the message has grown */
        return mad_sbp_frame_room(frame);
    }
    mad_sbp_hold(adapter, frame, adapter->out, kernel);
    return true;
}

p_mad_buffer_t mad_sbp_get_static(p_mad_link_t link)
{
    struct msbp_adapter *adapter = adapter_of(link);
    struct msbp_frame *frame = mad_sbp_frame(adapter);
    p_mad_buffer_t buffer;

    if (frame == NULL)
        return NULL;
    if (!give_memory(adapter, frame, link->connection->delayed_send)) {
        mad_sbp_frame_free(adapter, frame);
        return NULL;
    }
    buffer = buffer_of(link, frame);
    if (buffer != NULL)
        buffer->length = MSBP_PAYLOAD;
    return buffer;
}

int mad_sbp_return_static(p_mad_link_t link, p_mad_buffer_t buffer)
{
    mad_sbp_frame_free(adapter_of(link), buffer->specific);
    return MAD_OK;
}

/* Into a buffer of the kernel. */
static int copy_in(struct msbp_peer *peer, struct msbp_frame *frame, uint32_t bytes)
{
    unsigned long kernel = mad_sbp_empty(peer);
    const char *from = frame->payload;

    if (kernel == 0)
        return mad_connection_error(peer->out);
    mad_sbp_hold(peer->channel->adapter, frame, peer->channel->adapter->out, kernel);
    memcpy(frame->payload, from, bytes);
    mad_cost(peer->channel->object, COPY, bytes);
    return MAD_OK;
}

int mad_sbp_send_buffer(p_mad_link_t link, p_mad_buffer_t buffer)
{
    struct msbp_peer *peer = mad_sbp_peer(link->connection);
    struct msbp_frame *frame = buffer->specific;
    uint32_t bytes = (uint32_t)buffer->bytes_written;
    int error = MAD_OK;

    assert(buffer->type == mad_static_buffer && buffer->bytes_read == 0);
    buffer->bytes_read = buffer->bytes_written;
    mad_cost(link->connection->channel, COPY, bytes);
    if (frame->kernel == 0)
        error = copy_in(peer, frame, bytes);
    if (error != MAD_OK) {
        mad_sbp_frame_free(adapter_of(link), frame);
        return error;
    }
    error = mad_sbp_send(peer, frame->kernel, peer->announced ? MSBP_DATA : MSBP_REQUEST, bytes);
    peer->announced = true;
    mad_sbp_sent(adapter_of(link), frame);
    return error;
}

int mad_sbp_receive_buffer(p_mad_link_t link, p_mad_buffer_t *buffer)
{
    struct msbp_peer *peer = mad_sbp_peer(link->connection);
    struct msbp_waiting waiting = {
        .adapter = adapter_of(link), .channel = peer->channel, .peer = peer};
    struct msbp_frame *frame;

    while (peer->first == NULL && !peer->lost)
        mad_sbp_pass(&waiting);
    mad_sbp_pass_end(&waiting);
    if (peer->lost)
        return mad_connection_error(link->connection);
    frame = peer->first;
    peer->first = frame->next;
    *buffer = buffer_of(link, frame);
    if (*buffer == NULL)
        return MAD_ENOMEM;
    (*buffer)->length = (*buffer)->bytes_written = frame->length;
    mad_cost(link->connection->channel, COPY, frame->length);
    return MAD_OK;
}

void mad_sbp_give_up(p_mad_connection_t in)
{
    mad_sbp_refuse(mad_sbp_peer(in));
}
