/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Prints the state of a node as YAML, in the layout of `lnetctl ... show` and `lnetctl export`
 * (2.12). */
#include "core/route.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct text {
    FILE *out;
    const struct lnet_node *node;
    int detail; /* 0; 1: -v; 2: -v 2 */
};

static void line(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void line(struct text *text, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vfprintf(text->out, format, arguments);
    va_end(arguments);
    fputc('\n', text->out);
}

static uint32_t sum(const struct lnet_type_counts *counts)
{
    return counts->put + counts->get + counts->reply + counts->ack;
}

/* ---- net ---------------------------------------------------------------------------------------
 */

static void show_types(struct text *text, const char *name, const struct lnet_type_counts *counts)
{
    line(text, "          %s:", name);
    line(text, "              put: %u", counts->put);
    line(text, "              get: %u", counts->get);
    line(text, "              reply: %u", counts->reply);
    line(text, "              ack: %u", counts->ack);
    line(text, "              hello: 0");
}

static void show_statistics(struct text *text, const struct lnet_type_counts *sent,
                            const struct lnet_type_counts *received,
                            const struct lnet_type_counts *dropped)
{
    line(text, "          statistics:");
    line(text, "              send_count: %u", sum(sent));
    line(text, "              recv_count: %u", sum(received));
    line(text, "              drop_count: %u", sum(dropped));
    if (text->detail > 1) {
        show_types(text, "sent_stats", sent);
        show_types(text, "received_stats", received);
        show_types(text, "dropped_stats", dropped);
    }
}

static void show_ni(struct text *text, const struct lnet_ni *ni)
{
    bool lo = ni->lnd->type == LOLND;

    line(text, "        - nid: %s", libcfs_nid2str(ni->nid));
    line(text, "          status: %s", ni->status == LNET_NI_STATUS_DOWN ? "down" : "up");
    if (!lo) {
        line(text, "          interfaces:");
        line(text, "              0: %s", ni->interface.name);
    }
    if (text->detail == 0)
        return;
    show_statistics(text, &ni->sent, &ni->received, &ni->dropped);
    if (text->detail > 1) {
        line(text, "          health stats:");
        line(text, "              health value: %d", ni->health);
        line(text, "              interrupts: %u", ni->failures.interrupt);
        line(text, "              dropped: %u", ni->failures.dropped);
        line(text, "              aborted: %u", ni->failures.aborted);
        line(text, "              no route: %u", ni->failures.no_route);
        line(text, "              timeouts: %u", ni->failures.timeout);
        line(text, "              error: %u", ni->failures.error);
    }
    line(text, "          tunables:");
    line(text, "              peer_timeout: %d", ni->peer_timeout_s);
    line(text, "              peer_credits: %d", ni->peer_credits);
    line(text, "              peer_buffer_credits: %d", ni->peer_buffer_credits);
    line(text, "              credits: %d", ni->credits);
    line(text, "          dev cpt: 0");
    line(text, "          CPT: \"[0]\"");
}

static void show_net(struct text *text)
{
    const struct lnet_net *net;
    const struct lnet_ni *ni;

    line(text, "net:");
    list_for_each_entry (net, &text->node->instance->nets, on_node) {
        line(text, "    - net type: %s", libcfs_net2str(net->id));
        line(text, "      local NI(s):");
        list_for_each_entry (ni, &net->nis, on_net)
            show_ni(text, ni);
    }
}

/* ---- peer --------------------------------------------------------------------------------------
 */

static uint32_t waiting(const struct list_head *messages)
{
    const struct list_head *at;
    uint32_t count = 0;

    for (at = messages->next; at != messages; at = at->next)
        count++;
    return count;
}

static void show_peer_ni(struct text *text, const struct lnet_peer_ni *peer)
{
    line(text, "        - nid: %s", libcfs_nid2str(peer->nid));
    line(text, "          state: %s", lnet_peer_state_text(peer));
    if (text->detail == 0)
        return;
    line(text, "          max_ni_tx_credits: %d",
         peer->net != NULL && !list_empty(&peer->net->nis)
             ? list_first_entry(&peer->net->nis, struct lnet_ni, on_net)->peer_credits
             : 0);
    line(text, "          available_tx_credits: %d", peer->tx_credits);
    line(text, "          min_tx_credits: %d", peer->tx_credits_min);
    line(text, "          tx_q_num_of_buf: %u", waiting(&peer->tx_delayed));
    line(text, "          available_rtr_credits: %d", peer->router_credits);
    line(text, "          min_rtr_credits: %d", peer->router_credits_min);
    show_statistics(text, &peer->sent, &peer->received, &peer->dropped);
    if (text->detail > 1) {
        line(text, "          health stats:");
        line(text, "              health value: %d", peer->health);
        line(text, "              dropped: %u", peer->failures.dropped);
        line(text, "              timeout: %u", peer->failures.timeout);
        line(text, "              error: %u", peer->failures.error);
        line(text, "              network timeout: %u", peer->failures.network_timeout);
    }
}

static void show_peer(struct text *text)
{
    const struct lnet_peer *peer;
    const struct lnet_peer_ni *peer_ni;

    line(text, "peer:");
    list_for_each_entry (peer, &text->node->instance->peers, on_node) {
        line(text, "    - primary nid: %s", libcfs_nid2str(peer->primary));
        line(text, "      Multi-Rail: %s", peer->multi_rail ? "True" : "False");
        line(text, "      peer ni:");
        list_for_each_entry (peer_ni, &peer->nis, on_peer)
            show_peer_ni(text, peer_ni);
    }
}

/* ---- route, routing
 * ------------------------------------------------------------------------------ */

static void show_route(struct text *text)
{
    const struct lnet_remote_net *net;
    const struct lnet_route *route;

    line(text, "route:");
    list_for_each_entry (net, &text->node->instance->remote_nets, on_node) {
        list_for_each_entry (route, &net->routes, on_net) {
            line(text, "    - net: %s", libcfs_net2str(net->id));
            line(text, "      gateway: %s", libcfs_nid2str(route->gateway->peer->nid));
            if (text->detail == 0)
                continue;
            line(text, "      hop: %d", (int)route->hops); /* -1: not said */
            line(text, "      priority: %u", route->priority);
            line(text, "      state: %s", lnet_route_alive(route) ? "up" : "down");
        }
    }
}

static void show_routing(struct text *text)
{
    static const char *const names[LNET_POOLS] = {"tiny", "small", "large"};
    const struct lnet_instance *instance = text->node->instance;
    int i;

    line(text, "routing:");
    if (instance->pools != NULL) {
        line(text, "    - cpt[0]:");
        for (i = 0; i < LNET_POOLS; i++) {
            const struct lnet_router_pool *pool = &instance->pools[i];

            line(text, "          %s:", names[i]);
            line(text, "              npages: %u", pool->pages);
            line(text, "              nbuffers: %d", pool->total);
            line(text, "              credits: %d", pool->credits);
            line(text, "              mincredits: %d", pool->credits_min);
        }
    }
    line(text, "    - enable: %d", instance->routing);
    if (instance->pools == NULL)
        return;
    line(text, "buffers:");
    for (i = 0; i < LNET_POOLS; i++)
        line(text, "    %s: %d", names[i], instance->pools[i].total);
}

/* ---- statistics, global
 * -------------------------------------------------------------------------- */

static void show_stats(struct text *text)
{
    struct lnet_counters counters;
    const struct lnet_counters_common *common = &counters.lct_common;
    const struct lnet_counters_health *health = &counters.lct_health;

    lnet_counters_since_reset(text->node, &counters);
    line(text, "statistics:");
    line(text, "    msgs_alloc: %u", common->lcc_msgs_alloc);
    line(text, "    msgs_max: %u", common->lcc_msgs_max);
    line(text, "    rst_alloc: %u", health->lch_rst_alloc);
    line(text, "    errors: %u", common->lcc_errors);
    line(text, "    send_count: %u", common->lcc_send_count);
    line(text, "    resend_count: %u", health->lch_resend_count);
    line(text, "    response_timeout_count: %u", health->lch_response_timeout_count);
    line(text, "    local_interrupt_count: %u", health->lch_local_interrupt_count);
    line(text, "    local_dropped_count: %u", health->lch_local_dropped_count);
    line(text, "    local_aborted_count: %u", health->lch_local_aborted_count);
    line(text, "    local_no_route_count: %u", health->lch_local_no_route_count);
    line(text, "    local_timeout_count: %u", health->lch_local_timeout_count);
    line(text, "    local_error_count: %u", health->lch_local_error_count);
    line(text, "    remote_dropped_count: %u", health->lch_remote_dropped_count);
    line(text, "    remote_error_count: %u", health->lch_remote_error_count);
    line(text, "    remote_timeout_count: %u", health->lch_remote_timeout_count);
    line(text, "    network_timeout_count: %u", health->lch_network_timeout_count);
    line(text, "    recv_count: %u", common->lcc_recv_count);
    line(text, "    route_count: %u", common->lcc_route_count);
    line(text, "    drop_count: %u", common->lcc_drop_count);
    line(text, "    send_length: %llu", (unsigned long long)common->lcc_send_length);
    line(text, "    recv_length: %llu", (unsigned long long)common->lcc_recv_length);
    line(text, "    route_length: %llu", (unsigned long long)common->lcc_route_length);
    line(text, "    drop_length: %llu", (unsigned long long)common->lcc_drop_length);
}

static void show_global(struct text *text)
{
    const struct lnet_params *params = &text->node->params;

    line(text, "global:");
    line(text, "    numa_range: %d", params->lnet_numa_range);
    line(text, "    max_intf: %d", params->lnet_interfaces_max);
    line(text, "    discovery: %d", params->lnet_peer_discovery_disabled == 0);
    line(text, "    drop_asym_route: %d", params->lnet_drop_asym_route);
    line(text, "    retry_count: %d", params->lnet_retry_count);
    line(text, "    transaction_timeout: %d", params->lnet_transaction_timeout);
    line(text, "    health_sensitivity: %d", params->lnet_health_sensitivity);
    line(text, "    recovery_interval: %d", params->lnet_recovery_interval);
}

static void show_export(struct text *text)
{
    text->detail = 1;
    show_net(text);
    show_route(text);
    show_routing(text);
    show_peer(text);
    show_global(text);
}

/* ---- commands
 * ------------------------------------------------------------------------------------ */

static const struct command {
    const char *object;
    void (*show)(struct text *text);
    int detail; /* the most that it has */
} commands[] = {
    {"net", show_net, 2},         {"peer", show_peer, 2},   {"route", show_route, 1},
    {"routing", show_routing, 0}, {"stats", show_stats, 0}, {"global", show_global, 0},
    {"export", show_export, 0},
};

static const char *next_word(const char **at, char *word, size_t room)
{
    size_t length;

    *at += strspn(*at, " \t");
    length = strcspn(*at, " \t");
    if (length == 0 || length >= room)
        return NULL;
    memcpy(word, *at, length);
    word[length] = '\0';
    *at += length;
    return word;
}

/* NULL: no such command. */
static const struct command *parse(const char *text, int *detail)
{
    const struct command *command = NULL;
    char word[32];
    size_t i;

    *detail = 0;
    if (next_word(&text, word, sizeof(word)) == NULL)
        return NULL;
    for (i = 0; i < sizeof(commands) / sizeof(*commands); i++)
        if (strcmp(word, commands[i].object) == 0)
            command = &commands[i];
    if (command == NULL)
        return NULL;
    if (command->show != show_export &&
        (next_word(&text, word, sizeof(word)) == NULL || strcmp(word, "show") != 0))
        return NULL;
    if (next_word(&text, word, sizeof(word)) != NULL) {
        if (command->detail == 0 || (strcmp(word, "-v") != 0 && strcmp(word, "--verbose") != 0))
            return NULL;
        *detail = 1;
        if (next_word(&text, word, sizeof(word)) != NULL)
            *detail = word[0] >= '0' && word[0] <= '3' && word[1] == '\0' ? word[0] - '0' : -1;
        if (*detail > command->detail)
            *detail = command->detail;
    }
    return *detail >= 0 && text[strspn(text, " \t")] == '\0' ? command : NULL;
}

bool lnet_show_known(const char *text)
{
    int detail;

    return parse(text, &detail) != NULL;
}

char *lnet_node_show(struct lnet_node *node, const char *words)
{
    struct text text = {.node = node};
    const struct command *command = parse(words, &text.detail);
    char *result = NULL;
    size_t length = 0;

    if (command == NULL)
        return NULL;
    text.out = open_memstream(&result, &length);
    if (text.out == NULL)
        return NULL;
    lnet_host_lock(node);
    if (node->instance == NULL)
        line(&text, "show:\n    - %s:\n          errno: -100\n          descr: \"LNet is down\"",
             command->object);
    else
        command->show(&text);
    lnet_host_unlock(node);
    fclose(text.out);
    return result;
}
