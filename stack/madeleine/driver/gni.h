/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The GNI driver. Each pair of processes has a mailbox on each channel, through which short blocks
 * go. Longer blocks are put into the receiver's memory after it has said where that is.
 *
 * One lock of the adapter protects all that is below; uGNI is called with it. It is not held while
 * a thread is idle.
 */
#ifndef JACQUARD_MADELEINE_GNI_H
#define JACQUARD_MADELEINE_GNI_H

#include <gni_pub.h>
#include <stdbool.h>

#include "madeleine/driver.h"
#include "madeleine/error.h"
#include "port/port.h"

/* ---- on the wire, little-endian ---- */
enum mgni_tag {
    MGNI_DATA = 1, /* bytes of a static buffer */
    MGNI_NEWMSG = 2, /* a message begins whose first block is no DATA */
    MGNI_CTS = 3, /* the receiver waits for blocks: an array of mgni_piece; empty: it cannot */
    MGNI_FIN = 4 /* they are there: mgni_fin */
};
enum {
    MGNI_FRAME_BYTES = 1024, /* payload of a message in the mailbox */
    MGNI_FIRST = 1, /* of mgni_header.flags: this DATA begins a message */
    MGNI_LENGTH_SHIFT = 4 /* the flags from here are the bytes of the payload */
};
struct mgni_header {
    uint16_t channel, flags;
    uint32_t sequence; /* counts the messages from one process to the other on this channel */
};
struct mgni_piece {
    uint64_t address, word1, word2, length;
};
struct mgni_fin {
    uint32_t window; /* counts the CTS of this direction */
    uint32_t pieces; /* or why the blocks did not come: */
};
#define MGNI_UNLIKE UINT32_MAX /* their lengths are not the receiver's */
#define MGNI_FAILED (UINT32_MAX - 1)

enum {
    MGNI_PIECES_MAX = MGNI_FRAME_BYTES / sizeof(struct mgni_piece),
    MGNI_CREDITS = 32, /* messages in flight to a mailbox */
    MGNI_SENDS_MAX = 256, /* messages of the adapter whose completion has not been seen */
    MGNI_SENDS_DUE = 8, /* from so many of them, completions are collected while others are sent */
    MGNI_WINDOWS = 2, /* that a receiver may ask for at a time */
    MGNI_PUTS = 8, /* transactions in flight of one sending call */
    MGNI_TRIES_MAX = 5 /* repetitions of a transaction */
};

struct mgni_frame {
    struct mgni_frame *next;
    struct mgni_header header;
    uint32_t length;
    uint64_t bytes[MGNI_FRAME_BYTES / sizeof(uint64_t)];
};

/* A transaction. */
struct mgni_put {
    gni_post_descriptor_t desc; /* first: uGNI gives its address back */
    struct mgni_peer *peer;
    enum { MGNI_FREE, MGNI_READY, MGNI_POSTED, MGNI_DONE, MGNI_BROKEN } state;
    unsigned tries; /* that failed */
    uint32_t status; /* of the last one */
};

/* Shared by both directions. */
struct mgni_peer {
    struct mgni_channel *channel;
    p_mad_connection_t in, out;
    gni_ep_handle_t ep; /* NULL: not connected, or the own rank */
    bool lost;
    bool gave_up; /* the peer knows that this process receives nothing more from it */
    uint64_t block; /* address of the peer's mailboxes, and */
    gni_mem_handle_t handle;
    struct mgni_put probe;

    /* receiving */
    bool maybe; /* the mailbox may have a message that was not looked at */
    unsigned waiting; /* threads that wait for CTS or FIN, which may be behind DATA */
    const struct mgni_header *head; /* DATA in the mailbox */
    struct mgni_frame *first, *last; /* DATA that was moved out of it */
    unsigned announced; /* NEWMSG */
    uint32_t received; /* messages from the mailbox */
    uint32_t windows_received;
    unsigned fin_count;
    struct mgni_fin fin[MGNI_WINDOWS]; /* oldest first */

    /* sending */
    bool armed; /* a message has begun, and nothing of it was sent */
    uint32_t sent; /* messages to the mailbox */
    uint32_t windows_sent;
    unsigned cts_count;
    struct mgni_cts {
        unsigned count; /* 0: the receiver cannot */
        struct mgni_piece pieces[MGNI_PIECES_MAX];
    } cts[MGNI_WINDOWS]; /* oldest first */
};

struct mgni_channel {
    struct mgni_channel *next; /* of the adapter */
    p_mad_channel_t object;
    struct mgni_adapter *adapter;
    int size, own; /* ranks */
    void *block; /* mailboxes by rank, and before them words that probes read and write */
    size_t bytes, stride;
    bool registered;
    gni_mem_handle_t handle;
    gni_smsg_attr_t attributes;
    int last_served; /* rank */
    unsigned in_flight; /* messages and probes without completion */
    struct port_timer polled; /* until peers are probed for a program that polls for messages */
    bool polling; /* it runs */
    struct mgni_peer **peers; /* by rank */
};

struct mgni_address {
    uint32_t address, instance;
    bool known;
};

struct mgni_adapter {
    struct port_mutex mutex;
    gni_cdm_handle_t cdm;
    gni_nic_handle_t nic;
    gni_cq_handle_t tx, rx;
    uint32_t address, instance, cookie;
    uint8_t ptag;
    size_t smsg_max, bte_min;
    uint64_t probe_ns; /* between two probes of a peer for which a thread waits */
    struct mgni_address *addresses; /* by rank */
    struct mgni_channel *channels;
    struct mgni_frame *frames; /* free */
    struct mgni_send {
        struct mgni_peer *peer;
        struct mgni_frame *frame; /* NULL: free */
        unsigned next; /* free one */
    } sends[MGNI_SENDS_MAX];
    unsigned free_send; /* MGNI_SENDS_MAX: none */
    unsigned used_sends;
    struct mgni_wait *waits; /* idle threads */
};

static inline struct mgni_adapter *mad_gni_adapter(p_mad_adapter_t adapter)
{
    return adapter->specific;
}

static inline struct mgni_channel *mad_gni_channel(p_mad_channel_t channel)
{
    return channel->specific;
}

static inline struct mgni_peer *mad_gni_peer(p_mad_connection_t connection)
{
    return connection->specific;
}

/* ---- progress and waiting (gni_progress.c); the lock is held ---- */

/* One thread's wait: on the stack, zero at first but for what it waits for. */
struct mgni_wait {
    struct mgni_adapter *adapter;
    struct mgni_channel *channel; /* whose peers shall be alive; NULL: they do not matter */
    struct mgni_peer *peer; /* only this one; NULL: any */
    const char *what; /* it waits for: "a message" */
    struct mgni_wait *next, **link; /* while idle */
    struct port_thread *thread;
    struct port_timer timer;
    bool timing;
};
/* Handles at most one event of each queue. True: there was one. */
bool mad_gni_progress(struct mgni_adapter *adapter);
/* Whether that is so; without the lock. */
bool mad_gni_ready(const struct mgni_adapter *adapter);
/* The body of a loop that ends when other calls have changed what the caller waits for. It gives
 * the lock up for a while. */
void mad_gni_pass(struct mgni_wait *wait);
void mad_gni_pass_end(struct mgni_wait *wait);
/* What the process waits for, as port_at_wait() wants it. */
void mad_gni_describe(char *text, size_t size);
/* Looks at what has arrived from a peer. True: something has. */
bool mad_gni_examine(struct mgni_peer *peer);
void mad_gni_lost(struct mgni_peer *peer, int code, uint32_t driver_code);
/* Learns, some time later, which peers have gone. */
void mad_gni_probe_all(struct mgni_channel *channel);
struct mgni_frame *mad_gni_frame(struct mgni_adapter *adapter); /* NULL: out of memory */
void mad_gni_frame_free(struct mgni_adapter *adapter, struct mgni_frame *frame);
/* Sends it, and takes it over. Waits for credits. */
int mad_gni_send(struct mgni_peer *peer, enum mgni_tag tag, struct mgni_frame *frame);
/* Posts what is READY, if uGNI takes it now. */
void mad_gni_post(struct mgni_put *put);

/* ---- opening and closing (gni_connect.c) ---- */
int mad_gni_publish(p_mad_channel_t channel);
int mad_gni_connect(p_mad_channel_t channel);
/* Waits until nothing that was sent needs this process's help any more. */
int mad_gni_quiesce(p_mad_channel_t channel);
/* Reads events that nobody waits for any more. */
int mad_gni_drain(p_mad_channel_t channel);
int mad_gni_channel_init(p_mad_channel_t channel);
int mad_gni_channel_exit(p_mad_channel_t channel);
int mad_gni_connection_init(p_mad_connection_t in, p_mad_connection_t out);
int mad_gni_connection_exit(p_mad_connection_t in, p_mad_connection_t out);

/* ---- messages (gni_message.c) ---- */
int mad_gni_new_message(p_mad_connection_t out);
p_mad_connection_t mad_gni_receive_message(p_mad_channel_t channel);
p_mad_connection_t mad_gni_poll_message(p_mad_channel_t channel);
p_mad_buffer_t mad_gni_get_static(p_mad_link_t link);
int mad_gni_return_static(p_mad_link_t link, p_mad_buffer_t buffer);
int mad_gni_send_static(p_mad_link_t link, p_mad_buffer_t buffer);
int mad_gni_receive_static(p_mad_link_t link, p_mad_buffer_t *buffer);

/* ---- blocks that are put into the receiver's memory (gni_put.c) ---- */
/* From `first` on, as the list goes. */
int mad_gni_put(p_mad_link_t link, p_mad_buffer_t first);
int mad_gni_accept(p_mad_link_t link, p_mad_buffer_t first);
void mad_gni_give_up(p_mad_connection_t in);

#endif
