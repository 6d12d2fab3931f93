/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Messages that the daemon sends without being asked. A request (socket.c) that receives one while
 * it waits for its answer defers it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include "internal.h"

#define MESSAGES_MAX 256u /* per call; the next call handles more */

void shm_defer_message(struct shm *shm, struct wire_packet *packet)
{
    struct deferred *deferred = malloc(sizeof(*deferred) + packet->text_bytes);

    if (deferred == NULL) {
        shm_wire_close(packet);
        return;
    }
    deferred->next = NULL;
    deferred->packet = *packet;
    if (packet->text_bytes > 0)
        memcpy(deferred->text, packet->text, packet->text_bytes);
    deferred->packet.text = deferred->text;
    *shm->deferred_end = deferred;
    shm->deferred_end = &deferred->next;
    atomic_store_explicit(&shm->attention, true, memory_order_relaxed);
}

static void meet(struct shm *shm, struct wire_packet *packet)
{
    struct peer *peer;
    int error;

    if (packet->head.error != 0 ||
        shm_known(shm, packet->head.slot, packet->head.generation) != NULL)
        return;
    peer = shm_peer_add(shm, &packet->head, packet->fds, &error);
    if (peer == NULL)
        return;
    if (shm->events.met != NULL)
        shm->events.met(shm->arg, &peer->to);
}

static void handle(struct shm *shm, struct wire_packet *packet)
{
    struct shm_peer *peer;

    switch (packet->head.kind) {
    case WIRE_PEER:
        meet(shm, packet);
        break;
    case WIRE_GONE:
        if (packet->head.slot >= shm->facts.processes_max)
            break;
        peer = shm_known(shm, packet->head.slot, packet->head.generation);
        if (peer != NULL && !peer->self)
            shm_peer_lost(shm, peer_of(peer));
        else if (peer == NULL && packet->head.generation > shm->ended[packet->head.slot])
            shm->ended[packet->head.slot] = packet->head.generation;
        break;
    case WIRE_ORDER:
        if (shm->events.order != NULL)
            shm->events.order(shm->arg, packet->text, packet->text_bytes);
        break;
    default: /* the answer to a request that has timed out */
        break;
    }
    shm_wire_close(packet);
}

static void handle_deferred(struct shm *shm)
{
    struct deferred *deferred;

    while ((deferred = shm->deferred) != NULL) {
        shm->deferred = deferred->next;
        if (shm->deferred == NULL)
            shm->deferred_end = &shm->deferred;
        handle(shm, &deferred->packet);
        free(deferred);
    }
}

/* The daemon sends an introduction to a process before it gives that process's segment to the peer
 * that asked. So every process that has this process's segment is in the socket by now. Other
 * messages are deferred for shm_poll_daemon. Introductions that a request has deferred stay in the
 * list: adding a known peer again has no effect. */
void shm_add_introduced(struct shm *shm)
{
    struct wire_packet packet;
    struct deferred *deferred;
    unsigned count;
    int result;

    for (deferred = shm->deferred; deferred != NULL; deferred = deferred->next)
        if (deferred->packet.head.kind == WIRE_PEER)
            meet(shm, &deferred->packet);
    for (count = 0; count < MESSAGES_MAX && !shm->lost; count++) {
        result = shm_wire_receive(shm->socket, shm->buffer, &packet, MSG_DONTWAIT);
        if (result == -EAGAIN)
            return;
        if (result == 1 && packet.head.kind == WIRE_PEER) {
            meet(shm, &packet);
            shm_wire_close(&packet);
        } else if (result == 1) {
            shm_defer_message(shm, &packet);
        } else if (result != -EMFILE) {
            shm->lost = true; /* the next poll reports it */
            atomic_store_explicit(&shm->attention, true, memory_order_relaxed);
        }
    }
}

shm_cold void shm_poll_daemon(struct shm *shm)
{
    struct wire_packet packet;
    struct peer *peer;
    unsigned count;
    int result = 1;

    if (shm->reporting)
        return;
    shm->reporting = true;
    atomic_store_explicit(&shm->attention, false, memory_order_relaxed);
    handle_deferred(shm);
    for (count = 0; count < MESSAGES_MAX && !shm->lost; count++) {
        result = shm_wire_receive(shm->socket, shm->buffer, &packet, MSG_DONTWAIT);
        if (result == 1) {
            handle(shm, &packet);
            handle_deferred(
                shm); /* an event handler may have sent requests, which deferred messages */
        } else if (result == -EAGAIN) {
            break;
        } else if (result != -EMFILE) {
            shm->lost = true;
        }
    }
    if (count == MESSAGES_MAX)
        atomic_store_explicit(&shm->attention, true, memory_order_relaxed);
    if (shm->lost && !shm->lost_reported) {
        shm->ends_pending = true;
        for (peer = shm->peers; peer != NULL; peer = peer->next)
            if (peer != shm->self)
                shm_peer_lost(shm, peer);
    }
    if (shm->ends_pending)
        shm_report_gone(shm);
    shm->reporting = false;
}
