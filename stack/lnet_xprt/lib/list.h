/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Doubly linked lists; links are members of the listed objects. Callers bring their own lock. */
#ifndef M0_LIB_LIST_H
#define M0_LIB_LIST_H

#include "lib/misc.h"
#include "lib/types.h"

struct m0_list_link {
    struct m0_list_link *ll_next, *ll_prev; /* both the link itself: in no list */
};
struct m0_list {
    struct m0_list_link *l_head, *l_tail; /* both the list itself: empty */
};
_Static_assert(sizeof(struct m0_list) == sizeof(struct m0_list_link), "a list is a link, too");

void m0_list_init(struct m0_list *list);
void m0_list_fini(struct m0_list *list); /* pre: empty */
static inline bool m0_list_is_empty(const struct m0_list *list)
{
    return list->l_head == (const struct m0_list_link *)(const void *)list;
}
bool m0_list_invariant(const struct m0_list *list);
bool m0_list_link_invariant(const struct m0_list_link *link);
size_t m0_list_length(const struct m0_list *list);
bool m0_list_contains(const struct m0_list *list, const struct m0_list_link *link);

void m0_list_link_init(struct m0_list_link *link);
void m0_list_link_fini(struct m0_list_link *link); /* pre: in no list */
bool m0_list_link_is_in(const struct m0_list_link *link); /* in some list */
bool m0_list_link_is_last(const struct m0_list_link *link, const struct m0_list *list);
void m0_list_add(struct m0_list *list, struct m0_list_link *link); /* as the first */
void m0_list_add_tail(struct m0_list *list, struct m0_list_link *link);
void m0_list_add_after(struct m0_list_link *place, struct m0_list_link *link);
void m0_list_add_before(struct m0_list_link *place, struct m0_list_link *link);
void m0_list_del(struct m0_list_link *link); /* it is in no list then */
void m0_list_move(struct m0_list *list, struct m0_list_link *link);
void m0_list_move_tail(struct m0_list *list, struct m0_list_link *link);
static inline struct m0_list_link *m0_list_first(const struct m0_list *list)
{
    return m0_list_is_empty(list) ? NULL : list->l_head;
}

#define m0_list_entry(link, type, member) container_of(link, type, member)
#define M0_LIST_END__(list) ((struct m0_list_link *)(void *)(list))
#define m0_list_for_each(list, pos) \
    for ((pos) = (list)->l_head; (pos) != M0_LIST_END__(list); (pos) = (pos)->ll_next)
#define m0_list_for_each_safe(list, pos, next)                                          \
    for ((pos) = (list)->l_head, (next) = (pos)->ll_next; (pos) != M0_LIST_END__(list); \
         (pos) = (next), (next) = (pos)->ll_next)
#define m0_list_for_each_entry(list, pos, type, member)       \
    for ((pos) = m0_list_entry((list)->l_head, type, member); \
         &(pos)->member != M0_LIST_END__(list);               \
         (pos) = m0_list_entry((pos)->member.ll_next, type, member))
#define m0_list_for_each_entry_safe(list, pos, next, type, member)   \
    for ((pos) = m0_list_entry((list)->l_head, type, member),        \
        (next) = m0_list_entry((pos)->member.ll_next, type, member); \
         &(pos)->member != M0_LIST_END__(list);                      \
         (pos) = (next), (next) = m0_list_entry((pos)->member.ll_next, type, member))

#endif
