/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A process that opens a domain with a machine at one address, and closes both, as often as the
 * second argument says; it prints how often it succeeded. JACQUARD_M0 has the daemon's socket.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/errno.h"
#include "lib/memory.h"
#include "lib/semaphore.h"
#include "net/lnet/lnet.h"
#include "net/net.h"

static struct m0_semaphore changed;

static void on_state(const struct m0_net_tm_event *event)
{
    if (event->nte_type == M0_NET_TEV_STATE_CHANGE)
        m0_semaphore_up(&changed);
}

static const struct m0_net_tm_callbacks callbacks = {.ntc_event_cb = on_state};

static int open_and_close(const char *address)
{
    struct m0_net_domain dom = {.nd_xprt = NULL};
    struct m0_net_transfer_mc tm = {.ntm_callbacks = &callbacks};
    int rc = m0_net_domain_init(&dom, &m0_net_lnet_xprt);

    if (rc != 0)
        return rc;
    rc = m0_net_tm_init(&tm, &dom);
    if (rc == 0) {
        rc = m0_net_tm_start(&tm, address);
        m0_semaphore_down(&changed);
        if (rc == 0 && tm.ntm_state != M0_NET_TM_STARTED)
            rc = -EADDRINUSE;
        if (rc == 0) {
            rc = m0_net_tm_stop(&tm, false);
            m0_semaphore_down(&changed);
        }
        m0_net_tm_fini(&tm);
    }
    m0_net_domain_fini(&dom);
    return rc;
}

int main(int argc, char **argv)
{
    unsigned count = argc == 3 ? (unsigned)atoi(argv[2]) : 0, i;
    int rc = 0;

    m0_semaphore_init(&changed, 0);
    for (i = 0; i < count && rc == 0; i++)
        rc = open_and_close(argv[1]);
    if (rc != 0)
        fprintf(stderr, "m0_reopen: round %u: %s\n", i, strerror(-rc));
    printf("%u\n", i);
    m0_semaphore_fini(&changed);
    m0_net_fini();
    return rc == 0 ? 0 : 1;
}
