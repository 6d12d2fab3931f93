/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Fault rules: which messages they concern, and the list of them. */
#include "core/fault.h"

#include <stdlib.h>
#include <string.h>

#define ANY_ADDRESS 0xffffffffu

/* ---- which messages -------------------------------------------------------------------------- */

static bool nid_matches(lnet_nid_t rule, lnet_nid_t nid)
{
    if (rule == nid || rule == LNET_NID_ANY)
        return true;

    return LNET_NIDADDR(rule) == ANY_ADDRESS && LNET_NIDNET(rule) == LNET_NIDNET(nid);
}

static bool acts(const struct lnet_fault_rule *rule)
{
    const struct lnet_fault_limits *limits = &rule->limits;

    return sim_now() >= limits->from && (limits->until == 0 || sim_now() < limits->until) &&
           (limits->count == 0 || rule->used < limits->count);
}

bool lnet_fault_matches(const struct lnet_fault_rule *rule, const struct lnet_hdr *header)
{
    const struct lnet_fault_attr *attr = &rule->attr;
    uint32_t portal;

    if (!acts(rule))
        return false;

    if (!nid_matches(attr->fa_src, header->src_nid) || !nid_matches(attr->fa_dst, header->dest_nid))
        return false;
    if ((attr->fa_msg_mask & 1u << header->type) == 0)
        return false;
    if (attr->fa_ptl_mask == 0)
        return true;

    portal = header->type == LNET_MSG_PUT ? header->msg.put.ptl_index : header->msg.get.ptl_index;
    return portal < LNET_PORTALS && (attr->fa_ptl_mask & 1ull << portal) != 0;
}

int lnet_fault_check(struct lnet_fault_attr *attr, const struct lnet_fault_limits *limits,
                     bool delay)
{
    sim_time_t hold = limits != NULL ? limits->hold : 0;
    uint32_t rate = delay ? attr->u.delay.la_rate : attr->u.drop.da_rate;
    uint32_t interval = delay ? attr->u.delay.la_interval : attr->u.drop.da_interval;

    if ((rate == 0) == (interval == 0))
        return -EINVAL;
    if (delay && (attr->u.delay.la_latency == 0) == (hold == 0))
        return -EINVAL;
    if (!delay && hold != 0)
        return -EINVAL;
    if (limits != NULL && limits->until != 0 && limits->until <= limits->from)
        return -EINVAL;
    if (!delay && attr->u.drop.da_random && interval == 0)
        return -EINVAL; /* the kernel divides by zero */

    if (attr->fa_msg_mask == 0)
        attr->fa_msg_mask = LNET_ACK_BIT | LNET_PUT_BIT | LNET_GET_BIT | LNET_REPLY_BIT;
    if (attr->fa_ptl_mask != 0)
        attr->fa_msg_mask &= LNET_PUT_BIT | LNET_GET_BIT;
    return attr->fa_msg_mask != 0 ? 0 : -EINVAL;
}

static uint64_t seconds(void)
{
    return sim_now() / SIM_S;
}

static uint32_t draw(struct lnet_fault_rule *rule, uint32_t bound)
{
    return (uint32_t)sim_random_below(rule->random, bound);
}

void lnet_fault_restart(struct lnet_fault_rule *rule, uint32_t rate, uint32_t interval)
{
    memset(&rule->stat, 0, sizeof(rule->stat));
    rule->index = 0;
    if (rate != 0) {
        rule->selected = draw(rule, rate);
    } else {
        rule->time_base = seconds() + interval;
        rule->next_time = seconds() + draw(rule, interval);
    }
}

bool lnet_fault_select(struct lnet_fault_rule *rule, uint32_t rate, uint32_t interval)
{
    bool selected;

    rule->stat.fs_count++;
    if (rate != 0) {
        selected = rule->index == rule->selected;
        rule->index++;
        if (rule->index == rate) {
            rule->index = 0;
            rule->selected = draw(rule, rate);
        }
        return selected;
    }
    if (seconds() < rule->next_time)
        return false;

    if (seconds() > rule->time_base)
        rule->time_base = seconds();
    rule->next_time = rule->time_base + draw(rule, interval);
    rule->time_base += interval;
    return true;
}

void lnet_fault_count(struct lnet_fault_rule *rule, uint32_t type)
{
    struct lnet_fault_stat *stat = &rule->stat;

    rule->used++;
    switch (type) {
    case LNET_MSG_PUT:
        stat->fs_put++;
        break;
    case LNET_MSG_GET:
        stat->fs_get++;
        break;
    case LNET_MSG_REPLY:
        stat->fs_reply++;
        break;
    default:
        stat->fs_ack++;
        break;
    }
}

/* ---- the list -------------------------------------------------------------------------------- */

struct lnet_fault_rule *lnet_fault_rule_new(struct lnet_node *node, struct list_head *rules,
                                            const struct lnet_fault_attr *attr,
                                            const struct lnet_fault_limits *limits,
                                            const char *name, bool of_host)
{
    struct lnet_fault_rule *rule = calloc(1, sizeof(*rule));

    if (rule == NULL)
        return NULL;
    rule->name = strdup(name != NULL ? name : "a rule");
    if (rule->name == NULL) {
        free(rule);
        return NULL;
    }
    rule->node = node;
    rule->attr = *attr;
    rule->of_host = of_host;
    rule->random = &node->random;
    if (limits != NULL)
        rule->limits = *limits;
    if (rule->limits.seeded) {
        sim_random_init(&rule->own, rule->limits.seed, "lnet rule", node->number);
        rule->random = &rule->own;
    }
    INIT_LIST_HEAD(&rule->held);
    list_add(&rule->on_node, rules);
    return rule;
}

void lnet_fault_rule_free(struct lnet_fault_rule *rule)
{
    list_del(
        &rule->on_node); /* what goes on causes messages that the rule must not hold any more */
    lnet_delay_release(rule);
    free(rule->name);
    free(rule);
}

static bool is_named(const struct lnet_fault_rule *rule, lnet_nid_t source, lnet_nid_t target)
{
    return (source == 0 || rule->attr.fa_src == source) &&
           (target == 0 || rule->attr.fa_dst == target);
}

static uint32_t delete_rules(struct list_head *rules, lnet_nid_t source, lnet_nid_t target)
{
    struct lnet_fault_rule *rule, *next;
    uint32_t count = 0;

    list_for_each_entry_safe (rule, next, rules, on_node) {
        if (is_named(rule, source, target)) {
            lnet_fault_rule_free(rule);
            count++;
        }
    }
    return count;
}

static int list_rule(struct list_head *rules, uint32_t position, struct lnet_fault_attr *attr,
                     struct lnet_fault_stat *stat)
{
    const struct lnet_fault_rule *rule;

    list_for_each_entry (rule, rules, on_node) {
        if (position-- == 0) {
            *attr = rule->attr;
            if (stat != NULL)
                *stat = rule->stat;
            return 0;
        }
    }
    return -ENOENT;
}

static void reset_rules(struct list_head *rules, bool delay)
{
    struct lnet_fault_rule *rule;

    list_for_each_entry (rule, rules, on_node) {
        if (delay)
            lnet_fault_restart(rule, rule->attr.u.delay.la_rate, rule->attr.u.delay.la_interval);
        else
            lnet_fault_restart(rule, rule->attr.u.drop.da_rate, rule->attr.u.drop.da_interval);
    }
}

/* The attributes are in the first inline buffer, the statistics go to the second one. */
int lnet_fault_control(struct lnet_node *node, unsigned operation, struct libcfs_ioctl_data *data)
{
    struct lnet_fault_attr *attr = (struct lnet_fault_attr *)data->ioc_inlbuf1;
    struct lnet_fault_stat *stat = (struct lnet_fault_stat *)data->ioc_inlbuf2;
    bool delay = operation >= LNET_CTL_DELAY_ADD;
    struct list_head *rules = delay ? &node->delay_rules : &node->drop_rules;

    if (operation > LNET_CTL_DELAY_LIST)
        return -EINVAL;
    if (operation != LNET_CTL_DROP_RESET && operation != LNET_CTL_DELAY_RESET &&
        (attr == NULL || data->ioc_inllen1 < sizeof(*attr)))
        return -EINVAL;
    switch (operation) {
    case LNET_CTL_DROP_ADD:
        return lnet_drop_add(node, attr, NULL, NULL, false);
    case LNET_CTL_DELAY_ADD:
        return lnet_delay_add(node, attr, NULL, NULL, false);
    case LNET_CTL_DROP_DEL:
    case LNET_CTL_DELAY_DEL:
        data->ioc_count = delete_rules(rules, attr->fa_src, attr->fa_dst);
        return 0;
    case LNET_CTL_DROP_RESET:
    case LNET_CTL_DELAY_RESET:
        reset_rules(rules, delay);
        return 0;
    default:
        if (stat != NULL && data->ioc_inllen2 < sizeof(*stat))
            return -EINVAL;
        return list_rule(rules, data->ioc_count, attr, stat);
    }
}

static void stop_rules(struct list_head *rules, bool all)
{
    struct lnet_fault_rule *rule, *next;

    list_for_each_entry_safe (rule, next, rules, on_node) {
        if (all || !rule->of_host)
            lnet_fault_rule_free(rule);
        else
            lnet_delay_release(rule);
    }
}

/* LNet stops: its rules go, those of the host stay. */
void lnet_fault_stop(struct lnet_node *node)
{
    stop_rules(&node->drop_rules, false);
    stop_rules(&node->delay_rules, false);
    (void)lnet_fail_nid(node, LNET_NID_ANY, 0);
}

void lnet_fault_free(struct lnet_node *node)
{
    stop_rules(&node->drop_rules, true);
    stop_rules(&node->delay_rules, true);
    (void)lnet_fail_nid(node, LNET_NID_ANY, 0);
}
