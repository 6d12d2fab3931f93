/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* LNet's own rules for faults. */
#include "world.h"

static char memory[8192];
static char data[8192];

static const struct lnet_fault_attr everything = {.fa_src = LNET_NID_ANY, .fa_dst = LNET_NID_ANY};

static struct libcfs_ioctl_data control_data(uint32_t operation, struct lnet_fault_attr *attr)
{
    return (struct libcfs_ioctl_data){
        .ioc_flags = operation,
        .ioc_inllen1 = sizeof(*attr),
        .ioc_inlbuf1 = (char *)attr,
    };
}

static int control(uint32_t operation, struct lnet_fault_attr attr)
{
    struct libcfs_ioctl_data data_ = control_data(operation, &attr);

    return LNetCtl(IOC_LIBCFS_LNET_FAULT, &data_);
}

static uint32_t delete_rules(uint32_t operation, lnet_nid_t source, lnet_nid_t target)
{
    struct lnet_fault_attr attr = {.fa_src = source, .fa_dst = target};
    struct libcfs_ioctl_data data_ = control_data(operation, &attr);

    assert_int_equal(LNetCtl(IOC_LIBCFS_LNET_FAULT, &data_), 0);
    return data_.ioc_count;
}

static int list_rule(uint32_t operation, uint32_t position, struct lnet_fault_attr *attr,
                     struct lnet_fault_stat *stat)
{
    struct libcfs_ioctl_data data_ = control_data(operation, attr);

    data_.ioc_count = position;
    data_.ioc_inlbuf2 = (char *)stat;
    data_.ioc_inllen2 = sizeof(*stat);
    return LNetCtl(IOC_LIBCFS_LNET_FAULT, &data_);
}

static struct lnet_fault_attr drop_rule(uint32_t rate, uint32_t interval)
{
    struct lnet_fault_attr attr = everything;

    attr.u.drop.da_rate = rate;
    attr.u.drop.da_interval = interval;
    return attr;
}

static struct lnet_fault_attr delay_rule(uint32_t rate, uint32_t latency)
{
    struct lnet_fault_attr attr = everything;

    attr.u.delay.la_rate = rate;
    attr.u.delay.la_latency = latency;
    return attr;
}

static void receive(void)
{
    on(B);
    post(7, memory, 8192, LNET_MD_THRESH_INF,
         LNET_MD_OP_PUT | LNET_MD_OP_GET | LNET_MD_MANAGE_REMOTE);
}

static void send_puts(unsigned count)
{
    unsigned i;

    on(A);
    for (i = 0; i < count; i++) {
        assert_int_equal(LNetPut(LNET_NID_ANY, bind_md(data, 8, 1), LNET_NOACK_REQ, id_of(tcp(B)),
                                 PORTAL, 7, 0, i),
                         0);
        pass(10 * SIM_US);
    }
}

TEST(lnet_87_bad_rules)
{
    struct lnet_fault_attr attr;

    assert_int_equal(control(LNET_CTL_DROP_ADD, drop_rule(0, 0)), -EINVAL);
    assert_int_equal(control(LNET_CTL_DROP_ADD, drop_rule(2, 2)), -EINVAL);
    assert_int_equal(control(LNET_CTL_DELAY_ADD, delay_rule(2, 0)), -EINVAL);
    assert_int_equal(control(LNET_CTL_DELAY_ADD, delay_rule(0, 2)), -EINVAL);
    attr = drop_rule(2, 0);
    attr.fa_ptl_mask = 1;
    attr.fa_msg_mask = LNET_ACK_BIT | LNET_REPLY_BIT;
    assert_int_equal(control(LNET_CTL_DROP_ADD, attr), -EINVAL);
    attr.fa_msg_mask |= LNET_GET_BIT;
    assert_int_equal(control(LNET_CTL_DROP_ADD, attr), 0);
    attr = drop_rule(2, 0);
    attr.u.drop.da_random = true;
    assert_int_equal(control(LNET_CTL_DROP_ADD, attr), -EINVAL);
    assert_int_equal(control(8, drop_rule(1, 0)), -EINVAL);
    assert_int_equal(delete_rules(LNET_CTL_DROP_DEL, 0, 0), 1);
}

TEST(lnet_88_rate_1)
{
    unsigned i;

    receive();
    assert_int_equal(control(LNET_CTL_DROP_ADD, drop_rule(1, 0)), 0);
    send_puts(20);
    assert_int_equal(count_of(B, LNET_EVENT_PUT), 0);
    assert_int_equal(count_of(A, LNET_EVENT_SEND), 20);
    for (i = 0; i < 20; i++)
        assert_int_equal(event_of(A, LNET_EVENT_SEND, i)->status, 0);
    assert_int_equal(counters(B).lct_common.lcc_drop_count, 20);
    assert_int_equal(counters(A).lct_common.lcc_drop_count, 0);
}

TEST(lnet_89_rate)
{
    static bool arrived[1000];
    unsigned i, window;

    receive();
    assert_int_equal(control(LNET_CTL_DROP_ADD, drop_rule(7, 0)), 0);
    send_puts(700);
    assert_int_equal(count_of(B, LNET_EVENT_PUT), 600);
    memset(arrived, 0, sizeof(arrived));
    for (i = 0; i < seen_count; i++) {
        if (seen[i].node == B && seen[i].event.type == LNET_EVENT_PUT)
            arrived[seen[i].event.hdr_data] = true;
    }
    for (window = 0; window < 100; window++) {
        unsigned lost = 0;

        for (i = 0; i < 7; i++)
            lost += !arrived[7 * window + i];
        assert_int_equal(lost, 1);
    }
}

TEST(lnet_90_interval)
{
    unsigned i, dropped;

    receive();
    assert_int_equal(control(LNET_CTL_DROP_ADD, drop_rule(0, 10)), 0);
    on(A);
    for (i = 0; i < 1000; i++) { /* ten a second, for 100 s */
        put(B, 7, data, 8);
        pass(100 * SIM_MS);
    }
    dropped = 1000 - count_of(B, LNET_EVENT_PUT);
    assert_in_range(dropped, 9, 11); /* at most one per window */
    pass(100 * SIM_S); /* without traffic nothing is dropped, and nothing is owed */
    forget();
    for (i = 0; i < 20; i++) {
        put(B, 7, data, 8);
        pass(SIM_MS);
    }
    assert_in_range(count_of(B, LNET_EVENT_PUT), 19, 20);
}

TEST(random_drops)
{
    struct lnet_fault_attr attr = drop_rule(0, 2);
    struct lnet_fault_stat stat;

    receive();
    attr.u.drop.da_random = true;
    assert_int_equal(control(LNET_CTL_DROP_ADD, attr), 0);
    send_puts(1000);
    assert_in_range(count_of(B, LNET_EVENT_PUT), 400, 600);
    on(B);
    assert_int_equal(list_rule(LNET_CTL_DROP_LIST, 0, &attr, &stat), 0);
    assert_int_equal(stat.fs_count, 0);
    assert_int_equal(stat.u.drop.ds_dropped, 1000 - count_of(B, LNET_EVENT_PUT));
}

static unsigned arrivals_with(struct lnet_fault_attr attr)
{
    unsigned arrived;

    on(B);
    assert_int_equal(control(LNET_CTL_DROP_ADD, attr), 0);
    forget();
    send_puts(3);
    arrived = count_of(B, LNET_EVENT_PUT);
    on(B);
    assert_int_equal(delete_rules(LNET_CTL_DROP_DEL, 0, 0), 1);
    return arrived;
}

TEST(lnet_91_filters)
{
    struct lnet_fault_attr attr = drop_rule(1, 0);
    lnet_nid_t all_tcp = libcfs_str2nid("255.255.255.255@tcp");

    receive();
    assert_int_equal(arrivals_with(attr), 0);
    attr.fa_src = all_tcp;
    assert_int_equal(arrivals_with(attr), 0);
    attr.fa_dst = libcfs_str2nid("255.255.255.255@o2ib");
    assert_int_equal(arrivals_with(attr), 3);
    attr.fa_dst = tcp(B);
    assert_int_equal(arrivals_with(attr), 0);
    attr.fa_src = tcp(C);
    assert_int_equal(arrivals_with(attr), 3);
    attr = drop_rule(1, 0);
    attr.fa_ptl_mask = 1ull << (PORTAL + 1);
    assert_int_equal(arrivals_with(attr), 3);
    attr.fa_ptl_mask |= 1ull << PORTAL;
    assert_int_equal(arrivals_with(attr), 0);
    attr.fa_ptl_mask = 0;
    attr.fa_msg_mask = LNET_GET_BIT | LNET_ACK_BIT;
    assert_int_equal(arrivals_with(attr), 3);

    /* A rule for a portal leaves ACK and REPLY alone; one for all messages does not. */
    attr = drop_rule(1, 0);
    attr.fa_ptl_mask = ~0ull;
    on(A);
    assert_int_equal(control(LNET_CTL_DROP_ADD, attr), 0);
    forget();
    put_ack(B, 7, data, 8);
    get(B, 7, data, 8);
    pass(SIM_MS);
    assert_int_equal(count_of(A, LNET_EVENT_ACK), 1);
    assert_int_equal(count_of(A, LNET_EVENT_REPLY), 1);
    assert_int_equal(delete_rules(LNET_CTL_DROP_DEL, 0, 0), 1);
    attr.fa_ptl_mask = 0;
    assert_int_equal(control(LNET_CTL_DROP_ADD, attr), 0);
    forget();
    put_ack(B, 7, data, 8);
    get(B, 7, data, 8);
    pass(SIM_MS);
    assert_int_equal(count_of(A, LNET_EVENT_ACK), 0);
    assert_int_equal(count_of(A, LNET_EVENT_REPLY), 0);
    assert_int_equal(count_of(B, LNET_EVENT_PUT), 1);
}

static enum lnet_msg_hstatus failed_with(uint32_t mask)
{
    struct lnet_fault_attr attr = drop_rule(1, 0);
    struct lnet_counters_health before = counters(A).lct_health, after;
    const uint32_t *b = &before.lch_local_interrupt_count, *a = &after.lch_local_interrupt_count;
    static const enum lnet_msg_hstatus order[] = {
        LNET_MSG_STATUS_LOCAL_INTERRUPT, LNET_MSG_STATUS_LOCAL_DROPPED,
        LNET_MSG_STATUS_LOCAL_ABORTED,   LNET_MSG_STATUS_LOCAL_NO_ROUTE,
        LNET_MSG_STATUS_LOCAL_TIMEOUT,   LNET_MSG_STATUS_LOCAL_ERROR,
        LNET_MSG_STATUS_REMOTE_DROPPED,  LNET_MSG_STATUS_REMOTE_ERROR,
        LNET_MSG_STATUS_REMOTE_TIMEOUT,  LNET_MSG_STATUS_NETWORK_TIMEOUT,
    };
    unsigned i, closed = wire.closed;

    attr.fa_msg_mask = LNET_PUT_BIT;
    attr.u.drop.da_health_error_mask = mask;
    on(A);
    assert_int_equal(control(LNET_CTL_DROP_ADD, attr), 0);
    forget();
    put(B, 7, data, 8);
    pass(SIM_MS);
    assert_int_equal(event_of(A, LNET_EVENT_SEND, 0)->status, -EINVAL);
    assert_int_equal(count_of(B, LNET_EVENT_PUT), 0);
    assert_int_equal(wire.closed, closed + 1);
    assert_int_equal(delete_rules(LNET_CTL_DROP_DEL, 0, 0), 1);
    after = counters(A).lct_health;
    for (i = 0; i < 10; i++) {
        if (a[i] != b[i])
            return order[i];
    }
    return LNET_MSG_STATUS_OK;
}

TEST_IN(lnet_92_health_errors,
        .settings = {{"lnet_retry_count", "0"}, {"lnet_recovery_interval", "1000"}})
{
    struct lnet_fault_attr attr = drop_rule(1, 0);
    bool found[LNET_MSG_STATUS_END] = {false};
    unsigned i, kinds_found = 0;

    receive();
    for (i = LNET_MSG_STATUS_LOCAL_INTERRUPT; i < LNET_MSG_STATUS_END; i++)
        assert_int_equal(failed_with(1u << i), i);
    for (i = 0; i < 20; i++) {
        enum lnet_msg_hstatus status =
            failed_with(HSTATUS_LOCAL_TIMEOUT_BIT | HSTATUS_NETWORK_TIMEOUT_BIT);

        assert_true(status == LNET_MSG_STATUS_LOCAL_TIMEOUT ||
                    status == LNET_MSG_STATUS_NETWORK_TIMEOUT);
    }
    for (i = 0; i < 200; i++)
        found[failed_with(HSTATUS_RANDOM)] = true;
    for (i = 1; i < LNET_MSG_STATUS_END; i++)
        kinds_found += found[i];
    assert_int_equal(kinds_found, 10);

    /* At the receiver such a rule has no effect. */
    attr.u.drop.da_health_error_mask = HSTATUS_LOCAL_ERROR_BIT;
    on(B);
    assert_int_equal(control(LNET_CTL_DROP_ADD, attr), 0);
    forget();
    send_puts(3);
    assert_int_equal(count_of(B, LNET_EVENT_PUT), 3);
}

TEST(lnet_93_delay_at_sender)
{
    struct lnet_fault_attr attr = delay_rule(1, 3);
    unsigned i;

    receive();
    on(A);
    assert_int_equal(control(LNET_CTL_DELAY_ADD, attr), 0);
    send_puts(4);
    assert_int_equal(peer_of(A, tcp(B))->tx_credits, 4); /* held with their credits */
    assert_int_equal(ni_of(A, tcp(A))->tx_credits, 252);
    pass(2900 * SIM_MS);
    assert_int_equal(seen_count, 0);
    pass(200 * SIM_MS);
    assert_int_equal(count_of(B, LNET_EVENT_PUT), 4);
    for (i = 0; i < 4; i++)
        assert_int_equal(event_of(B, LNET_EVENT_PUT, i)->hdr_data, i);
    assert_int_equal(peer_of(A, tcp(B))->tx_credits, 8);

    forget();
    send_puts(3);
    assert_int_equal(delete_rules(LNET_CTL_DELAY_DEL, 0, 0), 1);
    pass(SIM_MS);
    assert_int_equal(count_of(B, LNET_EVENT_PUT), 3); /* at once */
}

TEST(lnet_93_delay_at_receiver)
{
    struct lnet_fault_attr attr = delay_rule(2, 3);
    struct lnet_fault_stat stat;

    receive();
    assert_int_equal(control(LNET_CTL_DELAY_ADD, attr), 0);
    send_puts(10);
    pass(SIM_MS);
    assert_int_equal(count_of(A, LNET_EVENT_SEND), 10);
    assert_int_equal(count_of(B, LNET_EVENT_PUT), 5); /* the others overtake */
    pass(3 * SIM_S);
    assert_int_equal(count_of(B, LNET_EVENT_PUT), 10);
    on(B);
    assert_int_equal(list_rule(LNET_CTL_DELAY_LIST, 0, &attr, &stat), 0);
    assert_int_equal(stat.fs_count, 10);
    assert_int_equal(stat.fs_put, 5);
    assert_int_equal(stat.u.delay.ls_delayed, 5);
}

/* Messages that a rule holds when LNet stops are dropped. */
TEST_IN(delay_and_stop, .unbalanced = true)
{
    receive();
    assert_int_equal(control(LNET_CTL_DELAY_ADD, delay_rule(1, 100)), 0);
    send_puts(3);
    on(B);
    assert_int_equal(LNetNIFini(), 0);
    assert_int_equal(count_of(B, LNET_EVENT_PUT), 0);
    assert_int_equal(counters(B).lct_common.lcc_drop_count, 3);
    assert_int_equal(counters(B).lct_common.lcc_msgs_alloc, 0);
}

TEST(lnet_94_list)
{
    struct lnet_fault_attr attr = drop_rule(3, 0);
    struct lnet_fault_stat stat;

    receive();
    attr.fa_src = tcp(A);
    assert_int_equal(control(LNET_CTL_DROP_ADD, attr), 0);
    attr = drop_rule(5, 0);
    attr.fa_src = tcp(C);
    assert_int_equal(control(LNET_CTL_DROP_ADD, attr), 0);
    attr.fa_dst = tcp(D);
    assert_int_equal(control(LNET_CTL_DROP_ADD, attr), 0);
    send_puts(9);
    on(B);
    assert_int_equal(list_rule(LNET_CTL_DROP_LIST, 0, &attr, &stat), 0);
    assert_int_equal(attr.fa_dst, tcp(D)); /* the newest one */
    assert_int_equal(stat.fs_count, 0);
    assert_int_equal(list_rule(LNET_CTL_DROP_LIST, 2, &attr, &stat), 0);
    assert_int_equal(attr.fa_src, tcp(A));
    assert_int_equal(stat.fs_count, 9);
    assert_int_equal(stat.fs_put, 3);
    assert_int_equal(stat.u.drop.ds_dropped, 3);
    assert_int_equal(list_rule(LNET_CTL_DROP_LIST, 3, &attr, &stat), -ENOENT);
    assert_int_equal(list_rule(LNET_CTL_DELAY_LIST, 0, &attr, &stat), -ENOENT);

    assert_int_equal(control(LNET_CTL_DROP_RESET, drop_rule(1, 0)), 0);
    assert_int_equal(list_rule(LNET_CTL_DROP_LIST, 2, &attr, &stat), 0);
    assert_int_equal(stat.fs_count, 0);
    assert_int_equal(stat.fs_put, 0);
    assert_int_equal(delete_rules(LNET_CTL_DROP_DEL, tcp(C), LNET_NID_ANY), 1);
    assert_int_equal(delete_rules(LNET_CTL_DROP_DEL, tcp(C), 0), 1);
    assert_int_equal(delete_rules(LNET_CTL_DROP_DEL, 0, 0), 1);
    assert_int_equal(delete_rules(LNET_CTL_DROP_DEL, 0, 0), 0);
}

static int put_rc(void)
{
    struct lnet_handle_md md = bind_md(data, 8, 1);
    int rc = LNetPut(LNET_NID_ANY, md, LNET_NOACK_REQ, id_of(tcp(B)), PORTAL, 7, 0, 0);

    if (rc != 0) {
        unsigned before = seen_count;

        pass(SIM_MS);
        assert_int_equal(seen_count, before); /* no event */
        assert_int_equal(LNetMDUnlink(md), 0);
        forget();
    }
    return rc;
}

TEST(lnet_95_fail_nid)
{
    struct libcfs_ioctl_data fail_data = {.ioc_nid = tcp(B), .ioc_count = 2};

    receive();
    on(A);
    assert_int_equal(LNetCtl(IOC_LIBCFS_FAIL_NID, &fail_data), 0);
    assert_int_equal(put_rc(), -EIO);
    assert_int_equal(put_rc(), -EIO);
    assert_int_equal(put_rc(), 0);
    pass(SIM_MS);
    assert_int_equal(count_of(B, LNET_EVENT_PUT), 1);

    fail_data.ioc_count = (__u32)-1;
    assert_int_equal(LNetCtl(IOC_LIBCFS_FAIL_NID, &fail_data), 0);
    assert_int_equal(put_rc(), -EIO);
    assert_int_equal(put_rc(), -EIO);
    assert_int_equal(put_rc(), -EIO);
    fail_data.ioc_count = 0;
    assert_int_equal(LNetCtl(IOC_LIBCFS_FAIL_NID, &fail_data), 0);
    assert_int_equal(put_rc(), 0);

    pass(SIM_MS); /* incoming messages of that NID are dropped */
    forget();
    on(B);
    fail_data.ioc_nid = tcp(A);
    fail_data.ioc_count = 1;
    assert_int_equal(LNetCtl(IOC_LIBCFS_FAIL_NID, &fail_data), 0);
    send_puts(2);
    assert_int_equal(count_of(B, LNET_EVENT_PUT), 1);
}

/* ---- rules of a host ------------------------------------------------------------------------- */

static uint64_t used(unsigned node, uint32_t operation)
{
    struct lnet_fault_attr attr;
    struct lnet_fault_stat stat;

    on(node);
    assert_int_equal(list_rule(operation, 0, &attr, &stat), 0);
    return operation == LNET_CTL_DROP_LIST ? stat.u.drop.ds_dropped : stat.u.delay.ls_delayed;
}

/* A rule may hold messages for any time, not for whole seconds only. */
TEST(hold_for_a_fraction_of_a_second)
{
    const struct lnet_fault_limits limits = {.hold = 250 * SIM_MS};
    struct lnet_fault_attr attr = delay_rule(1, 0);
    sim_time_t start;

    receive();
    assert_int_equal(lnet_node_add_delay(lnet_of(B), &attr, &limits, "short"), 0);
    start = sim_now();
    send_puts(1);
    pass(240 * SIM_MS);
    assert_int_equal(count_of(B, LNET_EVENT_PUT), 0);
    pass(20 * SIM_MS);
    assert_int_equal(count_of(B, LNET_EVENT_PUT), 1);
    assert_in_range(seen[seen_count - 1].at - start, 250 * SIM_MS, 251 * SIM_MS);
    assert_int_equal(used(B, LNET_CTL_DELAY_LIST), 1);
}

TEST(a_rule_ends_after_its_count)
{
    const struct lnet_fault_limits limits = {.count = 3};
    struct lnet_fault_attr attr = drop_rule(2, 0);

    receive();
    assert_int_equal(lnet_node_add_drop(lnet_of(B), &attr, &limits, "three"), 0);
    send_puts(40);
    assert_int_equal(count_of(B, LNET_EVENT_PUT), 37);
    assert_int_equal(used(B, LNET_CTL_DROP_LIST), 3);
}

TEST(a_rule_acts_in_its_window)
{
    const struct lnet_fault_limits limits = {.from = SIM_S, .until = 2 * SIM_S};
    struct lnet_fault_attr attr = drop_rule(1, 0);
    struct lnet_fault_stat stat;

    receive();
    assert_int_equal(lnet_node_add_drop(lnet_of(B), &attr, &limits, "window"), 0);
    send_puts(5); /* before */
    assert_int_equal(count_of(B, LNET_EVENT_PUT), 5);
    pass(SIM_S);
    send_puts(4);
    assert_int_equal(count_of(B, LNET_EVENT_PUT), 5);
    pass(SIM_S);
    send_puts(3);
    assert_int_equal(count_of(B, LNET_EVENT_PUT), 8);
    on(B);
    assert_int_equal(list_rule(LNET_CTL_DROP_LIST, 0, &attr, &stat), 0);
    assert_int_equal(stat.fs_count, 4); /* it saw only these */
}

static uint64_t dropped_of_60(uint64_t seed, bool seeded)
{
    const struct lnet_fault_limits limits = {.seeded = seeded, .seed = seed};
    struct lnet_fault_attr attr = drop_rule(10, 0);
    uint64_t pattern = 0;
    unsigned i;

    assert_int_equal(lnet_node_add_drop(lnet_of(B), &attr, &limits, "seeded"), 0);
    for (i = 0; i < 60; i++) {
        unsigned before = count_of(B, LNET_EVENT_PUT);

        send_puts(1);
        pattern |= (uint64_t)(count_of(B, LNET_EVENT_PUT) == before) << i;
    }
    on(B);
    assert_int_equal(delete_rules(LNET_CTL_DROP_DEL, 0, 0), 1);
    return pattern;
}

/* A seed of its own: the same choices, whatever the node's generator has given before. */
TEST(a_rule_with_a_seed)
{
    uint64_t first, second, third, without;

    receive();
    first = dropped_of_60(5, true);
    without = dropped_of_60(0, false);
    second = dropped_of_60(5, true);
    third = dropped_of_60(6, true);
    assert_int_equal(__builtin_popcountll(first), 6);
    assert_int_equal(__builtin_popcountll(without), 6);
    assert_true(first == second);
    assert_true(first != third && first != without);
}

TEST(limits_that_cannot_be)
{
    const struct lnet_fault_limits hold = {.hold = SIM_MS}, window = {.from = 2, .until = 2};
    struct lnet_fault_attr drop = drop_rule(1, 0), delay = delay_rule(1, 1);

    assert_int_equal(lnet_node_add_drop(lnet_of(A), &drop, &hold, "a"), -EINVAL);
    assert_int_equal(lnet_node_add_delay(lnet_of(A), &delay, &hold, "b"),
                     -EINVAL); /* and latency */
    assert_int_equal(lnet_node_add_drop(lnet_of(A), &drop, &window, "c"), -EINVAL);
    assert_int_equal(delete_rules(LNET_CTL_DROP_DEL, 0, 0), 0);
    assert_int_equal(delete_rules(LNET_CTL_DELAY_DEL, 0, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lnet_87_bad_rules),
        cmocka_unit_test(lnet_88_rate_1),
        cmocka_unit_test(lnet_89_rate),
        cmocka_unit_test(lnet_90_interval),
        cmocka_unit_test(random_drops),
        cmocka_unit_test(lnet_91_filters),
        cmocka_unit_test(lnet_92_health_errors),
        cmocka_unit_test(lnet_93_delay_at_sender),
        cmocka_unit_test(lnet_93_delay_at_receiver),
        cmocka_unit_test(delay_and_stop),
        cmocka_unit_test(lnet_94_list),
        cmocka_unit_test(lnet_95_fail_nid),
        cmocka_unit_test(hold_for_a_fraction_of_a_second),
        cmocka_unit_test(a_rule_ends_after_its_count),
        cmocka_unit_test(a_rule_acts_in_its_window),
        cmocka_unit_test(a_rule_with_a_seed),
        cmocka_unit_test(limits_that_cannot_be),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
