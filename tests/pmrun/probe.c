/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the tests of pmrun run as ranks: the first argument says what it does. */
#define _GNU_SOURCE
#include <errno.h>
#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "pmi2.h"

static int spawned, size, rank, appnum;

static int is(const char *what, const char *name)
{
    return strcmp(what, name) == 0;
}

/* Every rank sees what every other has put. */
static int exchange(void)
{
    char key[32], value[64], expected[64];
    int r, length;

    snprintf(key, sizeof(key), "k%d", rank);
    snprintf(value, sizeof(value), "value of %d", rank);
    if (PMI2_KVS_Put(key, value) != 0 || PMI2_KVS_Fence() != 0)
        return 20;
    for (r = 0; r < size; r++) {
        snprintf(key, sizeof(key), "k%d", r);
        snprintf(expected, sizeof(expected), "value of %d", r);
        if (PMI2_KVS_Get(NULL, r, key, value, sizeof(value), &length) != 0 ||
            strcmp(value, expected) != 0)
            return 21;
    }
    return 0;
}

static int attribute(const char *name)
{
    char value[PMI2_MAX_ATTRVALUE + 1];
    int found = 0;

    if (PMI2_Info_GetJobAttr(name, value, sizeof(value), &found) != 0)
        return 22;
    printf("%s\n", found ? value : "(none)");
    return 0;
}

static void ignore(int number)
{
    (void)number;
}

/* Survivors of --disable-auto-cleanup: the signal comes, and the attribute names the dead. */
static int survive(void)
{
    sigset_t set;
    int number;

    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    if (rank == 1) {
        PMI2_KVS_Fence();
        raise(SIGKILL);
    }
    sigprocmask(SIG_BLOCK, &set, NULL);
    PMI2_KVS_Fence();
    sigwait(&set, &number);
    return attribute("PMI_dead_processes");
}

static int list_descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    const struct dirent *entry;
    int fd;

    while ((entry = readdir(folder)) != NULL) {
        fd = atoi(entry->d_name);
        if (entry->d_name[0] != '.' && fd > 2 && fd != dirfd(folder))
            printf("%d\n", fd);
    }
    closedir(folder);
    return 0;
}

static int many_lines(int count, int both)
{
    int i;

    setvbuf(stdout, NULL, _IOFBF, 700); /* flushed in the middle of lines */
    for (i = 0; i < count; i++) {
        printf("line %d of rank %s abcdefghijklmnopqrstuvwxyz\n", i, getenv("PMI_RANK"));
        if (both)
            fprintf(stderr, "error %d of rank %s\n", i, getenv("PMI_RANK"));
    }
    return 0;
}

/* spawn COMMAND COUNT [KEY VALUE]...: the result, the errors. */
static int spawn(char **argv)
{
    const char *commands[] = {argv[0]}, *none[] = {NULL}, **argvs[] = {none};
    int argcs[] = {0}, maxprocs[] = {atoi(argv[1])}, sizes[] = {0}, errors[64] = {0}, i, result;
    struct MPID_Info info[8];
    const struct MPID_Info *infos[] = {info};
    const struct MPID_Info *preput[1] = {NULL};
    char id[64] = "";

    memset(info, 0, sizeof(info));
    for (i = 2; argv[i] != NULL; i += 2, sizes[0]++) {
        info[sizes[0]].key = argv[i];
        info[sizes[0]].value = argv[i + 1];
    }
    if (rank != 0)
        return 0;
    result = PMI2_Job_Spawn(1, commands, argcs, argvs, maxprocs, sizes, infos, 0, preput, id,
                            sizeof(id), errors);
    printf("spawn %s errors", result == 0 ? "good" : "bad");
    for (i = 0; i < maxprocs[0]; i++)
        printf(" %d", errors[i]);
    printf("\n");
    return 0;
}

/* publish SERVICE PORT: until the end of the input. */
static int publish(char **argv)
{
    printf("publish %d\n", PMI2_Nameserv_publish(argv[0], NULL, argv[1]) == 0);
    fflush(stdout);
    while (getchar() != EOF)
        continue;
    return 0;
}

/* lookup SERVICE...: each port, or why there is none. */
static int lookup(char **argv)
{
    char port[PMI2_MAX_VALLEN + 1], why[256];

    for (; *argv != NULL; argv++) {
        if (PMI2_Nameserv_lookup(*argv, NULL, port, sizeof(port)) == 0)
            printf("port %s\n", port);
        else
            printf("none: %s\n", PMI2X_Last_errmsg(why, sizeof(why)) > 0 ? why : "");
        fflush(stdout);
        if (argv[1] != NULL && getchar() == EOF) /* a byte of the input between one and the next */
            return 0;
    }
    return 0;
}

/* Rank 1 finalizes and ends with that status; the others end well when it is gone. */
static int after(int status)
{
    char pid[16];
    struct pollfd gone = {.events = POLLIN};
    int length;

    snprintf(pid, sizeof(pid), "%d", getpid());
    if ((rank == 1 && PMI2_KVS_Put("pid", pid) != 0) || PMI2_KVS_Fence() != 0 ||
        PMI2_KVS_Get(NULL, 1, "pid", pid, sizeof(pid), &length) != 0)
        return 24;
    if (rank != 1)
        gone.fd = (int)syscall(SYS_pidfd_open, atoi(pid), 0);
    if (PMI2_KVS_Fence() != 0 || PMI2_Finalize() != 0 || gone.fd < 0)
        return 25;
    if (rank == 1)
        return status;
    return poll(&gone, 1, -1) == 1 ? 0 : 26;
}

static int with_pmi(const char *what, char **argv)
{
    int result = 0;

    if (PMI2_Init(&spawned, &size, &rank, &appnum) != 0)
        return 19;
    if (is(what, "exchange"))
        result = exchange();
    else if (is(what, "who"))
        printf("rank %d of %d appnum %d spawned %d\n", rank, size, appnum, spawned);
    else if (is(what, "attribute"))
        result = attribute(argv[0]);
    else if (is(what, "spawn"))
        result = spawn(argv);
    else if (is(what, "publish"))
        result = publish(argv);
    else if (is(what, "lookup"))
        result = lookup(argv);
    else if (is(what, "unpublish"))
        printf("unpublish %d\n", PMI2_Nameserv_unpublish(argv[0], NULL) == 0);
    else if (is(what, "survive"))
        result = survive();
    else if (is(what, "hang") || is(what, "stay")) {
        if (is(what, "stay") && (puts("ready") < 0 || fflush(stdout) != 0))
            return 23;
        return pause();
    } else if (is(what, "leave"))
        return rank == 1 ? atoi(argv[0]) : pause();
    else if (is(what, "abort"))
        return rank == 1 ? PMI2_Abort(1, "first line\nsecond line") : pause();
    else if (is(what, "abort-alone") && rank == 1)
        return PMI2_Abort(0, "only I");
    if (is(what, "after"))
        return after(atoi(argv[0]));
    PMI2_Finalize();
    return result;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "who";
    int number;

    if (is(what, "descriptors"))
        return list_descriptors();
    if (is(what, "lines"))
        return many_lines(atoi(argv[2]), argc > 3);
    if (is(what, "signal")) { /* says which one came */
        for (number = 1; number < 32; number++)
            if (number != SIGCHLD)
                signal(number, ignore);
        sigset_t set;
        sigfillset(&set);
        sigdelset(&set, SIGCHLD);
        sigprocmask(SIG_BLOCK, &set, NULL);
        puts("ready");
        fflush(stdout);
        sigwait(&set, &number);
        printf("%d\n", number);
        return 0;
    }
    if (is(what, "stubborn")) {
        signal(SIGTERM, SIG_IGN);
        signal(SIGINT, SIG_IGN);
        puts("ready");
        fflush(stdout);
        for (;;)
            pause();
    }
    return with_pmi(what, argv + 2);
}
