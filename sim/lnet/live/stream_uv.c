/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Sockets: connecting, listening, closing. */
#define _GNU_SOURCE
#include "stream_uv.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ACCEPTS_PER_EVENT 16

struct lnet_listener {
    uv_poll_t poll;
    int fd;
    int spare; /* given up to accept and close a connection when there are no descriptors left */
    struct lnet_stream_host *host;
    void (*accepted)(void *owner, struct lnet_stream *stream);
    void *owner;
    bool closed;
};

/* ---- hosts ------------------------------------------------------------------------------------
 */

struct lnet_stream_host *lnet_stream_host_open(struct lnet_node *node,
                                               const struct lnet_interface *interface, int *error)
{
    struct lnet_stream_host *host = calloc(1, sizeof(*host));

    *error = host == NULL ? -ENOMEM : 0;
    if (host == NULL)
        return NULL;
    host->node = node;
    host->address = interface->address;
    host->next_port = LNET_RESERVED_PORT_MAX;
    return host;
}

void lnet_stream_host_set_options(struct lnet_stream_host *host,
                                  const struct lnet_stream_options *options)
{
    host->options = *options;
}

void lnet_stream_host_crash(struct lnet_stream_host *host)
{
    (void)host; /* the process ends, and the system closes its sockets */
}

void lnet_stream_host_close(struct lnet_stream_host *host)
{
    free(host);
}

static void set(int fd, int level, int option, uint32_t value)
{
    int number = (int)value;

    /* A system may refuse an option; the connection works without it. */
    (void)setsockopt(fd, level, option, &number, sizeof(number));
}

static void set_options(const struct lnet_stream_host *host, int fd)
{
    const struct lnet_stream_options *options = &host->options;

    set(fd, IPPROTO_TCP, TCP_NODELAY, !options->nagle);
    if (options->send_buffer != 0)
        set(fd, SOL_SOCKET, SO_SNDBUF, options->send_buffer);
    if (options->receive_buffer != 0)
        set(fd, SOL_SOCKET, SO_RCVBUF, options->receive_buffer);
    if (options->keepalive_idle == 0 || options->keepalive_interval == 0)
        return;
    set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    set(fd, IPPROTO_TCP, TCP_KEEPIDLE, options->keepalive_idle);
    set(fd, IPPROTO_TCP, TCP_KEEPINTVL, options->keepalive_interval);
    set(fd, IPPROTO_TCP, TCP_KEEPCNT, options->keepalive_count);
}

static struct sockaddr_in socket_address(uint32_t address, uint16_t port)
{
    return (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(address)};
}

static int bind_to(int fd, uint32_t address, uint16_t port)
{
    struct sockaddr_in to = socket_address(address, port);

    return bind(fd, (struct sockaddr *)&to, sizeof(to)) == 0 ? 0 : -errno;
}

/* ---- streams ----------------------------------------------------------------------------------
 */

struct lnet_stream *lnet_stream_uv_new(struct lnet_stream_host *host, int fd)
{
    struct lnet_stream *stream = calloc(1, sizeof(*stream));

    if (stream == NULL)
        return NULL;
    stream->fd = fd;
    stream->host = host;
    INIT_LIST_HEAD(&stream->on_ready);
    if (fd < 0)
        return stream;
    if (uv_poll_init_socket(&lnet_loop.uv, &stream->poll, fd) != 0) {
        free(stream);
        return NULL;
    }
    stream->poll.data = stream;
    return stream;
}

void lnet_stream_uv_make_ready(struct lnet_stream *stream)
{
    if (list_empty(&stream->on_ready))
        list_add_tail(&stream->on_ready, &lnet_loop.ready);
    lnet_loop_changed();
}

void lnet_stream_uv_update(struct lnet_stream *stream)
{
    int events = (stream->reading && !stream->connecting ? UV_READABLE : 0) |
                 (stream->writes != NULL || stream->connecting ? UV_WRITABLE : 0);

    if (stream->closed || stream->fd < 0)
        return;
    /* Nobody reads at the moment: the next read asks again, mostly before anything has arrived. */
    if (events == stream->events || (events == 0 && stream->events == UV_READABLE))
        return;
    stream->events = events;
    if (events == 0)
        uv_poll_stop(&stream->poll);
    else
        uv_poll_start(&stream->poll, events, lnet_stream_uv_event);
    lnet_loop_changed();
}

static void freed(uv_handle_t *handle)
{
    free(handle->data);
}

void lnet_stream_close(struct lnet_stream *stream, bool reset)
{
    struct linger linger = {.l_onoff = 1, .l_linger = 0};

    assert(!stream->closed);
    stream->closed = true;
    stream->handler = NULL;
    stream->reading = false;
    stream->writes = stream->writes_last = NULL;
    list_del_init(&stream->on_ready);
    if (stream->fd < 0) {
        free(stream);
        return;
    }
    uv_close((uv_handle_t *)&stream->poll, freed);
    if (reset)
        setsockopt(stream->fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
    close(stream->fd);
    lnet_loop_changed();
}

/* ---- connecting -------------------------------------------------------------------------------
 */

/* From a reserved port, the highest first; from any if this process may not bind those. */
static int connect_from(struct lnet_stream_host *host, int fd, struct lnet_stream_address to,
                        bool reserved)
{
    struct sockaddr_in target = socket_address(to.address, to.port);
    int tries = reserved ? LNET_RESERVED_PORT_MAX - LNET_RESERVED_PORT_MIN + 1 : 1;
    int error = -EADDRINUSE;

    while (tries-- > 0) {
        error = bind_to(fd, host->address, reserved ? host->next_port : 0);
        if (reserved && --host->next_port < LNET_RESERVED_PORT_MIN)
            host->next_port = LNET_RESERVED_PORT_MAX;
        if (error == -EADDRINUSE)
            continue;
        if (error == -EACCES && reserved)
            return connect_from(host, fd, to, false);
        break;
    }
    if (error != 0)
        return error;
    return connect(fd, (struct sockaddr *)&target, sizeof(target)) == 0 ? 0 : -errno;
}

struct lnet_stream *lnet_stream_connect(struct lnet_stream_host *host,
                                        struct lnet_stream_address to, bool reserved,
                                        const struct lnet_stream_handler *handler, void *owner)
{
    struct lnet_stream *stream;
    int fd, error, tries = LNET_RESERVED_PORT_MAX - LNET_RESERVED_PORT_MIN + 1;

    do { /* a port may be in use towards this target only, by a connection that has ended */
        fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        if (fd < 0) {
            error = -errno;
            break;
        }
        set(fd, SOL_SOCKET, SO_REUSEADDR, 1);
        set_options(host, fd);
        error = connect_from(host, fd, to, reserved);
        if (error == -EADDRNOTAVAIL && reserved) {
            close(fd);
            fd = -1;
        }
    } while (error == -EADDRNOTAVAIL && reserved && --tries > 0);
    stream = lnet_stream_uv_new(host, fd);
    if (stream == NULL) { /* no memory, or no room in the poll set */
        if (fd >= 0)
            close(fd);
        stream = lnet_stream_uv_new(host, -1);
        if (stream == NULL)
            abort();
        error = -ENOMEM;
    }
    stream->handler = handler;
    stream->owner = owner;
    stream->connecting = true;
    if (error != 0 && error != -EINPROGRESS) {
        stream->failure = error;
        lnet_stream_uv_make_ready(stream);
    } else {
        lnet_stream_uv_update(stream);
    }
    return stream;
}

void lnet_stream_uv_connected(struct lnet_stream *stream)
{
    int error = 0;
    socklen_t size = sizeof(error);

    if (getsockopt(stream->fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0)
        error = errno;
    stream->connecting = false;
    lnet_stream_uv_update(stream);
    stream->handler->connected(stream->owner, -error);
}

/* ---- listening --------------------------------------------------------------------------------
 */

/* No descriptor is left: the waiting connection is accepted by means of the spare one, and closed.
 */
static void turn_away(struct lnet_listener *listener)
{
    int fd;

    if (listener->spare < 0)
        return;
    close(listener->spare);
    fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC);
    if (fd >= 0)
        close(fd);
    listener->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static void accept_waiting(uv_poll_t *poll, int status, int events)
{
    struct lnet_listener *listener = poll->data;
    struct lnet_node *node = listener->host->node;
    int i;

    (void)status, (void)events;
    for (i = 0; i < ACCEPTS_PER_EVENT && !listener->closed; i++) {
        int fd = accept4(listener->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        struct lnet_stream *stream;

        if (fd < 0) {
            if (errno == EMFILE || errno == ENFILE)
                turn_away(listener);
            return;
        }
        set_options(listener->host, fd);
        stream = lnet_stream_uv_new(listener->host, fd);
        if (stream == NULL) {
            close(fd);
            continue;
        }
        lnet_host_lock(node);
        listener->accepted(listener->owner, stream);
        lnet_host_unlock(node);
    }
}

struct lnet_listener *lnet_listen(struct lnet_stream_host *host, uint16_t port, uint32_t backlog,
                                  void (*accepted)(void *owner, struct lnet_stream *stream),
                                  void *owner, int *error)
{
    struct lnet_listener *listener = calloc(1, sizeof(*listener));

    if (listener == NULL) {
        *error = -ENOMEM;
        return NULL;
    }
    *listener = (struct lnet_listener){.host = host, .accepted = accepted, .owner = owner};
    listener->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (listener->fd < 0) {
        *error = -errno;
        goto err_socket;
    }
    set(listener->fd, SOL_SOCKET, SO_REUSEADDR, 1);
    *error = bind_to(listener->fd, host->address, port);
    if (*error == 0 && listen(listener->fd, (int)backlog) != 0)
        *error = -errno;
    if (*error == 0)
        *error = uv_poll_init_socket(&lnet_loop.uv, &listener->poll, listener->fd);
    if (*error != 0)
        goto err_bind;
    listener->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
    listener->poll.data = listener;
    uv_poll_start(&listener->poll, UV_READABLE, accept_waiting);
    lnet_loop_changed();
    return listener;

err_bind:
    close(listener->fd);
err_socket:
    free(listener);
    return NULL;
}

void lnet_listener_close(struct lnet_listener *listener)
{
    listener->closed = true;
    uv_close((uv_handle_t *)&listener->poll, freed);
    close(listener->fd);
    if (listener->spare >= 0)
        close(listener->spare);
    lnet_loop_changed();
}

void lnet_stream_adopt(struct lnet_stream *stream, const struct lnet_stream_handler *handler,
                       void *owner)
{
    stream->handler = handler;
    stream->owner = owner;
}

static struct lnet_stream_address name_of(int (*get)(int fd, struct sockaddr *to, socklen_t *size),
                                          int fd)
{
    struct sockaddr_in address = {0};
    socklen_t size = sizeof(address);

    if (get(fd, (struct sockaddr *)&address, &size) != 0)
        return (struct lnet_stream_address){0};
    return (struct lnet_stream_address){ntohl(address.sin_addr.s_addr), ntohs(address.sin_port)};
}

static int get_local(int fd, struct sockaddr *to, socklen_t *size)
{
    return getsockname(fd, to, size);
}

static int get_peer(int fd, struct sockaddr *to, socklen_t *size)
{
    return getpeername(fd, to, size);
}

/* The system decides when bytes arrive. */
void lnet_stream_hint(struct lnet_stream *stream, const void *const hints[LNET_STREAM_HINTS])
{
    (void)stream;
    (void)hints;
}

struct lnet_stream_address lnet_stream_local(const struct lnet_stream *stream)
{
    return name_of(get_local, stream->fd);
}

struct lnet_stream_address lnet_stream_peer(const struct lnet_stream *stream)
{
    return name_of(get_peer, stream->fd);
}
