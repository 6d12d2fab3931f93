/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Arguments of LNet's ioctls for networks, peers, statistics and health, release 2.12. Which of the
 * commands LNetCtl() has: docs/internals/model-lnet.md. */
#ifndef JACQUARD_LNET_DLC_H
#define JACQUARD_LNET_DLC_H

#include "lnet/lnetctl.h"

#ifndef __user
#define __user
#endif
#define MAX_NUM_SHOW_ENTRIES 32
#define LNET_MAX_SHOW_NUM_NID 128
#define LNET_UNDEFINED_HOPS ((__u32)-1)

struct lnet_ioctl_config_lnd_cmn_tunables {
    __u32 lct_version;
    __s32 lct_peer_timeout, lct_peer_tx_credits, lct_peer_rtr_credits, lct_max_tx_credits;
};
struct lnet_ioctl_config_o2iblnd_tunables {
    __u32 lnd_version;
    __u32 lnd_peercredits_hiw, lnd_map_on_demand, lnd_concurrent_sends;
    __u32 lnd_fmr_pool_size, lnd_fmr_flush_trigger, lnd_fmr_cache;
    __u16 lnd_conns_per_peer, lnd_ntx;
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

struct lnet_ioctl_net_config {
    char ni_interfaces[LNET_INTERFACES_NUM][LNET_MAX_STR_LEN];
    __u32 ni_status;
    __u32 ni_cpts[LNET_MAX_SHOW_NUM_CPT];
    char cfg_bulk[];
};
struct lnet_ioctl_config_ni {
    struct libcfs_ioctl_hdr lic_cfg_hdr;
    lnet_nid_t lic_nid;
    char lic_ni_intf[LNET_INTERFACES_NUM][LNET_MAX_STR_LEN];
    char lic_legacy_ip2nets[LNET_MAX_STR_LEN];
    __u32 lic_cpts[LNET_MAX_SHOW_NUM_CPT];
    __u32 lic_ncpts;
    __u32 lic_status;
    __u32 lic_tcp_bonding;
    __u32 lic_idx;
    __s32 lic_dev_cpt;
    char pad[4];
    char lic_bulk[]; /* struct lnet_ioctl_config_lnd_tunables */
};

#define LNET_TINY_BUF_IDX 0
#define LNET_SMALL_BUF_IDX 1
#define LNET_LARGE_BUF_IDX 2
#define LNET_NRBPOOLS (LNET_LARGE_BUF_IDX + 1)
struct lnet_ioctl_pool_cfg {
    struct {
        __u32 pl_npages, pl_nbuffers, pl_credits, pl_mincredits;
    } pl_pools[LNET_NRBPOOLS];
    __u32 pl_routing;
};

struct lnet_ioctl_ping_data {
    struct libcfs_ioctl_hdr ping_hdr;
    __u32 op_param;
    __u32 ping_count;
    __u32 ping_flags;
    bool mr_info;
    struct lnet_process_id ping_id;
    struct lnet_process_id __user *ping_buf;
};

struct lnet_ioctl_comm_count {
    __u32 ico_get_count, ico_put_count, ico_reply_count, ico_ack_count, ico_hello_count;
};
struct lnet_ioctl_element_stats {
    __u32 iel_send_count, iel_recv_count, iel_drop_count;
};
struct lnet_ioctl_element_msg_stats {
    struct libcfs_ioctl_hdr im_hdr;
    __u32 im_idx;
    struct lnet_ioctl_comm_count im_send_stats, im_recv_stats, im_drop_stats;
};
struct lnet_ioctl_local_ni_hstats {
    struct libcfs_ioctl_hdr hlni_hdr;
    lnet_nid_t hlni_nid;
    __u32 hlni_local_interrupt, hlni_local_dropped, hlni_local_aborted, hlni_local_no_route;
    __u32 hlni_local_timeout, hlni_local_error;
    __s32 hlni_health_value;
};
struct lnet_ioctl_peer_ni_hstats {
    __u32 hlpni_remote_dropped, hlpni_remote_timeout, hlpni_remote_error, hlpni_network_timeout;
    __s32 hlpni_health_value;
};

struct lnet_peer_ni_credit_info {
    char cr_aliveness[LNET_MAX_STR_LEN];
    __u32 cr_refcount;
    __s32 cr_ni_peer_tx_credits;
    __s32 cr_peer_tx_credits;
    __s32 cr_peer_min_tx_credits;
    __u32 cr_peer_tx_qnob;
    __s32 cr_peer_rtr_credits;
    __s32 cr_peer_min_rtr_credits;
    __u32 cr_ncpt;
};
struct lnet_ioctl_peer {
    struct libcfs_ioctl_hdr pr_hdr;
    __u32 pr_count;
    __u32 pr_pad;
    lnet_nid_t pr_nid;
    union {
        struct lnet_peer_ni_credit_info pr_peer_credits;
    } pr_lnd_u;
};
struct lnet_ioctl_peer_cfg {
    struct libcfs_ioctl_hdr prcfg_hdr;
    lnet_nid_t prcfg_prim_nid;
    lnet_nid_t prcfg_cfg_nid;
    __u32 prcfg_count;
    bool prcfg_mr;
    __u32 prcfg_state;
    __u32 prcfg_size;
    void __user *prcfg_bulk;
};

struct lnet_ioctl_recovery_list {
    struct libcfs_ioctl_hdr rlst_hdr;
    enum lnet_health_type rlst_type;
    int rlst_num_nids;
    lnet_nid_t rlst_nid_array[LNET_MAX_SHOW_NUM_NID];
};
struct lnet_ioctl_set_value {
    struct libcfs_ioctl_hdr sv_hdr;
    __u32 sv_value;
};

#define IOC_LIBCFS_ADD_INTERFACE LNET_IOC_OLD(78)
#define IOC_LIBCFS_DEL_INTERFACE LNET_IOC_OLD(79)
#define IOC_LIBCFS_GET_INTERFACE LNET_IOC_OLD(80)
#define IOC_LIBCFS_ADD_PEER_NI LNET_IOC_CONFIG(92)
#define IOC_LIBCFS_DEL_PEER_NI LNET_IOC_CONFIG(93)
#define IOC_LIBCFS_GET_PEER_NI LNET_IOC_CONFIG(94)
#define IOC_LIBCFS_ADD_LOCAL_NI LNET_IOC_CONFIG(95)
#define IOC_LIBCFS_DEL_LOCAL_NI LNET_IOC_CONFIG(96)
#define IOC_LIBCFS_GET_LOCAL_NI LNET_IOC_CONFIG(97)
#define IOC_LIBCFS_SET_NUMA_RANGE LNET_IOC_CONFIG(98)
#define IOC_LIBCFS_GET_NUMA_RANGE LNET_IOC_CONFIG(99)
#define IOC_LIBCFS_GET_PEER_LIST LNET_IOC_CONFIG(100)
#define IOC_LIBCFS_GET_LOCAL_NI_MSG_STATS LNET_IOC_CONFIG(101)
#define IOC_LIBCFS_GET_LOCAL_HSTATS LNET_IOC_CONFIG(103)
#define IOC_LIBCFS_GET_RECOVERY_QUEUE LNET_IOC_CONFIG(104)
#define IOC_LIBCFS_MAX_NR 104
#define IOCTL_CONFIG_SIZE struct lnet_ioctl_config_data

/* ---- names of lnet-types.h ------------------------------------------------------------------- */

/* Networks of old releases, which no driver here has. */
enum {
    QSWLND = 1,
    GMLND = 3,
    PTLLND = 4,
    CIBLND = 6,
    OPENIBLND = 7,
    IIBLND = 8,
    RALND = 10,
    VIBLND = 11,
    MXLND = 12,
};
#define LNET_PROTO_IB_MAGIC 0x0be91b91
#define LNET_PROTO_GNI_MAGIC 0xb00fbabe
#define LNET_PROTO_TCP_MAGIC 0xeebc0ded
#define LNET_PROTO_ACCEPTOR_MAGIC 0xacce7100
#define LNET_PROTO_MAGIC 0x45726963
#define LNET_PROTO_TCP_VERSION_MAJOR 1
#define LNET_PROTO_TCP_VERSION_MINOR 0
#define LNET_PROTO_ACCEPTOR_VERSION 1
struct lnet_magicversion {
    __u32 magic;
    __u16 version_major, version_minor;
} __attribute__((packed));
struct lnet_acceptor_connreq {
    __u32 acr_magic, acr_version;
    __u64 acr_nid; /* of the target */
} __attribute__((packed));
#define LNET_NI_STATUS_INVALID 0x00000000
#define LNET_NET_ANY LNET_NIDNET(LNET_NID_ANY)
#define LNET_PING_FEAT_INVAL 0
#define LNET_PING_FEAT_BITS                                                         \
    (LNET_PING_FEAT_BASE | LNET_PING_FEAT_NI_STATUS | LNET_PING_FEAT_RTE_DISABLED | \
     LNET_PING_FEAT_MULTI_RAIL | LNET_PING_FEAT_DISCOVERY)
#define LNET_PING_INFO_SIZE(count) offsetof(struct lnet_ping_info, pi_ni[count])
#define LNET_PING_INFO_LONI(info) ((info)->pi_ni[0].ns_nid)
#define LNET_PING_INFO_SEQNO(info) ((info)->pi_ni[0].ns_status)
#define LNET_PING_INFO_MIN_SIZE LNET_PING_INFO_SIZE(LNET_INTERFACES_MIN)
#define LNET_NUM_INTERFACES LNET_INTERFACES_NUM
#define LNET_MAX_INTERFACES LNET_INTERFACES_NUM
#define LNET_CPT_NUMBER 1

#endif
