/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Failures of links and routers, and the lanes of links. All transfers that a failed link carries,
 * or that are on a path over it and have not passed it, are lost. The network logs every failure.
 * When a transfer that was sent before a failure arrives, net_flight_lost checks whether the
 * failure hit a link or router that the transfer had not left.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "internal.h"

struct net_link_totals *net_link_totals(struct net *net, uint32_t link)
{
    if (net->totals == NULL)
        net->totals = calloc(net->link_count, sizeof(*net->totals));
    if (net->totals == NULL)
        abort();
    return &net->totals[link];
}

void net_failure_record(struct net *net, bool is_router, uint32_t a, uint32_t b)
{
    if (net->failure_count == net->failure_capacity) {
        net->failure_capacity = net->failure_capacity ? 2 * net->failure_capacity : 16;
        net->failures = realloc(net->failures, net->failure_capacity * sizeof(*net->failures));
        if (net->failures == NULL)
            abort();
    }
    assert(net->failure_count < net->failure_capacity);
    assert(net->failure_count == 0 || net->failures[net->failure_count - 1].time <= sim_now());
    net->failures[net->failure_count++] = (struct net_failure){sim_now(), is_router, a, b};
}

static void find_impairment(struct net *net)
{
    uint32_t i;

    net->impaired = false;
    for (i = 0; i < net->link_count && !net->impaired; i++)
        net->impaired = net->down[i] != 0;
    for (i = 0; i < net->routers && !net->impaired; i++)
        net->impaired = net->router_dead[i] != 0;
}

static void set_down(struct net *net, uint32_t link, uint8_t why, bool down)
{
    if (down)
        net->down[link] |= why;
    else
        net->down[link] &= (uint8_t)~why;
}

void net_link_mark(struct net *net, uint32_t link, uint32_t reverse, bool alive)
{
    set_down(net, link, DOWN_LINK, !alive);
    set_down(net, reverse, DOWN_LINK, !alive);
    find_impairment(net);
}

bool net_link_set_alive(struct net *net, uint32_t router_a, uint32_t router_b, uint32_t which,
                        bool alive)
{
    uint32_t link, reverse;

    if (!net->topology->find(net, router_a, router_b, which, &link, &reverse))
        return false;
    if (net->fidelity == NET_F2) {
        net_packet_set_link_alive(net, link, reverse, alive);
        return true;
    }
    if (!alive && !(net->down[link] & DOWN_LINK))
        net_failure_record(net, false, link, reverse);
    net_link_mark(net, link, reverse, alive);
    return true;
}

bool net_link_set_lanes(struct net *net, uint32_t router_a, uint32_t router_b, uint32_t which,
                        uint32_t lanes)
{
    struct net_link_info info = {0};
    uint32_t link, reverse, i;

    if (lanes < 1 || lanes > LANES ||
        !net->topology->find(net, router_a, router_b, which, &link, &reverse))
        return false;
    if (net->lanes == NULL) {
        net->lanes = malloc(net->link_count);
        if (net->lanes == NULL)
            abort();
        memset(net->lanes, LANES, net->link_count);
        for (i = 0; i < net->link_count; i++)
            if (net->topology->describe(net, i, &info))
                net->lanes[i] = net->full_lanes[info.color];
    }
    if (net->fidelity == NET_F2 && lanes < net->lanes[link]) { /* the link is reinitialised */
        net_packet_link_hold(net, link, NET_LCB_REINIT);
        net_packet_link_hold(net, reverse, NET_LCB_REINIT);
    }
    net->lanes[link] = (uint8_t)lanes;
    net->lanes[reverse] = (uint8_t)lanes;
    return true;
}

bool net_router_set_alive(struct net *net, uint32_t router, bool alive)
{
    if (router >= net->routers)
        return false;
    if (net->fidelity == NET_F2) {
        net_packet_set_router_alive(net, router, alive);
        return true;
    }
    if (net->router_dead[router] == !alive)
        return true;
    if (!alive)
        net_failure_record(net, true, router, UINT32_MAX);
    net_router_mark(net, router, alive);
    return true;
}

void net_router_mark(struct net *net, uint32_t router, bool alive)
{
    struct net_link_info info = {0};
    uint32_t i;

    net->router_dead[router] = !alive;
    for (i = 0; i < net->link_count; i++)
        if (net->topology->describe(net, i, &info)) {
            if (info.router == router)
                set_down(net, i, DOWN_SOURCE, !alive);
            if (info.peer == router)
                set_down(net, i, DOWN_TARGET, !alive);
        }
    find_impairment(net);
}

bool net_router_alive(const struct net *net, uint32_t router)
{
    return router < net->routers && !net->router_dead[router];
}

/* ---- transfers in flight --------------------------------------------------------------------- */

static bool lost_to_link(struct net *net, const struct net_transfer *transfer,
                         const struct net_failure *failure)
{
    struct net_link_info info = {0};
    struct net_flight_path path;
    uint32_t i;

    net_flight_links(&transfer->flight, &path);
    for (i = 0; i < path.links; i++) {
        uint32_t link = path.passed[i].link;
        sim_time_t left = transfer->flight.sent + path.passed[i].departure_ns * SIM_NS, wire;

        if ((link != failure->a && link != failure->b) || failure->time > left)
            continue;
        net->topology->describe(net, link, &info);
        wire = net_serialise(net_link_speed(net, link, info.color), transfer->units);
        if (failure->time + wire < left)
            net_link_totals(net, link)->dead++; /* it had not reached the link yet */
        else
            net_link_totals(net, link)->dropped++;
        return true;
    }
    return false;
}

static bool lost_to_router(struct net *net, const struct net_transfer *transfer, uint32_t router,
                           sim_time_t when)
{
    struct net_link_info info = {0};
    struct net_flight_path path;
    uint32_t i;

    net_flight_links(&transfer->flight, &path);
    for (i = 0; i < path.links; i++) {
        net->topology->describe(net, path.passed[i].link, &info);
        if (info.router == router &&
            when <= transfer->flight.sent + path.passed[i].departure_ns * SIM_NS) {
            net_link_totals(net, path.passed[i].link)->dropped++;
            return true;
        }
    }
    /* this is called in the event, receiver_latency after the arrival */
    return when + transfer->receiver_latency <= sim_now() &&
           (router == net_router_of(net, transfer->target) ||
            (path.links == 0 && router == net_router_of(net, transfer->source)));
}

bool net_flight_lost(struct net *net, const struct net_transfer *transfer)
{
    uint32_t i;

    assert(transfer->flight.failures_seen <= net->failure_count);
    for (i = transfer->flight.failures_seen; i < net->failure_count; i++) {
        const struct net_failure *failure = &net->failures[i];

        if (failure->is_router ? lost_to_router(net, transfer, failure->a, failure->time)
                               : lost_to_link(net, transfer, failure))
            return true;
    }
    return false;
}

/* ---- inspection ------------------------------------------------------------------------------ */

void net_for_each_link(const struct net *net,
                       void (*visit)(const struct net_link_info *, void *arg), void *arg)
{
    uint32_t i;

    for (i = 0; i < net->link_count; i++) {
        struct net_link_info info = {0};

        if (!net->topology->describe(net, i, &info))
            continue;
        info.trace_node = net_trace_node(net, i);
        info.trace_index = net_trace_index(net, i);
        info.alive = net->down[i] == 0;
        info.units = net->traffic[i].units;
        info.transfers = net->traffic[i].transfers;
        if (net->totals != NULL) {
            info.units += net->totals[i].units;
            info.transfers += net->totals[i].transfers;
            info.dropped = net->totals[i].dropped;
            info.dead = net->totals[i].dead;
        }
        if (net->packets != NULL)
            net_packet_link_info(net, i, &info);
        if (net->lcb != NULL) {
            info.replays = net->lcb[i].replays;
            info.reinits = net->lcb[i].reinits;
        }
        info.busy = (sim_time_t)((double)info.units * 1e6 /
                                 net_link_speed(net, i, info.color)->units_per_us);
        visit(&info, arg);
    }
}
