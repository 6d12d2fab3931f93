/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The short way of an adaptive transfer at F1 whose minimal path is one idle link between two
 * routers of a chassis, or has no link because both endpoints are at one router. No decision is due
 * and nothing waits, so the arrival is a sum. Path, reservation, counters and digest are those of
 * adaptive.c, chunk.c and send.c.
 */
#ifndef JACQUARD_NET_IDLE_LINK_H
#define JACQUARD_NET_IDLE_LINK_H

#include "dragonfly.h"

/* What holds for all transfers on this network, or for none. */
static inline bool net_has_idle_links(const struct net *net)
{
    return net->fidelity == NET_F1 && net->ports != 0 && !net->impaired && net->lcb == NULL &&
           net->lanes == NULL;
}

static inline void net_idle_count(struct net *net, struct net_transfer *transfer, uint32_t links)
{
    struct net_counters *counters = &net->counters;

    transfer->hops = (uint8_t)links;
    transfer->minimal = true;
    transfer->flight.links = links;
    counters->transfers++;
    counters->packets += transfer->packets;
    counters->units += transfer->units;
    counters->hops += links;
    counters->minimal++;
}

/* False: the transfer takes the general way. Otherwise it is counted, and *arrival is set. */
static inline bool net_idle_reserve(struct net *net, struct net_transfer *transfer, sim_time_t feed,
                                    sim_time_t *arrival)
{
    const struct dragonfly *fly = net->dragonfly;
    uint32_t s = transfer->source / NODES_PER_ROUTER, t = transfer->target / NODES_PER_ROUTER;
    const struct dragonfly_position *from = &fly->positions[s], *to = &fly->positions[t];
    const struct net_speed *speed = &net->speed[COLOR_GREEN][net->full_lanes[COLOR_GREEN]];
    sim_time_t now = sim_now(), transit = fly->router_transit, wire;
    uint32_t class = transfer->route - NET_ROUTE_ADAPTIVE_0, port, link;
    struct net_link_traffic *traffic;

    assert(class < 4 && net->send_delay == 0);
    if (s == t) {
        net_idle_count(net, transfer, 0);
        sim_trace(SIM_TRACE_INSTANT, NET_TRACK_LINK, net->first_router + s, net->ports, "transfer",
                  now, 0, 0, transfer->units);
        *arrival = now + transit + feed + net_serialise(speed, transfer->last_units);
        return true;
    }
    port = dragonfly_green_port(from->slot, to->slot);
    link = s * PORTS + port;
    traffic = &net->traffic[link];
    if (from->chassis != to->chassis || from->group != to->group || net->busy_until[link] > now ||
        !fly->takes_idle[class] || (transfer->packets > 1 && fly->only_minimal[class]) ||
        traffic->units >= UINT32_MAX / 4) /* the general way folds it into the totals */
        return false;
    sim_random_next(&fly->random[s]); /* each choice of a path draws once */
    wire = net_serialise(speed, transfer->units);
    net->busy_until[link] = now + wire;
    traffic->distance = (uint32_t)transit;
    traffic->source = transfer->source;
    traffic->units += transfer->units;
    traffic->transfers++;
    sim_trace(SIM_TRACE_SLICE, NET_TRACK_LINK, net->first_router + s, port, "transfer", now, wire,
              0, transfer->units);
    net_idle_count(net, transfer, 1);
    transfer->flight.passed[0] =
        (struct net_passed_link){link, (uint32_t)((transit + wire) / SIM_NS)};
    *arrival = now + transit + feed + net_serialise(speed, transfer->last_units) + speed->hop +
               net_stream_tail(net, transfer, feed);
    return true;
}

#endif
