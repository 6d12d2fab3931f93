/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The jobs and processes of an agent, and what agent.c and agent_start.c offer each other. */
#ifndef JACQUARD_PMRUN_AGENT_INTERNAL_H
#define JACQUARD_PMRUN_AGENT_INTERNAL_H

#include "agent.h"
#include "binding.h"
#include "lines.h"
#include "port.h"
#include "process.h"
#include "variables.h"

struct pmrun_agent {
    struct pmrun_io *io;
    const struct pmrun_agent_events *events;
    void *owner;
    char *host;
    uint32_t node;
    int own_input, null;
    gboolean paused;
    GHashTable *jobs; /* id → struct pmrun_node_job */
    guint processes; /* that have not ended */
    char *read;
};

struct pmrun_process;

struct pmrun_node_job { /* what of a job is on this node */
    struct pmrun_agent *agent;
    char *id;
    struct pmrun_launch *launch;
    struct pmrun_variables variables; /* the same for all ranks */
    struct pmrun_process *processes;
    guint count, next; /* next to be started */
    struct pmrun_binding **bindings; /* of each executable; NULL: none */
    char **files; /* of each executable */
    int *errors; /* of each executable: why it cannot be started */
    const char **steps;
    struct pmrun_port *port;
    uv_idle_t starter;
    gboolean starting, stopped, ended;
    guint users; /* handles that are open */
};

struct pmrun_stream {
    uv_pipe_t pipe;
    struct pmrun_process *process;
    struct pmrun_lines lines;
    gboolean open;
};

struct pmrun_process {
    struct pmrun_node_job *job;
    uint32_t rank, local, program;
    pid_t pid; /* 0: not started; -1: could not be */
    int status;
    gboolean exited, ended, has_input;
    int pidfd;
    uv_poll_t watch;
    uv_timer_t grace;
    struct pmrun_stream streams[2];
    struct pmrun_channel *pmi;
    uv_pipe_t input;
};

/* Starts the ranks that a new job has on this node. */
void pmrun_agent_start_job(struct pmrun_agent *agent, const struct pmi2_action *action);
/* Closes a handle of the job. Its data becomes the job, which lives until all handles are closed.
 */
void pmrun_agent_close_handle(uv_handle_t *handle, struct pmrun_node_job *job);
void pmrun_agent_start_reading(struct pmrun_stream *stream);
/* Callbacks: the process has exited; its PMI connection is closed. */
void pmrun_agent_process_exited(uv_poll_t *poll, int status, int events);
void pmrun_agent_pmi_closed(void *owner);

#endif
