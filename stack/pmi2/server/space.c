/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Committed pairs. They lie in the messages of the epochs; a table finds them. Of equal keys the
 * newest is found first; the one it hides is kept for one epoch more: a server may be one epoch
 * behind another that shares the store, never two, since a fence takes all of them.
 */
#include "store.h"
#include <stdlib.h>
#include <string.h>

#define LEFT_OVER_BYTES 65536u /* hidden bytes that are not worth a compaction */

struct pmi2_store *pmi2_store_new(void)
{
    struct pmi2_store *store = calloc(1, sizeof(*store));

    if (store != NULL)
        pmi2_map_init(&store->spaces, 0);
    return store;
}

void pmi2_store_free(struct pmi2_store *store)
{
    if (store == NULL)
        return;
    pmi2_map_fini(&store->spaces);
    free(store);
}

static void record_at(const char *at, struct pmi2_record *record)
{
    const uint8_t *head = (const uint8_t *)at;

    record->at = at;
    record->rank = pmi2_load_u32(at);
    record->key = (struct pmi2_slice){at + RECORD_HEAD, head[4] | (size_t)head[5] << 8};
    record->value =
        (struct pmi2_slice){record->key.at + record->key.length, head[6] | (size_t)head[7] << 8};
    record->size = RECORD_HEAD + record->key.length + record->value.length;
}

bool pmi2_record_read(struct pmi2_reader *reader, struct pmi2_record *record)
{
    const char *head = pmi2_read_bytes(reader, RECORD_HEAD);

    if (head == NULL)
        return false;
    record_at(head, record);
    pmi2_read_bytes(reader, record->size - RECORD_HEAD);
    reader->failed |= record->key.length == 0;
    return !reader->failed;
}

bool pmi2_record_write(struct pmi2_writer *writer, uint32_t rank, struct pmi2_slice key,
                       struct pmi2_slice value)
{
    char *room = pmi2_write_room(writer, RECORD_HEAD + key.length + value.length);

    if (room == NULL)
        return false;
    pmi2_store_u32(room, rank);
    room[4] = (char)(uint8_t)key.length;
    room[5] = (char)(uint8_t)(key.length >> 8);
    room[6] = (char)(uint8_t)value.length;
    room[7] = (char)(uint8_t)(value.length >> 8);
    memcpy(room + RECORD_HEAD, key.at, key.length);
    if (value.length > 0)
        memcpy(room + RECORD_HEAD + key.length, value.at, value.length);
    return true;
}

struct pmi2_space *pmi2_space_find(struct pmi2_store *store, struct pmi2_slice id)
{
    struct pmi2_map_entry *entry = pmi2_map_find(&store->spaces, id);

    return entry == NULL ? NULL : port_list_of(entry, struct pmi2_space, entry);
}

struct pmi2_space *pmi2_space_use(struct pmi2_store *store, struct pmi2_slice id)
{
    struct pmi2_space *space = pmi2_space_find(store, id);

    if (space != NULL) {
        space->users++;
        return space;
    }
    space = calloc(1, sizeof(*space));
    if (space == NULL || !pmi2_map_reserve(&store->spaces, 1))
        goto failed;
    space->id = strndup(id.at, id.length);
    if (space->id == NULL)
        goto failed;
    space->store = store;
    space->users = 1;
    space->entry.key = space->id;
    space->entry.length = (uint32_t)id.length;
    pmi2_map_init(&space->pairs, store->seed);
    port_list_init(&space->segments);
    pmi2_map_insert(&store->spaces, &space->entry);
    return space;
failed:
    free(space);
    return NULL;
}

static void segment_free(struct pmi2_segment *segment)
{
    port_list_discard(&segment->list);
    pmi2_chunk_drop(segment->chunk);
    free(segment);
}

void pmi2_space_drop(struct pmi2_space *space)
{
    if (space == NULL || --space->users > 0)
        return;
    pmi2_map_remove(&space->store->spaces, &space->entry);
    while (!port_list_empty(&space->segments))
        segment_free(port_list_of(space->segments.next, struct pmi2_segment, list));
    pmi2_map_fini(&space->pairs);
    pmi2_facts_drop(space->facts);
    free(space->id);
    free(space);
}

static size_t pair_bytes(const struct pmi2_committed_pair *pair)
{
    return RECORD_HEAD + pair->entry.length + pair->value_length;
}

static struct pmi2_segment *segment_new(uint32_t count)
{
    struct pmi2_segment *segment = malloc(sizeof(*segment) + count * sizeof(segment->pairs[0]));

    if (segment != NULL)
        *segment = (struct pmi2_segment){.count = 0};
    return segment;
}

/* Inserts a pair unless this segment has one of that key already. */
static bool add(struct pmi2_space *space, struct pmi2_segment *segment,
                const struct pmi2_record *record)
{
    struct pmi2_map_entry *entry = pmi2_map_find(&space->pairs, record->key);
    struct pmi2_committed_pair *pair = &segment->pairs[segment->count];

    if (entry != NULL) {
        if (port_list_of(entry, struct pmi2_committed_pair, entry)->segment == segment) {
            space->duplicates++;
            return false;
        }
        segment->supersedes = true;
    }
    pair->entry.key = record->key.at;
    pair->entry.length = (uint32_t)record->key.length;
    pair->value_length = (uint32_t)record->value.length;
    pair->segment = segment;
    pmi2_map_insert(&space->pairs, &pair->entry);
    segment->count++;
    segment->live++;
    return true;
}

/* Drops pairs that the latest epoch has hidden; no server needs them any more. */
static void purge(struct pmi2_space *space)
{
    uint32_t i;

    if (space->latest == NULL || !space->latest->supersedes)
        return;
    for (i = 0; i < space->latest->count; i++) {
        struct pmi2_map_entry *older = pmi2_map_older(&space->latest->pairs[i].entry);
        struct pmi2_committed_pair *pair =
            older == NULL ? NULL : port_list_of(older, struct pmi2_committed_pair, entry);

        if (pair == NULL)
            continue;
        pmi2_map_remove(&space->pairs, older);
        space->live_bytes -= pair_bytes(pair);
        pair->entry.key = NULL;
        if (--pair->segment->live == 0) {
            space->all_bytes -= pair->segment->bytes;
            segment_free(pair->segment);
        }
    }
    space->latest->supersedes = false;
}

/* Copies the visible pairs of all segments into one when more than half of the bytes are hidden. */
static void compact(struct pmi2_space *space)
{
    struct port_link *node, *next;
    struct pmi2_segment *whole;
    struct pmi2_writer writer = {NULL, false};
    uint32_t live = 0;

    if (space->all_bytes <= 2 * space->live_bytes + LEFT_OVER_BYTES)
        return;
    for (node = space->segments.next; node != &space->segments; node = node->next)
        live += port_list_of(node, struct pmi2_segment, list)->live;
    whole = segment_new(live);
    writer.chunk = pmi2_chunk_new(space->live_bytes);
    if (whole == NULL || writer.chunk == NULL) { /* tries again later */
        free(whole);
        pmi2_writer_fini(&writer);
        return;
    }
    whole->chunk = writer.chunk;
    whole->epoch = space->epoch;
    for (node = space->segments.next; node != &space->segments; node = next) {
        struct pmi2_segment *segment = port_list_of(node, struct pmi2_segment, list);
        uint32_t i;

        next = node->next;
        for (i = 0; i < segment->count; i++) {
            struct pmi2_committed_pair *pair = &segment->pairs[i];
            const char *at = writer.chunk->bytes + writer.chunk->length + RECORD_HEAD;
            struct pmi2_record record = {{at, pair->entry.length},
                                         {at + pair->entry.length, pair->value_length}};

            if (pair->entry.key == NULL)
                continue;
            pmi2_record_write(
                &writer, 0, (struct pmi2_slice){pair->entry.key, pair->entry.length},
                (struct pmi2_slice){pair->entry.key + pair->entry.length, pair->value_length});
            pmi2_map_remove(&space->pairs, &pair->entry);
            add(space, whole, &record);
        }
        segment_free(segment);
    }
    whole->bytes = space->all_bytes = writer.chunk->length;
    port_list_append(&space->segments, &whole->list);
    space->latest = NULL;
}

/* Before an epoch is added: every server has seen the latest one. */
static void settle(struct pmi2_space *space)
{
    purge(space);
    compact(space);
}

static void added(struct pmi2_space *space, struct pmi2_segment *segment, struct pmi2_chunk *chunk,
                  size_t at, uint64_t digest)
{
    uint32_t i;

    segment->chunk = pmi2_chunk_use(chunk);
    segment->digest = digest;
    segment->epoch = ++space->epoch;
    segment->bytes = chunk->length - at;
    space->all_bytes += segment->bytes;
    for (i = 0; i < segment->count; i++)
        space->live_bytes += pair_bytes(&segment->pairs[i]);
    port_list_append(&space->segments, &segment->list);
    space->latest = segment;
}

static void take_back(struct pmi2_space *space, struct pmi2_segment *segment)
{
    uint32_t i;

    for (i = segment->count; i-- > 0;)
        pmi2_map_remove(&space->pairs, &segment->pairs[i].entry);
    free(segment);
}

enum pmi2_commit pmi2_space_commit(struct pmi2_space *space, struct pmi2_chunk *chunk, size_t at,
                                   uint32_t count, uint64_t digest)
{
    struct pmi2_reader reader = {chunk->bytes + at, chunk->bytes + chunk->length, false};
    struct pmi2_segment *segment;
    struct pmi2_record record;
    uint32_t i;

    if (count > (chunk->length - at) / RECORD_HEAD)
        return COMMIT_MALFORMED;
    settle(space);
    segment = segment_new(count);
    if (segment == NULL ||
        (count > 0 && !pmi2_map_reserve(&space->pairs, space->pairs.count + count))) {
        free(segment);
        return COMMIT_NO_MEMORY;
    }
    for (i = 0; i < count; i++) {
        if (!pmi2_record_read(&reader, &record)) {
            take_back(space, segment);
            return COMMIT_MALFORMED;
        }
        add(space, segment, &record);
    }
    added(space, segment, chunk, at, digest);
    return COMMIT_DONE;
}

/* The records of all sources, by rank; those of one rank in the order in which they came. NULL: no
 * memory, or *malformed. */
static const char **by_rank(const struct pmi2_piece_source *sources, uint32_t count, uint32_t size,
                            uint32_t records, bool *malformed)
{
    uint32_t *places = calloc((size_t)size + 1, sizeof(*places)), found = 0, i, rank;
    const char **order = malloc((records + (size_t)1) * sizeof(*order));
    struct pmi2_record record;
    int pass;

    *malformed = false;
    if (places == NULL || order == NULL)
        goto failed;
    for (pass = 0; pass < 2; pass++) {
        for (i = 0; i < count; i++) {
            struct pmi2_reader reader;

            if (sources[i].length == 0)
                continue;
            reader = (struct pmi2_reader){sources[i].at, sources[i].at + sources[i].length, false};
            while (reader.at < reader.end) {
                if (pass == 1) {
                    record_at(reader.at, &record);
                    reader.at += record.size;
                    order[places[record.rank]++] = record.at;
                } else if (pmi2_record_read(&reader, &record) && record.rank < size &&
                           found < records) {
                    places[record.rank + 1]++;
                    found++;
                } else {
                    *malformed = true;
                    goto failed;
                }
            }
        }
        for (rank = 0; pass == 0 && rank < size; rank++)
            places[rank + 1] += places[rank];
    }
    *malformed = found != records;
    if (*malformed)
        goto failed;
    free(places);
    return order;
failed:
    free(places);
    free(order);
    return NULL;
}

enum pmi2_commit pmi2_space_merge(struct pmi2_space *space, struct pmi2_writer *writer,
                                  const struct pmi2_piece_source *sources, uint32_t count,
                                  uint32_t size, uint32_t records)
{
    bool malformed;
    const char **order = by_rank(sources, count, size, records, &malformed);
    struct pmi2_segment *segment = NULL;
    size_t at = writer->chunk->length, bytes = 0;
    uint32_t i;

    if (order == NULL)
        return malformed ? COMMIT_MALFORMED : COMMIT_NO_MEMORY;
    for (i = 0; i < count; i++)
        bytes += sources[i].length;
    if (bytes > MESSAGE_MAX - at || !pmi2_chunk_grow(&writer->chunk, bytes))
        goto no_memory;
    settle(space);
    segment = segment_new(records);
    if (segment == NULL ||
        (records > 0 && !pmi2_map_reserve(&space->pairs, space->pairs.count + records)))
        goto no_memory;
    for (i = records; i-- > 0;) { /* the highest rank of a key counts, and then the last put */
        struct pmi2_record record;
        char *to = writer->chunk->bytes + writer->chunk->length;

        record_at(order[i], &record);
        memcpy(to, record.at, record.size);
        record.value.at = to + (record.value.at - record.at);
        record.key.at = to + (record.key.at - record.at);
        if (add(space, segment, &record))
            writer->chunk->length += record.size;
    }
    free(order);
    pmi2_store_u32(writer->chunk->bytes + 12, segment->count);
    pmi2_head_close(writer, writer->chunk->length);
    added(space, segment, writer->chunk, at, pmi2_load_u64(writer->chunk->bytes + 16));
    return COMMIT_DONE;
no_memory:
    free(order);
    free(segment);
    return COMMIT_NO_MEMORY;
}

bool pmi2_space_get(const struct pmi2_space *space, uint32_t view, struct pmi2_slice key,
                    struct pmi2_slice *value)
{
    struct pmi2_map_entry *entry;
    const struct pmi2_committed_pair *pair;

    for (entry = pmi2_map_find(&space->pairs, key); entry != NULL; entry = pmi2_map_older(entry)) {
        pair = port_list_of(entry, struct pmi2_committed_pair, entry);
        if (pair->segment->epoch <= view) {
            *value = (struct pmi2_slice){entry->key + entry->length, pair->value_length};
            return true;
        }
    }
    return false;
}

uint32_t pmi2_space_each(const struct pmi2_space *space, uint32_t view,
                         void (*each)(void *context, struct pmi2_slice key,
                                      struct pmi2_slice value),
                         void *context)
{
    uint32_t found = 0, i;
    struct port_link *node;

    for (node = space->segments.next; node != &space->segments; node = node->next) {
        const struct pmi2_segment *segment = port_list_of(node, struct pmi2_segment, list);

        for (i = 0; i < segment->count && segment->epoch <= view; i++) {
            const struct pmi2_committed_pair *pair = &segment->pairs[i];
            struct pmi2_slice key = {pair->entry.key, pair->entry.length}, value;

            if (key.at == NULL || !pmi2_space_get(space, view, key, &value) ||
                value.at != key.at + key.length) /* hidden by a newer one */
                continue;
            found++;
            if (each != NULL)
                each(context, key, value);
        }
    }
    return found;
}
