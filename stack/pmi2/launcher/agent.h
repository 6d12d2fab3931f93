/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The processes of one node. An agent starts the processes of each job that the node's server
 * receives, forwards their output and input, and reports their ends. Used by pmrun for its own node
 * and by pmproxy for any other.
 */
#ifndef JACQUARD_PMRUN_AGENT_H
#define JACQUARD_PMRUN_AGENT_H

#include "launch.h"
#include "io.h"

enum { PMRUN_AGENT_OUT, PMRUN_AGENT_ERROR };

struct pmrun_agent_start { /* of one rank: its process, or why there is none */
    uint32_t rank;
    pid_t pid; /* -1: none */
    int error;
    const char *step; /* that failed: "program", "wdir", "exec", "fork", "stopped" */
};

/* Events that an agent reports; strings and bytes are valid during the call. */
struct pmrun_agent_events {
    void (*started)(void *owner, const char *job, const struct pmrun_agent_start *starts,
                    guint count);
    /* Its exit status is known and its streams have ended. */
    void (*ended)(void *owner, const char *job, uint32_t rank, pid_t pid, int status,
                  enum pmi2_rank_state state);
    /* Whole lines, unless the stream has ended or a line is very long. */
    void (*output)(void *owner, const char *job, uint32_t rank, int stream, const char *bytes,
                   gsize length);
    void (*taken)(void *owner, const char *job); /* the process has taken its input */
    void (*warning)(void *owner, const char *text);
};

struct pmrun_agent;
/* own_input: descriptor that the rank with the standard input gets as it is; -1:
 * pmrun_agent_input(). */
struct pmrun_agent *pmrun_agent_new(struct pmrun_io *io, uint32_t node, const char *host,
                                    int own_input, const struct pmrun_agent_events *events,
                                    void *owner);
void pmrun_agent_free(struct pmrun_agent *agent); /* after the loop has been run to its end */

/* PMI2_ACTION_JOB, _JOB_END, _KILL, _RANK_STATE. */
void pmrun_agent_handle_action(struct pmrun_agent *agent, const struct pmi2_action *action);
/* To one process of the node (with its group) or, PMRUN_NO_RANK, all of the job. */
void pmrun_agent_signal(struct pmrun_agent *agent, const char *job, uint32_t rank, int signal);
void pmrun_agent_pause(struct pmrun_agent *agent,
                       gboolean pause); /* output is not read meanwhile */
void pmrun_agent_input(struct pmrun_agent *agent, const char *job, uint32_t rank, const void *bytes,
                       gsize length); /* 0: the end */
/* Kills everything at once, without waiting. */
void pmrun_agent_kill(struct pmrun_agent *agent);
gboolean pmrun_agent_is_idle(const struct pmrun_agent *agent); /* no process is left */

#endif
