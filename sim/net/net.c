/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Networks: configuration, creation, and queries that all topologies answer. */
#define _GNU_SOURCE /* vasprintf */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "internal.h"

/*
 * Defaults: link rates and hop latencies of docs/network.md, "Links"; a virtual channel
 * takes at most 72 of a tile's buffer blocks of 8 phits. The bias classes are named in public,
 * their values are not: assumed.
 */
void net_config_default(struct net_config *config)
{
    *config = (struct net_config){
        .fidelity = NET_F1,
        .seed = 1,
        .topology = NET_DRAGONFLY,
        .dragonfly =
            {
                .preset = "mini2",
                .groups = 2,
                .chassis = 2,
                .slots = 4,
                .cables = 2,
                .green = {700, 95 * SIM_NS, LANES},
                .black = {700, 100 * SIM_NS, LANES},
                .blue = {625, 110 * SIM_NS, LANES},
                .router_transit = 50 * SIM_NS,
                .vc_units = 576,
                .bias = {{0, 0, 0, 0}, {0, 0, 0, 2}, {0, 0, 0, 4}, {0, 0, 2, 16}},
                .tile =
                    {
                        .private_blocks = 8,
                        .shared_blocks = 64,
                        .row_credits = 10,
                        .row_mps = 1600,
                        .column_mps = 1250,
                        .ptile_mps = 1250,
                        .nic_buffer = 40 * SIM_NS, /* 32 flits */
                    },
            },
        .switched =
            {
                .kind = "single-switch",
                .nodes = 16,
                .radix = 32,
                .rate_Bpus = 12500, /* 100 Gbit/s */
                .link_latency = 50 * SIM_NS,
                .switch_latency = 100 * SIM_NS,
            },
    };
}

bool net_fail(char **error, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    if (vasprintf(error, format, arguments) < 0)
        *error = NULL;
    va_end(arguments);
    return false;
}

/* The smallest backlog that gives a port this load. */
static sim_time_t least_backlog(double load, double load_per_ps)
{
    sim_time_t backlog = (sim_time_t)(load / load_per_ps);

    while (backlog > 0 && (double)backlog * load_per_ps >= load)
        backlog--;
    while ((double)backlog * load_per_ps < load)
        backlog++;
    return backlog;
}

static sim_time_t later(sim_time_t a, sim_time_t b)
{
    return a > b ? a : b;
}

void net_speed_init(struct net *net, unsigned color, const struct net_link_class *class,
                    uint32_t vc_units, uint32_t tolerated_units)
{
    static const double far[3] = {64, 256, 512}; /* of 576 phits */
    sim_time_t counts;
    uint32_t lanes, i;

    net->full_lanes[color] = (uint8_t) class->lanes;
    for (lanes = 1; lanes <= LANES; lanes++) {
        struct net_speed *speed = &net->speed[color][lanes];
        double unit = 1e6 * LANES / (class->rate_mps * lanes); /* ps */

        speed->unit = (uint64_t)llround(unit * 65536);
        speed->hop = class->hop;
        speed->tolerated_backlog = net_serialise(speed, tolerated_units);
        speed->load_per_ps = 15 / (unit * vc_units);
        counts = speed->tolerated_backlog + 1;
        for (i = 0; i < NET_LOADS; i++)
            speed->near_backlog[i] =
                i == 0 ? 0 : later(counts, least_backlog(i, speed->load_per_ps));
        for (i = 0; i < 3; i++)
            speed->far_backlog[i] =
                later(counts, least_backlog(far[i] * 15 / 576, speed->load_per_ps));
        speed->units_per_us = class->rate_mps * lanes / LANES;
    }
}

bool net_links_alloc(struct net *net, uint32_t links)
{
    net->link_count = links;
    net->busy_until = calloc(links, sizeof(*net->busy_until));
    net->traffic = calloc(links, sizeof(*net->traffic));
    net->down = calloc(links, sizeof(*net->down));
    net->router_dead = calloc(net->routers, sizeof(*net->router_dead));
    return net->busy_until != NULL && net->traffic != NULL && net->down != NULL &&
           net->router_dead != NULL;
}

struct net *net_create(const struct net_config *config, char **error)
{
    struct net *net;
    bool built;

    *error = NULL;
    if (config->fidelity == NET_F2 && config->topology != NET_DRAGONFLY) {
        net_fail(error,
                 "fidelity F2 (packets) is for dragonflies; a switched network has F0 and F1");
        return NULL;
    }
    net = calloc(1, sizeof(*net));
    if (net == NULL) {
        net_fail(error, "out of memory");
        return NULL;
    }
    net->fidelity = config->fidelity;
    net->seed = config->seed;
    net->first_router = config->first_router;
    if (config->topology == NET_DRAGONFLY)
        built = net_dragonfly_init(net, config, error);
    else
        built = net_switched_init(net, config, error);
    if (built && net->fidelity == NET_F2)
        built = net_packets_init(net, &config->dragonfly, error);
    if (!built) {
        net_destroy(net);
        return NULL;
    }
    net->packet_point =
        config->packet_point != NULL ? config->packet_point : net_shared_packet_point();
    net_tracks_register();
    return net;
}

void net_destroy(struct net *net)
{
    if (net == NULL)
        return;
    net_packets_fini(net);
    if (net->topology != NULL)
        net->topology->destroy(net);
    net_flow_table_fini(&net->flows);
    net_flow_table_fini(&net->pair_links);
    net_multipaths_fini(net);
    free(net->busy_until);
    free(net->traffic);
    free(net->totals);
    free(net->down);
    free(net->lanes);
    free(net->lcb);
    free(net->router_dead);
    free(net->failures);
    free(net);
}

void net_trace_end(const struct net *net)
{
    if (net->packets != NULL)
        net_packet_trace_end(net);
}

uint32_t net_endpoints(const struct net *net)
{
    return net->endpoints;
}

uint32_t net_groups(const struct net *net)
{
    return net->groups;
}

uint32_t net_group_of(const struct net *net, uint32_t endpoint)
{
    return endpoint / (net->endpoints / net->groups);
}

uint32_t net_routers(const struct net *net)
{
    return net->routers;
}

uint32_t net_router_of(const struct net *net, uint32_t endpoint)
{
    return endpoint / net->per_router;
}

enum net_fidelity net_fidelity(const struct net *net)
{
    return net->fidelity;
}

uint32_t net_minimal_hops(const struct net *net, uint32_t source, uint32_t target)
{
    struct net_path path;

    net->topology->shortest(net, source, target, &path);
    return path.links - net->host_links;
}

double net_path_rate(const struct net *net, uint32_t source, uint32_t target, enum net_route route)
{
    return net->topology->path_rate(net, source, target, route);
}

void net_get_counters(const struct net *net, struct net_counters *counters)
{
    *counters = net->counters;
}
