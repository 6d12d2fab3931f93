/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Names of parameters, to find those that do not exist. */
#include "core/internal.h"

#include <string.h>

/* Names of 2.12 that the tables do not have: texts, and parameters without an effect here. */
static const char of_lnet[] =
    " networks ip2nets routes forwarding accept accept_port accept_backlog accept_timeout "
    "config_on_load use_tcp_bonding rnet_htable_size peer control warning ";
static const char of_socklnd[] =
    " sock_timeout credits peer_credits peer_buffer_credits peer_timeout nscheds nconnds "
    "nconnds_max "
    "min_reconnectms max_reconnectms eager_ack typed_conns min_bulk tx_buffer_size rx_buffer_size "
    "nagle round_robin keepalive keepalive_idle keepalive_count keepalive_intvl enable_csum "
    "inject_csum_error nonblk_zcack zc_min_payload zc_recv zc_recv_min_nfrags backoff_init "
    "backoff_max protocol ";
static const char of_o2iblnd[] =
    " service cksum timeout nscheds conns_per_peer ntx credits peer_credits peer_credits_hiw "
    "peer_buffer_credits peer_timeout ipif_name retry_count rnr_retry_count keepalive ib_mtu "
    "concurrent_sends use_fastreg_gaps map_on_demand fmr_pool_size fmr_flush_trigger fmr_cache "
    "dev_failover require_privileged_port use_privileged_port wrq_sge ";

static bool is_word(const char *list, const char *name)
{
    const char *at = list;
    size_t length = strlen(name);

    if (length == 0 || strchr(name, ' ') != NULL)
        return false;
    while ((at = strstr(at, name)) != NULL) {
        if (at[-1] == ' ' && at[length] == ' ')
            return true;
        at++;
    }
    return false;
}

static bool is_in_table(const struct lnet_param *table, size_t count, const char *name)
{
    size_t i;

    for (i = 0; i < count; i++) {
        if (strcmp(table[i].name, name) == 0)
            return true;
    }
    return false;
}

static bool is_of_driver(uint32_t type, const char *list, const char *name)
{
    const struct lnet_lnd *lnd = lnet_lnd_find(type);

    return lnd == NULL || is_word(list, name) || is_in_table(lnd->params, lnd->param_count, name);
}

bool lnet_param_known(const char *setting)
{
    const char *dot = strchr(setting, '.');
    size_t module = dot != NULL ? (size_t)(dot - setting) : 0;
    const char *name = dot != NULL ? dot + 1 : setting;
    const struct lnet_param *table;
    size_t count;

    if (dot == NULL || (module == 4 && memcmp(setting, "lnet", 4) == 0)) {
        table = lnet_param_table(&count);
        return is_word(of_lnet, name) || is_in_table(table, count, name);
    }
    if (module == 8 && memcmp(setting, "ksocklnd", 8) == 0)
        return is_of_driver(SOCKLND, of_socklnd, name);
    if (module == 8 && memcmp(setting, "ko2iblnd", 8) == 0)
        return is_of_driver(O2IBLND, of_o2iblnd, name);
    return true;
}
