/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Interfaces whose health is below the maximum are pinged until it is the maximum. */
#include "core/internal.h"

#include <stdlib.h>

static void recover(struct sim_event *event);

static void arm(struct lnet_node *node)
{
    struct lnet_instance *instance = node->instance;

    if (sim_timer_armed(&instance->recovery) || node->state != LNET_RUNNING)
        return;

    instance->recovery.event.fire = recover;
    sim_timer_arm(
        &instance->recovery,
        lnet_next_scan(instance->started, (sim_time_t)node->params.lnet_recovery_interval * SIM_S));
}

/* The pings change the health as all messages do; here only their end counts. */
static void ping_done(struct lnet_ping *ping)
{
    struct lnet_instance *instance = ping->node->instance;
    struct lnet_ni *ni = lnet_ni_by_nid(instance, ping->nid);
    struct lnet_peer_ni *peer = lnet_peer_ni_find(instance, ping->nid);

    if (ni != NULL)
        ni->recovery_ping = false;
    if (peer != NULL)
        peer->recovery_ping = false;
    free(ping);
}

static bool ping(struct lnet_node *node, lnet_nid_t nid)
{
    struct lnet_ping *request = calloc(1, sizeof(*request));

    if (request == NULL)
        return false;

    request->node = node;
    request->nid = nid;
    request->done = ping_done;
    if (lnet_ping_send(request, true) != 0) {
        free(request);
        return false;
    }
    return true;
}

static void recover(struct sim_event *event)
{
    struct sim_timer *timer = sim_container_of(event, struct sim_timer, event);
    struct lnet_instance *instance = sim_container_of(timer, struct lnet_instance, recovery);
    struct lnet_node *node = instance->node;
    struct lnet_ni *ni, *next_ni;
    struct lnet_peer_ni *peer, *next_peer;

    lnet_host_lock(node);
    list_for_each_entry_safe (ni, next_ni, &instance->recovering_nis, on_recovery) {
        if (ni->health == LNET_MAX_HEALTH_VALUE) {
            list_del(&ni->on_recovery);
        } else if (!ni->recovery_ping) {
            ni->recovery_ping = true; /* it may end before the call returns */
            if (!ping(node, ni->nid))
                ni->recovery_ping = false;
        }
    }
    list_for_each_entry_safe (peer, next_peer, &instance->recovering_peers, on_recovery) {
        if (peer->health == LNET_MAX_HEALTH_VALUE) {
            list_del(&peer->on_recovery);
        } else if (!peer->recovery_ping) {
            peer->recovery_ping = true;
            if (!ping(node, peer->nid))
                peer->recovery_ping = false;
        }
    }
    if (!list_empty(&instance->recovering_nis) || !list_empty(&instance->recovering_peers))
        arm(node);
    lnet_host_unlock(node);
}

void lnet_recovery_add_ni(struct lnet_ni *ni)
{
    if (!list_empty(&ni->on_recovery) || ni->lnd->type == LOLND ||
        ni->health == LNET_MAX_HEALTH_VALUE)
        return;

    list_add_tail(&ni->on_recovery, &ni->node->instance->recovering_nis);
    arm(ni->node);
}

void lnet_recovery_add_peer(struct lnet_peer_ni *peer)
{
    if (!list_empty(&peer->on_recovery) || peer->net == NULL ||
        peer->health == LNET_MAX_HEALTH_VALUE)
        return;

    list_add_tail(&peer->on_recovery, &peer->net->node->instance->recovering_peers);
    arm(peer->net->node);
}

void lnet_recovery_stop(struct lnet_node *node)
{
    struct lnet_instance *instance = node->instance;
    struct lnet_ni *ni, *next_ni;
    struct lnet_peer_ni *peer, *next_peer;

    sim_timer_cancel(&instance->recovery);
    list_for_each_entry_safe (ni, next_ni, &instance->recovering_nis, on_recovery)
        list_del(&ni->on_recovery);
    list_for_each_entry_safe (peer, next_peer, &instance->recovering_peers, on_recovery)
        list_del(&peer->on_recovery);
}
