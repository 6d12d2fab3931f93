/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* More atomics and references of the kernel, beside those of libcfs/kernel/base.h. */
#ifndef JACQUARD_LIBCFS_KERNEL_ATOMIC_H
#define JACQUARD_LIBCFS_KERNEL_ATOMIC_H

#include "libcfs/kernel/base.h"
#include "libcfs/kernel/lock.h"

/* For atomic_t, atomic64_t and atomic_long_t. fetch_: what it was before. */
#define LIBCFS_ATOMIC_FETCH(name, type, integer)                                             \
    static inline integer name##_fetch_sub(integer i, type *v)                               \
    {                                                                                        \
        return __atomic_fetch_sub(&v->counter, i, __ATOMIC_SEQ_CST);                         \
    }                                                                                        \
    static inline integer name##_fetch_inc(type *v)                                          \
    {                                                                                        \
        return __atomic_fetch_add(&v->counter, 1, __ATOMIC_SEQ_CST);                         \
    }                                                                                        \
    static inline integer name##_fetch_dec(type *v)                                          \
    {                                                                                        \
        return __atomic_fetch_sub(&v->counter, 1, __ATOMIC_SEQ_CST);                         \
    }                                                                                        \
    static inline integer name##_fetch_or(integer i, type *v)                                \
    {                                                                                        \
        return __atomic_fetch_or(&v->counter, i, __ATOMIC_SEQ_CST);                          \
    }                                                                                        \
    static inline integer name##_fetch_and(integer i, type *v)                               \
    {                                                                                        \
        return __atomic_fetch_and(&v->counter, i, __ATOMIC_SEQ_CST);                         \
    }                                                                                        \
    static inline integer name##_fetch_xor(integer i, type *v)                               \
    {                                                                                        \
        return __atomic_fetch_xor(&v->counter, i, __ATOMIC_SEQ_CST);                         \
    }                                                                                        \
    static inline integer name##_fetch_andnot(integer i, type *v)                            \
    {                                                                                        \
        return name##_fetch_and(~i, v);                                                      \
    }                                                                                        \
    static inline void name##_andnot(integer i, type *v)                                     \
    {                                                                                        \
        (void)name##_fetch_and(~i, v);                                                       \
    }                                                                                        \
    static inline void name##_xor(integer i, type *v)                                        \
    {                                                                                        \
        (void)name##_fetch_xor(i, v);                                                        \
    }                                                                                        \
    /* Whether it was *old, and is `value` now; else *old is what it is. */                  \
    static inline bool name##_try_cmpxchg(type *v, integer *old, integer value)              \
    {                                                                                        \
        return __atomic_compare_exchange_n(&v->counter, old, value, false, __ATOMIC_SEQ_CST, \
                                           __ATOMIC_SEQ_CST);                                \
    }                                                                                        \
    /* Adds unless it is `unless`; what it was. */                                           \
    static inline integer name##_fetch_add_unless(type *v, integer i, integer unless)        \
    {                                                                                        \
        integer value = name##_read(v);                                                      \
                                                                                             \
        while (value != unless && !name##_try_cmpxchg(v, &value, value + i)) {               \
        }                                                                                    \
        return value;                                                                        \
    }                                                                                        \
    static inline integer name##_read_acquire(const type *v)                                 \
    {                                                                                        \
        return __atomic_load_n(&v->counter, __ATOMIC_ACQUIRE);                               \
    }                                                                                        \
    static inline void name##_set_release(type *v, integer i)                                \
    {                                                                                        \
        __atomic_store_n(&v->counter, i, __ATOMIC_RELEASE);                                  \
    }                                                                                        \
    _Static_assert(sizeof(integer) == sizeof(type), "")
LIBCFS_ATOMIC_FETCH(atomic, atomic_t, int);
LIBCFS_ATOMIC_FETCH(atomic64, atomic64_t, s64);
LIBCFS_ATOMIC_FETCH(atomic_long, atomic_long_t, long);
#define LIBCFS_ATOMIC64_MORE(name, type, integer)                            \
    static inline integer name##_fetch_add(integer i, type *v)               \
    {                                                                        \
        return __atomic_fetch_add(&v->counter, i, __ATOMIC_SEQ_CST);         \
    }                                                                        \
    static inline void name##_or(integer i, type *v)                         \
    {                                                                        \
        (void)name##_fetch_or(i, v);                                         \
    }                                                                        \
    static inline void name##_and(integer i, type *v)                        \
    {                                                                        \
        (void)name##_fetch_and(i, v);                                        \
    }                                                                        \
    static inline bool name##_add_unless(type *v, integer i, integer unless) \
    {                                                                        \
        return name##_fetch_add_unless(v, i, unless) != unless;              \
    }                                                                        \
    static inline bool name##_inc_not_zero(type *v)                          \
    {                                                                        \
        return name##_add_unless(v, 1, 0);                                   \
    }                                                                        \
    static inline bool name##_inc_and_test(type *v)                          \
    {                                                                        \
        return name##_add_return(1, v) == 0;                                 \
    }                                                                        \
    static inline bool name##_sub_and_test(integer i, type *v)               \
    {                                                                        \
        return name##_sub_return(i, v) == 0;                                 \
    }                                                                        \
    static inline bool name##_add_negative(integer i, type *v)               \
    {                                                                        \
        return name##_add_return(i, v) < 0;                                  \
    }                                                                        \
    _Static_assert(sizeof(integer) == 8, "")
LIBCFS_ATOMIC64_MORE(atomic64, atomic64_t, s64);
LIBCFS_ATOMIC64_MORE(atomic_long, atomic_long_t, long);
#define __atomic_add_unless(v, i, unless) atomic_fetch_add_unless(v, i, unless)
static inline bool atomic_inc_unless_negative(atomic_t *v)
{
    int value = atomic_read(v);

    while (value >= 0)
        if (atomic_try_cmpxchg(v, &value, value + 1))
            return true;
    return false;
}
static inline bool atomic_dec_unless_positive(atomic_t *v)
{
    int value = atomic_read(v);

    while (value <= 0)
        if (atomic_try_cmpxchg(v, &value, value - 1))
            return true;
    return false;
}
#define try_cmpxchg(place, old, value) \
    __atomic_compare_exchange_n(place, old, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)
#define cmpxchg64(place, old, value) cmpxchg(place, old, value)
#define cmpxchg_relaxed(place, old, value) cmpxchg(place, old, value)
#define atomic_add_return_relaxed(i, v) atomic_add_return(i, v)
#define atomic_inc_return_relaxed(v) atomic_inc_return(v)

/* Each lowers it and takes the lock, if it gets 0: then true. */
static inline bool atomic_dec_and_mutex_lock(atomic_t *v, struct mutex *lock)
{
    if (atomic_add_unless(v, -1, 1))
        return false;
    mutex_lock(lock);
    if (atomic_dec_and_test(v))
        return true;
    mutex_unlock(lock);
    return false;
}
static inline bool refcount_dec_and_mutex_lock(refcount_t *r, struct mutex *lock)
{
    return atomic_dec_and_mutex_lock(&r->refs, lock);
}
static inline bool refcount_dec_not_one(refcount_t *r)
{
    return atomic_add_unless(&r->refs, -1, 1);
}
static inline bool refcount_dec_if_one(refcount_t *r)
{
    int one = 1;

    return atomic_try_cmpxchg(&r->refs, &one, 0);
}
static inline bool refcount_add_not_zero(int i, refcount_t *r)
{
    return atomic_add_unless(&r->refs, i, 0);
}
/* `release` is called with the lock held, and releases it. */
static inline int kref_put_mutex(struct kref *kref, void (*release)(struct kref *kref),
                                 struct mutex *lock)
{
    if (!refcount_dec_and_mutex_lock(&kref->refcount, lock))
        return 0;
    release(kref);
    return 1;
}
static inline int kref_put_lock(struct kref *kref, void (*release)(struct kref *kref),
                                spinlock_t *lock)
{
    if (!refcount_dec_and_lock(&kref->refcount, lock))
        return 0;
    release(kref);
    return 1;
}
static inline bool libcfs_dec_and_lock_irqsave(atomic_t *v, spinlock_t *lock, unsigned long *flags)
{
    *flags = 0;
    return atomic_dec_and_lock(v, lock);
}
#define atomic_dec_and_lock_irqsave(v, lock, flags) libcfs_dec_and_lock_irqsave(v, lock, &(flags))

#endif
