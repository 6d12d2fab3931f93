/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Which jobs and ranks a failure needs, and how few messages of which size. */
#include "minimizer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static struct tree *job_at(const struct minimizer *minimizer, size_t index)
{
    return scenario_tree_get(minimizer->best, "jobs")->items[index];
}

static char *nodes_text(const struct node_set *set, size_t count)
{
    GString *text = g_string_new(NULL);
    size_t i;

    for (i = 0; i < count; i++)
        g_string_append_printf(text, "%s%u", i != 0 ? "," : "", set->nodes[i]);
    return g_string_free(text, FALSE);
}

/* The smallest number of its first nodes. */
static void reduce_nodes(struct minimizer *minimizer, size_t index)
{
    const struct tree *nodes = scenario_tree_get(job_at(minimizer, index), "nodes");
    struct node_set set = {0};
    char *path = g_strdup_printf("jobs.%zu.nodes", index), *error = NULL;
    size_t count;
    bool ok = nodes != NULL && nodes->type == TREE_SCALAR &&
              scenario_node_set_parse(&set, nodes->text, &error);

    for (count = 1; ok && count < set.count; count = count < 4 ? count + 1 : count * 2) {
        char *text = nodes_text(&set, count);
        bool fewer = campaign_minimize_try_smaller(
            minimizer, campaign_minimize_with(minimizer->best, path, text));

        g_free(text);
        if (fewer)
            break;
    }
    scenario_node_set_clear(&set);
    g_free(error);
    g_free(path);
}

static bool try_number(struct minimizer *minimizer, const char *path, uint64_t number)
{
    char value[32];

    snprintf(value, sizeof(value), "%" PRIu64, number);
    return campaign_minimize_try_smaller(minimizer,
                                         campaign_minimize_with(minimizer->best, path, value));
}

/* The least value, or by halves of the distance to it. */
static void reduce_number(struct minimizer *minimizer, const char *path, uint64_t least,
                          uint64_t number)
{
    if (number <= least || try_number(minimizer, path, least))
        return;
    while (number - least > 1) {
        uint64_t middle = least + (number - least) / 2;

        if (try_number(minimizer, path, middle))
            number = middle;
        else
            least = middle;
    }
}

static void reduce_arguments(struct minimizer *minimizer, size_t index,
                             const struct scenario_job *job)
{
    const struct workload_arg *arg = job->workload->workload->args;
    size_t i;

    for (i = 0; arg != NULL && job->values != NULL && arg[i].name != NULL; i++) {
        struct value least = {.number = 1};
        char *path;

        if (arg[i].type != ARG_COUNT && arg[i].type != ARG_BYTES)
            continue;
        if (arg[i].minimum != NULL)
            wl_value_parse(arg[i].type, arg[i].minimum, NULL, NULL, NULL, &least);
        path = g_strdup_printf("jobs.%zu.args.%s", index, arg[i].name);
        reduce_number(minimizer, path, MAX(least.number, 1), job->values[i].number);
        g_free(path);
    }
}

/* ---- argv of programs ------------------------------------------------------------------------ */

static struct tree *argv_of(const struct minimizer *minimizer, size_t index)
{
    return scenario_tree_get(job_at(minimizer, index), "argv");
}

/* The scenario without `count` arguments from `at` on. */
static bool try_without_arguments(struct minimizer *minimizer, size_t index, size_t at,
                                  size_t count)
{
    struct tree *tree = scenario_tree_copy(minimizer->best);
    struct tree *argv = scenario_tree_get(scenario_tree_get(tree, "jobs")->items[index], "argv");
    size_t i;

    g_assert(at + count <= argv->count);
    for (i = at; i < at + count; i++)
        scenario_tree_free(argv->items[i]);
    memmove(&argv->items[at], &argv->items[at + count],
            (argv->count - at - count) * sizeof(struct tree *));
    argv->count -= count;
    return campaign_minimize_try_smaller(minimizer, tree);
}

/* An argument that is a whole number, as a word of its own or behind "=": `prefix` bytes come
 * before it. */
static bool whole_number(const char *text, size_t *prefix, uint64_t *number)
{
    const char *digits = strchr(text, '=');

    digits = digits != NULL ? digits + 1 : text;
    *prefix = (size_t)(digits - text);
    return digits[0] != '\0' && strspn(digits, "0123456789") == strlen(digits) &&
           g_ascii_string_to_unsigned(digits, 10, 0, INT64_MAX, number, NULL);
}

/* The least of 1, 2, 4, ... up to the number with which it still fails in the same way. */
static void reduce_argument(struct minimizer *minimizer, size_t index, size_t at)
{
    char *text = g_strdup(argv_of(minimizer, index)->items[at]->text), *path, *value;
    uint64_t number, smaller;
    size_t prefix;
    bool done = !whole_number(text, &prefix, &number);

    path = g_strdup_printf("jobs.%zu.argv.%zu", index, at);
    for (smaller = 1; !done && smaller < number; smaller *= 2) {
        value = g_strdup_printf("\"%.*s%" PRIu64 "\"", (int)prefix, text, smaller);
        done = campaign_minimize_try_smaller(minimizer,
                                             campaign_minimize_with(minimizer->best, path, value));
        g_free(value);
    }
    g_free(path);
    g_free(text);
}

/* Leaves out options with their values, then single words; then reduces numbers. */
static void reduce_argv(struct minimizer *minimizer, size_t index)
{
    const struct tree *argv = argv_of(minimizer, index);
    size_t at;

    if (argv == NULL || argv->type != TREE_SEQUENCE)
        return;
    for (at = argv->count; at-- > 0;) {
        argv = argv_of(minimizer, index);
        if (at + 1 < argv->count && argv->items[at]->text[0] == '-' &&
            argv->items[at + 1]->text[0] != '-' && try_without_arguments(minimizer, index, at, 2))
            continue;
        try_without_arguments(minimizer, index, at, 1);
    }
    for (at = 0; at < argv_of(minimizer, index)->count; at++)
        reduce_argument(minimizer, index, at);
}

void campaign_minimize_jobs(struct minimizer *minimizer)
{
    const struct scenario_options options = {0};
    struct scenario *scenario;
    char *text, *error = NULL, *path;
    size_t i;

    campaign_minimize_list(minimizer, "jobs", 1);
    for (i = 0; i < campaign_minimize_items(minimizer->best, "jobs"); i++) {
        if (scenario_tree_get(job_at(minimizer, i), "ranks_per_node") != NULL) {
            path = g_strdup_printf("jobs.%zu.ranks_per_node", i);
            try_number(minimizer, path, 1);
            g_free(path);
        }
        reduce_nodes(minimizer, i);
        reduce_argv(minimizer, i);
    }
    text = scenario_tree_emit(minimizer->best);
    scenario = scenario_parse(text, strlen(text), minimizer->options->file, &options, &error);
    g_free(text);
    g_free(error);
    for (i = 0; scenario != NULL && i < scenario->jobs.count; i++)
        reduce_arguments(minimizer, i, scenario_job(scenario, i));
    scenario_free(scenario);
}
