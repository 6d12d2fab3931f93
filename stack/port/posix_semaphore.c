/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The port on POSIX: semaphores. */
#define _GNU_SOURCE
#include <errno.h>
#include <semaphore.h>
#include <time.h>

#include "port/port.h"

_Static_assert(sizeof(sem_t) <= sizeof(struct port_semaphore), "room for a semaphore");

static sem_t *native(struct port_semaphore *semaphore)
{
    return (sem_t *)semaphore->opaque;
}

void port_semaphore_init(struct port_semaphore *semaphore)
{
    sem_init(native(semaphore), 0, 0);
}

void port_semaphore_destroy(struct port_semaphore *semaphore)
{
    sem_destroy(native(semaphore));
}

void port_semaphore_post(struct port_semaphore *semaphore)
{
    sem_post(native(semaphore));
}

static bool wait_for(sem_t *semaphore)
{
    while (sem_wait(semaphore) != 0)
        if (errno != EINTR)
            return false;
    return true;
}

bool port_semaphore_wait(struct port_semaphore *semaphore, uint64_t nanoseconds)
{
    struct timespec end;

    if (nanoseconds == UINT64_MAX)
        return wait_for(native(semaphore));
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += (time_t)(nanoseconds / 1000000000u);
    end.tv_nsec += (long)(nanoseconds % 1000000000u);
    if (end.tv_nsec >= 1000000000) {
        end.tv_sec++;
        end.tv_nsec -= 1000000000;
    }
    while (sem_clockwait(native(semaphore), CLOCK_MONOTONIC, &end) != 0)
        if (errno != EINTR)
            return false;
    return true;
}
