/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Ioctls of libcfs's device. There is no device: a program calls libcfs_ioctl() in place of
 * ioctl(2), on the node whose handlers are to answer.
 */
#ifndef JACQUARD_LIBCFS_IOCTL_H
#define JACQUARD_LIBCFS_IOCTL_H

#include <linux/ioctl.h>
#include "libcfs/shims.h"

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

#define IOCTL_LIBCFS_TYPE long
#define LIBCFS_IOCTL_VERSION2 0x0001000b
#define LIBCFS_IOC_DATA_MAX (128 * 1024)
#define LIBCFS_IOC_INIT_V2(data, header)                   \
    do {                                                   \
        memset(&(data), 0, sizeof(data));                  \
        (data).header.ioc_version = LIBCFS_IOCTL_VERSION2; \
        (data).header.ioc_len = sizeof(data);              \
    } while (0)

/* LNET_IOC_CONFIG wants lnet/lnetctl.h where it is used. */
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
#define IOC_LIBCFS_CLEAR_DEBUG LNET_IOC_OLD(31)
#define IOC_LIBCFS_MARK_DEBUG LNET_IOC_OLD(32)

struct libcfs_ioctl_handler {
    struct list_head item; /* not used: nodes of a simulation have one handler in common */
    /* -EINVAL: the command is not its own. */
    int (*handle_ioctl)(unsigned int cmd, struct libcfs_ioctl_hdr *hdr);
};
#define DECLARE_IOCTL_HANDLER(name, function)                                \
    struct libcfs_ioctl_handler name = {.item = LIST_HEAD_INIT((name).item), \
                                        .handle_ioctl = (function)}

#pragma GCC visibility push(default)
int libcfs_register_ioctl(struct libcfs_ioctl_handler *handler); /* -EBUSY: it is there */
int libcfs_deregister_ioctl(struct libcfs_ioctl_handler *handler); /* -ENOENT: it is not */
/* Asks the handlers of the caller's node in their order, until one does not say -EINVAL, and then
 * LNetCtl(). */
int libcfs_ioctl(unsigned command, struct libcfs_ioctl_hdr *header);
/* Empties the log of messages; writes a line into it. */
void libcfs_debug_clear(void);
void libcfs_debug_mark_buffer(const char *text);
#pragma GCC visibility pop

#endif
