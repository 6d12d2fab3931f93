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

/* Why the head of tx_queue waits; whoever ends that schedules the VC. */
enum gnip_blocked {
    GNIP_BLOCKED_UNKNOWN, /* tried again and again */
    GNIP_BLOCKED_MAILBOX, /* the peer's return of credits is an event */
    GNIP_BLOCKED_WINDOW, /* the peer's grant is a message */
    GNIP_BLOCKED_FENCE /* the end of an operation */
};

/* vc_table.c */
void gnip_vc_detach(struct gnip_vc *vc); /* from its EP; ep->lock is held */
void gnip_vc_pool(struct gnip_vc *vc); /* its memory goes back to the NIC */

/* vc_cm.c */
bool gnip_vc_fits(const struct gnip_conn *conn); /* a description that we can work with */
void gnip_vc_adopt(struct gnip_vc *vc, const struct gnip_conn *conn); /* the peer's description */
/* GNI's side of a connection, from what is known of both. 0, -FI_EAGAIN, -errno. */
int gnip_vc_wire(struct gnip_vc *vc);
void gnip_vc_now_connected(struct gnip_vc *vc);
/* What its state asks for: at once if possible, else by the cm_nic's progress. */
void gnip_vc_advance(struct gnip_vc *vc);
/* Connections are made by control progress; what they carry should not wait. No lock is held. */
void gnip_vc_progress_control(struct gnip_nic *nic);

/* vc_receive.c */
void gnip_vc_nak(struct gnip_vc *vc, uint16_t reason); /* to the request that it took */
/* Sends GNIP_CONN_NAK, CLOSE, CLOSE_ACK, if not now then later. */
void gnip_vc_send_short(struct gnip_cm_nic *cm_nic, uint32_t device_addr, uint32_t cm_cdm,
                        const struct gnip_conn_short *message);
/* vc_close.c: the request that came meanwhile, or operations that were submitted meanwhile: begins
 * anew. */
void gnip_vc_resume(struct gnip_vc *vc);
void gnip_vc_accept_request(struct gnip_vc *vc, const struct gnip_conn *request);

/* vc_close.c */
/* The peer is gone: what is queued ends with `error`. CONNECTING, CONNECTED → TERMINATING. */
void gnip_vc_terminate(struct gnip_vc *vc, int error, bool keep_queue);

/* VC_CLOSE (with the reason) or its ack; false: not now. */
bool gnip_vc_send_close(struct gnip_vc *vc, uint8_t kind, enum gnip_close_reason reason);

/* vc_quiesce.c: connections that end without a loss, for a while */
void gnip_vc_quiesce_requested(struct gnip_vc *vc); /* VC_CLOSE came */
void gnip_vc_quiesce_step(struct gnip_vc *vc); /* of one that is connected and resting */

/* vc.c: deferred work that will not be done. */
void gnip_vc_drop_work(struct gnip_vc *vc, struct gnip_req *req, int error);
/* The next message of the mailbox; false: none. */
bool gnip_vc_next_message(struct gnip_vc *vc, bool release, void **message, uint8_t *tag);

#endif
