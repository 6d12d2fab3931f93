/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Nodes that do not answer (watch.c). */
#ifndef GNIP_WATCH_H
#define GNIP_WATCH_H

#include "gnip.h"

/* watch.c: nodes that do not answer, as the NIC reports them, for endpoints with an EQ. */
void gnip_watch_begin(struct gnip_nic *nic); /* from now on; no lock is held */
/* the subscription is released with the NIC's objects of GNI */
void gnip_watch_suspend(struct gnip_nic *nic);
void gnip_watch_end(struct gnip_nic *nic);
void gnip_watch_connected(struct gnip_vc *vc); /* ep->lock is held */
/*
 * Its connection has failed: reports FI_EHOSTDOWN to the EQ if the node does not answer. ep->lock
 * is held.
 */
void gnip_watch_failed(struct gnip_vc *vc, int error);

#endif
