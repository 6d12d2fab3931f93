/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * F0: every pair of endpoints has the network to itself. If the packets of a transfer spread over
 * so many ports that the links do not limit them, its time is the sum of the stages of a shortest
 * path. Otherwise the transfers of a pair wait for each other: on the links of their paths (fixed
 * modes, and adaptive classes that never leave the minimal paths), or on one virtual link that is
 * as wide as all ports that lead to the target.
 */
#include <assert.h>
#include <math.h>
#include "internal.h"
#include "engine/trace.h"

#define ALL_PORTS \
    UINT32_MAX /* link index of the virtual link that stands for all ports of a pair */

static sim_time_t hops(const struct net *net, const struct net_path *path)
{
    sim_time_t time = 0;
    uint32_t i;

    for (i = 0; i < path->links; i++)
        time += net->speed[path->color[i]][LANES].hop;
    return time;
}

sim_time_t net_path_latency(const struct net *net, const struct net_path *path, uint32_t last_units)
{
    unsigned color = path->links > 0 ? path->color[0] : COLOR_GREEN;
    const struct net_speed *first = &net->speed[color][net->full_lanes[color]];

    return path->transit + hops(net, path) + net_serialise(first, last_units);
}

sim_time_t net_idle_latency(const struct net *net, uint32_t source, uint32_t target,
                            uint32_t last_units)
{
    struct net_path path;

    net->topology->shortest(net, source, target, &path);
    return net_path_latency(net, &path, last_units);
}

/* All ports that lead to the target together serve the transfers of a pair, one after the other. */
static sim_time_t share_ports(struct net *net, const struct net_transfer *transfer,
                              const struct net_path *path, double rate, sim_time_t arrival)
{
    struct net_link *ports = net_pair_link(net, transfer, ALL_PORTS);
    sim_time_t head = sim_now() + path->transit, finished;

    if (ports->busy_until < head)
        ports->busy_until = head;
    ports->busy_until += (sim_time_t)(transfer->units * 1e6 / rate);
    finished = ports->busy_until + hops(net, path);
    return finished > arrival + transfer->ready_span ? finished - transfer->ready_span : arrival;
}

bool net_closed_form(struct net *net, struct net_transfer *transfer, sim_time_t feed,
                     struct net_path *path, sim_time_t *arrival)
{
    double rate = INFINITY;

    assert(net->fidelity == NET_F0);
    if (net_hashes_lines(net, transfer)) {
        if (!net_hashed_reserve(net, transfer, feed, path, arrival))
            return false;
        if (transfer->flight.links == NET_MULTIPATH)
            net_multipath_free(net, transfer);
        transfer->flight.links = 0;
        return true;
    }
    if (net_mode_adaptive(transfer->route))
        rate = net->topology->path_rate(net, transfer->source, transfer->target, transfer->route);
    if (sim_likely(isinf(rate) && !net->impaired && net_mode_adaptive(transfer->route)))
        net->topology->shortest(net, transfer->source, transfer->target, path);
    else if (!net->topology->route(net, transfer, path))
        return false;
    else if (path->width == 1) {
        *arrival = net_chunk_reserve(net, transfer, path, feed);
        transfer->flight.links = 0;
        return true;
    }
    transfer->flight.links = 0;
    *arrival = sim_now() + feed + net_path_latency(net, path, transfer->last_units);
    if (sim_unlikely(!isinf(rate)))
        *arrival = share_ports(net, transfer, path, rate, *arrival);
    else
        *arrival += net_stream_tail(net, transfer, feed);
    sim_trace(SIM_TRACE_INSTANT, NET_TRACK_LINK,
              net->first_router + net_router_of(net, transfer->source), net->ports, "transfer",
              sim_now(), 0, 0, transfer->units);
    return true;
}
