/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Who waits for a variable or a bit. The queues are those of all processes, because callbacks of
 * LNet's event queues, which belong to none, wake, too. A wake-up wakes those of its word only.
 */
#include "kernel.h"

enum { QUEUES = 64 };
static struct {
    wait_queue_head_t queue;
} __attribute__((aligned(64))) queues[QUEUES];

struct key {
    const void *word;
    int bit;
};

static wait_queue_head_t *queue_of(const void *word)
{
    wait_queue_head_t *queue = &queues[((uintptr_t)word * 0x9e3779b97f4a7c15u) >> 58].queue;

    spin_lock(&queue->lock);
    if (queue->head.next == NULL)
        INIT_LIST_HEAD(&queue->head);
    spin_unlock(&queue->lock);
    return queue;
}
_Static_assert(QUEUES == 1 << (64 - 58), "six bits of a hash");

static int wake(struct wait_queue_entry *entry, unsigned mode, int flags, void *argument)
{
    const struct libcfs_var_wait *wait = container_of(entry, struct libcfs_var_wait, entry);
    const struct key *key = argument;

    if (wait->word != key->word || wait->bit != key->bit)
        return 0;
    return libcfs_autoremove_wake(entry, mode, flags, NULL);
}

wait_queue_head_t *libcfs_var_wait_begin(struct libcfs_var_wait *wait, const void *word, int bit)
{
    *wait = (struct libcfs_var_wait){
        .entry = {.private = libcfs_current(), .func = wake}, .word = word, .bit = bit};
    INIT_LIST_HEAD(&wait->entry.entry);
    return queue_of(word);
}

void libcfs_var_wake(const void *word, int bit)
{
    wait_queue_head_t *queue = queue_of(word);
    struct key key = {word, bit};
    struct wait_queue_entry *entry, *next;

    spin_lock(&queue->lock);
    list_for_each_entry_safe (entry, next, &queue->head, entry)
        (void)entry->func(entry, TASK_NORMAL, 0, &key);
    spin_unlock(&queue->lock);
}
