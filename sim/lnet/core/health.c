/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The health of NIs and of peers' NIs, and which failures are worth another try. */
#include "core/internal.h"

static void raise(int *health)
{
    assert(*health >= 0 && *health <= LNET_MAX_HEALTH_VALUE);
    if (*health < LNET_MAX_HEALTH_VALUE)
        ++*health;
}

static void lower(int *health, int sensitivity)
{
    assert(*health >= 0 && *health <= LNET_MAX_HEALTH_VALUE && sensitivity >= 0);
    *health = *health < sensitivity ? 0 : *health - sensitivity;
}

static void lower_ni(struct lnet_node *node, struct lnet_ni *ni)
{
    lower(&ni->health, node->params.lnet_health_sensitivity);
    lnet_recovery_add_ni(ni);
}

static void lower_peer(struct lnet_node *node, struct lnet_peer_ni *peer)
{
    lower(&peer->health, node->params.lnet_health_sensitivity);
    lnet_recovery_add_peer(peer);
}

void lnet_health_lower_peer(struct lnet_node *node, lnet_nid_t nid)
{
    struct lnet_peer_ni *peer = lnet_peer_ni_find(node->instance, nid);

    if (peer != NULL && peer->net != NULL)
        lower_peer(node, peer);
}

/* Counts the failure for the node, and for the NI or the peer's NI that it speaks of. */
static void count(struct lnet_msg *msg)
{
    struct lnet_counters_health *counters = &msg->node->counters.lct_health;
    struct lnet_health_counts *ni = &msg->tx_ni->failures, *peer = &msg->tx_peer->failures;

    switch (msg->health_status) {
    case LNET_MSG_STATUS_LOCAL_INTERRUPT:
        counters->lch_local_interrupt_count++;
        ni->interrupt++;
        break;
    case LNET_MSG_STATUS_LOCAL_DROPPED:
        counters->lch_local_dropped_count++;
        ni->dropped++;
        break;
    case LNET_MSG_STATUS_LOCAL_ABORTED:
        counters->lch_local_aborted_count++;
        ni->aborted++;
        break;
    case LNET_MSG_STATUS_LOCAL_NO_ROUTE:
        counters->lch_local_no_route_count++;
        ni->no_route++;
        break;
    case LNET_MSG_STATUS_LOCAL_TIMEOUT:
        counters->lch_local_timeout_count++;
        ni->timeout++;
        break;
    case LNET_MSG_STATUS_LOCAL_ERROR:
        counters->lch_local_error_count++;
        ni->error++;
        break;
    case LNET_MSG_STATUS_REMOTE_DROPPED:
        counters->lch_remote_dropped_count++;
        peer->dropped++;
        break;
    case LNET_MSG_STATUS_REMOTE_ERROR:
        counters->lch_remote_error_count++;
        peer->error++;
        break;
    case LNET_MSG_STATUS_REMOTE_TIMEOUT:
        counters->lch_remote_timeout_count++;
        peer->timeout++;
        break;
    case LNET_MSG_STATUS_NETWORK_TIMEOUT:
        counters->lch_network_timeout_count++;
        peer->network_timeout++;
        break;
    default:
        break;
    }
}

/* Changes the health of those that had a part in it. True: the failure is worth another try. */
static bool judge(struct lnet_msg *msg)
{
    struct lnet_node *node = msg->node;

    switch (msg->health_status) {
    case LNET_MSG_STATUS_OK:
        raise(&msg->tx_ni->health);
        raise(&msg->tx_peer->health);
        return false;
    case LNET_MSG_STATUS_LOCAL_INTERRUPT:
    case LNET_MSG_STATUS_LOCAL_DROPPED:
    case LNET_MSG_STATUS_LOCAL_ABORTED:
    case LNET_MSG_STATUS_LOCAL_NO_ROUTE:
    case LNET_MSG_STATUS_LOCAL_TIMEOUT:
        lower_ni(node, msg->tx_ni);
        return true;
    case LNET_MSG_STATUS_LOCAL_ERROR:
        lower_ni(node, msg->tx_ni);
        return false;
    case LNET_MSG_STATUS_REMOTE_DROPPED:
        lower_peer(node, msg->tx_peer);
        return true;
    default:
        lower_peer(node, msg->tx_peer);
        return false;
    }
}

/* A failure counts before the deadline only, a success always. Without sensitivity failures are
 * still counted. */
static bool examined(const struct lnet_msg *msg, int status)
{
    bool good = msg->health_status == LNET_MSG_STATUS_OK;

    return msg->tx_committed && msg->tx_ni != NULL && msg->tx_peer != NULL &&
           msg->node->state == LNET_RUNNING && (good || sim_now() < msg->deadline) &&
           (status == 0) == good;
}

bool lnet_health_check(struct lnet_msg *msg, int status)
{
    struct lnet_node *node = msg->node;

    if (!examined(msg, status))
        return false;

    count(msg);
    if (!judge(msg))
        return false;
    if (msg->no_resend || msg->recovery || (int)msg->retries >= node->params.lnet_retry_count)
        return false;
    if (msg->md != NULL && msg->md->aborted)
        return false;

    if (msg->reply != NULL)
        msg->reply->superseded = true;
    assert(list_empty(&msg->on_list)); /* nothing else will finish it */
    msg->reply = NULL;
    lnet_resend_add(msg);
    return true;
}
