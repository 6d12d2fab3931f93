/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The congestion value of a port, and the ports by which a packet can go on to its goal. */
#include "packet_plan.h"

/*
 * The congestion value of a port: what waits for it here and what of the VC's buffer at the other
 * end is taken, both in fifteenths of what a VC holds, plus 2, 4 or 8 for 64, 256 or 512 phits of
 * all VCs there. What a busy link always has on its way, in the crossbar or behind it, does not
 * count, nor do blocks whose credit is on its way back: they tell of no congestion.
 */
uint32_t net_packet_load(uint32_t tile, unsigned vc)
{
    const struct net_packets *all = net_packets;
    const struct packet_tile *output = &all->tiles[tile];
    uint64_t held = output->used_all - output->returning_credits[0] - output->returning_credits[1] -
                    output->returning_credits[2] - output->returning_credits[3];
    uint32_t used = held >> 8 * vc & 0xff, moving = all->moving_blocks, load = 0;
    uint32_t taken = (uint32_t)(held * 0x0101010101010101ull >> 56);

    if (output->color == COLOR_BLUE)
        load = output->queued * all->near_scale >> 16;
    else if (output->queued > all->crossbar_units)
        load = (output->queued - all->crossbar_units) * all->near_scale >> 16;
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

    if (sim_likely(packet_input(packet)->in_crossbar == 0))
        return false;
    taken = net_packets->queues[packet->tile].in_crossbar[packet->vc][output->column];
    return taken > 0 && taken + packet->units > net_packets->window;
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
    struct packet_tile *output = &net_packets->tiles[tile];

    __builtin_prefetch(output, 1); /* its other half is needed soon */
    packet_credit_settle(output, sim_now());
    load = sim_unlikely(is_blocked(packet, output)) ? 15 : net_packet_load(tile, option->vc);
    taken = output->used[option->vc] + output->queued / 4;
    return load << 8 | (taken < 0xff ? taken : 0xff);
}

/* ---- paths to a goal --------------------------------------------------------------------------
 */

/* Steps that the plan needs behind its present leg. */
static inline int steps_behind(const struct packet *packet, const struct dragonfly_position *at,
                               const struct plan *plan)
{
    bool leaves = net_packets->fly->positions[packet->target].group != at->group;

    if (plan->flags & PACKET_TO_ROOT) /* root; blue links before and behind it */
        return plan->goal_port != NO_PORT ? 3 : leaves ? 2 : 1;
    return leaves ? 1 : 0;
}

struct search {
    uint32_t router;
    const struct dragonfly_position *at;
    struct option *options;
    uint32_t count;
};

static inline void add(struct search *search, uint32_t port, unsigned vc)
{
    if (net_link_alive(net_packets->net, search->router * PORTS + port))
        search->options[search->count++] = (struct option){(uint8_t)port, (uint8_t)vc};
}

static inline void add_blacks(struct search *search, const struct dragonfly_position *to,
                              unsigned vc)
{
    uint32_t i;

    for (i = 0; i < BLACK_LINKS; i++)
        add(search, dragonfly_black_port(search->at->chassis, to->chassis, i), vc);
}

/* On the way from a root: the next router is the source itself. It came from there for a reason. */
static inline bool leads_back(const struct packet *packet, const struct dragonfly_position *at,
                              uint32_t chassis, uint32_t slot, const struct dragonfly_position *to)
{
    const struct dragonfly_position *from = &net_packets->fly->positions[packet->source];

    return packet->hops > 0 && from->group == at->group && from != to && from->chassis == chassis &&
           from->slot == slot && at->chassis != to->chassis && at->slot != to->slot;
}

/* All ports by which a packet may go on to the plan's goal, and their VCs. */
uint32_t net_packet_options(const struct packet *packet, uint32_t router, const struct plan *plan,
                            struct option *options)
{
    const struct dragonfly *fly = net_packets->fly;
    const struct dragonfly_position *at = &fly->positions[router];
    const struct dragonfly_position *to = &fly->positions[at->group * fly->per_group + plan->goal];
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
static inline uint32_t units_ahead(uint32_t router, const struct option *option)
{
    const struct packet_tile *output = &net_packets->tiles[router * TILES + option->port];

    return output->queued + output->used[option->vc] * BLOCK_UNITS;
}

/*
 * The best port by which a packet may go on to the plan's goal; false: there is none. Where green
 * and black lead there, one green link stands against three black ones, which one green link
 * follows: the way with less before and on its green link is taken, so both get the same share. As
 * long as nothing waits at the near one it is preferred: of the other, which is shared with more
 * routers, less is known.
 */
bool net_packet_best_option(const struct packet *packet, uint32_t router, const struct plan *plan,
                            uint64_t bits, struct option *best, uint32_t *load)
{
    struct option options[OPTIONS_MAX];
    uint32_t count = net_packet_options(packet, router, plan, options), green_load, green, queued,
             sum = 0, i;

    if (count == 0)
        return false;
    if (count == 1 || options[0].port >= PORT_BLACK) {
        *load = best_parallel(packet, router, options, count, &bits, best);
        return true;
    }
    green_load = option_load(packet, router, &options[0]);
    *load = best_parallel(packet, router, options + 1, count - 1, &bits, best);
    green = units_ahead(router, &options[0]);
    for (i = 1; i < count; i++)
        sum += units_ahead(router, &options[i]);
    queued = net_packets->tiles[router * TILES + options[0].port].queued;
    if (green < sum + (queued == 0 ? net_packets->moving_blocks * BLOCK_UNITS : 0)) {
        *best = options[0];
        *load = green_load;
    }
    return true;
}
