/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The scenario in the form that processes of a live fabric read, which have no YAML parser: the
 * checked values, as a key file in shm_facts.scenario. Times are in ps from the start of the
 * fabric. A missing key means the default, or "any".
 *
 *   [fabric]   version=2; groups, chassis, slots, cables: the dragonfly, when no preset is;
 *              latency=PROFILE: transactions take the time of such hosts
 *   [params]   of fabric.params
 *   [rule N]   at a fault point (struct sim_fault_rule): point, action, label; from, until,
 *              probability, skip, count, source, target, kind, group, other_group, delay, status
 *   [timed N]  time, what=
 *                link: router, peer, which, state=up|down     router: router, state=up|down
 *                node: node, action=crash                     cq_overrun: node, queue
 *                memory: node, region                         error: node, category, code
 */
#include <inttypes.h>

#include "live/live_fabric.h"

#define VERSION 2

static void optional(GKeyFile *file, const char *group, const struct tree *record, const char *key,
                     uint64_t number)
{
    if (scenario_given(record, key))
        g_key_file_set_uint64(file, group, key, number);
}

static void between(GKeyFile *file, const char *group, const char *key, uint32_t number)
{
    if (number != SIM_FAULT_ANY)
        g_key_file_set_uint64(file, group, key, number);
}

static void rule(GKeyFile *file, const char *group, const struct scenario_fault *fault)
{
    g_key_file_set_string(file, group, "point", fault->where);
    g_key_file_set_string(file, group, "action", scenario_fault_action(fault));
    g_key_file_set_string(file, group, "label", fault->title);
    g_key_file_set_uint64(file, group, "from", fault->from);
    if (fault->until != SIM_NEVER)
        g_key_file_set_uint64(file, group, "until", fault->until);
    g_key_file_set_double(file, group, "probability", MIN(fault->probability, 1.0));
    g_key_file_set_uint64(file, group, "skip", fault->skip);
    g_key_file_set_uint64(file, group, "count", fault->count);
    optional(file, group, fault->at, "source", fault->source);
    optional(file, group, fault->at, "target", fault->target);
    optional(file, group, fault->at, "kind", fault->kind);
    between(file, group, "group", fault->groups[0]);
    between(file, group, "other_group", fault->groups[1]);
    g_key_file_set_uint64(file, group, "delay", fault->delay);
    g_key_file_set_uint64(file, group, "status", fault->status_code);
}

static void timed(GKeyFile *file, const char *group, const struct scenario_fault *fault)
{
    const char *what = scenario_fault_kind(fault)->live;

    g_assert(what != NULL); /* live_fabric.c has refused the others */
    g_key_file_set_uint64(file, group, "time", fault->time);
    g_key_file_set_string(file, group, "what", what);
    switch (fault->place) {
    case FAULT_LINK:
        g_key_file_set_uint64(file, group, "peer", fault->router_numbers[1]);
        g_key_file_set_uint64(file, group, "which", fault->which);
        /* fall through */
    case FAULT_ROUTER:
        g_key_file_set_uint64(file, group, "router", fault->router_numbers[0]);
        g_key_file_set_string(file, group, "state", scenario_fault_action(fault));
        return;
    case FAULT_NODE:
        g_key_file_set_string(file, group, "action", scenario_fault_action(fault));
        break;
    case FAULT_CQ_OVERRUN:
        optional(file, group, fault->at, "queue", fault->queue);
        break;
    case FAULT_MEMORY:
        optional(file, group, fault->at, "region", fault->region);
        break;
    case FAULT_ERROR:
        g_key_file_set_uint64(file, group, "category", fault->category);
        g_key_file_set_uint64(file, group, "code", fault->code);
        break;
    case FAULT_POINT:
    case FAULT_FABRIC:
        g_assert_not_reached();
    }
    g_key_file_set_uint64(file, group, "node", fault->node);
}

static bool param(const char *name, const struct tree *value, void *arg)
{
    g_key_file_set_value(arg, "params", name, value->text);
    return true;
}

char *live_fabric_plan(const struct scenario *scenario, size_t *bytes)
{
    const struct scenario_network *fabric = scenario_network(scenario, 0);
    GKeyFile *file = g_key_file_new();
    char *text;
    gsize length;
    size_t i;

    g_key_file_set_uint64(file, "fabric", "version", VERSION);
    if (fabric->preset == NULL || fabric->preset[0] == '\0') {
        g_key_file_set_uint64(file, "fabric", "groups", fabric->groups);
        g_key_file_set_uint64(file, "fabric", "chassis", fabric->chassis);
        g_key_file_set_uint64(file, "fabric", "slots", fabric->slots);
        g_key_file_set_uint64(file, "fabric", "cables", fabric->cables);
    }
    if (scenario->live.latency == LATENCY_MODEL)
        g_key_file_set_string(file, "fabric", "latency", scenario_profile(fabric));
    scenario_for_each_param(fabric, param, file);
    for (i = 0; i < scenario->faults.count; i++) {
        const struct scenario_fault *fault = scenario_fault(scenario, i);
        char group[32];

        g_snprintf(group, sizeof(group), "%s %zu", fault->place == FAULT_POINT ? "rule" : "timed",
                   i);
        if (fault->place == FAULT_POINT)
            rule(file, group, fault);
        else
            timed(file, group, fault);
    }
    text = g_key_file_to_data(file, &length, NULL);
    g_key_file_free(file);
    *bytes = length;
    return text;
}
