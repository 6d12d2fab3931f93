/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * POSIX threads of a rank: fibers of its process. One of them runs at a time, and another one runs
 * only when it blocks, so the objects need no atomic operations. The state of an object is in the
 * program's memory. A waiting thread is in the process's list, with the address of the object.
 */
#define _GNU_SOURCE /* memfd_create, dlinfo, pthread_*_np */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "internal.h"
#include "cluster/cluster.h"
#include "cluster/port_fiber.h"

/* ---- waiting --------------------------------------------------------------------------------- */

struct foreign_thread *foreign_thread_self(void)
{
    return sim_fiber_thread(sim_fiber_self());
}

static struct foreign_thread *self(void)
{
    struct foreign_thread *thread = foreign_thread_self();

    g_assert(thread != NULL && thread->process == foreign_self());
    return thread;
}

static void forget_waiter(struct foreign_thread *thread)
{
    struct foreign_process *process = thread->process;
    struct foreign_thread **link = &process->waiters;

    while (*link != NULL && *link != thread)
        link = &(*link)->next_waiter;
    if (*link == NULL)
        return;
    *link = thread->next_waiter;
    if (process->waiters_end == &thread->next_waiter)
        process->waiters_end = link;
    thread->next_waiter = NULL;
}

bool foreign_wait_for(const void *what, sim_time_t until)
{
    static const struct sim_wait wait = {.text = "another thread of its process"};
    struct foreign_thread *thread = self();

    g_assert(what != NULL && thread->waits_for == NULL && !thread->ended);
    thread->waits_for = what;
    *thread->process->waiters_end = thread;
    thread->process->waiters_end = &thread->next_waiter;
    while (thread->waits_for != NULL && sim_now() < until)
        sim_wait_until(until, &wait);
    if (thread->waits_for == NULL)
        return true;
    forget_waiter(thread);
    thread->waits_for = NULL;
    return false;
}

void foreign_wake(const void *what, bool all)
{
    struct foreign_process *process = foreign_self();
    struct foreign_thread *thread, *next;

    sim_settle();
    sim_idle_break();
    for (thread = process->waiters; thread != NULL; thread = next) {
        next = thread->next_waiter;
        if (thread->waits_for != what)
            continue;
        forget_waiter(thread);
        thread->waits_for = NULL;
        sim_wake(thread->fiber);
        if (!all)
            break;
    }
}

sim_time_t foreign_deadline(const struct timespec *at, bool since_1970)
{
    int64_t seconds = at->tv_sec - (since_1970 ? FOREIGN_BOOTED_S : 0);
    sim_time_t now = foreign_clock();

    if (seconds > (int64_t)(SIM_NEVER / SIM_S) - 1)
        return SIM_NEVER;
    return MAX(now,
               seconds < 0 ? 0 : (sim_time_t)seconds * SIM_S + (sim_time_t)at->tv_nsec * SIM_NS);
}

/* ---- life ------------------------------------------------------------------------------------ */

void foreign_threads_begin(struct foreign_process *process)
{
    process->waiters_end = &process->waiters;
    process->main_thread.process = process;
    process->main_thread.fiber = sim_fiber_self();
    process->main_thread.number = 1;
    process->threads = &process->main_thread;
    process->threads_live = process->threads_started = 1;
    sim_fiber_set_thread(process->main_thread.fiber, &process->main_thread);
}

bool foreign_threads_main_locals(struct foreign_process *process)
{
    struct foreign_thread *thread = &process->main_thread;

    if (!foreign_image_has_locals(process->image))
        return true;
    thread->locals = foreign_locals_start(&process->copy, thread->fiber);
    return thread->locals != NULL;
}

/* Frees a thread that does not run any more and that the program may not name. */
static void thread_free(struct foreign_thread *thread)
{
    struct foreign_process *process = thread->process;

    foreign_locals_end(thread->locals, NULL);
    foreign_free_handlers(thread->at_end);
    if (thread->previous != NULL)
        thread->previous->next = thread->next;
    else
        process->threads = thread->next;
    if (thread->next != NULL)
        thread->next->previous = thread->previous;
    if (thread != &process->main_thread)
        free(thread);
}

void foreign_threads_free(struct foreign_process *process)
{
    while (process->threads != NULL)
        thread_free(process->threads);
}

static void kill_fiber(struct foreign_thread *thread)
{
    struct rank *rank = thread->process->rank;

    port_forget(rank, thread->fiber);
    if (rank->process != NULL)
        aries_process_unbind(rank->process, thread->fiber);
    sim_fiber_kill(thread->fiber);
    thread->gone = true;
}

static void end_fiber(struct foreign_thread *thread)
{
    kill_fiber(thread);
    foreign_locals_end(thread->locals, thread->fiber);
    thread->locals = NULL;
    if (thread->detached)
        thread_free(thread);
}

static void take_fiber(struct sim_event *event)
{
    end_fiber(sim_container_of(event, struct foreign_thread, leave));
}

static void run_key_destructors(struct foreign_thread *thread)
{
    struct foreign_key *keys = thread->process->keys;
    void *value;
    int i;

    for (i = 0; i < FOREIGN_KEYS_MAX; i++) {
        value = thread->specific[i];
        thread->specific[i] = NULL;
        if (value != NULL && keys[i].used && keys[i].destroy != NULL)
            keys[i].destroy(value);
    }
}

static void mark_ended(struct foreign_thread *thread, void *result)
{
    thread->result = result;
    thread->ended = true;
    thread->process->threads_live--;
    foreign_wake(thread, true);
    foreign_wake(&thread->process->threads_live, true);
}

static _Noreturn void leave(struct foreign_thread *thread, void *result)
{
    static const struct sim_wait wait = {.text = "nothing: the thread has ended"};

    foreign_run_handlers(&thread->at_end);
    run_key_destructors(thread);
    if (thread == &thread->process->main_thread) { /* the process lives as long as a thread does */
        while (thread->process->threads_live > 1)
            foreign_wait_for(&thread->process->threads_live, SIM_NEVER);
        foreign_exit(thread->process, 0);
    }
    mark_ended(thread, result);
    thread->leave.fire = take_fiber; /* a fiber cannot free the stack on which it runs */
    sim_event_schedule(&thread->leave, sim_now());
    for (;;)
        sim_wait_until(SIM_NEVER, &wait);
}

void foreign_thread_polls(const struct rank *rank)
{
    if (rank->job->cluster->scenario->limits.parking != PARKING_ALL)
        sim_hold();
}

static void thread_main(void *arg)
{
    struct foreign_thread *thread = arg;

    foreign_thread_polls(thread->process->rank);
    leave(thread, thread->start(thread->arg));
}

void foreign_threads_kill(struct foreign_process *process)
{
    struct foreign_thread *thread;

    for (thread = process->threads; thread != NULL; thread = thread->next)
        if (thread != &process->main_thread && !thread->ended)
            kill_fiber(thread);
}

/* False: none are left, and the fiber is killed. */
static bool make_locals(struct foreign_thread *thread)
{
    if (!foreign_image_has_locals(thread->process->image))
        return true;
    thread->locals = foreign_locals_start(&thread->process->copy, thread->fiber);
    if (thread->locals == NULL)
        sim_fiber_kill(thread->fiber);
    return thread->locals != NULL;
}

static void insert(struct foreign_thread *thread)
{
    struct foreign_process *process = thread->process;

    thread->number = ++process->threads_started;
    thread->next = process->threads;
    thread->next->previous = thread;
    process->threads = thread;
    process->threads_live++;
}

static int shim_create(pthread_t *id, const pthread_attr_t *attributes, void *(*start)(void *),
                       void *arg)
{
    struct foreign_process *process = foreign_self();
    struct rank *rank = process->rank;
    struct foreign_thread *thread;
    int detach = PTHREAD_CREATE_JOINABLE;
    char name[96];

    if (process->threads_live >= rank->job->cluster->scenario->limits.threads)
        return EAGAIN;
    thread = calloc(1, sizeof(*thread));
    if (thread == NULL)
        return EAGAIN;
    if (attributes != NULL)
        pthread_attr_getdetachstate(attributes, &detach);
    sim_settle();
    snprintf(name, sizeof(name), "%s.%u thread", rank->job->name, rank->id);
    *thread = (struct foreign_thread){.process = process,
                                      .start = start,
                                      .arg = arg,
                                      .detached = detach == PTHREAD_CREATE_DETACHED};
    thread->fiber = sim_fiber_start(thread_main, thread, name, sim_now());
    if (thread->fiber == NULL || !make_locals(thread)) {
        free(thread);
        return EAGAIN;
    }
    sim_fiber_set_thread(thread->fiber, thread);
    rank_bind(rank, thread->fiber);
    insert(thread);
    *id = (pthread_t)thread;
    sim_idle_break();
    return 0;
}

static int shim_join(pthread_t id, void **result)
{
    struct foreign_thread *thread = (struct foreign_thread *)id;

    if (thread == self())
        return EDEADLK;
    if (thread->detached)
        return EINVAL;
    while (!thread->ended)
        foreign_wait_for(thread, SIM_NEVER);
    if (result != NULL)
        *result = thread->result;
    thread->detached = true; /* the thread may be joined once only */
    if (thread->gone)
        thread_free(thread);
    return 0;
}

static int shim_detach(pthread_t id)
{
    struct foreign_thread *thread = (struct foreign_thread *)id;

    if (thread->detached)
        return EINVAL;
    thread->detached = true;
    if (thread->gone)
        thread_free(thread);
    return 0;
}

static pthread_t shim_self(void)
{
    return (pthread_t)self();
}

static int shim_equal(pthread_t a, pthread_t b)
{
    return a == b;
}

static void shim_exit(void *result)
{
    leave(self(), result);
}

/* A thread that is not running is blocked, and its fiber may be freed. */
static int shim_cancel(pthread_t id)
{
    struct foreign_thread *thread = (struct foreign_thread *)id;

    if (thread->ended)
        return ESRCH;
    if (thread == self())
        leave(thread, PTHREAD_CANCELED);
    if (thread == &thread->process->main_thread)
        return ENOTSUP;
    forget_waiter(thread);
    thread->waits_for = NULL;
    mark_ended(thread, PTHREAD_CANCELED);
    end_fiber(thread);
    return 0;
}

static int shim_kill(pthread_t id, int signal)
{
    if (((struct foreign_thread *)id)->ended)
        return ESRCH;
    return signal == 0 ? 0 : ENOSYS;
}

static int shim_set_cancel(int how, int *before)
{
    if (before != NULL)
        *before = 0;
    return 0;
}

static void shim_test_cancel(void)
{
}

/* ---- once, and values per thread ------------------------------------------------------------- */

static int shim_once(pthread_once_t *once, void (*call)(void))
{
    while (*once == 1)
        foreign_wait_for(once, SIM_NEVER);
    if (*once == 2)
        return 0;
    *once = 1;
    call();
    *once = 2;
    foreign_wake(once, true);
    return 0;
}

static int shim_key_create(pthread_key_t *key, void (*destroy)(void *value))
{
    struct foreign_key *keys = foreign_self()->keys;
    unsigned i;

    for (i = 0; i < FOREIGN_KEYS_MAX && keys[i].used; i++)
        ;
    if (i == FOREIGN_KEYS_MAX)
        return EAGAIN;
    keys[i] = (struct foreign_key){true, destroy};
    *key = i;
    return 0;
}

static int shim_key_delete(pthread_key_t key)
{
    struct foreign_process *process = foreign_self();
    struct foreign_thread *thread;

    if (key >= FOREIGN_KEYS_MAX || !process->keys[key].used)
        return EINVAL;
    process->keys[key].used = false;
    for (thread = process->threads; thread != NULL; thread = thread->next)
        thread->specific[key] = NULL;
    return 0;
}

static void *shim_getspecific(pthread_key_t key)
{
    return key < FOREIGN_KEYS_MAX ? self()->specific[key] : NULL;
}

static int shim_setspecific(pthread_key_t key, const void *value)
{
    if (key >= FOREIGN_KEYS_MAX || !foreign_self()->keys[key].used)
        return EINVAL;
    self()->specific[key] = (void *)value;
    return 0;
}

/* Runs the destructors of the calling thread's thread-local variables. */
static int shim_thread_atexit(void (*call)(void *arg), void *arg, void *object)
{
    struct foreign_exit_handler *handler = malloc(sizeof(*handler));
    struct foreign_thread *thread = self();

    if (handler == NULL)
        return -1;
    *handler = (struct foreign_exit_handler){thread->at_end, call, arg};
    thread->at_end = handler;
    return 0;
}

const struct foreign_shim foreign_thread_shims[] = {
    {"pthread_create", (void *)shim_create},
    {"pthread_join", (void *)shim_join},
    {"pthread_detach", (void *)shim_detach},
    {"pthread_self", (void *)shim_self},
    {"pthread_equal", (void *)shim_equal},
    {"pthread_exit", (void *)shim_exit},
    {"pthread_cancel", (void *)shim_cancel},
    {"pthread_kill", (void *)shim_kill},
    {"pthread_setcancelstate", (void *)shim_set_cancel},
    {"pthread_setcanceltype", (void *)shim_set_cancel},
    {"pthread_testcancel", (void *)shim_test_cancel},
    {"pthread_once", (void *)shim_once},
    {"pthread_key_create", (void *)shim_key_create},
    {"pthread_key_delete", (void *)shim_key_delete},
    {"pthread_getspecific", (void *)shim_getspecific},
    {"pthread_setspecific", (void *)shim_setspecific},
    {"__cxa_thread_atexit", (void *)shim_thread_atexit},
    {"__cxa_thread_atexit_impl", (void *)shim_thread_atexit},
    {NULL, NULL}};
