/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Counters (cntr.c), and operations that are triggered by them (trigger.c). */
#ifndef GNIP_CNTR_H
#define GNIP_CNTR_H

#include "queue.h"
#include "lock.h"
#include "progress.h"
#include "waitable.h"

struct gnip_cntr {
    struct fid_cntr fid;
    struct gnip_domain *domain;
    struct gnip_refs refs;
    struct gnip_waitable wait;
    struct gnip_progress_list progress;
    struct gnip_lock lock; /* protects what follows */
    uint64_t value, errors, flags;
    uint64_t value_seen, errors_seen; /* as the last reader has seen them */
    enum fi_wait_obj wait_obj;
    struct fid_wait *wait_set; /* FI_WAIT_SET */
    struct gnip_queue triggers; /* gnip_req.link by threshold (trigger.c) */
};
int gnip_cntr_open(struct fid_domain *domain, struct fi_cntr_attr *attr, struct fid_cntr **cntr,
                   void *context);
/* cntr may be NULL; any lock may be held. Fires triggers. */
void gnip_cntr_add(struct gnip_cntr *cntr, uint64_t count);
void gnip_cntr_add_error(struct gnip_cntr *cntr, uint64_t count);

/*
 * trigger.c. An operation with FI_TRIGGER waits at its counter. When the counter reaches the
 * threshold, the operation moves to ep->fired and its VC is scheduled. The VC's progress submits
 * it.
 */
/* 0, or -FI_EINVAL: no threshold, a counter of another domain, or FI_INJECT. */
int gnip_trigger_check(const struct gnip_ep *ep, void *context, uint64_t flags);
void gnip_trigger_enqueue(struct gnip_req *req); /* req->vc is set; ep->lock is held */
/*
 * The counter has changed: fires the operations that waited for it. Any lock but the counter's may
 * be held. `progress`: no lock is held, and the operations are issued before this returns.
 */
void gnip_trigger_fire(struct gnip_cntr *cntr, bool progress);
void gnip_trigger_fired(struct gnip_ep *ep); /* submits; by gnip_vc_progress, ep->lock is held */
void gnip_trigger_drop(struct gnip_ep *ep); /* the EP closes */

#endif
