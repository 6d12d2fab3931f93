/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Bytes with a count of their users: what is broadcast is kept once, and may be the memory of the
 * committed pairs, too. With a writer and a reader of the little-endian fields of messages between
 * servers.
 */
#ifndef JACQUARD_PMI2_CHUNK_H
#define JACQUARD_PMI2_CHUNK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "pmi2/wire.h"

struct pmi2_chunk {
    size_t length, capacity;
    uint32_t users;
    char bytes[];
};

struct pmi2_chunk *pmi2_chunk_new(size_t capacity); /* one user; NULL: no memory */
struct pmi2_chunk *pmi2_chunk_use(struct pmi2_chunk *chunk);
void pmi2_chunk_drop(struct pmi2_chunk *chunk); /* NULL: nothing */
/* Room for more bytes; only with one user. It may move. False: no memory, unchanged. */
bool pmi2_chunk_grow(struct pmi2_chunk **chunk, size_t more);

/* A failure to allocate sticks, as in pmi2_buffer. */
struct pmi2_writer {
    struct pmi2_chunk *chunk;
    bool failed;
};
char *pmi2_write_room(struct pmi2_writer *writer, size_t length); /* NULL: failed */
void pmi2_write_bytes(struct pmi2_writer *writer, const void *bytes, size_t length);
void pmi2_write_u8(struct pmi2_writer *writer, uint8_t value);
void pmi2_write_u32(struct pmi2_writer *writer, uint32_t value);
void pmi2_write_u64(struct pmi2_writer *writer, uint64_t value);
void pmi2_write_slice(struct pmi2_writer *writer, struct pmi2_slice text); /* u32, bytes, NUL */
void pmi2_write_text(struct pmi2_writer *writer, const char *text); /* NULL: as empty */
void pmi2_writer_fini(struct pmi2_writer *writer);

/* Reading past the end sticks, and gives zeros and empty slices. */
struct pmi2_reader {
    const char *at, *end;
    bool failed;
};
const char *pmi2_read_bytes(struct pmi2_reader *reader, size_t length);
uint8_t pmi2_read_u8(struct pmi2_reader *reader);
uint32_t pmi2_read_u32(struct pmi2_reader *reader);
uint64_t pmi2_read_u64(struct pmi2_reader *reader);
/* Terminated where it lies; without a NUL inside. */
struct pmi2_slice pmi2_read_slice(struct pmi2_reader *reader);
static inline struct pmi2_reader pmi2_reader(struct pmi2_slice bytes)
{
    return (struct pmi2_reader){bytes.at, bytes.at + bytes.length, false};
}

uint32_t pmi2_load_u32(const void *at);
uint64_t pmi2_load_u64(const void *at);
void pmi2_store_u32(void *at, uint32_t value);
void pmi2_store_u64(void *at, uint64_t value);
uint64_t pmi2_digest(const void *bytes, size_t length);

#endif
