/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Readers without locks (RCU): what a writer has removed stays until all who read at that time have
 * ended. In a simulation, call_rcu() and kfree_rcu() are for threads, not for callbacks of LNet.
 */
#ifndef JACQUARD_LIBCFS_KERNEL_RCU_H
#define JACQUARD_LIBCFS_KERNEL_RCU_H

#include "libcfs/libcfs.h"

struct rcu_head {
    struct work_struct work;
    void (*function)(struct rcu_head *head);
    size_t offset; /* in the object that kfree_rcu() frees */
};
#define callback_head rcu_head
typedef void (*rcu_callback_t)(struct rcu_head *head);

#pragma GCC visibility push(default)
void libcfs_rcu_read_lock(void);
void libcfs_rcu_read_unlock(void);
void libcfs_synchronize_rcu(void);
/* function NULL: the object is freed. */
void libcfs_call_rcu(struct rcu_head *head, rcu_callback_t function, size_t offset);
#pragma GCC visibility pop

static inline void rcu_read_lock(void)
{
    libcfs_rcu_read_lock();
}
static inline void rcu_read_unlock(void)
{
    libcfs_rcu_read_unlock();
}
/* Waits for all readers of now. */
static inline void synchronize_rcu(void)
{
    libcfs_synchronize_rcu();
}
/* Calls the function, on a thread of works, when all readers of now have ended. */
static inline void call_rcu(struct rcu_head *head, rcu_callback_t function)
{
    libcfs_call_rcu(head, function, 0);
}
#define kfree_rcu(object, member) \
    libcfs_call_rcu(&(object)->member, NULL, offsetof(__typeof__(*(object)), member))
/* Waits until the functions of all calls of call_rcu() have returned. */
static inline void rcu_barrier(void)
{
    flush_scheduled_work();
}
#define rcu_read_lock_bh rcu_read_lock
#define rcu_read_unlock_bh rcu_read_unlock
#define rcu_read_lock_sched rcu_read_lock
#define rcu_read_unlock_sched rcu_read_unlock
#define synchronize_rcu_bh synchronize_rcu
#define synchronize_sched synchronize_rcu
#define synchronize_rcu_expedited synchronize_rcu
#define synchronize_net synchronize_rcu
#define call_rcu_bh call_rcu
#define call_rcu_sched call_rcu

/* ---- pointers -------------------------------------------------------------------------------- */

#define rcu_dereference(pointer) smp_load_acquire(&(pointer))
#define rcu_dereference_raw(pointer) rcu_dereference(pointer)
#define rcu_dereference_bh(pointer) rcu_dereference(pointer)
#define rcu_dereference_check(pointer, condition) rcu_dereference(pointer)
#define rcu_dereference_protected(pointer, condition) ((void)(condition), READ_ONCE(pointer))
#define rcu_access_pointer(pointer) READ_ONCE(pointer)
#define rcu_assign_pointer(pointer, value) smp_store_release(&(pointer), value)
#define RCU_INIT_POINTER(pointer, value) WRITE_ONCE(pointer, value)
#define RCU_INITIALIZER(value) (value)

/* ---- lists and chains ------------------------------------------------------------------------ */

/* list_del_rcu() is in libcfs/kernel/list.h. An entry is complete before a reader finds it. */
static inline void libcfs_list_publish(struct list_head *entry, struct list_head *prev,
                                       struct list_head *next)
{
    entry->next = next;
    entry->prev = prev;
    smp_store_release(&prev->next, entry);
    next->prev = entry;
}
static inline void list_add_rcu(struct list_head *entry, struct list_head *head)
{
    libcfs_list_publish(entry, head, head->next);
}
static inline void list_add_tail_rcu(struct list_head *entry, struct list_head *head)
{
    libcfs_list_publish(entry, head->prev, head);
}
static inline void list_replace_rcu(struct list_head *old, struct list_head *entry)
{
    libcfs_list_publish(entry, old->prev, old->next);
    old->prev = LIST_POISON2;
}
#define list_entry_rcu(ptr, type, member) list_entry(ptr, type, member)
#define list_next_rcu(entry) rcu_dereference((entry)->next)
#define list_first_or_null_rcu(head, type, member)                                       \
    ({                                                                                   \
        struct list_head *rcu_head__ = (head), *rcu_first__ = list_next_rcu(rcu_head__); \
        rcu_first__ != rcu_head__ ? list_entry(rcu_first__, type, member) : NULL;        \
    })
#define list_for_each_entry_rcu(pos, head, member)                                                \
    for (pos = list_entry(list_next_rcu(head), __typeof__(*pos), member); &pos->member != (head); \
         pos = list_entry(list_next_rcu(&pos->member), __typeof__(*pos), member))
#define list_for_each_entry_continue_rcu(pos, head, member)                       \
    for (pos = list_entry(list_next_rcu(&pos->member), __typeof__(*pos), member); \
         &pos->member != (head);                                                  \
         pos = list_entry(list_next_rcu(&pos->member), __typeof__(*pos), member))
static inline void hlist_add_head_rcu(struct hlist_node *node, struct hlist_head *head)
{
    struct hlist_node *first = head->first;

    node->next = first;
    node->pprev = &head->first;
    smp_store_release(&head->first, node);
    if (first != NULL)
        first->pprev = &node->next;
}
/* The node keeps its pointer to the next one, for readers that have reached the node. */
static inline void hlist_del_init_rcu(struct hlist_node *node)
{
    if (hlist_unhashed(node))
        return;
    WRITE_ONCE(*node->pprev, node->next);
    if (node->next != NULL)
        node->next->pprev = node->pprev;
    node->pprev = NULL;
}
#define hlist_del_rcu(node) hlist_del_init_rcu(node)
#define hlist_first_rcu(head) ((head)->first)
#define hlist_for_each_entry_rcu(pos, head, member)                                        \
    for (pos = hlist_entry_safe(rcu_dereference((head)->first), __typeof__(*pos), member); \
         pos != NULL;                                                                      \
         pos = hlist_entry_safe(rcu_dereference(pos->member.next), __typeof__(*pos), member))

#endif
