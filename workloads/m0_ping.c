/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The functional ping of all queues of m0_net over LNet: rank 0 is the server, the others are
 * clients. Ranks of the user flavour share their node's kernel; of the kernel flavour there is one
 * on a node.
 */
#include <stdlib.h>
#include <string.h>

#include <m0/kernel.h>
#include <m0/ping.h>
#include "run/workload.h"

enum { ADDRESS = 80, MACHINES = 6, PER_DOMAIN = 3, ROW = MACHINES * ADDRESS };

static const struct workload_arg args[] = {
    {"loops", ARG_COUNT, "1", "1", "1000000", NULL, "of each client"},
    {"bytes", ARG_BYTES, "32KiB", "1", "1MiB", NULL, "of a bulk transfer"},
    {"buffers", ARG_COUNT, "20", "2", "1000", NULL, "of the server for messages"},
    {"tmid", ARG_COUNT, "12", "0", "2047", NULL, "of the server's address"},
    {"portal", ARG_COUNT, "39", "1", "63", NULL, "of all addresses"},
    {"flavour", ARG_CHOICE, "kernel", NULL, NULL, "kernel|user|batched",
     "where the transport is: in the kernel, or in the process, which submits operations one by "
     "one "
     "or in batches"},
    {"leave", ARG_BOOL, "false", NULL, NULL, NULL,
     "end with open machines, as a killed process does: the kernel releases what is left"},
    {"dies", ARG_TIME, "0", "0", "1000s", NULL,
     "the server ends so long after its begin, with transfers under way; 0: it does not"},
    {"machines", ARG_COUNT, "1", "1", "6", NULL,
     "transfer machines of the server, three in a domain; clients use them by turns, and their "
     "TMIDs follow each other"},
    {"victim", ARG_COUNT, "0", "0", "1000000", NULL, "the rank that `exits` in a driver call"},
    {"exits", ARG_COUNT, "0", "0", "1000000", NULL,
     "in its driver call with this number the process exits; 0: it does not"},
    {"exits_after", ARG_BOOL, "false", NULL, NULL, NULL,
     "after the driver has ended that call, not before"},
    {"serve", ARG_TIME, "0", "0", "1000s", NULL, "the server serves at least so long"},
    {"retries", ARG_COUNT, "0", "0", "1000000", NULL,
     "of a client, for loops that the server did not answer"},
    {"timeout", ARG_TIME, "5s", "1ms", "1000s", NULL, "of a message, and of a bulk transfer"},
    {NULL},
};

static bool never(const void *unused)
{
    (void)unused;
    return false;
}

/* Events of the queues of messages sent and received, and of the four bulk queues. */
static void record(struct rank *rank, struct m0_ping *ping)
{
    static const char *const names[M0_PING_QUEUES] = {"messages_received", "messages_sent",
                                                      "passive_received",  "passive_sent",
                                                      "active_received",   "active_sent"};
    uint64_t table[M0_PING_QUEUES][M0_PING_COLUMNS], failures = 0;
    int i;

    m0_ping_counters(ping, table);
    for (i = 0; i < M0_PING_QUEUES; i++) {
        rank_count(rank, names[i], table[i][M0_PING_SUCCESSES]);
        failures += table[i][M0_PING_FAILURES];
    }
    rank_count(rank, "failures", failures);
    rank_count(rank, "retried", m0_ping_retried(ping));
    rank_count(rank, "errors", m0_ping_errors(ping));
}

struct side {
    struct m0_ping *ping[MACHINES]; /* in use: `count` */
    uint32_t count;
};

/* The machines of a server, or that of a client. */
static int open_all(struct rank *rank, const struct m0_net_xprt *xprt,
                    struct m0_ping_options *options, struct side *side, char row[ROW])
{
    bool server = rank_id(rank) == 0;
    uint32_t machines = server ? (uint32_t)rank_arg_count(rank, "machines") : 1;
    unsigned portal = (unsigned)rank_arg_count(rank, "portal");
    int tmid = (int)rank_arg_count(rank, "tmid"), error = 0;
    char mine[ADDRESS] = "";

    for (; side->count < machines; side->count++) {
        struct m0_ping **ping = &side->ping[side->count];

        error = m0_net_lnet_address(xprt, mine, sizeof(mine), portal,
                                    server ? tmid + (int)side->count : -1);
        if (error != 0)
            return rank_fail(rank, "LNet has no network on node %u: %s", (unsigned)rank_node(rank),
                             strerror(-error));
        options->share =
            side->count % PER_DOMAIN == 0 ? NULL : ping[-(int)(side->count % PER_DOMAIN)];
        *ping = server ? m0_ping_server_start(xprt, mine, options, &error)
                       : m0_ping_client_start(xprt, mine, options, &error);
        if (*ping == NULL)
            return rank_fail(rank, "no transfer machine at %s: %s", mine, strerror(-error));
        strncpy(row + (size_t)side->count * ADDRESS, m0_ping_address(*ping), ADDRESS - 1);
    }
    return 0;
}

static int use(struct rank *rank, struct m0_ping *client, const char *servers)
{
    uint32_t which = (rank_id(rank) - 1) % (uint32_t)rank_arg_count(rank, "machines");
    const char *server = servers + (size_t)which * ADDRESS;
    uint64_t began = rank_now();
    int error;

    if (*server == '\0')
        return 0;
    error = m0_ping_run(client, server);
    rank_record_latency(rank, "time", rank_now() - began);
    return error == 0 ? 0 : rank_fail(rank, "ping of %s: %s", server, strerror(-error));
}

/* True: the process ends now, with everything open. */
static bool serve(struct rank *rank)
{
    if (rank_arg_ps(rank, "dies") > 0) {
        rank_wait(rank, never, NULL, rank_arg_ps(rank, "dies"));
        return true;
    }
    rank_wait(rank, never, NULL, rank_arg_ps(rank, "serve"));
    return false;
}

static int ping_main(struct rank *rank, const struct m0_net_xprt *xprt,
                     struct m0_ping_options *options)
{
    bool server = rank_id(rank) == 0;
    char *all = calloc(rank_size(rank), ROW), row[ROW] = "";
    struct side side = {.count = 0};
    int rc = open_all(rank, xprt, options, &side, row);
    uint32_t i;

    rank_allgather(rank, row, all, ROW);
    if (rc == 0 && server && serve(rank)) {
        free(all);
        return 0;
    }
    if (rc == 0 && !server)
        rc = use(rank, side.ping[0], all);
    /* A client's part of a transfer may end before the server's: no LNet stops before that. */
    rank_barrier(rank);
    for (i = 0; i < side.count; i++)
        m0_ping_settle(side.ping[i]);
    rank_barrier(rank);
    for (i = side.count; i-- > 0;) {
        record(rank, side.ping[i]);
        if (!rank_arg_bool(rank, "leave"))
            m0_ping_stop(side.ping[i]);
    }
    if (server && side.count > 0)
        rank_count(rank, "driver_calls", m0_net_lnet_driver_calls());
    free(all);
    return rc;
}

static int run(struct rank *rank)
{
    const char *flavour = rank_arg_choice(rank, "flavour");
    const struct m0_net_xprt *xprt = m0_net_lnet_begin(
        strcmp(flavour, "kernel") == 0 ? M0_LNET_KERNEL_FLAVOUR : M0_LNET_USER_FLAVOUR);
    struct m0_ping_options options;
    int rc;

    if (xprt == NULL)
        return rank_fail(rank, "no memory for m0_net");
    m0_ping_options_default(&options);
    options.loops = (uint32_t)rank_arg_count(rank, "loops");
    options.bulk_size = (uint32_t)rank_arg_count(rank, "bytes");
    options.buffers = (uint32_t)rank_arg_count(rank, "buffers");
    options.retries = (uint32_t)rank_arg_count(rank, "retries");
    options.message_timeout = options.bulk_timeout = rank_arg_ps(rank, "timeout") / 1000;
    options.segments = (options.bulk_size + options.segment_size - 1) / options.segment_size;
    if (strcmp(flavour, "batched") == 0)
        options.prepare = m0_net_lnet_submit_in_batches;
    if (rank_id(rank) == rank_arg_count(rank, "victim"))
        m0_net_lnet_exit_at_driver_call(rank_arg_count(rank, "exits"),
                                        rank_arg_bool(rank, "exits_after"));
    rc = ping_main(rank, xprt, &options);
    if (!rank_arg_bool(rank, "leave") && (rank_id(rank) != 0 || rank_arg_ps(rank, "dies") == 0))
        m0_net_lnet_end();
    return rc;
}

static const struct workload workload = {
    .name = "m0_ping",
    .meaning = "m0_net over LNet: ping of all queues between a server, rank 0, and clients",
    .metrics = "time (ps), messages_received, messages_sent, passive_received, passive_sent, "
               "active_received, active_sent, failures, errors, retried, driver_calls: of rank 0's "
               "node (count)",
    .args = args,
    .ranks_min = 2,
    .main = run,
};
WORKLOAD(workload)
