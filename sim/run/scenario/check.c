/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "check.h"

#include <string.h>

bool scenario_refuse(char **error, const struct tree *record, const char *path, const char *field,
                     const char *what)
{
    const struct tree *at = scenario_tree_get(record, field);
    char *full = field != NULL && field[0] != '\0'
                     ? g_strconcat(path, path[0] != '\0' ? "." : "", field, NULL)
                     : g_strdup(path);

    *error = scenario_tree_problem(at != NULL ? at : record, full, "%s", what);
    g_free(full);
    return false;
}

bool scenario_refuse_free(char **error, const struct tree *record, const char *path,
                          const char *field, char *what)
{
    scenario_refuse(error, record, path, field, what);
    g_free(what);
    return false;
}

bool scenario_is_word(const char *text)
{
    if (!g_ascii_isalpha(text[0]) || strlen(text) > 60)
        return false;
    for (; *text != '\0'; text++) {
        if (!g_ascii_isalnum(*text) && *text != '_' && *text != '-')
            return false;
    }
    return true;
}

static bool check_sweep(const struct scenario *scenario, char **error)
{
    const struct tree *sweep = scenario->sweep;
    uint64_t runs = 1;
    size_t i, j;

    if (sweep == NULL)
        return true;
    if (sweep->type != TREE_MAPPING || sweep->count == 0)
        return scenario_refuse(error, scenario->at, "", "sweep",
                               "not a mapping; allowed: path: [value, value]");
    for (i = 0; i < sweep->count; i++) {
        const struct tree *values = sweep->items[i];

        if (strcmp(values->key, "sweep") == 0 || g_str_has_prefix(values->key, "sweep."))
            return scenario_refuse(error, sweep, "sweep", values->key,
                                   "a sweep cannot vary itself; allowed: any other path");
        if (values->type != TREE_SEQUENCE || values->count == 0)
            return scenario_refuse(error, sweep, "sweep", values->key,
                                   "not a list of values; allowed: [value, value]");
        for (j = 0; j < values->count; j++) {
            if (values->items[j]->type != TREE_SCALAR)
                return scenario_refuse(error, sweep, "sweep", values->key,
                                       "a value is not single; allowed: numbers and words");
        }
        runs *= values->count;
        if (runs > 10000)
            return scenario_refuse(error, scenario->at, "", "sweep",
                                   "too many combinations; allowed: 10000");
    }
    return true;
}

bool scenario_check(struct scenario *scenario, const struct scenario_options *options, char **error)
{
    return scenario_check_fabric(scenario, error) &&
           scenario_check_jobs(scenario, options, error) &&
           scenario_check_faults(scenario, error) && scenario_check_lnet(scenario, error) &&
           scenario_check_expectations(scenario, error) && check_sweep(scenario, error);
}
