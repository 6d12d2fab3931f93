/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What gnilnd does when the NIC reports errors. */
#include <aries/misc/exceptions.h>
#include <engine/fault.h>
#include <errno.h>
#include <net/net.h>
#include "lnd/gni/gni.h"
#include "networks.h"

#define MIB (1u << 20)
#define NETWORK .settings = {{"networks", "gni(ipogif0)"}}

static uint8_t there[MIB] __attribute__((aligned(4096))), here[MIB] __attribute__((aligned(4096)));

static struct lnet_gni_ni *driver(unsigned node)
{
    return ni_of(node, gni(node))->driver;
}

/* No message of A is under way, and all credits are there. */
static void expect_idle(void)
{
    struct lnet_gni_conn *conn;

    list_for_each_entry (conn, &driver(A)->connections, on_ni)
        assert_true(list_empty(&conn->active) && list_empty(&conn->queued));
    assert_int_equal(peer_of(A, gni(B))->tx_credits, 16);
    assert_int_equal(ni_of(A, gni(A))->tx_credits, 256);
}

/* From now on, requests from A to B fail with the status: `count` of them, after `skip`. */
static void refuse(uint64_t skip, uint64_t count, unsigned status)
{
    struct sim_fault_rule rule = {.action = SIM_FAULT_FAIL,
                                  .until = SIM_NEVER,
                                  .probability = 1,
                                  .skip = skip,
                                  .count_max = count,
                                  .source = A,
                                  .target = B,
                                  .between = {SIM_FAULT_ANY, SIM_FAULT_ANY},
                                  .kind = NET_REQUEST,
                                  .status = status};

    sim_fault_rule_add(sim_fault_point_find("aries.packet"), &rule);
}

static const struct lnet_gni_conn *connected(void)
{
    on(B);
    post(1, there, MIB, -1, LNET_MD_OP_PUT | LNET_MD_MANAGE_REMOTE);
    on(A);
    put_to(gni(B), 1, here, 1);
    assert_non_null(wait_event(B, LNET_EVENT_PUT, 0, SIM_S));
    assert_non_null(wait_event(A, LNET_EVENT_SEND, 0, SIM_S));
    pass(SIM_MS);
    return list_first_entry(&driver(A)->connections, struct lnet_gni_conn, on_ni);
}

/* The request of a PUT of a page, which has four packets, is not refused, and its transfer, which
 * is one chunk, is refused `count` times. */
static int put_refused(uint64_t count, unsigned status)
{
    refuse(4, count, status);
    fill(here, 4096, 9);
    put_to(gni(B), 1, here, 4096);
    assert_non_null(wait_event(A, LNET_EVENT_SEND, 1, 10 * SIM_S));
    return event_of(A, LNET_EVENT_SEND, 1)->status;
}

TEST_IN(aries_60_recoverable_errors_are_retried_128_times, NETWORK)
{
    connected();
    assert_int_equal(put_refused(128, A_STATUS_DATA_ERR), 0);
    assert_int_equal(driver(A)->retransmits, 128);
    assert_non_null(wait_event(B, LNET_EVENT_PUT, 1, SIM_S));
    expect_filled(there, 4096, 9);
    assert_int_equal(driver(A)->sent[LNET_GNI_PUT_DONE], 1);
    pass(SIM_S);
    expect_idle();
}

/* The connection has ended with -ECOMM, both sides have the error, and the next message makes
 * another connection. */
static void expect_given_up(const struct lnet_gni_conn *conn, int status)
{
    const struct lnet_event *event;
    uint64_t stamp = conn->own_stamp;

    assert_int_equal(status, -EFAULT);
    assert_true(conn->closing);
    assert_int_equal(conn->why, -ECOMM);
    assert_int_equal(driver(A)->sent[LNET_GNI_PUT_DONE], 1); /* with the error */
    event = wait_event(B, LNET_EVENT_PUT, 1, SIM_S);
    assert_non_null(event);
    assert_int_equal(event->status, -EFAULT);
    put_to(gni(B), 1, here, 8);
    assert_non_null(wait_event(B, LNET_EVENT_PUT, 2, 200 * SIM_S));
    conn = list_first_entry(&driver(A)->connections, struct lnet_gni_conn, on_ni);
    assert_true(conn->own_stamp != stamp);
    pass(SIM_S);
    expect_idle();
}

TEST_IN(aries_60_the_129th_error_ends_the_connection, NETWORK)
{
    const struct lnet_gni_conn *conn = connected();
    int status = put_refused(129, A_STATUS_DATA_ERR);

    assert_int_equal(driver(A)->retransmits, 128);
    expect_given_up(conn, status);
}

TEST_IN(aries_60_an_unrecoverable_error_ends_the_connection, NETWORK)
{
    const struct lnet_gni_conn *conn = connected();
    int status = put_refused(1, A_STATUS_AT_MDD_INV);

    assert_int_equal(driver(A)->retransmits, 0);
    expect_given_up(conn, status);
}

TEST_IN(aries_60_an_error_of_smsg_ends_the_connection, NETWORK)
{
    const struct lnet_gni_conn *conn = connected();
    sim_time_t end = sim_now() + 10 * SIM_S;

    refuse(0, 1, A_STATUS_AT_MDD_INV);
    put_to(gni(B), 1, here, 8);
    while (!conn->closing && sim_now() < end)
        pass(SIM_US);
    assert_true(conn->closing);
    assert_int_equal(conn->why, -ECOMM);
}

/* A message that does not belong to the connection, or not next, is not taken: B ends the
 * connection and nothing of the message reaches LNet; the next message makes another connection. */
static void expect_not_taken(struct lnet_gni_conn *sender)
{
    uint64_t stamp = sender->own_stamp;

    put_to(gni(B), 1, here, 8);
    pass(SIM_S);
    assert_null(event_of(B, LNET_EVENT_PUT, 1));
    assert_true(
        list_empty(&driver(B)->connections) ||
        list_first_entry(&driver(B)->connections, struct lnet_gni_conn, on_ni)->peer_stamp !=
            stamp ||
        list_first_entry(&driver(B)->connections, struct lnet_gni_conn, on_ni)->closing);
    put_to(gni(B), 1, here, 16);
    assert_non_null(wait_event(B, LNET_EVENT_PUT, 1, 200 * SIM_S));
    assert_int_equal(event_of(B, LNET_EVENT_PUT, 1)->mlength, 16);
}

static struct lnet_gni_conn *sender(void)
{
    connected();
    return list_first_entry(&driver(A)->connections, struct lnet_gni_conn, on_ni);
}

/* What an earlier connection wrote into a mailbox has the stamp of that connection. */
TEST_IN(lnet_60_a_message_of_another_connection_is_not_taken, NETWORK)
{
    struct lnet_gni_conn *conn = sender();

    conn->own_stamp--;
    expect_not_taken(conn);
}

TEST_IN(lnet_60_a_message_behind_a_missing_one_is_not_taken, NETWORK)
{
    struct lnet_gni_conn *conn = sender();

    conn->tx_sequence++;
    expect_not_taken(conn);
}

TEST_IN(lnet_60_a_message_that_comes_again_is_not_taken, NETWORK)
{
    struct lnet_gni_conn *conn = sender();

    conn->tx_sequence--;
    expect_not_taken(conn);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(aries_60_recoverable_errors_are_retried_128_times),
        cmocka_unit_test(aries_60_the_129th_error_ends_the_connection),
        cmocka_unit_test(aries_60_an_unrecoverable_error_ends_the_connection),
        cmocka_unit_test(aries_60_an_error_of_smsg_ends_the_connection),
        cmocka_unit_test(lnet_60_a_message_of_another_connection_is_not_taken),
        cmocka_unit_test(lnet_60_a_message_behind_a_missing_one_is_not_taken),
        cmocka_unit_test(lnet_60_a_message_that_comes_again_is_not_taken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
