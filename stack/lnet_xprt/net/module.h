/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The network layer and its transports as modules (module/module.h). */
#ifndef M0_NET_MODULE_H
#define M0_NET_MODULE_H

#include "module/module.h"
#include "net/net.h"

/* The last two are not there: their nx_xprt is NULL. */
enum m0_net_xprt_id {
    M0_NET_XPRT_LNET,
    M0_NET_XPRT_BULKMEM,
    M0_NET_XPRT_SOCK,
    M0_NET_XPRT_LIBFABRIC,
    M0_NET_XPRT_NR
};

enum { M0_LEVEL_NET }; /* the only level of n_module */
/* The only level of nx_module: nx_domain is initialised. It needs M0_LEVEL_NET. -EPROTONOSUPPORT:
 * the transport is not registered with m0_net. */
enum { M0_LEVEL_NET_DOMAIN };

struct m0_net_xprt_module {
    struct m0_module nx_module;
    struct m0_net_xprt *nx_xprt; /* from M0_LEVEL_NET on */
    struct m0_net_domain nx_domain;
};
struct m0_net_module {
    struct m0_module n_module;
    struct m0_net_xprt_module n_xprts[M0_NET_XPRT_NR];
};

/* Its module is n_module; i_moddata[M0_MODULE_NET] of the instance becomes the structure. */
extern const struct m0_module_type m0_net_module_type;

#endif
