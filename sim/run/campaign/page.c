/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The data of a campaign's page. Groups of runs are counted by SQLite, over all runs. Of a large
 * campaign the page has single runs in a sample only, so that it stays small.
 */
#include "campaign/page.h"

#include <string.h>
#include "campaign/query.h"
#include "columns.h"
#include "report/page.h"

#define VALUES_MOST 600000 /* settings and metrics of all runs in the page: some megabytes */
#define METRICS_MOST 150

/* Numbers by which single runs are chosen. */
struct sample {
    int64_t stride; /* of runs that hold, and of failed ones, every stride-th is in the page */
    int64_t seen[2], kept;
};

/* The rows of a query as a list of what `make` makes of each; NULL if it makes nothing. */
static json_t *list(struct campaign_store *store, const char *sql,
                    json_t *(*make)(sqlite3_stmt *row, void *arg), void *arg, char **error)
{
    sqlite3_stmt *row = campaign_store_prepare(store, sql, error);
    json_t *all = row != NULL ? json_array() : NULL, *one;
    int step;

    if (row == NULL)
        return NULL;
    while ((step = sqlite3_step(row)) == SQLITE_ROW) {
        one = make(row, arg);
        if (one != NULL)
            json_array_append_new(all, one);
    }
    sqlite3_finalize(row);
    if (step != SQLITE_DONE) {
        campaign_store_fail(store, error);
        json_decref(all);
        return NULL;
    }
    return all;
}

/* ---- what the page has of each row ----------------------------------------------------------- */

static json_t *head_of(sqlite3_stmt *row, void *arg)
{
    (void)arg;
    return json_pack("{s:o,s:o,s:f,s:o}", "description", campaign_string_or_null_at(row, 0), "text",
                     campaign_string_or_null_at(row, 1), "created", sqlite3_column_double(row, 2),
                     "file", campaign_string_or_null_at(row, 3));
}

static json_t *group_of(sqlite3_stmt *row, void *arg)
{
    (void)arg;
    return json_pack("{s:o,s:o,s:I,s:I,s:f,s:f}", "scenario", campaign_string_or_null_at(row, 0),
                     "set", campaign_object_at(row, 1), "runs",
                     (json_int_t)sqlite3_column_int64(row, 2), "holds",
                     (json_int_t)sqlite3_column_int64(row, 3), "virtual_time_ps",
                     sqlite3_column_double(row, 4), "wall_s", sqlite3_column_double(row, 5));
}

struct columns {
    GPtrArray *settings, *metrics;
    guint metrics_shown;
    struct sample sample;
};

static bool chosen(struct sample *sample, bool failed)
{
    if (sample->seen[failed]++ % sample->stride != 0)
        return false;
    sample->kept++;
    return true;
}

static json_t *run_of(sqlite3_stmt *row, void *arg)
{
    struct columns *columns = arg;
    json_t *settings, *metrics, *set = json_array(), *values = json_array();
    const json_t *value;
    guint i;

    if (!chosen(&columns->sample, sqlite3_column_int(row, 3) != 0)) {
        json_decref(set);
        json_decref(values);
        return NULL;
    }
    settings = campaign_object_at(row, 8);
    metrics = campaign_object_at(row, 9);
    for (i = 0; i < columns->settings->len; i++) {
        json_t *text = json_object_get(settings, columns->settings->pdata[i]);

        json_array_append_new(set, text != NULL ? json_incref(text) : json_null());
    }
    for (i = 0; i < columns->metrics_shown; i++) {
        value = campaign_metric(metrics, columns->metrics->pdata[i]);
        json_array_append_new(values, value != NULL ? json_deep_copy(value) : json_null());
    }
    json_decref(settings);
    json_decref(metrics);
    return json_pack(
        "{s:I,s:o,s:I,s:o,s:o,s:I,s:f,s:o,s:o,s:o}", "number",
        (json_int_t)sqlite3_column_int64(row, 0), "scenario", campaign_string_or_null_at(row, 1),
        "seed", (json_int_t)sqlite3_column_int64(row, 2), "verdict",
        campaign_string_or_null_at(row, 4), "problem", campaign_string_or_null_at(row, 5),
        "virtual_time_ps", (json_int_t)sqlite3_column_int64(row, 6), "wall_s",
        sqlite3_column_double(row, 7), "digest", campaign_string_or_null_at(row, 10), "set", set,
        "metrics", values);
}

/* The units of the metrics that are shown, by the first run that has each. */
struct units {
    const struct columns *columns;
    json_t *units;
};

static json_t *add_units(sqlite3_stmt *row, void *arg)
{
    const struct units *all = arg;
    json_t *metrics = campaign_object_at(row, 0);
    guint i;

    for (i = 0; i < all->columns->metrics_shown; i++) {
        const char *key = all->columns->metrics->pdata[i];
        json_t *unit = json_object_get(campaign_metric_of(metrics, key), "unit");

        if (g_str_has_suffix(key, ".count"))
            unit = NULL;
        if (json_is_string(unit) && json_object_get(all->units, key) == NULL)
            json_object_set(all->units, key, unit);
    }
    json_decref(metrics);
    return NULL;
}

/* ---- the page -------------------------------------------------------------------------------- */

static json_t *names(const GPtrArray *keys, guint count)
{
    json_t *all = json_array();
    guint i;

    for (i = 0; i < count; i++)
        json_array_append_new(all, json_string(keys->pdata[i]));
    return all;
}

/* Takes over the part; false if there is none. */
static bool put(json_t *data, const char *name, json_t *part)
{
    return part != NULL && json_object_set_new(data, name, part) == 0;
}

static bool put_runs(struct campaign_store *store, struct columns *columns, json_t *data,
                     char **error)
{
    struct units units = {columns, json_object()};
    struct campaign_counts counts;
    json_t *none;
    bool ok = campaign_counts(store, &counts, error);

    columns->metrics_shown = MIN(columns->metrics->len, METRICS_MOST);
    columns->sample.stride =
        1 + counts.done * (int64_t)(columns->settings->len + columns->metrics_shown) / VALUES_MOST;
    ok = ok && put(data, "settings", names(columns->settings, columns->settings->len)) &&
         put(data, "metrics", names(columns->metrics, columns->metrics_shown)) &&
         put(data, "metrics_left_out",
             json_integer(columns->metrics->len - columns->metrics_shown)) &&
         put(data, "runs",
             list(store,
                  "SELECT number, scenario, seed, exit, verdict, problem, virtual_time_ps, wall_s, "
                  "settings, metrics, digest FROM runs ORDER BY number",
                  run_of, columns, error)) &&
         put(data, "stride", json_integer(columns->sample.stride));
    none = ok ? list(store, "SELECT metrics FROM runs GROUP BY scenario", add_units, &units, error)
              : NULL;
    ok = none != NULL && put(data, "units", json_incref(units.units));
    json_decref(none);
    json_decref(units.units);
    return ok;
}

static json_t *page_data(struct campaign_store *store, const char *file, const char *program,
                         char **error)
{
    struct columns columns = {.settings = campaign_keys(store, CAMPAIGN_SETTINGS, error)};
    json_t *data = json_pack("{s:s,s:s,s:s}", "kind", "campaign", "version", program, "file", file);
    bool ok = columns.settings != NULL &&
              (columns.metrics = campaign_keys(store, CAMPAIGN_METRICS, error)) != NULL;

    ok = ok && put(data, "status", campaign_status_json(store, error)) &&
         put(data, "failures", campaign_failures_json(store, file, error)) &&
         put(data, "campaign",
             list(store, "SELECT description, text, created, file FROM campaign", head_of, NULL,
                  error)) &&
         put(data, "groups",
             list(store,
                  "SELECT scenario, settings, count(*), total(exit = 0), avg(virtual_time_ps), "
                  "avg(wall_s) FROM runs GROUP BY scenario, settings ORDER BY min(number)",
                  group_of, NULL, error)) &&
         put_runs(store, &columns, data, error);
    if (columns.settings != NULL)
        g_ptr_array_free(columns.settings, TRUE);
    if (columns.metrics != NULL)
        g_ptr_array_free(columns.metrics, TRUE);
    if (ok)
        return data;
    json_decref(data);
    return NULL;
}

bool campaign_page_write(struct campaign_store *store, const char *path, const char *file,
                         const char *program, char **error)
{
    json_t *data = page_data(store, file, program, error);
    bool ok =
        data != NULL &&
        report_page_save(
            path, json_string_value(json_object_get(json_object_get(data, "status"), "campaign")),
            data, error);

    json_decref(data);
    return ok;
}
