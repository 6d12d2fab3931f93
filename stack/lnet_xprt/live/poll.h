/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Polling before sleeping, on both sides of a connection: a request and its answer are mostly tens
 * of microseconds apart, and waking a thread takes as long. As with KVM's halt polling, a thread
 * polls for a limited time, and not if its last sleep was long: an idle one does not poll. Others
 * that are ready to run go first.
 */
#ifndef JACQUARD_M0_LIVE_POLL_H
#define JACQUARD_M0_LIVE_POLL_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

#include "port/port.h"

enum { M0_LIVE_POLL_NS = 50000, M0_LIVE_POLL_SLEEP_NS = 20 * M0_LIVE_POLL_NS };

struct m0_live_poll {
    uint64_t limit; /* ns; 0: the thread sleeps at once */
    uint64_t until; /* of the poll under way, or when the thread went to sleep */
};

static inline void m0_live_poll_begin(struct m0_live_poll *poll)
{
    poll->until = poll->limit == 0 ? 0 : port_now() + poll->limit;
}

/* After a poll that found nothing. False: it is time to sleep. */
static inline bool m0_live_poll_again(const struct m0_live_poll *poll)
{
    if (poll->until == 0 || port_now() >= poll->until)
        return false;
    sched_yield();
    return true;
}

static inline void m0_live_poll_sleep(struct m0_live_poll *poll)
{
    poll->until = port_now();
}

/* On one processor, who polls keeps from running whom it waits for. */
static inline void m0_live_poll_woken(struct m0_live_poll *poll)
{
    static unsigned processors; /* a system call */
    bool brief = port_now() - poll->until < M0_LIVE_POLL_SLEEP_NS;

    if (__atomic_load_n(&processors, __ATOMIC_RELAXED) == 0)
        __atomic_store_n(&processors, port_processors(), __ATOMIC_RELAXED);
    poll->limit = brief && __atomic_load_n(&processors, __ATOMIC_RELAXED) > 1 ? M0_LIVE_POLL_NS : 0;
}

#endif
