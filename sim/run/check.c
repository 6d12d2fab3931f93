/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What one field alone cannot tell: names that must exist, numbers that must fit the machine,
 * arguments of workloads. */
#include "scenario.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "aries/aries.h"

static bool refuse(char **error, const struct tree *record, const char *path, const char *field,
                   const char *what)
{
    const struct tree *at = tree_get(record, field);
    char *full = field != NULL && field[0] != '\0'
                     ? g_strconcat(path, path[0] != '\0' ? "." : "", field, NULL)
                     : g_strdup(path);

    *error = tree_problem(at != NULL ? at : record, full, "%s", what);
    g_free(full);
    return false;
}

static bool refuse_free(char **error, const struct tree *record, const char *path,
                        const char *field, char *what)
{
    refuse(error, record, path, field, what);
    g_free(what);
    return false;
}

/* ---- fabric ---------------------------------------------------------------------------------- */

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
    char *hint, *shown = quoted(fabric->preset);

    for (i = 0; i < count; i++)
        names[i] = presets[i].name;
    hint = schema_suggest(fabric->preset, names, count);
    refuse_free(error, fabric->at, "fabric", "preset",
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
        if (given(fabric->at, dragonfly_only[i]))
            return refuse(error, fabric->at, "fabric", dragonfly_only[i],
                          "has no meaning on a switched network; allowed: with topology dragonfly");
    }
    for (i = 0; i < G_N_ELEMENTS(switched_only) && fabric->topology == TOPOLOGY_DRAGONFLY; i++) {
        if (given(fabric->at, switched_only[i]))
            return refuse(
                error, fabric->at, "fabric", switched_only[i],
                "has no meaning on a dragonfly; allowed: with topology single-switch or fat-tree");
    }
    for (i = 1; i <= 4 && fabric->preset != NULL; i++) {
        if (given(fabric->at, dragonfly_only[i]))
            return refuse(
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
    config->fidelity = fabric->fidelity == 0 ? NET_F0 : NET_F1;
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
    if (given(fabric->at, "groups"))
        dragonfly->groups = (uint32_t)fabric->groups;
    if (given(fabric->at, "chassis"))
        dragonfly->chassis = (uint32_t)fabric->chassis;
    if (given(fabric->at, "slots"))
        dragonfly->slots = (uint32_t)fabric->slots;
    if (given(fabric->at, "cables"))
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
        size_t distance = edit_distance(name, table[i].name);
        if (distance < best) {
            best = distance;
            nearest = table[i].name;
        }
    }
    *error =
        tree_problem(value, path, "unknown parameter%s%s; allowed: names of sim-run --list-params",
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
        *check->error = tree_problem(value, path, "given twice; allowed: each parameter once");
    } else if (value->type != TREE_SCALAR) {
        ok = false;
        *check->error = tree_problem(value, path, "not a single value; allowed: a number");
    } else if (!value_parse(ARG_REAL, value->text, NULL, NULL, NULL, &number, &what)) {
        ok = false;
        *check->error = tree_problem(value, path, "%s", what);
        g_free(what);
    } else if (!aries_params_set(check->params, name, number.real, &what)) {
        ok = false;
        *check->error = tree_problem(value, path, "%s", what);
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
        return refuse(error, fabric->at, "fabric", "profile",
                      "unknown host profile; allowed: xc40_hsw, xc30_snb, xc40_knl");
    if (fabric->params != NULL && fabric->params->type != TREE_MAPPING) {
        aries_params_free(check.params);
        return refuse(error, fabric->at, "fabric", "params",
                      "not a mapping; allowed: parameter: number");
    }
    check.seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    ok = scenario_for_each_param(scenario, check_param, &check);
    g_hash_table_unref(check.seen);
    aries_params_free(check.params);
    return ok;
}

static bool check_fabric(struct scenario *scenario, char **error)
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
        return refuse_free(
            error, fabric->at, "fabric", "",
            g_strdup_printf("%u nodes; allowed: at most %u", scenario->endpoints, NODE_SET_MAX));
    return true;
}

/* ---- jobs ------------------------------------------------------------------------------------ */

static bool is_word(const char *text)
{
    if (!g_ascii_isalpha(text[0]) || strlen(text) > 60)
        return false;
    for (; *text != '\0'; text++) {
        if (!g_ascii_isalnum(*text) && *text != '_' && *text != '-')
            return false;
    }
    return true;
}

static bool check_job_name(const struct scenario *scenario, size_t index, const char *path,
                           char **error)
{
    static const char *const reserved[] = {"net", "aries", "engine", "all", NULL};
    const struct scenario_job *job = scenario_job(scenario, index);
    size_t i;

    if (!is_word(job->name) || g_strv_contains(reserved, job->name))
        return refuse(error, job->at, path, "name",
                      "not a name; allowed: at most 60 letters, digits, - and _, starting with a "
                      "letter; not net, aries, "
                      "engine, all");
    for (i = 0; i < index; i++) {
        if (strcmp(scenario_job(scenario, i)->name, job->name) == 0)
            return refuse(error, job->at, path, "name",
                          "another job has this name; allowed: unique names");
    }
    return true;
}

static void place_random(const struct scenario_placement *placement, const char *job,
                         uint32_t endpoints, uint32_t *nodes)
{
    uint32_t *all = g_new(uint32_t, endpoints);
    struct sim_random random;
    uint64_t i;

    for (i = 0; i < endpoints; i++)
        all[i] = (uint32_t)i;
    sim_random_init(&random, placement->seed, job, 0);
    for (i = 0; i < placement->count; i++) {
        uint64_t other = i + sim_random_below(&random, endpoints - i);
        uint32_t node = all[other];
        all[other] = all[i];
        nodes[i] = all[i] = node;
    }
    g_free(all);
}

static bool place(const struct scenario *scenario, struct scenario_job *job, const char *path,
                  char **error)
{
    const struct scenario_placement *placement = &job->placement;
    uint32_t per_group = scenario->endpoints / scenario->groups;
    uint64_t i,
        used = placement->count + (placement->policy == PLACE_LINEAR ? placement->first : 0);

    if (used > scenario->endpoints)
        return refuse_free(error, job->at, path, "placement",
                           g_strdup_printf("needs %" PRIu64 " nodes; allowed: the fabric has %u",
                                           used, scenario->endpoints));
    job->nodes.nodes = g_new(uint32_t, placement->count);
    job->nodes.count = placement->count;
    for (i = 0; i < placement->count; i++)
        job->nodes.nodes[i] =
            placement->policy == PLACE_LINEAR
                ? (uint32_t)(placement->first + i)
                : (uint32_t)(i % scenario->groups * per_group + i / scenario->groups);
    if (placement->policy == PLACE_RANDOM)
        place_random(placement, job->name, scenario->endpoints, job->nodes.nodes);
    return true;
}

static bool check_nodes(const struct scenario *scenario, struct scenario_job *job, const char *path,
                        char **error)
{
    size_t i;

    if ((job->placement.at != NULL) == given(job->at, "nodes"))
        return refuse(error, job->at, path, "nodes", "allowed: exactly one of nodes and placement");
    if (job->placement.at != NULL)
        return place(scenario, job, path, error);
    for (i = 0; i < job->nodes.count; i++) {
        if (job->nodes.nodes[i] >= scenario->endpoints)
            return refuse_free(
                error, job->at, path, "nodes",
                g_strdup_printf("there is no node %u; allowed: 0 to %u in this fabric",
                                job->nodes.nodes[i], scenario->endpoints - 1));
    }
    return true;
}

static bool refuse_workload(const struct scenario_job *job, const char *path, char **error)
{
    const char **names = g_new(const char *, program_count());
    char *hint, *shown = quoted(job->workload_name);
    size_t i;

    for (i = 0; i < program_count(); i++)
        names[i] = program_at(i)->workload->name;
    hint = schema_suggest(job->workload_name, names, program_count());
    refuse_free(error, job->at, path, "workload",
                g_strdup_printf("%s is not a known workload%s", shown, hint));
    g_free(hint);
    g_free(shown);
    g_free(names);
    return false;
}

static char *beside(const char *file, const char *path)
{
    char *folder, *full;

    if (g_path_is_absolute(path))
        return g_strdup(path);
    folder = g_path_get_dirname(file);
    full = g_build_filename(folder, path, NULL);
    g_free(folder);
    return full;
}

static bool find_workload(const struct scenario *scenario, struct scenario_job *job,
                          const struct scenario_options *options, const char *path, char **error)
{
    char *file, *what;

    if ((job->workload_name != NULL) == (job->program != NULL))
        return refuse(error, job->at, path, "workload",
                      "allowed: exactly one of workload and program");
    if (job->workload_name != NULL) {
        job->workload = program_find(job->workload_name);
        if (job->workload == NULL)
            return refuse_workload(job, path, error);
    } else {
        if (options->no_programs)
            return refuse(error, job->at, path, "program",
                          "programs are switched off here; allowed: workload");
        file = beside(scenario->file, job->program);
        job->workload = program_open(file, &what);
        g_free(file);
        if (job->workload == NULL)
            return refuse_free(error, job->at, path, "program", what);
    }
    if (scenario->fabric.topology != TOPOLOGY_DRAGONFLY && !job->workload->any_network)
        return refuse(error, job->at, path, job->program != NULL ? "program" : "workload",
                      "calls uGNI, but a switched network has no Aries NICs; allowed there: "
                      "barrier, raw_messages");
    return true;
}

static bool check_known_args(const struct scenario_job *job, const char *path, char **error)
{
    const struct workload_arg *args = job->workload->workload->args;
    const char *names[64];
    size_t count = 0, i, j;
    char *hint;

    if (job->args == NULL)
        return true;
    if (job->args->type != TREE_MAPPING)
        return refuse(error, job->at, path, "args", "not a mapping; allowed: argument: value");
    while (args != NULL && args[count].name != NULL && count < G_N_ELEMENTS(names)) {
        names[count] = args[count].name;
        count++;
    }
    for (i = 0; i < job->args->count; i++) {
        for (j = 0; j < count && strcmp(names[j], job->args->items[i]->key) != 0; j++)
            ;
        if (j != count)
            continue;
        hint = count != 0 ? schema_suggest(job->args->items[i]->key, names, count)
                          : g_strdup("; allowed: none");
        *error =
            tree_problem(job->args->items[i], path, "args.%s: workload %s has no such argument%s",
                         job->args->items[i]->key, job->workload->workload->name, hint);
        g_free(hint);
        return false;
    }
    return true;
}

static bool check_arg(const struct scenario_job *job, const struct workload_arg *arg,
                      struct value *value, const char *path, char **error)
{
    const struct tree *tree = tree_get(job->args, arg->name);
    char *what = NULL, *field;
    bool ok = true;

    if (tree != NULL && tree->type != TREE_SCALAR) {
        char *allowed = value_allowed(arg->type, arg->minimum, arg->maximum, arg->choices);
        what = g_strdup_printf("not a single value; allowed: %s", allowed);
        g_free(allowed);
        ok = false;
    } else if (tree != NULL || arg->fallback != NULL) {
        ok = value_parse(arg->type, tree != NULL ? tree->text : arg->fallback, arg->minimum,
                         arg->maximum, arg->choices, value, &what);
    } else {
        what = g_strdup("missing; the workload has no default for it");
        ok = false;
    }
    if (ok)
        return true;
    field = g_strdup_printf("%s.args.%s", path, arg->name);
    *error = tree_problem(tree != NULL ? tree : job->at, field, "%s", what);
    g_free(field);
    g_free(what);
    return false;
}

static bool check_args(struct scenario_job *job, const char *path, char **error)
{
    const struct workload_arg *args = job->workload->workload->args;
    size_t count = 0, i;

    if (!check_known_args(job, path, error))
        return false;
    while (args != NULL && args[count].name != NULL)
        count++;
    job->values = g_new0(struct value, count + 1);
    for (i = 0; i < count; i++) {
        if (!check_arg(job, &args[i], &job->values[i], path, error))
            return false;
    }
    return true;
}

static bool check_ranks(struct scenario *scenario, struct scenario_job *job, const char *path,
                        char **error)
{
    uint64_t ranks = job->nodes.count * job->ranks_per_node;
    uint32_t needed = MAX(job->workload->workload->ranks_min, 1u);

    if (given(job->at, "ranks")) {
        if (job->ranks_cap > ranks)
            return refuse_free(
                error, job->at, path, "ranks",
                g_strdup_printf("the nodes hold %" PRIu64 " ranks; allowed: at most that", ranks));
        ranks = job->ranks_cap;
    }
    if (ranks < needed)
        return refuse_free(error, job->at, path, "",
                           g_strdup_printf("%" PRIu64
                                           " ranks; allowed: workload %s needs at least %u",
                                           ranks, job->workload->workload->name, needed));
    if (scenario->rank_count + ranks > RANKS_MAX)
        return refuse_free(error, job->at, path, "",
                           g_strdup_printf("too many ranks; allowed: %u in all jobs", RANKS_MAX));
    job->rank_count = (uint32_t)ranks;
    scenario->rank_count += (uint32_t)ranks;
    return true;
}

static bool check_jobs(struct scenario *scenario, const struct scenario_options *options,
                       char **error)
{
    size_t i;
    bool ok = true;

    if (scenario->jobs.count == 0 || scenario->jobs.count > JOBS_MAX)
        return refuse_free(error, scenario->at, "", "jobs",
                           g_strdup_printf("allowed: 1 to %u jobs", JOBS_MAX));
    for (i = 0; i < scenario->jobs.count && ok; i++) {
        struct scenario_job *job = scenario_job(scenario, i);
        char *path = g_strdup_printf("jobs.%zu", i);

        ok = check_job_name(scenario, i, path, error) && check_nodes(scenario, job, path, error) &&
             find_workload(scenario, job, options, path, error) &&
             check_ranks(scenario, job, path, error) && check_args(job, path, error);
        g_free(path);
    }
    return ok;
}

/* ---- faults ---------------------------------------------------------------------------------- */

static bool parse_prefixed(const char **text, char prefix, uint32_t limit, uint32_t *number)
{
    const char *at = *text;
    uint64_t sum = 0;

    if (*at != prefix || !g_ascii_isdigit(at[1]))
        return false;
    for (at++; g_ascii_isdigit(*at) && sum <= UINT32_MAX; at++)
        sum = sum * 10 + (unsigned)(*at - '0');
    if (sum >= limit)
        return false;
    *number = (uint32_t)sum;
    *text = at;
    return true;
}

static bool parse_group(const char *text, uint32_t groups, uint32_t *group)
{
    return parse_prefixed(&text, 'g', groups, group) && *text == '\0';
}

/* "17" or, on a dragonfly, "g0c1s2". */
static bool parse_router(const struct scenario *scenario, const char *text, uint32_t *router)
{
    struct net_config config;
    uint32_t group, chassis, slot;
    struct value number;
    char *what = NULL;

    if (value_parse(ARG_COUNT, text, NULL, "4294967294", NULL, &number, &what)) {
        *router = (uint32_t)number.number;
        return *router < scenario->routers;
    }
    g_free(what);
    if (scenario->fabric.topology != TOPOLOGY_DRAGONFLY)
        return false;
    scenario_net_config(scenario, scenario->seed, &config);
    if (!parse_prefixed(&text, 'g', config.dragonfly.groups, &group) ||
        !parse_prefixed(&text, 'c', config.dragonfly.chassis, &chassis) ||
        !parse_prefixed(&text, 's', config.dragonfly.slots, &slot) || *text != '\0')
        return false;
    *router = (group * config.dragonfly.chassis + chassis) * config.dragonfly.slots + slot;
    return true;
}

static bool check_routers(const struct scenario *scenario, struct scenario_fault *fault,
                          const char *path, char **error)
{
    const char *const texts[2] = {fault->place == FAULT_LINK ? fault->routers[0] : fault->router,
                                  fault->routers[1]};
    const char *field = fault->place == FAULT_LINK ? "routers" : "router";
    char *shown;
    int i;

    for (i = 0; i < (fault->place == FAULT_LINK ? 2 : 1); i++) {
        if (parse_router(scenario, texts[i], &fault->router_numbers[i]))
            continue;
        shown = quoted(texts[i]);
        if (scenario->fabric.topology == TOPOLOGY_DRAGONFLY)
            refuse_free(
                error, fault->at, path, field,
                g_strdup_printf("%s is not a router; allowed: 0 to %u, or names such as g0c0s0",
                                shown, scenario->routers - 1));
        else
            refuse_free(error, fault->at, path, field,
                        g_strdup_printf("%s is not a switch; allowed: its number", shown));
        g_free(shown);
        return false;
    }
    return true;
}

static bool check_fault_node(const struct scenario *scenario, const struct scenario_fault *fault,
                             const char *path, const char *field, uint64_t node, char **error)
{
    if (given(fault->at, field) && node >= scenario->endpoints)
        return refuse_free(error, fault->at, path, field,
                           g_strdup_printf("there is no node %" PRIu64
                                           "; allowed: 0 to %u in this fabric",
                                           node, scenario->endpoints - 1));
    return true;
}

static bool check_rule(const struct scenario *scenario, struct scenario_fault *fault,
                       const char *path, char **error)
{
    int i;

    for (i = 0; i < 2; i++) {
        fault->groups[i] = SIM_FAULT_ANY;
        if (fault->between[i] != NULL &&
            !parse_group(fault->between[i], scenario->groups, &fault->groups[i])) {
            char *shown = quoted(fault->between[i]);
            refuse_free(error, fault->at, path, "between",
                        g_strdup_printf("%s is not a group; allowed: g0 to g%u", shown,
                                        scenario->groups - 1));
            g_free(shown);
            return false;
        }
    }
    if (!given(fault->at, "until"))
        fault->until = SIM_NEVER;
    if (fault->until <= fault->from)
        return refuse(error, fault->at, path, "until",
                      "never active; allowed: a time after `from`");
    return check_fault_node(scenario, fault, path, "source", fault->source, error) &&
           check_fault_node(scenario, fault, path, "target", fault->target, error);
}

static bool needs_aries(const struct scenario_fault *fault)
{
    return fault->place == FAULT_NODE || fault->place == FAULT_CQ_OVERRUN ||
           fault->place == FAULT_FABRIC || g_str_has_prefix(fault->where, "aries.");
}

static bool check_fault(const struct scenario *scenario, struct scenario_fault *fault, size_t index,
                        const char *path, char **error)
{
    static const char *const places[] = {"link", "router", "node", "cq", "fabric"};
    size_t i;

    fault->place = FAULT_POINT;
    for (i = 0; i < G_N_ELEMENTS(places); i++) {
        if (strcmp(fault->where, places[i]) == 0)
            fault->place = FAULT_LINK + i;
    }
    if (scenario->fabric.topology != TOPOLOGY_DRAGONFLY && needs_aries(fault))
        return refuse(error, fault->at, path, "at",
                      "concerns Aries NICs, which a switched network has not; allowed there: "
                      "net.packet, link, router");
    if (fault->label != NULL && (!is_word(fault->label) || strcmp(fault->label, "fired") == 0))
        return refuse(error, fault->at, path, "label",
                      "not a name; allowed: at most 60 letters, digits, - and _, starting with a "
                      "letter; not `fired`");
    for (i = 0; i < index && fault->label != NULL; i++) {
        if (g_strcmp0(scenario_fault(scenario, i)->label, fault->label) == 0)
            return refuse(error, fault->at, path, "label",
                          "another fault has it; allowed: unique labels");
    }
    fault->title = g_strdup(fault->label != NULL ? fault->label : path);
    if (fault->place == FAULT_POINT)
        return check_rule(scenario, fault, path, error);
    if (fault->place == FAULT_LINK || fault->place == FAULT_ROUTER)
        return check_routers(scenario, fault, path, error);
    return check_fault_node(scenario, fault, path, "node", fault->node, error);
}

static bool check_faults(struct scenario *scenario, char **error)
{
    size_t i;
    bool ok = true;

    for (i = 0; i < scenario->faults.count && ok; i++) {
        char *path = g_strdup_printf("faults.%zu", i);
        ok = check_fault(scenario, scenario_fault(scenario, i), i, path, error);
        g_free(path);
    }
    if (ok && scenario->mutation.at != NULL && scenario->fabric.topology != TOPOLOGY_DRAGONFLY)
        return refuse(error, scenario->at, "", "mutate",
                      "concerns Aries NICs, which a switched network has not");
    return ok;
}

/* ---- expectations ---------------------------------------------------------------------------- */

/* "40us", "4KiB", "1.5GB/s", "1e9" as a number in the unit that metrics of that kind have. */
static bool parse_limit(const char *text, double *limit)
{
    static const enum arg_type types[] = {ARG_REAL, ARG_TIME, ARG_BYTES};
    char *plain = g_str_has_suffix(text, "/s") ? g_strndup(text, strlen(text) - 2) : g_strdup(text);
    struct value value;
    char *what = NULL;
    bool ok = false;
    size_t i;

    for (i = 0; i < G_N_ELEMENTS(types) && !ok; i++) {
        ok = value_parse(types[i], plain, NULL, NULL, NULL, &value, &what);
        if (!ok)
            g_clear_pointer(&what, g_free);
    }
    if (ok)
        *limit = value.real;
    g_free(plain);
    return ok;
}

static bool check_limit(const struct scenario_expectation *expectation, const char *path,
                        const char *field, const char *text, double *limit, char **error)
{
    char *shown;

    if (text == NULL || parse_limit(text, limit))
        return true;
    shown = quoted(text);
    refuse_free(error, expectation->at, path, field,
                g_strdup_printf("%s is not a limit; allowed: a number, a time such as 40us, a "
                                "size, a rate such as 1GB/s",
                                shown));
    g_free(shown);
    return false;
}

static bool check_limits(struct scenario_expectation *expectation, const char *path, char **error)
{
    if (expectation->kind == EXPECT_METRIC && expectation->below == NULL &&
        expectation->above == NULL && expectation->equals == NULL && expectation->within.at == NULL)
        return refuse(error, expectation->at, path, "",
                      "says no limit; allowed: below, above, equals, within");
    return check_limit(expectation, path, "below", expectation->below, &expectation->below_value,
                       error) &&
           check_limit(expectation, path, "above", expectation->above, &expectation->above_value,
                       error) &&
           check_limit(expectation, path, "equals", expectation->equals, &expectation->equals_value,
                       error);
}

static const struct scenario_job *job_by_name(const struct scenario *scenario, const char *name,
                                              size_t length)
{
    size_t i;

    for (i = 0; i < scenario->jobs.count; i++) {
        const struct scenario_job *job = scenario_job(scenario, i);
        if (strlen(job->name) == length && memcmp(job->name, name, length) == 0)
            return job;
    }
    return NULL;
}

static bool refuse_owner(const struct scenario *scenario,
                         const struct scenario_expectation *expectation, const char *path,
                         const char *field, const char *word, bool with_layers, char **error)
{
    static const char *const layers[] = {"net", "aries", "engine"};
    const char *names[JOBS_MAX + 3];
    size_t count = 0, i;
    char *hint;

    for (i = 0; i < scenario->jobs.count; i++)
        names[count++] = scenario_job(scenario, i)->name;
    for (i = 0; i < G_N_ELEMENTS(layers) && with_layers; i++)
        names[count++] = layers[i];
    hint = schema_suggest(word, names, count);
    refuse_free(error, expectation->at, path, field,
                g_strdup_printf("no job of this name%s%s", hint,
                                with_layers ? " (then a dot and the metric)" : ""));
    g_free(hint);
    return false;
}

static bool check_metric(const struct scenario *scenario, struct scenario_expectation *expectation,
                         const char *path, char **error)
{
    size_t length = strcspn(expectation->metric, ".");
    char *owner = g_strndup(expectation->metric, MIN(length, 63));
    bool known = strcmp(owner, "net") == 0 || strcmp(owner, "aries") == 0 ||
                 strcmp(owner, "engine") == 0 ||
                 job_by_name(scenario, expectation->metric, length) != NULL;

    if (!known)
        refuse_owner(scenario, expectation, path, "metric", owner, true, error);
    g_free(owner);
    return known && check_limits(expectation, path, error);
}

static bool check_expected_fault(const struct scenario *scenario,
                                 struct scenario_expectation *expectation, const char *path,
                                 char **error)
{
    size_t i;

    if (strcmp(expectation->fault, "fired") != 0) {
        for (i = 0; i < scenario->faults.count; i++) {
            char *number = g_strdup_printf("faults.%zu", i);
            bool found = strcmp(scenario_fault(scenario, i)->title, expectation->fault) == 0 ||
                         strcmp(number, expectation->fault) == 0;
            g_free(number);
            if (found)
                break;
        }
        if (i == scenario->faults.count)
            return refuse(
                error, expectation->at, path, "fault",
                "no fault of this name; allowed: fired (all of them), a label, faults.0 and so on");
    }
    return check_limits(expectation, path, error);
}

static bool check_exit(const struct scenario_expectation *expectation, const char *path,
                       char **error)
{
    struct value code;
    char *what = NULL;

    if (strcmp(expectation->exit, "any") == 0 || strcmp(expectation->exit, "failed") == 0 ||
        value_parse(ARG_COUNT, expectation->exit, "0", "255", NULL, &code, &what))
        return true;
    g_free(what);
    return refuse(error, expectation->at, path, "exit",
                  "not an exit code; allowed: 0 to 255, any, failed");
}

static bool check_expectation(const struct scenario *scenario,
                              struct scenario_expectation *expectation, const char *path,
                              char **error)
{
    static const char *const kinds[] = {"ledger", "metric", "outcome", "fault", "job"};

    for (expectation->kind = EXPECT_LEDGER; !given(expectation->at, kinds[expectation->kind]);
         expectation->kind++)
        ;
    switch (expectation->kind) {
    case EXPECT_METRIC:
        return check_metric(scenario, expectation, path, error);
    case EXPECT_FAULT:
        return check_expected_fault(scenario, expectation, path, error);
    case EXPECT_JOB:
        if (job_by_name(scenario, expectation->job, strlen(expectation->job)) == NULL)
            return refuse_owner(scenario, expectation, path, "job", expectation->job, false, error);
        return check_exit(expectation, path, error);
    case EXPECT_LEDGER:
    case EXPECT_OUTCOME:
        break;
    }
    return true;
}

static bool check_expectations(struct scenario *scenario, char **error)
{
    size_t i;
    bool ok = true;

    for (i = 0; i < scenario->expectations.count && ok; i++) {
        char *path = g_strdup_printf("expect.%zu", i);
        ok = check_expectation(scenario, scenario_expectation(scenario, i), path, error);
        g_free(path);
    }
    return ok;
}

/* ---- sweep ----------------------------------------------------------------------------------- */

static bool check_sweep(const struct scenario *scenario, char **error)
{
    const struct tree *sweep = scenario->sweep;
    uint64_t runs = 1;
    size_t i, j;

    if (sweep == NULL)
        return true;
    if (sweep->type != TREE_MAPPING || sweep->count == 0)
        return refuse(error, scenario->at, "", "sweep",
                      "not a mapping; allowed: path: [value, value]");
    for (i = 0; i < sweep->count; i++) {
        const struct tree *values = sweep->items[i];
        if (values->type != TREE_SEQUENCE || values->count == 0)
            return refuse(error, sweep, "sweep", values->key,
                          "not a list of values; allowed: [value, value]");
        for (j = 0; j < values->count; j++) {
            if (values->items[j]->type != TREE_SCALAR)
                return refuse(error, sweep, "sweep", values->key,
                              "a value is not single; allowed: numbers and words");
        }
        runs *= values->count;
        if (runs > 10000)
            return refuse(error, scenario->at, "", "sweep",
                          "too many combinations; allowed: 10000");
    }
    return true;
}

bool scenario_check(struct scenario *scenario, const struct scenario_options *options, char **error)
{
    return check_fabric(scenario, error) && check_jobs(scenario, options, error) &&
           check_faults(scenario, error) && check_expectations(scenario, error) &&
           check_sweep(scenario, error);
}
