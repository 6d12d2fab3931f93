/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Multi-receive buffers. Each message uses a part at the front of what is left, and completes by
 * itself as a child with a request and a CQ entry of its own. The buffer leaves the store when less
 * than min_multi_recv is left. Its own completion, which says so, follows that of its last child.
 *
 * When there is no request or CQ entry for a child, the message waits in the unexpected store, and
 * so do all later ones, until gnip_mrecv_retry can continue.
 */
#include "ep.h"
#include "gnip.h"
#include "lock.h"
#include "match.h"
#include "message.h"
#include "req.h"
#include "vc.h"

static void unpost(struct gnip_req *parent)
{
    if (!parent->posted)
        return;
    gnip_match_unpost(parent->ep->untagged, &parent->post);
    parent->posted = false;
}

static void release(struct gnip_req *parent)
{
    struct fi_cq_tagged_entry entry = {
        .op_context = parent->context,
        .flags = FI_MULTI_RECV,
    };

    gnip_req_complete(parent, &entry, FI_ADDR_NOTAVAIL);
}

gnip_noinline struct gnip_req *gnip_mrecv_child(struct gnip_req *parent, uint64_t bytes)
{
    struct gnip_ep *ep = parent->ep;
    struct gnip_req *child = gnip_req_get_own(ep, GNIP_REQ_RECV);
    uint64_t left = parent->bytes - parent->u.recv.used;

    if (child == NULL)
        return NULL;
    gnip_req_init_cold(child);
    child->context = parent->context;
    child->flags = parent->flags & FI_COMPLETION;
    child->bytes = bytes < left ? bytes : left;
    child->buffer_count = 1;
    child->buffers[0].address = (uint8_t *)parent->buffers[0].address + parent->u.recv.used;
    child->buffers[0].bytes = child->bytes;
    child->buffers[0].mr = parent->buffers[0].mr;
    child->u.recv.parent = parent;
    parent->u.recv.children++;
    parent->u.recv.used += child->bytes;
    if (left - child->bytes < ep->min_multi_recv) {
        parent->u.recv.released = true;
        unpost(parent);
    }
    return child;
}

gnip_noinline void gnip_mrecv_child_done(struct gnip_req *parent)
{
    assert(parent->u.recv.children > 0);
    parent->u.recv.children--;
    if (parent->u.recv.released && parent->u.recv.children == 0)
        release(parent);
}

gnip_noinline void gnip_mrecv_fill(struct gnip_req *parent)
{
    struct gnip_ep *ep = parent->ep;
    struct gnip_unexpected *message;
    struct gnip_req *child;

    parent->u.recv.children++; /* keeps the buffer while it is being filled */
    if (ep->mrecv_stalled && !gnip_mrecv_retry(ep)) {
        gnip_mrecv_child_done(parent); /* the messages that were there have been received */
        return;
    }
    while (!parent->u.recv.released &&
           (message = gnip_match_find(ep->untagged, 0, 0, parent->post.source)) != NULL) {
        child = gnip_mrecv_child(parent, message->bytes);
        if (child == NULL) {
            ep->mrecv_stalled = true;
            if (message->vc != NULL)
                gnip_vc_schedule(message->vc);
            break;
        }
        gnip_unexpected_receive(child, message);
    }
    gnip_mrecv_child_done(parent);
}

/* Handles it as if the message arrived now. False: there is still no part for it. */
static bool arrive(struct gnip_ep *ep, struct gnip_unexpected *message)
{
    fi_addr_t source = message->vc != NULL ? gnip_vc_source(message->vc) : message->source;
    struct gnip_post *post = gnip_match_arrived(ep->untagged, message->tag, source);
    struct gnip_req *recv;

    if (post == NULL)
        return true;
    recv = gnip_req_of_post(post);
    if (recv->multi) {
        recv = gnip_mrecv_child(recv, message->bytes);
        if (recv == NULL)
            return false;
    } else {
        gnip_match_unpost(ep->untagged, post);
        recv->posted = false;
    }
    gnip_unexpected_receive(recv, message);
    return true;
}

gnip_noinline bool gnip_mrecv_retry(struct gnip_ep *ep)
{
    struct gnip_unexpected *message, *next;

    gnip_assert_held(&ep->lock);
    for (message = gnip_match_first(ep->untagged, NULL); message != NULL; message = next) {
        next = gnip_match_first(ep->untagged, message);
        if (arrive(ep, message))
            continue;
        if (message->vc != NULL)
            gnip_vc_schedule(message->vc);
        return false;
    }
    ep->mrecv_stalled = false;
    return true;
}
