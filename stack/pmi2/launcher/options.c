/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#define _GNU_SOURCE /* getopt_long_only */
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hosts.h"
#include "options_table.h"

#define RANKS_MAX 1000000

/* ---- errors ---------------------------------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static gboolean bad(GError **error, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    if (error != NULL && *error == NULL)
        *error = g_error_new_valist(G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, format, arguments);
    va_end(arguments);
    return FALSE;
}

static enum pmrun_options_result refused(GError **error, const char *text)
{
    bad(error, "%s", text);
    return PMRUN_OPTIONS_BAD;
}

/* ---- values ---------------------------------------------------------------------------------- */

static gboolean count_of(const char *name, const char *text, uint32_t maximum, uint32_t *value,
                         GError **error)
{
    guint64 number = 0;

    if (!g_ascii_string_to_unsigned(text, 10, 1, maximum, &number, NULL))
        return bad(error, "-%s %s: a number from 1 to %u is needed", name, text, maximum);
    *value = (uint32_t)number;
    return TRUE;
}

static gboolean universe_of(const char *text, int64_t *value, GError **error)
{
    uint32_t count = 0;

    if (g_ascii_strcasecmp(text, "infinite") == 0)
        *value = PMRUN_UNIVERSE_INFINITE;
    else if (g_ascii_strcasecmp(text, "system") == 0)
        *value = PMRUN_UNIVERSE_SYSTEM;
    else if (count_of("usize", text, G_MAXINT32, &count, NULL))
        *value = count;
    else
        return bad(error, "-usize %s: SYSTEM, INFINITE or a number from 1 is needed", text);
    return TRUE;
}

static gboolean timeout_of(const char *name, const char *text, double *value, GError **error)
{
    char *end;
    double seconds = g_ascii_strtod(text, &end);

    if (end == text || *end != '\0' || !(seconds > 0 && seconds < 1e9))
        return bad(error, "%s %s: seconds above 0 are needed", name, text);
    *value = seconds;
    return TRUE;
}

static gboolean stdin_of(const char *text, uint32_t *value, GError **error)
{
    guint64 number;

    if (g_ascii_strcasecmp(text, "none") == 0)
        *value = UINT32_MAX;
    else if (g_ascii_string_to_unsigned(text, 10, 0, RANKS_MAX - 1, &number, NULL))
        *value = (uint32_t)number;
    else
        return bad(error, "-stdin %s: a rank or none is needed", text);
    return TRUE;
}

static gboolean word_of(const char *name, const char *text, const char *const *words, int *value,
                        GError **error)
{
    char *all;

    for (*value = 0; words[*value] != NULL; ++*value)
        if (g_ascii_strcasecmp(words[*value], text) == 0)
            return TRUE;
    all = g_strjoinv(", ", (char **)words);
    bad(error, "-%s %s: one of %s is needed", name, text, all);
    g_free(all);
    return FALSE;
}

static void replace(char **where, const char *text)
{
    g_free(*where);
    *where = g_strdup(text);
}

static void inherit(struct pmrun_environment_rules *rules, enum pmrun_inherit what,
                    const char *names)
{
    rules->inherit = what;
    g_strfreev(rules->list);
    rules->list = names != NULL ? g_strsplit(names, ",", -1) : NULL;
}

/* ---- one option ------------------------------------------------------------------------------ */

/* A variable: `NAME VALUE` in two words, or `NAME=VALUE` in one. */
static gboolean variable(struct pmrun_environment_rules *rules, const char *text, int argc,
                         char **argv, GError **error)
{
    const char *equal = strchr(text, '=');
    char *name = equal != NULL ? g_strndup(text, (gsize)(equal - text)) : g_strdup(text);
    gboolean good = *name != '\0' && (equal != NULL || optind < argc);

    if (good)
        pmrun_environment_rules_set(rules, name, equal != NULL ? equal + 1 : argv[optind++]);
    else
        bad(error, "-env %s: a name and a value are needed", text);
    g_free(name);
    return good;
}

/* The value of --fabric may be missing: what follows is one if it looks so. */
static gboolean is_scenario(const char *word)
{
    return word[0] != '-' && (g_str_has_suffix(word, ".yaml") || g_str_has_suffix(word, ".yml"));
}

static gboolean config_file(struct pmrun_options *options, const char *path, GError **error);

static gboolean apply(struct pmrun_options *options, struct pmrun_executable *own,
                      const struct pmrun_option *entry, const char *text, int argc, char **argv,
                      GError **error)
{
    static const char *const rules[] = {"max", "or", "shell", NULL}, *const auths[] = {
                                                                         "user", "challenge",
                                                                         "draft", NULL};
    int which;

    switch (entry->option) {
    case OPT_N:
        return count_of(entry->name, text, RANKS_MAX, &own->processes, error);
    case OPT_HOSTS:
        replace(&options->hosts, text);
        return TRUE;
    case OPT_HOSTFILE:
        replace(&options->hostfile, text);
        return TRUE;
    case OPT_PPN:
        return count_of(entry->name, text, RANKS_MAX, &options->per_node, error);
    case OPT_FABRIC:
        options->fabric = TRUE;
        if (text == NULL && optind < argc && is_scenario(argv[optind]))
            text = argv[optind++];
        if (text != NULL)
            replace(&options->scenario, text);
        return TRUE;
    case OPT_FABRIC_REPORT:
        replace(&options->fabric_report, text);
        return TRUE;
    case OPT_LAUNCHER:
        replace(&options->launcher, text);
        return TRUE;
    case OPT_LAUNCHER_EXEC:
        replace(&options->launcher_exec, text);
        return TRUE;
    case OPT_IFACE:
        replace(&options->iface, text);
        return TRUE;
    case OPT_LOCALHOST:
        replace(&options->localhost, text);
        return TRUE;
    case OPT_ENV:
        return variable(&own->environment, text, argc, argv, error);
    case OPT_ENVLIST:
        inherit(&own->environment, PMRUN_INHERIT_LIST, text);
        return TRUE;
    case OPT_ENVNONE:
        inherit(&own->environment, PMRUN_INHERIT_NONE, NULL);
        return TRUE;
    case OPT_ENVALL:
        inherit(&own->environment, PMRUN_INHERIT_ALL, NULL);
        return TRUE;
    case OPT_GENV:
        return variable(&options->environment, text, argc, argv, error);
    case OPT_GENVLIST:
        inherit(&options->environment, PMRUN_INHERIT_LIST, text);
        return TRUE;
    case OPT_GENVNONE:
        inherit(&options->environment, PMRUN_INHERIT_NONE, NULL);
        return TRUE;
    case OPT_GENVALL:
        inherit(&options->environment, PMRUN_INHERIT_ALL, NULL);
        return TRUE;
    case OPT_WDIR:
        replace(&own->wdir, text);
        return TRUE;
    case OPT_PATH:
        replace(&own->path, text);
        return TRUE;
    case OPT_LABEL:
        replace(&options->prefix_pattern, "[%r] ");
        return TRUE;
    case OPT_PATTERN:
        replace(&options->prefix_pattern, text);
        return TRUE;
    case OPT_OUTFILE:
        replace(&options->outfile_pattern, text);
        return TRUE;
    case OPT_ERRFILE:
        replace(&options->errfile_pattern, text);
        return TRUE;
    case OPT_BIND_TO:
        replace(&options->bind_to, text);
        return TRUE;
    case OPT_MAP_BY:
        replace(&options->map_by, text);
        return TRUE;
    case OPT_MEMBIND:
        replace(&options->membind, text);
        return TRUE;
    case OPT_USIZE:
        return universe_of(text, &options->universe, error);
    case OPT_STDIN:
        return stdin_of(text, &options->stdin_rank, error);
    case OPT_TIMEOUT:
        return timeout_of("-timeout", text, &options->timeout, error);
    case OPT_EXIT_CODE:
        if (!word_of(entry->name, text, rules, &which, error))
            return FALSE;
        options->exit_rule = (enum pmrun_exit_rule)which;
        return TRUE;
    case OPT_EXITCODES:
        options->print_exitcodes = TRUE;
        return TRUE;
    case OPT_KEEP:
        options->keep_survivors = TRUE;
        return TRUE;
    case OPT_CLEANUP:
        options->keep_survivors = FALSE;
        return TRUE;
    case OPT_PORT:
        options->tcp_port = TRUE;
        return TRUE;
    case OPT_AUTH:
        if (!word_of(entry->name, text, auths, &which, error))
            return FALSE;
        options->auth = (enum pmrun_auth)which;
        return TRUE;
    case OPT_NAMESERVER:
        replace(&options->name_server, text);
        return TRUE;
    case OPT_OMPI:
        options->open_mpi = TRUE;
        return TRUE;
    case OPT_FANOUT:
        return count_of(entry->name, text, 4096, &options->fanout, error);
    case OPT_SPAWNED:
        return count_of(entry->name, text, RANKS_MAX, &options->max_spawned, error);
    case OPT_CONFIGFILE:
        return config_file(options, text, error);
    case OPT_VERBOSE:
        options->verbose = TRUE;
        return TRUE;
    case OPT_HELP:
    case OPT_VERSION:
    case OPT_LIST_OPTIONS:
        break; /* by pmrun_options_parse */
    }
    return TRUE;
}

/* ---- the command line ------------------------------------------------------------------------ */

void pmrun_executable_free(gpointer data)
{
    struct pmrun_executable *executable = data;

    g_strfreev(executable->argv);
    g_free(executable->wdir);
    g_free(executable->path);
    g_free(executable->hosts);
    pmrun_environment_rules_clear(&executable->environment);
    g_free(executable);
}

void pmrun_options_clear(struct pmrun_options *options)
{
    if (options->executables != NULL)
        g_ptr_array_unref(options->executables);
    pmrun_environment_rules_clear(&options->environment);
    g_free(options->hosts);
    g_free(options->hostfile);
    g_free(options->scenario);
    g_free(options->fabric_report);
    g_free(options->launcher);
    g_free(options->launcher_exec);
    g_free(options->iface);
    g_free(options->localhost);
    g_free(options->name_server);
    g_free(options->prefix_pattern);
    g_free(options->outfile_pattern);
    g_free(options->errfile_pattern);
    g_free(options->bind_to);
    g_free(options->map_by);
    g_free(options->membind);
    memset(options, 0, sizeof(*options));
}

static char *lower_name(const char *word)
{
    size_t name = strcspn(word, "=");
    char *lower = g_ascii_strdown(word, (gssize)name);
    char *all = g_strconcat(lower, word + name, NULL);

    g_free(lower);
    return all;
}

/* How many words after this one are its values; `next` may be one. */
static int values_of(const char *word, const char *next)
{
    size_t e;

    word += word[1] == '-' ? 2 : 1;
    for (e = 0; e < pmrun_option_count; e++)
        if (strcmp(pmrun_option_table[e].name, word) == 0)
            return pmrun_option_table[e].option == OPT_FABRIC ? next != NULL && is_scenario(next)
                   : pmrun_option_table[e].argument == NULL   ? 0
                   : pmrun_option_table[e].option == OPT_ENV ||
                           pmrun_option_table[e].option == OPT_GENV
                       ? 2
                       : 1;
    return 0;
}

/* The words with names of options in lower case, as getopt compares them, behind a name of ours. */
static char **options_in_lower_case(int argc, char **argv)
{
    char **words = g_new0(char *, (gsize)argc + 2);
    int i, values = 0;
    gboolean options = TRUE;

    words[0] = g_strdup("pmrun");
    for (i = 0; i < argc; i++) {
        if (values > 0) {
            values--;
        } else if (options && argv[i][0] == '-' && strcmp(argv[i], "--") != 0) {
            words[i + 1] = lower_name(argv[i]);
            values = values_of(words[i + 1], i + 1 < argc ? argv[i + 1] : NULL);
            continue;
        } else {
            options = FALSE;
        }
        words[i + 1] = g_strdup(argv[i]);
    }
    return words;
}

/* One executable with its options: words [0, argc) of argv. */
static enum pmrun_options_result segment(struct pmrun_options *options, int argc, char **argv,
                                         GError **error)
{
    struct option table[PMRUN_OPTIONS_MAX + 1] = {{NULL}};
    struct pmrun_executable *own = g_new0(struct pmrun_executable, 1);
    char **words = options_in_lower_case(argc, argv);
    enum pmrun_options_result result = PMRUN_OPTIONS_BAD;
    int found, at = -1;
    size_t e;

    for (e = 0; e < pmrun_option_count; e++)
        table[e] = (struct option){pmrun_option_table[e].name,
                                   pmrun_option_table[e].option == OPT_FABRIC ? optional_argument
                                   : pmrun_option_table[e].argument != NULL   ? required_argument
                                                                              : no_argument,
                                   NULL, (int)pmrun_option_table[e].option};
    optind = 0; /* begin anew */
    while ((found = getopt_long_only(argc + 1, words, "+:", table, &at)) != -1) {
        if (found == ':' || found == '?' || at < 0) {
            bad(error,
                found == ':' ? "%s needs a value; see pmrun -help"
                             : "%s is not an option of pmrun; see pmrun -help",
                words[optind - 1]);
            goto out;
        }
        if (found == OPT_HELP || found == OPT_LIST_OPTIONS || found == OPT_VERSION) {
            if (found == OPT_HELP)
                pmrun_options_help();
            else if (found == OPT_VERSION)
                puts("pmrun (Jacquard) " JACQUARD_VERSION);
            else
                pmrun_options_list();
            result =
                fflush(stdout) == 0 && !ferror(stdout) ? PMRUN_OPTIONS_DONE : PMRUN_OPTIONS_BAD;
            if (result == PMRUN_OPTIONS_BAD)
                bad(error, "standard output: %s", g_strerror(errno));
            goto out;
        }
        if (!apply(options, own, &pmrun_option_table[at], optarg, argc + 1, words, error))
            goto out;
        at = -1;
    }
    if (optind <= argc) { /* arguments of the program as they were written */
        own->argv = g_strdupv(argv + optind - 1);
        g_ptr_array_add(options->executables, own);
        own = NULL;
    } else if (own->processes != 0 || options->executables->len == 0) {
        bad(error, "no program to run; usage: pmrun -n 4 PROGRAM, more by pmrun -help");
        goto out;
    }
    result = PMRUN_OPTIONS_RUN;
out:
    g_strfreev(words);
    if (own != NULL)
        pmrun_executable_free(own);
    return result;
}

/* Segments between words that are `:`. argv is changed (and restored). */
static enum pmrun_options_result segments(struct pmrun_options *options, int argc, char **argv,
                                          GError **error)
{
    enum pmrun_options_result result = PMRUN_OPTIONS_RUN;
    int begin = 0, end;

    while (begin < argc && result == PMRUN_OPTIONS_RUN) {
        char *colon;

        for (end = begin; end < argc && strcmp(argv[end], ":") != 0; end++)
            continue;
        colon = argv[end];
        argv[end] = NULL;
        if (end == begin)
            result = refused(error, "no program before or after a \":\"");
        else
            result = segment(options, end - begin, argv + begin, error);
        argv[end] = colon;
        begin = end + 1;
    }
    if (result == PMRUN_OPTIONS_RUN && begin == argc && begin > 0 &&
        strcmp(argv[argc - 1], ":") == 0)
        result = refused(error, "no program after the last \":\"");
    return result;
}

static gboolean config_file(struct pmrun_options *options, const char *path, GError **error)
{
    static unsigned depth;
    char *text, **lines;
    gboolean good = TRUE;
    guint i;

    if (depth > 0)
        return bad(error, "%s: a configuration file cannot name another one", path);
    if (!pmrun_hosts_read_text(path, &text, error))
        return FALSE;
    depth++;
    lines = g_strsplit(text, "\n", -1);
    g_free(text);
    for (i = 0; good && lines[i] != NULL; i++) {
        char **argv = NULL, *line = g_strstrip(lines[i]);
        int argc, saved = optind;

        if (*line == '\0' || *line == '#')
            continue;
        good = g_shell_parse_argv(line, &argc, &argv, error) &&
               segments(options, argc, argv, error) == PMRUN_OPTIONS_RUN;
        optind = saved;
        g_strfreev(argv);
        if (!good)
            g_prefix_error(error, "%s:%u: ", path, i + 1);
    }
    g_strfreev(lines);
    depth--;
    return good;
}

enum pmrun_options_result pmrun_options_parse(int argc, char **argv, struct pmrun_options *options,
                                              GError **error)
{
    const char *seconds = g_getenv("MPIEXEC_TIMEOUT");
    enum pmrun_options_result result;

    *options = (struct pmrun_options){
        .executables = g_ptr_array_new_with_free_func(pmrun_executable_free),
        .universe = PMRUN_UNIVERSE_SLOTS,
        .fanout = 16,
        .max_spawned = 1024,
    };
    result = seconds != NULL && *seconds != '\0' &&
                     !timeout_of("MPIEXEC_TIMEOUT", seconds, &options->timeout, error)
                 ? PMRUN_OPTIONS_BAD
                 : segments(options, argc - 1, argv + 1, error);
    if (result == PMRUN_OPTIONS_RUN && options->executables->len == 0) {
        bad(error, "no program to run; usage: pmrun -n 4 PROGRAM, more by pmrun -help");
        result = PMRUN_OPTIONS_BAD;
    }
    if (result != PMRUN_OPTIONS_RUN)
        pmrun_options_clear(options);
    return result;
}
