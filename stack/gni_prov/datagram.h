/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Datagrams of a cm_nic (datagram.c). */
#ifndef GNIP_DATAGRAM_H
#define GNIP_DATAGRAM_H

#include "gnip.h"

int gnip_datagrams_open(struct gnip_cm_nic *cm_nic, uint32_t bound, uint32_t wildcard);
void gnip_datagrams_close(struct gnip_cm_nic *cm_nic);
void gnip_datagrams_free(struct gnip_cm_nic *cm_nic); /* none is in flight */
int gnip_datagram_post(struct gnip_cm_nic *cm_nic, uint32_t device_addr, uint32_t cdm_id,
                       const void *message, uint32_t bytes);
/* Withdraws requests for connections that no peer has received so far. */
void gnip_datagrams_recall(struct gnip_cm_nic *cm_nic);
/* A request was withdrawn: its VC may try again later (vc_cm.c). */
void gnip_vc_cm_unsent(struct gnip_cm_nic *cm_nic, const void *message, uint32_t bytes);
int gnip_datagram_accept(struct gnip_cm_nic *cm_nic); /* posts all free wildcards */
/* Starts the helper, which waits for datagrams. False: not possible now. */
bool gnip_datagram_wake(struct gnip_cm_nic *cm_nic);
bool gnip_datagram_may_post(struct gnip_cm_nic *cm_nic); /* a bound datagram is free */
void gnip_cm_deliver(struct gnip_cm_nic *cm_nic, uint32_t device_addr, uint32_t cdm_id,
                     const void *message);
/*
 * Ends datagrams and returns their number. `block`: the helper waits up to `milliseconds` (-1: for
 * ever).
 */
uint32_t gnip_datagram_poll(struct gnip_cm_nic *cm_nic, bool block, int milliseconds);

#endif
