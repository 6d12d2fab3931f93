/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A queue: what was put first is got first. Links are members of the queued objects. Callers bring
 * their own lock. */
#ifndef M0_LIB_QUEUE_H
#define M0_LIB_QUEUE_H

#include "lib/types.h"

struct m0_queue_link {
    struct m0_queue_link *ql_next; /* NULL: in no queue; its end is a word of its own */
};
struct m0_queue {
    struct m0_queue_link *q_head, *q_tail;
};
extern const struct m0_queue M0_QUEUE_INIT; /* an empty queue */

void m0_queue_init(struct m0_queue *queue);
void m0_queue_fini(struct m0_queue *queue); /* pre: empty */
bool m0_queue_is_empty(const struct m0_queue *queue);
size_t m0_queue_length(const struct m0_queue *queue);
bool m0_queue_contains(const struct m0_queue *queue, const struct m0_queue_link *link);
bool m0_queue_invariant(const struct m0_queue *queue);
/* NULL: it is empty. */
struct m0_queue_link *m0_queue_get(struct m0_queue *queue);
void m0_queue_put(struct m0_queue *queue, struct m0_queue_link *link); /* pre: in no queue */

void m0_queue_link_init(struct m0_queue_link *link);
void m0_queue_link_fini(struct m0_queue_link *link); /* pre: in no queue */
bool m0_queue_link_is_in(const struct m0_queue_link *link); /* in some queue */

#endif
