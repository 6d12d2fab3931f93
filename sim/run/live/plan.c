/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The scenario for the processes of a live fabric, which read no YAML: what they need of it,
 * checked and with every default filled in, as live_facts.scenario. Lines of words; times in ps
 * from the start of the fabric, fractions in units of 2^-53, `any` where nothing is said.
 *
 *   jacquard-fabric 1
 *   net GROUPS CHASSIS SLOTS CABLES          the dragonfly, when no preset is
 *   param NAME VALUE                         of fabric.params
 *   latency PROFILE                          transactions take the time of such hosts
 *   rule POINT ACTION LABEL FROM UNTIL PROBABILITY SKIP COUNT SOURCE TARGET KIND GROUP GROUP DELAY
 *        STATUS                              at a fault point: struct sim_fault_rule
 *   timed TIME link ROUTER ROUTER WHICH down|up
 *   timed TIME router ROUTER down|up
 *   timed TIME node NODE crash
 *   timed TIME cq-overrun NODE QUEUE
 *   timed TIME memory NODE REGION
 *   timed TIME error NODE CATEGORY CODE
 */
#include <inttypes.h>
#include <math.h>

#include "live/live_fabric.h"

static uint64_t fraction(double value)
{
    return (uint64_t)llround(value * 0x1p53);
}

static void number_or_any(GString *text, const struct tree *record, const char *field,
                          uint64_t number)
{
    if (given(record, field))
        g_string_append_printf(text, " %" PRIu64, number);
    else
        g_string_append(text, " any");
}

static void group(GString *text, uint32_t number)
{
    if (number == SIM_FAULT_ANY)
        g_string_append(text, " any");
    else
        g_string_append_printf(text, " %u", number);
}

static void rule(GString *text, const struct scenario_fault *fault)
{
    g_string_append_printf(text, "rule %s %s %s %" PRIu64, fault->where,
                           tree_get(fault->at, "do")->text, fault->title, fault->from);
    if (fault->until == SIM_NEVER)
        g_string_append(text, " any");
    else
        g_string_append_printf(text, " %" PRIu64, fault->until);
    g_string_append_printf(text, " %" PRIu64 " %" PRIu64 " %" PRIu64,
                           fraction(MIN(fault->probability, 1.0)), fault->skip, fault->count);
    number_or_any(text, fault->at, "source", fault->source);
    number_or_any(text, fault->at, "target", fault->target);
    number_or_any(text, fault->at, "kind", fault->kind);
    group(text, fault->groups[0]);
    group(text, fault->groups[1]);
    g_string_append_printf(text, " %" PRIu64 " %u\n", fault->delay, fault->status_code);
}

static void timed(GString *text, const struct scenario_fault *fault)
{
    g_string_append_printf(text, "timed %" PRIu64 " ", fault->time);
    switch (fault->place) {
    case FAULT_LINK:
        g_string_append_printf(text, "link %u %u %" PRIu64 " %s", fault->router_numbers[0],
                               fault->router_numbers[1], fault->which,
                               fault->action == LINK_UP ? "up" : "down");
        break;
    case FAULT_ROUTER:
        g_string_append_printf(text, "router %u %s", fault->router_numbers[0],
                               fault->action == ROUTER_UP ? "up" : "down");
        break;
    case FAULT_NODE:
        g_string_append_printf(text, "node %" PRIu64 " crash", fault->node);
        break;
    case FAULT_CQ_OVERRUN:
        g_string_append_printf(text, "cq-overrun %" PRIu64, fault->node);
        number_or_any(text, fault->at, "queue", fault->queue);
        break;
    case FAULT_MEMORY:
        g_string_append_printf(text, "memory %" PRIu64, fault->node);
        number_or_any(text, fault->at, "region", fault->region);
        break;
    case FAULT_ERROR:
        g_string_append_printf(text, "error %" PRIu64 " %" PRIu64 " %" PRIu64, fault->node,
                               fault->category, fault->code);
        break;
    case FAULT_POINT:
    case FAULT_FABRIC: /* rules, and what live_fabric.c has refused */
        g_assert_not_reached();
    }
    g_string_append_c(text, '\n');
}

static bool param(const char *name, const struct tree *value, void *arg)
{
    g_string_append_printf(arg, "param %s %s\n", name, value->text);
    return true;
}

GString *live_plan(const struct scenario *scenario)
{
    GString *text = g_string_new("jacquard-fabric 1\n");
    const struct scenario_fabric *fabric = &scenario->fabric;
    size_t i;

    if (fabric->preset == NULL || fabric->preset[0] == '\0')
        g_string_append_printf(text, "net %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
                               fabric->groups, fabric->chassis, fabric->slots, fabric->cables);
    scenario_for_each_param(scenario, param, text);
    if (scenario->live.latency == LATENCY_MODEL)
        g_string_append_printf(text, "latency %s\n", scenario_profile(scenario));
    for (i = 0; i < scenario->faults.count; i++) {
        const struct scenario_fault *fault = scenario_fault(scenario, i);

        if (fault->place == FAULT_POINT)
            rule(text, fault);
        else
            timed(text, fault);
    }
    return text;
}
