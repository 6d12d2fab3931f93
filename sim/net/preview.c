/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Paths for devices that carry their messages themselves, and want to know where they would go. */
#include <string.h>
#include "internal.h"

bool net_way_find(struct net *net, const struct net_transfer *transfer, struct net_way *way)
{
    struct net_path path;

    if (!net->topology->route(net, transfer, &path))
        return false;
    way->source = net_router_of(net, transfer->source);
    way->target = net_router_of(net, transfer->target);
    way->latency = net_path_latency(net, &path, transfer->last_units);
    way->links = path.links;
    memcpy(way->link, path.link, path.links * sizeof(*path.link));
    return true;
}

bool net_way_by_link(const struct net *net, const struct net_way *way, uint32_t router_a,
                     uint32_t router_b, uint32_t which)
{
    uint32_t link, reverse, i;

    if (!net->topology->find(net, router_a, router_b, which, &link, &reverse))
        return false;
    for (i = 0; i < way->links; i++)
        if (way->link[i] == link || way->link[i] == reverse)
            return true;
    return false;
}

bool net_way_by_router(const struct net *net, const struct net_way *way, uint32_t router)
{
    struct net_link_info info = {0};
    uint32_t i;

    for (i = 0; i < way->links; i++)
        if (net->topology->describe(net, way->link[i], &info) && info.router == router)
            return true;
    return way->source == router || way->target == router;
}
