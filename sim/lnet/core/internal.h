/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The objects of LNet and the calls between its files. Everything here is used with the node's lock
 * held. A file of core/ belongs to one object; docs/internals/model-lnet.md has the list.
 */
#ifndef JACQUARD_LNET_INTERNAL_H
#define JACQUARD_LNET_INTERNAL_H

#include <assert.h>
#include "core/host.h"
#include "core/lnd.h"
#include "core/params.h"
#include "engine/ledger.h"
#include "engine/random.h"
#include "lnet/api.h"
#include "lnet/lnetctl.h"
#include "lnet/node.h"

#define LNET_PORTALS 64
#define LNET_BUCKETS 256 /* of a portal's match table */
#define LNET_BLOCK 16 /* buckets that are allocated together */
#define LNET_HOPS_UNDEFINED UINT32_MAX

struct lnet_fault_rule;
struct lnet_gateway;
struct lnet_instance;
struct lnet_ping_target;
struct lnet_push_target;
struct lnet_record;
struct lnet_router_buffer;

/* ---- networks and interfaces --------------------------------------------------------------- */

struct lnet_net {
    struct list_head on_node;
    struct lnet_node *node;
    uint32_t id;
    const struct lnet_lnd *lnd;
    struct list_head nis;
};

/* Messages by type, as statistics of an NI and of a peer's NI count them. */
struct lnet_type_counts {
    uint32_t put, get, reply, ack;
};

/* Failures that lowered the health of an NI, or of a peer's NI. */
struct lnet_health_counts {
    uint32_t interrupt, dropped, aborted, no_route, timeout, error, network_timeout;
};

struct lnet_ni {
    /* For the driver. */
    lnet_nid_t nid; /* `startup` sets the address part */
    struct lnet_node *node;
    struct lnet_net *net;
    const struct lnet_lnd *lnd;
    void *driver; /* the driver's own */
    struct lnet_interface interface; /* of the host */
    int *driver_values; /* of lnd->params, in its order */
    int credits, peer_credits, peer_buffer_credits, peer_timeout_s; /* `startup` may change them */

    /* LNet's own. */
    struct list_head on_net; /* net->nis */
    struct list_head tx_delayed; /* messages that wait for a credit of the NI; FIFO */
    int tx_credits, tx_credits_min; /* -n: n messages wait */
    uint32_t status; /* LNET_NI_STATUS_UP or _DOWN; only routers change it */
    sim_time_t last_alive; /* a message came in */
    int health; /* 0 … LNET_MAX_HEALTH_VALUE */
    bool recovery_ping; /* a ping is in flight */
    struct list_head on_recovery;
    uint32_t sequence; /* for round robin between NIs */
    bool shutting_down;
    struct lnet_type_counts sent, received, dropped;
    struct lnet_health_counts failures;
};

/* ---- peers --------------------------------------------------------------------------------- */

struct lnet_peer {
    struct list_head on_node;
    lnet_nid_t primary;
    struct list_head nis; /* struct lnet_peer_ni */
    bool multi_rail;
    lnet_nid_t preferred_source; /* of a peer without multi-rail; 0: none yet */
    struct lnet_discovery *discovery; /* NULL: not in progress */
    bool up_to_date; /* discovered */
    bool configured; /* its NIDs stay as they are */
    int discovery_status; /* of the last one: 0 or a negative errno */
};

/* One NID of a peer. What each message uses comes first: in the third line, what sending uses. */
#define LNET_PEER_HINTS 3
#define LNET_PEER_SEND_LINES 3
struct lnet_peer_ni {
    lnet_nid_t nid;
    struct lnet_peer *peer;
    struct lnet_net *net; /* NULL: not a local network (reached through routers) */
    void *driver; /* what the driver remembers; NULL: nothing */
    /* Fetches what sending so many bytes will use into the cache; the driver's, if it remembers. */
    void (*fetch)(const struct lnet_peer_ni *peer, uint32_t bytes);
    uint64_t tx_queued_bytes; /* lpni_txqnob: payload + 72 of each message with or waiting for a
                               * credit */
    int tx_credits, tx_credits_min;

    uint32_t sequence; /* for round robin */
    int health;
    struct lnet_type_counts sent, received;
    struct lnet_gateway *gateway; /* NULL: no route leads through it */
    sim_time_t last_alive, last_query;
    bool alive;
    bool notified_down; /* the driver said so, and nothing was heard since */
    bool recovery_ping; /* a ping is in flight */

    struct list_head tx_delayed; /* messages that wait for a credit of the peer; FIFO */
    /* What the driver uses for short messages, and for those of `hints_long` bytes and more. They
     * may be freed: they are fetched, but never read. */
    const void *hints[2][LNET_PEER_HINTS];
    uint32_t hints_long;

    struct list_head router_delayed; /* incoming messages to forward that wait; FIFO */
    int router_credits, router_credits_min;
    int tx_credits_given, router_credits_given; /* by its network; 0: it never had one */
    struct list_head on_peer, on_recovery;
    struct lnet_type_counts dropped; /* not sent, because the peer was dead */
    struct lnet_health_counts failures;
};

/* A search compares NIDs without reading the peers. */
struct lnet_peer_slot {
    lnet_nid_t nid;
    struct lnet_peer_ni *peer; /* NULL: free */
};

/* ---- event queues, match entries, descriptors ---------------------------------------------- */

struct lnet_eq {
    struct lnet_node *node;
    uint64_t cookie;
    struct list_head on_node;
    lnet_eq_handler_t callback;
    struct lnet_event *events; /* NULL: callback only */
    uint32_t size; /* a power of two */
    lnet_seq_t enqueued,
        dequeued; /* sequence numbers of the last event written, the next to read */
    uint32_t descriptors; /* that refer to it */
    bool internal; /* of LNet, whose pings end although the node has crashed */
};

struct lnet_me {
    uint64_t cookie;
    struct list_head on_list; /* of its portal */
    struct list_head *list; /* the head */
    uint32_t portal;
    bool unlink;
    struct lnet_process_id match_id;
    uint64_t match_bits, ignore_bits;
    struct lnet_libmd *md;
};

struct lnet_libmd {
    uint64_t cookie;
    struct list_head on_node;
    struct lnet_me *me; /* NULL: bound, or detached from it */
    bool attached; /* made by LNetMDAttach */
    bool dead; /* handle is invalid; freed with the last operation */
    bool auto_unlink, aborted;
    bool unlinked_reported;
    struct lnet_eq *eq;
    struct lnet_md user; /* as given; threshold: what is left */
    uint32_t length; /* bytes */
    uint32_t offset; /* local */
    uint32_t operations; /* in flight */
    struct lnet_fragments fragments;
    struct kvec inline_fragment;
    /* The response tracker: see response.c. */
    struct list_head on_tracker; /* empty: not tracked */
    sim_time_t response_deadline;
    lnet_nid_t response_peer; /* next hop of the request */
};

/* ---- messages
 * ------------------------------------------------------------------------------------ */

struct lnet_msg {
    /* For the driver. */
    struct lnet_hdr header;
    lnet_nid_t next_hop; /* where to send it: final destination, or a gateway */
    struct lnet_process_id target; /* next_hop, and the PID of the final destination */
    bool target_is_router;
    bool routing; /* a router forwards it: do not optimize */
    struct lnet_fragments payload; /* of what is sent, or where to place it */
    uint32_t payload_offset; /* in `payload` */
    uint32_t payload_length;
    enum lnet_msg_hstatus health_status; /* set before lnet_finalize of a failed message */
    void *driver[2]; /* the driver's own, until lnet_finalize */
    struct lnet_libmd *md; /* NULL: a router's, or dropped */
    uint64_t flow; /* of the trace; 0: none */

    /* LNet's own. */
    struct list_head on_list; /* of what it waits for */
    struct list_head on_node; /* all messages */
    struct lnet_node *node;
    uint32_t type; /* enum lnet_msg_type */
    lnet_nid_t from; /* last hop of an incoming message */
    void *in; /* the driver's incoming message */
    struct lnet_ni *in_ni;
    uint32_t wanted; /* payload bytes to receive */
    uint32_t offset; /* where in the descriptor */
    bool tx_committed, rx_committed;
    bool tx_delayed, rx_delayed; /* waited for a credit, a buffer or a descriptor */
    bool rx_ready_delay; /* the driver has copied it aside */
    bool peer_credit, ni_credit; /* holds one to send */
    bool router_peer_credit, router_buffer_credit; /* holds one to forward */
    bool sending, receiving;
    bool ack_wanted;
    bool no_resend, recovery;
    bool rdma; /* incoming GET whose answer the driver moves itself */
    bool optimized_get; /* the answer to one, at the initiator */
    bool delay_rule_passed;
    bool discovered; /* its peer was discovered, or could not be */
    uint32_t retries;
    sim_time_t deadline; /* no resend after it */
    sim_time_t began; /* committed */
    sim_time_t release_at; /* from a delay rule, or from a router */
    lnet_nid_t source_argument; /* of LNetPut and LNetGet: the NI to use, or LNET_NID_ANY */
    struct lnet_ni *tx_ni, *rx_ni;
    struct lnet_peer_ni *tx_peer, *rx_peer; /* next hop, last hop */
    struct lnet_router_buffer *buffer;
    struct lnet_msg *reply; /* of an optimized GET */
    bool superseded; /* such a reply, whose GET will be sent again */
    struct lnet_event event;
    struct lnet_record *record; /* its line in the ledger */
};

/* ---- portals
 * ------------------------------------------------------------------------------------- */

enum lnet_portal_kind { LNET_PORTAL_UNUSED, LNET_PORTAL_UNIQUE, LNET_PORTAL_WILDCARD };

struct lnet_portal {
    enum lnet_portal_kind kind;
    bool lazy;
    uint32_t entries;
    struct list_head delayed; /* PUTs that wait for a descriptor; FIFO */
    struct list_head ignore; /* entries with ignore bits */
    struct list_head
        *blocks[LNET_BUCKETS / LNET_BLOCK]; /* buckets, for those without; NULL: empty */
};

/* ---- the node
 * ------------------------------------------------------------------------------------ */

enum lnet_state { LNET_DOWN, LNET_STARTING, LNET_RUNNING, LNET_STOPPING, LNET_PANICKED };

/* The kinds of objects that cookies name. */
enum lnet_handle_type { LNET_HANDLE_MD = 1, LNET_HANDLE_ME = 2, LNET_HANDLE_EQ = 3 };
struct lnet_handles {
    struct lnet_handle_slot {
        uint64_t cookie; /* 0: free */
        union {
            void *object;
            uint32_t next_free; /* number of the slot + 1 */
        };
    } * slots;
    uint32_t count, size, first_free;
};

struct lnet_router_pool {
    struct list_head free; /* struct lnet_router_buffer */
    struct list_head waiting; /* messages; FIFO */
    uint32_t pages; /* of a buffer */
    int total, credits, credits_min; /* -n: n messages wait */
    uint32_t allocated; /* buffers that have memory: they are made when they are needed */
};
enum { LNET_POOL_TINY, LNET_POOL_SMALL, LNET_POOL_LARGE, LNET_POOLS };

/* What lives from the first LNetNIInit to the last LNetNIFini. */
struct lnet_instance {
    struct lnet_node *node;
    struct lnet_handles handles;
    struct list_head nets; /* in order of creation; lo is the first */
    struct list_head removed_nis; /* struct lnet_ni, that messages may still name */
    uint32_t ni_changes; /* of the list of NIs, since the start */
    struct lnet_ni *lo;
    struct list_head mds, eqs;
    struct list_head messages; /* all */
    struct list_head ready; /* got a credit and are to be posted again */
    bool posting; /* somebody works on `ready` */
    struct lnet_portal *portals[LNET_PORTALS];

    struct list_head peers;
    struct lnet_peer_slot *peer_slots; /* by NID; open addressing */
    uint32_t peer_slot_count, peer_ni_count;

    struct list_head trackers; /* struct lnet_libmd; by deadline */
    struct sim_timer tracker_scan;
    struct list_head resends; /* messages */
    struct sim_timer resend;
    struct list_head recovering_nis, recovering_peers;
    struct sim_timer recovery;
    sim_time_t started; /* scans are at multiples of their interval after it */

    struct list_head remote_nets; /* struct lnet_remote_net */
    struct list_head gateways; /* struct lnet_gateway */
    struct sim_timer pinger;
    bool routing;
    struct lnet_router_pool *pools; /* LNET_POOLS; NULL: never was a router */
    struct list_head forwarding; /* whole messages, in order of release_at */
    struct sim_timer forward;

    struct lnet_ping_target *ping;
    struct lnet_eq *ping_eq; /* of LNet's own pings */
    struct lnet_push_target *push; /* NULL: discovery is off */
    uint32_t sequence; /* last round-robin number */
    struct lnet_leaks leaks; /* found when it stopped */
};

struct lnet_node {
    uint32_t number;
    char *name;
    void *owner;
    void *host; /* core/host.h */
    struct sim_random random;
    struct lnet_interface *interfaces;
    uint32_t interface_count;
    struct lnet_setting *settings;
    uint32_t setting_count;
    struct lnet_params params;

    enum lnet_state state;
    bool silent; /* crashed: no events, nothing is sent */
    bool configured; /* by the ioctl CONFIGURE, which holds one of the references */
    bool without_settings; /* and which wanted no networks and routes of the parameters */
    char *panic_text;
    bool panic_of_program; /* an assertion of code that uses LNet failed, and not one of LNet */
    struct libcfs_node *libcfs; /* the state of libcfs; NULL: not used yet */
    uint32_t references;
    lnet_pid_t pid;
    uint64_t interface_cookie; /* of this instance, in wire handles */
    uint64_t incarnation; /* time stamp of this instance, for drivers: microseconds */
    uint64_t next_cookie;
    struct lnet_instance *instance; /* NULL: down */
    struct lnet_counters counters, counters_at_reset;
    struct lnet_leaks leaks; /* of the instances that have stopped */
    uint32_t connections; /* of drivers, that exist */
    bool gap_warned; /* of fragments, once */
    int credits_min; /* lowest count of transmit credits of an NI or a peer */
    struct list_head drop_rules, delay_rules; /* newest first */
    struct list_head failing; /* fail-nid entries */
};

#include "core/calls.h"

#endif
