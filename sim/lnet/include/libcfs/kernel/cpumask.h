/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Sets of processors. Those of the process's host are 0 to nr_cpu_ids - 1, and all are online. */
#ifndef JACQUARD_LIBCFS_KERNEL_CPUMASK_H
#define JACQUARD_LIBCFS_KERNEL_CPUMASK_H

#include "libcfs/kernel/bits.h"
#include "libcfs/kernel/task.h"
#include "libcfs/libcfs.h"

typedef struct cpumask cpumask_t;
typedef struct cpumask *cpumask_var_t;
#define CPU_MASK_NONE \
    {                 \
        {             \
            0         \
        }             \
    }
#define nr_cpu_ids libcfs_processors()
#define nr_cpumask_bits libcfs_processors()
#define cpumask_bits(mask) ((mask)->bits)

#pragma GCC visibility push(default)
const struct cpumask *libcfs_online_mask(void);
int libcfs_task_confine(struct task_struct *task, const struct cpumask *mask);
#pragma GCC visibility pop

#define cpu_online_mask libcfs_online_mask()
#define cpu_possible_mask libcfs_online_mask()
#define cpu_present_mask libcfs_online_mask()
#define cpu_active_mask libcfs_online_mask()
#define cpu_online(cpu) ((unsigned)(cpu) < nr_cpu_ids)
#define cpu_possible(cpu) cpu_online(cpu)
#define cpu_present(cpu) cpu_online(cpu)
#define num_present_cpus() libcfs_processors()
#define for_each_online_cpu(cpu) for ((cpu) = 0; (unsigned)(cpu) < nr_cpu_ids; (cpu)++)
#define for_each_possible_cpu(cpu) for_each_online_cpu(cpu)
#define for_each_present_cpu(cpu) for_each_online_cpu(cpu)
/* Where a thread runs is not known: smp_processor_id(), too, is 0. */
#define task_cpu(task) ((void)(task), 0)

static inline bool alloc_cpumask_var(cpumask_var_t *mask, gfp_t flags)
{
    *mask = (cpumask_var_t)kmalloc(sizeof(**mask), flags);
    return *mask != NULL;
}
static inline bool zalloc_cpumask_var(cpumask_var_t *mask, gfp_t flags)
{
    return alloc_cpumask_var(mask, flags | __GFP_ZERO);
}
#define alloc_cpumask_var_node(mask, flags, node) alloc_cpumask_var(mask, flags)
#define zalloc_cpumask_var_node(mask, flags, node) zalloc_cpumask_var(mask, flags)
static inline void free_cpumask_var(cpumask_var_t mask)
{
    kfree(mask);
}

#define cpumask_set_cpu(cpu, mask) set_bit((long)(cpu), cpumask_bits(mask))
#define cpumask_clear_cpu(cpu, mask) clear_bit((long)(cpu), cpumask_bits(mask))
#define cpumask_test_cpu(cpu, mask) test_bit((long)(cpu), cpumask_bits(mask))
#define cpumask_test_and_set_cpu(cpu, mask) test_and_set_bit((long)(cpu), cpumask_bits(mask))
#define cpumask_test_and_clear_cpu(cpu, mask) test_and_clear_bit((long)(cpu), cpumask_bits(mask))
static inline void cpumask_clear(struct cpumask *mask)
{
    bitmap_zero(mask->bits, NR_CPUS);
}
static inline void cpumask_setall(struct cpumask *mask)
{
    bitmap_zero(mask->bits, NR_CPUS);
    bitmap_set(mask->bits, 0, nr_cpu_ids);
}
static inline void cpumask_copy(struct cpumask *to, const struct cpumask *from)
{
    *to = *from;
}
static inline unsigned cpumask_weight(const struct cpumask *mask)
{
    return (unsigned)bitmap_weight(mask->bits, NR_CPUS);
}
static inline bool cpumask_empty(const struct cpumask *mask)
{
    return bitmap_empty(mask->bits, NR_CPUS);
}
static inline bool cpumask_full(const struct cpumask *mask)
{
    return bitmap_full(mask->bits, nr_cpu_ids);
}
static inline bool cpumask_equal(const struct cpumask *a, const struct cpumask *b)
{
    return bitmap_equal(a->bits, b->bits, NR_CPUS);
}
static inline bool cpumask_subset(const struct cpumask *a, const struct cpumask *b)
{
    return bitmap_subset(a->bits, b->bits, NR_CPUS);
}
static inline bool cpumask_intersects(const struct cpumask *a, const struct cpumask *b)
{
    return bitmap_intersects(a->bits, b->bits, NR_CPUS);
}
#define cpumask_and(to, a, b) bitmap_and((to)->bits, (a)->bits, (b)->bits, NR_CPUS)
#define cpumask_andnot(to, a, b) bitmap_andnot((to)->bits, (a)->bits, (b)->bits, NR_CPUS)
#define cpumask_or(to, a, b) ((void)bitmap_or((to)->bits, (a)->bits, (b)->bits, NR_CPUS))
#define cpumask_xor(to, a, b) ((void)bitmap_xor((to)->bits, (a)->bits, (b)->bits, NR_CPUS))
/* nr_cpu_ids or more: there is none. */
static inline unsigned cpumask_next(int cpu, const struct cpumask *mask)
{
    return (unsigned)find_next_bit(mask->bits, NR_CPUS, (unsigned long)(cpu + 1));
}
#define cpumask_first(mask) cpumask_next(-1, mask)
#define cpumask_any(mask) cpumask_first(mask)
#define for_each_cpu(cpu, mask)                                         \
    for ((cpu) = (__typeof__(cpu))cpumask_first(mask); (cpu) < NR_CPUS; \
         (cpu) = (__typeof__(cpu))cpumask_next((int)(cpu), mask))

/* The thread runs on those processors only. -EINVAL: none of them exists. */
static inline int set_cpus_allowed_ptr(struct task_struct *task, const struct cpumask *mask)
{
    return libcfs_task_confine(task, mask);
}

#endif
