/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The networks of a cluster, and the devices that attach its nodes to them. The first network
 * numbers the nodes: its endpoint n is node n. The metrics and the fault point of the first network
 * are called "net.transfers", "net.packet" and so on, as on a machine with one network; those of
 * another one are called "net.<name>.transfers" and "net.<name>.packet".
 */
#include "cluster/cluster.h"
#include "cluster/legacy.h"
#include "cluster/port_fiber.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include "engine/trace.h"

struct setting {
    const char *path; /* of the network */
    struct aries_params *params;
    char *error; /* g_free(); NULL: none */
};

static bool set_param(const char *name, const struct tree *value, void *arg)
{
    struct setting *setting = arg;
    struct value number;
    char *error = NULL, *path;

    if (scenario_value_parse(ARG_REAL, value->text, NULL, NULL, NULL, &number, &setting->error) &&
        !aries_params_set(setting->params, name, number.real, &error)) {
        path = g_strconcat(setting->path, ".params", NULL);
        setting->error = scenario_tree_problem(value, path, "%s", error);
        g_free(path);
        free(error);
    }
    return setting->error == NULL;
}

/* NULL: *error. */
static struct aries_params *make_params(const struct scenario_network *scenario, const char *path,
                                        char **error)
{
    struct setting setting = {.path = path, .params = aries_params_new(scenario_profile(scenario))};

    g_assert(setting.params != NULL); /* the checks of the scenario know the profiles */
    if (scenario_for_each_param(scenario, set_param, &setting))
        return setting.params;
    *error = setting.error;
    aries_params_free(setting.params);
    return NULL;
}

static bool create_network(struct cluster *cluster, size_t index, const char *path, char **error)
{
    struct cluster_network *network = &cluster->networks[index];
    const struct scenario_network *scenario = network->scenario;
    const struct tree *at =
        scenario->at->origin != NULL ? scenario->at : cluster->scenario->at; /* of a default */
    struct aries_params *params = NULL;
    struct net_config config;
    char *what = NULL;

    scenario_net_config(scenario, cluster->options.seed + index, &config);
    if (config.topology == NET_DRAGONFLY) {
        params = make_params(scenario, path, error);
        if (params == NULL)
            return false;
        aries_params_to_net(params, &config);
        port_costs_set(params);
    }
    if (index != 0) {
        config.packet_point = &network->packet_point;
        config.first_router = cluster->networks[index - 1].first_router +
                              net_routers(cluster->networks[index - 1].net);
        sim_fault_point_register(&network->packet_point, network->packet_point_name);
        sim_trace_set_network_name(config.first_router, network->name);
    }
    network->first_router = config.first_router;
    network->net = net_create(&config, &what);
    if (network->net != NULL && params != NULL)
        network->aries = aries_fabric_create(network->net, params, cluster->options.seed);
    if (network->aries != NULL)
        aries_fabric_check(network->aries, cluster->scenario->checks == CHECKS_ON);
    if (params != NULL)
        aries_params_free(params);
    if (network->net != NULL)
        return scenario->kind == LEGACY_NONE ||
               cluster_legacy_create(cluster, network, path, error);
    *error = scenario_tree_problem(at, path, "%s", what != NULL ? what : "cannot be built");
    free(what);
    return false;
}

/* A node's devices follow each other, in the order of the networks. */
static void create_devices(struct cluster *cluster)
{
    uint32_t node, endpoint;
    size_t devices = 0, i;

    cluster->node_count = net_endpoints(cluster_net(cluster));
    g_assert(cluster->node_count == cluster->scenario->endpoints);
    for (i = 0; i < cluster->network_count; i++)
        devices += cluster->networks[i].scenario->endpoint_count;
    cluster->nodes = g_new0(struct cluster_node, cluster->node_count);
    cluster->devices = g_new0(struct cluster_device, devices);
    devices = 0;
    for (node = 0; node < cluster->node_count; node++) {
        cluster->nodes[node].devices = &cluster->devices[devices];
        for (i = 0; i < cluster->network_count; i++) {
            endpoint = scenario_endpoint(cluster->networks[i].scenario, node);
            if (endpoint == UINT32_MAX)
                continue;
            g_assert(endpoint < net_endpoints(cluster->networks[i].net));
            cluster->devices[devices++] = (struct cluster_device){&cluster->networks[i], endpoint};
            cluster->nodes[node].device_count++;
        }
    }
}

bool cluster_networks_create(struct cluster *cluster, char **error)
{
    bool ok = true;
    size_t i;

    cluster->network_count = scenario_network_count(cluster->scenario);
    cluster->networks = g_new0(struct cluster_network, cluster->network_count);
    for (i = 0; i < cluster->network_count; i++) {
        struct cluster_network *network = &cluster->networks[i];

        network->scenario = scenario_network(cluster->scenario, i);
        network->name = network->scenario->name;
        network->packet_point_name =
            i == 0 ? g_strdup("net.packet") : g_strdup_printf("net.%s.packet", network->name);
    }
    for (i = 0; ok && i < cluster->network_count; i++) {
        char *path = scenario_network_path(cluster->scenario, i);

        ok = create_network(cluster, i, path, error);
        g_free(path);
    }
    if (ok)
        create_devices(cluster);
    return ok;
}

void cluster_networks_destroy(struct cluster *cluster)
{
    size_t i;

    for (i = 0; i < cluster->network_count; i++) {
        struct cluster_network *network = &cluster->networks[i];

        if (network->aries != NULL)
            aries_fabric_destroy(network->aries);
        if (network->legacy != NULL)
            legacy_network_destroy(network->legacy);
        if (network->net != NULL)
            net_destroy(network->net);
        g_free(network->packet_point_name);
    }
    g_free(cluster->networks);
    g_free(cluster->devices);
    g_free(cluster->nodes);
}

const struct cluster_device *cluster_device(const struct cluster *cluster, uint32_t node,
                                            size_t network)
{
    const struct cluster_node *at = &cluster->nodes[node];
    uint32_t i;

    g_assert(node < cluster->node_count && network < cluster->network_count);
    for (i = 0; i < at->device_count; i++)
        if (at->devices[i].network == &cluster->networks[network])
            return &at->devices[i];
    return NULL;
}

void cluster_node_connect(struct cluster *cluster, uint32_t node, bool alive)
{
    size_t i;

    for (i = 1; i < cluster->network_count; i++) {
        const struct cluster_device *device = cluster_device(cluster, node, i);
        struct net *net = cluster->networks[i].net;

        if (device != NULL)
            net_link_set_alive(net, net_router_of(net, device->endpoint),
                               net_routers(net) + device->endpoint, 0, alive);
    }
}

/* ---- counters -------------------------------------------------------------------------------- */

/* A member of struct net_counters or aries_counters, of type uint64_t, and its metric's name. */
struct counter {
    const char *name;
    size_t offset;
    enum sim_metric_unit unit;
};
#define NET(name, unit)                                               \
    {                                                                 \
#name, offsetof(struct net_counters, name), SIM_METRIC_##unit \
    }
#define ARIES(name, unit)                                               \
    {                                                                   \
#name, offsetof(struct aries_counters, name), SIM_METRIC_##unit \
    }
#define LEGACY(name, unit)                                               \
    {                                                                    \
#name, offsetof(struct legacy_counters, name), SIM_METRIC_##unit \
    }

static const struct counter net_table[] = {
    NET(transfers, COUNT), NET(packets, COUNT),     NET(units, COUNT),    NET(hops, COUNT),
    NET(minimal, COUNT),   NET(non_minimal, COUNT), NET(dropped, COUNT),  NET(unreachable, COUNT),
    NET(delayed, COUNT),   NET(duplicated, COUNT),  NET(poisoned, COUNT), NET(replays, COUNT),
    NET(waiting, PS),
};
static const struct counter aries_table[] = {
    ARIES(transactions, COUNT),     ARIES(request_packets, COUNT), ARIES(request_flits, COUNT),
    ARIES(response_packets, COUNT), ARIES(payload_bytes, BYTES),   ARIES(events, COUNT),
    ARIES(errors, COUNT),           ARIES(smsg_sent, COUNT),       ARIES(smsg_received, COUNT),
    ARIES(msgq_sent, COUNT),        ARIES(msgq_received, COUNT),   ARIES(datagrams, COUNT),
    ARIES(overruns, COUNT),         ARIES(retransmits, COUNT),     ARIES(orb_max, COUNT),
    ARIES(error_events, COUNT),
};

static const struct counter legacy_table[] = {
    LEGACY(packets, COUNT),     LEGACY(bytes, BYTES),   LEGACY(lost, COUNT),
    LEGACY(unreachable, COUNT), LEGACY(dropped, COUNT),
};

/* Metrics appear in the result in the order of the table. */
static void publish(const char *prefix, const struct counter *table, size_t count,
                    const void *counters)
{
    uint64_t value;
    char *name;
    size_t i;

    for (i = 0; i < count; i++) {
        name = g_strconcat(prefix, ".", table[i].name, NULL);
        memcpy(&value, (const char *)counters + table[i].offset, sizeof(value));
        sim_metric_counter(name, table[i].unit)->counter = value;
        g_free(name);
    }
}

static void publish_net(const struct net *net, const char *prefix)
{
    struct net_counters counters;

    net_get_counters(net, &counters);
    publish(prefix, net_table, G_N_ELEMENTS(net_table), &counters);
}

static void publish_aries(const struct aries_fabric *aries)
{
    struct aries_counters counters;

    aries_get_counters(aries, &counters);
    publish("aries", aries_table, G_N_ELEMENTS(aries_table), &counters);
}

static void publish_legacy(const struct legacy_network *legacy, const char *name)
{
    char *prefix = g_strconcat("legacy.", name, NULL);
    struct legacy_counters counters;

    legacy_counters_get(legacy, &counters);
    publish(prefix, legacy_table, G_N_ELEMENTS(legacy_table), &counters);
    g_free(prefix);
}

void cluster_networks_publish(const struct cluster *cluster)
{
    size_t i;

    for (i = 0; i < cluster->network_count; i++) {
        const struct cluster_network *network = &cluster->networks[i];
        char *prefix = i != 0 ? g_strconcat("net.", network->name, NULL) : g_strdup("net");

        publish_net(network->net, prefix);
        if (network->legacy != NULL)
            publish_legacy(network->legacy, network->name);
        g_free(prefix);
        if (network->aries != NULL)
            publish_aries(network->aries);
    }
}
