/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The common part of reads, writes and atomics: whether the peer allows them, the remote event by
 * which the peer learns of them, and how they end. Also the handling of remote events that arrive.
 *
 * A remote event is sent when the data has reached the target, so it never arrives before the data.
 * It may have to wait for credits, and then it waits in a list of its own: the peer may itself wait
 * for other messages (FINs, data), which must not queue behind it.
 */
#include "bounce.h"
#include "cntr.h"
#include "cq.h"
#include "ep.h"
#include "gnip.h"
#include "queue.h"
#include "lock.h"
#include "nic.h"
#include "onesided.h"
#include "proto.h"
#include "req.h"
#include "rx_window.h"
#include "txd.h"
#include "vc.h"
#include "vc_internal.h"

#define DIRECTIONS ((uint64_t)(FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE))

bool gnip_onesided_allowed(const struct gnip_vc *vc, uint64_t operation, uint64_t direction)
{
    uint64_t caps = vc->peer_caps;

    return (caps & operation) != 0 && ((caps & direction) != 0 || (caps & DIRECTIONS) == 0);
}

/* An operation without FI_MORE sends all that was held back, for any peer. */
static gnip_noinline void flush_all(struct gnip_ep *ep)
{
    struct gnip_vc *vc, *next;

    for (vc = ep->chains; vc != NULL; vc = next) {
        next = vc->chain_next;
        gnip_rma_flush(vc); /* otherwise the VC's progress posts it */
    }
}

void gnip_onesided_submit(struct gnip_req *req)
{
    struct gnip_ep *ep = req->ep;
    bool more = (req->flags & FI_MORE) != 0;

    gnip_vc_submit(req->vc, req);
    if (gnip_unlikely(ep->chains != NULL) && !more)
        flush_all(ep);
}

int gnip_onesided_post(struct gnip_txd *txd,
                       gni_return_t (*post)(gni_ep_handle_t, gni_post_descriptor_t *))
{
    struct gnip_nic *nic = txd->vc->nic;
    gni_return_t rc;

    gnip_lock(&nic->lock);
    rc = post(txd->vc->gni_ep, &txd->transfer->post);
    gnip_unlock(&nic->lock);
    if (gnip_likely(rc == GNI_RC_SUCCESS))
        return 0;
    if (rc != GNI_RC_ERROR_RESOURCE && rc != GNI_RC_NOT_DONE && rc != GNI_RC_ERROR_NOMEM) {
        txd->req->error = FI_EIO;
        txd->req->prov_errno = gnip_errno(rc);
    }
    rc = txd->req->error == 0 ? GNI_RC_NOT_DONE : GNI_RC_TRANSACTION_ERROR;
    gnip_txd_put(nic, txd);
    return rc == GNI_RC_NOT_DONE ? -FI_EAGAIN : -FI_EIO;
}

/* ---- completion ------------------------------------------------------------------------------ */

static void release(struct gnip_req *req)
{
    bool rma = req->kind == GNIP_REQ_WRITE || req->kind == GNIP_REQ_READ;
    void **bounce = rma ? &req->u.rma.bounce : &req->u.amo.bounce;

    if (*bounce != NULL)
        gnip_bounce_put(req->ep, *bounce);
    *bounce = NULL;
}

static void complete(struct gnip_req *req)
{
    struct gnip_vc *vc = req->vc;
    struct fi_cq_tagged_entry entry = {.op_context = req->context,
                                       .flags = gnip_req_entry_flags(req)};

    release(req);
    if (gnip_unlikely(req->ep->closing)) {
        if (req->u.event.wanted)
            gnip_queue_remove(&vc->remote_events, &req->u.event.link);
        gnip_req_put(req);
    } else {
        gnip_req_complete(req, &entry, FI_ADDR_NOTAVAIL);
    }
    gnip_vc_op_done(vc, false);
}

/* Without an entry if the EP closes. */
static void end(struct gnip_req *req, int error)
{
    release(req);
    if (req->ep->closing)
        gnip_req_put(req);
    else
        gnip_req_error(req, error, req->prov_errno != 0 ? req->prov_errno : error);
}

gnip_cold void gnip_onesided_fail(struct gnip_req *req)
{
    struct gnip_vc *vc = req->vc;

    if (req->u.event.wanted && gnip_queue_remove(&vc->remote_events, &req->u.event.link) &&
        !gnip_queue_empty(&vc->remote_events))
        gnip_vc_schedule(vc); /* the remote events behind it have waited for it */
    end(req, req->error);
    gnip_vc_op_done(vc, true);
}

/* The operation has no transaction in flight: it was queued or deferred. */
gnip_cold void gnip_onesided_dropped(struct gnip_req *req, int error)
{
    struct gnip_vc *vc = req->vc;
    bool issued = req->answer;

    if (issued && req->u.event.wanted)
        gnip_queue_remove(&vc->remote_events, &req->u.event.link);
    end(req, error);
    if (issued)
        gnip_vc_op_done(vc, true);
}

gnip_noinline void gnip_onesided_defer(struct gnip_req *req, int (*what)(struct gnip_req *req))
{
    req->answer = true;
    req->issue = what;
    gnip_vc_defer(req->vc, req);
}

bool gnip_onesided_inject(struct gnip_req *req, int (*failed)(struct gnip_req *req))
{
    if (gnip_likely(!gnip_req_inject(req)))
        return false;
    req->error = gnip_req_injected_error(req);
    req->prov_errno = gnip_errno(GNI_RC_TRANSACTION_ERROR);
    gnip_onesided_defer(req, failed);
    return true;
}

/* ---- remote events, at the initiator --------------------------------------------------------- */

static void event_sent(struct gnip_txd *txd, gni_return_t status)
{
    struct gnip_req *req = txd->req;
    struct gnip_ep *ep = req->ep;

    port_spend(PORT_COST_COMPLETION, 1);
    gnip_lock(&ep->lock);
    gnip_txd_put(txd->nic, txd);
    req->pending = 0;
    if (gnip_likely(status == GNI_RC_SUCCESS)) {
        complete(req);
    } else {
        req->error = FI_EIO;
        req->prov_errno = gnip_errno(status);
        gnip_onesided_fail(req);
    }
    gnip_unlock(&ep->lock);
}

static uint32_t fill(const struct gnip_req *req, void *header)
{
    bool reads = req->kind == GNIP_REQ_READ || req->kind == GNIP_REQ_FETCH;
    uint64_t remote = reads ? FI_REMOTE_READ : FI_REMOTE_WRITE;
    struct gnip_remote_event *event = header;

    memset(event, 0, sizeof(*event));
    if (req->vc->peer_caps & FI_RMA_EVENT)
        event->h.flags = reads ? GNIP_W_EVENT_READ : GNIP_W_EVENT_WRITE;
    if (req->kind == GNIP_REQ_AMO || req->kind == GNIP_REQ_FETCH) {
        event->h.kind = GNIP_AMO_CNTR;
        event->h.a = FI_ATOMIC | remote;
        return sizeof(event->h);
    }
    event->h.kind = GNIP_RMA_DATA;
    event->flags = FI_RMA | remote;
    if (req->flags & FI_REMOTE_CQ_DATA) {
        event->h.flags |= GNIP_W_CQ_DATA;
        event->h.a = req->data;
        event->flags |= FI_REMOTE_CQ_DATA;
    }
    return sizeof(*event);
}

/* 0, -FI_EAGAIN, or another errno, which is also set in the request. */
static int send_event(struct gnip_req *req)
{
    struct gnip_vc *vc = req->vc;
    uint32_t credits = req->kind == GNIP_REQ_WRITE || req->kind == GNIP_REQ_READ ? 1 : 0;
    struct gnip_txd *txd;
    uint32_t bytes;
    int rc;

    if (!gnip_vc_rx_window(vc, credits))
        return -FI_EAGAIN;
    txd = gnip_txd_get(vc->nic, false);
    if (txd == NULL)
        return -FI_EAGAIN;
    txd->req = req;
    txd->vc = vc;
    txd->done = event_sent;
    bytes = fill(req, txd->buffer);
    req->pending = 1;
    rc = gnip_vc_smsg(vc, txd, bytes, NULL, 0);
    if (gnip_likely(rc == 0)) {
        vc->tx_credits_used += credits;
        if (gnip_vc_rings_eager(vc, false))
            gnip_vc_doorbell(vc);
        return 0;
    }
    req->pending = 0;
    gnip_txd_put(vc->nic, txd);
    if (rc != -FI_EAGAIN) {
        req->error = FI_EIO;
        req->prov_errno = -rc;
    }
    return rc;
}

static struct gnip_req *req_of(struct gnip_qlink *link)
{
    return gnip_container(link, struct gnip_req, u.event.link);
}

/* In the order in which the operations were issued. */
static gnip_noinline uint32_t send_events(struct gnip_vc *vc)
{
    uint32_t done = 0;
    struct gnip_qlink *link;

    vc->remote_events_blocked = true;
    while ((link = vc->remote_events.head) != NULL && req_of(link)->u.event.due) {
        int rc = send_event(req_of(link));

        if (rc == -FI_EAGAIN) {
            vc->remote_events_blocked =
                vc->blocked == GNIP_BLOCKED_WINDOW || vc->blocked == GNIP_BLOCKED_MAILBOX;
            gnip_vc_await_room(vc);
            break;
        }
        gnip_queue_pop(&vc->remote_events);
        if (rc != 0)
            gnip_onesided_fail(req_of(link));
        done++;
    }
    return done;
}

gnip_noinline void gnip_onesided_issued(struct gnip_req *req)
{
    if (req->u.event.wanted)
        gnip_queue_append(&req->vc->remote_events, &req->u.event.link);
}

void gnip_onesided_succeed(struct gnip_req *req)
{
    struct gnip_vc *vc = req->vc;

    if (gnip_likely(!req->u.event.wanted) || req->ep->closing) {
        complete(req);
        /* the peer cannot be informed any more */
    } else if (gnip_unlikely(vc->state != GNIP_VC_CONNECTED)) {
        req->error = FI_ENOTCONN;
        gnip_onesided_fail(req);
    } else {
        req->u.event.due = true;
        if (vc->remote_events.head != &req->u.event.link)
            return; /* the list waits for an event, or for an earlier operation */
        send_events(vc);
        if (!vc->remote_events_blocked)
            gnip_vc_schedule(vc);
    }
}

/* ---- remote events, at the target ------------------------------------------------------------ */

static void count(const struct gnip_ep *ep, uint16_t wire_flags)
{
    if (!ep->rma_event)
        return;
    if (wire_flags & GNIP_W_EVENT_WRITE)
        gnip_cntr_add(ep->rwrite_cntr, 1);
    if (wire_flags & GNIP_W_EVENT_READ)
        gnip_cntr_add(ep->rread_cntr, 1);
}

/* Writes the entry of a remote event. False: there is no memory for it. */
static bool add_event(struct gnip_vc *vc, const struct gnip_remote_event *message, bool *room)
{
    const uint64_t known = FI_RMA | FI_REMOTE_CQ_DATA | FI_REMOTE_WRITE | FI_REMOTE_READ;
    struct gnip_ep *ep = vc->ep;
    struct gnip_cq *cq = ep->recv_cq;
    struct fi_cq_tagged_entry entry = {.flags = message->flags & known, .data = message->h.a};

    if (ep->notify_flags_only && !ep->rma_event)
        entry.flags &= FI_REMOTE_CQ_DATA;
    /* The entry may exceed the queue's limit; then the peer gets its credit back later. */
    *room = gnip_cq_reserve(cq);
    if (!*room && gnip_unlikely(!gnip_cq_reserve_always(cq)))
        return false;
    gnip_cq_add(cq, &entry, ep->source ? gnip_vc_source(vc) : FI_ADDR_NOTAVAIL);
    return true;
}

gnip_noinline void gnip_rma_data_arrived(struct gnip_vc *vc,
                                         const struct gnip_remote_event *message)
{
    struct gnip_ep *ep = vc->ep;
    struct gnip_cq *cq = ep->recv_cq;
    bool room = true;

    if ((message->h.flags & GNIP_W_CQ_DATA) && cq != NULL &&
        gnip_unlikely(!add_event(vc, message, &room))) {
        /* The CQ cannot grow. This message waits, and the following ones stay in the mailbox. */
        vc->event = *message;
        vc->event_waits = true;
        gnip_cq_wait_for_room(cq, vc);
        return;
    }
    count(ep, message->h.flags);
    if (gnip_likely(room)) {
        gnip_rx_window_return(vc, 1);
    } else {
        vc->rx_credits_late++;
        gnip_cq_wait_for_room(cq, vc);
    }
}

gnip_noinline void gnip_amo_cntr_arrived(struct gnip_vc *vc, const struct gnip_header *message)
{
    count(vc->ep, message->flags);
}

bool gnip_rma_data_retry(struct gnip_vc *vc)
{
    struct gnip_remote_event message = vc->event;

    vc->event_waits = false;
    gnip_rma_data_arrived(vc, &message);
    return !vc->event_waits;
}

static uint32_t return_late(struct gnip_vc *vc)
{
    struct gnip_cq *cq = vc->ep->recv_cq;
    uint32_t credits = vc->rx_credits_late;

    if (!gnip_cq_reserve(cq)) {
        gnip_cq_wait_for_room(cq, vc);
        return 0;
    }
    gnip_cq_unreserve(cq);
    vc->rx_credits_late = 0;
    gnip_rx_window_return(vc, credits);
    return credits;
}

/* ---- progress and end of a VC ---------------------------------------------------------------- */

gnip_noinline uint32_t gnip_onesided_progress(struct gnip_vc *vc)
{
    uint32_t done = 0;

    gnip_assert_held(&vc->ep->lock);
    if (gnip_unlikely(vc->more != NULL) && gnip_rma_flush(vc) == 0)
        done++;
    if (gnip_unlikely(!gnip_queue_empty(&vc->remote_events)))
        done += send_events(vc);
    if (gnip_unlikely(vc->rx_credits_late != 0))
        done += return_late(vc);
    return done;
}

static void drop(struct gnip_vc *vc, struct gnip_req *req, int error)
{
    end(req, error);
    gnip_vc_op_done(vc, true);
}

void gnip_onesided_drop(struct gnip_vc *vc, int error)
{
    struct gnip_req *req = vc->more, *next;
    struct gnip_qlink *link;

    if (req != NULL)
        gnip_rma_unchain(vc);
    for (; req != NULL; req = next) {
        next = req->u.rma.next;
        drop(vc, req, error);
    }
    while ((link = gnip_queue_pop(&vc->remote_events)) != NULL)
        if (req_of(link)->u.event.due) /* others end with their transactions */
            drop(vc, req_of(link), error);
    if (vc->waits_for_cq)
        gnip_cq_forget(vc->ep->recv_cq, vc);
    vc->rx_credits_late = 0;
}
