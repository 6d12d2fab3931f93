/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Routing of packets, and why it cannot deadlock.
 *
 * Virtual channels follow the hardware's rules. Requests start in VC 0 (adaptive or non-minimal,
 * other group), 1 (the same, own group), 2 (minimal, other group) or 3 (minimal, own group). They
 * change to the next VC at the root and after a blue link. Responses use the VCs 4 above these.
 *
 * These rules alone allow cycles: inside a group paths go green-black and black-green, and a packet
 * that takes another decision may take two green links in a row. Therefore one more rule holds:
 * within a VC the colours of a path rise, green before black before blue. Before a link that breaks
 * the rule the packet changes to the next VC. So (VC, colour) rises at every link of a path, and no
 * cycle of waiting packets is possible.
 *
 * There are four VCs (levels) per class, so a path may change VC three times. Paths that need more
 * changes are not candidates: an adaptive packet bound for a third group goes green-black, for
 * instance. Fixed paths that need more changes than their initial level allows start at a lower
 * one.
 *
 * Packets of the fixed modes are source-routed: they carry their whole path. Adaptive packets have
 * a goal in their present group: the target, the router of a blue link, or a root.
 */
#include <assert.h>
#include "packet_plan.h"

/* ---- the decision ---------------------------------------------------------------------------- */

struct decision {
    struct plan plan;
    struct option option;
    uint32_t load;
};
/* Added to the congestion value of a candidate that is drawn at random, which may take two more
 * links. */
#define TWO_LINKS_PENALTY 2
#define NOT_OPEN UINT32_MAX /* load of a plan without a live option */

static inline void consider(const struct packet *packet, uint32_t router, const struct plan *plan,
                            uint64_t bits, struct decision *decision)
{
    struct option option;
    uint32_t load;

    if (net_packet_best_option(packet, router, plan, bits, &option, &load) && load < decision->load)
        *decision = (struct decision){*plan, option, load};
}

/* The same for a plan that takes more links. Its congestion value plus `farther` must be lower. */
static inline void consider_longer(const struct packet *packet, uint32_t router,
                                   const struct plan *plan, uint32_t farther, uint64_t bits,
                                   struct decision *decision)
{
    struct decision other = {.load = NOT_OPEN};

    consider(packet, router, plan, bits, &other);
    if (other.load == NOT_OPEN)
        return;
    other.load += farther << 8;
    if (other.load >> 8 < decision->load >> 8)
        *decision = other;
}

static inline uint32_t cost(uint32_t load, uint32_t shift, uint32_t addend)
{
    return load == NOT_OPEN ? NOT_OPEN : (load >> 8 << shift) + addend;
}

/* The next port leads directly to the goal, so that its load stands for the whole leg. */
static inline bool leads_there(const struct dragonfly_position *at, const struct packet *packet)
{
    const struct dragonfly *fly = net_packets->fly;
    const struct dragonfly_position *goal =
        &fly->positions[at->group * fly->per_group + packet->goal];

    return goal->slot == at->slot || goal->chassis == at->chassis;
}

/*
 * Takes the decision of a packet that has been minimal so far, between its present plan, other
 * minimal plans and two non-minimal ones. False: none of them has a live option.
 */
static bool decide(struct packet *packet, uint32_t router, unsigned color, struct option *option)
{
    const struct net_packets *all = net_packets;
    const struct dragonfly *fly = all->fly;
    const struct dragonfly_position *at = &fly->positions[router];
    struct sim_random *random = &all->fly->random[router];
    const struct net_route_bias *bias =
        &fly->bias[packet->to >> 2][color == COLOR_PTILE ? 0 : 1 + color];
    struct decision min = {.load = NOT_OPEN}, non = {.load = NOT_OPEN};
    struct plan plan = plan_of(packet);
    uint64_t bits = sim_random_next(random);
    bool between = fly->positions[packet->target].group != at->group;
    uint32_t roots, cost_min, i;

    consider(packet, router, &plan, bits, &min);
    if (packet->hops == 0 && between && !is_idle(min.load) && leads_there(at, packet)) {
        bits = sim_random_next(random);
        plan = net_packet_plan_shortest(packet, router, bits);
        consider(packet, router, &plan, bits, &min);
    }
    if (min.load >> 8 > 0 && between) {
        uint64_t words[PAIR_WORDS_MAX];
        const uint64_t *set = words;
        uint32_t others, farther;

        if (packet->hops == 0) {
            others = net_dragonfly_near_gateways(fly, router, packet->target, words, &farther);
            bits = sim_random_next(random);
            if (net_packet_plan_other(packet, router, set,
                                      (uint32_t)(((bits >> 32) * others) >> 32), &plan))
                consider_longer(packet, router, &plan, farther, bits, &min);
        }
        others = min.load >> 8 > 0 ? net_packet_count_others(packet, router, words, &set) : 0;
        bits = sim_random_next(random);
        if (others > 0 && net_packet_plan_other(packet, router, set,
                                                (uint32_t)(((bits >> 32) * others) >> 32), &plan))
            consider_longer(packet, router, &plan, packet->hops == 0 ? TWO_LINKS_PENALTY : 0, bits,
                            &min);
    }
    cost_min = cost(min.load, bias->min_shift, bias->min_add);
    roots = cost_min > bias->non_add ? net_packet_count_roots(packet, at) : 0;
    for (i = 0; i < 2 && roots > 0; i++) {
        uint32_t root;
        bool far;

        bits = sim_random_next(random);
        root = i == 0 ? net_packet_near_root(packet, at, bits >> 32) : UINT32_MAX;
        far = root == UINT32_MAX;
        if (far)
            root = (uint32_t)(((bits >> 32) * roots) >> 32);
        if (net_packet_plan_root(packet, router, root, &plan))
            consider_longer(packet, router, &plan, far ? TWO_LINKS_PENALTY : 0, bits, &non);
    }
    if (min.load == NOT_OPEN && non.load == NOT_OPEN)
        return false;
    if (cost(non.load, bias->non_shift, bias->non_add) < cost_min)
        min = non;
    adopt_plan(packet, &min.plan);
    *option = min.option;
    return true;
}

/* ---- source routes --------------------------------------------------------------------------- */

/* Stores the path, with its changes of VC, in the packet. *steps: the number of changes. False: it
 * needs more than `left`. */
static bool store_source_route(struct packet *packet, const struct net_path *path, uint32_t left,
                               uint32_t *steps)
{
    uint8_t rank = packet->rank;
    uint32_t i;

    *steps = 0;
    if (packet->hops + path->links > NET_PATH_MAX)
        return false;
    for (i = 0; i < path->links; i++) {
        uint32_t port = path->link[i] % PORTS;
        bool step = path->color[i] + 1u <= rank || (i > 0 && i == path->root);

        *steps += step;
        packet->path[packet->hops + i] = (uint8_t)(port | (step ? PACKET_NEXT_VC : 0));
        rank = (uint8_t)(path->color[i] + 1);
        if (rank == RANK_BLUE) { /* it steps on arrival */
            ++*steps;
            rank = RANK_NONE;
        }
    }
    return *steps <= left;
}

/* No candidate of an adaptive packet is alive from here: routes it around the failures. */
static bool source_route_detour(struct packet *packet, uint32_t router)
{
    const struct net_packets *all = net_packets;
    uint32_t left = LEVELS - 1 - packet->out_vc % LEVELS, steps, i;
    struct net_path path;

    for (i = 0; i < 16; i++)
        if (net_dragonfly_fixed_path(all->net, &path, router, packet->target,
                                     sim_random_next(&all->fly->random[router])) &&
            store_source_route(packet, &path, left, &steps)) {
            packet->flags = (uint8_t)((packet->flags & ~(PACKET_DECIDES_PER_HOP | PACKET_TO_ROOT)) |
                                      PACKET_SOURCE_ROUTED | PACKET_NON_MINIMAL);
            return true;
        }
    return false;
}

/* ---- at the source --------------------------------------------------------------------------- */

static void keep_to_one_tile(struct packet *packet, uint64_t choice)
{
    packet->flags |= (uint8_t)(PACKET_IN_ORDER | (choice & 3) << PACKET_PTILE_SHIFT);
}

/* The packets of a NIC use the target's processor tiles in turn. */
static void pick_next_ptile(struct packet *packet, uint32_t source)
{
    uint8_t *turn = &net_packets->halves[source / 2].next_ptile[packet_class(packet)][source % 2];

    packet->flags |= (uint8_t)((*turn)++ % HALF_TILES << PACKET_PTILE_SHIFT);
}

/* The cache line of the packet that was handed over last. */
static uint64_t line_of(const struct net_transfer *transfer)
{
    return transfer->hash + transfer->flight.handed_over - 1;
}

static uint64_t flow_of(const struct net_transfer *transfer)
{
    if (transfer->route == NET_ROUTE_IN_ORDER)
        return dragonfly_pair_choice(transfer->source, transfer->target);
    return sim_mix(line_of(transfer) * 0x9e3779b97f4a7c15ull + transfer->target);
}

/*
 * Routes a packet of a fixed mode. It starts at the hardware's VC for the mode, or lower if the
 * path needs more levels. A detour around failures may need more levels than there are; then the
 * function tries other paths, which it derives from the flow.
 */
static bool begin_fixed(struct packet *packet, const struct net_transfer *transfer, bool own_group)
{
    struct net_transfer question = *transfer;
    struct net_path path;
    uint32_t steps = 0, level, i;

    question.hash = line_of(transfer);
    keep_to_one_tile(packet, flow_of(transfer) >> 40);
    for (i = 0; i < 16; i++) {
        if (!net_dragonfly_route(net_packets->net, &question, &path))
            return false;
        if (store_source_route(packet, &path, LEVELS - 1, &steps))
            break;
        question.route = NET_ROUTE_MIN_HASHED;
        question.hash = sim_mix(flow_of(transfer) + i);
    }
    if (i == 16)
        return false;
    level = (path.minimal ? 2 : 0) + own_group;
    if (level + steps > LEVELS - 1)
        level = LEVELS - 1 - steps;
    packet->out_vc += (uint8_t)level;
    packet->flags |= PACKET_SOURCE_ROUTED;
    if (!path.minimal)
        packet->flags |= PACKET_NON_MINIMAL;
    return true;
}

bool net_packet_route_begin(struct packet *packet)
{
    const struct net_transfer *transfer = packet->transfer;
    const struct net_packets *all = net_packets;
    uint32_t router = transfer->source / NODES_PER_ROUTER;
    bool own_group;
    struct plan plan;

    packet->out_vc = packet->vc;
    if (router == packet->target) {
        if (net_mode_adaptive(transfer->route))
            pick_next_ptile(packet, transfer->source);
        else
            keep_to_one_tile(packet, flow_of(transfer) >> 40);
        return true;
    }
    own_group = all->fly->positions[router].group == all->fly->positions[packet->target].group;
    if (!net_mode_adaptive(transfer->route))
        return begin_fixed(packet, transfer, own_group);
    packet->out_vc += own_group;
    pick_next_ptile(packet, transfer->source);
    packet->flags |= PACKET_DECIDES_PER_HOP;
    plan = net_packet_plan_shortest(packet, router, sim_random_next(&all->fly->random[router]));
    adopt_plan(packet, &plan);
    return true;
}

/* ---- at every input -------------------------------------------------------------------------- */

/* Chooses the next hop of a packet that takes no decisions, by a shortest path: to the root, and
 * from there to the target. */
static bool route_without_decision(struct packet *packet, uint32_t router, struct option *option)
{
    struct sim_random *random = &net_packets->fly->random[router];
    struct plan plan = plan_of(packet);
    uint64_t bits = sim_random_next(random);
    uint32_t load;

    if (packet->goal == UINT8_MAX) {
        struct decision best = {.load = NOT_OPEN};
        int i;

        for (i = 0; i < 2 && !is_idle(best.load); i++) {
            plan = net_packet_plan_shortest(packet, router, bits);
            bits = sim_random_next(random);
            consider(packet, router, &plan, bits, &best);
        }
        if (best.load == NOT_OPEN)
            return false;
        adopt_plan(packet, &best.plan);
        *option = best.option;
        return true;
    }
    return net_packet_best_option(packet, router, &plan, bits, option, &load);
}

bool net_packet_route_next(struct packet *packet)
{
    uint32_t router = packet_router(packet);
    const struct dragonfly_position *at = &net_packets->fly->positions[router];
    unsigned color = packet_input(packet)->color;
    struct option option;

    update_vc_on_arrival(packet, at, color);
    if (router == packet->target) {
        take_ptile(packet, &option);
    } else if (packet->flags & PACKET_SOURCE_ROUTED) {
        take_source_route(packet, &option);
    } else if (!(packet->flags & PACKET_DECIDES_PER_HOP
                     ? decide(packet, router, color, &option)
                     : route_without_decision(packet, router, &option))) {
        if (!source_route_detour(packet, router))
            return false;
        take_source_route(packet, &option);
    }
    assert(option.vc / RESPONSE_VC == packet_class(packet));
    packet->out_port = option.port;
    packet->out_vc = option.vc;
    return true;
}
