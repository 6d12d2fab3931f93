/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* LNetCtl: the commands of the control device. */
#include "core/control.h"
#include "core/route.h"

#include <string.h>

static int get_ni(struct lnet_node *node, struct libcfs_ioctl_data *data)
{
    const struct lnet_ni *ni = lnet_ni_by_index(node->instance, data->ioc_count);

    if (ni == NULL)
        return -ENOENT;

    data->ioc_nid = ni->nid;
    return 0;
}

static int config_length(const struct lnet_ioctl_config_data *config)
{
    return config->cfg_hdr.ioc_len < sizeof(*config) ? -EINVAL : 0;
}

/* In 2.12 the routes of a network must start on one local network. */
static bool mixed_nets(struct lnet_instance *instance, uint32_t id)
{
    const struct lnet_remote_net *net = lnet_remote_net_find(instance, id);
    const struct lnet_route *route;
    const struct lnet_net *local = NULL;

    list_for_each_entry (route, &net->routes, on_net) {
        if (local != NULL && route->gateway->peer->net != local)
            return true;
        local = route->gateway->peer->net;
    }
    return false;
}

static int add_route(struct lnet_node *node, const struct lnet_ioctl_config_data *config)
{
    int rc = config_length(config);

    if (rc != 0)
        return rc;
    rc = lnet_route_add(node, config->cfg_net, config->cfg_config_u.cfg_route.rtr_hop,
                        config->cfg_nid, config->cfg_config_u.cfg_route.rtr_priority);
    if (rc == 0 && mixed_nets(node->instance, config->cfg_net)) {
        (void)lnet_route_delete(node, config->cfg_net, config->cfg_nid);
        return -EINVAL;
    }
    if (rc == 0)
        lnet_pinger_start(node);
    return rc;
}

static int get_route(struct lnet_node *node, struct lnet_ioctl_config_data *config)
{
    const struct lnet_remote_net *net;
    const struct lnet_route *route;
    uint32_t position = config->cfg_count;

    if (config_length(config) != 0)
        return -EINVAL;
    list_for_each_entry (net, &node->instance->remote_nets, on_node) {
        list_for_each_entry (route, &net->routes, on_net) {
            if (position-- > 0)
                continue;
            config->cfg_net = net->id;
            config->cfg_nid = route->gateway->peer->nid;
            config->cfg_config_u.cfg_route.rtr_hop = route->hops;
            config->cfg_config_u.cfg_route.rtr_priority = route->priority;
            config->cfg_config_u.cfg_route.rtr_flags = lnet_route_alive(route);
            return 0;
        }
    }
    return -ENOENT;
}

static int get_stats(const struct lnet_node *node, struct lnet_ioctl_lnet_stats *stats)
{
    if (stats->st_hdr.ioc_len < sizeof(*stats))
        return -EINVAL;

    lnet_counters_since_reset(node, &stats->st_cntrs);
    return 0;
}

static int clamp_health(int value)
{
    if (value < 0 || value > LNET_MAX_HEALTH_VALUE)
        return LNET_MAX_HEALTH_VALUE;

    return value;
}

static void set_ni_health(struct lnet_node *node, const struct lnet_ioctl_reset_health_cfg *config)
{
    struct lnet_ni *ni;
    uint32_t i;

    for (i = 0; (ni = lnet_ni_by_index(node->instance, i)) != NULL; i++) {
        if (!config->rh_all && ni->nid != config->rh_nid)
            continue;
        ni->health = clamp_health(config->rh_value);
        if (ni->health < LNET_MAX_HEALTH_VALUE)
            lnet_recovery_add_ni(ni);
    }
}

static void set_peer_health(struct lnet_node *node,
                            const struct lnet_ioctl_reset_health_cfg *config)
{
    struct lnet_peer *peer;
    struct lnet_peer_ni *peer_ni;

    list_for_each_entry (peer, &node->instance->peers, on_node) {
        list_for_each_entry (peer_ni, &peer->nis, on_peer) {
            if (!config->rh_all && peer_ni->nid != config->rh_nid)
                continue;
            peer_ni->health = clamp_health(config->rh_value);
            if (peer_ni->health < LNET_MAX_HEALTH_VALUE)
                lnet_recovery_add_peer(peer_ni);
        }
    }
}

static int set_health(struct lnet_node *node, const struct lnet_ioctl_reset_health_cfg *config)
{
    if (config->rh_hdr.ioc_len < sizeof(*config))
        return -EINVAL;

    if (config->rh_type == LNET_HEALTH_TYPE_LOCAL_NI)
        set_ni_health(node, config);
    else
        set_peer_health(node, config);
    return 0;
}

static int set_numa_range(struct lnet_node *node, const struct lnet_ioctl_set_value *range)
{
    if (range->sv_hdr.ioc_len != sizeof(*range))
        return -EINVAL;
    node->params.lnet_numa_range = (int)range->sv_value;
    return 0;
}

static int set_buffers(struct lnet_node *node, const struct lnet_ioctl_config_data *config)
{
    if (config_length(config) != 0)
        return -EINVAL;
    return lnet_router_resize(node, config->cfg_config_u.cfg_buffers.buf_tiny,
                              config->cfg_config_u.cfg_buffers.buf_small,
                              config->cfg_config_u.cfg_buffers.buf_large);
}

static int set_peer(struct lnet_node *node, bool add, const struct lnet_ioctl_peer_cfg *config)
{
    if (config->prcfg_hdr.ioc_len < sizeof(*config))
        return -EINVAL;
    if (add)
        return lnet_peer_add(node, config->prcfg_prim_nid, config->prcfg_cfg_nid, config->prcfg_mr);
    return lnet_peer_delete(node, config->prcfg_prim_nid, config->prcfg_cfg_nid);
}

/* Before LNetNIInit: nothing exists that could be shown or changed. */
static int control_down(struct lnet_node *node, unsigned command, void *argument)
{
    const struct lnet_ioctl_config_data *config = argument;

    switch (command) {
    case IOC_LIBCFS_ADD_ROUTE:
        if (config_length(config) != 0)
            return -EINVAL;
        return lnet_route_check(node, config->cfg_net, config->cfg_config_u.cfg_route.rtr_hop,
                                config->cfg_nid);
    case IOC_LIBCFS_DEL_ROUTE:
    case IOC_LIBCFS_GET_ROUTE:
        return config_length(config) != 0 ? -EINVAL : -ENOENT;
    case IOC_LIBCFS_SET_HEALHV:
        return ((struct lnet_ioctl_reset_health_cfg *)argument)->rh_hdr.ioc_len <
                       sizeof(struct lnet_ioctl_reset_health_cfg)
                   ? -EINVAL
                   : 0;
    case IOC_LIBCFS_NOTIFY_ROUTER:
        return -ESHUTDOWN;
    case IOC_LIBCFS_CONFIG_RTR:
    case IOC_LIBCFS_ADD_BUF:
    case IOC_LIBCFS_ADD_PEER_NI:
    case IOC_LIBCFS_DEL_PEER_NI:
    case IOC_LIBCFS_GET_NI:
        return -ENETDOWN;
    default:
        return -EINVAL; /* of a driver */
    }
}

static int driver_control(struct lnet_node *node, unsigned command, struct libcfs_ioctl_data *data)
{
    struct lnet_net *net = lnet_net_by_id(node->instance, data->ioc_net);
    struct lnet_ni *ni;

    if (net == NULL || net->lnd->control == NULL || list_empty(&net->nis))
        return -EINVAL;

    ni = list_first_entry(&net->nis, struct lnet_ni, on_net);
    return net->lnd->control(ni, command, data);
}

/* Commands that a node answers whether LNet is up or not. 1: the command is none of them. */
static int control_always(struct lnet_node *node, unsigned command, void *argument)
{
    struct libcfs_ioctl_data *data = argument;

    switch (command) {
    case IOC_LIBCFS_FAIL_NID:
        return lnet_fail_nid(node, data->ioc_nid, (int)data->ioc_count);
    case IOC_LIBCFS_LNET_FAULT:
        return lnet_fault_control(node, data->ioc_flags, data);
    case IOC_LIBCFS_GET_LNET_STATS:
        return get_stats(node, argument);
    case IOC_LIBCFS_SET_NUMA_RANGE:
        return set_numa_range(node, argument);
    case IOC_LIBCFS_TESTPROTOCOMPAT:
        return 0; /* drivers speak the versions that their parameters say */
    default:
        return lnet_control_show(node, command, argument);
    }
}

int lnet_node_control(struct lnet_node *node, unsigned command, void *argument)
{
    struct libcfs_ioctl_data *data = argument;
    struct lnet_ioctl_config_data *config = argument;
    int rc = control_always(node, command, argument);

    if (rc <= 0)
        return rc;
    if (node->instance == NULL)
        return control_down(node, command, argument);

    switch (command) {
    case IOC_LIBCFS_GET_NI:
        return get_ni(node, data);
    case IOC_LIBCFS_ADD_ROUTE:
        return add_route(node, config);
    case IOC_LIBCFS_DEL_ROUTE:
        if (config_length(config) != 0)
            return -EINVAL;
        return lnet_route_delete(node, config->cfg_net, config->cfg_nid);
    case IOC_LIBCFS_GET_ROUTE:
        return get_route(node, config);
    case IOC_LIBCFS_CONFIG_RTR:
        if (config_length(config) != 0)
            return -EINVAL;
        return lnet_router_set(node, config->cfg_config_u.cfg_buffers.buf_enable != 0);
    case IOC_LIBCFS_ADD_BUF:
        return set_buffers(node, config);
    case IOC_LIBCFS_ADD_PEER_NI:
    case IOC_LIBCFS_DEL_PEER_NI:
        return set_peer(node, command == IOC_LIBCFS_ADD_PEER_NI, argument);
    case IOC_LIBCFS_NOTIFY_ROUTER:
        return lnet_peer_notify(node, data->ioc_nid, data->ioc_flags != 0);
    case IOC_LIBCFS_SET_HEALHV:
        return set_health(node, argument);
    default:
        return driver_control(node, command, data);
    }
}

int LNetCtl(unsigned int command, void *argument)
{
    struct lnet_node *node;
    int rc = lnet_control_ping(command, argument);

    if (rc <= 0)
        return rc;
    /* Fault rules, for example, may be there before LNet is up. */
    node = lnet_enter("LNetCtl", command == IOC_LIBCFS_GET_NI);
    if (node == NULL)
        return -ENODEV;

    rc = lnet_node_control(node, command, argument);
    lnet_leave(node, node->params.cost_other_ns);
    return rc;
}
