/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Connections of MSG endpoints (msg_cm.c, msg_listen.c, msg_wire.c). */
#ifndef GNIP_MSG_EP_H
#define GNIP_MSG_EP_H

#include "gnip.h"

/*
 * Connections of MSG endpoints (msg_cm.c, msg_listen.c, msg_wire.c). Their messages are repeated by
 * an item of the cm_nic's work queue.
 */
/* Of a new EP: takes the request that info->handle stands for. 0 or -FI_EINVAL, -FI_ENOMEM. */
int gnip_msg_ep_open(struct gnip_ep *ep, const struct fi_info *info);
/* First thing of closing an EP; no lock is held. The peer is told, also after the EP is gone. */
void gnip_msg_ep_close(struct gnip_ep *ep);
/* Its VC has failed or was closed by the peer, what was queued has ended: FI_SHUTDOWN. ep->lock is
 * held. */
void gnip_msg_lost(struct gnip_ep *ep);
/* The cm_nic closes, its EPs have gone: waits a short time for acknowledgements. No lock is held,
 * messages still arrive. */
void gnip_msg_cm_close(struct gnip_cm_nic *cm_nic);
void gnip_msg_cm_free(struct gnip_cm_nic *cm_nic); /* when nothing arrives any more */

#endif
