/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Our own server behind socket pairs, one job of one node, for client libraries that run in
 * processes or threads of a test. Several of them are several launchers that do not know each
 * other.
 */
#ifndef JACQUARD_TESTS_PMI_LIVE_H
#define JACQUARD_TESTS_PMI_LIVE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct live;
/* A job of `size` ranks, of which the first `clients` are connected. */
struct live *live_new(const char *job, uint32_t size, uint32_t clients);
/* The same on several nodes; only the first has clients, servers of the others never say a word. */
struct live *live_new_on(const char *job, uint32_t size, const uint32_t *node_of, uint32_t nodes,
                         uint32_t clients);
int live_fd(const struct live *live, uint32_t rank); /* the client's end */
/* Runs `client` in a process of its own, with PMI_FD set; its result is the exit status. */
pid_t live_fork(struct live *const *all, size_t count, const struct live *live, uint32_t rank,
                int (*client)(void *context), void *context);
/* Closes the clients' ends here: only the processes have them. */
void live_leave(struct live *live);
/* Until the last client has gone. */
void live_serve(struct live *const *all, size_t count);
void live_free(struct live *live);

#endif
