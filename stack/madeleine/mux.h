/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Multiplexed channels: several channels (sub-channels) over one connection for each pair of ranks,
 * and long blocks over several networks at a time (rails).
 *
 * Blocks of up to MAD_MUX_FRAME bytes travel in frames, which collect in a packet for each rank;
 * a packet is one message on the first rail. Longer blocks are announced by a frame (RTS). When the
 * receiver unpacks them, it says so (RTR), and the data goes into the user's memory in a message on
 * each rail. Each rail has a thread that receives, so a message that nobody reads holds up none of
 * the other sub-channels; a sender has room for a number of bytes at the receiver of each of them.
 *
 * One lock protects all that is below. It is not held while a rail is used, as drivers report
 * broken connections with their own locks.
 */
#ifndef JACQUARD_MADELEINE_MUX_H
#define JACQUARD_MADELEINE_MUX_H

#include "internal.h"

enum { MAD_MUX_RAILS_MAX = 8, MAD_MUX_SUBS_MAX = 256, MAD_MUX_FRAME = 4096 };

/* ---- on the wire, little-endian ---- */

/* The first block of each message on a rail. */
enum { MAD_MUX_FRAMES = 1, MAD_MUX_DATA = 2, MAD_MUX_CLOSING = 3 };
struct mad_mux_packet {
    uint8_t kind, sub, reserved[6];
    uint64_t bytes; /* that follow */
    uint64_t offset; /* DATA: of these bytes in the group of blocks */
};
_Static_assert(sizeof(struct mad_mux_packet) == 24, "as on the wire");

/* Before each frame. */
enum {
    MAD_MUX_NEW = 4, /* a message begins */
    MAD_MUX_ACK = 8, /* the length is a number of bytes that were read; nothing follows */
    MAD_MUX_RTS = 16, /* a long group of blocks waits; its bytes (8) follow */
    MAD_MUX_RTR = 32, /* the receiver has the memory for it */
    MAD_MUX_REFUSED = 64 /* the receiver's blocks are other ones: it takes no more */
};
struct mad_mux_header {
    uint32_t length, source, destination; /* ranks */
    uint8_t mux, sub, flags, reserved;
};
_Static_assert(sizeof(struct mad_mux_header) == 16, "as on the wire");

struct mad_mux_frame {
    struct mad_mux_frame *next;
    struct mad_mux_header header;
    char bytes[MAD_MUX_FRAME];
};

/* A rank of a sub-channel. */
struct mad_mux_peer {
    struct mad_mux_sub *sub;
    p_mad_connection_t in, out;
    /* receiving */
    struct mad_mux_frame *first, *last; /* frames that nobody has read */
    bool lost; /* the rank has gone: `in` breaks when its frames have been read */
    size_t waiting, consumed; /* bytes in them; read ones that the sender does not know of */
    p_mad_buffer_t posted; /* the user's memory for a long group, or NULL */
    size_t expected, arrived;
    unsigned depositing; /* threads that are writing into it */
    /* sending */
    size_t credit; /* bytes */
    bool armed; /* a message has begun, and nothing of it was sent */
    bool answered; /* the receiver has memory for the long group */
};

struct mad_mux_sub {
    struct mad_mux *owner;
    int number, last_served;
    mad_adapter_t adapter; /* of its channel */
    p_mad_channel_t channel;
    struct mad_mux_peer **peers; /* by rank */
};

/* The packet for a rank. */
struct mad_mux_lane {
    char *bytes, *leaving; /* the one that collects frames, and the one that is being sent */
    size_t used;
    bool sending;
};

/* A part of a long group for one rail. */
struct mad_mux_piece {
    struct mad_mux_piece *next;
    const struct mad_mux_peer *peer;
    const mad_buffer_t *blocks;
    size_t offset, length;
    uint64_t took_ns;
    int error;
    bool done;
};

struct mad_mux_rail {
    struct mad_mux *owner;
    int number;
    p_mad_channel_t channel;
    uint64_t rate; /* bytes per ms that were measured; 0: none was */
    char *packet; /* that is being received */
    struct port_thread *receiver, *sender;
    struct port_condition work; /* pieces for the sender */
    struct mad_mux_piece *first, *last;
};

struct mad_mux {
    mad_driver_t driver;
    p_mad_madeleine_t madeleine;
    struct port_mutex mutex;
    struct port_condition changed;
    bool running, stopping, aggregate;
    int size, own; /* ranks */
    size_t packet_bytes, window, split_min;
    int rail_count, sub_count;
    struct mad_mux_rail rails[MAD_MUX_RAILS_MAX];
    struct mad_mux_sub *subs;
    struct mad_mux_lane *lanes; /* by rank */
    struct mad_mux_frame *unused;
};

/* Of a sub-channel; NULL: it is none. */
struct mad_mux_sub *mad_mux_sub_of(p_mad_channel_t channel);
/* Whether it is the multiplexed channel itself, its first sub-channel. */
bool mad_mux_is_main(p_mad_channel_t channel);
/* Before the fence of closing: what waits in packets leaves. */
void mad_mux_flush_all(struct mad_mux *own);
/* Ends its threads, when all processes close it. */
void mad_mux_stop(struct mad_mux *own);
/* When its channels have been freed. */
void mad_mux_free(struct mad_mux *own);
/* A connection of a rail broke: called once, perhaps with a driver's lock. */
void mad_mux_broken(p_mad_connection_t connection);

/* ---- between the files of multiplexed channels ---- */

extern const mad_driver_interface_t mad_mux_interface;
/* Entries of that table. */
int mad_mux_channel_exit(p_mad_channel_t channel);
int mad_mux_connection_init(p_mad_connection_t in, p_mad_connection_t out);
int mad_mux_connection_exit(p_mad_connection_t in, p_mad_connection_t out);
int mad_mux_after_open(p_mad_channel_t channel);

/* Packets (mux_packet.c). All with the lock, which those that send release meanwhile. */
struct mad_mux_frame *mad_mux_frame(struct mad_mux *own); /* NULL: no memory */
void mad_mux_frame_free(struct mad_mux *own, struct mad_mux_frame *frame);
/* Appends a frame to the packet, when the receiver has room for it. */
int mad_mux_append(struct mad_mux_peer *peer, uint8_t flags, const void *bytes, size_t length);
/* A frame of this library's own, which needs no room; it leaves at once. */
void mad_mux_control(struct mad_mux_peer *peer, uint8_t flags, size_t length);
void mad_mux_flush(struct mad_mux *own, int rank);
void mad_mux_flush_ranks(struct mad_mux *own);
/* The bytes of a packet, as blocks of a message on the first rail; without the lock. */
void mad_mux_move_packet(p_mad_connection_t connection, char *bytes, size_t length, bool outgoing);
/* Packets leave, then it waits for a change. */
void mad_mux_wait(struct mad_mux *own);

/* Threads, and long groups (mux_rail.c). */
int mad_mux_start(struct mad_mux *own);
int mad_mux_send_long(struct mad_mux_peer *peer, p_mad_buffer_t first, size_t bytes);

#endif
