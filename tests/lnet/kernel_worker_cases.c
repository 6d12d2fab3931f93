/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Threads that are parked, workers, timers in nanoseconds, waits for variables, chains, SRCU. */
#include "kernel_cases.h"

#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/jump_label.h>
#include <linux/kernel.h>
#include <linux/kthread.h>
#include <linux/mempool.h>
#include <linux/notifier.h>
#include <linux/srcu.h>
#include <linux/wait_bit.h>
#include <linux/workqueue.h>

#define EXPECT(condition)    \
    do {                     \
        if (!(condition))    \
            return __LINE__; \
    } while (0)

/* ---- parking --------------------------------------------------------------------------------- */

struct parked {
    atomic_t rounds, parks;
};

static int parks_on_request(void *data)
{
    struct parked *parked = data;

    while (!kthread_should_stop()) {
        if (kthread_should_park()) {
            atomic_inc(&parked->parks);
            kthread_parkme();
            continue;
        }
        atomic_inc(&parked->rounds);
        set_current_state(TASK_INTERRUPTIBLE);
        if (!kthread_should_stop() && !kthread_should_park())
            schedule_timeout(1);
        __set_current_state(TASK_RUNNING);
    }
    return 7;
}

int lnet_99_threads_are_parked(void)
{
    struct parked parked = {ATOMIC_INIT(0), ATOMIC_INIT(0)};
    struct task_struct *task = kthread_create(parks_on_request, &parked, "parks");
    int rounds;

    EXPECT(!IS_ERR(task) && kthread_data(task) == &parked);
    get_task_struct(task);
    EXPECT(kthread_park(task) == 0); /* before it has begun */
    EXPECT(atomic_read(&parked.rounds) == 0 && kthread_park(task) == -EBUSY);
    kthread_unpark(task);
    while (atomic_read(&parked.rounds) < 3)
        msleep(1);
    EXPECT(kthread_park(task) == 0 && atomic_read(&parked.parks) == 1);
    rounds = atomic_read(&parked.rounds);
    msleep(10);
    EXPECT(atomic_read(&parked.rounds) == rounds);
    wake_up_process(task); /* it stays where it is */
    msleep(2);
    EXPECT(atomic_read(&parked.rounds) == rounds);
    kthread_unpark(task);
    while (atomic_read(&parked.rounds) == rounds)
        msleep(1);
    EXPECT(kthread_park(task) == 0);
    EXPECT(kthread_stop(task) == 7); /* a parked one ends, too */
    EXPECT(kthread_park(task) == -ENOSYS);
    put_task_struct(task);
    return 0;
}

/* ---- workers --------------------------------------------------------------------------------- */

struct job {
    struct kthread_work work;
    struct kthread_delayed_work delayed;
    int *order, *next, runs;
    struct completion *begun, *gate; /* NULL: it does not wait */
};

static void job_run(struct kthread_work *work)
{
    struct job *job = container_of(work, struct job, work);

    if (job->gate != NULL) {
        complete(job->begun);
        wait_for_completion(job->gate);
    }
    job->runs++;
    *job->order = ++*job->next;
}

static void job_later(struct kthread_work *work)
{
    container_of(work, struct job, delayed.work)->runs++;
}

int lnet_99_workers_are_one_thread(void)
{
    struct kthread_worker *worker = kthread_create_worker(0, "worker-%d", 1);
    DECLARE_COMPLETION(begun);
    DECLARE_COMPLETION(gate);
    struct job jobs[4];
    int order[4] = {0}, next = 0, i;

    EXPECT(!IS_ERR(worker));
    for (i = 0; i < 4; i++) {
        jobs[i] = (struct job){.order = &order[i], .next = &next};
        kthread_init_work(&jobs[i].work, job_run);
        kthread_init_delayed_work(&jobs[i].delayed, job_later);
    }
    jobs[0].begun = &begun;
    jobs[0].gate = &gate;
    for (i = 0; i < 3; i++)
        EXPECT(kthread_queue_work(worker, &jobs[i].work));
    wait_for_completion(&begun);
    EXPECT(!kthread_queue_work(worker, &jobs[2].work)); /* it has not begun */
    complete(&gate);
    kthread_flush_work(&jobs[1].work);
    EXPECT(order[0] == 1 && order[1] == 2);
    kthread_flush_worker(worker);
    EXPECT(order[2] == 3 && jobs[2].runs == 1);
    EXPECT(kthread_queue_work(worker, &jobs[0].work) && kthread_queue_work(worker, &jobs[3].work));
    wait_for_completion(&begun);
    EXPECT(kthread_cancel_work_sync(&jobs[3].work) && jobs[3].runs == 0);
    EXPECT(!kthread_cancel_work_sync(&jobs[3].work));
    complete(&gate);
    EXPECT(!kthread_cancel_work_sync(&jobs[0].work) && jobs[0].runs == 2); /* waits for its end */

    EXPECT(kthread_queue_delayed_work(worker, &jobs[1].delayed, 100000));
    EXPECT(!kthread_queue_delayed_work(worker, &jobs[1].delayed, 5));
    EXPECT(kthread_mod_delayed_work(worker, &jobs[1].delayed, 8));
    while (jobs[1].runs == 1)
        msleep(1);
    EXPECT(kthread_queue_delayed_work(worker, &jobs[2].delayed, 100000));
    EXPECT(kthread_cancel_delayed_work_sync(&jobs[2].delayed) && jobs[2].runs == 1);
    EXPECT(kthread_queue_delayed_work(worker, &jobs[2].delayed, 0));
    kthread_destroy_worker(worker); /* after its works */
    EXPECT(jobs[2].runs == 2);
    return 0;
}

/* ---- timers in nanoseconds ------------------------------------------------------------------- */

struct ticks {
    struct hrtimer timer;
    int count, most;
    ktime_t last;
    struct completion done;
};

static enum hrtimer_restart tick(struct hrtimer *timer)
{
    struct ticks *ticks = container_of(timer, struct ticks, timer);

    ticks->last = ktime_get();
    if (++ticks->count == ticks->most) {
        complete(&ticks->done);
        return HRTIMER_NORESTART;
    }
    hrtimer_forward_now(timer, 250 * 1000);
    return HRTIMER_RESTART;
}

int lnet_99_timers_in_nanoseconds(void)
{
    struct ticks ticks = {.most = 4};
    ktime_t begin = ktime_get(), until = 300 * 1000;

    init_completion(&ticks.done);
    hrtimer_init(&ticks.timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
    ticks.timer.function = tick;
    EXPECT(!hrtimer_active(&ticks.timer) && hrtimer_cancel(&ticks.timer) == 0);
    hrtimer_start(&ticks.timer, 1000 * NSEC_PER_SEC, HRTIMER_MODE_REL);
    EXPECT(hrtimer_is_queued(&ticks.timer) && hrtimer_active(&ticks.timer));
    hrtimer_start(&ticks.timer, 100 * 1000, HRTIMER_MODE_REL); /* in its place */
    wait_for_completion(&ticks.done);
    EXPECT(ticks.count == 4 && ticks.last - begin >= (100 + 3 * 250) * 1000);
    while (hrtimer_active(&ticks.timer))
        udelay(10);
    hrtimer_start(&ticks.timer, ktime_add_ms(ktime_get(), 1000000), HRTIMER_MODE_ABS);
    EXPECT(hrtimer_get_remaining(&ticks.timer) > 900 * NSEC_PER_SEC);
    EXPECT(hrtimer_cancel(&ticks.timer) == 1 && !hrtimer_active(&ticks.timer));
    hrtimer_set_expires(&ticks.timer, 1000);
    EXPECT(hrtimer_forward(&ticks.timer, 999, 10) == 0);
    EXPECT(hrtimer_forward(&ticks.timer, 1025, 10) == 3 &&
           hrtimer_get_expires(&ticks.timer) == 1030);

    hrtimer_init(&ticks.timer, CLOCK_REALTIME, HRTIMER_MODE_ABS);
    ticks.timer.function = tick;
    ticks.most = 5;
    reinit_completion(&ticks.done);
    begin = ktime_get();
    hrtimer_start(&ticks.timer, ktime_add_us(ktime_get_real(), 2000), HRTIMER_MODE_ABS);
    wait_for_completion(&ticks.done);
    EXPECT(ticks.last - begin > 1000 * 1000);

    begin = ktime_get();
    set_current_state(TASK_UNINTERRUPTIBLE);
    EXPECT(schedule_hrtimeout(&until, HRTIMER_MODE_REL) == 0 && ktime_get() - begin >= until);
    return 0;
}

/* ---- waits for variables and bits ------------------------------------------------------------ */

struct waited {
    unsigned long word;
    atomic_t count;
    int result;
    struct completion done;
};

static int waits_for_both(void *data)
{
    struct waited *waited = data;

    wait_var_event(&waited->count, atomic_read(&waited->count) == 2);
    waited->result = wait_on_bit(&waited->word, 5, TASK_UNINTERRUPTIBLE);
    waited->result += wait_on_bit_lock(&waited->word, 6, TASK_UNINTERRUPTIBLE);
    complete_and_exit(&waited->done, 0);
}

int lnet_99_waits_for_variables_and_bits(void)
{
    struct waited waited = {.word = 1ul << 5 | 1ul << 6, .result = 1};

    init_completion(&waited.done);
    kthread_run(waits_for_both, &waited, "waits");
    msleep(1);
    atomic_inc(&waited.count);
    wake_up_var(&waited.count);
    msleep(1);
    atomic_inc(&waited.count);
    wake_up_var(&waited.word); /* another one: nobody wakes */
    wake_up_var(&waited.count);
    msleep(1);
    clear_and_wake_up_bit(5, &waited.word);
    while (READ_ONCE(waited.result) != 0)
        msleep(1);
    EXPECT(!completion_done(&waited.done));
    clear_and_wake_up_bit(6, &waited.word);
    wait_for_completion(&waited.done);
    EXPECT(waited.result == 0 && waited.word == 1ul << 6); /* it has locked the bit */
    EXPECT(wait_var_event_timeout(&waited.word, waited.word == 0, 2) == 0);
    EXPECT(wait_on_bit_timeout(&waited.word, 6, TASK_UNINTERRUPTIBLE, 2) == -EAGAIN);
    return 0;
}

/* ---- chains, keys, SRCU, tasklets ------------------------------------------------------------ */

static int log_of_calls;
static int first_call(struct notifier_block *block, unsigned long action, void *data)
{
    (void)block;
    log_of_calls = log_of_calls * 10 + 1;
    ++*(int *)data;
    return action == 9 ? notifier_from_errno(-EPERM) : NOTIFY_OK;
}
static int second_call(struct notifier_block *block, unsigned long action, void *data)
{
    (void)block, (void)action, (void)data;
    log_of_calls = log_of_calls * 10 + 2;
    return NOTIFY_DONE;
}

DEFINE_STATIC_KEY_FALSE(rare_path);

struct reader {
    struct srcu_struct *srcu;
    atomic_t state;
};
static int reads_for_long(void *data)
{
    struct reader *reader = data;
    int index = srcu_read_lock(reader->srcu);

    atomic_set(&reader->state, 1);
    msleep(10);
    atomic_set(&reader->state, 2);
    srcu_read_unlock(reader->srcu, index);
    return 0;
}

static void tasklet_counts(unsigned long data)
{
    atomic_inc((atomic_t *)data); /* NOLINT(performance-no-int-to-ptr): as tasklets do */
}

int lnet_99_chains_keys_and_readers_that_sleep(void)
{
    static BLOCKING_NOTIFIER_HEAD(chain);
    static ATOMIC_NOTIFIER_HEAD(plain);
    struct notifier_block low = {.notifier_call = second_call, .priority = 1};
    struct notifier_block high = {.notifier_call = first_call, .priority = 5};
    struct reader reader = {.state = ATOMIC_INIT(0)};
    struct srcu_struct srcu;
    struct tasklet_struct tasklet;
    atomic_t runs = ATOMIC_INIT(0);
    int calls = 0;

    EXPECT(blocking_notifier_chain_register(&chain, &low) == 0);
    EXPECT(blocking_notifier_chain_register(&chain, &high) == 0);
    log_of_calls = 0;
    EXPECT(blocking_notifier_call_chain(&chain, 1, &calls) == NOTIFY_DONE && log_of_calls == 12);
    EXPECT(notifier_to_errno(blocking_notifier_call_chain(&chain, 9, &calls)) == -EPERM);
    EXPECT(log_of_calls == 121 && calls == 2);
    EXPECT(blocking_notifier_chain_unregister(&chain, &high) == 0);
    EXPECT(blocking_notifier_chain_unregister(&chain, &high) == -ENOENT);
    EXPECT(blocking_notifier_chain_unregister(&chain, &low) == 0);
    EXPECT(atomic_notifier_chain_register(&plain, &high) == 0);
    EXPECT(atomic_notifier_call_chain(&plain, 1, &calls) == NOTIFY_OK);
    EXPECT(atomic_notifier_chain_unregister(&plain, &high) == 0);

    EXPECT(!static_branch_unlikely(&rare_path));
    static_branch_inc(&rare_path);
    static_branch_inc(&rare_path);
    static_branch_dec(&rare_path);
    EXPECT(static_branch_unlikely(&rare_path) && static_key_enabled(&rare_path));
    static_branch_disable(&rare_path);
    EXPECT(!static_branch_unlikely(&rare_path));

    EXPECT(init_srcu_struct(&srcu) == 0);
    reader.srcu = &srcu;
    kthread_run(reads_for_long, &reader, "reads");
    while (atomic_read(&reader.state) == 0)
        msleep(1);
    synchronize_srcu(&srcu);
    EXPECT(atomic_read(&reader.state) == 2);
    synchronize_srcu(&srcu);
    cleanup_srcu_struct(&srcu);

    tasklet_init(&tasklet, tasklet_counts, (unsigned long)&runs);
    tasklet_schedule(&tasklet);
    while (atomic_read(&runs) == 0)
        msleep(1);
    tasklet_disable(&tasklet);
    tasklet_schedule(&tasklet);
    msleep(5);
    EXPECT(atomic_read(&runs) == 1);
    tasklet_enable(&tasklet);
    while (atomic_read(&runs) == 1)
        msleep(1);
    tasklet_kill(&tasklet);
    return 0;
}

static atomic_t each;
static void counts_each(struct work_struct *work)
{
    (void)work;
    atomic_inc(&each);
}

int lnet_99_pools_and_works_of_all_processors(void)
{
    mempool_t pool;
    void *objects[3];
    struct kmem_cache *cache = kmem_cache_create("pieces", 48, 8, 0, NULL);
    struct rcu_work later;
    int i, before;

    EXPECT(mempool_init(&pool, 2, mempool_kmalloc, mempool_kfree, (void *)64) == 0);
    EXPECT(pool.curr_nr == 2 && mempool_resize(&pool, 5) == 0 && pool.curr_nr == 5);
    EXPECT(mempool_resize(&pool, 1) == 0 && pool.curr_nr == 1);
    mempool_exit(&pool);
    EXPECT(cache != NULL && kmem_cache_alloc_bulk(cache, GFP_KERNEL, 3, objects) == 3);
    for (i = 0; i < 3; i++)
        memset(objects[i], i, 48);
    kmem_cache_free_bulk(cache, 3, objects);
    kmem_cache_destroy(cache);
    before = atomic_read(&each); /* other ranks count, too */
    EXPECT(schedule_on_each_cpu(counts_each) == 0);
    EXPECT(atomic_read(&each) - before >= (int)num_online_cpus());
    before = atomic_read(&each);
    INIT_RCU_WORK(&later, counts_each);
    EXPECT(queue_rcu_work(system_wq, &later));
    flush_rcu_work(&later);
    EXPECT(atomic_read(&each) > before && work_busy(&later.work) == 0);
    return 0;
}
