/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The common part of the small networks: parameters, losses of packets, the calling process. */
#include "model.h"

#include <assert.h>
#include <glib.h>
#include <math.h>
#include <string.h>

static const struct legacy_model *const models[LEGACY_KINDS] = {
    [LEGACY_SCI] = &legacy_sci_model,
    [LEGACY_ETHERNET] = &legacy_ethernet_model,
    [LEGACY_VIA] = &legacy_via_model,
    [LEGACY_SBP] = &legacy_sbp_model,
};

static legacy_find_fn *finder;
static legacy_locate_fn *locator;

const char *legacy_kind_name(enum legacy_kind kind)
{
    return kind < LEGACY_KINDS && models[kind] != NULL ? models[kind]->name : NULL;
}

const struct legacy_param *legacy_params(enum legacy_kind kind, size_t *count)
{
    const struct legacy_model *model = kind < LEGACY_KINDS ? models[kind] : NULL;

    *count = model != NULL ? model->param_count : 0;
    return model != NULL ? model->params : NULL;
}

void legacy_set_find(legacy_find_fn *find)
{
    finder = find;
}

bool legacy_find(enum legacy_kind kind, uint32_t adapter, struct legacy_place *place)
{
    return finder != NULL && finder(kind, adapter, place);
}

void legacy_set_locate(legacy_locate_fn *locate)
{
    locator = locate;
}

uint32_t legacy_endpoint_of(const struct legacy_network *network, uint64_t process)
{
    bool alive;

    return locator(network, process, &alive);
}

bool legacy_process_alive(const struct legacy_network *network, uint64_t process)
{
    bool alive;

    locator(network, process, &alive);
    return alive;
}

/* ---- networks -------------------------------------------------------------------------------- */

struct legacy_network *legacy_network_create(const struct legacy_network_config *config)
{
    struct legacy_network *network = g_new0(struct legacy_network, 1);
    size_t i;

    network->model = models[config->kind];
    assert(network->model != NULL && network->model->param_count >= LEGACY_STEPS);
    network->config = *config;
    network->endpoints = net_endpoints(config->net);
    network->values = g_new(double, network->model->param_count);
    for (i = 0; i < network->model->param_count; i++)
        network->values[i] = network->model->params[i].value;
    network->devices = network->model->create(network);
    return network;
}

void legacy_network_destroy(struct legacy_network *network)
{
    network->model->destroy(network->devices);
    g_free(network->values);
    g_free(network);
}

bool legacy_network_set(struct legacy_network *network, const char *param, double value)
{
    size_t i;

    for (i = 0; i < network->model->param_count; i++) {
        if (strcmp(network->model->params[i].name, param) != 0)
            continue;
        if (!isfinite(value) || value < 0)
            return false;
        network->values[i] = value;
        return true;
    }
    return false;
}

void legacy_process_left(struct legacy_network *network, uint32_t endpoint, uint64_t process)
{
    assert(endpoint < network->endpoints);
    network->model->process_left(network->devices, endpoint, process);
}

void legacy_counters_get(const struct legacy_network *network, struct legacy_counters *counters)
{
    *counters = network->counters;
}

/* ---- time ------------------------------------------------------------------------------------ */

sim_time_t legacy_service(const struct legacy_network *network, uint32_t param, double amount)
{
    double ns = network->values[param] * amount * 1000;

    assert(param < network->model->param_count && amount >= 0);
    return (sim_time_t)llround(ns) * SIM_NS;
}

void legacy_spend(const struct legacy_network *network, enum legacy_step step, uint64_t amount)
{
    assert(step < LEGACY_STEPS);
    sim_spend(legacy_service(network, (uint32_t)step, (double)amount));
}

/* ---- packets --------------------------------------------------------------------------------- */

bool legacy_reachable(const struct legacy_network *network, uint32_t source, uint32_t target)
{
    struct net_transfer probe = {.source = source, .target = target, .packets = 1, .units = 1};
    struct net_path_preview path;

    return net_preview(network->config.net, &probe, &path);
}

static void describe(const void *what, struct sim_fault_hit *hit)
{
    const struct legacy_packet *packet = what;

    g_strlcpy(hit->what, packet->what, sizeof(hit->what));
    g_snprintf(hit->extent, sizeof(hit->extent), "%u bytes", packet->bytes);
}

enum legacy_outcome legacy_transmit(struct legacy_network *network, struct legacy_packet *packet)
{
    const struct sim_fault_subject subject = {
        .describe = describe,
        .what = packet,
        .source = packet->source,
        .target = packet->target,
        .source_group = SIM_FAULT_ANY,
        .target_group = SIM_FAULT_ANY,
        .kind = SIM_FAULT_ANY,
    };
    const struct sim_fault_rule *rule;

    assert(packet->source < network->endpoints && packet->target < network->endpoints);
    packet->delay = 0;
    network->counters.packets++;
    network->counters.bytes += packet->bytes;
    if (!legacy_reachable(network, packet->source, packet->target)) {
        network->counters.unreachable++;
        return LEGACY_UNREACHABLE;
    }
    rule = sim_fault_ask(network->config.packet_point, &subject);
    if (rule == NULL)
        return LEGACY_DELIVERED;
    if (rule->action == SIM_FAULT_DROP || rule->action == SIM_FAULT_CORRUPT) {
        network->counters.lost++;
        return LEGACY_LOST;
    }
    if (rule->action == SIM_FAULT_DELAY)
        packet->delay = rule->delay;
    return LEGACY_DELIVERED;
}
