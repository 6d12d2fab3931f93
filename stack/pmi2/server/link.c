/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Connections: bytes that wait to be sent, and closing. */
#include <assert.h>
#include "internal.h"

static_assert(TREE_LOW < TREE_HIGH, "reading resumes below the mark at which it stops");

#define FIRST_BYTES 512u /* an answer or two; more when the other side is slow */
#define MORE_BYTES 4096u

void pmi2_outbox_clear(struct pmi2_outbox *outbox)
{
    while (outbox->first != NULL) {
        struct pmi2_piece *piece = outbox->first;

        outbox->first = piece->next;
        pmi2_chunk_drop(piece->chunk);
        free(piece);
    }
    *outbox = (struct pmi2_outbox){NULL};
}

bool pmi2_outbox_share(struct pmi2_outbox *outbox, struct pmi2_chunk *chunk, size_t start,
                       size_t end)
{
    struct pmi2_piece *piece;

    assert(start <= end && end <= chunk->length);
    if (start == end)
        return true;
    piece = malloc(sizeof(*piece));
    if (piece == NULL)
        return false;
    *piece = (struct pmi2_piece){NULL, pmi2_chunk_use(chunk), start, end};
    if (outbox->last != NULL)
        outbox->last->next = piece;
    else
        outbox->first = piece;
    outbox->last = piece;
    outbox->bytes += end - start;
    return true;
}

/* Bytes that were handed out must not move, so a chunk is filled up but never enlarged. */
bool pmi2_outbox_copy(struct pmi2_outbox *outbox, const void *bytes, size_t length)
{
    struct pmi2_piece *last = outbox->last;
    struct pmi2_chunk *chunk;
    size_t capacity = last == NULL ? FIRST_BYTES : MORE_BYTES;
    bool shared;

    if (last != NULL && last->chunk->users == 1 && last->end == last->chunk->length &&
        last->chunk->capacity - last->end >= length) {
        memcpy(last->chunk->bytes + last->end, bytes, length);
        last->chunk->length += length;
        last->end += length;
        outbox->bytes += length;
        return true;
    }
    chunk = pmi2_chunk_new(length > capacity ? length : capacity);
    if (chunk == NULL)
        return false;
    memcpy(chunk->bytes, bytes, length);
    chunk->length = length;
    shared = pmi2_outbox_share(outbox, chunk, 0, length);
    pmi2_chunk_drop(chunk);
    return shared;
}

void pmi2_outbox_take(struct pmi2_outbox *outbox, size_t bytes)
{
    assert(bytes <= outbox->bytes);
    while (bytes > 0 && outbox->first != NULL) {
        struct pmi2_piece *piece = outbox->first;
        size_t size = piece->end - piece->start;

        assert(piece->start < piece->end && size <= outbox->bytes);
        if (bytes < size) {
            piece->start += bytes;
            outbox->bytes -= bytes;
            return;
        }
        bytes -= size;
        outbox->bytes -= size;
        outbox->first = piece->next;
        if (outbox->first == NULL)
            outbox->last = NULL;
        pmi2_chunk_drop(piece->chunk);
        free(piece);
    }
}

/* Whether servers below are read from depends on what waits to go up. */
static void update_children(struct pmi2_server *server)
{
    uint32_t i;

    for (i = 0; i < server->child_count; i++)
        pmi2_link_update_reads(&server->children[i]->link);
}

static void written(struct pmi2_link *link, bool done)
{
    if (!done) {
        pmi2_link_close(link, "no memory for what it is sent");
        return;
    }
    if (link->kind == LINK_CLIENT || pmi2_lossy_ready(tree_of(link)))
        pmi2_action_due(link->server, &link->action, PMI2_ACTION_OUTPUT);
    pmi2_link_update_reads(link);
    if (link->kind == LINK_PARENT && link->out.bytes > TREE_HIGH)
        update_children(link->server);
}

void pmi2_link_write(struct pmi2_link *link, const void *bytes, size_t length)
{
    if (!link->closing && length > 0)
        written(link, pmi2_outbox_copy(&link->out, bytes, length));
}

void pmi2_link_share(struct pmi2_link *link, struct pmi2_chunk *chunk, size_t start, size_t end)
{
    if (!link->closing && start < end)
        written(link, pmi2_outbox_share(&link->out, chunk, start, end));
}

void pmi2_link_resume(struct pmi2_link *link)
{
    if (!port_linked(&link->resume))
        port_list_append(&link->server->resume, &link->resume);
}

void pmi2_link_close(struct pmi2_link *link, const char *reason)
{
    if (link->closing)
        return;
    link->closing = true;
    link->reason = reason;
    pmi2_action_due(link->server, &link->action, PMI2_ACTION_CLOSE);
    pmi2_link_resume(link);
}

void *pmi2_link_data(const struct pmi2_link *link)
{
    return link->data;
}

void pmi2_link_input(struct pmi2_link *link, const void *bytes, size_t length)
{
    if (link->closing)
        return;
    if (link->kind == LINK_CLIENT)
        pmi2_client_input(client_of(link), bytes, length);
    else
        pmi2_tree_input(tree_of(link), bytes, length);
    pmi2_server_run(link->server);
}

void pmi2_link_eof(struct pmi2_link *link)
{
    if (!link->closing) {
        link->closing = true;
        link->reason = "connection closed by the other side";
        pmi2_link_resume(link);
    }
    pmi2_server_run(link->server);
}

/* The server always reads from the parent, because all ranks of a job wait for its messages. */
static bool should_read(struct pmi2_link *link)
{
    const struct pmi2_server *server = link->server;
    const struct pmi2_server_client *client;
    struct pmi2_tree *tree;
    size_t limit;

    if (link->closing)
        return false;
    if (link->kind == LINK_PARENT)
        return true;
    if (link->kind == LINK_CHILD) {
        tree = tree_of(link);
        if (server->parent == NULL || server->parent->link.out.bytes <= TREE_LOW)
            tree->stopped = false;
        else if (server->parent->link.out.bytes > TREE_HIGH)
            tree->stopped = true;
        if (!tree->stopped && !link->reads)
            tree->last_received = server->now;
        return !tree->stopped;
    }
    client = client_of(link);
    limit = link->reads ? server->limits.unread_bytes : server->limits.unread_bytes / 4;
    return link->out.bytes <= limit && client->ordered_count < CLIENT_REQUESTS_MAX;
}

static void update_slow(struct pmi2_server_client *client)
{
    struct pmi2_server *server = client->link.server;
    bool slow = !client->link.closing && client->link.out.bytes > server->limits.unread_bytes;

    if (slow && !port_linked(&client->slow)) {
        client->slow_until = server->now + server->limits.unread_seconds * SECOND;
        port_list_append(&server->slow, &client->slow);
    } else if (!slow) {
        port_list_discard(&client->slow);
    }
}

void pmi2_link_update_reads(struct pmi2_link *link)
{
    bool reads = should_read(link);

    if (link->kind == LINK_CLIENT)
        update_slow(client_of(link));
    if (reads == link->reads)
        return;
    link->reads = reads;
    if (link->closing)
        return;
    pmi2_action_due(link->server, &link->action, PMI2_ACTION_READS);
    if (reads)
        pmi2_link_resume(link);
}

bool pmi2_link_reads(const struct pmi2_link *link)
{
    return link->reads && !link->closing;
}

int pmi2_link_output(const struct pmi2_link *link, struct iovec *pieces, int maximum)
{
    const struct pmi2_piece *piece = link->out.first;
    int count;

    if (link->kind != LINK_CLIENT &&
        port_list_of(link, const struct pmi2_tree, link)->lossy != NULL)
        return pmi2_lossy_output(port_list_of((struct pmi2_link *)link, struct pmi2_tree, link),
                                 pieces, maximum);
    for (count = 0; count < maximum && piece != NULL; count++, piece = piece->next)
        pieces[count] =
            (struct iovec){piece->chunk->bytes + piece->start, piece->end - piece->start};
    return count;
}

void pmi2_link_sent(struct pmi2_link *link, size_t bytes)
{
    struct pmi2_server *server = link->server;

    if (link->kind != LINK_CLIENT && tree_of(link)->lossy != NULL) {
        pmi2_lossy_sent(tree_of(link), bytes);
    } else {
        pmi2_outbox_take(&link->out, bytes);
        if (link->kind == LINK_CLIENT) /* it reads again: restarts the time limit */
            port_list_discard(&client_of(link)->slow);
    }
    pmi2_link_update_reads(link);
    if (link->kind == LINK_PARENT)
        update_children(server);
    pmi2_server_run(server);
}

size_t pmi2_link_waiting(const struct pmi2_link *link)
{
    return link->out.bytes;
}

void pmi2_link_free(struct pmi2_link *link)
{
    if (link == NULL)
        return;
    pmi2_link_eof(link);
    port_list_discard(&link->list);
    port_list_discard(&link->resume);
    pmi2_action_forget(&link->action);
    pmi2_outbox_clear(&link->out);
    if (link->kind == LINK_CLIENT) {
        pmi2_client_fini(client_of(link));
        free(client_of(link));
    } else {
        pmi2_tree_fini(tree_of(link));
        free(tree_of(link));
    }
}
