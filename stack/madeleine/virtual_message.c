/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Messages of virtual channels: direct ones, and those in packets. */
#include <stdlib.h>
#include <string.h>

#include "session.h"
#include "virtual.h"

static struct mad_virtual_peer *peer_of(p_mad_connection_t connection)
{
    return connection->specific;
}

static bool is_direct(const struct mad_virtual_peer *peer)
{
    return peer->hop == peer->in->remote_host_id;
}

/* ---- direct messages ------------------------------------------------------------------------- */

/* The regular channel's message begins with the first block. */
static p_mad_connection_t begin_under(struct mad_virtual_peer *peer)
{
    struct mad_virtual *own = peer->owner;
    struct mad_packet_header header = {.source = (uint32_t)own->own,
                                       .destination = (uint32_t)peer->out->remote_host_id,
                                       .begin = MAD_PACKET_FIRST,
                                       .kind = MAD_PACKET_DIRECT};

    if (peer->under_out == NULL) {
        peer->under_out =
            mad_begin_packing(own->parts[peer->part].regular, peer->out->remote_host_id);
        if (peer->under_out != NULL)
            mad_pack(peer->under_out, &header, sizeof(header), mad_send_SAFER, mad_receive_EXPRESS);
    }
    return peer->under_out;
}

/* What went wrong below, and its explanation. */
static int result_of(p_mad_connection_t connection, p_mad_connection_t under)
{
    struct mad_connection_full *full = mad_full(connection);
    int error = mad_connection_error(under);

    if (error == MAD_OK)
        return MAD_OK;
    full->note = mad_full(under)->note;
    full->driver_code = mad_full(under)->driver_code;
    memcpy(full->text, mad_full(under)->text, sizeof(full->text));
    return error;
}

int mad_virtual_block(p_mad_connection_t connection, const struct mad_block *block, bool outgoing)
{
    struct mad_virtual_peer *peer = peer_of(connection);
    p_mad_connection_t under = outgoing ? begin_under(peer) : peer->under_in;

    if (under == NULL)
        return MAD_EPEER;
    if (outgoing)
        mad_pack(under, block->buffer, block->length, block->send_mode, block->receive_mode);
    else
        mad_unpack(under, block->buffer, block->length, block->send_mode, block->receive_mode);
    mad_full(connection)->blocks++;
    return result_of(connection, under);
}

static void release(struct mad_virtual_peer *peer)
{
    struct mad_virtual_part *part = &peer->owner->parts[peer->part];

    port_mutex_lock(&peer->owner->mutex);
    part->held = NULL;
    port_condition_broadcast(&peer->owner->changed);
    port_mutex_unlock(&peer->owner->mutex);
}

int mad_virtual_end(p_mad_connection_t connection, bool outgoing)
{
    struct mad_virtual_peer *peer = peer_of(connection);
    p_mad_connection_t under = outgoing ? peer->under_out : peer->under_in;
    int error;

    mad_full(connection)->direct = false;
    if (under == NULL)
        return MAD_OK;
    if (outgoing)
        mad_end_packing(under);
    else
        mad_end_unpacking(under);
    error = result_of(connection, under);
    if (outgoing) {
        peer->under_out = NULL;
    } else {
        peer->under_in = NULL;
        release(peer);
    }
    return error;
}

/* ---- sending in packets ---------------------------------------------------------------------- */

static int new_message(p_mad_connection_t out)
{
    struct mad_virtual_peer *peer = peer_of(out);

    mad_full(out)->direct = is_direct(peer);
    peer->armed = true;
    return MAD_OK;
}

/* Waits until the receiver has room for a packet. */
static int take_credit(struct mad_virtual_peer *peer)
{
    struct mad_virtual *own = peer->owner;
    int error;

    port_mutex_lock(&own->mutex);
    while ((error = mad_connection_error(peer->out)) == MAD_OK && peer->credits == 0)
        port_condition_wait(&own->changed, &own->mutex);
    if (error == MAD_OK)
        peer->credits--;
    port_mutex_unlock(&own->mutex);
    return error;
}

static int send_packet(struct mad_virtual_peer *peer, const char *bytes, size_t length)
{
    struct mad_virtual *own = peer->owner;
    struct mad_packet_header header = {.length = (uint32_t)length,
                                       .source = (uint32_t)own->own,
                                       .destination = (uint32_t)peer->out->remote_host_id,
                                       .begin = peer->armed ? MAD_PACKET_FIRST : 0,
                                       .end = length == 0 ? MAD_PACKET_END : 0};
    int error = take_credit(peer);

    if (error != MAD_OK)
        return error;
    peer->armed = false;
    return mad_virtual_emit(own, header, bytes);
}

static int send_buffer(p_mad_link_t link, p_mad_buffer_t buffer)
{
    struct mad_virtual_peer *peer = peer_of(link->connection);
    int error = MAD_OK;

    while (error == MAD_OK && buffer->bytes_read < buffer->bytes_written) {
        size_t length = buffer->bytes_written - buffer->bytes_read;

        if (length > peer->owner->mtu)
            length = peer->owner->mtu;
        error = send_packet(peer, (const char *)buffer->buffer + buffer->bytes_read, length);
        buffer->bytes_read += length;
    }
    return error;
}

static int send_group(p_mad_link_t link, p_mad_buffer_group_t group)
{
    int error = MAD_OK;

    for (p_mad_buffer_t each = group->buffer_list.first; each != NULL && error == MAD_OK;
         each = each->next)
        error = send_buffer(link, each);
    return error;
}

static int finalize_message(p_mad_connection_t out)
{
    return send_packet(peer_of(out), NULL, 0);
}

/* ---- receiving ------------------------------------------------------------------------------- */

/* With the lock: a message of the rank that the user can begin. */
static bool begins(struct mad_virtual_peer *peer)
{
    struct mad_virtual_part *part;

    if (peer->hop < 0 || mad_connection_error(peer->in) != MAD_OK)
        return false;
    if (!is_direct(peer))
        return peer->inbox.first != NULL;
    part = &peer->owner->parts[peer->part];
    if (part->held == NULL || part->opened || part->held->remote_host_id != peer->hop)
        return false;
    part->opened = true;
    peer->under_in = part->held;
    return true;
}

/* With the lock. In turn after the rank served last. */
static p_mad_connection_t next_message(struct mad_virtual *own)
{
    for (int i = 1; i <= own->size; i++) {
        struct mad_virtual_peer *peer = own->peers[(own->last_served + i) % own->size];

        if (begins(peer)) {
            own->last_served = peer->in->remote_host_id;
            mad_full(peer->in)->direct = is_direct(peer);
            return peer->in;
        }
    }
    return NULL;
}

static bool any_left(const struct mad_virtual *own)
{
    for (int rank = 0; rank < own->size; rank++)
        if (own->peers[rank]->hop >= 0 && mad_connection_error(own->peers[rank]->in) == MAD_OK)
            return true;
    return false;
}

static p_mad_connection_t receive_message(p_mad_channel_t channel)
{
    struct mad_virtual *own = channel->adapter->specific;
    p_mad_connection_t in;

    port_mutex_lock(&own->mutex);
    while ((in = next_message(own)) == NULL && any_left(own))
        port_condition_wait(&own->changed, &own->mutex);
    port_mutex_unlock(&own->mutex);
    if (in == NULL)
        mad_channel_fail(channel, MAD_EPEER, "no peer is left");
    return in;
}

static p_mad_connection_t poll_message(p_mad_channel_t channel)
{
    struct mad_virtual *own = channel->adapter->specific;
    p_mad_connection_t in;

    port_mutex_lock(&own->mutex);
    in = next_message(own);
    port_mutex_unlock(&own->mutex);
    if (in == NULL)
        port_poll_memory();
    return in;
}

/* Returns credits when the sender has used half of them. */
static int acknowledge(struct mad_virtual_peer *peer)
{
    struct mad_virtual *own = peer->owner;
    struct mad_packet_header header = {.source = (uint32_t)own->own,
                                       .destination = (uint32_t)peer->in->remote_host_id,
                                       .end = MAD_PACKET_ACK};

    port_mutex_lock(&own->mutex);
    peer->consumed++;
    if (2 * peer->consumed >= own->depth) {
        header.length = peer->consumed;
        peer->consumed = 0;
    }
    port_mutex_unlock(&own->mutex);
    return header.length != 0 ? mad_virtual_emit(own, header, NULL) : MAD_OK;
}

/* The packet that is read next; NULL: the connection is broken. It stays in the inbox. */
static struct mad_packet *front_packet(struct mad_virtual_peer *peer)
{
    struct mad_virtual *own = peer->owner;
    struct mad_packet *packet;

    port_mutex_lock(&own->mutex);
    while ((packet = peer->inbox.first) == NULL && mad_connection_error(peer->in) == MAD_OK)
        port_condition_wait(&own->changed, &own->mutex);
    port_mutex_unlock(&own->mutex);
    return packet;
}

static int drop_front(struct mad_virtual_peer *peer)
{
    struct mad_virtual *own = peer->owner;
    struct mad_packet *packet;

    port_mutex_lock(&own->mutex);
    packet = mad_virtual_pop(&peer->inbox);
    peer->waiting--;
    port_mutex_unlock(&own->mutex);
    free(packet);
    return acknowledge(peer);
}

static int receive_buffer(p_mad_link_t link, p_mad_buffer_t *buffer)
{
    struct mad_virtual_peer *peer = peer_of(link->connection);
    p_mad_buffer_t user = *buffer;
    int error = MAD_OK;

    while (user->bytes_written < user->length && error == MAD_OK) {
        struct mad_packet *packet = front_packet(peer);
        size_t length = user->length - user->bytes_written;

        if (packet == NULL)
            return mad_connection_error(peer->in);
        if (packet->header.length == 0 || length < packet->header.length)
            return MAD_ESYMM; /* the message has ended, or the block has */
        length = packet->header.length;
        memcpy((char *)user->buffer + user->bytes_written, packet->bytes, length);
        port_spend(PORT_COST_COPY, length);
        user->bytes_written += length;
        error = drop_front(peer);
    }
    return error;
}

static int receive_group(p_mad_link_t link, tbx_bool_t first, p_mad_buffer_group_t group)
{
    p_mad_buffer_t next, each;
    int error = MAD_OK;

    (void)first; /* every block has packets of its own */
    for (each = group->buffer_list.first; each != NULL && error == MAD_OK; each = next) {
        next = each->next;
        error = receive_buffer(link, &each);
    }
    return error;
}

/* The packet that says that there are no more blocks. */
static int message_received(p_mad_connection_t in)
{
    struct mad_virtual_peer *peer = peer_of(in);
    const struct mad_packet *packet = front_packet(peer);

    if (packet == NULL)
        return mad_connection_error(in);
    return packet->header.end == MAD_PACKET_END ? drop_front(peer) : MAD_ESYMM;
}

/* The sender may wait for credits. Of direct messages the regular channel's driver tells it. */
static void give_up(p_mad_connection_t in)
{
    struct mad_virtual_peer *peer = peer_of(in);
    struct mad_packet_header header = {.source = (uint32_t)peer->owner->own,
                                       .destination = (uint32_t)in->remote_host_id,
                                       .end = MAD_PACKET_REFUSED};

    if (!is_direct(peer))
        mad_virtual_emit(peer->owner, header, NULL);
}

/* ---- the table ------------------------------------------------------------------------------- */

static int link_init(p_mad_link_t link)
{
    link->link_mode = mad_link_mode_buffer;
    link->buffer_mode = mad_buffer_mode_dynamic;
    link->group_mode = mad_group_mode_split;
    return MAD_OK;
}

const mad_driver_interface_t mad_virtual_interface = {
    .abi_version = MAD_DRIVER_ABI,
    .channel_exit = mad_virtual_channel_exit,
    .connection_init = mad_virtual_connection_init,
    .connection_exit = mad_virtual_connection_exit,
    .link_init = link_init,
    .after_open_channel = mad_virtual_after_open,
    .new_message = new_message,
    .receive_message = receive_message,
    .poll_message = poll_message,
    .send_buffer = send_buffer,
    .receive_buffer = receive_buffer,
    .send_buffer_group = send_group,
    .receive_sub_buffer_group = receive_group,
    .finalize_message = finalize_message,
    .message_received = message_received,
    .give_up = give_up,
};
