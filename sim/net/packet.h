/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * F2: packets on a dragonfly. Shared by the packet_ files.
 *
 *   packet.c        construction, the pool of packets, net_send, delivery, the check for leaks
 *   packet_tile.c   a tile: input queue, crossbar, output arbitration, the link to the next router
 *   packet_nic.c    processor tiles: injection and ejection
 *   packet_route.c  the next port and virtual channel; packet_plan.c, packet_options.c: candidates
 *   packet_fault.c  failures of links and routers, packets that are lost
 *
 * A router has 48 tiles: 40 for the ports of dragonfly.h (tile index = router * 48 + port), 8 for
 * its NICs, four for NICs 0 and 1, four for 2 and 3. The stages of a packet:
 *
 *   net_send ── injection queue of the NIC ── input queue of a processor tile
 *                                                │ routed when first in its queue
 *      ┌── input queue of a tile ◀── link ──┐    ▼
 *      └──────────── crossbar ──────▶ output queue ──▶ link, or processor tile ──▶ the NIC's event
 *
 * A packet takes one event per link, when its head arrives at the next router's input; if that
 * router is idle, the event reserves all its stages. If the packet has to wait for an output, the
 * output's event is a second one. Credits return without events: an output records the time from
 * which they count, and reads them when it needs them.
 *
 * 32-bit indices address all state; 0 stands for none.
 */
#ifndef JACQUARD_NET_PACKET_H
#define JACQUARD_NET_PACKET_H

#include <assert.h>
#include "dragonfly.h"

#define TILES 48
#define PTILES 8
#define HALF_TILES 4 /* processor tiles that serve two NICs */
#define TILE_ROWS 6
#define TILE_COLUMNS 8
#define VCS 8
#define RESPONSE_VC 4 /* first VC of responses */
#define LEVELS 4 /* VCs of a class */
#define QUEUES (VCS * TILE_ROWS)
#define BLOCK_UNITS 8
#define PACKET_UNITS_MAX 14
#define COLOR_PTILE 3 /* colour of the inputs of processor tiles */
#define NO_PORT UINT8_MAX

/* Within one VC, the next link of a path must have a higher rank. See packet_route.c. */
enum { RANK_NONE, RANK_GREEN, RANK_BLACK, RANK_BLUE };

enum {
    PACKET_DECIDES_PER_HOP = 1, /* adaptive, in the source group, minimal so far: takes a decision
                                   at each tile */
    PACKET_TO_ROOT = 2, /* the goal is the root, or the blue port that leads to it */
    PACKET_NON_MINIMAL = 4,
    PACKET_SOURCE_ROUTED = 8, /* its whole path is in path[] */
    PACKET_ROUTED = 16, /* out_port and out_vc are chosen */
    PACKET_PTILE_SHIFT = 5, /* two bits: the processor tile of four at the target */
    PACKET_IN_ORDER = 128, /* uses the same processor tile at the source; other packets use any */
};
#define PACKET_NEXT_VC 0x40 /* in path[]: change to the next VC before this link */

struct packet {
    struct sim_event event; /* its head arrives at the input of tile `tile` */
    struct net_transfer *transfer;
    sim_time_t time; /* at an input: arrival of the head; at an output: when it is ready to leave */
    uint32_t next; /* in the list it is in */
    uint32_t self; /* its own index */
    uint32_t tile; /* the tile whose input holds it, or that it is travelling to */
    uint16_t source, target; /* routers */
    uint16_t failures_seen; /* low bits of the number of failures when it left the last output */
    uint8_t units, vc, out_vc, out_port;
    uint8_t flags;
    uint8_t hops : 5, rank : 3;
    uint8_t goal, goal_port; /* router of this group; blue port to take there, or NO_PORT */
    uint8_t path[NET_PATH_MAX]; /* [hops]: port and PACKET_NEXT_VC */
    uint8_t to; /* bits 0-1: node at the target; 2-3: adaptive class */
    uint8_t first; /* colour * 4 + lanes of its first link, whose serialisation delays its tail */
};
_Static_assert(sizeof(struct packet) == 64, "a packet is a cache line");
_Static_assert(PORTS <= PACKET_NEXT_VC, "an entry of path[] is a port and PACKET_NEXT_VC");
_Static_assert(NET_PATH_MAX < 1 << 5, "packet.hops has 5 bits");
_Static_assert(PORTS + PTILES == TILES && TILE_ROWS * TILE_COLUMNS == TILES,
               "ports and processor tiles");
_Static_assert(QUEUES <= 64, "packet_tile.waiting has a bit per queue");
_Static_assert(2 * LEVELS == VCS && RESPONSE_VC == LEVELS, "two classes of VCs");

/*
 * A tile: an output, and the input at the other end of its link, to which its credits belong. A
 * processor tile's output ejects packets, its input injects them. The fields that every packet uses
 * are in two cache lines. Returning credits are summed in slots of time, a byte per VC as in
 * `used`; slot n is due at n << slot_shift.
 */
#define SLOTS 4

struct packet_tile {
    struct sim_event event; /* arbitrates: serves one of the waiting packets */
    sim_time_t busy; /* the link is reserved until then */
    sim_time_t wake; /* when the event is due; SIM_NEVER: it is not scheduled */
    uint64_t waiting; /* queues that are not empty: bit row * 8 + VC */
    uint32_t units, packets; /* folded into net_link_totals before they wrap */
    uint32_t peer; /* the tile at the other end; UINT32_MAX: none */
    uint8_t last; /* queue served last */
    uint8_t column;
    uint8_t down; /* DOWN_LINK, …: the link, or a router at its ends, is dead */

    _Alignas(64) uint64_t returning_credits[SLOTS];
    union {
        uint8_t used[VCS]; /* blocks in use of the input's buffer */
        uint64_t used_all;
    };
    uint64_t settled_slot; /* credits of slots up to this one have been returned to `used` */
    sim_time_t row_busy; /* input: its row bus */
    uint16_t queued; /* output: phits in the queues */
    uint16_t router; /* input: its router */
    uint16_t in_crossbar; /* input: phits in the crossbar that wait for an output */
    uint8_t row : 3, color : 2; /* of the input; of the link */
    uint8_t starved : 1; /* no waiting queue has credit, and no credits are returning */
    uint8_t fifos; /* input: VCs whose queue is not empty */
};
_Static_assert(sizeof(struct packet_tile) == 128, "a tile is two cache lines");

struct packet_list {
    uint32_t head, tail; /* 0: empty; `tail` then means nothing */
};

struct packet_queues { /* the fields of a tile that only waiting packets use */
    struct packet_list list[QUEUES]; /* output */
    struct packet_list fifo[VCS]; /* input; processor tiles: 0 and RESPONSE_VC, one per class */
    uint8_t in_crossbar[VCS][TILE_COLUMNS]; /* input: phits that wait for the outputs of a column */
    sim_time_t stalled[2]; /* output, by class */
};

struct packet_half { /* the processor tiles of two NICs */
    struct sim_event event; /* a tile is free for a packet that waits for it */
    sim_time_t wake; /* when the event is due */
    sim_time_t busy[2][HALF_TILES]; /* by class: injection */
    sim_time_t nic_free[2]; /* when the NIC has processed all requests that it received */
    uint32_t nic_waiting[2]; /* packets for the NIC that wait at processor tiles */
    struct packet_list queue[2][2]; /* by class and NIC: packets that have not entered a tile yet */
    uint8_t held[2][HALF_TILES]; /* phits in the tile's buffer */
    uint8_t turn[2]; /* NIC whose turn it is, then tile */
    uint8_t tile[2];
    uint8_t next_ptile[2]
                      [2]; /* by class and NIC: processor tile of the next packet at its target */
};

struct net_packets {
    struct net *net;
    const struct dragonfly *fly;
    struct packet_tile *tiles;
    struct packet_queues *queues; /* [tile] */
    struct packet_half *halves; /* [router * 2 + half] */
    sim_time_t (*column_busy)[TILE_ROWS]; /* [router * 8 + processor tile]: column buses */
    struct packet **slabs;
    uint32_t slab_count, free_packets, in_use;
    uint32_t private_blocks, shared_blocks, window, slot_shift;
    uint32_t row_unit, column_unit, ptile_unit; /* ps per phit */
    sim_time_t nic_buffer;
    sim_time_t flight[3]; /* by colour: from an output to the input at the other end */
    sim_time_t cross[4]; /* by colour of the input: from there to an output */
    uint32_t near_scale, far_scale; /* occupancy to fifteenths, 16.16 */
    uint32_t crossbar_units,
        moving_blocks; /* a busy link always has these before it and in transit */
    struct packet_update *updates; /* see packet_fault.c */
};

/* The only network of packets. Event handlers find it here. */
extern struct net_packets *net_packets;

/* packet.c */
#define PACKETS_PER_SLAB 4096
static inline struct packet *packet_at(uint32_t index)
{
    return &net_packets->slabs[index / PACKETS_PER_SLAB][index % PACKETS_PER_SLAB];
}
void net_packet_free(struct packet *packet);
/* Ends one packet of a transfer with this status and frees the packet. */
void net_packet_end(struct packet *packet, enum net_status status, sim_time_t arrival);

/* ---- lists ----------------------------------------------------------------------------------- */

static inline void packet_push(struct packet_list *list, struct packet *packet)
{
    packet->next = 0;
    if (list->head == 0)
        list->head = packet->self;
    else
        packet_at(list->tail)->next = packet->self;
    list->tail = packet->self;
}

static inline struct packet *packet_pop(struct packet_list *list)
{
    struct packet *head = packet_at(list->head);

    assert(list->head != 0);
    list->head = head->next;
    return head;
}

/* ---- properties ------------------------------------------------------------------------------ */

static inline uint32_t packet_blocks(const struct packet *packet)
{
    return (packet->units + BLOCK_UNITS - 1u) / BLOCK_UNITS;
}

static inline unsigned packet_class(const struct packet *packet)
{
    return packet->vc / RESPONSE_VC;
}

static inline struct packet_tile *packet_input(const struct packet *packet)
{
    return &net_packets->tiles[packet->tile];
}

/* The router that a packet at an input is in. */
static inline uint32_t packet_router(const struct packet *packet)
{
    return packet_input(packet)->router;
}

static inline bool tile_is_ptile(uint32_t tile)
{
    return tile % TILES >= PORTS;
}

static inline uint32_t tile_link(uint32_t tile) /* index of net->links; not for processor tiles */
{
    return tile / TILES * PORTS + tile % TILES;
}

/*
 * The time that a packet occupies a tile or bus. A flow with one path stays on one processor tile.
 * Between nodes of a router no link limits such a flow, so it uses the four tiles of its NIC at
 * once.
 */
static inline sim_time_t packet_time(const struct packet *packet, uint32_t unit)
{
    sim_time_t time = (sim_time_t)packet->units * unit;

    return packet->flags & PACKET_IN_ORDER && packet->source == packet->target ? time / HALF_TILES
                                                                               : time;
}

static inline sim_time_t later(sim_time_t a, sim_time_t b)
{
    return a > b ? a : b;
}

/* ---- credits --------------------------------------------------------------------------------- */

/* packet_tile.c: the same with a trace, to which it writes the occupancy of the virtual channels */
__attribute__((cold)) void net_packet_settle_traced(struct packet_tile *output, uint64_t slot);

static inline void packet_credit_settle(struct packet_tile *output, sim_time_t until)
{
    uint64_t slot = until >> net_packets->slot_shift, behind = output->settled_slot, i;

    if (slot <= behind)
        return;
    if (sim_unlikely(sim_trace_on)) {
        net_packet_settle_traced(output, slot);
        return;
    }
    output->settled_slot = slot;
    for (i = slot - behind < SLOTS ? slot - behind : SLOTS; i > 0; i--) {
        output->used_all -= output->returning_credits[(behind + i) % SLOTS];
        output->returning_credits[(behind + i) % SLOTS] = 0;
    }
}

/* ---- across files ---------------------------------------------------------------------------- */

/* packet_tile.c */
void net_packet_output_wake(struct packet_tile *output, sim_time_t at);
/* Routes the first packet of an input queue and moves it into the crossbar if there is room. True:
 * the packet is no longer in the input queue. */
bool net_packet_advance(struct packet *packet);
void net_packet_enqueue(struct packet *packet); /* at its input */
struct packet *net_packet_dequeue(uint32_t tile, unsigned vc);
/* Moves further packets of this input queue into the crossbar, after one has left that. */
void net_packet_input_next(uint32_t tile, unsigned vc);
void net_packet_arrived(struct sim_event *event);
void net_packet_output_event(struct sim_event *event);
void net_packet_release(const struct packet *packet); /* frees its place in the crossbar */
/* Returns credits: blocks of the input buffer of `tile` are free from `at` on. */
void net_packet_credit_return(uint32_t tile, unsigned vc, uint32_t blocks, sim_time_t at);

/* packet_nic.c */
void net_packet_inject(struct packet *packet, sim_time_t at);
void net_packet_inject_more(uint32_t half, unsigned class);
void net_packet_half_event(struct sim_event *event);
uint32_t *net_packet_nic_waiting(const struct packet *packet); /* of its target */
static inline sim_time_t *packet_column(uint32_t tile, const struct packet *packet)
{
    return &net_packets->column_busy[tile / TILES * PTILES + tile % TILES - PORTS]
                                    [packet_input(packet)->row];
}
/* The time from which on the NIC can accept the packet. */
sim_time_t net_packet_nic_ready(const struct packet *packet, uint32_t tile);
void net_packet_eject(struct packet *packet, uint32_t tile, sim_time_t start);

/* packet_route.c */
/* Sets a new packet's flags, VC and path or goal. False: there is no live path to its target. */
bool net_packet_route_begin(struct packet *packet);
/* Chooses the next port and VC of the first packet of an input queue. False: there is no live path;
 * the packet is lost. */
bool net_packet_route_next(struct packet *packet);
uint32_t net_packet_load(uint32_t tile, unsigned vc); /* congestion value, 4 bits */

/*
 * Lists every next hop that routing could choose, for any load and any random numbers, for the
 * first packet of an input queue: copies of the packet with out_port and out_vc set. Returns their
 * number, at most `size`. For tests.
 */
uint32_t net_packet_route_all(const struct packet *arriving, struct packet *paths, uint32_t size);

/* packet_fault.c */
bool net_packet_lost_on_wire(struct packet *packet); /* for packets sent before a failure */
void net_packet_drop(struct packet *packet, uint32_t tile,
                     bool on_wire); /* counted at that output */

void net_packet_link_fail(uint32_t link, uint32_t reverse); /* called by the link protocol */
void net_packet_updates_free(struct net_packets *all);

#endif
