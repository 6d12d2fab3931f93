/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Transfer machines: their states, what stops them, where their threads run. */
#include "rig.h"

M0_TEST(m0_10_after_init)
{
    struct machine *a = machine(A);
    struct m0_net_qstats all[M0_NET_QT_NR], none[M0_NET_QT_NR] = {{0}};

    assert_int_equal(a->tm.ntm_state, M0_NET_TM_INITIALIZED);
    assert_true(a->tm.ntm_bev_auto_deliver == !rig_synchronous);
    assert_int_equal(a->tm.ntm_recv_queue_min_length, 2);
    assert_int_equal(m0_atomic64_get(&a->tm.ntm_recv_queue_deficit), 0);
    assert_true(a->tm.ntm_pool_colour == 0xffffffff);
    assert_null(a->tm.ntm_recv_pool);
    assert_int_equal(m0_net_tm_stats_get(&a->tm, M0_NET_QT_NR, all, false), 0);
    assert_memory_equal(all, none, sizeof(all));
}

M0_TEST(m0_11_m0_25_start)
{
    struct machine *a = machine(A);
    struct m0_clink clink;

    m0_clink_init(&clink, NULL);
    m0_clink_add_lock(&a->tm.ntm_chan, &clink);
    assert_int_equal(machine_start(a, address(A, 7)), 0);
    assert_true(m0_chan_timedwait(&clink, m0_time_from_now(1, 0)));
    assert_int_equal(a->last, M0_NET_TM_STARTED);
    assert_true(a->on_worker);
    assert_string_equal(a->started_as, address(A, 7));
    pass(100 * SIM_S);
    assert_int_equal(a->states, 1);
    machine_stop(a, true);
    assert_true(m0_chan_timedwait(&clink, m0_time_from_now(1, 0)));
    m0_clink_del_lock(&clink);
    m0_clink_fini(&clink);
    assert_int_equal(a->states, 2);
    assert_int_equal(m0_atomic64_get(&a->tm.ntm_ep->nep_ref.ref_cnt), 1);
}

M0_TEST(m0_12_syntax_of_the_address)
{
    struct machine *a = machine(A);

    assert_int_equal(machine_start(a, "10.0.0.1@tcp:12345:42"), -EINVAL);
    assert_int_equal(a->tm.ntm_state, M0_NET_TM_FAILED);
    pass(100 * SIM_S);
    assert_int_equal(a->states, 0);
}

static void fails(const char *where, int status)
{
    struct machine *a = machine(A);

    assert_int_equal(machine_start(a, where), status);
    assert_int_equal(a->last, M0_NET_TM_FAILED);
    assert_null(a->tm.ntm_ep);
    pass(100 * SIM_S);
    assert_int_equal(a->states, 1);
    machine_free(a);
}

/* Items 13, 55, 56 and 66: the codes of a start. */
M0_TEST(m0_13_m0_55_m0_56_m0_66_failing_starts)
{
    struct machine *a = machine_up(A, 5);

    fails(address_at(A, 0, 1), -EINVAL);
    fails(address_at(A, 64, 1), -EINVAL);
    fails("10.0.0.1@tcp:12344:42:1", -ENOENT);
    fails(address(B, 1), -ENOENT); /* another host's */
    fails(address(A, 5), -EADDRINUSE);
    machine_up_at(A, address_at(A, 63, 1));
    machine_up(B, 5);
    machine_stop(a, true);
    machine_up(A, 5);
}

static void end_quickly(struct machine *machine)
{
    (void)machine;
}

M0_TEST(m0_14_a_failed_machine_starts_anew)
{
    struct machine *a = machine(A);

    a->on_state = end_quickly;
    assert_int_equal(machine_start(a, address_at(A, 0, 1)), -EINVAL);
    m0_net_tm_fini(&a->tm);
    host(A);
    assert_int_equal(m0_net_tm_init(&a->tm, domain(A)), 0);
    assert_int_equal(machine_start(a, address(A, 1)), 0);
}
M0_TEST_IN(m0_14_a_failed_machine_does_not_stop, .unbalanced = true)
{
    struct machine *a = machine(A);

    machine_start(a, address_at(A, 0, 1));
    VIOLATES(m0_net_tm_stop(&a->tm, true));
}

/* Items 15 and 18: a machine with a buffer on each queue that can wait. */
static void stop_full(bool abort)
{
    struct machine *a = machine_up(A, 1), *b = machine_up(B, 2);
    struct m0_net_buffer *receiving = buffer(A, 4096), *sending = buffer(A, 4096),
                         *passive_in = buffer(A, 4096), *passive_out = buffer(A, 4096),
                         *active_in = buffer(A, 4096), *active_out = buffer(A, 4096),
                         *in = buffer(B, 4096), *out = buffer(B, 4096);
    unsigned before, i;

    assert_int_equal(passive(b, in, M0_NET_QT_PASSIVE_BULK_RECV, 0), 0);
    assert_int_equal(passive(b, out, M0_NET_QT_PASSIVE_BULK_SEND, 4096), 0);
    wire.hold = true;
    assert_int_equal(receive(a, receiving, 4096, 1), 0);
    assert_int_equal(passive(a, passive_in, M0_NET_QT_PASSIVE_BULK_RECV, 0), 0);
    assert_int_equal(passive(a, passive_out, M0_NET_QT_PASSIVE_BULK_SEND, 10), 0);
    assert_int_equal(send_to(a, sending, 10, address(B, 2)), 0);
    assert_int_equal(active(a, active_in, M0_NET_QT_ACTIVE_BULK_RECV, 0, &out->nb_desc), 0);
    assert_int_equal(active(a, active_out, M0_NET_QT_ACTIVE_BULK_SEND, 10, &in->nb_desc), 0);
    host(A);
    assert_int_equal(m0_net_tm_stop(&a->tm, abort), 0);
    wire.hold = false;
    wire_release(100);
    pass(20 * SIM_S);
    if (!abort) {
        assert_int_equal(a->states, 1); /* the passive ones wait */
        assert_int_equal(completion_of(sending, 0)->status, 0);
        assert_int_equal(completion_of(active_in, 0)->status, 0);
        assert_int_equal(completion_of(active_out, 0)->status, 0);
        assert_null(completion_of(passive_in, 0));
        assert_int_equal(completion_of(receiving, 0)->status, -ECANCELED);
        host(A);
        assert_true(m0_net_buffer_del(passive_in, &a->tm));
        assert_true(m0_net_buffer_del(passive_out, &a->tm));
    }
    machine_wait(a, M0_NET_TM_STOPPED);
    before = completion_count;
    for (i = 0; i < M0_NET_QT_NR; i++) {
        struct m0_net_qstats qs = stats(a, i);

        assert_int_equal(qs.nqs_num_adds, 1);
        assert_int_equal(qs.nqs_num_s_events + qs.nqs_num_f_events, 1);
        if (abort)
            assert_int_equal(qs.nqs_num_dels, 1);
    }
    assert_int_equal(completion_of(receiving, 0)->status, -ECANCELED);
    assert_int_equal(completion_of(passive_in, 0)->status, -ECANCELED);
    assert_int_equal(completion_of(passive_out, 0)->status, -ECANCELED);
    pass(100 * SIM_S);
    assert_int_equal(completion_count, before);
}

M0_TEST(m0_15_abort)
{
    stop_full(true);
}
M0_TEST(m0_18_stop_without_abort)
{
    stop_full(false);
}

M0_TEST(m0_16_stop_at_once)
{
    struct machine *a = machine(A);

    assert_int_equal(m0_net_tm_start(&a->tm, address(A, 1)), 0);
    assert_int_equal(a->tm.ntm_state, M0_NET_TM_STARTING);
    assert_int_equal(m0_net_tm_stop(&a->tm, false), 0);
    machine_wait(a, M0_NET_TM_STOPPED);
    assert_int_equal(a->states, 1);
    pass(100 * SIM_S);
    assert_int_equal(a->states, 1);
}

M0_TEST(m0_17_stop_before_start)
{
    struct machine *a = machine(A);

    assert_int_equal(m0_net_tm_stop(&a->tm, true), 0);
    machine_wait(a, M0_NET_TM_STOPPED);
    assert_int_equal(a->states, 1);
    assert_true(a->on_worker);
}

static bool in_callback, left;
static void take_long(const struct m0_net_buffer_event *event)
{
    (void)event;
    in_callback = true;
    pass(5 * SIM_S);
    left = true;
}

M0_TEST(m0_19_fini_waits_for_callbacks)
{
    struct machine *a = machine_up(A, 1);
    struct m0_net_buffer *nb = buffer(A, 4096);

    in_callback = left = false;
    on_completion = take_long;
    assert_int_equal(receive(a, nb, 4096, 1), 0);
    assert_int_equal(m0_net_tm_stop(&a->tm, true), 0);
    pass(SIM_MS);
    assert_true(in_callback && !left);
    machine_wait(a, M0_NET_TM_STOPPED);
    assert_true(left); /* STOPPED comes after it, too */
    machine_free(a);
}
M0_TEST_IN(m0_19_fini_of_a_started_machine, .unbalanced = true)
{
    struct machine *a = machine_up(A, 1);

    pass(SIM_MS);
    VIOLATES(m0_net_tm_fini(&a->tm));
}

static struct machine *heir;
static int heir_rc;
static void inherit(struct machine *machine)
{
    if (machine->last == M0_NET_TM_STOPPED)
        heir_rc = m0_net_tm_start(&heir->tm, machine->started_as);
}

M0_TEST(m0_20_start_from_the_stopped_callback)
{
    struct machine *a = machine_up(A, 9);

    heir = machine(A);
    heir_rc = -1;
    a->on_state = inherit;
    machine_stop(a, true);
    assert_int_equal(heir_rc, 0);
    machine_wait(heir, M0_NET_TM_STARTED);
    assert_string_equal(heir->started_as, address(A, 9));
}

static void confine(struct machine *machine, uint64_t processors)
{
    struct m0_bitmap map;
    size_t i;

    assert_int_equal(m0_bitmap_init(&map, 64), 0);
    for (i = 0; i < 64; i++)
        m0_bitmap_set(&map, i, (processors >> i & 1) != 0);
    assert_int_equal(m0_net_tm_confine(&machine->tm, &map), 0);
    m0_bitmap_fini(&map);
}

M0_TEST(m0_21_m0_22_confinement)
{
    struct machine *a = machine(A), *b = machine_up(B, 1);
    struct m0_net_buffer *to = buffer(A, 4096), *from = buffer(B, 4096);

    confine(a, 0x0f);
    confine(a, 0x24);
    assert_int_equal(machine_start(a, address(A, 1)), 0);
    assert_int_equal(a->processors, 0x24);
    assert_int_equal(receive(a, to, 4096, 1), 0);
    assert_int_equal(send_to(b, from, 1, address(A, 1)), 0);
    wait_completions(2);
    /* A thread of the application is not confined. */
    assert_int_equal(completion_of(to, 0)->processors, rig_synchronous ? 0xff : 0x24);
    assert_int_equal(completion_of(from, 0)->processors, 0xff);
    machine_stop(a, true);
    assert_int_equal(a->processors, 0x24);
}

M0_TEST(m0_23_no_such_processor)
{
    struct machine *a = machine(A);

    confine(a, 1ull << 40);
    assert_int_equal(machine_start(a, address(A, 1)), -EINVAL);
    assert_int_equal(a->last, M0_NET_TM_FAILED);
}
M0_TEST_IN(m0_24_confinement_after_start, .unbalanced = true)
{
    struct machine *a = machine_up(A, 1);

    VIOLATES(confine(a, 1));
}

static unsigned batches;
static const struct m0_net_transfer_mc *counted;
static bool count_batch(struct m0_clink *clink)
{
    (void)clink;
    assert_int_equal(counted->ntm_callback_counter, 0);
    batches++;
    return true;
}

/* In memory each event is a batch of its own. */
M0_TEST(m0_25_m0_162_one_broadcast_for_a_batch)
{
    struct machine *a = machine_up(A, 1);
    struct m0_net_buffer *nb[5];
    struct m0_clink clink;
    unsigned i;

    pass(SIM_MS);
    batches = 0;
    counted = &a->tm;
    m0_clink_init(&clink, count_batch);
    m0_clink_add_lock(&a->tm.ntm_chan, &clink);
    for (i = 0; i < 5; i++) {
        nb[i] = buffer(A, 4096);
        assert_int_equal(receive(a, nb[i], 4096, 1), 0);
    }
    m0_mutex_lock(&a->tm.ntm_mutex); /* so that all are in one batch */
    for (i = 0; i < 5; i++)
        a->tm.ntm_dom->nd_xprt->nx_ops->xo_buf_del(nb[i]);
    m0_mutex_unlock(&a->tm.ntm_mutex);
    wait_completions(5);
    pass(SIM_MS);
    assert_int_equal(batches, rig_flavour == RIG_MEMORY ? 5 : 1);
    m0_clink_del_lock(&clink);
    m0_clink_fini(&clink);
}

M0_TEST(m0_27_statistics_are_repeatable_and_reset)
{
    struct machine *a = machine_up(A, 1), *b = machine_up(B, 2);
    struct m0_net_buffer *from = buffer(A, 4096), *to = buffer(B, 4096);
    struct m0_net_qstats one, two;
    uint64_t sum = 0;
    unsigned i;

    for (i = 0; i < 20; i++) {
        assert_int_equal(receive(b, to, 4096, 1), 0);
        assert_int_equal(send_to(a, from, 50, address(B, 2)), 0);
        wait_completions(2 * i + 2);
        if (i % 3 == 0) {
            assert_int_equal(m0_net_tm_stats_get(&a->tm, M0_NET_QT_MSG_SEND, &one, false), 0);
            assert_int_equal(m0_net_tm_stats_get(&a->tm, M0_NET_QT_MSG_SEND, &two, true), 0);
            assert_memory_equal(&one, &two, sizeof(one));
            sum += two.nqs_num_s_events;
        }
    }
    sum += stats(a, M0_NET_QT_MSG_SEND).nqs_num_s_events;
    assert_int_equal(sum, 20);
    assert_int_equal(m0_net_tm_stats_get(&a->tm, M0_NET_QT_NR, NULL, true), 0);
    assert_int_equal(stats(a, M0_NET_QT_MSG_SEND).nqs_num_s_events, 0);
}

/* Without traffic a machine's thread runs at its waits and ticks only. */
M0_TEST(m0_164_idle_machines)
{
    uint64_t before;
    unsigned i;

    for (i = 0; i < 10; i++)
        machine_up(A, -1);
    pass(SIM_S);
    before = sim_core.fiber_switches;
    pass(300 * SIM_S);
    assert_in_range(sim_core.fiber_switches - before, 1, 10 * (300 + 300 / 15 + 10) + 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(m0_10_after_init),
        cmocka_unit_test(m0_11_m0_25_start),
        cmocka_unit_test(m0_12_syntax_of_the_address),
        cmocka_unit_test(m0_13_m0_55_m0_56_m0_66_failing_starts),
        cmocka_unit_test(m0_14_a_failed_machine_starts_anew),
        cmocka_unit_test(m0_14_a_failed_machine_does_not_stop),
        cmocka_unit_test(m0_15_abort),
        cmocka_unit_test(m0_16_stop_at_once),
        cmocka_unit_test(m0_17_stop_before_start),
        cmocka_unit_test(m0_18_stop_without_abort),
        cmocka_unit_test(m0_19_fini_waits_for_callbacks),
        cmocka_unit_test(m0_19_fini_of_a_started_machine),
        cmocka_unit_test(m0_20_start_from_the_stopped_callback),
        cmocka_unit_test(m0_21_m0_22_confinement),
        cmocka_unit_test(m0_23_no_such_processor),
        cmocka_unit_test(m0_24_confinement_after_start),
        cmocka_unit_test(m0_25_m0_162_one_broadcast_for_a_batch),
        cmocka_unit_test(m0_27_statistics_are_repeatable_and_reset),
        cmocka_unit_test(m0_164_idle_machines),
    };

    /* What the addresses and the wire of LNet are not needed for. */
    const struct CMUnitTest in_memory[] = {
        cmocka_unit_test(m0_10_after_init),
        cmocka_unit_test(m0_11_m0_25_start),
        cmocka_unit_test(m0_12_syntax_of_the_address),
        cmocka_unit_test(m0_16_stop_at_once),
        cmocka_unit_test(m0_17_stop_before_start),
        cmocka_unit_test(m0_19_fini_waits_for_callbacks),
        cmocka_unit_test(m0_19_fini_of_a_started_machine),
        cmocka_unit_test(m0_20_start_from_the_stopped_callback),
        cmocka_unit_test(m0_25_m0_162_one_broadcast_for_a_batch),
        cmocka_unit_test(m0_27_statistics_are_repeatable_and_reset),
    };

    if (rig_flavour == RIG_MEMORY)
        return cmocka_run_group_tests(in_memory, NULL, NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
