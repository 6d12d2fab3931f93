/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The cases of kernel_cases.h that are about bits, numbers, kinds of locks, and ends of threads. */
#include "kernel_cases.h"

#include <linux/atomic.h>
#include <linux/bitmap.h>
#include <linux/bitops.h>
#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/interrupt.h>
#include <linux/kernel.h>
#include <linux/kref.h>
#include <linux/kthread.h>
#include <linux/list.h>
#include <linux/list_sort.h>
#include <linux/lockdep.h>
#include <linux/math64.h>
#include <linux/preempt.h>
#include <linux/ratelimit.h>
#include <linux/rculist.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/seqlock.h>
#include <linux/sort.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#define EXPECT(condition)    \
    do {                     \
        if (!(condition))    \
            return __LINE__; \
    } while (0)

int lnet_99_words_and_maps_of_bits(void)
{
    DECLARE_BITMAP(a, 130);
    DECLARE_BITMAP(b, 130);
    DECLARE_BITMAP(c, 130);
    unsigned long at, sum = 0, count = 0;

    EXPECT(GENMASK(7, 4) == 0xf0 && GENMASK(63, 0) == ~0ul && GENMASK_ULL(32, 32) == 1ull << 32);
    EXPECT(ffz(0x7) == 3 && __fls(0x50) == 6 && fls_long(0) == 0 && __ffs64(1ull << 40) == 40);
    EXPECT(hweight8(0x1ff) == 8 && hweight16(0x10003) == 2 && hweight_long(~0ul) == 64);
    EXPECT(rol32(0x80000001, 1) == 3 && ror32(3, 1) == 0x80000001 && rol64(1, 0) == 1);
    EXPECT(rol8(0x81, 4) == 0x18 && ror16(1, 1) == 0x8000 && sign_extend32(0xf, 3) == -1);

    bitmap_zero(a, 130);
    EXPECT(bitmap_empty(a, 130) && find_first_bit(a, 130) == 130);
    bitmap_set(a, 60, 10);
    set_bit(129, a);
    EXPECT(find_first_bit(a, 130) == 60 && find_next_bit(a, 130, 70) == 129);
    EXPECT(find_next_bit(a, 129, 70) == 129 && find_next_zero_bit(a, 130, 60) == 70);
    EXPECT(find_last_bit(a, 130) == 129 && find_last_bit(a, 129) == 69 &&
           bitmap_weight(a, 130) == 11);
    for_each_set_bit(at, a, 130) sum += at;
    for_each_clear_bit(at, a, 130) count++;
    EXPECT(sum == 645 + 129 && count == 119);
    bitmap_fill(b, 130);
    EXPECT(bitmap_full(b, 130) && find_first_zero_bit(b, 130) == 130 &&
           bitmap_weight(b, 130) == 130);
    EXPECT(bitmap_subset(a, b, 130) && !bitmap_subset(b, a, 130) && bitmap_intersects(a, b, 130));
    EXPECT(bitmap_andnot(c, b, a, 130) && bitmap_weight(c, 130) == 119 &&
           !bitmap_and(c, c, a, 130));
    bitmap_copy(c, a, 130);
    c[2] |= 1ul << 50; /* behind the end */
    EXPECT(bitmap_equal(a, c, 130) && !bitmap_equal(a, b, 130));
    bitmap_clear(c, 60, 10);
    EXPECT(bitmap_weight(c, 130) == 1 && bitmap_or(c, a, c, 130) && bitmap_equal(a, c, 130));
    EXPECT(test_and_change_bit(60, a) && !test_and_change_bit(60, a) && !__test_and_set_bit(0, a));
    EXPECT(!test_and_set_bit_lock(1, a) && test_and_set_bit_lock(1, a));
    clear_bit_unlock(1, a);
    EXPECT(!test_bit(1, a));
    return 0;
}

static int larger(const void *a, const void *b)
{
    return *(const short *)a - *(const short *)b;
}
static void exchange(void *a, void *b, int size)
{
    short before = *(short *)a;

    *(short *)a = *(short *)b;
    *(short *)b = size == 2 ? before : 0;
}

int lnet_99_arrays_are_sorted(void)
{
    short numbers[100], least[100];
    int i, count;

    for (count = 0; count < 100; count += 1 + count / 2) {
        for (i = 0; i < count; i++)
            numbers[i] = least[i] = (short)(i * 37 % 41 - 20);
        sort(numbers, (size_t)count, sizeof(short), larger, NULL);
        sort(least, (size_t)count, sizeof(short), larger, exchange);
        for (i = 1; i < count; i++)
            EXPECT(numbers[i - 1] <= numbers[i]);
        EXPECT(memcmp(numbers, least, (size_t)count * sizeof(short)) == 0);
    }
    return 0;
}

int lnet_99_numbers_of_all_sizes(void)
{
    u32 left;
    size_t size;
    int i = 5;

    EXPECT(U16_MAX == 65535 && S32_MIN == INT_MIN && S64_MAX == LLONG_MAX && U64_MAX == ULLONG_MAX);
    EXPECT(order_base_2(1) == 0 && order_base_2(5) == 3 && order_base_2(8) == 3);
    EXPECT(div_u64(1ull << 40, 3) == 366503875925 && div64_s64(-7, 2) == -3 &&
           div_s64(-9, 3) == -3);
    EXPECT(div_u64_rem(100, 7, &left) == 14 && left == 2 && mul_u32_u32(1u << 31, 4) == 1ull << 33);
    EXPECT(DIV_ROUND_CLOSEST(7, 2) == 4 && DIV_ROUND_CLOSEST(-7, 2) == -4);
    EXPECT(DIV_ROUND_CLOSEST(5u, 4u) == 1 && DIV_ROUND_UP_ULL(1ull << 40, 3) == 366503875926);
    EXPECT(mult_frac(1ul << 62, 3ul, 4ul) == 3ul << 60 && mult_frac(7, 2, 3) == 4);
    EXPECT(clamp_val(i++, 1, 4) == 4 && i == 6 && min_not_zero(0, 3) == 3 &&
           min_not_zero(2, 3) == 2);
    EXPECT(sizeof_field(struct kref, refcount) == 4 && BUILD_BUG_ON_ZERO(0) == 0);
    EXPECT(check_add_overflow((size_t)-1, (size_t)1, &size) && array_size(SIZE_MAX, 2) == SIZE_MAX);
    static_assert(sizeof(u64) == 8, "of 64 bits");
    if (i == 6)
        BUILD_BUG_ON(sizeof(int) != 4);
    else
        BUILD_BUG_ON_MSG(sizeof(long) != 8, "another machine");
    return 0;
}

static int confined(void *data)
{
    cpumask_var_t set;
    int rc = -ENOMEM;
    unsigned cpu;

    if (!zalloc_cpumask_var(&set, GFP_KERNEL))
        return rc;
    EXPECT(cpumask_equal(&current->cpus_mask, cpu_online_mask) && cpumask_empty(set));
    EXPECT(set_cpus_allowed_ptr(current, set) == -EINVAL);
    /* The system may keep some of them from the process. */
    for (cpu = nr_cpu_ids; rc != 0 && cpu-- > 0;) {
        cpumask_clear(set);
        cpumask_set_cpu(cpu, set);
        rc = set_cpus_allowed_ptr(current, set);
    }
    cpumask_copy(data, set);
    EXPECT(rc == 0 && current->nr_cpus_allowed == 1);
    EXPECT(cpumask_equal(&current->cpus_allowed, set));
    free_cpumask_var(set);
    while (!kthread_should_stop())
        schedule_timeout_interruptible(1);
    return -EALREADY;
}

int lnet_99_sets_of_processors(void)
{
    cpumask_t set = CPU_MASK_NONE, other, both;
    unsigned cpu, count = 0;
    struct task_struct *task = kthread_run(confined, &set, "confined");

    while (cpumask_empty(&set))
        msleep(1);
    EXPECT(kthread_stop(task) == -EALREADY);
    EXPECT(cpumask_weight(&set) == 1 && cpumask_first(&set) < nr_cpu_ids);
    for_each_online_cpu(cpu) count += cpu_online(cpu) && cpumask_test_cpu(cpu, cpu_online_mask);
    EXPECT(count == num_online_cpus() && cpumask_full(cpu_online_mask));
    cpumask_clear(&other);
    cpumask_set_cpu(5, &other);
    cpumask_set_cpu(70, &other);
    count = 0;
    for_each_cpu(cpu, &other) count += cpu;
    EXPECT(count == 75 && cpumask_next(5, &other) == 70 && cpumask_next(70, &other) >= nr_cpu_ids);
    cpumask_clear_cpu(5, &other);
    cpumask_copy(&both, &other);
    cpumask_set_cpu(71, &both);
    EXPECT(cpumask_subset(&other, &both) && !cpumask_subset(&both, &other));
    EXPECT(cpumask_andnot(&both, &both, &other) && cpumask_weight(&both) == 1);
    EXPECT(!cpumask_intersects(&both, &other) && !cpumask_and(&both, &both, &other));
    return 0;
}

static int released;
static void release(struct kref *kref __always_unused)
{
    released++;
}

int lnet_99_atomics_of_all_kinds(void)
{
    atomic_t v = ATOMIC_INIT(5);
    atomic64_t big = ATOMIC64_INIT(1ll << 40);
    struct kref kref = KREF_INIT(2);
    DEFINE_MUTEX(mutex);
    DEFINE_SPINLOCK(spin);
    refcount_t count = REFCOUNT_INIT(1);
    int old = 4;

    EXPECT(atomic_fetch_sub(2, &v) == 5 && atomic_fetch_inc(&v) == 3 && atomic_fetch_dec(&v) == 4);
    EXPECT(!atomic_try_cmpxchg(&v, &old, 9) && old == 3 && atomic_try_cmpxchg(&v, &old, 9));
    atomic_andnot(1, &v);
    EXPECT(atomic_read(&v) == 8 && atomic_fetch_or(3, &v) == 8 && atomic_fetch_xor(1, &v) == 11);
    EXPECT(atomic_fetch_add_unless(&v, 1, 10) == 10 && atomic_fetch_add_unless(&v, 1, 9) == 10);
    EXPECT(atomic64_add_unless(&big, 1, 0) && atomic64_fetch_add(1, &big) == (1ll << 40) + 1);
    atomic64_set(&big, 0);
    EXPECT(!atomic64_inc_not_zero(&big) && atomic64_dec_return(&big) == -1);
    atomic_set(&v, 0);
    EXPECT(atomic_dec_unless_positive(&v) && !atomic_inc_unless_negative(&v));
    EXPECT(!kref_put_mutex(&kref, release, &mutex) && released == 0 && !mutex_is_locked(&mutex));
    EXPECT(kref_put_mutex(&kref, release, &mutex) && released == 1 && mutex_is_locked(&mutex));
    mutex_unlock(&mutex);
    kref_init(&kref);
    EXPECT(kref_put_lock(&kref, release, &spin) && released == 2 && !spin_can_lock(&spin));
    spin_unlock(&spin);
    EXPECT(!refcount_dec_not_one(&count) && refcount_dec_if_one(&count));
    EXPECT(!refcount_add_not_zero(1, &count));
    released = 0;
    return 0;
}

int lnet_99_locks_of_all_kinds(void)
{
    DEFINE_SEQLOCK(sequence);
    DEFINE_RWLOCK(lock);
    DECLARE_RWSEM(sem);
    DEFINE_RAW_SPINLOCK(raw);
    spinlock_t spin = __SPIN_LOCK_UNLOCKED(spin);
    unsigned long flags;
    unsigned start;

    start = read_seqbegin(&sequence);
    EXPECT(!read_seqretry(&sequence, start));
    write_seqlock(&sequence);
    EXPECT(raw_seqcount_begin(&sequence.seqcount) == start && read_seqretry(&sequence, start));
    write_sequnlock(&sequence);
    EXPECT(read_seqretry(&sequence, start) && read_seqbegin(&sequence) == start + 2);
    EXPECT(read_trylock(&lock) && read_trylock(&lock) && !write_trylock(&lock));
    read_unlock(&lock);
    read_unlock(&lock);
    EXPECT(write_trylock(&lock) && !read_trylock(&lock));
    write_unlock_irq(&lock);
    EXPECT(!rwsem_is_locked(&sem) && down_write_killable(&sem) == 0 && rwsem_is_locked(&sem));
    lockdep_assert_held(&sem);
    up_write(&sem);
    raw_spin_lock_irqsave(&raw, flags);
    EXPECT(!raw_spin_trylock(&raw));
    raw_spin_unlock_irqrestore(&raw, flags);
    local_irq_save(flags);
    preempt_disable();
    EXPECT(spin_trylock_irqsave(&spin, flags) && !spin_trylock_irqsave(&spin, flags));
    spin_unlock_irqrestore(&spin, flags);
    preempt_enable();
    local_irq_restore(flags);
    EXPECT(!in_irq() && !in_atomic() && !need_resched() && capable(CAP_SYS_ADMIN));
    return 0;
}

struct number {
    struct list_head link;
    struct hlist_node chain;
    int value, order;
};
static int by_value(void *calls, struct list_head *a, struct list_head *b)
{
    ++*(int *)calls;
    return list_entry(a, struct number, link)->value > list_entry(b, struct number, link)->value;
}

int lnet_99_lists_are_sorted_and_cut(void)
{
    struct number numbers[50], *at;
    LIST_HEAD(list);
    LIST_HEAD(front);
    HLIST_HEAD(chain);
    HLIST_HEAD(moved);
    int i, calls = 0, sum = 0;

    list_sort(&calls, &list, by_value);
    for (i = 0; i < 50; i++) {
        numbers[i].value = i * 7 % 10;
        numbers[i].order = i;
        list_add_tail(&numbers[i].link, &list);
    }
    list_sort(&calls, &list, by_value);
    EXPECT(list_count_nodes(&list) == 50 && calls > 50 && calls < 400);
    i = -1;
    list_for_each_entry (at, &list, link) {
        EXPECT(at->value * 100 + at->order > i && at->link.next->prev == &at->link);
        i = at->value * 100 + at->order;
    }
    at = list_first_entry(&list, struct number, link);
    at = list_next_entry(at, link);
    list_cut_before(&front, &list, &at->link);
    EXPECT(list_is_singular(&front) && list_count_nodes(&list) == 49);
    list_bulk_move_tail(&front, list.next, list.next->next);
    EXPECT(list_count_nodes(&front) == 3 && list_count_nodes(&list) == 47);
    at = list_last_entry(&list, struct number, link);
    list_for_each_entry_continue_reverse(at, &list, link) sum++;
    EXPECT(sum == 46);

    at = list_first_entry(&list, struct number, link);
    list_del_rcu(&at->link);
    EXPECT(at->link.next == list.next && at->link.prev == LIST_POISON2);
    at = list_first_entry(&list, struct number, link);
    list_del(&at->link);
    EXPECT(at->link.next == LIST_POISON1 && !list_empty(&at->link));

    hlist_add_head(&numbers[1].chain, &chain);
    hlist_add_before(&numbers[0].chain, &numbers[1].chain);
    hlist_add_behind(&numbers[3].chain, &numbers[1].chain);
    hlist_add_behind(&numbers[2].chain, &numbers[1].chain);
    hlist_move_list(&chain, &moved);
    EXPECT(hlist_empty(&chain));
    i = 0;
    hlist_for_each_entry(at, &moved, chain) EXPECT(at == &numbers[i++]);
    EXPECT(i == 4);
    hlist_del(&numbers[0].chain);
    at = &numbers[1];
    hlist_for_each_entry_continue(at, chain) i++;
    EXPECT(i == 6 && moved.first == &numbers[1].chain);
    return 0;
}

/* ---- threads --------------------------------------------------------------------------------- */

static void leaves(struct completion *done)
{
    complete_and_exit(done, -EPIPE);
}
static int leaves_early(void *data)
{
    leaves(data);
    return 0;
}
static int exits(void *data)
{
    complete(data);
    do_exit(7);
}

int lnet_99_threads_end_where_they_want(void)
{
    DECLARE_COMPLETION(done);
    struct task_struct *task = kthread_create(leaves_early, &done, "leaves");

    get_task_struct(task);
    wake_up_process(task);
    EXPECT(wait_for_completion_killable_timeout(&done, 10 * HZ) > 0);
    EXPECT(kthread_stop(task) == -EPIPE);
    put_task_struct(task);
    task = kthread_create(exits, &done, "exits");
    get_task_struct(task);
    wake_up_process(task);
    wait_for_completion(&done);
    EXPECT(kthread_stop(task) == 7);
    put_task_struct(task);

    EXPECT(!test_and_clear_thread_flag(TIF_SIGPENDING));
    set_thread_flag(TIF_SIGPENDING);
    EXPECT(test_thread_flag(TIF_SIGPENDING));
    flush_signals(current);
    EXPECT(!test_thread_flag(TIF_SIGPENDING) && schedule_timeout_idle(1) == 0);
    return 0;
}

/* Ranks of a simulation share what is static. */
struct door {
    wait_queue_head_t queue;
    struct completion done;
};
static int waits_woken(void *data)
{
    struct door *door = data;
    DEFINE_WAIT_FUNC(entry, woken_wake_function);
    long left;

    add_wait_queue(&door->queue, &entry);
    complete(&door->done);
    while ((READ_ONCE(entry.flags) & WQ_FLAG_WOKEN) == 0) /* it is woken before it waits */
        msleep(1);
    left = wait_woken(&entry, TASK_INTERRUPTIBLE, 20 * HZ);
    EXPECT(left == 20 * HZ && wait_woken(&entry, TASK_INTERRUPTIBLE, 1) == 0);
    remove_wait_queue(&door->queue, &entry);
    complete(&door->done);
    while (!kthread_should_stop())
        schedule_timeout_interruptible(1);
    return -EALREADY;
}
static void counts(struct work_struct *work __always_unused)
{
    released++;
}

int lnet_99_entries_that_were_woken_and_works_that_were_not(void)
{
    struct door door;
    DECLARE_DELAYED_WORK(work, counts);
    struct task_struct *task;

    init_waitqueue_head(&door.queue);
    init_completion(&door.done);
    task = kthread_run(waits_woken, &door, "waits_woken");
    wait_for_completion(&door.done);
    wake_up(&door.queue);
    wait_for_completion(&door.done);
    EXPECT(kthread_stop(task) == -EALREADY);

    EXPECT(queue_delayed_work_on(0, system_highpri_wq, &work, 10 * HZ));
    EXPECT(cancel_delayed_work(&work) && !cancel_work(&work.work) && released == 0);
    return 0;
}

int lnet_99_messages_have_a_limit(void)
{
    DEFINE_RATELIMIT_STATE(state, 600 * HZ, 3);
    char to[8] = "xxxxxxx";
    int i, printed = 0;

    for (i = 0; i < 10; i++)
        printed += __ratelimit(&state);
    EXPECT(printed == 3 && state.missed == 7);
    ratelimit_state_init(&state, 1, 1);
    EXPECT(__ratelimit(&state));
    msleep(3);
    EXPECT(__ratelimit(&state));
    for (i = 0; i < 10; i++)
        printed += printk_ratelimit() != 0;
    EXPECT(printed >= 4 - 1 && printed <= 13); /* ranks of a simulation have the place together */
    EXPECT(strncpy_from_user(to, "abc", 8) == 3 && strcmp(to, "abc") == 0 && to[4] == 'x');
    EXPECT(strncpy_from_user(to, "abcdefgh", 4) == 4 && memcmp(to, "abcdxxx", 7) == 0);
    EXPECT(strnlen_user("abc", 8) == 4 && strnlen_user("abc", 2) == 3 && clear_user(to, 8) == 0);
    EXPECT(to[0] == 0);
    return 0;
}

/* ---- readers without locks ------------------------------------------------------------------- */

struct shared {
    struct list_head link;
    struct hlist_node chain;
    struct rcu_head rcu;
    struct reading *reading;
    int value;
};
struct reading {
    struct shared *published;
    struct completion read, may_end, ended;
    int freed;
};

static int reads(void *data)
{
    struct reading *reading = data;
    struct shared *own;
    int value;

    rcu_read_lock();
    own = rcu_dereference(reading->published);
    complete(&reading->read);
    wait_for_completion(&reading->may_end); /* code for the kernel does not sleep here */
    value = own->value + READ_ONCE(reading->freed);
    rcu_read_unlock();
    complete(&reading->ended);
    while (!kthread_should_stop())
        schedule_timeout_interruptible(1);
    return value;
}
static void frees(struct rcu_head *head)
{
    struct shared *own = container_of(head, struct shared, rcu);

    own->value = -1;
    WRITE_ONCE(own->reading->freed, 1000);
    kfree(own);
}

int lnet_99_what_readers_see_stays(void)
{
    struct reading reading = {.freed = 0};
    struct shared *own = kzalloc(sizeof(*own), GFP_KERNEL), *at;
    struct shared some[3];
    struct task_struct *task;
    LIST_HEAD(list);
    HLIST_HEAD(chain);
    int i, digits = 0;

    EXPECT(own != NULL);
    own->reading = &reading;
    own->value = 7;
    init_completion(&reading.read);
    init_completion(&reading.may_end);
    init_completion(&reading.ended);
    rcu_assign_pointer(reading.published, own);
    task = kthread_run(reads, &reading, "reads");
    wait_for_completion(&reading.read);
    rcu_assign_pointer(reading.published, NULL);
    call_rcu(&own->rcu, frees);
    msleep(5);
    EXPECT(READ_ONCE(reading.freed) == 0);
    complete(&reading.may_end);
    wait_for_completion(&reading.ended);
    rcu_barrier();
    EXPECT(reading.freed == 1000 && kthread_stop(task) == 7);
    synchronize_rcu();
    own = kzalloc(sizeof(*own), GFP_KERNEL);
    kfree_rcu(own, rcu);
    rcu_barrier();

    EXPECT(list_first_or_null_rcu(&list, struct shared, link) == NULL);
    for (i = 0; i < 3; i++) {
        some[i].value = i + 1;
        list_add_tail_rcu(&some[i].link, &list);
        hlist_add_head_rcu(&some[i].chain, &chain);
    }
    list_for_each_entry_rcu(at, &list, link)
    {
        digits = digits * 10 + at->value;
        if (at == &some[1])
            list_del_rcu(&at->link); /* and the walk goes on */
    }
    hlist_for_each_entry_rcu(at, &chain, chain)
    {
        digits = digits * 10 + at->value;
        if (at == &some[1])
            hlist_del_rcu(&at->chain);
    }
    EXPECT(digits == 123321 && list_count_nodes(&list) == 2 &&
           some[2].chain.next == &some[0].chain);
    list_replace_rcu(&some[0].link, &some[1].link);
    EXPECT(list_first_or_null_rcu(&list, struct shared, link) == &some[1]);
    return 0;
}

/* ---- a lock that is held for long ------------------------------------------------------------ */

struct held {
    spinlock_t lock;
    struct completion taken;
};

static int holds(void *data)
{
    struct held *held = data;

    spin_lock(&held->lock);
    complete(&held->taken);
    msleep(5); /* a kernel would complain */
    spin_unlock(&held->lock);
    return 0;
}

int lnet_99_a_spin_lock_whose_holder_sleeps(void)
{
    struct held held;
    unsigned long flags;

    spin_lock_init(&held.lock);
    init_completion(&held.taken);
    EXPECT(spin_trylock(&held.lock) && !spin_trylock(&held.lock) && spin_is_locked(&held.lock));
    spin_unlock(&held.lock);
    kthread_run(holds, &held, "holds");
    wait_for_completion(&held.taken);
    spin_lock_irqsave(&held.lock, flags);
    spin_unlock_irqrestore(&held.lock, flags);
    return 0;
}
