/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Doubly linked lists whose nodes lie in the listed objects. A node in no list has next == NULL. */
#ifndef JACQUARD_PMI2_LIST_H
#define JACQUARD_PMI2_LIST_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>

struct list {
    struct list *next, *prev;
};

#define list_of(node, type, member) ((type *)((char *)(node)-offsetof(type, member)))

static inline void list_init(struct list *head)
{
    head->next = head->prev = head;
}

static inline bool list_empty(const struct list *head)
{
    return head->next == head;
}

static inline bool list_linked(const struct list *node)
{
    return node->next != NULL;
}

static inline void list_add(struct list *head, struct list *node)
{
    assert(head->next != NULL && node->next == NULL);
    node->prev = head->prev;
    node->next = head;
    head->prev->next = node;
    head->prev = node;
}

static inline void list_remove(struct list *node)
{
    if (node->next == NULL)
        return;
    assert(node->next->prev == node && node->prev->next == node);
    node->prev->next = node->next;
    node->next->prev = node->prev;
    node->next = node->prev = NULL;
}

/* The first node, taken out; NULL: none. */
static inline struct list *list_take(struct list *head)
{
    struct list *node = head->next;

    if (node == head)
        return NULL;
    list_remove(node);
    return node;
}

#endif
