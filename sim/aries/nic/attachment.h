/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Communication domains and their attachment to a NIC, which owns all other objects. */
#ifndef JACQUARD_ARIES_ATTACHMENT_H
#define JACQUARD_ARIES_ATTACHMENT_H

#include "engine/sim.h"
#include "nic/gni.h"
#include "nic/fabric.h"
#include "nic/list.h"
#include "nic/process.h"

/*
 * First word of every object behind a handle. It is cleared when the object is destroyed, so that
 * stale handles are detected.
 */
enum aries_magic {
    ARIES_MAGIC_CDM = 0x43444d31,
    ARIES_MAGIC_NIC = 0x4e494331,
    ARIES_MAGIC_EP = 0x45502d31,
    ARIES_MAGIC_CQ = 0x43512d31,
    ARIES_MAGIC_MSGQ = 0x4d534731,
    ARIES_MAGIC_CHANNEL = 0x43434831,
    ARIES_MAGIC_ERRORS = 0x45525231,
    ARIES_MAGIC_CE = 0x43452d31,
};
#define aries_handle_ok(handle, kind) ((handle) != NULL && (handle)->magic == (kind))

struct aries_datagrams;
struct aries_job_state;

struct gni_cdm {
    uint32_t magic;
    uint32_t inst_id, cookie, modes;
    uint8_t ptag; /* as the caller gave it: may be GNI_FIND_ALLOC_PTAG until attached */
    struct aries_process *process;
    struct aries_list process_link;
    struct gni_nic *nic; /* a node has one NIC, so there is at most one attachment */
};

/*
 * The order in which the objects of an attachment are released: each kind before those that it
 * uses. The file of a kind registers its release with aries_nic_on_detach() when an attachment gets
 * its first object of that kind.
 */
enum aries_detach_stage {
    ARIES_DETACH_CONNECTIONS, /* endpoints */
    ARIES_DETACH_SESSIONS, /* datagrams that were offered or are awaited */
    ARIES_DETACH_SHARED, /* the instance of a shared message queue */
    ARIES_DETACH_ENGINES, /* channels of the collective engine */
    ARIES_DETACH_MEMORY, /* registrations */
    ARIES_DETACH_EVENTS, /* completion queues */
    ARIES_DETACH_CHANNELS, /* completion channels */
    ARIES_DETACH_REPORTS, /* subscriptions to error events */
    ARIES_DETACH_STAGES
};

/* A CDM attached to a NIC: what gni_nic_handle_t points to. */
struct gni_nic {
    uint32_t magic;
    uint8_t ptag; /* the resolved tag, never GNI_FIND_ALLOC_PTAG */
    bool fma_shared, dual_events;
    bool claimed; /* live mode: other processes know of the instance */
    bool left_checked; /* what it left behind was recorded as findings */
    uint8_t smsg_route; /* enum net_route */
    struct aries_nic *hw;
    struct aries_process *process;
    struct gni_cdm *cdm;
    uint32_t inst_id; /* of the CDM */
    uint16_t smsg_max_retrans, smsg_dlvr_mode;
    struct aries_list smsg_returns; /* endpoints that owe their peer credits (smsg.c) */
    const struct aries_job_state
        *ntt; /* not NULL: addresses are indices of its translation group */

    sim_time_t fma_get_free; /* simulation: when its FMA descriptor can launch the next GET */
    uint64_t work_id; /* next id of objects that are numbered per attachment */
    uint32_t refs; /* the attachment itself, plus one for each silent transaction in flight */
    uint32_t statistics[21]; /* GNI_STAT_* in the Aries numbering */
    struct aries_list eps, cqs, mrs, ces;
    struct aries_list nic_link; /* hw->attached, found by (ptag, cookie, inst_id) */
    struct aries_list channels; /* completion channels */
    struct aries_datagrams *datagrams; /* datagram.c; created at first use */
    struct gni_msgq *msgq; /* its shared message queue; NULL: none */
    /* NULL: no objects of that stage. */
    void (*on_detach[ARIES_DETACH_STAGES])(struct gni_nic *nic);
} __attribute__((aligned(SIM_LINE)));

/* Registers `release`, which destroys all objects of its kind that the attachment has. */
static inline void aries_nic_on_detach(struct gni_nic *nic, enum aries_detach_stage stage,
                                       void (*release)(struct gni_nic *nic))
{
    nic->on_detach[stage] = release;
}

static inline const struct aries_timing *aries_timing_of(const struct gni_nic *nic)
{
    return &nic->hw->fabric->timing;
}

/*
 * Applies the error policy of ugni 6.2.2 to a failed transaction. `silent`: it had no CQ that
 * reports the failure.
 */
void aries_transaction_failed(struct gni_nic *nic, uint8_t status, bool silent);

#endif
