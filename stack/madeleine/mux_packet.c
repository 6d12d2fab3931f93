/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Frames of multiplexed channels, and the packets in which they leave. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "mux.h"

enum { HEADER = sizeof(struct mad_mux_header), BLOCK_LEAST = 256 };

struct mad_mux_frame *mad_mux_frame(struct mad_mux *own)
{
    struct mad_mux_frame *frame = own->unused;

    if (frame == NULL)
        return malloc(sizeof(*frame));
    own->unused = frame->next;
    return frame;
}

void mad_mux_frame_free(struct mad_mux *own, struct mad_mux_frame *frame)
{
    frame->next = own->unused;
    own->unused = frame;
}

/*
 * The frames of a packet are as many blocks of the rail as its first transfer method can take: it
 * needs no answer of the receiver. Both sides come to the same length.
 */
static size_t block_length(p_mad_connection_t connection, size_t bytes)
{
    struct mad_block block = {
        .length = bytes, .send_mode = mad_send_CHEAPER, .receive_mode = mad_receive_CHEAPER};

    while (connection->link[0].buffer_mode == mad_buffer_mode_static &&
           block.length > BLOCK_LEAST && mad_choice(connection, &block)->id != 0)
        block.length = (block.length + 1) / 2;
    return block.length;
}

void mad_mux_move_packet(p_mad_connection_t connection, char *bytes, size_t length, bool outgoing)
{
    size_t most = block_length(connection, length);

    for (; length != 0; length -= most, bytes += most) {
        most = most < length ? most : length;
        if (outgoing)
            mad_pack(connection, bytes, most, mad_send_CHEAPER, mad_receive_CHEAPER);
        else
            mad_unpack(connection, bytes, most, mad_send_CHEAPER, mad_receive_CHEAPER);
    }
}

static void send_packet(struct mad_mux *own, int rank, char *bytes, size_t length)
{
    struct mad_mux_packet packet = {.kind = MAD_MUX_FRAMES, .bytes = length};
    p_mad_connection_t out = mad_begin_packing(own->rails[0].channel, rank);

    if (out == NULL)
        return; /* broken, which mad_mux_broken has told the sub-channels */
    mad_pack(out, &packet, sizeof(packet), mad_send_SAFER, mad_receive_EXPRESS);
    mad_mux_move_packet(out, bytes, length, true);
    mad_end_packing(out);
}

/* Packets to a rank leave one after the other. */
void mad_mux_flush(struct mad_mux *own, int rank)
{
    struct mad_mux_lane *lane = &own->lanes[rank];
    size_t length;
    char *bytes;

    while (lane->sending)
        port_condition_wait(&own->changed, &own->mutex);
    if (lane->used == 0)
        return;
    bytes = lane->bytes;
    length = lane->used;
    lane->bytes = lane->leaving;
    lane->leaving = bytes;
    lane->used = 0;
    lane->sending = true;
    port_mutex_unlock(&own->mutex);
    send_packet(own, rank, bytes, length);
    port_mutex_lock(&own->mutex);
    lane->sending = false;
    port_condition_broadcast(&own->changed);
}

void mad_mux_flush_ranks(struct mad_mux *own)
{
    for (int rank = 0; rank < own->size; rank++)
        if (own->lanes[rank].used != 0)
            mad_mux_flush(own, rank);
}

/* Packets that leave take time, in which what the caller waits for may come. */
static bool flush_any(struct mad_mux *own)
{
    for (int rank = 0; rank < own->size; rank++)
        if (own->lanes[rank].used != 0) {
            mad_mux_flush(own, rank);
            return true;
        }
    return false;
}

void mad_mux_wait(struct mad_mux *own)
{
    if (!flush_any(own))
        port_condition_wait(&own->changed, &own->mutex);
}

static void put_frame(const struct mad_mux_peer *peer, struct mad_mux_header header,
                      const void *bytes, size_t length)
{
    struct mad_mux *own = peer->sub->owner;
    struct mad_mux_lane *lane = &own->lanes[peer->out->remote_host_id];

    header.source = (uint32_t)own->own;
    header.destination = (uint32_t)peer->out->remote_host_id;
    header.sub = (uint8_t)peer->sub->number;
    assert(lane->used + HEADER + length <= own->packet_bytes);
    memcpy(lane->bytes + lane->used, &header, HEADER);
    if (length != 0)
        memcpy(lane->bytes + lane->used + HEADER, bytes, length);
    lane->used += HEADER + length;
}

/* Another thread may use the room while a packet leaves. */
static void make_room(struct mad_mux *own, int rank, size_t bytes)
{
    while (own->lanes[rank].used + bytes > own->packet_bytes)
        mad_mux_flush(own, rank);
}

int mad_mux_append(struct mad_mux_peer *peer, uint8_t flags, const void *bytes, size_t length)
{
    struct mad_mux *own = peer->sub->owner;
    int rank = peer->out->remote_host_id, error;

    assert(length <= MAD_MUX_FRAME);
    while ((error = mad_connection_error(peer->out)) == MAD_OK) {
        if (peer->credit < HEADER + length)
            mad_mux_wait(own);
        else if (own->lanes[rank].used + HEADER + length > own->packet_bytes)
            mad_mux_flush(own, rank);
        else
            break;
    }
    if (error != MAD_OK)
        return error;
    peer->credit -= HEADER + length;
    put_frame(peer,
              (struct mad_mux_header){.length = (uint32_t)length,
                                      .flags = flags | (peer->armed ? MAD_MUX_NEW : 0)},
              bytes, length);
    peer->armed = false;
    return MAD_OK;
}

void mad_mux_control(struct mad_mux_peer *peer, uint8_t flags, size_t length)
{
    struct mad_mux *own = peer->sub->owner;
    int rank = peer->out->remote_host_id;

    make_room(own, rank, HEADER);
    put_frame(peer, (struct mad_mux_header){.length = (uint32_t)length, .flags = flags}, NULL, 0);
    mad_mux_flush(own, rank);
}
