/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Routes, routers, and how a dead router is noticed. A is on tcp, B on o2ib, C and D are routers.
 */
#include "world.h"

static char memory[LNET_MAX_PAYLOAD];
static char data[LNET_MAX_PAYLOAD];

/* Pings at start-up would change the counts of messages. */
#define QUIET                             \
    {"live_router_check_interval", "0"},  \
    {                                     \
        "dead_router_check_interval", "0" \
    }
#define TCP_SIDE(routes)           \
    {                              \
        {"networks", "tcp(eth0)"}, \
        {                          \
            "routes", routes       \
        }                          \
    }
#define IB_SIDE(routes)       \
    {                         \
        {"networks", "o2ib"}, \
        {                     \
            "routes", routes  \
        }                     \
    }
#define ROUTER                          \
    {                                   \
        {"networks", "tcp(eth0),o2ib"}, \
        {                               \
            "forwarding", "enabled"     \
        }                               \
    }
#define ONE_ROUTER \
    .nodes = 3, .own = {TCP_SIDE("o2ib 10.0.0.3@tcp"), IB_SIDE("tcp 10.1.0.3@o2ib"), ROUTER}
#define TWO_ROUTERS(routes) \
    .nodes = 4, .own = {TCP_SIDE(routes), IB_SIDE("tcp 10.1.0.[3-4]@o2ib"), ROUTER, ROUTER}

static void routed_put(enum lnet_ack_req ack, unsigned length)
{
    on(A);
    assert_int_equal(LNetPut(LNET_NID_ANY, bind_md(data, length, ack == LNET_ACK_REQ ? 2 : 1), ack,
                             id_of(o2ib(B)), PORTAL, 7, 0, 0),
                     0);
}

static void receive_any(void)
{
    on(B);
    post(7, memory, sizeof(memory), LNET_MD_THRESH_INF,
         LNET_MD_OP_PUT | LNET_MD_OP_GET | LNET_MD_MANAGE_REMOTE);
}

static int add_route(lnet_nid_t gateway, uint32_t net, uint32_t hops, uint32_t priority)
{
    struct lnet_ioctl_config_data config = {
        .cfg_hdr.ioc_len = sizeof(config),
        .cfg_net = net,
        .cfg_nid = gateway,
        .cfg_config_u.cfg_route = {.rtr_hop = hops, .rtr_priority = priority},
    };

    return LNetCtl(IOC_LIBCFS_ADD_ROUTE, &config);
}

TEST_IN(lnet_79_route_errors, .nodes = 2, .settings = {{"networks", "tcp(eth0),gni"}, QUIET})
{
    uint32_t net_ib = LNET_MKNET(O2IBLND, 0), net_tcp = LNET_MKNET(SOCKLND, 0);
    struct lnet_ioctl_config_data config = {.cfg_hdr.ioc_len = sizeof(config)};

    assert_int_equal(add_route(o2ib(C), net_ib, 1, 0), -EINVAL);
    assert_int_equal(add_route(LNET_NID_ANY, net_ib, 1, 0), -EINVAL);
    assert_int_equal(add_route(LNET_NID_LO_0, net_ib, 1, 0), -EINVAL);
    assert_int_equal(add_route(tcp(C), LNET_MKNET(LOLND, 0), 1, 0), -EINVAL);
    assert_int_equal(add_route(gni(C), net_tcp, 1, 0), -EEXIST);
    assert_int_equal(add_route(tcp(C), net_ib, 0, 0), -EINVAL);
    assert_int_equal(add_route(tcp(C), net_ib, 256, 0), -EINVAL);
    assert_int_equal(add_route(LNET_MKNID(LNET_MKNET(SOCKLND, 5), 1), net_ib, 1, 0), -EHOSTUNREACH);
    assert_int_equal(add_route(tcp(C), net_ib, 1, 0), 0);
    assert_int_equal(add_route(tcp(C), net_ib, 2, 0), -EEXIST);
    assert_int_equal(add_route(tcp(D), net_ib, 255, 3), 0);
    assert_int_equal(add_route(gni(D), net_ib, 1, 0), -EINVAL); /* another local network */

    config.cfg_count = 1;
    assert_int_equal(LNetCtl(IOC_LIBCFS_GET_ROUTE, &config), 0);
    assert_int_equal(config.cfg_nid, tcp(D));
    assert_int_equal(config.cfg_config_u.cfg_route.rtr_hop, 255);
    assert_int_equal(config.cfg_config_u.cfg_route.rtr_priority, 3);
    config.cfg_count = 2;
    assert_int_equal(LNetCtl(IOC_LIBCFS_GET_ROUTE, &config), -ENOENT);
    config.cfg_net = net_ib;
    config.cfg_nid = tcp(E);
    assert_int_equal(LNetCtl(IOC_LIBCFS_DEL_ROUTE, &config), -ENOENT);
    config.cfg_nid = LNET_NID_ANY;
    assert_int_equal(LNetCtl(IOC_LIBCFS_DEL_ROUTE, &config), 0);
    assert_int_equal(LNetCtl(IOC_LIBCFS_DEL_ROUTE, &config), -ENOENT);
    config.cfg_hdr.ioc_len = 8;
    assert_int_equal(LNetCtl(IOC_LIBCFS_ADD_ROUTE, &config), -EINVAL);
}

static unsigned forwarded(unsigned node)
{
    return counters(node).lct_common.lcc_route_count;
}

static void send_some(unsigned count)
{
    unsigned i;

    for (i = 0; i < count; i++) {
        routed_put(LNET_NOACK_REQ, 100);
        pass(SIM_MS);
    }
}

TEST_IN(lnet_80_priority_before_hops, .settings = {QUIET},
        TWO_ROUTERS("o2ib 1 10.0.0.3@tcp:5; o2ib 4 10.0.0.4@tcp:1"))
{
    receive_any();
    send_some(4);
    assert_int_equal(forwarded(C), 0);
    assert_int_equal(forwarded(D), 4);
}

TEST_IN(lnet_80_hops, .settings = {QUIET},
        TWO_ROUTERS("o2ib 2 10.0.0.3@tcp; o2ib 10.0.0.4@tcp")) /* undefined hops count as 1 */
{
    receive_any();
    send_some(4);
    assert_int_equal(forwarded(C), 0);
    assert_int_equal(forwarded(D), 4);
}

TEST_IN(lnet_80_queued_bytes, .settings = {QUIET}, TWO_ROUTERS("o2ib 10.0.0.[3-4]@tcp"))
{
    receive_any();
    wire.hold = true;
    routed_put(LNET_NOACK_REQ, 8000); /* to one of the two */
    routed_put(LNET_NOACK_REQ, 100); /* to the other one, again and again */
    routed_put(LNET_NOACK_REQ, 100);
    routed_put(LNET_NOACK_REQ, 100);
    assert_int_equal(peer_of(A, tcp(C))->tx_queued_bytes + peer_of(A, tcp(D))->tx_queued_bytes,
                     8000 + 300 + 4 * 72);
    assert_true(peer_of(A, tcp(C))->tx_queued_bytes == 8072 ||
                peer_of(A, tcp(D))->tx_queued_bytes == 8072);
    wire.hold = false;
    wire_release(4);
    pass(SIM_MS);
}

TEST_IN(lnet_80_round_robin, .settings = {QUIET}, TWO_ROUTERS("o2ib 10.0.0.[3-4]@tcp"))
{
    receive_any();
    send_some(10);
    assert_int_equal(forwarded(C), 5);
    assert_int_equal(forwarded(D), 5);
}

TEST_IN(lnet_81_routed_put, .settings = {QUIET}, ONE_ROUTER)
{
    const struct lnet_event *e;

    memset(data, 'r', 5000);
    receive_any();
    routed_put(LNET_ACK_REQ, 5000);
    pass(SIM_MS);
    e = event_of(B, LNET_EVENT_PUT, 0);
    assert_int_equal(e->sender, o2ib(C));
    assert_int_equal(e->source.nid, tcp(A));
    assert_int_equal(e->initiator.nid, tcp(A));
    assert_int_equal(e->target.nid, o2ib(B));
    assert_memory_equal(memory, data, 5000);
    e = event_of(A, LNET_EVENT_ACK, 0);
    assert_int_equal(e->sender, tcp(C));
    assert_int_equal(e->source.nid, o2ib(B));
    assert_int_equal(forwarded(C), 2);
    assert_int_equal(counters(C).lct_common.lcc_route_length, 5000);
    assert_int_equal(counters(C).lct_common.lcc_recv_count, 0);
    assert_int_equal(LNetDist(o2ib(B), NULL, NULL), 2);

    forget();
    on(A);
    assert_int_equal(
        LNetGet(LNET_NID_ANY, bind_md(data, 300, 2), id_of(o2ib(B)), PORTAL, 7, 0, false), 0);
    pass(SIM_MS);
    assert_int_equal(event_of(A, LNET_EVENT_REPLY, 0)->mlength, 300);
    assert_int_equal(event_of(A, LNET_EVENT_REPLY, 0)->sender, tcp(C));
    assert_int_equal(forwarded(C), 4);
}

static struct lnet_router_pool *pool_of(unsigned node, unsigned number)
{
    return &lnet_of(node)->instance->pools[number];
}

TEST_IN(lnet_82_router_buffers,
        .settings = {QUIET,
                     {"router_buffers_exact", "1"},
                     {"tiny_router_buffers", "2"},
                     {"small_router_buffers", "2"},
                     {"large_router_buffers", "1"},
                     {"peer_buffer_credits", "6"}},
        ONE_ROUTER)
{
    unsigned i;

    receive_any();
    wire.hold = true;
    routed_put(LNET_NOACK_REQ, 0);
    routed_put(LNET_NOACK_REQ, 4096);
    routed_put(LNET_NOACK_REQ, 4097);
    wire_release(3);
    pass(SIM_MS);
    assert_int_equal(pool_of(C, LNET_POOL_TINY)->credits, 1);
    assert_int_equal(pool_of(C, LNET_POOL_SMALL)->credits, 1);
    assert_int_equal(pool_of(C, LNET_POOL_LARGE)->credits, 0);
    assert_int_equal(wire.held, 3); /* at the router */
    /* A second large one waits for a buffer, and nothing is received into one. */
    wire.hold = false;
    routed_put(LNET_NOACK_REQ, 5000);
    pass(SIM_MS);
    assert_int_equal(pool_of(C, LNET_POOL_LARGE)->credits, -1);
    assert_int_equal(pool_of(C, LNET_POOL_LARGE)->credits_min, -1);
    assert_int_equal(count_of(B, LNET_EVENT_PUT), 0);
    wire_release(3);
    pass(SIM_MS);
    assert_int_equal(count_of(B, LNET_EVENT_PUT), 4);
    assert_int_equal(pool_of(C, LNET_POOL_LARGE)->credits, 1);

    /* The sender's credit at the router: the seventh message waits. */
    forget();
    on(A);
    wire.hold = true;
    for (i = 0; i < 7; i++)
        routed_put(LNET_NOACK_REQ, i < 2 ? 0 : i < 4 ? 100 : 5000);
    wire_release(7);
    pass(SIM_MS);
    assert_int_equal(peer_of(C, tcp(A))->router_credits, -1);
    assert_int_equal(peer_of(C, tcp(A))->router_credits_min, -1);
    wire.hold = false;
    wire_release(100);
    pass(SIM_MS);
    assert_int_equal(count_of(B, LNET_EVENT_PUT), 7);
    assert_int_equal(peer_of(C, tcp(A))->router_credits, 6);
    for (i = 0; i < LNET_POOLS; i++)
        assert_int_equal(pool_of(C, i)->credits, pool_of(C, i)->total);
}

TEST_IN(router_defaults, .settings = {QUIET}, ONE_ROUTER)
{
    static const int totals[] = {2048, 16384, 1024};
    unsigned i;

    for (i = 0; i < 3; i++)
        assert_int_equal(pool_of(C, i)->total, totals[i]);
    assert_null(lnet_of(A)->instance->pools);
}

/* Switching forwarding off drops what waits. */
TEST_IN(switched_off, .unbalanced = true,
        .settings = {QUIET, {"router_buffers_exact", "1"}, {"tiny_router_buffers", "1"}},
        ONE_ROUTER)
{
    struct lnet_ioctl_config_data config = {.cfg_hdr.ioc_len = sizeof(config)};

    receive_any();
    wire.hold = true;
    routed_put(LNET_NOACK_REQ, 0);
    routed_put(LNET_NOACK_REQ, 0);
    wire_release(2);
    pass(SIM_MS);
    assert_int_equal(pool_of(C, LNET_POOL_TINY)->credits, -1);
    on(C);
    assert_int_equal(LNetCtl(IOC_LIBCFS_CONFIG_RTR, &config), 0);
    assert_int_equal(counters(C).lct_common.lcc_drop_count, 1);
    assert_int_equal(pool_of(C, LNET_POOL_TINY)->credits, 0);
    wire.hold = false;
    wire_release(1);
    pass(SIM_MS);
    assert_int_equal(count_of(B, LNET_EVENT_PUT), 1);
    assert_int_equal(pool_of(C, LNET_POOL_TINY)->credits, 1);
    config.cfg_config_u.cfg_buffers.buf_enable = 1;
    assert_int_equal(LNetCtl(IOC_LIBCFS_CONFIG_RTR, &config), 0);
    routed_put(LNET_NOACK_REQ, 0);
    pass(SIM_MS);
    assert_int_equal(count_of(B, LNET_EVENT_PUT), 2);
}

TEST_IN(lnet_83_not_for_this_node, .nodes = 2, .unbalanced = true,
        .settings = {{"networks", "tcp(eth0,eth1)"}})
{
    struct lnet_hdr header = {
        .dest_nid = o2ib(B),
        .src_nid = tcp(A),
        .dest_pid = 12345,
        .src_pid = 12345,
        .type = LNET_MSG_PUT,
    };

    assert_int_equal(wire_inject(tcp(B), &header, tcp(A)), 0);
    assert_int_equal(counters(B).lct_common.lcc_drop_count, 1);
    header.dest_nid = tcp(C); /* another NID of the same network */
    assert_int_equal(wire_inject(tcp(B), &header, tcp(A)), -EPROTO);
    header.dest_nid = LNET_MKNID(LNET_MKNET(SOCKLND, 0), 0x0a020002); /* B's other NID */
    assert_int_equal(wire_inject(tcp(B), &header, tcp(A)), -EPROTO);
    assert_int_equal(wire.protocol_errors, 2);
    assert_int_equal(counters(B).lct_common.lcc_drop_count, 1);
}

static int last_status(void)
{
    const struct lnet_event *event = NULL;
    unsigned i;

    for (i = 0; i < seen_count; i++) {
        if (seen[i].event.type == LNET_EVENT_SEND)
            event = &seen[i].event;
    }
    assert_non_null(event);
    return event->status;
}

TEST_IN(lnet_84_router_death, .unbalanced = true, ONE_ROUTER)
{
    receive_any();
    pass(SIM_S);
    routed_put(LNET_NOACK_REQ, 8);
    pass(SIM_MS);
    assert_int_equal(last_status(), 0);
    assert_int_equal(count_of(B, LNET_EVENT_PUT), 1);
    on(C); /* the router stops without a word */
    wire.swallow = true;
    assert_int_equal(LNetNIFini(), 0);
    pass(60 * SIM_S); /* the next ping */
    routed_put(LNET_NOACK_REQ, 8);
    pass(SIM_MS);
    assert_int_equal(last_status(), 0); /* not known yet */
    pass(50 * SIM_S); /* router_ping_timeout */
    routed_put(LNET_NOACK_REQ, 8);
    pass(SIM_MS);
    assert_int_equal(last_status(), -EHOSTUNREACH);
    on(C);
    assert_int_equal(LNetNIInit(LNET_PID_LUSTRE), 0);
    wire.swallow = false;
    pass(130 * SIM_S); /* the ping in flight ends, and the next one is answered */
    forget();
    routed_put(LNET_NOACK_REQ, 8);
    pass(SIM_MS);
    assert_int_equal(last_status(), 0);
    assert_int_equal(count_of(B, LNET_EVENT_PUT), 1);
}

/* A router whose NI on the target's side is silent reports it as down, and is avoided. */
TEST_IN(asymmetric_failure, .nodes = 3,
        .own = {TCP_SIDE("o2ib 1 10.0.0.3@tcp"), {{"networks", "gni"}}, ROUTER})
{
    struct lnet_ioctl_config_data config = {.cfg_hdr.ioc_len = sizeof(config)};

    on(A);
    pass(SIM_S);
    assert_int_equal(LNetCtl(IOC_LIBCFS_GET_ROUTE, &config), 0);
    assert_int_equal(config.cfg_config_u.cfg_route.rtr_flags, 1);
    pass(200 * SIM_S); /* 50 + 60 s of silence on o2ib, then a ping */
    config.cfg_count = 0;
    assert_int_equal(LNetCtl(IOC_LIBCFS_GET_ROUTE, &config), 0);
    assert_int_equal(config.cfg_config_u.cfg_route.rtr_flags, 0);
}

TEST_IN(routers_checked_before_use, .settings = {{"check_routers_before_use", "1"}},
        .not_started = true, ONE_ROUTER)
{
    sim_time_t before;

    on(B);
    lnet_of(B)->params.check_routers_before_use = 0;
    lnet_of(C)->params.check_routers_before_use = 0;
    assert_int_equal(LNetNIInit(LNET_PID_LUSTRE), 0);
    on(C);
    assert_int_equal(LNetNIInit(LNET_PID_LUSTRE), 0);
    on(A);
    before = sim_local_time();
    assert_int_equal(LNetNIInit(LNET_PID_LUSTRE), 0);
    assert_true(sim_local_time() - before >= 2 * SIM_US); /* a ping and its answer */
    receive_any();
    routed_put(LNET_NOACK_REQ, 8);
    pass(SIM_MS);
    assert_int_equal(count_of(B, LNET_EVENT_PUT), 1);
}

TEST_IN(asymmetric_routes_dropped, .unbalanced = true,
        .settings = {QUIET, {"lnet_drop_asym_route", "1"}}, .nodes = 4,
        .own = {TCP_SIDE("o2ib 10.0.0.3@tcp"), IB_SIDE("tcp 10.1.0.4@o2ib"), ROUTER, ROUTER})
{
    receive_any();
    routed_put(LNET_NOACK_REQ, 8);
    pass(SIM_MS);
    assert_int_equal(count_of(B, LNET_EVENT_PUT), 0);
    assert_int_equal(counters(B).lct_common.lcc_drop_count, 1);
}

/* A router that has heard nothing of a peer for peer_timeout drops what it should forward, and says
 * so in its statistics, those of the NI, and those of the peer. */
TEST_IN(statistics_of_a_dead_peer, .unbalanced = true, .settings = {QUIET}, ONE_ROUTER)
{
    char *text, *peer;

    receive_any();
    pass(SIM_S);
    routed_put(LNET_NOACK_REQ, 8);
    pass(SIM_MS);
    assert_int_equal(count_of(B, LNET_EVENT_PUT), 1);
    pass(200 * SIM_S);
    routed_put(LNET_NOACK_REQ, 8);
    pass(SIM_MS);
    assert_int_equal(count_of(B, LNET_EVENT_PUT), 1);
    assert_int_equal(counters(C).lct_common.lcc_drop_count, 1);
    assert_int_equal(counters(C).lct_common.lcc_drop_length, 8);
    text = lnet_node_show(lnet_of(C), "peer show -v 2");
    peer = strstr(text, libcfs_nid2str(o2ib(B)));
    assert_non_null(peer);
    assert_non_null(strstr(peer, "statistics:\n              send_count: 1\n"
                                 "              recv_count: 0\n              drop_count: 1\n"));
    free(text);
}

TEST_IN(ping_command, .settings = {QUIET}, ONE_ROUTER)
{
    struct lnet_process_id ids[8];
    struct libcfs_ioctl_data ping = {
        .ioc_nid = tcp(C),
        .ioc_u32 = {LNET_PID_ANY, 1000},
        .ioc_plen1 = sizeof(ids),
        .ioc_pbuf1 = ids,
    };

    assert_int_equal(LNetCtl(IOC_LIBCFS_PING, &ping), 0);
    assert_int_equal(ping.ioc_count, 3);
    assert_int_equal(ids[0].nid, LNET_NID_LO_0);
    assert_int_equal(ids[1].nid, tcp(C));
    assert_int_equal(ids[2].nid, o2ib(C));
    assert_int_equal(ids[2].pid, 12345);
    ping.ioc_nid = o2ib(B); /* through the router */
    assert_int_equal(LNetCtl(IOC_LIBCFS_PING, &ping), 0);
    assert_int_equal(ping.ioc_count, 2);
    ping.ioc_nid = gni(B);
    assert_int_equal(LNetCtl(IOC_LIBCFS_PING, &ping), -EIO);
    ping.ioc_nid = LNET_NID_ANY;
    assert_int_equal(LNetCtl(IOC_LIBCFS_PING, &ping), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lnet_79_route_errors),
        cmocka_unit_test(lnet_80_priority_before_hops),
        cmocka_unit_test(lnet_80_hops),
        cmocka_unit_test(lnet_80_queued_bytes),
        cmocka_unit_test(lnet_80_round_robin),
        cmocka_unit_test(lnet_81_routed_put),
        cmocka_unit_test(lnet_82_router_buffers),
        cmocka_unit_test(router_defaults),
        cmocka_unit_test(switched_off),
        cmocka_unit_test(lnet_83_not_for_this_node),
        cmocka_unit_test(lnet_84_router_death),
        cmocka_unit_test(asymmetric_failure),
        cmocka_unit_test(routers_checked_before_use),
        cmocka_unit_test(asymmetric_routes_dropped),
        cmocka_unit_test(statistics_of_a_dead_peer),
        cmocka_unit_test(ping_command),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
