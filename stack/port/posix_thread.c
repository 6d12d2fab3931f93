/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The port on POSIX: threads, and how they wait. */
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "port/port.h"

/* ---- records of threads ---------------------------------------------------------------------- */

enum { TID_STARTING = -1, TID_FREE = 0 };

/*
 * One record for each thread. Another thread may still hold the address of a thread that has ended,
 * to wake it. So records are never freed; a new thread gets one of them, and such a wake-up is a
 * spurious one for it.
 */
struct port_thread {
    struct port_thread *next;
    pid_t tid; /* or an enumerator TID_ */
    pthread_t native;
    void (*run)(void *);
    void *argument;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool woken;
};

static struct {
    pthread_mutex_t lock;
    struct port_thread *first;
} threads = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local struct port_thread *self
    __attribute__((tls_model("initial-exec"))); /* the thread's record is found without a call */

/* Nothing reports the end of a thread that was not started here. */
static bool is_over(const struct port_thread *thread)
{
    if (thread->tid <= 0)
        return thread->tid == TID_FREE;
    return syscall(SYS_tgkill, getpid(), thread->tid, 0) != 0 && errno == ESRCH;
}

static struct port_thread *record_make(void)
{
    struct port_thread *thread = calloc(1, sizeof(*thread));
    pthread_condattr_t attributes;

    if (thread == NULL)
        return NULL;
    pthread_mutex_init(&thread->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&thread->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    return thread;
}

static __attribute__((cold)) struct port_thread *record_get(pid_t tid)
{
    struct port_thread *thread;

    pthread_mutex_lock(&threads.lock);
    for (thread = threads.first; thread != NULL && !is_over(thread); thread = thread->next)
        ;
    if (thread == NULL) {
        thread = record_make();
        if (thread != NULL) {
            thread->next = threads.first;
            threads.first = thread;
        }
    }
    if (thread != NULL)
        thread->tid = tid;
    pthread_mutex_unlock(&threads.lock);
    return thread;
}

static void record_set(struct port_thread *thread, pid_t tid)
{
    assert(tid >= TID_STARTING);
    pthread_mutex_lock(&threads.lock);
    thread->tid = tid;
    pthread_mutex_unlock(&threads.lock);
}

struct port_thread *port_thread_self(void)
{
    if (self == NULL)
        self = record_get(gettid());
    if (self == NULL)
        abort(); /* there is no memory for a record of 200 bytes */
    return self;
}

/* ---- starting and joining -------------------------------------------------------------------- */

static void *thread_main(void *argument)
{
    struct port_thread *thread = argument;

    self = thread;
    record_set(thread, gettid());
    thread->run(thread->argument);
    return NULL;
}

struct port_thread *port_thread_start(const char *name, void (*run)(void *), void *argument)
{
    struct port_thread *thread = record_get(TID_STARTING);
    char shown[16];
    sigset_t all, before;
    int status;

    if (thread == NULL)
        return NULL;
    assert(run != NULL && thread->tid == TID_STARTING);
    thread->run = run;
    thread->argument = argument;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    status = pthread_create(&thread->native, NULL, thread_main, thread);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (status != 0) {
        record_set(thread, TID_FREE);
        return NULL;
    }
    snprintf(shown, sizeof(shown), "%s", name);
    pthread_setname_np(thread->native, shown);
    return thread;
}

void port_thread_join(struct port_thread *thread)
{
    assert(thread != self && thread->tid != TID_FREE);
    pthread_join(thread->native, NULL);
    record_set(thread, TID_FREE);
}

/* ---- processors ------------------------------------------------------------------------------ */

unsigned port_processors(void)
{
    long count = sysconf(_SC_NPROCESSORS_CONF);

    return count > 0 ? (unsigned)count : 1;
}

int port_thread_confine(struct port_thread *thread, const uint64_t *set, size_t count)
{
    size_t processors = port_processors(), bytes = CPU_ALLOC_SIZE(processors), i;
    cpu_set_t *native = CPU_ALLOC(processors);
    int status;

    if (native == NULL)
        return -ENOMEM;
    CPU_ZERO_S(bytes, native);
    for (i = 0; i < count && i < processors; i++)
        if ((set[i / 64] >> i % 64 & 1) != 0)
            CPU_SET_S(i, bytes, native);
    /* The system refuses a set of no existing processor. A thread that has just been started may
     * not have noted its number yet, but its handle is known. */
    status = thread == self ? pthread_setaffinity_np(pthread_self(), bytes, native)
                            : pthread_setaffinity_np(thread->native, bytes, native);
    CPU_FREE(native);
    return -status;
}

bool port_thread_allowed(unsigned processor)
{
    size_t processors = port_processors(), bytes = CPU_ALLOC_SIZE(processors);
    cpu_set_t *native = CPU_ALLOC(processors);
    bool allowed = false;

    if (native == NULL)
        return false;
    if (pthread_getaffinity_np(pthread_self(), bytes, native) == 0)
        allowed = CPU_ISSET_S(processor, bytes, native);
    CPU_FREE(native);
    return allowed;
}

/* ---- waiting --------------------------------------------------------------------------------- */

void port_thread_wake(struct port_thread *thread)
{
    if (thread == self)
        return;
    pthread_mutex_lock(&thread->lock);
    thread->woken = true;
    pthread_cond_signal(&thread->changed);
    pthread_mutex_unlock(&thread->lock);
}

struct timer {
    uint64_t deadline; /* UINT64_MAX: none */
    uint32_t turns; /* fruitless polls so far */
    uint64_t turned; /* time at which the last one ended; 0: there was none */
    /* a poll or a yield took as long as it does when another thread runs meanwhile */
    bool preempted;
};
_Static_assert(sizeof(struct timer) <= sizeof(struct port_timer), "room for a timer");

static const struct timer *native(const struct port_timer *timer)
{
    return (const struct timer *)timer->opaque;
}

void port_timer_start(struct port_timer *timer, uint64_t nanoseconds)
{
    uint64_t now = port_now();

    *(struct timer *)timer->opaque =
        (struct timer){.deadline = nanoseconds < UINT64_MAX - now ? now + nanoseconds : UINT64_MAX};
}

bool port_timer_rang(const struct port_timer *timer)
{
    return native(timer)->deadline != UINT64_MAX && port_now() >= native(timer)->deadline;
}

void port_timer_stop(struct port_timer *timer)
{
    (void)timer;
}

/* Sleeps until the thread is woken or the deadline passes. */
static __attribute__((cold)) void nap(uint64_t deadline)
{
    struct port_thread *thread = port_thread_self();
    struct timespec until = {.tv_sec = (time_t)(deadline / 1000000000u),
                             .tv_nsec = (long)(deadline % 1000000000u)};
    int status = 0;

    pthread_mutex_lock(&thread->lock);
    while (!thread->woken && status == 0)
        status = deadline == UINT64_MAX
                     ? pthread_cond_wait(&thread->changed, &thread->lock)
                     : pthread_cond_timedwait(&thread->changed, &thread->lock, &until);
    thread->woken = false;
    pthread_mutex_unlock(&thread->lock);
}

/*
 * An event comes soon or late. A short wait must not cost a switch of threads, a long one must
 * leave the CPU to other threads. So a wait spins first, then yields, then sleeps.
 */
enum { SPINS = 100, YIELDS = 100, NAP_NS = 20000, MEMORY_POLL_NS = 1000, PREEMPTED_NS = 4000 };

void port_poll_memory(void)
{
    nap(port_now() + MEMORY_POLL_NS);
}

void port_idle_break(void)
{
}

void port_poll_mark(uint32_t id)
{
    (void)id;
}

uint32_t port_new_id(void)
{
    return 0;
}

void port_idle(struct port_timer *timer, bool polled)
{
    struct timer *mine = (struct timer *)timer->opaque;
    uint64_t now;

    if (!polled) {
        nap(mine->deadline);
        return;
    }
    now = port_now();
    mine->preempted |= mine->turned != 0 && now - mine->turned > PREEMPTED_NS;
    mine->turned = now;
    mine->turns++;
    if (mine->turns <= SPINS)
        return;
    if (mine->turns <= SPINS + YIELDS) {
        sched_yield();
        return;
    }
    nap(now + NAP_NS < mine->deadline ? now + NAP_NS : mine->deadline);
    mine->turned = 0;
}

bool port_timer_preempted(const struct port_timer *timer)
{
    return native(timer)->preempted;
}

void port_spend(enum port_cost cost, uint64_t amount)
{
    (void)cost;
    (void)amount;
}

void port_step_spend(const char *driver, enum port_step step, uint64_t amount)
{
    (void)driver;
    (void)step;
    (void)amount;
}

void port_book(enum port_book book, int64_t change)
{
    (void)book;
    (void)change;
}

void port_book_close(enum port_book book)
{
    (void)book;
}

void port_book_violation(enum port_book book, const char *text)
{
    (void)book;
    (void)text;
}

void port_piece_sent(const struct port_piece *piece, const void *bytes, size_t length)
{
    (void)piece, (void)bytes, (void)length;
}

void port_piece_received(const struct port_piece *piece, const void *bytes, size_t length)
{
    (void)piece, (void)bytes, (void)length;
}

uint64_t port_piece_digest(const void *bytes, size_t length)
{
    (void)bytes, (void)length;
    return 0;
}
