/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cluster/cluster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "engine/crash.h"
#include "engine/fault.h"
#include "engine/ledger.h"
#include "engine/trace.h"
#include "cluster/heap.h"
#include "cluster/libfabric.h"
#include "cluster/lnet.h"
#include "cluster/port_fiber.h"
#include "cluster/process_manager.h"

/* ---- start and end --------------------------------------------------------------------------- */

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
        /* Ranks may have threads, and some of them very many. */
        .fibers_max = 4 * cluster->ranks_max + 2 * (uint32_t)scenario->limits.threads,
        .tick = options->tick != NULL ? tick : NULL,
        .tick_arg = cluster,
    };

    if (has_foreign(
            scenario)) { /* programs with a main() may start threads and expect larger stacks */
        if (!scenario_given(scenario->limits.at, "stack"))
            core.stack_bytes = FOREIGN_STACK_BYTES;
        core.fibers_max =
            MAX(core.fibers_max, (uint32_t)MIN(cluster->ranks_max * scenario->limits.threads + 64,
                                               FOREIGN_STACKS_BYTES / core.stack_bytes));
    }
    sim_init(&core);
}

/* A message about the trace that names the file as the user did: a trace may be written under a
 * temporary name. g_free(). */
static char *trace_message(const struct cluster_options *options, const char *what)
{
    GString *text = g_string_new(what);

    if (options->trace_shown != NULL)
        g_string_replace(text, options->trace, options->trace_shown, 0);
    return g_string_free(text, FALSE);
}

struct cluster *cluster_create(const struct scenario *scenario,
                               const struct cluster_options *options, char **error)
{
    struct cluster *cluster = g_new0(struct cluster, 1);
    char *what = NULL;

    cluster_heap_begin();
    cluster->scenario = scenario;
    cluster->options = *options;
    cluster->memory = g_ptr_array_new_with_free_func(g_free);
    cluster->crashes = cluster_crashes_new();
    cluster_jobs_limits(cluster);
    init_core(scenario, options, cluster);
    if (options->trace != NULL) {
        if (!sim_trace_open(options->trace, &what)) {
            *error = trace_message(options, what);
            free(what);
            goto err;
        }
        cluster->trace_path =
            g_strdup(options->trace_shown != NULL ? options->trace_shown : options->trace);
    }
    if (options->sink != NULL)
        sim_trace_sink_begin(options->sink);
    if (!cluster_networks_create(cluster, error) || !cluster_lnet_create(cluster, error))
        goto err;
    cluster_cray_begin(cluster);
    pmi_begin(cluster);
    cluster_jobs_create(cluster);
    if (!cluster_faults_create(cluster, error))
        goto err;
    return cluster;
err:
    cluster_destroy(cluster);
    return NULL;
}

struct rank *cluster_rank_called(const struct cluster *cluster, const char *name)
{
    const char *dot = strrchr(name, '.');
    char *end;
    guint64 id;
    size_t i;

    if (dot == NULL || !g_ascii_isdigit(dot[1]))
        return NULL;
    id = g_ascii_strtoull(dot + 1, &end, 10);
    for (i = 0; i < cluster->job_count && *end == '\0'; i++) {
        const struct job *job = &cluster->jobs[i];

        if (id < job->rank_count && strncmp(name, job->name, (size_t)(dot - name)) == 0 &&
            job->name[dot - name] == '\0')
            return &job->ranks[id];
    }
    return NULL;
}

/* Where the program itself polls for completions, or a stack waits for its callbacks, its stacks
 * know which operation has none. */
static char *why_of(const struct cluster *cluster, const char *name, const char *why)
{
    bool polls = g_str_has_prefix(why, "completion queue") || strcmp(why, "runnable") == 0 ||
                 strcmp(why, "a semaphore") == 0;
    struct rank *rank = polls ? cluster_rank_called(cluster, name) : NULL;
    char *said = rank != NULL ? port_process_waits(rank) : NULL, *text;

    if (said == NULL)
        return g_strdup(why);
    text = g_strdup_printf("%s; %s", said, strcmp(why, "runnable") == 0 ? "it polls" : why);
    g_free(said);
    return text;
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
    waiter->why = why_of(cluster, name, why);
    waiter->since = since;
}

/* Publishes counters as metrics, so that expectations can name them. */
static void publish_counters(const struct cluster *cluster)
{
    cluster_networks_publish(cluster);
    cluster_lnet_publish(cluster);
    pmi_publish_counters(cluster);
    sim_metric_counter("engine.events", SIM_METRIC_COUNT)->counter = sim_core.events_fired;
    sim_metric_counter("engine.switches", SIM_METRIC_COUNT)->counter = sim_core.fiber_switches;
    sim_metric_counter("engine.virtual_time", SIM_METRIC_PS)->counter = cluster->ended;
}

/* Sends what foreign programs print to the standard error. The standard output is for the report.
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

    g_assert(cluster->events == 0); /* a cluster runs once */
    if (!cluster_libfabric_start_for(cluster->scenario, error))
        return false;
    output = divert_output(cluster);
    cluster_crash_begin(cluster);
    sim_interrupt_catch();
    cluster->outcome = sim_run();
    cluster->interrupted = sim_interrupted();
    sim_interrupt_release();
    cluster_crash_end();
    restore_output(output);
    cluster->wall_seconds = (double)(g_get_monotonic_time() - begin) * 1e-6;
    cluster->digest = sim_digest();
    cluster->events = sim_core.events_fired;
    cluster->switches = sim_core.fiber_switches;
    if (cluster->outcome != SIM_DONE || cluster->interrupted != 0) {
        cluster->ended = sim_now();
        sim_for_each_waiter(collect_waiter, cluster);
    }
    for (i = 0; i < cluster->job_count; i++)
        cluster->ended = MAX(cluster->ended, cluster->jobs[i].ended);
    for (i = 0; i < cluster->network_count; i++)
        if (cluster->networks[i].aries != NULL)
            aries_fabric_abandon_events(cluster->networks[i].aries);
    cluster_lnet_end(cluster);
    port_connections_end_all(cluster);
    port_books_end(cluster);
    cluster->balanced = sim_ledger_balance();
    publish_counters(cluster);
    if (!sim_trace_on)
        return true;
    for (i = 0; i < cluster->network_count; i++)
        net_trace_end(cluster->networks[i].net);
    if (sim_trace_close(&what))
        return true;
    *error = trace_message(&cluster->options, what);
    free(what);
    return false;
}

void cluster_destroy(struct cluster *cluster)
{
    char *what = NULL;
    size_t i;

    cluster_cray_end(cluster);
    cluster_jobs_destroy(cluster);
    cluster_faults_disarm(cluster);
    pmi_end(cluster);
    /* Fault points and ledger books are members of the fabric and of the cluster: forget them
     * first. */
    cluster_lnet_destroy(cluster);
    sim_fault_reset();
    sim_ledger_reset();
    cluster_networks_destroy(cluster);
    if (sim_trace_on && !sim_trace_close(&what)) /* the cluster has never run */
        free(what);
    sim_fini();
    cluster_jobs_free(cluster);
    for (i = 0; i < cluster->waiter_count; i++) {
        g_free(cluster->waiters[i].name);
        g_free(cluster->waiters[i].why);
    }
    g_free(cluster->waiters);
    port_pages_end();
    g_ptr_array_unref(cluster->memory);
    g_ptr_array_unref(cluster->crashes);
    g_free(cluster->timed);
    g_free(cluster->trace_path);
    g_free(cluster);
    cluster_heap_end();
}
