/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Work items and their schedulers. */
#include "kernel.h"

struct cfs_wi_sched {
    spinlock_t lock;
    struct list_head ready, again; /* again: those that run, and shall run once more */
    wait_queue_head_t wait;
    int thread_count;
    char name[TASK_COMM_LEN];
    struct task_struct *threads[];
};

void cfs_wi_schedule(struct cfs_wi_sched *sched, struct cfs_workitem *item)
{
    spin_lock(&sched->lock);
    if (!item->wi_scheduled) {
        item->wi_scheduled = 1;
        list_add_tail(&item->wi_list, item->wi_running ? &sched->again : &sched->ready);
    }
    spin_unlock(&sched->lock);
    wake_up(&sched->wait);
}

int cfs_wi_deschedule(struct cfs_wi_sched *sched, struct cfs_workitem *item)
{
    int idle;

    spin_lock(&sched->lock);
    idle = !item->wi_running;
    if (item->wi_scheduled) {
        list_del_init(&item->wi_list);
        item->wi_scheduled = 0;
    }
    spin_unlock(&sched->lock);
    return idle;
}

void cfs_wi_exit(struct cfs_wi_sched *sched, struct cfs_workitem *item)
{
    spin_lock(&sched->lock);
    if (item->wi_scheduled)
        list_del_init(&item->wi_list);
    item->wi_scheduled = 1; /* cfs_wi_schedule() does not add it */
    spin_unlock(&sched->lock);
}

static struct cfs_workitem *take(struct cfs_wi_sched *sched)
{
    struct cfs_workitem *item;

    spin_lock(&sched->lock);
    item = list_first_entry_or_null(&sched->ready, struct cfs_workitem, wi_list);
    if (item != NULL) {
        assert(!item->wi_running && item->wi_scheduled);
        list_del_init(&item->wi_list);
        item->wi_running = 1;
        item->wi_scheduled = 0;
    }
    spin_unlock(&sched->lock);
    return item;
}

static void put_back(struct cfs_wi_sched *sched, struct cfs_workitem *item)
{
    bool ready;

    spin_lock(&sched->lock);
    assert(item->wi_running);
    item->wi_running = 0;
    ready = item->wi_scheduled;
    if (ready)
        list_move_tail(&item->wi_list, &sched->ready);
    spin_unlock(&sched->lock);
    if (ready)
        wake_up(&sched->wait);
}

static int sched_main(void *data)
{
    struct cfs_wi_sched *sched = data;
    struct cfs_workitem *item = NULL;

    for (;;) {
        wait_event_idle_exclusive(sched->wait,
                                  (item = take(sched)) != NULL || kthread_should_stop());
        if (item == NULL)
            return 0;
        if (item->wi_action(item) == 0)
            put_back(sched, item);
    }
}

int cfs_wi_sched_create(const char *name, struct cfs_cpt_table *table, int cpt, int threads,
                        struct cfs_wi_sched **result)
{
    struct cfs_wi_sched *sched =
        kzalloc(sizeof(*sched) + (size_t)threads * sizeof(struct task_struct *), GFP_KERNEL);
    struct task_struct *task;

    (void)table, (void)cpt;
    if (sched == NULL)
        return -ENOMEM;
    spin_lock_init(&sched->lock);
    INIT_LIST_HEAD(&sched->ready);
    INIT_LIST_HEAD(&sched->again);
    init_waitqueue_head(&sched->wait);
    snprintf(sched->name, sizeof(sched->name), "%s", name);
    for (; sched->thread_count < threads; sched->thread_count++) {
        task = kthread_run(sched_main, sched, "%s_%d", sched->name, sched->thread_count);
        if (IS_ERR(task)) {
            cfs_wi_sched_destroy(sched);
            return (int)PTR_ERR(task);
        }
        sched->threads[sched->thread_count] = task;
    }
    *result = sched;
    return 0;
}

void cfs_wi_sched_destroy(struct cfs_wi_sched *sched)
{
    while (sched->thread_count > 0)
        (void)kthread_stop(sched->threads[--sched->thread_count]);
    assert(list_empty(&sched->ready) && list_empty(&sched->again));
    kfree(sched);
}
