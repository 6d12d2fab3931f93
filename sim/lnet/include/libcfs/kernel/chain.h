/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Chains of functions (linux/notifier.h), keys of branches (linux/jump_label.h), SRCU, tasklets. */
#ifndef JACQUARD_LIBCFS_KERNEL_CHAIN_H
#define JACQUARD_LIBCFS_KERNEL_CHAIN_H

#include "libcfs/libcfs.h"

/* ---- linux/notifier.h ------------------------------------------------------------------------ */

struct notifier_block;
typedef int (*notifier_fn_t)(struct notifier_block *block, unsigned long action, void *data);
struct notifier_block {
    notifier_fn_t notifier_call;
    struct notifier_block *next;
    int priority; /* the greatest one is called first */
};
#define NOTIFY_DONE 0x0000
#define NOTIFY_OK 0x0001
#define NOTIFY_STOP_MASK 0x8000
#define NOTIFY_BAD (NOTIFY_STOP_MASK | 0x0002)
#define NOTIFY_STOP (NOTIFY_OK | NOTIFY_STOP_MASK)
static inline int notifier_from_errno(int error)
{
    return error != 0 ? NOTIFY_STOP_MASK | (NOTIFY_OK - error) : NOTIFY_OK;
}
static inline int notifier_to_errno(int result)
{
    result &= ~NOTIFY_STOP_MASK;
    return result > NOTIFY_OK ? NOTIFY_OK - result : 0;
}
struct raw_notifier_head {
    struct notifier_block *head;
};
struct blocking_notifier_head {
    struct rw_semaphore rwsem;
    struct raw_notifier_head chain;
};
struct atomic_notifier_head {
    spinlock_t lock; /* of changes */
    struct raw_notifier_head chain;
};
#define RAW_NOTIFIER_HEAD(name) struct raw_notifier_head name = {NULL}
#define BLOCKING_NOTIFIER_HEAD(name) \
    struct blocking_notifier_head name = {.rwsem = __RWSEM_INITIALIZER((name).rwsem)}
#define ATOMIC_NOTIFIER_HEAD(name) struct atomic_notifier_head name = {.chain = {NULL}}
#define RAW_INIT_NOTIFIER_HEAD(chain_) ((void)((chain_)->head = NULL))
#define BLOCKING_INIT_NOTIFIER_HEAD(name) \
    (init_rwsem(&(name)->rwsem), (void)((name)->chain.head = NULL))
#define ATOMIC_INIT_NOTIFIER_HEAD(name) \
    (spin_lock_init(&(name)->lock), (void)((name)->chain.head = NULL))
static inline int raw_notifier_chain_register(struct raw_notifier_head *chain,
                                              struct notifier_block *block)
{
    struct notifier_block **place = &chain->head;

    while (*place != NULL && (*place)->priority >= block->priority) {
        if (*place == block)
            return -EEXIST;
        place = &(*place)->next;
    }
    block->next = *place;
    smp_store_release(place, block);
    return 0;
}
static inline int raw_notifier_chain_unregister(struct raw_notifier_head *chain,
                                                const struct notifier_block *block)
{
    struct notifier_block **place;

    for (place = &chain->head; *place != NULL; place = &(*place)->next) {
        if (*place != block)
            continue;
        smp_store_release(place, block->next);
        return 0;
    }
    return -ENOENT;
}
/* The result of the last one that was called: the first one with NOTIFY_STOP_MASK ends it. */
static inline int raw_notifier_call_chain(struct raw_notifier_head *chain, unsigned long action,
                                          void *data)
{
    struct notifier_block *block = smp_load_acquire(&chain->head), *next;
    int result = NOTIFY_DONE;

    for (; block != NULL && (result & NOTIFY_STOP_MASK) == 0; block = next) {
        next = smp_load_acquire(&block->next); /* the block may leave the chain */
        result = block->notifier_call(block, action, data);
    }
    return result;
}
#define LIBCFS_CHAIN_CHANGE(lock, unlock, call) \
    ({                                          \
        int chain_result__;                     \
        lock;                                   \
        chain_result__ = (call);                \
        unlock;                                 \
        chain_result__;                         \
    })
#define blocking_notifier_chain_register(name, block)                         \
    LIBCFS_CHAIN_CHANGE(down_write(&(name)->rwsem), up_write(&(name)->rwsem), \
                        raw_notifier_chain_register(&(name)->chain, block))
#define blocking_notifier_chain_unregister(name, block)                       \
    LIBCFS_CHAIN_CHANGE(down_write(&(name)->rwsem), up_write(&(name)->rwsem), \
                        raw_notifier_chain_unregister(&(name)->chain, block))
#define blocking_notifier_call_chain(name, action, data)                    \
    LIBCFS_CHAIN_CHANGE(down_read(&(name)->rwsem), up_read(&(name)->rwsem), \
                        raw_notifier_call_chain(&(name)->chain, action, data))
#define atomic_notifier_chain_register(name, block)                           \
    LIBCFS_CHAIN_CHANGE(spin_lock(&(name)->lock), spin_unlock(&(name)->lock), \
                        raw_notifier_chain_register(&(name)->chain, block))
/* And waits for those who call the chain. */
#define atomic_notifier_chain_unregister(name, block)                                              \
    LIBCFS_CHAIN_CHANGE(spin_lock(&(name)->lock), (spin_unlock(&(name)->lock), synchronize_rcu()), \
                        raw_notifier_chain_unregister(&(name)->chain, block))
#define atomic_notifier_call_chain(name, action, data)      \
    LIBCFS_CHAIN_CHANGE(rcu_read_lock(), rcu_read_unlock(), \
                        raw_notifier_call_chain(&(name)->chain, action, data))

/* ---- linux/jump_label.h: a count that decides ------------------------------------------------ */

struct static_key {
    int enabled; /* changed atomically */
};
struct static_key_true {
    struct static_key key;
};
struct static_key_false {
    struct static_key key;
};
#define STATIC_KEY_INIT_TRUE \
    {                        \
        1                    \
    }
#define STATIC_KEY_INIT_FALSE \
    {                         \
        0                     \
    }
#define STATIC_KEY_INIT STATIC_KEY_INIT_FALSE
#define DEFINE_STATIC_KEY_TRUE(name) struct static_key_true name = {STATIC_KEY_INIT_TRUE}
#define DEFINE_STATIC_KEY_FALSE(name) struct static_key_false name = {STATIC_KEY_INIT_FALSE}
#define DECLARE_STATIC_KEY_TRUE(name) extern struct static_key_true name
#define DECLARE_STATIC_KEY_FALSE(name) extern struct static_key_false name
#define static_key_count(key) __atomic_load_n(&(key)->enabled, __ATOMIC_SEQ_CST)
#define static_key_slow_inc(key) ((void)__atomic_add_fetch(&(key)->enabled, 1, __ATOMIC_SEQ_CST))
#define static_key_slow_dec(key) ((void)__atomic_sub_fetch(&(key)->enabled, 1, __ATOMIC_SEQ_CST))
#define static_key_enable(key) __atomic_store_n(&(key)->enabled, 1, __ATOMIC_SEQ_CST)
#define static_key_disable(key) __atomic_store_n(&(key)->enabled, 0, __ATOMIC_SEQ_CST)
#define static_key_false(key) unlikely(static_key_count(key) > 0)
#define static_key_true(key) likely(static_key_count(key) > 0)
#define static_key_enabled(key) (static_key_count((struct static_key *)(void *)(key)) > 0)
#define static_branch_likely(name) likely(static_key_count(&(name)->key) > 0)
#define static_branch_unlikely(name) unlikely(static_key_count(&(name)->key) > 0)
#define static_branch_inc(name) static_key_slow_inc(&(name)->key)
#define static_branch_dec(name) static_key_slow_dec(&(name)->key)
#define static_branch_enable(name) static_key_enable(&(name)->key)
#define static_branch_disable(name) static_key_disable(&(name)->key)

/* ---- linux/srcu.h: readers that may sleep, of one structure ---------------------------------- */

struct srcu_struct {
    int readers[2]; /* changed atomically */
    int current_; /* for new readers */
    struct mutex writers;
};
#define LIBCFS_SRCU_INIT(name)                                        \
    {                                                                 \
        .current_ = 0, .writers = __MUTEX_INITIALIZER((name).writers) \
    }
#define DEFINE_SRCU(name) struct srcu_struct name = LIBCFS_SRCU_INIT(name)
#define DEFINE_STATIC_SRCU(name) static struct srcu_struct name = LIBCFS_SRCU_INIT(name)
static inline int init_srcu_struct(struct srcu_struct *srcu)
{
    memset(srcu, 0, sizeof(*srcu));
    mutex_init(&srcu->writers);
    return 0;
}
static inline void cleanup_srcu_struct(struct srcu_struct *srcu)
{
    (void)WARN_ON(srcu->readers[0] != 0 || srcu->readers[1] != 0);
}
static inline int srcu_read_lock(struct srcu_struct *srcu)
{
    int index = __atomic_load_n(&srcu->current_, __ATOMIC_SEQ_CST);

    (void)__atomic_add_fetch(&srcu->readers[index], 1, __ATOMIC_SEQ_CST);
    return index;
}
static inline void srcu_read_unlock(struct srcu_struct *srcu, int index)
{
    if (__atomic_sub_fetch(&srcu->readers[index], 1, __ATOMIC_SEQ_CST) == 0)
        wake_up_var(&srcu->readers[index]);
}
#define srcu_read_lock_held(srcu) ((void)(srcu), 1)
#define srcu_dereference(pointer, srcu) ((void)(srcu), rcu_dereference(pointer))
#define srcu_dereference_check(pointer, srcu, condition) srcu_dereference(pointer, srcu)
/* Waits for all readers of now: for those of either count, since one that has read the index may
 * count itself late. New readers use the other count. */
static inline void synchronize_srcu(struct srcu_struct *srcu)
{
    int i, index;

    mutex_lock(&srcu->writers);
    for (i = 0; i < 2; i++) {
        index = srcu->current_;
        __atomic_store_n(&srcu->current_, !index, __ATOMIC_SEQ_CST);
        wait_var_event(&srcu->readers[index],
                       __atomic_load_n(&srcu->readers[index], __ATOMIC_SEQ_CST) == 0);
    }
    mutex_unlock(&srcu->writers);
}
#define synchronize_srcu_expedited(srcu) synchronize_srcu(srcu)
#define srcu_barrier(srcu) synchronize_srcu(srcu)

/* ---- tasklets of linux/interrupt.h: works of the process's queue ----------------------------- */

struct tasklet_struct {
    struct work_struct work;
    int count; /* so many have disabled it */
    bool use_callback;
    union {
        void (*func)(unsigned long data);
        void (*callback)(struct tasklet_struct *tasklet);
    };
    unsigned long data;
};
static inline void libcfs_tasklet_run(struct work_struct *work)
{
    struct tasklet_struct *tasklet = container_of(work, struct tasklet_struct, work);

    if (__atomic_load_n(&tasklet->count, __ATOMIC_SEQ_CST) != 0) {
        libcfs_sleep(1000000); /* until it is enabled */
        (void)schedule_work(work);
    } else if (tasklet->use_callback) {
        tasklet->callback(tasklet);
    } else {
        tasklet->func(tasklet->data);
    }
}
static inline void tasklet_init(struct tasklet_struct *tasklet, void (*run)(unsigned long data),
                                unsigned long data)
{
    memset(tasklet, 0, sizeof(*tasklet));
    INIT_WORK(&tasklet->work, libcfs_tasklet_run);
    tasklet->func = run;
    tasklet->data = data;
}
static inline void tasklet_setup(struct tasklet_struct *tasklet,
                                 void (*run)(struct tasklet_struct *tasklet))
{
    tasklet_init(tasklet, NULL, 0);
    tasklet->use_callback = true;
    tasklet->callback = run;
}
#define DECLARE_TASKLET(name, run, argument) \
    struct tasklet_struct name = {           \
        .work = {.func = libcfs_tasklet_run}, .func = (run), .data = (argument)}
#define from_tasklet(var, tasklet, field) container_of(tasklet, __typeof__(*(var)), field)
/* Once, if it has not begun; again, if it runs. */
#define tasklet_schedule(tasklet) ((void)schedule_work(&(tasklet)->work))
#define tasklet_hi_schedule(tasklet) tasklet_schedule(tasklet)
#define tasklet_disable_nosync(tasklet) \
    ((void)__atomic_add_fetch(&(tasklet)->count, 1, __ATOMIC_SEQ_CST))
#define tasklet_enable(tasklet) ((void)__atomic_sub_fetch(&(tasklet)->count, 1, __ATOMIC_SEQ_CST))
/* Waits until it does not run, and is not scheduled. */
#define tasklet_kill(tasklet) ((void)cancel_work_sync(&(tasklet)->work))
static inline void tasklet_disable(struct tasklet_struct *tasklet)
{
    tasklet_disable_nosync(tasklet);
    if (cancel_work_sync(&tasklet->work))
        (void)schedule_work(&tasklet->work);
}

#endif
