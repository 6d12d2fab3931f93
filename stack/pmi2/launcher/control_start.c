/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Starting the job of the command line, and those that ranks spawn. */
#define _GNU_SOURCE
#include "control_internal.h"

#include "plan.h"

static void give_input(void *owner, const char *job, uint32_t rank, const void *bytes, gsize length)
{
    struct pmrun_control *control = owner;
    struct pmrun_root_job *of = g_hash_table_lookup(control->jobs, job);
    GVariant *text;

    if (of == NULL)
        return;
    if (control->agent != NULL && of->node_of[rank] == control->config.own_node) {
        pmrun_agent_input(control->agent, job, rank, bytes, length);
        return;
    }
    text = g_variant_ref_sink(g_variant_new(
        "(su@ay)", job, rank, g_variant_new_fixed_array(G_VARIANT_TYPE_BYTE, bytes, length, 1)));
    pmi2_server_send_down(control->config.io->server, of->node_of[rank], PMRUN_MESSAGE_INPUT,
                          g_variant_get_data(text), g_variant_get_size(text));
    g_variant_unref(text);
}

/* Takes `launch`. NULL: the server refused the job. */
static struct pmrun_root_job *add_job(struct pmrun_control *control, struct pmrun_launch *launch,
                                      struct pmi2_job_info *info)
{
    GBytes *bytes = pmrun_launch_pack(launch);
    GPtrArray *names = g_ptr_array_new();
    struct pmrun_root_job *job = NULL;
    const char *id;
    guint i;

    info->launch = g_bytes_get_data(bytes, &info->launch_bytes);
    for (i = 0; i < launch->programs->len; i++)
        g_ptr_array_add(names,
                        ((struct pmrun_program *)g_ptr_array_index(launch->programs, i))->argv[0]);
    g_ptr_array_add(names, NULL);
    id = pmi2_server_job_add(control->config.io->server, info);
    if (id != NULL) {
        job = pmrun_root_job_new(info, (char **)names->pdata);
        job->id = g_strdup(id);
        g_hash_table_insert(control->jobs, job->id, job);
    }
    g_ptr_array_unref(names);
    g_bytes_unref(bytes);
    pmrun_launch_free(launch);
    return job;
}

static int64_t universe_of(const struct pmrun_control *control, uint32_t size)
{
    int64_t universe = pmrun_control_options(control)->universe;

    if (universe == PMRUN_UNIVERSE_SLOTS)
        return MAX((int64_t)pmrun_hosts_slots(control->config.hosts), (int64_t)size);
    return universe < 0 ? -1 : universe;
}

gboolean pmrun_control_start(struct pmrun_control *control)
{
    const struct pmrun_options *options = pmrun_control_options(control);
    struct pmrun_launch_plan plan;
    struct pmi2_job_info info = {0};
    struct pmrun_root_job *job;

    if (!pmrun_plan_command_line(&plan, options, control->config.hosts, control->config.libraries))
        return FALSE;
    info.size = plan.size;
    info.node_of = plan.node_of;
    info.app_size = plan.app_size;
    info.apps = plan.launch->programs->len;
    info.universe = universe_of(control, plan.size);
    if (options->stdin_rank != UINT32_MAX && options->stdin_rank >= plan.size)
        pmrun_control_print(control,
                            "-stdin %u: there are ranks 0 to %u only; nobody gets the input",
                            options->stdin_rank, plan.size - 1);
    job = add_job(control, plan.launch, &info);
    plan.launch = NULL;
    pmrun_plan_clear(&plan);
    if (job == NULL) {
        pmrun_control_print(control, "the job is too big");
        return FALSE;
    }
    if (control->config.own_input < 0 && options->stdin_rank < job->size)
        control->input = pmrun_input_new(control->config.io->loop, job->id, options->stdin_rank,
                                         give_input, control);
    if (options->timeout > 0)
        uv_timer_start(&control->timeout, pmrun_control_time_limit,
                       (uint64_t)(options->timeout * 1000), 0);
    pmrun_control_print_verbose(control, "job %s: %u processes on %u hosts", job->id, job->size,
                                control->config.hosts->len);
    return TRUE;
}

void pmrun_control_spawn(struct pmrun_control *control, const struct pmi2_spawn *spawn)
{
    struct pmi2_server *server = control->config.io->server;
    struct pmrun_launch_plan plan;
    struct pmi2_job_info info = {0};
    struct pmrun_root_job *job = NULL;
    const char *reason = "no_memory";
    uint64_t id = spawn->id;

    if (control->killing) {
        pmi2_server_spawn_done(server, id, NULL, NULL, "the_job_is_ending");
        return;
    }
    if (pmrun_plan_spawn(&plan, spawn, pmrun_control_options(control), control->config.hosts,
                         control->config.libraries, &reason)) {
        info.size = plan.size;
        info.node_of = plan.node_of;
        info.app_size = plan.app_size;
        info.apps = plan.launch->programs->len;
        info.universe = universe_of(control, plan.size);
        info.spawner = spawn->spawner;
        info.preput = spawn->preput;
        info.preput_count = spawn->preput_count;
        pmrun_control_print_verbose(control, "rank %u of job %s spawns %u processes", spawn->rank,
                                    spawn->spawner, spawn->processes);
        job = add_job(control, plan.launch, &info);
        plan.launch = NULL;
        pmrun_plan_clear(&plan);
    }
    if (job == NULL) {
        pmi2_server_spawn_done(server, id, NULL, NULL, reason);
        return;
    }
    job->spawned = TRUE;
    job->spawn = id;
}
