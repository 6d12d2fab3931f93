/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "campaign/query.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "columns.h"

#define RATE_RUNS 500 /* the last ones that the rate is made from */
#define RATE_AGE_S 300 /* without a new result for so long, nothing runs */

/* The end of a query. `status` is what the last step returned. */
static bool end(struct campaign_store *store, sqlite3_stmt *statement, int status, char **error)
{
    bool ok = status == SQLITE_DONE || status == SQLITE_ROW;

    if (!ok)
        campaign_store_fail(store, error);
    sqlite3_finalize(statement);
    return ok;
}

/* ---- progress -------------------------------------------------------------------------------- */

bool campaign_counts(struct campaign_store *store, struct campaign_counts *counts, char **error)
{
    sqlite3_stmt *row = campaign_store_prepare(
        store,
        "SELECT (SELECT runs FROM campaign), count(*), total(exit = 0), total(exit = 1), "
        "total(exit = 2), total(exit = 3) FROM runs",
        error);
    int status;

    if (row == NULL)
        return false;
    status = sqlite3_step(row);
    *counts = (struct campaign_counts){sqlite3_column_int64(row, 0), sqlite3_column_int64(row, 1),
                                       sqlite3_column_int64(row, 2), sqlite3_column_int64(row, 3),
                                       sqlite3_column_int64(row, 4), sqlite3_column_int64(row, 5)};
    return end(store, row, status, error);
}

/* Runs in a second, from the last results. False: *error. *rate 0: nothing runs. */
static bool find_rate(struct campaign_store *store, double *rate, char **error)
{
    sqlite3_stmt *row =
        campaign_store_prepare(store,
                               "SELECT count(*), min(finished), max(finished) FROM (SELECT "
                               "finished FROM runs ORDER BY finished DESC LIMIT ?)",
                               error);
    double now = (double)g_get_real_time() / 1e6, first, last;
    int status;

    *rate = 0;
    if (row == NULL)
        return false;
    sqlite3_bind_int(row, 1, RATE_RUNS);
    status = sqlite3_step(row);
    first = sqlite3_column_double(row, 1);
    last = sqlite3_column_double(row, 2);
    if (sqlite3_column_int(row, 0) > 1 && now - last < RATE_AGE_S && last > first)
        *rate = (sqlite3_column_int(row, 0) - 1) / (last - first);
    return end(store, row, status, error);
}

/* Time of the last local session beyond that of its runs, as a part of that. */
static bool put_overhead(struct campaign_store *store, json_t *status, char **error)
{
    sqlite3_stmt *row = campaign_store_prepare(
        store,
        "SELECT processes, updated - started, runs_wall_s, runs_cpu_s, cpu_s FROM sessions "
        "WHERE processes > 0 AND runs > 0 ORDER BY id DESC LIMIT 1",
        error);
    double processes, elapsed, wall, cpu, whole;
    int step;

    if (row == NULL)
        return false;
    step = sqlite3_step(row);
    json_object_set_new(status, "overhead", json_null());
    json_object_set_new(status, "overhead_cpu", json_null());
    if (step == SQLITE_ROW) {
        processes = sqlite3_column_double(row, 0);
        elapsed = sqlite3_column_double(row, 1);
        wall = sqlite3_column_double(row, 2);
        cpu = sqlite3_column_double(row, 3);
        whole = sqlite3_column_double(row, 4);
        if (wall > 0)
            json_object_set_new(status, "overhead", json_real(processes * elapsed / wall - 1));
        if (cpu > 0 && whole > 0)
            json_object_set_new(status, "overhead_cpu", json_real(whole / cpu - 1));
    }
    return end(store, row, step, error);
}

static bool put_versions(struct campaign_store *store, json_t *status, char **error)
{
    sqlite3_stmt *row =
        campaign_store_prepare(store, "SELECT program, digest FROM versions ORDER BY id", error);
    json_t *versions = json_array();
    int step = SQLITE_DONE;

    json_object_set_new(status, "versions", versions);
    if (row == NULL)
        return false;
    while ((step = sqlite3_step(row)) == SQLITE_ROW)
        json_array_append_new(versions,
                              json_pack("{s:o,s:o}", "program", campaign_string_at(row, 0),
                                        "digest", campaign_string_at(row, 1)));
    return end(store, row, step, error);
}

static bool put_name(struct campaign_store *store, json_t *status, char **error)
{
    sqlite3_stmt *row = campaign_store_prepare(store, "SELECT name FROM campaign", error);
    int step;

    if (row == NULL)
        return false;
    step = sqlite3_step(row);
    json_object_set_new(status, "campaign", campaign_string_at(row, 0));
    return end(store, row, step, error);
}

json_t *campaign_status_json(struct campaign_store *store, char **error)
{
    struct campaign_counts counts;
    json_t *status = json_object();
    double rate = 0;

    if (!put_name(store, status, error) || !campaign_counts(store, &counts, error) ||
        !find_rate(store, &rate, error) || !put_overhead(store, status, error) ||
        !put_versions(store, status, error)) {
        json_decref(status);
        return NULL;
    }
    json_object_set_new(status, "runs", json_integer(counts.total));
    json_object_set_new(status, "done", json_integer(counts.done));
    json_object_set_new(status, "holds", json_integer(counts.holds));
    json_object_set_new(status, "failed", json_integer(counts.failed));
    json_object_set_new(status, "refused", json_integer(counts.refused));
    json_object_set_new(status, "stuck", json_integer(counts.stuck));
    json_object_set_new(status, "running", json_boolean(campaign_store_is_written(store->path)));
    if (counts.done == counts.total)
        rate = 0;
    json_object_set_new(status, "rate", rate > 0 ? json_real(rate) : json_null());
    json_object_set_new(status, "eta_s",
                        rate > 0 ? json_real((double)(counts.total - counts.done) / rate)
                                 : json_null());
    return status;
}

static json_int_t integer_of(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

void campaign_status_print(const json_t *status, GString *out)
{
    const json_t *eta = json_object_get(status, "eta_s"),
                 *overhead = json_object_get(status, "overhead"),
                 *cpu = json_object_get(status, "overhead_cpu");
    json_int_t runs = integer_of(status, "runs"), done = integer_of(status, "done");

    g_string_append_printf(out, "%s: %lld of %lld runs (%.1f %%): %lld hold, %lld do not%s\n",
                           json_string_value(json_object_get(status, "campaign")), (long long)done,
                           (long long)runs, 100.0 * (double)done / (double)MAX(runs, 1),
                           (long long)integer_of(status, "holds"),
                           (long long)(done - integer_of(status, "holds")),
                           json_is_true(json_object_get(status, "running")) ? "; running" : "");
    if (!json_is_null(eta))
        g_string_append_printf(out, "%.1f runs/s, ETA %.0f s\n",
                               json_number_value(json_object_get(status, "rate")),
                               json_number_value(eta));
    if (json_is_real(overhead) && json_is_real(cpu))
        g_string_append_printf(out,
                               "beyond the runs themselves: %.1f %% of the time, %.1f %% of the "
                               "processor time\n",
                               100 * json_real_value(overhead), 100 * json_real_value(cpu));
}

/* ---- results --------------------------------------------------------------------------------- */

#define COLUMNS                                                                               \
    "number, scenario, seed, settings, verdict, exit, digest, signature, problem, "           \
    "virtual_time_ps, wall_s, cpu_s, metrics, host, finished, (SELECT program FROM versions " \
    "WHERE id = version)"
enum {
    NUMBER,
    SCENARIO,
    SEED,
    SETTINGS,
    VERDICT,
    EXIT,
    DIGEST,
    SIGNATURE,
    PROBLEM,
    VIRTUAL,
    WALL,
    CPU,
    METRICS,
    HOST,
    FINISHED,
    PROGRAM,
};

static json_t *row_json(sqlite3_stmt *row)
{
    return json_pack(
        "{s:I,s:o,s:I,s:o,s:o,s:i,s:o,s:o,s:o,s:I,s:f,s:f,s:o,s:o,s:f,s:o}", "number",
        (json_int_t)sqlite3_column_int64(row, NUMBER), "scenario",
        campaign_string_at(row, SCENARIO), "seed", (json_int_t)sqlite3_column_int64(row, SEED),
        "set", campaign_object_at(row, SETTINGS), "verdict", campaign_string_at(row, VERDICT),
        "exit", sqlite3_column_int(row, EXIT), "digest", campaign_string_or_null_at(row, DIGEST),
        "signature", campaign_string_or_null_at(row, SIGNATURE), "problem",
        campaign_string_or_null_at(row, PROBLEM), "virtual_time_ps",
        (json_int_t)sqlite3_column_int64(row, VIRTUAL), "wall_s", sqlite3_column_double(row, WALL),
        "cpu_s", sqlite3_column_double(row, CPU), "metrics", campaign_object_at(row, METRICS),
        "host", campaign_string_at(row, HOST), "finished", sqlite3_column_double(row, FINISHED),
        "program", campaign_string_at(row, PROGRAM));
}

bool campaign_results_json(struct campaign_store *store, FILE *out, char **error)
{
    sqlite3_stmt *row =
        campaign_store_prepare(store, "SELECT " COLUMNS " FROM runs ORDER BY number", error);
    json_t *status = row != NULL ? campaign_status_json(store, error) : NULL;
    int step = SQLITE_DONE;
    bool first = true;
    char *text;

    if (status == NULL) {
        sqlite3_finalize(row);
        return false;
    }
    text = json_dumps(status, JSON_COMPACT);
    json_decref(status);
    fprintf(out, "{\"schema\": 1, \"status\": %s, \"runs\": [", text);
    free(text);
    while ((step = sqlite3_step(row)) == SQLITE_ROW) {
        json_t *one = row_json(row);

        text = json_dumps(one, JSON_COMPACT);
        fprintf(out, "%s\n%s", first ? "" : ",", text);
        free(text);
        json_decref(one);
        first = false;
    }
    fprintf(out, "\n]}\n");
    return end(store, row, step, error);
}

/* RFC 4180: quoted where it must be. */
static void csv_text(FILE *out, const char *text)
{
    if (strpbrk(text, ",\"\r\n") == NULL) {
        fputs(text, out);
        return;
    }
    fputc('"', out);
    for (; *text != '\0'; text++) {
        if (*text == '"')
            fputc('"', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

static void csv_metric(FILE *out, const json_t *metrics, const char *key)
{
    const json_t *value = campaign_metric(metrics, key);

    if (json_is_integer(value))
        fprintf(out, ",%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_real(value))
        fprintf(out, ",%.10g", json_real_value(value));
    else
        fputc(',', out);
}

static void csv_row(FILE *out, sqlite3_stmt *row, const GPtrArray *settings,
                    const GPtrArray *metrics)
{
    static const int columns[] = {NUMBER,    SCENARIO, SEED,    VERDICT, EXIT, DIGEST,
                                  SIGNATURE, PROBLEM,  VIRTUAL, WALL,    CPU,  PROGRAM};
    json_t *set = campaign_object_at(row, SETTINGS), *values = campaign_object_at(row, METRICS);
    guint i;

    for (i = 0; i < G_N_ELEMENTS(columns); i++) {
        if (i != 0)
            fputc(',', out);
        csv_text(out, campaign_text_at(row, columns[i]));
    }
    for (i = 0; i < settings->len; i++) {
        const char *text = json_string_value(json_object_get(set, settings->pdata[i]));

        fputc(',', out);
        csv_text(out, text != NULL ? text : "");
    }
    for (i = 0; i < metrics->len; i++)
        csv_metric(out, values, metrics->pdata[i]);
    fputc('\n', out);
    json_decref(set);
    json_decref(values);
}

static void csv_header(FILE *out, const GPtrArray *settings, const GPtrArray *metrics)
{
    guint i;

    fputs("number,scenario,seed,verdict,exit,digest,signature,problem,virtual_time_ps,wall_s,cpu_s,"
          "program",
          out);
    for (i = 0; i < settings->len; i++) {
        fputs(",set:", out);
        csv_text(out, settings->pdata[i]);
    }
    for (i = 0; i < metrics->len; i++) {
        fputc(',', out);
        csv_text(out, metrics->pdata[i]);
    }
    fputc('\n', out);
}

bool campaign_results_csv(struct campaign_store *store, FILE *out, char **error)
{
    GPtrArray *settings = campaign_keys(store, CAMPAIGN_SETTINGS, error), *metrics = NULL;
    sqlite3_stmt *row = NULL;
    int step = SQLITE_DONE;
    bool ok = false;

    if (settings != NULL)
        metrics = campaign_keys(store, CAMPAIGN_METRICS, error);
    if (metrics != NULL)
        row = campaign_store_prepare(store, "SELECT " COLUMNS " FROM runs ORDER BY number", error);
    if (row != NULL) {
        csv_header(out, settings, metrics);
        while ((step = sqlite3_step(row)) == SQLITE_ROW)
            csv_row(out, row, settings, metrics);
        ok = end(store, row, step, error);
    }
    if (metrics != NULL)
        g_ptr_array_free(metrics, TRUE);
    if (settings != NULL)
        g_ptr_array_free(settings, TRUE);
    return ok;
}
