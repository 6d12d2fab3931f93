/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The small machine of the conformance tests; see fixture.h. */
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "engine/ledger.h"

/* A failed assertion leaves machine_run by a long jump: the next one clears up after it. */
static bool left_behind;

/* ---- barrier --------------------------------------------------------------------------------- */

static uint32_t ranks_alive(const struct machine *machine)
{
    uint32_t i, alive = 0;

    for (i = 0; i < machine->ranks; i++)
        alive += !machine->rank[i].ended && !machine->rank[i].killed;
    return alive;
}

static void barrier_check(struct machine *machine)
{
    uint32_t i;

    if (machine->waiting == 0 || machine->waiting < ranks_alive(machine))
        return;
    machine->waiting = 0;
    machine->barriers++;
    for (i = 0; i < machine->ranks; i++)
        if (!machine->rank[i].ended && !machine->rank[i].killed)
            sim_wake(machine->rank[i].fiber);
}

void machine_barrier(struct rank *rank)
{
    const struct sim_wait wait = {.text = "test barrier", .what = rank->machine};
    struct machine *machine = rank->machine;
    uint64_t barrier = machine->barriers;

    sim_settle();
    machine->waiting++;
    barrier_check(machine);
    while (machine->barriers == barrier)
        sim_wait_until(SIM_NEVER, &wait);
}

/* ---- machine --------------------------------------------------------------------------------- */

static void rank_fiber(void *argument)
{
    struct rank *rank = argument;

    rank->machine->main(rank);
    sim_settle();
    rank->ended = true;
    barrier_check(rank->machine);
}

static void rank_killed(void *argument, const char *why)
{
    struct rank *rank = argument;

    assert_non_null(why);
    rank->killed = true;
    sim_fiber_kill(rank->fiber);
    barrier_check(rank->machine);
}

static void rank_start(struct machine *machine, uint32_t id)
{
    struct rank *rank = &machine->rank[id];
    char name[16];

    snprintf(name, sizeof name, "rank %u", id);
    *rank = (struct rank){.id = id, .node = machine->node[id], .machine = machine};
    rank->process = aries_process_create(machine->fabric, rank->node, MACHINE_JOB, 1000 + id,
                                         machine->privileged, name, rank_killed, rank);
    rank->fiber = sim_fiber_start(rank_fiber, rank, name, 0);
    aries_process_bind(rank->process, rank->fiber);
}

static void print_waiter(const char *name, const char *why, sim_time_t since, void *argument)
{
    print_error("%s waits for %s since %llu ps\n", name, why, (unsigned long long)since);
}

static void print_violation(const char *text, void *argument)
{
    print_error("ledger: %s\n", text);
}

static void run_to_end(struct machine *machine)
{
    enum sim_outcome outcome = sim_run();

    if (outcome != SIM_DONE)
        sim_for_each_waiter(print_waiter, NULL);
    assert_int_equal(outcome, SIM_DONE);
    if (machine->unbalanced)
        return;
    if (!ledger_balance())
        ledger_for_each_violation(print_violation, NULL);
    assert_true(ledger_balanced());
}

static void create_fabric(struct machine *machine)
{
    struct aries_params *params =
        aries_params_new(machine->profile != NULL ? machine->profile : "xc40_hsw");
    struct net_config config;
    char *error;
    uint32_t i;

    for (i = 0; i < 4 && machine->param[i] != NULL; i++)
        assert_true(aries_params_set(params, machine->param[i], machine->value[i], &error));
    net_config_default(&config);
    config.seed = machine->seed;
    config.dragonfly.preset = machine->preset != NULL ? machine->preset : "chassis";
    if (machine->configure != NULL)
        machine->configure(machine, &config);
    aries_params_to_net(params, &config);
    machine->net = net_create(&config, &error);
    assert_non_null(machine->net);
    machine->fabric = aries_fabric_create(machine->net, params, machine->seed);
    aries_params_free(params);
    for (i = 0; i < machine->ranks; i++)
        machine->node[i] = i / machine->ranks_per_node;
    if (machine->place != NULL)
        machine->place(machine);
}

void machine_run(struct machine *machine)
{
    uint32_t i;

    if (left_behind)
        sim_fini();
    left_behind = true;
    machine->ranks = machine->ranks == 0 ? 2 : machine->ranks;
    machine->ranks_per_node = machine->ranks_per_node == 0 ? 1 : machine->ranks_per_node;
    machine->seed = machine->seed == 0 ? 1 : machine->seed;
    sim_init(&(struct sim_options){.seed = machine->seed, .time_limit = 100 * SIM_S});
    create_fabric(machine);
    aries_job_configure(machine->fabric, MACHINE_JOB, MACHINE_PTAG, MACHINE_COOKIE);
    aries_job_configure(machine->fabric, MACHINE_JOB, MACHINE_PTAG_OTHER, MACHINE_COOKIE_OTHER);
    for (i = 0; i < machine->ranks; i++)
        rank_start(machine, i);
    if (machine->prepare != NULL)
        machine->prepare(machine);
    run_to_end(machine);
    machine->digest = sim_core.digest;
    aries_fabric_destroy(machine->fabric);
    net_destroy(machine->net);
    sim_fini();
    left_behind = false;
}

/* ---- domains --------------------------------------------------------------------------------- */

void domain_open_as(struct domain *domain, uint32_t inst_id, uint8_t ptag, uint32_t cookie,
                    uint32_t modes)
{
    assert_ok(GNI_CdmCreate(inst_id, ptag, cookie, modes, &domain->cdm));
    assert_ok(GNI_CdmAttach(domain->cdm, 0, &domain->address, &domain->nic));
    assert_ok(GNI_CqCreate(domain->nic, 512, 0, GNI_CQ_NOBLOCK, NULL, NULL, &domain->source));
    assert_ok(GNI_CqCreate(domain->nic, 512, 0, GNI_CQ_NOBLOCK, NULL, NULL, &domain->target));
}

void domain_open(struct rank *rank, struct domain *domain, uint32_t modes)
{
    domain_open_as(domain, rank->id, MACHINE_PTAG, MACHINE_COOKIE, modes);
}

void domain_close(struct domain *domain)
{
    assert_ok(GNI_CdmDestroy(domain->cdm));
}

gni_ep_handle_t domain_connect(struct rank *rank, struct domain *domain, uint32_t peer)
{
    const struct rank *other = &rank->machine->rank[peer];
    gni_ep_handle_t ep;

    assert_ok(GNI_EpCreate(domain->nic, domain->source, &ep));
    assert_ok(GNI_EpBind(ep, aries_nic_address(rank->machine->fabric, other->node), peer));
    return ep;
}

gni_mem_handle_t domain_register(struct domain *domain, void *memory, uint64_t bytes,
                                 gni_cq_handle_t cq, uint32_t flags)
{
    gni_mem_handle_t handle;

    assert_ok(GNI_MemRegister(domain->nic, (uintptr_t)memory, bytes, cq, flags, -1, &handle));
    return handle;
}

void publish(struct rank *rank, gni_mem_handle_t handle, const void *memory)
{
    uint64_t *row = rank->machine->shared[rank->id];

    row[0] = handle.qword1;
    row[1] = handle.qword2;
    row[2] = (uintptr_t)memory;
    machine_barrier(rank);
}

gni_mem_handle_t published_handle(const struct rank *rank, uint32_t peer)
{
    const uint64_t *row = rank->machine->shared[peer];

    return (gni_mem_handle_t){row[0], row[1]};
}

uint64_t published_address(const struct rank *rank, uint32_t peer)
{
    return rank->machine->shared[peer][2];
}

/* ---- events ---------------------------------------------------------------------------------- */

gni_cq_entry_t next_event(gni_cq_handle_t cq, gni_return_t *result)
{
    gni_cq_entry_t event;

    do {
        *result = GNI_CqGetEvent(cq, &event);
    } while (*result == GNI_RC_NOT_DONE);
    return event;
}

gni_cq_entry_t good_event(gni_cq_handle_t cq)
{
    gni_return_t result;
    gni_cq_entry_t event = next_event(cq, &result);

    assert_rc(result, GNI_RC_SUCCESS);
    return event;
}

gni_cq_entry_t complete(gni_cq_handle_t cq, gni_post_descriptor_t *descr)
{
    gni_cq_entry_t event = good_event(cq);
    gni_post_descriptor_t *collected;

    assert_ok(GNI_GetCompleted(cq, event, &collected));
    assert_ptr_equal(collected, descr);
    assert_int_equal(descr->status, GNI_RC_SUCCESS);
    return event;
}

sim_time_t idle_time(struct domain *domain, gni_ep_handle_t ep, gni_post_descriptor_t descr)
{
    sim_time_t began;

    sim_spend(50 * SIM_US);
    sim_settle();
    began = sim_local_time();
    assert_ok(post(ep, &descr));
    complete(domain->source, &descr);
    return sim_local_time() - began;
}

unsigned complete_failed(gni_cq_handle_t cq, gni_post_descriptor_t *descr)
{
    gni_post_descriptor_t *collected;
    gni_return_t result;
    gni_cq_entry_t event = next_event(cq, &result);

    assert_rc(result, GNI_RC_TRANSACTION_ERROR);
    assert_true(event != 0);
    assert_rc(GNI_GetCompleted(cq, event, &collected), GNI_RC_TRANSACTION_ERROR);
    assert_ptr_equal(collected, descr);
    assert_int_equal(descr->status, GNI_RC_TRANSACTION_ERROR);
    return (unsigned)GNI_CQ_GET_STATUS(event);
}

/* ---- posts ----------------------------------------------------------------------------------- */

gni_post_descriptor_t describe_put(gni_post_type_t type, const void *local,
                                   gni_mem_handle_t local_handle, uint64_t remote,
                                   gni_mem_handle_t remote_handle, uint64_t length)
{
    return (gni_post_descriptor_t){
        .type = type,
        .cq_mode = GNI_CQMODE_GLOBAL_EVENT,
        .local_addr = (uintptr_t)local,
        .local_mem_hndl = local_handle,
        .remote_addr = remote,
        .remote_mem_hndl = remote_handle,
        .length = length,
    };
}

gni_post_descriptor_t describe_amo(gni_fma_cmd_type_t command, uint64_t first, uint64_t second,
                                   void *local, gni_mem_handle_t local_handle, uint64_t remote,
                                   gni_mem_handle_t remote_handle)
{
    gni_post_descriptor_t descr =
        describe_put(GNI_POST_AMO, local, local_handle, remote, remote_handle,
                     command & 0x200 ? sizeof(uint32_t) : sizeof(uint64_t));

    descr.amo_cmd = command;
    descr.first_operand = first;
    descr.second_operand = second;
    return descr;
}

gni_return_t post(gni_ep_handle_t ep, gni_post_descriptor_t *descr)
{
    switch (descr->type) {
    case GNI_POST_RDMA_PUT:
    case GNI_POST_RDMA_GET:
        return GNI_PostRdma(ep, descr);
    case GNI_POST_CQWRITE:
        return GNI_PostCqWrite(ep, descr);
    default:
        return GNI_PostFma(ep, descr);
    }
}
