/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <stdlib.h>
#include <string.h>

#include "wire_internal.h"

#define COMMAND_MAX 64

bool pmi2_command_valid(struct pmi2_slice command)
{
    size_t i;

    if (command.length == 0 || command.length > COMMAND_MAX)
        return false;
    for (i = 0; i < command.length; i++) {
        char byte = command.at[i];

        if (!((byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
              (byte >= '0' && byte <= '9') || byte == '-' || byte == '_'))
            return false;
    }
    return true;
}

bool pmi2_decoder_pair(struct pmi2_decoder *decoder, struct pmi2_message *message,
                       struct pmi2_slice key, struct pmi2_slice value)
{
    struct pmi2_pair *more;
    uint32_t capacity;

    if (message->count == decoder->pairs_capacity) {
        capacity = decoder->pairs_capacity != 0 ? 2 * decoder->pairs_capacity : 8;
        more = realloc(decoder->pairs, capacity * sizeof(*more));
        if (more == NULL)
            return false;
        decoder->pairs = more;
        decoder->pairs_capacity = capacity;
    }
    decoder->pairs[message->count++] = (struct pmi2_pair){key, value};
    return true;
}

bool pmi2_decoder_item(struct pmi2_decoder *decoder, struct pmi2_message *message,
                       struct pmi2_slice item)
{
    const char *end = item.at + item.length;
    const char *equals = item.length != 0 ? memchr(item.at, '=', item.length) : NULL;

    if (equals == NULL)
        return pmi2_decoder_pair(decoder, message, item, pmi2_slice_of(end, 0));
    return pmi2_decoder_pair(decoder, message, pmi2_slice_of(item.at, (size_t)(equals - item.at)),
                             pmi2_slice_of(equals + 1, (size_t)(end - equals - 1)));
}

const struct pmi2_pair *pmi2_message_find(const struct pmi2_message *message, const char *key)
{
    size_t length = strlen(key);
    uint32_t i;

    for (i = 0; i < message->count; i++)
        if (message->pairs[i].key.length == length &&
            memcmp(message->pairs[i].key.at, key, length) == 0)
            return &message->pairs[i];
    return NULL;
}

struct pmi2_slice pmi2_message_value(const struct pmi2_message *message, const char *key)
{
    const struct pmi2_pair *pair = pmi2_message_find(message, key);

    return pair != NULL ? pair->value : pmi2_slice_of(NULL, 0);
}
