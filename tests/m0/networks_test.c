/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Messages and bulk transfers over the simulated networks of LNet's drivers. */
#include "rig.h"

enum { MIB = 1 << 20, NODES = 4 };

static const size_t sizes[] = {1, 3975, 4095, 4096, 4097, 65537, MIB};

/* All to all: each message arrives once, from the right sender, with the right content. */
static void messages(void)
{
    struct machine *all[NODES];
    struct m0_net_buffer *to[NODES], *from[NODES];
    unsigned nodes = rig_net == LOLND ? 1 : NODES, i, k, size, expected = 0;

    for (i = 0; i < nodes; i++) {
        all[i] = machine_up(i, (int)i + 1);
        to[i] = buffer(i, MIB);
        from[i] = buffer(i, MIB);
    }
    for (size = 0; size < sizeof(sizes) / sizeof(sizes[0]); size++)
        for (i = 0; i < nodes; i++)
            for (k = 0; k < nodes; k++) {
                const struct completion *event;

                paint(from[i], 0, sizes[size], i * 100 + size);
                assert_int_equal(receive(all[k], to[k], MIB, 1), 0);
                assert_int_equal(send_to(all[i], from[i], sizes[size], all[k]->tm.ntm_ep->nep_addr),
                                 0);
                expected += 2;
                wait_completions(expected);
                event = completion_of(to[k], count_completions(to[k]) - 1);
                assert_int_equal(event->status, 0);
                assert_int_equal(event->length, sizes[size]);
                assert_string_equal(event->ep, all[i]->tm.ntm_ep->nep_addr); /* item 60 */
                expect_paint(to[k], 0, sizes[size], i * 100 + size);
                assert_int_equal(completion_of(from[i], count_completions(from[i]) - 1)->status, 0);
            }
}

static void transfers(void)
{
    unsigned far_node = rig_net == LOLND ? A : B, size;
    struct machine *a = machine_up(A, 1), *b = machine_up(far_node, 2);
    struct m0_net_buffer *near = buffer(A, MIB), *far = buffer(far_node, MIB);

    for (size = 0; size < sizeof(sizes) / sizeof(sizes[0]); size++) {
        paint(far, 0, sizes[size], size);
        assert_int_equal(passive(b, far, M0_NET_QT_PASSIVE_BULK_SEND, sizes[size]), 0);
        assert_int_equal(active(a, near, M0_NET_QT_ACTIVE_BULK_RECV, 0, &far->nb_desc), 0);
        wait_completions(4 * size + 2);
        assert_int_equal(completion_of(near, 2 * size)->status, 0);
        assert_int_equal(completion_of(near, 2 * size)->length, sizes[size]);
        expect_paint(near, 0, sizes[size], size);
        paint(near, 0, sizes[size], size + 50);
        assert_int_equal(passive(b, far, M0_NET_QT_PASSIVE_BULK_RECV, 0), 0);
        assert_int_equal(active(a, near, M0_NET_QT_ACTIVE_BULK_SEND, sizes[size], &far->nb_desc),
                         0);
        wait_completions(4 * size + 4);
        assert_int_equal(completion_of(far, 2 * size + 1)->status, 0);
        assert_int_equal(completion_of(far, 2 * size + 1)->length, sizes[size]);
        expect_paint(far, 0, sizes[size], size + 50);
    }
}

/*
 * A node asks its router as soon as it has started. A router that starts a second later is found.
 * If there is none for three seconds, the connection fails, and the messages that wait for it have
 * an error; the next ones arrive when the router is there.
 */
static void router_comes(sim_time_t later, int status)
{
    enum { ROUTER = C };
    struct machine *a = machine_up(A, 1), *b = machine_up(B, 2);
    struct m0_net_buffer *from = buffer(A, 4096), *to = buffer(B, 4096);

    assert_int_equal(receive(b, to, 4096, 1), 0);
    paint(from, 0, 4096, 1);
    assert_int_equal(send_to(a, from, 4096, address(B, 2)), 0);
    pass(later);
    host(ROUTER);
    assert_true(LNetNIInit(LNET_PID_LUSTRE) >= 0);
    pass(SIM_S);
    assert_int_equal(count_completions(from), 1);
    assert_int_equal(completion_of(from, 0)->status, status);
    assert_int_equal(count_completions(to), status == 0);
    if (status != 0) {
        pass(10 * SIM_S); /* both nodes have asked again */
        assert_int_equal(send_to(a, from, 4096, address(B, 2)), 0);
        wait_completions(3);
        assert_int_equal(completion_of(from, 1)->status, 0);
    }
    assert_int_equal(completion_of(to, 0)->status, 0);
    expect_paint(to, 0, 4096, 1);
}

static void router_comes_soon(void)
{
    router_comes(1500 * SIM_MS, 0);
}

static void router_comes_late(void)
{
    router_comes(6 * SIM_S, -EHOSTUNREACH);
}

static void across_a_router(void (*test)(void))
{
    rig_net = SOCKLND;
    rig_routed = true;
    lnet_sim_register_drivers();
    rig_run(test, &(struct world){
                      .nodes = 3,
                      .not_started = true,
                      .settings = {{"live_router_check_interval", "1"},
                                   {"dead_router_check_interval", "1"}},
                      .own = {{{"networks", "tcp(eth0)"}, {"routes", "o2ib 10.0.0.3@tcp"}},
                              {{"networks", "o2ib(ib0)"}, {"routes", "tcp 10.1.0.3@o2ib"}},
                              {{"networks", "tcp(eth0),o2ib(ib0)"}, {"forwarding", "enabled"}}}});
    rig_routed = false;
}

static void m0_72_a_router_that_comes_soon(void **state)
{
    (void)state;
    across_a_router(router_comes_soon);
}

static void m0_72_a_router_that_comes_late(void **state)
{
    (void)state;
    across_a_router(router_comes_late);
}

static void on_network(uint32_t net, void (*test)(void))
{
    rig_net = net;
    lnet_sim_register_drivers();
    rig_run(test,
            &(struct world){.nodes = NODES, .settings = {{"networks", "tcp(eth0),o2ib(ib0),gni"}}});
    rig_net = SOCKLND;
}

#define ON(name, net, test)        \
    static void name(void **state) \
    {                              \
        (void)state;               \
        on_network(net, test);     \
    }
ON(m0_60_m0_70_tcp, SOCKLND, messages)
ON(m0_60_m0_70_o2ib, O2IBLND, messages)
ON(m0_60_m0_70_gni, GNILND, messages)
ON(m0_60_m0_70_lo, LOLND, messages)
ON(m0_87_m0_89_tcp, SOCKLND, transfers)
ON(m0_87_m0_89_o2ib, O2IBLND, transfers)
ON(m0_87_m0_89_gni, GNILND, transfers)
ON(m0_87_m0_89_lo, LOLND, transfers)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(m0_60_m0_70_tcp),
        cmocka_unit_test(m0_87_m0_89_tcp),
        cmocka_unit_test(m0_60_m0_70_o2ib),
        cmocka_unit_test(m0_60_m0_70_gni),
        cmocka_unit_test(m0_60_m0_70_lo),
        cmocka_unit_test(m0_87_m0_89_o2ib),
        cmocka_unit_test(m0_87_m0_89_gni),
        cmocka_unit_test(m0_87_m0_89_lo),
        cmocka_unit_test(m0_72_a_router_that_comes_soon),
        cmocka_unit_test(m0_72_a_router_that_comes_late),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
