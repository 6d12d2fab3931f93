/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The parameter `ip2nets`: rules "networks pattern ..." such as "tcp(eth0),o2ib(ib0) 10.0.[1-4].*",
 * one text for all machines. The networks of a rule count on a node that has an address of one of
 * the patterns, unless an earlier rule has one of these networks.
 */
#define _GNU_SOURCE
#include "core/internal.h"

#include <stdio.h>
#include <string.h>

#define BLANKS " \t\v\f"

/* -1: it is no pattern. */
static int matches_node(const struct lnet_node *node, char *pattern)
{
    LIST_HEAD(expressions);
    int found = 0;
    uint32_t i;

    if (cfs_ip_addr_parse(pattern, (int)strlen(pattern), &expressions) != 0)
        return -1;
    for (i = 0; i < node->interface_count && !found; i++)
        found = cfs_ip_addr_match(node->interfaces[i].address, &expressions) != 0;
    cfs_ip_addr_free(&expressions);
    return found;
}

/* The network of "tcp1(eth0)[0]". */
static uint32_t net_of(const char *text, size_t length)
{
    char name[LNET_NIDSTR_SIZE];
    size_t part = strcspn(text, "([");

    part = part < length ? part : length;
    if (part >= sizeof(name))
        return LNET_NIDNET(LNET_NID_ANY);
    memcpy(name, text, part);
    name[part] = '\0';
    return libcfs_str2net(name);
}

/* Calls `visit` for each network of "tcp(eth0),o2ib"; true: one of them said so. */
static bool any_net(char *networks, bool (*visit)(uint32_t net, void *argument), void *argument)
{
    while (*networks != '\0') {
        char *end = lnet_config_comma(networks);
        size_t length = end != NULL ? (size_t)(end - networks) : strlen(networks);

        if (visit(net_of(networks, length), argument))
            return true;
        networks += length + (networks[length] != '\0');
    }
    return false;
}

static bool is_unknown(uint32_t net, void *argument)
{
    (void)argument;
    return net == LNET_NIDNET(LNET_NID_ANY);
}

static bool is_equal(uint32_t net, void *other)
{
    return net == *(uint32_t *)other;
}

static bool is_among(uint32_t net, void *networks)
{
    return any_net(networks, is_equal, &net);
}

/* 1: the node has an address of one of the patterns, 0: it has none; -EINVAL. */
static int match_rule(const struct lnet_node *node, char *patterns, char **error)
{
    int matched = 0;
    char *pattern;

    while ((pattern = strsep(&patterns, BLANKS)) != NULL) {
        int found = *pattern != '\0' ? matches_node(node, pattern) : 0;

        if (found < 0) {
            *error = lnet_text("ip2nets: \"%s\" is no pattern of addresses", pattern);
            return -EINVAL;
        }
        matched |= found;
    }
    return matched;
}

int lnet_config_ip2nets(const struct lnet_node *node, char *rules, char *networks, size_t size,
                        char **error)
{
    size_t used = 0;
    char *rule;

    networks[0] = '\0';
    while ((rule = lnet_config_entry(&rules)) != NULL) {
        char *words = rule + strspn(rule, BLANKS), *net = strsep(&words, BLANKS);
        int matched = match_rule(node, words, error);

        if (matched < 0)
            return matched;
        if (!matched || any_net(net, is_among, networks))
            continue;
        if (lnet_config_comma(net) == NULL || any_net(net, is_unknown, NULL)) {
            *error = lnet_text("ip2nets: \"%s\": not a network", net);
            return -EINVAL;
        }
        if (used + strlen(net) + 2 > size) {
            *error = lnet_text("ip2nets: the text is too long");
            return -EINVAL;
        }
        used += (size_t)snprintf(networks + used, size - used, "%s%s", used > 0 ? "," : "", net);
    }
    if (used > 0)
        return 0;

    *error = lnet_text("ip2nets: no rule matches an address of the node");
    return -EINVAL;
}
