/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The response tracker: a descriptor that waits for a REPLY or an ACK is unlinked when its deadline
 * has passed. The list is scanned at multiples of half the transaction timeout.
 */
#include "core/internal.h"

static sim_time_t timeout(const struct lnet_node *node)
{
    return (sim_time_t)node->params.lnet_transaction_timeout * SIM_S;
}

sim_time_t lnet_next_scan(sim_time_t origin, sim_time_t interval)
{
    return origin + ((sim_now() - origin) / interval + 1) * interval;
}

static void expire(struct lnet_node *node, struct lnet_libmd *md)
{
    lnet_nid_t peer = md->response_peer;

    lnet_response_forget(node, md);
    if (md->dead) /* nobody waits for the answer any more */
        return;
    node->counters.lct_health.lch_response_timeout_count++;
    lnet_health_lower_peer(node, peer);
    lnet_record_timed_out(node, md);
    lnet_md_abort(node, md);
}

static void scan(struct sim_event *event);

static void arm(struct lnet_node *node)
{
    struct lnet_instance *instance = node->instance;
    sim_time_t at;

    if (list_empty(&instance->trackers) || sim_timer_armed(&instance->tracker_scan))
        return;

    at = lnet_next_scan(instance->started, timeout(node) / 2);
    if (node->params.exact_expiry != 0)
        at =
            list_first_entry(&instance->trackers, struct lnet_libmd, on_tracker)->response_deadline;
    instance->tracker_scan.event.fire = scan;
    sim_timer_arm(&instance->tracker_scan, at);
}

static void scan(struct sim_event *event)
{
    struct sim_timer *timer = sim_container_of(event, struct sim_timer, event);
    struct lnet_instance *instance = sim_container_of(timer, struct lnet_instance, tracker_scan);
    struct lnet_node *node = instance->node;

    lnet_host_lock(node);
    while (!list_empty(&instance->trackers)) {
        struct lnet_libmd *md =
            list_first_entry(&instance->trackers, struct lnet_libmd, on_tracker);

        if (md->response_deadline > sim_now())
            break;
        expire(node, md);
    }
    arm(node);
    lnet_host_unlock(node);
}

/* All have the same timeout, so the list is in order of deadlines. */
void lnet_response_track(struct lnet_node *node, struct lnet_libmd *md)
{
    struct lnet_instance *instance = node->instance;

    assert(!md->dead);
    if (list_empty(&md->on_tracker))
        node->counters.lct_health.lch_rst_alloc++;
    md->response_deadline = sim_now() + timeout(node);
    list_move_tail(&md->on_tracker, &instance->trackers);
    if (node->params.exact_expiry != 0)
        sim_timer_cancel(&instance->tracker_scan);
    arm(node);
}

void lnet_response_forget(struct lnet_node *node, struct lnet_libmd *md)
{
    if (list_empty(&md->on_tracker))
        return;

    list_del(&md->on_tracker);
    assert(node->counters.lct_health.lch_rst_alloc > 0);
    node->counters.lct_health.lch_rst_alloc--;
    if (list_empty(&node->instance->trackers))
        sim_timer_cancel(&node->instance->tracker_scan);
}

void lnet_response_stop(struct lnet_node *node)
{
    struct lnet_instance *instance = node->instance;

    sim_timer_cancel(&instance->tracker_scan);
    while (!list_empty(&instance->trackers)) {
        struct lnet_libmd *md =
            list_first_entry(&instance->trackers, struct lnet_libmd, on_tracker);

        lnet_response_forget(node, md);
        lnet_md_abort(node, md);
    }
}
