/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Mailboxes of connections (mbox.c). */
#ifndef GNIP_MBOX_H
#define GNIP_MBOX_H

#include "gnip.h"

struct gnip_slab;

struct gnip_mbox {
    struct gnip_slab *slab; /* NULL: none */
    void *base; /* of the slab */
    uint32_t offset, bytes;
    gni_mem_handle_t handle;
};
/* A zeroed mailbox. May register memory. 0, -FI_EAGAIN (no resources now), or another errno. */
int gnip_mbox_get(struct gnip_nic *nic, struct gnip_mbox *mbox);
/* Returns a mailbox into which the peer does not write any more. */
void gnip_mbox_put(struct gnip_nic *nic, struct gnip_mbox *mbox);
/* A peer may still write into the mailbox: it stays unused until the NIC is closed. */
void gnip_mbox_lose(struct gnip_nic *nic, struct gnip_mbox *mbox);
void gnip_mbox_free_all(struct gnip_nic *nic);
void gnip_mbox_sizes(struct gnip_nic *nic, uint32_t least); /* of a NIC that has none yet */

#endif
