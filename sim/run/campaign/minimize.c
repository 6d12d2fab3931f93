/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Delta debugging of a scenario: every candidate is run in a process of its own. */
#include "campaign/minimize.h"
#include "minimizer.h"
#include "verdict/verdict.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RUNS_LIMIT 500u

/* ---- trying ---------------------------------------------------------------------------------- */

static json_t *execute(struct minimizer *minimizer, const struct tree *tree)
{
    char *text = scenario_tree_emit(tree);
    struct progress progress;
    struct campaign campaign = {
        .file = minimizer->options->file, .text = text, .parallel = 1, .progress = &progress};
    json_t *all, *result;

    report_progress_begin(&progress, false);
    fflush(NULL);
    all = campaign_execute(&campaign, minimizer->run);
    result = json_incref(json_array_get(json_object_get(all, "runs"), 0));
    json_decref(all);
    g_free(text);
    minimizer->runs++;
    return result;
}

static const char *signature_of(const json_t *result)
{
    const char *signature = json_string_value(json_object_get(result, "signature"));

    if (signature == NULL)
        signature = json_string_value(json_object_get(result, "error"));
    return signature != NULL ? signature : "";
}

bool campaign_minimize_try(struct minimizer *minimizer, struct tree *tree)
{
    json_t *result = minimizer->runs < RUNS_LIMIT ? execute(minimizer, tree) : NULL;
    bool same = result != NULL &&
                json_integer_value(json_object_get(result, "exit")) == minimizer->exit &&
                strcmp(signature_of(result), minimizer->signature) == 0;

    if (!same) {
        json_decref(result);
        scenario_tree_free(tree);
        return false;
    }
    json_decref(minimizer->result);
    scenario_tree_free(minimizer->best);
    minimizer->result = result;
    minimizer->best = tree;
    return true;
}

struct tree *campaign_minimize_with(const struct tree *tree, const char *path, const char *value)
{
    struct tree *copy = scenario_tree_copy(tree);
    char *error = NULL;

    if (scenario_tree_set(copy, path, value, "--minimize", &error))
        return copy;
    g_free(error);
    scenario_tree_free(copy);
    return NULL;
}

bool campaign_minimize_try_set(struct minimizer *minimizer, const char *path, const char *value)
{
    struct tree *tree = campaign_minimize_with(minimizer->best, path, value);

    return tree != NULL && campaign_minimize_try(minimizer, tree);
}

size_t campaign_minimize_items(const struct tree *tree, const char *key)
{
    const struct tree *list = scenario_tree_get(tree, key);

    return list != NULL && list->type == TREE_SEQUENCE ? list->count : 0;
}

static bool try_without(struct minimizer *minimizer, const char *key, size_t index)
{
    struct tree *tree = scenario_tree_copy(minimizer->best), *list = scenario_tree_get(tree, key);

    g_assert(index < list->count);
    scenario_tree_free(list->items[index]);
    memmove(&list->items[index], &list->items[index + 1],
            (list->count - index - 1) * sizeof(struct tree *));
    list->count--;
    return campaign_minimize_try(minimizer, tree);
}

void campaign_minimize_list(struct minimizer *minimizer, const char *key, size_t least)
{
    size_t i;

    for (i = campaign_minimize_items(minimizer->best, key); i > 0; i--)
        if (campaign_minimize_items(minimizer->best, key) > least)
            try_without(minimizer, key, i - 1);
}

/* ---- the result ------------------------------------------------------------------------------ */

/* Programs are named relative to the scenario, which is written elsewhere. */
static void name_programs_absolutely(struct tree *tree, const char *file)
{
    struct tree *jobs = scenario_tree_get(tree, "jobs"), *program;
    char *folder = g_path_get_dirname(file), *base = g_canonicalize_filename(folder, NULL);
    size_t i;

    for (i = 0; jobs != NULL && i < jobs->count; i++) {
        program = scenario_tree_get(jobs->items[i], "program");
        if (program != NULL && program->type == TREE_SCALAR) {
            char *whole = g_canonicalize_filename(program->text, base);

            g_free(program->text);
            program->text = whole;
        }
    }
    g_free(base);
    g_free(folder);
}

static char *target_file(const struct campaign_minimize *options)
{
    char *name, *dot, *path;

    if (options->out != NULL)
        return g_build_filename(options->out, "minimal.yaml", NULL);
    name = g_path_get_basename(options->file);
    dot = strrchr(name, '.');
    if (dot != NULL)
        *dot = '\0';
    path = g_strconcat(name, ".minimal.yaml", NULL);
    g_free(name);
    return path;
}

static bool write_scenario(const struct minimizer *minimizer, const char *path, char **error)
{
    char *body = scenario_tree_emit(minimizer->best), *text;
    GError *failure = NULL;
    bool ok;

    if (minimizer->options->out != NULL)
        g_mkdir_with_parents(minimizer->options->out, 0777);
    text = g_strdup_printf("# From %s by sim-run --minimize.\n%s", minimizer->options->file, body);
    ok = g_file_set_contents(path, text, -1, &failure);
    if (!ok) {
        *error = g_strdup_printf("%s: %s", path, failure->message);
        g_error_free(failure);
    }
    g_free(text);
    g_free(body);
    return ok;
}

static uint64_t sum_over(const json_t *result, const char *list, const char *key)
{
    const json_t *item;
    uint64_t sum = 0;
    size_t i;

    json_array_foreach (json_object_get(result, list), i, item)
        sum += (uint64_t)json_integer_value(json_object_get(item, key));
    return sum;
}

/* "2 ranks and 1 injected fault are enough: loss #1: PUT 0→1 …" */
static char *sentence(const json_t *before, const json_t *after)
{
    const char *cause = json_string_value(json_array_get(json_object_get(after, "problems"), 0));

    return g_strdup_printf("%" PRIu64 " of %" PRIu64 " ranks and %" PRIu64 " of %" PRIu64
                           " injected faults are enough: %s",
                           sum_over(after, "jobs", "ranks"), sum_over(before, "jobs", "ranks"),
                           sum_over(after, "faults", "fired"), sum_over(before, "faults", "fired"),
                           cause != NULL ? cause : "see the report");
}

static json_t *report(const struct minimizer *minimizer, const json_t *before, int *status,
                      char **error)
{
    char *path = target_file(minimizer->options), *said;
    json_t *json = NULL;

    *status = EXIT_BROKEN;
    if (write_scenario(minimizer, path, error)) {
        said = sentence(before, minimizer->result);
        json = json_pack("{s:i,s:s,s:s,s:s,s:I,s:O}", "schema", 1, "scenario", path, "sentence",
                         said, "signature", minimizer->signature, "runs",
                         (json_int_t)minimizer->runs, "result", minimizer->result);
        g_free(said);
        *status = EXIT_HOLDS;
    }
    g_free(path);
    return json;
}

json_t *campaign_minimize(const struct campaign_minimize *options, const struct scenario *scenario,
                          campaign_run run, int *status, char **error)
{
    struct minimizer minimizer = {
        .options = options, .run = run, .best = scenario_tree_copy(scenario->tree)};
    json_t *before, *result = NULL;

    name_programs_absolutely(minimizer.best, options->file);
    minimizer.result = execute(&minimizer, minimizer.best);
    before = json_incref(minimizer.result);
    minimizer.exit = json_integer_value(json_object_get(before, "exit"));
    minimizer.signature = g_strdup(signature_of(before));
    if (minimizer.exit == EXIT_HOLDS || minimizer.exit == EXIT_BAD_INPUT) {
        *error = g_strdup_printf("%s: --minimize: the run with seed %" PRIu64 " %s; allowed: one "
                                 "that fails, which --until-fail finds",
                                 options->file, scenario->seed,
                                 minimizer.exit == EXIT_HOLDS ? "holds" : "was refused");
        *status = EXIT_BAD_INPUT;
    } else {
        campaign_minimize_faults(&minimizer);
        campaign_minimize_jobs(&minimizer);
        campaign_minimize_subject(&minimizer);
        result = report(&minimizer, before, status, error);
    }
    json_decref(before);
    json_decref(minimizer.result);
    scenario_tree_free(minimizer.best);
    g_free(minimizer.signature);
    return result;
}

void campaign_minimize_print(const json_t *result, GString *out)
{
    const char *path = json_string_value(json_object_get(result, "scenario"));

    g_string_append_printf(out,
                           "%s\nwritten to %s after %" JSON_INTEGER_FORMAT
                           " runs; it fails in the same way: sim-run %s\n",
                           json_string_value(json_object_get(result, "sentence")), path,
                           json_integer_value(json_object_get(result, "runs")), path);
}
