/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A counter that threads change together; every operation is a full barrier. */
#ifndef M0_LIB_ATOMIC_H
#define M0_LIB_ATOMIC_H

#include "lib/assert.h"
#include "lib/types.h"

struct m0_atomic64 {
    int64_t a_value;
};

static inline void m0_atomic64_set(struct m0_atomic64 *a, int64_t value)
{
    __atomic_store_n(&a->a_value, value, __ATOMIC_SEQ_CST);
}
static inline int64_t m0_atomic64_get(const struct m0_atomic64 *a)
{
    return __atomic_load_n(&a->a_value, __ATOMIC_SEQ_CST);
}
static inline int64_t m0_atomic64_add_return(struct m0_atomic64 *a, int64_t delta)
{
    return __atomic_add_fetch(&a->a_value, delta, __ATOMIC_SEQ_CST);
}
static inline int64_t m0_atomic64_sub_return(struct m0_atomic64 *a, int64_t delta)
{
    return __atomic_sub_fetch(&a->a_value, delta, __ATOMIC_SEQ_CST);
}
static inline void m0_atomic64_add(struct m0_atomic64 *a, int64_t delta)
{
    m0_atomic64_add_return(a, delta);
}
static inline void m0_atomic64_sub(struct m0_atomic64 *a, int64_t delta)
{
    m0_atomic64_sub_return(a, delta);
}
static inline void m0_atomic64_inc(struct m0_atomic64 *a)
{
    m0_atomic64_add_return(a, 1);
}
static inline void m0_atomic64_dec(struct m0_atomic64 *a)
{
    m0_atomic64_sub_return(a, 1);
}
/* Whether the counter is 0 afterwards. */
static inline bool m0_atomic64_inc_and_test(struct m0_atomic64 *a)
{
    return m0_atomic64_add_return(a, 1) == 0;
}
static inline bool m0_atomic64_dec_and_test(struct m0_atomic64 *a)
{
    return m0_atomic64_sub_return(a, 1) == 0;
}
/* Stores `new` if the counter was `old`; whether it was. */
static inline bool m0_atomic64_cas(int64_t *place, int64_t old, int64_t new)
{
    return __atomic_compare_exchange_n(place, &old, new, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}
static inline bool m0_atomic64_cas_ptr(void **place, void *old, void *new)
{
    return __atomic_compare_exchange_n(place, &old, new, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}
static inline void m0_mb(void)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

#endif
