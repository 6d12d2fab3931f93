/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Transmit descriptors of o2iblnd, and the flow control of a connection (protocol 2):
 *
 *   IMMEDIATE, PUT_REQ, GET_REQ   take a credit, a receive buffer of the peer; PUT_REQ and GET_REQ
 * take a reserved credit before, an own buffer for the answer all others                    take
 * none and go first
 *
 * Each message tells the peer how many of its credits are free again. Where there is no message to
 * tell it, a NOOP does.
 */
#include <errno.h>
#include <glib.h>
#include <string.h>
#include "o2ib.h"

#define BLOCK 8u
#define SCAN_INTERVAL SIM_S

struct block {
    struct list_head on_ni;
    struct lnet_ib_tx tx[BLOCK];
};

struct lnet_ib_tx *lnet_ib_tx_new(struct lnet_ib_ni *owner)
{
    struct lnet_ib_tx *tx;
    unsigned i;

    if (list_empty(&owner->idle)) {
        struct block *block = g_new0(struct block, 1);

        list_add(&block->on_ni, &owner->all_blocks);
        for (i = 0; i < BLOCK; i++)
            list_add_tail(&block->tx[i].on_list, &owner->idle);
    }
    tx = list_first_entry(&owner->idle, struct lnet_ib_tx, on_list);
    list_del_init(&tx->on_list);
    memset(tx, 0, offsetof(struct lnet_ib_tx, message));
    INIT_LIST_HEAD(&tx->on_list);
    tx->owner = owner;
    return tx;
}

void lnet_ib_tx_pack(struct lnet_ib_tx *tx, struct lnet_ib_message *message, lnet_nid_t peer)
{
    message->version = LNET_IB_VERSION;
    message->source = tx->owner->ni->nid;
    message->target = peer;
    message->source_stamp = tx->owner->ni->node->incarnation;
    tx->type = message->type;
    tx->bytes = lnet_ib_pack(message, tx->message);
}

/* ---- completion ------------------------------------------------------------------------------ */

void lnet_ib_tx_done(struct lnet_ib_tx *tx)
{
    struct lnet_ib_ni *owner = tx->owner;
    struct lnet_msg *msg[2] = {tx->msg[0], tx->msg[1]};
    enum lnet_msg_hstatus health = tx->health_status;
    int status = tx->status, i;

    assert(tx->sending == 0 && !tx->waiting && tx->queue == LNET_IB_UNQUEUED);
    if (tx->key != 0)
        lnet_hca_release(owner->hca, tx->key);
    list_move(&tx->on_list, &owner->idle);
    for (i = 0; i < 2; i++) {
        if (msg[i] == NULL)
            continue;
        if (status < 0)
            msg[i]->health_status = health;
        lnet_finalize(msg[i], status);
    }
}

void lnet_ib_tx_finish_if_idle(struct lnet_ib_tx *tx)
{
    if (tx->sending == 0 && !tx->waiting && tx->queue == LNET_IB_UNQUEUED)
        lnet_ib_tx_done(tx);
}

void lnet_ib_tx_fail_list(struct list_head *list, int status, enum lnet_msg_hstatus health)
{
    while (!list_empty(list)) {
        struct lnet_ib_tx *tx = list_first_entry(list, struct lnet_ib_tx, on_list);

        tx->status = status;
        tx->health_status = health;
        tx->waiting = false;
        tx->queue = LNET_IB_UNQUEUED;
        lnet_ib_tx_done(tx);
    }
}

void lnet_ib_tx_completed(struct lnet_ib_conn *conn, struct lnet_work *work, int status)
{
    struct lnet_ib_tx *tx = NULL, *at;

    list_for_each_entry (at, &conn->active, on_list)
        if (work >= at->work && work < at->work + G_N_ELEMENTS(at->work)) {
            tx = at;
            break;
        }
    assert(tx != NULL && tx->sending > 0);
    if (status != 0) {
        if (tx->status == 0) {
            tx->status = -EIO;
            tx->health_status = LNET_MSG_STATUS_REMOTE_DROPPED;
        }
        lnet_ib_conn_close(conn, -EIO, LNET_MSG_STATUS_LOCAL_ERROR);
        return;
    }
    tx->sending--;
    if (work->kind == LNET_WORK_SEND)
        conn->posted--;
    lnet_ib_tx_finish_if_idle(tx);
    lnet_ib_send_queued(conn);
}

struct lnet_ib_tx *lnet_ib_tx_waiting(struct lnet_ib_conn *conn, uint8_t type, uint64_t cookie)
{
    struct lnet_ib_tx *tx;

    list_for_each_entry (tx, &conn->active, on_list)
        if (tx->cookie == cookie && tx->type == type && tx->waiting)
            return tx;
    return NULL;
}

/* ---- queues ---------------------------------------------------------------------------------- */

sim_time_t lnet_ib_timeout(const struct lnet_ib_ni *owner)
{
    return (sim_time_t)owner->ni->node->params.lnd_timeout * SIM_S;
}

static void put_into_queue(struct lnet_ib_conn *conn, struct lnet_ib_tx *tx)
{
    tx->conn = conn;
    tx->deadline = sim_now() + lnet_ib_timeout(conn->owner);
    switch (tx->type) {
    case LNET_IB_PUT_REQ:
    case LNET_IB_GET_REQ:
        tx->queue = LNET_IB_NEEDS_RESERVED;
        list_move_tail(&tx->on_list, &conn->reserved_queue);
        break;
    case LNET_IB_IMMEDIATE:
        tx->queue = LNET_IB_NEEDS_CREDIT;
        list_move_tail(&tx->on_list, &conn->queue);
        break;
    default:
        tx->queue = LNET_IB_NEEDS_NOTHING;
        list_move_tail(&tx->on_list, &conn->free_queue);
    }
}

void lnet_ib_tx_queue(struct lnet_ib_conn *conn, struct lnet_ib_tx *tx)
{
    put_into_queue(conn, tx);
    lnet_ib_send_queued(conn);
}

/* ---- posting --------------------------------------------------------------------------------- */

static int high_water(const struct lnet_ib_conn *conn)
{
    int value = conn->owner->ni->driver_values[LNET_IB_PEER_CREDITS_HIW];

    if (value < conn->queue_depth / 2)
        value = conn->queue_depth / 2;
    return MAX(1, MIN(value, conn->queue_depth - 1));
}

static uint32_t concurrent_sends(const struct lnet_ib_conn *conn)
{
    int value = conn->owner->ni->driver_values[LNET_IB_CONCURRENT_SENDS];

    return value > 0 ? (uint32_t)value : conn->queue_depth;
}

static bool keepalive_due(const struct lnet_ib_conn *conn)
{
    int seconds = conn->owner->ni->driver_values[LNET_IB_KEEPALIVE];

    return seconds > 0 && sim_now() >= conn->last_sent + (sim_time_t)seconds * SIM_S;
}

static bool needs_noop(const struct lnet_ib_conn *conn)
{
    if (conn->owed < high_water(conn) && !keepalive_due(conn))
        return false;
    /* Another message will carry the credits. */
    return list_empty(&conn->free_queue) && (list_empty(&conn->queue) || conn->credits == 0);
}

static void post_work(struct lnet_ib_conn *conn, struct lnet_ib_tx *tx, struct lnet_work *work)
{
    tx->sending++;
    lnet_qp_post(conn->qp, work);
}

/* False: the connection cannot send more now, or has been closed. */
static bool post(struct lnet_ib_conn *conn, struct lnet_ib_tx *tx, bool credit)
{
    struct lnet_work *work;

    if (conn->posted >= concurrent_sends(conn) || (credit && conn->credits == 0))
        return false;
    list_del_init(&tx->on_list);
    tx->queue = LNET_IB_UNQUEUED;
    if (tx->msg[0] != NULL && lnet_drop_for_health(conn->owner->ni, tx->msg[0])) {
        tx->status = -EINVAL;
        tx->health_status = tx->msg[0]->health_status;
        tx->waiting = false;
        list_add_tail(&tx->on_list, &conn->active);
        lnet_ib_conn_close(conn, -EINVAL, LNET_MSG_STATUS_LOCAL_ERROR);
        return false;
    }
    lnet_ib_set_credits(tx->message, (uint8_t)conn->owed);
    lnet_ib_set_target_stamp(tx->message, conn->peer_stamp);
    conn->owed = 0;
    conn->credits -= credit;
    conn->posted++;
    conn->owner->sent[lnet_ib_type_index(tx->type)]++;
    conn->last_sent = sim_now();
    list_add_tail(&tx->on_list, &conn->active);
    if (tx->write) {
        tx->write = false;
        post_work(conn, tx, &tx->work[tx->works++]);
    }
    assert(tx->works < G_N_ELEMENTS(tx->work));
    work = &tx->work[tx->works++];
    work->kind = LNET_WORK_SEND;
    work->message = tx->message;
    work->bytes = tx->bytes;
    post_work(conn, tx, work);
    return true;
}

static void add_noop(struct lnet_ib_conn *conn)
{
    struct lnet_ib_message message = {.type = LNET_IB_NOOP};
    struct lnet_ib_tx *tx = lnet_ib_tx_new(conn->owner);

    lnet_ib_tx_pack(tx, &message, conn->peer->nid);
    put_into_queue(conn, tx);
}

void lnet_ib_send_queued(struct lnet_ib_conn *conn)
{
    if (conn->state != LNET_IB_ESTABLISHED)
        return;
    while (conn->reserved > 0 && !list_empty(&conn->reserved_queue)) {
        struct lnet_ib_tx *tx = list_first_entry(&conn->reserved_queue, struct lnet_ib_tx, on_list);

        conn->reserved--;
        tx->queue = LNET_IB_NEEDS_CREDIT;
        list_move_tail(&tx->on_list, &conn->queue);
    }
    if (needs_noop(conn))
        add_noop(conn);
    for (;;) {
        bool credit = list_empty(&conn->free_queue);
        struct list_head *queue = credit ? &conn->queue : &conn->free_queue;

        if (list_empty(queue) ||
            !post(conn, list_first_entry(queue, struct lnet_ib_tx, on_list), credit))
            break;
    }
}

/* ---- time-outs ------------------------------------------------------------------------------- */

static bool late(const struct list_head *list)
{
    struct lnet_ib_tx *tx;

    list_for_each_entry (tx, list, on_list)
        if (tx->deadline <= sim_now())
            return true;
    return false;
}

static void scan_conn(struct lnet_ib_conn *conn)
{
    if (late(&conn->active) || late(&conn->queue) || late(&conn->reserved_queue) ||
        late(&conn->free_queue)) {
        lnet_ib_conn_close(conn, -ETIMEDOUT, LNET_MSG_STATUS_LOCAL_TIMEOUT);
        return;
    }
    if (keepalive_due(conn))
        lnet_ib_send_queued(conn);
}

static void scan_peer(struct lnet_ib_peer *peer)
{
    struct lnet_ib_conn *conn, *next;
    struct lnet_ib_tx *tx, *after;
    struct list_head failed;

    list_for_each_entry_safe (conn, next, &peer->conns, on_peer)
        scan_conn(conn);
    INIT_LIST_HEAD(&failed);
    list_for_each_entry_safe (tx, after, &peer->waiting, on_list)
        if (tx->deadline <= sim_now())
            list_move_tail(&tx->on_list, &failed);
    lnet_ib_tx_fail_list(&failed, -ETIMEDOUT, LNET_MSG_STATUS_LOCAL_TIMEOUT);
}

void lnet_ib_scan_arm(struct lnet_ib_ni *owner)
{
    if (!sim_timer_armed(&owner->scan))
        sim_timer_arm(&owner->scan, sim_now() + SCAN_INTERVAL);
}

void lnet_ib_scan(struct sim_event *event)
{
    struct lnet_ib_ni *owner =
        sim_container_of(sim_container_of(event, struct sim_timer, event), struct lnet_ib_ni, scan);
    struct lnet_ib_peer *peer, *next;

    lnet_ib_scan_arm(owner);
    list_for_each_entry_safe (peer, next, &owner->peers, on_ni)
        scan_peer(peer);
}
