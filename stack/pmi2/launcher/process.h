/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Starts processes without a copy of the launcher's memory, so that 1,024 ranks are there soon; a
 * failed exec is known at once. The process is in a group (a session, if asked for) of its own, has
 * no descriptor but those named here, default signals, and is killed when its parent dies.
 */
#ifndef JACQUARD_PMRUN_PROCESS_H
#define JACQUARD_PMRUN_PROCESS_H

#include <glib.h>
#include <sched.h>
#include <sys/types.h>

/* Where a process finds what it inherits besides 0, 1 and 2. */
#define PMRUN_PROCESS_PMI_FD 3
#define PMRUN_PROCESS_KEY_FD 4

struct pmrun_process_start {
    const char *file; /* a path, see pmrun_process_find */
    char *const *argv, *const *environment;
    const char *wdir; /* NULL: the launcher's */
    int in, out, error, pmi, key; /* descriptors of the launcher; -1: none */
    /* Make these, FALSE: errno; and close them again. By the thread that starts the process, right
     * before and after: so few are open at a time. NULL: nothing is to be done. */
    gboolean (*open)(void *owner);
    void (*close)(void *owner);
    void *owner;
    /* In a session of its own, without a terminal: the kernel shares processors out by session
     * (autogroups), so a rank gets as much as any other session on a busy machine. */
    gboolean session;
    cpu_set_t *cpus; /* NULL: any */
    size_t cpus_bytes;
    int memory_policy; /* MPOL_…; -1: as it is */
    const unsigned long *memory_nodes;
    unsigned long memory_bits; /* of memory_nodes */

    pid_t pid; /* the result; -1: it could not be started */
    int failure; /* errno then */
    const char *step; /* that failed: "fork", "wdir", "exec" */
};

/*
 * Once, before any other descriptor is made: 0 to 4 are open, so that none of ours has such a
 * number, all others are closed in programs, and there may be as many as the system allows.
 */
void pmrun_process_prepare(void);
/* So many are going to be started: makes room for our descriptors at once. */
void pmrun_process_reserve_descriptors(guint count);
/* The same descriptor with a number above those that are handed to processes: the higher those are,
 * the more a start costs. -1 stays -1. */
int pmrun_process_raise_descriptor(int fd);
/* Several at a time, by as many threads as is worth it; returns when all have begun or failed. */
void pmrun_process_start_all(struct pmrun_process_start *const *starts, guint count);
/*
 * The file of a program: searched in `path` (directories separated by `:`), or, if that is NULL,
 * in PATH of `environment`; a name with a slash is relative to `wdir`. NULL: *error is an errno.
 */
char *pmrun_process_find(const char *name, const char *wdir, const char *path, char **environment,
                         int *error);
/* A descriptor that becomes readable when the process has ended (not reaped); -1: errno. */
int pmrun_process_descriptor(pid_t pid);

#endif
