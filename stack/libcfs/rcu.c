/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Readers of RCU are counted, for all processes of a simulation together: there, no other fiber
 * runs while one reads, unless that one sleeps. A writer waits for a moment without any reader.
 */
#include "kernel.h"

static unsigned readers; /* changed atomically */

void libcfs_rcu_read_lock(void)
{
    __atomic_fetch_add(&readers, 1, __ATOMIC_SEQ_CST);
}

void libcfs_rcu_read_unlock(void)
{
    __atomic_fetch_sub(&readers, 1, __ATOMIC_SEQ_CST);
}

unsigned libcfs_rcu_readers(void)
{
    return __atomic_load_n(&readers, __ATOMIC_SEQ_CST);
}

void libcfs_synchronize_rcu(void)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    while (libcfs_rcu_readers() != 0)
        libcfs_spin_relax();
}

static void end_of_readers(struct work_struct *work)
{
    struct rcu_head *head = container_of(work, struct rcu_head, work);

    libcfs_synchronize_rcu();
    if (head->function != NULL)
        head->function(head);
    else
        free((char *)head - head->offset);
}

void libcfs_call_rcu(struct rcu_head *head, rcu_callback_t function, size_t offset)
{
    INIT_WORK(&head->work, end_of_readers);
    head->function = function;
    head->offset = offset;
    schedule_work(&head->work);
}
