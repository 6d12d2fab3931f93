/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The kernel of a host and the processes that use it; see m0/kernel.h. */
#include "m0/kernel.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/memory.h"
#include "net/lnet/linux_kernel/klnet_local.h"
#include "net/lnet/lnet.h"
#include "net/lnet/ulnet_core.h"

struct nlx_kernel {
    struct nlx_kcore_host nk_host;
    struct nlx_dd *nk_driver;
    uint32_t nk_processes; /* that have begun and not ended */
};

static struct nlx_kernel *current(void)
{
    return *port_host_slot(PORT_HOST_M0_LNET);
}

static struct nlx_kcore_host *find_host(void)
{
    struct nlx_kernel *kernel = current();

    return kernel != NULL ? &kernel->nk_host : NULL;
}

static struct nlx_dd *find_driver(void)
{
    const struct nlx_kernel *kernel = current();

    return kernel != NULL ? kernel->nk_driver : NULL;
}

/* A process that was part of the kernel and died in a domain leaves the host as it is. */
static void drop(struct nlx_kernel *kernel)
{
    M0_ASSERT(kernel->nk_processes > 0);
    if (--kernel->nk_processes > 0 || kernel->nk_host.kh_domains > 0)
        return;
    nlx_dd_free(kernel->nk_driver);
    nlx_kcore_host_fini(&kernel->nk_host);
    m0_free(kernel);
    *port_host_slot(PORT_HOST_M0_LNET) = NULL;
}

static void release(uint64_t process)
{
    struct nlx_kernel *kernel = current();

    nlx_dd_kill(kernel->nk_driver, process);
    drop(kernel);
}

static void freeze(uint64_t process)
{
    nlx_dd_freeze(current()->nk_driver, process);
}

static struct nlx_kernel *kernel_new(void)
{
    struct nlx_kernel *kernel;

    M0_ALLOC_PTR(kernel);
    if (kernel == NULL)
        return NULL;
    nlx_kcore_host_init(&kernel->nk_host, NULL, NULL);
    kernel->nk_driver = nlx_dd_new(&kernel->nk_host, NULL);
    if (kernel->nk_driver == NULL) {
        nlx_kcore_host_fini(&kernel->nk_host);
        m0_free(kernel);
        return NULL;
    }
    return kernel;
}

const struct m0_net_xprt *m0_net_lnet_begin(enum m0_lnet_flavour flavour)
{
    struct nlx_kernel *kernel = current();

    if (kernel == NULL) {
        kernel = kernel_new();
        if (kernel == NULL)
            return NULL;
        *port_host_slot(PORT_HOST_M0_LNET) = kernel;
    }
    kernel->nk_processes++;
    nlx_kcore_host_set_find(find_host);
    nlx_dd_local_set(find_driver);
    nlx_ucore_dev_name = "sim:";
    port_at_release(freeze, release);
    return flavour == M0_LNET_KERNEL_FLAVOUR ? &m0_net_lnet_kxprt : &m0_net_lnet_xprt;
}

void m0_net_lnet_end(void)
{
    m0_net_fini();
    nlx_dd_local_exit_at(0, false);
    port_at_release(NULL, NULL);
    drop(current());
}

int m0_net_lnet_address(const struct m0_net_xprt *xprt, char *address, size_t size, unsigned portal,
                        int tmid)
{
    struct m0_net_domain dom = {.nd_xprt = NULL};
    char **nids, tm[12] = "*";
    int rc = m0_net_domain_init(&dom, xprt), i;

    if (rc != 0)
        return rc;
    if (tmid >= 0)
        snprintf(tm, sizeof(tm), "%d", tmid);
    rc = m0_net_lnet_ifaces_get(&dom, &nids);
    if (rc == 0) {
        for (i = 0; nids[i] != NULL && strcmp(nids[i], "0@lo") == 0; i++) {
        }
        rc = nids[i] == NULL ? -ENETDOWN : 0;
        if (rc == 0)
            snprintf(address, size, "%s:12345:%u:%s", nids[i], portal, tm);
        m0_net_lnet_ifaces_put(&dom, &nids);
    }
    m0_net_domain_fini(&dom);
    return rc;
}

void m0_net_lnet_submit_in_batches(struct m0_net_domain *dom)
{
    m0_net_lnet_dom_set_batched(dom, true);
}

void m0_net_lnet_timeout_interval(struct m0_net_domain *dom, uint64_t ns)
{
    m0_net_lnet_dom_set_timeout_tick(dom, ns);
}

void m0_net_lnet_exit_at_driver_call(uint64_t number, bool after)
{
    nlx_dd_local_exit_at(number, after);
}

uint64_t m0_net_lnet_driver_calls(void)
{
    struct nlx_dd_stats stats;
    uint64_t sum = 0;
    unsigned i;

    nlx_dd_stats_get(current()->nk_driver, &stats);
    for (i = 0; i <= M0_LNET_IOC_MAX_NR; i++)
        sum += stats.ds_verbs[i];
    return sum;
}
