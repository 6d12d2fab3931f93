/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the files of the front (handles, queues, memory, posts) share, and nobody else uses. */
#ifndef JACQUARD_ARIES_FRONT_H
#define JACQUARD_ARIES_FRONT_H

#include <glib.h>
#include <string.h>
#include "nic/interface.h"
#include "nic/job.h"
#include "nic/objects.h"

/* The NIC that a device id names for the running process: 0, or all-ones for the nearest. */
struct aries_nic *aries_device(uint32_t device_id); /* NULL: no such device */

/* cdm.c */
static inline void aries_nic_ref(struct gni_nic *nic)
{
    nic->refs++;
}
void aries_nic_unref(struct gni_nic *nic);

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

/* Request objects of a source CQ. NULL when all are busy. */
struct aries_request *aries_request_new(struct gni_cq *cq, struct gni_ep *ep,
                                        gni_post_descriptor_t *descr, uint16_t expected);
void aries_request_retire(struct gni_cq *cq,
                          struct aries_request *request); /* frees it, ep->outstanding-- */

/* comp_chan.c */
void aries_channel_detach(struct gni_cq *cq); /* the queue dies, or gets another channel */

/* smsg.c, ep.c */
void aries_smsg_progress(
    struct gni_nic *nic); /* returns owed credits; called by CqGetEvent and GetNext */
void aries_smsg_ep_release(struct gni_ep *ep); /* EpUnbind, EpDestroy */
/* Of a request that has ended: what was kept to send it again. */
void aries_smsg_copy_free(struct aries_request *request);
void aries_smsg_ep_free(struct gni_ep *ep); /* what the connection had allocated */
void aries_ep_unref(
    struct gni_ep *ep); /* ep.c: its memory goes when handle and transactions have */
/*
 * The completion of an SMSG send was popped from the source CQ: true when the entry must not be
 * shown (resent, or replaced by a later entry). In the ring such an entry has TYPE SMSG and the
 * request's TID where a post has it (45:24). On false cq.c shows it with MSG_ID = the low 32 bits
 * of request->post_id instead of the TID, and retires the request.
 */
bool aries_smsg_completed(struct gni_cq *cq, struct aries_request *request, gni_cq_entry_t entry);
/* datagram.c */
void aries_datagrams_ep_release(struct gni_ep *ep); /* EpDestroy */
bool aries_datagram_pending(const struct gni_ep *ep); /* EpUnbind, EpIdle */
#endif
