/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Neighbours in the tree that are lost, and how a server notices it. */
#include "internal.h"

/* The server does not serve that job (any more). */
void pmi2_tree_forget_member(struct pmi2_job *job, const struct pmi2_tree *child)
{
    struct pmi2_member *member = pmi2_job_member(job, child);

    if (member == NULL)
        return;
    member->child = NULL;
    pmi2_fence_check(job);
}

static void report_lost(struct pmi2_server *server, struct pmi2_tree *tree, uint32_t first,
                        uint32_t last, const char *reason)
{
    struct pmi2_notification *notification = pmi2_notification(
        server, PMI2_ACTION_TREE_LOST,
        (struct pmi2_slice){reason, reason == NULL ? 0 : strlen(reason)}, NO_SLICE);

    if (notification == NULL)
        return;
    notification->what.link = tree == NULL ? NULL : &tree->link;
    notification->what.node = first;
    notification->what.last_node = last;
}

/* The servers of these nodes are gone. */
void pmi2_tree_lose(struct pmi2_server *server, struct pmi2_slice id, uint32_t first, uint32_t last)
{
    struct pmi2_writer message = {NULL, false};

    if (server->config.root) {
        pmi2_loss_nodes(server, id, first, last);
        return;
    }
    if (server->parent == NULL)
        return;
    pmi2_tree_message(&message, MESSAGE_LOST_UP, id, 0, 0);
    pmi2_write_u32(&message, first);
    pmi2_write_u32(&message, last);
    pmi2_tree_send(&server->parent->link, &message);
}

static void forget_child(struct pmi2_tree *tree)
{
    struct pmi2_server *server = tree->link.server;
    struct port_link *node;
    uint32_t i;

    for (i = 0; i < server->child_count; i++)
        if (server->children[i] == tree)
            break;
    if (i == server->child_count)
        return;
    memmove(&server->children[i], &server->children[i + 1],
            (server->child_count - i - 1) * sizeof(struct pmi2_tree *));
    server->child_count--;
    for (node = server->job_list.next; node != &server->job_list; node = node->next)
        pmi2_tree_forget_member(port_list_of(node, struct pmi2_job, list), tree);
}

void pmi2_tree_lost(struct pmi2_tree *tree, const char *reason)
{
    struct pmi2_server *server = tree->link.server;

    pmi2_log(server, 0, "a server %s is gone: %s",
             tree->link.kind == LINK_PARENT ? "above" : "below", reason);
    report_lost(server, tree, tree->first, tree->last, reason);
    if (tree->link.kind == LINK_PARENT) {
        server->parent = NULL;
        pmi2_loss_orphaned(server);
        return;
    }
    forget_child(tree);
    pmi2_tree_lose(server, NO_SLICE, tree->first, tree->last);
}

void pmi2_tree_fini(struct pmi2_tree *tree)
{
    struct pmi2_server *server = tree->link.server;
    struct port_link *node;

    for (node = server->actions.next; node != &server->actions; node = node->next) {
        struct pmi2_server_action *action = port_list_of(node, struct pmi2_server_action, list);

        if (action->owner == OWNER_NOTIFICATION &&
            port_list_of(action, struct pmi2_notification, action)->what.link == &tree->link)
            port_list_of(action, struct pmi2_notification, action)->what.link = NULL;
    }
    pmi2_chunk_drop(tree->body);
    pmi2_lossy_free(tree->lossy);
}

/* ---- time -------------------------------------------------------------------------------------
 */

/* While there are jobs, the server pings a neighbour that sends nothing. */
static bool watched(const struct pmi2_tree *tree)
{
    return !tree->link.closing && !port_list_empty(&tree->link.server->job_list);
}

static uint64_t timeout(const struct pmi2_tree *tree)
{
    return tree->link.server->limits.tree_seconds * SECOND;
}

/* A neighbour from which this server does not read is not counted as silent. It still gets pings.
 */
static bool silent(const struct pmi2_tree *tree)
{
    return tree->link.reads && tree->link.server->now - tree->last_received >= timeout(tree);
}

void pmi2_tree_time(struct pmi2_tree *tree)
{
    struct pmi2_server *server = tree->link.server;
    struct pmi2_writer ping = {NULL, false};

    if (tree->link.closing)
        return;
    if (tree->lossy != NULL && !pmi2_lossy_time(tree)) {
        pmi2_link_close(&tree->link, "does not answer");
        return;
    }
    if (!watched(tree)) {
        tree->last_received = tree->pinged = server->now;
        return;
    }
    if (tree->pinged < tree->last_received)
        tree->pinged = tree->last_received;
    if (silent(tree)) {
        pmi2_link_close(&tree->link, "does not answer");
    } else if (server->now - tree->pinged >= timeout(tree) / 3) {
        tree->pinged = server->now;
        pmi2_tree_message(&ping, MESSAGE_PING, NO_SLICE, 0, 0);
        pmi2_tree_send(&tree->link, &ping);
    }
}

uint64_t pmi2_tree_deadline(const struct pmi2_tree *tree)
{
    uint64_t deadline = tree->lossy == NULL ? UINT64_MAX : pmi2_lossy_deadline(tree), next, last;

    if (!watched(tree))
        return deadline;
    next = (tree->pinged > tree->last_received ? tree->pinged : tree->last_received) +
           timeout(tree) / 3;
    last = tree->last_received + timeout(tree);
    if (tree->link.reads && last < next)
        next = last;
    return deadline < next ? deadline : next;
}
