/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The names and addresses that nodes have on a Cray system. */
#include "aries/aries.h"

#include <arpa/inet.h>
#include <glib.h>
#include <stdio.h>
#include <string.h>
#include "nic/fabric.h"

/* Node 0 has 10.128.0.1 on the interface that goes through Aries; a socket can have 127.128.0.1. */
#define IP_OF_NODE_0 0x0a800001u
#define LOOPBACK_OF_NODE_0 0x7f800001u

static bool whole_number(const char *text, uint32_t *value)
{
    guint64 large;

    if (!g_ascii_string_to_unsigned(text, 10, 0, UINT32_MAX, &large, NULL))
        return false;
    *value = (uint32_t)large;
    return true;
}

static bool node_of_cname(const struct net *net, const char *host, uint32_t *node)
{
    struct net_coordinates at;
    uint32_t row;
    int length = 0;

    if (sscanf(host, "c%u-%uc%us%un%u%n", &at.group, &row, &at.chassis, &at.slot, &at.node,
               &length) != 5 ||
        host[length] != '\0' || row != 0)
        return false;
    *node = net_endpoint_at(net, &at);
    return true;
}

bool aries_node_of_host(const struct aries_fabric *fabric, const char *host, uint32_t *node)
{
    uint32_t address, ip;
    struct in_addr parsed;

    if (whole_number(host, &address)) {
        for (*node = 0; *node < fabric->nodes && fabric->pe_addrs[*node] != address; ++*node)
            ;
        return true;
    }
    if (g_str_has_prefix(host, "nid") && strlen(host) == strlen("nid00000") &&
        whole_number(host + 3, node))
        return true;
    if (inet_pton(AF_INET, host, &parsed) == 1) {
        ip = ntohl(parsed.s_addr);
        ip -= ip - IP_OF_NODE_0 < fabric->nodes ? IP_OF_NODE_0 : LOOPBACK_OF_NODE_0;
        if (ip < fabric->nodes)
            *node = ip;
        return ip < fabric->nodes;
    }
    return node_of_cname(fabric->net, host, node);
}
