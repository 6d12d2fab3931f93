/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Eager messages: the payload travels in the SMSG message. Also the two short answers (ACK of a
 * delivery, FIN of a rendezvous without a receive).
 */
#include "bounce.h"
#include "ctx.h"
#include "domain.h"
#include "ep.h"
#include "gnip.h"
#include "lock.h"
#include "match.h"
#include "message.h"
#include "params.h"
#include "proto.h"
#include "req.h"
#include "rx_window.h"
#include "txd.h"
#include "vc.h"

/* ---- sending --------------------------------------------------------------------------------- */

static void sent(struct gnip_txd *txd, gni_return_t status)
{
    struct gnip_req *req = txd->req;
    struct gnip_vc *vc = txd->vc;
    struct gnip_ep *ep = req->ep;
    struct fi_cq_tagged_entry entry = {0};

    port_spend(PORT_COST_COMPLETION, 1);
    gnip_lock(&ep->lock);
    gnip_txd_put(vc->nic, txd);
    req->pending = 0;
    if (gnip_unlikely(req->cold && req->u.send.gather != NULL)) {
        gnip_gather_put(ep, req->u.send.gather);
        req->u.send.gather = NULL;
    }
    if (gnip_unlikely((status != GNI_RC_SUCCESS && !req->delivered) || req->failed_final)) {
        gnip_vc_op_done(vc, true);
        gnip_req_error(req, FI_EIO, status == GNI_RC_SUCCESS ? FI_EIO : gnip_errno(status));
    } else if (!req->answer || req->delivered) {
        gnip_vc_op_done(vc, false);
        entry.op_context = req->context;
        entry.flags = FI_MSG | FI_SEND | (req->flags & FI_TAGGED);
        gnip_req_complete(req, &entry, FI_ADDR_NOTAVAIL);
    } else {
        gnip_vc_await(vc);
    }
    gnip_unlock(&ep->lock);
}

/*
 * Gathers a payload in one piece, as GNI_SmsgSendWTag needs it. False: there is no memory for it
 * now.
 */
static bool one_piece(struct gnip_req *req, const void **data)
{
    uint8_t *gather;
    unsigned i;

    if (gnip_likely(req->buffer_count <= 1)) {
        *data = req->bytes == 0 ? NULL : req->buffers[0].address;
        return true;
    }
    gnip_req_init_cold(req);
    if (req->bytes <= sizeof(req->inject)) {
        gather = req->inject;
    } else {
        gather = gnip_gather_get(req->ep);
        if (gather == NULL)
            return false;
        req->u.send.gather = gather;
    }
    *data = gather;
    for (i = 0; i < req->buffer_count; i++) {
        if (req->buffers[i].bytes != 0)
            memcpy(gather, req->buffers[i].address, req->buffers[i].bytes);
        gather += req->buffers[i].bytes;
    }
    port_spend(PORT_COST_COPY, req->bytes);
    return true;
}

static gnip_noinline void drop_piece(struct gnip_req *req)
{
    if (!req->cold || req->u.send.gather == NULL)
        return;
    gnip_gather_put(req->ep, req->u.send.gather);
    req->u.send.gather = NULL;
}

/* Injected failures are those of transactions; a message fails if a replay would not help. */
static bool injected(struct gnip_req *req)
{
    const struct gnip_params *params = &req->ep->domain->params;
    uint32_t failures = 0;

    if (gnip_likely(params->error_inject == 0))
        return false;
    while (failures < params->max_retransmits && gnip_req_inject(req))
        failures++;
    return failures >= params->max_retransmits;
}

int gnip_eager_issue(struct gnip_req *req)
{
    struct gnip_vc *vc = req->vc;
    struct gnip_eager *header;
    struct gnip_txd *txd;
    const void *data;
    uint32_t cost;
    int rc;

    if (gnip_unlikely(req->bytes > vc->eager_max && !(req->flags & FI_INJECT)))
        return gnip_rndzv_issue(req);
    cost = gnip_eager_cost(req->bytes);
    if (gnip_unlikely(!gnip_vc_rx_window(vc, cost))) {
        /* An RTS costs one credit for any length, so it need not wait for several. */
        if (req->bytes >= GNIP_CREDIT_BYTES && gnip_vc_rx_window(vc, 1))
            return gnip_rndzv_issue(req);
        req->ep->domain->ctx->counts.window_stalls++;
        return -FI_EAGAIN;
    }
    if (gnip_unlikely(injected(req)))
        return -gnip_req_injected_error(req);
    txd = gnip_txd_get(vc->nic, false);
    if (gnip_unlikely(txd == NULL))
        return -FI_EAGAIN;
    if (gnip_unlikely(!one_piece(req, &data))) {
        gnip_txd_put(vc->nic, txd);
        return -FI_EAGAIN;
    }
    header = (struct gnip_eager *)txd->buffer;
    header->h.kind = GNIP_EAGER;
    header->h.flags = (req->flags & FI_REMOTE_CQ_DATA ? GNIP_W_CQ_DATA : 0) |
                      (req->flags & FI_TAGGED ? GNIP_W_TAGGED : 0) |
                      (req->flags & FI_DELIVERY_COMPLETE ? GNIP_W_DELIVERY : 0);
    header->h.a = req->data;
    header->tag = req->tag;
    header->bytes = (uint32_t)req->bytes;
    req->answer = (req->flags & FI_DELIVERY_COMPLETE) != 0;
    header->request = req->answer ? req->id : 0;
    txd->req = req;
    txd->vc = vc;
    txd->done = sent;
    rc = gnip_vc_smsg(vc, txd, sizeof *header, data, (uint32_t)req->bytes);
    if (gnip_unlikely(rc != 0)) {
        req->answer = false;
        drop_piece(req);
        gnip_txd_put(vc->nic, txd);
        return rc;
    }
    vc->tx_credits_used += cost;
    req->cost = cost;
    req->pending = 1;
    if (gnip_unlikely(gnip_vc_rings_eager(vc, req->answer)))
        gnip_vc_doorbell(vc);
    return 0;
}

gnip_noinline void gnip_eager_ack_arrived(struct gnip_vc *vc, const struct gnip_header *message)
{
    struct fi_cq_tagged_entry entry = {0};
    struct gnip_req *req;

    if (message->a == 0)
        return;
    req = message->a > UINT32_MAX ? NULL : gnip_req_of_id(vc->ep, (uint32_t)message->a);
    if (req == NULL || req->kind != GNIP_REQ_SEND || req->vc != vc || !req->answer ||
        req->rendezvous) {
        vc->ep->domain->ctx->counts.ignored++;
        return;
    }
    if (req->pending != 0) { /* our own event has not come yet */
        req->delivered = true;
        return;
    }
    gnip_vc_op_done(vc, false);
    entry.op_context = req->context;
    entry.flags = FI_MSG | FI_SEND | (req->flags & FI_TAGGED);
    gnip_req_complete(req, &entry, FI_ADDR_NOTAVAIL);
}

/* ---- receiving ------------------------------------------------------------------------------- */

void gnip_eager_receive(struct gnip_req *recv, struct gnip_vc *vc, const void *payload,
                        uint64_t bytes, uint64_t tag, uint64_t data, uint16_t wire_flags,
                        uint32_t request)
{
    uint64_t copied = bytes < recv->bytes ? bytes : recv->bytes;

    recv->vc = vc;
    recv->tag = tag;
    recv->data = data;
    if (copied != 0) {
        if (gnip_likely(recv->buffer_count == 1))
            memcpy(recv->buffers[0].address, payload, copied);
        else
            gnip_recv_copy(recv, payload, copied);
        port_spend(PORT_COST_COPY, copied);
    }
    gnip_recv_done(recv, bytes, wire_flags);
    if (gnip_unlikely(wire_flags & GNIP_W_DELIVERY) && vc != NULL)
        gnip_eager_ack(vc, request);
}

static gnip_noinline void keep(struct gnip_vc *vc, const struct gnip_eager *message, uint32_t cost)
{
    struct gnip_unexpected *kept = gnip_unexpected_new(vc->ep, message->bytes);

    if (kept == NULL) {
        gnip_vc_fail(vc, FI_ENOMEM);
        return;
    }
    kept->tag = message->tag;
    kept->data = message->h.a;
    kept->credits = cost;
    kept->request = message->request;
    kept->wire_flags = message->h.flags;
    kept->bytes = message->bytes;
    kept->payload = (uint8_t *)(kept + 1);
    memcpy(kept->payload, message + 1, message->bytes);
    port_spend(PORT_COST_COPY, message->bytes);
    gnip_unexpected_keep(vc, kept);
}

void gnip_eager_arrived(struct gnip_vc *vc, const struct gnip_eager *message)
{
    uint32_t cost = gnip_eager_cost(message->bytes);
    struct gnip_req *recv;

    gnip_assert_held(&vc->ep->lock);
    if (gnip_unlikely(message->bytes + sizeof *message > vc->message_bytes)) {
        gnip_vc_fail(vc, FI_EIO);
        return;
    }
    port_spend(PORT_COST_RECEIVE, 1);
    recv =
        gnip_recv_match(vc, (message->h.flags & GNIP_W_TAGGED) != 0, message->tag, message->bytes);
    if (gnip_unlikely(recv == NULL)) {
        keep(vc, message, cost);
        return;
    }
    gnip_rx_window_return(vc, cost);
    gnip_eager_receive(recv, vc, message + 1, message->bytes, message->tag, message->h.a,
                       message->h.flags, message->request);
}

/* ---- answers --------------------------------------------------------------------------------- */

static void answered(struct gnip_txd *txd, gni_return_t status)
{
    (void)status; /* the next message that the VC sends finds out */
    gnip_txd_put(txd->vc->nic, txd);
}

int gnip_answer(struct gnip_vc *vc, uint8_t kind, uint32_t request, int32_t status,
                struct gnip_req *req, void (*done)(struct gnip_txd *txd, gni_return_t status))
{
    struct gnip_txd *txd = gnip_txd_get(vc->nic, true);
    struct gnip_fin *message;
    int rc;

    if (txd == NULL)
        return -FI_EAGAIN;
    message = (struct gnip_fin *)txd->buffer;
    memset(message, 0, sizeof *message);
    message->h.kind = kind;
    message->h.a = request;
    message->status = status;
    txd->req = req;
    txd->vc = vc;
    txd->done = done;
    rc = gnip_vc_smsg(vc, txd, kind == GNIP_RNDZV_FIN ? sizeof *message : sizeof message->h, NULL,
                      0);
    if (rc != 0)
        gnip_txd_put(vc->nic, txd);
    else
        gnip_vc_doorbell(vc); /* the peer may also sleep until it gets credits */
    return rc;
}

static void forget(struct gnip_req *req, int error)
{
    (void)error;
    if (req->u.control.request == 0)
        req->vc->credits_deferred = false;
    gnip_req_put(req);
}

static int answer_later(struct gnip_req *req)
{
    int rc = gnip_answer(req->vc, req->u.control.kind, req->u.control.request,
                         req->u.control.status, NULL, answered);

    if (rc == -FI_EAGAIN)
        return rc;
    forget(req, 0);
    return 0;
}

static void answer_or_defer(struct gnip_vc *vc, uint8_t kind, uint32_t request, int32_t status)
{
    struct gnip_req *req;

    if (gnip_answer(vc, kind, request, status, NULL, answered) != -FI_EAGAIN)
        return;
    if (request == 0 && vc->credits_deferred)
        return; /* one ACK is enough, because it carries the newest credits */
    req = gnip_req_get_own(vc->ep, GNIP_REQ_CONTROL);
    if (req == NULL) {
        gnip_vc_fail(vc, FI_ENOMEM);
        return;
    }
    req->vc = vc;
    req->issue = answer_later;
    req->dropped = forget;
    req->u.control.kind = kind;
    req->u.control.request = request;
    req->u.control.status = status;
    if (request == 0)
        vc->credits_deferred = true;
    gnip_vc_defer(vc, req);
}

gnip_noinline void gnip_eager_ack(struct gnip_vc *vc, uint32_t request)
{
    answer_or_defer(vc, GNIP_EAGER_ACK, request, 0);
}

void gnip_fin_send(struct gnip_vc *vc, uint32_t request, int32_t status)
{
    answer_or_defer(vc, GNIP_RNDZV_FIN, request, status);
}
