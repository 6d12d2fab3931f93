/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * libFuzzer target: the wire decoder accepts any bytes and gives the same messages however the
 * bytes are cut. A frame that was decoded and is encoded again is the same frame. The reader of
 * mappings ends for any text.
 */
#include <stdlib.h>
#include <string.h>

#include "pmi2/mapping.h"
#include "pmi2/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static void check(bool good)
{
    if (!good)
        abort();
}

static uint64_t mix(uint64_t hash, const void *bytes, size_t length)
{
    const uint8_t *at = bytes;
    size_t i;

    for (i = 0; i < length; i++)
        hash = (hash ^ at[i]) * 0x100000001b3ull;
    return hash ^ length;
}

static void write_again(const struct pmi2_message *message)
{
    char command[65] = {0}, key[PMI2_KEY_MAX + 1];
    struct pmi2_buffer buffer = {0};
    struct pmi2_decoder decoder;
    struct pmi2_message again;
    uint32_t i;

    pmi2_decoder_init(&decoder);
    memcpy(command, message->command.at, message->command.length);
    pmi2_frame_begin(&buffer, command);
    for (i = 0; i < message->count; i++) {
        if (pmi2_key_check(message->pairs[i].key) != 0)
            break;
        memset(key, 0, sizeof(key));
        memcpy(key, message->pairs[i].key.at, message->pairs[i].key.length);
        pmi2_frame_slice(&buffer, key, message->pairs[i].value);
    }
    if (i == message->count && pmi2_frame_end(&buffer)) {
        check(pmi2_decoder_feed(&decoder, buffer.bytes, buffer.length));
        check(pmi2_decoder_next(&decoder, &again) == PMI2_DECODED_MESSAGE);
        check(again.count == message->count && !again.unterminated);
        for (i = 0; i < again.count; i++)
            check(again.pairs[i].value.length == message->pairs[i].value.length &&
                  memcmp(again.pairs[i].value.at, message->pairs[i].value.at,
                         again.pairs[i].value.length) == 0);
    }
    pmi2_decoder_fini(&decoder);
    pmi2_buffer_fini(&buffer);
}

/* A digest of all messages that the decoder finds when it gets the bytes in pieces of `step`. */
static uint64_t decode(const uint8_t *bytes, size_t length, size_t piece)
{
    uint64_t hash = 0xcbf29ce484222325ull;
    struct pmi2_decoder decoder;
    struct pmi2_message message;
    enum pmi2_decoded decoded = PMI2_DECODED_NONE;
    size_t at, size;
    uint32_t i;

    pmi2_decoder_init(&decoder);
    for (at = 0; at < length && decoded != PMI2_DECODED_BROKEN; at += size) {
        size = length - at < piece ? length - at : piece;
        check(pmi2_decoder_feed(&decoder, bytes + at, size));
        while ((decoded = pmi2_decoder_next(&decoder, &message)) != PMI2_DECODED_NONE) {
            hash = mix(hash, &decoded, sizeof(decoded));
            if (decoded == PMI2_DECODED_BROKEN)
                break;
            hash = mix(hash, message.command.at, message.command.length);
            hash = mix(hash, &message.wire_bytes, sizeof(message.wire_bytes));
            for (i = 0; i < message.count; i++) {
                hash = mix(hash, message.pairs[i].key.at, message.pairs[i].key.length);
                hash = mix(hash, message.pairs[i].value.at, message.pairs[i].value.length);
            }
            if (decoded == PMI2_DECODED_MESSAGE && message.format == PMI2_FORMAT_FRAME)
                write_again(&message);
        }
        check(pmi2_decoder_pending(&decoder) <= PMI2_MCMD_MAX);
    }
    pmi2_decoder_fini(&decoder);
    return hash;
}

static void map(const uint8_t *bytes, size_t length)
{
    uint32_t nodes[50], again[50];
    char text[2048], written[2048];

    if (length >= sizeof(text))
        return;
    memcpy(text, bytes, length);
    text[length] = '\0';
    if (pmi2_mapping_read(text, 50, nodes) &&
        pmi2_mapping_write(nodes, 50, written, sizeof(written)) != 0) {
        check(pmi2_mapping_read(written, 50, again));
        check(memcmp(nodes, again, sizeof(nodes)) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    uint64_t whole = decode(bytes, length, length + 1);

    check(decode(bytes, length, 1) == whole);
    check(decode(bytes, length, 7) == whole);
    map(bytes, length);
    return 0;
}
