/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Attributes of a job, which all its servers know, and of this node for one job. */
#include "internal.h"

#include "pmi2/mapping.h"

#define PIECE_BYTES 30000u /* half of a frame: each byte may be a `;`, which is doubled */

struct attribute { /* of the node */
    struct pmi2_map_entry entry;
    struct port_link waiting; /* requests, until there is a value */
    struct pmi2_chunk *value;
    char key[];
};

static bool is(struct pmi2_slice key, const char *name)
{
    return pmi2_slice_is(key, name);
}

static bool text_value(const char *text, struct pmi2_slice *value)
{
    *value = (struct pmi2_slice){text, strlen(text)};
    return true;
}

static bool written_value(const struct pmi2_writer *text, struct pmi2_slice *value)
{
    if (text->failed)
        return false;
    *value = text->chunk == NULL ? NO_SLICE
                                 : (struct pmi2_slice){text->chunk->bytes, text->chunk->length};
    return true;
}

bool pmi2_attribute_job(struct pmi2_job *job, struct pmi2_slice key, struct pmi2_writer *text,
                        struct pmi2_slice *value)
{
    const struct pmi2_job_info *info = &job->facts->info;
    char number[24];
    uint32_t i;

    if (is(key, "PMI_process_mapping"))
        return text_value(job->facts->mapping, value) && value->length > 0;
    if (is(key, "PMI_dead_processes"))
        return written_value(&job->dead, value);
    if (is(key, "universeSize")) {
        if (info->universe < 0)
            return false;
        snprintf(number, sizeof(number), "%lld", (long long)info->universe);
        pmi2_write_bytes(text, number, strlen(number));
        return written_value(text, value);
    }
    if (is(key, "hasNameServ"))
        return text_value("true", value);
    if (is(key, "phyTopologyLevels")) /* a misprint of the draft that programs have copied */
        key = (struct pmi2_slice){"physTopologyLevels", 18};
    for (i = 0; i < info->attribute_count; i++)
        if (is(key, info->attributes[i].key))
            return text_value(info->attributes[i].value, value);
    if (is(key, "isHeterogeneous"))
        return text_value("false", value);
    if (is(key, "physTopology"))
        return text_value("hierarchical", value);
    if (!is(key, "physTopologyLevels"))
        return false;
    /* The default levels, unless the launcher has set a topology that is no hierarchy. */
    for (i = 0; i < info->attribute_count; i++)
        if (strcmp(info->attributes[i].key, "physTopology") == 0 &&
            strcmp(info->attributes[i].value, "hierarchical") != 0)
            return false;
    return text_value("complete,complete", value);
}

/* ---- node attributes --------------------------------------------------------------------------
 */

static struct attribute *find(const struct pmi2_job *job, struct pmi2_slice key)
{
    struct pmi2_map_entry *entry = pmi2_map_find(&job->attributes, key);

    return entry == NULL ? NULL : port_list_of(entry, struct attribute, entry);
}

static struct attribute *find_or_add(struct pmi2_job *job, struct pmi2_slice key)
{
    struct attribute *attribute = find(job, key);

    if (attribute != NULL)
        return attribute;
    if (job->attribute_count >= job->server->limits.node_attributes ||
        !pmi2_map_reserve(&job->attributes, 1))
        return NULL;
    attribute = calloc(1, sizeof(*attribute) + key.length + 1);
    if (attribute == NULL)
        return NULL;
    memcpy(attribute->key, key.at, key.length);
    attribute->entry.key = attribute->key;
    attribute->entry.length = (uint32_t)key.length;
    port_list_init(&attribute->waiting);
    pmi2_map_insert(&job->attributes, &attribute->entry);
    job->attribute_count++;
    return attribute;
}

static void drop_unused(struct pmi2_job *job, struct attribute *attribute)
{
    if (attribute->value != NULL || !port_list_empty(&attribute->waiting))
        return;
    pmi2_map_remove(&job->attributes, &attribute->entry);
    job->attribute_count--;
    free(attribute);
}

void pmi2_attribute_answer(struct pmi2_server_call *call, const char *name, bool found,
                           struct pmi2_slice value)
{
    pmi2_reply(call, name);
    pmi2_reply_text(call, "found", found ? "TRUE" : "FALSE");
    if (found)
        pmi2_reply_slice(call, "value", value);
    pmi2_reply_int(call, "rc", 0);
    pmi2_reply_end(call);
}

bool pmi2_attribute_mapping(const struct pmi2_job *job, struct pmi2_writer *text,
                            struct pmi2_slice *value)
{
    const struct pmi2_job_info *info = &job->facts->info;
    size_t size = 4096, length = 0, most = 64 + (size_t)info->size * 36; /* a block for each rank */
    char *bytes = NULL;

    while (length == 0 && size < 2 * most) {
        free(bytes);
        bytes = malloc(size);
        if (bytes == NULL)
            return false;
        length = pmi2_mapping_write(job->facts->node_of, info->size, bytes, size);
        size *= 2;
    }
    pmi2_write_bytes(text, bytes, length);
    free(bytes);
    return written_value(text, value) && value->length > 0;
}

void pmi2_attribute_piece(struct pmi2_server_call *call, const char *name, struct pmi2_slice value,
                          size_t offset)
{
    size_t length = value.length;

    if (offset > length)
        offset = length;
    value.at += offset;
    value.length = length - offset < PIECE_BYTES ? length - offset : PIECE_BYTES;
    pmi2_reply(call, name);
    pmi2_reply_text(call, "found", "TRUE");
    pmi2_reply_slice(call, "value", value);
    pmi2_reply_int(call, "length", (int64_t)length);
    pmi2_reply_int(call, "rc", 0);
    pmi2_reply_end(call);
}

static void answer(struct pmi2_server_call *call, bool found, struct pmi2_slice value)
{
    pmi2_attribute_answer(call, "info-getnodeattr-response", found, value);
}

static bool predefined(const struct pmi2_rank *rank, struct pmi2_slice key,
                       struct pmi2_writer *text, struct pmi2_slice *value)
{
    const struct pmi2_job *job = rank->job;
    char number[16];
    uint32_t i;
    int length;

    if (is(key, "localRanksCount")) {
        length = snprintf(number, sizeof(number), "%u", job->rank_count);
        pmi2_write_bytes(text, number, (size_t)length);
        return written_value(text, value);
    }
    if (!is(key, "localRanks"))
        return false;
    for (i = 0; i < job->rank_count; i++) {
        length = snprintf(number, sizeof(number), i == 0 ? "%u" : ",%u", job->ranks[i].rank);
        pmi2_write_bytes(text, number, (size_t)length);
    }
    return written_value(text, value);
}

static struct attribute *of_rank(const struct pmi2_rank *rank, struct pmi2_slice key)
{
    char own[PMI2_KEY_MAX + 16];
    int length;

    if (key.length > PMI2_KEY_MAX)
        return NULL;
    length = snprintf(own, sizeof(own), "%u %.*s", rank->rank, (int)key.length, key.at);
    return find(rank->job, (struct pmi2_slice){own, (size_t)length});
}

void pmi2_attribute_get(struct pmi2_server_call *call, struct pmi2_slice key, bool wait,
                        size_t offset)
{
    struct pmi2_rank *rank = call->client->rank;
    struct pmi2_writer text = {NULL, false};
    struct attribute *attribute;
    struct pmi2_request *request;
    struct pmi2_slice value;

    if (predefined(rank, key, &text, &value)) {
        if (offset != NO_OFFSET)
            pmi2_attribute_piece(call, "info-getnodeattr-response", value, offset);
        else
            answer(call, true, value);
        pmi2_writer_fini(&text);
        return;
    }
    pmi2_writer_fini(&text);
    attribute = of_rank(rank, key);
    if (attribute == NULL)
        attribute = find(rank->job, key);
    if (attribute != NULL && attribute->value != NULL) {
        answer(call, true, (struct pmi2_slice){attribute->value->bytes, attribute->value->length});
        return;
    }
    if (!wait || pmi2_key_check(key) != 0) {
        answer(call, false, NO_SLICE);
        return;
    }
    if (rank->job->server->orphaned) {
        pmi2_reply_code(call, "info-getnodeattr-response", WIRE_COMMFAILED, "manager_lost");
        return;
    }
    attribute = find_or_add(rank->job, key);
    if (attribute == NULL) {
        pmi2_reply_code(call, "info-getnodeattr-response", WIRE_NO_MEMORY, "too_many_attributes");
        return;
    }
    request = pmi2_call_wait(call, WAIT_ATTRIBUTE, "info-getnodeattr-response");
    if (request == NULL) {
        drop_unused(rank->job, attribute);
        return;
    }
    request->attribute = attribute;
    port_list_append(&attribute->waiting, &request->wait);
}

int pmi2_attribute_put(struct pmi2_job *job, struct pmi2_slice key, struct pmi2_slice value,
                       const char **reason)
{
    struct attribute *attribute = find_or_add(job, key);
    struct pmi2_chunk *chunk;
    struct port_link *node;

    *reason = "too_many_attributes";
    if (attribute == NULL)
        return WIRE_NO_MEMORY;
    chunk = pmi2_chunk_new(value.length);
    if (chunk == NULL) {
        drop_unused(job, attribute);
        *reason = "no_memory";
        return WIRE_NO_MEMORY;
    }
    if (value.length > 0)
        memcpy(chunk->bytes, value.at, value.length);
    chunk->length = value.length;
    pmi2_chunk_drop(attribute->value);
    attribute->value = chunk;
    while ((node = port_list_pop(&attribute->waiting)) != NULL) {
        struct pmi2_request *request = port_list_of(node, struct pmi2_request, wait);

        request->attribute = NULL;
        answer(&request->call, true, (struct pmi2_slice){chunk->bytes, chunk->length});
    }
    return 0;
}

void pmi2_attribute_forget(struct pmi2_request *request)
{
    struct attribute *attribute = request->attribute;

    if (attribute == NULL)
        return;
    request->attribute = NULL;
    port_list_discard(&request->wait);
    drop_unused(request->call.client->rank->job, attribute);
}

/* A server of the job is gone: fails the waiting gets, which might wait for ever. */
void pmi2_attributes_fail(struct pmi2_job *job)
{
    uint32_t i;

    for (i = 0; i < job->rank_count; i++) {
        struct pmi2_server_client *client = job->ranks[i].client;
        struct port_link *node, *next;

        for (node = client == NULL ? NULL : client->requests.next;
             node != NULL && node != &client->requests; node = next) {
            struct pmi2_request *request = port_list_of(node, struct pmi2_request, list);

            next = node->next;
            if (request->waits != WAIT_ATTRIBUTE || request->attribute == NULL)
                continue;
            pmi2_attribute_forget(request);
            pmi2_reply_code(&request->call, "info-getnodeattr-response", WIRE_COMMFAILED,
                            "server_lost");
            if (client->link.closing)
                break;
            next = client->requests.next; /* answers may have taken several out */
        }
    }
}

void pmi2_attributes_fini(struct pmi2_job *job)
{
    uint32_t bucket;

    for (bucket = 0; job->attributes.buckets != NULL && bucket <= job->attributes.mask; bucket++) {
        struct pmi2_map_entry *entry = job->attributes.buckets[bucket], *next;

        for (; entry != NULL; entry = next) {
            struct attribute *attribute = port_list_of(entry, struct attribute, entry);

            next = entry->next;
            pmi2_chunk_drop(attribute->value);
            free(attribute);
        }
    }
    pmi2_map_fini(&job->attributes);
}
