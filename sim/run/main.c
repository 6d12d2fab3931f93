/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* sim-run: the command line. */
#include <errno.h>
#include <glib/gstdio.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "campaign_command.h"
#include "command.h"
#include "campaign/campaign.h"
#include "campaign/minimize.h"
#include "diff.h"
#include "say.h"
#include "scenario/file.h"
#include "cluster/cluster.h"
#include "cluster/libfabric.h"
#include "report/lists.h"
#include "live/live_fabric.h"
#include "lnet/node.h"
#include "report/output.h"
#include "report/page.h"
#include "verdict/verdict.h"

#ifndef JACQUARD_VERSION
#error "the build says the version"
#endif

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
        return run_say_json(result, status);
    if (command->quiet) {
        json_array_foreach (json_object_get(result, "problems"), i, problem)
            fprintf(stderr, "%s\n", json_string_value(problem));
    } else {
        text = g_string_new(NULL);
        report_summary_print(result, use_color(command), text);
        status = run_say(text, status);
    }
    json_decref(result);
    return status;
}

/* Appends a command that runs the scenario again. */
static void append_command(const struct command *command, uint64_t seed, GString *text)
{
    char *quoted = g_shell_quote(command->file), *whole;
    guint i;

    g_string_append_printf(text, "sim-run %s", quoted);
    g_free(quoted);
    for (i = 0; command->set != NULL && command->set[i] != NULL; i++) {
        whole = g_strdup_printf("%s=%s", command->overrides[i].path, command->overrides[i].value);
        quoted = g_shell_quote(whole);
        g_string_append_printf(text, " --set %s", quoted);
        g_free(quoted);
        g_free(whole);
    }
    g_string_append_printf(text, " --seed %" PRIu64, seed);
}

/* Runs the scenario, and writes the report page if the command wants one. */
static json_t *run_with_page(const struct command *command, const struct scenario *scenario,
                             const struct cluster_options *options, char **error)
{
    GString *text;
    struct report_page page = {.version = JACQUARD_VERSION};
    json_t *result;

    if (command == NULL || command->report == NULL)
        return report_run(scenario, options, error);
    text = g_string_new(NULL);
    append_command(command, scenario->seed, text);
    page.path = command->report;
    page.command = text->str;
    result = report_run_page(scenario, options, &page, error);
    g_string_free(text, TRUE);
    return result;
}

/* Runs the scenario and writes its files into `folder` (NULL: none); the report calls the folder
 * `shown`. Without `command` there is no report page. */
static json_t *run_into(const struct command *command, const struct scenario *scenario,
                        const char *folder, const char *shown, struct progress *progress,
                        char **error)
{
    struct cluster_options options = {.seed = scenario->seed,
                                      .tick = progress != NULL ? report_progress_tick : NULL,
                                      .tick_arg = progress};
    char *trace = folder != NULL ? g_build_filename(folder, "trace.pftrace", NULL) : NULL;
    char *trace_shown = folder != NULL ? g_build_filename(shown, "trace.pftrace", NULL) : NULL;
    json_t *result;

    options.trace = trace;
    options.trace_shown = trace_shown;
    options.tables = folder;
    result = run_with_page(command, scenario, &options, error);
    if (result != NULL && folder != NULL &&
        !report_output_write(folder, result, scenario->tree, error)) {
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

    if (!report_output_begin(&output, command->out, command->force, error))
        return NULL;
    result = run_into(command, scenario, output.partial, command->out, progress, error);
    if (result == NULL) {
        report_output_abort(&output);
    } else if (!report_output_commit(&output, error)) {
        json_decref(result);
        result = NULL;
    }
    return result;
}

/* The trace that the scenario names is written only by a run that reports on the screen. */
static const char *trace_file(const struct command *command, const struct scenario *scenario)
{
    if (command->trace != NULL || command->json || command->quiet || scenario->trace[0] == '\0')
        return command->trace;
    return scenario->trace;
}

/* The trace is renamed when it is complete. */
static json_t *run_with_trace(const struct command *command, const struct scenario *scenario,
                              struct progress *progress, char **error)
{
    const char *trace = trace_file(command, scenario);
    char *target = NULL, *partial = NULL;
    struct cluster_options options = {.seed = scenario->seed,
                                      .trace_shown = trace,
                                      .tick = report_progress_tick,
                                      .tick_arg = progress};
    json_t *result;

    if (trace != NULL)
        scenario_file_place(trace, &target, &partial);
    options.trace = partial != NULL ? partial : trace;
    result = run_with_page(command, scenario, &options, error);
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

/* Begins or ends the capture. False: *error (g_free) names the file. */
static bool capture(const char *path, bool begin, char **error)
{
    char *what = NULL;

    if (path == NULL || (begin ? lnet_sim_capture(path, &what) : lnet_sim_capture_end(&what)))
        return true;
    *error = strstr(what, path) != NULL ? g_strdup(what) : g_strdup_printf("%s: %s", path, what);
    free(what);
    return false;
}

static int run_one(const struct command *command, const struct scenario *scenario)
{
    struct progress progress;
    char *error = NULL;
    json_t *result;

    if (!capture(command->pcap, true, &error))
        return run_refuse(error);
    report_progress_begin(&progress, isatty(STDERR_FILENO) && !command->quiet);
    result = command->out != NULL ? run_with_folder(command, scenario, &progress, &error)
                                  : run_with_trace(command, scenario, &progress, &error);
    report_progress_end(&progress);
    if (result != NULL && !capture(command->pcap, false, &error)) {
        json_decref(result);
        result = NULL;
    }
    return result != NULL ? report(command, result) : run_refuse(error);
}

/* ---- many runs ------------------------------------------------------------------------------- */

static json_t *campaign_member(const struct campaign *campaign, const struct override *overrides,
                               size_t count, const char *name, char **error)
{
    const struct scenario_options options = {.overrides = overrides, .override_count = count};
    struct scenario *scenario = campaign->text != NULL
                                    ? scenario_parse(campaign->text, strlen(campaign->text),
                                                     campaign->file, &options, error)
                                    : scenario_load(campaign->file, &options, error);
    char *folder = campaign->out != NULL ? g_build_filename(campaign->out, name, NULL) : NULL;
    json_t *result = NULL;

    if (scenario != NULL && folder != NULL && g_mkdir(folder, 0777) != 0)
        *error = g_strdup_printf("%s: %s", folder, g_strerror(errno));
    else if (scenario != NULL)
        result = run_into(NULL, scenario, folder, name, NULL, error);
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
        return run_say_json(result, status);
    text = g_string_new(NULL);
    campaign_print(campaign, result, use_color(command), text);
    json_decref(result);
    if (!command->quiet || status != EXIT_HOLDS)
        return run_say(text, status);
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

    if (command->out != NULL && !report_output_begin(&output, command->out, command->force, &error))
        return run_refuse(error);
    campaign->out = output.partial;
    report_progress_begin(&progress, isatty(STDERR_FILENO) && !command->quiet);
    campaign->progress = &progress;
    fflush(NULL);
    result = campaign_execute(campaign, campaign_member);
    report_progress_end(&progress);
    if (command->out != NULL) {
        path = g_build_filename(output.partial, "summary.json", NULL);
        ok = report_output_json(path, result, &error);
        g_free(path);
        if (!ok)
            report_output_abort(&output);
        else
            ok = report_output_commit(&output, &error);
        if (!ok) {
            json_decref(result);
            return run_refuse(error);
        }
    }
    return report_campaign(command, campaign, result);
}

static unsigned parallel_runs(const struct command *command)
{
    return command->parallel != 0 ? (unsigned)command->parallel : g_get_num_processors();
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
        .parallel = parallel_runs(command),
        .axes = sweep != NULL ? sweep->count : 0,
        .axis = sweep != NULL ? (const struct tree *const *)sweep->items : NULL,
    };

    if (command->trace != NULL)
        return run_refuse(
            g_strdup("--trace: not with many runs; allowed: --out, which keeps a trace of each"));
    if (command->report != NULL)
        return run_refuse(g_strdup("--report: not with many runs; allowed: one combination of the "
                                   "sweep, by --set"));
    if (campaign_size(&campaign) > CAMPAIGN_RUNS_MAX)
        return run_refuse(g_strdup_printf(
            "--seeds: too many runs together with the sweep; allowed: %u", CAMPAIGN_RUNS_MAX));
    if (!cluster_libfabric_start_for(scenario, &error)) /* once for all runs, which are forked */
        return run_refuse(error);
    return execute(command, &campaign);
}

/* ---- until one fails ------------------------------------------------------------------------- */

static void say_how_to_repeat(const struct command *command, uint64_t seed)
{
    GString *text = g_string_new("reproduce: ");

    append_command(command, seed, text);
    fprintf(command->json || command->quiet ? stderr : stdout, "%s\nreduce it: add --minimize\n",
            text->str);
    g_string_free(text, TRUE);
}

static int run_seed(struct command *command, uint64_t seed)
{
    char text[32], *error = NULL;
    const struct scenario_options options = {command->overrides, command->override_count + 1};
    struct scenario *scenario;
    int status;

    snprintf(text, sizeof(text), "%" PRIu64, seed);
    command->overrides[command->override_count] = (struct override){"seed", text, "--until-fail"};
    scenario = scenario_load(command->file, &options, &error);
    if (scenario == NULL)
        return run_refuse(error);
    status = run_one(command, scenario);
    scenario_free(scenario);
    say_how_to_repeat(command, seed);
    return status;
}

static int run_until_fail(struct command *command, const struct scenario *scenario)
{
    uint64_t first = command->seeds != NULL ? command->first_seed : scenario->seed, seed = 0;
    uint64_t last = command->seeds != NULL                   ? command->last_seed
                    : first > UINT64_MAX - CAMPAIGN_RUNS_MAX ? UINT64_MAX
                                                             : first + CAMPAIGN_RUNS_MAX - 1;
    const struct campaign campaign = {
        .file = command->file,
        .overrides = command->overrides,
        .override_count = command->override_count,
        .parallel = parallel_runs(command),
    };
    char *error = NULL;

    if (!cluster_libfabric_start_for(scenario, &error))
        return run_refuse(error);
    if (campaign_first_failure(&campaign, first, last, campaign_member, &seed))
        return run_seed(command, seed);
    if (!command->quiet)
        printf("no seed from %" PRIu64 " to %" PRIu64 " fails\n", first, last);
    return EXIT_HOLDS;
}

/* ---- the smallest scenario that fails ---------------------------------------------------------
 */

static int minimize(const struct command *command, const struct scenario *scenario)
{
    const struct campaign_minimize options = {command->file, command->out};
    char *error = NULL;
    int status;
    json_t *result = campaign_minimize(&options, scenario, campaign_member, &status, &error);
    GString *text;

    if (result == NULL) {
        run_refuse(error);
        return status;
    }
    if (command->json)
        return run_say_json(result, status);
    text = g_string_new(NULL);
    campaign_minimize_print(result, text);
    json_decref(result);
    return run_say(text, status);
}

/* ---- validate only --------------------------------------------------------------------------- */

/* Also builds the machine, because only that knows its links. */
static bool check_machine(const struct scenario *scenario, char **error)
{
    struct cluster_options options = {.seed = scenario->seed};
    struct cluster *cluster = cluster_create(scenario, &options, error);

    if (cluster == NULL)
        return false;
    cluster_destroy(cluster);
    return true;
}

/* Checks each combination of a sweep. */
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
        return run_refuse(error);
    if (command->json)
        return run_say_json(json_pack("{s:i,s:b,s:I,s:I,s:I}", "schema", 1, "valid", 1, "jobs",
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
    return run_say(text, EXIT_HOLDS);
}

/* ---- all ------------------------------------------------------------------------------------- */

static int list(const struct command *command)
{
    GString *text = g_string_new(NULL);
    char *reference;

    if (command->schema) {
        g_string_free(text, TRUE);
        return run_say_json(scenario_document_json(), EXIT_HOLDS);
    }
    if (command->json && !command->markdown && !command->version) {
        g_string_free(text, TRUE);
        return run_say_json(command->list_workloads ? report_workloads_json()
                            : command->list_presets ? report_presets_json()
                            : command->list_rules   ? report_rules_json()
                                                    : report_params_json(),
                            EXIT_HOLDS);
    }
    if (command->version) {
        g_string_append(text, "sim-run (Jacquard) " JACQUARD_VERSION "\n");
    } else if (command->markdown) {
        reference = scenario_reference();
        g_string_append(text, reference);
        g_free(reference);
    } else if (command->list_workloads) {
        report_workloads_print(text);
    } else if (command->list_presets) {
        report_presets_print(text);
    } else if (command->list_rules) {
        report_rules_print(text);
    } else {
        report_params_print(text);
    }
    return run_say(text, EXIT_HOLDS);
}

static int run_file(struct command *command)
{
    const struct scenario_options options = {command->overrides, command->override_count,
                                             .keep_sweep = true};
    char *error = NULL;
    struct scenario *scenario = scenario_load(command->file, &options, &error);
    int status;

    if (scenario == NULL)
        return run_refuse(error);
    if (scenario->sweep != NULL && (command->until_fail || command->minimize))
        status = run_refuse(
            g_strdup_printf("%s: sweep: not together with --%s; allowed: one combination, by --set",
                            command->file, command->minimize ? "minimize" : "until-fail"));
    else if (command->check)
        status = check_only(command, scenario);
    else if (command->minimize)
        status = minimize(command, scenario);
    else if (command->until_fail)
        status = run_until_fail(command, scenario);
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

    if (argc > 1 && strcmp(argv[1], "diff") == 0) {
        diff_run(argc, argv, &error);
        return run_refuse(error);
    }
    cluster_findings_register();
    if (argc > 1 && strcmp(argv[1], "campaign") == 0)
        return campaign_command(argc - 1, argv + 1, JACQUARD_VERSION);
    if (!command_parse(&command, argc, argv, &error))
        status = run_refuse(error);
    else if (command.help)
        status = run_say(g_string_new(command.help_text), EXIT_HOLDS);
    else if (command.version || command.schema || command.markdown || command.list_workloads ||
             command.list_presets || command.list_params || command.list_rules)
        status = list(&command);
    else if (command.live)
        status = run_live(&command);
    else if (command.file == NULL)
        status = run_refuse(g_strdup("sim-run: no scenario; see sim-run --help"));
    else
        status = run_file(&command);
    g_free(command.help_text);
    g_free(command.overrides);
    g_strfreev(command.set);
    g_free(command.seed);
    g_free(command.seeds);
    g_free(command.out);
    g_free(command.trace);
    g_free(command.report);
    g_free(command.pcap);
    g_free(command.socket);
    return status;
}
