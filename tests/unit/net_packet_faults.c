/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* F2 and faults: links and routers that die, link errors, the fault point. */
#include "net_packet.h"

struct totals {
    uint64_t dropped, dead, replays, reinits, units;
    uint32_t a, b;
};

static void add_totals(const struct net_link_info *info, void *arg)
{
    struct totals *totals = arg;

    if (totals->b != UINT32_MAX && (info->router != totals->a || info->peer != totals->b))
        return;
    totals->dropped += info->dropped;
    totals->dead += info->dead;
    totals->replays += info->replays;
    totals->reinits += info->reinits;
    totals->units += info->units;
}

static struct totals totals_of(const struct net *net, uint32_t a, uint32_t b)
{
    struct totals totals = {.a = a, .b = b};

    net_for_each_link(net, add_totals, &totals);
    return totals;
}

struct flow {
    struct net *net;
    struct probe probes[400];
    uint32_t count, next, source, target;
    enum net_route route;
    sim_time_t gap;
    struct sim_event event;
};

static void flow_next(struct sim_event *event)
{
    struct flow *flow = sim_container_of(event, struct flow, event);
    struct probe *probe = &flow->probes[flow->next++];

    probe_init(probe, flow->source, flow->target, PUT_PHITS, flow->route);
    net_send(flow->net, &probe->transfer, 0);
    if (flow->next < flow->count)
        sim_event_schedule(event, sim_now() + flow->gap);
}

static void flow_start(struct flow *flow, struct net *net, uint32_t source, uint32_t target,
                       enum net_route route, sim_time_t gap)
{
    *flow = (struct flow){.net = net,
                          .count = 400,
                          .source = source,
                          .target = target,
                          .route = route,
                          .gap = gap,
                          .event = {flow_next}};
    sim_event_schedule(&flow->event, sim_now());
}

static uint32_t lost(const struct flow *flow)
{
    uint32_t count = 0, i;

    for (i = 0; i < flow->count; i++) {
        assert_int_equal(flow->probes[i].arrived, 1);
        count += flow->probes[i].transfer.status == NET_DROPPED;
    }
    return count;
}

static void kill_link(void *net)
{
    assert_true(net_link_set_alive(net, 0, 1, 0, false));
}

static void revive_link(void *net)
{
    assert_true(net_link_set_alive(net, 0, 1, 0, true));
}

/*
 * Packets on the link are lost, and so are those sent to it for the next 100 ns; later ones are
 * not.
 */
static void aries_28_nothing_is_sent_to_a_dead_link(void **state)
{
    static const enum net_route routes[] = {NET_ROUTE_ADAPTIVE_3, NET_ROUTE_IN_ORDER,
                                            NET_ROUTE_MIN_HASHED};
    static struct flow flow;
    size_t i;

    (void)state;
    for (i = 0; i < 3; i++) {
        struct net_config config = packet_preset("chassis");
        struct net *net = test_begin(&config);
        struct totals totals;

        flow_start(&flow, net, 0, 4, routes[i], 25 * SIM_NS);
        test_at(5010 * SIM_NS, kill_link, net);
        assert_int_equal(sim_run(), SIM_DONE);
        totals = totals_of(net, 0, 1);
        /* sent every 25 ns: two or three on the wire or granted it, four in the 100 ns after */
        assert_in_range(totals.dropped, 1, 4);
        assert_in_range(totals.dead, 2, 5);
        assert_int_equal(lost(&flow), totals.dropped + totals.dead);
        assert_true(flow.probes[399].transfer.hops >= 2);
        assert_int_equal(flow.probes[399].transfer.status, NET_DELIVERED);
        packet_test_end(net);
    }
}

static void a_revived_link_is_used_again(void **state)
{
    static struct flow flow;
    struct net_config config = packet_preset("chassis");
    struct net *net = test_begin(&config);

    (void)state;
    kill_link(net); /* at time 0: known from the beginning */
    flow_start(&flow, net, 0, 4, NET_ROUTE_IN_ORDER, 25 * SIM_NS);
    test_at(5 * SIM_US, revive_link, net);
    assert_int_equal(sim_run(), SIM_DONE);
    assert_int_equal(lost(&flow), 0);
    assert_int_equal(flow.probes[0].transfer.hops, 2);
    assert_int_equal(flow.probes[399].transfer.hops, 1);
    packet_test_end(net);
}

static void kill_router(void *net)
{
    assert_true(net_router_set_alive(net, 1, false));
}

/*
 * A router that dies loses the packets in it and on its links. Others go round it, and its nodes
 * are unreachable.
 */
static void a_router_dies_under_load(void **state)
{
    static const enum net_route routes[] = {NET_ROUTE_ADAPTIVE_0, NET_ROUTE_IN_ORDER};
    size_t i;

    (void)state;
    for (i = 0; i < 2; i++) {
        struct net_config config = packet_small(2);
        struct net *net = test_begin(&config);
        struct probe *probes = calloc(6000, sizeof(*probes));
        struct sim_random random;
        uint32_t ends[3] = {0}, k;
        struct probe probe;

        assert_non_null(probes);
        sim_random_init(&random, 1, "pairs", 0);
        for (k = 0; k < 6000; k++) {
            probe_init(&probes[k], (uint32_t)sim_random_below(&random, 64),
                       (uint32_t)sim_random_below(&random, 64), PUT_PHITS, routes[i]);
            probes[k].transfer.ejection_time = NIC_TIME;
            net_send(net, &probes[k].transfer, 0);
        }
        test_at(500 * SIM_NS, kill_router, net);
        assert_int_equal(sim_run(), SIM_DONE);
        for (k = 0; k < 6000; k++) {
            assert_int_equal(probes[k].arrived, 1);
            ends[probes[k].transfer.status]++;
        }
        assert_true(ends[NET_DELIVERED] > 3000);
        assert_true(ends[NET_DROPPED] > 100);
        probe_init(&probe, 0, 5, PUT_PHITS, routes[i]);
        net_send(net, &probe.transfer, 0);
        assert_int_equal(sim_run(), SIM_DONE);
        assert_int_equal(probe.transfer.status, NET_UNREACHABLE);
        free(probes);
        packet_test_end(net);
    }
}

/* ---- the link protocol ----------------------------------------------------------------------- */

static struct totals stream(double rate, enum net_fidelity fidelity, double *gbps)
{
    struct net_config config = test_preset("chassis");
    struct message message;
    struct totals totals;
    struct net *net;

    config.fidelity = fidelity;
    net = test_begin(&config);
    if (rate > 0)
        assert_true(net_link_set_error_rate(net, 0, 1, 0, rate));
    message_start(&message, net, 0, 4, 1 << 20, PUT_PHITS, NET_ROUTE_IN_ORDER, 0, 0);
    assert_int_equal(sim_run(), SIM_DONE);
    assert_int_equal(message.delivered, message.chunks);
    assert_int_equal(message.reordered, 0);
    *gbps = message_rate(&message);
    totals = totals_of(net, 0, 1);
    message_free(&message);
    if (fidelity == NET_F2)
        packet_test_end(net);
    else
        test_end(net);
    return totals;
}

/* Packets one at a time: how long they take in the mean. */
static sim_time_t mean_latency(double rate)
{
    struct net_config config = packet_preset("chassis");
    struct net *net = test_begin(&config);
    static struct flow flow;
    sim_time_t sum = 0;
    uint32_t i;

    if (rate > 0)
        assert_true(net_link_set_error_rate(net, 0, 1, 0, rate));
    flow_start(&flow, net, 0, 4, NET_ROUTE_IN_ORDER, SIM_US);
    assert_int_equal(sim_run(), SIM_DONE);
    assert_int_equal(lost(&flow), 0); /* each of them arrived, once */
    for (i = 0; i < flow.count; i++)
        sum += flow.probes[i].arrival - i * SIM_US;
    packet_test_end(net);
    return sum / flow.count;
}

/* 1 MiB is 25 487 micropackets. */
static void aries_55_bad_micropackets_cost_time_only(void **state)
{
    double clean, some, many, f1;
    struct totals totals;

    (void)state;
    totals = stream(0, NET_F2, &clean);
    assert_int_equal(totals.replays, 0);
    totals = stream(1e-3, NET_F2, &some);
    assert_in_range(totals.replays, 10, 50);
    assert_true(some < clean);
    totals = stream(2e-2, NET_F2, &many);
    assert_in_range(totals.replays, 400, 640);
    assert_true(many < 0.85 * clean);
    assert_int_equal(totals.units, 16384 * PUT_PHITS);
    stream(2e-2, NET_F1, &f1); /* the same in the mean */
    assert_true(f1 > 0.95 * many && f1 < 1.05 * many);
    assert_true(mean_latency(2e-2) > mean_latency(0));
}

/* Seven bad ones in a row: initialised again; a second time running: dead, and gone round. */
static void aries_56_a_link_that_stays_bad_dies(void **state)
{
    static struct flow flow;
    struct net_config config = packet_preset("chassis");
    struct net *net = test_begin(&config);
    struct totals totals;

    (void)state;
    assert_true(net_link_set_error_rate(net, 0, 1, 0, 1.0));
    flow_start(&flow, net, 0, 4, NET_ROUTE_IN_ORDER, 200 * SIM_NS);
    assert_int_equal(sim_run(), SIM_DONE);
    totals = totals_of(net, 0, 1);
    assert_int_equal(totals.reinits, 1);
    assert_int_equal(totals.replays, 14);
    assert_true(lost(&flow) >= 1);
    assert_int_equal(flow.probes[0].transfer.status, NET_DROPPED);
    assert_int_equal(flow.probes[399].transfer.status, NET_DELIVERED);
    assert_int_equal(flow.probes[399].transfer.hops, 2);
    assert_false(net_link_set_error_rate(net, 0, 1, 0, 1.5));
    assert_false(net_link_set_error_rate(net, 0, 99, 0, 0.5));
    packet_test_end(net);
}

/* ---- the fault point ------------------------------------------------------------------------- */

static void the_fault_point_acts_on_packets(void **state)
{
    static struct flow flow;
    struct net_config config = packet_preset("mini2");
    struct net *net = test_begin(&config);
    struct sim_fault_rule drop = {.action = SIM_FAULT_DROP,
                                  .until = SIM_NEVER,
                                  .probability = 1,
                                  .skip = 10,
                                  .count_max = 3,
                                  .source = SIM_FAULT_ANY,
                                  .target = SIM_FAULT_ANY,
                                  .between = {SIM_FAULT_ANY, SIM_FAULT_ANY},
                                  .kind = SIM_FAULT_ANY};
    struct sim_fault_rule delay = drop;
    struct net_counters counters;
    uint32_t i;

    (void)state;
    delay.action = SIM_FAULT_DELAY;
    delay.skip = 20;
    delay.count_max = 1;
    delay.delay = SIM_US;
    sim_fault_rule_add(sim_fault_point_find("net.packet"), &drop);
    sim_fault_rule_add(sim_fault_point_find("net.packet"), &delay);
    flow_start(&flow, net, 0, 44, NET_ROUTE_IN_ORDER, 25 * SIM_NS);
    assert_int_equal(sim_run(), SIM_DONE);
    assert_int_equal(lost(&flow), 3);
    for (i = 1; i < flow.count; i++) /* a delayed packet delays those behind it */
        assert_true(flow.probes[i].sequence > flow.probes[i - 1].sequence);
    net_get_counters(net, &counters);
    assert_int_equal(counters.dropped, 3);
    assert_int_equal(counters.delayed, 1);
    packet_test_end(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(aries_28_nothing_is_sent_to_a_dead_link),
        cmocka_unit_test(a_revived_link_is_used_again),
        cmocka_unit_test(a_router_dies_under_load),
        cmocka_unit_test(aries_55_bad_micropackets_cost_time_only),
        cmocka_unit_test(aries_56_a_link_that_stays_bad_dies),
        cmocka_unit_test(the_fault_point_acts_on_packets),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
