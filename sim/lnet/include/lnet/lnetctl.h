/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Arguments of LNetCtl: fault rules and the ioctl structures of libcfs and LNet. */
#ifndef JACQUARD_LNETCTL_H
#define JACQUARD_LNETCTL_H

#include <linux/ioctl.h>
#include "lnet/lib-types.h"

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
#define LIBCFS_IOCTL_VERSION 0x0001000a

struct libcfs_ioctl_hdr {
    __u32 ioc_len;
    __u32 ioc_version;
};

struct libcfs_ioctl_data {
    struct libcfs_ioctl_hdr ioc_hdr;
    __u64 ioc_nid;
    __u64 ioc_u64[1];
    __u32 ioc_flags;
    __u32 ioc_count;
    __u32 ioc_net;
    __u32 ioc_u32[7];
    __u32 ioc_inllen1;
    char *ioc_inlbuf1;
    __u32 ioc_inllen2;
    char *ioc_inlbuf2;
    __u32 ioc_plen1;
    void *ioc_pbuf1;
    __u32 ioc_plen2;
    void *ioc_pbuf2;
    char ioc_bulk[];
};
/* Begins the arguments of a call. */
#define LIBCFS_IOC_INIT(data)     \
    ((data) = (__typeof__(data)){ \
         .ioc_hdr = {.ioc_len = sizeof(data), .ioc_version = LIBCFS_IOCTL_VERSION}})

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

#define IOC_LIBCFS_TYPE 'e'
#define LNET_IOC_OLD(number) _IOWR(IOC_LIBCFS_TYPE, number, long)
#define LNET_IOC_CONFIG(number) _IOWR(IOC_LIBCFS_TYPE, number, struct lnet_ioctl_config_data)

#define IOC_LIBCFS_GET_NI LNET_IOC_OLD(50)
#define IOC_LIBCFS_FAIL_NID LNET_IOC_OLD(51)
#define IOC_LIBCFS_NOTIFY_ROUTER LNET_IOC_OLD(55)
#define IOC_LIBCFS_UNCONFIGURE LNET_IOC_OLD(56)
#define IOC_LIBCFS_LNET_DIST LNET_IOC_OLD(58)
#define IOC_LIBCFS_CONFIGURE LNET_IOC_OLD(59)
#define IOC_LIBCFS_TESTPROTOCOMPAT LNET_IOC_OLD(60)
#define IOC_LIBCFS_PING LNET_IOC_OLD(61)
#define IOC_LIBCFS_PING_PEER LNET_IOC_OLD(62)
#define IOC_LIBCFS_LNETST LNET_IOC_OLD(63)
#define IOC_LIBCFS_LNET_FAULT LNET_IOC_OLD(64)
#define IOC_LIBCFS_REGISTER_MYNID LNET_IOC_OLD(70)
#define IOC_LIBCFS_CLOSE_CONNECTION LNET_IOC_OLD(71)
#define IOC_LIBCFS_PUSH_CONNECTION LNET_IOC_OLD(72)
#define IOC_LIBCFS_GET_CONN LNET_IOC_OLD(73)
#define IOC_LIBCFS_DEL_PEER LNET_IOC_OLD(74)
#define IOC_LIBCFS_ADD_PEER LNET_IOC_OLD(75)
#define IOC_LIBCFS_GET_PEER LNET_IOC_OLD(76)
#define IOC_LIBCFS_DISCOVER LNET_IOC_OLD(77)
#define IOC_LIBCFS_ADD_ROUTE LNET_IOC_CONFIG(81)
#define IOC_LIBCFS_DEL_ROUTE LNET_IOC_CONFIG(82)
#define IOC_LIBCFS_GET_ROUTE LNET_IOC_CONFIG(83)
#define IOC_LIBCFS_ADD_NET LNET_IOC_CONFIG(84)
#define IOC_LIBCFS_DEL_NET LNET_IOC_CONFIG(85)
#define IOC_LIBCFS_GET_NET LNET_IOC_CONFIG(86)
#define IOC_LIBCFS_CONFIG_RTR LNET_IOC_CONFIG(87)
#define IOC_LIBCFS_ADD_BUF LNET_IOC_CONFIG(88)
#define IOC_LIBCFS_GET_BUF LNET_IOC_CONFIG(89)
#define IOC_LIBCFS_GET_PEER_INFO LNET_IOC_CONFIG(90)
#define IOC_LIBCFS_GET_LNET_STATS LNET_IOC_CONFIG(91)
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
#define IOC_LIBCFS_SET_HEALHV LNET_IOC_CONFIG(102)
#define IOC_LIBCFS_GET_LOCAL_HSTATS LNET_IOC_CONFIG(103)
#define IOC_LIBCFS_GET_RECOVERY_QUEUE LNET_IOC_CONFIG(104)

#endif
