/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The objects of a wait or poll set. Making progress for them may take long (a simulated thread
 * that polls an idle queue is suspended), so no lock is held meanwhile. A thread that removes an
 * object waits until no other one traverses the list.
 */
#include <stdlib.h>

#include "cntr.h"
#include "cq.h"
#include "eq.h"
#include "gnip.h"
#include "lock.h"
#include "members.h"
#include "progress.h"
#include "waitable.h"

void gnip_members_init(struct gnip_members *members)
{
    memset(members, 0, sizeof(*members));
    port_mutex_init(&members->lock);
}

void gnip_members_fini(struct gnip_members *members)
{
    port_mutex_destroy(&members->lock);
}

struct gnip_waitable *gnip_waitable_of(struct fid *object)
{
    switch (object->fclass) {
    case FI_CLASS_CQ:
        return &gnip_container(object, struct gnip_cq, fid.fid)->wait;
    case FI_CLASS_CNTR:
        return &gnip_container(object, struct gnip_cntr, fid.fid)->wait;
    case FI_CLASS_EQ:
        return &gnip_container(object, struct gnip_eq, fid.fid)->wait;
    default:
        return NULL;
    }
}

/* A number that differs whenever value or errors do, for all practical purposes. */
static uint64_t counter_state(const struct gnip_cntr *cntr)
{
    return __atomic_load_n(&cntr->value, __ATOMIC_RELAXED) +
           __atomic_load_n(&cntr->errors, __ATOMIC_RELAXED) * 0x9e3779b97f4a7c15ull;
}

int gnip_members_add(struct gnip_members *members, struct fid *object)
{
    struct gnip_member *member = calloc(1, sizeof(*member)), **at;

    if (member == NULL)
        return -FI_ENOMEM;
    member->object = object;
    port_mutex_lock(&members->lock);
    for (at = &members->first; *at != NULL; at = &(*at)->next) {
        if ((*at)->object == object) {
            port_mutex_unlock(&members->lock);
            free(member);
            return -FI_EINVAL;
        }
    }
    __atomic_store_n(at, member, __ATOMIC_RELEASE);
    port_mutex_unlock(&members->lock);
    return 0;
}

int gnip_members_remove(struct gnip_members *members, struct fid *object)
{
    struct gnip_member *member, **at;
    struct port_timer timer;

    port_mutex_lock(&members->lock);
    for (at = &members->first; *at != NULL && (*at)->object != object; at = &(*at)->next)
        ;
    member = *at;
    if (member != NULL)
        __atomic_store_n(at, member->next, __ATOMIC_SEQ_CST);
    port_mutex_unlock(&members->lock);
    if (member == NULL)
        return -FI_EINVAL;
    while (__atomic_load_n(&members->sweeps, __ATOMIC_SEQ_CST) != 0) {
        /* a thread that polls it returns to the list */
        gnip_waitable_signal(gnip_waitable_of(object));
        port_timer_start(&timer, 10000);
        port_idle(&timer, false);
        port_timer_stop(&timer);
    }
    free(member);
    return 0;
}

struct gnip_member *gnip_members_sweep(struct gnip_members *members)
{
    __atomic_fetch_add(&members->sweeps, 1, __ATOMIC_SEQ_CST);
    return __atomic_load_n(&members->first, __ATOMIC_ACQUIRE);
}

void gnip_members_swept(struct gnip_members *members)
{
    __atomic_fetch_sub(&members->sweeps, 1, __ATOMIC_RELEASE);
}

bool gnip_member_ready(struct gnip_member *member, uint32_t *polls)
{
    struct gnip_cq *cq;
    struct gnip_cntr *cntr;
    struct gnip_eq *eq;
    uint64_t state;
    bool ready;

    switch (member->object->fclass) {
    case FI_CLASS_CQ:
        cq = gnip_container(member->object, struct gnip_cq, fid.fid);
        *polls += gnip_progress_list_run(&cq->progress);
        /* orders this read after earlier additions, because the caller may go to sleep */
        gnip_lock(&cq->lock);
        ready = gnip_cq_pending(cq) != 0;
        gnip_unlock(&cq->lock);
        return ready;
    case FI_CLASS_CNTR:
        cntr = gnip_container(member->object, struct gnip_cntr, fid.fid);
        *polls += gnip_progress_list_run(&cntr->progress);
        state = counter_state(cntr);
        if (state == __atomic_load_n(&member->seen, __ATOMIC_RELAXED))
            return false;
        __atomic_store_n(&member->seen, state, __ATOMIC_RELAXED);
        return true;
    case FI_CLASS_EQ:
        eq = gnip_container(member->object, struct gnip_eq, fid.fid);
        *polls += gnip_eq_progress(eq);
        gnip_lock(&eq->lock);
        ready = gnip_eq_pending(eq);
        gnip_unlock(&eq->lock);
        return ready;
    default:
        return false;
    }
}
