/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the results of a campaign say. All functions read an open store. False: *error (g_free) is a
 * line; what was written before stays.
 */
#ifndef JACQUARD_CAMPAIGN_QUERY_H
#define JACQUARD_CAMPAIGN_QUERY_H

#include <stdio.h>
#include "campaign/store.h"

/* Runs of a campaign by verdict. */
struct campaign_counts {
    int64_t total, done, holds, failed, refused, stuck;
};
bool campaign_counts(struct campaign_store *store, struct campaign_counts *counts, char **error);

/*
 * "campaign", "runs", "done", "holds", "failed", "refused", "stuck", "running" (whether a process
 * writes the file), "rate" (runs in a second, lately; null: nothing runs), "eta_s" (or null),
 * "overhead" (part of the last local session beyond its runs, by the wall clock, or null),
 * "overhead_cpu", "versions". json_decref it. NULL: *error.
 */
json_t *campaign_status_json(struct campaign_store *store, char **error);
void campaign_status_print(const json_t *status, GString *out);

/* All runs with their settings and metrics: one object, or a table with one column for each setting
 * and each value of a metric. */
bool campaign_results_json(struct campaign_store *store, FILE *out, char **error);
bool campaign_results_csv(struct campaign_store *store, FILE *out, char **error);

/*
 * Runs that failed, by exit code and signature, in the order of the first ones: a list of
 * "signature", "exit", "verdict", "count", "number", "scenario", "seed", "settings", "problem" and
 * "command" of the first one. `file` is the campaign or the results file that the user named; the
 * command names scenarios relative to it. NULL: *error.
 */
json_t *campaign_failures_json(struct campaign_store *store, const char *file, char **error);
void campaign_failures_print(const json_t *failures, GString *out);

#endif
