/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* fi_send, fi_recv and the other calls for messages, tagged and untagged. */
#include "call_trace.h"
#include "cntr.h"
#include "ep.h"
#include "findings.h"
#include "gnip.h"
#include "lock.h"
#include "match.h"
#include "message.h"
#include "req.h"
#include "vc.h"

#define LEVELS (FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE)
#define SEND_FLAGS \
    (FI_REMOTE_CQ_DATA | FI_COMPLETION | FI_MORE | FI_INJECT | LEVELS | FI_FENCE | FI_TRIGGER)
#define RECV_FLAGS (FI_COMPLETION | FI_MORE | FI_MULTI_RECV)
#define PEEK_FLAGS (FI_PEEK | FI_CLAIM | FI_DISCARD)

/* ---- sending --------------------------------------------------------------------------------- */

static inline bool sum(const struct iovec *iov, size_t count, uint64_t *bytes)
{
    uint64_t total = 0;
    size_t i;

    if (gnip_unlikely(count > GNIP_IOV || (count > 0 && iov == NULL)))
        return false;
    for (i = 0; i < count; i++) {
        if (gnip_unlikely(iov[i].iov_len > GNIP_MESSAGE_MAX))
            return false;
        total += iov[i].iov_len;
    }
    *bytes = total;
    return total <= GNIP_MESSAGE_MAX;
}

static inline void set_buffers(struct gnip_req *req, const struct iovec *iov, void **desc,
                               size_t count)
{
    struct gnip_buffer *buffer = req->buffers;
    size_t i;

    for (i = 0; i < count; i++, buffer++) {
        buffer->address = iov[i].iov_base;
        buffer->bytes = iov[i].iov_len;
        buffer->mr = desc == NULL ? NULL : desc[i];
        buffer->own_mr = false;
    }
    req->buffer_count = (uint8_t)count;
}

static void copy_inject(struct gnip_req *req, const struct iovec *iov, size_t count)
{
    uint8_t *to = req->inject;
    size_t i;

    for (i = 0; i < count; i++) {
        if (iov[i].iov_len != 0)
            memcpy(to, iov[i].iov_base, iov[i].iov_len);
        to += iov[i].iov_len;
    }
    req->buffers[0].address = req->inject;
    req->buffers[0].bytes = req->bytes;
    req->buffers[0].mr = NULL;
    req->buffer_count = 1;
    if (req->bytes != 0)
        port_spend(PORT_COST_COPY, req->bytes);
}

/* flags: the effective ones of the operation; with FI_TAGGED for a tagged one. */
static inline __attribute__((always_inline)) ssize_t
send_any(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count, fi_addr_t peer,
         uint64_t tag, uint64_t data, void *context, uint64_t flags)
{
    struct gnip_ep *ep = gnip_ep_of(fid);
    struct gnip_req *req = NULL;
    struct gnip_vc *vc = NULL;
    uint64_t bytes;
    int rc = gnip_ep_may(ep, FI_SEND | (flags & FI_TAGGED ? FI_TAGGED : FI_MSG) |
                                 gnip_reports_nothing(flags));

    if (gnip_unlikely(rc != 0))
        return rc;
    if (gnip_unlikely(!sum(iov, count, &bytes) || ((flags & FI_INJECT) && bytes > GNIP_INJECT) ||
                      gnip_trigger_check(ep, context, flags) != 0))
        return -FI_EINVAL;
    if (gnip_unlikely(port_tracing()))
        gnip_trace_message(bytes, peer, tag, flags);
    gnip_lock(&ep->lock);
    rc = gnip_vc_find(ep, peer, &vc);
    if (gnip_likely(rc == 0))
        req = gnip_req_get(ep, GNIP_REQ_SEND, gnip_req_is_named(flags, context));
    if (gnip_unlikely(req == NULL)) {
        gnip_unlock(&ep->lock);
        return rc == 0 || rc == -FI_EAGAIN ? gnip_ep_wait_for_room(ep) : rc;
    }
    req->vc = vc;
    req->context = context;
    req->flags = flags;
    req->issue = gnip_eager_issue;
    req->data = flags & FI_REMOTE_CQ_DATA ? data : 0;
    req->tag = tag;
    req->bytes = bytes;
    if (flags & FI_INJECT)
        copy_inject(req, iov, count);
    else
        set_buffers(req, iov, desc, count);
    if (gnip_unlikely(ep->checks) && !(flags & FI_INJECT))
        gnip_findings_watch(req);
    port_spend(PORT_COST_SEND, 1);
    gnip_vc_submit(vc, req);
    gnip_unlock(&ep->lock);
    return 0;
}

/* The flags of a call, with the EP's completion level if they name none. */
static uint64_t with_defaults(const struct gnip_ep *ep, uint64_t flags)
{
    if (!(flags & LEVELS))
        flags |= ep->tx_flags & LEVELS;
    return gnip_tx_flags(ep, flags);
}

static uint64_t inject_flags(const struct gnip_ep *ep)
{
    return (ep->tx_flags & LEVELS) | FI_INJECT;
}

static ssize_t msg_send(struct fid_ep *fid, const void *buf, size_t len, void *desc, fi_addr_t peer,
                        void *context)
{
    PORT_CALL("fi_send");
    struct iovec iov = {(void *)(uintptr_t)buf, len};

    return gnip_traced(
        send_any(fid, &iov, &desc, 1, peer, 0, 0, context, gnip_ep_of(fid)->tx_flags));
}

static ssize_t msg_sendv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
                         fi_addr_t peer, void *context)
{
    PORT_CALL("fi_sendv");
    if (count == 0) /* fi_send without a buffer sends an empty message */
        return -FI_EINVAL;
    return gnip_traced(
        send_any(fid, iov, desc, count, peer, 0, 0, context, gnip_ep_of(fid)->tx_flags));
}

static ssize_t msg_sendmsg(struct fid_ep *fid, const struct fi_msg *msg, uint64_t flags)
{
    PORT_CALL("fi_sendmsg");
    if (msg == NULL || (flags & ~(uint64_t)SEND_FLAGS))
        return -FI_EINVAL;
    return gnip_traced(send_any(fid, msg->msg_iov, msg->desc, msg->iov_count, msg->addr, 0,
                                msg->data, msg->context, with_defaults(gnip_ep_of(fid), flags)));
}

static ssize_t msg_inject(struct fid_ep *fid, const void *buf, size_t len, fi_addr_t peer)
{
    PORT_CALL("fi_inject");
    struct iovec iov = {(void *)(uintptr_t)buf, len};

    return gnip_traced(
        send_any(fid, &iov, NULL, 1, peer, 0, 0, NULL, inject_flags(gnip_ep_of(fid))));
}

static ssize_t msg_senddata(struct fid_ep *fid, const void *buf, size_t len, void *desc,
                            uint64_t data, fi_addr_t peer, void *context)
{
    PORT_CALL("fi_senddata");
    struct iovec iov = {(void *)(uintptr_t)buf, len};

    return gnip_traced(send_any(fid, &iov, &desc, 1, peer, 0, data, context,
                                gnip_ep_of(fid)->tx_flags | FI_REMOTE_CQ_DATA));
}

static ssize_t msg_injectdata(struct fid_ep *fid, const void *buf, size_t len, uint64_t data,
                              fi_addr_t peer)
{
    PORT_CALL("fi_injectdata");
    struct iovec iov = {(void *)(uintptr_t)buf, len};

    return gnip_traced(send_any(fid, &iov, NULL, 1, peer, 0, data, NULL,
                                inject_flags(gnip_ep_of(fid)) | FI_REMOTE_CQ_DATA));
}

static ssize_t tagged_send(struct fid_ep *fid, const void *buf, size_t len, void *desc,
                           fi_addr_t peer, uint64_t tag, void *context)
{
    PORT_CALL("fi_tsend");
    struct iovec iov = {(void *)(uintptr_t)buf, len};

    return gnip_traced(send_any(fid, &iov, &desc, 1, peer, tag, 0, context,
                                gnip_ep_of(fid)->tx_flags | FI_TAGGED));
}

static ssize_t tagged_sendv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
                            fi_addr_t peer, uint64_t tag, void *context)
{
    PORT_CALL("fi_tsendv");
    if (count == 0)
        return -FI_EINVAL;
    return gnip_traced(send_any(fid, iov, desc, count, peer, tag, 0, context,
                                gnip_ep_of(fid)->tx_flags | FI_TAGGED));
}

static ssize_t tagged_sendmsg(struct fid_ep *fid, const struct fi_msg_tagged *msg, uint64_t flags)
{
    PORT_CALL("fi_tsendmsg");
    if (msg == NULL || (flags & ~(uint64_t)SEND_FLAGS))
        return -FI_EINVAL;
    return gnip_traced(send_any(fid, msg->msg_iov, msg->desc, msg->iov_count, msg->addr, msg->tag,
                                msg->data, msg->context,
                                with_defaults(gnip_ep_of(fid), flags) | FI_TAGGED));
}

static ssize_t tagged_inject(struct fid_ep *fid, const void *buf, size_t len, fi_addr_t peer,
                             uint64_t tag)
{
    PORT_CALL("fi_tinject");
    struct iovec iov = {(void *)(uintptr_t)buf, len};

    return gnip_traced(send_any(fid, &iov, NULL, 1, peer, tag, 0, NULL,
                                inject_flags(gnip_ep_of(fid)) | FI_TAGGED));
}

static ssize_t tagged_senddata(struct fid_ep *fid, const void *buf, size_t len, void *desc,
                               uint64_t data, fi_addr_t peer, uint64_t tag, void *context)
{
    PORT_CALL("fi_tsenddata");
    struct iovec iov = {(void *)(uintptr_t)buf, len};

    return gnip_traced(send_any(fid, &iov, &desc, 1, peer, tag, data, context,
                                gnip_ep_of(fid)->tx_flags | FI_TAGGED | FI_REMOTE_CQ_DATA));
}

static ssize_t tagged_injectdata(struct fid_ep *fid, const void *buf, size_t len, uint64_t data,
                                 fi_addr_t peer, uint64_t tag)
{
    PORT_CALL("fi_tinjectdata");
    struct iovec iov = {(void *)(uintptr_t)buf, len};

    return gnip_traced(send_any(fid, &iov, NULL, 1, peer, tag, data, NULL,
                                inject_flags(gnip_ep_of(fid)) | FI_TAGGED | FI_REMOTE_CQ_DATA));
}

/* ---- receiving ------------------------------------------------------------------------------- */

struct gnip_req *gnip_recv_new(struct gnip_ep *ep, const struct iovec *iov, void **desc,
                               size_t count, void *context, uint64_t flags)
{
    struct gnip_req *req = gnip_req_get(ep, GNIP_REQ_RECV, true);
    size_t i;

    gnip_assert_held(&ep->lock);
    if (gnip_unlikely(req == NULL))
        return NULL;
    req->context = context;
    req->flags = flags;
    for (i = 0; i < count; i++)
        req->bytes += iov[i].iov_len;
    set_buffers(req, iov, desc, count);
    return req;
}

static void post(struct gnip_ep *ep, struct gnip_req *req, struct gnip_match *match)
{
    struct gnip_unexpected *message = NULL;

    req->posted = true;
    if (gnip_unlikely(req->flags & FI_MULTI_RECV)) {
        gnip_req_init_cold(req);
        req->multi = true;
        gnip_match_post(match, &req->post);
        gnip_mrecv_fill(req);
        return;
    }
    /* While older untagged messages wait for an older buffer, this receive must wait, too. */
    if (gnip_likely(match == ep->tagged || !ep->mrecv_stalled || gnip_mrecv_retry(ep)))
        message = gnip_match_find(match, req->post.tag, req->post.ignore, req->post.source);
    if (message == NULL) {
        gnip_match_post(match, &req->post);
        return;
    }
    req->posted = false;
    gnip_unexpected_receive(req, message);
}

static inline __attribute__((always_inline)) ssize_t
recv_any(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count, fi_addr_t source,
         uint64_t tag, uint64_t ignore, void *context, uint64_t flags)
{
    struct gnip_ep *ep = gnip_ep_of(fid);
    struct gnip_req *req;
    uint64_t bytes;
    int rc = gnip_ep_may(ep, flags & FI_TAGGED ? FI_TAGGED | FI_RECV : FI_MSG | FI_RECV);

    if (gnip_unlikely(rc != 0))
        return rc;
    if (gnip_unlikely(count > GNIP_IOV || (count > 0 && iov == NULL) ||
                      ((flags & FI_MULTI_RECV) && count != 1)))
        return -FI_EINVAL;
    if (gnip_unlikely(port_tracing()) && sum(iov, count, &bytes))
        gnip_trace_message(bytes, source, tag, flags);
    gnip_lock(&ep->lock);
    req = gnip_recv_new(ep, iov, desc, count, context, flags);
    if (gnip_unlikely(req == NULL)) {
        gnip_unlock(&ep->lock);
        return gnip_ep_wait_for_room(ep);
    }
    req->tag = tag;
    req->post.tag = tag;
    req->post.ignore = ignore;
    req->post.source = ep->directed ? source : FI_ADDR_UNSPEC;
    port_spend(PORT_COST_POST, 1);
    post(ep, req, flags & FI_TAGGED ? ep->tagged : ep->untagged);
    gnip_unlock(&ep->lock);
    return 0;
}

static uint64_t rx_flags(const struct gnip_ep *ep, uint64_t flags)
{
    return flags | (ep->rx_selective ? 0 : FI_COMPLETION);
}

static ssize_t msg_recv(struct fid_ep *fid, void *buf, size_t len, void *desc, fi_addr_t source,
                        void *context)
{
    PORT_CALL("fi_recv");
    struct iovec iov = {buf, len};

    return gnip_traced(
        recv_any(fid, &iov, &desc, 1, source, 0, 0, context, gnip_ep_of(fid)->rx_flags));
}

static ssize_t msg_recvv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
                         fi_addr_t source, void *context)
{
    PORT_CALL("fi_recvv");
    return gnip_traced(
        recv_any(fid, iov, desc, count, source, 0, 0, context, gnip_ep_of(fid)->rx_flags));
}

static ssize_t msg_recvmsg(struct fid_ep *fid, const struct fi_msg *msg, uint64_t flags)
{
    PORT_CALL("fi_recvmsg");
    if (msg == NULL || (flags & ~(uint64_t)RECV_FLAGS))
        return -FI_EINVAL;
    return gnip_traced(recv_any(fid, msg->msg_iov, msg->desc, msg->iov_count, msg->addr, 0, 0,
                                msg->context, rx_flags(gnip_ep_of(fid), flags)));
}

static uint64_t tagged_flags(const struct gnip_ep *ep)
{
    return (ep->rx_flags & ~(uint64_t)FI_MULTI_RECV) | FI_TAGGED;
}

static ssize_t tagged_recv(struct fid_ep *fid, void *buf, size_t len, void *desc, fi_addr_t source,
                           uint64_t tag, uint64_t ignore, void *context)
{
    PORT_CALL("fi_trecv");
    struct iovec iov = {buf, len};

    return gnip_traced(
        recv_any(fid, &iov, &desc, 1, source, tag, ignore, context, tagged_flags(gnip_ep_of(fid))));
}

static ssize_t tagged_recvv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
                            fi_addr_t source, uint64_t tag, uint64_t ignore, void *context)
{
    PORT_CALL("fi_trecvv");
    return gnip_traced(recv_any(fid, iov, desc, count, source, tag, ignore, context,
                                tagged_flags(gnip_ep_of(fid))));
}

static ssize_t tagged_recvmsg(struct fid_ep *fid, const struct fi_msg_tagged *msg, uint64_t flags)
{
    PORT_CALL("fi_trecvmsg");
    struct gnip_ep *ep = gnip_ep_of(fid);

    /* There is no tagged multi-receive. */
    if (msg == NULL || (flags & ~(uint64_t)(RECV_FLAGS | PEEK_FLAGS)) || (flags & FI_MULTI_RECV))
        return -FI_EINVAL;
    if (flags & PEEK_FLAGS)
        return gnip_peek(ep, msg, flags);
    return gnip_traced(recv_any(fid, msg->msg_iov, msg->desc, msg->iov_count, msg->addr, msg->tag,
                                msg->ignore, msg->context, rx_flags(ep, flags) | FI_TAGGED));
}

const struct fi_ops_msg gnip_msg_ops = {
    .size = sizeof(struct fi_ops_msg),
    .recv = msg_recv,
    .recvv = msg_recvv,
    .recvmsg = msg_recvmsg,
    .send = msg_send,
    .sendv = msg_sendv,
    .sendmsg = msg_sendmsg,
    .inject = msg_inject,
    .senddata = msg_senddata,
    .injectdata = msg_injectdata,
};

const struct fi_ops_tagged gnip_tagged_ops = {
    .size = sizeof(struct fi_ops_tagged),
    .recv = tagged_recv,
    .recvv = tagged_recvv,
    .recvmsg = tagged_recvmsg,
    .send = tagged_send,
    .sendv = tagged_sendv,
    .sendmsg = tagged_sendmsg,
    .inject = tagged_inject,
    .senddata = tagged_senddata,
    .injectdata = tagged_injectdata,
};
