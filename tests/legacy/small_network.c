/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "engine/ledger.h"
#include "small_network.h"

struct process {
    struct sim_fiber *fiber;
    uint32_t endpoint;
    bool over;
    void (*body)(void);
};

struct legacy_network *world_network;
struct net *world_net;
unsigned world_failures;
static struct process processes[WORLD_PROCESSES];

static bool find(enum legacy_kind kind, uint32_t adapter, struct legacy_place *place)
{
    const struct process *process =
        sim_fiber_self() != NULL ? sim_fiber_owner(sim_fiber_self()) : NULL;

    if (process == NULL || adapter != 0)
        return false;
    (void)kind;
    *place = (struct legacy_place){world_network, process->endpoint, process->endpoint + 1};
    return true;
}

unsigned world_self(void)
{
    const struct process *process = sim_fiber_owner(sim_fiber_self());

    return process->endpoint;
}

static void run_process(void *arg)
{
    struct process *process = arg;

    sim_fiber_set_owner(sim_fiber_self(), process);
    process->body();
    sim_settle();
    legacy_process_left(world_network, process->endpoint, process->endpoint + 1);
    process->over = true;
}

void world_cable(unsigned endpoint, bool alive)
{
    assert_true(net_link_set_alive(world_net, net_router_of(world_net, endpoint),
                                   net_routers(world_net) + endpoint, 0, alive));
}

void world_kill(unsigned endpoint)
{
    sim_fiber_kill(processes[endpoint].fiber);
    processes[endpoint].over = true;
    legacy_process_left(world_network, endpoint, endpoint + 1);
}

static void build(const struct world_options *options)
{
    struct net_config config;
    char *error = NULL;

    sim_init(&(struct sim_options){.seed = options->seed});
    net_config_default(&config);
    config.topology = NET_SWITCHED;
    config.switched.kind = "single-switch";
    config.switched.nodes = WORLD_PROCESSES;
    world_net = net_create(&config, &error);
    assert_non_null(world_net);
    world_network = legacy_network_create(
        &(struct legacy_network_config){.kind = options->kind,
                                        .name = "small",
                                        .net = world_net,
                                        .packet_point = sim_fault_point_find("net.packet"),
                                        .seed = options->seed});
    legacy_set_find(find);
    if (options->prepare != NULL)
        options->prepare(world_network);
}

void world_run(const struct world_options *options, void (*const bodies[])(void), unsigned count)
{
    unsigned i;

    assert_true(count <= WORLD_PROCESSES);
    world_failures = 0;
    build(options);
    for (i = 0; i < count; i++) {
        processes[i] = (struct process){.endpoint = i, .body = bodies[i]};
        processes[i].fiber = sim_fiber_start(run_process, &processes[i], "process", 0);
    }
    assert_int_equal(sim_run(), SIM_DONE);
    for (i = 0; i < count; i++)
        assert_true(processes[i].over);
    assert_true(sim_ledger_balance());
    legacy_network_destroy(world_network);
    legacy_set_find(NULL);
    net_destroy(world_net);
    sim_fini();
    assert_int_equal(world_failures, 0);
}
