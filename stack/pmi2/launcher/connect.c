/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A pmproxy connects to the server above it: before it has anything else to do, so it may block. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "orders.h"
#include "proof.h"
#include "tcp.h"

#define SECONDS 10

static int connect_to(const char *address)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list, *at;
    struct timeval limit = {.tv_sec = SECONDS};
    char *host, service[16];
    unsigned port = 0;
    int fd = -1, one = 1;

    if (!tcp_parse(address, &host, &port))
        return -1;
    snprintf(service, sizeof(service), "%u", port);
    if (getaddrinfo(host, service, &hints, &list) != 0)
        list = NULL;
    for (at = list; at != NULL && fd < 0; at = at->ai_next) {
        fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd < 0)
            continue;
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
        if (connect(fd, at->ai_addr, at->ai_addrlen) != 0) {
            close(fd);
            fd = -1;
        }
    }
    if (list != NULL)
        freeaddrinfo(list);
    g_free(host);
    return fd;
}

static gboolean prove(int fd, const struct orders *orders)
{
    struct proof_hello hello = {.first = htonl(orders->first), .last = htonl(orders->last)};
    struct proof_answer answer;
    uint8_t expected[PROOF_BYTES], own[PROOF_BYTES];

    memcpy(hello.magic, PROOF_MAGIC, sizeof(hello.magic));
    proof_random(hello.nonce, sizeof(hello.nonce));
    if (send(fd, &hello, sizeof(hello), MSG_NOSIGNAL) != (ssize_t)sizeof(hello) ||
        recv(fd, &answer, sizeof(answer), MSG_WAITALL) != (ssize_t)sizeof(answer))
        return FALSE;
    proof_make(orders->key, "above", &hello, answer.nonce, expected);
    if (!proof_equal(expected, answer.proof))
        return FALSE;
    proof_make(orders->key, "below", &hello, answer.nonce, own);
    return send(fd, own, sizeof(own), MSG_NOSIGNAL) == (ssize_t)sizeof(own);
}

int orders_connect(const struct orders *orders)
{
    char **addresses = g_strsplit(orders->above, " ", -1), **address;
    int fd = -1;

    for (address = addresses; *address != NULL && fd < 0; address++) {
        fd = connect_to(*address);
        if (fd >= 0 && !prove(fd, orders)) {
            close(fd);
            fd = -1;
        }
    }
    g_strfreev(addresses);
    return fd;
}
