/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The seam between api/ and nic/.
 *
 * api/ knows the calls of gni_pub.h: arguments, handles, credits, what a call answers. nic/ knows
 * what Aries does. api/ hands a transaction to the NIC by struct aries_nic_ops (nic/fabric.h), as a
 * struct aries_work; its end comes back by work.done. Events come back through the rings of
 * nic/event_queue.h. Registrations are made and checked in nic/registration.h. The objects of a
 * domain are released by functions that they register (nic/attachment.h).
 *
 * Files of nic/ and sim/ include no header of api/. The functions at the end of this file are all
 * that they call there.
 */
#ifndef JACQUARD_ARIES_INTERFACE_H
#define JACQUARD_ARIES_INTERFACE_H

#include <stddef.h>
#include <string.h>
#include "nic/attachment.h"
#include "nic/endpoint.h"
#include "nic/event_queue.h"
#include "nic/fabric.h"
#include "nic/process.h"
#include "nic/registration.h"
#include "nic/time_base.h"
#include "nic/work.h"

/* ---- what nic/ offers besides ---- */

/*
 * An error event of the NIC: to its subscribers, and under the error policy. `mask` is one of
 * GNI_ERRMASK_, `code` an A_STATUS or other hardware code, ptag 0: concerns all.
 */
void aries_error_raise(struct aries_nic *hw, gni_error_mask_t mask, uint16_t code, uint8_t ptag,
                       uint64_t info);
gni_error_mask_t aries_error_category(uint8_t status); /* of a status that a fault causes */

bool aries_ptag_suspended(const struct aries_nic *hw, uint8_t ptag);

/* ---- what nic/ asks of api/ ---- */

/* An armed queue got an entry: once. */
void aries_channel_fire(struct gni_cq *cq);
/*
 * The NIC did something for the process whose first handle this is. The instances of a shared queue
 * have a mailbox in common, whoever's registration it was written with: those that watch it look.
 */
void aries_msgq_notify(const struct gni_msgq *first);

/* A throttle has begun or ended: `begun` NICs fall back to what they were told for that case. */
void aries_bi_throttled(struct aries_fabric *fabric, bool begun);

/* A node died: offers that it held end with GNI_POST_TIMEOUT. Called by aries_node_crash. */
void aries_datagrams_node_down(struct aries_fabric *fabric, uint32_t node);

/* Datagrams: api/datagram.c matches what nic/datagram_kernel.c carries. */
struct aries_datagram_message;
struct aries_datagram_session;
/*
 * At the target. False: no such instance there (yet). Else the message has been dealt with. Only
 * its fields kind … length and data are looked at.
 */
bool aries_datagram_arrived(struct aries_datagram_message *message);
void aries_datagram_offer_arrived(
    struct aries_datagram_session *session); /* its offer has arrived */
void aries_datagram_failed(
    struct aries_datagram_session *session); /* its offer cannot be delivered */

#endif
