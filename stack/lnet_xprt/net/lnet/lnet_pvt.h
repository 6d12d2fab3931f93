/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Functions of the xo layer that its files share: statics of one compilation unit. */
#ifndef JACQUARD_M0_LNET_PVT_H
#define JACQUARD_M0_LNET_PVT_H

#include "net/lnet/lnet_core.h"
#include "net/lnet/lnet_xo.h"

enum {
    M0_NET_LNET_EVT_SHORT_WAIT_SECS = 1,
    M0_NET_LNET_EVT_LONG_WAIT_SECS = 10,
    M0_NET_LNET_BUF_TIMEOUT_TICK_SECS = 15,
};

/* Debug levels of _debug_ in a domain, a TM, a buffer. */
#ifndef NLX_DEBUG
#define NLXDBG(ptr, level, statement) ((void)0)
#define NLXDBGP(ptr, level, ...) ((void)0)
#define NLXDBGnr(ptr, level, statement) ((void)0)
#define NLXDBGPnr(ptr, level, ...) ((void)0)
#define NLXDBGnl(ptr, level, statement) ((void)0)
#define NLXDBGPnl(ptr, level, ...) ((void)0)
#define NLXP(...) ((void)0)
#endif

static bool nlx_dom_invariant(const struct m0_net_domain *dom);
static bool nlx_ep_invariant(const struct m0_net_end_point *ep);
static bool nlx_buffer_invariant(const struct m0_net_buffer *nb);
static bool nlx_tm_invariant(const struct m0_net_transfer_mc *tm);

/* ntm_mutex is held: an end point with one more reference. -ENOMEM. */
static int nlx_ep_create(struct m0_net_end_point **epp, struct m0_net_transfer_mc *tm,
                         const struct nlx_core_ep_addr *cepa);
static void nlx_tm_ev_worker(struct m0_net_transfer_mc *tm);
static int nlx_tm_timeout_buffers(struct m0_net_transfer_mc *tm, m0_time_t now);
static m0_time_t nlx_tm_get_buffer_timeout_tick(const struct m0_net_transfer_mc *tm);

static int nlx_xo_core_bev_to_net_bev(struct m0_net_transfer_mc *tm,
                                      const struct nlx_core_buffer_event *cbev,
                                      struct m0_net_buffer_event *nbev);
/* ntm_mutex is held, and is released around callbacks. */
static void nlx_xo_bev_deliver_all(struct m0_net_transfer_mc *tm);
static int nlx_xo__nbd_allocate(struct m0_net_transfer_mc *tm, const struct nlx_core_buf_desc *cbd,
                                struct m0_net_buf_desc *nbd);
static int nlx_xo__nbd_recover(struct m0_net_transfer_mc *tm, const struct m0_net_buf_desc *nbd,
                               struct nlx_core_buf_desc *cbd);

static struct nlx_xo_interceptable_subs nlx_xo_iv;

#endif
