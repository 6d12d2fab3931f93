/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Geometry of a dragonfly. Router id = group * per_group + local, local = chassis * slots + slot;
 * endpoint = router * 4 + node. Ports of a router, which are also its links in the index (link =
 * router * 40 + port):
 *
 *   0 … 14  green, by the peer's slot (own slot left out)
 *  15 … 29  black, by the peer's chassis (own left out), three each
 *  30 … 39  blue, connector port * 2 + tile
 */
#ifndef JACQUARD_NET_DRAGONFLY_H
#define JACQUARD_NET_DRAGONFLY_H

#include <assert.h>
#include "internal.h"

#define NODES_PER_ROUTER 4
#define GROUPS_MAX 241 /* 8-bit group number, 240 cables */
#define CHASSIS_MAX 6
#define SLOTS_MAX 16
#define LOCALS_MAX (CHASSIS_MAX * SLOTS_MAX)
#define PORTS NET_DRAGONFLY_PORTS
#define PORT_BLACK 15
#define PORT_BLUE 30
#define BLUE_PORTS 10
#define BLACK_LINKS 3
#define LINKS_PER_CABLE 4 /* two connectors at each end, two links each */
#define PAIR_LINKS_MAX 960 /* two groups, all 240 cables */
#define PAIR_WORDS_MAX ((PAIR_LINKS_MAX + 63) / 64)
#define NO_LINK UINT16_MAX
_Static_assert(PORT_BLACK == SLOTS_MAX - 1, "green ports lead to all other slots");
_Static_assert(PORT_BLUE == PORT_BLACK + BLACK_LINKS * (CHASSIS_MAX - 1),
               "black ports lead to all other chassis");
_Static_assert(PORTS == PORT_BLUE + BLUE_PORTS, "all ports have a colour");
_Static_assert(GROUPS_MAX *LOCALS_MAX <= UINT16_MAX + 1, "F2 keeps routers in 16 bits");

struct gateway { /* one end of a blue link: router of the group, port */
    uint8_t local, port;
};

struct dragonfly_position { /* of a router */
    uint8_t group, local, chassis, slot;
};

/* The links to another group, as bit sets: those that start at a router, and those whose gateway is
 * one green or one black link away. All others need a green and a black link. */
struct reach {
    uint64_t here, green, black;
};

/* Back-off of a router from drawing candidates again; see leave_minimal_path() in adaptive.c. */
struct redraw_backoff {
    uint8_t level, skip; /* decisions to skip after the next failure; decisions still to skip */
};

/* The legs to and from a gateway that take the same number of links and time; see gateways.c. */
struct gateway_class {
    sim_time_t time; /* of both legs */
    uint8_t count;
    struct {
        uint8_t source, target;
    } leg[16];
};
enum { LEG_HERE, LEG_GREEN, LEG_BLACK, LEG_BOTH };

struct dragonfly {
    uint32_t groups, chassis, slots, cables;
    uint32_t per_group; /* routers */
    uint32_t pair_links; /* blue links per group pair */
    uint32_t pair_words; /* of 64 bits */
    uint32_t local_ports; /* green and black ports in use at each router */
    /* These tables are the same in all groups, because they depend only on the peer's index. */
    struct gateway *gateways; /* [peer index * pair_links + link] */
    uint16_t *blue; /* [local * BLUE_PORTS + port - PORT_BLUE]: index into gateways, NO_LINK */
    struct reach *reach; /* [(peer index * per_group + local) * pair_words + word] */
    uint64_t last_word; /* valid bits of the last word */
    struct gateway_class gateway_classes[16]; /* sorted by (links, time) */
    uint32_t gateway_class_count;
    uint8_t first_class_with_links[5]; /* [links]: the first class with so many links */
    struct dragonfly_position *positions; /* [router] */
    struct sim_random *random; /* [router]: every router draws from its own stream */
    struct redraw_backoff *redraw_backoffs; /* [router] */
    sim_time_t router_transit;
    /* F2's buffers, in phits. The load of a port does not count crossbar_units before the port and
     * moving_units behind it, which any busy link has in transit. An input can have `window` in the
     * crossbar for one column. level_units is the capacity of a VC: a load of 15. */
    uint32_t crossbar_units, moving_units, window, level_units;
    struct net_route_bias
        bias[4][4]; /* [class][input tile at the decision: processor tile, green, black, blue] */
    bool only_minimal[4]; /* [class]: never leaves the minimal paths */
    /* [class]: at a source whose minimal path is idle no decision is due, and packets spread over
     * NET_WIDE ports. */
    bool takes_idle[4];
};

/* Index of group `peer` among the peers of `group`. */
static inline uint32_t dragonfly_peer_index(uint32_t group, uint32_t peer)
{
    assert(group != peer);
    return peer < group ? peer : peer - 1;
}

/* The end in `group` of one of its links to group `peer`. */
static inline const struct gateway *dragonfly_gateway(const struct dragonfly *fly, uint32_t group,
                                                      uint32_t peer, uint32_t link)
{
    return &fly->gateways[dragonfly_peer_index(group, peer) * fly->pair_links + link];
}

/* How the links to another group can be reached from a router: `pair_words` entries. */
static inline const struct reach *
dragonfly_reach(const struct dragonfly *fly, const struct dragonfly_position *from, uint32_t peer)
{
    return &fly->reach[(dragonfly_peer_index(from->group, peer) * fly->per_group + from->local) *
                       fly->pair_words];
}

static inline uint32_t dragonfly_green_port(uint32_t slot, uint32_t peer_slot)
{
    return peer_slot < slot ? peer_slot : peer_slot - 1;
}

static inline uint32_t dragonfly_black_port(uint32_t chassis, uint32_t peer_chassis, uint32_t which)
{
    return PORT_BLACK + BLACK_LINKS * (peer_chassis < chassis ? peer_chassis : peer_chassis - 1) +
           which;
}

static inline unsigned dragonfly_port_color(uint32_t port)
{
    return port < PORT_BLACK ? COLOR_GREEN : port < PORT_BLUE ? COLOR_BLACK : COLOR_BLUE;
}

static inline uint32_t dragonfly_count_bits(uint64_t x)
{
    x -= (x >> 1) & 0x5555555555555555ull;
    x = (x & 0x3333333333333333ull) + ((x >> 2) & 0x3333333333333333ull);
    x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0full;
    return (uint32_t)((x * 0x0101010101010101ull) >> 56);
}

/* The n-th member of a set, from 0; the set must have more than n members. */
static inline uint32_t dragonfly_nth_bit(const uint64_t *set, uint32_t n)
{
    uint32_t word = 0;
    uint64_t bits;

    for (;; word++) {
        uint32_t count = 0;

        assert(word < PAIR_WORDS_MAX);
        for (bits = set[word]; bits != 0 && count < n; bits &= bits - 1)
            count++;
        if (bits != 0)
            return word * 64 + (uint32_t)__builtin_ctzll(bits);
        n -= count;
    }
}

/* The `choice` of in-order traffic: one path per pair of endpoints. */
static inline uint64_t dragonfly_pair_choice(uint32_t source, uint32_t target)
{
    return sim_mix((uint64_t)source << 32 | target);
}

/* wiring.c */
bool net_dragonfly_wire(struct dragonfly *fly); /* false: out of memory */
bool net_dragonfly_peer(const struct dragonfly *fly, uint32_t router, uint32_t port, uint32_t *peer,
                        uint32_t *peer_port, uint32_t *which);
uint8_t net_dragonfly_tile(const struct dragonfly *fly, uint32_t router, uint32_t port);

/* gateways.c */
void net_dragonfly_sort_gateway_classes(struct dragonfly *fly, sim_time_t green, sim_time_t black);
/* Finds the blue links of the shortest paths, as bits of `set`, and the legs that these paths have
 * in the two groups. Returns the number of links. */
uint32_t net_dragonfly_best_gateways(const struct dragonfly *fly, uint32_t source_router,
                                     uint32_t target_router, uint64_t *set, uint32_t *source_leg,
                                     uint32_t *target_leg);

/*
 * Finds the blue links of the second-shortest paths, which take one link more, or if there are none
 * the least number more. If there are no longer paths at all, gives those of the shortest ones.
 * Returns the number of links. *farther: how many links more than one they take.
 */
uint32_t net_dragonfly_near_gateways(const struct dragonfly *fly, uint32_t source_router,
                                     uint32_t target_router, uint64_t *set, uint32_t *farther);

/* Classifies the shortest paths to another group by their legs inside the groups. Returns the
 * number of kinds. *longer: additional time of the second-shortest paths; SIM_NEVER: there are
 * none. *farther: how many links more than one these take. */
struct dragonfly_path_kind {
    uint8_t source, target; /* LEG_ */
    uint32_t links; /* blue ones */
};
uint32_t net_dragonfly_path_kinds(const struct dragonfly *fly, uint32_t source_router,
                                  uint32_t target_router, struct dragonfly_path_kind *paths,
                                  uint32_t *farther, sim_time_t *longer);
#define DRAGONFLY_PATH_KINDS_MAX 16

/* dragonfly.c: the number of ports that adaptive packets can spread over, at most NET_WIDE; 0: no
 * port is alive */
uint32_t net_dragonfly_width(const struct net *net, uint32_t source_router, uint32_t target_router);

/* stream_paths.c */
void net_dragonfly_buffers(struct net *net, const struct net_dragonfly_config *config);
bool net_dragonfly_stream_paths(const struct net *net, const struct net_transfer *transfer,
                                struct net_stream_paths *spread);

/* route.c */
bool net_dragonfly_route(struct net *net, const struct net_transfer *transfer,
                         struct net_path *path);
void net_dragonfly_begin(const struct dragonfly *fly, struct net_path *path, uint32_t width);
/* The path of a fixed mode. `choice` selects among equal ones. On an impaired network, the next
 * live path. */
bool net_dragonfly_fixed_path(const struct net *net, struct net_path *path, uint32_t source,
                              uint32_t target, uint64_t choice);
/* Any live path, if neither the minimal path nor the drawn non-minimal one is alive. */
bool net_dragonfly_any_path(const struct net *net, struct net_path *path, uint32_t source,
                            uint32_t target, uint64_t choice, bool adaptive);

/* adaptive.c */
bool net_dragonfly_adaptive_path(struct net *net, const struct net_transfer *transfer,
                                 struct net_path *path, uint32_t source, uint32_t target);

#endif
