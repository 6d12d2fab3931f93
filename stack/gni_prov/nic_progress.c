/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Progress of a NIC: completions, arrivals, then the VCs with something to do. Queues are polled
 * without the lock and emptied in batches under it. The events are handled after the lock was
 * released.
 */
#include "ctx.h"
#include "ep.h"
#include "gnip.h"
#include "queue.h"
#include "lock.h"
#include "nic.h"
#include "nic_internal.h"
#include "txd.h"
#include "vc.h"
#include "vc_internal.h"
#include "port/list.h"

#define BATCH 32u
#define BATCHES 8u /* events of one queue in one pass */
#define VCS_AT_ONCE 64u
#define GRACE_NS 50000u /* without an event, until the helper sleeps again */
#define RETRY_NS 1000000u /* when the helper cannot wait for lack of resources */
#define POLLED 8 /* after this many polls by other threads the helper leaves the work to them */
#define STAND_BACK_NS 1000000u
#define SLEEP_FIRST_MS \
    1u /* the helper polls again after this time, then after twice the time, ... */
#define SLEEP_LAST_MS 16384u

/* Whether the queue may have an event. A queue of a NIC without locks is read without asking. */
static bool has_event(const struct gnip_nic *nic, gni_cq_handle_t cq)
{
    return nic->lock.elided || GNI_CqTestEvent(cq) != GNI_RC_NOT_DONE;
}

/* ---- completions ----------------------------------------------------------------------------- */

struct finished {
    struct gnip_txd *txd;
    struct gnip_vc *vc;
    gni_return_t status;
    bool smsg;
};

/* The VC of an event; NULL: none. nic->lock is held. */
static struct gnip_txd *find_txd(struct gnip_nic *nic, gni_cq_handle_t cq, gni_cq_entry_t event,
                                 bool smsg)
{
    gni_post_descriptor_t *post = NULL;
    uint32_t id;

    gnip_assert_held(&nic->lock);
    if (smsg) {
        id = (uint32_t)GNI_CQ_GET_MSG_ID(event);
        return id < nic->txd_made ? gnip_txd_at(nic, id) : NULL;
    }
    if (GNI_CQ_GET_TYPE(event) != GNI_CQ_EVENT_TYPE_POST)
        return NULL;
    GNI_GetCompleted(cq, event, &post);
    return post != NULL ? gnip_container(post, struct gnip_transfer, post)->txd : NULL;
}

static gnip_cold bool may_recover(gni_cq_entry_t event)
{
    uint32_t recoverable = 0;

    return GNI_CqErrorRecoverable(event, &recoverable) == GNI_RC_SUCCESS && recoverable != 0;
}

static uint32_t collect(struct gnip_nic *nic, gni_cq_handle_t cq, struct finished *finished)
{
    uint32_t count = 0, i;
    gni_cq_entry_t event;
    gni_return_t rc;

    gnip_lock(&nic->lock);
    while (count < BATCH) {
        struct finished *this = &finished[count];

        rc = GNI_CqGetEvent(cq, &event);
        if (rc == GNI_RC_NOT_DONE || rc == GNI_RC_INVALID_PARAM)
            break;
        this->smsg = GNI_CQ_GET_TYPE(event) == GNI_CQ_EVENT_TYPE_SMSG;
        this->txd = find_txd(nic, cq, event, this->smsg);
        if (gnip_unlikely(this->txd == NULL))
            continue;
        __builtin_prefetch(this->txd, 1);
        this->status = GNI_RC_SUCCESS;
        if (gnip_unlikely(rc != GNI_RC_SUCCESS && !GNI_CQ_STATUS_OK(event))) {
            this->status = GNI_RC_TRANSACTION_ERROR;
            this->txd->recoverable = may_recover(event);
        }
        count++;
    }
    for (i = 0; i < count; i++) {
        struct finished *this = &finished[i];

        this->txd->collected = true;
        this->vc = this->txd->vc;
        if (this->txd->req != NULL) {
            __builtin_prefetch(&this->txd->req->link, 1);
            __builtin_prefetch(&this->txd->req->bytes, 1);
        }
        if (this->vc == NULL)
            continue;
        __builtin_prefetch(this->vc, 1);
        __builtin_prefetch(&this->vc->tx_queue);
        /* A message pins its VC from the time when it was sent. */
        if (!this->smsg)
            gnip_gate_hold(&nic->gate, &this->vc->pins);
    }
    gnip_unlock(&nic->lock);
    return count;
}

/* A lost message leaves a gap in the peer's mailbox, so the connection fails. */
static gnip_cold void fail(struct gnip_vc *vc)
{
    struct gnip_ep *ep = vc->ep;

    gnip_lock(&ep->lock);
    gnip_vc_fail(vc, FI_EIO);
    gnip_unlock(&ep->lock);
}

/* A message whose answer was lost occupies its place in the mailbox until its end is known. */
static bool wants_credit(const struct gnip_vc *vc)
{
    return __atomic_load_n(&vc->blocked, __ATOMIC_SEQ_CST) == GNIP_BLOCKED_MAILBOX ||
           !gnip_queue_empty(&vc->remote_events);
}

static void finish(struct gnip_nic *nic, const struct finished *finished, uint32_t count)
{
    uint32_t i;

    for (i = 0; i < count; i++) {
        const struct finished *this = &finished[i];

        this->txd->done(this->txd, this->status);
        if (this->vc == NULL)
            continue;
        if (gnip_unlikely(this->smsg && this->status != GNI_RC_SUCCESS))
            fail(this->vc);
        else if (gnip_unlikely(this->vc->state != GNIP_VC_CONNECTED) ||
                 (this->smsg && gnip_unlikely(wants_credit(this->vc))))
            gnip_vc_schedule(this->vc); /* it may wait for this */
        gnip_gate_drop(&nic->gate, &this->vc->pins);
    }
}

static uint32_t completions(struct gnip_nic *nic, gni_cq_handle_t cq)
{
    struct finished finished[BATCH];
    uint32_t done = 0, count, i;

    for (i = 0; i < BATCHES; i++) {
        if (i == 0 && !has_event(nic, cq))
            break;
        count = collect(nic, cq, finished);
        finish(nic, finished, count);
        done += count;
        if (count < BATCH)
            break;
    }
    return done;
}

/* ---- arrivals -------------------------------------------------------------------------------- */

static uint32_t read_arrivals(struct gnip_nic *nic, uint32_t *ids, bool *overrun)
{
    uint32_t count = 0;
    gni_cq_entry_t event;
    gni_return_t rc;

    gnip_lock(&nic->lock);
    while (count < BATCH) {
        rc = GNI_CqGetEvent(nic->rx_cq, &event);
        if (rc == GNI_RC_NOT_DONE || rc == GNI_RC_INVALID_PARAM)
            break;
        if (gnip_unlikely(rc == GNI_RC_ERROR_RESOURCE))
            *overrun = true;
        gnip_vc_id_fetch(nic, (uint32_t)GNI_CQ_GET_INST_ID(event));
        ids[count++] = (uint32_t)GNI_CQ_GET_INST_ID(event);
    }
    gnip_unlock(&nic->lock);
    return count;
}

static uint32_t arrivals(struct gnip_nic *nic)
{
    uint32_t ids[BATCH], done = 0, count, i, j;
    struct gnip_vc *vcs[BATCH];
    bool overrun = false;

    for (i = 0; i < BATCHES; i++) {
        if (i == 0 && !has_event(nic, nic->rx_cq))
            break;
        count = read_arrivals(nic, ids, &overrun);
        if (count == 0)
            break;
        gnip_lock(&nic->vc_lock);
        for (j = 0; j < count; j++) {
            vcs[j] = gnip_vc_of_id(nic, ids[j]);
            if (gnip_likely(vcs[j] != NULL)) /* else the event is late */
                gnip_vc_fetch(vcs[j]);
        }
        for (j = 0; j < count; j++)
            if (gnip_likely(vcs[j] != NULL))
                gnip_vc_wake(nic, vcs[j]);
        gnip_unlock(&nic->vc_lock);
        done += count;
        if (count < BATCH)
            break;
    }
    if (gnip_unlikely(overrun)) {
        nic->ctx->counts.rx_overruns++;
        gnip_lock(&nic->vc_lock);
        gnip_nic_wake_all(nic);
        gnip_unlock(&nic->vc_lock);
    }
    return done;
}

/* ---- VCs ------------------------------------------------------------------------------------- */

static struct gnip_vc *next_ready(struct gnip_nic *nic)
{
    struct gnip_vc *vc = NULL;

    gnip_lock(&nic->vc_lock);
    if (!port_list_empty(&nic->vcs_ready)) {
        vc = gnip_container(nic->vcs_ready.next, struct gnip_vc, ready_link);
        gnip_vc_unlink(nic, vc);
        gnip_gate_hold(&nic->gate, &vc->pins);
    }
    gnip_unlock(&nic->vc_lock);
    return vc;
}

/* Nothing is sent without a descriptor, so completions are handled first. */
static bool out_of_txds(const struct gnip_nic *nic)
{
    return __atomic_load_n(&nic->txd_used, __ATOMIC_RELAXED) + nic->txd_reserved >= nic->txd_count;
}

static uint32_t run_ready(struct gnip_nic *nic)
{
    uint32_t left = __atomic_load_n(&nic->ready_count, __ATOMIC_RELAXED), done = 0;
    struct gnip_vc *vc;
    bool reaped;

    if (gnip_likely(left == 0))
        return 0;
    /* A VC that comes back to the list meanwhile waits for the next pass. */
    if (left > VCS_AT_ONCE)
        left = VCS_AT_ONCE;
    for (; left > 0 && (vc = next_ready(nic)) != NULL; left--) {
        struct gnip_ep *ep = vc->ep;

        gnip_lock(&ep->lock);
        done += gnip_vc_progress(vc);
        reaped = gnip_unlikely(vc->state == GNIP_VC_TERMINATED) && gnip_vc_reap(vc);
        gnip_unlock(&ep->lock);
        if (!reaped)
            gnip_gate_drop(&nic->gate, &vc->pins);
        if (gnip_unlikely(out_of_txds(nic)))
            break;
    }
    return done;
}

/*
 * Each completion has a descriptor: while none is in flight, no completion can come. (Not where
 * other threads may post: they would have to wake the threads that poll.)
 */
static uint32_t all_completions(struct gnip_nic *nic, uint32_t *polls)
{
    gni_cq_handle_t blocking = __atomic_load_n(&nic->tx_cq_blk, __ATOMIC_ACQUIRE);
    uint32_t done;

    if (nic->sole != NULL && nic->txd_used == 0)
        return 0;
    done = completions(nic, nic->tx_cq);
    ++*polls;
    if (blocking != NULL && blocking != nic->tx_cq) {
        done += completions(nic, blocking);
        ++*polls;
    }
    return done;
}

uint32_t gnip_nic_progress(struct gnip_nic *nic, uint32_t *polls)
{
    uint32_t done;

    if (gnip_unlikely(nic->gni == NULL)) /* suspended */
        return 0;
    done = all_completions(nic, polls);
    done += arrivals(nic);
    ++*polls;
    if (nic->helper != NULL)
        __atomic_store_n(&nic->polls, __atomic_load_n(&nic->polls, __ATOMIC_RELAXED) + 1,
                         __ATOMIC_RELAXED);
    else if (gnip_unlikely(__atomic_load_n(&nic->awaits, __ATOMIC_RELAXED)) && done == 0)
        gnip_nic_probe_peers(nic);
    return done + run_ready(nic);
}

/* ---- helper ---------------------------------------------------------------------------------- */

/* Doorbells only say that there is, or will be, something to do. */
static bool clear_doorbells(struct gnip_nic *nic)
{
    gni_cq_entry_t event;
    gni_return_t rc;

    if (nic->rx_cq_blk == nic->rx_cq || GNI_CqTestEvent(nic->rx_cq_blk) == GNI_RC_NOT_DONE)
        return false;
    gnip_lock(&nic->lock);
    do
        rc = GNI_CqGetEvent(nic->rx_cq_blk, &event);
    while (rc != GNI_RC_NOT_DONE && rc != GNI_RC_INVALID_PARAM);
    gnip_unlock(&nic->lock);
    return true;
}

static bool stopping(const struct gnip_nic *nic)
{
    return __atomic_load_n(&nic->stop, __ATOMIC_SEQ_CST);
}

/*
 * Works until nothing has happened for a while, because a doorbell may overtake the message that it
 * announces. False: it is better to stop at once, because the helper shares a CPU with an
 * application that polls and handles everything itself.
 */
static bool work(struct gnip_nic *nic)
{
    uint32_t polls, began = __atomic_load_n(&nic->polls, __ATOMIC_RELAXED), own = 0;
    bool active = false, wanted = true, rung;
    struct port_timer timer;

    port_timer_start(&timer, GRACE_NS);
    while (wanted && !stopping(nic)) {
        polls = 0;
        rung = clear_doorbells(nic);
        own++;
        if (gnip_nic_progress(nic, &polls) != 0 || rung) {
            active = true;
        } else if (!port_timer_rang(&timer)) {
            port_idle(&timer, true);
        } else if (active) {
            active = false;
            port_timer_stop(&timer);
            port_timer_start(&timer, GRACE_NS);
        } else {
            break;
        }
        wanted = !port_timer_preempted(&timer) ||
                 (int32_t)(__atomic_load_n(&nic->polls, __ATOMIC_RELAXED) - began - own) < POLLED;
    }
    port_timer_stop(&timer);
    return wanted;
}

/* A doorbell wakes the helper at once. */
static void leave_to_others(void)
{
    struct port_timer timer;

    port_timer_start(&timer, STAND_BACK_NS);
    port_idle(&timer, false);
    port_timer_stop(&timer);
}

/*
 * A doorbell may be lost, and a lost message is repeated much later without one. A helper that
 * sleeps then never wakes if the application waits for something else. So the helper polls again a
 * few times, for as long as the network may repeat a message.
 */
static uint64_t sleep_limit(const struct gnip_nic *nic, uint32_t milliseconds)
{
    if (__atomic_load_n(&nic->awaits, __ATOMIC_SEQ_CST) && milliseconds > GNIP_PROBE_MS)
        return GNIP_PROBE_MS;
    return milliseconds <= SLEEP_LAST_MS ? milliseconds : UINT64_MAX;
}

static void poll_all(struct gnip_nic *nic)
{
    gnip_lock(&nic->vc_lock);
    gnip_nic_wake_all(nic);
    gnip_unlock(&nic->vc_lock);
}

void gnip_nic_helper(void *argument)
{
    struct gnip_nic *nic = argument;
    gni_cq_handle_t queues[2] = {nic->tx_cq_blk, nic->rx_cq_blk};
    uint32_t which, milliseconds = SLEEP_LAST_MS + 1;
    uint64_t probed = 0;
    gni_return_t rc;

    while (!stopping(nic)) {
        /* first, so that a VC that begins to await something now wakes this thread */
        __atomic_store_n(&nic->asleep, milliseconds > SLEEP_LAST_MS, __ATOMIC_SEQ_CST);
        rc = GNI_CqVectorMonitor(queues, 2, sleep_limit(nic, milliseconds), &which);
        __atomic_store_n(&nic->asleep, false, __ATOMIC_SEQ_CST);
        if (rc == GNI_RC_INVALID_PARAM)
            break; /* the queues are gone, as the NIC is being destroyed */
        if (rc == GNI_RC_ERROR_NOMEM || rc == GNI_RC_ERROR_RESOURCE)
            gnip_pause(RETRY_NS);
        if (rc != GNI_RC_TIMEOUT)
            milliseconds = SLEEP_FIRST_MS;
        else if (milliseconds <= SLEEP_LAST_MS)
            milliseconds *= 2;
        if (rc == GNI_RC_TIMEOUT)
            poll_all(nic);
        probed = gnip_nic_helper_probes(nic, probed);
        if (!stopping(nic) && !work(nic))
            leave_to_others();
    }
}
