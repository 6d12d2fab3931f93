/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Triggered operations. They wait at their counter in order of threshold, those with equal ones in
 * order of arrival. When the counter reaches the threshold they move to their endpoint, and the
 * progress of its connections submits them. So a counter may change under any lock, and an
 * operation whose completion fires others does not recurse.
 */
#include "cntr.h"
#include "ep.h"
#include "gnip.h"
#include "queue.h"
#include "lock.h"
#include "nic.h"
#include "req.h"
#include "vc.h"

#define AT_ONCE 16 /* operations that are moved before their connections are scheduled */

static const struct fi_trigger_threshold *threshold_of(const struct gnip_req *req)
{
    return &((const struct fi_triggered_context *)req->context)->trigger.threshold;
}

static struct gnip_cntr *cntr_of(const struct gnip_req *req)
{
    return gnip_container(threshold_of(req)->cntr, struct gnip_cntr, fid);
}

int gnip_trigger_check(const struct gnip_ep *ep, void *context, uint64_t flags)
{
    const struct fi_triggered_context *triggered = context;
    const struct fid_cntr *cntr;

    if (!(flags & FI_TRIGGER))
        return 0;
    if (context == NULL || (flags & FI_INJECT) || triggered->event_type != FI_TRIGGER_THRESHOLD)
        return -FI_EINVAL;
    cntr = triggered->trigger.threshold.cntr;
    if (cntr == NULL || cntr->fid.fclass != FI_CLASS_CNTR ||
        gnip_container(cntr, const struct gnip_cntr, fid)->domain != ep->domain)
        return -FI_EINVAL;
    return 0;
}

/* Inserts it behind those with the same threshold. cntr->lock is held. */
static void insert(struct gnip_cntr *cntr, struct gnip_req *req)
{
    size_t threshold = threshold_of(req)->threshold;
    struct gnip_qlink *at, *behind = NULL;

    gnip_assert_held(&cntr->lock);
    for (at = cntr->triggers.head; at != NULL; behind = at, at = at->next) {
        if (threshold_of(gnip_container(at, struct gnip_req, link))->threshold > threshold)
            break;
    }
    req->link.next = at;
    if (at == NULL)
        cntr->triggers.tail = &req->link;
    if (behind != NULL)
        behind->next = &req->link;
    else
        __atomic_store_n(&cntr->triggers.head, &req->link, __ATOMIC_RELAXED);
}

gnip_noinline void gnip_trigger_enqueue(struct gnip_req *req)
{
    struct gnip_cntr *cntr = cntr_of(req);
    bool there;

    gnip_assert_held(&req->ep->lock);
    gnip_lock(&cntr->lock);
    there = cntr->value >= threshold_of(req)->threshold;
    if (!there)
        insert(cntr, req);
    gnip_unlock(&cntr->lock);
    if (there) {
        req->flags &= ~(uint64_t)FI_TRIGGER;
        gnip_vc_submit(req->vc, req);
    }
}

/* Moves it to the endpoint, under the counter's lock: in order, also if several threads fire. */
static void move(struct gnip_req *req)
{
    struct gnip_ep *ep = req->ep;

    req->flags &= ~(uint64_t)FI_TRIGGER;
    gnip_lock(&ep->fired_lock);
    gnip_queue_append(&ep->fired, &req->link);
    gnip_unlock(&ep->fired_lock);
}

static uint32_t move_some(struct gnip_cntr *cntr, struct gnip_vc **vcs)
{
    uint32_t count = 0;
    struct gnip_qlink *head;

    gnip_lock(&cntr->lock);
    while (count < AT_ONCE && (head = cntr->triggers.head) != NULL) {
        struct gnip_req *req = gnip_container(head, struct gnip_req, link);

        if (threshold_of(req)->threshold > cntr->value)
            break;
        __atomic_store_n(&cntr->triggers.head, head->next, __ATOMIC_RELAXED);
        vcs[count++] = req->vc;
        move(req);
    }
    gnip_unlock(&cntr->lock);
    return count;
}

gnip_noinline void gnip_trigger_fire(struct gnip_cntr *cntr, bool progress)
{
    struct gnip_vc *vcs[AT_ONCE];
    uint32_t count, i, polls = 0;

    do {
        /* A request may have ended when this returns, but the memory of its VC remains. */
        count = move_some(cntr, vcs);
        for (i = 0; i < count; i++)
            gnip_vc_schedule(vcs[i]);
        for (i = 0; progress && i < count; i++)
            if (i == 0 || vcs[i]->nic != vcs[i - 1]->nic)
                gnip_nic_progress(vcs[i]->nic, &polls);
    } while (count == AT_ONCE);
}

gnip_noinline void gnip_trigger_fired(struct gnip_ep *ep)
{
    struct gnip_qlink *link;

    gnip_assert_held(&ep->lock);
    for (;;) {
        gnip_lock(&ep->fired_lock);
        link = gnip_queue_pop(&ep->fired);
        gnip_unlock(&ep->fired_lock);
        if (link == NULL)
            return;
        struct gnip_req *req = gnip_container(link, struct gnip_req, link);
        gnip_vc_submit(req->vc, req);
    }
}

/* Ends operations that wait at any counter and those that have fired, without entries. */
void gnip_trigger_drop(struct gnip_ep *ep)
{
    struct gnip_qlink *link;
    struct gnip_req *req;
    uint32_t place = 0;

    gnip_assert_held(&ep->lock);
    while ((req = gnip_req_each(ep, &place)) != NULL) {
        struct gnip_cntr *cntr;
        bool waited;

        if (!(req->flags & FI_TRIGGER))
            continue;
        cntr = cntr_of(req);
        gnip_lock(&cntr->lock);
        waited = gnip_queue_remove(&cntr->triggers, &req->link);
        gnip_unlock(&cntr->lock);
        if (waited)
            gnip_req_put(req);
    }
    for (;;) {
        gnip_lock(&ep->fired_lock);
        link = gnip_queue_pop(&ep->fired);
        gnip_unlock(&ep->fired_lock);
        if (link == NULL)
            return;
        gnip_req_put(gnip_container(link, struct gnip_req, link));
    }
}
