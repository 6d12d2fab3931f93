/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Jobs and their ranks: those of the scenario, and those that are spawned during a run. */
#include "cluster/cluster.h"

#include <stdio.h>
#include <string.h>
#include "engine/trace.h"
#include "engine/outside.h"
#include "cluster/port_fiber.h"
#include "cluster/process_manager.h"

/* ---- ranks ----------------------------------------------------------------------------------- */

static void killed(void *arg, const char *why)
{
    rank_kill(arg, why);
}

static void describe_rank(struct job *job, struct app *app, struct rank *rank, uint32_t id,
                          uint32_t in_app)
{
    rank->job = job;
    rank->app = app;
    rank->id = id;
    rank->on_node = (uint32_t)((app->place + in_app) % app->scenario->ranks_per_node);
    rank->node = cluster_app_node(app, in_app);
    sim_random_init(&rank->random, job->cluster->options.seed, job->name, id);
    cluster_cray_rank(rank);
}

#define TRACE_INDEX_STEP 4096u /* between the jobs of a node without a NIC */

static bool start_rank(struct rank *rank, sim_time_t at)
{
    struct job *job = rank->job;
    struct cluster *cluster = job->cluster;
    char name[96];

    snprintf(name, sizeof(name), "%s.%u", job->name, rank->id);
    if (cluster_aries(cluster) != NULL)
        rank->process =
            aries_process_create(cluster_aries(cluster), rank->node, job->ptag, RANK_PID(rank->id),
                                 rank->app->scenario->privileged, name, killed, rank);
    /* Ranks of several jobs on a node have different tracks. */
    rank->trace_index = rank->process != NULL
                            ? aries_process_trace_index(rank->process)
                            : rank->on_node + (uint32_t)(job - cluster->jobs) * TRACE_INDEX_STEP;
    if (rank->process != NULL)
        aries_process_starts_at(rank->process, at);
    sim_trace_set_rank_name(rank->node, rank->trace_index, name);
    rank_start(rank, at);
    if (rank->fiber != NULL)
        sim_trace_set_caller(rank->fiber, rank->node, rank->trace_index);
    return rank->fiber != NULL;
}

bool rank_launch(struct rank *rank)
{
    struct job *job = rank->job;

    if (!job->launched)
        job->started = sim_now();
    job->launched = true;
    if (start_rank(rank, sim_now()))
        return true;
    if (rank->process != NULL)
        aries_process_exit(rank->process);
    rank->process = NULL;
    return false;
}

/* ---- jobs ------------------------------------------------------------------------------------ */

uint32_t cluster_app_node(const struct app *app, uint32_t index)
{
    uint64_t at = (app->place + index) / app->scenario->ranks_per_node;

    g_assert(at < app->scenario->nodes.count);
    return app->scenario->nodes.nodes[at];
}

/* An estimate of the number of rank_progress() calls. Only the progress bar uses it. */
static uint64_t guess_goal(const struct job *job)
{
    static const char *const words[] = {"messages", "iterations", "operations", "rounds",
                                        "transfers"};
    const struct app *app = &job->apps[0];
    const struct workload_arg *args = app->workload->args;
    size_t i, j;

    for (i = 0; args != NULL && args[i].name != NULL; i++) {
        for (j = 0; j < G_N_ELEMENTS(words); j++) {
            if (args[i].type == ARG_COUNT && strcmp(args[i].name, words[j]) == 0)
                return app->values[i].number * job->rank_count;
        }
    }
    return 0;
}

/* Several programs of a job may share a node: number their ranks there consecutively. */
static void number_on_nodes(struct job *job)
{
    GHashTable *counts = g_hash_table_new(NULL, NULL);
    uint32_t i;

    for (i = 0; i < job->rank_count; i++) {
        struct rank *rank = &job->ranks[i];

        rank->on_node = GPOINTER_TO_UINT(g_hash_table_lookup(counts, GUINT_TO_POINTER(rank->node)));
        g_hash_table_insert(counts, GUINT_TO_POINTER(rank->node),
                            GUINT_TO_POINTER(rank->on_node + 1));
    }
    g_hash_table_destroy(counts);
}

static struct job *new_job(struct cluster *cluster, char *name, struct app *apps,
                           uint32_t app_count)
{
    size_t index = cluster->job_count++;
    struct job *job = &cluster->jobs[index];
    uint32_t i, j, id = 0;

    g_assert(index < cluster->jobs_max && app_count > 0);
    job->cluster = cluster;
    job->name = name;
    pmi_name_job(index, job->pmi_id);
    job->apps = apps;
    job->app_count = app_count;
    _Static_assert(16 + 2 * JOBS_MAX <= UINT8_MAX, "every job has two protection tags");
    job->ptag = (uint8_t)(16 + index);
    job->cookie = (uint32_t)(0x4a510000u + (index << 16) + 1);
    for (i = 0; i < app_count; i++) {
        job->rank_count += apps[i].rank_count;
    }
    job->running = job->rank_count;
    job->ranks = g_new0(struct rank, job->rank_count);
    job->progress_goal = guess_goal(job);
    job->first = cluster->rank_count;
    cluster->rank_count += job->rank_count;
    cluster->ranks_running += job->rank_count;
    if (cluster_aries(cluster) != NULL)
        aries_job_configure(cluster_aries(cluster), job->ptag, job->ptag, job->cookie);
    cluster_cray_job(job);
    for (i = 0; i < app_count; i++)
        for (j = 0; j < apps[i].rank_count; j++, id++)
            describe_rank(job, &apps[i], &job->ranks[id], id, j);
    if (app_count > 1)
        number_on_nodes(job);
    return job;
}

static void create_job(struct cluster *cluster, const struct scenario_job *scenario)
{
    struct app *app = g_new0(struct app, 1);
    struct job *job;
    uint32_t i;

    app->scenario = scenario;
    app->workload = scenario->workload->workload;
    app->values = scenario->values;
    app->rank_count = scenario->rank_count;
    job = new_job(cluster, g_strdup(scenario->name), app, 1);
    job->started = scenario->start;
    for (i = 0; i < job->rank_count; i++)
        start_rank(&job->ranks[i], scenario->start);
}

void cluster_jobs_limits(struct cluster *cluster)
{
    const struct scenario *scenario = cluster->scenario;
    uint64_t spawnable = 0;
    size_t i;

    for (i = 0; i < scenario->jobs.count; i++) {
        const struct scenario_job *job = scenario_job(scenario, i);

        cluster->jobs_max += !job->spawnable;
        spawnable += job->spawnable ? job->rank_count : 0;
    }
    cluster->ranks_max = scenario->rank_count;
    if (spawnable == 0)
        return;
    cluster->ranks_max = (uint32_t)MIN(
        scenario->rank_count + spawnable * (JOBS_MAX - cluster->jobs_max), (uint64_t)RANKS_MAX);
    cluster->jobs_max = JOBS_MAX;
}

void cluster_jobs_create(struct cluster *cluster)
{
    const struct scenario *scenario = cluster->scenario;
    size_t i;

    cluster->jobs = g_new0(struct job, cluster->jobs_max);
    for (i = 0; i < scenario->jobs.count; i++)
        if (!scenario_job(scenario, i)->spawnable)
            create_job(cluster, scenario_job(scenario, i));
}

/* ---- spawned --------------------------------------------------------------------------------- */

/* "child#2": no job of a scenario can have such a name. The random numbers of the job depend only
 * on it. */
static char *name_spawned(const struct cluster *cluster, const struct scenario_job *scenario)
{
    uint32_t number = 1;
    size_t i;

    for (i = 0; i < cluster->job_count; i++)
        number += cluster->jobs[i].spawner != NULL && cluster->jobs[i].apps[0].scenario == scenario;
    return g_strdup_printf("%s#%u", scenario->name, number);
}

struct job *cluster_job_spawn(struct cluster *cluster, const struct job *spawner, struct app *apps,
                              uint32_t app_count)
{
    struct job *job = new_job(cluster, name_spawned(cluster, apps[0].scenario), apps, app_count);

    job->spawner = spawner;
    job->started = sim_now();
    return job;
}

void cluster_job_for_each_rank_on(struct job *job, uint32_t node,
                                  void (*visit)(struct rank *rank, void *arg), void *arg)
{
    struct rank *first = job->ranks;
    uint32_t i, at, next;

    for (i = 0; i < job->app_count; first += job->apps[i++].rank_count) {
        const struct app *app = &job->apps[i];
        uint32_t per_node = (uint32_t)app->scenario->ranks_per_node;

        for (at = 0; at < app->rank_count; at = next) { /* the ranks on a node are consecutive */
            uint32_t rank;

            next = MIN(at + per_node - (app->place + at) % per_node, app->rank_count);
            for (rank = at; cluster_app_node(app, at) == node && rank < next; rank++)
                visit(&first[rank], arg);
        }
    }
}

static void count_rank(struct rank *rank, void *arg)
{
    ++*(uint32_t *)arg;
}

uint32_t cluster_job_ranks_on(struct job *job, uint32_t node)
{
    uint32_t count = 0;

    cluster_job_for_each_rank_on(job, node, count_rank, &count);
    return count;
}

void cluster_apps_free(struct app *apps, uint32_t count)
{
    uint32_t i;

    for (i = 0; i < count; i++) {
        g_strfreev(apps[i].argv);
        g_free(apps[i].own_values);
    }
    g_free(apps);
}

/* ---- end ------------------------------------------------------------------------------------- */

/* A killed or stuck rank does not free its memory, and no kernel does it. Leak checkers must not
 * report that memory. */
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

/* Stops the code first, because it may be waiting for something that the process owns. */
static void destroy_rank(struct rank *rank)
{
    ranks_left_memory |= rank->state == RANK_RUNNING || rank->state == RANK_KILLED ||
                         rank->foreign != NULL || rank->released;
    rank_threads_kill(rank);
    if (rank->fiber != NULL && rank->state != RANK_ENDED)
        sim_fiber_kill(rank->fiber);
    if (rank->operations != NULL)
        rank->operations->end(rank);
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

void cluster_jobs_destroy(struct cluster *cluster)
{
    size_t i;

    for (i = 0; i < cluster->job_count; i++)
        destroy_job(&cluster->jobs[i]);
}

/* Unloads programs last, when no NIC can write to their variables any more. */
static void free_job(struct job *job)
{
    uint32_t i;

    for (i = 0; i < job->rank_count; i++) {
        if (job->ranks[i].operations != NULL)
            job->ranks[i].operations->free(&job->ranks[i]);
        pmi_rank_free(&job->ranks[i]);
        port_process_free(&job->ranks[i]);
    }
    g_free(job->ranks);
    cluster_apps_free(job->apps, job->app_count);
    g_free(job->name);
}

void cluster_jobs_free(struct cluster *cluster)
{
    size_t i;

    for (i = 0; i < cluster->job_count; i++)
        free_job(&cluster->jobs[i]);
    g_free(cluster->jobs);
}

/* ---- memory that lives as long as the cluster ---------------------------------------------------
 */

void *rank_alloc(struct rank *rank, size_t bytes)
{
    struct cluster *cluster = rank->job->cluster;
    void *memory = g_malloc0(bytes);

    sim_outside_begin(); /* all ranks share the list */
    g_ptr_array_add(cluster->memory, memory);
    sim_outside_end();
    return memory;
}
