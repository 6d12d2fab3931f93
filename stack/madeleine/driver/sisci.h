/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The SISCI driver. Each process has a segment for each peer on each channel (or two), which the
 * peer writes:
 *
 *      0  read    the peer has written something: a short packet, or the data below
 *   1088  write   how many of the own packets the peer has consumed
 *   1092  refused not 0: the peer consumes no more of them
 *   1096  broken  not 0: the peer has given up the connection
 *   1152  data
 *
 * A packet is one use of a segment. Packets of a direction have numbers from 1 on and use the
 * segments in turn; a sender is at most as many packets ahead as there are segments. What is in
 * `read` carries the number, so a word that is stored twice after an error is taken once.
 */
#ifndef JACQUARD_MADELEINE_SISCI_H
#define JACQUARD_MADELEINE_SISCI_H

#include <sisci_api.h>
#include <stdbool.h>

#include "internal.h"

enum {
    MSISCI_READ = 0,
    MSISCI_WRITE = 1088,
    MSISCI_REFUSED = 1092,
    MSISCI_BROKEN = 1096,
    MSISCI_DATA = 1152,
    MSISCI_DATA_BYTES = 64384,
    MSISCI_SEGMENT_BYTES = 65536,
    MSISCI_LINE = 64,
    MSISCI_SEGMENTS_MAX = 2,
    MSISCI_STAGINGS = 2, /* one is filled while the other one is sent */
    MSISCI_OPT_MAX = 360, /* default: the longest block of link 0 */
    MSISCI_OPT_LIMIT = 864, /* with its descriptors it fits before `write` */
    MSISCI_DMA_MIN = 192000, /* the shortest block of link 2, where it is used */
    MSISCI_LINKS = 3
};
_Static_assert(MSISCI_DATA + MSISCI_DATA_BYTES == MSISCI_SEGMENT_BYTES,
               "the data ends the segment");
_Static_assert(MSISCI_DATA_BYTES % MSISCI_LINE == 0, "whole lines");

/* The word in `read`: a number, and what begins there. */
enum {
    MSISCI_SHORT = 1, /* the descriptor of a short packet: its mask is in the bits 1 to 7 */
    MSISCI_CHUNK = 2, /* the data area is full */
    MSISCI_NUMBER_SHIFT = 8
};

struct msisci_adapter {
    unsigned number; /* local adapter */
    unsigned node;
    sci_desc_t desc;
    uint32_t segments; /* for each direction */
    size_t opt_max;
    size_t dma_min; /* SIZE_MAX: blocks do not go by DMA */
    uint64_t probe_ns;
    struct port_mutex mutex; /* of the list */
    struct msisci_channel *channels; /* that are connected */
};

struct msisci_remote {
    sci_remote_segment_t segment;
    sci_map_t map;
    sci_sequence_t sequence;
    bool dirty; /* after an error: words may be there that the receiver has consumed before */
    uint32_t failures; /* how often the sequence was started again; see mad_sisci_settle */
};
struct msisci_local {
    sci_local_segment_t segment;
    sci_map_t map;
    volatile unsigned char *memory;
};

struct msisci_peer {
    struct msisci_channel *channel;
    p_mad_connection_t in, out;
    unsigned node;
    struct msisci_local local[MSISCI_SEGMENTS_MAX];
    struct msisci_remote remote[MSISCI_SEGMENTS_MAX];
    struct msisci_local staging[MSISCI_STAGINGS]; /* what DMA reads; none without it */
    sci_dma_queue_t queue;
    uint32_t sent, received; /* packets */
    bool gone; /* a callback said so */
    bool lost; /* the connections are broken */
    bool gave_up; /* this process consumes nothing more from the peer */
    bool untold; /* the peer may not know that this process has given up the connection */
    bool unsettled; /* nobody has seen yet whether the last credit has arrived */
    unsigned silent; /* probes in a row without an answer */
};

struct msisci_channel {
    struct msisci_adapter *adapter;
    p_mad_channel_t object;
    int size, own, last_served;
    unsigned series; /* of the ids of the own segments */
    uint64_t polled_at; /* the last probe of a program that polls */
    struct msisci_peer **peers; /* by rank; NULL: none */
    struct msisci_channel *next; /* of the adapter */
};

static inline struct msisci_adapter *mad_sisci_adapter(p_mad_adapter_t adapter)
{
    return adapter->specific;
}
static inline struct msisci_channel *mad_sisci_channel(p_mad_channel_t channel)
{
    return channel->specific;
}
static inline struct msisci_peer *mad_sisci_peer(p_mad_connection_t connection)
{
    return connection->specific;
}

/* ---- channels (sisci_connect.c) ---- */
int mad_sisci_channel_init(p_mad_channel_t channel);
int mad_sisci_channel_exit(p_mad_channel_t channel);
/* Waits on other channels look after it no more; it may be called again. */
void mad_sisci_unlist(struct msisci_channel *own);
int mad_sisci_connection_init(p_mad_connection_t in, p_mad_connection_t out);
int mad_sisci_connection_exit(p_mad_connection_t in, p_mad_connection_t out);
int mad_sisci_publish(p_mad_channel_t channel); /* makes the own segments */
int mad_sisci_connect(p_mad_channel_t channel);
int mad_sisci_quiesce(p_mad_channel_t channel);
int mad_sisci_drain(p_mad_channel_t channel);

/* ---- packets (sisci_packet.c) ---- */
/* A segment for the next packet to the peer. MAD_OK or why there is none. */
int mad_sisci_begin(struct msisci_peer *peer);
/* The next packet of the peer is there. */
bool mad_sisci_arrived(const struct msisci_peer *peer);
int mad_sisci_wait_arrival(struct msisci_peer *peer);
/* It has been consumed. `more`: the receiver waits for another one. */
int mad_sisci_return_credit(struct msisci_peer *peer, bool more);
/* The peer's packets are not what this process expects: it consumes no more of them. */
void mad_sisci_give_up(p_mad_connection_t in);
/*
 * Everything that the caller has stored is at the peer, or: `retry` is true, and it has to be
 * stored again. `failures` is that of the segment when the caller began to store: another thread
 * may have seen the error first, and started the sequence again.
 */
int mad_sisci_settle(struct msisci_peer *peer, struct msisci_remote *remote, uint32_t failures,
                     bool *retry);
/* Repeats permissions that were lost. */
int mad_sisci_repair(struct msisci_peer *peer);
/* Breaks the connections: the peer does not answer any more, or (MAD_EDRIVER) stores fail. */
void mad_sisci_lost(struct msisci_peer *peer, int code, sci_error_t why);
/* Tells the peer that the connection is broken, unless it knows; waits until it must know. */
void mad_sisci_report_at_last(struct msisci_peer *peer);
/* One fruitless pass of a loop that waits for peers; `seen` is 0 at first. */
void mad_sisci_pause(struct msisci_channel *channel, uint64_t *seen, uint64_t nanoseconds);

/* ---- blocks ---- */
int mad_sisci_send_short(struct msisci_peer *peer, p_mad_buffer_t buffer);
int mad_sisci_receive_short(struct msisci_peer *peer, p_mad_buffer_t buffer);
/* A list of buffers as one stream. */
int mad_sisci_send_stream(struct msisci_peer *peer, p_mad_buffer_t first);
int mad_sisci_receive_stream(struct msisci_peer *peer, p_mad_buffer_t first);
/* The same by DMA; the receiver sees no difference. */
int mad_sisci_send_dma(struct msisci_peer *peer, p_mad_buffer_t first);

/* ---- DMA (sisci_dma.c) ---- */
int mad_sisci_dma_init(struct msisci_peer *peer, unsigned id); /* no effect if it is not used */
void mad_sisci_dma_fini(struct msisci_peer *peer);
/* From a staging segment into the data area of the next packet: begins, and ends. `moved` false:
 * the card has tried it a few times in vain. */
int mad_sisci_dma_post(struct msisci_peer *peer, struct msisci_remote *remote, unsigned which,
                       size_t bytes);
int mad_sisci_dma_wait(struct msisci_peer *peer, struct msisci_remote *remote, unsigned which,
                       size_t bytes, bool *moved);

#endif
