/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Sending a transfer: path, links, injected faults, arrival. */
#include "idle_link.h"

#include <assert.h>
#include "engine/trace.h"

struct sim_fault_point *net_shared_packet_point(void)
{
    static struct sim_fault_point point; /* it lives until sim_fini, longer than a network */

    if (sim_fault_point_find("net.packet") == NULL)
        sim_fault_point_register(&point, "net.packet");
    return &point;
}

static size_t show_units(const struct sim_trace_point *point, struct sim_trace_argument *arguments)
{
    *arguments = (struct sim_trace_argument){.name = "units", .number = point->value};
    return 1;
}

void net_tracks_register(void)
{
    static const struct sim_trace_group routers = {"router", 2, true};
    static const struct sim_trace_track link = {"port", &routers, true, show_units};

    sim_trace_track_register(NET_TRACK_LINK, &link);
}

struct faulted {
    struct net *net;
    const struct net_transfer *transfer;
};

static void describe(const void *what, struct sim_fault_hit *hit)
{
    const struct faulted *faulted = what;
    net_describe_fn *content = net_description(faulted->net, faulted->transfer);

    if (content != NULL)
        content(faulted->transfer, hit);
    if (hit->place[0] == '\0')
        net_fault_place(faulted->net, faulted->transfer, hit->place, sizeof hit->place);
}

/*
 * Asks the fault table about so many packets of the transfer and returns the delay. A dropped
 * transfer still fires its event when it would have arrived. A delay also delays later transfers of
 * the same flow.
 */
sim_time_t net_fault_apply(struct net *net, struct net_transfer *transfer, uint32_t packets)
{
    const struct faulted faulted = {net, transfer};
    struct sim_fault_subject subject = {
        .describe = describe,
        .what = &faulted,
        .source = transfer->source,
        .target = transfer->target,
        .source_group = net_group_of(net, transfer->source),
        .target_group = net_group_of(net, transfer->target),
        .kind = transfer->class,
        .packets = packets,
    };
    const struct sim_fault_rule *rule = sim_fault_ask(net->packet_point, &subject);
    const char *name = "drop"; /* in the trace */
    sim_time_t delay = 0;

    if (rule == NULL)
        return 0;
    switch (rule->action) {
    case SIM_FAULT_DELIVER:
        return 0;
    case SIM_FAULT_DELAY:
        name = "Delay";
        net->counters.delayed++;
        delay = rule->delay;
        break;
    case SIM_FAULT_DUPLICATE:
        name = "duplicate";
        net->counters.duplicated++;
        transfer->duplicated = true;
        break;
    case SIM_FAULT_CORRUPT:
        name = "corrupt";
        net->counters.poisoned++;
        transfer->poisoned = true;
        break;
    case SIM_FAULT_DROP:
    case SIM_FAULT_FAIL: /* a packet can only fail by being lost */
    case SIM_FAULT_CRASH:
        net->counters.dropped++;
        transfer->status = NET_DROPPED;
        break;
    }
    sim_trace_add_number("to node", transfer->target);
    sim_trace(SIM_TRACE_INSTANT, SIM_TRACK_FAULT, transfer->source, 0, name, sim_now(), 0, 0,
              transfer->target);
    return delay;
}

static void arrive(struct sim_event *event)
{
    struct net_transfer *transfer = sim_container_of(event, struct net_transfer, event);
    struct net_flight *flight = &transfer->flight;
    struct net *net = flight->net;

    event->fire = flight->fire;
    net->counters.last = sim_now();
    if (sim_unlikely(flight->failures_seen != net->failure_count) &&
        transfer->status == NET_DELIVERED && net_flight_lost(net, transfer)) {
        transfer->status = NET_DROPPED;
        net->counters.dropped++;
    }
    if (sim_unlikely(flight->links == NET_MULTIPATH))
        net_multipath_free(net, transfer);
    event->fire(event);
}

void net_count(struct net *net, struct net_transfer *transfer, const struct net_path *path)
{
    struct net_counters *counters = &net->counters;

    transfer->hops = (uint8_t)(path->links / path->parts - net->host_links);
    transfer->minimal = path->minimal;
    counters->transfers++;
    counters->packets += transfer->packets;
    counters->units += transfer->units;
    counters->hops += transfer->hops;
    if (path->minimal)
        counters->minimal++;
    else
        counters->non_minimal++;
}

static void refuse(struct net *net, struct net_transfer *transfer)
{
    transfer->status = NET_UNREACHABLE;
    transfer->hops = 0;
    transfer->minimal = false;
    net->counters.unreachable++;
    sim_trace_add_number("to node", transfer->target);
    sim_trace(SIM_TRACE_INSTANT, SIM_TRACK_FAULT, transfer->source, 0, "unreachable", sim_now(), 0,
              0, transfer->target);
    sim_event_schedule(&transfer->event, sim_now());
}

/* Counts the transfer, and returns when it arrives; SIM_NEVER: there is no live path. */
static sim_time_t reserve(struct net *net, struct net_transfer *transfer, sim_time_t feed)
{
    struct net_path path;
    sim_time_t arrival;
    bool reachable, counted = false;

    if (sim_likely(net->fidelity == NET_F1)) {
        if (sim_unlikely(net_hashes_lines(net, transfer))) {
            reachable = net_hashed_reserve(net, transfer, feed, &path, &arrival);
        } else if (net_is_train(net, transfer)) {
            reachable = net_train_reserve(net, transfer, feed, &arrival);
            counted = true;
        } else {
            reachable = net->topology->route(net, transfer, &path);
            if (sim_likely(reachable))
                arrival = net_chunk_reserve(net, transfer, &path, feed);
        }
    } else {
        reachable = net_closed_form(net, transfer, feed, &path, &arrival);
    }
    if (sim_unlikely(!reachable))
        return SIM_NEVER;
    if (!counted)
        net_count(net, transfer, &path);
    return arrival;
}

void net_send(struct net *net, struct net_transfer *transfer, sim_time_t feed)
{
    struct net_flight *flight = &transfer->flight;
    sim_time_t arrival;

    assert(transfer->packets > 0 && transfer->last_units <= transfer->units);
    if (sim_unlikely(net->counters.first == 0))
        net->counters.first = sim_now();
    if (transfer->route == NET_ROUTE_IN_ORDER)
        net_flow_fetch(&net->flows, transfer);
    transfer->status = NET_DELIVERED;
    transfer->poisoned = false;
    transfer->duplicated = false;
    if (!net_mode_adaptive(transfer->route) || !net_has_idle_links(net) ||
        net_is_train(net, transfer) || !net_idle_reserve(net, transfer, feed, &arrival)) {
        if (sim_unlikely(net->fidelity == NET_F2)) {
            struct net_path path;

            if (sim_unlikely(net->impaired) && !net->topology->route(net, transfer, &path))
                refuse(net, transfer);
            else
                net_packet_send(net, transfer, feed);
            return;
        }
        arrival = reserve(net, transfer, feed);
        if (sim_unlikely(arrival == SIM_NEVER)) {
            refuse(net, transfer);
            return;
        }
    }
    if (sim_unlikely(net->packet_point->rules != NULL))
        arrival += net_fault_apply(net, transfer, transfer->packets);
    if (!net_mode_adaptive(transfer->route))
        arrival = net_flow_keep_order(&net->flows, transfer, arrival);
    flight->net = net;
    flight->sent = sim_now();
    flight->failures_seen = net->failure_count;
    flight->fire = transfer->event.fire;
    transfer->event.fire = arrive;
    sim_prefetch_schedule(&transfer->prefetch_event, transfer->status == NET_DELIVERED
                                                         ? arrival + transfer->receiver_latency
                                                         : arrival);
}
