/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Order, adaptivity and determinism of routing. */
#include <stdio.h>
#include <unistd.h>
#include "net_test.h"
#include "engine/trace.h"
#include "trace_read.h"

#define NIC_RATE 9.87

/* ---- a crowd of senders ---------------------------------------------------------------------- */

/*
 * Transfers sent at random times between endpoints that a scenario picks. Each remembers the order
 * of its sending; what must be kept in order is checked between transfers of the same `flow`.
 */
struct crowd {
    struct net *net;
    struct sim_random random;
    uint32_t count, reordered, non_minimal, hops_max;
    uint64_t digest;
    struct member {
        struct sim_event start;
        struct probe probe;
        struct crowd *crowd;
        sim_time_t feed, sent;
        uint32_t flow;
    } * member;
};

static void member_start(struct sim_event *event)
{
    struct member *member = sim_container_of(event, struct member, start);

    member->sent = sim_now();
    net_send(member->crowd->net, &member->probe.transfer, member->feed);
}

static void crowd_init(struct crowd *crowd, struct net *net, uint32_t count, uint64_t seed)
{
    *crowd = (struct crowd){.net = net, .count = count};
    sim_random_init(&crowd->random, seed, "crowd", 0);
    crowd->member = calloc(count, sizeof(*crowd->member));
    assert_non_null(crowd->member);
    test_arrivals = 0;
}

static uint32_t draw(struct crowd *crowd, uint32_t bound)
{
    return (uint32_t)sim_random_below(&crowd->random, bound);
}

static struct member *crowd_add(struct crowd *crowd, uint32_t i, uint32_t source, uint32_t target,
                                uint32_t packets, enum net_route route, sim_time_t at)
{
    struct member *member = &crowd->member[i];

    probe_init(&member->probe, source, target, packets * PUT_PHITS, route);
    member->crowd = crowd;
    member->start.fire = member_start;
    member->flow = UINT32_MAX;
    sim_event_schedule(&member->start, at);
    return member;
}

static void crowd_run(struct crowd *crowd)
{
    uint32_t i;

    assert_int_equal(sim_run(), SIM_DONE);
    for (i = 0; i < crowd->count; i++) {
        const struct probe *probe = &crowd->member[i].probe;

        assert_int_equal(probe->arrived, 1);
        assert_int_equal(probe->transfer.status, NET_DELIVERED);
        crowd->non_minimal += !probe->transfer.minimal;
        if (probe->transfer.hops > crowd->hops_max)
            crowd->hops_max = probe->transfer.hops;
        crowd->digest = sim_mix(crowd->digest ^ probe->arrival) + probe->transfer.hops;
    }
}

/*
 * Returns how many transfers of a flow arrived before an earlier one of it. The members are in the
 * order of sending.
 */
static uint32_t overtakings(const struct crowd *crowd, uint32_t flow)
{
    uint32_t last = 0, count = 0, i;
    bool any = false;

    for (i = 0; i < crowd->count; i++)
        if (crowd->member[i].flow == flow) {
            if (any && crowd->member[i].probe.sequence < last)
                count++;
            else
                last = crowd->member[i].probe.sequence;
            any = true;
        }
    return count;
}

/* ---- order ----------------------------------------------------------------------------------- */

/*
 * One pair sends in order, with all sizes and feed rates, one transfer after the other. All other
 * endpoints flood the same corner of the machine with adaptive traffic. Returns how often transfers
 * of different lines overtook each other, if they are hashed.
 */
static uint32_t order_under_load(enum net_route route, bool hashed, const char *preset,
                                 uint64_t seed)
{
    struct net_config config = test_preset(preset);
    struct net *net = test_begin(&config);
    uint32_t endpoints = net_endpoints(net), i, flow;
    sim_time_t at = 0;
    struct crowd crowd;
    uint32_t between_lines = 0;

    crowd_init(&crowd, net, 6000, seed);
    for (i = 0; i < crowd.count; i++) {
        if (i % 6 == 0) {
            uint32_t packets = hashed ? 4 + draw(&crowd, 13) : 1 + draw(&crowd, 16);
            struct member *member = crowd_add(&crowd, i, 1, endpoints - 2, packets, route, at);

            member->probe.transfer.last_units = 3 + draw(&crowd, 12);
            member->probe.transfer.units -= PUT_PHITS - member->probe.transfer.last_units;
            member->feed = (member->probe.transfer.packets - 1) * (6484 + draw(&crowd, 40000));
            member->flow = hashed ? draw(&crowd, 5) : 0;
            /* they do not begin at the same line, but have one in common: the fourth */
            member->probe.transfer.hash = member->flow * 64ull + (hashed ? draw(&crowd, 4) : 0);
            at += member->feed + 6484;
        } else {
            crowd_add(&crowd, i, draw(&crowd, endpoints), endpoints - 1 - draw(&crowd, 8), 16,
                      NET_ROUTE_ADAPTIVE_0 + (i & 3), at);
        }
    }
    crowd_run(&crowd);
    for (flow = 0; flow < 5; flow++)
        assert_int_equal(overtakings(&crowd, flow), 0);
    if (hashed) { /* together they are several lines, which keep no order among each other */
        for (i = 0; i < crowd.count; i++)
            if (crowd.member[i].flow != UINT32_MAX)
                crowd.member[i].flow = 7;
        between_lines = overtakings(&crowd, 7);
    }
    free(crowd.member);
    test_end(net);
    return between_lines;
}

static void aries_21_in_order_under_load(void **state)
{
    uint64_t seed;

    (void)state;
    for (seed = 1; seed <= 8; seed++) {
        order_under_load(NET_ROUTE_IN_ORDER, false, "mini2", seed);
        order_under_load(NET_ROUTE_IN_ORDER, false, "xc-2-groups", seed);
        order_under_load(NET_ROUTE_IN_ORDER, false, "chassis", seed);
    }
    order_under_load(NET_ROUTE_IN_ORDER, false, "theta12", 1);
}

static void aries_22_hashed_order_per_line(void **state)
{
    static const struct {
        enum net_route route;
        const char *preset;
    } cases[] = {
        {NET_ROUTE_MIN_HASHED, "xc-2-groups"},
        {NET_ROUTE_NON_MIN_HASHED, "xc-2-groups"},
        {NET_ROUTE_NON_MIN_HASHED, "theta12"},
        {NET_ROUTE_NON_MIN_HASHED, "group"},
    };
    uint32_t between_lines, i;
    uint64_t seed;

    (void)state;
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        between_lines = 0;
        for (seed = 1; seed <= 4; seed++)
            between_lines += order_under_load(cases[i].route, true, cases[i].preset, seed);
        assert_true(between_lines > 0); /* seldom on minimal paths, not with every seed */
    }
}

/* The same hash gives the same path, so the same links count; another one gives another. */
static void paths_follow_the_hash(void **state)
{
    struct net_config config = test_preset("theta12");
    struct net *net = test_begin(&config);
    uint64_t hash, times[64];
    uint32_t different = 0;

    (void)state;
    for (hash = 0; hash < 64; hash++) {
        uint32_t i;

        for (i = 0; i < 3; i++) {
            struct probe probe;
            sim_time_t begin = sim_now();

            probe_init(&probe, 3, 4001, 14, NET_ROUTE_NON_MIN_HASHED);
            probe.transfer.hash = hash;
            net_send(net, &probe.transfer, 0);
            assert_int_equal(sim_run(), SIM_DONE);
            if (i > 0)
                assert_int_equal(probe.arrival - begin, times[hash]);
            times[hash] = probe.arrival - begin;
        }
        different += times[hash] != times[0];
    }
    assert_true(different > 16);
    test_end(net);
}

/* Everybody sends to four endpoints of one router, chunks of one message each. */
struct spot {
    struct message *message;
    uint32_t count, reordered, non_minimal, chunks, hops_max;
    struct net_counters counters;
    uint64_t digest;
    sim_time_t end;
};

static struct spot hot_spot(const char *preset, enum net_route route, uint64_t seed,
                            uint32_t senders, uint32_t bytes)
{
    struct net_config config = test_preset(preset);
    struct spot spot = {.count = senders};
    struct net *net;
    uint32_t i, stride;

    config.seed = seed;
    net = test_begin(&config);
    stride = (net_endpoints(net) - 4) / senders;
    spot.message = calloc(senders, sizeof(*spot.message));
    assert_non_null(spot.message);
    for (i = 0; i < senders; i++)
        message_start(&spot.message[i], net, 4 + i * stride, i % 4, bytes, PUT_PHITS, route,
                      NIC_RATE, i * SIM_NS);
    assert_int_equal(sim_run(), SIM_DONE);
    for (i = 0; i < senders; i++) {
        struct message *message = &spot.message[i];

        assert_int_equal(message->delivered, message->chunks);
        spot.reordered += message->reordered;
        spot.non_minimal += message->non_minimal;
        spot.chunks += message->chunks;
        if (message->hops_max > spot.hops_max)
            spot.hops_max = message->hops_max;
        if (message->end > spot.end)
            spot.end = message->end;
        spot.digest = sim_mix(spot.digest ^ message->end);
        message_free(message);
    }
    free(spot.message);
    spot.digest ^= sim_digest();
    net_get_counters(net, &spot.counters);
    test_end(net);
    return spot;
}

static void aries_23_adaptive_reorders_under_load(void **state)
{
    (void)state;
    assert_true(hot_spot("xc-2-groups", NET_ROUTE_ADAPTIVE_0, 1, 64, 16384).reordered > 0);
    assert_true(hot_spot("theta12", NET_ROUTE_ADAPTIVE_1, 1, 128, 16384).reordered > 0);
    assert_int_equal(hot_spot("xc-2-groups", NET_ROUTE_IN_ORDER, 1, 64, 16384).reordered, 0);
}

static void aries_24_idle_traffic_is_minimal(void **state)
{
    static const char *const presets[] = {"mini2", "group", "xc-2-groups", "theta9", "edison"};
    uint32_t i, j;

    (void)state;
    for (i = 0; i < 5; i++) {
        struct net_config config = test_preset(presets[i]);
        struct net *net = test_begin(&config);
        struct net_counters counters;
        struct crowd crowd;

        crowd_init(&crowd, net, 2000, i);
        for (j = 0; j < crowd.count; j++) /* one at a time */
            crowd_add(&crowd, j, draw(&crowd, net_endpoints(net)), draw(&crowd, net_endpoints(net)),
                      16, NET_ROUTE_ADAPTIVE_0, j * 10 * SIM_US);
        crowd_run(&crowd);
        assert_int_equal(crowd.non_minimal, 0);
        net_get_counters(net, &counters);
        assert_int_equal(counters.waiting, 0);
        assert_int_equal(counters.minimal, 2000);
        free(crowd.member);
        test_end(net);
    }
}

static void aries_25_stronger_bias_detours_less(void **state)
{
    static const char *const presets[] = {"group", "xc-2-groups", "theta12", "mini2"};
    uint32_t i, seed;

    (void)state;
    for (i = 0; i < 4; i++)
        for (seed = 1; seed <= 3; seed++) {
            uint32_t senders = i == 3 ? 30 : 90;
            uint32_t a0 =
                hot_spot(presets[i], NET_ROUTE_ADAPTIVE_0, seed, senders, 16384).non_minimal;
            uint32_t a1 =
                hot_spot(presets[i], NET_ROUTE_ADAPTIVE_1, seed, senders, 16384).non_minimal;
            uint32_t a2 =
                hot_spot(presets[i], NET_ROUTE_ADAPTIVE_2, seed, senders, 16384).non_minimal;
            uint32_t a3 =
                hot_spot(presets[i], NET_ROUTE_ADAPTIVE_3, seed, senders, 16384).non_minimal;

            assert_true(a0 > 0);
            assert_true(a3 <= a2 && a2 <= a0 && a1 <= a0);
        }
}

/*
 * F1 has no virtual channels, but keeps the rule that they depend on: at most one root, so at most
 * 10 links.
 */
static void aries_26_no_path_is_longer_than_ten_links(void **state)
{
    static const char *const presets[] = {"mini2", "group", "xc-2-groups", "theta12", "cori"};
    uint32_t i, j;

    (void)state;
    for (i = 0; i < 5; i++) {
        struct net_config config = test_preset(presets[i]);
        struct net *net = test_begin(&config);
        struct crowd crowd;

        crowd_init(&crowd, net, 20000, i);
        for (j = 0; j < crowd.count; j++)
            crowd_add(&crowd, j, draw(&crowd, net_endpoints(net)), draw(&crowd, net_endpoints(net)),
                      16,
                      (enum net_route[]){NET_ROUTE_NON_MIN_HASHED, NET_ROUTE_ADAPTIVE_0,
                                         NET_ROUTE_ADAPTIVE_1, NET_ROUTE_ADAPTIVE_2,
                                         NET_ROUTE_ADAPTIVE_3, NET_ROUTE_MIN_HASHED}[j % 6],
                      draw(&crowd, 1000) * SIM_NS);
        for (j = 0; j < crowd.count; j++)
            crowd.member[j].probe.transfer.hash = j;
        crowd_run(&crowd);
        assert_true(crowd.non_minimal > 0);
        assert_true(crowd.hops_max <= 10);
        assert_true(crowd.hops_max >= (i == 1 ? 3 : 5));
        free(crowd.member);
        test_end(net);
    }
}

/* ---- load ------------------------------------------------------------------------------------ */

/* All senders of a group to one other group: minimal routing alone is held up by the blue links
 * between the two. */
static void adaptive_routing_uses_other_groups(void **state)
{
    struct net_config config = test_preset("theta12");
    sim_time_t end[2] = {0};
    uint32_t i, mode;

    (void)state;
    for (mode = 0; mode < 2; mode++) {
        struct net *net = test_begin(&config);
        struct message *message = calloc(384, sizeof(*message));

        assert_non_null(message);
        for (i = 0; i < 384; i++)
            message_start(&message[i], net, i, 384 + i, 65536, PUT_PHITS,
                          mode ? NET_ROUTE_ADAPTIVE_0 : NET_ROUTE_MIN_HASHED, NIC_RATE, i * SIM_NS);
        assert_int_equal(sim_run(), SIM_DONE);
        for (i = 0; i < 384; i++) {
            end[mode] = message[i].end > end[mode] ? message[i].end : end[mode];
            message_free(&message[i]);
        }
        free(message);
        test_end(net);
    }
    /* 48 blue links carry at most 137 GB/s */
    assert_true(end[0] >= (sim_time_t)(384 * 65536.0 / (48 * 2.857) * 1e3));
    assert_true(end[1] < end[0]);
}

/*
 * No link carries more than its rate: the busy time of each link is at most the time that passed.
 */
struct busiest {
    sim_time_t busy;
    uint64_t units;
};

static void find_busiest(const struct net_link_info *info, void *arg)
{
    struct busiest *busiest = arg;

    if (info->busy > busiest->busy)
        busiest->busy = info->busy;
    busiest->units += info->units;
}

static void no_link_exceeds_its_rate(void **state)
{
    static const enum net_route routes[] = {NET_ROUTE_ADAPTIVE_0, NET_ROUTE_ADAPTIVE_3,
                                            NET_ROUTE_MIN_HASHED};
    uint32_t i, mode;

    (void)state;
    for (mode = 0; mode < 3; mode++) {
        struct net_config config = test_preset("mini2");
        struct net *net = test_begin(&config);
        struct busiest busiest = {0};
        struct net_counters counters;
        struct crowd crowd;
        sim_time_t end = 0;

        crowd_init(&crowd, net, 5000, mode);
        for (i = 0; i < crowd.count; i++)
            crowd_add(&crowd, i, draw(&crowd, 64), draw(&crowd, 64), 16, routes[mode],
                      i * 10 * SIM_NS);
        crowd_run(&crowd);
        for (i = 0; i < crowd.count; i++)
            if (crowd.member[i].probe.arrival > end)
                end = crowd.member[i].probe.arrival;
        net_for_each_link(net, find_busiest, &busiest);
        net_get_counters(net, &counters);
        assert_int_equal(busiest.units, counters.hops * 16 * PUT_PHITS);
        /* a chunk of an adaptive mode arrives up to one chunk's time before its last link is done
         */
        assert_true(busiest.busy <= end + 2 * 358 * SIM_NS);
        free(crowd.member);
        test_end(net);
    }
}

struct joined {
    uint32_t router, peer;
    sim_time_t busy;
};

static void find_joined(const struct net_link_info *info, void *arg)
{
    struct joined *joined = arg;

    if (info->router == joined->router && info->peer == joined->peer)
        joined->busy += info->busy;
}

/*
 * A transfer joins the queues of all its links when it is sent. A transfer that reaches a link
 * before one that was sent earlier from far away waits at most for the work of that one; a transfer
 * from far away finds the work of a neighbour done.
 */
static void queues_are_in_the_time_of_sending(void **state)
{
    struct net_config config = test_preset("xc-2-groups");
    struct net *net = test_begin(&config);
    struct joined joined = {.router = 1, .peer = 0};
    struct probe far, near, farther;
    sim_time_t idle;

    (void)state;
    probe_init(&far, 4 * 17, 0, 224, NET_ROUTE_IN_ORDER); /* two links, one of three paths */
    probe_init(&near, 4, 1, 14, NET_ROUTE_IN_ORDER);
    probe_init(&farther, 4 * 17, 0, 14, NET_ROUTE_IN_ORDER);
    net_send(net, &far.transfer, 0);
    net_send(net, &near.transfer, 0);
    net_send(net, &farther.transfer, 0);
    assert_int_equal(sim_run(), SIM_DONE);
    idle = net_idle_latency(net, 4, 1, 14);
    assert_true(near.arrival == idle || near.arrival == idle + 320 * SIM_NS);
    assert_true(farther.arrival > far.arrival); /* the same flow */
    net_for_each_link(net, find_joined, &joined);
    assert_true(joined.busy <= 360 * SIM_NS);
    test_end(net);
}

/* ---- determinism ----------------------------------------------------------------------------- */

static void aries_49_same_seed_same_run(void **state)
{
    struct spot one = hot_spot("xc-2-groups", NET_ROUTE_ADAPTIVE_0, 11, 64, 16384);
    struct spot same = hot_spot("xc-2-groups", NET_ROUTE_ADAPTIVE_0, 11, 64, 16384);
    struct spot other = hot_spot("xc-2-groups", NET_ROUTE_ADAPTIVE_0, 12, 64, 16384);

    (void)state;
    assert_true(one.digest == same.digest && one.end == same.end);
    assert_true(one.digest != other.digest);
    /* where nothing is chosen adaptively the seed changes nothing */
    one = hot_spot("xc-2-groups", NET_ROUTE_IN_ORDER, 11, 64, 16384);
    other = hot_spot("xc-2-groups", NET_ROUTE_IN_ORDER, 12, 64, 16384);
    assert_true(one.digest == other.digest && one.end == other.end);
    one = hot_spot("theta9", NET_ROUTE_NON_MIN_HASHED, 11, 64, 16384);
    other = hot_spot("theta9", NET_ROUTE_NON_MIN_HASHED, 12, 64, 16384);
    assert_true(one.digest == other.digest && one.end == other.end);
}

/* The slices of links form a valid trace, and writing it does not change the run. */
static void tracing_changes_nothing(void **state)
{
    struct spot plain = hot_spot("mini2", NET_ROUTE_ADAPTIVE_0, 3, 20, 16384), traced;
    char path[] = "/tmp/net_routing.XXXXXX", *error = NULL;
    struct trace_summary summary;
    int file = mkstemp(path);

    (void)state;
    assert_true(file >= 0);
    close(file);
    assert_true(sim_trace_open(path, &error));
    traced = hot_spot("mini2", NET_ROUTE_ADAPTIVE_0, 3, 20, 16384);
    assert_true(sim_trace_close(&error));
    assert_true(traced.digest == plain.digest && traced.end == plain.end);
    assert_true(trace_read(path, &summary, &error));
    assert_true(summary.slices >= plain.counters.hops);
    assert_int_equal(summary.unknown_tracks, 0);
    assert_int_equal(summary.single_ended_flows, 0);
    assert_int_equal(summary.out_of_order, 0);
    remove(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(aries_21_in_order_under_load),
        cmocka_unit_test(aries_22_hashed_order_per_line),
        cmocka_unit_test(paths_follow_the_hash),
        cmocka_unit_test(aries_23_adaptive_reorders_under_load),
        cmocka_unit_test(aries_24_idle_traffic_is_minimal),
        cmocka_unit_test(aries_25_stronger_bias_detours_less),
        cmocka_unit_test(aries_26_no_path_is_longer_than_ten_links),
        cmocka_unit_test(adaptive_routing_uses_other_groups),
        cmocka_unit_test(no_link_exceeds_its_rate),
        cmocka_unit_test(queues_are_in_the_time_of_sending),
        cmocka_unit_test(aries_49_same_seed_same_run),
        cmocka_unit_test(tracing_changes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
