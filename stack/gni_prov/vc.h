/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Virtual connections (vc.c), and how they are made and ended (vc_*.c). */
#ifndef GNIP_VC_H
#define GNIP_VC_H

#include "cm_nic.h"
#include "queue.h"
#include "mbox.h"
#include "name.h"
#include "proto.h"
#include "port/list.h"

enum gnip_vc_state {
    GNIP_VC_NONE = 1,
    GNIP_VC_CONNECTING,
    GNIP_VC_CONNECTED,
    GNIP_VC_TERMINATING,
    GNIP_VC_TERMINATED,
    GNIP_VC_ERROR
};

enum gnip_rx_ready {
    GNIP_RX_EVENTS, /* each message in the mailbox has an event */
    GNIP_RX_POLL, /* there may be messages without an event, too */
    GNIP_RX_LOST /* events were lost */
};

struct gnip_vc { /* under ep->lock, except what is said */
    /* What a message touches, in three cache lines: sending and receiving, */
    struct gnip_ep *ep;
    struct gnip_nic *nic;
    gni_ep_handle_t gni_ep;
    struct port_link ready_link; /* nic->vcs_ready; under its vc_lock */
    uint32_t pins; /* atomic; messages in flight, and threads that use the VC: it is not freed */
    uint32_t id; /* with generation: 24 bits */
    uint32_t rx_events; /* atomic; of messages that may be in the mailbox */
    uint32_t outstanding; /* issued, not completed */
    uint8_t state; /* enum gnip_vc_state */
    uint8_t rx_ready; /* enum gnip_rx_ready; atomic */
    uint8_t blocked; /* why nothing is sent (vc.c) */
    uint8_t failures; /* requests in a row that failed */
    bool broken; /* the VC must fail */
    bool quiescing; /* nothing new is issued: the connection ends when nothing is in flight */
    uint16_t rx_unannounced; /* messages to take before events count them again (vc.c) */
    /* the credits, and requests that wait for some, */
    struct gnip_queue tx_queue; /* gnip_req.link: to be issued, in order */
    uint32_t tx_credits,
        tx_credits_used; /* that the peer has granted us, and that we have used; modulo 2^32 */
    uint32_t rx_credits,
        rx_credits_sent; /* that we have granted the peer, and how many of them it knows of */
    uint32_t smsg_limit; /* limit of messages in flight that are not urgent */
    /* largest payload of an eager message: from the threshold and message_bytes */
    uint32_t eager_max;
    uint16_t peer_flags; /* GNIP_CONN_ */
    uint16_t mailbox_credits; /* messages that fit into the mailbox, as agreed */
    uint32_t rx_window; /* credits that are unused, or of messages that are still here; 0: closed */
    uint32_t rx_credits_used; /* by messages that have arrived */
    uint32_t rx_credits_held; /* by messages that are still here */
    uint32_t rx_messages_promised; /* as how many messages the window may arrive */
    uint32_t message_bytes; /* largest SMSG message, as agreed */
    /* receiving */
    struct gnip_queue work; /* gnip_req.link: deferred work of arrived messages */
    struct gnip_req *more; /* chain of RMA requests with FI_MORE; NULL: none */
    struct gnip_queue remote_events; /* gnip_announcement.link: to be sent to the peer, in order */
    fi_addr_t fi_addr; /* the peer in the AV; FI_ADDR_NOTAVAIL: not known (any more) */
    uint32_t av_version; /* when fi_addr was looked up */
    uint32_t rx_credits_late; /* of remote events for which recv_cq was too full: returned later */
    uint32_t taken_since_doorbell; /* messages taken since the last doorbell that said so */
    uint32_t rx_credits_held_before; /* by messages of an earlier connection that are still here */
    /* fields that are used now and then */
    uint32_t peer_id;
    bool quiesce_sent, quiesce_requested; /* by us, by the peer */
    bool is_self;
    bool credits_deferred; /* an ACK that only carries credits is in `work` */
    bool awaits, probe_due; /* the peer must act; vc_probe.c; atomic */
    uint16_t probes; /* that were due since it awaits something */
    uint64_t sent_at, rung_at; /* port_now(), for doorbells; only if the peer wants them */
    uint16_t peer_key_offset;
    uint64_t peer_caps;
    gni_mem_handle_t peer_doorbell;
    /* cold */
    struct gnip_name peer; /* as the AV or the request named it */
    uint32_t incarnation; /* of the peer's process */
    bool posted; /* our CONN_REQ is in flight */
    bool simultaneous; /* the peer's request came instead of an answer */
    bool answer; /* a CONN_RESP must be sent */
    bool paused; /* until `pause` rings: the peer had no resources */
    bool triggered; /* a triggered operation names it: it must not be freed */
    uint16_t rx_credits_first; /* what the connection message granted */
    bool closing; /* by this side */
    bool close_due, close_sent; /* VC_CLOSE */
    bool ack_due, ack_sent; /* VC_CLOSE_ACK */
    bool peer_gone; /* it does not write into our mailbox any more */
    bool exposed; /* the peer may know our mailbox */
    struct gnip_conn_mailbox peer_mbox;
    struct gnip_mbox mbox;
    struct gnip_mbox old_mbox; /* of a connection that failed, until the peer has a new one */
    uint32_t old_id; /* the id of that connection */
    struct gnip_conn *request; /* arrived before the last connection had ended; allocated */
    struct port_timer pause;
    struct gnip_work connect; /* job that sends the request or the answer */
    struct port_link ep_link; /* ep->vcs: all VCs, in order of creation */
    struct gnip_vc *name_next; /* in the EP's hash by name, or in the NIC's pool */
    struct gnip_vc *chain_next; /* ep->chains */
    bool remote_events_blocked; /* until an event of the NIC schedules the VC */
    struct gnip_vc *cq_wait_next; /* recv_cq->vcs_waiting */
    bool waits_for_cq; /* is in that list */
    uint64_t recent_key; /* 0: none; and the handle for it */
    gni_mem_handle_t recent_handle;
    void *probe; /* where the word arrives that is read at the peer; NULL: none is in flight */
    bool event_waits; /* `event` has come, and recv_cq has no memory for its entry */
    struct gnip_remote_event event;
};
_Static_assert(offsetof(struct gnip_vc, tx_queue) == 64 && offsetof(struct gnip_vc, work) == 128 &&
                   offsetof(struct gnip_vc, peer_id) == 192,
               "cache lines of a VC");
static inline void gnip_vc_fetch(const struct gnip_vc *vc)
{
    __builtin_prefetch(vc, 1);
    __builtin_prefetch(&vc->tx_queue, 1);
    __builtin_prefetch(&vc->work, 1);
}

/*
 * The VC to a peer. If there is none, one is made and starts to connect; a MSG endpoint has exactly
 * one. 0, -FI_EAGAIN (no VC or job left), -FI_EINVAL (no such address). ep->lock is held.
 */
int gnip_vc_find(struct gnip_ep *ep, fi_addr_t peer, struct gnip_vc **vc);
/* The VC to an address from which a connection request came. NULL: none. */
struct gnip_vc *gnip_vc_of_name(struct gnip_ep *ep, uint32_t device_addr, uint32_t cdm_id);
struct gnip_vc *gnip_vc_new(struct gnip_ep *ep, const struct gnip_name *peer); /* NULL: no memory */
/* The fi_addr of its peer, or FI_ADDR_NOTAVAIL. */
fi_addr_t gnip_vc_source(struct gnip_vc *vc);

/*
 * Submits an operation: issues it at once if possible, else queues it behind the others. One with
 * FI_TRIGGER waits at its counter. Never fails; ep->lock is held. After issue() has returned 0 the
 * operation is outstanding, and its end calls gnip_vc_op_done.
 */
void gnip_vc_submit(struct gnip_vc *vc, struct gnip_req *req);
/* Removes a request that was not issued (fi_cancel). False: it has been issued. */
bool gnip_vc_withdraw(struct gnip_vc *vc, struct gnip_req *req);
/* One of its operations has ended: decrements outstanding, and checks fences and stalls again. */
void gnip_vc_op_done(struct gnip_vc *vc, bool failed);
/*
 * Handles messages, then deferred work, then requests that wait to be sent. ep->lock is held.
 * Returns the amount of work done.
 */
uint32_t gnip_vc_progress(struct gnip_vc *vc);
/* Puts it on the list of VCs with something to do of its NIC. */
void gnip_vc_schedule(struct gnip_vc *vc);
/*
 * Queues deferred work, whose issue() is tried in order. 0: done; -FI_EAGAIN: tried again; else the
 * request is dropped. Deferred work is not counted as outstanding.
 */
void gnip_vc_defer(struct gnip_vc *vc, struct gnip_req *req);
/* The connection has failed for good: what is queued ends with `error` (positive errno). */
void gnip_vc_fail(struct gnip_vc *vc, int error);
/*
 * Sends one SMSG message on a connected VC: a header, then data (NULL: none). `txd` has the header
 * in its buffer, and done and req are set. h.kind is the tag; this function sets the header's
 * version and credits. The caller adds the credits that the message costs to vc->tx_credits_used,
 * and rings the doorbell if needed. Kinds without costs (ACK, FIN, CLOSE) may use the reserved
 * descriptors. ep->lock is held. 0; -FI_EAGAIN: the mailbox is full; another error (-FI_ENOTCONN:
 * the connection has ended). After an error the descriptor still belongs to the caller.
 */
int gnip_vc_smsg(struct gnip_vc *vc, struct gnip_txd *txd, uint32_t header_bytes, const void *data,
                 uint32_t data_bytes);
/* the peer has granted so many credits */
bool gnip_vc_rx_window(struct gnip_vc *vc, uint32_t credits);
/* Wakes the peer's helper with one CQ write, unless it was woken a moment ago. */
void gnip_vc_doorbell(struct gnip_vc *vc);
/* The peer makes progress by itself, and may be asleep: nothing was sent to it for a while. */
bool gnip_vc_was_idle(struct gnip_vc *vc);
/*
 * For each eager message and remote event that was sent: whether to ring the doorbell. `answer`: an
 * answer is expected.
 */
static inline bool gnip_vc_rings_eager(struct gnip_vc *vc, bool answer)
{
    return gnip_unlikely(vc->peer_flags & GNIP_CONN_AUTO) && (gnip_vc_was_idle(vc) || answer);
}

/*
 * vc_probe.c. Something waits until the peer acts, and no transaction may be in flight that would
 * fail if the peer died. ep->lock is held.
 */
void gnip_vc_begin_to_await(struct gnip_vc *vc);
static inline void gnip_vc_await(struct gnip_vc *vc)
{
    if (gnip_unlikely(!vc->awaits))
        gnip_vc_begin_to_await(vc);
}
void gnip_vc_probe(struct gnip_vc *vc); /* a probe was due */

/*
 * For MSG endpoints, which have connection messages of their own. The first function describes our
 * side (all but type and target_cdm; allocates a mailbox, NONE → CONNECTING). The second one
 * connects to a peer from its description (CONNECTING → CONNECTED). ep->lock is held. 0;
 * -FI_EAGAIN: no resources now; -FI_EINVAL: the peer's parameters or version do not fit; else an
 * error. After an error the VC is unchanged.
 */
int gnip_vc_describe(struct gnip_vc *vc, struct gnip_conn *ours);
int gnip_vc_establish(struct gnip_vc *vc, const struct gnip_conn *theirs);
/*
 * An EP closes: its VCs accept nothing new, peers are informed, and what is queued ends without
 * entries. Waits for transactions of the NIC, and some time for the peers; then frees the VCs.
 * Messages to the EP are refused from now on. No lock is held; ep->closing is set.
 */
void gnip_vcs_close(struct gnip_ep *ep);
/*
 * To be called before that, or before a shutdown: sends the answers that wait for room in the
 * mailbox, for some time. No lock is held.
 */
void gnip_vcs_drain(struct gnip_ep *ep);
/*
 * The same for one VC of a MSG endpoint that stays open: begins to close it; tells whether it is
 * closed (to be called in a loop that makes progress); frees it, without ep->lock.
 */
void gnip_vc_close(struct gnip_vc *vc);
bool gnip_vc_close_done(struct gnip_vc *vc);
void gnip_vc_free(struct gnip_vc *vc);
/*
 * Returns a VC that has ended and that nothing refers to to its NIC. ep->lock is held, and one pin.
 */
bool gnip_vc_reap(struct gnip_vc *vc);
/*
 * vc_quiesce.c. begin: the connection shall end without a loss; else: it may go on, or be made
 * again. True: there is no connection. ep->lock is held.
 */
bool gnip_vc_quiesce(struct gnip_vc *vc, bool begin);
/*
 * Changes the state; nothing else does. False: the table has no such transition; the state is
 * unchanged, and the VC fails. ep->lock is held.
 */
bool gnip_vc_move(struct gnip_vc *vc, enum gnip_vc_state to);
/*
 * Makes progress for a VC that is neither connected nor new. ep->lock is held. Returns the amount
 * of work done.
 */
uint32_t gnip_vc_wind_up(struct gnip_vc *vc);
/* Starts to connect, unless the VC is connected or connecting. ep->lock is held. */
void gnip_vc_connect(struct gnip_vc *vc);
/* A VC_CLOSE or its ACK has arrived. */
void gnip_vc_close_arrived(struct gnip_vc *vc);
void gnip_vc_close_ack_arrived(struct gnip_vc *vc);

#endif
