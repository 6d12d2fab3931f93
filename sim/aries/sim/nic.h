/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The simulated NIC back end: what its files share.
 *
 *   sim/source.c  submit, the pump that feeds chunks into the network, admission (SSID, ORB, BTE
 *                 channel), completion
 *   sim/target.c  arrival of requests: translation, memory, atomics, events; responses
 *   sim/faults.c  crash, hang, stall, quiesce, throttle, planted bugs
 *   sim/pool.c    transactions and chunks
 *   sim/kernel.c  messages between the kernels (datagrams)
 *   sim/ce.c      packets of the collective engine
 *
 * A transaction travels as chunks of up to 16 packets (F1). The life of one chunk, with the event
 * that each step costs:
 *
 *   pump ──net──▶ arrive ─┬──net──▶ respond ──▶ transaction done?
 *                         └────────▶ land (visible in target memory, remote event)
 */
#ifndef JACQUARD_ARIES_SIM_NIC_H
#define JACQUARD_ARIES_SIM_NIC_H

#include "nic/interface.h"
#include "nic/stages.h"

#define CHUNK_INLINE_BYTES 128u
#define AMO_LINE_SHIFT 6

struct aries_txn;

/* Buffers for the data of chunks: 1 KiB, 4 KiB. */
enum buffer_size { BUFFER_1K, BUFFER_4K, BUFFER_SIZES };
#define CAPTURED 8u /* places in a message, 1 KiB apart, whose last bytes are remembered */

/*
 * Some packets of a transaction, first on their way as requests, then as responses. Hundreds are
 * under way at a time, so what is rarely needed comes last in both structures.
 */
struct chunk {
    struct aries_txn *txn;
    struct aries_nic *at; /* the NIC that it is on its way to */
    struct net_transfer transfer; /* request, then response; then the timeout of a lost chunk */
    sim_time_t sent; /* when its head left the source */
    sim_time_t feed; /* how long the NIC takes to hand it over */
    uint64_t frozen; /* quiesced time before it was sent: timers stand still meanwhile */
    struct chunk *next; /* waiting in the transaction, or in a free list */
    sim_time_t ready; /* FMA: when its last byte was stored */

    struct sim_prefetch_event landing
        __attribute__((aligned(SIM_LINE))); /* the write becomes visible */
    struct aries_mr *mr; /* region that `land` writes into */
    uint8_t *data; /* inline_data, or a buffer until it has landed */
    uint64_t address; /* there; of what lands */
    uint64_t offset; /* in the message */
    uint32_t bytes, packets;
    uint8_t refs; /* request or response under way; landing under way */
    uint8_t status, info;
    bool admitted; /* holds its packets' ORB entries */
    bool received; /* took its share of the target's receive side */
    bool returned; /* its data took its share of the source's */
    bool fetched; /* its atomic has waited for the unit and the line */
    bool poisoned;
    uint8_t inline_data[CHUNK_INLINE_BYTES];
};
_Static_assert(offsetof(struct chunk, landing) == 4 * SIM_LINE &&
                   offsetof(struct chunk, inline_data) == 5 * SIM_LINE,
               "a chunk is five lines and its data");
#define CHUNK_LINES 5

struct aries_txn {
    union {
        struct sim_event pump;
        struct sim_prefetch_event pumping;
    };
    struct aries_nic *source;
    struct chunk *chunks; /* FMA PUT: captured, not sent yet; else at most one that waits */
    uint64_t offset; /* bytes cut into chunks so far */
    uint64_t landed; /* bytes visible at the target */
    uint32_t refs; /* itself until it finished, its chunks, its local event */
    uint32_t chunks_open; /* cut and not ended */
    uint8_t status, info;
    bool all_sent, has_ssid, remote_overrun;

    struct sim_ledger_entry entry;
    struct chain *chain; /* NULL: single */
    struct channel *channel; /* BTE */
    uint64_t flow;
    uint32_t lost; /* packets */
    struct aries_work work; /* of a PUT by FMA without flags: its first ARIES_WORK_SHORT bytes */

    double rate; /* of the stream, bytes per ns; 0: handed over at once */
    struct aries_txn *next; /* in whatever queue it waits: channel, SSID, ORB */
    sim_time_t ready; /* BTE: doorbell at the NIC */
    struct sim_event notify; /* local event of a BTE transfer */
} __attribute__((aligned(SIM_LINE)));
#define TXN_LINES 5 /* those that all transactions use */

struct txn_queue {
    struct aries_txn *head, **tail;
};

struct channel { /* of the BTE */
    struct aries_txn *active; /* feeds the network */
    struct txn_queue waiting;
    sim_time_t free_at;
    uint32_t open; /* started and not completed: what a fence waits for */
};

/* What every request and response needs lies in the first two lines. */
struct aries_sim_nic {
    sim_time_t fma_free, tx_free, rx_free, duplex_free;
    sim_time_t hang_until, stall_until;
    uint32_t orb_used, orb_get, ssid_used;
    uint32_t orb_limit; /* packets of requests in flight at most */

    uint32_t chunk_most; /* packets of a chunk at most, so that it keeps to that limit */
    bool holding; /* a job on it is suspended */
    struct txn_queue orb_waiting, ssid_waiting;
    sim_time_t npt_free, amo_free, ce_free;
    struct txn_queue held; /* of suspended jobs */
    struct channel channels[4];
    uint64_t *amo_lines; /* tags of cached lines, direct mapped; allocated at first use */
} __attribute__((aligned(SIM_LINE)));
#define SIM_NIC_LINES 2

struct aries_sim_fabric {
    struct aries_fabric *fabric; /* whose this is: set with throttle_end */
    struct aries_sim_nic *nics; /* by node */
    sim_time_t quiesce_until, quiesced; /* total time quiesced so far */
    sim_time_t throttle_until;
    double throttle; /* fraction of the injection rate */
    enum aries_mutation mutation;
    uint64_t mutate_every, mutate_seen;
    struct chunk *free_chunks;
    struct buffer *free_buffers[BUFFER_SIZES], *last_captured[CAPTURED];
    struct aries_txn *free_txns;
    struct slab *slabs, *txn_slabs, *buffer_slabs;
    struct aries_list chains, kernel_messages;
    struct sim_timer throttle_end; /* armed when balanced injection changes then */
};

struct chain { /* transactions with one completion */
    struct aries_list link; /* of all that are open */
    uint32_t open;
    uint8_t status, info;
    bool remote_overrun;
    void (*done)(void *context, uint8_t status, uint8_t info, bool remote_overrun);
    void *context;
};

/* sim/pool.c */
struct aries_txn *txn_new(struct aries_fabric *fabric);
void txn_free(struct aries_fabric *fabric, struct aries_txn *txn);
struct chunk *chunk_new(struct aries_fabric *fabric, uint32_t bytes);
void chunk_room(struct aries_fabric *fabric, struct chunk *chunk); /* makes room for its data */
/*
 * Programs send the same bytes again and again, thousands of ranks of a benchmark all the same: a
 * chunk that is equal to the last one that was captured shares its bytes, which then are in the
 * cache when they land. False: it is not. Else *digest is what was handed in for the last one.
 */
bool chunk_same_data(struct aries_fabric *fabric, struct chunk *chunk, const void *data,
                     uint64_t *digest);
void chunk_captured(struct aries_fabric *fabric, struct chunk *chunk, uint64_t digest);
/* A planted bug changes a byte: of this chunk alone. */
void chunk_spoil(struct aries_fabric *fabric, struct chunk *chunk);
/* Nobody needs its data any more. */
void chunk_drop_data(struct aries_fabric *fabric, struct chunk *chunk);
void chunk_unref(struct chunk *chunk);
void txn_queue_init(struct txn_queue *queue);
void txn_queue_push(struct txn_queue *queue, struct aries_txn *txn);
struct aries_txn *txn_queue_pop(struct txn_queue *queue);

/* sim/pool.c: what the handlers of a chunk's events look at, for the cache */
void pump_fetch(struct sim_event *event, unsigned stage);
void request_fetch(struct sim_event *event, unsigned stage);
void landing_fetch(struct sim_event *event, unsigned stage);
void response_fetch(struct sim_event *event, unsigned stage);

/* sim/source.c */
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
void aries_sim_orb_wake(struct aries_nic *nic); /* there may be room for requests */

/* sim/ce.c */
sim_time_t ce_wait(struct aries_nic *nic); /* how long a packet that arrives now waits its turn */
void ce_arrived(struct aries_nic *nic, struct chunk *chunk); /* sets its status */
uint32_t ce_units(const struct aries_work *work); /* phits of its packet */

/* sim/kernel.c */
void sim_kernel_fini(struct aries_fabric *fabric);

/* sim/target.c */
void target_arrive(struct sim_event *event); /* a request arrived: transfer.event of a chunk */

/* sim/faults.c */
/* A NIC found what a fault did to a packet of the transaction: an error event. */
void fault_found(struct aries_nic *nic, const struct aries_txn *txn, uint8_t status);
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

/*
 * Host reads for incoming GETs, one by one: 64 of them at a time keep up with the BTE, which reads
 * in the same way. The round trip of one (pcie_read) is for latency only: no lower rate was found
 * on the hosts where it is longer.
 */
static inline sim_time_t read_service(const struct aries_timing *timing)
{
    return (sim_time_t)(64 * PACKET_BYTES * 1e3 / timing->bte_rate) / timing->npt_tags;
}

/* NIC flits of 16 bytes that carry n bytes of data. */
static inline uint32_t data_flits(uint32_t bytes)
{
    return (bytes + 15) / 16;
}

#endif
