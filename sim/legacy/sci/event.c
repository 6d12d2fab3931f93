/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Events of segments: a program that has no callback waits for them. */
#include "devices.h"

enum { EVENTS_MAX = 1024 }; /* that nobody waits for: then the oldest one goes */

void sci_event(struct sci_events *events, sci_segment_cb_reason_t reason,
               const struct sci_card *card, sci_error_t status)
{
    struct sci_event event = {reason, sci_node_of(card), status};

    if (events->waiting == NULL)
        events->waiting = g_array_new(FALSE, FALSE, sizeof(struct sci_event));
    if (events->waiting->len == EVENTS_MAX)
        g_array_remove_index(events->waiting, 0);
    g_array_append_val(events->waiting, event);
    if (events->waiters != NULL)
        sci_wake(events->waiters);
}

void sci_events_free(struct sci_events *events)
{
    if (events->waiting != NULL)
        g_array_unref(events->waiting);
    if (events->waiters != NULL)
        g_ptr_array_unref(events->waiters);
    *events = (struct sci_events){NULL};
}

/* False: *error. The segment must stay meanwhile. */
static bool wait_for(struct sci_events *events, struct sci_event *event, unsigned timeout,
                     sci_error_t *error)
{
    static const struct sim_wait wait = {.text = "an event of an SCI segment"};
    sim_time_t deadline;

    sim_settle();
    deadline = sci_deadline(timeout);
    if (events->waiters == NULL)
        events->waiters = g_ptr_array_new();
    while ((events->waiting == NULL || events->waiting->len == 0) && sim_now() < deadline)
        sci_wait(events->waiters, deadline, &wait);
    if (sci_fails(error, events->waiting == NULL || events->waiting->len == 0 ? SCI_ERR_TIMEOUT
                                                                              : SCI_ERR_OK))
        return false;
    *event = g_array_index(events->waiting, struct sci_event, 0);
    g_array_remove_index(events->waiting, 0);
    return true;
}

sci_segment_cb_reason_t SCIWaitForLocalSegmentEvent(sci_local_segment_t segment, unsigned *node,
                                                    unsigned *adapter, unsigned timeout,
                                                    unsigned flags, sci_error_t *error)
{
    struct sci_event event = {.reason = 0};

    if (!sci_flags_ok(flags, 0, error) ||
        sci_fails(error, segment == NULL             ? SCI_ERR_ILLEGAL_PARAMETER
                         : segment->callback != NULL ? SCI_ERR_ILLEGAL_OPERATION
                                                     : SCI_ERR_OK) ||
        !wait_for(&segment->events, &event, timeout, error))
        return event.reason;
    if (node != NULL)
        *node = event.node;
    if (adapter != NULL)
        *adapter = 0;
    return event.reason;
}

sci_segment_cb_reason_t SCIWaitForRemoteSegmentEvent(sci_remote_segment_t segment,
                                                     sci_error_t *status, unsigned timeout,
                                                     unsigned flags, sci_error_t *error)
{
    struct sci_event event = {.reason = 0};

    if (!sci_flags_ok(flags, 0, error) ||
        sci_fails(error, segment == NULL             ? SCI_ERR_ILLEGAL_PARAMETER
                         : segment->callback != NULL ? SCI_ERR_ILLEGAL_OPERATION
                                                     : SCI_ERR_OK) ||
        !wait_for(&segment->events, &event, timeout, error))
        return event.reason;
    if (status != NULL)
        *status = event.status;
    return event.reason;
}
