/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The beginning and the end of a program. */
#include "motr/init.h"

#include "lib/memory.h"
#include "net/bulk_mem.h"
#include "net/net_internal.h"

/* A program that is linked without the transport over LNet has neither. */
int m0_net_lnet_init(void) __attribute__((weak));
void m0_net_lnet_fini(void) __attribute__((weak));

int m0_init(struct m0 *instance)
{
    int rc = m0_net_init();

    if (instance != NULL)
        m0_set(instance);
    if (rc == 0)
        rc = m0_mem_xprt_init();
    if (rc == 0 && m0_net_lnet_init != NULL)
        rc = m0_net_lnet_init();
    if (rc == 0 && m0_net_xprt_default_get() == NULL)
        m0_net_xprt_default_set(&m0_net_bulk_mem_xprt);
    return rc;
}

void m0_fini(void)
{
    if (m0_net_lnet_fini != NULL)
        m0_net_lnet_fini();
    m0_mem_xprt_fini();
    m0_net_fini();
}

struct m0 *m0_get(void)
{
    struct m0_net_root *root = m0_net_root();

    if (root->nr_instance == NULL)
        root->nr_instance = &root->nr_own_instance;
    return root->nr_instance;
}

void m0_set(struct m0 *instance)
{
    M0_PRE(instance != NULL);
    m0_net_root()->nr_instance = instance;
}

void m0_quiesce(void)
{
}

int m0_resume(struct m0 *instance)
{
    (void)instance;
    return 0;
}
