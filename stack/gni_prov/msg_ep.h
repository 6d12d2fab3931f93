/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Connections of MSG endpoints (msg_cm.c, msg_listen.c, msg_wire.c). */
#ifndef GNIP_MSG_EP_H
#define GNIP_MSG_EP_H

#include "gnip.h"

/*
 * Connections of MSG endpoints (msg_cm.c, msg_listen.c, msg_wire.c). A job of the cm_nic repeats
 * their messages.
 */
/*
 * Prepares a new EP, and gives it the request that info->handle names. 0, -FI_EINVAL or -FI_ENOMEM.
 */
int gnip_msg_ep_open(struct gnip_ep *ep, const struct fi_info *info);
/*
 * To be called first when an EP closes; no lock is held. The peer is informed, if need be after the
 * EP is gone.
 */
void gnip_msg_ep_close(struct gnip_ep *ep);
/*
 * Its VC has failed or the peer has closed it, and the queued operations have ended: reports
 * FI_SHUTDOWN. ep->lock is held.
 */
void gnip_msg_lost(struct gnip_ep *ep);
/*
 * The cm_nic closes, and its EPs are gone: waits a short time for acknowledgements. No lock is
 * held; messages still arrive.
 */
void gnip_msg_cm_close(struct gnip_cm_nic *cm_nic);
/* to be called when no message arrives any more */
void gnip_msg_cm_free(struct gnip_cm_nic *cm_nic);

#endif
