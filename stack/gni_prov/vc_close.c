/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Ends connections. A mailbox must not be used again while the peer may write there, so both
 * sides agree:
 *
 *   A, closes                                   B
 *   CONNECTED → TERMINATING ── VC_CLOSE ──▶     CONNECTED → TERMINATING, ends its operations for A
 *   TERMINATED ◀───────── VC_CLOSE_ACK ───────  TERMINATED
 *
 * When both close, each takes the other's CLOSE as the answer. A connection that failed has no
 * mailbox for that: ERROR → TERMINATED, and a datagram informs the peer (CONN_CLOSE). It says which
 * messages were taken, so that the peer can report the others as lost. If there is no answer the
 * mailbox stays unused.
 */
#include <stdlib.h>

#include "cm_nic.h"
#include "cq.h"
#include "ctx.h"
#include "ep.h"
#include "gnip.h"
#include "queue.h"
#include "lock.h"
#include "mbox.h"
#include "msg_ep.h"
#include "nic.h"
#include "nic_internal.h"
#include "onesided.h"
#include "proto.h"
#include "req.h"
#include "rx_window.h"
#include "txd.h"
#include "vc.h"
#include "vc_internal.h"
#include "watch.h"
#include "port/list.h"

#define DRAIN_NS \
    2000000000ull /* for answers that find no room in the peer's mailbox when the EP closes */
#define ANSWER_NS 100000000ull /* for requests in flight when the EP closes */
#define CLOSE_NS 5000000000ull /* for the peers of connections */

/* ---- queued operations ----------------------------------------------------------------------- */

static void drop(struct gnip_vc *vc, struct gnip_req *req, int error)
{
    if (vc->ep->closing && !(req->cold && req->dropped != NULL))
        gnip_req_put(req);
    else
        gnip_req_drop(req, error);
}

static void drop_queue(struct gnip_vc *vc, int error)
{
    struct gnip_queue all = vc->tx_queue; /* requests that are added meanwhile stay */
    struct gnip_qlink *link;

    vc->tx_queue.head = vc->tx_queue.tail = NULL;
    while ((link = gnip_queue_pop(&all)) != NULL)
        drop(vc, gnip_container(link, struct gnip_req, link), error);
}

static void drop_work(struct gnip_vc *vc, int error)
{
    struct gnip_qlink *link;

    while ((link = gnip_queue_pop(&vc->work)) != NULL)
        gnip_vc_drop_work(vc, gnip_container(link, struct gnip_req, link), error);
    vc->credits_deferred = false;
}

static void flush(struct gnip_vc *vc, int error, bool keep_queue)
{
    if (!keep_queue)
        drop_queue(vc, error);
    drop_work(vc, error);
    gnip_onesided_drop(vc, vc->ep->closing ? 0 : error);
    gnip_req_vc_lost(vc, error);
    gnip_rx_window_close(vc);
}

static void lost(struct gnip_vc *vc)
{
    if (vc->ep->type == FI_EP_MSG && vc->ep->msg_vc == vc)
        gnip_msg_lost(vc->ep);
}

/* ---- the end of a connection ----------------------------------------------------------------- */

static bool is_open(const struct gnip_vc *vc)
{
    return vc->state == GNIP_VC_CONNECTED || vc->state == GNIP_VC_CONNECTING;
}

void gnip_vc_terminate(struct gnip_vc *vc, int error, bool keep_queue)
{
    gnip_assert_held(&vc->ep->lock);
    if (!is_open(vc)) {
        gnip_vc_schedule(vc);
        return;
    }
    gnip_vc_move(vc, GNIP_VC_TERMINATING);
    vc->answer = vc->simultaneous = vc->posted = false;
    flush(vc, error, keep_queue);
    lost(vc);
    gnip_vc_schedule(vc);
}

gnip_cold void gnip_vc_fail(struct gnip_vc *vc, int error)
{
    gnip_assert_held(&vc->ep->lock);
    assert(error >= 0);
    vc->broken = false;
    switch (vc->state) {
    case GNIP_VC_NONE:
    case GNIP_VC_CONNECTING:
    case GNIP_VC_CONNECTED:
        gnip_vc_move(vc, GNIP_VC_ERROR);
        vc->answer = vc->simultaneous = vc->posted = false;
        flush(vc, error, false);
        gnip_watch_failed(vc, error);
        lost(vc);
        gnip_vc_schedule(vc);
        break;
    case GNIP_VC_TERMINATING: /* no answer will come */
        vc->close_due = vc->ack_due = false;
        gnip_vc_move(vc, GNIP_VC_ERROR);
        gnip_vc_schedule(vc);
        break;
    default:
        break;
    }
}

void gnip_vc_close(struct gnip_vc *vc)
{
    gnip_assert_held(&vc->ep->lock);
    vc->closing = true;
    switch (vc->state) {
    case GNIP_VC_NONE:
        flush(vc, FI_ENOTCONN, false);
        gnip_vc_move(vc, GNIP_VC_TERMINATED);
        break;
    case GNIP_VC_CONNECTING:
        flush(vc, FI_ENOTCONN, false);
        if (vc->posted && !vc->peer_gone)
            break; /* the answer says that the mailbox is free, or whom to inform */
        if (vc->answer && !vc->exposed)
            vc->peer_gone = true; /* it does not know our mailbox; its request gets a NAK */
        if (vc->answer)
            gnip_vc_nak(vc, GNIP_NAK_CLOSING);
        gnip_vc_terminate(vc, FI_ENOTCONN, false);
        break;
    case GNIP_VC_CONNECTED:
        vc->close_due = !vc->is_self;
        vc->peer_gone |= vc->is_self;
        gnip_vc_terminate(vc, FI_ENOTCONN, false);
        break;
    default:
        drop_queue(vc, FI_ENOTCONN);
        gnip_vc_schedule(vc);
        break;
    }
}

/*
 * Sends that have completed, and whose messages the peer will not take, are lost. No request is
 * left that could report it, so the queue reports an error without an entry. Messages that still
 * wait for an answer end with an error of their own.
 */
static void report_losses(struct gnip_vc *vc, uint32_t taken)
{
    uint32_t lost = vc->tx_credits_used - taken;
    struct gnip_ep *ep = vc->ep;

    if ((int32_t)(lost - gnip_req_unanswered(vc)) <= 0 || ep->closing)
        return;
    gnip_warn(FI_LOG_EP_DATA, "a peer has closed the connection without the last messages");
    if (ep->send_cq != NULL)
        gnip_cq_add_nameless(ep->send_cq, FI_ENOTCONN);
}

gnip_cold void gnip_vc_closed_by_peer(struct gnip_vc *vc, uint32_t taken)
{
    gnip_assert_held(&vc->ep->lock);
    if (vc->state == GNIP_VC_CONNECTED)
        gnip_vc_receive_all(vc);
    if (vc->state == GNIP_VC_CONNECTED)
        report_losses(vc, taken);
    vc->peer_gone = true;
    gnip_vc_terminate(vc, FI_ENOTCONN, false);
}

/* ---- the handshake --------------------------------------------------------------------------- */

gnip_cold void gnip_vc_close_arrived(struct gnip_vc *vc)
{
    if (vc->state == GNIP_VC_TERMINATING) { /* both sides close at the same time */
        vc->close_due = false;
        vc->peer_gone = vc->close_sent;
        vc->ack_due = !vc->close_sent;
        return;
    }
    if (vc->quiesce_sent) /* it takes our message as the answer to its own */
        vc->peer_gone = true;
    else
        vc->ack_due = true;
    gnip_vc_terminate(vc, FI_ENOTCONN, false);
}

gnip_cold void gnip_vc_close_ack_arrived(struct gnip_vc *vc)
{
    if (vc->state == GNIP_VC_TERMINATING && vc->close_sent) {
        vc->peer_gone = true;
    } else if (vc->state == GNIP_VC_CONNECTED && vc->quiesce_sent) {
        vc->peer_gone = true;
        gnip_vc_terminate(vc, 0, true);
    }
}

static void close_message_sent(struct gnip_txd *txd, gni_return_t status)
{
    (void)status; /* nic_progress.c fails a VC whose message was lost */
    gnip_txd_put(txd->nic, txd);
}

bool gnip_vc_send_close(struct gnip_vc *vc, uint8_t kind, enum gnip_close_reason reason)
{
    struct gnip_txd *txd = gnip_txd_get(vc->nic, true);
    struct gnip_header *header;

    if (txd == NULL)
        return false;
    header = (struct gnip_header *)txd->buffer;
    memset(header, 0, sizeof(*header));
    header->kind = kind;
    header->a = reason;
    txd->req = NULL;
    txd->done = close_message_sent;
    if (gnip_vc_smsg(vc, txd, sizeof(*header), NULL, 0) == 0) {
        vc->nic->ctx->counts.closes += kind == GNIP_VC_CLOSE;
        gnip_vc_doorbell(vc);
        return true;
    }
    gnip_txd_put(vc->nic, txd);
    return false;
}

/* Handles only messages that end the connection. */
static void poll_for_close(struct gnip_vc *vc)
{
    bool release = false;
    void *message;
    uint8_t tag;

    __atomic_store_n(&vc->rx_events, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&vc->rx_ready, GNIP_RX_EVENTS, __ATOMIC_RELAXED);
    vc->event_waits = false;
    while (!vc->peer_gone && !vc->ack_due && gnip_vc_next_message(vc, release, &message, &tag)) {
        if (tag == GNIP_VC_CLOSE)
            gnip_vc_close_arrived(vc);
        else if (tag == GNIP_VC_CLOSE_ACK)
            gnip_vc_close_ack_arrived(vc);
        release = true;
    }
}

/* There is nothing more to send or to receive. */
static bool agreed(struct gnip_vc *vc)
{
    const bool may_end = vc->probe == NULL; /* with our last message the peer frees its mailbox */

    if (vc->gni_ep == NULL)
        return true;
    if (vc->close_due && may_end && gnip_vc_send_close(vc, GNIP_VC_CLOSE, GNIP_CLOSE_END)) {
        vc->close_due = false;
        vc->close_sent = true;
        if (!vc->closing)
            gnip_vc_await(vc);
    }
    if (vc->close_sent && !vc->peer_gone && !vc->ack_due)
        poll_for_close(vc);
    if (vc->ack_due && may_end && gnip_vc_send_close(vc, GNIP_VC_CLOSE_ACK, GNIP_CLOSE_END)) {
        vc->ack_due = false;
        vc->ack_sent = true;
        vc->peer_gone = true; /* it sends nothing after its CLOSE */
    }
    if (vc->broken)
        gnip_vc_fail(vc, FI_EIO);
    return vc->state == GNIP_VC_TERMINATING && !vc->close_due && !vc->ack_due && vc->peer_gone;
}

/* ---- transactions of GNI --------------------------------------------------------------------- */

/* False: transactions are in flight; their events schedule the VC again. */
static bool unbind(struct gnip_vc *vc)
{
    gni_return_t rc;

    if (vc->gni_ep == NULL)
        return true;
    gnip_lock(&vc->nic->lock);
    rc = GNI_EpUnbind(vc->gni_ep);
    if (rc != GNI_RC_NOT_DONE) {
        GNI_EpDestroy(vc->gni_ep);
        vc->gni_ep = NULL;
    }
    gnip_unlock(&vc->nic->lock);
    return rc != GNI_RC_NOT_DONE;
}

/* The peer does not know yet. */
static void send_close_datagram(struct gnip_vc *vc)
{
    struct gnip_conn_short message = {
        .type = GNIP_CONN_CLOSE,
        .version = GNIP_WIRE_VERSION,
        .target_cdm = vc->peer.cdm_id,
        .target_vc = vc->peer_id,
        .source_vc = vc->id,
        .incarnation = vc->incarnation,
        .source_cdm = vc->ep->name.cdm_id,
        .taken = vc->rx_credits_used,
    };

    if (vc->peer_id != 0 && vc->ep->type != FI_EP_MSG)
        gnip_vc_send_short(vc->ep->cm_nic, vc->peer.device_addr, vc->peer.cm_nic_cdm_id, &message);
}

static void put_mailbox(struct gnip_vc *vc)
{
    if (!vc->exposed || vc->peer_gone) {
        gnip_mbox_put(vc->nic, &vc->mbox);
        return;
    }
    gnip_mbox_lose(vc->nic, &vc->old_mbox);
    vc->old_mbox = vc->mbox;
    vc->old_id = vc->id;
    memset(&vc->mbox, 0, sizeof(vc->mbox));
    send_close_datagram(vc);
}

static void end(struct gnip_vc *vc)
{
    assert(vc->gni_ep == NULL);
    put_mailbox(vc);
    gnip_rx_window_close(vc);
    if (vc->id != 0)
        gnip_vc_id_put(vc->nic, vc->id);
    vc->id = vc->peer_id = 0;
    vc->close_sent = vc->ack_sent = vc->close_due = vc->ack_due = false;
    vc->exposed = vc->peer_gone = vc->broken = vc->awaits = false;
    vc->quiescing = vc->quiesce_sent = vc->quiesce_requested = false;
    gnip_vc_move(vc, GNIP_VC_TERMINATED);
    gnip_vc_resume(vc);
}

void gnip_vc_resume(struct gnip_vc *vc)
{
    struct gnip_conn *conn = vc->request;

    if (vc->closing)
        return;
    if (conn != NULL) {
        vc->request = NULL;
        gnip_vc_move(vc, GNIP_VC_NONE);
        gnip_vc_accept_request(vc, conn);
        free(conn);
    } else if (!gnip_queue_empty(&vc->tx_queue)) {
        gnip_vc_connect(vc);
    } else {
        gnip_vc_schedule(vc); /* to be freed */
    }
}

gnip_cold uint32_t gnip_vc_wind_up(struct gnip_vc *vc)
{
    gnip_assert_held(&vc->ep->lock);
    gnip_vc_probe(vc);
    switch (vc->state) {
    case GNIP_VC_TERMINATING:
        if (!agreed(vc)) {
            if (((vc->close_due || vc->ack_due) && vc->probe == NULL) || vc->state == GNIP_VC_ERROR)
                gnip_vc_schedule(vc); /* no descriptor or no credit */
            return 0;
        }
        break;
    case GNIP_VC_ERROR:
        break;
    case GNIP_VC_TERMINATED:
        if (!gnip_queue_empty(&vc->tx_queue))
            gnip_vc_connect(vc);
        return 0;
    default:
        return 0;
    }
    if (!unbind(vc))
        return 0;
    end(vc);
    return 1;
}

/* ---- the object ------------------------------------------------------------------------------ */

bool gnip_vc_close_done(struct gnip_vc *vc)
{
    return vc->state == GNIP_VC_TERMINATED;
}

/* Frees it without the peer and without the NIC. ep->lock is held. */
static void abandon(struct gnip_vc *vc)
{
    struct gnip_nic *nic = vc->nic;
    uint32_t messages;

    gnip_assert_held(&vc->ep->lock);
    if (vc->state == GNIP_VC_TERMINATED)
        return;
    if (is_open(vc) || vc->state == GNIP_VC_NONE)
        gnip_vc_fail(vc, FI_ENOTCONN);
    if (vc->gni_ep != NULL) {
        gnip_lock(&nic->lock);
        GNI_EpDestroy(vc->gni_ep);
        gnip_unlock(&nic->lock);
        vc->gni_ep = NULL;
        messages = gnip_txd_forget(nic, vc);
        __atomic_sub_fetch(&vc->pins, messages, __ATOMIC_SEQ_CST);
    }
    vc->closing = true;
    end(vc);
}

void gnip_vc_free(struct gnip_vc *vc)
{
    struct gnip_nic *nic = vc->nic;
    struct gnip_ep *ep = vc->ep;

    gnip_lock(&ep->lock);
    vc->closing = true;
    abandon(vc);
    gnip_unlock(&ep->lock);
    if (ep->cm_nic != NULL)
        gnip_cm_work_remove(ep->cm_nic, &vc->connect);
    gnip_lock(&nic->vc_lock);
    gnip_vc_unlink(nic, vc);
    gnip_unlock(&nic->vc_lock);
    gnip_gate_wait(&nic->gate, &vc->pins);
    gnip_lock(&ep->lock);
    gnip_mbox_lose(nic, &vc->old_mbox);
    gnip_vc_detach(vc);
    gnip_unlock(&ep->lock);
    gnip_vc_pool(vc);
}

/* Nothing refers to it: no operation, no message that came from it, no job. */
static bool forgotten(const struct gnip_vc *vc)
{
    return vc->ep->type != FI_EP_MSG && !vc->closing && !vc->triggered && !vc->waits_for_cq &&
           vc->outstanding == 0 && vc->request == NULL && vc->more == NULL && !vc->connect.queued &&
           !vc->connect.running && gnip_queue_empty(&vc->tx_queue) && gnip_queue_empty(&vc->work) &&
           gnip_queue_empty(&vc->remote_events);
}

gnip_cold bool gnip_vc_reap(struct gnip_vc *vc)
{
    struct gnip_nic *nic = vc->nic;
    bool alone;

    gnip_assert_held(&vc->ep->lock);
    if (!forgotten(vc))
        return false;
    gnip_lock(&nic->vc_lock);
    alone = __atomic_load_n(&vc->pins, __ATOMIC_SEQ_CST) == 1 && !port_linked(&vc->ready_link);
    gnip_unlock(&nic->vc_lock);
    if (!alone) {
        gnip_vc_schedule(vc);
        return false;
    }
    gnip_mbox_lose(nic, &vc->old_mbox);
    gnip_vc_detach(vc);
    gnip_vc_pool(vc);
    return true;
}

/* ---- all VCs of an endpoint ------------------------------------------------------------------ */

static struct gnip_vc *vc_at(struct port_link *link)
{
    return gnip_container(link, struct gnip_vc, ep_link);
}

/* An ACK of delivery, for which the peer waits. */
static bool owes_answer(const struct gnip_vc *vc)
{
    const struct gnip_qlink *link = vc->state == GNIP_VC_CONNECTED ? vc->work.head : NULL;

    for (; link != NULL; link = link->next) {
        const struct gnip_req *req = gnip_container(link, struct gnip_req, link);

        if (req->kind == GNIP_REQ_CONTROL && req->u.control.request != 0)
            return true;
    }
    return false;
}

static bool is_connecting(const struct gnip_vc *vc)
{
    return vc->state == GNIP_VC_CONNECTING;
}

static bool is_not_over(const struct gnip_vc *vc)
{
    return vc->state != GNIP_VC_TERMINATED;
}

static bool some_left(struct gnip_ep *ep, bool (*waits)(const struct gnip_vc *vc))
{
    struct port_link *link;
    bool left = false;

    gnip_lock(&ep->lock);
    for (link = ep->vcs.next; link != &ep->vcs && !left; link = link->next)
        left = waits(vc_at(link));
    gnip_unlock(&ep->lock);
    return left;
}

static void wait_for(struct gnip_ep *ep, bool (*waits)(const struct gnip_vc *vc),
                     uint64_t nanoseconds)
{
    struct port_timer timer;
    uint32_t polls, done;

    if (!some_left(ep, waits))
        return;
    gnip_lock(&ep->lock);
    ep->closer = port_thread_self();
    gnip_unlock(&ep->lock);
    port_timer_start(&timer, nanoseconds);
    do {
        polls = 0;
        done = gnip_nic_progress(ep->nic, &polls);
        done += gnip_cm_nic_progress(ep->cm_nic, &polls);
        if (done == 0)
            port_idle(&timer, true);
    } while (some_left(ep, waits) && !port_timer_rang(&timer));
    port_timer_stop(&timer);
    gnip_lock(&ep->lock);
    ep->closer = NULL;
    gnip_unlock(&ep->lock);
}

static void for_all(struct gnip_ep *ep, void (*act)(struct gnip_vc *vc))
{
    struct port_link *link;

    gnip_lock(&ep->lock);
    for (link = ep->vcs.next; link != &ep->vcs; link = link->next)
        act(vc_at(link));
    gnip_unlock(&ep->lock);
}

static void abandon_connecting(struct gnip_vc *vc)
{
    if (vc->state == GNIP_VC_CONNECTING)
        abandon(vc);
}

void gnip_vcs_drain(struct gnip_ep *ep)
{
    wait_for(ep, owes_answer, DRAIN_NS);
}

void gnip_vcs_close(struct gnip_ep *ep)
{
    struct gnip_vc *vc;

    for_all(ep, gnip_vc_close);
    wait_for(ep, is_connecting, ANSWER_NS);
    for_all(ep, abandon_connecting);
    wait_for(ep, is_not_over, CLOSE_NS);
    gnip_cm_nic_remove_ep(ep->cm_nic, ep);
    for (;;) {
        gnip_lock(&ep->lock);
        vc = port_list_empty(&ep->vcs) ? NULL : vc_at(ep->vcs.next);
        gnip_unlock(&ep->lock);
        if (vc == NULL)
            return;
        gnip_vc_free(vc);
    }
}
