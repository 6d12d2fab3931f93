/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Blocks over SISCI. Short ones are words that are not zero, so that each of them says by itself
 * that it is there; longer ones, and groups, go through the data area with a flag.
 */
#include <assert.h>
#include <string.h>

#include "sisci.h"

enum {
    WORD = 4,
    DESCRIBED = 7, /* words behind a descriptor */
    SHORT_WORDS = MSISCI_OPT_LIMIT / WORD,
    PACKET_WORDS = SHORT_WORDS + (SHORT_WORDS + DESCRIBED - 1) / DESCRIBED + MSISCI_LINE / WORD,
    NUMBER_MASK = 0xffffff
};
_Static_assert(PACKET_WORDS *WORD <= MSISCI_WRITE, "a short packet ends before the permissions");

static struct msisci_remote *remote_of(struct msisci_peer *peer)
{
    return &peer->remote[peer->sent % peer->channel->adapter->segments];
}

static struct msisci_local *local_of(struct msisci_peer *peer)
{
    return &peer->local[peer->received % peer->channel->adapter->segments];
}

static uint32_t number_of(uint32_t packet)
{
    return (packet & NUMBER_MASK) << MSISCI_NUMBER_SHIFT;
}

/* ---- short blocks ---------------------------------------------------------------------------- */

/* The packet's words; the result is how many, whole lines. */
static unsigned encode(const unsigned char *bytes, size_t length, uint32_t number, uint32_t *packet)
{
    unsigned count = 0, descriptor = 0, place = 0;
    size_t at;

    for (at = 0; at < length; at += WORD, place = (place + 1) % DESCRIBED) {
        uint32_t word = 0;

        memcpy(&word, bytes + at, length - at < WORD ? length - at : WORD);
        if (place == 0) {
            descriptor = count++;
            packet[descriptor] = MSISCI_SHORT | (descriptor == 0 ? number : 0);
        }
        if (word == 0)
            continue;
        packet[descriptor] |= 2u << place;
        packet[count++] = word;
    }
    while (count % (MSISCI_LINE / WORD) != 0)
        packet[count++] = 0;
    assert(count <= PACKET_WORDS);
    return count;
}

int mad_sisci_send_short(struct msisci_peer *peer, p_mad_buffer_t buffer)
{
    struct msisci_remote *remote = remote_of(peer);
    uint32_t packet[PACKET_WORDS], failures;
    unsigned count, i;
    bool retry;
    int error = mad_sisci_begin(peer);

    if (error != MAD_OK)
        return error;
    count = encode((const unsigned char *)buffer->buffer + buffer->bytes_read,
                   buffer->bytes_written - buffer->bytes_read, number_of(peer->sent + 1), packet);
    do {
        failures = remote->failures;
        for (i = 0; i < count; i++)
            SCI_STORE32(remote->map, MSISCI_READ + i * WORD, packet[i]);
        error = mad_sisci_settle(peer, remote, failures, &retry);
        remote->dirty |= retry;
    } while (retry);
    if (error == MAD_OK)
        peer->sent++;
    return error;
}

/* Waits until a word is there, and consumes it. 0: the peer was lost. */
static uint32_t consume(struct msisci_peer *peer, size_t at)
{
    volatile uint32_t *word =
        (volatile uint32_t *)(volatile void *)(local_of(peer)->memory + MSISCI_READ + at);
    uint64_t seen = 0;
    uint32_t value;

    while ((value = *word) == 0 && !peer->lost)
        mad_sisci_pause(peer->channel, &seen, peer->channel->adapter->probe_ns);
    *word = 0;
    return value;
}

int mad_sisci_receive_short(struct msisci_peer *peer, p_mad_buffer_t buffer)
{
    unsigned char *to = (unsigned char *)buffer->buffer + buffer->bytes_written;
    size_t length = buffer->length - buffer->bytes_written, done, at = 0;
    uint32_t descriptor = 0, word;
    unsigned place = 0;
    int error = mad_sisci_wait_arrival(peer);

    for (done = 0; error == MAD_OK && done < length; done += WORD) {
        if (place == 0) {
            descriptor = consume(peer, at);
            at += WORD;
        }
        word = 0;
        if ((descriptor & 2u << place) != 0) {
            word = consume(peer, at);
            at += WORD;
        }
        if (peer->lost)
            return mad_connection_error(peer->in);
        memcpy(to + done, &word, length - done < WORD ? length - done : WORD);
        place = (place + 1) % DESCRIBED;
    }
    if (error != MAD_OK)
        return error;
    mad_cost(peer->channel->object, COPY, length);
    peer->received++;
    return mad_sisci_return_credit(peer, false);
}

/* ---- streams --------------------------------------------------------------------------------- */

/* A place in a list of buffers. */
struct cursor {
    p_mad_buffer_t buffer; /* NULL: the end */
    size_t done; /* of its bytes */
};

static void advance(struct cursor *cursor, size_t bytes, size_t whole)
{
    cursor->done += bytes;
    if (cursor->done != whole)
        return;
    cursor->buffer = cursor->buffer->next;
    cursor->done = 0;
}

/* The bytes of a buffer that fit behind `used` bytes of the data area and before `limit`; the next
 * one begins at a word. */
static size_t piece(size_t rest, size_t used, size_t limit)
{
    return rest < limit - used ? rest : limit - used;
}

static size_t words_of(size_t bytes)
{
    return (bytes + WORD - 1) / WORD * WORD;
}

static int store_piece(sci_map_t map, size_t at, const unsigned char *from, size_t bytes)
{
    size_t whole = bytes / WORD * WORD;
    sci_error_t error = SCI_ERR_OK;
    uint32_t last = 0;

    if (whole != 0)
        SCIMemCopy(from, map, at, whole, 0, &error);
    memcpy(&last, from + whole, bytes - whole);
    if (whole != bytes)
        SCI_STORE32(map, at + whole, last);
    return error == SCI_ERR_OK ? MAD_OK : MAD_EDRIVER;
}

/* How far a chunk has been stored. */
struct progress {
    struct cursor cursor;
    size_t used; /* bytes of the data area */
};

static bool is_stored(const struct progress *progress)
{
    return progress->cursor.buffer == NULL || progress->used == MSISCI_DATA_BYTES;
}

/* Stores what fits before `limit`, the end of a line. Complete lines leave the card at once, so the
 * last one is filled with zeros. */
static int store_part(struct msisci_remote *remote, struct progress *progress, size_t limit)
{
    struct cursor *cursor = &progress->cursor;
    int error = MAD_OK;

    assert(limit <= MSISCI_DATA_BYTES && limit % MSISCI_LINE == 0);
    while (cursor->buffer != NULL && progress->used < limit && error == MAD_OK) {
        const mad_buffer_t *buffer = cursor->buffer;
        size_t all = buffer->bytes_written - buffer->bytes_read;
        size_t bytes = piece(all - cursor->done, progress->used, limit);

        error = store_piece(
            remote->map, MSISCI_DATA + progress->used,
            (const unsigned char *)buffer->buffer + buffer->bytes_read + cursor->done, bytes);
        progress->used += words_of(bytes);
        advance(cursor, bytes, all);
    }
    for (; progress->used % MSISCI_LINE != 0; progress->used += WORD)
        SCI_STORE32(remote->map, MSISCI_DATA + progress->used, 0);
    return error;
}

/* Stores the chunk that begins at the cursor. Where many lines are lost, no long part gets through
 * as a whole: after each error the parts are half as long. */
static int store_chunk(struct msisci_peer *peer, struct msisci_remote *remote,
                       struct cursor *cursor)
{
    struct progress progress = {*cursor, 0}, before;
    size_t part = MSISCI_DATA_BYTES, rest;
    uint32_t failures;
    bool retry;
    int error;

    do {
        before = progress;
        failures = remote->failures;
        rest = MSISCI_DATA_BYTES - progress.used;
        error = store_part(remote, &progress, progress.used + (part < rest ? part : rest));
        if (error == MAD_OK)
            error = mad_sisci_settle(peer, remote, failures, &retry);
        if (error != MAD_OK)
            return error;
        if (retry) {
            progress = before;
            part = part > 2 * MSISCI_LINE ? part / 2 / MSISCI_LINE * MSISCI_LINE : MSISCI_LINE;
        }
    } while (!is_stored(&progress));
    *cursor = progress.cursor;
    return MAD_OK;
}

/* The data area is full: the flag follows. */
static int publish_chunk(struct msisci_peer *peer, struct msisci_remote *remote)
{
    uint32_t failures;
    bool retry;
    int error;

    do {
        failures = remote->failures;
        SCI_STORE32(remote->map, MSISCI_READ, MSISCI_CHUNK | number_of(peer->sent + 1));
        error = mad_sisci_settle(peer, remote, failures, &retry);
    } while (retry);
    if (error == MAD_OK)
        peer->sent++;
    return error;
}

static int send_chunk(struct msisci_peer *peer, struct cursor *cursor)
{
    struct msisci_remote *remote = remote_of(peer);
    int error = mad_sisci_begin(peer);

    if (error == MAD_OK)
        error = store_chunk(peer, remote, cursor);
    return error == MAD_OK ? publish_chunk(peer, remote) : error;
}

int mad_sisci_send_stream(struct msisci_peer *peer, p_mad_buffer_t first)
{
    struct cursor cursor = {first, 0};
    int error = MAD_OK;

    while (cursor.buffer != NULL && error == MAD_OK)
        error = send_chunk(peer, &cursor);
    return error;
}

/* What fits from the cursor on, into a staging segment. The result: bytes, whole lines. */
static size_t stage_chunk(struct msisci_peer *peer, unsigned which, struct cursor *cursor)
{
    unsigned char *to = (unsigned char *)(uintptr_t)peer->staging[which].memory;
    size_t used = 0, copied = 0;

    while (cursor->buffer != NULL && used < MSISCI_DATA_BYTES) {
        const mad_buffer_t *buffer = cursor->buffer;
        size_t all = buffer->bytes_written - buffer->bytes_read;
        size_t bytes = piece(all - cursor->done, used, MSISCI_DATA_BYTES);

        memcpy(to + used, (const char *)buffer->buffer + buffer->bytes_read + cursor->done, bytes);
        copied += bytes;
        used += words_of(bytes);
        advance(cursor, bytes, all);
    }
    mad_cost(peer->channel->object, COPY, copied);
    return (used + MSISCI_LINE - 1) / MSISCI_LINE * MSISCI_LINE;
}

/* DMA tries a few times only; stores tell an error that lasts from one that does not. */
static int store_staged(struct msisci_peer *peer, struct msisci_remote *remote, unsigned which,
                        size_t bytes)
{
    mad_buffer_t staged = {.buffer = (void *)(uintptr_t)peer->staging[which].memory,
                           .bytes_written = bytes};
    struct cursor cursor = {&staged, 0};

    return store_chunk(peer, remote, &cursor);
}

/* While a chunk moves, the next one is copied into the other staging segment. */
int mad_sisci_send_dma(struct msisci_peer *peer, p_mad_buffer_t first)
{
    struct cursor cursor = {first, 0};
    size_t bytes = stage_chunk(peer, 0, &cursor), next;
    int error = MAD_OK;
    bool moved;

    for (unsigned which = 0; bytes != 0 && error == MAD_OK; bytes = next, which = 1 - which) {
        struct msisci_remote *remote = remote_of(peer);

        next = 0;
        error = mad_sisci_begin(peer);
        if (error == MAD_OK)
            error = mad_sisci_dma_post(peer, remote, which, bytes);
        if (error != MAD_OK)
            return error;
        if (cursor.buffer != NULL)
            next = stage_chunk(peer, 1 - which, &cursor);
        error = mad_sisci_dma_wait(peer, remote, which, bytes, &moved);
        if (error == MAD_OK && !moved)
            error = store_staged(peer, remote, which, bytes);
        if (error == MAD_OK)
            error = publish_chunk(peer, remote);
    }
    return error;
}

static void load_chunk(struct msisci_peer *peer, struct cursor *cursor)
{
    const unsigned char *data = (const unsigned char *)local_of(peer)->memory + MSISCI_DATA;
    size_t used = 0, copied = 0;

    while (cursor->buffer != NULL && used < MSISCI_DATA_BYTES) {
        const mad_buffer_t *buffer = cursor->buffer;
        size_t all = buffer->length - buffer->bytes_written;
        size_t bytes = piece(all - cursor->done, used, MSISCI_DATA_BYTES);

        memcpy((unsigned char *)buffer->buffer + buffer->bytes_written + cursor->done, data + used,
               bytes);
        copied += bytes;
        used += words_of(bytes);
        advance(cursor, bytes, all);
    }
    mad_cost(peer->channel->object, COPY, copied);
}

int mad_sisci_receive_stream(struct msisci_peer *peer, p_mad_buffer_t first)
{
    struct cursor cursor = {first, 0};
    int error = MAD_OK;

    while (cursor.buffer != NULL && error == MAD_OK) {
        error = mad_sisci_wait_arrival(peer);
        if (error != MAD_OK)
            return error;
        load_chunk(peer, &cursor);
        *(volatile uint32_t *)(volatile void *)(local_of(peer)->memory + MSISCI_READ) = 0;
        peer->received++;
        error = mad_sisci_return_credit(peer, cursor.buffer != NULL);
    }
    return error;
}
