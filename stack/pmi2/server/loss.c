/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Ranks that do not take part any more. The root orders the reports and sends them to all servers
 * of the job, so every rank sees the same first reason for a fence that cannot complete, and the
 * same list of dead ranks. Only the first finalized rank of a job matters, so servers forward only
 * that report.
 */
#include "internal.h"

static void send_loss(struct pmi2_job *job, uint32_t rank, enum pmi2_loss loss)
{
    struct pmi2_server *server = job->server;
    struct pmi2_writer message = {NULL, false};

    if (server->parent == NULL)
        return;
    pmi2_tree_message(&message, MESSAGE_RANKS_UP, job_id(job), 0, 0);
    pmi2_write_u32(&message, rank);
    pmi2_write_u8(&message, (uint8_t)loss);
    pmi2_tree_send(&server->parent->link, &message);
}

static void break_fences(struct pmi2_job *job, int code, const char *format, uint32_t rank,
                         const char *what)
{
    if (job->broken.length > 0)
        return;
    job->broken.at = job->broken_text;
    job->broken.length =
        (size_t)snprintf(job->broken_text, sizeof(job->broken_text), format, rank, what);
    job->broken_code = code;
    pmi2_fence_fail(job);
    pmi2_ring_fail(job);
}

static void add_dead(struct pmi2_job *job, uint32_t rank)
{
    char text[16];
    int length = snprintf(text, sizeof(text), "%s%u", job->dead.chunk == NULL ? "" : ",", rank);

    pmi2_write_bytes(&job->dead, text, (size_t)length);
}

static void apply(struct pmi2_job *job, uint32_t rank, enum pmi2_loss loss)
{
    struct pmi2_rank *known;

    switch (loss) {
    case LOSS_FINALIZED:
        job->reported_finalized = true;
        break_fences(job, WIRE_OTHER, "rank_%u_%s", rank, "finalized");
        return;
    case LOSS_FAILED:
        break_fences(job, WIRE_OTHER, "rank_%u_%s", rank, "dead");
        return;
    case LOSS_DEAD:
        add_dead(job, rank);
        known = pmi2_job_rank(job, rank);
        if (known != NULL && known->state < PMI2_RANK_FINALIZED) /* reported at the root */
            pmi2_rank_set(known, PMI2_RANK_DEAD);
        break_fences(job, WIRE_OTHER, "rank_%u_%s", rank, "dead");
        return;
    case LOSS_NODE:
        add_dead(job, rank);
        break_fences(job, WIRE_COMMFAILED, "rank_%u_%s", rank, "server_lost");
        pmi2_attributes_fail(job);
        return;
    case LOSS_NONE:
    case LOSS_MANAGER:
        return;
    }
}

/* The root's decision: whether it is news, and its place in the order. */
static bool is_news(struct pmi2_job *job, uint32_t rank, enum pmi2_loss loss)
{
    uint8_t before;

    if (job->losses == NULL) {
        job->losses = calloc(job->facts->info.size, 1);
        if (job->losses == NULL)
            return true; /* possibly reported twice */
    }
    before = job->losses[rank];
    if (before == LOSS_FINALIZED || before == (uint8_t)loss || before >= LOSS_DEAD)
        return false;
    job->losses[rank] = (uint8_t)loss;
    return true;
}

static void root_loss(struct pmi2_job *job, uint32_t rank, enum pmi2_loss loss,
                      struct pmi2_writer *down)
{
    if (!is_news(job, rank, loss))
        return;
    if (loss != LOSS_FINALIZED || job->broken.length == 0) {
        pmi2_write_u32(down, rank);
        pmi2_write_u8(down, (uint8_t)loss);
    }
    if (loss == LOSS_FAILED) {
        static const char text[] = "its connection to the process manager broke";

        pmi2_job_abort(job, rank, -1, (struct pmi2_slice){text, sizeof(text) - 1});
    }
}

/* Sends the root's decision to all servers of the job, this one included. */
static void publish(struct pmi2_job *job, struct pmi2_writer *down)
{
    struct pmi2_writer message = {NULL, false};

    if (down->failed)
        pmi2_log(job->server, 0, "job %s: no memory to tell of its lost ranks", job->entry.key);
    if (down->chunk != NULL && !down->failed) {
        pmi2_tree_message(&message, MESSAGE_RANKS_DOWN, job_id(job), 0, 0);
        pmi2_write_bytes(&message, down->chunk->bytes, down->chunk->length);
        pmi2_tree_send_all(job, &message);
        pmi2_loss_down(job, (struct pmi2_slice){down->chunk->bytes, down->chunk->length});
    }
    pmi2_writer_fini(down);
}

void pmi2_loss_report(struct pmi2_job *job, uint32_t rank, enum pmi2_loss loss)
{
    struct pmi2_writer down = {NULL, false};

    if (job->server->config.root) {
        root_loss(job, rank, loss, &down);
        publish(job, &down);
    } else if (loss != LOSS_FINALIZED || !job->reported_finalized) {
        job->reported_finalized |= loss == LOSS_FINALIZED;
        send_loss(job, rank, loss);
    }
}

void pmi2_loss_up(struct pmi2_job *job, struct pmi2_reader *reader)
{
    struct pmi2_writer down = {NULL, false};

    while (reader->at < reader->end) {
        uint32_t rank = pmi2_read_u32(reader);
        enum pmi2_loss loss = (enum pmi2_loss)pmi2_read_u8(reader);

        if (reader->failed || rank >= job->facts->info.size || loss > LOSS_NODE)
            break;
        if (job->server->config.root)
            root_loss(job, rank, loss, &down);
        else
            pmi2_loss_report(job, rank, loss);
    }
    publish(job, &down);
}

void pmi2_loss_down(struct pmi2_job *job, struct pmi2_slice body)
{
    struct pmi2_reader reader = pmi2_reader(body);

    while (reader.at < reader.end) {
        uint32_t rank = pmi2_read_u32(&reader);
        enum pmi2_loss loss = (enum pmi2_loss)pmi2_read_u8(&reader);

        if (reader.failed || rank >= job->facts->info.size)
            break;
        apply(job, rank, loss);
    }
}

void pmi2_loss_nodes(struct pmi2_server *server, struct pmi2_slice id, uint32_t first,
                     uint32_t last)
{
    struct port_link *node;

    for (node = server->job_list.next; node != &server->job_list; node = node->next) {
        struct pmi2_job *job = port_list_of(node, struct pmi2_job, list);
        struct pmi2_writer down = {NULL, false};
        uint32_t begin, count, i;
        char text[80];
        int length;

        if (job->foreign || (id.length > 0 && !pmi2_slice_is(id, job->entry.key)))
            continue;
        count = pmi2_facts_within(job->facts, first, last, &begin);
        for (i = 0; i < count; i++)
            root_loss(job, job->facts->ranks[begin + i], LOSS_NODE, &down);
        if (count == 0)
            continue;
        publish(job, &down);
        length =
            snprintf(text, sizeof(text), "the server of nodes %u to %u is gone", first, last - 1);
        pmi2_job_abort(job, PMI2_NO_RANK, 255, (struct pmi2_slice){text, (size_t)length});
    }
}

void pmi2_loss_orphaned(struct pmi2_server *server)
{
    struct pmi2_writer message = {NULL, false};
    struct port_link *node;
    uint32_t i;

    if (server->orphaned)
        return;
    server->orphaned = true;
    for (node = server->job_list.next; node != &server->job_list; node = node->next) {
        struct pmi2_job *job = port_list_of(node, struct pmi2_job, list);

        break_fences(job, WIRE_COMMFAILED, "manager_lost", 0, "");
        pmi2_fence_orphan(job);
        pmi2_attributes_fail(job);
    }
    pmi2_root_fail(server);
    for (i = 0; i < server->child_count; i++) {
        message = (struct pmi2_writer){NULL, false};
        pmi2_tree_message(&message, MESSAGE_ORPHANED, NO_SLICE, 0, 0);
        pmi2_tree_send(&server->children[i]->link, &message);
    }
}

/* Only the first abort of a job is reported. */
void pmi2_job_abort(struct pmi2_job *job, uint32_t rank, int code, struct pmi2_slice text)
{
    struct pmi2_server *server = job->server;
    struct pmi2_writer message = {NULL, false};

    if (!server->config.root) {
        if (server->parent == NULL)
            return;
        pmi2_tree_message(&message, MESSAGE_ABORT, job_id(job), (uint32_t)code, rank);
        pmi2_write_slice(&message, text);
        pmi2_tree_send(&server->parent->link, &message);
        return;
    }
    if (job->abort_text != NULL)
        return;
    pmi2_write_bytes(&message, text.at, text.length);
    pmi2_write_u8(&message, 0);
    job->abort_text = message.failed ? pmi2_chunk_new(1) : message.chunk;
    if (message.failed) {
        pmi2_writer_fini(&message);
        if (job->abort_text != NULL)
            job->abort_text->bytes[0] = '\0';
    }
    job->abort_rank = rank;
    job->abort_code = code;
    pmi2_action_due(server, &job->action, PMI2_ACTION_ABORT);
}
