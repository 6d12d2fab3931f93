/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Messages: eager (eager.c), rendezvous (rndzv.c, rndzv_send.c), and their receives (recv.c,
 * mrecv.c, peek.c).
 */
#ifndef GNIP_MESSAGE_H
#define GNIP_MESSAGE_H

#include "gnip.h"
#include "proto.h"

/* Arrived messages. ep->lock is held; the message is valid during the call. eager.c: */
void gnip_eager_arrived(struct gnip_vc *vc, const struct gnip_eager *message);
void gnip_eager_ack_arrived(struct gnip_vc *vc, const struct gnip_header *message);
/* rndzv.c: */
void gnip_rts_arrived(struct gnip_vc *vc, const struct gnip_rts *message);
void gnip_iov_rts_arrived(struct gnip_vc *vc, const struct gnip_iov_rts *message);
void gnip_fin_arrived(struct gnip_vc *vc, const struct gnip_fin *message);

/* Sending (msg.c → eager.c, rndzv.c). */
int gnip_eager_issue(struct gnip_req *req);
int gnip_rndzv_issue(struct gnip_req *req);
/* request 0: the ACK only carries credits */
void gnip_eager_ack(struct gnip_vc *vc, uint32_t request);
void gnip_fin_send(struct gnip_vc *vc, uint32_t request, int32_t status);
/*
 * Sends an ACK or FIN (`kind`) now. `done` is called with `req` when the message has left. 0,
 * -FI_EAGAIN (to be tried again), or another errno: the peer is gone.
 */
int gnip_answer(struct gnip_vc *vc, uint8_t kind, uint32_t request, int32_t status,
                struct gnip_req *req, void (*done)(struct gnip_txd *txd, gni_return_t status));
/* A receive and a rendezvous message have matched (the segments have been copied): fetches it. */
void gnip_rndzv_receive(struct gnip_req *recv, struct gnip_vc *vc,
                        const struct gnip_unexpected *message);
/* A receive and an eager message have matched. */
void gnip_eager_receive(struct gnip_req *recv, struct gnip_vc *vc, const void *payload,
                        uint64_t bytes, uint64_t tag, uint64_t data, uint16_t wire_flags,
                        uint32_t request);
/* The part of a multi-receive buffer for a message. NULL: no request or CQ entry is free now. */
struct gnip_req *gnip_mrecv_child(struct gnip_req *parent, uint64_t bytes);
void gnip_mrecv_child_done(struct gnip_req *parent); /* the last child releases the buffer */
/*
 * Tries again to deliver messages that waited for a part of a buffer (ep->mrecv_stalled). True:
 * none waits any more. Called by gnip_vc_progress; schedules the VC of the first one again.
 * ep->lock is held.
 */
bool gnip_mrecv_retry(struct gnip_ep *ep);

/* What msg.c, eager.c, rndzv.c, mrecv.c and peek.c share. */
/* The receive for an arriving message. NULL: there is none; keep the message. */
struct gnip_req *gnip_recv_match(struct gnip_vc *vc, bool tagged, uint64_t tag, uint64_t bytes);
/* Memory for an unexpected message with `bytes` behind it. NULL: no memory. */
struct gnip_unexpected *gnip_unexpected_new(struct gnip_ep *ep, uint64_t bytes);
void gnip_unexpected_free(struct gnip_ep *ep, struct gnip_unexpected *message);
void gnip_unexpected_keep(struct gnip_vc *vc, struct gnip_unexpected *message);
/* Removes it from the store and gives it to a receive (not a multi-receive). */
void gnip_unexpected_receive(struct gnip_req *recv, struct gnip_unexpected *message);
void gnip_unexpected_discard(struct gnip_ep *ep, struct gnip_unexpected *message);
void gnip_unexpected_lost(struct gnip_vc *vc); /* its connection has failed */
void gnip_unexpected_detach(struct gnip_vc *vc); /* the VC is freed */
void gnip_unexpected_free_all(struct gnip_ep *ep);
/*
 * Writes the completion of a receive of a message of `bytes`; an error if it was longer than the
 * buffer.
 */
void gnip_recv_done(struct gnip_req *recv, uint64_t bytes, uint16_t wire_flags);
/* Copies into the buffers of a receive, as much as fits. */
void gnip_recv_copy(struct gnip_req *recv, const void *data, uint64_t bytes);
void gnip_mrecv_fill(struct gnip_req *parent); /* with messages that arrived before */
/* A receive with these buffers. NULL: no request is left. ep->lock is held. */
struct gnip_req *gnip_recv_new(struct gnip_ep *ep, const struct iovec *iov, void **desc,
                               size_t count, void *context, uint64_t flags);
ssize_t gnip_peek(struct gnip_ep *ep, const struct fi_msg_tagged *msg, uint64_t flags);
/* One round of progress, before -FI_EAGAIN is returned. The calling thread may wait for room. */
ssize_t gnip_ep_wait_for_room(struct gnip_ep *ep);

#endif
