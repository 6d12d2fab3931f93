/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Circular lists whose nodes are part of the objects themselves. */
#ifndef JACQUARD_ARIES_LIST_H
#define JACQUARD_ARIES_LIST_H

#include <stdbool.h>

struct aries_list { /* circular, intrusive */
    struct aries_list *previous, *next;
};
static inline void aries_list_init(struct aries_list *head)
{
    head->previous = head->next = head;
}
static inline bool aries_list_empty(const struct aries_list *head)
{
    return head->next == head;
}
static inline void aries_list_add(struct aries_list *head, struct aries_list *node) /* at the end */
{
    /* The heads of a table are initialised; the analyzer cannot see it for each index. */
    /* NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign) */
    node->previous = head->previous;
    node->next = head;
    head->previous->next = node;
    head->previous = node;
}
static inline void aries_list_remove(struct aries_list *node)
{
    node->previous->next = node->next;
    node->next->previous = node->previous;
    node->previous = node->next = node;
}

#endif
