/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The router pinger: every node with routes asks its gateways whether they are alive, and in what
 * state their interfaces are. */
#include "core/route.h"

#include <stdlib.h>

static void check(struct sim_event *event);

/* Both intervals must be set to judge a gateway by its interfaces. */
static bool judges_interfaces(const struct lnet_params *params)
{
    return params->avoid_asym_router_failure != 0 && params->live_router_check_interval > 0 &&
           params->dead_router_check_interval > 0;
}

static sim_time_t interval(const struct lnet_gateway *gateway)
{
    const struct lnet_params *params = &gateway->peer->net->node->params;

    return (sim_time_t)(gateway->alive ? params->live_router_check_interval
                                       : params->dead_router_check_interval) *
           SIM_S;
}

/* When it is time to ask the gateway; SIM_NEVER: not by itself. As long as the last request waits
 * to be sent there is no other one. */
static sim_time_t next_ping(const struct lnet_gateway *gateway)
{
    const struct lnet_params *params = &gateway->peer->net->node->params;

    if (gateway->ping_waits)
        return SIM_NEVER;
    if (interval(gateway) == 0)
        return gateway->ping_sent == 0 && params->check_routers_before_use != 0 ? 0 : SIM_NEVER;

    return gateway->ping_sent == 0 ? 0 : gateway->ping_sent + interval(gateway);
}

/* When the gateway has been silent for too long since the first request that it did not answer. */
static sim_time_t deadline(const struct lnet_gateway *gateway)
{
    return gateway->alive && gateway->ping_deadline != 0 ? gateway->ping_deadline : SIM_NEVER;
}

static void arm(struct lnet_node *node)
{
    struct lnet_instance *instance = node->instance;
    const struct lnet_gateway *gateway;
    sim_time_t at = SIM_NEVER;

    if (node->state != LNET_RUNNING)
        return;

    list_for_each_entry (gateway, &instance->gateways, on_node) {
        sim_time_t ping = next_ping(gateway), silent = deadline(gateway);

        at = ping < at ? ping : at;
        at = silent < at ? silent : at;
    }
    instance->pinger.event.fire = check;
    if (at == SIM_NEVER)
        sim_timer_cancel(&instance->pinger);
    else
        sim_timer_arm(&instance->pinger, at < sim_now() ? sim_now() : at);
}

/* NIs of the gateway that are down and count against a route. */
static uint32_t down_nis(const struct lnet_route *route, const struct lnet_ping_info *info,
                         uint32_t nis)
{
    uint32_t down = 0, i;

    if ((info->pi_features & LNET_PING_FEAT_RTE_DISABLED) != 0)
        return 1;

    for (i = 1; i < nis; i++) { /* the first one is lo */
        const struct lnet_ni_status *status = &info->pi_ni[i];

        if (status->ns_status == LNET_NI_STATUS_DOWN)
            down++;
        else if (LNET_NIDNET(status->ns_nid) == route->net->id)
            return 0;
    }
    /* A gateway one hop away that has no NI on the network cannot lead to it. */
    if (down == 0 && route->hops == 1)
        return 1;

    return down;
}

/* Numbers that come from the other node are bounded by what it sent. */
static uint32_t listed_nis(const struct lnet_ping *ping)
{
    uint32_t room;

    if (ping->bytes < sizeof(ping->info) || ping->info.pi_magic != LNET_PROTO_PING_MAGIC)
        return 0;

    room = (uint32_t)((ping->bytes - sizeof(ping->info)) / sizeof(ping->info.pi_ni[0]));
    return ping->info.pi_nnis < room ? ping->info.pi_nnis : room;
}

static void answered(struct lnet_gateway *gateway, const struct lnet_ping *ping)
{
    uint32_t nis = listed_nis(ping);
    struct lnet_route *route;

    gateway->alive = true;
    gateway->features = nis > 0 ? ping->info.pi_features : 0;
    if ((gateway->features & LNET_PING_FEAT_NI_STATUS) == 0 ||
        !judges_interfaces(&ping->node->params))
        return;

    list_for_each_entry (route, &gateway->routes, on_gateway)
        route->down_nis = down_nis(route, &ping->info, nis);
}

static struct lnet_gateway *gateway_of(const struct lnet_ping *ping)
{
    struct lnet_peer_ni *peer = lnet_peer_ni_find(ping->node->instance, ping->nid);

    return peer != NULL ? peer->gateway : NULL;
}

static void found_dead(struct lnet_gateway *gateway)
{
    gateway->alive = false;
    gateway->checked = true;
    lnet_host_wake(gateway->peer->net->node); /* lnet_pinger_wait */
}

/* A gateway that cannot be asked is dead. One that does not answer is asked again all the same. */
static void ping_sent(struct lnet_ping *ping)
{
    struct lnet_gateway *gateway = gateway_of(ping);

    if (gateway == NULL)
        return;
    gateway->ping_waits = false;
    if (ping->status != 0)
        found_dead(gateway);
    arm(ping->node);
}

static void ping_done(struct lnet_ping *ping)
{
    struct lnet_node *node = ping->node;
    struct lnet_gateway *gateway = gateway_of(ping);

    if (gateway != NULL) {
        gateway->checked = true;
        if (ping->replied) {
            gateway->ping_deadline = 0;
            answered(gateway, ping);
        }
        lnet_host_wake(node);
        arm(node);
    }
    free(ping);
}

static void ping_gateway(struct lnet_gateway *gateway)
{
    struct lnet_node *node = gateway->peer->net->node;
    struct lnet_ping *ping = calloc(1, sizeof(*ping));

    gateway->ping_sent = sim_now() + (sim_now() == 0); /* 0 means never */
    if (ping == NULL)
        return;

    ping->node = node;
    ping->nid = gateway->peer->nid;
    ping->sent = ping_sent;
    ping->done = ping_done;
    gateway->ping_waits = true;
    if (gateway->ping_deadline == 0)
        gateway->ping_deadline = sim_now() + (sim_time_t)node->params.router_ping_timeout * SIM_S;
    if (lnet_ping_send(ping, false) != 0) {
        gateway->ping_waits = false;
        free(ping);
    }
}

static void check(struct sim_event *event)
{
    struct sim_timer *timer = sim_container_of(event, struct sim_timer, event);
    struct lnet_instance *instance = sim_container_of(timer, struct lnet_instance, pinger);
    struct lnet_node *node = instance->node;
    struct lnet_gateway *gateway, *next;

    lnet_host_lock(node);
    list_for_each_entry_safe (gateway, next, &instance->gateways, on_node) {
        if (deadline(gateway) <= sim_now())
            found_dead(gateway); /* the ping may still be answered, and then it lives again */
        if (next_ping(gateway) <= sim_now())
            ping_gateway(gateway);
    }
    arm(node);
    lnet_host_unlock(node);
}

/* Whatever a gateway sends shows that it is alive. */
void lnet_pinger_received(struct lnet_gateway *gateway)
{
    gateway->ping_deadline = 0;
    if (gateway->alive)
        return;

    gateway->alive = true;
    arm(gateway->peer->net->node);
}

void lnet_pinger_lost(struct lnet_gateway *gateway)
{
    gateway->alive = false;
    arm(gateway->peer->net->node);
}

void lnet_pinger_start(struct lnet_node *node)
{
    arm(node);
}

static bool all_checked(const struct lnet_instance *instance)
{
    const struct lnet_gateway *gateway;

    list_for_each_entry (gateway, &instance->gateways, on_node) {
        if (!gateway->checked)
            return false;
    }
    return true;
}

void lnet_pinger_wait(struct lnet_node *node)
{
    if (node->params.check_routers_before_use == 0)
        return;

    while (node->state == LNET_RUNNING && !all_checked(node->instance))
        lnet_host_wait(node, SIM_NEVER, "waiting until LNet has checked its routers");
}

void lnet_pinger_stop(struct lnet_node *node)
{
    sim_timer_cancel(&node->instance->pinger);
}
