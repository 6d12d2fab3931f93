/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The common begin and end of calls on an endpoint; its options; fi_cancel. */
#include "cm_nic.h"
#include "domain.h"
#include "ep.h"
#include "gnip.h"
#include "queue.h"
#include "lock.h"
#include "match.h"
#include "message.h"
#include "nic.h"
#include "nosys.h"
#include "req.h"
#include "vc.h"
#include "waitable.h"
#include "port/list.h"

static gnip_cold int refused(const struct gnip_ep *ep, uint64_t needs)
{
    uint64_t caps = needs & ~(uint64_t)FI_INJECT;

    if ((ep->caps & caps) != caps)
        return -FI_EOPNOTSUPP;
    return needs & FI_INJECT ? 0 : -FI_ENOCQ;
}

int gnip_ep_may(const struct gnip_ep *ep, uint64_t needs)
{
    bool receives = (needs & FI_RECV) != 0;
    int rc;

    if (gnip_unlikely(!(receives ? ep->rx_enabled : ep->tx_enabled)))
        return -FI_EOPBADSTATE;
    if (gnip_unlikely((ep->allowed & needs) != needs) && (rc = refused(ep, needs)) != 0)
        return rc;
    if (gnip_unlikely(ep->type == FI_EP_MSG && ep->conn_state != GNIP_CONNECTED) &&
        (!receives || ep->conn_state == GNIP_SHUTDOWN))
        return -FI_ENOTCONN;
    return gnip_unlikely(ep->domain->paused) ? -FI_EAGAIN : 0;
}

gnip_noinline ssize_t gnip_ep_wait_for_room(struct gnip_ep *ep)
{
    uint32_t polls = 0;

    gnip_waitable_idle(&ep->room); /* before polling: what is freed from now on wakes the caller */
    __atomic_store_n(&ep->wants_room, true, __ATOMIC_RELAXED);
    gnip_nic_progress(ep->nic, &polls);
    gnip_cm_nic_progress(ep->cm_nic, &polls);
    return -FI_EAGAIN;
}

/* ---- cancelling ------------------------------------------------------------------------------ */

static struct gnip_req *queued(struct gnip_vc *vc, const void *context)
{
    struct gnip_qlink *link;
    struct gnip_req *req;

    for (link = vc->tx_queue.head; link != NULL; link = link->next) {
        req = gnip_container(link, struct gnip_req, link);
        if (req->context == context && req->kind != GNIP_REQ_CONTROL)
            return req;
    }
    return NULL;
}

static int cancel_send(struct gnip_ep *ep, const void *context)
{
    struct port_link *link;
    struct gnip_req *req;
    struct gnip_vc *vc;

    for (link = ep->vcs.next; link != &ep->vcs; link = link->next) {
        vc = gnip_container(link, struct gnip_vc, ep_link);
        req = queued(vc, context);
        if (req == NULL || !gnip_vc_withdraw(vc, req))
            continue;
        gnip_req_drop(req, FI_ECANCELED);
        return 0;
    }
    return -FI_ENOENT;
}

static int cancel_receive(struct gnip_match *match, const void *context)
{
    struct gnip_post *post = NULL;
    struct gnip_req *req;

    while ((post = gnip_match_first_post(match, post)) != NULL) {
        req = gnip_req_of_post(post);
        if (req->context != context)
            continue;
        if (req->multi && req->u.recv.children != 0)
            return -FI_ENOENT;
        gnip_match_unpost(match, post);
        req->posted = false;
        gnip_req_error(req, FI_ECANCELED, FI_ECANCELED);
        return 0;
    }
    return -FI_ENOENT;
}

int gnip_ep_cancel(struct gnip_ep *ep, void *context)
{
    int rc;

    gnip_lock(&ep->lock);
    rc = cancel_send(ep, context);
    if (rc != 0 && ep->untagged != NULL)
        rc = cancel_receive(ep->untagged, context);
    if (rc != 0 && ep->tagged != NULL)
        rc = cancel_receive(ep->tagged, context);
    gnip_unlock(&ep->lock);
    return rc;
}

void gnip_ep_flush_receives(struct gnip_ep *ep, int error)
{
    struct gnip_match *matches[] = {ep->untagged, ep->tagged};
    struct gnip_post *post;
    struct gnip_req *req;
    unsigned i;

    gnip_assert_held(&ep->lock);
    for (i = 0; i < 2; i++) {
        while (matches[i] != NULL && (post = gnip_match_first_post(matches[i], NULL)) != NULL) {
            req = gnip_req_of_post(post);
            gnip_match_unpost(matches[i], post);
            req->posted = false;
            if (req->multi && req->u.recv.children != 0)
                req->u.recv.released = true; /* its last part ends the buffer */
            else
                gnip_req_error(req, error, error);
        }
    }
}

/* ---- options --------------------------------------------------------------------------------- */

static struct gnip_ep *ep_of(struct fid *fid)
{
    return gnip_ep_of(gnip_container(fid, struct fid_ep, fid));
}

static ssize_t cancel(fid_t fid, void *context)
{
    return gnip_ep_cancel(ep_of(fid), context);
}

static int get_option(fid_t fid, int level, int option, void *value, size_t *bytes)
{
    PORT_CALL("fi_getopt");
    struct gnip_ep *ep = ep_of(fid);
    size_t result;

    if (level != FI_OPT_ENDPOINT ||
        (option != FI_OPT_MIN_MULTI_RECV && option != FI_OPT_CM_DATA_SIZE))
        return -FI_ENOPROTOOPT;
    if (value == NULL || bytes == NULL)
        return -FI_EINVAL;
    /* Programs for libfabric's own provider do not set the length of this one. */
    if ((option != FI_OPT_MIN_MULTI_RECV || ep->domain->fabric->strict) && *bytes < sizeof result)
        return -FI_EINVAL;
    result = option == FI_OPT_CM_DATA_SIZE ? GNIP_CM_DATA_MAX : ep->min_multi_recv;
    memcpy(value, &result, sizeof result);
    *bytes = sizeof result;
    return 0;
}

static int set_option(fid_t fid, int level, int option, const void *value, size_t bytes)
{
    PORT_CALL("fi_setopt");
    struct gnip_ep *ep = ep_of(fid);
    size_t wanted;

    if (level != FI_OPT_ENDPOINT || option != FI_OPT_MIN_MULTI_RECV)
        return -FI_ENOPROTOOPT;
    if (value == NULL || bytes != sizeof wanted)
        return -FI_EINVAL;
    memcpy(&wanted, value, sizeof wanted);
    if (wanted == 0)
        return -FI_EINVAL;
    gnip_lock(&ep->lock);
    ep->min_multi_recv = wanted;
    gnip_unlock(&ep->lock);
    return 0;
}

static ssize_t rx_left(struct fid_ep *fid)
{
    PORT_CALL("fi_rx_size_left");
    const struct gnip_ep *ep = gnip_ep_of(fid);

    return ep->rx_enabled ? (ssize_t)(ep->rx_size - ep->rx_used) : -FI_EOPBADSTATE;
}

static ssize_t tx_left(struct fid_ep *fid)
{
    PORT_CALL("fi_tx_size_left");
    const struct gnip_ep *ep = gnip_ep_of(fid);

    return ep->tx_enabled ? (ssize_t)(ep->tx_size - ep->tx_used) : -FI_EOPBADSTATE;
}

const struct fi_ops_ep gnip_ep_ops_table = {
    .size = sizeof(struct fi_ops_ep),
    .cancel = cancel,
    .getopt = get_option,
    .setopt = set_option,
    .tx_ctx = gnip_no_tx_ctx,
    .rx_ctx = gnip_no_rx_ctx,
    .rx_size_left = rx_left,
    .tx_size_left = tx_left,
};
