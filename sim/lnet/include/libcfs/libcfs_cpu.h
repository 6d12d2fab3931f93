/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Sets of NUMA nodes, of which there is one, and the rest of libcfs's partitions. */
#ifndef JACQUARD_LIBCFS_CPU_H
#define JACQUARD_LIBCFS_CPU_H

#include "libcfs/libcfs.h"

/* ---- linux/nodemask.h ------------------------------------------------------------------------ */

#define MAX_NUMNODES 1
#define NUMA_NO_NODE (-1)
typedef struct {
    unsigned long bits[1];
} nodemask_t;
#define node_set(node, mask) ((void)((mask).bits[0] |= 1UL << (node)))
#define node_clear(node, mask) ((void)((mask).bits[0] &= ~(1UL << (node))))
#define node_isset(node, mask) (((mask).bits[0] >> (node)&1) != 0)
#define nodes_clear(mask) ((void)((mask).bits[0] = 0))
#define nodes_weight(mask) (__builtin_popcountl((mask).bits[0]))
#define node_online(node) ((node) == 0)
#define for_each_online_node(node) for ((node) = 0; (node) < MAX_NUMNODES; (node)++)
#define for_each_node_mask(node, mask) for_each_online_node(node) if (node_isset(node, mask))
#define num_online_nodes() 1
#define num_possible_nodes() 1
#define LOCAL_DISTANCE 10
#define node_distance(from, to) ((void)(from), (void)(to), LOCAL_DISTANCE)

/* ---- partitions: one, with all processors ---------------------------------------------------- */

#define cfs_cpt_of_node(table, node) ((void)(table), (node) == 0 ? 0 : -1)
#define cfs_cpt_distance(table, a, b) ((void)(table), (void)(a), (void)(b), LOCAL_DISTANCE)
#define cfs_cpt_cpumask(table, cpt) \
    ((void)(table), (void)(cpt), (cpumask_var_t *)(void *)(uintptr_t)cpu_online_mask)
#define cfs_cpt_nodemask(table, cpt) ((void)(table), (void)(cpt), &(nodemask_t){{1}})
/* 1: it belongs to the partition, as it did before. */
#define cfs_cpt_set_cpu(table, cpt, cpu) \
    ((void)(table), (cpt) == 0 && (unsigned)(cpu) < libcfs_processors())
#define cfs_cpt_set_node(table, cpt, node) ((void)(table), (cpt) == 0 && (node) == 0)
#pragma GCC visibility push(default)
/* "0\t: 0 1 2 3\n"; its length, or -E2BIG. */
int cfs_cpt_table_print(struct cfs_cpt_table *table, char *text, int size);
#pragma GCC visibility pop
#define cfs_cpt_bind_workqueue(name, table, flags, cpt, threads) \
    ((void)(table), (void)(cpt), alloc_workqueue("%s", flags, threads, name))
static inline int cfs_cpu_init(void)
{
    return 0;
}
static inline void cfs_cpu_fini(void)
{
}

/* An object's index in cfs_percpt_for_each(). */
#define cfs_percpt_index(objects, i) ((void)(objects), (i))

/* A lock for each partition; CFS_PERCPT_LOCK_EX: all of them. */
#define CFS_PERCPT_LOCK_EX (-1)
struct cfs_percpt_lock {
    struct cfs_cpt_table *pcl_cptab;
    unsigned pcl_locked; /* by CFS_PERCPT_LOCK_EX */
    spinlock_t pcl_lock;
};
static inline struct cfs_percpt_lock *cfs_percpt_lock_alloc(struct cfs_cpt_table *table)
{
    struct cfs_percpt_lock *lock = (struct cfs_percpt_lock *)calloc(1, sizeof(*lock));

    if (lock != NULL)
        lock->pcl_cptab = table;
    return lock;
}
#define cfs_percpt_lock_create(table, keys) ((void)(keys), cfs_percpt_lock_alloc(table))
#define cfs_percpt_lock_num(lock) ((void)(lock), 1)
static inline void cfs_percpt_lock_free(struct cfs_percpt_lock *lock)
{
    LASSERT(!lock->pcl_locked);
    free(lock);
}
static inline void cfs_percpt_lock(struct cfs_percpt_lock *lock, int index)
{
    LASSERT(index >= CFS_PERCPT_LOCK_EX && index < 1);
    spin_lock(&lock->pcl_lock);
    lock->pcl_locked = index == CFS_PERCPT_LOCK_EX;
}
static inline void cfs_percpt_unlock(struct cfs_percpt_lock *lock, int index)
{
    LASSERT((index == CFS_PERCPT_LOCK_EX) == (lock->pcl_locked != 0));
    lock->pcl_locked = 0;
    spin_unlock(&lock->pcl_lock);
}

#endif
