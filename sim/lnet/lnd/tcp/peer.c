/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Peers. The first message to one makes a route, and an attempt at the connections that it lacks:
 * one type after the other. A failed attempt is repeated by the next message after a back-off that
 * doubles.
 */
#include "sock.h"

#include <glib.h>
#include <stdlib.h>

static void retry_fired(struct sim_event *event);

#define FIRST_BUCKETS 8u

static uint32_t bucket_of(const struct lnet_sock *sock, struct lnet_process_id id)
{
    return (uint32_t)sim_mix(id.nid + id.pid) & (sock->bucket_count - 1);
}

struct lnet_sock_peer *lnet_sock_peer_find(const struct lnet_sock *sock, struct lnet_process_id id)
{
    struct lnet_sock_peer *peer;

    if (sock->bucket_count == 0)
        return NULL;
    peer = sock->buckets[bucket_of(sock, id)];
    while (peer != NULL && (peer->id.nid != id.nid || peer->id.pid != id.pid))
        peer = peer->next_in_bucket;
    return peer;
}

static void link_peer(struct lnet_sock *sock, struct lnet_sock_peer *peer)
{
    struct lnet_sock_peer **bucket = &sock->buckets[bucket_of(sock, peer->id)];

    peer->next_in_bucket = *bucket;
    *bucket = peer;
}

/* At most one peer for two buckets on average. */
static void make_room(struct lnet_sock *sock)
{
    struct lnet_sock_peer *peer;

    if (2 * sock->peer_count < sock->bucket_count)
        return;
    sock->bucket_count = sock->bucket_count == 0 ? FIRST_BUCKETS : 2 * sock->bucket_count;
    g_free(sock->buckets);
    sock->buckets = g_new0(struct lnet_sock_peer *, sock->bucket_count);
    list_for_each_entry (peer, &sock->peers, on_ni)
        link_peer(sock, peer);
}

struct lnet_sock_peer *lnet_sock_peer_get(struct lnet_sock *sock, struct lnet_process_id id)
{
    struct lnet_sock_peer *peer = lnet_sock_peer_find(sock, id);

    if (peer != NULL)
        return peer;
    make_room(sock);
    peer = lnet_line_alloc(sizeof(*peer));
    *peer = (struct lnet_sock_peer){
        .sock = sock,
        .id = id,
        .zc_next_cookie = LNET_SOCK_KEEPALIVE_COOKIE + 1,
        .retry = {.event = {retry_fired}},
    };
    INIT_LIST_HEAD(&peer->conns);
    INIT_LIST_HEAD(&peer->tx_queue);
    INIT_LIST_HEAD(&peer->zc_requests);
    list_add_tail(&peer->on_ni, &sock->peers);
    link_peer(sock, peer);
    sock->peer_count++;
    return peer;
}

static void peer_free(struct lnet_sock_peer *peer)
{
    struct lnet_sock_peer **at = &peer->sock->buckets[bucket_of(peer->sock, peer->id)];

    assert(list_empty(&peer->conns) && list_empty(&peer->tx_queue));
    assert(list_empty(&peer->zc_requests) && peer->attempt == NULL);
    sim_timer_cancel(&peer->retry);
    list_del(&peer->on_ni);
    while (*at != peer)
        at = &(*at)->next_in_bucket;
    *at = peer->next_in_bucket;
    peer->sock->peer_count--;
    if (peer->lnet != NULL && peer->lnet->driver == peer)
        peer->lnet->driver = NULL;
    free(peer);
}

void lnet_sock_peer_route(struct lnet_sock_peer *peer)
{
    struct lnet_sock_conn *conn;

    if (peer->routed)
        return;
    peer->routed = true;
    list_for_each_entry (conn, &peer->conns, on_peer)
        peer->connected |= 1u << conn->type;
}

struct lnet_stream_address lnet_sock_peer_address(const struct lnet_sock_peer *peer)
{
    struct lnet_stream_address own = {LNET_NIDADDR(peer->id.nid),
                                      (uint16_t)peer->sock->accept.port};

    return peer->route.port != 0 ? peer->route : own;
}

void lnet_sock_peer_unroute(struct lnet_sock_peer *peer)
{
    struct lnet_sock *sock = peer->sock;
    struct list_head failed;

    INIT_LIST_HEAD(&failed);
    lnet_sock_peer_hold(peer);
    peer->routed = false;
    peer->route = (struct lnet_stream_address){0, 0};
    peer->shares = 0;
    peer->connected = 0;
    peer->connecting = false;
    peer->retry_interval = 0;
    sim_timer_cancel(&peer->retry);
    list_splice_init(&peer->tx_queue, &failed);
    if (peer->attempt != NULL) {
        struct lnet_sock_conn *conn = peer->attempt;

        peer->attempt = NULL; /* its end is not the peer's failure */
        lnet_sock_conn_close(conn, 0);
    }
    lnet_sock_peer_close(peer, 0);
    lnet_sock_fail(sock, &failed, -ENETDOWN);
    lnet_sock_peer_release(peer);
}

void lnet_sock_peer_hold(struct lnet_sock_peer *peer)
{
    peer->references++;
}

void lnet_sock_peer_release(struct lnet_sock_peer *peer)
{
    assert(peer->references > 0);
    peer->references--;
    if (peer->references == 0 && !peer->routed && list_empty(&peer->conns) &&
        list_empty(&peer->tx_queue))
        peer_free(peer);
}

void lnet_sock_peer_free_all(struct lnet_sock *sock)
{
    struct lnet_sock_peer *peer;

    while (!list_empty(&sock->peers)) {
        peer = list_first_entry(&sock->peers, struct lnet_sock_peer, on_ni);
        assert(peer->references == 0);
        lnet_sock_fail(sock, &peer->tx_queue, -ESHUTDOWN);
        peer_free(peer);
    }
    g_free(sock->buckets);
    sock->buckets = NULL;
    sock->bucket_count = 0;
}

/* ---- connecting -------------------------------------------------------------------------------
 */

static uint32_t types_wanted(const struct lnet_sock_peer *peer)
{
    uint32_t all =
        lnet_sock_value(peer->sock, typed_conns)
            ? 1u << LNET_SOCK_CONTROL | 1u << LNET_SOCK_BULK_IN | 1u << LNET_SOCK_BULK_OUT
            : 1u << LNET_SOCK_ANY;

    return all & ~peer->connected;
}

bool lnet_sock_peer_connectable(const struct lnet_sock_peer *peer)
{
    return peer->routed && !peer->connecting && types_wanted(peer) != 0 &&
           (peer->retry_interval == 0 || sim_now() >= peer->retry_at) && !peer->sock->down;
}

/* Starts the next connection of the attempt, or ends the attempt. */
static void connect_next(struct lnet_sock_peer *peer)
{
    uint32_t wanted = types_wanted(peer);
    int type = LNET_SOCK_ANY;

    assert(peer->connecting && peer->attempt == NULL);
    if (wanted == 0 || peer->sock->down) {
        peer->connecting = false;
        peer->retry_interval = 0;
        return;
    }
    while ((wanted & 1u << type) == 0)
        type++;
    lnet_sock_conn_connect(peer, type);
}

void lnet_sock_peer_connect(struct lnet_sock_peer *peer)
{
    assert(lnet_sock_peer_connectable(peer));
    peer->connecting = true;
    connect_next(peer);
}

static void retry_fired(struct sim_event *event)
{
    struct lnet_sock_peer *peer = sim_container_of(event, struct lnet_sock_peer, retry.event);

    lnet_host_lock(peer->sock->ni->node);
    if (peer->connecting && peer->attempt == NULL)
        connect_next(peer);
    lnet_host_unlock(peer->sock->ni->node);
}

static sim_time_t interval_min(const struct lnet_sock_peer *peer)
{
    return (sim_time_t)lnet_sock_value(peer->sock, min_reconnectms) * SIM_MS;
}

static void attempt_failed(struct lnet_sock_peer *peer, int error)
{
    sim_time_t minimum = interval_min(peer);
    sim_time_t maximum = (sim_time_t)lnet_sock_value(peer->sock, max_reconnectms) * SIM_MS;
    struct lnet_sock *sock = peer->sock;
    struct list_head failed;

    peer->connecting = false;
    peer->retry_interval *= 2;
    if (peer->retry_interval < minimum)
        peer->retry_interval = minimum;
    if (peer->retry_interval > maximum)
        peer->retry_interval = maximum;
    peer->retry_at = sim_now() + peer->retry_interval;
    INIT_LIST_HEAD(&failed);
    list_splice_init(&peer->tx_queue, &failed);
    lnet_sock_peer_failed(peer);
    lnet_sock_fail(sock, &failed, error);
}

void lnet_sock_peer_attempt_done(struct lnet_sock_peer *peer, int result)
{
    peer->attempt = NULL;
    lnet_sock_peer_hold(peer);
    if (result < 0) {
        attempt_failed(peer, result);
    } else if (result > 0) {
        /* The other end connects, too, or wants another version. In the first case its connection
         * is the better one: give it time. */
        if (result == EALREADY) {
            peer->retry_interval = interval_min(peer);
            peer->retry_at = sim_now() + peer->retry_interval;
            sim_timer_arm(&peer->retry, peer->retry_at);
        } else {
            connect_next(peer);
        }
    } else {
        connect_next(peer);
    }
    lnet_sock_peer_release(peer);
}

void lnet_sock_peer_failed(struct lnet_sock_peer *peer)
{
    struct lnet_sock *sock = peer->sock;

    if ((peer->id.pid & LNET_PID_USERFLAG) == 0 && list_empty(&peer->conns) && !peer->connecting &&
        !sock->down)
        lnet_notify(sock->ni, peer->id.nid, false, peer->last_alive);
}
