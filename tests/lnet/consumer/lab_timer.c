/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Timers in seconds, on a thread of their own. */
#include "lab.h"

static struct {
    spinlock_t tms_lock;
    struct list_head tms_list; /* the earliest one is the first */
    wait_queue_head_t tms_waitq;
    int tms_stopping, tms_nthreads;
} lab_timers;

void lab_timer_add(struct lab_timer *timer)
{
    struct list_head *pos;

    spin_lock(&lab_timers.tms_lock);
    LASSERT(lab_timers.tms_nthreads > 0 && !lab_timers.tms_stopping);
    LASSERT(list_empty(&timer->tm_list));
    list_for_each_prev(pos, &lab_timers.tms_list)
    {
        struct lab_timer *old = list_entry(pos, struct lab_timer, tm_list);

        if (timer->tm_expires >= old->tm_expires)
            break;
    }
    list_add(&timer->tm_list, pos);
    spin_unlock(&lab_timers.tms_lock);
}

int lab_timer_del(struct lab_timer *timer)
{
    int ret = 0;

    spin_lock(&lab_timers.tms_lock);
    if (!list_empty(&timer->tm_list)) {
        ret = 1;
        list_del_init(&timer->tm_list);
    }
    spin_unlock(&lab_timers.tms_lock);
    return ret;
}

static int lab_timers_main(void *arg)
{
    struct lab_timer *timer;

    cfs_block_allsigs();
    while (!lab_timers.tms_stopping) {
        spin_lock(&lab_timers.tms_lock);
        while (!list_empty(&lab_timers.tms_list)) {
            timer = list_entry(lab_timers.tms_list.next, struct lab_timer, tm_list);
            if (timer->tm_expires > ktime_get_seconds())
                break;
            list_del_init(&timer->tm_list);
            spin_unlock(&lab_timers.tms_lock);
            (*timer->tm_func)(timer->tm_data);
            spin_lock(&lab_timers.tms_lock);
        }
        spin_unlock(&lab_timers.tms_lock);
        (void)wait_event_timeout(lab_timers.tms_waitq, lab_timers.tms_stopping,
                                 cfs_time_seconds(1));
    }
    spin_lock(&lab_timers.tms_lock);
    lab_timers.tms_nthreads--;
    spin_unlock(&lab_timers.tms_lock);
    return arg == NULL ? 0 : -EINVAL;
}

int lab_timers_start(void)
{
    struct task_struct *task;

    memset(&lab_timers, 0, sizeof(lab_timers));
    spin_lock_init(&lab_timers.tms_lock);
    INIT_LIST_HEAD(&lab_timers.tms_list);
    init_waitqueue_head(&lab_timers.tms_waitq);
    lab_timers.tms_nthreads = 1;
    task = kthread_run(lab_timers_main, NULL, "lab_timer");
    if (IS_ERR(task)) {
        CERROR("Can't start the timer thread: %ld\n", PTR_ERR(task));
        return PTR_ERR(task);
    }
    return 0;
}

void lab_timers_stop(void)
{
    spin_lock(&lab_timers.tms_lock);
    LASSERT(list_empty(&lab_timers.tms_list));
    lab_timers.tms_stopping = 1;
    wake_up(&lab_timers.tms_waitq);
    lab_wait_until(lab_timers.tms_nthreads == 0, lab_timers.tms_lock, "waiting for %d threads\n",
                   lab_timers.tms_nthreads);
    spin_unlock(&lab_timers.tms_lock);
}
