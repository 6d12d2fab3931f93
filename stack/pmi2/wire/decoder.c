/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Bytes as they arrive, cut into messages. */
#define _GNU_SOURCE
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "wire_internal.h"

/* What an idle connection may keep. */
#define SPARE_BYTES 65536
#define SPARE_PAIRS 1024
#define FIRST_BYTES 256 /* most messages: a simulation has very many connections */

void pmi2_decoder_init(struct pmi2_decoder *decoder)
{
    memset(decoder, 0, sizeof(*decoder));
}

void pmi2_decoder_fini(struct pmi2_decoder *decoder)
{
    free(decoder->bytes);
    free(decoder->pairs);
    memset(decoder, 0, sizeof(*decoder));
}

size_t pmi2_decoder_pending(const struct pmi2_decoder *decoder)
{
    return decoder->end - decoder->start;
}

static bool make_room(struct pmi2_decoder *decoder, size_t length)
{
    size_t pending = pmi2_decoder_pending(decoder);
    size_t capacity = decoder->capacity != 0 ? decoder->capacity : FIRST_BYTES;
    char *more;

    if (decoder->start != 0) {
        if (pending != 0)
            memmove(decoder->bytes, decoder->bytes + decoder->start, pending);
        decoder->start = 0;
        decoder->end = pending;
    }
    while (capacity - pending < length)
        capacity *= 2;
    if (capacity == decoder->capacity)
        return true;
    more = realloc(decoder->bytes, capacity);
    if (more == NULL)
        return false;
    decoder->bytes = more;
    decoder->capacity = capacity;
    return true;
}

static void rewind_empty(struct pmi2_decoder *decoder)
{
    decoder->start = decoder->end = 0;
    if (decoder->capacity > SPARE_BYTES) {
        free(decoder->bytes);
        decoder->bytes = NULL;
        decoder->capacity = 0;
    }
}

bool pmi2_decoder_feed(struct pmi2_decoder *decoder, const void *bytes, size_t length)
{
    const char *from = bytes;
    size_t skipped;

    if (decoder->reason != NULL || length == 0)
        return true; /* nothing can be found in it any more, or nothing has come */
    if (pmi2_decoder_pending(decoder) == 0) {
        skipped = decoder->skip < length ? decoder->skip : length;
        decoder->skip -= skipped;
        from += skipped;
        length -= skipped;
        rewind_empty(decoder);
    }
    if (length == 0)
        return true;
    if (decoder->capacity - decoder->end < length && !make_room(decoder, length))
        return false;
    assert(decoder->start <= decoder->end && decoder->end <= decoder->capacity - length);
    memcpy(decoder->bytes + decoder->end, from, length);
    decoder->end += length;
    return true;
}

char *pmi2_decoder_room(struct pmi2_decoder *decoder, size_t *length)
{
    size_t free_bytes;

    if (pmi2_decoder_pending(decoder) == 0)
        rewind_empty(decoder);
    free_bytes = decoder->capacity - decoder->end;
    if (free_bytes < FIRST_BYTES / 2 &&
        !make_room(decoder, free_bytes == 0 ? decoder->capacity + 1 : FIRST_BYTES / 2))
        return NULL;
    *length = decoder->capacity - decoder->end;
    return decoder->bytes + decoder->end;
}

void pmi2_decoder_received(struct pmi2_decoder *decoder, size_t length)
{
    size_t skipped = decoder->skip < length ? decoder->skip : length;

    assert(length <= decoder->capacity - decoder->end); /* what pmi2_decoder_room() gave */
    decoder->skip -= skipped; /* 0 unless nothing is pending */
    decoder->start += skipped;
    decoder->end += length;
}

static enum pmi2_decoded broken(struct pmi2_decoder *decoder, const char *reason)
{
    decoder->reason = reason;
    return PMI2_DECODED_BROKEN;
}

/* A message of so many bytes was found, or not. */
static enum pmi2_decoded take(struct pmi2_decoder *decoder, enum pmi2_decoded decoded, size_t bytes,
                              struct pmi2_message *message)
{
    if (decoded == PMI2_DECODED_MESSAGE) {
        assert(bytes <= pmi2_decoder_pending(decoder));
        decoder->start += bytes;
        decoder->scanned = 0;
        message->wire_bytes = (uint32_t)bytes;
    } else if (decoded == PMI2_DECODED_NO_MEMORY) {
        decoder->reason = "no memory"; /* values were unescaped in place: no second try */
    }
    return decoded;
}

static enum pmi2_decoded next_line(struct pmi2_decoder *decoder, struct pmi2_message *message)
{
    char *at = decoder->bytes + decoder->start, *newline;
    size_t pending = pmi2_decoder_pending(decoder), length;
    size_t bounded = pending < PMI2_LINE_MAX ? pending : PMI2_LINE_MAX;

    newline = memchr(at + decoder->scanned, '\n', bounded - decoder->scanned);
    if (newline == NULL) {
        decoder->scanned = bounded;
        return pending < PMI2_LINE_MAX ? PMI2_DECODED_NONE : broken(decoder, "line too long");
    }
    length = (size_t)(newline - at);
    return take(decoder, pmi2_decode_line(decoder, at, length, message), length + 1, message);
}

static enum pmi2_decoded next_mcmd(struct pmi2_decoder *decoder, struct pmi2_message *message)
{
    static const char last[] = "\nendcmd\n";
    const size_t last_length = sizeof(last) - 1;
    char *at = decoder->bytes + decoder->start, *found;
    size_t pending = pmi2_decoder_pending(decoder), length;
    size_t bounded = pending < PMI2_MCMD_MAX ? pending : PMI2_MCMD_MAX;

    found = memmem(at + decoder->scanned, bounded - decoder->scanned, last, last_length);
    if (found == NULL) {
        if (bounded - decoder->scanned >= last_length)
            decoder->scanned = bounded - (last_length - 1);
        return pending < PMI2_MCMD_MAX ? PMI2_DECODED_NONE : broken(decoder, "spawn too long");
    }
    length = (size_t)(found - at) + last_length;
    return take(decoder, pmi2_decode_mcmd(decoder, at, length - 1, message), length, message);
}

/* Six bytes: digits, with blanks on either side. 0: they are none, or say 0. */
static size_t frame_length(const char *at)
{
    int first = 0, end = PMI2_LENGTH_SIZE, i;
    size_t length = 0;

    while (first < end && at[first] == ' ')
        first++;
    while (end > first && at[end - 1] == ' ')
        end--;
    for (i = first; i < end; i++) {
        if (at[i] < '0' || at[i] > '9')
            return 0;
        length = 10 * length + (size_t)(at[i] - '0');
    }
    return length;
}

/*
 * Only a spawn may be longer than other frames: its name decides, and it comes first. The rest of
 * any other one is skipped, so that the connection can go on.
 */
static enum pmi2_decoded long_frame(struct pmi2_decoder *decoder, size_t length,
                                    struct pmi2_message *message)
{
    enum { PREFIX = 4, NAME = 65 }; /* with the `;` behind it */
    char *payload = decoder->bytes + decoder->start + PMI2_LENGTH_SIZE, *semicolon;
    size_t there = pmi2_decoder_pending(decoder) - PMI2_LENGTH_SIZE, name;

    if (there < PREFIX || (there < PREFIX + NAME && memchr(payload, ';', there) == NULL))
        return PMI2_DECODED_NONE;
    if (memcmp(payload, "cmd=", PREFIX) != 0)
        return broken(decoder, "frame does not begin with cmd=");
    semicolon = memchr(payload + PREFIX, ';', there - PREFIX);
    name = semicolon != NULL ? (size_t)(semicolon - payload - PREFIX) : 0;
    message->command = pmi2_slice_of(payload + PREFIX, name);
    if (!pmi2_command_valid(message->command))
        return broken(decoder, "malformed command name");
    if (pmi2_slice_is(message->command, "spawn"))
        return PMI2_DECODED_MESSAGE;
    message->format = PMI2_FORMAT_FRAME;
    message->wire_bytes = (uint32_t)(PMI2_LENGTH_SIZE + length);
    if (there > length)
        there = length;
    decoder->start += PMI2_LENGTH_SIZE + there;
    decoder->skip = length - there;
    return PMI2_DECODED_TOO_LONG;
}

static enum pmi2_decoded next_frame(struct pmi2_decoder *decoder, struct pmi2_message *message)
{
    char *at = decoder->bytes + decoder->start;
    size_t pending = pmi2_decoder_pending(decoder), length;
    enum pmi2_decoded decoded;

    if (pending < PMI2_LENGTH_SIZE)
        return PMI2_DECODED_NONE;
    length = frame_length(at);
    if (length == 0)
        return broken(decoder, "malformed length of a frame");
    if (length > PMI2_FRAME_MAX) {
        decoded = long_frame(decoder, length, message);
        if (decoded != PMI2_DECODED_MESSAGE)
            return decoded;
    }
    if (pending < PMI2_LENGTH_SIZE + length)
        return PMI2_DECODED_NONE;
    return take(decoder, pmi2_decode_frame(decoder, at + PMI2_LENGTH_SIZE, length, message),
                PMI2_LENGTH_SIZE + length, message);
}

/* Does it begin with that text, as far as it is there? */
static bool begins(const char *at, size_t pending, const char *text)
{
    size_t length = strlen(text);

    return memcmp(at, text, pending < length ? pending : length) == 0;
}

enum pmi2_decoded pmi2_decoder_next(struct pmi2_decoder *decoder, struct pmi2_message *message)
{
    size_t pending = pmi2_decoder_pending(decoder);
    const char *at;

    memset(message, 0, sizeof(*message));
    if (decoder->reason != NULL)
        return PMI2_DECODED_BROKEN;
    if (decoder->pairs_capacity > SPARE_PAIRS) {
        free(decoder->pairs);
        decoder->pairs = NULL;
        decoder->pairs_capacity = 0;
    }
    if (pending == 0)
        return PMI2_DECODED_NONE;
    at = decoder->bytes + decoder->start;
    if (begins(at, pending, "cmd="))
        return pending < 4 ? PMI2_DECODED_NONE : next_line(decoder, message);
    if (begins(at, pending, "mcmd="))
        return pending < 5 ? PMI2_DECODED_NONE : next_mcmd(decoder, message);
    return next_frame(decoder, message);
}
