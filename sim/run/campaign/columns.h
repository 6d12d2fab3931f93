/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The columns of a table of runs: one for each setting, and one for each number of a metric. */
#ifndef JACQUARD_CAMPAIGN_COLUMNS_H
#define JACQUARD_CAMPAIGN_COLUMNS_H

#include "campaign/store.h"

enum campaign_columns { CAMPAIGN_SETTINGS, CAMPAIGN_METRICS };

/*
 * The names that the runs have, in the order of the first run with each: "fabric.fidelity",
 * "net.hops" (a metric with one value), "pingpong.latency.p99". g_ptr_array_free it with its
 * texts. NULL: *error (g_free).
 */
GPtrArray *campaign_keys(struct campaign_store *store, enum campaign_columns which, char **error);

/* The number that a run's metrics have under such a name; NULL: none. They own it. */
const json_t *campaign_metric(const json_t *metrics, const char *key);

/* The metric that the name belongs to, an object; NULL: the run has no such one. */
const json_t *campaign_metric_of(const json_t *metrics, const char *key);

/* The text of a column, up to the next step; "" if it has none. It may be no valid UTF-8: a program
 * that fails may print anything. */
const char *campaign_text_at(sqlite3_stmt *row, int column);

/* The same as a JSON string, in which U+FFFD stands for what is no UTF-8. */
json_t *campaign_string_at(sqlite3_stmt *row, int column);
json_t *campaign_string_or_null_at(sqlite3_stmt *row, int column);

/* The object that the column has as JSON; an empty one if it has none. json_decref it. */
json_t *campaign_object_at(sqlite3_stmt *row, int column);

#endif
