/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The ping target on portal 0, and pings that LNet sends itself. */
#include "core/ni.h"

#include <stdlib.h>

struct lnet_ping_target {
    struct lnet_ping_target *older; /* that answers may still be sent from */
    uint64_t me_cookie;
    uint32_t nis;
    struct lnet_ping_info info;
};

static uint32_t count_nis(struct lnet_instance *instance)
{
    uint32_t count = 0;

    while (lnet_ni_by_index(instance, count) != NULL)
        count++;
    return count;
}

/* An NI of a router that received nothing for so long is down, says the router. */
static sim_time_t silence_limit(const struct lnet_params *params)
{
    int interval = params->live_router_check_interval > params->dead_router_check_interval
                       ? params->live_router_check_interval
                       : params->dead_router_check_interval;

    return (sim_time_t)(params->router_ping_timeout + interval) * SIM_S;
}

void lnet_ping_refresh(struct lnet_node *node)
{
    struct lnet_instance *instance = node->instance;
    struct lnet_ping_info *info = &instance->ping->info;
    uint32_t i;

    info->pi_features = LNET_PING_FEAT_BASE | LNET_PING_FEAT_NI_STATUS | LNET_PING_FEAT_MULTI_RAIL;
    if (!instance->routing)
        info->pi_features |= LNET_PING_FEAT_RTE_DISABLED;
    if (node->params.lnet_peer_discovery_disabled == 0)
        info->pi_features |= LNET_PING_FEAT_DISCOVERY;
    for (i = 0; i < instance->ping->nis; i++) {
        struct lnet_ni *ni = lnet_ni_by_index(instance, i);

        if (instance->routing && ni != instance->lo &&
            sim_now() - ni->last_alive > silence_limit(&node->params))
            ni->status = LNET_NI_STATUS_DOWN;
        info->pi_ni[i].ns_nid = ni->nid;
        /* The first one is lo; its status is the number of the list, which changes count up. */
        info->pi_ni[i].ns_status = i == 0 ? 1 + instance->ni_changes : ni->status;
        info->pi_ni[i].ns_unused = 0;
    }
}

static void ping_event(struct lnet_event *event)
{
    struct lnet_ping *ping = event->md.user_ptr;
    void (*sent)(struct lnet_ping * ping) = ping->sent;

    if (event->status != 0 && ping->status == 0)
        ping->status = event->status;
    if (event->type == LNET_EVENT_REPLY && event->status == 0) {
        ping->replied = true;
        ping->bytes = event->mlength;
    }
    if (event->unlinked && !ping->replied && ping->status == 0)
        ping->status = -ETIMEDOUT;
    if ((event->type == LNET_EVENT_SEND || event->unlinked) && sent != NULL) {
        ping->sent = NULL;
        sent(ping);
    }
    if (event->unlinked)
        ping->done(ping);
}

static int attach_target(struct lnet_node *node, struct lnet_ping_target *target)
{
    struct lnet_process_id any = {LNET_NID_ANY, LNET_PID_ANY};
    struct lnet_md md = {
        .start = &target->info,
        .length = (unsigned)(sizeof(target->info) + target->nis * sizeof(target->info.pi_ni[0])),
        .threshold = LNET_MD_THRESH_INF,
        .options = LNET_MD_OP_GET | LNET_MD_TRUNCATE | LNET_MD_MANAGE_REMOTE,
    };
    struct lnet_handle_md handle;
    struct lnet_me *me;
    int rc;

    LNetInvalidateEQHandle(&md.eq_handle);
    rc = lnet_me_attach(node, LNET_RESERVED_PORTAL, any, LNET_PROTO_PING_MATCHBITS, 0, LNET_UNLINK,
                        LNET_INS_AFTER, &me);
    if (rc != 0)
        return rc;
    target->me_cookie = me->cookie;
    return lnet_md_attach(node, me, &md, LNET_RETAIN, &handle);
}

static int target_new(struct lnet_node *node)
{
    struct lnet_instance *instance = node->instance;
    uint32_t nis = count_nis(instance);
    struct lnet_ping_target *target =
        calloc(1, sizeof(*target) + nis * sizeof(struct lnet_ni_status));

    if (target == NULL)
        return -ENOMEM;

    target->older = instance->ping;
    target->nis = nis;
    target->info.pi_magic = LNET_PROTO_PING_MAGIC;
    target->info.pi_pid = node->pid;
    target->info.pi_nnis = nis;
    instance->ping = target;
    lnet_ping_refresh(node);
    return attach_target(node, target);
}

int lnet_ping_start(struct lnet_node *node)
{
    node->instance->ping_eq = lnet_eq_internal(node, ping_event);
    return node->instance->ping_eq == NULL ? -ENOMEM : target_new(node);
}

int lnet_ping_update(struct lnet_node *node)
{
    lnet_ping_stop(node);
    return target_new(node);
}

void lnet_ping_stop(struct lnet_node *node)
{
    struct lnet_instance *instance = node->instance;
    struct lnet_me *me = NULL;

    if (instance->ping != NULL)
        me = lnet_handle_find(node, LNET_HANDLE_ME, instance->ping->me_cookie);
    if (me != NULL)
        lnet_me_remove(node, me);
}

/* When no message refers to the target or the queue any more. */
void lnet_ping_free(struct lnet_instance *instance)
{
    lnet_eq_internal_free(instance->ping_eq);
    while (instance->ping != NULL) {
        struct lnet_ping_target *older = instance->ping->older;

        free(instance->ping);
        instance->ping = older;
    }
}

int lnet_ping_send(struct lnet_ping *ping, bool recovery)
{
    struct lnet_node *node = ping->node;
    struct lnet_process_id target = {ping->nid, LNET_PID_LUSTRE};
    struct lnet_md md = {
        .start = &ping->info,
        .length = sizeof(ping->space),
        .threshold = 2, /* GET, REPLY */
        .options = LNET_MD_TRUNCATE,
        .user_ptr = ping,
        .eq_handle = {node->instance->ping_eq->cookie},
    };
    struct lnet_handle_md handle;
    int rc = lnet_md_bind(node, &md, LNET_UNLINK, &handle);

    if (rc != 0)
        return rc;
    rc = lnet_get(node, LNET_NID_ANY, handle, target, LNET_RESERVED_PORTAL,
                  LNET_PROTO_PING_MATCHBITS, 0, recovery);
    if (rc != 0) { /* the UNLINK event ends the ping */
        ping->status = rc;
        lnet_md_abort(node, lnet_md_find(node, handle));
    }
    return 0;
}
