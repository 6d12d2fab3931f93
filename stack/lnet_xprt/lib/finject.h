/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Points at which tests let the code fail. A point is named by a function and a tag. Each process
 * has its own; without an armed point a check costs one load.
 */
#ifndef M0_LIB_FINJECT_H
#define M0_LIB_FINJECT_H

#include "lib/assert.h"
#include "lib/types.h"

/* For sources that ask whether there are such points. */
#ifndef ENABLE_FAULT_INJECTION
#define ENABLE_FAULT_INJECTION 1
#endif

/* How many points are armed, in all processes: only to skip the look-up of one. */
extern int m0_fi_armed__;

bool m0_fi_enabled__(const char *function, const char *tag);
#define M0_FI_ENABLED(tag)                                                          \
    (__builtin_expect(__atomic_load_n(&m0_fi_armed__, __ATOMIC_RELAXED) != 0, 0) && \
     m0_fi_enabled__(__func__, tag))

/* The point fails always; at the next check only; at `m` checks after `n` that pass, and so on. */
void m0_fi_enable(const char *function, const char *tag);
void m0_fi_enable_once(const char *function, const char *tag);
void m0_fi_enable_off_n_on_m(const char *function, const char *tag, uint32_t n, uint32_t m);
void m0_fi_enable_each_nth_time(const char *function, const char *tag, uint32_t n);
/* With a probability in percent, of a generator that is the same in each run. */
void m0_fi_enable_random(const char *function, const char *tag, uint32_t percent);
/* If the function returns true; it may be called by several threads at once. */
typedef bool (*m0_fi_fpoint_state_func_t)(void *data);
void m0_fi_enable_func(const char *function, const char *tag, m0_fi_fpoint_state_func_t trigger,
                       void *data);
void m0_fi_disable(const char *function, const char *tag);

/* There is nothing to prepare: 0. The end disarms all points of the process. */
int m0_fi_init(void);
void m0_fi_fini(void);

#endif
