/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The clock of the toolbox. */
#ifndef JACQUARD_MADELEINE_TOOLBOX_CLOCK_H
#define JACQUARD_MADELEINE_TOOLBOX_CLOCK_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef union {
    uint64_t nanoseconds; /* of a monotonic clock; of virtual time in a simulation */
    unsigned long long tick; /* the same */
} tbx_tick_t, *p_tbx_tick_t;

#pragma GCC visibility push(default)
tbx_tick_t tbx_tick_now(void);
double tbx_tick2usec(long long ticks);
extern tbx_tick_t tbx_new_event, tbx_last_event; /* of the macros TIME_… */
#pragma GCC visibility pop

#define TBX_GET_TICK(tick_) ((tick_) = tbx_tick_now())
#define TBX_TICK_RAW_DIFF(t1, t2) ((t2).nanoseconds - (t1).nanoseconds)
#define TBX_TICK_DIFF(t1, t2) TBX_TICK_RAW_DIFF(t1, t2)
/* Microseconds from t1 to t2, as a double. */
#define TBX_TIMING_DELAY(t1, t2) ((double)TBX_TICK_DIFF(t1, t2) / 1000.0)
#define tbx_residual 0ull /* the time that reading the clock takes is not subtracted */

#ifdef __cplusplus
}
#endif
#endif
