/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Peers: who owns which NIDs, their credits, and whether they are alive. */
#include "core/ni.h"
#include "core/route.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_SLOTS 8u

static uint32_t first_slot(const struct lnet_instance *instance, lnet_nid_t nid)
{
    return (uint32_t)sim_mix(nid) & (instance->peer_slot_count - 1);
}

/* The slot of the NID, or the free one where it belongs. */
static struct lnet_peer_slot *slot_of(const struct lnet_instance *instance, lnet_nid_t nid)
{
    uint32_t mask = instance->peer_slot_count - 1, at = first_slot(instance, nid);

    assert(instance->peer_ni_count <= mask); /* a free slot ends the search */
    while (instance->peer_slots[at].peer != NULL && instance->peer_slots[at].nid != nid)
        at = (at + 1) & mask;
    return &instance->peer_slots[at];
}

void lnet_peer_ni_fetch(const struct lnet_instance *instance, lnet_nid_t nid)
{
    if (instance->peer_slot_count > 0)
        sim_fetch(&instance->peer_slots[first_slot(instance, nid)], 1);
}

struct lnet_peer_ni *lnet_peer_ni_find(struct lnet_instance *instance, lnet_nid_t nid)
{
    return instance->peer_slot_count == 0 ? NULL : slot_of(instance, nid)->peer;
}

static void link_peer(struct lnet_instance *instance, struct lnet_peer_ni *peer)
{
    *slot_of(instance, peer->nid) = (struct lnet_peer_slot){peer->nid, peer};
}

/* At most one NID for two slots. */
static bool make_room(struct lnet_instance *instance)
{
    uint32_t count = instance->peer_slot_count == 0 ? FIRST_SLOTS : 2 * instance->peer_slot_count;
    struct lnet_peer_slot *slots;
    struct lnet_peer *peer;
    struct lnet_peer_ni *peer_ni;

    if (2 * instance->peer_ni_count < instance->peer_slot_count)
        return true;
    slots = calloc(count, sizeof(slots[0]));
    if (slots == NULL)
        return false;

    free(instance->peer_slots);
    instance->peer_slots = slots;
    instance->peer_slot_count = count;
    list_for_each_entry (peer, &instance->peers, on_node) {
        list_for_each_entry (peer_ni, &peer->nis, on_peer)
            link_peer(instance, peer_ni);
    }
    return true;
}

static int router_credits(const struct lnet_node *node, const struct lnet_ni *ni)
{
    if (ni->peer_buffer_credits > 0)
        return ni->peer_buffer_credits;
    if (node->params.peer_buffer_credits > 0)
        return node->params.peer_buffer_credits;

    return ni->peer_credits;
}

/* As many as the network's NIs give, less what messages hold since it had others. */
static void give_credits(struct lnet_node *node, struct lnet_peer_ni *peer)
{
    const struct lnet_ni *ni = list_first_entry(&peer->net->nis, struct lnet_ni, on_net);
    int router = router_credits(node, ni);

    peer->tx_credits += ni->peer_credits - peer->tx_credits_given;
    peer->router_credits += router - peer->router_credits_given;
    peer->tx_credits_given = ni->peer_credits;
    peer->router_credits_given = router;
    peer->tx_credits_min = peer->tx_credits;
    peer->router_credits_min = peer->router_credits;
}

static void init_peer_ni(struct lnet_node *node, struct lnet_peer_ni *peer, lnet_nid_t nid)
{
    peer->nid = nid;
    peer->net = lnet_net_by_id(node->instance, LNET_NIDNET(nid));
    peer->health = LNET_MAX_HEALTH_VALUE;
    peer->alive = true;
    INIT_LIST_HEAD(&peer->on_peer);
    INIT_LIST_HEAD(&peer->tx_delayed);
    INIT_LIST_HEAD(&peer->router_delayed);
    INIT_LIST_HEAD(&peer->on_recovery);
    if (peer->net != NULL && !list_empty(&peer->net->nis))
        give_credits(node, peer);
    peer->last_alive = sim_now();
}

void lnet_peers_net_added(struct lnet_net *net)
{
    struct lnet_peer *peer;
    struct lnet_peer_ni *peer_ni;

    list_for_each_entry (peer, &net->node->instance->peers, on_node) {
        list_for_each_entry (peer_ni, &peer->nis, on_peer) {
            if (peer_ni->net != NULL || LNET_NIDNET(peer_ni->nid) != net->id)
                continue;
            peer_ni->net = net;
            peer_ni->alive = true;
            peer_ni->notified_down = false;
            peer_ni->last_alive = sim_now();
            give_credits(net->node, peer_ni);
        }
    }
}

void lnet_peers_net_removed(struct lnet_net *net)
{
    struct lnet_peer *peer;
    struct lnet_peer_ni *peer_ni;

    list_for_each_entry (peer, &net->node->instance->peers, on_node) {
        list_for_each_entry (peer_ni, &peer->nis, on_peer) {
            if (peer_ni->net != net)
                continue;
            assert(list_empty(&peer_ni->tx_delayed) && list_empty(&peer_ni->router_delayed));
            peer_ni->net = NULL;
            peer_ni->driver = NULL;
            peer_ni->fetch = NULL;
            list_del_init(&peer_ni->on_recovery);
            peer_ni->health = LNET_MAX_HEALTH_VALUE;
        }
    }
}

struct lnet_peer_ni *lnet_peer_ni_get(struct lnet_node *node, lnet_nid_t nid)
{
    struct lnet_instance *instance = node->instance;
    struct lnet_peer_ni *peer_ni = lnet_peer_ni_find(instance, nid);
    struct lnet_peer *peer;

    if (peer_ni != NULL)
        return peer_ni;
    if (!make_room(instance))
        return NULL;
    peer = calloc(1, sizeof(*peer));
    if (peer == NULL)
        return NULL;
    peer_ni = lnet_line_alloc(sizeof(*peer_ni));
    INIT_LIST_HEAD(&peer->nis);
    peer->primary = nid;
    list_add_tail(&peer->on_node, &instance->peers);
    init_peer_ni(node, peer_ni, nid);
    peer_ni->peer = peer;
    list_add_tail(&peer_ni->on_peer, &peer->nis);
    instance->peer_ni_count++;
    link_peer(instance, peer_ni);
    return peer_ni;
}

void lnet_peers_free(struct lnet_instance *instance)
{
    while (!list_empty(&instance->peers)) {
        struct lnet_peer *peer = list_first_entry(&instance->peers, struct lnet_peer, on_node);

        while (!list_empty(&peer->nis)) {
            struct lnet_peer_ni *peer_ni =
                list_first_entry(&peer->nis, struct lnet_peer_ni, on_peer);

            assert(list_empty(&peer_ni->tx_delayed) && list_empty(&peer_ni->router_delayed));
            list_del(&peer_ni->on_peer);
            free(peer_ni);
        }
        list_del(&peer->on_node);
        free(peer);
    }
    free(instance->peer_slots);
    instance->peer_slots = NULL;
    instance->peer_slot_count = 0;
    instance->peer_ni_count = 0;
}

lnet_nid_t lnet_peer_primary(struct lnet_instance *instance, lnet_nid_t nid)
{
    const struct lnet_peer_ni *peer = lnet_peer_ni_find(instance, nid);

    return peer != NULL ? peer->peer->primary : nid;
}

lnet_nid_t lnet_msg_initiator(const struct lnet_msg *msg)
{
    if (msg->rx_peer != NULL && msg->rx_peer->nid == msg->header.src_nid)
        return msg->rx_peer->peer->primary;

    return lnet_peer_primary(msg->node->instance, msg->header.src_nid);
}

/* ---- alive ----------------------------------------------------------------------------------- */

void lnet_peer_received(struct lnet_peer_ni *peer)
{
    peer->last_alive = sim_now();
    peer->alive = true;
    peer->notified_down = false;
    if (peer->gateway != NULL)
        lnet_pinger_received(peer->gateway);
}

static void set_alive(struct lnet_peer_ni *peer, bool alive)
{
    if (alive) {
        lnet_peer_received(peer);
        return;
    }
    peer->alive = false;
    peer->notified_down = true;
    if (peer->gateway != NULL)
        lnet_pinger_lost(peer->gateway);
}

void lnet_notify(struct lnet_ni *ni, lnet_nid_t nid, bool alive, sim_time_t when)
{
    struct lnet_node *node = ni->node;
    struct lnet_peer_ni *peer;

    if (node->state != LNET_RUNNING)
        return;
    if (!alive && node->params.auto_down == 0)
        return;
    peer = lnet_peer_ni_find(node->instance, nid);
    if (peer == NULL || when < peer->last_alive)
        return; /* it has sent something since */

    set_alive(peer, alive);
}

int lnet_peer_notify(struct lnet_node *node, lnet_nid_t nid, bool alive)
{
    struct lnet_peer_ni *peer = lnet_peer_ni_find(node->instance, nid);
    struct lnet_ni *ni;

    if (node->state != LNET_RUNNING)
        return -ESHUTDOWN;
    if (peer == NULL)
        return 0;
    set_alive(peer, alive);
    if (peer->net == NULL)
        return 0;
    list_for_each_entry (ni, &peer->net->nis, on_net) {
        if (ni->lnd->notify != NULL)
            ni->lnd->notify(ni, nid, alive);
    }
    return 0;
}

/* Only gateways, and on routers the peers of networks with a peer_timeout, are watched. */
const char *lnet_peer_state_text(const struct lnet_peer_ni *peer)
{
    const struct lnet_net *net = peer->net;

    if (peer->gateway != NULL)
        return peer->gateway->alive ? "up" : "down";
    if (net == NULL || !net->node->instance->routing || list_empty(&net->nis) ||
        list_first_entry(&net->nis, struct lnet_ni, on_net)->peer_timeout_s <= 0)
        return "NA";
    return peer->alive ? "up" : "down";
}

/* Only routers judge peers, and only where peers have a time limit. */
bool lnet_peer_usable(struct lnet_peer_ni *peer, struct lnet_ni *ni)
{
    sim_time_t limit = (sim_time_t)ni->peer_timeout_s * SIM_S;

    if (!ni->node->instance->routing || ni->peer_timeout_s <= 0)
        return true;
    if (!peer->notified_down && sim_now() - peer->last_alive < limit)
        return true;

    if (ni->lnd->query != NULL &&
        (peer->last_query == 0 || sim_now() - peer->last_query >= SIM_S)) {
        sim_time_t received_at = 0;

        peer->last_query = sim_now();
        ni->lnd->query(ni, peer->nid, &received_at);
        if (received_at > peer->last_alive) {
            peer->last_alive = received_at;
            peer->notified_down = false;
        }
    }
    peer->alive = !peer->notified_down && sim_now() - peer->last_alive < limit;
    return peer->alive;
}
