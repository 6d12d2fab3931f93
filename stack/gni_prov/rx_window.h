/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The receive window of a connection: credits for messages from the peer (rx_window.c). */
#ifndef GNIP_RX_WINDOW_H
#define GNIP_RX_WINDOW_H

#include "gnip.h"

/* An endpoint's pool of credits, and the functions of rx_window.c. */
#define GNIP_POOL_CREDITS 131072u /* of an EP: 32 MiB */
#define GNIP_POOL_MESSAGES 16384u
void gnip_rx_window_open(
    struct gnip_vc *vc); /* sets vc->rx_credits: the first credits, from the EP's pool */
/* A message has arrived. False: the peer has used more credits than it has. */
bool gnip_rx_window_arrived(struct gnip_vc *vc, uint32_t credits);
/* the message went to the unexpected store */
void gnip_rx_window_kept(struct gnip_vc *vc, uint32_t credits);
/*
 * To be called once for each message that was matched, copied or dropped: its credits return to the
 * window.
 */
void gnip_rx_window_return(struct gnip_vc *vc, uint32_t credits);
void gnip_rx_window_close(struct gnip_vc *vc);
bool gnip_rx_window_due(const struct gnip_vc *vc); /* the peer should learn of new credits */

#endif
