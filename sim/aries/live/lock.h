/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The lock of the process: whoever is inside of libugni has it. Taken again by the thread that has
 * it (a callback of the program calls the library) it counts.
 */
#ifndef JACQUARD_ARIES_LIVE_LOCK_H
#define JACQUARD_ARIES_LIVE_LOCK_H

#include "engine/sim.h"

#define ARIES_LIVE_WAKES 8u /* at once; others at the next opportunity */

struct shm;
struct aries_live_waker; /* lock.c */

struct aries_live_sleeper { /* on the stack of a thread that waits for a change */
    struct aries_live_sleeper *next;
    const struct sim_wait *wait;
    struct shm *listens; /* at this process's doorbell; NULL: others do, and wake it */
    uint64_t since; /* ticks: so long there has been something for it; 0: there is nothing */
    uint32_t polls; /* that found so since then */
    struct aries_live_waker *waker; /* what it sleeps on, unless it listens */
    uint32_t woken; /* 1: it will look as soon as it gets a CPU */
};

struct aries_live_lock {
    const char *owner; /* &sim_wall_self of the thread inside; NULL: nobody */
    uint32_t depth; /* how often that took it besides */
    uint32_t attention; /* 1: a thread sleeps that wants it; + 2 for each that waits for changes */
    uint32_t turn; /* futex of those who want it */
    uint32_t seen_changes; /* changes (sim_wall.changes) that were shown to those that sleep */
    struct aries_live_sleeper *sleepers;
    bool pending; /* there is something for one of them, which may be gone soon */
    bool listening; /* one of them is at the doorbell */
    uint32_t leaves;
    uint32_t wakes; /* of `wakers`: whom the next one who leaves wakes */
    struct aries_live_waker *wakers[ARIES_LIVE_WAKES];
    struct aries_live_waker *free_wakers;
    struct shm *listener; /* whose listener it wakes; NULL: none */
} __attribute__((aligned(SIM_LINE)));
extern struct aries_live_lock aries_live_lock __attribute__((visibility("hidden")));
extern _Thread_local bool aries_live_is_helper __attribute__((
    visibility("hidden"), tls_model("initial-exec"))); /* the calling thread is the carrier's */
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
    /*
     * A thread that begins to wait for the lock just now is not woken: it looks again by itself,
     * soon. Those that sleep until something changes began to do so inside.
     */
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
 * Gives the lock back however often it was taken, sleeps until there is something for `wait` or
 * CLOCK_MONOTONIC reaches deadline_ns (UINT64_MAX: none), takes it again. May return early. With
 * `listens` (shm_sleep_begin has been called) it wakes for what comes to the process, too. False:
 * a signal's handler has run.
 */
bool aries_live_sleep(const struct sim_wait *wait, uint64_t deadline_ns, struct shm *listens);
/* Those who sleep and have something to do will wake; false: there are none. */
bool aries_live_wake_ready(void);
/* Lets another thread in that wants to, and another process have the CPU. */
void aries_live_yield(void);
void aries_live_lock_forked(void); /* in the child */
/* wait.c: others sleep, and this thread may not call again: the helper sees to what it has left
 * under way, and to `changes` that they were not shown. */
void aries_live_request_progress(bool changes);
/* wait.c, with the lock: a thread that slept ends; `listens` as for aries_live_sleep. */
void aries_live_cancelled(struct shm *listens);

#endif
