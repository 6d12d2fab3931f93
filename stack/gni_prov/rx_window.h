/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The receive window of a connection: slots of messages that the peer sent us (rx_window.c). */
#ifndef GNIP_RX_WINDOW_H
#define GNIP_RX_WINDOW_H

#include "gnip.h"

/* Window (rx_window.c): slots of messages that the peer sent us. */
#define GNIP_POOL_CREDITS 131072u /* of an EP: 32 MiB */
#define GNIP_POOL_MESSAGES 16384u
void gnip_rx_window_open(
    struct gnip_vc *vc); /* sets vc->rx_credits: initial grant from the EP's pool */
/* By vc.c when a message comes. False: the peer has sent more than it may. */
bool gnip_rx_window_arrived(struct gnip_vc *vc, uint32_t credits);
void gnip_rx_window_kept(struct gnip_vc *vc, uint32_t credits); /* went to the unexpected store */
/* Once for each message that came: the peer may use its slots again (matched, copied, dropped). */
void gnip_rx_window_return(struct gnip_vc *vc, uint32_t credits);
void gnip_rx_window_close(struct gnip_vc *vc);
bool gnip_rx_window_due(const struct gnip_vc *vc); /* the peer should hear of new grants */

#endif
