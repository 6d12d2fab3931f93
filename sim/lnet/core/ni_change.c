/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * NIs that come and go while LNet runs. What waits for a removed NI ends at once: messages that it
 * was to send fail with -ESHUTDOWN, messages that came over it are dropped. Messages that a router
 * is already sending on may still name it, so its structure stays until none does.
 */
#include "core/ni.h"

#include <stdlib.h>
#include <string.h>

#include "core/nidstr.h"
#include "core/route.h"

/* ---- removing -------------------------------------------------------------------------------- */

static bool is_named(const struct lnet_instance *instance, const struct lnet_ni *ni)
{
    const struct lnet_msg *msg;

    list_for_each_entry (msg, &instance->messages, on_node) {
        if (msg->rx_ni == ni || msg->tx_ni == ni)
            return true;
    }
    return false;
}

static void free_unnamed(struct lnet_instance *instance)
{
    struct lnet_ni *ni, *next;

    list_for_each_entry_safe (ni, next, &instance->removed_nis, on_net) {
        if (!is_named(instance, ni))
            lnet_ni_free(ni);
    }
}

static void remove_ni(struct lnet_ni *ni)
{
    struct lnet_node *node = ni->node;
    struct lnet_instance *instance = node->instance;
    uint32_t i;

    ni->shutting_down = true;
    for (i = 0; i < LNET_PORTALS; i++) {
        if (instance->portals[i] != NULL)
            lnet_lazy_drop(node, instance->portals[i], ni);
    }
    lnet_delay_flush_ni(ni);
    lnet_router_flush_ni(ni);
    lnet_ni_stop(ni);
    lnet_records_lost(NULL, ni->nid);
    list_del_init(&ni->on_recovery);
    list_move_tail(&ni->on_net, &instance->removed_nis);
    lnet_post_ready(node);
}

/* The routes that begin on a network end with it. */
static void remove_routes(struct lnet_net *net)
{
    struct lnet_instance *instance = net->node->instance;
    struct lnet_gateway *gateway, *next;

    list_for_each_entry_safe (gateway, next, &instance->gateways, on_node) {
        if (gateway->peer->net == net)
            (void)lnet_route_delete(net->node, LNET_NIDNET(LNET_NID_ANY), gateway->peer->nid);
    }
}

static void remove_net(struct lnet_net *net)
{
    while (!list_empty(&net->nis))
        remove_ni(list_first_entry(&net->nis, struct lnet_ni, on_net));
    remove_routes(net);
    lnet_peers_net_removed(net);
    list_del(&net->on_node);
    free(net);
}

/* ---- adding ---------------------------------------------------------------------------------- */

static bool has_interface(struct lnet_instance *instance, uint32_t id, const char *name)
{
    const struct lnet_net *net = lnet_net_by_id(instance, id);
    const struct lnet_ni *ni;

    if (net == NULL)
        return false;
    list_for_each_entry (ni, &net->nis, on_net) {
        if (strcmp(ni->interface.name, name) == 0)
            return true;
    }
    return false;
}

static uint32_t count_nis(const struct lnet_net *net)
{
    const struct lnet_ni *ni;
    uint32_t count = 0;

    if (net != NULL) {
        list_for_each_entry (ni, &net->nis, on_net)
            count++;
    }
    return count;
}

static int add_one(struct lnet_node *node, uint32_t id, const char *name,
                   const struct lnet_ioctl_config_lnd_cmn_tunables *tunables)
{
    struct lnet_interface interface;

    if (LNET_NETTYP(id) == LOLND || lnet_lnd_find(LNET_NETTYP(id)) == NULL)
        return -EINVAL;
    if (!lnet_interface_get(node, LNET_NETTYP(id), name, &interface))
        return -ENODEV;
    if (has_interface(node->instance, id, interface.name))
        return -EEXIST;
    return lnet_ni_start(node, id, interface.name, tunables);
}

/* The list of NIs has changed; `id`: of the network that has a new one, or 0. */
static int announce(struct lnet_node *node, uint32_t id)
{
    struct lnet_net *net = id != 0 ? lnet_net_by_id(node->instance, id) : NULL;
    int rc;

    node->instance->ni_changes++;
    if (net != NULL)
        lnet_peers_net_added(net);
    rc = lnet_ping_update(node);
    if (rc == 0)
        lnet_discovery_push_all(node);
    free_unnamed(node->instance);
    return rc;
}

static int add_net(struct lnet_node *node, const struct lnet_config_net *wanted,
                   const struct lnet_ioctl_config_lnd_cmn_tunables *tunables)
{
    struct lnet_instance *instance = node->instance;
    uint32_t before = count_nis(lnet_net_by_id(instance, wanted->id)), i;
    struct lnet_net *net;
    int rc = 0;

    if (lnet_remote_net_find(instance, wanted->id) != NULL)
        return -EUSERS;
    if (wanted->interface_count == 0)
        rc = add_one(node, wanted->id, NULL, tunables);
    for (i = 0; rc == 0 && i < wanted->interface_count; i++)
        rc = add_one(node, wanted->id, wanted->interfaces[i], tunables);
    if (rc == 0)
        return announce(node, wanted->id);

    /* Those that were started before the one that failed go. */
    net = lnet_net_by_id(instance, wanted->id);
    for (i = count_nis(net); i > before; i--)
        remove_ni(list_entry(net->nis.prev, struct lnet_ni, on_net));
    if (net != NULL && before == 0)
        remove_net(net);
    free_unnamed(instance);
    return rc;
}

int lnet_net_add(struct lnet_node *node, const char *text,
                 const struct lnet_ioctl_config_lnd_cmn_tunables *tunables)
{
    struct lnet_config_net *nets = NULL;
    uint32_t count = 0;
    char *error = NULL, *copy;
    int rc;

    if (node->instance == NULL)
        return -EINVAL;
    copy = strdup(text);
    if (copy == NULL)
        return -ENOMEM;
    rc = lnet_config_parse(copy, &nets, &count, &error);
    if (rc == 0)
        rc = count == 1 ? add_net(node, &nets[0], tunables) : -EINVAL;
    free(nets);
    free(error);
    free(copy);
    return rc;
}

int lnet_ni_add(struct lnet_node *node, uint32_t net, const char *interface,
                const struct lnet_ioctl_config_lnd_cmn_tunables *tunables)
{
    struct lnet_config_net wanted = {.id = net};

    if (node->instance == NULL)
        return -EINVAL;
    if (interface != NULL && *interface != '\0') {
        if (strlen(interface) >= sizeof(wanted.interfaces[0]))
            return -EINVAL;
        lnet_copy_text(wanted.interfaces[wanted.interface_count++], sizeof(wanted.interfaces[0]),
                       interface);
    }
    return add_net(node, &wanted, tunables);
}

static bool is_busy(const struct lnet_ni *ni)
{
    return ni->lnd->busy != NULL && ni->lnd->busy(ni);
}

int lnet_net_delete(struct lnet_node *node, uint32_t id)
{
    const struct lnet_ni *ni;
    struct lnet_net *net;

    if (node->instance == NULL || LNET_NETTYP(id) == LOLND)
        return -EINVAL;
    net = lnet_net_by_id(node->instance, id);
    if (net == NULL)
        return -ENOENT;
    list_for_each_entry (ni, &net->nis, on_net) {
        if (is_busy(ni))
            return -EAGAIN;
    }
    remove_net(net);
    return announce(node, 0);
}

int lnet_ni_delete(struct lnet_node *node, lnet_nid_t nid)
{
    struct lnet_ni *ni;
    struct lnet_net *net;

    if (LNET_NIDADDR(nid) == 0)
        return lnet_net_delete(node, LNET_NIDNET(nid));
    if (node->instance == NULL || LNET_NETTYP(LNET_NIDNET(nid)) == LOLND)
        return -EINVAL;
    ni = lnet_ni_by_nid(node->instance, nid);
    if (ni == NULL)
        return -ENOENT;
    if (is_busy(ni))
        return -EAGAIN;
    net = ni->net;
    remove_ni(ni);
    if (list_empty(&net->nis))
        remove_net(net);
    return announce(node, 0);
}

/* ---- ioctls ---------------------------------------------------------------------------------- */

static int control_net(struct lnet_node *node, bool add, struct lnet_ioctl_config_data *config)
{
    const struct lnet_ioctl_config_lnd_cmn_tunables tunables = {
        .lct_peer_timeout = config->cfg_config_u.cfg_net.net_peer_timeout,
        .lct_peer_tx_credits = config->cfg_config_u.cfg_net.net_peer_tx_credits,
        .lct_peer_rtr_credits = config->cfg_config_u.cfg_net.net_peer_rtr_credits,
        .lct_max_tx_credits = config->cfg_config_u.cfg_net.net_max_tx_credits};
    char *text = config->cfg_config_u.cfg_net.net_intf;
    int rc;

    if (config->cfg_hdr.ioc_len < sizeof(*config))
        return -EINVAL;
    if (add)
        return memchr(text, '\0', LNET_MAX_STR_LEN) != NULL ? lnet_net_add(node, text, &tunables)
                                                            : -EINVAL;
    rc = lnet_net_delete(node, config->cfg_net);
    return rc == -ENOENT ? -EINVAL : rc;
}

static int control_ni(struct lnet_node *node, bool add, struct lnet_ioctl_config_ni *config)
{
    struct lnet_ioctl_config_lnd_tunables tunables;
    const struct lnet_ioctl_config_lnd_cmn_tunables *common = NULL;
    uint32_t i;

    if (config->lic_cfg_hdr.ioc_len < sizeof(*config))
        return -EINVAL;
    if (!add)
        return lnet_ni_delete(node, config->lic_nid);
    if (config->lic_cfg_hdr.ioc_len >= sizeof(*config) + sizeof(tunables)) {
        memcpy(&tunables, config->lic_bulk, sizeof(tunables));
        common = &tunables.lt_cmn;
    }
    if (config->lic_legacy_ip2nets[0] != '\0' ||
        memchr(config->lic_ni_intf[0], '\0', LNET_MAX_STR_LEN) == NULL)
        return -EINVAL;
    if (config->lic_ncpts > LNET_MAX_SHOW_NUM_CPT)
        return -EINVAL;
    for (i = 0; i < config->lic_ncpts; i++) {
        if (config->lic_cpts[i] != 0)
            return -EINVAL; /* there is one partition */
    }
    return lnet_ni_add(node, LNET_NIDNET(config->lic_nid), config->lic_ni_intf[0], common);
}

int lnet_ni_control(struct lnet_node *node, unsigned command, void *argument)
{
    switch (command) {
    case IOC_LIBCFS_ADD_NET:
    case IOC_LIBCFS_DEL_NET:
        return control_net(node, command == IOC_LIBCFS_ADD_NET, argument);
    case IOC_LIBCFS_ADD_LOCAL_NI:
    case IOC_LIBCFS_DEL_LOCAL_NI:
        return control_ni(node, command == IOC_LIBCFS_ADD_LOCAL_NI, argument);
    default:
        return 1;
    }
}
