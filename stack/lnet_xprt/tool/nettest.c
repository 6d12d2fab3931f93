/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* jacquard m0 nettest and nettest-node: the self-test for throughput and latency. */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "m0/nettest.h"
#include "net/net.h"
#include "tool/options.h"
#include "tool/place.h"

enum { ADDRESS = M0_NET_LNET_XEP_ADDR_LEN, NODES_MAX = 1024 };

static const char usage[] =
    "usage: %s nettest-node [OPTIONS]\n"
    "       %s nettest --servers NODES --clients NODES [OPTIONS]\n"
    "\n"
    "nettest-node waits for a console, which makes it a test server or a test client. It prints "
    "its\n"
    "address, and ends on SIGINT or SIGTERM. nettest is the console of one test. NODES are the\n"
    "addresses of nodes, separated by commas. Every second it prints the clients' statistics, and "
    "at\n"
    "the end a line for the clients and one for the servers. The exit code is 1 if anything has\n"
    "failed.\n"
    "\n"
    "%s"
    "  --portal N        of the own address (39)\n"
    "  --tmid N          of the own address (any)\n"
    "  --help, --version\n"
    "\n"
    "nettest-node:\n"
    "  --batched         operations of callbacks are submitted together\n"
    "\n"
    "nettest:\n"
    "  --test KIND       ping: messages that servers echo (default); bulk: pairs of buffers, of "
    "which\n"
    "                    servers read the first and write the second\n"
    "  --bytes N         of a message, or of each buffer (4096), at most 1048576\n"
    "  --concurrency N   messages or pairs that a client keeps under way to each server (8)\n"
    "  --messages N      that each client sends, or pairs that it transfers (4096)\n"
    "  --pairs N         bulk: whose descriptors are in one message (1)\n"
    "  --timeout S       of a message until its echo, and of a bulk operation (3)\n";

struct options {
    const char *path; /* of the driver */
    unsigned portal;
    int tmid; /* -1: any */
    bool node, batched;
    char *servers, *clients;
    struct m0_nettest_options test;
};

/* ---- the command line ------------------------------------------------------------------------ */

static int parse_kind(struct options *options)
{
    if (strcmp(optarg, "ping") == 0)
        options->test.kind = M0_NETTEST_PING;
    else if (strcmp(optarg, "bulk") == 0)
        options->test.kind = M0_NETTEST_BULK;
    else
        return m0_tool_refuse("--test", "there are ping and bulk");
    return 0;
}

static const struct limit { /* of an option with a number, and its place in the options */
    const char *name;
    unsigned long most;
    char key;
} limits[] = {
    {"--bytes", M0_NETTEST_SIZE_MAX, 'd'},
    {"--concurrency", M0_NETTEST_CONCURRENCY_MAX, 'c'},
    {"--messages", 1000000000, 'n'},
    {"--pairs", M0_NETTEST_PAIRS_MAX, 'P'},
    {"--timeout", 3600, 'T'},
};

static int parse_number(struct options *options, int key)
{
    const struct limit *limit = limits;
    unsigned long value;
    int code;

    while (limit->key != key)
        limit++;
    code = m0_tool_number(limit->name, 1, limit->most, &value);
    if (code != 0)
        return code;
    switch (key) {
    case 'd':
        options->test.size = (uint32_t)value;
        break;
    case 'c':
        options->test.concurrency = (uint32_t)value;
        break;
    case 'n':
        options->test.messages = value;
        break;
    case 'P':
        options->test.pairs = (uint32_t)value;
        break;
    default:
        options->test.message_timeout = options->test.bulk_timeout = value * M0_TIME_ONE_SECOND;
        break;
    }
    return 0;
}

static int parse_common(struct options *options, int key)
{
    unsigned long value = 0;
    int code = 0;

    switch (key) {
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
    case 'B':
        options->batched = true;
        break;
    case 's':
        options->servers = optarg;
        break;
    case 'C':
        options->clients = optarg;
        break;
    default:
        code = parse_kind(options);
        break;
    }
    return code;
}

/* -1: go on; else the exit code. */
static int parse(struct options *options, int argc, char **argv)
{
    const struct option all[] = {{m0_tool_place.option, required_argument, NULL, 'S'},
                                 {"portal", required_argument, NULL, 'p'},
                                 {"tmid", required_argument, NULL, 't'},
                                 {"help", no_argument, NULL, 'h'},
                                 {"version", no_argument, NULL, 'v'},
                                 {"batched", no_argument, NULL, 'B'},
                                 {NULL, 0, NULL, 0}};
    const struct option more[] = {{"servers", required_argument, NULL, 's'},
                                  {"clients", required_argument, NULL, 'C'},
                                  {"test", required_argument, NULL, 'k'},
                                  {"bytes", required_argument, NULL, 'd'},
                                  {"concurrency", required_argument, NULL, 'c'},
                                  {"messages", required_argument, NULL, 'n'},
                                  {"pairs", required_argument, NULL, 'P'},
                                  {"timeout", required_argument, NULL, 'T'},
                                  {NULL, 0, NULL, 0}};
    struct option known[16] = {{NULL, 0, NULL, 0}};
    int option, code = 0;

    memcpy(known, all, sizeof(all));
    if (!options->node) /* instead of --batched */
        memcpy(known + 5, more, sizeof(more));
    opterr = 0;
    while (code == 0 && (option = getopt_long(argc, argv, "", known, NULL)) != -1) {
        if (option == 'h') {
            printf(usage, m0_tool_place.program, m0_tool_place.program, m0_tool_place.usage);
            return 0;
        }
        if (option == 'v') {
            puts("jacquard " JACQUARD_VERSION);
            return 0;
        }
        if (option == '?')
            return m0_tool_refuse(argv[optind - 1], "unknown or incomplete option; see --help");
        code = strchr("dcnPT", option) != NULL ? parse_number(options, option)
                                               : parse_common(options, option);
    }
    if (code != 0)
        return code;
    if (optind < argc)
        return m0_tool_refuse(argv[optind], "this is too much");
    if (!options->node && (options->servers == NULL || options->clients == NULL))
        return m0_tool_refuse("nettest", "--servers and --clients are needed");
    if (options->path == NULL)
        return m0_tool_refuse("m0", m0_tool_place.missing);
    return -1;
}

/* ---- a node ---------------------------------------------------------------------------------- */

static void prepare(struct m0_net_domain *dom, void *arg)
{
    const struct options *options = arg;

    m0_net_lnet_dom_set_timeout_tick(dom, M0_TIME_ONE_SECOND);
    m0_net_lnet_dom_set_batched(dom, options->batched);
}

static int serve(struct options *options, const char *address, const char *test)
{
    struct m0_nettest_node *node;
    int rc, lost;

    m0_tool_block_ends();
    node = m0_nettest_node_start(&m0_net_lnet_xprt, address, test, prepare, options, &rc);
    if (node == NULL)
        return m0_tool_fail(address, rc);
    printf("%s\nready\n", m0_nettest_node_address(node));
    fflush(stdout);
    do
        lost = m0_nettest_node_lost(node);
    while (lost == 0 && !m0_tool_ends());
    m0_nettest_node_stop(node);
    return lost == 0 ? 0 : m0_tool_fail(address, lost);
}

/* ---- the console ----------------------------------------------------------------------------- */

static uint32_t split(char *list, const char **addresses)
{
    char *rest = NULL, *word;
    uint32_t count = 0;

    for (word = strtok_r(list, ",", &rest); word != NULL && count < NODES_MAX;
         word = strtok_r(NULL, ",", &rest))
        addresses[count++] = word;
    return count;
}

static void live(const struct m0_nettest_result *result, void *arg)
{
    (void)arg;
    m0_nettest_print_live(result, stdout);
    fflush(stdout);
}

static uint64_t wrong(const struct m0_nettest_stats *stats)
{
    const struct m0_nettest_count *counts[] = {&stats->sent, &stats->received, &stats->bulk_sent,
                                               &stats->bulk_received, &stats->transfers};
    uint64_t sum = stats->lost;
    size_t i;

    for (i = 0; i < ARRAY_SIZE(counts); i++)
        sum += counts[i]->failed + counts[i]->bad;
    return sum;
}

static int console(struct options *options, const char *address)
{
    static const char *servers[NODES_MAX], *clients[NODES_MAX];
    const struct m0_nettest_places places = {servers, clients, split(options->servers, servers),
                                             split(options->clients, clients)};
    struct m0_nettest_result result;
    int rc =
        m0_nettest_run(&m0_net_lnet_xprt, address, &options->test, &places, live, NULL, &result);

    if (rc != 0)
        return m0_tool_fail("nettest", rc);
    live(&result, NULL);
    m0_nettest_print(&result, stdout);
    return wrong(&result.clients) + wrong(&result.servers) == 0 ? 0 : 1;
}

int m0_tool_nettest(int argc, char **argv)
{
    struct options options = {.path = m0_tool_place.standard(),
                              .portal = 39,
                              .tmid = -1,
                              .node = strcmp(argv[0], "nettest-node") == 0};
    char address[ADDRESS] = "", test[ADDRESS] = "";
    int code, rc;

    m0_nettest_options_default(&options.test);
    code = parse(&options, argc, argv);
    if (code >= 0)
        return code;
    rc = m0_tool_place.begin(options.path);
    if (rc == 0)
        rc = m0_tool_address(options.portal, options.tmid, address);
    if (rc == 0)
        rc = m0_tool_address(options.portal, -1, test);
    if (rc != 0)
        return m0_tool_fail(options.path, rc);
    code = options.node ? serve(&options, address, test) : console(&options, address);
    m0_net_fini();
    return code;
}
