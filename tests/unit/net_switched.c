/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Networks of switches: bytes on the wire, one path, links that are busy. */
#include <math.h>
#include "net_test.h"

#define RATE 12500.0 /* bytes per µs, 100 Gbit/s */
#define WIRE(bytes) ((sim_time_t)((bytes)*80ull)) /* ps at that rate */
#define LINK (50 * SIM_NS)
#define SWITCH (100 * SIM_NS)

static struct net_config switched(const char *kind, uint32_t nodes, uint32_t radix)
{
    struct net_config config;

    net_config_default(&config);
    config.topology = NET_SWITCHED;
    config.switched = (struct net_switched_config){kind, nodes, radix, RATE, LINK, SWITCH};
    return config;
}

static void send_one(struct net *net, struct probe *probe, uint32_t source, uint32_t target,
                     uint32_t bytes, enum net_route route)
{
    probe_init(probe, source, target, bytes, route);
    probe->transfer.last_units = bytes;
    net_send(net, &probe->transfer, 0);
}

static void idle_latencies(void **state)
{
    int fidelity;

    (void)state;
    for (fidelity = NET_F0; fidelity <= NET_F1; fidelity++) {
        struct net_config config = switched("single-switch", 9, 0);
        struct net *net;
        struct probe probe;

        config.fidelity = (enum net_fidelity)fidelity;
        net = test_begin(&config);
        assert_int_equal(net_endpoints(net), 9);
        assert_int_equal(net_routers(net), 1);
        assert_int_equal(net_groups(net), 1);
        assert_int_equal(net_group_of(net, 8), 0);
        assert_int_equal(net_router_of(net, 8), 0);
        assert_false(net_coordinates(net, 0, &(struct net_coordinates){0}));
        assert_int_equal(net_endpoint_at(net, &(struct net_coordinates){0}), UINT32_MAX);
        send_one(net, &probe, 0, 8, 1000, NET_ROUTE_ADAPTIVE_0);
        assert_int_equal(sim_run(), SIM_DONE);
        assert_int_equal(probe.arrival, 2 * LINK + SWITCH + WIRE(1000));
        assert_int_equal(probe.arrival, net_idle_latency(net, 0, 8, 1000));
        assert_int_equal(probe.transfer.hops, 0);
        assert_int_equal(net_minimal_hops(net, 0, 8), 0);
        assert_true(net_path_rate(net, 0, 8, NET_ROUTE_ADAPTIVE_0) == RATE);
        test_end(net);

        config = switched("fat-tree", 30, 8); /* 4 endpoints to a leaf */
        config.fidelity = (enum net_fidelity)fidelity;
        net = test_begin(&config);
        assert_int_equal(net_routers(net), 8 + 4);
        send_one(net, &probe, 0, 3, 1000, NET_ROUTE_MIN_HASHED);
        assert_int_equal(sim_run(), SIM_DONE);
        assert_int_equal(probe.arrival, 2 * LINK + SWITCH + WIRE(1000));
        assert_int_equal(probe.transfer.hops, 0);
        send_one(net, &probe, 0, 29, 1000, NET_ROUTE_MIN_HASHED);
        assert_int_equal(sim_run(), SIM_DONE);
        assert_int_equal(probe.transfer.hops, 2);
        assert_int_equal(net_minimal_hops(net, 0, 29), 2);
        assert_int_equal(net_idle_latency(net, 0, 29, 1000), 4 * LINK + 3 * SWITCH + WIRE(1000));
        assert_true(net_path_rate(net, 0, 29, NET_ROUTE_IN_ORDER) == RATE);
        test_end(net);
    }
}

/* Two that send to one get half each; the receiver's link is never idle. */
static void receivers_are_shared(void **state)
{
    struct net_config config = switched("single-switch", 4, 0);
    struct net *net = test_begin(&config);
    struct probe probes[200];
    sim_time_t last = 0;
    uint32_t i;

    (void)state;
    for (i = 0; i < 200; i++)
        send_one(net, &probes[i], i % 2, 3, 4096, NET_ROUTE_ADAPTIVE_0);
    assert_int_equal(sim_run(), SIM_DONE);
    for (i = 0; i < 200; i++)
        last = probes[i].arrival > last ? probes[i].arrival : last;
    assert_int_equal(last, 2 * LINK + SWITCH + 200 * WIRE(4096));
    test_end(net);
}

struct spread {
    uint32_t used, links;
    uint64_t most;
};

static void count_up(const struct net_link_info *info, void *arg)
{
    struct spread *spread = arg;

    assert_int_equal(info->color, NET_LINK_SWITCH);
    spread->links++;
    if (info->router != 0 || info->peer < 8 || info->peer >= 12) /* from leaf 0 to the spines */
        return;
    spread->used += info->transfers > 0;
    if (info->transfers > spread->most)
        spread->most = info->transfers;
}

static struct spread uplinks_used(enum net_route route, uint32_t hashes)
{
    struct net_config config = switched("fat-tree", 32, 8);
    struct net *net = test_begin(&config);
    struct spread spread = {0};
    struct probe probes[64];
    uint32_t i;

    for (i = 0; i < 64; i++) {
        probe_init(&probes[i], i % 4, 4 + i % 4, 4096, route);
        probes[i].transfer.last_units = 4096;
        probes[i].transfer.hash = i % hashes;
        net_send(net, &probes[i].transfer, 0);
    }
    assert_int_equal(sim_run(), SIM_DONE);
    for (i = 4; i < 64; i++)
        if (!(route >= NET_ROUTE_ADAPTIVE_0))
            assert_true(hashes > 1 || probes[i].arrival > probes[i - 4].arrival);
    net_for_each_link(net, count_up, &spread);
    assert_int_equal(spread.links, 2 * (32 + 8 * 4));
    test_end(net);
    return spread;
}

static void spines_are_chosen_by_hash_or_load(void **state)
{
    struct spread hashed = uplinks_used(NET_ROUTE_MIN_HASHED, 1),
                  adaptive = uplinks_used(NET_ROUTE_ADAPTIVE_0, 1);

    (void)state;
    assert_true(hashed.used <= 4); /* one per pair */
    assert_int_equal(uplinks_used(NET_ROUTE_MIN_HASHED, 64).used, 4);
    assert_int_equal(adaptive.used, 4);
    assert_true(adaptive.most <= hashed.most);
    assert_true(adaptive.most <= 24);
}

static void dead_links_and_switches(void **state)
{
    struct net_config config = switched("fat-tree", 32, 8);
    struct net *net = test_begin(&config);
    struct probe probe;
    uint32_t spine;

    (void)state;
    for (spine = 0; spine < 4; spine++) {
        send_one(net, &probe, 0, 31, 64, NET_ROUTE_IN_ORDER);
        assert_int_equal(sim_run(), SIM_DONE);
        assert_int_equal(probe.transfer.status, NET_DELIVERED);
        if (spine % 2)
            assert_true(net_link_set_alive(net, 0, 8 + spine, 0, false));
        else
            assert_true(net_router_set_alive(net, 8 + spine, false));
    }
    send_one(net, &probe, 0, 31, 64, NET_ROUTE_IN_ORDER);
    assert_int_equal(sim_run(), SIM_DONE);
    assert_int_equal(probe.transfer.status, NET_UNREACHABLE);
    assert_true(net_path_rate(net, 0, 31, NET_ROUTE_ADAPTIVE_0) == 0);
    send_one(net, &probe, 0, 3, 64, NET_ROUTE_IN_ORDER); /* it is reachable inside its leaf */
    assert_int_equal(sim_run(), SIM_DONE);
    assert_int_equal(probe.transfer.status, NET_DELIVERED);
    /* a host's own link is named by net_routers() + endpoint */
    assert_true(net_link_set_alive(net, 12 + 3, 0, 0, false));
    send_one(net, &probe, 0, 3, 64, NET_ROUTE_IN_ORDER);
    assert_int_equal(sim_run(), SIM_DONE);
    assert_int_equal(probe.transfer.status, NET_UNREACHABLE);
    assert_false(net_link_set_alive(net, 12 + 4, 0, 0, false)); /* on another leaf */
    assert_false(net_link_set_alive(net, 0, 1, 0, false));
    assert_false(net_link_set_alive(net, 8, 9, 0, false));
    assert_false(net_link_set_alive(net, 0, 12 + 32, 0, false));
    test_end(net);
}

static void lost_in_flight(void **state)
{
    struct net_config config = switched("single-switch", 4, 0);
    struct net *net = test_begin(&config);
    struct probe probe;

    (void)state;
    send_one(net, &probe, 0, 1, 64, NET_ROUTE_ADAPTIVE_0);
    assert_true(net_router_set_alive(net, 0, false));
    assert_int_equal(sim_run(), SIM_DONE);
    assert_int_equal(probe.transfer.status, NET_DROPPED);
    test_end(net);
}

static void lanes(void **state)
{
    struct net_config config = switched("single-switch", 4, 0);
    struct net *net = test_begin(&config);
    struct probe probe;

    (void)state;
    assert_true(net_link_set_lanes(net, 0, 1 + 2, 0, 1));
    send_one(net, &probe, 0, 2, 1000, NET_ROUTE_ADAPTIVE_0);
    assert_int_equal(sim_run(), SIM_DONE);
    assert_int_equal(probe.arrival, 2 * LINK + SWITCH + 3 * WIRE(1000));
    assert_true(fabs(net_path_rate(net, 0, 2, NET_ROUTE_IN_ORDER) - RATE / 3) < 1e-6);
    test_end(net);
}

static void assert_refused(struct net_config config, const char *why)
{
    char *error = NULL;
    struct net *net = net_create(&config, &error);

    assert_null(net);
    assert_non_null(error);
    assert_non_null(strstr(error, why));
    free(error);
}

static void refusals(void **state)
{
    struct net_config config;

    (void)state;
    assert_refused(switched("ring", 4, 4), "ring");
    assert_refused(switched(NULL, 4, 4), "fat-tree");
    assert_refused(switched("single-switch", 0, 0), "0 nodes");
    assert_refused(switched("fat-tree", 33, 8), "room for 32");
    assert_refused(switched("fat-tree", 4, 7), "radix 7");
    config = switched("single-switch", 4, 0);
    config.switched.rate_Bpus = 0;
    assert_refused(config, "rate 0");
    config = switched("single-switch", 4, 0);
    config.switched.link_latency = 2 * SIM_S;
    assert_refused(config, "latency");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(idle_latencies),
        cmocka_unit_test(receivers_are_shared),
        cmocka_unit_test(spines_are_chosen_by_hash_or_load),
        cmocka_unit_test(dead_links_and_switches),
        cmocka_unit_test(lost_in_flight),
        cmocka_unit_test(lanes),
        cmocka_unit_test(refusals),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
