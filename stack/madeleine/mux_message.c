/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Messages of sub-channels: the table of their driver. */
#include <assert.h>
#include <string.h>

#include "mux.h"

enum { HEADER = sizeof(struct mad_mux_header) };

static struct mad_mux_peer *peer_of(p_mad_link_t link)
{
    return link->connection->specific;
}

/* ---- noticing a message ---------------------------------------------------------------------- */

static int new_message(p_mad_connection_t out)
{
    struct mad_mux_peer *peer = out->specific;

    peer->armed = true;
    return MAD_OK;
}

static bool is_usable(const struct mad_mux_sub *sub, int rank)
{
    return rank != sub->owner->own && mad_channel_has(sub->channel, rank) &&
           mad_connection_error(sub->peers[rank]->in) == MAD_OK;
}

/* With the lock. What is left of the last message is not of this one. */
static bool begins(struct mad_mux_sub *sub, int rank)
{
    struct mad_mux_frame *front;

    if (!is_usable(sub, rank))
        return false;
    front = sub->peers[rank]->first;
    if (front == NULL && sub->peers[rank]->lost)
        mad_connection_break(sub->peers[rank]->in, MAD_EPEER);
    if (front == NULL)
        return false;
    if ((front->header.flags & MAD_MUX_NEW) == 0) {
        mad_connection_break(sub->peers[rank]->in, MAD_ESYMM);
        mad_mux_control(sub->peers[rank], MAD_MUX_REFUSED, 0);
        return false;
    }
    front->header.flags &= (uint8_t)~MAD_MUX_NEW;
    return true;
}

/* With the lock. In turn after the rank served last. */
static p_mad_connection_t next_message(struct mad_mux_sub *sub)
{
    for (int i = 1; i <= sub->owner->size; i++) {
        int rank = (sub->last_served + i) % sub->owner->size;

        if (begins(sub, rank)) {
            sub->last_served = rank;
            return sub->peers[rank]->in;
        }
    }
    return NULL;
}

static bool any_left(const struct mad_mux_sub *sub)
{
    for (int rank = 0; rank < sub->owner->size; rank++)
        if (is_usable(sub, rank))
            return true;
    return false;
}

static p_mad_connection_t receive_message(p_mad_channel_t channel)
{
    struct mad_mux_sub *sub = mad_mux_sub_of(channel);
    struct mad_mux *own = sub->owner;
    p_mad_connection_t in;

    port_mutex_lock(&own->mutex);
    while ((in = next_message(sub)) == NULL && any_left(sub))
        mad_mux_wait(own);
    port_mutex_unlock(&own->mutex);
    if (in == NULL)
        mad_channel_fail(channel, MAD_EPEER, "no peer is left");
    return in;
}

static p_mad_connection_t poll_message(p_mad_channel_t channel)
{
    struct mad_mux_sub *sub = mad_mux_sub_of(channel);
    struct mad_mux *own = sub->owner;
    p_mad_connection_t in;

    port_mutex_lock(&own->mutex);
    in = next_message(sub);
    if (in == NULL)
        mad_mux_flush_ranks(own);
    port_mutex_unlock(&own->mutex);
    if (in == NULL)
        port_poll_memory();
    return in;
}

static int finalize_message(p_mad_connection_t out)
{
    struct mad_mux_peer *peer = out->specific;
    struct mad_mux *own = peer->sub->owner;

    if (own->aggregate)
        return MAD_OK;
    port_mutex_lock(&own->mutex);
    mad_mux_flush(own, out->remote_host_id);
    port_mutex_unlock(&own->mutex);
    return mad_connection_error(out);
}

/* ---- frames ---------------------------------------------------------------------------------- */

static p_mad_buffer_t buffer_of(p_mad_link_t link, struct mad_mux_frame *frame)
{
    p_mad_buffer_t buffer = frame != NULL ? mad_buffer_alloc(link->connection) : NULL;

    if (buffer == NULL)
        return NULL;
    buffer->type = mad_static_buffer;
    buffer->buffer = frame->bytes;
    buffer->specific = frame;
    return buffer;
}

static void drop_frame(p_mad_link_t link, struct mad_mux_frame *frame)
{
    struct mad_mux *own = peer_of(link)->sub->owner;

    if (frame == NULL)
        return;
    port_mutex_lock(&own->mutex);
    mad_mux_frame_free(own, frame);
    port_mutex_unlock(&own->mutex);
}

static p_mad_buffer_t get_static(p_mad_link_t link)
{
    struct mad_mux *own = peer_of(link)->sub->owner;
    struct mad_mux_frame *frame;
    p_mad_buffer_t buffer;

    port_mutex_lock(&own->mutex);
    frame = mad_mux_frame(own);
    port_mutex_unlock(&own->mutex);
    buffer = buffer_of(link, frame);
    if (buffer != NULL)
        buffer->length = MAD_MUX_FRAME;
    else
        drop_frame(link, frame);
    return buffer;
}

static int return_static(p_mad_link_t link, p_mad_buffer_t buffer)
{
    drop_frame(link, buffer->specific);
    return MAD_OK;
}

static int send_static(p_mad_link_t link, p_mad_buffer_t buffer)
{
    struct mad_mux_peer *peer = peer_of(link);
    struct mad_mux *own = peer->sub->owner;
    struct mad_mux_frame *frame = buffer->specific;
    int error;

    assert(buffer->type == mad_static_buffer && buffer->bytes_read == 0);
    buffer->bytes_read = buffer->bytes_written;
    port_spend(PORT_COST_COPY, buffer->bytes_written);
    port_mutex_lock(&own->mutex);
    error = mad_mux_append(peer, 0, frame->bytes, buffer->bytes_written);
    mad_mux_frame_free(own, frame);
    port_mutex_unlock(&own->mutex);
    return error;
}

/* With the lock: the receiver's blocks are not the sender's. */
static int refuse(struct mad_mux_peer *peer)
{
    mad_connection_break(peer->in, MAD_ESYMM);
    mad_mux_control(peer, MAD_MUX_REFUSED, 0);
    return MAD_ESYMM;
}

/* With the lock. The next frame of the message; `kind`: RTS or 0. */
static int take_frame(struct mad_mux_peer *peer, uint8_t kind, struct mad_mux_frame **frame)
{
    struct mad_mux *own = peer->sub->owner;
    size_t consumed;
    int error = MAD_OK;

    while (peer->first == NULL && !peer->lost && (error = mad_connection_error(peer->in)) == MAD_OK)
        mad_mux_wait(own);
    if (error == MAD_OK && peer->first == NULL)
        error = MAD_EPEER;
    if (error != MAD_OK)
        return error;
    *frame = peer->first;
    if ((*frame)->header.flags != kind)
        return refuse(peer);
    peer->first = (*frame)->next;
    peer->waiting -= HEADER + (*frame)->header.length;
    peer->consumed += HEADER + (*frame)->header.length;
    if (2 * peer->consumed < own->window)
        return MAD_OK;
    consumed = peer->consumed;
    peer->consumed = 0;
    mad_mux_control(peer, MAD_MUX_ACK, consumed);
    return MAD_OK;
}

static int receive_static(p_mad_link_t link, p_mad_buffer_t *buffer)
{
    struct mad_mux_peer *peer = peer_of(link);
    struct mad_mux_frame *frame;
    int error;

    port_mutex_lock(&peer->sub->owner->mutex);
    error = take_frame(peer, 0, &frame);
    port_mutex_unlock(&peer->sub->owner->mutex);
    if (error != MAD_OK)
        return error;
    *buffer = buffer_of(link, frame);
    if (*buffer == NULL) {
        drop_frame(link, frame);
        return MAD_ENOMEM;
    }
    (*buffer)->length = (*buffer)->bytes_written = frame->header.length;
    port_spend(PORT_COST_COPY, frame->header.length);
    return MAD_OK;
}

/* ---- long groups ----------------------------------------------------------------------------- */

static size_t bytes_of(const mad_buffer_t *first)
{
    size_t bytes = 0;

    for (; first != NULL; first = first->next)
        bytes += first->length;
    return bytes;
}

static int send_list(p_mad_link_t link, p_mad_buffer_t first)
{
    struct mad_mux_peer *peer = peer_of(link);
    struct mad_mux *own = peer->sub->owner;
    uint64_t bytes = bytes_of(first);
    int error;

    port_mutex_lock(&own->mutex);
    error = mad_mux_append(peer, MAD_MUX_RTS, &bytes, sizeof(bytes));
    while (error == MAD_OK && !peer->answered &&
           (error = mad_connection_error(peer->out)) == MAD_OK)
        mad_mux_wait(own);
    if (error == MAD_OK) {
        peer->answered = false;
        error = mad_mux_send_long(peer, first, bytes);
    }
    port_mutex_unlock(&own->mutex);
    for (; first != NULL && error == MAD_OK; first = first->next)
        first->bytes_read = first->bytes_written;
    return error;
}

/* With the lock. Afterwards no thread writes into the user's memory any more. */
static int receive_posted(struct mad_mux_peer *peer, p_mad_buffer_t first, size_t bytes)
{
    struct mad_mux *own = peer->sub->owner;
    int error = MAD_OK;

    peer->posted = first;
    peer->expected = bytes;
    peer->arrived = 0;
    mad_mux_control(peer, MAD_MUX_RTR, 0);
    while (peer->arrived < bytes && !peer->lost &&
           (error = mad_connection_error(peer->in)) == MAD_OK)
        mad_mux_wait(own);
    if (error == MAD_OK && peer->arrived < bytes)
        error = MAD_EPEER;
    peer->posted = NULL;
    while (peer->depositing != 0)
        mad_mux_wait(own);
    return error;
}

static int receive_list(p_mad_link_t link, p_mad_buffer_t first)
{
    struct mad_mux_peer *peer = peer_of(link);
    struct mad_mux *own = peer->sub->owner;
    struct mad_mux_frame *frame;
    uint64_t bytes = 0;
    int error;

    port_mutex_lock(&own->mutex);
    error = take_frame(peer, MAD_MUX_RTS, &frame);
    if (error == MAD_OK) {
        if (frame->header.length == sizeof(bytes))
            memcpy(&bytes, frame->bytes, sizeof(bytes));
        mad_mux_frame_free(own, frame);
        error = bytes == bytes_of(first) ? receive_posted(peer, first, bytes) : refuse(peer);
    }
    port_mutex_unlock(&own->mutex);
    for (; first != NULL && error == MAD_OK; first = first->next)
        first->bytes_written = first->length;
    return error;
}

/* A check level found it: the sender may wait for an answer to its RTS. */
static void give_up(p_mad_connection_t in)
{
    struct mad_mux_peer *peer = in->specific;
    struct mad_mux *own = peer->sub->owner;

    if (mad_connection_error(in) != MAD_OK)
        return; /* it knows, or has gone */
    port_mutex_lock(&own->mutex);
    refuse(peer);
    port_mutex_unlock(&own->mutex);
}

/* ---- the table ------------------------------------------------------------------------------- */

static int link_init(p_mad_link_t link)
{
    link->link_mode = link->id == 0 ? mad_link_mode_buffer : mad_link_mode_buffer_group;
    link->buffer_mode = link->id == 0 ? mad_buffer_mode_static : mad_buffer_mode_dynamic;
    link->group_mode = link->id == 0 ? mad_group_mode_aggregate : mad_group_mode_split;
    return MAD_OK;
}

static p_mad_link_t choice(p_mad_connection_t connection, size_t length, mad_send_mode_t send_mode,
                           mad_receive_mode_t receive_mode)
{
    (void)send_mode, (void)receive_mode;
    return &connection->link[length <= MAD_MUX_FRAME ? 0 : 1];
}

static p_mad_channel_t get_sub_channel(p_mad_channel_t channel, unsigned sub)
{
    struct mad_mux *own = mad_mux_sub_of(channel)->owner;

    return sub < (unsigned)own->sub_count ? own->subs[sub].channel : NULL;
}

const mad_driver_interface_t mad_mux_interface = {
    .abi_version = MAD_DRIVER_ABI,
    .channel_exit = mad_mux_channel_exit,
    .connection_init = mad_mux_connection_init,
    .connection_exit = mad_mux_connection_exit,
    .link_init = link_init,
    .after_open_channel = mad_mux_after_open,
    .choice = choice,
    .get_static_buffer = get_static,
    .return_static_buffer = return_static,
    .new_message = new_message,
    .receive_message = receive_message,
    .poll_message = poll_message,
    .send_buffer = mad_entry_send_buffer,
    .receive_buffer = mad_entry_receive_buffer,
    .send_buffer_group = mad_entry_send_group,
    .receive_sub_buffer_group = mad_entry_receive_group,
    .finalize_message = finalize_message,
    .get_sub_channel = get_sub_channel,
    .give_up = give_up,
    .send_static = send_static,
    .receive_static = receive_static,
    .send_list = send_list,
    .receive_list = receive_list,
};
