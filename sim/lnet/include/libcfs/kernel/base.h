/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * More of what kernel code takes from linux/: types, memory, atomics, bits, references.
 * libcfs/libcfs.h and libcfs/shims.h have the rest.
 */
#ifndef JACQUARD_LIBCFS_KERNEL_BASE_H
#define JACQUARD_LIBCFS_KERNEL_BASE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "libcfs/shims.h"

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s8 s8;
typedef __s16 s16;
typedef __s32 s32;
typedef __s64 s64;
typedef unsigned short umode_t;
typedef __loff_t loff_t;

/* ---- messages -------------------------------------------------------------------------------- */

#define LIBCFS_ONCE(...)                                           \
    ({                                                             \
        static bool once__;                                        \
        if (!__atomic_exchange_n(&once__, true, __ATOMIC_RELAXED)) \
            __VA_ARGS__;                                           \
    })
#define printk_once(...) LIBCFS_ONCE((void)libcfs_printk_text(__VA_ARGS__))
#define pr_warn_once printk_once
#define pr_err_once printk_once
#define pr_info_once printk_once
#define printk_ratelimited(...) ((void)libcfs_printk_text(__VA_ARGS__))
#define pr_warn_ratelimited printk_ratelimited
#define pr_err_ratelimited printk_ratelimited
#define WARN(condition, ...)                       \
    ({                                             \
        bool warned__ = (condition);               \
        if (unlikely(warned__))                    \
            (void)libcfs_printk_text(__VA_ARGS__); \
        warned__;                                  \
    })
#define WARN_ON_ONCE(condition)                                                                    \
    ({                                                                                             \
        bool warned__ = (condition);                                                               \
        if (unlikely(warned__))                                                                    \
            LIBCFS_ONCE(                                                                           \
                (void)libcfs_printk_text("%s:%d: warning: %s\n", __FILE__, __LINE__, #condition)); \
        warned__;                                                                                  \
    })
#define dump_stack() ((void)0)

/* ---- memory ---------------------------------------------------------------------------------- */

#define GFP_NOIO 0
#define GFP_NOWAIT 0
#define GFP_USER 0
#define GFP_HIGHUSER 0
#define __GFP_NOWARN 0
#define __GFP_NOFAIL 0
#define __GFP_HIGHMEM 0
#define __GFP_NORETRY 0

static inline void *libcfs_kmalloc_array(size_t count, size_t bytes, bool zero)
{
    size_t all;

    if (__builtin_mul_overflow(count, bytes, &all))
        return NULL;
    return zero ? calloc(1, all) : malloc(all);
}
#define kcalloc(count, bytes, flags) ((void)(flags), libcfs_kmalloc_array(count, bytes, true))
#define kmalloc_array(count, bytes, flags) \
    ((void)0, libcfs_kmalloc_array(count, bytes, ((flags)&__GFP_ZERO) != 0))
#define kvmalloc_array kmalloc_array
#define kvcalloc kcalloc
#define krealloc(memory, bytes, flags) ((void)(flags), realloc(memory, bytes))
#define kmalloc_node(bytes, flags, node) kmalloc(bytes, flags)
#define kzalloc_node(bytes, flags, node) kzalloc(bytes, flags)
#define kvmalloc(bytes, flags) kmalloc(bytes, flags)
#define kvzalloc(bytes, flags) kzalloc(bytes, flags)
#define kvfree(memory) kfree(memory)
#define kzfree(memory) kfree(memory)
#define kfree_sensitive(memory) kfree(memory)
#define vmalloc(bytes) malloc(bytes)
#define vzalloc(bytes) calloc(1, bytes)
#define vfree(memory) free((void *)(memory))
#define is_vmalloc_addr(address) ((void)(address), false)
/* How many characters a text has, at most `most`. */
static inline size_t libcfs_text_length(const char *text, size_t most)
{
    size_t length = 0;

    while (length < most && text[length] != '\0')
        length++;
    return length;
}
static inline char *libcfs_kstrdup(const char *text, size_t most)
{
    size_t bytes = text != NULL ? libcfs_text_length(text, most) : 0;
    char *copy = text != NULL ? (char *)malloc(bytes + 1) : NULL;

    if (copy != NULL) {
        memcpy(copy, text, bytes);
        copy[bytes] = '\0';
    }
    return copy;
}
#define kstrdup(text, flags) ((void)(flags), libcfs_kstrdup(text, SIZE_MAX))
#define kstrndup(text, most, flags) ((void)(flags), libcfs_kstrdup(text, most))
static inline void *libcfs_kmemdup(const void *memory, size_t bytes)
{
    void *copy = malloc(bytes);

    return copy != NULL ? memcpy(copy, memory, bytes) : NULL;
}
#define kmemdup(memory, bytes, flags) ((void)(flags), libcfs_kmemdup(memory, bytes))

/* Objects of one size; a constructor runs at each allocation. */
struct kmem_cache {
    size_t bytes, alignment;
    void (*construct)(void *object);
};
#define SLAB_HWCACHE_ALIGN 0
#define SLAB_POISON 0
#define SLAB_RED_ZONE 0
#define SLAB_PANIC 0
static inline struct kmem_cache *kmem_cache_create(const char *name, size_t bytes, size_t alignment,
                                                   unsigned long flags,
                                                   void (*construct)(void *object))
{
    struct kmem_cache *cache = malloc(sizeof(*cache));

    (void)name, (void)flags;
    if (cache != NULL)
        *cache = (struct kmem_cache){bytes, alignment < 16 ? 16 : alignment, construct};
    return cache;
}
static inline void kmem_cache_destroy(struct kmem_cache *cache)
{
    free(cache);
}
static inline void *libcfs_cache_alloc(const struct kmem_cache *cache, bool zero)
{
    size_t bytes = (cache->bytes + cache->alignment - 1) & ~(cache->alignment - 1);
    void *object = aligned_alloc(cache->alignment, bytes > 0 ? bytes : cache->alignment);

    if (object == NULL)
        return NULL;
    if (zero)
        memset(object, 0, cache->bytes);
    if (cache->construct != NULL)
        cache->construct(object);
    return object;
}
#define kmem_cache_alloc(cache, flags) libcfs_cache_alloc(cache, ((flags)&__GFP_ZERO) != 0)
#define kmem_cache_zalloc(cache, flags) ((void)(flags), libcfs_cache_alloc(cache, true))
#define kmem_cache_free(cache, object) ((void)(cache), free(object))
#define KMEM_CACHE(name, flags) \
    kmem_cache_create(#name, sizeof(struct name), __alignof__(struct name), flags, NULL)

/* ---- atomics --------------------------------------------------------------------------------- */

static inline int atomic_xchg(atomic_t *v, int value)
{
    return __atomic_exchange_n(&v->counter, value, __ATOMIC_SEQ_CST);
}
static inline int atomic_fetch_add(int i, atomic_t *v)
{
    return __atomic_fetch_add(&v->counter, i, __ATOMIC_SEQ_CST);
}
/* Adds unless it is `unless`; whether it did. */
static inline bool atomic_add_unless(atomic_t *v, int i, int unless)
{
    int value = atomic_read(v);

    while (value != unless)
        if (__atomic_compare_exchange_n(&v->counter, &value, value + i, false, __ATOMIC_SEQ_CST,
                                        __ATOMIC_SEQ_CST))
            return true;
    return false;
}
#define atomic_inc_not_zero(v) atomic_add_unless(v, 1, 0)
static inline bool atomic_inc_and_test(atomic_t *v)
{
    return __atomic_add_fetch(&v->counter, 1, __ATOMIC_SEQ_CST) == 0;
}
static inline bool atomic_add_negative(int i, atomic_t *v)
{
    return __atomic_add_fetch(&v->counter, i, __ATOMIC_SEQ_CST) < 0;
}
static inline void atomic_or(int i, atomic_t *v)
{
    (void)__atomic_fetch_or(&v->counter, i, __ATOMIC_SEQ_CST);
}
static inline void atomic_and(int i, atomic_t *v)
{
    (void)__atomic_fetch_and(&v->counter, i, __ATOMIC_SEQ_CST);
}
/* The new value; it was below 0 before or is now: it was not lowered. */
static inline int atomic_dec_if_positive(atomic_t *v)
{
    int value = atomic_read(v);

    while (value > 0)
        if (__atomic_compare_exchange_n(&v->counter, &value, value - 1, false, __ATOMIC_SEQ_CST,
                                        __ATOMIC_SEQ_CST))
            break;
    return value - 1;
}
/* Lowers it and locks, if it gets 0: then true. */
static inline bool atomic_dec_and_lock(atomic_t *v, spinlock_t *lock)
{
    if (atomic_add_unless(v, -1, 1))
        return false;
    spin_lock(lock);
    if (__atomic_sub_fetch(&v->counter, 1, __ATOMIC_SEQ_CST) == 0)
        return true;
    spin_unlock(lock);
    return false;
}

#define LIBCFS_ATOMIC64(name, type, integer)                                         \
    static inline integer name##_read(const type *v)                                 \
    {                                                                                \
        return __atomic_load_n(&v->counter, __ATOMIC_RELAXED);                       \
    }                                                                                \
    static inline void name##_set(type *v, integer i)                                \
    {                                                                                \
        __atomic_store_n(&v->counter, i, __ATOMIC_RELAXED);                          \
    }                                                                                \
    static inline integer name##_add_return(integer i, type *v)                      \
    {                                                                                \
        return __atomic_add_fetch(&v->counter, i, __ATOMIC_SEQ_CST);                 \
    }                                                                                \
    static inline integer name##_sub_return(integer i, type *v)                      \
    {                                                                                \
        return __atomic_sub_fetch(&v->counter, i, __ATOMIC_SEQ_CST);                 \
    }                                                                                \
    static inline void name##_add(integer i, type *v)                                \
    {                                                                                \
        (void)name##_add_return(i, v);                                               \
    }                                                                                \
    static inline void name##_sub(integer i, type *v)                                \
    {                                                                                \
        (void)name##_sub_return(i, v);                                               \
    }                                                                                \
    static inline void name##_inc(type *v)                                           \
    {                                                                                \
        (void)name##_add_return(1, v);                                               \
    }                                                                                \
    static inline void name##_dec(type *v)                                           \
    {                                                                                \
        (void)name##_sub_return(1, v);                                               \
    }                                                                                \
    static inline integer name##_inc_return(type *v)                                 \
    {                                                                                \
        return name##_add_return(1, v);                                              \
    }                                                                                \
    static inline integer name##_dec_return(type *v)                                 \
    {                                                                                \
        return name##_sub_return(1, v);                                              \
    }                                                                                \
    static inline bool name##_dec_and_test(type *v)                                  \
    {                                                                                \
        return name##_sub_return(1, v) == 0;                                         \
    }                                                                                \
    static inline integer name##_xchg(type *v, integer i)                            \
    {                                                                                \
        return __atomic_exchange_n(&v->counter, i, __ATOMIC_SEQ_CST);                \
    }                                                                                \
    static inline integer name##_cmpxchg(type *v, integer old, integer new)          \
    {                                                                                \
        __atomic_compare_exchange_n(&v->counter, &old, new, false, __ATOMIC_SEQ_CST, \
                                    __ATOMIC_SEQ_CST);                               \
        return old;                                                                  \
    }                                                                                \
    _Static_assert(sizeof(integer) == 8, "")
typedef struct {
    s64 counter;
} atomic64_t;
typedef struct {
    long counter;
} atomic_long_t;
#define ATOMIC64_INIT ATOMIC_INIT
#define ATOMIC_LONG_INIT ATOMIC_INIT
LIBCFS_ATOMIC64(atomic64, atomic64_t, s64);
LIBCFS_ATOMIC64(atomic_long, atomic_long_t, long);

#define xchg(place, value) __atomic_exchange_n(place, value, __ATOMIC_SEQ_CST)
#define cmpxchg(place, old, new)                                                 \
    ({                                                                           \
        __typeof__(*(place)) old__ = (old);                                      \
        __atomic_compare_exchange_n(place, &old__, new, false, __ATOMIC_SEQ_CST, \
                                    __ATOMIC_SEQ_CST);                           \
        old__;                                                                   \
    })
#define barrier() __asm__ volatile("" ::: "memory")
#define smp_rmb() __atomic_thread_fence(__ATOMIC_ACQUIRE)
#define smp_wmb() __atomic_thread_fence(__ATOMIC_RELEASE)
#define mb() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define rmb() smp_rmb()
#define wmb() smp_wmb()
#define smp_mb__before_atomic() smp_mb()
#define smp_mb__after_atomic() smp_mb()
#define smp_load_acquire(place) __atomic_load_n(place, __ATOMIC_ACQUIRE)
#define smp_store_release(place, value) __atomic_store_n(place, value, __ATOMIC_RELEASE)
#define smp_store_mb(place, value) __atomic_store_n(&(place), value, __ATOMIC_SEQ_CST)
#define cpu_relax() __builtin_ia32_pause()
#define ACCESS_ONCE(place) READ_ONCE(place)

/* ---- references ------------------------------------------------------------------------------ */

typedef struct {
    atomic_t refs;
} refcount_t;
#define REFCOUNT_INIT(i)       \
    {                          \
        .refs = ATOMIC_INIT(i) \
    }
static inline void refcount_set(refcount_t *r, int i)
{
    atomic_set(&r->refs, i);
}
static inline unsigned refcount_read(const refcount_t *r)
{
    return (unsigned)atomic_read(&r->refs);
}
static inline void refcount_inc(refcount_t *r)
{
    (void)WARN_ON_ONCE(__atomic_fetch_add(&r->refs.counter, 1, __ATOMIC_SEQ_CST) <= 0);
}
static inline void refcount_add(int i, refcount_t *r)
{
    (void)WARN_ON_ONCE(__atomic_fetch_add(&r->refs.counter, i, __ATOMIC_SEQ_CST) <= 0);
}
static inline bool refcount_inc_not_zero(refcount_t *r)
{
    return atomic_add_unless(&r->refs, 1, 0);
}
static inline bool refcount_sub_and_test(int i, refcount_t *r)
{
    int left = __atomic_sub_fetch(&r->refs.counter, i, __ATOMIC_SEQ_CST);

    (void)WARN_ON_ONCE(left < 0);
    return left == 0;
}
static inline bool refcount_dec_and_test(refcount_t *r)
{
    return refcount_sub_and_test(1, r);
}
static inline void refcount_dec(refcount_t *r)
{
    (void)WARN_ON_ONCE(refcount_dec_and_test(r));
}
static inline bool refcount_dec_and_lock(refcount_t *r, spinlock_t *lock)
{
    return atomic_dec_and_lock(&r->refs, lock);
}

struct kref {
    refcount_t refcount;
};
#define KREF_INIT(i)                 \
    {                                \
        .refcount = REFCOUNT_INIT(i) \
    }
static inline void kref_init(struct kref *kref)
{
    refcount_set(&kref->refcount, 1);
}
static inline void kref_get(struct kref *kref)
{
    refcount_inc(&kref->refcount);
}
static inline unsigned kref_read(const struct kref *kref)
{
    return refcount_read(&kref->refcount);
}
static inline int kref_get_unless_zero(struct kref *kref)
{
    return refcount_inc_not_zero(&kref->refcount);
}
/* 1: it was the last one, and `release` has been called. */
static inline int kref_put(struct kref *kref, void (*release)(struct kref *kref))
{
    if (!refcount_dec_and_test(&kref->refcount))
        return 0;
    release(kref);
    return 1;
}

/* ---- bits and numbers ------------------------------------------------------------------------ */

#define BITS_PER_BYTE 8
#define BITS_PER_LONG 64
#define BIT(n) (1UL << (n))
#define BIT_ULL(n) (1ULL << (n))
#define BITS_TO_LONGS(count) (((count) + BITS_PER_LONG - 1) / BITS_PER_LONG)
#define DECLARE_BITMAP(name, bits) unsigned long name[BITS_TO_LONGS(bits)]
static inline bool test_bit(long n, const volatile unsigned long *words)
{
    return words[n / BITS_PER_LONG] >> (n % BITS_PER_LONG) & 1;
}
static inline bool test_and_set_bit(long n, volatile unsigned long *words)
{
    unsigned long bit = BIT(n % BITS_PER_LONG);

    return (__atomic_fetch_or(&words[n / BITS_PER_LONG], bit, __ATOMIC_SEQ_CST) & bit) != 0;
}
static inline bool test_and_clear_bit(long n, volatile unsigned long *words)
{
    unsigned long bit = BIT(n % BITS_PER_LONG);

    return (__atomic_fetch_and(&words[n / BITS_PER_LONG], ~bit, __ATOMIC_SEQ_CST) & bit) != 0;
}
#define set_bit(n, words) ((void)test_and_set_bit(n, words))
#define clear_bit(n, words) ((void)test_and_clear_bit(n, words))
#define __set_bit set_bit
#define __clear_bit clear_bit
#define __ffs(word) ((unsigned long)__builtin_ctzl(word))
static inline int fls(unsigned word)
{
    return word != 0 ? 32 - __builtin_clz(word) : 0;
}
static inline int fls64(__u64 word)
{
    return word != 0 ? 64 - __builtin_clzll(word) : 0;
}
#define hweight32(word) ((unsigned)__builtin_popcount(word))
#define hweight64(word) ((unsigned)__builtin_popcountll(word))
#define ilog2(value) (63 - __builtin_clzll(value))
static inline bool is_power_of_2(unsigned long value)
{
    return value != 0 && (value & (value - 1)) == 0;
}
static inline unsigned long libcfs_roundup_power(unsigned long value)
{
    return value <= 1 ? 1UL : 1UL << (64 - __builtin_clzl(value - 1));
}
/* Of a constant it is one. */
#define roundup_pow_of_two(value)                                                        \
    (__builtin_constant_p(value)                                                         \
         ? ((value) <= 1 ? 1UL : 1UL << (64 - __builtin_clzl((unsigned long)(value)-1))) \
         : libcfs_roundup_power((unsigned long)(value)))
#define rounddown_pow_of_two(value) (1UL << ilog2(value))

/* The variables have a number of their own, as an argument may be such an expression, too. */
#define LIBCFS_CHOICE_IN(x, y, a, b, test) \
    ({                                     \
        __typeof__(a) x = (a);             \
        __typeof__(b) y = (b);             \
        (void)(&x == &y);                  \
        x test y ? x : y;                  \
    })
#define LIBCFS_CHOICE_OF(n, a, b, test) LIBCFS_CHOICE_IN(choice_a##n, choice_b##n, a, b, test)
#define LIBCFS_CHOICE_NUMBER(n, a, b, test) LIBCFS_CHOICE_OF(n, a, b, test)
#define LIBCFS_CHOICE(a, b, test) LIBCFS_CHOICE_NUMBER(__COUNTER__, a, b, test)
#ifndef min
#define min(a, b) LIBCFS_CHOICE(a, b, <)
#define max(a, b) LIBCFS_CHOICE(a, b, >)
#endif
#define min3(a, b, c) min(a, min(b, c))
#define max3(a, b, c) max(a, max(b, c))
#define clamp_t(type, value, low, high) min_t(type, max_t(type, value, low), high)
#define clamp(value, low, high) min(max(value, low), high)
#ifndef roundup
#define roundup(value, step) (((value) + (step)-1) / (step) * (step))
#endif
#ifndef rounddown
#define rounddown(value, step) ((value) / (step) * (step))
#endif
#define round_up(value, step) ((((value)-1) | ((__typeof__(value))(step)-1)) + 1)
#define round_down(value, step) ((value) & ~((__typeof__(value))(step)-1))
#define ALIGN(value, step) \
    (((value) + (__typeof__(value))(step)-1) & ~((__typeof__(value))(step)-1))
#define IS_ALIGNED(value, step) (((value) & ((__typeof__(value))(step)-1)) == 0)
#ifndef swap
#define swap(a, b)                  \
    do {                            \
        __typeof__(a) swap__ = (a); \
        (a) = (b);                  \
        (b) = swap__;               \
    } while (0)
#endif
#define do_div(value, by)                                                        \
    ({                                                                           \
        __typeof__(value) *div_at__ = &(value);                                  \
        uint32_t div_by__ = (by), div_left__ = (uint32_t)(*div_at__ % div_by__); \
        *div_at__ /= div_by__;                                                   \
        div_left__;                                                              \
    })
#define upper_32_bits(value) ((u32)((u64)(value) >> 32))
#define lower_32_bits(value) ((u32)(value))
#define struct_size(object, member, count) \
    (sizeof(*(object)) + sizeof((object)->member[0]) * (size_t)(count))
#define fallthrough __attribute__((__fallthrough__))

/* ---- users, random numbers ------------------------------------------------------------------- */

/* A user is the same process. They return how many bytes are not copied. */
#define copy_from_user(to, from, bytes) (memcpy(to, from, bytes), 0UL)
#define copy_to_user(to, from, bytes) (memcpy(to, from, bytes), 0UL)
#define get_user(value, from) ((value) = *(from), 0)
#define put_user(value, to) (*(to) = (value), 0)
#define access_ok(...) 1

#pragma GCC visibility push(default)
/* Of the process's own stream: in a simulation its seed determines them. */
u64 libcfs_random(void);
void libcfs_random_bytes(void *bytes, size_t count);
#pragma GCC visibility pop
#define get_random_bytes(bytes, count) libcfs_random_bytes(bytes, (size_t)(count))
#define prandom_bytes(bytes, count) libcfs_random_bytes(bytes, (size_t)(count))
#define prandom_u32() ((u32)libcfs_random())
#define get_random_u32() ((u32)libcfs_random())
#define prandom_u32_max(limit) ((u32)((libcfs_random() >> 32) * (u64)(limit) >> 32))
#define cfs_rand() ((unsigned)libcfs_random())
#define cfs_get_random_bytes(bytes, count) libcfs_random_bytes(bytes, (size_t)(count))

/* ---- texts ----------------------------------------------------------------------------------- */

/* How many characters are in the buffer, without the '\0'. */
#define scnprintf(text, size, ...)                                  \
    ({                                                              \
        size_t scn_size__ = (size);                                 \
        int scn_length__ = snprintf(text, scn_size__, __VA_ARGS__); \
        scn_length__ < 0 || scn_size__ == 0  ? 0                    \
        : (size_t)scn_length__ >= scn_size__ ? (int)scn_size__ - 1  \
                                             : scn_length__;        \
    })
static inline long strscpy(char *to, const char *from, size_t size)
{
    size_t length = libcfs_text_length(from, size);

    if (size == 0)
        return -E2BIG;
    memcpy(to, from, length < size ? length : size - 1);
    to[length < size ? length : size - 1] = '\0';
    return length < size ? (long)length : -E2BIG;
}

#endif
