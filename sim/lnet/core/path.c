/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Which NI of this node sends a message, and to which NID: the peer's, or a gateway's. */
#include "core/internal.h"

static bool better_ni(const struct lnet_ni *a, const struct lnet_ni *b)
{
    if (a->health != b->health)
        return a->health > b->health;
    if (a->tx_credits != b->tx_credits)
        return a->tx_credits > b->tx_credits;

    return LNET_SEQ_GT((unsigned long)b->sequence, (unsigned long)a->sequence);
}

static struct lnet_ni *best_ni(const struct lnet_net *net)
{
    struct lnet_ni *ni, *best = NULL;

    list_for_each_entry (ni, &net->nis, on_net) {
        if (!ni->shutting_down && (best == NULL || better_ni(ni, best)))
            best = ni;
    }
    return best;
}

static bool better_peer_ni(const struct lnet_peer_ni *a, const struct lnet_peer_ni *b)
{
    if (a->health != b->health)
        return a->health > b->health;
    if (a->tx_credits != b->tx_credits)
        return a->tx_credits > b->tx_credits;

    return a->sequence < b->sequence;
}

/* The NID of a multi-rail peer on `net` that is best; NULL: it has none there. */
static struct lnet_peer_ni *best_peer_ni(const struct lnet_peer *peer, const struct lnet_net *net)
{
    struct lnet_peer_ni *peer_ni, *best = NULL;

    list_for_each_entry (peer_ni, &peer->nis, on_peer) {
        if (peer_ni->net == net && (best == NULL || better_peer_ni(peer_ni, best)))
            best = peer_ni;
    }
    return best;
}

/* To a peer with several NIDs: the local NI comes first, then its NID on that network. */
static struct lnet_peer_ni *select_rail(struct lnet_instance *instance,
                                        const struct lnet_peer *peer, struct lnet_ni **ni)
{
    struct lnet_net *net;
    struct lnet_peer_ni *best = NULL;

    list_for_each_entry (net, &instance->nets, on_node) {
        struct lnet_peer_ni *peer_ni = best_peer_ni(peer, net);
        struct lnet_ni *local = peer_ni != NULL ? best_ni(net) : NULL;

        if (local == NULL || (best != NULL && !better_ni(local, *ni)))
            continue;
        *ni = local;
        best = peer_ni;
    }
    return best;
}

/* A peer with one NID keeps to the NI that was used first. */
static struct lnet_ni *sticky_ni(struct lnet_instance *instance, struct lnet_peer_ni *peer)
{
    struct lnet_ni *ni = NULL;

    if (peer->peer->preferred_source != 0)
        ni = lnet_ni_by_nid(instance, peer->peer->preferred_source);
    if (ni == NULL || ni->net != peer->net || ni->shutting_down)
        ni = best_ni(peer->net);
    if (ni != NULL)
        peer->peer->preferred_source = ni->nid;
    return ni;
}

static int select_local(struct lnet_msg *msg, struct lnet_peer_ni *peer, struct lnet_ni *ni,
                        bool exact)
{
    struct lnet_instance *instance = msg->node->instance;

    bool rails = !exact && peer->peer->multi_rail;

    if (!rails && ni != NULL && ni->net != peer->net)
        return -EHOSTUNREACH;
    if (rails) {
        if (ni == NULL)
            peer = select_rail(instance, peer->peer, &ni);
        else
            peer = best_peer_ni(peer->peer, ni->net);
    } else if (ni == NULL) {
        ni = sticky_ni(instance, peer);
    }
    if (ni == NULL || peer == NULL)
        return -EHOSTUNREACH;

    msg->tx_ni = ni;
    msg->tx_peer = peer;
    if (!msg->routing)
        msg->header.dest_nid = peer->nid;
    return 0;
}

static int select_route(struct lnet_msg *msg, struct lnet_ni *ni)
{
    uint32_t net = LNET_NIDNET(msg->header.dest_nid);
    struct lnet_peer_ni *gateway = lnet_route_select(msg->node, net, ni != NULL ? ni->net : NULL);

    if (gateway == NULL)
        return -EHOSTUNREACH;
    if (ni == NULL)
        ni = best_ni(gateway->net);
    if (ni == NULL)
        return -EHOSTUNREACH;

    msg->tx_ni = ni;
    msg->tx_peer = gateway;
    msg->target_is_router = true;
    return 0;
}

static int select_loopback(struct lnet_msg *msg)
{
    msg->tx_ni = msg->node->instance->lo;
    msg->tx_peer = NULL;
    msg->next_hop = LNET_NID_LO_0;
    msg->target.nid = LNET_NID_LO_0;
    msg->header.src_nid = LNET_NID_LO_0;
    return 0;
}

/* An answer returns to the NID that the request came from, and a ping tests one NID. */
static bool to_one_nid(const struct lnet_msg *msg)
{
    return msg->recovery || msg->routing || msg->header.type == LNET_MSG_ACK ||
           msg->header.type == LNET_MSG_REPLY;
}

/* Whether a NID of the peer is on a network of this node: for a multi-rail peer it need not be the
 * one that the message is addressed to. */
static bool is_local(const struct lnet_peer_ni *peer, bool exact)
{
    const struct lnet_peer_ni *other;

    if (peer->net != NULL)
        return true;
    if (exact || !peer->peer->multi_rail)
        return false;
    list_for_each_entry (other, &peer->peer->nis, on_peer) {
        if (other->net != NULL)
            return true;
    }
    return false;
}

int lnet_path_select(struct lnet_msg *msg, lnet_nid_t source, struct lnet_peer_ni *peer)
{
    struct lnet_instance *instance = msg->node->instance;
    struct lnet_ni *ni = NULL;
    int rc;

    if (source != LNET_NID_ANY) {
        ni = lnet_ni_by_nid(instance, source);
        if (ni == NULL)
            return -EINVAL;
    }
    if (msg->header.dest_nid == LNET_NID_LO_0)
        return select_loopback(msg);
    if (peer == NULL || peer->nid != msg->header.dest_nid) /* a router's, or not known */
        peer = lnet_peer_ni_get(msg->node, msg->header.dest_nid);
    if (peer == NULL)
        return -ENOMEM;

    if (lnet_discovery_delays(msg, peer))
        return 0;

    msg->target_is_router = false;
    if (ni == instance->lo) /* 0@lo sends to itself only */
        return -EHOSTUNREACH;
    rc = is_local(peer, to_one_nid(msg)) ? select_local(msg, peer, ni, to_one_nid(msg))
                                         : select_route(msg, ni);
    if (rc != 0)
        return rc;

    msg->tx_ni->sequence = ++instance->sequence;
    msg->tx_peer->sequence = instance->sequence;
    msg->next_hop = msg->tx_peer->nid;
    msg->target.nid = msg->next_hop;
    if (!msg->routing)
        msg->header.src_nid = source != LNET_NID_ANY ? source : msg->tx_ni->nid;
    return 0;
}
