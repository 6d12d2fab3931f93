/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The sockets of the TCP driver: those of the operating system, or of a simulated host. */
#ifndef JACQUARD_MADELEINE_SOCK_H
#define JACQUARD_MADELEINE_SOCK_H

#ifdef MAD_SIMULATED
#include <mad_sock.h>
#else
#include <poll.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

#define mad_sock_socket socket
#define mad_sock_bind bind
#define mad_sock_listen listen
#define mad_sock_getsockname getsockname
#define mad_sock_connect connect
#define mad_sock_accept4 accept4
#define mad_sock_setsockopt setsockopt
#define mad_sock_getsockopt getsockopt
#define mad_sock_send send
#define mad_sock_sendmsg sendmsg
#define mad_sock_recv recv
#define mad_sock_recvmsg recvmsg
#define mad_sock_close close
/* Negative: no limit. */
static inline int mad_sock_poll(struct pollfd *descriptors, nfds_t count, int64_t timeout_ns)
{
    struct timespec limit = {timeout_ns / 1000000000, timeout_ns % 1000000000};

    return timeout_ns == 0 ? poll(descriptors, count, 0)
                           : ppoll(descriptors, count, timeout_ns < 0 ? NULL : &limit, NULL);
}
/* Ends the stream in both directions at once; the descriptor stays, as threads may wait for it. */
static inline int mad_sock_reset(int fd)
{
    return connect(fd, &(struct sockaddr){.sa_family = AF_UNSPEC}, sizeof(struct sockaddr));
}
/* NULL: the names of hosts lead to them. */
static inline const char *mad_sock_own_address(char *text, size_t size)
{
    (void)text, (void)size;
    return NULL;
}
#endif

#endif
