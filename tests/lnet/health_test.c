/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The response tracker, resending, health and recovery. */
#include "world.h"

static char memory[8192];
static char data[8192];

static void lost_answer(bool is_get)
{
    sim_time_t sent;
    unsigned i;

    on(B);
    post(7, memory, 100, 9, LNET_MD_OP_PUT | LNET_MD_OP_GET);
    on(A);
    wire.swallow = true;
    sent = sim_local_time();
    if (is_get)
        get(B, 7, data, 8);
    else
        put_ack(B, 7, data, 8);
    pass(49 * SIM_S);
    assert_string_equal(kinds(), "S");
    pass(27 * SIM_S);
    assert_string_equal(kinds(), "SU");
    for (i = 0; seen[i].event.type != LNET_EVENT_UNLINK; i++)
        ;
    assert_in_range(seen[i].at - sent, 50 * SIM_S, 75 * SIM_S);
    assert_int_equal(seen[i].event.status, 0);
    assert_int_equal(seen[i].event.unlinked, 1);
    assert_int_equal(counters(A).lct_health.lch_response_timeout_count, 1);
    wire.swallow = false;
    pass(80 * SIM_S); /* recovery pings that were lost, too, end */
    assert_in_range(counters(A).lct_health.lch_response_timeout_count, 1, 3);
}

TEST(lnet_71_lost_ack)
{
    lost_answer(false);
}

TEST(lnet_71_lost_reply)
{
    pass(13 * SIM_S);
    lost_answer(true);
    assert_true(peer_of(A, tcp(B))->health < LNET_MAX_HEALTH_VALUE);
}

TEST_IN(exact_expiry, .settings = {{"exact_expiry", "1"}, {"lnet_transaction_timeout", "7"}})
{
    sim_time_t sent;

    wire.swallow = true;
    pass(SIM_S);
    sent = sim_local_time();
    put_ack(B, 7, data, 8);
    pass(8 * SIM_S);
    assert_string_equal(kinds(), "SU");
    assert_in_range(seen[1].at - sent, 7 * SIM_S, 7 * SIM_S + SIM_MS);
    assert_int_equal(lnet_of(A)->params.lnd_timeout, 3); /* 7 / 2 retries */
}

/* A descriptor whose requests were all answered is not tracked any more. */
TEST(answered_in_time)
{
    struct lnet_handle_md md;

    on(B);
    post(7, memory, 100, LNET_MD_THRESH_INF, LNET_MD_OP_PUT | LNET_MD_OP_GET);
    on(A);
    md = bind_md(data, 8, LNET_MD_THRESH_INF);
    assert_int_equal(LNetPut(LNET_NID_ANY, md, LNET_ACK_REQ, id_of(tcp(B)), PORTAL, 7, 0, 0), 0);
    assert_int_equal(counters(A).lct_health.lch_rst_alloc, 1);
    pass(SIM_S);
    assert_int_equal(counters(A).lct_health.lch_rst_alloc, 0);
    pass(100 * SIM_S);
    assert_int_equal(count_of(A, LNET_EVENT_UNLINK), 0);
    assert_int_equal(LNetMDUnlink(md), 0);
}

static const struct {
    enum lnet_msg_hstatus health;
    bool local, resent;
} failures[] = {
    {LNET_MSG_STATUS_LOCAL_INTERRUPT, true, true},  {LNET_MSG_STATUS_LOCAL_DROPPED, true, true},
    {LNET_MSG_STATUS_LOCAL_ABORTED, true, true},    {LNET_MSG_STATUS_LOCAL_NO_ROUTE, true, true},
    {LNET_MSG_STATUS_LOCAL_TIMEOUT, true, true},    {LNET_MSG_STATUS_LOCAL_ERROR, true, false},
    {LNET_MSG_STATUS_REMOTE_DROPPED, false, true},  {LNET_MSG_STATUS_REMOTE_ERROR, false, false},
    {LNET_MSG_STATUS_REMOTE_TIMEOUT, false, false}, {LNET_MSG_STATUS_NETWORK_TIMEOUT, false, false},
};

static void fail_puts(unsigned count, enum lnet_msg_hstatus health)
{
    forget();
    wire.fail = count;
    wire.fail_only_puts = true; /* not the recovery pings */
    wire.fail_status = -EIO;
    wire.fail_health = health;
    on(A);
    put(B, 7, data, 8);
    pass(10 * SIM_S);
    wire.fail = 0;
    assert_int_equal(count_of(A, LNET_EVENT_SEND), 1); /* one, whatever the attempts */
    assert_int_equal(event_of(A, LNET_EVENT_SEND, 0)->unlinked, 1);
}

TEST(lnet_85_resend)
{
    unsigned i, before;

    on(B);
    post(7, memory, 8192, LNET_MD_THRESH_INF, LNET_MD_OP_PUT);
    for (i = 0; i < sizeof(failures) / sizeof(failures[0]); i++) {
        before = counters(A).lct_health.lch_resend_count;
        fail_puts(1, failures[i].health); /* the second attempt would succeed */
        assert_int_equal(event_of(A, LNET_EVENT_SEND, 0)->status, failures[i].resent ? 0 : -EIO);
        assert_int_equal(counters(A).lct_health.lch_resend_count - before, failures[i].resent);
        assert_int_equal(count_of(B, LNET_EVENT_PUT), failures[i].resent);

        before = counters(A).lct_health.lch_resend_count;
        fail_puts(99, failures[i].health); /* no attempt succeeds */
        assert_int_equal(event_of(A, LNET_EVENT_SEND, 0)->status, -EIO);
        assert_int_equal(counters(A).lct_health.lch_resend_count - before,
                         failures[i].resent ? 2 : 0); /* lnet_retry_count */
    }
    assert_int_equal(peer_of(A, tcp(B))->tx_credits, 8);
    assert_int_equal(counters(A).lct_common.lcc_msgs_alloc, 0);
}

TEST_IN(resend_of_answers, .settings = {{"lnet_retry_count", "3"}})
{
    on(B);
    post(7, memory, 100, 9, LNET_MD_OP_GET | LNET_MD_OP_PUT);
    memset(memory, 'q', 100);
    on(A);
    wire.hold = true;
    get(B, 7, data, 8);
    wire_release(1);
    pass(SIM_US * 10); /* the request has arrived; its answer is held */
    wire.hold = false;
    wire_fail_held(1, -EIO, LNET_MSG_STATUS_LOCAL_DROPPED);
    pass(5 * SIM_S);
    assert_int_equal(counters(B).lct_health.lch_resend_count, 1);
    assert_int_equal(count_of(A, LNET_EVENT_REPLY), 1);
    assert_int_equal(count_of(B, LNET_EVENT_GET), 1);
    assert_memory_equal(data, memory, 8);
}

TEST_IN(not_resent, .settings = {{"lnet_health_sensitivity", "0"}})
{
    fail_puts(1, LNET_MSG_STATUS_LOCAL_DROPPED);
    assert_int_equal(event_of(A, LNET_EVENT_SEND, 0)->status, -EIO);
    assert_int_equal(counters(A).lct_health.lch_resend_count, 0);
    assert_int_equal(ni_of(A, tcp(A))->health, 1000);
    assert_true(list_empty(&ni_of(A, tcp(A))->on_recovery));
    assert_int_equal(counters(A).lct_health.lch_local_dropped_count, 1); /* it is counted */
}

/* Nothing is sent again without health, whatever the number of retries. */
TEST_IN(no_retries_without_health,
        .settings = {{"lnet_health_sensitivity", "0"}, {"lnet_retry_count", "3"}})
{
    fail_puts(1, LNET_MSG_STATUS_LOCAL_DROPPED);
    assert_int_equal(event_of(A, LNET_EVENT_SEND, 0)->status, -EIO);
    assert_int_equal(counters(A).lct_health.lch_resend_count, 0);
}

/* A request that is given up while it waits to be sent again was not sent again. */
TEST(given_up_before_the_resend)
{
    struct lnet_handle_md md;

    pass(SIM_MS);
    wire.fail = 1;
    wire.fail_status = -EIO;
    wire.fail_health = LNET_MSG_STATUS_LOCAL_DROPPED;
    wire.fail_only_puts = true;
    on(A);
    md = bind_md(data, 8, 1);
    assert_int_equal(LNetPut(LNET_NID_ANY, md, LNET_NOACK_REQ, id_of(tcp(B)), PORTAL, 7, 0, 0), 0);
    pass(SIM_MS);
    assert_int_equal(count_of(A, LNET_EVENT_SEND), 0);
    assert_int_equal(LNetMDUnlink(md), 0);
    pass(5 * SIM_S);
    assert_int_equal(count_of(A, LNET_EVENT_SEND), 1);
    assert_int_equal(event_of(A, LNET_EVENT_SEND, 0)->status, -ECANCELED);
    assert_int_equal(counters(A).lct_health.lch_resend_count, 0);
}

/* A tracked request whose descriptor was unlinked meanwhile does not time out. */
TEST(unlinked_request_does_not_time_out)
{
    struct lnet_handle_md md;

    on(A);
    wire.hold = true;
    md = bind_md(data, 8, 2);
    assert_int_equal(LNetPut(LNET_NID_ANY, md, LNET_ACK_REQ, id_of(tcp(B)), PORTAL, 7, 0, 0), 0);
    pass(SIM_S);
    assert_int_equal(LNetMDUnlink(md), 0);
    pass(80 * SIM_S);
    assert_int_equal(counters(A).lct_health.lch_response_timeout_count, 0);
    assert_int_equal(peer_of(A, tcp(B))->health, 1000);
    wire.hold = false;
    wire_release(1);
    pass(SIM_S);
    assert_int_equal(count_of(A, LNET_EVENT_SEND), 1);
}

/* A success counts for health also after the deadline of the message. A failure does not. */
TEST_IN(health_after_the_deadline,
        .settings = {{"lnet_recovery_interval", "1000"}, {"lnet_retry_count", "0"}})
{
    int before;

    on(B);
    post(7, memory, 8192, LNET_MD_THRESH_INF, LNET_MD_OP_PUT);
    fail_puts(1, LNET_MSG_STATUS_REMOTE_ERROR);
    before = peer_of(A, tcp(B))->health;
    assert_int_equal(before, 900);
    wire.hold = true;
    put(B, 7, data, 8);
    put(B, 7, data, 8);
    pass(60 * SIM_S);
    wire.hold = false;
    wire_fail_held(1, -EIO, LNET_MSG_STATUS_REMOTE_ERROR);
    pass(SIM_MS);
    assert_int_equal(peer_of(A, tcp(B))->health, before);
    assert_int_equal(counters(A).lct_health.lch_remote_error_count, 1);
    wire_release(1);
    pass(SIM_MS);
    assert_int_equal(peer_of(A, tcp(B))->health, before + 1);
}

/* A and B are on networks of their own. A reaches B through C over TCP and through D over
 * InfiniBand. */
TEST_IN(resend_keeps_its_source, .nodes = 4,
        .settings = {{"live_router_check_interval", "0"}, {"dead_router_check_interval", "0"}},
        .own = {{{"networks", "tcp(eth0),o2ib"}, {"routes", "gni 10.0.0.3@tcp; gni 10.1.0.4@o2ib"}},
                {{"networks", "gni"}, {"routes", "tcp 2@gni; o2ib 3@gni"}},
                {{"networks", "tcp(eth0),gni"}, {"forwarding", "enabled"}},
                {{"networks", "o2ib,gni"}, {"forwarding", "enabled"}}})
{
    unsigned i, failed = 0;

    on(B);
    post(7, memory, 8192, LNET_MD_THRESH_INF, LNET_MD_OP_PUT);
    for (i = 0; i < 4; i++) {
        struct lnet_handle_md md;
        lnet_nid_t first;

        forget();
        wire.fail = 1;
        wire.fail_only_puts = true;
        wire.fail_status = -EIO;
        wire.fail_health = LNET_MSG_STATUS_LOCAL_DROPPED;
        on(A);
        md = bind_md(data, 8, 1);
        assert_int_equal(LNetPut(LNET_NID_ANY, md, LNET_NOACK_REQ, id_of(gni(B)), PORTAL, 7, 0, 0),
                         0);
        pass(5 * SIM_S);
        first = ni_of(A, tcp(A))->failures.dropped > failed ? tcp(A) : o2ib(A);
        failed = ni_of(A, tcp(A))->failures.dropped;
        assert_int_equal(event_of(A, LNET_EVENT_SEND, 0)->status, 0);
        assert_int_equal(event_of(B, LNET_EVENT_PUT, 0)->source.nid, first);
    }
    assert_int_equal(counters(A).lct_health.lch_resend_count, 4);
}

/* Without recovery in between: the interval is long. */
TEST_IN(lnet_86_health, .settings = {{"lnet_recovery_interval", "1000"}, {"lnet_retry_count", "0"}})
{
    const struct lnet_ni *ni = ni_of(A, tcp(A));
    const struct lnet_peer_ni *peer;
    int before_ni, before_peer;
    unsigned i;

    on(B);
    post(7, memory, 8192, LNET_MD_THRESH_INF, LNET_MD_OP_PUT);
    on(A);
    put(B, 7, data, 8);
    pass(SIM_MS);
    peer = peer_of(A, tcp(B));
    assert_int_equal(ni->health, 1000); /* the ceiling */
    assert_int_equal(peer->health, 1000);
    for (i = 0; i < sizeof(failures) / sizeof(failures[0]); i++) {
        before_ni = ni->health;
        before_peer = peer->health;
        fail_puts(1, failures[i].health);
        assert_int_equal(ni->health, failures[i].local ? before_ni - 100 : before_ni);
        assert_int_equal(peer->health, failures[i].local ? before_peer : before_peer - 100);
    }
    before_ni = ni->health;
    put(B, 7, data, 8);
    pass(SIM_MS);
    assert_int_equal(ni->health, before_ni + 1);
    for (i = 0; i < 12; i++)
        fail_puts(1, LNET_MSG_STATUS_REMOTE_ERROR);
    assert_int_equal(peer->health, 0); /* the floor */
    assert_int_equal(counters(A).lct_health.lch_remote_error_count, 13);
    assert_int_equal(counters(A).lct_health.lch_local_interrupt_count, 1);
    assert_int_equal(counters(A).lct_health.lch_network_timeout_count, 1);
}

TEST(recovery)
{
    struct lnet_ioctl_reset_health_cfg config = {
        .rh_hdr.ioc_len = sizeof(config),
        .rh_type = LNET_HEALTH_TYPE_PEER_NI,
        .rh_all = 1,
        .rh_value = 995,
    };
    const struct lnet_peer_ni *peer;

    on(A);
    put(B, 7, data, 8);
    pass(SIM_MS);
    peer = peer_of(A, tcp(B));
    assert_int_equal(LNetCtl(IOC_LIBCFS_SET_HEALHV, &config), 0);
    assert_int_equal(peer->health, 995);
    pass(10 * SIM_S); /* a ping each second */
    assert_int_equal(peer->health, 1000);
    assert_true(list_empty(&peer->on_recovery));
    config.rh_type = LNET_HEALTH_TYPE_LOCAL_NI;
    config.rh_value = 990;
    assert_int_equal(LNetCtl(IOC_LIBCFS_SET_HEALHV, &config), 0);
    assert_int_equal(ni_of(A, tcp(A))->health, 990);
    pass(20 * SIM_S);
    assert_int_equal(ni_of(A, tcp(A))->health, 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lnet_71_lost_ack),
        cmocka_unit_test(lnet_71_lost_reply),
        cmocka_unit_test(exact_expiry),
        cmocka_unit_test(answered_in_time),
        cmocka_unit_test(lnet_85_resend),
        cmocka_unit_test(resend_of_answers),
        cmocka_unit_test(not_resent),
        cmocka_unit_test(lnet_86_health),
        cmocka_unit_test(recovery),
        cmocka_unit_test(no_retries_without_health),
        cmocka_unit_test(given_up_before_the_resend),
        cmocka_unit_test(unlinked_request_does_not_time_out),
        cmocka_unit_test(health_after_the_deadline),
        cmocka_unit_test(resend_keeps_its_source),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
