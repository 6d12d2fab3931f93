/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Polling the rings, sleeping, and the helper thread. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "backend.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include "nic/error_event.h"
#include "lock.h"
#include "aries/watch.h"

#define RECORDS 64u /* in one poll, so that the program can continue */
#define ALL_EVERY 8u /* polls until a poll visits all rings */
#define SETTLE_EVERY 8u /* polls that found records, until acknowledgements are read */
#define CLOCK_EVERY 32u
#define SPIN_NS 5000u /* before a thread sleeps */
#define YIELD_AFTER 512u /* empty polls until a thread yields its CPU, and */
#define YIELD_CROWDED 32u /* the same if another thread ran during the last yield */
#define YIELD_EVERY 16u
#define CROWDED_TICKS 10000u /* a yield takes so long when another thread ran (some 4 us) */
#define SLEEP_AFTER_TICKS 3000000u /* some millisecond of such yields, and the thread sleeps */
#define NAP_NS 200000u /* the time that it sleeps then; a doorbell ends it */

/* The last wait of this thread ended because a signal handler has run. */
static _Thread_local bool signalled __attribute__((tls_model("initial-exec")));

/* Handles records. `all`: from all rings; otherwise only from the first ring that has one: the
 * caller most likely waits for that record. */
static bool receive(bool all)
{
    struct shm *shm = aries_live.shm;
    struct shm_record record;
    unsigned count = 0;
    bool more = true;

    assert(shm != NULL && aries_live_lock.owner == &sim_wall_self);
    while (more && count < RECORDS && shm_next(shm, &record)) {
        struct aries_live_link *link = record.from->user;

        if (sim_unlikely(link == NULL))
            link = aries_live_link_to(record.from); /* the process may have ended already */
        if (record.channel == SHM_REPLY) {
            aries_live_result(link, &record);
        } else if (sim_unlikely(!aries_live_execute(link, &record))) {
            shm_set_aside(shm);
            count++;
            continue;
        } else if (sim_unlikely(sim_trace_on)) {
            aries_live_trace_arrival(link, &record);
        }
        more = shm_release(shm) || all;
        count++;
    }
    return count > 0;
}

static bool sleep_until(sim_time_t deadline, const struct sim_wait *wait, bool watched);

/*
 * A thread polls and finds nothing. Alone on its processor it should continue: that is the fastest.
 * If other threads want the processor, the one that it waits for is among them. Yielding is not
 * enough: under some schedulers (Linux 6.18 with autogroups) threads that yield to each other keep
 * all others from running for minutes. So the thread sleeps when that has lasted for a while.
 */
static sim_cold void yield_or_sleep(struct aries_live *backend)
{
    static const struct sim_wait wait = {.text = "something to do, between polls"};
    uint64_t began = shm_ticks();

    assert(backend->empty_polls >= backend->yield_after && aries_live_lock.owner == &sim_wall_self);
    if (backend->empty_polls < backend->yield_after + YIELD_EVERY)
        backend->empty_since = began; /* the first yield in a row */
    aries_live_yield();
    if (shm_ticks() - began < CROWDED_TICKS) {
        backend->yield_after = YIELD_AFTER;
        return;
    }
    backend->yield_after = YIELD_CROWDED;
    if (began - backend->empty_since > SLEEP_AFTER_TICKS)
        sleep_until(sim_now() + NAP_NS * SIM_NS, &wait, false);
}

void sim_wall_poll(void)
{
    struct aries_live *backend = &aries_live;
    bool found = false;

    assert(aries_live_lock.owner == &sim_wall_self);
    if (sim_likely(backend->shm != NULL))
        found = receive(backend->polls % ALL_EVERY == 0);
    backend->polls++;
    sim_wall.turns++;
    if ((backend->active != NULL || backend->ready != NULL) &&
        (!found || backend->polls % SETTLE_EVERY == 0))
        aries_live_settle();
    if (sim_unlikely(sim_wall.armed) && (backend->paced || backend->polls % CLOCK_EVERY == 0))
        sim_wall_fire();
    if (found)
        backend->empty_polls = 0;
    else if (sim_unlikely(++backend->empty_polls >= backend->yield_after) &&
             backend->empty_polls % YIELD_EVERY == 0)
        yield_or_sleep(backend);
}

/* ---- sleeping -------------------------------------------------------------------------------- */

static void spin(void)
{
    uint32_t depth = aries_live_lock.depth;

    assert(aries_live_lock.owner == &sim_wall_self);
    aries_live_lock.depth = 0;
    aries_live_leave();
    __builtin_ia32_pause();
    aries_live_enter();
    aries_live_lock.depth = depth;
}

/* Sleeps, and listens at the doorbell unless another thread does, or makes progress (`watched`), or
 * is about to: these threads wake the others. When they stop, the carrier's helper takes over.
 * False: a signal handler has run. */
static bool sleep_until(sim_time_t deadline, const struct sim_wait *wait, bool watched)
{
    struct shm *shm = aries_live.shm;
    uint64_t deadline_ns = deadline == SIM_NEVER ? UINT64_MAX : aries_live_ns(deadline);

    assert(aries_live_lock.owner == &sim_wall_self);
    bool undisturbed = true;

    watched |= aries_live_wake_ready() || aries_live_lock.listening || shm == NULL;
    if (watched) {
        undisturbed = aries_live_sleep(wait, deadline_ns, NULL);
    } else if (shm_sleep_begin(shm)) {
        undisturbed = aries_live_sleep(wait, deadline_ns, shm);
        if (aries_live.shm == shm)
            shm_sleep_end(shm);
    }
    return undisturbed;
}

void aries_live_cancelled(struct shm *listens)
{
    assert(aries_live_lock.owner == &sim_wall_self);
    if (listens != NULL && aries_live.shm == listens)
        shm_sleep_end(listens);
    if (aries_live.process != NULL)
        aries_errors_forget(aries_live.process, sim_fiber_self());
}

void aries_live_request_progress(bool changes)
{
    const struct aries_live *backend = &aries_live;

    assert(aries_live_lock.owner == &sim_wall_self);
    if (backend->shm != NULL && (changes || backend->ready != NULL || backend->active != NULL))
        shm_request_progress(backend->shm);
}

bool sim_wait_until(sim_time_t deadline, const struct sim_wait *wait)
{
    uint32_t changes = sim_wall.changes,
             polls = aries_live.polls; /* to notice the polls of other threads */
    sim_time_t began = 0, now, next;
    bool undisturbed = true;

    assert(wait != NULL && aries_live_lock.owner == &sim_wall_self);
    signalled = false;
    for (;;) {
        sim_wall_poll();
        polls++;
        now = sim_now();
        if (sim_wall.armed)
            sim_wall_fire();
        if (changes != sim_wall.changes && (wait->ready == NULL || wait->ready(wait->on)))
            return true;
        signalled = !undisturbed;
        if (signalled)
            return true;
        changes = sim_wall.changes;
        if (now >= deadline)
            return false;
        began = began == 0 ? now : began;
        if (now - began < SPIN_NS * SIM_NS || aries_live.ready != NULL) {
            spin();
            continue;
        }
        next = sim_wall_next();
        undisturbed =
            sleep_until(next < deadline ? next : deadline, wait, polls != aries_live.polls);
        polls = aries_live.polls;
    }
}

bool aries_interrupted(struct aries_process *process)
{
    bool was = signalled;

    (void)process;
    signalled = false;
    return was;
}

/* ---- the helper ------------------------------------------------------------------------------ */

/* Registered memory may have been unmapped: mem_copy.c relies on its signal handler. */
static void unblock_faults(void)
{
    sigset_t faults;

    if (aries_live_is_helper)
        return;
    aries_live_is_helper = true;
    sigemptyset(&faults);
    sigaddset(&faults, SIGSEGV);
    sigaddset(&faults, SIGBUS);
    pthread_sigmask(SIG_UNBLOCK, &faults, NULL);
}

static void helper_lock(void *arg)
{
    (void)arg;
    unblock_faults();
    aries_live_enter();
}

static void helper_unlock(void *arg)
{
    (void)arg;
    aries_live_leave();
}

static uint64_t helper_progress(void *arg)
{
    static uint64_t watch_ns;
    uint64_t now = aries_live_ns(sim_now()), next;

    assert(aries_live_is_helper && aries_live_lock.owner == &sim_wall_self);
    (void)arg;
    if (aries_live.shm == NULL)
        return UINT64_MAX;
    receive(true);
    if (sim_wall.armed)
        sim_wall_fire();
    aries_live_settle(); /* also operations that have just ended */
    if (now >= watch_ns) {
        aries_live_watch_publish();
        sim_trace_flush(sim_now());
        watch_ns = now + ARIES_WATCH_EVERY_NS;
    }
    next = aries_live_ns(sim_wall_next());
    return next < watch_ns ? next : watch_ns;
}

void aries_live_helper_begin(void)
{
    static const struct shm_helper helper = {helper_lock, helper_unlock, helper_progress, NULL};

    assert(aries_live.shm != NULL && aries_live_lock.owner == &sim_wall_self);
    if (!aries_live.helped && shm_helper_start(aries_live.shm, &helper) == 0)
        aries_live.helped = true;
}

/* ---- processes ------------------------------------------------------------------------------- */

void aries_process_wake(struct aries_process *process)
{
    (void)process;
    sim_wall.changes++;
}

void aries_process_written(struct aries_process *process)
{
    (void)process;
    sim_wall.changes++;
}

void aries_spin(bool (*ready)(const void *arg), const void *arg)
{
    while (!ready(arg)) {
        aries_live_enter();
        sim_wall_poll();
        aries_live_leave();
    }
}
