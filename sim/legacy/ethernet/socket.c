/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Sockets: the calls of mad_sock.h. */
#define _GNU_SOURCE
#include "devices.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>

#include "mad_sock.h"

#define NETWORK_ADDRESS 0x0a000000u /* 10.0.0.0; endpoint e is e + 1 */

static struct ethernet_port *port_of_caller(uint64_t *process)
{
    struct legacy_place place;
    struct ethernet_devices *devices;

    if (!legacy_find(LEGACY_ETHERNET, 0, &place))
        return NULL;
    *process = place.process;
    devices = place.network->devices;
    return &devices->ports[place.endpoint];
}

static int fail(int error)
{
    errno = error;
    return -1;
}

/* The caller's socket; NULL: errno. Lets the world catch up. */
static struct tcp_socket *find(int fd)
{
    uint64_t process;
    const struct ethernet_port *port = port_of_caller(&process);
    struct tcp_socket *socket = NULL;

    sim_settle();
    if (port != NULL && fd >= TCP_FIRST_FD &&
        (guint)(fd - TCP_FIRST_FD) < port->devices->sockets->len)
        socket = port->devices->sockets->pdata[fd - TCP_FIRST_FD];
    if (socket != NULL && socket->process == process && !socket->closed)
        return socket;
    errno = EBADF;
    return NULL;
}

static void spend(const struct tcp_socket *socket, enum ethernet_param what)
{
    sim_sleep_until(sim_now() + legacy_service(socket->port->devices->network, (uint32_t)what, 1));
}

const char *mad_sock_own_address(char *text, size_t size)
{
    uint64_t process;
    const struct ethernet_port *port = port_of_caller(&process);
    uint32_t address = port != NULL ? NETWORK_ADDRESS + port->endpoint + 1 : 0;

    if (port == NULL)
        return NULL;
    snprintf(text, size, "%u.%u.%u.%u", address >> 24, address >> 16 & 255, address >> 8 & 255,
             address & 255);
    return text;
}

/* ---- opening --------------------------------------------------------------------------------- */

int mad_sock_socket(int domain, int type, int protocol)
{
    uint64_t process;
    struct ethernet_port *port = port_of_caller(&process);

    (void)protocol;
    if (domain != AF_INET || (type & ~(SOCK_CLOEXEC | SOCK_NONBLOCK)) != SOCK_STREAM)
        return fail(EPROTONOSUPPORT);
    if (port == NULL)
        return fail(ENETDOWN);
    sim_settle();
    return tcp_socket_new(port, process)->fd;
}

static struct tcp_socket *listener_of(const struct ethernet_port *port, uint16_t number)
{
    guint i;

    for (i = 0; i < port->devices->sockets->len; i++) {
        struct tcp_socket *socket = port->devices->sockets->pdata[i];

        if (socket != NULL && socket->port == port && socket->listens && !socket->closed &&
            socket->number == number)
            return socket;
    }
    return NULL;
}

int mad_sock_bind(int fd, const struct sockaddr *address, socklen_t length)
{
    const struct sockaddr_in *name = (const struct sockaddr_in *)(const void *)address;
    struct tcp_socket *socket = find(fd);

    if (socket == NULL)
        return -1;
    if (length < sizeof(*name) || name->sin_family != AF_INET)
        return fail(EINVAL);
    if (name->sin_port != 0 && listener_of(socket->port, ntohs(name->sin_port)) != NULL)
        return fail(EADDRINUSE);
    socket->number = name->sin_port != 0 ? ntohs(name->sin_port) : socket->port->next_number++;
    return 0;
}

int mad_sock_listen(int fd, int backlog)
{
    struct tcp_socket *socket = find(fd);

    (void)backlog;
    if (socket == NULL)
        return -1;
    socket->listens = true;
    return 0;
}

int mad_sock_getsockname(int fd, struct sockaddr *address, socklen_t *length)
{
    const struct tcp_socket *socket = find(fd);
    struct sockaddr_in name = {.sin_family = AF_INET};

    if (socket == NULL)
        return -1;
    name.sin_port = htons(socket->number);
    name.sin_addr.s_addr = htonl(NETWORK_ADDRESS + socket->port->endpoint + 1);
    memcpy(address, &name, MIN(*length, sizeof(name)));
    *length = sizeof(name);
    return 0;
}

/* A segment without data to the other host, and one back. */
static sim_time_t round_trip(const struct legacy_network *network)
{
    return 2 * (legacy_service(network, TCP_SEND_US, 1) + ethernet_frame(network, 0) +
                legacy_service(network, TCP_RECEIVE_US, 1));
}

int mad_sock_connect(int fd, const struct sockaddr *address, socklen_t length)
{
    const struct sockaddr_in *name = (const struct sockaddr_in *)(const void *)address;
    struct tcp_socket *socket = find(fd), *listener, *other;
    struct ethernet_devices *devices;
    uint32_t endpoint;

    if (socket == NULL)
        return -1;
    if (length < sizeof(*name) || name->sin_family != AF_INET)
        return fail(EINVAL);
    if (socket->connected)
        return fail(EISCONN);
    devices = socket->port->devices;
    endpoint = ntohl(name->sin_addr.s_addr) - NETWORK_ADDRESS - 1;
    if (endpoint >= devices->network->endpoints)
        return fail(ENETUNREACH);
    sim_sleep_until(sim_now() + round_trip(devices->network));
    if (!legacy_reachable(devices->network, socket->port->endpoint, endpoint))
        return fail(EHOSTUNREACH);
    listener = listener_of(&devices->ports[endpoint], ntohs(name->sin_port));
    if (listener == NULL)
        return fail(ECONNREFUSED);
    other = tcp_socket_new(listener->port, listener->process);
    other->number = listener->number;
    other->peer = socket;
    other->peer_endpoint = socket->port->endpoint;
    other->probed_at = socket->probed_at = sim_now();
    other->connected = socket->connected = true;
    socket->peer = other;
    socket->peer_endpoint = endpoint;
    g_queue_push_tail(&listener->backlog, other);
    tcp_wake(listener);
    return 0;
}

int mad_sock_accept4(int fd, struct sockaddr *address, socklen_t *length, int flags)
{
    struct tcp_socket *socket = find(fd), *accepted;

    (void)address, (void)length, (void)flags;
    if (socket == NULL)
        return -1;
    if (!socket->listens)
        return fail(EINVAL);
    accepted = g_queue_pop_head(&socket->backlog);
    return accepted != NULL ? accepted->fd : fail(EAGAIN);
}

int mad_sock_setsockopt(int fd, int level, int option, const void *value, socklen_t length)
{
    struct tcp_socket *socket = find(fd);
    int number;

    if (socket == NULL)
        return -1;
    if (length < sizeof(number))
        return fail(EINVAL);
    memcpy(&number, value, sizeof(number));
    if (level == SOL_SOCKET && option == SO_SNDBUF && number > 0)
        socket->out_max = (size_t)number;
    else if (level == SOL_SOCKET && option == SO_RCVBUF && number > 0)
        socket->in_max = MAX((size_t)number, TCP_MSS);
    else if (!(level == IPPROTO_TCP && option == TCP_NODELAY && number == 1) &&
             !(level == SOL_SOCKET && option == SO_LINGER))
        return fail(ENOPROTOOPT);
    return 0;
}

int mad_sock_getsockopt(int fd, int level, int option, void *value, socklen_t *length)
{
    struct tcp_socket *socket = find(fd);

    if (socket == NULL)
        return -1;
    if (level != SOL_SOCKET || option != SO_ERROR || *length < sizeof(socket->error))
        return fail(ENOPROTOOPT);
    memcpy(value, &socket->error, sizeof(socket->error));
    *length = sizeof(socket->error);
    return 0;
}

int mad_sock_close(int fd)
{
    struct tcp_socket *socket = find(fd);

    if (socket == NULL)
        return -1;
    tcp_close(socket);
    return 0;
}

int mad_sock_reset(int fd)
{
    struct tcp_socket *socket = find(fd);

    if (socket == NULL)
        return -1;
    if (socket->peer != NULL)
        tcp_break(socket->peer, ECONNRESET);
    tcp_break(socket, ECONNRESET);
    return 0;
}

/* ---- transfers ------------------------------------------------------------------------------- */

ssize_t mad_sock_sendmsg(int fd, const struct msghdr *message, int flags)
{
    struct tcp_socket *socket = find(fd);
    size_t sent = 0, asked = 0, i, room;

    (void)flags;
    if (socket == NULL)
        return -1;
    for (i = 0; i < message->msg_iovlen; i++)
        asked += message->msg_iov[i].iov_len;
    if (socket->out->len < socket->out_max)
        spend(socket, TCP_SEND_US);
    if (socket->error != 0 || socket->peer == NULL)
        return fail(socket->error != 0 ? socket->error : EPIPE);
    room = socket->out_max - MIN(socket->out_max, socket->out->len);
    if (room == 0) {
        spend(socket, TCP_POLL_US);
        return fail(EAGAIN);
    }
    for (i = 0; i < message->msg_iovlen && sent < room; i++) {
        size_t bytes = MIN(message->msg_iov[i].iov_len, room - sent);

        g_byte_array_append(socket->out, message->msg_iov[i].iov_base, (guint)bytes);
        sent += bytes;
    }
    if (sent == asked)
        g_queue_push_tail(&socket->ends, GUINT_TO_POINTER(socket->out->len));
    tcp_kick(socket);
    return (ssize_t)sent;
}

ssize_t mad_sock_send(int fd, const void *bytes, size_t length, int flags)
{
    struct iovec piece = {(void *)(uintptr_t)bytes, length};

    return mad_sock_sendmsg(fd, &(struct msghdr){.msg_iov = &piece, .msg_iovlen = 1}, flags);
}

ssize_t mad_sock_recvmsg(int fd, struct msghdr *message, int flags)
{
    struct tcp_socket *socket = find(fd);
    size_t got = 0, i;

    if (socket == NULL)
        return -1;
    if (socket->in->len == 0) {
        if (socket->ended || socket->error != 0)
            return socket->ended ? 0 : fail(socket->error);
        spend(socket, TCP_POLL_US);
        return fail(EAGAIN);
    }
    if (!socket->woken)
        spend(socket, TCP_READ_US);
    socket->woken = (flags & MSG_PEEK) != 0 && socket->woken;
    for (i = 0; i < message->msg_iovlen && got < socket->in->len; i++) {
        size_t bytes = MIN(message->msg_iov[i].iov_len, socket->in->len - got);

        memcpy(message->msg_iov[i].iov_base, socket->in->data + got, bytes);
        got += bytes;
    }
    if ((flags & MSG_PEEK) == 0) {
        g_byte_array_remove_range(socket->in, 0, (guint)got);
        if (socket->peer != NULL)
            tcp_kick(socket->peer);
    }
    return (ssize_t)got;
}

ssize_t mad_sock_recv(int fd, void *bytes, size_t length, int flags)
{
    struct iovec piece = {bytes, length};

    return mad_sock_recvmsg(fd, &(struct msghdr){.msg_iov = &piece, .msg_iovlen = 1}, flags);
}

/* ---- waiting --------------------------------------------------------------------------------- */

static short state_of(const struct tcp_socket *socket)
{
    bool readable =
        socket->backlog.length != 0 || socket->in->len != 0 || socket->ended || socket->error != 0;
    bool writable = !socket->listens && socket->peer != NULL &&
                    socket->out_max - MIN(socket->out_max, socket->out->len) >= socket->out_max / 3;

    return (short)((readable ? POLLIN : 0) | (writable || socket->error != 0 ? POLLOUT : 0) |
                   (socket->ended ? POLLRDHUP : 0) | (socket->error != 0 ? POLLERR : 0));
}

/* Ends the stream if a keepalive probe would get no answer, or a reset from the other host. */
static void probe(struct tcp_socket *socket)
{
    const struct legacy_network *network = socket->port->devices->network;

    if (!socket->connected || socket->error != 0 || socket->ended ||
        sim_now() - socket->probed_at < legacy_service(network, TCP_KEEPALIVE_US, 1))
        return;
    socket->probed_at = sim_now();
    if (!legacy_reachable(network, socket->port->endpoint, socket->peer_endpoint))
        tcp_break(socket, ETIMEDOUT);
    else if (socket->peer == NULL && socket->coming == 0)
        tcp_break(socket, ECONNRESET);
}

/* Fills in the results; the number of descriptors that are ready. */
static int poll_all(struct pollfd *descriptors, nfds_t count, bool slept)
{
    int ready = 0;

    for (nfds_t i = 0; i < count; i++) {
        struct tcp_socket *socket = find(descriptors[i].fd);

        if (socket != NULL)
            probe(socket);
        descriptors[i].revents = POLLNVAL;
        if (socket != NULL)
            descriptors[i].revents = (short)(state_of(socket) & (descriptors[i].events | POLLERR));
        if (socket != NULL && socket->in->len != 0)
            socket->woken |= slept;
        ready += descriptors[i].revents != 0;
    }
    return ready;
}

static void join(const struct pollfd *descriptors, nfds_t count, bool wait)
{
    struct sim_fiber *self = sim_fiber_self();

    for (nfds_t i = 0; i < count; i++) {
        struct tcp_socket *socket = find(descriptors[i].fd);

        if (socket == NULL)
            continue;
        g_ptr_array_remove(socket->waiters, self);
        if (wait)
            g_ptr_array_add(socket->waiters, self);
    }
}

int mad_sock_poll(struct pollfd *descriptors, nfds_t count, int64_t timeout_ns)
{
    static const struct sim_wait wait = {.text = "sockets"};
    uint64_t process;
    const struct ethernet_port *port = port_of_caller(&process);
    const struct legacy_network *network;
    sim_time_t deadline, keepalive;
    bool slept = false;
    int ready;

    if (port == NULL)
        return fail(ENETDOWN);
    network = port->devices->network;
    sim_settle();
    ready = poll_all(descriptors, count, false);
    if (ready == 0 && timeout_ns == 0)
        sim_sleep_until(sim_now() + legacy_service(network, TCP_POLL_US, 1));
    deadline = timeout_ns < 0 ? SIM_NEVER : sim_now() + (sim_time_t)timeout_ns * SIM_NS;
    while (ready == 0 && sim_now() < deadline) {
        keepalive = sim_now() + legacy_service(network, TCP_KEEPALIVE_US, 1);
        join(descriptors, count, true);
        sim_wait_until(MIN(deadline, keepalive), &wait);
        join(descriptors, count, false);
        slept = true;
        ready = poll_all(descriptors, count, slept);
    }
    return ready;
}
