/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Previews of paths, for devices that carry their messages themselves (live mode) and ask which
 * links and routers a packet would take now.
 */
#include <string.h>
#include "internal.h"

bool net_preview(struct net *net, const struct net_transfer *transfer,
                 struct net_path_preview *preview)
{
    struct net_path path;

    if (!net->topology->route(net, transfer, &path))
        return false;
    preview->source = net_router_of(net, transfer->source);
    preview->target = net_router_of(net, transfer->target);
    preview->latency = net_path_latency(net, &path, transfer->last_units);
    preview->links = path.links;
    memcpy(preview->link, path.link, path.links * sizeof(*path.link));
    return true;
}

bool net_preview_uses_link(const struct net *net, const struct net_path_preview *preview,
                           uint32_t router_a, uint32_t router_b, uint32_t which)
{
    uint32_t link, reverse, i;

    if (!net->topology->find(net, router_a, router_b, which, &link, &reverse))
        return false;
    for (i = 0; i < preview->links; i++)
        if (preview->link[i] == link || preview->link[i] == reverse)
            return true;
    return false;
}

bool net_preview_uses_router(const struct net *net, const struct net_path_preview *preview,
                             uint32_t router)
{
    struct net_link_info info = {0};
    uint32_t i;

    for (i = 0; i < preview->links; i++)
        if (net->topology->describe(net, preview->link[i], &info) && info.router == router)
            return true;
    return preview->source == router || preview->target == router;
}
