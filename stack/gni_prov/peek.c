/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * fi_trecvmsg with FI_PEEK, FI_CLAIM or FI_DISCARD: reports the first message that such a receive
 * would get, keeps it for a later call with the same context, or drops it.
 */
#include "cq.h"
#include "ep.h"
#include "gnip.h"
#include "lock.h"
#include "match.h"
#include "message.h"
#include "proto.h"
#include "req.h"
#include "vc.h"

#define SELECT (FI_PEEK | FI_CLAIM)
#define PEEK_FLAGS (FI_PEEK | FI_CLAIM | FI_DISCARD)

static uint64_t entry_flags(uint64_t flags)
{
    return FI_MSG | FI_RECV | FI_TAGGED | (flags & PEEK_FLAGS);
}

static void none(struct gnip_req *req, const struct fi_msg_tagged *msg)
{
    struct fi_cq_err_entry entry = {
        .op_context = req->context,
        .flags = entry_flags(req->flags),
        .len = req->bytes,
        .buf = req->buffer_count == 0 ? NULL : req->buffers[0].address,
        .tag = msg->tag,
        .olen = req->bytes,
        .err = FI_ENOMSG,
        .prov_errno = FI_ENOMSG,
    };

    gnip_req_fail(req, &entry);
}

/* Formats without `buf` could not report where the bytes are. */
static bool can_copy(const struct gnip_req *req, const struct gnip_unexpected *message)
{
    const struct gnip_cq *cq = req->ep->recv_cq;

    return cq != NULL && cq->format != FI_CQ_FORMAT_CONTEXT && cq->format != FI_CQ_FORMAT_MSG &&
           !message->rendezvous && req->bytes != 0 && !(req->flags & FI_DISCARD);
}

static void found(struct gnip_req *req, struct gnip_unexpected *message)
{
    struct gnip_ep *ep = req->ep;
    struct fi_cq_tagged_entry entry = {
        .op_context = req->context,
        .flags = entry_flags(req->flags),
        .tag = message->tag,
    };
    fi_addr_t source = FI_ADDR_NOTAVAIL;

    if (message->wire_flags & GNIP_W_CQ_DATA) {
        entry.flags |= FI_REMOTE_CQ_DATA;
        entry.data = message->data;
    }
    if (!(req->flags & FI_DISCARD))
        entry.len = message->bytes;
    if (can_copy(req, message)) {
        gnip_recv_copy(req, message->payload, message->bytes);
        port_spend(PORT_COST_COPY, message->bytes < req->bytes ? message->bytes : req->bytes);
        entry.buf = req->buffers[0].address;
    }
    req->vc = message->vc;
    if (ep->source)
        source = message->vc != NULL ? gnip_vc_source(message->vc) : message->source;
    if (req->flags & FI_DISCARD) {
        gnip_unexpected_discard(ep, message);
    } else if (req->flags & FI_CLAIM) {
        message->claimed = true;
        message->claimer = req->context;
    }
    gnip_req_complete(req, &entry, source);
}

/* ep->lock is held. */
static ssize_t peek(struct gnip_ep *ep, const struct fi_msg_tagged *msg, uint64_t flags)
{
    struct gnip_unexpected *message = NULL;
    bool claimed = !(flags & FI_PEEK);
    struct gnip_req *req;

    gnip_assert_held(&ep->lock);
    if (claimed) {
        message = gnip_match_claimed(ep->tagged, msg->context);
        if (message == NULL)
            return -FI_EINVAL;
    }
    /*
     * The receive of a claimed message is an ordinary one; the other calls always report the
     * message.
     */
    flags |= FI_TAGGED | (claimed && !(flags & FI_DISCARD) && ep->rx_selective ? 0 : FI_COMPLETION);
    req = gnip_recv_new(ep, msg->msg_iov, msg->desc, msg->iov_count, msg->context, flags);
    if (req == NULL)
        return -FI_EAGAIN;
    port_spend(PORT_COST_POST, 1);
    req->tag = msg->tag;
    if (claimed && !(flags & FI_DISCARD)) {
        gnip_unexpected_receive(req, message);
        return 0;
    }
    if (!claimed)
        message = gnip_match_find(ep->tagged, msg->tag, msg->ignore,
                                  ep->directed ? msg->addr : FI_ADDR_UNSPEC);
    if (message == NULL)
        none(req, msg);
    else
        found(req, message);
    return 0;
}

ssize_t gnip_peek(struct gnip_ep *ep, const struct fi_msg_tagged *msg, uint64_t flags)
{
    ssize_t rc = gnip_ep_may(ep, FI_TAGGED | FI_RECV);

    if (rc != 0)
        return rc;
    if (!(flags & SELECT) || ((flags & FI_CLAIM) && msg->context == NULL) ||
        msg->iov_count > GNIP_IOV || (msg->iov_count > 0 && msg->msg_iov == NULL))
        return -FI_EINVAL;
    gnip_lock(&ep->lock);
    rc = peek(ep, msg, flags);
    gnip_unlock(&ep->lock);
    return rc == -FI_EAGAIN ? gnip_ep_wait_for_room(ep) : rc;
}
