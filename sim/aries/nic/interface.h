/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The interface between api/ and nic/.
 *
 * api/ implements the calls of gni_pub.h: arguments, handles, credits and return codes. nic/
 * implements the hardware. api/ hands a transaction to the NIC through struct aries_nic_ops
 * (nic/fabric.h) as a struct aries_work; its end is reported by work.done. Events arrive through
 * the rings of nic/event_queue.h. nic/registration.h makes and checks registrations. The objects
 * of a domain are released by functions that they register (nic/attachment.h).
 *
 * Files of nic/ and sim/ include no header of api/. They call only those functions of api/ that
 * are declared at the end of this file.
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

/* ---- what nic/ offers besides ---------------------------------------------------------------- */

/*
 * Raises an error event of the NIC: it goes to the subscribers, and the error policy applies.
 * `mask` is one of GNI_ERRMASK_, `code` an A_STATUS or another hardware code. ptag 0: the event
 * concerns all tags.
 */
void aries_error_raise(struct aries_nic *hw, gni_error_mask_t mask, uint16_t code, uint8_t ptag,
                       uint64_t info);
/* Category of a status that a fault causes. */
gni_error_mask_t aries_error_category(uint8_t status);

bool aries_ptag_suspended(const struct aries_nic *hw, uint8_t ptag);

/* ---- what nic/ asks of api/ ------------------------------------------------------------------ */

/* Called once when an armed queue gets an entry. */
void aries_channel_fire(struct gni_cq *cq);
/*
 * The NIC changed something for the process whose first handle this is. The instances of a shared
 * queue use one mailbox, whichever registration it was written with, so the instances that watch
 * it poll.
 */
void aries_msgq_notify(const struct gni_msgq *first);

/*
 * A throttle has begun or ended. While it lasts, NICs use the value that was configured for that
 * case.
 */
void aries_bi_throttled(struct aries_fabric *fabric, bool begun);

/*
 * A node has died: offers that it accepted end with GNI_POST_TIMEOUT. aries_node_crash() calls
 * this.
 */
void aries_datagrams_node_down(struct aries_fabric *fabric, uint32_t node);

/* Datagrams: api/ matches the messages that nic/datagram_kernel.c transports. */
struct aries_datagram_message;
struct aries_datagram_session;
/*
 * A message has arrived at its target. False: its instance does not exist (yet). Otherwise the
 * message has been handled. Only the fields kind … length and data are read.
 */
bool aries_datagram_arrived(struct aries_datagram_message *message);
void aries_datagram_offer_arrived(
    struct aries_datagram_session *session); /* its offer has arrived */
void aries_datagram_failed(
    struct aries_datagram_session *session); /* its offer cannot be delivered */

#endif
