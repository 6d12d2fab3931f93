/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Spawned jobs. A command is the name of a spawnable job of the scenario. The launcher (the root)
 * makes the job known, which travels down the tree; the server of each node starts its ranks, one
 * after the other, and reports up; when all have reported, the spawner is answered. Nothing is
 * started when a command is wrong, and what was started ends when others could not be.
 */
#include <errno.h>
#include <string.h>

#include "oob.h"

enum { /* between servers: u32s, of which the first is the index of the job */
       MESSAGE_STARTED = 1, /* number of ranks started; rank, error; … */
       MESSAGE_OVER, /* all its ranks have ended */
};

/* At the root: what has been asked for. */
struct oob_spawn {
    struct oob_spawn *next;
    struct job *job;
    uint64_t id;
    uint32_t waiting; /* ranks that nothing was reported of */
    uint32_t failed;
    int *errors;
};

/* On a node: its ranks of a job, as they start. */
struct oob_launch {
    struct sim_event event;
    struct oob_launch *next;
    struct oob_server *server;
    struct job *job;
    GArray *ranks; /* uint32_t: ids */
    GArray *report;
    uint32_t done;
};

/* ---- is it possible? ------------------------------------------------------------------------- */

struct plan {
    struct cluster *cluster;
    const struct pmi2_spawn *spawn;
    struct app *apps;
    int *errors; /* by process */
    const char *reason; /* NULL: it is possible */
};

static const struct scenario_job *find_spawnable(const struct scenario *scenario, const char *name)
{
    size_t i;

    for (i = 0; i < scenario->jobs.count; i++)
        if (scenario_job(scenario, i)->spawnable &&
            strcmp(scenario_job(scenario, i)->name, name) == 0)
            return scenario_job(scenario, i);
    return NULL;
}

static int plan_arguments(struct app *app, const struct pmi2_command *command, const char **reason)
{
    uint32_t i;

    if (command->argc == 0)
        return 0;
    app->argv = g_new0(char *, command->argc + 1);
    for (i = 0; i < command->argc; i++)
        app->argv[i] = g_strdup(command->argv[i]);
    if (app->scenario->workload->foreign != NULL)
        return 0;
    app->own_values = scenario_spawn_values(app->scenario, app->argv);
    app->values = app->own_values;
    *reason = "argument_not_of_this_workload";
    return app->own_values != NULL ? 0 : EINVAL;
}

/* 0 or what errno would be. */
static int plan_app(const struct plan *plan, uint32_t index, const char **reason)
{
    const struct pmi2_command *command = &plan->spawn->commands[index];
    const struct scenario_job *job = find_spawnable(plan->cluster->scenario, command->name);
    struct app *app = &plan->apps[index];
    uint32_t i;

    *reason = "no_spawnable_job_of_this_name";
    if (job == NULL)
        return ENOENT;
    *app = (struct app){.scenario = job,
                        .workload = job->workload->workload,
                        .values = job->values,
                        .rank_count = command->processes};
    for (i = 0; i < index; i++)
        if (plan->apps[i].scenario == job)
            app->place += plan->apps[i].rank_count;
    *reason = "too_many_processes";
    if (command->processes > job->rank_count - MIN(app->place, job->rank_count))
        return EAGAIN;
    *reason = "too_few_processes";
    if (plan->spawn->processes < job->workload->workload->ranks_min)
        return EINVAL;
    return plan_arguments(app, command, reason);
}

static void set_errors(int *errors, uint32_t count, int error)
{
    uint32_t i;

    for (i = 0; i < count; i++)
        errors[i] = error;
}

static void make_plan(struct plan *plan)
{
    const struct pmi2_spawn *spawn = plan->spawn;
    const struct cluster *cluster = plan->cluster;
    uint32_t i, first = 0;

    plan->apps = g_new0(struct app, spawn->command_count);
    plan->errors = g_new0(int, spawn->processes);
    for (i = 0; i < spawn->command_count; i++) {
        uint32_t processes = spawn->commands[i].processes;
        const char *reason;
        int error = plan_app(plan, i, &reason);

        set_errors(plan->errors + first, processes, error);
        first += processes;
        if (error != 0 && plan->reason == NULL)
            plan->reason = reason;
    }
    if (plan->reason != NULL)
        return;
    if (cluster->oob->over)
        plan->reason = "the_run_is_over";
    else if (cluster->job_count == cluster->jobs_max)
        plan->reason = "too_many_jobs";
    else if (spawn->processes > cluster->ranks_max - cluster->rank_count)
        plan->reason = "too_many_processes";
    if (plan->reason != NULL)
        set_errors(plan->errors, spawn->processes, EAGAIN);
}

/* Those that would have been started but for others. */
static void cancel_others(int *errors, uint32_t count)
{
    uint32_t i;

    for (i = 0; i < count; i++)
        if (errors[i] == 0)
            errors[i] = ECANCELED;
}

/* ---- the launcher ---------------------------------------------------------------------------- */

static void begin(struct oob *oob, struct plan *plan)
{
    const struct pmi2_spawn *spawn = plan->spawn;
    struct oob_spawn *waiting = g_new0(struct oob_spawn, 1);

    waiting->id = spawn->id;
    waiting->waiting = spawn->processes;
    waiting->errors = plan->errors;
    waiting->job = cluster_job_spawn(oob->cluster, pmi_job_of(oob->cluster, spawn->spawner),
                                     plan->apps, spawn->command_count);
    waiting->next = oob->spawns;
    oob->spawns = waiting;
}

void oob_spawn(struct oob_server *root, const struct pmi2_spawn *spawn)
{
    struct oob *oob = root->oob;
    struct plan plan = {.cluster = oob->cluster, .spawn = spawn};
    uint64_t id = spawn->id;
    uint32_t commands = spawn->command_count;

    make_plan(&plan);
    if (plan.reason == NULL && !oob_publish_job(oob, plan.apps, spawn))
        plan.reason = "refused";
    if (plan.reason == NULL) {
        begin(oob, &plan);
        return;
    }
    cancel_others(plan.errors, spawn->processes);
    pmi2_server_spawn_done(root->core, id, NULL, plan.errors, plan.reason);
    cluster_apps_free(plan.apps, commands);
    g_free(plan.errors);
}

static void answer(struct oob_server *root, const struct oob_spawn *waiting)
{
    struct job *job = waiting->job;
    const char *id = job->pmi_id;

    if (waiting->failed == 0) {
        pmi2_server_spawn_done(root->core, waiting->id, id, NULL, NULL);
        return;
    }
    cancel_others(waiting->errors, job->rank_count);
    job->not_started = job->failure_count == 0; /* else it has ended itself meanwhile */
    pmi2_server_job_end(root->core, id);
    pmi2_server_spawn_done(root->core, waiting->id, NULL, waiting->errors, "program_not_started");
}

static void spawn_free(struct oob_spawn *waiting)
{
    g_free(waiting->errors);
    g_free(waiting);
}

static void take_report(struct oob_server *root, const uint32_t *words, size_t count)
{
    struct oob_spawn **link = &root->oob->spawns, *waiting;
    size_t i;

    while ((*link)->job != &root->oob->cluster->jobs[words[0]])
        link = &(*link)->next;
    waiting = *link;
    waiting->waiting -= words[1];
    for (i = 2; i < count; i += 2) {
        waiting->errors[words[i]] = (int)words[i + 1];
        waiting->waiting--;
        waiting->failed++;
    }
    if (waiting->waiting > 0)
        return;
    *link = waiting->next;
    answer(root, waiting);
    spawn_free(waiting);
}

void oob_take_message(struct oob_server *server, const struct pmi2_action *action)
{
    uint32_t *words;

    if (server->node != PMI2_NO_NODE) {
        pmi2_server_send_up(server->core, action->message, action->bytes, action->length);
        return;
    }
    words = g_memdup2(action->bytes, action->length); /* lies where it likes */
    if (action->message == MESSAGE_OVER)
        pmi2_server_job_end(server->core, server->oob->cluster->jobs[words[0]].pmi_id);
    else
        take_report(server, words, action->length / sizeof(*words));
    g_free(words);
}

void oob_report_over(struct oob_server *server, const struct job *job)
{
    uint32_t index = (uint32_t)(job - job->cluster->jobs);

    if (!server->oob->over)
        pmi2_server_send_up(server->core, MESSAGE_OVER, &index, sizeof(index));
}

/* ---- a node ---------------------------------------------------------------------------------- */

static void report(struct oob_launch *launch, uint32_t word)
{
    g_array_append_val(launch->report, word);
}

static void launch_free(struct oob_launch *launch)
{
    g_array_unref(launch->ranks);
    g_array_unref(launch->report);
    g_free(launch);
}

static void forget_launch(struct oob_launch *launch)
{
    struct oob_launch **link = &launch->server->oob->launches;

    while (*link != launch)
        link = &(*link)->next;
    *link = launch->next;
    launch_free(launch);
}

static int start_rank(struct rank *rank)
{
    const struct cluster *cluster = rank->job->cluster;

    if (rank->state != RANK_WAITING)
        return ECANCELED;
    if (cluster_aries(cluster) != NULL && !aries_node_alive(cluster_aries(cluster), rank->node))
        return EHOSTDOWN;
    return rank_launch(rank) ? 0 : EAGAIN;
}

static void start_next(struct sim_event *event)
{
    struct oob_launch *launch = sim_container_of(event, struct oob_launch, event);
    struct oob_server *server = launch->server;
    uint32_t id = g_array_index(launch->ranks, uint32_t, launch->done);
    int error = start_rank(&launch->job->ranks[id]);

    sim_progress();
    if (error != 0) {
        report(launch, id);
        report(launch, (uint32_t)error);
    } else {
        g_array_index(launch->report, uint32_t, 1)++;
    }
    if (++launch->done < launch->ranks->len) {
        sim_event_schedule(event, sim_now() + server->oob->cluster->scenario->oob.exec_time);
        return;
    }
    pmi2_server_time(server->core, sim_now() / SIM_NS);
    pmi2_server_send_up(server->core, MESSAGE_STARTED, launch->report->data,
                        launch->report->len * sizeof(uint32_t));
    forget_launch(launch);
    oob_run(server);
}

static void take_rank(struct rank *rank, void *launch)
{
    g_array_append_val(((struct oob_launch *)launch)->ranks, rank->id);
}

void oob_launch(struct oob_server *server, struct job *job)
{
    struct oob_launch *launch = g_new0(struct oob_launch, 1);

    launch->server = server;
    launch->job = job;
    launch->ranks = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    launch->report = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    launch->event.fire = start_next;
    launch->next = server->oob->launches;
    server->oob->launches = launch;
    cluster_job_for_each_rank_on(job, server->node, take_rank, launch);
    report(launch, (uint32_t)(job - job->cluster->jobs));
    report(launch, 0);
    sim_event_schedule(&launch->event, sim_now() + server->oob->cluster->scenario->oob.exec_time);
}

void oob_free_spawns(struct oob *oob)
{
    struct oob_spawn *waiting;
    struct oob_launch *launch;

    while ((waiting = oob->spawns) != NULL) {
        oob->spawns = waiting->next;
        spawn_free(waiting);
    }
    while ((launch = oob->launches) != NULL) {
        oob->launches = launch->next;
        launch_free(launch);
    }
}
