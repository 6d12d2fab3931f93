/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The last link points to `end`, so that a link in a queue never has NULL. */
#include "lib/queue.h"

#include "lib/assert.h"

static struct m0_queue_link end;
const struct m0_queue M0_QUEUE_INIT = {.q_head = &end, .q_tail = &end};

void m0_queue_init(struct m0_queue *queue)
{
    *queue = M0_QUEUE_INIT;
}

void m0_queue_fini(struct m0_queue *queue)
{
    M0_PRE(m0_queue_is_empty(queue));
}

bool m0_queue_is_empty(const struct m0_queue *queue)
{
    return queue->q_head == &end;
}

size_t m0_queue_length(const struct m0_queue *queue)
{
    const struct m0_queue_link *it;
    size_t count = 0;

    for (it = queue->q_head; it != &end; it = it->ql_next)
        count++;
    return count;
}

bool m0_queue_contains(const struct m0_queue *queue, const struct m0_queue_link *link)
{
    const struct m0_queue_link *it;

    for (it = queue->q_head; it != &end && it != link; it = it->ql_next) {
    }
    return it == link;
}

bool m0_queue_invariant(const struct m0_queue *queue)
{
    return queue->q_head != NULL && queue->q_tail != NULL &&
           (queue->q_head == &end) == (queue->q_tail == &end) &&
           (m0_queue_is_empty(queue) || queue->q_tail->ql_next == &end);
}

struct m0_queue_link *m0_queue_get(struct m0_queue *queue)
{
    struct m0_queue_link *link = queue->q_head;

    if (link == &end)
        return NULL;
    queue->q_head = link->ql_next;
    if (queue->q_head == &end)
        queue->q_tail = &end;
    link->ql_next = NULL;
    return link;
}

void m0_queue_put(struct m0_queue *queue, struct m0_queue_link *link)
{
    M0_PRE(!m0_queue_link_is_in(link));
    link->ql_next = &end;
    if (queue->q_tail == &end)
        queue->q_head = link;
    else
        queue->q_tail->ql_next = link;
    queue->q_tail = link;
}

void m0_queue_link_init(struct m0_queue_link *link)
{
    link->ql_next = NULL;
}

void m0_queue_link_fini(struct m0_queue_link *link)
{
    M0_PRE(!m0_queue_link_is_in(link));
}

bool m0_queue_link_is_in(const struct m0_queue_link *link)
{
    return link->ql_next != NULL;
}
