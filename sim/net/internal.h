/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Private to sim/net. A topology (dragonfly, switched) turns a transfer into a path: a list of
 * directed links. The reservation of links (chunk.c), faults (send.c) and failures (link.c) are the
 * same for all topologies.
 *
 * F1 reads and writes the state of links all the time, so that state is small: 8 bytes per directed
 * link for the choice of a path and 16 for its reservation. A 32-bit index that is computed from
 * coordinates addresses it; there are no pointers and no table of paths. Theta (864 routers, 40
 * ports) takes 0.8 MB.
 */
#ifndef JACQUARD_NET_INTERNAL_H
#define JACQUARD_NET_INTERNAL_H

#include <assert.h>
#include "engine/random.h"
#include "engine/trace.h"
#include "net/net.h"

/* Colours of links, the index of the table of speeds. The first three equal the values of
 * net_link_info.color. */
enum {
    COLOR_GREEN,
    COLOR_BLACK,
    COLOR_BLUE,
    COLOR_TO_SWITCH, /* switched networks: the link leads to a switch */
    COLOR_TO_HOST,
    COLORS,
};
_Static_assert(COLOR_GREEN == (int)NET_LINK_GREEN && COLOR_BLACK == (int)NET_LINK_BLACK &&
                   COLOR_BLUE == (int)NET_LINK_BLUE,
               "net_link_info.color is an index of net->speed");
#define LANES 3
#define NET_LOADS 16 /* values of a port's load: 4 bits */
#define NET_DRAGONFLY_PORTS 40

struct net_speed {
    uint64_t unit; /* ps per unit on the wire, 48.16 fixed point: see net_serialise */
    sim_time_t hop; /* from the input of one router or switch to that of the next */
    sim_time_t tolerated_backlog; /* see NET_TOLERATED_BACKLOG_UNITS */
    sim_time_t near_backlog[NET_LOADS]; /* [load]: the least backlog that gives a port this load */
    sim_time_t far_backlog[3]; /* backlog of a link further down a path that adds 2, 4 and 8 to the
                                  load of the path's first port */
    double load_per_ps; /* 4-bit load of a port per ps of backlog */
    double units_per_us; /* rate */
};

/*
 * F1 models a link as a queue of reservations in the order of sending. A transfer joins the queues
 * of all its links when it is sent. On each link it waits for the transfers that were sent before
 * it and have not been served, wherever they are now. See docs/internals/network.md, "F1".
 *
 * The choice of a path reads only busy_until, and under load it reads that of dozens of links.
 * Therefore busy_until has an array of its own; net_link_traffic is for the links of the path that
 * was chosen.
 */
struct net_link_traffic {
    uint32_t distance; /* of the last transfer: ps from its source to the link */
    uint32_t source; /* of the last transfer */
    uint32_t units, transfers; /* folded into net_link_totals before they wrap */
};

struct net_link { /* F0: a link as one pair of endpoints sees it; see flow_order.c */
    sim_time_t busy_until; /* end of the last reservation */
    struct net_link_traffic traffic;
};

struct net_link_totals { /* rarely written */
    uint64_t units, transfers, dropped, dead;
};

enum {
    DOWN_LINK = 1,
    DOWN_SOURCE = 2,
    DOWN_TARGET = 4
}; /* why a directed link is down: bits of net->down */

struct net_failure {
    sim_time_t time;
    bool is_router;
    uint32_t a, b; /* the two directed links, or the router and UINT32_MAX */
};

struct net_path {
    sim_time_t transit; /* from the source NIC to the input of the first link */
    sim_time_t
        propagation; /* a streamed chunk takes this instead of the links' own hops: see chunk.c */
    uint32_t links; /* of all parts together */
    uint32_t parts; /* number of paths of equal length that share the units; `link` holds one after
                       the other. Nearly always 1 */
    uint32_t width; /* number of ports that the packets spread over: 1 for one path; NET_WIDE: as
                       many as they need, or more */
    bool minimal;
    uint8_t root; /* number of links before the root of a non-minimal path; 0: no root */
    uint8_t color[NET_PATH_MAX];
    uint32_t link[NET_PATH_MAX];
};

/* The ports and paths over which the packets of an adaptive stream spread on an idle network. Rates
 * are units per microsecond. See stream_tail.c. */
struct net_stream_paths {
    double rate; /* of the first ports of all minimal paths together */
    uint32_t ports; /* number of these ports */
    double port_rate; /* of one of them */
    uint32_t detour_threshold_units; /* a packet takes a non-minimal path when more waits at a port;
                                NET_NO_DETOUR: never */
    sim_time_t far_detour_threshold; /* the same for a port behind the first ones, as a time */
    sim_time_t transit; /* of a router: this part of the wait is transit to the port */
    sim_time_t detour; /* additional time of a non-minimal path */
    double far_rate; /* of the bottleneck behind the first ports */
    sim_time_t far_wait; /* longest wait there before the source sees the congestion */
};
#define NET_NO_DETOUR UINT32_MAX

/* The operations of a topology. `router` and `peer` of links are as in net.h. */
struct net_topology {
    /* Finds the path of a transfer at F1 from its mode and the state of the links. False: there is
     * no live path. */
    bool (*route)(struct net *net, const struct net_transfer *transfer, struct net_path *path);
    /* Gives the colours of a shortest path on an idle network. Links may be left out. */
    void (*shortest)(const struct net *net, uint32_t source, uint32_t target,
                     struct net_path *path);
    double (*path_rate)(const struct net *net, uint32_t source, uint32_t target,
                        enum net_route route);
    /* False: the packets of the transfer do not spread. May be NULL. */
    bool (*stream_paths)(const struct net *net, const struct net_transfer *transfer,
                         struct net_stream_paths *spread);
    /* Finds the directed link a→b and its reverse. False: there is none. */
    bool (*find)(const struct net *net, uint32_t a, uint32_t b, uint32_t which, uint32_t *link,
                 uint32_t *reverse);
    /* Fills in routers, tiles and colour. False: nothing is connected there. */
    bool (*describe)(const struct net *net, uint32_t link, struct net_link_info *info);
    void (*destroy)(struct net *net);
};

struct dragonfly;
struct switched;

struct net_flow {
    uint64_t pair, flow;
    struct net_link link; /* busy_until: the last arrival, or the end of the last reservation; 0:
                             the entry is free */
};

struct net_flow_table { /* flows with transfers in flight: see flow_order.c */
    struct net_flow *entries;
    uint32_t capacity, used;
};

struct net {
    const struct net_topology *topology;
    union {
        struct dragonfly *dragonfly;
        struct switched *switched;
    };
    enum net_fidelity fidelity;
    bool impaired; /* at least one link or router is down now */
    sim_time_t *busy_until; /* per directed link: end of the last reservation */
    struct net_link_traffic *traffic; /* per directed link */
    struct net_link_totals *totals; /* per directed link; NULL until one is needed */
    uint8_t *down; /* per directed link */
    uint8_t *lanes; /* live lanes per directed link; NULL as long as none is lost */
    uint32_t link_count, ports; /* ports: links per router in the index; 0: not a dragonfly */
    uint8_t *router_dead;
    uint32_t endpoints, routers, groups;
    uint32_t per_router; /* endpoints */
    uint32_t host_links; /* links of a path that are not hops */
    struct net_speed speed[COLORS][LANES + 1]; /* [colour][live lanes], [..][0] unused */
    uint8_t full_lanes[COLORS]; /* configured */
    struct net_failure *failures;
    uint32_t failure_count, failure_capacity;
    struct net_flow_table flows;
    struct net_flow_table pair_links; /* F0: each pair has its own links */
    struct net_multipath *free_multipaths; /* see hashed_chunk.c */
    struct multipath_block *multipath_blocks;
    sim_time_t send_delay; /* what is routed and reserved now leaves so much later: train.c */
    struct net_counters counters;
    uint64_t seed;
    struct sim_fault_point *packet_point;
    struct {
        void (*fire)(struct sim_event *event); /* NULL: of all other transfers */
        net_describe_fn *describe; /* NULL: this place is free */
    } descriptions[NET_PROTOCOLS];
    uint32_t first_router; /* in the trace */
    struct net_packets *packets; /* F2 */
    struct net_lcb *lcb; /* per directed link; NULL as long as no link has errors: see lcb.c */
};

/*
 * The packets of an adaptive chunk are routed one by one over several ports, and packets of
 * different chunks interleave on a link. Therefore a chunk does not wait for a backlog of up to one
 * chunk. It waits for the backlog beyond that, so that no link carries more than its rate. A chunk
 * in this sense takes one path: 16 packets of 14 phits. Trains are longer: train.c.
 */
#define NET_PATH_PACKETS 16
#define NET_TOLERATED_BACKLOG_UNITS 224
#define NET_WIDE 4 /* so many ports, electrical or optical, carry all that a NIC can inject */

static inline sim_time_t net_serialise(const struct net_speed *speed, uint32_t units)
{
    return (units * speed->unit + 0x8000) >> 16; /* 14 phits at 700 per µs take exactly 20000 ps */
}

static inline const struct net_speed *net_link_speed(const struct net *net, uint32_t link,
                                                     unsigned color)
{
    unsigned lanes = sim_likely(net->lanes == NULL) ? net->full_lanes[color] : net->lanes[link];

    assert(color < COLORS && lanes >= 1 && lanes <= LANES);
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

/* net.c: for the topologies. The rate of the class is units per microsecond. vc_units: backlog of
 * full load; tolerated_units: see NET_TOLERATED_BACKLOG_UNITS */
void net_speed_init(struct net *net, unsigned color, const struct net_link_class *class,
                    uint32_t vc_units, uint32_t tolerated_units);
bool net_links_alloc(struct net *net, uint32_t links);
__attribute__((format(printf, 2, 3))) bool net_fail(char **error, const char *format,
                                                    ...); /* always false */

/* dragonfly.c, switched.c: false and *error if the configuration cannot be built */
bool net_dragonfly_init(struct net *net, const struct net_config *config, char **error);
bool net_switched_init(struct net *net, const struct net_config *config, char **error);

/* chunk.c: reserves the links of the path; returns the arrival time of the tail */
sim_time_t net_chunk_reserve(struct net *net, struct net_transfer *transfer,
                             const struct net_path *path, sim_time_t feed);
/*
 * hashed_chunk.c: the same for a transfer whose cache lines have paths of their own. *path becomes
 * the path of the first line. If the lines take several paths, flight.links becomes NET_MULTIPATH,
 * flight.multipath holds the links, and the caller must call net_multipath_free in the end. False:
 * there is no live path. The lines of a longer transfer take the same path in groups of equal size.
 */
#define NET_MULTIPATH UINT32_MAX
bool net_hashed_reserve(struct net *net, struct net_transfer *transfer, sim_time_t feed,
                        struct net_path *path, sim_time_t *arrival);
/* train.c: the same for an adaptive transfer of several parts that each have a path. Counts them.
 */
bool net_train_reserve(struct net *net, struct net_transfer *transfer, sim_time_t feed,
                       sim_time_t *arrival);
/* multipath.c */
void net_multipath_free(struct net *net, struct net_transfer *transfer);
void net_multipaths_fini(struct net *net);
struct net_flight_path {
    const struct net_passed_link *passed;
    uint32_t links;
};
void net_flight_links(const struct net_flight *flight, struct net_flight_path *path);

/* Whether each cache line of the transfer has a path of its own. A switched network hashes flows.
 */
static inline bool net_hashes_lines(const struct net *net, const struct net_transfer *transfer)
{
    return transfer->route <= NET_ROUTE_MIN_HASHED && transfer->packets > 1 && net->ports != 0;
}

/* Whether one path is not chosen for all of the transfer. Small packets, such as acknowledgements,
 * load a path less. */
static inline bool net_is_train(const struct net *net, const struct net_transfer *transfer)
{
    return transfer->packets > NET_PATH_PACKETS && transfer->units > NET_TOLERATED_BACKLOG_UNITS &&
           net_mode_adaptive(transfer->route) && net->ports != 0;
}

/* closed_form.c: the arrival if no other pair sent anything; false: there is no live path */
bool net_closed_form(struct net *net, struct net_transfer *transfer, sim_time_t feed,
                     struct net_path *path, sim_time_t *arrival);

/* closed_form.c: the latency of a packet on an idle path */
sim_time_t net_path_latency(const struct net *net, const struct net_path *path,
                            uint32_t last_units);

/* stream_tail.c: the time that the last packet of an adaptive transfer waits for other packets of
 * its own message, beyond its feed and the links' propagation */
sim_time_t net_stream_tail_of(const struct net *net, const struct net_transfer *transfer,
                              sim_time_t feed);
static inline sim_time_t net_stream_tail(const struct net *net, const struct net_transfer *transfer,
                                         sim_time_t feed)
{
    assert(net_mode_adaptive(transfer->route) || transfer->packet_interval_ps == 0);
    if (transfer->packet_interval_ps == 0 || transfer->stream_packets + transfer->packets <= 1)
        return 0;
    return net_stream_tail_of(net, transfer, feed);
}

/* flow_order.c: returns the arrival, or later so that it does not overtake an earlier transfer of
 * the flow; records it */
sim_time_t net_flow_keep_order(struct net_flow_table *table, const struct net_transfer *transfer,
                               sim_time_t arrival);
/* flow_order.c: fetches what net_flow_keep_order() will use for a transfer of NET_ROUTE_IN_ORDER */
void net_flow_fetch(const struct net_flow_table *table, const struct net_transfer *transfer);
/* flow_order.c: F0: the link as the transfer's pair of endpoints sees it; valid until the next call
 */
struct net_link *net_pair_link(struct net *net, const struct net_transfer *transfer, uint32_t link);
void net_flow_table_fini(struct net_flow_table *table);

/* link.c */
struct net_link_totals *net_link_totals(struct net *net, uint32_t link);
bool net_flight_lost(struct net *net,
                     const struct net_transfer *transfer); /* called at its arrival */

/* link.c: set the state that routing sees: at F0 and F1 at once, at F2 when the routers detect the
 * change. Both directions of a link change. */
void net_link_mark(struct net *net, uint32_t link, uint32_t reverse, bool alive);
void net_router_mark(struct net *net, uint32_t router, bool alive);
void net_failure_record(struct net *net, bool is_router, uint32_t a, uint32_t b);

/* lcb.c: the link protocol */
struct net_lcb {
    double rate; /* probability that a micropacket is corrupted */
    uint32_t replays, reinits;
    bool retried; /* has been reinitialised, and no packet has got through since */
    struct sim_random random;
};
/* Draws errors for `units` on the link and returns the time that retransmissions add. *link_fails
 * becomes true if the link fails before the units are through. */
sim_time_t net_lcb_draw_replays(struct net *net, uint32_t link, const struct net_speed *speed,
                                sim_time_t flight, uint32_t units, bool *link_fails);
/* The mean of that time. */
sim_time_t net_lcb_mean_replay_time(const struct net *net, uint32_t link,
                                    const struct net_speed *speed, sim_time_t flight,
                                    uint32_t units);
#define NET_LCB_REINIT (20 * SIM_US)

/* send.c */
/* Counts a transfer, or a part of a train, that takes the path. */
void net_count(struct net *net, struct net_transfer *transfer, const struct net_path *path);
/* Registers the point that networks without one of their own share, unless that was done. */
struct sim_fault_point *net_shared_packet_point(void);

/* Tracks of the trace: NET_TRACK_LINK has node = router, index = port. 1 to 6 are the NIC's. */
enum { NET_TRACK_LINK = SIM_TRACK_LINK };
/* The router whose trace track shows the link. All links of a switched network are shown as ports
 * of its first router. */
static inline uint32_t net_trace_node(const struct net *net, uint32_t link)
{
    return net->first_router + (net->ports ? link / NET_DRAGONFLY_PORTS : 0);
}
static inline uint32_t net_trace_index(const struct net *net, uint32_t link)
{
    return net->ports ? link % NET_DRAGONFLY_PORTS : link;
}
void net_tracks_register(void);
/* The function that describes the transfer in the record of a fault, or NULL. */
net_describe_fn *net_description(const struct net *net, const struct net_transfer *transfer);
/* Asks the fault point about one transfer or packet, marks the transfer and returns the delay. */
sim_time_t net_fault_apply(struct net *net, struct net_transfer *transfer, uint32_t packets);

/* packet.c, packet_fault.c: F2 */
bool net_packets_init(struct net *net, const struct net_dragonfly_config *config, char **error);
void net_packets_fini(struct net *net);
void net_packet_send(struct net *net, struct net_transfer *transfer, sim_time_t feed);
void net_packet_set_link_alive(struct net *net, uint32_t link, uint32_t reverse, bool alive);
void net_packet_set_router_alive(struct net *net, uint32_t router, bool alive);
void net_packet_link_hold(struct net *net, uint32_t link, sim_time_t time);
void net_packet_trace_end(const struct net *net);
void net_packet_link_info(const struct net *net, uint32_t link, struct net_link_info *info);

/* For an idle network: NULL, or a description of a resource (packet, credit, buffer) that is still
 * held. */
const char *net_packet_leak(struct net *net);

#endif
