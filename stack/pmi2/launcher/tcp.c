/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#define _GNU_SOURCE
#include "tcp.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PORT_MAX 65535u
#define SECONDS 10 /* for a step of a connection that blocks */

int pmrun_tcp_listen(const char *host, unsigned port, unsigned *bound)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
                                   .ai_flags = AI_PASSIVE | AI_NUMERICHOST | AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    union {
        struct sockaddr any;
        struct sockaddr_in four;
        struct sockaddr_in6 six;
    } address = {.six = {0}};
    socklen_t length = sizeof(address);
    char service[16];
    int fd, on = 1, off = 0, error;

    snprintf(service, sizeof(service), "%u", port);
    if (getaddrinfo(host, service, &hints, &found) != 0) {
        errno = EADDRNOTAVAIL;
        return -1;
    }
    fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 &&
        (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
         (found->ai_family == AF_INET6 &&
          setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) != 0) ||
         bind(fd, found->ai_addr, found->ai_addrlen) != 0 || listen(fd, PMRUN_TCP_BACKLOG) != 0 ||
         getsockname(fd, &address.any, &length) != 0)) {
        error = errno;
        close(fd);
        fd = -1;
        errno = error;
    }
    if (fd >= 0 && bound != NULL)
        *bound =
            ntohs(found->ai_family == AF_INET6 ? address.six.sin6_port : address.four.sin_port);
    freeaddrinfo(found);
    return fd;
}

char *pmrun_tcp_name(const char *host, unsigned port)
{
    return g_strdup_printf(host[0] != '[' && strchr(host, ':') != NULL ? "[%s]:%u" : "%s:%u", host,
                           port);
}

gboolean pmrun_tcp_parse(const char *text, char **host, unsigned *port)
{
    const char *begin = text, *end, *colon;
    guint64 number = *port;

    if (text[0] == '[') {
        begin = text + 1;
        end = strchr(begin, ']');
        if (end == NULL || (end[1] != '\0' && end[1] != ':'))
            return FALSE;
        colon = end[1] == ':' ? end + 1 : NULL;
    } else {
        colon = strchr(text, ':');
        if (colon != NULL && strchr(colon + 1, ':') != NULL)
            colon = NULL; /* an address of IPv6 by itself */
        end = colon != NULL ? colon : text + strlen(text);
    }
    if (end == begin ||
        (colon != NULL && !g_ascii_string_to_unsigned(colon + 1, 10, 1, PORT_MAX, &number, NULL)))
        return FALSE;
    *host = g_strndup(begin, (gsize)(end - begin));
    *port = (unsigned)number;
    return TRUE;
}

int pmrun_tcp_connect(const char *address)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list, *at;
    struct timeval limit = {.tv_sec = SECONDS};
    char *host, service[16];
    unsigned port = 0;
    int fd = -1, one = 1, error = EHOSTUNREACH;

    if (!pmrun_tcp_parse(address, &host, &port)) {
        errno = EINVAL;
        return -1;
    }
    snprintf(service, sizeof(service), "%u", port);
    if (getaddrinfo(host, service, &hints, &list) != 0)
        list = NULL;
    for (at = list; at != NULL && fd < 0; at = at->ai_next) {
        fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd < 0) {
            error = errno;
            continue;
        }
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
        if (connect(fd, at->ai_addr, at->ai_addrlen) != 0) {
            error = errno == EINPROGRESS ? ETIMEDOUT : errno;
            close(fd);
            fd = -1;
        }
    }
    if (list != NULL)
        freeaddrinfo(list);
    g_free(host);
    errno = error;
    return fd;
}
