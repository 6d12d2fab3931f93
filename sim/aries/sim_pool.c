/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Pools of transactions and chunks: LIFO free lists over slabs, so that what is reused is still in
 * cache. */
#include "sim_nic.h"

#include <glib.h>
#include <stdlib.h>

#define SLAB_OBJECTS 64u
#define LARGE_BYTES 1024u
#define F0_CHUNK_PACKETS 256u /* a quarter of the packets that may be outstanding */

struct slab {
    struct slab *next;
    size_t object; /* bytes of each */
};

#define TXN_BYTES ((sizeof(struct aries_txn) + 63) & ~(size_t)63)

static char *slab_new(struct slab **list, size_t bytes)
{
    struct slab *slab = aligned_alloc(64, 64 + bytes);

    if (slab == NULL)
        g_error("out of memory for %zu bytes of transactions", bytes);
    memset(slab, 0, 64 + bytes);
    slab->next = *list;
    *list = slab;
    return (char *)slab + 64;
}

/* Chunks that left and did not come back. */
static uint32_t txn_in_flight(const struct aries_txn *txn)
{
    const struct chunk *chunk;
    uint32_t waiting = 0;

    for (chunk = txn->chunks; chunk != NULL; chunk = chunk->next)
        waiting += !chunk->admitted;
    return txn->chunks_open - waiting;
}

bool aries_sim_draining(const struct aries_nic *hw, uint8_t ptag)
{
    const struct slab *slab;
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

struct aries_txn *txn_new(struct aries_fabric *fabric)
{
    struct aries_sim_fabric *sim = fabric->sim;
    struct aries_txn *txn = sim->free_txns;

    if (sim_unlikely(txn == NULL)) {
        char *memory = slab_new(&sim->txn_slabs, SLAB_OBJECTS * TXN_BYTES);
        unsigned i;

        for (i = 0; i < SLAB_OBJECTS; i++) {
            txn = (struct aries_txn *)(memory + i * TXN_BYTES);
            txn->next = sim->free_txns;
            sim->free_txns = txn;
        }
    }
    sim->free_txns = txn->next;
    return txn;
}

void txn_free(struct aries_fabric *fabric, struct aries_txn *txn)
{
    txn->next = fabric->sim->free_txns;
    fabric->sim->free_txns = txn;
}

static void chunk_slab(struct aries_sim_fabric *sim, uint32_t extra, struct chunk **list)
{
    size_t size = (sizeof(struct chunk) + extra + 63) & ~(size_t)63;
    char *memory = slab_new(&sim->slabs, SLAB_OBJECTS * size);
    unsigned i;

    sim->slabs->object = size;

    for (i = 0; i < SLAB_OBJECTS; i++) {
        struct chunk *chunk = (struct chunk *)(memory + i * size);

        chunk->capacity = CHUNK_INLINE_BYTES + extra;
        chunk->next = *list;
        *list = chunk;
    }
}

struct chunk *chunk_new(struct aries_fabric *fabric, uint32_t bytes)
{
    struct aries_sim_fabric *sim = fabric->sim;
    bool large = bytes > CHUNK_INLINE_BYTES;
    struct chunk **list = large ? &sim->free_large : &sim->free_small;
    struct chunk *chunk;

    if (sim_unlikely(*list == NULL))
        chunk_slab(sim, large ? LARGE_BYTES - CHUNK_INLINE_BYTES : 0, list);
    chunk = *list;
    *list = chunk->next;
    /* Beyond a chunk of F1 (F0 moves 64 KiB at a time) the data has a buffer of its own. */
    chunk->data = sim_likely(bytes <= chunk->capacity) ? chunk->inline_data : g_malloc(bytes);
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

void chunk_unref(struct chunk *chunk)
{
    struct aries_txn *txn = chunk->txn;
    struct aries_fabric *fabric = txn_fabric(txn);
    struct chunk **list;

    if (--chunk->refs != 0)
        return;
    if (chunk->data != chunk->inline_data)
        g_free(chunk->data);
    list =
        chunk->capacity > CHUNK_INLINE_BYTES ? &fabric->sim->free_large : &fabric->sim->free_small;
    chunk->next = *list;
    *list = chunk;
    txn_unref(txn);
}

void txn_queue_init(struct txn_queue *queue)
{
    queue->head = NULL;
    queue->tail = &queue->head;
}

void txn_queue_push(struct txn_queue *queue, struct aries_txn *txn)
{
    txn->next = NULL;
    *queue->tail = txn;
    queue->tail = &txn->next;
}

struct aries_txn *txn_queue_pop(struct txn_queue *queue)
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
 * A chunk holds the outstanding-request entries of all its packets from when its head leaves until
 * its response is back, where hardware holds each for one round trip. Four chunks in flight keep
 * the stream going, and no chunk may need more entries than there are.
 */
static void limit_chunks(struct aries_timing *timing, enum net_fidelity fidelity)
{
    uint32_t least =
        timing->orb_bte_get < timing->orb_entries ? timing->orb_bte_get : timing->orb_entries;

    if (fidelity == NET_F0) /* no contention: few events per message */
        timing->chunk_packets = F0_CHUNK_PACKETS;
    if (fidelity == NET_F2)
        timing->chunk_packets = timing->chunk_packets_fixed = 1;
    if (timing->chunk_packets > least / 4)
        timing->chunk_packets = least < 4 ? 1 : least / 4;
    if (timing->chunk_packets_fixed > least / 4)
        timing->chunk_packets_fixed = least < 4 ? 1 : least / 4;
}

void aries_sim_fabric_init(struct aries_fabric *fabric)
{
    uint32_t node, channel;

    fabric->sim = g_new0(struct aries_sim_fabric, 1);
    fabric->sim->throttle = 1;
    aries_list_init(&fabric->sim->chains);
    aries_list_init(&fabric->sim->kernel_messages);
    limit_chunks(&fabric->timing, net_fidelity(fabric->net));
    for (node = 0; node < fabric->nodes; node++) {
        struct aries_sim_nic *nic = g_new0(struct aries_sim_nic, 1);

        txn_queue_init(&nic->orb_waiting);
        txn_queue_init(&nic->ssid_waiting);
        txn_queue_init(&nic->held);
        nic->orb_limit = fabric->timing.orb_entries;
        nic->chunk_most = UINT32_MAX;
        for (channel = 0; channel < 4; channel++)
            txn_queue_init(&nic->channels[channel].waiting);
        fabric->nics[node].sim = nic;
    }
}

static void slabs_free(struct slab *slab)
{
    while (slab != NULL) {
        struct slab *next = slab->next;

        free(slab);
        slab = next;
    }
}

/* Of chunks that are under way when the fabric goes. */
static void buffers_free(const struct slab *slab)
{
    for (; slab != NULL; slab = slab->next) {
        const char *memory = (const char *)slab + 64;
        unsigned i;

        for (i = 0; i < SLAB_OBJECTS; i++) {
            const struct chunk *chunk = (const struct chunk *)(memory + i * slab->object);

            if (chunk->refs > 0 && chunk->data != chunk->inline_data)
                g_free(chunk->data);
        }
    }
}

static void chains_free(struct aries_list *chains)
{
    while (!aries_list_empty(chains)) {
        struct chain *chain = sim_container_of(chains->next, struct chain, link);

        aries_list_remove(&chain->link);
        g_free(chain);
    }
}

void aries_sim_fabric_fini(struct aries_fabric *fabric)
{
    uint32_t node;

    ce_fini(fabric);
    for (node = 0; node < fabric->nodes; node++) {
        g_free(fabric->nics[node].sim->amo_lines);
        g_free(fabric->nics[node].sim);
    }
    buffers_free(fabric->sim->slabs);
    chains_free(&fabric->sim->chains);
    slabs_free(fabric->sim->slabs);
    slabs_free(fabric->sim->txn_slabs);
    sim_timer_cancel(&fabric->sim->throttle_end);
    sim_kernel_fini(fabric);
    g_free(fabric->sim);
    fabric->sim = NULL;
}
