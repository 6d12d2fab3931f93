/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "pair.h"

#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TIMEOUT_S = 120, WHY = 256 };

static char *why;

void *bench_pair_memory(size_t bytes)
{
    char *memory =
        mmap(NULL, WHY + bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED)
        return NULL;
    signal(SIGPIPE, SIG_IGN);
    why = memory;
    return memory + WHY;
}

const char *bench_pair_why(void)
{
    return why[0] != '\0' ? why : "a process has ended";
}

void bench_pair_fail(const char *format, ...)
{
    va_list args;

    if (why[0] == '\0') {
        va_start(args, format);
        vsnprintf(why, WHY, format, args);
        va_end(args);
    }
    _exit(1);
}

void bench_pair_meet(int end)
{
    char byte = 0;

    if (write(end, &byte, 1) != 1 || read(end, &byte, 1) != 1)
        bench_pair_fail("the other process has ended");
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

bool bench_pair_run(bench_pair_body body, unsigned round, bool pinned)
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
            if (pinned)
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
