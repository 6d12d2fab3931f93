/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The console: sessions, batches, statistics. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "console.h"

/* Sends one RPC to each of the nodes and waits; the first error, of the transfer or of a node. */
int lst_console_ask(struct lst_console *console, struct lst_rpc *rpcs, uint32_t count,
                    enum lst_type type, enum lst_service service)
{
    enum lst_type *types = calloc(count + 1, sizeof(*types));
    int result = 0;
    uint32_t i;

    if (types == NULL)
        return -ENOMEM;
    for (i = 0; i < count; i++) {
        types[i] = type;
        rpcs[i].service = service;
        rpcs[i].request.features = console->features;
    }
    lst_node_send_all(console->node, rpcs, count, types);
    free(types);
    for (i = 0; i < count; i++) {
        int status = rpcs[i].status != 0 ? rpcs[i].status : -(int)rpcs[i].reply.status;

        if (result == 0)
            result = status;
        rpcs[i].status = status;
    }
    return result;
}

struct lst_rpc *lst_console_rpcs(const struct lst_group *group)
{
    struct lst_rpc *rpcs = calloc(group->count + 1, sizeof(*rpcs));
    uint32_t i;

    for (i = 0; rpcs != NULL && i < group->count; i++)
        rpcs[i].peer = group->ids[i];
    return rpcs;
}

/* ---- sessions -------------------------------------------------------------------------------- */

struct lst_console *lst_session_new(struct lst_node *node, const char *name, uint32_t features,
                                    bool force)
{
    struct lst_console *console;
    struct lnet_process_id id;

    if (strlen(name) >= LST_NAME_BYTES || LNetGetId(1, &id) != 0)
        return NULL;
    console = calloc(1, sizeof(*console));
    if (console == NULL)
        return NULL;
    console->node = node;
    console->features = features & LST_FEATURE_BYTES;
    console->force = force;
    console->id = (struct lst_session_id){id.nid, (int64_t)(port_now() / 1000000u)};
    memcpy(console->name, name, strlen(name) + 1);
    INIT_LIST_HEAD(&console->groups);
    INIT_LIST_HEAD(&console->batches);
    return console;
}

int lst_session_end(struct lst_console *console)
{
    struct lst_group *all = lst_console_all_nodes(console);
    int rc = -ENOMEM;
    uint32_t i;

    if (all != NULL) {
        struct lst_rpc *rpcs = lst_console_rpcs(all);

        for (i = 0; rpcs != NULL && i < all->count; i++)
            rpcs[i].request.remove_session.session = console->id;
        if (rpcs != NULL)
            rc = lst_console_ask(console, rpcs, all->count, LST_TYPE_REMOVE_SESSION,
                                 LST_SERVICE_REMOVE_SESSION);
        free(rpcs);
        lst_console_group_free(all);
    }
    while (!list_empty(&console->groups)) {
        struct lst_group *group = list_first_entry(&console->groups, struct lst_group, on_console);

        list_del(&group->on_console);
        lst_console_group_free(group);
    }
    while (!list_empty(&console->batches)) {
        struct lst_console_batch *batch =
            list_first_entry(&console->batches, struct lst_console_batch, on_console);

        list_del(&batch->on_console);
        free(batch);
    }
    free(console);
    return rc;
}

/* ---- batches --------------------------------------------------------------------------------- */

static struct lst_console_batch *find_batch(struct lst_console *console, const char *name)
{
    struct lst_console_batch *batch;

    list_for_each_entry (batch, &console->batches, on_console)
        if (strcmp(batch->name, name) == 0)
            return batch;
    return NULL;
}

struct lst_console_batch *lst_console_batch(struct lst_console *console, const char *name)
{
    struct lst_console_batch *batch = find_batch(console, name);

    if (batch != NULL || strlen(name) >= LST_NAME_BYTES)
        return batch;
    batch = calloc(1, sizeof(*batch));
    if (batch == NULL)
        return NULL;
    memcpy(batch->name, name, strlen(name) + 1);
    batch->id = ++console->next_batch;
    list_add_tail(&batch->on_console, &console->batches);
    return batch;
}

/* Streams that run, or an error. */
static int batch_operation(struct lst_console *console, const char *name, uint32_t operation)
{
    struct lst_console_batch *batch = find_batch(console, name);
    struct lst_group *all;
    struct lst_rpc *rpcs;
    uint32_t i;
    int rc, active = 0;

    if (batch == NULL)
        return -ENOENT;
    all = lst_console_all_nodes(console);
    rpcs = all != NULL ? lst_console_rpcs(all) : NULL;
    if (rpcs == NULL) {
        if (all != NULL)
            lst_console_group_free(all);
        return -ENOMEM;
    }
    for (i = 0; i < all->count; i++) {
        rpcs[i].request.batch.session = console->id;
        rpcs[i].request.batch.batch = batch->id;
        rpcs[i].request.batch.operation = operation;
    }
    rc = lst_console_ask(console, rpcs, all->count, LST_TYPE_BATCH, LST_SERVICE_BATCH);
    for (i = 0; i < all->count; i++)
        active += rpcs[i].status == 0 ? (int)rpcs[i].reply.answer.value : 0;
    free(rpcs);
    lst_console_group_free(all);
    return rc != 0 ? rc : active;
}

int lst_batch_add(struct lst_console *console, const char *name)
{
    if (strlen(name) >= LST_NAME_BYTES)
        return -ENAMETOOLONG;
    if (find_batch(console, name) != NULL)
        return -EEXIST;
    return lst_console_batch(console, name) != NULL ? 0 : -ENOMEM;
}

const char *lst_batch_name(struct lst_console *console, uint32_t index)
{
    struct lst_console_batch *batch;

    list_for_each_entry (batch, &console->batches, on_console)
        if (index-- == 0)
            return batch->name;
    return NULL;
}

int lst_batch_run(struct lst_console *console, const char *batch)
{
    int rc = batch_operation(console, batch, LST_BATCH_RUN);

    return rc < 0 ? rc : 0;
}

int lst_batch_stop(struct lst_console *console, const char *batch)
{
    int rc = batch_operation(console, batch, LST_BATCH_STOP);

    return rc < 0 ? rc : 0;
}

int lst_batch_active(struct lst_console *console, const char *batch)
{
    return batch_operation(console, batch, LST_BATCH_QUERY);
}

/* ---- statistics ------------------------------------------------------------------------------ */

static void take(struct lst_counters *counters, const struct lst_message *reply)
{
    counters->framework.running_ms = reply->stat_answer.running_ms;
    counters->framework.active_batches = reply->stat_answer.active_batches;
    counters->framework.zombie_sessions = reply->stat_answer.zombie_sessions;
    counters->framework.brw_errors = reply->stat_answer.brw_errors;
    counters->framework.ping_errors = reply->stat_answer.ping_errors;
    counters->rpc.errors = reply->stat_answer.errors;
    counters->rpc.rpcs_sent = reply->stat_answer.rpcs_sent;
    counters->rpc.rpcs_received = reply->stat_answer.rpcs_received;
    counters->rpc.rpcs_dropped = reply->stat_answer.rpcs_dropped;
    counters->rpc.rpcs_expired = reply->stat_answer.rpcs_expired;
    counters->rpc.bulk_get = reply->stat_answer.bulk_get;
    counters->rpc.bulk_put = reply->stat_answer.bulk_put;
    counters->lnet = reply->stat_answer.lnet;
}

static int sample(struct lst_console *console, const struct lst_group *group,
                  struct lst_counters *counters, uint32_t room)
{
    struct lst_rpc *rpcs = lst_console_rpcs(group);
    uint32_t i;
    int rc;

    if (rpcs == NULL)
        return -ENOMEM;
    for (i = 0; i < group->count; i++)
        rpcs[i].request.stat.session = console->id;
    rc = lst_console_ask(console, rpcs, group->count, LST_TYPE_STAT, LST_SERVICE_STAT);
    for (i = 0; i < group->count && i < room; i++) {
        take(&counters[i], &rpcs[i].reply);
        counters[i].when_ns = port_now();
    }
    free(rpcs);
    return rc != 0 ? rc : (int)group->count;
}

int lst_stat(struct lst_console *console, const char *name, struct lst_counters *counters,
             uint32_t room)
{
    const struct lst_group *group = lst_console_group(console, name);

    return group != NULL ? sample(console, group, counters, room) : -ENOENT;
}

int lst_stat_nodes(struct lst_console *console, const struct lnet_process_id *ids, uint32_t count,
                   struct lst_counters *counters)
{
    struct lst_group nodes = {.ids = (struct lnet_process_id *)ids, .count = count};

    return sample(console, &nodes, counters, count);
}

static void add(struct lst_rates *rates, double value, uint32_t index)
{
    rates->average += value;
    rates->minimum = index == 0 || value < rates->minimum ? value : rates->minimum;
    rates->maximum = index == 0 || value > rates->maximum ? value : rates->maximum;
}

void lst_rates(const struct lst_counters *before, const struct lst_counters *after, uint32_t count,
               struct lst_rates *send_rate, struct lst_rates *receive_rate,
               struct lst_rates *send_bandwidth, struct lst_rates *receive_bandwidth)
{
    struct lst_rates *all[] = {send_rate, receive_rate, send_bandwidth, receive_bandwidth};
    uint32_t i, j;

    for (j = 0; j < 4; j++)
        *all[j] = (struct lst_rates){0};
    for (i = 0; i < count; i++) {
        double seconds = (double)(after[i].when_ns - before[i].when_ns) / 1e9;
        const struct lnet_counters_common *a = &after[i].lnet, *b = &before[i].lnet;

        if (seconds <= 0)
            continue;
        add(send_rate, (double)(a->lcc_send_count - b->lcc_send_count) / seconds, i);
        add(receive_rate, (double)(a->lcc_recv_count - b->lcc_recv_count) / seconds, i);
        add(send_bandwidth, (double)(a->lcc_send_length - b->lcc_send_length) / seconds, i);
        add(receive_bandwidth, (double)(a->lcc_recv_length - b->lcc_recv_length) / seconds, i);
    }
    for (j = 0; j < 4 && count > 0; j++)
        all[j]->average /= count;
}
