/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * F1: a transfer reserves the links of its path, one after the other, in cut-through: the head goes
 * on as soon as a link is free, the link stays busy for the transfer's units. See
 * docs/model-network.md, "F1" and "Spreading".
 */
#include "internal.h"
#include "engine/trace.h"

static void carry_over(struct net *net, uint32_t link)
{
    struct net_link_totals *totals = net_link_totals(net, link);

    totals->units += net->links[link].units;
    totals->transfers += net->links[link].transfers;
    net->links[link].units = 0;
    net->links[link].transfers = 0;
}

/* Takes `wire` of the link's time from when the head is served, which is returned. */
static inline sim_time_t serve(struct net_link *link, sim_time_t head, sim_time_t wire)
{
    sim_time_t turn = net_link_turn(link, head), gap_end = link->busy - link->gap_to, over;

    if (turn >= link->busy) { /* behind everything; what lies between is the new gap */
        sim_time_t from = link->gap_from + wire, to = link->gap_to + wire;

        if (turn > link->busy) {
            from = turn - link->busy + wire;
            to = wire;
        }
        if (to > UINT32_MAX) /* 4 ms back: nobody comes that late */
            from = to = 0;
        link->gap_from = from < UINT32_MAX ? (uint32_t)from : UINT32_MAX;
        link->gap_to = (uint32_t)to;
        link->busy = turn + wire;
        return turn;
    }
    /* in the gap, as far as it goes; the rest pushes back what was reserved behind it */
    over = turn + wire > gap_end ? turn + wire - gap_end : 0;
    link->busy += over;
    if (over > UINT32_MAX - link->gap_to)
        link->gap_from = link->gap_to = 0;
    else {
        link->gap_to += (uint32_t)over;
        link->gap_from = over > 0 ? link->gap_to : (uint32_t)(link->busy - turn - wire);
    }
    return turn;
}

/* A track per port of a router; the links of a switched network are one router's ports. */
static inline uint32_t track_of(const struct net *net, uint32_t link)
{
    return net->ports ? link / NET_DRAGONFLY_PORTS : 0;
}

static void trace_link(const struct net *net, uint32_t link, sim_time_t start, sim_time_t duration,
                       uint32_t units)
{
    uint32_t router = track_of(net, link);
    struct trace_point point = {
        TRACE_SLICE, TRACE_LINK, router, link - router * net->ports, "transfer", start,
        duration,    0,          units,
    };

    trace_write(&point);
}

/* What a walk over the links of one path brings out. */
struct walk {
    sim_time_t waited, hops;
    sim_time_t finished; /* when the last unit is through if the slowest link decides */
    const struct net_speed *first;
};

static inline void walk_links(struct net *net, struct net_transfer *transfer,
                              const struct net_path *path, uint32_t begin, uint32_t end,
                              uint32_t units, struct walk *walk)
{
    struct net_flight *flight = &transfer->flight;
    sim_time_t now = sim_now(), head = now + path->transit, entered = head, hops = 0, finished = 0;
    uint32_t i;

    for (i = begin; i < end; i++) {
        uint32_t index = path->link[i];
        struct net_link *link = &net->links[index];
        const struct net_speed *speed = net_link_speed(net, index, path->color[i]);
        sim_time_t wire = net_serialise(speed, units), start, turn, on_wire = wire, left;

        turn = serve(link, head, wire);
        start = turn;
        if (path->width == NET_WIDE)
            start = turn > head + speed->spread ? turn - speed->spread : head;
        link->transfers++;
        link->units += units;
        if (sim_unlikely(link->units >= UINT32_MAX / 2))
            carry_over(net, index);
        if (i == 0) {
            walk->first = speed;
            trace(TRACE_SLICE, TRACE_LINK, track_of(net, index),
                  index - track_of(net, index) * net->ports, "transfer", turn, wire, 0, units);
        } else if (sim_unlikely(trace_on)) {
            trace_link(net, index, turn, wire, units);
        }
        if (path->width != 1) {
            sim_time_t last = net_serialise(speed, transfer->last_units);

            on_wire = (wire - last) / path->width + last;
        }
        /* a time at the end of the path, less all hops, so that links can be compared */
        if (start + on_wire - hops > finished)
            finished = start + on_wire - hops;
        flight->link[i] = index;
        left = (start + wire - now) / SIM_NS;
        flight->left_ns[i] = left < UINT32_MAX ? (uint32_t)left : UINT32_MAX;
        head = start + speed->hop;
        hops += speed->hop;
    }
    walk->waited += head - entered - hops;
    walk->hops = hops;
    if (finished + hops > walk->finished)
        walk->finished = finished + hops;
}

sim_time_t net_chunk_reserve(struct net *net, struct net_transfer *transfer,
                             const struct net_path *path, sim_time_t feed)
{
    struct walk walk = {.first = &net->speed[COLOR_GREEN][net->full_lanes[COLOR_GREEN]]};
    sim_time_t now = sim_now(), tail;
    uint32_t units = transfer->units, links = path->links, parts = path->parts, i;

    if (links == 0)
        trace(TRACE_INSTANT, TRACE_LINK, net_router_of(net, transfer->source), net->ports,
              "transfer", now, 0, 0, units);
    if (sim_likely(parts == 1)) {
        walk_links(net, transfer, path, 0, links, units, &walk);
    } else {
        links /= parts;
        for (i = 0; i < parts; i++) /* the first ones get what cannot be divided */
            walk_links(net, transfer, path, i * links, (i + 1) * links,
                       units / parts + (i < units % parts), &walk);
        walk.waited /= parts;
    }
    transfer->flight.links = path->links;
    net->counters.waiting += walk.waited;
    tail = now + path->transit + feed + net_serialise(walk.first, transfer->last_units);
    if (path->width == NET_WIDE)
        return tail + walk.waited + (transfer->streamed ? path->propagation : walk.hops);
    tail += walk.hops;
    /* waiting and feeding overlap; the links had `lead` more for the packets before the last */
    return tail + transfer->lead > walk.finished ? tail : walk.finished - transfer->lead;
}
