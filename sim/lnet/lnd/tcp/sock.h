/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * socklnd, LNet's driver for TCP. A peer has up to three connections, by type: CONTROL for small
 * messages, BULK_OUT and BULK_IN for others. The node that sends first makes all three. Names and
 * rules are those of Lustre 2.12; docs/lnet.md has the states.
 *
 *   ni.c        NIs, parameters, the acceptor
 *   peer.c      peers, the route to each, connecting and backing off
 *   conn.c      connections: life, request and HELLO
 *   hello.c     what a HELLO decides: refusal, race, version, incarnation
 *   send.c      transmits and the choice of a connection
 *   receive.c   framing, incoming messages, zero-copy acknowledgements
 *   control.c   LNetCtl's commands about peers and connections
 *   timeouts.c  stalled connections, stale messages, keepalive
 *
 * Everything runs with the node's lock held.
 */
#ifndef JACQUARD_LNET_SOCK_H
#define JACQUARD_LNET_SOCK_H

#include "core/internal.h"
#include "stream.h"
#include "wire.h"

/* X(name, default, minimum, maximum, meaning): parameters of module ksocklnd. */
#define LNET_SOCK_PARAMS(X)                                                                    \
    X(sock_timeout, 50, 1, 1 << 20, "no effect in 2.12: lnet_lnd_timeout counts")              \
    X(nconnds, 4, 1, 1 << 10, "no effect: connecting needs no threads")                        \
    X(nconnds_max, 64, 1, 1 << 10, "no effect")                                                \
    X(nscheds, 0, 0, 1 << 10, "no effect")                                                     \
    X(min_reconnectms, 1000, 1, 1 << 24, "milliseconds until a failed connect is tried again") \
    X(max_reconnectms, 60000, 1, 1 << 24, "upper bound of the doubled interval")               \
    X(typed_conns, 1, 0, 1, "three connections by type; 0: one for all")                       \
    X(min_bulk, 1024, 0, 1 << 30, "bytes from which a message prefers a bulk connection")      \
    X(tx_buffer_size, 0, 0, 1 << 30, "socket buffer; 0: the system's")                         \
    X(rx_buffer_size, 0, 0, 1 << 30, "socket buffer; 0: the system's")                         \
    X(nagle, 0, 0, 1, "let TCP gather small messages")                                         \
    X(round_robin, 1, 0, 1, "among equal connections the least recently used")                 \
    X(keepalive, 30, 0, 1 << 20, "seconds of silence before a NOOP; 0: none")                  \
    X(keepalive_idle, 30, 0, 1 << 15, "seconds before TCP asks")                               \
    X(keepalive_count, 5, 0, 1 << 15, "questions before TCP gives up")                         \
    X(keepalive_intvl, 5, 0, 1 << 15, "seconds between them")                                  \
    X(enable_csum, 0, 0, 1, "checksum of sent messages (protocol 2)")                          \
    X(inject_csum_error, 0, 0, 1 << 30, "every N-th checksum is wrong; 0: none")               \
    X(nonblk_zcack, 1, 0, 1, "zero-copy acknowledgements on the bulk-in connection")           \
    X(zero_copy, 0, 0, 1, "a large message is sent when the peer has taken it")                \
    X(zc_min_payload, 16384, 4096, 1 << 30, "bytes from which a message is large")             \
    X(zc_recv, 0, 0, 1, "no effect")                                                           \
    X(zc_recv_min_nfrags, 16, 0, 1 << 10, "no effect")                                         \
    X(protocol, 3, 1, 3, "version that is offered first")

enum lnet_sock_param {
#define X(name, value, minimum, maximum, meaning) LNET_SOCK_PARAM_##name,
    LNET_SOCK_PARAMS(X)
#undef X
        LNET_SOCK_PARAM_COUNT
};
#define lnet_sock_value(sock, name) ((sock)->ni->driver_values[LNET_SOCK_PARAM_##name])

/* Of module lnet: the acceptor. */
enum lnet_sock_accept { LNET_SOCK_ACCEPT_SECURE, LNET_SOCK_ACCEPT_ALL, LNET_SOCK_ACCEPT_NONE };
struct lnet_sock_acceptor_params {
    int port, backlog, timeout_s;
    enum lnet_sock_accept accept;
};

/* Whether the HELLO of a connection from a port of users names the peer. False, as in the kernel:
 * such a peer is a process in user space (LNET_PID_USERFLAG). Live processes of users are nodes. */
extern bool lnet_sock_users_are_nodes;

struct lnet_sock_acceptor; /* of an address; NIs of several networks may share it */

/* The driver's part of an NI. */
struct lnet_sock {
    struct lnet_ni *ni;
    struct lnet_stream_host *host;
    struct lnet_sock_acceptor *acceptor;
    struct lnet_sock_acceptor_params accept;
    struct list_head on_acceptor;
    uint64_t incarnation; /* time stamp in microseconds */
    struct list_head peers;
    struct lnet_sock_peer **buckets; /* of peers, by id */
    uint32_t bucket_count, peer_count;
    struct list_head conns; /* all, also those that have no peer yet */
    struct list_head done; /* transmits to be finalized */
    bool completing; /* they are being finalized */
    bool down;
    struct sim_timer reaper;
    sim_time_t reaper_at;
    uint32_t checksums_sent; /* for inject_csum_error */
};

/* A message or a NOOP to be sent. */
struct lnet_sock_tx {
    struct list_head on_list; /* a peer's or connection's queue, or sock->done */
    struct lnet_stream_write write;
    struct lnet_msg *msg; /* NULL: NOOP */
    struct lnet_sock_conn *conn;
    uint32_t bytes; /* header, LNet header, payload */
    enum lnet_msg_hstatus hstatus;
    int status;
    sim_time_t deadline; /* while it waits for a connection, or for its zero-copy acknowledgement */
    uint64_t cookies[2];
    bool unanswered; /* on the peer's zc_requests: written, not acknowledged */
    uint8_t head[LNET_SOCK_HEADER_BYTES + LNET_WIRE_HEADER_BYTES];
};

struct lnet_sock_peer {
    struct lnet_process_id id;
    struct lnet_sock_peer *next_in_bucket;
    struct lnet_peer_ni *lnet; /* of LNet; NULL: not met yet. Its `driver` may point back here */
    /* The only connection that fits small and large messages best; NULL: none, or several. */
    struct lnet_sock_conn *best[2];
    struct list_head conns;

    struct lnet_sock *sock;
    uint32_t references; /* calls and connections that still use it */
    /* The route: the peer's address. None: the peer connected, and nothing was sent to it first. */
    uint32_t connected; /* set of types that the route has */
    bool routed;
    struct lnet_stream_address route; /* that ADD_PEER named; port 0: the NID's, the acceptor's */
    uint32_t shares; /* times that ADD_PEER named it */
    bool connecting; /* an attempt runs, or waits for retry_at */
    bool checking; /* held by the reaper */
    uint32_t version; /* of the protocol; 0: not agreed */
    sim_time_t last_alive;
    sim_time_t retry_at, retry_interval;

    struct list_head on_ni;
    struct list_head tx_queue; /* wait for a connection */
    struct list_head zc_requests; /* wait for the peer's acknowledgement */
    uint64_t zc_next_cookie;
    uint64_t incarnation;
    int error; /* why the last connection ended */
    sim_time_t next_keepalive;
    struct lnet_sock_conn *attempt;
    struct sim_timer retry;
};

enum lnet_sock_state {
    LNET_SOCK_CONNECTING, /* active: TCP */
    LNET_SOCK_REQUEST, /* passive: reads the acceptor request */
    LNET_SOCK_HELLO_FIRST, /* reads the HELLO */
    LNET_SOCK_HELLO_FIXED,
    LNET_SOCK_HELLO_IPS,
    LNET_SOCK_OPEN,
    LNET_SOCK_REFUSED, /* passive: writes the answer, then closes */
    LNET_SOCK_CLOSED,
};

struct lnet_sock_conn {
    /* What lnet_sock_choose() and sending use. */
    struct list_head on_peer;
    struct lnet_stream *stream;
    sim_time_t last_post;
    int type; /* as this end sees it */
    uint32_t version;
    enum lnet_sock_state state;
    uint32_t references;
    struct lnet_sock *sock; /* NULL: the acceptor does not know the NI yet */
    struct lnet_sock_peer *peer; /* passive: NULL until the HELLO */

    struct list_head tx_queue; /* written to the stream, not yet in the socket */
    sim_time_t tx_deadline;
    uint64_t tx_acknowledged;
    uint64_t messages_sent, messages_received;
    /* Receiving. */
    bool swapped;
    bool parsing, receive_done;
    bool in_message; /* its header has been read, and not its last byte */
    bool with_lnet; /* until lnet_sock_receive is called */
    uint32_t in_offset, in_length, in_discard;
    struct lnet_msg *msg; /* whose payload is being received */
    const struct lnet_peer_ni *fetched_peer; /* that the stream knows, to fetch it */
    struct lnet_fragments in_to;
    sim_time_t rx_deadline;
    struct lnet_sock_header in_header;
    uint8_t header[LNET_SOCK_HEADER_BYTES];
    uint8_t lnet_header[LNET_WIRE_HEADER_BYTES];
    struct lnet_hdr in_lnet_header;

    /* The rest. */
    struct list_head on_ni;
    struct lnet_node *node;
    sim_time_t state_since;
    struct lnet_sock_acceptor *acceptor; /* passive: until the HELLO has come */
    int attempt_result; /* of an active one that closes before it is open; 0: the error */
    bool active;
    struct sim_timer deadline; /* of the handshake */
    uint32_t capture_bytes[2]; /* written to a capture: sent, received */
    uint64_t rx_received;
    struct lnet_stream_write answer_write[2];
    struct lnet_sock_hello hello;
    uint8_t wire[LNET_SOCK_REQUEST_BYTES + LNET_SOCK_HELLO_BYTES_MAX]; /* in */
    uint8_t answer[LNET_SOCK_REQUEST_BYTES + LNET_SOCK_HELLO_BYTES_MAX]; /* out */
};
#define LNET_SOCK_CONN_LINES (offsetof(struct lnet_sock_conn, on_ni) / 64 + 1)

/* ---- ni.c ---------------------------------------------------------------------------------------
 */

extern const struct lnet_lnd lnet_lnd_tcp;

sim_time_t lnet_sock_timeout(const struct lnet_sock *sock); /* lnet_lnd_timeout */
/* The NI of an acceptor with that NID, or NULL. */
struct lnet_sock *lnet_sock_of_nid(const struct lnet_sock_acceptor *acceptor, lnet_nid_t nid);
const struct lnet_sock_acceptor_params *
lnet_sock_acceptor_params(const struct lnet_sock_acceptor *acceptor);
struct list_head *lnet_sock_acceptor_conns(struct lnet_sock_acceptor *acceptor);
struct lnet_node *lnet_sock_acceptor_node(const struct lnet_sock_acceptor *acceptor);
/* Connections of the acceptor that have not said HELLO yet. */
uint32_t *lnet_sock_acceptor_nascent(struct lnet_sock_acceptor *acceptor);

/* ---- peer.c -------------------------------------------------------------------------------------
 */

struct lnet_sock_peer *lnet_sock_peer_find(const struct lnet_sock *sock, struct lnet_process_id id);
struct lnet_sock_peer *lnet_sock_peer_get(struct lnet_sock *sock, struct lnet_process_id id);
/* From now on this node connects to it when connections are missing. */
void lnet_sock_peer_route(struct lnet_sock_peer *peer);
/* Takes the route away: its connections close, and what waits for one fails. */
void lnet_sock_peer_unroute(struct lnet_sock_peer *peer);
/* Where it is connected to. */
struct lnet_stream_address lnet_sock_peer_address(const struct lnet_sock_peer *peer);
void lnet_sock_peer_hold(struct lnet_sock_peer *peer);
/* Frees a peer that has no connection, no route and no user. */
void lnet_sock_peer_release(struct lnet_sock_peer *peer);
void lnet_sock_peer_free_all(struct lnet_sock *sock);
/* Types that the route should have and has not, and may be tried now. */
bool lnet_sock_peer_connectable(const struct lnet_sock_peer *peer);
void lnet_sock_peer_connect(struct lnet_sock_peer *peer);
/* The attempt has succeeded (0), was refused and is to be repeated (1), or has failed. */
void lnet_sock_peer_attempt_done(struct lnet_sock_peer *peer, int result);
/* The last connection is gone: LNet hears of it. */
void lnet_sock_peer_failed(struct lnet_sock_peer *peer);

/* ---- conn.c -------------------------------------------------------------------------------------
 */

void lnet_sock_conn_connect(struct lnet_sock_peer *peer, int type);
void lnet_sock_conn_accepted(struct lnet_sock_acceptor *acceptor, struct lnet_stream *stream);
void lnet_sock_conn_hold(struct lnet_sock_conn *conn);
void lnet_sock_conn_release(struct lnet_sock_conn *conn);
/* 0: an orderly end. Messages that wait on it fail. */
void lnet_sock_conn_close(struct lnet_sock_conn *conn, int error);
/* And all others of the peer. */
void lnet_sock_conn_close_all(struct lnet_sock_conn *conn, int error);
void lnet_sock_peer_close(struct lnet_sock_peer *peer, int error);
/* Both HELLOs are exchanged. */
void lnet_sock_conn_open(struct lnet_sock_conn *conn);
/* To the peer that the HELLO came from, in the connection's version. */
void lnet_sock_conn_answer(struct lnet_sock_conn *conn, struct lnet_process_id to, int type);
/* Closes when the answer is in the socket. */
void lnet_sock_conn_close_after_answer(struct lnet_sock_conn *conn);

/* ---- hello.c ------------------------------------------------------------------------------------
 */

/* A complete HELLO is in conn->hello. */
void lnet_sock_hello_received(struct lnet_sock_conn *conn);
/* The first bytes are of a version that this node does not know. */
void lnet_sock_hello_unknown(struct lnet_sock_conn *conn);

/* ---- send.c -------------------------------------------------------------------------------------
 */

int lnet_sock_send(struct lnet_ni *ni, void *in, struct lnet_msg *msg);
struct lnet_sock_tx *lnet_sock_tx_noop(struct lnet_sock *sock, uint64_t cookie0, uint64_t cookie1);
/* 0, or an error and tx->hstatus. */
int lnet_sock_launch(struct lnet_sock *sock, struct lnet_sock_tx *tx, struct lnet_process_id id);
/* The connection for a message of that size, or NULL; `nonblocking`: for an acknowledgement. */
struct lnet_sock_conn *lnet_sock_choose(const struct lnet_sock_peer *peer, uint32_t bytes,
                                        bool noop, bool nonblocking);
/* The peer has one connection more or less. */
void lnet_sock_choose_best(struct lnet_sock_peer *peer);
/* Sends what waited for a connection of this type. */
void lnet_sock_send_waiting(struct lnet_sock_conn *conn);
/* Ends all of the list. */
void lnet_sock_fail(struct lnet_sock *sock, struct list_head *list, int error);
void lnet_sock_tx_done(struct lnet_sock *sock, struct lnet_sock_tx *tx, int status);
uint32_t lnet_sock_overhead(uint32_t version); /* bytes of headers of a message */

/* ---- receive.c ----------------------------------------------------------------------------------
 */

int lnet_sock_receive(struct lnet_ni *ni, void *in, struct lnet_msg *msg, bool delayed,
                      const struct lnet_fragments *to, uint32_t offset, uint32_t mlen,
                      uint32_t rlen);
void lnet_sock_receive_next(struct lnet_sock_conn *conn);
/* The connection is gone in the middle of a message. */
void lnet_sock_receive_abort(struct lnet_sock_conn *conn);

/* ---- control.c ----------------------------------------------------------------------------------
 */

int lnet_sock_control(struct lnet_ni *ni, unsigned command, void *argument);

/* ---- timeouts.c ---------------------------------------------------------------------------------
 */

void lnet_sock_reaper_init(struct lnet_sock *sock);
/* Something has begun that may stall: the reaper has to look soon. */
void lnet_sock_reaper_busy(struct lnet_sock *sock);

#endif
