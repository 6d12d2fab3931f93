/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Work queues. */
#include "kernel.h"

#include <stdarg.h>

/* ---- works ----------------------------------------------------------------------------------- */

static struct libcfs_kernel *kernel_of(struct work_struct *work)
{
    struct libcfs_kernel *kernel = __atomic_load_n(&work->kernel, __ATOMIC_ACQUIRE);

    if (kernel == NULL) {
        kernel = libcfs_kernel();
        libcfs_daemon_start(kernel);
        __atomic_store_n(&work->kernel, kernel, __ATOMIC_RELEASE);
    }
    return kernel;
}

void libcfs_work_setup(struct work_struct *work, work_func_t run)
{
    *work = (struct work_struct){.func = run};
    INIT_LIST_HEAD(&work->entry);
    (void)kernel_of(work);
}

void libcfs_delayed_work_setup(struct delayed_work *work, work_func_t run)
{
    libcfs_work_setup(&work->work, run);
    libcfs_timer_setup(&work->timer, libcfs_delayed_work_due);
}

/* Whether the caller is the one that makes it pending. */
static bool claim(struct work_struct *work)
{
    return __atomic_load_n(&work->cancelling, __ATOMIC_ACQUIRE) == 0 &&
           __atomic_exchange_n(&work->pending, 1, __ATOMIC_ACQ_REL) == 0;
}

static void unclaim(struct work_struct *work)
{
    __atomic_store_n(&work->pending, 0, __ATOMIC_RELEASE);
}

static void need_worker(struct workqueue_struct *queue)
{
    struct libcfs_kernel *kernel = queue->kernel;

    spin_lock(&kernel->timer_lock);
    if (list_empty(&queue->on_hungry))
        list_add_tail(&queue->on_hungry, &kernel->hungry);
    spin_unlock(&kernel->timer_lock);
    libcfs_daemon_wake(kernel);
}

/* An idle worker takes the work. */
static bool wake_idle(struct workqueue_struct *queue)
{
    struct libcfs_worker *worker;

    assert_held(&queue->lock);
    list_for_each_entry (worker, &queue->workers, on_queue)
        if (worker->idle) {
            assert(queue->idle_count > 0);
            worker->idle = false;
            queue->idle_count--;
            libcfs_wake_task(worker->task, TASK_NORMAL);
            return true;
        }
    return false;
}

static void insert(struct workqueue_struct *queue, struct work_struct *work)
{
    bool hungry;

    assert(__atomic_load_n(&work->pending, __ATOMIC_RELAXED) == 1); /* the caller's claim */
    spin_lock(&queue->lock);
    work->queue = queue;
    work->number = queue->next_number++;
    list_add_tail(&work->entry, &queue->works);
    hungry = !wake_idle(queue) && queue->worker_count < queue->limit;
    spin_unlock(&queue->lock);
    if (hungry)
        need_worker(queue);
}

static struct workqueue_struct *queue_or_own(struct workqueue_struct *queue,
                                             struct work_struct *work)
{
    return queue != NULL ? queue : &kernel_of(work)->works;
}

bool libcfs_queue_work(struct workqueue_struct *queue, struct work_struct *work)
{
    if (!claim(work))
        return false;
    insert(queue_or_own(queue, work), work);
    return true;
}

void libcfs_delayed_work_due(struct timer_list *timer)
{
    struct delayed_work *work = container_of(timer, struct delayed_work, timer);

    insert(work->work.queue, &work->work);
}

/* Takes a pending work back: from its timer, or from its queue. Whether it was there. */
static bool take_back(struct work_struct *work, struct timer_list *timer)
{
    struct workqueue_struct *queue = work->queue;
    bool taken = timer != NULL && libcfs_del_timer(timer, false);

    if (!taken && queue != NULL) {
        spin_lock(&queue->lock);
        taken = work->queue == queue && work->entry.next != NULL && !list_empty(&work->entry);
        if (taken)
            list_del_init(&work->entry);
        spin_unlock(&queue->lock);
    }
    if (taken)
        unclaim(work);
    return taken;
}

bool libcfs_queue_delayed_work(struct workqueue_struct *queue, struct delayed_work *work,
                               unsigned long delay, bool again)
{
    bool was_pending = again && take_back(&work->work, &work->timer);

    if (!claim(&work->work))
        return again ? was_pending : false;
    queue = queue_or_own(queue, &work->work);
    if (delay == 0) {
        insert(queue, &work->work);
    } else {
        work->work.queue = queue;
        (void)libcfs_mod_timer(&work->timer, jiffies + delay);
    }
    return again ? was_pending : true;
}

/* ---- waiting for works ----------------------------------------------------------------------- */

/* Whether a work with a lower number is queued or runs; of `only`, unless NULL. */
static bool is_busy(struct workqueue_struct *queue, const struct work_struct *only, uint64_t below)
{
    const struct libcfs_worker *worker;
    const struct work_struct *work;
    bool busy = false;

    spin_lock(&queue->lock);
    list_for_each_entry (work, &queue->works, entry)
        busy = busy || (work->number < below && (only == NULL || only == work));
    list_for_each_entry (worker, &queue->workers, on_queue)
        busy = busy || (worker->work != NULL && worker->number < below &&
                        (only == NULL || only == worker->work));
    spin_unlock(&queue->lock);
    return busy;
}

static uint64_t next_number(struct workqueue_struct *queue)
{
    uint64_t number;

    spin_lock(&queue->lock);
    number = queue->next_number;
    spin_unlock(&queue->lock);
    return number;
}

bool libcfs_flush_work(struct work_struct *work, struct timer_list *timer)
{
    struct workqueue_struct *queue = work->queue;
    uint64_t below;

    if (queue == NULL)
        return false;
    if (timer != NULL && libcfs_del_timer(timer, false))
        insert(queue, work);
    below = next_number(queue);
    if (!is_busy(queue, work, below))
        return false;
    wait_event(queue->ended, !is_busy(queue, work, below));
    return true;
}

bool libcfs_cancel_work(struct work_struct *work, struct timer_list *timer, bool sync)
{
    struct workqueue_struct *queue = work->queue;
    bool was_pending;

    if (queue == NULL)
        return false;
    if (!sync)
        return take_back(work, timer);
    __atomic_add_fetch(&work->cancelling, 1, __ATOMIC_ACQ_REL);
    was_pending = take_back(work, timer);
    if (timer != NULL) /* its function may be about to queue the work */
        (void)libcfs_del_timer(timer, true);
    was_pending = take_back(work, NULL) || was_pending;
    wait_event(queue->ended, !is_busy(queue, work, UINT64_MAX));
    __atomic_sub_fetch(&work->cancelling, 1, __ATOMIC_ACQ_REL);
    return was_pending;
}

unsigned libcfs_work_busy(struct work_struct *work)
{
    struct workqueue_struct *queue = work->queue;
    const struct libcfs_worker *worker;
    unsigned busy = work_pending(work) ? WORK_BUSY_PENDING : 0;

    if (queue == NULL)
        return busy;
    spin_lock(&queue->lock);
    list_for_each_entry (worker, &queue->workers, on_queue)
        busy |= worker->work == work ? WORK_BUSY_RUNNING : 0;
    spin_unlock(&queue->lock);
    return busy;
}

/* ---- workers --------------------------------------------------------------------------------- */

/* The next work, or NULL: the queue is being destroyed. Releases the lock meanwhile. */
static struct work_struct *next_work(struct libcfs_worker *worker)
{
    struct workqueue_struct *queue = worker->queue;
    struct work_struct *work;

    assert_held(&queue->lock);
    assert(worker->work == NULL);
    while (list_empty(&queue->works) && !queue->stopping) {
        worker->idle = true;
        queue->idle_count++;
        set_current_state(TASK_UNINTERRUPTIBLE);
        spin_unlock(&queue->lock);
        libcfs_schedule(UINT64_MAX);
        spin_lock(&queue->lock);
        if (worker->idle) {
            worker->idle = false;
            queue->idle_count--;
        }
    }
    if (list_empty(&queue->works))
        return NULL;
    work = list_first_entry(&queue->works, struct work_struct, entry);
    list_del_init(&work->entry);
    worker->work = work;
    worker->number = work->number;
    unclaim(work);
    /* The next one shall not wait for this one. */
    if (!list_empty(&queue->works) && queue->idle_count == 0 && queue->worker_count < queue->limit)
        need_worker(queue);
    return work;
}

static int worker_main(void *data)
{
    struct libcfs_worker *worker = data;
    struct workqueue_struct *queue = worker->queue;
    struct work_struct *work;

    current->own->worker = worker;
    spin_lock(&queue->lock);
    while ((work = next_work(worker)) != NULL) {
        work_func_t run = work->func;

        spin_unlock(&queue->lock);
        run(work); /* and the work may be gone */
        spin_lock(&queue->lock);
        worker->work = NULL;
        libcfs_wake_up(&queue->ended, TASK_NORMAL, 0, false);
    }
    spin_unlock(&queue->lock);
    return 0;
}

void libcfs_worker_start(struct workqueue_struct *queue)
{
    struct libcfs_worker *worker = libcfs_block_alloc(queue->kernel);
    struct task_struct *task;
    bool needed;

    if (worker == NULL)
        return; /* those that there are have to do it */
    memset(worker, 0, sizeof(*worker));
    worker->queue = queue;
    task = libcfs_kthread_create(worker_main, worker, "%s", queue->name);
    worker->task = task;
    spin_lock(&queue->lock);
    needed = !IS_ERR(task) && !list_empty(&queue->works) && queue->idle_count == 0 &&
             queue->worker_count < queue->limit && !queue->stopping;
    if (needed) {
        queue->worker_count++;
        assert(queue->worker_count <= queue->limit);
        list_add_tail(&worker->on_queue, &queue->workers);
    }
    spin_unlock(&queue->lock);
    if (needed) {
        libcfs_wake_task(task, TASK_NORMAL);
        return;
    }
    if (!IS_ERR(task))
        (void)libcfs_kthread_stop(task);
    libcfs_block_free(queue->kernel, worker);
}

struct work_struct *libcfs_current_work(void)
{
    const struct libcfs_worker *worker = current->own->worker;

    return worker != NULL ? worker->work : NULL;
}

/* ---- queues ---------------------------------------------------------------------------------- */

void libcfs_workqueue_setup(struct workqueue_struct *queue, struct libcfs_kernel *kernel,
                            unsigned limit)
{
    *queue = (struct workqueue_struct){.kernel = kernel, .limit = limit};
    INIT_LIST_HEAD(&queue->works);
    INIT_LIST_HEAD(&queue->workers);
    INIT_LIST_HEAD(&queue->on_hungry);
    init_waitqueue_head(&queue->ended);
}

struct workqueue_struct *libcfs_workqueue_create(unsigned limit, const char *format, ...)
{
    struct libcfs_kernel *kernel = libcfs_kernel();
    struct workqueue_struct *queue = libcfs_block_alloc(kernel);
    va_list arguments;

    if (queue == NULL)
        return NULL;
    libcfs_daemon_start(kernel);
    limit = limit == 0 ? LIBCFS_WORKERS_DEFAULT : min(limit, (unsigned)LIBCFS_WORKERS_MAX);
    libcfs_workqueue_setup(queue, kernel, limit);
    va_start(arguments, format);
    vsnprintf(queue->name, sizeof(queue->name), format, arguments);
    va_end(arguments);
    return queue;
}

/* Threads that there are stay. */
void libcfs_workqueue_limit(struct workqueue_struct *queue, unsigned limit)
{
    if (queue == NULL)
        return;
    spin_lock(&queue->lock);
    queue->limit = clamp(limit, max(queue->worker_count, 1u), (unsigned)LIBCFS_WORKERS_MAX);
    spin_unlock(&queue->lock);
}

void libcfs_workqueue_flush(struct workqueue_struct *queue)
{
    uint64_t below;

    if (queue == NULL)
        queue = &libcfs_kernel()->works;
    below = next_number(queue);
    wait_event(queue->ended, !is_busy(queue, NULL, below));
}

static bool is_starting(struct workqueue_struct *queue)
{
    struct libcfs_kernel *kernel = queue->kernel;
    bool starting;

    spin_lock(&kernel->timer_lock);
    list_del_init(&queue->on_hungry);
    starting = kernel->starting == queue;
    spin_unlock(&kernel->timer_lock);
    return starting;
}

/* All works are done first, also those that they queue. */
void libcfs_workqueue_destroy(struct workqueue_struct *queue)
{
    struct libcfs_kernel *kernel = queue->kernel;
    struct libcfs_worker *worker, *next;

    wait_event(queue->ended, !is_busy(queue, NULL, UINT64_MAX));
    wait_event(kernel->timer_ended, !is_starting(queue));
    spin_lock(&queue->lock);
    queue->stopping = true;
    spin_unlock(&queue->lock);
    list_for_each_entry_safe (worker, next, &queue->workers, on_queue) {
        (void)libcfs_kthread_stop(worker->task);
        assert(worker->work == NULL);
        libcfs_block_free(kernel, worker);
    }
    assert(list_empty(&queue->works));
    libcfs_block_free(kernel, queue);
}
