/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The layer, domains and their limits; what needs no traffic. */
#include "net/lnet.h" /* first: it needs no other header */

#include "rig.h"

M0_TEST(m0_1_names_of_the_transport)
{
    assert_ptr_equal(&m0_lnet_xprt, &m0_net_lnet_xprt);
    assert_string_equal(m0_lnet_xprt.nx_name, "lnet");
}

M0_TEST(m0_2_a_domain_is_opened_again)
{
    struct m0_net_domain dom = {0};
    unsigned i;

    host(A);
    for (i = 0; i < 3; i++) {
        assert_int_equal(m0_net_domain_init(&dom, rig_xprt), 0);
        assert_ptr_equal(dom.nd_xprt, rig_xprt);
        m0_net_domain_fini(&dom);
        assert_null(dom.nd_xprt);
    }
}

M0_TEST(m0_3_limits)
{
    struct m0_net_domain *dom = domain(A);

    assert_int_equal(m0_net_domain_get_max_buffer_size(dom), 1048576);
    assert_int_equal(m0_net_domain_get_max_buffer_segment_size(dom), 4096);
    assert_int_equal(m0_net_domain_get_max_buffer_segments(dom), 256);
    assert_int_equal(m0_net_domain_get_max_buffer_desc_size(dom), 48);
}

M0_TEST_IN(m0_5_a_machine_is_left, .unbalanced = true)
{
    machine(A);
    VIOLATES(m0_net_domain_fini(domain(A)));
}
M0_TEST_IN(m0_5_a_buffer_is_left, .unbalanced = true)
{
    buffer(A, 4096);
    VIOLATES(m0_net_domain_fini(domain(A)));
}

/* One machine is blocked; machines of another domain of the process and of another host are not. */
M0_TEST(m0_6_domains_are_independent)
{
    struct m0_net_domain other = {0};
    struct machine *blocked = machine_up(A, 1), *beside, *far;
    struct m0_net_buffer *from, *to = buffer(B, 4096);

    host(A);
    assert_int_equal(m0_net_domain_init(&other, rig_xprt), 0);
    m0_mutex_lock(&blocked->tm.ntm_mutex);
    far = machine_up(B, 3);
    assert_int_equal(receive(far, to, 4096, 1), 0);
    rig_other_domain = &other;
    beside = machine_up(A, 2);
    from = buffer(A, 4096);
    rig_other_domain = NULL;
    paint(from, 0, 100, 1);
    assert_int_equal(send_to(beside, from, 100, address(B, 3)), 0);
    wait_completions(2);
    expect_paint(to, 0, 100, 1);
    machine_free(beside);
    buffer_free(from);
    host(A);
    m0_net_domain_fini(&other);
    assert_int_equal(blocked->tm.ntm_state, M0_NET_TM_STARTED);
    m0_mutex_unlock(&blocked->tm.ntm_mutex);
}

M0_TEST(m0_7_addresses_are_valid_or_not)
{
    static const char *const valid[] = {
        "0@lo:12345:34:1",
        "172.18.50.40@o2ib1:12345:34:1",
        "172.18.50.40@tcp:12345:34:1",
        "255.255.255.255@tcp9:12345:4:4095",
    };
    static const char *const invalid[] = {
        "",
        " 0@lo:12345:34:1",
        "0@lo:12345:34:1 ",
        "1@lo:12345:34:1",
        "172.18.50.40:12345:34:1",
        "256.0.0.0@tcp:12345:34:1",
        "1.2.3.4@tcp12:12345:34:1",
        "1.2.3@tcp:12345:34:1",
        "1.2.3.4@gni:12345:34:1",
        "1.2.3.4@tcp:12345:34:*",
        "1.2.3.4@tcp:12346:34:1",
        "1.2.3.4@tcp:12345::1",
        "1.2.3.4@tcp:12345:34:",
        "1.2.3.4@tcp:12345:34",
    };
    size_t i;

    for (i = 0; i < ARRAY_SIZE(valid); i++)
        if (!m0_net_endpoint_is_valid(valid[i]))
            fail_msg("\"%s\" is valid", valid[i]);
    for (i = 0; i < ARRAY_SIZE(invalid); i++)
        if (m0_net_endpoint_is_valid(invalid[i]))
            fail_msg("\"%s\" is not valid", invalid[i]);
}

static const struct m0_net_xprt some[] = {
    {"a", NULL}, {"b", NULL}, {"c", NULL}, {"d", NULL}, {"e", NULL}};

M0_TEST(m0_8_the_table_of_transports)
{
    int i;

    assert_int_equal(m0_net_xprt_nr(), 0);
    for (i = 0; i < 4; i++)
        m0_net_xprt_register(&some[i]);
    assert_int_equal(m0_net_xprt_nr(), 4);
    m0_net_xprt_default_set(&some[1]);
    m0_net_xprt_deregister(&some[0]);
    assert_ptr_equal(m0_net_xprt_default_get(), &some[1]);
    m0_net_xprt_deregister(&some[1]);
    assert_null(m0_net_xprt_default_get());
    assert_false(m0_net_check_xprt(&some[1]));
    assert_true(m0_net_check_xprt(&some[2]));
    assert_ptr_equal(m0_net_all_xprt_get()[0], &some[2]);
    m0_net_xprt_deregister(&some[2]);
    m0_net_xprt_deregister(&some[3]);
    assert_int_equal(m0_net_xprt_nr(), 0);
}
M0_TEST_IN(m0_8_a_transport_is_known_once, .unbalanced = true)
{
    m0_net_xprt_register(&some[0]);
    VIOLATES(m0_net_xprt_register(&some[0]));
    m0_net_xprt_deregister(&some[0]);
}
M0_TEST_IN(m0_8_four_transports, .unbalanced = true)
{
    int i;

    for (i = 0; i < 4; i++)
        m0_net_xprt_register(&some[i]);
    VIOLATES(m0_net_xprt_register(&some[4]));
    for (i = 0; i < 4; i++)
        m0_net_xprt_deregister(&some[i]);
}

M0_TEST(m0_9_descriptors_are_copied_and_freed)
{
    struct m0_net_buf_desc first = {0}, second = {0};
    struct machine *a = machine_up(A, 1);
    struct m0_net_buffer *nb = buffer(A, 4096);

    assert_int_equal(passive(a, nb, M0_NET_QT_PASSIVE_BULK_RECV, 0), 0);
    assert_int_equal(m0_net_desc_copy(&nb->nb_desc, &first), 0);
    assert_int_equal(m0_net_desc_copy(&first, &second), 0);
    assert_int_equal(second.nbd_len, 48);
    assert_ptr_not_equal(first.nbd_data, second.nbd_data);
    first.nbd_data[7] ^= 0xff;
    assert_memory_equal(second.nbd_data, nb->nb_desc.nbd_data, 48);
    m0_net_desc_free(&first);
    m0_net_desc_free(&first);
    assert_int_equal(first.nbd_len, 0);
    assert_null(first.nbd_data);
    assert_memory_equal(second.nbd_data, nb->nb_desc.nbd_data, 48);
    m0_net_desc_free(&second);
}

static unsigned reported[M0_NET_TEV_NR];
static void count_event(const struct m0_net_tm_event *event)
{
    reported[event->nte_type]++;
}
static const struct m0_net_tm_callbacks counting = {.ntc_event_cb = count_event};

M0_TEST(m0_26_other_events_change_no_state)
{
    struct machine *a = machine_up(A, 1);
    const struct m0_net_tm_callbacks *usual = a->tm.ntm_callbacks;
    enum m0_net_tm_ev_type types[] = {M0_NET_TEV_DIAGNOSTIC, M0_NET_TEV_ERROR};
    unsigned i;

    memset(reported, 0, sizeof(reported));
    a->tm.ntm_callbacks = &counting;
    for (i = 0; i < 2; i++)
        m0_net_tm_event_post(&(struct m0_net_tm_event){
            .nte_type = types[i], .nte_tm = &a->tm, .nte_time = m0_time_now(), .nte_status = -EIO});
    a->tm.ntm_callbacks = usual;
    assert_int_equal(reported[M0_NET_TEV_DIAGNOSTIC], 1);
    assert_int_equal(reported[M0_NET_TEV_ERROR], 1);
    assert_int_equal(reported[M0_NET_TEV_STATE_CHANGE], 0);
    assert_int_equal(a->tm.ntm_state, M0_NET_TM_STARTED);
    assert_int_equal(m0_atomic64_get(&a->tm.ntm_ep->nep_ref.ref_cnt), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(m0_1_names_of_the_transport),
        cmocka_unit_test(m0_2_a_domain_is_opened_again),
        cmocka_unit_test(m0_3_limits),
        cmocka_unit_test(m0_5_a_machine_is_left),
        cmocka_unit_test(m0_5_a_buffer_is_left),
        cmocka_unit_test(m0_6_domains_are_independent),
        cmocka_unit_test(m0_7_addresses_are_valid_or_not),
        cmocka_unit_test(m0_8_the_table_of_transports),
        cmocka_unit_test(m0_8_a_transport_is_known_once),
        cmocka_unit_test(m0_8_four_transports),
        cmocka_unit_test(m0_9_descriptors_are_copied_and_freed),
        cmocka_unit_test(m0_26_other_events_change_no_state),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
