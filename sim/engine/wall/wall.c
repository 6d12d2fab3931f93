/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The clock, events and timers of a plain process. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "engine/digest.h"
#include "engine/fault.h"
#include "engine/ledger.h"
#include "engine/metrics.h"
#include "internal.h"
#include "trace_internal.h"

struct sim_core sim_core;
struct sim_wall sim_wall;
_Thread_local char sim_wall_self;

static struct sim_queue queue;

void sim_panic(const char *text)
{
    const char *parts[] = {"jacquard: ", text, "\n"};
    size_t i;

    for (i = 0; i < sizeof parts / sizeof *parts; i++)
        if (write(STDERR_FILENO, parts[i], strlen(parts[i])) < 0)
            break;
    abort();
}

void sim_wall_init(void)
{
    sim_queue_init(&queue);
    sim_core.now = sim_now();
    queue.floor = queue.last = sim_core.now;
    sim_wall.armed = false;
}

void sim_wall_fini(void)
{
    sim_fault_reset();
    sim_ledger_reset();
    sim_metrics_reset();
    sim_queue_fini(&queue);
    sim_wall.armed = false;
}

sim_time_t sim_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return ((sim_time_t)now.tv_sec * 1000000000u + (sim_time_t)now.tv_nsec) * SIM_NS;
}

/* The queue's clock is the time of the last poll: no event is scheduled before it. */
static sim_time_t place(sim_time_t at)
{
    sim_wall.armed = true;
    return at > sim_core.now ? at : sim_core.now;
}

void sim_event_schedule(struct sim_event *event, sim_time_t at)
{
    sim_queue_push(&queue, place(at), (uintptr_t)event);
}

void sim_prefetch_schedule(struct sim_prefetch_event *event, sim_time_t at)
{
    sim_event_schedule(&event->event, at);
}

void sim_timer_arm(struct sim_timer *timer, sim_time_t at)
{
    if (timer->entry != NULL)
        sim_queue_timer_cancel(&queue, timer);
    sim_queue_timer_arm(&queue, timer, place(at));
}

void sim_timer_cancel(struct sim_timer *timer)
{
    if (timer->entry != NULL)
        sim_queue_timer_cancel(&queue, timer);
}

sim_noinline void sim_wall_fire(void)
{
    sim_time_t now = sim_now();
    struct sim_event *event;

    assert(sim_core.now <= now); /* CLOCK_MONOTONIC */
    while (sim_queue_ready(&queue, now) && queue.head->time <= now) {
        sim_core.now = queue.head->time;
        event = sim_queue_pop(&queue);
        if (event != NULL)
            event->fire(event);
    }
    /* Invariant 3 of the queue: entries of the slots that were spread lie behind this time. */
    if (sim_core.now < now)
        sim_core.now = now;
    sim_wall.armed = !sim_queue_empty(&queue);
}

sim_time_t sim_wall_next(void)
{
    if (!sim_wall.armed || sim_queue_empty(&queue))
        return SIM_NEVER;
    return sim_queue_horizon(&queue);
}

/* Used by sim/net, which is compiled for the simulation. */
struct sim_event *sim_event_ahead(uint32_t n)
{
    (void)n;
    return NULL;
}

/* The same: an ordinary process has no digest. */
uint64_t *sim_digest_line(uint32_t line)
{
    static _Thread_local uint64_t nothing;

    (void)line;
    return &nothing;
}

uint64_t sim_digest_name(const char *name)
{
    (void)name;
    return 0;
}

/* Calls of ordinary processes are not followed. */
bool sim_trace_call_takes(const struct sim_trace_point *point)
{
    (void)point;
    return false;
}

void sim_trace_calls_end(void)
{
}

void sim_trace_caller_killed(const struct sim_fiber *fiber, const char *why)
{
    (void)fiber;
    (void)why;
}

void sim_trace_calls_free(void)
{
}
