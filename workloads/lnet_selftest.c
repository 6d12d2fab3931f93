/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * LNet self-test (lnet_selftest): rank 0 is the console; the next `servers` ranks are the targets,
 * the others the sources of `ping` or `brw` RPCs. It prints what `lst stat` prints, and the true
 * rates of RPCs. One rank per node.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lst/lst.h>
#include "run/workload.h"

#define MILLISECOND 1000000000ull /* in picoseconds */

static const struct workload_arg args[] = {
    {"test", ARG_CHOICE, "read", NULL, NULL, "ping|read|write", "ping, or brw read or write"},
    {"servers", ARG_COUNT, "1", "1", "65536", NULL, "ranks that answer"},
    {"bytes", ARG_BYTES, "4KiB", "1", "1MiB", NULL, "of a brw RPC"},
    {"check", ARG_CHOICE, "simple", NULL, NULL, "none|simple|full", "of the data"},
    {"concurrency", ARG_COUNT, "1", "1", "1024", NULL, "RPCs in flight for each pair of nodes"},
    {"distribute", ARG_COUNT, "1", "1", "65536", NULL, "sources that share targets"},
    {"span", ARG_COUNT, "1", "1", "65536", NULL, "targets that they share"},
    {"loop", ARG_COUNT, "0", "0", "1000000000", NULL,
     "RPCs of each stream; 0: until the time is over"},
    {"time", ARG_TIME, "10ms", "1us", "1000s", NULL, "between the two samples of the statistics"},
    {NULL},
};

/* The place of the argument's word among the first `count` ones; the scenario was checked. */
static unsigned choice(const struct rank *rank, const char *name, const char *const *words,
                       unsigned count)
{
    const char *word = rank_arg_choice(rank, name);
    unsigned i;

    for (i = 0; i + 1 < count; i++)
        if (strcmp(words[i], word) == 0)
            break;
    return i;
}

static void describe(struct rank *rank, struct lst_test *test)
{
    static const char *const kinds[] = {"ping", "read", "write"}, *const checks[] = {
                                                                      "none", "simple", "full"};

    *test = (struct lst_test){
        .kind = (enum lst_test_kind)choice(rank, "test", kinds, 3),
        .check = (enum lst_check)(LST_CHECK_NONE + choice(rank, "check", checks, 3)),
        .bytes = (uint32_t)rank_arg_count(rank, "bytes"),
        .concurrency = (uint32_t)rank_arg_count(rank, "concurrency"),
        .distribute = (uint32_t)rank_arg_count(rank, "distribute"),
        .span = (uint32_t)rank_arg_count(rank, "span"),
        .loop = (int32_t)rank_arg_count(rank, "loop"),
        .from = "clients",
        .to = "servers",
    };
    if (test->loop == 0)
        test->loop = -1;
}

/* ---- the console ----------------------------------------------------------------------------- */

struct samples {
    struct lst_counters *before, *after;
    uint32_t count;
};

static int sample(struct lst_console *console, const char *group, struct lst_counters *counters,
                  uint32_t count)
{
    int rc = lst_stat(console, group, counters, count);

    return rc == (int)count ? 0 : (rc < 0 ? rc : -1);
}

static int batch_wait(struct rank *rank, struct lst_console *console, const struct lst_test *test)
{
    int active;

    if (test->loop < 0) {
        rank_compute(rank_arg_ps(rank, "time"));
        return 0;
    }
    while ((active = lst_batch_active(console, "batch")) > 0) {
        rank_count(rank, "queries", 1);
        rank_compute(MILLISECOND);
    }
    return active;
}

static void record(struct rank *rank, const struct samples *clients, const struct samples *servers)
{
    struct lst_rates rate[4];
    uint64_t sent = 0, elapsed = clients->after[0].when_ns - clients->before[0].when_ns, errors = 0,
             data = 0;
    uint32_t i;

    for (i = 0; i < clients->count; i++) {
        sent += clients->after[i].rpc.rpcs_sent - clients->before[i].rpc.rpcs_sent;
        data += clients->after[i].framework.brw_errors + clients->after[i].framework.ping_errors;
        errors += clients->after[i].rpc.errors;
    }
    for (i = 0; i < servers->count; i++) {
        data += servers->after[i].framework.brw_errors + servers->after[i].framework.ping_errors;
        errors += servers->after[i].rpc.errors;
    }
    rank_record_rate(rank, "rpcs", sent, elapsed * 1000);
    rank_count(rank, "rpcs_sent", sent);
    rank_count(rank, "errors", errors);
    rank_count(rank, "data_errors", data);
    lst_rates(clients->before, clients->after, clients->count, &rate[0], &rate[1], &rate[2],
              &rate[3]);
    rank_record_rate(rank, "lnet_sends", (uint64_t)(rate[0].average * 1000),
                     1000 * 1000 * MILLISECOND);
    rank_record_rate(rank, "lnet_receives", (uint64_t)(rate[1].average * 1000),
                     1000 * 1000 * MILLISECOND);
    rank_record_bandwidth(rank, "bandwidth", (uint64_t)(rate[2].average + rate[3].average),
                          1000 * MILLISECOND);
}

static int measure(struct rank *rank, struct lst_console *console, const struct lst_test *test,
                   struct samples *clients, struct samples *servers)
{
    int rc = lst_test_add(console, "batch", test);

    if (rc == 0)
        rc = sample(console, "clients", clients->before, clients->count);
    if (rc == 0)
        rc = sample(console, "servers", servers->before, servers->count);
    if (rc == 0)
        rc = lst_batch_run(console, "batch");
    if (rc == 0)
        rc = batch_wait(rank, console, test);
    if (rc == 0)
        rc = sample(console, "clients", clients->after, clients->count);
    if (rc == 0)
        rc = sample(console, "servers", servers->after, servers->count);
    if (rc != 0)
        return rc;
    record(rank, clients, servers);
    rc = lst_batch_stop(console, "batch");
    while (rc == 0 && lst_batch_active(console, "batch") > 0)
        rank_compute(MILLISECOND);
    return rc;
}

static struct samples samples_new(uint32_t count)
{
    return (struct samples){calloc(count, sizeof(struct lst_counters)),
                            calloc(count, sizeof(struct lst_counters)), count};
}

static int console_main(struct rank *rank, struct lst_node *node, const struct lnet_process_id *ids)
{
    uint32_t servers = (uint32_t)rank_arg_count(rank, "servers"),
             clients = rank_size(rank) - 1 - servers;
    struct samples of_clients = samples_new(clients), of_servers = samples_new(servers);
    struct lst_console *console = lst_session_new(node, "jacquard", 1, false);
    struct lst_test test;
    int rc = console == NULL ? -1 : 0, end;

    describe(rank, &test);
    if (rc == 0)
        rc = lst_group_add(console, "servers", ids + 1, servers);
    if (rc == 0)
        rc = lst_group_add(console, "clients", ids + 1 + servers, clients);
    if (rc == 0)
        rc = measure(rank, console, &test, &of_clients, &of_servers);
    if (console != NULL) {
        end = lst_session_end(console);
        rc = rc == 0 ? end : rc;
    }
    free(of_clients.before);
    free(of_clients.after);
    free(of_servers.before);
    free(of_servers.after);
    return rc == 0 ? 0 : rank_fail(rank, "the self-test failed: %s", strerror(-rc));
}

static int run(struct rank *rank)
{
    uint32_t servers = (uint32_t)rank_arg_count(rank, "servers");
    struct lnet_process_id self, *ids;
    struct lst_parameters parameters;
    struct lst_node *node;
    int error, rc = 0;

    if (rank_size(rank) < servers + 2)
        return rank_fail(rank, "%u ranks: the self-test needs a console, %u servers and a client",
                         (unsigned)rank_size(rank), (unsigned)servers);
    lst_parameters_default(&parameters);
    node = lst_node_start(&parameters, &error);
    if (node == NULL)
        return rank_fail(rank, "LNet does not start here: %s", strerror(-error));
    if (LNetGetId(1, &self) != 0)
        rc = rank_fail(rank, "LNet has no network on node %u", (unsigned)rank_node(rank));
    ids = calloc(rank_size(rank), sizeof(*ids));
    rank_allgather(rank, &self, ids, sizeof(self));
    if (rank_id(rank) == 0 && rc == 0)
        rc = console_main(rank, node, ids);
    rank_barrier(rank);
    free(ids);
    if (lst_node_stop(node) != 0 && rc == 0)
        rc = rank_fail(rank, "the self-test left descriptors behind");
    return rc;
}

static const struct workload workload = {
    .name = "lnet_selftest",
    .meaning = "LNet self-test: ping or brw RPCs of groups of nodes; rank 0 is the console",
    .metrics =
        "rpcs (1/s), lnet_sends, lnet_receives (1/s, of a client), bandwidth (B/s, of a client), "
        "rpcs_sent, errors, data_errors, queries (count)",
    .args = args,
    .ranks_min = 3,
    .main = run,
};
WORKLOAD(workload)
