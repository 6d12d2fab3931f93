/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Jobs: nodes of this machine, workloads with their arguments, numbers of ranks. */
#include "check.h"

#include <inttypes.h>
#include <string.h>
#include "engine/random.h"
#include "scenario/file.h"

static bool check_job_name(const struct scenario *scenario, size_t index, const char *path,
                           char **error)
{
    static const char *const reserved[] = {"net", "aries", "lnet", "pmi", "engine", "all", NULL};
    const struct scenario_job *job = scenario_job(scenario, index);
    size_t i;

    if (!scenario_is_word(job->name) || g_strv_contains(reserved, job->name))
        return scenario_refuse(
            error, job->at, path, "name",
            "not a name; allowed: at most 60 letters, digits, - and _, starting with a "
            "letter; not net, aries, "
            "pmi, engine, all");
    for (i = 0; i < index; i++) {
        if (strcmp(scenario_job(scenario, i)->name, job->name) == 0)
            return scenario_refuse(error, job->at, path, "name",
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
    uint32_t groups = scenario_network(scenario, 0)->group_count,
             per_group = scenario->endpoints / groups;
    uint64_t i,
        used = placement->count + (placement->policy == PLACE_LINEAR ? placement->first : 0);

    if (used > scenario->endpoints)
        return scenario_refuse_free(error, job->at, path, "placement",
                                    g_strdup_printf("needs %" PRIu64
                                                    " nodes; allowed: the fabric has %u",
                                                    used, scenario->endpoints));
    job->nodes.nodes = g_new(uint32_t, placement->count);
    job->nodes.count = placement->count;
    for (i = 0; i < placement->count; i++)
        job->nodes.nodes[i] = placement->policy == PLACE_LINEAR
                                  ? (uint32_t)(placement->first + i)
                                  : (uint32_t)(i % groups * per_group + i / groups);
    if (placement->policy == PLACE_RANDOM)
        place_random(placement, job->name, scenario->endpoints, job->nodes.nodes);
    return true;
}

static bool check_nodes(const struct scenario *scenario, struct scenario_job *job, const char *path,
                        char **error)
{
    size_t i;

    if ((job->placement.at != NULL) == scenario_given(job->at, "nodes"))
        return scenario_refuse(error, job->at, path, "nodes",
                               "allowed: exactly one of nodes and placement");
    if (job->placement.at != NULL)
        return place(scenario, job, path, error);
    for (i = 0; i < job->nodes.count; i++) {
        if (job->nodes.nodes[i] >= scenario->endpoints)
            return scenario_refuse_free(
                error, job->at, path, "nodes",
                g_strdup_printf("there is no node %u; allowed: 0 to %u in this fabric",
                                job->nodes.nodes[i], scenario->endpoints - 1));
    }
    return true;
}

/* All its nodes have a device on the network that it names. */
static bool check_network(const struct scenario *scenario, struct scenario_job *job,
                          const char *path, char **error)
{
    const struct scenario_network *network;
    size_t i;

    if (!scenario_find_network(scenario, job->at, path, job->network, &job->network_index, error))
        return false;
    network = scenario_network(scenario, job->network_index);
    for (i = 0; i < job->nodes.count; i++) {
        if (scenario_endpoint(network, job->nodes.nodes[i]) == UINT32_MAX)
            return scenario_refuse_free(
                error, job->at, path, "network",
                g_strdup_printf("node %u has no port; allowed: a network that all nodes of the job "
                                "are attached to",
                                job->nodes.nodes[i]));
    }
    return true;
}

static bool refuse_workload(const struct scenario_job *job, const char *path, char **error)
{
    const char **names = g_new(const char *, program_count());
    char *hint, *shown = scenario_quoted(job->workload_name);
    size_t i;

    for (i = 0; i < program_count(); i++)
        names[i] = program_at(i)->workload->name;
    hint = scenario_schema_suggest(job->workload_name, names, program_count());
    scenario_refuse_free(error, job->at, path, "workload",
                         g_strdup_printf("%s is not a known workload%s", shown, hint));
    g_free(hint);
    g_free(shown);
    g_free(names);
    return false;
}

/* Whether Madeleine, which the job then uses, has no adapter but those of LNet. */
static bool uses_lnet_only(const struct scenario_job *job)
{
    const struct tree *list = job->env != NULL && job->env->type == TREE_MAPPING
                                  ? scenario_tree_get(job->env, "MAD_ADAPTERS")
                                  : NULL;
    bool only = list != NULL && list->type == TREE_SCALAR;
    char **names, **each;

    if (!only)
        return false;
    names = g_strsplit(list->text, ",", -1);
    for (each = names; *each != NULL && only; each++)
        only = g_str_equal(*each, "lnet") || g_str_has_prefix(*each, "lnet:");
    g_strfreev(names);
    return only;
}

static bool find_workload(const struct scenario *scenario, struct scenario_job *job,
                          const struct scenario_options *options, const char *path, char **error)
{
    char *file, *what;

    if ((job->workload_name != NULL) == (job->program != NULL))
        return scenario_refuse(error, job->at, path, "workload",
                               "allowed: exactly one of workload and program");
    if (job->workload_name != NULL) {
        job->workload = program_find(job->workload_name);
        if (job->workload == NULL)
            return refuse_workload(job, path, error);
    } else {
        if (options->no_programs)
            return scenario_refuse(error, job->at, path, "program",
                                   "programs are switched off here; allowed: workload");
        file = scenario_file_beside(scenario->file, job->program);
        job->workload = program_open(file, &what);
        g_free(file);
        if (job->workload == NULL)
            return scenario_refuse_free(error, job->at, path, "program", what);
    }
    if (scenario_network(scenario, job->network_index)->topology != TOPOLOGY_DRAGONFLY &&
        !job->workload->any_network && !uses_lnet_only(job))
        return scenario_refuse(
            error, job->at, path, job->program != NULL ? "program" : "workload",
            "calls uGNI, but a switched network has no Aries NICs; allowed there: "
            "barrier, raw_messages, and the workloads of LNet (lnet_..., m0_...) and Madeleine "
            "(mad_... with MAD_ADAPTERS, sbp_..., sisci_..., tcp_..., via_...)");
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
        return scenario_refuse(error, job->at, path, "args",
                               "not a mapping; allowed: argument: value");
    while (args != NULL && args[count].name != NULL && count < G_N_ELEMENTS(names)) {
        names[count] = args[count].name;
        count++;
    }
    for (i = 0; i < job->args->count; i++) {
        for (j = 0; j < count && strcmp(names[j], job->args->items[i]->key) != 0; j++)
            ;
        if (j != count)
            continue;
        hint = count != 0 ? scenario_schema_suggest(job->args->items[i]->key, names, count)
                          : g_strdup("; allowed: none");
        *error = scenario_tree_problem(
            job->args->items[i], path, "args.%s: workload %s has no such argument%s",
            job->args->items[i]->key, job->workload->workload->name, hint);
        g_free(hint);
        return false;
    }
    return true;
}

static bool check_arg(const struct scenario_job *job, const struct workload_arg *arg,
                      struct value *value, const char *path, char **error)
{
    const struct tree *tree = scenario_tree_get(job->args, arg->name);
    char *what = NULL, *field;
    bool ok = true;

    if (tree != NULL && tree->type != TREE_SCALAR) {
        char *allowed = scenario_value_allowed(arg->type, arg->minimum, arg->maximum, arg->choices);
        what = g_strdup_printf("not a single value; allowed: %s", allowed);
        g_free(allowed);
        ok = false;
    } else if (tree != NULL || arg->fallback != NULL) {
        ok = scenario_value_parse(arg->type, tree != NULL ? tree->text : arg->fallback,
                                  arg->minimum, arg->maximum, arg->choices, value, &what);
    } else {
        what = g_strdup("missing; the workload has no default for it");
        ok = false;
    }
    if (ok)
        return true;
    field = g_strdup_printf("%s.args.%s", path, arg->name);
    *error = scenario_tree_problem(tree != NULL ? tree : job->at, field, "%s", what);
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

bool scenario_check_texts(const struct tree *texts, enum tree_type type, const char *field,
                          const char *allowed, const char *path, char **error)
{
    char *full = g_strdup_printf("%s.%s", path, field);
    size_t i;
    bool ok = texts->type == type;

    for (i = 0; ok && i < texts->count; i++)
        ok = texts->items[i]->type == TREE_SCALAR;
    if (!ok)
        *error = scenario_tree_problem(texts, full, "not %s; allowed: %s", allowed, allowed);
    g_free(full);
    return ok;
}

static bool check_process(const struct scenario_job *job, const char *path, char **error)
{
    size_t i;

    if (job->workload->foreign == NULL && job->argv != NULL)
        return scenario_refuse(error, job->at, path, "argv",
                               "is for a program with main(); allowed for workloads: args");
    if (job->argv != NULL &&
        !scenario_check_texts(job->argv, TREE_SEQUENCE, "argv", "a list of texts", path, error))
        return false;
    if (job->env != NULL && !scenario_check_texts(job->env, TREE_MAPPING, "env",
                                                  "a mapping of variables to texts", path, error))
        return false;
    for (i = 0; job->env != NULL && i < job->env->count; i++)
        if (strchr(job->env->items[i]->key, '=') != NULL)
            return scenario_refuse(error, job->env->items[i], path, "env",
                                   "no name of a variable; allowed: names without =");
    return true;
}

static bool check_ranks(struct scenario *scenario, struct scenario_job *job, const char *path,
                        char **error)
{
    uint64_t ranks = job->nodes.count * job->ranks_per_node;
    uint32_t needed = MAX(job->workload->workload->ranks_min, 1u);

    if (scenario_given(job->at, "ranks")) {
        if (job->ranks_cap > ranks)
            return scenario_refuse_free(
                error, job->at, path, "ranks",
                g_strdup_printf("the nodes hold %" PRIu64 " ranks; allowed: at most that", ranks));
        ranks = job->ranks_cap;
    }
    if (ranks < needed)
        return scenario_refuse_free(
            error, job->at, path, "",
            g_strdup_printf("%" PRIu64 " ranks; allowed: workload %s needs at least %u", ranks,
                            job->workload->workload->name, needed));
    if (job->spawnable && scenario_given(job->at, "start"))
        return scenario_refuse(error, job->at, path, "start",
                               "is for jobs that start by themselves; not allowed: spawnable");
    if (scenario->rank_count + ranks > RANKS_MAX)
        return scenario_refuse_free(
            error, job->at, path, "",
            g_strdup_printf("too many ranks; allowed: %u in all jobs", RANKS_MAX));
    job->rank_count = (uint32_t)ranks;
    if (!job->spawnable)
        scenario->rank_count += (uint32_t)ranks;
    return true;
}

bool scenario_check_jobs(struct scenario *scenario, const struct scenario_options *options,
                         char **error)
{
    size_t i;
    bool ok = true;

    if (!scenario_given(scenario->at, "jobs"))
        return options->no_jobs || scenario_refuse(error, scenario->at, "", "jobs",
                                                   "missing; it is required: what runs");
    if (scenario->jobs.count == 0 || scenario->jobs.count > JOBS_MAX)
        return scenario_refuse_free(error, scenario->at, "", "jobs",
                                    g_strdup_printf("allowed: 1 to %u jobs", JOBS_MAX));
    for (i = 0; i < scenario->jobs.count && ok; i++) {
        struct scenario_job *job = scenario_job(scenario, i);
        char *path = g_strdup_printf("jobs.%zu", i);

        ok = check_job_name(scenario, i, path, error) && check_nodes(scenario, job, path, error) &&
             check_network(scenario, job, path, error) &&
             find_workload(scenario, job, options, path, error) &&
             check_ranks(scenario, job, path, error) && check_args(job, path, error) &&
             check_process(job, path, error);
        g_free(path);
    }
    if (ok && scenario->rank_count == 0)
        return scenario_refuse(
            error, scenario->at, "", "jobs",
            "all are spawnable; allowed: at least one job that starts by itself");
    return ok;
}

/* ---- arguments of a spawn -------------------------------------------------------------------- */

/* "depth=3" */
static bool take_argument(const struct scenario_job *job, const char *text, struct value *values)
{
    const struct workload_arg *args = job->workload->workload->args;
    size_t length = strcspn(text, "="), i;
    char *what = NULL;

    for (i = 0; text[length] == '=' && args != NULL && args[i].name != NULL; i++) {
        if (strlen(args[i].name) != length || memcmp(args[i].name, text, length) != 0)
            continue;
        if (scenario_value_parse(args[i].type, text + length + 1, args[i].minimum, args[i].maximum,
                                 args[i].choices, &values[i], &what))
            return true;
        g_free(what);
        return false;
    }
    return false;
}

struct value *scenario_spawn_values(const struct scenario_job *job, char *const *argv)
{
    const struct workload_arg *args = job->workload->workload->args;
    struct value *values;
    size_t count = 0;

    while (args != NULL && args[count].name != NULL)
        count++;
    values = g_memdup2(job->values, (count + 1) * sizeof(*values));
    for (; *argv != NULL; argv++) {
        if (take_argument(job, *argv, values))
            continue;
        g_free(values);
        return NULL;
    }
    return values;
}
