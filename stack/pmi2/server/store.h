/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What all servers know alike of a job: its description, and the pairs that its fences committed.
 * Servers in one address space may share both. Memory of descriptions and pairs are the very
 * messages that brought them, so forwarding and keeping cost one copy together.
 */
#ifndef JACQUARD_PMI2_STORE_H
#define JACQUARD_PMI2_STORE_H

#include <assert.h>

#include "chunk.h"
#include "port/list.h"
#include "map.h"
#include "pmi2/server.h"

/* One message between servers: u32 length of the rest, u8 kind, u8 status, u16 length of the job's
 * id, u32 epoch, u32 count, u64 digest of the body, id and NUL, body. */
#define MESSAGE_HEAD 24u
#define MESSAGE_HEAD_MAX (MESSAGE_HEAD + PMI2_JOBID_MAX + 1)
#define MESSAGE_MAX (1u << 30)
static_assert(MESSAGE_HEAD ==
                  3 * sizeof(uint32_t) + 2 * sizeof(uint8_t) + sizeof(uint16_t) + sizeof(uint64_t),
              "the head's fields, without padding");
struct pmi2_message_head {
    size_t total, head; /* bytes of all; of it before the body */
    uint8_t kind, status;
    uint32_t epoch, count;
    uint64_t digest;
    struct pmi2_slice id;
};
/* False: more bytes are needed (total, if known, is set). */
bool pmi2_head_read(const char *bytes, size_t length, struct pmi2_message_head *head);
void pmi2_head_write(struct pmi2_writer *writer, uint8_t kind, uint8_t status, struct pmi2_slice id,
                     uint32_t epoch, uint32_t count);
/* The message has so many bytes in all, of which the writer has the first; sets the digest of what
 * it has behind the head. */
void pmi2_head_close(struct pmi2_writer *writer, size_t total);

/* A pair within a message: u32 rank, u16 length of key, u16 of value, key, value. */
#define RECORD_HEAD 8u
static_assert(RECORD_HEAD == sizeof(uint32_t) + 2 * sizeof(uint16_t), "the record's fields");
static_assert(PMI2_KEY_MAX <= UINT16_MAX && PMI2_VALUE_MAX <= UINT16_MAX, "lengths have 16 bits");
struct pmi2_record {
    struct pmi2_slice key, value;
    uint32_t rank;
    const char *at;
    size_t size;
};
bool pmi2_record_read(struct pmi2_reader *reader, struct pmi2_record *record);
bool pmi2_record_write(struct pmi2_writer *writer, uint32_t rank, struct pmi2_slice key,
                       struct pmi2_slice value);

/* The description of a job; never changes. */
struct pmi2_facts {
    uint32_t users;
    struct pmi2_chunk *message; /* that brought it */
    uint64_t digest;
    const char *id;
    struct pmi2_job_info info; /* points into message and the arrays below */
    uint32_t *node_of; /* of each rank */
    uint32_t *app_size;
    uint32_t *nodes, *first; /* nodes of it, ascending; their first in `ranks`; one entry more */
    uint32_t node_count;
    uint32_t *ranks; /* by node, ascending on each */
    struct pmi2_text_pair *texts;
    char *mapping; /* PMI_process_mapping; empty: too long */
    struct pmi2_slice preput; /* records */
};
/* Writes the message; NULL: no memory. The information was checked. */
struct pmi2_chunk *pmi2_facts_message(const struct pmi2_job_info *info, const char *id);
struct pmi2_facts *pmi2_facts_new(struct pmi2_chunk *message); /* NULL: malformed, or no memory */
void pmi2_facts_drop(struct pmi2_facts *facts);
/* How many ranks are on nodes [first, last); where they begin in facts->ranks. */
uint32_t pmi2_facts_within(const struct pmi2_facts *facts, uint32_t first, uint32_t last,
                           uint32_t *begin);

struct pmi2_segment;
struct pmi2_committed_pair { /* committed */
    struct pmi2_map_entry entry;
    uint32_t value_length; /* the value lies behind the key */
    struct pmi2_segment *segment;
};
struct pmi2_segment { /* one epoch, or what is left of old ones */
    struct port_link list;
    struct pmi2_chunk *chunk;
    uint64_t digest;
    size_t bytes;
    uint32_t epoch, count, live;
    bool supersedes; /* some pairs hide older ones, which servers that lag behind still see */
    struct pmi2_committed_pair pairs[];
};
struct pmi2_space { /* of a job */
    struct pmi2_map_entry entry; /* in the store */
    struct pmi2_store *store;
    char *id;
    uint32_t users;
    struct pmi2_facts *facts; /* NULL: the job is of another launcher */
    struct pmi2_map pairs;
    struct port_link segments;
    struct pmi2_segment *latest;
    uint32_t epoch;
    uint64_t live_bytes, all_bytes;
    uint64_t duplicates;
};

struct pmi2_store {
    struct pmi2_map spaces;
    uint64_t seed;
};

struct pmi2_space *pmi2_space_find(struct pmi2_store *store, struct pmi2_slice id);
/* One user more, made when it is new; NULL: no memory. */
struct pmi2_space *pmi2_space_use(struct pmi2_store *store, struct pmi2_slice id);
void pmi2_space_drop(struct pmi2_space *space);
/* Commits the next epoch: its records lie in chunk from `at`, the first of a key counts. */
enum pmi2_commit { COMMIT_DONE, COMMIT_MALFORMED, COMMIT_NO_MEMORY };
enum pmi2_commit pmi2_space_commit(struct pmi2_space *space, struct pmi2_chunk *chunk, size_t at,
                                   uint32_t count, uint64_t digest);
/* The same where the message is only now written: writer has its head; sources are records of
 * ranks below `size`, in any order. */
struct pmi2_piece_source {
    const char *at;
    size_t length;
};
enum pmi2_commit pmi2_space_merge(struct pmi2_space *space, struct pmi2_writer *writer,
                                  const struct pmi2_piece_source *sources, uint32_t count,
                                  uint32_t size, uint32_t records);
/* As it was after epoch `view`. */
bool pmi2_space_get(const struct pmi2_space *space, uint32_t view, struct pmi2_slice key,
                    struct pmi2_slice *value);
/* Calls `each` for every pair of that view, in an order that depends on the job alone. */
uint32_t pmi2_space_each(const struct pmi2_space *space, uint32_t view,
                         void (*each)(void *context, struct pmi2_slice key,
                                      struct pmi2_slice value),
                         void *context);

#endif
