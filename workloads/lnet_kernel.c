/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What libcfs promises to kernel code: which thread a wake-up wakes, what completions count, when
 * timers run and in which order, works that are queued, flushed and cancelled while they run, work
 * items, hash tables that grow and shrink, and failures on request. Each rank is a node with
 * threads of its own, which verify themselves; the ranks exchange nothing.
 */
#include "run/workload.h"
#include "support/lnet_kernel_hash.h"

#include <errno.h>
#include <libcfs/libcfs.h>
#include <libcfs/libcfs_fail.h>
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/slab.h>
#include <linux/timer.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <lnet/api.h>

enum { THREADS_MAX = 64, FAIL_AT = 0x505 };

static const struct workload_arg args[] = {
    {"threads", ARG_COUNT, "5", "2", "64", NULL,
     "that wait at a time; timers and works of a phase"},
    {"objects", ARG_COUNT, "600", "10", "100000", NULL, "of a hash table"},
    {NULL},
};

/* The line of the first condition that does not hold; 0: all do. */
#define EXPECT(condition)    \
    do {                     \
        if (!(condition))    \
            return __LINE__; \
    } while (0)

struct order { /* in which something happened */
    spinlock_t lock;
    int count, number[THREADS_MAX + 4];
};

static void order_begin(struct order *order)
{
    memset(order, 0, sizeof(*order));
    spin_lock_init(&order->lock);
}

static void order_add(struct order *order, int number)
{
    spin_lock(&order->lock);
    if (order->count < THREADS_MAX + 4)
        order->number[order->count] = number;
    order->count++;
    spin_unlock(&order->lock);
}

static bool in_order(const struct order *order, int count)
{
    int i;

    if (READ_ONCE(order->count) != count)
        return false;
    for (i = 0; i < count; i++)
        if (order->number[i] != i)
            return false;
    return true;
}

/* ---- threads that wait ----------------------------------------------------------------------- */

struct room {
    wait_queue_head_t wait;
    struct order left;
    atomic_t waiting, open;
    bool exclusive;
};

struct visitor {
    struct room *room;
    int number;
    struct task_struct *task;
};

/* One wait, without a condition that would hide a wake-up too many. */
static void wait_once(struct room *room)
{
    DEFINE_WAIT(entry);

    if (room->exclusive)
        prepare_to_wait_exclusive(&room->wait, &entry, TASK_UNINTERRUPTIBLE);
    else
        prepare_to_wait(&room->wait, &entry, TASK_UNINTERRUPTIBLE);
    atomic_inc(&room->waiting);
    schedule();
    finish_wait(&room->wait, &entry);
}

static int visit(void *data)
{
    struct visitor *visitor = data;

    wait_once(visitor->room);
    order_add(&visitor->room->left, visitor->number);
    while (!kthread_should_stop())
        schedule_timeout_interruptible(HZ);
    return visitor->number + 1;
}

static int visitors_begin(struct room *room, struct visitor *visitors, int count, bool exclusive)
{
    int i;

    memset(room, 0, sizeof(*room));
    init_waitqueue_head(&room->wait);
    order_begin(&room->left);
    room->exclusive = exclusive;
    for (i = 0; i < count; i++) {
        visitors[i] = (struct visitor){.room = room, .number = i};
        visitors[i].task = kthread_run(visit, &visitors[i], "visitor_%d", i);
        EXPECT(!IS_ERR(visitors[i].task));
        while (atomic_read(&room->waiting) != i + 1)
            msleep(1);
    }
    EXPECT(waitqueue_active(&room->wait) && room->left.count == 0);
    return 0;
}

static int visitors_end(struct room *room, struct visitor *visitors, int count)
{
    int i;

    EXPECT(!waitqueue_active(&room->wait) && room->left.count == count);
    for (i = 0; i < count; i++)
        EXPECT(kthread_stop(visitors[i].task) == i + 1);
    return 0;
}

/* Exclusive waiters are woken one at a time, those that wait longest first; others all at once. */
static int waiting(int count)
{
    struct visitor visitors[THREADS_MAX];
    struct room room;
    int i, line = visitors_begin(&room, visitors, count, true);

    if (line != 0)
        return line;
    for (i = 0; i < count - 2; i++) {
        wake_up(&room.wait);
        msleep(2);
        EXPECT(in_order(&room.left, i + 1));
    }
    wake_up_nr(&room.wait, 2);
    msleep(2);
    EXPECT(in_order(&room.left, count));
    line = visitors_end(&room, visitors, count);
    if (line != 0)
        return line;
    line = visitors_begin(&room, visitors, count, false);
    if (line != 0)
        return line;
    wake_up(&room.wait);
    msleep(2);
    return visitors_end(&room, visitors, count);
}

/* ---- completions ----------------------------------------------------------------------------- */

struct party {
    struct completion start;
    atomic_t begun;
};

static int takes_part(void *data)
{
    struct party *party = data;

    wait_for_completion(&party->start);
    atomic_inc(&party->begun);
    return 0;
}

static int completions(int count)
{
    struct task_struct *tasks[THREADS_MAX];
    struct party party = {.begun = ATOMIC_INIT(0)};
    struct completion x;
    unsigned long begin;
    int i;

    init_completion(&x);
    for (i = 0; i < count; i++)
        complete(&x);
    for (i = 0; i < count; i++) /* each of them ends one wait */
        EXPECT(wait_for_completion_timeout(&x, 1) > 0);
    begin = jiffies;
    EXPECT(!try_wait_for_completion(&x) && wait_for_completion_timeout(&x, 3) == 0);
    EXPECT(time_after_eq(jiffies, begin + 3));

    init_completion(&party.start);
    for (i = 0; i < count; i++) {
        tasks[i] = kthread_run(takes_part, &party, "party_%d", i);
        EXPECT(!IS_ERR(tasks[i]));
        get_task_struct(tasks[i]); /* it ends by itself */
    }
    msleep(2);
    EXPECT(atomic_read(&party.begun) == 0);
    complete(&party.start);
    msleep(2);
    EXPECT(atomic_read(&party.begun) == 1);
    complete_all(&party.start);
    msleep(2);
    EXPECT(atomic_read(&party.begun) == count && completion_done(&party.start));
    for (i = 0; i < count; i++) {
        EXPECT(kthread_stop(tasks[i]) == 0);
        put_task_struct(tasks[i]);
    }
    return 0;
}

/* ---- timers ---------------------------------------------------------------------------------- */

struct alarm {
    struct timer_list timer;
    struct order *order;
    int number;
    unsigned busy_ms;
    unsigned long at, over; /* jiffies of the function's begin and end */
};

static void ring(struct timer_list *timer)
{
    struct alarm *alarm = from_timer(alarm, timer, timer);

    WRITE_ONCE(alarm->at, jiffies);
    order_add(alarm->order, alarm->number);
    if (alarm->busy_ms > 0)
        mdelay(alarm->busy_ms);
    WRITE_ONCE(alarm->over, jiffies);
}

static int timers(int count)
{
    struct alarm *alarms = kcalloc((size_t)count, sizeof(*alarms), GFP_KERNEL);
    struct order order;
    unsigned long begin = jiffies, far = begin + 10000;
    int i;

    EXPECT(alarms != NULL);
    order_begin(&order);
    for (i = 0; i < count; i++) {
        alarms[i].order = &order;
        alarms[i].number = i;
        timer_setup(&alarms[i].timer, ring, 0);
    }
    /* The last one is far away at first: those that are started later run earlier. */
    EXPECT(mod_timer(&alarms[count - 1].timer, far) == 0);
    msleep(1);
    for (i = 0; i < count - 1; i++) /* pairs of one time run in the order of their starts */
        EXPECT(mod_timer(&alarms[i].timer, begin + 10 + (unsigned long)(i / 2) * 5) == 0);
    msleep(10 + 5 * (unsigned)count);
    EXPECT(in_order(&order, count - 1) && timer_pending(&alarms[count - 1].timer));
    for (i = 0; i < count - 1; i++) {
        unsigned long due = begin + 10 + (unsigned long)(i / 2) * 5;

        EXPECT(alarms[i].at >= due && alarms[i].at <= due + 1 && !timer_pending(&alarms[i].timer));
    }
    EXPECT(mod_timer(&alarms[count - 1].timer, jiffies + 2) == 1);
    msleep(5);
    EXPECT(in_order(&order, count));

    EXPECT(mod_timer(&alarms[0].timer, jiffies + 3) == 0 && del_timer(&alarms[0].timer) == 1);
    msleep(6);
    EXPECT(order.count == count && del_timer(&alarms[0].timer) == 0);
    alarms[0].busy_ms = 6; /* it is deleted while it runs */
    alarms[0].over = 0;
    mod_timer(&alarms[0].timer, jiffies + 1);
    msleep(3);
    EXPECT(order.count == count + 1 && del_timer_sync(&alarms[0].timer) == 0);
    EXPECT(READ_ONCE(alarms[0].over) >= alarms[0].at + 6);
    kfree(alarms);
    return 0;
}

/* ---- works ----------------------------------------------------------------------------------- */

struct job {
    struct delayed_work work;
    struct workqueue_struct *queue;
    struct order *order;
    int number, again; /* again: so often it queues itself while it runs */
    unsigned takes_ms;
    unsigned long at;
    atomic_t begun, ended;
};

static void does(struct work_struct *work)
{
    struct job *job = container_of(work, struct job, work.work);

    atomic_inc(&job->begun);
    WRITE_ONCE(job->at, jiffies);
    if (job->again > 0) {
        job->again--;
        queue_work(job->queue, work);
    }
    if (job->takes_ms > 0)
        msleep(job->takes_ms);
    if (job->order != NULL)
        order_add(job->order, job->number);
    atomic_inc(&job->ended);
}

static void job_begin(struct job *job, struct workqueue_struct *queue, struct order *order,
                      int number)
{
    memset(job, 0, sizeof(*job));
    INIT_DELAYED_WORK(&job->work, does);
    job->queue = queue;
    job->order = order;
    job->number = number;
    job->takes_ms = 3;
}

/* A queue of one thread: in order, and each work as often as it was queued when it did not wait. */
static int works_in_order(struct workqueue_struct *queue, struct job *jobs, int count)
{
    struct order order;
    int i;

    order_begin(&order);
    for (i = 0; i < count; i++) {
        job_begin(&jobs[i], queue, &order, i);
        EXPECT(queue_work(queue, &jobs[i].work.work));
    }
    EXPECT(!queue_work(queue, &jobs[count - 1].work.work)); /* it waits already */
    EXPECT(flush_work(&jobs[0].work.work) && atomic_read(&jobs[0].ended) == 1);
    flush_workqueue(queue);
    EXPECT(in_order(&order, count));

    job_begin(&jobs[0], queue, NULL, 0);
    jobs[0].again = 4;
    EXPECT(queue_work(queue, &jobs[0].work.work));
    msleep(30);
    EXPECT(atomic_read(&jobs[0].ended) == 5);
    return 0;
}

static int works_cancelled(struct workqueue_struct *queue, struct job *jobs)
{
    job_begin(&jobs[0], queue, NULL, 0);
    job_begin(&jobs[1], queue, NULL, 1);
    queue_work(queue, &jobs[0].work.work);
    queue_work(queue, &jobs[1].work.work);
    msleep(1); /* the one runs, and the other waits for the thread */
    EXPECT(cancel_work_sync(&jobs[1].work.work) && atomic_read(&jobs[0].begun) == 1);
    EXPECT(!cancel_work_sync(&jobs[0].work.work) && atomic_read(&jobs[0].ended) == 1);
    msleep(8);
    EXPECT(atomic_read(&jobs[1].begun) == 0);
    return 0;
}

static int works_delayed(struct workqueue_struct *queue, struct job *jobs)
{
    unsigned long begin = jiffies;

    job_begin(&jobs[0], queue, NULL, 0);
    EXPECT(queue_delayed_work(queue, &jobs[0].work, 7));
    EXPECT(!queue_delayed_work(queue, &jobs[0].work, 1));
    msleep(20);
    EXPECT(atomic_read(&jobs[0].ended) == 1 && jobs[0].at >= begin + 7 && jobs[0].at <= begin + 9);
    begin = jiffies;
    EXPECT(queue_delayed_work(queue, &jobs[0].work, 1000));
    EXPECT(mod_delayed_work(queue, &jobs[0].work, 4));
    msleep(12);
    EXPECT(atomic_read(&jobs[0].ended) == 2 && jobs[0].at >= begin + 4);
    EXPECT(queue_delayed_work(queue, &jobs[0].work, 1000) && flush_delayed_work(&jobs[0].work));
    EXPECT(atomic_read(&jobs[0].ended) == 3); /* at once */
    EXPECT(queue_delayed_work(queue, &jobs[0].work, 5));
    EXPECT(cancel_delayed_work_sync(&jobs[0].work));
    msleep(10);
    EXPECT(atomic_read(&jobs[0].begun) == 3);
    return 0;
}

static int works(int count)
{
    struct job *jobs = kcalloc((size_t)count, sizeof(*jobs), GFP_KERNEL);
    struct workqueue_struct *one = alloc_ordered_workqueue("one", 0), *many;
    unsigned long begin;
    int i, line;

    EXPECT(jobs != NULL && one != NULL);
    line = works_in_order(one, jobs, count);
    if (line == 0)
        line = works_cancelled(one, jobs);
    if (line == 0)
        line = works_delayed(one, jobs);
    if (line != 0)
        return line;
    job_begin(&jobs[0], one, NULL, 0);
    queue_work(one, &jobs[0].work.work);
    destroy_workqueue(one); /* with what is in it */
    EXPECT(atomic_read(&jobs[0].ended) == 1);

    many = alloc_workqueue("many", WQ_UNBOUND, 4);
    EXPECT(many != NULL);
    begin = jiffies;
    for (i = 0; i < count; i++) {
        job_begin(&jobs[i], many, NULL, i);
        jobs[i].takes_ms = 20;
        queue_work(many, &jobs[i].work.work);
    }
    flush_workqueue(many);
    /* Four at a time. */
    EXPECT(jiffies - begin < 20UL * (unsigned long)((count + 3) / 4) + 10);
    EXPECT(jiffies - begin >= 20UL * (unsigned long)((count + 3) / 4));
    destroy_workqueue(many);
    kfree(jobs);
    return 0;
}

/* ---- work items ------------------------------------------------------------------------------ */

struct item {
    struct cfs_workitem work;
    atomic_t runs;
};

static int item_runs(struct cfs_workitem *work)
{
    struct item *item = work->wi_data;

    atomic_inc(&item->runs);
    msleep(3);
    return 0;
}

static int items(int count)
{
    struct item item = {.runs = ATOMIC_INIT(0)};
    struct cfs_wi_sched *sched;
    int i;

    EXPECT(cfs_wi_sched_create("items", cfs_cpt_tab, CFS_CPT_ANY, 2, &sched) == 0);
    cfs_wi_init(&item.work, &item, item_runs);
    cfs_wi_schedule(sched, &item.work);
    for (i = 1; i < count; i++) { /* each time while it runs: once more, and not at once */
        while (atomic_read(&item.runs) < i)
            msleep(1);
        cfs_wi_schedule(sched, &item.work);
        cfs_wi_schedule(sched, &item.work);
        msleep(1);
        EXPECT(atomic_read(&item.runs) == i);
    }
    msleep(10);
    EXPECT(atomic_read(&item.runs) == count && cfs_wi_deschedule(sched, &item.work) == 1);
    cfs_wi_sched_destroy(sched);
    return 0;
}

/* ---- failures on request --------------------------------------------------------------------- */

static int failing(int count)
{
    int i, failed = 0;

    cfs_fail_loc = FAIL_AT | CFS_FAIL_ONCE;
    for (i = 0; i < count; i++)
        failed += CFS_FAIL_CHECK_QUIET(FAIL_AT);
    EXPECT(failed == 1 && !CFS_FAIL_CHECK_QUIET(FAIL_AT + 1));
    cfs_fail_loc = FAIL_AT | CFS_FAIL_SKIP;
    cfs_fail_val = (unsigned)count; /* so many pass */
    for (i = 0; i < count; i++)
        EXPECT(!CFS_FAIL_CHECK_QUIET(FAIL_AT));
    EXPECT(CFS_FAIL_CHECK_QUIET(FAIL_AT) && CFS_FAIL_CHECK_QUIET(FAIL_AT));
    cfs_fail_loc = FAIL_AT;
    EXPECT(!CFS_FAIL_CHECK_VALUE_QUIET(FAIL_AT, (__u32)count + 1));
    EXPECT(CFS_FAIL_CHECK_VALUE_QUIET(FAIL_AT, (__u32)count));
    cfs_fail_loc = 0;
    return 0;
}

/* ---- together -------------------------------------------------------------------------------- */

static int kernel_main(struct rank *rank)
{
    static const struct {
        const char *name;
        int (*run)(int count);
        bool objects;
    } phases[] = {
        {"waiting", waiting, false},  {"completions", completions, false},
        {"timers", timers, false},    {"works", works, false},
        {"work items", items, false}, {"hash tables", wl_kernel_hash, true},
        {"failures", failing, false},
    };
    size_t i;
    int rc = LNetNIInit(LNET_PID_LUSTRE), line;

    if (rc < 0)
        return rank_fail(rank, "LNetNIInit: %d", rc);
    for (i = 0; i < sizeof(phases) / sizeof(phases[0]); i++) {
        line = phases[i].run((int)rank_arg_count(rank, phases[i].objects ? "objects" : "threads"));
        if (line != 0)
            return rank_fail(rank, "%s: line %d", phases[i].name, line);
        rank_count(rank, "phases", 1);
    }
    LNetNIFini();
    return 0;
}

static const struct workload lnet_kernel = {
    .name = "lnet_kernel",
    .meaning = "what libcfs promises kernel code of threads, timers, works, hashes and failures",
    .metrics = "phases (count)",
    .args = args,
    .ranks_min = 1,
    .main = kernel_main,
};
WORKLOAD(lnet_kernel)
