/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Times as the kernel's structures have them, and how they become jiffies and ktime_t. The clock is
 * that of libcfs/kernel/time.h: the node knows no date.
 */
#ifndef JACQUARD_LIBCFS_KERNEL_CLOCK_H
#define JACQUARD_LIBCFS_KERNEL_CLOCK_H

#include <sys/time.h>
#include <time.h>

#include "libcfs/kernel/time.h"

/* A wait that is longer than this lasts so long. */
#define MAX_JIFFY_OFFSET ((unsigned long)((LONG_MAX >> 1) - 1))
#define TICK_NSEC (NSEC_PER_SEC / HZ)
#define KTIME_MAX ((ktime_t)INT64_MAX)
#define KTIME_SEC_MAX (KTIME_MAX / NSEC_PER_SEC)

/* ---- jiffies --------------------------------------------------------------------------------- */

/* Rounded up, so that a wait is not shorter than the time. */
static inline unsigned long libcfs_time_to_jiffies(__s64 seconds, __s64 nanoseconds)
{
    if (seconds >= (__s64)MAX_JIFFY_OFFSET / HZ)
        return MAX_JIFFY_OFFSET;
    return (unsigned long)(seconds * HZ + (nanoseconds + TICK_NSEC - 1) / TICK_NSEC);
}
static inline unsigned long timespec_to_jiffies(const struct timespec *time)
{
    return libcfs_time_to_jiffies(time->tv_sec, time->tv_nsec);
}
static inline unsigned long timespec64_to_jiffies(const struct timespec64 *time)
{
    return libcfs_time_to_jiffies(time->tv_sec, time->tv_nsec);
}
static inline unsigned long timeval_to_jiffies(const struct timeval *time)
{
    return libcfs_time_to_jiffies(time->tv_sec, time->tv_usec * NSEC_PER_USEC);
}
static inline void jiffies_to_timespec(unsigned long count, struct timespec *time)
{
    time->tv_sec = (time_t)(count / HZ);
    time->tv_nsec = (long)(count % HZ) * TICK_NSEC;
}
static inline void jiffies_to_timespec64(unsigned long count, struct timespec64 *time)
{
    time->tv_sec = (time64_t)(count / HZ);
    time->tv_nsec = (long)(count % HZ) * TICK_NSEC;
}
static inline void jiffies_to_timeval(unsigned long count, struct timeval *time)
{
    time->tv_sec = (time_t)(count / HZ);
    time->tv_usec = (suseconds_t)((long)(count % HZ) * (TICK_NSEC / NSEC_PER_USEC));
}
#define jiffies_64 get_jiffies_64()
#define jiffies64_to_msecs(count) ((__u64)(count))
#define jiffies64_to_nsecs(count) ((__u64)(count)*NSEC_PER_MSEC)
#define nsecs_to_jiffies64(ns) ((__u64)(ns) / TICK_NSEC)
#define time_after64(a, b) ((__s64)((__u64)(b) - (__u64)(a)) < 0)
#define time_before64(a, b) time_after64(b, a)
#define time_after_eq64(a, b) ((__s64)((__u64)(a) - (__u64)(b)) >= 0)
#define time_before_eq64(a, b) time_after_eq64(b, a)
#define time_in_range_open(a, low, high) (time_after_eq(a, low) && time_before(a, high))
#define time_is_before_eq_jiffies(a) time_after_eq(jiffies, a)
#define time_is_after_eq_jiffies(a) time_before_eq(jiffies, a)
#define round_jiffies_up(count) (count)
#define round_jiffies_up_relative(count) (count)

/* ---- from nanoseconds, and back -------------------------------------------------------------- */

/* The nanoseconds of a time are 0 to 999999999, also of a negative one. */
static inline struct timespec64 ns_to_timespec64(__s64 ns)
{
    struct timespec64 time = {ns / NSEC_PER_SEC, (long)(ns % NSEC_PER_SEC)};

    if (time.tv_nsec < 0) {
        time.tv_sec--;
        time.tv_nsec += NSEC_PER_SEC;
    }
    return time;
}
static inline struct timespec timespec64_to_timespec(struct timespec64 from)
{
    struct timespec time = {(time_t)from.tv_sec, from.tv_nsec};

    return time;
}
static inline struct timespec64 timespec_to_timespec64(struct timespec from)
{
    struct timespec64 time = {from.tv_sec, from.tv_nsec};

    return time;
}
static inline struct timespec ns_to_timespec(__s64 ns)
{
    return timespec64_to_timespec(ns_to_timespec64(ns));
}
static inline struct timeval ns_to_timeval(__s64 ns)
{
    struct timespec64 from = ns_to_timespec64(ns);
    struct timeval time = {(time_t)from.tv_sec, (suseconds_t)(from.tv_nsec / NSEC_PER_USEC)};

    return time;
}
static inline __s64 timespec64_to_ns(const struct timespec64 *time)
{
    return time->tv_sec * NSEC_PER_SEC + time->tv_nsec;
}
static inline __s64 timespec_to_ns(const struct timespec *time)
{
    return (__s64)time->tv_sec * NSEC_PER_SEC + time->tv_nsec;
}
static inline __s64 timeval_to_ns(const struct timeval *time)
{
    return (__s64)time->tv_sec * NSEC_PER_SEC + time->tv_usec * NSEC_PER_USEC;
}
#define ktime_to_timespec64(time) ns_to_timespec64(time)
#define ktime_to_timespec(time) ns_to_timespec(time)
#define ktime_to_timeval(time) ns_to_timeval(time)
static inline ktime_t timespec64_to_ktime(struct timespec64 time)
{
    return timespec64_to_ns(&time);
}
static inline ktime_t timespec_to_ktime(struct timespec time)
{
    return timespec_to_ns(&time);
}
static inline ktime_t timeval_to_ktime(struct timeval time)
{
    return timeval_to_ns(&time);
}

/* ---- calculating ----------------------------------------------------------------------------- */

static inline void set_normalized_timespec64(struct timespec64 *time, time64_t seconds, __s64 ns)
{
    *time = ns_to_timespec64(ns);
    time->tv_sec += seconds;
}
static inline void set_normalized_timespec(struct timespec *time, time_t seconds, __s64 ns)
{
    *time = ns_to_timespec(ns);
    time->tv_sec += seconds;
}
#define LIBCFS_TIMES(name, type)                                                  \
    static inline type name##_add(type a, type b)                                 \
    {                                                                             \
        type sum;                                                                 \
                                                                                  \
        set_normalized_##name(&sum, a.tv_sec + b.tv_sec, a.tv_nsec + b.tv_nsec);  \
        return sum;                                                               \
    }                                                                             \
    static inline type name##_sub(type a, type b)                                 \
    {                                                                             \
        type left;                                                                \
                                                                                  \
        set_normalized_##name(&left, a.tv_sec - b.tv_sec, a.tv_nsec - b.tv_nsec); \
        return left;                                                              \
    }                                                                             \
    /* below 0, 0, above 0 */                                                     \
    static inline int name##_compare(const type *a, const type *b)                \
    {                                                                             \
        if (a->tv_sec != b->tv_sec)                                               \
            return a->tv_sec < b->tv_sec ? -1 : 1;                                \
        return (a->tv_nsec > b->tv_nsec) - (a->tv_nsec < b->tv_nsec);             \
    }                                                                             \
    static inline int name##_equal(const type *a, const type *b)                  \
    {                                                                             \
        return name##_compare(a, b) == 0;                                         \
    }                                                                             \
    static inline void name##_add_ns(type *time, __u64 ns)                        \
    {                                                                             \
        *time = ns_to_##name(name##_to_ns(time) + (__s64)ns);                     \
    }                                                                             \
    static inline bool name##_valid(const type *time)                             \
    {                                                                             \
        return time->tv_sec >= 0 && (unsigned long)time->tv_nsec < NSEC_PER_SEC;  \
    }                                                                             \
    _Static_assert(sizeof(type) == 16, "")
LIBCFS_TIMES(timespec64, struct timespec64);
LIBCFS_TIMES(timespec, struct timespec);

#define ms_to_ktime(ms) ((ktime_t)(ms)*NSEC_PER_MSEC)
#define ns_to_ktime(ns) ((ktime_t)(ns))
#define us_to_ktime(us) ((ktime_t)(us)*NSEC_PER_USEC)
#define ktime_sub_ns(a, ns) ((ktime_t)((a) - (__s64)(ns)))
#define ktime_sub_us(a, us) ktime_sub_ns(a, (__s64)(us)*NSEC_PER_USEC)
#define ktime_sub_ms(a, ms) ktime_sub_ns(a, (__s64)(ms)*NSEC_PER_MSEC)
#define ktime_divns(time, ns) ((__s64)(time) / (__s64)(ns))
static inline bool ktime_equal(ktime_t a, ktime_t b)
{
    return a == b;
}
/* The largest time, if the sum is larger. */
static inline ktime_t ktime_add_safe(ktime_t a, ktime_t b)
{
    ktime_t sum;

    return __builtin_add_overflow(a, b, &sum) || sum < 0 ? KTIME_MAX : sum;
}

/* ---- the clock ------------------------------------------------------------------------------- */

static inline void getnstimeofday(struct timespec *time)
{
    *time = ns_to_timespec(ktime_get_real());
}
static inline void do_gettimeofday(struct timeval *time)
{
    *time = ns_to_timeval(ktime_get_real());
}
static inline struct timespec current_kernel_time(void)
{
    return ns_to_timespec(ktime_get_real());
}
static inline struct timespec64 current_kernel_time64(void)
{
    return ns_to_timespec64(ktime_get_real());
}
static inline unsigned long get_seconds(void)
{
    return (unsigned long)ktime_get_real_seconds();
}
#define getnstimeofday64(time) ktime_get_real_ts64(time)
#define ktime_get_coarse_real_ts64(time) ktime_get_real_ts64(time)
#define ktime_get_coarse_ts64(time) ktime_get_ts64(time)
#define ktime_get_real_ts(time) getnstimeofday(time)
static inline void ktime_get_ts(struct timespec *time)
{
    *time = ns_to_timespec(ktime_get());
}
#define getrawmonotonic(time) ktime_get_ts(time)
#define getrawmonotonic64(time) ktime_get_ts64(time)
#define get_monotonic_boottime(time) ktime_get_ts(time)
#define ktime_get_raw() ktime_get()
#define ktime_get_raw_ns() libcfs_now()
#define ktime_get_raw_ts64(time) ktime_get_ts64(time)
#define ktime_get_boottime_ns() libcfs_now()
#define ktime_get_boot_ns() libcfs_now()
#define ktime_get_mono_fast_ns() libcfs_now()

static inline void fsleep(unsigned long us)
{
    libcfs_sleep(us * NSEC_PER_USEC);
}

#endif
