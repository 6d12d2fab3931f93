/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Endpoints: an object of api/, whose memory layout the NIC knows for its cache. */
#ifndef JACQUARD_ARIES_ENDPOINT_H
#define JACQUARD_ARIES_ENDPOINT_H

#include "engine/sim.h"
#include "nic/gni.h"
#include "nic/list.h"

struct aries_nic;

#define ARIES_UNBOUND UINT32_MAX /* remote address and id of an endpoint without a peer */

#define ARIES_SLOTS_FEW 16u

/*
 * An endpoint, and its SMSG connection. Hundreds of them per node do not stay in the cache, so they
 * are ordered by lines: what receiving a message touches lies in the first, what sending one
 * touches in the first three. All can be fetched at once, before anything is known but the handle.
 * rx_ is about messages from the peer, tx_ about those to it; numbers of messages count modulo
 * 2^32.
 */
struct gni_ep {
    uint32_t magic;
    uint16_t message_max, credits; /* largest message that the mailbox takes; smsg.h */
    struct gni_nic *nic;
    uint8_t *rx_ring; /* the control block lies before it */
    uint32_t rx_bytes, rx_at; /* size of the ring; place behind what was released */
    uint32_t rx_received; /* and released; number of the next message */
    uint32_t rx_current; /* place of the next message, once it was found; all-ones: not yet */
    uint32_t rx_reported; /* releases that the peer has been told of */
    uint32_t rx_owed; /* bytes released since */
    uint32_t rx_peer_released; /* releases at the peer, as the last message that was read tells */
    uint16_t rx_units; /* what the current message takes of the ring, in ARIES_SMSG_UNIT */
    bool connected : 1; /* by GNI_SmsgInit */
    bool retransmit : 1; /* MBOX_AUTO_RETRANSMIT */
    bool broken : 1; /* a message is lost for good */
    bool shown : 1; /* GetNext gave the current message out: it can be released */
    uint8_t message_slack; /* of message_max, bytes beyond the msg_maxsize of GNI_SmsgInit */
    uint32_t wanted; /* ring bytes that a stalled send waits for */
    uint32_t local_event;

    struct aries_nic *remote; /* NULL: unbound, or no such node */
    uint64_t tx_ring; /* address at the peer */
    gni_mem_handle_t tx_handle;
    uint32_t tx_bytes, tx_at, tx_used;
    uint32_t tx_sent, tx_returned; /* returned: released by the peer */
    uint32_t tx_freed; /* messages tx_freed … tx_sent-1 hold slots */
    uint16_t tx_slots, tx_next; /* number of slots; the one that the next message takes */
    uint32_t remote_event;

    struct gni_cq *cq; /* source CQ; may be NULL */
    uint16_t *slots; /* bytes of the ring that each message takes, in ARIES_SMSG_UNIT, and a mark */
    uint16_t few[ARIES_SLOTS_FEW]; /* where these are, when that is enough */
    const struct gni_ep *peer; /* the other end, when it is in this simulation: for the cache */
    uint32_t refs; /* the handle, and each SMSG transaction in flight */
    uint32_t outstanding; /* evented posts and SMSG sends not yet retired */

    uint32_t remote_addr, remote_id; /* all-ones: unbound */
    struct aries_list nic_link;
    void *datagram; /* pending mark and out_buf; datagram.c. When the handle is dead: its slab */
    struct aries_list return_link; /* nic->smsg_returns, while a return must be repeated */
    uint16_t return_failures;
    uint8_t epoch; /* connections that this endpoint had, modulo 64 */
    /* Its place in a tree of collective engines (GNI_EpSetCeAttr). Type 0: none. */
    uint8_t ce_id, ce_child_id, ce_child_type;
    uint32_t id; /* for sim_poll: of its credit; the next: of its messages */
} __attribute__((aligned(64)));

static inline bool aries_ep_bound(const struct gni_ep *ep)
{
    return ep->remote_addr != ARIES_UNBOUND || ep->remote_id != ARIES_UNBOUND;
}

#endif
