/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The private objects of the xo layer, behind the nd_, ntm_, nb_ and nep_ private pointers. */
#ifndef JACQUARD_M0_LNET_XO_H
#define JACQUARD_M0_LNET_XO_H

#include "lib/bitmap.h"
#include "lib/chan.h"
#include "lib/cond.h"
#include "lib/thread.h"
#include "net/lnet/lnet.h"
#include "net/lnet/lnet_core_types.h"

struct nlx_xo_flavour;

/* The end points of a TM are in a hash table. Those that nobody refers to stay there for the next
 * message of the same sender, up to NLX_EP_IDLE, so that a message allocates nothing. */
enum { NLX_EP_BUCKETS = 64, NLX_EP_IDLE = 256 };

struct nlx_xo_domain {
    struct m0_net_domain *xd_dom;
    const struct nlx_xo_flavour *xd_flavour;
    m0_time_t xd_timeout_tick;
    struct nlx_core_domain xd_core;
    unsigned _debug_;
};

struct nlx_xo_transfer_mc {
    struct m0_net_transfer_mc *xtm_tm;
    struct m0_bitmap xtm_processors; /* b_nr 0: any */
    struct m0_thread xtm_ev_thread;
    bool xtm_ev_started; /* the thread exists */
    bool xtm_core_started;
    int xtm_lost; /* the code with which everything ends since the core has gone; 0: it is there */
    struct m0_cond xtm_ev_cond; /* guard: ntm_mutex */
    struct m0_chan *xtm_ev_chan; /* whom m0_net_buffer_event_notify asked for */
    bool xtm_ev_signals; /* the event thread signals a channel, without ntm_mutex */
    struct nlx_xo_ep *xtm_eps[NLX_EP_BUCKETS]; /* by hash of the address: in use, or idle */
    struct m0_list xtm_idle_eps; /* in the order in which they became idle */
    unsigned xtm_idle_ep_nr;
    unsigned _debug_;
    struct nlx_core_transfer_mc xtm_core __attribute__((aligned(128)));
};

struct nlx_xo_buffer {
    struct m0_net_buffer *xb_nb;
    m0_bcount_t xb_size; /* of all segments */
    m0_bcount_t xb_filled; /* by messages since it was added */
    uint32_t xb_messages; /* these */
    struct nlx_core_buffer xb_core;
    unsigned _debug_;
};

struct nlx_xo_ep {
    uint64_t xe_magic;
    struct m0_net_end_point xe_ep;
    struct nlx_xo_ep *xe_next; /* of the same hash */
    struct m0_list_link xe_idle; /* in no list: it has references and is in ntm_end_points */
    struct nlx_core_ep_addr xe_core;
    char xe_addr[M0_NET_LNET_XEP_ADDR_LEN];
};

/* Objects of the core that are inside of these do not cross a page. */
_Static_assert(sizeof(struct nlx_xo_domain) <= 4096, "a page");
_Static_assert(sizeof(struct nlx_xo_transfer_mc) <= 2048, "half a page");
_Static_assert(sizeof(struct nlx_xo_buffer) <= 4096, "a page");

/* What the public functions of lnet.h need of the flavour that a domain belongs to. */
struct nlx_xo_flavour {
    const struct m0_net_xprt *xf_xprt;
    int (*xf_ifaces_get)(struct nlx_xo_domain *dp, char ***addrs);
    void (*xf_ifaces_put)(struct nlx_xo_domain *dp, char ***addrs);
    void (*xf_dom_set_debug)(struct nlx_xo_domain *dp, unsigned dbg);
    void (*xf_tm_set_debug)(struct nlx_xo_transfer_mc *tp, unsigned dbg);
    void (*xf_dom_set_batched)(struct nlx_xo_domain *dp, bool batched);
    void (*xf_batch)(struct nlx_xo_transfer_mc *tp, bool begin);
};

/* What the xo layer calls through a vector, so that tests can intercept it: nlx_xo_iv. */
struct nlx_xo_interceptable_subs {
    int (*_nlx_core_buf_event_wait)(struct nlx_core_domain *cd, struct nlx_core_transfer_mc *ctm,
                                    m0_time_t timeout);
    int (*_nlx_ep_create)(struct m0_net_end_point **epp, struct m0_net_transfer_mc *tm,
                          const struct nlx_core_ep_addr *cepa);
    m0_time_t (*_nlx_tm_get_buffer_timeout_tick)(const struct m0_net_transfer_mc *tm);
    int (*_nlx_tm_timeout_buffers)(struct m0_net_transfer_mc *tm, m0_time_t now);
};

#endif
