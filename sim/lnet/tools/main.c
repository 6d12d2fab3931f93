/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The program behind `jacquard lnetd` and `jacquard lnet`, see docs/lnet.md. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lnet/api.h"
#include "tools.h"

static const char usage[] =
    "usage: jacquard lnetd [OPTIONS] CONFIG.yaml\n"
    "       jacquard lnet ping [OPTIONS] NID...\n"
    "       jacquard lnetctl [--socket PATH] WORDS...\n"
    "\n"
    "lnetd is an LNet node, or a router, with the configuration of a file as `lnetctl export` "
    "writes\n"
    "it. It ends on SIGINT or SIGTERM. lnet ping is a node for a moment, and asks others for "
    "their\n"
    "network interfaces. lnetctl asks a running lnetd (or a program that called "
    "lnet_live_control):\n"
    "net show, peer show, route show, routing show, stats show, global show, with -v or -v 2, "
    "export,\n"
    "ping NID.\n"
    "\n"
    "  --networks TEXT      networks, as the parameter of the module: tcp(127.0.0.9)\n"
    "  --set NAME=VALUE     a parameter of the modules lnet and ksocklnd; may be repeated\n"
    "  --pcap FILE          write what is sent and received as pcapng\n"
    "  --control PATH       lnetd: the Unix socket for lnetctl\n"
    "  --m0 PATH            lnetd: the Unix socket for processes of m0_net\n"
    "  --m0-bounds LIST     lnetd: domains=64,machines=N,buffers=N,slots=N,pages=N: of all "
    "processes, of a\n"
    "                       domain, event slots of a machine, pinned pages of a domain\n"
    "  --socket PATH        lnetctl: that socket; without it, $JACQUARD_LNETCTL has it\n"
    "  --timeout S          ping: seconds to wait for each answer (5)\n"
    "  --count N            ping: how often to ask (1)\n"
    "  --help, --version\n";

int lnet_tool_refuse(const char *what, const char *why)
{
    fprintf(stderr, "jacquard: %s: %s\n", what, why);
    return 2;
}

static int add(struct lnet_tool_options *options, const char *name, const char *value)
{
    if (options->parameters == LNET_TOOL_PARAMETERS_MAX)
        return lnet_tool_refuse(name, "too many parameters");
    options->parameter[options->parameters++] = (struct lnet_live_parameter){name, value};
    return 0;
}

static int add_pair(struct lnet_tool_options *options, char *text)
{
    char *equals = strchr(text, '=');

    if (equals == NULL || equals == text)
        return lnet_tool_refuse(text, "NAME=VALUE is needed");
    *equals = '\0';
    return add(options, text, equals + 1);
}

static int read_number(const char *option, const char *text, double minimum, double maximum,
                       double *value)
{
    char *end;

    *value = strtod(text, &end);
    if (end == text || *end != '\0' || !(*value >= minimum && *value <= maximum))
        return lnet_tool_refuse(option, "the number is not one that is possible");
    return 0;
}

/* "domains=64,machines=8" */
static int read_bounds(struct m0_daemon_options *bounds, char *text)
{
    static const char *const names[] = {"domains", "machines", "buffers", "slots", "pages"};
    uint32_t *const bound[] = {&bounds->max_files, &bounds->max_tms, &bounds->max_bufs,
                               &bounds->max_bevs, &bounds->max_pages};
    enum { NAMES = sizeof(names) / sizeof(names[0]) };
    char *part, *rest = NULL;
    double number;
    size_t i;

    for (part = strtok_r(text, ",", &rest); part != NULL; part = strtok_r(NULL, ",", &rest)) {
        size_t length = strcspn(part, "=");

        for (i = 0; i < NAMES; i++)
            if (strncmp(part, names[i], length) == 0 && names[i][length] == '\0')
                break;
        if (i == NAMES || part[length] == '\0')
            return lnet_tool_refuse(part, "there are domains, machines, buffers, slots and pages, "
                                          "each with =N");
        if (read_number("--m0-bounds", part + length + 1, 1, 1e9, &number) != 0)
            return 2;
        *bound[i] = (uint32_t)number;
    }
    return 0;
}

/* -1: go on; else the exit code. `order`: "+" if the options end at the first word. */
static int parse(struct lnet_tool_options *options, int argc, char **argv, const char *order)
{
    static const struct option known[] = {
        {"networks", required_argument, NULL, 'n'},  {"set", required_argument, NULL, 's'},
        {"control", required_argument, NULL, 'C'},   {"socket", required_argument, NULL, 'S'},
        {"pcap", required_argument, NULL, 'p'},      {"timeout", required_argument, NULL, 't'},
        {"count", required_argument, NULL, 'c'},     {"m0", required_argument, NULL, 'm'},
        {"m0-bounds", required_argument, NULL, 'b'}, {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, 'v'},         {NULL, 0, NULL, 0}};
    double number;
    int option, code = 0;

    opterr = 0;
    while (code == 0 && (option = getopt_long(argc, argv, order, known, NULL)) != -1) {
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
        case 'C':
            options->control = optarg;
            break;
        case 'm':
            options->m0 = optarg;
            break;
        case 'b':
            code = read_bounds(&options->m0_bounds, optarg);
            break;
        case 'S':
            options->socket = optarg;
            break;
        case 't':
            code = read_number("--timeout", optarg, 0.001, 180, &options->timeout_s);
            break;
        case 'c':
            code = read_number("--count", optarg, 1, 1e9, &number);
            options->count = (uint32_t)number;
            break;
        case 'h':
            fputs(usage, stdout);
            return 0;
        case 'v':
            puts("jacquard " JACQUARD_VERSION ", LNet " LNET_VERSION);
            return 0;
        default:
            return lnet_tool_refuse(argv[optind - 1],
                                    "unknown or incomplete option; see jacquard lnet --help");
        }
    }
    options->arguments = argv + optind;
    options->argument_count = argc - optind;
    return code == 0 ? -1 : code;
}

int lnet_tool_start(const struct lnet_tool_options *options, const char *file)
{
    char *error = NULL;
    bool ok = file != NULL
                  ? lnet_live_start_file(file, options->parameter, options->parameters, &error)
                  : lnet_live_start(options->parameter, options->parameters, &error);
    char text[64];
    int rc;

    if (ok && options->pcap != NULL)
        ok = lnet_live_capture(options->pcap, &error);
    if (!ok) {
        lnet_tool_refuse("lnet", error);
        free(error);
        lnet_live_stop();
        return 2;
    }
    rc = LNetNIInit(LNET_PID_LUSTRE);
    if (rc >= 0)
        return 0;
    snprintf(text, sizeof(text), "LNetNIInit: %s", strerror(-rc));
    lnet_live_stop();
    return lnet_tool_refuse("lnet", text);
}

int lnet_tool_stop(int code)
{
    char *error = NULL;
    bool ok;

    LNetNIFini();
    ok = lnet_live_capture_end(&error);
    lnet_live_stop();
    if (ok)
        return code;
    lnet_tool_refuse("--pcap", error);
    free(error);
    return 2;
}

int main(int argc, char **argv)
{
    struct lnet_tool_options options = {.timeout_s = 5, .count = 1};
    const char *command = argc > 1 ? argv[1] : "";
    int code;

    if (strcmp(command, "lnetd") != 0 && strcmp(command, "lnet") != 0 &&
        strcmp(command, "lnetctl") != 0 && strncmp(command, "--", 2) != 0)
        return lnet_tool_refuse(*command != '\0' ? command : "no command",
                                "there are lnetd, lnet and lnetctl");
    if (strncmp(command, "--", 2) != 0) {
        argc--;
        argv++;
    }
    code = parse(&options, argc, argv, strcmp(command, "lnetctl") == 0 ? "+" : "");
    if (code >= 0)
        return code;
    if (strcmp(command, "lnetd") == 0)
        return lnet_tool_daemon(&options);
    if (strcmp(command, "lnetctl") == 0)
        return lnet_tool_ctl(&options);
    if (options.argument_count > 0 && strcmp(options.arguments[0], "ping") == 0) {
        options.arguments++;
        options.argument_count--;
        return lnet_tool_ping(&options);
    }
    return lnet_tool_refuse(options.argument_count > 0 ? options.arguments[0] : "lnet",
                            "there is ping; see jacquard lnet --help");
}
