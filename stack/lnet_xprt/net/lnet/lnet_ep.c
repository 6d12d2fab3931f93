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

static struct nlx_xo_ep **xo_ep_bucket(struct nlx_xo_transfer_mc *tp,
                                       const struct nlx_core_ep_addr *cepa)
{
    uint64_t hash = cepa->cepa_nid ^ ((uint64_t)cepa->cepa_tmid << 20) ^
                    ((uint64_t)cepa->cepa_portal << 40) ^ cepa->cepa_pid;

    hash *= 0x9e3779b97f4a7c15ull;
    return &tp->xtm_eps[hash >> 58];
}
_Static_assert(NLX_EP_BUCKETS == 1 << (64 - 58),
               "the hash has as many values as there are buckets");

static void xo_ep_free(struct nlx_xo_transfer_mc *tp, struct nlx_xo_ep *xep)
{
    struct nlx_xo_ep **link = xo_ep_bucket(tp, &xep->xe_core);

    while (*link != xep)
        link = &(*link)->xe_next;
    *link = xep->xe_next;
    xep->xe_magic = 0;
    m0_free(xep);
}

/* The one that has been idle for the longest time. */
static void xo_ep_forget(struct nlx_xo_transfer_mc *tp)
{
    struct m0_list_link *first = m0_list_first(&tp->xtm_idle_eps);

    m0_list_del(first);
    tp->xtm_idle_ep_nr--;
    xo_ep_free(tp, m0_list_entry(first, struct nlx_xo_ep, xe_idle));
}

/* The last reference has gone. */
static void xo_ep_release(struct m0_ref *ref)
{
    struct m0_net_end_point *ep = container_of(ref, struct m0_net_end_point, nep_ref);
    struct nlx_xo_ep *xep = xo_ep_of(ep);
    struct nlx_xo_transfer_mc *tp = ep->nep_tm->ntm_xprt_private;

    M0_PRE(nlx_ep_invariant(ep));
    m0_nep_tlink_del_fini(ep);
    m0_list_add_tail(&tp->xtm_idle_eps, &xep->xe_idle);
    if (++tp->xtm_idle_ep_nr > NLX_EP_IDLE)
        xo_ep_forget(tp);
}

static void xo_ep_cache_init(struct nlx_xo_transfer_mc *tp)
{
    m0_list_init(&tp->xtm_idle_eps);
}

static void xo_ep_cache_fini(struct nlx_xo_transfer_mc *tp)
{
    while (tp->xtm_idle_ep_nr > 0)
        xo_ep_forget(tp);
    m0_list_fini(&tp->xtm_idle_eps);
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
    m0_list_link_init(&xep->xe_idle);
    xep->xe_ep.nep_tm = tm;
    xep->xe_ep.nep_xprt_pvt = xep;
    xep->xe_ep.nep_addr = xep->xe_addr;
    nlx_core_ep_addr_encode(&dp->xd_core, cepa, xep->xe_addr);
    return xep;
}

static int nlx_ep_create(struct m0_net_end_point **epp, struct m0_net_transfer_mc *tm,
                         const struct nlx_core_ep_addr *cepa)
{
    struct nlx_xo_transfer_mc *tp = tm->ntm_xprt_private;
    struct nlx_xo_ep **bucket = xo_ep_bucket(tp, cepa), *xep = *bucket;

    M0_PRE(m0_mutex_is_locked(&tm->ntm_mutex));
    while (xep != NULL && !nlx_core_ep_eq(&xep->xe_core, cepa))
        xep = xep->xe_next;
    if (xep != NULL && !m0_list_link_is_in(&xep->xe_idle)) {
        m0_net_end_point_get(&xep->xe_ep);
        *epp = &xep->xe_ep;
        return 0;
    }
    if (xep == NULL) {
        xep = xo_ep_new(tm, cepa);
        if (xep == NULL)
            return -ENOMEM;
        xep->xe_next = *bucket;
        *bucket = xep;
    } else {
        m0_list_del(&xep->xe_idle);
        tp->xtm_idle_ep_nr--;
    }
    m0_ref_init(&xep->xe_ep.nep_ref, 1, xo_ep_release);
    m0_nep_tlink_init_at_tail(&xep->xe_ep, &tm->ntm_end_points);
    *epp = &xep->xe_ep;
    return 0;
}
