/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Long blocks over LNet. The sender exposes its memory in pieces of up to 1 MiB, and sends an RTS.
 * The receiver gets the pieces when it wants the blocks. Neither uses the memory again before LNet
 * has unlinked the last descriptor.
 */
#include <assert.h>
#include <string.h>

#include "driver/lnet.h"

/* The blocks of a list that are not transferred yet. Each block counts its own bytes. */
struct rest {
    p_mad_buffer_t buffer; /* NULL: nothing */
    bool send;
};

/* The next piece; pieces begin at multiples of MLNET_PIECE_BYTES in their block. */
static void *next_piece(struct rest *rest, size_t *length)
{
    p_mad_buffer_t buffer = rest->buffer;
    size_t from = rest->send ? buffer->bytes_read : buffer->bytes_written;
    size_t end = rest->send ? buffer->bytes_written : buffer->length;

    assert(from < end);
    *length = end - from < MLNET_PIECE_BYTES ? end - from : MLNET_PIECE_BYTES;
    if (rest->send)
        buffer->bytes_read += *length;
    else
        buffer->bytes_written += *length;
    if (from + *length == end)
        rest->buffer = buffer->next;
    return (char *)buffer->buffer + from;
}

static void count(struct mlnet_rts *rts, size_t length)
{
    rts->pieces++;
    rts->bytes += length;
    rts->lengths = (rts->lengths ^ length) * UINT64_C(1099511628211); /* FNV-1a of words */
}

/* The RTS that announces the blocks. */
static struct mlnet_rts announcement(p_mad_buffer_t first, bool send)
{
    struct mlnet_rts rts = {.lengths = UINT64_C(14695981039346656037)};

    for (const mad_buffer_t *buffer = first; buffer != NULL; buffer = buffer->next) {
        size_t left = send ? buffer->bytes_written - buffer->bytes_read
                           : buffer->length - buffer->bytes_written;

        for (; left > MLNET_PIECE_BYTES; left -= MLNET_PIECE_BYTES)
            count(&rts, MLNET_PIECE_BYTES);
        count(&rts, left);
    }
    return rts;
}

/* Waits until the slot has ended, or its peer is lost while `alive` is given. */
static void wait_for(const struct mlnet_slot *slot, const char *what, bool alive)
{
    struct mlnet_peer *peer = slot->peer;
    struct mlnet_wait wait = {.adapter = slot->adapter, .what = what};

    if (alive) {
        wait.channel = peer->channel;
        wait.peer = peer;
    }
    while (slot->active && !(alive && peer->lost))
        mad_lnet_wait(&wait);
    mad_lnet_wait_end(&wait);
}

static int result_of(const struct mlnet_slot *slot)
{
    struct mlnet_peer *peer = slot->peer;

    if (slot->status != 0 || slot->unlinked) /* unlinked: there was no reply in time */
        mad_lnet_lost(peer, MAD_EPEER, slot->status != 0 ? slot->status : -ETIMEDOUT);
    return peer->lost ? mad_connection_error(peer->out) : MAD_OK;
}

/* ---- sending --------------------------------------------------------------------------------- */

static int expose(struct mlnet_peer *peer, struct mlnet_slot **last, void *memory, size_t length)
{
    struct mlnet_channel *channel = peer->channel;
    struct mlnet_slot *slot = mad_lnet_slot(peer);
    int rc;

    if (slot == NULL)
        return MAD_ENOMEM;
    rc = mad_lnet_attach(slot, mad_lnet_bits(channel, channel->own, MLNET_BULK, peer->exposed), 0,
                         LNET_MD_OP_GET, 1, memory, length);
    if (rc != 0) {
        mad_lnet_slot_free(channel->adapter, slot);
        mad_driver_note(peer->out, NULL, rc);
        return rc == -ENOMEM ? MAD_ENOMEM : MAD_EDRIVER;
    }
    peer->exposed++;
    *last = slot;
    return MAD_OK;
}

static int expose_all(struct mlnet_peer *peer, p_mad_buffer_t first, struct mlnet_slot **slots)
{
    struct rest rest = {.buffer = first, .send = true};
    int error = MAD_OK;
    size_t length;

    while (rest.buffer != NULL && error == MAD_OK) {
        void *memory = next_piece(&rest, &length);

        error = expose(peer, slots, memory, length);
        if (error == MAD_OK)
            slots = &(*slots)->sibling;
    }
    return error;
}

static int announce(struct mlnet_peer *peer, const struct mlnet_rts *rts)
{
    struct mlnet_frame *frame = mad_lnet_frame(peer->channel->adapter);

    if (frame == NULL)
        return MAD_ENOMEM;
    memcpy(frame->bytes, rts, sizeof(*rts));
    return mad_lnet_send_frame(peer, frame, sizeof(*rts), MLNET_RTS);
}

/* Waits until the receiver has all pieces, or takes them back. */
static int finish(struct mlnet_adapter *adapter, struct mlnet_slot *slots, int error)
{
    struct mlnet_slot *slot, *next;

    for (slot = slots; slot != NULL && error == MAD_OK; slot = slot->sibling) {
        wait_for(slot, "the receiver of a block", true);
        error = result_of(slot);
    }
    for (slot = slots; slot != NULL && error != MAD_OK; slot = slot->sibling)
        mad_lnet_unlink(slot);
    for (slot = slots; slot != NULL; slot = next) {
        next = slot->sibling;
        wait_for(slot, "the end of a transfer", false);
        mad_lnet_slot_free(adapter, slot);
    }
    return error;
}

int mad_lnet_bulk_send(p_mad_link_t link, p_mad_buffer_t first)
{
    struct mlnet_peer *peer = mad_lnet_peer(link->connection);
    struct mlnet_adapter *adapter = peer->channel->adapter;
    struct mlnet_rts rts = announcement(first, true);
    struct mlnet_slot *slots = NULL;
    int error;

    port_mutex_lock(&adapter->mutex);
    rts.sequence = peer->exposed;
    error = expose_all(peer, first, &slots);
    if (error == MAD_OK)
        error = announce(peer, &rts);
    error = finish(adapter, slots, error);
    if (error != MAD_OK)
        mad_lnet_give_up(peer);
    port_mutex_unlock(&adapter->mutex);
    return error;
}

/* ---- receiving ------------------------------------------------------------------------------- */

static int receive_rts(struct mlnet_peer *peer, struct mlnet_rts *expected)
{
    struct mlnet_frame *frame = mad_lnet_next_frame(peer, "the sender of a block");
    struct mlnet_rts found;
    bool valid;
    int error;

    if (frame == NULL)
        return mad_connection_error(peer->in);
    valid = (frame->slot.header & MLNET_RTS) != 0 && frame->slot.bytes == sizeof(found);
    memcpy(&found, frame->bytes, sizeof(found));
    error = mad_lnet_recycle(peer, frame);
    if (error != MAD_OK)
        return error;
    expected->sequence = found.sequence;
    valid = valid && found.pieces == expected->pieces && found.bytes == expected->bytes &&
            found.lengths == expected->lengths;
    return valid ? MAD_OK : MAD_ESYMM;
}

static int get_piece(struct mlnet_peer *peer, struct mlnet_slot *slot, uint32_t sequence,
                     struct rest *rest)
{
    uint64_t bits = mad_lnet_bits(peer->channel, peer->in->remote_host_id, MLNET_BULK, sequence);
    size_t length;
    void *memory = next_piece(rest, &length);
    int rc = mad_lnet_get(slot, bits, 0, memory, length);

    if (rc == 0)
        return MAD_OK;
    mad_driver_note(peer->in, NULL, rc);
    return rc == -ENOMEM ? MAD_ENOMEM : MAD_EDRIVER;
}

static int get_pieces(struct mlnet_peer *peer, struct mlnet_slot *slots,
                      const struct mlnet_rts *rts, struct rest *rest)
{
    uint32_t started = 0, done = 0;
    int error = MAD_OK;

    while (done < rts->pieces && error == MAD_OK) {
        if (started < rts->pieces && started - done < MLNET_READS) {
            error = get_piece(peer, &slots[started % MLNET_READS], rts->sequence + started, rest);
            started++;
            continue;
        }
        wait_for(&slots[done % MLNET_READS], "the data of a block", true);
        error = result_of(&slots[done % MLNET_READS]);
        done++;
    }
    return error;
}

int mad_lnet_bulk_receive(p_mad_link_t link, p_mad_buffer_t first)
{
    struct mlnet_peer *peer = mad_lnet_peer(link->connection);
    struct mlnet_adapter *adapter = peer->channel->adapter;
    struct mlnet_rts rts = announcement(first, false);
    struct rest rest = {.buffer = first};
    struct mlnet_slot slots[MLNET_READS];
    int error;

    for (unsigned i = 0; i < MLNET_READS; i++)
        slots[i] = (struct mlnet_slot){.adapter = adapter, .peer = peer, .use = MLNET_USE_PIECE};
    port_mutex_lock(&adapter->mutex);
    error = receive_rts(peer, &rts);
    if (error == MAD_OK)
        error = get_pieces(peer, slots, &rts, &rest);
    for (unsigned i = 0; i < MLNET_READS && error != MAD_OK; i++)
        mad_lnet_unlink(&slots[i]);
    for (unsigned i = 0; i < MLNET_READS; i++)
        wait_for(&slots[i], "the end of a transfer", false);
    if (error != MAD_OK)
        mad_lnet_give_up(peer);
    port_mutex_unlock(&adapter->mutex);
    return error;
}
