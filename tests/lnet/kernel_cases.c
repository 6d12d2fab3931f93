/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "kernel_cases.h"

#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/init.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/rwsem.h>
#include <linux/sched.h>
#include <linux/semaphore.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/timer.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#define EXPECT(condition)    \
    do {                     \
        if (!(condition))    \
            return __LINE__; \
    } while (0)

enum { TRIES = 60000, FAR_MS = 1000000 }; /* FAR_MS: no test lasts as long */

MODULE_LICENSE("GPL");

/* ---- wait queues and threads ----------------------------------------------------------------- */

struct room {
    wait_queue_head_t wait;
    atomic_t waiting, woken;
    int open; /* how many may leave */
    bool exclusive;
};

static bool leaves(struct room *room)
{
    int open = READ_ONCE(room->open);

    while (open > 0)
        if (__atomic_compare_exchange_n(&room->open, &open, open - 1, false, __ATOMIC_SEQ_CST,
                                        __ATOMIC_SEQ_CST))
            return true;
    return false;
}

static int visitor(void *data)
{
    struct room *room = data;

    atomic_inc(&room->waiting);
    if (room->exclusive)
        wait_event_exclusive(room->wait, leaves(room));
    else
        wait_event(room->wait, leaves(room));
    atomic_inc(&room->woken);
    while (!kthread_should_stop())
        schedule_timeout_interruptible(HZ);
    return 7;
}

/* Waits for what must come. How long is for busy machines, and not tested. */
static void until(const atomic_t *counter, int least)
{
    unsigned tries;

    for (tries = 0; tries < TRIES && atomic_read(counter) < least; tries++)
        msleep(1);
}

int lnet_99_wait_queues_wake_one_or_all(void)
{
    struct room room = {.exclusive = true};
    struct task_struct *tasks[3];
    int i;

    init_waitqueue_head(&room.wait);
    for (i = 0; i < 3; i++) {
        tasks[i] = kthread_run(visitor, &room, "visitor_%d", i);
        EXPECT(!IS_ERR(tasks[i]) &&
               strcmp(tasks[i]->comm, i == 2 ? "visitor_2" : tasks[i]->comm) == 0);
    }
    until(&room.waiting, 3);
    msleep(2);
    EXPECT(waitqueue_active(&room.wait) && atomic_read(&room.woken) == 0);
    __atomic_store_n(&room.open, 1, __ATOMIC_SEQ_CST);
    wake_up(&room.wait);
    until(&room.woken, 1);
    msleep(2);
    EXPECT(atomic_read(&room.woken) == 1);
    __atomic_store_n(&room.open, 2, __ATOMIC_SEQ_CST);
    wake_up_all(&room.wait);
    until(&room.woken, 3);
    EXPECT(atomic_read(&room.woken) == 3 && !waitqueue_active(&room.wait));
    for (i = 0; i < 3; i++)
        EXPECT(kthread_stop(tasks[i]) == 7);
    return 0;
}

int lnet_99_a_wait_ends_with_its_time(void)
{
    DECLARE_WAIT_QUEUE_HEAD(wait);
    unsigned long begin = jiffies;
    ktime_t time = ktime_get();
    int no = 0;

    EXPECT(wait_event_timeout(wait, no, 20) == 0);
    EXPECT(jiffies - begin >= 20 && ktime_ms_delta(ktime_get(), time) >= 20);
    EXPECT(wait_event_timeout(wait, !no, 20) > 0);
    EXPECT(wait_event_timeout(wait, !no, 0) == 1);
    EXPECT(wait_event_interruptible_timeout(wait, no, 1) == 0);
    EXPECT(wait_event_interruptible(wait, !no) == 0);
    wait_event_idle(wait, !no);
    begin = jiffies;
    EXPECT(schedule_timeout_uninterruptible(msecs_to_jiffies(15)) == 0);
    EXPECT(time_after_eq(jiffies, begin + 15) && time_before(begin, jiffies));
    set_current_state(TASK_INTERRUPTIBLE);
    EXPECT(schedule_timeout(cfs_time_seconds(1) / 100) == 0 && current->state == TASK_RUNNING);
    EXPECT(cfs_time_aftereq(cfs_time_current(), cfs_time_add(begin, 25)));
    begin = jiffies;
    udelay(3000);
    EXPECT(jiffies - begin >= 2);
    return 0;
}

struct flag {
    wait_queue_head_t wait;
    spinlock_t lock;
    bool set;
    atomic_t seen;
};

static int old_waiter(void *data)
{
    struct flag *flag = data;
    DECLARE_WAITQUEUE(entry, current);

    add_wait_queue(&flag->wait, &entry);
    for (;;) {
        set_current_state(TASK_INTERRUPTIBLE);
        if (READ_ONCE(flag->set) || kthread_should_stop())
            break;
        schedule();
    }
    __set_current_state(TASK_RUNNING);
    remove_wait_queue(&flag->wait, &entry);
    atomic_inc(&flag->seen);
    return 0;
}

static int locked_waiter(void *data)
{
    struct flag *flag = data;

    spin_lock_irq(&flag->lock);
    wait_event_lock_irq(flag->wait, flag->set, flag->lock);
    assert_spin_locked(&flag->lock);
    spin_unlock_irq(&flag->lock);
    atomic_inc(&flag->seen);
    return 0;
}

int lnet_99_older_code_waits_with_an_entry(void)
{
    struct flag flag = {.set = false};
    struct task_struct *older, *locked;

    init_waitqueue_head(&flag.wait);
    spin_lock_init(&flag.lock);
    older = kthread_run(old_waiter, &flag, "older");
    locked = kthread_run(locked_waiter, &flag, "locked");
    get_task_struct(locked); /* it ends by itself */
    msleep(5);
    EXPECT(atomic_read(&flag.seen) == 0);
    spin_lock(&flag.lock);
    flag.set = true;
    spin_unlock(&flag.lock);
    wake_up_all(&flag.wait);
    until(&flag.seen, 2);
    EXPECT(atomic_read(&flag.seen) == 2);
    get_task_struct(older);
    EXPECT(kthread_stop(older) == 0 && kthread_stop(locked) == 0);
    put_task_struct(older);
    put_task_struct(locked);
    return 0;
}

static int never_runs(void *data)
{
    *(int *)data = 1;
    return 1;
}

static int ends_at_once(void *data)
{
    atomic_inc(data);
    return 0;
}

int lnet_99_threads_are_stopped(void)
{
    atomic_t ended = ATOMIC_INIT(0);
    struct task_struct *task;
    int ran = 0, i;

    task = kthread_create(never_runs, &ran, "stopped");
    EXPECT(!IS_ERR(task));
    msleep(1);
    EXPECT(kthread_stop(task) == -EINTR && ran == 0);
    task = kthread_create(visitor, &(struct room){.open = 1}, "bound");
    kthread_bind(task, 0);
    EXPECT(kthread_stop(task) == -EINTR);
    for (i = 0; i < 50; i++) { /* nobody joins these */
        EXPECT(!IS_ERR(kthread_run(ends_at_once, &ended, "short")));
        until(&ended, i + 1);
    }
    EXPECT(current->pid > 0 && current == current && !kthread_should_stop());
    EXPECT(num_online_cpus() >= 1 && !signal_pending(current));
    return 0;
}

static int completes(void *data)
{
    msleep(5);
    complete(data);
    return 0;
}

int lnet_99_completions_count(void)
{
    DECLARE_COMPLETION_ONSTACK(local);
    struct completion x;
    struct task_struct *task;

    init_completion(&x);
    EXPECT(!try_wait_for_completion(&x) && wait_for_completion_timeout(&x, 5) == 0);
    task = kthread_run(completes, &x, "completes");
    get_task_struct(task);
    wait_for_completion(&x);
    EXPECT(!completion_done(&x));
    complete(&x);
    complete(&x);
    EXPECT(wait_for_completion_timeout(&x, 5) >= 1 && try_wait_for_completion(&x));
    EXPECT(!try_wait_for_completion(&x));
    complete_all(&x);
    wait_for_completion(&x);
    EXPECT(wait_for_completion_interruptible(&x) == 0 && completion_done(&x));
    reinit_completion(&x);
    EXPECT(!completion_done(&x));
    complete(&local);
    wait_for_completion(&local);
    EXPECT(kthread_stop(task) == 0);
    put_task_struct(task);
    return 0;
}

/* ---- timers ---------------------------------------------------------------------------------- */

struct alarm {
    struct timer_list timer;
    wait_queue_head_t wait;
    unsigned long at;
    atomic_t rings;
    unsigned busy_ms;
    bool again;
};

static void rings(struct timer_list *timer)
{
    struct alarm *alarm = from_timer(alarm, timer, timer);

    WRITE_ONCE(alarm->at, jiffies);
    atomic_inc(&alarm->rings);
    if (alarm->busy_ms > 0)
        mdelay(alarm->busy_ms);
    if (alarm->again)
        mod_timer(timer, jiffies + 1);
    wake_up(&alarm->wait);
}

static void rings_with_data(unsigned long data)
{
    atomic_inc((atomic_t *)data);
}

int lnet_99_timers_run_at_their_times(void)
{
    struct alarm first = {.again = false}, second = {.again = false};
    struct timer_list older;
    atomic_t older_rings = ATOMIC_INIT(0);
    unsigned long begin = jiffies;
    int rung;

    init_waitqueue_head(&first.wait);
    init_waitqueue_head(&second.wait);
    timer_setup(&first.timer, rings, 0);
    cfs_timer_setup(&second.timer, rings, 0, 0);
    setup_timer(&older, rings_with_data, (unsigned long)&older_rings);
    EXPECT(!timer_pending(&first.timer));
    EXPECT(mod_timer(&first.timer, begin + FAR_MS) == 0 && timer_pending(&first.timer));
    older.expires = begin + 5;
    add_timer(&older);
    EXPECT(mod_timer(&first.timer, begin + 10) == 1);
    EXPECT(mod_timer(&second.timer, begin + 30) == 0);
    wait_event(second.wait, atomic_read(&second.rings) == 1);
    EXPECT(atomic_read(&first.rings) == 1 && atomic_read(&older_rings) == 1);
    EXPECT(time_after_eq(first.at, begin + 10) && time_after_eq(second.at, begin + 30));
    EXPECT(!time_after(first.at, second.at) && !timer_pending(&second.timer));
    EXPECT(del_timer(&second.timer) == 0);
    mod_timer(&second.timer, jiffies + FAR_MS);
    EXPECT(del_timer(&second.timer) == 1);
    mod_timer(&second.timer, jiffies + 5);
    rung = del_timer_sync(&second.timer) == 1 ? 1 : 2; /* it may have been in time */
    msleep(10);
    EXPECT(atomic_read(&second.rings) == rung);
    mod_timer(&second.timer, begin); /* it has passed */
    wait_event(second.wait, atomic_read(&second.rings) == rung + 1);
    mod_timer(&second.timer, jiffies + ULONG_MAX / 4);
    EXPECT(del_timer_sync(&second.timer) == 1 && del_timer_sync(&first.timer) == 0);
    return 0;
}

int lnet_99_a_timer_is_deleted_while_it_runs(void)
{
    struct alarm alarm = {.busy_ms = 20};

    init_waitqueue_head(&alarm.wait);
    timer_setup(&alarm.timer, rings, 0);
    mod_timer(&alarm.timer, jiffies);
    until(&alarm.rings, 1);
    EXPECT(del_timer_sync(&alarm.timer) == 0);
    EXPECT(time_after_eq(jiffies, alarm.at + 20)); /* it has returned */
    alarm.busy_ms = 0;
    alarm.again = true;
    mod_timer(&alarm.timer, jiffies + 1);
    until(&alarm.rings, 5);
    EXPECT(atomic_read(&alarm.rings) > 4);
    del_timer_sync(&alarm.timer);
    atomic_set(&alarm.rings, 0);
    msleep(10);
    EXPECT(atomic_read(&alarm.rings) == 0);
    return 0;
}

/* ---- works ----------------------------------------------------------------------------------- */

struct job {
    struct work_struct work;
    struct shift *shift;
    int number;
};
struct shift {
    spinlock_t lock;
    int order[8], count;
    atomic_t now, most; /* that run at a time */
    int together; /* so many at a time are awaited */
    bool closed; /* none ends before it is opened */
};

static int opens_later(void *data)
{
    msleep(500);
    WRITE_ONCE(*(bool *)data, false);
    return 0;
}

static void does(struct work_struct *work)
{
    struct job *job = container_of(work, struct job, work);
    struct shift *shift = job->shift;
    int now = atomic_inc_return(&shift->now), most = atomic_read(&shift->most);
    unsigned tries;

    while (now > most && atomic_cmpxchg(&shift->most, most, now) != most)
        most = atomic_read(&shift->most);
    until(&shift->most, shift->together);
    for (tries = 0; tries < TRIES && READ_ONCE(shift->closed); tries++)
        msleep(1);
    msleep(5);
    spin_lock(&shift->lock);
    shift->order[shift->count++] = job->number;
    spin_unlock(&shift->lock);
    atomic_dec(&shift->now);
}

static void begin_shift(struct shift *shift, struct job *jobs)
{
    int i;

    memset(shift, 0, sizeof(*shift));
    spin_lock_init(&shift->lock);
    shift->together = 1;
    for (i = 0; i < 4; i++) {
        INIT_WORK(&jobs[i].work, does);
        jobs[i].shift = shift;
        jobs[i].number = i;
    }
}

int lnet_99_works_run_in_order_or_together(void)
{
    struct workqueue_struct *queue;
    struct shift shift;
    struct job jobs[4];
    int i;

    begin_shift(&shift, jobs);
    shift.closed = true;
    queue = alloc_ordered_workqueue("ordered_%d", WQ_MEM_RECLAIM, 1);
    EXPECT(queue != NULL);
    for (i = 0; i < 4; i++)
        EXPECT(queue_work(queue, &jobs[i].work));
    EXPECT(work_pending(&jobs[3].work) && !queue_work(queue, &jobs[3].work));
    EXPECT(!IS_ERR(kthread_run(opens_later, &shift.closed, "opens_later")));
    EXPECT(flush_work(&jobs[1].work) && shift.count >= 2);
    flush_workqueue(queue);
    EXPECT(shift.count == 4 && atomic_read(&shift.most) == 1 && !flush_work(&jobs[1].work));
    for (i = 0; i < 4; i++)
        EXPECT(shift.order[i] == i);
    EXPECT(queue_work(queue, &jobs[0].work));
    destroy_workqueue(queue); /* with what is in it */
    EXPECT(shift.count == 5);

    begin_shift(&shift, jobs);
    queue = alloc_workqueue("many", WQ_UNBOUND, 8);
    shift.together = 2;
    for (i = 0; i < 4; i++)
        queue_work(queue, &jobs[i].work);
    flush_workqueue(queue);
    EXPECT(shift.count == 4 && atomic_read(&shift.most) > 1);
    destroy_workqueue(queue);

    begin_shift(&shift, jobs);
    for (i = 0; i < 4; i++)
        EXPECT(schedule_work(&jobs[i].work));
    flush_scheduled_work();
    EXPECT(shift.count == 4);
    EXPECT(schedule_work(&jobs[0].work));
    cancel_work_sync(&jobs[0].work); /* it may have begun, but does not run any more */
    EXPECT(atomic_read(&shift.now) == 0);
    return 0;
}

struct late {
    struct delayed_work work;
    unsigned long at;
    atomic_t runs;
    bool again;
};

static void is_late(struct work_struct *work)
{
    struct late *late = container_of(to_delayed_work(work), struct late, work);

    late->at = jiffies;
    atomic_inc(&late->runs);
    if (late->again)
        schedule_delayed_work(&late->work, 2);
}

int lnet_99_delayed_works_are_changed_and_cancelled(void)
{
    struct late late = {.again = false};
    unsigned long begin = jiffies;

    INIT_DELAYED_WORK(&late.work, is_late);
    EXPECT(schedule_delayed_work(&late.work, FAR_MS) && !schedule_delayed_work(&late.work, 1));
    EXPECT(delayed_work_pending(&late.work) && cancel_delayed_work(&late.work));
    EXPECT(schedule_delayed_work(&late.work, 20));
    until(&late.runs, 1);
    EXPECT(atomic_read(&late.runs) == 1 && time_after_eq(late.at, begin + 20));
    EXPECT(!delayed_work_pending(&late.work));
    schedule_delayed_work(&late.work, FAR_MS);
    begin = jiffies;
    EXPECT(mod_delayed_work(system_wq, &late.work, 10));
    until(&late.runs, 2);
    EXPECT(atomic_read(&late.runs) == 2 && time_before(jiffies, begin + FAR_MS / 2));
    schedule_delayed_work(&late.work, 10000);
    EXPECT(cancel_delayed_work(&late.work) && !cancel_delayed_work(&late.work));
    EXPECT(!mod_delayed_work(system_wq, &late.work, 10000));
    EXPECT(cancel_delayed_work_sync(&late.work) && !delayed_work_pending(&late.work));
    schedule_delayed_work(&late.work, 10000);
    EXPECT(flush_delayed_work(&late.work) && atomic_read(&late.runs) == 3);
    EXPECT(schedule_delayed_work(&late.work, 0));
    flush_scheduled_work();
    EXPECT(atomic_read(&late.runs) == 4);
    return 0;
}

int lnet_99_a_work_queues_itself_until_it_is_cancelled(void)
{
    struct late late = {.again = true};
    int runs;

    INIT_DELAYED_WORK(&late.work, is_late);
    schedule_delayed_work(&late.work, 1);
    until(&late.runs, 3);
    EXPECT(atomic_read(&late.runs) > 2);
    cancel_delayed_work_sync(&late.work);
    runs = atomic_read(&late.runs);
    msleep(20);
    EXPECT(atomic_read(&late.runs) == runs && !delayed_work_pending(&late.work));
    return 0;
}

/* ---- locks ----------------------------------------------------------------------------------- */

struct store {
    struct mutex mutex;
    struct rw_semaphore rwsem;
    struct semaphore semaphore;
    rwlock_t rwlock;
    int value, holders;
    atomic_t ended, wrong;
};

static int changes(void *data)
{
    struct store *store = data;
    int i;

    for (i = 0; i < 5; i++) {
        mutex_lock(&store->mutex);
        if (store->holders++ != 0)
            atomic_inc(&store->wrong);
        usleep_range(100, 200);
        store->holders--;
        mutex_unlock(&store->mutex);

        down_read(&store->rwsem);
        if (READ_ONCE(store->value) % 2 != 0)
            atomic_inc(&store->wrong);
        up_read(&store->rwsem);
        down_write(&store->rwsem);
        store->value++;
        usleep_range(100, 200);
        store->value++;
        up_write(&store->rwsem);

        down(&store->semaphore);
        usleep_range(50, 100);
        up(&store->semaphore);
        write_lock(&store->rwlock);
        store->value += 2;
        write_unlock(&store->rwlock);
        read_lock(&store->rwlock);
        read_unlock(&store->rwlock);
    }
    atomic_inc(&store->ended);
    return 0;
}

int lnet_99_locks_that_sleep(void)
{
    struct store store = {.value = 0};
    struct task_struct *task;
    int i;

    mutex_init(&store.mutex);
    init_rwsem(&store.rwsem);
    sema_init(&store.semaphore, 2);
    rwlock_init(&store.rwlock);
    for (i = 0; i < 4; i++) {
        task = kthread_run(changes, &store, "changes");
        EXPECT(!IS_ERR(task));
    }
    until(&store.ended, 4);
    EXPECT(atomic_read(&store.ended) == 4 && atomic_read(&store.wrong) == 0);
    EXPECT(store.semaphore.count == 2 && !mutex_is_locked(&store.mutex));
    EXPECT(mutex_trylock(&store.mutex) && !mutex_trylock(&store.mutex));
    mutex_unlock(&store.mutex);
    EXPECT(down_read_trylock(&store.rwsem) && !down_write_trylock(&store.rwsem));
    up_read(&store.rwsem);
    down_write(&store.rwsem);
    EXPECT(!down_read_trylock(&store.rwsem));
    downgrade_write(&store.rwsem);
    EXPECT(down_read_trylock(&store.rwsem));
    up_read(&store.rwsem);
    up_read(&store.rwsem);
    EXPECT(down_trylock(&store.semaphore) == 0 && down_interruptible(&store.semaphore) == 0);
    EXPECT(down_trylock(&store.semaphore) == 1 && down_timeout(&store.semaphore, 2) == -ETIME);
    up(&store.semaphore);
    return 0;
}
