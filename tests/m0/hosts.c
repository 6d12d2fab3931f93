/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A kernel for each node. */
#include "hosts.h"

struct nlx_kcore_host hosts[WORLD_NODES];
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

void hosts_begin(void)
{
    unsigned i;

    subs = nlx_kcore_iv;
    for (i = 0; i < WORLD_NODES; i++)
        nlx_kcore_host_init(&hosts[i], &ops, &hosts[i]);
    nlx_kcore_host_set_find(find);
}

void hosts_end(void)
{
    unsigned i;

    nlx_kcore_iv = subs;
    for (i = 0; i < WORLD_NODES; i++) {
        assert_int_equal(hosts[i].kh_internal_errors, 0);
        nlx_kcore_host_fini(&hosts[i]);
    }
    nlx_kcore_host_set_find(NULL);
}
