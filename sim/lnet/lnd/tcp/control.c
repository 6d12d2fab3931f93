/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* LNetCtl's commands for peers and connections of socklnd, with the fields that it fills. */
#include "sock.h"

static bool is_meant(lnet_nid_t wanted, lnet_nid_t nid)
{
    return wanted == LNET_NID_ANY || wanted == nid;
}

static uint32_t conns_of(const struct lnet_sock_peer *peer)
{
    const struct lnet_sock_conn *conn;
    uint32_t count = 0;

    list_for_each_entry (conn, &peer->conns, on_peer)
        count++;
    return count;
}

/* ioc_count: which one. One route to each peer: its address and port. */
static int get_peer(const struct lnet_sock *sock, struct libcfs_ioctl_data *data)
{
    const struct lnet_sock_peer *peer;
    uint32_t position = data->ioc_count;

    list_for_each_entry (peer, &sock->peers, on_ni) {
        if (position-- > 0)
            continue;
        data->ioc_nid = peer->id.nid;
        data->ioc_count = peer->shares; /* users of the route besides LNet */
        data->ioc_u32[0] = peer->routed ? lnet_sock_peer_address(peer).address : 0;
        data->ioc_u32[1] = peer->routed ? lnet_sock_peer_address(peer).port : 0;
        data->ioc_u32[2] = sock->ni->interface.address;
        data->ioc_u32[3] = conns_of(peer);
        data->ioc_u32[4] = peer->id.pid;
        return 0;
    }
    return -ENOENT;
}

/* ioc_count: which one. Then the size of its send buffer; 0: the system's. */
static int get_conn(const struct lnet_sock *sock, struct libcfs_ioctl_data *data)
{
    const struct lnet_sock_peer *peer;
    const struct lnet_sock_conn *conn;
    uint32_t position = data->ioc_count;

    list_for_each_entry (peer, &sock->peers, on_ni) {
        list_for_each_entry (conn, &peer->conns, on_peer) {
            struct lnet_stream_address address;

            if (position-- > 0)
                continue;
            address = lnet_stream_peer(conn->stream);
            data->ioc_nid = peer->id.nid;
            data->ioc_count = (uint32_t)lnet_sock_value(sock, tx_buffer_size);
            data->ioc_flags = (uint32_t)lnet_sock_value(sock, nagle);
            data->ioc_u32[0] = address.address;
            data->ioc_u32[1] = address.port;
            data->ioc_u32[2] = lnet_stream_local(conn->stream).address;
            data->ioc_u32[3] = (uint32_t)conn->type;
            data->ioc_u32[4] = 0; /* the CPU partition */
            data->ioc_u32[5] = (uint32_t)lnet_sock_value(sock, rx_buffer_size);
            data->ioc_u32[6] = peer->id.pid;
            return 0;
        }
    }
    return -ENOENT;
}

static struct lnet_sock_conn *first_meant(const struct lnet_sock *sock, lnet_nid_t nid,
                                          uint32_t address)
{
    const struct lnet_sock_peer *peer;
    struct lnet_sock_conn *conn;

    list_for_each_entry (peer, &sock->peers, on_ni) {
        if (!is_meant(nid, peer->id.nid))
            continue;
        list_for_each_entry (conn, &peer->conns, on_peer)
            if (address == 0 || lnet_stream_peer(conn->stream).address == address)
                return conn;
    }
    return NULL;
}

/* ioc_nid, ioc_u32[0]: the peer's NID and address; LNET_NID_ANY and 0 mean all. */
static int close_conns(const struct lnet_sock *sock, const struct libcfs_ioctl_data *data)
{
    struct lnet_sock_conn *conn;
    uint32_t count = 0;

    /* A new connection opens in an event of its own, so this ends. */
    while ((conn = first_meant(sock, data->ioc_nid, data->ioc_u32[0])) != NULL) {
        lnet_sock_conn_close(conn, 0);
        count++;
    }
    return count > 0 || data->ioc_nid == LNET_NID_ANY ? 0 : -ENOENT;
}

/* ioc_nid, ioc_u32[0], [1]: a peer, and the address and port where it is connected to. Named twice,
 * the route is shared. */
static int add_peer(struct lnet_sock *sock, const struct libcfs_ioctl_data *data)
{
    struct lnet_process_id id = {.nid = data->ioc_nid, .pid = LNET_PID_LUSTRE};
    struct lnet_stream_address route = {data->ioc_u32[0], (uint16_t)data->ioc_u32[1]};
    struct lnet_sock_peer *peer;

    if (id.nid == LNET_NID_ANY || route.address == 0 || data->ioc_u32[1] == 0 ||
        data->ioc_u32[1] > UINT16_MAX)
        return -EINVAL;
    peer = lnet_sock_peer_get(sock, id);
    if (peer->shares == 0)
        peer->route = route;
    else if (peer->route.address != route.address || peer->route.port != route.port)
        return -EEXIST;
    peer->shares++;
    lnet_sock_peer_route(peer);
    return 0;
}

static bool is_routed(const struct lnet_sock_peer *peer, uint32_t address)
{
    return peer->routed && (address == 0 || lnet_sock_peer_address(peer).address == address);
}

/* ioc_nid, ioc_u32[0]: the peer's NID and address; LNET_NID_ANY and 0 mean all. Their connections
 * close. */
static int del_peer(struct lnet_sock *sock, const struct libcfs_ioctl_data *data)
{
    struct list_head *at = sock->peers.next, *next;
    uint32_t count = 0;

    for (; at != &sock->peers; at = next) {
        struct lnet_sock_peer *peer = list_entry(at, struct lnet_sock_peer, on_ni);

        lnet_sock_peer_hold(peer); /* it stays in the list, so that its successor is known */
        if (is_meant(data->ioc_nid, peer->id.nid) && is_routed(peer, data->ioc_u32[0])) {
            lnet_sock_peer_unroute(peer);
            count++;
        }
        next = at->next;
        lnet_sock_peer_release(peer);
    }
    return count > 0 ? 0 : -ENOENT;
}

/* PUSH_CONNECTION: the kernel then sends data that a socket holds back. Sockets here hold none. */
static int push_conns(const struct lnet_sock *sock, const struct libcfs_ioctl_data *data)
{
    const struct lnet_sock_peer *peer;

    list_for_each_entry (peer, &sock->peers, on_ni)
        if (is_meant(data->ioc_nid, peer->id.nid))
            return 0;
    return -ENOENT;
}

int lnet_sock_control(struct lnet_ni *ni, unsigned command, void *argument)
{
    switch (command) {
    case IOC_LIBCFS_GET_PEER:
        return get_peer(ni->driver, argument);
    case IOC_LIBCFS_ADD_PEER:
        return add_peer(ni->driver, argument);
    case IOC_LIBCFS_DEL_PEER:
        return del_peer(ni->driver, argument);
    case IOC_LIBCFS_GET_CONN:
        return get_conn(ni->driver, argument);
    case IOC_LIBCFS_CLOSE_CONNECTION:
        return close_conns(ni->driver, argument);
    case IOC_LIBCFS_PUSH_CONNECTION:
        return push_conns(ni->driver, argument);
    case IOC_LIBCFS_REGISTER_MYNID:
        return ((struct libcfs_ioctl_data *)argument)->ioc_nid == ni->nid ? 0 : -EINVAL;
    default:
        return -EINVAL;
    }
}
