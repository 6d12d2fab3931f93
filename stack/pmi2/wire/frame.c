/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* PMI-2 frames: `    26cmd=kvs-put;key=k;value=v;`. A `;` ends each value; one in a value is `;;`.
 */
#include <string.h>

#include "wire_internal.h"

/* ---- encoding ---------------------------------------------------------------------------------*/

void pmi2_frame_begin(struct pmi2_buffer *buffer, const char *command)
{
    buffer->begun = buffer->length;
    pmi2_buffer_text(buffer, "      cmd=");
    pmi2_buffer_text(buffer, command);
    pmi2_buffer_text(buffer, ";");
}

void pmi2_frame_slice(struct pmi2_buffer *buffer, const char *key, struct pmi2_slice value)
{
    const char *at = value.at, *end = value.at + value.length, *semicolon;

    pmi2_buffer_text(buffer, key);
    pmi2_buffer_text(buffer, "=");
    while (at != end && (semicolon = memchr(at, ';', (size_t)(end - at))) != NULL) {
        pmi2_buffer_add(buffer, at, (size_t)(semicolon + 1 - at));
        pmi2_buffer_text(buffer, ";");
        at = semicolon + 1;
    }
    if (at != end)
        pmi2_buffer_add(buffer, at, (size_t)(end - at));
    pmi2_buffer_text(buffer, ";");
}

void pmi2_frame_text(struct pmi2_buffer *buffer, const char *key, const char *value)
{
    pmi2_frame_slice(buffer, key, pmi2_slice_of(value, strlen(value)));
}

void pmi2_frame_int(struct pmi2_buffer *buffer, const char *key, int64_t value)
{
    char digits[24];

    pmi2_frame_slice(buffer, key, pmi2_format_int(value, digits));
}

void pmi2_frame_bool(struct pmi2_buffer *buffer, const char *key, bool value)
{
    pmi2_frame_text(buffer, key, value ? "TRUE" : "FALSE");
}

void pmi2_frame_pairs(struct pmi2_buffer *buffer, const struct pmi2_buffer *pairs)
{
    buffer->failed = buffer->failed || pairs->failed;
    pmi2_buffer_add(buffer, pairs->bytes, pairs->length);
}

bool pmi2_frame_end(struct pmi2_buffer *buffer)
{
    static const char spawn[] = "cmd=spawn;";
    char *frame = buffer->bytes + buffer->begun, digits[24];
    size_t maximum = PMI2_FRAME_MAX, length;
    struct pmi2_slice number;

    if (buffer->failed)
        return pmi2_buffer_close(buffer, 0);
    if (memcmp(frame + PMI2_LENGTH_SIZE, spawn, sizeof(spawn) - 1) == 0)
        maximum = PMI2_SPAWN_FRAME_MAX;
    length = buffer->length - buffer->begun - PMI2_LENGTH_SIZE;
    if (length <= maximum) {
        number = pmi2_format_int((int64_t)length, digits); /* at most PMI2_LENGTH_SIZE digits */
        memcpy(frame + PMI2_LENGTH_SIZE - number.length, number.at, number.length);
    }
    return pmi2_buffer_close(buffer, maximum + PMI2_LENGTH_SIZE);
}

/* ---- decoding ---------------------------------------------------------------------------------*/

/*
 * One item up to its `;`, unescaped in place. NULL: it has none before the end; *length is what is
 * there. Otherwise what follows it.
 */
static char *next_item(char *at, const char *end, size_t *length)
{
    char *from, *to, *semicolon = at != end ? memchr(at, ';', (size_t)(end - at)) : NULL;

    if (semicolon == NULL) {
        *length = (size_t)(end - at);
        return NULL;
    }
    for (from = to = semicolon; from != end; from++) {
        if (*from == ';') {
            if (from + 1 == end || from[1] != ';') {
                *length = (size_t)(to - at);
                return from + 1;
            }
            from++;
        }
        *to++ = *from;
    }
    *length = (size_t)(to - at);
    return NULL;
}

static bool key_byte(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || byte == '-' || byte == '_';
}

/* `key=…`: then it is a value that was not ended. Anything else behind the last value is the six
 * stale bytes that clients of MPICH 3.3 to 4.0 count into the length. */
static bool begins_pair(const char *at, size_t length)
{
    size_t i = 0;

    while (i < length && i <= PMI2_KEY_MAX && key_byte(at[i]))
        i++;
    return i > 0 && i <= PMI2_KEY_MAX && i < length && at[i] == '=';
}

enum pmi2_decoded pmi2_decode_frame(struct pmi2_decoder *decoder, char *payload, size_t length,
                                    struct pmi2_message *message)
{
    char *at, *next, *end = payload + length;
    size_t item;

    memset(message, 0, sizeof(*message));
    message->format = PMI2_FORMAT_FRAME;
    decoder->reason = NULL;
    if (length < 4 || memcmp(payload, "cmd=", 4) != 0) {
        decoder->reason = "frame does not begin with cmd=";
        return PMI2_DECODED_BROKEN;
    }
    next = next_item(payload + 4, end, &item);
    message->command = pmi2_slice_of(payload + 4, item);
    if (next == NULL || !pmi2_command_valid(message->command)) {
        decoder->reason = "malformed command name";
        return PMI2_DECODED_BROKEN;
    }
    for (at = next; (next = next_item(at, end, &item)) != NULL; at = next)
        if (!pmi2_decoder_item(decoder, message, pmi2_slice_of(at, item)))
            return PMI2_DECODED_NO_MEMORY;
    message->unterminated = begins_pair(at, item);
    message->pairs = decoder->pairs;
    return PMI2_DECODED_MESSAGE;
}
