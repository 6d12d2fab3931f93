/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Each rank verifies what m0_net promises of buffers and their events, with two transfer machines
 * of its own. */
#include <string.h>

#include <m0/edges.h>
#include <m0/kernel.h>
#include "run/workload.h"

enum { PORTAL = 40, ADDRESS = 80, TEXT = 160 };

static const struct workload_arg args[] = {
    {"flavour", ARG_CHOICE, "kernel", NULL, NULL, "kernel|user",
     "where the transport is: in the kernel, or in the process"},
    {NULL},
};

static int run(struct rank *rank)
{
    const struct m0_net_xprt *xprt = m0_net_lnet_begin(
        strcmp(rank_arg_choice(rank, "flavour"), "kernel") == 0 ? M0_LNET_KERNEL_FLAVOUR
                                                                : M0_LNET_USER_FLAVOUR);
    char address[ADDRESS], text[TEXT] = "no memory";
    int rc;

    if (xprt == NULL)
        return rank_fail(rank, "no memory for m0_net");
    rc = m0_net_lnet_address(xprt, address, sizeof(address), PORTAL, -1);
    if (rc != 0)
        return rank_fail(rank, "LNet has no network on node %u: %s", (unsigned)rank_node(rank),
                         strerror(-rc));
    if (m0_edges_run(xprt, address, text, sizeof(text)) != 0)
        return rank_fail(rank, "m0_net: %s", text);
    m0_net_lnet_end();
    return 0;
}

static const struct workload workload = {
    .name = "m0_edges",
    .meaning = "what m0_net promises of lengths, offsets, senders, bulk buffers, and their ends",
    .args = args,
    .ranks_min = 1,
    .main = run,
};
WORKLOAD(workload)
