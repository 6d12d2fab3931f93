/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Each round takes m0_net over two daemons, and then two processes that are LNet nodes themselves,
 * with the same transfers: messages of 4 KiB as PUTs, and 1 MiB as GETs, eight at a time.
 */
#include "m0net_live.h"

#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <lnet/api.h>
#include <lnet/live.h>

#include "bench.h"

enum { ROUNDS = 3, TIMEOUT_S = 120, TURNS = 2000, TRANSFERS = 400, PORTAL = 30, PAGE = 4096 };
enum { M0_US, LNET_US, M0_GBPS, LNET_GBPS, FIGURES };

static struct shared {
    double figure[FIGURES][ROUNDS];
    char why[256];
} * shared;
static char folder[] = "/tmp/bench-m0net-XXXXXX";

void bench_m0net_fail(const char *format, ...)
{
    va_list args;

    if (shared->why[0] == '\0') { /* the other process fails because of this one */
        va_start(args, format);
        vsnprintf(shared->why, sizeof(shared->why), format, args);
        va_end(args);
    }
    _exit(1);
}

void bench_m0net_meet(int end)
{
    char byte = 0;

    if (write(end, &byte, 1) != 1 || read(end, &byte, 1) != 1)
        bench_m0net_fail("the other process has ended");
}

/* ---- LNet ------------------------------------------------------------------------------------ */

static void check(int rc, const char *what)
{
    if (rc != 0)
        bench_m0net_fail("%s: %s", what, strerror(-rc));
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
        if (LNetEQPoll(&eq, 1, MAX_SCHEDULE_TIMEOUT, &event, &which) != 1 || event.status != 0)
            bench_m0net_fail("LNetEQPoll");
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

static void get_all(struct lnet_handle_eq eq, char *memory, struct lnet_process_id peer,
                    unsigned count)
{
    struct lnet_md md = {.length = BENCH_M0_BULK, .threshold = 2, .eq_handle = eq};
    struct lnet_handle_md handle;
    unsigned sent, answered = 0;

    for (sent = 0; answered < count;) {
        if (sent < count && sent - answered < BENCH_M0_WINDOW) {
            md.start = memory + (size_t)(sent++ % BENCH_M0_WINDOW) * BENCH_M0_BULK;
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
    char options[128], *memory = aligned_alloc(PAGE, BENCH_M0_WINDOW * BENCH_M0_BULK),
                       *error = NULL;
    struct lnet_md md = {.start = memory, .length = BENCH_M0_MESSAGE, .threshold = -1};
    struct lnet_process_id peer = {.pid = LNET_PID_LUSTRE};
    struct lnet_handle_eq eq, gets;
    struct lnet_handle_md from;
    double begin;

    if (memory == NULL)
        bench_m0net_fail("no memory");
    memset(memory, 0, BENCH_M0_WINDOW * BENCH_M0_BULK);
    snprintf(options, sizeof(options), "networks=tcp(127.0.78.%u) accept_port=9579", self + 3);
    if (!lnet_live_start_text(options, &error))
        bench_m0net_fail("%s", error);
    if (LNetNIInit(LNET_PID_LUSTRE) < 0)
        bench_m0net_fail("LNetNIInit");
    peer.nid = libcfs_str2nid(self == 0 ? "127.0.78.4@tcp" : "127.0.78.3@tcp");
    check(LNetEQAlloc(64, LNET_EQ_HANDLER_NONE, &eq), "LNetEQAlloc");
    check(LNetEQAlloc(64, LNET_EQ_HANDLER_NONE, &gets), "LNetEQAlloc");
    attach(eq, 1, memory, BENCH_M0_MESSAGE, LNET_MD_OP_PUT);
    LNetInvalidateEQHandle(&md.eq_handle);
    check(LNetMDBind(md, LNET_RETAIN, &from), "LNetMDBind");
    attach(md.eq_handle, 2, memory, BENCH_M0_BULK, LNET_MD_OP_GET);
    bench_m0net_meet(end);
    turns(self, TURNS / 10, eq, from, peer);
    begin = bench_seconds();
    turns(self, TURNS, eq, from, peer);
    if (self == 0)
        shared->figure[LNET_US][round] = (bench_seconds() - begin) / TURNS / 2 * 1e6;
    bench_m0net_meet(end);
    if (self == 0) {
        get_all(gets, memory, peer, BENCH_M0_WINDOW);
        begin = bench_seconds();
        get_all(gets, memory, peer, TRANSFERS);
        shared->figure[LNET_GBPS][round] =
            (double)TRANSFERS * BENCH_M0_BULK / (bench_seconds() - begin) / 1e9;
    }
    bench_m0net_meet(end);
}

/* ---- m0_net ---------------------------------------------------------------------------------- */

static void over_m0(unsigned self, int end, unsigned round)
{
    char socket[64];

    snprintf(socket, sizeof(socket), "%s/%u", folder, self);
    bench_m0net_process(self, end, socket, TURNS, TRANSFERS, &shared->figure[M0_US][round],
                        &shared->figure[M0_GBPS][round]);
}

/* The program is beside this one. Waits until it is ready. */
static pid_t daemon_start(unsigned self)
{
    char program[4096], config[64], socket[64], line[64];
    ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 16);
    int pipes[2];
    FILE *file;
    pid_t pid;

    snprintf(config, sizeof(config), "%s/%u.yaml", folder, self);
    snprintf(socket, sizeof(socket), "%s/%u", folder, self);
    file = fopen(config, "w");
    if (length <= 0 || file == NULL || pipe(pipes) != 0)
        return -1;
    fprintf(file, "net:\n  - net type: tcp\n    local NI(s):\n      - nid: 127.0.78.%u@tcp\n",
            self + 1);
    fclose(file);
    program[length] = '\0';
    memcpy(strrchr(program, '/') + 1, "jacquard-lnet", sizeof("jacquard-lnet"));
    pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(pipes[1], STDOUT_FILENO);
        execl(program, program, "lnetd", "--set", "accept_port=9578", "--m0", socket, config, NULL);
        _exit(127);
    }
    close(pipes[1]);
    file = fdopen(pipes[0], "r");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL)
        if (strcmp(line, "ready\n") == 0) {
            fclose(file);
            return pid;
        }
    return -1;
}

static void daemons_end(const pid_t *pids)
{
    char path[64];
    unsigned i;

    for (i = 0; i < 2; i++) {
        if (pids[i] > 0) {
            kill(pids[i], SIGTERM);
            waitpid(pids[i], NULL, 0);
        }
        snprintf(path, sizeof(path), "%s/%u.yaml", folder, i);
        unlink(path);
    }
    rmdir(folder);
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

bool bench_m0net_live(struct bench *bench)
{
    pid_t daemons[2] = {0, 0};
    bool good;
    unsigned i;

    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED || mkdtemp(folder) == NULL)
        return false;
    signal(SIGPIPE, SIG_IGN);
    daemons[0] = daemon_start(0);
    daemons[1] = daemon_start(1);
    good = daemons[0] > 0 && daemons[1] > 0;
    if (!good)
        snprintf(shared->why, sizeof(shared->why), "the daemons did not start");
    for (i = 0; i < ROUNDS && good; i++)
        good = run_pair(over_m0, i) && run_pair(over_lnet, i);
    daemons_end(daemons);
    if (!good) {
        fprintf(stderr, "bench-m0net: live: %s\n", shared->why);
        return false;
    }
    bench_row(bench, "live: message of 4 KiB one way; LNet",
              bench_median(shared->figure[M0_US], ROUNDS), "us",
              bench_median(shared->figure[LNET_US], ROUNDS));
    bench_row(bench, "live: 1 MiB read, 8 at a time; LNet",
              bench_median(shared->figure[M0_GBPS], ROUNDS), "GB/s",
              bench_median(shared->figure[LNET_GBPS], ROUNDS));
    return true;
}
