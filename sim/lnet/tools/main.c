/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Options of `jacquard lnetd`, `jacquard lnet` and `jacquard lnetctl`, and the node of a command.
 */
#include <assert.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lnet/api.h"
#include "tools.h"

enum { SERVICE = 256, SERVICE_OPTIONS_MAX = 8 };

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
    "%s"
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

int lnet_tool_number(const char *option, const char *text, double minimum, double maximum,
                     double *value)
{
    char *end;

    *value = strtod(text, &end);
    if (end == text || *end != '\0' || !(*value >= minimum && *value <= maximum))
        return lnet_tool_refuse(option, "the number is not one that is possible");
    return 0;
}

/* The options of the commands, and behind them those of the service. */
static void list_options(struct option *all, const struct option *known,
                         const struct lnet_tools_service *service)
{
    unsigned i;

    while (known->name != NULL)
        *all++ = *known++;
    for (i = 0; service != NULL && service->options[i] != NULL; i++) {
        assert(i < SERVICE_OPTIONS_MAX);
        *all++ = (struct option){service->options[i], required_argument, NULL, SERVICE + (int)i};
    }
    *all = *known;
}

/* -1: go on; else the exit code. `order`: "+" if the options end at the first word. */
static int parse(struct lnet_tool_options *options, int argc, char **argv, const char *order)
{
    static const struct option known[] = {
        {"networks", required_argument, NULL, 'n'}, {"set", required_argument, NULL, 's'},
        {"control", required_argument, NULL, 'C'},  {"socket", required_argument, NULL, 'S'},
        {"pcap", required_argument, NULL, 'p'},     {"timeout", required_argument, NULL, 't'},
        {"count", required_argument, NULL, 'c'},    {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, 'v'},        {NULL, 0, NULL, 0}};
    struct option all[sizeof(known) / sizeof(known[0]) + SERVICE_OPTIONS_MAX];
    double number;
    int option, code = 0;

    list_options(all, known, options->service);
    opterr = 0;
    while (code == 0 && (option = getopt_long(argc, argv, order, all, NULL)) != -1) {
        if (option >= SERVICE) {
            code = options->service->set((unsigned)(option - SERVICE), optarg);
            continue;
        }
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
        case 'S':
            options->socket = optarg;
            break;
        case 't':
            code = lnet_tool_number("--timeout", optarg, 0.001, 180, &options->timeout_s);
            break;
        case 'c':
            code = lnet_tool_number("--count", optarg, 1, 1e9, &number);
            options->count = (uint32_t)number;
            break;
        case 'h':
            printf(usage, options->service != NULL ? options->service->usage : "");
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

int lnet_tools_main(int argc, char **argv, const struct lnet_tools_service *service)
{
    struct lnet_tool_options options = {.timeout_s = 5, .count = 1, .service = service};
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
