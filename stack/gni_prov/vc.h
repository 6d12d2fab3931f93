/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Virtual connections (vc.c), and how they are made and ended (vc_*.c). */
#ifndef GNIP_VC_H
#define GNIP_VC_H

#include "cm_nic.h"
#include "list.h"
#include "mbox.h"
#include "name.h"
#include "proto.h"

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
    struct gnip_link ready_link; /* nic->vcs_ready; under its vc_lock */
    uint32_t pins; /* atomic; messages under way, and threads that look at it: it cannot go */
    uint32_t id; /* and generation: 24 bits */
    uint32_t rx_events; /* atomic; of messages that may be in the mailbox */
    uint32_t outstanding; /* issued, not completed */
    uint8_t state; /* enum gnip_vc_state */
    uint8_t rx_ready; /* enum gnip_rx_ready; atomic */
    uint8_t blocked; /* why nothing is sent (vc.c) */
    uint8_t failures; /* requests in a row */
    bool broken; /* to be failed */
    bool quiescing; /* nothing new is issued: the connection ends when nothing is in flight */
    uint16_t rx_unannounced; /* messages to take before events count them again (vc.c) */
    /* the credits, and requests that wait for some, */
    struct gnip_queue tx_queue; /* gnip_req.link: to be issued, in order */
    uint32_t tx_credits,
        tx_credits_used; /* that the peer has granted us, and that we have used; modulo 2^32 */
    uint32_t rx_credits,
        rx_credits_sent; /* that we have granted the peer, and how many of them it knows of */
    uint32_t smsg_limit; /* messages that may be under way, of those that are not urgent */
    uint32_t eager_max; /* payload of an eager message: threshold and message_bytes */
    uint16_t peer_flags; /* GNIP_CONN_ */
    uint16_t mailbox_credits; /* messages that may be in the mailbox, agreed */
    uint32_t rx_window; /* credits that are unused, or of messages that are still here; 0: closed */
    uint32_t rx_credits_used; /* by messages that have arrived */
    uint32_t rx_credits_held; /* by messages that are still here */
    uint32_t rx_messages_promised; /* as how many messages the window may arrive */
    uint32_t message_bytes; /* largest SMSG message, agreed */
    /* receiving */
    struct gnip_queue work; /* gnip_req.link: deferred work of arrived messages */
    struct gnip_req *more; /* chain of RMA requests with FI_MORE; NULL: none */
    struct gnip_queue remote_events; /* gnip_announcement.link: to be sent to the peer, in order */
    fi_addr_t fi_addr; /* the peer in the AV; FI_ADDR_NOTAVAIL: not known (again) */
    uint32_t av_version; /* when fi_addr was looked up */
    uint32_t rx_credits_late; /* of remote events for which recv_cq was too full: returned later */
    uint32_t taken_since_doorbell; /* messages taken since the last doorbell that said so */
    uint32_t rx_credits_held_before; /* by messages of an earlier connection that are still here */
    /* now and then */
    uint32_t peer_id;
    bool quiesce_sent, quiesce_requested; /* by us, by the peer */
    bool is_self;
    bool credits_deferred; /* an ACK that only carries credits is in `work` */
    uint64_t sent_at, rung_at; /* port_now(), for doorbells; only when the peer wants them */
    uint16_t peer_key_offset;
    uint64_t peer_caps;
    gni_mem_handle_t peer_doorbell;
    /* cold */
    struct gnip_name peer; /* as the AV or the request told */
    uint32_t incarnation; /* of the peer's process */
    bool posted; /* our CONN_REQ is under way */
    bool simultaneous; /* the peer's request came instead of an answer */
    bool answer; /* a CONN_RESP is to be sent */
    bool paused; /* until `pause` rings: the peer has no room */
    bool triggered; /* a triggered operation names it: it must not be freed */
    uint16_t rx_credits_first; /* what the connection message granted */
    bool closing; /* by us */
    bool close_due, close_sent; /* VC_CLOSE */
    bool ack_due, ack_sent; /* VC_CLOSE_ACK */
    bool peer_gone; /* it will not write into our mailbox any more */
    bool exposed; /* the peer may know our mailbox */
    struct gnip_conn_mailbox peer_mbox;
    struct gnip_mbox mbox;
    struct gnip_mbox old_mbox; /* of a connection that failed: until the peer has a new one */
    uint32_t old_id; /* of that */
    struct gnip_conn *request; /* came before the last connection was over; allocated */
    struct port_timer pause;
    struct gnip_work connect; /* request or answer that is to be sent */
    struct gnip_link ep_link; /* ep->vcs: all, in order of creation */
    struct gnip_vc *name_next; /* hash of the EP by name, or pool of the NIC */
    struct gnip_vc *chain_next; /* ep->chains */
    bool remote_events_blocked; /* until an event of the NIC schedules the VC */
    struct gnip_vc *cq_wait_next; /* recv_cq->vcs_waiting */
    bool waits_for_cq; /* is in that list */
    uint64_t recent_key; /* 0: none; and what it stands for */
    gni_mem_handle_t recent_handle;
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
 * The VC to a peer, made (and its connection begun) when there is none; of a MSG endpoint its only
 * one. 0, -FI_EAGAIN (VCs or connection work used up), -FI_EINVAL (no such address). ep->lock is
 * held.
 */
int gnip_vc_find(struct gnip_ep *ep, fi_addr_t peer, struct gnip_vc **vc);
/* Of an address (a connection request came): may be NULL. */
struct gnip_vc *gnip_vc_of_name(struct gnip_ep *ep, uint32_t device_addr, uint32_t cdm_id);
struct gnip_vc *gnip_vc_new(struct gnip_ep *ep, const struct gnip_name *peer); /* NULL: none left */
/* The fi_addr of its peer, FI_ADDR_NOTAVAIL. */
fi_addr_t gnip_vc_source(struct gnip_vc *vc);

/*
 * Hands an operation over: issued at once when possible, else queued behind the others; one with
 * FI_TRIGGER is parked at its counter. Never fails; ep->lock is held. When issue() has returned 0
 * the operation counts as outstanding: who completes it calls gnip_vc_op_done.
 */
void gnip_vc_submit(struct gnip_vc *vc, struct gnip_req *req);
/* Takes a request that was not issued back (fi_cancel). False: it has been issued. */
bool gnip_vc_withdraw(struct gnip_vc *vc, struct gnip_req *req);
/* One of its operations has ended: outstanding--, fences and stalls are looked at again. */
void gnip_vc_op_done(struct gnip_vc *vc, bool failed);
/* Messages, deferred work, then what waits to be sent. ep->lock is held. Returns what was done. */
uint32_t gnip_vc_progress(struct gnip_vc *vc);
/* Puts it on its NIC's list of VCs with something to do. */
void gnip_vc_schedule(struct gnip_vc *vc);
/* Deferred work (issue()), tried in order; 0 done, -FI_EAGAIN again; else dropped. Not counted. */
void gnip_vc_defer(struct gnip_vc *vc, struct gnip_req *req);
/* The connection failed for good: what is queued ends with `error` (positive errno). */
void gnip_vc_fail(struct gnip_vc *vc, int error);
/*
 * Sends one SMSG message on a connected VC: header, then data (NULL: none). `txd` has the header in
 * its buffer, done and req set. h.kind is the tag; version and grant of the header are filled here.
 * Who sends adds the slots that it costs to vc->tx_credits_used and rings where due. Kinds that
 * need no window (ACK, FIN, CLOSE) may use what is reserved. ep->lock is held. 0; -FI_EAGAIN: no
 * credit now, the descriptor stays the caller's; else an error, likewise (-FI_ENOTCONN: the
 * connection is over).
 */
int gnip_vc_smsg(struct gnip_vc *vc, struct gnip_txd *txd, uint32_t header_bytes, const void *data,
                 uint32_t data_bytes);
bool gnip_vc_rx_window(struct gnip_vc *vc, uint32_t credits); /* there is room for so many */
/* One CQ write that wakes the peer's helper, unless it has been woken just now. */
void gnip_vc_doorbell(struct gnip_vc *vc);
/* The peer makes progress by itself, and may sleep: nothing was sent for a while. */
bool gnip_vc_was_idle(struct gnip_vc *vc);
/* For each eager message and notice that was sent: whether to ring. `answer`: one is wanted. */
static inline bool gnip_vc_rings_eager(struct gnip_vc *vc, bool answer)
{
    return gnip_unlikely(vc->peer_flags & GNIP_CONN_AUTO) && (gnip_vc_was_idle(vc) || answer);
}

/*
 * For MSG endpoints, whose messages are others: describes our side (but type and target_cdm; takes
 * a mailbox, NONE → CONNECTING); connects to the peer that described itself (CONNECTING →
 * CONNECTED). ep->lock is held. 0; -FI_EAGAIN: no resources now; -FI_EINVAL: its parameters or
 * version do not fit; else an error. Without success the VC stays as it was.
 */
int gnip_vc_describe(struct gnip_vc *vc, struct gnip_conn *ours);
int gnip_vc_establish(struct gnip_vc *vc, const struct gnip_conn *theirs);
/*
 * An EP closes: its VCs take nothing new, peers are told, what is queued ends silently; waits for
 * what the NIC has, and some time for the peers; frees them. Messages to the EP are refused from
 * now on. No lock is held; ep->closing is set.
 */
void gnip_vcs_close(struct gnip_ep *ep);
/* Before that, or before a shutdown: sends the answers that wait for a credit, for some time. No
 * lock is held. */
void gnip_vcs_drain(struct gnip_ep *ep);
/* The same for one VC of a MSG endpoint that goes on: begins it; whether it is over (called in a
 * loop that makes progress); frees it, without ep->lock. */
void gnip_vc_close(struct gnip_vc *vc);
bool gnip_vc_close_done(struct gnip_vc *vc);
void gnip_vc_free(struct gnip_vc *vc);
/* One that is over and that nobody knows goes back to its NIC. ep->lock is held, and one pin. */
bool gnip_vc_reap(struct gnip_vc *vc);
/*
 * vc_quiesce.c. begin: its connection shall end without a loss; else: it may go on, or be made
 * anew. True: there is none. ep->lock is held.
 */
bool gnip_vc_quiesce(struct gnip_vc *vc, bool begin);
/* Changes the state: the only place that does. False: the table does not allow it; the VC stays as
 * it is, and fails. ep->lock is held. */
bool gnip_vc_move(struct gnip_vc *vc, enum gnip_vc_state to);
/* Progress of a VC that is neither connected nor new. ep->lock is held. Returns what was done. */
uint32_t gnip_vc_wind_up(struct gnip_vc *vc);
/* Starts connecting, when it is not connected or connecting; ep->lock is held. */
void gnip_vc_connect(struct gnip_vc *vc);
/* VC_CLOSE or its ack came. */
void gnip_vc_close_arrived(struct gnip_vc *vc);
void gnip_vc_close_ack_arrived(struct gnip_vc *vc);

#endif
