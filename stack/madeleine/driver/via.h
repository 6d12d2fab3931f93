/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The VIA driver. On each channel a pair of processes has a VI for each link and direction, and one
 * for reports. Credits, notices and addresses of a link go back on the VI of its data:
 *
 *   link 0 (CREDIT)    data frames of at most 512 bytes; the receiver has 32 receives posted
 *   link 1 (MESSAGE)   the receiver posts its memory and says so (notice), the sender gathers
 *   link 2 (RDMA)      the receiver sends addresses, the sender writes there
 *
 * The service is unreliable. A process that has waited for probe_ms tells its peers how many frames
 * it has sent them, and so does one that begins to wait for another peer. A peer that has received
 * fewer frames knows that some are lost.
 *
 * One thread at a time sends on a connection and one receives on a channel; the lock of the adapter
 * protects what they share, and is not held while a thread waits.
 */
#ifndef JACQUARD_MADELEINE_VIA_H
#define JACQUARD_MADELEINE_VIA_H

#include <vipl.h>
#include <stdbool.h>

#include "internal.h"

enum {
    MVIA_FRAME_BYTES = 512,
    MVIA_CREDITS = 32, /* receives that are posted on link 0 */
    MVIA_ALERT = 2, /* so many credits are left when they are returned */
    MVIA_TRANSFER_MAX = 32768,
    MVIA_SHORT_MAX = 5120, /* bytes of a block of link 0 */
    MVIA_SEGMENTS_MAX = 252, /* of a descriptor */
    MVIA_ROUND = MVIA_FRAME_BYTES / sizeof(VIP_ADDRESS_SEGMENT), /* buffers of an RDMA round */
    MVIA_LINKS = 3,
    MVIA_VIS = 2 * MVIA_LINKS + 1, /* out 0 to 2, in 0 to 2, reports */
    MVIA_REPORTS = 8, /* receives for them; */
    MVIA_REPORTS_MAX = 4, /* so many are sent before one has come */
    MVIA_POOL = 64, /* frames that are allocated at a time */
    MVIA_LISTS = 16 /* the same of lists */
};
#define MVIA_REFUSED UINT32_MAX /* immediate data of a notice without data */

/* A descriptor and its data, both in registered memory. */
struct mvia_frame {
    VIP_DESCRIPTOR descriptor; /* first, and aligned: VIPL gives its address back */
    uint8_t data[MVIA_FRAME_BYTES];
    struct mvia_frame *next;
    VIP_MEM_HANDLE handle;
} __attribute__((aligned(VIP_DESCRIPTOR_ALIGNMENT)));

/* A descriptor for a group of user blocks. */
struct mvia_list {
    VIP_CONTROL_SEGMENT control;
    VIP_DATA_SEGMENT data[MVIA_SEGMENTS_MAX];
    struct mvia_list *next;
    VIP_MEM_HANDLE handle;
} __attribute__((aligned(VIP_DESCRIPTOR_ALIGNMENT)));

struct mvia_vi {
    struct mvia_peer *peer;
    VIP_VI_HANDLE handle; /* NULL: none */
    bool connected;
    uint32_t sent, received; /* frames; RDMA writes count if the peer sees them */
    uint32_t reported; /* what the peer says that it has sent */
};

/* Both directions of a pair of processes on a channel. */
struct mvia_peer {
    struct mvia_channel *channel;
    p_mad_connection_t in, out;
    struct mvia_vi vi[MVIA_VIS];
    bool connected, lost;
    bool gave_up; /* the peer knows that this process receives nothing more from it */
    /* sending */
    bool armed; /* a message has begun, and nothing of it was sent */
    int credits; /* of link 0, before the next wait */
    uint32_t sequence; /* of its frames */
    /* receiving */
    int expected; /* credits that the sender has */
    int owed; /* to be returned */
    uint32_t next_sequence;
    struct mvia_frame *first, *last; /* frames of link 0 that have arrived */
    /* reports */
    unsigned unanswered; /* sent since the last one that came */
    bool reporting; /* a thread sends one */
    uint32_t last_reported; /* sum of the frames in it */
};

struct mvia_channel {
    p_mad_channel_t object;
    struct mvia_adapter *adapter;
    VIP_CQ_HANDLE queue; /* of link 0, from all peers */
    int size, own; /* ranks */
    int last_served;
    struct port_timer polled; /* until peers get reports of a program that polls */
    bool polling; /* it runs */
    struct mvia_peer **peers; /* by rank */
    struct mvia_channel *next; /* of the adapter */
};

struct mvia_chunk {
    struct mvia_chunk *next;
    void *memory;
    size_t bytes;
};

struct mvia_adapter {
    struct port_mutex mutex;
    p_mad_adapter_t object;
    VIP_NIC_HANDLE nic;
    VIP_PROTECTION_HANDLE ptag;
    VIP_NIC_ATTRIBUTES attributes;
    VIP_ULONG probe_ms; /* of waiting, between two reports */
    long force; /* a method for all blocks: 1 + link; 0: none */
    struct mvia_channel *channels;
    struct mvia_chunk *chunks;
    struct mvia_frame *frames; /* free */
    struct mvia_list *lists; /* free */
};

static inline struct mvia_adapter *mad_via_adapter(p_mad_adapter_t adapter)
{
    return adapter->specific;
}

static inline struct mvia_channel *mad_via_channel(p_mad_channel_t channel)
{
    return channel->specific;
}

static inline struct mvia_peer *mad_via_peer(p_mad_connection_t connection)
{
    return connection->specific;
}

static inline struct mvia_vi *mad_via_out(struct mvia_peer *peer, unsigned link)
{
    return &peer->vi[link];
}

static inline struct mvia_vi *mad_via_in(struct mvia_peer *peer, unsigned link)
{
    return &peer->vi[MVIA_LINKS + link];
}

/* ---- frames, and what becomes of them (via_frame.c) ------------------------------------------ */

struct mvia_frame *mad_via_frame(struct mvia_adapter *adapter); /* NULL: no memory */
void mad_via_frame_free(struct mvia_adapter *adapter, struct mvia_frame *frame);
struct mvia_list *mad_via_list(struct mvia_adapter *adapter);
void mad_via_list_free(struct mvia_adapter *adapter, struct mvia_list *list);
/* There are at least so many free frames. */
bool mad_via_reserve(struct mvia_adapter *adapter, unsigned frames);
void mad_via_pool_free(struct mvia_adapter *adapter);

/* All return MAD_OK or the code of the connection, which is broken then. */
int mad_via_post_receive(struct mvia_vi *vi, struct mvia_frame *frame);
/* Sends `bytes` of the frame's data and waits until they have left; the frame is still the
 * caller's. */
int mad_via_send_frame(struct mvia_vi *vi, struct mvia_frame *frame, uint32_t bytes, bool immediate,
                       uint32_t immediate_data);
/* The same with a descriptor of the caller's. `counted`: the peer sees it. */
int mad_via_send_descriptor(struct mvia_vi *vi, VIP_DESCRIPTOR *descriptor, VIP_MEM_HANDLE handle,
                            bool counted);
/* Waits for the next completion of the receive queue. */
int mad_via_wait(struct mvia_vi *vi, VIP_DESCRIPTOR **descriptor);
/* Moves frames of link 0 that have arrived to their peers; waits for one if `wait`. */
int mad_via_collect(struct mvia_channel *channel, bool wait);
/* Nothing has come for a while: looks for losses, and tells the peers what they were sent. */
void mad_via_idle_check(struct mvia_channel *channel);
void mad_via_lost(struct mvia_peer *peer, int code, const char *text, int driver_code);
/* Tells the peer how many frames it was sent, unless it knows. */
void mad_via_report(struct mvia_peer *peer, bool again);
void mad_via_on_error(VIP_PVOID context, VIP_ERROR_DESCRIPTOR *error);

/* ---- opening and closing (via_connect.c) ----------------------------------------------------- */
int mad_via_channel_init(p_mad_channel_t channel);
int mad_via_channel_exit(p_mad_channel_t channel);
int mad_via_connection_init(p_mad_connection_t in, p_mad_connection_t out);
int mad_via_connection_exit(p_mad_connection_t in, p_mad_connection_t out);
int mad_via_accept(p_mad_channel_t channel);
int mad_via_connect(p_mad_connection_t out);
int mad_via_disconnect(p_mad_connection_t connection);
int mad_via_quiesce(p_mad_channel_t channel);

/* ---- messages and link 0 (via_message.c) ----------------------------------------------------- */
int mad_via_new_message(p_mad_connection_t out);
int mad_via_announce(struct mvia_peer *peer); /* if nothing of the message was sent yet */
p_mad_connection_t mad_via_receive_message(p_mad_channel_t channel);
p_mad_connection_t mad_via_poll_message(p_mad_channel_t channel);
p_mad_buffer_t mad_via_get_static(p_mad_link_t link);
int mad_via_return_static(p_mad_link_t link, p_mad_buffer_t buffer);
int mad_via_send_static(p_mad_link_t link, p_mad_buffer_t buffer);
int mad_via_receive_static(p_mad_link_t link, p_mad_buffer_t *buffer);
void mad_via_give_up(p_mad_connection_t in);
int mad_via_send_list(p_mad_link_t link, p_mad_buffer_t first);
int mad_via_receive_list(p_mad_link_t link, p_mad_buffer_t first);

/* ---- links 1 and 2 (via_group.c, via_rdma.c); from `first` on, as the list goes ---------------
 */
int mad_via_register_group(struct mvia_peer *peer, p_mad_buffer_t first, bool receive);
void mad_via_deregister_group(struct mvia_peer *peer, p_mad_buffer_t first);
VIP_MEM_HANDLE mad_via_memory(const mad_buffer_t *buffer);
int mad_via_group_send(struct mvia_peer *peer, p_mad_buffer_t first);
int mad_via_group_receive(struct mvia_peer *peer, p_mad_buffer_t first);
int mad_via_rdma_send(struct mvia_peer *peer, p_mad_buffer_t first);
int mad_via_rdma_receive(struct mvia_peer *peer, p_mad_buffer_t first);

#endif
