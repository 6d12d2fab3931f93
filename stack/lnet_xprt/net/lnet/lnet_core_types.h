/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Objects that a consumer of the transport shares with the core in the kernel. Their layout on an
 * LP64 machine is part of the driver's interface. An object never crosses a page. Pointers of the
 * consumer (cbl_c_*, cbcq_consumer, *_upvt) mean nothing to the kernel, and the reverse.
 */
#ifndef JACQUARD_M0_LNET_CORE_TYPES_H
#define JACQUARD_M0_LNET_CORE_TYPES_H

#include <stddef.h>
#include <stdint.h>

#include "lib/atomic.h"
#include "lib/time.h"
#include "lib/types.h"
#include "net/net.h"

struct page;

/* The smallest TMID of an address. Tests of others compile the transport with 1. */
#ifndef M0_NET_LNET_TMID_MIN
#define M0_NET_LNET_TMID_MIN 0
#endif

/* An address of either side as a number. */
typedef uint64_t nlx_core_opaque_ptr_t;

enum {
    M0_NET_LNET_TMID_BITS = 12,
    M0_NET_LNET_TMID_SHIFT = 52,
    M0_NET_LNET_TMID_MAX = 4095,
    M0_NET_LNET_TMID_INVALID = 4096, /* "*": the core assigns one */
    M0_NET_LNET_BUFFER_ID_BITS = 52,
    M0_NET_LNET_MAX_PORTALS = 64, /* portal 0 is reserved */
    M0_NET_LNET_NIDSTR_SIZE = 32,
    M0_NET_LNET_BEVQ_MIN_SIZE = 2,
    M0_NET_LNET_BEVQ_NUM_RESERVED = 1,
    M0_NET_LNET_EQ_SIZE = 0,
};
#define M0_NET_LNET_BUFFER_ID_MIN 1ULL /* 0 is the receive queue */
#define M0_NET_LNET_BUFFER_ID_MAX 0xfffffffffffffULL
#define M0_NET_LNET_BUFFER_ID_MASK 0xfffffffffffffULL
#define M0_NET_LNET_PORTAL_MASK 0xfffffffffffffULL

/* Magic numbers of the objects below, and of those of the layers. */
#define M0_NET_LNET_CORE_BUF_MAGIC 0x33ed1b1e1c1c1e77ULL
#define M0_NET_LNET_CORE_TM_MAGIC 0x33f0ca1ed1f1ce77ULL
#define M0_NET_LNET_XE_MAGIC 0x33fa11edf1a5c077ULL
#define M0_NET_LNET_KCORE_DOM_MAGIC 0x33c1a551ca1c0b77ULL
#define M0_NET_LNET_KCORE_TM_MAGIC 0x33e991e55ab0de77ULL
#define M0_NET_LNET_KCORE_BUF_MAGIC 0x33d1550c1ab1ee77ULL
#define M0_NET_LNET_KCORE_BEV_MAGIC 0x335a15abac111177ULL

/* The decoded form of an address. */
struct nlx_core_ep_addr {
    uint64_t cepa_nid;
    uint32_t cepa_pid, cepa_portal, cepa_tmid;
} __attribute__((packed));

/* Where an object is for the kernel. All zero: nowhere. */
struct nlx_core_kmem_loc {
    union {
        struct {
            struct page *kl_page; /* a cookie that the consumer never follows */
            uint32_t kl_offset;
        } __attribute__((packed));
        uint32_t kl_data[3];
    };
    uint32_t kl_checksum; /* of kl_data, combined by XOR */
};

struct nlx_core_bev_link {
    nlx_core_opaque_ptr_t cbl_c_self, cbl_c_next;
    struct nlx_core_kmem_loc cbl_p_self_loc, cbl_p_next_loc;
};

/* The ring of event slots: the kernel produces, one consumer takes. */
struct nlx_core_bev_cqueue {
    size_t cbcq_nr; /* slots; one of them is the consumer's */
    struct m0_atomic64 cbcq_count; /* events that are not taken yet */
    nlx_core_opaque_ptr_t cbcq_consumer;
    struct nlx_core_kmem_loc cbcq_producer_loc;
};

/* An event and the slot that it is in. */
struct nlx_core_buffer_event {
    struct nlx_core_bev_link cbe_tm_link;
    nlx_core_opaque_ptr_t cbe_buffer_id;
    m0_time_t cbe_time; /* from the add to the event: the sides' clocks may differ */
    int32_t cbe_status;
    m0_bcount_t cbe_length;
    m0_bindex_t cbe_offset;
    struct nlx_core_ep_addr cbe_sender; /* all zero: there is none */
    bool cbe_unlinked; /* the buffer's last event */
    void *cbe_kpvt;
};

struct nlx_core_domain {
    void *cd_upvt, *cd_kpvt;
    unsigned _debug_;
};

struct nlx_core_transfer_mc {
    uint64_t ctm_magic;
    struct nlx_core_ep_addr ctm_addr;
    struct nlx_core_bev_cqueue ctm_bevq;
    size_t ctm_bev_needed; /* slots that queued buffers may still need */
    uint64_t ctm_mb_counter; /* of the next passive buffer */
    void *ctm_upvt, *ctm_kpvt;
    unsigned _debug_;
    uint32_t ctm_asleep; /* atomic: the consumer waits, so the first event wakes it */
};

struct nlx_core_buffer {
    uint64_t cb_magic;
    nlx_core_opaque_ptr_t cb_buffer_id;
    enum m0_net_queue_type cb_qtype;
    m0_bcount_t cb_length, cb_min_receive_size;
    uint32_t cb_max_operations;
    uint64_t cb_match_bits;
    struct nlx_core_ep_addr cb_addr;
    void *cb_upvt, *cb_kpvt;
};

/* What describes a passive buffer to others: 48 bytes, little-endian. */
struct nlx_core_buf_desc {
    union {
        struct {
            uint64_t cbd_match_bits;
            struct nlx_core_ep_addr cbd_passive_ep;
            uint32_t cbd_qtype;
            uint64_t cbd_size;
        } __attribute__((packed));
        uint64_t cbd_data[5];
    };
    uint64_t cbd_checksum; /* of cbd_data, combined by XOR */
};

#define NLX_LAYOUT(type, member, offset) \
    _Static_assert(offsetof(struct type, member) == (offset), #type "." #member)
#define NLX_SIZE(type, size) _Static_assert(sizeof(struct type) == (size), "size of " #type)
NLX_SIZE(nlx_core_ep_addr, 20);
NLX_SIZE(nlx_core_kmem_loc, 16);
NLX_LAYOUT(nlx_core_kmem_loc, kl_checksum, 12);
NLX_SIZE(nlx_core_bev_link, 48);
NLX_SIZE(nlx_core_bev_cqueue, 40);
NLX_SIZE(nlx_core_buffer_event, 120);
NLX_LAYOUT(nlx_core_buffer_event, cbe_buffer_id, 48);
NLX_LAYOUT(nlx_core_buffer_event, cbe_status, 64);
NLX_LAYOUT(nlx_core_buffer_event, cbe_length, 72);
NLX_LAYOUT(nlx_core_buffer_event, cbe_sender, 88);
NLX_LAYOUT(nlx_core_buffer_event, cbe_unlinked, 108);
NLX_LAYOUT(nlx_core_buffer_event, cbe_kpvt, 112);
NLX_SIZE(nlx_core_domain, 24);
NLX_SIZE(nlx_core_transfer_mc, 112);
NLX_LAYOUT(nlx_core_transfer_mc, ctm_addr, 8);
NLX_LAYOUT(nlx_core_transfer_mc, ctm_bevq, 32);
NLX_LAYOUT(nlx_core_transfer_mc, ctm_bev_needed, 72);
NLX_SIZE(nlx_core_buffer, 96);
NLX_LAYOUT(nlx_core_buffer, cb_length, 24);
NLX_LAYOUT(nlx_core_buffer, cb_max_operations, 40);
NLX_LAYOUT(nlx_core_buffer, cb_match_bits, 48);
NLX_LAYOUT(nlx_core_buffer, cb_addr, 56);
NLX_LAYOUT(nlx_core_buffer, cb_upvt, 80);
NLX_SIZE(nlx_core_buf_desc, 48);
NLX_LAYOUT(nlx_core_buf_desc, cbd_size, 32);
#undef NLX_LAYOUT
#undef NLX_SIZE
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "descriptors are little-endian");

#endif
