/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Networks and NIs of a node: finding, starting, stopping. */
#include "core/ni.h"

#include <stdlib.h>
#include <string.h>
#include "core/nidstr.h"

#define DRIVERS_MAX 16

static const struct lnet_lnd *drivers[DRIVERS_MAX] = {&lnet_lnd_lo};
static uint32_t driver_count = 1;

void lnet_lnd_register(const struct lnet_lnd *lnd)
{
    uint32_t i;

    for (i = 0; i < driver_count; i++) {
        if (drivers[i]->type == lnd->type) {
            drivers[i] = lnd;
            return;
        }
    }
    assert(driver_count < DRIVERS_MAX);
    drivers[driver_count++] = lnd;
}

const struct lnet_lnd *lnet_lnd_find(uint32_t type)
{
    uint32_t i;

    for (i = 0; i < driver_count; i++) {
        if (drivers[i]->type == type)
            return drivers[i];
    }
    return NULL;
}

struct lnet_net *lnet_net_by_id(struct lnet_instance *instance, uint32_t id)
{
    struct lnet_net *net;

    list_for_each_entry (net, &instance->nets, on_node) {
        if (net->id == id)
            return net;
    }
    return NULL;
}

struct lnet_ni *lnet_ni_by_nid(struct lnet_instance *instance, lnet_nid_t nid)
{
    struct lnet_net *net = lnet_net_by_id(instance, LNET_NIDNET(nid));
    struct lnet_ni *ni;

    if (net == NULL)
        return NULL;

    list_for_each_entry (ni, &net->nis, on_net) {
        if (ni->nid == nid)
            return ni;
    }
    return NULL;
}

struct lnet_ni *lnet_ni_by_index(struct lnet_instance *instance, uint32_t index)
{
    struct lnet_net *net;
    struct lnet_ni *ni;

    list_for_each_entry (net, &instance->nets, on_node) {
        list_for_each_entry (ni, &net->nis, on_net) {
            if (index-- == 0)
                return ni;
        }
    }
    return NULL;
}

/* ---- starting -------------------------------------------------------------------------------- */

static struct lnet_net *net_get(struct lnet_node *node, uint32_t id, const struct lnet_lnd *lnd)
{
    struct lnet_net *net = lnet_net_by_id(node->instance, id);

    if (net != NULL)
        return net;
    net = calloc(1, sizeof(*net));
    if (net == NULL)
        return NULL;

    net->id = id;
    net->lnd = lnd;
    net->node = node;
    INIT_LIST_HEAD(&net->nis);
    list_add_tail(&net->on_node, &node->instance->nets);
    return net;
}

bool lnet_ni_tunables(const struct lnet_node *node, struct lnet_ni *ni, char **error)
{
    const struct lnet_lnd *lnd = ni->lnd;
    const struct lnet_param common[] = {
        {"credits", lnd->credits, 1, 1 << 24, ""},
        {"peer_credits", lnd->peer_credits, 1, 1 << 16, ""},
        {"peer_buffer_credits", lnd->peer_buffer_credits, 0, 1 << 20, ""},
        {"peer_timeout", lnd->peer_timeout_s, -1, 1 << 20, ""},
    };
    int values[4];

    if (lnd->type == LOLND)
        return true;
    if (!lnet_params_read_driver(lnd->module, common, 4, node->settings, node->setting_count,
                                 values, error))
        return false;
    ni->credits = values[0];
    ni->peer_credits = values[1] < values[0] ? values[1] : values[0];
    ni->peer_buffer_credits = values[2];
    ni->peer_timeout_s = values[3];
    if (lnd->param_count == 0)
        return true;
    ni->driver_values = calloc(lnd->param_count, sizeof(ni->driver_values[0]));
    if (ni->driver_values == NULL)
        return false;

    return lnet_params_read_driver(lnd->module, lnd->params, lnd->param_count, node->settings,
                                   node->setting_count, ni->driver_values, error);
}

const struct lnet_interface *lnet_interface_find(const struct lnet_node *node, uint32_t lnd_type,
                                                 const char *name)
{
    uint32_t i;

    for (i = 0; i < node->interface_count; i++) {
        const struct lnet_interface *interface = &node->interfaces[i];

        if (interface->lnd_type == lnd_type && (name == NULL || strcmp(interface->name, name) == 0))
            return interface;
    }
    return NULL;
}

bool lnet_interface_get(const struct lnet_node *node, uint32_t lnd_type, const char *name,
                        struct lnet_interface *interface)
{
    const struct lnet_interface *known = lnet_interface_find(node, lnd_type, name);

    if (known == NULL)
        return name != NULL && lnet_host_interface(lnd_type, name, interface);
    *interface = *known;
    return true;
}

void lnet_ni_free(struct lnet_ni *ni)
{
    list_del(&ni->on_net);
    free(ni->driver_values);
    free(ni);
}

/* Values that a command gives instead of the driver's; -1: the driver's. */
static int tune(struct lnet_ni *ni, const struct lnet_ioctl_config_lnd_cmn_tunables *tunables)
{
    if (tunables == NULL)
        return 0;
    if (tunables->lct_max_tx_credits == 0 || tunables->lct_peer_tx_credits == 0)
        return -EINVAL;
    if (tunables->lct_max_tx_credits > 0)
        ni->credits = tunables->lct_max_tx_credits;
    if (tunables->lct_peer_tx_credits > 0)
        ni->peer_credits = tunables->lct_peer_tx_credits;
    if (ni->peer_credits > ni->credits)
        ni->peer_credits = ni->credits;
    if (tunables->lct_peer_rtr_credits >= 0)
        ni->peer_buffer_credits = tunables->lct_peer_rtr_credits;
    if (tunables->lct_peer_timeout >= 0)
        ni->peer_timeout_s = tunables->lct_peer_timeout;
    return 0;
}

int lnet_ni_start(struct lnet_node *node, uint32_t id, const char *interface,
                  const struct lnet_ioctl_config_lnd_cmn_tunables *tunables)
{
    const struct lnet_lnd *lnd = lnet_lnd_find(LNET_NETTYP(id));
    struct lnet_interface found = {0};
    struct lnet_net *net;
    struct lnet_ni *ni;
    char *error = NULL;
    int rc;

    if (lnd == NULL)
        return -EINVAL;
    if (lnd->type != LOLND && !lnet_interface_get(node, lnd->type, interface, &found))
        return -ENODEV;
    net = net_get(node, id, lnd);
    ni = calloc(1, sizeof(*ni));
    if (net == NULL || ni == NULL) {
        free(ni);
        return -ENOMEM;
    }
    ni->node = node;
    ni->net = net;
    ni->lnd = lnd;
    ni->nid = LNET_MKNID(id, 0);
    ni->interface = found;
    ni->status = LNET_NI_STATUS_UP;
    ni->last_alive = sim_now();
    ni->health = LNET_MAX_HEALTH_VALUE;
    INIT_LIST_HEAD(&ni->on_net);
    INIT_LIST_HEAD(&ni->tx_delayed);
    INIT_LIST_HEAD(&ni->on_recovery);
    rc = lnet_ni_tunables(node, ni, &error) ? tune(ni, tunables) : -EINVAL;
    free(error);
    ni->tx_credits = ni->credits;
    ni->tx_credits_min = ni->credits;
    if (rc == 0)
        rc = lnd->startup(ni);
    if (rc != 0) {
        lnet_ni_free(ni);
        return rc;
    }
    ni->tx_credits = ni->credits;
    ni->tx_credits_min = ni->credits;
    list_add_tail(&ni->on_net, &net->nis);
    if (lnd->type == LOLND)
        node->instance->lo = ni;
    return 0;
}

int lnet_nis_start(struct lnet_node *node)
{
    struct lnet_config_net *nets = NULL;
    uint32_t count = 0, i, j;
    char *error = NULL;
    int rc = lnet_ni_start(node, LNET_MKNET(LOLND, 0), NULL, NULL);

    if (rc == 0 && !node->without_settings)
        rc = lnet_config_networks(node, &nets, &count, &error);
    for (i = 0; rc == 0 && i < count; i++) {
        if (nets[i].interface_count == 0)
            rc = lnet_ni_start(node, nets[i].id, NULL, NULL);
        for (j = 0; rc == 0 && j < nets[i].interface_count; j++)
            rc = lnet_ni_start(node, nets[i].id, nets[i].interfaces[j], NULL);
    }
    free(nets);
    free(error);
    return rc;
}

/* ---- stopping -------------------------------------------------------------------------------- */

void lnet_ni_stop(struct lnet_ni *ni)
{
    ni->shutting_down = true;
    lnet_flush_ni(ni, -ESHUTDOWN);
    ni->lnd->shutdown(ni);
    lnet_flush_ni(ni, -ESHUTDOWN);
    if (ni->lnd->type != LOLND && ni->tx_credits != ni->credits)
        ni->node->instance->leaks.credits++;
}

void lnet_nis_stop(struct lnet_node *node)
{
    struct lnet_instance *instance = node->instance;
    struct lnet_net *net;
    struct lnet_ni *ni;

    /* The last one first; lo carries what the others still finish. */
    for (net = list_entry(instance->nets.prev, struct lnet_net, on_node);
         &net->on_node != &instance->nets;
         net = list_entry(net->on_node.prev, struct lnet_net, on_node)) {
        list_for_each_entry (ni, &net->nis, on_net)
            lnet_ni_stop(ni);
    }
}

void lnet_nis_free(struct lnet_node *node)
{
    struct lnet_instance *instance = node->instance;
    struct lnet_net *net, *next;

    list_for_each_entry_safe (net, next, &instance->nets, on_node) {
        while (!list_empty(&net->nis))
            lnet_ni_free(list_first_entry(&net->nis, struct lnet_ni, on_net));
        list_del(&net->on_node);
        free(net);
    }
    while (!list_empty(&instance->removed_nis))
        lnet_ni_free(list_first_entry(&instance->removed_nis, struct lnet_ni, on_net));
    instance->lo = NULL;
}
