/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The host of a process that has it for itself. */
#include "m0/kernel.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/memory.h"
#include "net/lnet/linux_kernel/klnet_core.h"
#include "net/lnet/lnet.h"

static struct nlx_kcore_host *find(void)
{
    return *port_slot(PORT_SLOT_M0_LNET_KERNEL);
}

const struct m0_net_xprt *m0_net_lnet_kernel_begin(void)
{
    struct nlx_kcore_host *host;

    M0_PRE(find() == NULL);
    M0_ALLOC_PTR(host);
    if (host == NULL)
        return NULL;
    nlx_kcore_host_init(host, NULL, NULL);
    *port_slot(PORT_SLOT_M0_LNET_KERNEL) = host;
    nlx_kcore_host_set_find(find);
    return &m0_net_lnet_kxprt;
}

void m0_net_lnet_kernel_end(void)
{
    struct nlx_kcore_host *host = find();

    M0_PRE(host != NULL);
    nlx_kcore_host_fini(host);
    m0_free(host);
    *port_slot(PORT_SLOT_M0_LNET_KERNEL) = NULL;
    m0_net_fini();
}

int m0_net_lnet_kernel_address(char *address, size_t size, unsigned portal, int tmid)
{
    struct m0_net_domain dom = {.nd_xprt = NULL};
    char **nids, tm[12] = "*";
    int rc = m0_net_domain_init(&dom, &m0_net_lnet_kxprt), i;

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
