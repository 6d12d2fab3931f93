/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Mutexes, conditions, semaphores, spin locks, barriers and reader-writer locks of a rank's
 * threads. One thread runs at a time, so their state needs no atomic operations; it lies in the
 * memory that the program gave them.
 */
#define _GNU_SOURCE /* pthread_*_np */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "internal.h"
#include "cluster/cluster.h"

/* ---- mutexes --------------------------------------------------------------------------------- */

/* The library's own layout; pthread_mutex_init() and the initialisers stay the library's. */
static int *lock_of(pthread_mutex_t *mutex)
{
    return &mutex->__data.__lock;
}

static int kind_of(const pthread_mutex_t *mutex)
{
    return mutex->__data.__kind & 3;
}

static int lock_until(pthread_mutex_t *mutex, sim_time_t until)
{
    int me = foreign_thread_self()->number;

    if (*lock_of(mutex) != 0 && mutex->__data.__owner == me) {
        if (kind_of(mutex) == PTHREAD_MUTEX_RECURSIVE) {
            mutex->__data.__count++;
            return 0;
        }
        if (kind_of(mutex) == PTHREAD_MUTEX_ERRORCHECK)
            return EDEADLK;
    }
    /* The unlocking thread passes it to the first waiter: see below. */
    if (*lock_of(mutex) != 0)
        return foreign_wait_for(mutex, until) ? 0 : ETIMEDOUT;
    *lock_of(mutex) = 1;
    mutex->__data.__owner = me;
    mutex->__data.__count = 1;
    return 0;
}

static int shim_mutex_lock(pthread_mutex_t *mutex)
{
    return lock_until(mutex, SIM_NEVER);
}

static int shim_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *at)
{
    return lock_until(mutex, foreign_deadline(at, true));
}

static int shim_mutex_trylock(pthread_mutex_t *mutex)
{
    if (*lock_of(mutex) != 0 && !(kind_of(mutex) == PTHREAD_MUTEX_RECURSIVE &&
                                  mutex->__data.__owner == foreign_thread_self()->number))
        return EBUSY;
    return shim_mutex_lock(mutex);
}

/* A thread that unlocks and locks again in a loop needs no virtual time between the two calls.
 * Other threads would never get the mutex, so it is handed over to the first waiter. */
static int shim_mutex_unlock(pthread_mutex_t *mutex)
{
    struct foreign_thread *next = foreign_self()->waiters;

    if (kind_of(mutex) == PTHREAD_MUTEX_RECURSIVE && --mutex->__data.__count != 0)
        return 0;
    while (next != NULL && next->waits_for != mutex)
        next = next->next_waiter;
    *lock_of(mutex) = next != NULL;
    mutex->__data.__owner = next != NULL ? next->number : 0;
    mutex->__data.__count = next != NULL;
    if (next != NULL)
        foreign_wake(mutex, false);
    return 0;
}

static int shim_mutex_destroy(pthread_mutex_t *mutex)
{
    return *lock_of(mutex) != 0 ? EBUSY : 0;
}

/* ---- condition variables --------------------------------------------------------------------- */

static int cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex, sim_time_t until)
{
    bool woken;

    /* No other thread runs between these two calls, so no signal is lost. */
    shim_mutex_unlock(mutex);
    woken = foreign_wait_for(condition, until);
    shim_mutex_lock(mutex);
    return woken ? 0 : ETIMEDOUT;
}

static int shim_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex)
{
    return cond_wait(condition, mutex, SIM_NEVER);
}

static int shim_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex,
                               const struct timespec *at)
{
    /* Bit 1: pthread_condattr_setclock(CLOCK_MONOTONIC), as the library keeps it. */
    return cond_wait(condition, mutex, foreign_deadline(at, !(condition->__data.__wrefs & 2)));
}

static int shim_cond_signal(pthread_cond_t *condition)
{
    foreign_wake(condition, false);
    return 0;
}

static int shim_cond_broadcast(pthread_cond_t *condition)
{
    foreign_wake(condition, true);
    return 0;
}

static int shim_cond_destroy(pthread_cond_t *condition)
{
    return 0;
}

/* ---- semaphores, spin locks, barriers, reader-writer locks ----------------------------------- */

/* The state of each is in the first words of its object. */
struct counter {
    int value, limit, waiting;
};

static int shim_sem_init(sem_t *semaphore, int shared, unsigned value)
{
    ((struct counter *)semaphore)->value = (int)value;
    return 0;
}

static int shim_sem_wait(sem_t *semaphore)
{
    struct counter *counter = (struct counter *)semaphore;

    while (counter->value == 0)
        foreign_wait_for(counter, SIM_NEVER);
    counter->value--;
    return 0;
}

static int shim_sem_timedwait(sem_t *semaphore, const struct timespec *at)
{
    struct counter *counter = (struct counter *)semaphore;
    sim_time_t until = foreign_deadline(at, true);

    while (counter->value == 0) {
        if (!foreign_wait_for(counter, until)) {
            errno = ETIMEDOUT;
            return -1;
        }
    }
    counter->value--;
    return 0;
}

static int shim_sem_trywait(sem_t *semaphore)
{
    struct counter *counter = (struct counter *)semaphore;

    if (counter->value == 0) {
        errno = EAGAIN;
        return -1;
    }
    counter->value--;
    return 0;
}

static int shim_sem_post(sem_t *semaphore)
{
    ((struct counter *)semaphore)->value++;
    foreign_wake(semaphore, false);
    return 0;
}

static int shim_sem_getvalue(sem_t *semaphore, int *value)
{
    *value = ((struct counter *)semaphore)->value;
    return 0;
}

static int shim_sem_destroy(sem_t *semaphore)
{
    return 0;
}

static int shim_spin_init(pthread_spinlock_t *lock, int shared)
{
    *lock = 0;
    return 0;
}

static int shim_spin_lock(pthread_spinlock_t *lock)
{
    while (*lock != 0)
        foreign_wait_for((const void *)lock, SIM_NEVER);
    *lock = 1;
    return 0;
}

static int shim_spin_trylock(pthread_spinlock_t *lock)
{
    if (*lock != 0)
        return EBUSY;
    *lock = 1;
    return 0;
}

static int shim_spin_unlock(pthread_spinlock_t *lock)
{
    *lock = 0;
    if (foreign_self()->waiters != NULL)
        foreign_wake((const void *)lock, false);
    return 0;
}

static int shim_spin_destroy(pthread_spinlock_t *lock)
{
    return 0;
}

static int shim_barrier_init(pthread_barrier_t *barrier, const pthread_barrierattr_t *attributes,
                             unsigned count)
{
    struct counter *counter = (struct counter *)barrier;

    if (count == 0)
        return EINVAL;
    *counter = (struct counter){.limit = (int)count};
    return 0;
}

static int shim_barrier_wait(pthread_barrier_t *barrier)
{
    struct counter *counter = (struct counter *)barrier;

    if (++counter->waiting == counter->limit) {
        counter->waiting = 0;
        foreign_wake(counter, true);
        return PTHREAD_BARRIER_SERIAL_THREAD;
    }
    foreign_wait_for(counter, SIM_NEVER);
    return 0;
}

static int shim_barrier_destroy(pthread_barrier_t *barrier)
{
    return 0;
}

/* value: readers, or -1 for a writer. */
static int shim_rwlock_init(pthread_rwlock_t *lock, const pthread_rwlockattr_t *attributes)
{
    *(struct counter *)lock = (struct counter){.value = 0};
    return 0;
}

static int shim_rwlock_rdlock(pthread_rwlock_t *lock)
{
    struct counter *counter = (struct counter *)lock;

    while (counter->value < 0)
        foreign_wait_for(counter, SIM_NEVER);
    counter->value++;
    return 0;
}

static int shim_rwlock_wrlock(pthread_rwlock_t *lock)
{
    struct counter *counter = (struct counter *)lock;

    while (counter->value != 0)
        foreign_wait_for(counter, SIM_NEVER);
    counter->value = -1;
    return 0;
}

static int shim_rwlock_unlock(pthread_rwlock_t *lock)
{
    struct counter *counter = (struct counter *)lock;

    counter->value = counter->value < 0 ? 0 : counter->value - 1;
    if (counter->value == 0)
        foreign_wake(counter, true);
    return 0;
}

static int shim_rwlock_destroy(pthread_rwlock_t *lock)
{
    return 0;
}

const struct foreign_shim foreign_lock_shims[] = {
    {"pthread_mutex_lock", (void *)shim_mutex_lock},
    {"pthread_mutex_timedlock", (void *)shim_mutex_timedlock},
    {"pthread_mutex_trylock", (void *)shim_mutex_trylock},
    {"pthread_mutex_unlock", (void *)shim_mutex_unlock},
    {"pthread_mutex_destroy", (void *)shim_mutex_destroy},
    {"pthread_cond_wait", (void *)shim_cond_wait},
    {"pthread_cond_timedwait", (void *)shim_cond_timedwait},
    {"pthread_cond_signal", (void *)shim_cond_signal},
    {"pthread_cond_broadcast", (void *)shim_cond_broadcast},
    {"pthread_cond_destroy", (void *)shim_cond_destroy},
    {"sem_init", (void *)shim_sem_init},
    {"sem_wait", (void *)shim_sem_wait},
    {"sem_timedwait", (void *)shim_sem_timedwait},
    {"sem_trywait", (void *)shim_sem_trywait},
    {"sem_post", (void *)shim_sem_post},
    {"sem_getvalue", (void *)shim_sem_getvalue},
    {"sem_destroy", (void *)shim_sem_destroy},
    {"pthread_spin_init", (void *)shim_spin_init},
    {"pthread_spin_lock", (void *)shim_spin_lock},
    {"pthread_spin_trylock", (void *)shim_spin_trylock},
    {"pthread_spin_unlock", (void *)shim_spin_unlock},
    {"pthread_spin_destroy", (void *)shim_spin_destroy},
    {"pthread_barrier_init", (void *)shim_barrier_init},
    {"pthread_barrier_wait", (void *)shim_barrier_wait},
    {"pthread_barrier_destroy", (void *)shim_barrier_destroy},
    {"pthread_rwlock_init", (void *)shim_rwlock_init},
    {"pthread_rwlock_rdlock", (void *)shim_rwlock_rdlock},
    {"pthread_rwlock_wrlock", (void *)shim_rwlock_wrlock},
    {"pthread_rwlock_unlock", (void *)shim_rwlock_unlock},
    {"pthread_rwlock_destroy", (void *)shim_rwlock_destroy},
    {NULL, NULL}};
