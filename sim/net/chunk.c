/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * F1: a transfer reserves the links of its path, one after the other, in cut-through: the head goes
 * on as soon as a link is free, the link stays busy for the transfer's units. See
 * docs/internals/network.md, "F1" and "Spreading".
 */
#include "internal.h"

#include <assert.h>
#include "engine/trace.h"

/* Sixteenths of a chunk's time that are lost between sources. Minimal paths that do not adapt lose
 * more: no packet goes round one that waits. */
#define CONTENTION 2
#define CONTENTION_FIXED 5

static void carry_over(struct net *net, uint32_t link)
{
    struct net_link_totals *totals = net_link_totals(net, link);

    totals->units += net->passed[link].units;
    totals->transfers += net->passed[link].transfers;
    net->passed[link].units = 0;
    net->passed[link].transfers = 0;
}

/*
 * Takes `wire` of the link's time; returns when it is free for a head that leaves now and would be
 * there `distance` later. Who comes a longer way than the one before finds less left of that one.
 *
 * A link of a dragonfly that several sources wait for stands still now and then, because what it
 * could carry next waits behind something else. How much it loses was fitted to F2.
 */
static inline sim_time_t serve(sim_time_t *busy, struct net_passed *passed, sim_time_t now,
                               sim_time_t distance, uint32_t source, uint32_t contention,
                               sim_time_t wire)
{
    sim_time_t free = *busy + (passed->distance < distance ? passed->distance : distance);

    if (*busy > now && passed->source != source)
        wire += wire * contention / 16;
    *busy = (*busy > now ? *busy : now) + wire;
    passed->distance = (uint32_t)distance;
    passed->source = source;
    return free;
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

/* What the link protocol sends again, in the mean (F0 knows no errors). */
static sim_time_t replay_time(const struct net *net, const struct net_path *path, uint32_t at,
                              const struct net_speed *speed, uint32_t units)
{
    sim_time_t inside = path->transit < speed->hop ? path->transit : speed->hop;

    return net_lcb_mean(net, path->link[at], speed, speed->hop - inside, units);
}

/* `own` (F0) and `wide` are constants where this is called, for it is where a transfer's time goes.
 */
static inline __attribute__((always_inline)) void
walk_links(struct net *net, struct net_transfer *transfer, const struct net_path *path,
           uint32_t begin, uint32_t end, uint32_t units, struct walk *walk, bool own, bool wide)
{
    struct net_flight *flight = &transfer->flight;
    sim_time_t now = sim_now(), head = now + path->transit, entered = head, hops = 0, finished = 0;
    bool sound = net->lcb == NULL; /* no link has errors */
    uint32_t width = wide ? NET_WIDE : path->width;
    uint32_t source = net->ports != 0 ? transfer->source : 0;
    uint32_t contention =
        net_mode_adaptive(transfer->route) || !path->minimal ? CONTENTION : CONTENTION_FIXED;
    uint32_t i;

    for (i = begin; i < end; i++) {
        uint32_t index = path->link[i];
        struct net_link *own_link = own ? net_own_link(net, transfer, index) : NULL;
        sim_time_t *busy = own ? &own_link->busy : &net->busy[index];
        struct net_passed *passed = own ? &own_link->passed : &net->passed[index];
        const struct net_speed *speed = net_link_speed(net, index, path->color[i]);
        sim_time_t wire = net_serialise(speed, units), start, turn, on_wire = wire, left;
        sim_time_t again = own || sim_likely(sound) ? 0 : replay_time(net, path, i, speed, units);
        sim_time_t queued = *busy > now ? *busy : now;
        sim_time_t free =
            serve(busy, passed, now, entered + hops - now, source, contention, wire + again);

        turn = free > head ? free : head; /* upstream it may have waited for the same */
        start = turn;
        if (wide)
            start = turn > head + speed->spread ? turn - speed->spread : head;
        start += again;
        if (!own) {
            passed->transfers++;
            passed->units += units;
            if (sim_unlikely(passed->units >= UINT32_MAX / 2))
                carry_over(net, index);
        }
        if (i == 0) {
            walk->first = speed;
            trace(TRACE_SLICE, TRACE_LINK, track_of(net, index),
                  index - track_of(net, index) * net->ports, "transfer", queued, wire, 0, units);
        } else if (sim_unlikely(trace_on)) {
            trace_link(net, index, queued, wire, units);
        }
        if (width != 1) {
            sim_time_t last = net_serialise(speed, transfer->last_units);

            on_wire = (wire - last) / width + last;
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

/* The first of several parts get what cannot be divided. */
static void walk_parts(struct net *net, struct net_transfer *transfer, const struct net_path *path,
                       uint32_t units, struct walk *walk)
{
    uint32_t parts = path->parts, links = path->links / parts, i;

    assert(path->links % parts == 0);
    for (i = 0; i < parts; i++) {
        uint32_t share = units / parts + (i < units % parts);

        if (net->fidelity == NET_F0)
            walk_links(net, transfer, path, i * links, (i + 1) * links, share, walk, true, false);
        else
            walk_links(net, transfer, path, i * links, (i + 1) * links, share, walk, false, false);
    }
    walk->waited /= parts;
}

sim_time_t net_chunk_reserve(struct net *net, struct net_transfer *transfer,
                             const struct net_path *path, sim_time_t feed)
{
    struct walk walk = {.first = &net->speed[COLOR_GREEN][net->full_lanes[COLOR_GREEN]]};
    sim_time_t now = sim_now(), tail;
    uint32_t units = transfer->units, links = path->links;

    if (links == 0)
        trace(TRACE_INSTANT, TRACE_LINK, net_router_of(net, transfer->source), net->ports,
              "transfer", now, 0, 0, units);
    if (sim_likely(path->width == NET_WIDE && net->fidelity == NET_F1))
        walk_links(net, transfer, path, 0, links, units, &walk, false, true);
    else
        walk_parts(net, transfer, path, units, &walk);
    transfer->flight.links = path->links;
    net->counters.waiting += walk.waited;
    tail = now + path->transit + feed + net_serialise(walk.first, transfer->last_units);
    if (path->width == NET_WIDE) {
        sim_time_t behind = net_tail(net, transfer, feed);

        return tail + (walk.waited > behind ? walk.waited : behind) +
               (transfer->streamed ? path->propagation : walk.hops);
    }
    tail += walk.hops;
    /* waiting and feeding overlap; the links had `lead` more for the packets before the last */
    if (tail + transfer->lead < walk.finished)
        tail = walk.finished - transfer->lead;
    return path->parts > 1 ? tail + net_tail(net, transfer, feed) : tail;
}
