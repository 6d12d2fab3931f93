/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The core interface of the LNet transport, below the xo layer. A flavour defines the calls of
 * the first part as statics of its compilation unit; the kernel's are in
 * linux_kernel/klnet_xcore.c, the user's in ulnet_core.c. The second part, lnet_core.c and
 * bev_cqueue.c, is the same text in both. Calls return 0 or a negative errno. "mutex": the caller
 * holds ntm_mutex.
 */
#ifndef JACQUARD_M0_LNET_CORE_H
#define JACQUARD_M0_LNET_CORE_H

#include "net/lnet/lnet.h"
#include "net/lnet/lnet_core_types.h"

struct m0_bufvec;
struct m0_net_domain;
struct m0_net_transfer_mc;

/* The binary logarithm of the alignment at which an object of `size` bytes never crosses a page. */
#define NLX_PO2_SHIFT(size) \
    ((size) <= 8      ? 3   \
     : (size) <= 16   ? 4   \
     : (size) <= 32   ? 5   \
     : (size) <= 64   ? 6   \
     : (size) <= 128  ? 7   \
     : (size) <= 256  ? 8   \
     : (size) <= 512  ? 9   \
     : (size) <= 1024 ? 10  \
                      : 11)

/* Event slots are made in blocks of at most one page: slot i is at i * NLX_BEV_STRIDE. */
enum { NLX_BEV_STRIDE = 128, NLX_BEV_BLOCK = 32 };
_Static_assert(sizeof(struct nlx_core_buffer_event) <= NLX_BEV_STRIDE, "a slot fits");

/* ---- of each flavour ------------------------------------------------------------------------- */

static int nlx_core_dom_init(struct m0_net_domain *dom, struct nlx_core_domain *cd);
static void nlx_core_dom_fini(struct nlx_core_domain *cd);
/* Before the first machine starts: whether operations of a batch go together. */
static void nlx_core_dom_set_batched(struct nlx_core_domain *cd, bool batched);
/* Cached limits. */
static m0_bcount_t nlx_core_get_max_buffer_size(struct nlx_core_domain *cd);
static m0_bcount_t nlx_core_get_max_buffer_segment_size(struct nlx_core_domain *cd);
static int32_t nlx_core_get_max_buffer_segments(struct nlx_core_domain *cd);
/* buffer_id: the address of the m0_net_buffer. -ENOMEM, -EFAULT, -EFBIG, -EINVAL. */
static int nlx_core_buf_register(struct nlx_core_domain *cd, nlx_core_opaque_ptr_t buffer_id,
                                 const struct m0_bufvec *bvec, struct nlx_core_buffer *cb);
static void nlx_core_buf_deregister(struct nlx_core_domain *cd, struct nlx_core_buffer *cb);
/* Mutex. The caller filled cb_qtype, cb_length, cb_max_operations, and by kind cb_min_receive_size,
 * cb_addr, cb_match_bits. After 0 of a passive call the buffer is remotely accessible. */
static int nlx_core_buf_msg_recv(struct nlx_core_domain *cd, struct nlx_core_transfer_mc *ctm,
                                 struct nlx_core_buffer *cb);
static int nlx_core_buf_msg_send(struct nlx_core_domain *cd, struct nlx_core_transfer_mc *ctm,
                                 struct nlx_core_buffer *cb);
static int nlx_core_buf_active_recv(struct nlx_core_domain *cd, struct nlx_core_transfer_mc *ctm,
                                    struct nlx_core_buffer *cb);
static int nlx_core_buf_active_send(struct nlx_core_domain *cd, struct nlx_core_transfer_mc *ctm,
                                    struct nlx_core_buffer *cb);
static int nlx_core_buf_passive_recv(struct nlx_core_domain *cd, struct nlx_core_transfer_mc *ctm,
                                     struct nlx_core_buffer *cb);
static int nlx_core_buf_passive_send(struct nlx_core_domain *cd, struct nlx_core_transfer_mc *ctm,
                                     struct nlx_core_buffer *cb);
/* Mutex. Bytes of a receiving buffer are there, as the event says; cb_qtype is set. */
static void nlx_core_buf_arrived(const struct nlx_core_buffer *cb,
                                 const struct nlx_core_buffer_event *event);
/* Asks for cancellation. */
static int nlx_core_buf_del(struct nlx_core_domain *cd, struct nlx_core_transfer_mc *ctm,
                            struct nlx_core_buffer *cb);
/* No lock; one waiter. timeout: absolute, 0 only polls. 0: there are events; -ETIMEDOUT. */
static int nlx_core_buf_event_wait(struct nlx_core_domain *cd, struct nlx_core_transfer_mc *ctm,
                                   m0_time_t timeout);
/* A thread that waits in nlx_core_buf_event_wait returns soon, with any result. */
/* Whether the core has gone for good, as with the daemon that it was in. */
static bool nlx_core_is_lost(const struct nlx_core_domain *cd);
static void nlx_core_buf_event_wake(struct nlx_core_domain *cd, struct nlx_core_transfer_mc *ctm);
/* Mutex. A batch of deliveries begins and ends: operations in between may be submitted together. */
static void nlx_core_batch_begin(struct nlx_core_domain *cd, struct nlx_core_transfer_mc *ctm);
static void nlx_core_batch_end(struct nlx_core_domain *cd, struct nlx_core_transfer_mc *ctm);
static int nlx_core_nidstr_decode(struct nlx_core_domain *cd, const char *nidstr, uint64_t *nid);
static int nlx_core_nidstr_encode(struct nlx_core_domain *cd, uint64_t nid,
                                  char nidstr[M0_NET_LNET_NIDSTR_SIZE]);
/* The host's NIDs as text; the list ends with NULL. */
static int nlx_core_nidstrs_get(struct nlx_core_domain *cd, char ***nidary);
/* Mutex. The caller set ctm_addr; a TMID "*" is replaced in place. Codes: -EINVAL, -ENOENT,
 * -ENOMEM, -EADDRNOTAVAIL, -EADDRINUSE. Also makes the first two event slots. */
static int nlx_core_tm_start(struct nlx_core_domain *cd, struct m0_net_transfer_mc *tm,
                             struct nlx_core_transfer_mc *ctm);
/* All buffers are unlinked. Frees all event slots. */
static void nlx_core_tm_stop(struct nlx_core_domain *cd, struct nlx_core_transfer_mc *ctm);
/* Makes 1 to NLX_BEV_BLOCK event slots at one address and makes the producer know them. They live
 * until nlx_core_tm_stop, also when this call fails. */
static int nlx_core_new_blessed_bevs(struct nlx_core_domain *cd, struct nlx_core_transfer_mc *ctm,
                                     unsigned nr, struct nlx_core_buffer_event **bevs);

/* ---- of both: lnet_core.c, bev_cqueue.c ------------------------------------------------------ */

static int nlx_core_init(void);
static void nlx_core_fini(void);
/* Memory at a multiple of 1 << shift, zeroed. */
static void *nlx_core_mem_alloc(size_t size, unsigned shift);
static void nlx_core_mem_free(void *data, size_t size, unsigned shift);
static void nlx_core_dom_set_debug(struct nlx_core_domain *cd, unsigned dbg);
static void nlx_core_tm_set_debug(struct nlx_core_transfer_mc *ctm, unsigned dbg);
static void nlx_core_nidstrs_put(struct nlx_core_domain *cd, char ***nidary);

/* One slot; for tests. */
static int nlx_core_new_blessed_bev(struct nlx_core_domain *cd, struct nlx_core_transfer_mc *ctm,
                                    struct nlx_core_buffer_event **bev) __attribute__((unused));
/* Mutex. Slots for `need` more events; -ENOMEM. Release gives the reservation back. */
static int nlx_core_bevq_provision(struct nlx_core_domain *cd, struct nlx_core_transfer_mc *ctm,
                                   size_t need);
static void nlx_core_bevq_release(struct nlx_core_transfer_mc *ctm, size_t release);
/* Mutex. Copies and consumes one event; false: there is none. */
static bool nlx_core_buf_event_get(struct nlx_core_transfer_mc *ctm,
                                   struct nlx_core_buffer_event *event);

static bool nlx_core_ep_eq(const struct nlx_core_ep_addr *a, const struct nlx_core_ep_addr *b);
/* -EINVAL: not an address. "*" gives M0_NET_LNET_TMID_INVALID. */
static int nlx_core_ep_addr_decode(struct nlx_core_domain *cd, const char *ep_addr,
                                   struct nlx_core_ep_addr *cepa);
static void nlx_core_ep_addr_encode(struct nlx_core_domain *cd, const struct nlx_core_ep_addr *cepa,
                                    char buf[M0_NET_LNET_XEP_ADDR_LEN]);

static uint64_t nlx_core_match_bits_encode(uint32_t tmid, uint64_t counter);
static void nlx_core_match_bits_decode(uint64_t match_bits, uint32_t *tmid, uint64_t *counter);

/* Mutex. Encode gives the passive buffer its match bits; decode checks a descriptor against the
 * active buffer `cb` and fills in cb_match_bits, cb_addr and, to receive, cb_length. */
static uint64_t nlx_core_buf_desc_checksum(const struct nlx_core_buf_desc *cbd);
static void nlx_core_buf_desc_encode(struct nlx_core_transfer_mc *ctm, struct nlx_core_buffer *cb,
                                     struct nlx_core_buf_desc *cbd);
static int nlx_core_buf_desc_decode(struct nlx_core_transfer_mc *ctm, struct nlx_core_buffer *cb,
                                    const struct nlx_core_buf_desc *cbd);

static bool nlx_core_kmem_loc_is_empty(const struct nlx_core_kmem_loc *loc);
static bool nlx_core_kmem_loc_invariant(const struct nlx_core_kmem_loc *loc); /* it is somewhere */
static uint32_t nlx_core_kmem_loc_checksum(const struct nlx_core_kmem_loc *loc);

/* The ring, see bev_cqueue.c. */
static void bev_cqueue_init(struct nlx_core_bev_cqueue *q, struct nlx_core_buffer_event *first,
                            struct nlx_core_buffer_event *second);
static void bev_cqueue_fini(struct nlx_core_bev_cqueue *q);
static void bev_cqueue_add(struct nlx_core_bev_cqueue *q, struct nlx_core_buffer_event *slot);
static bool bev_cqueue_is_empty(const struct nlx_core_bev_cqueue *q);
static size_t bev_cqueue_size(const struct nlx_core_bev_cqueue *q);
static struct nlx_core_buffer_event *bev_cqueue_get(struct nlx_core_bev_cqueue *q);

#endif
