/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The candidates of an adaptive packet: shortest paths, other minimal paths, and roots. */
#include "packet_plan.h"

static inline bool gateway_alive(const struct dragonfly_position *at, const struct gateway *gateway)
{
    const struct dragonfly *fly = net_packets->fly;

    return net_link_alive(net_packets->net,
                          (at->group * fly->per_group + gateway->local) * PORTS + gateway->port);
}

/*
 * Reduces a set of blue links to those within one link of this router, if there are any. Among
 * paths of equal length these leave the group sooner, and meet fewer packets of the same stream at
 * the other end.
 */
static uint32_t prefer_near(const struct dragonfly_position *at, uint32_t group, uint64_t *set,
                            uint32_t count)
{
    const struct dragonfly *fly = net_packets->fly;
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

struct plan net_packet_plan_shortest(const struct packet *packet, uint32_t router, uint64_t bits)
{
    const struct dragonfly *fly = net_packets->fly;
    const struct dragonfly_position *at = &fly->positions[router],
                                    *to = &fly->positions[packet->target];
    const struct gateway *gateways;
    uint64_t set[PAIR_WORDS_MAX];
    uint32_t count, leg, first, i, link = 0;

    if (at->group == to->group)
        return (struct plan){to->local, NO_PORT, 0};
    gateways = gateways_to(at, to->group);
    count = net_dragonfly_best_gateways(fly, router, packet->target, set, &leg, &leg);
    count = prefer_near(at, to->group, set, count);
    first = (uint32_t)(((bits >> 32) * count) >> 32);
    for (i = 0; i < count; i++) {
        link = dragonfly_nth_bit(set, first + i < count ? first + i : first + i - count);
        if (gateway_alive(at, &gateways[link]))
            break;
    }
    return plan_gateway(&gateways[link], 0);
}

bool net_packet_plan_other(const struct packet *packet, uint32_t router, const uint64_t *set,
                           uint32_t number, struct plan *plan)
{
    const struct dragonfly_position *at = &net_packets->fly->positions[router];
    uint32_t link = set == NULL ? number : dragonfly_nth_bit(set, number);
    const struct gateway *gateway =
        &gateways_to(at, net_packets->fly->positions[packet->target].group)[link];

    *plan = plan_gateway(gateway, 0);
    return gateway_alive(at, gateway);
}

/* At the source any link of the group pair is a candidate, later only those within two links of the
 * source. */
uint32_t net_packet_count_others(const struct packet *packet, uint32_t router, uint64_t *words,
                                 const uint64_t **set)
{
    const struct dragonfly *fly = net_packets->fly;
    const struct dragonfly_position *at = &fly->positions[router],
                                    *to = &fly->positions[packet->target];
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

static inline bool roots_are_near(const struct packet *packet, const struct dragonfly_position *at)
{
    return net_packets->fly->groups <= 2 ||
           net_packets->fly->positions[packet->target].group == at->group;
}

uint32_t net_packet_count_roots(const struct packet *packet, const struct dragonfly_position *at)
{
    const struct dragonfly *fly = net_packets->fly;

    return roots_are_near(packet, at) ? fly->per_group : (fly->groups - 2) * fly->pair_links;
}

/* The n-th number, from 0, that is neither a nor b; a and b may be equal. */
static inline uint32_t nth_other(uint32_t n, uint32_t a, uint32_t b)
{
    n += n >= (a < b ? a : b);
    return n + (a != b && n >= (a < b ? b : a));
}

/*
 * The root is in the chassis or the column that both ends share, or, if they share neither, in that
 * of this router. How the hardware draws roots is not public. The model assumes that it prefers
 * such roots for one of two candidates; the other candidate is any router.
 */
uint32_t net_packet_near_root(const struct packet *packet, const struct dragonfly_position *at,
                              uint64_t bits)
{
    const struct dragonfly *fly = net_packets->fly;
    const struct dragonfly_position *to = &fly->positions[packet->target];
    bool row = at->chassis == to->chassis, column = at->slot == to->slot;

    if (at->group != to->group)
        return UINT32_MAX;
    if (!row && !column)
        row = bits & 1;
    bits >>= 1;
    if (row)
        return fly->slots < 3 ? UINT32_MAX
                              : at->chassis * fly->slots +
                                    nth_other(below(&bits, fly->slots - 2), at->slot, to->slot);
    return fly->chassis < 3
               ? UINT32_MAX
               : nth_other(below(&bits, fly->chassis - 2), at->chassis, to->chassis) * fly->slots +
                     at->slot;
}

/* `number` is a router of this group, or a blue link to a third group. */
bool net_packet_plan_root(const struct packet *packet, uint32_t router, uint32_t number,
                          struct plan *plan)
{
    const struct dragonfly *fly = net_packets->fly;
    const struct dragonfly_position *at = &fly->positions[router],
                                    *to = &fly->positions[packet->target];
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
