/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Computes the ports and paths over which the packets of an adaptive stream spread on an idle
 * dragonfly, from the parameters of the network. */
#include <assert.h>
#include <math.h>
#include "dragonfly.h"

#define BLOCK_UNITS 8
#define PACKET_UNITS 14 /* the largest */
#define PACKET_BLOCKS 2

/* Computes the buffer occupancy of F2 that does not count as congestion, because any busy link has
 * it in transit. */
void net_dragonfly_buffers(struct net *net, const struct net_dragonfly_config *config)
{
    const struct net_tile_config *tile = &config->tile;
    struct dragonfly *fly = net->dragonfly;
    double moving = (double)config->router_transit * tile->column_mps / 1e6;
    uint32_t i;

    fly->window = tile->row_credits + (uint32_t)(moving < 100 ? moving : 100);
    fly->level_units = config->vc_units;
    for (i = 0; i < 3; i++) {
        const struct net_speed *speed = &net->speed[i][LANES];
        sim_time_t inside =
            config->router_transit < speed->hop ? config->router_transit : speed->hop;
        sim_time_t wire = net_serialise(speed, PACKET_UNITS), flight = speed->hop - inside;
        uint32_t before = (uint32_t)(config->router_transit * PACKET_UNITS / wire);
        uint32_t behind = (uint32_t)((flight + 3 * wire - 1) / wire) * PACKET_BLOCKS * BLOCK_UNITS;

        fly->crossbar_units = before > fly->crossbar_units ? before : fly->crossbar_units;
        fly->moving_units = behind > fly->moving_units ? behind : fly->moving_units;
    }
}

static double rate_of(const struct net *net, unsigned color)
{
    return net->speed[color][net->full_lanes[color]].units_per_us;
}

static sim_time_t hop_of(const struct net *net, unsigned color)
{
    return net->speed[color][LANES].hop;
}

/* The smallest load at which a packet leaves the minimal paths; 16: it never does. */
static uint32_t threshold(const struct net_route_bias *bias)
{
    uint32_t load = bias->min_add > bias->non_add
                        ? 0
                        : ((bias->non_add - bias->min_add) >> bias->min_shift) + 1;

    return load > 15 ? 16 : load;
}

static uint32_t waiting_at(const struct dragonfly *fly, uint32_t load)
{
    return load * fly->level_units / 15;
}

/* The longest wait at the inputs of `feeders` links that lead to one bottleneck. */
static sim_time_t input_time(const struct net *net, uint32_t feeders, uint32_t more, double rate)
{
    const struct dragonfly *fly = net->dragonfly;
    uint32_t units = feeders * (fly->window / PACKET_UNITS * PACKET_UNITS + more);
    sim_time_t time = (sim_time_t)(units * 1e6 / rate);

    return time > fly->router_transit ? time - fly->router_transit : 0;
}

static void paths_inside_group(const struct net *net, const struct dragonfly_position *from,
                               const struct dragonfly_position *to, uint32_t class,
                               struct net_stream_paths *stream)
{
    const struct dragonfly *fly = net->dragonfly;
    double green = rate_of(net, COLOR_GREEN), blacks = BLACK_LINKS * rate_of(net, COLOR_BLACK);
    sim_time_t green_hop = hop_of(net, COLOR_GREEN), black_hop = hop_of(net, COLOR_BLACK);
    uint32_t load = threshold(&fly->bias[class][0]);

    stream->detour_threshold_units =
        load > 15 ? NET_NO_DETOUR : waiting_at(fly, load) + fly->crossbar_units;
    if (from->chassis == to->chassis) {
        stream->rate = green;
        stream->ports = 1;
        stream->detour = fly->slots > 2 ? green_hop : 2 * black_hop;
    } else if (from->slot == to->slot) {
        stream->rate = blacks;
        stream->ports = BLACK_LINKS;
        stream->detour = fly->chassis > 2 ? black_hop : 2 * green_hop;
    } else { /* a path over each corner, with one green link in each */
        uint32_t later = threshold(&fly->bias[class][1 + COLOR_BLACK]);

        stream->rate = 2 * fmin(green, blacks);
        stream->ports = 2;
        stream->detour = fly->slots > 2 ? green_hop : black_hop;
        /* the corner behind the black links buffers more than the source can see */
        stream->far_wait = input_time(net, BLACK_LINKS, 0, green);
        if (load <= 15) {
            sim_time_t detour_threshold = (sim_time_t)(waiting_at(fly, later) * 1e6 / green);

            stream->far_detour_threshold =
                detour_threshold < stream->far_wait ? detour_threshold : stream->far_wait;
        }
    }
    stream->port_rate = rate_of(net, stream->ports == BLACK_LINKS ? COLOR_BLACK : COLOR_GREEN);
    stream->far_rate = stream->rate;
}

/* The rate of a leg inside a group, from or to a gateway. */
static double leg_rate(const struct net *net, uint32_t leg)
{
    double green = rate_of(net, COLOR_GREEN), blacks = BLACK_LINKS * rate_of(net, COLOR_BLACK);

    switch (leg) {
    case LEG_HERE:
        return INFINITY;
    case LEG_GREEN:
        return green;
    case LEG_BLACK:
        return blacks;
    default:
        return 2 * fmin(green, blacks);
    }
}

/* Each gateway router has the two links of one connector. */
static void paths_between_groups(const struct net *net, uint32_t s, uint32_t t,
                                 struct net_stream_paths *stream)
{
    static const uint32_t ports[4] = {2, 1, BLACK_LINKS, 1 + BLACK_LINKS};
    const struct dragonfly *fly = net->dragonfly;
    struct dragonfly_path_kind paths[DRAGONFLY_PATH_KINDS_MAX];
    double blues = 2 * rate_of(net, COLOR_BLUE), far = 0;
    uint32_t farther, count = net_dragonfly_path_kinds(fly, s, t, paths, &farther, &stream->detour),
                      i;
    bool here = count > 0 && paths[0].source == LEG_HERE, leg = false;

    /* other minimal paths have no bias against them */
    stream->detour_threshold_units =
        waiting_at(fly, 1 + farther) + (here ? 0 : fly->crossbar_units);
    for (i = 0; i < count; i++)
        leg |= paths[i].source != LEG_BOTH;
    for (i = 0; i < count; i++) {
        double gateways = paths[i].links < 2 ? 1 : paths[i].links / 2;
        double near = here ? blues : leg_rate(net, paths[i].source);
        double behind = leg_rate(net, paths[i].target), narrow = fmin(blues, behind);

        if (leg && paths[i].source == LEG_BOTH)
            continue; /* packet_plan.c prefers the paths that leave the group sooner */
        stream->rate += gateways * near;
        stream->ports += (uint32_t)gateways * ports[paths[i].source];
        far += gateways * narrow;
        if (narrow < near) {
            uint32_t feeders = narrow < blues ? 2 : ports[paths[i].source];
            uint32_t packets = fly->moving_units / (BLOCK_UNITS * PACKET_BLOCKS);
            sim_time_t wait = input_time(net, feeders, packets * PACKET_UNITS, narrow);

            stream->far_wait = wait > stream->far_wait ? wait : stream->far_wait;
        }
    }
    stream->port_rate = rate_of(net, here ? COLOR_BLUE : COLOR_GREEN);
    stream->far_rate = fmin(far, stream->rate);
    if (stream->detour == SIM_NEVER)
        stream->detour_threshold_units = NET_NO_DETOUR;
}

bool net_dragonfly_stream_paths(const struct net *net, const struct net_transfer *transfer,
                                struct net_stream_paths *stream)
{
    const struct dragonfly *fly = net->dragonfly;
    uint32_t s = transfer->source / NODES_PER_ROUTER, t = transfer->target / NODES_PER_ROUTER;
    const struct dragonfly_position *from = &fly->positions[s], *to = &fly->positions[t];

    assert(net_mode_adaptive(transfer->route));
    if (s == t || net->impaired)
        return false;
    *stream = (struct net_stream_paths){.transit = fly->router_transit};
    if (from->group == to->group)
        paths_inside_group(net, from, to, transfer->route - NET_ROUTE_ADAPTIVE_0, stream);
    else
        paths_between_groups(net, s, t, stream);
    return stream->ports > 0;
}
