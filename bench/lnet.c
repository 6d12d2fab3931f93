/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * bench-lnet: LNet, live and simulated.
 *
 * Live: two processes, one on each of two processors, are two nodes of LNet over loop-back TCP. The
 * reference is the same two processes with a socket of their own, with the options that socklnd
 * sets, and blocking calls: each round takes both, one after the other. Medians.
 *
 * The first argument may be `live` or `simulated`: only that part.
 *
 * Simulated: sim-run is started with scenarios of this file. Rates are per second of processor
 * time, and are the difference of a long and a short run, so that connecting does not count.
 */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench.h"
#include "pair.h"
#include "simulate.h"

#define ROUNDS 5u
#define SMALL 8u
#define TURNS 20000u /* of the ping-pong */
#define GETS 1000u

enum {
    LNET_PUT_US,
    RAW_PUT_US,
    LNET_GET_GBPS,
    RAW_STREAM_GBPS,
    LNET_UNALIGNED_GBPS,
    LNET_FEW_PUTS_US,
    FIGURES
};
static struct shared {
    double figure[FIGURES][ROUNDS];
} * shared;

/* ---- sockets --------------------------------------------------------------------------------- */

static void transfer_all(int fd, void *bytes, size_t size, bool out)
{
    size_t done = 0;

    while (done < size) {
        ssize_t part = out ? write(fd, (char *)bytes + done, size - done)
                           : read(fd, (char *)bytes + done, size - done);

        if (part <= 0)
            bench_pair_fail("the socket has ended");
        done += (size_t)part;
    }
}

static void set(int fd, int level, int option, int value)
{
    setsockopt(fd, level, option, &value, sizeof(value));
}

/* What socklnd sets with its default parameters. */
static int with_options(int fd)
{
    if (fd < 0)
        bench_pair_fail("no socket");
    set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    set(fd, IPPROTO_TCP, TCP_KEEPIDLE, 30);
    set(fd, IPPROTO_TCP, TCP_KEEPINTVL, 5);
    set(fd, IPPROTO_TCP, TCP_KEEPCNT, 5);
    return fd;
}

static int raw_connection(unsigned self, int end, in_port_t port)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = port, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM, 0), listener = fd;

    if (self == 0) { /* tells its port */
        if (bind(fd, (struct sockaddr *)&address, sizeof(address)) != 0 || listen(fd, 1) != 0 ||
            getsockname(fd, (struct sockaddr *)&address, &size) != 0)
            bench_pair_fail("no port");
        transfer_all(end, &address.sin_port, sizeof(address.sin_port), true);
        fd = with_options(accept(listener, NULL, NULL));
        close(listener);
        return fd;
    }
    transfer_all(end, &address.sin_port, sizeof(address.sin_port), false);
    with_options(fd);
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0)
        bench_pair_fail("no connection");
    return fd;
}

static void raw(unsigned self, int end, unsigned round)
{
    int fd = raw_connection(self, end, 0);
    char *bytes = calloc(1, BENCH_LNET_GET);
    double begin;
    unsigned i;

    if (bytes == NULL)
        bench_pair_fail("no memory");
    for (i = 0; i < TURNS / 10; i++) { /* warms up */
        transfer_all(fd, bytes, SMALL, self == 0);
        transfer_all(fd, bytes, SMALL, self != 0);
    }
    begin = bench_seconds();
    for (i = 0; i < TURNS; i++) {
        transfer_all(fd, bytes, SMALL, self == 0);
        transfer_all(fd, bytes, SMALL, self != 0);
    }
    if (self == 0)
        shared->figure[RAW_PUT_US][round] = (bench_seconds() - begin) / TURNS / 2 * 1e6;
    bench_pair_meet(end);
    begin = bench_seconds();
    for (i = 0; i < GETS; i++)
        transfer_all(fd, bytes, BENCH_LNET_GET, self == 1);
    if (self == 0)
        shared->figure[RAW_STREAM_GBPS][round] =
            (double)GETS * BENCH_LNET_GET / (bench_seconds() - begin) / 1e9;
    bench_pair_meet(end);
    close(fd);
    free(bytes);
}

/* ---- rounds ---------------------------------------------------------------------------------- */

static const struct bench_lnet_plan plan = {
    .subnet = "127.0.77", .host = 1, .port = 9577, .bytes = SMALL, .turns = TURNS, .gets = GETS};

static void over_lnet(unsigned self, int end, unsigned round)
{
    bench_lnet_process(&plan, self, end, &shared->figure[LNET_PUT_US][round],
                       &shared->figure[LNET_GET_GBPS][round]);
}

static void unaligned(unsigned self, int end, unsigned round)
{
    struct bench_lnet_plan other = plan;

    other.turns = 10;
    other.offset = 13;
    bench_lnet_process(&other, self, end, &shared->figure[LNET_FEW_PUTS_US][round],
                       &shared->figure[LNET_UNALIGNED_GBPS][round]);
}

static bool live(struct bench *bench)
{
    double middle[FIGURES];
    unsigned i;

    for (i = 0; i < ROUNDS; i++) {
        if (!bench_pair_run(raw, i, true) || !bench_pair_run(over_lnet, i, true) ||
            !bench_pair_run(unaligned, i, true)) {
            fprintf(stderr, "bench-lnet: live: %s\n", bench_pair_why());
            return false;
        }
    }
    for (i = 0; i < FIGURES; i++)
        middle[i] = bench_median(shared->figure[i], ROUNDS);
    bench_row(bench, "live: PUT of 8 B one way; raw TCP", middle[LNET_PUT_US], "us",
              middle[RAW_PUT_US]);
    bench_row(bench, "live: GET of 1 MiB, 8 at a time; raw TCP", middle[LNET_GET_GBPS], "GB/s",
              middle[RAW_STREAM_GBPS]);
    bench_row(bench, "live: the same at byte 13 of a page", middle[LNET_UNALIGNED_GBPS], "GB/s",
              middle[RAW_STREAM_GBPS]);
    return true;
}

/* ---- simulated ------------------------------------------------------------------------------- */

static double traffic_seconds(unsigned messages, unsigned gets, bool ack)
{
    return simulate("name: rate\nseed: 17\n"
                    "fabric: {name: ethernet, topology: single-switch, nodes: 64}\n"
                    "lnet: {nodes: [{name: all, nodes: 0-63, networks: tcp(ethernet)}]}\n"
                    "jobs: [{name: peers, nodes: 0-63, workload: lnet_put, args: {bytes: 4KiB, "
                    "messages: %u, gets: %u, ack: %s}}]\n"
                    "expect: [{ledger: balanced}, {metric: peers.lost, equals: 0}]\n",
                    messages, gets, ack ? "true" : "false")
        .seconds;
}

/* Millions per second of processor time. */
static double rate(unsigned gets, bool ack)
{
    const unsigned few = 1000, many = 4000;
    double rates[3];
    unsigned i;

    for (i = 0; i < 3; i++) {
        double begin = traffic_seconds(few, gets, ack);

        rates[i] = (many - few) * 64.0 / (traffic_seconds(many, gets, ack) - begin) / 1e6;
    }
    return bench_median(rates, 3);
}

static double idle_bytes(unsigned nodes)
{
    return simulate("name: idle\n"
                    "fabric: {name: ethernet, topology: single-switch, nodes: %u}\n"
                    "lnet: {nodes: [{name: all, nodes: 0-%u, networks: tcp(ethernet), start: "
                    "true}]}\n"
                    "jobs: [{name: two, nodes: 0-1, workload: lnet_put, args: {messages: 0}}]\n",
                    nodes, nodes - 1)
        .bytes;
}

static struct cost routers(void)
{
    return simulate(
        "name: routers\n"
        "networks:\n"
        "  - {name: clients, topology: single-switch, nodes: 10008}\n"
        "  - {name: storage, topology: single-switch, attached: 10000-10007}\n"
        "lnet:\n"
        "  nodes:\n"
        "    - {name: clients, nodes: 0-9999, networks: tcp(clients), start: true,\n"
        "       routes: \"tcp1 10.0.39.[17-24]@tcp\"}\n"
        "    - {name: routers, nodes: 10000-10007, networks: \"tcp(clients),tcp1(storage)\",\n"
        "       forwarding: enabled, start: true}\n"
        "jobs: [{name: two, nodes: 0-1, workload: lnet_put, args: {messages: 10}}]\n");
}

static void simulated(struct bench *bench)
{
    struct cost cost;

    bench_row(bench, "simulated: PUT of 4 KiB, 64 nodes", rate(0, false), "M/s", 0.5);
    bench_row(bench, "simulated: PUT with its ACK", rate(0, true), "M/s", 0);
    bench_row(bench, "simulated: GET with its REPLY", rate(100, true), "M/s", 0);
    bench_row(bench, "simulated: idle node", (idle_bytes(11000) - idle_bytes(1000)) / 10000, "B",
              8192);
    cost = routers();
    bench_row(bench, "10,000 nodes ping 8 routers: memory", cost.bytes / 1e9, "GB", 0);
    bench_row(bench, "10,000 nodes ping 8 routers: processor time", cost.seconds, "s", 0);
}

int main(int argc, char **argv)
{
    struct bench bench;
    bool good = true;

    shared = bench_pair_memory(sizeof(*shared));
    if (shared == NULL)
        return 1;
    bench_begin(&bench, "lnet", argc, argv);
    if (argc < 2 || strcmp(argv[1], "simulated") != 0)
        good = live(&bench);
    if (argc < 2 || strcmp(argv[1], "live") != 0)
        simulated(&bench);
    bench_calibrate(&bench);
    bench_end(&bench);
    return good ? 0 : 1;
}
