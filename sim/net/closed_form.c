/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * F0: the sum of the parts of a shortest path, no contention. What limits the rate of a stream is
 * the caller's to apply (net_path_rate). Only on an impaired network is a real path looked for, to
 * know whether there is one.
 */
#include "internal.h"
#include "engine/trace.h"

static sim_time_t sum(const struct net *net, const struct net_path *path, uint32_t last_units)
{
    const struct net_speed *first;
    sim_time_t time = path->transit;
    unsigned color = path->links > 0 ? path->color[0] : COLOR_GREEN;
    uint32_t i;

    for (i = 0; i < path->links; i++)
        time += net->speed[path->color[i]][LANES].hop;
    first = &net->speed[color][net->full_lanes[color]];
    return time + net_serialise(first, last_units);
}

sim_time_t net_idle_latency(const struct net *net, uint32_t source, uint32_t target,
                            uint32_t last_units)
{
    struct net_path path;

    net->topology->shortest(net, source, target, &path);
    return sum(net, &path, last_units);
}

bool net_closed_form(struct net *net, struct net_transfer *transfer, sim_time_t feed,
                     struct net_path *path, sim_time_t *arrival)
{
    if (sim_unlikely(net->impaired)) {
        if (!net->topology->route(net, transfer, path))
            return false;
    } else {
        net->topology->shortest(net, transfer->source, transfer->target, path);
    }
    transfer->flight.links = 0;
    *arrival = sim_now() + feed + sum(net, path, transfer->last_units);
    trace(TRACE_INSTANT, TRACE_LINK, net_router_of(net, transfer->source), net->ports, "transfer",
          sim_now(), 0, 0, transfer->units);
    return true;
}
