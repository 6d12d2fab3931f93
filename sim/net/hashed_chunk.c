/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Hashed modes at F0 and F1. Each packet carries one cache line, and the hash of the line selects
 * its path. A transfer reserves the links of the paths of all its lines; lines that take the same
 * path are reserved together. See docs/internals/network.md, "F1".
 */
#include <assert.h>
#include <string.h>
#include "multipath.h"

struct line_group { /* the lines of a transfer that take the same path */
    struct net_path path;
    uint32_t lines, last; /* number of lines; index of the last one */
};

static bool same_path(const struct net_path *a, const struct net_path *b)
{
    return a->links == b->links && memcmp(a->link, b->link, a->links * sizeof(*a->link)) == 0;
}

/* Finds the paths of all lines and groups the lines by path. Returns the number of groups; 0: there
 * is no live path. */
static uint32_t group_lines(struct net *net, struct net_transfer *transfer,
                            uint32_t lines_per_route, struct line_group *groups)
{
    uint64_t hash = transfer->hash;
    uint32_t count = 0, line, i;

    assert((transfer->packets + lines_per_route - 1) / lines_per_route <= NET_MULTIPATH_PATHS_MAX);
    for (line = 0; line < transfer->packets; line += lines_per_route) {
        uint32_t lines = transfer->packets - line;
        struct line_group *group = &groups[count];

        if (lines > lines_per_route)
            lines = lines_per_route;
        transfer->hash = hash + line;
        if (!net->topology->route(net, transfer, &group->path)) {
            count = 0;
            break;
        }
        for (i = 0; i < count && !same_path(&groups[i].path, &group->path); i++)
            ;
        groups[i].lines = i < count ? groups[i].lines + lines : lines;
        groups[i].last = line + lines - 1;
        count += i == count;
    }
    transfer->hash = hash;
    return count;
}

bool net_hashed_reserve(struct net *net, struct net_transfer *transfer, sim_time_t feed,
                        struct net_path *path, sim_time_t *arrival)
{
    struct line_group groups[NET_MULTIPATH_PATHS_MAX];
    uint32_t lines_per_route =
        (transfer->packets + NET_MULTIPATH_PATHS_MAX - 1) / NET_MULTIPATH_PATHS_MAX;
    uint32_t count = group_lines(net, transfer, lines_per_route, groups), units = transfer->units,
             lines, i;
    uint32_t gaps = transfer->packets - 1, rest = units % transfer->packets;
    sim_time_t waited = net->counters.waiting;
    struct net_multipath *multipath;

    assert(net_hashes_lines(net, transfer)); /* more than one packet */
    if (count == 0)
        return false;
    *path = groups[0].path;
    if (count == 1) {
        *arrival = net_chunk_reserve(net, transfer, path, feed);
        return true;
    }
    *arrival = 0;
    multipath = net_multipath_new(net);
    for (i = 0; i < count; i++) { /* the first group gets the remainder */
        sim_time_t tail;

        lines = groups[i].lines;
        transfer->units = units / transfer->packets * lines + (i == 0 ? rest : 0);
        tail = net_chunk_reserve(net, transfer, &groups[i].path, feed * groups[i].last / gaps);
        if (tail > *arrival)
            *arrival = tail;
        net_multipath_append(multipath, &transfer->flight, 0);
    }
    transfer->units = units;
    net_multipath_give(transfer, multipath);
    net->counters.waiting = waited + (net->counters.waiting - waited) / count;
    return true;
}
