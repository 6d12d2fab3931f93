/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Checks at the end of a program or of one of its objects; docs/findings.md has the rules. */
#ifndef JACQUARD_ARIES_API_FINDINGS_H
#define JACQUARD_ARIES_API_FINDINGS_H

#include "api/front.h"

/* The queue is about to be destroyed: records the events and descriptors that are left. */
void aries_findings_cq_ends(struct gni_cq *cq);
/* ": 2 transfers have not completed, the first is to app.3": what a rank that reads it waits for.
 */
void aries_findings_cq_awaits(const struct gni_cq *cq, char *buffer, size_t size);
/* The same for all queues and connections of an attachment. */
void aries_findings_nic_ends(struct gni_nic *nic);

/*
 * The program destroys the object, or deregisters the memory, in a call of its own: records the
 * transfers in flight that still need it.
 */
void aries_findings_ep_destroyed(const struct gni_ep *ep);
void aries_findings_cq_destroyed(const struct gni_cq *cq);
void aries_findings_deregistered(const struct aries_mr *mr);
/* GNI_SmsgInit makes [ring, ring + bytes) the ring of a mailbox. */
void aries_findings_mailbox_new(const struct gni_ep *ep, const uint8_t *ring, uint32_t bytes);
/* The datagrams that an endpoint posted (ep), or an attachment (NULL), and nobody has matched. */
void aries_findings_datagrams(struct gni_nic *nic, const struct gni_ep *ep);

#endif
