/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Connections from TCP's handshake through acceptor request and HELLO to the end. */
#include "sock.h"

#include <glib.h>
#include <stdlib.h>
#include <string.h>

#include "capture.h"

static void deadline_fired(struct sim_event *event)
{
    struct lnet_sock_conn *conn = sim_container_of(event, struct lnet_sock_conn, deadline.event);

    struct lnet_node *node = conn->node;

    assert(conn->state != LNET_SOCK_OPEN && conn->state != LNET_SOCK_CLOSED);
    lnet_host_lock(node);
    lnet_sock_conn_close(conn, -ETIMEDOUT);
    lnet_host_unlock(node);
}

static struct lnet_sock_conn *conn_new(struct lnet_node *node, struct lnet_sock *sock,
                                       enum lnet_sock_state state)
{
    struct lnet_sock_conn *conn = lnet_line_alloc(sizeof(*conn));

    conn->node = node;
    conn->sock = sock;
    conn->state = state;
    conn->state_since = sim_now();
    conn->references = 1;
    conn->type = LNET_SOCK_NONE;
    conn->deadline = (struct sim_timer){.event = {deadline_fired}};
    INIT_LIST_HEAD(&conn->on_peer);
    INIT_LIST_HEAD(&conn->tx_queue);
    lnet_connection_count(node, 1);
    return conn;
}

/* For the trace the three parts of a HELLO are one state. */
static void set_state(struct lnet_sock_conn *conn, enum lnet_sock_state state)
{
    static const char *const names[] = {
        [LNET_SOCK_CONNECTING] = "connecting", [LNET_SOCK_REQUEST] = "acceptor request",
        [LNET_SOCK_HELLO_FIRST] = "HELLO",     [LNET_SOCK_HELLO_FIXED] = "HELLO",
        [LNET_SOCK_HELLO_IPS] = "HELLO",       [LNET_SOCK_OPEN] = "open",
        [LNET_SOCK_REFUSED] = "refused",       [LNET_SOCK_CLOSED] = "closed",
    };
    static const char *const kinds[] = {"any", "control", "bulk in", "bulk out"};

    if (strcmp(names[conn->state], names[state]) != 0) {
        lnet_connection_state(conn->node, names[conn->state],
                              conn->peer != NULL ? conn->peer->id.nid : LNET_NID_ANY,
                              conn->type >= 0 && conn->type < 4 ? kinds[conn->type] : NULL,
                              conn->state_since, sim_now());
        conn->state_since = sim_now();
    }
    conn->state = state;
}

void lnet_sock_conn_hold(struct lnet_sock_conn *conn)
{
    conn->references++;
}

void lnet_sock_conn_release(struct lnet_sock_conn *conn)
{
    assert(conn->references > 0);
    if (--conn->references > 0)
        return;
    assert(conn->state == LNET_SOCK_CLOSED && conn->stream == NULL);
    assert(list_empty(&conn->tx_queue) && conn->msg == NULL);
    lnet_connection_count(conn->node, -1);
    g_free(conn);
}

/* ---- writing request and HELLO ----------------------------------------------------------------
 */

static void answer_written(struct lnet_stream_write *write)
{
    struct lnet_sock_conn *conn = sim_container_of(write, struct lnet_sock_conn, answer_write[1]);

    if (conn->state == LNET_SOCK_REFUSED)
        lnet_sock_conn_close(conn, 0);
}

static void request_written(struct lnet_stream_write *write)
{
    (void)write;
}

static bool write_answer(struct lnet_sock_conn *conn, uint32_t number, const uint8_t *bytes,
                         uint32_t length)
{
    conn->answer_write[number] = (struct lnet_stream_write){
        .head = bytes,
        .head_bytes = length,
        .done = number == 0 ? request_written : answer_written,
    };
    if (lnet_capture != NULL)
        lnet_capture_handshake(conn, true, bytes, length);
    return lnet_stream_write(conn->stream, &conn->answer_write[number]);
}

void lnet_sock_conn_answer(struct lnet_sock_conn *conn, struct lnet_process_id to, int type)
{
    struct lnet_sock *sock = conn->sock;
    uint8_t *wire = conn->answer + LNET_SOCK_REQUEST_BYTES;
    struct lnet_sock_hello hello = {
        .version = conn->version,
        .source_nid = sock->ni->nid,
        .target_nid = to.nid,
        .source_pid = sock->ni->node->pid,
        .target_pid = to.pid,
        .source_incarnation = sock->incarnation,
        .target_incarnation = conn->peer != NULL ? conn->peer->incarnation : 0,
        .type = type,
    };

    if (write_answer(conn, 1, wire, lnet_sock_hello_pack(wire, &hello)) &&
        conn->state == LNET_SOCK_REFUSED)
        lnet_sock_conn_close(conn, 0);
}

void lnet_sock_conn_close_after_answer(struct lnet_sock_conn *conn)
{
    set_state(conn, LNET_SOCK_REFUSED);
}

/* ---- reading them -----------------------------------------------------------------------------
 */

static void first_read(void *owner);

static void hello_complete(struct lnet_sock_conn *conn)
{
    if (lnet_capture != NULL)
        lnet_capture_hello(conn);
    lnet_sock_conn_hold(conn);
    lnet_sock_hello_received(conn);
    lnet_sock_conn_release(conn);
}

static void ips_read(void *owner)
{
    struct lnet_sock_conn *conn = owner;

    lnet_sock_hello_parse_ips(conn->wire, &conn->hello);
    hello_complete(conn);
}

static void fixed_read(void *owner)
{
    struct lnet_sock_conn *conn = owner;
    int error = lnet_sock_hello_parse_fixed(conn->wire, &conn->hello);

    if (error != 0) {
        lnet_sock_conn_close(conn, error);
    } else if (conn->hello.ip_count > 0) {
        assert(4 * conn->hello.ip_count <= sizeof(conn->wire));
        set_state(conn, LNET_SOCK_HELLO_IPS);
        lnet_stream_read_buffer(conn->stream, conn->wire, 4 * conn->hello.ip_count, ips_read);
    } else {
        hello_complete(conn);
    }
}

static void first_read(void *owner)
{
    struct lnet_sock_conn *conn = owner;
    int error = lnet_sock_hello_parse_first(conn->wire, &conn->hello);

    if (error == -EPROTONOSUPPORT && !conn->active) {
        lnet_sock_conn_hold(conn);
        lnet_sock_hello_unknown(conn);
        lnet_sock_conn_release(conn);
    } else if (error != 0) {
        lnet_sock_conn_close(conn, -EPROTO);
    } else {
        set_state(conn, LNET_SOCK_HELLO_FIXED);
        lnet_stream_read_buffer(conn->stream, conn->wire, lnet_sock_hello_fixed_bytes(&conn->hello),
                                fixed_read);
    }
}

static void read_hello(struct lnet_sock_conn *conn)
{
    set_state(conn, LNET_SOCK_HELLO_FIRST);
    lnet_stream_read_buffer(conn->stream, conn->wire, LNET_SOCK_HELLO_FIRST_BYTES, first_read);
}

/* The acceptor request: which NI is meant. */
static void request_read(void *owner)
{
    struct lnet_sock_conn *conn = owner;
    uint64_t nid = 0;
    int error = lnet_sock_request_parse(conn->wire, &nid);
    struct lnet_sock *sock = error == 0 ? lnet_sock_of_nid(conn->acceptor, nid) : NULL;

    if (lnet_capture != NULL)
        lnet_capture_handshake(conn, false, conn->wire, LNET_SOCK_REQUEST_BYTES);
    if (error == -EPROTONOSUPPORT) { /* says which version this node has */
        lnet_sock_request_pack(conn->answer, 0, false);
        set_state(conn, LNET_SOCK_REFUSED);
        if (write_answer(conn, 1, conn->answer, LNET_SOCK_REQUEST_BYTES))
            lnet_sock_conn_close(conn, 0);
        return;
    }
    if (sock == NULL) {
        lnet_sock_conn_close(conn, error != 0 ? error : -EPERM);
        return;
    }
    conn->sock = sock;
    conn->version = (uint32_t)lnet_sock_value(sock, protocol);
    list_move_tail(&conn->on_ni, &sock->conns);
    read_hello(conn);
}

/* ---- the stream's owner -----------------------------------------------------------------------
 */

static void connected(void *owner, int status)
{
    struct lnet_sock_conn *conn = owner;

    assert(conn->active && conn->state == LNET_SOCK_CONNECTING);
    if (status != 0) {
        lnet_sock_conn_close(conn, status);
        return;
    }
    sim_timer_arm(&conn->deadline, sim_now() + lnet_sock_timeout(conn->sock));
    lnet_sock_request_pack(conn->answer, conn->peer->id.nid, false);
    write_answer(conn, 0, conn->answer, LNET_SOCK_REQUEST_BYTES);
    lnet_sock_conn_answer(conn, conn->peer->id, conn->type);
    read_hello(conn);
}

static void closed(void *owner, int status)
{
    struct lnet_sock_conn *conn = owner;

    if (conn->state == LNET_SOCK_OPEN)
        lnet_sock_conn_close_all(conn, status);
    else
        lnet_sock_conn_close(conn, status != 0 ? status : -ECONNABORTED);
}

static const struct lnet_stream_handler handler = {connected, closed, LNET_SOCK_CONN_LINES};

void lnet_sock_conn_connect(struct lnet_sock_peer *peer, int type)
{
    struct lnet_sock *sock = peer->sock;
    struct lnet_sock_conn *conn = conn_new(sock->ni->node, sock, LNET_SOCK_CONNECTING);
    struct lnet_stream_address to = lnet_sock_peer_address(peer);

    conn->active = true;
    conn->type = type;
    conn->peer = peer;
    conn->version = peer->version != 0 ? peer->version : (uint32_t)lnet_sock_value(sock, protocol);
    peer->attempt = conn;
    lnet_sock_peer_hold(peer);
    list_add_tail(&conn->on_ni, &sock->conns);
    conn->stream = lnet_stream_connect(sock->host, to, true, &handler, conn);
}

void lnet_sock_conn_accepted(struct lnet_sock_acceptor *acceptor, struct lnet_stream *stream)
{
    const struct lnet_sock_acceptor_params *params = lnet_sock_acceptor_params(acceptor);
    uint32_t *nascent = lnet_sock_acceptor_nascent(acceptor);
    struct lnet_sock_conn *conn;

    if ((params->accept == LNET_SOCK_ACCEPT_SECURE &&
         lnet_stream_peer(stream).port > LNET_RESERVED_PORT_MAX) ||
        *nascent >= (uint32_t)params->backlog) {
        lnet_stream_close(stream, true);
        return;
    }
    ++*nascent;
    conn = conn_new(lnet_sock_acceptor_node(acceptor), NULL, LNET_SOCK_REQUEST);
    conn->acceptor = acceptor;
    conn->stream = stream;
    list_add_tail(&conn->on_ni, lnet_sock_acceptor_conns(acceptor));
    lnet_stream_adopt(stream, &handler, conn);
    sim_timer_arm(&conn->deadline, sim_now() + (sim_time_t)params->timeout_s * SIM_S);
    lnet_stream_read_buffer(stream, conn->wire, LNET_SOCK_REQUEST_BYTES, request_read);
}

static void nascent_end(struct lnet_sock_conn *conn)
{
    if (conn->acceptor != NULL)
        --*lnet_sock_acceptor_nascent(conn->acceptor);
    conn->acceptor = NULL;
}

/* ---- open and closed --------------------------------------------------------------------------
 */

void lnet_sock_conn_open(struct lnet_sock_conn *conn)
{
    struct lnet_sock_peer *peer = conn->peer;

    assert(peer != NULL && conn->type != LNET_SOCK_NONE);
    assert(conn->state != LNET_SOCK_OPEN && conn->state != LNET_SOCK_CLOSED);
    sim_timer_cancel(&conn->deadline);
    nascent_end(conn);
    set_state(conn, LNET_SOCK_OPEN);
    conn->swapped = conn->hello.swapped;
    list_add_tail(&conn->on_peer, &peer->conns);
    lnet_sock_choose_best(peer);
    if (peer->routed)
        peer->connected |= 1u << conn->type;
    peer->last_alive = sim_now();
    lnet_sock_conn_hold(conn);
    lnet_sock_receive_next(conn);
    lnet_sock_send_waiting(conn);
    lnet_sock_reaper_busy(conn->sock);
    lnet_sock_conn_release(conn);
}

/* Takes an open connection from its peer, and what waits on it. */
static void leave_peer(struct lnet_sock_conn *conn, int error, struct list_head *failed)
{
    struct lnet_sock_peer *peer = conn->peer;
    struct lnet_sock_conn *other;
    struct lnet_sock_tx *tx, *next;
    bool last_of_type = true;

    list_for_each_entry (tx, &conn->tx_queue, on_list)
        if (tx->hstatus == LNET_MSG_STATUS_OK)
            tx->hstatus =
                error == -ETIMEDOUT ? LNET_MSG_STATUS_REMOTE_TIMEOUT : LNET_MSG_STATUS_LOCAL_ERROR;
    list_splice_init(&conn->tx_queue, failed);
    list_for_each_entry_safe (tx, next, &peer->zc_requests, on_list) {
        if (tx->conn != conn)
            continue;
        if (tx->hstatus == LNET_MSG_STATUS_OK)
            tx->hstatus = LNET_MSG_STATUS_LOCAL_ERROR;
        list_move_tail(&tx->on_list, failed);
    }
    list_del_init(&conn->on_peer);
    lnet_sock_choose_best(peer);
    list_for_each_entry (other, &peer->conns, on_peer)
        last_of_type &= other->type != conn->type;
    if (last_of_type)
        peer->connected &= ~(1u << conn->type);
    if (list_empty(&peer->conns)) {
        list_splice_init(&peer->tx_queue, failed);
        peer->version = 0;
        peer->error = error;
    }
}

void lnet_sock_conn_close(struct lnet_sock_conn *conn, int error)
{
    struct lnet_sock_peer *peer = conn->peer;
    struct lnet_sock *sock = conn->sock;
    bool open = conn->state == LNET_SOCK_OPEN;
    struct list_head failed;

    if (conn->state == LNET_SOCK_CLOSED)
        return;
    assert(error <= 0);
    lnet_sock_conn_hold(conn);
    set_state(conn, LNET_SOCK_CLOSED);
    sim_timer_cancel(&conn->deadline);
    nascent_end(conn);
    list_del_init(&conn->on_ni);
    lnet_stream_close(conn->stream, error != 0 && error != -ESHUTDOWN);
    conn->stream = NULL;
    INIT_LIST_HEAD(&failed);
    if (open) {
        lnet_sock_peer_hold(peer);
        leave_peer(conn, error, &failed);
        /* Bytes in the socket still go out when LNet stops, unless the peer sends meanwhile: then
         * its bytes are answered with a reset. */
        if (error != -ESHUTDOWN || sock->ni->node->state == LNET_RUNNING)
            lnet_connection_lost(sock->ni, peer->id.nid);
        lnet_sock_receive_abort(conn);
        lnet_sock_fail(sock, &failed, error != 0 ? error : -ESHUTDOWN);
        if (error != 0 && list_empty(&peer->conns))
            lnet_sock_peer_failed(peer);
        lnet_sock_peer_release(peer);
    } else if (peer != NULL && peer->attempt == conn) {
        int result = conn->attempt_result != 0 ? conn->attempt_result
                     : error != 0              ? error
                                               : -ECONNABORTED;

        if (sock->down) {
            peer->attempt = NULL;
            peer->connecting = false;
        } else {
            lnet_sock_peer_attempt_done(peer, result);
        }
    }
    conn->peer = NULL;
    if (peer != NULL)
        lnet_sock_peer_release(peer);
    lnet_sock_conn_release(conn); /* that of this function */
    lnet_sock_conn_release(conn); /* that of the living connection */
}

void lnet_sock_peer_close(struct lnet_sock_peer *peer, int error)
{
    lnet_sock_peer_hold(peer);
    while (!list_empty(&peer->conns))
        lnet_sock_conn_close(list_first_entry(&peer->conns, struct lnet_sock_conn, on_peer), error);
    lnet_sock_peer_release(peer);
}

void lnet_sock_conn_close_all(struct lnet_sock_conn *conn, int error)
{
    struct lnet_sock_peer *peer = conn->peer;

    if (conn->state != LNET_SOCK_OPEN) {
        lnet_sock_conn_close(conn, error);
        return;
    }
    if (error == -EPROTO)
        lnet_connection_garbled(conn->sock->ni, peer->id.nid);
    lnet_sock_peer_hold(peer);
    lnet_sock_conn_close(conn, error);
    lnet_sock_peer_close(peer, error);
    lnet_sock_peer_release(peer);
}
