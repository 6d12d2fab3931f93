/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Singly linked queues, first in first out. The links are members of the queued objects. */
#ifndef GNIP_QUEUE_H
#define GNIP_QUEUE_H

#include <stdbool.h>
#include <stddef.h>

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
