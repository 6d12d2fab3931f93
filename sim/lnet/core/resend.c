/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Messages that failed and are sent again, when the monitor wakes up next. */
#include "core/internal.h"

sim_time_t lnet_monitor_interval(const struct lnet_node *node)
{
    sim_time_t recovery = (sim_time_t)node->params.lnet_recovery_interval * SIM_S;
    sim_time_t half = (sim_time_t)node->params.lnet_transaction_timeout * SIM_S / 2;

    return recovery < half ? recovery : half;
}

/* A source that was named is kept (answers name theirs). To a peer without multi-rail a message
 * keeps the source of its first attempt, because the peer knows the sender by it. */
static lnet_nid_t source_of(const struct lnet_msg *msg)
{
    const struct lnet_peer_ni *peer;

    if (msg->source_argument == LNET_NID_ANY && !msg->routing) {
        peer = lnet_peer_ni_find(msg->node->instance, msg->header.dest_nid);
        if (peer == NULL || !peer->peer->multi_rail)
            return msg->header.src_nid;
    }
    return msg->source_argument;
}

static void resend(struct sim_event *event)
{
    struct sim_timer *timer = sim_container_of(event, struct sim_timer, event);
    struct lnet_instance *instance = sim_container_of(timer, struct lnet_instance, resend);
    struct lnet_node *node = instance->node;
    LIST_HEAD(due);

    lnet_host_lock(node);
    list_splice_init(&instance->resends, &due);
    while (!list_empty(&due)) {
        struct lnet_msg *msg = list_first_entry(&due, struct lnet_msg, on_list);
        int rc;

        list_del(&msg->on_list);
        msg->retries++;
        rc = lnet_send(msg, source_of(msg), NULL);
        if (rc < 0) {
            msg->no_resend = true;
            lnet_finalize(msg, rc);
        } else {
            node->counters.lct_health.lch_resend_count++;
        }
    }
    lnet_host_unlock(node);
}

void lnet_resend_add(struct lnet_msg *msg)
{
    struct lnet_node *node = msg->node;
    struct lnet_instance *instance = node->instance;

    msg->tx_committed = false;
    if (!msg->rx_committed)
        node->counters.lct_common.lcc_msgs_alloc--;
    lnet_return_tx_credits(msg);
    list_add_tail(&msg->on_list, &instance->resends);
    instance->resend.event.fire = resend;
    if (!sim_timer_armed(&instance->resend))
        sim_timer_arm(&instance->resend,
                      lnet_next_scan(instance->started, lnet_monitor_interval(node)));
}

void lnet_resend_stop(struct lnet_node *node)
{
    struct lnet_instance *instance = node->instance;

    sim_timer_cancel(&instance->resend);
    while (!list_empty(&instance->resends)) {
        struct lnet_msg *msg = list_first_entry(&instance->resends, struct lnet_msg, on_list);

        list_del(&msg->on_list);
        msg->no_resend = true;
        lnet_finalize(msg, -ESHUTDOWN);
    }
}
