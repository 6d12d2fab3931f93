/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Waiting for descriptors, in the way that the program has chosen. */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <time.h>

#include "driver/sock.h"
#include "internal.h"

/* A busy wait that yields at once would wait for whatever else wants the processor. */
enum { PASSES_PER_YIELD = 64 };

static void yield_processor(void *arg)
{
    (void)arg;
    sched_yield();
}

static int sleep_in_poll(void *arg, mad_event_t *event, int64_t timeout_ns)
{
    int ready;

    (void)arg;
    ready = mad_sock_poll(event->descriptors, event->count, timeout_ns);
    if (ready < 0 && errno == EINTR)
        return 0;
    return ready < 0 ? -errno : ready;
}

static int poll_busily(void *arg, mad_event_t *event, int64_t timeout_ns)
{
    unsigned passes = 0;
    uint64_t end = timeout_ns < 0 ? UINT64_MAX : port_now() + (uint64_t)timeout_ns;
    int ready;

    for (;;) {
        ready = mad_sock_poll(event->descriptors, event->count, 0);
        if (ready > 0 || (ready < 0 && errno != EINTR))
            return ready < 0 ? -errno : ready;
        if (end != UINT64_MAX && port_now() >= end)
            return 0;
        if (++passes % PASSES_PER_YIELD == 0)
            yield_processor(arg);
    }
}

const struct mad_wait_ops mad_wait_sleeping = {.yield = yield_processor, .wait = sleep_in_poll};
const struct mad_wait_ops mad_wait_busy = {.yield = yield_processor, .wait = poll_busily};

void mad_set_wait_ops(const struct mad_wait_ops *ops, void *arg)
{
    struct mad_process *process = mad_process();

    process->wait_ops = ops != NULL ? ops : &mad_wait_sleeping;
    process->wait_arg = ops != NULL ? arg : NULL;
}

bool mad_wait_spins(unsigned *passes)
{
    const struct mad_process *process = mad_process();

    if (process->wait_ops != &mad_wait_busy)
        return false;
    if (++*passes % PASSES_PER_YIELD == 0)
        yield_processor(process->wait_arg);
    return true;
}

int mad_wait(mad_event_t *event, int64_t timeout_ns)
{
    struct mad_process *process = mad_process();

    return process->wait_ops->wait(process->wait_arg, event, timeout_ns);
}

void mad_wait_idle(struct port_timer *timer)
{
    struct mad_process *process = mad_process();

    if (process->wait_ops == &mad_wait_sleeping)
        port_idle(timer, true);
    else
        process->wait_ops->yield(process->wait_arg);
}
