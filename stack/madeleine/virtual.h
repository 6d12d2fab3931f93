/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Virtual channels: several channels of different networks as one. Processes that are in two of
 * them are gateways. Each part is a regular channel, for messages between two of its members, and a
 * clone, for packets on their way through gateways.
 *
 * One lock protects all that is below. It is not held while a channel is used, as drivers report
 * broken connections with their own locks.
 */
#ifndef JACQUARD_MADELEINE_VIRTUAL_H
#define JACQUARD_MADELEINE_VIRTUAL_H

#include "internal.h"

/* ---- on the wire: before each packet, and at the beginning of a direct message ---- */
enum {
    MAD_PACKET_FIRST = 1, /* byte 13: a message begins */
    MAD_PACKET_END = 1, /* byte 14: the message ends; the packet has no data */
    MAD_PACKET_ACK = 4, /* byte 14: the length is a number of packets that were read */
    MAD_PACKET_REFUSED = 8, /* byte 14: the receiver's blocks are others; no data */
    MAD_PACKET_DIRECT = 1, /* byte 15: a regular channel's message */
    MAD_PACKET_CLOSING = 2 /* byte 15: the source cannot be reached any more */
};
struct mad_packet_header {
    uint32_t length, source, destination; /* little-endian; ranks */
    uint8_t group, begin, end, kind;
};
_Static_assert(sizeof(struct mad_packet_header) == 16, "as on the wire");

struct mad_packet {
    struct mad_packet *next;
    struct mad_packet_header header;
    size_t read; /* bytes that the user has */
    char bytes[];
};
struct mad_packet_queue {
    struct mad_packet *first, *last;
};

/* A rank of the virtual channel. */
struct mad_virtual_peer {
    struct mad_virtual *owner;
    p_mad_connection_t in, out;
    int part, hop; /* the way there: by which part to which rank; hop -1: there is none */
    bool lost; /* no packet gets there */
    /* receiving */
    struct mad_packet_queue inbox;
    uint32_t waiting, consumed; /* packets in it; read ones whose sender does not know it */
    /* sending */
    uint32_t credits; /* packets */
    bool armed; /* a message has begun, and nothing of it was sent */
    p_mad_connection_t under_in, under_out; /* the regular channel's, while a message is open */
};

/* Sends a gateway's packets to one rank. */
struct mad_virtual_emitter {
    struct mad_virtual *owner;
    int part, hop;
    struct mad_packet_queue queue;
    struct port_condition changed;
    bool used; /* before any thread starts: it has one */
    struct port_thread *thread;
};

struct mad_virtual_part {
    struct mad_virtual *owner;
    int number;
    p_mad_channel_t regular, clone;
    bool member; /* the own rank is in it */
    struct port_thread *regular_thread, *clone_thread;
    p_mad_connection_t held; /* a message of the regular channel that the user has not ended */
    bool opened; /* the user has begun it */
    struct mad_virtual_emitter *emitters; /* by rank */
};

struct mad_virtual {
    char driver_name[8], adapter_name[8];
    mad_driver_t driver;
    mad_adapter_t adapter; /* of the virtual channel */
    p_mad_madeleine_t madeleine;
    p_mad_channel_t channel;
    struct port_mutex mutex;
    struct port_condition changed; /* packets, credits, messages, broken connections */
    bool running, stopping;
    int size, own, last_served; /* ranks */
    uint32_t mtu, depth; /* bytes of a packet; packets in flight for each pair of ranks */
    int part_count;
    struct mad_virtual_part *parts;
    struct mad_virtual_peer **peers; /* by rank */
};

bool mad_is_virtual(p_mad_channel_t channel);
struct mad_virtual *mad_virtual_of(p_mad_channel_t channel); /* NULL: it is not virtual */
/* Ends its threads, when all processes close it. */
void mad_virtual_stop(struct mad_virtual *own);
/* When its channel has been freed. */
void mad_virtual_free(struct mad_virtual *own);
/* A connection of a part broke: called once, perhaps with a driver's lock. */
void mad_virtual_broken(p_mad_connection_t connection);

/* Blocks and ends of direct messages. */
int mad_virtual_block(p_mad_connection_t connection, const struct mad_block *block, bool outgoing);
int mad_virtual_end(p_mad_connection_t connection, bool outgoing);

/* ---- between the files of virtual channels ---- */

/* The next rank on the shortest path (lowest rank first) and its part; -1: there is no path. */
int mad_virtual_route(const struct mad_virtual *own, int from, int to, int *part);
/* Whether packets between the two pass a rank. */
bool mad_virtual_passes(const struct mad_virtual *own, int from, int to, int rank);
extern const mad_driver_interface_t mad_virtual_interface;
/* Entries of that table. */
int mad_virtual_channel_exit(p_mad_channel_t channel);
int mad_virtual_connection_init(p_mad_connection_t in, p_mad_connection_t out);
int mad_virtual_connection_exit(p_mad_connection_t in, p_mad_connection_t out);
int mad_virtual_after_open(p_mad_channel_t channel);

/* Threads (virtual_thread.c). */
int mad_virtual_start(struct mad_virtual *own);
void mad_virtual_append(struct mad_packet_queue *queue, struct mad_packet *packet);
struct mad_packet *mad_virtual_pop(struct mad_packet_queue *queue);
void mad_virtual_clear(struct mad_packet_queue *queue);
/* Sends a packet over the next hop to its destination; not with the lock. */
int mad_virtual_emit(struct mad_virtual *own, struct mad_packet_header header, const void *bytes);
/* With the lock: the peer is not reachable. */
void mad_virtual_lost(struct mad_virtual_peer *peer, int code);

#endif
