/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Processor tiles connect a router and its NICs. Four of them serve two NICs. Each class has a rate
 * of its own at a tile, so the tiles do not limit traffic that spreads over all four. Packets that
 * must stay in order use one tile. A tile buffers 32 phits of a class; packets that do not fit wait
 * in the NIC's queue.
 */
#include "packet.h"

#define PTILE_UNITS 32 /* gpcd ar_nl_cfg_crdt */
/* A packet that is due within this time is handled at once. That saves an event. */
#define AHEAD (10 * SIM_NS)

static inline uint32_t half_of(uint32_t endpoint)
{
    return endpoint / 2;
}

static inline bool has_room(const struct packet_half *half, unsigned class, unsigned tile,
                            uint32_t units)
{
    return half->held[class][tile] + units <= PTILE_UNITS;
}

/*
 * Picks a tile that the packet can enter now; -1: none. A tile that has room but is busy with
 * another packet lowers *soonest, the time to try again.
 */
static int pick(const struct packet_half *half, const struct packet *packet, unsigned class,
                sim_time_t *soonest)
{
    int best = -1, i;

    if (packet->flags & PACKET_IN_ORDER) {
        i = packet->flags >> PACKET_PTILE_SHIFT & 3;
        best = has_room(half, class, (unsigned)i, packet->units) ? i : -1;
    } else {
        for (i = 0; i < HALF_TILES; i++) {
            int tile = (half->tile[class] + i) % HALF_TILES;

            if (has_room(half, class, (unsigned)tile, packet->units) &&
                (best < 0 || half->busy[class][tile] < half->busy[class][best]))
                best = tile;
        }
    }
    if (best >= 0 && half->busy[class][best] > sim_now() + AHEAD) {
        if (half->busy[class][best] < *soonest)
            *soonest = half->busy[class][best];
        return -1;
    }
    return best;
}

static void wake(struct packet_half *half, sim_time_t at)
{
    if (at >= half->wake)
        return;
    half->wake = at;
    sim_event_schedule(&half->event, at);
}

void net_packet_half_event(struct sim_event *event)
{
    struct packet_half *half = sim_container_of(event, struct packet_half, event);

    if (half->wake != sim_now())
        return;
    half->wake = SIM_NEVER;
    net_packet_inject_more((uint32_t)(half - net_packets->halves), NET_REQUEST);
    net_packet_inject_more((uint32_t)(half - net_packets->halves), NET_RESPONSE);
}

static void enter_tile(struct packet *packet, uint32_t half_index, unsigned class, unsigned tile)
{
    struct net_packets *all = net_packets;
    struct packet_half *half = &all->halves[half_index];
    struct packet_tile *input;

    half->tile[class] = (uint8_t)((tile + 1) % HALF_TILES);
    all->net->counters.waiting +=
        later(packet->time, later(sim_now(), half->busy[class][tile])) - packet->time;
    packet->time = later(packet->time, later(sim_now(), half->busy[class][tile]));
    half->busy[class][tile] = packet->time + packet_time(packet, all->ptile_unit);
    input = &all->tiles[half_index / 2 * TILES + PORTS + half_index % 2 * HALF_TILES + tile];
    packet->tile = (uint32_t)(input - all->tiles);
    packet->vc = (uint8_t)(class * RESPONSE_VC);
    if (!(input->fifos >> packet->vc & 1) && net_packet_advance(packet))
        return;
    net_packet_enqueue(packet);
    half->held[class][tile] += packet->units;
    assert(half->held[class][tile] <= PTILE_UNITS);
}

/* Round robin between the two NICs. */
void net_packet_inject_more(uint32_t half_index, unsigned class)
{
    struct packet_half *half = &net_packets->halves[half_index];
    sim_time_t soonest = SIM_NEVER;
    unsigned failed = 0;

    while (failed < 2) {
        unsigned nic = half->turn[class];
        struct packet_list *queue = &half->queue[class][nic];
        int tile = queue->head == 0 ? -1 : pick(half, packet_at(queue->head), class, &soonest);

        half->turn[class] = (uint8_t)(nic ^ 1);
        if (tile < 0) {
            failed++;
            continue;
        }
        failed = 0;
        enter_tile(packet_pop(queue), half_index, class, (unsigned)tile);
    }
    wake(half, soonest);
}

static void inject(struct packet *packet)
{
    uint32_t source = packet->transfer->source, half_index = half_of(source);
    unsigned class = packet->transfer->class;
    struct packet_half *half = &net_packets->halves[half_index];
    struct packet_list *queue = &half->queue[class][source % 2];
    sim_time_t soonest = SIM_NEVER;
    int tile = queue->head == 0 ? pick(half, packet, class, &soonest) : -1;

    if (tile >= 0) {
        enter_tile(packet, half_index, class, (unsigned)tile);
        return;
    }
    packet_push(queue, packet);
    wake(half, soonest);
}

static void inject_now(struct sim_event *event)
{
    struct packet *packet = sim_container_of(event, struct packet, event);

    packet->event.fire = net_packet_arrived;
    inject(packet);
}

/* The packet reaches the processor tiles at `at`. */
void net_packet_inject(struct packet *packet, sim_time_t at)
{
    packet->time = at;
    if (sim_likely(at <= sim_now() + AHEAD)) {
        inject(packet);
        return;
    }
    packet->event.fire = inject_now;
    sim_event_schedule(&packet->event, at);
}

/* ---- ejection -------------------------------------------------------------------------------- */

static inline struct packet_half *target_half(const struct packet *packet)
{
    return &net_packets->halves[packet->target * 2 + (packet->to >> 1 & 1)];
}

uint32_t *net_packet_nic_waiting(const struct packet *packet)
{
    return &target_half(packet)->nic_waiting[packet->to & 1];
}

sim_time_t net_packet_nic_ready(const struct packet *packet, uint32_t tile)
{
    const struct net_packets *all = net_packets;
    sim_time_t column = *packet_column(tile, packet), nic;

    if (packet_class(packet) == NET_RESPONSE) /* the NIC accepts responses at any time */
        return column;
    nic = target_half(packet)->nic_free[packet->to & 1];
    return later(column, nic > all->nic_buffer ? nic - all->nic_buffer : 0);
}

/* The time between head and tail of a packet. Within one router it is that of the closed form. */
static sim_time_t tail_time(const struct packet *packet)
{
    const struct net *net = net_packets->net;
    unsigned color = COLOR_GREEN, lanes = net->full_lanes[COLOR_GREEN];

    if (packet->hops > 0) {
        color = packet->first / 4;
        lanes = packet->first % 4;
    }
    return net_serialise(&net->speed[color][lanes], packet->units);
}

void net_packet_eject(struct packet *packet, uint32_t tile, sim_time_t start)
{
    struct net_packets *all = net_packets;
    struct net_transfer *transfer = packet->transfer;
    sim_time_t *nic = &target_half(packet)->nic_free[packet->to & 1];

    all->tiles[tile].busy = start + packet_time(packet, all->ptile_unit);
    *packet_column(tile, packet) = start + packet_time(packet, all->column_unit);
    if (transfer->class == NET_REQUEST && transfer->ejection_time > 0)
        *nic = later(*nic, start) + transfer->ejection_time;
    /* the tail may have arrived while the head waited */
    net_packet_end(packet, NET_DELIVERED,
                   later(packet->time + tail_time(packet), all->tiles[tile].busy));
}
