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
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <lnet/api.h>
#include <lnet/live.h>

#include "bench.h"
#include "simulate.h"

#define ROUNDS 5u
#define TIMEOUT_S 120u
#define PORTAL 30u
#define SMALL 8u
#define LARGE (1u << 20)
#define TURNS 20000u /* of the ping-pong */
#define GETS 1000u
#define WINDOW 8u /* GETs in flight, as many as the peer's credits allow */

enum { LNET_PUT_US, RAW_PUT_US, LNET_GET_GBPS, RAW_STREAM_GBPS, FIGURES };
static struct shared {
    double figure[FIGURES][ROUNDS];
    char why[256];
} * shared;

static void fail(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(shared->why, sizeof(shared->why), format, args);
    va_end(args);
    _exit(1);
}

static void pin(unsigned which)
{
    cpu_set_t allowed, one;
    int cpu;

    CPU_ZERO(&one);
    if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0 || CPU_COUNT(&allowed) < 2)
        return;
    for (cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &allowed) && which-- == 0)
            break;
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof(one), &one);
}

/* The processes wait for each other. */
static void meet(int end)
{
    char byte = 0;

    if (write(end, &byte, 1) != 1 || read(end, &byte, 1) != 1)
        fail("the other process has ended");
}

/* ---- sockets --------------------------------------------------------------------------------- */

static void transfer_all(int fd, void *bytes, size_t size, bool out)
{
    size_t done = 0;

    while (done < size) {
        ssize_t part = out ? write(fd, (char *)bytes + done, size - done)
                           : read(fd, (char *)bytes + done, size - done);

        if (part <= 0)
            fail("the socket has ended");
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
        fail("no socket");
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
            fail("no port");
        transfer_all(end, &address.sin_port, sizeof(address.sin_port), true);
        fd = with_options(accept(listener, NULL, NULL));
        close(listener);
        return fd;
    }
    transfer_all(end, &address.sin_port, sizeof(address.sin_port), false);
    with_options(fd);
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0)
        fail("no connection");
    return fd;
}

static void raw(unsigned self, int end, unsigned round)
{
    int fd = raw_connection(self, end, 0);
    char *bytes = calloc(1, LARGE);
    double begin;
    unsigned i;

    if (bytes == NULL)
        fail("no memory");
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
    meet(end);
    begin = bench_seconds();
    for (i = 0; i < GETS; i++)
        transfer_all(fd, bytes, LARGE, self == 1);
    if (self == 0)
        shared->figure[RAW_STREAM_GBPS][round] =
            (double)GETS * LARGE / (bench_seconds() - begin) / 1e9;
    meet(end);
    close(fd);
    free(bytes);
}

/* ---- LNet ------------------------------------------------------------------------------------ */

static void check(int rc, const char *what)
{
    if (rc != 0)
        fail("%s: %s", what, strerror(-rc));
}

static struct lnet_handle_md attach(struct lnet_handle_eq eq, uint64_t bits, void *memory,
                                    uint32_t bytes, unsigned options)
{
    struct lnet_process_id any = {LNET_NID_ANY, LNET_PID_ANY};
    struct lnet_md md = {.start = memory,
                         .length = bytes,
                         .threshold = LNET_MD_THRESH_INF,
                         .options = options | LNET_MD_MANAGE_REMOTE,
                         .eq_handle = eq};
    struct lnet_handle_md handle;
    struct lnet_handle_me me;

    check(LNetMEAttach(PORTAL, any, bits, 0, LNET_UNLINK, LNET_INS_AFTER, &me), "LNetMEAttach");
    check(LNetMDAttach(me, md, LNET_RETAIN, &handle), "LNetMDAttach");
    return handle;
}

static void wait_for(struct lnet_handle_eq eq, enum lnet_event_kind kind)
{
    struct lnet_event event;
    int which;

    do {
        if (LNetEQPoll(&eq, 1, MAX_SCHEDULE_TIMEOUT, &event, &which) != 1)
            fail("LNetEQPoll");
        if (event.status != 0)
            fail("an event has status %d", event.status);
    } while (event.type != kind);
}

static void turns(unsigned self, unsigned count, struct lnet_handle_eq eq,
                  struct lnet_handle_md from, struct lnet_process_id peer)
{
    unsigned i;

    for (i = 0; i < count; i++) {
        if (self == 1)
            wait_for(eq, LNET_EVENT_PUT);
        check(LNetPut(LNET_NID_ANY, from, LNET_NOACK_REQ, peer, PORTAL, 1, 0, 0), "LNetPut");
        if (self == 0)
            wait_for(eq, LNET_EVENT_PUT);
    }
}

/* GETs of 1 MiB, `WINDOW` at a time; each into memory of its own. */
static void get_all(struct lnet_handle_eq eq, char *memory, struct lnet_process_id peer,
                    unsigned count)
{
    struct lnet_md md = {.length = LARGE, .threshold = 2, .eq_handle = eq};
    struct lnet_handle_md handle;
    unsigned sent, answered = 0;

    for (sent = 0; answered < count;) {
        if (sent < count && sent - answered < WINDOW) {
            md.start = memory + (size_t)(sent++ % WINDOW) * LARGE;
            check(LNetMDBind(md, LNET_UNLINK, &handle), "LNetMDBind");
            check(LNetGet(LNET_NID_ANY, handle, peer, PORTAL, 2, 0, false), "LNetGet");
        } else {
            wait_for(eq, LNET_EVENT_REPLY);
            answered++;
        }
    }
}

static void over_lnet(unsigned self, int end, unsigned round)
{
    char options[128], *memory = calloc(WINDOW, LARGE), *error = NULL, small[SMALL] = "";
    struct lnet_md md = {.start = small, .length = SMALL, .threshold = LNET_MD_THRESH_INF};
    struct lnet_process_id peer = {.pid = LNET_PID_LUSTRE};
    struct lnet_handle_md from, target, readable;
    struct lnet_handle_eq eq, gets;
    double begin;

    if (memory == NULL)
        fail("no memory");
    snprintf(options, sizeof(options), "networks=tcp(127.0.77.%u) accept_port=9577", self + 1);
    snprintf(small, sizeof(small), "%u", self);
    if (!lnet_live_start_text(options, &error))
        fail("%s", error);
    if (LNetNIInit(LNET_PID_LUSTRE) < 0)
        fail("LNetNIInit");
    peer.nid = libcfs_str2nid(self == 0 ? "127.0.77.2@tcp" : "127.0.77.1@tcp");
    check(LNetEQAlloc(64, LNET_EQ_HANDLER_NONE, &eq), "LNetEQAlloc");
    check(LNetEQAlloc(64, LNET_EQ_HANDLER_NONE, &gets), "LNetEQAlloc");
    target = attach(eq, 1, memory, SMALL, LNET_MD_OP_PUT);
    LNetInvalidateEQHandle(&md.eq_handle);
    check(LNetMDBind(md, LNET_RETAIN, &from), "LNetMDBind");
    readable = attach(md.eq_handle, 2, memory, LARGE, LNET_MD_OP_GET);
    meet(end);
    turns(self, TURNS / 10, eq, from, peer);
    begin = bench_seconds();
    turns(self, TURNS, eq, from, peer);
    if (self == 0)
        shared->figure[LNET_PUT_US][round] = (bench_seconds() - begin) / TURNS / 2 * 1e6;
    meet(end);
    if (self == 0) {
        get_all(gets, memory, peer, WINDOW);
        begin = bench_seconds();
        get_all(gets, memory, peer, GETS);
        shared->figure[LNET_GET_GBPS][round] =
            (double)GETS * LARGE / (bench_seconds() - begin) / 1e9;
    }
    meet(end); /* a pipe: the loop's thread serves the GETs */
    check(LNetMDUnlink(from), "LNetMDUnlink");
    check(LNetMDUnlink(target), "LNetMDUnlink");
    check(LNetMDUnlink(readable), "LNetMDUnlink");
    LNetNIFini();
    lnet_live_stop();
    free(memory);
}

/* ---- rounds ---------------------------------------------------------------------------------- */

static bool run_pair(void (*body)(unsigned self, int end, unsigned round), unsigned round)
{
    int ends[2], status;
    bool good = true;
    pid_t pids[2];
    unsigned i;

    fflush(stdout);
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
        return false;
    for (i = 0; i < 2; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            alarm(TIMEOUT_S);
            close(ends[1 - i]);
            pin(i);
            body(i, ends[i], round);
            _exit(0);
        }
    }
    close(ends[0]);
    close(ends[1]);
    for (i = 0; i < 2; i++)
        good = pids[i] > 0 && waitpid(pids[i], &status, 0) == pids[i] && status == 0 && good;
    return good;
}

static bool live(struct bench *bench)
{
    double middle[FIGURES];
    unsigned i;

    for (i = 0; i < ROUNDS; i++) {
        if (!run_pair(raw, i) || !run_pair(over_lnet, i)) {
            fprintf(stderr, "bench-lnet: live: %s\n", shared->why);
            return false;
        }
    }
    for (i = 0; i < FIGURES; i++)
        middle[i] = bench_median(shared->figure[i], ROUNDS);
    bench_row(bench, "live: PUT of 8 B one way; raw TCP", middle[LNET_PUT_US], "us",
              middle[RAW_PUT_US]);
    bench_row(bench, "live: GET of 1 MiB, 8 at a time; raw TCP", middle[LNET_GET_GBPS], "GB/s",
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

    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return 1;
    signal(SIGPIPE, SIG_IGN);
    bench_begin(&bench, "lnet", argc, argv);
    if (argc < 2 || strcmp(argv[1], "simulated") != 0)
        good = live(&bench);
    if (argc < 2 || strcmp(argv[1], "live") != 0)
        simulated(&bench);
    bench_calibrate(&bench);
    bench_end(&bench);
    return good ? 0 : 1;
}
