/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The result of a run: as JSON, on the screen, in files; and the progress bar. */
#ifndef JACQUARD_RUN_REPORT_H
#define JACQUARD_RUN_REPORT_H

#include "cluster/cluster.h"

/* The complete result of a run, as docs/json-output.md describes it; "exit" is the exit code. */
json_t *report_result_json(struct cluster *cluster);
/* tables.c: links.csv and histograms.csv in a folder that exists. False: *error (g_free). */
bool report_tables_write(const struct cluster *cluster, const char *folder, char **error);
/* The screen that a person reads, made from a result. */
void report_summary_print(const json_t *result, bool color, GString *out);

/* findings.c: the member "findings" of a result, and its lines on the screen. */
json_t *report_findings_json(const struct cluster *cluster);
void report_findings_print(const json_t *findings, GString *out);
/* The member "lnetctl": what lnet.show of the scenario wanted to see; without it there is none. */
void report_lnet_json(json_t *result, const struct cluster *cluster);
void report_lnet_print(const json_t *shown, GString *out);
/* The member "crashes": ranks that a signal ended, with their backtraces. */
json_t *report_crashes_json(const struct cluster *cluster);
void report_crashes_print(const json_t *crashes, GString *out);

/* faults.c: the members "faults" and "losses" of a result, and their lines on the screen. */
json_t *report_faults_json(const struct cluster *cluster);
json_t *report_losses_json(void);
void report_faults_print(const json_t *result, GString *out);

/* A run from scenario to result. NULL: *error (g_free). */
json_t *report_run(const struct scenario *scenario, const struct cluster_options *options,
                   char **error);

/* ---- the progress bar ------------------------------------------------------------------------ */

/* On stderr, when that is a terminal and the work takes more than a second. */
struct progress {
    bool on, drawn;
    int64_t started_us, last_us;
};
void report_progress_begin(struct progress *progress, bool on);
void report_progress_tick(void *progress, const struct cluster *cluster);
void report_progress_runs(struct progress *progress, size_t done, size_t total); /* campaigns */
void report_progress_end(struct progress *progress);

#endif
