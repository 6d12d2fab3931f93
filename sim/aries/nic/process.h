/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A process on a node and the functions that notify it of changes. */
#ifndef JACQUARD_ARIES_PROCESS_H
#define JACQUARD_ARIES_PROCESS_H

#include "engine/sim.h"
#include "nic/list.h"

struct aries_fabric;
struct aries_nic;
struct gni_msgq;

/* The objects of a process that belong to no NIC are released in this order when it exits. */
enum aries_exit_stage {
    ARIES_EXIT_DOMAINS, /* communication domains with all their objects */
    ARIES_EXIT_REPORTS, /* subscriptions to error events of a device */
    ARIES_EXIT_STAGES
};

/* The first cache line holds the fields that every event needs. */
struct aries_process {
    struct sim_fiber **fibers; /* its threads; woken by aries_process_notify */
    struct sim_fiber *first; /* the first of them; NULL: none */
    struct gni_msgq *msgqs; /* its handles of shared message queues: msgq.c */
    struct aries_fabric *fabric;
    struct aries_nic *nic; /* of its node */
    uint32_t fibers_count;
    uint32_t trace_index; /* number of the rank on the node, for SIM_TRACK_RANK tracks */
    uint32_t notifications; /* number of calls of aries_process_notify() */
    uint32_t interrupted_count;
    uint32_t ce_id; /* id of ce_result for sim_poll */
    bool privileged, dead;
    bool leaving; /* aries_process_exit() releases its objects */
    uint32_t pid;
    uint64_t job_id;
    /* Time of its first instruction. A node that crashes earlier may have booted again by then. */
    sim_time_t starts_at;
    char *name;
    void (*killed)(void *arg, const char *why);
    void *killed_arg;
    struct sim_fiber **interrupted; /* fibers whose wait a signal is to end */
    uint64_t ce_result; /* address of the result of the last reduction that it joined */
    struct aries_list errors; /* its subscriptions to error events */
    struct aries_list cdms;
    void (*on_exit[ARIES_EXIT_STAGES])(struct aries_process *process); /* as on_detach of a NIC */
    struct aries_list node_link; /* nic->processes */
    /* The endpoints of a process differ in the low 24 bits of their address. */
    struct aries_ep_slab *ep_slab;
} __attribute__((aligned(SIM_LINE)));

/* Something became visible to the process: its polling and waiting fibers check again. */
void aries_process_notify(struct aries_process *process);
/* The same, but does not wake the processes that share a message queue with it. */
void aries_process_wake(struct aries_process *process);
/* Prefetches for the two functions above: the process, then its threads. */
static inline void aries_process_fetch(const struct aries_process *process, unsigned stage)
{
    if (stage == 0)
        sim_fetch(process, 1);
    else if (process != NULL && process->first != NULL)
        sim_fiber_fetch(process->first, 0);
}
/* Memory of the process was written. The process may be watching it without any call. */
void aries_process_written(struct aries_process *process);
/*
 * Marks the process dead and notifies its host, once. For the error policy and for crashed nodes.
 */
void aries_process_kill(struct aries_process *process, const char *why);
/* Whether a signal was sent to the running thread since the last query. If so, its call returns. */
bool aries_interrupted(struct aries_process *process);

#endif
