/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A connection of o2iblnd.
 *
 *   CONNECTING ── CONNACK ──▶ ESTABLISHED ── error, time-out, peer gone, LNet stops ──▶ CLOSED,
 * freed soon
 *
 * A closed connection has no queue pair; it is freed in an event of its own, because its closing
 * may have been caused by one of its own callbacks.
 */
#include <errno.h>
#include <glib.h>
#include <string.h>
#include "o2ib.h"

#define RACE_DELAY (100 * SIM_MS) /* if the connection of the peer does not come */
#define RECONNECT_DELAY (1 * SIM_MS) /* with other parameters */

void lnet_ib_conn_free(struct lnet_ib_conn *conn)
{
    assert(conn->state == LNET_IB_CLOSED);
    sim_timer_cancel(&conn->dispose);
    list_del(&conn->on_peer);
    lnet_connection_count(conn->owner->ni->node, -1);
    g_free(conn);
}

static void dispose(struct sim_event *event)
{
    lnet_ib_conn_free(sim_container_of(sim_container_of(event, struct sim_timer, event),
                                       struct lnet_ib_conn, dispose));
}

struct lnet_ib_conn *lnet_ib_conn_new(struct lnet_ib_peer *peer, uint16_t queue_depth)
{
    struct lnet_ib_conn *conn = g_new0(struct lnet_ib_conn, 1);

    conn->peer = peer;
    conn->owner = peer->owner;
    conn->queue_depth = queue_depth;
    conn->credits = queue_depth;
    conn->reserved = queue_depth;
    conn->last_sent = conn->state_since = sim_now();
    lnet_connection_count(conn->owner->ni->node, 1);
    conn->dispose.event.fire = dispose;
    INIT_LIST_HEAD(&conn->on_peer);
    INIT_LIST_HEAD(&conn->queue);
    INIT_LIST_HEAD(&conn->reserved_queue);
    INIT_LIST_HEAD(&conn->free_queue);
    INIT_LIST_HEAD(&conn->active);
    INIT_LIST_HEAD(&conn->receives);
    return conn;
}

void lnet_ib_conn_set_state(struct lnet_ib_conn *conn, enum lnet_ib_conn_state state)
{
    lnet_connection_state(
        conn->owner->ni->node, conn->state == LNET_IB_CONNECTING ? "connecting" : "established",
        conn->peer->nid, conn->passive ? "passive" : "active", conn->state_since, sim_now());
    conn->state = (uint8_t)state;
    conn->state_since = sim_now();
}

/* ---- receive buffers ------------------------------------------------------------------------- */

#define BLOCK 8u

struct block {
    struct list_head on_ni;
    struct lnet_ib_receive receive[BLOCK];
};

struct lnet_ib_receive *lnet_ib_receive_new(struct lnet_ib_conn *conn)
{
    struct lnet_ib_ni *owner = conn->owner;
    struct lnet_ib_receive *receive;
    unsigned i;

    if (list_empty(&owner->free_receives)) {
        struct block *block = g_new0(struct block, 1);

        list_add(&block->on_ni, &owner->all_blocks);
        for (i = 0; i < BLOCK; i++)
            list_add_tail(&block->receive[i].on_list, &owner->free_receives);
    }
    receive = list_first_entry(&owner->free_receives, struct lnet_ib_receive, on_list);
    list_move_tail(&receive->on_list, &conn->receives);
    receive->conn = conn;
    receive->message.memory = &receive->memory;
    return receive;
}

void lnet_ib_receive_free(struct lnet_ib_ni *owner, struct lnet_ib_receive *receive)
{
    receive->conn = NULL;
    list_move(&receive->on_list, &owner->free_receives);
}

void lnet_ib_repost(struct lnet_ib_conn *conn, enum lnet_ib_repost how)
{
    if (conn == NULL || conn->state != LNET_IB_ESTABLISHED)
        return;
    if (how == LNET_IB_OWE_CREDIT)
        conn->owed++;
    else if (how == LNET_IB_RESERVED_CREDIT)
        conn->reserved++;
    else
        return;
    assert(conn->owed <= conn->queue_depth && conn->reserved <= conn->queue_depth);
    lnet_ib_send_queued(conn);
}

/* ---- the end --------------------------------------------------------------------------------- */

/* Why a posted descriptor fails when its connection ends. */
static enum lnet_msg_hstatus health_of_active(const struct lnet_ib_tx *tx, int status)
{
    if (status == -ETIMEDOUT)
        return tx->sending == 0 ? LNET_MSG_STATUS_REMOTE_TIMEOUT : LNET_MSG_STATUS_NETWORK_TIMEOUT;
    return LNET_MSG_STATUS_REMOTE_DROPPED;
}

/* `status` 0: LNet stops. The descriptors complete with -ECONNABORTED, as those of the real driver.
 */
void lnet_ib_conn_close(struct lnet_ib_conn *conn, int status, enum lnet_msg_hstatus queued)
{
    struct lnet_ib_peer *peer = conn->peer;
    struct list_head failed;
    struct lnet_ib_tx *tx, *next;
    struct lnet_ib_receive *receive, *after;
    bool last;

    if (conn->state == LNET_IB_CLOSED)
        return;
    lnet_ib_conn_set_state(conn, LNET_IB_CLOSED);
    if (peer->connecting == conn)
        peer->connecting = NULL;
    list_del_init(&conn->on_peer);
    last = list_empty(&peer->conns);
    lnet_qp_destroy(conn->qp); /* its works are ours again */
    conn->qp = NULL;
    /* LNet still holds these; it gives them back by `receive`. */
    list_for_each_entry_safe (receive, after, &conn->receives, on_list) {
        receive->conn = NULL;
        list_del_init(&receive->on_list);
    }
    INIT_LIST_HEAD(&failed);
    list_for_each_entry (tx, &conn->active, on_list) {
        if (tx->status == 0)
            tx->health_status = health_of_active(tx, status);
    }
    list_splice_init(&conn->active, &failed);
    list_for_each_entry (tx, &conn->free_queue, on_list)
        tx->health_status = queued;
    list_for_each_entry (tx, &conn->queue, on_list)
        tx->health_status = queued;
    list_for_each_entry (tx, &conn->reserved_queue, on_list)
        tx->health_status = queued;
    while (!list_empty(&conn->free_queue))
        list_move_tail(conn->free_queue.next, &failed);
    while (!list_empty(&conn->queue))
        list_move_tail(conn->queue.next, &failed);
    while (!list_empty(&conn->reserved_queue))
        list_move_tail(conn->reserved_queue.next, &failed);
    list_add_tail(&conn->on_peer, &conn->owner->closed);
    sim_timer_arm(&conn->dispose, sim_now());
    if (last && status != 0)
        lnet_notify(conn->owner->ni, peer->nid, false, peer->last_alive);
    list_for_each_entry_safe (tx, next, &failed, on_list) {
        if (tx->status == 0)
            tx->status = -ECONNABORTED;
        tx->sending = 0;
        tx->waiting = false;
        tx->queue = LNET_IB_UNQUEUED;
        tx->conn = NULL;
    }
    while (!list_empty(&failed))
        lnet_ib_tx_done(list_first_entry(&failed, struct lnet_ib_tx, on_list));
}

/* ---- what the queue pair reports ------------------------------------------------------------- */

static void rejected(struct lnet_ib_conn *conn, const void *private_data, uint32_t bytes)
{
    struct lnet_ib_peer *peer = conn->peer;
    enum lnet_ib_reject why = LNET_IB_REJECT_FATAL;
    uint64_t stamp = 0;
    uint16_t depth = 0;
    bool again = lnet_ib_unpack_reject(private_data, bytes, &why, &stamp, &depth) == 0;

    switch (why) {
    case LNET_IB_REJECT_RACE: /* the peer's own request is on its way */
        break;
    case LNET_IB_REJECT_STALE: /* it has started again since */
        again = again && peer->stamp != stamp;
        peer->stamp = stamp;
        break;
    case LNET_IB_REJECT_QUEUE_DEPTH:
        again = again && depth > 0 && depth < peer->queue_depth;
        peer->queue_depth = again ? depth : peer->queue_depth;
        break;
    default:
        again = false;
    }
    lnet_ib_conn_close(conn, -ECONNREFUSED, LNET_MSG_STATUS_LOCAL_DROPPED);
    if (!again)
        lnet_ib_peer_not_connected(peer, -ECONNREFUSED);
    else if (!list_empty(&peer->waiting))
        sim_timer_arm(&peer->reconnect,
                      sim_now() + (why == LNET_IB_REJECT_RACE ? RACE_DELAY : RECONNECT_DELAY));
}

static void connected(void *context, int status, const void *private_data, uint32_t bytes)
{
    struct lnet_ib_conn *conn = context;
    struct lnet_ib_peer *peer = conn->peer;
    struct lnet_ib_message answer = {0};

    if (status == -ECONNREFUSED) {
        rejected(conn, private_data, bytes);
        return;
    }
    if (status == 0 &&
        (lnet_ib_unpack(&answer, private_data, bytes) != 0 || answer.type != LNET_IB_CONNACK ||
         answer.source != peer->nid || answer.target != conn->owner->ni->nid ||
         answer.queue_depth > conn->queue_depth || answer.queue_depth == 0))
        status = -EPROTO;
    if (status != 0) {
        lnet_ib_conn_close(conn, status, LNET_MSG_STATUS_LOCAL_DROPPED);
        lnet_ib_peer_not_connected(peer, status);
        return;
    }
    conn->peer_stamp = answer.source_stamp;
    conn->queue_depth = answer.queue_depth;
    conn->credits = conn->reserved = answer.queue_depth;
    lnet_ib_conn_set_state(conn, LNET_IB_ESTABLISHED);
    lnet_ib_peer_connected(peer, conn);
}

static void received(void *context, const void *message, uint32_t bytes)
{
    struct lnet_ib_conn *conn = context;

    lnet_ib_peer_is_alive(conn->peer);
    lnet_ib_message_arrived(conn, message, bytes);
}

static void completed(void *context, struct lnet_work *work, int status)
{
    lnet_ib_tx_completed(context, work, status);
}

static void disconnected(void *context, int status)
{
    lnet_ib_conn_close(context, status, LNET_MSG_STATUS_LOCAL_ERROR);
}

const struct lnet_qp_handler lnet_ib_qp_handler = {
    .connected = connected,
    .received = received,
    .completed = completed,
    .disconnected = disconnected,
};
