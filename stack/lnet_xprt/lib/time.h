/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Points in time and durations, in nanoseconds. The clock is the port's: monotonic, and virtual in
 * a simulation.
 */
#ifndef M0_LIB_TIME_H
#define M0_LIB_TIME_H

#include "lib/types.h"

typedef uint64_t m0_time_t;

enum {
    M0_TIME_ONE_SECOND = 1000000000,
    M0_TIME_ONE_MSEC = M0_TIME_ONE_SECOND / 1000,
};
extern const m0_time_t M0_TIME_IMMEDIATELY; /* 0 */
extern const m0_time_t M0_TIME_NEVER; /* the largest value */

#define M0_MKTIME(seconds, nanoseconds) \
    ((m0_time_t)(seconds)*M0_TIME_ONE_SECOND + (m0_time_t)(nanoseconds))
#define TIME_F "%" PRIu64 ".%09" PRIu64
#define TIME_P(time) m0_time_seconds(time), m0_time_nanoseconds(time)

m0_time_t m0_time(uint64_t seconds, long nanoseconds);
m0_time_t m0_time_now(void);
/* Now plus a duration. */
m0_time_t m0_time_from_now(uint64_t seconds, long nanoseconds);
/* M0_TIME_NEVER plus anything, and minus anything, is M0_TIME_NEVER. */
m0_time_t m0_time_add(m0_time_t a, m0_time_t b);
m0_time_t m0_time_sub(m0_time_t later, m0_time_t earlier); /* pre: later >= earlier */
uint64_t m0_time_seconds(m0_time_t time);
uint64_t m0_time_nanoseconds(m0_time_t time); /* beyond the seconds */
static inline bool m0_time_is_in_past(m0_time_t time)
{
    return time < m0_time_now();
}
/* In the clock that the operating system's waits take; here the same clock. */
m0_time_t m0_time_to_realtime(m0_time_t absolute);
/* Sleeps for a duration. 0; nothing interrupts it, so *remaining (unless NULL) is 0. */
int m0_nanosleep(m0_time_t duration, m0_time_t *remaining);

#endif
