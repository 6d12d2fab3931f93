/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Order of the fixed modes. Transfers of a flow take the same links and these serve them in turn,
 * but a tail also waits for its NIC (a slow feed) and for faults that delay it, and nothing behind
 * may pass it. The table holds the last arrival of each flow that still has something on the way; a
 * flow whose last arrival has passed is forgotten.
 *
 * A flow is a pair of endpoints, class and mode; for hashed modes the cache line as well. Lines
 * come in blocks here, of what a chunk carries at most: 16 lines kept apart would be 16 entries for
 * each chunk. Line by line the paths differ all the same.
 */
#include <stdlib.h>
#include "internal.h"

#define BLOCK_LINES 16

static uint64_t flow_of(const struct net_transfer *transfer, uint64_t block)
{
    uint64_t flow = (uint64_t)transfer->class << 8 | transfer->route;

    return transfer->route == NET_ROUTE_IN_ORDER ? flow : sim_mix(block) ^ flow;
}

static uint32_t place_of(const struct net_order *order, uint64_t pair, uint64_t flow)
{
    return (uint32_t)(sim_mix(pair * 0x9e3779b97f4a7c15ull ^ flow) >> 32) & (order->capacity - 1);
}

/* Keeps what is still on the way; twice the room when that is more than a quarter of it. */
static void rebuild(struct net_order *order)
{
    struct net_order old = *order;
    uint32_t live = 0, i;

    for (i = 0; i < old.capacity; i++)
        live += old.entries[i].link.busy > sim_now();
    if (old.capacity == 0)
        order->capacity = 256;
    else if (live > old.capacity / 4)
        order->capacity *= 2;
    order->entries = calloc(order->capacity, sizeof(*order->entries));
    if (order->entries == NULL)
        abort();
    order->used = live;
    for (i = 0; i < old.capacity; i++) {
        const struct net_order_entry *entry = &old.entries[i];
        uint32_t at;

        if (entry->link.busy <= sim_now())
            continue;
        for (at = place_of(order, entry->pair, entry->flow); order->entries[at].link.busy != 0;)
            at = (at + 1) & (order->capacity - 1);
        order->entries[at] = *entry;
    }
    free(old.entries);
}

/* What is remembered of a flow; a flow that has nothing on the way begins anew. */
static struct net_link *state_of(struct net_order *order, uint64_t pair, uint64_t flow)
{
    struct net_order_entry *reuse = NULL, *entry;
    uint32_t at;

    if (order->used >= order->capacity / 4 * 3)
        rebuild(order);
    for (at = place_of(order, pair, flow);; at = (at + 1) & (order->capacity - 1)) {
        entry = &order->entries[at];
        if (entry->link.busy == 0)
            break;
        if (entry->pair == pair && entry->flow == flow)
            return &entry->link;
        if (reuse == NULL && entry->link.busy <= sim_now())
            reuse = entry;
    }
    if (reuse == NULL) {
        reuse = entry;
        order->used++;
    }
    *reuse = (struct net_order_entry){pair, flow, {.busy = sim_now()}};
    return &reuse->link;
}

static uint64_t pair_of(const struct net_transfer *transfer)
{
    return (uint64_t)transfer->source << 32 | transfer->target;
}

sim_time_t net_order_clamp(struct net_order *order, const struct net_transfer *transfer,
                           sim_time_t arrival)
{
    uint64_t begin = transfer->hash / BLOCK_LINES, block = begin;
    uint64_t end = transfer->route == NET_ROUTE_IN_ORDER
                       ? begin
                       : (transfer->hash + transfer->packets - 1) / BLOCK_LINES;
    struct net_link *last;

    for (; block <= end; block++) {
        last = state_of(order, pair_of(transfer), flow_of(transfer, block));
        if (last->busy < arrival)
            last->busy = arrival;
        arrival = last->busy;
    }
    /* all of them wait for the last one */
    for (block = begin; block < end; block++)
        state_of(order, pair_of(transfer), flow_of(transfer, block))->busy = arrival;
    return arrival;
}

struct net_link *net_own_link(struct net *net, const struct net_transfer *transfer, uint32_t link)
{
    uint32_t low = transfer->source < transfer->target ? transfer->source : transfer->target;

    /* requests and responses may meet on a link */
    return state_of(&net->own, (uint64_t)low << 32 | (transfer->source ^ transfer->target), link);
}

void net_order_fini(struct net_order *order)
{
    free(order->entries);
}
