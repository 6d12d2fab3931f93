/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Transmit credits and the order of messages. */
#include "world.h"

static char memory[8192];
static char data[8192];

TEST(lnet_74_peer_credits)
{
    const struct lnet_peer_ni *peer;
    unsigned i;

    on(B);
    post(7, memory, 8192, LNET_MD_THRESH_INF, LNET_MD_OP_PUT);
    on(A);
    wire.hold = true;
    for (i = 0; i < 8; i++)
        put(B, 7, data, 8);
    peer = peer_of(A, tcp(B));
    assert_int_equal(wire.held, 8);
    assert_int_equal(peer->tx_credits, 0);
    put(B, 7, data, 8);
    assert_int_equal(wire.held, 8);
    assert_int_equal(peer->tx_credits, -1);
    assert_int_equal(peer->tx_credits_min, -1);
    put(B, 7, data, 8);
    assert_int_equal(peer->tx_credits, -2);
    assert_int_equal(peer->tx_queued_bytes, 10 * 80);
    wire_release(1);
    pass(SIM_MS);
    assert_int_equal(count_of(A, LNET_EVENT_SEND), 1);
    assert_int_equal(wire.held, 8); /* the ninth has started */
    assert_int_equal(peer->tx_credits, -1);
    wire.hold = false;
    wire_release(8);
    pass(SIM_MS);
    assert_int_equal(count_of(B, LNET_EVENT_PUT), 10);
    assert_int_equal(peer->tx_credits, 8);
    assert_int_equal(peer->tx_credits_min, -2);
    assert_int_equal(peer->tx_queued_bytes, 0);
}

TEST_IN(lnet_75_ni_credits, .nodes = 6, .settings = {{"ksocklnd.credits", "10"}})
{
    const struct lnet_ni *ni;
    unsigned i;

    wire.hold = true;
    ni = ni_of(A, tcp(A));
    assert_int_equal(ni->tx_credits, 10);
    for (i = 0; i < 10; i++)
        put(B + i % 5, 7, data, 8);
    assert_int_equal(ni->tx_credits, 0);
    put(B, 7, data, 8);
    put(C, 7, data, 8);
    assert_int_equal(ni->tx_credits, -2);
    assert_int_equal(ni->tx_credits_min, -2);
    assert_int_equal(wire.held, 10);
    assert_int_equal(peer_of(A, tcp(B))->tx_credits, 8 - 3); /* it holds its peer's credit */
    wire_release(1);
    pass(SIM_MS);
    assert_int_equal(ni->tx_credits, -1);
    assert_int_equal(wire.held, 10);
    wire.hold = false;
    wire_release(10);
    pass(SIM_MS);
    assert_int_equal(ni->tx_credits, 10);
}

TEST_IN(lnet_75_default_credits, .nodes = 2, .settings = {{"ksocklnd.peer_credits", "1000"}})
{
    unsigned i;

    wire.hold = true;
    assert_int_equal(ni_of(A, tcp(A))->peer_credits, 256); /* cut to the NI's */
    for (i = 0; i < 257; i++)
        put(B, 7, data, 8);
    assert_int_equal(wire.held, 256);
    assert_int_equal(peer_of(A, tcp(B))->tx_credits, -1);
    wire.hold = false;
    wire_release(256);
    pass(SIM_MS);
    assert_int_equal(count_of(A, LNET_EVENT_SEND), 257);
}

static void all_credits_back(unsigned node)
{
    const struct lnet_peer *peer;
    const struct lnet_peer_ni *peer_ni;
    const struct lnet_ni *ni = ni_of(node, tcp(node));

    assert_int_equal(ni->tx_credits, ni->credits);
    list_for_each_entry (peer, &lnet_of(node)->instance->peers, on_node) {
        list_for_each_entry (peer_ni, &peer->nis, on_peer) {
            assert_int_equal(peer_ni->tx_credits, 8);
            assert_int_equal(peer_ni->tx_queued_bytes, 0);
        }
    }
}

TEST(lnet_76_credits_return)
{
    unsigned i;

    on(B);
    post(7, memory, 8192, LNET_MD_THRESH_INF, LNET_MD_OP_PUT | LNET_MD_OP_GET);
    on(A);
    for (i = 0; i < 30; i++) {
        put_ack(B, 7, data, 100);
        get(B, 7, data, 100);
        put(B, 99, data, 100);
    }
    pass(10 * SIM_MS);
    all_credits_back(A);
    all_credits_back(B);

    forget();
    wire.fail = 20; /* errors */
    wire.fail_status = -EIO;
    wire.fail_health = LNET_MSG_STATUS_LOCAL_ERROR;
    for (i = 0; i < 30; i++)
        put(B, 7, data, 100);
    pass(10 * SIM_MS);
    assert_int_equal(count_of(A, LNET_EVENT_SEND), 30);
    all_credits_back(A);

    forget();
    wire.hold = true; /* cancellation */
    for (i = 0; i < 20; i++) {
        struct lnet_handle_md md = bind_md(data, 8, 1);

        assert_int_equal(LNetPut(LNET_NID_ANY, md, LNET_NOACK_REQ, id_of(tcp(B)), PORTAL, 7, 0, 0),
                         0);
        if (i >= 5)
            assert_int_equal(LNetMDUnlink(md), 0);
    }
    wire.hold = false;
    wire_release(20);
    pass(10 * SIM_MS);
    assert_int_equal(count_of(A, LNET_EVENT_SEND), 20);
    all_credits_back(A);
    all_credits_back(B);
}

TEST(lnet_77_cancelled_in_queue)
{
    struct lnet_handle_md md;
    unsigned i, cancelled = 0;

    wire.hold = true;
    for (i = 0; i < 8; i++)
        put(B, 7, data, 8);
    md = bind_md(data, 8, 1);
    assert_int_equal(LNetPut(LNET_NID_ANY, md, LNET_NOACK_REQ, id_of(tcp(B)), PORTAL, 7, 0, 77), 0);
    put(B, 7, data, 8);
    assert_int_equal(LNetMDUnlink(md), 0);
    assert_int_equal(seen_count, 0);
    wire_release(1);
    pass(SIM_MS);
    for (i = 0; i < seen_count; i++) {
        if (seen[i].event.hdr_data != 77)
            continue;
        cancelled++;
        assert_int_equal(seen[i].event.status, -ECANCELED);
        assert_int_equal(seen[i].event.unlinked, 1);
    }
    assert_int_equal(cancelled, 1);
    assert_int_equal(wire.held, 8); /* the one behind it has taken its place */
    wire.hold = false;
    wire_release(8);
    pass(SIM_MS);
    assert_int_equal(wire.sent, 9);
}

TEST(lnet_78_order)
{
    unsigned i;

    on(B);
    post(7, memory, 8192, LNET_MD_THRESH_INF, LNET_MD_OP_PUT | LNET_MD_MANAGE_REMOTE);
    on(A);
    for (i = 0; i < 500; i++) {
        assert_int_equal(LNetPut(LNET_NID_ANY, bind_md(data, i % 50, 1), LNET_NOACK_REQ,
                                 id_of(tcp(B)), PORTAL, 7, 0, i),
                         0);
        if (i % 100 == 0)
            pass(3 * SIM_US);
    }
    pass(10 * SIM_MS);
    assert_int_equal(count_of(B, LNET_EVENT_PUT), 500);
    for (i = 0; i < 500; i++) {
        assert_int_equal(event_of(B, LNET_EVENT_PUT, i)->hdr_data, i);
        assert_int_equal(event_of(A, LNET_EVENT_SEND, i)->hdr_data, i);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lnet_74_peer_credits),       cmocka_unit_test(lnet_75_ni_credits),
        cmocka_unit_test(lnet_75_default_credits),    cmocka_unit_test(lnet_76_credits_return),
        cmocka_unit_test(lnet_77_cancelled_in_queue), cmocka_unit_test(lnet_78_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
