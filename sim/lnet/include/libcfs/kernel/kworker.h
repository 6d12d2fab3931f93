/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Threads that pause when they are told to, and workers that are one thread (linux/kthread.h). */
#ifndef JACQUARD_LIBCFS_KERNEL_KWORKER_H
#define JACQUARD_LIBCFS_KERNEL_KWORKER_H

#include "libcfs/libcfs.h"

#define TASK_PARKED 0x40
#pragma GCC visibility push(default)
/* Waits until the thread is in kthread_parkme(). -EBUSY: it is parked; -ENOSYS: it has ended. */
int libcfs_kthread_park(struct task_struct *task);
void libcfs_kthread_unpark(struct task_struct *task);
bool libcfs_kthread_should_park(void);
void libcfs_kthread_parkme(void);
void *libcfs_kthread_data(struct task_struct *task);
#pragma GCC visibility pop
#define kthread_park(task) libcfs_kthread_park(task)
#define kthread_unpark(task) libcfs_kthread_unpark(task)
#define kthread_should_park() libcfs_kthread_should_park()
#define kthread_parkme() libcfs_kthread_parkme()
#define kthread_data(task) libcfs_kthread_data(task)
#define kthread_create_on_cpu(run, data, cpu, format) \
    ((void)0, libcfs_kthread_create(run, data, format, cpu))
#define kthread_bind_mask(task, mask) ((void)libcfs_task_confine(task, mask))
#define kthread_freezable_should_stop(frozen) \
    ({                                        \
        bool *kthread_frozen__ = (frozen);    \
        if (kthread_frozen__ != NULL)         \
            *kthread_frozen__ = false;        \
        kthread_should_stop();                \
    })

/* ---- workers --------------------------------------------------------------------------------- */

struct kthread_work;
typedef void (*kthread_work_func_t)(struct kthread_work *work);
struct kthread_worker {
    unsigned flags;
    spinlock_t lock;
    struct list_head work_list;
    struct task_struct *task;
    struct kthread_work *current_work; /* that runs */
    wait_queue_head_t ended; /* woken when a work has ended */
};
struct kthread_work {
    struct list_head node; /* in its worker's list */
    kthread_work_func_t func;
    struct kthread_worker *worker; /* the last one that it was queued to */
    int canceling; /* so many wait for its end: it cannot be queued */
};
struct kthread_delayed_work {
    struct kthread_work work;
    struct timer_list timer;
};
#define KTW_FREEZABLE 1u
#define KTHREAD_WORKER_INIT(name)                            \
    {                                                        \
        .work_list = LIST_HEAD_INIT((name).work_list),       \
        .ended = __WAIT_QUEUE_HEAD_INITIALIZER((name).ended) \
    }
#define DEFINE_KTHREAD_WORKER(name) struct kthread_worker name = KTHREAD_WORKER_INIT(name)
#define KTHREAD_WORK_INIT(name, run)                       \
    {                                                      \
        .node = LIST_HEAD_INIT((name).node), .func = (run) \
    }
#define DEFINE_KTHREAD_WORK(name, run) struct kthread_work name = KTHREAD_WORK_INIT(name, run)

#pragma GCC visibility push(default)
void libcfs_kthread_worker_init(struct kthread_worker *worker);
int libcfs_kthread_worker_main(void *worker); /* until kthread_stop() */
bool libcfs_kthread_queue(struct kthread_worker *worker, struct kthread_work *work);
bool libcfs_kthread_queue_delayed(struct kthread_worker *worker, struct kthread_delayed_work *work,
                                  unsigned long delay, bool again);
void libcfs_kthread_delayed_due(struct timer_list *timer);
bool libcfs_kthread_cancel(struct kthread_work *work, struct timer_list *timer);
void libcfs_kthread_flush_work(struct kthread_work *work);
void libcfs_kthread_flush(struct kthread_worker *worker);
void libcfs_kthread_worker_destroy(struct kthread_worker *worker);
#pragma GCC visibility pop

#define kthread_init_worker(worker) libcfs_kthread_worker_init(worker)
#define kthread_init_work(work, run)                        \
    do {                                                    \
        struct kthread_work *kthread_work__ = (work);       \
        memset(kthread_work__, 0, sizeof(*kthread_work__)); \
        INIT_LIST_HEAD(&kthread_work__->node);              \
        kthread_work__->func = (run);                       \
    } while (0)
#define kthread_init_delayed_work(delayed, run)                            \
    do {                                                                   \
        kthread_init_work(&(delayed)->work, run);                          \
        libcfs_timer_setup(&(delayed)->timer, libcfs_kthread_delayed_due); \
    } while (0)
#define kthread_worker_fn libcfs_kthread_worker_main
/* With its thread, which runs; an error (IS_ERR()). */
#define kthread_create_worker(worker_flags, ...)                                                   \
    ({                                                                                             \
        struct kthread_worker *kthread_new__ =                                                     \
            (struct kthread_worker *)kzalloc(sizeof(struct kthread_worker), GFP_KERNEL);           \
        if (kthread_new__ == NULL) {                                                               \
            kthread_new__ = (struct kthread_worker *)ERR_PTR(-ENOMEM);                             \
        } else {                                                                                   \
            struct task_struct *kthread_task__;                                                    \
            kthread_init_worker(kthread_new__);                                                    \
            kthread_new__->flags = (worker_flags);                                                 \
            kthread_task__ = libcfs_kthread_create(kthread_worker_fn, kthread_new__, __VA_ARGS__); \
            if (IS_ERR(kthread_task__)) {                                                          \
                kfree(kthread_new__);                                                              \
                kthread_new__ = (struct kthread_worker *)(void *)kthread_task__;                   \
            } else {                                                                               \
                kthread_new__->task = kthread_task__;                                              \
                wake_up_process(kthread_task__);                                                   \
            }                                                                                      \
        }                                                                                          \
        kthread_new__;                                                                             \
    })
#define kthread_create_worker_on_cpu(cpu, flags, ...) \
    ((void)(cpu), kthread_create_worker(flags, __VA_ARGS__))
/* After all its works. */
#define kthread_destroy_worker(worker) libcfs_kthread_worker_destroy(worker)
/* false: it is queued already. */
#define kthread_queue_work(worker, work) libcfs_kthread_queue(worker, work)
#define kthread_queue_delayed_work(worker, work, delay) \
    libcfs_kthread_queue_delayed(worker, work, delay, false)
#define kthread_mod_delayed_work(worker, work, delay) \
    libcfs_kthread_queue_delayed(worker, work, delay, true)
#define kthread_flush_work(work) libcfs_kthread_flush_work(work)
#define kthread_flush_worker(worker) libcfs_kthread_flush(worker)
/* Whether it was queued; it does not run any more. */
#define kthread_cancel_work_sync(work) libcfs_kthread_cancel(work, NULL)
#define kthread_cancel_delayed_work_sync(delayed) \
    libcfs_kthread_cancel(&(delayed)->work, &(delayed)->timer)
/* Their names before Linux 4.9. */
#define init_kthread_worker(worker) kthread_init_worker(worker)
#define init_kthread_work(work, run) kthread_init_work(work, run)
#define queue_kthread_work(worker, work) kthread_queue_work(worker, work)
#define flush_kthread_work(work) kthread_flush_work(work)
#define flush_kthread_worker(worker) kthread_flush_worker(worker)

#endif
