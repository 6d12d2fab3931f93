/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A process on a node, and how it learns that something happened. */
#ifndef JACQUARD_ARIES_PROCESS_H
#define JACQUARD_ARIES_PROCESS_H

#include "engine/sim.h"
#include "nic/list.h"

struct aries_fabric;
struct aries_nic;
struct gni_msgq;

/* The objects of a process that belong to no NIC are released in this order when it exits. */
enum aries_exit_stage {
    ARIES_EXIT_DOMAINS, /* communication domains, with all that they have of a NIC */
    ARIES_EXIT_REPORTS, /* subscriptions to error events of a device */
    ARIES_EXIT_STAGES
};

/* What every event wakes lies in the first line. */
struct aries_process {
    struct sim_fiber **fibers; /* its threads; woken by aries_process_notify */
    struct sim_fiber *first; /* of them; NULL: none */
    struct gni_msgq *msgqs; /* its handles: msgq.c */
    struct aries_fabric *fabric;
    struct aries_nic *nic; /* of its node */
    uint32_t fibers_count;
    uint32_t trace_index; /* which rank on the node, for SIM_TRACK_RANK tracks */
    uint32_t interrupted_count;
    uint32_t ce_id; /* for sim_poll: of ce_result */
    bool privileged, dead;
    uint32_t pid;
    uint64_t job_id;
    char *name;
    void (*killed)(void *arg, const char *why);
    void *killed_arg;
    struct sim_fiber **interrupted; /* of these: a signal is to end what they wait for */
    uint64_t ce_result; /* where the last reduction that it joined puts its result */
    struct aries_list errors; /* its subscriptions to error events */
    struct aries_list cdms;
    void (*on_exit[ARIES_EXIT_STAGES])(struct aries_process *process); /* as on_detach of a NIC */
    struct aries_list node_link; /* nic->processes */
    struct aries_ep_slab *ep_slab; /* EP addresses of a process differ in their low 24 bits */
} __attribute__((aligned(SIM_LINE)));

/* Something became visible to the process: its polling and waiting fibers look again. */
void aries_process_notify(struct aries_process *process);
/* The same without what aries_process_notify does for those that share a message queue with it. */
void aries_process_wake(struct aries_process *process);
/* Fetches what the two look at: the process, then its threads. */
static inline void aries_process_fetch(const struct aries_process *process, unsigned stage)
{
    if (stage == 0)
        sim_fetch(process, 1);
    else if (process != NULL && process->first != NULL)
        sim_fiber_fetch(process->first, 0);
}
/* Memory of the process was written, which it may watch without any call. */
void aries_process_written(struct aries_process *process);
/* Marks the process dead and tells its host, once. For the error policy and for crashed nodes. */
void aries_process_kill(struct aries_process *process, const char *why);
/* Whether a signal was sent to the running thread since it was asked last: its call returns. */
bool aries_interrupted(struct aries_process *process);

#endif
