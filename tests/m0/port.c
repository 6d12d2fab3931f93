/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Threads, locks and time of the code under test, on fibers; see port.h. */
#include "port.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "engine/sim.h"

jmp_buf *port_test_catcher;
char port_test_panic[512];
static struct port_thread main_thread;
static void *slots[16];
static int64_t booked[PORT_TEST_NODES][PORT_BOOKS];

void port_test_begin(void)
{
    main_thread = (struct port_thread){.fiber = sim_fiber_self(), .processors = 0xff};
    sim_fiber_set_note(sim_fiber_self(), &main_thread);
    memset(slots, 0, sizeof(slots));
    memset(booked, 0, sizeof(booked));
    port_test_violations = 0;
}

void port_test_set_node(int node)
{
    port_thread_self()->node = node;
}

int port_test_node(void)
{
    return sim_fiber_self() != NULL ? port_thread_self()->node : -1;
}

void port_exit(int status)
{
    fprintf(stderr, "a process of the test exits with %d\n", status);
    abort();
}

void port_panic(const char *text)
{
    snprintf(port_test_panic, sizeof(port_test_panic), "%s", text);
    if (port_test_catcher == NULL || sim_fiber_self() != main_thread.fiber) {
        fprintf(stderr, "%s\n", text);
        abort();
    }
    longjmp(*port_test_catcher, 1);
}

/* ---- locks ----------------------------------------------------------------------------------- */

struct __attribute__((may_alias)) mutex {
    struct port_thread *owner, *first;
};
_Static_assert(sizeof(struct mutex) <= sizeof(struct port_mutex), "room for a mutex");

void port_mutex_init(struct port_mutex *mutex)
{
    memset(mutex, 0, sizeof(*mutex));
}

void port_mutex_destroy(struct port_mutex *mutex)
{
    const struct mutex *mine = (struct mutex *)mutex->opaque;

    assert(mine->owner == NULL);
    (void)mine;
}

void port_mutex_lock(struct port_mutex *mutex)
{
    static const struct sim_wait wait = {.text = "a mutex"};
    struct mutex *mine = (struct mutex *)mutex->opaque;
    struct port_thread *self = port_thread_self(), **last;

    assert(mine->owner != self);
    if (mine->owner == NULL) {
        mine->owner = self;
        return;
    }
    self->next = NULL;
    for (last = &mine->first; *last != NULL; last = &(*last)->next) {
    }
    *last = self;
    while (mine->owner != self)
        sim_wait_until(SIM_NEVER, &wait);
}

bool port_mutex_trylock(struct port_mutex *mutex)
{
    struct mutex *mine = (struct mutex *)mutex->opaque;

    if (mine->owner != NULL)
        return false;
    mine->owner = port_thread_self();
    return true;
}

void port_mutex_unlock(struct port_mutex *mutex)
{
    struct mutex *mine = (struct mutex *)mutex->opaque;
    struct port_thread *next = mine->first;

    assert(mine->owner == port_thread_self());
    mine->owner = next;
    if (next != NULL) {
        mine->first = next->next;
        sim_wake(next->fiber);
    }
}

struct __attribute__((may_alias)) semaphore {
    uint64_t count;
    struct sim_fiber *waiters[PORT_SEMAPHORE_WAITERS];
};
_Static_assert(sizeof(struct semaphore) <= sizeof(struct port_semaphore), "room for a semaphore");

void port_semaphore_init(struct port_semaphore *semaphore)
{
    memset(semaphore, 0, sizeof(*semaphore));
}

void port_semaphore_destroy(struct port_semaphore *semaphore)
{
    (void)semaphore;
}

void port_semaphore_post(struct port_semaphore *semaphore)
{
    struct semaphore *mine = (struct semaphore *)semaphore->opaque;
    unsigned i;

    mine->count++;
    for (i = 0; i < PORT_SEMAPHORE_WAITERS; i++)
        if (mine->waiters[i] != NULL)
            sim_wake(mine->waiters[i]);
}

bool port_semaphore_wait(struct port_semaphore *semaphore, uint64_t nanoseconds)
{
    static const struct sim_wait wait = {.text = "a semaphore"};
    struct semaphore *mine = (struct semaphore *)semaphore->opaque;
    sim_time_t now = sim_local_time(), deadline = SIM_NEVER;
    unsigned i = 0;

    if (nanoseconds < (SIM_NEVER - now) / SIM_NS)
        deadline = now + nanoseconds * SIM_NS;
    while (mine->waiters[i] != NULL)
        i++;
    assert(i < PORT_SEMAPHORE_WAITERS);
    mine->waiters[i] = sim_fiber_self();
    sim_settle();
    while (mine->count == 0 && sim_local_time() < deadline)
        sim_wait_until(deadline, &wait);
    mine->waiters[i] = NULL;
    if (mine->count == 0)
        return false;
    mine->count--;
    return true;
}

/* ---- threads --------------------------------------------------------------------------------- */

static void thread_main(void *argument)
{
    struct port_thread *thread = argument;

    thread->run(thread->argument);
    sim_settle();
    thread->over = true;
    if (thread->joiner != NULL)
        sim_wake(thread->joiner);
}

struct port_thread *port_thread_start(const char *name, void (*run)(void *), void *argument)
{
    struct port_thread *thread = calloc(1, sizeof(*thread));

    thread->run = run;
    thread->argument = argument;
    thread->node = port_test_node();
    thread->processors = 0xff;
    thread->fiber = sim_fiber_start(thread_main, thread, name, sim_now());
    if (thread->fiber == NULL) {
        free(thread);
        return NULL;
    }
    sim_fiber_set_note(thread->fiber, thread);
    return thread;
}

void port_thread_join(struct port_thread *thread)
{
    static const struct sim_wait wait = {.text = "the end of a thread"};

    thread->joiner = sim_fiber_self();
    sim_settle();
    while (!thread->over)
        sim_wait_until(SIM_NEVER, &wait);
    free(thread);
}

struct port_thread *port_thread_self(void)
{
    return sim_fiber_note(sim_fiber_self());
}

void **port_thread_pointer(void)
{
    return &port_thread_self()->pointer;
}

int port_thread_confine(struct port_thread *thread, const uint64_t *set, size_t count)
{
    uint64_t allowed = count == 0 ? 0 : set[0] & ((1ull << PORT_TEST_PROCESSORS) - 1);

    if (allowed == 0)
        return -EINVAL;
    thread->processors = allowed;
    return 0;
}

/* ---- the rest -------------------------------------------------------------------------------- */

uint64_t port_now(void)
{
    return (sim_fiber_self() != NULL ? sim_local_time() : sim_now()) / SIM_NS;
}

void port_spend(enum port_cost cost, uint64_t amount)
{
    (void)cost, (void)amount;
}

/* ---- books ----------------------------------------------------------------------------------- */

unsigned port_test_violations;
char port_test_violation[128];

int64_t port_test_booked(enum port_book book)
{
    int64_t sum = 0;
    unsigned i;

    for (i = 0; i < PORT_TEST_NODES; i++)
        sum += booked[i][book];
    return sum;
}

void port_book(enum port_book book, int64_t change)
{
    int node = port_test_node();

    assert(node >= 0 && node < PORT_TEST_NODES);
    booked[node][book] += change;
    if (booked[node][book] < 0)
        port_book_violation(book, "more have ended than have begun");
}

void port_book_close(enum port_book book)
{
    if (booked[port_test_node()][book] != 0)
        port_book_violation(book, "some are open at the end");
}

void port_book_violation(enum port_book book, const char *text)
{
    port_test_violations++;
    snprintf(port_test_violation, sizeof(port_test_violation), "book %u: %s", (unsigned)book, text);
}

void **port_host_slot(enum port_host_slot slot)
{
    (void)slot;
    return NULL; /* the rig has the hosts */
}

void port_at_release(void (*freeze)(uint64_t process), void (*release)(uint64_t process))
{
    (void)freeze;
    (void)release;
}

uint64_t port_process(void) /* one on each node */
{
    return (uint64_t)port_test_node() + 1;
}

void **port_slot(enum port_slot slot)
{
    return &slots[slot];
}
