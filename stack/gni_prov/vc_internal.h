/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the files about a VC share (vc.c, vc_*.c). */
#ifndef GNIP_VC_INTERNAL_H
#define GNIP_VC_INTERNAL_H

#include "cm_nic.h"
#include "gnip.h"
#include "nic.h"
#include "nic_internal.h"
#include "proto.h"
#include "req.h"
#include "vc.h"

/* Why the head of tx_queue waits. The event named here schedules the VC again. */
enum gnip_blocked {
    GNIP_BLOCKED_UNKNOWN, /* not known: it is tried again and again */
    GNIP_BLOCKED_MAILBOX, /* the peer returns room in its mailbox */
    GNIP_BLOCKED_WINDOW, /* the peer sends a message with more credits */
    GNIP_BLOCKED_FENCE /* an operation ends */
};

/* vc_table.c */
void gnip_vc_detach(struct gnip_vc *vc); /* removes it from its EP; ep->lock is held */
void gnip_vc_pool(struct gnip_vc *vc); /* returns its memory to the NIC */

/* Something could not be sent. If the peer must make room for it, the VC awaits that. */
static inline void gnip_vc_await_room(struct gnip_vc *vc)
{
    if (vc->blocked == GNIP_BLOCKED_MAILBOX || vc->blocked == GNIP_BLOCKED_WINDOW)
        gnip_vc_await(vc);
}

/* vc_cm.c */
bool gnip_vc_fits(const struct gnip_conn *conn); /* we can work with such a description */
/* takes over the peer's description */
void gnip_vc_adopt(struct gnip_vc *vc, const struct gnip_conn *conn);
/* Sets up GNI's side of a connection, from both descriptions. 0, -FI_EAGAIN, -errno. */
int gnip_vc_wire(struct gnip_vc *vc);
void gnip_vc_now_connected(struct gnip_vc *vc);
/* Repeats the request, which was delivered and has had no answer. */
void gnip_vc_request_again(struct gnip_vc *vc);
/* Does what its state requires: at once if possible, else by the cm_nic's progress. */
void gnip_vc_advance(struct gnip_vc *vc);
/*
 * Makes some control progress, so that messages on a new connection do not wait for it. No lock is
 * held.
 */
void gnip_vc_progress_control(struct gnip_nic *nic);

/* vc_receive.c */
void gnip_vc_nak(struct gnip_vc *vc, uint16_t reason); /* answers the request that it accepted */
/* Sends GNIP_CONN_NAK, CLOSE or CLOSE_ACK, now or later. */
void gnip_vc_send_short(struct gnip_cm_nic *cm_nic, uint32_t device_addr, uint32_t cm_cdm,
                        const struct gnip_conn_short *message);
/*
 * vc_close.c: begins again, with the request that came meanwhile or for operations that were
 * submitted meanwhile.
 */
void gnip_vc_resume(struct gnip_vc *vc);
void gnip_vc_accept_request(struct gnip_vc *vc, const struct gnip_conn *request);

/* vc_close.c */
/* The peer is gone: what is queued ends with `error`. CONNECTING, CONNECTED → TERMINATING. */
void gnip_vc_terminate(struct gnip_vc *vc, int error, bool keep_queue);

/*
 * CONN_CLOSE: the peer's connection has failed. It has taken messages of so many credits; if others
 * were sent, an error is reported. ep->lock is held.
 */
void gnip_vc_closed_by_peer(struct gnip_vc *vc, uint32_t taken);

/* Sends VC_CLOSE (with the reason) or its ACK. False: not possible now. */
bool gnip_vc_send_close(struct gnip_vc *vc, uint8_t kind, enum gnip_close_reason reason);

/* vc_quiesce.c: connections that end without a loss, for a while */
void gnip_vc_quiesce_requested(struct gnip_vc *vc); /* a VC_CLOSE for quiescing has arrived */
void gnip_vc_quiesce_step(struct gnip_vc *vc); /* of a VC that is connected and quiescing */

/* vc.c */
void gnip_vc_receive_all(struct gnip_vc *vc); /* takes all messages of the mailbox */
/* Deferred work that is not done any more. */
void gnip_vc_drop_work(struct gnip_vc *vc, struct gnip_req *req, int error);
/* Reads the next message of the mailbox. False: there is none. */
bool gnip_vc_next_message(struct gnip_vc *vc, bool release, void **message, uint8_t *tag);

#endif
