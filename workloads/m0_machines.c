/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Each rank has many idle transfer machines of m0_net, all at once. */
#include <string.h>

#include <m0/kernel.h>
#include <m0/machines.h>
#include "run/workload.h"

enum { PORTAL = 39, ADDRESS = 80 };

static const struct workload_arg args[] = {
    {"machines", ARG_COUNT, "4096", "1", "4096", NULL, "transfer machines of each rank"},
    {"flavour", ARG_CHOICE, "kernel", NULL, NULL, "kernel|user",
     "where the transport is: in the kernel, or in the process"},
    {NULL},
};

static int hold(struct rank *rank, const struct m0_net_xprt *xprt, const char *address)
{
    uint32_t count = (uint32_t)rank_arg_count(rank, "machines");
    uint64_t began = rank_now();
    struct m0_machines *machines;
    int error;

    machines = m0_machines_open(xprt, address, count, &error);
    if (machines == NULL)
        return rank_fail(rank, "%u machines at %s: %s", count, address, strerror(-error));
    rank_record_latency(rank, "start", rank_now() - began);
    rank_count(rank, "machines", m0_machines_distinct(machines));
    error = m0_machines_close(machines);
    return error == 0 ? 0 : rank_fail(rank, "stopping: %s", strerror(-error));
}

static int run(struct rank *rank)
{
    const struct m0_net_xprt *xprt = m0_net_lnet_begin(
        strcmp(rank_arg_choice(rank, "flavour"), "kernel") == 0 ? M0_LNET_KERNEL_FLAVOUR
                                                                : M0_LNET_USER_FLAVOUR);
    char address[ADDRESS];
    int rc;

    if (xprt == NULL)
        return rank_fail(rank, "no memory for m0_net");
    rc = m0_net_lnet_address(xprt, address, sizeof(address), PORTAL, -1);
    if (rc != 0)
        rc = rank_fail(rank, "LNet has no network on node %u: %s", (unsigned)rank_node(rank),
                       strerror(-rc));
    else
        rc = hold(rank, xprt, address);
    m0_net_lnet_end();
    return rc;
}

static const struct workload workload = {
    .name = "m0_machines",
    .meaning = "m0_net over LNet: many idle transfer machines in each process",
    .metrics = "start (ps), machines: with an address of their own (count)",
    .args = args,
    .ranks_min = 1,
    .main = run,
};
WORKLOAD(workload)
