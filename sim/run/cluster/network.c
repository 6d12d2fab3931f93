/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The networks of a cluster, and the devices that attach its nodes to them. The first network
 * numbers the nodes: its endpoint n is node n. The metrics and the fault point of the first network
 * are called "net.transfers", "net.packet" and so on, as on a machine with one network; those of
 * another one are called "net.<name>.transfers" and "net.<name>.packet".
 */
#include "cluster/cluster.h"
#include "cluster/port_fiber.h"

#include <stdlib.h>
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
    if (params != NULL)
        aries_params_free(params);
    if (network->net != NULL)
        return true;
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

void cluster_node_disconnect(struct cluster *cluster, uint32_t node)
{
    size_t i;

    for (i = 1; i < cluster->network_count; i++) {
        const struct cluster_device *device = cluster_device(cluster, node, i);
        struct net *net = cluster->networks[i].net;

        if (device != NULL)
            net_link_set_alive(net, net_router_of(net, device->endpoint),
                               net_routers(net) + device->endpoint, 0, false);
    }
}

/* ---- counters -------------------------------------------------------------------------------- */

static void publish(const char *layer, const struct cluster_network *network, const char *name,
                    enum sim_metric_unit unit, uint64_t value)
{
    char *full = network != NULL ? g_strconcat(layer, ".", network->name, ".", name, NULL)
                                 : g_strconcat(layer, ".", name, NULL);

    sim_metric_counter(full, unit)->counter = value;
    g_free(full);
}

/* `shown` NULL: the first network. */
static void publish_net(const struct net *net, const struct cluster_network *shown)
{
    struct net_counters counters;

    net_get_counters(net, &counters);
    publish("net", shown, "transfers", METRIC_COUNT, counters.transfers);
    publish("net", shown, "packets", METRIC_COUNT, counters.packets);
    publish("net", shown, "units", METRIC_COUNT, counters.units);
    publish("net", shown, "hops", METRIC_COUNT, counters.hops);
    publish("net", shown, "minimal", METRIC_COUNT, counters.minimal);
    publish("net", shown, "non_minimal", METRIC_COUNT, counters.non_minimal);
    publish("net", shown, "dropped", METRIC_COUNT, counters.dropped);
    publish("net", shown, "unreachable", METRIC_COUNT, counters.unreachable);
    publish("net", shown, "delayed", METRIC_COUNT, counters.delayed);
    publish("net", shown, "duplicated", METRIC_COUNT, counters.duplicated);
    publish("net", shown, "poisoned", METRIC_COUNT, counters.poisoned);
    publish("net", shown, "replays", METRIC_COUNT, counters.replays);
    publish("net", shown, "waiting", METRIC_PS, counters.waiting);
}

static void publish_aries(const struct aries_fabric *aries)
{
    struct aries_counters counters;

    aries_get_counters(aries, &counters);
    publish("aries", NULL, "transactions", METRIC_COUNT, counters.transactions);
    publish("aries", NULL, "request_packets", METRIC_COUNT, counters.request_packets);
    publish("aries", NULL, "request_flits", METRIC_COUNT, counters.request_flits);
    publish("aries", NULL, "response_packets", METRIC_COUNT, counters.response_packets);
    publish("aries", NULL, "payload_bytes", METRIC_BYTES, counters.payload_bytes);
    publish("aries", NULL, "events", METRIC_COUNT, counters.events);
    publish("aries", NULL, "errors", METRIC_COUNT, counters.errors);
    publish("aries", NULL, "smsg_sent", METRIC_COUNT, counters.smsg_sent);
    publish("aries", NULL, "smsg_received", METRIC_COUNT, counters.smsg_received);
    publish("aries", NULL, "msgq_sent", METRIC_COUNT, counters.msgq_sent);
    publish("aries", NULL, "msgq_received", METRIC_COUNT, counters.msgq_received);
    publish("aries", NULL, "datagrams", METRIC_COUNT, counters.datagrams);
    publish("aries", NULL, "overruns", METRIC_COUNT, counters.overruns);
    publish("aries", NULL, "retransmits", METRIC_COUNT, counters.retransmits);
    publish("aries", NULL, "orb_max", METRIC_COUNT, counters.orb_max);
    publish("aries", NULL, "error_events", METRIC_COUNT, counters.error_events);
}

void cluster_networks_publish(const struct cluster *cluster)
{
    size_t i;

    for (i = 0; i < cluster->network_count; i++) {
        const struct cluster_network *network = &cluster->networks[i];

        publish_net(network->net, i != 0 ? network : NULL);
        if (network->aries != NULL)
            publish_aries(network->aries);
    }
}
