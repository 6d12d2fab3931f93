/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Messages straight onto the network, without a NIC model: runs on any topology. A message is cut
 * into chunks, injected at the rate of its path; the receiver is passive. The ledger books every
 * message.
 *
 *   rank ── post ──▶ queue of its endpoint ── pump, a chunk at a time ──▶ net_send ──▶ arrive ──▶
 * settle
 */
#include "cluster/cluster.h"

#include <string.h>
#include "engine/ledger.h"

#define PACKET_BYTES_DRAGONFLY 64u /* 3 header phits and 11 data phits of 6 bytes */
#define PACKETS_PER_CHUNK 16u
#define NIC_PHITS_PER_US 2240.0 /* 64 bytes in five cycles of 1.25 ns: 14 phits */
#define PACKET_BYTES_SWITCHED 4096u

enum pattern { UNIFORM, NEIGHBOUR, INCAST, ALLTOALL };

static const struct workload_arg args[] = {
    {"pattern", ARG_CHOICE, "uniform", NULL, NULL, "uniform|neighbour|incast|alltoall",
     "random targets; the next rank; all to `root`; every other rank in turn"},
    {"bytes", ARG_BYTES, "4KiB", "1", "64MiB", NULL, "of a message"},
    {"messages", ARG_COUNT, "100", "1", "100000000", NULL, "that each rank sends"},
    {"window", ARG_COUNT, "1", "1", "65536", NULL, "messages of a rank in flight at a time"},
    {"root", ARG_COUNT, "0", "0", "131071", NULL, "incast: the receiver"},
    {NULL},
};

struct endpoint;

struct message {
    struct sim_ledger_entry entry;
    struct endpoint *from;
    struct message *next;
    uint32_t target_node;
    uint64_t bytes, sent; /* handed to the network */
    uint32_t chunks_away;
    bool lost;
    sim_time_t posted;
};

struct chunk {
    struct net_transfer transfer;
    struct message *message;
    struct chunk *next; /* free list */
    uint64_t bytes, digest;
};

/* One per rank. */
struct endpoint {
    struct rank *rank;
    const struct cluster_network *network;
    struct net *net; /* of `network` */
    struct sim_ledger_book *book;
    struct sim_event pump;
    bool pumping, dragonfly;
    struct message *first, **last; /* to be injected */
    struct message *free_messages;
    struct chunk *free_chunks;
    uint32_t in_flight;
    uint64_t serial, delivered_bytes, lost;
};

/* ---- memory ---------------------------------------------------------------------------------- */

static struct message *take_message(struct endpoint *endpoint)
{
    struct message *message = endpoint->free_messages;

    if (message == NULL)
        return rank_alloc(endpoint->rank, sizeof(*message));
    endpoint->free_messages = message->next;
    memset(message, 0, sizeof(*message));
    return message;
}

static struct chunk *take_chunk(struct endpoint *endpoint)
{
    struct chunk *chunk = endpoint->free_chunks;

    if (chunk == NULL)
        return rank_alloc(endpoint->rank, sizeof(*chunk));
    endpoint->free_chunks = chunk->next;
    memset(chunk, 0, sizeof(*chunk));
    return chunk;
}

/* ---- arrival --------------------------------------------------------------------------------- */

static void finish(struct message *message)
{
    struct endpoint *endpoint = message->from;

    sim_ledger_settle(&message->entry, message->lost ? SIM_LEDGER_ERROR : SIM_LEDGER_OK);
    if (message->lost) {
        endpoint->lost++;
    } else {
        endpoint->delivered_bytes += message->bytes;
        rank_record_latency(endpoint->rank, "latency", sim_now() - message->posted);
    }
    message->next = endpoint->free_messages;
    endpoint->free_messages = message;
    endpoint->in_flight--;
    rank_progress(endpoint->rank);
    sim_wake(endpoint->rank->fiber);
}

static void arrive(struct sim_event *event)
{
    struct net_transfer *transfer = sim_container_of(event, struct net_transfer, event);
    struct chunk *chunk = sim_container_of(transfer, struct chunk, transfer);
    struct message *message = chunk->message;

    /* A duplicated chunk is recognised by its number, as any protocol would do. It counts once. */
    if (transfer->status == NET_DELIVERED && !transfer->poisoned)
        sim_ledger_deliver(&message->entry, chunk->bytes, chunk->digest);
    else
        message->lost = true;
    chunk->next = message->from->free_chunks;
    message->from->free_chunks = chunk;
    if (--message->chunks_away == 0 && message->sent == message->bytes)
        finish(message);
}

/* ---- injection ------------------------------------------------------------------------------- */

static void cut(const struct endpoint *endpoint, struct chunk *chunk, uint64_t left)
{
    uint32_t packet = endpoint->dragonfly ? PACKET_BYTES_DRAGONFLY : PACKET_BYTES_SWITCHED;
    uint32_t most =
        endpoint->dragonfly ? PACKET_BYTES_DRAGONFLY * PACKETS_PER_CHUNK : PACKET_BYTES_SWITCHED;
    uint32_t bytes = (uint32_t)MIN(left, most), last = (bytes - 1) % packet + 1;
    uint32_t full = endpoint->dragonfly ? 3 + (packet + 5) / 6 : packet;

    chunk->bytes = bytes;
    chunk->transfer.packets = (bytes + packet - 1) / packet;
    chunk->transfer.last_units = endpoint->dragonfly ? 3 + (last + 5) / 6 : last;
    chunk->transfer.units = (chunk->transfer.packets - 1) * full + chunk->transfer.last_units;
}

static sim_time_t duration(uint32_t units, double units_per_us)
{
    return units_per_us > 0 ? (sim_time_t)((double)units * (double)SIM_US / units_per_us) : 0;
}

/* Units per microsecond: the rate of the path; on a dragonfly at most the rate of a NIC. */
static double rate_of(const struct endpoint *endpoint, const struct net_transfer *transfer)
{
    double rate =
        net_path_rate(endpoint->net, transfer->source, transfer->target, NET_ROUTE_ADAPTIVE_0);

    return endpoint->dragonfly ? MIN(rate, NIC_PHITS_PER_US) : rate;
}

/* Gives the next chunk to the network, and runs again when the chunk has been injected. */
static void pump(struct sim_event *event)
{
    struct endpoint *endpoint = sim_container_of(event, struct endpoint, pump);
    struct message *message = endpoint->first;
    struct chunk *chunk;
    struct net_transfer *transfer;
    double rate;

    endpoint->pumping = message != NULL;
    if (message == NULL)
        return;
    chunk = take_chunk(endpoint);
    transfer = &chunk->transfer;
    chunk->message = message;
    cut(endpoint, chunk, message->bytes - message->sent);
    chunk->digest =
        sim_mix(message->entry.id << 24 ^ message->sent ^ (uint64_t)endpoint->rank->id << 48);
    sim_ledger_hand_in(&message->entry, chunk->digest);
    transfer->event.fire = arrive;
    transfer->source = scenario_endpoint(endpoint->network->scenario, endpoint->rank->node);
    transfer->target = scenario_endpoint(endpoint->network->scenario, message->target_node);
    g_assert(transfer->source != UINT32_MAX && transfer->target != UINT32_MAX);
    transfer->class = NET_REQUEST;
    transfer->route = NET_ROUTE_ADAPTIVE_0;
    transfer->streamed = message->sent != 0;
    transfer->packet_interval_ps = 0;
    transfer->hash = message->entry.id;
    message->sent += chunk->bytes;
    message->chunks_away++;
    if (message->sent == message->bytes) {
        endpoint->first = message->next;
        if (endpoint->first == NULL)
            endpoint->last = &endpoint->first;
    }
    rate = rate_of(endpoint, transfer);
    sim_event_schedule(&endpoint->pump, sim_now() + duration(transfer->units, rate));
    net_send(endpoint->net, transfer, duration(transfer->units - transfer->last_units, rate));
}

static void post(struct endpoint *endpoint, uint32_t target, uint64_t bytes)
{
    struct message *message = take_message(endpoint);

    message->from = endpoint;
    message->target_node = rank_node_of(endpoint->rank, target);
    message->bytes = bytes;
    message->posted = sim_now();
    sim_ledger_open(endpoint->book, &message->entry, endpoint->rank->node, message->target_node,
                    bytes);
    *endpoint->last = message;
    endpoint->last = &message->next;
    endpoint->in_flight++;
    if (!endpoint->pumping) {
        endpoint->pumping = true;
        sim_event_schedule(&endpoint->pump, sim_now());
    }
}

/* ---- the rank -------------------------------------------------------------------------------- */

/* The target of message `index`; the rank itself: nothing is sent. */
static uint32_t target_of(struct rank *rank, enum pattern pattern, uint64_t index, uint32_t root)
{
    uint32_t size = rank_size(rank), id = rank_id(rank);

    switch (pattern) {
    case NEIGHBOUR:
        return (id + 1) % size;
    case INCAST:
        return root;
    case ALLTOALL:
        return (uint32_t)((id + 1 + index % (size - 1)) % size);
    case UNIFORM:
        break;
    }
    return (uint32_t)((id + 1 + rank_random(rank) % (size - 1)) % size);
}

static enum pattern pattern_of(struct rank *rank)
{
    static const char *const words[] = {"uniform", "neighbour", "incast", "alltoall"};
    const char *word = rank_arg_choice(rank, "pattern");
    enum pattern pattern = UNIFORM;

    while (strcmp(words[pattern], word) != 0)
        pattern++;
    return pattern;
}

static void wait_for(struct endpoint *endpoint, uint32_t most)
{
    static const struct sim_wait wait = {.text = "its messages to arrive"};

    while (endpoint->in_flight > most)
        sim_wait_until(SIM_NEVER, &wait);
}

static void send_all(struct endpoint *endpoint)
{
    struct rank *rank = endpoint->rank;
    uint64_t messages = rank_arg_count(rank, "messages"), bytes = rank_arg_count(rank, "bytes"), i;
    uint32_t window = (uint32_t)rank_arg_count(rank, "window"),
             root = (uint32_t)rank_arg_count(rank, "root");
    enum pattern pattern = pattern_of(rank);

    for (i = 0; i < messages; i++) {
        uint32_t target = target_of(rank, pattern, i, root);
        if (target == rank_id(rank)) /* the root of an incast */
            return;
        wait_for(endpoint, window - 1);
        post(endpoint, target, bytes);
    }
    wait_for(endpoint, 0);
}

static int run(struct rank *rank)
{
    struct endpoint *endpoint = rank_alloc(rank, sizeof(*endpoint));
    uint64_t begin, elapsed;

    if (rank_arg_count(rank, "root") >= rank_size(rank))
        return rank_fail(rank, "there is no rank %u to be the root",
                         (unsigned)rank_arg_count(rank, "root"));
    endpoint->rank = rank;
    endpoint->network = &rank->job->cluster->networks[rank->app->scenario->network_index];
    endpoint->net = endpoint->network->net;
    endpoint->book = rank_raw_book(rank);
    endpoint->dragonfly = endpoint->network->scenario->topology == TOPOLOGY_DRAGONFLY;
    endpoint->last = &endpoint->first;
    endpoint->pump.fire = pump;
    rank_barrier(rank);
    begin = rank_now();
    send_all(endpoint);
    elapsed = rank_now() - begin;
    if (endpoint->delivered_bytes != 0)
        rank_record_bandwidth(rank, "bandwidth", endpoint->delivered_bytes, elapsed);
    rank_count(rank, "lost", endpoint->lost);
    rank_barrier(rank);
    return 0;
}

extern const struct workload cluster_raw_messages_workload;
const struct workload cluster_raw_messages_workload = {
    .name = "raw_messages",
    .meaning = "messages straight onto the network, on any topology, without a NIC",
    .metrics = "latency (ps), bandwidth (B/s, of each sender), lost (count)",
    .args = args,
    .ranks_min = 2,
    .main = run,
};
