/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Functions and types that only the files of api/ share. */
#ifndef JACQUARD_ARIES_FRONT_H
#define JACQUARD_ARIES_FRONT_H

#include <glib.h>
#include <string.h>
#include "nic/interface.h"
#include "nic/job.h"
#include "nic/objects.h"

/*
 * The NIC that a device id names for the running process. Id 0 is its only NIC; all ones selects
 * the nearest. NULL: no such device.
 */
struct aries_nic *aries_device(uint32_t device_id);

/* cdm.c */
static inline void aries_nic_ref(struct gni_nic *nic)
{
    nic->refs++;
}
void aries_nic_unref(struct gni_nic *nic);

/* request.c */
void aries_requests_init(struct gni_cq *cq, uint32_t count);
/* The queue is destroyed: endpoints drop their references to its requests. */
void aries_requests_detach(struct gni_cq *cq);
/* The endpoint is destroyed: its requests in this queue continue without it. */
void aries_requests_forget(struct gni_cq *cq, const struct gni_ep *ep);
void aries_requests_free(struct gni_cq *cq);
bool aries_requests_exhausted(const struct gni_cq *cq);
/* NULL: no request in use has this TID. */
struct aries_request *aries_request_of(struct gni_cq *cq, uint32_t tid);
/* The transaction of a request has ended. The slot is free once the request is retired, too. */
void aries_request_landed(struct gni_cq *cq, struct aries_request *request);

/* Allocates a request of a source CQ. NULL: all are in use. */
struct aries_request *aries_request_new(struct gni_cq *cq, struct gni_ep *ep,
                                        gni_post_descriptor_t *descr, uint16_t expected);
/* Frees a request and decrements ep->outstanding. */
void aries_request_retire(struct gni_cq *cq, struct aries_request *request);

/* comp_chan.c */
/* The queue is destroyed, or is attached to another channel. */
void aries_channel_detach(struct gni_cq *cq);

/* smsg*.c, ep.c */
/* Returns owed credits; GNI_CqGetEvent and GNI_SmsgGetNext call it. */
void aries_smsg_progress(struct gni_nic *nic);
void aries_smsg_ep_release(struct gni_ep *ep); /* for GNI_EpUnbind and GNI_EpDestroy */
/* Frees the copy of a message that was kept to send it again. The request has ended. */
void aries_smsg_copy_free(struct aries_request *request);
void aries_smsg_ep_free(struct gni_ep *ep); /* frees the memory of the connection */
/* Frees the endpoint when its handle and its transactions have ended. */
void aries_ep_unref(struct gni_ep *ep);
/*
 * The completion of an SMSG send was popped from the source CQ. Returns true if the entry must not
 * be shown, because the message was sent again or a later entry replaces this one. In the ring
 * such an entry has TYPE SMSG, and the TID of the request where a post has it (bits 45:24). If
 * false, cq.c shows the entry with MSG_ID = the low 32 bits of request->post_id instead of the
 * TID, and retires the request.
 */
bool aries_smsg_completed(struct gni_cq *cq, struct aries_request *request, gni_cq_entry_t entry);
/* datagram*.c */
void aries_datagrams_ep_release(struct gni_ep *ep); /* for GNI_EpDestroy */
bool aries_datagram_pending(const struct gni_ep *ep); /* for GNI_EpUnbind and GNI_EpIdle */
#endif
