/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The machine: names that must exist, fields that must fit the topology. */
#include "check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "aries/aries.h"

static const struct net_preset *find_preset(const char *name)
{
    size_t count, i;
    const struct net_preset *presets = net_presets(&count);

    for (i = 0; i < count; i++) {
        if (strcmp(presets[i].name, name) == 0)
            return &presets[i];
    }
    return NULL;
}

static bool refuse_preset(const struct scenario_fabric *fabric, char **error)
{
    size_t count, i;
    const struct net_preset *presets = net_presets(&count);
    const char **names = g_new(const char *, count);
    char *hint, *shown = scenario_quoted(fabric->preset);

    for (i = 0; i < count; i++)
        names[i] = presets[i].name;
    hint = scenario_schema_suggest(fabric->preset, names, count);
    scenario_refuse_free(error, fabric->at, "fabric", "preset",
                         g_strdup_printf("%s is not a known machine%s", shown, hint));
    g_free(shown);
    g_free(hint);
    g_free(names);
    return false;
}

/* Fields that belong to another topology would silently mean nothing. */
static bool check_topology_fields(const struct scenario_fabric *fabric, char **error)
{
    static const char *const dragonfly_only[] = {"preset", "groups",  "chassis", "slots",
                                                 "cables", "profile", "params"};
    static const char *const switched_only[] = {"nodes", "radix", "link_rate_GBps", "link_latency",
                                                "switch_latency"};
    size_t i;

    for (i = 0; i < G_N_ELEMENTS(dragonfly_only) && fabric->topology != TOPOLOGY_DRAGONFLY; i++) {
        if (scenario_given(fabric->at, dragonfly_only[i]))
            return scenario_refuse(
                error, fabric->at, "fabric", dragonfly_only[i],
                "has no meaning on a switched network; allowed: with topology dragonfly");
    }
    for (i = 0; i < G_N_ELEMENTS(switched_only) && fabric->topology == TOPOLOGY_DRAGONFLY; i++) {
        if (scenario_given(fabric->at, switched_only[i]))
            return scenario_refuse(
                error, fabric->at, "fabric", switched_only[i],
                "has no meaning on a dragonfly; allowed: with topology single-switch or fat-tree");
    }
    if (fabric->topology != TOPOLOGY_DRAGONFLY && fabric->fidelity > 1)
        return scenario_refuse(error, fabric->at, "fabric", "fidelity",
                               "F2 (packets) needs Aries routers; allowed on a switched network: "
                               "F0, F1");
    for (i = 1; i <= 4 && fabric->preset != NULL; i++) {
        if (scenario_given(fabric->at, dragonfly_only[i]))
            return scenario_refuse(
                error, fabric->at, "fabric", dragonfly_only[i],
                "the preset says this; allowed: a preset, or groups, chassis, slots and cables");
    }
    return true;
}

void scenario_net_config(const struct scenario *scenario, uint64_t seed, struct net_config *config)
{
    const struct scenario_fabric *fabric = &scenario->fabric;
    struct net_dragonfly_config *dragonfly = &config->dragonfly;
    const struct net_preset *preset = NULL;

    net_config_default(config);
    config->seed = seed;
    config->fidelity = (enum net_fidelity)fabric->fidelity;
    if (fabric->topology != TOPOLOGY_DRAGONFLY) {
        config->topology = NET_SWITCHED;
        config->switched.kind =
            fabric->topology == TOPOLOGY_FAT_TREE ? "fat-tree" : "single-switch";
        config->switched.nodes = (uint32_t)fabric->nodes;
        config->switched.radix = (uint32_t)fabric->radix;
        config->switched.rate_Bpus = fabric->link_rate_GBps * 1000.0;
        config->switched.link_latency = fabric->link_latency;
        config->switched.switch_latency = fabric->switch_latency;
        return;
    }
    config->topology = NET_DRAGONFLY;
    if (fabric->preset != NULL)
        preset = find_preset(fabric->preset);
    else if (dragonfly->preset != NULL)
        preset = find_preset(dragonfly->preset);
    if (preset != NULL) {
        dragonfly->groups = preset->groups;
        dragonfly->chassis = preset->chassis;
        dragonfly->slots = preset->slots;
        dragonfly->cables = preset->cables;
    }
    dragonfly->preset = fabric->preset;
    if (scenario_given(fabric->at, "groups"))
        dragonfly->groups = (uint32_t)fabric->groups;
    if (scenario_given(fabric->at, "chassis"))
        dragonfly->chassis = (uint32_t)fabric->chassis;
    if (scenario_given(fabric->at, "slots"))
        dragonfly->slots = (uint32_t)fabric->slots;
    if (scenario_given(fabric->at, "cables"))
        dragonfly->cables = (uint32_t)fabric->cables;
}

const char *scenario_profile(const struct scenario *scenario)
{
    const struct net_preset *preset;

    if (scenario->fabric.profile != NULL)
        return scenario->fabric.profile;
    preset = scenario->fabric.preset != NULL ? find_preset(scenario->fabric.preset) : NULL;
    return preset != NULL && preset->profile != NULL ? preset->profile : "xc40_hsw";
}

static bool each_param(const struct tree *tree, const char *prefix,
                       bool (*visit)(const char *name, const struct tree *value, void *arg),
                       void *arg)
{
    size_t i;
    bool ok = true;

    for (i = 0; i < tree->count && ok; i++) {
        const struct tree *item = tree->items[i];
        char *name =
            prefix[0] == '\0' ? g_strdup(item->key) : g_strconcat(prefix, ".", item->key, NULL);

        ok = item->type == TREE_MAPPING ? each_param(item, name, visit, arg)
                                        : visit(name, item, arg);
        g_free(name);
    }
    return ok;
}

bool scenario_for_each_param(const struct scenario *scenario,
                             bool (*visit)(const char *name, const struct tree *value, void *arg),
                             void *arg)
{
    if (scenario->fabric.params == NULL)
        return true;
    return each_param(scenario->fabric.params, "", visit, arg);
}

struct param_check {
    struct aries_params *params;
    GHashTable *seen;
    char **error;
};

static bool refuse_param_name(const char *name, const struct tree *value, char **error)
{
    size_t count, i;
    const struct aries_param *table = aries_param_table(&count);
    const char *nearest = NULL;
    size_t best = strlen(name) / 3 + 2;
    char *path = g_strconcat("fabric.params.", name, NULL);

    for (i = 0; i < count; i++) {
        size_t distance = scenario_edit_distance(name, table[i].name);
        if (distance < best) {
            best = distance;
            nearest = table[i].name;
        }
    }
    *error = scenario_tree_problem(
        value, path, "unknown parameter%s%s; allowed: names of sim-run --list-params",
        nearest != NULL ? "; did you mean " : "", nearest != NULL ? nearest : "");
    g_free(path);
    return false;
}

static bool check_param(const char *name, const struct tree *value, void *arg)
{
    struct param_check *check = arg;
    struct value number;
    char *what = NULL, *path;
    bool ok;

    if (isnan(aries_params_get(check->params, name)))
        return refuse_param_name(name, value, check->error);
    path = g_strconcat("fabric.params.", name, NULL);
    ok = g_hash_table_add(check->seen, g_strdup(name));
    if (!ok) {
        *check->error =
            scenario_tree_problem(value, path, "given twice; allowed: each parameter once");
    } else if (value->type != TREE_SCALAR) {
        ok = false;
        *check->error = scenario_tree_problem(value, path, "not a single value; allowed: a number");
    } else if (!scenario_value_parse(ARG_REAL, value->text, NULL, NULL, NULL, &number, &what)) {
        ok = false;
        *check->error = scenario_tree_problem(value, path, "%s", what);
        g_free(what);
    } else if (!aries_params_set(check->params, name, number.real, &what)) {
        ok = false;
        *check->error = scenario_tree_problem(value, path, "%s", what);
        free(what);
    }
    g_free(path);
    return ok;
}

static bool check_params(const struct scenario *scenario, char **error)
{
    const struct scenario_fabric *fabric = &scenario->fabric;
    struct param_check check = {.error = error};
    bool ok;

    check.params = aries_params_new(scenario_profile(scenario));
    if (check.params == NULL)
        return scenario_refuse(error, fabric->at, "fabric", "profile",
                               "unknown host profile; allowed: xc40_hsw, xc30_snb, xc40_knl");
    if (fabric->params != NULL && fabric->params->type != TREE_MAPPING) {
        aries_params_free(check.params);
        return scenario_refuse(error, fabric->at, "fabric", "params",
                               "not a mapping; allowed: parameter: number");
    }
    check.seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    ok = scenario_for_each_param(scenario, check_param, &check);
    g_hash_table_unref(check.seen);
    aries_params_free(check.params);
    return ok;
}

bool scenario_check_fabric(struct scenario *scenario, char **error)
{
    const struct scenario_fabric *fabric = &scenario->fabric;
    struct net_config config;

    if (!check_topology_fields(fabric, error))
        return false;
    if (fabric->preset != NULL && find_preset(fabric->preset) == NULL)
        return refuse_preset(fabric, error);
    if (fabric->topology == TOPOLOGY_DRAGONFLY && !check_params(scenario, error))
        return false;
    scenario_net_config(scenario, scenario->seed, &config);
    if (fabric->topology == TOPOLOGY_DRAGONFLY) {
        scenario->groups = config.dragonfly.groups;
        scenario->routers =
            config.dragonfly.groups * config.dragonfly.chassis * config.dragonfly.slots;
        scenario->endpoints = scenario->routers * 4;
    } else {
        scenario->groups = 1;
        scenario->routers = UINT32_MAX; /* the network knows */
        scenario->endpoints = config.switched.nodes;
    }
    if (scenario->endpoints > NODE_SET_MAX)
        return scenario_refuse_free(
            error, fabric->at, "fabric", "",
            g_strdup_printf("%u nodes; allowed: at most %u", scenario->endpoints, NODE_SET_MAX));
    return true;
}
