/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Networks: topology, routing and links, for any device that sits on them (the Aries NIC, a raw
 * message workload, later Ethernet LNDs). A device hands over transfers; the network decides the
 * path and the time of arrival and fires the transfer's event at the target.
 *
 * Links count in wire units: phits (6 bytes of data) on a dragonfly, bytes on a switched network.
 * Endpoints are numbered from 0 and are where NICs sit (nodes).
 */
#ifndef JACQUARD_NET_NET_H
#define JACQUARD_NET_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "engine/fault.h"
#include "engine/sim.h"

struct net;

enum net_fidelity {
    NET_F0, /* closed form: no contention */
    NET_F1, /* chunks: each reserves the links of its path (cut-through, busy-until times) */
    NET_F2, /* packets, virtual channels, credits; dragonflies only, one such network at a time */
};

/* Values are the hardware's route control field (aries transactionmgt); switched networks ignore
 * them. */
enum net_route {
    NET_ROUTE_NON_MIN_HASHED = 0,
    NET_ROUTE_MIN_HASHED = 1,
    NET_ROUTE_IN_ORDER = 3, /* minimal, one fixed path per pair */
    NET_ROUTE_ADAPTIVE_0 = 4,
    NET_ROUTE_ADAPTIVE_1 = 5,
    NET_ROUTE_ADAPTIVE_2 = 6,
    NET_ROUTE_ADAPTIVE_3 = 7,
};

enum net_class { NET_REQUEST, NET_RESPONSE };

enum net_status {
    NET_DELIVERED,
    NET_DROPPED, /* a fault dropped it, or it was on a link or router that died; event fires when it
                    would have arrived */
    NET_UNREACHABLE, /* no live path at the source; event fires at once, after the current event */
};

/* Links between routers: 11 routers, the hardware's bound for a non-minimal route. */
#define NET_PATH_MAX 10

/* The network's own notes on a transfer under way. Callers neither read nor initialise it. */
struct net_flight {
    void (*fire)(struct sim_event *event); /* the caller's, put back before it is called */
    struct net *net;
    sim_time_t sent;
    uint32_t deaths; /* links and routers that had died when it was sent */
    uint32_t links;
    union {
        struct { /* F1 */
            uint32_t link[NET_PATH_MAX];
            uint32_t left_ns[NET_PATH_MAX]; /* when its last unit leaves that link, from `sent` */
        };
        struct net_fan *fan; /* F1, several paths */
        struct { /* F2 */
            struct sim_event next; /* the next packet is handed over */
            sim_time_t feed, arrival, delay;
            uint32_t packets, cut, open, last;
        };
    };
};

/*
 * One chunk of a message (at F0 and F1 up to some 16 packets; at F2 one packet). Owned by the
 * caller, pooled and reused; must stay valid until `event` fires.
 */
struct net_transfer {
    /* Fires at the arrival of the last unit at the target NIC's input, see net_send. */
    union {
        struct sim_event event;
        struct sim_hinted hinted; /* `fetch`: the caller's, for the cache; may be NULL */
    };
    uint32_t source, target;
    uint32_t units; /* on the wire, all packets together */
    uint32_t last_units; /* of the last packet: its serialisation is what an idle path adds once */
    uint32_t packets;
    uint8_t class; /* enum net_class */
    uint8_t route; /* enum net_route */
    bool streamed; /* not the first chunk: docs/internals/network.md, "Spreading" */
    /* results */
    uint8_t status; /* enum net_status */
    uint8_t hops; /* links between routers taken */
    bool poisoned; /* a fault marked the payload */
    bool minimal; /* took a minimal path */
    bool duplicated; /* a fault made two of it: the device delivers it twice, in the same event */
    /* Adaptive modes, of its message (see "The tail of a stream" there): packets sent before it,
     * and over how long (ps, no more than the field holds); time from packet to packet at its end.
     * pace 0: it is no part of a stream. */
    uint32_t ahead, since, pace;
    uint64_t hash; /* hashed modes: destination cache line of the first packet, the others have
                    * the ones that follow; same line, same path */
    sim_time_t lead; /* the packets before the last one were ready over so long before the head's
                      * time (acknowledgements of what came bit by bit); 0: all are sent now */
    sim_time_t drain; /* F2: how long each packet keeps the target NIC's input busy; what it cannot
                       * take waits in the network. 0: it takes all that comes */
    sim_time_t lag; /* `event` fires so much after the arrival (the receiver's pipeline: saves it an
                     * event); a transfer that is lost fires without it */
    struct net_flight flight; /* private */
};

/* ---- building -------------------------------------------------------------------------------- */

struct net_link_class { /* dragonfly: green, black, blue */
    double rate_mps; /* wire units per microsecond (phit_rate_Mps) */
    sim_time_t hop; /* input of one router to input of the next */
    uint32_t lanes; /* 3 = full rate */
};

struct net_route_bias {
    uint32_t min_shift, min_add, non_shift, non_add;
};

/* F2: the tiles of a router. Rates are units (phits) per microsecond. */
struct net_tile_config {
    uint32_t private_blocks, shared_blocks; /* of 8 phits: an input buffer's, per VC and for all */
    uint32_t row_credits; /* phits of a VC that an input tile may have in the row buffer of each
                           * column, besides those that are on the move */
    double row_mps, column_mps; /* buses of the crossbar */
    double ptile_mps; /* a processor tile, each class */
    sim_time_t nic_buffer; /* time that the NIC needs to work off its full request buffer */
};

struct net_dragonfly_config {
    const char *preset; /* see net_presets(); NULL: the numbers below */
    uint32_t groups, chassis, slots; /* per machine, group, chassis; nodes per router is 4 */
    uint32_t cables; /* optical cables per group pair */
    struct net_link_class green, black, blue;
    sim_time_t router_transit; /* RTR */
    uint32_t vc_units; /* capacity of one VC: what a load of 15 means; 576 phits */
    struct net_route_bias bias[4];
    struct net_tile_config tile;
};

struct net_switched_config {
    const char *kind; /* "single-switch" or "fat-tree" (two levels) */
    uint32_t nodes;
    uint32_t radix; /* fat tree: ports per switch, half of them down */
    double rate_Bpus; /* link rate, bytes per microsecond */
    sim_time_t link_latency, switch_latency;
};

struct net_config {
    enum net_fidelity fidelity;
    uint64_t seed;
    enum { NET_DRAGONFLY, NET_SWITCHED } topology;
    struct net_dragonfly_config dragonfly;
    struct net_switched_config switched;
};

void net_config_default(struct net_config *config); /* dragonfly, preset "mini2"-like defaults of
                                                       docs/internals/network.md, F1 */

struct net_preset {
    const char *name, *system,
        *profile; /* profile: the host profile that the system is usually given */
    uint32_t groups, chassis, slots, cables;
};
const struct net_preset *net_presets(size_t *count);

/* NULL on a configuration that cannot be built; *error is malloc'd text for people. */
struct net *net_create(const struct net_config *config, char **error);
void net_destroy(struct net *net);

uint32_t net_endpoints(const struct net *net);
uint32_t net_groups(const struct net *net);
uint32_t net_group_of(const struct net *net, uint32_t endpoint); /* 0 on switched networks */
uint32_t net_routers(const struct net *net);
uint32_t net_router_of(const struct net *net, uint32_t endpoint);
enum net_fidelity net_fidelity(const struct net *net);

/* ---- sending --------------------------------------------------------------------------------- */

/*
 * Called in an event at the time the head of the transfer leaves the source NIC, in time order.
 * Picks the path, reserves the links and schedules transfer->event at arrival of the last unit =
 * sim_now() + feed + transit + hops + serialisation of the last packet + waiting, where `feed` is
 * how long the NIC takes to hand over the whole transfer (0 for a single packet). On an idle
 * network that is the closed form RTR + sum of HOP + SER of docs/internals/network.md.
 */
void net_send(struct net *net, struct net_transfer *transfer, sim_time_t feed);

/* Shortest possible time from head at source NIC to last unit at target NIC: the closed form. */
sim_time_t net_idle_latency(const struct net *net, uint32_t source, uint32_t target,
                            uint32_t last_units);
uint32_t net_minimal_hops(const struct net *net, uint32_t source, uint32_t target);
/*
 * Ceiling of the open paths, in wire units per microsecond; no stream of a pair is faster for long.
 * One path for the fixed modes, that of a line for the hashed ones; INFINITY where the network is
 * no bound (same router, or adaptive with at least 4 ports); 0 when nothing leads there.
 */
double net_path_rate(const struct net *net, uint32_t source, uint32_t target, enum net_route route);

/* ---- faults ---------------------------------------------------------------------------------- */

/* The fault point "net.packet" drops, delays, duplicates or poisons transfers (kind: enum
 * net_class). */

/*
 * A link is named as the machine does: two routers and which of their parallel links (0-based). On
 * a switched network routers are switches, and net_routers() + e names endpoint e, for the link of
 * a host. Both directions change. False when there is no such link. Units in flight on a dying link
 * or through a dying router are lost.
 */
bool net_link_set_alive(struct net *net, uint32_t router_a, uint32_t router_b, uint32_t which,
                        bool alive);
bool net_link_set_lanes(struct net *net, uint32_t router_a, uint32_t router_b, uint32_t which,
                        uint32_t lanes);
/*
 * The link protocol finds each micropacket (9 phits) bad with probability `rate` and sends again
 * from there: later, never lost. Seven in a row make it initialise the link again (20 us); when
 * that happens twice running, the link is dead. F1 adds the mean delay to each transfer; F0 knows
 * no errors. 0 ends it.
 */
bool net_link_set_error_rate(struct net *net, uint32_t router_a, uint32_t router_b, uint32_t which,
                             double rate);
bool net_router_set_alive(struct net *net, uint32_t router, bool alive);
bool net_router_alive(const struct net *net, uint32_t router);
#define NET_LEARN (100 * SIM_NS) /* until routers know of a death: their link-alive vectors */

/* ---- paths, without sending ------------------------------------------------------------------ */

struct net_way {
    uint32_t source, target; /* routers */
    uint32_t links, link[NET_PATH_MAX]; /* directed ones between them */
    sim_time_t latency; /* of the packet when nothing else is there: the closed form */
};
/* The path that a transfer of one packet would take now. False: no live path. */
bool net_way_find(struct net *net, const struct net_transfer *transfer, struct net_way *way);
/* Whether it leads over the link, in either direction, or by the router. */
bool net_way_by_link(const struct net *net, const struct net_way *way, uint32_t router_a,
                     uint32_t router_b, uint32_t which);
bool net_way_by_router(const struct net *net, const struct net_way *way, uint32_t router);

/* ---- looking --------------------------------------------------------------------------------- */

struct net_link_info {
    uint32_t router, peer, which;
    uint8_t tile,
        peer_tile; /* dragonfly: tile numbers, row * 10 + column as in l<row><col>; else 0 */
    enum { NET_LINK_GREEN, NET_LINK_BLACK, NET_LINK_BLUE, NET_LINK_SWITCH } color;
    bool alive;
    uint64_t units, transfers, dropped, dead; /* counters; dead: routed to a dead link */
    uint64_t replays, reinits; /* of the link protocol */
    sim_time_t busy; /* time on the wire of all `units`, at the link's present rate */
    sim_time_t stalled[2]; /* F2: how long packets ready to go waited for it, by class */
};
/* Directed links in a fixed order (each physical link appears once per direction). */
void net_for_each_link(const struct net *net,
                       void (*visit)(const struct net_link_info *, void *arg), void *arg);

struct net_counters {
    uint64_t transfers, packets, units, hops, minimal, non_minimal, dropped, unreachable, delayed,
        duplicated, poisoned;
    uint64_t replays; /* of the link protocol */
    sim_time_t waiting; /* sum of queueing times */
};
void net_get_counters(const struct net *net, struct net_counters *counters);

/* Dragonfly coordinates. */
struct net_coordinates {
    uint32_t group, chassis, slot, node;
};
bool net_coordinates(const struct net *net, uint32_t endpoint,
                     struct net_coordinates *out); /* false: not a dragonfly */
uint32_t net_endpoint_at(const struct net *net,
                         const struct net_coordinates *at); /* UINT32_MAX: outside */

#endif
