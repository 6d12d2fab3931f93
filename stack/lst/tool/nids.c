/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Lists of NIDs in the grammar of nidlists. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <lnet/nidstr.h>
#include "tool.h"

#define NODES_MAX 65536u

static bool add(struct lst_tool_ids *ids, struct lnet_process_id id)
{
    struct lnet_process_id *grown;

    if (ids->count == NODES_MAX)
        return false;
    grown = realloc(ids->id, (ids->count + 1) * sizeof(*grown));
    if (grown == NULL)
        return false;
    ids->id = grown;
    ids->id[ids->count++] = id;
    return true;
}

/* Adds the NIDs between the lowest and the highest one that are in the list. */
static bool add_range(struct lst_tool_ids *ids, struct list_head *list)
{
    char low[LNET_NIDSTR_SIZE], high[LNET_NIDSTR_SIZE];
    lnet_nid_t nid, last;

    if (cfs_nidrange_find_min_max(list, low, high, sizeof(low)) != 0)
        return false;
    nid = libcfs_str2nid(low);
    last = libcfs_str2nid(high);
    if (last - nid >= UINT64_C(1) << 24)
        return false;
    for (; nid <= last; nid++)
        if (cfs_match_nid(nid, list) != 0 &&
            !add(ids, (struct lnet_process_id){nid, LNET_PID_LUSTRE}))
            return false;
    return true;
}

bool lst_tool_ids_add(struct lst_tool_ids *ids, const char *text)
{
    struct list_head list;
    lnet_nid_t nid = libcfs_str2nid(text);
    bool good;

    if (nid != LNET_NID_ANY) {
        good = add(ids, (struct lnet_process_id){nid, LNET_PID_LUSTRE});
    } else if (cfs_parse_nidlist((char *)text, (int)strlen(text), &list) == 0) {
        lst_tool_refuse(text, "this is no NID and no range of NIDs, such as 10.0.0.[1-9]@tcp");
        return false;
    } else {
        good = add_range(ids, &list);
        cfs_free_nidlist(&list);
    }
    if (!good)
        lst_tool_refuse(text, "these are too many nodes; 65536 are possible");
    return good;
}

int lst_tool_ids_group(struct lst_tool *tool, struct lst_tool_ids *ids, const char *group,
                       unsigned states)
{
    int count = lst_group_members(tool->console, group, NULL, 0), i;
    struct lst_member *members;

    if (count < 0)
        return count;
    members = calloc((size_t)count + 1, sizeof(*members));
    if (members == NULL)
        return -ENOMEM;
    lst_group_members(tool->console, group, members, (uint32_t)count);
    for (i = 0; i < count; i++)
        if ((members[i].state & states) != 0 && !add(ids, members[i].id)) {
            free(members);
            return -ENOMEM;
        }
    free(members);
    return 0;
}
