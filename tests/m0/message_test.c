/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Messages: what arrives, several in one buffer, cancellation and timeouts. */
#include "rig.h"

enum { MIB = 1 << 20 };

/* Item 70: exact sizes, and nothing beside them. */
M0_TEST(m0_70_messages_of_all_sizes)
{
    static const size_t sizes[] = {1, 4095, 4096, 4097, MIB};
    struct machine *a = machine_up(A, 1), *b = machine_up(B, 2);
    struct m0_net_buffer *from = buffer(A, MIB), *to = buffer(B, MIB);
    unsigned i;

    for (i = 0; i < 5; i++) {
        size_t bytes = sizes[i], k;

        for (k = 0; k < MIB; k++)
            *at(to, k) = 0xee;
        paint(from, 0, bytes, i);
        assert_int_equal(receive(b, to, MIB, 1), 0);
        assert_int_equal(send_to(a, from, bytes, address(B, 2)), 0);
        wait_completions(2 * (i + 1));
        assert_int_equal(completion_of(from, i)->status, 0);
        assert_int_equal(completion_of(to, i)->status, 0);
        assert_int_equal(completion_of(to, i)->length, bytes);
        assert_int_equal(completion_of(to, i)->offset, 0);
        assert_string_equal(completion_of(to, i)->ep, a->tm.ntm_ep->nep_addr);
        expect_paint(to, 0, bytes, i);
        for (k = bytes; k < MIB; k++)
            assert_int_equal(*at(to, k), 0xee);
    }
}

M0_TEST(m0_71_nobody_receives)
{
    struct machine *a = machine_up(A, 1), *b = machine_up(B, 2), *c = machine_up(B, 3);
    struct m0_net_buffer *from = buffer(A, 4096);

    assert_int_equal(send_to(a, from, 100, address(B, 99)), 0); /* no such machine */
    wait_completions(1);
    assert_int_equal(send_to(a, from, 100, address(B, 2)), 0); /* no buffer */
    wait_completions(2);
    machine_stop(c, true);
    assert_int_equal(send_to(a, from, 100, address(B, 3)), 0); /* stopped */
    wait_completions(3);
    pass(SIM_S);
    assert_int_equal(completion_count, 3);
    assert_int_equal(completions[0].status | completions[1].status | completions[2].status, 0);
    assert_int_equal(counters(B).lct_common.lcc_drop_count, 3);
    assert_int_equal(stats(b, M0_NET_QT_MSG_RECV).nqs_num_f_events, 0);
}

M0_TEST_IN(m0_72_no_route, .nodes = 2, .unbalanced = true)
{
    struct machine *a = machine_up(A, 1);
    struct m0_net_buffer *from = buffer(A, 4096);

    assert_int_equal(send_to(a, from, 100, "10.9.9.9@o2ib5:12345:42:1"), 0);
    wait_completions(1);
    assert_int_equal(completions[0].status, -EHOSTUNREACH);
    assert_int_equal(completions[0].flags, M0_NET_BUF_REGISTERED);
    assert_int_equal(stats(a, M0_NET_QT_MSG_SEND).nqs_num_f_events, 1);
}

M0_TEST(m0_73_the_queue_refers_to_the_end_point)
{
    struct machine *a = machine_up(A, 1);
    struct m0_net_buffer *from = buffer(A, 4096);
    struct m0_net_end_point *ep = end_point(a, address(B, 2));

    machine_up(B, 2);
    from->nb_qtype = M0_NET_QT_MSG_SEND;
    from->nb_length = 10;
    from->nb_ep = ep;
    assert_int_equal(add(a, from), 0);
    assert_int_equal(m0_atomic64_get(&ep->nep_ref.ref_cnt), 2);
    wait_completions(1);
    pass(SIM_MS);
    assert_int_equal(m0_atomic64_get(&ep->nep_ref.ref_cnt), 1);
    assert_int_equal(add(a, from), 0);
    m0_net_end_point_put(ep); /* while it is queued */
    wait_completions(2);
    assert_int_equal(completions[1].status, 0);
}

/* ---- several messages in a buffer ------------------------------------------------------------ */

static void example(size_t size, size_t min, unsigned max, size_t message, unsigned expected)
{
    struct machine *a = machine_up(A, -1), *b = machine_up(B, -1);
    struct m0_net_buffer *to = buffer(B, size), *from = buffer(A, message);
    char where[80];
    unsigned i;

    snprintf(where, sizeof(where), "%s", b->tm.ntm_ep->nep_addr);
    forget_completions();
    assert_int_equal(receive(b, to, min, max), 0);
    for (i = 0; i < expected; i++) {
        const struct completion *event;

        paint(from, 0, message, i);
        assert_int_equal(send_to(a, from, message, where), 0);
        wait_completions(2 * (i + 1));
        event = completion_of(to, i);
        assert_int_equal(event->status, 0);
        assert_int_equal(event->offset, i * message);
        assert_int_equal(event->length, message);
        assert_int_equal(event->msgs, i + 1);
        assert_int_equal((event->flags & M0_NET_BUF_QUEUED) != 0, i + 1 < expected);
        assert_int_equal(event->flags & M0_NET_BUF_RETAIN, 0);
        expect_paint(to, i * message, message, i);
    }
    assert_int_equal(to->nb_flags, M0_NET_BUF_REGISTERED);
    assert_int_equal(send_to(a, from, message, where), 0);
    wait_completions(2 * expected + 1);
    pass(SIM_MS);
    assert_int_equal(count_completions(to), expected);
    machine_free(a);
    machine_free(b);
}

M0_TEST(m0_74_m0_75_worked_examples)
{
    example(16384, 2048, 4, 2048, 4);
    example(16384, 2048, 4, 5, 4);
    example(16384, 2048, 8, 2048, 8);
    example(16384, 6144, 10, 6144, 2);
    example(16384, 4096, 1000, 100, 123);
    example(16384, 4096, 100, 100, 100);
    example(16384, 16384, 7, 1, 1);
    example(16384, 16384, 7, 16384, 1);
}

M0_TEST_IN(m0_76_impossible_receive_sizes, .unbalanced = true)
{
    struct machine *b = machine_up(B, 2);
    struct m0_net_buffer *to = buffer(B, 4096);

    VIOLATES(receive(b, to, 0, 1));
}
M0_TEST_IN(m0_76_receive_size_above_the_buffer, .unbalanced = true)
{
    struct machine *b = machine_up(B, 2);
    struct m0_net_buffer *to = buffer(B, 4096);

    VIOLATES(receive(b, to, 4097, 1));
}
M0_TEST_IN(m0_76_no_messages, .unbalanced = true)
{
    struct machine *b = machine_up(B, 2);
    struct m0_net_buffer *to = buffer(B, 4096);

    VIOLATES(receive(b, to, 4096, 0));
}

M0_TEST(m0_77_a_longer_message_is_lost)
{
    struct machine *a = machine_up(A, 1), *b = machine_up(B, 2);
    struct m0_net_buffer *small = buffer(B, 8192), *large = buffer(B, 65536),
                         *from = buffer(A, 8192);

    assert_int_equal(receive(b, small, 2048, 4), 0);
    assert_int_equal(receive(b, large, 65536, 1), 0);
    assert_int_equal(send_to(a, from, 2049, address(B, 2)), 0);
    wait_completions(1);
    pass(SIM_S);
    assert_int_equal(completion_count, 1);
    assert_int_equal(completions[0].status, 0);
    assert_int_equal(counters(B).lct_common.lcc_drop_count, 1);
    assert_int_equal(send_to(a, from, 2048, address(B, 2)), 0);
    wait_completions(3);
    assert_int_equal(completion_of(small, 0)->length, 2048);
}

static void ends_after(bool timeout)
{
    struct machine *a = machine_up(A, 1), *b = machine_up(B, 2);
    struct m0_net_buffer *to = buffer(B, 16384), *from = buffer(A, 4096);
    const struct completion *last;
    unsigned i;

    m0_net_lnet_dom_set_timeout_tick(domain(B), M0_TIME_ONE_SECOND);
    if (timeout)
        to->nb_timeout = m0_time_from_now(20, 0);
    assert_int_equal(receive(b, to, 2048, 100), 0);
    for (i = 0; i < 3; i++) {
        assert_int_equal(send_to(a, from, 1000, address(B, 2)), 0);
        wait_completions(2 * (i + 1));
        assert_true((completion_of(to, i)->flags & M0_NET_BUF_QUEUED) != 0);
    }
    if (!timeout) {
        host(B);
        assert_true(m0_net_buffer_del(to, &b->tm));
    }
    wait_completions(7);
    last = completion_of(to, 3);
    assert_int_equal(last->status, timeout ? -ETIMEDOUT : -ECANCELED);
    assert_int_equal(last->length, 0);
    assert_int_equal(last->flags, M0_NET_BUF_REGISTERED);
    assert_true(last->never);
    assert_string_equal(last->ep, "");
    assert_int_equal(stats(b, M0_NET_QT_MSG_RECV).nqs_num_s_events, 3);
    assert_int_equal(stats(b, M0_NET_QT_MSG_RECV).nqs_num_f_events, 1);
    assert_int_equal(stats(b, M0_NET_QT_MSG_RECV).nqs_num_dels, !timeout);
}

M0_TEST(m0_78_m0_30_cancel_after_messages)
{
    ends_after(false);
}

M0_TEST(m0_79_m0_30_timeout_after_messages)
{
    ends_after(true);
}

M0_TEST(m0_81_messages_received_starts_again)
{
    struct machine *a = machine_up(A, 1), *b = machine_up(B, 2);
    struct m0_net_buffer *to = buffer(B, 16384), *from = buffer(A, 4096);
    unsigned round, i;

    for (round = 0; round < 2; round++) {
        assert_int_equal(receive(b, to, 2048, 3), 0);
        assert_int_equal(to->nb_msgs_received, 0);
        for (i = 0; i < 3; i++) {
            assert_int_equal(send_to(a, from, 100, address(B, 2)), 0);
            wait_completions(2 * (3 * round + i + 1));
            assert_int_equal(completion_of(to, 3 * round + i)->msgs, i + 1);
            assert_int_equal(completion_of(to, 3 * round + i)->offset, 100 * i);
        }
    }
}

/* ---- adds ------------------------------------------------------------------------------------ */

M0_TEST(m0_36_a_timeout_in_the_past)
{
    struct machine *b = machine_up(B, 2);
    struct m0_net_buffer *to = buffer(B, 4096);

    pass(SIM_S);
    to->nb_timeout = m0_time_now();
    assert_int_equal(receive(b, to, 4096, 1), -ETIME);
    assert_int_equal(to->nb_flags, M0_NET_BUF_REGISTERED);
    pass(SIM_S);
    assert_int_equal(completion_count, 0);
    assert_int_equal(stats(b, M0_NET_QT_MSG_RECV).nqs_num_adds, 0);
    to->nb_timeout = M0_TIME_NEVER;
}

M0_TEST(m0_40_del_of_idle_and_queued_buffers)
{
    struct machine *b = machine_up(B, 2);
    struct m0_net_buffer *to = buffer(B, 4096);

    host(B);
    assert_false(m0_net_buffer_del(to, &b->tm));
    assert_int_equal(stats(b, M0_NET_QT_MSG_RECV).nqs_num_dels, 0);
    assert_int_equal(receive(b, to, 4096, 1), 0);
    assert_true(m0_net_buffer_del(to, &b->tm));
    assert_true(m0_net_buffer_del(to, &b->tm));
    wait_completions(1);
    pass(SIM_S);
    assert_int_equal(completion_count, 1);
    assert_int_equal(completions[0].status, -ECANCELED);
    assert_int_equal(stats(b, M0_NET_QT_MSG_RECV).nqs_num_dels, 2);
    assert_int_equal(stats(b, M0_NET_QT_MSG_RECV).nqs_num_f_events, 1);
}

M0_TEST(m0_42_m0_43_reception_leaves_the_length)
{
    struct machine *a = machine_up(A, 1), *b = machine_up(B, 2);
    struct m0_net_buffer *to = buffer(B, 4096), *from = buffer(A, 4096);

    to->nb_length = 77;
    to->nb_timeout = m0_time_from_now(500, 0);
    assert_int_equal(receive(b, to, 4096, 1), 0);
    assert_int_equal(send_to(a, from, 10, address(B, 2)), 0);
    wait_completions(2);
    assert_int_equal(to->nb_length, 77);
    assert_true(completion_of(to, 0)->never);
    assert_true(to->nb_timeout == M0_TIME_NEVER);
}

static struct machine *adding;
static unsigned rounds;

static void add_again(const struct m0_net_buffer_event *event)
{
    struct m0_net_buffer *nb = event->nbe_buffer;
    struct m0_net_end_point *ep = NULL;

    if (nb->nb_qtype != M0_NET_QT_MSG_RECV || (nb->nb_flags & M0_NET_BUF_QUEUED) != 0 ||
        rounds == 0)
        return;
    rounds--;
    assert_int_equal(m0_net_end_point_create(&ep, &adding->tm, address(C, 5)), 0);
    m0_net_end_point_put(ep);
    assert_int_equal(m0_net_buffer_add(nb, &adding->tm), 0);
}

M0_TEST(m0_44_a_callback_adds_its_buffer)
{
    struct machine *a = machine_up(A, 1), *b = machine_up(B, 2);
    struct m0_net_buffer *to = buffer(B, 16384), *from = buffer(A, 4096);
    unsigned i;

    adding = b;
    rounds = 2;
    on_completion = add_again;
    assert_int_equal(receive(b, to, 2048, 4), 0);
    for (i = 0; i < 12; i++) {
        assert_int_equal(send_to(a, from, 2048, address(B, 2)), 0);
        wait_completions(2 * (i + 1));
        assert_int_equal(completion_of(to, i)->offset, i % 4 * 2048);
    }
    assert_int_equal(rounds, 0);
}

M0_TEST(m0_37_m0_45_loopback_and_1000_rounds)
{
    struct machine *a = machine_up(A, 1), *b = machine_up(A, 2);
    struct m0_net_buffer *to = buffer(A, 4096), *from = buffer(A, 4096);
    unsigned i;

    for (i = 0; i < 1000; i++) {
        unsigned before = completion_count;

        assert_int_equal(receive(b, to, 4096, 1), 0);
        assert_int_equal(send_to(a, from, 100, address(A, 2)), 0);
        wait_completions(before + 2);
        assert_ptr_not_equal(completions[before].thread, port_thread_self());
        assert_ptr_not_equal(completions[before + 1].thread, port_thread_self());
    }
    assert_int_equal(stats(a, M0_NET_QT_MSG_SEND).nqs_num_s_events, 1000);
    assert_int_equal(stats(b, M0_NET_QT_MSG_RECV).nqs_total_bytes, 100000);
}

M0_TEST_IN(m0_46_an_offset, .unbalanced = true)
{
    struct machine *b = machine_up(B, 2);
    struct m0_net_buffer *to = buffer(B, 4096);

    to->nb_offset = 1;
    VIOLATES(receive(b, to, 4096, 1));
}

M0_TEST(m0_28_m0_29_statistics)
{
    struct machine *a = machine_up(A, 1), *b = machine_up(B, 2);
    struct m0_net_buffer *to = buffer(B, 16384), *from = buffer(A, 4096);
    struct m0_net_qstats received, all[M0_NET_QT_NR];

    assert_int_equal(receive(b, to, 4096, 2), 0);
    pass(SIM_S);
    assert_int_equal(send_to(a, from, 100, address(B, 2)), 0);
    wait_completions(2);
    received = stats(b, M0_NET_QT_MSG_RECV);
    assert_int_equal(received.nqs_time_in_queue, 0);
    assert_int_equal(received.nqs_total_bytes, 100);
    pass(SIM_S);
    assert_int_equal(send_to(a, from, 3000, address(B, 2)), 0);
    wait_completions(4);
    received = stats(b, M0_NET_QT_MSG_RECV);
    assert_true(received.nqs_time_in_queue > 2ull * M0_TIME_ONE_SECOND);
    assert_true(received.nqs_time_in_queue < 3ull * M0_TIME_ONE_SECOND);
    assert_int_equal(received.nqs_total_bytes, 3100);
    assert_int_equal(received.nqs_max_bytes, 3000);
    assert_int_equal(received.nqs_num_adds, 1);
    assert_int_equal(received.nqs_num_s_events, 2);
    assert_int_equal(m0_net_tm_stats_get(&a->tm, M0_NET_QT_NR, all, true), 0);
    assert_int_equal(all[M0_NET_QT_MSG_SEND].nqs_total_bytes, 3100);
    assert_int_equal(stats(a, M0_NET_QT_MSG_SEND).nqs_num_adds, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(m0_70_messages_of_all_sizes),
        cmocka_unit_test(m0_71_nobody_receives),
        cmocka_unit_test(m0_72_no_route),
        cmocka_unit_test(m0_73_the_queue_refers_to_the_end_point),
        cmocka_unit_test(m0_74_m0_75_worked_examples),
        cmocka_unit_test(m0_76_impossible_receive_sizes),
        cmocka_unit_test(m0_76_receive_size_above_the_buffer),
        cmocka_unit_test(m0_76_no_messages),
        cmocka_unit_test(m0_77_a_longer_message_is_lost),
        cmocka_unit_test(m0_78_m0_30_cancel_after_messages),
        cmocka_unit_test(m0_79_m0_30_timeout_after_messages),
        cmocka_unit_test(m0_81_messages_received_starts_again),
        cmocka_unit_test(m0_36_a_timeout_in_the_past),
        cmocka_unit_test(m0_40_del_of_idle_and_queued_buffers),
        cmocka_unit_test(m0_42_m0_43_reception_leaves_the_length),
        cmocka_unit_test(m0_44_a_callback_adds_its_buffer),
        cmocka_unit_test(m0_37_m0_45_loopback_and_1000_rounds),
        cmocka_unit_test(m0_46_an_offset),
        cmocka_unit_test(m0_28_m0_29_statistics),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
