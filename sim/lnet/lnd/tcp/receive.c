/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Incoming messages: header, LNet header, payload, one message at a time. While LNet delays a
 * message, nothing more is read from its connection, and what follows on it waits, too.
 */
#include "sock.h"

#include "capture.h"
#include "checksum.h"

static void read_lnet_header(struct lnet_sock_conn *conn);

static bool is_open(const struct lnet_sock_conn *conn)
{
    return conn->state == LNET_SOCK_OPEN;
}

/* ---- zero-copy acknowledgements ---------------------------------------------------------------
 */

/* The peer has taken what the cookies name. In version 3 both cookies of a NOOP are the ends of a
 * range, or two cookies if the first is the greater one. */
static int acknowledged(struct lnet_sock_conn *conn, uint64_t first, uint64_t second)
{
    struct lnet_sock_peer *peer = conn->peer;
    struct lnet_sock_tx *tx, *next;
    struct list_head done;
    uint64_t count;

    if (first == 0)
        first = second;
    count = first > second ? 2 : second - first + 1;
    if (second == LNET_SOCK_KEEPALIVE_COOKIE)
        return count == 1 ? 0 : -EPROTO;
    INIT_LIST_HEAD(&done);
    list_for_each_entry_safe (tx, next, &peer->zc_requests, on_list) {
        uint64_t cookie = tx->cookies[0];

        if (cookie != first && cookie != second && !(first < cookie && cookie < second))
            continue;
        list_move_tail(&tx->on_list, &done);
        if (--count == 0)
            break;
    }
    while (!list_empty(&done)) {
        tx = list_first_entry(&done, struct lnet_sock_tx, on_list);
        list_del_init(&tx->on_list);
        lnet_sock_tx_done(conn->sock, tx, 0);
    }
    return count == 0 ? 0 : -EPROTO;
}

static void acknowledge(struct lnet_sock_conn *conn)
{
    struct lnet_sock *sock = conn->sock;
    struct lnet_sock_tx *tx = lnet_sock_tx_noop(sock, 0, conn->in_header.cookies[0]);

    if (lnet_sock_launch(sock, tx, conn->peer->id) != 0)
        lnet_sock_tx_done(sock, tx, -EHOSTUNREACH);
}

/* ---- the message ------------------------------------------------------------------------------
 */

static void message_done(struct lnet_sock_conn *conn)
{
    struct lnet_msg *msg = conn->msg;
    int status = 0;

    conn->msg = NULL;
    conn->in_message = false;
    conn->messages_received++;
    conn->peer->last_alive = sim_now();
    if (lnet_capture != NULL)
        lnet_capture_received(conn);
    if (conn->version == 2 && conn->in_header.checksum != 0 && conn->in_discard == 0 &&
        lnet_sock_checksum_rx(conn) != conn->in_header.checksum) {
        status = -EIO;
        if (msg != NULL)
            msg->health_status = LNET_MSG_STATUS_REMOTE_ERROR;
    }
    if (conn->in_header.cookies[0] != 0)
        acknowledge(conn);
    if (msg != NULL)
        lnet_finalize(msg, status);
    if (is_open(conn))
        lnet_sock_receive_next(conn);
}

static void discarded(void *owner)
{
    struct lnet_sock_conn *conn = owner;

    lnet_sock_conn_hold(conn);
    message_done(conn);
    lnet_sock_conn_release(conn);
}

static void payload_read(void *owner)
{
    struct lnet_sock_conn *conn = owner;

    if (conn->in_discard > 0)
        lnet_stream_read(conn->stream, NULL, 0, conn->in_discard, discarded);
    else
        discarded(conn);
}

int lnet_sock_receive(struct lnet_ni *ni, void *in, struct lnet_msg *msg, bool delayed,
                      const struct lnet_fragments *to, uint32_t offset, uint32_t mlen,
                      uint32_t rlen)
{
    struct lnet_sock_conn *conn = in;

    (void)ni, (void)delayed;
    assert(mlen <= rlen);
    conn->with_lnet = false;
    if (!is_open(conn)) { /* closed while LNet kept the message */
        lnet_sock_conn_release(conn);
        if (msg != NULL) {
            msg->health_status = LNET_MSG_STATUS_REMOTE_ERROR;
            lnet_finalize(msg, -EIO);
        }
        return 0;
    }
    assert(conn->in_message && conn->msg == NULL);
    assert(rlen == conn->in_lnet_header.payload_length);
    conn->msg = msg;
    conn->in_offset = offset;
    conn->in_length = mlen;
    conn->in_discard = rlen - mlen;
    conn->in_to = (struct lnet_fragments){0};
    if (mlen > 0)
        conn->in_to = *to;
    conn->rx_deadline = sim_now() + lnet_sock_timeout(conn->sock);
    if (rlen > 0) /* may stall */
        lnet_sock_reaper_busy(conn->sock);
    if (mlen > 0)
        lnet_stream_read(conn->stream, &conn->in_to, offset, mlen, payload_read);
    else if (rlen > 0)
        lnet_stream_read(conn->stream, NULL, 0, rlen, discarded);
    else if (conn->parsing)
        conn->receive_done = true;
    else
        lnet_stream_read(conn->stream, NULL, 0, 0, discarded);
    lnet_sock_conn_release(conn); /* LNet's, since lnet_parse */
    return 0;
}

void lnet_sock_receive_abort(struct lnet_sock_conn *conn)
{
    struct lnet_msg *msg = conn->msg;

    conn->msg = NULL;
    conn->receive_done = false;
    if (msg == NULL)
        return;
    msg->health_status = LNET_MSG_STATUS_REMOTE_ERROR;
    lnet_finalize(msg, -EIO);
}

/* ---- headers ----------------------------------------------------------------------------------
 */

/* What LNet will use of the peer when the next message arrives. */
static void hint(struct lnet_sock_conn *conn)
{
    const struct lnet_peer_ni *lnet = conn->peer->lnet;
    const void *const hints[LNET_STREAM_HINTS] = {conn->peer, lnet, lnet->peer};

    conn->fetched_peer = lnet;
    lnet_stream_hint(conn->stream, hints);
}

static void parse(struct lnet_sock_conn *conn)
{
    lnet_nid_t from = conn->peer->id.nid;
    int error;

    conn->in_message = true;
    conn->with_lnet = true;
    conn->parsing = true;
    conn->receive_done = false;
    conn->peer->last_alive = sim_now();
    lnet_sock_conn_hold(conn); /* LNet's, until it calls lnet_sock_receive */
    error = lnet_parse_from(conn->sock->ni, &conn->in_lnet_header, &conn->peer->lnet, from, conn,
                            false);
    conn->parsing = false;
    if (conn->peer->lnet != NULL && conn->peer->lnet != conn->fetched_peer && is_open(conn))
        hint(conn);
    if (error != 0) {
        lnet_sock_conn_release(conn);
        lnet_sock_conn_close_all(conn, error);
    } else if (conn->receive_done && is_open(conn)) {
        conn->receive_done = false;
        message_done(conn);
    }
}

static void lnet_header_read(void *owner)
{
    struct lnet_sock_conn *conn = owner;

    lnet_sock_conn_hold(conn);
    lnet_header_from_wire(&conn->in_lnet_header, conn->lnet_header);
    /* A process in user space does not know its identity: that of the connection counts. */
    if (conn->peer->id.pid & LNET_PID_USERFLAG) {
        conn->in_lnet_header.src_nid = conn->peer->id.nid;
        conn->in_lnet_header.src_pid = conn->peer->id.pid;
    }
    parse(conn);
    lnet_sock_conn_release(conn);
}

static void read_lnet_header(struct lnet_sock_conn *conn)
{
    lnet_stream_read_buffer(conn->stream, conn->lnet_header, LNET_WIRE_HEADER_BYTES,
                            lnet_header_read);
}

static void header_read(void *owner)
{
    struct lnet_sock_conn *conn = owner;
    int error = lnet_sock_header_parse(conn->header, conn->swapped, &conn->in_header);

    lnet_sock_conn_hold(conn);
    conn->peer->last_alive = sim_now();
    if (error == 0 && conn->in_header.cookies[1] != 0)
        error = acknowledged(
            conn, conn->in_header.type == LNET_SOCK_NOOP ? conn->in_header.cookies[0] : 0,
            conn->in_header.cookies[1]);
    if (!is_open(conn)) {
        lnet_sock_conn_release(conn);
        return;
    }
    if (error != 0) {
        lnet_sock_conn_close_all(conn, error);
    } else if (conn->in_header.type == LNET_SOCK_NOOP) {
        if (lnet_capture != NULL)
            lnet_capture_received(conn);
        lnet_sock_receive_next(conn);
    } else {
        conn->in_message = true;
        conn->rx_deadline = sim_now() + lnet_sock_timeout(conn->sock);
        read_lnet_header(conn);
    }
    lnet_sock_conn_release(conn);
}

void lnet_sock_receive_next(struct lnet_sock_conn *conn)
{
    assert(is_open(conn));
    conn->in_message = false;
    if (conn->version == 1) {
        conn->in_header = (struct lnet_sock_header){.type = LNET_SOCK_LNET};
        read_lnet_header(conn);
    } else {
        lnet_stream_read_buffer(conn->stream, conn->header, LNET_SOCK_HEADER_BYTES, header_read);
    }
}
