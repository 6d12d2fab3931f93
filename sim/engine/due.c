/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Fibers that are due at one instant. They run after all events of that instant, in order of
 * creation. An idle poll changes nothing, so this order does not depend on how many idle polls a
 * fiber makes, nor on when the resume event of each was scheduled: with and without parking the
 * same fibers do the same things in the same order. Fibers that catch up (group.c) come before all
 * others.
 *
 * A binary heap of keys: the fibers' indices, with a bit on top for those that do not catch up. It
 * is empty unless several things happen at one instant.
 */
#include <assert.h>

#include "internal.h"

#define IN_ORDER 0x80000000u /* the fiber does not catch up */

void sim_due_add(const struct sim_fiber *fiber)
{
    uint32_t *heap = sim_engine.due;
    uint32_t at = sim_engine.due_count++, key = fiber->index | (fiber->catching_up ? 0 : IN_ORDER);

    assert(at < sim_engine.fibers_capacity); /* each fiber is due at most once */
    assert(fiber->index < IN_ORDER);
    for (; at > 0 && heap[(at - 1) / 2] > key; at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = key;
}

static uint32_t take_lowest(void)
{
    uint32_t *heap = sim_engine.due;
    uint32_t lowest = heap[0], count = --sim_engine.due_count, last = heap[count];
    uint32_t at = 0, child;

    while ((child = 2 * at + 1) < count) {
        child += child + 1 < count && heap[child + 1] < heap[child];
        if (heap[child] >= last)
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = last;
    return lowest & ~IN_ORDER;
}

struct sim_fiber *sim_due_take(void)
{
    while (sim_engine.due_count > 0) {
        struct sim_fiber *fiber = sim_engine.fibers[take_lowest()];

        if (fiber->state != FIBER_ENDED) /* it may have been killed meanwhile */
            return fiber;
    }
    return NULL;
}
