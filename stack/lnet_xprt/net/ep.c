/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* End points. */
#include "lib/errno.h"
#include "lib/finject.h"
#include "motr/magic.h"
#include "net/net_internal.h"

M0_TL_DESCR_DEFINE(m0_nep, "end points of a machine", , struct m0_net_end_point, nep_tm_linkage,
                   nep_magix, M0_NET_NEP_MAGIC, M0_NET_NEP_HEAD_MAGIC);
M0_TL_DEFINE(m0_nep, , struct m0_net_end_point);

bool m0_net__ep_invariant(const struct m0_net_end_point *ep, const struct m0_net_transfer_mc *tm,
                          bool under_tm_mutex)
{
    return ep != NULL && ep->nep_magix == M0_NET_NEP_MAGIC && ep->nep_tm == tm &&
           ep->nep_addr != NULL && m0_ref_read(&ep->nep_ref) > 0 &&
           (!under_tm_mutex || m0_nep_tlist_contains(&tm->ntm_end_points, ep));
}

int m0_net_end_point_create(struct m0_net_end_point **epp, struct m0_net_transfer_mc *tm,
                            const char *addr)
{
    int rc;

    M0_PRE(epp != NULL);
    if (M0_FI_ENABLED("fake_error"))
        return -EINVAL;
    m0_mutex_lock(&tm->ntm_mutex);
    M0_PRE(m0_net__tm_invariant(tm));
    M0_PRE(tm->ntm_state == M0_NET_TM_STARTED);
    *epp = NULL;
    rc = tm->ntm_dom->nd_xprt->nx_ops->xo_end_point_create(epp, tm, addr);
    M0_POST(equi(rc == 0, *epp != NULL));
    m0_mutex_unlock(&tm->ntm_mutex);
    return rc;
}

void m0_net_end_point_get(struct m0_net_end_point *ep)
{
    M0_PRE(m0_ref_read(&ep->nep_ref) >= 1);
    m0_ref_get(&ep->nep_ref);
}

void m0_net_end_point_put(struct m0_net_end_point *ep)
{
    struct m0_net_transfer_mc *tm = ep->nep_tm;

    M0_PRE(m0_ref_read(&ep->nep_ref) >= 1);
    m0_mutex_lock(&tm->ntm_mutex);
    m0_ref_put(&ep->nep_ref);
    m0_mutex_unlock(&tm->ntm_mutex);
}
