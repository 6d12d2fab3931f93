/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The lock of the process: a thread holds it while it is inside libugni. It is recursive, for
 * callbacks of the program that call the library. */
#ifndef JACQUARD_ARIES_LIVE_LOCK_H
#define JACQUARD_ARIES_LIVE_LOCK_H

#include "engine/sim.h"

#define ARIES_LIVE_WAKES 8u /* at most at a time; the others at the next opportunity */

struct shm;
struct aries_live_waker; /* lock.c */

struct aries_live_sleeper { /* a thread that waits for a change; on its stack */
    struct aries_live_sleeper *next;
    const struct sim_wait *wait;
    struct shm *listens; /* listens at the doorbell of this membership; NULL: another thread does,
                            and wakes this one */
    uint64_t since; /* ticks since its condition has been true; 0: it is false */
    uint32_t polls; /* polls that found the condition true since then */
    struct aries_live_waker *waker; /* its semaphore, unless it listens */
    uint32_t woken; /* 1: it has been woken, and checks its condition when it gets a CPU */
};

struct aries_live_lock {
    const char *owner; /* &sim_wall_self of the thread that holds the lock; NULL: none */
    uint32_t depth; /* additional times that this thread has locked it */
    uint32_t attention; /* 1: a thread sleeps that waits for the lock; + 2 for each that waits for
                           changes */
    uint32_t turn; /* futex of the threads that wait for the lock */
    uint32_t seen_changes; /* value of sim_wall.changes at the last scan of the sleeping threads */
    struct aries_live_sleeper *sleepers;
    bool pending; /* the condition of a sleeping thread is true; a polling thread may handle it soon
                   */
    bool listening; /* one of them listens at the doorbell */
    uint32_t leaves;
    uint32_t wakes; /* entries of `wakers`: the next thread that unlocks wakes them */
    struct aries_live_waker *wakers[ARIES_LIVE_WAKES];
    struct aries_live_waker *free_wakers;
    struct shm *listener; /* membership whose listening thread it wakes; NULL: none */
} __attribute__((aligned(SIM_LINE)));
extern struct aries_live_lock aries_live_lock __attribute__((visibility("hidden")));
extern _Thread_local bool aries_live_is_helper
    __attribute__((visibility("hidden"),
                   tls_model("initial-exec"))); /* the calling thread is the carrier's helper */
/* Set in calls that wait. */
extern _Thread_local int aries_live_cancel_state
    __attribute__((visibility("hidden"), tls_model("initial-exec")));

void aries_live_enter_slow(void);
void aries_live_leave_slow(void);

static inline void aries_live_enter(void)
{
    const char *nobody = NULL;

    if (sim_unlikely(!__atomic_compare_exchange_n(&aries_live_lock.owner, &nobody, &sim_wall_self,
                                                  false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)))
        aries_live_enter_slow();
}

static inline void aries_live_leave(void)
{
    if (sim_unlikely(aries_live_lock.depth > 0)) {
        aries_live_lock.depth--;
        return;
    }
    /* A thread that begins to wait for the lock just now is not woken: it tries again by itself
     * soon. A thread that sleeps until something changes began to do so with the lock held. */
    if (sim_unlikely(__atomic_load_n(&aries_live_lock.attention, __ATOMIC_RELAXED) > 0))
        aries_live_leave_slow();
    else
        __atomic_store_n(&aries_live_lock.owner, NULL, __ATOMIC_RELEASE);
}

static inline bool aries_live_try_enter(void)
{
    const char *nobody = NULL;

    return __atomic_compare_exchange_n(&aries_live_lock.owner, &nobody, &sim_wall_self, false,
                                       __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

/*
 * Unlocks completely, sleeps until the condition of `wait` may be true or CLOCK_MONOTONIC reaches
 * deadline_ns (UINT64_MAX: none), and locks again as often as before. May return early. With
 * `listens` (after shm_sleep_begin) it also wakes for records and messages. False: a signal handler
 * has run.
 */
bool aries_live_sleep(const struct sim_wait *wait, uint64_t deadline_ns, struct shm *listens);
/* Wakes sleeping threads whose condition is true; false: there are none. */
bool aries_live_wake_ready(void);
/* Lets another thread have the lock, and another process the CPU. */
void aries_live_yield(void);
void aries_live_lock_forked(void); /* in the child */
/* wait.c: other threads sleep, and this one may not call again. The helper continues what it has
 * left in flight, and handles `changes` that the sleepers have not seen. */
void aries_live_request_progress(bool changes);
/* wait.c, with the lock held: a sleeping thread is cancelled; `listens` as for aries_live_sleep. */
void aries_live_cancelled(struct shm *listens);

#endif
