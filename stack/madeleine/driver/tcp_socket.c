/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Sockets of the TCP driver: options, opening, and complete transfers. */
#define _GNU_SOURCE
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>

#include "session.h"
#include "sock.h"
#include "tcp.h"

enum { BACKLOG = 128, LINGER_SECONDS = 50 };

void mad_tcp_put(unsigned char *to, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        to[i] = (unsigned char)(value >> (8 * i));
}

uint64_t mad_tcp_get(const unsigned char *from, unsigned bytes)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < bytes; i++)
        value |= (uint64_t)from[i] << (8 * i);
    return value;
}

/* The options of every data socket. MAD_TCP_BUFFER: bytes; the system chooses where it is absent.
 */
static int data_options(int fd)
{
    int on = 1, bytes = (int)mad_parameter("MAD_TCP_BUFFER", 0);
    struct linger linger = {1, LINGER_SECONDS};

    if (mad_sock_setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) != 0 ||
        mad_sock_setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)) != 0)
        return -1;
    if (bytes > 0 && (mad_sock_setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes)) != 0 ||
                      mad_sock_setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes)) != 0))
        return -1;
    return 0;
}

static int close_keeping_errno(int fd)
{
    int error = errno;

    mad_sock_close(fd);
    errno = error;
    return -1;
}

static struct addrinfo *resolve(const char *host, unsigned port, int flags)
{
    struct addrinfo hints = {
        .ai_flags = flags | AI_NUMERICSERV, .ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    char service[16];

    snprintf(service, sizeof(service), "%u", port);
    if (getaddrinfo(host, service, &hints, &found) != 0) {
        errno = EADDRNOTAVAIL;
        return NULL;
    }
    return found;
}

int mad_tcp_listen(const char *address, unsigned *port)
{
    struct addrinfo *found =
        resolve(address, 0, AI_PASSIVE | (address != NULL ? AI_NUMERICHOST : 0));
    struct sockaddr_in name;
    socklen_t length = sizeof(name);
    int fd;

    if (found == NULL)
        return -1;
    fd = mad_sock_socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || mad_sock_bind(fd, found->ai_addr, found->ai_addrlen) != 0 ||
        mad_sock_listen(fd, BACKLOG) != 0 ||
        mad_sock_getsockname(fd, (struct sockaddr *)&name, &length) != 0) {
        freeaddrinfo(found);
        return fd < 0 ? -1 : close_keeping_errno(fd);
    }
    freeaddrinfo(found);
    *port = ntohs(name.sin_port);
    return fd;
}

int mad_tcp_wait(int fd, short events)
{
    struct pollfd descriptor = {.fd = fd, .events = events};
    mad_event_t event = {.descriptors = &descriptor, .count = 1};
    int ready;

    do
        ready = mad_wait(&event, -1);
    while (ready == 0);
    return ready < 0 ? MAD_EDRIVER : MAD_OK;
}

/* The connection attempt goes on without us: waits for its result. */
static int finish_dial(int fd)
{
    int error = 0;
    socklen_t length = sizeof(error);

    if (mad_tcp_wait(fd, POLLOUT) != MAD_OK ||
        mad_sock_getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) != 0)
        return -1;
    errno = error;
    return error == 0 ? 0 : -1;
}

int mad_tcp_dial(const char *host, unsigned port)
{
    struct addrinfo *found = resolve(host, port, 0);
    int fd, result;

    if (found == NULL)
        return -1;
    fd = mad_sock_socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || data_options(fd) != 0) {
        freeaddrinfo(found);
        return fd < 0 ? -1 : close_keeping_errno(fd);
    }
    result = mad_sock_connect(fd, found->ai_addr, found->ai_addrlen);
    freeaddrinfo(found);
    if (result != 0 && (errno == EINPROGRESS || errno == EINTR))
        result = finish_dial(fd);
    return result == 0 ? fd : close_keeping_errno(fd);
}

int mad_tcp_accept(int listener)
{
    int fd = mad_sock_accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (fd >= 0 && data_options(fd) != 0)
        return close_keeping_errno(fd);
    return fd;
}

static int failed(int *code)
{
    *code = errno;
    return errno == ECONNRESET || errno == EPIPE || errno == ETIMEDOUT ? MAD_EPEER : MAD_EDRIVER;
}

int mad_tcp_send_all(int fd, const void *bytes, size_t length, int *code)
{
    const char *from = bytes;
    ssize_t sent;

    while (length != 0) {
        sent = mad_sock_send(fd, from, length, MSG_NOSIGNAL);
        if (sent < 0 && errno == EAGAIN) {
            if (mad_tcp_wait(fd, POLLOUT) != MAD_OK)
                return failed(code);
        } else if (sent < 0 && errno != EINTR) {
            return failed(code);
        } else if (sent > 0) {
            from += sent;
            length -= (size_t)sent;
        }
    }
    return MAD_OK;
}

int mad_tcp_receive_all(int fd, void *bytes, size_t length, int *code)
{
    char *to = bytes;
    ssize_t got;

    while (length != 0) {
        got = mad_sock_recv(fd, to, length, 0);
        if (got == 0) {
            *code = 0;
            return MAD_EPEER;
        }
        if (got < 0 && errno == EAGAIN) {
            if (mad_tcp_wait(fd, POLLIN) != MAD_OK)
                return failed(code);
        } else if (got < 0 && errno != EINTR) {
            return failed(code);
        } else if (got > 0) {
            to += got;
            length -= (size_t)got;
        }
    }
    return MAD_OK;
}
