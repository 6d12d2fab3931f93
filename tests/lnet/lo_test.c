/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Loop-back and lazy portals. */
#include "world.h"

static char memory[8192];
static char data[8192];

static void lo_put(enum lnet_ack_req ack, uint64_t bits, int threshold)
{
    assert_int_equal(LNetPut(LNET_NID_ANY, bind_md(data, 100, threshold), ack, id_of(LNET_NID_LO_0),
                             PORTAL, bits, 0, 0),
                     0);
}

static void lo_get(uint64_t bits)
{
    assert_int_equal(
        LNetGet(LNET_NID_ANY, bind_md(data, 100, 2), id_of(LNET_NID_LO_0), PORTAL, bits, 0, false),
        0);
}

TEST(lnet_61_order_of_events)
{
    memset(data, 'p', 100);
    post(7, memory, 1000, 9, LNET_MD_OP_PUT | LNET_MD_OP_GET);
    lo_put(LNET_NOACK_REQ, 7, 1);
    assert_string_equal(kinds(), "PS");
    assert_memory_equal(memory, data, 100);
    assert_int_equal(seen[0].event.initiator.nid, LNET_NID_LO_0);
    assert_int_equal(seen[0].event.target.nid, LNET_NID_LO_0);

    forget();
    lo_put(LNET_ACK_REQ, 7, 2);
    assert_string_equal(kinds(), "PAS");
    assert_int_equal(seen[1].event.unlinked, 0);
    assert_int_equal(seen[2].event.unlinked, 1);

    forget();
    lo_get(7);
    assert_string_equal(kinds(), "SRG");
    assert_int_equal(seen[0].event.unlinked, 0);
    assert_int_equal(seen[1].event.unlinked, 1);

    forget();
    lo_put(LNET_NOACK_REQ, 99, 1);
    lo_get(99);
    assert_string_equal(kinds(), "SS");
    assert_int_equal(seen[0].event.status, 0);
    assert_int_equal(seen[1].event.status, 0);
}

TEST(lnet_62_own_nid_is_not_lo)
{
    post(7, memory, 1000, 9, LNET_MD_OP_PUT);
    wire.hold = true;
    put(A, 7, data, 100);
    assert_int_equal(seen_count, 0);
    assert_int_equal(ni_of(A, tcp(A))->tx_credits, 255);
    assert_int_equal(peer_of(A, tcp(A))->tx_credits, 7);
    wire_release(1);
    pass(SIM_MS);
    assert_int_equal(count_of(A, LNET_EVENT_PUT), 1);
    assert_int_equal(event_of(A, LNET_EVENT_PUT, 0)->source.nid, tcp(A));
    assert_int_equal(ni_of(A, tcp(A))->tx_credits, 256);
    assert_int_equal(peer_of(A, tcp(A))->tx_credits, 8);
}

TEST(lnet_63_lo_and_rules)
{
    struct lnet_fault_attr drop = {.fa_src = LNET_NID_ANY, .fa_dst = LNET_NID_ANY};
    struct lnet_fault_attr delay = drop;
    struct libcfs_ioctl_data control = {.ioc_inllen1 = sizeof(drop), .ioc_inlbuf1 = (char *)&drop};
    struct lnet_ni *ni = lnet_of(A)->instance->lo;
    int credits = ni->tx_credits;

    post(7, memory, 1000, 9, LNET_MD_OP_PUT);
    drop.u.drop.da_rate = 1;
    control.ioc_flags = LNET_CTL_DROP_ADD;
    assert_int_equal(LNetCtl(IOC_LIBCFS_LNET_FAULT, &control), 0);
    lo_put(LNET_NOACK_REQ, 7, 1);
    assert_string_equal(kinds(), "S");
    assert_int_equal(counters(A).lct_common.lcc_drop_count, 1);
    control.ioc_flags = LNET_CTL_DROP_DEL;
    assert_int_equal(LNetCtl(IOC_LIBCFS_LNET_FAULT, &control), 0);
    assert_int_equal(control.ioc_count, 1);

    forget();
    delay.u.delay.la_rate = 1;
    delay.u.delay.la_latency = 2;
    control.ioc_inlbuf1 = (char *)&delay;
    control.ioc_flags = LNET_CTL_DELAY_ADD;
    assert_int_equal(LNetCtl(IOC_LIBCFS_LNET_FAULT, &control), 0);
    lo_put(LNET_NOACK_REQ, 7, 1);
    assert_int_equal(seen_count, 0);
    pass(1999 * SIM_MS);
    assert_int_equal(seen_count, 0);
    pass(2 * SIM_MS);
    assert_string_equal(kinds(), "PS"); /* held once, at reception */
    assert_int_equal(ni->tx_credits, credits);
}

TEST(lnet_64_lazy_portal)
{
    struct lnet_handle_md other;
    unsigned i;

    on(B);
    assert_int_equal(LNetSetLazyPortal(PORTAL), 0);
    on(A);
    for (i = 0; i < 3; i++) {
        data[0] = (char)('a' + i);
        put(B, 7, data, 1);
    }
    put(B, 8, data, 1);
    pass(SIM_MS);
    assert_string_equal(kinds(), "SSSS");
    forget();
    on(B);
    other = post(9, memory, 100, 9, LNET_MD_OP_PUT); /* matches none */
    assert_int_equal(seen_count, 0);
    post(7, memory, 100, 2, LNET_MD_OP_PUT); /* takes two */
    assert_string_equal(kinds(), "PP");
    assert_memory_equal(memory, "ab", 2);
    assert_int_equal(seen[1].event.unlinked, 1);
    post(7, memory, 100, 2, LNET_MD_OP_PUT);
    assert_string_equal(kinds(), "PPP");
    assert_int_equal(memory[0], 'c');
    post(8, memory, 100, 2, LNET_MD_OP_PUT);
    assert_string_equal(kinds(), "PPPP");
    assert_int_equal(counters(B).lct_common.lcc_drop_count, 0);
    assert_int_equal(LNetMDUnlink(other), 0);
}

/* On 0@lo the sender waits as well; and a delayed message that is too long is dropped. */
TEST(lazy_loopback)
{
    assert_int_equal(LNetSetLazyPortal(PORTAL), 0);
    lo_put(LNET_NOACK_REQ, 7, 1);
    lo_put(LNET_NOACK_REQ, 8, 1);
    assert_int_equal(seen_count, 0);
    post(7, memory, 100, 1, LNET_MD_OP_PUT);
    assert_string_equal(kinds(), "PS");
    post(8, memory, 99, 1, LNET_MD_OP_PUT);
    assert_string_equal(kinds(), "PSS");
    assert_int_equal(counters(A).lct_common.lcc_drop_count, 1);
}

TEST(lnet_65_lazy_get)
{
    on(B);
    assert_int_equal(LNetSetLazyPortal(PORTAL), 0);
    on(A);
    get(B, 7, data, 8);
    pass(SIM_MS);
    assert_string_equal(kinds(), "S");
    assert_int_equal(counters(B).lct_common.lcc_drop_count, 1);
    on(B);
    post(6, memory, 8, 1, LNET_MD_OP_GET); /* the same on a portal that has had entries */
    on(A);
    get(B, 7, data, 8);
    pass(SIM_MS);
    assert_int_equal(counters(B).lct_common.lcc_drop_count, 2);
}

TEST(lnet_66_clear_lazy)
{
    unsigned i;

    on(B);
    assert_int_equal(LNetSetLazyPortal(PORTAL), 0);
    assert_int_equal(LNetSetLazyPortal(PORTAL), 0);
    on(A);
    for (i = 0; i < 5; i++)
        put(B, 7, data, 10);
    pass(SIM_MS);
    on(B);
    assert_int_equal(counters(B).lct_common.lcc_drop_count, 0);
    assert_int_equal(counters(B).lct_common.lcc_msgs_alloc, 5);
    assert_int_equal(LNetClearLazyPortal(PORTAL), 0);
    assert_int_equal(counters(B).lct_common.lcc_drop_count, 5);
    assert_int_equal(counters(B).lct_common.lcc_msgs_alloc, 0);
    assert_int_equal(LNetClearLazyPortal(PORTAL), 0);
    assert_string_equal(kinds(), "SSSSS");
    on(A);
    put(B, 7, data, 10);
    pass(SIM_MS);
    assert_int_equal(counters(B).lct_common.lcc_drop_count, 6);
}

TEST(lnet_67_lazy_bounds)
{
    assert_int_equal(LNetSetLazyPortal(-1), -EINVAL);
    assert_int_equal(LNetSetLazyPortal(64), -EINVAL);
    assert_int_equal(LNetClearLazyPortal(-1), -EINVAL);
    assert_int_equal(LNetClearLazyPortal(64), -EINVAL);
    assert_int_equal(LNetClearLazyPortal(63), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lnet_61_order_of_events), cmocka_unit_test(lnet_62_own_nid_is_not_lo),
        cmocka_unit_test(lnet_63_lo_and_rules),    cmocka_unit_test(lnet_64_lazy_portal),
        cmocka_unit_test(lazy_loopback),           cmocka_unit_test(lnet_65_lazy_get),
        cmocka_unit_test(lnet_66_clear_lazy),      cmocka_unit_test(lnet_67_lazy_bounds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
