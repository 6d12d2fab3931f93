/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#define _GNU_SOURCE
#include "watchdog.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#define GROUPS_MAX (4u << 20) /* the greatest process number that Linux gives */
#define WORD_BITS 64u

/* Shared with the watchdog: a bit for each group, so adding one costs no system call and does not
 * wake it.
 */
struct groups {
    uint32_t first, last; /* words that were ever used: [first, last) */
    uint64_t words[GROUPS_MAX / WORD_BITS];
};
static struct groups *groups;

static void kill_all(void)
{
    uint32_t i;
    uint64_t left;

    for (i = groups->first; i < groups->last; i++)
        for (left = groups->words[i]; left != 0; left &= left - 1)
            kill(-(pid_t)(i * WORD_BITS + (uint32_t)__builtin_ctzll(left)), SIGKILL);
}

static void __attribute__((noreturn)) keep(int from)
{
    sigset_t all;
    char end;

    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    setsid();
    prctl(PR_SET_NAME, "pm-watchdog");
    if (dup2(from, 0) < 0)
        _exit(1);
    close_range(1, ~0u, 0);
    while (read(0, &end, 1) < 0 && errno == EINTR) {
    }
    kill_all();
    _exit(0);
}

void pmrun_watchdog_start(void)
{
    int ends[2];
    pid_t pid;

    groups = mmap(NULL, sizeof(*groups), PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (groups == MAP_FAILED || pipe2(ends, O_CLOEXEC) != 0) {
        groups = NULL;
        return;
    }
    groups->first = UINT32_MAX;
    pid = fork();
    if (pid == 0)
        keep(ends[0]);
    close(ends[0]); /* ours stays open until the end */
    if (pid < 0)
        close(ends[1]);
}

static uint64_t bit_of(pid_t group)
{
    return UINT64_C(1) << (uint32_t)group % WORD_BITS;
}

void pmrun_watchdog_add(pid_t group)
{
    uint32_t word = (uint32_t)group / WORD_BITS;

    if (groups == NULL || group <= 0 || word >= GROUPS_MAX / WORD_BITS)
        return;
    groups->words[word] |= bit_of(group);
    if (groups->first > word)
        groups->first = word;
    if (groups->last <= word)
        groups->last = word + 1;
}

void pmrun_watchdog_remove(pid_t group)
{
    uint32_t word = (uint32_t)group / WORD_BITS;

    if (groups != NULL && group > 0 && word < GROUPS_MAX / WORD_BITS)
        groups->words[word] &= ~bit_of(group);
}
