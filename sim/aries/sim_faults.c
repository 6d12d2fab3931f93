/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Faults that strike a NIC, a node or the fabric as a whole, and the bugs that are planted to test
 * the ledger. */
#include "sim_nic.h"

#include "cq_entry.h"

void aries_node_crash(struct aries_fabric *fabric, uint32_t node)
{
    struct aries_nic *nic = &fabric->nics[node];
    struct aries_list *link;

    if (!nic->alive)
        return;
    nic->alive = false;
    trace(TRACE_INSTANT, TRACE_FAULT, node, 0, "node crash", sim_now(), 0, 0, node);
    for (link = nic->processes.next; link != &nic->processes;) {
        struct aries_process *process = sim_container_of(link, struct aries_process, node_link);

        link = link->next; /* the callback may release the process */
        process->dead = true;
        if (process->killed != NULL)
            process->killed(process->killed_arg, "node crashed");
    }
    aries_datagrams_node_down(fabric, node);
}

bool aries_node_alive(const struct aries_fabric *fabric, uint32_t node)
{
    return fabric->nics[node].alive;
}

static void extend(sim_time_t *until, sim_time_t duration)
{
    if (*until < sim_now() + duration)
        *until = sim_now() + duration;
}

void aries_nic_hang(struct aries_fabric *fabric, uint32_t node, sim_time_t duration)
{
    extend(&fabric->nics[node].sim->hang_until, duration);
    trace(TRACE_INSTANT, TRACE_FAULT, node, 0, "nic hang", sim_now(), 0, 0, duration);
}

void aries_pcie_stall(struct aries_fabric *fabric, uint32_t node, sim_time_t duration)
{
    extend(&fabric->nics[node].sim->stall_until, duration);
    trace(TRACE_INSTANT, TRACE_FAULT, node, 0, "pcie stall", sim_now(), 0, 0, duration);
}

void aries_quiesce(struct aries_fabric *fabric, sim_time_t duration)
{
    struct aries_sim_fabric *sim = fabric->sim;
    sim_time_t start = sim->quiesce_until > sim_now() ? sim->quiesce_until : sim_now();

    extend(&sim->quiesce_until, duration);
    if (sim->quiesce_until > start)
        sim->quiesced += sim->quiesce_until - start;
    trace(TRACE_INSTANT, TRACE_FAULT, 0, 0, "quiesce", sim_now(), 0, 0, duration);
}

void aries_throttle(struct aries_fabric *fabric, double percent, sim_time_t duration)
{
    fabric->sim->throttle = percent / 100;
    fabric->sim->throttle_until = sim_now() + duration;
    trace(TRACE_INSTANT, TRACE_FAULT, 0, 0, "throttle", sim_now(), 0, 0, (uint64_t)percent);
}

void aries_mutate(struct aries_fabric *fabric, enum aries_mutation mutation, uint64_t every)
{
    fabric->sim->mutation = mutation;
    fabric->sim->mutate_every = every;
    fabric->sim->mutate_seen = 0;
}

bool mutation_strikes(struct aries_fabric *fabric, enum aries_mutation mutation)
{
    struct aries_sim_fabric *sim = fabric->sim;

    return sim_unlikely(sim->mutation == mutation) && ++sim->mutate_seen % sim->mutate_every == 0;
}
