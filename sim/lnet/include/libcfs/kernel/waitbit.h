/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Waits for a variable or a bit of a word (linux/wait_bit.h), which have no wait queue. */
#ifndef JACQUARD_LIBCFS_KERNEL_WAITBIT_H
#define JACQUARD_LIBCFS_KERNEL_WAITBIT_H

#include "libcfs/libcfs.h"

struct libcfs_var_wait {
    wait_queue_entry_t entry;
    const void *word;
    int bit; /* -1: the variable */
};
#pragma GCC visibility push(default)
/* The queue, in common with other words, for an entry that only wake-ups of this word wake. */
wait_queue_head_t *libcfs_var_wait_begin(struct libcfs_var_wait *wait, const void *word, int bit);
void libcfs_var_wake(const void *word, int bit);
#pragma GCC visibility pop

#define LIBCFS_VAR_WAIT(variable, bit, condition, state, timeout)                           \
    ({                                                                                      \
        struct libcfs_var_wait var_wait__;                                                  \
        wait_queue_head_t *var_queue__ = libcfs_var_wait_begin(&var_wait__, variable, bit); \
        long var_left__ = (timeout);                                                        \
        for (;;) {                                                                          \
            libcfs_wait_prepare(var_queue__, &var_wait__.entry, state, false);              \
            if (condition) {                                                                \
                var_left__ = var_left__ > 0 ? var_left__ : 1;                               \
                break;                                                                      \
            }                                                                               \
            if (var_left__ <= 0)                                                            \
                break;                                                                      \
            var_left__ = libcfs_schedule_timeout(var_left__);                               \
        }                                                                                   \
        libcfs_wait_finish(var_queue__, &var_wait__.entry);                                 \
        var_left__;                                                                         \
    })
#define wake_up_var(variable) libcfs_var_wake(variable, -1)
#define wait_var_event(variable, condition) \
    ((void)LIBCFS_VAR_WAIT(variable, -1, condition, TASK_UNINTERRUPTIBLE, MAX_SCHEDULE_TIMEOUT))
#define wait_var_event_killable(variable, condition) (wait_var_event(variable, condition), 0)
#define wait_var_event_interruptible(variable, condition) (wait_var_event(variable, condition), 0)
#define wait_var_event_timeout(variable, condition, timeout) \
    LIBCFS_VAR_WAIT(variable, -1, condition, TASK_UNINTERRUPTIBLE, timeout)

/* Until the bit is clear: 0; -EAGAIN: the time is over. */
#define wake_up_bit(word, bit) libcfs_var_wake(word, bit)
static inline int libcfs_wait_on_bit(unsigned long *word, int bit, unsigned mode, long timeout,
                                     bool lock)
{
    long left = LIBCFS_VAR_WAIT(
        word, bit, lock ? !test_and_set_bit(bit, word) : !test_bit(bit, word), (long)mode, timeout);

    return left > 0 ? 0 : -EAGAIN;
}
#define wait_on_bit(word, bit, mode) \
    libcfs_wait_on_bit(word, bit, mode, MAX_SCHEDULE_TIMEOUT, false)
#define wait_on_bit_io(word, bit, mode) wait_on_bit(word, bit, mode)
#define wait_on_bit_timeout(word, bit, mode, timeout) \
    libcfs_wait_on_bit(word, bit, mode, (long)(timeout), false)
/* And sets it. */
#define wait_on_bit_lock(word, bit, mode) \
    libcfs_wait_on_bit(word, bit, mode, MAX_SCHEDULE_TIMEOUT, true)
static inline void clear_and_wake_up_bit(int bit, unsigned long *word)
{
    clear_bit(bit, word);
    smp_mb();
    wake_up_bit(word, bit);
}

#endif
