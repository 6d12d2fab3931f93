/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * libcfs's partitions of processors, and its work items, which threads of a scheduler run. Items
 * may be scheduled from everywhere, also from callbacks of LNet's event queues.
 */
#ifndef JACQUARD_LIBCFS_KERNEL_CPT_H
#define JACQUARD_LIBCFS_KERNEL_CPT_H

#include <stdlib.h>

#include "libcfs/kernel/task.h"

/* ---- partitions ------------------------------------------------------------------------------ */

struct cfs_cpt_table;
#define CFS_CPT_ANY (-1)
/* The default table: one partition with all processors, as all functions take NULL. */
#define cfs_cpt_tab ((struct cfs_cpt_table *)NULL)
#define lnet_cpt_table() cfs_cpt_tab
#define lnet_cpt_of_nid(nid, ni) ((void)(nid), 0)

#pragma GCC visibility push(default)
int cfs_cpt_number(const struct cfs_cpt_table *table);
/* The partition on whose processors the thread runs; -1: none, or, with `remap`, some partition. */
int cfs_cpt_current(struct cfs_cpt_table *table, int remap);
/* `cpt` may be CFS_CPT_ANY: all partitions. How many processors; whether one of them is online. */
int cfs_cpt_weight(struct cfs_cpt_table *table, int cpt);
int cfs_cpt_online(struct cfs_cpt_table *table, int cpt);
/* From now on the calling thread runs there only. -EINVAL: no processor of it is online. */
int cfs_cpt_bind(struct cfs_cpt_table *table, int cpt);
int cfs_cpt_of_cpu(const struct cfs_cpt_table *table, int cpu); /* -1: none */
int cfs_cpt_spread_node(struct cfs_cpt_table *table, int cpt); /* a NUMA node of it; -1: none */

/* A zeroed object for each partition, and NULL behind the last one; NULL: no memory. */
void *cfs_percpt_alloc(struct cfs_cpt_table *table, unsigned bytes);
void cfs_percpt_free(void *objects);
int libcfs_percpt_number(void *objects);
int libcfs_percpt_current(void *objects);
#pragma GCC visibility pop
#define cfs_percpt_number(objects) libcfs_percpt_number(objects)
#define cfs_percpt_current(objects) ((objects)[libcfs_percpt_current(objects)])
#define cfs_percpt_for_each(object, i, objects) \
    for ((i) = 0; ((object) = (objects)[i]) != NULL; (i)++)
#define LIBCFS_CPT_ALLOC_GFP(ptr, table, cpt, size, flags) \
    ((void)(table), (void)(cpt), (void)(flags), (ptr) = calloc(1, size))
#define cfs_page_cpt_alloc(table, cpt, flags) ((void)(table), (void)(cpt), alloc_page(flags))
#define LIBCFS_CPT_ALLOC(ptr, table, cpt, size) LIBCFS_CPT_ALLOC_GFP(ptr, table, cpt, size, 0)

/* ---- work items ------------------------------------------------------------------------------ */

struct cfs_wi_sched;
struct cfs_workitem;
/* Not 0: cfs_wi_exit() was called, and the item may be gone. */
typedef int (*cfs_wi_action_t)(struct cfs_workitem *item);
struct cfs_workitem {
    struct list_head wi_list;
    cfs_wi_action_t wi_action;
    void *wi_data;
    unsigned short wi_running, wi_scheduled;
};
static inline void cfs_wi_init(struct cfs_workitem *item, void *data, cfs_wi_action_t action)
{
    *item = (struct cfs_workitem){.wi_action = action, .wi_data = data};
    INIT_LIST_HEAD(&item->wi_list);
}

#pragma GCC visibility push(default)
/* So many threads run what is scheduled. 0 or a negative errno. */
int cfs_wi_sched_create(const char *name, struct cfs_cpt_table *table, int cpt, int threads,
                        struct cfs_wi_sched **sched);
void cfs_wi_sched_destroy(struct cfs_wi_sched *sched); /* nothing is scheduled any more */
/* Runs it once; if it runs now, once again afterwards. */
void cfs_wi_schedule(struct cfs_wi_sched *sched, struct cfs_workitem *item);
/* 1: it does not run, and is not scheduled now; 0: it runs. */
int cfs_wi_deschedule(struct cfs_wi_sched *sched, struct cfs_workitem *item);
/* In its action: it is not scheduled again. */
void cfs_wi_exit(struct cfs_wi_sched *sched, struct cfs_workitem *item);
#pragma GCC visibility pop
static inline int cfs_wi_startup(void)
{
    return 0;
}
static inline void cfs_wi_shutdown(void)
{
}

#endif
