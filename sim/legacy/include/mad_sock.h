/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Sockets of simulated processes on a Fast Ethernet: TCP streams, as far as Madeleine's driver
 * needs them. The calls are those of the operating system, with their arguments, results and errno;
 * all sockets are non-blocking and have TCP_NODELAY. An address is that of the host's Ethernet
 * device, and every socket is bound to it.
 *
 * A write of less than the caller asked for, because the buffer was full, and the next one are one
 * write for the model; otherwise each write begins a segment.
 */
#ifndef MAD_SOCK_H
#define MAD_SOCK_H

#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

#pragma GCC visibility push(default)

/* The address that other hosts reach this one by: "10.0.0.1"; NULL: the host has no Ethernet. */
const char *mad_sock_own_address(char *text, size_t size);

int mad_sock_socket(int domain, int type, int protocol);
int mad_sock_bind(int fd, const struct sockaddr *address, socklen_t length);
int mad_sock_listen(int fd, int backlog);
int mad_sock_getsockname(int fd, struct sockaddr *address, socklen_t *length);
/* Returns when the connection has been made or refused. */
int mad_sock_connect(int fd, const struct sockaddr *address, socklen_t length);
int mad_sock_accept4(int fd, struct sockaddr *address, socklen_t *length, int flags);
int mad_sock_setsockopt(int fd, int level, int option, const void *value, socklen_t length);
int mad_sock_getsockopt(int fd, int level, int option, void *value, socklen_t *length);
ssize_t mad_sock_send(int fd, const void *bytes, size_t length, int flags);
ssize_t mad_sock_sendmsg(int fd, const struct msghdr *message, int flags);
ssize_t mad_sock_recv(int fd, void *bytes, size_t length, int flags);
ssize_t mad_sock_recvmsg(int fd, struct msghdr *message, int flags);
/* `timeout_ns` negative: no limit. */
int mad_sock_poll(struct pollfd *descriptors, nfds_t count, int64_t timeout_ns);
int mad_sock_close(int fd);
/* Ends the stream in both directions at once; the descriptor stays to be closed. */
int mad_sock_reset(int fd);

#pragma GCC visibility pop

#endif
