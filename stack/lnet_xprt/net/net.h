/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The network layer of the storage system. A domain uses a transport; a transfer machine is an end
 * point of it, with six queues of buffers; the end of each operation is told by a callback.
 *
 * "pre:" says what has to hold; otherwise the process ends. Functions return 0 or a negative errno.
 * Unless it is said, a function takes the mutex of its object, which the caller does not have.
 */
#ifndef M0_NET_NET_H
#define M0_NET_NET_H

#include <stdarg.h>

#include "lib/atomic.h"
#include "lib/bitmap.h"
#include "lib/cdefs.h"
#include "lib/chan.h"
#include "lib/cond.h"
#include "lib/list.h"
#include "lib/mutex.h"
#include "lib/queue.h"
#include "lib/refs.h"
#include "lib/rwlock.h"
#include "lib/thread.h"
#include "lib/time.h"
#include "lib/tlist.h"
#include "lib/types.h"
#include "lib/vec.h"
#include "net/ip.h"
#include "net/net_otw_types.h"
#include "net/net_otw_types_xc.h"
#include "sm/sm.h"

#ifdef __cplusplus
extern "C" {
#endif

struct m0_net_buffer;
struct m0_net_buffer_callbacks;
struct m0_net_buffer_pool;
struct m0_net_domain;
struct m0_net_end_point;
struct m0_net_transfer_mc;
struct m0_net_xprt_ops;

/* How addresses of this build begin, and whether it has libfabric as transport. */
#define M0_NET_XPRT_PREFIX_DEFAULT "lnet"
#define USE_LIBFAB 0

enum { M0_NET_TM_RECV_QUEUE_DEF_LEN = 2 }; /* buffers that provisioning keeps in a receive queue */

/* No queue promises an order in which its operations end. */
enum m0_net_queue_type {
    M0_NET_QT_MSG_RECV = 0, /* messages that come unasked */
    M0_NET_QT_MSG_SEND, /* such a message */
    M0_NET_QT_PASSIVE_BULK_RECV, /* somebody else will write into the buffer */
    M0_NET_QT_PASSIVE_BULK_SEND, /* somebody else will read from it */
    M0_NET_QT_ACTIVE_BULK_RECV, /* reads somebody's passive buffer that sends */
    M0_NET_QT_ACTIVE_BULK_SEND, /* writes somebody's passive buffer that receives */
    M0_NET_QT_NR
};
enum m0_net_tm_state {
    M0_NET_TM_UNDEFINED = 0,
    M0_NET_TM_INITIALIZED,
    M0_NET_TM_STARTING,
    M0_NET_TM_STARTED,
    M0_NET_TM_STOPPING,
    M0_NET_TM_STOPPED,
    M0_NET_TM_FAILED
};
enum m0_net_tm_ev_type {
    M0_NET_TEV_ERROR = 0,
    M0_NET_TEV_STATE_CHANGE,
    M0_NET_TEV_DIAGNOSTIC,
    M0_NET_TEV_NR
};
enum m0_net_buf_flags {
    M0_NET_BUF_REGISTERED = 1 << 0,
    M0_NET_BUF_QUEUED = 1 << 1, /* it and its memory belong to the layer */
    M0_NET_BUF_IN_USE = 1 << 2, /* the transport has begun */
    M0_NET_BUF_CANCELLED = 1 << 3,
    M0_NET_BUF_TIMED_OUT = 1 << 4,
    M0_NET_BUF_RETAIN =
        1 << 5, /* of the transport: the next event does not take it off the queue */
};

/* ---- transports ------------------------------------------------------------------------------ */

struct m0_net_xprt {
    const char *nx_name;
    const struct m0_net_xprt_ops *nx_ops;
};

/* The functions of a transport. The comment behind each names the locks that are held. */
struct m0_net_xprt_ops {
    int (*xo_dom_init)(const struct m0_net_xprt *xprt, struct m0_net_domain *dom); /* the layer's */
    void (*xo_dom_fini)(struct m0_net_domain *dom); /* the layer's */
    int (*xo_tm_init)(struct m0_net_transfer_mc *tm); /* nd_mutex */
    /* May be NULL: -ENOSYS. ntm_mutex */
    int (*xo_tm_confine)(struct m0_net_transfer_mc *tm, const struct m0_bitmap *processors);
    /* Both end with an event on another thread. ntm_mutex */
    int (*xo_tm_start)(struct m0_net_transfer_mc *tm, const char *addr);
    int (*xo_tm_stop)(struct m0_net_transfer_mc *tm, bool cancel);
    void (*xo_tm_fini)(struct m0_net_transfer_mc *tm); /* nd_mutex */
    int (*xo_end_point_create)(struct m0_net_end_point **epp, struct m0_net_transfer_mc *tm,
                               const char *addr); /* ntm_mutex */
    int (*xo_buf_register)(struct m0_net_buffer *nb); /* nd_mutex */
    void (*xo_buf_deregister)(struct m0_net_buffer *nb); /* nd_mutex */
    int (*xo_buf_add)(struct m0_net_buffer *nb); /* ntm_mutex; the buffer is queued already */
    void (*xo_buf_del)(struct m0_net_buffer *nb); /* ntm_mutex */
    /* May be NULL, all four. ntm_mutex, which the second one releases meanwhile. */
    int (*xo_bev_deliver_sync)(struct m0_net_transfer_mc *tm);
    void (*xo_bev_deliver_all)(struct m0_net_transfer_mc *tm);
    bool (*xo_bev_pending)(struct m0_net_transfer_mc *tm);
    void (*xo_bev_notify)(struct m0_net_transfer_mc *tm, struct m0_chan *chan);
    m0_bcount_t (*xo_get_max_buffer_size)(const struct m0_net_domain *dom);
    m0_bcount_t (*xo_get_max_buffer_segment_size)(const struct m0_net_domain *dom);
    int32_t (*xo_get_max_buffer_segments)(const struct m0_net_domain *dom);
    m0_bcount_t (*xo_get_max_buffer_desc_size)(const struct m0_net_domain *dom);
    /* Advice to the layer above; may be NULL. */
    m0_bcount_t (*xo_rpc_max_seg_size)(struct m0_net_domain *ndom);
    uint32_t (*xo_rpc_max_segs_nr)(struct m0_net_domain *ndom);
    m0_bcount_t (*xo_rpc_max_msg_size)(struct m0_net_domain *ndom, m0_bcount_t rpc_size);
    uint32_t (*xo_rpc_max_recv_msgs)(struct m0_net_domain *ndom, m0_bcount_t rpc_size);
};
/* For transports that have no better advice. */
m0_bcount_t default_xo_rpc_max_seg_size(struct m0_net_domain *ndom);
uint32_t default_xo_rpc_max_segs_nr(struct m0_net_domain *ndom);
m0_bcount_t default_xo_rpc_max_msg_size(struct m0_net_domain *ndom, m0_bcount_t rpc_size);
uint32_t default_xo_rpc_max_recv_msgs(struct m0_net_domain *ndom, m0_bcount_t rpc_size);

/* The table of transports of the calling process. pre: it is not (is) in it, and there is room. */
void m0_net_xprt_register(const struct m0_net_xprt *xprt);
void m0_net_xprt_deregister(const struct m0_net_xprt *xprt);
void m0_net_xprt_default_set(const struct m0_net_xprt *xprt);
struct m0_net_xprt *m0_net_xprt_default_get(void); /* NULL: there is none */
struct m0_net_xprt **m0_net_all_xprt_get(void);
int m0_net_xprt_nr(void);
bool m0_net_check_xprt(const struct m0_net_xprt *xprt); /* whether it is in the table */
bool m0_net_xprt_is_registered(const struct m0_net_xprt *xprt); /* the same */
void m0_net_print_xprt(void);

/* ---- domains --------------------------------------------------------------------------------- */

int m0_net_init(void); /* the layer in the calling process; 0 */
void m0_net_fini(void);

struct m0_net_domain {
    struct m0_mutex nd_mutex;
    struct m0_list nd_registered_bufs; /* by nb_dom_linkage */
    struct m0_list nd_tms; /* by ntm_dom_linkage */
    void *nd_xprt_private;
    const struct m0_net_xprt *nd_xprt; /* NULL: not initialised */
    struct m0_tlink nd_app_linkage; /* of the application */
    uint32_t nd_get_max_buffer_segments; /* limits, read once */
    m0_bcount_t nd_get_max_buffer_segment_size;
    m0_bcount_t nd_get_max_buffer_size;
    m0_bcount_t nd_get_max_buffer_desc_size;
    uint64_t nd_magix;
};

/* pre: nd_xprt is NULL. Afterwards, too, if it fails. */
int m0_net_domain_init(struct m0_net_domain *dom, const struct m0_net_xprt *xprt);
void m0_net_domain_fini(struct m0_net_domain *dom); /* pre: no machines, no registered buffers */
/* Limits; they take no lock. */
m0_bcount_t m0_net_domain_get_max_buffer_size(struct m0_net_domain *dom);
m0_bcount_t m0_net_domain_get_max_buffer_segment_size(struct m0_net_domain *dom);
int32_t m0_net_domain_get_max_buffer_segments(struct m0_net_domain *dom);
m0_bcount_t m0_net_domain_get_max_buffer_desc_size(struct m0_net_domain *dom);

/* ---- end points ------------------------------------------------------------------------------ */

struct m0_net_end_point {
    uint64_t nep_magix;
    struct m0_ref nep_ref;
    struct m0_net_transfer_mc *nep_tm;
    struct m0_tlink nep_tm_linkage; /* in ntm_end_points */
    const char *nep_addr; /* canonical */
    void *nep_xprt_pvt;
};
M0_TL_DESCR_DECLARE(m0_nep, M0_EXTERN); /* end points of a machine */
M0_TL_DECLARE(m0_nep, M0_INTERNAL, struct m0_net_end_point);

/* The syntax of an address of the LNet transport without a wildcard. */
bool m0_net_endpoint_is_valid(const char *ep);
/* One reference to the end point with this address, new or known. pre: STARTED */
int m0_net_end_point_create(struct m0_net_end_point **epp, struct m0_net_transfer_mc *tm,
                            const char *addr);
void m0_net_end_point_get(struct m0_net_end_point *ep); /* takes no lock */
void m0_net_end_point_put(struct m0_net_end_point *ep); /* takes ntm_mutex */

/* ---- transfer machines ----------------------------------------------------------------------- */

struct m0_net_tm_event {
    enum m0_net_tm_ev_type nte_type;
    struct m0_net_transfer_mc *nte_tm;
    m0_time_t nte_time;
    int32_t nte_status; /* 0 or a negative errno; free in DIAGNOSTIC */
    enum m0_net_tm_state nte_next_state; /* STATE_CHANGE */
    struct m0_net_end_point *nte_ep; /* its own, when the next state is STARTED */
    void *nte_payload; /* DIAGNOSTIC */
};
struct m0_net_tm_callbacks {
    void (*ntc_event_cb)(const struct m0_net_tm_event *ev);
};

struct m0_net_qstats {
    uint64_t nqs_num_adds;
    uint64_t nqs_num_dels;
    uint64_t nqs_num_s_events; /* that succeeded */
    uint64_t nqs_num_f_events; /* that failed */
    m0_time_t nqs_time_in_queue;
    uint64_t nqs_total_bytes;
    uint64_t nqs_max_bytes;
};

#define ntm_mutex ntm_group.s_lock
struct m0_net_transfer_mc {
    const struct m0_net_tm_callbacks *ntm_callbacks;
    enum m0_net_tm_state ntm_state;
    struct m0_sm_group ntm_group;
    uint32_t ntm_callback_counter; /* callbacks that run */
    /* The last thread that runs a buffer's callback; kept where M0_EXPENSIVE_CHECKS is 1. */
    struct port_thread *ntm_callback_thread;
    struct m0_net_domain *ntm_dom;
    struct m0_tl ntm_end_points;
    struct m0_net_end_point *ntm_ep; /* its own; from STARTED on */
    struct m0_chan ntm_chan; /* announces when the last callback has ended; guard: ntm_mutex */
    struct m0_tl ntm_q[M0_NET_QT_NR];
    struct m0_net_qstats ntm_qstats[M0_NET_QT_NR];
    struct m0_list_link ntm_dom_linkage;
    void *ntm_xprt_private;
    bool ntm_bev_auto_deliver;
    struct m0_net_buffer_pool *ntm_recv_pool;
    const struct m0_net_buffer_callbacks *ntm_recv_pool_callbacks;
    uint32_t ntm_recv_queue_min_length;
    struct m0_atomic64 ntm_recv_queue_deficit;
    uint32_t ntm_pool_colour;
    m0_bcount_t ntm_recv_queue_min_recv_size;
    uint32_t ntm_recv_queue_max_recv_msgs;
};

/* pre: the structure is zeroed but for ntm_callbacks; nd_mutex is taken. */
int m0_net_tm_init(struct m0_net_transfer_mc *tm, struct m0_net_domain *dom);
/* Waits for callbacks. pre: not started, no queued buffers, no foreign end points. */
void m0_net_tm_fini(struct m0_net_transfer_mc *tm);
/* Its callbacks run on these processors only; the set is copied. pre: INITIALIZED */
int m0_net_tm_confine(struct m0_net_transfer_mc *tm, const struct m0_bitmap *processors);
/* 0: an event follows, STARTED or FAILED; otherwise the machine is FAILED. pre: INITIALIZED */
int m0_net_tm_start(struct m0_net_transfer_mc *tm, const char *addr);
/* 0: the event STOPPED follows. abort: queued operations are cancelled. */
int m0_net_tm_stop(struct m0_net_transfer_mc *tm, bool abort);
/* Of a queue, or of all six (M0_NET_QT_NR); reset: and clears them in the same step. */
int m0_net_tm_stats_get(struct m0_net_transfer_mc *tm, enum m0_net_queue_type qtype,
                        struct m0_net_qstats *qs, bool reset);
int m0_net__tm_stats_get(struct m0_net_transfer_mc *tm, enum m0_net_queue_type qtype,
                         struct m0_net_qstats *qs, bool reset); /* with ntm_mutex held */
void m0_net_tm_event_post(const struct m0_net_tm_event *ev); /* of transports */

/* A machine with a pool keeps its receive queue at a length. */
int m0_net_tm_pool_attach(struct m0_net_transfer_mc *tm, struct m0_net_buffer_pool *bufpool,
                          const struct m0_net_buffer_callbacks *callbacks,
                          m0_bcount_t min_recv_size, uint32_t max_recv_msgs,
                          uint32_t min_recv_queue_len);
void m0_net_tm_pool_length_set(struct m0_net_transfer_mc *tm, uint32_t len);
void m0_net_tm_colour_set(struct m0_net_transfer_mc *tm, uint32_t colour);
uint32_t m0_net_tm_colour_get(struct m0_net_transfer_mc *tm);
/* For nbpo_not_empty: machines that miss buffers get some, soon. pre: the pool's lock is held */
void m0_net_domain_buffer_pool_not_empty(struct m0_net_buffer_pool *pool);

/* The application delivers events itself. The first: pre: INITIALIZED; the others: STARTED or
 * STOPPING. */
int m0_net_buffer_event_deliver_synchronously(struct m0_net_transfer_mc *tm);
bool m0_net_buffer_event_pending(struct m0_net_transfer_mc *tm);
void m0_net_buffer_event_deliver_all(struct m0_net_transfer_mc *tm);
/*
 * The channel is signalled once when an event is pending; a later call replaces it. NULL takes it
 * back: it is not used any more when the function has returned. Then pre: its guard is not held.
 */
void m0_net_buffer_event_notify(struct m0_net_transfer_mc *tm, struct m0_chan *chan);

/* ---- buffers --------------------------------------------------------------------------------- */

struct m0_net_buffer_event {
    struct m0_net_buffer *nbe_buffer;
    m0_time_t nbe_time;
    int32_t nbe_status; /* 0 or a negative errno */
    m0_bcount_t nbe_length; /* of what was received */
    m0_bindex_t nbe_offset; /* of it in the buffer */
    struct m0_net_end_point *nbe_ep; /* the sender of a message; released after the callback */
};
typedef void (*m0_net_buffer_cb_proc_t)(const struct m0_net_buffer_event *ev);
struct m0_net_buffer_callbacks {
    m0_net_buffer_cb_proc_t nbc_cb[M0_NET_QT_NR];
};

struct m0_net_buffer {
    struct m0_bufvec nb_buffer;
    m0_bcount_t nb_length; /* to send; never written */
    m0_bindex_t nb_offset; /* 0 */
    struct m0_net_domain *nb_dom;
    struct m0_net_transfer_mc *nb_tm;
    enum m0_net_queue_type nb_qtype;
    const struct m0_net_buffer_callbacks *nb_callbacks;
    m0_time_t nb_timeout; /* absolute */
    m0_time_t nb_add_time;
    struct m0_net_buf_desc nb_desc; /* its memory is the application's */
    struct m0_net_end_point *nb_ep; /* where a message goes */
    struct m0_tlink nb_tm_linkage; /* in a queue, or in a pool's colour */
    struct m0_tlink nb_lru; /* in a pool */
    struct m0_tlink nb_extern_linkage; /* of the application */
    uint64_t nb_magic;
    struct m0_list_link nb_dom_linkage;
    void *nb_xprt_private;
    void *nb_app_private;
    uint64_t nb_flags;
    m0_bcount_t nb_min_receive_size; /* a buffer with less room left is taken off the queue */
    uint32_t nb_max_receive_msgs;
    struct m0_net_buffer_pool *nb_pool;
    uint32_t nb_msgs_received;
};
M0_TL_DESCR_DECLARE(m0_net_tm, M0_EXTERN); /* buffers of a queue, or free ones of a colour */
M0_TL_DECLARE(m0_net_tm, M0_INTERNAL, struct m0_net_buffer);
M0_TL_DESCR_DECLARE(m0_net_pool, M0_EXTERN); /* all free buffers of a pool */
M0_TL_DECLARE(m0_net_pool, M0_INTERNAL, struct m0_net_buffer);

int m0_net_buffer_register(struct m0_net_buffer *buf, struct m0_net_domain *dom);
void m0_net_buffer_deregister(struct m0_net_buffer *buf, struct m0_net_domain *dom);
/* 0: it is queued, and a callback follows. -ETIME: its time is over already. pre: STARTED */
int m0_net_buffer_add(struct m0_net_buffer *buf, struct m0_net_transfer_mc *tm);
/* Asks for the end of the operation, which the callback tells; false: it has ended. */
bool m0_net_buffer_del(struct m0_net_buffer *buf, struct m0_net_transfer_mc *tm);
void m0_net_buffer_event_post(const struct m0_net_buffer_event *ev); /* of transports */

int m0_net_desc_copy(const struct m0_net_buf_desc *from, struct m0_net_buf_desc *to);
void m0_net_desc_free(struct m0_net_buf_desc *desc); /* safe on one that is empty */

#ifdef __cplusplus
}
#endif

#endif
