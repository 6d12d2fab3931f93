/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The TCP driver: one socket for each pair of processes and channel. */
#ifndef JACQUARD_MADELEINE_TCP_H
#define JACQUARD_MADELEINE_TCP_H

#include <stdbool.h>
#include <sys/types.h>

#include "madeleine/driver.h"
#include "madeleine/error.h"

/* ---- on the wire, little-endian: messages have no header ---- */
enum {
    TCP_HELLO_MAGIC = 0x3248444D,
    TCP_HELLO_VERSION = 1,
    /* u32 magic, u32 version, u32 sender's rank, u32 receiver's rank, u64 channel, u64 job */
    TCP_HELLO_BYTES = 32,
    TCP_PENDING_MAX = 64, /* connections whose hello has not arrived; the oldest one goes */
    TCP_PIECES_MAX = 64, /* buffers of one system call */
    TCP_AHEAD_BYTES = 2048
};

struct tcp_pending {
    int fd;
    unsigned got;
    unsigned char hello[TCP_HELLO_BYTES];
};

struct tcp_adapter {
    int listener;
    bool has_address; /* the parameter is ADDRESS:PORT, not only PORT */
    struct tcp_pending pending[TCP_PENDING_MAX];
    unsigned pending_count;
    unsigned refused; /* connections with a wrong hello */
};

struct tcp_channel {
    int last_served; /* rank */
    struct pollfd *descriptors; /* room for all peers; used by the receiver */
    int *ranks;
};

/* Shared by both directions. */
struct tcp_peer {
    int fd; /* -1: not connected */
    /* Bytes that were received to notice a message, where this is the only peer. */
    unsigned ahead_from, ahead_to;
    char ahead[TCP_AHEAD_BYTES];
};

static inline struct tcp_adapter *mad_tcp_adapter(p_mad_adapter_t adapter)
{
    return adapter->specific;
}

static inline struct tcp_peer *mad_tcp_peer(p_mad_connection_t connection)
{
    return connection->specific;
}

/* ---- sockets (tcp_socket.c): all are non-blocking; -1 with errno on failure ---- */
int mad_tcp_listen(const char *address, unsigned *port);
int mad_tcp_dial(const char *host, unsigned port);
int mad_tcp_accept(int listener);
void mad_tcp_put(unsigned char *to, uint64_t value, unsigned bytes);
uint64_t mad_tcp_get(const unsigned char *from, unsigned bytes);
/* Complete transfers, waiting as needed. MAD_OK, MAD_EPEER, MAD_EDRIVER; *code: errno. */
int mad_tcp_send_all(int fd, const void *bytes, size_t length, int *code);
int mad_tcp_receive_all(int fd, void *bytes, size_t length, int *code);
/* Waits until the socket is ready for `events`. */
int mad_tcp_wait(int fd, short events);

/* ---- opening and closing (tcp_connect.c) ---- */
int mad_tcp_accept_peer(p_mad_channel_t channel);
int mad_tcp_connect_peer(p_mad_connection_t out);
int mad_tcp_handshake(p_mad_channel_t channel);
int mad_tcp_closing_handshake(p_mad_channel_t channel);
int mad_tcp_disconnect(p_mad_connection_t connection);

/* ---- messages (tcp_message.c) ---- */
/* Both directions of the socket have failed. Returns `code`. */
int mad_tcp_lost(p_mad_connection_t connection, int code, int driver_code);
/* The peer's bytes are not what this process expects; nothing but the stream's end can say so. */
void mad_tcp_give_up(p_mad_connection_t in);
p_mad_connection_t mad_tcp_receive_message(p_mad_channel_t channel);
p_mad_connection_t mad_tcp_poll_message(p_mad_channel_t channel);
int mad_tcp_send_buffer(p_mad_link_t link, p_mad_buffer_t buffer);
int mad_tcp_receive_buffer(p_mad_link_t link, p_mad_buffer_t *buffer);
int mad_tcp_send_group(p_mad_link_t link, p_mad_buffer_group_t group);
int mad_tcp_receive_group(p_mad_link_t link, tbx_bool_t first, p_mad_buffer_group_t group);

#endif
