/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Addresses of end points, how machines get theirs, and what is on the wire. */
#include "net/net_internal.h"
#include "hosts.h"
#include "rig.h"

M0_TEST(m0_47_m0_48_texts_that_are_no_addresses)
{
    static const char *const wrong[] = {
        "notip@tcp:12345:30:10",
        "notnid:12345:30:10",
        "10.0.0.2@tcp:notpid:30:10",
        "10.0.0.2@tcp:12:notportal:10",
        "10.0.0.2@tcp:12:33:nottm",
        "10.0.0.2@tcp:12345:33:-10",
        "10.0.0.2@tcp:12345:33:4096",
        "10.0.0.2@tcp::42:1",
        "10.0.0.2@tcp:12345::1",
        "10.0.0.2@tcp:12345:42:",
        "10.0.0.2@tcp:12345:42:+1",
        "10.0.0.2@tcp:12345:42: 1",
        "10.0.0.2@tcp:12345:42:1 ",
        "10.0.0.2@tcp:12345:42:1:",
        "10.0.0.2@tcp:4294967296:42:1",
        "10.0.0.2@tcp:12345:99999999999999999999999:1",
        "10.0.0.2@tcp:12345:42",
        "10.0.0.2@tcp",
        "",
        ":",
        ":::",
        "0000000010.0.00000000.0.00002@tcp:12345:42:1", /* 32 characters and more */
        "*:12345:42:1",
        "*@tcp:12345:42:1",
        "10.0.0.2@tcp:12345:42:*", /* item 53 */
        "10.0.0.2@tcp:12345:42:**",
    };
    static const char *const right[] = {"4.4.4.4@tcp:42:29:28", "10.0.0.2@tcp:12345:33:4095",
                                        "10.0.0.2@tcp:12345:4294967295:0"};
    struct machine *a = machine_up(A, 1);
    struct m0_net_end_point *ep;
    unsigned i;

    for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct machine *other = machine(A);

        ep = (struct m0_net_end_point *)a;
        if (m0_net_end_point_create(&ep, &a->tm, wrong[i]) != -EINVAL || ep != NULL)
            fail_msg("accepted: %s", wrong[i]);
        if (strstr(wrong[i], "42:*") == NULL || strstr(wrong[i], "**") != NULL)
            assert_int_equal(m0_net_tm_start(&other->tm, wrong[i]), -EINVAL);
        machine_free(other);
    }
    for (i = 0; i < 3; i++) {
        ep = end_point(a, right[i]);
        assert_string_equal(ep->nep_addr, right[i]);
        m0_net_end_point_put(ep);
    }
    assert_int_equal(m0_net_end_point_create(&ep, &a->tm, NULL), -ENOSYS);
}

M0_TEST(m0_49_m0_61_tmid_0)
{
    struct machine *a = machine_up(A, 0), *b = machine_up(B, 0), *c = machine_up(B, 1);
    struct m0_net_buffer *from = buffer(A, 4096), *to = buffer(B, 4096), *other = buffer(B, 4096);

    assert_int_equal(receive(c, other, 4096, 1), 0);
    assert_int_equal(receive(b, to, 4096, 1), 0);
    assert_int_equal(send_to(a, from, 10, address(B, 0)), 0);
    wait_completions(2);
    assert_string_equal(completion_of(to, 0)->ep, "10.0.0.1@tcp:12345:42:0");
    assert_int_equal(send_to(a, from, 10, address(B, 1)), 0);
    wait_completions(4);
    assert_int_equal(completion_of(other, 0)->status, 0);
}

/* With the minimum 1, TMID 0 is none, and the dynamic ones end before it. */
M0_TEST(m0_49_tmid_minimum_of_1)
{
    struct machine *zero = machine(A), *last = machine(A), *none = machine(A);

    hosts[A].kh_limits.kl_tmid_min = 1;
    assert_int_equal(machine_start(zero, address(A, 0)), -EINVAL);
    machine_up(A, 1);
    hosts[A].kh_limits.kl_tmid_min = 4095;
    assert_int_equal(machine_start(last, address(A, -1)), 0);
    assert_int_equal(machine_start(none, address(A, -1)), -EADDRNOTAVAIL);
}

M0_TEST(m0_50_one_form_of_an_address)
{
    struct machine *a = machine_up(A, 1);
    struct m0_net_end_point *one = end_point(a, "10.72.49.14@o2ib0:12345:42:1"),
                            *two = end_point(a, "10.72.49.14@o2ib:12345:42:1");

    assert_string_equal(one->nep_addr, "10.72.49.14@o2ib:12345:42:1");
    assert_ptr_equal(one, two);
    assert_int_equal(m0_atomic64_get(&one->nep_ref.ref_cnt), 2);
    m0_net_end_point_put(one);
    m0_net_end_point_put(one);
    one = end_point(a, "1.2.3.4:12345:42:1"); /* item 51: tcp */
    assert_string_equal(one->nep_addr, "1.2.3.4@tcp:12345:42:1");
    m0_net_end_point_put(one);
}

M0_TEST(m0_52_references)
{
    struct machine *a = machine_up(A, 1);
    struct m0_net_end_point *one = end_point(a, address(B, 1)), *two = end_point(a, address(B, 1));
    struct m0_net_end_point *other[200];
    unsigned i;

    assert_ptr_equal(one, two);
    assert_int_equal(m0_atomic64_get(&one->nep_ref.ref_cnt), 2);
    m0_net_end_point_put(one);
    m0_net_end_point_put(one);
    assert_int_equal(m0_tlist_length(&m0_nep_tl, &a->tm.ntm_end_points), 1); /* its own */
    one = end_point(a, address(B, 1));
    assert_int_equal(m0_atomic64_get(&one->nep_ref.ref_cnt), 1);
    for (i = 0; i < 200; i++) /* more than a machine keeps */
        other[i] = end_point(a, address(C, (int)i));
    for (i = 0; i < 200; i++) {
        assert_ptr_equal(end_point(a, address(C, (int)i)), other[i]);
        m0_net_end_point_put(other[i]);
        m0_net_end_point_put(other[i]);
    }
    m0_net_end_point_put(one);
    assert_int_equal(m0_tlist_length(&m0_nep_tl, &a->tm.ntm_end_points), 1);
}
M0_TEST_IN(m0_53_before_start, .unbalanced = true)
{
    struct machine *a = machine(A);
    struct m0_net_end_point *ep;

    VIOLATES(m0_net_end_point_create(&ep, &a->tm, address(B, 1)));
}
M0_TEST_IN(m0_54_a_lost_end_point, .unbalanced = true)
{
    struct machine *a = machine_up(A, 1);

    end_point(a, address(B, 1));
    machine_stop(a, true);
    pass(SIM_MS);
    VIOLATES(m0_net_tm_fini(&a->tm));
}

/* ---- the wire -------------------------------------------------------------------------------- */

static const struct lnet_event *raw(unsigned n)
{
    unsigned i;

    for (i = 0; i < 1000 && event_of(B, LNET_EVENT_PUT, n) == NULL; i++)
        pass(SIM_MS);
    assert_non_null(event_of(B, LNET_EVENT_PUT, n));
    return event_of(B, LNET_EVENT_PUT, n);
}

/* A plain consumer of LNet receives messages of m0_net: their portal, match bits and header data
 * have the values of items 58 and 59. */
M0_TEST(m0_58_m0_59_on_the_wire)
{
    static char memory[4096];
    struct machine *high = machine_up_at(A, "10.0.0.1@tcp:12345:30:4095"),
                   *mid = machine_up_at(A, "10.0.0.1@tcp:12345:39:12"),
                   *zero = machine_up_at(A, "10.0.0.1@tcp:12345:42:0"),
                   *target = machine_up_at(B, "10.0.0.2@tcp:12345:41:12");
    struct m0_net_buffer *from = buffer(A, 4096), *to = buffer(B, 4096);
    struct m0_net_buf_desc desc;
    const struct lnet_event *event;
    uint64_t bits = 0x00c0000000000000ull;

    forget();
    host(B); /* an entry before those of the machine takes its messages, of either kind */
    attach(entry_at(41, bits, 0xfffffffffffffull, LNET_UNLINK, LNET_INS_BEFORE),
           md_of(memory, 4096, 4, LNET_MD_OP_PUT));
    assert_int_equal(send_to(high, from, 7, "10.0.0.2@tcp:12345:41:12"), 0);
    event = raw(0);
    assert_int_equal(event->pt_index, 41);
    assert_true(event->match_bits == bits);
    assert_int_equal(event->offset, 0);
    assert_int_equal(event->mlength, 7);
    assert_true(event->hdr_data == 0xfff000000000001eull);
    assert_true(event->initiator.nid == tcp(A) && event->initiator.pid == 12345);
    wait_completions(1);
    assert_int_equal(counters(B).lct_common.lcc_send_count, 0); /* no acknowledgement */

    assert_int_equal(send_to(mid, from, 7, "10.0.0.2@tcp:12345:41:12"), 0);
    assert_true(raw(1)->hdr_data == 0x00c0000000000027ull);
    wait_completions(2);
    assert_int_equal(send_to(zero, from, 7, "10.0.0.2@tcp:12345:41:12"), 0);
    assert_true(raw(2)->hdr_data == 0x000000000000002aull);
    wait_completions(3);
    assert_int_equal(passive(target, to, M0_NET_QT_PASSIVE_BULK_RECV, 0), 0);
    assert_int_equal(m0_net_desc_copy(&to->nb_desc, &desc), 0);
    assert_int_equal(active(high, from, M0_NET_QT_ACTIVE_BULK_SEND, 9, &desc), 0);
    m0_net_desc_free(&desc);
    event = raw(3);
    assert_true(event->match_bits == (bits | 1));
    assert_true(event->hdr_data == 0xfff000000000001eull);
    wait_completions(4);
}

/* Messages of strangers: without hdr_data there is no sender, and the address is of zeros. */
M0_TEST(m0_60_senders)
{
    struct machine *a = machine_up(A, 77), *b = machine_up(B, 2);
    struct m0_net_buffer *from = buffer(A, 4096), *to = buffer(B, 4096), *back = buffer(A, 4096);

    assert_int_equal(receive(b, to, 4096, 1), 0);
    assert_int_equal(receive(a, back, 4096, 1), 0);
    assert_int_equal(send_to(a, from, 5, address(B, 2)), 0);
    wait_completions(2);
    assert_string_equal(completion_of(to, 0)->ep, a->tm.ntm_ep->nep_addr);
    assert_int_equal(send_to(b, to, 5, completion_of(to, 0)->ep), 0); /* an answer */
    wait_completions(4);
    assert_string_equal(completion_of(back, 0)->ep, b->tm.ntm_ep->nep_addr);
}

/* ---- addresses of machines ------------------------------------------------------------------- */

M0_TEST(m0_62_networks_compare)
{
    assert_int_equal(m0_net_lnet_ep_addr_net_cmp("10.0.0.1@tcp:1:2:3", "10.0.0.1@tcp:9:8:*"), 0);
    assert_int_not_equal(m0_net_lnet_ep_addr_net_cmp("10.0.0.1@tcp:1:2:3", "10.0.0.1@tcp1:1:2:3"),
                         0);
    assert_int_not_equal(m0_net_lnet_ep_addr_net_cmp("10.0.0.1@tcp1:1:2:3", "10.0.0.1@tcp:1:2:3"),
                         0);
    assert_int_equal(m0_net_lnet_ep_addr_net_cmp("10.0.0.1@tcp", "10.0.0.1@tcp:1:2:3"), -1);
    assert_int_equal(m0_net_lnet_ep_addr_net_cmp("10.0.0.1@tcp:1:2:3", ""), -1);
}

M0_TEST(m0_63_m0_64_m0_67_dynamic_addresses)
{
    struct machine *first = machine_up(A, -1), *second = machine_up(A, -1);
    struct machine *third, *fourth;

    assert_string_equal(first->started_as, address(A, 4095));
    assert_string_equal(second->started_as, address(A, 4094));
    third = machine_up(A, -1);
    assert_string_equal(third->started_as, address(A, 4093));
    machine_free(second);
    fourth = machine_up(A, -1);
    assert_string_equal(fourth->started_as, address(A, 4094));
    machine_up(A, 4092);
    assert_string_equal(machine_up(A, -1)->started_as, address(A, 4091));
    assert_string_equal(machine_up_at(A, address_at(A, 43, -1))->started_as,
                        address_at(A, 43, 4095));
    assert_string_equal(machine_up(B, -1)->started_as, address(B, 4095));
}

M0_TEST(m0_65_all_addresses_are_taken)
{
    struct machine *last;
    unsigned i;

    for (i = 0; i < 4096; i++) {
        last = machine(A);
        assert_int_equal(m0_net_tm_start(&last->tm, address(A, -1)), 0);
    }
    machine_wait(last, M0_NET_TM_STARTED);
    assert_int_equal(machine_start(machine(A), address(A, -1)), -EADDRNOTAVAIL);
    assert_string_equal(last->started_as, address(A, 0));
}

M0_TEST(m0_68_many_at_once)
{
    struct machine *all[64];
    unsigned i, k;

    for (i = 0; i < 64; i++) {
        all[i] = machine(A);
        assert_int_equal(m0_net_tm_start(&all[i]->tm, address(A, -1)), 0);
    }
    for (i = 0; i < 64; i++) {
        machine_wait(all[i], M0_NET_TM_STARTED);
        for (k = 0; k < i; k++)
            assert_string_not_equal(all[k]->started_as, all[i]->started_as);
    }
}

M0_TEST_IN(m0_69_interfaces, .settings = {{"networks", "tcp(eth0),o2ib(ib0)"}})
{
    char **addresses;

    assert_int_equal(m0_net_lnet_ifaces_get(domain(B), &addresses), 0);
    assert_string_equal(addresses[0], "0@lo");
    assert_string_equal(addresses[1], "10.0.0.2@tcp");
    assert_string_equal(addresses[2], "10.1.0.2@o2ib");
    assert_null(addresses[3]);
    m0_net_lnet_ifaces_put(domain(B), &addresses);
    assert_null(addresses);
}

/* Portals of Lustre 2.0, and of later versions: a configuration is warned about them. */
M0_TEST(m0_55_m0_158_portals_of_lustre)
{
    static const unsigned lustres[] = {1,  2,  4,  6,  7,  8,  10, 12, 13, 14, 15, 16, 17, 18,
                                       22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 63};
    unsigned portal, i;
    bool known;

    for (portal = 0; portal < 200; portal++) {
        known = false;
        for (i = 0; i < sizeof(lustres) / sizeof(lustres[0]); i++)
            known |= lustres[i] == portal;
        assert_int_equal(m0_net_lnet_portal_is_lustres(portal), known);
    }
    machine_up_at(A, address_at(A, 28, 1)); /* it works */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(m0_47_m0_48_texts_that_are_no_addresses),
        cmocka_unit_test(m0_55_m0_158_portals_of_lustre),
        cmocka_unit_test(m0_49_m0_61_tmid_0),
        cmocka_unit_test(m0_49_tmid_minimum_of_1),
        cmocka_unit_test(m0_50_one_form_of_an_address),
        cmocka_unit_test(m0_52_references),
        cmocka_unit_test(m0_53_before_start),
        cmocka_unit_test(m0_54_a_lost_end_point),
        cmocka_unit_test(m0_58_m0_59_on_the_wire),
        cmocka_unit_test(m0_60_senders),
        cmocka_unit_test(m0_62_networks_compare),
        cmocka_unit_test(m0_63_m0_64_m0_67_dynamic_addresses),
        cmocka_unit_test(m0_65_all_addresses_are_taken),
        cmocka_unit_test(m0_68_many_at_once),
        cmocka_unit_test(m0_69_interfaces),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
