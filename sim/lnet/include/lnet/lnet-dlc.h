/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Arguments of LNet's ioctls, and names of lnet-types.h, under the name that release 2.12 gives it.
 */
#ifndef JACQUARD_LNET_DLC_H
#define JACQUARD_LNET_DLC_H

#include "uapi/linux/lnet/lnet-dlc.h"

#ifndef __user
#define __user
#endif
#define IOC_LIBCFS_ADD_INTERFACE LNET_IOC_OLD(78)
#define IOC_LIBCFS_DEL_INTERFACE LNET_IOC_OLD(79)
#define IOC_LIBCFS_GET_INTERFACE LNET_IOC_OLD(80)
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
