/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* End points, part of lnet_main.c. All of it runs with ntm_mutex held. */
static struct nlx_xo_ep *xo_ep_of(const struct m0_net_end_point *ep)
{
    return container_of(ep, struct nlx_xo_ep, xe_ep);
}

static bool nlx_ep_invariant(const struct m0_net_end_point *ep)
{
    const struct nlx_xo_ep *xep = xo_ep_of(ep);

    return xep->xe_magic == M0_NET_LNET_XE_MAGIC && ep->nep_xprt_pvt == xep &&
           ep->nep_addr == xep->xe_addr;
}

static struct nlx_xo_ep **xo_ep_slot(struct nlx_xo_transfer_mc *tp,
                                     const struct nlx_core_ep_addr *cepa)
{
    uint64_t hash = cepa->cepa_nid ^ ((uint64_t)cepa->cepa_tmid << 20) ^
                    ((uint64_t)cepa->cepa_portal << 40) ^ cepa->cepa_pid;

    hash *= 0x9e3779b97f4a7c15ull;
    return &tp->xtm_eps[hash >> 58];
}
_Static_assert(NLX_EP_CACHE == 1 << (64 - 58), "the hash has as many values as there are slots");

/* The last reference has gone. */
static void xo_ep_release(struct m0_ref *ref)
{
    struct m0_net_end_point *ep = container_of(ref, struct m0_net_end_point, nep_ref);
    struct nlx_xo_ep *xep = xo_ep_of(ep);
    struct nlx_xo_transfer_mc *tp = ep->nep_tm->ntm_xprt_private;

    M0_PRE(nlx_ep_invariant(ep));
    m0_nep_tlink_del_fini(ep);
    xep->xe_live = false;
    if (*xo_ep_slot(tp, &xep->xe_core) != xep) {
        xep->xe_magic = 0;
        m0_free(xep);
    }
}

/* The cache loses an entry, whose slot another end point gets. */
static void xo_ep_forget(struct nlx_xo_ep **slot)
{
    if (*slot != NULL && !(*slot)->xe_live)
        m0_free(*slot);
    *slot = NULL;
}

static void xo_ep_cache_fini(struct nlx_xo_transfer_mc *tp)
{
    unsigned i;

    for (i = 0; i < NLX_EP_CACHE; i++)
        xo_ep_forget(&tp->xtm_eps[i]);
}

static struct nlx_xo_ep *xo_ep_new(struct m0_net_transfer_mc *tm,
                                   const struct nlx_core_ep_addr *cepa)
{
    struct nlx_xo_domain *dp = tm->ntm_dom->nd_xprt_private;
    struct nlx_xo_ep *xep;

    if (M0_FI_ENABLED("fail"))
        return NULL;
    M0_ALLOC_PTR(xep);
    if (xep == NULL)
        return NULL;
    xep->xe_magic = M0_NET_LNET_XE_MAGIC;
    xep->xe_core = *cepa;
    xep->xe_ep.nep_tm = tm;
    xep->xe_ep.nep_xprt_pvt = xep;
    xep->xe_ep.nep_addr = xep->xe_addr;
    nlx_core_ep_addr_encode(&dp->xd_core, cepa, xep->xe_addr);
    return xep;
}

static struct nlx_xo_ep *xo_ep_search(struct m0_net_transfer_mc *tm,
                                      const struct nlx_core_ep_addr *cepa)
{
    struct m0_net_end_point *ep;

    m0_tl_for(m0_nep, &tm->ntm_end_points, ep)
    {
        if (nlx_core_ep_eq(&xo_ep_of(ep)->xe_core, cepa))
            return xo_ep_of(ep);
    }
    m0_tl_endfor;
    return NULL;
}

static int nlx_ep_create(struct m0_net_end_point **epp, struct m0_net_transfer_mc *tm,
                         const struct nlx_core_ep_addr *cepa)
{
    struct nlx_xo_ep **slot = xo_ep_slot(tm->ntm_xprt_private, cepa), *xep = *slot;

    M0_PRE(m0_mutex_is_locked(&tm->ntm_mutex));
    if (xep == NULL || !nlx_core_ep_eq(&xep->xe_core, cepa)) {
        xep = xo_ep_search(tm, cepa);
        if (xep == NULL)
            xep = xo_ep_new(tm, cepa);
        if (xep == NULL)
            return -ENOMEM;
        xo_ep_forget(slot);
        *slot = xep;
    }
    if (xep->xe_live) {
        m0_net_end_point_get(&xep->xe_ep);
    } else {
        m0_ref_init(&xep->xe_ep.nep_ref, 1, xo_ep_release);
        m0_nep_tlink_init_at_tail(&xep->xe_ep, &tm->ntm_end_points);
        xep->xe_live = true;
    }
    *epp = &xep->xe_ep;
    return 0;
}
