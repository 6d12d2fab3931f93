/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Interrupts, preemption, signals and users' rights, as far as a thread in user space has them:
 * nothing interrupts a thread to run kernel code on its stack, and spin locks keep other threads
 * out. The marks that lockdep and the checkers of the kernel need have no effect.
 */
#ifndef JACQUARD_LIBCFS_KERNEL_IRQ_H
#define JACQUARD_LIBCFS_KERNEL_IRQ_H

#include "libcfs/kernel/base.h"
#include "libcfs/kernel/compiler.h"
#include "libcfs/kernel/lock.h"

#define local_irq_save(flags) ((void)((flags) = 0))
#define local_irq_restore(flags) ((void)(flags))
#define local_irq_disable() barrier()
#define local_irq_enable() barrier()
#define local_bh_disable() barrier()
#define local_bh_enable() barrier()
#define preempt_disable() barrier()
#define preempt_enable() barrier()
#define preempt_enable_no_resched() barrier()
#define preempt_count() 0
#define irqs_disabled() 0
#define in_irq() 0
#define in_softirq() 0
#define in_serving_softirq() 0
#define in_task() 1
#define in_nmi() 0
#define in_atomic() 0
#define need_resched() 0
#define smp_mb__after_atomic_inc() smp_mb()
#define smp_mb__before_atomic_inc() smp_mb()
#define smp_mb__after_atomic_dec() smp_mb()
#define smp_mb__before_atomic_dec() smp_mb()
#define smp_mb__before_clear_bit() smp_mb()
#define smp_mb__after_clear_bit() smp_mb()
#define smp_mb__after_spinlock() smp_mb()
#define smp_read_barrier_depends() barrier()
#define read_barrier_depends() barrier()
#define dma_rmb() smp_rmb()
#define dma_wmb() smp_wmb()
#define get_cpu() smp_processor_id()
#define put_cpu() barrier()
#define numa_node_id() 0
#define cpu_to_node(cpu) ((void)(cpu), 0)

/* ---- signals --------------------------------------------------------------------------------- */

/* A thread's own flags. No signal sets TIF_SIGPENDING, and it interrupts no wait. */
#define TIF_SIGPENDING 2
#define TIF_NEED_RESCHED 3
#define set_thread_flag(flag) set_bit(flag, &current->thread_flags)
#define clear_thread_flag(flag) clear_bit(flag, &current->thread_flags)
#define test_thread_flag(flag) test_bit(flag, &current->thread_flags)
#define test_and_set_thread_flag(flag) test_and_set_bit(flag, &current->thread_flags)
#define test_and_clear_thread_flag(flag) test_and_clear_bit(flag, &current->thread_flags)
#define set_tsk_thread_flag(task, flag) set_bit(flag, &(task)->thread_flags)
#define clear_tsk_thread_flag(task, flag) clear_bit(flag, &(task)->thread_flags)
#define test_tsk_thread_flag(task, flag) test_bit(flag, &(task)->thread_flags)
#define flush_signals(task) clear_tsk_thread_flag(task, TIF_SIGPENDING)
#define allow_signal(signal) ((void)(signal))
#define disallow_signal(signal) ((void)(signal))
#define signal_pending_state(state, task) ((void)(state), (void)(task), 0)

/* Nobody freezes threads. */
#define set_freezable() false
#define try_to_freeze() false
#define freezing(task) ((void)(task), false)
#define freezable_schedule() schedule()
#define freezable_schedule_timeout(timeout) schedule_timeout(timeout)
#define wait_event_freezable(queue, condition) wait_event_interruptible(queue, condition)

/* ---- rights ---------------------------------------------------------------------------------- */

/* Whoever runs the process may do what its kernel code does. */
#define CAP_NET_ADMIN 12
#define CAP_SYS_ADMIN 21
#define CAP_SYS_RESOURCE 24
#define capable(capability) ((void)(capability), true)

/* ---- lockdep --------------------------------------------------------------------------------- */

struct lock_class_key {
    char unused[0];
};
#define lockdep_set_class(lock, key) ((void)(lock), (void)(key))
#define lockdep_set_class_and_name(lock, key, name) ((void)(lock), (void)(key), (void)(name))
#define lockdep_set_subclass(lock, subclass) ((void)(lock))
#define lockdep_assert_held(lock) ((void)(lock))
#define lockdep_assert_held_write(lock) ((void)(lock))
#define lockdep_assert_held_read(lock) ((void)(lock))
#define lockdep_assert_held_once(lock) ((void)(lock))
#define lockdep_off() ((void)0)
#define lockdep_on() ((void)0)
#define might_lock(lock) ((void)(lock))
#define might_fault() ((void)0)
#define might_sleep_if(condition) ((void)(condition))

/* ---- waits and messages that have a name of their own ---------------------------------------- */

#define io_schedule() schedule()
#define io_schedule_timeout(timeout) schedule_timeout(timeout)
#define schedule_timeout_idle(timeout) libcfs_schedule_timeout_as(TASK_IDLE, timeout)
#define pr_devel(...) pr_debug(__VA_ARGS__)
#define WARN_ONCE(condition, ...)                            \
    ({                                                       \
        bool warned__ = (condition);                         \
        if (unlikely(warned__))                              \
            LIBCFS_ONCE((void)fprintf(stderr, __VA_ARGS__)); \
        warned__;                                            \
    })
/* Says why, and ends the program. */
#define panic(...)                          \
    do {                                    \
        (void)fprintf(stderr, __VA_ARGS__); \
        abort();                            \
    } while (0)

/* At most `burst` messages in `interval` jiffies. */
struct ratelimit_state {
    spinlock_t lock;
    int interval, burst, printed, missed;
    unsigned long begin;
};
#define DEFAULT_RATELIMIT_INTERVAL (5 * HZ)
#define DEFAULT_RATELIMIT_BURST 10
#define RATELIMIT_STATE_INIT(name, jiffies_, count) \
    {                                               \
        .interval = (jiffies_), .burst = (count)    \
    }
#define DEFINE_RATELIMIT_STATE(name, jiffies_, count) \
    struct ratelimit_state name = RATELIMIT_STATE_INIT(name, jiffies_, count)
static inline void ratelimit_state_init(struct ratelimit_state *state, int interval, int burst)
{
    *state = (struct ratelimit_state){.interval = interval, .burst = burst};
}
/* 1: the message may be printed. */
static inline int __ratelimit(struct ratelimit_state *state)
{
    unsigned long now = jiffies;
    int may;

    if (state->interval == 0)
        return 1;
    spin_lock(&state->lock);
    if (state->begin == 0 || time_after(now, state->begin + (unsigned long)state->interval)) {
        state->begin = now > 0 ? now : 1;
        state->printed = 0;
    }
    may = state->printed < state->burst;
    state->printed += may;
    state->missed += !may;
    spin_unlock(&state->lock);
    return may;
}
/* Each place has a limit of its own. */
#define printk_ratelimit()                                                     \
    ({                                                                         \
        static DEFINE_RATELIMIT_STATE(ratelimit__, DEFAULT_RATELIMIT_INTERVAL, \
                                      DEFAULT_RATELIMIT_BURST);                \
        __ratelimit(&ratelimit__);                                             \
    })
#define net_ratelimit() printk_ratelimit()

/* ---- random numbers, and memory of users ----------------------------------------------------- */

#define get_random_u64() ((u64)libcfs_random())
#define get_random_long() ((unsigned long)libcfs_random())
#define get_random_int() ((unsigned)libcfs_random())
#define net_random() prandom_u32()
#define cfs_srand(a, b) ((void)(a), (void)(b)) /* the numbers are random already */
#define add_device_randomness(bytes, count) ((void)(bytes), (void)(count))
#define __copy_from_user(to, from, bytes) copy_from_user(to, from, bytes)
#define __copy_to_user(to, from, bytes) copy_to_user(to, from, bytes)
#define __copy_from_user_inatomic(to, from, bytes) copy_from_user(to, from, bytes)
#define __copy_to_user_inatomic(to, from, bytes) copy_to_user(to, from, bytes)
#define __get_user(value, from) get_user(value, from)
#define __put_user(value, to) put_user(value, to)
#define copy_in_user(to, from, bytes) copy_from_user(to, from, bytes)
#define clear_user(to, bytes) (memset(to, 0, bytes), 0UL)
/* The length of the text; `size`: it was longer, and has no '\0' at its end. */
static inline long strncpy_from_user(char *to, const char __user *from, long size)
{
    long length;

    for (length = 0; length < size; length++) {
        to[length] = from[length];
        if (from[length] == '\0')
            break;
    }
    return length;
}
/* With its '\0'; more than `size`: it is longer. */
static inline long strnlen_user(const char __user *text, long size)
{
    return (long)libcfs_text_length(text, (size_t)size) + 1;
}

/* ---- names of old kernels -------------------------------------------------------------------- */

#define PAGE_CACHE_SHIFT PAGE_SHIFT
#define PAGE_CACHE_MASK PAGE_MASK
#define PAGE_CACHE_ALIGN(address) PAGE_ALIGN(address)
#define CFS_PAGE_SIZE PAGE_SIZE
#define CFS_PAGE_SHIFT PAGE_SHIFT
#define CFS_PAGE_MASK PAGE_MASK
#define LPU64 "%llu"
#define LPD64 "%lld"
#define LPX64 "%#llx"
#define LPX64i "%llx"

#endif
