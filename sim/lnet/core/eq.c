/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Event queues: a callback, a ring of events, or both. */
#include "core/internal.h"

#include <stdlib.h>

struct lnet_eq *lnet_eq_find(struct lnet_node *node, struct lnet_handle_eq handle)
{
    return lnet_handle_find(node, LNET_HANDLE_EQ, handle.cookie);
}

static uint32_t power_of_two(uint32_t count)
{
    uint32_t size = 1;

    while (size < count)
        size *= 2;
    return size;
}

static void eq_free(struct lnet_node *node, struct lnet_eq *eq)
{
    if (eq->cookie != 0)
        lnet_handle_free(node, eq->cookie);
    list_del(&eq->on_node);
    assert(eq->node == node);
    free(eq->events);
    free(eq);
}

static int eq_alloc(struct lnet_node *node, unsigned count, lnet_eq_handler_t callback,
                    struct lnet_handle_eq *handle)
{
    struct lnet_eq *eq;

    if ((count == 0 && callback == LNET_EQ_HANDLER_NONE) || count > 1u << 31)
        return -EINVAL;
    eq = calloc(1, sizeof(*eq));
    if (eq == NULL)
        return -ENOMEM;

    eq->node = node;
    INIT_LIST_HEAD(&eq->on_node);
    eq->callback = callback;
    eq->dequeued = 1;
    if (count > 0) {
        eq->size = power_of_two(count);
        eq->events = calloc(eq->size, sizeof(eq->events[0]));
    }
    if (count == 0 || eq->events != NULL)
        eq->cookie = lnet_handle_new(node, LNET_HANDLE_EQ, eq);
    if (eq->cookie == 0) {
        eq_free(node, eq);
        return -ENOMEM;
    }
    list_add_tail(&eq->on_node, &node->instance->eqs);
    handle->cookie = eq->cookie;
    return 0;
}

int LNetEQAlloc(unsigned int count, lnet_eq_handler_t callback, struct lnet_handle_eq *handle)
{
    struct lnet_node *node = lnet_enter("LNetEQAlloc", true);
    int rc;

    if (node == NULL)
        return -ENODEV;

    rc = eq_alloc(node, count, callback, handle);
    lnet_leave(node, node->params.cost_other_ns);
    return rc;
}

int LNetEQFree(struct lnet_handle_eq handle)
{
    struct lnet_node *node = lnet_enter("LNetEQFree", true);
    struct lnet_eq *eq;
    int rc = 0;

    if (node == NULL)
        return -ENODEV;

    eq = lnet_eq_find(node, handle);
    if (eq == NULL)
        rc = -ENOENT;
    else if (eq->descriptors > 0)
        rc = -EBUSY;
    else
        eq_free(node, eq);
    lnet_leave(node, node->params.cost_other_ns);
    return rc;
}

struct lnet_eq *lnet_eq_internal(struct lnet_node *node, lnet_eq_handler_t callback)
{
    struct lnet_handle_eq handle;
    struct lnet_eq *eq;

    if (eq_alloc(node, 0, callback, &handle) != 0)
        return NULL;

    eq = lnet_eq_find(node, handle);
    list_del(&eq->on_node); /* not a consumer's */
    eq->internal = true;
    return eq;
}

void lnet_eq_internal_free(struct lnet_eq *eq)
{
    if (eq == NULL)
        return;

    assert(eq->descriptors == 0);
    eq_free(eq->node, eq);
}

void lnet_eq_free_all(struct lnet_node *node)
{
    struct list_head *eqs = &node->instance->eqs;

    while (!list_empty(eqs)) {
        eq_free(node, list_first_entry(eqs, struct lnet_eq, on_node));
        node->instance->leaks.eqs++;
    }
}

void lnet_eq_enqueue(struct lnet_node *node, struct lnet_eq *eq, struct lnet_event *event)
{
    if (node->silent && !eq->internal)
        return;

    assert(eq->node == node);
    if (eq->size > 0) {
        assert((eq->size & (eq->size - 1)) == 0);
        event->sequence = ++eq->enqueued;
        eq->events[event->sequence & (eq->size - 1)] = *event;
    }
    if (eq->callback != NULL)
        lnet_host_call(node, eq->callback, event);
    if (eq->size > 0)
        lnet_host_wake(node);
}

/* 1: an event; -EOVERFLOW: the same, and older ones were overwritten; 0: none. */
static int dequeue(struct lnet_eq *eq, struct lnet_event *event)
{
    const struct lnet_event *slot;
    int rc = 1;

    if (eq->size == 0)
        return 0;

    slot = &eq->events[eq->dequeued & (eq->size - 1)];
    if (LNET_SEQ_GT(eq->dequeued, slot->sequence))
        return 0;
    if (eq->dequeued != slot->sequence)
        rc = -EOVERFLOW;
    *event = *slot;
    eq->dequeued = slot->sequence + 1;
    assert(!LNET_SEQ_GT(eq->dequeued, eq->enqueued + 1));
    return rc;
}

/* All handles must be valid, also those behind one that has an event. */
static int poll_once(struct lnet_node *node, const struct lnet_handle_eq *handles, int count,
                     struct lnet_event *event, int *which)
{
    int i;

    for (i = 0; i < count; i++) {
        struct lnet_eq *eq = lnet_eq_find(node, handles[i]);
        int rc;

        if (eq == NULL)
            return -ENOENT;
        rc = dequeue(eq, event);
        if (rc != 0) {
            *which = i;
            return rc;
        }
    }
    return 0;
}

static sim_time_t deadline_after(signed long jiffies)
{
    if (jiffies == MAX_SCHEDULE_TIMEOUT || jiffies < 0 ||
        (sim_time_t)jiffies > (SIM_NEVER - sim_local_time()) / (SIM_S / HZ))
        return SIM_NEVER;

    return sim_local_time() + (sim_time_t)jiffies * (SIM_S / HZ);
}

int LNetEQPoll(struct lnet_handle_eq *handles, int count, signed long timeout,
               struct lnet_event *event, int *which)
{
    struct lnet_node *node = lnet_enter("LNetEQPoll", true);
    sim_time_t deadline;
    int rc;

    if (node == NULL)
        return -ENODEV;

    deadline = deadline_after(timeout);
    for (;;) {
        rc = count < 1 ? -ENOENT : poll_once(node, handles, count, event, which);
        if (rc != 0 || timeout == 0 || sim_local_time() >= deadline)
            break;
        lnet_host_wait(node, deadline, "waiting for an event of LNet");
    }
    lnet_leave(node, node->params.cost_eq_ns);
    return rc;
}

int LNetEQGet(struct lnet_handle_eq handle, struct lnet_event *event)
{
    int which;

    return LNetEQPoll(&handle, 1, 0, event, &which);
}

int LNetEQWait(struct lnet_handle_eq handle, struct lnet_event *event)
{
    int which;

    return LNetEQPoll(&handle, 1, MAX_SCHEDULE_TIMEOUT, event, &which);
}
