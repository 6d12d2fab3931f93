/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Commands of LNetCtl that show a state. There is one CPU partition. */
#include "core/control.h"

#include <stdio.h>
#include <string.h>

/* The bits of prcfg_state. */
#define STATE_MULTI_RAIL (1u << 0)
#define STATE_CONFIGURED (1u << 2)
#define STATE_DISCOVERED (1u << 3)
#define STATE_DISCOVERING (1u << 4)

/* ---- NIs ------------------------------------------------------------------------------------- */

static struct lnet_ni *ni_at(struct lnet_node *node, uint32_t index)
{
    return node->instance != NULL ? lnet_ni_by_index(node->instance, index) : NULL;
}

static struct lnet_ioctl_comm_count counts_of(const struct lnet_type_counts *counts)
{
    return (struct lnet_ioctl_comm_count){.ico_get_count = counts->get,
                                          .ico_put_count = counts->put,
                                          .ico_reply_count = counts->reply,
                                          .ico_ack_count = counts->ack};
}

static uint32_t sum(const struct lnet_type_counts *counts)
{
    return counts->put + counts->get + counts->reply + counts->ack;
}

static struct lnet_ioctl_element_stats stats_of(const struct lnet_type_counts *sent,
                                                const struct lnet_type_counts *received,
                                                const struct lnet_type_counts *dropped)
{
    return (struct lnet_ioctl_element_stats){sum(sent), sum(received), sum(dropped)};
}

/* A tunable of ko2iblnd. */
static uint32_t driver_value(const struct lnet_ni *ni, const char *name)
{
    size_t i;

    for (i = 0; i < ni->lnd->param_count; i++) {
        if (strcmp(ni->lnd->params[i].name, name) == 0)
            return (uint32_t)ni->driver_values[i];
    }
    return 0;
}

static struct lnet_ioctl_config_lnd_tunables tunables_of(const struct lnet_ni *ni)
{
    struct lnet_ioctl_config_lnd_tunables tunables = {
        .lt_cmn = {.lct_peer_timeout = ni->peer_timeout_s,
                   .lct_peer_tx_credits = ni->peer_credits,
                   .lct_peer_rtr_credits = ni->peer_buffer_credits,
                   .lct_max_tx_credits = ni->credits}};

    if (ni->lnd->type == O2IBLND) {
        tunables.lt_tun.lnd_tun_u.lnd_o2ib.lnd_peercredits_hiw =
            driver_value(ni, "peer_credits_hiw");
        tunables.lt_tun.lnd_tun_u.lnd_o2ib.lnd_concurrent_sends =
            driver_value(ni, "concurrent_sends");
        tunables.lt_tun.lnd_tun_u.lnd_o2ib.lnd_conns_per_peer = 1;
    }
    return tunables;
}

static void set_name(char *to, const struct lnet_ni *ni)
{
    snprintf(to, LNET_MAX_STR_LEN, "%s", ni->lnd->type == LOLND ? "" : ni->interface.name);
}

static int get_local_ni(struct lnet_node *node, struct lnet_ioctl_config_ni *config)
{
    struct lnet_ioctl_config_lnd_tunables tunables;
    struct lnet_ioctl_element_stats stats;
    struct lnet_ni *ni;

    if (config->lic_cfg_hdr.ioc_len < sizeof(*config) + sizeof(stats) + sizeof(tunables))
        return -EINVAL;
    ni = ni_at(node, config->lic_idx);
    if (ni == NULL)
        return -ENOENT;

    config->lic_nid = ni->nid;
    set_name(config->lic_ni_intf[0], ni);
    config->lic_status = ni->status;
    config->lic_tcp_bonding = 0;
    config->lic_dev_cpt = 0;
    config->lic_ncpts = 1;
    config->lic_cpts[0] = 0;
    stats = stats_of(&ni->sent, &ni->received, &ni->dropped);
    tunables = tunables_of(ni);
    memcpy(config->lic_bulk, &stats, sizeof(stats));
    memcpy(config->lic_bulk + sizeof(stats), &tunables, sizeof(tunables));
    return 0;
}

static int get_net(struct lnet_node *node, struct lnet_ioctl_config_data *config)
{
    struct lnet_ioctl_net_config *more = (void *)config->cfg_bulk;
    struct lnet_ioctl_config_lnd_tunables tunables;
    const struct lnet_ni *ni;

    if (config->cfg_hdr.ioc_len < sizeof(*config) + sizeof(*more))
        return -EINVAL;
    ni = ni_at(node, config->cfg_count);
    if (ni == NULL)
        return -ENOENT;

    config->cfg_nid = ni->nid;
    config->cfg_config_u.cfg_net.net_peer_timeout = ni->peer_timeout_s;
    config->cfg_config_u.cfg_net.net_max_tx_credits = ni->credits;
    config->cfg_config_u.cfg_net.net_peer_tx_credits = ni->peer_credits;
    config->cfg_config_u.cfg_net.net_peer_rtr_credits = ni->peer_buffer_credits;
    config->cfg_config_u.cfg_net.net_interface_count = ni->lnd->type != LOLND;
    config->cfg_ncpts = 1;
    set_name(more->ni_interfaces[0], ni);
    more->ni_status = ni->status;
    more->ni_cpts[0] = 0;
    tunables = tunables_of(ni);
    if (config->cfg_hdr.ioc_len >= sizeof(*config) + sizeof(*more) + sizeof(tunables))
        memcpy(more->cfg_bulk, &tunables, sizeof(tunables));
    return 0;
}

static int get_msg_stats(struct lnet_node *node, struct lnet_ioctl_element_msg_stats *stats)
{
    const struct lnet_ni *ni;

    if (stats->im_hdr.ioc_len != sizeof(*stats))
        return -EINVAL;
    ni = ni_at(node, stats->im_idx);
    if (ni == NULL)
        return -ENOENT;

    stats->im_send_stats = counts_of(&ni->sent);
    stats->im_recv_stats = counts_of(&ni->received);
    stats->im_drop_stats = counts_of(&ni->dropped);
    return 0;
}

static int get_health_stats(struct lnet_node *node, struct lnet_ioctl_local_ni_hstats *stats)
{
    const struct lnet_ni *ni;

    if (stats->hlni_hdr.ioc_len < sizeof(*stats))
        return -EINVAL;
    ni = node->instance != NULL ? lnet_ni_by_nid(node->instance, stats->hlni_nid) : NULL;
    if (ni == NULL)
        return -ENOENT;

    stats->hlni_local_interrupt = ni->failures.interrupt;
    stats->hlni_local_dropped = ni->failures.dropped;
    stats->hlni_local_aborted = ni->failures.aborted;
    stats->hlni_local_no_route = ni->failures.no_route;
    stats->hlni_local_timeout = ni->failures.timeout;
    stats->hlni_local_error = ni->failures.error;
    stats->hlni_health_value = ni->health;
    return 0;
}

static void add_nid(struct lnet_ioctl_recovery_list *list, lnet_nid_t nid)
{
    if (list->rlst_num_nids < LNET_MAX_SHOW_NUM_NID)
        list->rlst_nid_array[list->rlst_num_nids++] = nid;
}

static int get_recovery(struct lnet_node *node, struct lnet_ioctl_recovery_list *list)
{
    const struct lnet_ni *ni;
    const struct lnet_peer_ni *peer_ni;

    if (list->rlst_hdr.ioc_len < sizeof(*list))
        return -EINVAL;
    list->rlst_num_nids = 0;
    if (node->instance == NULL)
        return 0;
    if (list->rlst_type == LNET_HEALTH_TYPE_LOCAL_NI) {
        list_for_each_entry (ni, &node->instance->recovering_nis, on_recovery)
            add_nid(list, ni->nid);
    } else {
        list_for_each_entry (peer_ni, &node->instance->recovering_peers, on_recovery)
            add_nid(list, peer_ni->nid);
    }
    return 0;
}

static int get_numa_range(const struct lnet_node *node, struct lnet_ioctl_set_value *range)
{
    if (range->sv_hdr.ioc_len != sizeof(*range))
        return -EINVAL;
    range->sv_value = (__u32)node->params.lnet_numa_range;
    return 0;
}

static int get_buffers(struct lnet_node *node, struct lnet_ioctl_config_data *config)
{
    struct lnet_ioctl_pool_cfg pools = {.pl_routing = 0};
    const struct lnet_instance *instance = node->instance;
    bool found = instance != NULL && instance->pools != NULL && config->cfg_count == 0;
    int i;

    if (config->cfg_hdr.ioc_len < sizeof(*config) + sizeof(pools))
        return -EINVAL;
    for (i = 0; found && i < LNET_NRBPOOLS; i++) {
        pools.pl_pools[i].pl_npages = instance->pools[i].pages;
        pools.pl_pools[i].pl_nbuffers = (__u32)instance->pools[i].total;
        pools.pl_pools[i].pl_credits = (__u32)instance->pools[i].credits;
        pools.pl_pools[i].pl_mincredits = (__u32)instance->pools[i].credits_min;
    }
    pools.pl_routing = instance != NULL && instance->routing;
    memcpy(config->cfg_bulk, &pools, sizeof(pools));
    return found ? 0 : -ENOENT;
}

/* ---- peers ----------------------------------------------------------------------------------- */

static struct lnet_peer_ni_credit_info credits_of(const struct lnet_peer_ni *peer)
{
    struct lnet_peer_ni_credit_info info = {
        .cr_refcount = 1,
        .cr_peer_tx_credits = peer->tx_credits,
        .cr_peer_min_tx_credits = peer->tx_credits_min,
        .cr_peer_tx_qnob = (__u32)peer->tx_queued_bytes,
        .cr_peer_rtr_credits = peer->router_credits,
        .cr_peer_min_rtr_credits = peer->router_credits_min,
    };

    snprintf(info.cr_aliveness, sizeof(info.cr_aliveness), "%s", lnet_peer_state_text(peer));
    if (peer->net != NULL && !list_empty(&peer->net->nis))
        info.cr_ni_peer_tx_credits =
            list_first_entry(&peer->net->nis, struct lnet_ni, on_net)->peer_credits;
    return info;
}

/* The n-th NID of all peers. */
static int get_peer_info(struct lnet_node *node, struct lnet_ioctl_peer *info)
{
    struct lnet_peer_ni_credit_info *credits = &info->pr_lnd_u.pr_peer_credits;
    uint32_t position = info->pr_count;
    const struct lnet_peer *peer;
    const struct lnet_peer_ni *peer_ni;

    if (info->pr_hdr.ioc_len < sizeof(*info))
        return -EINVAL;
    if (node->instance == NULL || credits->cr_ncpt > 0)
        return -ENOENT;
    list_for_each_entry (peer, &node->instance->peers, on_node) {
        list_for_each_entry (peer_ni, &peer->nis, on_peer) {
            if (position-- > 0)
                continue;
            info->pr_nid = peer_ni->nid;
            *credits = credits_of(peer_ni);
            credits->cr_ncpt = 1;
            return 0;
        }
    }
    credits->cr_ncpt = 1;
    return -ENOENT;
}

static char *put(char *to, const void *from, size_t size)
{
    memcpy(to, from, size);
    return to + size;
}

#define PEER_NI_BYTES                                                                        \
    (sizeof(lnet_nid_t) + sizeof(struct lnet_peer_ni_credit_info) +                          \
     sizeof(struct lnet_ioctl_element_stats) + sizeof(struct lnet_ioctl_element_msg_stats) + \
     sizeof(struct lnet_ioctl_peer_ni_hstats))

static char *put_peer_ni(char *to, const struct lnet_peer_ni *peer)
{
    struct lnet_peer_ni_credit_info credits = credits_of(peer);
    struct lnet_ioctl_element_stats stats = stats_of(&peer->sent, &peer->received, &peer->dropped);
    struct lnet_ioctl_element_msg_stats counts = {.im_send_stats = counts_of(&peer->sent),
                                                  .im_recv_stats = counts_of(&peer->received),
                                                  .im_drop_stats = counts_of(&peer->dropped)};
    struct lnet_ioctl_peer_ni_hstats health = {.hlpni_remote_dropped = peer->failures.dropped,
                                               .hlpni_remote_timeout = peer->failures.timeout,
                                               .hlpni_remote_error = peer->failures.error,
                                               .hlpni_network_timeout =
                                                   peer->failures.network_timeout,
                                               .hlpni_health_value = peer->health};

    to = put(to, &peer->nid, sizeof(peer->nid));
    to = put(to, &credits, sizeof(credits));
    to = put(to, &stats, sizeof(stats));
    to = put(to, &counts, sizeof(counts));
    return put(to, &health, sizeof(health));
}

static uint32_t state_of(const struct lnet_peer *peer)
{
    return (peer->multi_rail ? STATE_MULTI_RAIL : 0) | (peer->configured ? STATE_CONFIGURED : 0) |
           (peer->up_to_date ? STATE_DISCOVERED : 0) |
           (peer->discovery != NULL ? STATE_DISCOVERING : 0);
}

static int get_peer_ni(struct lnet_node *node, struct lnet_ioctl_peer_cfg *config)
{
    const struct lnet_peer_ni *peer_ni;
    const struct lnet_peer *peer;
    uint32_t count = 0, size;
    char *to = config->prcfg_bulk;

    if (config->prcfg_hdr.ioc_len < sizeof(*config))
        return -EINVAL;
    peer_ni =
        node->instance != NULL ? lnet_peer_ni_find(node->instance, config->prcfg_prim_nid) : NULL;
    if (peer_ni == NULL)
        return -ENOENT;
    peer = peer_ni->peer;
    list_for_each_entry (peer_ni, &peer->nis, on_peer)
        count++;
    size = count * (uint32_t)PEER_NI_BYTES;
    if (size > config->prcfg_size) {
        config->prcfg_size = size;
        return -E2BIG;
    }
    if (to == NULL)
        return -EFAULT;
    config->prcfg_prim_nid = config->prcfg_cfg_nid = peer->primary;
    config->prcfg_mr = peer->multi_rail;
    config->prcfg_count = count;
    config->prcfg_size = size;
    config->prcfg_state = state_of(peer);
    list_for_each_entry (peer_ni, &peer->nis, on_peer)
        to = put_peer_ni(to, peer_ni);
    return 0;
}

static int get_peer_list(struct lnet_node *node, struct lnet_ioctl_peer_cfg *config)
{
    struct lnet_process_id id = {.pid = LNET_PID_LUSTRE};
    uint32_t room = config->prcfg_size / (uint32_t)sizeof(id);
    const struct lnet_peer *peer;
    char *to = config->prcfg_bulk;

    if (config->prcfg_hdr.ioc_len < sizeof(*config))
        return -EINVAL;
    config->prcfg_count = 0;
    config->prcfg_size = 0;
    if (node->instance == NULL)
        return 0;
    list_for_each_entry (peer, &node->instance->peers, on_node)
        config->prcfg_count++;
    config->prcfg_size = config->prcfg_count * (uint32_t)sizeof(id);
    if (config->prcfg_count > room)
        return -E2BIG;
    if (to == NULL && config->prcfg_count > 0)
        return -EFAULT;
    list_for_each_entry (peer, &node->instance->peers, on_node) {
        id.nid = peer->primary;
        to = put(to, &id, sizeof(id));
    }
    return 0;
}

int lnet_control_show(struct lnet_node *node, unsigned command, void *argument)
{
    switch (command) {
    case IOC_LIBCFS_GET_NET:
        return get_net(node, argument);
    case IOC_LIBCFS_GET_LOCAL_NI:
        return get_local_ni(node, argument);
    case IOC_LIBCFS_GET_LOCAL_NI_MSG_STATS:
        return get_msg_stats(node, argument);
    case IOC_LIBCFS_GET_LOCAL_HSTATS:
        return get_health_stats(node, argument);
    case IOC_LIBCFS_GET_RECOVERY_QUEUE:
        return get_recovery(node, argument);
    case IOC_LIBCFS_GET_NUMA_RANGE:
        return get_numa_range(node, argument);
    case IOC_LIBCFS_GET_BUF:
        return get_buffers(node, argument);
    case IOC_LIBCFS_GET_PEER_INFO:
        return get_peer_info(node, argument);
    case IOC_LIBCFS_GET_PEER_NI:
        return get_peer_ni(node, argument);
    case IOC_LIBCFS_GET_PEER_LIST:
        return get_peer_list(node, argument);
    default:
        return 1;
    }
}
