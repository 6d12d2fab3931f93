/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Where a fault hits a transfer, in words. */
#include <assert.h>
#include <stdio.h>
#include "internal.h"

/* "g0-c0s1" on a dragonfly; elsewhere the number of the switch, or the endpoint's. */
static void router_name(const struct net *net, uint32_t router, char *buffer, size_t size)
{
    struct net_coordinates at;

    if (router >= net->routers)
        snprintf(buffer, size, "endpoint %u", router - net->routers);
    else if (net_coordinates(net, router * (net->endpoints / net->routers), &at))
        snprintf(buffer, size, "g%u-c%us%u", at.group, at.chassis, at.slot);
    else
        snprintf(buffer, size, "switch %u", router);
}

void net_set_describe(struct net *net, void (*fire)(struct sim_event *event),
                      net_describe_fn *describe)
{
    uint32_t i = 0;

    assert(describe != NULL);
    while (net->descriptions[i].describe != NULL && net->descriptions[i].fire != fire) {
        i++;
        assert(i < NET_PROTOCOLS);
    }
    net->descriptions[i].fire = fire;
    net->descriptions[i].describe = describe;
}

net_describe_fn *net_description(const struct net *net, const struct net_transfer *transfer)
{
    net_describe_fn *other = NULL;
    uint32_t i;

    for (i = 0; i < NET_PROTOCOLS; i++) {
        if (net->descriptions[i].fire == NULL)
            other = other != NULL ? other : net->descriptions[i].describe;
        else if (net->descriptions[i].fire == transfer->event.fire)
            return net->descriptions[i].describe;
    }
    return other;
}

void net_fault_place(struct net *net, const struct net_transfer *transfer, char *buffer,
                     size_t size)
{
    struct net_transfer fixed = {
        .source = transfer->source,
        .target = transfer->target,
        .units = transfer->units,
        .last_units = transfer->last_units,
        .packets = transfer->packets,
        .class = transfer->class,
        .route = NET_ROUTE_IN_ORDER, /* draws no random number */
    };
    struct net_link_info info = {0};
    struct net_path path;
    char from[32], to[32];

    assert(size > 0);
    buffer[0] = '\0';
    if (!net->topology->route(net, &fixed, &path)) {
        snprintf(buffer, size, "no live path");
    } else if (path.links == 0 || !net->topology->describe(net, path.link[0], &info)) {
        router_name(net, net_router_of(net, transfer->source), from, sizeof from);
        snprintf(buffer, size, "router %s", from);
    } else {
        router_name(net, info.router, from, sizeof from);
        router_name(net, info.peer, to, sizeof to);
        snprintf(buffer, size, "link %s→%s", from, to);
    }
}
