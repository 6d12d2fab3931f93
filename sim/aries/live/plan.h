/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Reads the part of a fabric's scenario that its processes need (live_facts.scenario). It is a key
 * file, which sim-run writes; sim/run/live/plan.c describes its groups.
 */
#ifndef JACQUARD_ARIES_LIVE_PLAN_H
#define JACQUARD_ARIES_LIVE_PLAN_H

#include "nic/interface.h"

enum lnic_fate { LNIC_CRASH, LNIC_OVERRUN, LNIC_CORRUPT, LNIC_ERROR };

struct lnic_timed { /* what happens to a node at a time */
    struct sim_event event;
    sim_time_t time; /* from the start of the fabric */
    enum lnic_fate fate;
    uint32_t node, which; /* queue or region, ARIES_EVERY; category */
    uint16_t code;
};

struct lnic_change { /* of a link or router, at a time */
    sim_time_t time; /* from the start of the fabric */
    bool is_router, alive;
    uint32_t a, b, which; /* the two ends, and which of their links; the router in `a` */
};

struct lnic_param {
    char *name;
    double value;
};

struct lnic_rule {
    char *point;
    struct sim_fault_rule rule; /* owns its label; times from the start of the fabric */
};

struct lnic_plan {
    uint32_t groups, chassis, slots, cables; /* groups 0: a preset, or nothing was said */
    uint32_t params_count, rules_count, timed_count, changes_count;
    struct lnic_param *params;
    struct lnic_rule *rules;
    struct lnic_timed *timed;
    struct lnic_change *changes;
    char *profile; /* of the hosts whose time transactions take; NULL: this machine's */
};

/* False: `why` (of `room` bytes) says which group is wrong. An empty text is an empty plan. */
bool lnic_plan_read(struct lnic_plan *plan, const char *text, size_t bytes, char *why, size_t room);
void lnic_plan_free(struct lnic_plan *plan);

#endif
