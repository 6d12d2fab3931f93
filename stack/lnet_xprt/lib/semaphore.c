/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The port's semaphore, with absolute times. */
#include "lib/semaphore.h"

static bool down_within(struct m0_semaphore *semaphore, uint64_t nanoseconds)
{
    if (!port_semaphore_wait(&semaphore->s_sem, nanoseconds))
        return false;
    __atomic_fetch_sub(&semaphore->s_value, 1, __ATOMIC_RELAXED);
    return true;
}

int m0_semaphore_init(struct m0_semaphore *semaphore, unsigned value)
{
    port_semaphore_init(&semaphore->s_sem);
    semaphore->s_value = value;
    for (; value > 0; value--)
        port_semaphore_post(&semaphore->s_sem);
    return 0;
}

void m0_semaphore_fini(struct m0_semaphore *semaphore)
{
    port_semaphore_destroy(&semaphore->s_sem);
}

void m0_semaphore_up(struct m0_semaphore *semaphore)
{
    __atomic_fetch_add(&semaphore->s_value, 1, __ATOMIC_RELAXED);
    port_semaphore_post(&semaphore->s_sem);
}

void m0_semaphore_down(struct m0_semaphore *semaphore)
{
    while (!down_within(semaphore, UINT64_MAX)) {
    }
}

bool m0_semaphore_trydown(struct m0_semaphore *semaphore)
{
    return down_within(semaphore, 0);
}

bool m0_semaphore_timeddown(struct m0_semaphore *semaphore, m0_time_t absolute)
{
    m0_time_t now;

    if (absolute == M0_TIME_NEVER) {
        m0_semaphore_down(semaphore);
        return true;
    }
    now = m0_time_now();
    return down_within(semaphore, absolute > now ? absolute - now : 0);
}

void m0_semaphore_drain(struct m0_semaphore *semaphore)
{
    while (m0_semaphore_trydown(semaphore)) {
    }
}

unsigned m0_semaphore_value(struct m0_semaphore *semaphore)
{
    return __atomic_load_n(&semaphore->s_value, __ATOMIC_RELAXED);
}
