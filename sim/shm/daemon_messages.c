/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the daemon says by itself. Requests (socket.c) may find such messages first and keep them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include "internal.h"

#define MESSAGES_MAX 256u /* at once; more at the next look */

void live_keep(struct live *live, struct wire_packet *packet)
{
    struct later *later = malloc(sizeof(*later) + packet->text_bytes);

    if (later == NULL) {
        wire_close(packet);
        return;
    }
    later->next = NULL;
    later->packet = *packet;
    if (packet->text_bytes > 0)
        memcpy(later->text, packet->text, packet->text_bytes);
    later->packet.text = later->text;
    *live->later_end = later;
    live->later_end = &later->next;
    atomic_store_explicit(&live->attention, true, memory_order_relaxed);
}

static void meet(struct live *live, struct wire_packet *packet)
{
    struct peer *peer;
    int error;

    if (packet->head.error != 0 ||
        live_known(live, packet->head.slot, packet->head.generation) != NULL)
        return;
    peer = live_peer_add(live, &packet->head, packet->fds, &error);
    if (peer == NULL)
        return;
    if (live->events.met != NULL)
        live->events.met(live->arg, &peer->to);
}

static void handle(struct live *live, struct wire_packet *packet)
{
    struct live_peer *peer;

    switch (packet->head.kind) {
    case WIRE_PEER:
        meet(live, packet);
        break;
    case WIRE_GONE:
        if (packet->head.slot >= live->facts.processes_max)
            break;
        peer = live_known(live, packet->head.slot, packet->head.generation);
        if (peer != NULL && !peer->self)
            live_peer_lost(live, peer_of(peer));
        else if (peer == NULL && packet->head.generation > live->ended[packet->head.slot])
            live->ended[packet->head.slot] = packet->head.generation;
        break;
    case WIRE_ORDER:
        if (live->events.order != NULL)
            live->events.order(live->arg, packet->text, packet->text_bytes);
        break;
    default: /* an answer that came too late */
        break;
    }
    wire_close(packet);
}

static void handle_kept(struct live *live)
{
    struct later *later;

    while ((later = live->later) != NULL) {
        live->later = later->next;
        if (live->later == NULL)
            live->later_end = &live->later;
        handle(live, &later->packet);
        free(later);
    }
}

/* The daemon introduces an asker to its peer before it answers, so whoever has this process's board
 * is in the socket. Other messages are kept for live_look. Introductions that a request has kept
 * stay in the list: to meet a known peer again has no effect. */
void live_add_introduced(struct live *live)
{
    struct wire_packet packet;
    struct later *later;
    unsigned count;
    int result;

    for (later = live->later; later != NULL; later = later->next)
        if (later->packet.head.kind == WIRE_PEER)
            meet(live, &later->packet);
    for (count = 0; count < MESSAGES_MAX && !live->lost; count++) {
        result = wire_receive(live->socket, live->buffer, &packet, MSG_DONTWAIT);
        if (result == -EAGAIN)
            return;
        if (result == 1 && packet.head.kind == WIRE_PEER) {
            meet(live, &packet);
            wire_close(&packet);
        } else if (result == 1) {
            live_keep(live, &packet);
        } else if (result != -EMFILE) {
            live->lost = true; /* told by the next look */
            atomic_store_explicit(&live->attention, true, memory_order_relaxed);
        }
    }
}

live_cold void live_look(struct live *live)
{
    struct wire_packet packet;
    struct peer *peer;
    unsigned count;
    int result = 1;

    if (live->telling)
        return;
    live->telling = true;
    atomic_store_explicit(&live->attention, false, memory_order_relaxed);
    handle_kept(live);
    for (count = 0; count < MESSAGES_MAX && !live->lost; count++) {
        result = wire_receive(live->socket, live->buffer, &packet, MSG_DONTWAIT);
        if (result == 1) {
            handle(live, &packet);
            handle_kept(live); /* of requests in its event */
        } else if (result == -EAGAIN) {
            break;
        } else if (result != -EMFILE) {
            live->lost = true;
        }
    }
    if (count == MESSAGES_MAX)
        atomic_store_explicit(&live->attention, true, memory_order_relaxed);
    if (live->lost && !live->lost_told) {
        live->dying = true;
        for (peer = live->peers; peer != NULL; peer = peer->next)
            if (peer != live->self)
                live_peer_lost(live, peer);
    }
    if (live->dying)
        live_tell_gone(live);
    live->telling = false;
}
