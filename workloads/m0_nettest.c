/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The self-test of m0_net over LNet. Rank 0 is the console, the ranks after it are test servers and
 * the rest test clients. Ranks of the user flavour share their node's kernel; of the kernel flavour
 * there is one on a node.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <m0/kernel.h>
#include <m0/nettest.h>
#include "run/workload.h"

enum { ADDRESS = 80, COMMAND_PORTAL = 39 };

static const struct workload_arg args[] = {
    {"test", ARG_CHOICE, "ping", NULL, NULL, "ping|bulk", "what is measured"},
    {"servers", ARG_COUNT, "1", "1", "190", NULL, "test servers"},
    {"bytes", ARG_BYTES, "4KiB", "1", "1MiB", NULL, "of a message, or of each bulk buffer"},
    {"concurrency", ARG_COUNT, "8", "1", "256", NULL,
     "messages or pairs of buffers that a client keeps under way to each server"},
    {"messages", ARG_COUNT, "1000", "1", "1000000000", NULL,
     "that each client sends, or pairs that it transfers"},
    {"pairs", ARG_COUNT, "1", "1", "64", NULL, "bulk: with descriptors in one message"},
    {"timeout", ARG_TIME, "3s", "1ms", "1000s", NULL, "of a message and of a bulk operation"},
    {"tick", ARG_TIME, "15s", "1ms", "1000s", NULL,
     "how often m0_net looks for operations whose timeout is over"},
    {"portal", ARG_COUNT, "40", "1", "63", NULL, "of the test's addresses; commands use 39"},
    {"loopback", ARG_BOOL, "false", NULL, NULL, NULL,
     "all addresses are those of the loopback interface, so all ranks are on one node"},
    {"flavour", ARG_CHOICE, "kernel", NULL, NULL, "kernel|user|batched",
     "where the transport is: in the kernel, or in the process, which submits operations one by "
     "one "
     "or in batches"},
    {NULL},
};

struct preparation {
    uint64_t tick_ns;
    bool batched;
};

static void prepare(struct m0_net_domain *dom, void *arg)
{
    const struct preparation *preparation = arg;

    m0_net_lnet_timeout_interval(dom, preparation->tick_ns);
    if (preparation->batched)
        m0_net_lnet_submit_in_batches(dom);
}

/* Names of metrics live as long as the run. */
#define FIELD(role, field)                                         \
    {                                                              \
#role "_" #field, offsetof(struct m0_nettest_stats, field) \
    }
#define COUNT(role, field)                                                             \
    {#role "_" #field, offsetof(struct m0_nettest_stats, field.total)},                \
        {#role "_" #field "_failed", offsetof(struct m0_nettest_stats, field.failed)}, \
    {                                                                                  \
#role "_" #field "_bad", offsetof(struct m0_nettest_stats, field.bad)          \
    }
#define FIELDS(role)                                                               \
    {                                                                              \
        COUNT(role, sent), COUNT(role, received), COUNT(role, bulk_sent),          \
            COUNT(role, bulk_received), COUNT(role, transfers), FIELD(role, lost), \
            FIELD(role, timed_out),                                                \
        {                                                                          \
            NULL, 0                                                                \
        }                                                                          \
    }

struct field {
    const char *metric;
    size_t offset;
};
static const struct field of_clients[] = FIELDS(clients), of_servers[] = FIELDS(servers);

static void record(struct rank *rank, const struct field *field,
                   const struct m0_nettest_stats *stats)
{
    for (; field->metric != NULL; field++)
        rank_count(rank, field->metric,
                   *(const uint64_t *)(const void *)((const char *)stats + field->offset));
}

static int console(struct rank *rank, const struct m0_net_xprt *xprt, const char *mine,
                   const char *all)
{
    uint32_t servers = (uint32_t)rank_arg_count(rank, "servers"), size = rank_size(rank), i;
    const char **address = calloc(size, sizeof(*address));
    struct m0_nettest_result result;
    const struct m0_nettest_moments *rtt = &result.clients.rtt;
    struct m0_nettest_options options;
    uint64_t time;
    int rc;

    m0_nettest_options_default(&options);
    options.kind =
        strcmp(rank_arg_choice(rank, "test"), "ping") == 0 ? M0_NETTEST_PING : M0_NETTEST_BULK;
    options.size = (uint32_t)rank_arg_count(rank, "bytes");
    options.concurrency = (uint32_t)rank_arg_count(rank, "concurrency");
    options.messages = rank_arg_count(rank, "messages");
    options.pairs = (uint32_t)rank_arg_count(rank, "pairs");
    options.message_timeout = options.bulk_timeout = rank_arg_ps(rank, "timeout") / 1000;
    for (i = 0; i < size; i++)
        address[i] = all + (size_t)i * ADDRESS;
    rc = m0_nettest_run(xprt, mine, &options,
                        &(struct m0_nettest_places){address + 1, address + 1 + servers, servers,
                                                    size - 1 - servers},
                        NULL, NULL, &result);
    free(address);
    if (rc != 0)
        return rank_fail(rank, "nettest: %s", strerror(-rc));
    record(rank, of_clients, &result.clients);
    record(rank, of_servers, &result.servers);
    rank_count(rank, "rtt_min", rtt->min);
    rank_count(rank, "rtt_max", rtt->max);
    rank_count(rank, "rtt_average", m0_nettest_average(rtt));
    rank_count(rank, "rtt_stddev", m0_nettest_stddev(rtt));
    rank_count(rank, "mps_sent_average", m0_nettest_average(&result.clients.mps_sent));
    time = result.clients.time_finish - result.clients.time_start;
    if (time > 0)
        rank_record_rate(rank, "rate", result.clients.transfers.total, time * 1000);
    return 0;
}

static int take_part(struct rank *rank, const struct m0_net_xprt *xprt, const char *mine,
                     const char *test)
{
    struct preparation how = {
        .tick_ns = rank_arg_ps(rank, "tick") / 1000,
        .batched = strcmp(rank_arg_choice(rank, "flavour"), "batched") == 0,
    };
    char *all = calloc(rank_size(rank), ADDRESS), self[ADDRESS] = "";
    uint64_t calls = m0_net_lnet_driver_calls();
    struct m0_nettest_node *node = NULL;
    int error = 0, rc = 0;

    if (rank_id(rank) > 0) {
        node = m0_nettest_node_start(xprt, mine, test, prepare, &how, &error);
        if (node == NULL)
            rc = rank_fail(rank, "no node at %s: %s", mine, strerror(-error));
        else
            strncpy(self, m0_nettest_node_address(node), ADDRESS - 1);
    }
    rank_allgather(rank, self, all, ADDRESS);
    if (rank_id(rank) == 0)
        rc = console(rank, xprt, mine, all);
    rank_barrier(rank);
    if (rank_on_node(rank) == 0)
        rank_count(rank, "driver_calls", m0_net_lnet_driver_calls() - calls);
    if (node != NULL)
        m0_nettest_node_stop(node);
    rank_barrier(rank); /* no LNet stops before all machines have */
    free(all);
    return rc;
}

/* "NID:12345:portal:*" */
static int find_address(struct rank *rank, const struct m0_net_xprt *xprt, unsigned portal,
                        char address[ADDRESS])
{
    if (!rank_arg_bool(rank, "loopback"))
        return m0_net_lnet_address(xprt, address, ADDRESS, portal, -1);
    snprintf(address, ADDRESS, "0@lo:12345:%u:*", portal);
    return 0;
}

static int run(struct rank *rank)
{
    const struct m0_net_xprt *xprt = m0_net_lnet_begin(
        strcmp(rank_arg_choice(rank, "flavour"), "kernel") == 0 ? M0_LNET_KERNEL_FLAVOUR
                                                                : M0_LNET_USER_FLAVOUR);
    char mine[ADDRESS], test[ADDRESS];
    int rc;

    if (xprt == NULL)
        return rank_fail(rank, "no memory for m0_net");
    rc = find_address(rank, xprt, COMMAND_PORTAL, mine);
    if (rc == 0)
        rc = find_address(rank, xprt, (unsigned)rank_arg_count(rank, "portal"), test);
    if (rc != 0)
        rc = rank_fail(rank, "LNet has no network on node %u: %s", (unsigned)rank_node(rank),
                       strerror(-rc));
    else if (rank_arg_count(rank, "servers") + 2 > rank_size(rank))
        rc = rank_fail(rank, "no rank is left for a test client");
    else
        rc = take_part(rank, xprt, mine, test);
    m0_net_lnet_end();
    return rc;
}

static const struct workload workload = {
    .name = "m0_nettest",
    .meaning = "m0_net over LNet: throughput and latency of messages, or of pairs of bulk "
               "transfers; rank 0 is the console",
    .metrics =
        "rate: of echoes, or pairs (1/s), rtt_min, rtt_max, rtt_average, rtt_stddev (ns), "
        "mps_sent_average (1/s), driver_calls: of the nodes (count); for clients and servers: "
        "clients_sent, clients_sent_failed, clients_sent_bad, the same of received, "
        "bulk_sent, bulk_received and transfers, clients_lost, clients_timed_out (count)",
    .args = args,
    .ranks_min = 3,
    .main = run,
};
WORKLOAD(workload)
