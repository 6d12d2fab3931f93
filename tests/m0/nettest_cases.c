/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "nettest_cases.h"

#include <errno.h>
#include <stdlib.h>

#include "net/bulk_mem.h"
#include "nettest/pvt.h"

#define EXPECT(condition)    \
    do {                     \
        if (!(condition))    \
            return __LINE__; \
    } while (0)

enum { SERVERS = 2, CLIENTS = 3, NODES = SERVERS + CLIENTS };

static const char console[] = "127.0.0.1:3000";
static const char *const commands[NODES] = {"127.0.0.1:3001", "127.0.0.1:3002", "127.0.0.1:3003",
                                            "127.0.0.1:3004", "127.0.0.1:3005"};
static const char *const tests[NODES] = {"127.0.0.1:4001", "127.0.0.1:4002", "127.0.0.1:4003",
                                         "127.0.0.1:4004", "127.0.0.1:4005"};
static const struct m0_nettest_places places = {commands, commands + SERVERS, SERVERS, CLIENTS};

static int nodes_start(struct m0_nettest_node *nodes[NODES])
{
    int i, error = 0;

    for (i = 0; i < NODES && error == 0; i++)
        nodes[i] =
            m0_nettest_node_start(&m0_net_bulk_mem_xprt, commands[i], tests[i], NULL, NULL, &error);
    return error;
}

static void nodes_stop(struct m0_nettest_node *nodes[NODES])
{
    int i;

    for (i = 0; i < NODES; i++)
        m0_nettest_node_stop(nodes[i]);
}

static struct m0_nettest_options options(enum m0_nettest_kind kind, uint32_t size)
{
    struct m0_nettest_options made;

    m0_nettest_options_default(&made);
    made.kind = kind;
    made.size = size;
    made.messages = 301;
    made.concurrency = 6;
    made.pairs = 4;
    made.interval = 5ull * M0_TIME_ONE_MSEC;
    return made;
}

static int run(const struct m0_nettest_options *how, const struct m0_nettest_places *where,
               struct m0_nettest_result *result)
{
    return m0_nettest_run(&m0_net_bulk_mem_xprt, console, how, where, NULL, NULL, result);
}

static bool is(const struct m0_nettest_count *count, uint64_t total)
{
    return count->total == total && count->failed == 0 && count->bad == 0;
}

int m0_158_e2e_14_echoes_in_memory(void)
{
    struct m0_nettest_node *nodes[NODES];
    static const uint32_t sizes[] = {1, 7, 23, 24, 100, 5000};
    struct m0_nettest_options how;
    struct m0_nettest_result all;
    size_t i;

    EXPECT(nodes_start(nodes) == 0);
    for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        how = options(M0_NETTEST_PING, sizes[i]);
        EXPECT(run(&how, &places, &all) == 0);
        EXPECT(is(&all.clients.sent, CLIENTS * 301) && is(&all.clients.received, CLIENTS * 301));
        EXPECT(is(&all.servers.sent, CLIENTS * 301) && is(&all.servers.received, CLIENTS * 301));
        EXPECT(is(&all.clients.transfers, CLIENTS * 301) && is(&all.clients.bulk_sent, 0));
        EXPECT(all.clients.lost == 0 && all.clients.rtt.count == CLIENTS * 301);
        EXPECT(all.clients.time_finish >= all.clients.time_start);
        EXPECT(all.servers.rtt.count == 0);
    }
    nodes_stop(nodes);
    return 0;
}

int m0_158_e2e_15_pairs_in_memory(void)
{
    struct m0_nettest_node *nodes[NODES];
    static const uint32_t sizes[] = {1, 4096, 30000};
    struct m0_nettest_options how;
    struct m0_nettest_result all;
    size_t i;

    EXPECT(nodes_start(nodes) == 0);
    for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        how = options(M0_NETTEST_BULK, sizes[i]);
        EXPECT(run(&how, &places, &all) == 0);
        EXPECT(is(&all.clients.bulk_sent, CLIENTS * 301));
        EXPECT(is(&all.clients.bulk_received, CLIENTS * 301));
        EXPECT(is(&all.clients.transfers, CLIENTS * 301));
        EXPECT(is(&all.servers.bulk_sent, CLIENTS * 301));
        EXPECT(is(&all.servers.bulk_received, CLIENTS * 301));
        EXPECT(is(&all.servers.transfers, CLIENTS * 301));
        /* 75 messages of four pairs, and the last one of one pair. */
        EXPECT(is(&all.clients.sent, CLIENTS * 76) && is(&all.servers.received, CLIENTS * 76));
    }
    nodes_stop(nodes);
    return 0;
}

/* Its second test is refused, its first one is stopped; afterwards it can have another one. */
int a_node_has_one_test(void)
{
    struct m0_nettest_node *nodes[NODES];
    const struct m0_nettest_places twice = {commands, commands, 1, 1};
    struct m0_nettest_options how = options(M0_NETTEST_PING, 100);
    struct m0_nettest_result all;

    EXPECT(nodes_start(nodes) == 0);
    EXPECT(run(&how, &twice, &all) == -EBUSY);
    EXPECT(run(&how, &places, &all) == 0 && is(&all.clients.received, CLIENTS * 301));
    nodes_stop(nodes);
    return 0;
}

int a_node_that_is_not_there(void)
{
    struct m0_nettest_node *nodes[NODES];
    static const char *const nobody[] = {"127.0.0.1:3999"};
    const struct m0_nettest_places without = {commands, nobody, 1, 1};
    struct m0_nettest_options how = options(M0_NETTEST_PING, 100);
    struct m0_nettest_result all;

    EXPECT(nodes_start(nodes) == 0);
    EXPECT(run(&how, &without, &all) == -ENETUNREACH);
    EXPECT(run(&how, &places, &all) == 0 && is(&all.clients.received, CLIENTS * 301));
    nodes_stop(nodes);
    return 0;
}

int options_that_are_not_possible(void)
{
    struct m0_nettest_options how = options(M0_NETTEST_PING, 0);
    struct m0_nettest_result all;
    int error;

    EXPECT(run(&how, &places, &all) == -EINVAL);
    how.size = M0_NETTEST_SIZE_MAX + 1;
    EXPECT(run(&how, &places, &all) == -EINVAL);
    how.size = 1;
    how.concurrency = 129; /* two servers: more than a byte can tell apart */
    EXPECT(run(&how, &places, &all) == -EINVAL);
    how.size = 2;
    how.pairs = 0;
    EXPECT(run(&how, &places, &all) == -EINVAL);
    EXPECT(m0_nettest_node_start(&m0_net_bulk_mem_xprt, "300.0.0.1:1", "127.0.0.1:1", NULL, NULL,
                                 &error) == NULL &&
           error == -EINVAL);
    return 0;
}

int moments_are_exact(void)
{
    static const uint64_t values[] = {2, 4, 4, 4, 5, 5, 7, 9};
    struct m0_nettest_stats one = {.time_start = 7, .time_finish = 9}, all = {.lost = 0};
    struct m0_nettest_moments large = {.count = 0};
    size_t i;

    EXPECT(m0_nettest_average(&large) == 0 && m0_nettest_stddev(&large) == 0);
    for (i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        m0_nettest_moments_add(&one.rtt, values[i]);
        m0_nettest_moments_add(&large, values[i] * 100000000000ull);
    }
    EXPECT(one.rtt.min == 2 && one.rtt.max == 9 && one.rtt.count == 8);
    EXPECT(m0_nettest_average(&one.rtt) == 5 && m0_nettest_stddev(&one.rtt) == 2);
    EXPECT(m0_nettest_stddev(&large) == 200000000000ull);
    m0_nettest_stats_merge(&all, &one);
    one.time_start = 5;
    m0_nettest_stats_merge(&all, &one);
    EXPECT(all.rtt.count == 16 && m0_nettest_stddev(&all.rtt) == 2 && all.rtt.min == 2);
    EXPECT(all.time_start == 5 && all.time_finish == 9);
    return 0;
}

int commands_are_read_as_written(void)
{
    char addresses[2][M0_NETTEST_ADDRESS] = {"127.0.0.1:1", "127.0.0.2:65535"};
    struct m0_nettest_command init = {.type = M0_NETTEST_INIT, .id = 9, .client = true, .peers = 2},
                              data = {.type = M0_NETTEST_STOP_DONE, .status = -ETIMEDOUT}, read;
    char text[M0_NETTEST_COMMAND_BYTES];
    size_t bytes, shorter;

    init.addresses = addresses;
    init.options = options(M0_NETTEST_BULK, 12345);
    bytes = m0_nettest_encode(&init, text);
    EXPECT(bytes > 2 * M0_NETTEST_ADDRESS && m0_nettest_decode(&read, text, bytes) == 0);
    EXPECT(read.id == 9 && read.client && read.peers == 2);
    EXPECT(strcmp(read.addresses[1], "127.0.0.2:65535") == 0);
    EXPECT(read.options.kind == M0_NETTEST_BULK && read.options.size == 12345);
    EXPECT(read.options.messages == 301 && read.options.concurrency == 6);
    EXPECT(read.options.pairs == 4 && read.options.interval == init.options.interval);
    EXPECT(read.options.message_timeout == init.options.message_timeout);
    EXPECT(read.options.command_timeout == init.options.command_timeout);
    m0_nettest_command_fini(&read);
    for (shorter = 0; shorter < bytes; shorter++) {
        EXPECT(m0_nettest_decode(&read, text, shorter) == -EBADMSG);
        m0_nettest_command_fini(&read);
    }
    text[0] ^= 1;
    EXPECT(m0_nettest_decode(&read, text, bytes) == -EBADMSG);
    data.stats.rtt.squares[1] = 77;
    data.stats.timed_out = 3;
    bytes = m0_nettest_encode(&data, text);
    EXPECT(m0_nettest_decode(&read, text, bytes) == 0 && read.status == -ETIMEDOUT);
    EXPECT(memcmp(&read.stats, &data.stats, sizeof(data.stats)) == 0);
    init.peers = 300; /* whose addresses would not fit */
    init.addresses = calloc(300, M0_NETTEST_ADDRESS);
    EXPECT(m0_nettest_encode(&init, text) == 0);
    free(init.addresses);
    return 0;
}

int lines_of_names_and_values(void)
{
    struct m0_nettest_result all = {.clients = {.sent = {5, 1, 2}, .lost = 1, .time_finish = 8},
                                    .servers = {.transfers = {9, 8, 7}}};
    char *text = NULL;
    size_t bytes;
    FILE *to = open_memstream(&text, &bytes);

    m0_nettest_moments_add(&all.clients.rtt, 6);
    m0_nettest_print(&all, to);
    fclose(to);
    EXPECT(strstr(text, "clients sent_total 5 sent_failed 1 sent_bad 2 received_total 0 ") == text);
    EXPECT(strstr(text, " lost 1 timed_out 0 mps_sent_count 0 ") != NULL);
    EXPECT(strstr(text, " rtt_count 1 rtt_min 6 rtt_max 6 rtt_avg 6 rtt_stddev 0 time_start 0 "
                        "time_finish 8\nservers sent_total 0 ") != NULL);
    EXPECT(strstr(text, " transfers_total 9 transfers_failed 8 transfers_bad 7 ") != NULL);
    free(text);
    return 0;
}

void nettest_end(void)
{
    m0_net_fini();
}
