/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* jacquard m0: programs of m0_net against a driver, see docs/m0-net.md. */
#define _GNU_SOURCE
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "m0/ping.h"
#include "net/lnet/lnet.h"
#include "net/net.h"
#include "tool/options.h"
#include "tool/place.h"

enum { SERVER_TMID = 12, ADDRESS = M0_NET_LNET_XEP_ADDR_LEN, SEGMENT = 4096, SEGMENTS_MAX = 256 };

static const char usage[] =
    "usage: %s serve%s [OPTIONS]\n"
    "       %s ping [OPTIONS] SERVER\n"
    "       %s nettest-node [OPTIONS]\n"
    "       %s nettest --servers NODES --clients NODES [OPTIONS]\n"
    "\n"
    "serve and ping are the two sides of a test of all six queues of m0_net: messages, bulk "
    "transfers "
    "to\n"
    "the client, and from it. Both print what happened in each queue. serve prints its address, "
    "and "
    "ends on\n"
    "SIGINT or SIGTERM; SERVER is that address.%s\n"
    "nettest-node and nettest measure throughput and latency; see nettest --help.\n"
    "\n"
    "%s"
    "  --portal N        of the own address (39)\n"
    "  --tmid N          of the own address (serve: 12; ping: any)\n"
    "  --buffers N       serve: for messages (20)\n"
    "  --loops N         ping: how often (1)\n"
    "  --bytes N         of a bulk transfer, at most 1048576 (32768); of a server: that it allows\n"
    "  --message N       ping: bytes of a message, at most --bytes (6)\n"
    "  --timeout S       of an operation (10)\n"
    "  --batched         operations of callbacks are submitted together\n"
    "  --help, --version\n";

struct options {
    const char *path; /* of the driver */
    unsigned portal;
    int tmid; /* -1: any */
    bool batched;
    struct m0_ping_options ping;
};

static void print_usage(void)
{
    const char *program = m0_tool_place.program;
    bool shows = m0_tool_place.show != NULL;

    printf(usage, program, shows ? "|show" : "", program, program, program,
           shows ? " show prints what the daemon holds for all processes." : "",
           m0_tool_place.usage);
}

/* -1: go on; else the exit code. */
static int parse(struct options *options, int argc, char **argv)
{
    const struct option known[] = {{m0_tool_place.option, required_argument, NULL, 'S'},
                                   {"portal", required_argument, NULL, 'p'},
                                   {"tmid", required_argument, NULL, 't'},
                                   {"buffers", required_argument, NULL, 'b'},
                                   {"loops", required_argument, NULL, 'l'},
                                   {"bytes", required_argument, NULL, 'd'},
                                   {"message", required_argument, NULL, 'm'},
                                   {"timeout", required_argument, NULL, 'T'},
                                   {"batched", no_argument, NULL, 'B'},
                                   {"help", no_argument, NULL, 'h'},
                                   {"version", no_argument, NULL, 'v'},
                                   {NULL, 0, NULL, 0}};
    unsigned long value = 0;
    int option, code = 0;

    opterr = 0;
    while (code == 0 && (option = getopt_long(argc, argv, "", known, NULL)) != -1) {
        switch (option) {
        case 'S':
            options->path = optarg;
            break;
        case 'p':
            code = m0_tool_portal(&options->portal);
            break;
        case 't':
            code = m0_tool_number("--tmid", 0, 4095, &value);
            options->tmid = (int)value;
            break;
        case 'b':
            code = m0_tool_number("--buffers", 2, 1000, &value);
            options->ping.buffers = (uint32_t)value;
            break;
        case 'l':
            code = m0_tool_number("--loops", 1, 1000000000, &value);
            options->ping.loops = (uint32_t)value;
            break;
        case 'd':
            code = m0_tool_number("--bytes", 1, SEGMENT * SEGMENTS_MAX, &value);
            options->ping.bulk_size = (uint32_t)value;
            break;
        case 'm':
            code = m0_tool_number("--message", 6, SEGMENT * SEGMENTS_MAX, &value);
            options->ping.message_size = (uint32_t)value;
            break;
        case 'T':
            code = m0_tool_number("--timeout", 1, 3600, &value);
            options->ping.message_timeout = options->ping.bulk_timeout = value * M0_TIME_ONE_SECOND;
            break;
        case 'B':
            options->batched = true;
            break;
        case 'h':
            print_usage();
            return 0;
        case 'v':
            puts("jacquard " JACQUARD_VERSION);
            return 0;
        default:
            return m0_tool_refuse(argv[optind - 1], "unknown or incomplete option; see --help");
        }
    }
    return code == 0 ? -1 : code;
}

/* ---- commands -------------------------------------------------------------------------------- */

static void in_batches(struct m0_net_domain *dom)
{
    m0_net_lnet_dom_set_batched(dom, true);
}

static int serve(const struct options *options, const char *address)
{
    struct m0_ping *ping;
    uint64_t errors;
    int rc, lost;

    m0_tool_block_ends();
    ping = m0_ping_server_start(&m0_net_lnet_xprt, address, &options->ping, &rc);
    if (ping == NULL)
        return m0_tool_fail(address, rc);
    printf("%s\nready\n", m0_ping_address(ping));
    fflush(stdout);
    do
        lost = m0_ping_lost(ping);
    while (lost == 0 && !m0_tool_ends());
    m0_ping_settle(ping);
    m0_ping_print(ping, stdout);
    errors = m0_ping_errors(ping);
    m0_ping_stop(ping);
    printf("errors: %" PRIu64 "\n", errors);
    if (lost != 0)
        return m0_tool_fail(address, lost);
    return errors == 0 ? 0 : 1;
}

static int ping_server(const struct options *options, const char *address, const char *server)
{
    struct m0_ping *ping;
    int rc, ended;

    ping = m0_ping_client_start(&m0_net_lnet_xprt, address, &options->ping, &rc);
    if (ping == NULL)
        return m0_tool_fail(address, rc);
    ended = m0_ping_run(ping, server);
    m0_ping_print(ping, stdout);
    m0_ping_stop(ping);
    return ended == 0 ? 0 : m0_tool_fail(server, ended);
}

static int run(const struct options *options, bool server, const char *to)
{
    char address[ADDRESS] = "";
    int rc = m0_tool_place.begin(options->path), code;

    if (rc != 0)
        return m0_tool_fail(options->path, rc);
    rc = m0_tool_address(options->portal, options->tmid, address);
    if (rc != 0)
        return m0_tool_fail(options->path, rc);
    code = server ? serve(options, address) : ping_server(options, address, to);
    m0_net_fini();
    return code;
}

/* -1: go on; else the exit code. */
static int find_command(int argc, char **argv, bool *server, bool *shows)
{
    const char *command = argc > 1 ? argv[1] : "";
    bool can_show = m0_tool_place.show != NULL;

    *server = strcmp(command, "serve") == 0;
    *shows = can_show && strcmp(command, "show") == 0;
    if (*server || *shows || strcmp(command, "ping") == 0 || strncmp(command, "--", 2) == 0)
        return -1;
    return m0_tool_refuse(*command != '\0' ? command : "m0",
                          can_show ? "there are serve, ping, show, nettest-node and nettest"
                                   : "there are serve, ping, nettest-node and nettest");
}

int main(int argc, char **argv)
{
    struct options options = {.path = m0_tool_place.standard(), .portal = 39, .tmid = -1};
    bool server, shows;
    int code, left;

    if (argc > 1 && strcmp(argv[1], "m0") == 0) { /* as jacquard calls it */
        argc--;
        argv++;
    }
    if (argc > 1 && (strcmp(argv[1], "nettest") == 0 || strcmp(argv[1], "nettest-node") == 0))
        return m0_tool_nettest(argc - 1, argv + 1);
    m0_ping_options_default(&options.ping);
    code = find_command(argc, argv, &server, &shows);
    if (code >= 0)
        return code;
    if (server)
        options.tmid = SERVER_TMID;
    if (strncmp(argv[1], "--", 2) != 0) {
        argc--;
        argv++;
    }
    code = parse(&options, argc, argv);
    if (code >= 0)
        return code;
    left = argc - optind;
    if (left != (server || shows ? 0 : 1))
        return m0_tool_refuse(left > 0 ? argv[argc - 1] : "ping",
                              server || shows ? "this is too much"
                                              : "the address of a server is needed");
    if (options.path == NULL)
        return m0_tool_refuse("m0", m0_tool_place.missing);
    if (shows) {
        code = m0_tool_place.show(options.path);
        return code == 0 ? 0 : m0_tool_fail(options.path, code);
    }
    options.ping.segments = (options.ping.bulk_size + SEGMENT - 1) / SEGMENT;
    options.ping.segment_size = SEGMENT;
    if (options.ping.message_size > options.ping.bulk_size)
        return m0_tool_refuse("--message", "it is longer than --bytes");
    if (options.batched)
        options.ping.prepare = in_batches;
    return run(&options, server, argv[optind]);
}
