/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* socklnd when peers, links and connections fail. */
#include "lnet_tcp.h"

static struct lnet_peer_ni *peer_ni(uint32_t node, uint32_t other)
{
    struct lnet_peer_ni *peer = lnet_peer_ni_find(cluster.node[node]->instance, nid_of(other));

    assert_non_null(peer);
    return peer;
}

static int ni_health(uint32_t node)
{
    return lnet_ni_by_nid(cluster.node[node]->instance, nid_of(node))->health;
}

static void link_set(uint32_t node, bool alive)
{
    assert_true(net_link_set_alive(cluster.net, 0, net_routers(cluster.net) + node, 0, alive));
}

/* ---- connecting fails -------------------------------------------------------------------------
 */

static void refused_source(void *argument)
{
    struct lnet_handle_eq eq;
    sim_time_t took;

    (void)argument;
    sim_sleep_until(SECONDS(2));
    assert_int_equal(LNetNIInit(LNET_PID_LUSTRE), 0);
    eq = eq_make();
    assert_int_equal(put_status(eq, 1, 8, &took), -ECONNREFUSED); /* LNet does not run there */
    assert_true(took < SIM_MS);
    assert_int_equal(peer_ni(0, 1)->health, 900); /* REMOTE_DROPPED */
    assert_int_equal(ni_health(0), 1000);
    assert_int_equal(put_status(eq, 1, 8, &took), -EHOSTUNREACH); /* the route backs off */
    assert_true(took < SIM_MS);
    sim_sleep_until(SECONDS(4));
    assert_int_equal(put_status(eq, 1, 8, &took), 0); /* it runs, and the second has passed */
    assert_int_equal(put_status(eq, 6, 8, &took), -EHOSTUNREACH); /* no machine */
    assert_in_range(took, SECONDS(3), SECONDS(3) + SIM_MS);
    assert_int_equal(LNetNIFini(), 0);
}

static void refused_then_back_off(void **state)
{
    struct taker early = {0, SIM_S, 0, 0}, late = {SECONDS(3), SECONDS(20), 0, 0};

    (void)state;
    cluster_begin();
    set_all("lnet_retry_count", "0");
    node_make(0, NULL, NULL);
    node_make(1, NULL, NULL);
    run_on(1, taking, &early, 0);
    run_on(1, taking, &late, 0);
    run_on(0, refused_source, NULL, 0);
    run_all();
    assert_int_equal(early.taken, 0);
    assert_int_equal(late.taken, 1);
    cluster_end();
}

/* The back-off doubles from min_reconnectms to max_reconnectms. */
static void doubling_source(void *argument)
{
    static const uint64_t intervals[] = {1000, 2000, 4000, 4000, 4000};
    struct lnet_handle_eq eq;
    sim_time_t took;
    uint32_t i;

    (void)argument;
    sim_sleep_until(SECONDS(2));
    assert_int_equal(LNetNIInit(LNET_PID_LUSTRE), 0);
    eq = eq_make();
    for (i = 0; i < 5; i++) {
        assert_int_equal(put_status(eq, 1, 8, &took), -ECONNREFUSED);
        assert_int_equal(peer_of(0, 1)->retry_interval, intervals[i] * SIM_MS);
        sleep_for((intervals[i] - 10) * SIM_MS);
        assert_int_equal(put_status(eq, 1, 8, &took), -EHOSTUNREACH);
        sleep_for(20 * SIM_MS);
    }
    assert_int_equal(LNetNIFini(), 0);
}

static void back_off_doubles(void **state)
{
    struct taker early = {0, SIM_S, 0, 0};

    (void)state;
    cluster_begin();
    set_all("lnet_retry_count", "0");
    set_all("ksocklnd.max_reconnectms", "4000");
    node_make(0, NULL, NULL);
    node_make(1, NULL, NULL);
    run_on(1, taking, &early, 0);
    run_on(0, doubling_source, NULL, 0);
    run_all();
    cluster_end();
}

static void dead_link_source(void *argument)
{
    struct lnet_handle_eq eq;
    sim_time_t took;

    (void)argument;
    sim_sleep_until(SIM_S);
    assert_int_equal(LNetNIInit(LNET_PID_LUSTRE), 0);
    eq = eq_make();
    link_set(1, false);
    assert_int_equal(put_status(eq, 1, 8, &took), -ETIMEDOUT); /* of the queue: lnet_lnd_timeout */
    assert_in_range(took, SECONDS(5), SECONDS(6.3));
    assert_int_equal(ni_health(0), 900); /* LOCAL_TIMEOUT */
    assert_int_equal(peer_ni(0, 1)->health, 1000);
    link_set(1, true);
    sim_sleep_until(SECONDS(20));
    assert_int_equal(put_status(eq, 1, 8, &took), 0); /* TCP's own repetition has connected */
    sleep_for(SIM_S);
    assert_int_equal(LNetNIFini(), 0);
}

static void queued_without_connection(void **state)
{
    struct taker taker = {0, SECONDS(25), 0, 0};

    (void)state;
    cluster_begin();
    set_all("lnet_retry_count", "0");
    set_all("lnet_transaction_timeout", "50");
    set_all("lnet_recovery_interval", "100");
    node_make(0, NULL, NULL);
    cluster.node[0]->params.lnd_timeout = 5;
    node_make(1, NULL, NULL);
    run_on(1, taking, &taker, 0);
    run_on(0, dead_link_source, NULL, 0);
    run_all();
    assert_int_equal(taker.taken, 1);
    cluster_end();
}

static void wrong_pid_source(void *argument)
{
    struct lnet_process_id target = id_of(1);
    struct lnet_handle_eq eq;
    struct lnet_event event;

    (void)argument;
    sim_sleep_until(SIM_S);
    assert_int_equal(LNetNIInit(LNET_PID_LUSTRE), 0);
    eq = eq_make();
    target.pid = 777;
    assert_int_equal(LNetPut(LNET_NID_ANY, source_make(eq, message_out, 8, 1), LNET_NOACK_REQ,
                             target, PORTAL, 1, 0, 0),
                     0);
    expect(eq, LNET_EVENT_SEND, -EPROTO, &event);
    target.pid = LNET_PID_USERFLAG | 1024; /* nobody connects to a process in user space */
    assert_int_equal(LNetPut(LNET_NID_ANY, source_make(eq, message_out, 8, 1), LNET_NOACK_REQ,
                             target, PORTAL, 1, 0, 0),
                     0);
    expect(eq, LNET_EVENT_SEND, -EHOSTUNREACH, &event);
    assert_int_equal(LNetNIFini(), 0);
}

static void wrong_pid(void **state)
{
    struct taker taker = {0, SECONDS(5), 0, 0};

    (void)state;
    cluster_begin();
    set_all("lnet_retry_count", "0");
    node_make(0, NULL, NULL);
    node_make(1, NULL, NULL);
    run_on(1, taking, &taker, 0);
    run_on(0, wrong_pid_source, NULL, 0);
    run_all();
    assert_int_equal(taker.taken, 0);
    cluster_end();
}

/* ---- connections fail -------------------------------------------------------------------------
 */

static void stalled_source(void *argument)
{
    struct lnet_handle_eq eq;
    struct lnet_event event;
    sim_time_t took, start;
    uint32_t i, good = 0, timed_out = 0;

    (void)argument;
    sim_sleep_until(SIM_S);
    assert_int_equal(LNetNIInit(LNET_PID_LUSTRE), 0);
    eq = eq_make();
    assert_int_equal(put_status(eq, 1, 8, &took), 0);
    sleep_for(SIM_S);
    assert_int_equal(conn_count(0, 1), 3);
    link_set(1, false);
    start = sim_local_time();
    for (i = 0; i < 6; i++)
        put(eq, 1, PORTAL, 1, message_out, MIB, LNET_NOACK_REQ);
    for (i = 0; i < 6; i++) {
        assert_true(event_wait(eq, &event, 20000));
        good += event.status == 0;
        timed_out += event.status == -ETIMEDOUT;
    }
    /* Four fit into the socket's buffer: they are lost, and nobody says so. */
    assert_int_equal(good, 3);
    assert_int_equal(timed_out, 3);
    assert_in_range(sim_local_time() - start, SECONDS(5), SECONDS(6.3));
    assert_int_equal(conn_count(0, 1), 0);
    assert_int_equal(ni_health(0), 1000 - 3 * 100); /* LOCAL_TIMEOUT */
    assert_true(peer_ni(0, 1)->notified_down || !peer_ni(0, 1)->alive);
    link_set(1, true);
    /* The other end did not hear of the end, and takes new connections for duplicates, until its
     * keepalive meets a machine that knows nothing of the connection. */
    sleep_for(SECONDS(10));
    assert_int_equal(put_status(eq, 1, 8, &took), -ETIMEDOUT);
    sleep_for(SECONDS(25));
    assert_int_equal(put_status(eq, 1, 8, &took), 0);
    sleep_for(SIM_S);
    assert_int_equal(LNetNIFini(), 0);
}

static void stalled_transmit(void **state)
{
    struct taker taker = {0, SECONDS(60), 0, 0};

    (void)state;
    cluster_begin();
    set_all("lnet_retry_count", "0");
    set_all("lnet_recovery_interval", "100");
    node_make(0, NULL, NULL);
    cluster.node[0]->params.lnd_timeout = 5;
    node_make(1, NULL, NULL);
    run_on(1, taking, &taker, 0);
    run_on(0, stalled_source, NULL, 0);
    run_all();
    assert_int_equal(taker.taken, 2);
    cluster_end();
}

static void dying_source(void *argument)
{
    struct lnet_handle_eq eq;
    sim_time_t took;

    (void)argument;
    sim_sleep_until(SIM_S);
    assert_int_equal(LNetNIInit(LNET_PID_LUSTRE), 0);
    eq = eq_make();
    assert_int_equal(put_status(eq, 1, 8, &took), 0);
    sleep_for(SIM_S);
    put(eq, 1, PORTAL, 1, message_out, MIB, LNET_NOACK_REQ);
    sleep_for(300 * SIM_US); /* half of it is on its way */
    lnet_node_crash(cluster.node[0]);
}

static void stalled_taker(void *argument)
{
    struct lnet_handle_eq eq;
    struct lnet_event event;

    (void)argument;
    assert_int_equal(LNetNIInit(LNET_PID_LUSTRE), 0);
    eq = eq_make();
    target_make(eq, PORTAL, 1, message_in, MIB, LNET_MD_OP_PUT | LNET_MD_MANAGE_REMOTE);
    expect(eq, LNET_EVENT_PUT, 0, &event);
    assert_true(event_wait(eq, &event, 20000));
    assert_int_equal(event.type, LNET_EVENT_PUT);
    assert_int_equal(event.status, -EIO);
    assert_in_range(sim_local_time(), SECONDS(7), SECONDS(8.4));
    assert_int_equal(conn_count(1, 0), 0);
    assert_int_equal(LNetNIFini(), 0);
}

static void stalled_receive(void **state)
{
    (void)state;
    cluster_begin();
    node_make(0, NULL, NULL);
    node_make(1, NULL, NULL);
    run_on(1, stalled_taker, NULL, 0);
    run_on(0, dying_source, NULL, 0);
    run_all();
    cluster_end();
}

/* A node crashes, starts again and sends: its former connections are still open at the other end.
 */
static void reborn(void *argument)
{
    struct lnet_handle_eq eq;
    sim_time_t took;

    (void)argument;
    sim_sleep_until(SECONDS(3));
    assert_int_equal(LNetNIInit(LNET_PID_LUSTRE), 0);
    eq = eq_make();
    assert_int_equal(put_status(eq, 1, 8, &took), 0);
    assert_in_range(took, 1000 * SIM_MS, 1010 * SIM_MS); /* refused once (ESTALE), then repeated */
    sleep_for(SIM_S);
    assert_int_equal(conn_count(0, 1), 3);
    assert_int_equal(conn_count(1, 0), 3);
    assert_int_equal(LNetNIFini(), 0);
}

static void crashing(void *argument)
{
    struct lnet_handle_eq eq;
    sim_time_t took;

    (void)argument;
    sim_sleep_until(SIM_S);
    assert_int_equal(LNetNIInit(LNET_PID_LUSTRE), 0);
    eq = eq_make();
    assert_int_equal(put_status(eq, 1, 8, &took), 0);
    sleep_for(SIM_S);
    lnet_node_crash(cluster.node[0]);
}

static void peer_starts_again(void **state)
{
    struct taker taker = {0, SECONDS(8), 0, 0};

    (void)state;
    cluster_begin();
    node_make(0, NULL, NULL);
    node_make(1, NULL, NULL);
    run_on(1, taking, &taker, 0);
    run_on(0, crashing, NULL, 0);
    run_on(0, reborn, NULL, 0);
    run_all();
    assert_int_equal(taker.taken, 2);
    cluster_end();
}

/* ---- a health rule ----------------------------------------------------------------------------
 */

static void rule_source(void *argument)
{
    struct lnet_fault_attr attr = {.fa_src = nid_of(0), .fa_dst = nid_of(1)};
    struct lnet_handle_eq eq;
    sim_time_t took;

    (void)argument;
    sim_sleep_until(SIM_S);
    assert_int_equal(LNetNIInit(LNET_PID_LUSTRE), 0);
    eq = eq_make();
    assert_int_equal(put_status(eq, 1, 8, &took), 0);
    sleep_for(SIM_S);
    assert_int_equal(conn_count(0, 1), 3);
    attr.u.drop.da_rate = 1;
    attr.u.drop.da_health_error_mask = HSTATUS_REMOTE_ERROR_BIT;
    assert_int_equal(lnet_node_add_drop(cluster.node[0], &attr, NULL, "rule"), 0);
    assert_int_equal(put_status(eq, 1, 8, &took), -EINVAL);
    assert_int_equal(conn_count(0, 1), 0);
    assert_int_equal(peer_ni(0, 1)->health, 900);
    assert_int_equal(LNetNIFini(), 0);
}

static void lnet_92_health_rule_closes_the_connection(void **state)
{
    struct taker taker = {0, SECONDS(5), 0, 0};

    (void)state;
    cluster_begin();
    set_all("lnet_recovery_interval", "100");
    node_make(0, NULL, NULL);
    node_make(1, NULL, NULL);
    run_on(1, taking, &taker, 0);
    run_on(0, rule_source, NULL, 0);
    run_all();
    assert_int_equal(taker.taken, 1);
    cluster_end();
}

/* ---- LNetCtl of the driver --------------------------------------------------------------------
 */

static int control(unsigned command, struct libcfs_ioctl_data *data)
{
    data->ioc_net = LNET_NIDNET(nid_of(0));
    return LNetCtl(command, data);
}

static void control_source(void *argument)
{
    struct libcfs_ioctl_data data = {.ioc_count = 0};
    uint32_t types = 0, i;
    sim_time_t took;
    struct lnet_handle_eq eq;

    (void)argument;
    sim_sleep_until(SIM_S);
    assert_int_equal(LNetNIInit(LNET_PID_LUSTRE), 0);
    eq = eq_make();
    assert_int_equal(control(IOC_LIBCFS_GET_PEER, &data), -ENOENT);
    assert_int_equal(control(IOC_LIBCFS_GET_CONN, &data), -ENOENT);
    assert_int_equal(put_status(eq, 1, 8, &took), 0);
    sleep_for(SIM_S);

    data.ioc_count = 0;
    assert_int_equal(control(IOC_LIBCFS_GET_PEER, &data), 0);
    assert_true(data.ioc_nid == nid_of(1));
    assert_int_equal(data.ioc_u32[0], LNET_NIDADDR(nid_of(1)));
    assert_int_equal(data.ioc_u32[1], 988);
    assert_int_equal(data.ioc_u32[2], LNET_NIDADDR(nid_of(0)));
    assert_int_equal(data.ioc_u32[3], 3);
    assert_int_equal(data.ioc_u32[4], LNET_PID_LUSTRE);
    for (i = 0; i < 3; i++) {
        data.ioc_count = i;
        assert_int_equal(control(IOC_LIBCFS_GET_CONN, &data), 0);
        assert_true(data.ioc_nid == nid_of(1));
        assert_int_equal(data.ioc_u32[0], LNET_NIDADDR(nid_of(1)));
        assert_int_equal(data.ioc_u32[1], 988); /* this node has connected */
        assert_int_equal(data.ioc_u32[2], LNET_NIDADDR(nid_of(0)));
        assert_int_equal(data.ioc_u32[6], LNET_PID_LUSTRE);
        types |= 1u << data.ioc_u32[3];
    }
    assert_int_equal(types,
                     1u << LNET_SOCK_CONTROL | 1u << LNET_SOCK_BULK_IN | 1u << LNET_SOCK_BULK_OUT);
    data.ioc_count = 3;
    assert_int_equal(control(IOC_LIBCFS_GET_CONN, &data), -ENOENT);

    data.ioc_nid = nid_of(5);
    assert_int_equal(control(IOC_LIBCFS_PUSH_CONNECTION, &data), -ENOENT);
    assert_int_equal(control(IOC_LIBCFS_CLOSE_CONNECTION, &data), -ENOENT);
    assert_int_equal(control(IOC_LIBCFS_REGISTER_MYNID, &data), -EINVAL);
    data.ioc_nid = nid_of(0);
    assert_int_equal(control(IOC_LIBCFS_REGISTER_MYNID, &data), 0);
    data.ioc_nid = nid_of(1);
    assert_int_equal(control(IOC_LIBCFS_PUSH_CONNECTION, &data), 0);
    data.ioc_u32[0] = LNET_NIDADDR(nid_of(5)); /* no connection leads there */
    assert_int_equal(control(IOC_LIBCFS_CLOSE_CONNECTION, &data), -ENOENT);
    assert_int_equal(conn_count(0, 1), 3);
    data.ioc_u32[0] = 0;
    assert_int_equal(control(IOC_LIBCFS_CLOSE_CONNECTION, &data), 0);
    assert_int_equal(conn_count(0, 1), 0);
    data.ioc_nid = LNET_NID_ANY; /* all of none */
    assert_int_equal(control(IOC_LIBCFS_CLOSE_CONNECTION, &data), 0);
    sleep_for(SIM_S);
    assert_int_equal(put_status(eq, 1, 8, &took), 0); /* they are made again */
    assert_int_equal(LNetNIFini(), 0);
    assert_int_equal(cluster.node[0]->connections, 0);
}

static void control_of_peers_and_connections(void **state)
{
    struct taker taker = {0, SECONDS(10), 0, 0};
    struct lnet_leaks leaks;

    (void)state;
    cluster_begin();
    node_make(0, NULL, NULL);
    node_make(1, NULL, NULL);
    run_on(1, taking, &taker, 0);
    run_on(0, control_source, NULL, 0);
    run_all();
    assert_int_equal(taker.taken, 2);
    lnet_node_leaks(cluster.node[1], &leaks);
    assert_int_equal(leaks.connections, 0);
    cluster_end();
}

/* ADD_PEER tells a peer's port, that of another acceptor than this node's; without it, the peer
 * cannot be reached. */
static void routed_source(void *argument)
{
    struct libcfs_ioctl_data data = {.ioc_nid = nid_of(1)};
    sim_time_t took;
    struct lnet_handle_eq eq;

    (void)argument;
    sim_sleep_until(SIM_S);
    assert_int_equal(LNetNIInit(LNET_PID_LUSTRE), 0);
    eq = eq_make();
    assert_int_equal(control(IOC_LIBCFS_DEL_PEER, &data), -ENOENT);
    assert_int_equal(control(IOC_LIBCFS_ADD_PEER, &data), -EINVAL); /* no address */
    data.ioc_u32[0] = LNET_NIDADDR(nid_of(1));
    data.ioc_u32[1] = UINT16_MAX + 1;
    assert_int_equal(control(IOC_LIBCFS_ADD_PEER, &data), -EINVAL);
    data.ioc_u32[1] = 1988;
    assert_int_equal(control(IOC_LIBCFS_ADD_PEER, &data), 0);
    assert_int_equal(control(IOC_LIBCFS_ADD_PEER, &data), 0); /* shared */
    data.ioc_u32[1] = 1989;
    assert_int_equal(control(IOC_LIBCFS_ADD_PEER, &data), -EEXIST);
    data.ioc_nid = LNET_NID_ANY;
    assert_int_equal(control(IOC_LIBCFS_ADD_PEER, &data), -EINVAL);

    assert_int_equal(put_status(eq, 1, 8, &took), 0);
    sleep_for(SIM_S);
    assert_int_equal(conn_count(0, 1), 3);
    data.ioc_count = 0;
    assert_int_equal(control(IOC_LIBCFS_GET_PEER, &data), 0);
    assert_true(data.ioc_nid == nid_of(1));
    assert_int_equal(data.ioc_count, 2);
    assert_int_equal(data.ioc_u32[0], LNET_NIDADDR(nid_of(1)));
    assert_int_equal(data.ioc_u32[1], 1988);

    data.ioc_u32[0] = LNET_NIDADDR(nid_of(5)); /* no route leads there */
    assert_int_equal(control(IOC_LIBCFS_DEL_PEER, &data), -ENOENT);
    assert_int_equal(conn_count(0, 1), 3);
    data.ioc_nid = LNET_NID_ANY;
    data.ioc_u32[0] = 0;
    assert_int_equal(control(IOC_LIBCFS_DEL_PEER, &data), 0);
    assert_int_equal(conn_count(0, 1), 0);
    data.ioc_count = 0;
    assert_int_equal(control(IOC_LIBCFS_GET_PEER, &data), -ENOENT);
    assert_int_not_equal(put_status(eq, 1, 8, &took), 0);
    assert_int_equal(LNetNIFini(), 0);
    assert_int_equal(cluster.node[0]->connections, 0);
}

static void peers_are_added_and_deleted(void **state)
{
    struct taker taker = {0, SECONDS(10), 0, 0};
    struct lnet_leaks leaks;

    (void)state;
    cluster_begin();
    node_make(0, NULL, NULL);
    node_make(1, "accept_port", "1988");
    run_on(1, taking, &taker, 0);
    run_on(0, routed_source, NULL, 0);
    run_all();
    assert_int_equal(taker.taken, 1);
    lnet_node_leaks(cluster.node[1], &leaks);
    assert_int_equal(leaks.connections, 0);
    cluster_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refused_then_back_off),
        cmocka_unit_test(back_off_doubles),
        cmocka_unit_test(queued_without_connection),
        cmocka_unit_test(wrong_pid),
        cmocka_unit_test(stalled_transmit),
        cmocka_unit_test(stalled_receive),
        cmocka_unit_test(peer_starts_again),
        cmocka_unit_test(lnet_92_health_rule_closes_the_connection),
        cmocka_unit_test(control_of_peers_and_connections),
        cmocka_unit_test(peers_are_added_and_deleted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
