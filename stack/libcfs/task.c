/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Tasks: the state of a process, kthreads, sleeping and waking. */
#include "kernel.h"

#include <stdarg.h>

_Static_assert(sizeof(struct libcfs_task) <= 512 && sizeof(struct workqueue_struct) <= 512,
               "blocks have room for all objects");
enum { BLOCK_BYTES = LIBCFS_BLOCK_BYTES, CHUNK_BYTES = 64 * BLOCK_BYTES };

/* ---- the process ----------------------------------------------------------------------------- */

static struct libcfs_kernel *kernel_make(void)
{
    struct libcfs_kernel *kernel = port_pages_alloc(sizeof(*kernel), 0);

    if (kernel == NULL)
        port_panic("libcfs: there is no memory for the state of a process");
    INIT_LIST_HEAD(&kernel->kthreads);
    INIT_LIST_HEAD(&kernel->timers);
    INIT_LIST_HEAD(&kernel->hrtimers);
    INIT_LIST_HEAD(&kernel->hungry);
    init_waitqueue_head(&kernel->parking);
    init_waitqueue_head(&kernel->timer_ended);
    init_rwsem(&kernel->mm.mmap_sem);
    cpumask_setall(&kernel->online);
    mutex_init(&kernel->device_lock);
    INIT_LIST_HEAD(&kernel->devices);
    libcfs_workqueue_setup(&kernel->works, kernel, LIBCFS_WORKERS_DEFAULT);
    snprintf(kernel->works.name, sizeof(kernel->works.name), "events");
    return kernel;
}

struct libcfs_kernel *libcfs_kernel(void)
{
    struct libcfs_kernel **slot = (struct libcfs_kernel **)port_slot(PORT_SLOT_LIBCFS);
    struct libcfs_kernel *kernel = __atomic_load_n(slot, __ATOMIC_ACQUIRE), *none = NULL;

    if (kernel != NULL)
        return kernel;
    kernel = kernel_make();
    if (__atomic_compare_exchange_n(slot, &none, kernel, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return kernel;
    port_pages_free(kernel, sizeof(*kernel)); /* another thread was faster */
    return none;
}

/* A block's first word is the next free one. */
void *libcfs_block_alloc(struct libcfs_kernel *kernel)
{
    void *block;

    spin_lock(&kernel->lock);
    if (kernel->free_blocks == NULL) {
        char *chunk = port_pages_alloc(CHUNK_BYTES, 0);
        size_t at;

        for (at = 0; chunk != NULL && at < CHUNK_BYTES; at += BLOCK_BYTES) {
            *(void **)(void *)(chunk + at) = kernel->free_blocks;
            kernel->free_blocks = chunk + at;
        }
    }
    block = kernel->free_blocks;
    if (block != NULL)
        kernel->free_blocks = *(void **)block;
    spin_unlock(&kernel->lock);
    return block;
}

void libcfs_block_free(struct libcfs_kernel *kernel, void *block)
{
    spin_lock(&kernel->lock);
    *(void **)block = kernel->free_blocks;
    kernel->free_blocks = block;
    spin_unlock(&kernel->lock);
}

/* ---- tasks ----------------------------------------------------------------------------------- */

static struct libcfs_task *own(struct task_struct *task)
{
    return task->own;
}

static struct libcfs_task **bucket_of(struct libcfs_kernel *kernel,
                                      const struct port_thread *thread)
{
    uintptr_t hash = (uintptr_t)thread * 0x9e3779b97f4a7c15u;

    return &kernel->buckets[hash >> 58];
}
_Static_assert(LIBCFS_BUCKETS == 1 << (64 - 58), "six bits of a hash");

static struct libcfs_task *task_make(struct libcfs_kernel *kernel)
{
    struct port_semaphore wake;
    struct libcfs_task *task;

    spin_lock(&kernel->lock);
    task = kernel->free_tasks;
    if (task != NULL)
        kernel->free_tasks = task->next;
    spin_unlock(&kernel->lock);
    if (task == NULL) {
        task = libcfs_block_alloc(kernel);
        if (task == NULL)
            return NULL;
        port_semaphore_init(&task->wake);
    }
    wake = task->wake;
    *task = (struct libcfs_task){.wake = wake, .kernel = kernel, .task.own = task};
    task->task.pid = __atomic_add_fetch(&kernel->next_pid, 1, __ATOMIC_RELAXED);
    task->task.nr_cpus_allowed = (int)port_processors();
    task->task.cpus_mask = kernel->online;
    INIT_LIST_HEAD(&task->on_kthreads);
    return task;
}

static void task_free(struct libcfs_task *task)
{
    struct libcfs_kernel *kernel = task->kernel;

    assert(task->references == 0);
    spin_lock(&kernel->lock);
    task->next = kernel->free_tasks;
    kernel->free_tasks = task;
    spin_unlock(&kernel->lock);
}

static void bucket_add(struct libcfs_kernel *kernel, struct libcfs_task *task,
                       struct port_thread *thread)
{
    struct libcfs_task **bucket = bucket_of(kernel, thread);

    spin_lock(&kernel->lock);
    task->thread = thread;
    task->next = *bucket;
    *bucket = task;
    spin_unlock(&kernel->lock);
}

static void bucket_remove(struct libcfs_kernel *kernel, struct libcfs_task *task)
{
    struct libcfs_task **at = bucket_of(kernel, task->thread);

    spin_lock(&kernel->lock);
    while (*at != NULL && *at != task)
        at = &(*at)->next;
    assert(*at == task);
    *at = task->next;
    spin_unlock(&kernel->lock);
}

static struct libcfs_task *bucket_find(struct libcfs_kernel *kernel,
                                       const struct port_thread *thread)
{
    struct libcfs_task *task;

    spin_lock(&kernel->lock);
    for (task = *bucket_of(kernel, thread); task != NULL && task->thread != thread;)
        task = task->next;
    spin_unlock(&kernel->lock);
    return task;
}

/* The first one that a thread of the process had. */
static pid_t process_number(struct libcfs_kernel *kernel, pid_t pid)
{
    pid_t none = 0;

    return __atomic_compare_exchange_n(&kernel->tgid, &none, pid, false, __ATOMIC_RELAXED,
                                       __ATOMIC_RELAXED)
               ? pid
               : none;
}

/* A thread that was not started here gets a task. It keeps it: the record of an ended thread may be
 * that of another one, which then has the task. */
struct task_struct *libcfs_current(void)
{
    struct libcfs_kernel *kernel = libcfs_kernel();
    struct port_thread *thread = port_thread_self();
    struct libcfs_task *task = bucket_find(kernel, thread);

    if (task == NULL) {
        task = task_make(kernel);
        if (task == NULL)
            port_panic("libcfs: there is no memory for a task");
        snprintf(task->task.comm, sizeof(task->task.comm), "thread");
        task->task.tgid = process_number(kernel, task->task.pid);
        task->task.mm = &kernel->mm;
        bucket_add(kernel, task, thread);
    }
    return &task->task;
}

/* ---- sleeping and waking --------------------------------------------------------------------- */

uint64_t libcfs_now(void)
{
    return port_now();
}

void libcfs_sleep(uint64_t nanoseconds)
{
    struct port_semaphore never;

    port_semaphore_init(&never);
    (void)port_semaphore_wait(&never, nanoseconds);
    port_semaphore_destroy(&never);
}

void libcfs_spin_relax(void)
{
    libcfs_sleep(1000);
}

bool libcfs_wake_task(struct task_struct *task, long mode)
{
    long state = __atomic_load_n(&task->state, __ATOMIC_SEQ_CST);

    do {
        if ((state & mode) == 0)
            return false;
    } while (!__atomic_compare_exchange_n(&task->state, &state, TASK_RUNNING, false,
                                          __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
    port_semaphore_post(&own(task)->wake);
    return true;
}

void libcfs_schedule(uint64_t deadline)
{
    struct libcfs_task *task = own(libcfs_current());
    uint64_t now;

    if (__atomic_load_n(&task->task.state, __ATOMIC_SEQ_CST) == TASK_RUNNING) {
        /* It was woken before it slept; or it lets others run. */
        if (!port_semaphore_wait(&task->wake, 0))
            libcfs_spin_relax();
        return;
    }
    /* An earlier waker may raise the semaphore late, so the state decides. */
    while (__atomic_load_n(&task->task.state, __ATOMIC_SEQ_CST) != TASK_RUNNING) {
        now = port_now();
        if (deadline != UINT64_MAX && now >= deadline)
            break;
        (void)port_semaphore_wait(&task->wake,
                                  deadline == UINT64_MAX ? UINT64_MAX : deadline - now);
    }
    __atomic_store_n(&task->task.state, TASK_RUNNING, __ATOMIC_SEQ_CST);
}

long libcfs_schedule_timeout(long timeout)
{
    const uint64_t jiffy = (uint64_t)(NSEC_PER_SEC / HZ);
    uint64_t now = port_now(), deadline;

    if (timeout == MAX_SCHEDULE_TIMEOUT || (uint64_t)timeout > (UINT64_MAX - now) / jiffy - 1) {
        if (timeout > 0)
            libcfs_schedule(UINT64_MAX);
        else
            set_current_state(TASK_RUNNING);
        return timeout > 0 ? timeout : 0;
    }
    deadline = now + (uint64_t)timeout * jiffy;
    libcfs_schedule(deadline);
    now = port_now();
    return now >= deadline ? 0 : (long)((deadline - now + jiffy - 1) / jiffy);
}

/* ---- kthreads -------------------------------------------------------------------------------- */

static void kthread_main(void *argument)
{
    struct libcfs_task *task = argument;
    struct libcfs_kernel *kernel = task->kernel;

    jmp_buf leave;

    bucket_add(kernel, task, port_thread_self());
    libcfs_schedule(UINT64_MAX); /* until somebody wakes it */
    task->result = -EINTR;
    task->leave = &leave;
    if (!__atomic_load_n(&task->should_stop, __ATOMIC_ACQUIRE) && setjmp(leave) == 0) {
        libcfs_kthread_parkme(); /* one that nobody has woken may be parked */
        task->result = task->run(task->data);
    }
    bucket_remove(kernel, task);
    __atomic_store_n(&task->over, true, __ATOMIC_SEQ_CST);
    wake_up_all(&kernel->parking);
}

void libcfs_task_exit(struct completion *done, long code)
{
    struct libcfs_task *task = own(libcfs_current());

    if (task->leave == NULL)
        port_panic("libcfs: do_exit() was called by a thread that is none of the kernel");
    if (done != NULL)
        complete(done);
    task->result = (int)code;
    longjmp(*task->leave, 1);
}

static void join(struct libcfs_task *task, struct port_thread *thread)
{
    port_thread_join(thread);
    task_free(task);
}

/* Threads that have ended, and that nobody will stop. */
static void reap(struct libcfs_kernel *kernel)
{
    struct libcfs_task *task, *next;
    struct list_head ended;

    INIT_LIST_HEAD(&ended);
    spin_lock(&kernel->lock);
    list_for_each_entry_safe (task, next, &kernel->kthreads, on_kthreads)
        if (__atomic_load_n(&task->over, __ATOMIC_ACQUIRE) &&
            __atomic_load_n(&task->references, __ATOMIC_ACQUIRE) == 0)
            list_move_tail(&task->on_kthreads, &ended);
    spin_unlock(&kernel->lock);
    list_for_each_entry_safe (task, next, &ended, on_kthreads)
        join(task, task->thread);
}

struct task_struct *libcfs_kthread_create(int (*run)(void *data), void *data, const char *format,
                                          ...)
{
    struct libcfs_kernel *kernel = libcfs_kernel();
    struct libcfs_task *task;
    struct port_thread *thread;
    va_list arguments;

    reap(kernel);
    task = task_make(kernel);
    if (task == NULL)
        return ERR_PTR(-ENOMEM);
    va_start(arguments, format);
    vsnprintf(task->task.comm, sizeof(task->task.comm), format, arguments);
    va_end(arguments);
    task->run = run;
    task->data = data;
    task->task.state = TASK_UNINTERRUPTIBLE;
    task->task.flags = PF_KTHREAD;
    task->task.tgid = task->task.pid;
    thread = port_thread_start(task->task.comm, kthread_main, task);
    if (thread == NULL) {
        task_free(task);
        return ERR_PTR(-ENOMEM);
    }
    spin_lock(&kernel->lock);
    task->thread = thread;
    list_add_tail(&task->on_kthreads, &kernel->kthreads);
    spin_unlock(&kernel->lock);
    return &task->task;
}

int libcfs_kthread_stop(struct task_struct *stopped)
{
    struct libcfs_task *task = own(stopped);
    struct libcfs_kernel *kernel = task->kernel;
    struct port_thread *thread;
    int result;

    libcfs_task_get(stopped);
    spin_lock(&kernel->lock);
    list_del_init(&task->on_kthreads);
    thread = task->thread;
    spin_unlock(&kernel->lock);
    __atomic_store_n(&task->should_stop, true, __ATOMIC_SEQ_CST);
    __atomic_store_n(&task->should_park, false, __ATOMIC_SEQ_CST);
    libcfs_wake_task(stopped, ~0L);
    port_thread_join(thread);
    result = task->result;
    libcfs_task_put(stopped); /* with the last reference it is freed */
    return result;
}

bool libcfs_kthread_should_stop(void)
{
    return __atomic_load_n(&own(libcfs_current())->should_stop, __ATOMIC_SEQ_CST);
}

int libcfs_task_confine(struct task_struct *task, const struct cpumask *mask)
{
    struct cpumask set;
    uint64_t words[NR_CPUS / 64];
    int rc;

    if (!cpumask_and(&set, mask, cpu_online_mask))
        return -EINVAL;
    memcpy(words, set.bits, sizeof(words));
    rc = port_thread_confine(own(task)->thread, words, NR_CPUS);
    if (rc == 0) {
        task->cpus_mask = set;
        task->nr_cpus_allowed = (int)cpumask_weight(&set);
    }
    return rc;
}

void libcfs_kthread_bind(struct task_struct *task, unsigned processor)
{
    struct cpumask set = CPU_MASK_NONE;

    if (processor >= NR_CPUS)
        return;
    cpumask_set_cpu(processor, &set);
    (void)libcfs_task_confine(task, &set);
}

const struct cpumask *libcfs_online_mask(void)
{
    return &libcfs_kernel()->online;
}

void libcfs_task_get(struct task_struct *task)
{
    __atomic_add_fetch(&own(task)->references, 1, __ATOMIC_SEQ_CST);
}

void libcfs_task_put(struct task_struct *put)
{
    struct libcfs_task *task = own(put);

    if (__atomic_sub_fetch(&task->references, 1, __ATOMIC_SEQ_CST) == 0 && task->should_stop &&
        task->over)
        task_free(task);
}

unsigned libcfs_processors(void)
{
    return port_processors();
}
