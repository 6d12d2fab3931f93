/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* NICs that a CQ or counter drives (progress.c). */
#ifndef GNIP_PROGRESS_H
#define GNIP_PROGRESS_H

#include "lock.h"

/*
 * The progress list of a CQ or counter: the NICs and cm_nics of the endpoints bound to it, each
 * once.
 */
struct gnip_progress_list {
    struct gnip_lock lock;
    struct gnip_progress_entry **entries;
    uint32_t count, room;
    uint32_t skipped; /* passes in a row without control progress */
    struct gnip_gate gate;
};
void gnip_progress_list_init(struct gnip_progress_list *list, bool elided);
void gnip_progress_list_fini(struct gnip_progress_list *list);
int gnip_progress_list_add(struct gnip_progress_list *list, struct gnip_nic *nic,
                           struct gnip_cm_nic *cm_nic);
/* Waits until no thread makes progress for it through this list. No lock may be held. */
void gnip_progress_list_remove(struct gnip_progress_list *list, struct gnip_nic *nic,
                               struct gnip_cm_nic *cm_nic);
/* Makes a bounded amount of progress. Returns the number of GNI queues that were polled. */
uint32_t gnip_progress_list_run(struct gnip_progress_list *list);

#endif
