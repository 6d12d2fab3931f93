/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Links and routers that die, the transfers in flight on them, and the fault point "net.packet". */
#include "net_test.h"
#include "engine/fault.h"

/* ---- deaths ---------------------------------------------------------------------------------- */

struct death {
    struct net *net;
    uint32_t a, b, which;
    bool is_router, alive;
};

static void die(void *arg)
{
    struct death *death = arg;

    if (death->is_router)
        assert_true(net_router_set_alive(death->net, death->a, death->alive));
    else
        assert_true(net_link_set_alive(death->net, death->a, death->b, death->which, death->alive));
}

struct wanted {
    uint32_t router, peer;
    struct net_link_info info;
};

static void find_link(const struct net_link_info *info, void *arg)
{
    struct wanted *wanted = arg;

    if (info->router == wanted->router && info->peer == wanted->peer && info->which == 0)
        wanted->info = *info;
}

static struct net_link_info link_between(const struct net *net, uint32_t router, uint32_t peer)
{
    struct wanted wanted = {router, peer, {0}};

    net_for_each_link(net, find_link, &wanted);
    assert_int_equal(wanted.info.peer, peer);
    return wanted.info;
}

/* A chunk of 320 ns on the green link from router 0 to 1, whose head is there at 50 ns; status at
 * its arrival. */
static enum net_status chunk_and_death(struct death *death, sim_time_t when, enum net_route route)
{
    struct net_config config = test_preset("chassis");
    struct net *net = test_begin(&config);
    struct probe probe;
    enum net_status status;

    death->net = net;
    test_at(when, die, death);
    probe_init(&probe, 0, 4, 224, route);
    probe.transfer.receiver_latency = 100 * SIM_NS; /* arrives at 465 ns at the earliest */
    net_send(net, &probe.transfer, 0);
    assert_int_equal(sim_run(), SIM_DONE);
    assert_int_equal(probe.arrived, 1);
    status = probe.transfer.status;
    test_end(net);
    return status;
}

static void units_on_a_dying_link_are_lost(void **state)
{
    struct death link = {.a = 0, .b = 1}, reverse = {.a = 1, .b = 0}, other = {.a = 0, .b = 2};

    (void)state;
    assert_int_equal(chunk_and_death(&link, 20 * SIM_NS, NET_ROUTE_IN_ORDER), NET_DROPPED);
    assert_int_equal(chunk_and_death(&link, 200 * SIM_NS, NET_ROUTE_IN_ORDER), NET_DROPPED);
    assert_int_equal(chunk_and_death(&reverse, 200 * SIM_NS, NET_ROUTE_IN_ORDER), NET_DROPPED);
    assert_int_equal(chunk_and_death(&link, 369 * SIM_NS, NET_ROUTE_IN_ORDER), NET_DROPPED);
    /* the last unit is off the transmitter, and on its way in the cable: the model lets it arrive
     */
    assert_int_equal(chunk_and_death(&link, 372 * SIM_NS, NET_ROUTE_IN_ORDER), NET_DELIVERED);
    assert_int_equal(chunk_and_death(&link, 200 * SIM_NS, NET_ROUTE_ADAPTIVE_3), NET_DROPPED);
    assert_int_equal(chunk_and_death(&other, 200 * SIM_NS, NET_ROUTE_IN_ORDER), NET_DELIVERED);
    assert_int_equal(chunk_and_death(&link, SIM_MS, NET_ROUTE_IN_ORDER), NET_DELIVERED);
}

static void units_in_a_dying_router_are_lost(void **state)
{
    struct death source = {.a = 0, .is_router = true}, target = {.a = 1, .is_router = true},
                 other = {.a = 2, .is_router = true};

    (void)state;
    assert_int_equal(chunk_and_death(&source, 200 * SIM_NS, NET_ROUTE_IN_ORDER), NET_DROPPED);
    assert_int_equal(chunk_and_death(&source, 400 * SIM_NS, NET_ROUTE_IN_ORDER), NET_DELIVERED);
    assert_int_equal(chunk_and_death(&target, 400 * SIM_NS, NET_ROUTE_IN_ORDER), NET_DROPPED);
    /* a transfer that has arrived is not lost, even if the receiver has not read it yet */
    assert_int_equal(chunk_and_death(&target, 500 * SIM_NS, NET_ROUTE_IN_ORDER), NET_DELIVERED);
    assert_int_equal(chunk_and_death(&other, 200 * SIM_NS, NET_ROUTE_IN_ORDER), NET_DELIVERED);
}

/* A link that dies and revives while the chunk is in flight loses the chunk. */
static void a_short_death_is_a_death(void **state)
{
    struct net_config config = test_preset("chassis");
    struct net *net = test_begin(&config);
    struct death dead = {.net = net, .a = 0, .b = 1},
                 alive = {.net = net, .a = 0, .b = 1, .alive = true};
    struct net_link_info info;
    struct net_counters counters;
    struct probe first, second, third;

    (void)state;
    probe_init(&first, 0, 4, 224, NET_ROUTE_IN_ORDER);
    probe_init(&second, 0, 4, 224, NET_ROUTE_IN_ORDER);
    probe_init(&third, 0, 5, 224, NET_ROUTE_IN_ORDER);
    net_send(net, &first.transfer, 0);
    net_send(net, &second.transfer, 0);
    test_at(100 * SIM_NS, die, &dead);
    test_at(101 * SIM_NS, die, &alive);
    assert_int_equal(sim_run(), SIM_DONE);
    assert_int_equal(first.transfer.status, NET_DROPPED);
    assert_int_equal(second.transfer.status, NET_DROPPED); /* it waited for the link */
    net_send(net, &third.transfer, 0);
    assert_int_equal(sim_run(), SIM_DONE);
    assert_int_equal(third.transfer.status, NET_DELIVERED);
    assert_true(third.transfer.minimal);
    info = link_between(net, 0, 1);
    assert_int_equal(info.dropped, 1);
    assert_int_equal(info.dead, 1);
    assert_true(info.alive);
    net_get_counters(net, &counters);
    assert_int_equal(counters.dropped, 2);
    test_end(net);
}

/* Cache lines take two paths; the transfer is lost exactly if one of its lines is. */
static void a_hashed_transfer_is_lost_with_one_of_its_lines(void **state)
{
    struct net_config config = test_preset("group");
    struct net *net = test_begin(&config);
    uint32_t side, dead, dropped[2] = {0};

    (void)state;
    for (side = 0; side < 3; side++) { /* the green links of the two corners, and one elsewhere */
        struct death death = {.net = net,
                              .a = side == 1 ? 16 : 0,
                              .b = side == 1   ? 17
                                   : side == 0 ? 1
                                               : 2};
        struct probe probes[40];
        uint32_t i;

        for (i = 0; i < 40; i++) {
            probe_init(&probes[i], 0, 17 * 4, 16 * PUT_PHITS, NET_ROUTE_MIN_HASHED);
            probes[i].transfer.hash = i * 16;
            net_send(net, &probes[i].transfer, 0);
        }
        test_at(sim_now() + 60 * SIM_NS, die, &death);
        assert_int_equal(sim_run(), SIM_DONE);
        for (i = 0, dead = 0; i < 40; i++)
            dead += probes[i].transfer.status == NET_DROPPED;
        if (side < 2)
            dropped[side] = dead;
        else
            assert_int_equal(dead, 0);
        death.alive = true;
        die(&death);
    }
    assert_int_equal(dropped[0], 40); /* the probability that 16 lines take one path is 2^-16 */
    assert_int_equal(dropped[1], 40);
    test_end(net);
}

/* The death of links that a transfer has passed, or does not use, does not affect it. */
static void other_deaths_do_no_harm(void **state)
{
    struct net_config config = test_preset("xc-2-groups");
    struct net *net = test_begin(&config);
    struct probe probe;
    struct death all[8];
    uint32_t i;

    (void)state;
    probe_init(&probe, 0, 767, 14, NET_ROUTE_IN_ORDER);
    net_send(net, &probe.transfer, 0);
    assert_true(probe.transfer.hops >= 3);
    for (i = 0; i < 8; i++) { /* everything around the source, after the packet has left */
        all[i] = (struct death){.net = net, .a = 0, .b = i + 1};
        test_at(100 * SIM_NS, die, &all[i]);
    }
    assert_int_equal(sim_run(), SIM_DONE);
    assert_int_equal(probe.transfer.status, NET_DELIVERED);
    test_end(net);
}

static void single_path_modes_take_the_next_live_entry(void **state)
{
    static const enum net_route routes[] = {NET_ROUTE_IN_ORDER, NET_ROUTE_MIN_HASHED,
                                            NET_ROUTE_NON_MIN_HASHED, NET_ROUTE_ADAPTIVE_0,
                                            NET_ROUTE_ADAPTIVE_3};
    struct net_config config = test_preset("group");
    uint32_t i, which;

    (void)state;
    for (i = 0; i < 5; i++) {
        struct net *net = test_begin(&config);
        struct probe probe;

        /* of three parallel links one after the other: still one hop, until all are gone */
        for (which = 0; which <= 3; which++) {
            probe_init(&probe, 0, 64, 14, routes[i]);
            net_send(net, &probe.transfer, 0);
            assert_int_equal(sim_run(), SIM_DONE);
            assert_int_equal(probe.transfer.status, NET_DELIVERED);
            if (i < 2)
                assert_int_equal(probe.transfer.hops, which < 3 ? 1 : 2);
            else if (i > 2)
                assert_in_range(probe.transfer.hops, which < 3 ? 1 : 2, which < 3 ? 1 : 4);
            if (i != 2)
                assert_int_equal(probe.transfer.minimal, which < 3);
            if (which < 3)
                assert_true(net_link_set_alive(net, 0, 16, which, false));
        }
        test_end(net);
    }
}

static void nothing_reaches_a_dead_router(void **state)
{
    static const enum net_route routes[] = {NET_ROUTE_IN_ORDER, NET_ROUTE_MIN_HASHED,
                                            NET_ROUTE_NON_MIN_HASHED, NET_ROUTE_ADAPTIVE_0,
                                            NET_ROUTE_ADAPTIVE_3};
    struct net_config config = test_preset("mini2");
    struct net_counters counters;
    struct probe probe;
    int fidelity;
    uint32_t i;

    (void)state;
    for (fidelity = NET_F0; fidelity <= NET_F1; fidelity++) {
        struct net *net;

        config.fidelity = (enum net_fidelity)fidelity;
        net = test_begin(&config);
        assert_true(net_router_alive(net, 3));
        assert_true(net_router_set_alive(net, 3, false));
        assert_true(net_router_set_alive(net, 3, false)); /* one line is enough */
        assert_false(net_router_alive(net, 3));
        assert_false(net_router_set_alive(net, 16, false));
        assert_false(net_router_alive(net, 16));
        for (i = 0; i < 5; i++) {
            probe_init(&probe, 0, 12, 14, routes[i]);
            net_send(net, &probe.transfer, 0);
            assert_int_equal(sim_run(), SIM_DONE);
            assert_int_equal(probe.transfer.status, NET_UNREACHABLE);
            probe_init(&probe, 12, 0, 14, routes[i]);
            net_send(net, &probe.transfer, 0);
            assert_int_equal(sim_run(), SIM_DONE);
            assert_int_equal(probe.transfer.status, NET_UNREACHABLE);
            /* even to itself */
            probe_init(&probe, 12, 13, 14, routes[i]);
            net_send(net, &probe.transfer, 0);
            assert_int_equal(sim_run(), SIM_DONE);
            assert_int_equal(probe.transfer.status, NET_UNREACHABLE);
            probe_init(&probe, 0, 63, 14, routes[i]);
            net_send(net, &probe.transfer, 0);
            assert_int_equal(sim_run(), SIM_DONE);
            assert_int_equal(probe.transfer.status, NET_DELIVERED);
        }
        net_get_counters(net, &counters);
        assert_int_equal(counters.unreachable, 15);
        assert_true(net_path_rate(net, 0, 12, NET_ROUTE_IN_ORDER) == 0);
        assert_true(net_router_set_alive(net, 3, true));
        probe_init(&probe, 0, 12, 14, NET_ROUTE_IN_ORDER);
        net_send(net, &probe.transfer, 0);
        assert_int_equal(sim_run(), SIM_DONE);
        assert_int_equal(probe.transfer.status, NET_DELIVERED);
        test_end(net);
    }
}

/* A revived router does not revive links that had died by themselves. */
static void links_remember_their_own_death(void **state)
{
    struct net_config config = test_preset("mini2");
    struct net *net = test_begin(&config);

    (void)state;
    assert_true(net_link_set_alive(net, 0, 1, 0, false));
    assert_true(net_router_set_alive(net, 0, false));
    assert_true(net_router_set_alive(net, 1, false));
    assert_true(net_router_set_alive(net, 0, true));
    assert_false(link_between(net, 0, 2).alive == false);
    assert_false(link_between(net, 1, 2).alive);
    assert_true(net_router_set_alive(net, 1, true));
    assert_true(link_between(net, 1, 2).alive);
    assert_false(link_between(net, 0, 1).alive);
    assert_false(link_between(net, 1, 0).alive);
    assert_true(net_link_set_alive(net, 1, 0, 0, true));
    assert_true(link_between(net, 0, 1).alive);
    assert_false(net_link_set_alive(net, 0, 1, 1, false));
    assert_false(net_link_set_alive(net, 0, 0, 0, false));
    assert_false(net_link_set_alive(net, 0, 99, 0, false));
    test_end(net);
}

/* ---- many deaths ----------------------------------------------------------------------------- */

struct use {
    struct net *net;
    struct sim_random *random;
    double share;
    uint64_t on_dead, dead, dropped;
};

static void count_use(const struct net_link_info *info, void *arg)
{
    struct use *use = arg;

    if (!info->alive)
        use->on_dead += info->transfers;
    use->dead += info->dead;
    use->dropped += info->dropped;
}

static void kill_some(const struct net_link_info *info, void *arg)
{
    struct use *use = arg;

    if (info->router < info->peer && sim_random_chance(use->random, use->share))
        assert_true(net_link_set_alive(use->net, info->router, info->peer, info->which, false));
}

/*
 * A share of all links dies in the middle of traffic of all modes. What is sent later uses none of
 * them, and the counters of units that were routed to dead links stand still once what was under
 * way has arrived.
 */
static void some_die(void *arg)
{
    struct use *use = arg;

    net_for_each_link(use->net, kill_some, use);
    count_use(&(struct net_link_info){.alive = true}, use);
}

static void traffic(struct net *net, struct sim_random *random, struct probe *probes,
                    uint32_t count)
{
    static const enum net_route routes[] = {
        NET_ROUTE_IN_ORDER,   NET_ROUTE_MIN_HASHED, NET_ROUTE_NON_MIN_HASHED, NET_ROUTE_ADAPTIVE_0,
        NET_ROUTE_ADAPTIVE_1, NET_ROUTE_ADAPTIVE_2, NET_ROUTE_ADAPTIVE_3};
    uint32_t i;

    for (i = 0; i < count; i++) {
        probe_init(&probes[i], (uint32_t)sim_random_below(random, net_endpoints(net)),
                   (uint32_t)sim_random_below(random, net_endpoints(net)), 112, routes[i % 7]);
        probes[i].transfer.hash = i;
        net_send(net, &probes[i].transfer, 0);
    }
}

static void aries_28_dead_links_carry_nothing(void **state)
{
    static const char *const presets[] = {"mini2", "group", "xc-2-groups", "theta9"};
    struct probe *probes = calloc(4000, sizeof(*probes));
    uint32_t i, j, share;

    (void)state;
    assert_non_null(probes);
    for (i = 0; i < 4; i++)
        for (share = 0; share < 3; share++) {
            struct net_config config = test_preset(presets[i]);
            struct net *net = test_begin(&config);
            struct sim_random random;
            struct use use = {net, &random, (double[]){0.02, 0.2, 0.6}[share], 0, 0, 0},
                       before = {0}, after = {0};
            uint32_t lost = 0, unreachable = 0;

            sim_random_init(&random, 1, "deaths", i * 3 + share);
            traffic(net, &random, probes, 4000);
            test_at(500 * SIM_NS, some_die, &use);
            assert_int_equal(sim_run(), SIM_DONE);
            for (j = 0; j < 4000; j++)
                lost += probes[j].transfer.status == NET_DROPPED;
            net_for_each_link(net, count_use, &before);
            assert_int_equal(before.dead + before.dropped, lost);
            assert_true(lost > 0);
            traffic(net, &random, probes, 4000);
            assert_int_equal(sim_run(), SIM_DONE);
            for (j = 0; j < 4000; j++) {
                assert_true(probes[j].transfer.hops <= 10);
                assert_int_not_equal(probes[j].transfer.status, NET_DROPPED);
                unreachable += probes[j].transfer.status == NET_UNREACHABLE;
            }
            net_for_each_link(net, count_use, &after);
            assert_int_equal(after.on_dead, before.on_dead);
            assert_int_equal(after.dead, before.dead);
            assert_int_equal(after.dropped, before.dropped);
            if (share == 0)
                assert_int_equal(unreachable, 0);
            test_end(net);
        }
    free(probes);
}

/* F0 does not model links between routers, but knows dead routers and links at both ends. */
static void closed_form_loses_what_its_ends_lose(void **state)
{
    struct net_config config = test_preset("xc-2-groups");
    struct death target = {.a = 191, .is_router = true}, other = {.a = 100, .is_router = true};
    struct probe lost, kept;
    struct net *net;

    (void)state;
    config.fidelity = NET_F0;
    net = test_begin(&config);
    target.net = other.net = net;
    probe_init(&lost, 0, 191 * 4, 14, NET_ROUTE_ADAPTIVE_0);
    probe_init(&kept, 0, 190 * 4, 14, NET_ROUTE_ADAPTIVE_0);
    net_send(net, &lost.transfer, 0);
    net_send(net, &kept.transfer, 0);
    test_at(100 * SIM_NS, die, &target);
    test_at(100 * SIM_NS, die, &other);
    assert_int_equal(sim_run(), SIM_DONE);
    assert_int_equal(lost.transfer.status, NET_DROPPED);
    assert_int_equal(kept.transfer.status, NET_DELIVERED);
    test_end(net);
}

/* ---- "net.packet" ---------------------------------------------------------------------------- */

static const struct sim_fault_rule any_packet = {
    .until = SIM_NEVER,
    .probability = 1,
    .source = SIM_FAULT_ANY,
    .target = SIM_FAULT_ANY,
    .between = {SIM_FAULT_ANY, SIM_FAULT_ANY},
    .kind = SIM_FAULT_ANY,
};

static void add_rule(struct sim_fault_rule rule)
{
    struct sim_fault_point *point = sim_fault_point_find("net.packet");

    assert_non_null(point);
    sim_fault_rule_add(point, &rule);
}

static void rules_match_packets(void **state)
{
    struct sim_fault_rule rule = any_packet;
    struct net_config config = test_preset("mini2");
    int fidelity;

    (void)state;
    for (fidelity = NET_F0; fidelity <= NET_F1; fidelity++) {
        struct net_counters counters;
        struct probe probe[6];
        struct net *net;
        uint32_t i;

        config.fidelity = (enum net_fidelity)fidelity;
        net = test_begin(&config);
        for (i = 0; i < 5; i++) {
            static const enum sim_fault_action actions[] = {SIM_FAULT_DROP, SIM_FAULT_DELAY,
                                                            SIM_FAULT_DUPLICATE, SIM_FAULT_CORRUPT,
                                                            SIM_FAULT_DELIVER};

            rule = any_packet;
            rule.action = actions[i];
            rule.delay = 3 * SIM_US;
            rule.source = i;
            add_rule(rule);
        }
        for (i = 0; i < 6; i++) {
            probe_init(&probe[i], i, 63, 14, NET_ROUTE_ADAPTIVE_0);
            net_send(net, &probe[i].transfer, 0);
            assert_int_equal(sim_run(), SIM_DONE);
            assert_int_equal(probe[i].arrived, 1);
            assert_int_equal(probe[i].transfer.status, i == 0 ? NET_DROPPED : NET_DELIVERED);
            assert_int_equal(probe[i].transfer.duplicated, i == 2);
            assert_int_equal(probe[i].transfer.poisoned, i == 3);
        }
        assert_true(probe[1].arrival > 3 * SIM_US && probe[0].arrival < SIM_US);
        net_get_counters(net, &counters);
        assert_int_equal(counters.dropped, 1);
        assert_int_equal(counters.delayed, 1);
        assert_int_equal(counters.duplicated, 1);
        assert_int_equal(counters.poisoned, 1);
        assert_int_equal(counters.transfers, 6);
        /* the flags of a transfer are those of its last trip */
        probe_init(&probe[2], 5, 63, 14, NET_ROUTE_ADAPTIVE_0);
        probe[2].transfer.duplicated = probe[2].transfer.poisoned = true;
        net_send(net, &probe[2].transfer, 0);
        assert_int_equal(sim_run(), SIM_DONE);
        assert_false(probe[2].transfer.duplicated || probe[2].transfer.poisoned);
        test_end(net);
    }
}

static void rules_match_groups_and_classes(void **state)
{
    struct net_config config = test_preset("mini2");
    struct net *net = test_begin(&config);
    struct sim_fault_rule rule = any_packet;
    struct probe probe;
    uint32_t i;

    (void)state;
    rule.action = SIM_FAULT_DROP;
    rule.between[0] = 1;
    rule.between[1] = 0;
    rule.kind = NET_RESPONSE;
    add_rule(rule);
    for (i = 0; i < 8; i++) {
        bool between = i & 1, response = i & 2;

        probe_init(&probe, i & 4 ? 40 : 3, (i & 4 ? 40 : 3) ^ (between ? 32 : 8), 14,
                   NET_ROUTE_ADAPTIVE_0);
        probe.transfer.class = response ? NET_RESPONSE : NET_REQUEST;
        net_send(net, &probe.transfer, 0);
        assert_int_equal(sim_run(), SIM_DONE);
        assert_int_equal(probe.transfer.status, between && response ? NET_DROPPED : NET_DELIVERED);
    }
    test_end(net);
}

/* Packets that must stay in order wait behind a delayed packet. */
static void aries_21_delays_do_not_reorder(void **state)
{
    struct net_config config = test_preset("mini2");
    struct net *net = test_begin(&config);
    struct sim_fault_rule rule = any_packet;
    struct probe probes[1000];
    uint32_t i;

    (void)state;
    rule.action = SIM_FAULT_DELAY;
    rule.probability = 0.1;
    rule.delay = SIM_US;
    add_rule(rule);
    test_arrivals = 0;
    for (i = 0; i < 1000; i++) { /* so many flows that the table of them has to grow */
        probe_init(&probes[i], i % 2, 4 + i % 60, 14,
                   i % 3 ? NET_ROUTE_IN_ORDER : NET_ROUTE_MIN_HASHED);
        probes[i].transfer.hash = i % 120;
        net_send(net, &probes[i].transfer, 0);
    }
    assert_int_equal(sim_run(), SIM_DONE);
    for (i = 120; i < 1000; i++)
        assert_true(probes[i].sequence > probes[i - 120].sequence);
    test_end(net);
}

/* Two networks of one simulation share the point; a later simulation starts without rules. */
static void the_point_outlives_networks(void **state)
{
    struct net_config config = test_preset("mini2");
    struct sim_fault_rule rule = any_packet;
    struct net *net = test_begin(&config), *second = test_net(&config);
    struct probe probe;

    (void)state;
    rule.action = SIM_FAULT_DROP;
    add_rule(rule);
    net_destroy(net);
    probe_init(&probe, 0, 63, 14, NET_ROUTE_ADAPTIVE_0);
    net_send(second, &probe.transfer, 0);
    assert_int_equal(sim_run(), SIM_DONE);
    assert_int_equal(probe.transfer.status, NET_DROPPED);
    test_end(second);
    net = test_begin(&config);
    probe_init(&probe, 0, 63, 14, NET_ROUTE_ADAPTIVE_0);
    net_send(net, &probe.transfer, 0);
    assert_int_equal(sim_run(), SIM_DONE);
    assert_int_equal(probe.transfer.status, NET_DELIVERED);
    test_end(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(units_on_a_dying_link_are_lost),
        cmocka_unit_test(units_in_a_dying_router_are_lost),
        cmocka_unit_test(a_short_death_is_a_death),
        cmocka_unit_test(a_hashed_transfer_is_lost_with_one_of_its_lines),
        cmocka_unit_test(other_deaths_do_no_harm),
        cmocka_unit_test(single_path_modes_take_the_next_live_entry),
        cmocka_unit_test(nothing_reaches_a_dead_router),
        cmocka_unit_test(links_remember_their_own_death),
        cmocka_unit_test(aries_28_dead_links_carry_nothing),
        cmocka_unit_test(closed_form_loses_what_its_ends_lose),
        cmocka_unit_test(rules_match_packets),
        cmocka_unit_test(rules_match_groups_and_classes),
        cmocka_unit_test(aries_21_delays_do_not_reorder),
        cmocka_unit_test(the_point_outlives_networks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
