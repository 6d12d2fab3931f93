/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The driver's device as user space sees it: one descriptor is one domain. Each verb has a request
 * number and a block of parameters, whose size is part of the number. Objects that the kernel
 * shares (core domain, machine, buffer, event slots, submission ring) are named by their address;
 * references that it returns in them (cd_kpvt, ctm_kpvt, cb_kpvt) are numbers that mean nothing
 * elsewhere.
 */
#ifndef JACQUARD_M0_LNET_IOCTL_H
#define JACQUARD_M0_LNET_IOCTL_H

#include <linux/ioctl.h>

#include "lib/vec.h"
#include "net/lnet/lnet_core_types.h"

#define M0_LNET_DEV "m0lnet" /* /dev/m0lnet */
#define M0_LNET_IOC_MAGIC 'c'
#define M0_LNET_IOC_MIN_NR 0x21
#define M0_LNET_IOC_MAX_NR 0x4f

/* ---- parameters ------------------------------------------------------------------------------ */

struct m0_lnet_dev_dom_init_params {
    struct nlx_core_domain *ddi_cd; /* in; the rest is out */
    m0_bcount_t ddi_max_buffer_size;
    m0_bcount_t ddi_max_buffer_segment_size;
    int32_t ddi_max_buffer_segments;
};
struct m0_lnet_dev_buf_register_params {
    struct nlx_core_buffer *dbr_lcbuf;
    nlx_core_opaque_ptr_t dbr_buffer_id; /* not 0 */
    struct m0_bufvec dbr_bvec;
};
struct m0_lnet_dev_buf_deregister_params {
    void *dbd_kb;
};
struct m0_lnet_dev_buf_queue_params {
    void *dbq_ktm, *dbq_kb;
};
struct m0_lnet_dev_buf_event_wait_params {
    void *dbw_ktm;
    m0_time_t dbw_timeout; /* absolute; 0 polls */
};
struct m0_lnet_dev_nid_encdec_params {
    uint64_t dn_nid;
    char dn_buf[M0_NET_LNET_NIDSTR_SIZE];
};
struct m0_lnet_dev_nidstrs_get_params {
    m0_bcount_t dng_size;
    char *dng_buf; /* strings with their NULs, and one NUL more */
};
struct m0_lnet_dev_tm_start_params {
    struct nlx_core_transfer_mc *dts_ctm;
};
struct m0_lnet_dev_tm_stop_params {
    void *dts_ktm;
};
struct m0_lnet_dev_bev_bless_params {
    void *dbb_ktm;
    struct nlx_core_buffer_event *dbb_bev;
};

/* Verbs that public drivers do not have; they answer -ENOTTY. */
enum { M0_LNET_BLESS_MAX = 32 };
struct m0_lnet_dev_bev_bless_n_params {
    void *dbn_ktm;
    uint32_t dbn_nr; /* at most M0_LNET_BLESS_MAX */
    struct nlx_core_buffer_event *dbn_bevs[M0_LNET_BLESS_MAX];
};
struct m0_lnet_dev_sq_setup_params {
    void *dss_ktm;
    struct nlx_core_sq *dss_sq; /* begins a page */
    uint64_t dss_nr; /* entries: a power of two */
};
struct m0_lnet_dev_tm_params {
    void *dtp_ktm;
};
/* In: new bounds, which only fall; 0: as it is. Out: the bounds (0: none) and what is in use. */
struct m0_lnet_dev_limits_params {
    uint32_t dlp_max_tms, dlp_max_bufs, dlp_max_bevs, dlp_pad;
    uint64_t dlp_max_pinned_pages;
    uint32_t dlp_tms, dlp_bufs, dlp_bevs, dlp_pad2; /* bevs: of all machines together */
    uint64_t dlp_pinned_pages;
};

/* Of a device "unix:" only, with a descriptor: the memory that the process shares. */
struct m0_lnet_dev_arena_attach_params {
    uint64_t daa_address; /* of the process */
    uint64_t daa_bytes; /* of the whole file */
};

/* ---- verbs ----------------------------------------------------------------------------------- */

#define M0_LNET_IOW(nr, params) _IOW(M0_LNET_IOC_MAGIC, nr, struct m0_lnet_dev_##params##_params)
#define M0_LNET_IOWR(nr, params) _IOWR(M0_LNET_IOC_MAGIC, nr, struct m0_lnet_dev_##params##_params)

#define M0_LNET_DOM_INIT M0_LNET_IOWR(0x21, dom_init)
#define M0_LNET_ARENA_ATTACH M0_LNET_IOW(0x22, arena_attach)
#define M0_LNET_BUF_REGISTER M0_LNET_IOW(0x26, buf_register)
#define M0_LNET_BUF_DEREGISTER M0_LNET_IOW(0x27, buf_deregister)
#define M0_LNET_BUF_MSG_RECV M0_LNET_IOW(0x28, buf_queue)
#define M0_LNET_BUF_MSG_SEND M0_LNET_IOW(0x29, buf_queue)
#define M0_LNET_BUF_ACTIVE_RECV M0_LNET_IOW(0x2a, buf_queue)
#define M0_LNET_BUF_ACTIVE_SEND M0_LNET_IOW(0x2b, buf_queue)
#define M0_LNET_BUF_PASSIVE_RECV M0_LNET_IOW(0x2c, buf_queue)
#define M0_LNET_BUF_PASSIVE_SEND M0_LNET_IOW(0x2d, buf_queue)
#define M0_LNET_BUF_DEL M0_LNET_IOW(0x2e, buf_queue)
#define M0_LNET_BUF_EVENT_WAIT M0_LNET_IOW(0x2f, buf_event_wait)
#define M0_LNET_NIDSTR_DECODE M0_LNET_IOWR(0x30, nid_encdec)
#define M0_LNET_NIDSTR_ENCODE M0_LNET_IOWR(0x31, nid_encdec)
#define M0_LNET_NIDSTRS_GET M0_LNET_IOW(0x32, nidstrs_get)
#define M0_LNET_TM_START M0_LNET_IOW(0x33, tm_start)
#define M0_LNET_TM_STOP M0_LNET_IOW(0x34, tm_stop)
#define M0_LNET_BEV_BLESS M0_LNET_IOW(0x35, bev_bless)
#define M0_LNET_BEV_BLESS_N M0_LNET_IOW(0x36, bev_bless_n)
#define M0_LNET_SQ_SETUP M0_LNET_IOW(0x37, sq_setup)
#define M0_LNET_SQ_SUBMIT M0_LNET_IOW(0x38, tm)
#define M0_LNET_SQ_SUBMIT_AND_WAIT M0_LNET_IOW(0x39, buf_event_wait)
#define M0_LNET_LIMITS M0_LNET_IOWR(0x3a, limits)
#define M0_LNET_TM_WAKE M0_LNET_IOW(0x3b, tm) /* a thread in EVENT_WAIT returns */

_Static_assert(M0_LNET_DOM_INIT == 0xc0206321, "the public number");
_Static_assert(M0_LNET_BUF_REGISTER == 0x40286326, "the public number");
_Static_assert(M0_LNET_BUF_MSG_RECV == 0x40106328, "the public number");
_Static_assert(M0_LNET_NIDSTR_DECODE == 0xc0286330, "the public number");
_Static_assert(M0_LNET_BEV_BLESS == 0x40106335, "the public number");

/* ---- the submission ring --------------------------------------------------------------------- */

/* An operation: what its verb takes from the core buffer. */
struct nlx_core_sqe {
    uint32_t sq_op; /* number of the verb: 0x28 ... 0x2d */
    uint32_t sq_flags;
    uint64_t sq_kb;
    uint64_t sq_seq;
    uint64_t sq_length, sq_min_receive_size;
    uint32_t sq_max_operations;
    int32_t sq_status; /* written by the kernel: why it refused the operation */
    uint64_t sq_match_bits;
    struct nlx_core_ep_addr sq_addr;
    uint32_t sq_pad;
};
_Static_assert(sizeof(struct nlx_core_sqe) == 80, "an entry");

enum { NLX_SQE_SKIP = 1 }; /* sq_flags: cancelled before it was submitted */
#define M0_NET_LNET_SQ_MAGIC 0x33ab1e5eed5eed77ULL

/* User space produces at the tail, the kernel consumes at the head. Entry i is at i & sq_mask. */
struct nlx_core_sq {
    uint64_t sq_magic;
    uint32_t sq_nr, sq_mask;
    struct m0_atomic64 sq_tail;
    struct m0_atomic64 sq_head;
    struct nlx_core_sqe sq_e[];
};
_Static_assert(sizeof(struct nlx_core_sq) == 32, "the head of the ring");

#endif
