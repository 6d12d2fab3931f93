/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * PMIX_Ring: each rank gives a text for either neighbour and gets its place in a ring and what its
 * neighbours gave. A server sends up only the first and the last text of the ranks below it, and
 * receives only the neighbours of those. The ranks of a node come first, then the servers below it.
 */
#include "internal.h"

struct ends {
    struct pmi2_slice left, right;
};

static struct ends rank_ends(const struct pmi2_request *request)
{
    struct pmi2_reader reader = {request->reply->bytes,
                                 request->reply->bytes + request->reply->length, false};
    struct ends ends;

    ends.left = pmi2_read_slice(&reader);
    ends.right = pmi2_read_slice(&reader);
    return ends;
}

static struct ends message_ends(const struct pmi2_chunk *message)
{
    struct pmi2_message_head head;
    struct pmi2_reader reader;
    struct ends ends;

    pmi2_head_read(message->bytes, message->length, &head);
    reader =
        (struct pmi2_reader){message->bytes + head.head, message->bytes + message->length, false};
    ends.left = pmi2_read_slice(&reader);
    ends.right = pmi2_read_slice(&reader);
    return ends;
}

static uint32_t parts(const struct pmi2_job *job)
{
    return job->rank_count + job->member_count;
}

static struct ends part_ends(const struct pmi2_job *job, uint32_t part)
{
    return part < job->rank_count ? rank_ends(job->ranks[part].ring)
                                  : message_ends(job->members[part - job->rank_count].ring);
}

static void forget(struct pmi2_job *job)
{
    uint32_t i;

    for (i = 0; i < job->member_count; i++) {
        pmi2_chunk_drop(job->members[i].ring);
        job->members[i].ring = NULL;
        job->members[i].ringed = false;
    }
    job->ringed = 0;
}

static struct pmi2_request *take(struct pmi2_rank *rank)
{
    struct pmi2_request *request = rank->ring;

    rank->ring = NULL;
    if (request != NULL) { /* what it gave lay where its answer will */
        pmi2_chunk_drop(request->reply);
        request->reply = NULL;
    }
    return request;
}

void pmi2_ring_fail(struct pmi2_job *job)
{
    uint32_t i;

    for (i = 0; i < job->rank_count; i++) {
        struct pmi2_request *request = take(&job->ranks[i]);

        if (request != NULL)
            pmi2_reply_code_slice(&request->call, "ring-response", job->broken_code, job->broken);
    }
    forget(job);
}

/* The texts of ranks are freed with their requests, but neighbours still need them. This code
 * allocates nothing: if it failed here, all ranks below would wait for ever. */
struct kept {
    struct pmi2_chunk *first, *last;
};

static void keep(struct kept *kept, struct pmi2_chunk *text)
{
    if (kept->first == NULL) {
        kept->first = text;
        return;
    }
    pmi2_chunk_drop(kept->last);
    kept->last = text;
}

static void reply_neighbours(struct pmi2_rank *rank, uint32_t place, struct pmi2_slice before,
                             struct pmi2_slice after)
{
    struct pmi2_server_call *call = &rank->ring->call;

    rank->ring->reply = NULL;
    pmi2_reply(call, "ring-response");
    pmi2_reply_int(call, "rc", 0);
    pmi2_reply_int(call, "ring-count", place);
    pmi2_reply_slice(call, "ring-left", before);
    pmi2_reply_slice(call, "ring-right", after);
    rank->ring = NULL;
    pmi2_reply_end(call);
}

static void send_neighbours(const struct pmi2_job *job, const struct pmi2_member *member,
                            uint32_t place, struct pmi2_slice before, struct pmi2_slice after)
{
    struct pmi2_writer message = {NULL, false};

    if (member->child == NULL)
        return;
    pmi2_tree_message(&message, MESSAGE_RING_DOWN, job_id(job), 0, place);
    pmi2_write_slice(&message, before);
    pmi2_write_slice(&message, after);
    pmi2_tree_send(&member->child->link, &message);
    pmi2_writer_fini(&message);
}

/* The ring is complete: reports to each rank its place and its neighbours. */
static void give(struct pmi2_job *job, uint32_t place, struct ends outer)
{
    uint32_t count = parts(job), part;
    struct pmi2_slice before = outer.left;
    struct kept kept = {NULL, NULL};

    for (part = 0; part < count; part++) {
        struct ends mine = part_ends(job, part);
        struct pmi2_slice after = part + 1 < count ? part_ends(job, part + 1).left : outer.right;

        if (part < job->rank_count) {
            struct pmi2_chunk *text = job->ranks[part].ring->reply;

            reply_neighbours(&job->ranks[part], place++, before, after);
            keep(&kept, text);
        } else {
            struct pmi2_member *member = &job->members[part - job->rank_count];

            send_neighbours(job, member, place, before, after);
            place += member->ring_count;
        }
        before = mine.right;
    }
    pmi2_chunk_drop(kept.first);
    pmi2_chunk_drop(kept.last);
    forget(job);
}

static void check(struct pmi2_job *job)
{
    struct pmi2_server *server = job->server;
    struct pmi2_writer message = {NULL, false};
    uint32_t total = job->rank_count, i;
    struct ends first, last;

    if (job->ringed < job->rank_count || parts(job) == 0)
        return;
    for (i = 0; i < job->member_count; i++) {
        if (!job->members[i].ringed)
            return;
        total += job->members[i].ring_count;
    }
    first = part_ends(job, 0);
    last = part_ends(job, parts(job) - 1);
    if (server->config.root) {
        give(job, 0, (struct ends){last.right, first.left});
        return;
    }
    if (server->parent == NULL)
        return;
    pmi2_tree_message(&message, MESSAGE_RING_UP, job_id(job), 0, total);
    pmi2_write_slice(&message, first.left);
    pmi2_write_slice(&message, last.right);
    pmi2_tree_send(&server->parent->link, &message);
}

void pmi2_ring_enter(struct pmi2_server_call *call, struct pmi2_slice left, struct pmi2_slice right)
{
    static const char name[] = "ring-response";
    struct pmi2_rank *rank = call->client->rank;
    struct pmi2_job *job = rank->job;
    struct pmi2_writer ends = {NULL, false};
    struct pmi2_request *request;

    if (rank->ring != NULL || job->broken.length > 0) {
        if (rank->ring != NULL)
            pmi2_reply_code(call, name, WIRE_OTHER, "already_in_a_ring");
        else
            pmi2_reply_code_slice(call, name, job->broken_code, job->broken);
        return;
    }
    pmi2_write_slice(&ends, left);
    pmi2_write_slice(&ends, right);
    if (ends.failed) {
        pmi2_writer_fini(&ends);
        pmi2_reply_code(call, name, WIRE_NO_MEMORY, "no_memory");
        return;
    }
    request = pmi2_call_wait(call, WAIT_RING, name);
    if (request == NULL) {
        pmi2_writer_fini(&ends);
        return;
    }
    request->reply = ends.chunk;
    rank->ring = request;
    job->ringed++;
    check(job);
}

void pmi2_ring_up(struct pmi2_job *job, struct pmi2_member *member, struct pmi2_chunk *message,
                  const struct pmi2_message_head *head)
{
    if (member->ringed || job->broken.length > 0)
        return;
    member->ringed = true;
    member->ring = pmi2_chunk_use(message);
    member->ring_count = head->count;
    check(job);
}

void pmi2_ring_down(struct pmi2_job *job, struct pmi2_chunk *message,
                    const struct pmi2_message_head *head)
{
    struct ends ends = message_ends(message);
    uint32_t i;

    if (job->broken.length > 0 || job->ringed < job->rank_count)
        return;
    for (i = 0; i < job->member_count; i++)
        if (!job->members[i].ringed)
            return;
    give(job, head->count, ends);
}
