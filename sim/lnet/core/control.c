/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* LNetCtl: the commands of the control device. */
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

    if (config->rh_type == LNET_RESET_HEALTH_LOCAL)
        set_ni_health(node, config);
    else
        set_peer_health(node, config);
    return 0;
}

static int get_peer(struct lnet_node *node, struct lnet_ioctl_config_data *config)
{
    const struct lnet_peer_ni *peer = lnet_peer_ni_find(node->instance, config->cfg_nid);

    if (config_length(config) != 0)
        return -EINVAL;
    if (peer == NULL)
        return -ENOENT;

    config->cfg_config_u.cfg_net.net_peer_tx_credits = peer->tx_credits;
    config->cfg_config_u.cfg_net.net_peer_rtr_credits = peer->router_credits;
    config->cfg_config_u.cfg_net.net_max_tx_credits = peer->tx_credits_min;
    return 0;
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

int lnet_node_control(struct lnet_node *node, unsigned command, void *argument)
{
    struct libcfs_ioctl_data *data = argument;
    struct lnet_ioctl_config_data *config = argument;

    if (node->instance == NULL)
        return -ENETDOWN;

    switch (command) {
    case IOC_LIBCFS_GET_NI:
        return get_ni(node, data);
    case IOC_LIBCFS_FAIL_NID:
        return lnet_fail_nid(node, data->ioc_nid, (int)data->ioc_count);
    case IOC_LIBCFS_LNET_FAULT:
        return lnet_fault_control(node, data->ioc_flags, data);
    case IOC_LIBCFS_ADD_ROUTE:
        return add_route(node, config);
    case IOC_LIBCFS_DEL_ROUTE:
        if (config_length(config) != 0)
            return -EINVAL;
        return lnet_route_delete(node, config->cfg_net, config->cfg_nid);
    case IOC_LIBCFS_GET_ROUTE:
        return get_route(node, config);
    case IOC_LIBCFS_GET_PEER_INFO:
        return get_peer(node, config);
    case IOC_LIBCFS_CONFIG_RTR:
        if (config_length(config) != 0)
            return -EINVAL;
        return lnet_router_set(node, config->cfg_config_u.cfg_buffers.buf_enable != 0);
    case IOC_LIBCFS_GET_LNET_STATS:
        return get_stats(node, argument);
    case IOC_LIBCFS_SET_HEALHV:
        return set_health(node, argument);
    default:
        return driver_control(node, command, data);
    }
}

/* ---- commands that wait ---------------------------------------------------------------------- */

static int get_distance(struct libcfs_ioctl_data *data)
{
    lnet_nid_t source = data->ioc_nid;
    __u32 order = 0;
    int rc = LNetDist(data->ioc_nid, &source, &order);

    if (rc < 0 && rc != -EHOSTUNREACH)
        return rc;

    data->ioc_nid = source;
    data->ioc_u32[0] = (__u32)rc;
    data->ioc_u32[1] = order;
    return 0;
}

#define PING_TIMEOUT_MS 180000

/* The ids that the node at `nid` says it has; up to `room` of them. */
static int ping(lnet_nid_t nid, lnet_pid_t pid, int timeout_ms, struct lnet_process_id *ids,
                uint32_t room)
{
    union {
        struct lnet_ping_info info;
        char space[sizeof(struct lnet_ping_info) +
                   LNET_INTERFACES_MAX_DEFAULT * sizeof(struct lnet_ni_status)];
    } answer;
    struct lnet_process_id target = {nid, pid == LNET_PID_ANY ? LNET_PID_LUSTRE : pid};
    struct lnet_md md = {.start = &answer, .threshold = 2, .options = LNET_MD_TRUNCATE};
    struct lnet_handle_md handle = {0};
    struct lnet_event event;
    uint32_t bytes = 0, nis, i;
    int rc, which, polled, replied = 0;

    md.length = (unsigned)sizeof(answer);
    memset(&answer, 0, sizeof(answer));
    rc = LNetEQAlloc(2, LNET_EQ_HANDLER_NONE, &md.eq_handle);
    if (rc != 0)
        return rc;
    rc = LNetMDBind(md, LNET_UNLINK, &handle);
    if (rc == 0) {
        bool unlinked = false;

        if (LNetGet(LNET_NID_ANY, handle, target, LNET_RESERVED_PORTAL, LNET_PROTO_PING_MATCHBITS,
                    0, false) != 0)
            (void)LNetMDUnlink(handle);
        while (!unlinked) {
            polled =
                LNetEQPoll(&md.eq_handle, 1,
                           timeout_ms > 0 ? msecs_to_jiffies(timeout_ms) : MAX_SCHEDULE_TIMEOUT,
                           &event, &which);
            if (polled <= 0) { /* too late: what comes now ends it */
                (void)LNetMDUnlink(handle);
                timeout_ms = 0;
                continue;
            }
            if (event.type == LNET_EVENT_REPLY && event.status == 0) {
                replied = 1;
                bytes = event.mlength;
            }
            unlinked = event.unlinked != 0;
        }
        rc = replied ? 0 : -EIO;
    }
    (void)LNetEQFree(md.eq_handle);
    if (rc != 0)
        return rc;
    if (bytes < sizeof(answer.info) || answer.info.pi_magic != LNET_PROTO_PING_MAGIC ||
        (answer.info.pi_features & LNET_PING_FEAT_NI_STATUS) == 0)
        return -EPROTO;
    nis = answer.info.pi_nnis < room ? answer.info.pi_nnis : room;
    if (bytes < sizeof(answer.info) + nis * sizeof(answer.info.pi_ni[0]))
        return -EPROTO;
    for (i = 0; i < nis; i++) {
        ids[i].nid = answer.info.pi_ni[i].ns_nid;
        ids[i].pid = answer.info.pi_pid;
    }
    return (int)nis;
}

static int ping_command(struct libcfs_ioctl_data *data)
{
    int timeout = (int)data->ioc_u32[1];
    uint32_t room = data->ioc_plen1 / (uint32_t)sizeof(struct lnet_process_id);
    int rc;

    if (room == 0 || data->ioc_nid == LNET_NID_ANY)
        return -EINVAL;
    if (data->ioc_pbuf1 == NULL)
        return -EFAULT;
    if (timeout <= 0 || timeout > PING_TIMEOUT_MS)
        timeout = PING_TIMEOUT_MS;
    rc = ping(data->ioc_nid, data->ioc_u32[0], timeout, data->ioc_pbuf1, room);
    if (rc < 0)
        return rc;

    data->ioc_count = (__u32)rc;
    return 0;
}

int LNetCtl(unsigned int command, void *argument)
{
    struct lnet_node *node;
    int rc;

    if (command == IOC_LIBCFS_LNET_DIST)
        return get_distance(argument);
    if (command == IOC_LIBCFS_PING)
        return ping_command(argument);
    node = lnet_enter("LNetCtl", true);
    if (node == NULL)
        return -ENODEV;

    rc = lnet_node_control(node, command, argument);
    lnet_leave(node, node->params.cost_other_ns);
    return rc;
}
