/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The beginning and the end of a program. */
#include "motr/init.h"

#include "net/net.h"

int m0_init(struct m0 *instance)
{
    (void)instance;
    return m0_net_init();
}

void m0_fini(void)
{
    m0_net_fini();
}

void m0_quiesce(void)
{
}

int m0_resume(struct m0 *instance)
{
    (void)instance;
    return 0;
}
