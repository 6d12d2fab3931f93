/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Links between servers: sending and receiving messages, and the handler of each kind. If the store
 * already has the content of a fence or job message, its bytes are skipped.
 */
#include "internal.h"

void pmi2_tree_message(struct pmi2_writer *writer, enum pmi2_message_kind kind,
                       struct pmi2_slice id, uint32_t epoch, uint32_t count)
{
    pmi2_head_write(writer, (uint8_t)kind, 0, id, epoch, count);
}

/* The body is small, or broadcast: its digest is only taken where a store compares it. */
static void close_message(struct pmi2_writer *message)
{
    pmi2_store_u32(message->chunk->bytes, (uint32_t)(message->chunk->length - 4));
}

static void share(struct pmi2_link *link, struct pmi2_chunk *chunk)
{
    link->server->counters.tree_messages++;
    link->server->counters.tree_bytes += chunk->length;
    pmi2_link_share(link, chunk, 0, chunk->length);
}

void pmi2_tree_send(struct pmi2_link *link, struct pmi2_writer *message)
{
    if (link == NULL || link->closing) {
        pmi2_writer_fini(message);
        return;
    }
    if (message->failed || message->chunk->length > MESSAGE_MAX) {
        pmi2_link_close(link, "no memory for a message");
    } else {
        close_message(message);
        share(link, message->chunk);
    }
    pmi2_writer_fini(message);
}

void pmi2_tree_send_all(struct pmi2_job *job, struct pmi2_writer *message)
{
    uint32_t i;

    if (!message->failed)
        close_message(message);
    for (i = 0; i < job->member_count; i++) {
        struct pmi2_tree *child = job->members[i].child;

        if (child == NULL || child->link.closing)
            continue;
        if (message->failed)
            pmi2_link_close(&child->link, "no memory for a message");
        else
            share(&child->link, message->chunk);
    }
    pmi2_writer_fini(message);
}

bool pmi2_tree_route(struct pmi2_server *server, uint32_t node, struct pmi2_writer *message)
{
    uint32_t i;

    for (i = 0; i < server->child_count; i++) {
        if (node >= server->children[i]->first && node < server->children[i]->last) {
            pmi2_tree_send(&server->children[i]->link, message);
            return true;
        }
    }
    pmi2_writer_fini(message);
    return false;
}

/* ---- the launcher's messages ------------------------------------------------------------------
 */

static void write_launch(struct pmi2_writer *writer, enum pmi2_message_kind kind, uint32_t node,
                         uint32_t number, const void *bytes, size_t length)
{
    pmi2_tree_message(writer, kind, NO_SLICE, node, number);
    pmi2_write_bytes(writer, bytes, length);
}

static bool deliver_launch(struct pmi2_server *server, uint32_t node, uint32_t number,
                           const void *bytes, size_t length)
{
    struct pmi2_notification *notification =
        pmi2_notification(server, PMI2_ACTION_MESSAGE, NO_SLICE, NO_SLICE);

    if (notification == NULL)
        return false;
    notification->chunk = pmi2_chunk_new(length);
    if (notification->chunk == NULL) {
        pmi2_action_forget(&notification->action);
        free(notification);
        return false;
    }
    if (length > 0)
        memcpy(notification->chunk->bytes, bytes, length);
    notification->what.node = node;
    notification->what.message = number;
    notification->what.bytes = notification->chunk->bytes;
    notification->what.length = length;
    return true;
}

bool pmi2_server_send_up(struct pmi2_server *server, uint32_t kind, const void *bytes,
                         size_t length)
{
    struct pmi2_writer message = {NULL, false};

    if (server->parent == NULL || length > MESSAGE_MAX / 2)
        return false;
    write_launch(&message, MESSAGE_LAUNCH_UP, server->config.node, kind, bytes, length);
    if (message.failed) {
        pmi2_writer_fini(&message);
        return false;
    }
    pmi2_tree_send(&server->parent->link, &message);
    pmi2_server_run(server);
    return true;
}

bool pmi2_server_send_down(struct pmi2_server *server, uint32_t node, uint32_t kind,
                           const void *bytes, size_t length)
{
    struct pmi2_writer message = {NULL, false};
    bool sent = true;
    uint32_t i;

    if (length > MESSAGE_MAX / 2)
        return false;
    write_launch(&message, MESSAGE_LAUNCH_DOWN, node, kind, bytes, length);
    if (message.failed) {
        pmi2_writer_fini(&message);
        return false;
    }
    if (node == PMI2_NO_NODE) {
        close_message(&message);
        for (i = 0; i < server->child_count; i++)
            if (!server->children[i]->link.closing)
                share(&server->children[i]->link, message.chunk);
        pmi2_writer_fini(&message);
    } else {
        sent = pmi2_tree_route(server, node, &message);
    }
    pmi2_server_run(server);
    return sent;
}

/* ---- messages in ------------------------------------------------------------------------------
 */

static void broken(struct pmi2_tree *tree, const char *reason)
{
    tree->link.server->counters.malformed++;
    pmi2_link_close(&tree->link, reason);
}

static void greeted(struct pmi2_tree *tree, const struct pmi2_message_head *head,
                    struct pmi2_reader *body)
{
    uint32_t first = pmi2_read_u32(body), last = pmi2_read_u32(body);

    if (head->epoch != TREE_VERSION)
        broken(tree, "a server of another version");
    else if (body->failed || first != tree->first || last != tree->last)
        broken(tree, "a server of other nodes");
    tree->greeted = true;
}

static void abort_up(struct pmi2_job *job, const struct pmi2_message_head *head,
                     struct pmi2_reader *body)
{
    struct pmi2_slice text = pmi2_read_slice(body);

    if (!body->failed && (head->count < job->facts->info.size || head->count == PMI2_NO_RANK))
        pmi2_job_abort(job, head->count, (int)head->epoch, text);
}

static void launch_up(struct pmi2_server *server, const struct pmi2_message_head *head,
                      const struct pmi2_reader *body)
{
    /* Each server on the path up handles messages from below. */
    if (!deliver_launch(server, head->epoch, head->count, body->at, (size_t)(body->end - body->at)))
        pmi2_log(server, 0, "no memory for a message of node %u", head->epoch);
}

static void launch_down(struct pmi2_server *server, struct pmi2_chunk *chunk,
                        const struct pmi2_message_head *head, const struct pmi2_reader *body)
{
    uint32_t node = head->epoch, i;

    for (i = 0; i < server->child_count; i++)
        if (node == PMI2_NO_NODE ||
            (node >= server->children[i]->first && node < server->children[i]->last))
            share(&server->children[i]->link, chunk);
    if (node != PMI2_NO_NODE && node != server->config.node)
        return;
    if (!deliver_launch(server, PMI2_NO_NODE, head->count, body->at,
                        (size_t)(body->end - body->at)))
        pmi2_log(server, 0, "no memory for a message of the launcher");
}

static void lost_up(struct pmi2_tree *tree, const struct pmi2_message_head *head,
                    struct pmi2_reader *body)
{
    uint32_t first = pmi2_read_u32(body), last = pmi2_read_u32(body);
    struct pmi2_job *job = pmi2_job_find(tree->link.server, head->id);

    if (body->failed || first >= last)
        return;
    if (job != NULL && first <= tree->first && last >= tree->last)
        pmi2_tree_forget_member(job, tree);
    pmi2_tree_lose(tree->link.server, head->id, first, last);
}

static void from_below(struct pmi2_tree *tree, struct pmi2_chunk *message,
                       const struct pmi2_message_head *head, struct pmi2_reader *body)
{
    struct pmi2_server *server = tree->link.server;
    struct pmi2_job *job = pmi2_job_find(server, head->id);
    struct pmi2_member *member = job == NULL ? NULL : pmi2_job_member(job, tree);

    switch ((enum pmi2_message_kind)head->kind) {
    case MESSAGE_REQUEST:
        pmi2_root_request_message(server, tree, head, message);
        return;
    case MESSAGE_LOST_UP:
        lost_up(tree, head, body);
        return;
    case MESSAGE_LAUNCH_UP:
        launch_up(server, head, body);
        return;
    case MESSAGE_FENCE_UP:
    case MESSAGE_RING_UP:
    case MESSAGE_RANKS_UP:
    case MESSAGE_ABORT:
        break;
    default:
        broken(tree, "a message of no known kind");
        return;
    }
    if (member == NULL) /* has ended here */
        return;
    if (head->kind == MESSAGE_FENCE_UP)
        pmi2_fence_up(job, member, message, head);
    else if (head->kind == MESSAGE_RING_UP)
        pmi2_ring_up(job, member, message, head);
    else if (head->kind == MESSAGE_RANKS_UP)
        pmi2_loss_up(job, body);
    else
        abort_up(job, head, body);
}

static void new_job(struct pmi2_tree *tree, struct pmi2_chunk *message,
                    const struct pmi2_message_head *head)
{
    struct pmi2_server *server = tree->link.server;
    struct pmi2_job *job = pmi2_job_new(server, message);
    uint32_t i;

    if (job == NULL) {
        pmi2_log(server, 0, "job %.*s cannot be served here: no memory, or malformed",
                 (int)head->id.length, head->id.at);
        pmi2_tree_lose(server, head->id, server->config.first, server->config.last);
        return;
    }
    for (i = 0; i < job->member_count; i++)
        share(&job->members[i].child->link, message);
}

static void from_above(struct pmi2_tree *tree, struct pmi2_chunk *message,
                       const struct pmi2_message_head *head, struct pmi2_reader *body)
{
    struct pmi2_server *server = tree->link.server;
    struct pmi2_job *job = pmi2_job_find(server, head->id);
    struct pmi2_slice rest = {body->at, (size_t)(body->end - body->at)};
    struct pmi2_writer copy = {NULL, false};

    switch ((enum pmi2_message_kind)head->kind) {
    case MESSAGE_JOB:
        if (job == NULL)
            new_job(tree, message, head);
        return;
    case MESSAGE_ANSWER:
        pmi2_root_answer_message(server, head, message);
        return;
    case MESSAGE_LAUNCH_DOWN:
        launch_down(server, message, head, body);
        return;
    case MESSAGE_ORPHANED:
        pmi2_loss_orphaned(server);
        return;
    case MESSAGE_JOB_END:
    case MESSAGE_FENCE_DOWN:
    case MESSAGE_RING_DOWN:
    case MESSAGE_RANKS_DOWN:
    case MESSAGE_ENDED:
        break;
    default:
        broken(tree, "a message of no known kind");
        return;
    }
    if (job == NULL)
        return;
    switch ((enum pmi2_message_kind)head->kind) {
    case MESSAGE_JOB_END:
        pmi2_job_end(job);
        return;
    case MESSAGE_FENCE_DOWN:
        pmi2_fence_down(job, message, head);
        return;
    case MESSAGE_RING_DOWN:
        pmi2_ring_down(job, message, head);
        return;
    case MESSAGE_ENDED:
        pmi2_rank_ended(job, head->count);
        return;
    default:
        pmi2_tree_message(&copy, MESSAGE_RANKS_DOWN, head->id, 0, 0);
        pmi2_write_bytes(&copy, rest.at, rest.length);
        pmi2_tree_send_all(job, &copy);
        pmi2_loss_down(job, rest);
        return;
    }
}

static void dispatch(struct pmi2_tree *tree, struct pmi2_chunk *message)
{
    struct pmi2_writer pong = {NULL, false};
    struct pmi2_message_head head;
    struct pmi2_reader body;

    if (!pmi2_head_read(message->bytes, message->length, &head) ||
        head.id.length > PMI2_JOBID_MAX) {
        broken(tree, "a malformed message");
        return;
    }
    body =
        (struct pmi2_reader){message->bytes + head.head, message->bytes + message->length, false};
    if (head.kind == MESSAGE_HELLO)
        greeted(tree, &head, &body);
    else if (!tree->greeted)
        broken(tree, "does not begin with hello");
    else if (head.kind == MESSAGE_PING) {
        pmi2_tree_message(&pong, MESSAGE_PONG, NO_SLICE, 0, 0);
        pmi2_tree_send(&tree->link, &pong);
    } else if (head.kind == MESSAGE_PONG) {
        return;
    } else if (tree->link.kind == LINK_PARENT) {
        from_above(tree, message, &head, &body);
    } else {
        from_below(tree, message, &head, &body);
    }
}

/* The chunk of the store that has the same bytes as the message that begins with these. */
static struct pmi2_chunk *known_message(const struct pmi2_tree *tree,
                                        const struct pmi2_message_head *head)
{
    const struct pmi2_space *space;

    if (tree->link.kind != LINK_PARENT ||
        (head->kind != MESSAGE_FENCE_DOWN && head->kind != MESSAGE_JOB))
        return NULL;
    space = pmi2_space_find(tree->link.server->store, head->id);
    if (space == NULL)
        return NULL;
    if (head->kind == MESSAGE_JOB)
        return space->facts != NULL && space->facts->digest == head->digest &&
                       space->facts->message->length == head->total
                   ? space->facts->message
                   : NULL;
    return space->latest != NULL && space->latest->epoch == head->epoch &&
                   space->latest->digest == head->digest &&
                   space->latest->chunk->length == head->total
               ? space->latest->chunk
               : NULL;
}

static size_t at_most(size_t one, size_t other)
{
    return one < other ? one : other;
}

/* Adds what is there of the message under way; returns how much that was. 0: the link is closed. */
static size_t collect(struct pmi2_tree *tree, const char *bytes, size_t length)
{
    struct pmi2_message_head head = {0};
    bool complete;
    size_t more;

    if (tree->body == NULL)
        tree->body = pmi2_chunk_new(MESSAGE_HEAD_MAX);
    if (tree->body == NULL) {
        pmi2_link_close(&tree->link, "no memory for a message");
        return 0;
    }
    complete = pmi2_head_read(tree->body->bytes, tree->body->length, &head);
    if (!complete) {
        size_t want = tree->body->length < MESSAGE_HEAD ? MESSAGE_HEAD : head.head;

        if (want > MESSAGE_HEAD_MAX) {
            broken(tree, "a malformed message");
            return 0;
        }
        more = at_most(want - tree->body->length, length);
    } else {
        struct pmi2_chunk *known;

        if (head.total > MESSAGE_MAX || head.total < head.head) {
            broken(tree, "a message of impossible length");
            return 0;
        }
        known = tree->body->length == head.head ? known_message(tree, &head) : NULL;
        if (known != NULL) {
            tree->skip = head.total - head.head;
            pmi2_chunk_drop(tree->body);
            tree->body = pmi2_chunk_use(known);
            more = at_most(tree->skip, length);
            tree->skip -= more;
            return more;
        }
        more = at_most(head.total - tree->body->length, length);
        if (!pmi2_chunk_grow(&tree->body, more)) {
            pmi2_link_close(&tree->link, "no memory for a message");
            return 0;
        }
    }
    memcpy(tree->body->bytes + tree->body->length, bytes, more);
    tree->body->length += more;
    return more;
}

static bool whole(const struct pmi2_tree *tree)
{
    struct pmi2_message_head head;

    return tree->skip == 0 && tree->body != NULL &&
           pmi2_head_read(tree->body->bytes, tree->body->length, &head) &&
           tree->body->length == head.total;
}

void pmi2_tree_stream(struct pmi2_tree *tree, const char *bytes, size_t length)
{
    tree->last_received = tree->link.server->now;
    while (length > 0 && !tree->link.closing) {
        size_t used;

        if (tree->skip > 0) {
            used = at_most(tree->skip, length);
            tree->skip -= used;
        } else {
            used = collect(tree, bytes, length);
            if (tree->link.closing)
                return;
        }
        bytes += used;
        length -= used;
        if (whole(tree)) {
            struct pmi2_chunk *message = tree->body;

            tree->body = NULL;
            dispatch(tree, message);
            pmi2_chunk_drop(message);
        }
    }
}

void pmi2_tree_input(struct pmi2_tree *tree, const void *bytes, size_t length)
{
    if (tree->lossy != NULL)
        pmi2_lossy_input(tree, bytes, length);
    else
        pmi2_tree_stream(tree, bytes, length);
}
