/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The networks: names that must exist, fields that must fit the topology. */
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

static bool refuse_preset(const struct scenario_network *network, const char *path, char **error)
{
    size_t count, i;
    const struct net_preset *presets = net_presets(&count);
    const char **names = g_new(const char *, count);
    char *hint, *shown = scenario_quoted(network->preset);

    for (i = 0; i < count; i++)
        names[i] = presets[i].name;
    hint = scenario_schema_suggest(network->preset, names, count);
    scenario_refuse_free(error, network->at, path, "preset",
                         g_strdup_printf("%s is not a known machine%s", shown, hint));
    g_free(shown);
    g_free(hint);
    g_free(names);
    return false;
}

/* A network of a kind is a single switch; its times are those of the kind's model. */
static bool check_kind_fields(const struct scenario_network *network, const char *path,
                              char **error)
{
    static const char *const modelled[] = {"link_rate_GBps", "link_latency", "switch_latency",
                                           "fidelity", "radix"};
    size_t i;

    if (legacy_kind_name((enum legacy_kind)network->kind) == NULL)
        return scenario_refuse(error, network->at, path, "kind", "no model of this kind");
    if (network->topology != TOPOLOGY_SINGLE_SWITCH)
        return scenario_refuse(error, network->at, path, "topology",
                               "a network of a kind is a single switch; allowed: single-switch");
    for (i = 0; i < G_N_ELEMENTS(modelled); i++)
        if (scenario_given(network->at, modelled[i]))
            return scenario_refuse(error, network->at, path, modelled[i],
                                   "the model of the kind says this; allowed: params");
    return true;
}

/* Fields that belong to another topology would silently mean nothing. */
static bool check_topology_fields(const struct scenario_network *network, const char *path,
                                  char **error)
{
    static const char *const dragonfly_only[] = {"preset", "groups",  "chassis", "slots",
                                                 "cables", "profile", "params"};
    static const char *const switched_only[] = {"nodes", "radix", "link_rate_GBps", "link_latency",
                                                "switch_latency"};
    size_t i;

    if (network->kind != LEGACY_NONE && !check_kind_fields(network, path, error))
        return false;
    for (i = 0; i < G_N_ELEMENTS(dragonfly_only) && network->topology != TOPOLOGY_DRAGONFLY; i++) {
        if (scenario_given(network->at, dragonfly_only[i]) &&
            (network->kind == LEGACY_NONE || strcmp(dragonfly_only[i], "params") != 0))
            return scenario_refuse(
                error, network->at, path, dragonfly_only[i],
                "has no meaning on a switched network; allowed: with topology dragonfly");
    }
    for (i = 0; i < G_N_ELEMENTS(switched_only) && network->topology == TOPOLOGY_DRAGONFLY; i++) {
        if (scenario_given(network->at, switched_only[i]))
            return scenario_refuse(
                error, network->at, path, switched_only[i],
                "has no meaning on a dragonfly; allowed: with topology single-switch or fat-tree");
    }
    if (network->topology != TOPOLOGY_DRAGONFLY && network->fidelity > 1)
        return scenario_refuse(error, network->at, path, "fidelity",
                               "F2 (packets) needs Aries routers; allowed on a switched network: "
                               "F0, F1");
    for (i = 1; i <= 4 && network->preset != NULL; i++) {
        if (scenario_given(network->at, dragonfly_only[i]))
            return scenario_refuse(
                error, network->at, path, dragonfly_only[i],
                "the preset says this; allowed: a preset, or groups, chassis, slots and cables");
    }
    return true;
}

void scenario_net_config(const struct scenario_network *network, uint64_t seed,
                         struct net_config *config)
{
    struct net_dragonfly_config *dragonfly = &config->dragonfly;
    const struct net_preset *preset = NULL;

    net_config_default(config);
    config->seed = seed;
    config->fidelity = (enum net_fidelity)network->fidelity;
    if (network->topology != TOPOLOGY_DRAGONFLY) {
        config->topology = NET_SWITCHED;
        config->switched.kind =
            network->topology == TOPOLOGY_FAT_TREE ? "fat-tree" : "single-switch";
        config->switched.nodes = (uint32_t)network->nodes;
        config->switched.radix = (uint32_t)network->radix;
        config->switched.rate_Bpus = network->link_rate_GBps * 1000.0;
        config->switched.link_latency = network->link_latency;
        config->switched.switch_latency = network->switch_latency;
        return;
    }
    config->topology = NET_DRAGONFLY;
    if (network->preset != NULL)
        preset = find_preset(network->preset);
    else if (dragonfly->preset != NULL)
        preset = find_preset(dragonfly->preset);
    if (preset != NULL) {
        dragonfly->groups = preset->groups;
        dragonfly->chassis = preset->chassis;
        dragonfly->slots = preset->slots;
        dragonfly->cables = preset->cables;
    }
    dragonfly->preset = network->preset;
    if (scenario_given(network->at, "groups"))
        dragonfly->groups = (uint32_t)network->groups;
    if (scenario_given(network->at, "chassis"))
        dragonfly->chassis = (uint32_t)network->chassis;
    if (scenario_given(network->at, "slots"))
        dragonfly->slots = (uint32_t)network->slots;
    if (scenario_given(network->at, "cables"))
        dragonfly->cables = (uint32_t)network->cables;
}

const char *scenario_profile(const struct scenario_network *network)
{
    const struct net_preset *preset;

    if (network->profile != NULL)
        return network->profile;
    preset = network->preset != NULL ? find_preset(network->preset) : NULL;
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

bool scenario_for_each_param(const struct scenario_network *network,
                             bool (*visit)(const char *name, const struct tree *value, void *arg),
                             void *arg)
{
    if (network->params == NULL)
        return true;
    return each_param(network->params, "", visit, arg);
}

struct kind_check {
    enum legacy_kind kind;
    const char *path; /* of the params */
    char **error;
};

struct param_check {
    const char *path; /* of the network */
    struct aries_params *params;
    GHashTable *seen;
    char **error;
};

static bool refuse_param_name(const char *name, const struct tree *value, const char *path,
                              char **error)
{
    size_t count, i;
    const struct aries_param *table = aries_param_table(&count);
    const char *nearest = NULL;
    size_t best = strlen(name) / 3 + 2;

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
    return false;
}

static bool check_param(const char *name, const struct tree *value, void *arg)
{
    struct param_check *check = arg;
    struct value number;
    char *what = NULL, *path;
    bool ok;

    path = g_strconcat(check->path, ".params.", name, NULL);
    ok = !isnan(aries_params_get(check->params, name));
    if (!ok) {
        refuse_param_name(name, value, path, check->error);
    } else if (!g_hash_table_add(check->seen, g_strdup(name))) {
        ok = false;
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

static bool check_params(const struct scenario_network *network, const char *path, char **error)
{
    struct param_check check = {.path = path, .error = error};
    bool ok;

    check.params = aries_params_new(scenario_profile(network));
    if (check.params == NULL)
        return scenario_refuse(error, network->at, path, "profile",
                               "unknown host profile; allowed: xc40_hsw, xc30_snb, xc40_knl");
    if (network->params != NULL && network->params->type != TREE_MAPPING) {
        aries_params_free(check.params);
        return scenario_refuse(error, network->at, path, "params",
                               "not a mapping; allowed: parameter: number");
    }
    check.seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    ok = scenario_for_each_param(network, check_param, &check);
    g_hash_table_unref(check.seen);
    aries_params_free(check.params);
    return ok;
}

/* One of the numbers of the kind's model. */
static bool check_kind_param(const char *name, const struct tree *value, void *arg)
{
    struct kind_check *check = arg;
    const char *path = check->path;
    size_t count, i;
    const struct legacy_param *params = legacy_params(check->kind, &count);
    struct value number;
    char *what = NULL;

    for (i = 0; i < count && strcmp(params[i].name, name) != 0; i++)
        ;
    if (i == count)
        *check->error = scenario_tree_problem(
            value, path, "unknown parameter %s; allowed: those of the kind's model", name);
    else if (value->type != TREE_SCALAR)
        *check->error = scenario_tree_problem(value, path, "not a single value; allowed: a number");
    else if (!scenario_value_parse(ARG_REAL, value->text, "0", "1e9", NULL, &number, &what))
        *check->error = scenario_tree_problem(value, path, "%s", what);
    g_free(what);
    return *check->error == NULL;
}

static bool check_kind_params(const struct scenario_network *network, const char *path,
                              char **error)
{
    char *below = g_strconcat(path, ".params", NULL);
    struct kind_check check = {(enum legacy_kind)network->kind, below, error};
    bool ok;

    *error = NULL;
    if (network->params != NULL && network->params->type != TREE_MAPPING)
        ok = scenario_refuse(error, network->at, path, "params",
                             "not a mapping; allowed: parameter: number");
    else
        ok = scenario_for_each_param(network, check_kind_param, &check);
    g_free(below);
    return ok;
}

/* Counts what the topology has, and checks what needs no other network. */
static bool check_topology(struct scenario_network *network, const char *path, char **error)
{
    struct net_config config;

    if (network->kind != LEGACY_NONE && !scenario_given(network->at, "topology"))
        network->topology = TOPOLOGY_SINGLE_SWITCH;
    if (!check_topology_fields(network, path, error))
        return false;
    if (network->kind != LEGACY_NONE && !check_kind_params(network, path, error))
        return false;
    if (network->preset != NULL && find_preset(network->preset) == NULL)
        return refuse_preset(network, path, error);
    if (network->topology == TOPOLOGY_DRAGONFLY && !check_params(network, path, error))
        return false;
    if (network->attached.count != 0)
        network->nodes = network->attached.count;
    scenario_net_config(network, 0, &config);
    if (network->topology == TOPOLOGY_DRAGONFLY) {
        network->group_count = config.dragonfly.groups;
        network->router_count =
            config.dragonfly.groups * config.dragonfly.chassis * config.dragonfly.slots;
        network->endpoint_count = network->router_count * 4;
    } else {
        network->group_count = 1;
        network->router_count = UINT32_MAX; /* the network knows */
        network->endpoint_count = config.switched.nodes;
    }
    if (network->endpoint_count > NODE_SET_MAX)
        return scenario_refuse_free(error, network->at, path, "",
                                    g_strdup_printf("%u nodes; allowed: at most %u",
                                                    network->endpoint_count, NODE_SET_MAX));
    return true;
}

/* ---- several networks ------------------------------------------------------------------------ */

static bool check_name(const struct scenario *scenario, size_t index,
                       struct scenario_network *network, const char *path, char **error)
{
    size_t i;

    if (network->name == NULL) /* of `fabric` */
        network->name = network->kind != LEGACY_NONE
                            ? legacy_kind_name((enum legacy_kind)network->kind)
                        : network->topology == TOPOLOGY_DRAGONFLY ? "aries"
                                                                  : "switched";
    if (!scenario_is_word(network->name))
        return scenario_refuse(error, network->at, path, "name",
                               "not a name; allowed: at most 60 letters, digits, - and _, starting "
                               "with a letter");
    for (i = 0; i < index; i++) {
        if (strcmp(scenario_network(scenario, i)->name, network->name) == 0)
            return scenario_refuse(error, network->at, path, "name",
                                   "another network has this name; allowed: unique names");
    }
    return true;
}

/* Which node has which port. The first network numbers the nodes, so all are attached to it. */
static bool check_attached(const struct scenario *scenario, size_t index,
                           struct scenario_network *network, const char *path, char **error)
{
    size_t i;

    if (index == 0 && network->attached.count != 0)
        return scenario_refuse(error, network->at, path, "attached",
                               "the first network numbers the nodes and has all of them; allowed: "
                               "for the other networks");
    if (index == 0)
        return true;
    if (network->topology == TOPOLOGY_DRAGONFLY)
        return scenario_refuse(error, network->at, path, "topology",
                               "a node has one Aries NIC; allowed: a dragonfly as the first "
                               "network, single-switch or fat-tree for the others");
    if (network->attached.count != 0 && scenario_given(network->at, "nodes"))
        return scenario_refuse(error, network->at, path, "nodes",
                               "allowed: at most one of nodes and attached");
    if (network->attached.count == 1)
        return scenario_refuse(error, network->at, path, "attached",
                               "a single node; allowed: at least two");
    if (network->attached.count == 0 && network->endpoint_count > scenario->endpoints)
        return scenario_refuse_free(
            error, network->at, path, "nodes",
            g_strdup_printf("more than the machine has; allowed: 2 to %u", scenario->endpoints));
    network->endpoint_of = g_new(uint32_t, scenario->endpoints);
    for (i = 0; i < scenario->endpoints; i++)
        network->endpoint_of[i] =
            network->attached.count == 0 && i < network->endpoint_count ? (uint32_t)i : UINT32_MAX;
    for (i = 0; i < network->attached.count; i++) {
        uint32_t node = network->attached.nodes[i];

        if (node >= scenario->endpoints)
            return scenario_refuse_free(error, network->at, path, "attached",
                                        g_strdup_printf("there is no node %u; allowed: 0 to %u",
                                                        node, scenario->endpoints - 1));
        network->endpoint_of[node] = (uint32_t)i;
    }
    return true;
}

char *scenario_network_path(const struct scenario *scenario, size_t index)
{
    return scenario->networks.count != 0 ? g_strdup_printf("networks.%zu", index)
                                         : g_strdup("fabric");
}

bool scenario_find_network(const struct scenario *scenario, const struct tree *record,
                           const char *path, const char *name, uint32_t *index, char **error)
{
    size_t count = scenario_network_count(scenario), i;
    const char *names[NETWORKS_MAX];
    char *hint;

    g_assert(count <= NETWORKS_MAX);
    *index = 0;
    for (i = 0; i < count; i++) {
        names[i] = scenario_network(scenario, i)->name;
        if (name == NULL || strcmp(names[i], name) == 0) {
            *index = (uint32_t)i;
            return true;
        }
    }
    hint = scenario_schema_suggest(name, names, count);
    scenario_refuse_free(error, record, path, "network",
                         g_strdup_printf("no network of this name%s", hint));
    g_free(hint);
    return false;
}

bool scenario_check_fabric(struct scenario *scenario, char **error)
{
    bool several = scenario_given(scenario->at, "networks"), ok = true;
    size_t i;

    if (several && scenario_given(scenario->at, "fabric"))
        return scenario_refuse(error, scenario->at, "", "networks",
                               "allowed: at most one of fabric and networks");
    if (several && (scenario->networks.count == 0 || scenario->networks.count > NETWORKS_MAX))
        return scenario_refuse_free(error, scenario->at, "", "networks",
                                    g_strdup_printf("allowed: 1 to %u networks", NETWORKS_MAX));
    for (i = 0; ok && i < scenario_network_count(scenario); i++) {
        struct scenario_network *network =
            several ? (struct scenario_network *)scenario->networks.records + i : &scenario->fabric;
        char *path = scenario_network_path(scenario, i);

        ok = check_name(scenario, i, network, path, error) && check_topology(network, path, error);
        if (ok && i == 0)
            scenario->endpoints = network->endpoint_count;
        ok = ok && check_attached(scenario, i, network, path, error);
        g_free(path);
    }
    return ok;
}
