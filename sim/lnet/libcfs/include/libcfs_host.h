/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What libcfs (libcfs/libcfs_debug.h) needs of the host of nodes. Without a host there is one
 * state, that of the process, the clock of the machine, and an assertion aborts.
 */
#ifndef JACQUARD_LIBCFS_HOST_H
#define JACQUARD_LIBCFS_HOST_H

#include <stdbool.h>
#include <stdint.h>

struct libcfs_node;

/* A member may be NULL: libcfs then does what it does in a program without LNet. */
struct libcfs_host {
    /* Where the state of the caller's node is kept; NULL in it: there is none yet. It returns NULL:
     * the caller is on no node, and the state of the process counts. */
    struct libcfs_node **(*slot)(void);
    /* A module parameter of libcfs on the caller's node; it returns NULL: the default counts. */
    const char *(*parameter)(const char *name);
    uint64_t (*now)(void); /* nanoseconds */
    /* Stops the caller's node for `text`. It returns if the caller is on no node. */
    void (*bug)(const char *text);
    int (*control)(unsigned command, void *argument); /* LNetCtl */
    unsigned (*thread)(void); /* the number of the calling thread, for messages */
    int (*number)(void); /* of the caller's node, for messages; -1: none */
};

void libcfs_host_set(const struct libcfs_host *host); /* NULL: none */
/* A simulation begins or (NULL) ends, and the date is no longer that of the machine. `bug` and
 * `slot` are for callers that are on no node of the host, in place of abort() and the state of the
 * process. */
void libcfs_host_simulate(void (*bug)(const char *text), struct libcfs_node **(*slot)(void));
/* Nanoseconds from 1970 to the begin of a simulation; 0: there is none. */
uint64_t libcfs_host_epoch(void);
void libcfs_node_free(struct libcfs_node *node);
/* Whether module libcfs has the parameter, and it may be `value`. */
bool libcfs_parameter_check(const char *name, const char *value);
/* Takes the parameters of the host again, for the caller's node. */
void libcfs_parameters_read(void);
uint64_t libcfs_host_now(void);

#endif
