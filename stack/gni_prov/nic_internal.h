/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the files about a NIC share (nic.c, nic_progress.c, txd.c, mbox.c). */
#ifndef GNIP_NIC_INTERNAL_H
#define GNIP_NIC_INTERNAL_H

#include "gnip.h"
#include "nic.h"
#include "txd.h"
#include "vc.h"
#include "port/list.h"

#define GNIP_TXD_CHUNK 8u /* descriptors that are made at once */

static inline struct gnip_txd *gnip_txd_at(const struct gnip_nic *nic, uint32_t id)
{
    return &nic->txd_chunks[id / GNIP_TXD_CHUNK][id % GNIP_TXD_CHUNK];
}

#define GNIP_VC_SLOT_MASK 0xffffu

struct gnip_vc_slot {
    struct gnip_vc *vc; /* NULL: free */
    uint32_t next; /* free one after it; UINT32_MAX: the last */
    uint8_t generation;
};
/* Prefetches the slot of an id that will be resolved soon. */
static inline void gnip_vc_id_fetch(const struct gnip_nic *nic, uint32_t id)
{
    __builtin_prefetch(&nic->vc_slots[id & GNIP_VC_SLOT_MASK]);
}

/* Puts a VC on the list of those with something to do. vc_lock is held. */
static inline void gnip_vc_link(struct gnip_nic *nic, struct gnip_vc *vc)
{
    gnip_assert_held(&nic->vc_lock);
    if (port_linked(&vc->ready_link) || gnip_unlikely(vc->ep == NULL)) /* it may have gone */
        return;
    port_list_append(&nic->vcs_ready, &vc->ready_link);
    __atomic_store_n(&nic->ready_count, nic->ready_count + 1, __ATOMIC_RELAXED);
}
static inline void gnip_vc_unlink(struct gnip_nic *nic, struct gnip_vc *vc)
{
    if (!port_linked(&vc->ready_link))
        return;
    port_list_remove(&vc->ready_link);
    __atomic_store_n(&nic->ready_count, nic->ready_count - 1, __ATOMIC_RELAXED);
}
/* An event has come: the VC polls its mailbox. vc_lock is held. */
static inline void gnip_vc_wake(struct gnip_nic *nic, struct gnip_vc *vc)
{
    gnip_assert_held(&nic->vc_lock);
    if (nic->vc_lock.elided)
        vc->rx_events++;
    else
        __atomic_fetch_add(&vc->rx_events, 1, __ATOMIC_RELAXED);
    gnip_vc_link(nic, vc);
}

/* Events were lost: every VC polls its mailbox. vc_lock is held. */
void gnip_nic_wake_all(struct gnip_nic *nic);
/*
 * vc_probe.c: probes the peers of VCs that await something, once in GNIP_PROBE_MS. The first
 * function is for a NIC without a helper, after a pass that found nothing. The helper calls the
 * second one, with the time of the last probes (0: none); returns the new one.
 */
void gnip_nic_probe_peers(struct gnip_nic *nic);
uint64_t gnip_nic_helper_probes(struct gnip_nic *nic, uint64_t last);
void gnip_nic_stop_probes(struct gnip_nic *nic); /* before its memory is freed */
/* The thread that makes progress while the application does something else. */
void gnip_nic_helper(void *nic);

#endif
