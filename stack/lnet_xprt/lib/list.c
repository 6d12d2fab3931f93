/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Doubly linked lists. */
#include "lib/list.h"

static struct m0_list_link *end(const struct m0_list *list)
{
    return (struct m0_list_link *)(uintptr_t)list;
}

void m0_list_init(struct m0_list *list)
{
    list->l_head = list->l_tail = end(list);
}

void m0_list_fini(struct m0_list *list)
{
    M0_PRE(m0_list_is_empty(list));
}

bool m0_list_link_invariant(const struct m0_list_link *link)
{
    return link->ll_next != NULL && link->ll_prev != NULL && link->ll_next->ll_prev == link &&
           link->ll_prev->ll_next == link;
}

bool m0_list_invariant(const struct m0_list *list)
{
    const struct m0_list_link *link;

    if (!m0_list_link_invariant(end(list)))
        return false;
    m0_list_for_each(list, link) if (!m0_list_link_invariant(link)) return false;
    return true;
}

size_t m0_list_length(const struct m0_list *list)
{
    const struct m0_list_link *link;
    size_t length = 0;

    m0_list_for_each(list, link) length++;
    return length;
}

bool m0_list_contains(const struct m0_list *list, const struct m0_list_link *link)
{
    const struct m0_list_link *at;

    m0_list_for_each(list, at) if (at == link) return true;
    return false;
}

void m0_list_link_init(struct m0_list_link *link)
{
    link->ll_next = link->ll_prev = link;
}

void m0_list_link_fini(struct m0_list_link *link)
{
    M0_PRE(!m0_list_link_is_in(link));
    link->ll_next = link->ll_prev = NULL;
}

bool m0_list_link_is_in(const struct m0_list_link *link)
{
    return link->ll_prev != link;
}

bool m0_list_link_is_last(const struct m0_list_link *link, const struct m0_list *list)
{
    return link->ll_next == end(list);
}

static void insert(struct m0_list_link *prev, struct m0_list_link *next, struct m0_list_link *link)
{
    M0_PRE(prev->ll_next == next && next->ll_prev == prev);
    M0_PRE(!m0_list_link_is_in(link));
    link->ll_prev = prev;
    link->ll_next = next;
    prev->ll_next = next->ll_prev = link;
}

void m0_list_add(struct m0_list *list, struct m0_list_link *link)
{
    insert(end(list), list->l_head, link);
}

void m0_list_add_tail(struct m0_list *list, struct m0_list_link *link)
{
    insert(list->l_tail, end(list), link);
}

void m0_list_add_after(struct m0_list_link *place, struct m0_list_link *link)
{
    insert(place, place->ll_next, link);
}

void m0_list_add_before(struct m0_list_link *place, struct m0_list_link *link)
{
    insert(place->ll_prev, place, link);
}

void m0_list_del(struct m0_list_link *link)
{
    M0_PRE(m0_list_link_invariant(link));
    link->ll_prev->ll_next = link->ll_next;
    link->ll_next->ll_prev = link->ll_prev;
    m0_list_link_init(link);
}

void m0_list_move(struct m0_list *list, struct m0_list_link *link)
{
    m0_list_del(link);
    m0_list_add(list, link);
}

void m0_list_move_tail(struct m0_list *list, struct m0_list_link *link)
{
    m0_list_del(link);
    m0_list_add_tail(list, link);
}
