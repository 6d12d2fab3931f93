/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the commands of the tool share. */
#define _GNU_SOURCE
#include "tool/options.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int m0_tool_refuse(const char *what, const char *why)
{
    fprintf(stderr, "jacquard: %s: %s\n", what, why);
    return 2;
}

int m0_tool_fail(const char *what, int rc)
{
    fprintf(stderr, "jacquard: m0: %s: %s\n", what, strerror(-rc));
    return 1;
}

int m0_tool_number(const char *option, unsigned long least, unsigned long most,
                   unsigned long *value)
{
    char *end;

    *value = strtoul(optarg, &end, 10);
    if (end == optarg || *end != '\0' || *optarg == '-' || *value < least || *value > most)
        return m0_tool_refuse(option, "the number is not one that is possible");
    return 0;
}

int m0_tool_portal(unsigned *portal)
{
    unsigned long value;
    int code = m0_tool_number("--portal", 1, 63, &value);

    if (code != 0)
        return code;
    *portal = (unsigned)value;
    if (m0_net_lnet_portal_is_lustres(*portal))
        fprintf(stderr,
                "jacquard: m0: warning: portal %u is one of those that Lustre uses; 42 is free\n",
                *portal);
    return 0;
}

int m0_tool_address(unsigned portal, int tmid, char address[M0_NET_LNET_XEP_ADDR_LEN])
{
    struct m0_net_domain dom = {.nd_xprt = NULL};
    char **nids, last[12] = "*";
    int rc = m0_net_domain_init(&dom, &m0_net_lnet_xprt), i;

    if (rc != 0)
        return rc;
    if (tmid >= 0)
        snprintf(last, sizeof(last), "%d", tmid);
    rc = m0_net_lnet_ifaces_get(&dom, &nids);
    if (rc == 0) {
        for (i = 0; nids[i] != NULL && strcmp(nids[i], "0@lo") == 0; i++) {
        }
        rc = nids[i] == NULL ? -ENETDOWN : 0;
        if (rc == 0)
            snprintf(address, M0_NET_LNET_XEP_ADDR_LEN, "%s:12345:%u:%s", nids[i], portal, last);
        m0_net_lnet_ifaces_put(&dom, &nids);
    }
    m0_net_domain_fini(&dom);
    return rc;
}

static void ends(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGTERM);
}

void m0_tool_block_ends(void)
{
    sigset_t set;

    ends(&set);
    sigprocmask(SIG_BLOCK, &set, NULL);
}

bool m0_tool_ends(void)
{
    const struct timespec moment = {1, 0};
    sigset_t set;

    ends(&set);
    return sigtimedwait(&set, NULL, &moment) >= 0;
}
