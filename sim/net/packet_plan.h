/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Shared by the files that route packets. A plan is the goal of an adaptive packet in its present
 * group: the target, the router of a blue link, or a root. An option is a port and virtual channel
 * that lead to the goal. packet_route.c explains why the channels cannot deadlock.
 */
#ifndef JACQUARD_NET_PACKET_PLAN_H
#define JACQUARD_NET_PACKET_PLAN_H

#include "packet.h"

struct plan {
    uint8_t goal, goal_port;
    uint8_t flags; /* PACKET_TO_ROOT, PACKET_NON_MINIMAL or 0 */
};

struct option {
    uint8_t port, vc;
};
#define OPTIONS_MAX 4

/* The port is in use less than half of the time, so no other option is compared with it. */
static inline bool is_idle(uint32_t load)
{
    return load <= 2;
}

static inline uint32_t below(uint64_t *bits, uint32_t bound)
{
    uint32_t value = (uint32_t)(((*bits & 0xffff) * bound) >> 16);

    *bits >>= 16;
    return value;
}

static inline const struct gateway *gateways_to(const struct dragonfly_position *at, uint32_t group)
{
    const struct dragonfly *fly = net_packets->fly;

    return &fly->gateways[dragonfly_peer_index(at->group, group) * fly->pair_links];
}

static inline struct plan plan_gateway(const struct gateway *gateway, uint8_t flags)
{
    return (struct plan){gateway->local, gateway->port, flags};
}

static inline void adopt_plan(struct packet *packet, const struct plan *plan)
{
    packet->goal = plan->goal;
    packet->goal_port = plan->goal_port;
    packet->flags |= plan->flags;
    if (plan->flags & PACKET_TO_ROOT)
        packet->flags &= (uint8_t)~PACKET_DECIDES_PER_HOP;
}

static inline struct plan plan_of(const struct packet *packet)
{
    return (struct plan){packet->goal, packet->goal_port,
                         packet->flags & (PACKET_TO_ROOT | PACKET_NON_MINIMAL)};
}

static inline void take_source_route(struct packet *packet, struct option *option)
{
    uint8_t entry = packet->path[packet->hops];

    assert(packet->hops < NET_PATH_MAX && packet->flags & PACKET_SOURCE_ROUTED);
    option->port = entry & (PACKET_NEXT_VC - 1);
    option->vc = (uint8_t)(packet->out_vc + (entry & PACKET_NEXT_VC ? 1 : 0));
}

/* The processor tile of the target NIC that the packet's flags name. */
static inline void take_ptile(const struct packet *packet, struct option *option)
{
    unsigned lane = packet->flags >> PACKET_PTILE_SHIFT & 3, half = packet->to >> 1 & 1;

    *option = (struct option){(uint8_t)(PORTS + half * HALF_TILES + lane), packet->out_vc};
}

/* Changes to the next VC where the rules demand it on arrival at a router: behind a blue link, and
 * at the root. */
static inline void update_vc_on_arrival(struct packet *packet, const struct dragonfly_position *at,
                                        unsigned color)
{
    if (color == COLOR_BLUE) {
        packet->out_vc++;
        packet->rank = RANK_NONE;
        packet->flags &= (uint8_t)~PACKET_DECIDES_PER_HOP;
        packet->goal_port = NO_PORT;
        packet->goal = UINT8_MAX;
    }
    if (packet->flags & PACKET_TO_ROOT &&
        (color == COLOR_BLUE || (packet->goal_port == NO_PORT && packet->goal == at->local))) {
        packet->out_vc++;
        packet->rank = RANK_NONE;
        packet->flags &= (uint8_t)~PACKET_TO_ROOT;
        packet->goal = UINT8_MAX;
    }
}

/* packet_options.c */
/* All ports by which a packet can go on to the plan's goal, and their channels: at most
 * OPTIONS_MAX. */
uint32_t net_packet_options(const struct packet *packet, uint32_t router, const struct plan *plan,
                            struct option *options);
/* The best of them; `load` is comparable among options. False: there is none. */
bool net_packet_best_option(const struct packet *packet, uint32_t router, const struct plan *plan,
                            uint64_t bits, struct option *best, uint32_t *load);

/* packet_plan.c */
/* A shortest path to the target: of several one that is alive, at random. */
struct plan net_packet_plan_shortest(const struct packet *packet, uint32_t router, uint64_t bits);
/* The number of other minimal candidates between groups. Sets *set to NULL for all links of the
 * pair of groups, else to `words`, which says which of them. */
uint32_t net_packet_count_others(const struct packet *packet, uint32_t router, uint64_t *words,
                                 const uint64_t **set);
/* The plan of one of these candidates. False: its link is dead. */
bool net_packet_plan_other(const struct packet *packet, uint32_t router, const uint64_t *set,
                           uint32_t number, struct plan *plan);
uint32_t net_packet_count_roots(const struct packet *packet, const struct dragonfly_position *at);
/* The number of a root that costs one link more than a shortest path. UINT32_MAX: there is none. */
uint32_t net_packet_near_root(const struct packet *packet, const struct dragonfly_position *at,
                              uint64_t bits);
/* The plan over a root. False: the root is an end of the path, or its link is dead. */
bool net_packet_plan_root(const struct packet *packet, uint32_t router, uint32_t number,
                          struct plan *plan);

#endif
