/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the ranks of a job report to the root, and what follows from it for the job. */
#define _GNU_SOURCE
#include "control_internal.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "status.h"

static void answer_spawn(struct pmrun_control *control, struct pmrun_root_job *job)
{
    static const char missing[] = "program_not_started";
    uint64_t spawn = job->spawn;

    if (spawn == 0 || job->reported < job->size || (job->failed != 0 && job->ended < job->started))
        return;
    job->spawn = 0;
    pmi2_server_spawn_done(control->config.io->server, spawn, job->failed != 0 ? NULL : job->id,
                           job->failed != 0 ? job->errors : NULL,
                           job->failed != 0 ? missing : NULL);
}

static void check_job(struct pmrun_control *control, struct pmrun_root_job *job)
{
    assert(job->reported <= job->size && job->ended <= job->started &&
           job->started <= job->reported);
    answer_spawn(control, job);
    if (job->reported < job->size || job->ended < job->started)
        return;
    pmrun_control_print_verbose(control, "job %s has ended", job->id);
    if (!(job->spawned && job->failed != 0)) /* its spawner has the error */
        control->status = pmrun_status_combine(pmrun_control_options(control)->exit_rule,
                                               control->status, job->status);
    g_hash_table_steal(control->jobs, job->id);
    g_ptr_array_add(control->over, job);
    pmrun_names_job_end(control->config.names, job->id);
    pmi2_server_job_end(control->config.io->server, job->id);
    if (g_hash_table_size(control->jobs) == 0)
        pmrun_control_finish(control);
}

void pmrun_control_started(void *owner, const char *id, const struct pmrun_agent_start *starts,
                           guint count)
{
    struct pmrun_control *control = owner;
    struct pmrun_root_job *job = g_hash_table_lookup(control->jobs, id);
    guint i;

    if (job == NULL)
        return;
    for (i = 0; i < count; i++) {
        const struct pmrun_agent_start *start = &starts[i];
        uint32_t rank = start->rank;

        if (rank >= job->size || job->pids[rank] != 0)
            continue;
        job->pids[rank] = start->pid;
        job->reported++;
        if (start->pid > 0) {
            job->started++;
            pmrun_input_begin(control->input, id, rank);
            pmrun_control_print_verbose(control, "rank %u of job %s: pid %d on %s", rank, id,
                                        (int)start->pid,
                                        pmrun_control_host(control, job->node_of[rank]));
            continue;
        }
        job->is_over[rank] = TRUE;
        job->errors[rank] = start->error;
        if (job->failed != 0 || start->error == ECANCELED)
            continue;
        job->failed = start->error;
        pmrun_control_print(control, "cannot start %s (rank %u of job %s, on %s)%s: %s",
                            pmrun_root_job_program(job, rank), rank, id,
                            pmrun_control_host(control, job->node_of[rank]),
                            strcmp(start->step, "wdir") == 0   ? ", working directory"
                            : strcmp(start->step, "fork") == 0 ? ", resources"
                                                               : "",
                            g_strerror(start->error));
        pmrun_control_add_status(
            control, job,
            pmrun_status_not_started(pmrun_control_options(control)->exit_rule, start->error));
        job->ending = TRUE;
        pmrun_control_send_signal(control, id, PMRUN_NO_RANK, SIGKILL);
    }
    pmrun_control_show_progress(control, job);
    check_job(control, job);
}

static void bad_end(struct pmrun_control *control, struct pmrun_root_job *job, uint32_t rank,
                    int status, enum pmrun_end end)
{
    gboolean keep = pmrun_control_options(control)->keep_survivors;
    char *text = pmrun_status_text(status);

    pmrun_control_print(control, "rank %u (pid %d, node %s) %s%s; %s job %s", rank,
                        (int)job->pids[rank], pmrun_control_host(control, job->node_of[rank]),
                        end == PMRUN_END_SIGNAL ? text
                        : status == 0           ? "exited"
                                                : "ended with ",
                        end == PMRUN_END_SIGNAL ? ""
                        : status == 0           ? " without having finalized PMI"
                                                : text,
                        keep ? "the others go on in" : "ending", job->id);
    g_free(text);
    if (keep)
        pmrun_control_send_signal(control, job->id, PMRUN_NO_RANK, SIGUSR1);
    else
        pmrun_control_end_jobs(control);
}

void pmrun_control_ended(void *owner, const char *id, uint32_t rank, pid_t pid, int status,
                         enum pmi2_rank_state state)
{
    struct pmrun_control *control = owner;
    struct pmrun_root_job *job = g_hash_table_lookup(control->jobs, id);
    enum pmrun_end end = pmrun_status_end(status, state);

    if (job == NULL || rank >= job->size || job->pids[rank] != pid || job->is_over[rank])
        return;
    job->is_over[rank] = TRUE;
    job->statuses[rank] = status;
    job->ended++;
    pmrun_control_print_verbose(control, "rank %u of job %s (pid %d) has ended", rank, id,
                                (int)pid);
    if (!job->ending) {
        pmrun_control_add_status(
            control, job,
            pmrun_status_code(pmrun_control_options(control)->exit_rule, status, state));
        if (end != PMRUN_END_NORMAL)
            bad_end(control, job, rank, status, end);
    }
    check_job(control, job);
}

void pmrun_control_aborted(struct pmrun_control *control, const struct pmi2_action *action)
{
    struct pmrun_root_job *job = g_hash_table_lookup(control->jobs, action->job);
    uint32_t rank = action->rank;

    if (job == NULL || job->ending)
        return;
    if (rank >= job->size || action->code < 0) { /* the end of its process decides */
        pmrun_control_print_verbose(control, "job %s: rank %d: %s", job->id, (int)rank,
                                    action->text);
        return;
    }
    pmrun_control_print(control, "rank %u (pid %d, node %s) aborted job %s%s%s", rank,
                        (int)job->pids[rank], pmrun_control_host(control, job->node_of[rank]),
                        job->id, *action->text != '\0' ? ": " : "", action->text);
    pmrun_control_add_status(control, job, action->code);
    pmrun_control_end_jobs(control);
}

void pmrun_control_lost(struct pmrun_control *control, uint32_t first, uint32_t last)
{
    GHashTableIter at;
    gpointer value;
    GPtrArray *jobs = g_ptr_array_new();
    guint i;
    uint32_t rank;

    pmrun_control_print(control, "the connection to node %s%s%s is lost; ending all jobs",
                        pmrun_control_host(control, first),
                        last > first + 1 ? " and those behind it up to " : "",
                        last > first + 1 ? pmrun_control_host(control, last - 1) : "");
    pmrun_control_end(control, 255, NULL);
    g_hash_table_iter_init(&at, control->jobs);
    while (g_hash_table_iter_next(&at, NULL, &value))
        g_ptr_array_add(jobs, value);
    for (i = 0; i < jobs->len; i++) {
        struct pmrun_root_job *job = g_ptr_array_index(jobs, i);

        for (rank = 0; rank < job->size; rank++) {
            if (job->node_of[rank] < first || job->node_of[rank] >= last || job->is_over[rank])
                continue;
            job->is_over[rank] = TRUE;
            if (job->pids[rank] == 0) {
                job->reported++;
                job->pids[rank] = -1;
                job->errors[rank] = EHOSTDOWN;
                job->failed = job->failed != 0 ? job->failed : EHOSTDOWN;
            } else {
                job->ended++;
                job->statuses[rank] = SIGKILL;
            }
        }
        check_job(control, job);
    }
    g_ptr_array_unref(jobs);
}
