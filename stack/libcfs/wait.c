/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Wait queues and completions. */
#include "kernel.h"

int libcfs_default_wake(struct wait_queue_entry *entry, unsigned mode, int flags, void *key)
{
    (void)flags, (void)key;
    return libcfs_wake_task(entry->private, (long)mode);
}

int libcfs_autoremove_wake(struct wait_queue_entry *entry, unsigned mode, int flags, void *key)
{
    struct task_struct *task = entry->private;

    (void)flags, (void)key;
    assert(!list_empty(&entry->entry));
    if ((__atomic_load_n(&task->state, __ATOMIC_SEQ_CST) & (long)mode) == 0)
        return 0;
    /* The entry is on the stack of the task, which may go on as soon as it is woken. It is out of
     * the queue before that. */
    list_del_init(&entry->entry);
    return libcfs_wake_task(task, (long)mode);
}

static bool is_at(spinlock_t *lock, const void *running, const void *item)
{
    const void *present;

    spin_lock(lock);
    memcpy(&present, running, sizeof(present)); /* a pointer to whatever runs */
    spin_unlock(lock);
    return present == item;
}

void libcfs_wait_until_over(spinlock_t *lock, const void *running, const void *item,
                            wait_queue_head_t *ended)
{
    wait_event(*ended, !is_at(lock, running, item));
}

void libcfs_wait_prepare(wait_queue_head_t *queue, wait_queue_entry_t *entry, long state,
                         bool exclusive)
{
    entry->flags = exclusive ? WQ_FLAG_EXCLUSIVE : 0;
    spin_lock(&queue->lock);
    if (list_empty(&entry->entry) && exclusive)
        list_add_tail(&entry->entry, &queue->head);
    else if (list_empty(&entry->entry))
        list_add(&entry->entry, &queue->head);
    set_current_state(state);
    spin_unlock(&queue->lock);
}

void libcfs_wait_finish(wait_queue_head_t *queue, wait_queue_entry_t *entry)
{
    set_current_state(TASK_RUNNING);
    if (list_empty_careful(&entry->entry))
        return;
    spin_lock(&queue->lock);
    list_del_init(&entry->entry);
    spin_unlock(&queue->lock);
}

static void wake(wait_queue_head_t *queue, long mode, unsigned exclusive)
{
    wait_queue_entry_t *entry, *next;

    assert_held(&queue->lock);
    list_for_each_entry_safe (entry, next, &queue->head, entry) {
        unsigned flags = entry->flags;

        if (entry->func(entry, (unsigned)mode, 0, NULL) != 0 && (flags & WQ_FLAG_EXCLUSIVE) &&
            --exclusive == 0)
            break;
    }
}

void libcfs_wake_up(wait_queue_head_t *queue, long mode, unsigned exclusive, bool locked)
{
    if (!locked)
        spin_lock(&queue->lock);
    wake(queue, mode, exclusive);
    if (!locked)
        spin_unlock(&queue->lock);
}

void libcfs_complete(struct completion *x, bool all)
{
    spin_lock(&x->wait.lock);
    if (all)
        x->done = UINT_MAX;
    else if (x->done != UINT_MAX)
        x->done++;
    wake(&x->wait, TASK_NORMAL, all ? 0 : 1);
    spin_unlock(&x->wait.lock);
}

/* It returns with the lock released after complete() has released it: then the completion may go.
 */
long libcfs_wait_for_completion(struct completion *x, long timeout, long state)
{
    spin_lock(&x->wait.lock);
    if (x->done == 0 && timeout > 0) {
        DECLARE_WAITQUEUE(entry, current);

        entry.flags = WQ_FLAG_EXCLUSIVE;
        list_add_tail(&entry.entry, &x->wait.head);
        do {
            set_current_state(state);
            spin_unlock(&x->wait.lock);
            timeout = libcfs_schedule_timeout(timeout);
            spin_lock(&x->wait.lock);
        } while (x->done == 0 && timeout > 0);
        list_del_init(&entry.entry);
    }
    if (x->done == 0) {
        spin_unlock(&x->wait.lock);
        return 0;
    }
    if (x->done != UINT_MAX)
        x->done--;
    spin_unlock(&x->wait.lock);
    return timeout > 0 ? timeout : 1;
}
