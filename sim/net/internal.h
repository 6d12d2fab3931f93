/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Inside sim/net. A topology (dragonfly, switched) turns a transfer into a path: a list of directed
 * links. What happens on the links is the same for all of them (chunk.c), as are faults and
 * liveness (link.c, send.c).
 *
 * Link state is what F1 walks over, so it is small: 8 bytes per directed link for choosing paths
 * and 16 for taking them, addressed by a 32-bit index that is computed from coordinates; no
 * pointers, no table of paths. Theta (864 routers, 40 ports) takes 0.8 MB.
 */
#ifndef JACQUARD_NET_INTERNAL_H
#define JACQUARD_NET_INTERNAL_H

#include "engine/random.h"
#include "net/net.h"

/* Colours of links; index of the speed table. The first three are enum values of
 * net_link_info.color. */
enum {
    COLOR_GREEN,
    COLOR_BLACK,
    COLOR_BLUE,
    COLOR_TO_SWITCH, /* switched networks: the next element is a switch */
    COLOR_TO_HOST,
    COLORS,
};
#define LANES 3
#define NET_LOADS 16 /* of a port: 4 bits */
#define NET_DRAGONFLY_PORTS 40

struct net_speed {
    uint64_t unit; /* ps per unit on the wire, fixed point: see net_serialise */
    sim_time_t hop; /* input of one element to input of the next */
    sim_time_t spread; /* backlog that adaptive traffic does not wait for: see NET_SPREAD_UNITS */
    sim_time_t near[NET_LOADS]; /* backlog that loads a port so, 0 to 15 */
    sim_time_t far[3]; /* backlog that adds 2, 4 and 8 to the load of ports that lead there */
    double load_per_ps; /* backlog to the 4-bit load of a port */
    double units_per_us; /* rate */
};

/*
 * A link is a queue in the time of sending: a transfer joins the queues of all its links when it is
 * sent, and finds on each what was sent before it and is not served yet, wherever that is now. See
 * docs/internals/network.md, "F1".
 *
 * How long each link is busy is all that a choice of path looks at, and under load it looks at
 * dozens of links; so these times lie together. The rest is for the links that are taken.
 */
struct net_passed {
    uint32_t distance; /* ps from sending to the link, of who was sent to it last */
    uint32_t source; /* of that */
    uint32_t units, transfers; /* carried over to net_link_totals before they wrap */
};

struct net_link { /* as one pair sees it: see order.c */
    sim_time_t busy; /* so much work was sent to it that it is busy until then */
    struct net_passed passed;
};

struct net_link_totals { /* touched rarely */
    uint64_t units, transfers, dropped, dead;
};

enum {
    DOWN_LINK = 1,
    DOWN_SOURCE = 2,
    DOWN_TARGET = 4
}; /* why a directed link is not alive: bits of net->down */

struct net_death {
    sim_time_t time;
    bool is_router;
    uint32_t a, b; /* the two directed links; the router and UINT32_MAX */
};

struct net_path {
    sim_time_t transit; /* from the source NIC to the input of the first link */
    sim_time_t
        propagation; /* what a streamed chunk pays instead of the links' own hops: see chunk.c */
    uint32_t links; /* of all parts together */
    uint32_t parts; /* paths of equal length, one after the other, that share the units; nearly
                       always 1 */
    uint32_t width; /* ports that the packets spread over: 1 for one path; NET_WIDE: more than they
                       need */
    bool minimal;
    uint8_t root; /* links before the root of a non-minimal path; 0: no root */
    uint8_t color[NET_PATH_MAX];
    uint32_t link[NET_PATH_MAX];
};

/* Where the packets of an adaptive stream go on an idle network, and what they find there. Rates in
 * units per microsecond. See tail.c. */
struct net_spread {
    double rate; /* of the first ports of all minimal paths */
    uint32_t ports; /* how many */
    double port_rate; /* of one */
    uint32_t detour_threshold_units; /* a packet makes a detour when more than that waits at a port;
                                NET_ENDLESS: never */
    sim_time_t far_detour_threshold; /* the same of a port further on; a time */
    sim_time_t transit; /* of a router: of what waits, so much is on its way to the port */
    sim_time_t detour; /* takes so much longer */
    double far_rate; /* of the narrowest place behind the first ports */
    sim_time_t far_wait; /* waits there before the source knows of it */
};
#define NET_ENDLESS UINT32_MAX

/* What a topology must offer. `router` and `peer` of links follow net.h. */
struct net_topology {
    /* The path for a transfer at F1, by its mode and the state of the links; false: no live path.
     */
    bool (*route)(struct net *net, const struct net_transfer *transfer, struct net_path *path);
    /* A shortest path on an idle network, by its parts; links need not be filled in, colours are.
     */
    void (*shortest)(const struct net *net, uint32_t source, uint32_t target,
                     struct net_path *path);
    double (*path_rate)(const struct net *net, uint32_t source, uint32_t target,
                        enum net_route route);
    /* False: packets do not spread. May be NULL. */
    bool (*spread)(const struct net *net, const struct net_transfer *transfer,
                   struct net_spread *spread);
    /* The directed link a→b and its reverse; false: there is none. */
    bool (*find)(const struct net *net, uint32_t a, uint32_t b, uint32_t which, uint32_t *link,
                 uint32_t *reverse);
    /* Fills in names, tiles and colour; false: nothing is connected there. */
    bool (*describe)(const struct net *net, uint32_t link, struct net_link_info *info);
    void (*destroy)(struct net *net);
};

struct dragonfly;
struct switched;

struct net_order_entry {
    uint64_t pair, flow;
    struct net_link link; /* `busy`: the last arrival, or the end of its reservations; 0: free */
};

struct net_order { /* see order.c: what is remembered of flows that have something on the way */
    struct net_order_entry *entries;
    uint32_t capacity, used;
};

struct net {
    const struct net_topology *topology;
    union {
        struct dragonfly *dragonfly;
        struct switched *switched;
    };
    enum net_fidelity fidelity;
    bool impaired; /* some link or router is not alive now */
    sim_time_t
        *busy; /* per directed link: so much work was sent to it that it is busy until then */
    struct net_passed *passed; /* per directed link */
    struct net_link_totals *totals; /* per directed link; NULL until one is needed */
    uint8_t *down; /* per directed link */
    uint8_t *lanes; /* per directed link; NULL as long as all have theirs */
    uint32_t link_count, ports; /* ports: links per router in the index; 0: not a dragonfly */
    uint8_t *router_dead;
    uint32_t endpoints, routers, groups;
    uint32_t per_router; /* endpoints */
    uint32_t host_links; /* of a path, which are no hops */
    struct net_speed speed[COLORS][LANES + 1]; /* [colour][live lanes], [..][0] unused */
    uint8_t full_lanes[COLORS]; /* configured */
    struct net_death *deaths;
    uint32_t death_count, death_capacity;
    struct net_order order;
    struct net_order own; /* F0: the links as each pair sees them */
    struct net_fan *fans; /* unused ones; see lines.c */
    struct fan_block *fan_blocks;
    struct net_counters counters;
    uint64_t seed;
    struct net_packets *packets; /* F2 */
    struct net_lcb *lcb; /* per directed link; NULL as long as no link has errors: see lcb.c */
};

/*
 * Packets that a chunk of an adaptive mode stands for are routed one by one over several ports, and
 * packets of different chunks interleave on a link. A chunk that finds no more than one chunk's
 * worth of backlog therefore does not wait; beyond that it does, so that no link carries more than
 * its rate. One chunk: 16 packets of 14 phits.
 */
#define NET_SPREAD_UNITS 224
#define NET_WIDE 4 /* ports, electrical or optical, that carry all a NIC can send */

static inline sim_time_t net_serialise(const struct net_speed *speed, uint32_t units)
{
    return (units * speed->unit + 0x8000) >> 16; /* 14 phits at 700 per µs are 20000 ps exactly */
}

static inline const struct net_speed *net_link_speed(const struct net *net, uint32_t link,
                                                     unsigned color)
{
    unsigned lanes = sim_likely(net->lanes == NULL) ? net->full_lanes[color] : net->lanes[link];

    return &net->speed[color][lanes];
}

static inline bool net_link_alive(const struct net *net, uint32_t link)
{
    return !net->impaired || net->down[link] == 0;
}

static inline bool net_mode_adaptive(unsigned route)
{
    return route >= NET_ROUTE_ADAPTIVE_0;
}

/* net.c: for the topologies. rate in units per microsecond; vc_units: backlog that counts as full
 * load */
void net_speed_init(struct net *net, unsigned color, const struct net_link_class *class,
                    uint32_t vc_units, uint32_t spread_units);
bool net_links_alloc(struct net *net, uint32_t links);
__attribute__((format(printf, 2, 3))) bool net_fail(char **error, const char *format,
                                                    ...); /* always false */

/* dragonfly.c, switched.c: NULL and *error on a configuration that cannot be built */
bool net_dragonfly_init(struct net *net, const struct net_config *config, char **error);
bool net_switched_init(struct net *net, const struct net_config *config, char **error);

/* chunk.c: reserves the links of the path; returns the arrival of the tail */
sim_time_t net_chunk_reserve(struct net *net, struct net_transfer *transfer,
                             const struct net_path *path, sim_time_t feed);
/*
 * lines.c: the same for a transfer whose lines have paths of their own. *path: that of the first
 * one. The links are written down apart from the transfer; `flight.links` is NET_FAN then, and
 * net_fan_end must be called. False: no live path.
 */
#define NET_LINES_MAX 16 /* of a longer transfer several lines in a row take the same path */
#define NET_FAN UINT32_MAX
bool net_lines_reserve(struct net *net, struct net_transfer *transfer, sim_time_t feed,
                       struct net_path *path, sim_time_t *arrival);
void net_fan_end(struct net *net, struct net_transfer *transfer);
void net_fans_fini(struct net *net);
struct net_links_passed {
    const uint32_t *link, *left_ns;
    uint32_t links;
};
void net_flight_links(const struct net_flight *flight, struct net_links_passed *passed);

/* Lines of a hashed transfer have paths of their own. A switched network hashes flows. */
static inline bool net_by_lines(const struct net *net, const struct net_transfer *transfer)
{
    return transfer->route <= NET_ROUTE_MIN_HASHED && transfer->packets > 1 && net->ports != 0;
}

/* closed_form.c: as if there were no other pair's transfers; false: no live path */
bool net_closed_form(struct net *net, struct net_transfer *transfer, sim_time_t feed,
                     struct net_path *path, sim_time_t *arrival);

/* closed_form.c: of a packet on an idle path */
sim_time_t net_path_latency(const struct net *net, const struct net_path *path,
                            uint32_t last_units);

/* tail.c: how much later than its feed and the links' propagation say the last packet of an
 * adaptive transfer comes, as far as it waits for those of its own message */
sim_time_t net_tail(const struct net *net, const struct net_transfer *transfer, sim_time_t feed);

/* order.c: an arrival that does not overtake the flow's earlier ones; remembers it */
sim_time_t net_order_clamp(struct net_order *order, const struct net_transfer *transfer,
                           sim_time_t arrival);
/* order.c: a link as a pair of endpoints sees it that has the network to itself; valid until the
 * next call */
struct net_link *net_own_link(struct net *net, const struct net_transfer *transfer, uint32_t link);
void net_order_fini(struct net_order *order);

/* link.c */
struct net_link_totals *net_link_totals(struct net *net, uint32_t link);
bool net_flight_lost(struct net *net,
                     const struct net_transfer *transfer); /* asked at its arrival */

/* link.c: what happens to both directions at once, after F2 knows of it or at F0 and F1 */
void net_link_mark(struct net *net, uint32_t link, uint32_t reverse, bool alive);
void net_router_mark(struct net *net, uint32_t router, bool alive);
void net_death_write(struct net *net, bool is_router, uint32_t a, uint32_t b);

/* lcb.c: the link protocol */
struct net_lcb {
    double rate; /* probability that a micropacket is bad */
    uint32_t replays, reinits;
    bool retried; /* has been initialised again, and nothing has come through since */
    struct sim_random random;
};
/* Extra time that `units` take on the link; *dies: it gives up before they are through. */
sim_time_t net_lcb_strike(struct net *net, uint32_t link, const struct net_speed *speed,
                          sim_time_t flight, uint32_t units, bool *dies);
/* The mean of it. */
sim_time_t net_lcb_mean(const struct net *net, uint32_t link, const struct net_speed *speed,
                        sim_time_t flight, uint32_t units);
#define NET_LCB_REINIT (20 * SIM_US)

/* send.c */
void net_faults_register(void);
/* Asks the fault point about one transfer or packet: marks the transfer, returns the delay. */
sim_time_t net_fault_strike(struct net *net, struct net_transfer *transfer);
extern struct sim_fault_point net_packet_point;

/* packet.c, packet_fault.c: F2 */
bool net_packets_init(struct net *net, const struct net_dragonfly_config *config, char **error);
void net_packets_fini(struct net *net);
void net_packet_send(struct net *net, struct net_transfer *transfer, sim_time_t feed);
void net_packet_link_died(struct net *net, uint32_t link, uint32_t reverse, bool alive);
void net_packet_router_died(struct net *net, uint32_t router, bool alive);
void net_packet_link_hold(struct net *net, uint32_t link, sim_time_t time);
void net_packet_link_info(const struct net *net, uint32_t link, struct net_link_info *info);

/* What is still held somewhere when nothing is under way any more: NULL, or what is wrong. */
const char *net_packet_leak(struct net *net);

#endif
