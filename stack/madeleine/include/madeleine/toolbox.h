/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The part of the toolbox that programs of 2000 use: clock, aligned memory, messages. */
#ifndef JACQUARD_MADELEINE_TOOLBOX_H
#define JACQUARD_MADELEINE_TOOLBOX_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef struct {
    uint64_t nanoseconds; /* of a monotonic clock; of virtual time in a simulation */
} tbx_tick_t, *p_tbx_tick_t;

#pragma GCC visibility push(default)
tbx_tick_t tbx_tick_now(void);
/* Memory of `size` bytes at a multiple of `align`, a power of two; NULL: no memory is left. */
void *tbx_aligned_malloc(size_t size, size_t align);
void tbx_aligned_free(void *memory, size_t align);
/* Reports MAD_EINVAL with this text, as a failure of the library is reported. */
void tbx_failure(const char *text, const char *file, int line);
#pragma GCC visibility pop

#define TBX_GET_TICK(tick) ((tick) = tbx_tick_now())
/* Microseconds from t1 to t2, as a double. */
#define TBX_TIMING_DELAY(t1, t2) ((double)((t2).nanoseconds - (t1).nanoseconds) / 1000.0)

#define DISP(...) (fprintf(stderr, __VA_ARGS__), fputc('\n', stderr))
#define FAILURE(text) tbx_failure((text), __FILE__, __LINE__)

#endif
