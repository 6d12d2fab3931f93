/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Keeps the transfers of a flow in order in the fixed modes. They take the same links, which serve
 * them in order. But the tail of a transfer can also be late because its NIC injects slowly or
 * because a fault delays it, and no later transfer of the flow may overtake it. A hash table (open
 * addressing, linear probing) holds the last arrival of each flow that has transfers in flight. An
 * entry whose last arrival has passed is reused.
 *
 * A flow is a pair of endpoints, a class and a mode; for hashed modes also a block of cache lines.
 * A block is the largest chunk: with one entry per line, each chunk would need 16 of them. The
 * paths still differ from line to line.
 */
#include <assert.h>
#include <stdlib.h>
#include "internal.h"

#define BLOCK_LINES 16

static uint64_t flow_of(const struct net_transfer *transfer, uint64_t block)
{
    uint64_t flow = (uint64_t)transfer->class << 8 | transfer->route;

    return transfer->route == NET_ROUTE_IN_ORDER ? flow : sim_mix(block) ^ flow;
}

static uint32_t home_index(const struct net_flow_table *table, uint64_t pair, uint64_t flow)
{
    assert(table->capacity > 0 && (table->capacity & (table->capacity - 1)) == 0);
    return (uint32_t)(sim_mix(pair * 0x9e3779b97f4a7c15ull ^ flow) >> 32) & (table->capacity - 1);
}

/* Removes the entries of flows with nothing in flight. Doubles the capacity if the remaining ones
 * need more than a quarter of it. */
static void rebuild(struct net_flow_table *table)
{
    struct net_flow_table old = *table;
    uint32_t live = 0, i;

    for (i = 0; i < old.capacity; i++)
        live += old.entries[i].link.busy_until > sim_now();
    if (old.capacity == 0)
        table->capacity = 256;
    else if (live > old.capacity / 4)
        table->capacity *= 2;
    table->entries = calloc(table->capacity, sizeof(*table->entries));
    if (table->entries == NULL)
        abort();
    table->used = live;
    for (i = 0; i < old.capacity; i++) {
        const struct net_flow *entry = &old.entries[i];
        uint32_t at;

        if (entry->link.busy_until <= sim_now())
            continue;
        for (at = home_index(table, entry->pair, entry->flow);
             table->entries[at].link.busy_until != 0;)
            at = (at + 1) & (table->capacity - 1);
        table->entries[at] = *entry;
    }
    free(old.entries);
}

/* The entry of a flow. A flow with nothing in flight gets a new entry. */
static struct net_link *find_flow(struct net_flow_table *table, uint64_t pair, uint64_t flow)
{
    struct net_flow *reuse = NULL, *entry;
    uint32_t at;

    if (table->used >= table->capacity / 4 * 3)
        rebuild(table);
    assert(table->used < table->capacity); /* the search below finds a free entry */
    for (at = home_index(table, pair, flow);; at = (at + 1) & (table->capacity - 1)) {
        entry = &table->entries[at];
        if (entry->link.busy_until == 0)
            break;
        if (entry->pair == pair && entry->flow == flow)
            return &entry->link;
        if (reuse == NULL && entry->link.busy_until <= sim_now())
            reuse = entry;
    }
    if (reuse == NULL) {
        reuse = entry;
        table->used++;
    }
    *reuse = (struct net_flow){pair, flow, {.busy_until = sim_now()}};
    return &reuse->link;
}

static uint64_t pair_of(const struct net_transfer *transfer)
{
    return (uint64_t)transfer->source << 32 | transfer->target;
}

void net_flow_fetch(const struct net_flow_table *table, const struct net_transfer *transfer)
{
    assert(transfer->route == NET_ROUTE_IN_ORDER);
    if (table->capacity > 0)
        sim_fetch(&table->entries[home_index(table, pair_of(transfer), flow_of(transfer, 0))], 1);
}

sim_time_t net_flow_keep_order(struct net_flow_table *table, const struct net_transfer *transfer,
                               sim_time_t arrival)
{
    uint64_t begin = transfer->hash / BLOCK_LINES, block = begin;
    uint64_t end = transfer->route == NET_ROUTE_IN_ORDER
                       ? begin
                       : (transfer->hash + transfer->packets - 1) / BLOCK_LINES;
    struct net_link *last;

    for (; block <= end; block++) {
        last = find_flow(table, pair_of(transfer), flow_of(transfer, block));
        if (last->busy_until < arrival)
            last->busy_until = arrival;
        arrival = last->busy_until;
    }
    /* the whole transfer arrives with its last block */
    for (block = begin; block < end; block++)
        find_flow(table, pair_of(transfer), flow_of(transfer, block))->busy_until = arrival;
    return arrival;
}

struct net_link *net_pair_link(struct net *net, const struct net_transfer *transfer, uint32_t link)
{
    uint32_t low = transfer->source < transfer->target ? transfer->source : transfer->target;

    /* both directions of a pair share the entry, because requests and responses can share a link */
    return find_flow(&net->pair_links, (uint64_t)low << 32 | (transfer->source ^ transfer->target),
                     link);
}

void net_flow_table_fini(struct net_flow_table *table)
{
    free(table->entries);
}
