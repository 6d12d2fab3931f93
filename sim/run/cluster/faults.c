/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Turns the faults of a scenario into rules at fault points, and into timers. */
#include "cluster/cluster.h"
#include "cluster/lnet.h"
#include "cluster/port_fiber.h"

#include <stdlib.h>
#include <string.h>
#include "engine/fault.h"
#include "engine/trace.h"

/* ---- rules ----------------------------------------------------------------------------------- */

/* The number by which a rule knows a node: that of its endpoint at the network. */
static uint32_t endpoint_of(const struct cluster_network *network,
                            const struct scenario_fault *fault, const char *field, uint64_t node)
{
    if (!scenario_given(fault->at, field))
        return SIM_FAULT_ANY;
    return scenario_endpoint(network->scenario, (uint32_t)node);
}

static bool add_rule(struct cluster *cluster, const struct scenario_fault *fault, char **error)
{
    const struct cluster_network *network = &cluster->networks[fault->network_index];
    const char *name =
        strcmp(fault->where, "net.packet") == 0 ? network->packet_point_name : fault->where;
    struct sim_fault_point *point = sim_fault_point_find(name);
    struct sim_fault_rule rule = {
        .from = fault->from,
        .until = fault->until,
        .probability = fault->probability,
        .skip = fault->skip,
        .count_max = fault->count,
        .source = endpoint_of(network, fault, "source", fault->source),
        .target = endpoint_of(network, fault, "target", fault->target),
        .between = {fault->groups[0], fault->groups[1]},
        .kind = scenario_given(fault->at, "kind") ? (uint32_t)fault->kind : SIM_FAULT_ANY,
        .delay = fault->delay,
        .status = fault->status_code,
    };

    /* The scenario was checked, so this is the name of an action. */
    if (!sim_fault_action_find(scenario_fault_action(fault), &rule.action))
        g_assert_not_reached();
    if (point == NULL) {
        *error =
            scenario_tree_problem(fault->at, "faults", "this machine has no fault point %s", name);
        return false;
    }
    rule.label = strdup(fault->title);
    if (fault->only_numbers != NULL) {
        size_t bytes = fault->only_count * sizeof(*rule.only);

        rule.only = malloc(bytes);
        if (rule.label == NULL || rule.only == NULL)
            abort();
        memcpy(rule.only, fault->only_numbers, bytes);
        rule.only_count = fault->only_count;
    }
    /* The seed decides which subjects the rule hits. The title is unique, so adding or removing
     * a rule leaves the random numbers of the others as they are. */
    sim_random_init(&rule.random, cluster->scenario->seed, fault->title, 0);
    sim_fault_rule_add(point, &rule);
    return true;
}

/* ---- at a time ------------------------------------------------------------------------------- */

static bool change_link(struct net *net, const struct scenario_fault *fault)
{
    uint32_t a = fault->router_numbers[0], b = fault->router_numbers[1],
             which = (uint32_t)fault->which;

    if (fault->action == LINK_LANE_LOSS)
        return net_link_set_lanes(net, a, b, which, (uint32_t)fault->lanes);
    if (fault->action == LINK_ERROR)
        return net_link_set_error_rate(net, a, b, which, fault->rate);
    return net_link_set_alive(net, a, b, which, fault->action == LINK_UP);
}

static void kill_rank(struct rank *rank, void *boots_at)
{
    if (rank->state != RANK_WAITING || rank->job->started < *(const sim_time_t *)boots_at)
        rank_kill(rank, "its node crashed");
}

/* The link of a node without an Aries NIC to the first network. */
static void set_port(struct cluster *cluster, uint32_t node, bool alive)
{
    struct net *net = cluster_net(cluster);

    net_link_set_alive(net, net_router_of(net, node), net_routers(net) + node, 0, alive);
}

/* A node without an Aries NIC, which would tell its ranks. */
static void crash_switched_node(struct cluster *cluster, uint32_t node, sim_time_t boots_at)
{
    size_t i;

    for (i = 0; i < cluster->job_count; i++)
        cluster_job_for_each_rank_on(&cluster->jobs[i], node, kill_rank, &boots_at);
    set_port(cluster, node, false);
}

/* Ranks that start at `boots_at` or later find the node running again. */
static void crash_node(struct cluster *cluster, uint32_t node, sim_time_t boots_at)
{
    if (cluster_aries(cluster) != NULL)
        aries_node_crash_until(cluster_aries(cluster), node, boots_at);
    else
        crash_switched_node(cluster, node, boots_at);
    cluster_node_connect(cluster, node, false);
    cluster_lnet_crash_node(cluster, node);
}

static void boot_node(struct sim_event *event)
{
    const struct timed_fault *timed = sim_container_of(event, struct timed_fault, boot.event);
    struct cluster *cluster = timed->cluster;
    uint32_t node = (uint32_t)timed->scenario->node;

    if (cluster_aries(cluster) != NULL)
        aries_node_boot(cluster_aries(cluster), node);
    else
        set_port(cluster, node, true);
    cluster_node_connect(cluster, node, true);
    port_node_boots(cluster, node);
    cluster_lnet_boot_node(cluster, node);
}

static void reboot_node(struct timed_fault *timed)
{
    const struct scenario_fault *fault = timed->scenario;
    sim_time_t boots_at = sim_now() + fault->duration;

    timed->boot.event.fire = boot_node;
    sim_timer_arm(&timed->boot, boots_at);
    crash_node(timed->cluster, (uint32_t)fault->node, boots_at);
}

static bool fault_node(struct timed_fault *timed)
{
    struct cluster *cluster = timed->cluster;
    const struct scenario_fault *fault = timed->scenario;
    uint32_t node = (uint32_t)fault->node;

    switch (fault->action) {
    case NODE_CRASH:
        crash_node(cluster, node, SIM_NEVER);
        break;
    case NODE_REBOOT:
        reboot_node(timed);
        break;
    case NODE_HANG:
        aries_nic_hang(cluster_aries(cluster), node, fault->duration);
        break;
    case NODE_BI_SET:
        aries_bi_set(cluster_aries(cluster), node, (uint32_t)fault->orbs);
        break;
    default:
        aries_pcie_stall(cluster_aries(cluster), node, fault->duration);
        break;
    }
    return true;
}

static uint32_t which_of(const struct scenario_fault *fault, const char *field, uint64_t number)
{
    return scenario_given(fault->at, field) ? (uint32_t)number : ARIES_EVERY;
}

static bool inject(struct timed_fault *timed)
{
    struct cluster *cluster = timed->cluster;
    const struct scenario_fault *fault = timed->scenario;
    struct net *net = cluster->networks[fault->network_index].net;

    switch (fault->place) {
    case FAULT_LINK:
        return change_link(net, fault);
    case FAULT_ROUTER:
        return net_router_set_alive(net, fault->router_numbers[0], fault->action == ROUTER_UP);
    case FAULT_NODE:
        return fault_node(timed);
    case FAULT_CQ_OVERRUN:
        aries_cq_force_overrun_of(cluster_aries(cluster), (uint32_t)fault->node,
                                  which_of(fault, "queue", fault->queue));
        return true;
    case FAULT_MEMORY:
        aries_mdd_corrupt(cluster_aries(cluster), (uint32_t)fault->node,
                          which_of(fault, "region", fault->region));
        return true;
    case FAULT_ERROR:
        aries_error_inject(cluster_aries(cluster), (uint32_t)fault->node,
                           (uint8_t)(1u << fault->category), (uint16_t)fault->code, 0);
        return true;
    case FAULT_FABRIC:
        if (fault->action == FABRIC_QUIESCE)
            aries_quiesce(cluster_aries(cluster), fault->duration);
        else
            aries_throttle(cluster_aries(cluster), fault->percent, fault->duration);
        return true;
    case FAULT_POINT:
        break;
    }
    return false;
}

static void fire(struct sim_event *event)
{
    struct timed_fault *timed = sim_container_of(event, struct timed_fault, timer.event);
    const struct scenario_fault *fault = timed->scenario;

    sim_trace_add_text("fault", fault->title);
    sim_trace_add_text("at", fault->where);
    if (scenario_given(fault->at, "node"))
        sim_trace_add_number("node", fault->node);
    sim_trace(SIM_TRACE_INSTANT, SIM_TRACK_FAULT, 0, (uint32_t)fault->place,
              scenario_fault_action(fault), sim_now(), 0, 0, fault->action);
    timed->injected = inject(timed);
}

/* ---- both ------------------------------------------------------------------------------------ */

struct link_search {
    uint32_t a, b, which;
    bool found;
};

static void match_link(const struct net_link_info *link, void *arg)
{
    struct link_search *search = arg;

    search->found |=
        link->which == search->which && ((link->router == search->a && link->peer == search->b) ||
                                         (link->router == search->b && link->peer == search->a));
}

/* Checks what is known only when the network has been built. */
static bool exists(const struct cluster *cluster, const struct scenario_fault *fault, size_t index,
                   char **error)
{
    struct link_search search = {fault->router_numbers[0], fault->router_numbers[1],
                                 (uint32_t)fault->which, false};
    const struct tree *at =
        scenario_tree_get(fault->at, fault->place == FAULT_LINK ? "routers" : "router");
    const struct net *net = cluster->networks[fault->network_index].net;
    char *path =
        g_strdup_printf("faults.%zu.%s", index, fault->place == FAULT_LINK ? "routers" : "router");
    bool ok = true;

    if (fault->place == FAULT_LINK) {
        net_for_each_link(net, match_link, &search);
        ok = search.found;
        if (!ok)
            *error = scenario_tree_problem(
                at, path,
                "no link %u joins routers %u and %u; allowed: two routers with that many links",
                search.which, search.a, search.b);
    } else if (fault->place == FAULT_ROUTER && search.a >= net_routers(net)) {
        ok = false;
        *error = scenario_tree_problem(at, path, "there is no router %u; allowed: 0 to %u",
                                       search.a, net_routers(net) - 1);
    }
    g_free(path);
    return ok;
}

static bool create_fault(struct cluster *cluster, size_t index, char **error)
{
    const struct scenario_fault *fault = scenario_fault(cluster->scenario, index);
    struct timed_fault *timed;

    if (fault->place == FAULT_POINT)
        return add_rule(cluster, fault, error);
    if (!exists(cluster, fault, index, error))
        return false;
    timed = &cluster->timed[cluster->timed_count++];
    timed->cluster = cluster;
    timed->scenario = fault;
    timed->timer.event.fire = fire;
    sim_timer_arm(&timed->timer, fault->time);
    return true;
}

bool cluster_faults_create(struct cluster *cluster, char **error)
{
    const struct scenario *scenario = cluster->scenario;
    size_t i;

    cluster->timed = g_new0(struct timed_fault, scenario->faults.count + 1);
    for (i = 0; i < scenario->faults.count; i++) {
        if (!create_fault(cluster, i, error))
            return false;
    }
    return true;
}

/* Faults after the end of the last rank would only prolong the run. */
void cluster_faults_disarm(struct cluster *cluster)
{
    size_t i;

    for (i = 0; i < cluster->timed_count; i++) {
        sim_timer_cancel(&cluster->timed[i].timer);
        sim_timer_cancel(&cluster->timed[i].boot);
    }
}
