/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Objects of each processor. All threads are on processor 0 (smp_processor_id()), so this_cpu_*()
 * use the first object, atomically; sums over for_each_possible_cpu() find zeroes elsewhere. Also
 * counters, references and reader-writer semaphores that the kernel has for each processor.
 */
#ifndef JACQUARD_LIBCFS_KERNEL_PERCPU_H
#define JACQUARD_LIBCFS_KERNEL_PERCPU_H

#include "libcfs/libcfs.h"

#pragma GCC visibility push(default)
/* The object of another processor than 0, zeroed when it is first asked for. */
void *libcfs_percpu_other(void *first, size_t bytes, unsigned processor);
void *libcfs_percpu_alloc(size_t bytes, size_t alignment);
void libcfs_percpu_free(void *first);
/* Between them, no other thread of the program is between them. They nest. */
void libcfs_percpu_enter(void);
void libcfs_percpu_leave(void);
#pragma GCC visibility pop

#define DEFINE_PER_CPU(type, name) __typeof__(type) name
#define DECLARE_PER_CPU(type, name) extern __typeof__(type) name
#define DEFINE_PER_CPU_ALIGNED(type, name) DEFINE_PER_CPU(type, name)
#define DEFINE_PER_CPU_SHARED_ALIGNED(type, name) DEFINE_PER_CPU(type, name)
#define DEFINE_PER_CPU_READ_MOSTLY(type, name) DEFINE_PER_CPU(type, name)
#define EXPORT_PER_CPU_SYMBOL(name) struct libcfs_exported
#define EXPORT_PER_CPU_SYMBOL_GPL(name) struct libcfs_exported

#define per_cpu_ptr(pointer, processor)                                                            \
    ({                                                                                             \
        __typeof__(pointer) percpu_first__ = (pointer);                                            \
        unsigned percpu_processor__ = (unsigned)(processor);                                       \
        percpu_processor__ == 0                                                                    \
            ? percpu_first__                                                                       \
            : (__typeof__(pointer))libcfs_percpu_other(                                            \
                  (void *)(uintptr_t)percpu_first__, sizeof(*percpu_first__), percpu_processor__); \
    })
#define per_cpu(name, processor) (*per_cpu_ptr(&(name), processor))
#define this_cpu_ptr(pointer) (pointer)
#define raw_cpu_ptr(pointer) (pointer)
#define __this_cpu_ptr(pointer) (pointer)
#define __get_cpu_var(name) (name)
#define get_cpu_var(name) (*(libcfs_percpu_enter(), &(name)))
#define put_cpu_var(name) ((void)&(name), libcfs_percpu_leave())
#define get_cpu_ptr(pointer) (libcfs_percpu_enter(), (pointer))
#define put_cpu_ptr(pointer) ((void)(pointer), libcfs_percpu_leave())

#define this_cpu_read(name) __atomic_load_n(&(name), __ATOMIC_RELAXED)
#define this_cpu_write(name, value) __atomic_store_n(&(name), value, __ATOMIC_RELAXED)
#define this_cpu_add(name, value) ((void)__atomic_fetch_add(&(name), value, __ATOMIC_RELAXED))
#define this_cpu_sub(name, value) ((void)__atomic_fetch_sub(&(name), value, __ATOMIC_RELAXED))
#define this_cpu_inc(name) this_cpu_add(name, 1)
#define this_cpu_dec(name) this_cpu_sub(name, 1)
#define this_cpu_or(name, value) ((void)__atomic_fetch_or(&(name), value, __ATOMIC_RELAXED))
#define this_cpu_and(name, value) ((void)__atomic_fetch_and(&(name), value, __ATOMIC_RELAXED))
#define this_cpu_add_return(name, value) __atomic_add_fetch(&(name), value, __ATOMIC_RELAXED)
#define this_cpu_inc_return(name) this_cpu_add_return(name, 1)
#define this_cpu_dec_return(name) __atomic_sub_fetch(&(name), 1, __ATOMIC_RELAXED)
#define this_cpu_xchg(name, value) __atomic_exchange_n(&(name), value, __ATOMIC_RELAXED)
#define this_cpu_cmpxchg(name, old, value) cmpxchg(&(name), old, value)
#define __this_cpu_read(name) this_cpu_read(name)
#define __this_cpu_write(name, value) this_cpu_write(name, value)
#define __this_cpu_add(name, value) this_cpu_add(name, value)
#define __this_cpu_sub(name, value) this_cpu_sub(name, value)
#define __this_cpu_inc(name) this_cpu_inc(name)
#define __this_cpu_dec(name) this_cpu_dec(name)
#define __this_cpu_inc_return(name) this_cpu_inc_return(name)
#define raw_cpu_read(name) this_cpu_read(name)
#define raw_cpu_add(name, value) this_cpu_add(name, value)
#define raw_cpu_inc(name) this_cpu_inc(name)

/* Zeroed; NULL: no memory. */
#define __alloc_percpu(bytes, alignment) libcfs_percpu_alloc(bytes, alignment)
#define alloc_percpu(type) \
    ((__typeof__(type) *)libcfs_percpu_alloc(sizeof(type), __alignof__(type)))
#define alloc_percpu_gfp(type, flags) ((void)(flags), alloc_percpu(type))
#define free_percpu(pointer) libcfs_percpu_free(pointer)

/* ---- linux/percpu_counter.h: exact ----------------------------------------------------------- */

struct percpu_counter {
    s64 count;
};
static inline int percpu_counter_init(struct percpu_counter *counter, s64 value, gfp_t flags)
{
    (void)flags;
    __atomic_store_n(&counter->count, value, __ATOMIC_RELAXED);
    return 0;
}
#define percpu_counter_destroy(counter) ((void)(counter))
#define percpu_counter_set(counter, value) \
    __atomic_store_n(&(counter)->count, (s64)(value), __ATOMIC_RELAXED)
#define percpu_counter_add(counter, value) \
    ((void)__atomic_fetch_add(&(counter)->count, (s64)(value), __ATOMIC_RELAXED))
#define percpu_counter_add_batch(counter, value, batch) percpu_counter_add(counter, value)
#define percpu_counter_sub(counter, value) percpu_counter_add(counter, -(s64)(value))
#define percpu_counter_inc(counter) percpu_counter_add(counter, 1)
#define percpu_counter_dec(counter) percpu_counter_add(counter, -1)
#define percpu_counter_sum(counter) __atomic_load_n(&(counter)->count, __ATOMIC_RELAXED)
#define percpu_counter_read(counter) percpu_counter_sum(counter)
static inline s64 percpu_counter_read_positive(struct percpu_counter *counter)
{
    s64 count = percpu_counter_sum(counter);

    return count > 0 ? count : 0;
}
#define percpu_counter_sum_positive(counter) percpu_counter_read_positive(counter)
#define percpu_counter_compare(counter, value)                                \
    ({                                                                        \
        s64 counter_a__ = percpu_counter_sum(counter), counter_b__ = (value); \
        (counter_a__ > counter_b__) - (counter_a__ < counter_b__);            \
    })

/* ---- linux/percpu-refcount.h ----------------------------------------------------------------- */

struct percpu_ref;
typedef void(percpu_ref_func_t)(struct percpu_ref *ref);
enum { PERCPU_REF_INIT_ATOMIC = 1, PERCPU_REF_INIT_DEAD = 2, PERCPU_REF_ALLOW_REINIT = 4 };
/* percpu_ref_kill() puts the first reference, and who puts the last one calls `release`. */
struct percpu_ref {
    long count; /* with `dying`, changed atomically */
    int dying;
    percpu_ref_func_t *release;
};
static inline int percpu_ref_init(struct percpu_ref *ref, percpu_ref_func_t *release,
                                  unsigned flags, gfp_t gfp)
{
    (void)gfp;
    ref->count = (flags & PERCPU_REF_INIT_DEAD) == 0;
    ref->dying = (flags & PERCPU_REF_INIT_DEAD) != 0;
    ref->release = release;
    return 0;
}
#define percpu_ref_exit(ref) ((void)(ref))
#define percpu_ref_switch_to_atomic(ref, confirm) ((void)(ref), (void)(confirm))
#define percpu_ref_switch_to_atomic_sync(ref) ((void)(ref))
#define percpu_ref_switch_to_percpu(ref) ((void)(ref))
#define percpu_ref_get_many(ref, n) \
    ((void)__atomic_add_fetch(&(ref)->count, (long)(n), __ATOMIC_SEQ_CST))
#define percpu_ref_get(ref) percpu_ref_get_many(ref, 1)
#define percpu_ref_is_dying(ref) (__atomic_load_n(&(ref)->dying, __ATOMIC_SEQ_CST) != 0)
#define percpu_ref_is_zero(ref) (__atomic_load_n(&(ref)->count, __ATOMIC_SEQ_CST) == 0)
static inline bool percpu_ref_tryget(struct percpu_ref *ref)
{
    long count = __atomic_load_n(&ref->count, __ATOMIC_SEQ_CST);

    while (count != 0)
        if (__atomic_compare_exchange_n(&ref->count, &count, count + 1, false, __ATOMIC_SEQ_CST,
                                        __ATOMIC_SEQ_CST))
            return true;
    return false;
}
static inline bool percpu_ref_tryget_live(struct percpu_ref *ref)
{
    return !percpu_ref_is_dying(ref) && percpu_ref_tryget(ref);
}
static inline void percpu_ref_put_many(struct percpu_ref *ref, unsigned long n)
{
    if (__atomic_sub_fetch(&ref->count, (long)n, __ATOMIC_SEQ_CST) == 0)
        ref->release(ref);
}
#define percpu_ref_put(ref) percpu_ref_put_many(ref, 1)
static inline void percpu_ref_kill_and_confirm(struct percpu_ref *ref, percpu_ref_func_t *confirm)
{
    if (WARN_ON(__atomic_exchange_n(&ref->dying, 1, __ATOMIC_SEQ_CST) != 0))
        return;
    if (confirm != NULL)
        confirm(ref);
    percpu_ref_put(ref);
}
#define percpu_ref_kill(ref) percpu_ref_kill_and_confirm(ref, NULL)
static inline void percpu_ref_resurrect(struct percpu_ref *ref)
{
    percpu_ref_get(ref);
    __atomic_store_n(&ref->dying, 0, __ATOMIC_SEQ_CST);
}
#define percpu_ref_reinit(ref) percpu_ref_resurrect(ref)

/* ---- linux/percpu-rwsem.h -------------------------------------------------------------------- */

struct percpu_rw_semaphore {
    struct rw_semaphore rw_sem;
};
#define percpu_init_rwsem(sem) (init_rwsem(&(sem)->rw_sem), 0)
#define percpu_free_rwsem(sem) ((void)(sem))
#define percpu_down_read(sem) down_read(&(sem)->rw_sem)
#define percpu_down_read_trylock(sem) down_read_trylock(&(sem)->rw_sem)
#define percpu_up_read(sem) up_read(&(sem)->rw_sem)
#define percpu_down_write(sem) down_write(&(sem)->rw_sem)
#define percpu_up_write(sem) up_write(&(sem)->rw_sem)

#endif
