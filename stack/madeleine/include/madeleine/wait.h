/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* How the library waits for its networks. */
#ifndef JACQUARD_MADELEINE_WAIT_H
#define JACQUARD_MADELEINE_WAIT_H

#include <stdint.h>
#include <poll.h>

/* What may end a wait: descriptors, whose `revents` the wait sets. */
typedef struct {
    struct pollfd *descriptors;
    unsigned count;
} mad_event_t;

struct mad_wait_ops {
    /* Lets other threads run. */
    void (*yield)(void *arg);
    /* Returns the number of ready descriptors; 0: `timeout_ns` is over (negative: no limit); or a
     * negative errno. It may return 0 early. */
    int (*wait)(void *arg, mad_event_t *event, int64_t timeout_ns);
    /* Ends a wait for this event by another thread; NULL: waits end by their descriptors only. */
    void (*wake)(void *arg, mad_event_t *event);
};

#pragma GCC visibility push(default)
/* They sleep in poll(2): the default. */
extern const struct mad_wait_ops mad_wait_sleeping;
/* They poll without sleeping and yield the processor in between: the lowest latency. */
extern const struct mad_wait_ops mad_wait_busy;
/*
 * For the calling process; NULL: the default. `ops` stays the caller's and must remain valid. The
 * environment variable MAD_WAIT=busy selects mad_wait_busy where no call has chosen.
 */
void mad_set_wait_ops(const struct mad_wait_ops *ops, void *arg);
#pragma GCC visibility pop

#endif
