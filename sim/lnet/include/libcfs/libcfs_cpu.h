/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Sets of NUMA nodes, of which there is one, and tables of partitions of processors. */
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

/* ---- tables of partitions ---------------------------------------------------------------------
 */

#pragma GCC visibility push(default)
/* A table of so many partitions without processors; NULL: no memory, or no such number. */
struct cfs_cpt_table *cfs_cpt_table_alloc(int count);
void cfs_cpt_table_free(struct cfs_cpt_table *table);
/* 1: the processors belong to the partition now; 0: one of them is in a partition, or does not
 * exist. */
int cfs_cpt_set_cpu(struct cfs_cpt_table *table, int cpt, int cpu);
int cfs_cpt_set_cpumask(struct cfs_cpt_table *table, int cpt, const struct cpumask *mask);
int cfs_cpt_set_node(struct cfs_cpt_table *table, int cpt, int node);
int cfs_cpt_set_nodemask(struct cfs_cpt_table *table, int cpt, const nodemask_t *mask);
/* `cpt` may be CFS_CPT_ANY: of whichever partition. */
void cfs_cpt_unset_cpu(struct cfs_cpt_table *table, int cpt, int cpu);
void cfs_cpt_unset_cpumask(struct cfs_cpt_table *table, int cpt, const struct cpumask *mask);
void cfs_cpt_unset_node(struct cfs_cpt_table *table, int cpt, int node);
void cfs_cpt_unset_nodemask(struct cfs_cpt_table *table, int cpt, const nodemask_t *mask);
struct cpumask *libcfs_cpt_processors(struct cfs_cpt_table *table, int cpt);
nodemask_t *cfs_cpt_nodemask(struct cfs_cpt_table *table, int cpt);
int cfs_cpt_of_node(const struct cfs_cpt_table *table, int node); /* -1: none */
unsigned cfs_cpt_distance(struct cfs_cpt_table *table, int from, int to);
/* "0\t: 0 1 2 3\n", and "0\t: 0:10 1:10\n", a line for each; its length, or -E2BIG. */
int cfs_cpt_table_print(struct cfs_cpt_table *table, char *text, int size);
int cfs_cpt_distance_print(struct cfs_cpt_table *table, char *text, int size);
#pragma GCC visibility pop
#define cfs_cpt_cpumask(table, cpt) ((cpumask_var_t *)(void *)libcfs_cpt_processors(table, cpt))
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
    spinlock_t **pcl_locks;
};
#pragma GCC visibility push(default)
struct cfs_percpt_lock *cfs_percpt_lock_alloc(struct cfs_cpt_table *table);
void cfs_percpt_lock_free(struct cfs_percpt_lock *lock);
void cfs_percpt_lock(struct cfs_percpt_lock *lock, int index);
void cfs_percpt_unlock(struct cfs_percpt_lock *lock, int index);
#pragma GCC visibility pop
#define cfs_percpt_lock_create(table, keys) ((void)(keys), cfs_percpt_lock_alloc(table))
#define cfs_percpt_lock_num(lock) cfs_cpt_number((lock)->pcl_cptab)

#endif
