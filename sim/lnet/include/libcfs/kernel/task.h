/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The kernel's threads, and how they wait: states of tasks, wait queues, completions. Waking is
 * possible from everywhere, also from callbacks of LNet's event queues; what waits is a thread.
 * There are no signals: nothing interrupts a wait.
 */
#ifndef JACQUARD_LIBCFS_KERNEL_TASK_H
#define JACQUARD_LIBCFS_KERNEL_TASK_H

#include "libcfs/kernel/time.h"

/* ---- tasks ----------------------------------------------------------------------------------- */

#define TASK_RUNNING 0
#define TASK_INTERRUPTIBLE 1
#define TASK_UNINTERRUPTIBLE 2
#define TASK_NORMAL (TASK_INTERRUPTIBLE | TASK_UNINTERRUPTIBLE)
#define TASK_KILLABLE (0x100 | TASK_UNINTERRUPTIBLE)
#define TASK_IDLE (0x400 | TASK_UNINTERRUPTIBLE)
#define TASK_COMM_LEN 16

#define NR_CPUS 1024
struct cpumask { /* libcfs/kernel/cpumask.h */
    unsigned long bits[NR_CPUS / 64];
};

struct libcfs_task; /* what the implementation has for it */

/* A thread; also of one that was not started here, when it first waits. */
struct task_struct {
    long state; /* TASK_RUNNING, or what it is going to wait as; changed atomically */
    pid_t pid; /* a number that no other thread of the process has */
    pid_t tgid; /* of a thread of the kernel its pid; else one number for the process */
    char comm[TASK_COMM_LEN];
    unsigned flags; /* PF_KTHREAD: a thread of the kernel */
    int nr_cpus_allowed;
    union { /* for set_cpus_allowed_ptr() to change; the second is the name of old kernels */
        struct cpumask cpus_mask, cpus_allowed;
    };
    unsigned long thread_flags; /* changed atomically */
    void *journal_info; /* the thread's own, NULL at first */
    struct mm_struct *mm; /* of the process; of a thread of the kernel NULL */
    struct libcfs_task *own;
};
#define PF_EXITING 0x00000004u
#define PF_MEMALLOC 0x00000800u
#define PF_NOFREEZE 0x00008000u
#define PF_MEMALLOC_NOFS 0x00040000u
#define PF_MEMALLOC_NOIO 0x00080000u
#define PF_KTHREAD 0x00200000u

#pragma GCC visibility push(default)
struct task_struct *libcfs_current(void);
struct task_struct *libcfs_kthread_create(int (*run)(void *data), void *data, const char *format,
                                          ...) __attribute__((format(printf, 3, 4)));
int libcfs_kthread_stop(struct task_struct *task);
bool libcfs_kthread_should_stop(void);
void libcfs_kthread_bind(struct task_struct *task, unsigned processor);
void libcfs_task_get(struct task_struct *task);
void libcfs_task_put(struct task_struct *task);
bool libcfs_wake_task(struct task_struct *task, long mode);
/* Waits until the calling task's state is TASK_RUNNING, or until a time in nanoseconds. */
void libcfs_schedule(uint64_t deadline);
long libcfs_schedule_timeout(long timeout);
unsigned libcfs_processors(void);
#pragma GCC visibility pop

#define current libcfs_current()
#define current_pid() (current->pid)
#define set_current_state(value) __atomic_store_n(&current->state, (long)(value), __ATOMIC_SEQ_CST)
#define __set_current_state(value) set_current_state(value)

/* A stopped thread that nobody has woken. A pointer with an error (IS_ERR()): it did not start. */
#define kthread_create(run, data, ...) libcfs_kthread_create(run, data, __VA_ARGS__)
#define kthread_create_on_node(run, data, node, ...) libcfs_kthread_create(run, data, __VA_ARGS__)
#define kthread_run(run, data, ...)                                                    \
    ({                                                                                 \
        struct task_struct *kthread__ = libcfs_kthread_create(run, data, __VA_ARGS__); \
        if ((uintptr_t)kthread__ < (uintptr_t)-4095)                                   \
            wake_up_process(kthread__);                                                \
        kthread__;                                                                     \
    })
/*
 * Tells the thread to end, wakes it, waits for its end, and returns what its function returned; it
 * did not run: -EINTR. If the function may return before, get_task_struct() was called.
 */
static inline int kthread_stop(struct task_struct *task)
{
    return libcfs_kthread_stop(task);
}
static inline bool kthread_should_stop(void)
{
    return libcfs_kthread_should_stop();
}
static inline void kthread_bind(struct task_struct *task, unsigned processor)
{
    libcfs_kthread_bind(task, processor);
}
static inline void get_task_struct(struct task_struct *task)
{
    libcfs_task_get(task);
}
static inline void put_task_struct(struct task_struct *task)
{
    libcfs_task_put(task);
}
static inline int wake_up_process(struct task_struct *task)
{
    return libcfs_wake_task(task, TASK_NORMAL); /* 1: it was not running */
}

/* These wait only if the state was set before; they return in TASK_RUNNING. */
static inline void schedule(void)
{
    libcfs_schedule(UINT64_MAX);
}
static inline long schedule_timeout(long timeout)
{
    return libcfs_schedule_timeout(timeout); /* what is left of it, or 0 */
}
static inline long libcfs_schedule_timeout_as(long state, long timeout)
{
    set_current_state(state);
    return libcfs_schedule_timeout(timeout);
}
#define schedule_timeout_interruptible(timeout) \
    libcfs_schedule_timeout_as(TASK_INTERRUPTIBLE, timeout)
#define schedule_timeout_uninterruptible(timeout) \
    libcfs_schedule_timeout_as(TASK_UNINTERRUPTIBLE, timeout)
#define schedule_timeout_killable(timeout) libcfs_schedule_timeout_as(TASK_KILLABLE, timeout)
/* Lets others run, for a microsecond of the simulation. */
#define cond_resched()      \
    ({                      \
        libcfs_sleep(1000); \
        0;                  \
    })
static inline void yield(void)
{
    libcfs_sleep(1000);
}
#define signal_pending(task) ((void)(task), 0)
#define fatal_signal_pending(task) ((void)(task), 0)
#define in_interrupt() 0
#define might_sleep() ((void)0)
#define set_user_nice(task, nice) ((void)(task))
#define num_online_cpus() libcfs_processors()
#define num_possible_cpus() libcfs_processors()
#define smp_processor_id() 0
#define raw_smp_processor_id() 0

/* ---- wait queues ----------------------------------------------------------------------------- */

typedef struct wait_queue_head {
    spinlock_t lock;
    struct list_head head;
} wait_queue_head_t;

struct wait_queue_entry;
typedef int (*wait_queue_func_t)(struct wait_queue_entry *entry, unsigned mode, int flags,
                                 void *key);
typedef struct wait_queue_entry {
    unsigned flags;
    void *private; /* the task */
    wait_queue_func_t func; /* not 0: it woke the task */
    struct list_head entry;
} wait_queue_entry_t, wait_queue_t;
#define WQ_FLAG_EXCLUSIVE 1u

#pragma GCC visibility push(default)
int libcfs_default_wake(struct wait_queue_entry *entry, unsigned mode, int flags, void *key);
int libcfs_autoremove_wake(struct wait_queue_entry *entry, unsigned mode, int flags, void *key);
void libcfs_wait_prepare(wait_queue_head_t *queue, wait_queue_entry_t *entry, long state,
                         bool exclusive);
void libcfs_wait_finish(wait_queue_head_t *queue, wait_queue_entry_t *entry);
/* All that are not exclusive, and so many (0: all) that are. `locked`: the caller has the lock. */
void libcfs_wake_up(wait_queue_head_t *queue, long mode, unsigned exclusive, bool locked);
#pragma GCC visibility pop

#define __WAIT_QUEUE_HEAD_INITIALIZER(name) \
    {                                       \
        .head = LIST_HEAD_INIT((name).head) \
    }
#define DECLARE_WAIT_QUEUE_HEAD(name) wait_queue_head_t name = __WAIT_QUEUE_HEAD_INITIALIZER(name)
#define DECLARE_WAIT_QUEUE_HEAD_ONSTACK(name) DECLARE_WAIT_QUEUE_HEAD(name)
static inline void init_waitqueue_head(wait_queue_head_t *queue)
{
    spin_lock_init(&queue->lock);
    INIT_LIST_HEAD(&queue->head);
}
static inline bool waitqueue_active(const wait_queue_head_t *queue)
{
    return !list_empty(&queue->head);
}
#define wq_has_sleeper(queue) waitqueue_active(queue)

#define default_wake_function libcfs_default_wake
#define autoremove_wake_function libcfs_autoremove_wake
#define DECLARE_WAITQUEUE(name, task) \
    wait_queue_entry_t name = {       \
        .private = (task), .func = libcfs_default_wake, .entry = LIST_HEAD_INIT((name).entry)}
#define DEFINE_WAIT(name)       \
    wait_queue_entry_t name = { \
        .private = current, .func = libcfs_autoremove_wake, .entry = LIST_HEAD_INIT((name).entry)}
static inline void init_waitqueue_entry(wait_queue_entry_t *entry, struct task_struct *task)
{
    *entry = (wait_queue_entry_t){.private = task, .func = libcfs_default_wake};
    INIT_LIST_HEAD(&entry->entry);
}
#define init_wait(wait) \
    (init_waitqueue_entry(wait, current), (void)((wait)->func = libcfs_autoremove_wake))
static inline void libcfs_wait_add(wait_queue_head_t *queue, wait_queue_entry_t *entry,
                                   bool exclusive)
{
    entry->flags = exclusive ? WQ_FLAG_EXCLUSIVE : 0;
    spin_lock(&queue->lock);
    if (exclusive)
        list_add_tail(&entry->entry, &queue->head);
    else
        list_add(&entry->entry, &queue->head);
    spin_unlock(&queue->lock);
}
static inline void add_wait_queue(wait_queue_head_t *queue, wait_queue_entry_t *entry)
{
    libcfs_wait_add(queue, entry, false);
}
static inline void add_wait_queue_exclusive(wait_queue_head_t *queue, wait_queue_entry_t *entry)
{
    libcfs_wait_add(queue, entry, true);
}
static inline void remove_wait_queue(wait_queue_head_t *queue, wait_queue_entry_t *entry)
{
    spin_lock(&queue->lock);
    list_del_init(&entry->entry);
    spin_unlock(&queue->lock);
}
static inline void prepare_to_wait(wait_queue_head_t *queue, wait_queue_entry_t *entry, int state)
{
    libcfs_wait_prepare(queue, entry, state, false);
}
static inline void prepare_to_wait_exclusive(wait_queue_head_t *queue, wait_queue_entry_t *entry,
                                             int state)
{
    libcfs_wait_prepare(queue, entry, state, true);
}
static inline void finish_wait(wait_queue_head_t *queue, wait_queue_entry_t *entry)
{
    libcfs_wait_finish(queue, entry);
}

#define wake_up(queue) libcfs_wake_up(queue, TASK_NORMAL, 1, false)
#define wake_up_nr(queue, count) libcfs_wake_up(queue, TASK_NORMAL, count, false)
#define wake_up_all(queue) libcfs_wake_up(queue, TASK_NORMAL, 0, false)
#define wake_up_locked(queue) libcfs_wake_up(queue, TASK_NORMAL, 1, true)
#define wake_up_all_locked(queue) libcfs_wake_up(queue, TASK_NORMAL, 0, true)
#define wake_up_interruptible(queue) libcfs_wake_up(queue, TASK_INTERRUPTIBLE, 1, false)
#define wake_up_interruptible_nr(queue, count) \
    libcfs_wake_up(queue, TASK_INTERRUPTIBLE, count, false)
#define wake_up_interruptible_all(queue) libcfs_wake_up(queue, TASK_INTERRUPTIBLE, 0, false)
#define wake_up_interruptible_sync(queue) wake_up_interruptible(queue)

/* Waits for the condition, with statements before and after each wait; the time that is left. */
#define LIBCFS_WAIT(queue, condition, state, exclusive, timeout, before, after) \
    ({                                                                          \
        wait_queue_head_t *wait_queue__ = &(queue);                             \
        long wait_left__ = (timeout);                                           \
        DEFINE_WAIT(wait__);                                                    \
        for (;;) {                                                              \
            libcfs_wait_prepare(wait_queue__, &wait__, state, exclusive);       \
            if (condition) {                                                    \
                wait_left__ = wait_left__ > 0 ? wait_left__ : 1;                \
                break;                                                          \
            }                                                                   \
            if (wait_left__ <= 0)                                               \
                break;                                                          \
            before;                                                             \
            wait_left__ = libcfs_schedule_timeout(wait_left__);                 \
            after;                                                              \
        }                                                                       \
        libcfs_wait_finish(wait_queue__, &wait__);                              \
        wait_left__;                                                            \
    })
#define LIBCFS_WAIT_FOR(queue, condition, state, exclusive) \
    ((void)LIBCFS_WAIT(queue, condition, state, exclusive, MAX_SCHEDULE_TIMEOUT, , ))

#define wait_event(queue, condition) LIBCFS_WAIT_FOR(queue, condition, TASK_UNINTERRUPTIBLE, false)
#define wait_event_idle(queue, condition) LIBCFS_WAIT_FOR(queue, condition, TASK_IDLE, false)
#define wait_event_exclusive(queue, condition) \
    LIBCFS_WAIT_FOR(queue, condition, TASK_UNINTERRUPTIBLE, true)
#define wait_event_idle_exclusive(queue, condition) \
    LIBCFS_WAIT_FOR(queue, condition, TASK_IDLE, true)
#define wait_event_idle_exclusive_lifo(queue, condition) wait_event_idle_exclusive(queue, condition)
#define wait_event_cmd(queue, condition, before, after)                                     \
    ((void)LIBCFS_WAIT(queue, condition, TASK_UNINTERRUPTIBLE, false, MAX_SCHEDULE_TIMEOUT, \
                       before, after))
/* The caller has the spin lock, which is released during the wait. */
#define wait_event_lock_irq(queue, condition, lock) \
    wait_event_cmd(queue, condition, spin_unlock(&(lock)), spin_lock(&(lock)))
#define wait_event_lock_irq_cmd(queue, condition, lock, command) \
    wait_event_cmd(queue, condition, spin_unlock(&(lock)); command, spin_lock(&(lock)))
#define wait_event_interruptible_lock_irq(queue, condition, lock) \
    (wait_event_lock_irq(queue, condition, lock), 0)
/* 0: the condition holds. */
#define wait_event_interruptible(queue, condition) \
    (LIBCFS_WAIT_FOR(queue, condition, TASK_INTERRUPTIBLE, false), 0)
#define wait_event_interruptible_exclusive(queue, condition) \
    (LIBCFS_WAIT_FOR(queue, condition, TASK_INTERRUPTIBLE, true), 0)
#define wait_event_killable(queue, condition) \
    (LIBCFS_WAIT_FOR(queue, condition, TASK_KILLABLE, false), 0)
/* Jiffies that are left, at least 1; 0: the time is over and the condition does not hold. */
#define wait_event_timeout(queue, condition, timeout) \
    LIBCFS_WAIT(queue, condition, TASK_UNINTERRUPTIBLE, false, timeout, , )
#define wait_event_interruptible_timeout(queue, condition, timeout) \
    LIBCFS_WAIT(queue, condition, TASK_INTERRUPTIBLE, false, timeout, , )
#define wait_event_idle_timeout(queue, condition, timeout) \
    LIBCFS_WAIT(queue, condition, TASK_IDLE, false, timeout, , )
#define wait_event_idle_exclusive_timeout(queue, condition, timeout) \
    LIBCFS_WAIT(queue, condition, TASK_IDLE, true, timeout, , )

/* An entry with a function of its own, and one that keeps that it was woken: it is woken, too, if
 * that came before the wait. */
#define WQ_FLAG_WOKEN 2u
#define DEFINE_WAIT_FUNC(name, function) \
    wait_queue_entry_t name = {          \
        .private = current, .func = (function), .entry = LIST_HEAD_INIT((name).entry)}
static inline int woken_wake_function(struct wait_queue_entry *entry, unsigned mode, int flags,
                                      void *key)
{
    (void)__atomic_fetch_or(&entry->flags, WQ_FLAG_WOKEN, __ATOMIC_SEQ_CST);
    return libcfs_default_wake(entry, mode, flags, key);
}
static inline long wait_woken(struct wait_queue_entry *entry, unsigned mode, long timeout)
{
    set_current_state(mode);
    if ((__atomic_load_n(&entry->flags, __ATOMIC_SEQ_CST) & WQ_FLAG_WOKEN) == 0)
        timeout = libcfs_schedule_timeout(timeout);
    __set_current_state(TASK_RUNNING);
    (void)__atomic_fetch_and(&entry->flags, ~WQ_FLAG_WOKEN, __ATOMIC_SEQ_CST);
    return timeout;
}

/* ---- completions ----------------------------------------------------------------------------- */

struct completion {
    unsigned done; /* how many waits may return; UINT_MAX: all */
    wait_queue_head_t wait;
};

#pragma GCC visibility push(default)
void libcfs_complete(struct completion *x, bool all);
long libcfs_wait_for_completion(struct completion *x, long timeout, long state);
#pragma GCC visibility pop

#define COMPLETION_INITIALIZER(name)                       \
    {                                                      \
        .wait = __WAIT_QUEUE_HEAD_INITIALIZER((name).wait) \
    }
#define DECLARE_COMPLETION(name) struct completion name = COMPLETION_INITIALIZER(name)
#define DECLARE_COMPLETION_ONSTACK(name) DECLARE_COMPLETION(name)
static inline void init_completion(struct completion *x)
{
    x->done = 0;
    init_waitqueue_head(&x->wait);
}
static inline void reinit_completion(struct completion *x)
{
    x->done = 0;
}
static inline bool completion_done(struct completion *x)
{
    return __atomic_load_n(&x->done, __ATOMIC_ACQUIRE) != 0;
}
static inline void complete(struct completion *x)
{
    libcfs_complete(x, false);
}
static inline void complete_all(struct completion *x)
{
    libcfs_complete(x, true);
}
static inline void wait_for_completion(struct completion *x)
{
    (void)libcfs_wait_for_completion(x, MAX_SCHEDULE_TIMEOUT, TASK_UNINTERRUPTIBLE);
}
static inline int wait_for_completion_interruptible(struct completion *x)
{
    (void)libcfs_wait_for_completion(x, MAX_SCHEDULE_TIMEOUT, TASK_INTERRUPTIBLE);
    return 0;
}
static inline int wait_for_completion_killable(struct completion *x)
{
    (void)libcfs_wait_for_completion(x, MAX_SCHEDULE_TIMEOUT, TASK_KILLABLE);
    return 0;
}
/* Jiffies that are left, at least 1; 0: the time is over. */
static inline unsigned long wait_for_completion_timeout(struct completion *x, unsigned long timeout)
{
    return (unsigned long)libcfs_wait_for_completion(x, (long)timeout, TASK_UNINTERRUPTIBLE);
}
static inline long wait_for_completion_interruptible_timeout(struct completion *x,
                                                             unsigned long timeout)
{
    return libcfs_wait_for_completion(x, (long)timeout, TASK_INTERRUPTIBLE);
}
static inline bool try_wait_for_completion(struct completion *x)
{
    return libcfs_wait_for_completion(x, 0, TASK_UNINTERRUPTIBLE) > 0;
}

static inline long wait_for_completion_killable_timeout(struct completion *x, unsigned long timeout)
{
    return libcfs_wait_for_completion(x, (long)timeout, TASK_KILLABLE);
}
#define wait_for_completion_io(x) wait_for_completion(x)
#define wait_for_completion_io_timeout(x, timeout) wait_for_completion_timeout(x, timeout)

#pragma GCC visibility push(default)
void libcfs_task_exit(struct completion *done, long code) __attribute__((__noreturn__));
#pragma GCC visibility pop
/* End the calling thread, which kthread_create() has made, as if its function returned the code. */
#define do_exit(code) libcfs_task_exit(NULL, code)
#define complete_and_exit(completion, code) libcfs_task_exit(completion, code)

#endif
