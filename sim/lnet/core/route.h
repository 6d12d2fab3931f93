/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Routes and gateways, for route.c, pinger.c and control.c. */
#ifndef JACQUARD_LNET_ROUTE_H
#define JACQUARD_LNET_ROUTE_H

#include "core/internal.h"

struct lnet_gateway {
    struct list_head on_node;
    struct lnet_peer_ni *peer;
    struct list_head routes; /* by it */
    bool alive;
    bool checked; /* a ping of it has ended */
    bool ping_waits; /* to be sent */
    uint32_t features; /* of its last answer */
    sim_time_t ping_sent; /* 0: never */
    sim_time_t ping_deadline; /* of an answer; 0: all were answered */
};

struct lnet_remote_net {
    struct list_head on_node;
    uint32_t id;
    struct list_head routes;
};

struct lnet_route {
    struct list_head on_net, on_gateway;
    struct lnet_remote_net *net;
    struct lnet_gateway *gateway;
    uint32_t hops, priority;
    uint32_t down_nis; /* of the gateway, that count against the route */
    uint32_t sequence; /* when it was used last */
};

struct lnet_remote_net *lnet_remote_net_find(struct lnet_instance *instance, uint32_t id);
bool lnet_route_alive(const struct lnet_route *route);
static inline uint32_t lnet_route_hops(const struct lnet_route *route)
{
    return route->hops == LNET_HOPS_UNDEFINED ? 1 : route->hops;
}

#endif
