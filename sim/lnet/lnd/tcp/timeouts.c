/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The reaper: closes connections that stall, ends messages that wait too long for a connection, and
 * keeps idle connections alive. It looks four times per lnet_lnd_timeout while something may stall,
 * and else when the next keepalive is due.
 */
#include "sock.h"

#define CHECKS_PER_TIMEOUT 4
#define KEEPALIVE_RETRY (10 * SIM_S)

static void reap(struct sim_event *event);

static sim_time_t period(const struct lnet_sock *sock)
{
    return lnet_sock_timeout(sock) / CHECKS_PER_TIMEOUT;
}

static void arm(struct lnet_sock *sock, sim_time_t at)
{
    if (sock->down || at == SIM_NEVER || (sim_timer_armed(&sock->reaper) && sock->reaper_at <= at))
        return;
    sock->reaper_at = at;
    sim_timer_arm(&sock->reaper, at);
}

void lnet_sock_reaper_init(struct lnet_sock *sock)
{
    sock->reaper = (struct sim_timer){.event = {reap}};
}

void lnet_sock_reaper_busy(struct lnet_sock *sock)
{
    arm(sock, sim_now() + period(sock));
}

static bool sending(const struct lnet_sock_conn *conn)
{
    return !list_empty(&conn->tx_queue) || lnet_stream_queued(conn->stream) > 0;
}

/* Whether the connection is in the middle of a message that it reads itself; a message that LNet
 * delays is not the peer's fault. */
static bool receiving(const struct lnet_sock_conn *conn)
{
    return conn->in_message && !conn->with_lnet;
}

/* Notes progress, and moves the deadlines. */
static void note_progress(struct lnet_sock_conn *conn)
{
    uint64_t acknowledged = lnet_stream_acknowledged(conn->stream);
    uint64_t received = lnet_stream_received(conn->stream);
    sim_time_t deadline = sim_now() + lnet_sock_timeout(conn->sock);

    if (acknowledged != conn->tx_acknowledged) {
        conn->tx_acknowledged = acknowledged;
        conn->tx_deadline = deadline;
        conn->peer->last_alive = sim_now();
    }
    if (received != conn->rx_received) {
        conn->rx_received = received;
        conn->rx_deadline = deadline;
    }
}

/* -ETIMEDOUT: the connection stalls. */
static int check(struct lnet_sock_conn *conn)
{
    struct lnet_sock_tx *tx;

    note_progress(conn);
    if (receiving(conn) && sim_now() >= conn->rx_deadline)
        return -ETIMEDOUT;
    if (sending(conn) && sim_now() >= conn->tx_deadline) {
        list_for_each_entry (tx, &conn->tx_queue, on_list)
            tx->hstatus = LNET_MSG_STATUS_LOCAL_TIMEOUT;
        return -ETIMEDOUT;
    }
    return 0;
}

static void end_stale(struct lnet_sock_peer *peer)
{
    struct lnet_sock_tx *tx, *next;
    struct list_head stale;

    INIT_LIST_HEAD(&stale);
    list_for_each_entry_safe (tx, next, &peer->tx_queue, on_list) {
        if (sim_now() < tx->deadline)
            break; /* they are in order */
        tx->hstatus = LNET_MSG_STATUS_LOCAL_TIMEOUT;
        list_move_tail(&tx->on_list, &stale);
    }
    lnet_sock_fail(peer->sock, &stale, -ETIMEDOUT);
}

/* The first connection of the peer that stalls, or NULL. */
static struct lnet_sock_conn *find_stalled(struct lnet_sock_peer *peer)
{
    struct lnet_sock_conn *conn;
    struct lnet_sock_tx *tx;

    list_for_each_entry (conn, &peer->conns, on_peer)
        if (check(conn) != 0)
            return conn;
    list_for_each_entry (tx, &peer->zc_requests, on_list)
        if (sim_now() >= tx->deadline) {
            tx->hstatus = LNET_MSG_STATUS_LOCAL_TIMEOUT;
            return tx->conn;
        }
    return NULL;
}

static sim_time_t keepalive_at(const struct lnet_sock_peer *peer)
{
    sim_time_t keepalive = (sim_time_t)lnet_sock_value(peer->sock, keepalive) * SIM_S;
    sim_time_t at = peer->last_alive + keepalive;

    if (keepalive == 0 || list_empty(&peer->conns) || peer->version != 3)
        return SIM_NEVER;
    return at > peer->next_keepalive ? at : peer->next_keepalive;
}

static void keep_alive(struct lnet_sock_peer *peer)
{
    struct lnet_sock *sock = peer->sock;
    struct lnet_sock_conn *conn;
    struct lnet_sock_tx *tx;

    if (sim_now() < keepalive_at(peer))
        return;
    peer->next_keepalive = sim_now() + KEEPALIVE_RETRY;
    conn = lnet_sock_choose(peer, LNET_SOCK_HEADER_BYTES, true, false);
    if (conn == NULL || !list_empty(&conn->tx_queue)) /* that is a sign of life, too */
        return;
    tx = lnet_sock_tx_noop(sock, 0, LNET_SOCK_KEEPALIVE_COOKIE);
    if (lnet_sock_launch(sock, tx, peer->id) != 0)
        lnet_sock_tx_done(sock, tx, -EHOSTUNREACH);
}

static void check_peer(struct lnet_sock_peer *peer)
{
    struct lnet_sock_conn *conn;

    keep_alive(peer);
    conn = find_stalled(peer);
    if (conn != NULL)
        lnet_sock_conn_close_all(conn, -ETIMEDOUT);
    end_stale(peer);
}

/* When the peer is to be looked at next. */
static sim_time_t next_check(const struct lnet_sock_peer *peer)
{
    struct lnet_sock_conn *conn;

    if (!list_empty(&peer->tx_queue) || !list_empty(&peer->zc_requests))
        return sim_now() + period(peer->sock);
    list_for_each_entry (conn, &peer->conns, on_peer)
        if (sending(conn) || receiving(conn))
            return sim_now() + period(peer->sock);
    return keepalive_at(peer);
}

static void reap(struct sim_event *event)
{
    struct lnet_sock *sock = sim_container_of(event, struct lnet_sock, reaper.event);
    struct lnet_node *node = sock->ni->node;
    struct lnet_sock_peer *peer, *next;
    sim_time_t at = SIM_NEVER;

    lnet_host_lock(node);
    /* From within a check LNet may send to any peer: held, they stay. */
    list_for_each_entry (peer, &sock->peers, on_ni) {
        peer->checking = true;
        lnet_sock_peer_hold(peer);
    }
    list_for_each_entry (peer, &sock->peers, on_ni)
        if (peer->checking)
            check_peer(peer);
    list_for_each_entry_safe (peer, next, &sock->peers, on_ni) {
        sim_time_t check_at = next_check(peer);

        at = check_at < at ? check_at : at;
        if (!peer->checking)
            continue;
        peer->checking = false;
        lnet_sock_peer_release(peer);
    }
    if (at != SIM_NEVER)
        arm(sock, at > sim_now() ? at : sim_now() + period(sock));
    lnet_host_unlock(node);
}
