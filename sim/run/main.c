/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* sim-run: the command line. */
#include <errno.h>
#include <glib/gstdio.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "campaign.h"
#include "scenario/file.h"
#include "cluster/cluster.h"
#include "cluster/libfabric.h"
#include "report/lists.h"
#include "live/live_fabric.h"
#include "report/output.h"
#include "verdict/verdict.h"

#ifndef JACQUARD_VERSION
#error "the build says the version"
#endif

struct command {
    gboolean help, version, list_workloads, list_presets, list_params, check, json, force, markdown,
        no_color, quiet, live;
    gint ready_fd;
    gchar **set;
    gchar *help_text; /* --help was given */
    gchar *seed, *seeds, *out, *trace, *socket;
    gint parallel;
    /* made from it */
    const char *file;
    struct override *overrides;
    size_t override_count;
    uint64_t first_seed, last_seed;
};

static int bad_input(char *message)
{
    fprintf(stderr, "%s\n", message);
    g_free(message);
    return EXIT_BAD_INPUT;
}

static int say(GString *text, int status)
{
    bool written = fwrite(text->str, 1, text->len, stdout) == text->len;

    g_string_free(text, TRUE);
    if (written && fflush(stdout) == 0)
        return status;
    fprintf(stderr, "sim-run: standard output: %s\n", g_strerror(errno));
    return EXIT_BROKEN;
}

static int say_json(json_t *json, int status)
{
    char *text = json_dumps(json, JSON_INDENT(2));
    GString *out = g_string_new(text);

    free(text);
    json_decref(json);
    g_string_append_c(out, '\n');
    return say(out, status);
}

/* ---- the command line ------------------------------------------------------------------------ */

static bool parse_seed(const char *option, const char *text, uint64_t *seed, char **error)
{
    struct value value;
    char *what = NULL;

    if (value_parse(ARG_COUNT, text, "0", SEED_MAX_TEXT, NULL, &value, &what)) {
        *seed = value.number;
        return true;
    }
    *error = g_strdup_printf("%s: %s", option, what);
    g_free(what);
    return false;
}

static bool parse_seeds(struct command *command, char **error)
{
    gchar **ends = g_strsplit(command->seeds, "-", 2);
    bool ok =
        ends[0] != NULL && parse_seed("--seeds", ends[0], &command->first_seed, error) &&
        parse_seed("--seeds", ends[1] != NULL ? ends[1] : ends[0], &command->last_seed, error);

    if (ok && (command->last_seed < command->first_seed ||
               command->last_seed - command->first_seed >= RUNS_MAX)) {
        *error = g_strdup_printf(
            "--seeds: %s is not a range; allowed: A-B with A not above B, at most %u seeds",
            command->seeds, RUNS_MAX);
        ok = false;
    } else if (!ok && *error == NULL) {
        *error = g_strdup("--seeds: allowed: A-B");
    }
    g_strfreev(ends);
    return ok;
}

/* "a.b=c" each; then --seed, which is one more of them. */
static bool parse_overrides(struct command *command, char **error)
{
    guint given_sets = command->set != NULL ? g_strv_length(command->set) : 0, i;
    uint64_t seed;

    command->overrides = g_new0(struct override, given_sets + 1);
    for (i = 0; i < given_sets; i++) {
        char *equals = strchr(command->set[i], '=');
        char *origin = g_strdup_printf("--set %s", command->set[i]);
        const char *interned = g_intern_string(origin);

        g_free(origin);
        if (equals == NULL || equals == command->set[i]) {
            *error = g_strdup_printf(
                "%s: not an assignment; allowed: path=value, such as jobs.0.args.bytes=4KiB",
                interned);
            return false;
        }
        *equals = '\0';
        command->overrides[i] = (struct override){command->set[i], equals + 1, interned};
    }
    command->override_count = given_sets;
    if (command->seed == NULL)
        return true;
    command->overrides[command->override_count++] =
        (struct override){"seed", command->seed, "--seed"};
    return parse_seed("--seed", command->seed, &seed, error);
}

static bool check_combination(const struct command *command, char **error)
{
    if (command->seed != NULL && command->seeds != NULL)
        *error = g_strdup("--seeds: not together with --seed; allowed: one of them");
    else if (command->force && command->out == NULL)
        *error = g_strdup("--force: has no meaning without --out");
    else if (!command->live && (command->socket != NULL || command->ready_fd >= 0))
        *error = g_strdup_printf("--%s: has no meaning without --live",
                                 command->socket != NULL ? "socket" : "ready-fd");
    else if (command->live && (command->seeds != NULL || command->out != NULL ||
                               command->trace != NULL || command->check || command->json))
        *error = g_strdup("--live: not together with --seeds, --out, --trace, --check, --json");
    else if (command->parallel < 0 || command->parallel > 256)
        *error = g_strdup("-j: allowed: 1 to 256 processes");
    return *error == NULL;
}

/* A short option together with its value, as -j4. */
static bool has_attached_value(const GOptionEntry *entries, const char *word)
{
    if (word[0] != '-' || word[1] == '\0' || word[2] == '\0')
        return false;
    while (entries->long_name != NULL && entries->short_name != word[1])
        entries++;
    return entries->long_name != NULL && entries->arg != G_OPTION_ARG_NONE;
}

/* "-j4" as the two words "-j" and "4", which is the only form that GOption knows. g_free the array,
 * not its words. */
static char **split_words(const GOptionEntry *entries, int *argc, char **argv)
{
    char **words = g_new0(char *, 2 * (size_t)*argc + 1);
    bool options = true;
    int count = 0, i;

    for (i = 0; i < *argc; i++) {
        options = options && strcmp(argv[i], "--") != 0;
        if (options && i > 0 && has_attached_value(entries, argv[i])) {
            words[count++] = (char *)g_intern_string((char[]){'-', argv[i][1], '\0'});
            words[count++] = argv[i] + 2;
        } else {
            words[count++] = argv[i];
        }
    }
    *argc = count;
    return words;
}

static bool parse_command(struct command *command, int argc, char **argv, char **error)
{
    const GOptionEntry entries[] = {
        {"help", 'h', 0, G_OPTION_ARG_NONE, &command->help, "Print the options", NULL},
        {"version", 0, 0, G_OPTION_ARG_NONE, &command->version, "Print the version", NULL},
        {"list-workloads", 0, 0, G_OPTION_ARG_NONE, &command->list_workloads,
         "Print the workloads with their arguments", NULL},
        {"list-presets", 0, 0, G_OPTION_ARG_NONE, &command->list_presets,
         "Print the known machines", NULL},
        {"list-params", 0, 0, G_OPTION_ARG_NONE, &command->list_params,
         "Print the model's parameters with their sources", NULL},
        {"live", 0, 0, G_OPTION_ARG_NONE, &command->live,
         "Start a fabric for ordinary processes, until it is interrupted (the scenario may be left "
         "out)",
         NULL},
        {"socket", 0, 0, G_OPTION_ARG_FILENAME, &command->socket,
         "With --live: the fabric's path (default: in a new folder)", "FILE"},
        {"ready-fd", 0, 0, G_OPTION_ARG_INT, &command->ready_fd,
         "With --live: say there what processes need, and end when it is closed", "FD"},
        {"check", 0, 0, G_OPTION_ARG_NONE, &command->check, "Validate only", NULL},
        {"set", 0, 0, G_OPTION_ARG_STRING_ARRAY, &command->set,
         "Change a value of the scenario (repeatable)", "PATH=VALUE"},
        {"seed", 0, 0, G_OPTION_ARG_STRING, &command->seed, "Run with this seed", "N"},
        {"seeds", 0, 0, G_OPTION_ARG_STRING, &command->seeds, "Run once with each of these seeds",
         "A-B"},
        {"jobs", 'j', 0, G_OPTION_ARG_INT, &command->parallel,
         "Runs at a time (default: one per core)", "N"},
        {"json", 0, 0, G_OPTION_ARG_NONE, &command->json,
         "Print the result as JSON and nothing else", NULL},
        {"out", 0, 0, G_OPTION_ARG_FILENAME, &command->out,
         "Write metrics, ledger, trace and scenario into DIR", "DIR"},
        {"force", 0, 0, G_OPTION_ARG_NONE, &command->force,
         "Let --out write into a folder that holds files", NULL},
        {"trace", 0, 0, G_OPTION_ARG_FILENAME, &command->trace, "Write a Perfetto trace", "FILE"},
        {"schema-markdown", 0, 0, G_OPTION_ARG_NONE, &command->markdown,
         "Print the scenario reference", NULL},
        {"no-color", 0, 0, G_OPTION_ARG_NONE, &command->no_color, "No colours", NULL},
        {"quiet", 0, 0, G_OPTION_ARG_NONE, &command->quiet, "Print problems only", NULL},
        {NULL},
    };
    GOptionContext *context = g_option_context_new("SCENARIO.yaml");
    char **words = split_words(entries, &argc, argv);
    GError *failure = NULL;

    g_option_context_set_summary(
        context, "Runs a scenario on a simulated fabric: virtual time, faults, a verdict.");
    g_option_context_set_description(context, "Exit code: 0 expectations and ledger hold, 1 they "
                                              "do not, 2 bad input, 3 deadlock or a limit.\n"
                                              "See sim-run(1) and docs/scenario-reference.md.\n");
    g_option_context_add_main_entries(context, entries, NULL);
    g_option_context_set_help_enabled(context, FALSE); /* it would not say that nobody got it */
    if (!g_option_context_parse(context, &argc, &words, &failure)) {
        *error = g_strdup_printf("sim-run: %s; see sim-run --help", failure->message);
        g_error_free(failure);
    } else if (argc > 2) {
        *error = g_strdup_printf("sim-run: unexpected \"%s\"; allowed: one scenario", words[2]);
    }
    if (command->help)
        command->help_text = g_option_context_get_help(context, TRUE, NULL);
    command->file = argc == 2 ? words[1] : NULL;
    g_option_context_free(context);
    g_free(words);
    return *error == NULL && check_combination(command, error) && parse_overrides(command, error) &&
           (command->seeds == NULL || parse_seeds(command, error));
}

static bool use_color(const struct command *command)
{
    const char *never = getenv("NO_COLOR");

    return !command->no_color && isatty(STDOUT_FILENO) && (never == NULL || never[0] == '\0');
}

/* ---- one run --------------------------------------------------------------------------------- */

static int report(const struct command *command, json_t *result)
{
    int status = (int)json_integer_value(json_object_get(result, "exit"));
    GString *text;
    json_t *problem;
    size_t i;

    if (command->json)
        return say_json(result, status);
    if (command->quiet) {
        json_array_foreach(json_object_get(result, "problems"), i, problem)
            fprintf(stderr, "%s\n", json_string_value(problem));
    } else {
        text = g_string_new(NULL);
        summary_print(result, use_color(command), text);
        status = say(text, status);
    }
    json_decref(result);
    return status;
}

/* The run, and its files in `folder` (NULL: none); the report calls the folder `shown`. */
static json_t *run_into(const struct scenario *scenario, const char *folder, const char *shown,
                        struct progress *progress, char **error)
{
    struct cluster_options options = {.seed = scenario->seed,
                                      .tick = progress != NULL ? progress_tick : NULL,
                                      .tick_arg = progress};
    char *trace = folder != NULL ? g_build_filename(folder, "trace.pftrace", NULL) : NULL;
    char *trace_shown = folder != NULL ? g_build_filename(shown, "trace.pftrace", NULL) : NULL;
    json_t *result;

    options.trace = trace;
    options.trace_shown = trace_shown;
    options.tables = folder;
    result = run_scenario(scenario, &options, error);
    if (result != NULL && folder != NULL && !output_write(folder, result, scenario->tree, error)) {
        json_decref(result);
        result = NULL;
    }
    g_free(trace);
    g_free(trace_shown);
    return result;
}

static json_t *run_with_folder(const struct command *command, const struct scenario *scenario,
                               struct progress *progress, char **error)
{
    struct output output;
    json_t *result;

    if (!output_begin(&output, command->out, command->force, error))
        return NULL;
    result = run_into(scenario, output.partial, command->out, progress, error);
    if (result == NULL) {
        output_abort(&output);
    } else if (!output_commit(&output, error)) {
        json_decref(result);
        result = NULL;
    }
    return result;
}

/* Only a run that somebody looks at on the screen leaves the trace that the scenario names. */
static const char *trace_file(const struct command *command, const struct scenario *scenario)
{
    if (command->trace != NULL || command->json || command->quiet || scenario->trace[0] == '\0')
        return command->trace;
    return scenario->trace;
}

/* The trace gets its name when it is whole. */
static json_t *run_with_trace(const struct command *command, const struct scenario *scenario,
                              struct progress *progress, char **error)
{
    const char *trace = trace_file(command, scenario);
    char *target = NULL, *partial = NULL;
    struct cluster_options options = {
        .seed = scenario->seed, .trace_shown = trace, .tick = progress_tick, .tick_arg = progress};
    json_t *result;

    if (trace != NULL)
        file_place(trace, &target, &partial);
    options.trace = partial != NULL ? partial : trace;
    result = run_scenario(scenario, &options, error);
    if (partial != NULL && result != NULL && g_rename(partial, target) != 0) {
        *error = g_strdup_printf("%s: %s", trace, g_strerror(errno));
        json_decref(result);
        result = NULL;
    }
    if (partial != NULL && result == NULL)
        g_unlink(partial);
    g_free(partial);
    g_free(target);
    return result;
}

static int run_one(const struct command *command, const struct scenario *scenario)
{
    struct progress progress;
    char *error = NULL;
    json_t *result;

    progress_begin(&progress, isatty(STDERR_FILENO) && !command->quiet);
    result = command->out != NULL ? run_with_folder(command, scenario, &progress, &error)
                                  : run_with_trace(command, scenario, &progress, &error);
    progress_end(&progress);
    return result != NULL ? report(command, result) : bad_input(error);
}

/* ---- many runs ------------------------------------------------------------------------------- */

static json_t *campaign_member(const struct campaign *campaign, const struct override *overrides,
                               size_t count, const char *name, char **error)
{
    const struct scenario_options options = {.overrides = overrides, .override_count = count};
    struct scenario *scenario = scenario_load(campaign->file, &options, error);
    char *folder = campaign->out != NULL ? g_build_filename(campaign->out, name, NULL) : NULL;
    json_t *result = NULL;

    if (scenario != NULL && folder != NULL && g_mkdir(folder, 0777) != 0)
        *error = g_strdup_printf("%s: %s", folder, g_strerror(errno));
    else if (scenario != NULL)
        result = run_into(scenario, folder, name, NULL, error);
    scenario_free(scenario);
    g_free(folder);
    return result;
}

static int report_campaign(const struct command *command, const struct campaign *campaign,
                           json_t *result)
{
    int status = (int)json_integer_value(json_object_get(result, "exit"));
    GString *text;

    if (command->json)
        return say_json(result, status);
    text = g_string_new(NULL);
    campaign_print(campaign, result, use_color(command), text);
    json_decref(result);
    if (!command->quiet || status != EXIT_HOLDS)
        return say(text, status);
    g_string_free(text, TRUE);
    return status;
}

static int execute(const struct command *command, struct campaign *campaign)
{
    struct output output = {0};
    struct progress progress;
    char *error = NULL, *path;
    json_t *result;
    bool ok;

    if (command->out != NULL && !output_begin(&output, command->out, command->force, &error))
        return bad_input(error);
    campaign->out = output.partial;
    progress_begin(&progress, isatty(STDERR_FILENO) && !command->quiet);
    campaign->progress = &progress;
    fflush(NULL);
    result = campaign_execute(campaign, campaign_member);
    progress_end(&progress);
    if (command->out != NULL) {
        path = g_build_filename(output.partial, "summary.json", NULL);
        ok = output_json(path, result, &error);
        g_free(path);
        if (!ok)
            output_abort(&output);
        else
            ok = output_commit(&output, &error);
        if (!ok) {
            json_decref(result);
            return bad_input(error);
        }
    }
    return report_campaign(command, campaign, result);
}

static int run_campaign(const struct command *command, const struct scenario *scenario)
{
    const struct tree *sweep = scenario->sweep;
    char *error = NULL;
    struct campaign campaign = {
        .file = command->file,
        .overrides = command->overrides,
        .override_count = command->override_count,
        .first_seed = command->first_seed,
        .last_seed = command->last_seed,
        .seeds = command->seeds != NULL,
        .parallel = command->parallel != 0 ? (unsigned)command->parallel : g_get_num_processors(),
        .axes = sweep != NULL ? sweep->count : 0,
        .axis = sweep != NULL ? (const struct tree *const *)sweep->items : NULL,
    };

    if (command->trace != NULL)
        return bad_input(
            g_strdup("--trace: not with many runs; allowed: --out, which keeps a trace of each"));
    if (campaign_size(&campaign) > RUNS_MAX)
        return bad_input(g_strdup_printf(
            "--seeds: too many runs together with the sweep; allowed: %u", RUNS_MAX));
    if (!libfabric_start_for(scenario, &error)) /* once for all runs, which are forked */
        return bad_input(error);
    return execute(command, &campaign);
}

/* ---- validate only --------------------------------------------------------------------------- */

/* Builds the machine, too: only it knows which links there are. */
static bool check_machine(const struct scenario *scenario, char **error)
{
    struct cluster_options options = {.seed = scenario->seed};
    struct cluster *cluster = cluster_create(scenario, &options, error);

    if (cluster == NULL)
        return false;
    cluster_destroy(cluster);
    return true;
}

/* Each combination of a sweep, on its own. */
static bool check_sweep(const struct command *command, const struct scenario *scenario,
                        char **error)
{
    const struct tree *sweep = scenario->sweep;
    struct override *overrides = g_new0(struct override, command->override_count + 1);
    struct scenario_options options = {.overrides = overrides,
                                       .override_count = command->override_count + 1};
    struct scenario *one;
    bool ok = true;
    size_t i, j;

    memcpy(overrides, command->overrides, command->override_count * sizeof(*overrides));
    for (i = 0; sweep != NULL && i < sweep->count && ok; i++) {
        for (j = 0; j < sweep->items[i]->count && ok; j++) {
            overrides[command->override_count] =
                campaign_override(sweep->items[i], sweep->items[i]->items[j]);
            one = scenario_load(command->file, &options, error);
            ok = one != NULL;
            scenario_free(one);
        }
    }
    g_free(overrides);
    return ok;
}

static int check_only(const struct command *command, const struct scenario *scenario)
{
    GString *text;
    char *error = NULL;

    if (!check_machine(scenario, &error) || !check_sweep(command, scenario, &error))
        return bad_input(error);
    if (command->json)
        return say_json(json_pack("{s:i,s:b,s:I,s:I,s:I}", "schema", 1, "valid", 1, "jobs",
                                  (json_int_t)scenario->jobs.count, "ranks",
                                  (json_int_t)scenario->rank_count, "nodes",
                                  (json_int_t)scenario->endpoints),
                        EXIT_HOLDS);
    if (command->quiet)
        return EXIT_HOLDS;
    text = g_string_new(NULL);
    g_string_printf(text, "%s: valid: %zu jobs, %u ranks, %u nodes, %zu faults, %zu expectations\n",
                    command->file, scenario->jobs.count, scenario->rank_count, scenario->endpoints,
                    scenario->faults.count, scenario->expectations.count);
    return say(text, EXIT_HOLDS);
}

/* ---- all ------------------------------------------------------------------------------------- */

static int list(const struct command *command)
{
    GString *text = g_string_new(NULL);
    char *reference;

    if (command->json && !command->markdown && !command->version) {
        g_string_free(text, TRUE);
        return say_json(command->list_workloads ? workloads_json()
                        : command->list_presets ? presets_json()
                                                : params_json(),
                        EXIT_HOLDS);
    }
    if (command->version) {
        g_string_append(text, "sim-run (Jacquard) " JACQUARD_VERSION "\n");
    } else if (command->markdown) {
        reference = scenario_reference();
        g_string_append(text, reference);
        g_free(reference);
    } else if (command->list_workloads) {
        workloads_print(text);
    } else if (command->list_presets) {
        presets_print(text);
    } else {
        params_print(text);
    }
    return say(text, EXIT_HOLDS);
}

static int run_file(const struct command *command)
{
    const struct scenario_options options = {command->overrides, command->override_count,
                                             .keep_sweep = true};
    char *error = NULL;
    struct scenario *scenario = scenario_load(command->file, &options, &error);
    int status;

    if (scenario == NULL)
        return bad_input(error);
    if (command->check)
        status = check_only(command, scenario);
    else if (command->seeds != NULL || scenario->sweep != NULL)
        status = run_campaign(command, scenario);
    else
        status = run_one(command, scenario);
    scenario_free(scenario);
    return status;
}

static int run_live(const struct command *command)
{
    const struct scenario_options options = {command->overrides, command->override_count,
                                             .no_jobs = true};
    const struct live_fabric_options live = {
        .socket = command->socket, .ready_fd = command->ready_fd, .quiet = command->quiet};
    char *error = NULL;
    struct scenario *scenario =
        command->file != NULL ? scenario_load(command->file, &options, &error)
                              : scenario_parse(live_fabric_default, strlen(live_fabric_default),
                                               "default fabric", &options, &error);
    int status = EXIT_HOLDS;

    if (scenario == NULL || !live_fabric_run(scenario, &live, &error))
        status = live_fabric_refuse(&live, error);
    scenario_free(scenario);
    return status;
}

int main(int argc, char **argv)
{
    struct command command = {.ready_fd = -1};
    char *error = NULL;
    int status;

    if (!parse_command(&command, argc, argv, &error))
        status = bad_input(error);
    else if (command.help)
        status = say(g_string_new(command.help_text), EXIT_HOLDS);
    else if (command.version || command.markdown || command.list_workloads ||
             command.list_presets || command.list_params)
        status = list(&command);
    else if (command.live)
        status = run_live(&command);
    else if (command.file == NULL)
        status = bad_input(g_strdup("sim-run: no scenario; see sim-run --help"));
    else
        status = run_file(&command);
    g_free(command.help_text);
    g_free(command.overrides);
    g_strfreev(command.set);
    g_free(command.seed);
    g_free(command.seeds);
    g_free(command.out);
    g_free(command.trace);
    g_free(command.socket);
    return status;
}
