/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Arguments of LNetCtl: fault rules and the ioctl structures of libcfs and LNet. */
#ifndef JACQUARD_LNETCTL_H
#define JACQUARD_LNETCTL_H

#include "lnet/lib-types.h"
#include "libcfs/libcfs_ioctl.h"

/* ---- fault rules ----------------------------------------------------------------------------- */

enum {
    LNET_CTL_DROP_ADD = 0,
    LNET_CTL_DROP_DEL,
    LNET_CTL_DROP_RESET,
    LNET_CTL_DROP_LIST,
    LNET_CTL_DELAY_ADD,
    LNET_CTL_DELAY_DEL,
    LNET_CTL_DELAY_RESET,
    LNET_CTL_DELAY_LIST,
};

#define LNET_ACK_BIT (1 << 0)
#define LNET_PUT_BIT (1 << 1)
#define LNET_GET_BIT (1 << 2)
#define LNET_REPLY_BIT (1 << 3)

#define HSTATUS_END 11
#define HSTATUS_LOCAL_INTERRUPT_BIT (1 << 1)
#define HSTATUS_LOCAL_DROPPED_BIT (1 << 2)
#define HSTATUS_LOCAL_ABORTED_BIT (1 << 3)
#define HSTATUS_LOCAL_NO_ROUTE_BIT (1 << 4)
#define HSTATUS_LOCAL_ERROR_BIT (1 << 5)
#define HSTATUS_LOCAL_TIMEOUT_BIT (1 << 6)
#define HSTATUS_REMOTE_ERROR_BIT (1 << 7)
#define HSTATUS_REMOTE_DROPPED_BIT (1 << 8)
#define HSTATUS_REMOTE_TIMEOUT_BIT (1 << 9)
#define HSTATUS_NETWORK_TIMEOUT_BIT (1 << 10)
#define HSTATUS_RANDOM 0xffffffff

struct lnet_fault_attr {
    lnet_nid_t fa_src; /* LNET_NID_ANY: all; address 0xffffffff: all of that network */
    lnet_nid_t fa_dst;
    __u64 fa_ptl_mask; /* bit n: portal n; 0: any message */
    __u32 fa_msg_mask; /* 0: all types */
    union {
        struct {
            __u32 da_rate; /* drops one of so many */
            __u32 da_interval; /* or one in so many seconds */
            __u32 da_health_error_mask;
            bool da_random;
        } drop;
        struct {
            __u32 la_rate;
            __u32 la_interval;
            __u32 la_latency; /* seconds */
        } delay;
        __u64 space[8];
    } u;
};

struct lnet_fault_stat {
    __u64 fs_count; /* messages that matched */
    __u64 fs_put; /* dropped or delayed, by type */
    __u64 fs_ack;
    __u64 fs_get;
    __u64 fs_reply;
    union {
        struct {
            __u64 ds_dropped;
        } drop;
        struct {
            __u64 ls_delayed;
        } delay;
        __u64 space[8];
    } u;
};

/* ---- arguments of LNetCtl ------------------------------------------------------------------ */

#define LNET_MAX_STR_LEN 128
#define LNET_MAX_SHOW_NUM_CPT 128
struct lnet_ioctl_config_data {
    struct libcfs_ioctl_hdr cfg_hdr;
    __u32 cfg_net;
    __u32 cfg_count;
    __u64 cfg_nid;
    __u32 cfg_ncpts;
    union {
        struct {
            __u32 rtr_hop;
            __u32 rtr_priority;
            __u32 rtr_flags; /* of GET_ROUTE: 1 the route is alive */
        } cfg_route;
        struct {
            char net_intf[LNET_MAX_STR_LEN];
            __s32 net_peer_timeout;
            __s32 net_peer_tx_credits;
            __s32 net_peer_rtr_credits;
            __s32 net_max_tx_credits;
            __u32 net_cksum_algo;
            __u32 net_interface_count;
        } cfg_net;
        struct {
            __u32 buf_enable;
            __s32 buf_tiny;
            __s32 buf_small;
            __s32 buf_large;
        } cfg_buffers;
    } cfg_config_u;
    char cfg_bulk[];
};

struct lnet_ioctl_lnet_stats {
    struct libcfs_ioctl_hdr st_hdr;
    struct lnet_counters st_cntrs;
};

enum lnet_health_type { LNET_HEALTH_TYPE_LOCAL_NI = 0, LNET_HEALTH_TYPE_PEER_NI };
#define LNET_RESET_HEALTH_LOCAL LNET_HEALTH_TYPE_LOCAL_NI
#define LNET_RESET_HEALTH_PEER LNET_HEALTH_TYPE_PEER_NI
struct lnet_ioctl_reset_health_cfg {
    struct libcfs_ioctl_hdr rh_hdr;
    enum lnet_health_type rh_type; /* of local interfaces, or of those of peers */
    bool rh_all;
    int rh_value;
    lnet_nid_t rh_nid;
};

#endif
