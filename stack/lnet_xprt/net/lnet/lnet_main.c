/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The xo layer as one compilation unit, in which everything below the transport's vector is static.
 * Each flavour compiles it once: linux_kernel/klnet_main.c does for the kernel, on
 * linux_kernel/klnet_xcore.c. Tests include it to reach the statics.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/assert.h"
#include "lib/errno.h"
#include "lib/finject.h"
#include "lib/memory.h"
#include "lib/misc.h"
#include "net/lnet/lnet_pvt.h"
#include "net/net_internal.h"

#ifdef M0_LNET_KERNEL
#define NLX_XPRT m0_net_lnet_kxprt
#define NLX_INIT m0_net_lnet_kinit
#define NLX_FINI m0_net_lnet_kfini
#else
#define NLX_XPRT m0_net_lnet_xprt
#define NLX_INIT m0_net_lnet_init
#define NLX_FINI m0_net_lnet_fini
#endif

static const struct nlx_xo_flavour xo_flavour;

/* The text of the layer. */
#include "net/lnet/bev_cqueue.c"
#include "net/lnet/lnet_core.c"
#ifdef M0_LNET_KERNEL
#include "net/lnet/linux_kernel/klnet_xcore.c"
#else
#include "net/lnet/ulnet_core.c"
#endif
#include "net/lnet/lnet_ep.c"
#include "net/lnet/lnet_tm.c"
#include "net/lnet/lnet_xo.c"

static struct nlx_xo_interceptable_subs nlx_xo_iv = {
    ._nlx_core_buf_event_wait = nlx_core_buf_event_wait,
    ._nlx_ep_create = nlx_ep_create,
    ._nlx_tm_get_buffer_timeout_tick = nlx_tm_get_buffer_timeout_tick,
    ._nlx_tm_timeout_buffers = nlx_tm_timeout_buffers,
};

static const struct m0_net_xprt_ops nlx_xo_xprt_ops = {
    .xo_dom_init = nlx_xo_dom_init,
    .xo_dom_fini = nlx_xo_dom_fini,
    .xo_tm_init = nlx_xo_tm_init,
    .xo_tm_confine = nlx_xo_tm_confine,
    .xo_tm_start = nlx_xo_tm_start,
    .xo_tm_stop = nlx_xo_tm_stop,
    .xo_tm_fini = nlx_xo_tm_fini,
    .xo_end_point_create = nlx_xo_end_point_create,
    .xo_buf_register = nlx_xo_buf_register,
    .xo_buf_deregister = nlx_xo_buf_deregister,
    .xo_buf_add = nlx_xo_buf_add,
    .xo_buf_del = nlx_xo_buf_del,
    .xo_bev_deliver_sync = nlx_xo_bev_deliver_sync,
    .xo_bev_deliver_all = nlx_xo_bev_deliver_all,
    .xo_bev_pending = nlx_xo_bev_pending,
    .xo_bev_notify = nlx_xo_bev_notify,
    .xo_get_max_buffer_size = nlx_xo_get_max_buffer_size,
    .xo_get_max_buffer_segment_size = nlx_xo_get_max_buffer_segment_size,
    .xo_get_max_buffer_segments = nlx_xo_get_max_buffer_segments,
    .xo_get_max_buffer_desc_size = nlx_xo_get_max_buffer_desc_size,
    .xo_rpc_max_seg_size = nlx_xo_rpc_max_seg_size,
    .xo_rpc_max_segs_nr = nlx_xo_rpc_max_segs_nr,
    .xo_rpc_max_msg_size = nlx_xo_rpc_max_msg_size,
    .xo_rpc_max_recv_msgs = nlx_xo_rpc_max_recv_msgs,
};

const struct m0_net_xprt NLX_XPRT = {.nx_name = "lnet", .nx_ops = &nlx_xo_xprt_ops};
#ifndef M0_LNET_KERNEL
extern const struct m0_net_xprt m0_lnet_xprt __attribute__((alias("m0_net_lnet_xprt")));
#endif

int NLX_INIT(void)
{
    int rc = nlx_core_init();

    if (rc != 0 || m0_net_check_xprt(&NLX_XPRT))
        return rc;
    m0_net_xprt_register(&NLX_XPRT);
    if (m0_net_xprt_default_get() == NULL)
        m0_net_xprt_default_set(&NLX_XPRT);
    return 0;
}

void NLX_FINI(void)
{
    if (!m0_net_check_xprt(&NLX_XPRT))
        return;
    m0_net_xprt_deregister(&NLX_XPRT);
    nlx_core_fini();
}

/* ---- what lnet_api.c needs of this flavour --------------------------------------------------- */

static int xo_ifaces_get(struct nlx_xo_domain *dp, char ***addrs)
{
    return nlx_core_nidstrs_get(&dp->xd_core, addrs);
}

static void xo_ifaces_put(struct nlx_xo_domain *dp, char ***addrs)
{
    nlx_core_nidstrs_put(&dp->xd_core, addrs);
}

static void xo_dom_set_debug(struct nlx_xo_domain *dp, unsigned dbg)
{
    dp->_debug_ = dbg;
    nlx_core_dom_set_debug(&dp->xd_core, dbg);
}

static void xo_tm_set_debug(struct nlx_xo_transfer_mc *tp, unsigned dbg)
{
    tp->_debug_ = dbg;
    nlx_core_tm_set_debug(&tp->xtm_core, dbg);
}

static void xo_dom_set_batched(struct nlx_xo_domain *dp, bool batched)
{
    nlx_core_dom_set_batched(&dp->xd_core, batched);
}

static void xo_batch(struct nlx_xo_transfer_mc *tp, bool begin)
{
    struct nlx_core_domain *cd = &xo_dom(tp->xtm_tm->ntm_dom)->xd_core;

    m0_mutex_lock(&tp->xtm_tm->ntm_mutex);
    if (begin)
        nlx_core_batch_begin(cd, &tp->xtm_core);
    else
        nlx_core_batch_end(cd, &tp->xtm_core);
    m0_mutex_unlock(&tp->xtm_tm->ntm_mutex);
}

static const struct nlx_xo_flavour xo_flavour = {
    .xf_xprt = &NLX_XPRT,
    .xf_ifaces_get = xo_ifaces_get,
    .xf_ifaces_put = xo_ifaces_put,
    .xf_dom_set_debug = xo_dom_set_debug,
    .xf_tm_set_debug = xo_tm_set_debug,
    .xf_dom_set_batched = xo_dom_set_batched,
    .xf_batch = xo_batch,
};
