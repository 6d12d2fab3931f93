/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The connection manager. The active side repeats its request until it is answered; the passive
 * side answers a repeated request as before. The passive side is connected when it has accepted:
 * what it sends arrives behind its reply. Where that is not acknowledged, the reply is repeated,
 * too, until the active side was heard of.
 *
 *   active                          passive
 *     ── REQUEST (private data) ──▶   requested(): accept or reject
 *     ◀── REPLY / REJECT ──
 */
#include <assert.h>
#include <errno.h>
#include <string.h>
#include "verbs_internal.h"

static void send_control(struct lnet_hca *hca, uint32_t target, enum lnet_flight_kind kind,
                         uint64_t source_qp, uint64_t target_qp, const void *private_data,
                         uint32_t bytes)
{
    struct lnet_flight *flight = lnet_flight_new(hca, target, kind);

    assert(bytes <= LNET_CM_PRIVATE_BYTES);
    flight->source_qp = source_qp;
    flight->target_qp = target_qp;
    flight->private_bytes = bytes;
    flight->bytes = 256; /* a management datagram */
    if (bytes != 0)
        memcpy(flight->private_data, private_data, bytes);
    lnet_hca_inject(hca, flight);
}

/* ---- the active side ------------------------------------------------------------------------- */

static void send_request(struct lnet_qp *qp)
{
    send_control(qp->hca, qp->peer, LNET_FLIGHT_REQUEST, qp->number, 0, qp->private_data,
                 qp->private_bytes);
    sim_timer_arm(&qp->timer, sim_now() + qp->hca->parameters.cm_timeout);
}

struct lnet_qp *lnet_qp_connect(struct lnet_hca *hca, uint32_t endpoint, const void *private_data,
                                uint32_t bytes, const struct lnet_qp_handler *handler, void *owner)
{
    struct lnet_qp *qp = lnet_qp_new(hca, endpoint, handler, owner);

    assert(bytes <= LNET_CM_PRIVATE_BYTES);
    qp->private_bytes = bytes;
    memcpy(qp->private_data, private_data, bytes);
    send_request(qp);
    return qp;
}

void lnet_cm_timeout(struct lnet_qp *qp)
{
    assert(!qp->passive);
    if (qp->attempts++ >= qp->hca->parameters.cm_retries)
        lnet_qp_fail(qp, -ETIMEDOUT);
    else
        send_request(qp);
}

static void reply_arrived(struct lnet_hca *hca, const struct lnet_flight *flight)
{
    struct lnet_qp *qp = lnet_qp_find(hca, flight->target_qp);

    if (qp == NULL || qp->state != LNET_QP_CONNECTING || qp->passive || qp->status != 0)
        return; /* a second reply, or nobody wants it any more: the passive side times out */
    qp->peer_number = flight->source_qp;
    lnet_qp_ready(qp);
    qp->handler->connected(qp->owner, 0, flight->private_data, flight->private_bytes);
}

static void reject_arrived(struct lnet_hca *hca, const struct lnet_flight *flight)
{
    struct lnet_qp *qp = lnet_qp_find(hca, flight->target_qp);

    if (qp == NULL || qp->state != LNET_QP_CONNECTING || qp->passive || qp->status != 0)
        return;
    sim_timer_cancel(&qp->timer);
    qp->status = -ECONNREFUSED;
    qp->handler->connected(qp->owner, -ECONNREFUSED, flight->private_data, flight->private_bytes);
}

/* ---- the passive side ------------------------------------------------------------------------ */

void lnet_cm_reply(struct lnet_qp *qp)
{
    assert(qp->passive);
    send_control(qp->hca, qp->peer, LNET_FLIGHT_REPLY, qp->number, qp->peer_number,
                 qp->private_data, qp->private_bytes);
}

static void request_arrived(struct lnet_hca *hca, const struct lnet_flight *flight)
{
    struct lnet_cm_request request = {hca, flight->source, flight->source_qp, flight->private_data,
                                      flight->private_bytes};
    struct lnet_qp *qp = lnet_qp_find_peer(hca, flight->source, flight->source_qp);

    if (qp != NULL) /* the reply was lost, or is slow */
        lnet_cm_reply(qp);
    else
        hca->requested(hca->owner, &request);
}

struct lnet_qp *lnet_cm_accept(const struct lnet_cm_request *request, const void *private_data,
                               uint32_t bytes, const struct lnet_qp_handler *handler, void *owner)
{
    struct lnet_qp *qp = lnet_qp_new(request->hca, request->endpoint, handler, owner);

    assert(bytes <= LNET_CM_PRIVATE_BYTES);
    qp->passive = true;
    qp->peer_number = request->id;
    qp->private_bytes = bytes;
    memcpy(qp->private_data, private_data, bytes);
    send_control(request->hca, request->endpoint, LNET_FLIGHT_REPLY, qp->number, request->id,
                 private_data, bytes);
    lnet_qp_ready(qp); /* what it sends now arrives behind the reply */
    return qp;
}

void lnet_cm_reject(const struct lnet_cm_request *request, const void *private_data, uint32_t bytes)
{
    send_control(request->hca, request->endpoint, LNET_FLIGHT_REJECT, 0, request->id, private_data,
                 bytes);
}

/* ---- both ------------------------------------------------------------------------------------ */

void lnet_cm_disconnect(struct lnet_qp *qp)
{
    send_control(qp->hca, qp->peer, LNET_FLIGHT_DISCONNECT, qp->number, qp->peer_number, NULL, 0);
}

void lnet_cm_arrived(struct lnet_hca *hca, const struct lnet_flight *flight)
{
    struct lnet_qp *qp;

    if (hca == NULL) /* no adapter works there (any more): no answer */
        return;
    switch ((enum lnet_flight_kind)flight->kind) {
    case LNET_FLIGHT_REQUEST:
        request_arrived(hca, flight);
        break;
    case LNET_FLIGHT_REPLY:
        reply_arrived(hca, flight);
        break;
    case LNET_FLIGHT_REJECT:
        reject_arrived(hca, flight);
        break;
    case LNET_FLIGHT_DISCONNECT:
        qp = lnet_qp_find(hca, flight->target_qp);
        if (qp != NULL)
            lnet_qp_fail(qp, -ECONNRESET);
        break;
    case LNET_FLIGHT_WORK:
        assert(false);
    }
}
