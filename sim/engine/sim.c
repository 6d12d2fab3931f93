/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The core: clock, events, timers, the loop that fires them, and the limits of a run. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/fault.h"
#include "engine/finding.h"
#include "engine/ledger.h"
#include "engine/metrics.h"
#include "engine/trace.h"
#include "internal.h"

#define STEPS_PER_CHECK (1u << 16)
#define NO_PROGRESS_EVENTS 1000000000ull

struct sim_core sim_core;
struct engine sim_engine;

void sim_panic(const char *text)
{
    const char *parts[] = {"jacquard: ", text, "\n"};
    size_t i;

    for (i = 0; i < sizeof parts / sizeof *parts; i++)
        if (write(STDERR_FILENO, parts[i], strlen(parts[i])) < 0)
            break;
    abort();
}

static void reset(void)
{
    sim_fault_reset();
    sim_finding_reset();
    sim_ledger_reset();
    sim_metrics_reset();
    sim_digest_reset();
    memset(&sim_core, 0, sizeof sim_core);
    memset(&sim_engine, 0, sizeof sim_engine);
}

void sim_init(const struct sim_options *options)
{
    assert(!sim_engine.running); /* one simulation at a time */
    reset();
    sim_engine.options = *options;
    if (sim_engine.options.no_progress_events == 0)
        sim_engine.options.no_progress_events = NO_PROGRESS_EVENTS;
    if (sim_engine.options.time_limit == 0)
        sim_engine.options.time_limit = SIM_NEVER;
    sim_queue_init(&sim_engine.queue);
    sim_stacks_init(options->stack_bytes, options->fibers_max != 0 ? options->fibers_max + 1 : 0,
                    false);
    sim_fibers_init();
}

void sim_fini(void)
{
    sim_fibers_free();
    sim_stacks_fini();
    sim_queue_fini(&sim_engine.queue);
    reset();
}

/* ---- events ---------------------------------------------------------------------------------- */

static inline void check_time(sim_time_t at)
{
    if (sim_unlikely(at < sim_core.now))
        sim_panic("an event was scheduled in the past");
}

static inline void schedule(uintptr_t word, sim_time_t at)
{
    check_time(at);
    sim_queue_push(&sim_engine.queue, at, word);
    if (at < sim_core.horizon)
        sim_core.horizon = at;
}

void sim_event_schedule(struct sim_event *event, sim_time_t at)
{
    schedule((uintptr_t)event, at);
}

void sim_prefetch_schedule(struct sim_prefetch_event *event, sim_time_t at)
{
    schedule((uintptr_t)event | QUEUE_PREFETCH_EVENT, at);
}

struct sim_event *sim_event_ahead(uint32_t n)
{
    const struct sim_queue *queue = &sim_engine.queue;

    if (queue->tail - queue->head <= (ptrdiff_t)n || (queue->head[n].word & 1) != 0)
        return NULL;
    return (struct sim_event *)(queue->head[n].word & ~(uintptr_t)QUEUE_PREFETCH_EVENT);
}

void sim_timer_arm(struct sim_timer *timer, sim_time_t at)
{
    check_time(at);
    if (timer->entry != NULL)
        sim_queue_timer_cancel(&sim_engine.queue, timer);
    sim_queue_timer_arm(&sim_engine.queue, timer, at);
    if (at < sim_core.horizon)
        sim_core.horizon = at;
}

void sim_timer_cancel(struct sim_timer *timer)
{
    if (timer->entry != NULL)
        sim_queue_timer_cancel(&sim_engine.queue, timer);
}

/* ---- limits ---------------------------------------------------------------------------------- */

static uint64_t steps(void)
{
    return sim_core.events_fired + sim_engine.polls;
}

/* The run is over with `outcome`: false, for check(). */
static bool over(enum sim_outcome outcome)
{
    sim_engine.outcome = outcome;
    return false;
}

/*
 * An alarm went off; nothing is due before `next`. True: the run goes on, with new alarms. Progress
 * is sampled eight times per limit, so a run without any ends at most an eighth late.
 */
static bool check(sim_time_t next)
{
    const struct sim_options *options = &sim_engine.options;
    sim_time_t step = options->no_progress_limit / 8 + 1;

    if (sim_engine.stopped)
        return over(SIM_DONE);
    if (next > sim_engine.alarm_time && sim_engine.alarm_time > sim_core.now)
        sim_core.now = sim_engine.alarm_time;
    if (next > options->time_limit)
        return over(SIM_TIME_LIMIT);
    if (sim_core.progress != sim_engine.progress_seen) {
        sim_engine.progress_seen = sim_core.progress;
        sim_engine.progress_time = sim_core.now;
        sim_engine.progress_steps = steps();
    } else if (options->no_progress_limit != 0 &&
               next - sim_engine.progress_time > options->no_progress_limit) {
        return over(SIM_NO_PROGRESS);
    } else if (steps() - sim_engine.progress_steps >= options->no_progress_events) {
        return over(SIM_NO_PROGRESS);
    }
    if (options->tick != NULL)
        options->tick(options->tick_arg);

    sim_engine.alarm_time = options->time_limit;
    if (options->no_progress_limit != 0 && step < sim_engine.alarm_time - next)
        sim_engine.alarm_time = next + step;
    sim_engine.alarm_events = sim_core.events_fired + STEPS_PER_CHECK;
    sim_engine.alarm_polls = sim_engine.polls + STEPS_PER_CHECK;
    sim_update_horizon();
    return true;
}

/* The next check is due at once, and the running fiber must block for it. */
static void alarm_now(void)
{
    sim_engine.alarm_time = 0;
    sim_engine.alarm_events = 0;
    sim_engine.alarm_polls = 0;
    sim_core.horizon = 0;
}

void sim_check_polls(void)
{
    if (!check(sim_core.now))
        alarm_now();
}

void sim_stop(void)
{
    struct sim_fiber *next = sim_engine.next;

    sim_engine.stopped = true;
    sim_engine.next = NULL;
    if (next != NULL) /* the handler woke it: its turn comes when the run goes on */
        sim_prefetch_schedule(&next->resume, sim_core.now);
    alarm_now();
}

static enum sim_outcome nothing_left(void)
{
    return sim_engine.fibers_live > 0 && !sim_engine.stopped ? SIM_DEADLOCK : SIM_DONE;
}

/* ---- running --------------------------------------------------------------------------------- */

/*
 * The fiber whose turn it is at this instant; NULL: events come first. A handler has made
 * engine->next runnable, or others are due.
 */
static sim_noinline struct sim_fiber *take_turn(void)
{
    struct engine *engine = &sim_engine;
    struct sim_fiber *fiber;

    if (engine->next != NULL)
        sim_due_add(engine->next);
    engine->next = NULL;
    if (sim_queue_ready(&engine->queue, sim_core.now) && engine->queue.head->time <= sim_core.now) {
        sim_core.horizon = sim_core.now;
        return NULL;
    }
    fiber = sim_due_take();
    sim_update_horizon();
    return fiber;
}

struct sim_fiber *sim_dispatch(void)
{
    struct engine *engine = &sim_engine;
    struct sim_queue *queue = &engine->queue;
    struct sim_event *event;
    struct sim_fiber *next;
    sim_time_t time;

    while (engine->next == NULL || sim_unlikely(sim_core.horizon <= sim_core.now)) {
        if (sim_unlikely(sim_core.events_fired >= engine->alarm_events) && !check(sim_core.now))
            return NULL;
        if (sim_unlikely(engine->next != NULL || engine->due_count > 0)) {
            next = take_turn();
            if (next != NULL)
                return next;
            /* Fibers that were due may have been killed. */
        }
        if (!sim_queue_ready(queue, engine->alarm_time)) {
            if (sim_queue_empty(queue)) {
                over(nothing_left());
                return NULL;
            }
            if (!check(queue->front_end))
                return NULL;
            continue;
        }
        time = queue->head->time;
        if (sim_unlikely(time > engine->alarm_time)) {
            if (sim_queue_empty(queue)) {
                over(nothing_left());
                return NULL;
            }
            if (!check(time))
                return NULL;
            continue;
        }
        event = sim_queue_pop(queue);
        if (sim_unlikely(event == NULL))
            continue;
        sim_core.now = time;
        sim_update_horizon();
        sim_core.events_fired++;
        event->fire(event);
    }
    next = engine->next;
    engine->next = NULL;
    assert(sim_core.now >= queue->floor);
    return next;
}

enum sim_outcome sim_run(void)
{
    if (sim_engine.running)
        sim_panic("sim_run inside sim_run");
    sim_engine.running = true;
    sim_engine.stopped = false;
    alarm_now(); /* the first check sets the alarms */
    sim_fibers_run();
    sim_engine.running = false;
    /* Invariant 3 of the queue, for code that still schedules events: nothing is due before. */
    if (sim_engine.queue.words != 0 && sim_core.now < sim_engine.queue.last)
        sim_core.now = sim_engine.queue.last;
    return sim_engine.outcome;
}
