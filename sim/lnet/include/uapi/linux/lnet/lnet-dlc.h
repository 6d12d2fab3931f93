/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Arguments of LNetCtl that configure LNet and show its state, with the layouts of Lustre 2.12.9.
 */
#ifndef JACQUARD_UAPI_LINUX_LNET_LNET_DLC_H
#define JACQUARD_UAPI_LINUX_LNET_LNET_DLC_H

#include "lnet/lnetctl.h"

#define MAX_NUM_SHOW_ENTRIES 32
#define LNET_MAX_SHOW_NUM_NID 128
#ifndef LNET_UNDEFINED_HOPS
#define LNET_UNDEFINED_HOPS ((__u32)-1)
#endif
#ifndef LNET_INTERFACES_NUM
#define LNET_INTERFACES_NUM 16 /* names of interfaces of an NI */
#endif

/* ---- networks and NIs ------------------------------------------------------------------------ */

struct lnet_ioctl_config_lnd_cmn_tunables {
    __u32 lct_version;
    __s32 lct_peer_timeout;
    __s32 lct_peer_tx_credits;
    __s32 lct_peer_rtr_credits;
    __s32 lct_max_tx_credits;
};

struct lnet_ioctl_config_o2iblnd_tunables {
    __u32 lnd_version;
    __u32 lnd_peercredits_hiw;
    __u32 lnd_map_on_demand;
    __u32 lnd_concurrent_sends;
    __u32 lnd_fmr_pool_size;
    __u32 lnd_fmr_flush_trigger;
    __u32 lnd_fmr_cache;
    __u16 lnd_conns_per_peer;
    __u16 lnd_ntx;
};

struct lnet_lnd_tunables {
    union {
        struct lnet_ioctl_config_o2iblnd_tunables lnd_o2ib;
    } lnd_tun_u;
};

struct lnet_ioctl_config_lnd_tunables {
    struct lnet_ioctl_config_lnd_cmn_tunables lt_cmn;
    struct lnet_lnd_tunables lt_tun;
};

/* Behind lnet_ioctl_config_data of GET_NET. */
struct lnet_ioctl_net_config {
    char ni_interfaces[LNET_INTERFACES_NUM][LNET_MAX_STR_LEN];
    __u32 ni_status;
    __u32 ni_cpts[LNET_MAX_SHOW_NUM_CPT];
    char cfg_bulk[];
};

/* GET_LOCAL_NI; behind it are lnet_ioctl_element_stats and the tunables. */
struct lnet_ioctl_config_ni {
    struct libcfs_ioctl_hdr lic_cfg_hdr;
    lnet_nid_t lic_nid;
    char lic_ni_intf[LNET_INTERFACES_NUM][LNET_MAX_STR_LEN];
    char lic_legacy_ip2nets[LNET_MAX_STR_LEN];
    __u32 lic_cpts[LNET_MAX_SHOW_NUM_CPT];
    __u32 lic_ncpts;
    __u32 lic_status;
    __u32 lic_tcp_bonding;
    __u32 lic_idx; /* which NI */
    __s32 lic_dev_cpt;
    char pad[4];
    char lic_bulk[];
};

/* ---- routers --------------------------------------------------------------------------------- */

#define LNET_TINY_BUF_IDX 0
#define LNET_SMALL_BUF_IDX 1
#define LNET_LARGE_BUF_IDX 2
#define LNET_NRBPOOLS (LNET_LARGE_BUF_IDX + 1)

/* Behind lnet_ioctl_config_data of GET_BUF. */
struct lnet_ioctl_pool_cfg {
    struct {
        __u32 pl_npages;
        __u32 pl_nbuffers;
        __u32 pl_credits;
        __u32 pl_mincredits;
    } pl_pools[LNET_NRBPOOLS];
    __u32 pl_routing;
};

/* ---- statistics ------------------------------------------------------------------------------ */

struct lnet_ioctl_comm_count {
    __u32 ico_get_count;
    __u32 ico_put_count;
    __u32 ico_reply_count;
    __u32 ico_ack_count;
    __u32 ico_hello_count;
};

struct lnet_ioctl_element_stats {
    __u32 iel_send_count;
    __u32 iel_recv_count;
    __u32 iel_drop_count;
};

struct lnet_ioctl_element_msg_stats {
    struct libcfs_ioctl_hdr im_hdr;
    __u32 im_idx; /* which NI */
    struct lnet_ioctl_comm_count im_send_stats;
    struct lnet_ioctl_comm_count im_recv_stats;
    struct lnet_ioctl_comm_count im_drop_stats;
};

struct lnet_ioctl_local_ni_hstats {
    struct libcfs_ioctl_hdr hlni_hdr;
    lnet_nid_t hlni_nid; /* which NI */
    __u32 hlni_local_interrupt;
    __u32 hlni_local_dropped;
    __u32 hlni_local_aborted;
    __u32 hlni_local_no_route;
    __u32 hlni_local_timeout;
    __u32 hlni_local_error;
    __s32 hlni_health_value;
};

struct lnet_ioctl_peer_ni_hstats {
    __u32 hlpni_remote_dropped;
    __u32 hlpni_remote_timeout;
    __u32 hlpni_remote_error;
    __u32 hlpni_network_timeout;
    __s32 hlpni_health_value;
};

struct lnet_ioctl_recovery_list {
    struct libcfs_ioctl_hdr rlst_hdr;
    enum lnet_health_type rlst_type;
    int rlst_num_nids;
    lnet_nid_t rlst_nid_array[LNET_MAX_SHOW_NUM_NID];
};

/* ---- peers ----------------------------------------------------------------------------------- */

struct lnet_peer_ni_credit_info {
    char cr_aliveness[LNET_MAX_STR_LEN];
    __u32 cr_refcount;
    __s32 cr_ni_peer_tx_credits;
    __s32 cr_peer_tx_credits;
    __s32 cr_peer_min_tx_credits;
    __u32 cr_peer_tx_qnob;
    __s32 cr_peer_rtr_credits;
    __s32 cr_peer_min_rtr_credits;
    __u32 cr_ncpt; /* GET_PEER_INFO: the partition to look at; then how many there are */
};

/* GET_PEER_INFO */
struct lnet_ioctl_peer {
    struct libcfs_ioctl_hdr pr_hdr;
    __u32 pr_count; /* which NID of a peer */
    __u32 pr_pad;
    lnet_nid_t pr_nid;
    union {
        struct lnet_peer_ni_credit_info pr_peer_credits;
    } pr_lnd_u;
};

/*
 * ADD_PEER_NI, DEL_PEER_NI, GET_PEER_NI, GET_PEER_LIST. GET_PEER_NI writes for each NID: the NID,
 * lnet_peer_ni_credit_info, lnet_ioctl_element_stats, lnet_ioctl_element_msg_stats,
 * lnet_ioctl_peer_ni_hstats. GET_PEER_LIST writes a struct lnet_process_id for each peer.
 */
struct lnet_ioctl_peer_cfg {
    struct libcfs_ioctl_hdr prcfg_hdr;
    lnet_nid_t prcfg_prim_nid;
    lnet_nid_t prcfg_cfg_nid;
    __u32 prcfg_count;
    bool prcfg_mr;
    __u32 prcfg_state;
    __u32 prcfg_size; /* bytes at prcfg_bulk; -E2BIG: so many are needed */
    void *prcfg_bulk;
};

/* PING_PEER, DISCOVER */
struct lnet_ioctl_ping_data {
    struct libcfs_ioctl_hdr ping_hdr;
    __u32 op_param; /* PING_PEER: timeout in ms; DISCOVER: not 0: also what is known */
    __u32 ping_count; /* room in ping_buf; then how many there are */
    __u32 ping_flags;
    bool mr_info;
    struct lnet_process_id ping_id;
    struct lnet_process_id *ping_buf;
};

/* SET_NUMA_RANGE, GET_NUMA_RANGE */
struct lnet_ioctl_set_value {
    struct libcfs_ioctl_hdr sv_hdr;
    __u32 sv_value;
};

#endif
