/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Atomics: one operation of the NIC on one element. A failed one is never repeated, because it may
 * have been executed.
 */
#include "amo.h"
#include "bounce.h"
#include "call_trace.h"
#include "cntr.h"
#include "ep.h"
#include "gnip.h"
#include "lock.h"
#include "message.h"
#include "mr.h"
#include "onesided.h"
#include "req.h"
#include "txd.h"
#include "vc.h"

#define PLAIN_FLAGS                                                                                \
    ((uint64_t)(FI_COMPLETION | FI_MORE | FI_FENCE | FI_TRIGGER | FI_INJECT | FI_INJECT_COMPLETE | \
                FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE))
#define FETCH_FLAGS (PLAIN_FLAGS & ~(uint64_t)FI_INJECT)

/* ---- posting --------------------------------------------------------------------------------- */

static void done(struct gnip_txd *txd, gni_return_t status)
{
    struct gnip_req *req = txd->req;
    struct gnip_ep *ep = req->ep;

    port_spend(PORT_COST_COMPLETION, 1);
    gnip_lock(&ep->lock);
    gnip_txd_put(txd->nic, txd);
    req->pending = 0;
    if (gnip_unlikely(status != GNI_RC_SUCCESS)) {
        req->error = FI_EIO;
        req->prov_errno = gnip_errno(status);
        gnip_onesided_fail(req);
    } else {
        if (req->u.amo.bounce != NULL)
            memcpy(req->u.amo.result, req->u.amo.bounce, req->u.amo.width);
        gnip_onesided_succeed(req);
    }
    gnip_unlock(&ep->lock);
}

/* Where the old value is stored: in place if that memory is registered, else in a bounce buffer. */
static bool set_result(struct gnip_req *req, gni_post_descriptor_t *post)
{
    if (!req->u.amo.fetches) {
        post->local_addr = 0;
        memset(&post->local_mem_hndl, 0, sizeof(post->local_mem_hndl));
        return true;
    }
    if (req->buffers[0].mr != NULL) {
        post->local_addr = (uintptr_t)req->u.amo.result;
        post->local_mem_hndl = req->buffers[0].mr->handle;
        return true;
    }
    req->u.amo.bounce = gnip_bounce_get(req->ep, &post->local_mem_hndl);
    post->local_addr = (uintptr_t)req->u.amo.bounce;
    return req->u.amo.bounce != NULL;
}

static int post(struct gnip_req *req)
{
    struct gnip_vc *vc = req->vc;
    struct gnip_txd *txd = gnip_txd_get_transfer(vc->nic);
    gni_post_descriptor_t *descr;
    int rc;

    if (gnip_unlikely(txd == NULL))
        return -FI_EAGAIN;
    txd->req = req;
    txd->vc = vc;
    txd->done = done;
    descr = &txd->transfer->post;
    if (!set_result(req, descr)) {
        gnip_txd_put(vc->nic, txd);
        return -FI_EAGAIN;
    }
    descr->next_descr = NULL;
    descr->type = GNI_POST_AMO;
    descr->cq_mode = GNI_CQMODE_GLOBAL_EVENT;
    descr->dlvr_mode = GNI_DLVMODE_PERFORMANCE;
    descr->remote_addr = req->u.amo.remote_address;
    descr->remote_mem_hndl = *gnip_remote_handle(vc, req->u.amo.remote_key);
    descr->length = req->u.amo.width;
    descr->amo_cmd = req->u.amo.command;
    descr->first_operand = req->u.amo.operand[0];
    descr->second_operand = req->u.amo.operand[1];
    req->pending = 1;
    rc = gnip_onesided_post(txd, GNI_PostFma);
    if (gnip_unlikely(rc != 0)) {
        req->pending = 0;
        if (req->u.amo.bounce != NULL)
            gnip_bounce_put(req->ep, req->u.amo.bounce);
        req->u.amo.bounce = NULL;
    }
    return rc;
}

static int failed(struct gnip_req *req)
{
    gnip_onesided_fail(req);
    return 0;
}

static int issue(struct gnip_req *req)
{
    struct gnip_vc *vc = req->vc;
    uint64_t direction = req->u.amo.fetches ? FI_REMOTE_READ : FI_REMOTE_WRITE;
    int rc = 0;

    if (gnip_unlikely(!gnip_onesided_allowed(vc, FI_ATOMIC, direction)))
        return -FI_EOPNOTSUPP;
    if (gnip_unlikely(vc->more != NULL) && gnip_rma_flush(vc) != 0)
        return -FI_EAGAIN;
    req->u.event.wanted = (vc->peer_caps & FI_RMA_EVENT) != 0;
    if (!gnip_onesided_inject(req, failed))
        rc = post(req);
    if (gnip_likely(rc == 0))
        gnip_onesided_issued(req);
    return rc;
}

/* ---- accepting ------------------------------------------------------------------------------- */

struct atomic {
    enum gnip_amo_form form;
    uint16_t command;
    uint8_t width;
    uint64_t operand[2];
    void *result;
    struct gnip_mr *result_mr;
    fi_addr_t peer;
    uint64_t remote, key, flags;
    void *context;
};

/* ep->lock is held. */
static int accept(struct gnip_ep *ep, const struct atomic *wanted)
{
    bool fetches = wanted->form != GNIP_AMO_PLAIN;
    struct gnip_req *req;
    struct gnip_vc *vc;
    int rc = gnip_vc_find(ep, wanted->peer, &vc);

    gnip_assert_held(&ep->lock);
    if (rc != 0)
        return rc;
    req = gnip_req_get(ep, fetches ? GNIP_REQ_FETCH : GNIP_REQ_AMO,
                       gnip_req_is_named(wanted->flags, wanted->context));
    if (gnip_unlikely(req == NULL))
        return -FI_EAGAIN;
    req->vc = vc;
    req->context = wanted->context;
    req->flags = wanted->flags;
    req->issue = issue;
    req->dropped = gnip_onesided_dropped;
    req->bytes = wanted->width;
    req->u.amo.remote_address = wanted->remote;
    req->u.amo.remote_key = wanted->key;
    req->u.amo.operand[0] = wanted->operand[0];
    req->u.amo.operand[1] = wanted->operand[1];
    req->u.amo.command = (gni_fma_cmd_type_t)wanted->command;
    req->u.amo.width = wanted->width;
    req->u.amo.fetches = fetches;
    req->u.amo.result = wanted->result;
    if (fetches && wanted->result_mr != NULL &&
        gnip_mr_serves(ep, wanted->result_mr, wanted->result, wanted->width, true)) {
        req->buffer_count = 1;
        req->buffers[0].address = wanted->result;
        req->buffers[0].bytes = wanted->width;
        req->buffers[0].mr = wanted->result_mr;
        req->buffers[0].own_mr = true;
        gnip_mr_use(wanted->result_mr);
    }
    port_spend(PORT_COST_RMA, 1);
    gnip_onesided_submit(req);
    return 0;
}

static ssize_t start(struct gnip_ep *ep, const struct atomic *wanted)
{
    uint64_t direction = wanted->form == GNIP_AMO_PLAIN ? FI_WRITE : FI_READ;
    int rc = gnip_ep_may(ep, FI_ATOMIC | direction | gnip_reports_nothing(wanted->flags));

    if (gnip_unlikely(rc != 0))
        return rc;
    if (wanted->remote % wanted->width != 0)
        return -FI_EINVAL;
    if (wanted->form != GNIP_AMO_PLAIN &&
        (wanted->result == NULL || (uintptr_t)wanted->result % wanted->width != 0))
        return -FI_EINVAL;
    if (gnip_unlikely(wanted->flags & FI_TRIGGER)) {
        rc = gnip_trigger_check(ep, wanted->context, wanted->flags);
        if (rc != 0)
            return rc;
    }
    if (gnip_unlikely(port_tracing()))
        gnip_trace_rma(wanted->width, wanted->peer, wanted->key);
    gnip_lock(&ep->lock);
    rc = accept(ep, wanted);
    gnip_unlock(&ep->lock);
    return gnip_traced(gnip_unlikely(rc == -FI_EAGAIN) ? gnip_ep_wait_for_room(ep) : rc);
}

static uint64_t load(const void *from, uint8_t width)
{
    uint32_t half;
    uint64_t whole;

    if (width == 4) {
        memcpy(&half, from, sizeof(half));
        return half;
    }
    memcpy(&whole, from, sizeof(whole));
    return whole;
}

/* Fills in command and operands. The buffer of a read is not accessed. */
static int prepare(struct atomic *wanted, enum fi_datatype datatype, enum fi_op op, size_t count,
                   const void *buf, const void *compare)
{
    uint64_t operand = ~0ull, compared;

    wanted->command = gnip_amo_command(wanted->form, datatype, op, &wanted->width);
    if (wanted->command == 0 || count != 1)
        return -FI_EOPNOTSUPP;
    if (op != FI_ATOMIC_READ) {
        if (buf == NULL)
            return -FI_EINVAL;
        operand = load(buf, wanted->width);
    }
    wanted->operand[0] = operand;
    if (wanted->form != GNIP_AMO_COMPARING)
        return 0;
    if (compare == NULL)
        return -FI_EINVAL;
    compared = load(compare, wanted->width);
    if (op == FI_CSWAP) {
        wanted->operand[0] = compared;
        wanted->operand[1] = operand;
    } else { /* masked: bits outside of the mask stay */
        wanted->operand[0] = ~compared;
        wanted->operand[1] = operand & compared;
    }
    return 0;
}

/* ---- libfabric's functions ------------------------------------------------------------------- */

static uint64_t default_flags(const struct gnip_ep *ep, uint64_t mask)
{
    return gnip_tx_flags(ep, ep->tx_flags) & mask;
}

static ssize_t amo_write(struct fid_ep *fid, const void *buf, size_t count, void *desc,
                         fi_addr_t dest_addr, uint64_t addr, uint64_t key,
                         enum fi_datatype datatype, enum fi_op op, void *context)
{
    PORT_CALL("fi_atomic");
    struct gnip_ep *ep = gnip_ep_of(fid);
    struct atomic wanted = {.form = GNIP_AMO_PLAIN,
                            .peer = dest_addr,
                            .remote = addr,
                            .key = key,
                            .flags = default_flags(ep, PLAIN_FLAGS),
                            .context = context};
    int rc = prepare(&wanted, datatype, op, count, buf, NULL);

    return rc != 0 ? rc : start(ep, &wanted);
}

static ssize_t amo_writev(struct fid_ep *fid, const struct fi_ioc *iov, void **desc, size_t count,
                          fi_addr_t dest_addr, uint64_t addr, uint64_t key,
                          enum fi_datatype datatype, enum fi_op op, void *context)
{
    PORT_CALL("fi_atomicv");
    if (iov == NULL || count != 1)
        return -FI_EINVAL;
    return amo_write(fid, iov->addr, iov->count, NULL, dest_addr, addr, key, datatype, op, context);
}

static ssize_t amo_inject(struct fid_ep *fid, const void *buf, size_t count, fi_addr_t dest_addr,
                          uint64_t addr, uint64_t key, enum fi_datatype datatype, enum fi_op op)
{
    PORT_CALL("fi_inject_atomic");
    struct atomic wanted = {
        .form = GNIP_AMO_PLAIN, .peer = dest_addr, .remote = addr, .key = key, .flags = FI_INJECT};
    int rc = prepare(&wanted, datatype, op, count, buf, NULL);

    return rc != 0 ? rc : start(gnip_ep_of(fid), &wanted);
}

static ssize_t fetch(struct fid_ep *fid, enum gnip_amo_form form, const void *buf, size_t count,
                     const void *compare, void *result, void *result_desc, fi_addr_t dest_addr,
                     uint64_t addr, uint64_t key, enum fi_datatype datatype, enum fi_op op,
                     void *context)
{
    struct gnip_ep *ep = gnip_ep_of(fid);
    struct atomic wanted = {.form = form,
                            .result = result,
                            .result_mr = result_desc,
                            .peer = dest_addr,
                            .remote = addr,
                            .key = key,
                            .flags = default_flags(ep, FETCH_FLAGS),
                            .context = context};
    int rc = prepare(&wanted, datatype, op, count, buf, compare);

    return rc != 0 ? rc : start(ep, &wanted);
}

static ssize_t amo_readwrite(struct fid_ep *fid, const void *buf, size_t count, void *desc,
                             void *result, void *result_desc, fi_addr_t dest_addr, uint64_t addr,
                             uint64_t key, enum fi_datatype datatype, enum fi_op op, void *context)
{
    PORT_CALL("fi_fetch_atomic");
    return fetch(fid, GNIP_AMO_FETCHING, buf, count, NULL, result, result_desc, dest_addr, addr,
                 key, datatype, op, context);
}

static void *first_desc(void **desc)
{
    return desc != NULL ? desc[0] : NULL;
}

static ssize_t amo_readwritev(struct fid_ep *fid, const struct fi_ioc *iov, void **desc,
                              size_t count, struct fi_ioc *resultv, void **result_desc,
                              size_t result_count, fi_addr_t dest_addr, uint64_t addr, uint64_t key,
                              enum fi_datatype datatype, enum fi_op op, void *context)
{
    PORT_CALL("fi_fetch_atomicv");
    bool reads = op == FI_ATOMIC_READ;

    if (resultv == NULL || result_count != 1 || (!reads && (iov == NULL || count != 1)))
        return -FI_EINVAL;
    return amo_readwrite(fid, reads ? NULL : iov->addr, reads ? resultv->count : iov->count, NULL,
                         resultv->addr, first_desc(result_desc), dest_addr, addr, key, datatype, op,
                         context);
}

static ssize_t amo_compwrite(struct fid_ep *fid, const void *buf, size_t count, void *desc,
                             const void *compare, void *compare_desc, void *result,
                             void *result_desc, fi_addr_t dest_addr, uint64_t addr, uint64_t key,
                             enum fi_datatype datatype, enum fi_op op, void *context)
{
    PORT_CALL("fi_compare_atomic");
    return fetch(fid, GNIP_AMO_COMPARING, buf, count, compare, result, result_desc, dest_addr, addr,
                 key, datatype, op, context);
}

static ssize_t amo_compwritev(struct fid_ep *fid, const struct fi_ioc *iov, void **desc,
                              size_t count, const struct fi_ioc *comparev, void **compare_desc,
                              size_t compare_count, struct fi_ioc *resultv, void **result_desc,
                              size_t result_count, fi_addr_t dest_addr, uint64_t addr, uint64_t key,
                              enum fi_datatype datatype, enum fi_op op, void *context)
{
    PORT_CALL("fi_compare_atomicv");
    if (iov == NULL || count != 1 || comparev == NULL || compare_count != 1 || resultv == NULL ||
        result_count != 1)
        return -FI_EINVAL;
    return amo_compwrite(fid, iov->addr, iov->count, NULL, comparev->addr, NULL, resultv->addr,
                         first_desc(result_desc), dest_addr, addr, key, datatype, op, context);
}

/* The common part of the three calls with a message. */
static int from_message(struct gnip_ep *ep, struct atomic *wanted, const struct fi_msg_atomic *msg,
                        const struct fi_ioc *compare, uint64_t flags)
{
    bool reads = msg != NULL && wanted->form == GNIP_AMO_FETCHING && msg->op == FI_ATOMIC_READ;

    if (flags & ~(wanted->form == GNIP_AMO_PLAIN ? PLAIN_FLAGS : FETCH_FLAGS))
        return -FI_EINVAL;
    if (msg == NULL || msg->rma_iov == NULL || msg->rma_iov_count != 1 ||
        (!reads && (msg->msg_iov == NULL || msg->iov_count != 1)))
        return -FI_EINVAL;
    wanted->peer = msg->addr;
    wanted->remote = msg->rma_iov->addr;
    wanted->key = msg->rma_iov->key;
    wanted->context = msg->context;
    wanted->flags = gnip_tx_flags(ep, flags);
    return prepare(wanted, msg->datatype, msg->op,
                   reads ? msg->rma_iov->count : msg->msg_iov->count,
                   reads ? NULL : msg->msg_iov->addr, compare != NULL ? compare->addr : NULL);
}

static ssize_t amo_writemsg(struct fid_ep *fid, const struct fi_msg_atomic *msg, uint64_t flags)
{
    PORT_CALL("fi_atomicmsg");
    struct gnip_ep *ep = gnip_ep_of(fid);
    struct atomic wanted = {.form = GNIP_AMO_PLAIN};
    int rc = from_message(ep, &wanted, msg, NULL, flags);

    return rc != 0 ? rc : start(ep, &wanted);
}

static ssize_t amo_readwritemsg(struct fid_ep *fid, const struct fi_msg_atomic *msg,
                                struct fi_ioc *resultv, void **result_desc, size_t result_count,
                                uint64_t flags)
{
    PORT_CALL("fi_fetch_atomicmsg");
    struct gnip_ep *ep = gnip_ep_of(fid);
    struct atomic wanted = {.form = GNIP_AMO_FETCHING};
    int rc;

    if (resultv == NULL || result_count != 1)
        return -FI_EINVAL;
    wanted.result = resultv->addr;
    wanted.result_mr = first_desc(result_desc);
    rc = from_message(ep, &wanted, msg, NULL, flags);
    return rc != 0 ? rc : start(ep, &wanted);
}

static ssize_t amo_compwritemsg(struct fid_ep *fid, const struct fi_msg_atomic *msg,
                                const struct fi_ioc *comparev, void **compare_desc,
                                size_t compare_count, struct fi_ioc *resultv, void **result_desc,
                                size_t result_count, uint64_t flags)
{
    PORT_CALL("fi_compare_atomicmsg");
    struct gnip_ep *ep = gnip_ep_of(fid);
    struct atomic wanted = {.form = GNIP_AMO_COMPARING};
    int rc;

    if (comparev == NULL || compare_count != 1 || resultv == NULL || result_count != 1)
        return -FI_EINVAL;
    wanted.result = resultv->addr;
    wanted.result_mr = first_desc(result_desc);
    rc = from_message(ep, &wanted, msg, comparev, flags);
    return rc != 0 ? rc : start(ep, &wanted);
}

const struct fi_ops_atomic gnip_atomic_ops = {
    .size = sizeof(struct fi_ops_atomic),
    .write = amo_write,
    .writev = amo_writev,
    .writemsg = amo_writemsg,
    .inject = amo_inject,
    .readwrite = amo_readwrite,
    .readwritev = amo_readwritev,
    .readwritemsg = amo_readwritemsg,
    .compwrite = amo_compwrite,
    .compwritev = amo_compwritev,
    .compwritemsg = amo_compwritemsg,
    .writevalid = gnip_amo_plain_valid,
    .readwritevalid = gnip_amo_fetching_valid,
    .compwritevalid = gnip_amo_comparing_valid,
};

/* ---- atomics without a name in libfabric ----------------------------------------------------- */

ssize_t gnip_native_amo(struct fid_ep *fid, const void *buf, size_t count, void *desc, void *result,
                        void *result_desc, fi_addr_t dest_addr, uint64_t addr, uint64_t key,
                        enum fi_datatype datatype, int req_type, void *context)
{
    static const uint16_t commands[] = {GNI_FMA_ATOMIC2_AX, GNI_FMA_ATOMIC2_AX_S,
                                        GNI_FMA_ATOMIC2_FAX, GNI_FMA_ATOMIC2_FAX_S};
    struct gnip_ep *ep = gnip_ep_of(fid);
    struct atomic wanted = {.result = result,
                            .result_mr = result_desc,
                            .peer = dest_addr,
                            .remote = addr,
                            .key = key,
                            .flags = default_flags(ep, FETCH_FLAGS),
                            .context = context};
    enum gnip_amo_operand operand = GNIP_AMO_INTEGER;

    if (req_type < GNIX_NAMO_AX || req_type > GNIX_NAMO_FAX_S || buf == NULL || count != 1)
        return -FI_EINVAL;
    wanted.form = req_type >= GNIX_NAMO_FAX ? GNIP_AMO_FETCHING : GNIP_AMO_PLAIN;
    wanted.width = req_type == GNIX_NAMO_AX_S || req_type == GNIX_NAMO_FAX_S ? 4 : 8;
    if (gnip_amo_width(datatype, &operand) != wanted.width)
        return -FI_EINVAL;
    wanted.command = commands[req_type - GNIX_NAMO_AX];
    memcpy(wanted.operand, buf, sizeof(wanted.operand));
    return start(ep, &wanted);
}
