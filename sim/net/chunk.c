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
    net->totals[link].units += net->links[link].units;
    net->totals[link].transfers += net->links[link].transfers;
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

static void trace_link(const struct net *net, uint32_t link, sim_time_t start, sim_time_t duration,
                       uint32_t units)
{
    uint32_t ports = net->ports ? net->ports : net->link_count;
    struct trace_point point = {
        TRACE_SLICE, TRACE_LINK, link / ports, link % ports, "transfer", start, duration, 0, units,
    };

    trace_write(&point);
}

sim_time_t net_chunk_reserve(struct net *net, struct net_transfer *transfer,
                             const struct net_path *path, sim_time_t feed)
{
    struct net_flight *flight = &transfer->flight;
    sim_time_t now = sim_now(), head = now + path->transit, entered = head, finished = 0, hops = 0,
               tail, waited;
    const struct net_speed *first = &net->speed[COLOR_GREEN][net->full_lanes[COLOR_GREEN]];
    uint32_t units = transfer->units, i;

    for (i = 0; i < path->links; i++) {
        uint32_t index = path->link[i];
        struct net_link *link = &net->links[index];
        const struct net_speed *speed = net_link_speed(net, index, path->color[i]);
        sim_time_t wire = net_serialise(speed, units), start, queue, on_wire;

        queue = serve(link, head, wire);
        start = queue;
        if (path->width == NET_WIDE)
            start = queue > head + speed->spread ? queue - speed->spread : head;
        link->transfers++;
        link->units += units;
        if (sim_unlikely(link->units >= UINT32_MAX / 2))
            carry_over(net, index);
        if (i == 0) {
            first = speed;
            trace(TRACE_SLICE, TRACE_LINK, net->ports ? index / net->ports : 0,
                  net->ports ? index % net->ports : index, "transfer", queue, wire, 0, units);
        } else if (sim_unlikely(trace_on)) {
            trace_link(net, index, queue, wire, units);
        }
        /* its last unit on this link, and the way from there on; a time at the path's end less all
         * hops */
        on_wire = wire;
        if (path->width != 1) {
            sim_time_t last = net_serialise(speed, transfer->last_units);

            on_wire = (wire - last) / path->width + last;
        }
        if (start + on_wire - hops > finished)
            finished = start + on_wire - hops;
        flight->link[i] = index;
        flight->left_ns[i] = (uint32_t)((start + wire - now) / SIM_NS);
        head = start + speed->hop;
        hops += speed->hop;
    }
    if (path->links == 0)
        trace(TRACE_INSTANT, TRACE_LINK, net_router_of(net, transfer->source), net->ports,
              "transfer", now, 0, 0, units);
    flight->links = path->links;
    finished += hops;
    waited = head - entered - hops;
    net->counters.waiting += waited;
    tail = entered + feed + net_serialise(first, transfer->last_units);
    if (path->width == NET_WIDE)
        return tail + waited + (transfer->streamed ? path->propagation : hops);
    return tail + hops > finished ? tail + hops : finished; /* waiting and feeding overlap */
}
