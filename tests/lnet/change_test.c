/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Networks and NIs that come and go while LNet runs, and the commands of lnetctl that change a
 * node. */
#include "world.h"

#include "uapi/linux/lnet/lnet-dlc.h"

static char data[4096], memory[4096];
static struct lnet_ioctl_config_ni ni;

static lnet_nid_t second(unsigned node)
{
    return lnet_of(node)->interfaces[1].address | (lnet_nid_t)LNET_MKNET(SOCKLND, 1) << 32;
}

/* A descriptor for everything with the bits 7. */
static void receive(void)
{
    on(B);
    post(7, memory, sizeof(memory), LNET_MD_THRESH_INF,
         LNET_MD_OP_PUT | LNET_MD_OP_GET | LNET_MD_MANAGE_REMOTE);
    on(A);
}

static int change_ni(unsigned command, lnet_nid_t nid, const char *interface)
{
    ni = (struct lnet_ioctl_config_ni){
        .lic_cfg_hdr = {.ioc_len = sizeof(ni), .ioc_version = LIBCFS_IOCTL_VERSION2},
        .lic_nid = nid};
    strcpy(ni.lic_ni_intf[0], interface);
    return libcfs_ioctl(command, &ni.lic_cfg_hdr);
}

static int change_net(unsigned command, const char *text, int credits)
{
    struct lnet_ioctl_config_data config;

    LIBCFS_IOC_INIT_V2(config, cfg_hdr);
    config.cfg_net = libcfs_str2net(text);
    strcpy(config.cfg_config_u.cfg_net.net_intf, text);
    config.cfg_config_u.cfg_net.net_peer_timeout = -1;
    config.cfg_config_u.cfg_net.net_peer_tx_credits = credits;
    config.cfg_config_u.cfg_net.net_peer_rtr_credits = -1;
    config.cfg_config_u.cfg_net.net_max_tx_credits = -1;
    return libcfs_ioctl(command, &config.cfg_hdr);
}

static int configure(bool on_or_off, unsigned flags)
{
    struct libcfs_ioctl_data argument = {.ioc_hdr = {sizeof(argument), LIBCFS_IOCTL_VERSION},
                                         .ioc_flags = flags};

    return libcfs_ioctl(on_or_off ? IOC_LIBCFS_CONFIGURE : IOC_LIBCFS_UNCONFIGURE,
                        &argument.ioc_hdr);
}

#define NET(text) LNET_MKNID(libcfs_str2net(text), 0)

/* ---- ioctls ---------------------------------------------------------------------------------- */

/* In the kernel, too, networks change only where the module itself has started LNet. */
TEST(configuring)
{
    on(A);
    assert_int_equal(change_ni(IOC_LIBCFS_ADD_LOCAL_NI, NET("tcp1"), "eth1"), -EINVAL);
    assert_int_equal(configure(true, 0), 0);
    assert_int_equal(configure(true, 0), 0);
    assert_int_equal(lnet_of(A)->references, 2);
    assert_int_equal(change_ni(IOC_LIBCFS_ADD_LOCAL_NI, NET("tcp1"), "eth1"), 0);
    assert_int_equal(configure(false, 0), -EBUSY);
    assert_int_equal(lnet_of(A)->references, 1);
    assert_int_equal(LNetCtl(IOC_LIBCFS_ADD_LOCAL_NI, &ni), -EINVAL); /* never LNetCtl's */
}

TEST_IN(configuring_without_parameters, .not_started = true)
{
    struct lnet_process_id id;

    on(A);
    assert_int_equal(configure(true, 1), 0);
    assert_int_equal(LNetGetId(1, &id), -ENOENT); /* 0@lo only */
    assert_int_equal(change_net(IOC_LIBCFS_ADD_NET, "tcp(eth0)", -1), 0);
    assert_int_equal(LNetGetId(1, &id), 0);
    assert_int_equal(id.nid, tcp(A));
    assert_int_equal(configure(false, 0), 0);
    assert_int_equal(lnet_of(A)->state, LNET_DOWN);
    assert_int_equal(configure(true, 0), 0);
    assert_int_equal(LNetGetId(1, &id), 0);
    assert_int_equal(configure(false, 0), 0);
    assert_int_equal(LNetNIInit(LNET_PID_LUSTRE), 0); /* for the end of the test */
    on(B);
    assert_int_equal(LNetNIInit(LNET_PID_LUSTRE), 0);
    on(A);
}

TEST(wrong_changes)
{
    on(A);
    assert_int_equal(configure(true, 0), 0);
    assert_int_equal(change_ni(IOC_LIBCFS_ADD_LOCAL_NI, NET("tcp"), "eth0"), -EEXIST);
    assert_int_equal(change_ni(IOC_LIBCFS_ADD_LOCAL_NI, NET("tcp1"), "eth7"), -ENODEV);
    assert_int_equal(change_ni(IOC_LIBCFS_ADD_LOCAL_NI, NET("lo"), ""), -EINVAL);
    assert_int_equal(change_ni(IOC_LIBCFS_ADD_LOCAL_NI, NET("gip"), ""), -EINVAL);
    assert_int_equal(change_ni(IOC_LIBCFS_DEL_LOCAL_NI, LNET_NID_LO_0, ""), -EINVAL);
    assert_int_equal(change_ni(IOC_LIBCFS_DEL_LOCAL_NI, tcp(B), ""), -ENOENT);
    assert_int_equal(change_ni(IOC_LIBCFS_DEL_LOCAL_NI, NET("tcp5"), ""), -ENOENT);
    assert_int_equal(change_net(IOC_LIBCFS_DEL_NET, "tcp5", 0), -EINVAL);
    assert_int_equal(change_net(IOC_LIBCFS_ADD_NET, "tcp1(eth0),tcp2(eth1)", -1), -EINVAL);
    assert_int_equal(change_net(IOC_LIBCFS_ADD_NET, "tcp1(eth1", -1), -EINVAL);
    assert_int_equal(change_net(IOC_LIBCFS_ADD_NET, "tcp1(eth1)", 0), -EINVAL); /* no credits */
    assert_null(ni_of(A, second(A)));
    wire.startup_error = -EADDRINUSE;
    assert_int_equal(change_net(IOC_LIBCFS_ADD_NET, "tcp1(eth1)", -1), -EADDRINUSE);
    wire.startup_error = 0;
    assert_null(lnet_net_by_id(lnet_of(A)->instance, libcfs_str2net("tcp1")));
    /* The first one of two was started, and goes again. */
    assert_int_equal(change_net(IOC_LIBCFS_ADD_NET, "tcp1(eth1,eth7)", -1), -ENODEV);
    assert_null(lnet_net_by_id(lnet_of(A)->instance, libcfs_str2net("tcp1")));
    assert_int_equal(lnet_node_command(lnet_of(A), "route add --net tcp1 --gateway 10.0.0.9@tcp"),
                     0);
    assert_int_equal(change_net(IOC_LIBCFS_ADD_NET, "tcp1(eth1)", -1), -EUSERS);
}

/* ---- traffic --------------------------------------------------------------------------------- */

TEST(a_new_network_carries_messages)
{
    char ping[512];

    receive();
    put(B, 7, data, 8); /* a peer of a network that A does not have */
    pass(SIM_MS);
    assert_int_equal(lnet_node_command(lnet_of(A), "net add --net tcp1 --if eth1 --peer-credits 3"),
                     0);
    assert_int_equal(lnet_node_command(lnet_of(B), "net add --net=tcp1 --if=eth1"), 0);
    assert_int_equal(ni_of(A, second(A))->peer_credits, 3);
    LNetPut(LNET_NID_ANY, bind_md(data, 8, 1), LNET_NOACK_REQ, id_of(second(B)), PORTAL, 7, 0, 0);
    pass(SIM_MS);
    assert_int_equal(count_of(B, LNET_EVENT_PUT), 2);
    assert_int_equal(peer_of(A, second(B))->tx_credits, 3);
    /* The ping target tells of it: lo, tcp, tcp1. */
    LNetGet(LNET_NID_ANY, bind_md(ping, sizeof(ping), 2), id_of(tcp(B)), LNET_RESERVED_PORTAL,
            LNET_PROTO_PING_MATCHBITS, 0, false);
    pass(SIM_MS);
    assert_int_equal(((struct lnet_ping_info *)ping)->pi_nnis, 3);
    assert_int_equal(((struct lnet_ping_info *)ping)->pi_ni[2].ns_nid, second(B));
    assert_int_equal(((struct lnet_ping_info *)ping)->pi_ni[0].ns_status, 2);
}

/* Peers that were met before their network was there get its credits; again after it was away. */
TEST(peers_of_a_network_that_comes_late)
{
    int i;

    receive();
    LNetPut(LNET_NID_ANY, bind_md(data, 8, 1), LNET_NOACK_REQ, id_of(second(B)), PORTAL, 7, 0, 0);
    assert_int_equal(event_of(A, LNET_EVENT_SEND, 0)->status, -EHOSTUNREACH);
    assert_int_equal(lnet_node_command(lnet_of(B), "net add --net tcp1 --if eth1"), 0);
    for (i = 0; i < 3; i++) {
        assert_int_equal(lnet_node_command(lnet_of(A), "net add --net tcp1 --if eth1"), 0);
        LNetPut(LNET_NID_ANY, bind_md(data, 8, 1), LNET_NOACK_REQ, id_of(second(B)), PORTAL, 7, 0,
                0);
        pass(SIM_MS);
        assert_int_equal(count_of(B, LNET_EVENT_PUT), i + 1);
        assert_int_equal(peer_of(A, second(B))->tx_credits, 8);
        assert_int_equal(lnet_node_command(lnet_of(A), "net del --net tcp1"), 0);
        assert_null(peer_of(A, second(B))->net);
        assert_int_equal(lnet_node_command(lnet_of(A), "net del --net tcp1"), -ENOENT);
    }
}

/* What waits for a credit, what a rule holds, and what waits for a descriptor ends with the NI. */
TEST_IN(what_waits_ends, .unbalanced = true, .settings = {{"networks", "tcp(eth0),tcp1(eth1)"}})
{
    struct lnet_fault_attr attr = {.fa_src = LNET_NID_ANY,
                                   .fa_dst = LNET_NID_ANY,
                                   .fa_msg_mask = LNET_GET_BIT,
                                   .u.delay = {.la_rate = 1, .la_latency = 100}};
    struct libcfs_ioctl_data fault = {
        .ioc_flags = LNET_CTL_DELAY_ADD, .ioc_inllen1 = sizeof(attr), .ioc_inlbuf1 = (char *)&attr};
    unsigned i;

    on(B);
    assert_int_equal(LNetSetLazyPortal(PORTAL), 0);
    on(A);
    LNetPut(LNET_NID_ANY, bind_md(data, 8, 1), LNET_NOACK_REQ, id_of(second(B)), PORTAL, 7, 0, 0);
    pass(SIM_MS);
    forget();
    assert_int_equal(LNetCtl(IOC_LIBCFS_LNET_FAULT, &fault), 0);
    LNetGet(LNET_NID_ANY, bind_md(data, 8, 2), id_of(second(B)), PORTAL, 7, 0, false);
    wire.hold = true;
    for (i = 0; i < 10; i++)
        LNetPut(LNET_NID_ANY, bind_md(data, 8, 1), LNET_NOACK_REQ, id_of(second(B)), PORTAL, 7, 0,
                0);
    assert_int_equal(peer_of(A, second(B))->tx_credits, -3); /* the GET has one, too */
    assert_int_equal(lnet_node_command(lnet_of(A), "net del --net tcp1 --if eth1"), 0);
    assert_int_equal(lnet_node_command(lnet_of(B), "net del --net tcp1"), 0);
    assert_int_equal(count_of(A, LNET_EVENT_SEND), 11);
    for (i = 0; i < 3; i++)
        assert_int_equal(event_of(A, LNET_EVENT_SEND, i)->status, -ESHUTDOWN);
    assert_int_equal(counters(B).lct_common.lcc_drop_count, 1); /* the lazy one */
    pass(SIM_MS);
    assert_int_equal(peer_of(A, second(B))->tx_credits, 8);
    receive();
    assert_int_equal(count_of(B, LNET_EVENT_PUT), 0);
}

/* Routes that begin on a network end with it. */
TEST_IN(routes_end_with_their_network, .nodes = 3, .unbalanced = true, /* pings to nowhere */
        .own = {{{"networks", "tcp(eth0),tcp1(eth1)"}}, {{"networks", "tcp(eth0)"}}})
{
    struct lnet_ioctl_config_data config = {.cfg_hdr.ioc_len = sizeof(config)};

    on(A);
    assert_int_equal(
        lnet_node_command(lnet_of(A),
                          "route add --net o2ib --gateway 10.1.0.9@tcp1 --hop 2 --priority 4"),
        0);
    assert_int_equal(LNetCtl(IOC_LIBCFS_GET_ROUTE, &config), 0);
    assert_int_equal(config.cfg_config_u.cfg_route.rtr_hop, 2);
    assert_int_equal(config.cfg_config_u.cfg_route.rtr_priority, 4);
    assert_int_equal(lnet_node_command(lnet_of(A), "net del --net tcp1"), 0);
    config = (struct lnet_ioctl_config_data){.cfg_hdr.ioc_len = sizeof(config)};
    assert_int_equal(LNetCtl(IOC_LIBCFS_GET_ROUTE, &config), -ENOENT);
    assert_int_equal(lnet_node_command(lnet_of(A), "net add --net o2ib --if ib0"), 0);
}

/* Multi-rail peers learn which NIDs came and went: lnet_peer_merge_data of the kernel. */
TEST_IN(multi_rail_peers_learn,
        .settings = {{"networks", "tcp(eth0)"}, {"lnet_peer_discovery_disabled", "0"}})
{
    unsigned i;

    receive();
    put(B, 7, data, 8);
    pass(SIM_MS);
    assert_int_equal(lnet_node_command(lnet_of(A), "net add --net tcp1 --if eth1"), 0);
    assert_int_equal(lnet_node_command(lnet_of(B), "net add --net tcp1 --if eth1"), 0);
    pass(SIM_MS);
    assert_ptr_equal(peer_of(A, second(B))->peer, peer_of(A, tcp(B))->peer);
    assert_ptr_equal(peer_of(B, second(A))->peer, peer_of(B, tcp(A))->peer);
    for (i = 0; i < 6; i++)
        put(B, 7, data, 8);
    pass(SIM_MS);
    assert_true(ni_of(A, second(A))->sent.put > 0);
    assert_int_equal(count_of(B, LNET_EVENT_PUT), 7);
    assert_int_equal(lnet_node_command(lnet_of(B), "net del --net tcp1"), 0);
    pass(SIM_MS);
    assert_ptr_not_equal(peer_of(A, second(B))->peer, peer_of(A, tcp(B))->peer);
    for (i = 0; i < 6; i++)
        put(B, 7, data, 8);
    pass(SIM_MS);
    assert_int_equal(count_of(B, LNET_EVENT_PUT), 13);
}

/* A multi-rail peer that is addressed by a NID of a network that this node has no more. */
TEST_IN(another_rail_is_taken,
        .settings = {{"networks", "tcp(eth0),tcp1(eth1)"}, {"lnet_peer_discovery_disabled", "0"}})
{
    receive();
    put(B, 7, data, 8);
    pass(SIM_MS);
    assert_int_equal(lnet_node_command(lnet_of(A), "net del --net tcp"), 0);
    put(B, 7, data, 8);
    LNetPut(second(A), bind_md(data, 8, 1), LNET_NOACK_REQ, id_of(tcp(B)), PORTAL, 7, 0, 0);
    pass(SIM_MS);
    assert_int_equal(count_of(B, LNET_EVENT_PUT), 3);
    assert_int_equal(event_of(B, LNET_EVENT_PUT, 2)->source.nid, second(A));
    assert_int_equal(peer_of(B, second(A))->peer->primary, second(A)); /* it was told */
}

/* lnet_peer_push_event of the kernel: a push that breaks off makes the next message ask again. */
TEST_IN(a_push_that_fails_is_asked_for, .unbalanced = true,
        .settings = {{"networks", "tcp(eth0)"}, {"lnet_peer_discovery_disabled", "0"}})
{
    receive();
    put(B, 7, data, 8);
    pass(SIM_MS);
    assert_true(peer_of(B, tcp(A))->peer->up_to_date);
    wire.hold_received = true;
    assert_int_equal(lnet_node_command(lnet_of(A), "net add --net tcp1 --if eth1"), 0);
    pass(SIM_MS);
    assert_int_equal(wire.receiving, 1);
    wire_received(0, -EIO);
    wire.hold_received = false;
    assert_false(peer_of(B, tcp(A))->peer->up_to_date);
    on(B);
    put(A, 9, data, 8);
    pass(SIM_MS);
    assert_true(peer_of(B, tcp(A))->peer->up_to_date);
    assert_ptr_equal(peer_of(B, second(A))->peer, peer_of(B, tcp(A))->peer);
    on(A);
}

/* ---- commands -------------------------------------------------------------------------------- */

TEST(words_of_commands)
{
    static const char *const wrong[] = {
        "net",
        "net show",
        "net add eth1",
        "net add --net",
        "net del --gateway 1@gni",
        "peer add --non_mr=1",
        "route add --frog 1",
        "",
    };
    unsigned i;

    on(A);
    for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_false(lnet_command_known(wrong[i]));
        assert_int_equal(lnet_node_command(lnet_of(A), wrong[i]), -EINVAL);
    }
    assert_true(lnet_command_known("  net   del --net  tcp1 "));
    assert_int_equal(lnet_node_command(lnet_of(A), "net add --net tcp1"), -EINVAL); /* no --if */
    assert_int_equal(lnet_node_command(lnet_of(A), "net add --net frog --if eth1"), -EINVAL);
    assert_int_equal(lnet_node_command(lnet_of(A), "net add --net tcp1 --if eth1 --credits many"),
                     -EINVAL);
    assert_int_equal(
        lnet_node_command(lnet_of(A), "peer add --prim_nid 10.0.0.9@tcp --nid 10.1.0.9@o2ib"), 0);
    assert_true(peer_of(A, libcfs_str2nid("10.1.0.9@o2ib"))->peer->multi_rail);
    assert_int_equal(
        lnet_node_command(lnet_of(A), "peer del --prim_nid 10.0.0.9@tcp --nid 10.1.0.9@o2ib"), 0);
    assert_int_equal(lnet_node_command(lnet_of(A), "peer add --prim_nid 10.0.0.8@tcp --non_mr"), 0);
    assert_int_equal(lnet_node_command(lnet_of(A), "peer del --prim_nid 10.0.0.8@tcp"), 0);
    assert_int_equal(lnet_node_command(lnet_of(A), "route del --net o2ib --gateway 10.0.0.9@tcp"),
                     -ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(configuring),
        cmocka_unit_test(configuring_without_parameters),
        cmocka_unit_test(wrong_changes),
        cmocka_unit_test(a_new_network_carries_messages),
        cmocka_unit_test(peers_of_a_network_that_comes_late),
        cmocka_unit_test(what_waits_ends),
        cmocka_unit_test(routes_end_with_their_network),
        cmocka_unit_test(multi_rail_peers_learn),
        cmocka_unit_test(another_rail_is_taken),
        cmocka_unit_test(a_push_that_fails_is_asked_for),
        cmocka_unit_test(words_of_commands),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
