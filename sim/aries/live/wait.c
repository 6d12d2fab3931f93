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
#define PATIENCE_TICKS 3000000u /* some millisecond of that in vain, and it sleeps */
#define NAP_NS 200000u /* then; a doorbell ends it */

/* The last wait of this thread ended because a signal's handler has run. */
static _Thread_local bool signalled __attribute__((tls_model("initial-exec")));

/* `all`: from all rings, else from the first that has a record: the caller waits for what it
 * brought more likely than for what may be in another one. */
static bool receive(bool all)
{
    struct live *live = lnic_backend.live;
    struct live_record record;
    unsigned count = 0;
    bool more = true;

    while (more && count < RECORDS && live_next(live, &record)) {
        struct lnic_link *link = record.from->user;

        if (sim_unlikely(link == NULL))
            link = lnic_link_to(record.from); /* which may have ended already */
        if (record.channel == LIVE_REPLY) {
            lnic_result(link, &record);
        } else if (sim_unlikely(!lnic_execute(link, &record))) {
            live_set_aside(live);
            count++;
            continue;
        } else if (sim_unlikely(sim_trace_on)) {
            lnic_trace_arrival(link, &record);
        }
        more = live_release(live) || all;
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
static sim_cold void give_way(struct lnic_backend *backend)
{
    static const struct sim_wait wait = {.text = "something to do, between polls"};
    uint64_t began = live_ticks();

    if (backend->fruitless < backend->patience + YIELD_EVERY)
        backend->vain_since = began; /* the first time in a row */
    lnic_yield();
    if (live_ticks() - began < CROWDED_TICKS) {
        backend->patience = YIELD_AFTER;
        return;
    }
    backend->patience = YIELD_CROWDED;
    if (began - backend->vain_since > PATIENCE_TICKS)
        sleep_until(sim_now() + NAP_NS * SIM_NS, &wait, false);
}

void sim_wall_poll(void)
{
    struct lnic_backend *backend = &lnic_backend;
    bool found = false;

    if (sim_likely(backend->live != NULL))
        found = receive(backend->looks % ALL_EVERY == 0);
    backend->looks++;
    sim_wall.turns++;
    if ((backend->active != NULL || backend->ready != NULL) &&
        (!found || backend->looks % SETTLE_EVERY == 0))
        lnic_settle();
    if (sim_unlikely(sim_wall.armed) && (backend->paced || backend->looks % CLOCK_EVERY == 0))
        sim_wall_fire();
    if (found)
        backend->fruitless = 0;
    else if (sim_unlikely(++backend->fruitless >= backend->patience) &&
             backend->fruitless % YIELD_EVERY == 0)
        give_way(backend);
}

/* ---- sleeping -------------------------------------------------------------------------------- */

static void spin(void)
{
    uint32_t depth = lnic_lock.depth;

    lnic_lock.depth = 0;
    lnic_leave();
    __builtin_ia32_pause();
    lnic_enter();
    lnic_lock.depth = depth;
}

/*
 * Listens at the doorbell, unless another thread does, or makes progress (`watched`), or will:
 * these wake whoever they find something for. When they stop, the carrier's helper comes. False: a
 * signal's handler has run.
 */
static bool sleep_until(sim_time_t deadline, const struct sim_wait *wait, bool watched)
{
    struct live *live = lnic_backend.live;
    uint64_t deadline_ns = deadline == SIM_NEVER ? UINT64_MAX : lnic_ns(deadline);

    bool undisturbed = true;

    watched |= lnic_rouse() || lnic_lock.listening || live == NULL;
    if (watched) {
        undisturbed = lnic_sleep(wait, deadline_ns, NULL);
    } else if (live_sleep_begin(live)) {
        undisturbed = lnic_sleep(wait, deadline_ns, live);
        if (lnic_backend.live == live)
            live_sleep_end(live);
    }
    return undisturbed;
}

void lnic_cancelled(struct live *listens)
{
    if (listens != NULL && lnic_backend.live == listens)
        live_sleep_end(listens);
    if (lnic_backend.process != NULL)
        aries_errors_forget(lnic_backend.process, sim_fiber_self());
}

void lnic_look_soon(bool changes)
{
    const struct lnic_backend *backend = &lnic_backend;

    if (backend->live != NULL && (changes || backend->ready != NULL || backend->active != NULL))
        live_look_soon(backend->live);
}

bool sim_wait_until(sim_time_t deadline, const struct sim_wait *wait)
{
    uint32_t changes = sim_wall.changes, looks = lnic_backend.looks; /* without those of others */
    sim_time_t began = 0, now, next;
    bool undisturbed = true;

    signalled = false;
    for (;;) {
        sim_wall_poll();
        looks++;
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
        if (now - began < SPIN_NS * SIM_NS || lnic_backend.ready != NULL) {
            spin();
            continue;
        }
        next = sim_wall_next();
        undisturbed =
            sleep_until(next < deadline ? next : deadline, wait, looks != lnic_backend.looks);
        looks = lnic_backend.looks;
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

    if (lnic_is_helper)
        return;
    lnic_is_helper = true;
    sigemptyset(&faults);
    sigaddset(&faults, SIGSEGV);
    sigaddset(&faults, SIGBUS);
    pthread_sigmask(SIG_UNBLOCK, &faults, NULL);
}

static void helper_lock(void *arg)
{
    (void)arg;
    unblock_faults();
    lnic_enter();
}

static void helper_unlock(void *arg)
{
    (void)arg;
    lnic_leave();
}

static uint64_t helper_progress(void *arg)
{
    static uint64_t watch_ns;
    uint64_t now = lnic_ns(sim_now()), next;

    (void)arg;
    if (lnic_backend.live == NULL)
        return UINT64_MAX;
    receive(true);
    if (sim_wall.armed)
        sim_wall_fire();
    lnic_settle(); /* also what that has ended */
    if (now >= watch_ns) {
        lnic_watch_take();
        sim_trace_flush(sim_now());
        watch_ns = now + WATCH_EVERY_NS;
    }
    next = lnic_ns(sim_wall_next());
    return next < watch_ns ? next : watch_ns;
}

void lnic_helper_begin(void)
{
    static const struct live_helper helper = {helper_lock, helper_unlock, helper_progress, NULL};

    if (!lnic_backend.helped && live_helper_start(lnic_backend.live, &helper) == 0)
        lnic_backend.helped = true;
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
        lnic_enter();
        sim_wall_poll();
        lnic_leave();
    }
}
