/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * PMI-1: `cmd=put kvsname=1.0 key=k value=v`, and the blocks of a spawn, `mcmd=spawn`, one
 * `key=value` per line, `endcmd`.
 */
#define _GNU_SOURCE
#include <string.h>

#include "wire_internal.h"

/* ---- encoding ---------------------------------------------------------------------------------*/

static void begin(struct pmi2_buffer *buffer, const char *form, const char *command)
{
    buffer->begun = buffer->length;
    buffer->broken = false;
    pmi2_buffer_text(buffer, form);
    pmi2_buffer_text(buffer, command);
}

static void item(struct pmi2_buffer *buffer, const char *separator, const char *key,
                 struct pmi2_slice value)
{
    if (value.length != 0 && memchr(value.at, '\n', value.length) != NULL)
        buffer->broken = true;
    pmi2_buffer_text(buffer, separator);
    pmi2_buffer_text(buffer, key);
    pmi2_buffer_text(buffer, "=");
    pmi2_buffer_add(buffer, value.at, value.length);
}

void pmi2_line_begin(struct pmi2_buffer *buffer, const char *command)
{
    begin(buffer, "cmd=", command);
}

void pmi2_line_slice(struct pmi2_buffer *buffer, const char *key, struct pmi2_slice value)
{
    item(buffer, " ", key, value);
}

void pmi2_line_text(struct pmi2_buffer *buffer, const char *key, const char *value)
{
    item(buffer, " ", key, pmi2_slice_of(value, strlen(value)));
}

void pmi2_line_int(struct pmi2_buffer *buffer, const char *key, int64_t value)
{
    char digits[24];

    item(buffer, " ", key, pmi2_format_int(value, digits));
}

bool pmi2_line_end(struct pmi2_buffer *buffer)
{
    pmi2_buffer_text(buffer, "\n");
    return pmi2_buffer_close(buffer, PMI2_LINE_MAX);
}

void pmi2_mcmd_begin(struct pmi2_buffer *buffer, const char *command)
{
    begin(buffer, "mcmd=", command);
}

void pmi2_mcmd_text(struct pmi2_buffer *buffer, const char *key, const char *value)
{
    item(buffer, "\n", key, pmi2_slice_of(value, strlen(value)));
}

void pmi2_mcmd_int(struct pmi2_buffer *buffer, const char *key, int64_t value)
{
    char digits[24];

    item(buffer, "\n", key, pmi2_format_int(value, digits));
}

bool pmi2_mcmd_end(struct pmi2_buffer *buffer)
{
    pmi2_buffer_text(buffer, "\nendcmd\n");
    return pmi2_buffer_close(buffer, PMI2_MCMD_MAX);
}

/* ---- decoding ---------------------------------------------------------------------------------*/

/*
 * Which key takes the rest of the line, so that its value may contain spaces. MPICH's server
 * appends text to the port of a name; `behind` is where that begins.
 */
static const struct last {
    const char *command, *key, *behind;
} lasts[] = {
    {"put", "value", NULL},         {"get_result", "value", NULL},
    {"publish_name", "port", NULL}, {"lookup_result", "port", " info="},
    {"abort", "message", NULL},
};

static const struct last *last_of(struct pmi2_slice command)
{
    size_t i;

    for (i = 0; i < sizeof(lasts) / sizeof(lasts[0]); i++)
        if (pmi2_slice_is(command, lasts[i].command))
            return &lasts[i];
    return NULL;
}

static bool is_last(const struct last *last, const char *at, size_t length)
{
    size_t key = last != NULL ? strlen(last->key) : 0;

    return last != NULL && length > key && memcmp(at, last->key, key) == 0 && at[key] == '=';
}

/* The end of the value that takes the rest: of the line, or what is known to be behind it. */
static char *last_end(const struct last *last, char *at, char *end)
{
    char *from = at, *found = end, *more;

    if (last->behind == NULL)
        return end;
    while ((more = memmem(from, (size_t)(end - from), last->behind, strlen(last->behind))) != NULL)
        found = from = more, from++;
    return found;
}

static enum pmi2_decoded malformed(struct pmi2_decoder *decoder)
{
    decoder->reason = "malformed command name";
    return PMI2_DECODED_BROKEN;
}

static char *item_end(char *at, char *end, char separator)
{
    char *found = at != end ? memchr(at, separator, (size_t)(end - at)) : NULL;

    return found != NULL ? found : end;
}

enum pmi2_decoded pmi2_decode_line(struct pmi2_decoder *decoder, char *line, size_t length,
                                   struct pmi2_message *message)
{
    char *at, *stop, *end = line + length;
    const struct last *last;

    memset(message, 0, sizeof(*message));
    message->format = PMI2_FORMAT_LINE;
    decoder->reason = NULL;
    if (length < 4 || memcmp(line, "cmd=", 4) != 0)
        return malformed(decoder);
    stop = item_end(line + 4, end, ' ');
    message->command = pmi2_slice_of(line + 4, (size_t)(stop - line - 4));
    if (!pmi2_command_valid(message->command))
        return malformed(decoder);
    last = last_of(message->command);
    while (stop != end) {
        at = stop + 1;
        if (is_last(last, at, (size_t)(end - at)))
            stop = last_end(last, at, end);
        else
            stop = item_end(at, end, ' ');
        if (stop != at &&
            !pmi2_decoder_item(decoder, message, pmi2_slice_of(at, (size_t)(stop - at))))
            return PMI2_DECODED_NO_MEMORY;
    }
    message->pairs = decoder->pairs;
    return PMI2_DECODED_MESSAGE;
}

enum pmi2_decoded pmi2_decode_mcmd(struct pmi2_decoder *decoder, char *block, size_t length,
                                   struct pmi2_message *message)
{
    static const char endcmd[] = "endcmd";
    char *at, *stop, *end = block + length;

    memset(message, 0, sizeof(*message));
    message->format = PMI2_FORMAT_MCMD;
    decoder->reason = NULL;
    if (length < 5 || memcmp(block, "mcmd=", 5) != 0)
        return malformed(decoder);
    stop = item_end(block + 5, end, '\n');
    message->command = pmi2_slice_of(block + 5, (size_t)(stop - block - 5));
    if (!pmi2_command_valid(message->command))
        return malformed(decoder);
    while (stop != end) {
        at = stop + 1;
        stop = item_end(at, end, '\n');
        if (stop == end && pmi2_slice_is(pmi2_slice_of(at, (size_t)(stop - at)), endcmd))
            break;
        if (stop != at &&
            !pmi2_decoder_item(decoder, message, pmi2_slice_of(at, (size_t)(stop - at))))
            return PMI2_DECODED_NO_MEMORY;
    }
    message->pairs = decoder->pairs;
    return PMI2_DECODED_MESSAGE;
}
