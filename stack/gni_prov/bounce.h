/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Memory of an operation that the provider registers or lends (rndzv_send.c, bounce.c). */
#ifndef GNIP_BOUNCE_H
#define GNIP_BOUNCE_H

#include "gnip.h"

/*
 * Uses the descriptor of a buffer, or registers the buffer (rndzv_send.c). `written`: the network
 * writes it. 0, -FI_EAGAIN, -errno.
 */
int gnip_buffer_map(struct gnip_ep *ep, struct gnip_buffer *buffer, bool written);
/* 64 bytes of registered memory for single words (bounce.c). NULL: none is free now. */
void *gnip_bounce_get(struct gnip_ep *ep, gni_mem_handle_t *handle);
void gnip_bounce_put(struct gnip_ep *ep, void *bounce);
void *gnip_gather_get(struct gnip_ep *ep); /* mbox_message bytes. NULL: none is free now */
void gnip_gather_put(struct gnip_ep *ep, void *gather);
void gnip_bounce_free_all(struct gnip_ep *ep); /* of both kinds */

#endif
