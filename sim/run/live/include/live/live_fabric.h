/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* sim-run --live: the scenario's machine as a fabric for ordinary processes, in wall time. */
#ifndef JACQUARD_RUN_LIVE_FABRIC_H
#define JACQUARD_RUN_LIVE_FABRIC_H

#include <glib.h>
#include "cluster/cluster.h"
#include "shm/server.h"

struct live_fabric_options {
    const char *socket; /* NULL: in a folder of its own */
    int ready_fd; /* receives what processes need; the fabric ends when it is closed. -1: standard
                     output, and the fabric ends by SIGINT or SIGTERM */
    bool quiet; /* no report */
};

/* The scenario of a fabric without a scenario file, in YAML. It has as many nodes as a fabric that
 * the library starts by itself. */
extern const char live_fabric_default[];

/* Runs the fabric until it ends. False: *error (g_free) is one line. */
bool live_fabric_run(const struct scenario *scenario, const struct live_fabric_options *options,
                     char **error);
/* Reports an error to the reader of ready_fd or on the standard error, and returns the exit code.
 * Takes ownership of `error`. */
int live_fabric_refuse(const struct live_fabric_options *options, char *error);

/* ---- what processes need (environment.c) ----------------------------------------------------- */

/*
 * `machine` readable: lines for a launcher (stack/pmi2/launcher/fabric.h), with the scenario's
 * nodes; otherwise lines of a shell. g_string_free().
 */
GString *live_fabric_environment(const struct cluster *cluster, const char *socket, bool machine);

/* The symbolic link that live_fabric_environment() may create for the preloaded library, beside the
 * socket. The fabric removes it. g_free(). */
char *live_fabric_environment_link(const char *socket);

/* The scenario as processes read it (plan.c). g_string_free(). */
char *live_fabric_plan(const struct scenario *scenario, size_t *bytes); /* g_free it */

/* ---- what they did (report.c) ---------------------------------------------------------------- */

struct live_fabric_report;
struct live_fabric_report *live_fabric_report_new(uint32_t nodes);
/* To be called when a member joins. Members that only watch the fabric are not counted. */
void live_fabric_report_joined(struct live_fabric_report *report, struct shm_server *server,
                               const struct shm_member *member);
/* To be called when a member leaves or dies, while its segment exists. */
void live_fabric_report_left(struct live_fabric_report *report, struct shm_server *server,
                             const struct shm_member *member);
GString *live_fabric_report_text(const struct live_fabric_report *report);
void live_fabric_report_free(struct live_fabric_report *report);

#endif
