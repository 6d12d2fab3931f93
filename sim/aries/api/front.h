/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the files of the front (handles, queues, memory, posts) share, and nobody else uses. */
#ifndef JACQUARD_ARIES_FRONT_H
#define JACQUARD_ARIES_FRONT_H

#include <glib.h>
#include "internal.h"
#include "nic/objects.h"

#define UNBOUND UINT32_MAX /* remote address and id of an endpoint without a peer */

/* The NIC that a device id names for the running process: 0, or all-ones for the nearest. */
struct aries_nic *aries_device(uint32_t device_id); /* NULL: no such device */

/* process.c */
/* The job that (ptag, cookie) names on a node, ptag GNI_FIND_ALLOC_PTAG: by cookie. NULL: none. */
struct aries_job *aries_job_find(struct aries_nic *hw, uint8_t ptag, uint32_t cookie);
struct aries_job *aries_job_add(struct aries_fabric *fabric, uint32_t node, uint64_t job_id,
                                uint8_t ptag, uint32_t cookie);
uint8_t aries_job_ptag(struct aries_fabric *fabric, struct aries_job *job); /* allocates it */

/* cdm.c */
static inline void aries_nic_ref(struct gni_nic *nic)
{
    nic->refs++;
}
void aries_nic_unref(struct gni_nic *nic);

/* ep.c */
static inline bool aries_ep_bound(const struct gni_ep *ep)
{
    return ep->remote_addr != UNBOUND || ep->remote_id != UNBOUND;
}

/* request.c */
void aries_requests_init(struct gni_cq *cq, uint32_t count);
void aries_requests_detach(struct gni_cq *cq); /* the queue dies: endpoints forget its requests */
/* An endpoint dies: its requests of this queue go on without it. */
void aries_requests_forget(struct gni_cq *cq, const struct gni_ep *ep);
void aries_requests_free(struct gni_cq *cq);
bool aries_requests_exhausted(const struct gni_cq *cq);
struct aries_request *aries_request_of(struct gni_cq *cq, uint32_t tid); /* NULL: not busy */
/* The transaction of a request has ended; its slot is free once it is retired, too. */
void aries_request_landed(struct gni_cq *cq, struct aries_request *request);

/* mem.c */
void aries_mdds_free(struct aries_nic *hw);

#endif
