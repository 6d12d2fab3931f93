/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The user flavour under test, with a driver on each node. RIG_BATCHED: operations are submitted in
 * batches. After each test nothing is open, pinned or mapped.
 */
#include "net/lnet/linux_kernel/klnet_local.h"
#include "net/lnet/ulnet_core.h"
#include "user.h"

const struct m0_net_xprt *const rig_xprt = &m0_net_lnet_xprt;
#ifdef RIG_BATCHED
const enum rig_flavour rig_flavour = RIG_USER_BATCHED;
#else
const enum rig_flavour rig_flavour = RIG_USER;
#endif
struct nlx_dd *drivers[WORLD_NODES];

static struct nlx_dd *find(void)
{
    return drivers[port_test_node()];
}

void rig_flavour_begin(void)
{
    unsigned i;

    hosts_begin();
    for (i = 0; i < WORLD_NODES; i++)
        assert_non_null(drivers[i] = nlx_dd_new(&hosts[i], NULL));
    nlx_dd_local_set(find);
    nlx_ucore_dev_name = "sim:";
}

void driver_is_unused(unsigned node)
{
    struct nlx_dd_stats stats;

    nlx_dd_stats_get(drivers[node], &stats);
    assert_int_equal(stats.ds_files + stats.ds_tms + stats.ds_bufs + stats.ds_bevs, 0);
    assert_int_equal(stats.ds_pins, stats.ds_unpins);
    assert_int_equal(stats.ds_maps, stats.ds_unmaps);
}

void rig_flavour_end(void)
{
    unsigned i;

    for (i = 0; i < WORLD_NODES; i++) {
        driver_is_unused(i);
        nlx_dd_free(drivers[i]);
    }
    hosts_end();
}

void rig_domain(struct m0_net_domain *dom)
{
    m0_net_lnet_dom_set_batched(dom, rig_flavour == RIG_USER_BATCHED);
}
