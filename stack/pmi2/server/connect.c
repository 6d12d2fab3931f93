/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Connected jobs, which may read each other's pairs: they are in one group. Joining two jobs joins
 * their groups. A rank may leave another job; when all ranks of one side have left, the two are not
 * connected any more. Of a job of another launcher, only the copied pairs are known.
 */
#include "internal.h"

#define FOREIGN_MAX 64u
#define CUTS_MAX 4096u /* of one job */

struct cut { /* ranks of a job that have left another one */
    struct port_link list;
    struct pmi2_job *other;
    uint32_t count;
    uint8_t left[]; /* one bit each */
};

static struct cut *find_cut(const struct pmi2_job *job, const struct pmi2_job *other)
{
    struct port_link *node;

    for (node = job->cuts.next; node != &job->cuts; node = node->next)
        if (port_list_of(node, struct cut, list)->other == other)
            return port_list_of(node, struct cut, list);
    return NULL;
}

static bool has_left(const struct cut *cut, uint32_t rank)
{
    return cut != NULL && (cut->left[rank / 8] >> rank % 8 & 1) != 0;
}

static bool all_left(const struct pmi2_job *job, const struct pmi2_job *other)
{
    const struct cut *cut = find_cut(job, other);

    return cut != NULL && cut->count == job->facts->info.size;
}

static bool connected(const struct pmi2_job *job, uint32_t rank, const struct pmi2_job *other)
{
    return job == other || (job->group == other->group && !has_left(find_cut(job, other), rank) &&
                            !all_left(job, other) && !all_left(other, job));
}

static void drop_cut(struct pmi2_job *job, const struct pmi2_job *other)
{
    struct cut *cut = find_cut(job, other);

    if (cut == NULL)
        return;
    port_list_discard(&cut->list);
    free(cut);
}

void pmi2_connect_join(struct pmi2_job *job, struct pmi2_job *other)
{
    struct pmi2_server *server = job->server;
    uint32_t from = other->group;
    struct port_link *node;

    for (node = server->job_list.next; node != &server->job_list; node = node->next) {
        struct pmi2_job *third = port_list_of(node, struct pmi2_job, list);

        if (third->group == from)
            third->group = job->group;
    }
}

static void answer_bool(const struct pmi2_root_request *request, bool value)
{
    char byte = value ? 1 : 0;

    pmi2_root_request_answer(request, 0, "", (struct pmi2_slice){&byte, 1});
}

static void join(const struct pmi2_root_request *request, struct pmi2_slice id, bool copies)
{
    struct pmi2_server *server = request->server;
    struct pmi2_job *job = request->job, *other = pmi2_job_find(server, id);
    struct cut *cut;

    if (other == NULL && copies && pmi2_job_id_valid(id.at)) {
        /* Perhaps a job of another launcher: the client will bring its pairs. */
        other = server->foreign_count < FOREIGN_MAX ? pmi2_job_foreign(server, id) : NULL;
        if (other == NULL) {
            pmi2_root_request_answer(request, WIRE_NO_MEMORY, "no_memory", NO_SLICE);
            return;
        }
    }
    if (other == NULL) {
        pmi2_root_request_answer(request, WIRE_INVALID_ARG, "unknown_jobid", NO_SLICE);
        return;
    }
    if (job->group != other->group)
        pmi2_connect_join(job, other);
    cut = find_cut(job, other);
    if (all_left(job, other) || all_left(other, job)) { /* connected anew */
        drop_cut(job, other);
        drop_cut(other, job);
    } else if (has_left(cut, request->rank)) {
        cut->left[request->rank / 8] &= (uint8_t) ~(1u << request->rank % 8);
        cut->count--;
    }
    answer_bool(request, other->foreign && copies);
}

static void leave(const struct pmi2_root_request *request, struct pmi2_slice id)
{
    struct pmi2_job *job = request->job, *other = pmi2_job_find(request->server, id);
    struct cut *cut;
    struct port_link *node;
    uint32_t cuts = 0;

    if (other == NULL || other == job || !connected(job, request->rank, other)) {
        pmi2_root_request_answer(request, WIRE_INVALID_ARG, "not_connected", NO_SLICE);
        return;
    }
    cut = find_cut(job, other);
    if (cut == NULL) {
        for (node = job->cuts.next; node != &job->cuts; node = node->next)
            cuts++;
        cut = cuts < CUTS_MAX ? calloc(1, sizeof(*cut) + job->facts->info.size / 8 + 1) : NULL;
        if (cut == NULL) {
            pmi2_root_request_answer(request, WIRE_NO_MEMORY, "no_memory", NO_SLICE);
            return;
        }
        cut->other = other;
        port_list_append(&job->cuts, &cut->list);
    }
    cut->left[request->rank / 8] |= (uint8_t)(1u << request->rank % 8);
    cut->count++;
    pmi2_root_request_answer(request, 0, "", NO_SLICE);
    if (other->foreign && all_left(job, other))
        pmi2_connect_end(job); /* the job may have been its last user */
}

static void answer_written(const struct pmi2_root_request *request, struct pmi2_writer *answer)
{
    if (answer->failed)
        pmi2_root_request_answer(request, WIRE_NO_MEMORY, "no_memory", NO_SLICE);
    else
        pmi2_root_request_answer(request, 0, "",
                                 (struct pmi2_slice){answer->chunk->bytes, answer->chunk->length});
    pmi2_writer_fini(answer);
}

static void get(const struct pmi2_root_request *request, const struct pmi2_job *other,
                struct pmi2_reader *body)
{
    struct pmi2_slice key = pmi2_read_slice(body), value = NO_SLICE;
    struct pmi2_writer answer = {NULL, false};
    bool found = !body->failed && pmi2_space_get(other->space, other->space->epoch, key, &value);

    pmi2_write_u8(&answer, found);
    pmi2_write_slice(&answer, key);
    pmi2_write_slice(&answer, value);
    answer_written(request, &answer);
}

static void write_pair(void *context, struct pmi2_slice key, struct pmi2_slice value)
{
    pmi2_record_write(context, 0, key, value);
}

static void getall(const struct pmi2_root_request *request, const struct pmi2_job *other)
{
    struct pmi2_writer answer = {NULL, false};

    pmi2_write_u32(&answer, pmi2_space_each(other->space, other->space->epoch, NULL, NULL));
    pmi2_space_each(other->space, other->space->epoch, write_pair, &answer);
    answer_written(request, &answer);
}

static void putall(const struct pmi2_root_request *request, struct pmi2_job *other,
                   struct pmi2_reader *body)
{
    uint32_t count = pmi2_read_u32(body);
    size_t length = (size_t)(body->end - body->at);
    struct pmi2_chunk *chunk;
    enum pmi2_commit commit = COMMIT_NO_MEMORY;

    if (!other->foreign) { /* its own ranks put its pairs */
        pmi2_root_request_answer(request, WIRE_INVALID_ARG, "not_a_foreign_job", NO_SLICE);
        return;
    }
    chunk = other->space->live_bytes + length <= request->server->limits.committed_bytes
                ? pmi2_chunk_new(length)
                : NULL;
    if (chunk != NULL) {
        if (length > 0)
            memcpy(chunk->bytes, body->at, length);
        chunk->length = length;
        commit = pmi2_space_commit(other->space, chunk, 0, count, 0);
        pmi2_chunk_drop(chunk);
    }
    if (commit == COMMIT_DONE)
        pmi2_root_request_answer(request, 0, "", NO_SLICE);
    else
        pmi2_root_request_answer(
            request, commit == COMMIT_MALFORMED ? WIRE_INVALID_ARG : WIRE_NO_MEMORY,
            commit == COMMIT_MALFORMED ? "malformed_pairs" : "no_memory", NO_SLICE);
}

void pmi2_connect_serve(const struct pmi2_root_request *request, enum pmi2_root_kind kind,
                        struct pmi2_reader *body)
{
    struct pmi2_slice id = pmi2_read_slice(body);
    struct pmi2_job *other;

    if (kind == ROOT_CONNECT) {
        join(request, id, pmi2_read_u8(body) != 0);
        return;
    }
    if (kind == ROOT_DISCONNECT) {
        leave(request, id);
        return;
    }
    other = pmi2_job_find(request->server, id);
    if (other == NULL || !connected(request->job, request->rank, other))
        pmi2_root_request_answer(request, WIRE_INVALID_ARG, "unknown_jobid", NO_SLICE);
    else if (kind == ROOT_GET)
        get(request, other, body);
    else if (kind == ROOT_GETALL)
        getall(request, other);
    else
        putall(request, other, body);
}

/* True: a job of this launcher still uses it. */
static bool used(const struct pmi2_job *foreign)
{
    const struct port_link *head = &foreign->server->job_list, *node;

    for (node = head->next; node != head; node = node->next) {
        const struct pmi2_job *job = port_list_of(node, struct pmi2_job, list);

        if (!job->foreign && job->group == foreign->group && !all_left(job, foreign))
            return true;
    }
    return false;
}

/* A job has ended or has left another one: drops what only it needed. */
void pmi2_connect_end(struct pmi2_job *job)
{
    struct pmi2_server *server = job->server;
    struct port_link *node, *next;

    for (node = server->job_list.next; node != &server->job_list; node = next) {
        struct pmi2_job *other = port_list_of(node, struct pmi2_job, list);

        next = node->next;
        if (job->ended)
            drop_cut(other, job);
        if (other != job && other->foreign && !other->ended && !used(other)) {
            pmi2_job_end(other);
            next = server->job_list.next;
        }
    }
    while (job->ended && (node = port_list_pop(&job->cuts)) != NULL)
        free(port_list_of(node, struct cut, list));
}
