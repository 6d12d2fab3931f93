/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Fault rules, for fault.c (which messages), drop.c and delay.c (what happens to them). */
#ifndef JACQUARD_LNET_FAULT_H
#define JACQUARD_LNET_FAULT_H

#include "core/internal.h"

struct lnet_fault_rule {
    struct list_head on_node;
    struct lnet_node *node;
    struct lnet_fault_attr attr;
    struct lnet_fault_stat stat;
    struct lnet_fault_limits limits;
    struct sim_random own, *random; /* own: of a rule with a seed */
    uint64_t used; /* messages that it has dropped or delayed */
    char *name;
    bool of_host; /* from the scenario: it stays when LNet stops */
    /* Rate: the place in the window of `rate` messages, and that of the one that is selected. */
    uint32_t index, selected;
    /* Interval, in seconds of the node's clock. */
    uint64_t time_base, next_time;
    struct list_head held; /* delay: messages; FIFO */
    struct sim_timer release;
};

/* `*attr` is checked, and its message mask completed. 0 or -EINVAL. */
int lnet_fault_check(struct lnet_fault_attr *attr, const struct lnet_fault_limits *limits,
                     bool delay);
struct lnet_fault_rule *lnet_fault_rule_new(struct lnet_node *node, struct list_head *rules,
                                            const struct lnet_fault_attr *attr,
                                            const struct lnet_fault_limits *limits,
                                            const char *name, bool of_host);
void lnet_fault_rule_free(struct lnet_fault_rule *rule);
/* Whether the rule acts now, and is about such messages. */
bool lnet_fault_matches(const struct lnet_fault_rule *rule, const struct lnet_hdr *header);
/* Counts a message that matches, and selects it or not. */
bool lnet_fault_select(struct lnet_fault_rule *rule, uint32_t rate, uint32_t interval);
/* Counts one that it drops or delays. */
void lnet_fault_count(struct lnet_fault_rule *rule, uint32_t type);
/* Zeroes the statistics and draws anew. */
void lnet_fault_restart(struct lnet_fault_rule *rule, uint32_t rate, uint32_t interval);

/* `limits` NULL: none. */
int lnet_drop_add(struct lnet_node *node, const struct lnet_fault_attr *attr,
                  const struct lnet_fault_limits *limits, const char *name, bool of_host);
int lnet_delay_add(struct lnet_node *node, const struct lnet_fault_attr *attr,
                   const struct lnet_fault_limits *limits, const char *name, bool of_host);
/* Lets all held messages go on. */
void lnet_delay_release(struct lnet_fault_rule *rule);

#endif
