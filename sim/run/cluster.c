/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "engine/fault.h"
#include "engine/ledger.h"
#include "engine/trace.h"
#include "foreign/foreign.h"

/* ---- the machine ----------------------------------------------------------------------------- */

static bool set_param(const char *name, const struct tree *value, void *params)
{
    struct value number;
    char *error = NULL;

    if (!value_parse(ARG_REAL, value->text, NULL, NULL, NULL, &number, &error))
        g_free(error); /* the check let it pass: cannot be */
    else if (!aries_params_set(params, name, number.real, &error))
        free(error);
    return true;
}

static bool create_machine(struct cluster *cluster, uint64_t seed, char **error)
{
    const struct scenario *scenario = cluster->scenario;
    struct aries_params *params = NULL;
    struct net_config config;
    char *what = NULL;

    scenario_net_config(scenario, seed, &config);
    if (config.topology == NET_DRAGONFLY) {
        params = aries_params_new(scenario_profile(scenario));
        scenario_for_each_param(scenario, set_param, params);
        aries_params_to_net(params, &config);
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

/* ---- jobs ------------------------------------------------------------------------------------ */

/* What the workload will probably call progress: only a bar on a terminal depends on it. */
static uint64_t guess_goal(const struct job *job)
{
    static const char *const words[] = {"messages", "iterations", "operations", "rounds",
                                        "transfers"};
    const struct workload_arg *args = job->workload->args;
    size_t i, j;

    for (i = 0; args != NULL && args[i].name != NULL; i++) {
        for (j = 0; j < G_N_ELEMENTS(words); j++) {
            if (args[i].type == ARG_COUNT && strcmp(args[i].name, words[j]) == 0)
                return job->scenario->values[i].number * job->rank_count;
        }
    }
    return 0;
}

static void killed(void *arg, const char *why)
{
    rank_kill(arg, why);
}

static void create_rank(struct job *job, struct rank *rank, uint64_t seed, uint32_t id)
{
    const struct scenario_job *scenario = job->scenario;
    struct cluster *cluster = job->cluster;
    char name[96];

    rank->job = job;
    rank->id = id;
    rank->on_node = (uint32_t)(id % scenario->ranks_per_node);
    rank->node = scenario->nodes.nodes[id / scenario->ranks_per_node];
    snprintf(name, sizeof(name), "%s.%u", scenario->name, id);
    sim_random_init(&rank->random, seed, scenario->name, id);
    trace_set_rank_name(rank->node, rank->on_node, name);
    cray_host_rank(rank);
    if (cluster->aries != NULL)
        rank->process = aries_process_create(cluster->aries, rank->node, job->ptag, RANK_PID(id),
                                             scenario->privileged, name, killed, rank);
    rank_start(rank);
}

static void create_job(struct cluster *cluster, size_t index, uint64_t seed)
{
    const struct scenario_job *scenario = scenario_job(cluster->scenario, index);
    struct job *job = &cluster->jobs[index];
    uint32_t i;

    job->cluster = cluster;
    job->scenario = scenario;
    job->workload = scenario->workload->workload;
    job->rank_count = scenario->rank_count;
    job->running = job->rank_count;
    job->started = scenario->start;
    job->ptag = (uint8_t)(16 + index);
    job->cookie = (uint32_t)(0x4a510000u + (index << 16) + 1);
    job->ranks = g_new0(struct rank, job->rank_count);
    job->progress_goal = guess_goal(job);
    cluster->rank_count += job->rank_count;
    if (cluster->aries != NULL)
        aries_job_configure(cluster->aries, job->ptag, job->ptag, job->cookie);
    cray_host_job(job);
    for (i = 0; i < job->rank_count; i++)
        create_rank(job, &job->ranks[i], seed, i);
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
        .fibers_max = 2 * scenario->rank_count + 1024, /* ranks may have threads */
        .tick = options->tick != NULL ? tick : NULL,
        .tick_arg = cluster,
    };

    if (has_foreign(scenario)) { /* with threads, and stacks as they expect them */
        core.fibers_max = scenario->rank_count * FOREIGN_THREADS_MAX + 64;
        if (!given(scenario->limits.at, "stack"))
            core.stack_bytes = FOREIGN_STACK_BYTES;
    }
    sim_init(&core);
}

struct cluster *cluster_create(const struct scenario *scenario,
                               const struct cluster_options *options, char **error)
{
    struct cluster *cluster = g_new0(struct cluster, 1);
    char *what = NULL;
    size_t i;

    cluster->scenario = scenario;
    cluster->options = *options;
    cluster->memory = g_ptr_array_new_with_free_func(g_free);
    init_core(scenario, options, cluster);
    if (options->trace != NULL) {
        if (!trace_open(options->trace, &what)) {
            *error = g_strdup_printf("%s: %s", options->trace, what);
            free(what);
            goto err;
        }
        cluster->trace_path =
            g_strdup(options->trace_shown != NULL ? options->trace_shown : options->trace);
    }
    if (!create_machine(cluster, options->seed, error))
        goto err;
    cluster->jobs = g_new0(struct job, scenario->jobs.count);
    cluster->job_count = scenario->jobs.count;
    cray_host_begin(cluster);
    for (i = 0; i < cluster->job_count; i++)
        create_job(cluster, i, options->seed);
    cluster->ranks_running = cluster->rank_count;
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
    metric_counter(name, METRIC_COUNT)->counter = value;
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
    metric_counter("net.waiting", METRIC_PS)->counter = net.waiting;
    if (cluster->aries != NULL) {
        aries_get_counters(cluster->aries, &aries);
        publish("aries.transactions", aries.transactions);
        publish("aries.request_packets", aries.request_packets);
        publish("aries.request_flits", aries.request_flits);
        publish("aries.response_packets", aries.response_packets);
        metric_counter("aries.payload_bytes", METRIC_BYTES)->counter = aries.payload_bytes;
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
    publish("engine.events", sim_core.events_fired);
    publish("engine.switches", sim_core.fiber_switches);
    metric_counter("engine.virtual_time", METRIC_PS)->counter = cluster->ended;
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
    cluster->balanced = ledger_balance();
    publish_counters(cluster);
    if (cluster->trace_path == NULL)
        return true;
    if (trace_close(&what))
        return true;
    *error = g_strdup_printf("%s: %s", cluster->trace_path, what);
    free(what);
    return false;
}

/*
 * What the code of a killed or stuck rank had allocated is lost, as it has no kernel that would
 * take it back. A leak checker must not blame the program for it.
 */
static bool ranks_left_memory;

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define LEAK_CHECKER 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define LEAK_CHECKER 1
#endif
#ifdef LEAK_CHECKER
int __lsan_is_turned_off(void);
__attribute__((visibility("default"))) int __lsan_is_turned_off(void)
{
    return ranks_left_memory;
}
#endif

/* Its code stops first: what it waits for lies in what the process gives back. */
static void destroy_rank(struct rank *rank)
{
    ranks_left_memory |=
        rank->state == RANK_RUNNING || rank->state == RANK_KILLED || rank->foreign != NULL;
    rank_threads_kill(rank);
    if (rank->fiber != NULL && rank->state != RANK_ENDED)
        sim_fiber_kill(rank->fiber);
    foreign_end(rank);
    if (rank->process != NULL)
        aries_process_exit(rank->process);
}

static void destroy_job(struct job *job)
{
    size_t i;

    for (i = 0; i < job->rank_count; i++)
        destroy_rank(&job->ranks[i]);
    for (i = 0; i < FAILURE_TEXTS_MAX; i++)
        g_free(job->failures[i]);
    for (i = 0; i < 2; i++)
        if (!job->gather.kept[i])
            g_free(job->gather.buffers[i]);
}

/* Programs stay loaded until nothing can write to their variables any more. */
static void free_ranks(struct job *job)
{
    uint32_t i;

    for (i = 0; i < job->rank_count; i++)
        foreign_free(&job->ranks[i]);
    g_free(job->ranks);
}

void cluster_destroy(struct cluster *cluster)
{
    char *what = NULL;
    size_t i;

    cray_host_end(cluster);
    for (i = 0; i < cluster->job_count; i++)
        destroy_job(&cluster->jobs[i]);
    faults_disarm(cluster);
    /* Points and books lie in the fabric: nobody may look for them when it is gone. */
    sim_fault_reset();
    ledger_reset();
    if (cluster->aries != NULL)
        aries_fabric_destroy(cluster->aries);
    if (cluster->net != NULL)
        net_destroy(cluster->net);
    if (trace_on && !trace_close(&what)) /* never ran */
        free(what);
    sim_fini();
    for (i = 0; i < cluster->job_count; i++)
        free_ranks(&cluster->jobs[i]);
    for (i = 0; i < cluster->waiter_count; i++) {
        g_free(cluster->waiters[i].name);
        g_free(cluster->waiters[i].why);
    }
    g_free(cluster->waiters);
    g_ptr_array_unref(cluster->memory);
    g_free(cluster->timed);
    g_free(cluster->jobs);
    g_free(cluster->trace_path);
    g_free(cluster);
}

json_t *run_scenario(const struct scenario *scenario, const struct cluster_options *options,
                     char **error)
{
    struct cluster *cluster = cluster_create(scenario, options, error);
    json_t *result = NULL;

    if (cluster == NULL)
        return NULL;
    if (cluster_run(cluster, error))
        result = result_json(cluster);
    if (result != NULL && options->tables != NULL &&
        !tables_write(cluster, options->tables, error)) {
        json_decref(result);
        result = NULL;
    }
    cluster_destroy(cluster);
    return result;
}
