/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The description of a job: the message that carries it, and what is derived from it. */
#include "store.h"
#include <stdlib.h>
#include <string.h>
#include "pmi2/mapping.h"
#include "messages.h"

#define RANKS_MAX (1u << 26)
#define TEXTS_MAX 65536u

bool pmi2_head_read(const char *bytes, size_t length, struct pmi2_message_head *head)
{
    size_t id;

    head->total = 0;
    if (length < 4)
        return false;
    head->total = (size_t)pmi2_load_u32(bytes) + 4;
    if (length < MESSAGE_HEAD)
        return false;
    head->kind = (uint8_t)bytes[4];
    head->status = (uint8_t)bytes[5];
    id = (uint8_t)bytes[6] | (size_t)(uint8_t)bytes[7] << 8;
    head->epoch = pmi2_load_u32(bytes + 8);
    head->count = pmi2_load_u32(bytes + 12);
    head->digest = pmi2_load_u64(bytes + 16);
    head->head = MESSAGE_HEAD + id + 1;
    head->id = (struct pmi2_slice){bytes + MESSAGE_HEAD, id};
    return length >= head->head;
}

void pmi2_head_write(struct pmi2_writer *writer, uint8_t kind, uint8_t status, struct pmi2_slice id,
                     uint32_t epoch, uint32_t count)
{
    pmi2_write_u32(writer, 0);
    pmi2_write_u8(writer, kind);
    pmi2_write_u8(writer, status);
    pmi2_write_u8(writer, (uint8_t)id.length);
    pmi2_write_u8(writer, (uint8_t)(id.length >> 8));
    pmi2_write_u32(writer, epoch);
    pmi2_write_u32(writer, count);
    pmi2_write_u64(writer, 0);
    pmi2_write_bytes(writer, id.at, id.length);
    pmi2_write_u8(writer, 0);
}

void pmi2_head_close(struct pmi2_writer *writer, size_t total)
{
    struct pmi2_message_head head;

    if (writer->failed || !pmi2_head_read(writer->chunk->bytes, writer->chunk->length, &head))
        return;
    pmi2_store_u32(writer->chunk->bytes, (uint32_t)(total - 4));
    pmi2_store_u64(writer->chunk->bytes + 16, pmi2_digest(writer->chunk->bytes + head.head,
                                                          writer->chunk->length - head.head));
}

static void write_texts(struct pmi2_writer *writer, const struct pmi2_text_pair *texts,
                        uint32_t count)
{
    uint32_t i;

    for (i = 0; i < count; i++) {
        pmi2_write_text(writer, texts[i].key);
        pmi2_write_text(writer, texts[i].value);
    }
}

struct pmi2_chunk *pmi2_facts_message(const struct pmi2_job_info *info, const char *id)
{
    struct pmi2_writer writer = {NULL, false};
    uint32_t runs = 0, rank, run, i;
    size_t preput = 0;

    pmi2_head_write(&writer, MESSAGE_JOB, 0, (struct pmi2_slice){id, strlen(id)}, 0, 0);
    pmi2_write_u32(&writer, info->size);
    pmi2_write_u32(&writer, info->apps);
    pmi2_write_u32(&writer, info->attribute_count);
    pmi2_write_u32(&writer, info->preput_count);
    pmi2_write_u64(&writer, (uint64_t)info->universe);
    pmi2_write_u8(&writer, info->spawner != NULL);
    pmi2_write_text(&writer, info->spawner);
    for (rank = 0; rank < info->size; rank++)
        runs += rank == 0 || info->node_of[rank] != info->node_of[rank - 1];
    pmi2_write_u32(&writer, runs);
    for (rank = 0; rank < info->size; rank += run) {
        for (run = 1; rank + run < info->size && info->node_of[rank + run] == info->node_of[rank];
             run++)
            ;
        pmi2_write_u32(&writer, info->node_of[rank]);
        pmi2_write_u32(&writer, run);
    }
    for (i = 0; i < info->apps; i++)
        pmi2_write_u32(&writer, info->app_size[i]);
    write_texts(&writer, info->attributes, info->attribute_count);
    for (i = 0; i < info->preput_count; i++)
        preput += RECORD_HEAD + strlen(info->preput[i].key) + strlen(info->preput[i].value);
    pmi2_write_u32(&writer, (uint32_t)preput);
    for (i = 0; i < info->preput_count; i++)
        pmi2_record_write(
            &writer, 0, (struct pmi2_slice){info->preput[i].key, strlen(info->preput[i].key)},
            (struct pmi2_slice){info->preput[i].value, strlen(info->preput[i].value)});
    pmi2_write_u32(&writer, (uint32_t)info->launch_bytes);
    pmi2_write_bytes(&writer, info->launch, info->launch_bytes);
    if (!writer.failed && writer.chunk->length > MESSAGE_MAX)
        writer.failed = true;
    if (writer.failed) {
        pmi2_writer_fini(&writer);
        return NULL;
    }
    pmi2_head_close(&writer, writer.chunk->length);
    return writer.chunk;
}

static bool read_placement(struct pmi2_facts *facts, struct pmi2_reader *reader)
{
    uint32_t runs = pmi2_read_u32(reader), rank = 0, i, node, run, total = 0;

    facts->node_of = malloc(facts->info.size * sizeof(*facts->node_of));
    facts->app_size = malloc(facts->info.apps * sizeof(*facts->app_size));
    if (facts->node_of == NULL || facts->app_size == NULL)
        return false;
    for (i = 0; i < runs && !reader->failed; i++) {
        node = pmi2_read_u32(reader);
        run = pmi2_read_u32(reader);
        if (run > facts->info.size - rank || node == PMI2_NO_NODE)
            return false;
        while (run-- > 0)
            facts->node_of[rank++] = node;
    }
    for (i = 0; i < facts->info.apps && !reader->failed; i++) {
        facts->app_size[i] = pmi2_read_u32(reader);
        if (facts->app_size[i] > facts->info.size - total)
            return false;
        total += facts->app_size[i];
    }
    facts->info.node_of = facts->node_of;
    facts->info.app_size = facts->app_size;
    return !reader->failed && rank == facts->info.size && total == facts->info.size;
}

static bool read_texts(struct pmi2_facts *facts, struct pmi2_reader *reader)
{
    uint32_t count = facts->info.attribute_count, i;

    facts->texts = calloc(count + (size_t)1, sizeof(*facts->texts));
    if (facts->texts == NULL)
        return false;
    for (i = 0; i < count && !reader->failed; i++) {
        facts->texts[i].key = pmi2_read_slice(reader).at;
        facts->texts[i].value = pmi2_read_slice(reader).at;
    }
    facts->info.attributes = facts->texts;
    return !reader->failed;
}

static int compare_placed(const void *one, const void *other)
{
    uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;

    return (a > b) - (a < b);
}

/* Ranks by node: sorted by (node, rank), which most placements are already. */
static bool sort_by_node(struct pmi2_facts *facts)
{
    uint32_t size = facts->info.size, rank, nodes = 0;
    uint64_t *placed = malloc(size * sizeof(*placed));
    bool sorted = true;

    facts->ranks = malloc(size * sizeof(*facts->ranks));
    if (placed == NULL || facts->ranks == NULL)
        goto failed;
    for (rank = 0; rank < size; rank++) {
        placed[rank] = (uint64_t)facts->node_of[rank] << 32 | rank;
        sorted &= rank == 0 || placed[rank - 1] < placed[rank];
    }
    if (!sorted)
        qsort(placed, size, sizeof(*placed), compare_placed);
    for (rank = 0; rank < size; rank++)
        nodes += rank == 0 || placed[rank] >> 32 != placed[rank - 1] >> 32;
    facts->nodes = malloc(nodes * sizeof(*facts->nodes));
    facts->first = malloc((nodes + (size_t)1) * sizeof(*facts->first));
    if (facts->nodes == NULL || facts->first == NULL)
        goto failed;
    for (rank = 0; rank < size; rank++) {
        facts->ranks[rank] = (uint32_t)placed[rank];
        if (rank == 0 || placed[rank] >> 32 != placed[rank - 1] >> 32) {
            facts->nodes[facts->node_count] = (uint32_t)(placed[rank] >> 32);
            facts->first[facts->node_count++] = rank;
        }
    }
    facts->first[facts->node_count] = size;
    free(placed);
    return true;
failed:
    free(placed);
    return false;
}

static bool find_mapping(struct pmi2_facts *facts)
{
    char text[PMI2_VALUE_MAX + 1] = "";

    pmi2_mapping_write(facts->node_of, facts->info.size, text, sizeof(text));
    facts->mapping = strdup(text);
    return facts->mapping != NULL;
}

struct pmi2_facts *pmi2_facts_new(struct pmi2_chunk *message)
{
    struct pmi2_facts *facts = calloc(1, sizeof(*facts));
    struct pmi2_message_head head;
    struct pmi2_reader reader;
    bool spawned;

    if (facts == NULL)
        return NULL;
    facts->users = 1;
    facts->message = pmi2_chunk_use(message);
    if (!pmi2_head_read(message->bytes, message->length, &head))
        goto failed;
    facts->digest = head.digest;
    facts->id = facts->info.id = head.id.at;
    reader =
        (struct pmi2_reader){message->bytes + head.head, message->bytes + message->length, false};
    facts->info.size = pmi2_read_u32(&reader);
    facts->info.apps = pmi2_read_u32(&reader);
    facts->info.attribute_count = pmi2_read_u32(&reader);
    facts->info.preput_count = pmi2_read_u32(&reader);
    facts->info.universe = (int64_t)pmi2_read_u64(&reader);
    spawned = pmi2_read_u8(&reader) != 0;
    facts->info.spawner = pmi2_read_slice(&reader).at;
    if (!spawned)
        facts->info.spawner = NULL;
    if (reader.failed || facts->info.size == 0 || facts->info.size > RANKS_MAX ||
        facts->info.apps == 0 || facts->info.apps > facts->info.size ||
        facts->info.attribute_count > TEXTS_MAX ||
        pmi2_digest(reader.end - (message->length - head.head), message->length - head.head) !=
            head.digest)
        goto failed;
    if (!read_placement(facts, &reader) || !read_texts(facts, &reader))
        goto failed;
    facts->preput.length = pmi2_read_u32(&reader);
    facts->preput.at = pmi2_read_bytes(&reader, facts->preput.length);
    facts->info.launch_bytes = pmi2_read_u32(&reader);
    facts->info.launch = pmi2_read_bytes(&reader, facts->info.launch_bytes);
    if (reader.failed || reader.at != reader.end || !sort_by_node(facts) || !find_mapping(facts))
        goto failed;
    return facts;
failed:
    pmi2_facts_drop(facts);
    return NULL;
}

void pmi2_facts_drop(struct pmi2_facts *facts)
{
    if (facts == NULL || --facts->users > 0)
        return;
    pmi2_chunk_drop(facts->message);
    free(facts->node_of);
    free(facts->app_size);
    free(facts->nodes);
    free(facts->first);
    free(facts->ranks);
    free(facts->texts);
    free(facts->mapping);
    free(facts);
}

/* The first of the job's nodes that is not below `node`. */
static uint32_t node_index(const struct pmi2_facts *facts, uint32_t node)
{
    uint32_t low = 0, high = facts->node_count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (facts->nodes[middle] < node)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

uint32_t pmi2_facts_within(const struct pmi2_facts *facts, uint32_t first, uint32_t last,
                           uint32_t *begin)
{
    *begin = facts->first[node_index(facts, first)];
    return facts->first[node_index(facts, last)] - *begin;
}
