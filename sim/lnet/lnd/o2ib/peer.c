/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A peer of o2iblnd: messages wait here until there is a connection. Where both sides connect at
 * the same time, the side with the higher NID rejects the other's request, so that its own
 * connection survives.
 */
#include <errno.h>
#include <glib.h>
#include <string.h>
#include "o2ib.h"

#define RACES_MAX 20u /* then it gives in and accepts */

static uint32_t bucket_of(const struct lnet_ib_ni *owner, lnet_nid_t nid)
{
    return (uint32_t)((nid * 0x9e3779b97f4a7c15ull) >> 40) & (owner->bucket_count - 1);
}

static void grow(struct lnet_ib_ni *owner)
{
    struct lnet_ib_peer *peer;

    owner->bucket_count = MAX(8, 4 * owner->bucket_count);
    g_free(owner->buckets);
    owner->buckets = g_new0(struct lnet_ib_peer *, owner->bucket_count);
    list_for_each_entry (peer, &owner->peers, on_ni) {
        struct lnet_ib_peer **bucket = &owner->buckets[bucket_of(owner, peer->nid)];

        peer->next = *bucket;
        *bucket = peer;
    }
}

static void reconnect(struct sim_event *event);

struct lnet_ib_peer *lnet_ib_peer_get(struct lnet_ib_ni *owner, lnet_nid_t nid, bool create)
{
    struct lnet_ib_peer *peer = NULL;

    if (owner->bucket_count != 0)
        peer = owner->buckets[bucket_of(owner, nid)];
    while (peer != NULL && peer->nid != nid)
        peer = peer->next;
    if (peer != NULL || !create)
        return peer;

    peer = g_new0(struct lnet_ib_peer, 1);
    peer->owner = owner;
    peer->nid = nid;
    peer->queue_depth = (uint16_t)owner->ni->peer_credits;
    peer->reconnect.event.fire = reconnect;
    INIT_LIST_HEAD(&peer->conns);
    INIT_LIST_HEAD(&peer->waiting);
    list_add_tail(&peer->on_ni, &owner->peers);
    if (owner->peer_count++ >= owner->bucket_count) {
        grow(owner);
    } else {
        struct lnet_ib_peer **bucket = &owner->buckets[bucket_of(owner, nid)];

        peer->next = *bucket;
        *bucket = peer;
    }
    lnet_ib_scan_arm(owner);
    return peer;
}

void lnet_ib_peer_destroy(struct lnet_ib_peer *peer)
{
    struct lnet_ib_peer **at = &peer->owner->buckets[bucket_of(peer->owner, peer->nid)];

    assert(list_empty(&peer->conns) && peer->connecting == NULL && list_empty(&peer->waiting));
    while (*at != peer)
        at = &(*at)->next;
    *at = peer->next;
    list_del(&peer->on_ni);
    peer->owner->peer_count--;
    sim_timer_cancel(&peer->reconnect);
    g_free(peer);
}

void lnet_ib_peer_is_alive(struct lnet_ib_peer *peer)
{
    peer->last_alive = sim_now();
}

/* ---- the active side ------------------------------------------------------------------------- */

static int connect_peer(struct lnet_ib_peer *peer)
{
    struct lnet_ib_ni *owner = peer->owner;
    struct lnet_ib_message request = {
        .type = LNET_IB_CONNREQ,
        .version = LNET_IB_VERSION,
        .source = owner->ni->nid,
        .target = peer->nid,
        .source_stamp = owner->ni->node->incarnation,
        .target_stamp = peer->stamp,
        .queue_depth = peer->queue_depth,
        .fragments_max = LNET_IB_FRAGMENTS_MAX,
        .message_max = LNET_IB_MESSAGE_BYTES,
    };
    uint8_t packed[LNET_IB_MESSAGE_BYTES];
    struct lnet_ib_conn *conn;
    uint32_t endpoint, bytes;

    if (!lnet_hca_resolve(owner->hca, LNET_NIDADDR(peer->nid), &endpoint))
        return -EHOSTUNREACH;
    conn = lnet_ib_conn_new(peer, peer->queue_depth);
    bytes = lnet_ib_pack(&request, packed);
    conn->qp = lnet_qp_connect(owner->hca, endpoint, packed, bytes, &lnet_ib_qp_handler, conn);
    peer->connecting = conn;
    return 0;
}

static void start(struct lnet_ib_peer *peer)
{
    int rc;

    if (peer->connecting != NULL || !list_empty(&peer->conns) || sim_timer_armed(&peer->reconnect))
        return;
    rc = connect_peer(peer);
    if (rc != 0)
        lnet_ib_peer_not_connected(peer, rc);
}

static void reconnect(struct sim_event *event)
{
    struct lnet_ib_peer *peer = sim_container_of(sim_container_of(event, struct sim_timer, event),
                                                 struct lnet_ib_peer, reconnect);

    if (!list_empty(&peer->waiting))
        start(peer);
}

void lnet_ib_launch(struct lnet_ib_ni *owner, struct lnet_ib_tx *tx, lnet_nid_t nid)
{
    struct lnet_ib_peer *peer = lnet_ib_peer_get(owner, nid, true);

    if (!list_empty(&peer->conns)) {
        lnet_ib_tx_queue(list_first_entry(&peer->conns, struct lnet_ib_conn, on_peer), tx);
        return;
    }
    tx->queue = LNET_IB_ON_PEER;
    tx->deadline = sim_now() + lnet_ib_timeout(owner);
    list_add_tail(&tx->on_list, &peer->waiting);
    start(peer);
}

void lnet_ib_peer_connected(struct lnet_ib_peer *peer, struct lnet_ib_conn *conn)
{
    if (peer->connecting == conn)
        peer->connecting = NULL;
    peer->stamp = conn->peer_stamp;
    peer->races = 0;
    list_add_tail(&conn->on_peer, &peer->conns);
    lnet_ib_peer_is_alive(peer);
    sim_timer_cancel(&peer->reconnect);
    while (!list_empty(&peer->waiting)) {
        struct lnet_ib_tx *tx = list_first_entry(&peer->waiting, struct lnet_ib_tx, on_list);

        list_del(&tx->on_list);
        lnet_ib_tx_queue(conn, tx);
    }
}

void lnet_ib_peer_not_connected(struct lnet_ib_peer *peer, int status)
{
    struct list_head failed;

    INIT_LIST_HEAD(&failed);
    list_splice_init(&peer->waiting, &failed);
    lnet_notify(peer->owner->ni, peer->nid, false, peer->last_alive);
    lnet_ib_tx_fail_list(&failed, status, LNET_MSG_STATUS_LOCAL_DROPPED);
}

/* ---- the passive side ------------------------------------------------------------------------ */

static void reject(struct lnet_ib_ni *owner, const struct lnet_cm_request *request,
                   enum lnet_ib_reject why)
{
    uint8_t packed[LNET_IB_REJECT_BYTES];

    lnet_ib_pack_reject(why, owner->ni->node->incarnation, (uint16_t)owner->ni->peer_credits,
                        packed);
    lnet_cm_reject(request, packed, sizeof(packed));
}

/* 0, or why the request cannot be accepted. */
static uint32_t judge(const struct lnet_ib_ni *owner, const struct lnet_ib_message *message, int rc)
{
    if (rc != 0 || message->type != LNET_IB_CONNREQ || message->target != owner->ni->nid ||
        LNET_NIDNET(message->source) != LNET_NIDNET(owner->ni->nid))
        return LNET_IB_REJECT_FATAL;
    if (message->target_stamp != 0 && message->target_stamp != owner->ni->node->incarnation)
        return LNET_IB_REJECT_STALE;
    if (message->queue_depth > owner->ni->peer_credits)
        return LNET_IB_REJECT_QUEUE_DEPTH;
    if (message->queue_depth == 0 || message->message_max < LNET_IB_MESSAGE_BYTES)
        return LNET_IB_REJECT_FATAL;
    if (message->fragments_max > LNET_IB_FRAGMENTS_MAX)
        return LNET_IB_REJECT_FRAGMENTS;
    return 0;
}

/* The peer has started again: what it had before is void. */
static void close_stale(struct lnet_ib_peer *peer, uint64_t stamp)
{
    struct lnet_ib_conn *conn, *next;

    list_for_each_entry_safe (conn, next, &peer->conns, on_peer)
        if (conn->peer_stamp != stamp)
            lnet_ib_conn_close(conn, -ESTALE, LNET_MSG_STATUS_LOCAL_ERROR);
}

void lnet_ib_requested(void *context, const struct lnet_cm_request *request)
{
    struct lnet_ib_ni *owner = context;
    struct lnet_ib_message message = {0}, answer = {0};
    uint8_t packed[LNET_IB_MESSAGE_BYTES];
    struct lnet_ib_peer *peer;
    struct lnet_ib_conn *conn;
    uint32_t why, bytes;

    why = judge(owner, &message, lnet_ib_unpack(&message, request->private_data, request->bytes));
    if (why != 0) {
        reject(owner, request, why);
        return;
    }
    peer = lnet_ib_peer_get(owner, message.source, true);
    close_stale(peer, message.source_stamp);
    if (peer->connecting != NULL && owner->ni->nid > peer->nid && peer->races < RACES_MAX) {
        peer->races++;
        reject(owner, request, LNET_IB_REJECT_RACE);
        return;
    }
    conn = lnet_ib_conn_new(peer, message.queue_depth);
    conn->passive = true;
    conn->peer_stamp = message.source_stamp;
    answer.type = LNET_IB_CONNACK;
    answer.version = LNET_IB_VERSION;
    answer.source = owner->ni->nid;
    answer.target = peer->nid;
    answer.source_stamp = owner->ni->node->incarnation;
    answer.target_stamp = message.source_stamp;
    answer.queue_depth = message.queue_depth;
    answer.fragments_max = LNET_IB_FRAGMENTS_MAX;
    answer.message_max = LNET_IB_MESSAGE_BYTES;
    bytes = lnet_ib_pack(&answer, packed);
    conn->qp = lnet_cm_accept(request, packed, bytes, &lnet_ib_qp_handler, conn);
    lnet_ib_conn_set_state(conn, LNET_IB_ESTABLISHED);
    lnet_ib_peer_connected(peer, conn);
}
