/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The kernel's timers and work queues. The functions of timers run on one thread of the process,
 * those of works on threads of their queue. Timers may be changed and works be queued from
 * everywhere, also from callbacks of LNet's event queues, except static ones (DEFINE_TIMER(),
 * DECLARE_WORK()) for the first time.
 */
#ifndef JACQUARD_LIBCFS_KERNEL_WORK_H
#define JACQUARD_LIBCFS_KERNEL_WORK_H

#include "libcfs/kernel/task.h"

struct libcfs_kernel; /* timers and works of the process */

/* ---- timers ---------------------------------------------------------------------------------- */

struct timer_list {
    struct list_head entry; /* next NULL: not pending */
    unsigned long expires; /* in jiffies */
    void (*function)(struct timer_list *timer);
    unsigned flags;
    struct libcfs_kernel *kernel; /* NULL: static, and not used yet */
    /* of setup_timer() */
    void (*with_data)(unsigned long data);
    unsigned long data;
};

#pragma GCC visibility push(default)
void libcfs_timer_setup(struct timer_list *timer, void (*function)(struct timer_list *timer));
void libcfs_timer_with_data(struct timer_list *timer);
bool libcfs_mod_timer(struct timer_list *timer, unsigned long expires);
bool libcfs_del_timer(struct timer_list *timer, bool sync);
#pragma GCC visibility pop

#define TIMER_DEFERRABLE 0
#define TIMER_PINNED 0
#define TIMER_IRQSAFE 0
#define from_timer(var, timer, field) container_of(timer, __typeof__(*var), field)
#define __TIMER_INITIALIZER(run, timer_flags)     \
    {                                             \
        .function = (run), .flags = (timer_flags) \
    }
#define DEFINE_TIMER(name, run) struct timer_list name = __TIMER_INITIALIZER(run, 0)
static inline void timer_setup(struct timer_list *timer, void (*function)(struct timer_list *timer),
                               unsigned flags)
{
    libcfs_timer_setup(timer, function);
    timer->flags = flags;
}
#define timer_setup_on_stack(timer, function, flags) timer_setup(timer, function, flags)
#define destroy_timer_on_stack(timer) ((void)(timer))
/* As older kernels have it. */
static inline void setup_timer(struct timer_list *timer, void (*function)(unsigned long data),
                               unsigned long data)
{
    libcfs_timer_setup(timer, libcfs_timer_with_data);
    timer->with_data = function;
    timer->data = data;
}
/* 1: it was pending. */
static inline int mod_timer(struct timer_list *timer, unsigned long expires)
{
    return libcfs_mod_timer(timer, expires);
}
static inline void add_timer(struct timer_list *timer)
{
    (void)libcfs_mod_timer(timer, timer->expires);
}
static inline int del_timer(struct timer_list *timer)
{
    return libcfs_del_timer(timer, false);
}
/* Waits, too, until the function has returned. Not from the function. */
static inline int del_timer_sync(struct timer_list *timer)
{
    return libcfs_del_timer(timer, true);
}
#define timer_delete(timer) del_timer(timer)
#define timer_delete_sync(timer) del_timer_sync(timer)
#define timer_shutdown_sync(timer) del_timer_sync(timer)
static inline bool timer_pending(const struct timer_list *timer)
{
    return timer->entry.next != NULL;
}

/* libcfs's names, which are the same for all kernels. */
typedef struct timer_list *cfs_timer_cb_arg_t;
typedef void (*cfs_timer_cb_t)(cfs_timer_cb_arg_t timer);
#define cfs_from_timer(var, timer, field) from_timer(var, timer, field)
#define cfs_timer_cb_arg(var, timer, field) ((unsigned long)(var))
#define cfs_timer_setup(timer, function, data, flags) timer_setup(timer, function, flags)

/* ---- works ----------------------------------------------------------------------------------- */

struct work_struct;
struct workqueue_struct;
typedef void (*work_func_t)(struct work_struct *work);

struct work_struct {
    struct list_head entry; /* in its queue */
    work_func_t func;
    int pending; /* queued, or its timer runs, and it has not begun */
    int cancelling; /* so many wait for its end: it cannot be queued */
    struct workqueue_struct *queue; /* the last one that it was queued to */
    uint64_t number; /* in that queue */
    struct libcfs_kernel *kernel; /* NULL: static, and not used yet */
};
struct delayed_work {
    struct work_struct work;
    struct timer_list timer;
};

#pragma GCC visibility push(default)
void libcfs_work_setup(struct work_struct *work, work_func_t run);
void libcfs_delayed_work_setup(struct delayed_work *work, work_func_t run);
void libcfs_delayed_work_due(struct timer_list *timer);
/* queue NULL: the one of the process */
bool libcfs_queue_work(struct workqueue_struct *queue, struct work_struct *work);
bool libcfs_queue_delayed_work(struct workqueue_struct *queue, struct delayed_work *work,
                               unsigned long delay, bool again);
bool libcfs_cancel_work(struct work_struct *work, struct timer_list *timer, bool sync);
bool libcfs_flush_work(struct work_struct *work, struct timer_list *timer);
struct workqueue_struct *libcfs_workqueue_create(unsigned limit, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void libcfs_workqueue_flush(struct workqueue_struct *queue); /* NULL: that of the process */
void libcfs_workqueue_destroy(struct workqueue_struct *queue);
struct work_struct *libcfs_current_work(void);
#pragma GCC visibility pop

#define INIT_WORK(work, run) libcfs_work_setup(work, run)
#define INIT_WORK_ONSTACK(work, run) libcfs_work_setup(work, run)
#define destroy_work_on_stack(work) ((void)(work))
#define INIT_DELAYED_WORK(work, run) libcfs_delayed_work_setup(work, run)
#define INIT_DEFERRABLE_WORK(work, run) libcfs_delayed_work_setup(work, run)
#define DECLARE_WORK(name, run) struct work_struct name = {.func = (run)}
#define DECLARE_DELAYED_WORK(name, run) \
    struct delayed_work name = {.work.func = (run), .timer.function = libcfs_delayed_work_due}
static inline struct delayed_work *to_delayed_work(struct work_struct *work)
{
    return container_of(work, struct delayed_work, work);
}

#define WQ_UNBOUND 0
#define WQ_FREEZABLE 0
#define WQ_MEM_RECLAIM 0
#define WQ_HIGHPRI 0
#define WQ_CPU_INTENSIVE 0
#define WQ_SYSFS 0
#define WQ_MAX_ACTIVE 512
/* Of at most `limit` threads, which are started when there is work for them; 0: 16. NULL: no
 * memory. A queue of one thread runs its works in their order. */
#define alloc_workqueue(format, flags, limit, ...) \
    libcfs_workqueue_create((limit) + 0 * (flags), format, ##__VA_ARGS__)
#define alloc_ordered_workqueue(format, flags, ...) \
    libcfs_workqueue_create(1 + 0 * (flags), format, ##__VA_ARGS__)
#define create_workqueue(name) libcfs_workqueue_create(1, "%s", name)
#define create_singlethread_workqueue(name) libcfs_workqueue_create(1, "%s", name)
#define system_wq ((struct workqueue_struct *)NULL)
#define system_long_wq system_wq
#define system_unbound_wq system_wq
static inline void destroy_workqueue(struct workqueue_struct *queue)
{
    libcfs_workqueue_destroy(queue);
}
static inline void flush_workqueue(struct workqueue_struct *queue)
{
    libcfs_workqueue_flush(queue);
}
static inline void drain_workqueue(struct workqueue_struct *queue)
{
    libcfs_workqueue_flush(queue);
}
#define flush_scheduled_work() libcfs_workqueue_flush(system_wq)

/* false: it is queued already, or its end is being waited for. */
static inline bool queue_work(struct workqueue_struct *queue, struct work_struct *work)
{
    return libcfs_queue_work(queue, work);
}
static inline bool schedule_work(struct work_struct *work)
{
    return libcfs_queue_work(system_wq, work);
}
static inline bool queue_delayed_work(struct workqueue_struct *queue, struct delayed_work *work,
                                      unsigned long delay)
{
    return libcfs_queue_delayed_work(queue, work, delay, false);
}
static inline bool schedule_delayed_work(struct delayed_work *work, unsigned long delay)
{
    return libcfs_queue_delayed_work(system_wq, work, delay, false);
}
/* Counts from now again if it is pending: then true. */
static inline bool mod_delayed_work(struct workqueue_struct *queue, struct delayed_work *work,
                                    unsigned long delay)
{
    return libcfs_queue_delayed_work(queue, work, delay, true);
}
/* Whether it was pending. Those with _sync wait, too, until it does not run. */
static inline bool cancel_work_sync(struct work_struct *work)
{
    return libcfs_cancel_work(work, NULL, true);
}
static inline bool cancel_delayed_work(struct delayed_work *work)
{
    return libcfs_cancel_work(&work->work, &work->timer, false);
}
static inline bool cancel_delayed_work_sync(struct delayed_work *work)
{
    return libcfs_cancel_work(&work->work, &work->timer, true);
}
/* Waits for the end of what was queued last. Whether it had to. The second one does not wait for
 * the time of the work. */
static inline bool flush_work(struct work_struct *work)
{
    return libcfs_flush_work(work, NULL);
}
static inline bool flush_delayed_work(struct delayed_work *work)
{
    return libcfs_flush_work(&work->work, &work->timer);
}
static inline bool work_pending(const struct work_struct *work)
{
    return __atomic_load_n(&work->pending, __ATOMIC_ACQUIRE) != 0;
}
#define delayed_work_pending(delayed) work_pending(&(delayed)->work)
#define current_work() libcfs_current_work()

/* Works run on any processor; all queues of the kernel's are one. */
#define WORK_CPU_UNBOUND NR_CPUS
#define system_highpri_wq system_wq
#define system_freezable_wq system_wq
#define system_power_efficient_wq system_wq
#define queue_work_on(cpu, queue, work) ((void)(cpu), queue_work(queue, work))
#define schedule_work_on(cpu, work) ((void)(cpu), schedule_work(work))
#define queue_delayed_work_on(cpu, queue, work, delay) \
    ((void)(cpu), queue_delayed_work(queue, work, delay))
#define schedule_delayed_work_on(cpu, work, delay) ((void)(cpu), schedule_delayed_work(work, delay))
static inline bool cancel_work(struct work_struct *work)
{
    return libcfs_cancel_work(work, NULL, false);
}

#endif
