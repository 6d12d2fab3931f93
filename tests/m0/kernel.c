/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The kernel flavour under test. */
#include "hosts.h"

const struct m0_net_xprt *const rig_xprt = &m0_net_lnet_kxprt;
const enum rig_flavour rig_flavour = RIG_KERNEL;

void rig_flavour_begin(void)
{
    hosts_begin();
}

void rig_flavour_end(void)
{
    hosts_end();
}

void rig_domain(struct m0_net_domain *dom)
{
    (void)dom;
}
