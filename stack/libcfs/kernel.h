/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Threads, wait queues, timers and works of kernel code in a process (libcfs/kernel/), over the
 * port. What callbacks of LNet's event queues may call touches spin locks and semaphores only: in a
 * simulation such a callback runs outside of the threads of the process. For the same reason timers
 * and works refer to the state of their process, which only a thread can look up.
 */
#ifndef JACQUARD_STACK_LIBCFS_KERNEL_H
#define JACQUARD_STACK_LIBCFS_KERNEL_H

#include <assert.h>
#include <setjmp.h>

#include "libcfs/libcfs.h"
#include "port/port.h"

enum { LIBCFS_BLOCK_BYTES = 512 }; /* of libcfs_block_alloc() */
enum {
    LIBCFS_BUCKETS = 64,
    LIBCFS_PERCPU_BUCKETS = 16,
    LIBCFS_WORKERS_DEFAULT = 16,
    LIBCFS_WORKERS_MAX = 64
};

/* What belongs to a task; it is in the same block. The block of an ended task may be used for
 * another one, and its semaphore stays: who is about to raise it raises that of the other one,
 * which looks at its state again. */
struct libcfs_task {
    struct task_struct task;
    struct port_semaphore wake; /* raised when the state has become TASK_RUNNING */
    struct port_thread *thread; /* that it is, or (of kthreads) that runs it */
    struct libcfs_task *next; /* of the bucket, or of the free ones */
    struct list_head on_kthreads;
    /* of kthreads */
    int (*run)(void *data);
    void *data;
    int result, references;
    jmp_buf *leave; /* where do_exit() goes on */
    int should_stop, should_park, parked, over; /* changed atomically */
    struct libcfs_kernel *kernel;
    struct libcfs_worker *worker; /* that it is; NULL: none */
};

/* A thread of a work queue. */
struct libcfs_worker {
    struct list_head on_queue;
    struct workqueue_struct *queue;
    struct task_struct *task;
    struct work_struct *work; /* that runs; NULL: none */
    uint64_t number; /* of the work */
    bool idle;
};

struct workqueue_struct {
    spinlock_t lock;
    struct list_head works, workers;
    struct list_head on_hungry; /* in the list of those that need another worker */
    unsigned limit, worker_count, idle_count;
    bool stopping;
    uint64_t next_number;
    wait_queue_head_t ended; /* woken when a work has ended */
    struct libcfs_kernel *kernel;
    char name[TASK_COMM_LEN];
};

/* What the constructors of a program have said of its modules. */
struct libcfs_modules {
    struct libcfs_module_call *calls;
    struct libcfs_param *params;
};
/* Whether the caller is a thread of a rank; where there are none, there is no such function. */
bool port_in_rank(void) __attribute__((weak));

/* The state of a process. It lives as long as the process. */
struct libcfs_kernel {
    spinlock_t lock; /* of the tasks, the free blocks and the pages */
    struct libcfs_task *buckets[LIBCFS_BUCKETS]; /* tasks by their thread */
    struct list_head kthreads; /* that have not been joined */
    struct libcfs_task *free_tasks;
    void *free_blocks;
    pid_t next_pid, tgid; /* tgid 0: no thread of the process has a task yet */
    struct mm_struct mm;
    struct cpumask online;
    struct mutex device_lock; /* of the devices */
    struct list_head devices; /* of misc_register() */
    struct libcfs_entry *entries; /* of /proc and /sys; NULL: none */
    struct hlist_head percpu[LIBCFS_PERCPU_BUCKETS]; /* objects of other processors */
    wait_queue_head_t parking; /* woken when a thread has parked or ended */
    struct libcfs_modules modules; /* of the rank's copy of its program */
    int modules_begun; /* changed atomically */

    spinlock_t timer_lock; /* of what follows */
    struct list_head timers; /* the earliest one is the first */
    struct timer_list *running; /* whose function runs */
    struct list_head hrtimers; /* in the order of their times */
    struct hrtimer *running_hrtimer;
    struct list_head hungry; /* work queues */
    struct workqueue_struct *starting; /* the queue for which a worker is being started */
    struct task_struct *daemon; /* runs the timers and starts workers; NULL: not yet */
    wait_queue_head_t timer_ended; /* woken when `running` or `starting` has become NULL */

    struct workqueue_struct works; /* of schedule_work() */
};

/* The value of `module.name` among the parameters of the calling process's node; NULL: it has none,
 * or there is no LNet in the program. */
const char *libcfs_module_setting(const char *module, const char *name) __attribute__((weak));

#define assert_held(lock) assert((lock)->locked != 0)

struct libcfs_kernel *libcfs_kernel(void); /* of the calling thread's process; makes it */
struct libcfs_entry;
const struct file_operations *libcfs_entry_operations(const struct libcfs_entry *entry);
/* The entry of a path below a folder; NULL: there is none. */
struct libcfs_entry *libcfs_entry_below(struct libcfs_entry *folder, const char *path);
void libcfs_entry_own_data(struct libcfs_entry *entry); /* its data ends with it: free() */
unsigned libcfs_rcu_readers(void); /* of all processes of a simulation */
/* A block for one object; NULL: no memory. */
void *libcfs_block_alloc(struct libcfs_kernel *kernel);
void libcfs_block_free(struct libcfs_kernel *kernel, void *block);

/* Waits until a pointer at `running`, which `lock` protects, is not `item`: until the function of a
 * timer or a work is over. `ended` is woken when the pointer has changed. */
void libcfs_wait_until_over(spinlock_t *lock, const void *running, const void *item,
                            wait_queue_head_t *ended);
/* A timer leaves its list, which `entry.next` says. */
static inline void libcfs_timer_detach(struct list_head *entry)
{
    list_del(entry);
    entry->next = NULL;
}
void libcfs_daemon_start(struct libcfs_kernel *kernel); /* unless it runs */
void libcfs_daemon_wake(struct libcfs_kernel *kernel);
void libcfs_workqueue_setup(struct workqueue_struct *queue, struct libcfs_kernel *kernel,
                            unsigned limit);
/* The first one and (UINT64_MAX: there is none) its time; runs it. On the daemon. */
struct hrtimer *libcfs_hrtimer_first(struct libcfs_kernel *kernel, uint64_t *due);
void libcfs_hrtimer_run(struct libcfs_kernel *kernel, struct hrtimer *timer);
/* Starts a thread for a queue, if it still needs one; on the daemon. */
void libcfs_worker_start(struct workqueue_struct *queue);

#endif
