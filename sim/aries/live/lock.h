/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The lock of the process: whoever is inside of libugni has it. Taken again by the thread that has
 * it (a callback of the program calls the library) it counts.
 */
#ifndef JACQUARD_ARIES_LIVE_LOCK_H
#define JACQUARD_ARIES_LIVE_LOCK_H

#include "engine/sim.h"

#define LNIC_WAKES 8u /* at once; others at the next opportunity */

struct live;
struct lnic_waker; /* lock.c */

struct lnic_sleeper { /* on the stack of a thread that waits for a change */
    struct lnic_sleeper *next;
    const struct sim_wait *wait;
    struct live *listens; /* at this process's doorbell; NULL: others do, and wake it */
    uint64_t since; /* ticks: so long there has been something for it; 0: there is nothing */
    uint32_t looks; /* that found so since then */
    struct lnic_waker *waker; /* what it sleeps on, unless it listens */
    uint32_t woken; /* 1: it will look as soon as it gets a CPU */
};

struct lnic_lock {
    const char *owner; /* &sim_wall_self of the thread inside; NULL: nobody */
    uint32_t depth; /* how often that took it besides */
    uint32_t attention; /* 1: a thread sleeps that wants it; + 2 for each that waits for changes */
    uint32_t turn; /* futex of those who want it */
    uint32_t told; /* changes (sim_wall.changes) that were shown to those that sleep */
    struct lnic_sleeper *sleepers;
    bool pending; /* there is something for one of them, which may be gone soon */
    bool listening; /* one of them is at the doorbell */
    uint32_t leaves;
    uint32_t wakes; /* of `wakers`: whom the next one who leaves wakes */
    struct lnic_waker *wakers[LNIC_WAKES];
    struct lnic_waker *free_wakers;
    struct live *listener; /* whose listener it wakes; NULL: none */
} __attribute__((aligned(SIM_LINE)));
extern struct lnic_lock lnic_lock __attribute__((visibility("hidden")));
extern _Thread_local bool lnic_is_helper __attribute__((
    visibility("hidden"), tls_model("initial-exec"))); /* the calling thread is the carrier's */
/* Set in calls that wait. */
extern _Thread_local int lnic_cancel_state
    __attribute__((visibility("hidden"), tls_model("initial-exec")));

void lnic_enter_slowly(void);
void lnic_leave_slowly(void);

static inline void lnic_enter(void)
{
    const char *nobody = NULL;

    if (sim_unlikely(!__atomic_compare_exchange_n(&lnic_lock.owner, &nobody, &sim_wall_self, false,
                                                  __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)))
        lnic_enter_slowly();
}

static inline void lnic_leave(void)
{
    if (sim_unlikely(lnic_lock.depth > 0)) {
        lnic_lock.depth--;
        return;
    }
    /*
     * A thread that begins to wait for the lock just now is not woken: it looks again by itself,
     * soon. Those that sleep until something changes began to do so inside.
     */
    if (sim_unlikely(__atomic_load_n(&lnic_lock.attention, __ATOMIC_RELAXED) > 0))
        lnic_leave_slowly();
    else
        __atomic_store_n(&lnic_lock.owner, NULL, __ATOMIC_RELEASE);
}

static inline bool lnic_try_enter(void)
{
    const char *nobody = NULL;

    return __atomic_compare_exchange_n(&lnic_lock.owner, &nobody, &sim_wall_self, false,
                                       __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

/*
 * Gives the lock back however often it was taken, sleeps until there is something for `wait` or
 * CLOCK_MONOTONIC reaches deadline_ns (UINT64_MAX: none), takes it again. May return early. With
 * `listens` (live_sleep_begin has been called) it wakes for what comes to the process, too. False:
 * a signal's handler has run.
 */
bool lnic_sleep(const struct sim_wait *wait, uint64_t deadline_ns, struct live *listens);
/* Those who sleep and have something to do will wake; false: there are none. */
bool lnic_rouse(void);
/* Lets another thread in that wants to, and another process have the CPU. */
void lnic_yield(void);
void lnic_lock_forked(void); /* in the child */
/* wait.c: others sleep, and this thread may not call again: the helper sees to what it has left
 * under way, and to `changes` that they were not shown. */
void lnic_look_soon(bool changes);
/* wait.c, with the lock: a thread that slept ends; `listens` as for lnic_sleep. */
void lnic_cancelled(struct live *listens);

#endif
