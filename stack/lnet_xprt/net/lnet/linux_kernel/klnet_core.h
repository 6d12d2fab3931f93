/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The core in the kernel: the only part of the transport that knows LNet. The kernel flavour calls
 * it in its own address space; the driver calls it for user processes. Calls return 0 or a negative
 * errno. Objects and what a `cb` argument points to are the caller's private memory; memory that a
 * process shares is reached through locations only, and nothing in it is trusted.
 */
#ifndef JACQUARD_M0_KLNET_CORE_H
#define JACQUARD_M0_KLNET_CORE_H

#include "lib/mutex.h"
#include "lib/vec.h"
#include "lnet/api.h"
#include "net/lnet/lnet_core_types.h"
#include "port/port.h"

/* ---- the host -------------------------------------------------------------------------------- */

/*
 * Where several hosts are in one process, calls of LNet say on behalf of which: `enter` makes
 * `lnet` the caller's and returns what was the caller's before, for `leave`. NULL: there is one
 * host.
 */
struct nlx_kcore_host_ops {
    void *(*kho_enter)(void *lnet);
    void (*kho_leave)(void *before);
};

struct nlx_kcore_limits {
    m0_bcount_t kl_max_buffer_size; /* 1 MiB */
    m0_bcount_t kl_max_segment_size; /* a page */
    int32_t kl_max_segments; /* 256 */
    uint32_t kl_tmid_min; /* 0 */
};

/* What the core keeps for a host: one kernel. */
struct nlx_kcore_host {
    struct m0_mutex kh_mutex; /* of all below */
    struct list_head kh_tms; /* addresses in use, by nlx_kcore_transfer_mc::ktm_tm_linkage */
    struct nlx_kcore_limits kh_limits;
    uint32_t kh_domains; /* they hold LNet up */
    bool kh_running; /* LNet runs */
    const struct nlx_kcore_host_ops *kh_ops;
    void *kh_lnet;
    uint64_t kh_internal_errors; /* events that LNet must not produce, and corrupt rings */
};

void nlx_kcore_host_init(struct nlx_kcore_host *host, const struct nlx_kcore_host_ops *ops,
                         void *lnet);
void nlx_kcore_host_fini(struct nlx_kcore_host *host); /* no domain is left */
/* The host of the caller; NULL: it has none. `find` NULL: the process is one host. */
struct nlx_kcore_host *nlx_kcore_host_current(void);
void nlx_kcore_host_set_find(struct nlx_kcore_host *(*find)(void));

/* ---- objects --------------------------------------------------------------------------------- */

struct nlx_kcore_ops;

struct nlx_kcore_domain {
    uint64_t kd_magic;
    struct nlx_kcore_host *kd_host;
    struct nlx_core_kmem_loc kd_cd_loc;
    struct m0_mutex kd_drv_mutex; /* the driver's */
    const struct nlx_kcore_ops *kd_drv_ops; /* the driver's */
    struct list_head kd_drv_tms, kd_drv_bufs; /* the driver's, by *_drv_linkage */
    /* How the kernel sees a page of a location. NULL: page_address(). Never fail; called in any
     * context. */
    void *(*kd_map)(const struct nlx_kcore_domain *kd, struct page *page);
    void (*kd_unmap)(const struct nlx_kcore_domain *kd, struct page *page);
    /* The first event is in a ring that was empty, and the consumer sleeps; `count` is its mapped
     * cbcq_count. NULL: the consumer waits in ko_buf_event_wait only. Called in any context. */
    void (*kd_ring)(struct m0_atomic64 *count);
};

struct nlx_kcore_buffer_event {
    uint64_t kbe_magic;
    struct nlx_core_kmem_loc kbe_loc;
    struct list_head kbe_drv_linkage; /* in ktm_drv_bevs */
    struct nlx_kcore_buffer_event *kbe_next; /* the producer's view of the ring */
};

struct nlx_kcore_transfer_mc {
    uint64_t ktm_magic;
    struct nlx_kcore_domain *ktm_kd;
    struct nlx_core_kmem_loc ktm_ctm_loc;
    struct list_head ktm_tm_linkage; /* in kh_tms */
    struct list_head ktm_drv_linkage; /* in kd_drv_tms */
    struct list_head ktm_drv_bevs; /* all slots, in the order of blessing */
    struct nlx_core_ep_addr ktm_addr;
    spinlock_t ktm_bevq_lock;
    struct nlx_kcore_buffer_event *ktm_producer; /* the slot of the next event */
    uint32_t ktm_buffers; /* operations that have not ended, under ktm_bevq_lock */
    uint32_t ktm_waiting; /* a thread waits for ktm_wait, atomic */
    bool ktm_poisoned; /* its shared ring was corrupt: events are lost */
    struct port_semaphore ktm_wait;
    struct lnet_handle_eq ktm_eqh;
    unsigned ktm_debug;
};

struct nlx_kcore_buffer {
    uint64_t kb_magic;
    struct nlx_core_kmem_loc kb_cb_loc;
    struct nlx_kcore_transfer_mc *kb_ktm; /* NULL: no operation, under ktm_bevq_lock */
    struct list_head kb_drv_linkage; /* in kd_drv_bufs */
    nlx_core_opaque_ptr_t kb_buffer_id;
    enum m0_net_queue_type kb_qtype;
    m0_time_t kb_add_time;
    lnet_kiov_t *kb_kiov;
    uint32_t kb_kiov_len; /* fragments */
    m0_bcount_t kb_size; /* bytes */
    uint32_t kb_kiov_adj_idx; /* trimmed for a call: this one and its length before */
    unsigned kb_kiov_orig_len;
    struct lnet_handle_md kb_mdh;
    bool kb_suppressed; /* the add fails: its UNLINK is nobody's event */
    bool kb_cancelled; /* LNetMDUnlink was called */
    bool kb_ooo_reply; /* the REPLY came before the SEND, with: */
    int32_t kb_ooo_status;
    uint32_t kb_ooo_mlength, kb_ooo_offset;
};

/* ---- calls ----------------------------------------------------------------------------------- */

/*
 * What the driver calls, so that a test can put something else in its place. Locks: those of one
 * TM do not overlap, except ko_buf_event_wait. ko_dom_init and ko_tm_start have kd_map, kd_unmap,
 * kd_host and the location of the shared object set by the caller.
 */
struct nlx_kcore_ops {
    int (*ko_dom_init)(struct nlx_kcore_domain *kd, struct nlx_core_domain *cd);
    void (*ko_dom_fini)(struct nlx_kcore_domain *kd, struct nlx_core_domain *cd);
    /* kb_kiov is set: nlx_kcore_kiov_build. Sets cb_kpvt of the copy. */
    int (*ko_buf_register)(struct nlx_kcore_domain *kd, nlx_core_opaque_ptr_t buffer_id,
                           struct nlx_core_buffer *cb, struct nlx_kcore_buffer *kb);
    void (*ko_buf_deregister)(struct nlx_core_buffer *cb, struct nlx_kcore_buffer *kb);
    /* Fails as §3.2 says; ctm_addr, ctm_magic, ctm_mb_counter and ctm_kpvt are set on success. */
    int (*ko_tm_start)(struct nlx_kcore_domain *kd, struct nlx_core_transfer_mc *ctm,
                       struct nlx_kcore_transfer_mc *ktm);
    /* No operation is left (nlx_kcore_tm_idle). The slots are the caller's. */
    void (*ko_tm_stop)(struct nlx_core_transfer_mc *ctm, struct nlx_kcore_transfer_mc *ktm);
    /* -EBUSY: the buffer has an operation already; -EINVAL, -EFBIG: wrong values. */
    int (*ko_buf_msg_recv)(struct nlx_kcore_transfer_mc *ktm, const struct nlx_core_buffer *cb,
                           struct nlx_kcore_buffer *kb);
    int (*ko_buf_msg_send)(struct nlx_kcore_transfer_mc *ktm, const struct nlx_core_buffer *cb,
                           struct nlx_kcore_buffer *kb);
    int (*ko_buf_active_recv)(struct nlx_kcore_transfer_mc *ktm, const struct nlx_core_buffer *cb,
                              struct nlx_kcore_buffer *kb);
    int (*ko_buf_active_send)(struct nlx_kcore_transfer_mc *ktm, const struct nlx_core_buffer *cb,
                              struct nlx_kcore_buffer *kb);
    int (*ko_buf_passive_recv)(struct nlx_kcore_transfer_mc *ktm, const struct nlx_core_buffer *cb,
                               struct nlx_kcore_buffer *kb);
    int (*ko_buf_passive_send)(struct nlx_kcore_transfer_mc *ktm, const struct nlx_core_buffer *cb,
                               struct nlx_kcore_buffer *kb);
    /* -ENOENT: the operation has ended. */
    int (*ko_buf_del)(struct nlx_kcore_transfer_mc *ktm, struct nlx_kcore_buffer *kb);
    /* timeout: absolute, 0 polls. 0: events; -ETIMEDOUT; -EINTR: nlx_kcore_event_wake was called.
     */
    int (*ko_buf_event_wait)(struct nlx_kcore_transfer_mc *ktm, m0_time_t timeout);
};
extern const struct nlx_kcore_ops nlx_kcore_def_ops;

/* The calls of LNet that tests replace; `nlx_kcore_iv` is what the core uses. */
struct nlx_kcore_interceptable_subs {
    int (*_nlx_kcore_LNetMDAttach)(struct nlx_kcore_transfer_mc *ktm,
                                   const struct nlx_core_buffer *cb, struct nlx_kcore_buffer *kb,
                                   struct lnet_md *umd);
    int (*_nlx_kcore_LNetPut)(struct nlx_kcore_transfer_mc *ktm, const struct nlx_core_buffer *cb,
                              struct nlx_kcore_buffer *kb, struct lnet_md *umd);
    int (*_nlx_kcore_LNetGet)(struct nlx_kcore_transfer_mc *ktm, const struct nlx_core_buffer *cb,
                              struct nlx_kcore_buffer *kb, struct lnet_md *umd);
};
extern struct nlx_kcore_interceptable_subs nlx_kcore_iv;

/*
 * Checks the shape of a buffer and makes kb_kiov. `pin` gives the page of an address, or NULL and
 * *rc; pages that were pinned before an error are unpinned in reverse. Both NULL: the addresses are
 * the kernel's own. -EFBIG, -EINVAL, -ENOMEM, or what `pin` said. `counts` and `addresses` are
 * private memory.
 */
int nlx_kcore_kiov_build(struct nlx_kcore_domain *kd, struct nlx_kcore_buffer *kb, uint32_t nr,
                         const m0_bcount_t *counts, void *const *addresses,
                         struct page *(*pin)(void *arg, uint64_t address, int *rc),
                         void (*unpin)(void *arg, struct page *page), void *arg);
void nlx_kcore_kiov_free(struct nlx_kcore_buffer *kb);

/* The producer learns of a slot; kbe_loc is set. `bev` is the slot as the kernel sees it. The first
 * slot of all is where the producer starts. */
void nlx_kcore_bev_bless(struct nlx_kcore_transfer_mc *ktm, struct nlx_kcore_buffer_event *kbe,
                         struct nlx_core_buffer_event *bev);
/* Produces the last event of a buffer whose submitted operation was refused. */
void nlx_kcore_event_refused(struct nlx_kcore_transfer_mc *ktm, struct nlx_kcore_buffer *kb,
                             int status);
void nlx_kcore_event_wake(struct nlx_kcore_transfer_mc *ktm);
/* No operation is left that could still produce an event. */
bool nlx_kcore_tm_idle(struct nlx_kcore_transfer_mc *ktm);
void nlx_kcore_tm_drain(struct nlx_kcore_transfer_mc *ktm); /* waits until it is idle */
bool nlx_kcore_buffer_busy(struct nlx_kcore_buffer *kb);

/* Like the core calls of these names. The list is one block: strings, each with its NUL, and one
 * more NUL; the count of strings, or -EFBIG. */
int nlx_kcore_nidstr_decode(const char *nidstr, uint64_t *nid);
int nlx_kcore_nidstr_encode(uint64_t nid, char nidstr[M0_NET_LNET_NIDSTR_SIZE]);
int nlx_kcore_nidstrs_get(struct nlx_kcore_host *host, char *buffer, size_t size);

/* Locations. */
void nlx_kcore_kmem_loc_set(struct nlx_core_kmem_loc *loc, struct page *page, uint32_t offset);
bool nlx_kcore_kmem_loc_eq(const struct nlx_core_kmem_loc *a, const struct nlx_core_kmem_loc *b);
void *nlx_kcore_map(const struct nlx_kcore_domain *kd, const struct nlx_core_kmem_loc *loc);
void nlx_kcore_unmap(const struct nlx_kcore_domain *kd, const struct nlx_core_kmem_loc *loc);

#endif
