/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Puts and gets. The pairs that a rank puts are kept apart until its fence, and even the rank
 * itself cannot read them before. This server answers a get in the rank's own job; the root answers
 * for other jobs.
 */
#include "internal.h"

/* Of several puts of one key before a fence, the last one counts. */
static bool take_out(struct pmi2_rank *rank, struct pmi2_slice key)
{
    struct pmi2_reader reader;
    struct pmi2_record record;

    if (rank->put_count == 0)
        return false;
    reader = (struct pmi2_reader){rank->puts->bytes, rank->puts->bytes + rank->puts->length, false};
    while (reader.at < reader.end && pmi2_record_read(&reader, &record)) {
        if (record.key.length != key.length || memcmp(record.key.at, key.at, key.length) != 0)
            continue;
        memmove(rank->puts->bytes + (record.at - rank->puts->bytes), reader.at,
                (size_t)(reader.end - reader.at));
        rank->puts->length -= record.size;
        rank->put_count--;
        return true;
    }
    return false;
}

int pmi2_pair_check(const struct pmi2_server *server, struct pmi2_slice key,
                    struct pmi2_slice value)
{
    int code = pmi2_key_check(key);

    if (code == 0)
        code = pmi2_value_check(value);
    return code == 0 && server->config.strict_utf8 && !pmi2_utf8_valid(value) ? WIRE_INVALID_VALUE
                                                                              : code;
}

int pmi2_rank_put(struct pmi2_rank *rank, struct pmi2_slice key, struct pmi2_slice value,
                  const char **reason)
{
    struct pmi2_server *server = rank->job->server;
    struct pmi2_writer writer = {rank->puts, false};
    size_t room = RECORD_HEAD + key.length + value.length;
    int code = pmi2_pair_check(server, key, value);

    if (code != 0) {
        *reason = code == WIRE_INVALID_KEY          ? "invalid_key"
                  : code == WIRE_INVALID_KEY_LENGTH ? "key_too_long"
                  : code == WIRE_INVALID_VALUE      ? "invalid_value"
                                                    : "value_too_long";
        return code;
    }
    *reason = "no_memory";
    if (writer.chunk == NULL)
        writer.chunk = pmi2_chunk_new(room < 120 ? 120 : room);
    if (writer.chunk == NULL || !pmi2_chunk_grow(&writer.chunk, room)) {
        rank->puts = writer.chunk;
        return WIRE_NO_MEMORY;
    }
    rank->puts = writer.chunk;
    if (take_out(rank, key)) {
        server->counters.duplicate_puts++;
    } else if (rank->put_count >= server->limits.pairs_per_rank) {
        *reason = "too_many_pairs_before_a_fence";
        return WIRE_NO_MEMORY;
    }
    pmi2_record_write(&writer, rank->rank, key, value);
    rank->put_count++;
    server->counters.puts++;
    return 0;
}

/* ---- get --------------------------------------------------------------------------------------
 */

static void answer_missing(struct pmi2_server_call *call, struct pmi2_slice key)
{
    char text[PMI2_KEY_MAX + 32] = "key_not_found";

    if (!call->line) {
        pmi2_reply(call, "kvs-get-response");
        pmi2_reply_text(call, "found", "FALSE");
        pmi2_reply_int(call, "rc", 0);
        pmi2_reply_end(call);
        return;
    }
    if (pmi2_key_check(key) == 0)
        snprintf(text, sizeof(text), "key_%.*s_not_found", (int)key.length, key.at);
    pmi2_reply(call, "get_result");
    pmi2_reply_int(call, "rc", -1);
    pmi2_reply_text(call, "msg", text);
    pmi2_reply_text(call, "value", "unknown");
    pmi2_reply_end(call);
}

static void answer_found(struct pmi2_server_call *call, struct pmi2_slice value)
{
    if (!call->line) {
        pmi2_reply(call, "kvs-get-response");
        pmi2_reply_text(call, "found", "TRUE");
        pmi2_reply_slice(call, "value", value);
        pmi2_reply_int(call, "rc", 0);
    } else if (value.length > 0 && memchr(value.at, '\n', value.length) != NULL) {
        pmi2_reply_code(call, "get_result", -1, "value_has_a_newline");
        return;
    } else {
        pmi2_reply(call, "get_result");
        pmi2_reply_int(call, "rc", 0);
        pmi2_reply_text(call, "msg", "success");
        pmi2_reply_slice(call, "value", value);
    }
    pmi2_reply_end(call);
}

void pmi2_kvs_get_answer(struct pmi2_server_call *call, int code, struct pmi2_slice reason,
                         struct pmi2_reader *body)
{
    bool found = pmi2_read_u8(body) != 0;
    struct pmi2_slice key = pmi2_read_slice(body), value = pmi2_read_slice(body);

    if (code != 0)
        pmi2_reply_code_slice(call, call->line ? "get_result" : "kvs-get-response",
                              call->line ? -1 : code, reason);
    else if (found)
        answer_found(call, value);
    else
        answer_missing(call, key);
}

static bool is_own(const struct pmi2_job *job, struct pmi2_slice id)
{
    return id.length == 0 ||
           (id.length == job->entry.length && memcmp(id.at, job->entry.key, id.length) == 0);
}

void pmi2_kvs_get(struct pmi2_server_call *call, struct pmi2_slice id, struct pmi2_slice key)
{
    struct pmi2_job *job = call->client->rank->job;
    struct pmi2_writer body = {NULL, false};
    struct pmi2_slice value;
    struct pmi2_request *request;

    job->server->counters.gets++;
    if (!is_own(job, id)) {
        request = pmi2_root_begin(call, ROOT_GET, &body);
        if (request == NULL)
            return;
        pmi2_write_slice(&body, id);
        pmi2_write_slice(&body, key);
        pmi2_root_send(request, &body);
    } else if (job->damaged) {
        pmi2_reply_code(call, call->line ? "get_result" : "kvs-get-response",
                        call->line ? -1 : WIRE_NO_MEMORY, "no_memory");
    } else if (pmi2_space_get(job->space, job->epoch, key, &value)) {
        answer_found(call, value);
    } else if (call->line && key.length > 4 && memcmp(key.at, "PMI_", 4) == 0 &&
               pmi2_attribute_job(job, key, &body, &value)) {
        answer_found(call, value); /* PMI-1 has no other way to ask */
        pmi2_writer_fini(&body);
    } else {
        answer_missing(call, key);
    }
}

/* ---- all pairs of a job -----------------------------------------------------------------------
 */

static void answer_pair(void *context, struct pmi2_slice key, struct pmi2_slice value)
{
    struct pmi2_server_call *call = context;

    pmi2_reply(call, "kvs-getall-pair-response");
    pmi2_reply_slice(call, "key", key);
    pmi2_reply_slice(call, "value", value);
    pmi2_reply_more(call);
}

static void answer_count(struct pmi2_server_call *call, uint32_t count)
{
    pmi2_reply(call, "kvs-getall-paircount-response");
    pmi2_reply_int(call, "npair", count);
    pmi2_reply_more(call);
}

void pmi2_kvs_getall_answer(struct pmi2_server_call *call, int code, struct pmi2_slice reason,
                            struct pmi2_reader *body)
{
    uint32_t count = pmi2_read_u32(body);
    struct pmi2_record record;

    if (code == 0) {
        answer_count(call, count);
        while (body->at < body->end && pmi2_record_read(body, &record))
            answer_pair(call, record.key, record.value);
    }
    pmi2_reply_code_slice(call, "kvs-getall-response", code, reason);
}

void pmi2_kvs_getall(struct pmi2_server_call *call, struct pmi2_slice id)
{
    struct pmi2_job *job = call->client->rank->job;
    struct pmi2_writer body = {NULL, false};
    struct pmi2_request *request;

    if (!is_own(job, id)) {
        request = pmi2_root_begin(call, ROOT_GETALL, &body);
        if (request == NULL)
            return;
        pmi2_write_slice(&body, id);
        pmi2_root_send(request, &body);
        return;
    }
    if (job->damaged) {
        pmi2_reply_code(call, "kvs-getall-response", WIRE_NO_MEMORY, "no_memory");
        return;
    }
    answer_count(call, pmi2_space_each(job->space, job->epoch, NULL, NULL));
    pmi2_space_each(job->space, job->epoch, answer_pair, call);
    pmi2_reply_code(call, "kvs-getall-response", 0, "");
}
