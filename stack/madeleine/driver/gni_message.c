/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Messages over GNI: how they begin, and blocks that go through mailboxes. */
#include <assert.h>
#include <string.h>

#include "gni.h"

static struct mgni_adapter *adapter_of(p_mad_link_t link)
{
    return mad_gni_adapter(link->connection->channel->adapter);
}

/* ---- noticing a message ---------------------------------------------------------------------- */

int mad_gni_new_message(p_mad_connection_t out)
{
    mad_gni_peer(out)->armed = true;
    return MAD_OK;
}

static bool is_usable(const struct mgni_peer *peer)
{
    return peer != NULL && peer->ep != NULL && mad_connection_error(peer->in) == MAD_OK;
}

/* Whether a message waits; an announcement is used up, and bytes of the user stay. */
static bool begins(struct mgni_peer *peer)
{
    const struct mgni_header *front;

    if (!is_usable(peer))
        return false;
    mad_gni_examine(peer);
    front = peer->first != NULL ? &peer->first->header : peer->head;
    if (front != NULL && (front->flags & MGNI_FIRST) != 0)
        return !peer->lost;
    if (peer->announced == 0 || peer->lost)
        return false;
    peer->announced--;
    return true;
}

/* In turn after the rank served last. */
static p_mad_connection_t next_message(struct mgni_channel *own)
{
    for (int i = 1; i <= own->size; i++) {
        int rank = (own->last_served + i) % own->size;

        if (begins(own->peers[rank])) {
            own->last_served = rank;
            return own->peers[rank]->in;
        }
    }
    return NULL;
}

static bool any_left(const struct mgni_channel *own)
{
    for (int rank = 0; rank < own->size; rank++)
        if (is_usable(own->peers[rank]))
            return true;
    return false;
}

p_mad_connection_t mad_gni_receive_message(p_mad_channel_t channel)
{
    struct mgni_channel *own = mad_gni_channel(channel);
    struct mgni_wait wait = {.adapter = own->adapter, .channel = own, .what = "a message"};
    p_mad_connection_t in;

    port_mutex_lock(&own->adapter->mutex);
    while ((in = next_message(own)) == NULL && any_left(own))
        mad_gni_pass(&wait);
    mad_gni_pass_end(&wait);
    port_mutex_unlock(&own->adapter->mutex);
    if (in == NULL)
        mad_channel_fail(channel, MAD_EPEER, "no peer is left");
    return in;
}

/* A program that polls for messages learns that peers have gone, too. */
static void probe_now_and_then(struct mgni_channel *own)
{
    if (own->polling && !port_timer_rang(&own->polled))
        return;
    if (own->polling) {
        mad_gni_probe_all(own);
        port_timer_stop(&own->polled);
    }
    own->polling = true;
    port_timer_start(&own->polled, own->adapter->probe_ns);
}

p_mad_connection_t mad_gni_poll_message(p_mad_channel_t channel)
{
    struct mgni_channel *own = mad_gni_channel(channel);
    p_mad_connection_t in;
    bool ready = mad_gni_ready(own->adapter);

    port_mutex_lock(&own->adapter->mutex);
    if (ready)
        mad_gni_progress(own->adapter);
    in = next_message(own);
    if (in == NULL)
        probe_now_and_then(own);
    port_mutex_unlock(&own->adapter->mutex);
    return in;
}

/* ---- short blocks ---------------------------------------------------------------------------- */

static p_mad_buffer_t buffer_of(p_mad_link_t link, struct mgni_frame *frame)
{
    p_mad_buffer_t buffer = mad_buffer_alloc(link->connection);

    if (buffer == NULL)
        return NULL;
    buffer->type = mad_static_buffer;
    buffer->buffer = frame->bytes;
    buffer->specific = frame;
    return buffer;
}

p_mad_buffer_t mad_gni_get_static(p_mad_link_t link)
{
    struct mgni_adapter *adapter = adapter_of(link);
    struct mgni_frame *frame;
    p_mad_buffer_t buffer;

    port_mutex_lock(&adapter->mutex);
    frame = mad_gni_frame(adapter);
    port_mutex_unlock(&adapter->mutex);
    buffer = frame != NULL ? buffer_of(link, frame) : NULL;
    if (buffer != NULL) {
        buffer->length = MGNI_FRAME_BYTES;
        return buffer;
    }
    if (frame != NULL) {
        port_mutex_lock(&adapter->mutex);
        mad_gni_frame_free(adapter, frame);
        port_mutex_unlock(&adapter->mutex);
    }
    return NULL;
}

int mad_gni_return_static(p_mad_link_t link, p_mad_buffer_t buffer)
{
    struct mgni_adapter *adapter = adapter_of(link);

    port_mutex_lock(&adapter->mutex);
    mad_gni_frame_free(adapter, buffer->specific);
    port_mutex_unlock(&adapter->mutex);
    return MAD_OK;
}

int mad_gni_send_static(p_mad_link_t link, p_mad_buffer_t buffer)
{
    struct mgni_peer *peer = mad_gni_peer(link->connection);
    struct mgni_adapter *adapter = adapter_of(link);
    struct mgni_frame *frame = buffer->specific;
    int error;

    assert(buffer->type == mad_static_buffer && buffer->bytes_read == 0);
    frame->length = (uint32_t)buffer->bytes_written;
    buffer->bytes_read = buffer->bytes_written;
    port_spend(PORT_COST_COPY, frame->length);
    port_mutex_lock(&adapter->mutex);
    error = mad_gni_send(peer, MGNI_DATA, frame);
    port_mutex_unlock(&adapter->mutex);
    return error;
}

/* The next DATA of the peer, moved out of the mailbox. The lock is held. */
static struct mgni_frame *next_frame(struct mgni_peer *peer)
{
    struct mgni_wait wait = {.adapter = peer->channel->adapter,
                             .channel = peer->channel,
                             .peer = peer,
                             .what = "a block of a message"};
    struct mgni_frame *frame;

    peer->waiting++;
    for (;;) {
        mad_gni_examine(peer);
        if (peer->first != NULL || peer->lost)
            break;
        mad_gni_pass(&wait);
    }
    mad_gni_pass_end(&wait);
    peer->waiting--;
    frame = peer->first;
    if (frame != NULL)
        peer->first = frame->next;
    return frame;
}

int mad_gni_receive_static(p_mad_link_t link, p_mad_buffer_t *buffer)
{
    struct mgni_peer *peer = mad_gni_peer(link->connection);
    struct mgni_adapter *adapter = adapter_of(link);
    struct mgni_frame *frame;

    port_mutex_lock(&adapter->mutex);
    frame = next_frame(peer);
    port_mutex_unlock(&adapter->mutex);
    if (frame == NULL)
        return mad_connection_error(link->connection);
    *buffer = buffer_of(link, frame);
    if (*buffer == NULL) {
        port_mutex_lock(&adapter->mutex);
        mad_gni_frame_free(adapter, frame);
        port_mutex_unlock(&adapter->mutex);
        return MAD_ENOMEM;
    }
    (*buffer)->length = (*buffer)->bytes_written = frame->length;
    return MAD_OK;
}
