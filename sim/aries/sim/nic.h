/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The simulated NIC back end: the types and functions that its files share.
 *
 *   sim/source.c  submit, the pump that sends chunks, admission (SSID, ORB, BTE channel),
 * completion sim/chunk.c   cutting a transaction into chunks, handing a chunk to the network
 *   sim/target.c  arrival of requests: translation, memory, atomics, events; responses
 *   sim/faults.c  crash, hang, stall, quiesce, throttle, deliberate bugs
 *   sim/pool.c    transactions and chunks
 *   sim/kernel.c  messages between the kernels (datagrams)
 *   sim/ce.c      packets of the collective engine
 *   sim/access.c  which memory the transfers in flight use
 *   sim/source_copy.c  whether a program changes the source of a PUT too early
 *
 * A transaction is sent as chunks of up to 64 packets (F1). The states of a chunk; each step is one
 * event:
 *
 *   pump ──net──▶ arrive ─┬──net──▶ respond ──▶ transaction done?
 *                         └────────▶ land (visible in target memory, remote event)
 */
#ifndef JACQUARD_ARIES_SIM_NIC_H
#define JACQUARD_ARIES_SIM_NIC_H

#include "nic/interface.h"
#include "nic/stages.h"

#define ARIES_CHUNK_INLINE_BYTES 88u /* to the end of a line */
#define ARIES_AMO_LINE_SHIFT 6

struct aries_txn;

/* Buffers for the data of chunks: 1 KiB, 4 KiB. */
enum aries_buffer_size { ARIES_BUFFER_1K, ARIES_BUFFER_4K, ARIES_BUFFER_SIZES };
#define ARIES_CAPTURED_PLACES \
    8u /* number of offsets in a message, 1 KiB apart, whose last content is remembered */

/*
 * Some packets of a transaction: first requests, then responses. Hundreds are in flight at a time,
 * so in both structures what one event uses lies together.
 */
struct aries_chunk {
    uint32_t packets;
    uint32_t flits; /* NIC flits of the packets that carry its data */
    struct aries_nic *at; /* the NIC that it is sent to */
    /* Of the request, then of the response; for a lost chunk, of the timeout. */
    struct net_transfer transfer; /* two lines at F1, and more where it passes several links */

    /* The landing uses nothing before. */
    struct sim_prefetch_event landing
        __attribute__((aligned(SIM_LINE))); /* the write becomes visible */
    union {
        struct aries_txn *txn;
        struct aries_chunk *next_free;
    };
    struct aries_mr *mr; /* region that the landing writes into */
    uint8_t *data; /* inline_data, or a buffer until the write has landed */
    uint64_t address; /* target address of the data */
    uint64_t offset; /* offset in the message */
    uint32_t bytes;
    uint8_t refs; /* one for the request or response in flight, one for the landing in flight */
    uint8_t status, info;
    bool admitted : 1; /* holds the ORB entries of its packets */
    bool received : 1; /* has used its time of the target's receive side */
    bool returned : 1; /* its data has used its time of the source's receive side */
    bool fetched : 1; /* its atomic operation has waited for the unit and the cache line */
    bool poisoned : 1;

    sim_time_t feed; /* how long the NIC takes to hand it to the network */
    sim_time_t sent; /* time when its head left the source */
    uint64_t frozen; /* total quiesced time when it was sent: timers stand still while quiesced */
    struct aries_chunk *next; /* next chunk of the transaction */
    sim_time_t ready; /* FMA: time when its last byte was stored */
    uint8_t inline_data[ARIES_CHUNK_INLINE_BYTES];
};
_Static_assert(offsetof(struct aries_chunk, transfer.flight.passed[1]) == 2 * SIM_LINE &&
                   offsetof(struct aries_chunk, landing) == 4 * SIM_LINE &&
                   offsetof(struct aries_chunk, feed) == 5 * SIM_LINE &&
                   sizeof(struct aries_chunk) == 7 * SIM_LINE,
               "lines as described; an odd number of them spreads over all sets of a cache");
/* Two lines for the request and its response, and from the landing on two, with short data. */
#define ARIES_CHUNK_LINES 2

struct aries_txn {
    union {
        struct sim_event pump;
        struct sim_prefetch_event pumping;
    };
    union {
        struct aries_nic *source;
        struct aries_txn *next_free;
    };
    /* FMA PUT: captured and not sent yet; otherwise at most one that waits. */
    struct aries_chunk *chunks;
    uint64_t offset; /* number of bytes cut into chunks so far */
    double rate; /* rate of the stream in bytes per ns; 0: handed over at once */
    /* One until the transaction is finished, one for each chunk and for the local event. */
    uint32_t refs;
    uint32_t chunks_open; /* chunks that were cut and have not ended */
    uint8_t status, info;
    bool all_sent, has_ssid, remote_overrun;
    uint16_t boots; /* of the source, when it began */

    /* The landing uses these, the first of the entry, and those of `work`. */
    uint64_t landed; /* number of bytes visible at the target */
    uint64_t flow;
    struct sim_ledger_entry entry;
    struct aries_chain *chain; /* NULL: a single transaction */
    struct aries_bte_channel *channel; /* BTE */
    /* Of a PUT by FMA without flags, only the first ARIES_WORK_SHORT bytes. */
    struct aries_work work;

    uint32_t lost; /* packets */
    struct aries_txn *next; /* next in the queue where it waits: channel, SSID or ORB */
    sim_time_t ready; /* BTE: time when the doorbell reaches the NIC */
    struct sim_event notify; /* local event of a BTE transfer */
    struct aries_source_copy *source_copy; /* BTE PUT: what the source was at the post; or NULL */
    struct aries_access_span *access; /* posts: the memory that it uses; or NULL */
} __attribute__((aligned(SIM_LINE)));
/* Its node has not crashed since it began. A NIC that boots again knows nothing of it. */
static inline bool aries_txn_source_alive(const struct aries_txn *txn)
{
    return txn->source->alive && txn->boots == txn->source->boots;
}
_Static_assert(offsetof(struct aries_txn, landed) == SIM_LINE &&
                   offsetof(struct aries_txn, entry.previous) == 2 * SIM_LINE &&
                   offsetof(struct aries_txn, work) == 3 * SIM_LINE,
               "lines as described");
#define ARIES_TXN_LINES 5 /* cache lines that all transactions use */

struct aries_txn_queue {
    struct aries_txn *head, **tail;
};

struct aries_bte_channel { /* of the BTE */
    struct aries_txn *active; /* the transaction that feeds the network */
    struct aries_txn_queue waiting;
    sim_time_t free_at;
    uint32_t open; /* number of transactions started and not completed: a fence waits for them */
};

/* The first two cache lines hold the fields that every request and response needs. */
struct aries_sim_nic {
    sim_time_t fma_free, tx_free, rx_free, duplex_free;
    sim_time_t hang_until, stall_until;
    uint32_t orb_used, orb_get, ssid_used;
    uint32_t orb_limit; /* maximum number of request packets in flight */

    uint32_t chunk_most; /* maximum number of packets of a chunk under that limit */
    bool holding; /* a job on this NIC is suspended */
    struct aries_txn_queue orb_waiting, ssid_waiting;
    uint64_t delivered_bytes; /* of the data of this NIC's own transfers, see aries.h */
    sim_time_t npt_free, amo_free, ce_free;
    struct aries_txn_queue held; /* transactions of suspended jobs */
    struct aries_bte_channel channels[4];
    uint64_t *amo_lines; /* tags of the cached lines, direct mapped; allocated at first use */
} __attribute__((aligned(SIM_LINE)));
#define ARIES_SIM_NIC_LINES 2

struct aries_sim_fabric {
    struct aries_fabric *fabric; /* owner of this state; set together with throttle_end */
    struct aries_sim_nic *nics; /* by node */
    sim_time_t quiesce_until, quiesced; /* quiesced: total time so far */
    sim_time_t throttle_until;
    double throttle; /* fraction of the injection rate */
    struct aries_chunk *free_chunks;
    struct aries_buffer *free_buffers[ARIES_BUFFER_SIZES], *last_captured[ARIES_CAPTURED_PLACES];
    struct aries_txn *free_txns;
    struct aries_slab *slabs, *txn_slabs, *buffer_slabs;
    struct aries_list chains, kernel_messages, source_copies;
    struct aries_accesses *accesses; /* transfers in flight; NULL until the first one */
    struct sim_timer throttle_end; /* armed if balanced injection changes at that time */
};

struct aries_chain { /* transactions with one completion */
    struct aries_list link; /* in the list of open chains */
    uint32_t open;
    uint8_t status, info;
    bool remote_overrun;
    void (*done)(void *context, uint8_t status, uint8_t info, bool remote_overrun);
    void *context;
};

/* sim/pool.c */
struct aries_txn *aries_txn_new(struct aries_fabric *fabric);
void aries_txn_free(struct aries_fabric *fabric, struct aries_txn *txn);
struct aries_chunk *aries_chunk_new(struct aries_fabric *fabric, uint32_t bytes);
void aries_chunk_make_room(struct aries_fabric *fabric,
                           struct aries_chunk *chunk); /* allocates memory for its data */
/*
 * Programs often send the same bytes again, and so do thousands of ranks of a benchmark. If a
 * chunk equals the last one that was captured at its offset, it shares that chunk's bytes, which
 * are then in the cache when they land. False: it does not. On true, *digest is the digest of the
 * last one.
 */
bool aries_chunk_share_data(struct aries_fabric *fabric, struct aries_chunk *chunk,
                            const void *data, uint64_t *digest);
void aries_chunk_remember_data(struct aries_fabric *fabric, struct aries_chunk *chunk,
                               uint64_t digest);
/* Frees the data of a chunk. */
void aries_chunk_drop_data(struct aries_fabric *fabric, struct aries_chunk *chunk);
void aries_chunk_unref(struct aries_chunk *chunk);
void aries_txn_queue_init(struct aries_txn_queue *queue);
void aries_txn_queue_push(struct aries_txn_queue *queue, struct aries_txn *txn);
struct aries_txn *aries_txn_queue_pop(struct aries_txn_queue *queue);

/* sim/pool.c: prefetch the data that the handlers of a chunk's events use. */
void aries_pump_prefetch(struct sim_event *event, unsigned stage);
void aries_arrival_prefetch(struct sim_event *event, unsigned stage);
void aries_landing_prefetch(struct sim_event *event, unsigned stage);
void aries_response_prefetch(struct sim_event *event, unsigned stage);

/* sim/chunk.c */
/* End of the bytes of the chunk that begins at `offset`. */
uint64_t aries_chunk_range_end(const struct aries_txn *txn, uint64_t offset);
/* Makes a chunk of the bytes from `offset` to `end`. */
struct aries_chunk *aries_chunk_cut(struct aries_txn *txn, uint64_t offset, uint64_t end);
/*
 * FMA PUT: the CPU stores the data during the call, so all of it is captured now. A packet leaves
 * when it is stored completely.
 */
void aries_chunk_cut_stores(struct aries_txn *txn, const struct aries_work *work);
/*
 * BTE: reads the next piece from registered memory when it is due. False: the chunk has ended with
 * an error.
 */
bool aries_chunk_read_local(struct aries_txn *txn, struct aries_chunk *chunk);
/* Reserves the transmit side for the chunk. Returns how long it waits. */
sim_time_t aries_chunk_reserve_transmit(struct aries_chunk *chunk);
/* Time in which the unit feeds so many bytes into the network. */
sim_time_t aries_chunk_feed(const struct aries_txn *txn, uint64_t bytes);
/* Sends a chunk as a request. */
void aries_chunk_send_request(struct aries_chunk *chunk);

/* sim/source.c */
void aries_sim_submit(struct gni_nic *nic, const struct aries_work *work);
void aries_sim_submit_chain(struct gni_nic *nic, const struct aries_work *works, uint32_t count);
/* Hands chunk->transfer to the network. */
void aries_chunk_launch(struct aries_fabric *fabric, struct aries_chunk *chunk, sim_time_t feed);
/*
 * Wire units of the packets that carry the chunk's data, with `header` units each. *last: the
 * units of the largest of the final packets. These follow each other closely, so the largest
 * arrives last.
 */
uint32_t aries_chunk_units(const struct aries_chunk *chunk, uint32_t header, uint32_t *last);
void aries_source_response_arrived(
    struct sim_event *event); /* transfer.event: a response has arrived */
void aries_source_chunk_lost(struct aries_chunk *chunk,
                             uint32_t packets); /* the response of the chunk will never arrive */
void aries_source_chunk_end(
    struct aries_chunk *chunk); /* the response was handled, or its timeout has passed */
void aries_txn_unref(struct aries_txn *txn);
void aries_sim_orb_wake(struct aries_nic *nic); /* there may be free ORB entries */

/* sim/hit.c: records of faults */
struct sim_fault_subject aries_sim_fault_subject(const struct aries_chunk *chunk);
/* For net_set_describe(). */
/* Adds the two ends of a request to the next point of the trace: node and ranks. */
void aries_sim_trace_ends(const struct aries_txn *txn) __attribute__((cold));
void aries_sim_describe_transfer(const struct net_transfer *transfer, struct sim_fault_hit *hit);
/* The chunk is lost, and no fault rule dropped it: a link, a router or a node is down. */
void aries_sim_loss_record(struct aries_chunk *chunk) __attribute__((cold));
void aries_sim_failure_record(const struct aries_txn *txn) __attribute__((cold));

/* sim/ce.c */
sim_time_t
aries_sim_ce_wait(struct aries_nic *nic); /* how long a packet that arrives now has to wait */
void aries_sim_ce_arrived(struct aries_nic *nic, struct aries_chunk *chunk); /* sets its status */
uint32_t aries_sim_ce_phits(const struct aries_work *work); /* number of phits of its packet */

/* sim/kernel.c */
void aries_sim_kernel_fini(struct aries_fabric *fabric);

/* sim/target.c */
void aries_target_request_arrived(
    struct sim_event *event); /* transfer.event of a chunk: a request has arrived */

/*
 * sim/source_copy.c: the source of a PUT by BTE as it was at the post. The NIC reads it later; a
 * program that changes it before that breaks the rule aries.source-changed.
 */
/* Takes the copy. None is taken of a source that the NIC will not be able to read. */
void aries_source_copy_new(struct aries_txn *txn, struct gni_nic *nic, sim_time_t posted);
/* The NIC has read a chunk of the source. `mr`: the registration of the source. */
void aries_source_copy_compare(struct aries_txn *txn, const struct aries_chunk *chunk,
                               const struct aries_mr *mr);
void aries_source_copy_free(struct aries_txn *txn);
void aries_source_copies_free(struct aries_fabric *fabric); /* of all transactions in flight */

/*
 * sim/access.c: the memory that a post uses. A transaction of SMSG (work.remote_optional) has none,
 * so its path has no more than a branch.
 */
void aries_access_begin(struct aries_txn *txn, const struct aries_work *work,
                        const struct gni_nic *nic);
void aries_access_remote_done(struct aries_txn *txn); /* the target's bytes are written or read */
void aries_access_local_done(struct aries_txn *txn); /* the source of a PUT has been read */
void aries_access_end(struct aries_txn *txn);
void aries_accesses_free(struct aries_fabric *fabric);

static inline bool aries_txn_has_access(const struct aries_txn *txn)
{
    return !txn->work.remote_optional && txn->access != NULL;
}

/* sim/faults.c */
/* Raises an error event: a NIC found that a fault has changed a packet of the transaction. */
void aries_sim_report_fault(struct aries_nic *nic, const struct aries_txn *txn, uint8_t status);

static inline struct aries_fabric *aries_txn_fabric(const struct aries_txn *txn)
{
    return txn->source->fabric;
}

/*
 * Reserves `service` of a resource for a chunk. The resource processes packets as they arrive: the
 * first one at `head`, the last one `feed` later. The chunk waits for the work that is left from
 * others. It leaves the part of its own work that could not be done while it arrived. Returns how
 * long it waits.
 */
static inline sim_time_t aries_sim_occupy(sim_time_t *free_at, sim_time_t head, sim_time_t feed,
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
 * Time of a host read for an incoming GET: 64 concurrent reads keep up with the BTE, which reads
 * in the same way. The round trip of one read (pcie_read) only adds latency: no lower rate was
 * found on hosts where it is longer.
 */
static inline sim_time_t aries_host_read_service(const struct aries_timing *timing)
{
    return (sim_time_t)(64 * ARIES_PACKET_BYTES * 1e3 / timing->bte_rate) / timing->npt_tags;
}

/* Number of NIC flits of 16 bytes that carry n bytes of data. */
static inline uint32_t aries_data_flits(uint32_t bytes)
{
    return (bytes + 15) / 16;
}

#endif
