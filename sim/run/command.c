/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The command line of sim-run. */
#include "command.h"

#include <stdlib.h>
#include <string.h>
#include "campaign/campaign.h"
#include "scenario/value.h"

static bool parse_seed(const char *option, const char *text, uint64_t *seed, char **error)
{
    struct value value;
    char *what = NULL;

    if (scenario_value_parse(ARG_COUNT, text, "0", SEED_MAX_TEXT, NULL, &value, &what)) {
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
               command->last_seed - command->first_seed >= CAMPAIGN_RUNS_MAX)) {
        *error = g_strdup_printf(
            "--seeds: %s is not a range; allowed: A-B with A not above B, at most %u seeds",
            command->seeds, CAMPAIGN_RUNS_MAX);
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

    command->overrides = g_new0(struct override, given_sets + 2); /* --seed, --until-fail */
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

/* Refuses an option with an empty name, and two options that name the same file. */
static bool check_files(const struct command *command, char **error)
{
    const struct {
        const char *option, *path;
    } files[] = {{"--out", command->out},
                 {"--trace", command->trace},
                 {"--report", command->report},
                 {"--pcap", command->pcap},
                 {"--socket", command->socket}};
    size_t i, j;

    for (i = 0; i < G_N_ELEMENTS(files); i++) {
        if (files[i].path != NULL && files[i].path[0] == '\0') {
            *error = g_strdup_printf("%s: an empty name; allowed: a path", files[i].option);
            return false;
        }
        for (j = 0; j < i && files[i].path != NULL; j++)
            if (g_strcmp0(files[i].path, files[j].path) == 0) {
                *error = g_strdup_printf("%s: %s is also the file of %s; allowed: another name",
                                         files[i].option, files[i].path, files[j].option);
                return false;
            }
    }
    return true;
}

static bool check_combination(const struct command *command, char **error)
{
    if (command->seed != NULL && command->seeds != NULL)
        *error = g_strdup("--seeds: not together with --seed; allowed: one of them");
    else if (command->out != NULL && command->trace != NULL)
        *error = g_strdup("--trace: not together with --out, which writes trace.pftrace into its "
                          "folder; allowed: one of them");
    else if (command->force && command->out == NULL)
        *error = g_strdup("--force: has no meaning without --out");
    else if (!command->live && (command->socket != NULL || command->ready_fd >= 0))
        *error = g_strdup_printf("--%s: has no meaning without --live",
                                 command->socket != NULL ? "socket" : "ready-fd");
    else if (command->live && (command->seeds != NULL || command->out != NULL ||
                               command->trace != NULL || command->check || command->json))
        *error = g_strdup("--live: not together with --seeds, --out, --trace, --check, --json");
    else if ((command->until_fail || command->minimize) && (command->live || command->check))
        *error = g_strdup_printf("--%s: not together with --live or --check",
                                 command->until_fail ? "until-fail" : "minimize");
    else if (command->minimize &&
             (command->until_fail || command->seeds != NULL || command->trace != NULL))
        *error = g_strdup("--minimize: not together with --until-fail, --seeds, --trace; allowed: "
                          "one run, with --seed");
    else if (command->pcap != NULL && (command->live || command->check || command->seeds != NULL ||
                                       command->until_fail || command->minimize))
        *error = g_strdup("--pcap: not together with --live, --check, --seeds, --until-fail, "
                          "--minimize; allowed: one run");
    else if (command->report != NULL &&
             (command->live || command->check || command->seeds != NULL || command->minimize) &&
             !command->until_fail)
        *error = g_strdup("--report: not together with --live, --check, --seeds, --minimize; "
                          "allowed: one run, or --until-fail, which shows the seed that fails");
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

char *command_check_flags(const GOptionEntry *entries, int argc, char **argv)
{
    const GOptionEntry *entry;
    size_t length;
    int i;

    for (i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        length = strcspn(argv[i], "=");
        if (!g_str_has_prefix(argv[i], "--") || argv[i][length] == '\0')
            continue;
        for (entry = entries; entry->long_name != NULL; entry++)
            if (entry->arg == G_OPTION_ARG_NONE && strlen(entry->long_name) == length - 2 &&
                strncmp(entry->long_name, argv[i] + 2, length - 2) == 0)
                return g_strdup_printf("--%s takes no value", entry->long_name);
    }
    return NULL;
}

char **command_split_words(const GOptionEntry *entries, int *argc, char **argv)
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

bool command_parse(struct command *command, int argc, char **argv, char **error)
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
        {"list-rules", 0, 0, G_OPTION_ARG_NONE, &command->list_rules,
         "Print the rules whose violations a run reports as findings", NULL},
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
        {"until-fail", 0, 0, G_OPTION_ARG_NONE, &command->until_fail,
         "Run seeds, from the scenario's on or those of --seeds, until one fails; report that one",
         NULL},
        {"minimize", 0, 0, G_OPTION_ARG_NONE, &command->minimize,
         "Reduce a failing scenario: fewer faults, ranks and messages; writes NAME.minimal.yaml, "
         "into DIR with --out",
         NULL},
        {"jobs", 'j', 0, G_OPTION_ARG_INT, &command->parallel,
         "Runs at a time (default: one per core)", "N"},
        {"json", 0, 0, G_OPTION_ARG_NONE, &command->json,
         "Print the result as JSON and nothing else", NULL},
        {"out", 0, 0, G_OPTION_ARG_FILENAME, &command->out,
         "Write metrics, ledger, trace and scenario into DIR", "DIR"},
        {"force", 0, 0, G_OPTION_ARG_NONE, &command->force,
         "Let --out write into a folder that holds files", NULL},
        {"trace", 0, 0, G_OPTION_ARG_FILENAME, &command->trace, "Write a Perfetto trace", "FILE"},
        {"report", 0, 0, G_OPTION_ARG_FILENAME, &command->report,
         "Write a page that shows the run, for a browser", "FILE.html"},
        {"pcap", 0, 0, G_OPTION_ARG_FILENAME, &command->pcap,
         "Write what LNet sends over TCP, as pcapng", "FILE"},
        {"schema", 0, 0, G_OPTION_ARG_NONE, &command->schema,
         "Print the JSON schema of scenario files", NULL},
        {"schema-markdown", 0, 0, G_OPTION_ARG_NONE, &command->markdown,
         "Print the scenario reference", NULL},
        {"no-color", 0, 0, G_OPTION_ARG_NONE, &command->no_color, "No colours", NULL},
        {"quiet", 0, 0, G_OPTION_ARG_NONE, &command->quiet, "Print problems only", NULL},
        {NULL},
    };
    GOptionContext *context = g_option_context_new("SCENARIO.yaml");
    char *value = command_check_flags(entries, argc, argv);
    char **words = command_split_words(entries, &argc, argv);
    GError *failure = NULL;

    g_option_context_set_summary(
        context, "Runs a scenario on a simulated fabric: virtual time, faults, a verdict.");
    g_option_context_set_description(context,
                                     "Exit code: 0 expectations and ledger hold, 1 they "
                                     "do not, 2 bad input, 3 deadlock or a limit.\n"
                                     "sim-run diff A.pftrace B.pftrace prints the first "
                                     "difference of two traces.\n"
                                     "sim-run campaign FILE runs many scenarios, seeds and "
                                     "settings; see its --help.\n"
                                     "See sim-run(1) and docs/scenario-reference.md.\n");
    g_option_context_add_main_entries(context, entries, NULL);
    g_option_context_set_help_enabled(
        context, FALSE); /* GOption would print the help itself and not report a failed write */
    if (value != NULL) {
        *error = g_strdup_printf("sim-run: %s; see sim-run --help", value);
    } else if (!g_option_context_parse(context, &argc, &words, &failure)) {
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
    g_free(value);
    return *error == NULL && check_files(command, error) && check_combination(command, error) &&
           parse_overrides(command, error) &&
           (command->seeds == NULL || parse_seeds(command, error));
}
