/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the daemon says by itself. Requests (socket.c) may find such messages first and keep them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include "internal.h"

#define MESSAGES_MAX 256u /* at once; more at the next look */

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
    default: /* an answer that came too late */
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

/* The daemon introduces an asker to its peer before it answers, so whoever has this process's board
 * is in the socket. Other messages are kept for shm_poll_daemon. Introductions that a request has
 * kept stay in the list: to meet a known peer again has no effect. */
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
            shm->lost = true; /* told by the next look */
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
            handle_deferred(shm); /* of requests in its event */
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
