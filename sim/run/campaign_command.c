/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "campaign_command.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "campaign/page.h"
#include "campaign/query.h"
#include "campaign_session.h"
#include "command.h"
#include "say.h"
#include "verdict/verdict.h"

/* ---- status, results, failures --------------------------------------------------------------- */

static int show_status(struct campaign_store *store, const struct campaign_options *options,
                       const char *file, const char *program)
{
    char *error = NULL;
    json_t *status = NULL;
    GString *text;

    if (options->page != NULL && !campaign_page_write(store, options->page, file, program, &error))
        return run_refuse(error);
    status = campaign_status_json(store, &error);
    if (status == NULL)
        return run_refuse(error);
    if (options->json)
        return run_say_json(status, EXIT_HOLDS);
    text = g_string_new(NULL);
    campaign_status_print(status, text);
    json_decref(status);
    return run_say(text, EXIT_HOLDS);
}

static int show_results(struct campaign_store *store, const struct campaign_options *options)
{
    char *error = NULL;
    bool ok = options->json ? campaign_results_json(store, stdout, &error)
                            : campaign_results_csv(store, stdout, &error);

    if (!ok)
        return run_refuse(error);
    if (ferror(stdout) || fflush(stdout) != 0) {
        fprintf(stderr, "sim-run: standard output: %s\n", g_strerror(errno));
        return EXIT_BROKEN;
    }
    return EXIT_HOLDS;
}

static int show_failures(struct campaign_store *store, const struct campaign_options *options,
                         const char *file)
{
    char *error = NULL;
    json_t *failures = campaign_failures_json(store, file, &error);
    GString *text;

    if (failures == NULL)
        return run_refuse(error);
    if (options->json)
        return run_say_json(failures, EXIT_HOLDS);
    text = g_string_new(NULL);
    campaign_failures_print(failures, text);
    json_decref(failures);
    return run_say(text, EXIT_HOLDS);
}

static int show(const struct campaign_options *options, const char *what, const char *file,
                const char *program)
{
    struct campaign_store store = {.lock = -1};
    char *error = NULL, *results = campaign_results_path(file, &error);
    int status;

    if (results == NULL)
        return run_refuse(error);
    campaign_session_collect(file, results, program);
    if (!campaign_store_open(&store, results, &error))
        status = run_refuse(error);
    else if (strcmp(what, "status") == 0)
        status = show_status(&store, options, file, program);
    else if (strcmp(what, "results") == 0)
        status = show_results(&store, options);
    else
        status = show_failures(&store, options, file);
    campaign_store_close(&store);
    g_free(results);
    return status;
}

/* ---- the command line ------------------------------------------------------------------------ */

static const char summary[] =
    "Runs the scenarios, seeds and settings of a campaign file and keeps the results in one SQLite "
    "file.\n"
    "A campaign that was interrupted or killed continues with the same command.\n\n"
    "  sim-run campaign FILE             run what has no result yet\n"
    "  sim-run campaign status FILE      progress and time left; --json, --report\n"
    "  sim-run campaign results FILE     all runs as a table (--csv, the default) or --json\n"
    "  sim-run campaign failures FILE    failed runs by cause, with commands to repeat them; "
    "--json";

static bool is_query(const char *word)
{
    return strcmp(word, "status") == 0 || strcmp(word, "results") == 0 ||
           strcmp(word, "failures") == 0;
}

static char *check_options(const struct campaign_options *options, const char *query)
{
    bool runs = options->restart || options->mix || options->check || options->slurm ||
                options->processes != 0 || options->task != NULL;

    if (query && runs)
        return g_strdup("sim-run campaign: status, results and failures only read; allowed: "
                        "--json, --csv, --report");
    if (options->page != NULL && ((query != NULL && strcmp(query, "status") != 0) ||
                                  options->check || options->no_wait || options->task != NULL))
        return g_strdup("--report: allowed: when a campaign runs, and with status");
    if (!query && (options->json || options->csv))
        return g_strdup("--json, --csv: allowed: with status, results or failures");
    if (options->json && options->csv)
        return g_strdup("--json: not together with --csv; allowed: one of them");
    if (options->restart && options->mix)
        return g_strdup("--restart: not together with --mix; allowed: one of them");
    if (!options->slurm && (options->partition != NULL || options->chunk != 0 ||
                            options->sbatch != NULL || options->no_wait))
        return g_strdup("--partition, --chunk, --sbatch, --no-wait: have no meaning without "
                        "--slurm");
    if (options->processes < 0 || options->processes > 256)
        return g_strdup("-j: allowed: 1 to 256 processes");
    if (options->chunk < 0)
        return g_strdup("--chunk: allowed: a number of runs from 1 on");
    return NULL;
}

static int dispatch(const struct campaign_options *options, int argc, char **argv,
                    const char *program)
{
    bool query = argc > 1 && is_query(argv[1]);
    char *problem = check_options(options, query ? argv[1] : NULL);

    if (problem != NULL)
        return run_refuse(problem);
    if (options->schema)
        return run_say_json(campaign_plan_schema(), EXIT_HOLDS);
    if (options->reference) {
        char *reference = campaign_plan_reference();
        GString *text = g_string_new(reference);

        g_free(reference);
        return run_say(text, EXIT_HOLDS);
    }
    if (argc != (query ? 3 : 2))
        return run_refuse(
            g_strdup("sim-run campaign: allowed: one campaign file; see sim-run campaign "
                     "--help"));
    return query ? show(options, argv[1], argv[2], program)
                 : campaign_session_run(options, argv[1], program);
}

static void free_options(struct campaign_options *options)
{
    g_free(options->page);
    g_free(options->partition);
    g_free(options->task);
    g_strfreev(options->sbatch);
}

int campaign_command(int argc, char **argv, const char *program_version)
{
    struct campaign_options options = {0};
    const GOptionEntry entries[] = {
        {"help", 'h', 0, G_OPTION_ARG_NONE, &options.help, "Print the options", NULL},
        {"jobs", 'j', 0, G_OPTION_ARG_INT, &options.processes,
         "Runs at a time (default: one per core; with --slurm: 1 in each task)", "N"},
        {"check", 0, 0, G_OPTION_ARG_NONE, &options.check, "Validate only", NULL},
        {"restart", 0, 0, G_OPTION_ARG_NONE, &options.restart,
         "Delete the results that exist and begin anew", NULL},
        {"mix", 0, 0, G_OPTION_ARG_NONE, &options.mix,
         "Continue results that another build of sim-run began", NULL},
        {"quiet", 0, 0, G_OPTION_ARG_NONE, &options.quiet, "Print problems only", NULL},
        {"slurm", 0, 0, G_OPTION_ARG_NONE, &options.slurm,
         "Run as job arrays of Slurm; the file's folder must be shared by the nodes", NULL},
        {"partition", 0, 0, G_OPTION_ARG_STRING, &options.partition, "With --slurm: the partition",
         "NAME"},
        {"chunk", 0, 0, G_OPTION_ARG_INT, &options.chunk,
         "With --slurm: runs of a task (default: as many as make 200 tasks)", "N"},
        {"sbatch", 0, 0, G_OPTION_ARG_STRING_ARRAY, &options.sbatch,
         "With --slurm: a further option of sbatch (repeatable)", "OPTION"},
        {"no-wait", 0, 0, G_OPTION_ARG_NONE, &options.no_wait,
         "With --slurm: submit only; status collects results", NULL},
        {"report", 0, 0, G_OPTION_ARG_FILENAME, &options.page,
         "Write a page that shows the results, for a browser", "FILE.html"},
        {"json", 0, 0, G_OPTION_ARG_NONE, &options.json, "Print JSON", NULL},
        {"csv", 0, 0, G_OPTION_ARG_NONE, &options.csv, "Print comma-separated values", NULL},
        {"schema", 0, 0, G_OPTION_ARG_NONE, &options.schema,
         "Print the JSON schema of campaign files", NULL},
        {"schema-markdown", 0, 0, G_OPTION_ARG_NONE, &options.reference,
         "Print the reference of campaign files", NULL},
        {"task", 0, G_OPTION_FLAG_HIDDEN, G_OPTION_ARG_FILENAME, &options.task,
         "In a job of Slurm: the file with the chunks", "FILE"},
        {"task-base", 0, G_OPTION_FLAG_HIDDEN, G_OPTION_ARG_INT, &options.task_base,
         "The chunk of the array's task 0", "N"},
        {NULL},
    };
    GOptionContext *context = g_option_context_new("[status|results|failures] FILE");
    GError *failure = NULL;
    char *value = command_check_flags(entries, argc, argv);
    char **words = command_split_words(entries, &argc, argv);
    int status;

    g_set_prgname("sim-run campaign");
    g_option_context_set_summary(context, summary);
    g_option_context_set_description(
        context, "Exit code: 0 all runs hold, 1 they do not, 2 bad input, 130 or 143 interrupted.\n"
                 "See sim-run-campaign(1) and docs/campaigns.md.\n");
    g_option_context_add_main_entries(context, entries, NULL);
    g_option_context_set_help_enabled(context, FALSE);
    if (value != NULL) {
        status =
            run_refuse(g_strdup_printf("sim-run campaign: %s; see sim-run campaign --help", value));
    } else if (!g_option_context_parse(context, &argc, &words, &failure)) {
        status = run_refuse(
            g_strdup_printf("sim-run campaign: %s; see sim-run campaign --help", failure->message));
        g_error_free(failure);
    } else if (options.help) {
        char *help = g_option_context_get_help(context, TRUE, NULL);
        GString *text = g_string_new(help);

        g_free(help);
        status = run_say(text, EXIT_HOLDS);
    } else {
        status = dispatch(&options, argc, words, program_version);
    }
    g_option_context_free(context);
    g_free(words);
    g_free(value);
    free_options(&options);
    return status;
}
