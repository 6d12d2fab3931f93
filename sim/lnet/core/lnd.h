/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The contract between LNet and its network drivers (LNDs). A driver moves messages between the NI
 * of this node and the NIs of its peers on one network; everything else (matching, credits,
 * routing, health) is LNet's.
 *
 * Threads: each function is called with the node's lock held (core/host.h), and a driver calls LNet
 * with that lock held. A driver may call back from within the call that it received: `receive` from
 * within lnet_parse, lnet_finalize from within `send`.
 *
 * Errors are negative errno values. Lengths are bytes.
 */
#ifndef JACQUARD_LNET_LND_H
#define JACQUARD_LNET_LND_H

#include <stdbool.h>
#include <stdint.h>
#include <lnet/lib-types.h>
#include "engine/sim.h"

struct lnet_ni;
struct lnet_msg;
struct lnet_node;
struct lnet_peer_ni;
struct lnet_param;

/* A list of memory fragments of a descriptor, always as plain addresses: pages are resolved when
 * the descriptor is built. */
struct lnet_fragments {
    uint32_t count;
    uint32_t length; /* sum of all */
    const struct kvec *fragment;
};

struct lnet_lnd {
    uint32_t type; /* SOCKLND, O2IBLND, ... */
    const char *name; /* "tcp" */
    /* Defaults of the NI's tunables. */
    int credits, peer_credits, peer_buffer_credits, peer_timeout_s;
    /* Its module parameters besides those four, which every driver has; ni->driver_values has the
     * node's values in this order. */
    const char *module; /* "ksocklnd" */
    const struct lnet_param *params;
    size_t param_count;

    /* Brings one NI up or down. `startup` sets the address part of ni->nid and ni->driver. After
     * `shutdown` returned the driver makes no call for this NI and holds no message of it. */
    int (*startup)(struct lnet_ni *ni);
    void (*shutdown)(struct lnet_ni *ni);
    /* Whether a thread of the driver is in a call of LNet, so that the NI cannot be removed now;
     * NULL: never. */
    bool (*busy)(const struct lnet_ni *ni);
    /* Driver-specific control, LNetCtl's commands that LNet does not know; may be NULL. */
    int (*control)(struct lnet_ni *ni, unsigned command, void *argument);
    /*
     * Starts to send `msg` (header msg->header, payload lnet_msg_payload()) to msg->next_hop. `in`
     * is NULL for PUT and GET; for REPLY and ACK it is the value that was given to lnet_parse. An
     * error: the message failed at once, LNet finalizes it and does not resend. 0: the driver calls
     * lnet_finalize exactly once.
     */
    int (*send)(struct lnet_ni *ni, void *in, struct lnet_msg *msg);
    /*
     * Places `mlen` payload bytes of the incoming message `in` at `offset` of the fragments, and
     * discards `rlen - mlen`. msg NULL: discards all. Calls lnet_finalize(msg) exactly once when
     * the bytes are in place. `delayed`: the message waited (lazy portal, router buffer).
     */
    int (*receive)(struct lnet_ni *ni, void *in, struct lnet_msg *msg, bool delayed,
                   const struct lnet_fragments *to, uint32_t offset, uint32_t mlen, uint32_t rlen);
    /* LNet has to delay the message: copies it aside, so that the driver can go on receiving. NULL:
     * the driver cannot, and its connection waits. */
    int (*eager_receive)(struct lnet_ni *ni, void *in, struct lnet_msg *msg, void **new_in);
    /* LNet tells the driver that a peer is alive or dead; may be NULL. */
    void (*notify)(struct lnet_ni *ni, lnet_nid_t peer, bool alive);
    /* When the peer was heard from last (0: never); may start a connection; may be NULL. */
    void (*query)(struct lnet_ni *ni, lnet_nid_t peer, sim_time_t *when);
};

/* ---- calls of a driver to LNet ------------------------------------------------------------- */

/*
 * An LNet header has arrived from `from` (the last hop). 0: LNet calls `receive` exactly once,
 * possibly before this returns. -EPROTO: the driver drops the message and closes the connection.
 * `rdma`: an optimized GET, whose answer the driver moves itself instead of a REPLY message.
 */
/* The same; `*peer` is LNet's peer of NID `from`, or NULL until it is known. */
int lnet_parse_from(struct lnet_ni *ni, const struct lnet_hdr *header, struct lnet_peer_ni **peer,
                    lnet_nid_t from, void *in, bool rdma);
int lnet_parse(struct lnet_ni *ni, const struct lnet_hdr *header, lnet_nid_t from, void *in,
               bool rdma);
/* The driver is done with the message. On failure it has set msg->health_status before. */
void lnet_finalize(struct lnet_msg *msg, int status);
/* The REPLY of an optimized GET (takes one operation of the GET's descriptor). NULL: the descriptor
 * has no operation left. */
struct lnet_msg *lnet_create_reply_msg(struct lnet_ni *ni, struct lnet_msg *get);
void lnet_set_reply_msg_len(struct lnet_ni *ni, struct lnet_msg *reply, uint32_t length);
/* The driver lost, or found, a peer at `when`. */
void lnet_notify(struct lnet_ni *ni, lnet_nid_t peer, bool alive, sim_time_t when);

/* Messages that were sent to `peer` completely may be lost: their connection failed. For the
 * ledger. */
void lnet_connection_lost(struct lnet_ni *ni, lnet_nid_t peer);
/* What came from `peer` is no message, or answers none. In a simulation that is a mistake of LNet,
 * and a violation of its ledger. */
void lnet_connection_garbled(struct lnet_ni *ni, lnet_nid_t peer);

/* A driver has made (1) or freed (-1) a connection: for the ledger, and for leaks. */
void lnet_connection_count(struct lnet_node *node, int change);
/* A connection has left a state in which it was since `since`: for the trace. Texts are static;
 * `peer` LNET_NID_ANY: not known yet; `kind` NULL: there is only one. */
void lnet_connection_state(const struct lnet_node *node, const char *state, lnet_nid_t peer,
                           const char *kind, sim_time_t since, sim_time_t now);

/* The health-error fault rules: whether this message must fail instead of being sent; sets its
 * health_status. The driver then completes it with -EINVAL and closes the connections to the peer.
 */
bool lnet_drop_for_health(struct lnet_ni *ni, struct lnet_msg *msg);

/* ---- memory ---------------------------------------------------------------------------------- */

/* Zeroed memory that begins with a line of the cache; free(). Aborts when there is none. */
void *lnet_line_alloc(size_t bytes);

/* Copies `length` bytes from one list of fragments to another; the ranges must be inside. */
void lnet_copy_fragments(const struct lnet_fragments *to, uint32_t to_offset,
                         const struct lnet_fragments *from, uint32_t from_offset, uint32_t length);
void lnet_copy_to_fragments(const struct lnet_fragments *to, uint32_t to_offset, const void *from,
                            uint32_t length);
void lnet_copy_from_fragments(void *to, const struct lnet_fragments *from, uint32_t from_offset,
                              uint32_t length);

/* ---- the header on the wire ---------------------------------------------------------------- */

#define LNET_WIRE_HEADER_BYTES 72
/* Little-endian, as every driver sends it; hdr_data and wire handles keep their bytes. */
void lnet_header_to_wire(const struct lnet_hdr *header, uint8_t wire[LNET_WIRE_HEADER_BYTES]);
void lnet_header_from_wire(struct lnet_hdr *header, const uint8_t wire[LNET_WIRE_HEADER_BYTES]);

#endif
