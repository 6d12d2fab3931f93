/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Fences. Strict: answered when every rank of the job has entered, so a rank is never more than one
 * fence ahead. A server waits for its own ranks and one message of each server below, and then
 * sends one of its own, which shares the memory of theirs. The root commits, and what it commits
 * comes down the same way.
 *
 * When the first rank of a job is lost, the root informs all servers and the job is broken: what
 * was on its way up is dropped, strict fences fail, and from then on only fences of survivors
 * succeed. For these a server waits for the ranks that are left; a server without ranks sends one
 * message for each epoch. The pairs of this server's ranks are kept until an epoch contains them,
 * so a refused fence loses none.
 */
#include <assert.h>
#include "internal.h"

static void answer(struct pmi2_server_call *call, int code, struct pmi2_slice reason)
{
    if (call->line && code == 0) {
        pmi2_reply(call, "barrier_out");
        pmi2_reply_end(call);
    } else {
        pmi2_reply_code_slice(call, call->line ? "barrier_out" : "kvs-fence-response", code,
                              reason);
    }
}

static const struct pmi2_slice no_memory = {"no_memory", 9};

static void uncount(struct pmi2_rank *rank)
{
    assert(rank->job->fenced >= rank->fenced && rank->job->fenced <= rank->job->rank_count);
    rank->job->fenced -= rank->fenced;
    rank->fenced = false;
}

static void answer_rank(struct pmi2_rank *rank, int code, struct pmi2_slice reason)
{
    struct pmi2_request *request = rank->fence;

    uncount(rank);
    rank->fence = NULL;
    if (request != NULL)
        answer(&request->call, code, reason);
}

static void forget_records(struct pmi2_job *job)
{
    pmi2_writer_fini(&job->records);
    job->record_count = 0;
}

/* The result of this epoch's fence is known: answers all waiting ranks. */
static void answer_all(struct pmi2_job *job, int code, struct pmi2_slice reason)
{
    uint32_t i;

    forget_records(job);
    job->fence_sent = false;
    for (i = 0; i < job->rank_count; i++)
        answer_rank(&job->ranks[i], code, reason);
}

static void forget_members(struct pmi2_job *job)
{
    uint32_t i;

    for (i = 0; i < job->member_count; i++) {
        struct pmi2_member *member = &job->members[i];

        pmi2_chunk_drop(member->fence);
        member->fence = NULL;
        member->fenced = false;
        member->count = 0;
    }
}

void pmi2_fence_fail(struct pmi2_job *job)
{
    uint32_t i;

    forget_members(job);
    job->fence_sent = false;
    for (i = 0; i < job->rank_count; i++)
        if (job->ranks[i].fence != NULL && !job->ranks[i].fence->survivors)
            answer_rank(&job->ranks[i], job->broken_code, job->broken);
    pmi2_fence_check(job);
}

static const struct pmi2_slice manager_lost = {"manager_lost", 12};

void pmi2_fence_orphan(struct pmi2_job *job)
{
    forget_members(job);
    answer_all(job, WIRE_COMMFAILED, manager_lost);
}

void pmi2_fence_forget(struct pmi2_rank *rank)
{
    uncount(rank);
    rank->fence = NULL; /* its puts stay in the epoch */
}

void pmi2_fence_leave(struct pmi2_rank *rank)
{
    if (rank->gone)
        return;
    rank->gone = true;
    rank->job->gone++;
    assert(rank->job->gone <= rank->job->rank_count);
    uncount(rank);
    pmi2_fence_check(rank->job);
}

static size_t committed_bytes(const struct pmi2_job *job)
{
    return job->space->live_bytes;
}

/* The root has all of an epoch. */
static void commit(struct pmi2_job *job)
{
    struct pmi2_piece_source *sources = calloc(job->member_count + (size_t)1, sizeof(*sources));
    struct pmi2_writer message = {NULL, false};
    struct pmi2_message_head head;
    uint32_t count = job->record_count, i;
    uint64_t bytes = committed_bytes(job), duplicates = job->space->duplicates;
    enum pmi2_commit result = COMMIT_NO_MEMORY;

    pmi2_tree_message(&message, MESSAGE_FENCE_DOWN, job_id(job), job->epoch + 1, 0);
    if (sources != NULL && !message.failed) {
        if (job->records.chunk != NULL)
            sources[0] =
                (struct pmi2_piece_source){job->records.chunk->bytes, job->records.chunk->length};
        bytes += sources[0].length;
        for (i = 0; i < job->member_count; i++) {
            const struct pmi2_member *member = &job->members[i];

            if (member->fence == NULL) /* lost, with all its ranks */
                continue;
            sources[i + 1] = (struct pmi2_piece_source){member->fence->bytes + member->records,
                                                        member->fence->length - member->records};
            bytes += sources[i + 1].length;
            count += member->count;
        }
        if (bytes <= job->server->limits.committed_bytes)
            result = pmi2_space_merge(job->space, &message, sources, job->member_count + 1,
                                      job->facts->info.size, count);
    }
    free(sources);
    duplicates = job->space->duplicates - duplicates;
    job->server->counters.duplicate_puts += duplicates;
    if (duplicates > 0)
        pmi2_log(job->server, 1, "job %s: %u keys were put by several ranks before one fence",
                 job->entry.key, (unsigned)duplicates);
    forget_members(job);
    forget_records(job);
    if (result != COMMIT_DONE) { /* commit an epoch without pairs, and report the failure to all */
        pmi2_log(job->server, 0, "job %s: a fence failed: %s", job->entry.key,
                 result == COMMIT_MALFORMED ? "malformed pairs of a server below"
                                            : "no memory for its pairs");
        pmi2_writer_fini(&message);
        pmi2_tree_message(&message, MESSAGE_FENCE_DOWN, job_id(job), job->epoch + 1, 0);
        if (!message.failed) {
            message.chunk->bytes[5] = WIRE_NO_MEMORY;
            pmi2_head_close(&message, message.chunk->length);
            result = pmi2_space_commit(job->space, message.chunk, message.chunk->length, 0,
                                       pmi2_load_u64(message.chunk->bytes + 16));
        }
        if (result != COMMIT_DONE) { /* that failed, too */
            pmi2_writer_fini(&message);
            answer_all(job, WIRE_NO_MEMORY, no_memory);
            pmi2_loss_report(job, job->facts->ranks[0], LOSS_FAILED);
            return;
        }
    }
    pmi2_head_read(message.chunk->bytes, message.chunk->length, &head);
    for (i = 0; i < job->member_count; i++)
        if (job->members[i].child != NULL)
            pmi2_link_share(&job->members[i].child->link, message.chunk, 0, message.chunk->length);
    job->epoch = job->space->epoch;
    job->server->counters.fences++;
    pmi2_writer_fini(&message);
    answer_all(job, head.status, head.status == 0 ? NO_SLICE : no_memory);
}

/* Not the root: sends one message up for all ranks below. */
static void send_up(struct pmi2_job *job, enum pmi2_fence_up status)
{
    struct pmi2_server *server = job->server;
    struct pmi2_writer message = {NULL, false};
    uint32_t count = job->record_count, i;
    size_t total;

    if (server->parent == NULL)
        return; /* orphaned: has failed, or will in a moment */
    job->fence_sent = true;
    for (i = 0; i < job->member_count; i++)
        count += job->members[i].count;
    pmi2_tree_message(&message, MESSAGE_FENCE_UP, job_id(job), job->epoch, count);
    if (message.failed) {
        pmi2_link_close(&server->parent->link, "no memory for a fence");
        return;
    }
    message.chunk->bytes[5] = (char)status;
    if (job->records.chunk != NULL)
        pmi2_write_bytes(&message, job->records.chunk->bytes, job->records.chunk->length);
    total = message.failed ? 0 : message.chunk->length;
    for (i = 0; i < job->member_count; i++)
        if (job->members[i].fence != NULL)
            total += job->members[i].fence->length - job->members[i].records;
    if (message.failed || total > MESSAGE_MAX) {
        pmi2_link_close(&server->parent->link, "no memory for the pairs of a fence");
        pmi2_writer_fini(&message);
        return;
    }
    pmi2_head_close(&message, total);
    server->counters.tree_messages++;
    server->counters.tree_bytes += total;
    pmi2_link_share(&server->parent->link, message.chunk, 0, message.chunk->length);
    for (i = 0; i < job->member_count; i++)
        if (job->members[i].fence != NULL)
            pmi2_link_share(&server->parent->link, job->members[i].fence, job->members[i].records,
                            job->members[i].fence->length);
    pmi2_writer_fini(&message);
    forget_members(job);
}

void pmi2_fence_check(struct pmi2_job *job)
{
    bool broken = job->broken.length > 0, entered = job->fenced > 0;
    uint32_t i;

    if (job->fence_sent || job->server->orphaned ||
        job->fenced < job->rank_count - (broken ? job->gone : 0))
        return;
    for (i = 0; i < job->member_count; i++) {
        const struct pmi2_member *member = &job->members[i];

        if (!member->fenced && !(broken && member->child == NULL))
            return;
        entered |= member->fenced && member->entered;
    }
    if (!job->server->config.root)
        send_up(job, !broken ? FENCE_ALL : entered ? FENCE_SURVIVORS : FENCE_NOBODY);
    else if (entered)
        commit(job);
}

/* Why a rank cannot enter; an empty text: it can. */
static struct pmi2_slice obstacle(const struct pmi2_rank *rank, bool survivors, int *code)
{
    const struct pmi2_job *job = rank->job;

    *code = WIRE_OTHER;
    if (rank->fence != NULL)
        return (struct pmi2_slice){"already_in_a_fence", 18};
    if (rank->gone && (survivors || job->broken.length == 0))
        return (struct pmi2_slice){"had_finalized", 13};
    *code = WIRE_COMMFAILED;
    if (survivors && job->server->orphaned)
        return manager_lost;
    *code = job->broken_code;
    return survivors ? NO_SLICE : job->broken;
}

void pmi2_fence_enter(struct pmi2_server_call *call, bool survivors)
{
    struct pmi2_server_client *client = call->client;
    struct pmi2_rank *rank = client->rank;
    struct pmi2_job *job = rank->job;
    struct pmi2_request *request;
    int code;
    struct pmi2_slice reason = obstacle(rank, survivors, &code);

    if (reason.length > 0) {
        answer(call, code, reason);
        return;
    }
    if (rank->put_count > 0) {
        pmi2_write_bytes(&job->records, rank->puts->bytes, rank->puts->length);
        if (job->records.failed) {
            job->records.failed = false;
            answer(call, WIRE_NO_MEMORY, no_memory);
            return;
        }
    }
    request = pmi2_call_wait(call, WAIT_FENCE, call->line ? "barrier_out" : "kvs-fence-response");
    if (request == NULL) {
        if (rank->put_count > 0)
            job->records.chunk->length -= rank->puts->length;
        return;
    }
    job->record_count += rank->put_count;
    pmi2_chunk_drop(rank->puts);
    rank->puts = NULL;
    rank->put_count = 0;
    rank->fence = request;
    request->survivors = survivors;
    rank->fenced = true;
    job->fenced++;
    pmi2_fence_check(job);
}

void pmi2_fence_up(struct pmi2_job *job, struct pmi2_member *member, struct pmi2_chunk *message,
                   const struct pmi2_message_head *head)
{
    if (member->fenced || head->epoch != job->epoch ||
        (job->broken.length > 0 && head->status == FENCE_ALL))
        return; /* sent before, or before the report of a loss arrived there */
    member->fenced = true;
    member->entered = head->status != FENCE_NOBODY;
    member->fence = pmi2_chunk_use(message);
    member->records = head->head;
    member->count = head->count;
    pmi2_fence_check(job);
}

/* The pairs of an epoch, into the table of this server, unless the store has them. */
static bool keep(struct pmi2_job *job, struct pmi2_chunk *message,
                 const struct pmi2_message_head *head)
{
    struct pmi2_space *space = job->space;

    if (space->epoch >= head->epoch)
        return space->epoch == head->epoch && space->latest != NULL &&
               space->latest->digest == head->digest;
    if (space->epoch + 1 != head->epoch)
        return false;
    return pmi2_digest(message->bytes + head->head, message->length - head->head) == head->digest &&
           pmi2_space_commit(space, message, head->head, head->count, head->digest) == COMMIT_DONE;
}

void pmi2_fence_down(struct pmi2_job *job, struct pmi2_chunk *message,
                     const struct pmi2_message_head *head)
{
    uint32_t i;

    if (head->epoch != job->epoch + 1)
        return;
    for (i = 0; i < job->member_count; i++)
        if (job->members[i].child != NULL)
            pmi2_link_share(&job->members[i].child->link, message, 0, message->length);
    job->epoch = head->epoch;
    job->server->counters.fences++;
    if (!keep(job, message, head)) {
        /* Its ranks would miss pairs that others see. */
        if (!job->damaged)
            pmi2_log(job->server, 0, "job %s: what a fence brought could not be kept",
                     job->entry.key);
        job->damaged = true;
        job->space->epoch = head->epoch > job->space->epoch ? head->epoch : job->space->epoch;
    }
    if (job->damaged || head->status != 0)
        answer_all(job, job->damaged ? WIRE_NO_MEMORY : head->status, no_memory);
    else
        answer_all(job, 0, NO_SLICE);
    if (job->broken.length > 0)
        pmi2_fence_check(job); /* if no rank is left */
}
