/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The port's semaphore, with absolute times. */
#include "lib/semaphore.h"

int m0_semaphore_init(struct m0_semaphore *semaphore, unsigned value)
{
    port_semaphore_init(&semaphore->s_sem);
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
    port_semaphore_post(&semaphore->s_sem);
}

void m0_semaphore_down(struct m0_semaphore *semaphore)
{
    while (!port_semaphore_wait(&semaphore->s_sem, UINT64_MAX)) {
    }
}

bool m0_semaphore_trydown(struct m0_semaphore *semaphore)
{
    return port_semaphore_wait(&semaphore->s_sem, 0);
}

bool m0_semaphore_timeddown(struct m0_semaphore *semaphore, m0_time_t absolute)
{
    m0_time_t now;

    if (absolute == M0_TIME_NEVER) {
        m0_semaphore_down(semaphore);
        return true;
    }
    now = m0_time_now();
    return port_semaphore_wait(&semaphore->s_sem, absolute > now ? absolute - now : 0);
}
