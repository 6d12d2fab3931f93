/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The threads of a virtual channel. One receives on each clone: it keeps packets for this rank, and
 * hands the others to the thread that sends to their next hop. One receives on each regular channel
 * and holds a message there until the user has ended it. None of them waits for another rank while
 * it has a packet that somebody else could need, so gateways do not block each other.
 */
#include <assert.h>
#include <stdlib.h>

#include "session.h"
#include "virtual.h"

/* ---- packets --------------------------------------------------------------------------------- */

void mad_virtual_append(struct mad_packet_queue *queue, struct mad_packet *packet)
{
    packet->next = NULL;
    if (queue->first == NULL)
        queue->first = packet;
    else
        queue->last->next = packet;
    queue->last = packet;
}

struct mad_packet *mad_virtual_pop(struct mad_packet_queue *queue)
{
    struct mad_packet *packet = queue->first;

    if (packet != NULL)
        queue->first = packet->next;
    return packet;
}

void mad_virtual_clear(struct mad_packet_queue *queue)
{
    struct mad_packet *packet;

    while ((packet = mad_virtual_pop(queue)) != NULL)
        free(packet);
}

static struct mad_packet *packet_new(const struct mad_packet_header *header, size_t bytes)
{
    struct mad_packet *packet = malloc(sizeof(*packet) + bytes);

    if (packet != NULL) {
        packet->header = *header;
        packet->read = 0;
    }
    return packet;
}

/* Bytes that follow the header. */
static size_t bytes_of(const struct mad_packet_header *header)
{
    return (header->end & MAD_PACKET_ACK) != 0 ? 0 : header->length;
}

/* ---- sending --------------------------------------------------------------------------------- */

static int emit_to(struct mad_virtual *own, int part, int hop, struct mad_packet_header header,
                   const void *bytes)
{
    p_mad_connection_t out = mad_begin_packing(own->parts[part].clone, hop);

    if (out == NULL)
        return MAD_EPEER;
    mad_pack(out, &header, sizeof(header), mad_send_SAFER, mad_receive_EXPRESS);
    mad_pack(out, (void *)(uintptr_t)bytes, bytes_of(&header), mad_send_CHEAPER,
             mad_receive_CHEAPER);
    mad_end_packing(out);
    return mad_connection_error(out);
}

int mad_virtual_emit(struct mad_virtual *own, struct mad_packet_header header, const void *bytes)
{
    const struct mad_virtual_peer *peer = own->peers[header.destination];

    return emit_to(own, peer->part, peer->hop, header, bytes);
}

static void send_packets(void *argument)
{
    struct mad_virtual_emitter *self = argument;
    struct mad_virtual *own = self->owner;
    struct mad_packet *packet;

    port_mutex_lock(&own->mutex);
    for (;;) {
        packet = mad_virtual_pop(&self->queue);
        if (packet == NULL && own->stopping)
            break;
        if (packet == NULL) {
            port_condition_wait(&self->changed, &own->mutex);
            continue;
        }
        port_mutex_unlock(&own->mutex);
        emit_to(own, self->part, self->hop, packet->header, packet->bytes); /* or it is dropped */
        free(packet);
        port_mutex_lock(&own->mutex);
    }
    port_mutex_unlock(&own->mutex);
}

/* With the lock. To the next hop of its destination. */
static void forward(struct mad_virtual *own, struct mad_packet *packet)
{
    const struct mad_virtual_peer *peer = own->peers[packet->header.destination];
    struct mad_virtual_emitter *emitter;

    if (peer->hop < 0 || peer->lost) {
        free(packet);
        return;
    }
    emitter = &own->parts[peer->part].emitters[peer->hop];
    if (own->stopping || !emitter->used) {
        free(packet);
        return;
    }
    mad_virtual_append(&emitter->queue, packet);
    port_condition_signal(&emitter->changed);
}

/* ---- peers that are gone --------------------------------------------------------------------- */

void mad_virtual_lost(struct mad_virtual_peer *peer, int code)
{
    peer->lost = true;
    mad_connection_break(peer->in, code);
    mad_connection_break(peer->out, code);
    port_condition_broadcast(&peer->owner->changed);
}

/* Tells a rank that it cannot reach another one by this gateway. */
static void notify(struct mad_virtual *own, int to, int lost)
{
    struct mad_packet_header header = {
        .source = (uint32_t)lost, .destination = (uint32_t)to, .kind = MAD_PACKET_CLOSING};
    struct mad_packet *packet = packet_new(&header, 0);

    if (packet != NULL)
        forward(own, packet);
}

static void notify_all(struct mad_virtual *own, int lost)
{
    for (int rank = 0; rank < own->size; rank++)
        if (rank != own->own && rank != lost && own->peers[rank]->hop >= 0 &&
            mad_virtual_passes(own, rank, lost, own->own))
            notify(own, rank, lost);
}

/* Nothing comes from this rank, or goes through it, any more. */
static void hop_lost(struct mad_virtual *own, int hop)
{
    bool *lost;

    port_mutex_lock(&own->mutex);
    lost = own->stopping ? NULL : calloc((size_t)own->size, sizeof(bool));
    for (int rank = 0; rank < own->size && lost != NULL; rank++)
        if (own->peers[rank]->hop == hop && !own->peers[rank]->lost) {
            lost[rank] = true;
            mad_virtual_lost(own->peers[rank], MAD_EPEER);
        }
    for (int rank = 0; rank < own->size && lost != NULL; rank++)
        if (lost[rank])
            notify_all(own, rank);
    port_mutex_unlock(&own->mutex);
    free(lost);
}

/* A connection of a regular channel: direct messages of one direction. */
static void direct_lost(struct mad_virtual *own, p_mad_connection_t connection)
{
    struct mad_virtual_peer *peer = own->peers[connection->remote_host_id];

    port_mutex_lock(&own->mutex);
    if (own->parts[peer->part].regular == connection->channel) {
        bool outgoing =
            connection->channel->output_connection[connection->remote_host_id] == connection;

        mad_connection_break(outgoing ? peer->out : peer->in, mad_connection_error(connection));
        port_condition_broadcast(&own->changed);
    }
    port_mutex_unlock(&own->mutex);
}

static bool is_regular(const struct mad_virtual *own, p_mad_channel_t channel)
{
    for (int i = 0; i < own->part_count; i++)
        if (own->parts[i].regular == channel)
            return true;
    return false;
}

/* A peer that has gone breaks the clone, on which a thread always waits; one that leaves, both. */
void mad_virtual_broken(p_mad_connection_t connection)
{
    struct mad_virtual *own = mad_channel_full(connection->channel)->part_of;

    if (!__atomic_load_n(&own->running, __ATOMIC_ACQUIRE)) /* mad_virtual_after_open finds it */
        return;
    if (is_regular(own, connection->channel) && !mad_full(connection)->left)
        direct_lost(own, connection);
    else
        hop_lost(own, connection->remote_host_id);
}

/* ---- receiving ------------------------------------------------------------------------------- */

static bool is_rank(const struct mad_virtual *own, uint32_t rank)
{
    return rank < (uint32_t)own->size && mad_channel_has(own->channel, (int)rank);
}

/* With the lock: a packet for this rank. */
static void deliver(struct mad_virtual *own, struct mad_packet *packet)
{
    struct mad_virtual_peer *peer = own->peers[packet->header.source];

    if ((packet->header.kind & MAD_PACKET_CLOSING) != 0) {
        mad_virtual_lost(peer, MAD_EPEER);
    } else if ((packet->header.end & MAD_PACKET_REFUSED) != 0) {
        mad_driver_note(peer->out, "the receiver's blocks are others", 0);
        mad_connection_break(peer->out, MAD_ESYMM);
        port_condition_broadcast(&own->changed);
    } else if ((packet->header.end & MAD_PACKET_ACK) != 0) {
        if (packet->header.length > own->depth - peer->credits)
            mad_virtual_lost(peer, MAD_EWIRE);
        else
            peer->credits += packet->header.length;
        port_condition_broadcast(&own->changed);
    } else if (peer->waiting == own->depth) {
        mad_virtual_lost(peer, MAD_EWIRE);
    } else {
        peer->waiting++;
        mad_virtual_append(&peer->inbox, packet);
        port_condition_broadcast(&own->changed);
        return;
    }
    free(packet);
}

/* Whether a message on the clone begins as one of this protocol. */
static bool is_packet(const struct mad_virtual *own, const struct mad_packet_header *header)
{
    return is_rank(own, header->source) && is_rank(own, header->destination) &&
           header->source != (uint32_t)own->own && header->group == 0 &&
           header->source != header->destination && bytes_of(header) <= own->mtu;
}

/* A member has closed the channel: when all have, or are gone, there is nothing to wait for. */
static void closed(p_mad_connection_t in)
{
    if (mad_connection_error(in) == MAD_OK)
        mad_connection_leave(in);
}

/* A message of the clone. */
static void receive_packet(struct mad_virtual_part *part, p_mad_connection_t in)
{
    struct mad_virtual *own = part->owner;
    struct mad_packet_header header = {0};
    struct mad_packet *packet = NULL;
    bool closing, good;

    mad_unpack(in, &header, sizeof(header), mad_send_SAFER, mad_receive_EXPRESS);
    closing = (header.kind & MAD_PACKET_CLOSING) != 0 && header.source == header.destination;
    good = mad_connection_error(in) == MAD_OK && !closing && is_packet(own, &header);
    if (good && (packet = packet_new(&header, bytes_of(&header))) != NULL)
        mad_unpack(in, packet->bytes, bytes_of(&header), mad_send_CHEAPER, mad_receive_CHEAPER);
    if (!good && !closing)
        mad_connection_break(in, MAD_EWIRE);
    mad_end_unpacking(in);
    if (closing)
        closed(in);
    if (packet == NULL || mad_connection_error(in) != MAD_OK) {
        free(packet);
        return;
    }
    port_mutex_lock(&own->mutex);
    if (header.destination == (uint32_t)own->own)
        deliver(own, packet);
    else
        forward(own, packet);
    port_mutex_unlock(&own->mutex);
}

static void receive_packets(void *argument)
{
    struct mad_virtual_part *part = argument;
    p_mad_connection_t in;

    while ((in = mad_begin_unpacking(part->clone)) != NULL) /* NULL: no peer is left */
        receive_packet(part, in);
}

/* A message of the regular channel. */
static void hold_message(struct mad_virtual_part *part, p_mad_connection_t in)
{
    struct mad_virtual *own = part->owner;
    struct mad_packet_header header = {0};
    bool read;

    mad_unpack(in, &header, sizeof(header), mad_send_SAFER, mad_receive_EXPRESS);
    if (mad_connection_error(in) != MAD_OK || (header.kind & MAD_PACKET_CLOSING) != 0) {
        mad_end_unpacking(in);
        closed(in);
        return;
    }
    port_mutex_lock(&own->mutex);
    part->held = in;
    part->opened = false;
    port_condition_broadcast(&own->changed);
    while (part->held != NULL && !own->stopping)
        port_condition_wait(&own->changed, &own->mutex);
    read = part->held == NULL;
    part->held = NULL;
    port_mutex_unlock(&own->mutex);
    if (!read) { /* and it will not be */
        mad_connection_break(in, MAD_EPEER);
        mad_end_unpacking(in);
    }
}

static void receive_messages(void *argument)
{
    struct mad_virtual_part *part = argument;
    p_mad_connection_t in;

    while ((in = mad_begin_unpacking(part->regular)) != NULL)
        hold_message(part, in);
}

/* ---- start and stop -------------------------------------------------------------------------- */

static bool start_emitters(struct mad_virtual_part *part, int size)
{
    bool good = true;

    for (int rank = 0; rank < size && good; rank++)
        if (part->emitters[rank].used) {
            part->emitters[rank].thread =
                port_thread_start("mad-forward", send_packets, &part->emitters[rank]);
            good = part->emitters[rank].thread != NULL;
        }
    return good;
}

static bool start_part(struct mad_virtual *own, struct mad_virtual_part *part)
{
    if (!part->member)
        return true;
    part->regular_thread = port_thread_start("mad-direct", receive_messages, part);
    part->clone_thread = port_thread_start("mad-packets", receive_packets, part);
    return part->regular_thread != NULL && part->clone_thread != NULL &&
           start_emitters(part, own->size);
}

/* A process in several parts forwards to all of their members. */
static void mark_emitters(struct mad_virtual *own)
{
    int parts = 0;

    for (int i = 0; i < own->part_count; i++)
        parts += own->parts[i].member;
    for (int i = 0; i < own->part_count && parts > 1; i++)
        for (int rank = 0; rank < own->size && own->parts[i].member; rank++)
            own->parts[i].emitters[rank].used =
                rank != own->own && mad_channel_has(own->parts[i].clone, rank);
}

int mad_virtual_start(struct mad_virtual *own)
{
    bool good = true;

    own->channel = own->peers[own->own]->in->channel;
    mark_emitters(own);
    __atomic_store_n(&own->running, true, __ATOMIC_RELEASE);
    for (int i = 0; i < own->part_count && good; i++)
        good = start_part(own, &own->parts[i]);
    return good ? MAD_OK : MAD_ENOMEM;
}

/* The threads of the other members end when they get this. */
static void send_closing(const struct mad_virtual *own, p_mad_channel_t channel)
{
    struct mad_packet_header header = {.source = (uint32_t)own->own,
                                       .destination = (uint32_t)own->own,
                                       .kind = MAD_PACKET_CLOSING};

    for (int rank = 0; rank < own->size; rank++) {
        p_mad_connection_t out;

        if (rank == own->own || !mad_channel_has(channel, rank))
            continue;
        out = mad_begin_packing(channel, rank);
        if (out == NULL)
            continue;
        mad_pack(out, &header, sizeof(header), mad_send_SAFER, mad_receive_EXPRESS);
        mad_end_packing(out);
    }
}

static void join(struct port_thread **thread)
{
    if (*thread != NULL)
        port_thread_join(*thread);
    *thread = NULL;
}

/* The messages by which the others close are read also where the thread could not be started. */
static void end_receiver(struct port_thread **thread, void (*receive)(void *), void *argument)
{
    if (*thread != NULL)
        join(thread);
    else
        receive(argument);
}

void mad_virtual_stop(struct mad_virtual *own)
{
    if (!own->running)
        return;
    port_mutex_lock(&own->mutex);
    own->stopping = true;
    port_condition_broadcast(&own->changed);
    for (int i = 0; i < own->part_count; i++)
        for (int rank = 0; rank < own->size && own->parts[i].emitters != NULL; rank++)
            port_condition_broadcast(&own->parts[i].emitters[rank].changed);
    port_mutex_unlock(&own->mutex);
    for (int i = 0; i < own->part_count; i++)
        for (int rank = 0; rank < own->size && own->parts[i].emitters != NULL; rank++)
            join(&own->parts[i].emitters[rank].thread);
    for (int i = 0; i < own->part_count; i++)
        if (own->parts[i].member) {
            send_closing(own, own->parts[i].regular);
            send_closing(own, own->parts[i].clone);
        }
    for (int i = 0; i < own->part_count; i++)
        if (own->parts[i].member) {
            end_receiver(&own->parts[i].regular_thread, receive_messages, &own->parts[i]);
            end_receiver(&own->parts[i].clone_thread, receive_packets, &own->parts[i]);
        }
    own->running = false;
    for (int i = 0; i < own->part_count; i++)
        if (own->parts[i].member)
            mad_channel_reuse(own->parts[i].regular);
}
