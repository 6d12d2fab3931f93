/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Starts the processes of traffic.c, waits for their end, and counts what they have done. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "folder.h"
#include "traffic.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

uint64_t number_of(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);

    return text != NULL && text[0] != '\0' ? strtoull(text, NULL, 0) : otherwise;
}

pid_t spawn(uint32_t rank, uint32_t which, uint32_t seconds, void (*main_of_rank)(void))
{
    pid_t pid = fork();
    char node[16];

    if (pid != 0)
        return pid;
    lt_rank = rank;
    incarnation = which;
    snprintf(node, sizeof(node), "%u", rank % NODES);
    setenv("JACQUARD_NODE", node, 1);
    alarm(seconds);
    main_of_rank();
    exit(0);
}

void rest(uint64_t microseconds)
{
    nanosleep(&(struct timespec){.tv_nsec = (long)microseconds * 1000}, NULL);
}

bool ended_well(pid_t pid)
{
    int status;

    if (waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return true;
    fprintf(stderr, "status %#x, JACQUARD_SEED=%lu\n", (unsigned)status,
            (unsigned long)shared->seed);
    return false;
}

bool someone_failed(const pid_t *pids, uint32_t count)
{
    siginfo_t info = {0};
    uint32_t i;

    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0)
        return false;
    for (i = 0; i < count; i++)
        if (info.si_pid != pids[i])
            kill(pids[i], SIGKILL);
    for (i = 0; i < count; i++)
        ended_well(pids[i]);
    return true;
}

bool all_ended_well(const pid_t *pids, uint32_t count)
{
    uint32_t left, i;
    bool well = true;
    int status;

    for (left = count; left > 0; left--) {
        if (waitpid(-1, &status, 0) < 0)
            return false;
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
            continue;
        fprintf(stderr, "status %#x, JACQUARD_SEED=%lu\n", (unsigned)status,
                (unsigned long)shared->seed);
        for (i = 0; well && i < count; i++) /* the others would wait for it */
            kill(pids[i], SIGTERM);
        well = false;
    }
    return well;
}

static bool recovered(void)
{
    uint32_t i;

    for (i = 0; i < ranks; i++)
        if (i != distrusted && (load(&shared->recovered[i]) != load(&shared->incarnation[i]) ||
                                load(&shared->incarnation[i]) == 0))
            return false;
    return true;
}

bool finish(const pid_t *pids, uint32_t count, struct done *done)
{
    uint32_t i;
    bool well;

    store(&shared->phase, 1);
    while (!recovered()) {
        if (someone_failed(pids, count))
            return false;
        rest(1000);
    }
    for (i = 0; i < ranks; i++)
        store(&shared->killed[i], UINT32_MAX); /* from now on anybody may have ended */
    store(&shared->phase, 2);
    well = all_ended_well(pids, count);
    *done = (struct done){0};
    for (i = 0; i < count; i++) {
        done->messages += shared->messages[i];
        done->rounds += shared->rounds[i];
        done->datagrams += shared->datagrams[i];
        done->deaths += shared->deaths[i];
    }
    return well && done->deaths > 0;
}

int run(const char *name, int (*test)(void))
{
    struct folder folder;
    int failed;

    if (!folder_new(&folder))
        return 1;
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return 1;
    shared->seed = number_of("JACQUARD_SEED", 20260);
    failed = test();
    munmap(shared, sizeof(*shared));
    failed += !folder_remove(&folder);
    printf("%s %s\n", failed == 0 ? "ok    " : "FAILED", name);
    fflush(stdout);
    return failed;
}
