/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Locks that a threading level may elide, and gates that wait for users to leave. */
#ifndef GNIP_LOCK_H
#define GNIP_LOCK_H

#include "gnip.h"

/* A mutex. The threading level of its domain may elide it. */
struct gnip_lock {
    struct port_mutex mutex;
    bool elided;
    bool held; /* only maintained with assertions */
};
#define gnip_assert_held(lock) assert((lock)->elided || (lock)->held)
static inline void gnip_lock_init(struct gnip_lock *lock, bool elided)
{
    port_mutex_init(&lock->mutex);
    lock->elided = elided;
    lock->held = false;
}
static inline void gnip_lock_fini(struct gnip_lock *lock)
{
    port_mutex_destroy(&lock->mutex);
}
static inline void gnip_lock(struct gnip_lock *lock)
{
    if (!lock->elided)
        port_mutex_lock(&lock->mutex);
#ifndef NDEBUG
    assert(!lock->held || lock->elided);
    lock->held = !lock->elided;
#endif
}
static inline void gnip_unlock(struct gnip_lock *lock)
{
#ifndef NDEBUG
    gnip_assert_held(lock);
    lock->held = false;
#endif
    if (!lock->elided)
        port_mutex_unlock(&lock->mutex);
}

/*
 * Waits until a count of users is 0. Users are counted with atomics and without the gate; leaving
 * is cheap while no thread waits. `alone`: one thread uses the object, as with elided locks.
 */
struct gnip_gate {
    struct port_mutex mutex;
    struct port_condition changed;
    uint32_t waiters;
    bool alone;
};
void gnip_gate_init(struct gnip_gate *gate, bool alone); /* progress.c */
void gnip_gate_fini(struct gnip_gate *gate);
void gnip_gate_wait(struct gnip_gate *gate, const uint32_t *users); /* no lock may be held */
void gnip_gate_notify(struct gnip_gate *gate);
static inline void gnip_gate_hold(const struct gnip_gate *gate, uint32_t *users)
{
    if (gate->alone)
        ++*users;
    else
        __atomic_add_fetch(users, 1, __ATOMIC_RELAXED);
}
static inline void gnip_gate_drop(struct gnip_gate *gate, uint32_t *users)
{
    assert(__atomic_load_n(users, __ATOMIC_RELAXED) != 0);
    if (gate->alone)
        --*users;
    else if (__atomic_sub_fetch(users, 1, __ATOMIC_SEQ_CST) == 0 &&
             gnip_unlikely(__atomic_load_n(&gate->waiters, __ATOMIC_SEQ_CST) != 0))
        gnip_gate_notify(gate);
}

#endif
