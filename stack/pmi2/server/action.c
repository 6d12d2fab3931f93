/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the embedder has to do, oldest first. Most actions lie in what they are about, so that they
 * need no memory of their own, and a link with more to send is reported once.
 */
#include <assert.h>
#include <stdarg.h>
#include "internal.h"

void pmi2_action_due(struct pmi2_server *server, struct pmi2_server_action *action,
                     enum pmi2_action_kind kind)
{
    static_assert(PMI2_ACTION_NAME < 32, "a bit for each kind");
    assert(kind > PMI2_ACTION_NONE && kind <= PMI2_ACTION_NAME);
    action->due |= 1u << kind;
    if (!port_linked(&action->list))
        port_list_append(&server->actions, &action->list);
}

void pmi2_action_forget(struct pmi2_server_action *action)
{
    port_list_discard(&action->list);
    action->due = 0;
}

struct pmi2_notification *pmi2_notification(struct pmi2_server *server, enum pmi2_action_kind kind,
                                            struct pmi2_slice text, struct pmi2_slice job)
{
    struct pmi2_notification *notification =
        calloc(1, sizeof(*notification) + text.length + 1 + job.length + 1);

    if (notification == NULL)
        return NULL;
    notification->action.owner = OWNER_NOTIFICATION;
    notification->what.kind = kind;
    notification->what.text = notification->text;
    notification->what.rank = PMI2_NO_RANK;
    notification->what.node = PMI2_NO_NODE;
    if (text.length > 0)
        memcpy(notification->text, text.at, text.length);
    if (job.length > 0)
        notification->what.job = memcpy(notification->text + text.length + 1, job.at, job.length);
    pmi2_action_due(server, &notification->action, kind);
    return notification;
}

void pmi2_log(struct pmi2_server *server, int level, const char *format, ...)
{
    char text[512];
    struct pmi2_notification *notification;
    va_list arguments;
    size_t i;

    va_start(arguments, format);
    // NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): it is, one line above
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    for (i = 0; text[i] != '\0'; i++) /* one line, whatever a client has called something */
        if ((unsigned char)text[i] < ' ' || text[i] == 127)
            text[i] = '?';
    notification =
        pmi2_notification(server, PMI2_ACTION_LOG, (struct pmi2_slice){text, i}, NO_SLICE);
    if (notification != NULL)
        notification->what.level = level;
}

static void drop_taken(struct pmi2_server *server)
{
    if (server->taken_notification != NULL)
        pmi2_chunk_drop(server->taken_notification->chunk);
    free(server->taken_notification);
    server->taken_notification = NULL;
    if (server->taken_job != NULL)
        pmi2_job_free(server->taken_job);
    server->taken_job = NULL;
}

/* The first kind that is due; the order of these is the order of the enumeration, but a job's
 * abort comes before its end, and a link's bytes before its close. */
static enum pmi2_action_kind take_kind(struct pmi2_server_action *action)
{
    static const enum pmi2_action_kind order[] = {
        PMI2_ACTION_JOB,    PMI2_ACTION_ABORT,     PMI2_ACTION_OUTPUT,     PMI2_ACTION_READS,
        PMI2_ACTION_CLOSE,  PMI2_ACTION_TREE_LOST, PMI2_ACTION_SPAWN,      PMI2_ACTION_NAME,
        PMI2_ACTION_KILL,   PMI2_ACTION_LOG,       PMI2_ACTION_RANK_STATE, PMI2_ACTION_MESSAGE,
        PMI2_ACTION_JOB_END};
    size_t i;

    static_assert(sizeof(order) / sizeof(order[0]) == PMI2_ACTION_NAME, "every kind has its turn");
    assert(action->due != 0);
    for (i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
        if (action->due & 1u << order[i]) {
            action->due &= ~(1u << order[i]);
            return order[i];
        }
    }
    return PMI2_ACTION_NONE;
}

static void fill_job(struct pmi2_server *server, struct pmi2_job *job, struct pmi2_action *action)
{
    action->job = job->entry.key;
    if (action->kind == PMI2_ACTION_JOB)
        action->info = &job->facts->info;
    if (action->kind == PMI2_ACTION_ABORT) {
        action->rank = job->abort_rank;
        action->code = job->abort_code;
        action->text = job->abort_text == NULL ? "" : job->abort_text->bytes;
    }
    if (job->ended && job->action.due == 0) {
        port_list_discard(&job->list);
        server->taken_job = job;
    }
}

bool pmi2_server_next(struct pmi2_server *server, struct pmi2_action *action)
{
    struct pmi2_server_action *first;

    drop_taken(server);
    *action = (struct pmi2_action){.rank = PMI2_NO_RANK, .node = PMI2_NO_NODE};
    if (port_list_empty(&server->actions))
        return false;
    first = port_list_of(server->actions.next, struct pmi2_server_action, list);
    action->kind = take_kind(first);
    if (first->due == 0)
        port_list_discard(&first->list);
    if (first->owner == OWNER_LINK) {
        action->link = port_list_of(first, struct pmi2_link, action);
        action->text = action->link->reason;
    } else if (first->owner == OWNER_JOB) {
        fill_job(server, port_list_of(first, struct pmi2_job, action), action);
    } else if (first->owner == OWNER_RANK) {
        const struct pmi2_rank *rank = port_list_of(first, struct pmi2_rank, action);

        action->job = rank->job->entry.key;
        action->rank = rank->rank;
    } else {
        struct pmi2_notification *notification =
            port_list_of(first, struct pmi2_notification, action);

        *action = notification->what;
        server->taken_notification = notification;
    }
    return true;
}
