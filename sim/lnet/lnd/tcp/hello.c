/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Judges a HELLO. The passive end refuses with an answer of type NONE; the active end then repeats
 * its attempt. Reasons to refuse:
 *
 *   EALREADY  both ends connect at once, and the connection of the higher NID survives; or there is
 *             a connection of this type already
 *   EPROTO    the peer's connections have another version of the protocol; they are closed
 *   ESTALE    the peer has started again; the connections of its former life are closed
 */
#include "sock.h"

/* The peer that a passive connection comes from. False: nobody that this node talks to. */
static bool identify(const struct lnet_sock_conn *conn, struct lnet_process_id *id)
{
    const struct lnet_sock_hello *hello = &conn->hello;
    struct lnet_stream_address from = lnet_stream_peer(conn->stream);
    lnet_nid_t own = conn->sock->ni->nid;

    if (hello->source_nid == LNET_NID_ANY)
        return false;
    if (hello->version != 1 && hello->target_nid != own)
        return false;
    if (from.port > LNET_RESERVED_PORT_MAX && !lnet_sock_users_are_nodes) {
        id->nid = LNET_MKNID(LNET_NIDNET(own), from.address);
        id->pid = LNET_PID_USERFLAG | from.port;
        return true;
    }
    /* Nobody speaks for another address. */
    if (hello->source_nid != LNET_MKNID(LNET_NIDNET(own), from.address))
        return false;
    id->nid = hello->source_nid;
    id->pid = hello->source_pid;
    return true;
}

/* Whether the peer's connections fit to this HELLO: 0, or the reason for a refusal. */
static int agree(struct lnet_sock_peer *peer, uint32_t version, uint64_t incarnation)
{
    int reason = 0;

    if (peer->version == 0) {
        peer->version = version;
        peer->incarnation = incarnation;
    }
    if (peer->version != version)
        reason = EPROTO;
    else if (peer->incarnation != incarnation)
        reason = ESTALE;
    if (reason != 0) {
        lnet_sock_peer_close(peer, -reason);
        peer->version = 0;
    }
    return reason;
}

static bool duplicate(const struct lnet_sock_conn *conn, const struct lnet_sock_peer *peer)
{
    struct lnet_stream_address local = lnet_stream_local(conn->stream);
    struct lnet_stream_address remote = lnet_stream_peer(conn->stream);
    struct lnet_sock_conn *other;

    if (local.address == remote.address) /* of the node to itself: both ends are here */
        return false;
    list_for_each_entry (other, &peer->conns, on_peer)
        if (other->type == conn->type &&
            lnet_stream_peer(other->stream).address == remote.address &&
            lnet_stream_local(other->stream).address == local.address)
            return true;
    return false;
}

static void received_passive(struct lnet_sock_conn *conn)
{
    struct lnet_sock *sock = conn->sock;
    struct lnet_sock_peer *peer;
    struct lnet_process_id id;
    int refuse = 0;

    conn->type = lnet_sock_type_invert(conn->hello.type);
    conn->version = conn->hello.version;
    if (conn->type == LNET_SOCK_NONE || !identify(conn, &id)) {
        lnet_sock_conn_close(conn, -EPROTO);
        return;
    }
    peer = lnet_sock_peer_get(sock, id);
    lnet_sock_peer_hold(peer); /* the connection's from here on */
    conn->peer = peer;
    if (id.nid < sock->ni->nid && peer->connecting)
        refuse = EALREADY;
    else
        refuse = agree(peer, conn->version, conn->hello.source_incarnation);
    if (refuse == 0 && duplicate(conn, peer))
        refuse = EALREADY;
    if (refuse != 0) {
        lnet_sock_conn_close_after_answer(conn);
        lnet_sock_conn_answer(conn, id, LNET_SOCK_NONE);
        return;
    }
    lnet_sock_conn_answer(conn, id, conn->type);
    lnet_sock_conn_open(conn);
}

/* Ends the attempt without a connection; it will be repeated. */
static void retry(struct lnet_sock_conn *conn, int reason)
{
    conn->attempt_result = reason;
    lnet_sock_conn_close(conn, 0);
}

static void received_active(struct lnet_sock_conn *conn)
{
    const struct lnet_sock_hello *hello = &conn->hello;
    struct lnet_sock_peer *peer = conn->peer;
    bool same_version = hello->version == conn->version;
    int reason;

    conn->version = hello->version;
    if (hello->source_nid != peer->id.nid || hello->source_pid != peer->id.pid) {
        lnet_sock_conn_close(conn, -EPROTO);
        return;
    }
    if (hello->type == LNET_SOCK_NONE) {
        if (peer->version == 0) { /* the version for the next attempt */
            peer->version = hello->version;
            peer->incarnation = hello->source_incarnation;
        }
        retry(conn, same_version ? EALREADY : EPROTO);
        return;
    }
    if (lnet_sock_type_invert(hello->type) != conn->type) {
        lnet_sock_conn_close(conn, -EPROTO);
        return;
    }
    reason = agree(peer, conn->version, hello->source_incarnation);
    if (reason != 0) {
        retry(conn, reason);
        return;
    }
    if (duplicate(conn, peer)) {
        /* The peer's connection came first; the route has this type now. */
        peer->connected |= 1u << conn->type;
        retry(conn, EISCONN);
        return;
    }
    lnet_sock_conn_open(conn);
    if (peer->attempt == conn)
        lnet_sock_peer_attempt_done(peer, 0);
}

void lnet_sock_hello_received(struct lnet_sock_conn *conn)
{
    if (conn->active)
        received_active(conn);
    else
        received_passive(conn);
}

void lnet_sock_hello_unknown(struct lnet_sock_conn *conn)
{
    struct lnet_process_id self = {conn->sock->ni->nid, conn->sock->ni->node->pid};

    lnet_sock_conn_close_after_answer(conn);
    lnet_sock_conn_answer(conn, self, LNET_SOCK_NONE);
}
