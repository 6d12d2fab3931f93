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
#define NAP_NS 200000u /* after which who waits for the lock looks again by itself */

#define PATIENCE_TICKS 60000u /* some 20 us */
#define PATIENCE_LOOKS 4u /* and so many looks: the thread that polls may not have had the CPU */
#define LOOK_EVERY 16u

/*
 * A semaphore on which a thread sleeps: sem_clockwait() is a cancellation point, as ppoll() is for
 * the thread that listens at the doorbell, so no thread has to be cancellable at any instruction.
 * Whoever wakes a thread does so without the lock, when that may have gone already: so wakers are
 * never freed, and a post that comes late ends the sleep of another thread too early, which is
 * permitted.
 */
struct lnic_waker {
    sem_t posts;
    struct lnic_waker *next; /* free */
};

struct lnic_lock lnic_lock;
_Thread_local bool lnic_is_helper;

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

sim_cold void lnic_enter_slowly(void)
{
    unsigned spins = 0;
    uint32_t seen;

    if (__atomic_load_n(&lnic_lock.owner, __ATOMIC_RELAXED) == &sim_wall_self) {
        lnic_lock.depth++;
        return;
    }
    for (; spins < SPINS; spins++) {
        if (__atomic_load_n(&lnic_lock.owner, __ATOMIC_RELAXED) == NULL && lnic_try_enter())
            return;
        __builtin_ia32_pause();
    }
    for (;;) {
        seen = __atomic_load_n(&lnic_lock.turn, __ATOMIC_SEQ_CST);
        __atomic_fetch_or(&lnic_lock.attention, 1, __ATOMIC_SEQ_CST);
        if (lnic_try_enter())
            break;
        futex_wait(&lnic_lock.turn, seen, sim_now() / SIM_NS + NAP_NS);
    }
}

/* False: as many are to be woken already as can be remembered. */
static sim_cold bool remember(struct lnic_sleeper *sleeper)
{
    if (sleeper->listens != NULL)
        lnic_lock.listener = sleeper->listens;
    else if (lnic_lock.wakes == LNIC_WAKES)
        return false;
    else
        lnic_lock.wakers[lnic_lock.wakes++] = sleeper->waker;
    assert(lnic_lock.wakes <= LNIC_WAKES);
    __atomic_store_n(&sleeper->woken, 1, __ATOMIC_RELAXED);
    return true;
}

/*
 * Looks for those among the sleepers who would find what they wait for. A thread that polls mostly
 * takes it itself, and in the next moment: then to wake another one was work for both. So that
 * waits a little, as interrupts do on hardware, unless nobody polls (`at_once`).
 */
static void look_for_wakes(bool at_once)
{
    struct lnic_sleeper *sleeper;
    uint64_t now;

    lnic_lock.told = sim_wall.changes;
    lnic_lock.pending = false;
    for (sleeper = lnic_lock.sleepers; sleeper != NULL; sleeper = sleeper->next) {
        if (sleeper->woken)
            continue;
        if (sleeper->wait->ready != NULL && !sleeper->wait->ready(sleeper->wait->on)) {
            sleeper->since = 0;
            continue;
        }
        now = live_ticks();
        if (sleeper->since == 0) {
            sleeper->since = now;
            sleeper->looks = 0;
        }
        if ((!at_once &&
             (++sleeper->looks <= PATIENCE_LOOKS || now - sleeper->since <= PATIENCE_TICKS)) ||
            !remember(sleeper))
            lnic_lock.pending = true;
    }
}

static bool news(void)
{
    return lnic_lock.told != sim_wall.changes || lnic_lock.pending;
}

bool lnic_rouse(void)
{
    struct lnic_sleeper *sleeper;

    if (news())
        look_for_wakes(true);
    for (sleeper = lnic_lock.sleepers; sleeper != NULL; sleeper = sleeper->next)
        if (sleeper->woken)
            return true;
    return false;
}

void lnic_leave_slowly(void)
{
    struct lnic_waker *wakers[LNIC_WAKES];
    uint32_t wakes, i;
    struct live *listener;
    bool wakes_lockers = false;

    if (lnic_lock.sleepers != NULL && news() &&
        (++lnic_lock.leaves % LOOK_EVERY == 0 || lnic_is_helper))
        look_for_wakes(lnic_is_helper);
    wakes = lnic_lock.wakes;
    listener = lnic_lock.listener;
    if (lnic_lock.sleepers != NULL && wakes == 0 && listener == NULL && !lnic_is_helper)
        lnic_look_soon(news());
    for (i = 0; i < wakes; i++)
        wakers[i] = lnic_lock.wakers[i];
    lnic_lock.wakes = 0;
    lnic_lock.listener = NULL;
    __atomic_store_n(&lnic_lock.owner, NULL, __ATOMIC_RELEASE);
    /* Once for all: who does not get it asks again. */
    if ((__atomic_load_n(&lnic_lock.attention, __ATOMIC_RELAXED) & 1) != 0) {
        __atomic_fetch_and(&lnic_lock.attention, ~1u, __ATOMIC_SEQ_CST);
        wakes_lockers = true;
    }
    if (wakes_lockers) {
        __atomic_fetch_add(&lnic_lock.turn, 1, __ATOMIC_SEQ_CST);
        futex_wake(&lnic_lock.turn);
    }
    for (i = 0; i < wakes; i++)
        sem_post(&wakers[i]->posts);
    if (listener != NULL)
        live_wake(listener);
}

/* ---- sleeping -------------------------------------------------------------------------------- */

static struct lnic_waker *waker_take(void)
{
    struct lnic_waker *waker = lnic_lock.free_wakers;

    assert(lnic_lock.owner == &sim_wall_self);
    if (waker != NULL) {
        lnic_lock.free_wakers = waker->next;
        while (sem_trywait(&waker->posts) == 0)
            ;
        return waker;
    }
    waker = g_new(struct lnic_waker, 1);
    sem_init(&waker->posts, 0, 0);
    return waker;
}

static void waker_give_back(struct lnic_waker *waker)
{
    assert(lnic_lock.owner == &sim_wall_self);
    if (waker == NULL)
        return;
    waker->next = lnic_lock.free_wakers;
    lnic_lock.free_wakers = waker;
}

/* False: a signal's handler has run. With a time in any case: without one the C library's call
 * begins anew after a handler with SA_RESTART. */
static bool waker_wait(struct lnic_waker *waker, uint64_t deadline_ns)
{
    struct timespec until = {.tv_sec = (time_t)(deadline_ns / 1000000000u),
                             .tv_nsec = (long)(deadline_ns % 1000000000u)};

    return sem_clockwait(&waker->posts, CLOCK_MONOTONIC, &until) == 0 || errno != EINTR;
}

struct sleep {
    struct lnic_sleeper sleeper;
    uint32_t depth; /* of the lock */
};

static void sleep_over(struct sleep *sleep)
{
    struct lnic_sleeper **at;

    lnic_enter();
    for (at = &lnic_lock.sleepers; *at != &sleep->sleeper; at = &(*at)->next)
        ;
    *at = sleep->sleeper.next;
    waker_give_back(sleep->sleeper.waker);
    if (sleep->sleeper.listens != NULL)
        lnic_lock.listening = false;
    __atomic_fetch_sub(&lnic_lock.attention, 2, __ATOMIC_RELAXED);
    lnic_lock.depth = sleep->depth;
}

/* The thread ends here (pthread_cancel): it leaves nothing behind. */
static void cancelled(void *arg)
{
    struct sleep *sleep = arg;

    sleep_over(sleep);
    lnic_cancelled(sleep->sleeper.listens);
    lnic_lock.depth = 0;
    lnic_leave();
}

/* The address sanitizer takes the unwinding of a cancelled thread for an overrun of this frame. */
__attribute__((no_sanitize_address)) bool lnic_sleep(const struct sim_wait *wait,
                                                     uint64_t deadline_ns, struct live *listens)
{
    struct sleep sleep = {
        {lnic_lock.sleepers, wait, listens, 0, 0, listens == NULL ? waker_take() : NULL, 0},
        lnic_lock.depth};
    bool undisturbed;
    int state, type;

    assert(lnic_lock.owner == &sim_wall_self && (listens == NULL || !lnic_lock.listening));
    lnic_lock.sleepers = &sleep.sleeper;
    lnic_lock.listening |= listens != NULL;
    __atomic_fetch_add(&lnic_lock.attention, 2, __ATOMIC_SEQ_CST);
    lnic_lock.depth = 0;
    lnic_leave();
    pthread_cleanup_push(cancelled, &sleep);
    pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type); /* whatever the program has set */
    pthread_setcancelstate(lnic_cancel_state, &state);
    if (lnic_cancel_state == PTHREAD_CANCEL_ENABLE)
        pthread_testcancel();
    if (listens != NULL)
        undisturbed = live_sleep(listens, deadline_ns);
    else
        undisturbed = waker_wait(sleep.sleeper.waker, deadline_ns);
    pthread_setcancelstate(state, NULL);
    pthread_setcanceltype(type, NULL);
    pthread_cleanup_pop(0);
    sleep_over(&sleep);
    return undisturbed;
}

void lnic_yield(void)
{
    uint32_t depth = lnic_lock.depth;

    lnic_lock.depth = 0;
    lnic_leave();
    sched_yield();
    lnic_enter();
    lnic_lock.depth = depth;
}

void lnic_lock_forked(void)
{
    lnic_lock = (struct lnic_lock){NULL};
}
