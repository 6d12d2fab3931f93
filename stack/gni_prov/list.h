/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Lists whose links are members of their elements. */
#ifndef GNIP_LIST_H
#define GNIP_LIST_H

#include <stdbool.h>
#include <stddef.h>

/* A doubly linked, circular list. The head is a link, too. */
struct gnip_link {
    struct gnip_link *next, *prev; /* both NULL: the element is in no list */
};
static inline void gnip_list_init(struct gnip_link *head)
{
    head->next = head->prev = head;
}
static inline bool gnip_list_empty(const struct gnip_link *head)
{
    return head->next == head;
}
static inline bool gnip_linked(const struct gnip_link *link)
{
    return link->next != NULL;
}
static inline void gnip_list_append(struct gnip_link *head, struct gnip_link *link)
{
    link->prev = head->prev;
    link->next = head;
    head->prev->next = link;
    head->prev = link;
}
static inline void gnip_list_prepend(struct gnip_link *head, struct gnip_link *link)
{
    gnip_list_append(head->next, link);
}
static inline void gnip_list_remove(struct gnip_link *link)
{
    struct gnip_link *prev = link->prev, *next = link->next;

    /* The analyser believes that a removed element may still be found from its head. */
    prev->next = next; /* NOLINT(clang-analyzer-core.NullDereference) */
    next->prev = prev; /* NOLINT(clang-analyzer-core.NullDereference): the same */
    link->next = link->prev = NULL;
}
static inline struct gnip_link *gnip_list_pop(struct gnip_link *head)
{
    struct gnip_link *link = head->next;

    if (link == head)
        return NULL;
    gnip_list_remove(link);
    return link;
}

/* Singly linked, first in first out. */
struct gnip_qlink {
    struct gnip_qlink *next;
};
struct gnip_queue {
    struct gnip_qlink *head, *tail;
};
static inline bool gnip_queue_empty(const struct gnip_queue *queue)
{
    return queue->head == NULL;
}
static inline void gnip_queue_append(struct gnip_queue *queue, struct gnip_qlink *link)
{
    link->next = NULL;
    if (queue->head == NULL)
        queue->head = link;
    else
        queue->tail->next = link;
    queue->tail = link;
}
static inline void gnip_queue_prepend(struct gnip_queue *queue, struct gnip_qlink *link)
{
    link->next = queue->head;
    if (queue->head == NULL)
        queue->tail = link;
    queue->head = link;
}
static inline struct gnip_qlink *gnip_queue_pop(struct gnip_queue *queue)
{
    struct gnip_qlink *link = queue->head;

    if (link != NULL)
        queue->head = link->next;
    return link;
}
/* O(length). False: the element was not in the queue. */
static inline bool gnip_queue_remove(struct gnip_queue *queue, struct gnip_qlink *link)
{
    struct gnip_qlink **at, *before = NULL;

    for (at = &queue->head; *at != NULL; before = *at, at = &(*at)->next) {
        if (*at != link)
            continue;
        *at = link->next;
        if (queue->tail == link)
            queue->tail = before;
        return true;
    }
    return false;
}

#endif
