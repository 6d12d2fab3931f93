/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The kernel flavour under test: a kernel for each node. */
#include "net/lnet/linux_kernel/klnet_core.h"
#include "rig.h"

const struct m0_net_xprt *const rig_xprt = &m0_net_lnet_kxprt;
static struct nlx_kcore_host hosts[WORLD_NODES];
static struct nlx_kcore_interceptable_subs subs;

static void *enter(void *lnet)
{
    int before = port_test_node();

    port_test_set_node((int)((struct nlx_kcore_host *)lnet - hosts));
    return &hosts[before];
}

static void leave(void *before)
{
    port_test_set_node((int)((struct nlx_kcore_host *)before - hosts));
}
static const struct nlx_kcore_host_ops ops = {enter, leave};

static struct nlx_kcore_host *find(void)
{
    return &hosts[port_test_node()];
}

void rig_flavour_begin(void)
{
    unsigned i;

    subs = nlx_kcore_iv;
    for (i = 0; i < WORLD_NODES; i++)
        nlx_kcore_host_init(&hosts[i], &ops, &hosts[i]);
    nlx_kcore_host_set_find(find);
}

void rig_flavour_end(void)
{
    unsigned i;

    nlx_kcore_iv = subs;
    for (i = 0; i < WORLD_NODES; i++) {
        assert_int_equal(hosts[i].kh_internal_errors, 0);
        nlx_kcore_host_fini(&hosts[i]);
    }
    nlx_kcore_host_set_find(NULL);
}
