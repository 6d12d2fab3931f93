/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What a simulation's ledger knows of messages: the contents that each block has to have by its
 * mode of sending, and those of static buffers between the generic layers of both ends. Outside of
 * simulation there is nothing of this.
 */
#include "internal.h"

#ifdef MAD_SIMULATED
#include <stdlib.h>

/* A message's blocks beyond these are not booked. */
enum { NOTES_MAX = 256 };

static const char *const rules[] = {
    [mad_send_SAFER] = "a SAFER block is not what it was at mad_pack",
    [mad_send_LATER] = "a LATER block is not what it was at mad_end_packing",
    [mad_send_CHEAPER] = "a CHEAPER block is not what it was at mad_pack",
};

static bool is_outgoing(p_mad_connection_t connection)
{
    return connection->channel->output_connection[connection->remote_host_id] == connection;
}

static struct port_piece piece_of(p_mad_connection_t connection, enum port_book book)
{
    const mad_madeleine_t *madeleine = connection->channel->adapter->driver->madeleine;
    uint32_t own = (uint32_t)madeleine->configuration.local_host_id;
    uint32_t peer = (uint32_t)connection->remote_host_id;
    bool outgoing = is_outgoing(connection);
    uint64_t job = ((const struct mad_session *)madeleine)->job_hash;

    return (struct port_piece){
        .book = book,
        .channel = (job ^ (uint64_t)connection->channel->id) * UINT64_C(0x9e3779b97f4a7c15) +
                   mad_process()->sessions,
        .from = outgoing ? own : peer,
        .to = outgoing ? peer : own,
    };
}

static struct port_piece block_piece(p_mad_connection_t connection, const struct mad_note *note)
{
    struct port_piece piece = piece_of(connection, PORT_BOOK_MAD_BLOCK);

    piece.message = mad_full(connection)->message;
    piece.number = note->number;
    piece.rule = rules[note->send_mode];
    return piece;
}

static struct mad_note *note_block(p_mad_connection_t connection, const struct mad_block *block)
{
    struct mad_connection_full *full = mad_full(connection);
    struct mad_note *note;

    if (full->notes == NULL)
        full->notes = calloc(NOTES_MAX, sizeof(*full->notes));
    if (full->notes == NULL || full->booked == NOTES_MAX)
        return NULL;
    note = &full->notes[full->note_count++];
    *note = (struct mad_note){.bytes = block->buffer,
                              .length = block->length,
                              .number = full->booked++,
                              .send_mode = block->send_mode,
                              .receive_mode = block->receive_mode};
    return note;
}

void mad_book_begin(p_mad_connection_t connection)
{
    mad_full(connection)->note_count = 0;
    mad_full(connection)->booked = 0;
}

void mad_book_pack(p_mad_connection_t connection, const struct mad_block *block)
{
    struct mad_note *note = note_block(connection, block);
    struct port_piece piece;

    if (note == NULL)
        return;
    if (note->send_mode == mad_send_LATER) /* not read before mad_end_packing */
        return;
    if (note->send_mode == mad_send_CHEAPER)
        note->digest = port_piece_digest(note->bytes, note->length);
    piece = block_piece(connection, note);
    port_piece_sent(&piece, note->bytes, note->length);
}

void mad_book_end_packing(p_mad_connection_t connection)
{
    struct mad_connection_full *full = mad_full(connection);

    for (size_t i = 0; i < full->note_count; i++)
        if (full->notes[i].send_mode == mad_send_LATER) {
            struct port_piece piece = block_piece(connection, &full->notes[i]);

            port_piece_sent(&piece, full->notes[i].bytes, full->notes[i].length);
        }
}

void mad_book_packed(p_mad_connection_t connection)
{
    struct mad_connection_full *full = mad_full(connection);

    for (size_t i = 0; i < full->note_count; i++) {
        const struct mad_note *note = &full->notes[i];

        if (note->send_mode == mad_send_CHEAPER &&
            port_piece_digest(note->bytes, note->length) != note->digest)
            port_book_violation(
                PORT_BOOK_MAD_BLOCK,
                "the program changed a CHEAPER block before mad_end_packing returned");
    }
    full->note_count = 0;
}

static void received(p_mad_connection_t connection, const struct mad_note *note)
{
    struct port_piece piece = block_piece(connection, note);

    port_piece_received(&piece, note->bytes, note->length);
}

/* Memory that a later block uses again is no evidence of the earlier one. */
static void forget_overlaps(struct mad_connection_full *full, const struct mad_note *last)
{
    for (struct mad_note *note = full->notes; note < last; note++)
        if ((const char *)note->bytes < (const char *)last->bytes + last->length &&
            (const char *)last->bytes < (const char *)note->bytes + note->length)
            note->length = 0;
}

void mad_book_unpack(p_mad_connection_t connection, const struct mad_block *block)
{
    const struct mad_note *note = note_block(connection, block);

    if (note == NULL)
        return;
    forget_overlaps(mad_full(connection), note);
    if (note->receive_mode != mad_receive_EXPRESS)
        return;
    received(connection, note);
    mad_full(connection)->note_count--;
}

void mad_book_end_unpacking(p_mad_connection_t connection)
{
    struct mad_connection_full *full = mad_full(connection);

    for (size_t i = 0; i < full->note_count; i++)
        if (full->notes[i].length != 0)
            received(connection, &full->notes[i]);
    full->note_count = 0;
}

/* ---- static buffers -------------------------------------------------------------------------- */

static struct port_piece buffer_piece(p_mad_link_t link)
{
    struct port_piece piece = piece_of(link->connection, PORT_BOOK_MAD_BUFFER);

    piece.link = (uint32_t)link->id;
    piece.message = link->passed++;
    piece.rule = "a static buffer has not arrived as it was sent";
    return piece;
}

void mad_book_buffer(p_mad_link_t link, const mad_buffer_t *buffer)
{
    struct port_piece piece = buffer_piece(link);

    (is_outgoing(link->connection) ? port_piece_sent : port_piece_received)(&piece, buffer->buffer,
                                                                            buffer->bytes_written);
}

void mad_book_fini(p_mad_connection_t connection)
{
    free(mad_full(connection)->notes);
}
#endif
