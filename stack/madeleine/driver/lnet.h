/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The LNet driver. Short blocks are put into buffers that the receiver has posted for each sender.
 * The sender of longer blocks exposes its memory and says so in such a frame (RTS); the receiver
 * gets the data.
 *
 * One lock of the adapter protects all that is below. LNet is called with it, and it is not held
 * while a thread waits. Callbacks of LNet run without it: they touch what is marked as atomic.
 */
#ifndef JACQUARD_MADELEINE_LNET_H
#define JACQUARD_MADELEINE_LNET_H

#include <stdbool.h>
#include <lnet/api.h>

#include "driver/lnet_module.h"
#include "madeleine/driver.h"
#include "madeleine/error.h"
#include "port/port.h"

/* ---- on the wire ---- */

/* Match bits: 16 of the channel, 24 of the sender's rank, 4 of the kind, 20 of a sequence number.
 * Those of PROBE are of the one who asks. */
enum mlnet_kind { MLNET_EAGER = 1, MLNET_BULK = 2, MLNET_CREDIT = 3, MLNET_PROBE = 4 };
enum {
    MLNET_CHANNEL_SHIFT = 48,
    MLNET_RANK_SHIFT = 24,
    MLNET_KIND_SHIFT = 20,
    MLNET_RANKS_MAX = 1 << 24,
    MLNET_SEQUENCES = 1 << 20
};
/* hdr_data of EAGER and CREDIT: bit 63: a message begins; 62-48: credits that are returned; 47: the
 * frame is an RTS; 31-0: the sequence number, which counts the frames to this peer. */
#define MLNET_FIRST (UINT64_C(1) << 63)
#define MLNET_RTS (UINT64_C(1) << 47)
enum { MLNET_CREDIT_SHIFT = 48, MLNET_CREDIT_MASK = 0x7fff };

/* The payload of an RTS, little-endian. */
struct mlnet_rts {
    uint32_t sequence, pieces; /* of BULK: the first one, and how many */
    uint64_t bytes, lengths; /* the sum of their lengths, and a hash of them in order */
};
/* The words of a peer's memory that a probe reads. */
struct mlnet_status {
    uint64_t sent; /* frames to the process that probes */
    uint64_t credited; /* credits that were returned to it */
    uint64_t broken; /* 1: the connections with it are broken */
};

enum {
    MLNET_FRAME_BYTES = 4096,
    MLNET_CREDITS = 32, /* buffers for each sender */
    MLNET_CREDITS_LOW = 2, /* what the peer has left when it gets a message of credits only, */
    MLNET_CREDITS_BATCH = 8, /* and how many it then gets at least */
    MLNET_PIECE_BYTES = LNET_MTU,
    MLNET_READS = 16, /* LNetGet of one call in flight */
    MLNET_STALLED_MAX = 20 /* probes that show the same missing message, until it is lost */
};

/* A descriptor of LNet and what has become of it. */
enum mlnet_use {
    MLNET_USE_SERVICE, /* CREDIT and PROBE: any number of operations of others */
    MLNET_USE_RECEIVE,
    MLNET_USE_SEND,
    MLNET_USE_RETURN, /* a message of credits */
    MLNET_USE_PROBE,
    MLNET_USE_PIECE /* of a long block, on both sides */
};
struct mlnet_slot {
    struct mlnet_slot *next; /* of the ended ones, or the free ones */
    struct mlnet_slot *sibling; /* next piece of a message */
    struct mlnet_adapter *adapter;
    struct mlnet_peer *peer; /* NULL: SERVICE */
    struct mlnet_shared *shared; /* of SERVICE */
    enum mlnet_use use;
    struct lnet_handle_md md;
    bool active; /* from its start until progress has seen its last event */
    bool unlinked; /* there was no operation */
    int status; /* 0 or a negative errno */
    uint32_t bytes;
    uint64_t header; /* hdr_data */
};

/* A buffer for a short block: one of the 32 that are posted for a peer, or of the pool. */
struct mlnet_frame {
    struct mlnet_slot slot; /* first */
    struct mlnet_frame *next; /* free one */
    bool posted; /* it belongs to a peer's 32 */
    char *bytes;
};

/* What the peers of a channel use at any time: it stays until the adapter is closed. */
struct mlnet_shared {
    struct mlnet_shared *next;
    struct mlnet_adapter *adapter;
    int size;
    struct mlnet_slot credit, probe;
    struct mlnet_status *status; /* by rank */
    uint32_t *credits; /* by rank: that were returned, and not noticed yet; atomic */
};

/* Shared by both directions. */
struct mlnet_peer {
    struct mlnet_channel *channel;
    p_mad_connection_t in, out;
    struct lnet_process_id id;
    bool joined, lost, closing;
    unsigned active; /* descriptors */

    /* receiving */
    struct mlnet_frame frames[MLNET_CREDITS];
    struct mlnet_frame *ring[MLNET_CREDITS]; /* those that have arrived, by sequence number */
    uint32_t next; /* sequence number of the next one to be read */
    uint32_t posted; /* buffers so far */
    uint32_t received; /* frames so far */
    uint32_t owed; /* credits to be returned */
    struct mlnet_slot returning; /* a message of credits */
    struct mlnet_slot probe;
    struct mlnet_status probed;
    unsigned stalled; /* probes in a row that showed a missing message, */
    uint32_t stalled_at; /* when so many frames and credits had arrived */

    /* sending */
    bool armed; /* a message has begun, and nothing of it was sent */
    uint32_t sent; /* frames */
    uint32_t available; /* credits */
    uint32_t credited; /* credits that came back */
    uint32_t exposed; /* pieces */
};

struct mlnet_channel {
    p_mad_channel_t object;
    struct mlnet_adapter *adapter;
    struct mlnet_shared *shared;
    int size, own; /* ranks */
    char *memory; /* of the posted buffers */
    size_t bytes;
    int last_served; /* rank */
    unsigned in_flight; /* puts and probes */
    uint64_t polled_ns; /* when a program that polls for messages probes its peers next */
    uint64_t empty_polls; /* in a row */
    struct mlnet_peer **peers; /* by rank */
};

struct mlnet_adapter {
    struct port_mutex mutex;
    struct port_condition changed; /* for threads that wait while another one waits for LNet */
    struct port_semaphore events; /* raised by callbacks */
    bool started, queue_made;
    bool waiting; /* a thread waits for LNet */
    struct lnet_handle_eq queue;
    struct lnet_process_id id;
    unsigned portal;
    size_t eager_max;
    uint64_t probe_ns; /* between two probes of a peer for which a thread waits */
    uint64_t probe_next_ns;
    unsigned active; /* descriptors */
    struct lnet_process_id *ids; /* by rank */
    bool ids_known;
    struct mlnet_slot *ended; /* the last one first; atomic */
    struct mlnet_slot *slots; /* free ones for pieces */
    struct mlnet_frame *frames; /* free ones of the pool */
    struct mlnet_shared *shared;
    struct mlnet_wait *waits;
};

static inline struct mlnet_adapter *mad_lnet_adapter(p_mad_adapter_t adapter)
{
    return adapter->specific;
}

static inline struct mlnet_channel *mad_lnet_channel(p_mad_channel_t channel)
{
    return channel->specific;
}

static inline struct mlnet_peer *mad_lnet_peer(p_mad_connection_t connection)
{
    return connection->specific;
}

/* ---- descriptors (lnet_slot.c); all but the callback with the lock ---- */

uint64_t mad_lnet_bits(const struct mlnet_channel *channel, int rank, enum mlnet_kind kind,
                       uint32_t sequence);
void mad_lnet_callback(struct lnet_event *event);
/* Memory for operations of others: `threshold` of them, or any number. 0 or a negative errno. */
int mad_lnet_attach(struct mlnet_slot *slot, uint64_t bits, uint64_t ignored, unsigned options,
                    int threshold, void *memory, size_t bytes);
/* If LNet refuses, the slot ends with that status. */
int mad_lnet_put(struct mlnet_slot *slot, uint64_t bits, void *memory, size_t bytes,
                 uint64_t header);
int mad_lnet_get(struct mlnet_slot *slot, uint64_t bits, unsigned offset, void *memory,
                 size_t bytes);
void mad_lnet_unlink(struct mlnet_slot *slot);
struct mlnet_slot *mad_lnet_slot(struct mlnet_peer *peer); /* for a piece; NULL: no memory */
void mad_lnet_slot_free(struct mlnet_adapter *adapter, struct mlnet_slot *slot);
struct mlnet_frame *mad_lnet_frame(struct mlnet_adapter *adapter); /* of the pool */
void mad_lnet_frame_free(struct mlnet_adapter *adapter, struct mlnet_frame *frame);

/* ---- progress and waiting (lnet_progress.c); the lock is held ---- */

/* One thread's wait: on the stack, zero at first but for what it waits for. */
struct mlnet_wait {
    struct mlnet_adapter *adapter;
    struct mlnet_channel *channel; /* whose peers shall be alive; NULL: they do not matter */
    struct mlnet_peer *peer; /* only this one; NULL: any */
    const char *what; /* it waits for: "a message" */
    struct mlnet_wait *next, **link;
    bool listed;
};
/* Handles all events. True: there were some. */
bool mad_lnet_progress(struct mlnet_adapter *adapter);
/* The body of a loop that ends when events or other threads have changed what the caller waits for.
 * It unlocks for a while. */
void mad_lnet_wait(struct mlnet_wait *wait);
void mad_lnet_wait_end(struct mlnet_wait *wait);
void mad_lnet_describe(char *text, size_t size);
void mad_lnet_lost(struct mlnet_peer *peer, int code, int status);
/* The peer learns by a probe that this process does not go on with the connection. */
void mad_lnet_give_up(struct mlnet_peer *peer);
/* Learns, some time later, which peers have gone. */
void mad_lnet_probe_all(struct mlnet_channel *channel);
/* Returns credits if there are so many that the peer needs them. */
void mad_lnet_return_credits(struct mlnet_peer *peer);
/* Makes a buffer available for the frame after those that have one. */
int mad_lnet_post(struct mlnet_peer *peer, struct mlnet_frame *frame);

/* ---- opening and closing (lnet_connect.c) ---- */
int mad_lnet_channel_init(p_mad_channel_t channel);
int mad_lnet_channel_exit(p_mad_channel_t channel);
int mad_lnet_connection_init(p_mad_connection_t in, p_mad_connection_t out);
int mad_lnet_connection_exit(p_mad_connection_t in, p_mad_connection_t out);
int mad_lnet_prepare(p_mad_channel_t channel);
int mad_lnet_connect(p_mad_channel_t channel);
int mad_lnet_quiesce(p_mad_channel_t channel);
void mad_lnet_shared_close(struct mlnet_adapter *adapter);

/* ---- messages (lnet_message.c) ---- */
int mad_lnet_new_message(p_mad_connection_t out);
p_mad_connection_t mad_lnet_receive_message(p_mad_channel_t channel);
p_mad_connection_t mad_lnet_poll_message(p_mad_channel_t channel);
p_mad_buffer_t mad_lnet_get_static(p_mad_link_t link);
int mad_lnet_return_static(p_mad_link_t link, p_mad_buffer_t buffer);
int mad_lnet_send_static(p_mad_link_t link, p_mad_buffer_t buffer);
int mad_lnet_receive_static(p_mad_link_t link, p_mad_buffer_t *buffer);
/* With the lock: waits for a credit, and sends. It takes the frame over. */
int mad_lnet_send_frame(struct mlnet_peer *peer, struct mlnet_frame *frame, size_t bytes,
                        uint64_t flags);
/* With the lock: the next frame of the peer; NULL: the connection is broken. */
struct mlnet_frame *mad_lnet_next_frame(struct mlnet_peer *peer, const char *what);
/* With the lock: a frame was read. */
int mad_lnet_recycle(struct mlnet_peer *peer, struct mlnet_frame *frame);

/* ---- long blocks (lnet_bulk.c): from `first` on, as the list goes ---- */
int mad_lnet_bulk_send(p_mad_link_t link, p_mad_buffer_t first);
int mad_lnet_bulk_receive(p_mad_link_t link, p_mad_buffer_t first);

#endif
