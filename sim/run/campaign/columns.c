/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "columns.h"

#include <string.h>

const char *campaign_text_at(sqlite3_stmt *row, int column)
{
    const char *text = (const char *)sqlite3_column_text(row, column);

    return text != NULL ? text : "";
}

json_t *campaign_string_at(sqlite3_stmt *row, int column)
{
    char *valid = g_utf8_make_valid(campaign_text_at(row, column), -1);
    json_t *string = json_string(valid);

    g_free(valid);
    return string;
}

json_t *campaign_string_or_null_at(sqlite3_stmt *row, int column)
{
    return sqlite3_column_type(row, column) == SQLITE_NULL ? json_null()
                                                           : campaign_string_at(row, column);
}

json_t *campaign_object_at(sqlite3_stmt *row, int column)
{
    json_error_t error;
    json_t *object = json_loads(campaign_text_at(row, column), 0, &error);

    if (json_is_object(object))
        return object;
    json_decref(object);
    return json_object();
}

/* Takes over the key. */
static void add_key(char *key, GHashTable *known, GPtrArray *keys)
{
    if (g_hash_table_contains(known, key)) {
        g_free(key);
        return;
    }
    g_hash_table_add(known, key);
    g_ptr_array_add(keys, key);
}

static void add_settings(const json_t *settings, GHashTable *known, GPtrArray *keys)
{
    const char *path;
    json_t *value;

    json_object_foreach ((json_t *)settings, path, value)
        add_key(g_strdup(path), known, keys);
}

static void add_metrics(const json_t *metrics, GHashTable *known, GPtrArray *keys)
{
    const json_t *metric, *part;
    const char *name, *member;

    json_object_foreach ((json_t *)metrics, name, metric)
        json_object_foreach ((json_t *)metric, member, part)
            if (json_is_number(part))
                add_key(strcmp(member, "value") == 0 ? g_strdup(name)
                                                     : g_strconcat(name, ".", member, NULL),
                        known, keys);
}

GPtrArray *campaign_keys(struct campaign_store *store, enum campaign_columns which, char **error)
{
    const char *sql = which == CAMPAIGN_METRICS ? "SELECT metrics FROM runs ORDER BY number"
                                                : "SELECT DISTINCT settings FROM runs";
    GHashTable *known = g_hash_table_new(g_str_hash, g_str_equal);
    GPtrArray *keys = g_ptr_array_new_with_free_func(g_free);
    sqlite3_stmt *row = NULL;
    int step = SQLITE_ERROR;

    if (sqlite3_prepare_v2(store->database, sql, -1, &row, NULL) == SQLITE_OK)
        while ((step = sqlite3_step(row)) == SQLITE_ROW) {
            json_t *object = campaign_object_at(row, 0);

            if (which == CAMPAIGN_METRICS)
                add_metrics(object, known, keys);
            else
                add_settings(object, known, keys);
            json_decref(object);
        }
    if (step != SQLITE_DONE) {
        campaign_store_fail(store, error);
        g_ptr_array_free(keys, TRUE);
        keys = NULL;
    }
    sqlite3_finalize(row);
    g_hash_table_destroy(known);
    return keys;
}

/* A name without a member is that of a metric with one value. */
const json_t *campaign_metric_of(const json_t *metrics, const char *key)
{
    const json_t *metric = json_object_get(metrics, key);
    const char *dot = strrchr(key, '.');
    char *name;

    if (json_object_get(metric, "value") == NULL && dot != NULL) {
        name = g_strndup(key, (gsize)(dot - key));
        metric = json_object_get(metrics, name);
        g_free(name);
    }
    return metric;
}

const json_t *campaign_metric(const json_t *metrics, const char *key)
{
    const json_t *value = json_object_get(json_object_get(metrics, key), "value");
    const char *dot = strrchr(key, '.');

    if (value == NULL && dot != NULL)
        value = json_object_get(campaign_metric_of(metrics, key), dot + 1);
    return json_is_number(value) ? value : NULL;
}
