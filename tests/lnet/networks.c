/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The world of world.h with the drivers of InfiniBand and Aries over simulated networks. */
#include "networks.h"

#include "aries/aries.h"
#include "engine/fault.h"
#include "lnd/gni.h"
#include "lnd/tcp/stream_sim.h"
#include "lnd/o2ib.h"
#include "lnd/o2ib/verbs.h"
#include "net/net.h"

static struct net *infiniband, *aries_net;
static struct aries_fabric *aries;

static struct net *make(const struct net_config *config)
{
    char *error = NULL;
    struct net *net = net_create(config, &error);

    if (net == NULL)
        fail_msg("%s", error);
    return net;
}

void wire_open(void)
{
    struct aries_params *params = aries_params_new("xc40_hsw");
    struct net_config config;

    net_config_default(&config);
    config.topology = NET_SWITCHED;
    config.switched = (struct net_switched_config){"single-switch", WORLD_NODES, 0, 6442,
                                                   150 * SIM_NS,    200 * SIM_NS};
    infiniband = make(&config);
    net_config_default(&config);
    aries_params_to_net(params, &config);
    aries_net = make(&config);
    aries = aries_fabric_create(aries_net, params, 1);
    aries_params_free(params);
    lnet_lnd_register(&lnet_lnd_o2ib);
    lnet_lnd_register(&lnet_lnd_gni);
}

void wire_close(void)
{
    lnet_stream_sim_reset();
    lnet_verbs_end();
    aries_fabric_destroy(aries);
    net_destroy(aries_net);
    net_destroy(infiniband);
}

void wire_interface(struct lnet_interface *interface, unsigned node)
{
    interface->net = interface->lnd_type == GNILND ? aries_net : infiniband;
    interface->endpoint = node;
    interface->aries = interface->lnd_type == GNILND ? aries : NULL;
}

void lose(const char *point, uint64_t skip, uint64_t count, double probability)
{
    struct sim_fault_rule rule = {.action = SIM_FAULT_DROP,
                                  .until = SIM_NEVER,
                                  .probability = probability,
                                  .skip = skip,
                                  .count_max = count,
                                  .source = SIM_FAULT_ANY,
                                  .target = SIM_FAULT_ANY,
                                  .between = {SIM_FAULT_ANY, SIM_FAULT_ANY},
                                  .kind = SIM_FAULT_ANY};

    assert_non_null(sim_fault_point_find(point));
    sim_fault_rule_add(sim_fault_point_find(point), &rule);
}

/* ---- transfers with data --------------------------------------------------------------------- */

uint8_t pattern_at(uint32_t seed, uint32_t i)
{
    return (uint8_t)(seed * 131 + i * 7 + i / 253);
}

void fill(uint8_t *bytes, uint32_t length, uint32_t seed)
{
    uint32_t i;

    for (i = 0; i < length; i++)
        bytes[i] = pattern_at(seed, i);
}

void expect_filled(const uint8_t *bytes, uint32_t length, uint32_t seed)
{
    uint32_t i;

    for (i = 0; i < length; i++)
        if (bytes[i] != pattern_at(seed, i))
            fail_msg("byte %u of %u (seed %u)", i, length, seed);
}

void put_to(lnet_nid_t target, uint64_t bits, void *start, unsigned length)
{
    assert_int_equal(LNetPut(LNET_NID_ANY, bind_md(start, length, 1), LNET_NOACK_REQ, id_of(target),
                             PORTAL, bits, 0, 0),
                     0);
}

void get_from(lnet_nid_t target, uint64_t bits, void *start, unsigned length)
{
    assert_int_equal(
        LNetGet(LNET_NID_ANY, bind_md(start, length, 2), id_of(target), PORTAL, bits, 0, false), 0);
}

const struct lnet_event *wait_event(unsigned node, enum lnet_event_kind kind, unsigned n,
                                    sim_time_t limit)
{
    sim_time_t end = sim_local_time() + limit;
    const struct lnet_event *event;

    while ((event = event_of(node, kind, n)) == NULL && sim_local_time() < end)
        pass(SIM_US);
    return event;
}
