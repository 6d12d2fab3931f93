/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "chunk.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_BYTES 64 /* of what is written piece by piece: most is short */

struct pmi2_chunk *pmi2_chunk_new(size_t capacity)
{
    struct pmi2_chunk *chunk = malloc(sizeof(*chunk) + capacity);

    if (chunk == NULL)
        return NULL;
    chunk->users = 1;
    chunk->length = 0;
    chunk->capacity = capacity;
    return chunk;
}

struct pmi2_chunk *pmi2_chunk_use(struct pmi2_chunk *chunk)
{
    assert(chunk->users > 0 && chunk->users < UINT32_MAX && chunk->length <= chunk->capacity);
    chunk->users++;
    return chunk;
}

void pmi2_chunk_drop(struct pmi2_chunk *chunk)
{
    assert(chunk == NULL || chunk->users > 0);
    if (chunk != NULL && --chunk->users == 0)
        free(chunk);
}

bool pmi2_chunk_grow(struct pmi2_chunk **chunk, size_t more)
{
    size_t needed = (*chunk)->length + more, capacity = (*chunk)->capacity;
    struct pmi2_chunk *larger;

    assert((*chunk)->users == 1 && (*chunk)->length <= capacity && needed >= more);
    if (needed <= capacity)
        return true;
    capacity = capacity * 2 > needed ? capacity * 2 : needed;
    larger = realloc(*chunk, sizeof(*larger) + capacity);
    if (larger == NULL)
        return false;
    larger->capacity = capacity;
    *chunk = larger;
    return true;
}

char *pmi2_write_room(struct pmi2_writer *writer, size_t length)
{
    char *room;

    if (writer->failed)
        return NULL;
    if (writer->chunk == NULL) {
        writer->chunk = pmi2_chunk_new(length < FIRST_BYTES ? FIRST_BYTES : length);
        writer->failed = writer->chunk == NULL;
    } else {
        writer->failed = !pmi2_chunk_grow(&writer->chunk, length);
    }
    if (writer->failed)
        return NULL;
    room = writer->chunk->bytes + writer->chunk->length;
    writer->chunk->length += length;
    assert(writer->chunk->length <= writer->chunk->capacity);
    return room;
}

void pmi2_write_bytes(struct pmi2_writer *writer, const void *bytes, size_t length)
{
    char *room = pmi2_write_room(writer, length);

    if (room != NULL && length > 0)
        memcpy(room, bytes, length);
}

void pmi2_write_u8(struct pmi2_writer *writer, uint8_t value)
{
    pmi2_write_bytes(writer, &value, 1);
}

void pmi2_write_u32(struct pmi2_writer *writer, uint32_t value)
{
    char *room = pmi2_write_room(writer, sizeof(value));

    if (room != NULL)
        pmi2_store_u32(room, value);
}

void pmi2_write_u64(struct pmi2_writer *writer, uint64_t value)
{
    char *room = pmi2_write_room(writer, sizeof(value));

    if (room != NULL)
        pmi2_store_u64(room, value);
}

void pmi2_write_slice(struct pmi2_writer *writer, struct pmi2_slice text)
{
    pmi2_write_u32(writer, (uint32_t)text.length);
    pmi2_write_bytes(writer, text.at, text.length);
    pmi2_write_u8(writer, 0);
}

void pmi2_write_text(struct pmi2_writer *writer, const char *text)
{
    pmi2_write_slice(writer, (struct pmi2_slice){text, text == NULL ? 0 : strlen(text)});
}

void pmi2_writer_fini(struct pmi2_writer *writer)
{
    pmi2_chunk_drop(writer->chunk);
    *writer = (struct pmi2_writer){NULL, false};
}

const char *pmi2_read_bytes(struct pmi2_reader *reader, size_t length)
{
    const char *at = reader->at;

    if (reader->failed || (size_t)(reader->end - at) < length) {
        reader->failed = true;
        return NULL;
    }
    reader->at += length;
    return at;
}

uint8_t pmi2_read_u8(struct pmi2_reader *reader)
{
    const char *at = pmi2_read_bytes(reader, 1);

    return at == NULL ? 0 : (uint8_t)*at;
}

uint32_t pmi2_read_u32(struct pmi2_reader *reader)
{
    const char *at = pmi2_read_bytes(reader, 4);

    return at == NULL ? 0 : pmi2_load_u32(at);
}

uint64_t pmi2_read_u64(struct pmi2_reader *reader)
{
    const char *at = pmi2_read_bytes(reader, 8);

    return at == NULL ? 0 : pmi2_load_u64(at);
}

struct pmi2_slice pmi2_read_slice(struct pmi2_reader *reader)
{
    uint32_t length = pmi2_read_u32(reader);
    const char *at = pmi2_read_bytes(reader, (size_t)length + 1);

    if (at == NULL || at[length] != '\0' || memchr(at, '\0', length) != NULL) {
        reader->failed = true;
        return (struct pmi2_slice){"", 0};
    }
    return (struct pmi2_slice){at, length};
}

uint32_t pmi2_load_u32(const void *at)
{
    const uint8_t *byte = at;

    return byte[0] | (uint32_t)byte[1] << 8 | (uint32_t)byte[2] << 16 | (uint32_t)byte[3] << 24;
}

uint64_t pmi2_load_u64(const void *at)
{
    return pmi2_load_u32(at) | (uint64_t)pmi2_load_u32((const uint8_t *)at + 4) << 32;
}

void pmi2_store_u32(void *at, uint32_t value)
{
    uint8_t *byte = at;

    byte[0] = (uint8_t)value;
    byte[1] = (uint8_t)(value >> 8);
    byte[2] = (uint8_t)(value >> 16);
    byte[3] = (uint8_t)(value >> 24);
}

void pmi2_store_u64(void *at, uint64_t value)
{
    pmi2_store_u32(at, (uint32_t)value);
    pmi2_store_u32((uint8_t *)at + 4, (uint32_t)(value >> 32));
}

uint64_t pmi2_digest(const void *bytes, size_t length)
{
    const uint8_t *at = bytes;
    uint64_t digest = length * 0x9e3779b97f4a7c15ull;

    for (; length >= 8; at += 8, length -= 8) {
        digest = (digest ^ pmi2_load_u64(at)) * 0x9e3779b97f4a7c15ull;
        digest ^= digest >> 32;
    }
    for (; length > 0; at++, length--)
        digest = (digest ^ *at) * 0x100000001b3ull;
    return digest ^ digest >> 29;
}
