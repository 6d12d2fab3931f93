/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Rules that drop messages, or make them fail at the sender; and the fail-nid mechanism. */
#include "core/fault.h"

#include <stdlib.h>

int lnet_drop_add(struct lnet_node *node, const struct lnet_fault_attr *attr,
                  const struct lnet_fault_limits *limits, const char *name, bool of_host)
{
    struct lnet_fault_attr checked = *attr;
    struct lnet_fault_rule *rule;
    int rc = lnet_fault_check(&checked, limits, false);

    if (rc != 0)
        return rc;
    rule = lnet_fault_rule_new(node, &node->drop_rules, &checked, limits, name, of_host);
    if (rule == NULL)
        return -ENOMEM;

    lnet_fault_restart(rule, checked.u.drop.da_rate, checked.u.drop.da_interval);
    return 0;
}

int lnet_node_add_drop(struct lnet_node *node, const struct lnet_fault_attr *attr,
                       const struct lnet_fault_limits *limits, const char *name)
{
    return lnet_drop_add(node, attr, limits, name, true);
}

static bool decides(struct lnet_fault_rule *rule, const struct lnet_hdr *header)
{
    const struct lnet_fault_attr *attr = &rule->attr;
    bool drop;

    if (attr->u.drop.da_random) {
        uint32_t n = attr->u.drop.da_interval;

        drop = sim_random_below(rule->random, n) >= n / 2;
    } else {
        drop = lnet_fault_select(rule, attr->u.drop.da_rate, attr->u.drop.da_interval);
    }
    if (drop) {
        lnet_fault_count(rule, header->type);
        rule->stat.u.drop.ds_dropped++;
    }
    return drop;
}

/* The newest rule that decides to drop ends the search; those before it have counted the message.
 */
static struct lnet_fault_rule *deciding_rule(struct lnet_node *node, const struct lnet_hdr *header,
                                             bool health)
{
    struct lnet_fault_rule *rule;

    list_for_each_entry (rule, &node->drop_rules, on_node) {
        if ((rule->attr.u.drop.da_health_error_mask != 0) == health &&
            lnet_fault_matches(rule, header) && decides(rule, header))
            return rule;
    }
    return NULL;
}

const char *lnet_fault_drops(struct lnet_node *node, const struct lnet_hdr *header)
{
    const struct lnet_fault_rule *rule = deciding_rule(node, header, false);

    return rule != NULL ? rule->name : NULL;
}

static bool allows(uint32_t mask, uint32_t status)
{
    return status > 0 && status < HSTATUS_END && (mask >> status & 1) != 0;
}

/* The error whose bit is set and that is nearest to a random one. */
static enum lnet_msg_hstatus choose(struct lnet_node *node, uint32_t mask)
{
    uint32_t choice = 1 + (uint32_t)sim_random_below(&node->random, HSTATUS_END - 1);
    uint32_t distance;

    if (mask == HSTATUS_RANDOM)
        return (enum lnet_msg_hstatus)choice;

    for (distance = 0; distance < HSTATUS_END; distance++) {
        if (distance < choice && allows(mask, choice - distance))
            return (enum lnet_msg_hstatus)(choice - distance);
        if (allows(mask, choice + distance))
            return (enum lnet_msg_hstatus)(choice + distance);
    }
    return LNET_MSG_STATUS_LOCAL_ERROR; /* the mask has no bit of an error */
}

bool lnet_drop_for_health(struct lnet_ni *ni, struct lnet_msg *msg)
{
    const struct lnet_fault_rule *rule;

    if (list_empty(&ni->node->drop_rules))
        return false;
    rule = deciding_rule(ni->node, &msg->header, true);
    if (rule == NULL)
        return false;

    msg->health_status = choose(ni->node, rule->attr.u.drop.da_health_error_mask);
    return true;
}

/* ---- fail-nid -------------------------------------------------------------------------------- */

struct failing {
    struct list_head on_node;
    lnet_nid_t nid;
    int threshold; /* -1: no limit */
};

int lnet_fail_nid(struct lnet_node *node, lnet_nid_t nid, int threshold)
{
    struct failing *entry, *next;

    if (threshold != 0) {
        entry = calloc(1, sizeof(*entry));
        if (entry == NULL)
            return -ENOMEM;
        entry->nid = nid;
        entry->threshold = threshold;
        list_add_tail(&entry->on_node, &node->failing);
        return 0;
    }
    list_for_each_entry_safe (entry, next, &node->failing, on_node) {
        if (nid == LNET_NID_ANY || entry->nid == nid) {
            list_del(&entry->on_node);
            free(entry);
        }
    }
    return 0;
}

bool lnet_fault_fails_nid(struct lnet_node *node, lnet_nid_t nid)
{
    struct failing *entry;

    list_for_each_entry (entry, &node->failing, on_node) {
        if (entry->nid != nid && entry->nid != LNET_NID_ANY)
            continue;
        if (entry->threshold > 0 && --entry->threshold == 0) {
            list_del(&entry->on_node);
            free(entry);
        }
        return true;
    }
    return false;
}
