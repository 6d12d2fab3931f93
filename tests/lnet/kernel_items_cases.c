/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The cases of kernel_cases.h that are about libcfs's work items and partitions. */
#include "kernel_cases.h"

#include <libcfs/libcfs.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/uaccess.h>

#define EXPECT(condition)    \
    do {                     \
        if (!(condition))    \
            return __LINE__; \
    } while (0)

struct item {
    struct cfs_workitem work;
    struct cfs_wi_sched *sched;
    atomic_t runs;
    struct completion ran, may_end; /* of one run each */
    bool exits;
};

static int runs(struct cfs_workitem *work)
{
    struct item *item = work->wi_data;

    atomic_inc(&item->runs);
    wait_for_completion(&item->may_end);
    if (item->exits)
        cfs_wi_exit(item->sched, work);
    complete(&item->ran);
    return item->exits;
}

static void init_item(struct item *item, struct cfs_wi_sched *sched)
{
    item->sched = sched;
    init_completion(&item->ran);
    init_completion(&item->may_end);
    cfs_wi_init(&item->work, item, runs);
}

int lnet_99_work_items_run_as_they_are_scheduled(void)
{
    struct item item = {.exits = false}, busy = {.exits = false}, other = {.exits = true};
    struct cfs_wi_sched *sched;

    EXPECT(cfs_wi_sched_create("items", cfs_cpt_tab, CFS_CPT_ANY, 1, &sched) == 0);
    init_item(&item, sched);
    init_item(&busy, sched);
    init_item(&other, sched);
    cfs_wi_schedule(sched, &busy.work); /* the only thread runs this one meanwhile */
    while (atomic_read(&busy.runs) < 1)
        msleep(1);
    cfs_wi_schedule(sched, &item.work);
    cfs_wi_schedule(sched, &item.work); /* is it already */
    complete(&busy.may_end);
    complete(&item.may_end);
    wait_for_completion(&item.ran);
    msleep(2);
    EXPECT(atomic_read(&item.runs) == 1);
    cfs_wi_schedule(sched, &item.work);
    while (atomic_read(&item.runs) < 2)
        msleep(1);
    cfs_wi_schedule(sched, &item.work); /* while it runs: once more */
    complete(&item.may_end);
    complete(&item.may_end);
    wait_for_completion(&item.ran);
    wait_for_completion(&item.ran);
    EXPECT(atomic_read(&item.runs) == 3);
    /* The only thread is busy with the one, so the other one has not begun. */
    cfs_wi_schedule(sched, &item.work);
    while (atomic_read(&item.runs) < 4)
        msleep(1);
    cfs_wi_schedule(sched, &other.work);
    EXPECT(cfs_wi_deschedule(sched, &item.work) == 0);
    EXPECT(cfs_wi_deschedule(sched, &other.work) == 1);
    complete(&item.may_end);
    complete(&other.may_end);
    wait_for_completion(&item.ran);
    msleep(5);
    EXPECT(atomic_read(&other.runs) == 0 && atomic_read(&item.runs) == 4);
    cfs_wi_schedule(sched, &other.work);
    wait_for_completion(&other.ran);
    cfs_wi_schedule(sched, &other.work); /* it has ended */
    msleep(5);
    EXPECT(atomic_read(&other.runs) == 1);
    cfs_wi_sched_destroy(sched);
    return 0;
}

int lnet_99_objects_of_each_partition(void)
{
    int **counters = cfs_percpt_alloc(cfs_cpt_tab, sizeof(int)), *counter, i, count = 0;

    EXPECT(counters != NULL && cfs_percpt_number(counters) == cfs_cpt_number(cfs_cpt_tab));
    cfs_percpt_for_each(counter, i, counters)
    {
        EXPECT(*counter == 0);
        count++;
    }
    EXPECT(count == cfs_cpt_number(cfs_cpt_tab) && i == count);
    ++*counters[cfs_cpt_current(cfs_cpt_tab, 1)];
    cfs_percpt_free(counters);
    return 0;
}

static int __init begin(void)
{
    return 0;
}
static void __exit end(void)
{
}
MODULE_VERSION("1");
module_init(begin);
module_exit(end);

int lnet_99_a_module_with_users(void)
{
    u8 bytes[13] = {0}, zero[13] = {0};
    int __user value = 3, copy = 0;
    unsigned i, below = 0, last = cfs_rand();

    EXPECT(try_module_get(THIS_MODULE) && access_ok(&value, sizeof(value)));
    EXPECT(copy_from_user(&copy, &value, sizeof(value)) == 0 && copy == 3);
    EXPECT(put_user(5, &value) == 0 && get_user(copy, &value) == 0 && copy == 5);
    get_random_bytes(bytes, sizeof(bytes));
    EXPECT(memcmp(bytes, zero, sizeof(bytes)) != 0);
    for (i = 0; i < 100; i++) {
        unsigned next = cfs_rand();

        below += prandom_u32_max(10) < 10 && next != last;
        last = next;
    }
    EXPECT(below == 100);
    module_put(THIS_MODULE);
    return 0;
}
