/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The rails of a multiplexed channel. A thread receives on each of them; each but the first has a
 * thread that sends its part of a long group, so that the parts move at the same time. The parts
 * are in proportion to the rates that the last transfers had.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "mux.h"

enum { HEADER = sizeof(struct mad_mux_header), PIECE_ALIGN = 4096, MEASURED_MIN = 64 << 10 };

/* ---- long groups ----------------------------------------------------------------------------- */

/* Packs, or unpacks, `length` bytes of the blocks from `offset` on. */
static void move_blocks(p_mad_connection_t connection, const mad_buffer_t *block, size_t offset,
                        size_t length, bool outgoing)
{
    for (; length != 0; block = block->next) {
        size_t here = offset < block->length ? block->length - offset : 0;
        char *bytes = (char *)block->buffer + offset;

        if (here > length)
            here = length;
        offset -= offset < block->length ? offset : block->length;
        if (here != 0 && outgoing)
            mad_pack(connection, bytes, here, mad_send_CHEAPER, mad_receive_CHEAPER);
        else if (here != 0)
            mad_unpack(connection, bytes, here, mad_send_CHEAPER, mad_receive_CHEAPER);
        length -= here;
    }
}

static void send_piece(const struct mad_mux_rail *rail, struct mad_mux_piece *piece)
{
    struct mad_mux_packet packet = {.kind = MAD_MUX_DATA,
                                    .sub = (uint8_t)piece->peer->sub->number,
                                    .bytes = piece->length,
                                    .offset = piece->offset};
    uint64_t began = port_now();
    p_mad_connection_t out = mad_begin_packing(rail->channel, piece->peer->out->remote_host_id);

    piece->error = MAD_EPEER;
    if (out == NULL)
        return;
    mad_pack(out, &packet, sizeof(packet), mad_send_SAFER, mad_receive_EXPRESS);
    move_blocks(out, piece->blocks, piece->offset, piece->length, true);
    mad_end_packing(out);
    piece->error = mad_connection_error(out);
    piece->took_ns = port_now() - began;
}

static void send_pieces(void *argument)
{
    struct mad_mux_rail *rail = argument;
    struct mad_mux *own = rail->owner;
    struct mad_mux_piece *piece;

    port_mutex_lock(&own->mutex);
    for (;;) {
        piece = rail->first;
        if (piece == NULL && own->stopping)
            break;
        if (piece == NULL) {
            port_condition_wait(&rail->work, &own->mutex);
            continue;
        }
        rail->first = piece->next;
        port_mutex_unlock(&own->mutex);
        send_piece(rail, piece);
        port_mutex_lock(&own->mutex);
        piece->done = true;
        port_condition_broadcast(&own->changed);
    }
    port_mutex_unlock(&own->mutex);
}

static void hand_over(struct mad_mux_rail *rail, struct mad_mux_piece *piece)
{
    if (rail->first == NULL)
        rail->first = piece;
    else
        rail->last->next = piece;
    rail->last = piece;
    port_condition_signal(&rail->work);
}

/* A rail that has not been measured counts as the best one. */
static uint64_t rate_of(const struct mad_mux *own, int rail)
{
    uint64_t best = 1;

    for (int i = 0; i < own->rail_count; i++)
        if (own->rails[i].rate > best)
            best = own->rails[i].rate;
    return own->rails[rail].rate != 0 ? own->rails[rail].rate : best;
}

/* Each rail gets at least a 64th, to be measured; the first one also what is left. */
static void split(const struct mad_mux *own, size_t bytes, struct mad_mux_piece *pieces)
{
    uint64_t all = 0;
    size_t offset = 0;

    for (int i = 0; i < own->rail_count; i++)
        all += rate_of(own, i);
    for (int i = own->rail_count - 1; i >= 0; i--) {
        size_t share = (size_t)((double)bytes * (double)rate_of(own, i) / (double)all);

        if (share < bytes / 64)
            share = bytes / 64;
        share -= share % PIECE_ALIGN;
        pieces[i].offset = offset;
        pieces[i].length = i != 0 ? share : bytes - offset;
        offset += pieces[i].length;
    }
}

static void measure(struct mad_mux_rail *rail, const struct mad_mux_piece *piece)
{
    uint64_t rate = piece->length * UINT64_C(1000000) / (piece->took_ns + 1) + 1;

    if (piece->error == MAD_OK && piece->length >= MEASURED_MIN)
        rail->rate = rail->rate != 0 ? (rail->rate + rate) / 2 : rate;
}

int mad_mux_send_long(struct mad_mux_peer *peer, p_mad_buffer_t first, size_t bytes)
{
    struct mad_mux *own = peer->sub->owner;
    struct mad_mux_piece pieces[MAD_MUX_RAILS_MAX] = {{.length = bytes}};
    bool all = own->rail_count > 1 && bytes >= own->split_min;
    int count = all ? own->rail_count : 1, error = MAD_OK;

    if (all)
        split(own, bytes, pieces);
    for (int i = 0; i < count; i++) {
        pieces[i].peer = peer;
        pieces[i].blocks = first;
        /* The receiver does not wait for an empty piece, which could come after its memory has
         * gone. */
        pieces[i].done = pieces[i].length == 0;
        if (i != 0 && !pieces[i].done)
            hand_over(&own->rails[i], &pieces[i]);
    }
    port_mutex_unlock(&own->mutex);
    send_piece(&own->rails[0], &pieces[0]);
    port_mutex_lock(&own->mutex);
    for (int i = 1; i < count; i++)
        while (!pieces[i].done)
            mad_mux_wait(own);
    for (int i = 0; i < count; i++) {
        if (all)
            measure(&own->rails[i], &pieces[i]);
        if (error == MAD_OK)
            error = pieces[i].error;
    }
    return error;
}

/* ---- receiving ------------------------------------------------------------------------------- */

/* With the lock. False: it is not of this protocol. */
static bool take_control(struct mad_mux_peer *peer, const struct mad_mux_header *header)
{
    if ((header->flags & MAD_MUX_ACK) != 0) {
        if (header->length > peer->sub->owner->window - peer->credit)
            return false;
        peer->credit += header->length;
    } else if ((header->flags & MAD_MUX_RTR) != 0) {
        peer->answered = true;
    } else {
        mad_connection_break(peer->out, MAD_ESYMM);
    }
    return true;
}

/* With the lock. */
static bool take_data(struct mad_mux_peer *peer, const struct mad_mux_header *header,
                      const char *bytes)
{
    struct mad_mux *own = peer->sub->owner;
    struct mad_mux_frame *frame;

    if (header->length > MAD_MUX_FRAME || peer->waiting + HEADER + header->length > own->window)
        return false;
    frame = mad_mux_frame(own);
    if (frame == NULL)
        return false;
    frame->next = NULL;
    frame->header = *header;
    memcpy(frame->bytes, bytes, header->length);
    peer->waiting += HEADER + header->length;
    if (peer->first == NULL)
        peer->first = frame;
    else
        peer->last->next = frame;
    peer->last = frame;
    return true;
}

/* With the lock: the frames of a packet. */
static bool sort_frames(struct mad_mux *own, int from, const char *bytes, size_t length)
{
    const uint8_t control = MAD_MUX_ACK | MAD_MUX_RTR | MAD_MUX_REFUSED;
    struct mad_mux_header header;

    while (length >= HEADER) {
        struct mad_mux_peer *peer;
        size_t follows;

        memcpy(&header, bytes, HEADER);
        follows = (header.flags & control) != 0 ? 0 : header.length;
        if (header.source != (uint32_t)from || header.destination != (uint32_t)own->own ||
            header.sub >= own->sub_count || follows > length - HEADER)
            return false;
        peer = own->subs[header.sub].peers[from]; /* NULL: closed here, when all had come to it */
        if (peer != NULL &&
            !((header.flags & control) != 0 ? take_control(peer, &header)
                                            : take_data(peer, &header, bytes + HEADER)))
            return false;
        bytes += HEADER + follows;
        length -= HEADER + follows;
    }
    return length == 0;
}

static void receive_frames(const struct mad_mux_rail *rail, p_mad_connection_t in, uint64_t bytes)
{
    struct mad_mux *own = rail->owner;
    bool good = bytes <= own->packet_bytes;

    if (good)
        mad_mux_move_packet(in, rail->packet, bytes, false);
    else
        mad_connection_break(in, MAD_EWIRE);
    mad_end_unpacking(in);
    if (mad_connection_error(in) != MAD_OK)
        return;
    port_spend(PORT_COST_COPY, bytes);
    port_mutex_lock(&own->mutex);
    good = sort_frames(own, in->remote_host_id, rail->packet, bytes);
    port_condition_broadcast(&own->changed);
    port_mutex_unlock(&own->mutex);
    if (!good)
        mad_connection_break(in, MAD_EWIRE);
}

/* The user waits in receive_posted until nobody writes into the memory. */
static void receive_data(const struct mad_mux_rail *rail, p_mad_connection_t in,
                         const struct mad_mux_packet *packet)
{
    struct mad_mux *own = rail->owner;
    struct mad_mux_peer *peer = NULL;
    const mad_buffer_t *blocks = NULL;

    port_mutex_lock(&own->mutex);
    if (packet->sub < own->sub_count)
        peer = own->subs[packet->sub].peers[in->remote_host_id];
    if (peer != NULL && peer->posted != NULL && packet->offset <= peer->expected &&
        packet->bytes <= peer->expected - packet->offset) {
        blocks = peer->posted;
        peer->depositing++;
    }
    port_mutex_unlock(&own->mutex);
    if (blocks != NULL)
        move_blocks(in, blocks, packet->offset, packet->bytes, false);
    else
        mad_connection_break(in, MAD_EWIRE);
    mad_end_unpacking(in);
    if (blocks == NULL)
        return;
    port_mutex_lock(&own->mutex);
    peer->depositing--;
    if (mad_connection_error(in) == MAD_OK)
        peer->arrived += packet->bytes;
    port_condition_broadcast(&own->changed);
    port_mutex_unlock(&own->mutex);
}

static void receive_packets(void *argument)
{
    struct mad_mux_rail *rail = argument;
    p_mad_connection_t in;

    while ((in = mad_begin_unpacking(rail->channel)) != NULL) { /* NULL: no peer is left */
        struct mad_mux_packet packet = {0};

        mad_unpack(in, &packet, sizeof(packet), mad_send_SAFER, mad_receive_EXPRESS);
        if (packet.kind == MAD_MUX_FRAMES) {
            receive_frames(rail, in, packet.bytes);
        } else if (packet.kind == MAD_MUX_DATA) {
            receive_data(rail, in, &packet);
        } else {
            mad_end_unpacking(in);
            if (packet.kind == MAD_MUX_CLOSING && mad_connection_error(in) == MAD_OK)
                mad_connection_leave(in);
            else
                mad_connection_break(in, MAD_EWIRE);
        }
    }
}

/* ---- start and stop -------------------------------------------------------------------------- */

int mad_mux_start(struct mad_mux *own)
{
    bool good = true;

    __atomic_store_n(&own->running, true, __ATOMIC_RELEASE);
    for (int i = 0; i < own->rail_count && good; i++) {
        struct mad_mux_rail *rail = &own->rails[i];

        rail->receiver = port_thread_start("mad-mux", receive_packets, rail);
        if (i != 0)
            rail->sender = port_thread_start("mad-rail", send_pieces, rail);
        good = rail->receiver != NULL && (i == 0 || rail->sender != NULL);
    }
    return good ? MAD_OK : MAD_ENOMEM;
}

static void send_closing(const struct mad_mux *own, p_mad_channel_t channel)
{
    struct mad_mux_packet packet = {.kind = MAD_MUX_CLOSING};

    for (int rank = 0; rank < own->size; rank++) {
        p_mad_connection_t out;

        if (rank == own->own || !mad_channel_has(channel, rank))
            continue;
        out = mad_begin_packing(channel, rank);
        if (out == NULL)
            continue;
        mad_pack(out, &packet, sizeof(packet), mad_send_SAFER, mad_receive_EXPRESS);
        mad_end_packing(out);
    }
}

static void join(struct port_thread **thread)
{
    if (*thread != NULL)
        port_thread_join(*thread);
    *thread = NULL;
}

void mad_mux_stop(struct mad_mux *own)
{
    if (!own->running)
        return;
    port_mutex_lock(&own->mutex);
    own->stopping = true;
    for (int i = 0; i < own->rail_count; i++)
        port_condition_broadcast(&own->rails[i].work);
    port_mutex_unlock(&own->mutex);
    for (int i = 0; i < own->rail_count; i++)
        join(&own->rails[i].sender);
    for (int i = 0; i < own->rail_count; i++)
        send_closing(own, own->rails[i].channel);
    for (int i = 0; i < own->rail_count; i++)
        if (own->rails[i].receiver != NULL)
            join(&own->rails[i].receiver);
        else /* it could not be started: the messages by which the others close are read here */
            receive_packets(&own->rails[i]);
    own->running = false;
    for (int i = 0; i < own->rail_count; i++)
        mad_channel_reuse(own->rails[i].channel);
}
