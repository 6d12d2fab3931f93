/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * TCP in virtual time, over sim/net. A connection is two ends. Bytes that an end takes from its
 * owner are copied into chunks (the socket's buffer); a chunk is one transfer of the network, which
 * contends for links with all other traffic. A chunk that the network loses is sent again after a
 * retransmission timeout, so no byte is ever lost, and a dead link shows as silence.
 *
 * Events: a chunk costs one event, its arrival. A second one, the pump, is only needed while more
 * chunks wait than the connection's byte rate lets go, or while the buffer or window is full.
 * Acknowledgements take time but are no transfers of the network.
 */
#ifndef JACQUARD_LNET_STREAM_SIM_H
#define JACQUARD_LNET_STREAM_SIM_H

#include "net/net.h"
#include "stream.h"

/* The model of hosts and their TCP. Set before the first stream; see docs/lnet.md. */
struct lnet_tcp_model {
    double rate_Bpus; /* of one connection, bytes per microsecond: one core copies */
    sim_time_t software; /* of a message, both hosts together, without the network */
    uint32_t send_buffer, receive_buffer; /* bytes */
    uint32_t chunk; /* bytes, at most LNET_TCP_CHUNK_MAX */
    uint32_t segment; /* payload of a full packet */
    uint32_t overhead; /* headers, preamble and gap of each packet */
    sim_time_t rto_min, rto_max; /* retransmission timeout */
    sim_time_t syn_timeout; /* of the first attempt; doubles */
    uint32_t syn_retries, retries;
    uint32_t orphan_retries; /* of a connection whose owner has closed it */
    sim_time_t no_route; /* until an address that no machine has is reported */
};
enum { ARP_REQUESTS = 3 }; /* in that time, evenly, until a machine answers */
extern struct lnet_tcp_model lnet_tcp_model;
#define LNET_TCP_CHUNK_MAX 65536u
void lnet_tcp_model_default(struct lnet_tcp_model *model);

struct lnet_tcp_counters {
    uint64_t connections, chunks, bytes, lost, retransmitted, resets;
};
extern struct lnet_tcp_counters lnet_tcp_counters;

/* The machine at that endpoint crashes, or comes back: while it is down it answers nothing, and
 * afterwards it knows none of its connections. The owner of the streams is not called. */
void lnet_stream_sim_set_alive(struct net *net, uint32_t endpoint, bool alive);
/* After the last event of a simulation: frees all machines, connections and pools. */
void lnet_stream_sim_reset(void);

/* ---- between stream_sim.c and stream_sim_flow.c ------------------------------------------------
 */

struct lnet_tcp_connection;
struct lnet_tcp_chunk;

enum lnet_tcp_state {
    END_UNUSED, /* the passive end before the SYN has arrived */
    END_SYN_SENT,
    END_SYN_RECEIVED,
    END_ESTABLISHED,
    END_CLOSED, /* by its owner; what is in the socket still goes out */
    END_DEAD, /* reset, failed or crashed: nothing more is sent or accepted */
};

struct lnet_tcp_chunks {
    struct lnet_tcp_chunk *first, *last;
};

struct lnet_tcp_ack {
    sim_time_t at; /* 0: none */
    uint64_t acked, window_end;
};

/* Sorted by use: what an arriving chunk reads at its target, what sending uses, the rest. */
struct lnet_stream {
    struct lnet_tcp_connection *connection;
    struct lnet_stream_host *host;
    const struct lnet_stream_handler *handler;
    void *owner;
    enum lnet_tcp_state state;
    uint32_t endpoint, peer_endpoint; /* of this end, of the other one */
    bool fin_taken, fin_arrived, delivering, reading, has_target;
    bool connecting; /* `failure` is that of a connection attempt */
    uint8_t arp_requests; /* for the machine to connect to */
    int failure; /* to be reported by `wake` */
    uint32_t first_read; /* bytes of the first received chunk that are read */
    uint32_t receive_buffer, send_buffer; /* bytes */
    /* receiving */
    void (*done)(void *owner);
    uint32_t target_offset, read_length, read_done;
    uint64_t arrived, consumed; /* positions in the stream of bytes */
    struct lnet_tcp_chunks received, early; /* in order and not read; behind a gap */
    const void *hints[LNET_STREAM_HINTS];
    struct lnet_fragments target;
    struct kvec buffer; /* target of lnet_stream_read_buffer */
    /* sending */
    struct lnet_stream_write *writes, *writes_last;
    uint64_t unwritten; /* bytes of the writes that are not in the socket */
    uint64_t taken, sent, acked, window_end; /* positions */
    uint32_t write_taken; /* bytes of the first write that are in the socket */
    uint32_t outstanding; /* chunks in flight */
    struct lnet_tcp_ack coming[2]; /* on their way here: the oldest and the newest */
    struct lnet_tcp_chunks unsent;
    sim_time_t busy_until; /* the sending core */
    struct sim_timer pump;
    struct sim_timer wake; /* delivers what was there already when a read began, or an error */
    struct lnet_stream_address local, remote;
};

struct lnet_tcp_connection {
    struct lnet_stream end[2]; /* 0: the one that connected */
    struct net *net;
    sim_time_t round_trip; /* on an idle network */
    uint32_t references; /* ends that are not closed, chunks, armed timers */
    uint64_t flow; /* its number in records of faults */
    struct lnet_listener *listener; /* of end 1 until it is accepted */
    struct lnet_tcp_connection *next, *previous; /* in the list of all, or of free ones */
};

enum lnet_tcp_chunk_kind { CHUNK_DATA, CHUNK_SYN, CHUNK_SYN_ACK, CHUNK_RESET };

struct lnet_tcp_chunk {
    struct net_transfer transfer; /* first: its event is prefetched */
    struct sim_timer retry;
    struct lnet_tcp_chunk *next, *all; /* in a list; of all chunks there are */
    struct lnet_stream *from, *to; /* the end that sends it, and the other one */
    uint64_t position;
    uint32_t bytes, tries;
    uint8_t kind, size_class;
    bool fin;
    uint8_t data[];
};

static inline struct lnet_stream *lnet_stream_other(struct lnet_stream *stream)
{
    struct lnet_tcp_connection *connection = stream->connection;

    return stream == &connection->end[0] ? &connection->end[1] : &connection->end[0];
}

void lnet_stream_sim_release(struct lnet_tcp_connection *connection);
/* A handshake segment or a reset. */
void lnet_stream_sim_send_control(struct lnet_stream *from, enum lnet_tcp_chunk_kind kind);
/* The connection is over for this end: reports it to the owner in an event of its own. */
void lnet_stream_sim_fail(struct lnet_stream *stream, int status);
/* Drops everything that the end holds. */
void lnet_stream_sim_drop(struct lnet_stream *stream);
void lnet_stream_sim_pump(struct lnet_stream *stream);
void lnet_stream_sim_close_sending(struct lnet_stream *stream);
/* Delivers what was there before, or reports the failure, in an event of its own. */
void lnet_stream_sim_wake(struct lnet_stream *stream);
void lnet_stream_sim_wake_fired(struct sim_event *event);
/* Nobody had the address, and it is time to ask again. False: that was the last request. */
bool lnet_stream_sim_resolve_again(struct lnet_stream *end);
/* Callbacks run with the lock of the owner's node. */
void lnet_stream_sim_lock(const struct lnet_stream *stream);
void lnet_stream_sim_unlock(const struct lnet_stream *stream);
struct lnet_tcp_chunk *lnet_stream_sim_chunk_new(struct lnet_stream *from, uint32_t bytes);
void lnet_stream_sim_chunk_free(struct lnet_tcp_chunk *chunk);
void lnet_stream_sim_append(struct lnet_tcp_chunks *list, struct lnet_tcp_chunk *chunk);
struct lnet_tcp_chunk *lnet_stream_sim_take_first(struct lnet_tcp_chunks *list);
void lnet_stream_sim_transmit(struct lnet_tcp_chunk *chunk, sim_time_t feed);
void lnet_stream_sim_arrived(struct sim_event *event); /* of a chunk */
void lnet_stream_sim_lost(struct lnet_tcp_chunk *chunk);
/* Acknowledgements that have arrived by now. */
void lnet_stream_sim_settle(struct lnet_stream *stream);
/* The pump has to run again when the core, the window or the buffer is free. */
void lnet_stream_sim_arm_pump(struct lnet_stream *stream);
void lnet_stream_sim_describe(const struct net_transfer *transfer, struct sim_fault_hit *hit);
void lnet_stream_sim_flow_init(struct lnet_stream *stream);
void lnet_stream_sim_flow_reset(void);
struct lnet_node *lnet_stream_sim_node(const struct lnet_stream_host *host);
bool lnet_stream_sim_host_alive(const struct lnet_stream_host *host);
/* A SYN arrives. False: refused. */
bool lnet_stream_sim_accept(struct lnet_tcp_connection *connection);
/* The handshake of the passive end is complete. */
void lnet_stream_sim_accepted(struct lnet_stream *stream);

#endif
