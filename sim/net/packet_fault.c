/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Failures of links and routers at F2. Packets that are on a failed link, wait for it or are in a
 * failed router are lost at once. The routers' tables show the failure 100 ns later; until then
 * packets are routed to the dead port and lost there. A failure at time 0 is known from the start.
 */
#include <stdlib.h>
#include "packet.h"

struct packet_update { /* a change of the routers' tables, or a failure, that is due later */
    struct sim_event event;
    struct packet_update *next, **link;
    uint32_t a, b; /* directed links; the router and UINT32_MAX */
    bool alive, fails;
};

/* ---- lost packets ---------------------------------------------------------------------------- */

void net_packet_drop(struct packet *packet, uint32_t tile, bool on_wire)
{
    struct net *net = net_packets->net;

    if (tile != UINT32_MAX && !tile_is_ptile(tile)) {
        struct net_link_totals *totals = net_link_totals(net, tile_link(tile));

        if (on_wire)
            totals->dropped++;
        else
            totals->dead++;
    }
    if (on_wire) /* it will not arrive in the buffer that is reserved for it */
        net_packet_credit_return(packet->tile, packet->vc, packet_blocks(packet), sim_now());
    net_packet_end(packet, NET_DROPPED, sim_now());
}

bool net_packet_lost_on_wire(struct packet *packet)
{
    const struct net *net = net_packets->net;
    uint32_t tile = packet->tile, link = tile_link(tile), i;
    uint16_t missed = (uint16_t)((uint16_t)net->failure_count - packet->failures_seen);

    for (i = net->failure_count - missed; i < net->failure_count; i++) {
        const struct net_failure *failure = &net->failures[i];

        if (failure->is_router ? failure->a == tile / TILES || failure->a == packet_router(packet)
                               : failure->a == link || failure->b == link) {
            net_packet_drop(packet, tile, true);
            return true;
        }
    }
    return false;
}

/* ---- failures -------------------------------------------------------------------------------- */

/* Loses all packets that wait for an output. */
static void flush_output(uint32_t tile)
{
    struct packet_tile *output = &net_packets->tiles[tile];
    struct packet_list *lists = net_packets->queues[tile].list;

    while (output->waiting != 0) {
        unsigned queue = (unsigned)__builtin_ctzll(output->waiting);
        struct packet *packet = packet_pop(&lists[queue]);
        uint32_t input = packet->tile;
        unsigned vc = packet->vc;

        if (lists[queue].head == 0)
            output->waiting &= ~(1ull << queue);
        output->queued = (uint16_t)(output->queued - packet->units);
        if (tile_is_ptile(tile))
            --*net_packet_nic_waiting(packet);
        net_packet_release(packet);
        net_packet_drop(packet, tile, false);
        net_packet_input_next(input, vc);
    }
}

/* Loses all packets in an input buffer. */
static void flush_input(uint32_t tile)
{
    uint32_t vc;

    for (vc = 0; vc < VCS; vc++)
        while (net_packets->tiles[tile].fifos >> vc & 1) {
            struct packet *packet = net_packet_dequeue(tile, vc);

            if (!tile_is_ptile(tile))
                net_packet_credit_return(tile, vc, packet_blocks(packet), sim_now());
            net_packet_drop(packet, UINT32_MAX, false);
        }
}

static void flush_nics(uint32_t router)
{
    uint32_t i, class, nic;

    for (i = 0; i < 2; i++) {
        struct packet_half *half = &net_packets->halves[router * 2 + i];

        for (class = 0; class < 2; class ++) {
            for (nic = 0; nic < 2; nic++)
                while (half->queue[class][nic].head != 0)
                    net_packet_drop(packet_pop(&half->queue[class][nic]), UINT32_MAX, false);
            for (nic = 0; nic < HALF_TILES; nic++)
                half->held[class][nic] = 0;
        }
    }
}

static void set_tile_down(uint32_t tile, uint8_t why, bool down)
{
    struct packet_tile *output = &net_packets->tiles[tile];

    if (down)
        output->down |= why;
    else
        output->down &= (uint8_t)~why;
}

/* ---- updates --------------------------------------------------------------------------------- */

static void update_free(struct packet_update *update)
{
    *update->link = update->next;
    if (update->next != NULL)
        update->next->link = update->link;
    free(update);
}

static void update_due(struct sim_event *event)
{
    struct packet_update *update = sim_container_of(event, struct packet_update, event);
    struct packet_update copy = *update;
    struct net *net = net_packets->net;

    update_free(update);
    if (copy.fails)
        net_packet_set_link_alive(net, copy.a, copy.b, false);
    else if (copy.b == UINT32_MAX)
        net_router_mark(net, copy.a, copy.alive);
    else
        net_link_mark(net, copy.a, copy.b, copy.alive);
}

static void schedule_update(uint32_t a, uint32_t b, bool alive, bool fails, sim_time_t at)
{
    struct net_packets *all = net_packets;
    struct packet_update *update = malloc(sizeof(*update));

    if (update == NULL)
        abort();
    *update = (struct packet_update){{update_due}, all->updates, &all->updates, a, b, alive, fails};
    if (update->next != NULL)
        update->next->link = &update->next;
    all->updates = update;
    sim_event_schedule(&update->event, at);
}

void net_packet_updates_free(struct net_packets *all)
{
    while (all->updates != NULL)
        update_free(all->updates);
}

/* The link protocol has failed. The link goes down in an event of its own at the current time,
 * because the caller is still using the tile. */
void net_packet_link_fail(uint32_t link, uint32_t reverse)
{
    schedule_update(link, reverse, false, true, sim_now());
}

/* ---- setting links and routers alive or dead ------------------------------------------------- */

static uint32_t link_tile(uint32_t link)
{
    return link / PORTS * TILES + link % PORTS;
}

void net_packet_set_link_alive(struct net *net, uint32_t link, uint32_t reverse, bool alive)
{
    uint32_t tiles[2] = {link_tile(link), link_tile(reverse)}, i;
    bool was = !(net_packets->tiles[tiles[0]].down & DOWN_LINK);

    if (was && !alive)
        net_failure_record(net, false, link, reverse);
    for (i = 0; i < 2; i++) {
        set_tile_down(tiles[i], DOWN_LINK, !alive);
        if (!alive)
            flush_output(tiles[i]);
    }
    if (sim_now() == 0)
        net_link_mark(net, link, reverse, alive);
    else
        schedule_update(link, reverse, alive, false, sim_now() + NET_FAILURE_DETECTION_TIME);
}

void net_packet_set_router_alive(struct net *net, uint32_t router, bool alive)
{
    struct net_packets *all = net_packets;
    uint32_t port, tile;

    if (alive == !all->tiles[router * TILES + PORTS].down)
        return;
    if (!alive)
        net_failure_record(net, true, router, UINT32_MAX);
    for (port = 0; port < TILES; port++) {
        tile = router * TILES + port;
        set_tile_down(tile, DOWN_SOURCE, !alive);
        if (all->tiles[tile].peer != UINT32_MAX)
            set_tile_down(all->tiles[tile].peer, DOWN_TARGET, !alive);
    }
    for (port = 0; port < TILES && !alive; port++) {
        tile = router * TILES + port;
        flush_output(tile);
        if (port >= PORTS)
            flush_input(tile);
        if (all->tiles[tile].peer != UINT32_MAX) {
            flush_output(all->tiles[tile].peer);
            flush_input(all->tiles[tile].peer);
        }
    }
    if (!alive)
        flush_nics(router);
    if (sim_now() == 0)
        net_router_mark(net, router, alive);
    else
        schedule_update(router, UINT32_MAX, alive, false, sim_now() + NET_FAILURE_DETECTION_TIME);
}

void net_packet_link_hold(struct net *net, uint32_t link, sim_time_t time)
{
    struct packet_tile *output = &net->packets->tiles[link_tile(link)];

    output->busy = later(output->busy, sim_now()) + time;
}
