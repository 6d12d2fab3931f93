/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Timers in nanoseconds. The thread of the other timers asks here for what is due (timer.c). */
#include "kernel.h"

static struct libcfs_kernel *kernel_of(struct hrtimer *timer)
{
    if (timer->kernel == NULL)
        port_panic("libcfs: an hrtimer was not initialised");
    return timer->kernel;
}

/* The time of the monotonic clock at which it is due. */
static uint64_t due_at(const struct hrtimer *timer)
{
    s64 time = timer->expires;

    if (timer->clock == CLOCK_REALTIME)
        time -= (s64)(libcfs_real_now() - libcfs_now());
    return time < 0 ? 0 : (uint64_t)time;
}

void libcfs_hrtimer_init(struct hrtimer *timer, clockid_t clock)
{
    *timer = (struct hrtimer){.clock = clock, .kernel = libcfs_kernel()};
    libcfs_daemon_start(timer->kernel);
}

/* Behind those that are not later. Whether it is the first one. */
static bool insert(struct libcfs_kernel *kernel, struct hrtimer *timer)
{
    uint64_t due = due_at(timer);
    struct list_head *place;

    assert_held(&kernel->timer_lock);
    if (hrtimer_is_queued(timer))
        list_del(&timer->entry);
    for (place = kernel->hrtimers.prev; place != &kernel->hrtimers; place = place->prev)
        if (due_at(list_entry(place, struct hrtimer, entry)) <= due)
            break;
    list_add(&timer->entry, place);
    return place == &kernel->hrtimers;
}

void libcfs_hrtimer_start(struct hrtimer *timer, ktime_t time, enum hrtimer_mode mode)
{
    struct libcfs_kernel *kernel = kernel_of(timer);
    bool first;

    if ((mode & HRTIMER_MODE_REL) != 0)
        time += hrtimer_cb_get_time(timer);
    spin_lock(&kernel->timer_lock);
    timer->expires = time;
    first = insert(kernel, timer);
    spin_unlock(&kernel->timer_lock);
    if (first)
        libcfs_daemon_wake(kernel);
}

bool libcfs_hrtimer_active(const struct hrtimer *timer)
{
    struct libcfs_kernel *kernel = timer->kernel;
    bool active;

    if (kernel == NULL)
        return false;
    spin_lock(&kernel->timer_lock);
    active = hrtimer_is_queued(timer) || kernel->running_hrtimer == timer;
    spin_unlock(&kernel->timer_lock);
    return active;
}

int libcfs_hrtimer_cancel(struct hrtimer *timer, bool wait)
{
    struct libcfs_kernel *kernel = timer->kernel;
    bool queued, running;
    int result = 0;

    if (kernel == NULL)
        return 0;
    do {
        spin_lock(&kernel->timer_lock);
        running = kernel->running_hrtimer == timer;
        queued = hrtimer_is_queued(timer) && (!running || wait);
        if (queued)
            libcfs_timer_detach(&timer->entry);
        spin_unlock(&kernel->timer_lock);
        if (running && !wait)
            return -1;
        result = queued || running ? 1 : result;
        if (running) /* it may start itself again meanwhile */
            libcfs_wait_until_over(&kernel->timer_lock, &kernel->running_hrtimer, timer,
                                   &kernel->timer_ended);
    } while (running);
    return result;
}

struct hrtimer *libcfs_hrtimer_first(struct libcfs_kernel *kernel, uint64_t *due)
{
    struct hrtimer *first = list_first_entry_or_null(&kernel->hrtimers, struct hrtimer, entry);

    assert_held(&kernel->timer_lock);
    *due = first != NULL ? due_at(first) : UINT64_MAX;
    return first;
}

void libcfs_hrtimer_run(struct libcfs_kernel *kernel, struct hrtimer *timer)
{
    enum hrtimer_restart restart;

    assert_held(&kernel->timer_lock);
    assert(kernel->running_hrtimer == NULL);
    libcfs_timer_detach(&timer->entry);
    kernel->running_hrtimer = timer;
    spin_unlock(&kernel->timer_lock);
    restart = timer->function(timer);
    spin_lock(&kernel->timer_lock);
    kernel->running_hrtimer = NULL;
    /* Without a restart the timer may be gone. */
    if (restart == HRTIMER_RESTART && !hrtimer_is_queued(timer))
        (void)insert(kernel, timer);
    libcfs_wake_up(&kernel->timer_ended, TASK_NORMAL, 0, false);
}
