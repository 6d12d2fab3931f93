/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The parts of the kernel that the headers of LNet and every consumer of it use, for code in user
 * space: pages, vectors, lists, spin locks, atomics, byte order, jiffies. libcfs/libcfs.h has more.
 *
 * A page is a block of 4096 bytes at a multiple of 4096, and its struct page is that address.
 */
#ifndef JACQUARD_LIBCFS_SHIMS_H
#define JACQUARD_LIBCFS_SHIMS_H

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <linux/types.h>
#include <linux/swab.h>
#include <sys/uio.h>

#ifndef PAGE_SIZE
#define PAGE_SHIFT 12
#define PAGE_SIZE (1UL << PAGE_SHIFT)
#define PAGE_MASK (~(PAGE_SIZE - 1))
#endif

struct page; /* opaque */

static inline void *page_address(const struct page *page)
{
    return (void *)page;
}
/* Of an address, which is a pointer or a number. */
#define virt_to_page(address) libcfs_page_of((uintptr_t)(address))
static inline struct page *libcfs_page_of(uintptr_t address)
{
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): the page of an address is a matter of its bits */
    return (struct page *)(address & PAGE_MASK);
}

struct kvec {
    void *iov_base;
    size_t iov_len;
};

#ifndef likely
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#endif
#ifndef container_of
#define container_of(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))
#endif

/* ---- lists ----------------------------------------------------------------------------------- */

struct list_head {
    struct list_head *next, *prev;
};

#define LIST_HEAD_INIT(name) \
    {                        \
        &(name), &(name)     \
    }
#define LIST_HEAD(name) struct list_head name = LIST_HEAD_INIT(name)

static inline void INIT_LIST_HEAD(struct list_head *list)
{
    list->next = list;
    list->prev = list;
}
static inline void list_insert_between(struct list_head *entry, struct list_head *prev,
                                       struct list_head *next)
{
    next->prev = entry;
    entry->next = next;
    entry->prev = prev;
    prev->next = entry;
}
static inline void list_add(struct list_head *entry, struct list_head *head)
{
    list_insert_between(entry, head, head->next);
}
static inline void list_add_tail(struct list_head *entry, struct list_head *head)
{
    list_insert_between(entry, head->prev, head);
}
static inline void list_del_init(struct list_head *entry)
{
    entry->next->prev = entry->prev;
    entry->prev->next = entry->next;
    INIT_LIST_HEAD(entry);
}
static inline void list_del(struct list_head *entry)
{
    list_del_init(entry);
}
static inline bool list_empty(const struct list_head *head)
{
    return head->next == head;
}
static inline void list_move(struct list_head *entry, struct list_head *head)
{
    list_del_init(entry);
    list_add(entry, head);
}
static inline void list_move_tail(struct list_head *entry, struct list_head *head)
{
    list_del_init(entry);
    list_add_tail(entry, head);
}
static inline void list_splice_init(struct list_head *list, struct list_head *head)
{
    if (list_empty(list))
        return;

    list->next->prev = head;
    list->prev->next = head->next;
    head->next->prev = list->prev;
    head->next = list->next;
    INIT_LIST_HEAD(list);
}

#define list_entry(ptr, type, member) container_of(ptr, type, member)
#define list_first_entry(head, type, member) list_entry((head)->next, type, member)
#define list_for_each(pos, head) for (pos = (head)->next; pos != (head); pos = pos->next)
#define list_for_each_safe(pos, n, head) \
    for (pos = (head)->next, n = pos->next; pos != (head); pos = n, n = pos->next)
#define list_for_each_entry(pos, head, member)                                             \
    for (pos = list_entry((head)->next, __typeof__(*pos), member); &pos->member != (head); \
         pos = list_entry(pos->member.next, __typeof__(*pos), member))
#define list_for_each_entry_safe(pos, n, head, member)              \
    for (pos = list_entry((head)->next, __typeof__(*pos), member),  \
        n = list_entry(pos->member.next, __typeof__(*pos), member); \
         &pos->member != (head); pos = n, n = list_entry(n->member.next, __typeof__(*n), member))

/* ---- locks and atomics ----------------------------------------------------------------------- */

typedef struct {
    int locked;
} spinlock_t;

static inline void spin_lock_init(spinlock_t *lock)
{
    __atomic_store_n(&lock->locked, 0, __ATOMIC_RELAXED);
}
/* Lets the holder of a spin lock run: it may have been preempted, and in a simulation it may sleep.
 * There is none where no thread of kernel code is (libcfs/kernel/task.h). */
#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C"
#endif
    void
    libcfs_spin_relax(void) __attribute__((weak));
#pragma GCC visibility pop

static inline bool spin_trylock(spinlock_t *lock)
{
    return __atomic_exchange_n(&lock->locked, 1, __ATOMIC_ACQUIRE) == 0;
}
static inline void spin_lock(spinlock_t *lock)
{
    unsigned tries = 0;

    while (!spin_trylock(lock)) {
        __builtin_ia32_pause();
        if (++tries % 256 == 0 && libcfs_spin_relax != NULL)
            libcfs_spin_relax();
    }
}
static inline void spin_unlock(spinlock_t *lock)
{
    __atomic_store_n(&lock->locked, 0, __ATOMIC_RELEASE);
}
static inline bool spin_is_locked(const spinlock_t *lock)
{
    return __atomic_load_n(&lock->locked, __ATOMIC_RELAXED) != 0;
}
#define spin_lock_bh spin_lock
#define spin_unlock_bh spin_unlock
#define spin_trylock_bh spin_trylock
#define spin_lock_irq spin_lock
#define spin_unlock_irq spin_unlock
#define spin_lock_nested(lock, subclass) spin_lock(lock)
#define spin_lock_irqsave(lock, flags) \
    do {                               \
        (flags) = 0;                   \
        spin_lock(lock);               \
    } while (0)
#define spin_unlock_irqrestore(lock, flags) \
    do {                                    \
        (void)(flags);                      \
        spin_unlock(lock);                  \
    } while (0)

typedef struct {
    int counter;
} atomic_t;

#define ATOMIC_INIT(i) \
    {                  \
        (i)            \
    }
static inline int atomic_read(const atomic_t *v)
{
    return __atomic_load_n(&v->counter, __ATOMIC_RELAXED);
}
static inline void atomic_set(atomic_t *v, int i)
{
    __atomic_store_n(&v->counter, i, __ATOMIC_RELAXED);
}
static inline int atomic_add_return(int i, atomic_t *v)
{
    return __atomic_add_fetch(&v->counter, i, __ATOMIC_SEQ_CST);
}
static inline void atomic_inc(atomic_t *v)
{
    (void)atomic_add_return(1, v);
}
static inline void atomic_dec(atomic_t *v)
{
    (void)atomic_add_return(-1, v);
}
static inline int atomic_inc_return(atomic_t *v)
{
    return atomic_add_return(1, v);
}
static inline bool atomic_dec_and_test(atomic_t *v)
{
    return atomic_add_return(-1, v) == 0;
}

/* ---- byte order, time ------------------------------------------------------------------------ */

#define le16_to_cpu(x) ((__u16)(x)) /* x86-64 is little-endian */
#define le32_to_cpu(x) ((__u32)(x))
#define le64_to_cpu(x) ((__u64)(x))
#define cpu_to_le16(x) ((__u16)(x))
#define cpu_to_le32(x) ((__u32)(x))
#define cpu_to_le64(x) ((__u64)(x))

#undef HZ /* the system has another one */
#define HZ 1000 /* a jiffy is a millisecond of the node's time */
#define MAX_SCHEDULE_TIMEOUT LONG_MAX
#define cfs_time_seconds(seconds) ((unsigned long)(seconds)*HZ)
/* A negative number is a wait without end. */
static inline unsigned long msecs_to_jiffies(unsigned ms)
{
    return (int)ms < 0 ? (unsigned long)(LONG_MAX >> 1) - 1 : ms;
}
#define jiffies_to_msecs(j) ((unsigned)(j))

#define JACQUARD_LIBCFS_SHIMS_COMPLETE
#endif
