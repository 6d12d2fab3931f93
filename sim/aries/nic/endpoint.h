/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Endpoints. They belong to api/; the NIC knows their memory layout so that it can prefetch them.
 */
#ifndef JACQUARD_ARIES_ENDPOINT_H
#define JACQUARD_ARIES_ENDPOINT_H

#include "engine/sim.h"
#include "nic/gni.h"
#include "nic/list.h"

struct aries_nic;

#define ARIES_UNBOUND UINT32_MAX /* remote address and id of an endpoint without a peer */

#define ARIES_SLOTS_FEW 16u

/*
 * An endpoint with its SMSG connection. Hundreds of endpoints per node do not stay in the cache,
 * so the fields are ordered by cache lines: receiving a message touches the first line, sending
 * one touches the first three. All can be prefetched at once, because only the handle is needed.
 * rx_ fields concern messages from the peer, tx_ fields those to it. Message numbers count modulo
 * 2^32.
 */
struct gni_ep {
    uint32_t magic;
    uint16_t message_max, credits; /* largest message that the mailbox takes; smsg.h */
    struct gni_nic *nic;
    uint8_t *rx_ring; /* the control block precedes it */
    uint32_t rx_bytes, rx_at; /* size of the ring; offset behind the released messages */
    uint32_t rx_received; /* messages received and released; number of the next message */
    uint32_t rx_current; /* offset of the next message once it was found; all ones: not found yet */
    uint32_t rx_reported; /* number of releases reported to the peer */
    uint32_t rx_owed; /* bytes released since then */
    /* Number of messages that the peer has released, according to the last message read. */
    uint32_t rx_peer_released;
    uint16_t rx_units; /* size of the current message in the ring, in ARIES_SMSG_UNIT */
    bool connected : 1; /* by GNI_SmsgInit */
    bool retransmit : 1; /* MBOX_AUTO_RETRANSMIT */
    bool broken : 1; /* a message is lost and will not be sent again */
    bool credits_lost : 1; /* the peer waits for credits that could not be returned */
    bool shown : 1; /* GNI_SmsgGetNext has returned the current message: it can be released */
    uint8_t message_slack; /* part of message_max that exceeds the msg_maxsize of GNI_SmsgInit */
    uint32_t wanted; /* number of ring bytes that a stalled send waits for */
    uint32_t local_event;

    struct aries_nic *remote; /* NULL: unbound, or no such node */
    uint64_t tx_ring; /* address at the peer */
    gni_mem_handle_t tx_handle;
    uint32_t tx_bytes, tx_at, tx_used;
    uint32_t tx_sent, tx_returned; /* returned: number of messages released by the peer */
    uint32_t tx_freed; /* messages tx_freed … tx_sent-1 hold slots */
    uint16_t tx_slots, tx_next; /* number of slots; slot of the next message */
    uint32_t remote_event;

    struct gni_cq *cq; /* source CQ, or NULL */
    uint16_t *slots; /* per slot: size of its message in the ring, in ARIES_SMSG_UNIT, and a mark */
    uint16_t few[ARIES_SLOTS_FEW]; /* memory of `slots` if that is enough */
    const struct gni_ep *peer; /* the other end if it is in this simulation; for prefetching only */
    uint32_t refs; /* one for the handle, and one for each SMSG transaction in flight */
    uint32_t outstanding; /* number of posts with events and SMSG sends that are not retired yet */

    uint32_t remote_addr, remote_id; /* all ones: unbound */
    struct aries_list nic_link;
    void *datagram; /* datagram state (datagram.c). Once the handle is destroyed: the slab */
    /* In nic->smsg_returns while returning credits must be repeated. */
    struct aries_list return_link;
    uint16_t return_failures;
    uint8_t epoch; /* number of connections that this endpoint has had, modulo 64 */
    /* Its place in a tree of collective engines (GNI_EpSetCeAttr). Type 0: none. */
    uint8_t ce_id, ce_child_id, ce_child_type;
    uint32_t id; /* for sim_poll: the id of its credits; the next id is that of its messages */
} __attribute__((aligned(64)));

static inline bool aries_ep_bound(const struct gni_ep *ep)
{
    return ep->remote_addr != ARIES_UNBOUND || ep->remote_id != ARIES_UNBOUND;
}

#endif
