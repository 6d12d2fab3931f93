/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The producer's side of the ring of event slots. The ring is in memory that a process shares, so
 * the producer follows it only to slots that were blessed.
 */
#include <string.h>

#include "lib/assert.h"
#include "net/lnet/linux_kernel/klnet_pvt.h"

void nlx_kcore_bev_bless(struct nlx_kcore_transfer_mc *ktm, struct nlx_kcore_buffer_event *kbe,
                         struct nlx_core_buffer_event *bev)
{
    kbe->kbe_magic = M0_NET_LNET_KCORE_BEV_MAGIC;
    bev->cbe_tm_link.cbl_p_self_loc = kbe->kbe_loc;
    spin_lock(&ktm->ktm_bevq_lock);
    list_add_tail(&kbe->kbe_drv_linkage, &ktm->ktm_drv_bevs);
    if (ktm->ktm_producer == NULL)
        ktm->ktm_producer = kbe;
    spin_unlock(&ktm->ktm_bevq_lock);
}

/* The slot after `kbe`, as the shared slot says; NULL: it says nonsense. */
static struct nlx_kcore_buffer_event *next_of(struct nlx_kcore_transfer_mc *ktm,
                                              struct nlx_kcore_buffer_event *kbe,
                                              const struct nlx_core_kmem_loc *loc)
{
    struct nlx_kcore_buffer_event *other;

    if (kbe->kbe_next != NULL && nlx_kcore_kmem_loc_eq(&kbe->kbe_next->kbe_loc, loc))
        return kbe->kbe_next;
    /* New slots came in between. */
    list_for_each_entry (other, &ktm->ktm_drv_bevs, kbe_drv_linkage) {
        if (nlx_kcore_kmem_loc_eq(&other->kbe_loc, loc)) {
            kbe->kbe_next = other;
            return other;
        }
    }
    return NULL;
}

bool nlx_kcore_bevq_put(struct nlx_kcore_transfer_mc *ktm,
                        const struct nlx_core_buffer_event *event)
{
    const struct nlx_kcore_domain *kd = ktm->ktm_kd;
    struct nlx_kcore_buffer_event *kbe = ktm->ktm_producer, *next;
    struct nlx_core_buffer_event *slot;
    struct nlx_core_transfer_mc *ctm;
    struct nlx_core_kmem_loc next_loc;

    if (ktm->ktm_poisoned || kbe == NULL)
        return false;
    slot = nlx_kcore_map(kd, &kbe->kbe_loc);
    next_loc = slot->cbe_tm_link.cbl_p_next_loc;
    next = next_of(ktm, kbe, &next_loc);
    if (next != NULL) {
        slot->cbe_buffer_id = event->cbe_buffer_id;
        slot->cbe_time = event->cbe_time;
        slot->cbe_status = event->cbe_status;
        slot->cbe_length = event->cbe_length;
        slot->cbe_offset = event->cbe_offset;
        slot->cbe_sender = event->cbe_sender;
        slot->cbe_unlinked = event->cbe_unlinked;
    }
    nlx_kcore_unmap(kd, &kbe->kbe_loc);
    if (next == NULL) {
        ktm->ktm_poisoned = true;
        return false;
    }

    ktm->ktm_producer = next;
    ctm = nlx_kcore_map(kd, &ktm->ktm_ctm_loc);
    ctm->ctm_bevq.cbcq_producer_loc = next->kbe_loc;
    /* Publishes the slot. The consumer says that it sleeps before it looks at the count for the
     * last time, so one of the two sees what the other one did. */
    if (m0_atomic64_add_return(&ctm->ctm_bevq.cbcq_count, 1) == 1 && kd->kd_ring != NULL &&
        __atomic_load_n(&ctm->ctm_asleep, __ATOMIC_SEQ_CST) != 0)
        kd->kd_ring(&ctm->ctm_bevq.cbcq_count);
    nlx_kcore_unmap(kd, &ktm->ktm_ctm_loc);
    return true;
}

bool nlx_kcore_bevq_has_events(const struct nlx_kcore_transfer_mc *ktm)
{
    struct nlx_core_transfer_mc *ctm = nlx_kcore_map(ktm->ktm_kd, &ktm->ktm_ctm_loc);
    bool any = m0_atomic64_get(&ctm->ctm_bevq.cbcq_count) != 0;

    nlx_kcore_unmap(ktm->ktm_kd, &ktm->ktm_ctm_loc);
    return any;
}
