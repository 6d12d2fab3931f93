/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Connected VCs: requests are issued in order, and messages that arrive go to their protocol. The
 * mailbox is always emptied; the receive window limits how much it can bring.
 */
#include "cntr.h"
#include "ctx.h"
#include "ep.h"
#include "gnip.h"
#include "queue.h"
#include "lock.h"
#include "message.h"
#include "nic.h"
#include "nic_internal.h"
#include "onesided.h"
#include "proto.h"
#include "req.h"
#include "rx_window.h"
#include "txd.h"
#include "vc.h"
#include "vc_internal.h"

#define FAILURES 3 /* failed operations in a row: then the connection has failed */
#define RING_NS 20000u /* a peer that was woken polls for longer than this */
#define IDLE_NS 25000u /* without a message: the peer may sleep */
#define KNOWN_FLAGS \
    (GNIP_W_CQ_DATA | GNIP_W_DELIVERY | GNIP_W_TAGGED | GNIP_W_EVENT_WRITE | GNIP_W_EVENT_READ)

void gnip_vc_schedule(struct gnip_vc *vc)
{
    gnip_lock(&vc->nic->vc_lock);
    gnip_vc_link(vc->nic, vc);
    gnip_unlock(&vc->nic->vc_lock);
}

/* ---- sending --------------------------------------------------------------------------------- */

/* 0: it is issued, or it has failed and has ended. */
static int issue(struct gnip_vc *vc, struct gnip_req *req)
{
    int rc;

    vc->blocked = GNIP_BLOCKED_UNKNOWN;
    vc->outstanding++;
    rc = req->issue(req);
    if (gnip_likely(rc == 0))
        return 0;
    assert(vc->outstanding > 0);
    vc->outstanding--;
    if (rc == -FI_EAGAIN)
        return rc;
    gnip_req_drop(req, -rc);
    return 0;
}

static bool fenced(const struct gnip_vc *vc, const struct gnip_req *req)
{
    if (gnip_unlikely(vc->quiescing))
        return true;
    return (req->flags & FI_FENCE) != 0 && vc->outstanding != 0;
}

void gnip_vc_submit(struct gnip_vc *vc, struct gnip_req *req)
{
    gnip_assert_held(&vc->ep->lock);
    assert(req->kind != GNIP_REQ_FREE && req->vc == vc);
    if (gnip_unlikely((req->flags & FI_TRIGGER) != 0)) {
        vc->triggered = true;
        gnip_trigger_enqueue(req);
        return;
    }
    if (gnip_likely(vc->state == GNIP_VC_CONNECTED && gnip_queue_empty(&vc->tx_queue))) {
        if (gnip_unlikely(fenced(vc, req)))
            vc->blocked = GNIP_BLOCKED_FENCE;
        else if (gnip_likely(issue(vc, req) == 0))
            return;
    }
    gnip_queue_append(&vc->tx_queue, &req->link);
    if (vc->state != GNIP_VC_CONNECTED)
        gnip_vc_connect(vc);
    else if (vc->blocked == GNIP_BLOCKED_UNKNOWN)
        gnip_vc_schedule(vc);
    else
        gnip_vc_await_room(vc);
}

bool gnip_vc_withdraw(struct gnip_vc *vc, struct gnip_req *req)
{
    bool was_head = vc->tx_queue.head == &req->link;

    if (!gnip_queue_remove(&vc->tx_queue, &req->link))
        return false;
    if (was_head && !gnip_queue_empty(&vc->tx_queue))
        gnip_vc_schedule(vc);
    return true;
}

gnip_noinline void gnip_vc_defer(struct gnip_vc *vc, struct gnip_req *req)
{
    gnip_queue_append(&vc->work, &req->link);
    gnip_vc_schedule(vc);
}

void gnip_vc_op_done(struct gnip_vc *vc, bool failed)
{
    gnip_assert_held(&vc->ep->lock);
    assert(vc->outstanding > 0);
    vc->outstanding--;
    if (gnip_likely(!failed)) {
        vc->failures = 0;
    } else if (++vc->failures >= FAILURES && vc->state == GNIP_VC_CONNECTED) {
        vc->broken = true; /* the caller cannot fail it now */
        gnip_vc_schedule(vc);
    }
    if (gnip_unlikely(vc->tx_queue.head != NULL || vc->state != GNIP_VC_CONNECTED || vc->quiescing))
        gnip_vc_schedule(vc);
}

bool gnip_vc_rx_window(struct gnip_vc *vc, uint32_t credits)
{
    assert((int32_t)(vc->tx_credits - vc->tx_credits_used) >= 0);
    if (gnip_likely(vc->tx_credits - vc->tx_credits_used >= credits)) {
        vc->blocked = GNIP_BLOCKED_UNKNOWN;
        return true;
    }
    vc->blocked = GNIP_BLOCKED_WINDOW;
    return false;
}

static gnip_noinline bool urgent(uint8_t kind)
{
    return kind == GNIP_EAGER_ACK || kind == GNIP_RNDZV_FIN || kind == GNIP_VC_CLOSE ||
           kind == GNIP_VC_CLOSE_ACK;
}

static bool may_send(const struct gnip_vc *vc, uint8_t kind)
{
    return gnip_likely(vc->state == GNIP_VC_CONNECTED) ||
           (vc->state == GNIP_VC_TERMINATING &&
            (kind == GNIP_VC_CLOSE || kind == GNIP_VC_CLOSE_ACK));
}

static gni_return_t send(struct gnip_vc *vc, struct gnip_txd *txd, uint32_t header_bytes,
                         const void *data, uint32_t data_bytes)
{
    struct gnip_header *header = (struct gnip_header *)txd->buffer;
    gni_return_t rc;

    gnip_lock(&vc->nic->lock);
    rc = GNI_SmsgSendWTag(vc->gni_ep, header, header_bytes, (void *)(uintptr_t)data, data_bytes,
                          txd->id, header->kind);
    gnip_unlock(&vc->nic->lock);
    return rc;
}

/*
 * The thread that finds that a message has ended calls this (nic_progress.c). False: nothing has
 * changed.
 */
static gnip_cold bool block_for_credit(struct gnip_vc *vc)
{
    return __atomic_exchange_n(&vc->blocked, GNIP_BLOCKED_MAILBOX, __ATOMIC_SEQ_CST) !=
           GNIP_BLOCKED_MAILBOX;
}

int gnip_vc_smsg(struct gnip_vc *vc, struct gnip_txd *txd, uint32_t header_bytes, const void *data,
                 uint32_t data_bytes)
{
    struct gnip_header *header = (struct gnip_header *)txd->buffer;
    struct gnip_nic *nic = vc->nic;
    gni_return_t rc;

    gnip_assert_held(&vc->ep->lock);
    assert(header_bytes <= sizeof(txd->buffer) && header->kind < GNIP_KINDS);
    if (gnip_unlikely(!may_send(vc, header->kind) || vc->broken))
        return -FI_ENOTCONN;
    if (gnip_unlikely(__atomic_load_n(&vc->pins, __ATOMIC_RELAXED) >= vc->smsg_limit &&
                      !urgent(header->kind))) {
        nic->ctx->counts.credit_stalls++;
        vc->blocked = GNIP_BLOCKED_UNKNOWN;
        return -FI_EAGAIN;
    }
    header->version = GNIP_WIRE_VERSION;
    header->credits = vc->rx_credits;
    txd->vc = vc;
    txd->smsg = true;
    gnip_gate_hold(&nic->gate, &vc->pins);
    rc = send(vc, txd, header_bytes, data, data_bytes);
    /* did no event come in between? */
    if (gnip_unlikely(rc == GNI_RC_NOT_DONE && block_for_credit(vc)))
        rc = send(vc, txd, header_bytes, data, data_bytes);
    if (gnip_likely(rc == GNI_RC_SUCCESS)) {
        vc->rx_credits_sent = header->credits;
        return 0;
    }
    gnip_gate_drop(&nic->gate, &vc->pins);
    if (rc == GNI_RC_NOT_DONE) {
        nic->ctx->counts.credit_stalls++;
        return -FI_EAGAIN;
    }
    vc->broken = true;
    gnip_vc_schedule(vc);
    return -FI_EIO;
}

/* ---- doorbells ------------------------------------------------------------------------------- */

bool gnip_vc_was_idle(struct gnip_vc *vc)
{
    uint64_t now = port_now(), since = now - vc->sent_at;

    vc->sent_at = now;
    return since > IDLE_NS;
}

void gnip_vc_doorbell(struct gnip_vc *vc)
{
    gni_post_descriptor_t post = {
        .type = GNI_POST_CQWRITE,
        .cq_mode = GNI_CQMODE_SILENT, /* no event is needed; a lost one is noticed otherwise */
        .dlvr_mode = GNI_DLVMODE_IN_ORDER,
    };
    uint64_t now;

    if (!(vc->peer_flags & GNIP_CONN_AUTO) || vc->gni_ep == NULL)
        return;
    now = port_now();
    if (now - vc->rung_at < RING_NS && vc->rung_at != 0)
        return;
    vc->rung_at = vc->sent_at = now;
    post.remote_mem_hndl = vc->peer_doorbell;
    post.cqwrite_value = vc->peer_id;
    vc->nic->ctx->counts.doorbells++;
    gnip_lock(&vc->nic->lock);
    GNI_PostCqWrite(vc->gni_ep, &post);
    gnip_unlock(&vc->nic->lock);
}

/* ---- receiving ------------------------------------------------------------------------------- */

bool gnip_vc_next_message(struct gnip_vc *vc, bool release, void **message, uint8_t *tag)
{
    gni_return_t rc;

    *tag = GNI_SMSG_ANY_TAG;
    gnip_lock(&vc->nic->lock);
    if (release)
        GNI_SmsgRelease(vc->gni_ep);
    rc = GNI_SmsgGetNextWTag(vc->gni_ep, message, tag);
    gnip_unlock(&vc->nic->lock);
    if (gnip_unlikely(rc != GNI_RC_SUCCESS && rc != GNI_RC_NOT_DONE))
        vc->broken = true;
    return rc == GNI_RC_SUCCESS;
}

static void release(struct gnip_vc *vc)
{
    gnip_lock(&vc->nic->lock);
    GNI_SmsgRelease(vc->gni_ep);
    gnip_unlock(&vc->nic->lock);
}

static bool eager(struct gnip_vc *vc, const struct gnip_eager *message)
{
    if (message->bytes > vc->message_bytes - sizeof(*message) ||
        !gnip_rx_window_arrived(vc, gnip_eager_cost(message->bytes)))
        return false;
    gnip_eager_arrived(vc, message);
    return true;
}

static gnip_noinline bool iov_rts(struct gnip_vc *vc, const struct gnip_iov_rts *message)
{
    if (message->segments < 2 || message->segments > GNIP_IOV ||
        !gnip_rx_window_arrived(vc, gnip_iov_rts_cost(message->segments)))
        return false;
    gnip_iov_rts_arrived(vc, message);
    return true;
}

/* False: no such message. */
static bool dispatch(struct gnip_vc *vc, const void *message, uint8_t kind)
{
    switch (kind) {
    case GNIP_EAGER:
        return eager(vc, message);
    case GNIP_EAGER_ACK:
        gnip_eager_ack_arrived(vc, message);
        return true;
    case GNIP_RNDZV_RTS:
        if (!gnip_rx_window_arrived(vc, 1))
            return false;
        gnip_rts_arrived(vc, message);
        return true;
    case GNIP_RNDZV_IOV_RTS:
        return iov_rts(vc, message);
    case GNIP_RNDZV_FIN:
        gnip_fin_arrived(vc, message);
        return true;
    case GNIP_RMA_DATA:
        if (!gnip_rx_window_arrived(vc, 1))
            return false;
        gnip_rma_data_arrived(vc, message);
        return true;
    case GNIP_AMO_CNTR:
        gnip_amo_cntr_arrived(vc, message);
        return true;
    case GNIP_VC_CLOSE:
        if (((const struct gnip_header *)message)->a == GNIP_CLOSE_QUIESCE)
            gnip_vc_quiesce_requested(vc);
        else
            gnip_vc_close_arrived(vc);
        return true;
    case GNIP_VC_CLOSE_ACK:
        gnip_vc_close_ack_arrived(vc);
        return true;
    default:
        return false;
    }
}

static bool receive_one(struct gnip_vc *vc, const struct gnip_header *message, uint8_t tag)
{
    if (gnip_unlikely(message->kind != tag || message->version != GNIP_WIRE_VERSION ||
                      (message->flags & ~KNOWN_FLAGS) != 0))
        return false;
    if ((int32_t)(message->credits - vc->tx_credits) > 0)
        vc->tx_credits = message->credits;
    return dispatch(vc, message, tag);
}

static uint32_t read_event_count(struct gnip_vc *vc)
{
    uint32_t events;

    if (!vc->nic->vc_lock.elided)
        return __atomic_exchange_n(&vc->rx_events, 0, __ATOMIC_RELAXED);
    events = vc->rx_events;
    vc->rx_events = 0;
    return events;
}

/*
 * A poll of an empty mailbox is expensive, so as many messages are taken as there were events. But
 * returns of credits are events, too, and messages may lie behind one that was lost and is
 * repeated, after their events have been read. So after a poll that found nothing the mailbox is
 * emptied each time, until as many messages as fit into it have come one by one, each with one
 * event. A message behind a missing one would have come together with it.
 *
 * A message of several packets may never have an event: if two attempts lose different packets,
 * both together bring the message, it is taken for that of another event, and there is no third
 * attempt. So there may be more messages behind such a message.
 */
static gnip_cold void update_unannounced(struct gnip_vc *vc, uint32_t events, uint32_t done)
{
    if (gnip_unlikely(events != 1 || done != 1))
        vc->rx_unannounced = vc->mailbox_credits;
    else
        vc->rx_unannounced--;
}

#define PACKET 64u /* including 16 bytes of GNI's header */

static bool is_one_packet(const void *message, uint8_t tag)
{
    switch (tag) {
    case GNIP_EAGER:
        return ((const struct gnip_eager *)message)->bytes <=
               PACKET - 16 - sizeof(struct gnip_eager);
    case GNIP_RNDZV_RTS:
    case GNIP_RNDZV_IOV_RTS:
        return false;
    default:
        return true;
    }
}

static uint32_t receive(struct gnip_vc *vc)
{
    uint32_t done = 0, events;
    bool all = vc->rx_unannounced != 0, more = true;
    void *message;
    uint8_t tag;

    if (gnip_unlikely(vc->event_waits) && !gnip_rma_data_retry(vc))
        return 0; /* messages and their events stay where they are */
    events = read_event_count(vc);
    if (gnip_unlikely(__atomic_load_n(&vc->rx_ready, __ATOMIC_RELAXED) != GNIP_RX_EVENTS)) {
        all = true;
        gnip_vc_probe(vc);
        /* Messages that arrive from now on set it again. */
        if (__atomic_exchange_n(&vc->rx_ready, GNIP_RX_EVENTS, __ATOMIC_RELAXED) == GNIP_RX_LOST) {
            vc->rx_unannounced = vc->mailbox_credits;
            if (vc->outstanding != 0)
                gnip_vc_doorbell(
                    vc); /* the peer may have missed the messages that it does not answer */
        }
    }
    while ((all || done < events) && (more = gnip_vc_next_message(vc, done != 0, &message, &tag))) {
        done++;
        all |= !is_one_packet(message, tag);
        if (gnip_unlikely(!receive_one(vc, message, tag)))
            gnip_vc_fail(vc, FI_EIO);
        if (gnip_unlikely(vc->state != GNIP_VC_CONNECTED))
            break; /* the last message is not released, so that no return of credits follows it */
        if (gnip_unlikely(vc->event_waits)) {
            __atomic_store_n(&vc->rx_ready, GNIP_RX_POLL, __ATOMIC_RELAXED);
            break;
        }
    }
    if (gnip_likely(more && vc->state == GNIP_VC_CONNECTED && done != 0))
        release(vc);
    if (gnip_unlikely(vc->rx_unannounced != 0 || done < events))
        update_unannounced(vc, events, done);
    if (gnip_unlikely(vc->broken))
        gnip_vc_fail(vc, FI_EIO);
    /* Their credits are returned; a sender that sleeps for lack of credits must be woken. */
    vc->taken_since_doorbell += done;
    if (gnip_unlikely(vc->taken_since_doorbell >= vc->smsg_limit / 2 &&
                      vc->state == GNIP_VC_CONNECTED)) {
        vc->taken_since_doorbell = 0;
        gnip_vc_doorbell(vc);
    }
    return done;
}

void gnip_vc_receive_all(struct gnip_vc *vc)
{
    __atomic_store_n(&vc->rx_ready, GNIP_RX_POLL, __ATOMIC_RELAXED);
    receive(vc);
}

/* ---- progress -------------------------------------------------------------------------------- */

void gnip_vc_drop_work(struct gnip_vc *vc, struct gnip_req *req, int error)
{
    bool counted = req->kind != GNIP_REQ_RECV && req->kind != GNIP_REQ_CONTROL;

    gnip_req_drop(req, error);
    if (counted) /* it was issued */
        gnip_vc_op_done(vc, true);
}

static gnip_noinline uint32_t run_work(struct gnip_vc *vc)
{
    struct gnip_qlink *link;
    uint32_t done = 0;

    while ((link = gnip_queue_pop(&vc->work)) != NULL) {
        struct gnip_req *req = gnip_container(link, struct gnip_req, link);
        int rc = req->issue(req);

        if (rc == -FI_EAGAIN) {
            gnip_queue_prepend(&vc->work, link);
            gnip_vc_await_room(vc);
            break;
        }
        if (rc != 0)
            gnip_vc_drop_work(vc, req, -rc);
        done++;
    }
    return done;
}

static gnip_noinline uint32_t push(struct gnip_vc *vc)
{
    struct gnip_qlink *link;
    uint32_t done = 0;

    while ((link = vc->tx_queue.head) != NULL && vc->state == GNIP_VC_CONNECTED) {
        struct gnip_req *req = gnip_container(link, struct gnip_req, link);

        if (fenced(vc, req)) {
            vc->blocked = GNIP_BLOCKED_FENCE;
            break;
        }
        gnip_queue_pop(&vc->tx_queue);
        if (issue(vc, req) != 0) {
            gnip_queue_prepend(&vc->tx_queue, link);
            gnip_vc_await_room(vc);
            break;
        }
        done++;
    }
    return done;
}

/* There is work left that no event would schedule the VC for. */
static bool must_return(const struct gnip_vc *vc)
{
    return !gnip_queue_empty(&vc->work) || gnip_onesided_stalled(vc) ||
           (!gnip_queue_empty(&vc->tx_queue) && vc->blocked == GNIP_BLOCKED_UNKNOWN);
}

uint32_t gnip_vc_progress(struct gnip_vc *vc)
{
    struct gnip_ep *ep = vc->ep;
    uint32_t done = 0;

    gnip_assert_held(&vc->ep->lock);
    if (gnip_unlikely(__atomic_load_n(&ep->fired.head, __ATOMIC_RELAXED) != NULL))
        gnip_trigger_fired(ep);
    if (gnip_unlikely(vc->broken))
        gnip_vc_fail(vc, FI_EIO);
    if (gnip_unlikely(vc->state != GNIP_VC_CONNECTED))
        return gnip_vc_wind_up(vc);
    if (__atomic_load_n(&vc->rx_events, __ATOMIC_RELAXED) != 0 ||
        gnip_unlikely(__atomic_load_n(&vc->rx_ready, __ATOMIC_RELAXED) != GNIP_RX_EVENTS))
        done = receive(vc);
    if (gnip_unlikely(vc->state != GNIP_VC_CONNECTED))
        return done;
    if (!gnip_queue_empty(&vc->work))
        done += run_work(vc);
    if (gnip_unlikely(gnip_onesided_waits(vc) || vc->rx_credits_late != 0))
        done += gnip_onesided_progress(vc);
    if (gnip_unlikely(ep->mrecv_stalled))
        gnip_mrecv_retry(ep);
    if (gnip_unlikely(!gnip_queue_empty(&vc->tx_queue)))
        done += push(vc);
    if (gnip_unlikely(gnip_rx_window_due(vc)) && vc->state == GNIP_VC_CONNECTED &&
        !vc->quiesce_sent)
        gnip_eager_ack(vc, 0);
    if (gnip_unlikely(vc->quiescing))
        gnip_vc_quiesce_step(vc);
    if (gnip_unlikely(must_return(vc)))
        gnip_vc_schedule(vc);
    return done;
}
