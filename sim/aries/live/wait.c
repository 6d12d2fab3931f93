/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Looking for what others brought, and sleeping until they bring something. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "backend.h"

#include <pthread.h>
#include <signal.h>
#include "nic/error_event.h"
#include "lock.h"
#include "aries/watch.h"

#define RECORDS 64u /* in one look, so that the program gets on */
#define ALL_EVERY 8u /* looks, before all rings are looked at in any case */
#define SETTLE_EVERY 8u /* looks that found records, before acknowledgements are looked at */
#define CLOCK_EVERY 32u
#define SPIN_NS 5000u /* before a thread sleeps */
#define YIELD_AFTER 512u /* fruitless looks, and then every so often: others want the CPU */
#define YIELD_CROWDED 32u /* the same where they did at the last time */
#define YIELD_EVERY 16u
#define CROWDED_TICKS 10000u /* a yield takes as long when somebody else ran (some 4 us) */
#define SLEEP_AFTER_TICKS 3000000u /* some millisecond of that in vain, and it sleeps */
#define NAP_NS 200000u /* then; a doorbell ends it */

/* The last wait of this thread ended because a signal's handler has run. */
static _Thread_local bool signalled __attribute__((tls_model("initial-exec")));

/* `all`: from all rings, else from the first that has a record: the caller waits for what it
 * brought more likely than for what may be in another one. */
static bool receive(bool all)
{
    struct shm *shm = aries_live.shm;
    struct shm_record record;
    unsigned count = 0;
    bool more = true;

    while (more && count < RECORDS && shm_next(shm, &record)) {
        struct aries_live_link *link = record.from->user;

        if (sim_unlikely(link == NULL))
            link = aries_live_link_to(record.from); /* which may have ended already */
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
 * Somebody polls in vain. Alone on its processor it may: that is the fastest. Where others want the
 * processor, whoever is waited for is among them, and to take turns in yielding is not enough: some
 * schedulers (Linux 6.18 with autogroups) let those who yield to each other starve everybody else
 * for minutes. So it sleeps when that has lasted for a while.
 */
static sim_cold void yield_or_sleep(struct aries_live *backend)
{
    static const struct sim_wait wait = {.text = "something to do, between polls"};
    uint64_t began = shm_ticks();

    if (backend->empty_polls < backend->yield_after + YIELD_EVERY)
        backend->empty_since = began; /* the first time in a row */
    aries_live_yield();
    if (shm_ticks() - began < CROWDED_TICKS) {
        backend->yield_after = YIELD_AFTER;
        return;
    }
    backend->yield_after = YIELD_CROWDED;
    if (began - backend->empty_since > SLEEP_AFTER_TICKS)
        sleep_until(sim_now() + NAP_NS * SIM_NS, &wait, false);
}

void sim_wall_look(void)
{
    struct aries_live *backend = &aries_live;
    bool found = false;

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

    aries_live_lock.depth = 0;
    aries_live_leave();
    __builtin_ia32_pause();
    aries_live_enter();
    aries_live_lock.depth = depth;
}

/*
 * Listens at the doorbell, unless another thread does, or makes progress (`watched`), or will:
 * these wake whoever they find something for. When they stop, the carrier's helper comes. False: a
 * signal's handler has run.
 */
static bool sleep_until(sim_time_t deadline, const struct sim_wait *wait, bool watched)
{
    struct shm *shm = aries_live.shm;
    uint64_t deadline_ns = deadline == SIM_NEVER ? UINT64_MAX : aries_live_ns(deadline);

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
    if (listens != NULL && aries_live.shm == listens)
        shm_sleep_end(listens);
    if (aries_live.process != NULL)
        aries_errors_forget(aries_live.process, sim_fiber_self());
}

void aries_live_request_progress(bool changes)
{
    const struct aries_live *backend = &aries_live;

    if (backend->shm != NULL && (changes || backend->ready != NULL || backend->active != NULL))
        shm_request_progress(backend->shm);
}

bool sim_wait_until(sim_time_t deadline, const struct sim_wait *wait)
{
    uint32_t changes = sim_wall.changes, polls = aries_live.polls; /* without those of others */
    sim_time_t began = 0, now, next;
    bool undisturbed = true;

    signalled = false;
    for (;;) {
        sim_wall_look();
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

/* Memory that is registered may be gone: the copy of mem_copy.c counts on its handler. */
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

    (void)arg;
    if (aries_live.shm == NULL)
        return UINT64_MAX;
    receive(true);
    if (sim_wall.armed)
        sim_wall_fire();
    aries_live_settle(); /* also what that has ended */
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
        sim_wall_look();
        aries_live_leave();
    }
}
