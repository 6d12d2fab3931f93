/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* F2: construction of the tiles, the pool of packets, cutting of transfers and their completion. */
#define _GNU_SOURCE /* MADV_HUGEPAGE */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "packet.h"

#define VC_BLOCKS_MAX 120 /* plus the largest packet, this stays below a byte's high bit */
_Static_assert(VC_BLOCKS_MAX + (PACKET_UNITS_MAX + BLOCK_UNITS - 1) / BLOCK_UNITS < 128,
               "shared_blocks_used() needs the high bit");

struct net_packets *net_packets;

/* ---- the pool -------------------------------------------------------------------------------- */

static struct packet *packet_new(void)
{
    struct net_packets *all = net_packets;
    struct packet *packet;
    uint32_t i;

    if (sim_unlikely(all->free_packets == 0)) {
        uint32_t base = all->slab_count * PACKETS_PER_SLAB;
        uint32_t first = base == 0 ? 1 : 0; /* 0 is no packet */
        struct packet *slab;

        all->slabs = realloc(all->slabs, (all->slab_count + 1) * sizeof(struct packet *));
        slab = aligned_alloc(64, PACKETS_PER_SLAB * sizeof(*slab));
        if (all->slabs == NULL || slab == NULL)
            abort();
        all->slabs[all->slab_count++] = slab;
        for (i = PACKETS_PER_SLAB; i-- > first;) {
            slab[i].self = base + i;
            slab[i].next = all->free_packets;
            slab[i].event.fire = net_packet_arrived;
            all->free_packets = base + i;
        }
    }
    packet = packet_at(all->free_packets);
    all->free_packets = packet->next;
    all->in_use++;
    return packet;
}

void net_packet_free(struct packet *packet)
{
    assert(net_packets->in_use > 0);
    packet->next = net_packets->free_packets;
    net_packets->free_packets = packet->self;
    net_packets->in_use--;
}

/* ---- transfers ------------------------------------------------------------------------------- */

static void count(struct net *net, const struct net_transfer *transfer)
{
    struct net_counters *counters = &net->counters;

    counters->transfers++;
    counters->packets += transfer->flight.packets;
    counters->units += transfer->units;
    if (transfer->minimal)
        counters->minimal++;
    else
        counters->non_minimal++;
}

static void complete(struct net_transfer *transfer)
{
    struct net_flight *flight = &transfer->flight;
    struct net *net = flight->net;
    sim_time_t arrival = flight->arrival + flight->delay;

    count(net, transfer);
    net->counters.last = later(net->counters.last, later(arrival, sim_now()));
    /* The links keep the order of the fixed modes, except for delays by faults. A transfer within
     * one router has no links. */
    if ((sim_unlikely(net->packet_point->rules != NULL) || transfer->hops == 0) &&
        !net_mode_adaptive(transfer->route))
        arrival = net_flow_keep_order(&net->flows, transfer, arrival);
    if (transfer->status == NET_DELIVERED)
        arrival += transfer->receiver_latency;
    sim_prefetch_schedule(&transfer->prefetch_event, later(arrival, sim_now()));
}

void net_packet_end(struct packet *packet, enum net_status status, sim_time_t arrival)
{
    struct net_transfer *transfer = packet->transfer;
    struct net_flight *flight = &transfer->flight;

    flight->net->counters.hops += packet->hops;
    if (status != NET_DELIVERED && transfer->status == NET_DELIVERED) {
        transfer->status = (uint8_t)status;
        flight->net->counters.dropped++;
    }
    if (packet->hops > transfer->hops)
        transfer->hops = packet->hops;
    if (packet->flags & PACKET_NON_MINIMAL)
        transfer->minimal = false;
    if (arrival > flight->arrival)
        flight->arrival = arrival;
    net_packet_free(packet);
    assert(flight->outstanding > 0);
    if (--flight->outstanding == 0)
        complete(transfer);
}

/* Units of the next packet. All packets but the last have equal shares of the other units. */
static uint32_t next_units(const struct net_transfer *transfer)
{
    const struct net_flight *flight = &transfer->flight;
    uint64_t body = transfer->units - flight->last_units, rest = flight->packets - 1;

    if (flight->handed_over == rest)
        return flight->last_units;
    return (uint32_t)(body * (flight->handed_over + 1) / rest - body * flight->handed_over / rest);
}

static void hand_over(struct net_transfer *transfer, sim_time_t at)
{
    struct packet *packet = packet_new();

    assert(transfer->flight.handed_over < transfer->flight.packets);
    packet->transfer = transfer;
    packet->units = (uint8_t)next_units(transfer);
    assert(packet->units <= PACKET_UNITS_MAX);
    packet->target = (uint16_t)(transfer->target / NODES_PER_ROUTER);
    packet->source = (uint16_t)(transfer->source / NODES_PER_ROUTER);
    packet->hops = packet->flags = packet->rank = 0;
    packet->vc = transfer->class == NET_RESPONSE ? RESPONSE_VC : 0;
    packet->goal_port = NO_PORT;
    packet->to = (uint8_t)(transfer->target % NODES_PER_ROUTER | (transfer->route & 3) << 2);
    transfer->flight.handed_over++;
    if (sim_unlikely(!net_packet_route_begin(packet)))
        net_packet_end(packet, NET_DROPPED, at);
    else
        net_packet_inject(packet, at);
}

/* When the next packet is ready. The packets are spread evenly over the feed time. */
static sim_time_t next_time(const struct net_transfer *transfer)
{
    const struct net_flight *flight = &transfer->flight;
    double part = (double)flight->handed_over / (double)(flight->packets - 1);

    return flight->sent + (sim_time_t)((double)flight->feed * part);
}

static void hand_over_next(struct sim_event *event)
{
    struct net_flight *flight = sim_container_of(event, struct net_flight, next);
    struct net_transfer *transfer = sim_container_of(flight, struct net_transfer, flight);
    bool more = flight->handed_over + 1 < flight->packets;

    hand_over(transfer, sim_now());
    if (more) /* otherwise the transfer may be complete, and its memory reused */
        sim_event_schedule(event, next_time(transfer));
}

static void cut(struct net_transfer *transfer, sim_time_t feed)
{
    struct net_flight *flight = &transfer->flight;
    uint32_t least = (transfer->units + PACKET_UNITS_MAX - 1) / PACKET_UNITS_MAX;

    flight->packets = transfer->packets > least ? transfer->packets : least;
    flight->last_units = transfer->last_units;
    if (flight->last_units > PACKET_UNITS_MAX ||
        transfer->units - flight->last_units > (flight->packets - 1) * PACKET_UNITS_MAX)
        flight->last_units =
            transfer->units / flight->packets; /* the caller did not count in packets: cut evenly */
    flight->outstanding = flight->packets;
    flight->handed_over = 0;
    flight->feed = feed;
    flight->arrival = 0;
}

void net_packet_send(struct net *net, struct net_transfer *transfer, sim_time_t feed)
{
    struct net_flight *flight = &transfer->flight;
    uint32_t i;

    assert(net->packets == net_packets);
    transfer->hops = 0;
    transfer->minimal = true;
    flight->net = net;
    flight->sent = sim_now();
    flight->delay = 0;
    cut(transfer, feed);
    for (i = 0; i < flight->packets && sim_unlikely(net->packet_point->rules != NULL); i++) {
        sim_time_t delay = net_fault_apply(net, transfer, 1);

        flight->delay = delay > flight->delay ? delay : flight->delay;
    }
    if (sim_likely(flight->packets == 1)) {
        hand_over(transfer, sim_now() + feed);
    } else if (feed == 0) {
        for (i = flight->packets; i > 0; i--)
            hand_over(transfer, sim_now());
    } else {
        flight->next.fire = hand_over_next;
        hand_over(transfer, sim_now());
        sim_event_schedule(&flight->next, next_time(transfer));
    }
}

/* ---- construction ---------------------------------------------------------------------------- */

static bool check(const struct net_dragonfly_config *config, char **error)
{
    const struct net_tile_config *tile = &config->tile;
    double fastest = config->green.rate_mps;

    if (net_packets != NULL)
        return net_fail(error, "fidelity F2: there can be one network of packets at a time");
    if (config->black.rate_mps > fastest)
        fastest = config->black.rate_mps;
    if (config->blue.rate_mps > fastest)
        fastest = config->blue.rate_mps;
    if (tile->private_blocks < 2)
        return net_fail(
            error,
            "fidelity F2: %u private blocks per virtual channel do not hold the largest "
            "packet, which 2 do",
            tile->private_blocks);
    if (tile->private_blocks * VCS + tile->shared_blocks > UINT8_MAX ||
        tile->private_blocks + tile->shared_blocks > VC_BLOCKS_MAX)
        return net_fail(error,
                        "fidelity F2: an input buffer can have at most %d blocks, %d for one "
                        "virtual channel; not %u and %u",
                        UINT8_MAX, VC_BLOCKS_MAX, tile->private_blocks * VCS + tile->shared_blocks,
                        tile->private_blocks + tile->shared_blocks);
    if (tile->row_credits < 1 || tile->row_credits > 100)
        return net_fail(error, "fidelity F2: %u row buffer credits; there can be 1 to 100",
                        tile->row_credits);
    if (tile->row_mps < fastest || tile->column_mps < fastest || tile->ptile_mps < fastest)
        return net_fail(error,
                        "fidelity F2: buses and processor tiles must be as fast as the fastest "
                        "link, %g phits per microsecond",
                        fastest);
    return true;
}

static uint32_t unit_time(double mps)
{
    return (uint32_t)(1e6 / mps + 0.5);
}

static void set_times(struct net_packets *all, const struct net_dragonfly_config *config)
{
    const struct net_link_class *classes[3] = {&config->green, &config->black, &config->blue};
    const struct net_tile_config *tile = &config->tile;
    sim_time_t longest = 0;
    uint32_t i;

    for (i = 0; i < 3; i++) {
        /* the later part of a hop is the transit through the next router */
        all->cross[i] =
            config->router_transit < classes[i]->hop ? config->router_transit : classes[i]->hop;
        all->flight[i] = classes[i]->hop - all->cross[i];
        longest = later(longest,
                        all->flight[i] + net_serialise(&all->net->speed[i][1], PACKET_UNITS_MAX));
    }
    /* the slots must cover the time within which a credit returns */
    while ((sim_time_t)(SLOTS - 1) << all->slot_shift < longest)
        all->slot_shift++;
    all->cross[COLOR_PTILE] = config->router_transit;
    all->row_unit = unit_time(tile->row_mps);
    all->column_unit = unit_time(tile->column_mps);
    all->ptile_unit = unit_time(tile->ptile_mps);
    all->private_blocks = tile->private_blocks;
    all->shared_blocks = tile->shared_blocks;
    all->window = all->fly->window;
    all->crossbar_units = all->fly->crossbar_units;
    all->moving_blocks = all->fly->moving_units / BLOCK_UNITS;
    all->nic_buffer = tile->nic_buffer;
    all->near_scale = (15 << 16) / config->vc_units;
    all->far_scale = (15 << 16) / (tile->private_blocks + tile->shared_blocks);
}

static void set_tile(struct net_packets *all, uint32_t router, uint32_t port)
{
    uint32_t peer, peer_port, which;
    struct packet_tile *tile = &all->tiles[router * TILES + port];

    tile->event.fire = net_packet_output_event;
    tile->wake = SIM_NEVER;
    tile->peer = UINT32_MAX;
    if (port >= PORTS) {
        tile->color = COLOR_PTILE;
        tile->column = (uint8_t)(port - PORTS);
        tile->row = TILE_ROWS - 1;
        tile->router = (uint16_t)router;
        return;
    }
    tile->color = dragonfly_port_color(port) & 3;
    if (!net_dragonfly_peer(all->fly, router, port, &peer, &peer_port, &which))
        return;
    tile->peer = peer * TILES + peer_port;
    tile->column = net_dragonfly_tile(all->fly, router, port) % 10;
    tile->router = (uint16_t)peer;
    tile->row = net_dragonfly_tile(all->fly, peer, peer_port) / 10 & 7;
}

/* Allocates zeroed memory on huge pages, if there are any: with small pages the tiles of a machine
 * exceed the reach of the TLB. */
static void *alloc_large(size_t bytes)
{
    size_t huge = 2u << 20;
    void *memory = NULL;

    bytes = (bytes + huge - 1) & ~(huge - 1);
    if (posix_memalign(&memory, huge, bytes) != 0)
        return NULL;
    madvise(memory, bytes, MADV_HUGEPAGE);
    memset(memory, 0, bytes);
    return memory;
}

bool net_packets_init(struct net *net, const struct net_dragonfly_config *config, char **error)
{
    struct net_packets *all;
    uint32_t tiles = net->routers * TILES, i;

    if (!check(config, error))
        return false;
    all = calloc(1, sizeof(*all));
    if (all == NULL)
        return net_fail(error, "out of memory");
    net->packets = net_packets = all;
    all->net = net;
    all->fly = net->dragonfly;
    all->tiles = alloc_large(tiles * sizeof(*all->tiles));
    all->queues = alloc_large(tiles * sizeof(*all->queues));
    all->halves = calloc((size_t)net->routers * 2, sizeof(*all->halves));
    all->column_busy = calloc((size_t)net->routers * PTILES, sizeof(*all->column_busy));
    if (all->tiles == NULL || all->queues == NULL || all->halves == NULL ||
        all->column_busy == NULL)
        return net_fail(error, "out of memory");
    set_times(all, config);
    for (i = 0; i < tiles; i++)
        set_tile(all, i / TILES, i % TILES);
    for (i = 0; i < net->routers * 2; i++) {
        all->halves[i].event.fire = net_packet_half_event;
        all->halves[i].wake = SIM_NEVER;
    }
    return true;
}

void net_packets_fini(struct net *net)
{
    struct net_packets *all = net->packets;
    uint32_t i;

    if (all == NULL)
        return;
    for (i = 0; i < all->slab_count; i++)
        free(all->slabs[i]);
    free(all->slabs);
    net_packet_updates_free(all);
    free(all->tiles);
    free(all->queues);
    free(all->halves);
    free(all->column_busy);
    free(all);
    net_packets = net->packets = NULL;
}

/* ---- inspection ------------------------------------------------------------------------------ */

void net_packet_link_info(const struct net *net, uint32_t link, struct net_link_info *info)
{
    const struct net_packets *all = net->packets;
    uint32_t tile = link / PORTS * TILES + link % PORTS, class;

    info->units += all->tiles[tile].units;
    info->transfers += all->tiles[tile].packets;
    for (class = 0; class < 2; class ++)
        info->stalled[class] = all->queues[tile].stalled[class];
}

static const char *tile_leak(const struct net_packets *all, uint32_t index)
{
    const struct packet_tile *tile = &all->tiles[index];
    const struct packet_queues *queues = &all->queues[index];
    uint64_t used = tile->used_all;
    uint32_t vc, column;

    if (tile->waiting != 0 || tile->queued != 0)
        return "a packet waits at an output";
    if (tile->fifos != 0)
        return "a packet waits at an input";
    for (vc = 0; vc < SLOTS; vc++)
        used -= tile->returning_credits[vc];
    if (used != 0)
        return "a credit has not been returned";
    for (vc = 0; vc < VCS; vc++)
        for (column = 0; column < TILE_COLUMNS; column++)
            if (tile->in_crossbar != 0 || queues->in_crossbar[vc][column] != 0)
                return "a packet is left in a crossbar";
    return NULL;
}

const char *net_packet_leak(struct net *net)
{
    struct net_packets *all = net->packets;
    const char *leak = NULL;
    uint32_t i, class;

    if (all->in_use != 0)
        return "a packet has not ended";
    for (i = 0; i < net->routers * TILES && leak == NULL; i++)
        leak = tile_leak(all, i);
    for (i = 0; i < net->routers * 2; i++)
        for (class = 0; class < 2; class ++)
            if (all->halves[i].queue[class][0].head != 0 ||
                all->halves[i].queue[class][1].head != 0)
                return "a packet waits to be injected";
    for (i = 0; i < net->routers * 2; i++)
        if (all->halves[i].nic_waiting[0] != 0 || all->halves[i].nic_waiting[1] != 0)
            return "a packet waits for a NIC";
    return leak;
}
