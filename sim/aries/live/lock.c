/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "lock.h"

#include <assert.h>
#include <errno.h>
#include <glib.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "shm/shm.h"

#define SPINS 200u
#define NAP_NS 200000u /* after which a thread that waits for the lock tries again */

#define WAKE_DELAY_TICKS 60000u /* some 20 us */
#define WAKE_DELAY_POLLS 4u /* and so many polls: the polling thread may not have had the CPU */
#define SCAN_EVERY 16u

/*
 * A semaphore on which a thread sleeps. sem_clockwait() is a cancellation point, as ppoll() is for
 * the thread that listens at the doorbell, so no thread has to be cancellable at any instruction. A
 * thread wakes another one without the lock, when that one may have ended its sleep already. So
 * wakers are never freed, and a late post ends the sleep of another thread too early, which is
 * permitted.
 */
struct aries_live_waker {
    sem_t posts;
    struct aries_live_waker *next; /* free */
};

struct aries_live_lock aries_live_lock;
_Thread_local bool aries_live_is_helper;

static void futex_wait(uint32_t *word, uint32_t seen, uint64_t deadline_ns)
{
    struct timespec until = {.tv_sec = (time_t)(deadline_ns / 1000000000u),
                             .tv_nsec = (long)(deadline_ns % 1000000000u)};

    syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, seen, &until, NULL, FUTEX_BITSET_MATCH_ANY);
}

static sim_cold void futex_wake(uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

sim_cold void aries_live_enter_slow(void)
{
    unsigned spins = 0;
    uint32_t seen;

    if (__atomic_load_n(&aries_live_lock.owner, __ATOMIC_RELAXED) == &sim_wall_self) {
        aries_live_lock.depth++;
        return;
    }
    for (; spins < SPINS; spins++) {
        if (__atomic_load_n(&aries_live_lock.owner, __ATOMIC_RELAXED) == NULL &&
            aries_live_try_enter())
            return;
        __builtin_ia32_pause();
    }
    for (;;) {
        seen = __atomic_load_n(&aries_live_lock.turn, __ATOMIC_SEQ_CST);
        __atomic_fetch_or(&aries_live_lock.attention, 1, __ATOMIC_SEQ_CST);
        if (aries_live_try_enter())
            break;
        futex_wait(&aries_live_lock.turn, seen, sim_now() / SIM_NS + NAP_NS);
    }
}

/* False: the list of threads to be woken is full. */
static sim_cold bool queue_wake(struct aries_live_sleeper *sleeper)
{
    if (sleeper->listens != NULL)
        aries_live_lock.listener = sleeper->listens;
    else if (aries_live_lock.wakes == ARIES_LIVE_WAKES)
        return false;
    else
        aries_live_lock.wakers[aries_live_lock.wakes++] = sleeper->waker;
    assert(aries_live_lock.wakes <= ARIES_LIVE_WAKES);
    __atomic_store_n(&sleeper->woken, 1, __ATOMIC_RELAXED);
    return true;
}

/*
 * Finds the sleeping threads whose condition is true. A thread that polls usually handles the
 * change itself, in the next moment: waking another thread would be work for both. So a thread is
 * woken after a short delay, as by an interrupt on hardware, or at once if no thread polls
 * (`at_once`).
 */
static void scan_sleepers(bool at_once)
{
    struct aries_live_sleeper *sleeper;
    uint64_t now;

    aries_live_lock.seen_changes = sim_wall.changes;
    aries_live_lock.pending = false;
    for (sleeper = aries_live_lock.sleepers; sleeper != NULL; sleeper = sleeper->next) {
        if (sleeper->woken)
            continue;
        if (sleeper->wait->ready != NULL && !sleeper->wait->ready(sleeper->wait->on)) {
            sleeper->since = 0;
            continue;
        }
        now = shm_ticks();
        if (sleeper->since == 0) {
            sleeper->since = now;
            sleeper->polls = 0;
        }
        if ((!at_once &&
             (++sleeper->polls <= WAKE_DELAY_POLLS || now - sleeper->since <= WAKE_DELAY_TICKS)) ||
            !queue_wake(sleeper))
            aries_live_lock.pending = true;
    }
}

static bool has_changes(void)
{
    return aries_live_lock.seen_changes != sim_wall.changes || aries_live_lock.pending;
}

bool aries_live_wake_ready(void)
{
    struct aries_live_sleeper *sleeper;

    if (has_changes())
        scan_sleepers(true);
    for (sleeper = aries_live_lock.sleepers; sleeper != NULL; sleeper = sleeper->next)
        if (sleeper->woken)
            return true;
    return false;
}

void aries_live_leave_slow(void)
{
    struct aries_live_waker *wakers[ARIES_LIVE_WAKES];
    uint32_t wakes, i;
    struct shm *listener;
    bool wakes_lockers = false;

    if (aries_live_lock.sleepers != NULL && has_changes() &&
        (++aries_live_lock.leaves % SCAN_EVERY == 0 || aries_live_is_helper))
        scan_sleepers(aries_live_is_helper);
    wakes = aries_live_lock.wakes;
    listener = aries_live_lock.listener;
    if (aries_live_lock.sleepers != NULL && wakes == 0 && listener == NULL && !aries_live_is_helper)
        aries_live_request_progress(has_changes());
    for (i = 0; i < wakes; i++)
        wakers[i] = aries_live_lock.wakers[i];
    aries_live_lock.wakes = 0;
    aries_live_lock.listener = NULL;
    __atomic_store_n(&aries_live_lock.owner, NULL, __ATOMIC_RELEASE);
    /* Wakes all of them: a thread that does not get the lock tries again. */
    if ((__atomic_load_n(&aries_live_lock.attention, __ATOMIC_RELAXED) & 1) != 0) {
        __atomic_fetch_and(&aries_live_lock.attention, ~1u, __ATOMIC_SEQ_CST);
        wakes_lockers = true;
    }
    if (wakes_lockers) {
        __atomic_fetch_add(&aries_live_lock.turn, 1, __ATOMIC_SEQ_CST);
        futex_wake(&aries_live_lock.turn);
    }
    for (i = 0; i < wakes; i++)
        sem_post(&wakers[i]->posts);
    if (listener != NULL)
        shm_wake(listener);
}

/* ---- sleeping -------------------------------------------------------------------------------- */

static struct aries_live_waker *waker_take(void)
{
    struct aries_live_waker *waker = aries_live_lock.free_wakers;

    assert(aries_live_lock.owner == &sim_wall_self);
    if (waker != NULL) {
        aries_live_lock.free_wakers = waker->next;
        while (sem_trywait(&waker->posts) == 0)
            ;
        return waker;
    }
    waker = g_new(struct aries_live_waker, 1);
    sem_init(&waker->posts, 0, 0);
    return waker;
}

static void waker_give_back(struct aries_live_waker *waker)
{
    assert(aries_live_lock.owner == &sim_wall_self);
    if (waker == NULL)
        return;
    waker->next = aries_live_lock.free_wakers;
    aries_live_lock.free_wakers = waker;
}

/* False: a signal handler has run. There is always a deadline, because without one the C library
 * restarts the call after a handler with SA_RESTART. */
static bool waker_wait(struct aries_live_waker *waker, uint64_t deadline_ns)
{
    struct timespec until = {.tv_sec = (time_t)(deadline_ns / 1000000000u),
                             .tv_nsec = (long)(deadline_ns % 1000000000u)};

    return sem_clockwait(&waker->posts, CLOCK_MONOTONIC, &until) == 0 || errno != EINTR;
}

struct sleep {
    struct aries_live_sleeper sleeper;
    uint32_t depth; /* of the lock */
};

static void sleep_end(struct sleep *sleep)
{
    struct aries_live_sleeper **at;

    aries_live_enter();
    for (at = &aries_live_lock.sleepers; *at != &sleep->sleeper; at = &(*at)->next)
        ;
    *at = sleep->sleeper.next;
    waker_give_back(sleep->sleeper.waker);
    if (sleep->sleeper.listens != NULL)
        aries_live_lock.listening = false;
    __atomic_fetch_sub(&aries_live_lock.attention, 2, __ATOMIC_RELAXED);
    aries_live_lock.depth = sleep->depth;
}

/* The thread is cancelled (pthread_cancel): it releases everything. */
static void cancelled(void *arg)
{
    struct sleep *sleep = arg;

    sleep_end(sleep);
    aries_live_cancelled(sleep->sleeper.listens);
    aries_live_lock.depth = 0;
    aries_live_leave();
}

/* The address sanitizer mistakes the unwinding of a cancelled thread for an overrun of this frame.
 */
__attribute__((no_sanitize_address)) bool
aries_live_sleep(const struct sim_wait *wait, uint64_t deadline_ns, struct shm *listens)
{
    struct sleep sleep = {
        {aries_live_lock.sleepers, wait, listens, 0, 0, listens == NULL ? waker_take() : NULL, 0},
        aries_live_lock.depth};
    bool undisturbed;
    int state, type;

    assert(aries_live_lock.owner == &sim_wall_self &&
           (listens == NULL || !aries_live_lock.listening));
    aries_live_lock.sleepers = &sleep.sleeper;
    aries_live_lock.listening |= listens != NULL;
    __atomic_fetch_add(&aries_live_lock.attention, 2, __ATOMIC_SEQ_CST);
    aries_live_lock.depth = 0;
    aries_live_leave();
    pthread_cleanup_push(cancelled, &sleep);
    pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type); /* whatever the program has set */
    pthread_setcancelstate(aries_live_cancel_state, &state);
    if (aries_live_cancel_state == PTHREAD_CANCEL_ENABLE)
        pthread_testcancel();
    if (listens != NULL)
        undisturbed = shm_sleep(listens, deadline_ns);
    else
        undisturbed = waker_wait(sleep.sleeper.waker, deadline_ns);
    pthread_setcancelstate(state, NULL);
    pthread_setcanceltype(type, NULL);
    pthread_cleanup_pop(0);
    sleep_end(&sleep);
    return undisturbed;
}

void aries_live_yield(void)
{
    uint32_t depth = aries_live_lock.depth;

    aries_live_lock.depth = 0;
    aries_live_leave();
    sched_yield();
    aries_live_enter();
    aries_live_lock.depth = depth;
}

void aries_live_lock_forked(void)
{
    aries_live_lock = (struct aries_live_lock){NULL};
}
