/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Threads of a rank besides its first: fibers of the same process, and how they wait for each
 * other. */
#include "cluster/cluster.h"

#include <stdio.h>
#include "cluster/port_fiber.h"

struct rank_thread {
    struct rank *rank;
    struct rank_thread *next; /* of those that have not ended */
    struct sim_fiber *fiber; /* NULL when it has ended */
    int (*main)(struct rank *rank, void *arg);
    void *arg;
    int result;
};

void rank_wake(struct rank *rank)
{
    struct rank_thread *thread;

    sim_wake(rank->fiber);
    for (thread = rank->threads; thread != NULL; thread = thread->next)
        sim_wake(thread->fiber);
}

bool rank_runs_here(const struct rank *rank)
{
    const struct sim_fiber *self = sim_fiber_self();

    return self != NULL && (self == rank->fiber ||
                            (rank->process != NULL && aries_process_self() == rank->process));
}

/* Called when the thread does not run any more: removes it from what it waits for. */
static void forget(struct rank_thread *thread)
{
    struct aries_process *process = thread->rank->process;
    struct rank_thread **link = &thread->rank->threads;

    port_forget(thread->rank, thread->fiber);
    if (process != NULL)
        aries_process_unbind(process, thread->fiber);
    thread->fiber = NULL;
    while (*link != thread) {
        g_assert(*link != NULL);
        link = &(*link)->next;
    }
    *link = thread->next;
}

void rank_threads_kill(struct rank *rank)
{
    struct rank_thread *thread, *next;

    port_forget(rank, NULL);
    for (thread = rank->threads; thread != NULL; thread = next) {
        struct sim_fiber *fiber = thread->fiber;

        next = thread->next;
        forget(thread);
        sim_fiber_kill(fiber);
    }
}

/* It keeps the locks until it is killed with the other threads. */
static void freeze_body(void *arg)
{
    static const struct sim_wait wait = {.text = "the end of its process"};
    struct rank *rank = arg;

    port_process_freeze(rank);
    sim_event_schedule(&rank->reap, sim_now());
    for (;;)
        sim_wait_until(SIM_NEVER, &wait);
}

bool rank_freeze(struct rank *rank)
{
    if (rank->freezer != NULL || !port_process_releases(rank))
        return false;
    rank->freezer = sim_fiber_start(freeze_body, rank, "kernel", sim_now());
    if (rank->freezer == NULL)
        return false;
    rank_bind(rank, rank->freezer);
    return true;
}

static void thread_body(void *arg)
{
    struct rank_thread *thread = arg;
    struct rank *rank = thread->rank;

    thread->result = thread->main(rank, thread->arg);
    sim_settle();
    forget(thread);
    rank_wake(rank);
}

struct rank_thread *rank_thread_start(struct rank *rank, int (*main)(struct rank *rank, void *arg),
                                      void *arg)
{
    struct rank_thread *thread = rank_alloc(rank, sizeof(*thread));
    char name[112];

    sim_settle();
    sim_idle_break();
    thread->rank = rank;
    thread->main = main;
    thread->arg = arg;
    snprintf(name, sizeof(name), "%s.%u/%u", rank->job->name, rank->id, ++rank->threads_started);
    thread->fiber = sim_fiber_start(thread_body, thread, name, sim_now());
    if (thread->fiber == NULL)
        return NULL;
    rank_bind(rank, thread->fiber);
    thread->next = rank->threads;
    rank->threads = thread;
    return thread;
}

int rank_thread_join(struct rank *rank, struct rank_thread *thread)
{
    static const struct sim_wait wait = {.text = "the end of a thread"};

    sim_settle();
    while (thread->fiber != NULL)
        sim_wait_until(SIM_NEVER, &wait);
    return thread->result;
}

void rank_thread_interrupt(struct rank *rank, struct rank_thread *thread)
{
    struct sim_fiber *fiber = thread != NULL ? thread->fiber : rank->fiber;

    sim_settle();
    sim_idle_break();
    if (fiber != NULL && rank->process != NULL)
        aries_process_interrupt(rank->process, fiber);
}

void rank_thread_cancel(struct rank *rank, struct rank_thread *thread)
{
    struct sim_fiber *fiber = thread->fiber;

    sim_settle();
    sim_idle_break();
    if (fiber == NULL || fiber == sim_fiber_self())
        return;
    forget(thread);
    sim_fiber_kill(fiber);
    thread->result = RANK_THREAD_CANCELLED;
    rank_wake(rank);
}

/* ---- waiting for each other ------------------------------------------------------------------ */

bool rank_wait(struct rank *rank, bool (*ready)(const void *arg), const void *arg, uint64_t ps)
{
    static const struct sim_wait wait = {.text = "another thread (rank_wait)"};
    sim_time_t deadline;

    sim_settle();
    deadline = ps >= SIM_NEVER - sim_now() ? SIM_NEVER : sim_now() + ps;
    while (!ready(arg)) {
        if (sim_now() >= deadline)
            return false;
        sim_wait_until(deadline, &wait);
    }
    return true;
}

void rank_queues_only_begin(void)
{
    sim_queues_only_begin();
}

void rank_queues_only_end(void)
{
    sim_queues_only_end();
}

void rank_same_poll_begin(void)
{
    sim_same_poll_begin();
}

void rank_same_poll_end(void)
{
    sim_same_poll_end();
}

void rank_notify(struct rank *rank)
{
    sim_settle();
    sim_idle_break();
    rank_wake(rank);
}

int rank_poll(struct rank *rank, struct pollfd *fds, uint32_t count, uint64_t ps)
{
    return aries_poll(fds, count, ps);
}
