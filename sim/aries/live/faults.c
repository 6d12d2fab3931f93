/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Faults of the fabric's scenario. Rules of fault points strike in the process that acts, each from
 * a stream of its own; what happens to a node at a time happens in each process for itself. Links
 * and routers: way.c. Stalls and throttles are of the simulation only.
 */
#include "backend.h"

#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include "nic/cq_entry.h"
#include "aries/misc/exceptions.h"
#include "plan.h"

static struct lnic_plan plan; /* its timed events are scheduled */

/* ---- what happens to a node ------------------------------------------------------------------ */

static void crash(uint32_t node)
{
    struct aries_nic *hw = &lnic_backend.fabric->nics[node];

    hw->alive = false;
    trace(SIM_TRACE_INSTANT, SIM_TRACK_FAULT, node, 0, "node crash", sim_now(), 0, 0, node);
    if (hw == lnic_backend.hw)
        aries_process_kill(lnic_backend.process, "the node has crashed, as the scenario says");
    aries_datagrams_node_down(lnic_backend.fabric, node);
    sim_wall.changes++;
}

static void corrupt(struct aries_mr *mr)
{
    if (mr->corrupt)
        return;
    mr->corrupt = true;
    trace(SIM_TRACE_INSTANT, SIM_TRACK_FAULT, lnic_backend.hw->node, 0, "mdd corrupt", sim_now(), 0,
          0, mr->mdh);
    aries_hw_mr_changed(mr);
    aries_error_raise(lnic_backend.hw, GNI_ERRMASK_CRITICAL, A_STATUS_AT_MDD_UNCORRECTABLE,
                      mr->ptag, mr->mdh);
}

static void corrupt_region(uint32_t region)
{
    struct aries_list *attached = &lnic_backend.hw->attached, *link, *inner;
    uint32_t index = 0;

    for (link = attached->next; link != attached; link = link->next) {
        struct gni_nic *nic = sim_container_of(link, struct gni_nic, nic_link);

        for (inner = nic->mrs.next; inner != &nic->mrs; inner = inner->next)
            if (region == ARIES_EVERY || region == index++)
                corrupt(sim_container_of(inner, struct aries_mr, nic_link));
    }
}

static void strike(struct sim_event *event)
{
    const struct lnic_timed *timed = sim_container_of(event, struct lnic_timed, event);
    struct aries_fabric *fabric = lnic_backend.fabric;

    if (timed->fate == LNIC_CRASH && timed->node < fabric->nodes)
        crash(timed->node);
    if (timed->node != lnic_backend.hw->node)
        return;
    if (timed->fate == LNIC_OVERRUN)
        aries_cq_force_overrun_of(fabric, timed->node, timed->which);
    else if (timed->fate == LNIC_CORRUPT)
        corrupt_region(timed->which);
    else if (timed->fate == LNIC_ERROR)
        aries_error_raise(lnic_backend.hw, (gni_error_mask_t)timed->which, timed->code, 0, 0);
}

/* ---- transactions ---------------------------------------------------------------------------- */

static const struct sim_fault_rule *ask(const struct aries_work *work, uint32_t kind)
{
    struct aries_fabric *fabric = lnic_backend.fabric;
    const struct aries_nic *from = kind == 0 ? lnic_backend.hw : work->target;
    const struct aries_nic *to = kind == 0 ? work->target : lnic_backend.hw;
    const struct sim_fault_subject subject = {
        .source = from->node,
        .target = to->node,
        .source_group = net_group_of(fabric->net, from->node),
        .target_group = net_group_of(fabric->net, to->node),
        .kind = kind,
    };

    return sim_fault_ask(&fabric->fault_packet, &subject);
}

static void rule_of(const struct sim_fault_rule *rule, uint32_t kind, struct lnic_blow *blow)
{
    switch (rule->action) {
    case SIM_FAULT_DROP:
    case SIM_FAULT_CRASH:
        blow->status = A_STATUS_ORB_TIMEOUT;
        break;
    case SIM_FAULT_CORRUPT:
        blow->status = A_STATUS_DATA_ERR;
        break;
    case SIM_FAULT_FAIL:
        blow->status = (uint8_t)(rule->status & 0x3f);
        break;
    case SIM_FAULT_DELAY:
        blow->delay += rule->delay;
        return;
    case SIM_FAULT_DUPLICATE: /* refused when the scenario was read */
    case SIM_FAULT_DELIVER:
        return;
    }
    blow->info = kind == 0 ? ARIES_CQ_CPLTN_DREQ : ARIES_CQ_CPLTN_SRSP;
    blow->executed = kind == 1; /* only the answer is lost, or spoilt */
}

bool lnic_struck(const struct aries_work *work, struct lnic_blow *blow)
{
    const struct sim_fault_rule *rule;
    uint32_t kind;

    *blow = (struct lnic_blow){0};
    for (kind = 0; kind < 2 && blow->status == 0; kind++) {
        rule = ask(work, kind);
        if (rule != NULL)
            rule_of(rule, kind, blow);
    }
    if (blow->status != 0)
        aries_error_raise(lnic_backend.hw, aries_error_category(blow->status), blow->status,
                          work->ptag, work->target->pe_addr);
    return blow->status != 0 || blow->delay != 0;
}

/* ---- the plan -------------------------------------------------------------------------------- */

bool lnic_faults_read(const struct live_facts *facts, char *why, size_t room)
{
    uint32_t i;

    lnic_plan_free(&plan);
    if (!lnic_plan_read(&plan, facts->scenario, facts->scenario_bytes, why, room))
        return false;
    for (i = 0; i < plan.rules_count; i++)
        if (plan.rules[i].rule.action == SIM_FAULT_DUPLICATE &&
            strcmp(plan.rules[i].point, "aries.packet") == 0) {
            snprintf(why, room,
                     "the fabric's scenario: aries.packet cannot be duplicated: no "
                     "packet is modelled that could come twice");
            return false;
        }
    return true;
}

bool lnic_faults_net(struct net_config *config)
{
    if (plan.groups == 0)
        return false;
    config->dragonfly.preset = NULL;
    config->dragonfly.groups = plan.groups;
    config->dragonfly.chassis = plan.chassis;
    config->dragonfly.slots = plan.slots;
    config->dragonfly.cables = plan.cables;
    return true;
}

struct aries_params *lnic_faults_params(char *why, size_t room)
{
    const char *profile = plan.profile != NULL ? plan.profile : "xc40_hsw";
    struct aries_params *params = aries_params_new(profile);
    char *error = NULL;
    uint32_t i;

    if (params == NULL) {
        snprintf(why, room, "the fabric's scenario names hosts that are not known: %s", profile);
        return NULL;
    }
    for (i = 0; i < plan.params_count; i++)
        if (!aries_params_set(params, plan.params[i].name, plan.params[i].value, &error)) {
            snprintf(why, room, "the fabric's scenario: %s: %s", plan.params[i].name, error);
            free(error);
            aries_params_free(params);
            return NULL;
        }
    return params;
}

static sim_time_t shifted(sim_time_t time, sim_time_t began)
{
    return time < SIM_NEVER - began ? time + began : SIM_NEVER;
}

/* No two processes draw the same. */
uint64_t lnic_faults_seed(const struct live_facts *facts)
{
    return sim_mix(live_self(lnic_backend.live)->slot + 1) ^ facts->seed;
}

void lnic_faults_arm(const struct live_facts *facts)
{
    sim_time_t began = facts->began_ns * SIM_NS;
    uint64_t own = lnic_faults_seed(facts);
    uint32_t i;

    for (i = 0; i < plan.rules_count; i++) {
        struct sim_fault_point *point = sim_fault_point_find(plan.rules[i].point);
        struct sim_fault_rule rule = plan.rules[i].rule;

        if (point == NULL) /* of the modelled network, or of another device */
            continue;
        plan.rules[i].rule.label = NULL; /* the table has it */
        rule.from = shifted(rule.from, began);
        rule.until = shifted(rule.until, began);
        sim_random_init(&rule.random, own, "fault", i);
        sim_fault_rule_add(point, &rule);
    }
    for (i = 0; i < plan.timed_count; i++) {
        plan.timed[i].event.fire = strike;
        sim_event_schedule(&plan.timed[i].event, shifted(plan.timed[i].time, began));
    }
    lnic_backend.paced = plan.profile != NULL;
    lnic_ways_arm(plan.changes, plan.changes_count, began, lnic_backend.paced);
    lnic_backend.inspected = lnic_backend.fabric->fault_packet.rules != NULL ||
                             plan.changes_count > 0 || lnic_backend.paced;
}
