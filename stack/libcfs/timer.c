/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Timers, and the thread of a process that runs them. */
#include "kernel.h"

static uint64_t ns_of(unsigned long jiffies_)
{
    const uint64_t jiffy = (uint64_t)(NSEC_PER_SEC / HZ);

    return jiffies_ < UINT64_MAX / jiffy ? (uint64_t)jiffies_ * jiffy : UINT64_MAX;
}

/* ---- the daemon ------------------------------------------------------------------------------ */

/* The queue that needs a worker; NULL: none. */
static struct workqueue_struct *hungry_pop(struct libcfs_kernel *kernel)
{
    struct workqueue_struct *queue =
        list_first_entry_or_null(&kernel->hungry, struct workqueue_struct, on_hungry);

    assert_held(&kernel->timer_lock);
    assert(kernel->starting == NULL);
    if (queue != NULL)
        list_del_init(&queue->on_hungry);
    kernel->starting = queue;
    return queue;
}

/* pre: its time has come */
static void run(struct libcfs_kernel *kernel, struct timer_list *timer)
{
    void (*function)(struct timer_list * timer) = timer->function;

    assert_held(&kernel->timer_lock);
    assert(kernel->running == NULL);
    libcfs_timer_detach(&timer->entry);
    kernel->running = timer;
    spin_unlock(&kernel->timer_lock);
    function(timer); /* and the timer may be gone */
    spin_lock(&kernel->timer_lock);
    kernel->running = NULL;
    libcfs_wake_up(&kernel->timer_ended, TASK_NORMAL, 0, false);
}

static void start_worker(struct libcfs_kernel *kernel, struct workqueue_struct *queue)
{
    assert_held(&kernel->timer_lock);
    assert(kernel->starting == queue);
    spin_unlock(&kernel->timer_lock);
    libcfs_worker_start(queue);
    spin_lock(&kernel->timer_lock);
    kernel->starting = NULL;
    libcfs_wake_up(&kernel->timer_ended, TASK_NORMAL, 0, false);
}

static int daemon_main(void *data)
{
    struct libcfs_kernel *kernel = data;

    while (!kthread_should_stop()) {
        struct timer_list *first;
        struct hrtimer *precise;
        struct workqueue_struct *queue;
        uint64_t deadline;
        bool due;

        set_current_state(TASK_INTERRUPTIBLE); /* what is added from here on wakes it */
        spin_lock(&kernel->timer_lock);
        queue = hungry_pop(kernel);
        first = list_first_entry_or_null(&kernel->timers, struct timer_list, entry);
        due = first != NULL && time_after_eq(jiffies, first->expires);
        precise = libcfs_hrtimer_first(kernel, &deadline);
        if (libcfs_now() < deadline)
            precise = NULL;
        if (queue != NULL || due || precise != NULL)
            set_current_state(TASK_RUNNING);
        if (queue != NULL)
            start_worker(kernel, queue);
        else if (precise != NULL)
            libcfs_hrtimer_run(kernel, precise);
        else if (due)
            run(kernel, first);
        else if (first != NULL)
            deadline = min(deadline, ns_of(first->expires));
        spin_unlock(&kernel->timer_lock);
        if (__atomic_load_n(&current->state, __ATOMIC_SEQ_CST) != TASK_RUNNING)
            libcfs_schedule(deadline);
    }
    return 0;
}

void libcfs_daemon_start(struct libcfs_kernel *kernel)
{
    struct task_struct *task, *none = NULL;

    if (__atomic_load_n(&kernel->daemon, __ATOMIC_ACQUIRE) != NULL)
        return;
    task = libcfs_kthread_create(daemon_main, kernel, "kernel");
    if (IS_ERR(task))
        port_panic("libcfs: the thread for timers does not start");
    if (__atomic_compare_exchange_n(&kernel->daemon, &none, task, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE))
        libcfs_wake_task(task, TASK_NORMAL);
    else
        (void)libcfs_kthread_stop(task); /* another thread was faster */
}

void libcfs_daemon_wake(struct libcfs_kernel *kernel)
{
    libcfs_wake_task(kernel->daemon, TASK_NORMAL);
}

/* ---- timers ---------------------------------------------------------------------------------- */

static struct libcfs_kernel *kernel_of(struct timer_list *timer)
{
    struct libcfs_kernel *kernel = __atomic_load_n(&timer->kernel, __ATOMIC_ACQUIRE);

    if (kernel == NULL) {
        kernel = libcfs_kernel();
        libcfs_daemon_start(kernel);
        __atomic_store_n(&timer->kernel, kernel, __ATOMIC_RELEASE);
    }
    return kernel;
}

void libcfs_timer_setup(struct timer_list *timer, void (*function)(struct timer_list *timer))
{
    *timer = (struct timer_list){.function = function};
    (void)kernel_of(timer);
}

void libcfs_timer_with_data(struct timer_list *timer)
{
    timer->with_data(timer->data);
}

bool libcfs_mod_timer(struct timer_list *timer, unsigned long expires)
{
    struct libcfs_kernel *kernel = kernel_of(timer);
    struct list_head *place;
    bool was_pending, first;

    spin_lock(&kernel->timer_lock);
    was_pending = timer_pending(timer);
    if (was_pending)
        libcfs_timer_detach(&timer->entry);
    timer->expires = expires;
    /* Behind those that are not later: timers of one time run in the order of their starts. */
    for (place = kernel->timers.prev; place != &kernel->timers; place = place->prev)
        if (time_after_eq(expires, list_entry(place, struct timer_list, entry)->expires))
            break;
    list_add(&timer->entry, place);
    first = place == &kernel->timers;
    spin_unlock(&kernel->timer_lock);
    if (first)
        libcfs_daemon_wake(kernel);
    return was_pending;
}

bool libcfs_del_timer(struct timer_list *timer, bool sync)
{
    struct libcfs_kernel *kernel = __atomic_load_n(&timer->kernel, __ATOMIC_ACQUIRE);
    bool was_pending = false, pending, running;

    if (kernel == NULL)
        return false; /* it was never started */
    do {
        spin_lock(&kernel->timer_lock);
        pending = timer_pending(timer);
        if (pending)
            libcfs_timer_detach(&timer->entry);
        running = sync && kernel->running == timer;
        spin_unlock(&kernel->timer_lock);
        was_pending = was_pending || pending;
        if (running) /* it may start itself again meanwhile */
            libcfs_wait_until_over(&kernel->timer_lock, &kernel->running, timer,
                                   &kernel->timer_ended);
    } while (running);
    return was_pending;
}
