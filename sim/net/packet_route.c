/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Routing of packets, and why it cannot deadlock.
 *
 * Virtual channels follow the hardware's rules: requests start in VC 0 (adaptive or non-minimal,
 * other group), 1 (the same, own group), 2 (minimal, other group) or 3 (minimal, own group); they
 * step to the next one at the root and when they come over a blue link; responses are 4 above.
 * These rules alone leave cycles: inside a group paths go green-black and black-green, and a packet
 * that decides again may take two green links in a row. So one more rule holds: within a VC the
 * colours of a path rise, green before black before blue; where they do not, the packet steps. The
 * channels of a path then rise in (VC, colour) at every link, so no cycle of waiting is possible.
 * There are four levels, so a path may step three times; ways that would need more are no
 * candidates (an adaptive packet bound for a third group goes green-black, for instance), and fixed
 * paths that need more than the level they start at leaves start lower.
 *
 * Fixed modes list their path when they start. Adaptive packets have a goal in the group they are
 * in: the target, the router of a blue link, or a root.
 */
#include <assert.h>
#include "packet.h"

struct plan {
    uint8_t goal, goal_port;
    uint8_t flags; /* PACKET_TO_ROOT, PACKET_NON_MINIMAL or 0 */
};

struct option {
    uint8_t port, vc;
};
#define OPTIONS_MAX 4

/* ---- load ------------------------------------------------------------------------------------ */

/*
 * The congestion value of a port: what waits for it here and what of the VC's buffer at the other
 * end is taken, both in fifteenths of what a VC holds, plus 2, 4 or 8 for 64, 256 or 512 phits of
 * all VCs there. What a busy link always has on its way, in the crossbar or behind it, does not
 * count, nor do blocks whose credit is on its way back: they tell of no congestion.
 */
uint32_t packet_load(uint32_t tile, unsigned vc)
{
    const struct packet_net *all = packet_net;
    const struct packet_tile *output = &all->tiles[tile];
    uint64_t held = output->used_all - output->returning[0] - output->returning[1] -
                    output->returning[2] - output->returning[3];
    uint32_t used = held >> 8 * vc & 0xff, moving = all->moving_blocks, load = 0;
    uint32_t taken = (uint32_t)(held * 0x0101010101010101ull >> 56);

    if (output->color == COLOR_BLUE)
        load = output->queued * all->near_scale >> 16;
    else if (output->queued > all->crossing_units)
        load = (output->queued - all->crossing_units) * all->near_scale >> 16;
    if (used > moving)
        load += (used - moving) * all->far_scale >> 16;
    taken = (taken > moving ? taken - moving : 0) * BLOCK_UNITS;
    if (taken >= 64)
        load += taken >= 512 ? 8 : taken >= 256 ? 4 : 2;
    return load < 15 ? load : 15;
}

/* Nothing more of the packet's input and VC goes into the crossbar to that port's column. */
static inline bool is_blocked(const struct packet *packet, const struct packet_tile *output)
{
    uint32_t taken;

    if (sim_likely(packet_input(packet)->crossing == 0))
        return false;
    taken = packet_net->queues[packet->tile].crossing[packet->vc][output->column];
    return taken > 0 && taken + packet->units > packet_net->window;
}

/*
 * Ports are compared by the congestion value, and where that is the same among minimal ones by the
 * blocks taken at the other end: load << 8 | blocks. One that the packet has to wait for in its
 * input queue is full: how much waits there with it, the port does not know.
 */
static inline uint32_t option_load(const struct packet *packet, uint32_t router,
                                   const struct option *option)
{
    uint32_t tile = router * TILES + option->port, load, taken;
    struct packet_tile *output = &packet_net->tiles[tile];

    __builtin_prefetch(output, 1); /* its other half is needed soon */
    packet_credit_settle(output, sim_now());
    load = sim_unlikely(is_blocked(packet, output)) ? 15 : packet_load(tile, option->vc);
    taken = output->used[option->vc] + output->queued / 4;
    return load << 8 | (taken < 0xff ? taken : 0xff);
}

/* A port that is taken for less than half the time: not worth a comparison. */
static inline bool is_idle(uint32_t load)
{
    return load <= 2;
}

/* ---- ways to a goal -------------------------------------------------------------------------- */

/* Steps that the plan needs behind its present leg. */
static inline int steps_behind(const struct packet *packet, const struct place *at,
                               const struct plan *plan)
{
    bool leaves = packet_net->fly->places[packet->target].group != at->group;

    if (plan->flags & PACKET_TO_ROOT) /* root; blue links before and behind it */
        return plan->goal_port != NO_PORT ? 3 : leaves ? 2 : 1;
    return leaves ? 1 : 0;
}

struct search {
    uint32_t router;
    const struct place *at;
    struct option *options;
    uint32_t count;
};

static inline void add(struct search *search, uint32_t port, unsigned vc)
{
    if (net_link_alive(packet_net->net, search->router * PORTS + port))
        search->options[search->count++] = (struct option){(uint8_t)port, (uint8_t)vc};
}

static inline void add_blacks(struct search *search, const struct place *to, unsigned vc)
{
    uint32_t i;

    for (i = 0; i < BLACK_LINKS; i++)
        add(search, dragonfly_black_port(search->at->chassis, to->chassis, i), vc);
}

/* On the way from a root: the next router is the source itself. It came from there for a reason. */
static inline bool leads_back(const struct packet *packet, const struct place *at, uint32_t chassis,
                              uint32_t slot, const struct place *to)
{
    const struct place *from = &packet_net->fly->places[packet->source];

    return packet->hops > 0 && from->group == at->group && from != to && from->chassis == chassis &&
           from->slot == slot && at->chassis != to->chassis && at->slot != to->slot;
}

/* All ports by which a packet may go on to the plan's goal, and their VCs. */
static uint32_t find_options(const struct packet *packet, uint32_t router, const struct plan *plan,
                             struct option *options)
{
    const struct dragonfly *fly = packet_net->fly;
    const struct place *at = &fly->places[router];
    const struct place *to = &fly->places[at->group * fly->per_group + plan->goal];
    struct search search = {router, at, options, 0};
    unsigned vc = packet->out_vc;
    int left = LEVELS - 1 - (int)(vc % LEVELS) - steps_behind(packet, at, plan);
    bool green_steps = packet->rank >= RANK_GREEN, black_steps = packet->rank >= RANK_BLACK;

    if (left < 0)
        return 0;
    if (at == to) {
        if (plan->goal_port != NO_PORT)
            add(&search, plan->goal_port, vc);
        return search.count;
    }
    if (at->slot != to->slot && left >= green_steps &&
        !leads_back(packet, at, at->chassis, to->slot, to))
        add(&search, dragonfly_green_port(at->slot, to->slot), vc + green_steps);
    if (at->chassis != to->chassis && left >= black_steps + (at->slot != to->slot) &&
        !leads_back(packet, at, to->chassis, at->slot, to))
        add_blacks(&search, to, vc + black_steps);
    return search.count;
}

static inline uint32_t below(uint64_t *bits, uint32_t bound)
{
    uint32_t value = (uint32_t)(((*bits & 0xffff) * bound) >> 16);

    *bits >>= 16;
    return value;
}

/* The least loaded of these ports, which all lead to the same router; the first idle one will do.
 */
static uint32_t best_parallel(const struct packet *packet, uint32_t router,
                              const struct option *options, uint32_t count, uint64_t *bits,
                              struct option *best)
{
    uint32_t at = below(bits, count), load = option_load(packet, router, &options[at]), i;

    *best = options[at];
    for (i = 1; i < count && !is_idle(load); i++) {
        uint32_t other;

        at = at + 1 == count ? 0 : at + 1;
        other = option_load(packet, router, &options[at]);
        if (other < load) {
            *best = options[at];
            load = other;
        }
    }
    return load;
}

/* Phits that wait for a port or have taken room of the VC behind it, on their way included. */
static inline uint32_t ahead(uint32_t router, const struct option *option)
{
    const struct packet_tile *output = &packet_net->tiles[router * TILES + option->port];

    return output->queued + output->used[option->vc] * BLOCK_UNITS;
}

/*
 * The best port by which a packet may go on to the plan's goal; false: there is none. Where green
 * and black lead there, one green link stands against three black ones, which one green link
 * follows: the way with less before and on its green link is taken, so both get the same share. As
 * long as nothing waits at the near one it is preferred: of the other, which is shared with more
 * routers, less is known.
 */
static bool best_option(const struct packet *packet, uint32_t router, const struct plan *plan,
                        uint64_t bits, struct option *best, uint32_t *load)
{
    struct option options[OPTIONS_MAX];
    uint32_t count = find_options(packet, router, plan, options), green_load, green, queued,
             sum = 0, i;

    if (count == 0)
        return false;
    if (count == 1 || options[0].port >= PORT_BLACK) {
        *load = best_parallel(packet, router, options, count, &bits, best);
        return true;
    }
    green_load = option_load(packet, router, &options[0]);
    *load = best_parallel(packet, router, options + 1, count - 1, &bits, best);
    green = ahead(router, &options[0]);
    for (i = 1; i < count; i++)
        sum += ahead(router, &options[i]);
    queued = packet_net->tiles[router * TILES + options[0].port].queued;
    if (green < sum + (queued == 0 ? packet_net->moving_blocks * BLOCK_UNITS : 0)) {
        *best = options[0];
        *load = green_load;
    }
    return true;
}

/* ---- plans ----------------------------------------------------------------------------------- */

static inline const struct gateway *gateways_to(const struct place *at, uint32_t group)
{
    const struct dragonfly *fly = packet_net->fly;

    return &fly->gateways[dragonfly_peer_index(at->group, group) * fly->pair_links];
}

static inline struct plan plan_gateway(const struct gateway *gateway, uint8_t flags)
{
    return (struct plan){gateway->local, gateway->port, flags};
}

static inline bool gateway_alive(const struct place *at, const struct gateway *gateway)
{
    const struct dragonfly *fly = packet_net->fly;

    return net_link_alive(packet_net->net,
                          (at->group * fly->per_group + gateway->local) * PORTS + gateway->port);
}

/*
 * Of these blue links those within one link of here, if there are any: of paths of the same length
 * the ones that leave the group sooner, which meet fewer others of the same stream at the other
 * end.
 */
static uint32_t prefer_near(const struct place *at, uint32_t group, uint64_t *set, uint32_t count)
{
    const struct dragonfly *fly = packet_net->fly;
    uint32_t words = fly->pair_words, left = 0, w;
    const struct reach *reach =
        &fly->reach[(dragonfly_peer_index(at->group, group) * fly->per_group + at->local) * words];

    for (w = 0; w < words; w++)
        left += dragonfly_count_bits(set[w] & (reach[w].here | reach[w].green | reach[w].black));
    if (left == 0 || left == count)
        return count;
    for (w = 0; w < words; w++)
        set[w] &= reach[w].here | reach[w].green | reach[w].black;
    return left;
}

/* Towards the target by a shortest path; among equal ones a random one that is alive. */
static struct plan plan_shortest(const struct packet *packet, uint32_t router, uint64_t bits)
{
    const struct dragonfly *fly = packet_net->fly;
    const struct place *at = &fly->places[router], *to = &fly->places[packet->target];
    const struct gateway *gateways;
    uint64_t set[PAIR_WORDS_MAX];
    uint32_t count, leg, first, i, link = 0;

    if (at->group == to->group)
        return (struct plan){to->local, NO_PORT, 0};
    gateways = gateways_to(at, to->group);
    count = dragonfly_best_gateways(fly, router, packet->target, set, &leg, &leg);
    count = prefer_near(at, to->group, set, count);
    first = (uint32_t)(((bits >> 32) * count) >> 32);
    for (i = 0; i < count; i++) {
        link = dragonfly_nth_bit(set, first + i < count ? first + i : first + i - count);
        if (gateway_alive(at, &gateways[link]))
            break;
    }
    return plan_gateway(&gateways[link], 0);
}

/*
 * Another minimal candidate between groups: any of the pair's links at the source; later one of
 * those that are within two links of it. `number` counts these; false: it is not alive.
 */
static bool plan_other(const struct packet *packet, uint32_t router, const uint64_t *set,
                       uint32_t number, struct plan *plan)
{
    const struct place *at = &packet_net->fly->places[router];
    uint32_t link = set == NULL ? number : dragonfly_nth_bit(set, number);
    const struct gateway *gateway =
        &gateways_to(at, packet_net->fly->places[packet->target].group)[link];

    *plan = plan_gateway(gateway, 0);
    return gateway_alive(at, gateway);
}

/* How many they are; *set becomes NULL for all of the pair's, at the source, otherwise it says
 * which.
 */
static uint32_t count_others(const struct packet *packet, uint32_t router, uint64_t *words,
                             const uint64_t **set)
{
    const struct dragonfly *fly = packet_net->fly;
    const struct place *at = &fly->places[router], *to = &fly->places[packet->target];
    const struct reach *reach =
        &fly->reach[(dragonfly_peer_index(at->group, to->group) * fly->per_group + at->local) *
                    fly->pair_words];
    uint32_t count = 0, w;

    *set = NULL;
    if (packet->hops == 0)
        return fly->pair_links;
    for (w = 0; w < fly->pair_words; w++) {
        words[w] = reach[w].here | (packet->hops == 1 ? reach[w].green | reach[w].black : 0);
        count += dragonfly_count_bits(words[w]);
    }
    *set = words;
    return count;
}

static inline bool roots_are_near(const struct packet *packet, const struct place *at)
{
    return packet_net->fly->groups <= 2 ||
           packet_net->fly->places[packet->target].group == at->group;
}

static uint32_t count_roots(const struct packet *packet, const struct place *at)
{
    const struct dragonfly *fly = packet_net->fly;

    return roots_are_near(packet, at) ? fly->per_group : (fly->groups - 2) * fly->pair_links;
}

/* The n-th of numbers that are neither a nor b, which differ or, in a row of one's own, do not. */
static inline uint32_t third(uint32_t n, uint32_t a, uint32_t b)
{
    n += n >= (a < b ? a : b);
    return n + (a != b && n >= (a < b ? b : a));
}

/*
 * A root that costs one link more: in the chassis, or in the column, of both ends; where these have
 * neither in common, of this one. What a draw is worth is not public; that hardware prefers such
 * roots is assumed, and the other candidate is any router. UINT32_MAX: there is none.
 */
static uint32_t near_root(const struct packet *packet, const struct place *at, uint64_t bits)
{
    const struct dragonfly *fly = packet_net->fly;
    const struct place *to = &fly->places[packet->target];
    bool row = at->chassis == to->chassis, column = at->slot == to->slot;

    if (at->group != to->group)
        return UINT32_MAX;
    if (!row && !column)
        row = bits & 1;
    bits >>= 1;
    if (row)
        return fly->slots < 3 ? UINT32_MAX
                              : at->chassis * fly->slots +
                                    third(below(&bits, fly->slots - 2), at->slot, to->slot);
    return fly->chassis < 3
               ? UINT32_MAX
               : third(below(&bits, fly->chassis - 2), at->chassis, to->chassis) * fly->slots +
                     at->slot;
}

/* The how many-th root: a router of this group, or a blue link to a third group. False: it is an
 * end of the path itself. */
static bool plan_root(const struct packet *packet, uint32_t router, uint32_t number,
                      struct plan *plan)
{
    const struct dragonfly *fly = packet_net->fly;
    const struct place *at = &fly->places[router], *to = &fly->places[packet->target];
    const struct gateway *gateway;
    uint32_t group, low, high;

    if (roots_are_near(packet, at)) {
        *plan = (struct plan){(uint8_t)number, NO_PORT, PACKET_TO_ROOT | PACKET_NON_MINIMAL};
        return number != at->local && (to->group != at->group || number != to->local);
    }
    if (fly->pair_links == 0) /* one group: all roots are near */
        return false;
    group = number / fly->pair_links;
    low = at->group < to->group ? at->group : to->group;
    high = at->group < to->group ? to->group : at->group;
    group += group >= low;
    group += group >= high;
    gateway = &gateways_to(at, group)[number % fly->pair_links];
    *plan = plan_gateway(gateway, PACKET_TO_ROOT | PACKET_NON_MINIMAL);
    return gateway_alive(at, gateway);
}

static void follow(struct packet *packet, const struct plan *plan)
{
    packet->goal = plan->goal;
    packet->goal_port = plan->goal_port;
    packet->flags |= plan->flags;
    if (plan->flags & PACKET_TO_ROOT)
        packet->flags &= (uint8_t)~PACKET_FREE_CHOICE;
}

static inline struct plan plan_of(const struct packet *packet)
{
    return (struct plan){packet->goal, packet->goal_port,
                         packet->flags & (PACKET_TO_ROOT | PACKET_NON_MINIMAL)};
}

/* ---- the decision ---------------------------------------------------------------------------- */

struct decision {
    struct plan plan;
    struct option option;
    uint32_t load;
};
#define FARTHER 2 /* what two links more than a near way count in the congestion value */
#define CLOSED UINT32_MAX /* load of a way that is not open */

static inline void consider(const struct packet *packet, uint32_t router, const struct plan *plan,
                            uint64_t bits, struct decision *decision)
{
    struct option option;
    uint32_t load;

    if (best_option(packet, router, plan, bits, &option, &load) && load < decision->load)
        *decision = (struct decision){*plan, option, load};
}

/* The same for one that takes more links. It must be better by the congestion value, to which what
 * it is `farther` counts. */
static inline void consider_longer(const struct packet *packet, uint32_t router,
                                   const struct plan *plan, uint32_t farther, uint64_t bits,
                                   struct decision *decision)
{
    struct decision other = {.load = CLOSED};

    consider(packet, router, plan, bits, &other);
    if (other.load == CLOSED)
        return;
    other.load += farther << 8;
    if (other.load >> 8 < decision->load >> 8)
        *decision = other;
}

static inline uint32_t cost(uint32_t load, uint32_t shift, uint32_t addend)
{
    return load == CLOSED ? CLOSED : (load >> 8 << shift) + addend;
}

/* The next port leads to the goal at once, so its load tells of the way. */
static inline bool leads_there(const struct place *at, const struct packet *packet)
{
    const struct dragonfly *fly = packet_net->fly;
    const struct place *goal = &fly->places[at->group * fly->per_group + packet->goal];

    return goal->slot == at->slot || goal->chassis == at->chassis;
}

/*
 * Minimal so far: the way it is on, another minimal one, two non-minimal ones. False: none of them
 * is open.
 */
static bool decide(struct packet *packet, uint32_t router, unsigned color, struct option *option)
{
    const struct packet_net *all = packet_net;
    const struct dragonfly *fly = all->fly;
    const struct place *at = &fly->places[router];
    struct sim_random *random = &all->fly->random[router];
    const struct net_route_bias *bias =
        &fly->bias[packet->to >> 2][color == COLOR_PTILE ? 0 : 1 + color];
    struct decision min = {.load = CLOSED}, non = {.load = CLOSED};
    struct plan plan = plan_of(packet);
    uint64_t bits = sim_random_next(random);
    bool between = fly->places[packet->target].group != at->group;
    uint32_t roots, cost_min, i;

    consider(packet, router, &plan, bits, &min);
    if (packet->hops == 0 && between && !is_idle(min.load) && leads_there(at, packet)) {
        bits = sim_random_next(random);
        plan = plan_shortest(packet, router, bits);
        consider(packet, router, &plan, bits, &min);
    }
    if (min.load >> 8 > 0 && between) {
        uint64_t words[PAIR_WORDS_MAX];
        const uint64_t *set = words;
        uint32_t others, farther;

        if (packet->hops == 0) {
            others = dragonfly_near_gateways(fly, router, packet->target, words, &farther);
            bits = sim_random_next(random);
            if (plan_other(packet, router, set, (uint32_t)(((bits >> 32) * others) >> 32), &plan))
                consider_longer(packet, router, &plan, farther, bits, &min);
        }
        others = min.load >> 8 > 0 ? count_others(packet, router, words, &set) : 0;
        bits = sim_random_next(random);
        if (others > 0 &&
            plan_other(packet, router, set, (uint32_t)(((bits >> 32) * others) >> 32), &plan))
            consider_longer(packet, router, &plan, packet->hops == 0 ? FARTHER : 0, bits, &min);
    }
    cost_min = cost(min.load, bias->min_shift, bias->min_add);
    roots = cost_min > bias->non_add ? count_roots(packet, at) : 0;
    for (i = 0; i < 2 && roots > 0; i++) {
        uint32_t root;
        bool far;

        bits = sim_random_next(random);
        root = i == 0 ? near_root(packet, at, bits >> 32) : UINT32_MAX;
        far = root == UINT32_MAX;
        if (far)
            root = (uint32_t)(((bits >> 32) * roots) >> 32);
        if (plan_root(packet, router, root, &plan))
            consider_longer(packet, router, &plan, far ? FARTHER : 0, bits, &non);
    }
    if (min.load == CLOSED && non.load == CLOSED)
        return false;
    if (cost(non.load, bias->non_shift, bias->non_add) < cost_min)
        min = non;
    follow(packet, &min.plan);
    *option = min.option;
    return true;
}

/* ---- listed paths ---------------------------------------------------------------------------- */

/* Writes down the path and the steps on it; false: it needs more levels than `left`. *steps: how
 * many. */
static bool list(struct packet *packet, const struct net_path *path, uint32_t left, uint32_t *steps)
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
        packet->path[packet->hops + i] = (uint8_t)(port | (step ? PACKET_STEP : 0));
        rank = (uint8_t)(path->color[i] + 1);
        if (rank == RANK_BLUE) { /* it steps on arrival */
            ++*steps;
            rank = RANK_NONE;
        }
    }
    return *steps <= left;
}

/* Nothing that an adaptive packet looks for is alive from here: some way round. */
static bool list_detour(struct packet *packet, uint32_t router)
{
    const struct packet_net *all = packet_net;
    uint32_t left = LEVELS - 1 - packet->out_vc % LEVELS, steps, i;
    struct net_path path;

    for (i = 0; i < 16; i++)
        if (dragonfly_fixed_path(all->net, &path, router, packet->target,
                                 sim_random_next(&all->fly->random[router])) &&
            list(packet, &path, left, &steps)) {
            packet->flags = (uint8_t)((packet->flags & ~(PACKET_FREE_CHOICE | PACKET_TO_ROOT)) |
                                      PACKET_LISTED | PACKET_NON_MINIMAL);
            return true;
        }
    return false;
}

static void take_listed(struct packet *packet, struct option *option)
{
    uint8_t entry = packet->path[packet->hops];

    option->port = entry & (PACKET_STEP - 1);
    option->vc = (uint8_t)(packet->out_vc + (entry & PACKET_STEP ? 1 : 0));
}

/* ---- beginning ------------------------------------------------------------------------------- */

static void keep_to_one_tile(struct packet *packet, uint64_t choice)
{
    packet->flags |= (uint8_t)(PACKET_IN_ORDER | (choice & 3) << PACKET_LANE_SHIFT);
}

/* Packets of a NIC take the target's processor tiles in turn. */
static void take_turns(struct packet *packet, uint32_t source)
{
    uint8_t *turn = &packet_net->halves[source / 2].lane[packet_class(packet)][source % 2];

    packet->flags |= (uint8_t)((*turn)++ % HALF_TILES << PACKET_LANE_SHIFT);
}

/* The cache line of the packet that was cut last. */
static uint64_t line_of(const struct net_transfer *transfer)
{
    return transfer->hash + transfer->flight.cut - 1;
}

static uint64_t flow_of(const struct net_transfer *transfer)
{
    if (transfer->route == NET_ROUTE_IN_ORDER)
        return dragonfly_pair_choice(transfer->source, transfer->target);
    return sim_mix(line_of(transfer) * 0x9e3779b97f4a7c15ull + transfer->target);
}

/*
 * The hardware's VC for the mode, or as much lower as the path needs. A detour of a fixed mode
 * around what is dead may need more levels than there are; others of the flow are tried then.
 */
static bool begin_fixed(struct packet *packet, const struct net_transfer *transfer, bool own_group)
{
    struct net_transfer question = *transfer;
    struct net_path path;
    uint32_t steps = 0, level, i;

    question.hash = line_of(transfer);
    keep_to_one_tile(packet, flow_of(transfer) >> 40);
    for (i = 0; i < 16; i++) {
        if (!dragonfly_route(packet_net->net, &question, &path))
            return false;
        if (list(packet, &path, LEVELS - 1, &steps))
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
    packet->flags |= PACKET_LISTED;
    if (!path.minimal)
        packet->flags |= PACKET_NON_MINIMAL;
    return true;
}

bool packet_route_begin(struct packet *packet)
{
    const struct net_transfer *transfer = packet->transfer;
    const struct packet_net *all = packet_net;
    uint32_t router = transfer->source / NODES_PER_ROUTER;
    bool own_group;
    struct plan plan;

    packet->out_vc = packet->vc;
    if (router == packet->target) {
        if (net_mode_adaptive(transfer->route))
            take_turns(packet, transfer->source);
        else
            keep_to_one_tile(packet, flow_of(transfer) >> 40);
        return true;
    }
    own_group = all->fly->places[router].group == all->fly->places[packet->target].group;
    if (!net_mode_adaptive(transfer->route))
        return begin_fixed(packet, transfer, own_group);
    packet->out_vc += own_group;
    take_turns(packet, transfer->source);
    packet->flags |= PACKET_FREE_CHOICE;
    plan = plan_shortest(packet, router, sim_random_next(&all->fly->random[router]));
    follow(packet, &plan);
    return true;
}

/* ---- at every input -------------------------------------------------------------------------- */

/* A processor tile of the target NIC: any, or the flow's. */
static void take_ptile(const struct packet *packet, struct option *option)
{
    unsigned lane = packet->flags >> PACKET_LANE_SHIFT & 3, half = packet->to >> 1 & 1;

    *option = (struct option){(uint8_t)(PORTS + half * HALF_TILES + lane), packet->out_vc};
}

/* Steps of the VC that the place brings about, whatever way is taken from it. */
static void arrive(struct packet *packet, const struct place *at, unsigned color)
{
    if (color == COLOR_BLUE) {
        packet->out_vc++;
        packet->rank = RANK_NONE;
        packet->flags &= (uint8_t)~PACKET_FREE_CHOICE;
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

/* Behind the root: the target's group by a shortest way, or the target. */
static bool go_on(struct packet *packet, uint32_t router, struct option *option)
{
    struct sim_random *random = &packet_net->fly->random[router];
    struct plan plan = plan_of(packet);
    uint64_t bits = sim_random_next(random);
    uint32_t load;

    if (packet->goal == UINT8_MAX) {
        struct decision best = {.load = CLOSED};
        int i;

        for (i = 0; i < 2 && !is_idle(best.load); i++) {
            plan = plan_shortest(packet, router, bits);
            bits = sim_random_next(random);
            consider(packet, router, &plan, bits, &best);
        }
        if (best.load == CLOSED)
            return false;
        follow(packet, &best.plan);
        *option = best.option;
        return true;
    }
    return best_option(packet, router, &plan, bits, option, &load);
}

bool packet_route_next(struct packet *packet)
{
    uint32_t router = packet_router(packet);
    const struct place *at = &packet_net->fly->places[router];
    unsigned color = packet_input(packet)->color;
    struct option option;

    arrive(packet, at, color);
    if (router == packet->target) {
        take_ptile(packet, &option);
    } else if (packet->flags & PACKET_LISTED) {
        take_listed(packet, &option);
    } else if (!(packet->flags & PACKET_FREE_CHOICE ? decide(packet, router, color, &option)
                                                    : go_on(packet, router, &option))) {
        if (!list_detour(packet, router))
            return false;
        take_listed(packet, &option);
    }
    assert(option.vc / RESPONSE_VC == packet_class(packet));
    packet->out_port = option.port;
    packet->out_vc = option.vc;
    return true;
}

/* ---- all of them, for tests ------------------------------------------------------------------ */

struct ways {
    struct packet *list;
    uint32_t count, size;
};

static void add_ways(struct ways *ways, const struct packet *packet, uint32_t router,
                     const struct plan *plan)
{
    struct option options[OPTIONS_MAX];
    uint32_t count = find_options(packet, router, plan, options), i;

    for (i = 0; i < count && ways->count < ways->size; i++) {
        struct packet *way = &ways->list[ways->count++];

        *way = *packet;
        follow(way, plan);
        way->out_port = options[i].port;
        way->out_vc = options[i].vc;
    }
}

/* Every plan that plan_shortest can come to. */
static void add_shortest(struct ways *ways, const struct packet *packet, uint32_t router)
{
    const struct dragonfly *fly = packet_net->fly;
    const struct place *at = &fly->places[router], *to = &fly->places[packet->target];
    uint64_t set[PAIR_WORDS_MAX];
    uint32_t count, leg, i;
    struct plan plan = {to->local, NO_PORT, 0};

    if (at->group == to->group) {
        add_ways(ways, packet, router, &plan);
        return;
    }
    count = dragonfly_best_gateways(fly, router, packet->target, set, &leg, &leg);
    for (i = 0; i < count; i++) {
        plan = plan_gateway(&gateways_to(at, to->group)[dragonfly_nth_bit(set, i)], 0);
        add_ways(ways, packet, router, &plan);
    }
}

uint32_t packet_route_all(const struct packet *arriving, struct packet *list, uint32_t size)
{
    const struct dragonfly *fly = packet_net->fly;
    struct packet packet = *arriving;
    uint32_t router = packet_router(&packet), i;
    const struct place *at = &fly->places[router];
    struct ways ways = {list, 0, size};
    uint64_t words[PAIR_WORDS_MAX];
    const uint64_t *set = NULL;
    struct option option;
    struct plan plan;
    uint32_t others;

    arrive(&packet, at, packet_input(&packet)->color);
    plan = plan_of(&packet);
    if (router == packet.target) {
        take_ptile(&packet, &option);
    } else if (packet.flags & PACKET_LISTED) {
        take_listed(&packet, &option);
    } else if (packet.flags & PACKET_FREE_CHOICE) {
        if (packet.hops == 0)
            add_shortest(&ways, &packet, router);
        else
            add_ways(&ways, &packet, router, &plan);
        others = at->group != fly->places[packet.target].group
                     ? count_others(&packet, router, words, &set)
                     : 0;
        for (i = 0; i < others; i++)
            if (plan_other(&packet, router, set, i, &plan))
                add_ways(&ways, &packet, router, &plan);
        for (i = 0; i < count_roots(&packet, at); i++)
            if (plan_root(&packet, router, i, &plan))
                add_ways(&ways, &packet, router, &plan);
        return ways.count;
    } else {
        if (packet.goal == UINT8_MAX)
            add_shortest(&ways, &packet, router);
        else
            add_ways(&ways, &packet, router, &plan);
        return ways.count;
    }
    packet.out_port = option.port;
    packet.out_vc = option.vc;
    list[0] = packet;
    return 1;
}
