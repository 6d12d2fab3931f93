/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The ports of a Fast Ethernet and the TCP sockets on them. A socket sends one segment at a time:
 *
 *   written ─▶ send buffer ─▶ wire ──▶ arrived ──receive──▶ readable
 *                              ▲           │ lost: again after a timeout
 *                              └───────────┘
 */
#ifndef JACQUARD_LEGACY_ETHERNET_DEVICES_H
#define JACQUARD_LEGACY_ETHERNET_DEVICES_H

#include <glib.h>

#include "engine/ledger.h"
#include "model.h"

enum ethernet_param {
    ETH_BYTE_US = LEGACY_STEPS, /* of a byte on the wire */
    TCP_SEND_US, /* a write, until its first segment begins */
    TCP_RECEIVE_US, /* from the end of a segment until it can be read */
    TCP_GAP_US, /* from one full segment to the next */
    TCP_READ_US, /* a read of data that had been there */
    TCP_POLL_US, /* a call that finds nothing */
    TCP_RTO_US, /* a lost segment is repeated, at first after so long */
    TCP_KEEPALIVE_US, /* a peer that cannot be reached is noticed after so long */
    ETHERNET_PARAMS
};

enum {
    TCP_MSS = 1448,
    TCP_HEADER = 52, /* IP, TCP, timestamps */
    TCP_TRIES_MAX = 6, /* of a segment */
    TCP_BUFFER = 32768,
    TCP_FIRST_FD = 1 << 16 /* no descriptor of the host */
};

struct tcp_segment;

struct tcp_socket {
    int fd;
    uint64_t process;
    struct ethernet_port *port; /* of its host */
    uint16_t number; /* of TCP */
    bool listens, connected, closed; /* closed: by its process; its data still goes out */
    GQueue backlog; /* of a listener: sockets that wait to be accepted */
    struct tcp_socket *peer; /* NULL: not connected, or it has gone */
    uint32_t peer_endpoint;
    GByteArray *out, *in; /* not sent yet; readable */
    GQueue ends; /* of writes: how many bytes of `out` until each, GUINT_TO_POINTER */
    size_t out_max, in_max;
    size_t coming; /* bytes on their way to `in` */
    struct tcp_segment *segment; /* on the wire; NULL: none */
    struct sim_timer next; /* the next one may go */
    sim_time_t readable_at; /* the last segment that arrived */
    bool finished; /* FIN has been sent */
    bool ended; /* the peer's FIN is there */
    int error; /* errno; it is broken */
    sim_time_t probed_at; /* whether the peer can be reached */
    bool woken; /* its process slept until data came, and has not read since */
    GPtrArray *waiters; /* fibers */
};

struct ethernet_port {
    struct ethernet_devices *devices;
    uint32_t endpoint;
    struct legacy_resource out, in; /* the wire to the switch, and from it */
    uint16_t next_number;
};

struct ethernet_devices {
    struct legacy_network *network;
    struct ethernet_port *ports; /* by endpoint */
    GPtrArray *sockets; /* by fd - TCP_FIRST_FD; NULL: free */
    struct sim_ledger_book book;
    char *book_name;
};

/* The time of a frame with so many bytes of a segment on the wire. */
sim_time_t ethernet_frame(const struct legacy_network *network, size_t bytes);
/* Sends what the socket has, if it may. */
void tcp_kick(struct tcp_socket *socket);
/* Its process does not use it any more: sends FIN behind the data, and frees it in the end. */
void tcp_close(struct tcp_socket *socket);
void tcp_break(struct tcp_socket *socket, int error);
void tcp_wake(struct tcp_socket *socket);
struct tcp_socket *tcp_socket_new(struct ethernet_port *port, uint64_t process);
void tcp_socket_free(struct tcp_socket *socket);

#endif
