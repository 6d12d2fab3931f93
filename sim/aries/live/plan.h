/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Reads the part of a fabric's scenario that its processes need (shm_facts.scenario): a key file
 * that sim-run writes. sim/run/live/plan.c describes its groups. Unknown groups and keys are
 * refused. */
#ifndef JACQUARD_ARIES_LIVE_PLAN_H
#define JACQUARD_ARIES_LIVE_PLAN_H

#include "nic/interface.h"

enum aries_live_fault_kind {
    ARIES_LIVE_CRASH,
    ARIES_LIVE_OVERRUN,
    ARIES_LIVE_CORRUPT,
    ARIES_LIVE_ERROR
};

struct aries_live_timed { /* a timed fault of a node */
    struct sim_event event;
    sim_time_t time; /* from the start of the fabric */
    enum aries_live_fault_kind fault;
    uint32_t node, which; /* queue or region, ARIES_EVERY; category */
    uint16_t code;
};

struct aries_live_change { /* a timed change of a link or router */
    sim_time_t time; /* from the start of the fabric */
    bool is_router, alive;
    uint32_t a, b, which; /* the two ends, and which of their links; the router in `a` */
};

struct aries_live_param {
    char *name;
    double value;
};

struct aries_live_rule {
    char *point;
    struct sim_fault_rule rule; /* owns its label; times from the start of the fabric */
};

struct aries_live_plan {
    uint32_t groups, chassis, slots, cables; /* groups 0: a preset, or not given */
    uint32_t params_count, rules_count, timed_count, changes_count;
    struct aries_live_param *params;
    struct aries_live_rule *rules;
    struct aries_live_timed *timed;
    struct aries_live_change *changes;
    char *profile; /* profile of the hosts for the model's time; NULL: transactions take this
                      machine's time */
};

/* False: `why` (of `room` bytes) says which group is wrong. An empty text is an empty plan. */
bool aries_live_plan_read(struct aries_live_plan *plan, const char *text, size_t bytes, char *why,
                          size_t room);
void aries_live_plan_free(struct aries_live_plan *plan);

#endif
