/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The congestion value of a port, and the options of a packet: the ports that lead to its goal. */
#include "packet_plan.h"

/*
 * The congestion value of a port: the phits that wait for it here and the occupancy of the VC's
 * buffer at the other end, both in fifteenths of a VC's capacity, plus 2, 4 or 8 for 64, 256 or 512
 * phits of all VCs there. The phits that any busy link has in transit, in the crossbar or behind
 * it, do not count, and neither do blocks whose credit is returning: they are no sign of
 * congestion.
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

/* The crossbar has no room for the packet: its input and VC have used up the column of that port.
 */
static inline bool is_blocked(const struct packet *packet, const struct packet_tile *output)
{
    uint32_t taken;

    if (sim_likely(packet_input(packet)->in_crossbar == 0))
        return false;
    taken = net_packets->queues[packet->tile].in_crossbar[packet->vc][output->column];
    return taken > 0 && taken + packet->units > net_packets->window;
}

/*
 * The value by which ports are compared: the congestion value, and for equal minimal ports the
 * blocks in use at the other end: load << 8 | blocks. A port that the packet would have to wait for
 * in its input queue counts as full, because the port does not know how much waits there.
 */
static inline uint32_t option_load(const struct packet *packet, uint32_t router,
                                   const struct option *option)
{
    uint32_t tile = router * TILES + option->port, load, taken;
    struct packet_tile *output = &net_packets->tiles[tile];

    __builtin_prefetch(output, 1); /* its second cache line is needed soon */
    packet_credit_settle(output, sim_now());
    load = sim_unlikely(is_blocked(packet, output)) ? 15 : net_packet_load(tile, option->vc);
    taken = output->used[option->vc] + output->queued / 4;
    return load << 8 | (taken < 0xff ? taken : 0xff);
}

/* ---- paths to a goal --------------------------------------------------------------------------
 */

/* The number of times that the plan changes VC behind its present leg. */
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

/* A packet behind its root would return to its source router, which it left to avoid congestion. */
static inline bool leads_back(const struct packet *packet, const struct dragonfly_position *at,
                              uint32_t chassis, uint32_t slot, const struct dragonfly_position *to)
{
    const struct dragonfly_position *from = &net_packets->fly->positions[packet->source];

    return packet->hops > 0 && from->group == at->group && from != to && from->chassis == chassis &&
           from->slot == slot && at->chassis != to->chassis && at->slot != to->slot;
}

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

/* The least loaded of these ports, which all lead to the same router, or the first idle one. */
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

/* Phits that wait for a port or occupy the VC behind it, including those in transit. */
static inline uint32_t units_ahead(uint32_t router, const struct option *option)
{
    const struct packet_tile *output = &net_packets->tiles[router * TILES + option->port];

    return output->queued + output->used[option->vc] * BLOCK_UNITS;
}

/*
 * If both a green and a black port lead to the goal, one path starts with one green link, and the
 * other with one of three black links that one green link follows. The function takes the path with
 * less traffic before and on its green link, so that both get the same share. It prefers the near
 * green link as long as nothing waits for it, because less is known about the far one, which more
 * routers share.
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
