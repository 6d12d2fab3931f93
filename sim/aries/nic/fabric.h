/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The hardware of a node, and all nodes of a fabric. */
#ifndef JACQUARD_ARIES_FABRIC_H
#define JACQUARD_ARIES_FABRIC_H

#include "aries/aries.h"
#include "engine/fault.h"
#include "engine/ledger.h"
#include "engine/random.h"
#include "engine/sim.h"
#include "nic/tracks.h"
#include "net/net.h"
#include "nic/list.h"
#include "nic/timing.h"
#include "nic/work.h"

struct aries_mr;

/* The operations of a NIC back end: the simulated one is in sim/, the other one in live/. */
struct aries_nic_ops {
    /* Never fails for lack of resources: the hardware stalls. Charges work->cpu to the caller. */
    void (*submit)(struct gni_nic *nic, const struct aries_work *work);
    /* As many of `count` works, one completion for all: chained transactions. */
    void (*submit_chain)(struct gni_nic *nic, const struct aries_work *works, uint32_t count);
};

#define ARIES_MRS_FIRST 3u

struct aries_nic { /* the hardware of one node */
    struct aries_fabric *fabric;
    struct aries_sim_nic *sim; /* state of the of sim/ only */
    const struct aries_nic_ops *ops;
    uint32_t node, pe_addr;
    struct aries_mr *mrs_first[ARIES_MRS_FIRST]; /* the lowest entries of `mdds` once more */
    bool alive;
    struct aries_list attached; /* struct gni_nic */
    struct aries_list processes;
    struct aries_mdd_table *mdds; /* by MDH: mem.c; NULL until first used */
    struct aries_mdd_table *vmdhs; /* list of the MDD blocks, one per ptag: mem.c */
    uint32_t mdd_used, fma_used, cq_used, cq_index;
    uint32_t ce_used; /* channels of the collective engine: bit per id */
    struct vce *vces; /* what they do: ce_channel.c; allocated at first use */
    struct aries_kernel *kernel; /* datagram messages on their way; datagram_kernel.c */
    struct msgq_shared *msgqs; /* shared message queues of its jobs: msgq_region.c */
    struct aries_job_state *
        *job_states; /* by ptag, each NULL until there is something to keep; job.c */
    struct aries_ntt *ntt; /* node translation table; NULL until it is used: ntt.c */
    struct aries_bi *bi; /* balanced injection; NULL: never configured: bi.c */
    struct aries_list errors; /* subscriptions to its error events; error_event.c */
    uint32_t errors_count, error_serial;
} __attribute__((aligned(SIM_LINE)));

struct aries_job {
    uint64_t job_id; /* 0: any process may use it */
    uint32_t cookie;
    uint32_t node; /* where it is known; UINT32_MAX: everywhere */
    uint8_t ptag; /* GNI_FIND_ALLOC_PTAG until somebody needs it */
};

/* Memory that a file keeps with a fabric ends in one of these stages. */
enum aries_end_stage {
    ARIES_END_MESSAGES, /* before the transactions that are under way */
    ARIES_END_MEMORY, /* when no object is left */
    ARIES_END_STAGES
};

struct aries_fabric {
    struct net *net;
    struct aries_timing timing;
    uint32_t nodes;
    struct aries_nic *nics;
    uint32_t *pe_addrs; /* by node: theirs, in few lines */
    struct aries_job *jobs;
    uint32_t jobs_count;
    uint64_t seed;
    struct sim_ledger_book book_put, book_get, book_amo, book_cqwrite, book_smsg, book_event,
        book_msgq, book_datagram, book_ce;
    struct sim_fault_point fault_packet, fault_cq, fault_datagram;
    struct aries_counters counters;
    /* Where an SMSG message is put together: one place for all, in the cache. */
    uint64_t record[128];
    struct aries_work message;
    struct aries_objects *objects; /* memory of handles and registrations: objects.c */
    struct fabric_end *on_end[ARIES_END_STAGES]; /* aries_fabric_on_end */
    struct aries_list datagrams; /* of all communication domains: datagram.c */
    uint64_t datagrams_made;
    uint16_t life; /* of this process, in its memory handles; 0 in simulation */
    struct aries_fabric *retired; /* destroyed before this one and not yet freed: process.c */
    struct _GHashTable
        *mailboxes; /* connections by the address of their ring; looked up, never walked */
    struct aries_sim_fabric *sim; /* of sim/ only */
};

/* The number of a NIC that need not be in the cache. */
static inline uint32_t aries_node_of(const struct aries_fabric *fabric, const struct aries_nic *nic)
{
    return (uint32_t)(nic - fabric->nics);
}

/* Zeroed memory of whole cache lines; ended by free(). */
void *lines_new(size_t bytes);

struct aries_nic *aries_nic_by_pe(struct aries_fabric *fabric, uint32_t pe_addr); /* NULL: none */
/* `end` is called when the fabric is destroyed, once however often it was registered. */
void aries_fabric_on_end(struct aries_fabric *fabric, enum aries_end_stage stage,
                         void (*end)(struct aries_fabric *fabric));

#endif
