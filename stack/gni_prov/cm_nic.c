/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * cm_nics: the addresses of endpoints. Messages between endpoints go through the datagrams of a
 * cm_nic. What cannot be sent now waits in its work queue, which each call to progress runs.
 */
#include <stdlib.h>

#include "cm_nic.h"
#include "ctx.h"
#include "datagram.h"
#include "domain.h"
#include "ep.h"
#include "gnip.h"
#include "lock.h"
#include "msg_ep.h"
#include "name.h"
#include "nic.h"
#include "proto.h"
#include "port/list.h"

#define BUCKETS 16u /* initial number; a power of two */
#define WAKE_AGAIN_NS 1000000u

/* ---- endpoints ------------------------------------------------------------------------------- */

static struct gnip_ep **bucket_of(const struct gnip_cm_nic *cm_nic, uint32_t cdm_id)
{
    return &cm_nic->eps[cdm_id & (cm_nic->ep_buckets - 1)];
}

static void grow(struct gnip_cm_nic *cm_nic)
{
    uint32_t i, before = cm_nic->ep_buckets;
    struct gnip_ep **eps = calloc(2 * before, sizeof(*eps)), **old = cm_nic->eps, *ep;

    if (eps == NULL)
        return; /* the chains get longer */
    cm_nic->eps = eps;
    cm_nic->ep_buckets = 2 * before;
    for (i = 0; i < before; i++) {
        while ((ep = old[i]) != NULL) {
            old[i] = ep->cm_next;
            ep->cm_next = *bucket_of(cm_nic, ep->name.cdm_id);
            *bucket_of(cm_nic, ep->name.cdm_id) = ep;
        }
    }
    free(old);
}

void gnip_cm_nic_add_ep(struct gnip_cm_nic *cm_nic, struct gnip_ep *ep)
{
    struct gnip_ep **bucket;

    gnip_lock(&cm_nic->lock);
    if (++cm_nic->ep_count > cm_nic->ep_buckets)
        grow(cm_nic);
    bucket = bucket_of(cm_nic, ep->name.cdm_id);
    ep->cm_next = *bucket;
    *bucket = ep;
    gnip_unlock(&cm_nic->lock);
}

void gnip_cm_nic_remove_ep(struct gnip_cm_nic *cm_nic, struct gnip_ep *ep)
{
    struct gnip_ep **at;

    gnip_lock(&cm_nic->lock);
    for (at = bucket_of(cm_nic, ep->name.cdm_id); *at != NULL && *at != ep; at = &(*at)->cm_next)
        ;
    if (*at == ep) {
        *at = ep->cm_next;
        assert(cm_nic->ep_count > 0);
        cm_nic->ep_count--;
    }
    gnip_unlock(&cm_nic->lock);
    gnip_gate_wait(&cm_nic->gate, &ep->cm_users);
}

struct gnip_ep *gnip_cm_nic_find_ep(struct gnip_cm_nic *cm_nic, uint32_t cdm_id)
{
    struct gnip_ep *ep;

    gnip_lock(&cm_nic->lock);
    for (ep = *bucket_of(cm_nic, cdm_id); ep != NULL; ep = ep->cm_next)
        if (ep->name.cdm_id == cdm_id)
            break;
    if (ep != NULL)
        __atomic_add_fetch(&ep->cm_users, 1, __ATOMIC_RELAXED);
    gnip_unlock(&cm_nic->lock);
    return ep;
}

void gnip_cm_nic_put_ep(struct gnip_cm_nic *cm_nic, struct gnip_ep *ep)
{
    gnip_gate_drop(&cm_nic->gate, &ep->cm_users);
}

/* ---- jobs ------------------------------------------------------------------------------------ */

/* cm_nic->lock is held. */
static void append(struct gnip_cm_nic *cm_nic, struct gnip_work *work)
{
    gnip_assert_held(&cm_nic->lock);
    port_list_append(&cm_nic->work, &work->link);
    work->queued = true;
    __atomic_store_n(&cm_nic->work_count, cm_nic->work_count + 1, __ATOMIC_RELAXED);
}

static void unlink_work(struct gnip_cm_nic *cm_nic, struct gnip_work *work)
{
    port_list_remove(&work->link);
    work->queued = false;
    __atomic_store_n(&cm_nic->work_count, cm_nic->work_count - 1, __ATOMIC_RELAXED);
}

void gnip_cm_work_add(struct gnip_cm_nic *cm_nic, struct gnip_work *work)
{
    bool sleeping;

    gnip_lock(&cm_nic->lock);
    if (work->running)
        work->again = true;
    else if (!work->queued)
        append(cm_nic, work);
    cm_nic->work_added = true;
    sleeping = cm_nic->sleeping;
    gnip_unlock(&cm_nic->lock);
    if (sleeping)
        gnip_datagram_wake(cm_nic);
}

void gnip_cm_work_remove(struct gnip_cm_nic *cm_nic, struct gnip_work *work)
{
    bool running;

    do {
        gnip_lock(&cm_nic->lock);
        if (work->queued)
            unlink_work(cm_nic, work);
        running = work->running;
        gnip_unlock(&cm_nic->lock);
        if (running)
            gnip_gate_wait(&cm_nic->gate, &work->users);
    } while (running); /* it may have been queued again */
}

static struct gnip_work *next_work(struct gnip_cm_nic *cm_nic)
{
    struct gnip_work *work = NULL;

    gnip_lock(&cm_nic->lock);
    if (!port_list_empty(&cm_nic->work)) {
        work = gnip_container(cm_nic->work.next, struct gnip_work, link);
        unlink_work(cm_nic, work);
        work->running = true;
        work->again = false;
        __atomic_add_fetch(&work->users, 1, __ATOMIC_RELAXED);
    }
    gnip_unlock(&cm_nic->lock);
    return work;
}

/* False: it must be tried again. */
static bool run(struct gnip_cm_nic *cm_nic, struct gnip_work *work)
{
    void (*over)(struct gnip_work *, int) = work->over;
    int rc = work->run(work);
    bool again;

    gnip_lock(&cm_nic->lock);
    again = rc == -FI_EAGAIN || work->again;
    work->running = work->again = false;
    if (again)
        append(cm_nic, work);
    gnip_unlock(&cm_nic->lock);
    gnip_gate_drop(&cm_nic->gate, &work->users);
    if (!again && over != NULL)
        over(work, rc);
    return !again;
}

/* Tries each job once. When no datagram is free, the others would find none, either. */
static uint32_t run_work(struct gnip_cm_nic *cm_nic)
{
    uint32_t left = __atomic_load_n(&cm_nic->work_count, __ATOMIC_RELAXED), done = 0;
    struct gnip_work *work;

    for (; left > 0 && (work = next_work(cm_nic)) != NULL; left--) {
        if (run(cm_nic, work))
            done++;
        else if (!gnip_datagram_may_post(cm_nic))
            break;
    }
    return done;
}

/* ---- messages -------------------------------------------------------------------------------- */

struct self_message {
    struct gnip_work work;
    struct gnip_cm_nic *cm_nic;
    uint8_t message[GNIP_CM_BYTES];
};

static int deliver_to_self(struct gnip_work *work)
{
    struct self_message *self = gnip_container(work, struct self_message, work);
    const struct gnip_name *name = &self->cm_nic->name;

    gnip_cm_deliver(self->cm_nic, name->device_addr, name->cdm_id, self->message);
    return 0;
}

static void free_self_message(struct gnip_work *work, int status)
{
    (void)status;
    free(gnip_container(work, struct self_message, work));
}

static int send_to_self(struct gnip_cm_nic *cm_nic, const void *message, uint32_t bytes)
{
    struct self_message *self = calloc(1, sizeof(*self));

    if (self == NULL)
        return -FI_EAGAIN;
    self->work.run = deliver_to_self;
    self->work.over = free_self_message;
    self->cm_nic = cm_nic;
    memcpy(self->message, message, bytes);
    gnip_cm_work_add(cm_nic, &self->work);
    return 0;
}

int gnip_cm_send(struct gnip_cm_nic *cm_nic, uint32_t device_addr, uint32_t cdm_id,
                 const void *message, uint32_t bytes)
{
    if (bytes > GNIP_CM_BYTES)
        return -FI_EINVAL;
    if (gnip_unlikely(cm_nic->datagrams == NULL)) /* suspended */
        return -FI_EAGAIN;
    if (device_addr == cm_nic->name.device_addr && cdm_id == cm_nic->name.cdm_id)
        return send_to_self(cm_nic, message, bytes);
    return gnip_datagram_post(cm_nic, device_addr, cdm_id, message, bytes);
}

void gnip_cm_deliver(struct gnip_cm_nic *cm_nic, uint32_t device_addr, uint32_t cdm_id,
                     const void *message)
{
    const uint8_t *type = message;

    if (*type >= GNIP_CM_CONNREQ)
        gnip_msg_cm_receive(cm_nic, device_addr, cdm_id, message, GNIP_CM_BYTES);
    else
        gnip_vc_cm_receive(cm_nic, device_addr, cdm_id, message, GNIP_CM_BYTES);
}

/* ---- progress -------------------------------------------------------------------------------- */

/* Posts wildcards that could not be posted before. */
static void accept_remaining(struct gnip_cm_nic *cm_nic)
{
    if (gnip_unlikely(cm_nic->enabled &&
                      __atomic_load_n(&cm_nic->free_wildcard.next, __ATOMIC_RELAXED) !=
                          &cm_nic->free_wildcard))
        gnip_datagram_accept(cm_nic);
}

uint32_t gnip_cm_nic_progress(struct gnip_cm_nic *cm_nic, uint32_t *polls)
{
    uint32_t done = 0;

    if (gnip_unlikely(cm_nic->datagrams == NULL)) /* suspended */
        return 0;
    if (__atomic_load_n(&cm_nic->helper, __ATOMIC_RELAXED) == NULL) {
        done = gnip_datagram_poll(cm_nic, false, 0);
        ++*polls;
        accept_remaining(cm_nic);
    }
    if (gnip_unlikely(__atomic_load_n(&cm_nic->work_count, __ATOMIC_RELAXED) != 0))
        done += run_work(cm_nic);
    return done;
}

static bool stopping(const struct gnip_cm_nic *cm_nic)
{
    return __atomic_load_n(&cm_nic->stop, __ATOMIC_SEQ_CST);
}

/* How long the helper may wait for datagrams without polling. */
static int wait_limit(struct gnip_cm_nic *cm_nic, int idle_limit)
{
    int limit = idle_limit;

    gnip_lock(&cm_nic->lock);
    if (cm_nic->work_count != 0 || !port_list_empty(&cm_nic->free_wildcard))
        limit = (int)cm_nic->nic->params.dgram_timeout;
    if (cm_nic->work_added)
        limit = 0;
    cm_nic->work_added = false;
    cm_nic->sleeping = limit != 0;
    gnip_unlock(&cm_nic->lock);
    if (__atomic_load_n(&cm_nic->awaits, __ATOMIC_SEQ_CST) && (limit < 0 || limit > GNIP_PROBE_MS))
        limit = GNIP_PROBE_MS;
    return limit;
}

static void wake_data_helpers(struct gnip_cm_nic *cm_nic)
{
    const struct gnip_ep *ep;

    gnip_lock(&cm_nic->lock);
    for (uint32_t i = 0; i < cm_nic->ep_buckets; i++)
        for (ep = cm_nic->eps[i]; ep != NULL; ep = ep->cm_next)
            if (ep->nic != NULL && __atomic_load_n(&ep->nic->awaits, __ATOMIC_SEQ_CST))
                gnip_nic_wake_helper(ep->nic);
    gnip_unlock(&cm_nic->lock);
}

/*
 * A request without an answer is repeated by the data helper (vc_probe.c), which sleeps if there
 * was no traffic yet. `since`: when this thread first saw that a request was sent; 0: it did not.
 */
static uint64_t watch_requests(struct gnip_cm_nic *cm_nic, uint64_t since)
{
    uint64_t time;

    if (!__atomic_load_n(&cm_nic->awaits, __ATOMIC_SEQ_CST))
        return 0;
    time = port_now();
    if (since == 0 || time - since < GNIP_PROBE_MS * UINT64_C(1000000))
        return since != 0 ? since : time;
    __atomic_store_n(&cm_nic->awaits, false, __ATOMIC_SEQ_CST);
    wake_data_helpers(cm_nic);
    return 0;
}

static void helper(void *argument)
{
    struct gnip_cm_nic *cm_nic = argument;
    int idle_limit = cm_nic->datagram_timeout;
    uint64_t since = 0;

    while (!stopping(cm_nic)) {
        gnip_datagram_poll(cm_nic, true, wait_limit(cm_nic, idle_limit));
        gnip_lock(&cm_nic->lock);
        cm_nic->sleeping = false;
        gnip_unlock(&cm_nic->lock);
        if (stopping(cm_nic))
            break;
        since = watch_requests(cm_nic, since);
        accept_remaining(cm_nic);
        run_work(cm_nic);
    }
}

static void start_helper(struct gnip_cm_nic *cm_nic)
{
    __atomic_store_n(&cm_nic->helper, port_thread_start("gni-control", helper, cm_nic),
                     __ATOMIC_RELEASE);
}

static void stop_helper(struct gnip_cm_nic *cm_nic)
{
    struct port_timer timer;

    __atomic_store_n(&cm_nic->stop, true, __ATOMIC_SEQ_CST);
    if (cm_nic->helper == NULL)
        return;
    while (!gnip_datagram_wake(cm_nic)) { /* GNI has no resources now */
        port_timer_start(&timer, WAKE_AGAIN_NS);
        while (!port_timer_rang(&timer))
            port_idle(&timer, false);
        port_timer_stop(&timer);
    }
    port_thread_join(cm_nic->helper);
    cm_nic->helper = NULL;
}

void gnip_cm_nic_suspend(struct gnip_cm_nic *cm_nic)
{
    stop_helper(cm_nic);
    gnip_datagrams_close(cm_nic);
}

int gnip_cm_nic_resume(struct gnip_cm_nic *cm_nic)
{
    int rc;

    if (cm_nic->datagrams != NULL)
        return 0;
    cm_nic->bound_made = cm_nic->wildcard_made = cm_nic->datagrams_active = 0;
    rc = gnip_datagrams_open(cm_nic, cm_nic->bound_count, cm_nic->wildcard_count);
    if (rc != 0)
        return rc;
    cm_nic->name.device_addr = cm_nic->nic->device_addr;
    cm_nic->stop = false;
    cm_nic->work_added = true;
    if (cm_nic->enabled)
        gnip_datagram_accept(cm_nic);
    if (cm_nic->enabled && cm_nic->automatic)
        start_helper(cm_nic);
    return 0;
}

int gnip_cm_nic_enable(struct gnip_cm_nic *cm_nic)
{
    bool start;

    if (cm_nic->datagrams == NULL) /* suspended */
        return -FI_EAGAIN;
    gnip_lock(&cm_nic->lock);
    start = !cm_nic->enabled && cm_nic->automatic;
    cm_nic->enabled = true;
    gnip_unlock(&cm_nic->lock);
    gnip_datagram_accept(cm_nic);
    /* Without a helper, threads that read queues make connections. */
    if (start)
        start_helper(cm_nic);
    return 0;
}

/* ---- opening, suspending, closing ------------------------------------------------------------ */

static void destroy(struct gnip_cm_nic *cm_nic)
{
    struct port_link *link;

    if (cm_nic->nic != NULL) {
        gnip_datagrams_close(cm_nic);
        gnip_msg_cm_free(cm_nic);
        while ((link = port_list_pop(&cm_nic->work)) != NULL) {
            struct gnip_work *work = gnip_container(link, struct gnip_work, link);

            work->queued = false;
            if (work->over != NULL)
                work->over(work, -FI_ECANCELED);
        }
        gnip_nic_put(cm_nic->nic);
    }
    free(cm_nic->eps);
    gnip_gate_fini(&cm_nic->gate);
    gnip_lock_fini(&cm_nic->lock);
    free(cm_nic);
}

int gnip_cm_nic_open(struct gnip_ctx *ctx, struct gnip_domain *domain, struct gnip_auth *auth,
                     const struct gnip_fabric *fabric, uint32_t cdm_id,
                     enum gnip_name_type name_type, struct gnip_cm_nic **made)
{
    struct gnip_cm_nic *cm_nic = calloc(1, sizeof(*cm_nic));
    int rc;

    if (cm_nic == NULL)
        return -FI_ENOMEM;
    cm_nic->ctx = ctx;
    cm_nic->domain = domain;
    cm_nic->automatic = domain != NULL && domain->control_progress == FI_PROGRESS_AUTO;
    cm_nic->datagram_timeout = fabric->datagram_timeout;
    gnip_lock_init(&cm_nic->lock, domain != NULL && gnip_single(domain));
    gnip_gate_init(&cm_nic->gate, false);
    port_list_init(&cm_nic->work);
    cm_nic->ep_buckets = BUCKETS;
    cm_nic->eps = calloc(BUCKETS, sizeof(*cm_nic->eps));
    rc = cm_nic->eps == NULL
             ? -FI_ENOMEM
             : gnip_datagrams_open(cm_nic, fabric->bound_datagrams, fabric->wildcard_datagrams);
    if (rc == 0 && domain != NULL)
        rc = gnip_nic_get(domain, auth, cdm_id, true, &cm_nic->nic);
    else if (rc == 0)
        rc = gnip_nic_get_alone(ctx, auth, cdm_id, &cm_nic->nic);
    if (rc != 0) {
        gnip_datagrams_free(cm_nic);
        cm_nic->nic = NULL;
        destroy(cm_nic);
        return rc;
    }
    cm_nic->name = (struct gnip_name){
        .device_addr = cm_nic->nic->device_addr,
        .cdm_id = cm_nic->nic->cdm_id,
        .name_type = name_type,
        .cm_nic_cdm_id = cm_nic->nic->cdm_id & 0xffffff,
        .cookie = auth->cookie,
    };
    if (domain != NULL) {
        port_mutex_lock(&ctx->lock);
        port_list_append(&domain->cm_nics, &cm_nic->domain_link);
        port_mutex_unlock(&ctx->lock);
    }
    *made = cm_nic;
    return 0;
}

void gnip_cm_nic_close(struct gnip_cm_nic *cm_nic)
{
    if (cm_nic->domain != NULL) {
        port_mutex_lock(&cm_nic->ctx->lock);
        port_list_remove(&cm_nic->domain_link);
        port_mutex_unlock(&cm_nic->ctx->lock);
    }
    gnip_msg_cm_close(cm_nic);
    stop_helper(cm_nic);
    destroy(cm_nic);
}
