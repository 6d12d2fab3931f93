/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* NICs (nic.c, nic_progress.c). */
#ifndef GNIP_NIC_H
#define GNIP_NIC_H

#include "lock.h"
#include "params.h"
#include "port/list.h"
#include "port/port.h"

#define GNIP_PROBE_MS 1000 /* from one probe of a peer to the next one (vc_probe.c) */

struct gnip_nic {
    struct gnip_lock lock; /* for GNI calls on this NIC, except GNI_CqTestEvent */
    gni_nic_handle_t gni;
    gni_cq_handle_t tx_cq, rx_cq; /* what progress polls */
    gni_cq_handle_t tx_cq_blk, rx_cq_blk; /* queues that wake the helper; NULL without a helper */
    /* has a helper; long transfers use tx_cq_blk, so that the helper sees their ends */
    bool automatic;

    struct gnip_lock vc_lock; /* protects what follows */
    struct port_link vcs_ready; /* gnip_vc.ready_link: VCs with something to do */
    uint32_t ready_count;
    struct gnip_vc_slot *vc_slots; /* by id */
    /* free slots, in the order in which they were freed */
    uint32_t vc_slot_count, vc_slot_first, vc_slot_last;
    struct gnip_vc *vc_pool; /* freed VCs; their memory is kept until the NIC is closed */

    struct gnip_lock txd_lock; /* protects what follows */
    struct gnip_txd *txd_free;
    uint32_t txd_used, txd_made, txd_count, txd_reserved; /* at most txd_count are allocated */
    struct gnip_txd **txd_chunks;

    struct port_link auth_link;
    struct gnip_ctx *ctx;
    struct gnip_auth *auth;
    bool alone; /* belongs to a listener */
    /* only this domain uses it, without locks; NULL: any domain may */
    const struct gnip_domain *sole;
    uint32_t refs; /* under ctx->lock */
    struct gnip_params params; /* as they were when the NIC was opened */
    uint32_t device_addr, cdm_id;
    gni_cdm_handle_t cdm;
    struct gnip_gate gate; /* for gnip_vc.pins */

    struct gnip_mbox_pool *mailboxes; /* NULL: none so far (mbox.c); under lock */
    uint32_t mbox_bytes, mbox_stride; /* bytes of one mailbox; distance between two */

    void *doorbell; /* page registered at rx_cq_blk */
    gni_mem_handle_t doorbell_handle;
    struct port_thread *helper; /* NULL: manual progress */
    uint32_t polls; /* by all threads, if there is a helper; some may not be counted */
    bool stop; /* asks the helper to end */
    bool asleep; /* the helper sleeps until an event; atomic */
    bool awaits; /* a VC does; atomic */
    bool probe_timer_runs; /* without a helper; under vc_lock */
    struct port_timer probe_timer;
    struct gnip_watch *watch; /* NULL: no subscription to reports; under lock */
};
/*
 * A NIC for these credentials: a new one, or one in use if there are as many as allowed. cdm_id
 * UINT32_MAX: any. `own`: a new one in any case. Starts a helper if progress is automatic. 0 or
 * -errno.
 */
int gnip_nic_get(struct gnip_domain *domain, struct gnip_auth *auth, uint32_t cdm_id, bool own,
                 struct gnip_nic **nic);
/* The same for a caller without a domain. */
int gnip_nic_get_alone(struct gnip_ctx *ctx, struct gnip_auth *auth, uint32_t cdm_id,
                       struct gnip_nic **nic);
/*
 * Releases its objects of GNI and ends its helper; makes them again, with the same cdm_id. 0 or
 * -errno.
 */
void gnip_nic_suspend(struct gnip_nic *nic);
int gnip_nic_resume(struct gnip_nic *nic);
void gnip_nic_ref(struct gnip_nic *nic);
void gnip_nic_put(struct gnip_nic *nic);
/*
 * The caller expects an answer whose doorbell may get lost: a helper that sleeps without a limit
 * polls again.
 */
void gnip_nic_wake_helper(struct gnip_nic *nic);
/*
 * Empties its queues and makes progress for its VCs: at most about 256 events. No lock may be held.
 * Returns the amount of work done; adds the number of queues polled.
 */
uint32_t gnip_nic_progress(struct gnip_nic *nic, uint32_t *polls);

/* An id with a generation for a VC: 24 bits, never 0. 0: none is left. */
uint32_t gnip_vc_id_get(struct gnip_nic *nic, struct gnip_vc *vc);
void gnip_vc_id_put(struct gnip_nic *nic, uint32_t id);
/* NULL: a stale or unknown id. vc_lock is held. */
struct gnip_vc *gnip_vc_of_id(struct gnip_nic *nic, uint32_t id);

#endif
