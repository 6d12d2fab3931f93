/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Pools of transactions and chunks: LIFO free lists over slabs, so that reused memory is still in
 * the cache.
 */
#include "sim/nic.h"

#include <assert.h>
#include <glib.h>
#include <stdlib.h>

#define SLAB_OBJECTS 64u
#define F0_CHUNK_PACKETS 256u /* a quarter of the packets that may be in flight */

struct aries_slab {
    struct aries_slab *next;
};

#define TXN_BYTES sizeof(struct aries_txn)
_Static_assert(offsetof(struct aries_txn, work) + ARIES_WORK_SHORT <= ARIES_TXN_LINES * SIM_LINE,
               "what all transactions use");

static char *slab_new(struct aries_slab **list, size_t bytes)
{
    struct aries_slab *slab = aries_lines_new(64 + bytes);

    slab->next = *list;
    *list = slab;
    return (char *)slab + 64;
}

/* Number of packets of chunks that were sent and have not returned. */
static uint32_t txn_in_flight(const struct aries_txn *txn)
{
    const struct aries_chunk *chunk;
    uint32_t waiting = 0;

    for (chunk = txn->chunks; chunk != NULL; chunk = chunk->next)
        waiting += !chunk->admitted;
    return txn->chunks_open - waiting;
}

bool aries_hw_draining(const struct aries_nic *hw, uint8_t ptag)
{
    const struct aries_slab *slab;
    unsigned i;

    for (slab = hw->fabric->sim->txn_slabs; slab != NULL; slab = slab->next) {
        const char *memory = (const char *)slab + 64;

        for (i = 0; i < SLAB_OBJECTS; i++) {
            const struct aries_txn *txn = (const struct aries_txn *)(memory + i * TXN_BYTES);

            if (txn->refs > 0 && txn->source == hw && txn->work.ptag == ptag &&
                txn_in_flight(txn) > 0)
                return true;
        }
    }
    return false;
}

struct aries_txn *aries_txn_new(struct aries_fabric *fabric)
{
    struct aries_sim_fabric *sim = fabric->sim;
    struct aries_txn *txn = sim->free_txns;

    if (sim_unlikely(txn == NULL)) {
        char *memory = slab_new(&sim->txn_slabs, SLAB_OBJECTS * TXN_BYTES);
        unsigned i;

        for (i = 0; i < SLAB_OBJECTS; i++) {
            txn = (struct aries_txn *)(memory + i * TXN_BYTES);
            txn->next_free = sim->free_txns;
            sim->free_txns = txn;
        }
    }
    sim->free_txns = txn->next_free;
    /* With many transactions in flight these lines are not in the cache. */
    sim_fetch(sim->free_txns, ARIES_TXN_LINES);
    return txn;
}

void aries_txn_free(struct aries_fabric *fabric, struct aries_txn *txn)
{
    txn->next_free = fabric->sim->free_txns;
    fabric->sim->free_txns = txn;
}

#define CHUNK_BYTES sizeof(struct aries_chunk)

/* The lines of a chunk that all its events but the landing use. */
static inline void fetch_chunk(const struct aries_chunk *chunk)
{
    sim_fetch(chunk, ARIES_CHUNK_LINES);
    if (chunk != NULL)
        sim_fetch(&chunk->landing, ARIES_CHUNK_LINES);
}

static const uint32_t buffer_bytes[ARIES_BUFFER_SIZES] = {1024, 4096};

struct aries_buffer {
    struct aries_buffer *next;
    /* Number of chunks with these bytes, plus one if these are the last captured bytes. */
    uint32_t refs;
    uint32_t length; /* length of the captured bytes */
    uint64_t offset, digest; /* offset in the message, and digest, as the caller passed them */
    uint8_t bytes[] __attribute__((aligned(SIM_LINE)));
};

/* Larger chunks than the largest of F1 have memory of their own (F0 moves 16 KiB at a time). */
static enum aries_buffer_size buffer_size_of(uint32_t bytes)
{
    return bytes <= buffer_bytes[ARIES_BUFFER_1K]   ? ARIES_BUFFER_1K
           : bytes <= buffer_bytes[ARIES_BUFFER_4K] ? ARIES_BUFFER_4K
                                                    : ARIES_BUFFER_SIZES;
}

static struct aries_buffer *buffer_of(const struct aries_chunk *chunk)
{
    return (struct aries_buffer *)(chunk->data - offsetof(struct aries_buffer, bytes));
}

static void buffer_slab(struct aries_sim_fabric *sim, enum aries_buffer_size size)
{
    size_t each = sizeof(struct aries_buffer) + buffer_bytes[size];
    char *memory = slab_new(&sim->buffer_slabs, SLAB_OBJECTS * each);
    unsigned i;

    for (i = 0; i < SLAB_OBJECTS; i++) {
        struct aries_buffer *buffer = (struct aries_buffer *)(memory + i * each);

        buffer->next = sim->free_buffers[size];
        sim->free_buffers[size] = buffer;
    }
}

static struct aries_buffer *buffer_new(struct aries_sim_fabric *sim, uint32_t bytes)
{
    enum aries_buffer_size size = buffer_size_of(bytes);
    struct aries_buffer *buffer;

    if (size == ARIES_BUFFER_SIZES) {
        buffer = aries_lines_new(sizeof(struct aries_buffer) + bytes);
    } else {
        if (sim_unlikely(sim->free_buffers[size] == NULL))
            buffer_slab(sim, size);
        buffer = sim->free_buffers[size];
        sim->free_buffers[size] = buffer->next;
        sim_fetch(buffer->next, 1);
    }
    buffer->refs = 1;
    return buffer;
}

static void buffer_unref(struct aries_sim_fabric *sim, struct aries_buffer *buffer, uint32_t bytes)
{
    enum aries_buffer_size size = buffer_size_of(bytes);

    assert(buffer->refs > 0);
    if (--buffer->refs > 0)
        return;
    if (size == ARIES_BUFFER_SIZES) {
        free(buffer);
        return;
    }
    buffer->next = sim->free_buffers[size];
    sim->free_buffers[size] = buffer;
}

void aries_chunk_make_room(struct aries_fabric *fabric, struct aries_chunk *chunk)
{
    if (chunk->bytes > ARIES_CHUNK_INLINE_BYTES)
        chunk->data = buffer_new(fabric->sim, chunk->bytes)->bytes;
}

/* The last bytes that were captured at this offset of a message. */
static struct aries_buffer **last_at(struct aries_fabric *fabric, const struct aries_chunk *chunk)
{
    return &fabric->sim->last_captured[chunk->offset / buffer_bytes[ARIES_BUFFER_1K] %
                                       ARIES_CAPTURED_PLACES];
}

bool aries_chunk_share_data(struct aries_fabric *fabric, struct aries_chunk *chunk,
                            const void *data, uint64_t *digest)
{
    struct aries_buffer *last = *last_at(fabric, chunk);

    if (last == NULL || last->length != chunk->bytes || last->offset != chunk->offset ||
        memcmp(last->bytes, data, chunk->bytes) != 0)
        return false;
    assert(last->refs > 0 && chunk->data == chunk->inline_data);
    last->refs++;
    chunk->data = last->bytes;
    *digest = last->digest;
    return true;
}

void aries_chunk_remember_data(struct aries_fabric *fabric, struct aries_chunk *chunk,
                               uint64_t digest)
{
    struct aries_buffer **last = last_at(fabric, chunk), *buffer;

    if (chunk->data == chunk->inline_data || buffer_size_of(chunk->bytes) == ARIES_BUFFER_SIZES)
        return;
    if (*last != NULL)
        buffer_unref(fabric->sim, *last, (*last)->length);
    buffer = *last = buffer_of(chunk);
    buffer->refs++;
    buffer->length = chunk->bytes;
    buffer->offset = chunk->offset;
    buffer->digest = digest;
}

void aries_chunk_drop_data(struct aries_fabric *fabric, struct aries_chunk *chunk)
{
    if (chunk->data != chunk->inline_data)
        buffer_unref(fabric->sim, buffer_of(chunk), chunk->bytes);
    chunk->data = chunk->inline_data;
}

static void chunk_slab(struct aries_sim_fabric *sim)
{
    char *memory = slab_new(&sim->slabs, SLAB_OBJECTS * CHUNK_BYTES);
    unsigned i;

    for (i = 0; i < SLAB_OBJECTS; i++) {
        struct aries_chunk *chunk = (struct aries_chunk *)(memory + i * CHUNK_BYTES);

        chunk->next_free = sim->free_chunks;
        sim->free_chunks = chunk;
    }
}

struct aries_chunk *aries_chunk_new(struct aries_fabric *fabric, uint32_t bytes)
{
    struct aries_sim_fabric *sim = fabric->sim;
    struct aries_chunk *chunk;

    if (sim_unlikely(sim->free_chunks == NULL))
        chunk_slab(sim);
    chunk = sim->free_chunks;
    sim->free_chunks = chunk->next_free;
    fetch_chunk(sim->free_chunks);
    chunk->data = chunk->inline_data;
    chunk->next = NULL;
    chunk->mr = NULL;
    chunk->bytes = bytes;
    chunk->refs = 1;
    chunk->status = chunk->info = 0;
    chunk->admitted = chunk->received = chunk->returned = false;
    chunk->fetched = chunk->poisoned = false;
    chunk->feed = 0;
    return chunk;
}

void aries_chunk_unref(struct aries_chunk *chunk)
{
    struct aries_txn *txn = chunk->txn;
    struct aries_fabric *fabric;

    assert(chunk->refs > 0);
    if (--chunk->refs != 0)
        return;
    fabric = aries_txn_fabric(txn);
    aries_chunk_drop_data(fabric, chunk);
    chunk->next_free = fabric->sim->free_chunks;
    fabric->sim->free_chunks = chunk;
    aries_txn_unref(txn);
}

void aries_txn_queue_init(struct aries_txn_queue *queue)
{
    queue->head = NULL;
    queue->tail = &queue->head;
}

void aries_txn_queue_push(struct aries_txn_queue *queue, struct aries_txn *txn)
{
    txn->next = NULL;
    *queue->tail = txn;
    queue->tail = &txn->next;
}

struct aries_txn *aries_txn_queue_pop(struct aries_txn_queue *queue)
{
    struct aries_txn *txn = queue->head;

    if (txn != NULL) {
        queue->head = txn->next;
        if (queue->head == NULL)
            queue->tail = &queue->head;
    }
    return txn;
}

/*
 * A chunk holds the ORB entries of all its packets from the time when its head leaves until its
 * response is back, whereas hardware holds each entry for one round trip. Four chunks in flight
 * keep the stream busy, and no chunk may need more entries than exist.
 */
static void limit_chunks(struct aries_timing *timing, enum net_fidelity fidelity)
{
    uint32_t least =
        timing->orb_bte_get < timing->orb_entries ? timing->orb_bte_get : timing->orb_entries;

    if (fidelity == NET_F0) /* F0 models no contention, so few events per message are enough */
        timing->chunk_packets = F0_CHUNK_PACKETS;
    timing->burst_apart = fidelity == NET_F0; /* at F1 trains divide the time of their stores */
    if (fidelity == NET_F2)
        timing->chunk_packets = timing->chunk_packets_fixed = 1;
    if (timing->chunk_packets > least / 4)
        timing->chunk_packets = least < 4 ? 1 : least / 4;
    if (timing->chunk_packets_fixed > least / 4)
        timing->chunk_packets_fixed = least < 4 ? 1 : least / 4;
}

void aries_hw_fabric_init(struct aries_fabric *fabric)
{
    uint32_t node, channel;

    fabric->sim = g_new0(struct aries_sim_fabric, 1);
    fabric->sim->nics = aries_lines_new(fabric->nodes * sizeof(struct aries_sim_nic));
    fabric->sim->throttle = 1;
    fabric->checks = true;
    aries_list_init(&fabric->sim->source_copies);
    aries_list_init(&fabric->sim->chains);
    aries_list_init(&fabric->sim->kernel_messages);
    net_set_describe(fabric->net, NULL, aries_sim_describe_transfer);
    limit_chunks(&fabric->timing, net_fidelity(fabric->net));
    for (node = 0; node < fabric->nodes; node++) {
        struct aries_sim_nic *nic = &fabric->sim->nics[node];

        aries_txn_queue_init(&nic->orb_waiting);
        aries_txn_queue_init(&nic->ssid_waiting);
        aries_txn_queue_init(&nic->held);
        nic->orb_limit = fabric->timing.orb_entries;
        nic->chunk_most = UINT32_MAX;
        for (channel = 0; channel < 4; channel++)
            aries_txn_queue_init(&nic->channels[channel].waiting);
        fabric->nics[node].sim = nic;
    }
}

static void slabs_free(struct aries_slab *slab)
{
    while (slab != NULL) {
        struct aries_slab *next = slab->next;

        free(slab);
        slab = next;
    }
}

/* Frees the data of chunks that are in flight when the fabric is destroyed. */
static void buffers_free(const struct aries_slab *slab)
{
    for (; slab != NULL; slab = slab->next) {
        const char *memory = (const char *)slab + 64;
        unsigned i;

        for (i = 0; i < SLAB_OBJECTS; i++) {
            const struct aries_chunk *chunk =
                (const struct aries_chunk *)(memory + i * CHUNK_BYTES);

            if (chunk->refs > 0 && chunk->data != chunk->inline_data &&
                buffer_size_of(chunk->bytes) == ARIES_BUFFER_SIZES)
                free(buffer_of(chunk));
        }
    }
}

static void chains_free(struct aries_list *chains)
{
    while (!aries_list_empty(chains)) {
        struct aries_chain *chain = sim_container_of(chains->next, struct aries_chain, link);

        aries_list_remove(&chain->link);
        g_free(chain);
    }
}

void aries_hw_fabric_fini(struct aries_fabric *fabric)
{
    uint32_t node;

    for (node = 0; node < fabric->nodes; node++)
        g_free(fabric->sim->nics[node].amo_lines);
    free(fabric->sim->nics);
    buffers_free(fabric->sim->slabs);
    chains_free(&fabric->sim->chains);
    slabs_free(fabric->sim->slabs);
    slabs_free(fabric->sim->txn_slabs);
    slabs_free(fabric->sim->buffer_slabs);
    aries_source_copies_free(fabric);
    aries_accesses_free(fabric);
    sim_timer_cancel(&fabric->sim->throttle_end);
    aries_sim_kernel_fini(fabric);
    g_free(fabric->sim);
    fabric->sim = NULL;
}

/* ---- the cache ------------------------------------------------------------------------------- */

#define DATA_LINES 8u /* prefetched in the first stage; the rest follows in the next one */

/* Prefetches the part of the data that belongs to a stage. */
static void fetch_data(const void *data, uint32_t bytes, unsigned stage)
{
    uint32_t lines = (bytes + SIM_LINE - 1) / SIM_LINE, begin = stage == 0 ? 0 : DATA_LINES;
    uint32_t end = stage == 0 ? DATA_LINES : buffer_bytes[ARIES_BUFFER_4K] / SIM_LINE;

    end = end < lines ? end : lines;
    if (begin < end)
        sim_fetch((const char *)data + (size_t)begin * SIM_LINE, end - begin);
}

static const struct aries_chunk *chunk_of(const struct sim_event *event)
{
    return sim_container_of(event, const struct aries_chunk, transfer.event);
}

void aries_pump_prefetch(struct sim_event *event, unsigned stage)
{
    const struct aries_txn *txn = sim_container_of(event, struct aries_txn, pump);

    if (stage == 0) {
        sim_fetch((const char *)txn + SIM_LINE, ARIES_TXN_LINES - 1);
        sim_fetch(txn->source, 1);
        fetch_chunk(txn->chunks);
    } else if (stage == 1) {
        sim_fetch(txn->source->sim, ARIES_SIM_NIC_LINES);
    }
}

void aries_arrival_prefetch(struct sim_event *event, unsigned stage)
{
    const struct aries_chunk *chunk = chunk_of(event);
    const struct aries_txn *txn = chunk->txn;

    if (stage == 0) {
        fetch_chunk(chunk);
        sim_fetch(&txn->landed, 1);
        sim_fetch(&txn->work, 1);
        sim_fetch(chunk->at, 1);
    } else if (stage == 1) {
        sim_fetch((const void *)(uintptr_t)(txn->work.remote_addr + chunk->offset), 1);
        sim_fetch(chunk->at->sim, ARIES_SIM_NIC_LINES);
        if (txn->work.op < ARIES_CE_JOIN)
            aries_mr_fetch(chunk->at, &txn->work.remote_handle);
    }
}

void aries_landing_prefetch(struct sim_event *event, unsigned stage)
{
    const struct aries_chunk *chunk = sim_container_of(event, struct aries_chunk, landing.event);

    if (stage == 0) {
        sim_fetch(chunk->mr, 1);
        fetch_data(chunk->data, chunk->bytes, 0);
        fetch_data((const void *)(uintptr_t)chunk->address, chunk->bytes, 0);
    } else if (stage == 1) {
        fetch_data(chunk->data, chunk->bytes, 1);
        fetch_data((const void *)(uintptr_t)chunk->address, chunk->bytes, 1);
        sim_fetch(&chunk->txn->landed, 1);
        sim_fetch(&chunk->txn->work, 2);
        aries_process_fetch(chunk->mr->process, 0);
    } else {
        sim_fetch(chunk->txn->work.target, 1);
        aries_process_fetch(chunk->mr->process, 1);
    }
}

void aries_response_prefetch(struct sim_event *event, unsigned stage)
{
    const struct aries_chunk *chunk = chunk_of(event);
    const struct aries_txn *txn = chunk->txn;

    if (stage == 0) {
        sim_fetch((const char *)chunk + SIM_LINE, 1);
        sim_fetch(&chunk->landing, 1);
        sim_fetch(txn, ARIES_TXN_LINES);
        sim_fetch(chunk->at, 1);
    } else if (stage == 1) {
        sim_fetch(chunk->at->sim, ARIES_SIM_NIC_LINES);
        sim_fetch(txn->work.context, 1);
        sim_fetch(txn->work.own, 1);
        aries_process_fetch(txn->work.process, 0);
    } else {
        if (txn->work.fiber != NULL)
            sim_fiber_fetch(txn->work.fiber, 0);
        if (txn->work.own != NULL && txn->work.process != NULL)
            aries_post_fetch(txn->work.context, txn->work.own);
    }
}
