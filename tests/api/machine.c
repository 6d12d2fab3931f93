/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The machine of the conformance tests in simulation: each rank is a fiber. */
#include "engine/trace.h"
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
    aries_fabric_abandon_events(machine->fabric);
    if (!sim_ledger_balance())
        sim_ledger_for_each_violation(print_violation, NULL);
    assert_true(sim_ledger_balanced());
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
    machine->digest = sim_digest();
    aries_fabric_destroy(machine->fabric);
    net_destroy(machine->net);
    sim_fini();
    left_behind = false;
}

void machine_simulated(void)
{
}

bool machine_soon(const bool *flag)
{
    sim_sleep_until(sim_clock_read() + SIM_MS);
    return *flag;
}

uint32_t machine_address(const struct machine *machine, uint32_t node)
{
    return aries_nic_address(machine->fabric, node);
}

/* ---- faults ---------------------------------------------------------------------------------- */

struct sim_fault_rule packet_rule(enum sim_fault_action action, uint32_t kind)
{
    struct sim_fault_rule rule = {
        .action = action,
        .until = SIM_NEVER,
        .probability = 1,
        .count_max = 1,
        .source = SIM_FAULT_ANY,
        .target = SIM_FAULT_ANY,
        .between = {SIM_FAULT_ANY, SIM_FAULT_ANY},
        .kind = kind,
    };

    sim_random_init(&rule.random, 1, "fault", kind);
    return rule;
}

void packet_rule_add(const struct sim_fault_rule *rule)
{
    assert_non_null(sim_fault_rule_add(sim_fault_point_find("aries.packet"), rule));
}

void packet_fault(enum sim_fault_action action, uint32_t kind, uint32_t status)
{
    struct sim_fault_rule rule = packet_rule(action, kind);

    rule.status = status;
    packet_rule_add(&rule);
}

/* ---- times ----------------------------------------------------------------------------------- */

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
