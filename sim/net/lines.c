/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Hashed modes at F0 and F1. Each packet, a cache line, has a path of its own, which its hash
 * gives; a transfer reserves the links of all of them. Lines of the same path go together. See
 * docs/internals/network.md, "F1".
 */
#include <stdlib.h>
#include <string.h>
#include "internal.h"

struct part { /* the lines of a transfer that take the same path */
    struct net_path path;
    uint32_t lines, last; /* how many, and the last one of them */
};

/* The links of a transfer by all its paths, until it arrives: too many for its own notes. */
struct net_fan {
    struct net_fan *next;
    uint32_t links;
    uint32_t link[NET_LINES_MAX * NET_PATH_MAX], left_ns[NET_LINES_MAX * NET_PATH_MAX];
};

struct fan_block {
    struct fan_block *next;
    struct net_fan fan[32];
};

static struct net_fan *fan_new(struct net *net)
{
    struct net_fan *fan;

    if (net->fans == NULL) {
        struct fan_block *block = malloc(sizeof(*block));
        uint32_t i;

        if (block == NULL)
            abort();
        block->next = net->fan_blocks;
        net->fan_blocks = block;
        for (i = 0; i < sizeof(block->fan) / sizeof(*block->fan); i++) {
            block->fan[i].next = net->fans;
            net->fans = &block->fan[i];
        }
    }
    fan = net->fans;
    net->fans = fan->next;
    fan->links = 0;
    return fan;
}

void net_fans_fini(struct net *net)
{
    while (net->fan_blocks != NULL) {
        struct fan_block *next = net->fan_blocks->next;

        free(net->fan_blocks);
        net->fan_blocks = next;
    }
}

void net_fan_end(struct net *net, struct net_transfer *transfer)
{
    struct net_fan *fan = transfer->flight.fan;

    fan->next = net->fans;
    net->fans = fan;
}

void net_flight_links(const struct net_flight *flight, struct net_links_passed *passed)
{
    if (flight->links == NET_FAN)
        *passed =
            (struct net_links_passed){flight->fan->link, flight->fan->left_ns, flight->fan->links};
    else
        *passed = (struct net_links_passed){flight->link, flight->left_ns, flight->links};
}

static bool same_path(const struct net_path *a, const struct net_path *b)
{
    return a->links == b->links && memcmp(a->link, b->link, a->links * sizeof(*a->link)) == 0;
}

/* The paths of all lines; returns how many differ, 0: nothing leads there. */
static uint32_t find_parts(struct net *net, struct net_transfer *transfer, uint32_t per_step,
                           struct part *parts)
{
    uint64_t hash = transfer->hash;
    uint32_t count = 0, line, i;

    for (line = 0; line < transfer->packets; line += per_step) {
        uint32_t lines = transfer->packets - line;
        struct part *part = &parts[count];

        if (lines > per_step)
            lines = per_step;
        transfer->hash = hash + line;
        if (!net->topology->route(net, transfer, &part->path)) {
            count = 0;
            break;
        }
        for (i = 0; i < count && !same_path(&parts[i].path, &part->path); i++)
            ;
        parts[i].lines = i < count ? parts[i].lines + lines : lines;
        parts[i].last = line + lines - 1;
        count += i == count;
    }
    transfer->hash = hash;
    return count;
}

static void remember(struct net_fan *fan, const struct net_flight *flight)
{
    memcpy(fan->link + fan->links, flight->link, flight->links * sizeof(*flight->link));
    memcpy(fan->left_ns + fan->links, flight->left_ns, flight->links * sizeof(*flight->left_ns));
    fan->links += flight->links;
}

bool net_lines_reserve(struct net *net, struct net_transfer *transfer, sim_time_t feed,
                       struct net_path *path, sim_time_t *arrival)
{
    struct part parts[NET_LINES_MAX];
    uint32_t per_step = (transfer->packets + NET_LINES_MAX - 1) / NET_LINES_MAX;
    uint32_t count = find_parts(net, transfer, per_step, parts), units = transfer->units, lines, i;
    uint32_t gaps = transfer->packets - 1, rest = units % transfer->packets;
    sim_time_t waited = net->counters.waiting;
    struct net_fan *fan;

    if (count == 0)
        return false;
    *path = parts[0].path;
    if (count == 1) {
        *arrival = net_chunk_reserve(net, transfer, path, feed);
        return true;
    }
    *arrival = 0;
    fan = fan_new(net);
    for (i = 0; i < count; i++) { /* the first one gets what cannot be divided */
        sim_time_t tail;

        lines = parts[i].lines;
        transfer->units = units / transfer->packets * lines + (i == 0 ? rest : 0);
        tail = net_chunk_reserve(net, transfer, &parts[i].path, feed * parts[i].last / gaps);
        if (tail > *arrival)
            *arrival = tail;
        remember(fan, &transfer->flight);
    }
    transfer->units = units;
    transfer->flight.links = NET_FAN;
    transfer->flight.fan = fan;
    net->counters.waiting = waited + (net->counters.waiting - waited) / count;
    return true;
}
