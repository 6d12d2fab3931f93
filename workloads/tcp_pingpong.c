/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Two ranks send messages to and fro over TCP on a simulated Ethernet, without a library above it:
 * the raw times of the network.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include <mad_sock.h>
#include "run/workload.h"
#include "support/pattern.h"

static const struct workload_arg args[] = {
    {"bytes", ARG_BYTES, "4", "1", "64MiB", NULL, "length of a message"},
    {"iterations", ARG_COUNT, "10", "1", "1000000", NULL, "round trips"},
    {NULL},
};

static bool wait_for(int fd, short events)
{
    struct pollfd descriptor = {.fd = fd, .events = events};

    return mad_sock_poll(&descriptor, 1, -1) > 0;
}

/* Rank 1 listens, rank 0 connects. The socket, or -1. */
static int join(struct rank *rank)
{
    struct sockaddr_in own = {.sin_family = AF_INET}, all[2];
    socklen_t length = sizeof(own);
    int fd = mad_sock_socket(AF_INET, SOCK_STREAM, 0), accepted = -1;
    bool ok = fd >= 0;

    if (rank_id(rank) == 1)
        ok = ok && mad_sock_bind(fd, (struct sockaddr *)&own, sizeof(own)) == 0 &&
             mad_sock_listen(fd, 1) == 0 &&
             mad_sock_getsockname(fd, (struct sockaddr *)&own, &length) == 0;
    rank_allgather(rank, &own, all, sizeof(own));
    if (ok && rank_id(rank) == 0)
        return mad_sock_connect(fd, (struct sockaddr *)&all[1], sizeof(all[1])) == 0 ? fd : -1;
    if (ok && wait_for(fd, POLLIN))
        accepted = mad_sock_accept4(fd, NULL, NULL, 0);
    if (fd >= 0)
        mad_sock_close(fd);
    return accepted;
}

static bool send_all(int fd, const char *bytes, size_t length)
{
    while (length != 0) {
        ssize_t sent = mad_sock_send(fd, bytes, length, 0);

        if (sent < 0 && (errno != EAGAIN || !wait_for(fd, POLLOUT)))
            return false;
        bytes += sent > 0 ? sent : 0;
        length -= sent > 0 ? (size_t)sent : 0;
    }
    return true;
}

static bool receive_all(int fd, char *bytes, size_t length)
{
    while (length != 0) {
        ssize_t got;

        if (!wait_for(fd, POLLIN))
            return false;
        got = mad_sock_recv(fd, bytes, length, 0);
        if (got == 0 || (got < 0 && errno != EAGAIN))
            return false;
        bytes += got > 0 ? got : 0;
        length -= got > 0 ? (size_t)got : 0;
    }
    return true;
}

static bool exchange(struct rank *rank, int fd, char *block, size_t bytes, uint64_t i)
{
    bool leads = rank_id(rank) == 0;

    wl_pattern_fill((unsigned char *)block, bytes, i);
    if (leads && !send_all(fd, block, bytes))
        return false;
    memset(block, 0, bytes);
    if (!receive_all(fd, block, bytes) || wl_pattern_differs((unsigned char *)block, bytes, i))
        return false;
    return leads || send_all(fd, block, bytes);
}

static int run(struct rank *rank)
{
    size_t bytes = rank_arg_count(rank, "bytes");
    uint64_t iterations = rank_arg_count(rank, "iterations"), began, i;
    char *block = malloc(bytes);
    bool ok = true;
    int fd;

    if (rank_id(rank) > 1) {
        free(block);
        return 0;
    }
    fd = join(rank);
    if (fd < 0 || block == NULL)
        return rank_fail(rank, "no connection");
    for (i = 0; i < iterations && ok; i++) {
        began = rank_now();
        ok = exchange(rank, fd, block, bytes, i);
        if (rank_id(rank) != 0 || !ok)
            continue;
        rank_record_latency(rank, "latency", (rank_now() - began) / 2);
        rank_record_bandwidth(rank, "bandwidth", 2 * bytes, rank_now() - began);
        rank_progress(rank);
    }
    mad_sock_close(fd);
    free(block);
    return ok ? 0 : rank_fail(rank, "message %llu is wrong or lost", (unsigned long long)i);
}

static const struct workload tcp_pingpong = {
    .name = "tcp_pingpong",
    .meaning = "two ranks send messages to and fro over TCP on a simulated Ethernet",
    .metrics = "latency (ps, half of the round trip), bandwidth (B/s)",
    .args = args,
    .ranks_min = 2,
    .main = run,
};
WORKLOAD(tcp_pingpong)
