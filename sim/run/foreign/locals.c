/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Thread-local variables of a rank's threads. A fiber that needs them borrows the thread pointer of
 * a host thread, which sleeps from its creation until the fiber ends. The C library has set up that
 * thread: variables of all libraries, errno, an entry in its lists. The program's own variables are
 * placed in the memory that sim-run reserves below the thread pointer (room.c), or by the loader if
 * the program is a shared object.
 *
 * Ranks of programs without thread-local variables share the simulation's thread pointer.
 */
#define _GNU_SOURCE /* pthread_attr_setsigmask_np */
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "engine/outside.h"
#include "internal.h"
#include "cluster/heap.h"
#include "cluster/cluster.h"

#define HOST_STACK_BYTES (64u << 10) /* besides what the C library uses of it */

struct foreign_locals {
    pthread_t host;
    sem_t ready, leave;
    char *thread_pointer;
};

#if defined(__x86_64__)
extern _Thread_local char foreign_room[FOREIGN_LOCALS_MAX];

bool foreign_locals_possible(void)
{
    return foreign_room + FOREIGN_LOCALS_MAX == sim_thread_pointer();
}
#else
bool foreign_locals_possible(void)
{
    return false;
}
#endif

static void *lend(void *arg)
{
    struct foreign_locals *locals = arg;

    cluster_heap_lend();
    locals->thread_pointer = sim_thread_pointer();
    sem_post(&locals->ready);
    while (sem_wait(&locals->leave) != 0)
        ;
    return NULL;
}

/* The host thread receives no signals. */
static int start_host(struct foreign_locals *locals)
{
    long least = sysconf(_SC_THREAD_STACK_MIN);
    pthread_attr_t attributes;
    sigset_t all;
    int error;

    sigfillset(&all);
    pthread_attr_init(&attributes);
    pthread_attr_setsigmask_np(&attributes, &all);
    pthread_attr_setstacksize(&attributes, (size_t)MAX(least, 0) + FOREIGN_LOCALS_MAX +
                                               FOREIGN_LOCALS_ALIGNMENT + HOST_STACK_BYTES);
    error = pthread_create(&locals->host, &attributes, lend, locals);
    pthread_attr_destroy(&attributes);
    return error;
}

/* The C library has zeroed the reserved memory and thereby touched it: give back the pages that the
 * program does not use. */
static void fill(const struct foreign_locals *locals, const struct foreign_copy *copy)
{
    char *begin = locals->thread_pointer - copy->locals_distance;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t room = (uintptr_t)locals->thread_pointer - FOREIGN_LOCALS_MAX;

    madvise((void *)room, ((uintptr_t)begin & ~(page - 1)) - room, MADV_DONTNEED);
    memcpy(begin, (const void *)(copy->base + copy->locals_image), copy->locals_filled);
}

struct foreign_locals *foreign_locals_start(const struct foreign_copy *copy,
                                            struct sim_fiber *fiber)
{
    struct foreign_locals *locals;

    sim_outside_begin(); /* the C library's memory for the thread does not belong to the rank */
    locals = g_new0(struct foreign_locals, 1);
    sem_init(&locals->ready, 0, 0);
    sem_init(&locals->leave, 0, 0);
    if (start_host(locals) != 0) {
        g_free(locals);
        sim_outside_end();
        return NULL;
    }
    while (sem_wait(&locals->ready) != 0)
        ;
    sim_outside_end();
    if (copy->locals_distance != 0)
        fill(locals, copy);
    sim_fiber_set_thread_pointer(fiber, locals->thread_pointer);
    return locals;
}

void foreign_locals_end(struct foreign_locals *locals, struct sim_fiber *fiber)
{
    if (locals == NULL)
        return;
    if (fiber != NULL)
        sim_fiber_set_thread_pointer(fiber, NULL);
    sem_post(&locals->leave);
    pthread_join(locals->host, NULL);
    sem_destroy(&locals->ready);
    sem_destroy(&locals->leave);
    g_free(locals);
}
