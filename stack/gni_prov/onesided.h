/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* One-sided operations: what rma.c, amo.c and onesided.c share. */
#ifndef GNIP_ONESIDED_H
#define GNIP_ONESIDED_H

#include "proto.h"
#include "vc.h"

/* onesided.c: */
void gnip_rma_data_arrived(struct gnip_vc *vc, const struct gnip_remote_event *message);
/* The one that waits (vc->event_waits). False: there is still no memory for its entry. */
bool gnip_rma_data_retry(struct gnip_vc *vc);
void gnip_amo_cntr_arrived(struct gnip_vc *vc, const struct gnip_header *message);
/* Posts what FI_MORE held back, sends notices that had to wait, returns slots of the window that
 * remote events hold: what gnip_vc_progress begins with. ep->lock is held. Returns what was done.
 */
uint32_t gnip_onesided_progress(struct gnip_vc *vc);
/* Something of that waits: for a descriptor, credits or the window. */
static inline bool gnip_onesided_waits(const struct gnip_vc *vc)
{
    return vc->more != NULL || !gnip_queue_empty(&vc->remote_events);
}
/* And no event would bring the VC back for it. */
static inline bool gnip_onesided_stalled(const struct gnip_vc *vc)
{
    return vc->more != NULL ||
           (!gnip_queue_empty(&vc->remote_events) && !vc->remote_events_blocked);
}
/* The VC fails (error: positive errno) or its EP closes (0: silently): ends chains and notices. */
void gnip_onesided_drop(struct gnip_vc *vc, int error);

/* What rma.c and amo.c share; ep->lock is held. */
/* The peer allows it: its caps have FI_RMA or FI_ATOMIC, and the direction if they have any. */
bool gnip_onesided_allowed(const struct gnip_vc *vc, uint64_t operation, uint64_t direction);
/* Hands an accepted request over. */
void gnip_onesided_submit(struct gnip_req *req);
/* Posts it. 0; -FI_EAGAIN, or -FI_EIO with error and prov_errno of the request set: then the
 * descriptor has been given back. */
int gnip_onesided_post(struct gnip_txd *txd,
                       gni_return_t (*post)(gni_ep_handle_t, gni_post_descriptor_t *));
/* It has been issued: its notice, if one is wanted, comes behind those of earlier operations. */
void gnip_onesided_issued(struct gnip_req *req);
/* The data is there: tells the peer if it wants that, then completes. */
void gnip_onesided_succeed(struct gnip_req *req);
void gnip_onesided_fail(struct gnip_req *req); /* with its error and prov_errno */
/* Whether this attempt is to fail, for a test: then it does not happen, and `failed` follows. */
bool gnip_onesided_inject(struct gnip_req *req, int (*failed)(struct gnip_req *req));
/* An issued operation is tried again, or ended, by the VC's progress. */
void gnip_onesided_defer(struct gnip_req *req, int (*what)(struct gnip_req *req));
void gnip_onesided_dropped(struct gnip_req *req, int error); /* gnip_req.dropped */
/* The remote handle that a key stands for, with key_offset when it is one of VMDH (mr.c). */
void gnip_key_handle(const struct gnip_vc *vc, uint64_t key, gni_mem_handle_t *handle);
/* The same; keys come again. */
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
void gnip_rma_unchain(struct gnip_vc *vc); /* takes it off ep->chains, empty */

/* Of one-sided operations; for ops_ep.c ("ep ops 1") and domain.c. */
ssize_t gnip_native_amo(struct fid_ep *ep, const void *buf, size_t count, void *desc, void *result,
                        void *result_desc, fi_addr_t dest_addr, uint64_t addr, uint64_t key,
                        enum fi_datatype datatype, int req_type, void *context);
int gnip_query_atomic(struct fid_domain *domain, enum fi_datatype datatype, enum fi_op op,
                      struct fi_atomic_attr *attr, uint64_t flags);

#endif
