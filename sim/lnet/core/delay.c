/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Rules that hold messages for some seconds, at the sender and at the receiver. */
#include "core/fault.h"
#include "core/ni.h"

static void release(struct sim_event *event);

int lnet_delay_add(struct lnet_node *node, const struct lnet_fault_attr *attr,
                   const struct lnet_fault_limits *limits, const char *name, bool of_host)
{
    struct lnet_fault_attr checked = *attr;
    struct lnet_fault_rule *rule;
    int rc = lnet_fault_check(&checked, limits, true);

    if (rc != 0)
        return rc;
    rule = lnet_fault_rule_new(node, &node->delay_rules, &checked, limits, name, of_host);
    if (rule == NULL)
        return -ENOMEM;

    rule->release.event.fire = release;
    lnet_fault_restart(rule, checked.u.delay.la_rate, checked.u.delay.la_interval);
    return 0;
}

int lnet_node_add_delay(struct lnet_node *node, const struct lnet_fault_attr *attr,
                        const struct lnet_fault_limits *limits, const char *name)
{
    return lnet_delay_add(node, attr, limits, name, true);
}

static void arm(struct lnet_fault_rule *rule)
{
    if (list_empty(&rule->held) || sim_timer_armed(&rule->release))
        return;

    sim_timer_arm(&rule->release,
                  list_first_entry(&rule->held, struct lnet_msg, on_list)->release_at);
}

bool lnet_fault_delays(struct lnet_node *node, struct lnet_msg *msg)
{
    struct lnet_fault_rule *rule;

    list_for_each_entry (rule, &node->delay_rules, on_node) {
        if (!lnet_fault_matches(rule, &msg->header) ||
            !lnet_fault_select(rule, rule->attr.u.delay.la_rate, rule->attr.u.delay.la_interval))
            continue;

        lnet_fault_count(rule, msg->header.type);
        rule->stat.u.delay.ls_delayed++;
        msg->release_at = sim_now() + (rule->limits.hold != 0
                                           ? rule->limits.hold
                                           : (sim_time_t)rule->attr.u.delay.la_latency * SIM_S);
        list_add_tail(&msg->on_list, &rule->held);
        arm(rule);
        return true;
    }
    return false;
}

static void drop(struct lnet_msg *msg, const char *why)
{
    struct lnet_ni *ni = msg->rx_ni;
    void *in = msg->in;
    uint32_t type = msg->header.type, bytes = msg->header.payload_length;

    lnet_record_dropped(msg->node, &msg->header, why);
    lnet_finalize(msg, -ECANCELED);
    lnet_drop_incoming(ni, in, type, bytes);
}

/* A received message that is held has not been offered to a descriptor or a router buffer yet. */
static void go_on(struct lnet_msg *msg)
{
    struct lnet_node *node = msg->node;

    list_del(&msg->on_list);
    if (msg->tx_committed) {
        msg->delay_rule_passed = true;
        lnet_ni_send(msg);
    } else if (node->state == LNET_STOPPING) {
        drop(msg, "LNet stopped");
    } else {
        lnet_parse_delayed(msg);
    }
}

static void release(struct sim_event *event)
{
    struct sim_timer *timer = sim_container_of(event, struct sim_timer, event);
    struct lnet_fault_rule *rule = sim_container_of(timer, struct lnet_fault_rule, release);
    struct lnet_node *node = rule->node;

    lnet_host_lock(node);
    while (!list_empty(&rule->held)) {
        struct lnet_msg *msg = list_first_entry(&rule->held, struct lnet_msg, on_list);

        if (msg->release_at > sim_now())
            break;
        go_on(msg);
    }
    arm(rule);
    lnet_host_unlock(node);
}

void lnet_delay_flush_ni(const struct lnet_ni *ni)
{
    struct lnet_fault_rule *rule;
    struct lnet_msg *msg, *next;
    LIST_HEAD(ended);

    list_for_each_entry (rule, &ni->node->delay_rules, on_node) {
        list_for_each_entry_safe (msg, next, &rule->held, on_list) {
            if ((msg->tx_committed ? msg->tx_ni : msg->rx_ni) == ni)
                list_move_tail(&msg->on_list, &ended);
        }
        if (list_empty(&rule->held))
            sim_timer_cancel(&rule->release);
    }
    while (!list_empty(&ended)) {
        msg = list_first_entry(&ended, struct lnet_msg, on_list);
        list_del(&msg->on_list);
        if (msg->tx_committed) {
            msg->no_resend = true;
            lnet_finalize(msg, -ESHUTDOWN);
        } else {
            drop(msg, "interface removed");
        }
    }
}

void lnet_delay_release(struct lnet_fault_rule *rule)
{
    while (!list_empty(&rule->held))
        go_on(list_first_entry(&rule->held, struct lnet_msg, on_list));
    sim_timer_cancel(&rule->release);
}
