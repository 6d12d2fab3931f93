/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Transmits: the connection for a message, the queue of a peer that has none yet, and completion.
 * A transmit completes when its bytes are in the socket, or with zero-copy when the peer has
 * acknowledged it.
 */
#include "sock.h"

#include <glib.h>
#include <string.h>

#include "capture.h"
#include "checksum.h"

/* ---- transmits --------------------------------------------------------------------------------
 */

static struct list_head free_txs = LIST_HEAD_INIT(free_txs);

static void tx_written(struct lnet_stream_write *write);

static struct lnet_sock_tx *tx_new(struct lnet_msg *msg)
{
    struct lnet_sock_tx *tx;

    if (list_empty(&free_txs)) {
        tx = g_new(struct lnet_sock_tx, 1);
    } else {
        tx = list_first_entry(&free_txs, struct lnet_sock_tx, on_list);
        list_del(&tx->on_list);
    }
    INIT_LIST_HEAD(&tx->on_list);
    tx->msg = msg;
    tx->conn = NULL;
    tx->hstatus = LNET_MSG_STATUS_OK;
    tx->status = 0;
    tx->cookies[0] = tx->cookies[1] = 0;
    tx->unanswered = false;
    tx->bytes = LNET_SOCK_HEADER_BYTES;
    tx->write.payload.count = 0;
    tx->write.length = 0;
    tx->write.done = tx_written;
    if (msg != NULL) {
        tx->bytes += LNET_WIRE_HEADER_BYTES + msg->payload_length;
        tx->write.payload = msg->payload;
        tx->write.offset = msg->payload_offset;
        tx->write.length = msg->payload_length;
    }
    return tx;
}

struct lnet_sock_tx *lnet_sock_tx_noop(struct lnet_sock *sock, uint64_t cookie0, uint64_t cookie1)
{
    struct lnet_sock_tx *tx = tx_new(NULL);

    (void)sock;
    tx->cookies[0] = cookie0;
    tx->cookies[1] = cookie1;
    return tx;
}

static void finalize(struct lnet_sock_tx *tx)
{
    struct lnet_msg *msg = tx->msg;
    int status = tx->status;

    if (msg != NULL)
        msg->health_status = status == 0 ? LNET_MSG_STATUS_OK : tx->hstatus;
    list_add(&tx->on_list, &free_txs);
    if (msg != NULL)
        lnet_finalize(msg, status);
}

/* LNet may send the next message from within lnet_finalize; that one's end waits for this one. */
void lnet_sock_tx_done(struct lnet_sock *sock, struct lnet_sock_tx *tx, int status)
{
    assert(status == 0 || tx->hstatus != LNET_MSG_STATUS_OK);
    tx->status = status;
    list_add_tail(&tx->on_list, &sock->done);
    if (sock->completing)
        return;
    sock->completing = true;
    while (!list_empty(&sock->done)) {
        tx = list_first_entry(&sock->done, struct lnet_sock_tx, on_list);
        list_del(&tx->on_list);
        finalize(tx);
    }
    sock->completing = false;
}

static enum lnet_msg_hstatus hstatus_of(int error)
{
    switch (error) {
    case -ETIMEDOUT:
        return LNET_MSG_STATUS_LOCAL_TIMEOUT;
    case -ENETDOWN:
    case -EHOSTUNREACH:
    case -ENETUNREACH:
    case -ECONNREFUSED:
    case -ECONNRESET:
        return LNET_MSG_STATUS_REMOTE_DROPPED;
    default:
        return LNET_MSG_STATUS_LOCAL_ERROR;
    }
}

void lnet_sock_fail(struct lnet_sock *sock, struct list_head *list, int error)
{
    while (!list_empty(list)) {
        struct lnet_sock_tx *tx = list_first_entry(list, struct lnet_sock_tx, on_list);

        list_del(&tx->on_list);
        if (tx->hstatus == LNET_MSG_STATUS_OK)
            tx->hstatus = hstatus_of(error);
        lnet_sock_tx_done(sock, tx, error);
    }
}

/* ---- the connection for a message -------------------------------------------------------------
 */

enum fit { FIT_NO, FIT_MAYBE, FIT_YES };

static bool is_bulk(const struct lnet_sock *sock, uint32_t bytes)
{
    return bytes >= (uint32_t)lnet_sock_value(sock, min_bulk);
}

static enum fit fit(const struct lnet_sock_conn *conn, bool bulk, bool noop, bool nonblocking)
{
    switch (conn->type) {
    case LNET_SOCK_ANY:
        return conn->version < 3 ? FIT_YES : FIT_NO;
    case LNET_SOCK_BULK_IN: /* in version 3 the way of zero-copy acknowledgements */
        if (conn->version < 3)
            return FIT_MAYBE;
        return nonblocking ? FIT_YES : noop ? FIT_MAYBE : FIT_NO;
    case LNET_SOCK_BULK_OUT:
        if (nonblocking && conn->version >= 3)
            return FIT_NO;
        return bulk ? FIT_YES : FIT_MAYBE;
    case LNET_SOCK_CONTROL:
        if (nonblocking && conn->version >= 3)
            return FIT_NO;
        return bulk ? FIT_MAYBE : FIT_YES;
    default:
        return FIT_NO;
    }
}

static bool better(const struct lnet_sock_conn *conn, const struct lnet_sock_conn *than)
{
    uint64_t queued, other;

    if (than == NULL)
        return true;
    queued = lnet_stream_queued(conn->stream);
    other = lnet_stream_queued(than->stream);
    if (queued != other)
        return queued < other;
    return lnet_sock_value(conn->sock, round_robin) && conn->last_post < than->last_post;
}

struct lnet_sock_conn *lnet_sock_choose(const struct lnet_sock_peer *peer, uint32_t bytes,
                                        bool noop, bool nonblocking)
{
    struct lnet_sock_conn *conn, *typed = NULL, *fallback = NULL;
    bool bulk = is_bulk(peer->sock, bytes);

    if (!noop && !nonblocking && peer->best[bulk] != NULL) {
        peer->best[bulk]->last_post = sim_now();
        return peer->best[bulk];
    }
    list_for_each_entry (conn, &peer->conns, on_peer) {
        enum fit how = fit(conn, bulk, noop, nonblocking);

        if (how == FIT_YES && (typed == NULL || better(conn, typed)))
            typed = conn;
        else if (how == FIT_MAYBE && (fallback == NULL || better(conn, fallback)))
            fallback = conn;
    }
    if (typed == NULL)
        typed = fallback;
    if (typed != NULL)
        typed->last_post = sim_now();
    return typed;
}

/* Fetches into the cache what sending to the peer will use. */
static void fetch(const struct lnet_peer_ni *lnet, uint32_t bytes)
{
    const void *const *hints = lnet->hints[bytes >= lnet->hints_long];

    sim_fetch(lnet->driver, 2);
    sim_fetch(hints[0], 2);
    if (hints[1] != NULL)
        lnet_stream_fetch(hints[1]);
    sim_fetch(hints[2], 1);
}

/* LNet's peer, if it remembers this one, learns its connections. */
static void hint(struct lnet_sock_peer *peer)
{
    const uint32_t overhead = LNET_SOCK_HEADER_BYTES + LNET_WIRE_HEADER_BYTES;
    uint32_t bulk, least = (uint32_t)lnet_sock_value(peer->sock, min_bulk);
    struct lnet_peer_ni *lnet = peer->lnet;

    if (lnet == NULL || lnet->driver != peer)
        return;
    lnet->fetch = fetch;
    lnet->hints_long = least > overhead ? least - overhead : 0;
    for (bulk = 0; bulk < 2; bulk++) {
        const struct lnet_sock_conn *conn = peer->best[bulk];

        lnet->hints[bulk][0] = conn;
        lnet->hints[bulk][1] = conn != NULL ? conn->stream : NULL;
        lnet->hints[bulk][2] = conn != NULL ? lnet_stream_shared(conn->stream) : NULL;
    }
}

void lnet_sock_choose_best(struct lnet_sock_peer *peer)
{
    struct lnet_sock_conn *conn;
    uint32_t bulk;

    for (bulk = 0; bulk < 2; bulk++) {
        uint32_t count = 0;

        list_for_each_entry (conn, &peer->conns, on_peer) {
            if (fit(conn, bulk, false, false) == FIT_YES && ++count == 1)
                peer->best[bulk] = conn;
        }
        if (count != 1)
            peer->best[bulk] = NULL;
    }
    hint(peer);
}

/* ---- sending ----------------------------------------------------------------------------------
 */

uint32_t lnet_sock_overhead(uint32_t version)
{
    return LNET_WIRE_HEADER_BYTES + (version == 1 ? 0 : LNET_SOCK_HEADER_BYTES);
}

/* Large messages with zero-copy end when the peer has them; the cookie names them meanwhile. */
static void ask_for_acknowledgement(struct lnet_sock_conn *conn, struct lnet_sock_tx *tx)
{
    struct lnet_sock_peer *peer = conn->peer;

    if (!lnet_sock_value(conn->sock, zero_copy) || conn->version < 2 ||
        tx->write.length < (uint32_t)lnet_sock_value(conn->sock, zc_min_payload))
        return;
    tx->cookies[0] = peer->zc_next_cookie++;
    if (peer->zc_next_cookie == 0)
        peer->zc_next_cookie = LNET_SOCK_KEEPALIVE_COOKIE + 1;
    tx->unanswered = true;
    tx->deadline = sim_now() + lnet_sock_timeout(conn->sock);
}

static void pack(struct lnet_sock_conn *conn, struct lnet_sock_tx *tx)
{
    struct lnet_sock_header header = {
        .type = tx->msg != NULL ? LNET_SOCK_LNET : LNET_SOCK_NOOP,
        .cookies = {tx->cookies[0], tx->cookies[1]},
    };

    if (tx->msg != NULL)
        lnet_header_to_wire(&tx->msg->header, tx->head + LNET_SOCK_HEADER_BYTES);
    if (conn->version == 2 && lnet_sock_value(conn->sock, enable_csum)) {
        uint32_t every = (uint32_t)lnet_sock_value(conn->sock, inject_csum_error);

        header.checksum = lnet_sock_checksum_tx(&header, tx);
        if (every != 0 && ++conn->sock->checksums_sent % every == 0)
            header.checksum++;
    }
    lnet_sock_header_pack(tx->head, &header, false);
    tx->write.head = conn->version == 1 ? tx->head + LNET_SOCK_HEADER_BYTES : tx->head;
    tx->write.head_bytes =
        tx->msg == NULL ? LNET_SOCK_HEADER_BYTES : lnet_sock_overhead(conn->version);
}

/* All bytes are in the socket. */
static void written(struct lnet_sock_tx *tx)
{
    struct lnet_sock_conn *conn = tx->conn;

    conn->messages_sent++;
    if (lnet_capture != NULL)
        lnet_capture_sent(conn, tx);
    if (tx->unanswered)
        list_move_tail(&tx->on_list, &conn->peer->zc_requests);
    else
        lnet_sock_tx_done(conn->sock, tx, 0);
}

static void tx_written(struct lnet_stream_write *write)
{
    struct lnet_sock_tx *tx = sim_container_of(write, struct lnet_sock_tx, write);

    list_del_init(&tx->on_list);
    written(tx);
}

static void queue(struct lnet_sock_conn *conn, struct lnet_sock_tx *tx)
{
    assert(conn->state == LNET_SOCK_OPEN);
    if (tx->msg != NULL && lnet_drop_for_health(conn->sock->ni, tx->msg)) {
        tx->hstatus = tx->msg->health_status;
        lnet_sock_tx_done(conn->sock, tx, -EINVAL);
        lnet_sock_conn_close_all(conn, -EINVAL);
        return;
    }
    if (conn->version == 1 && tx->msg == NULL) { /* version 1 has no NOOP */
        lnet_sock_tx_done(conn->sock, tx, 0);
        return;
    }
    tx->conn = conn;
    ask_for_acknowledgement(conn, tx);
    pack(conn, tx);
    if (list_empty(&conn->tx_queue) && lnet_stream_queued(conn->stream) == 0) {
        conn->tx_deadline = sim_now() + lnet_sock_timeout(conn->sock);
        lnet_sock_reaper_busy(conn->sock);
    }
    list_add_tail(&tx->on_list, &conn->tx_queue);
    if (lnet_stream_write(conn->stream, &tx->write)) {
        list_del_init(&tx->on_list);
        written(tx);
    }
}

/* The driver's peer, which LNet's peer remembers. */
static struct lnet_sock_peer *find_peer(const struct lnet_sock *sock, const struct lnet_msg *msg,
                                        struct lnet_process_id id)
{
    struct lnet_peer_ni *lnet = msg != NULL ? msg->tx_peer : NULL;
    struct lnet_sock_peer *peer = lnet != NULL ? lnet->driver : NULL;

    if (peer != NULL && peer->sock == sock && peer->id.pid == id.pid && peer->id.nid == id.nid)
        return peer;
    peer = lnet_sock_peer_find(sock, id);
    if (peer != NULL && lnet != NULL && lnet->nid == id.nid) {
        lnet->driver = peer;
        peer->lnet = lnet;
        hint(peer);
    }
    return peer;
}

int lnet_sock_launch(struct lnet_sock *sock, struct lnet_sock_tx *tx, struct lnet_process_id id)
{
    struct lnet_sock_peer *peer = find_peer(sock, tx->msg, id);
    bool noop = tx->msg == NULL;
    struct lnet_sock_conn *conn;
    int error = 0;

    if (peer == NULL) {
        if (id.pid & LNET_PID_USERFLAG) { /* a process that has to connect itself */
            tx->hstatus = LNET_MSG_STATUS_REMOTE_ERROR;
            return -EHOSTUNREACH;
        }
        peer = lnet_sock_peer_get(sock, id);
    }
    if ((id.pid & LNET_PID_USERFLAG) == 0 && list_empty(&peer->conns))
        lnet_sock_peer_route(peer);
    lnet_sock_peer_hold(peer);
    if (lnet_sock_peer_connectable(peer))
        lnet_sock_peer_connect(peer);
    conn = lnet_sock_choose(peer, tx->bytes, noop, false);
    if (conn != NULL) {
        queue(conn, tx);
    } else if (peer->connecting) {
        tx->deadline = sim_now() + lnet_sock_timeout(sock);
        list_add_tail(&tx->on_list, &peer->tx_queue);
        lnet_sock_reaper_busy(sock);
    } else { /* the last attempt has failed a short time ago */
        tx->hstatus = LNET_MSG_STATUS_REMOTE_ERROR;
        error = -EHOSTUNREACH;
    }
    lnet_sock_peer_release(peer);
    return error;
}

int lnet_sock_send(struct lnet_ni *ni, void *in, struct lnet_msg *msg)
{
    struct lnet_sock *sock = ni->driver;
    struct lnet_process_id id = {msg->next_hop,
                                 msg->target_is_router ? LNET_PID_LUSTRE : msg->target.pid};
    struct lnet_sock_tx *tx = tx_new(msg);
    int error;

    (void)in;
    error = lnet_sock_launch(sock, tx, id);
    if (error != 0) {
        msg->health_status = tx->hstatus;
        list_add(&tx->on_list, &free_txs);
    }
    return error;
}

void lnet_sock_send_waiting(struct lnet_sock_conn *conn)
{
    struct lnet_sock_peer *peer = conn->peer;
    struct lnet_sock_tx *tx, *next;
    struct list_head chosen;

    INIT_LIST_HEAD(&chosen);
    list_for_each_entry_safe (tx, next, &peer->tx_queue, on_list)
        if (fit(conn, is_bulk(conn->sock, tx->bytes), tx->msg == NULL, false) != FIT_NO)
            list_move_tail(&tx->on_list, &chosen);
    while (!list_empty(&chosen)) {
        tx = list_first_entry(&chosen, struct lnet_sock_tx, on_list);
        if (conn->state != LNET_SOCK_OPEN) {
            lnet_sock_fail(conn->sock, &chosen, -ECONNABORTED);
            return;
        }
        list_del(&tx->on_list);
        queue(conn, tx);
    }
}
