/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The fabric, its jobs, and the processes on its nodes. sim/process.c and live/ run the processes.
 */
#include "nic/process.h"

#include <assert.h>
#include <glib.h>
#include <stdlib.h>
#include "nic/interface.h"
#include "nic/objects.h"
#include "nic/findings.h"
#include "nic/job.h"
#include "nic/mem_copy.h"
#include "nic/params.h"

/* PE address: group 8 bits, Aries in its group 7 bits (chassis, slot), NIC of the Aries 2 bits. */
static uint32_t pe_of(const struct net *net, uint32_t node)
{
    struct net_coordinates at;

    if (!net_coordinates(net, node, &at))
        return node;
    return at.group << 9 | (at.chassis * 16 + at.slot) << 2 | at.node;
}

struct aries_nic *aries_nic_by_pe(struct aries_fabric *fabric, uint32_t pe_addr)
{
    struct net_coordinates at = {.group = pe_addr >> 9,
                                 .chassis = (pe_addr >> 2 & 0x7f) / 16,
                                 .slot = (pe_addr >> 2 & 0x7f) % 16,
                                 .node = pe_addr & 3};
    uint32_t node = net_endpoint_at(fabric->net, &at);

    if (node >= fabric->nodes)
        node = pe_addr; /* not a dragonfly, or no node has this address */
    if (node >= fabric->nodes || fabric->pe_addrs[node] != pe_addr)
        return NULL;
    return &fabric->nics[node];
}

struct aries_fabric_end { /* a function that frees what a file keeps with a fabric */
    void (*end)(struct aries_fabric *fabric);
    struct aries_fabric_end *next;
};

/* ---- fabric ---------------------------------------------------------------------------------- */

static void register_books(struct aries_fabric *fabric)
{
    sim_ledger_book_register(&fabric->book_put, "aries.put");
    sim_ledger_book_register(&fabric->book_get, "aries.get");
    sim_ledger_book_register(&fabric->book_amo, "aries.amo");
    sim_ledger_book_register(&fabric->book_cqwrite, "aries.cqwrite");
    sim_ledger_book_register(&fabric->book_smsg, "aries.smsg");
    sim_ledger_book_register(&fabric->book_msgq, "aries.msgq");
    sim_ledger_book_register(&fabric->book_event, "aries.event");
    sim_ledger_book_register(&fabric->book_datagram, "aries.datagram");
    sim_ledger_book_register(&fabric->book_ce, "aries.ce");
    sim_fault_point_register(&fabric->fault_packet, "aries.packet");
    sim_fault_point_register(&fabric->fault_cq, "aries.cq");
    sim_fault_point_register(&fabric->fault_datagram, "aries.datagram");
}

/*
 * The engine uses books and fault points, which are part of the fabric, until sim_fini. So the
 * memory of a destroyed fabric is kept until the engine has dropped them.
 */
static struct aries_fabric *retired;

static void free_retired(void)
{
    if (sim_fault_point_find("aries.packet") != NULL)
        return;
    while (retired != NULL) {
        struct aries_fabric *next = retired->retired;

        g_free(retired);
        retired = next;
    }
}

static gint by_address(gconstpointer a, gconstpointer b)
{
    return (a > b) - (a < b);
}

struct aries_fabric *aries_fabric_create(struct net *net, const struct aries_params *params,
                                         uint64_t seed)
{
    struct aries_fabric *fabric = g_new0(struct aries_fabric, 1);
    uint32_t node;

    free_retired();
    fabric->net = net;
    fabric->nodes = net_endpoints(net);
    fabric->seed = seed;
    aries_params_to_timing(params, &fabric->timing);
    fabric->nics = aries_lines_new(fabric->nodes * sizeof(struct aries_nic));
    fabric->pe_addrs = g_new(uint32_t, fabric->nodes);
    for (node = 0; node < fabric->nodes; node++) {
        struct aries_nic *nic = &fabric->nics[node];

        nic->fabric = fabric;
        nic->ops = &aries_hw_nic_ops;
        nic->node = node;
        nic->pe_addr = fabric->pe_addrs[node] = pe_of(net, node);
        nic->alive = true;
        aries_list_init(&nic->attached);
        aries_list_init(&nic->errors);
        aries_list_init(&nic->processes);
    }
    fabric->objects = g_new0(struct aries_objects, 1);
    aries_list_init(&fabric->datagrams);
    register_books(fabric);
    aries_tracks_register();
    aries_copy_guard();
    fabric->mailboxes = g_tree_new(by_address);
    aries_hw_fabric_init(fabric);
    return fabric;
}

void aries_fabric_on_end(struct aries_fabric *fabric, enum aries_end_stage stage,
                         void (*end)(struct aries_fabric *fabric))
{
    struct aries_fabric_end *entry = fabric->on_end[stage];

    assert(stage < ARIES_END_STAGES);
    while (entry != NULL && entry->end != end)
        entry = entry->next;
    if (entry != NULL)
        return;
    entry = g_new(struct aries_fabric_end, 1);
    *entry = (struct aries_fabric_end){end, fabric->on_end[stage]};
    fabric->on_end[stage] = entry;
}

static void run_ends(struct aries_fabric *fabric, enum aries_end_stage stage)
{
    while (fabric->on_end[stage] != NULL) {
        struct aries_fabric_end *entry = fabric->on_end[stage];

        fabric->on_end[stage] = entry->next;
        entry->end(fabric);
        g_free(entry);
    }
}

void aries_fabric_destroy(struct aries_fabric *fabric)
{
    struct aries_objects *objects = fabric->objects;
    uint32_t node;

    for (node = 0; node < fabric->nodes; node++) {
        struct aries_list *processes = &fabric->nics[node].processes;

        while (!aries_list_empty(processes))
            aries_process_exit(sim_container_of(processes->next, struct aries_process, node_link));
    }
    run_ends(fabric, ARIES_END_MESSAGES);
    g_tree_destroy(fabric->mailboxes);
    aries_peers_forget(fabric);
    aries_hw_fabric_fini(fabric);
    aries_copy_unguard();
    for (node = 0; node < fabric->nodes; node++) {
        aries_mdds_free(&fabric->nics[node]);
        aries_job_states_free(&fabric->nics[node]);
        g_free(fabric->nics[node].bi);
        g_free(fabric->nics[node].vces);
    }
    aries_objects_free(objects);
    run_ends(fabric, ARIES_END_MEMORY);
    g_free(objects);
    g_free(fabric->jobs);
    free(fabric->nics);
    g_free(fabric->pe_addrs);
    fabric->retired = retired;
    retired = fabric;
}

uint32_t aries_nic_address(const struct aries_fabric *fabric, uint32_t node)
{
    assert(node < fabric->nodes);
    return fabric->nics[node].pe_addr;
}

void aries_get_counters(const struct aries_fabric *fabric, struct aries_counters *counters)
{
    *counters = fabric->counters;
}

/* ---- processes ------------------------------------------------------------------------------- */

struct aries_process *aries_process_create(struct aries_fabric *fabric, uint32_t node,
                                           uint64_t job_id, uint32_t pid, bool privileged,
                                           const char *name,
                                           void (*killed)(void *arg, const char *why), void *arg)
{
    struct aries_process *process = aries_lines_new(sizeof(*process));
    struct aries_nic *hw = &fabric->nics[node];
    struct aries_list *link;

    assert(node < fabric->nodes);
    process->fabric = fabric;
    process->nic = hw;
    process->job_id = job_id;
    process->pid = pid;
    process->privileged = privileged;
    process->name = g_strdup(name);
    process->killed = killed;
    process->killed_arg = arg;
    for (link = hw->processes.next; link != &hw->processes; link = link->next) {
        struct aries_process *other = sim_container_of(link, struct aries_process, node_link);

        if (other->trace_index >= process->trace_index)
            process->trace_index = other->trace_index + 1;
    }
    aries_list_init(&process->cdms);
    aries_list_init(&process->errors);
    aries_list_add(&hw->processes, &process->node_link);
    if (sim_trace_on && name != NULL)
        sim_trace_set_rank_name(node, process->trace_index, name);
    return process;
}

void aries_process_starts_at(struct aries_process *process, sim_time_t time)
{
    process->starts_at = time;
}

uint32_t aries_process_trace_index(const struct aries_process *process)
{
    return process->trace_index;
}

void *aries_process_arg(const struct aries_process *process)
{
    return process->killed_arg;
}

void aries_process_exit(struct aries_process *process)
{
    unsigned stage;

    process->leaving = true;
    for (stage = 0; stage < ARIES_EXIT_STAGES; stage++)
        if (process->on_exit[stage] != NULL)
            process->on_exit[stage](process);
    if (process->ep_slab != NULL)
        aries_ep_slab_abandon(process->ep_slab);
    aries_list_remove(&process->node_link);
    g_free(process->fibers);
    g_free(process->interrupted);
    g_free(process->name);
    free(process);
}

void aries_process_notify(struct aries_process *process)
{
    if (sim_unlikely(process == NULL))
        return;
    process->notifications++;
    aries_process_wake(process);
    if (sim_unlikely(process->msgqs != NULL))
        aries_msgq_notify(process->msgqs);
}

void aries_process_kill(struct aries_process *process, const char *why)
{
    if (process->dead)
        return;
    process->dead = true;
    if (process->killed != NULL)
        process->killed(process->killed_arg, why);
}

sim_cold void aries_transaction_failed(struct gni_nic *nic, uint8_t status, bool silent)
{
    uint32_t modes;

    if (silent)
        aries_error_raise(nic->hw, GNI_ERRMASK_TRANSACTION, status, nic->ptag, 0);
    if (!nic->hw->fabric->timing.kill || nic->cdm == NULL)
        return;
    modes = nic->cdm->modes;
    if (modes & GNI_CDM_MODE_ERR_NO_KILL)
        return;
    if (modes & GNI_CDM_MODE_ERR_ALL_KILL)
        aries_process_kill(nic->process, "a transaction failed (GNI_CDM_MODE_ERR_ALL_KILL)");
    else if (silent)
        aries_process_kill(nic->process, "a transaction without completion events failed");
}
