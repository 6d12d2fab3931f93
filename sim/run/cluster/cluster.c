/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cluster/cluster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "engine/fault.h"
#include "engine/ledger.h"
#include "engine/trace.h"
#include "cluster/heap.h"
#include "cluster/libfabric.h"
#include "cluster/port_fiber.h"
#include "cluster/process_manager.h"

/* ---- the machine ----------------------------------------------------------------------------- */

struct setting {
    struct aries_params *params;
    char *error; /* g_free(); NULL: none */
};

static bool set_param(const char *name, const struct tree *value, void *arg)
{
    struct setting *setting = arg;
    struct value number;
    char *error = NULL;

    if (value_parse(ARG_REAL, value->text, NULL, NULL, NULL, &number, &setting->error) &&
        !aries_params_set(setting->params, name, number.real, &error)) {
        setting->error = tree_problem(value, "fabric.params", "%s", error);
        free(error);
    }
    return setting->error == NULL;
}

static bool create_machine(struct cluster *cluster, uint64_t seed, char **error)
{
    const struct scenario *scenario = cluster->scenario;
    struct aries_params *params = NULL;
    struct setting setting = {.params = NULL};
    struct net_config config;
    char *what = NULL;

    scenario_net_config(scenario, seed, &config);
    if (config.topology == NET_DRAGONFLY) {
        params = aries_params_new(scenario_profile(scenario));
        setting.params = params;
        scenario_for_each_param(scenario, set_param, &setting);
        if (setting.error != NULL) {
            *error = setting.error;
            aries_params_free(params);
            return false;
        }
        aries_params_to_net(params, &config);
        port_costs_set(params);
    }
    cluster->net = net_create(&config, &what);
    if (cluster->net != NULL && params != NULL)
        cluster->aries = aries_fabric_create(cluster->net, params, seed);
    if (params != NULL)
        aries_params_free(params);
    if (cluster->net != NULL)
        return true;
    *error = tree_problem(scenario->fabric.at->origin != NULL ? scenario->fabric.at : scenario->at,
                          "fabric", "%s", what != NULL ? what : "cannot be built");
    free(what);
    return false;
}

/* ---- life ------------------------------------------------------------------------------------ */

static void tick(void *arg)
{
    struct cluster *cluster = arg;

    cluster->options.tick(cluster->options.tick_arg, cluster);
}

static bool has_foreign(const struct scenario *scenario)
{
    size_t i;

    for (i = 0; i < scenario->jobs.count; i++)
        if (scenario_job(scenario, i)->workload->foreign != NULL)
            return true;
    return false;
}

static void init_core(const struct scenario *scenario, const struct cluster_options *options,
                      struct cluster *cluster)
{
    struct sim_options core = {
        .seed = options->seed,
        .time_limit = scenario->limits.virtual_time,
        .no_progress_limit = scenario->limits.no_progress,
        .no_progress_events = scenario->limits.no_progress_events,
        .stack_bytes = scenario->limits.stack,
        .no_parking = scenario->limits.parking == PARKING_OFF,
        .fibers_max = 4 * cluster->ranks_max + 1024, /* ranks may have threads */
        .tick = options->tick != NULL ? tick : NULL,
        .tick_arg = cluster,
    };

    if (has_foreign(scenario)) { /* with threads, and stacks as they expect them */
        if (!given(scenario->limits.at, "stack"))
            core.stack_bytes = FOREIGN_STACK_BYTES;
        core.fibers_max =
            MAX(core.fibers_max, (uint32_t)MIN(cluster->ranks_max * scenario->limits.threads + 64,
                                               FOREIGN_STACKS_BYTES / core.stack_bytes));
    }
    sim_init(&core);
}

struct cluster *cluster_create(const struct scenario *scenario,
                               const struct cluster_options *options, char **error)
{
    struct cluster *cluster = g_new0(struct cluster, 1);
    char *what = NULL;

    heap_begin();
    cluster->scenario = scenario;
    cluster->options = *options;
    cluster->memory = g_ptr_array_new_with_free_func(g_free);
    jobs_limits(cluster);
    init_core(scenario, options, cluster);
    if (options->trace != NULL) {
        if (!sim_trace_open(options->trace, &what)) {
            *error = g_strdup_printf("%s: %s", options->trace, what);
            free(what);
            goto err;
        }
        cluster->trace_path =
            g_strdup(options->trace_shown != NULL ? options->trace_shown : options->trace);
    }
    if (!create_machine(cluster, options->seed, error))
        goto err;
    cray_host_begin(cluster);
    pmi_begin(cluster);
    jobs_create(cluster);
    if (!faults_create(cluster, error))
        goto err;
    return cluster;
err:
    cluster_destroy(cluster);
    return NULL;
}

static void collect_waiter(const char *name, const char *why, sim_time_t since, void *arg)
{
    struct cluster *cluster = arg;
    struct waiter *waiter;

    if ((cluster->waiter_count & (cluster->waiter_count - 1)) == 0)
        cluster->waiters =
            g_renew(struct waiter, cluster->waiters, MAX(cluster->waiter_count * 2, 1));
    waiter = &cluster->waiters[cluster->waiter_count++];
    waiter->name = g_strdup(name);
    waiter->why = g_strdup(why);
    waiter->since = since;
}

static void publish(const char *name, uint64_t value)
{
    sim_metric_counter(name, METRIC_COUNT)->counter = value;
}

/* So that expectations can name them. */
static void publish_counters(const struct cluster *cluster)
{
    struct net_counters net;
    struct aries_counters aries;

    net_get_counters(cluster->net, &net);
    publish("net.transfers", net.transfers);
    publish("net.packets", net.packets);
    publish("net.units", net.units);
    publish("net.hops", net.hops);
    publish("net.minimal", net.minimal);
    publish("net.non_minimal", net.non_minimal);
    publish("net.dropped", net.dropped);
    publish("net.unreachable", net.unreachable);
    publish("net.delayed", net.delayed);
    publish("net.duplicated", net.duplicated);
    publish("net.poisoned", net.poisoned);
    publish("net.replays", net.replays);
    sim_metric_counter("net.waiting", METRIC_PS)->counter = net.waiting;
    if (cluster->aries != NULL) {
        aries_get_counters(cluster->aries, &aries);
        publish("aries.transactions", aries.transactions);
        publish("aries.request_packets", aries.request_packets);
        publish("aries.request_flits", aries.request_flits);
        publish("aries.response_packets", aries.response_packets);
        sim_metric_counter("aries.payload_bytes", METRIC_BYTES)->counter = aries.payload_bytes;
        publish("aries.events", aries.events);
        publish("aries.errors", aries.errors);
        publish("aries.smsg_sent", aries.smsg_sent);
        publish("aries.smsg_received", aries.smsg_received);
        publish("aries.msgq_sent", aries.msgq_sent);
        publish("aries.msgq_received", aries.msgq_received);
        publish("aries.datagrams", aries.datagrams);
        publish("aries.overruns", aries.overruns);
        publish("aries.retransmits", aries.retransmits);
        publish("aries.orb_max", aries.orb_max);
        publish("aries.error_events", aries.error_events);
    }
    pmi_publish_counters(cluster);
    publish("engine.events", sim_core.events_fired);
    publish("engine.switches", sim_core.fiber_switches);
    sim_metric_counter("engine.virtual_time", METRIC_PS)->counter = cluster->ended;
}

/*
 * What foreign programs print goes to the standard error: the standard output is the report's. In
 * whole lines, as their ranks share one stream.
 */
static int divert_output(const struct cluster *cluster)
{
    int output = -1;

    if (!has_foreign(cluster->scenario))
        return -1;
    fflush(stdout);
    output = dup(STDOUT_FILENO);
    if (output >= 0 && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0)
        return output;
    if (output >= 0)
        close(output);
    return -1;
}

static void restore_output(int output)
{
    if (output < 0)
        return;
    fflush(stdout);
    dup2(output, STDOUT_FILENO);
    close(output);
}

bool cluster_run(struct cluster *cluster, char **error)
{
    gint64 begin = g_get_monotonic_time();
    char *what = NULL;
    size_t i;
    int output;

    if (!libfabric_start_for(cluster->scenario, error))
        return false;
    output = divert_output(cluster);
    cluster->outcome = sim_run();
    restore_output(output);
    cluster->wall_seconds = (double)(g_get_monotonic_time() - begin) * 1e-6;
    cluster->digest = sim_core.digest;
    cluster->events = sim_core.events_fired;
    cluster->switches = sim_core.fiber_switches;
    if (cluster->outcome != SIM_DONE) {
        cluster->ended = sim_now();
        sim_for_each_waiter(collect_waiter, cluster);
    }
    for (i = 0; i < cluster->job_count; i++)
        cluster->ended = MAX(cluster->ended, cluster->jobs[i].ended);
    cluster->balanced = sim_ledger_balance();
    publish_counters(cluster);
    if (cluster->trace_path == NULL)
        return true;
    if (sim_trace_close(&what))
        return true;
    *error = g_strdup_printf("%s: %s", cluster->trace_path, what);
    free(what);
    return false;
}

void cluster_destroy(struct cluster *cluster)
{
    char *what = NULL;
    size_t i;

    cray_host_end(cluster);
    jobs_destroy(cluster);
    faults_disarm(cluster);
    pmi_end(cluster);
    /* Points and books lie in the fabric and here: nobody may look for them when it is gone. */
    sim_fault_reset();
    sim_ledger_reset();
    if (cluster->aries != NULL)
        aries_fabric_destroy(cluster->aries);
    if (cluster->net != NULL)
        net_destroy(cluster->net);
    if (sim_trace_on && !sim_trace_close(&what)) /* never ran */
        free(what);
    sim_fini();
    rank_forget_fibers();
    jobs_free(cluster);
    for (i = 0; i < cluster->waiter_count; i++) {
        g_free(cluster->waiters[i].name);
        g_free(cluster->waiters[i].why);
    }
    g_free(cluster->waiters);
    port_pages_end();
    g_ptr_array_unref(cluster->memory);
    g_free(cluster->timed);
    g_free(cluster->trace_path);
    g_free(cluster);
    heap_end();
}
