/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The kernel's lists and chains, as far as libcfs/shims.h and libcfs/libcfs.h do not have them. */
#ifndef JACQUARD_LIBCFS_KERNEL_LIST_H
#define JACQUARD_LIBCFS_KERNEL_LIST_H

#include "libcfs/shims.h"

/* ---- lists ----------------------------------------------------------------------------------- */

/* What an entry refers to when it is in no list any more: a second list_del() is a defect, which is
 * reported. list_del_init() leaves an empty list. */
#define LIST_POISON1 ((struct list_head *)0xdead000000000100ul)
#define LIST_POISON2 ((struct list_head *)0xdead000000000200ul)
static inline void libcfs_list_del_rcu(struct list_head *entry)
{
    entry->next->prev = entry->prev;
    entry->prev->next = entry->next;
    entry->prev = LIST_POISON2;
}
static inline void libcfs_list_del(struct list_head *entry)
{
    libcfs_list_del_rcu(entry);
    entry->next = LIST_POISON1;
}
#define LIBCFS_LIST_REMOVE(remove, entry)        \
    do {                                         \
        struct list_head *removed__ = (entry);   \
        BUG_ON(removed__->prev == LIST_POISON2); \
        remove(removed__);                       \
    } while (0)
#define list_del(entry) LIBCFS_LIST_REMOVE(libcfs_list_del, entry)
/* The entry keeps its pointer to the next one, for readers that have reached the entry. */
#define list_del_rcu(entry) LIBCFS_LIST_REMOVE(libcfs_list_del_rcu, entry)
static inline bool list_empty_careful(const struct list_head *head)
{
    const struct list_head *next = __atomic_load_n(&head->next, __ATOMIC_ACQUIRE);

    return next == head && next == head->prev;
}
static inline bool list_is_last(const struct list_head *entry, const struct list_head *head)
{
    return entry->next == head;
}
static inline bool list_is_first(const struct list_head *entry, const struct list_head *head)
{
    return entry->prev == head;
}
static inline bool list_is_head(const struct list_head *entry, const struct list_head *head)
{
    return entry == head;
}
static inline void list_replace(struct list_head *old, struct list_head *entry)
{
    list_insert_between(entry, old->prev, old->next);
}
static inline void list_replace_init(struct list_head *old, struct list_head *entry)
{
    list_replace(old, entry);
    INIT_LIST_HEAD(old);
}
static inline void list_swap(struct list_head *a, struct list_head *b)
{
    struct list_head *place = b->prev;

    list_del_init(b);
    list_replace(a, b);
    if (place == a)
        place = b;
    list_insert_between(a, place, place->next);
}
static inline void list_rotate_left(struct list_head *head)
{
    if (!list_empty(head))
        list_move_tail(head->next, head);
}
/* The entries up to `entry` go to the empty list `list`. */
static inline void list_cut_position(struct list_head *list, struct list_head *head,
                                     struct list_head *entry)
{
    INIT_LIST_HEAD(list);
    if (list_empty(head) || entry == head)
        return;
    list->next = head->next;
    list->next->prev = list;
    head->next = entry->next;
    head->next->prev = head;
    list->prev = entry;
    entry->next = list;
}
static inline void list_splice_tail(struct list_head *list, struct list_head *head)
{
    struct list_head copy = *list;

    list_splice_init(list, head->prev); /* and leaves the list as it was */
    *list = copy;
}
#define list_prev_entry(pos, member) list_entry((pos)->member.prev, __typeof__(*(pos)), member)
#define list_entry_is_head(pos, head, member) (&(pos)->member == (head))
#define list_prepare_entry(pos, head, member) \
    ((pos) != NULL ? (pos) : list_entry(head, __typeof__(*(pos)), member))
#define list_for_each_prev(pos, head) for (pos = (head)->prev; pos != (head); pos = pos->prev)
#define list_for_each_prev_safe(pos, n, head) \
    for (pos = (head)->prev, n = pos->prev; pos != (head); pos = n, n = pos->prev)
#define list_for_each_entry_continue(pos, head, member)              \
    for (pos = list_next_entry(pos, member); &pos->member != (head); \
         pos = list_next_entry(pos, member))
#define list_for_each_entry_from(pos, head, member) \
    for (; &pos->member != (head); pos = list_next_entry(pos, member))
#define list_for_each_entry_safe_continue(pos, n, head, member)                \
    for (pos = list_next_entry(pos, member), n = list_next_entry(pos, member); \
         &pos->member != (head); pos = n, n = list_next_entry(n, member))
#define list_for_each_entry_safe_from(pos, n, head, member)        \
    for (n = list_next_entry(pos, member); &pos->member != (head); \
         pos = n, n = list_next_entry(n, member))
#define list_for_each_entry_safe_reverse(pos, n, head, member)                                    \
    for (pos = list_last_entry(head, __typeof__(*pos), member), n = list_prev_entry(pos, member); \
         &pos->member != (head); pos = n, n = list_prev_entry(n, member))

/* Chains of a hash table: the head is one pointer. */
struct hlist_node {
    struct hlist_node *next, **pprev; /* pprev NULL: in no chain */
};
struct hlist_head {
    struct hlist_node *first;
};
#define HLIST_HEAD_INIT \
    {                   \
        .first = NULL   \
    }
#define HLIST_HEAD(name) struct hlist_head name = HLIST_HEAD_INIT
#define INIT_HLIST_HEAD(head) ((void)((head)->first = NULL))
static inline void INIT_HLIST_NODE(struct hlist_node *node)
{
    *node = (struct hlist_node){NULL, NULL};
}
static inline bool hlist_unhashed(const struct hlist_node *node)
{
    return node->pprev == NULL;
}
static inline bool hlist_empty(const struct hlist_head *head)
{
    return head->first == NULL;
}
static inline void hlist_add_head(struct hlist_node *node, struct hlist_head *head)
{
    node->next = head->first;
    node->pprev = &head->first;
    if (node->next != NULL)
        node->next->pprev = &node->next;
    head->first = node;
}
static inline void hlist_del_init(struct hlist_node *node)
{
    if (hlist_unhashed(node))
        return;
    *node->pprev = node->next;
    if (node->next != NULL)
        node->next->pprev = node->pprev;
    INIT_HLIST_NODE(node);
}
#define hlist_del(node) hlist_del_init(node)
#define hlist_entry(ptr, type, member) container_of(ptr, type, member)
#define hlist_entry_safe(ptr, type, member)                                    \
    ({                                                                         \
        struct hlist_node *hlist_node__ = (ptr);                               \
        hlist_node__ != NULL ? hlist_entry(hlist_node__, type, member) : NULL; \
    })
#define hlist_for_each(pos, head) for (pos = (head)->first; pos != NULL; pos = pos->next)
#define hlist_for_each_safe(pos, n, head) \
    for (pos = (head)->first; pos != NULL && ((n = pos->next), true); pos = n)
#define hlist_for_each_entry(pos, head, member)                                        \
    for (pos = hlist_entry_safe((head)->first, __typeof__(*pos), member); pos != NULL; \
         pos = hlist_entry_safe(pos->member.next, __typeof__(*pos), member))
#define hlist_for_each_entry_safe(pos, n, head, member)                   \
    for (pos = hlist_entry_safe((head)->first, __typeof__(*pos), member); \
         pos != NULL && ((n = pos->member.next), true);                   \
         pos = hlist_entry_safe(n, __typeof__(*pos), member))

#define hlist_for_each_entry_continue(pos, member)                                            \
    for (pos = hlist_entry_safe((pos)->member.next, __typeof__(*(pos)), member); pos != NULL; \
         pos = hlist_entry_safe((pos)->member.next, __typeof__(*(pos)), member))
#define hlist_for_each_entry_from(pos, member) \
    for (; pos != NULL; pos = hlist_entry_safe((pos)->member.next, __typeof__(*(pos)), member))
static inline void hlist_add_before(struct hlist_node *node, struct hlist_node *next)
{
    node->pprev = next->pprev;
    node->next = next;
    next->pprev = &node->next;
    *node->pprev = node;
}
static inline void hlist_add_behind(struct hlist_node *node, struct hlist_node *previous)
{
    node->next = previous->next;
    previous->next = node;
    node->pprev = &previous->next;
    if (node->next != NULL)
        node->next->pprev = &node->next;
}
/* The chain of `from`, which is empty then. */
static inline void hlist_move_list(struct hlist_head *from, struct hlist_head *to)
{
    to->first = from->first;
    if (to->first != NULL)
        to->first->pprev = &to->first;
    from->first = NULL;
}
/* It looks as if it were in a chain: hlist_del() has no effect. */
static inline void hlist_add_fake(struct hlist_node *node)
{
    node->pprev = &node->next;
}
static inline bool hlist_fake(const struct hlist_node *node)
{
    return node->pprev == &node->next;
}
static inline bool hlist_is_singular_node(const struct hlist_node *node,
                                          const struct hlist_head *head)
{
    return node->next == NULL && node->pprev == &head->first;
}

/* ---- more about lists ------------------------------------------------------------------------ */

#define list_for_each_entry_continue_reverse(pos, head, member)      \
    for (pos = list_prev_entry(pos, member); &pos->member != (head); \
         pos = list_prev_entry(pos, member))
#define list_for_each_entry_from_reverse(pos, head, member) \
    for (; &pos->member != (head); pos = list_prev_entry(pos, member))
#define list_for_each_continue(pos, head) for (pos = pos->next; pos != (head); pos = pos->next)
#define list_safe_reset_next(pos, n, member) n = list_next_entry(pos, member)
/* The entries before `entry` go to the list `list`. */
static inline void list_cut_before(struct list_head *list, struct list_head *head,
                                   struct list_head *entry)
{
    if (head->next == entry)
        INIT_LIST_HEAD(list);
    else
        list_cut_position(list, head, entry->prev);
}
/* The entries from `first` to `last` of a list go to the end of the list `head`. */
static inline void list_bulk_move_tail(struct list_head *head, struct list_head *first,
                                       struct list_head *last)
{
    first->prev->next = last->next;
    last->next->prev = first->prev;
    head->prev->next = first;
    first->prev = head->prev;
    last->next = head;
    head->prev = last;
}
static inline void list_rotate_to_front(struct list_head *entry, struct list_head *head)
{
    list_move_tail(head, entry);
}
static inline size_t list_count_nodes(const struct list_head *head)
{
    const struct list_head *at;
    size_t count = 0;

    list_for_each (at, head)
        count++;
    return count;
}
/* Sorts: equal ones keep their order. `compare` is above 0 if `a` has to be behind `b`. */
static inline void list_sort(void *data, struct list_head *head,
                             int (*compare)(void *data, struct list_head *a, struct list_head *b))
{
    struct list_head *slow = head, *fast = head, half, merged;

    if (head->next == head || head->next->next == head)
        return;
    do {
        slow = slow->next;
        fast = fast->next->next;
    } while (fast != head && fast->next != head);
    list_cut_position(&half, head, slow);
    list_sort(data, &half, compare);
    list_sort(data, head, compare);
    INIT_LIST_HEAD(&merged);
    while (!list_empty(&half) && !list_empty(head))
        list_move_tail(compare(data, half.next, head->next) > 0 ? head->next : half.next, &merged);
    list_splice_init(&half, merged.prev);
    list_splice_init(&merged, head); /* before what is left there */
}

#endif
