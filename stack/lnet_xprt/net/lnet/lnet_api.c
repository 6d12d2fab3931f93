/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The public functions of net/lnet/lnet.h, for both flavours. */
#include <string.h>

#include "lib/memory.h"
#include "net/lnet/lnet_xo.h"

static struct nlx_xo_domain *domain_of(const struct m0_net_domain *dom)
{
    struct nlx_xo_domain *dp = dom->nd_xprt_private;

    M0_PRE(dp != NULL && dom->nd_xprt == dp->xd_flavour->xf_xprt);
    return dp;
}

static struct nlx_xo_transfer_mc *tm_of(const struct m0_net_transfer_mc *tm,
                                        const struct nlx_xo_flavour **flavour)
{
    *flavour = domain_of(tm->ntm_dom)->xd_flavour;
    return tm->ntm_xprt_private;
}

int m0_net_lnet_ep_addr_net_cmp(const char *addr1, const char *addr2)
{
    const char *colon1 = strchr(addr1, ':'), *colon2 = strchr(addr2, ':');
    size_t bytes1, bytes2;
    int order;

    if (colon1 == NULL || colon2 == NULL)
        return -1;
    bytes1 = (size_t)(colon1 - addr1);
    bytes2 = (size_t)(colon2 - addr2);
    order = memcmp(addr1, addr2, bytes1 < bytes2 ? bytes1 : bytes2);
    return order != 0 ? order : (bytes1 > bytes2) - (bytes1 < bytes2);
}

bool m0_net_lnet_portal_is_lustres(uint32_t portal)
{
    /* 1, 2, 4, 6, 7, 8, 10, 12 to 18, 22 to 33 and 63; 13 and 33 only later than version 2.0 */
    static const uint64_t portals = 1ull << 1 | 1ull << 2 | 1ull << 4 | 7ull << 6 | 1ull << 10 |
                                    0x7full << 12 | 0xfffull << 22 | 1ull << 63;

    return portal < M0_NET_LNET_MAX_PORTALS && (portals >> portal & 1) != 0;
}

int m0_net_lnet_ifaces_get(struct m0_net_domain *dom, char ***addrs)
{
    return domain_of(dom)->xd_flavour->xf_ifaces_get(domain_of(dom), addrs);
}

void m0_net_lnet_ifaces_put(struct m0_net_domain *dom, char ***addrs)
{
    domain_of(dom)->xd_flavour->xf_ifaces_put(domain_of(dom), addrs);
    M0_POST(*addrs == NULL);
}

void m0_net_lnet_dom_set_debug(struct m0_net_domain *dom, unsigned dbg)
{
    domain_of(dom)->xd_flavour->xf_dom_set_debug(domain_of(dom), dbg);
}

void m0_net_lnet_tm_set_debug(struct m0_net_transfer_mc *tm, unsigned dbg)
{
    const struct nlx_xo_flavour *flavour;
    struct nlx_xo_transfer_mc *tp = tm_of(tm, &flavour);

    flavour->xf_tm_set_debug(tp, dbg);
}

void m0_net_lnet_dom_set_timeout_tick(struct m0_net_domain *dom, m0_time_t tick)
{
    M0_PRE(tick > 0);
    domain_of(dom)->xd_timeout_tick = tick;
}

void m0_net_lnet_dom_set_batched(struct m0_net_domain *dom, bool batched)
{
    domain_of(dom)->xd_flavour->xf_dom_set_batched(domain_of(dom), batched);
}

void m0_net_lnet_tm_batch_begin(struct m0_net_transfer_mc *tm)
{
    const struct nlx_xo_flavour *flavour;
    struct nlx_xo_transfer_mc *tp = tm_of(tm, &flavour);

    flavour->xf_batch(tp, true);
}

void m0_net_lnet_tm_batch_end(struct m0_net_transfer_mc *tm)
{
    const struct nlx_xo_flavour *flavour;
    struct nlx_xo_transfer_mc *tp = tm_of(tm, &flavour);

    flavour->xf_batch(tp, false);
}
