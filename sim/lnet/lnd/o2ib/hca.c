/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A channel adapter: injects flights chunk by chunk at the rate of its path, and hands arriving
 * chunks to the queue pair, or to the connection manager, that they are for.
 */
#include <assert.h>
#include <glib.h>
#include <string.h>
#include "verbs_internal.h"

#define PACKETS_PER_CHUNK 16u
/* Headers of a packet: local route 8, transport 12, RDMA 16 in the first, checks 6 (rounded). */
#define PACKET_HEADER_BYTES 32u

struct chunk {
    struct net_transfer transfer;
    struct chunk *next; /* free list */
    struct lnet_flight *flight;
    uint32_t attempt, offset, bytes;
    bool last;
};

/* The adapters of a network, by endpoint. */
struct lnet_verbs_net {
    struct lnet_verbs_net *next;
    struct net *net;
    struct lnet_hca **hca;
    GHashTable *endpoints; /* of addresses; both as pointers */
};

/* One simulation runs in a process at a time (engine/sim.h). */
static struct {
    struct lnet_verbs_net *nets;
    struct chunk *free_chunks;
    struct lnet_flight *free_flights;
    GPtrArray *memory; /* blocks of the two pools */
} verbs;

/* ---- pools ----------------------------------------------------------------------------------- */

#define POOL_BLOCK 64u

static void *new_block(size_t bytes)
{
    if (verbs.memory == NULL)
        verbs.memory = g_ptr_array_new_with_free_func(g_free);
    g_ptr_array_add(verbs.memory, g_malloc0(bytes));
    return g_ptr_array_index(verbs.memory, verbs.memory->len - 1);
}

static struct chunk *take_chunk(void)
{
    struct chunk *chunk = verbs.free_chunks;
    unsigned i;

    if (chunk == NULL) {
        chunk = new_block(POOL_BLOCK * sizeof(*chunk));
        for (i = 0; i < POOL_BLOCK; i++) {
            chunk[i].next = verbs.free_chunks;
            verbs.free_chunks = &chunk[i];
        }
        chunk = verbs.free_chunks;
    }
    verbs.free_chunks = chunk->next;
    return chunk;
}

static void put_chunk(struct chunk *chunk)
{
    chunk->next = verbs.free_chunks;
    verbs.free_chunks = chunk;
}

struct lnet_flight *lnet_flight_new(struct lnet_hca *hca, uint32_t target,
                                    enum lnet_flight_kind kind)
{
    struct lnet_flight *flight = verbs.free_flights;
    unsigned i;

    if (flight == NULL) {
        flight = new_block(POOL_BLOCK * sizeof(*flight));
        for (i = 0; i < POOL_BLOCK; i++) {
            flight[i].next_queued = verbs.free_flights;
            verbs.free_flights = &flight[i];
        }
        flight = verbs.free_flights;
    }
    verbs.free_flights = flight->next_queued;
    memset(flight, 0, offsetof(struct lnet_flight, private_data));
    flight->on = hca->on;
    flight->kind = (uint8_t)kind;
    flight->source = hca->endpoint;
    flight->target = target;
    return flight;
}

void lnet_flight_release(struct lnet_flight *flight)
{
    if (!flight->done || flight->away != 0 || flight->queued)
        return;
    assert(flight->qp == NULL);
    flight->next_queued = verbs.free_flights;
    verbs.free_flights = flight;
}

void lnet_verbs_end(void)
{
    while (verbs.nets != NULL) {
        struct lnet_verbs_net *on = verbs.nets;

        verbs.nets = on->next;
        g_hash_table_unref(on->endpoints);
        g_free(on->hca);
        g_free(on);
    }
    if (verbs.memory != NULL)
        g_ptr_array_unref(verbs.memory);
    memset(&verbs, 0, sizeof(verbs));
}

/* ---- arrival --------------------------------------------------------------------------------- */

sim_time_t lnet_hca_back(const struct lnet_flight *flight)
{
    return net_idle_latency(flight->on->net, flight->target, flight->source, PACKET_HEADER_BYTES);
}

static struct lnet_verbs_net *net_of(struct net *net)
{
    struct lnet_verbs_net *on = verbs.nets;

    while (on != NULL && on->net != net)
        on = on->next;
    if (on == NULL) {
        on = g_new0(struct lnet_verbs_net, 1);
        on->net = net;
        on->hca = g_new0(struct lnet_hca *, net_endpoints(net));
        on->endpoints = g_hash_table_new(NULL, NULL);
        on->next = verbs.nets;
        verbs.nets = on;
    }
    return on;
}

/* The queue pair may be gone, or go while it takes the packet. */
static void deliver(const struct chunk *chunk, struct lnet_flight *flight)
{
    struct lnet_hca *hca = flight->on->hca[flight->target];
    struct lnet_qp *qp = hca != NULL ? lnet_qp_find(hca, flight->target_qp) : NULL;

    if (qp != NULL)
        lnet_qp_arrived(qp, flight, chunk->offset, chunk->bytes, chunk->last);
}

static void arrive(struct sim_event *event)
{
    struct net_transfer *transfer = sim_container_of(event, struct net_transfer, event);
    struct chunk *chunk = sim_container_of(transfer, struct chunk, transfer);
    struct lnet_flight *flight = chunk->flight;
    /* A poisoned packet fails its check and is dropped. A queue pair drops a packet that comes
     * twice, because its number is an old one. */
    bool good = transfer->status == NET_DELIVERED && !transfer->poisoned &&
                chunk->attempt == flight->attempt;
    struct lnet_hca *hca = flight->on->hca[flight->target];

    if (good && flight->kind != LNET_FLIGHT_WORK) {
        lnet_cm_arrived(hca, flight);
        flight->done = true;
    } else if (good) {
        deliver(chunk, flight);
        if (transfer->duplicated)
            deliver(chunk, flight);
    } else if (flight->kind != LNET_FLIGHT_WORK) {
        flight->done = true; /* the sender's timer repeats it in a flight of its own */
    }
    put_chunk(chunk);
    flight->away--;
    lnet_flight_release(flight);
}

/* ---- injection ------------------------------------------------------------------------------- */

static void cut(struct chunk *chunk, const struct lnet_flight *flight)
{
    struct net_transfer *transfer = &chunk->transfer;
    uint32_t left = flight->bytes - flight->sent,
             bytes = MIN(left, LNET_HCA_MTU * PACKETS_PER_CHUNK);
    uint32_t packets = bytes == 0 ? 1 : (bytes + LNET_HCA_MTU - 1) / LNET_HCA_MTU;

    memset(transfer, 0, offsetof(struct net_transfer, flight));
    transfer->event.fire = arrive;
    transfer->source = flight->source;
    transfer->target = flight->target;
    transfer->packets = packets;
    transfer->last_units = bytes - (packets - 1) * LNET_HCA_MTU + PACKET_HEADER_BYTES;
    transfer->units = bytes + packets * PACKET_HEADER_BYTES;
    transfer->class = NET_REQUEST;
    transfer->route = NET_ROUTE_IN_ORDER; /* the subnet manager gives each pair one path */
    transfer->streamed = flight->sent != 0;
    chunk->offset = flight->sent;
    chunk->bytes = bytes;
    chunk->last = bytes == left;
    chunk->attempt = flight->attempt;
}

static sim_time_t duration(uint32_t units, double rate)
{
    return rate > 0 ? (sim_time_t)((double)units * (double)SIM_US / rate) : 0;
}

/* Injects the next chunk, and comes again when the port is free. */
static void pump(struct lnet_hca *hca)
{
    struct lnet_flight *flight = hca->first;
    struct chunk *chunk;
    sim_time_t all;
    double rate;

    if (flight == NULL)
        return;
    chunk = take_chunk();
    chunk->flight = flight;
    cut(chunk, flight);
    /* Of both adapters, in one event. It is the same for all chunks, so that none overtakes
     * another. */
    chunk->transfer.receiver_latency = 2 * hca->parameters.latency;
    flight->sent += chunk->bytes;
    flight->away++;
    if (chunk->last) {
        hca->first = flight->next_queued;
        if (hca->first == NULL)
            hca->last = &hca->first;
        flight->queued = false;
    }
    rate = net_path_rate(hca->net, flight->source, flight->target, NET_ROUTE_IN_ORDER);
    all = duration(chunk->transfer.units, rate);
    hca->busy_until = sim_now() + all;
    if (hca->first != NULL)
        sim_timer_arm(&hca->pump, hca->busy_until);
    net_send(hca->net, &chunk->transfer, all - duration(chunk->transfer.last_units, rate));
}

static void pump_fires(struct sim_event *event)
{
    pump(sim_container_of(sim_container_of(event, struct sim_timer, event), struct lnet_hca, pump));
}

void lnet_hca_inject(struct lnet_hca *hca, struct lnet_flight *flight)
{
    assert(!flight->queued);
    flight->queued = true;
    flight->next_queued = NULL;
    *hca->last = flight;
    hca->last = &flight->next_queued;
    if (sim_timer_armed(&hca->pump))
        return;
    if (hca->busy_until <= sim_now())
        pump(hca);
    else
        sim_timer_arm(&hca->pump, hca->busy_until);
}

void lnet_hca_withdraw(struct lnet_hca *hca, struct lnet_flight *flight)
{
    struct lnet_flight **at = &hca->first;

    if (!flight->queued)
        return;
    while (*at != flight)
        at = &(*at)->next_queued;
    *at = flight->next_queued;
    if (*at == NULL)
        hca->last = at;
    flight->queued = false;
}

/* ---- registered memory ----------------------------------------------------------------------- */

/* A key is the index of its entry and a generation, so that an old key does not fit a new entry. */
#define KEY_INDEX_BITS 16u

uint32_t lnet_hca_register(struct lnet_hca *hca, const struct lnet_fragments *memory,
                           uint32_t offset, uint32_t length)
{
    uint32_t i;

    for (i = 0; i < hca->memory_count && hca->memory[i].fragments != NULL; i++)
        ;
    if (i == hca->memory_count) {
        hca->memory_count = MAX(16, 2 * hca->memory_count);
        assert(hca->memory_count <= 1u << KEY_INDEX_BITS);
        hca->memory = g_renew(struct lnet_memory, hca->memory, hca->memory_count);
        memset(&hca->memory[i], 0, (hca->memory_count - i) * sizeof(*hca->memory));
    }
    hca->memory[i].fragments = memory;
    hca->memory[i].offset = offset;
    hca->memory[i].length = length;
    return ++hca->memory[i].generation << KEY_INDEX_BITS | i;
}

const struct lnet_memory *lnet_hca_memory(const struct lnet_hca *hca, uint32_t key)
{
    uint32_t index = key & ((1u << KEY_INDEX_BITS) - 1);

    if (index >= hca->memory_count || hca->memory[index].fragments == NULL ||
        (uint16_t)hca->memory[index].generation != key >> KEY_INDEX_BITS)
        return NULL;
    return &hca->memory[index];
}

void lnet_hca_release(struct lnet_hca *hca, uint32_t key)
{
    assert(lnet_hca_memory(hca, key) != NULL);
    hca->memory[key & ((1u << KEY_INDEX_BITS) - 1)].fragments = NULL;
}

/* ---- creation -------------------------------------------------------------------------------- */

/* Whether the address belongs to this endpoint from now on. */
static bool take_address(struct lnet_verbs_net *on, uint32_t address, uint32_t endpoint)
{
    gpointer known;

    if (g_hash_table_lookup_extended(on->endpoints, GUINT_TO_POINTER(address), NULL, &known))
        return GPOINTER_TO_UINT(known) == endpoint;
    g_hash_table_insert(on->endpoints, GUINT_TO_POINTER(address), GUINT_TO_POINTER(endpoint));
    return true;
}

bool lnet_hca_resolve(const struct lnet_hca *hca, uint32_t address, uint32_t *endpoint)
{
    gpointer known;

    if (!g_hash_table_lookup_extended(hca->on->endpoints, GUINT_TO_POINTER(address), NULL, &known))
        return false;
    *endpoint = GPOINTER_TO_UINT(known);
    return true;
}

struct lnet_hca *lnet_hca_create(struct net *net, uint32_t endpoint, uint32_t address,
                                 const struct lnet_hca_parameters *parameters,
                                 void (*requested)(void *owner, const struct lnet_cm_request *),
                                 void *owner)
{
    struct lnet_verbs_net *on = net_of(net);
    struct lnet_hca *hca;

    if (on->hca[endpoint] != NULL || !take_address(on, address, endpoint))
        return NULL;
    hca = g_new0(struct lnet_hca, 1);
    hca->on = on;
    hca->net = net;
    hca->endpoint = endpoint;
    hca->parameters = *parameters;
    hca->requested = requested;
    hca->owner = owner;
    hca->last = &hca->first;
    hca->pump.event.fire = pump_fires;
    on->hca[endpoint] = hca;
    return hca;
}

void lnet_hca_destroy(struct lnet_hca *hca)
{
    uint32_t i;

    hca->on->hca[hca->endpoint] = NULL;
    for (i = 0; i < hca->qp_room; i++)
        if (hca->qps[i] != NULL)
            lnet_qp_forget(hca->qps[i]);
    while (hca->first != NULL) { /* of the connection manager */
        struct lnet_flight *flight = hca->first;

        lnet_hca_withdraw(hca, flight);
        flight->done = true;
        lnet_flight_release(flight);
    }
    sim_timer_cancel(&hca->pump);
    g_free(hca->qps);
    g_free(hca->memory);
    g_free(hca);
}
