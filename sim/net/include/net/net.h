/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Networks: topology, routing and links, for any device that is attached to them (the Aries NIC, a
 * raw message workload). A device hands over transfers. The network decides the path and the time
 * of arrival, and fires the transfer's event at the target.
 *
 * Links count in wire units: phits (6 bytes of data) on a dragonfly, bytes on a switched network.
 * Endpoints (nodes) are numbered from 0; each has one NIC. All times (sim_time_t) are picoseconds.
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

/* The network's state of a transfer in flight. Callers neither read nor initialise it. */
/* A link that a transfer passes; its last unit leaves the link so long after `sent`. */
struct net_passed_link {
    uint32_t link, departure_ns;
};

struct net_flight {
    void (*fire)(struct sim_event *event); /* the caller's handler; restored before it is called */
    struct net *net;
    sim_time_t sent;
    uint32_t failures_seen; /* length of the log of failures when it was sent */
    uint32_t links;
    union {
        struct net_passed_link passed[NET_PATH_MAX]; /* F1 */
        struct net_multipath *multipath; /* F1, several paths */
        struct { /* F2; `packets` are cut, `outstanding` of them have not arrived */
            struct sim_event next; /* hands over the next packet */
            sim_time_t feed, arrival, delay;
            uint32_t packets, handed_over, outstanding, last_units;
        };
    };
};

/*
 * One chunk of a message (at F0 and F1 many packets; at F2 one packet). Owned by the
 * caller, pooled and reused; must stay valid until `event` fires.
 */
struct net_transfer {
    /* Fires when the last unit arrives at the target NIC's input; see net_send. */
    union {
        struct sim_event event;
        struct sim_prefetch_event
            prefetch_event; /* `fetch`: the caller's prefetch callback; may be NULL */
    };
    uint32_t source, target;
    uint32_t units; /* on the wire, all packets together */
    uint32_t last_units; /* of the last packet; an idle path adds its serialisation once */
    uint32_t packets;
    uint8_t class; /* enum net_class */
    uint8_t route; /* enum net_route */
    bool streamed; /* not the first chunk of its message: see docs/internals/network.md, "Spreading"
                    */
    /* results */
    uint8_t status; /* enum net_status */
    uint8_t hops; /* links between routers taken */
    bool poisoned; /* a fault marked the payload */
    bool minimal; /* took a minimal path */
    bool duplicated; /* a fault duplicated it: the device delivers it twice, in the same event */
    /* Adaptive modes: the stream, i.e. the message, that the transfer belongs to. See
     * docs/internals/network.md, "The tail of a stream". */
    uint32_t stream_packets; /* packets of the stream that were sent before this transfer */
    uint32_t stream_elapsed_ps; /* since the first of them was sent; UINT32_MAX: that or more */
    uint32_t packet_interval_ps; /* between packets at its end; 0: it belongs to no stream */
    sim_time_t ready_span; /* The packets before the last one became ready during this time before
                            * net_send (responses to a request that arrived packet by packet). 0:
                            * all become ready now. */
    sim_time_t receiver_latency; /* `event` fires so long after the arrival. It stands for the
                                  * receiver's pipeline and saves the receiver an event. A lost
                                  * transfer fires without it. */
    struct net_flight flight; /* private */
    /* Not used by adaptive modes at F0 and F1, so they lie behind the rest. */
    uint64_t hash; /* hashed modes: destination cache line of the first packet; the following
                    * packets have the following lines. Packets of one line take one path. */
    sim_time_t ejection_time; /* F2: each packet keeps the target NIC's input busy for so long;
                               * further packets wait in the network. 0: the NIC never blocks. */
};

/* ---- building -------------------------------------------------------------------------------- */

struct net_link_class { /* dragonfly: green, black, blue */
    double rate_mps; /* millions of wire units per second (phit_rate_Mps) */
    sim_time_t hop; /* input of one router to input of the next */
    uint32_t lanes; /* 3 = full rate */
};

struct net_route_bias {
    uint32_t min_shift, min_add, non_shift, non_add;
};

/* F2: the tiles of a router. Rates are millions of phits per second. */
struct net_tile_config {
    /* An input buffer, in blocks of 8 phits: reserved for each VC, and shared by all VCs. */
    uint32_t private_blocks, shared_blocks;
    uint32_t row_credits; /* phits per VC that an input tile may have waiting in the row buffer of
                           * each column; phits in transit do not count */
    double row_mps, column_mps; /* buses of the crossbar */
    double ptile_mps; /* a processor tile, for each class */
    sim_time_t nic_buffer; /* time that the NIC needs to empty its full request buffer */
};

struct net_dragonfly_config {
    const char *preset; /* see net_presets(); NULL: the numbers below */
    uint32_t groups, chassis, slots; /* per machine, group, chassis; nodes per router is 4 */
    uint32_t cables; /* optical cables per group pair */
    struct net_link_class green, black, blue;
    sim_time_t router_transit; /* RTR */
    uint32_t vc_units; /* capacity of one VC, which a load of 15 stands for; 576 phits */
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
    /* Asked about each transfer. It must be registered and live until sim_fini. NULL: the point
     * "net.packet", which all networks without a point of their own share. */
    struct sim_fault_point *packet_point;
    /* Number of router 0 in the trace: where a simulation has several networks, their routers have
     * different tracks. */
    uint32_t first_router;
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

/* NULL if the configuration cannot be built; *error is then a malloc'd message for people. */
struct net *net_create(const struct net_config *config, char **error);
void net_destroy(struct net *net);
/* To be called at the end of a run with a trace, before the trace is closed: writes to it the
 * credits that have returned to virtual channels since the last packet (F2). */
void net_trace_end(const struct net *net);

uint32_t net_endpoints(const struct net *net);
uint32_t net_groups(const struct net *net);
uint32_t net_group_of(const struct net *net, uint32_t endpoint); /* 0 on switched networks */
uint32_t net_routers(const struct net *net);
uint32_t net_router_of(const struct net *net, uint32_t endpoint);
enum net_fidelity net_fidelity(const struct net *net);

/* ---- sending --------------------------------------------------------------------------------- */

/*
 * Sends a transfer. The device calls it when the head of the transfer leaves the source NIC. The
 * function picks the path, reserves the links and schedules transfer->event when the last unit
 * arrives: sim_now() + feed + transit + hops + serialisation of the last packet + waiting. `feed`
 * is the time that the NIC takes to inject the whole transfer (0 for a single packet). On an idle
 * network that is the closed form RTR + sum of HOP + SER of docs/internals/network.md.
 */
void net_send(struct net *net, struct net_transfer *transfer, sim_time_t feed);

/* Shortest possible time from the head at the source NIC to the last unit at the target NIC: the
 * closed form. */
sim_time_t net_idle_latency(const struct net *net, uint32_t source, uint32_t target,
                            uint32_t last_units);
uint32_t net_minimal_hops(const struct net *net, uint32_t source, uint32_t target);
/*
 * Upper bound of the rate from source to target, in wire units per microsecond: no stream is faster
 * for long. Fixed modes have one path; for hashed modes it is the path of one cache line. INFINITY
 * if the network does not bound the rate (same router, or an adaptive mode with at least 4 ports);
 * 0 if there is no live path.
 */
double net_path_rate(const struct net *net, uint32_t source, uint32_t target, enum net_route route);

/* ---- faults ---------------------------------------------------------------------------------- */

/* The fault point of a network ("net.packet", unless its configuration has another one) drops,
 * delays, duplicates or poisons transfers. The kind of its subject is enum net_class. */

typedef void net_describe_fn(const struct net_transfer *transfer, struct sim_fault_hit *hit);

/*
 * Sets the function that describes the content of a transfer in the record of a fault, for the
 * transfers whose event fires `fire` (NULL: for those that have no description of their own). It is
 * called when the fault is injected. Each protocol on the network provides its own, NET_PROTOCOLS
 * at most; of other transfers only the nodes are known.
 */
#define NET_PROTOCOLS 4
void net_set_describe(struct net *net, void (*fire)(struct sim_event *event),
                      net_describe_fn *describe);
/*
 * Writes where a fault hits a transfer: "link g0-c0s1→g0-c0s4", the first link of the fixed minimal
 * path, or "router g0-c0s1" if it takes no link. A fault rule concerns a transfer and not a link;
 * the text says which part of the machine to look at. Changes nothing in the network.
 */
void net_fault_place(struct net *net, const struct net_transfer *transfer, char *buffer,
                     size_t size);

/*
 * Two routers and the number of one of their parallel links, from 0, name a link. On a switched
 * network the routers are the switches; net_routers() + e names endpoint e, for the link of a host.
 * Both directions change. The functions return false if there is no such link. Units that are on a
 * link, or in a router, when it fails are lost.
 */
bool net_link_set_alive(struct net *net, uint32_t router_a, uint32_t router_b, uint32_t which,
                        bool alive);
bool net_link_set_lanes(struct net *net, uint32_t router_a, uint32_t router_b, uint32_t which,
                        uint32_t lanes);
/*
 * The link protocol finds each micropacket (9 phits) corrupted with probability `rate` and
 * retransmits from there: data arrives later, but is never lost. After seven errors in a row it
 * reinitialises the link (20 us). When that happens twice in succession, the link fails. F1 adds
 * the mean delay to each transfer; F0 has no errors. A rate of 0 ends the errors.
 */
bool net_link_set_error_rate(struct net *net, uint32_t router_a, uint32_t router_b, uint32_t which,
                             double rate);
bool net_router_set_alive(struct net *net, uint32_t router, bool alive);
bool net_router_alive(const struct net *net, uint32_t router);
/* Time from a failure until the routers' link-alive vectors show it. */
#define NET_FAILURE_DETECTION_TIME (100 * SIM_NS)

/* ---- paths, without sending -------------------------------------------------------------------
 */

struct net_path_preview {
    uint32_t source, target; /* routers */
    uint32_t links, link[NET_PATH_MAX]; /* directed links between them */
    sim_time_t latency; /* of the packet on an idle network: the closed form */
};
/* Finds the path that a transfer of one packet would take now. False: no live path. */
bool net_preview(struct net *net, const struct net_transfer *transfer,
                 struct net_path_preview *preview);
/* Whether the path uses the link, in either direction, or passes through the router. */
bool net_preview_uses_link(const struct net *net, const struct net_path_preview *preview,
                           uint32_t router_a, uint32_t router_b, uint32_t which);
bool net_preview_uses_router(const struct net *net, const struct net_path_preview *preview,
                             uint32_t router);

/* ---- inspection ------------------------------------------------------------------------------ */

struct net_link_info {
    uint32_t router, peer, which;
    uint8_t tile,
        peer_tile; /* dragonfly: tile numbers, row * 10 + column as in l<row><col>; else 0 */
    uint32_t trace_node, trace_index; /* of its track NET_TRACK_LINK in the trace */
    enum { NET_LINK_GREEN, NET_LINK_BLACK, NET_LINK_BLUE, NET_LINK_SWITCH } color;
    bool alive;
    uint64_t units, transfers, dropped, dead; /* counters; dead: transfers routed to a dead link */
    uint64_t replays, reinits; /* retransmissions, reinitialisations by the link protocol */
    sim_time_t busy; /* time on the wire of all `units`, at the link's current rate */
    sim_time_t stalled[2]; /* F2: time that packets waited for the link when ready, by class */
};
/* Visits all directed links in a fixed order; each physical link appears once per direction. */
void net_for_each_link(const struct net *net,
                       void (*visit)(const struct net_link_info *, void *arg), void *arg);

struct net_counters {
    uint64_t transfers, packets, units, hops, minimal, non_minimal, dropped, unreachable, delayed,
        duplicated, poisoned;
    uint64_t replays; /* of the link protocol */
    sim_time_t waiting; /* sum of queueing times */
    sim_time_t first, last; /* when the first transfer was sent and the last one ended; 0: none */
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
