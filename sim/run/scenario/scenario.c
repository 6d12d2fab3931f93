/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "scenario/scenario.h"

static struct scenario *from_tree(struct tree *tree, const char *origin,
                                  const struct scenario_options *options, char **error)
{
    struct scenario *scenario = g_new0(struct scenario, 1);
    size_t i;
    bool ok = true;

    scenario->tree = tree;
    scenario->file = g_strdup(origin);
    for (i = 0; i < options->override_count && ok; i++) {
        const struct override *override = &options->overrides[i];
        ok = scenario_tree_set(tree, override->path, override->value, override->origin, error);
    }
    if (!options->keep_sweep)
        scenario_tree_remove(tree, "sweep");
    if (ok && scenario_schema_read(&scenario_schema, tree, "", scenario, error) &&
        scenario_check(scenario, options, error))
        return scenario;
    scenario_free(scenario);
    return NULL;
}

struct scenario *scenario_parse(const char *bytes, size_t length, const char *origin,
                                const struct scenario_options *options, char **error)
{
    struct tree *tree = scenario_tree_parse(bytes, length, origin, error);

    return tree != NULL ? from_tree(tree, origin, options, error) : NULL;
}

struct scenario *scenario_load(const char *path, const struct scenario_options *options,
                               char **error)
{
    struct tree *tree = scenario_tree_parse_file(path, error);

    return tree != NULL ? from_tree(tree, path, options, error) : NULL;
}

void scenario_free(struct scenario *scenario)
{
    size_t i;

    if (scenario == NULL)
        return;
    for (i = 0; i < scenario->jobs.count; i++) {
        g_free(scenario_job(scenario, i)->values);
        if (scenario_job(scenario, i)->workload != NULL)
            program_close(scenario_job(scenario, i)->workload);
        scenario_node_set_clear(&scenario_job(scenario, i)->nodes);
    }
    for (i = 0; i < scenario->faults.count; i++) {
        g_free(scenario_fault(scenario, i)->title);
        g_free(scenario_fault(scenario, i)->only_numbers);
    }
    for (i = 0; i < scenario->networks.count; i++)
        g_free(scenario_network(scenario, i)->endpoint_of);
    scenario_schema_clear(&scenario_schema, scenario);
    scenario_tree_free(scenario->tree);
    g_free(scenario->file);
    g_free(scenario);
}
