/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Types and constants of LNet, release 2.12, with the names, layouts and values of Lustre's
 * headers: a consumer of the kernel's LNet compiles unchanged. The functions are in lnet/api.h.
 */
#ifndef JACQUARD_LNET_LIB_TYPES_H
#define JACQUARD_LNET_LIB_TYPES_H

#include <linux/types.h>
#include "libcfs/shims.h"
#include "lnet/nidstr.h"
#include "lustre/lustre_ver.h"

/* ---- identities ------------------------------------------------------------------------------ */

#define LNET_VERSION "0.7.0"
#ifndef WIRE_ATTR
#define WIRE_ATTR __attribute__((packed)) /* of structures that are sent */
#endif
#define LNET_NID_ANY ((lnet_nid_t)-1)
#define LNET_PID_ANY ((lnet_pid_t)-1)
#define LNET_PID_RESERVED 0xf0000000 /* bits of a PID that programs do not use */
#define LNET_PID_USERFLAG 0x80000000 /* set in the PID of a peer in user space */
#define LNET_PID_LUSTRE 12345
#define LNET_RESERVED_PORTAL 0
#define LNET_NID_LO_0 LNET_MKNID(LNET_MKNET(LOLND, 0), 0)

typedef __u32 lnet_pid_t;

struct lnet_process_id {
    lnet_nid_t nid;
    lnet_pid_t pid;
};
struct lnet_process_id_packed {
    lnet_nid_t nid;
    lnet_pid_t pid;
} __attribute__((packed));

static inline __u32 LNET_NIDADDR(lnet_nid_t nid)
{
    return (__u32)(nid & 0xffffffff);
}
static inline __u32 LNET_NIDNET(lnet_nid_t nid)
{
    return (__u32)(nid >> 32);
}
static inline lnet_nid_t LNET_MKNID(__u32 net, __u32 addr)
{
    return ((__u64)net << 32) | addr;
}
static inline __u32 LNET_NETNUM(__u32 net)
{
    return net & 0xffff;
}
static inline __u32 LNET_NETTYP(__u32 net)
{
    return (net >> 16) & 0xffff;
}
static inline __u32 LNET_MKNET(__u32 type, __u32 num)
{
    return (type << 16) | num;
}

/* ---- limits ---------------------------------------------------------------------------------- */

#define LNET_MTU_BITS 20
#define LNET_MTU (1 << LNET_MTU_BITS)
#define LNET_MAX_IOV 256 /* fragments of a descriptor */
#define LNET_MAX_PAYLOAD LNET_MTU
#define LNET_INTERFACES_NUM 16
#define LNET_INTERFACES_MIN 16
#define LNET_INTERFACES_MAX_DEFAULT 200
#define LNET_MAX_HEALTH_VALUE 1000

/* ---- handles --------------------------------------------------------------------------------- */

struct lnet_handle_eq {
    __u64 cookie;
};
struct lnet_handle_md {
    __u64 cookie;
};
struct lnet_handle_me {
    __u64 cookie;
};
struct lnet_handle_wire {
    __u64 wh_interface_cookie;
    __u64 wh_object_cookie;
} __attribute__((packed));

#define LNET_WIRE_HANDLE_COOKIE_NONE (-1)

static inline void LNetInvalidateEQHandle(struct lnet_handle_eq *h)
{
    h->cookie = (__u64)LNET_WIRE_HANDLE_COOKIE_NONE;
}
static inline int LNetEQHandleIsInvalid(struct lnet_handle_eq h)
{
    return (__u64)LNET_WIRE_HANDLE_COOKIE_NONE == h.cookie;
}
static inline void LNetInvalidateMDHandle(struct lnet_handle_md *h)
{
    h->cookie = (__u64)LNET_WIRE_HANDLE_COOKIE_NONE;
}
static inline int LNetMDHandleIsInvalid(struct lnet_handle_md h)
{
    return (__u64)LNET_WIRE_HANDLE_COOKIE_NONE == h.cookie;
}

/* ---- descriptors ----------------------------------------------------------------------------- */

enum lnet_unlink { LNET_RETAIN = 0, LNET_UNLINK };
enum lnet_ins_pos { LNET_INS_BEFORE = 0, LNET_INS_AFTER, LNET_INS_LOCAL };
enum lnet_ack_req { LNET_ACK_REQ = 0, LNET_NOACK_REQ };

struct lnet_md {
    void *start;
    unsigned int length;
    int threshold;
    int max_size;
    unsigned int options;
    void *user_ptr;
    struct lnet_handle_eq eq_handle;
    struct lnet_handle_md bulk_handle;
};

#define LNET_MD_OP_PUT (1 << 0)
#define LNET_MD_OP_GET (1 << 1)
#define LNET_MD_MANAGE_REMOTE (1 << 2)
#define LNET_MD_TRUNCATE (1 << 4)
#define LNET_MD_ACK_DISABLE (1 << 5)
#define LNET_MD_IOVEC (1 << 6)
#define LNET_MD_MAX_SIZE (1 << 7)
#define LNET_MD_KIOV (1 << 8)
#define LNET_MD_BULK_HANDLE (1 << 9)
#define LNET_MD_PHYS 0 /* of old releases; no effect */

#define LNET_MD_THRESH_INF (-1)

typedef struct {
    struct page *kiov_page;
    unsigned int kiov_len;
    unsigned int kiov_offset;
} lnet_kiov_t;

/* ---- events ---------------------------------------------------------------------------------- */

enum lnet_msg_type {
    LNET_MSG_ACK = 0,
    LNET_MSG_PUT,
    LNET_MSG_GET,
    LNET_MSG_REPLY,
    LNET_MSG_HELLO,
};

enum lnet_event_kind {
    LNET_EVENT_GET = 1,
    LNET_EVENT_PUT,
    LNET_EVENT_REPLY,
    LNET_EVENT_ACK,
    LNET_EVENT_SEND,
    LNET_EVENT_UNLINK,
};

typedef unsigned long lnet_seq_t;
#define LNET_SEQ_GT(a, b) (((signed long)((a) - (b))) > 0)

struct lnet_event {
    struct lnet_process_id target;
    struct lnet_process_id initiator;
    struct lnet_process_id source;
    lnet_nid_t sender;
    enum lnet_event_kind type;
    unsigned int pt_index;
    __u64 match_bits;
    unsigned int rlength;
    unsigned int mlength;
    struct lnet_handle_md md_handle;
    struct lnet_md md;
    __u64 hdr_data;
    __u32 msg_type;
    int status;
    int unlinked;
    unsigned int offset;
    volatile lnet_seq_t sequence;
};

typedef void (*lnet_eq_handler_t)(struct lnet_event *event);
#define LNET_EQ_HANDLER_NONE NULL

/* ---- the header of a message ----------------------------------------------------------------- */

struct lnet_ack {
    struct lnet_handle_wire dst_wmd;
    __u64 match_bits;
    __u32 mlength;
} __attribute__((packed));
struct lnet_put {
    struct lnet_handle_wire ack_wmd;
    __u64 match_bits;
    __u64 hdr_data;
    __u32 ptl_index;
    __u32 offset;
} __attribute__((packed));
struct lnet_get {
    struct lnet_handle_wire return_wmd;
    __u64 match_bits;
    __u32 ptl_index;
    __u32 src_offset;
    __u32 sink_length;
} __attribute__((packed));
struct lnet_reply {
    struct lnet_handle_wire dst_wmd;
} __attribute__((packed));
struct lnet_hello {
    __u64 incarnation;
    __u32 type;
} __attribute__((packed));

struct lnet_hdr {
    lnet_nid_t dest_nid;
    lnet_nid_t src_nid;
    lnet_pid_t dest_pid;
    lnet_pid_t src_pid;
    __u32 type; /* enum lnet_msg_type */
    __u32 payload_length;
    union {
        struct lnet_ack ack;
        struct lnet_put put;
        struct lnet_get get;
        struct lnet_reply reply;
        struct lnet_hello hello;
    } msg;
} __attribute__((packed));

/* ---- why a message failed: for the health of interfaces, and for resending ----------------- */

enum lnet_msg_hstatus {
    LNET_MSG_STATUS_OK = 0,
    LNET_MSG_STATUS_LOCAL_INTERRUPT,
    LNET_MSG_STATUS_LOCAL_DROPPED,
    LNET_MSG_STATUS_LOCAL_ABORTED,
    LNET_MSG_STATUS_LOCAL_NO_ROUTE,
    LNET_MSG_STATUS_LOCAL_ERROR,
    LNET_MSG_STATUS_LOCAL_TIMEOUT,
    LNET_MSG_STATUS_REMOTE_ERROR,
    LNET_MSG_STATUS_REMOTE_DROPPED,
    LNET_MSG_STATUS_REMOTE_TIMEOUT,
    LNET_MSG_STATUS_NETWORK_TIMEOUT,
    LNET_MSG_STATUS_END,
};

/* ---- counters -------------------------------------------------------------------------------- */

struct lnet_counters_common {
    __u32 lcc_msgs_alloc;
    __u32 lcc_msgs_max;
    __u32 lcc_errors;
    __u32 lcc_send_count;
    __u32 lcc_recv_count;
    __u32 lcc_route_count;
    __u32 lcc_drop_count;
    __u64 lcc_send_length;
    __u64 lcc_recv_length;
    __u64 lcc_route_length;
    __u64 lcc_drop_length;
} __attribute__((packed));

struct lnet_counters_health {
    __u32 lch_rst_alloc;
    __u32 lch_resend_count;
    __u32 lch_response_timeout_count;
    __u32 lch_local_interrupt_count;
    __u32 lch_local_dropped_count;
    __u32 lch_local_aborted_count;
    __u32 lch_local_no_route_count;
    __u32 lch_local_timeout_count;
    __u32 lch_local_error_count;
    __u32 lch_remote_dropped_count;
    __u32 lch_remote_error_count;
    __u32 lch_remote_timeout_count;
    __u32 lch_network_timeout_count;
};

struct lnet_counters {
    struct lnet_counters_common lct_common;
    struct lnet_counters_health lct_health;
};

/* ---- the ping target ------------------------------------------------------------------------- */

#define LNET_PROTO_PING_MATCHBITS 0x8000000000000000ULL
#define LNET_PROTO_PING_MAGIC 0x70696E67 /* "ping" */
#define LNET_NI_STATUS_UP 0x15aac0de
#define LNET_NI_STATUS_DOWN 0xdeadface
#define LNET_PING_FEAT_BASE (1 << 0)
#define LNET_PING_FEAT_NI_STATUS (1 << 1)
#define LNET_PING_FEAT_RTE_DISABLED (1 << 2)
#define LNET_PING_FEAT_MULTI_RAIL (1 << 3)
#define LNET_PING_FEAT_DISCOVERY (1 << 4)

struct lnet_ni_status {
    lnet_nid_t ns_nid;
    __u32 ns_status;
    __u32 ns_unused;
} __attribute__((packed));
struct lnet_ping_info {
    __u32 pi_magic;
    __u32 pi_features;
    lnet_pid_t pi_pid;
    __u32 pi_nnis;
    struct lnet_ni_status pi_ni[];
} __attribute__((packed));

#endif
