/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Reads and writes: transactions.
 *
 * A write is one transaction: by the CPU (FMA) or, from a threshold on, by the block transfer
 * engine, which needs a registered source. Reads need a remote address and a length in units of 4
 * bytes. Other reads are composed: short ones (and those of about a word into memory that is not
 * registered) go to a bounce buffer and are copied from there; of long ones only the first and the
 * last word do.
 *
 * Transactions with FI_MORE are collected for each connection and posted as one chain.
 */
#include "bounce.h"
#include "chain.h"
#include "domain.h"
#include "ep.h"
#include "gnip.h"
#include "lock.h"
#include "mr.h"
#include "onesided.h"
#include "req.h"
#include "rma.h"
#include "txd.h"
#include "vc.h"

#define CHAIN_MAX 64 /* transactions */
#define CHAIN_BYTES_MAX (1u << 20) /* of a shared FMA descriptor */

static inline bool by_engine(const struct gnip_req *req)
{
    return req->bytes >= req->ep->domain->params.rma_rdma_threshold && req->buffers[0].mr != NULL;
}

/* ---- completion ------------------------------------------------------------------------------ */

static gnip_noinline void copy_out(struct gnip_req *req)
{
    uint64_t remote = req->u.rma.remote_address, end = remote + req->bytes;
    const uint8_t *bounce = req->u.rma.bounce;
    uint8_t *local = req->buffers[0].address;
    uint32_t head = (uint32_t)-remote & 3, tail = end & 3;

    if (req->u.rma.indirect) {
        memcpy(local, bounce + (remote & 3), req->bytes);
        port_spend(PORT_COST_COPY, req->bytes);
        return;
    }
    memcpy(local, bounce + (remote & 3), head);
    memcpy(local + req->bytes - tail, bounce + 4, tail);
}

static int replay(struct gnip_req *req);

static gnip_cold bool may_try_again(const struct gnip_req *req)
{
    return !req->failed_final && req->ep->type != FI_EP_DGRAM &&
           req->vc->state == GNIP_VC_CONNECTED &&
           req->tries + 1u < req->ep->domain->params.max_retransmits;
}

static gnip_cold void try_again(struct gnip_req *req)
{
    req->error = req->prov_errno = 0;
    req->u.rma.refused = false;
    gnip_onesided_defer(req, replay);
}

/* All its transactions have ended. ep->lock is held. */
static void over(struct gnip_req *req)
{
    gnip_assert_held(&req->ep->lock);
    if (gnip_unlikely(req->error != 0)) {
        if (may_try_again(req)) {
            req->tries++;
            try_again(req);
        } else {
            gnip_onesided_fail(req);
        }
    } else if (gnip_unlikely(req->u.rma.refused)) {
        if (req->vc->state == GNIP_VC_CONNECTED) {
            try_again(req);
        } else {
            req->error = FI_ENOTCONN;
            gnip_onesided_fail(req);
        }
    } else {
        if (req->u.rma.bounce != NULL)
            copy_out(req);
        gnip_onesided_succeed(req);
    }
}

static gnip_cold int attempt_failed(struct gnip_req *req)
{
    over(req);
    return 0;
}

static void note(struct gnip_req *req, gni_return_t status, bool recoverable)
{
    if (gnip_likely(status == GNI_RC_SUCCESS))
        return;
    req->error = FI_EIO;
    req->prov_errno = gnip_errno(status);
    if (!recoverable)
        req->failed_final = true;
}

static void done(struct gnip_txd *txd, gni_return_t status)
{
    struct gnip_req *req = txd->req;
    struct gnip_ep *ep = req->ep;
    bool recoverable = txd->recoverable;

    port_spend(PORT_COST_COMPLETION, 1);
    gnip_lock(&ep->lock);
    gnip_txd_put(txd->nic, txd);
    note(req, status, recoverable);
    assert(req->pending > 0);
    if (--req->pending == 0)
        over(req);
    gnip_unlock(&ep->lock);
}

static void chain_done(struct gnip_txd *txd, gni_return_t status)
{
    struct gnip_req *req = txd->req, *next;
    struct gnip_ep *ep = req->ep;
    bool recoverable = txd->recoverable;

    port_spend(PORT_COST_COMPLETION, 1);
    gnip_lock(&ep->lock);
    gnip_txd_put(txd->nic, txd);
    for (; req != NULL; req = next) {
        next = req->u.rma.next;
        req->u.rma.next = NULL;
        req->pending = 0;
        note(req, status, recoverable);
        over(req);
    }
    gnip_unlock(&ep->lock);
}

/* ---- posting --------------------------------------------------------------------------------- */

/* A descriptor with the common fields of all transactions. NULL: none is free. */
static struct gnip_txd *new_txd(struct gnip_req *req, gni_post_type_t type)
{
    struct gnip_vc *vc = req->vc;
    struct gnip_txd *txd = gnip_txd_get_transfer(vc->nic);
    gni_post_descriptor_t *post;

    if (gnip_unlikely(txd == NULL))
        return NULL;
    txd->req = req;
    txd->vc = vc;
    txd->done = done;
    post = &txd->transfer->post;
    post->next_descr = NULL;
    post->type = type;
    post->cq_mode = GNI_CQMODE_GLOBAL_EVENT;
    post->dlvr_mode = GNI_DLVMODE_PERFORMANCE;
    post->rdma_mode = 0;
    post->src_cq_hndl = gnip_ep_events(vc->ep);
    post->remote_mem_hndl = *gnip_remote_handle(vc, req->u.rma.remote_key);
    return txd;
}

static void set_place(struct gnip_txd *txd, void *local, const gni_mem_handle_t *handle,
                      uint64_t remote, uint64_t bytes)
{
    txd->transfer->post.local_addr = (uintptr_t)local;
    if (handle != NULL)
        txd->transfer->post.local_mem_hndl = *handle;
    else
        memset(&txd->transfer->post.local_mem_hndl, 0, sizeof(txd->transfer->post.local_mem_hndl));
    txd->transfer->post.remote_addr = remote;
    txd->transfer->post.length = bytes;
}

static int post_write(struct gnip_req *req)
{
    bool engine = by_engine(req);
    struct gnip_txd *txd = new_txd(req, engine ? GNI_POST_RDMA_PUT : GNI_POST_FMA_PUT);
    int rc;

    if (gnip_unlikely(txd == NULL))
        return -FI_EAGAIN;
    set_place(txd, req->flags & FI_INJECT ? req->inject : req->buffers[0].address,
              engine ? &req->buffers[0].mr->handle : NULL, req->u.rma.remote_address, req->bytes);
    req->pending = 1;
    rc = gnip_onesided_post(txd, engine ? GNI_PostRdma : GNI_PostFma);
    if (gnip_unlikely(rc != 0))
        req->pending = 0;
    return rc;
}

static bool get_bounce(struct gnip_req *req, gni_mem_handle_t *handle)
{
    req->u.rma.bounce = gnip_bounce_get(req->ep, handle);
    return req->u.rma.bounce != NULL;
}

static void put_bounce(struct gnip_req *req)
{
    if (req->u.rma.bounce != NULL)
        gnip_bounce_put(req->ep, req->u.rma.bounce);
    req->u.rma.bounce = NULL;
}

/* The request could not be posted: either it is unchanged, or it has failed. */
static int not_posted(struct gnip_req *req, int rc)
{
    req->pending = 0;
    put_bounce(req);
    return rc;
}

/* All words that contain a byte of the range. */
static int post_indirect(struct gnip_req *req)
{
    uint64_t first = req->u.rma.remote_address & ~3ull;
    uint64_t end = (req->u.rma.remote_address + req->bytes + 3) & ~3ull;
    gni_mem_handle_t handle;
    struct gnip_txd *txd;
    int rc;

    if (!get_bounce(req, &handle))
        return -FI_EAGAIN;
    req->u.rma.indirect = true;
    txd = new_txd(req, GNI_POST_FMA_GET);
    if (txd == NULL)
        return not_posted(req, -FI_EAGAIN);
    set_place(txd, req->u.rma.bounce, &handle, first, end - first);
    req->pending = 1;
    rc = gnip_onesided_post(txd, GNI_PostFma);
    return rc == 0 ? 0 : not_posted(req, rc);
}

static void set_word(gnip_chained_get *element, const struct gnip_txd *txd, void *local,
                     const gni_mem_handle_t *handle, uint64_t remote)
{
    *element = (gnip_chained_get){
        .ep_hndl = txd->vc->gni_ep,
        .length = 4,
        .remote_addr = remote,
        .remote_mem_hndl = txd->transfer->post.remote_mem_hndl,
        .local_addr = (uintptr_t)local,
        .local_mem_hndl = *handle,
    };
}

/* Appends an element to the chain. */
static void link_words(struct gnip_txd *txd, unsigned words)
{
    if (words > 0)
        txd->transfer->post.next_descr = &txd->transfer->chain[0];
    if (words > 1)
        txd->transfer->chain[0].next_descr = &txd->transfer->chain[1];
}

/* The memory for a part of a read that is not in units of words. */
struct part {
    void *local;
    const gni_mem_handle_t *handle;
    uint64_t remote, bytes;
};

static gnip_cold void put_all(struct gnip_vc *vc, struct gnip_txd **txds, unsigned count)
{
    while (count > 0)
        gnip_txd_put(vc->nic, txds[--count]);
}

/* Without chains: one transaction for each part, the last one by the engine if it is long. */
static int post_apart(struct gnip_req *req, const struct part *parts, unsigned count)
{
    struct gnip_txd *txds[3];
    unsigned i;
    int rc;

    for (i = 0; i < count; i++) {
        bool engine = i + 1 == count && by_engine(req);

        txds[i] = new_txd(req, engine ? GNI_POST_RDMA_GET : GNI_POST_FMA_GET);
        if (txds[i] == NULL) {
            put_all(req->vc, txds, i);
            return not_posted(req, -FI_EAGAIN);
        }
        set_place(txds[i], parts[i].local, parts[i].handle, parts[i].remote, parts[i].bytes);
    }
    req->pending = (uint8_t)count;
    for (i = 0; i < count; i++) {
        bool engine = txds[i]->transfer->post.type == GNI_POST_RDMA_GET;

        rc = gnip_onesided_post(txds[i], engine ? GNI_PostRdma : GNI_PostFma);
        if (rc == 0)
            continue;
        put_all(req->vc, txds + i + 1, count - i - 1);
        if (i == 0)
            return not_posted(req, rc);
        req->pending = (uint8_t)i; /* after they have ended, the whole read is repeated */
        req->u.rma.refused = req->error == 0;
        req->failed_final = req->error != 0;
        break;
    }
    return 0;
}

/*
 * The middle goes to its place; the first and the last word, if they are not whole, go to the
 * bounce buffer.
 */
static int post_parts(struct gnip_req *req)
{
    uint64_t remote = req->u.rma.remote_address, end = remote + req->bytes;
    uint32_t head = (uint32_t)-remote & 3, tail = end & 3;
    uint64_t middle = req->bytes - head - tail;
    uint8_t *local = req->buffers[0].address, *bounce;
    bool engine = by_engine(req);
    struct gnip_txd *txd, *words = NULL;
    gni_mem_handle_t handle;
    unsigned count = 0;
    int rc;

    if (!get_bounce(req, &handle))
        return -FI_EAGAIN;
    bounce = req->u.rma.bounce;
    if (!GNIP_CHAINS) {
        struct part parts[3];

        if (head != 0)
            parts[count++] = (struct part){bounce, &handle, remote & ~3ull, 4};
        if (tail != 0)
            parts[count++] = (struct part){bounce + 4, &handle, end & ~3ull, 4};
        parts[count++] =
            (struct part){local + head, &req->buffers[0].mr->handle, remote + head, middle};
        return post_apart(req, parts, count);
    }
    txd = new_txd(req, engine ? GNI_POST_RDMA_GET : GNI_POST_FMA_GET);
    if (txd != NULL && engine)
        words = new_txd(req, GNI_POST_FMA_GET);
    if (txd == NULL || (engine && words == NULL)) {
        if (txd != NULL)
            gnip_txd_put(req->vc->nic, txd);
        return not_posted(req, -FI_EAGAIN);
    }
    set_place(txd, local + head, &req->buffers[0].mr->handle, remote + head, middle);
    if (!engine) {
        if (head != 0)
            set_word(&txd->transfer->chain[count++], txd, bounce, &handle, remote & ~3ull);
        if (tail != 0)
            set_word(&txd->transfer->chain[count++], txd, bounce + 4, &handle, end & ~3ull);
        link_words(txd, count);
        req->pending = 1;
        rc = gnip_onesided_post(txd, gnip_chain_post);
        return rc == 0 ? 0 : not_posted(req, rc);
    }
    if (head != 0)
        set_place(words, bounce, &handle, remote & ~3ull, 4);
    else
        set_place(words, bounce + 4, &handle, end & ~3ull, 4);
    if (head != 0 && tail != 0) {
        set_word(&words->transfer->chain[0], words, bounce + 4, &handle, end & ~3ull);
        link_words(words, 1);
    }
    req->pending = 1;
    rc = gnip_onesided_post(words, words->transfer->post.next_descr != NULL ? gnip_chain_post
                                                                            : GNI_PostFma);
    if (rc != 0) {
        gnip_txd_put(req->vc->nic, txd);
        return not_posted(req, rc);
    }
    req->pending = 2;
    if (gnip_onesided_post(txd, GNI_PostRdma) !=
        0) { /* after the words have arrived, the whole read is repeated */
        req->pending = 1;
        req->u.rma.refused = req->error == 0;
        req->failed_final = req->error != 0;
    }
    return 0;
}

static gnip_noinline int post_read(struct gnip_req *req)
{
    bool odd = gnip_rma_odd(req->u.rma.remote_address, req->bytes);
    struct gnip_txd *txd;
    bool engine;
    int rc;

    if (req->buffers[0].mr == NULL || (odd && req->bytes < GNIP_INDIRECT_MAX))
        return post_indirect(req);
    if (odd)
        return post_parts(req);
    engine = by_engine(req);
    txd = new_txd(req, engine ? GNI_POST_RDMA_GET : GNI_POST_FMA_GET);
    if (gnip_unlikely(txd == NULL))
        return -FI_EAGAIN;
    set_place(txd, req->buffers[0].address, &req->buffers[0].mr->handle, req->u.rma.remote_address,
              req->bytes);
    req->pending = 1;
    rc = gnip_onesided_post(txd, engine ? GNI_PostRdma : GNI_PostFma);
    if (gnip_unlikely(rc != 0))
        req->pending = 0;
    return rc;
}

static int post(struct gnip_req *req)
{
    return req->kind == GNIP_REQ_WRITE ? post_write(req) : post_read(req);
}

/* Deferred work: it must end the request itself when it fails. */
static int replay(struct gnip_req *req)
{
    int rc;

    put_bounce(req);
    if (gnip_onesided_inject(req, attempt_failed))
        return 0;
    rc = post(req);
    if (rc == 0 || rc == -FI_EAGAIN)
        return rc;
    gnip_onesided_fail(req);
    return 0;
}

/* ---- chains ---------------------------------------------------------------------------------- */

static gnip_noinline bool chainable(const struct gnip_req *req)
{
    if (!GNIP_CHAINS || req->u.event.wanted || (req->flags & FI_FENCE) || by_engine(req))
        return false;
    return req->kind == GNIP_REQ_WRITE ||
           (req->buffers[0].mr != NULL && !gnip_rma_odd(req->u.rma.remote_address, req->bytes));
}

static gnip_noinline bool joins(const struct gnip_req *first, const struct gnip_req *req)
{
    uint64_t bytes = req->bytes;
    const struct gnip_req *each;

    if (first->kind != req->kind || first->u.rma.chained == CHAIN_MAX)
        return false;
    for (each = first; each != NULL; each = each->u.rma.next)
        bytes += each->bytes;
    return bytes <= CHAIN_BYTES_MAX;
}

static gnip_noinline void append(struct gnip_vc *vc, struct gnip_req *req)
{
    struct gnip_req *first = vc->more;

    req->u.rma.element = (gnip_chained_get){
        .ep_hndl = vc->gni_ep,
        .length = req->bytes,
        .remote_addr = req->u.rma.remote_address,
        .remote_mem_hndl = *gnip_remote_handle(vc, req->u.rma.remote_key),
        .local_addr = (uintptr_t)(req->flags & FI_INJECT ? req->inject : req->buffers[0].address),
    };
    if (req->kind == GNIP_REQ_READ)
        req->u.rma.element.local_mem_hndl = req->buffers[0].mr->handle;
    req->u.rma.next = NULL;
    if (first != NULL) {
        first->u.rma.last->u.rma.next = req;
        first->u.rma.last->u.rma.element.next_descr = &req->u.rma.element;
        first->u.rma.last = req;
        first->u.rma.chained++;
        return;
    }
    req->u.rma.chained = 1;
    req->u.rma.last = req;
    vc->more = req;
    vc->chain_next = vc->ep->chains;
    vc->ep->chains = vc;
    gnip_vc_schedule(vc); /* in case nothing follows */
}

void gnip_rma_unchain(struct gnip_vc *vc)
{
    struct gnip_vc **at;

    for (at = &vc->ep->chains; *at != NULL && *at != vc; at = &(*at)->chain_next)
        ;
    if (*at != NULL)
        *at = vc->chain_next;
    vc->chain_next = NULL;
    vc->more = NULL;
}

gnip_noinline int gnip_rma_flush(struct gnip_vc *vc)
{
    struct gnip_req *first = vc->more, *req, *next;
    struct gnip_txd *txd;
    int rc, prov_errno;

    if (first == NULL)
        return 0;
    txd = new_txd(first, first->kind == GNIP_REQ_WRITE ? GNI_POST_FMA_PUT : GNI_POST_FMA_GET);
    if (txd == NULL)
        return -FI_EAGAIN;
    set_place(txd, (void *)(uintptr_t)first->u.rma.element.local_addr,
              &first->u.rma.element.local_mem_hndl, first->u.rma.remote_address, first->bytes);
    txd->transfer->post.next_descr = first->u.rma.element.next_descr;
    txd->done = chain_done;
    for (req = first; req != NULL; req = req->u.rma.next)
        req->pending = 1;
    rc = gnip_onesided_post(txd,
                            txd->transfer->post.next_descr != NULL ? gnip_chain_post : GNI_PostFma);
    if (rc == -FI_EAGAIN)
        return rc;
    gnip_rma_unchain(vc);
    prov_errno = first->prov_errno; /* the request that was posted for the chain */
    for (req = first; rc != 0 && req != NULL; req = next) {
        next = req->u.rma.next;
        req->u.rma.next = NULL;
        req->pending = 0;
        req->error = FI_EIO;
        req->prov_errno = prov_errno;
        gnip_onesided_fail(req);
    }
    return 0;
}

/* ---- issuing --------------------------------------------------------------------------------- */

/* Posts it by itself, or appends it to the chain. */
static int post_or_chain(struct gnip_req *req)
{
    struct gnip_vc *vc = req->vc;
    bool more = (req->flags & FI_MORE) != 0;

    if (gnip_likely(vc->more == NULL && !more))
        return post(req);
    if (vc->more != NULL && (!chainable(req) || !joins(vc->more, req)) && gnip_rma_flush(vc) != 0)
        return -FI_EAGAIN;
    if (!chainable(req) || (vc->more == NULL && !more))
        return post(req);
    append(vc, req);
    if (!more)
        gnip_rma_flush(vc); /* otherwise the VC's progress posts it */
    return 0;
}

int gnip_rma_issue(struct gnip_req *req)
{
    struct gnip_vc *vc = req->vc;
    bool writes = req->kind == GNIP_REQ_WRITE, event;
    int rc = 0;

    if (gnip_unlikely(
            !gnip_onesided_allowed(vc, FI_RMA, writes ? FI_REMOTE_WRITE : FI_REMOTE_READ)))
        return -FI_EOPNOTSUPP;
    event = (req->flags & FI_REMOTE_CQ_DATA) || (vc->peer_caps & FI_RMA_EVENT);
    req->u.event.wanted = event;
    if (gnip_unlikely(req->bytes == 0)) {
        gnip_onesided_issued(req);
        gnip_onesided_succeed(req);
        return 0;
    }
    if (!gnip_onesided_inject(req, attempt_failed))
        rc = post_or_chain(req);
    /* then it is not part of the chain, which may have ended */
    if (gnip_unlikely(event) && rc == 0)
        gnip_onesided_issued(req);
    return rc;
}
