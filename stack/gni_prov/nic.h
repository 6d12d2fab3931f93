/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* NICs (nic.c, nic_progress.c). */
#ifndef GNIP_NIC_H
#define GNIP_NIC_H

#include "list.h"
#include "lock.h"
#include "params.h"

struct gnip_nic {
    struct gnip_lock lock; /* GNI calls on this NIC, except GNI_CqTestEvent */
    gni_nic_handle_t gni;
    gni_cq_handle_t tx_cq, rx_cq; /* what progress polls */
    gni_cq_handle_t tx_cq_blk, rx_cq_blk; /* what wakes the helper; NULL without one */
    bool automatic; /* has a helper: for long transfers tx_cq_blk, so that it sees them end */

    struct gnip_lock vc_lock; /* what follows */
    struct gnip_link vcs_ready; /* gnip_vc.ready_link: something to do for them */
    uint32_t ready_count;
    struct gnip_vc_slot *vc_slots; /* by id */
    uint32_t vc_slot_count, vc_slot_first, vc_slot_last; /* free ones, the first freed first */
    struct gnip_vc *vc_pool; /* freed, kept until the NIC goes */

    struct gnip_lock txd_lock; /* what follows */
    struct gnip_txd *txd_free;
    uint32_t txd_used, txd_made, txd_count, txd_reserved; /* at most txd_count are made */
    struct gnip_txd **txd_chunks;

    struct gnip_link auth_link;
    struct gnip_ctx *ctx;
    struct gnip_auth *auth;
    bool alone; /* of a listener */
    const struct gnip_domain *sole; /* only this one's, which needs no locks; NULL: anybody's */
    uint32_t refs; /* under ctx->lock */
    struct gnip_params params; /* as they were when it was made */
    uint32_t device_addr, cdm_id;
    gni_cdm_handle_t cdm;
    struct gnip_gate gate; /* for gnip_vc.pins */

    struct gnip_mbox_pool *mailboxes; /* NULL: none so far (mbox.c); under lock */
    uint32_t mbox_bytes, mbox_stride; /* one mailbox; from one to the next */

    void *doorbell; /* page registered at rx_cq_blk */
    gni_mem_handle_t doorbell_handle;
    struct port_thread *helper; /* NULL: manual progress */
    uint32_t polls; /* by all threads, where there is a helper; some may be lost */
    bool stop; /* asks the helper to end */
    bool asleep; /* the helper is, until an event; atomic */
    struct gnip_watch *watch; /* NULL: nobody wants reports; under lock */
};
/*
 * A NIC for these credentials: a new one, or one in use when there are as many as may be.
 * cdm_id UINT32_MAX: any. `own`: a new one in any case. Starts a helper for automatic progress.
 * 0 or -errno.
 */
int gnip_nic_get(struct gnip_domain *domain, struct gnip_auth *auth, uint32_t cdm_id, bool own,
                 struct gnip_nic **nic);
/* The same for who has no domain. */
int gnip_nic_get_alone(struct gnip_ctx *ctx, struct gnip_auth *auth, uint32_t cdm_id,
                       struct gnip_nic **nic);
/* Gives back what it has of GNI, helper included; gets it again, with the same cdm_id. 0 or -errno.
 */
void gnip_nic_suspend(struct gnip_nic *nic);
int gnip_nic_resume(struct gnip_nic *nic);
void gnip_nic_ref(struct gnip_nic *nic);
void gnip_nic_put(struct gnip_nic *nic);
/* An answer is waited for, whose announcement may get lost: a helper that sleeps for good looks
 * again. */
void gnip_nic_wake_helper(struct gnip_nic *nic);
/*
 * Drains queues and gives VCs their turn: at most about 256 events. No lock may be held. Returns
 * what was done; adds the number of queues looked at.
 */
uint32_t gnip_nic_progress(struct gnip_nic *nic, uint32_t *polls);

/* A 24-bit id with generation for a VC, 0: none left; 0 is never an id. */
uint32_t gnip_vc_id_get(struct gnip_nic *nic, struct gnip_vc *vc);
void gnip_vc_id_put(struct gnip_nic *nic, uint32_t id);
/* NULL: stale or unknown. vc_lock is held. */
struct gnip_vc *gnip_vc_of_id(struct gnip_nic *nic, uint32_t id);

#endif
