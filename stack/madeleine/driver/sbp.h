/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The SBP driver. Blocks are copied into frames of the kernel. All frames of a process come in one
 * queue, whoever sends them on whatever channel, so each call that polls it sorts them. If many
 * wait for their connections, further ones are copied out of the kernel's buffers, which others
 * need.
 */
#ifndef JACQUARD_MADELEINE_SBP_H
#define JACQUARD_MADELEINE_SBP_H

#include <sbp_messages.h>
#include <stdbool.h>
#include <stdint.h>

#include "internal.h"

/*
 * REFUSED: the receiver's blocks are not the sender's, and it takes no more of them. The sender
 * answers with ACK, behind which nothing follows on the channel.
 */
enum msbp_type { MSBP_REQUEST, MSBP_ACK, MSBP_DATA, MSBP_INTERNAL, MSBP_REFUSED };

/* Behind the kernel's header. */
struct msbp_header {
    uint8_t channel, type;
};

enum {
    MSBP_HEADERS = SBP_HEADER_SIZE + sizeof(struct msbp_header),
    MSBP_PAYLOAD = SBP_PAYLOAD_SIZE - sizeof(struct msbp_header),
    MSBP_HELD_MAX = 16, /* buffers of the kernel that are held, in each direction */
    MSBP_CHANNELS = 255, /* the number 255 is not one of a channel */
    MSBP_PROBES_MAX = 4 /* in a row to a peer from which nothing comes */
};

/* A frame, in a buffer of the kernel or in private memory. */
struct msbp_frame {
    struct msbp_frame *next;
    unsigned long kernel; /* its buffer, which belongs to the pool of `key`; 0: `room` */
    unsigned long key;
    uint32_t length; /* of the payload */
    uint8_t type;
    char *payload;
    char *room; /* MSBP_PAYLOAD bytes, or NULL */
    int origin, channel;
};

struct msbp_peer {
    struct msbp_channel *channel;
    p_mad_connection_t in, out;
    bool lost;
    bool announced; /* the first frame of the open message has been sent */
    bool gave_up; /* this process takes nothing more from the peer: its frames are dropped */
    bool acked; /* and the peer has answered that it sends nothing more */
    bool refused; /* the peer takes nothing more from this process */
    bool refusal_due, ack_due; /* to be sent when the kernel has an empty buffer */
    struct msbp_frame *first, *last; /* received */
    unsigned probes;
};

struct msbp_channel {
    p_mad_channel_t object;
    struct msbp_adapter *adapter;
    int size, own; /* ranks */
    int last_served;
    struct port_timer polled;
    bool polling;
    struct msbp_peer **peers; /* by rank */
    struct msbp_channel *next; /* of the adapter */
};

struct msbp_adapter {
    struct port_mutex mutex;
    unsigned long in, out; /* keys */
    unsigned held_in, held_out; /* buffers of the kernel */
    uint64_t probe_ns;
    unsigned due; /* refusals and answers to them that have not been sent */
    struct msbp_channel *channels;
    struct msbp_frame *free;
    struct msbp_frame *unknown, *unknown_last; /* for channels that are not open yet */
    struct msbp_wait {
        struct msbp_wait *next, **link;
        struct port_thread *thread;
    } * waits; /* threads that poll */
};

static inline struct msbp_adapter *mad_sbp_adapter(p_mad_adapter_t adapter)
{
    return adapter->specific;
}

static inline struct msbp_channel *mad_sbp_channel(p_mad_channel_t channel)
{
    return channel->specific;
}

static inline struct msbp_peer *mad_sbp_peer(p_mad_connection_t connection)
{
    return connection->specific;
}

/* ---- frames (sbp_frame.c) -------------------------------------------------------------------- */

struct msbp_frame *
mad_sbp_frame(struct msbp_adapter *adapter); /* without memory; NULL: none left */
bool mad_sbp_frame_room(struct msbp_frame *frame); /* gives it private memory */
void mad_sbp_frame_free(struct msbp_adapter *adapter, struct msbp_frame *frame);
void mad_sbp_sent(struct msbp_adapter *adapter, struct msbp_frame *frame); /* its buffer has left */
/* The frame has a buffer of the kernel from now on. */
void mad_sbp_hold(struct msbp_adapter *adapter, struct msbp_frame *frame, unsigned long key,
                  unsigned long kernel);
/*
 * An empty buffer of the kernel: waits for one, and sorts what comes meanwhile. 0: the peer is lost
 * or has refused.
 */
unsigned long mad_sbp_empty(struct msbp_peer *peer);
/* Sends what is behind the headers of a kernel's buffer, which is used up. */
int mad_sbp_send(struct msbp_peer *peer, unsigned long kernel, enum msbp_type type,
                 uint32_t length);
/* Sorts one frame, if one is there. */
bool mad_sbp_progress(struct msbp_adapter *adapter);
void mad_sbp_sort_unknown(struct msbp_channel *channel);
/* The wait of a thread: mad_sbp_pass after each poll (true: a frame has come), then the end. */
struct msbp_waiting {
    struct msbp_adapter *adapter;
    struct msbp_channel *channel;
    struct msbp_peer *peer; /* only this one is waited for; NULL: all of the channel */
    struct msbp_wait wait;
    struct port_timer timer;
    bool begun;
};
bool mad_sbp_pass(struct msbp_waiting *waiting);
void mad_sbp_pass_end(struct msbp_waiting *waiting);
void mad_sbp_probe(struct msbp_peer *peer);
void mad_sbp_lost(struct msbp_peer *peer, int code, const char *text);
/* The peer learns that nothing more is taken from it. */
void mad_sbp_refuse(struct msbp_peer *peer);
/* What the refusals of this process and of its peers still need from it. */
int mad_sbp_quiesce(p_mad_channel_t channel);

/* ---- messages (sbp_message.c) ---------------------------------------------------------------- */

int mad_sbp_new_message(p_mad_connection_t out);
p_mad_connection_t mad_sbp_receive_message(p_mad_channel_t channel);
p_mad_connection_t mad_sbp_poll_message(p_mad_channel_t channel);
p_mad_buffer_t mad_sbp_get_static(p_mad_link_t link);
int mad_sbp_return_static(p_mad_link_t link, p_mad_buffer_t buffer);
int mad_sbp_send_buffer(p_mad_link_t link, p_mad_buffer_t buffer);
int mad_sbp_receive_buffer(p_mad_link_t link, p_mad_buffer_t *buffer);
void mad_sbp_give_up(p_mad_connection_t in);

#endif
