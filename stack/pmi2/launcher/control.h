/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The root's side of a launch: the jobs, the ends of their ranks, the consequences for other ranks,
 * the messages of pmrun and its exit status.
 */
#ifndef JACQUARD_PMRUN_CONTROL_H
#define JACQUARD_PMRUN_CONTROL_H

#include "names.h"
#include "agent.h"
#include "hosts.h"
#include "options.h"
#include "output.h"

struct pmrun_control;
struct pmrun_control_config {
    struct pmrun_io *io;
    const struct pmrun_options *options;
    const GPtrArray *hosts;
    const char *libraries; /* folder of libpmi */
    struct pmrun_names *names; /* the name server's; NULL: there is none */
    int own_input; /* -1: input is forwarded */
    uint32_t own_node; /* node that pmrun serves itself; PMI2_NO_NODE */
};
struct pmrun_control *pmrun_control_new(const struct pmrun_control_config *config);
/* Kills what is left, writes what waits; then the loop must run once more before
 * pmrun_control_free(). */
void pmrun_control_close(struct pmrun_control *control);
void pmrun_control_free(struct pmrun_control *control);

/* Starts the job of the command line. FALSE: it failed, and the reason has been printed. */
gboolean pmrun_control_start(struct pmrun_control *control);
void pmrun_control_handle_action(struct pmrun_control *control, const struct pmi2_action *action);
/* Ends all jobs: TERM, and KILL after two seconds; the status if none was worse before. */
void pmrun_control_end(struct pmrun_control *control, int status, const char *why);
/* No job could be begun: pmrun ends with that status. */
void pmrun_control_fail(struct pmrun_control *control, int status);
/* A server is gone, with all processes of nodes [first, last). */
void pmrun_control_lost(struct pmrun_control *control, uint32_t first, uint32_t last);
void pmrun_control_print(struct pmrun_control *control, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void pmrun_control_print_verbose(struct pmrun_control *control, const char *format,
                                 ...) /* --verbose */
    __attribute__((format(printf, 2, 3)));
int pmrun_control_status(const struct pmrun_control *control);
/* SIGTERM has come: pmrun ends within a second, whatever processes, hosts and readers do. */
gboolean pmrun_control_is_terminated(const struct pmrun_control *control);
/* Processes are left whose ends are never reported: pmrun_control_close() and the loop would wait
 * for them.
 */
gboolean pmrun_control_is_abandoned(const struct pmrun_control *control);
void pmrun_control_flush(
    struct pmrun_control *control); /* writes pending output before such an exit */

#endif
