/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Memory that an operation brings along or borrows (rndzv_send.c, bounce.c). */
#ifndef GNIP_BOUNCE_H
#define GNIP_BOUNCE_H

#include "gnip.h"

/* The descriptor that came with a buffer, or a registration of our own (rndzv_send.c). `written`:
 * the network writes it. 0, -FI_EAGAIN, -errno. */
int gnip_buffer_map(struct gnip_ep *ep, struct gnip_buffer *buffer, bool written);
/* Aligned words for heads and tails: 64 bytes of registered memory (bounce.c). NULL: none now. */
void *gnip_bounce_get(struct gnip_ep *ep, gni_mem_handle_t *handle);
void gnip_bounce_put(struct gnip_ep *ep, void *bounce);
void *gnip_gather_get(struct gnip_ep *ep); /* mbox_message bytes. NULL: none now */
void gnip_gather_put(struct gnip_ep *ep, void *gather);
void gnip_bounce_free_all(struct gnip_ep *ep); /* both kinds */

#endif
