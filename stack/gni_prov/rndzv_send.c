/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Rendezvous, the sender: describes its memory in an RTS and waits for the FIN (rndzv.c). */
#include "bounce.h"
#include "ctx.h"
#include "domain.h"
#include "ep.h"
#include "gnip.h"
#include "lock.h"
#include "message.h"
#include "mr.h"
#include "nic.h"
#include "proto.h"
#include "req.h"
#include "txd.h"
#include "vc.h"

int gnip_buffer_map(struct gnip_ep *ep, struct gnip_buffer *buffer, bool written)
{
    const struct gnip_mr *mr = buffer->mr;
    int rc;

    if (buffer->own_mr)
        return 0;
    if (mr != NULL && gnip_mr_serves(ep, mr, buffer->address, buffer->bytes, written) &&
        !mr->vmdh) {
        gnip_mr_use(buffer->mr);
    } else {
        rc = gnip_mr_auto(ep, buffer->address, buffer->bytes, written, &buffer->mr);
        if (rc != 0)
            return rc;
    }
    buffer->own_mr = true;
    return 0;
}

static void describe(struct gnip_segment *segment, const struct gnip_buffer *buffer)
{
    const uint8_t *first = buffer->address, *end = first + buffer->bytes;
    unsigned head = (uintptr_t)first & 3, tail = (uintptr_t)end & 3;
    uint64_t bytes;

    memset(segment, 0, sizeof *segment);
    segment->address = (uintptr_t)first;
    segment->bytes = buffer->bytes;
    segment->handle = buffer->mr->handle;
    if (head != 0) {
        bytes = 4 - head < buffer->bytes ? 4 - head : buffer->bytes;
        memcpy(segment->head + head, first, bytes);
    }
    if (tail != 0 && end - tail >= first)
        memcpy(segment->tail, end - tail, tail);
}

/* 0 and the number of segments (empty ones are left out), or the result of gnip_buffer_map. */
static int describe_all(struct gnip_req *req, uint32_t *count)
{
    unsigned i;
    int rc;

    *count = 0;
    for (i = 0; i < req->buffer_count; i++) {
        if (req->buffers[i].bytes == 0)
            continue;
        rc = gnip_buffer_map(req->ep, &req->buffers[i], false);
        if (rc != 0)
            return rc;
        describe(&req->u.send.segments[(*count)++], &req->buffers[i]);
    }
    return 0;
}

static void finish_send(struct gnip_req *req)
{
    struct fi_cq_tagged_entry entry = {
        .op_context = req->context,
        .flags = FI_MSG | FI_SEND | (req->flags & FI_TAGGED),
    };

    gnip_vc_op_done(req->vc, req->error != 0);
    if (req->error != 0)
        gnip_req_error(req, req->error, req->prov_errno);
    else
        gnip_req_complete(req, &entry, FI_ADDR_NOTAVAIL);
}

static void started(struct gnip_txd *txd, gni_return_t status)
{
    struct gnip_req *req = txd->req;
    struct gnip_ep *ep = req->ep;

    port_spend(PORT_COST_COMPLETION, 1);
    gnip_lock(&ep->lock);
    gnip_txd_put(txd->nic, txd);
    req->pending = 0;
    if (gnip_unlikely((status != GNI_RC_SUCCESS && !req->delivered) || req->failed_final)) {
        req->error = FI_EIO;
        req->prov_errno = status == GNI_RC_SUCCESS ? FI_EIO : gnip_errno(status);
        finish_send(req);
    } else if (req->delivered) {
        finish_send(req);
    } else {
        gnip_vc_await(req->vc);
    }
    gnip_unlock(&ep->lock);
}

static uint32_t write_header(struct gnip_req *req, void *buffer, uint32_t segments)
{
    struct gnip_rts *rts = buffer;
    struct gnip_iov_rts *iov = buffer;

    rts->h.kind = segments == 1 ? GNIP_RNDZV_RTS : GNIP_RNDZV_IOV_RTS;
    rts->h.flags = (uint16_t)((req->flags & FI_REMOTE_CQ_DATA ? GNIP_W_CQ_DATA : 0) |
                              (req->flags & FI_TAGGED ? GNIP_W_TAGGED : 0));
    rts->h.a = req->data;
    rts->tag = req->tag;
    rts->request = req->id;
    if (segments == 1) {
        rts->zero = 0;
        rts->segment = req->u.send.segments[0];
        return sizeof *rts;
    }
    iov->segments = segments;
    iov->bytes = req->bytes;
    iov->zero = 0;
    return sizeof *iov;
}

int gnip_rndzv_issue(struct gnip_req *req)
{
    struct gnip_vc *vc = req->vc;
    struct gnip_txd *txd;
    uint32_t segments, cost;
    int rc;

    gnip_req_init_cold(req);
    rc = describe_all(req, &segments);
    if (rc != 0)
        return rc;
    cost = segments == 1 ? GNIP_RTS_COST : gnip_iov_rts_cost(segments);
    if (!gnip_vc_rx_window(vc, cost))
        return -FI_EAGAIN;
    txd = gnip_txd_get(vc->nic, false);
    if (txd == NULL)
        return -FI_EAGAIN;
    txd->req = req;
    txd->vc = vc;
    txd->done = started;
    rc = gnip_vc_smsg(vc, txd, write_header(req, txd->buffer, segments),
                      segments == 1 ? NULL : req->u.send.segments,
                      segments == 1 ? 0 : segments * (uint32_t)sizeof(struct gnip_segment));
    if (rc != 0) {
        gnip_txd_put(vc->nic, txd);
        return rc;
    }
    vc->tx_credits_used += cost;
    req->cost = cost;
    req->rendezvous = req->answer = true;
    req->pending = 1;
    port_spend(PORT_COST_RENDEZVOUS, 1);
    gnip_vc_doorbell(vc);
    gnip_nic_wake_helper(vc->nic);
    return 0;
}

void gnip_fin_arrived(struct gnip_vc *vc, const struct gnip_fin *message)
{
    struct gnip_req *req = NULL;

    if (message->h.a <= UINT32_MAX)
        req = gnip_req_of_id(vc->ep, (uint32_t)message->h.a);
    if (req == NULL || req->kind != GNIP_REQ_SEND || req->vc != vc || !req->answer ||
        !req->rendezvous || req->delivered) {
        vc->ep->domain->ctx->counts.ignored++;
        return;
    }
    req->error = message->status < 0 ? FI_EIO : message->status;
    req->prov_errno = req->error;
    if (req->pending != 0) /* our own event has not come yet */
        req->delivered = true;
    else
        finish_send(req);
}
