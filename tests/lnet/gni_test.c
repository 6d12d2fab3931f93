/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* gnilnd between nodes on a simulated Aries network. */
#include <errno.h>
#include "lnd/gni/gni.h"
#include "networks.h"

#define MIB (1u << 20)
#define NETWORK .settings = {{"networks", "gni(ipogif0)"}}

static uint8_t there[MIB + 8], here[MIB + 8];

static struct lnet_gni_ni *driver(unsigned node)
{
    return ni_of(node, gni(node))->driver;
}

static uint32_t sent(unsigned node, enum lnet_gni_type type)
{
    return driver(node)->sent[type];
}

static unsigned connections(unsigned node)
{
    struct lnet_gni_conn *conn;
    unsigned count = 0;

    list_for_each_entry (conn, &driver(node)->connections, on_ni)
        count++;
    return count;
}

static void expect_idle(unsigned node, unsigned peer)
{
    struct lnet_gni_conn *conn;

    list_for_each_entry (conn, &driver(node)->connections, on_ni)
        assert_true(list_empty(&conn->active) && list_empty(&conn->queued));
    assert_int_equal(peer_of(node, gni(peer))->tx_credits, 16);
    assert_int_equal(ni_of(node, gni(node))->tx_credits, 256);
}

/* ---- data ------------------------------------------------------------------------------------ */

static const unsigned sizes[] = {0, 1, 63, 2047, 2048, 2049, 4096, 65535, 65536, 300001, MIB};

TEST_IN(puts_of_all_sizes_arrive, NETWORK)
{
    unsigned i;

    for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        const struct lnet_event *event;
        unsigned skew = i % 3;

        forget();
        memset(there, 0xee, sizeof(there));
        fill(here + skew, sizes[i], i);
        on(B);
        post(i, there + 1, MIB, 1, LNET_MD_OP_PUT);
        on(A);
        put_to(gni(B), i, here + skew, sizes[i]);
        event = wait_event(B, LNET_EVENT_PUT, 0, SIM_S);
        assert_non_null(event);
        assert_int_equal(event->status, 0);
        assert_int_equal(event->mlength, sizes[i]);
        assert_true(event->initiator.nid == gni(A) && event->sender == gni(A));
        expect_filled(there + 1, sizes[i], i);
        assert_int_equal(there[0], 0xee);
        assert_int_equal(there[1 + sizes[i]], 0xee);
        event = wait_event(A, LNET_EVENT_SEND, 0, SIM_S);
        assert_non_null(event);
        assert_int_equal(event->status, 0);
        assert_int_equal(event->unlinked, 1);
    }
    pass(SIM_MS);
    expect_idle(A, B);
    expect_idle(B, A);
}

TEST_IN(gets_of_all_sizes_arrive, NETWORK)
{
    unsigned i;

    for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        const struct lnet_event *event;

        forget();
        memset(here, 0xee, sizeof(here));
        fill(there, sizes[i], i);
        on(B);
        post(i, there, sizes[i], 1, LNET_MD_OP_GET);
        on(A);
        get_from(gni(B), i, here + 3, sizes[i]);
        event = wait_event(A, LNET_EVENT_REPLY, 0, SIM_S);
        assert_non_null(event);
        assert_int_equal(event->status, 0);
        assert_int_equal(event->mlength, sizes[i]);
        expect_filled(here + 3, sizes[i], i);
        assert_int_equal(here[2], 0xee);
        assert_int_equal(here[3 + sizes[i]], 0xee);
        assert_non_null(wait_event(A, LNET_EVENT_SEND, 0, SIM_S));
        event = wait_event(B, LNET_EVENT_GET, 0, SIM_S);
        assert_non_null(event);
        assert_int_equal(event->mlength, sizes[i]);
    }
    pass(SIM_MS);
    expect_idle(A, B);
}

/* Whole pages are one region for the NIC; other pieces are copied. */
static void pieces(uint32_t bytes, bool reverse)
{
    static struct kvec to[LNET_MAX_IOV], from[LNET_MAX_IOV];
    struct lnet_handle_md handle;
    unsigned i;

    fill(here, MIB, 5);
    memset(there, 0, MIB);
    for (i = 0; i < LNET_MAX_IOV; i++) {
        to[i] = (struct kvec){there + (size_t)(reverse ? LNET_MAX_IOV - 1 - i : i) * 4096, bytes};
        from[i] = (struct kvec){here + (size_t)i * 4096, bytes};
    }
    on(B);
    attach(entry(9, 0), md_of(to, LNET_MAX_IOV, 1, LNET_MD_OP_PUT | LNET_MD_IOVEC));
    on(A);
    assert_int_equal(LNetMDBind(md_of(from, LNET_MAX_IOV, 1, LNET_MD_IOVEC), LNET_UNLINK, &handle),
                     0);
    assert_int_equal(LNetPut(LNET_NID_ANY, handle, LNET_NOACK_REQ, id_of(gni(B)), PORTAL, 9, 0, 0),
                     0);
    assert_non_null(wait_event(B, LNET_EVENT_PUT, 0, SIM_S));
    assert_int_equal(event_of(B, LNET_EVENT_PUT, 0)->status, 0);
    for (i = 0; i < LNET_MAX_IOV; i++)
        assert_memory_equal(to[i].iov_base, from[i].iov_base, bytes);
    assert_non_null(wait_event(A, LNET_EVENT_SEND, 0, SIM_S));
    forget();
}

TEST_IN(lnet_58_a_mebibyte_in_256_pages, NETWORK)
{
    pieces(4096, false);
    pieces(4096, true);
    pieces(1000, true);
}

/* ---- the protocol ---------------------------------------------------------------------------- */

TEST_IN(lnet_72_gni_immediate_to_2048_bytes, NETWORK)
{
    on(B);
    post(1, there, MIB, 2, LNET_MD_OP_PUT);
    on(A);
    put_to(gni(B), 1, here, 2048);
    assert_non_null(wait_event(B, LNET_EVENT_PUT, 0, SIM_S));
    assert_int_equal(sent(A, LNET_GNI_IMMEDIATE), 1);
    assert_int_equal(sent(A, LNET_GNI_PUT_REQ), 0);
    put_to(gni(B), 1, here, 2049);
    assert_non_null(wait_event(B, LNET_EVENT_PUT, 1, SIM_S));
    assert_int_equal(sent(A, LNET_GNI_IMMEDIATE), 1);
    assert_int_equal(sent(A, LNET_GNI_PUT_REQ), 1);
    assert_int_equal(sent(B, LNET_GNI_PUT_ACK), 1);
    assert_int_equal(sent(A, LNET_GNI_PUT_DONE), 1);
    assert_int_equal(driver(A)->transfers, 1);
    assert_int_equal(driver(B)->transfers, 0);
}

TEST_IN(lnet_69_gni_unmatched_puts, NETWORK)
{
    const struct lnet_event *event;

    on(A);
    put_to(gni(B), 1, here, 100);
    event = wait_event(A, LNET_EVENT_SEND, 0, SIM_S);
    assert_non_null(event);
    assert_int_equal(event->status, 0);
    put_to(gni(B), 1, here, 100000);
    event = wait_event(A, LNET_EVENT_SEND, 1, SIM_S);
    assert_non_null(event);
    assert_int_equal(event->status, -ENOENT);
    assert_int_equal(sent(B, LNET_GNI_PUT_NAK), 1);
    assert_int_equal(counters(B).lct_common.lcc_drop_count, 2);
    pass(SIM_MS);
    expect_idle(A, B);
}

TEST_IN(lnet_70_gni_unmatched_bulk_get, NETWORK)
{
    on(A);
    get_from(gni(B), 1, here, 100000);
    assert_non_null(wait_event(A, LNET_EVENT_REPLY, 0, SIM_S));
    assert_string_equal(kinds(), "SR");
    assert_int_equal(event_of(A, LNET_EVENT_SEND, 0)->status, 0);
    assert_int_equal(event_of(A, LNET_EVENT_REPLY, 0)->status, -ENOENT);
    assert_int_equal(event_of(A, LNET_EVENT_REPLY, 0)->unlinked, 1);
    assert_int_equal(sent(B, LNET_GNI_GET_NAK), 1);
}

TEST_IN(lnet_56_an_optimized_get_needs_two_operations, NETWORK)
{
    const struct lnet_event *event;

    on(A);
    assert_int_equal(
        LNetGet(LNET_NID_ANY, bind_md(here, 100000, 1), id_of(gni(B)), PORTAL, 1, 0, false), 0);
    event = wait_event(A, LNET_EVENT_SEND, 0, SIM_S);
    assert_non_null(event);
    assert_true(event->status < 0);
    assert_int_equal(event->unlinked, 1);
    pass(SIM_MS);
    assert_string_equal(kinds(), "S");
}

TEST_IN(a_bulk_get_may_return_less, NETWORK)
{
    const struct lnet_event *event;

    fill(there, 50000, 3);
    on(B);
    post(1, there, 50000, 1, LNET_MD_OP_GET | LNET_MD_TRUNCATE);
    on(A);
    memset(here, 0xee, MIB);
    get_from(gni(B), 1, here, 100000);
    event = wait_event(A, LNET_EVENT_REPLY, 0, SIM_S);
    assert_non_null(event);
    assert_int_equal(event->status, 0);
    assert_int_equal(event->mlength, 50000);
    expect_filled(here, 50000, 3);
    assert_int_equal(here[50000], 0xee);
}

/* A delayed message leaves its mailbox, so later ones pass it. */
TEST_IN(lnet_68_gni_later_messages_pass_a_delayed_one, NETWORK)
{
    on(B);
    assert_int_equal(LNetSetLazyPortal(PORTAL), 0);
    post(2, there, 100, 1, LNET_MD_OP_PUT);
    on(A);
    fill(here, 100, 4);
    put_to(gni(B), 1, here, 100); /* nobody takes it yet */
    put_to(gni(B), 2, here, 50);
    assert_non_null(wait_event(B, LNET_EVENT_PUT, 0, SIM_S));
    assert_int_equal(event_of(B, LNET_EVENT_PUT, 0)->match_bits, 2);
    assert_int_equal(driver(B)->eager_copies, 1);
    on(B);
    memset(there, 0, 100);
    post(1, there, 100, 1, LNET_MD_OP_PUT);
    assert_int_equal(count_of(B, LNET_EVENT_PUT), 2); /* inside of LNetMDAttach */
    expect_filled(there, 100, 4);
    assert_int_equal(driver(B)->eager_copies, 0);
    assert_int_equal(LNetClearLazyPortal(PORTAL), 0);
}

/* A delay rule of the receiver may hold any message: it leaves its mailbox, too. */
TEST_IN(a_delay_rule_holds_messages_of_every_kind, NETWORK)
{
    struct lnet_fault_attr attr = {
        .fa_src = LNET_NID_ANY, .fa_dst = LNET_NID_ANY, .u.delay = {.la_rate = 1, .la_latency = 2}};
    const struct lnet_event *event;

    assert_int_equal(lnet_node_add_delay(lnet_of(B), &attr, NULL, "slow"), 0);
    fill(here, 65536, 4);
    on(B);
    post(1, there, 100, 1, LNET_MD_OP_PUT);
    post(2, there + 100, 65536, 1, LNET_MD_OP_PUT);
    post(3, here, 65536, 1, LNET_MD_OP_GET);
    on(A);
    put_to(gni(B), 1, here, 100);
    put_to(gni(B), 2, here, 65536);
    get_from(gni(B), 3, there + 70000, 65536);
    get_from(gni(B), 4, there + 140000, 100); /* nothing to read: an answer all the same */
    pass(SIM_S);
    assert_int_equal(count_of(B, LNET_EVENT_PUT) + count_of(B, LNET_EVENT_GET), 0);
    assert_int_equal(driver(B)->eager_copies, 4);
    event = wait_event(A, LNET_EVENT_REPLY, 0, 2 * SIM_S);
    assert_non_null(event);
    assert_int_equal(event->status, 0);
    pass(SIM_S);
    assert_int_equal(count_of(B, LNET_EVENT_PUT), 2);
    assert_int_equal(driver(B)->eager_copies, 0);
    expect_filled(there, 100, 4);
    expect_filled(there + 100, 65536, 4);
    expect_filled(there + 70000, 65536, 4);
}

/* ---- flow ------------------------------------------------------------------------------------ */

TEST_IN(floods_in_both_directions_end, NETWORK)
{
    unsigned i, n = 300;

    on(A);
    post(1, there, MIB, -1, LNET_MD_OP_PUT | LNET_MD_MANAGE_REMOTE);
    on(B);
    post(1, there, MIB, -1, LNET_MD_OP_PUT | LNET_MD_MANAGE_REMOTE);
    for (i = 0; i < n; i++) {
        on(A);
        put_to(gni(B), 1, here, i % 3 == 0 ? 20000 : i);
        on(B);
        put_to(gni(A), 1, here, i % 5 == 0 ? 30000 : i);
    }
    assert_non_null(wait_event(A, LNET_EVENT_PUT, n - 1, SIM_S));
    assert_non_null(wait_event(B, LNET_EVENT_PUT, n - 1, SIM_S));
    assert_non_null(wait_event(A, LNET_EVENT_SEND, n - 1, SIM_S));
    assert_non_null(wait_event(B, LNET_EVENT_SEND, n - 1, SIM_S));
    pass(SIM_MS);
    expect_idle(A, B);
    expect_idle(B, A);
}

/* A mailbox of four messages: the rest waits until the peer has taken some. */
TEST_IN(a_full_mailbox_only_delays,
        .settings = {{"networks", "gni(ipogif0)"}, {"kgnilnd.mbox_credits", "4"}})
{
    unsigned i, n = 100;

    on(B);
    post(1, there, MIB, -1, LNET_MD_OP_PUT | LNET_MD_MANAGE_REMOTE);
    on(A);
    for (i = 0; i < n; i++)
        put_to(gni(B), 1, here, 100);
    assert_non_null(wait_event(B, LNET_EVENT_PUT, n - 1, SIM_S));
    assert_non_null(wait_event(A, LNET_EVENT_SEND, n - 1, SIM_S));
    pass(SIM_MS);
    expect_idle(A, B);
}

/* ---- connections ----------------------------------------------------------------------------- */

TEST_IN(both_sides_connect_and_messages_arrive, NETWORK)
{
    on(A);
    post(1, there, MIB, -1, LNET_MD_OP_PUT | LNET_MD_MANAGE_REMOTE);
    put_to(gni(B), 1, here, 10);
    on(B);
    post(1, there, MIB, -1, LNET_MD_OP_PUT | LNET_MD_MANAGE_REMOTE);
    put_to(gni(A), 1, here, 10);
    assert_non_null(wait_event(A, LNET_EVENT_PUT, 0, 10 * SIM_S));
    assert_non_null(wait_event(B, LNET_EVENT_PUT, 0, 10 * SIM_S));
    pass(3 * SIM_S);
    assert_int_equal(connections(A), 1);
    assert_int_equal(connections(B), 1);
}

TEST_IN(lnet_62_a_message_to_the_own_nid_goes_over_the_driver, NETWORK)
{
    const struct lnet_event *event;

    on(A);
    post(1, there, MIB, 1, LNET_MD_OP_PUT);
    put_to(gni(A), 1, here, 10);
    assert_null(event_of(A, LNET_EVENT_PUT, 0));
    event = wait_event(A, LNET_EVENT_PUT, 0, SIM_S);
    assert_non_null(event);
    assert_true(event->source.nid == gni(A));
    event = wait_event(A, LNET_EVENT_SEND, 0, SIM_S);
    assert_non_null(event);
    assert_int_equal(event->status, 0);
}

/* Idle for minutes: NOOPs keep the connection. */
TEST_IN(noops_keep_an_idle_connection, NETWORK)
{
    on(B);
    post(1, there, MIB, 2, LNET_MD_OP_PUT | LNET_MD_MANAGE_REMOTE);
    on(A);
    put_to(gni(B), 1, here, 10);
    assert_non_null(wait_event(B, LNET_EVENT_PUT, 0, SIM_S));
    pass(300 * SIM_S);
    assert_true(sent(A, LNET_GNI_NOOP) >= 9 && sent(A, LNET_GNI_NOOP) <= 13);
    assert_int_equal(connections(A), 1);
    put_to(gni(B), 1, here, 10);
    assert_non_null(wait_event(B, LNET_EVENT_PUT, 1, SIM_S));
}

TEST_IN(a_peer_that_started_again_is_reached, NETWORK)
{
    const struct lnet_event *event = NULL;
    struct lnet_md md;
    struct lnet_handle_eq eq;
    struct lnet_handle_me me;
    struct lnet_handle_md handle;
    unsigned tries;

    on(A);
    put_to(gni(B), 1, here, 10);
    assert_non_null(wait_event(A, LNET_EVENT_SEND, 0, SIM_S));
    on(B);
    assert_int_equal(LNetNIFini(), 0);
    assert_int_equal(LNetNIInit(LNET_PID_LUSTRE), 0);
    assert_int_equal(LNetEQAlloc(4, NULL, &eq), 0);
    md = (struct lnet_md){
        .start = there, .length = 100, .threshold = 1, .options = LNET_MD_OP_PUT, .eq_handle = eq};
    assert_int_equal(LNetMEAttach(PORTAL, anybody, 1, 0, LNET_UNLINK, LNET_INS_AFTER, &me), 0);
    assert_int_equal(LNetMDAttach(me, md, LNET_UNLINK, &handle), 0);
    pass(SIM_MS);
    /* The first message shows that the old connection is dead. */
    on(A);
    for (tries = 1; tries <= 2 && (event == NULL || event->status != 0); tries++) {
        on(A);
        put_to(gni(B), 1, here, 10);
        event = wait_event(A, LNET_EVENT_SEND, tries, 130 * SIM_S);
        assert_non_null(event);
    }
    assert_int_equal(event->status, 0);
    on(B);
    pass(SIM_MS);
    assert_int_equal(LNetEQGet(eq, &(struct lnet_event){0}), 1);
    assert_int_equal(LNetEQFree(eq), 0);
}

TEST_IN(a_peer_without_lnet_is_unreachable, NETWORK)
{
    const struct lnet_event *event;

    on(A);
    put_to(gni(E), 1, here, 10);
    event = wait_event(A, LNET_EVENT_SEND, 0, 60 * SIM_S);
    assert_non_null(event);
    assert_int_equal(event->status, -EHOSTUNREACH);
    assert_int_equal(event->unlinked, 1);
}

TEST_IN(losses_end_each_message_once, NETWORK)
{
    unsigned i, n = 60, good = 0;

    on(B);
    post(1, there, MIB, -1, LNET_MD_OP_PUT | LNET_MD_MANAGE_REMOTE);
    on(A);
    put_to(gni(B), 1, here, 1);
    assert_non_null(wait_event(B, LNET_EVENT_PUT, 0, SIM_S));
    assert_non_null(wait_event(A, LNET_EVENT_SEND, 0, SIM_S));
    lose("aries.packet", 0, 3, 0.02);
    fill(here, MIB, 8);
    for (i = 0; i < n; i++)
        put_to(gni(B), 1, here, i % 2 == 0 ? MIB : 1000);
    assert_non_null(wait_event(A, LNET_EVENT_SEND, n, 600 * SIM_S));
    assert_int_equal(count_of(A, LNET_EVENT_SEND), n + 1);
    for (i = 0; i <= n; i++)
        good += event_of(A, LNET_EVENT_SEND, i)->status == 0;
    assert_true(good > 0);
    pass(SIM_S);
    assert_true(count_of(B, LNET_EVENT_PUT) >= good);
    expect_idle(A, B);
}

/* ---- LNetCtl of the driver ------------------------------------------------------------------- */

static int control(unsigned command, struct libcfs_ioctl_data *data)
{
    data->ioc_net = LNET_NIDNET(gni(A));
    return LNetCtl(command, data);
}

TEST_IN(control_of_peers_and_connections, NETWORK)
{
    struct libcfs_ioctl_data data = {.ioc_count = 0};

    on(A);
    assert_int_equal(control(IOC_LIBCFS_GET_PEER, &data), -ENOENT);
    on(B);
    post(1, there, 64, 2, LNET_MD_OP_PUT | LNET_MD_MANAGE_REMOTE);
    on(A);
    put_to(gni(B), 1, here, 8);
    assert_non_null(wait_event(B, LNET_EVENT_PUT, 0, SIM_S));
    assert_non_null(wait_event(A, LNET_EVENT_SEND, 0, SIM_S)); /* nothing is to be sent again */
    assert_int_equal(control(IOC_LIBCFS_GET_PEER, &data), 0);
    assert_true(data.ioc_nid == gni(B));
    assert_int_equal(data.ioc_count, 1); /* connections */
    data.ioc_count = 0;
    assert_int_equal(control(IOC_LIBCFS_GET_CONN, &data), 0);
    assert_true(data.ioc_nid == gni(B));
    data.ioc_count = 1;
    assert_int_equal(control(IOC_LIBCFS_GET_CONN, &data), -ENOENT);
    data.ioc_nid = gni(C);
    assert_int_equal(control(IOC_LIBCFS_CLOSE_CONNECTION, &data), -ENOENT);
    data.ioc_nid = gni(B);
    assert_int_equal(control(IOC_LIBCFS_CLOSE_CONNECTION, &data), 0);
    pass(SIM_S);
    data.ioc_count = 0;
    assert_int_equal(control(IOC_LIBCFS_GET_CONN, &data), -ENOENT);
    assert_int_equal(control(IOC_LIBCFS_ADD_PEER, &data), -EINVAL);
    put_to(gni(B), 1, here, 8); /* connects again */
    assert_non_null(wait_event(B, LNET_EVENT_PUT, 1, 2 * SIM_S));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(puts_of_all_sizes_arrive),
        cmocka_unit_test(gets_of_all_sizes_arrive),
        cmocka_unit_test(lnet_58_a_mebibyte_in_256_pages),
        cmocka_unit_test(lnet_72_gni_immediate_to_2048_bytes),
        cmocka_unit_test(lnet_69_gni_unmatched_puts),
        cmocka_unit_test(lnet_70_gni_unmatched_bulk_get),
        cmocka_unit_test(lnet_56_an_optimized_get_needs_two_operations),
        cmocka_unit_test(a_bulk_get_may_return_less),
        cmocka_unit_test(lnet_68_gni_later_messages_pass_a_delayed_one),
        cmocka_unit_test(a_delay_rule_holds_messages_of_every_kind),
        cmocka_unit_test(floods_in_both_directions_end),
        cmocka_unit_test(a_full_mailbox_only_delays),
        cmocka_unit_test(both_sides_connect_and_messages_arrive),
        cmocka_unit_test(lnet_62_a_message_to_the_own_nid_goes_over_the_driver),
        cmocka_unit_test(noops_keep_an_idle_connection),
        cmocka_unit_test(a_peer_that_started_again_is_reached),
        cmocka_unit_test(a_peer_without_lnet_is_unreachable),
        cmocka_unit_test(losses_end_each_message_once),
        cmocka_unit_test(control_of_peers_and_connections),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
