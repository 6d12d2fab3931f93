/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Reads and writes: libfabric's functions, up to the request. The rest is in rma_post.c. */
#include "call_trace.h"
#include "cntr.h"
#include "domain.h"
#include "ep.h"
#include "findings.h"
#include "gnip.h"
#include "lock.h"
#include "message.h"
#include "mr.h"
#include "onesided.h"
#include "req.h"
#include "rma.h"
#include "vc.h"

#define COMMON_FLAGS                                                                  \
    ((uint64_t)(FI_COMPLETION | FI_MORE | FI_FENCE | FI_TRIGGER | FI_REMOTE_CQ_DATA | \
                FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE))
#define WRITE_FLAGS (COMMON_FLAGS | FI_INJECT)
#define READ_FLAGS COMMON_FLAGS
#define FMA_MAX (1u << 20) /* bytes of a write whose source could not be registered */

/* ---- accepting ------------------------------------------------------------------------------- */

struct transfer {
    void *address;
    uint64_t bytes;
    struct gnip_mr *mr;
    fi_addr_t peer;
    uint64_t remote, key, data, flags;
    void *context;
};

/* Whether the NIC accesses the buffer, so that it must be registered. */
static bool needs_registration(const struct gnip_ep *ep, enum gnip_req_kind kind,
                               const struct transfer *wanted)
{
    if (wanted->bytes == 0 || (wanted->flags & FI_INJECT))
        return false;
    if (kind == GNIP_REQ_WRITE)
        return wanted->bytes >= ep->domain->params.rma_rdma_threshold;
    if (gnip_rma_odd(wanted->remote, wanted->bytes))
        return wanted->bytes >= GNIP_INDIRECT_MAX;
    return wanted->mr != NULL || wanted->bytes > GNIP_BOUNCE;
}

static gnip_noinline int attach(struct gnip_req *req, const struct transfer *wanted)
{
    struct gnip_buffer *buffer = &req->buffers[0];
    bool writes = req->kind == GNIP_REQ_WRITE;
    int rc;

    if (wanted->mr != NULL &&
        gnip_mr_serves(req->ep, wanted->mr, buffer->address, buffer->bytes, !writes)) {
        gnip_mr_use(wanted->mr);
        buffer->mr = wanted->mr;
    } else {
        rc = gnip_mr_auto(req->ep, buffer->address, buffer->bytes, !writes, &buffer->mr);
        if (rc == -FI_EAGAIN && writes && buffer->bytes <= FMA_MAX)
            return 0; /* the CPU copies it */
        if (rc != 0)
            return rc;
    }
    buffer->own_mr = true;
    return 0;
}

/* ep->lock is held. */
static int accept(struct gnip_ep *ep, enum gnip_req_kind kind, const struct transfer *wanted)
{
    struct gnip_req *req;
    struct gnip_vc *vc;
    int rc = gnip_vc_find(ep, wanted->peer, &vc);

    gnip_assert_held(&ep->lock);
    if (rc != 0)
        return rc;
    req = gnip_req_get(ep, kind, gnip_req_is_named(wanted->flags, wanted->context));
    if (gnip_unlikely(req == NULL))
        return -FI_EAGAIN;
    req->vc = vc;
    req->context = wanted->context;
    req->flags = wanted->flags;
    req->issue = gnip_rma_issue;
    req->dropped = gnip_onesided_dropped;
    req->data = wanted->data;
    req->bytes = wanted->bytes;
    req->u.rma.remote_address = wanted->remote;
    req->u.rma.remote_key = wanted->key;
    req->buffer_count = 1;
    req->buffers[0].address = wanted->address;
    req->buffers[0].bytes = wanted->bytes;
    if (wanted->bytes > 0 && (wanted->flags & FI_INJECT)) {
        memcpy(req->inject, wanted->address, wanted->bytes);
        port_spend(PORT_COST_COPY, wanted->bytes);
    } else if (needs_registration(ep, kind, wanted)) {
        rc = attach(req, wanted);
    }
    if (gnip_unlikely(rc != 0)) {
        gnip_req_put(req);
        return rc;
    }
    if (gnip_unlikely(ep->checks) && kind == GNIP_REQ_WRITE && !(wanted->flags & FI_INJECT))
        gnip_findings_watch(req);
    port_spend(PORT_COST_RMA, 1);
    gnip_onesided_submit(req);
    return 0;
}

static ssize_t start(struct gnip_ep *ep, enum gnip_req_kind kind, const struct transfer *wanted)
{
    int rc = gnip_ep_may(ep, FI_RMA | (kind == GNIP_REQ_WRITE ? FI_WRITE : FI_READ) |
                                 gnip_reports_nothing(wanted->flags));

    if (gnip_unlikely(rc != 0))
        return rc;
    if (gnip_unlikely(wanted->bytes > GNIP_MESSAGE_MAX ||
                      (wanted->address == NULL && wanted->bytes > 0) ||
                      ((wanted->flags & FI_INJECT) && wanted->bytes > GNIP_INJECT)))
        return -FI_EINVAL;
    if (gnip_unlikely(wanted->flags & FI_TRIGGER)) {
        rc = gnip_trigger_check(ep, wanted->context, wanted->flags);
        if (rc != 0)
            return rc;
    }
    if (gnip_unlikely(port_tracing()))
        gnip_trace_rma(wanted->bytes, wanted->peer, wanted->key);
    gnip_lock(&ep->lock);
    rc = accept(ep, kind, wanted);
    gnip_unlock(&ep->lock);
    return gnip_traced(gnip_unlikely(rc == -FI_EAGAIN) ? gnip_ep_wait_for_room(ep) : rc);
}

/* ---- libfabric's functions ------------------------------------------------------------------- */

#define DEFAULT_FLAGS(ep, mask) (gnip_tx_flags(ep, (ep)->tx_flags) & (mask))

static ssize_t rma_read(struct fid_ep *fid, void *buf, size_t len, void *desc, fi_addr_t src_addr,
                        uint64_t addr, uint64_t key, void *context)
{
    PORT_CALL("fi_read");
    struct gnip_ep *ep = gnip_ep_of(fid);

    return start(ep, GNIP_REQ_READ,
                 &(struct transfer){.address = buf,
                                    .bytes = len,
                                    .mr = desc,
                                    .peer = src_addr,
                                    .remote = addr,
                                    .key = key,
                                    .flags = DEFAULT_FLAGS(ep, READ_FLAGS),
                                    .context = context});
}

static ssize_t rma_readv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
                         fi_addr_t src_addr, uint64_t addr, uint64_t key, void *context)
{
    PORT_CALL("fi_readv");
    if (count != 1 || iov == NULL)
        return -FI_EINVAL;
    return rma_read(fid, iov->iov_base, iov->iov_len, desc != NULL ? desc[0] : NULL, src_addr, addr,
                    key, context);
}

static ssize_t post_message(struct gnip_ep *ep, enum gnip_req_kind kind,
                            const struct fi_msg_rma *msg, uint64_t flags)
{
    struct transfer wanted = {0};

    if (msg == NULL || msg->iov_count > 1 || msg->rma_iov_count > 1 ||
        (msg->iov_count == 1 && (msg->msg_iov == NULL || msg->rma_iov_count == 0)) ||
        (msg->rma_iov_count == 1 && msg->rma_iov == NULL))
        return -FI_EINVAL;
    if (msg->iov_count == 1) {
        wanted.address = msg->msg_iov->iov_base;
        wanted.bytes = msg->msg_iov->iov_len;
        wanted.mr = msg->desc != NULL ? msg->desc[0] : NULL;
    }
    if (msg->rma_iov_count == 1) {
        wanted.remote = msg->rma_iov->addr;
        wanted.key = msg->rma_iov->key;
    }
    wanted.peer = msg->addr;
    wanted.data = msg->data;
    wanted.context = msg->context;
    wanted.flags = gnip_tx_flags(ep, flags);
    return start(ep, kind, &wanted);
}

static ssize_t rma_readmsg(struct fid_ep *fid, const struct fi_msg_rma *msg, uint64_t flags)
{
    PORT_CALL("fi_readmsg");
    if (flags & ~READ_FLAGS)
        return -FI_EINVAL;
    return post_message(gnip_ep_of(fid), GNIP_REQ_READ, msg, flags);
}

static ssize_t put(struct fid_ep *fid, const void *buf, size_t len, void *desc, uint64_t data,
                   uint64_t flags, fi_addr_t dest_addr, uint64_t addr, uint64_t key, void *context)
{
    return start(gnip_ep_of(fid), GNIP_REQ_WRITE,
                 &(struct transfer){.address = (void *)(uintptr_t)buf,
                                    .bytes = len,
                                    .mr = desc,
                                    .peer = dest_addr,
                                    .remote = addr,
                                    .key = key,
                                    .data = data,
                                    .flags = flags,
                                    .context = context});
}

static ssize_t rma_write(struct fid_ep *fid, const void *buf, size_t len, void *desc,
                         fi_addr_t dest_addr, uint64_t addr, uint64_t key, void *context)
{
    PORT_CALL("fi_write");
    return put(fid, buf, len, desc, 0, DEFAULT_FLAGS(gnip_ep_of(fid), WRITE_FLAGS), dest_addr, addr,
               key, context);
}

static ssize_t rma_writev(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
                          fi_addr_t dest_addr, uint64_t addr, uint64_t key, void *context)
{
    PORT_CALL("fi_writev");
    if (count != 1 || iov == NULL)
        return -FI_EINVAL;
    return rma_write(fid, iov->iov_base, iov->iov_len, desc != NULL ? desc[0] : NULL, dest_addr,
                     addr, key, context);
}

static ssize_t rma_writemsg(struct fid_ep *fid, const struct fi_msg_rma *msg, uint64_t flags)
{
    PORT_CALL("fi_writemsg");
    if (flags & ~WRITE_FLAGS)
        return -FI_EINVAL;
    return post_message(gnip_ep_of(fid), GNIP_REQ_WRITE, msg, flags);
}

static ssize_t rma_writedata(struct fid_ep *fid, const void *buf, size_t len, void *desc,
                             uint64_t data, fi_addr_t dest_addr, uint64_t addr, uint64_t key,
                             void *context)
{
    PORT_CALL("fi_writedata");
    return put(fid, buf, len, desc, data,
               DEFAULT_FLAGS(gnip_ep_of(fid), WRITE_FLAGS) | FI_REMOTE_CQ_DATA, dest_addr, addr,
               key, context);
}

static ssize_t rma_inject(struct fid_ep *fid, const void *buf, size_t len, fi_addr_t dest_addr,
                          uint64_t addr, uint64_t key)
{
    PORT_CALL("fi_inject_write");
    return put(fid, buf, len, NULL, 0, FI_INJECT, dest_addr, addr, key, NULL);
}

static ssize_t rma_injectdata(struct fid_ep *fid, const void *buf, size_t len, uint64_t data,
                              fi_addr_t dest_addr, uint64_t addr, uint64_t key)
{
    PORT_CALL("fi_inject_writedata");
    return put(fid, buf, len, NULL, data, FI_INJECT | FI_REMOTE_CQ_DATA, dest_addr, addr, key,
               NULL);
}

const struct fi_ops_rma gnip_rma_ops = {
    .size = sizeof(struct fi_ops_rma),
    .read = rma_read,
    .readv = rma_readv,
    .readmsg = rma_readmsg,
    .write = rma_write,
    .writev = rma_writev,
    .writemsg = rma_writemsg,
    .inject = rma_inject,
    .writedata = rma_writedata,
    .injectdata = rma_injectdata,
};
