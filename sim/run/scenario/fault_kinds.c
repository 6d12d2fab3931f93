/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The table of faults: what the scenario's reader, the cluster, the live fabric and the reports
 * know of them. */
#include "scenario/scenario.h"

#include <string.h>

#define BIT(action) (1u << (action))
#define ALL UINT32_MAX

static const struct scenario_fault_kind kinds[] = {
    {"aries.packet", FAULT_POINT, ARIES_PACKET_ACTIONS, .aries = true, .live = "rule",
     .live_actions = ALL},
    {"aries.cq", FAULT_POINT, ARIES_CQ_ACTIONS, .aries = true, .live = "rule", .live_actions = ALL},
    {"aries.datagram", FAULT_POINT, ARIES_DATAGRAM_ACTIONS, .aries = true, .live = "rule",
     .live_actions = ALL},
    {"net.packet", FAULT_POINT, NET_PACKET_ACTIONS},
    {"oob.message", FAULT_POINT, OOB_MESSAGE_ACTIONS},
    {"oob.server", FAULT_POINT, OOB_SERVER_ACTIONS},
    {"link", FAULT_LINK, LINK_ACTIONS, .live = "link",
     .live_actions = BIT(LINK_DOWN) | BIT(LINK_UP)},
    {"router", FAULT_ROUTER, ROUTER_ACTIONS, .live = "router", .live_actions = ALL},
    {"node", FAULT_NODE, NODE_ACTIONS, .aries = true, .live = "node",
     .live_actions = BIT(NODE_CRASH)},
    {"cq", FAULT_CQ_OVERRUN, CQ_ACTIONS, .aries = true, .live = "cq_overrun", .live_actions = ALL},
    {"memory", FAULT_MEMORY, MEMORY_ACTIONS, .aries = true, .live = "memory", .live_actions = ALL},
    {"error", FAULT_ERROR, ERROR_ACTIONS, .aries = true, .live = "error", .live_actions = ALL},
    {"fabric", FAULT_FABRIC, FABRIC_ACTIONS, .aries = true},
};

const struct scenario_fault_kind *scenario_fault_kind(const struct scenario_fault *fault)
{
    size_t i = 0;

    while (i < G_N_ELEMENTS(kinds) && strcmp(kinds[i].at, fault->where) != 0)
        i++;
    g_assert(i < G_N_ELEMENTS(kinds)); /* the schema admits no other */
    return &kinds[i];
}

const char *scenario_fault_action(const struct scenario_fault *fault)
{
    return scenario_tree_get(fault->at, "do")->text;
}
