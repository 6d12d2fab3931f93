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
    /* Submits `count` works with one completion: chained transactions. */
    void (*submit_chain)(struct gni_nic *nic, const struct aries_work *works, uint32_t count);
};

#define ARIES_MRS_FIRST 3u

struct aries_nic { /* the hardware of one node */
    struct aries_fabric *fabric;
    struct aries_sim_nic *sim; /* state that only sim/ uses */
    const struct aries_nic_ops *ops;
    uint32_t node, pe_addr;
    struct aries_mr *mrs_first[ARIES_MRS_FIRST]; /* copies of the lowest entries of `mdds` */
    bool alive;
    uint16_t boots; /* how often the node has booted again after a crash */
    struct aries_list attached; /* struct gni_nic */
    struct aries_list processes;
    struct aries_mdd_table *mdds; /* by MDH: mem.c; NULL until first used */
    struct aries_mdd_table *vmdhs; /* list of the MDD blocks, one per ptag: mem.c */
    uint32_t mdd_used, fma_used, cq_used, cq_index;
    uint32_t ce_used; /* channels of the collective engine: bit per id */
    struct aries_vce *vces; /* its channels: ce_channel.c; allocated at first use */
    struct aries_kernel *kernel; /* datagram messages in flight; datagram_kernel.c */
    struct aries_msgq_shared *msgqs; /* shared message queues of its jobs: msgq_region.c */
    struct aries_job_state **job_states; /* by ptag; NULL if the tag has no state; job.c */
    struct aries_ntt *ntt; /* node translation table; NULL until it is used: ntt.c */
    struct aries_bi *bi; /* balanced injection; NULL: never configured: bi.c */
    struct aries_list errors; /* subscriptions to its error events; error_event.c */
    uint32_t errors_count, error_serial;
} __attribute__((aligned(SIM_LINE)));

struct aries_job {
    uint64_t job_id; /* 0: any process may use it */
    uint32_t cookie;
    uint32_t node; /* the node that knows it; UINT32_MAX: all nodes */
    uint8_t ptag; /* GNI_FIND_ALLOC_PTAG until a process needs it */
};

/* The stages in which the memory that files keep with a fabric is freed. */
enum aries_end_stage {
    ARIES_END_MESSAGES, /* before the transactions in flight */
    ARIES_END_MEMORY, /* after the last object */
    ARIES_END_STAGES
};

struct aries_fabric {
    struct net *net;
    struct aries_timing timing;
    uint32_t nodes;
    struct aries_nic *nics;
    uint32_t *pe_addrs; /* PE addresses by node, packed into few cache lines */
    struct aries_job *jobs;
    uint32_t jobs_count;
    uint64_t seed;
    struct sim_ledger_book book_put, book_get, book_amo, book_cqwrite, book_smsg, book_event,
        book_msgq, book_datagram, book_ce;
    struct sim_fault_point fault_packet, fault_cq, fault_datagram;
    struct aries_counters counters;
    bool checks; /* programs are watched for mistakes: findings.h */
    /* Where an SMSG message is assembled: one buffer for all, which stays in the cache. */
    uint64_t record[128];
    struct aries_work message;
    struct aries_objects *objects; /* memory of handles and registrations: objects.c */
    struct aries_fabric_end *on_end[ARIES_END_STAGES]; /* aries_fabric_on_end */
    struct aries_list datagrams; /* of all communication domains: datagram.c */
    uint64_t datagrams_made;
    /* Incarnation of this process, part of its memory handles; 0 in simulation. */
    uint16_t incarnation;
    struct aries_fabric *retired; /* fabrics destroyed earlier and not freed yet: process.c */
    /* Connections by the address of their ring; only for look-ups, never iterated. */
    struct _GTree *mailboxes;
    struct _GHashTable *names; /* of processes by instance, for findings; NULL: none */
    struct aries_sim_fabric *sim; /* state that only sim/ uses */
};

/* The node number of a NIC, computed without reading the NIC. */
static inline uint32_t aries_node_of(const struct aries_fabric *fabric, const struct aries_nic *nic)
{
    return (uint32_t)(nic - fabric->nics);
}

/* Allocates zeroed memory of whole cache lines; free() releases it. */
void *aries_lines_new(size_t bytes);

struct aries_nic *aries_nic_by_pe(struct aries_fabric *fabric, uint32_t pe_addr); /* NULL: none */
/*
 * Registers `end`, which is called once when the fabric is destroyed, even if it was registered
 * repeatedly.
 */
void aries_fabric_on_end(struct aries_fabric *fabric, enum aries_end_stage stage,
                         void (*end)(struct aries_fabric *fabric));

#endif
