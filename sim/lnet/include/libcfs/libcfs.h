/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What kernel code that uses LNet says besides: messages, assertions, memory, small helpers of the
 * kernel, and (libcfs/kernel/) threads, wait queues, timers, works, locks. The headers of LNet
 * include libcfs/shims.h only.
 */
#ifndef JACQUARD_LIBCFS_H
#define JACQUARD_LIBCFS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libcfs/shims.h"
#include "libcfs/libcfs_debug.h"
#include "libcfs/libcfs_string.h"

/* ---- messages and assertions ----------------------------------------------------------------- */

/* Whether the condition, which should not hold, holds: that is reported. */
#define WARN_ON(condition)                                                 \
    ({                                                                     \
        bool warn__ = (condition);                                         \
        if (unlikely(warn__))                                              \
            CWARN("%s:%d: warning: %s\n", __FILE__, __LINE__, #condition); \
        warn__;                                                            \
    })
#define CLASSERT(condition) _Static_assert(condition, #condition)

/* An error number in a pointer: one of the last 4095 addresses. */
static inline void *ERR_PTR(long error)
{
    return (void *)error; /* NOLINT(performance-no-int-to-ptr): that is its purpose */
}
static inline long PTR_ERR(const void *pointer)
{
    return (long)pointer;
}
static inline bool IS_ERR(const void *pointer)
{
    return (uintptr_t)pointer >= (uintptr_t)-4095;
}
static inline bool IS_ERR_OR_NULL(const void *pointer)
{
    return pointer == NULL || IS_ERR(pointer);
}

/* ---- memory ---------------------------------------------------------------------------------- */

typedef unsigned gfp_t; /* there is always time to wait for memory */
#define GFP_KERNEL 0
#define GFP_NOFS 0
#define GFP_ATOMIC 0
#define __GFP_ZERO 0x8000u /* the only flag that has an effect */

static inline void *kmalloc(size_t bytes, gfp_t flags)
{
    return (flags & __GFP_ZERO) != 0 ? calloc(1, bytes) : malloc(bytes);
}
static inline void *kzalloc(size_t bytes, gfp_t flags)
{
    (void)flags;
    return calloc(1, bytes);
}
static inline void kfree(const void *memory)
{
    free((void *)memory);
}
/* Zeroed memory in `ptr`, or NULL. */
#define LIBCFS_ALLOC(ptr, size) ((ptr) = kzalloc(size, GFP_NOFS))
#define LIBCFS_ALLOC_ATOMIC LIBCFS_ALLOC
#define LIBCFS_FREE(ptr, size) kfree(ptr)

#if !defined(__STDC_VERSION__) || __STDC_VERSION__ < 201112L
void *aligned_alloc(size_t alignment, size_t bytes); /* the C library says so from C11 on */
#endif
static inline struct page *alloc_page(gfp_t flags)
{
    void *page = aligned_alloc(PAGE_SIZE, PAGE_SIZE);

    if (page != NULL && (flags & __GFP_ZERO) != 0)
        memset(page, 0, PAGE_SIZE);
    return (struct page *)page;
}
/* References of pages are in libcfs/kernel/page.h; where nobody takes one, there is none. */
#pragma GCC visibility push(default)
void libcfs_page_put(struct page *page) __attribute__((weak));
#pragma GCC visibility pop
static inline void __free_page(struct page *page)
{
    if (libcfs_page_put != NULL)
        libcfs_page_put(page);
    else
        free(page);
}
static inline void *kmap(struct page *page)
{
    return page_address(page);
}
static inline void kunmap(struct page *page)
{
    (void)page;
}
#define PAGE_CACHE_SIZE PAGE_SIZE
#define PAGE_ALIGN(address) (((address) + PAGE_SIZE - 1) & PAGE_MASK)
#define offset_in_page(address) ((unsigned long)(address) & ~PAGE_MASK)

/* ---- lists, locks, atomics, numbers ---------------------------------------------------------- */

static inline bool list_is_singular(const struct list_head *head)
{
    return !list_empty(head) && head->next == head->prev;
}
static inline void list_splice(struct list_head *list, struct list_head *head)
{
    struct list_head copy = *list;

    list_splice_init(list, head); /* and leaves the list as it was */
    *list = copy;
}
static inline void list_splice_tail_init(struct list_head *list, struct list_head *head)
{
    list_splice_init(list, head->prev);
}
#define list_last_entry(head, type, member) list_entry((head)->prev, type, member)
#define list_first_entry_or_null(head, type, member) \
    (list_empty(head) ? NULL : list_first_entry(head, type, member))
#define list_for_each_entry_reverse(pos, head, member)                                  \
    for (pos = list_last_entry(head, __typeof__(*pos), member); &pos->member != (head); \
         pos = list_entry(pos->member.prev, __typeof__(*pos), member))
#define list_next_entry(pos, member) list_entry((pos)->member.next, __typeof__(*(pos)), member)

#define DEFINE_SPINLOCK(name) spinlock_t name = {0}

static inline void atomic_add(int i, atomic_t *v)
{
    (void)atomic_add_return(i, v);
}
static inline void atomic_sub(int i, atomic_t *v)
{
    (void)atomic_add_return(-i, v);
}
static inline int atomic_sub_return(int i, atomic_t *v)
{
    return atomic_add_return(-i, v);
}
static inline int atomic_dec_return(atomic_t *v)
{
    return atomic_add_return(-1, v);
}
static inline bool atomic_sub_and_test(int i, atomic_t *v)
{
    return atomic_add_return(-i, v) == 0;
}
static inline int atomic_cmpxchg(atomic_t *v, int old, int new)
{
    __atomic_compare_exchange_n(&v->counter, &old, new, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    return old; /* what it was */
}

#ifndef ARRAY_SIZE
#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))
#endif
#define min_t(type, a, b)                      \
    ({                                         \
        type min_a__ = (a), min_b__ = (b);     \
        min_a__ < min_b__ ? min_a__ : min_b__; \
    })
#define max_t(type, a, b)                      \
    ({                                         \
        type max_a__ = (a), max_b__ = (b);     \
        max_a__ > max_b__ ? max_a__ : max_b__; \
    })
#define DIV_ROUND_UP(value, step) (((value) + (step)-1) / (step))
#define READ_ONCE(place) (*(const volatile __typeof__(place) *)&(place))
#define WRITE_ONCE(place, value) (*(volatile __typeof__(place) *)&(place) = (value))
#define smp_mb() __atomic_thread_fence(__ATOMIC_SEQ_CST)

#define __init
#define __exit

#include "libcfs/kernel/atomic.h"
#include "libcfs/kernel/base.h"
#include "libcfs/kernel/bits.h"
#include "libcfs/kernel/byteorder.h"
#include "libcfs/kernel/clock.h"
#include "libcfs/kernel/compiler.h"
#include "libcfs/kernel/cpt.h"
#include "libcfs/kernel/cpumask.h"
#include "libcfs/kernel/device.h"
#include "libcfs/kernel/error.h"
#include "libcfs/kernel/irq.h"
#include "libcfs/kernel/list.h"
#include "libcfs/kernel/lock.h"
#include "libcfs/kernel/module.h"
#include "libcfs/kernel/page.h"
#include "libcfs/kernel/task.h"
#include "libcfs/kernel/time.h"
#include "libcfs/kernel/work.h"
#include "libcfs/kernel/rcu.h"

#include "libcfs/libcfs_fail.h"
#include "libcfs/libcfs_hash.h"
#include "libcfs/libcfs_cpu.h"
#include "libcfs/libcfs_ioctl.h"
#include "libcfs/libcfs_prim.h"
#include "libcfs/libcfs_private.h"

/* They need all that is before. */
#include "libcfs/kernel/waitbit.h"
#include "libcfs/kernel/chain.h"
#include "libcfs/kernel/hrtimer.h"
#include "libcfs/kernel/kfifo.h"
#include "libcfs/kernel/kworker.h"
#include "libcfs/kernel/llist.h"
#include "libcfs/kernel/percpu.h"
#include "libcfs/kernel/radix.h"
#include "libcfs/kernel/rbtree.h"
#include "libcfs/kernel/scatterlist.h"
#include "libcfs/kernel/seqfile.h"
#include "libcfs/kernel/more.h"

#endif
