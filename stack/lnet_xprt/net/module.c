/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The network layer and its transports as modules. */
#include "net/module.h"

#include "lib/errno.h"
#include "lib/memory.h"
#include "lib/string.h"
#include "module/instance.h"
#include "net/bulk_mem.h"

static const char *const names[] = {
    [M0_NET_XPRT_LNET] = "lnet",
    [M0_NET_XPRT_BULKMEM] = "bulk-mem",
    [M0_NET_XPRT_SOCK] = "sock",
    [M0_NET_XPRT_LIBFABRIC] = "libfab",
};
M0_BASSERT(ARRAY_SIZE(names) == M0_NET_XPRT_NR);

/* This library does not contain the transport over LNet. */
static struct m0_net_xprt *registered(const char *name)
{
    struct m0_net_xprt **all = m0_net_all_xprt_get();
    int i;

    for (i = 0; i < m0_net_xprt_nr(); i++)
        if (m0_streq(all[i]->nx_name, name))
            return all[i];
    return NULL;
}

static int net_enter(struct m0_module *module)
{
    struct m0_net_module *net = container_of(module, struct m0_net_module, n_module);
    int i;

    for (i = 0; i < M0_NET_XPRT_NR; i++)
        net->n_xprts[i].nx_xprt = registered(names[i]);
    net->n_xprts[M0_NET_XPRT_BULKMEM].nx_xprt = (struct m0_net_xprt *)&m0_net_bulk_mem_xprt;
    return 0;
}

static int domain_enter(struct m0_module *module)
{
    struct m0_net_xprt_module *xprt = container_of(module, struct m0_net_xprt_module, nx_module);

    return xprt->nx_xprt == NULL ? -EPROTONOSUPPORT
                                 : m0_net_domain_init(&xprt->nx_domain, xprt->nx_xprt);
}

static void domain_leave(struct m0_module *module)
{
    m0_net_domain_fini(&container_of(module, struct m0_net_xprt_module, nx_module)->nx_domain);
}

static const struct m0_modlev net_levels[] = {
    [M0_LEVEL_NET] = {.ml_name = "M0_LEVEL_NET", .ml_enter = net_enter},
};
static const struct m0_modlev domain_levels[] = {
    [M0_LEVEL_NET_DOMAIN] = {.ml_name = "M0_LEVEL_NET_DOMAIN",
                             .ml_enter = domain_enter,
                             .ml_leave = domain_leave},
};

static struct m0_module *create(struct m0 *instance)
{
    struct m0_net_module *net;
    int i;

    M0_ALLOC_PTR(net);
    if (net == NULL)
        return NULL;
    m0_module_setup(&net->n_module, m0_net_module_type.mt_name, net_levels, ARRAY_SIZE(net_levels),
                    instance);
    for (i = 0; i < M0_NET_XPRT_NR; i++) {
        struct m0_module *module = &net->n_xprts[i].nx_module;

        m0_module_setup(module, names[i], domain_levels, ARRAY_SIZE(domain_levels), instance);
        m0_module_dep_add(module, M0_LEVEL_NET_DOMAIN, &net->n_module, M0_LEVEL_NET);
    }
    instance->i_moddata[M0_MODULE_NET] = net;
    return &net->n_module;
}

const struct m0_module_type m0_net_module_type = {.mt_name = "m0_net", .mt_create = create};
