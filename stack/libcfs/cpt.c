/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Tables of partitions of processors. No table (NULL) is the default one: one partition with all
 * processors. All processors are on NUMA node 0.
 */
#include "kernel.h"

#include <stdio.h>

#include "libcfs/libcfs_cpu.h"

struct partition {
    struct cpumask processors;
    nodemask_t nodes;
};

struct cfs_cpt_table {
    int count;
    int of_processor[NR_CPUS]; /* partition; -1: none */
    struct cpumask processors; /* of all partitions */
    nodemask_t nodes;
    struct partition partition[];
};

static const nodemask_t all_nodes = {{1}};

static bool is_partition(const struct cfs_cpt_table *table, int cpt)
{
    return cpt >= 0 && cpt < cfs_cpt_number(table);
}

/* A partition, or CFS_CPT_ANY. */
static bool is_known(const struct cfs_cpt_table *table, int cpt)
{
    return cpt == CFS_CPT_ANY || is_partition(table, cpt);
}

/* ---- tables ---------------------------------------------------------------------------------- */

struct cfs_cpt_table *cfs_cpt_table_alloc(int count)
{
    struct cfs_cpt_table *table;
    int i;

    if (count <= 0 || count > NR_CPUS)
        return NULL;
    table = kzalloc(sizeof(*table) + (size_t)count * sizeof(table->partition[0]), GFP_NOFS);
    if (table == NULL)
        return NULL;
    table->count = count;
    for (i = 0; i < NR_CPUS; i++)
        table->of_processor[i] = -1;
    return table;
}

void cfs_cpt_table_free(struct cfs_cpt_table *table)
{
    kfree(table);
}

int cfs_cpt_number(const struct cfs_cpt_table *table)
{
    return table != NULL ? table->count : 1;
}

struct cpumask *libcfs_cpt_processors(struct cfs_cpt_table *table, int cpt)
{
    if (!is_known(table, cpt))
        return NULL;
    if (table == NULL)
        return (struct cpumask *)(uintptr_t)cpu_online_mask;
    return cpt == CFS_CPT_ANY ? &table->processors : &table->partition[cpt].processors;
}

nodemask_t *cfs_cpt_nodemask(struct cfs_cpt_table *table, int cpt)
{
    if (!is_known(table, cpt))
        return NULL;
    if (table == NULL)
        return (nodemask_t *)(uintptr_t)&all_nodes;
    return cpt == CFS_CPT_ANY ? &table->nodes : &table->partition[cpt].nodes;
}

int cfs_cpt_weight(struct cfs_cpt_table *table, int cpt)
{
    const struct cpumask *set = libcfs_cpt_processors(table, cpt);

    return set != NULL ? (int)cpumask_weight(set) : 0;
}

int cfs_cpt_online(struct cfs_cpt_table *table, int cpt)
{
    const struct cpumask *set = libcfs_cpt_processors(table, cpt);

    return set != NULL && cpumask_intersects(set, cpu_online_mask);
}

int cfs_cpt_of_cpu(const struct cfs_cpt_table *table, int cpu)
{
    if (cpu < 0 || (unsigned)cpu >= nr_cpu_ids)
        return CFS_CPT_ANY;
    return table != NULL ? table->of_processor[cpu] : 0;
}

/* All processors are on node 0, so it is that of the first one. */
int cfs_cpt_of_node(const struct cfs_cpt_table *table, int node)
{
    return node == 0 ? cfs_cpt_of_cpu(table, 0) : CFS_CPT_ANY;
}

int cfs_cpt_spread_node(struct cfs_cpt_table *table, int cpt)
{
    const nodemask_t *nodes = cfs_cpt_nodemask(table, cpt);

    return nodes != NULL && node_isset(0, *nodes) ? 0 : NUMA_NO_NODE;
}

unsigned cfs_cpt_distance(struct cfs_cpt_table *table, int from, int to)
{
    return is_known(table, from) && is_known(table, to) ? LOCAL_DISTANCE : 0;
}

/* ---- changes --------------------------------------------------------------------------------- */

/* The processors of a partition and of the table have changed. */
static void recount(struct cfs_cpt_table *table, int cpt)
{
    struct partition *partition = &table->partition[cpt];

    partition->nodes.bits[0] = !cpumask_empty(&partition->processors);
    table->nodes.bits[0] = !cpumask_empty(&table->processors);
}

int cfs_cpt_set_cpu(struct cfs_cpt_table *table, int cpt, int cpu)
{
    if (cpu < 0 || (unsigned)cpu >= nr_cpu_ids || !is_partition(table, cpt))
        return 0;
    if (table == NULL)
        return 1; /* it has them all */
    if (table->of_processor[cpu] != -1)
        return 0;
    table->of_processor[cpu] = cpt;
    cpumask_set_cpu(cpu, &table->partition[cpt].processors);
    cpumask_set_cpu(cpu, &table->processors);
    recount(table, cpt);
    return 1;
}

void cfs_cpt_unset_cpu(struct cfs_cpt_table *table, int cpt, int cpu)
{
    int of = cfs_cpt_of_cpu(table, cpu);

    if (table == NULL || of < 0 || (cpt != CFS_CPT_ANY && cpt != of))
        return;
    table->of_processor[cpu] = -1;
    cpumask_clear_cpu(cpu, &table->partition[of].processors);
    cpumask_clear_cpu(cpu, &table->processors);
    recount(table, of);
}

int cfs_cpt_set_cpumask(struct cfs_cpt_table *table, int cpt, const struct cpumask *mask)
{
    int cpu;

    if (!cpumask_intersects(mask, cpu_online_mask))
        return 0;
    for_each_cpu(cpu, mask) if (!cfs_cpt_set_cpu(table, cpt, cpu)) return 0;
    return 1;
}

void cfs_cpt_unset_cpumask(struct cfs_cpt_table *table, int cpt, const struct cpumask *mask)
{
    int cpu;

    for_each_cpu(cpu, mask) cfs_cpt_unset_cpu(table, cpt, cpu);
}

int cfs_cpt_set_node(struct cfs_cpt_table *table, int cpt, int node)
{
    return node == 0 && cfs_cpt_set_cpumask(table, cpt, cpu_online_mask);
}

void cfs_cpt_unset_node(struct cfs_cpt_table *table, int cpt, int node)
{
    if (node == 0)
        cfs_cpt_unset_cpumask(table, cpt, cpu_online_mask);
}

int cfs_cpt_set_nodemask(struct cfs_cpt_table *table, int cpt, const nodemask_t *mask)
{
    return node_isset(0, *mask) ? cfs_cpt_set_node(table, cpt, 0) : 1;
}

void cfs_cpt_unset_nodemask(struct cfs_cpt_table *table, int cpt, const nodemask_t *mask)
{
    if (node_isset(0, *mask))
        cfs_cpt_unset_node(table, cpt, 0);
}

/* ---- threads --------------------------------------------------------------------------------- */

/* That of the first processor on which the thread may run. */
int cfs_cpt_current(struct cfs_cpt_table *table, int remap)
{
    unsigned cpu = cpumask_first(&current->cpus_mask);
    int cpt = cfs_cpt_of_cpu(table, cpu < nr_cpu_ids ? (int)cpu : 0);

    if (cpt >= 0 || !remap)
        return cpt;
    return (int)(cpu % (unsigned)cfs_cpt_number(table));
}

int cfs_cpt_bind(struct cfs_cpt_table *table, int cpt)
{
    if (!is_known(table, cpt) || !cfs_cpt_online(table, cpt))
        return -EINVAL;
    return table != NULL ? libcfs_task_confine(current, libcfs_cpt_processors(table, cpt)) : 0;
}

/* ---- texts ----------------------------------------------------------------------------------- */

/* Adds to a text. False: there is no room. */
static bool add(char *text, int size, int *length, const char *format, int number)
{
    int more = snprintf(text + *length, (size_t)(size - *length), format, number);

    *length += more;
    return *length < size;
}

int cfs_cpt_table_print(struct cfs_cpt_table *table, char *text, int size)
{
    int length = 0, cpt, cpu;

    for (cpt = 0; cpt < cfs_cpt_number(table); cpt++) {
        if (size <= 0 || !add(text, size, &length, "%d\t:", cpt))
            return -E2BIG;
        for_each_cpu(cpu, libcfs_cpt_processors(table, cpt)) if (!add(text, size, &length, " %d",
                                                                      cpu)) return -E2BIG;
        if (!add(text, size, &length, "%c", '\n'))
            return -E2BIG;
    }
    return length;
}

int cfs_cpt_distance_print(struct cfs_cpt_table *table, char *text, int size)
{
    int length = 0, from, to;

    for (from = 0; from < cfs_cpt_number(table); from++) {
        if (size <= 0 || !add(text, size, &length, "%d\t:", from))
            return -E2BIG;
        for (to = 0; to < cfs_cpt_number(table); to++)
            if (!add(text, size, &length, " %d:", to) ||
                !add(text, size, &length, "%d", (int)cfs_cpt_distance(table, from, to)))
                return -E2BIG;
        if (!add(text, size, &length, "%c", '\n'))
            return -E2BIG;
    }
    return length;
}

/* ---- objects of partitions ------------------------------------------------------------------- */

/* Before the objects; behind the last one is NULL. */
struct objects {
    struct cfs_cpt_table *table;
    void *object[];
};

static struct objects *objects_of(void *all)
{
    return container_of(all, struct objects, object[0]);
}

void *cfs_percpt_alloc(struct cfs_cpt_table *table, unsigned bytes)
{
    int count = cfs_cpt_number(table), i;
    struct objects *all =
        kzalloc(sizeof(*all) + ((size_t)count + 1) * sizeof(all->object[0]), GFP_NOFS);

    if (all == NULL)
        return NULL;
    all->table = table;
    for (i = 0; i < count; i++) {
        all->object[i] = kzalloc(bytes > 0 ? bytes : 1, GFP_NOFS);
        if (all->object[i] == NULL) {
            cfs_percpt_free(all->object);
            return NULL;
        }
    }
    return all->object;
}

void cfs_percpt_free(void *objects)
{
    struct objects *all = objects_of(objects);
    int i;

    for (i = 0; all->object[i] != NULL; i++)
        kfree(all->object[i]);
    kfree(all);
}

int libcfs_percpt_number(void *objects)
{
    return cfs_cpt_number(objects_of(objects)->table);
}

int libcfs_percpt_current(void *objects)
{
    return cfs_cpt_current(objects_of(objects)->table, 1);
}

/* ---- locks of partitions --------------------------------------------------------------------- */

struct cfs_percpt_lock *cfs_percpt_lock_alloc(struct cfs_cpt_table *table)
{
    struct cfs_percpt_lock *lock = kzalloc(sizeof(*lock), GFP_NOFS);

    if (lock == NULL)
        return NULL;
    lock->pcl_cptab = table;
    lock->pcl_locks = cfs_percpt_alloc(table, sizeof(*lock->pcl_locks[0]));
    if (lock->pcl_locks != NULL)
        return lock;
    kfree(lock);
    return NULL;
}

void cfs_percpt_lock_free(struct cfs_percpt_lock *lock)
{
    LASSERT(!lock->pcl_locked);
    cfs_percpt_free(lock->pcl_locks);
    kfree(lock);
}

/* The first one is locked first, so that two that want all of them do not wait for each other. */
void cfs_percpt_lock(struct cfs_percpt_lock *lock, int index)
{
    int count = cfs_percpt_lock_num(lock), i;

    LASSERT(index >= CFS_PERCPT_LOCK_EX && index < count);
    if (index != CFS_PERCPT_LOCK_EX) {
        spin_lock(lock->pcl_locks[index]);
        return;
    }
    for (i = 0; i < count; i++)
        spin_lock(lock->pcl_locks[i]);
    lock->pcl_locked = 1;
}

void cfs_percpt_unlock(struct cfs_percpt_lock *lock, int index)
{
    int i;

    LASSERT((index == CFS_PERCPT_LOCK_EX) == (lock->pcl_locked != 0));
    if (index != CFS_PERCPT_LOCK_EX) {
        spin_unlock(lock->pcl_locks[index]);
        return;
    }
    lock->pcl_locked = 0;
    for (i = cfs_percpt_lock_num(lock) - 1; i >= 0; i--)
        spin_unlock(lock->pcl_locks[i]);
}
