/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The connection that the environment names: PMI_FD, an inherited descriptor, or PMI_PORT, host and
 * port, with PMI_ID, our rank there. PMI_KEY_FD: descriptor to read the key for challenges from.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client.h"

/* context: the descriptor, + 1 */
static int fd_of(void *context)
{
    return (int)((intptr_t)context - 1);
}

static bool write_all(void *context, const void *bytes, size_t length)
{
    const char *from = bytes;
    ssize_t sent;

    while (length != 0) {
        sent = send(fd_of(context), from, length, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return false;
        from += sent;
        length -= (size_t)sent;
    }
    return true;
}

/* Waits by poll: in recv, a Unix socket's owner is also woken when the other end takes what was
 * sent, only to sleep again. */
static size_t read_some(void *context, void *bytes, size_t size)
{
    struct pollfd ready = {.fd = fd_of(context), .events = POLLIN};
    ssize_t got;

    while (poll(&ready, 1, -1) < 0 && errno == EINTR) {
    }
    do
        got = recv(fd_of(context), bytes, size, 0);
    while (got < 0 && errno == EINTR);
    return got > 0 ? (size_t)got : 0;
}

static void close_port(void *context)
{
    close(fd_of(context));
}

/* The descriptor stays open, so its number is still valid when the program initialises PMI again.
 */
static void close_inherited(void *context)
{
    shutdown(fd_of(context), SHUT_RDWR);
    fcntl(fd_of(context), F_SETFD, FD_CLOEXEC);
}

/* A number of the environment; -1: not there, or none. */
static int number(const char *name)
{
    const char *text = port_getenv(name);
    int64_t value;

    if (text == NULL || !pmi2_slice_int(pmi2_text(text), 0, INT32_MAX, &value))
        return -1;
    return (int)value;
}

static int connect_to(const char *host, const char *service)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list, *at;
    int fd = -1;

    if (getaddrinfo(host, service, &hints, &list) != 0)
        return -1;
    for (at = list; at != NULL && fd < 0; at = at->ai_next) {
        fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd >= 0 && connect(fd, at->ai_addr, at->ai_addrlen) != 0) {
            close(fd);
            fd = -1;
        }
    }
    freeaddrinfo(list);
    return fd;
}

/* `host:port`, also `[address]:port`. */
static int open_port(const char *text)
{
    const char *colon = strrchr(text, ':');
    size_t length = colon != NULL ? (size_t)(colon - text) : 0;
    char host[256];

    if (length == 0 || length >= sizeof(host))
        return -1;
    if (text[0] == '[' && text[length - 1] == ']') {
        text++;
        length -= 2;
    }
    memcpy(host, text, length);
    host[length] = '\0';
    return connect_to(host, colon + 1);
}

/* Read once, then closed: the program need not see it. */
static void read_key(struct pmi2_transport *transport)
{
    int fd = number("PMI_KEY_FD");
    ssize_t got;

    while (fd >= 0 && transport->key_bytes < sizeof(transport->key)) {
        got = read(fd, transport->key + transport->key_bytes,
                   sizeof(transport->key) - transport->key_bytes);
        if (got > 0)
            transport->key_bytes += (size_t)got;
        else if (got == 0 || errno != EINTR)
            break;
    }
    if (fd >= 0)
        close(fd);
}

/* One line, byte by byte: what follows it is not ours. */
static bool read_line(void *context, char *line, size_t size)
{
    size_t length = 0;

    while (length + 1 < size && read_some(context, line + length, 1) == 1) {
        if (line[length] == '\n') {
            line[length] = '\0';
            return true;
        }
        length++;
    }
    return false;
}

/* Sends our rank to a port without authentication: four lines. */
static bool init_ack(struct pmi2_transport *transport, int id, int *rank, int *size)
{
    char line[256];
    int i, length = snprintf(line, sizeof(line), "cmd=initack pmiid=%d\n", id);

    if (!write_all(transport->context, line, (size_t)length) ||
        !read_line(transport->context, line, sizeof(line)) || strncmp(line, "cmd=initack", 11) != 0)
        return false;
    for (i = 0; i < 3; i++) {
        if (!read_line(transport->context, line, sizeof(line)))
            return false;
        sscanf(line, "cmd=set size=%d", size);
        sscanf(line, "cmd=set rank=%d", rank);
    }
    return *rank >= 0;
}

enum pmi2_connect pmi2_transport_open(struct pmi2_transport *transport, int *rank, int *size)
{
    const char *port = port_getenv("PMI_PORT"), *inherited = port_getenv("PMI_FD");
    int fd, id = number("PMI_ID");

    *rank = number("PMI_RANK");
    *size = number("PMI_SIZE");
    transport->write = write_all;
    transport->read = read_some;
    if (inherited != NULL) {
        fd = number("PMI_FD");
        transport->close = close_inherited;
    } else if (port != NULL && id >= 0) {
        fd = open_port(port);
        transport->close = close_port;
    } else {
        return PMI2_SINGLETON;
    }
    if (fd < 0)
        return PMI2_UNREACHABLE;
    transport->context = (void *)((intptr_t)fd + 1);
    read_key(transport);
    if (inherited != NULL || transport->key_bytes != 0) {
        if (*rank < 0)
            *rank = id;
        return PMI2_CONNECTED;
    }
    if (init_ack(transport, id, rank, size))
        return PMI2_CONNECTED;
    close(fd);
    return PMI2_UNREACHABLE;
}
