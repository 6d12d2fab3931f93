/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Each round takes m0_net over two daemons, and then two processes that are LNet nodes themselves,
 * with the same transfers: messages of 4 KiB as PUTs, and 1 MiB as GETs, eight at a time.
 */
#include "m0net_live.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "pair.h"

enum { ROUNDS = 3, TURNS = 2000, TRANSFERS = 400 };
enum { M0_US, LNET_US, M0_GBPS, LNET_GBPS, FIGURES };

static struct shared {
    double figure[FIGURES][ROUNDS];
} * shared;
static char folder[] = "/tmp/bench-m0net-XXXXXX";

/* ---- m0_net ---------------------------------------------------------------------------------- */

static void over_m0(unsigned self, int end, unsigned round)
{
    char socket[64];

    snprintf(socket, sizeof(socket), "%s/%u", folder, self);
    bench_m0net_process(self, end, socket, TURNS, TRANSFERS, &shared->figure[M0_US][round],
                        &shared->figure[M0_GBPS][round]);
}

static void over_lnet(unsigned self, int end, unsigned round)
{
    static const struct bench_lnet_plan plan = {.subnet = "127.0.78",
                                                .host = 3,
                                                .port = 9579,
                                                .bytes = BENCH_M0_MESSAGE,
                                                .turns = TURNS,
                                                .gets = TRANSFERS};

    bench_lnet_process(&plan, self, end, &shared->figure[LNET_US][round],
                       &shared->figure[LNET_GBPS][round]);
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

bool bench_m0net_live(struct bench *bench)
{
    pid_t daemons[2] = {0, 0};
    const char *why;
    bool good;
    unsigned i;

    shared = bench_pair_memory(sizeof(*shared));
    if (shared == NULL || mkdtemp(folder) == NULL)
        return false;
    daemons[0] = daemon_start(0);
    daemons[1] = daemon_start(1);
    good = daemons[0] > 0 && daemons[1] > 0;
    why = good ? NULL : "the daemons did not start";
    for (i = 0; i < ROUNDS && good; i++)
        good = bench_pair_run(over_m0, i, false) && bench_pair_run(over_lnet, i, false);
    daemons_end(daemons);
    if (!good) {
        fprintf(stderr, "bench-m0net: live: %s\n", why != NULL ? why : bench_pair_why());
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
