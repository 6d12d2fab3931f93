/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* jacquard lst: reads commands of the console, or is a test node. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <glib.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <lnet/live.h>
#include "tool.h"

#define PARAMETERS_MAX 64
#define KEEPALIVE_S 8 /* between requests to the nodes of a session */

static const char usage[] =
    "usage: jacquard lst [OPTIONS] [FILE]   the console: reads commands from FILE or standard "
    "input\n"
    "       jacquard lst serve [OPTIONS]    a test node; ends on SIGINT or SIGTERM\n"
    "\n"
    "  --networks TEXT      networks, as the parameter of the module: tcp(127.0.0.9)\n"
    "  --set NAME=VALUE     a parameter of the modules lnet and ksocklnd; may be repeated\n"
    "  --pcap FILE          write what is sent and received as pcapng\n"
    "  --help, --version\n"
    "\n"
    "Commands: new_session end_session show_session ping add_group del_group update_group "
    "list_group\n"
    "add_batch list_batch add_test run stop query stat show_error sleep exit. The first one that\n"
    "fails ends a FILE. Each command without its arguments prints how it is used.\n";

struct options {
    struct lnet_live_parameter parameter[PARAMETERS_MAX];
    uint32_t parameters;
    const char *pcap;
};

static int refuse(const char *what, const char *why)
{
    fprintf(stderr, "jacquard: %s: %s\n", what, why);
    return 2;
}

int lst_tool_refuse(const char *what, const char *why)
{
    fflush(stdout);
    fprintf(stderr, "lst: %s: %s\n", what, why);
    return 1;
}

int lst_tool_check(const char *what, int rc)
{
    return rc >= 0 ? 0 : lst_tool_refuse(what, strerror(-rc));
}

/* ---- options --------------------------------------------------------------------------------- */

static int add(struct options *options, const char *name, const char *value)
{
    if (options->parameters == PARAMETERS_MAX)
        return refuse(name, "too many parameters");
    options->parameter[options->parameters++] = (struct lnet_live_parameter){name, value};
    return 0;
}

static int add_pair(struct options *options, char *text)
{
    char *equals = strchr(text, '=');

    if (equals == NULL || equals == text)
        return refuse(text, "NAME=VALUE is needed");
    *equals = '\0';
    return add(options, text, equals + 1);
}

/* -1: go on; else the exit code. */
static int parse(struct options *options, int argc, char **argv)
{
    static const struct option known[] = {
        {"networks", required_argument, NULL, 'n'}, {"set", required_argument, NULL, 's'},
        {"pcap", required_argument, NULL, 'p'},     {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, 'v'},        {NULL, 0, NULL, 0}};
    int option, code = 0;

    opterr = 0;
    while (code == 0 && (option = getopt_long(argc, argv, "", known, NULL)) != -1) {
        switch (option) {
        case 'n':
            code = add(options, "networks", optarg);
            break;
        case 's':
            code = add_pair(options, optarg);
            break;
        case 'p':
            options->pcap = optarg;
            break;
        case 'h':
            fputs(usage, stdout);
            return 0;
        case 'v':
            puts("jacquard " JACQUARD_VERSION ", LNet " LNET_VERSION);
            return 0;
        default:
            return refuse(argv[optind - 1],
                          "unknown or incomplete option; see jacquard lst --help");
        }
    }
    return code == 0 ? -1 : code;
}

const char *lst_tool_option(char **words, int count, int *at, const char *name)
{
    size_t length = strlen(name);
    const char *value;

    if (strncmp(words[*at], name, length) != 0)
        return NULL;
    if (words[*at][length] == '=')
        return words[(*at)++] + length + 1;
    if (words[*at][length] != '\0' || *at + 1 >= count)
        return NULL;
    value = words[*at + 1];
    *at += 2;
    return value;
}

bool lst_tool_flag(char **words, int count, int *at, const char *name)
{
    if (*at >= count || strcmp(words[*at], name) != 0)
        return false;
    ++*at;
    return true;
}

bool lst_tool_number(const char *what, const char *text, long minimum, long maximum, long *value)
{
    char *end;

    errno = 0;
    *value = strtol(text, &end, 10);
    if (end != text && *end == '\0' && errno == 0 && *value >= minimum && *value <= maximum)
        return true;
    lst_tool_refuse(what, "the number is not one that is possible");
    return false;
}

/* ---- the node -------------------------------------------------------------------------------- */

static struct lst_node *start(const struct options *options, int *code)
{
    struct lst_parameters parameters;
    struct lst_node *node = NULL;
    char *error = NULL;
    int rc;
    bool ok = lnet_live_start(options->parameter, options->parameters, &error);

    if (ok && options->pcap != NULL)
        ok = lnet_live_capture(options->pcap, &error);
    if (ok) {
        lst_parameters_default(&parameters);
        node = lst_node_start(&parameters, &rc);
        if (node != NULL)
            return node;
        *code = refuse("LNet does not start", strerror(-rc));
    } else {
        *code = refuse("lnet", error);
        free(error);
    }
    lnet_live_stop();
    return NULL;
}

static int stop(struct lst_node *node, int code)
{
    char *error = NULL;
    bool ok;

    if (lst_node_stop(node) != 0 && code == 0)
        code = refuse("LNet", "events were left behind");
    ok = lnet_live_capture_end(&error);
    lnet_live_stop();
    if (ok)
        return code;
    refuse("--pcap", error);
    free(error);
    return 2;
}

static int serve(const struct options *options)
{
    struct lnet_process_id id;
    struct lst_node *node;
    unsigned index;
    sigset_t ends;
    int code, signal;

    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    sigprocmask(SIG_BLOCK, &ends, NULL);
    node = start(options, &code);
    if (node == NULL)
        return code;
    for (index = 0; LNetGetId(index, &id) == 0; index++)
        printf("%s\n", libcfs_id2str(id));
    puts("ready");
    fflush(stdout);
    sigwait(&ends, &signal);
    return stop(node, 0);
}

/* ---- the console ----------------------------------------------------------------------------- */

static double now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Asks the nodes of all groups, so that they know that the console is there. */
static void keep_alive(struct lst_tool *tool)
{
    struct lst_tool_ids ids = {.count = 0};
    struct lst_presence *presence;
    uint32_t i;

    if (tool->console == NULL)
        return;
    for (i = 0; lst_group_name(tool->console, i) != NULL; i++)
        lst_tool_ids_group(tool, &ids, lst_group_name(tool->console, i), LST_ACTIVE);
    presence = calloc(ids.count + 1, sizeof(*presence));
    if (presence != NULL)
        lst_ping(tool->console, ids.id, ids.count, presence);
    free(presence);
    free(ids.id);
}

void lst_tool_sleep(struct lst_tool *tool, double seconds)
{
    double end = now_s() + seconds, left, now, alive = now_s() + KEEPALIVE_S;

    while ((left = end - (now = now_s())) > 0) {
        double span = left < alive - now ? left : alive - now;
        struct timespec pause = {(time_t)span, (long)((span - (double)(time_t)span) * 1e9)};

        if (span > 0)
            nanosleep(&pause, NULL);
        if (now_s() >= alive) {
            keep_alive(tool);
            alive = now_s() + KEEPALIVE_S;
        }
    }
}

static int tool_sleep(struct lst_tool *tool, char **words, int count)
{
    char *end;
    double seconds = count == 2 ? strtod(words[1], &end) : -1;

    if (count != 2 || end == words[1] || *end != '\0' || !(seconds >= 0 && seconds <= 86400))
        return lst_tool_refuse("sleep", "usage: sleep SECONDS");
    lst_tool_sleep(tool, seconds);
    return 0;
}

static int tool_exit(struct lst_tool *tool, char **words, int count)
{
    (void)words;
    (void)count;
    tool->over = true;
    return 0;
}

static const struct {
    const char *name;
    int (*run)(struct lst_tool *tool, char **words, int count);
    bool session; /* needs one */
} commands[] = {
    {"new_session", lst_tool_new_session, false},
    {"end_session", lst_tool_end_session, true},
    {"show_session", lst_tool_show_session, true},
    {"ping", lst_tool_ping, true},
    {"add_group", lst_tool_add_group, true},
    {"del_group", lst_tool_del_group, true},
    {"update_group", lst_tool_update_group, true},
    {"list_group", lst_tool_list_group, true},
    {"add_batch", lst_tool_add_batch, true},
    {"list_batch", lst_tool_list_batch, true},
    {"add_test", lst_tool_add_test, true},
    {"run", lst_tool_run, true},
    {"stop", lst_tool_stop, true},
    {"query", lst_tool_query, true},
    {"stat", lst_tool_stat, true},
    {"show_error", lst_tool_show_error, true},
    {"sleep", tool_sleep, false},
    {"exit", tool_exit, false},
    {"quit", tool_exit, false},
};

static int execute(struct lst_tool *tool, const char *line)
{
    g_auto(GStrv) words = NULL;
    GError *error = NULL;
    char **copy;
    int count, code = 0;
    size_t i;

    if (!g_shell_parse_argv(line, &count, &words, &error)) {
        if (!g_error_matches(error, G_SHELL_ERROR, G_SHELL_ERROR_EMPTY_STRING))
            code = lst_tool_refuse(line, "a quote is not closed");
        g_error_free(error);
        return code;
    }
    /* Commands move the words; this array stays as it is. */
    copy = g_memdup2(words, sizeof(*words) * (size_t)(count + 1));
    for (i = 0; i < G_N_ELEMENTS(commands); i++)
        if (strcmp(words[0], commands[i].name) == 0)
            break;
    if (i == G_N_ELEMENTS(commands))
        code = lst_tool_refuse(words[0], "there is no such command; see jacquard lst --help");
    else if (commands[i].session && tool->console == NULL)
        code = lst_tool_refuse(words[0], "there is no session; new_session makes one");
    else
        code = commands[i].run(tool, copy, count);
    g_free(copy);
    fflush(stdout);
    return code;
}

/* The next line, without its end. NULL: no more. The session is kept alive while it waits, and
 * ends after its time-out. */
static char *read_line(struct lst_tool *tool, int file, GString *read_ahead)
{
    double began = now_s();

    for (;;) {
        char *end = strchr(read_ahead->str, '\n'), part[4096];
        struct pollfd wait = {.fd = file, .events = POLLIN};
        ssize_t got;

        if (end != NULL) {
            char *line = g_strndup(read_ahead->str, (size_t)(end - read_ahead->str));

            g_string_erase(read_ahead, 0, end - read_ahead->str + 1);
            return line;
        }
        if (poll(&wait, 1, KEEPALIVE_S * 1000) == 0) {
            keep_alive(tool);
            if (tool->console != NULL && now_s() - began > tool->timeout_s) {
                lst_tool_refuse(tool->session, "no command came, so the session is ended");
                lst_session_end(tool->console);
                tool->console = NULL;
            }
            continue;
        }
        got = read(file, part, sizeof(part));
        if (got > 0) {
            g_string_append_len(read_ahead, part, got);
        } else if (got == 0 || errno != EINTR) {
            char *line = read_ahead->len > 0 ? g_strdup(read_ahead->str) : NULL;

            g_string_truncate(read_ahead, 0);
            return line;
        }
    }
}

static int console(const struct options *options, const char *path)
{
    int file = path != NULL ? open(path, O_RDONLY | O_CLOEXEC) : STDIN_FILENO, code = 0, rc;
    bool interactive = path == NULL && isatty(STDIN_FILENO);
    struct lst_tool tool = {.node = NULL};
    GString *read_ahead;
    char *line;

    if (file < 0)
        return refuse(path, strerror(errno));
    tool.node = start(options, &code);
    if (tool.node == NULL)
        return code;
    read_ahead = g_string_new("");
    while (!tool.over && (code == 0 || interactive)) {
        if (interactive) {
            fputs("lst > ", stdout);
            fflush(stdout);
        }
        line = read_line(&tool, file, read_ahead);
        if (line == NULL)
            break;
        code = execute(&tool, line);
        g_free(line);
    }
    g_string_free(read_ahead, TRUE);
    if (path != NULL)
        close(file);
    if (tool.console != NULL) {
        rc = lst_tool_check(tool.session, lst_session_end(tool.console));
        code = code == 0 ? rc : code;
    }
    return stop(tool.node, interactive ? 0 : code);
}

int main(int argc, char **argv)
{
    struct options options = {.parameters = 0};
    int code;

    /* Behind `jacquard`, the first word is the name of this command. */
    if (argc > 1 && strcmp(argv[1], "lst") == 0) {
        argc--;
        argv++;
    }
    code = parse(&options, argc, argv);
    if (code >= 0)
        return code;
    if (argc - optind > 1)
        return refuse(argv[optind + 1], "one file with commands is possible");
    if (optind < argc && strcmp(argv[optind], "serve") == 0)
        return serve(&options);
    return console(&options, optind < argc ? argv[optind] : NULL);
}
