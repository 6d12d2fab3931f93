/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Does the runs of a plan on the processors of this machine. */
#ifndef JACQUARD_CAMPAIGN_DRIVE_H
#define JACQUARD_CAMPAIGN_DRIVE_H

#include "campaign/plan.h"
#include "report/report.h"

#define CAMPAIGN_ATTEMPTS 3 /* at a run whose process is killed from outside */

struct campaign_drive {
    const struct campaign_plan *plan;
    uint8_t *done; /* a byte for each run of the plan: 1: it is not to be done. Updated. */
    unsigned parallel; /* processes */
    unsigned flush_ms; /* how often results are written */
    struct progress *progress; /* NULL: none is shown */
    uint64_t written; /* made: results that were written */

    /* Writes records, a list of campaign_record(). False: *error (g_free), and the drive ends. */
    bool (*write)(void *arg, const json_t *records, char **error);
    /* In the process of a run, first of all; may be NULL. */
    void (*in_child)(void *arg);
    void *arg;
};

enum campaign_drive_end {
    CAMPAIGN_DRIVE_ALL, /* all runs have a result */
    CAMPAIGN_DRIVE_INTERRUPTED, /* by a signal, see campaign_signal() */
    CAMPAIGN_DRIVE_FAILED, /* to write: *error */
};

/*
 * Until all is done, SIGINT or SIGTERM. What had ended by then is written, and what had not is left
 * out. The previous actions of both signals are restored.
 */
enum campaign_drive_end campaign_drive(struct campaign_drive *drive, char **error);

/* From now on SIGINT and SIGTERM are noted only; campaign_drive() does that, too. */
void campaign_signals_catch(void);
void campaign_signals_restore(void);
int campaign_signal(void); /* that came since; 0: none */

/*
 * What is kept of a run: "number", "exit", "digest", "signature" and "problem" of a run that
 * failed, "virtual_time_ps", "wall_s" and "cpu_s" (of the run, without its process), "metrics" (as
 * a text), "host", "finished" (seconds since 1970). json_decref it.
 */
json_t *campaign_record(uint64_t number, const json_t *result, double wall_s, double cpu_s);

#endif
