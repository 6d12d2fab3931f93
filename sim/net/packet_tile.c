/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A tile: input queues per virtual channel, the crossbar, the output.
 *
 * The first packet of an input queue is routed. It enters the crossbar when its VC has room in the
 * row buffer of the output's column: row_credits phits may wait there, and phits in transit do not
 * count. It then waits at the output, in a queue per row of tiles and VC. Arbitration is round
 * robin among the queues whose VC has credit. If no packet waits and the output is free, or about
 * to be, the packet passes all these stages in one event.
 */
#include <assert.h>
#include <stdlib.h>
#include "packet.h"
#include "engine/trace.h"

/* A packet reserves a busy output in advance if the output is busy for no longer than this, about
 * one packet, and no other packet waits. This saves an event and keeps the order of arrival. */
#define AHEAD (20 * SIM_NS)

/* ---- tracing --------------------------------------------------------------------------------- */

static void trace_occupancy(const struct packet_tile *output, unsigned vc, sim_time_t at)
{
    static const char *const names[VCS] = {"VC 0", "VC 1", "VC 2", "VC 3",
                                           "VC 4", "VC 5", "VC 6", "VC 7"};
    uint32_t tile = (uint32_t)(output - net_packets->tiles);
    struct sim_trace_point point = {
        SIM_TRACE_COUNTER, NET_TRACK_LINK, tile / TILES, tile % TILES, names[vc], at, 0, 0,
        output->used[vc],
    };

    sim_trace_write(&point);
}

/* Credits have returned at the time of `slot`, as many as `returned` has in the byte of each VC. */
__attribute__((cold)) static void trace_returned(const struct packet_tile *output,
                                                 uint64_t returned, uint64_t slot)
{
    unsigned vc;

    for (vc = 0; vc < VCS; vc++)
        if ((returned >> 8 * vc & 0xff) != 0)
            trace_occupancy(output, vc, slot << net_packets->slot_shift);
}

void net_packet_settle_traced(struct packet_tile *output, uint64_t slot)
{
    uint64_t next = output->settled_slot + 1, last = output->settled_slot + SLOTS;

    for (; next <= slot && next <= last; next++) {
        uint64_t returned = output->returning_credits[next % SLOTS];

        output->used_all -= returned;
        output->returning_credits[next % SLOTS] = 0;
        trace_returned(output, returned, next);
    }
    output->settled_slot = slot;
}

void net_packet_trace_end(const struct net *net)
{
    struct net_packets *all = net->packets;
    uint32_t tile;

    for (tile = 0; tile < net->routers * TILES; tile++)
        if (!tile_is_ptile(tile))
            packet_credit_settle(&all->tiles[tile], sim_now());
}

/* ---- credits --------------------------------------------------------------------------------- */

#define REPEAT_BYTE(byte) ((byte)*0x0101010101010101ull)

/* Shared blocks in use: the sum of what each VC uses beyond its private blocks. Bytes of `used` are
 * below 128. */
static inline uint32_t shared_blocks_used(uint64_t used)
{
    uint64_t high = REPEAT_BYTE(0x80),
             over = (used | high) - REPEAT_BYTE(net_packets->private_blocks);

    over &= ((over & high) >> 7) * 0x7f;
    return (uint32_t)(REPEAT_BYTE(over) >> 56);
}

static inline bool has_credit(const struct packet_tile *output, unsigned vc, uint32_t blocks)
{
    uint64_t used = output->used_all + ((uint64_t)blocks << 8 * vc);

    return shared_blocks_used(used) <= net_packets->shared_blocks;
}

static inline void take_credit(struct packet_tile *output, unsigned vc, uint32_t blocks)
{
    assert(vc < VCS &&
           output->used[vc] + blocks < 128); /* shared_blocks_used() needs the top bit */
    output->used_all += (uint64_t)blocks << 8 * vc;
}

/* The slot has been settled already, because the output is reserved in advance. For the trace the
 * credits return after that reservation. */
static inline void return_at_once(struct packet_tile *output, uint64_t blocks)
{
    output->used_all -= blocks;
    if (sim_unlikely(sim_trace_on))
        trace_returned(output, blocks, output->settled_slot + 1);
}

void net_packet_credit_return(uint32_t tile, unsigned vc, uint32_t blocks, sim_time_t at)
{
    struct net_packets *all = net_packets;
    struct packet_tile *output = &all->tiles[tile];
    uint64_t slot = (at + (1ull << all->slot_shift) - 1) >> all->slot_shift;

    assert(vc < VCS && output->used[vc] >= blocks);
    if (slot > output->settled_slot + SLOTS)
        packet_credit_settle(output, sim_now());
    if (slot > output->settled_slot + SLOTS)
        slot = output->settled_slot + SLOTS;
    if (slot > output->settled_slot)
        output->returning_credits[slot % SLOTS] += (uint64_t)blocks << 8 * vc;
    else
        return_at_once(output, (uint64_t)blocks << 8 * vc);
    if (sim_unlikely(output->starved)) {
        output->starved = 0;
        net_packet_output_wake(output,
                               later(later(slot << all->slot_shift, output->busy), sim_now()));
    }
}

/* When the next credits return; SIM_NEVER: no credits are returning. */
static sim_time_t next_return(const struct packet_tile *output)
{
    uint64_t slot;

    for (slot = output->settled_slot + 1; slot <= output->settled_slot + SLOTS; slot++)
        if (output->returning_credits[slot % SLOTS] != 0)
            return slot << net_packets->slot_shift;
    return SIM_NEVER;
}

/* ---- outputs --------------------------------------------------------------------------------- */

void net_packet_output_wake(struct packet_tile *output, sim_time_t at)
{
    if (at >= output->wake)
        return;
    output->wake = at; /* see net_packet_output_event for an event that was due later */
    sim_event_schedule(&output->event, at);
}

static void carry_over(struct packet_tile *output, uint32_t tile)
{
    struct net_link_totals *totals = net_link_totals(net_packets->net, tile_link(tile));

    totals->units += output->units;
    totals->transfers += output->packets;
    output->units = 0;
    output->packets = 0;
}

/* The packet leaves the router by this output. */
static inline void leave(struct packet *packet, struct packet_tile *output, uint32_t tile,
                         sim_time_t start)
{
    struct net_packets *all = net_packets;
    struct net *net = all->net;
    unsigned color = output->color;
    const struct net_speed *speed = net_link_speed(net, tile_link(tile), color);
    sim_time_t wire = net_serialise(speed, packet->units), extra = 0;

    if (sim_unlikely(net->lcb != NULL)) {
        bool link_fails = false;

        extra = net_lcb_draw_replays(net, tile_link(tile), speed, all->flight[color], packet->units,
                                     &link_fails);
        if (link_fails) { /* the packet is lost with the link */
            output->busy = start + extra;
            take_credit(output, packet->out_vc, packet_blocks(packet));
            packet->tile = tile;
            packet->vc = packet->out_vc;
            net_packet_drop(packet, tile, true);
            net_packet_link_fail(tile_link(tile), tile_link(output->peer));
            return;
        }
    }
    output->busy = start + wire + extra;
    take_credit(output, packet->out_vc, packet_blocks(packet));
    output->units += packet->units;
    output->packets++;
    if (sim_unlikely(output->units >= UINT32_MAX / 2))
        carry_over(output, tile);
    sim_trace(SIM_TRACE_SLICE, NET_TRACK_LINK, tile / TILES, tile % TILES, "transfer", start, wire,
              0, packet->units);
    if (sim_unlikely(sim_trace_on))
        trace_occupancy(output, packet->out_vc, start);
    if (packet->hops++ == 0)
        packet->first = (uint8_t)(color * 4 + (unsigned)(speed - net->speed[color]));
    packet->rank = (color + 1) & 3;
    packet->vc = packet->out_vc;
    packet->tile = tile;
    packet->flags &= (uint8_t)~PACKET_ROUTED;
    packet->failures_seen = (uint16_t)net->failure_count;
    packet->time = start + extra + all->flight[color];
    sim_event_schedule(&packet->event, packet->time);
}

static inline void start(struct packet *packet, struct packet_tile *output, uint32_t tile,
                         sim_time_t at)
{
    if (sim_unlikely(tile_is_ptile(tile)))
        net_packet_eject(packet, tile, at);
    else
        leave(packet, output, tile, at);
}

void net_packet_release(const struct packet *packet)
{
    struct net_packets *all = net_packets;
    struct packet_tile *input = packet_input(packet);
    uint32_t out = (uint32_t)input->router * TILES + packet->out_port;

    input->in_crossbar = (uint16_t)(input->in_crossbar - packet->units);
    assert(all->queues[packet->tile].in_crossbar[packet->vc][all->tiles[out].column] >=
           packet->units);
    all->queues[packet->tile].in_crossbar[packet->vc][all->tiles[out].column] -= packet->units;
}

/* The time from which on a waiting packet can leave. */
static inline sim_time_t ready_at(const struct packet *packet, uint32_t tile)
{
    return sim_likely(!tile_is_ptile(tile))
               ? packet->time
               : later(packet->time, net_packet_nic_ready(packet, tile));
}

/* A packet that leaves the crossbar at `ready` requests its output. */
static inline void request(struct packet *packet, struct packet_tile *input, uint32_t tile,
                           sim_time_t ready)
{
    struct net_packets *all = net_packets;
    struct packet_tile *output = &all->tiles[tile];
    unsigned queue;

    packet->time = ready;
    if (sim_unlikely(output->down)) {
        net_packet_drop(packet, tile, false);
        return;
    }
    /* the four tiles of a NIC serve it in the order in which packets are ready */
    if (output->waiting == 0 && (!tile_is_ptile(tile) || *net_packet_nic_waiting(packet) == 0)) {
        sim_time_t at = later(ready_at(packet, tile), output->busy);

        if (at <= ready + AHEAD) {
            packet_credit_settle(output, at);
            if (tile_is_ptile(tile) || has_credit(output, packet->out_vc, packet_blocks(packet))) {
                all->net->counters.waiting += at - ready;
                start(packet, output, tile, at);
                return;
            }
        }
    }
    input->in_crossbar = (uint16_t)(input->in_crossbar + packet->units);
    all->queues[packet->tile].in_crossbar[packet->vc][output->column] += packet->units;
    queue = input->row * 8u + packet->out_vc;
    packet_push(&all->queues[tile].list[queue], packet);
    if (tile_is_ptile(tile))
        ++*net_packet_nic_waiting(packet);
    output->waiting |= 1ull << queue;
    output->queued = (uint16_t)(output->queued + packet->units);
    if (output->wake == SIM_NEVER) {
        output->starved = 0;
        net_packet_output_wake(output, later(ready, output->busy));
    }
}

/* The queues whose VC has credit for a packet of any size. */
static uint64_t with_credit(const struct packet_tile *output, uint32_t tile)
{
    uint64_t vcs = output->waiting, good = 0;

    if (tile_is_ptile(tile))
        return output->waiting;
    vcs |= vcs >> 24;
    vcs = (vcs | vcs >> 8 | vcs >> 16) & 0xff;
    for (; vcs != 0; vcs &= vcs - 1) {
        unsigned vc = (unsigned)__builtin_ctzll(vcs);

        if (has_credit(output, vc, (PACKET_UNITS_MAX + BLOCK_UNITS - 1) / BLOCK_UNITS))
            good |= 1ull << vc;
    }
    return output->waiting & good * 0x010101010101ull;
}

/* Round robin: the first ready queue behind the one served last. QUEUES: none is ready before
 * *soonest. */
static unsigned choose(const struct packet_tile *output, uint32_t tile, sim_time_t *soonest)
{
    const struct packet_list *lists = net_packets->queues[tile].list;
    uint64_t eligible = with_credit(output, tile), behind, half;
    int round;

    *soonest = SIM_NEVER;
    behind = eligible & ~((2ull << output->last) - 1);
    for (round = 0; round < 2; round++) {
        for (half = round == 0 ? behind : eligible & ~behind; half != 0; half &= half - 1) {
            unsigned queue = (unsigned)__builtin_ctzll(half);
            sim_time_t at = ready_at(packet_at(lists[queue].head), tile);

            if (at <= sim_now())
                return queue;
            if (at < *soonest)
                *soonest = at;
        }
    }
    return QUEUES;
}

static void serve(struct packet_tile *output, uint32_t tile, unsigned queue)
{
    struct packet_queues *queues = &net_packets->queues[tile];
    struct packet *packet = packet_pop(&queues->list[queue]);
    uint32_t input = packet->tile;
    unsigned vc = packet->vc;
    sim_time_t waited = sim_now() - packet->time;

    if (queues->list[queue].head == 0)
        output->waiting &= ~(1ull << queue);
    output->queued = (uint16_t)(output->queued - packet->units);
    output->last = (uint8_t)queue;
    if (tile_is_ptile(tile))
        --*net_packet_nic_waiting(packet);
    queues->stalled[packet_class(packet)] += waited;
    net_packets->net->counters.waiting += waited;
    net_packet_release(packet);
    start(packet, output, tile, sim_now());
    net_packet_input_next(input, vc);
}

/* ---- prefetching ----------------------------------------------------------------------------- */

/*
 * The state of a large machine exceeds the caches, and successive events concern distant parts of
 * it. Therefore each event prefetches the state that events soon to come will use. The engine has
 * already prefetched the objects of these events.
 */
#define SOON 2
#define LATER 5

static inline unsigned likely_queue(const struct packet_tile *output)
{
    uint64_t behind = output->waiting & ~((2ull << output->last) - 1);

    return (unsigned)__builtin_ctzll(behind != 0 ? behind : output->waiting | 1);
}

static inline void prefetch_path(const struct packet *packet)
{
    const struct net_packets *all = net_packets;
    uint32_t router = packet_router(packet), port;

    if (router == packet->target) {
        port =
            PORTS + (packet->to >> 1 & 1) * HALF_TILES + (packet->flags >> PACKET_PTILE_SHIFT & 3);
        __builtin_prefetch(packet->transfer, 1);
        __builtin_prefetch(&packet->transfer->flight, 1);
    } else if (packet->flags & PACKET_SOURCE_ROUTED) {
        port = packet->path[packet->hops] & (PACKET_NEXT_VC - 1);
    } else {
        return;
    }
    __builtin_prefetch(&all->tiles[router * TILES + port], 1);
    __builtin_prefetch(all->tiles[router * TILES + port].returning_credits, 1);
}

static inline void prefetch_coming_events(void)
{
    const struct net_packets *all = net_packets;
    struct sim_event *event = sim_event_ahead(LATER);

    if (event != NULL && event->fire == net_packet_arrived) {
        const struct packet *packet = sim_container_of(event, struct packet, event);

        __builtin_prefetch(all->tiles[packet->tile].returning_credits, 1);
    } else if (event != NULL && event->fire == net_packet_output_event) {
        const struct packet_tile *output = sim_container_of(event, struct packet_tile, event);

        __builtin_prefetch(output->returning_credits, 1);
        __builtin_prefetch(&all->queues[output - all->tiles].list[likely_queue(output)], 1);
    }
    event = sim_event_ahead(SOON);
    if (event != NULL && event->fire == net_packet_arrived) {
        prefetch_path(sim_container_of(event, struct packet, event));
    } else if (event != NULL && event->fire == net_packet_output_event) {
        const struct packet_tile *output = sim_container_of(event, struct packet_tile, event);
        uint32_t head = all->queues[output - all->tiles].list[likely_queue(output)].head;

        if (output->waiting != 0)
            __builtin_prefetch(packet_at(head), 1);
    }
}

void net_packet_output_event(struct sim_event *event)
{
    struct packet_tile *output = sim_container_of(event, struct packet_tile, event);
    uint32_t tile = (uint32_t)(output - net_packets->tiles);
    sim_time_t now = sim_now(), soonest;
    unsigned queue;

    prefetch_coming_events();
    if (output->wake != now)
        return; /* it was rescheduled to an earlier time, and has fired then */
    output->wake = SIM_NEVER;
    if (output->waiting == 0)
        return;
    if (output->busy > now) {
        net_packet_output_wake(output, output->busy);
        return;
    }
    packet_credit_settle(output, now);
    queue = choose(output, tile, &soonest);
    if (queue < QUEUES)
        serve(output, tile, queue);
    if (output->waiting == 0)
        return;
    if (queue < QUEUES) {
        soonest = output->busy;
    } else {
        sim_time_t credit = tile_is_ptile(tile) ? SIM_NEVER : next_return(output);

        soonest = credit < soonest ? credit : soonest;
    }
    if (soonest != SIM_NEVER)
        net_packet_output_wake(output, later(soonest, now));
    else
        output->starved = 1; /* the next credit wakes it */
}

/* ---- inputs ---------------------------------------------------------------------------------- */

/* Moves a packet into the crossbar. Its credits return when its tail has left the input buffer. */
static inline void cross(struct packet *packet, struct packet_tile *input, uint32_t out)
{
    struct net_packets *all = net_packets;
    unsigned color = input->color;
    sim_time_t came = packet->time, enter = later(later(came, sim_now()), input->row_busy);
    sim_time_t row = packet_time(packet, all->row_unit);
    uint32_t tile = packet->tile;

    input->row_busy = enter + row;
    all->net->counters.waiting += enter - came;
    if (sim_likely(color != COLOR_PTILE)) {
        const struct net_speed *speed = net_link_speed(all->net, tile_link(tile), color);
        sim_time_t tail = later(enter + row, came + net_serialise(speed, packet->units));

        net_packet_credit_return(tile, packet->vc, packet_blocks(packet),
                                 tail + all->flight[color]);
    }
    request(packet, input, out, enter + all->cross[color]);
}

bool net_packet_advance(struct packet *packet)
{
    struct net_packets *all = net_packets;
    struct packet_tile *input = packet_input(packet);
    uint32_t out;

    if (!(packet->flags & PACKET_ROUTED)) {
        if (!net_packet_route_next(packet)) {
            if (input->color != COLOR_PTILE)
                net_packet_credit_return(packet->tile, packet->vc, packet_blocks(packet),
                                         sim_now());
            net_packet_drop(packet, UINT32_MAX, false);
            return true;
        }
        packet->flags |= PACKET_ROUTED;
    }
    out = (uint32_t)input->router * TILES + packet->out_port;
    if (input->in_crossbar != 0) {
        uint32_t taken = all->queues[packet->tile].in_crossbar[packet->vc][all->tiles[out].column];

        if (taken > 0 && taken + packet->units > all->window)
            return false;
    }
    cross(packet, input, out);
    return true;
}

void net_packet_enqueue(struct packet *packet)
{
    packet_push(&net_packets->queues[packet->tile].fifo[packet->vc], packet);
    packet_input(packet)->fifos |= (uint8_t)(1u << packet->vc);
}

struct packet *net_packet_dequeue(uint32_t tile, unsigned vc)
{
    struct packet_list *fifo = &net_packets->queues[tile].fifo[vc];
    struct packet *packet = packet_pop(fifo);

    if (fifo->head == 0)
        net_packets->tiles[tile].fifos &= (uint8_t) ~(1u << vc);
    return packet;
}

/* Returns a packet to the head of its input queue. */
static void put_back(struct packet *packet)
{
    struct packet_list *fifo = &net_packets->queues[packet->tile].fifo[packet->vc];

    if (fifo->head == 0) {
        net_packet_enqueue(packet);
        return;
    }
    packet->next = fifo->head;
    fifo->head = packet->self;
}

void net_packet_input_next(uint32_t tile, unsigned vc)
{
    struct packet_tile *input = &net_packets->tiles[tile];
    uint32_t port = tile % TILES, half = tile / TILES * 2 + (port - PORTS) / HALF_TILES;
    bool ptile = tile_is_ptile(tile), moved = false;

    while (input->fifos >> vc & 1) {
        struct packet *packet = net_packet_dequeue(tile, vc);
        uint8_t units = packet->units;

        if (!net_packet_advance(packet)) {
            put_back(packet);
            break;
        }
        if (ptile) {
            struct packet_half *from = &net_packets->halves[half];

            assert(from->held[vc / RESPONSE_VC][(port - PORTS) % HALF_TILES] >= units);
            from->held[vc / RESPONSE_VC][(port - PORTS) % HALF_TILES] -= units;
        }
        moved = true;
    }
    if (moved && ptile)
        net_packet_inject_more(half, vc / RESPONSE_VC);
}

void net_packet_arrived(struct sim_event *event)
{
    struct packet *packet = sim_container_of(event, struct packet, event);

    prefetch_coming_events();
    if (sim_unlikely((uint16_t)net_packets->net->failure_count != packet->failures_seen) &&
        net_packet_lost_on_wire(packet))
        return;
    if (packet_input(packet)->fifos >> packet->vc & 1 || !net_packet_advance(packet))
        net_packet_enqueue(packet);
}
