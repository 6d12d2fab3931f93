/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Readers and writers, over the port's mutex and condition. */
#include "lib/rwlock.h"
#include "lib/assert.h"

void m0_rwlock_init(struct m0_rwlock *lock)
{
    port_mutex_init(&lock->rw_guard);
    port_condition_init(&lock->rw_free);
    lock->rw_readers = 0;
    lock->rw_writer = NULL;
}

void m0_rwlock_fini(struct m0_rwlock *lock)
{
    M0_PRE(lock->rw_readers == 0 && lock->rw_writer == NULL);
    port_condition_destroy(&lock->rw_free);
    port_mutex_destroy(&lock->rw_guard);
}

void m0_rwlock_write_lock(struct m0_rwlock *lock)
{
    port_mutex_lock(&lock->rw_guard);
    M0_PRE(lock->rw_writer != port_thread_self());
    while (lock->rw_readers > 0 || lock->rw_writer != NULL)
        port_condition_wait(&lock->rw_free, &lock->rw_guard);
    lock->rw_writer = port_thread_self();
    port_mutex_unlock(&lock->rw_guard);
}

void m0_rwlock_write_unlock(struct m0_rwlock *lock)
{
    port_mutex_lock(&lock->rw_guard);
    M0_PRE(lock->rw_writer == port_thread_self());
    lock->rw_writer = NULL;
    port_condition_broadcast(&lock->rw_free);
    port_mutex_unlock(&lock->rw_guard);
}

void m0_rwlock_read_lock(struct m0_rwlock *lock)
{
    port_mutex_lock(&lock->rw_guard);
    M0_PRE(lock->rw_writer != port_thread_self());
    while (lock->rw_writer != NULL)
        port_condition_wait(&lock->rw_free, &lock->rw_guard);
    lock->rw_readers++;
    port_mutex_unlock(&lock->rw_guard);
}

void m0_rwlock_read_unlock(struct m0_rwlock *lock)
{
    port_mutex_lock(&lock->rw_guard);
    M0_PRE(lock->rw_readers > 0);
    if (--lock->rw_readers == 0)
        port_condition_broadcast(&lock->rw_free);
    port_mutex_unlock(&lock->rw_guard);
}
