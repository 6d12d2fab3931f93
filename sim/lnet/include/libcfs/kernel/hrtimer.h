/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Timers in nanoseconds (linux/hrtimer.h). Their functions run on the thread of the process that
 * runs the other timers, too, and may set the next time and return HRTIMER_RESTART.
 */
#ifndef JACQUARD_LIBCFS_KERNEL_HRTIMER_H
#define JACQUARD_LIBCFS_KERNEL_HRTIMER_H

#include <time.h>

#include "libcfs/libcfs.h"

enum hrtimer_restart { HRTIMER_NORESTART, HRTIMER_RESTART };
enum hrtimer_mode {
    HRTIMER_MODE_ABS = 0,
    HRTIMER_MODE_REL = 1,
    HRTIMER_MODE_PINNED = 2, /* this and the next one: no effect */
    HRTIMER_MODE_SOFT = 4,
    HRTIMER_MODE_ABS_PINNED = 2,
    HRTIMER_MODE_REL_PINNED = 3,
    HRTIMER_MODE_ABS_SOFT = 4,
    HRTIMER_MODE_REL_SOFT = 5,
};
struct hrtimer {
    struct list_head entry; /* next NULL: not queued */
    ktime_t expires; /* of its clock */
    enum hrtimer_restart (*function)(struct hrtimer *timer);
    clockid_t clock; /* CLOCK_REALTIME; all others are the monotonic one */
    struct libcfs_kernel *kernel;
};
#pragma GCC visibility push(default)
void libcfs_hrtimer_init(struct hrtimer *timer, clockid_t clock);
void libcfs_hrtimer_start(struct hrtimer *timer, ktime_t time, enum hrtimer_mode mode);
/* 1: it was queued, or its function ran; 0: neither; -1 (without `wait`): its function runs. */
int libcfs_hrtimer_cancel(struct hrtimer *timer, bool wait);
bool libcfs_hrtimer_active(const struct hrtimer *timer);
#pragma GCC visibility pop

#define hrtimer_init(timer, clock, mode) ((void)(mode), libcfs_hrtimer_init(timer, clock))
#define hrtimer_init_on_stack(timer, clock, mode) hrtimer_init(timer, clock, mode)
#define destroy_hrtimer_on_stack(timer) ((void)(timer))
#define hrtimer_start(timer, time, mode) libcfs_hrtimer_start(timer, time, mode)
#define hrtimer_start_range_ns(timer, time, range, mode) \
    ((void)(range), libcfs_hrtimer_start(timer, time, mode))
#define hrtimer_start_expires(timer, mode) libcfs_hrtimer_start(timer, (timer)->expires, mode)
#define hrtimer_restart(timer) libcfs_hrtimer_start(timer, (timer)->expires, HRTIMER_MODE_ABS)
#define hrtimer_cancel(timer) libcfs_hrtimer_cancel(timer, true)
#define hrtimer_try_to_cancel(timer) libcfs_hrtimer_cancel(timer, false)
#define hrtimer_active(timer) libcfs_hrtimer_active(timer)
#define hrtimer_is_queued(timer) ((timer)->entry.next != NULL)
#define hrtimer_set_expires(timer, time) ((void)((timer)->expires = (time)))
#define hrtimer_add_expires(timer, time) ((void)((timer)->expires += (time)))
#define hrtimer_add_expires_ns(timer, ns) ((void)((timer)->expires += (s64)(ns)))
#define hrtimer_get_expires(timer) ((timer)->expires)
#define hrtimer_get_expires_ns(timer) ktime_to_ns((timer)->expires)
static inline ktime_t hrtimer_cb_get_time(const struct hrtimer *timer)
{
    return timer->clock == CLOCK_REALTIME ? ktime_get_real() : ktime_get();
}
#define hrtimer_get_remaining(timer) \
    ktime_sub(hrtimer_get_expires(timer), hrtimer_cb_get_time(timer))
#define hrtimer_expires_remaining(timer) hrtimer_get_remaining(timer)
/* Adds intervals until the time is behind `now`; how many. */
static inline u64 hrtimer_forward(struct hrtimer *timer, ktime_t now, ktime_t interval)
{
    s64 late = now - timer->expires, count;

    if (late < 0 || interval <= 0)
        return 0;
    count = late / interval + 1;
    timer->expires += count * interval;
    return (u64)count;
}
#define hrtimer_forward_now(timer, interval) \
    hrtimer_forward(timer, hrtimer_cb_get_time(timer), interval)

/* As schedule_timeout(), until a time or (HRTIMER_MODE_REL) for it. 0: it is over; -EINTR. */
static inline int schedule_hrtimeout(ktime_t *expires, const enum hrtimer_mode mode)
{
    uint64_t now = libcfs_now(), deadline;

    if (expires == NULL) {
        libcfs_schedule(UINT64_MAX);
        return -EINTR;
    }
    deadline = *expires < 0 ? 0 : (uint64_t)*expires;
    if ((mode & HRTIMER_MODE_REL) != 0)
        deadline += now;
    libcfs_schedule(deadline);
    return libcfs_now() >= deadline ? 0 : -EINTR;
}
#define schedule_hrtimeout_range(expires, range, mode) \
    ((void)(range), schedule_hrtimeout(expires, mode))

#endif
