/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The simulated NIC back end: what its files share.
 *
 *   sim_source.c  submit, the pump that feeds chunks into the network, admission (SSID, ORB, BTE
 *                 channel), completion
 *   sim_target.c  arrival of requests: translation, memory, atomics, events; responses
 *   sim_faults.c  crash, hang, stall, quiesce, throttle, planted bugs
 *   sim_pool.c    transactions and chunks
 *   sim_kernel.c  messages between the kernels (datagrams)
 *
 * A transaction travels as chunks of up to 16 packets (F1). The life of one chunk, with the event
 * that each step costs:
 *
 *   pump ──net──▶ arrive ─┬──net──▶ respond ──▶ transaction done?
 *                         └────────▶ land (visible in target memory, remote event)
 */
#ifndef JACQUARD_ARIES_SIM_NIC_H
#define JACQUARD_ARIES_SIM_NIC_H

#include "internal.h"

#define PACKET_BYTES 64u
#define CHUNK_INLINE_BYTES 128u
#define AMO_LINE_SHIFT 6

struct aries_txn;

/* Some packets of a transaction, first on their way as requests, then as responses. */
struct chunk {
    struct net_transfer transfer; /* request, then response; then the timeout of a lost chunk */
    struct sim_event land; /* the write becomes visible */
    struct aries_txn *txn;
    struct chunk *next; /* waiting in the transaction, or in a free list */
    struct aries_mr *mr; /* region that `land` writes into */
    uint64_t offset; /* in the message */
    sim_time_t ready; /* FMA: when its last byte was stored */
    sim_time_t sent; /* when its head left the source */
    sim_time_t feed; /* how long the NIC takes to hand it over */
    uint64_t frozen; /* quiesced time before it was sent: timers stand still meanwhile */
    uint32_t bytes, packets, capacity;
    uint8_t refs; /* request or response under way; landing under way */
    uint8_t status, info;
    bool admitted; /* holds its packets' ORB entries */
    bool received; /* took its share of the target's receive side */
    bool returned; /* its data took its share of the source's */
    bool fetched; /* its atomic has waited for the unit and the line */
    bool poisoned;
    uint8_t *data;
    uint8_t inline_data[CHUNK_INLINE_BYTES];
};

struct aries_txn {
    struct sim_event pump;
    struct sim_event notify; /* local event of a BTE transfer */
    uint32_t refs; /* itself until it finished, its chunks, its local event */
    struct aries_nic *source;
    struct aries_work work;
    struct aries_txn *next; /* in whatever queue it waits: channel, SSID, ORB */
    struct chunk *chunks; /* FMA PUT: captured, not sent yet; else at most one that waits */
    struct chain *chain; /* NULL: single */
    struct channel *channel; /* BTE */
    sim_time_t ready; /* doorbell at the NIC */
    double rate; /* of the stream, bytes per ns; 0: handed over at once */
    uint64_t offset; /* bytes cut into chunks so far */
    uint64_t landed; /* bytes visible at the target */
    uint32_t chunks_open; /* cut and not ended */
    uint32_t lost; /* packets */
    uint64_t flow;
    struct ledger_entry entry;
    uint8_t status, info;
    bool all_sent, has_ssid, remote_overrun;
};

struct txn_queue {
    struct aries_txn *head, **tail;
};

struct channel { /* of the BTE */
    struct aries_txn *active; /* feeds the network */
    struct txn_queue waiting;
    sim_time_t free_at;
    uint32_t open; /* started and not completed: what a fence waits for */
};

struct aries_sim_nic {
    sim_time_t fma_free, tx_free, rx_free, npt_free, amo_free, duplex_free;
    sim_time_t hang_until, stall_until;
    uint32_t orb_used, orb_get, ssid_used;
    struct txn_queue orb_waiting, ssid_waiting;
    struct channel channels[4];
    uint64_t *amo_lines; /* tags of cached lines, direct mapped; allocated at first use */
};

struct aries_sim_fabric {
    sim_time_t quiesce_until, quiesced; /* total time quiesced so far */
    sim_time_t throttle_until;
    double throttle; /* fraction of the injection rate */
    enum aries_mutation mutation;
    uint64_t mutate_every, mutate_seen;
    struct chunk *free_small, *free_large;
    struct aries_txn *free_txns;
    struct slab *slabs;
};

struct chain { /* transactions with one completion */
    uint32_t open;
    uint8_t status, info;
    bool remote_overrun;
    void (*done)(void *context, uint8_t status, uint8_t info, bool remote_overrun);
    void *context;
};

/* sim_pool.c */
struct aries_txn *txn_new(struct aries_fabric *fabric);
void txn_free(struct aries_fabric *fabric, struct aries_txn *txn);
struct chunk *chunk_new(struct aries_fabric *fabric, uint32_t bytes);
void chunk_unref(struct chunk *chunk);
void txn_queue_init(struct txn_queue *queue);
void txn_queue_push(struct txn_queue *queue, struct aries_txn *txn);
struct aries_txn *txn_queue_pop(struct txn_queue *queue);

/* sim_source.c */
void sim_submit(struct gni_nic *nic, const struct aries_work *work);
void sim_submit_chain(struct gni_nic *nic, const struct aries_work *works, uint32_t count);
void chunk_launch(struct chunk *chunk, sim_time_t feed); /* hands chunk->transfer to the network */
/*
 * Wire units of packets that carry the chunk's data behind `header` units each. *last: of the
 * largest of the last ones, which follow each other closely: the one that is through last.
 */
uint32_t chunk_units(const struct chunk *chunk, uint32_t header, uint32_t *last);
/* NIC flits of the same packets. */
uint32_t chunk_flits(const struct chunk *chunk);
void source_response(struct sim_event *event); /* a response arrived: transfer.event */
void source_lost(struct chunk *chunk, uint32_t packets); /* its response will never come */
void source_chunk_end(struct chunk *chunk); /* response dealt with, or its timeout passed */
void txn_unref(struct aries_txn *txn);

/* sim_target.c */
void target_arrive(struct sim_event *event); /* a request arrived: transfer.event of a chunk */

/* sim_faults.c */
/* True when a planted bug strikes this chunk now. */
bool mutation_strikes(struct aries_fabric *fabric, enum aries_mutation mutation);

static inline struct aries_fabric *txn_fabric(const struct aries_txn *txn)
{
    return txn->source->fabric;
}

/*
 * A chunk takes `service` of a resource that works on its packets as they come: the first one at
 * `head`, the last one `feed` later. It waits for what others left to do; what it leaves to do
 * itself is what there was no time for while it came. Returns how long it waits.
 */
static inline sim_time_t occupy(sim_time_t *free_at, sim_time_t head, sim_time_t feed,
                                sim_time_t service)
{
    sim_time_t wait = *free_at > head ? *free_at - head : 0;
    sim_time_t least = head + (feed < service ? feed : service);

    *free_at += service;
    if (*free_at < least)
        *free_at = least;
    return wait;
}

/* ceil(8 n / 48): phits that carry n bytes of data. */
static inline uint32_t data_phits(uint32_t bytes)
{
    return (bytes + 5) / 6;
}

/* NIC flits of 16 bytes that carry n bytes of data. */
static inline uint32_t data_flits(uint32_t bytes)
{
    return (bytes + 15) / 16;
}

#endif
