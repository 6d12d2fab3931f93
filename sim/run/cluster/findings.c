/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The rules that programs may break: all layers register theirs here, so that a scenario can name
 * them before anything runs. */
#include "cluster/cluster.h"
#include "aries/aries.h"
#include "cluster/lnet.h"
#include "cluster/port_fiber.h"

void cluster_findings_register(void)
{
    aries_findings_register();
    port_findings_register();
    cluster_crash_register();
    cluster_lnet_register();
}
