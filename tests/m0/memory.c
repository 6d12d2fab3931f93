/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The transport in memory under test. */
#include "net/bulk_mem.h"
#include "rig.h"

const struct m0_net_xprt *const rig_xprt = &m0_net_bulk_mem_xprt;
const enum rig_flavour rig_flavour = RIG_MEMORY;

void rig_flavour_begin(void)
{
}

void rig_flavour_end(void)
{
}

void rig_domain(struct m0_net_domain *dom)
{
    (void)dom;
}
