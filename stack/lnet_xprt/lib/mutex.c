/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The port's mutex, which does not know its owner, and conditions. */
#include "lib/mutex.h"
#include "lib/assert.h"
#include "lib/cond.h"
#include "lib/errno.h"
#include "lib/semaphore.h"
#include "sm/sm.h"

/* Only the owner's own value means anything to a reader that does not have the mutex. */
static bool belongs_to(const struct m0_mutex *mutex, const struct port_thread *thread)
{
    return __atomic_load_n(&mutex->m_owner, __ATOMIC_RELAXED) == thread;
}

static bool is_mine(const struct m0_mutex *mutex)
{
    return belongs_to(mutex, port_thread_self());
}

static void set_owner(struct m0_mutex *mutex, struct port_thread *owner)
{
    __atomic_store_n(&mutex->m_owner, owner, __ATOMIC_RELAXED);
}

void m0_mutex_init(struct m0_mutex *mutex)
{
    port_mutex_init(&mutex->m_port);
    set_owner(mutex, NULL);
}

void m0_mutex_fini(struct m0_mutex *mutex)
{
    M0_PRE(mutex->m_owner == NULL);
    port_mutex_destroy(&mutex->m_port);
}

void m0_mutex_lock(struct m0_mutex *mutex)
{
    struct port_thread *self = port_thread_self();

    M0_PRE(!belongs_to(mutex, self));
    port_mutex_lock(&mutex->m_port);
    set_owner(mutex, self);
}

void m0_mutex_unlock(struct m0_mutex *mutex)
{
    M0_PRE(m0_mutex_is_locked(mutex));
    set_owner(mutex, NULL);
    port_mutex_unlock(&mutex->m_port);
}

int m0_mutex_trylock(struct m0_mutex *mutex)
{
    if (!port_mutex_trylock(&mutex->m_port))
        return -EBUSY;
    set_owner(mutex, port_thread_self());
    return 0;
}

bool m0_mutex_is_locked(const struct m0_mutex *mutex)
{
    return is_mine(mutex);
}

bool m0_mutex_is_not_locked(const struct m0_mutex *mutex)
{
    return !is_mine(mutex);
}

/* ---- conditions ------------------------------------------------------------------------------ */

struct waiter {
    struct m0_list_link link; /* in no list: it was signalled */
    struct m0_semaphore wake;
};

void m0_cond_init(struct m0_cond *cond, struct m0_mutex *mutex)
{
    cond->c_mutex = mutex;
    m0_list_init(&cond->c_waiters);
}

void m0_cond_fini(struct m0_cond *cond)
{
    m0_list_fini(&cond->c_waiters);
}

bool m0_cond_timedwait(struct m0_cond *cond, m0_time_t absolute)
{
    struct waiter waiter;
    bool signalled;

    M0_PRE(m0_mutex_is_locked(cond->c_mutex));
    m0_semaphore_init(&waiter.wake, 0);
    m0_list_link_init(&waiter.link);
    m0_list_add_tail(&cond->c_waiters, &waiter.link);
    m0_mutex_unlock(cond->c_mutex);
    m0_semaphore_timeddown(&waiter.wake, absolute);
    m0_mutex_lock(cond->c_mutex);
    signalled = !m0_list_link_is_in(&waiter.link);
    if (!signalled)
        m0_list_del(&waiter.link);
    m0_semaphore_fini(&waiter.wake);
    return signalled;
}

void m0_cond_wait(struct m0_cond *cond)
{
    m0_cond_timedwait(cond, M0_TIME_NEVER);
}

void m0_cond_signal(struct m0_cond *cond)
{
    struct m0_list_link *first = m0_list_first(&cond->c_waiters);

    M0_PRE(m0_mutex_is_locked(cond->c_mutex));
    if (first == NULL)
        return;
    m0_list_del(first);
    m0_semaphore_up(&m0_list_entry(first, struct waiter, link)->wake);
}

void m0_cond_broadcast(struct m0_cond *cond)
{
    M0_PRE(m0_mutex_is_locked(cond->c_mutex));
    while (!m0_list_is_empty(&cond->c_waiters))
        m0_cond_signal(cond);
}
