/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Faults of the fabric's scenario. The process that acts applies the rules of fault points, with a
 * random stream of its own. Timed faults of a node occur in each process by itself. Links and
 * routers: path.c. Stalls and throttles exist in simulation only.
 */
#include "backend.h"

#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include "nic/cq_entry.h"
#include "aries/misc/exceptions.h"
#include "plan.h"

static struct aries_live_plan plan; /* its timed events are scheduled */

/* ---- what happens to a node ------------------------------------------------------------------ */

static void crash(uint32_t node)
{
    struct aries_nic *hw = &aries_live.fabric->nics[node];

    hw->alive = false;
    sim_trace_add_number("node", node);
    sim_trace(SIM_TRACE_INSTANT, SIM_TRACK_FAULT, node, 0, "node crash", sim_now(), 0, 0, node);
    if (hw == aries_live.hw)
        aries_process_kill(aries_live.process, "the node has crashed, as the scenario says");
    aries_datagrams_node_down(aries_live.fabric, node);
    sim_wall.changes++;
}

static void corrupt(struct aries_mr *mr)
{
    if (mr->corrupt)
        return;
    mr->corrupt = true;
    sim_trace(SIM_TRACE_INSTANT, SIM_TRACK_FAULT, aries_live.hw->node, 0, "mdd corrupt", sim_now(),
              0, 0, mr->mdh);
    aries_hw_mr_changed(mr);
    aries_error_raise(aries_live.hw, GNI_ERRMASK_CRITICAL, A_STATUS_AT_MDD_UNCORRECTABLE, mr->ptag,
                      mr->mdh);
}

static void corrupt_region(uint32_t region)
{
    struct aries_list *attached = &aries_live.hw->attached, *link, *inner;
    uint32_t index = 0;

    for (link = attached->next; link != attached; link = link->next) {
        struct gni_nic *nic = sim_container_of(link, struct gni_nic, nic_link);

        for (inner = nic->mrs.next; inner != &nic->mrs; inner = inner->next)
            if (region == ARIES_EVERY || region == index++)
                corrupt(sim_container_of(inner, struct aries_mr, nic_link));
    }
}

static void fire_fault(struct sim_event *event)
{
    const struct aries_live_timed *timed = sim_container_of(event, struct aries_live_timed, event);
    struct aries_fabric *fabric = aries_live.fabric;

    if (timed->fault == ARIES_LIVE_CRASH && timed->node < fabric->nodes)
        crash(timed->node);
    if (timed->node != aries_live.hw->node)
        return;
    if (timed->fault == ARIES_LIVE_OVERRUN)
        aries_cq_force_overrun_of(fabric, timed->node, timed->which);
    else if (timed->fault == ARIES_LIVE_CORRUPT)
        corrupt_region(timed->which);
    else if (timed->fault == ARIES_LIVE_ERROR)
        aries_error_raise(aries_live.hw, (gni_error_mask_t)timed->which, timed->code, 0, 0);
}

/* ---- transactions ---------------------------------------------------------------------------- */

static const struct sim_fault_rule *match_rule(const struct aries_work *work, uint32_t kind)
{
    struct aries_fabric *fabric = aries_live.fabric;
    const struct aries_nic *from = kind == 0 ? aries_live.hw : work->target;
    const struct aries_nic *to = kind == 0 ? work->target : aries_live.hw;
    const struct sim_fault_subject subject = {
        .source = from->node,
        .target = to->node,
        .source_group = net_group_of(fabric->net, from->node),
        .target_group = net_group_of(fabric->net, to->node),
        .kind = kind,
    };

    return sim_fault_ask(&fabric->fault_packet, &subject);
}

static void apply_rule(const struct sim_fault_rule *rule, uint32_t kind,
                       struct aries_live_fault *fault)
{
    switch (rule->action) {
    case SIM_FAULT_DROP:
    case SIM_FAULT_CRASH:
        fault->status = A_STATUS_ORB_TIMEOUT;
        break;
    case SIM_FAULT_CORRUPT:
        fault->status = A_STATUS_DATA_ERR;
        break;
    case SIM_FAULT_FAIL:
        fault->status = (uint8_t)(rule->status & 0x3f);
        break;
    case SIM_FAULT_DELAY:
        fault->delay += rule->delay;
        return;
    case SIM_FAULT_DUPLICATE: /* refused when the scenario was read */
    case SIM_FAULT_DELIVER:
        return;
    }
    fault->info = kind == 0 ? ARIES_CQ_CPLTN_DREQ : ARIES_CQ_CPLTN_SRSP;
    fault->executed = kind == 1; /* only the answer is lost or corrupted */
}

bool aries_live_inject_fault(const struct aries_work *work, struct aries_live_fault *fault)
{
    const struct sim_fault_rule *rule;
    uint32_t kind;

    *fault = (struct aries_live_fault){0};
    for (kind = 0; kind < 2 && fault->status == 0; kind++) {
        rule = match_rule(work, kind);
        if (rule != NULL)
            apply_rule(rule, kind, fault);
    }
    if (fault->status != 0)
        aries_error_raise(aries_live.hw, aries_error_category(fault->status), fault->status,
                          work->ptag, work->target->pe_addr);
    return fault->status != 0 || fault->delay != 0;
}

/* ---- the plan -------------------------------------------------------------------------------- */

bool aries_live_faults_read(const struct shm_facts *facts, char *why, size_t room)
{
    uint32_t i;

    aries_live_plan_free(&plan);
    if (!aries_live_plan_read(&plan, facts->scenario, facts->scenario_bytes, why, room))
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

bool aries_live_faults_net(struct net_config *config)
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

struct aries_params *aries_live_faults_params(char *why, size_t room)
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

static sim_time_t fabric_time(sim_time_t time, sim_time_t began)
{
    return time < SIM_NEVER - began ? time + began : SIM_NEVER;
}

/* Each process has another seed. */
uint64_t aries_live_faults_seed(const struct shm_facts *facts)
{
    return sim_mix(shm_self(aries_live.shm)->slot + 1) ^ facts->seed;
}

void aries_live_faults_arm(const struct shm_facts *facts)
{
    sim_time_t began = facts->began_ns * SIM_NS;
    uint64_t own = aries_live_faults_seed(facts);
    uint32_t i;

    for (i = 0; i < plan.rules_count; i++) {
        struct sim_fault_point *point = sim_fault_point_find(plan.rules[i].point);
        struct sim_fault_rule rule = plan.rules[i].rule;

        if (point == NULL) /* of the modelled network, or of another device */
            continue;
        plan.rules[i].rule.label = NULL; /* the table owns it now */
        rule.from = fabric_time(rule.from, began);
        rule.until = fabric_time(rule.until, began);
        sim_random_init(&rule.random, own, "fault", i);
        sim_fault_rule_add(point, &rule);
    }
    for (i = 0; i < plan.timed_count; i++) {
        plan.timed[i].event.fire = fire_fault;
        sim_event_schedule(&plan.timed[i].event, fabric_time(plan.timed[i].time, began));
    }
    aries_live.paced = plan.profile != NULL;
    aries_live_paths_arm(plan.changes, plan.changes_count, began, aries_live.paced);
    aries_live.inspected =
        aries_live.fabric->fault_packet.rules != NULL || plan.changes_count > 0 || aries_live.paced;
}
