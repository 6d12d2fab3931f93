/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* LNetCtl as lnetctl and lctl use it: layouts, commands before LNet is up, states, peers, pings. */
#include "world.h"

#include "uapi/linux/lnet/lnet-dlc.h"

/* Layouts of Lustre 2.12.9. */
_Static_assert(sizeof(struct lnet_ioctl_config_data) == 184, "");
_Static_assert(sizeof(struct lnet_ioctl_config_lnd_tunables) == 52, "");
_Static_assert(sizeof(struct lnet_ioctl_net_config) == 2564, "");
_Static_assert(sizeof(struct lnet_ioctl_config_ni) == 2728 &&
                   offsetof(struct lnet_ioctl_config_ni, lic_idx) == 2716,
               "");
_Static_assert(sizeof(struct lnet_ioctl_pool_cfg) == 52, "");
_Static_assert(sizeof(struct lnet_ioctl_element_msg_stats) == 72, "");
_Static_assert(sizeof(struct lnet_ioctl_local_ni_hstats) == 48, "");
_Static_assert(sizeof(struct lnet_ioctl_peer_ni_hstats) == 20, "");
_Static_assert(sizeof(struct lnet_ioctl_recovery_list) == 1040, "");
_Static_assert(sizeof(struct lnet_peer_ni_credit_info) == 160, "");
_Static_assert(sizeof(struct lnet_ioctl_peer) == 184 &&
                   offsetof(struct lnet_ioctl_peer, pr_nid) == 16,
               "");
_Static_assert(sizeof(struct lnet_ioctl_peer_cfg) == 48 &&
                   offsetof(struct lnet_ioctl_peer_cfg, prcfg_state) == 32,
               "");
_Static_assert(sizeof(struct lnet_ioctl_ping_data) == 48 &&
                   offsetof(struct lnet_ioctl_ping_data, ping_id) == 24,
               "");
_Static_assert(sizeof(struct lnet_ioctl_set_value) == 12, "");
_Static_assert(sizeof(struct lnet_ioctl_reset_health_cfg) == 32 &&
                   offsetof(struct lnet_ioctl_reset_health_cfg, rh_value) == 16,
               "");
_Static_assert(_IOC_NR(IOC_LIBCFS_GET_RECOVERY_QUEUE) == 104 &&
                   _IOC_SIZE(IOC_LIBCFS_GET_PEER_NI) == sizeof(struct lnet_ioctl_config_data),
               "");

static char data[64];

/* ---- before LNetNIInit ----------------------------------------------------------------------- */

/* In the kernel it is LNetGetId, which asserts that LNet is up. */
static void ask_too_early(void *arg)
{
    struct libcfs_ioctl_data index = {.ioc_count = 0};

    (void)arg;
    on(B);
    (void)LNetCtl(IOC_LIBCFS_GET_NI, &index);
    fail_msg("the call returned");
}

TEST_IN(commands_before_the_start, .not_started = true)
{
    struct lnet_fault_attr attr = {
        .fa_src = LNET_NID_ANY, .fa_dst = LNET_NID_ANY, .u.drop.da_rate = 1};
    struct libcfs_ioctl_data fault = {
        .ioc_flags = LNET_CTL_DROP_ADD, .ioc_inllen1 = sizeof(attr), .ioc_inlbuf1 = (char *)&attr};
    struct lnet_ioctl_config_data config = {.cfg_hdr.ioc_len = sizeof(config)};
    struct lnet_ioctl_lnet_stats stats = {.st_hdr.ioc_len = sizeof(stats)};
    struct lnet_ioctl_peer_cfg peers = {.prcfg_hdr.ioc_len = sizeof(peers), .prcfg_size = 16};
    struct libcfs_ioctl_data index = {.ioc_count = 0};
    struct sim_fiber *fiber;

    assert_int_equal(LNetCtl(IOC_LIBCFS_LNET_FAULT, &fault), 0);
    assert_int_equal(LNetCtl(IOC_LIBCFS_GET_LNET_STATS, &stats), 0);
    assert_int_equal(stats.st_cntrs.lct_common.lcc_send_count, 0);
    assert_int_equal(LNetCtl(IOC_LIBCFS_GET_ROUTE, &config), -ENOENT);
    assert_int_equal(LNetCtl(IOC_LIBCFS_DEL_ROUTE, &config), -ENOENT);
    assert_int_equal(LNetCtl(IOC_LIBCFS_ADD_ROUTE, &config), -EINVAL);
    config.cfg_net = libcfs_str2net("o2ib");
    config.cfg_nid = tcp(C);
    config.cfg_config_u.cfg_route.rtr_hop = 1;
    assert_int_equal(LNetCtl(IOC_LIBCFS_ADD_ROUTE, &config), -EHOSTUNREACH);
    assert_int_equal(LNetCtl(IOC_LIBCFS_CONFIG_RTR, &config), -ENETDOWN);
    assert_int_equal(LNetCtl(IOC_LIBCFS_ADD_PEER_NI, &peers), -ENETDOWN);
    assert_int_equal(LNetCtl(IOC_LIBCFS_GET_PEER_NI, &peers), -ENOENT);
    assert_int_equal(LNetCtl(IOC_LIBCFS_GET_PEER_LIST, &peers), 0);
    assert_int_equal(peers.prcfg_count, 0);
    assert_int_equal(LNetCtl(IOC_LIBCFS_NOTIFY_ROUTER, &index), -ESHUTDOWN);
    assert_int_equal(LNetCtl(IOC_LIBCFS_TESTPROTOCOMPAT, &index), 0);
    assert_int_equal(LNetCtl(IOC_LIBCFS_GET_CONN, &index), -EINVAL);
    assert_null(panic_of(A));

    /* The rule is there when LNet starts. */
    assert_int_equal(LNetNIInit(LNET_PID_LUSTRE), 0);
    put(A, 1, data, 8);
    pass(SIM_MS);
    assert_int_equal(counters(A).lct_common.lcc_drop_count, 1);
    attr.fa_src = attr.fa_dst = 0;
    fault.ioc_flags = LNET_CTL_DROP_DEL;
    assert_int_equal(LNetCtl(IOC_LIBCFS_LNET_FAULT, &fault), 0);

    fiber = sim_fiber_start(ask_too_early, NULL, "early", sim_local_time());
    pass(SIM_US);
    assert_string_equal(panic_of(B), "LNetCtl: LNet is not initialised");
    sim_fiber_kill(fiber);
    on(A);
}

/* ---- states ---------------------------------------------------------------------------------- */

TEST_IN(states_of_nis,
        .settings = {{"networks", "tcp(eth0),o2ib(ib0)"}, {"ksocklnd.peer_credits", "12"}})
{
    char space[sizeof(struct lnet_ioctl_config_ni) + sizeof(struct lnet_ioctl_element_stats) +
               sizeof(struct lnet_ioctl_config_lnd_tunables)] __attribute__((aligned(8))) = "";
    struct lnet_ioctl_config_ni *ni = (void *)space;
    const struct lnet_ioctl_element_stats *stats = (void *)ni->lic_bulk;
    const struct lnet_ioctl_config_lnd_tunables *tunables = (const void *)(stats + 1);
    char room[sizeof(struct lnet_ioctl_config_data) + sizeof(struct lnet_ioctl_net_config)]
        __attribute__((aligned(8))) = "";
    struct lnet_ioctl_config_data *config = (void *)room;
    struct lnet_ioctl_net_config *net = (void *)config->cfg_bulk;
    struct lnet_ioctl_element_msg_stats counts = {.im_hdr.ioc_len = sizeof(counts), .im_idx = 1};
    struct lnet_ioctl_local_ni_hstats health = {.hlni_hdr.ioc_len = sizeof(health),
                                                .hlni_nid = tcp(A)};

    ni->lic_cfg_hdr.ioc_len = sizeof(space);
    ni->lic_idx = 1;
    config->cfg_hdr.ioc_len = sizeof(room);
    config->cfg_count = 2;
    put(B, 1, data, 8);
    pass(SIM_MS);
    assert_int_equal(LNetCtl(IOC_LIBCFS_GET_LOCAL_NI, ni), 0);
    assert_int_equal(ni->lic_nid, tcp(A));
    assert_string_equal(ni->lic_ni_intf[0], "eth0");
    assert_int_equal(ni->lic_status, LNET_NI_STATUS_UP);
    assert_int_equal(ni->lic_ncpts, 1);
    assert_int_equal(stats->iel_send_count, 1);
    assert_int_equal(tunables->lt_cmn.lct_peer_tx_credits, 12);
    ni->lic_idx = 3;
    assert_int_equal(LNetCtl(IOC_LIBCFS_GET_LOCAL_NI, ni), -ENOENT);
    ni->lic_cfg_hdr.ioc_len--;
    assert_int_equal(LNetCtl(IOC_LIBCFS_GET_LOCAL_NI, ni), -EINVAL);

    assert_int_equal(LNetCtl(IOC_LIBCFS_GET_NET, config), 0);
    assert_int_equal(config->cfg_nid, o2ib(A));
    assert_string_equal(net->ni_interfaces[0], "ib0");
    assert_int_equal(config->cfg_config_u.cfg_net.net_peer_tx_credits, 8);
    config->cfg_count = 9;
    assert_int_equal(LNetCtl(IOC_LIBCFS_GET_NET, config), -ENOENT);

    assert_int_equal(LNetCtl(IOC_LIBCFS_GET_LOCAL_NI_MSG_STATS, &counts), 0);
    assert_int_equal(counts.im_send_stats.ico_put_count, 1);
    assert_int_equal(counts.im_send_stats.ico_get_count, 0);
    assert_int_equal(LNetCtl(IOC_LIBCFS_GET_LOCAL_HSTATS, &health), 0);
    assert_int_equal(health.hlni_health_value, LNET_MAX_HEALTH_VALUE);
    health.hlni_nid = tcp(B);
    assert_int_equal(LNetCtl(IOC_LIBCFS_GET_LOCAL_HSTATS, &health), -ENOENT);
}

TEST(numa_range_and_recovery)
{
    struct lnet_ioctl_set_value range = {.sv_hdr.ioc_len = sizeof(range), .sv_value = 7};
    struct lnet_ioctl_reset_health_cfg bad = {.rh_hdr.ioc_len = sizeof(bad),
                                              .rh_type = LNET_HEALTH_TYPE_LOCAL_NI,
                                              .rh_nid = tcp(A),
                                              .rh_value = 500};
    struct lnet_ioctl_recovery_list list = {.rlst_hdr.ioc_len = sizeof(list),
                                            .rlst_type = LNET_HEALTH_TYPE_LOCAL_NI};

    assert_int_equal(LNetCtl(IOC_LIBCFS_SET_NUMA_RANGE, &range), 0);
    range.sv_value = 0;
    assert_int_equal(LNetCtl(IOC_LIBCFS_GET_NUMA_RANGE, &range), 0);
    assert_int_equal(range.sv_value, 7);
    assert_int_equal(LNetCtl(IOC_LIBCFS_GET_RECOVERY_QUEUE, &list), 0);
    assert_int_equal(list.rlst_num_nids, 0);
    assert_int_equal(LNetCtl(IOC_LIBCFS_SET_HEALHV, &bad), 0);
    assert_int_equal(LNetCtl(IOC_LIBCFS_GET_RECOVERY_QUEUE, &list), 0);
    assert_int_equal(list.rlst_num_nids, 1);
    assert_int_equal(list.rlst_nid_array[0], tcp(A));
    list.rlst_type = LNET_HEALTH_TYPE_PEER_NI;
    assert_int_equal(LNetCtl(IOC_LIBCFS_GET_RECOVERY_QUEUE, &list), 0);
    assert_int_equal(list.rlst_num_nids, 0);
}

/* ---- routers --------------------------------------------------------------------------------- */

#define QUIET                             \
    {"live_router_check_interval", "0"},  \
    {                                     \
        "dead_router_check_interval", "0" \
    }

TEST_IN(buffers_of_a_router, .nodes = 3,
        .settings = {QUIET, {"router_buffers_exact", "1"}, {"large_router_buffers", "1"}},
        .own = {{{"networks", "tcp(eth0)"}, {"routes", "o2ib 10.0.0.3@tcp"}},
                {{"networks", "o2ib"}, {"routes", "tcp 10.1.0.3@o2ib"}},
                {{"networks", "tcp(eth0),o2ib"}, {"forwarding", "enabled"}}})
{
    static char big[5000], memory[5000];
    char room[sizeof(struct lnet_ioctl_config_data) + sizeof(struct lnet_ioctl_pool_cfg)]
        __attribute__((aligned(8))) = "";
    struct lnet_ioctl_config_data *config = (void *)room;
    const struct lnet_ioctl_pool_cfg *pools = (void *)config->cfg_bulk;
    unsigned i;

    config->cfg_hdr.ioc_len = sizeof(room);
    assert_int_equal(LNetCtl(IOC_LIBCFS_GET_BUF, config), -ENOENT);
    assert_int_equal(pools->pl_routing, 0);
    on(B);
    post(7, memory, sizeof(memory), LNET_MD_THRESH_INF, LNET_MD_OP_PUT | LNET_MD_MANAGE_REMOTE);
    on(A);
    wire.hold = true;
    for (i = 0; i < 3; i++)
        assert_int_equal(LNetPut(LNET_NID_ANY, bind_md(big, 5000, 1), LNET_NOACK_REQ,
                                 id_of(o2ib(B)), PORTAL, 7, 0, 0),
                         0);
    wire_release(3);
    pass(SIM_MS);
    on(C);
    assert_int_equal(LNetCtl(IOC_LIBCFS_GET_BUF, config), 0);
    assert_int_equal(pools->pl_routing, 1);
    assert_int_equal(pools->pl_pools[LNET_LARGE_BUF_IDX].pl_npages, 256);
    assert_int_equal(pools->pl_pools[LNET_LARGE_BUF_IDX].pl_nbuffers, 1);
    assert_int_equal((int)pools->pl_pools[LNET_LARGE_BUF_IDX].pl_credits, -2);
    assert_int_equal(wire.held, 1); /* the two others wait for a buffer */

    /* New buffers are for those that wait. */
    config->cfg_config_u.cfg_buffers.buf_tiny = -1;
    config->cfg_config_u.cfg_buffers.buf_small = 5;
    config->cfg_config_u.cfg_buffers.buf_large = 2;
    assert_int_equal(LNetCtl(IOC_LIBCFS_ADD_BUF, config), 0);
    pass(SIM_MS);
    assert_int_equal(wire.held, 2);
    assert_int_equal(LNetCtl(IOC_LIBCFS_GET_BUF, config), 0);
    assert_int_equal(pools->pl_pools[LNET_TINY_BUF_IDX].pl_nbuffers, 2048);
    assert_int_equal(pools->pl_pools[LNET_SMALL_BUF_IDX].pl_nbuffers, 5);
    assert_int_equal((int)pools->pl_pools[LNET_LARGE_BUF_IDX].pl_credits, -1);
    wire.hold = false;
    wire_release(2);
    pass(SIM_MS);
    assert_int_equal(count_of(B, LNET_EVENT_PUT), 3);
    config->cfg_count = 1; /* there is one CPU partition */
    assert_int_equal(LNetCtl(IOC_LIBCFS_GET_BUF, config), -ENOENT);
}

TEST_IN(somebody_says_that_a_router_is_dead, .nodes = 3,
        .settings = {QUIET, {"networks", "tcp(eth0)"}}, .own = {{{"routes", "o2ib 10.0.0.3@tcp"}}})
{
    struct lnet_ioctl_config_data route = {.cfg_hdr.ioc_len = sizeof(route)};
    struct lnet_ioctl_peer info = {.pr_hdr.ioc_len = sizeof(info)};
    struct libcfs_ioctl_data notify = {.ioc_nid = tcp(C), .ioc_flags = 0};

    assert_int_equal(LNetCtl(IOC_LIBCFS_GET_ROUTE, &route), 0);
    assert_int_equal(route.cfg_config_u.cfg_route.rtr_flags, 1);
    assert_int_equal(LNetCtl(IOC_LIBCFS_NOTIFY_ROUTER, &notify), 0);
    assert_int_equal(LNetCtl(IOC_LIBCFS_GET_ROUTE, &route), 0);
    assert_int_equal(route.cfg_config_u.cfg_route.rtr_flags, 0);
    assert_int_equal(LNetCtl(IOC_LIBCFS_GET_PEER_INFO, &info), 0);
    assert_string_equal(info.pr_lnd_u.pr_peer_credits.cr_aliveness, "down");
    notify.ioc_flags = 1;
    assert_int_equal(LNetCtl(IOC_LIBCFS_NOTIFY_ROUTER, &notify), 0);
    assert_int_equal(LNetCtl(IOC_LIBCFS_GET_ROUTE, &route), 0);
    assert_int_equal(route.cfg_config_u.cfg_route.rtr_flags, 1);
    notify.ioc_nid = tcp(E); /* nobody knows it */
    assert_int_equal(LNetCtl(IOC_LIBCFS_NOTIFY_ROUTER, &notify), 0);
}

/* ---- peers ----------------------------------------------------------------------------------- */

TEST_IN(peer_info_by_position, .nodes = 3)
{
    struct lnet_ioctl_peer info = {.pr_hdr.ioc_len = sizeof(info)};
    struct lnet_peer_ni_credit_info *credits = &info.pr_lnd_u.pr_peer_credits;

    wire.hold = true;
    put(B, 1, data, 8);
    put(C, 1, data, 8);
    put(C, 1, data, 8);
    assert_int_equal(LNetCtl(IOC_LIBCFS_GET_PEER_INFO, &info), 0);
    assert_int_equal(info.pr_nid, tcp(B));
    assert_string_equal(credits->cr_aliveness, "NA");
    assert_int_equal(credits->cr_peer_tx_credits, credits->cr_ni_peer_tx_credits - 1);
    assert_int_equal(credits->cr_peer_tx_qnob, 8 + 72);
    assert_int_equal(credits->cr_ncpt, 1);
    credits->cr_ncpt = 0;
    info.pr_count = 1;
    assert_int_equal(LNetCtl(IOC_LIBCFS_GET_PEER_INFO, &info), 0);
    assert_int_equal(info.pr_nid, tcp(C));
    assert_int_equal(credits->cr_peer_min_tx_credits, credits->cr_ni_peer_tx_credits - 2);
    credits->cr_ncpt = 0;
    info.pr_count = 2;
    assert_int_equal(LNetCtl(IOC_LIBCFS_GET_PEER_INFO, &info), -ENOENT);
    info.pr_count = 0;
    credits->cr_ncpt = 1; /* the second partition */
    assert_int_equal(LNetCtl(IOC_LIBCFS_GET_PEER_INFO, &info), -ENOENT);
    info.pr_hdr.ioc_len--;
    assert_int_equal(LNetCtl(IOC_LIBCFS_GET_PEER_INFO, &info), -EINVAL);
    wire.hold = false;
    wire_release(3);
    pass(SIM_MS);
}

static int peer_command(unsigned command, lnet_nid_t primary, lnet_nid_t nid, bool multi_rail)
{
    struct lnet_ioctl_peer_cfg config = {.prcfg_hdr.ioc_len = sizeof(config),
                                         .prcfg_prim_nid = primary,
                                         .prcfg_cfg_nid = nid,
                                         .prcfg_mr = multi_rail};

    return LNetCtl(command, &config);
}
#define ADD(...) peer_command(IOC_LIBCFS_ADD_PEER_NI, __VA_ARGS__)
#define DEL(...) peer_command(IOC_LIBCFS_DEL_PEER_NI, __VA_ARGS__, false)

TEST_IN(peers_are_added_and_deleted, .nodes = 3, .settings = {{"networks", "tcp(eth0),o2ib(ib0)"}})
{
    struct {
        lnet_nid_t nid;
        struct lnet_peer_ni_credit_info credits;
        struct lnet_ioctl_element_stats stats;
        struct lnet_ioctl_element_msg_stats counts;
        struct lnet_ioctl_peer_ni_hstats health;
    } __attribute__((packed)) nis[2];
    struct lnet_process_id ids[4];
    struct lnet_ioctl_peer_cfg config = {
        .prcfg_hdr.ioc_len = sizeof(config), .prcfg_size = sizeof(nis), .prcfg_bulk = nis};

    assert_int_equal(ADD(LNET_NID_ANY, tcp(B), true), -EINVAL);
    assert_int_equal(ADD(tcp(B), o2ib(B), true), -ENOENT);
    put(B, 1, data, 8); /* it is known, but was not configured */
    pass(SIM_MS);
    assert_int_equal(ADD(tcp(B), o2ib(B), true), -ENOENT);
    assert_int_equal(ADD(tcp(B), LNET_NID_ANY, true), 0);
    assert_int_equal(ADD(tcp(B), LNET_NID_ANY, true), 0);
    assert_int_equal(ADD(tcp(B), LNET_NID_ANY, false), -EPERM);
    assert_int_equal(ADD(tcp(B), o2ib(B), false), -EPERM);
    assert_int_equal(ADD(tcp(B), o2ib(B), true), 0);
    assert_int_equal(ADD(o2ib(B), LNET_NID_ANY, true), -EEXIST);
    assert_int_equal(ADD(o2ib(B), o2ib(C), true), -ENODEV);
    assert_int_equal(ADD(tcp(C), LNET_NID_ANY, true), 0);
    assert_int_equal(ADD(tcp(C), o2ib(B), true), -EEXIST);
    assert_int_equal(LNetPrimaryNID(o2ib(B)), tcp(B));

    config.prcfg_prim_nid = o2ib(B);
    assert_int_equal(LNetCtl(IOC_LIBCFS_GET_PEER_NI, &config), 0);
    assert_int_equal(config.prcfg_prim_nid, tcp(B));
    assert_int_equal(config.prcfg_count, 2);
    assert_int_equal(config.prcfg_size, sizeof(nis));
    assert_true(config.prcfg_mr);
    assert_int_equal(config.prcfg_state, 5); /* multi-rail, configured */
    assert_int_equal(nis[0].nid, tcp(B));
    assert_int_equal(nis[0].stats.iel_send_count, 1);
    assert_int_equal(nis[0].counts.im_send_stats.ico_put_count, 1);
    assert_int_equal(nis[1].nid, o2ib(B));
    assert_int_equal(nis[1].health.hlpni_health_value, LNET_MAX_HEALTH_VALUE);
    config.prcfg_size--;
    assert_int_equal(LNetCtl(IOC_LIBCFS_GET_PEER_NI, &config), -E2BIG);
    assert_int_equal(config.prcfg_size, sizeof(nis));

    config.prcfg_bulk = ids;
    config.prcfg_size = sizeof(ids[0]);
    assert_int_equal(LNetCtl(IOC_LIBCFS_GET_PEER_LIST, &config), -E2BIG);
    assert_int_equal(config.prcfg_count, 2);
    assert_int_equal(LNetCtl(IOC_LIBCFS_GET_PEER_LIST, &config), 0);
    assert_int_equal(ids[0].nid, tcp(B));
    assert_int_equal(ids[1].nid, tcp(C));

    assert_int_equal(DEL(LNET_NID_ANY, tcp(B)), -EINVAL);
    assert_int_equal(DEL(tcp(D), LNET_NID_ANY), -ENOENT);
    assert_int_equal(DEL(o2ib(B), LNET_NID_ANY), -ENODEV);
    assert_int_equal(DEL(tcp(C), o2ib(B)), -ECHILD);
    assert_int_equal(DEL(tcp(B), o2ib(B)), 0);
    assert_int_equal(LNetPrimaryNID(o2ib(B)), o2ib(B));
    assert_int_equal(ADD(tcp(B), o2ib(B), true), 0);
    assert_int_equal(DEL(tcp(B), LNET_NID_ANY), 0);
    assert_int_equal(LNetPrimaryNID(o2ib(B)), o2ib(B));
    assert_int_equal(ADD(tcp(B), o2ib(B), true), -ENOENT);
    put(B, 1, data, 8);
    pass(SIM_MS);
}

/* ---- pings ----------------------------------------------------------------------------------- */

TEST_IN(ping_with_little_room, .settings = {{"networks", "tcp(eth0),o2ib(ib0)"}})
{
    struct lnet_process_id ids[2] = {{0}};
    struct libcfs_ioctl_data ping = {.ioc_nid = tcp(B),
                                     .ioc_u32 = {LNET_PID_ANY, 1000},
                                     .ioc_plen1 = sizeof(ids[0]),
                                     .ioc_pbuf1 = ids};
    struct lnet_ioctl_ping_data peer = {.ping_hdr.ioc_len = sizeof(peer),
                                        .op_param = 1000,
                                        .ping_count = 2,
                                        .ping_id = {o2ib(B), LNET_PID_ANY},
                                        .ping_buf = ids};

    assert_int_equal(LNetCtl(IOC_LIBCFS_PING, &ping), 0);
    assert_int_equal(ping.ioc_count, 3); /* what the node has */
    assert_int_equal(ids[0].nid, LNET_NID_LO_0);
    assert_int_equal(ids[1].nid, 0);
    /* It asked for no more than there is room for. */
    assert_int_equal(count_of(B, LNET_EVENT_GET), 0);
    assert_int_equal(counters(B).lct_common.lcc_send_length,
                     sizeof(struct lnet_ping_info) + sizeof(struct lnet_ni_status));

    assert_int_equal(ADD(tcp(B), LNET_NID_ANY, true), 0);
    assert_int_equal(ADD(tcp(B), o2ib(B), true), 0);
    assert_int_equal(LNetCtl(IOC_LIBCFS_PING_PEER, &peer), 0);
    assert_int_equal(peer.ping_count, 3);
    assert_int_equal(peer.ping_id.nid, tcp(B));
    assert_true(peer.mr_info);
    assert_int_equal(ids[1].nid, tcp(B));
    peer.ping_count = 0;
    assert_int_equal(LNetCtl(IOC_LIBCFS_PING_PEER, &peer), -EINVAL);
    peer.ping_count = 2;
    peer.ping_buf = NULL;
    assert_int_equal(LNetCtl(IOC_LIBCFS_PING_PEER, &peer), -EFAULT);
    peer.ping_buf = ids;
    peer.ping_id.nid = gni(B);
    assert_int_equal(LNetCtl(IOC_LIBCFS_PING_PEER, &peer), -EIO);
}

/* A node whose numbers have the other order of bytes. */
TEST(ping_of_the_other_byte_order)
{
    union {
        struct lnet_ping_info info;
        char space[sizeof(struct lnet_ping_info) + 2 * sizeof(struct lnet_ni_status)];
    } answer = {.info = {.pi_magic = __builtin_bswap32(LNET_PROTO_PING_MAGIC),
                         .pi_features = __builtin_bswap32(LNET_PING_FEAT_NI_STATUS),
                         .pi_pid = __builtin_bswap32(12345),
                         .pi_nnis = __builtin_bswap32(2)}};
    struct lnet_process_id ids[8];
    struct libcfs_ioctl_data ping = {.ioc_nid = tcp(B),
                                     .ioc_u32 = {LNET_PID_ANY, 1000},
                                     .ioc_plen1 = sizeof(ids),
                                     .ioc_pbuf1 = ids};
    struct lnet_handle_md target;

    answer.info.pi_ni[0].ns_nid = __builtin_bswap64(LNET_NID_LO_0);
    answer.info.pi_ni[1].ns_nid = __builtin_bswap64(tcp(D));
    on(B);
    target = attach(
        entry_at(LNET_RESERVED_PORTAL, LNET_PROTO_PING_MATCHBITS, 0, LNET_UNLINK, LNET_INS_BEFORE),
        md_of(&answer, sizeof(answer), LNET_MD_THRESH_INF,
              LNET_MD_OP_GET | LNET_MD_TRUNCATE | LNET_MD_MANAGE_REMOTE));
    on(A);
    assert_int_equal(LNetCtl(IOC_LIBCFS_PING, &ping), 0);
    assert_int_equal(ping.ioc_count, 2);
    assert_int_equal(ids[1].nid, tcp(D));
    assert_int_equal(ids[1].pid, 12345);
    answer.info.pi_magic++;
    assert_int_equal(LNetCtl(IOC_LIBCFS_PING, &ping), -EPROTO);
    on(B);
    assert_int_equal(LNetMDUnlink(target), 0);
}

TEST_IN(discovery_by_command,
        .settings = {{"networks", "tcp(eth0),o2ib(ib0)"}, {"lnet_peer_discovery_disabled", "0"}})
{
    struct lnet_process_id ids[1];
    struct lnet_ioctl_ping_data found = {.ping_hdr.ioc_len = sizeof(found),
                                         .ping_count = 1,
                                         .ping_id = {o2ib(B), LNET_PID_ANY},
                                         .ping_buf = ids};

    assert_int_equal(LNetCtl(IOC_LIBCFS_DISCOVER, &found), 0);
    assert_int_equal(found.ping_count, 2); /* more than there is room for */
    assert_int_equal(found.ping_id.nid, tcp(B));
    assert_true(found.mr_info);
    assert_int_equal(ids[0].pid, LNET_PID_LUSTRE);
    found.ping_count = 0;
    assert_int_equal(LNetCtl(IOC_LIBCFS_DISCOVER, &found), -EINVAL);
    found.ping_count = 1;
    found.ping_id.nid = gni(B);
    assert_true(LNetCtl(IOC_LIBCFS_DISCOVER, &found) < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commands_before_the_start),
        cmocka_unit_test(states_of_nis),
        cmocka_unit_test(numa_range_and_recovery),
        cmocka_unit_test(buffers_of_a_router),
        cmocka_unit_test(somebody_says_that_a_router_is_dead),
        cmocka_unit_test(peer_info_by_position),
        cmocka_unit_test(peers_are_added_and_deleted),
        cmocka_unit_test(ping_with_little_room),
        cmocka_unit_test(ping_of_the_other_byte_order),
        cmocka_unit_test(discovery_by_command),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
