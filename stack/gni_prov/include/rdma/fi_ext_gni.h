/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the provider "gni" offers beyond libfabric: authorization keys, and the functions that
 * fi_open_ops() hands out. Names and values up to "fab ops 2" are those of libfabric's own provider
 * for Aries. Type of a value: behind its name.
 */
#ifndef FI_EXT_GNI_H
#define FI_EXT_GNI_H

#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_endpoint.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct gni_nic; /* gni_pub.h */
struct gni_cdm;
struct gni_ce_result;

/* ---- authorization keys ---------------------------------------------------------------------- */

enum { GNIX_AKT_RAW = 0, GNIX_MAX_AKT_TYPES };

struct fi_gni_raw_auth_key {
    uint32_t protection_key; /* the cookie of the credentials */
};

/* The auth_key of attributes; auth_key_size is 8. */
struct fi_gni_auth_key {
    uint32_t type; /* GNIX_AKT_RAW */
    union {
        struct fi_gni_raw_auth_key raw;
    };
};

/* The launcher's credentials: no key. */
#define GNIX_PROV_DEFAULT_AUTH_KEY ((uint8_t *)NULL)
#define GNIX_PROV_DEFAULT_AUTH_KEYLEN 0

/* ---- fabric ---------------------------------------------------------------------------------- */

/* set_val fails with -FI_EINVAL for unknown values. */
#define FI_GNI_FAB_OPS_1 "fab ops 1"
typedef enum fab_ops_val {
    GNI_WAIT_THREAD_SLEEP = 0, /* uint32_t; us. No effect: no thread sweeps while others wait */
    GNI_DEFAULT_USER_REGISTRATION_LIMIT, /* uint32_t; keys of MMU_NOTIFY domains, at most 4096 */
    GNI_DEFAULT_PROV_REGISTRATION_LIMIT, /* uint32_t; likewise, of the provider itself */
    GNI_WAIT_SHARED_MEMORY_TIMEOUT, /* uint32_t; s. No effect: no memory is shared */
    GNI_NUM_FAB_OPS
} fab_ops_val_t;
struct fi_gni_ops_fab {
    int (*set_val)(struct fid *fid, fab_ops_val_t t, void *val);
    int (*get_val)(struct fid *fid, fab_ops_val_t t, void *val);
};

/* Of the credentials that a key stands for; the fabric must be open. */
#define FI_GNI_FAB_OPS_2 "fab ops 2"
typedef enum gnix_auth_key_opt {
    GNIX_USER_KEY_LIMIT = 0, /* uint32_t below 4096; fixed when the credentials are in use */
    GNIX_PROV_KEY_LIMIT, /* likewise */
    GNIX_TOTAL_KEYS_NEEDED, /* read only: the sum of both */
    GNIX_USER_KEY_MAX_PER_RANK, /* read only: keys of one process of the node */
    GNIX_MAX_AUTH_KEY_OPTS
} gnix_auth_key_opt_t;
/* The limits of a key as an application may keep them; no function of the provider uses it. */
struct gnix_auth_key_attr {
    int user_key_limit; /* GNIX_USER_KEY_LIMIT */
    int prov_key_limit; /* GNIX_PROV_KEY_LIMIT */
};
struct fi_gni_auth_key_ops_fab {
    int (*set_val)(uint8_t *auth_key, size_t auth_key_size, gnix_auth_key_opt_t opt, void *val);
    int (*get_val)(uint8_t *auth_key, size_t auth_key_size, gnix_auth_key_opt_t opt, void *val);
};

/* ---- domain ---------------------------------------------------------------------------------- */

/*
 * Values that shape a NIC (VC_ID_TABLE ... TX_CQ_SIZE) apply to endpoints that are opened
 * afterwards.
 */
#define FI_GNI_DOMAIN_OPS_1 "domain ops 1"
typedef enum dom_ops_val {
    GNI_MSG_RENDEZVOUS_THRESHOLD = 0, /* uint32_t; bytes */
    GNI_RMA_RDMA_THRESHOLD, /* uint32_t; bytes */
    GNI_CONN_TABLE_INITIAL_SIZE, /* uint32_t */
    GNI_CONN_TABLE_MAX_SIZE, /* uint32_t */
    GNI_CONN_TABLE_STEP_SIZE, /* uint32_t; factor */
    GNI_VC_ID_TABLE_CAPACITY, /* uint32_t */
    GNI_MBOX_PAGE_SIZE, /* uint32_t; bytes */
    GNI_MBOX_NUM_PER_SLAB, /* uint32_t */
    GNI_MBOX_MAX_CREDIT, /* uint32_t; messages */
    GNI_MBOX_MSG_MAX_SIZE, /* uint32_t; bytes with headers */
    GNI_RX_CQ_SIZE, /* uint32_t */
    GNI_TX_CQ_SIZE, /* uint32_t; transactions in flight */
    GNI_MAX_RETRANSMITS, /* uint32_t */
    GNI_ERR_INJECT_COUNT, /* int32_t; fails this many attempts; negative: a random number of them */
    GNI_MR_CACHE_LAZY_DEREG, /* int32_t; 0 or 1 */
    GNI_MR_CACHE, /* const char *; "internal" or "none"; "udreg": as "internal" */
    GNI_MR_UDREG_REG_LIMIT, /* uint32_t; no effect */
    GNI_MR_SOFT_REG_LIMIT, /* uint32_t */
    GNI_MR_HARD_REG_LIMIT, /* int32_t; -1: none */
    GNI_MR_HARD_STALE_REG_LIMIT, /* uint32_t */
    GNI_XPMEM_ENABLE, /* bool; no effect */
    GNI_DGRAM_PROGRESS_TIMEOUT, /* uint32_t; ms */
    GNI_EAGER_AUTO_PROGRESS, /* uint32_t; 0 or 1 */
    GNI_NUM_DOM_OPS
} dom_ops_val_t;
/* The values as an application may keep them; no function of the provider uses it. */
struct gnix_ops_domain {
    uint32_t msg_rendezvous_thresh;
    uint32_t rma_rdma_thresh;
    uint32_t ct_init_size; /* GNI_CONN_TABLE_... */
    uint32_t ct_max_size;
    uint32_t ct_step;
    uint32_t vc_id_table_capacity;
    uint32_t mbox_page_size;
    uint32_t mbox_num_per_slab;
    uint32_t mbox_maxcredit;
    uint32_t mbox_msg_maxsize;
    uint32_t rx_cq_size;
    uint32_t tx_cq_size;
    uint32_t max_retransmits;
    int32_t err_inject_count;
    bool xpmem_enabled;
    uint32_t dgram_progress_timeout;
    uint32_t eager_auto_progress;
};
struct fi_gni_ops_domain {
    int (*set_val)(struct fid *fid, dom_ops_val_t t, void *val);
    int (*get_val)(struct fid *fid, dom_ops_val_t t, void *val);
    int (*flush_cache)(struct fid *fid); /* ends the registrations that are not in use */
};

/*
 * As "fab ops 2", for a given fabric; and defaults of "domain ops 1" for domains that are opened
 * later. len is the size of the value's type, for GNI_MR_CACHE that of the string.
 */
#define FI_GNI_FAB_OPS_3 "fab ops 3"
struct fi_gni_ops_fab3 {
    int (*get_u32)(struct fid *fab, const char *key, size_t keylen, gnix_auth_key_opt_t opt,
                   uint32_t *val);
    int (*set_u32)(struct fid *fab, const char *key, size_t keylen, gnix_auth_key_opt_t opt,
                   uint32_t val);
    int (*set_tunable)(struct fid *fab, dom_ops_val_t t, const void *val, size_t len);
};

/*
 * The collective engine, statistics, and the handles of GNI. NICs with the domain's credentials are
 * numbered from 0; the numbers change when endpoints are opened or closed. -FI_EINVAL: there are
 * fewer.
 *
 * A tree is made of endpoints, each for one edge. The peer of an endpoint is the one that it is
 * connected to (FI_EP_MSG) or the dest_addr of the fi_info with which it was opened. ce_attach says
 * what the peer is: a child of one of our channels, the channel above one of ours, or the channel
 * to which our operands go. A process that has opened channels describes their edges with
 * ce_configure; then all processes post. ce_post completes as an operation of its endpoint when the
 * operands have been accepted; ce_check reports when the result is there. An endpoint has one
 * reduction at a time.
 */
#define FI_GNI_DOMAIN_OPS_2 "domain ops 2"
struct gni_ce_op {
    int command; /* GNI_FMA_CE_ */
    uint32_t mode; /* GNI_CEMODE_ */
    uint64_t reduction; /* number of this reduction, which the application chooses */
    uint64_t operand[2];
};
struct fi_gni_ops_dom2 {
    /* A channel of the NIC of `ep`. -FI_EAGAIN: all are used. */
    int (*ce_open)(struct fid *dom, const struct fid_ep *ep, uint32_t *ce_id);
    /*
     * A process below: its child_id, GNI_CE_CHILD_PE. A channel below or above: its ce_id, the
     * child_id by which the upper one knows the lower one, GNI_CE_CHILD_VCE. The channel for our
     * operands: its ce_id, the child_id by which it knows this process, GNI_CE_CHILD_PE.
     * -FI_ENOTCONN: there is no peer.
     */
    int (*ce_attach)(struct fid *ep, uint32_t ce_id, uint32_t child_id, int child_type);
    /* parent NULL: the root. modes: GNI_CE_MODE_. */
    int (*ce_configure)(struct fid *dom, uint32_t ce_id, struct fid_ep **children, size_t n,
                        struct fid_ep *parent, uint32_t modes);
    /* -FI_EAGAIN: too many operations in flight, or ce_check has not read an earlier result. */
    int (*ce_post)(struct fid_ep *ep, const struct gni_ce_op *op, void *context);
    /*
     * 0; -FI_EAGAIN: not yet; -FI_EIO: failed, or with exceptions, see *result; -FI_ENOENT: no such
     * operation. Ends the operation unless it returns -FI_EAGAIN.
     */
    int (*ce_check)(struct fid *dom, void *context, struct gni_ce_result *result);
    int (*ce_close)(struct fid *dom, uint32_t ce_id);
    /* stat: GNI_STAT_. */
    int (*nic_stat)(struct fid *dom, uint32_t nic_index, int stat, uint32_t *value);
    int (*nic_stat_reset)(struct fid *dom, uint32_t nic_index, int stat);
    /* Valid while the domain has endpoints. */
    int (*raw)(struct fid *dom, uint32_t nic_index, struct gni_nic **nic, struct gni_cdm **cdm);
};

/*
 * For checkpoints. quiesce: operations are refused with -FI_EAGAIN. Those that have begun end, the
 * others stay queued. Connections end, and with the last domain of the process its NICs and
 * registrations are released. -FI_ETIMEDOUT: everything continues as before. -FI_EBUSY: the domain
 * has an endpoint of type FI_EP_MSG or a channel of the collective engine. -FI_EALREADY. resume:
 * opens NICs and registrations again; connections are made when they are needed. -FI_EKEYREJECTED:
 * the domain resumes, but some memory regions have other keys now (fi_mr_key). On another node the
 * endpoints have other names, too (fi_getname). Peers that send meanwhile try to connect for a
 * while, so the whole application should quiesce together. No other thread may call the provider
 * during either.
 */
#define FI_GNI_DOMAIN_OPS_3 "domain ops 3"
struct fi_gni_ops_dom3 {
    int (*quiesce)(struct fid *dom, int timeout_ms);
    int (*resume)(struct fid *dom);
};

/* ---- endpoint -------------------------------------------------------------------------------- */

#define FI_GNI_EP_OPS_1 "ep ops 1"
typedef enum ep_ops_val {
    GNI_HASH_TAG_IMPL = 0, /* uint32_t; 1: tagged messages are hashed; set it before fi_enable */
    GNI_NUM_EP_OPS
} ep_ops_val_t;

/* Atomics of the NIC for which libfabric has no name: memory = (memory & op[0]) ^ op[1]. */
enum gnix_native_amo_types {
    GNIX_NAMO_AX = 0x20,
    GNIX_NAMO_AX_S, /* 32 bits */
    GNIX_NAMO_FAX, /* returns the old value */
    GNIX_NAMO_FAX_S
};

struct fi_gni_ops_ep {
    int (*set_val)(struct fid *fid, ep_ops_val_t t, void *val);
    int (*get_val)(struct fid *fid, ep_ops_val_t t, void *val);
    /* buf: both operands, of 8 bytes each. */
    ssize_t (*native_amo)(struct fid_ep *ep, const void *buf, size_t count, void *desc,
                          void *result, void *result_desc, fi_addr_t dest_addr, uint64_t addr,
                          uint64_t key, enum fi_datatype datatype, int req_type, void *context);
};

#ifdef __cplusplus
}
#endif

#endif
