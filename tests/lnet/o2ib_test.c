/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* o2iblnd between nodes on a simulated InfiniBand network. */
#include <errno.h>
#include "lnd/o2ib/o2ib.h"
#include "networks.h"

#define MIB (1u << 20)
#define NETWORK .settings = {{"networks", "o2ib(ib0)"}}

static uint8_t there[MIB], here[MIB];

static struct lnet_ib_ni *driver(unsigned node)
{
    return ni_of(node, o2ib(node))->driver;
}

static uint32_t sent(unsigned node, enum lnet_ib_type type)
{
    return driver(node)->sent[lnet_ib_type_index(type)];
}

static unsigned connections(unsigned node, unsigned peer)
{
    struct lnet_ib_peer *found = lnet_ib_peer_get(driver(node), o2ib(peer), false);
    struct lnet_ib_conn *conn;
    unsigned count = 0;

    if (found != NULL)
        list_for_each_entry (conn, &found->conns, on_peer)
            count++;
    return count;
}

/* All receive buffers are free, or owed to the peer, and nothing is under way. */
static void expect_credits(unsigned node, unsigned peer)
{
    struct lnet_ib_peer *found = lnet_ib_peer_get(driver(node), o2ib(peer), false);
    struct lnet_ib_conn *conn, *other;

    assert_non_null(found);
    conn = list_first_entry(&found->conns, struct lnet_ib_conn, on_peer);
    found = lnet_ib_peer_get(driver(peer), o2ib(node), false);
    other = list_first_entry(&found->conns, struct lnet_ib_conn, on_peer);
    assert_int_equal(conn->credits + other->owed, conn->queue_depth);
    assert_int_equal(conn->reserved, conn->queue_depth);
    assert_int_equal(conn->posted, 0);
    assert_true(list_empty(&conn->active) && list_empty(&conn->queue) &&
                list_empty(&conn->reserved_queue));
}

/* ---- data ------------------------------------------------------------------------------------ */

static const unsigned sizes[] = {0,    1,     63,    3975,  3976,   3977,
                                 4096, 65535, 65536, 65537, 300000, MIB};

TEST_IN(puts_of_all_sizes_arrive, NETWORK)
{
    unsigned i;

    for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        const struct lnet_event *event;

        forget();
        memset(there, 0xee, sizeof(there));
        fill(here, sizes[i], i);
        on(B);
        post(i, there, MIB, 1, LNET_MD_OP_PUT);
        on(A);
        put_to(o2ib(B), i, here, sizes[i]);
        event = wait_event(B, LNET_EVENT_PUT, 0, SIM_S);
        assert_non_null(event);
        assert_int_equal(event->status, 0);
        assert_int_equal(event->mlength, sizes[i]);
        assert_true(event->initiator.nid == o2ib(A) && event->sender == o2ib(A));
        expect_filled(there, sizes[i], i);
        if (sizes[i] < MIB)
            assert_int_equal(there[sizes[i]], 0xee);
        event = wait_event(A, LNET_EVENT_SEND, 0, SIM_S);
        assert_non_null(event);
        assert_int_equal(event->status, 0);
        assert_int_equal(event->unlinked, 1);
    }
    pass(SIM_MS);
    expect_credits(A, B);
    expect_credits(B, A);
}

TEST_IN(gets_of_all_sizes_arrive, NETWORK)
{
    unsigned i;

    for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        const struct lnet_event *event;
        unsigned last = seen_count;

        forget();
        (void)last;
        memset(here, 0xee, sizeof(here));
        fill(there, sizes[i], i);
        on(B);
        post(i, there, sizes[i], 1, LNET_MD_OP_GET);
        on(A);
        get_from(o2ib(B), i, here, sizes[i]);
        event = wait_event(A, LNET_EVENT_REPLY, 0, SIM_S);
        assert_non_null(event);
        assert_int_equal(event->status, 0);
        assert_int_equal(event->mlength, sizes[i]);
        expect_filled(here, sizes[i], i);
        assert_non_null(wait_event(A, LNET_EVENT_SEND, 0, SIM_S));
        event = wait_event(B, LNET_EVENT_GET, 0, SIM_S);
        assert_non_null(event);
        assert_int_equal(event->mlength, sizes[i]);
    }
    pass(SIM_MS);
    expect_credits(A, B);
    expect_credits(B, A);
}

/* 256 fragments of a page each, on both sides. */
TEST_IN(lnet_58_a_mebibyte_in_256_pages, NETWORK)
{
    static struct kvec to[LNET_MAX_IOV], from[LNET_MAX_IOV];
    struct lnet_md md;
    struct lnet_handle_md handle;
    unsigned i;

    fill(here, MIB, 5);
    for (i = 0; i < LNET_MAX_IOV; i++) {
        to[i] = (struct kvec){there + (size_t)(LNET_MAX_IOV - 1 - i) * 4096, 4096};
        from[i] = (struct kvec){here + (size_t)i * 4096, 4096};
    }
    on(B);
    md = md_of(to, LNET_MAX_IOV, 1, LNET_MD_OP_PUT | LNET_MD_IOVEC);
    attach(entry(9, 0), md);
    on(A);
    md = md_of(from, LNET_MAX_IOV, 1, LNET_MD_IOVEC);
    assert_int_equal(LNetMDBind(md, LNET_UNLINK, &handle), 0);
    assert_int_equal(LNetPut(LNET_NID_ANY, handle, LNET_NOACK_REQ, id_of(o2ib(B)), PORTAL, 9, 0, 0),
                     0);
    assert_non_null(wait_event(B, LNET_EVENT_PUT, 0, SIM_S));
    for (i = 0; i < LNET_MAX_IOV; i++)
        assert_memory_equal(to[i].iov_base, from[i].iov_base, 4096);
    assert_int_equal(sent(A, LNET_IB_PUT_REQ), 1);
}

/* ---- the protocol ---------------------------------------------------------------------------- */

TEST_IN(lnet_72_o2ib_immediate_to_3976_bytes, NETWORK)
{
    on(B);
    post(1, there, MIB, 2, LNET_MD_OP_PUT);
    on(A);
    put_to(o2ib(B), 1, here, 3976);
    assert_non_null(wait_event(B, LNET_EVENT_PUT, 0, SIM_S));
    assert_int_equal(sent(A, LNET_IB_IMMEDIATE), 1);
    assert_int_equal(sent(A, LNET_IB_PUT_REQ), 0);
    put_to(o2ib(B), 1, here, 3977);
    assert_non_null(wait_event(B, LNET_EVENT_PUT, 1, SIM_S));
    assert_int_equal(sent(A, LNET_IB_IMMEDIATE), 1);
    assert_int_equal(sent(A, LNET_IB_PUT_REQ), 1);
    assert_int_equal(sent(B, LNET_IB_PUT_ACK), 1);
    assert_int_equal(sent(A, LNET_IB_PUT_DONE), 1);
}

TEST_IN(lnet_69_o2ib_unmatched_put_is_sent_well, NETWORK)
{
    const struct lnet_event *event;
    unsigned i;

    on(A);
    for (i = 0; i < 2; i++) {
        put_to(o2ib(B), 1, here, i == 0 ? 100 : 100000);
        event = wait_event(A, LNET_EVENT_SEND, i, SIM_S);
        assert_non_null(event);
        assert_int_equal(event->status, 0);
    }
    assert_int_equal(sent(B, LNET_IB_PUT_NAK), 1);
    assert_int_equal(counters(B).lct_common.lcc_drop_count, 2);
    pass(SIM_MS);
    expect_credits(A, B);
}

TEST_IN(lnet_70_o2ib_unmatched_bulk_get_has_no_data, NETWORK)
{
    on(A);
    get_from(o2ib(B), 1, here, 100000);
    assert_non_null(wait_event(A, LNET_EVENT_REPLY, 0, SIM_S));
    assert_string_equal(kinds(), "SR"); /* the request first */
    assert_int_equal(event_of(A, LNET_EVENT_SEND, 0)->status, -ENODATA);
    assert_int_equal(event_of(A, LNET_EVENT_REPLY, 0)->status, -ENODATA);
    assert_int_equal(event_of(A, LNET_EVENT_REPLY, 0)->unlinked, 1);
    assert_int_equal(sent(B, LNET_IB_GET_DONE), 1);
}

TEST_IN(lnet_56_an_optimized_get_needs_two_operations, NETWORK)
{
    const struct lnet_event *event;

    on(A);
    assert_int_equal(
        LNetGet(LNET_NID_ANY, bind_md(here, 100000, 1), id_of(o2ib(B)), PORTAL, 1, 0, false), 0);
    event = wait_event(A, LNET_EVENT_SEND, 0, SIM_S);
    assert_non_null(event);
    assert_int_equal(event->status, -EIO);
    assert_int_equal(event->unlinked, 1);
    pass(SIM_MS);
    assert_string_equal(kinds(), "S");
}

/* A short GET that truncates tells the initiator how much came. */
TEST_IN(a_bulk_get_may_return_less, NETWORK)
{
    const struct lnet_event *event;

    fill(there, 50000, 3);
    on(B);
    post(1, there, 50000, 1, LNET_MD_OP_GET | LNET_MD_TRUNCATE);
    on(A);
    memset(here, 0xee, MIB);
    get_from(o2ib(B), 1, here, 100000);
    event = wait_event(A, LNET_EVENT_REPLY, 0, SIM_S);
    assert_non_null(event);
    assert_int_equal(event->status, 0);
    assert_int_equal(event->mlength, 50000);
    expect_filled(here, 50000, 3);
    assert_int_equal(here[50000], 0xee);
}

/* ---- credits --------------------------------------------------------------------------------- */

/* More messages than any credit, in both directions at once. */
TEST_IN(floods_in_both_directions_end, NETWORK)
{
    unsigned i, n = 300;

    on(A);
    post(1, there, MIB, -1, LNET_MD_OP_PUT | LNET_MD_MANAGE_REMOTE);
    on(B);
    post(1, there, MIB, -1, LNET_MD_OP_PUT | LNET_MD_MANAGE_REMOTE);
    for (i = 0; i < n; i++) {
        on(A);
        put_to(o2ib(B), 1, here, i % 3 == 0 ? 20000 : i);
        on(B);
        put_to(o2ib(A), 1, here, i % 5 == 0 ? 30000 : i);
    }
    assert_non_null(wait_event(A, LNET_EVENT_PUT, n - 1, SIM_S));
    assert_non_null(wait_event(B, LNET_EVENT_PUT, n - 1, SIM_S));
    assert_non_null(wait_event(A, LNET_EVENT_SEND, n - 1, SIM_S));
    assert_non_null(wait_event(B, LNET_EVENT_SEND, n - 1, SIM_S));
    pass(SIM_MS);
    expect_credits(A, B);
    expect_credits(B, A);
    assert_int_equal(peer_of(A, o2ib(B))->tx_credits, 8);
    assert_int_equal(ni_of(A, o2ib(A))->tx_credits, 256);
}

/* Nothing goes back that could carry credits: NOOPs return them. */
TEST_IN(noops_return_credits, NETWORK)
{
    unsigned i, n = 64;

    on(B);
    post(1, there, MIB, -1, LNET_MD_OP_PUT | LNET_MD_MANAGE_REMOTE);
    on(A);
    for (i = 0; i < n; i++)
        put_to(o2ib(B), 1, here, 8);
    assert_non_null(wait_event(B, LNET_EVENT_PUT, n - 1, SIM_S));
    /* A NOOP for each half of the queue depth of 8. */
    assert_true(sent(B, LNET_IB_NOOP) >= n / 8 && sent(B, LNET_IB_NOOP) <= n / 2);
    pass(101 * SIM_S); /* keepalive */
    assert_true(sent(A, LNET_IB_NOOP) >= 1);
    assert_int_equal(connections(A, B), 1);
}

/* ---- connections ----------------------------------------------------------------------------- */

TEST_IN(both_sides_connect_and_one_connection_stays, NETWORK)
{
    on(A);
    post(1, there, MIB, -1, LNET_MD_OP_PUT | LNET_MD_MANAGE_REMOTE);
    put_to(o2ib(B), 1, here, 10);
    on(B);
    post(1, there, MIB, -1, LNET_MD_OP_PUT | LNET_MD_MANAGE_REMOTE);
    put_to(o2ib(A), 1, here, 10);
    assert_non_null(wait_event(A, LNET_EVENT_PUT, 0, SIM_S));
    assert_non_null(wait_event(B, LNET_EVENT_PUT, 0, SIM_S));
    assert_int_equal(connections(A, B), 1);
    assert_int_equal(connections(B, A), 1);
    /* It is the one that the higher NID, B, has made. */
    assert_false(list_first_entry(&lnet_ib_peer_get(driver(B), o2ib(A), false)->conns,
                                  struct lnet_ib_conn, on_peer)
                     ->passive);
}

TEST_IN(lnet_62_a_message_to_the_own_nid_goes_over_the_driver, NETWORK)
{
    const struct lnet_event *event;

    on(A);
    post(1, there, MIB, 1, LNET_MD_OP_PUT);
    put_to(o2ib(A), 1, here, 10);
    assert_null(event_of(A, LNET_EVENT_PUT, 0));
    event = wait_event(A, LNET_EVENT_PUT, 0, SIM_S);
    assert_non_null(event);
    assert_true(event->source.nid == o2ib(A));
}

TEST_IN(a_peer_that_started_again_is_reached, NETWORK)
{
    const struct lnet_event *event;
    struct lnet_md md;
    struct lnet_handle_eq eq;
    struct lnet_handle_me me;
    struct lnet_handle_md handle;

    on(A);
    put_to(o2ib(B), 1, here, 10);
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
    on(A);
    put_to(o2ib(B), 1, here, 10);
    event = wait_event(A, LNET_EVENT_SEND, 1, 10 * SIM_S);
    assert_non_null(event);
    assert_int_equal(event->status, 0);
    on(B);
    assert_int_equal(LNetEQGet(eq, &(struct lnet_event){0}), 1);
    assert_int_equal(LNetEQFree(eq), 0);
}

TEST_IN(an_unknown_peer_is_unreachable, NETWORK)
{
    const struct lnet_event *event;

    on(A);
    put_to(o2ib(E), 1, here, 10); /* no such node */
    event = wait_event(A, LNET_EVENT_SEND, 0, 60 * SIM_S);
    assert_non_null(event);
    assert_int_equal(event->status, -EHOSTUNREACH);
    assert_int_equal(event->unlinked, 1);
}

/* Some packets are lost: nobody notices but by the time. */
TEST_IN(losses_change_no_data, NETWORK)
{
    unsigned i, n = 40;

    on(B);
    post(1, there, MIB, -1, LNET_MD_OP_PUT | LNET_MD_MANAGE_REMOTE);
    on(A);
    put_to(o2ib(B), 1, here, 1);
    assert_non_null(wait_event(B, LNET_EVENT_PUT, 0, SIM_S));
    lose("net.packet", 0, 30, 0.1);
    fill(here, MIB, 8);
    for (i = 0; i < n; i++)
        put_to(o2ib(B), 1, here, i % 2 == 0 ? MIB : 1000);
    assert_non_null(wait_event(B, LNET_EVENT_PUT, n, 60 * SIM_S));
    assert_non_null(wait_event(A, LNET_EVENT_SEND, n, 60 * SIM_S));
    for (i = 0; i <= n; i++)
        assert_int_equal(event_of(A, LNET_EVENT_SEND, i)->status, 0);
    expect_filled(there, MIB, 8);
}

/* Nothing gets through any more: the connection fails, and each message ends once. */
TEST_IN(a_dead_network_ends_messages, NETWORK)
{
    unsigned i, n = 20;

    on(B);
    post(1, there, MIB, -1, LNET_MD_OP_PUT | LNET_MD_MANAGE_REMOTE);
    on(A);
    put_to(o2ib(B), 1, here, 1);
    assert_non_null(wait_event(B, LNET_EVENT_PUT, 0, SIM_S));
    assert_non_null(wait_event(A, LNET_EVENT_SEND, 0, SIM_S));
    lose("net.packet", 0, 0, 1.0);
    for (i = 0; i < n; i++)
        put_to(o2ib(B), 1, here, i % 2 == 0 ? 100000 : 1000);
    assert_non_null(wait_event(A, LNET_EVENT_SEND, n, 200 * SIM_S));
    for (i = 1; i <= n; i++) {
        assert_true(event_of(A, LNET_EVENT_SEND, i)->status < 0);
        assert_int_equal(event_of(A, LNET_EVENT_SEND, i)->unlinked, 1);
    }
    assert_int_equal(count_of(A, LNET_EVENT_SEND), n + 1);
    assert_int_equal(peer_of(A, o2ib(B))->tx_credits, 8);
}

/* ---- LNetCtl of the driver ------------------------------------------------------------------- */

static int control(unsigned command, struct libcfs_ioctl_data *data)
{
    data->ioc_net = LNET_NIDNET(o2ib(A));
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
    put_to(o2ib(B), 1, here, 8);
    assert_non_null(wait_event(B, LNET_EVENT_PUT, 0, SIM_S));
    assert_non_null(wait_event(A, LNET_EVENT_SEND, 0, SIM_S)); /* nothing is to be sent again */
    assert_int_equal(control(IOC_LIBCFS_GET_PEER, &data), 0);
    assert_true(data.ioc_nid == o2ib(B));
    assert_int_equal(data.ioc_count, 1); /* connections */
    data.ioc_count = 0;
    assert_int_equal(control(IOC_LIBCFS_GET_CONN, &data), 0);
    assert_true(data.ioc_nid == o2ib(B));
    assert_int_equal(data.ioc_u32[0], 4096); /* the path's MTU */
    data.ioc_count = 1;
    assert_int_equal(control(IOC_LIBCFS_GET_CONN, &data), -ENOENT);
    data.ioc_nid = o2ib(C);
    assert_int_equal(control(IOC_LIBCFS_CLOSE_CONNECTION, &data), -ENOENT);
    data.ioc_nid = o2ib(B);
    assert_int_equal(control(IOC_LIBCFS_CLOSE_CONNECTION, &data), 0);
    data.ioc_count = 0;
    assert_int_equal(control(IOC_LIBCFS_GET_CONN, &data), -ENOENT);
    pass(SIM_S);
    data.ioc_count = 0;
    assert_int_equal(control(IOC_LIBCFS_GET_CONN, &data), -ENOENT);
    assert_int_equal(control(IOC_LIBCFS_ADD_PEER, &data), -EINVAL);
    put_to(o2ib(B), 1, here, 8); /* connects again */
    assert_non_null(wait_event(B, LNET_EVENT_PUT, 1, 2 * SIM_S));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(puts_of_all_sizes_arrive),
        cmocka_unit_test(gets_of_all_sizes_arrive),
        cmocka_unit_test(lnet_58_a_mebibyte_in_256_pages),
        cmocka_unit_test(lnet_72_o2ib_immediate_to_3976_bytes),
        cmocka_unit_test(lnet_69_o2ib_unmatched_put_is_sent_well),
        cmocka_unit_test(lnet_70_o2ib_unmatched_bulk_get_has_no_data),
        cmocka_unit_test(lnet_56_an_optimized_get_needs_two_operations),
        cmocka_unit_test(a_bulk_get_may_return_less),
        cmocka_unit_test(floods_in_both_directions_end),
        cmocka_unit_test(noops_return_credits),
        cmocka_unit_test(both_sides_connect_and_one_connection_stays),
        cmocka_unit_test(lnet_62_a_message_to_the_own_nid_goes_over_the_driver),
        cmocka_unit_test(a_peer_that_started_again_is_reached),
        cmocka_unit_test(an_unknown_peer_is_unreachable),
        cmocka_unit_test(losses_change_no_data),
        cmocka_unit_test(a_dead_network_ends_messages),
        cmocka_unit_test(control_of_peers_and_connections),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
