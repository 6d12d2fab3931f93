/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Check levels: records in the message let the receiver compare its blocks with the sender's.
 * Level 1 sends a signature at the end; level 2 sends a record before each block and one at the
 * end. Records are blocks like those of the user, SAFER/EXPRESS, and little-endian.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

enum { MAGIC_SIGNATURE = 0x314B444D, MAGIC_BLOCK = 0x3242444D, MAGIC_END = 0x3245444D };
enum { RECORD_BYTES = 16, LINK_NONE = 255, POISON = 0xA5 };

static int level(p_mad_connection_t connection)
{
    return mad_channel_full(connection->channel)->check;
}

static void put(unsigned char *to, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        to[i] = (unsigned char)(value >> (8 * i));
}

static uint64_t get(const unsigned char *from, unsigned bytes)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < bytes; i++)
        value |= (uint64_t)from[i] << (8 * i);
    return value;
}

static uint64_t fnv(uint64_t hash, const unsigned char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ bytes[i]) * UINT64_C(1099511628211);
    return hash;
}

static int pack_record(p_mad_connection_t connection, unsigned char *record)
{
    struct mad_block block = {.buffer = record,
                              .length = RECORD_BYTES,
                              .send_mode = mad_send_SAFER,
                              .receive_mode = mad_receive_EXPRESS};

    return mad_send_block(connection, &block);
}

static int unpack_record(p_mad_connection_t connection, unsigned char *record)
{
    struct mad_block block = {.buffer = record,
                              .length = RECORD_BYTES,
                              .send_mode = mad_send_SAFER,
                              .receive_mode = mad_receive_EXPRESS};

    return mad_receive_block(connection, &block);
}

/* ---- the records ----------------------------------------------------------------------------- */

static void block_record(p_mad_connection_t connection, const struct mad_block *block,
                         unsigned char *record)
{
    put(record, MAGIC_BLOCK, 4);
    put(record + 4, mad_full(connection)->blocks, 2);
    put(record + 6, (uint64_t)block->send_mode * 16 + (uint64_t)block->receive_mode, 1);
    put(record + 7, (uint64_t)mad_choice(connection, block)->id, 1);
    put(record + 8, block->length, 8);
}

static void end_record(p_mad_connection_t connection, unsigned char *record)
{
    put(record, MAGIC_END, 4);
    put(record + 4, mad_full(connection)->blocks, 2);
    put(record + 6, 0, 1);
    put(record + 7, LINK_NONE, 1);
    put(record + 8, mad_full(connection)->bytes, 8);
}

static void signature(p_mad_connection_t connection, unsigned char *record)
{
    put(record, MAGIC_SIGNATURE, 4);
    put(record + 4, mad_full(connection)->blocks, 4);
    put(record + 8, mad_full(connection)->hash, 8);
}

static void describe(const unsigned char *record, char *text, size_t size)
{
    static const char *const sends[] = {"unknown", "SAFER", "LATER", "CHEAPER"};
    static const char *const receives[] = {"unknown", "EXPRESS", "CHEAPER"};
    unsigned modes = (unsigned)get(record + 6, 1), smode = modes / 16, rmode = modes % 16;
    unsigned long long length = get(record + 8, 8);

    switch (get(record, 4)) {
    case MAGIC_BLOCK:
        snprintf(text, size, "block %u of %llu bytes %s/%s on link %u",
                 (unsigned)get(record + 4, 2), length, smode <= 3 ? sends[smode] : "invalid",
                 rmode <= 2 ? receives[rmode] : "invalid", (unsigned)get(record + 7, 1));
        break;
    case MAGIC_END:
        snprintf(text, size, "the end after %u blocks of %llu bytes", (unsigned)get(record + 4, 2),
                 length);
        break;
    case MAGIC_SIGNATURE:
        snprintf(text, size, "%u blocks with signature %016llx", (unsigned)get(record + 4, 4),
                 length);
        break;
    default:
        snprintf(text, size, "no record");
    }
}

static int compare(p_mad_connection_t connection, const unsigned char *own,
                   const unsigned char *received)
{
    struct mad_connection_full *full = mad_full(connection);
    char expected[96], found[96];

    if (memcmp(own, received, RECORD_BYTES) == 0)
        return MAD_OK;
    describe(own, expected, sizeof(expected));
    describe(received, found, sizeof(found));
    snprintf(full->text, sizeof(full->text),
             "channel %s (%ld), message %llu from rank %d, block %u: expected %s, found %s",
             connection->channel->name, connection->channel->id, (unsigned long long)full->message,
             connection->remote_host_id, (unsigned)full->blocks, expected, found);
    return MAD_ESYMM;
}

/* ---- CHEAPER blocks -------------------------------------------------------------------------- */

void mad_check_digest(p_mad_connection_t connection, p_mad_buffer_t buffer)
{
    if (level(connection) == 0)
        return;
    buffer->digest = fnv(UINT64_C(14695981039346656037), buffer->buffer, buffer->length);
    buffer->digested = tbx_true;
}

void mad_check_unchanged(p_mad_connection_t connection, const mad_buffer_t *buffer)
{
    if (buffer->digested &&
        fnv(UINT64_C(14695981039346656037), buffer->buffer, buffer->length) != buffer->digest)
        MAD_REPORT(MAD_WCHEAPER, mad_error_text(MAD_WCHEAPER), connection->channel,
                   connection->remote_host_id);
}

/* Notes the area; false: no memory. `overlaps`: with one of the same message. */
static bool note_area(struct mad_connection_full *full, const struct mad_block *block,
                      bool *overlaps)
{
    const char *start = block->buffer;
    struct mad_area *larger;

    *overlaps = false;
    for (size_t i = 0; i < full->area_count; i++)
        *overlaps |= start < full->areas[i].start + full->areas[i].length &&
                     full->areas[i].start < start + block->length;
    if (full->area_count == full->area_room) {
        larger = realloc(full->areas, (full->area_room * 2 + 16) * sizeof(*larger));
        if (larger == NULL)
            return false;
        full->areas = larger;
        full->area_room = full->area_room * 2 + 16;
    }
    full->areas[full->area_count++] = (struct mad_area){start, block->length};
    return true;
}

static int check_area(p_mad_connection_t connection, const struct mad_block *block)
{
    bool overlaps;

    if (block->receive_mode != mad_receive_CHEAPER)
        return MAD_OK;
    if (!note_area(mad_full(connection), block, &overlaps))
        return MAD_ENOMEM;
    if (overlaps)
        MAD_REPORT(MAD_EOVERLAP, mad_error_text(MAD_EOVERLAP), connection->channel,
                   connection->remote_host_id);
    else
        memset(block->buffer, POISON, block->length);
    return MAD_OK;
}

/* ---- around each block, and at the end ------------------------------------------------------- */

void mad_check_count(p_mad_connection_t connection, const struct mad_block *block)
{
    struct mad_connection_full *full = mad_full(connection);
    unsigned char record[12];

    full->blocks++;
    full->bytes += block->length;
    if (level(connection) != 1)
        return;
    put(record, block->length, 8);
    record[8] = (unsigned char)block->send_mode;
    record[9] = (unsigned char)block->receive_mode;
    record[10] = (unsigned char)block->link->id;
    record[11] = (unsigned char)block->mode;
    full->hash = fnv(full->hash, record, sizeof(record));
}

int mad_check_pack(p_mad_connection_t connection, const struct mad_block *block)
{
    unsigned char record[RECORD_BYTES];

    if (level(connection) < 2)
        return MAD_OK;
    block_record(connection, block, record);
    return pack_record(connection, record);
}

int mad_check_unpack(p_mad_connection_t connection, const struct mad_block *block)
{
    unsigned char own[RECORD_BYTES], received[RECORD_BYTES];
    int error = MAD_OK;

    if (level(connection) == 2) {
        block_record(connection, block, own);
        error = unpack_record(connection, received);
        if (error == MAD_OK)
            error = compare(connection, own, received);
    }
    if (level(connection) >= 1 && error == MAD_OK)
        error = check_area(connection, block);
    return error;
}

int mad_check_end_packing(p_mad_connection_t connection)
{
    unsigned char record[RECORD_BYTES];

    if (level(connection) == 0)
        return MAD_OK;
    if (level(connection) == 1)
        signature(connection, record);
    else
        end_record(connection, record);
    return pack_record(connection, record);
}

int mad_check_end_unpacking(p_mad_connection_t connection)
{
    unsigned char own[RECORD_BYTES], received[RECORD_BYTES];
    int error;

    if (level(connection) == 0)
        return MAD_OK;
    if (level(connection) == 1)
        signature(connection, own);
    else
        end_record(connection, own);
    error = unpack_record(connection, received);
    return error != MAD_OK ? error : compare(connection, own, received);
}
