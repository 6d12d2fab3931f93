/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * bench-live: two ordinary processes, one on each of two processors, talk through libfabric: over
 * gni on an emulated fabric, and over libfabric's own shm and tcp on the same machine in the same
 * run. Each figure is the median of several rounds; a round runs all providers one after the other,
 * in processes of their own, so that other load on the machine affects all of them.
 *
 * gni and shm get the same hints: one thread per domain, and manual progress. tcp and "gni, safe"
 * get no hints, and so use locks and helper threads, as for a program that requests nothing. "uGNI"
 * is a ping-pong of SMSG messages without libfabric.
 */
#include <errno.h>
#include <rdma/fi_errno.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "live.h"

#define ROUNDS 5u
#define TIMEOUT_S 180u
#define OF_TCP 5.0 /* the goal: every figure is at least so much better than tcp's */
#define SMSG_GOAL_US 0.2

enum { GNI, GNI_SAFE, SHM, TCP, SUBJECTS };
static const struct subject subjects[SUBJECTS] = {
    [GNI] = {"gni", "gni", NULL, false},
    [GNI_SAFE] = {"gni, safe", "gni", NULL, true},
    [SHM] = {"shm", "shm", NULL, false},
    /* ofi_rxm 1.17 makes no connection with manual progress */
    [TCP] = {"tcp", "tcp;ofi_rxm", "127.0.0.1", true},
};

struct shared *bench_live_shared;

void bench_live_fail(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(bench_live_shared->why, sizeof(bench_live_shared->why), format, args);
    va_end(args);
    _exit(1);
}

void bench_live_check(ssize_t status, const char *what)
{
    if (status < 0)
        bench_live_fail("%s: %s", what, fi_strerror((int)-status));
}

void bench_live_send(int socket, const void *bytes, size_t size)
{
    if (write(socket, bytes, size) != (ssize_t)size)
        bench_live_fail("the other process has ended");
}

void bench_live_receive(int socket, void *bytes, size_t size)
{
    size_t done = 0;
    ssize_t got;

    for (; done < size; done += (size_t)got) {
        got = read(socket, (char *)bytes + done, size - done);
        if (got <= 0)
            bench_live_fail("the other process has ended");
    }
}

static void pin(unsigned which)
{
    cpu_set_t allowed, one;
    int cpu;

    CPU_ZERO(&one);
    if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0 || CPU_COUNT(&allowed) < 2)
        return; /* both share one processor: yield */
    for (cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &allowed) && which-- == 0)
            break;
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof(one), &one);
}

/* ---- rounds ---------------------------------------------------------------------------------- */

static void child(unsigned self, const int ends[2], const struct subject *subject)
{
    struct pair pair = {.shared = bench_live_shared, .self = self, .socket = ends[self]};
    char *names = subject != NULL ? strdup(subject->provider) : NULL, *at;

    close(ends[1 - self]);
    alarm(TIMEOUT_S);
    pin(self);
    /* The others take longer to load than this to measure. */
    if (names != NULL) {
        if ((at = strchr(names, ';')) != NULL)
            *at = ',';
        setenv("FI_PROVIDER", names, 1);
        bench_live_through_libfabric(&pair, subject);
    } else {
        bench_live_through_ugni(&pair);
    }
    exit(0);
}

/* Runs both processes; provider NULL: uGNI alone. False: it failed; bench_live_shared->why may hold
 * the reason. */
static bool run_pair(const struct subject *subject)
{
    int ends[2], status;
    bool good = true;
    pid_t pids[2];
    unsigned i;

    memset(bench_live_shared, 0, sizeof(*bench_live_shared));
    fflush(stdout);
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
        return false;
    for (i = 0; i < 2; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL); /* it polls */
            child(i, ends, subject);
        }
    }
    close(ends[0]);
    close(ends[1]);
    for (i = 0; i < 2; i++)
        good = pids[i] > 0 && waitpid(pids[i], &status, 0) == pids[i] && status == 0 && good;
    return good;
}

static double figures[SUBJECTS][BENCH_LIVE_MEASURES][ROUNDS], smsg[ROUNDS];

static bool run_all(void)
{
    unsigned round, i, m;

    for (round = 0; round < ROUNDS; round++) {
        for (i = 0; i < SUBJECTS; i++) {
            if (!run_pair(&subjects[i])) {
                fprintf(stderr, "bench-live: %s: %s\n", subjects[i].name,
                        bench_live_shared->why[0] != '\0' ? bench_live_shared->why
                                                          : "ended without a result");
                return false;
            }
            for (m = 0; m < BENCH_LIVE_MEASURES; m++)
                figures[i][m][round] = bench_live_shared->results[m];
        }
        if (!run_pair(NULL)) {
            fprintf(stderr, "bench-live: uGNI: %s\n",
                    bench_live_shared->why[0] != '\0' ? bench_live_shared->why
                                                      : "ended without a result");
            return false;
        }
        smsg[round] = bench_live_shared->smsg;
    }
    return true;
}

/* ---- the table ------------------------------------------------------------------------------- */

static void print_table(void)
{
    unsigned m, i;

    char title[40];

    snprintf(title, sizeof(title), "medians of %u rounds", ROUNDS);
    printf("%-34s %-12s", title, "unit");
    for (i = 0; i < SUBJECTS; i++)
        printf(" %9s", subjects[i].name);
    printf("  %8s %-9s %8s %-5s\n", "gni/shm", "goal", "gni/tcp", "goal");
    for (m = 0; m < BENCH_LIVE_MEASURES; m++) {
        const struct measure *measure = &bench_live_measures[m];
        double of_shm = figures[GNI][m][0] / figures[SHM][m][0];
        double of_tcp = figures[GNI][m][0] / figures[TCP][m][0];
        bool more = measure->more_is_better;
        bool good = more ? of_shm >= measure->of_shm : of_shm <= measure->of_shm;
        bool five = more ? of_tcp >= OF_TCP : of_tcp <= 1 / OF_TCP;

        printf("%-34s %-12s", measure->name, measure->unit);
        for (i = 0; i < SUBJECTS; i++)
            printf(" %9.3g", figures[i][m][0]);
        printf("  %8.3g %s%-4g %s %8.3g %s%-3g %s\n", of_shm, more ? ">=" : "<=", measure->of_shm,
               good ? "ok" : "NO", of_tcp, more ? ">=" : "<=", more ? OF_TCP : 1 / OF_TCP,
               five ? "ok" : "NO");
    }
    printf("%-34s %-12s %9.3g  goal <= %g %s\n", "uGNI: SMSG ping-pong 8 B, one way", "us", smsg[0],
           SMSG_GOAL_US, smsg[0] <= SMSG_GOAL_US ? "ok" : "NO");
}

/* Each figure of gni with that of shm as its reference, then with that of tcp. */
static void print_rows(struct bench *bench)
{
    char name[96];
    unsigned m, i;

    for (m = 0; m < BENCH_LIVE_MEASURES; m++)
        for (i = SHM; i <= TCP; i++) {
            snprintf(name, sizeof(name), "%s, gni and %s", bench_live_measures[m].name,
                     subjects[i].name);
            bench_row(bench, name, figures[GNI][m][0], bench_live_measures[m].unit,
                      figures[i][m][0]);
            if (i == SHM) {
                snprintf(name, sizeof(name), "%s, gni with threads and locks",
                         bench_live_measures[m].name);
                bench_row(bench, name, figures[GNI_SAFE][m][0], bench_live_measures[m].unit,
                          figures[SHM][m][0]);
            }
        }
    bench_row(bench, "uGNI: SMSG ping-pong 8 B, one way", smsg[0], "us", SMSG_GOAL_US);
}

/* Sets the path of this build's provider, and starts a fabric for this program. */
static bool find_fabric(char folder[64])
{
    char path[4096], plugin[4200];
    ssize_t size = readlink("/proc/self/exe", path, sizeof(path) - 1);
    char fabric[80];

    if (size < 0)
        return false;
    path[size] = '\0';
    *strrchr(path, '/') = '\0';
    snprintf(plugin, sizeof(plugin), "%s/../lib/libfabric", path);
    setenv("FI_PROVIDER_PATH", plugin, 0);
    strcpy(folder, "/tmp/jacquard-bench-XXXXXX");
    if (mkdtemp(folder) == NULL)
        return false;
    snprintf(fabric, sizeof(fabric), "%s/fabric", folder);
    setenv("JACQUARD_FABRIC", fabric, 1);
    return true;
}

int main(int argc, char **argv)
{
    struct bench bench = {.json = argc > 1 && strcmp(argv[argc - 1], "--json") == 0};
    char folder[64];
    unsigned m, i;
    bool good;

    bench_live_shared = mmap(NULL, sizeof(*bench_live_shared), PROT_READ | PROT_WRITE,
                             MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (bench_live_shared == MAP_FAILED || !find_fabric(folder)) {
        fprintf(stderr, "bench-live: %s\n", strerror(errno));
        return 1;
    }
    good = run_all();
    /* The daemon ends with its last process, and removes its socket. */
    for (i = 0; i < 300 && rmdir(folder) != 0; i++)
        usleep(10000);
    if (!good)
        return 1;
    bench_median(smsg, ROUNDS);
    smsg[0] = smsg[ROUNDS / 2];
    for (i = 0; i < SUBJECTS; i++)
        for (m = 0; m < BENCH_LIVE_MEASURES; m++)
            figures[i][m][0] = bench_median(figures[i][m], ROUNDS);
    if (!bench.json)
        print_table();
    bench_begin(&bench, "live", argc, argv);
    if (bench.json)
        print_rows(&bench);
    bench_calibrate(&bench);
    bench_end(&bench);
    return 0;
}
