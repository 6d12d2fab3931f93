/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* NIs of socklnd, and the acceptor of an address, which NIs of several networks may share. */
#include "sock.h"

#include <glib.h>
#include <stdlib.h>
#include <string.h>

bool lnet_sock_users_are_nodes;

struct lnet_sock_acceptor {
    struct lnet_node *node;
    struct lnet_stream_host *host;
    struct lnet_listener *listener;
    struct lnet_sock_acceptor_params params;
    struct list_head socks; /* NIs */
    struct list_head conns; /* whose request has not arrived yet */
    uint32_t nascent;
};

static const struct lnet_param params[] = {
#define X(name, value, minimum, maximum, meaning) {#name, value, minimum, maximum, meaning},
    LNET_SOCK_PARAMS(X)
#undef X
};

static const struct lnet_param acceptor_params[] = {
    {"accept_port", 988, 1, 65535, "TCP port of the acceptor"},
    {"accept_backlog", 127, 1, 1 << 16, "connections that may wait for the acceptor"},
    {"accept_timeout", 5, 1, 1 << 16, "seconds until a request and a HELLO have arrived"},
};

sim_time_t lnet_sock_timeout(const struct lnet_sock *sock)
{
    return (sim_time_t)sock->ni->node->params.lnd_timeout * SIM_S;
}

/* ---- the acceptor -----------------------------------------------------------------------------
 */

static int read_acceptor_params(const struct lnet_node *node,
                                struct lnet_sock_acceptor_params *result)
{
    int values[G_N_ELEMENTS(acceptor_params)];
    const char *accept = lnet_setting(node->settings, node->setting_count, "lnet", "accept");
    char *error = NULL;

    if (!lnet_params_read_driver("lnet", acceptor_params, G_N_ELEMENTS(acceptor_params),
                                 node->settings, node->setting_count, values, &error)) {
        free(error);
        return -EINVAL;
    }
    *result = (struct lnet_sock_acceptor_params){values[0], values[1], values[2],
                                                 LNET_SOCK_ACCEPT_SECURE};
    if (accept == NULL || strcmp(accept, "secure") == 0)
        return 0;
    if (strcmp(accept, "all") == 0)
        result->accept = LNET_SOCK_ACCEPT_ALL;
    else if (strcmp(accept, "none") == 0)
        result->accept = LNET_SOCK_ACCEPT_NONE;
    else
        return -EINVAL;
    return 0;
}

static void accepted(void *owner, struct lnet_stream *stream)
{
    lnet_sock_conn_accepted(owner, stream);
}

static bool is_tcp(const struct lnet_ni *ni)
{
    return ni->lnd == &lnet_lnd_tcp && ni->driver != NULL;
}

/* That of another NI of the node with the same address, or a new one. */
static int acceptor_get(struct lnet_sock *sock)
{
    struct lnet_node *node = sock->ni->node;
    struct lnet_sock_acceptor *acceptor;
    struct lnet_net *net;
    struct lnet_ni *ni;
    int error = 0;

    list_for_each_entry (net, &node->instance->nets, on_node) {
        list_for_each_entry (ni, &net->nis, on_net) {
            struct lnet_sock *other = is_tcp(ni) ? ni->driver : NULL;

            if (other == NULL || other == sock || other->acceptor == NULL ||
                ni->interface.address != sock->ni->interface.address)
                continue;
            sock->acceptor = other->acceptor;
            list_add_tail(&sock->on_acceptor, &other->acceptor->socks);
            return 0;
        }
    }
    acceptor = g_new0(struct lnet_sock_acceptor, 1);
    acceptor->node = node;
    acceptor->host = sock->host;
    acceptor->params = sock->accept;
    INIT_LIST_HEAD(&acceptor->socks);
    INIT_LIST_HEAD(&acceptor->conns);
    if (sock->accept.accept != LNET_SOCK_ACCEPT_NONE) {
        acceptor->listener =
            lnet_listen(sock->host, (uint16_t)sock->accept.port, (uint32_t)sock->accept.backlog,
                        accepted, acceptor, &error);
        if (acceptor->listener == NULL) {
            g_free(acceptor);
            return error;
        }
    }
    sock->acceptor = acceptor;
    list_add_tail(&sock->on_acceptor, &acceptor->socks);
    return 0;
}

static void acceptor_release(struct lnet_sock *sock)
{
    struct lnet_sock_acceptor *acceptor = sock->acceptor;

    if (acceptor == NULL)
        return;
    list_del_init(&sock->on_acceptor);
    sock->acceptor = NULL;
    if (!list_empty(&acceptor->socks))
        return;
    if (acceptor->listener != NULL)
        lnet_listener_close(acceptor->listener);
    while (!list_empty(&acceptor->conns))
        lnet_sock_conn_close(list_first_entry(&acceptor->conns, struct lnet_sock_conn, on_ni),
                             -ESHUTDOWN);
    g_free(acceptor);
}

struct lnet_sock *lnet_sock_of_nid(const struct lnet_sock_acceptor *acceptor, lnet_nid_t nid)
{
    struct lnet_sock *sock;

    list_for_each_entry (sock, &acceptor->socks, on_acceptor)
        if (sock->ni->nid == nid)
            return sock;
    return NULL;
}

const struct lnet_sock_acceptor_params *
lnet_sock_acceptor_params(const struct lnet_sock_acceptor *acceptor)
{
    return &acceptor->params;
}

struct list_head *lnet_sock_acceptor_conns(struct lnet_sock_acceptor *acceptor)
{
    return &acceptor->conns;
}

struct lnet_node *lnet_sock_acceptor_node(const struct lnet_sock_acceptor *acceptor)
{
    return acceptor->node;
}

uint32_t *lnet_sock_acceptor_nascent(struct lnet_sock_acceptor *acceptor)
{
    return &acceptor->nascent;
}

/* ---- NIs --------------------------------------------------------------------------------------
 */

static void shutdown_ni(struct lnet_ni *ni)
{
    struct lnet_sock *sock = ni->driver;

    sock->down = true;
    sim_timer_cancel(&sock->reaper);
    if (ni->node->silent)
        lnet_stream_host_crash(sock->host);
    while (!list_empty(&sock->conns))
        lnet_sock_conn_close(list_first_entry(&sock->conns, struct lnet_sock_conn, on_ni),
                             -ESHUTDOWN);
    lnet_sock_peer_free_all(sock);
    acceptor_release(sock);
    assert(list_empty(&sock->done));
    lnet_stream_host_close(sock->host);
    g_free(sock);
    ni->driver = NULL;
}

static void set_options(struct lnet_sock *sock)
{
    struct lnet_stream_options options = {
        .nagle = lnet_sock_value(sock, nagle) != 0,
        .send_buffer = (uint32_t)lnet_sock_value(sock, tx_buffer_size),
        .receive_buffer = (uint32_t)lnet_sock_value(sock, rx_buffer_size),
        .keepalive_idle = (uint32_t)lnet_sock_value(sock, keepalive_idle),
        .keepalive_interval = (uint32_t)lnet_sock_value(sock, keepalive_intvl),
        .keepalive_count = (uint32_t)lnet_sock_value(sock, keepalive_count),
    };

    lnet_stream_host_set_options(sock->host, &options);
}

static int startup_ni(struct lnet_ni *ni)
{
    struct lnet_sock *sock = g_new0(struct lnet_sock, 1);
    int error;

    sock->ni = ni;
    INIT_LIST_HEAD(&sock->on_acceptor);
    INIT_LIST_HEAD(&sock->peers);
    INIT_LIST_HEAD(&sock->conns);
    INIT_LIST_HEAD(&sock->done);
    error = read_acceptor_params(ni->node, &sock->accept);
    if (error == 0)
        sock->host = lnet_stream_host_open(ni->node, &ni->interface, &error);
    if (sock->host == NULL) {
        g_free(sock);
        return error;
    }
    set_options(sock);
    ni->nid = LNET_MKNID(ni->net->id, ni->interface.address);
    sock->incarnation = ni->node->incarnation;
    lnet_sock_reaper_init(sock);
    ni->driver = sock;
    error = acceptor_get(sock);
    if (error != 0)
        shutdown_ni(ni);
    return error;
}

/* When the peer was heard from; connects if it has no connection. */
static void query(struct lnet_ni *ni, lnet_nid_t nid, sim_time_t *when)
{
    struct lnet_sock *sock = ni->driver;
    struct lnet_process_id id = {nid, LNET_PID_LUSTRE};
    struct lnet_sock_peer *peer = lnet_sock_peer_find(sock, id);
    struct lnet_sock_conn *conn;

    *when = 0;
    if (peer != NULL) {
        list_for_each_entry (conn, &peer->conns, on_peer)
            if (lnet_stream_acknowledged(conn->stream) > conn->tx_acknowledged)
                peer->last_alive = sim_now();
        *when = peer->last_alive;
    } else {
        peer = lnet_sock_peer_get(sock, id);
    }
    lnet_sock_peer_route(peer);
    lnet_sock_peer_hold(peer);
    if (lnet_sock_peer_connectable(peer))
        lnet_sock_peer_connect(peer);
    lnet_sock_peer_release(peer);
}

const struct lnet_lnd lnet_lnd_tcp = {
    .type = SOCKLND,
    .name = "tcp",
    .credits = 256,
    .peer_credits = 8,
    .peer_buffer_credits = 0,
    .peer_timeout_s = 180,
    .module = "ksocklnd",
    .params = params,
    .param_count = G_N_ELEMENTS(params),
    .startup = startup_ni,
    .shutdown = shutdown_ni,
    .send = lnet_sock_send,
    .receive = lnet_sock_receive,
    .control = lnet_sock_control,
    .query = query,
};
