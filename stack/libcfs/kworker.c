/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Parking of threads, and workers that are one thread of the user's. */
#include "kernel.h"

/* ---- parking --------------------------------------------------------------------------------- */

static bool flag(const int *place)
{
    return __atomic_load_n(place, __ATOMIC_SEQ_CST) != 0;
}

bool libcfs_kthread_should_park(void)
{
    return flag(&current->own->should_park);
}

void libcfs_kthread_parkme(void)
{
    struct libcfs_task *task = current->own;

    while (flag(&task->should_park)) {
        set_current_state(TASK_PARKED);
        __atomic_store_n(&task->parked, true, __ATOMIC_SEQ_CST);
        wake_up_all(&task->kernel->parking);
        if (flag(&task->should_park))
            libcfs_schedule(UINT64_MAX);
    }
    __set_current_state(TASK_RUNNING);
    __atomic_store_n(&task->parked, false, __ATOMIC_SEQ_CST);
}

int libcfs_kthread_park(struct task_struct *parked)
{
    struct libcfs_task *task = parked->own;

    if (flag(&task->over))
        return -ENOSYS;
    if (__atomic_exchange_n(&task->should_park, true, __ATOMIC_SEQ_CST))
        return -EBUSY;
    if (task == current->own)
        return 0; /* it goes to kthread_parkme() itself */
    (void)libcfs_wake_task(parked, ~0L);
    wait_event(task->kernel->parking, flag(&task->parked) || flag(&task->over));
    return flag(&task->parked) ? 0 : -ENOSYS;
}

void libcfs_kthread_unpark(struct task_struct *parked)
{
    struct libcfs_task *task = parked->own;

    if (__atomic_exchange_n(&task->should_park, false, __ATOMIC_SEQ_CST))
        (void)libcfs_wake_task(parked, TASK_PARKED);
}

void *libcfs_kthread_data(struct task_struct *task)
{
    return task->own->data;
}

/* ---- workers --------------------------------------------------------------------------------- */

void libcfs_kthread_worker_init(struct kthread_worker *worker)
{
    *worker = (struct kthread_worker){.task = NULL};
    INIT_LIST_HEAD(&worker->work_list);
    init_waitqueue_head(&worker->ended);
}

int libcfs_kthread_worker_main(void *data)
{
    struct kthread_worker *worker = data;
    struct kthread_work *work;
    kthread_work_func_t run;

    worker->task = current;
    for (;;) {
        set_current_state(TASK_INTERRUPTIBLE); /* what is queued from here on wakes it */
        if (kthread_should_stop()) {
            __set_current_state(TASK_RUNNING);
            return 0;
        }
        spin_lock(&worker->lock);
        work = list_first_entry_or_null(&worker->work_list, struct kthread_work, node);
        run = work != NULL ? work->func : NULL;
        worker->current_work = work;
        if (work != NULL)
            list_del_init(&work->node);
        spin_unlock(&worker->lock);
        if (work == NULL) {
            libcfs_schedule(UINT64_MAX);
            continue;
        }
        __set_current_state(TASK_RUNNING);
        run(work); /* and the work may be gone */
        spin_lock(&worker->lock);
        worker->current_work = NULL;
        spin_unlock(&worker->lock);
        wake_up_all(&worker->ended);
    }
}

/* pre: the lock. Behind `place`. */
static void insert(struct kthread_worker *worker, struct kthread_work *work,
                   struct list_head *place)
{
    assert_held(&worker->lock);
    list_add(&work->node, place);
    work->worker = worker;
    if (worker->task != NULL)
        (void)libcfs_wake_task(worker->task, TASK_NORMAL);
}

bool libcfs_kthread_queue(struct kthread_worker *worker, struct kthread_work *work)
{
    bool may;

    spin_lock(&worker->lock);
    may = list_empty(&work->node) && work->canceling == 0;
    if (may)
        insert(worker, work, worker->work_list.prev);
    spin_unlock(&worker->lock);
    return may;
}

void libcfs_kthread_delayed_due(struct timer_list *timer)
{
    struct kthread_delayed_work *work = container_of(timer, struct kthread_delayed_work, timer);

    (void)libcfs_kthread_queue(work->work.worker, &work->work);
}

bool libcfs_kthread_queue_delayed(struct kthread_worker *worker, struct kthread_delayed_work *work,
                                  unsigned long delay, bool again)
{
    bool pending, may;

    spin_lock(&worker->lock);
    pending = timer_pending(&work->timer) || !list_empty(&work->work.node);
    may = work->work.canceling == 0 && (again || !pending);
    if (may) {
        list_del_init(&work->work.node);
        work->work.worker = worker;
    }
    spin_unlock(&worker->lock);
    if (may && delay > 0)
        (void)libcfs_mod_timer(&work->timer, jiffies + delay);
    if (may && delay == 0) {
        (void)libcfs_del_timer(&work->timer, false);
        (void)libcfs_kthread_queue(worker, &work->work);
    }
    return again ? pending : may;
}

bool libcfs_kthread_cancel(struct kthread_work *work, struct timer_list *timer)
{
    struct kthread_worker *worker = work->worker;
    bool pending = false;

    if (worker == NULL)
        return false;
    spin_lock(&worker->lock);
    work->canceling++;
    spin_unlock(&worker->lock);
    if (timer != NULL)
        pending = libcfs_del_timer(timer, true);
    spin_lock(&worker->lock);
    pending = pending || !list_empty(&work->node);
    list_del_init(&work->node);
    spin_unlock(&worker->lock);
    if (worker->task != current)
        libcfs_wait_until_over(&worker->lock, &worker->current_work, work, &worker->ended);
    spin_lock(&worker->lock);
    work->canceling--;
    spin_unlock(&worker->lock);
    return pending;
}

/* A work of who waits, right behind another one. */
struct flush {
    struct kthread_work work;
    struct completion done;
};

static void flush_reached(struct kthread_work *work)
{
    complete(&container_of(work, struct flush, work)->done);
}

static void flush_begin(struct flush *flush)
{
    kthread_init_work(&flush->work, flush_reached);
    init_completion(&flush->done);
}

void libcfs_kthread_flush_work(struct kthread_work *work)
{
    struct kthread_worker *worker = work->worker;
    struct flush flush;
    bool must = true;

    if (worker == NULL)
        return;
    flush_begin(&flush);
    spin_lock(&worker->lock);
    if (!list_empty(&work->node))
        insert(worker, &flush.work, &work->node);
    else if (worker->current_work == work)
        insert(worker, &flush.work, &worker->work_list);
    else
        must = false;
    spin_unlock(&worker->lock);
    if (must)
        wait_for_completion(&flush.done);
}

void libcfs_kthread_flush(struct kthread_worker *worker)
{
    struct flush flush;

    flush_begin(&flush);
    (void)libcfs_kthread_queue(worker, &flush.work);
    wait_for_completion(&flush.done);
}

void libcfs_kthread_worker_destroy(struct kthread_worker *worker)
{
    if (WARN_ON(worker->task == NULL))
        return;
    libcfs_kthread_flush(worker);
    (void)libcfs_kthread_stop(worker->task);
    WARN_ON(!list_empty(&worker->work_list));
    kfree(worker);
}
