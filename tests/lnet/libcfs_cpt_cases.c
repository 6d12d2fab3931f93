/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The cases of libcfs_cases.h that are about tables of partitions, and about the date. */
#include "libcfs_cases.h"

#include <libcfs/libcfs.h>
#include <libcfs/libcfs_cpu.h>

#define EXPECT(condition)    \
    do {                     \
        if (!(condition))    \
            return __LINE__; \
    } while (0)

/* Two partitions: processor 0 in the first one, the others in the second. */
int lnet_99_tables_of_partitions(void)
{
    struct cfs_cpt_table *table = cfs_cpt_table_alloc(2);
    struct cpumask others = *cpu_online_mask;
    struct cfs_percpt_lock *lock;
    int **counters, *counter, i, count = 0, processors = (int)num_online_cpus();
    char text[8192], first[16];

    EXPECT(cfs_cpt_table_alloc(0) == NULL && table != NULL && cfs_cpt_number(table) == 2);
    EXPECT(cfs_cpt_weight(table, CFS_CPT_ANY) == 0 && !cfs_cpt_online(table, 0));
    EXPECT(cfs_cpt_bind(table, 0) == -EINVAL && cfs_cpt_of_cpu(table, 0) == -1);
    EXPECT(cfs_cpt_spread_node(table, 1) == NUMA_NO_NODE && cfs_cpt_of_node(table, 0) == -1);
    EXPECT(cfs_cpt_set_cpu(table, 0, 0) == 1 && cfs_cpt_set_cpu(table, 1, 0) == 0);
    EXPECT(cfs_cpt_set_cpu(table, 2, 1) == 0 && cfs_cpt_set_cpu(table, 0, processors) == 0);
    cpumask_clear_cpu(0, &others);
    EXPECT(cfs_cpt_set_cpumask(table, 1, &others) == (processors > 1));
    EXPECT(cfs_cpt_weight(table, 0) == 1 && cfs_cpt_weight(table, 1) == processors - 1);
    EXPECT(cfs_cpt_weight(table, CFS_CPT_ANY) == processors && cfs_cpt_weight(table, 2) == 0);
    EXPECT(cfs_cpt_of_cpu(table, processors - 1) == (processors > 1));
    EXPECT(cfs_cpt_of_cpu(table, -1) == -1 && cfs_cpt_of_node(table, 0) == 0);
    EXPECT(cfs_cpt_set_node(table, 1, 0) == 0); /* processor 0 is taken */
    EXPECT(node_isset(0, *cfs_cpt_nodemask(table, 0)) && cfs_cpt_spread_node(table, 0) == 0);
    EXPECT(cfs_cpt_distance(table, 0, 1) == LOCAL_DISTANCE && cfs_cpt_distance(table, 0, 2) == 0);
    EXPECT(cfs_cpt_table_print(table, text, sizeof(text)) > 0);
    snprintf(first, sizeof(first), "0\t: 0\n1\t:");
    EXPECT(strncmp(text, first, strlen(first)) == 0 && text[strlen(text) - 1] == '\n');
    EXPECT(cfs_cpt_table_print(table, text, 8) == -E2BIG);
    EXPECT(cfs_cpt_distance_print(table, text, sizeof(text)) == 28 &&
           strcmp(text, "0\t: 0:10 1:10\n1\t: 0:10 1:10\n") == 0);
    EXPECT(cfs_cpt_current(table, 0) == 0);

    counters = cfs_percpt_alloc(table, sizeof(int));
    EXPECT(counters != NULL && cfs_percpt_number(counters) == 2);
    cfs_percpt_for_each(counter, i, counters) count += 1 + *counter;
    EXPECT(count == 2 && cfs_percpt_current(counters) == counters[0]);
    cfs_percpt_free(counters);
    lock = cfs_percpt_lock_alloc(table);
    EXPECT(lock != NULL && cfs_percpt_lock_num(lock) == 2);
    cfs_percpt_lock(lock, 1);
    EXPECT(!lock->pcl_locked && !spin_is_locked(lock->pcl_locks[0]) &&
           spin_is_locked(lock->pcl_locks[1]));
    cfs_percpt_unlock(lock, 1);
    cfs_percpt_lock(lock, CFS_PERCPT_LOCK_EX);
    EXPECT(spin_is_locked(lock->pcl_locks[0]) && spin_is_locked(lock->pcl_locks[1]));
    cfs_percpt_unlock(lock, CFS_PERCPT_LOCK_EX);
    cfs_percpt_lock_free(lock);

    cfs_cpt_unset_cpu(table, 1, 0); /* it is in another one */
    EXPECT(cfs_cpt_weight(table, 0) == 1);
    cfs_cpt_unset_cpu(table, CFS_CPT_ANY, 0);
    EXPECT(cfs_cpt_weight(table, 0) == 0 && cfs_cpt_current(table, 0) == -1);
    EXPECT(cfs_cpt_current(table, 1) == 0 && cfs_cpt_spread_node(table, 0) == NUMA_NO_NODE);
    cfs_cpt_unset_node(table, 1, 0);
    EXPECT(cfs_cpt_weight(table, CFS_CPT_ANY) == 0 && cfs_cpt_set_node(table, 1, 0) == 1);
    EXPECT(cfs_cpt_weight(table, 1) == processors);
    EXPECT(cfs_cpt_bind(table, 1) == 0 && cfs_cpt_current(table, 0) == 1);
    cfs_cpt_table_free(table);
    return 0;
}

int lnet_99_the_date(void)
{
    struct timespec64 now;
    ktime_t begin = ktime_get_real();

    ktime_get_real_ts64(&now);
    EXPECT(now.tv_sec >= 1546300800 && ktime_get_real_seconds() >= now.tv_sec);
    msleep(20);
    EXPECT(ktime_ms_delta(ktime_get_real(), begin) >= 19);
    return 0;
}
