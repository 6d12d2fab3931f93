/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Groups of the console: nodes that are in its session, and others that shall be. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "console.h"

struct lst_group *lst_console_group(struct lst_console *console, const char *name)
{
    struct lst_group *group;

    list_for_each_entry (group, &console->groups, on_console)
        if (strcmp(group->name, name) == 0)
            return group;
    return NULL;
}

static struct lst_group *group_get(struct lst_console *console, const char *name)
{
    struct lst_group *group = lst_console_group(console, name);

    if (group != NULL)
        return group;
    group = calloc(1, sizeof(*group));
    if (group == NULL)
        return NULL;
    memcpy(group->name, name, strlen(name) + 1);
    list_add_tail(&group->on_console, &console->groups);
    return group;
}

static enum lst_state state_of(int status)
{
    switch (status) {
    case 0:
        return LST_ACTIVE;
    case -EBUSY:
        return LST_BUSY;
    case -ETIMEDOUT:
    case -EHOSTUNREACH:
    case -ECONNREFUSED:
    case -ENETUNREACH:
    case -EINTR:
    case -EIO:
        return LST_DOWN;
    default:
        return LST_UNKNOWN;
    }
}

static bool same_id(const struct lnet_process_id *a, const struct lnet_process_id *b)
{
    return a->nid == b->nid && a->pid == b->pid;
}

/* Takes a node out of the group. False: it is not there, or it is active and `idle` is wanted. */
static bool take_out(struct lst_group *group, const struct lnet_process_id *id, bool idle)
{
    uint32_t i;

    for (i = 0; i < group->other_count; i++)
        if (same_id(&group->others[i].id, id)) {
            memmove(group->others + i, group->others + i + 1,
                    (--group->other_count - i) * sizeof(*group->others));
            return true;
        }
    for (i = 0; !idle && i < group->count; i++)
        if (same_id(&group->ids[i], id)) {
            memmove(group->ids + i, group->ids + i + 1, (--group->count - i) * sizeof(*group->ids));
            return true;
        }
    return false;
}

static bool is_active(const struct lst_group *group, const struct lnet_process_id *id)
{
    uint32_t i;

    for (i = 0; i < group->count; i++)
        if (same_id(&group->ids[i], id))
            return true;
    return false;
}

/* Room for `count` nodes more of either kind. */
static bool grow(struct lst_group *group, uint32_t count)
{
    struct lnet_process_id *ids = realloc(group->ids, (group->count + count + 1) * sizeof(*ids));
    struct lst_member *others;

    if (ids == NULL)
        return false;
    group->ids = ids;
    others = realloc(group->others, (group->other_count + count + 1) * sizeof(*others));
    if (others == NULL)
        return false;
    group->others = others;
    return true;
}

static void put_in(struct lst_group *group, const struct lnet_process_id *id, enum lst_state state)
{
    if (state == LST_ACTIVE)
        group->ids[group->count++] = *id;
    else
        group->others[group->other_count++] = (struct lst_member){*id, state};
}

int lst_group_add(struct lst_console *console, const char *name, const struct lnet_process_id *ids,
                  uint32_t count)
{
    struct lst_group *group, wanted = {.count = 0};
    struct lst_rpc *rpcs;
    uint32_t i;
    int rc = 0;

    if (strlen(name) >= LST_NAME_BYTES)
        return -ENAMETOOLONG;
    group = group_get(console, name);
    wanted.ids = calloc(count + 1, sizeof(*wanted.ids));
    if (group == NULL || wanted.ids == NULL || !grow(group, count)) {
        free(wanted.ids);
        return -ENOMEM;
    }
    for (i = 0; i < count; i++)
        if (!is_active(group, &ids[i]) && !is_active(&wanted, &ids[i]))
            wanted.ids[wanted.count++] = ids[i];
    rpcs = lst_console_rpcs(&wanted);
    if (rpcs == NULL)
        rc = -ENOMEM;
    for (i = 0; rc == 0 && i < wanted.count; i++) {
        rpcs[i].request.make_session.session = console->id;
        rpcs[i].request.make_session.force = console->force;
        memcpy(rpcs[i].request.make_session.name, console->name, LST_NAME_BYTES);
    }
    if (rc == 0)
        rc = lst_console_ask(console, rpcs, wanted.count, LST_TYPE_MAKE_SESSION,
                             LST_SERVICE_MAKE_SESSION);
    for (i = 0; rpcs != NULL && i < wanted.count; i++) {
        take_out(group, &wanted.ids[i], true);
        put_in(group, &wanted.ids[i], state_of(rpcs[i].status));
    }
    free(rpcs);
    free(wanted.ids);
    return rc;
}

/* Nodes that are in no group any more leave the session. */
static int release(struct lst_console *console, const struct lnet_process_id *ids, uint32_t count)
{
    struct lst_group *all = lst_console_all_nodes(console), gone = {.count = 0};
    struct lst_rpc *rpcs = NULL;
    uint32_t i;
    int rc = -ENOMEM;

    gone.ids = calloc(count + 1, sizeof(*gone.ids));
    for (i = 0; all != NULL && gone.ids != NULL && i < count; i++)
        if (!is_active(all, &ids[i]))
            gone.ids[gone.count++] = ids[i];
    if (all != NULL && gone.ids != NULL)
        rpcs = lst_console_rpcs(&gone);
    for (i = 0; rpcs != NULL && i < gone.count; i++)
        rpcs[i].request.remove_session.session = console->id;
    if (rpcs != NULL)
        rc = lst_console_ask(console, rpcs, gone.count, LST_TYPE_REMOVE_SESSION,
                             LST_SERVICE_REMOVE_SESSION);
    free(rpcs);
    free(gone.ids);
    if (all != NULL)
        lst_console_group_free(all);
    return rc;
}

int lst_group_remove(struct lst_console *console, const char *name,
                     const struct lnet_process_id *ids, uint32_t count)
{
    struct lst_group *group = lst_console_group(console, name);
    struct lnet_process_id *active;
    uint32_t i, actives = 0;
    int rc;

    if (group == NULL)
        return -ENOENT;
    if (group->tests > 0)
        return -EBUSY;
    active = calloc(count + 1, sizeof(*active));
    if (active == NULL)
        return -ENOMEM;
    for (i = 0; i < count; i++) {
        if (is_active(group, &ids[i]))
            active[actives++] = ids[i];
        take_out(group, &ids[i], false);
    }
    rc = release(console, active, actives);
    free(active);
    return rc;
}

int lst_group_delete(struct lst_console *console, const char *name)
{
    struct lst_group *group = lst_console_group(console, name);
    int rc;

    if (group == NULL)
        return -ENOENT;
    if (group->tests > 0)
        return -EBUSY;
    list_del(&group->on_console);
    rc = release(console, group->ids, group->count);
    lst_console_group_free(group);
    return rc;
}

int lst_group_clean(struct lst_console *console, const char *name, unsigned states)
{
    struct lst_group *group = lst_console_group(console, name);
    uint32_t i, kept = 0;

    if (group == NULL)
        return -ENOENT;
    for (i = 0; i < group->other_count; i++)
        if ((group->others[i].state & states) == 0)
            group->others[kept++] = group->others[i];
    group->other_count = kept;
    return 0;
}

int lst_ping(struct lst_console *console, const struct lnet_process_id *ids, uint32_t count,
             struct lst_presence *presence)
{
    struct lst_group asked = {.ids = (struct lnet_process_id *)ids, .count = count};
    struct lst_rpc *rpcs = lst_console_rpcs(&asked);
    uint32_t i;
    int rc;

    if (rpcs == NULL)
        return -ENOMEM;
    rc = lst_console_ask(console, rpcs, count, LST_TYPE_DEBUG, LST_SERVICE_DEBUG);
    for (i = 0; i < count; i++) {
        const struct lst_session_id *session = &rpcs[i].reply.session_answer.session;
        struct lst_presence *found = &presence[i];

        memset(found, 0, sizeof(*found));
        found->state = state_of(rpcs[i].status);
        if (rpcs[i].status != 0)
            continue;
        found->console = session->nid;
        memcpy(found->session, rpcs[i].reply.session_answer.name, LST_NAME_BYTES);
        found->session[LST_NAME_BYTES - 1] = '\0';
        if (session->nid != console->id.nid || session->stamp != console->id.stamp)
            found->state = session->nid != 0 && found->session[0] != '\0' ? LST_BUSY : LST_UNKNOWN;
    }
    free(rpcs);
    return rc;
}

int lst_group_refresh(struct lst_console *console, const char *name)
{
    struct lst_group *group = lst_console_group(console, name);
    struct lst_presence *presence;
    struct lnet_process_id *ids;
    uint32_t i, count;
    int rc;

    if (group == NULL)
        return -ENOENT;
    count = group->count;
    ids = calloc(count + group->other_count + 1, sizeof(*ids));
    presence = calloc(count + 1, sizeof(*presence));
    rc = ids != NULL && presence != NULL && grow(group, count) ? 0 : -ENOMEM;
    if (rc == 0) {
        for (i = 0; i < count; i++)
            ids[i] = group->ids[i];
        lst_ping(console, ids, count, presence);
        for (i = 0; i < count; i++)
            if (presence[i].state != LST_ACTIVE) {
                take_out(group, &ids[i], false);
                put_in(group, &ids[i], presence[i].state);
            }
        count = group->other_count;
        for (i = 0; i < count; i++)
            ids[i] = group->others[i].id;
        lst_group_add(console, name, ids, count);
    }
    free(ids);
    free(presence);
    return rc;
}

struct lst_group *lst_console_all_nodes(struct lst_console *console)
{
    struct lst_group *all = calloc(1, sizeof(*all)), *group;
    uint32_t i, j;

    if (all == NULL)
        return NULL;
    list_for_each_entry (group, &console->groups, on_console)
        for (i = 0; i < group->count; i++) {
            struct lnet_process_id *ids;

            for (j = 0; j < all->count; j++)
                if (all->ids[j].nid == group->ids[i].nid && all->ids[j].pid == group->ids[i].pid)
                    break;
            if (j < all->count)
                continue;
            ids = realloc(all->ids, (all->count + 1) * sizeof(*ids));
            if (ids == NULL)
                break;
            all->ids = ids;
            all->ids[all->count++] = group->ids[i];
        }
    return all;
}

void lst_console_group_free(struct lst_group *group)
{
    free(group->ids);
    free(group->others);
    free(group);
}

/* ---- what there is -----------------------------------------------------------------------------
 */

int lst_group_members(struct lst_console *console, const char *name, struct lst_member *members,
                      uint32_t room)
{
    const struct lst_group *group = lst_console_group(console, name);
    uint32_t i;

    if (group == NULL)
        return -ENOENT;
    for (i = 0; i < group->count + group->other_count && i < room; i++)
        members[i] = i < group->count ? (struct lst_member){group->ids[i], LST_ACTIVE}
                                      : group->others[i - group->count];
    return (int)(group->count + group->other_count);
}

const char *lst_group_name(struct lst_console *console, uint32_t index)
{
    struct lst_group *group;

    list_for_each_entry (group, &console->groups, on_console)
        if (index-- == 0)
            return group->name;
    return NULL;
}
