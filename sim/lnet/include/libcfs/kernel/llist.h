/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Lists without locks (linux/llist.h): many threads add, one removes. */
#ifndef JACQUARD_LIBCFS_KERNEL_LLIST_H
#define JACQUARD_LIBCFS_KERNEL_LLIST_H

#include "libcfs/libcfs.h"

struct llist_node {
    struct llist_node *next;
};
struct llist_head {
    struct llist_node *first;
};
#define LLIST_HEAD_INIT(name) \
    {                         \
        NULL                  \
    }
#define LLIST_HEAD(name) struct llist_head name = LLIST_HEAD_INIT(name)
#define init_llist_head(list) ((void)((list)->first = NULL))
#define llist_entry(ptr, type, member) container_of(ptr, type, member)
#define llist_empty(list) (READ_ONCE((list)->first) == NULL)
#define llist_next(node) ((node)->next)

/* From `first` to `last`, which are linked. Whether the list was empty before. */
static inline bool llist_add_batch(struct llist_node *first, struct llist_node *last,
                                   struct llist_head *list)
{
    struct llist_node *old = READ_ONCE(list->first);

    do {
        last->next = old;
    } while (!__atomic_compare_exchange_n(&list->first, &old, first, false, __ATOMIC_RELEASE,
                                          __ATOMIC_RELAXED));
    return old == NULL;
}
static inline bool llist_add(struct llist_node *node, struct llist_head *list)
{
    return llist_add_batch(node, node, list);
}
/* All of them, the newest one first. */
static inline struct llist_node *llist_del_all(struct llist_head *list)
{
    return __atomic_exchange_n(&list->first, (struct llist_node *)NULL, __ATOMIC_ACQUIRE);
}
/* The newest one; NULL: none. One thread at a time. */
static inline struct llist_node *llist_del_first(struct llist_head *list)
{
    struct llist_node *first = __atomic_load_n(&list->first, __ATOMIC_ACQUIRE);

    while (first != NULL && !__atomic_compare_exchange_n(&list->first, &first, first->next, false,
                                                         __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE))
        continue;
    return first;
}
static inline struct llist_node *llist_reverse_order(struct llist_node *head)
{
    struct llist_node *reversed = NULL, *next;

    for (; head != NULL; head = next) {
        next = head->next;
        head->next = reversed;
        reversed = head;
    }
    return reversed;
}
#define LIBCFS_LLIST_ENTRY(node, type, member)                                         \
    ({                                                                                 \
        struct llist_node *llist_node__ = (node);                                      \
        llist_node__ != NULL ? llist_entry(llist_node__, type, member) : (type *)NULL; \
    })
#define llist_for_each(pos, node) for ((pos) = (node); (pos) != NULL; (pos) = (pos)->next)
#define llist_for_each_safe(pos, n, node) \
    for ((pos) = (node); (pos) != NULL && ((n) = (pos)->next, 1); (pos) = (n))
#define llist_for_each_entry(pos, node, member)                                       \
    for ((pos) = LIBCFS_LLIST_ENTRY(node, __typeof__(*(pos)), member); (pos) != NULL; \
         (pos) = LIBCFS_LLIST_ENTRY((pos)->member.next, __typeof__(*(pos)), member))
#define llist_for_each_entry_safe(pos, n, node, member)                                 \
    for ((pos) = LIBCFS_LLIST_ENTRY(node, __typeof__(*(pos)), member);                  \
         (pos) != NULL &&                                                               \
         ((n) = LIBCFS_LLIST_ENTRY((pos)->member.next, __typeof__(*(pos)), member), 1); \
         (pos) = (n))

#endif
