/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The failed runs of a campaign by cause, with the commands that repeat the first of each. */
#include "campaign/query.h"

#include <inttypes.h>
#include <string.h>
#include "columns.h"
#include "scenario/file.h"

static void add_word(GString *command, const char *option, const char *word)
{
    char *quoted = g_shell_quote(word);
    bool plain = strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                              "_-+=.,:/@%") == strlen(word);

    g_string_append_printf(command, " %s%s", option, plain && word[0] != '\0' ? word : quoted);
    g_free(quoted);
}

/* A path that the scenario's own `sweep` varies is set there, because a sweep is applied after
 * --set. */
static void add_setting(GString *command, const struct tree *sweep, const char *path,
                        const char *value)
{
    char *word = sweep != NULL && scenario_tree_get(sweep, path) != NULL
                     ? g_strdup_printf("sweep.%s=[\"%s\"]", path, value)
                     : g_strdup_printf("%s=%s", path, value);

    add_word(command, "--set ", word);
    g_free(word);
}

static char *command_of(const char *scenario, const json_t *settings, int64_t seed, bool own_seed)
{
    GString *command = g_string_new("sim-run");
    char *ignored = NULL, text[32];
    struct tree *tree = scenario_tree_parse_file(scenario, &ignored);
    const struct tree *sweep = tree != NULL ? scenario_tree_get(tree, "sweep") : NULL;
    const json_t *value;
    const char *path;

    add_word(command, "", scenario);
    json_object_foreach ((json_t *)settings, path, value)
        if (json_is_string(value))
            add_setting(command, sweep, path, json_string_value(value));
    if (!own_seed) {
        g_snprintf(text, sizeof(text), "%" PRId64, seed);
        add_word(command, "--seed ", text);
    }
    scenario_tree_free(tree);
    g_free(ignored);
    return g_string_free(command, FALSE);
}

/* Where the scenarios are, as the user may write it. g_free it. */
static char *scenario_path(const struct campaign_store *store, const char *file, const char *folder,
                           const char *scenario)
{
    char *path;

    if (strcmp(file, store->path) != 0)
        return scenario_file_beside(file, scenario);
    path = g_path_is_absolute(scenario) ? g_strdup(scenario)
                                        : g_build_filename(folder, scenario, NULL);
    return path;
}

static json_t *failure_json(const struct campaign_store *store, sqlite3_stmt *row, const char *file)
{
    json_t *settings = campaign_object_at(row, 6), *failure;
    char *path = scenario_path(store, file, campaign_text_at(row, 9), campaign_text_at(row, 4));
    char *command =
        command_of(path, settings, sqlite3_column_int64(row, 5), sqlite3_column_int(row, 8) != 0);
    char *valid = g_utf8_make_valid(command, -1);

    failure = json_pack(
        "{s:i,s:o,s:I,s:I,s:o,s:I,s:o,s:o,s:o,s:s}", "exit", sqlite3_column_int(row, 0),
        "signature", campaign_string_at(row, 1), "count", (json_int_t)sqlite3_column_int64(row, 2),
        "number", (json_int_t)sqlite3_column_int64(row, 3), "scenario", campaign_string_at(row, 4),
        "seed", (json_int_t)sqlite3_column_int64(row, 5), "set", settings, "verdict",
        campaign_string_at(row, 10), "problem", campaign_string_at(row, 7), "command", valid);
    g_free(valid);
    g_free(command);
    g_free(path);
    return failure;
}

json_t *campaign_failures_json(struct campaign_store *store, const char *file, char **error)
{
    /* SQLite takes the other columns from the row with the least number. */
    static const char sql[] =
        "SELECT exit, signature, count(*), min(number), scenario, seed, settings, problem, "
        "own_seed, (SELECT folder FROM campaign), verdict FROM runs WHERE exit != 0 GROUP BY exit, "
        "signature ORDER BY min(number)";
    sqlite3_stmt *row = NULL;
    json_t *failures = json_array();
    int step = SQLITE_DONE;

    if (sqlite3_prepare_v2(store->database, sql, -1, &row, NULL) == SQLITE_OK)
        while ((step = sqlite3_step(row)) == SQLITE_ROW)
            json_array_append_new(failures, failure_json(store, row, file));
    if (row == NULL || step != SQLITE_DONE) {
        campaign_store_fail(store, error);
        json_decref(failures);
        failures = NULL;
    }
    sqlite3_finalize(row);
    return failures;
}

void campaign_failures_print(const json_t *failures, GString *out)
{
    const json_t *failure;
    size_t i;

    if (json_array_size(failures) == 0)
        g_string_append(out, "no run has failed\n");
    json_array_foreach (failures, i, failure) {
        json_int_t count = json_integer_value(json_object_get(failure, "count"));
        const char *verdict = json_string_value(json_object_get(failure, "verdict"));

        g_string_append_printf(out, "%lld run%s %s: %s\n", (long long)count, count != 1 ? "s" : "",
                               verdict, json_string_value(json_object_get(failure, "signature")));
        g_string_append_printf(out, "    first: seed %lld: %s\n",
                               (long long)json_integer_value(json_object_get(failure, "seed")),
                               json_string_value(json_object_get(failure, "problem")));
        g_string_append_printf(out, "    reproduce: %s\n",
                               json_string_value(json_object_get(failure, "command")));
    }
}
