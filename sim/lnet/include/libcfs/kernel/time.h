/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The kernel's times. The clock is the node's: virtual in a simulation, monotonic else. A jiffy is
 * a millisecond of it. Sleeping is a matter of the calling thread; callbacks of LNet do not sleep.
 */
#ifndef JACQUARD_LIBCFS_KERNEL_TIME_H
#define JACQUARD_LIBCFS_KERNEL_TIME_H

#include "libcfs/shims.h"

#pragma GCC visibility push(default)
uint64_t libcfs_now(void); /* nanoseconds */
/* Nanoseconds since 1970; in a simulation, which begins with the year 2019, of virtual time. */
uint64_t libcfs_real_now(void);
void libcfs_sleep(uint64_t nanoseconds); /* of the calling thread */
#pragma GCC visibility pop

#define NSEC_PER_SEC 1000000000L
#define NSEC_PER_MSEC 1000000L
#define NSEC_PER_USEC 1000L
#define USEC_PER_SEC 1000000L
#define USEC_PER_MSEC 1000L
#define MSEC_PER_SEC 1000L

/* ---- jiffies --------------------------------------------------------------------------------- */

static inline unsigned long libcfs_jiffies(void)
{
    return (unsigned long)(libcfs_now() / (uint64_t)(NSEC_PER_SEC / HZ));
}
#define jiffies libcfs_jiffies()
#define get_jiffies_64() ((__u64)libcfs_jiffies())
#define jiffies_to_usecs(j) ((unsigned)(j)*1000u)
#define jiffies_to_nsecs(j) ((__u64)(j)*NSEC_PER_MSEC)
#define usecs_to_jiffies(us) (((unsigned long)(us) + 999) / 1000) /* rounded up */
#define nsecs_to_jiffies(ns) ((unsigned long)(ns) / NSEC_PER_MSEC)
#define round_jiffies(j) (j)
#define round_jiffies_relative(j) (j)

/* Times wrap around, so they are compared by their difference. */
#define time_after(a, b) ((long)((b) - (a)) < 0)
#define time_before(a, b) time_after(b, a)
#define time_after_eq(a, b) ((long)((a) - (b)) >= 0)
#define time_before_eq(a, b) time_after_eq(b, a)
#define time_in_range(a, low, high) (time_after_eq(a, low) && time_before_eq(a, high))
#define time_is_before_jiffies(a) time_after(jiffies, a)
#define time_is_after_jiffies(a) time_before(jiffies, a)

/* ---- libcfs's names -------------------------------------------------------------------------- */

typedef unsigned long cfs_time_t;
typedef long cfs_duration_t;

static inline cfs_time_t cfs_time_current(void)
{
    return libcfs_jiffies();
}
static inline cfs_time_t cfs_time_add(cfs_time_t time, cfs_duration_t duration)
{
    return time + (unsigned long)duration;
}
static inline cfs_duration_t cfs_time_sub(cfs_time_t later, cfs_time_t earlier)
{
    return (long)(later - earlier);
}
static inline bool cfs_time_before(cfs_time_t a, cfs_time_t b)
{
    return time_before(a, b);
}
static inline bool cfs_time_beforeq(cfs_time_t a, cfs_time_t b)
{
    return time_before_eq(a, b);
}
#define cfs_time_after(a, b) cfs_time_before(b, a)
#define cfs_time_aftereq(a, b) cfs_time_beforeq(b, a)
#define cfs_time_shift(seconds) (cfs_time_current() + (unsigned long)cfs_time_seconds(seconds))
#define cfs_duration_sec(duration) ((long)(duration) / HZ)
#define cfs_time_current_sec() ktime_get_real_seconds()

/* ---- ktime ----------------------------------------------------------------------------------- */

typedef __s64 ktime_t; /* nanoseconds */
typedef __s64 time64_t; /* seconds */
struct timespec64 {
    time64_t tv_sec;
    long tv_nsec;
};

static inline ktime_t ktime_get(void)
{
    return (ktime_t)libcfs_now();
}
#define ktime_get_ns() libcfs_now()
static inline ktime_t ktime_get_real(void)
{
    return (ktime_t)libcfs_real_now();
}
#define ktime_get_real_ns() libcfs_real_now()
#define ktime_get_boottime() ktime_get()
static inline time64_t ktime_get_seconds(void)
{
    return (time64_t)(libcfs_now() / NSEC_PER_SEC);
}
#define ktime_get_real_seconds() ((time64_t)(libcfs_real_now() / NSEC_PER_SEC))
static inline void libcfs_time_split(uint64_t now, struct timespec64 *time)
{
    time->tv_sec = (time64_t)(now / NSEC_PER_SEC);
    time->tv_nsec = (long)(now % NSEC_PER_SEC);
}
#define ktime_get_ts64(time) libcfs_time_split(libcfs_now(), time)
#define ktime_get_real_ts64(time) libcfs_time_split(libcfs_real_now(), time)
static inline ktime_t ktime_set(__s64 seconds, unsigned long nanoseconds)
{
    return seconds * NSEC_PER_SEC + (__s64)nanoseconds;
}
#define ktime_add(a, b) ((ktime_t)((a) + (b)))
#define ktime_sub(a, b) ((ktime_t)((a) - (b)))
#define ktime_add_ns(a, ns) ((ktime_t)((a) + (__s64)(ns)))
#define ktime_add_us(a, us) ktime_add_ns(a, (__s64)(us)*NSEC_PER_USEC)
#define ktime_add_ms(a, ms) ktime_add_ns(a, (__s64)(ms)*NSEC_PER_MSEC)
#define ktime_to_ns(time) ((__s64)(time))
#define ktime_to_us(time) ((time) / NSEC_PER_USEC)
#define ktime_to_ms(time) ((time) / NSEC_PER_MSEC)
#define ktime_us_delta(later, earlier) ktime_to_us(ktime_sub(later, earlier))
#define ktime_ms_delta(later, earlier) ktime_to_ms(ktime_sub(later, earlier))
static inline int ktime_compare(const ktime_t a, const ktime_t b)
{
    return (a > b) - (a < b);
}
#define ktime_after(a, b) ((a) > (b))
#define ktime_before(a, b) ((a) < (b))

/* ---- sleeping -------------------------------------------------------------------------------- */

static inline void msleep(unsigned ms)
{
    libcfs_sleep((uint64_t)ms * NSEC_PER_MSEC);
}
static inline void ssleep(unsigned seconds)
{
    libcfs_sleep((uint64_t)seconds * NSEC_PER_SEC);
}
static inline void usleep_range(unsigned long least, unsigned long most)
{
    (void)most;
    libcfs_sleep(least * NSEC_PER_USEC);
}
static inline unsigned long msleep_interruptible(unsigned ms)
{
    msleep(ms);
    return 0; /* nothing interrupts it */
}
/* The kernel is busy meanwhile; here others run, so a live thread may be away for longer. */
#define ndelay(ns) libcfs_sleep(ns)
#define udelay(us) libcfs_sleep((uint64_t)(us)*NSEC_PER_USEC)
#define mdelay(ms) msleep(ms)

#endif
