/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The wiring: which ports are connected, and the tile of each port. The tables and the rule for
 * blue links reproduce every link of the published link dumps of Theta (9 groups) and Edison (15
 * groups); see docs/internals/network.md, "Wiring".
 */
#include <stdlib.h>
#include <string.h>
#include "dragonfly.h"

#define NONE 255

/* [own slot][peer slot]: tile of the own Aries. The same in all chassis of all systems. */
static const uint8_t green_tile[SLOTS_MAX][SLOTS_MAX] = {
    {NONE, 23, 10, 21, 20, 22, 0, 11, 32, 33, 43, 31, 30, 40, 41, 42},
    {20, NONE, 23, 0, 21, 11, 10, 22, 43, 31, 30, 41, 42, 32, 33, 40},
    {21, 20, NONE, 23, 11, 22, 0, 10, 41, 40, 32, 33, 31, 30, 43, 42},
    {22, 11, 20, NONE, 23, 0, 10, 21, 40, 41, 33, 43, 31, 42, 32, 30},
    {22, 0, 11, 20, NONE, 23, 10, 21, 41, 30, 40, 43, 32, 33, 31, 42},
    {21, 0, 10, 11, 20, NONE, 23, 22, 40, 32, 41, 42, 33, 43, 31, 30},
    {10, 0, 11, 22, 21, 20, NONE, 23, 41, 43, 31, 30, 40, 33, 42, 32},
    {0, 23, 21, 10, 22, 11, 20, NONE, 30, 40, 41, 42, 32, 33, 43, 31},
    {35, 34, 44, 36, 37, 47, 46, 45, NONE, 24, 26, 17, 27, 25, 7, 16},
    {36, 37, 44, 46, 45, 35, 34, 47, 27, NONE, 24, 7, 26, 16, 17, 25},
    {45, 35, 34, 44, 37, 47, 36, 46, 26, 27, NONE, 24, 16, 25, 7, 17},
    {37, 35, 44, 36, 34, 46, 45, 47, 25, 16, 27, NONE, 24, 7, 17, 26},
    {45, 36, 37, 35, 34, 44, 47, 46, 25, 7, 16, 27, NONE, 24, 17, 26},
    {37, 34, 45, 35, 44, 36, 46, 47, 26, 7, 17, 16, 27, NONE, 24, 25},
    {46, 44, 36, 37, 47, 45, 35, 34, 17, 7, 16, 25, 26, 27, NONE, 24},
    {37, 47, 46, 45, 35, 34, 44, 36, 7, 24, 26, 17, 25, 16, 27, NONE},
};

/*
 * The three links of a chassis pair: {tile at the lower chassis, tile at the higher}; slots 0–7 and
 * 8–15 differ. Pairs in the order 01 02 03 04 05 12 13 14 15 23 24 25 34 35 45.
 */
static const uint8_t black_tile[2][15][BLACK_LINKS][2] = {
    {
        {{37, 45}, {46, 36}, {47, 35}},
        {{35, 45}, {36, 36}, {45, 35}},
        {{27, 44}, {34, 34}, {44, 27}},
        {{24, 7}, {25, 17}, {26, 16}},
        {{7, 16}, {16, 7}, {17, 17}},
        {{37, 47}, {46, 46}, {47, 37}},
        {{7, 24}, {16, 26}, {17, 25}},
        {{27, 44}, {34, 34}, {44, 27}},
        {{24, 26}, {25, 25}, {26, 24}},
        {{7, 16}, {16, 7}, {17, 17}},
        {{24, 26}, {25, 25}, {26, 24}},
        {{27, 44}, {34, 34}, {44, 27}},
        {{37, 45}, {46, 36}, {47, 35}},
        {{35, 45}, {36, 36}, {45, 35}},
        {{37, 47}, {46, 46}, {47, 37}},
    },
    {
        {{30, 32}, {40, 31}, {41, 42}},
        {{31, 42}, {32, 32}, {42, 31}},
        {{20, 20}, {33, 43}, {43, 33}},
        {{21, 0}, {22, 10}, {23, 11}},
        {{0, 0}, {10, 11}, {11, 10}},
        {{30, 30}, {40, 41}, {41, 40}},
        {{0, 21}, {10, 22}, {11, 23}},
        {{20, 20}, {33, 43}, {43, 33}},
        {{21, 21}, {22, 23}, {23, 22}},
        {{0, 0}, {10, 11}, {11, 10}},
        {{21, 21}, {22, 23}, {23, 22}},
        {{20, 20}, {33, 43}, {43, 33}},
        {{30, 32}, {40, 31}, {41, 42}},
        {{31, 42}, {32, 32}, {42, 31}},
        {{30, 30}, {40, 41}, {41, 40}},
    },
};

/* [slots 0–7, 8–15][connector port][first, second]; ports 2–4 occur in no dump and are
 * extrapolated. */
static const uint8_t blue_tile[2][BLUE_PORTS / 2][2] = {
    {{1, 2}, {12, 3}, {13, 14}, {4, 15}, {5, 6}},
    {{5, 6}, {4, 15}, {14, 13}, {3, 12}, {2, 1}},
};

static uint32_t chassis_pair(uint32_t low, uint32_t high)
{
    return low * (2 * CHASSIS_MAX - low - 1) / 2 + high - low - 1;
}

/*
 * The blue rule. Cable q of a group's peer number i has index x = i * C + q; it is in chassis row x
 * mod 6 and takes the two connectors 2 * (x div 6) and the next one of that row; connector c sits
 * at slot c mod 16, port c div 16. With C a multiple of 6 that is the rule validated against the
 * dumps (both ends in the same row).
 */
static void place_gateways(struct dragonfly *fly)
{
    uint32_t peer, link;

    for (peer = 0; peer + 1 < fly->groups; peer++)
        for (link = 0; link < fly->pair_links; link++) {
            uint32_t index = peer * fly->cables + link / LINKS_PER_CABLE;
            uint32_t connector = 2 * (index / fly->chassis) + link / 2 % 2;
            uint32_t local = index % fly->chassis * fly->slots + connector % fly->slots;
            uint32_t port = 2 * (connector / fly->slots) + link % 2;
            uint32_t entry = peer * fly->pair_links + link;

            fly->gateways[entry] = (struct gateway){(uint8_t)local, (uint8_t)(PORT_BLUE + port)};
            fly->blue[local * BLUE_PORTS + port] = (uint16_t)entry;
        }
}

/* Fills in, for every router and peer group, the links that start here or one green or black link
 * away. */
static void fill_reach(struct dragonfly *fly)
{
    uint32_t peer, local, link;

    for (peer = 0; peer + 1 < fly->groups; peer++)
        for (local = 0; local < fly->per_group; local++)
            for (link = 0; link < fly->pair_links; link++) {
                struct reach *reach =
                    &fly->reach[(peer * fly->per_group + local) * fly->pair_words + link / 64];
                uint32_t gateway = fly->gateways[peer * fly->pair_links + link].local;
                uint64_t bit = 1ull << (link % 64);

                if (gateway == local)
                    reach->here |= bit;
                else if (gateway / fly->slots == local / fly->slots)
                    reach->green |= bit;
                else if (gateway % fly->slots == local % fly->slots)
                    reach->black |= bit;
            }
}

bool net_dragonfly_wire(struct dragonfly *fly)
{
    uint32_t peers = fly->groups - 1, i;

    fly->pair_links = fly->cables * LINKS_PER_CABLE;
    fly->pair_words = (fly->pair_links + 63) / 64;
    fly->last_word = fly->pair_links % 64 ? (1ull << fly->pair_links % 64) - 1 : UINT64_MAX;
    fly->gateways = calloc((size_t)peers * fly->pair_links + 1, sizeof(*fly->gateways));
    fly->blue = malloc((size_t)fly->per_group * BLUE_PORTS * sizeof(*fly->blue));
    fly->reach = calloc((size_t)peers * fly->per_group * fly->pair_words + 1, sizeof(*fly->reach));
    if (fly->gateways == NULL || fly->blue == NULL || fly->reach == NULL)
        return false;
    for (i = 0; i < fly->per_group * BLUE_PORTS; i++)
        fly->blue[i] = NO_LINK;
    if (peers > 0) {
        place_gateways(fly);
        fill_reach(fly);
    }
    return true;
}

/* The number of a blue link among the parallel links between its two routers, in the order of the
 * links of the group pair. */
static uint32_t blue_which(const struct dragonfly *fly, const struct gateway *here,
                           const struct gateway *there, uint32_t link)
{
    uint32_t which = 0, i;

    for (i = 0; i < link; i++)
        if (here[i].local == here[link].local && there[i].local == there[link].local)
            which++;
    return which;
}

bool net_dragonfly_peer(const struct dragonfly *fly, uint32_t router, uint32_t port, uint32_t *peer,
                        uint32_t *peer_port, uint32_t *which)
{
    const struct dragonfly_position *at = &fly->positions[router];
    uint32_t base = at->group * fly->per_group;

    if (port < PORT_BLACK) {
        uint32_t slot = port < at->slot ? port : port + 1;

        if (slot >= fly->slots)
            return false;
        *peer = base + at->chassis * fly->slots + slot;
        *peer_port = dragonfly_green_port(slot, at->slot);
        *which = 0;
    } else if (port < PORT_BLUE) {
        uint32_t chassis = (port - PORT_BLACK) / BLACK_LINKS;

        chassis += chassis >= at->chassis;
        if (chassis >= fly->chassis)
            return false;
        *which = (port - PORT_BLACK) % BLACK_LINKS;
        *peer = base + chassis * fly->slots + at->slot;
        *peer_port = dragonfly_black_port(chassis, at->chassis, *which);
    } else {
        uint32_t entry = fly->blue[at->local * BLUE_PORTS + port - PORT_BLUE], index, link, group;
        const struct gateway *there;

        if (entry == NO_LINK)
            return false;
        index = entry / fly->pair_links;
        link = entry % fly->pair_links;
        group = index < at->group ? index : index + 1;
        there = &fly->gateways[dragonfly_peer_index(group, at->group) * fly->pair_links];
        *peer = group * fly->per_group + there[link].local;
        *peer_port = there[link].port;
        *which = blue_which(fly, &fly->gateways[index * fly->pair_links], there, link);
    }
    return true;
}

uint8_t net_dragonfly_tile(const struct dragonfly *fly, uint32_t router, uint32_t port)
{
    const struct dragonfly_position *at = &fly->positions[router];
    uint32_t half = at->slot >= 8;

    if (port < PORT_BLACK)
        return green_tile[at->slot][port < at->slot ? port : port + 1];
    if (port < PORT_BLUE) {
        uint32_t chassis = (port - PORT_BLACK) / BLACK_LINKS,
                 which = (port - PORT_BLACK) % BLACK_LINKS;

        chassis += chassis >= at->chassis;
        if (at->chassis < chassis)
            return black_tile[half][chassis_pair(at->chassis, chassis)][which][0];
        return black_tile[half][chassis_pair(chassis, at->chassis)][which][1];
    }
    return blue_tile[half][(port - PORT_BLUE) / 2][(port - PORT_BLUE) % 2];
}
