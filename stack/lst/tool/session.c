/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Commands about sessions, groups and batches. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool.h"

#define ALL_STATES (LST_ACTIVE | LST_BUSY | LST_DOWN | LST_UNKNOWN)

static const char *state_name(enum lst_state state)
{
    switch (state) {
    case LST_ACTIVE:
        return "Active";
    case LST_BUSY:
        return "Busy";
    case LST_DOWN:
        return "Down";
    default:
        return "Unknown";
    }
}

static bool add_state(const char *name, unsigned *states)
{
    static const struct {
        const char *name;
        unsigned states;
    } known[] = {{"active", LST_ACTIVE},
                 {"busy", LST_BUSY},
                 {"down", LST_DOWN},
                 {"unknown", LST_UNKNOWN},
                 {"all", ALL_STATES}};
    size_t i;

    for (i = 0; i < sizeof(known) / sizeof(*known); i++)
        if (strcmp(name, known[i].name) == 0) {
            *states |= known[i].states;
            return true;
        }
    return false;
}

/* ---- sessions -------------------------------------------------------------------------------- */

int lst_tool_new_session(struct lst_tool *tool, char **words, int count)
{
    const char *name = NULL, *value;
    long timeout = 300;
    bool force = false;
    int i = 1;

    if (tool->console != NULL)
        return lst_tool_refuse(tool->session, "there is a session; end_session ends it");
    while (i < count) {
        if ((value = lst_tool_option(words, count, &i, "--timeout")) != NULL) {
            if (!lst_tool_number("--timeout", value, 1, 1000000, &timeout))
                return 1;
        } else if (lst_tool_flag(words, count, &i, "--force")) {
            force = true;
        } else if (words[i][0] == '-' || name != NULL) {
            return lst_tool_refuse(words[i], "usage: new_session [--timeout S] [--force] [NAME]");
        } else {
            name = words[i++];
        }
    }
    if (name == NULL)
        name = "session";
    if (strlen(name) >= LST_NAME_BYTES)
        return lst_tool_refuse(name, "a name has at most 31 characters");
    tool->console = lst_session_new(tool->node, name, 1, force);
    if (tool->console == NULL)
        return lst_tool_refuse(name, "LNet has no network here");
    snprintf(tool->session, sizeof(tool->session), "%s", name);
    tool->timeout_s = (uint32_t)timeout;
    tool->force = force;
    printf("SESSION: %s FEATURES: 1 TIMEOUT: %ld FORCE: %s\n", name, timeout, force ? "Yes" : "No");
    return 0;
}

int lst_tool_end_session(struct lst_tool *tool, char **words, int count)
{
    int rc;

    (void)words;
    (void)count;
    rc = lst_session_end(tool->console);
    tool->console = NULL;
    if (lst_tool_check("some nodes did not leave the session", rc) != 0)
        return 1;
    puts("session is ended");
    return 0;
}

int lst_tool_show_session(struct lst_tool *tool, char **words, int count)
{
    struct lnet_process_id self = {.nid = LNET_NID_ANY};
    uint32_t groups = 0, batches = 0;

    (void)words;
    (void)count;
    LNetGetId(1, &self);
    while (lst_group_name(tool->console, groups) != NULL)
        groups++;
    while (lst_batch_name(tool->console, batches) != NULL)
        batches++;
    printf("%s ID: %s FEATURES: 1 TIMEOUT: %u GROUPS: %u BATCHES: %u\n", tool->session,
           libcfs_nid2str(self.nid), (unsigned)tool->timeout_s, (unsigned)groups,
           (unsigned)batches);
    return 0;
}

static int print_presence(struct lst_tool *tool, const struct lst_tool_ids *ids)
{
    struct lst_presence *found = calloc(ids->count + 1, sizeof(*found));
    uint32_t i;

    if (found == NULL)
        return lst_tool_check("ping", -ENOMEM);
    lst_ping(tool->console, ids->id, ids->count, found);
    for (i = 0; i < ids->count; i++)
        printf("%s: %s [session: %s id: %s]\n", libcfs_id2str(ids->id[i]),
               state_name(found[i].state),
               found[i].session[0] != '\0' ? found[i].session : "<NULL>",
               found[i].console != 0 ? libcfs_nid2str(found[i].console) : "LNET_NID_ANY");
    free(found);
    return 0;
}

static int ping_ids(struct lst_tool *tool, char **words, int count, struct lst_tool_ids *ids)
{
    const char *value;
    uint32_t group;
    int i = 1;

    while (i < count) {
        if (lst_tool_flag(words, count, &i, "--session")) {
            for (group = 0; lst_group_name(tool->console, group) != NULL; group++)
                lst_tool_ids_group(tool, ids, lst_group_name(tool->console, group), ALL_STATES);
        } else if ((value = lst_tool_option(words, count, &i, "--group")) != NULL) {
            if (lst_tool_ids_group(tool, ids, value, ALL_STATES) != 0)
                return lst_tool_refuse(value, "there is no such group");
        } else if ((value = lst_tool_option(words, count, &i, "--nodes")) != NULL) {
            if (!lst_tool_ids_add(ids, value))
                return 1;
        } else {
            return lst_tool_refuse(words[i],
                                   "usage: ping --session | --group GROUP | --nodes NIDS");
        }
    }
    return 0;
}

int lst_tool_ping(struct lst_tool *tool, char **words, int count)
{
    struct lst_tool_ids ids = {.count = 0};
    int rc;

    if (count == 1)
        return lst_tool_refuse("ping", "usage: ping --session | --group GROUP | --nodes NIDS");
    rc = ping_ids(tool, words, count, &ids);
    if (rc == 0)
        rc = print_presence(tool, &ids);
    free(ids.id);
    return rc;
}

/* ---- groups ---------------------------------------------------------------------------------- */

int lst_tool_add_group(struct lst_tool *tool, char **words, int count)
{
    struct lst_tool_ids ids = {.count = 0};
    int i, rc;

    if (count < 3)
        return lst_tool_refuse("add_group", "usage: add_group NAME NIDS...");
    for (i = 2; i < count; i++)
        if (!lst_tool_ids_add(&ids, words[i])) {
            free(ids.id);
            return 1;
        }
    rc = lst_group_add(tool->console, words[1], ids.id, ids.count);
    free(ids.id);
    if (lst_tool_check(words[1], rc) != 0)
        return 1;
    for (i = 2; i < count; i++)
        printf("%s are added to session\n", words[i]);
    return 0;
}

int lst_tool_del_group(struct lst_tool *tool, char **words, int count)
{
    if (count != 2)
        return lst_tool_refuse("del_group", "usage: del_group NAME");
    if (lst_tool_check(words[1], lst_group_delete(tool->console, words[1])) != 0)
        return 1;
    puts("Group is deleted");
    return 0;
}

int lst_tool_update_group(struct lst_tool *tool, char **words, int count)
{
    struct lst_tool_ids ids = {.count = 0};
    const char *value;
    unsigned states = 0;
    bool refresh = false;
    int i = 2, rc = 0;

    if (count < 3)
        return lst_tool_refuse("update_group", "usage: update_group NAME [--refresh] [--clean "
                                               "STATE] [--remove NIDS]");
    while (i < count && rc == 0) {
        if (lst_tool_flag(words, count, &i, "--refresh"))
            refresh = true;
        else if ((value = lst_tool_option(words, count, &i, "--remove")) != NULL)
            rc = lst_tool_ids_add(&ids, value) ? 0 : 1;
        else if ((value = lst_tool_option(words, count, &i, "--clean")) != NULL)
            rc = add_state(value, &states)
                     ? 0
                     : lst_tool_refuse(value, "states are busy, down and unknown");
        else
            rc = lst_tool_refuse(words[i], "this is no option of update_group");
    }
    if (rc == 0 && ids.count > 0)
        rc = lst_tool_check(words[1], lst_group_remove(tool->console, words[1], ids.id, ids.count));
    if (rc == 0 && states != 0)
        rc = lst_tool_check(words[1], lst_group_clean(tool->console, words[1], states));
    if (rc == 0 && refresh)
        rc = lst_tool_check(words[1], lst_group_refresh(tool->console, words[1]));
    if (rc == 0)
        puts("Group is updated");
    free(ids.id);
    return rc;
}

static int list_nodes(struct lst_tool *tool, const char *group, unsigned states)
{
    int members = lst_group_members(tool->console, group, NULL, 0), i;
    struct lst_member *member;
    unsigned shown = 0, counts[9] = {0};

    if (members < 0)
        return lst_tool_refuse(group, "there is no such group");
    member = calloc((size_t)members + 1, sizeof(*member));
    if (member == NULL)
        return lst_tool_check(group, -ENOMEM);
    lst_group_members(tool->console, group, member, (uint32_t)members);
    for (i = 0; i < members; i++) {
        counts[member[i].state]++;
        if ((member[i].state & states) == 0)
            continue;
        printf("%s: %s\n", libcfs_id2str(member[i].id), state_name(member[i].state));
        shown++;
    }
    if (states != 0)
        printf("Total %u nodes\n", shown);
    else
        printf("%6u%6u%6u%6u%6d  %s\n", counts[LST_ACTIVE], counts[LST_BUSY], counts[LST_DOWN],
               counts[LST_UNKNOWN], members, group);
    free(member);
    return 0;
}

int lst_tool_list_group(struct lst_tool *tool, char **words, int count)
{
    unsigned states = 0, groups = 0;
    int i, rc = 0;

    for (i = 1; i < count; i++)
        if (words[i][0] == '-' &&
            (strncmp(words[i], "--", 2) != 0 || !add_state(words[i] + 2, &states)))
            return lst_tool_refuse(words[i], "the options are --active, --busy, --down, --unknown "
                                             "and --all");
    for (i = 1; i < count && rc == 0; i++)
        if (words[i][0] != '-') {
            groups++;
            rc = list_nodes(tool, words[i], states != 0 ? states : ALL_STATES);
        }
    if (groups > 0)
        return rc;
    puts("Active  Busy  Down Unkn. Total  Group");
    for (i = 0; rc == 0 && lst_group_name(tool->console, (uint32_t)i) != NULL; i++)
        rc = list_nodes(tool, lst_group_name(tool->console, (uint32_t)i), 0);
    return rc;
}

/* ---- batches --------------------------------------------------------------------------------- */

int lst_tool_add_batch(struct lst_tool *tool, char **words, int count)
{
    if (count != 2)
        return lst_tool_refuse("add_batch", "usage: add_batch NAME");
    return lst_tool_check(words[1], lst_batch_add(tool->console, words[1]));
}

int lst_tool_list_batch(struct lst_tool *tool, char **words, int count)
{
    uint32_t i;

    (void)words;
    (void)count;
    for (i = 0; lst_batch_name(tool->console, i) != NULL; i++)
        printf("%s\n", lst_batch_name(tool->console, i));
    return 0;
}
