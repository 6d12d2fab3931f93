/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* F2 under load: progress, conservation, adaptivity, back pressure, determinism. */
#include "engine/trace.h"
#include "net_packet.h"

static const enum net_route modes[] = {
    NET_ROUTE_ADAPTIVE_0, NET_ROUTE_ADAPTIVE_1, NET_ROUTE_ADAPTIVE_2,     NET_ROUTE_ADAPTIVE_3,
    NET_ROUTE_MIN_HASHED, NET_ROUTE_IN_ORDER,   NET_ROUTE_NON_MIN_HASHED,
};
#define MODES (sizeof(modes) / sizeof(modes[0]))

struct outcome {
    sim_time_t time;
    uint64_t non_minimal, sent, digest;
};

static struct outcome run(struct net_config config, struct throng throng, uint32_t each)
{
    struct net *net = test_begin(&config);
    struct net_counters counters;
    struct outcome outcome;

    throng_start(&throng, net, each);
    assert_int_equal(sim_run(), SIM_DONE);
    net_get_counters(net, &counters);
    assert_int_equal(counters.dropped, 0);
    assert_int_equal(counters.packets, throng.sent * (throng.answer > 0 ? 2 : 1));
    outcome = (struct outcome){sim_now(), throng.non_minimal, throng.sent, sim_digest()};
    throng_end(&throng);
    packet_test_end(net);
    return outcome;
}

/* 1152 nodes, three full groups; more packets than their buffers hold. */
static struct net_config large(void)
{
    struct net_config config = packet_preset(NULL);

    config.dragonfly.groups = 3;
    config.dragonfly.chassis = 6;
    config.dragonfly.slots = 16;
    config.dragonfly.cables = 4;
    return config;
}

static void aries_27_adversarial_load_ends_in_every_mode(void **state)
{
    size_t i;

    (void)state;
    for (i = 0; i < MODES; i++)
        run(large(),
            (struct throng){.target = to_next_group,
                            .window = 40,
                            .units = PUT_PHITS,
                            .answer = 1,
                            .route = modes[i]},
            60);
}

/* Small machines with small buffers, on which a deadlock would soon occur. */
static void aries_27_full_buffers_end_in_every_mode(void **state)
{
    size_t i, groups;

    (void)state;
    for (groups = 1; groups <= 3; groups++)
        for (i = 0; i < MODES; i++) {
            struct net_config config = packet_small((uint32_t)groups);

            config.dragonfly.tile.private_blocks = 2;
            config.dragonfly.tile.shared_blocks = 0;
            run(config,
                (struct throng){.target = groups == 1 ? to_anyone : to_next_group,
                                .window = 100,
                                .units = PUT_PHITS,
                                .answer = GET_PHITS,
                                .route = modes[i]},
                150);
        }
}

static void aries_27_hot_spot_ends(void **state)
{
    size_t i;

    (void)state;
    for (i = 0; i < MODES; i++)
        run(packet_small(2),
            (struct throng){
                .target = to_one, .window = 50, .units = PUT_PHITS, .answer = 1, .route = modes[i]},
            60);
}

/* Received phits: the source's tile and one input per link, for every packet. */
static void add_units(const struct net_link_info *info, void *arg)
{
    *(uint64_t *)arg += info->units;
}

static void phits_are_conserved(void **state)
{
    struct net_config config = packet_small(3);
    struct throng throng = {
        .target = to_anyone, .window = 20, .units = 9, .route = NET_ROUTE_ADAPTIVE_0};
    struct net *net = test_begin(&config);
    struct net_counters counters;
    uint64_t units = 0;

    (void)state;
    throng_start(&throng, net, 50);
    assert_int_equal(sim_run(), SIM_DONE);
    net_get_counters(net, &counters);
    net_for_each_link(net, add_units, &units);
    assert_int_equal(units, counters.hops * 9);
    assert_int_equal(counters.transfers, throng.sent);
    assert_true(counters.waiting > 0);
    throng_end(&throng);
    packet_test_end(net);
}

/* ---- adaptivity ------------------------------------------------------------------------------ */

static struct outcome next_group(enum net_route route)
{
    struct net_config config = packet_preset("theta9");

    config.dragonfly.preset = NULL;
    config.dragonfly.groups = 5;
    config.dragonfly.chassis = 2;
    config.dragonfly.slots = 8;
    config.dragonfly.cables = 2;
    return run(
        config,
        (struct throng){.target = to_next_group, .window = 30, .units = PUT_PHITS, .route = route},
        200);
}

/* Adaptive packets avoid busy links; a bias to minimal paths prevents that. */
static void aries_25_bias_keeps_packets_minimal(void **state)
{
    struct outcome a0 = next_group(NET_ROUTE_ADAPTIVE_0), a3 = next_group(NET_ROUTE_ADAPTIVE_3);
    struct outcome hashed = next_group(NET_ROUTE_MIN_HASHED);

    (void)state;
    assert_int_equal(a3.non_minimal, 0);
    assert_int_equal(hashed.non_minimal, 0);
    assert_true(a0.non_minimal > a0.sent / 4);
    assert_true(a0.time * 3 < a3.time * 2);
    assert_true(a3.time < hashed.time * 5 / 4); /* it takes longer minimal paths, too */
}

/* ---- back pressure --------------------------------------------------------------------------- */

struct full_buffers {
    uint32_t full, routers; /* buffers without room; routers with such */
};

static void count_full_buffers(void *arg)
{
    struct full_buffers *full_buffers = arg;
    uint32_t tile, router, last = UINT32_MAX;

    for (tile = 0; tile < net_packets->net->routers * TILES; tile++) {
        const struct packet_tile *here = &net_packets->tiles[tile];

        router = here->router;
        if (tile_is_ptile(tile) || here->used[3] + here->used[1] < 64)
            continue;
        full_buffers->full++;
        full_buffers->routers += router != last;
        last = router;
    }
}

/*
 * Many send to one NIC. It accepts packets at its rate; the others fill the buffers towards it and
 * block unrelated packets.
 */
static void incast_builds_back_pressure(void **state)
{
    struct net_config config = packet_preset("chassis");
    struct throng throng = {
        .target = to_one, .window = 100, .units = PUT_PHITS, .route = NET_ROUTE_ADAPTIVE_3};
    struct net *net = test_begin(&config);
    struct full_buffers full_buffers = {0};
    struct probe victim;
    uint64_t packets;
    sim_time_t end;

    (void)state;
    throng_start(&throng, net, 200);
    test_at(30 * SIM_US, count_full_buffers, &full_buffers);
    probe_init(&victim, 8, 1, PUT_PHITS, NET_ROUTE_ADAPTIVE_3); /* to a neighbour of the hot spot */
    net_send(net, &victim.transfer, 0);
    assert_int_equal(sim_run(), SIM_DONE);
    end = sim_now();
    packets = throng.sent;
    throng_end(&throng);
    /* the NIC is busy all the time */
    assert_in_range(end, packets * NIC_TIME, packets * NIC_TIME * 102 / 100 + SIM_US);
    assert_true(full_buffers.full >= 10); /* most of the 15 links to its router */
    assert_true(victim.arrival > 10 * net_idle_latency(net, 8, 1, PUT_PHITS));
    packet_test_end(net);
}

/* A NIC without a limit of its own is limited by its processor tiles only. */
static void no_drain_no_pressure(void **state)
{
    struct net_config config = packet_preset("blade");
    struct net *net = test_begin(&config);
    struct probe probes[64];
    uint32_t i;

    (void)state;
    for (i = 0; i < 64; i++) {
        probe_init(&probes[i], i % 4, 0, PUT_PHITS, NET_ROUTE_ADAPTIVE_0);
        net_send(net, &probes[i].transfer, 0);
    }
    assert_int_equal(sim_run(), SIM_DONE);
    /* 64 packets of 14 phits over four tiles of 1.25 phits per ns */
    assert_in_range(sim_now(), 64 * 14 * 200, 64 * 14 * 200 * 13 / 10 + 70 * SIM_NS);
    packet_test_end(net);
}

/* ---- determinism ----------------------------------------------------------------------------- */

static struct outcome seeded(uint64_t seed)
{
    struct net_config config = packet_small(3);

    config.seed = seed;
    return run(config,
               (struct throng){.target = to_anyone,
                               .window = 30,
                               .units = PUT_PHITS,
                               .answer = 1,
                               .route = NET_ROUTE_ADAPTIVE_0},
               60);
}

static void aries_49_same_seed_same_run(void **state)
{
    struct outcome first = seeded(5), again = seeded(5), other = seeded(6);

    (void)state;
    assert_int_equal(first.digest, again.digest);
    assert_int_equal(first.time, again.time);
    assert_int_not_equal(first.digest, other.digest);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(aries_27_adversarial_load_ends_in_every_mode),
        cmocka_unit_test(aries_27_full_buffers_end_in_every_mode),
        cmocka_unit_test(aries_27_hot_spot_ends),
        cmocka_unit_test(phits_are_conserved),
        cmocka_unit_test(aries_25_bias_keeps_packets_minimal),
        cmocka_unit_test(incast_builds_back_pressure),
        cmocka_unit_test(no_drain_no_pressure),
        cmocka_unit_test(aries_49_same_seed_same_run),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
