/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The route table: which gateway leads to a remote network. */
#include "core/route.h"

#include <stdlib.h>

struct lnet_remote_net *lnet_remote_net_find(struct lnet_instance *instance, uint32_t id)
{
    struct lnet_remote_net *net;

    list_for_each_entry (net, &instance->remote_nets, on_node) {
        if (net->id == id)
            return net;
    }
    return NULL;
}

bool lnet_route_alive(const struct lnet_route *route)
{
    return route->gateway->alive && route->down_nis == 0;
}

/* Whether `a` is the better one of two live routes. */
static bool better(const struct lnet_route *a, const struct lnet_route *b)
{
    const struct lnet_peer_ni *p = a->gateway->peer, *q = b->gateway->peer;

    if (a->priority != b->priority)
        return a->priority < b->priority;
    if (lnet_route_hops(a) != lnet_route_hops(b))
        return lnet_route_hops(a) < lnet_route_hops(b);
    if (p->tx_queued_bytes != q->tx_queued_bytes)
        return p->tx_queued_bytes < q->tx_queued_bytes;
    if (p->tx_credits != q->tx_credits)
        return p->tx_credits > q->tx_credits;

    return a->sequence < b->sequence;
}

struct lnet_peer_ni *lnet_route_select(struct lnet_node *node, uint32_t id,
                                       const struct lnet_net *local)
{
    struct lnet_remote_net *net = lnet_remote_net_find(node->instance, id);
    struct lnet_route *route, *best = NULL;

    if (net == NULL)
        return NULL;

    list_for_each_entry (route, &net->routes, on_net) {
        if (!lnet_route_alive(route) || (local != NULL && route->gateway->peer->net != local))
            continue;
        if (best == NULL || better(route, best))
            best = route;
    }
    if (best == NULL)
        return NULL;

    best->sequence = ++node->instance->sequence;
    return best->gateway->peer;
}

bool lnet_route_uses(struct lnet_node *node, uint32_t id, lnet_nid_t gateway)
{
    struct lnet_remote_net *net = lnet_remote_net_find(node->instance, id);
    const struct lnet_route *route;

    if (net == NULL)
        return false;

    list_for_each_entry (route, &net->routes, on_net) {
        if (route->gateway->peer->nid == gateway && lnet_route_alive(route))
            return true;
    }
    return false;
}

/* ---- changing the table ---------------------------------------------------------------------- */

static struct lnet_gateway *gateway_get(struct lnet_instance *instance, struct lnet_peer_ni *peer)
{
    struct lnet_gateway *gateway = peer->gateway;

    if (gateway != NULL)
        return gateway;
    gateway = calloc(1, sizeof(*gateway));
    if (gateway == NULL)
        return NULL;

    gateway->peer = peer;
    gateway->alive = instance->node->params.check_routers_before_use == 0;
    INIT_LIST_HEAD(&gateway->routes);
    list_add_tail(&gateway->on_node, &instance->gateways);
    peer->gateway = gateway;
    return gateway;
}

static void gateway_put(struct lnet_gateway *gateway)
{
    if (!list_empty(&gateway->routes))
        return;

    gateway->peer->gateway = NULL;
    list_del(&gateway->on_node);
    free(gateway);
}

static struct lnet_remote_net *net_get(struct lnet_instance *instance, uint32_t id)
{
    struct lnet_remote_net *net = lnet_remote_net_find(instance, id);

    if (net != NULL)
        return net;
    net = calloc(1, sizeof(*net));
    if (net == NULL)
        return NULL;

    net->id = id;
    INIT_LIST_HEAD(&net->routes);
    list_add_tail(&net->on_node, &instance->remote_nets);
    return net;
}

static void net_put(struct lnet_remote_net *net)
{
    if (!list_empty(&net->routes))
        return;

    list_del(&net->on_node);
    free(net);
}

static void route_free(struct lnet_route *route)
{
    struct lnet_gateway *gateway = route->gateway;
    struct lnet_remote_net *net = route->net;

    list_del(&route->on_net);
    list_del(&route->on_gateway);
    free(route);
    gateway_put(gateway);
    net_put(net);
}

static int insert(struct lnet_node *node, uint32_t id, uint32_t hops, struct lnet_peer_ni *peer,
                  uint32_t priority)
{
    struct lnet_instance *instance = node->instance;
    struct lnet_remote_net *net = net_get(instance, id);
    struct lnet_gateway *gateway = gateway_get(instance, peer);
    struct lnet_route *route = calloc(1, sizeof(*route)), *other;
    int rc = net == NULL || gateway == NULL || route == NULL ? -ENOMEM : 0;

    if (rc == 0) {
        list_for_each_entry (other, &net->routes, on_net) {
            if (other->gateway == gateway)
                rc = -EEXIST;
        }
    }
    if (rc != 0) {
        free(route);
        if (net != NULL)
            net_put(net);
        if (gateway != NULL)
            gateway_put(gateway);
        return rc;
    }
    route->net = net;
    route->gateway = gateway;
    route->hops = hops;
    route->priority = priority;
    list_add_tail(&route->on_net, &net->routes);
    list_add_tail(&route->on_gateway, &gateway->routes);
    return 0;
}

int lnet_route_check(struct lnet_node *node, uint32_t net, uint32_t hops, lnet_nid_t gateway)
{
    uint32_t local = LNET_NIDNET(gateway);

    if (gateway == LNET_NID_ANY || LNET_NETTYP(local) == LOLND)
        return -EINVAL;
    if (net == LNET_NIDNET(LNET_NID_ANY) || LNET_NETTYP(net) == LOLND || net == local)
        return -EINVAL;
    if (hops != LNET_HOPS_UNDEFINED && (hops < 1 || hops > 255))
        return -EINVAL;
    if (node->instance != NULL && lnet_net_by_id(node->instance, net) != NULL)
        return -EEXIST;
    if (node->instance == NULL || lnet_net_by_id(node->instance, local) == NULL)
        return -EHOSTUNREACH;
    return 0;
}

int lnet_route_add(struct lnet_node *node, uint32_t net, uint32_t hops, lnet_nid_t gateway,
                   uint32_t priority)
{
    struct lnet_peer_ni *peer;
    int rc = lnet_route_check(node, net, hops, gateway);

    if (rc != 0)
        return rc;
    peer = lnet_peer_ni_get(node, gateway);
    if (peer == NULL)
        return -ENOMEM;

    return insert(node, net, hops, peer, priority);
}

int lnet_route_delete(struct lnet_node *node, uint32_t id, lnet_nid_t gateway)
{
    struct lnet_gateway *from, *next_from;
    struct lnet_route *route, *next;
    bool found = false;

    list_for_each_entry_safe (from, next_from, &node->instance->gateways, on_node) {
        bool last = false;

        if (gateway != LNET_NID_ANY && from->peer->nid != gateway)
            continue;
        list_for_each_entry_safe (route, next, &from->routes, on_gateway) {
            if (id != LNET_NIDNET(LNET_NID_ANY) && route->net->id != id)
                continue;
            found = true;
            last = route->on_gateway.next == route->on_gateway.prev; /* frees the gateway */
            route_free(route);
            if (last)
                break;
        }
    }
    return found ? 0 : -ENOENT;
}

void lnet_routes_free(struct lnet_node *node)
{
    while (!list_empty(&node->instance->remote_nets)) {
        struct lnet_remote_net *net =
            list_first_entry(&node->instance->remote_nets, struct lnet_remote_net, on_node);

        route_free(list_first_entry(&net->routes, struct lnet_route, on_net));
    }
}

/* The parameter `routes`. An own NID as the gateway makes the node a router. */
int lnet_routes_start(struct lnet_node *node)
{
    struct lnet_config_route *routes;
    uint32_t count, i;
    char *error = NULL;
    int rc = lnet_config_routes(node, &routes, &count, &error);

    for (i = 0; rc == 0 && i < count; i++) {
        if (lnet_ni_by_nid(node->instance, routes[i].gateway) != NULL) {
            node->instance->routing = true;
            continue;
        }
        rc = lnet_route_add(node, routes[i].net, routes[i].hops, routes[i].gateway,
                            routes[i].priority);
        if (rc == -EEXIST || rc == -EHOSTUNREACH)
            rc = 0;
    }
    free(routes);
    free(error);
    return rc;
}

/* ---- LNetDist -------------------------------------------------------------------------------- */

static const struct lnet_route *shortest(const struct lnet_remote_net *net)
{
    const struct lnet_route *route, *best = NULL;

    list_for_each_entry (route, &net->routes, on_net) {
        if (best == NULL || lnet_route_hops(route) < lnet_route_hops(best))
            best = route;
    }
    return best;
}

static int distance(struct lnet_node *node, lnet_nid_t nid, lnet_nid_t *source, __u32 *order)
{
    struct lnet_instance *instance = node->instance;
    uint32_t number = 2, i;
    struct lnet_ni *ni;
    struct lnet_remote_net *net;

    for (i = 0; (ni = lnet_ni_by_index(instance, i)) != NULL; i++) {
        if (ni->nid != nid && LNET_NIDNET(ni->nid) != LNET_NIDNET(nid)) {
            number++;
            continue;
        }
        if (ni->nid != nid && lnet_ni_by_nid(instance, nid) != NULL)
            continue; /* another NI of that network has the NID */
        if (source != NULL)
            *source = ni->nid == nid ? nid : ni->nid;
        if (order != NULL)
            *order = ni->nid != nid ? number : nid == LNET_NID_LO_0 ? 0 : 1;
        return ni->nid != nid || node->params.local_nid_dist_zero == 0;
    }
    list_for_each_entry (net, &instance->remote_nets, on_node) {
        if (net->id == LNET_NIDNET(nid)) {
            const struct lnet_route *route = shortest(net);

            ni = list_first_entry(&route->gateway->peer->net->nis, struct lnet_ni, on_net);
            if (source != NULL)
                *source = ni->nid;
            if (order != NULL)
                *order = number;
            return (int)lnet_route_hops(route) + 1;
        }
        number++;
    }
    return -EHOSTUNREACH;
}

int LNetDist(lnet_nid_t nid, lnet_nid_t *source, __u32 *order)
{
    struct lnet_node *node = lnet_enter("LNetDist", true);
    int rc;

    if (node == NULL)
        return -ENODEV;

    rc = distance(node, nid, source, order);
    lnet_leave(node, node->params.cost_other_ns);
    return rc;
}
