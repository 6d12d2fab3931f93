/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * F1: a transfer reserves the links of its path, one after the other, by cut-through: the head
 * enters a link as soon as the link is free, and the link stays busy for the transfer's units. See
 * docs/internals/network.md, "F1" and "Spreading".
 */
#include "internal.h"

#include <assert.h>
#include "engine/trace.h"

/* Sixteenths of a chunk's time that a link loses when it changes between sources. Fixed minimal
 * paths lose more, because no packet can bypass one that waits. */
#define CONTENTION 2
#define CONTENTION_FIXED 5

static void fold_counters(struct net *net, uint32_t link)
{
    struct net_link_totals *totals = net_link_totals(net, link);

    totals->units += net->traffic[link].units;
    totals->transfers += net->traffic[link].transfers;
    net->traffic[link].units = 0;
    net->traffic[link].transfers = 0;
}

/*
 * Reserves `wire` of the link's time for a head that leaves the source now and would reach the link
 * `distance` later. Returns the time at which the link is free for it: the previous transfer may
 * have come along a shorter path, and is then further ahead.
 *
 * A dragonfly link that several sources compete for is idle from time to time, because the packet
 * that it could carry next is queued behind another one. The loss was fitted to F2.
 */
static inline sim_time_t reserve_link(sim_time_t *busy, struct net_link_traffic *traffic,
                                      sim_time_t now, sim_time_t distance, uint32_t source,
                                      uint32_t contention, sim_time_t wire)
{
    sim_time_t free_at = *busy + (traffic->distance < distance ? traffic->distance : distance);

    if (*busy > now && traffic->source != source)
        wire += wire * contention / 16;
    *busy = (*busy > now ? *busy : now) + wire;
    traffic->distance = (uint32_t)distance;
    traffic->source = source;
    return free_at;
}

static void trace_link(const struct net *net, uint32_t link, sim_time_t start, sim_time_t duration,
                       uint32_t units)
{
    struct sim_trace_point point = {
        SIM_TRACE_SLICE,
        NET_TRACK_LINK,
        net_trace_node(net, link),
        net_trace_index(net, link),
        "transfer",
        start,
        duration,
        0,
        units,
    };

    sim_trace_write(&point);
}

/* The result of reserving the links of one path. */
struct reservation {
    sim_time_t waited, hops; /* sums over the links */
    sim_time_t finished; /* arrival of the last unit if the slowest link determines it */
    const struct net_speed *first; /* of the first link */
};

/* The mean time that retransmissions by the link protocol add (F0 has no errors). */
static sim_time_t replay_time(const struct net *net, const struct net_path *path, uint32_t at,
                              const struct net_speed *speed, uint32_t units)
{
    sim_time_t inside = path->transit < speed->hop ? path->transit : speed->hop;

    return net_lcb_mean_replay_time(net, path->link[at], speed, speed->hop - inside, units);
}

/*
 * Reserves links begin to end - 1 of the path for `units`. closed_form: F0, each pair of endpoints
 * has its own links. spread: the packets spread over NET_WIDE ports. Both are constants at every
 * call, so that the compiler specialises this loop: most of a transfer's cost is here.
 */
static inline __attribute__((always_inline)) void
reserve_links(struct net *net, struct net_transfer *transfer, const struct net_path *path,
              uint32_t begin, uint32_t end, uint32_t units, struct reservation *reservation,
              bool closed_form, bool spread)
{
    struct net_flight *flight = &transfer->flight;
    sim_time_t now = sim_now() + net->send_delay, head = now + path->transit, entered = head,
               hops = 0, finished = 0;
    bool error_free = net->lcb == NULL;
    uint32_t width = spread ? NET_WIDE : path->width;
    uint32_t source = net->ports != 0 ? transfer->source : 0;
    uint32_t contention =
        net_mode_adaptive(transfer->route) || !path->minimal ? CONTENTION : CONTENTION_FIXED;
    uint32_t i;

    for (i = begin; i < end; i++) {
        uint32_t index = path->link[i];
        struct net_link *pair_link = closed_form ? net_pair_link(net, transfer, index) : NULL;
        sim_time_t *busy = closed_form ? &pair_link->busy_until : &net->busy_until[index];
        struct net_link_traffic *traffic = closed_form ? &pair_link->traffic : &net->traffic[index];
        const struct net_speed *speed = net_link_speed(net, index, path->color[i]);
        sim_time_t wire = net_serialise(speed, units), start, turn, on_wire = wire, departure;
        sim_time_t replay =
            closed_form || sim_likely(error_free) ? 0 : replay_time(net, path, i, speed, units);
        sim_time_t queued = *busy > now ? *busy : now;
        sim_time_t free_at = reserve_link(busy, traffic, now, entered + hops - now, source,
                                          contention, wire + replay);

        turn =
            free_at > head ? free_at : head; /* it may have waited for the same transfer upstream */
        start = turn;
        if (spread)
            start = turn > head + speed->tolerated_backlog ? turn - speed->tolerated_backlog : head;
        start += replay;
        if (!closed_form) {
            traffic->transfers++;
            traffic->units += units;
            if (sim_unlikely(traffic->units >= UINT32_MAX / 2))
                fold_counters(net, index);
        }
        if (i == 0) {
            reservation->first = speed;
            sim_trace(SIM_TRACE_SLICE, NET_TRACK_LINK, net_trace_node(net, index),
                      net_trace_index(net, index), "transfer", queued, wire, 0, units);
        } else if (sim_unlikely(sim_trace_on)) {
            trace_link(net, index, queued, wire, units);
        }
        if (width != 1) {
            sim_time_t last = net_serialise(speed, transfer->last_units);

            on_wire = (wire - last) / width + last;
        }
        /* the time at the end of the path, less all hops, so that links can be compared */
        if (start + on_wire - hops > finished)
            finished = start + on_wire - hops;
        flight->passed[i].link = index;
        departure = (start + wire - now) / SIM_NS;
        flight->passed[i].departure_ns = departure < UINT32_MAX ? (uint32_t)departure : UINT32_MAX;
        head = start + speed->hop;
        hops += speed->hop;
    }
    reservation->waited += head - entered - hops;
    reservation->hops = hops;
    if (finished + hops > reservation->finished)
        reservation->finished = finished + hops;
}

/* Divides the units evenly over the parts of the path; the first parts get the remainder. */
static void reserve_parts(struct net *net, struct net_transfer *transfer,
                          const struct net_path *path, uint32_t units,
                          struct reservation *reservation)
{
    uint32_t parts = path->parts, links, i;

    assert(parts > 0 && path->links % parts == 0 && path->links <= NET_PATH_MAX);
    links = path->links / parts;
    for (i = 0; i < parts; i++) {
        uint32_t share = units / parts + (i < units % parts);

        if (net->fidelity == NET_F0)
            reserve_links(net, transfer, path, i * links, (i + 1) * links, share, reservation, true,
                          false);
        else
            reserve_links(net, transfer, path, i * links, (i + 1) * links, share, reservation,
                          false, false);
    }
    reservation->waited /= parts;
}

sim_time_t net_chunk_reserve(struct net *net, struct net_transfer *transfer,
                             const struct net_path *path, sim_time_t feed)
{
    struct reservation reservation = {.first =
                                          &net->speed[COLOR_GREEN][net->full_lanes[COLOR_GREEN]]};
    sim_time_t now = sim_now() + net->send_delay, tail;
    uint32_t units = transfer->units, links = path->links;

    assert(links <= NET_PATH_MAX && path->width >= 1 && path->width <= NET_WIDE);
    if (links == 0)
        sim_trace(SIM_TRACE_INSTANT, NET_TRACK_LINK,
                  net->first_router + net_router_of(net, transfer->source), net->ports, "transfer",
                  now, 0, 0, units);
    if (path->width == NET_WIDE && sim_likely(net->fidelity == NET_F1))
        reserve_links(net, transfer, path, 0, links, units, &reservation, false, true);
    else if (path->parts == 1 && sim_likely(net->fidelity == NET_F1))
        reserve_links(net, transfer, path, 0, links, units, &reservation, false, false);
    else
        reserve_parts(net, transfer, path, units, &reservation);
    transfer->flight.links = path->links;
    net->counters.waiting += reservation.waited;
    tail = now + path->transit + feed + net_serialise(reservation.first, transfer->last_units);
    if (path->width == NET_WIDE) {
        sim_time_t behind = net_stream_tail(net, transfer, feed);

        return tail + (reservation.waited > behind ? reservation.waited : behind) +
               (transfer->streamed ? path->propagation : reservation.hops);
    }
    tail += reservation.hops;
    /* Waiting and injection overlap. The links had `ready_span` more for the packets before the
     * last one. */
    if (tail + transfer->ready_span < reservation.finished)
        tail = reservation.finished - transfer->ready_span;
    return path->parts > 1 ? tail + net_stream_tail(net, transfer, feed) : tail;
}
