/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The fabric, its jobs, and the processes on its nodes. */
#include "front.h"

#include "bi.h"
#include "ce.h"
#include "comp_chan.h"
#include "error_event.h"
#include "job.h"
#include "mem_copy.h"
#include "msgq.h"
#include "params.h"

#define PTAG_AUTO_FIRST 4u /* the driver gives out 4 … 127 by itself */
#define PTAG_AUTO_LAST 127u

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
        node = pe_addr; /* no dragonfly, or nothing there */
    if (node >= fabric->nodes || fabric->nics[node].pe_addr != pe_addr)
        return NULL;
    return &fabric->nics[node];
}

/* ---- fabric ---------------------------------------------------------------------------------- */

static void register_books(struct aries_fabric *fabric)
{
    ledger_book_register(&fabric->book_put, "aries.put");
    ledger_book_register(&fabric->book_get, "aries.get");
    ledger_book_register(&fabric->book_amo, "aries.amo");
    ledger_book_register(&fabric->book_cqwrite, "aries.cqwrite");
    ledger_book_register(&fabric->book_smsg, "aries.smsg");
    ledger_book_register(&fabric->book_msgq, "aries.msgq");
    ledger_book_register(&fabric->book_event, "aries.event");
    ledger_book_register(&fabric->book_datagram, "aries.datagram");
    ledger_book_register(&fabric->book_ce, "aries.ce");
    sim_fault_point_register(&fabric->fault_packet, "aries.packet");
    sim_fault_point_register(&fabric->fault_cq, "aries.cq");
    sim_fault_point_register(&fabric->fault_datagram, "aries.datagram");
}

/*
 * Books and fault points belong to the engine until sim_fini, and lie in the fabric: its own memory
 * is kept until the engine has forgotten them.
 */
static struct aries_fabric *retired;

static void bury_retired(void)
{
    if (sim_fault_point_find("aries.packet") != NULL)
        return;
    while (retired != NULL) {
        struct aries_fabric *next = retired->retired;

        g_free(retired);
        retired = next;
    }
}

struct aries_fabric *aries_fabric_create(struct net *net, const struct aries_params *params,
                                         uint64_t seed)
{
    struct aries_fabric *fabric = g_new0(struct aries_fabric, 1);
    uint32_t node;

    bury_retired();
    fabric->net = net;
    fabric->nodes = net_endpoints(net);
    fabric->seed = seed;
    aries_params_to_timing(params, &fabric->timing);
    fabric->nics = g_new0(struct aries_nic, fabric->nodes);
    for (node = 0; node < fabric->nodes; node++) {
        struct aries_nic *nic = &fabric->nics[node];

        nic->fabric = fabric;
        nic->ops = &aries_sim_nic_ops;
        nic->node = node;
        nic->pe_addr = pe_of(net, node);
        nic->alive = true;
        aries_list_init(&nic->attached);
        aries_list_init(&nic->errors);
        aries_list_init(&nic->processes);
    }
    fabric->objects = g_new0(struct aries_objects, 1);
    aries_list_init(&fabric->datagrams);
    fabric->objects->cdms.size = sizeof(struct gni_cdm);
    fabric->objects->nics.size = sizeof(struct gni_nic);
    fabric->objects->cqs.size = sizeof(struct gni_cq);
    fabric->objects->mrs.size = sizeof(struct aries_mr);
    fabric->objects->msgqs.size = sizeof(struct gni_msgq);
    fabric->objects->ces.size = sizeof(struct gni_ce);
    fabric->objects->channels.size = sizeof(struct gni_comp_chan);
    fabric->objects->errors.size = sizeof(struct gni_err);
    register_books(fabric);
    aries_copy_guard();
    fabric->mailboxes = g_hash_table_new(NULL, NULL);
    aries_sim_fabric_init(fabric);
    return fabric;
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
    aries_datagrams_fini(fabric);
    g_hash_table_destroy(fabric->mailboxes);
    aries_sim_fabric_fini(fabric);
    aries_copy_unguard();
    for (node = 0; node < fabric->nodes; node++) {
        aries_mdds_free(&fabric->nics[node]);
        aries_msgqs_free(&fabric->nics[node]);
        aries_job_states_free(&fabric->nics[node]);
        g_free(fabric->nics[node].bi);
    }
    slab_each(&objects->cqs, aries_cq_discard);
    slab_each(&objects->mrs, aries_mr_discard);
    slab_each(&objects->msgqs, aries_msgq_discard);
    slab_each(&objects->channels, aries_channel_discard);
    slab_each(&objects->errors, aries_errors_discard);
    slab_free(&objects->cdms);
    slab_free(&objects->nics);
    slab_free(&objects->cqs);
    slab_free(&objects->mrs);
    slab_free(&objects->msgqs);
    slab_free(&objects->ces);
    slab_free(&objects->channels);
    slab_free(&objects->errors);
    ep_arena_free(&objects->eps, aries_smsg_ep_free);
    g_free(objects);
    g_free(fabric->jobs);
    g_free(fabric->nics);
    fabric->retired = retired;
    retired = fabric;
}

uint32_t aries_nic_address(const struct aries_fabric *fabric, uint32_t node)
{
    return fabric->nics[node].pe_addr;
}

void aries_get_counters(const struct aries_fabric *fabric, struct aries_counters *counters)
{
    *counters = fabric->counters;
}

/* ---- jobs ------------------------------------------------------------------------------------ */

struct aries_job *aries_job_add(struct aries_fabric *fabric, uint32_t node, uint64_t job_id,
                                uint8_t ptag, uint32_t cookie)
{
    struct aries_job *job;

    fabric->jobs = g_renew(struct aries_job, fabric->jobs, fabric->jobs_count + 1);
    job = &fabric->jobs[fabric->jobs_count++];
    *job = (struct aries_job){.job_id = job_id, .cookie = cookie, .node = node, .ptag = ptag};
    return job;
}

void aries_job_configure(struct aries_fabric *fabric, uint64_t job_id, uint8_t ptag,
                         uint32_t cookie)
{
    aries_job_add(fabric, UINT32_MAX, job_id, ptag, cookie);
}

struct aries_job *aries_job_find(struct aries_nic *hw, uint8_t ptag, uint32_t cookie)
{
    struct aries_fabric *fabric = hw->fabric;
    uint32_t i;

    for (i = 0; i < fabric->jobs_count; i++) {
        struct aries_job *job = &fabric->jobs[i];

        if (job->cookie == cookie && (job->node == hw->node || job->node == UINT32_MAX) &&
            (ptag == GNI_FIND_ALLOC_PTAG || job->ptag == ptag))
            return job;
    }
    return NULL;
}

static bool ptag_used(const struct aries_fabric *fabric, uint32_t ptag)
{
    uint32_t i;

    for (i = 0; i < fabric->jobs_count; i++)
        if (fabric->jobs[i].ptag == ptag)
            return true;
    return false;
}

uint8_t aries_job_ptag(struct aries_fabric *fabric, struct aries_job *job)
{
    uint32_t ptag, i;

    /* The same on all nodes: it is what the target compares. */
    for (i = 0; job->ptag == GNI_FIND_ALLOC_PTAG && i < fabric->jobs_count; i++)
        if (fabric->jobs[i].cookie == job->cookie)
            job->ptag = fabric->jobs[i].ptag;
    for (ptag = PTAG_AUTO_FIRST; job->ptag == GNI_FIND_ALLOC_PTAG && ptag <= PTAG_AUTO_LAST; ptag++)
        if (!ptag_used(fabric, ptag))
            job->ptag = (uint8_t)ptag;
    return job->ptag;
}

/* ---- processes ------------------------------------------------------------------------------- */

struct aries_process *aries_process_create(struct aries_fabric *fabric, uint32_t node,
                                           uint64_t job_id, uint32_t pid, bool privileged,
                                           const char *name,
                                           void (*killed)(void *arg, const char *why), void *arg)
{
    struct aries_process *process = g_new0(struct aries_process, 1);
    struct aries_nic *hw = &fabric->nics[node];
    struct aries_list *link;

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
    if (trace_on && name != NULL)
        trace_set_rank_name(node, process->trace_index, name);
    return process;
}

void aries_process_bind(struct aries_process *process, struct sim_fiber *fiber)
{
    process->fibers =
        g_renew(struct sim_fiber *, process->fibers, (size_t)process->fibers_count + 1);
    process->fibers[process->fibers_count++] = fiber;
    sim_fiber_set_owner(fiber, process);
}

static bool remove_fiber(struct sim_fiber **fibers, uint32_t *count, const struct sim_fiber *fiber)
{
    uint32_t i;

    for (i = 0; i < *count && fibers[i] != fiber; i++)
        ;
    if (i == *count)
        return false;
    --*count;
    memmove(&fibers[i], &fibers[i + 1], (*count - i) * sizeof(*fibers));
    return true;
}

void aries_process_unbind(struct aries_process *process, const struct sim_fiber *fiber)
{
    remove_fiber(process->fibers, &process->fibers_count, fiber);
    while (remove_fiber(process->interrupted, &process->interrupted_count, fiber))
        ;
    aries_errors_forget(process, fiber);
}

void aries_process_interrupt(struct aries_process *process, struct sim_fiber *fiber)
{
    process->interrupted =
        g_renew(struct sim_fiber *, process->interrupted, (size_t)process->interrupted_count + 1);
    process->interrupted[process->interrupted_count++] = fiber;
    sim_wake(fiber);
}

bool aries_interrupted(struct aries_process *process)
{
    bool found = false;

    while (sim_unlikely(process->interrupted_count > 0) &&
           remove_fiber(process->interrupted, &process->interrupted_count, sim_fiber_self()))
        found = true;
    return found;
}

void *aries_process_arg(const struct aries_process *process)
{
    return process->killed_arg;
}

struct aries_process *aries_process_self(void)
{
    struct sim_fiber *fiber = sim_fiber_self();

    return fiber != NULL ? sim_fiber_owner(fiber) : NULL;
}

void aries_process_exit(struct aries_process *process)
{
    while (!aries_list_empty(&process->cdms))
        aries_cdm_release(sim_container_of(process->cdms.next, struct gni_cdm, process_link));
    while (!aries_list_empty(&process->errors))
        aries_errors_release(sim_container_of(process->errors.next, struct gni_err, process_link));
    if (process->ep_slab != NULL)
        ep_slab_abandon(process->ep_slab);
    aries_list_remove(&process->node_link);
    g_free(process->fibers);
    g_free(process->interrupted);
    g_free(process->name);
    g_free(process);
}

void aries_process_wake(struct aries_process *process)
{
    uint32_t i;

    if (process == NULL || process->dead)
        return;
    for (i = 0; i < process->fibers_count; i++)
        sim_notify(process->fibers[i]);
}

void aries_process_notify(struct aries_process *process)
{
    aries_process_wake(process);
    if (sim_unlikely(process != NULL && process->msgqs != NULL))
        aries_msgq_notify(process->msgqs);
}

void aries_process_written(struct aries_process *process)
{
    uint32_t i;

    if (process == NULL || process->dead)
        return;
    for (i = 0; i < process->fibers_count; i++)
        sim_wake(process->fibers[i]);
}

void aries_process_kill(struct aries_process *process, const char *why)
{
    if (process->dead)
        return;
    process->dead = true;
    if (process->killed != NULL)
        process->killed(process->killed_arg, why);
}

void aries_transaction_failed(struct gni_nic *nic, uint8_t status, bool silent)
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

/* ---- spinning on memory ---------------------------------------------------------------------- */

void aries_spin(bool (*ready)(const void *arg), const void *arg)
{
    const struct sim_wait wait = {.text = "spins on memory", .what = arg};

    /* The NIC makes a write visible when a spinning CPU sees it: `poll` is in there. */
    sim_settle();
    while (!ready(arg))
        sim_wait_until(SIM_NEVER, &wait);
}
