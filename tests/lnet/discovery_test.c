/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Peer discovery, and peers with several NIDs. */
#include "world.h"

static char memory[8192];
static char data[8192];

#define TWO_RAILS \
    .settings = {{"networks", "tcp(eth0,eth1)"}, {"lnet_peer_discovery_disabled", "0"}}

static lnet_nid_t second(unsigned node)
{
    return LNET_MKNID(LNET_MKNET(SOCKLND, 0), 0x0a020001 + node);
}

static void receive(void)
{
    on(B);
    post(7, memory, 8192, LNET_MD_THRESH_INF,
         LNET_MD_OP_PUT | LNET_MD_OP_GET | LNET_MD_MANAGE_REMOTE);
}

TEST_IN(both_rails_are_used, .nodes = 2, TWO_RAILS)
{
    unsigned i, from_second = 0;

    receive();
    on(A);
    assert_int_equal(LNetGetPeerDiscoveryStatus(), 1);
    for (i = 0; i < 10; i++) {
        put(B, 7, data, 8);
        pass(SIM_MS);
    }
    assert_int_equal(count_of(B, LNET_EVENT_PUT), 10);
    for (i = 0; i < 10; i++) {
        const struct lnet_event *e = event_of(B, LNET_EVENT_PUT, i);

        assert_int_equal(e->initiator.nid, tcp(A)); /* the primary NID, whatever the rail */
        from_second += e->source.nid == second(A);
    }
    assert_int_equal(from_second, 5);
    assert_true(peer_of(A, tcp(B))->peer->multi_rail);
    assert_ptr_equal(peer_of(A, tcp(B))->peer, peer_of(A, second(B))->peer);
    assert_ptr_equal(peer_of(B, tcp(A))->peer, peer_of(B, second(A))->peer); /* by the push */
    assert_true(peer_of(B, tcp(A))->peer->up_to_date);
    /* Messages of the peer's own to us need no discovery; a ping and a push were sent in all. */
    assert_int_equal(ni_of(A, tcp(A))->sent.get + ni_of(A, second(A))->sent.get, 1);
    assert_int_equal(ni_of(A, tcp(A))->sent.put + ni_of(A, second(A))->sent.put, 11);
}

TEST_IN(order_of_waiting_messages, .nodes = 2, TWO_RAILS)
{
    unsigned i;

    receive();
    on(A);
    wire.hold = true;
    for (i = 0; i < 5; i++)
        assert_int_equal(
            LNetPut(tcp(A), bind_md(data, 8, 1), LNET_NOACK_REQ, id_of(tcp(B)), PORTAL, 7, 0, i),
            0);
    assert_int_equal(wire.held, 1); /* the ping */
    wire.hold = false;
    wire_release(1);
    pass(SIM_MS);
    for (i = 0; i < 5; i++) {
        assert_int_equal(event_of(B, LNET_EVENT_PUT, i)->hdr_data, i);
        assert_int_equal(event_of(B, LNET_EVENT_PUT, i)->source.nid, tcp(A));
    }
}

TEST_IN(answers_return_by_the_same_rail, .nodes = 2, TWO_RAILS)
{
    unsigned i;

    receive();
    on(A);
    for (i = 0; i < 4; i++) {
        get(B, 7, data, 8);
        pass(SIM_MS);
    }
    for (i = 0; i < 4; i++)
        assert_int_equal(event_of(A, LNET_EVENT_REPLY, i)->target.nid,
                         event_of(B, LNET_EVENT_GET, i)->source.nid);
}

TEST_IN(primary_nid, .nodes = 2, TWO_RAILS)
{
    assert_int_equal(LNetPrimaryNID(second(B)), tcp(B));
    assert_int_equal(LNetPrimaryNID(LNET_NID_LO_0), LNET_NID_LO_0);
    assert_int_equal(LNetPrimaryNID(second(A)), second(A));
}

/* The better rail is used until the other one is as healthy. */
TEST_IN(unhealthy_rail, .nodes = 2,
        .settings = {{"networks", "tcp(eth0,eth1)"},
                     {"lnet_peer_discovery_disabled", "0"},
                     {"lnet_recovery_interval", "1000"}})
{
    unsigned i;

    receive();
    on(A);
    put(B, 7, data, 8);
    pass(SIM_MS);
    ni_of(A, second(A))->health = 900;
    forget();
    for (i = 0; i < 6; i++) {
        put(B, 7, data, 8);
        pass(SIM_MS);
    }
    for (i = 0; i < 6; i++)
        assert_int_equal(event_of(B, LNET_EVENT_PUT, i)->source.nid, tcp(A));
}

/* A peer that does not answer: what waited is sent anyway. */
TEST_IN(discovery_fails, .nodes = 2, .unbalanced = true,
        .settings = {{"networks", "tcp(eth0)"}, {"lnet_peer_discovery_disabled", "0"}})
{
    receive();
    on(A);
    wire.swallow = true;
    put(B, 7, data, 8);
    pass(40 * SIM_S);
    assert_int_equal(seen_count, 0);
    wire.swallow = false;
    pass(40 * SIM_S);
    assert_int_equal(count_of(B, LNET_EVENT_PUT), 1);
    assert_int_equal(event_of(A, LNET_EVENT_SEND, 0)->status, 0);
}

/* One that knows no discovery is used by the NID that was given. */
TEST_IN(plain_peer, .nodes = 2,
        .own = {{{"networks", "tcp(eth0,eth1)"}, {"lnet_peer_discovery_disabled", "0"}},
                {{"networks", "tcp(eth0,eth1)"}}})
{
    receive();
    on(A);
    put(B, 7, data, 8);
    put(B, 7, data, 8);
    pass(SIM_MS);
    assert_int_equal(count_of(B, LNET_EVENT_PUT), 2);
    assert_int_equal(ni_of(A, tcp(A))->sent.put + ni_of(A, second(A))->sent.put, 2); /* no push */
}

TEST_IN(stops_while_discovering, .nodes = 2, .unbalanced = true, TWO_RAILS)
{
    on(A);
    wire.swallow = true;
    put(B, 7, data, 8);
    pass(SIM_MS);
    assert_int_equal(LNetNIFini(), 0);
    assert_int_equal(count_of(A, LNET_EVENT_SEND), 1);
    assert_int_equal(event_of(A, LNET_EVENT_SEND, 0)->status, -ESHUTDOWN);
    assert_int_equal(counters(A).lct_common.lcc_msgs_alloc, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_rails_are_used),
        cmocka_unit_test(order_of_waiting_messages),
        cmocka_unit_test(answers_return_by_the_same_rail),
        cmocka_unit_test(primary_nid),
        cmocka_unit_test(unhealthy_rail),
        cmocka_unit_test(discovery_fails),
        cmocka_unit_test(plain_peer),
        cmocka_unit_test(stops_while_discovering),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
