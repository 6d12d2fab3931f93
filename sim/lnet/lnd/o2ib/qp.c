/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A queue pair of a reliable connection. The source numbers its works; the target takes chunks in
 * order only, acknowledges a work with its last chunk, and refuses what comes behind a gap, which
 * makes the source repeat from there. Acknowledgements and refusals are not lost.
 *
 *   CONNECTING ── accepted ──▶ CONNECTED ── too many repetitions, access refused ──▶ FAILED
 */
#include <assert.h>
#include <errno.h>
#include <glib.h>
#include <string.h>
#include "verbs_internal.h"

#define SLOT_BITS 20u /* of a number; the rest counts */

/* ---- numbers --------------------------------------------------------------------------------- */

struct lnet_qp *lnet_qp_find(struct lnet_hca *hca, uint64_t number)
{
    uint32_t slot = (uint32_t)(number & ((1u << SLOT_BITS) - 1));
    struct lnet_qp *qp = slot < hca->qp_room ? hca->qps[slot] : NULL;

    return qp != NULL && qp->number == number ? qp : NULL;
}

struct lnet_qp *lnet_qp_find_peer(struct lnet_hca *hca, uint32_t endpoint, uint64_t peer_number)
{
    uint32_t i;

    for (i = 0; i < hca->qp_room; i++)
        if (hca->qps[i] != NULL && hca->qps[i]->peer == endpoint &&
            hca->qps[i]->peer_number == peer_number)
            return hca->qps[i];
    return NULL;
}

static void add(struct lnet_hca *hca, struct lnet_qp *qp)
{
    static uint64_t serial; /* over all adapters: a restarted one reuses no number */
    uint32_t slot;

    for (slot = 0; slot < hca->qp_room && hca->qps[slot] != NULL; slot++)
        ;
    if (slot == hca->qp_room) {
        hca->qp_room = MAX(8, 2 * hca->qp_room);
        assert(hca->qp_room <= 1u << SLOT_BITS);
        hca->qps = g_renew(struct lnet_qp *, hca->qps, hca->qp_room);
        memset(&hca->qps[slot], 0, (hca->qp_room - slot) * sizeof(struct lnet_qp *));
    }
    hca->qps[slot] = qp;
    hca->qp_count++;
    qp->number = ++serial << SLOT_BITS | slot;
}

/* ---- failure --------------------------------------------------------------------------------- */

static void report(struct sim_event *event)
{
    struct lnet_qp *qp =
        sim_container_of(sim_container_of(event, struct sim_timer, event), struct lnet_qp, report);
    const struct lnet_qp_handler *handler = qp->handler;
    uint64_t number = qp->number;
    struct lnet_hca *hca = qp->hca;
    void *owner = qp->owner;
    int status = qp->status;

    while (qp->first != NULL) {
        struct lnet_flight *flight = qp->first;
        struct lnet_work *work = flight->work;

        qp->first = flight->next;
        lnet_hca_withdraw(hca, flight);
        flight->qp = NULL;
        flight->done = true;
        lnet_flight_release(flight);
        handler->completed(owner, work, status);
        if (lnet_qp_find(hca, number) == NULL) /* the owner destroyed it */
            return;
    }
    qp->last = &qp->first;
    if (qp->state == LNET_QP_CONNECTING)
        handler->connected(owner, status, NULL, 0);
    else
        handler->disconnected(owner, status);
}

void lnet_qp_fail(struct lnet_qp *qp, int status)
{
    assert(status < 0);
    if (qp->status != 0)
        return;
    qp->status = status;
    if (qp->state == LNET_QP_CONNECTED)
        qp->state = LNET_QP_FAILED;
    sim_timer_cancel(&qp->timer);
    sim_timer_arm(&qp->report, sim_now());
}

/* ---- at the source --------------------------------------------------------------------------- */

static void arm(struct lnet_qp *qp)
{
    if (qp->first == NULL)
        sim_timer_cancel(&qp->timer);
    else
        sim_timer_arm(&qp->timer,
                      MAX(sim_now(), qp->hca->busy_until) + qp->hca->parameters.ack_timeout);
}

/* Sends the first work that is not acknowledged again from `offset` on, and those behind it. */
static void repeat(struct lnet_qp *qp, uint32_t offset)
{
    struct lnet_flight *flight;

    if (offset > qp->repeated_offset) /* the target has got further */
        qp->attempts = 0;
    qp->repeated_offset = offset;
    if (qp->attempts++ >= qp->hca->parameters.retry_count) {
        lnet_qp_fail(qp, -ETIMEDOUT);
        return;
    }
    for (flight = qp->first; flight != NULL; flight = flight->next) {
        lnet_hca_withdraw(qp->hca, flight);
        flight->sent = flight == qp->first ? offset : 0;
        flight->attempt++;
        lnet_hca_inject(qp->hca, flight);
    }
    arm(qp);
}

static void timeout(struct sim_event *event)
{
    struct lnet_qp *qp =
        sim_container_of(sim_container_of(event, struct sim_timer, event), struct lnet_qp, timer);

    if (qp->state == LNET_QP_CONNECTING) {
        lnet_cm_timeout(qp);
        return;
    }
    if (qp->passive && !qp->peer_connected)
        lnet_cm_reply(qp); /* it may be the reply that was lost */
    repeat(qp, 0);
}

static void acknowledged(struct sim_event *event)
{
    struct lnet_flight *flight = sim_container_of(event, struct lnet_flight, acknowledged);
    struct lnet_qp *qp = flight->qp;
    struct lnet_work *work = flight->work;

    flight->away--;
    if (qp == NULL || qp->status != 0) {
        lnet_flight_release(flight);
        return;
    }
    qp->peer_connected = true;
    if (flight->memory_error) {
        lnet_qp_fail(qp, -EFAULT);
        lnet_flight_release(flight);
        return;
    }
    /* The target acknowledges in order, and each answer takes the same time. */
    assert(flight == qp->first);
    qp->first = flight->next;
    if (qp->first == NULL)
        qp->last = &qp->first;
    lnet_hca_withdraw(qp->hca, flight);
    flight->qp = NULL;
    flight->done = true;
    lnet_flight_release(flight);
    qp->attempts = 0;
    qp->repeated_offset = 0;
    arm(qp);
    qp->handler->completed(qp->owner, work, 0);
}

static void refused(struct sim_event *event)
{
    struct lnet_flight *flight = sim_container_of(event, struct lnet_flight, refused);
    struct lnet_qp *qp = flight->qp;

    flight->away--;
    if (qp != NULL && qp->status == 0 && flight->refused_attempt == flight->attempt &&
        flight == qp->first)
        repeat(qp, flight->refused_offset);
    else
        lnet_flight_release(flight);
}

void lnet_qp_post(struct lnet_qp *qp, struct lnet_work *work)
{
    struct lnet_flight *flight = lnet_flight_new(qp->hca, qp->peer, LNET_FLIGHT_WORK);

    flight->qp = qp;
    flight->work = work;
    flight->bytes = work->bytes;
    flight->sequence = qp->next_sequence++;
    flight->source_qp = qp->number;
    flight->target_qp = qp->peer_number;
    flight->acknowledged.fire = acknowledged;
    flight->refused.fire = refused;
    work->flight = flight;
    *qp->last = flight;
    qp->last = &flight->next;
    if (qp->status != 0)
        sim_timer_arm(&qp->report, sim_now());
    if (qp->state != LNET_QP_CONNECTED)
        return;
    lnet_hca_inject(qp->hca, flight);
    if (qp->first == flight)
        arm(qp);
}

void lnet_qp_ready(struct lnet_qp *qp)
{
    struct lnet_flight *flight;

    assert(qp->state == LNET_QP_CONNECTING);
    qp->state = LNET_QP_CONNECTED;
    qp->attempts = 0;
    sim_timer_cancel(&qp->timer);
    for (flight = qp->first; flight != NULL; flight = flight->next) {
        flight->target_qp = qp->peer_number;
        lnet_hca_inject(qp->hca, flight);
    }
    arm(qp);
}

/* ---- at the target --------------------------------------------------------------------------- */

static void answer(struct lnet_flight *flight, struct sim_event *event)
{
    flight->away++;
    sim_event_schedule(event, sim_now() + lnet_hca_back(flight));
}

/* Something is missing before this chunk: asks for it, once. */
static void refuse(struct lnet_qp *qp, struct lnet_flight *flight)
{
    struct lnet_flight *first = flight->qp != NULL ? flight->qp->first : NULL;

    /* The refusal names the work that is missing; its flight is the first one without
     * acknowledgement, or the acknowledgement is under way. */
    if (first == NULL || first->sequence != qp->expected ||
        (qp->refused_at == qp->expected + 1 && qp->refused_offset == qp->expected_offset &&
         first->refused_attempt == first->attempt))
        return;
    qp->refused_at = qp->expected + 1;
    qp->refused_offset = qp->expected_offset;
    first->refused_offset = qp->expected_offset;
    first->refused_attempt = first->attempt;
    answer(first, &first->refused);
}

static bool write_memory(struct lnet_qp *qp, const struct lnet_work *work, uint32_t offset,
                         uint32_t bytes)
{
    const struct lnet_memory *memory = lnet_hca_memory(qp->hca, work->key);
    uint64_t end = (uint64_t)work->target_offset + offset + bytes;

    if (memory == NULL || end > memory->length)
        return false;
    lnet_copy_fragments(memory->fragments, memory->offset + work->target_offset + offset,
                        work->source, work->source_offset + offset, bytes);
    return true;
}

void lnet_qp_arrived(struct lnet_qp *qp, struct lnet_flight *flight, uint32_t offset,
                     uint32_t bytes, bool last)
{
    const struct lnet_work *work = flight->work;

    if (flight->qp == NULL || qp->status != 0) /* the source is gone, or this end has failed */
        return;
    if (qp->state == LNET_QP_CONNECTING) /* the reply was lost: the queue pair takes nothing yet */
        return;
    qp->peer_connected = true;
    if (flight->sequence < qp->expected ||
        (flight->sequence == qp->expected && offset < qp->expected_offset))
        return; /* repeated although it had arrived; the acknowledgement is under way */
    if (flight->sequence > qp->expected || offset > qp->expected_offset) {
        refuse(qp, flight);
        return;
    }
    if (work->kind == LNET_WORK_WRITE && !write_memory(qp, work, offset, bytes)) {
        flight->memory_error = true;
        answer(flight, &flight->acknowledged);
        lnet_qp_fail(qp, -EFAULT);
        return;
    }
    qp->expected_offset += bytes;
    if (!last)
        return;
    qp->expected++;
    qp->expected_offset = 0;
    answer(flight, &flight->acknowledged);
    if (work->kind == LNET_WORK_SEND)
        qp->handler->received(qp->owner, work->message, work->bytes);
}

/* ---- creation -------------------------------------------------------------------------------- */

struct lnet_qp *lnet_qp_new(struct lnet_hca *hca, uint32_t peer,
                            const struct lnet_qp_handler *handler, void *owner)
{
    struct lnet_qp *qp = g_new0(struct lnet_qp, 1);

    qp->hca = hca;
    qp->peer = peer;
    qp->handler = handler;
    qp->owner = owner;
    qp->last = &qp->first;
    qp->timer.event.fire = timeout;
    qp->report.event.fire = report;
    add(hca, qp);
    return qp;
}

void lnet_qp_forget(struct lnet_qp *qp)
{
    struct lnet_hca *hca = qp->hca;

    while (qp->first != NULL) {
        struct lnet_flight *flight = qp->first;

        qp->first = flight->next;
        lnet_hca_withdraw(hca, flight);
        flight->qp = NULL;
        flight->done = true;
        lnet_flight_release(flight);
    }
    sim_timer_cancel(&qp->timer);
    sim_timer_cancel(&qp->report);
    hca->qps[qp->number & ((1u << SLOT_BITS) - 1)] = NULL;
    hca->qp_count--;
    g_free(qp);
}

void lnet_qp_destroy(struct lnet_qp *qp)
{
    if (qp->state == LNET_QP_CONNECTED)
        lnet_cm_disconnect(qp);
    lnet_qp_forget(qp);
}
