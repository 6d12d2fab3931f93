/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The self-test of m0_net for throughput and latency, over any transport. A console orders nodes to
 * be test servers or test clients, starts them, asks for their statistics at an interval, and stops
 * them. A node has a transfer machine for commands and, during a test, one for the test.
 *
 * ping: each client keeps messages to each server under way, which the server echoes. bulk: a
 * client sends the descriptors of pairs of buffers; the server reads the first buffer of a pair and
 * writes the same data into the second one, which the client compares.
 *
 * Times are those of the port, in nanoseconds: virtual in a simulation.
 */
#ifndef JACQUARD_M0_NETTEST_H
#define JACQUARD_M0_NETTEST_H

#include <stdint.h>
#include <stdio.h>

struct m0_net_domain;
struct m0_net_xprt;

enum m0_nettest_kind { M0_NETTEST_PING, M0_NETTEST_BULK };

enum {
    M0_NETTEST_SIZE_MAX = 1 << 20,
    M0_NETTEST_CONCURRENCY_MAX = 256,
    M0_NETTEST_PAIRS_MAX = 64,
    M0_NETTEST_SERVERS_MAX = 190, /* whose addresses a command can hold */
};

struct m0_nettest_options {
    enum m0_nettest_kind kind;
    uint32_t size; /* bytes of a message (ping) or of each buffer (bulk) */
    /* Messages or pairs that each client keeps under way to each server. With messages of one byte
     * at most 256 for all servers together. */
    uint32_t concurrency;
    uint64_t messages; /* that each client sends, or pairs that it transfers, to all servers */
    uint32_t pairs; /* bulk: whose descriptors are in a message; at most `concurrency` are */
    uint64_t message_timeout; /* of a message, until its echo has arrived */
    uint64_t bulk_timeout;
    uint64_t command_timeout; /* until all nodes have answered; a node that hears nothing for three
                                 times as long ends its test */
    uint64_t interval; /* of live statistics */
};
/* ping of 4096 messages of 4 KiB, concurrency 8, one pair, 3 s, 3 s, 10 s, 1 s. */
void m0_nettest_options_default(struct m0_nettest_options *options);

/* Total: what succeeded. Failed: with an error. Bad: what arrived is not what it should be. */
struct m0_nettest_count {
    uint64_t total, failed, bad;
};
/* Of values; min and max are 0 if there is none. */
struct m0_nettest_moments {
    uint64_t count, min, max, sum;
    uint64_t squares[2]; /* sum of the squares: low and high half */
};
uint64_t m0_nettest_average(const struct m0_nettest_moments *moments); /* 0: no values */
uint64_t m0_nettest_stddev(const struct m0_nettest_moments *moments); /* of the population */

struct m0_nettest_stats {
    struct m0_nettest_count sent, received; /* messages */
    struct m0_nettest_count bulk_sent, bulk_received; /* buffers */
    struct m0_nettest_count transfers; /* echoed messages, or pairs */
    uint64_t lost; /* messages of clients without an echo in time */
    uint64_t timed_out; /* operations that failed with -ETIMEDOUT */
    struct m0_nettest_moments mps_sent, mps_received; /* messages per second, of each second */
    struct m0_nettest_moments rtt; /* of clients */
    uint64_t time_start, time_finish; /* first start, last end, or now; 0: not yet */
};
struct m0_nettest_result {
    struct m0_nettest_stats clients, servers; /* of all together */
};

struct m0_nettest_node;
/*
 * A node, with a thread of its own, that waits for commands at `address`; its tests use
 * `test_address`, whose last part may be "*". `prepare` is called with `arg` for each domain before
 * its machine starts; NULL: none. NULL: *error is a negative errno. One thread starts and stops it.
 */
struct m0_nettest_node *m0_nettest_node_start(const struct m0_net_xprt *xprt, const char *address,
                                              const char *test_address,
                                              void (*prepare)(struct m0_net_domain *dom, void *arg),
                                              void *arg, int *error);
const char *m0_nettest_node_address(const struct m0_nettest_node *node);
/* Why its command machine has failed since, as when its daemon ended; 0: it has not. */
int m0_nettest_node_lost(struct m0_nettest_node *node);
void m0_nettest_node_stop(struct m0_nettest_node *node); /* and ends its test */

struct m0_nettest_places {
    const char *const *servers, *const *clients; /* addresses of nodes */
    uint32_t server_count, client_count;
};
/*
 * The console at `address`: one test on these nodes. `live`, unless NULL, is called in the calling
 * thread with the statistics so far, at the interval. `result` is valid if 0 is returned: the test
 * has run to its end, whether messages failed or not. Otherwise the first error: -EINVAL for
 * options that are not possible, -EBUSY if a node has a test, -ETIMEDOUT if one does not answer.
 */
int m0_nettest_run(const struct m0_net_xprt *xprt, const char *address,
                   const struct m0_nettest_options *options, const struct m0_nettest_places *places,
                   void (*live)(const struct m0_nettest_result *result, void *arg), void *arg,
                   struct m0_nettest_result *result);
/* A line for people: counts, rates since the begin, round trips. */
void m0_nettest_print_live(const struct m0_nettest_result *result, FILE *to);
/* A line for clients and one for servers: names and values by turns. */
void m0_nettest_print(const struct m0_nettest_result *result, FILE *to);

#endif
