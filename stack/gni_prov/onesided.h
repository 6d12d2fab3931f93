/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* One-sided operations: what rma.c, amo.c and onesided.c share. */
#ifndef GNIP_ONESIDED_H
#define GNIP_ONESIDED_H

#include "proto.h"
#include "vc.h"

/* onesided.c: */
void gnip_rma_data_arrived(struct gnip_vc *vc, const struct gnip_remote_event *message);
/* Retries the event that waits (vc->event_waits). False: there is still no memory for its entry. */
bool gnip_rma_data_retry(struct gnip_vc *vc);
void gnip_amo_cntr_arrived(struct gnip_vc *vc, const struct gnip_header *message);
/*
 * gnip_vc_progress begins with this: posts chains that FI_MORE held back, sends remote events that
 * had to wait, and returns credits of remote events that had no room. ep->lock is held. Returns the
 * amount of work done.
 */
uint32_t gnip_onesided_progress(struct gnip_vc *vc);
/* Some of that waits: for a descriptor, for credits, or for room in the CQ. */
static inline bool gnip_onesided_waits(const struct gnip_vc *vc)
{
    return vc->more != NULL || !gnip_queue_empty(&vc->remote_events);
}
/* And no event would schedule the VC for it. */
static inline bool gnip_onesided_stalled(const struct gnip_vc *vc)
{
    return vc->more != NULL ||
           (!gnip_queue_empty(&vc->remote_events) && !vc->remote_events_blocked);
}
/*
 * The VC fails (error: positive errno) or its EP closes (0: no entries): ends chains and remote
 * events.
 */
void gnip_onesided_drop(struct gnip_vc *vc, int error);

/* What rma.c and amo.c share; ep->lock is held. */
/*
 * The peer allows it: its capabilities have FI_RMA or FI_ATOMIC, and the direction if they name
 * any.
 */
bool gnip_onesided_allowed(const struct gnip_vc *vc, uint64_t operation, uint64_t direction);
/* Submits an accepted request. */
void gnip_onesided_submit(struct gnip_req *req);
/*
 * Posts it. 0; -FI_EAGAIN; or -FI_EIO with the request's error and prov_errno set. After an error
 * the descriptor has been returned.
 */
int gnip_onesided_post(struct gnip_txd *txd,
                       gni_return_t (*post)(gni_ep_handle_t, gni_post_descriptor_t *));
/*
 * It has been issued: its remote event, if the peer wants one, follows those of earlier operations.
 */
void gnip_onesided_issued(struct gnip_req *req);
/* The data has arrived: sends the peer its event, if it wants one, then completes the request. */
void gnip_onesided_succeed(struct gnip_req *req);
void gnip_onesided_fail(struct gnip_req *req); /* with its error and prov_errno */
/* Whether a test wants this attempt to fail. If so, nothing is posted, and `failed` is called. */
bool gnip_onesided_inject(struct gnip_req *req, int (*failed)(struct gnip_req *req));
/* The VC's progress retries or ends an issued operation. */
void gnip_onesided_defer(struct gnip_req *req, int (*what)(struct gnip_req *req));
void gnip_onesided_dropped(struct gnip_req *req, int error); /* gnip_req.dropped */
/* The remote memory handle for a key; with key_offset for a VMDH key (mr.c). */
void gnip_key_handle(const struct gnip_vc *vc, uint64_t key, gni_mem_handle_t *handle);
/* The same, with a cache for keys that are used again. */
static inline const gni_mem_handle_t *gnip_remote_handle(struct gnip_vc *vc, uint64_t key)
{
    if (key != vc->recent_key || key == 0) {
        gnip_key_handle(vc, key, &vc->recent_handle);
        vc->recent_key = key;
    }
    return &vc->recent_handle;
}
/* rma.c: */
int gnip_rma_flush(struct gnip_vc *vc); /* posts its chain. 0 or -FI_EAGAIN */
void gnip_rma_unchain(struct gnip_vc *vc); /* removes it from ep->chains; the chain is empty */

/* Counters of one-sided operations, for ops_ep.c ("ep ops 1") and domain.c. */
ssize_t gnip_native_amo(struct fid_ep *ep, const void *buf, size_t count, void *desc, void *result,
                        void *result_desc, fi_addr_t dest_addr, uint64_t addr, uint64_t key,
                        enum fi_datatype datatype, int req_type, void *context);
int gnip_query_atomic(struct fid_domain *domain, enum fi_datatype datatype, enum fi_op op,
                      struct fi_atomic_attr *attr, uint64_t flags);

#endif
