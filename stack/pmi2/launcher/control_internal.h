/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The state of a launch at the root, and what the files control*.c offer each other. */
#ifndef JACQUARD_PMRUN_CONTROL_INTERNAL_H
#define JACQUARD_PMRUN_CONTROL_INTERNAL_H

#include "control.h"
#include "input.h"
#include "root_job.h"
#include "signals.h"

struct pmrun_control {
    struct pmrun_control_config config;
    struct pmrun_output *output;
    struct pmrun_agent *agent; /* NULL: pmrun serves no node */
    struct pmrun_input *input;
    struct pmrun_signals *signals;
    GHashTable *jobs; /* id → struct pmrun_root_job */
    GPtrArray *over; /* jobs that have ended, for --print-all-exitcodes */
    uv_timer_t kill, timeout;
    int status;
    unsigned interrupts;
    gboolean killing, progress, finished;
    gboolean terminated, forced, abandoned; /* see terminate() */
};

static inline const struct pmrun_options *pmrun_control_options(const struct pmrun_control *control)
{
    return control->config.options;
}

static inline const char *pmrun_control_host(const struct pmrun_control *control, uint32_t node)
{
    return ((const struct pmrun_host *)g_ptr_array_index(control->config.hosts, node))->name;
}

/* Adds the status of a rank to that of its job. */
void pmrun_control_add_status(struct pmrun_control *control, struct pmrun_root_job *job,
                              int status);
/* To one rank or, PMRUN_NO_RANK, to all of the job, on all nodes. */
void pmrun_control_send_signal(struct pmrun_control *control, const char *job, uint32_t rank,
                               int signal);
/* SIGTERM to all jobs now, SIGKILL after a delay. */
void pmrun_control_end_jobs(struct pmrun_control *control);
/* No job is left: stops the loop. */
void pmrun_control_finish(struct pmrun_control *control);
/* A line on the terminal while a big job starts. */
void pmrun_control_show_progress(struct pmrun_control *control, const struct pmrun_root_job *job);
/* Callback: the time of --timeout is over. */
void pmrun_control_time_limit(uv_timer_t *timer);
/* Events of agents (agent.h). */
void pmrun_control_started(void *owner, const char *id, const struct pmrun_agent_start *starts,
                           guint count);
void pmrun_control_ended(void *owner, const char *id, uint32_t rank, pid_t pid, int status,
                         enum pmi2_rank_state state);
/* PMI2_ACTION_ABORT, PMI2_ACTION_SPAWN. */
void pmrun_control_aborted(struct pmrun_control *control, const struct pmi2_action *action);
void pmrun_control_spawn(struct pmrun_control *control, const struct pmi2_spawn *spawn);

#endif
