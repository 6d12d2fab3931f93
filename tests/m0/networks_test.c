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
        cmocka_unit_test(m0_60_m0_70_tcp),  cmocka_unit_test(m0_87_m0_89_tcp),
        cmocka_unit_test(m0_60_m0_70_o2ib), cmocka_unit_test(m0_60_m0_70_gni),
        cmocka_unit_test(m0_60_m0_70_lo),   cmocka_unit_test(m0_87_m0_89_o2ib),
        cmocka_unit_test(m0_87_m0_89_gni),  cmocka_unit_test(m0_87_m0_89_lo),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
