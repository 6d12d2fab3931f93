/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Both kinds of interrupts, without and with data: their numbers on a card, the lists that they are
 * in, connections to them, and their way to another card.
 */
#include <string.h>

#include "devices.h"

struct sci_interrupt *sci_interrupt_find(const struct sci_card *card, enum sci_interrupt_kind kind,
                                         unsigned number)
{
    struct sci_interrupt *each = card->interrupts[kind].first;

    while (each != NULL && each->number != number)
        each = each->on_card;
    return each;
}

void *sci_interrupt_new(sci_desc_t desc, enum sci_interrupt_kind kind, size_t size,
                        unsigned adapter, unsigned *number, unsigned flags, sci_error_t *error)
{
    struct sci_card *card = sci_card_find(adapter, error);
    bool fixed = (flags & SCI_FLAG_FIXED_INTNO) != 0;
    struct sci_interrupt *made;
    unsigned *next;

    if (card == NULL || !sci_flags_ok(flags, SCI_FLAG_FIXED_INTNO | SCI_FLAG_USE_CALLBACK, error) ||
        sci_fails(error, desc == NULL || number == NULL ? SCI_ERR_ILLEGAL_PARAMETER
                         : fixed && sci_interrupt_find(card, kind, *number) != NULL ? SCI_ERR_BUSY
                                                                                    : SCI_ERR_OK))
        return NULL;
    next = &card->interrupts[kind].next;
    while (!fixed && sci_interrupt_find(card, kind, *next) != NULL)
        ++*next;
    if (!fixed)
        *number = (*next)++;
    made = g_malloc0(size);
    made->kind = kind;
    made->desc = desc;
    made->card = card;
    made->number = *number;
    made->next = desc->interrupts[kind];
    desc->interrupts[kind] = made;
    made->on_card = card->interrupts[kind].first;
    card->interrupts[kind].first = made;
    desc->objects++;
    return made;
}

void sci_interrupt_unlink(struct sci_interrupt *interrupt)
{
    struct sci_interrupt **place = &interrupt->desc->interrupts[interrupt->kind];

    while (*place != interrupt)
        place = &(*place)->next;
    *place = interrupt->next;
    place = &interrupt->card->interrupts[interrupt->kind].first;
    while (*place != interrupt)
        place = &(*place)->on_card;
    *place = interrupt->on_card;
    interrupt->desc->objects--;
}

/* ---- connections ----------------------------------------------------------------------------- */

void *sci_interrupt_connect(sci_desc_t desc, enum sci_interrupt_kind kind, size_t size,
                            unsigned node, unsigned adapter, unsigned number, unsigned timeout,
                            unsigned flags, sci_error_t *error)
{
    struct sci_card *card = sci_card_find(adapter, error), *to;
    struct sci_interrupt_peer *made;

    if (card == NULL || !sci_flags_ok(flags, 0, error) ||
        sci_fails(error, desc == NULL ? SCI_ERR_ILLEGAL_PARAMETER : SCI_ERR_OK))
        return NULL;
    to = sci_card_of_node(card, node);
    if (sci_fails(error, to == NULL ? SCI_ERR_ILLEGAL_NODEID : SCI_ERR_OK) ||
        !sci_connecting(card, timeout, error) || sci_fails(error, sci_access(card, to)) ||
        sci_fails(error, sci_interrupt_find(to, kind, number) == NULL ? SCI_ERR_NO_SUCH_INTNO
                                                                      : SCI_ERR_OK))
        return NULL;
    made = g_malloc0(size);
    made->kind = kind;
    made->desc = desc;
    made->card = card;
    made->to = to;
    made->number = number;
    made->next = desc->interrupt_peers[kind];
    desc->interrupt_peers[kind] = made;
    desc->objects++;
    return made;
}

static void peer_free(struct sci_interrupt_peer *peer)
{
    struct sci_interrupt_peer **place = &peer->desc->interrupt_peers[peer->kind];

    while (*place != peer)
        place = &(*place)->next;
    *place = peer->next;
    peer->desc->objects--;
    g_free(peer);
}

void sci_interrupt_disconnect(struct sci_interrupt_peer *peer, unsigned flags, sci_error_t *error)
{
    if (sci_flags_ok(flags, 0, error) &&
        !sci_fails(error, peer == NULL ? SCI_ERR_ILLEGAL_PARAMETER : SCI_ERR_OK))
        peer_free(peer);
}

void sci_interrupt_peers_release(struct sci_desc *desc)
{
    for (unsigned kind = 0; kind < SCI_INTERRUPT_KINDS; kind++)
        while (desc->interrupt_peers[kind] != NULL)
            peer_free(desc->interrupt_peers[kind]);
}

/* ---- the way to the other card --------------------------------------------------------------- */

void sci_interrupt_send(const struct sci_interrupt_peer *peer, const void *data, unsigned length,
                        void (*arrive)(struct sim_event *event), sci_error_t *error)
{
    unsigned lines = 1 + (length + SCI_LINE_BYTES - 1) / SCI_LINE_BYTES;
    struct legacy_network *network;
    struct sci_interrupt_message *message;

    sim_settle();
    if (sci_fails(error, sci_access(peer->card, peer->to)))
        return;
    network = peer->card->devices->network;
    message = g_malloc0(sizeof(*message) + length);
    message->card = peer->card;
    message->to = peer->to;
    message->number = peer->number;
    message->length = length;
    if (length != 0)
        memcpy(message->data, data, length);
    message->timer.event.fire = arrive;
    sim_timer_arm(&message->timer, legacy_occupy(&peer->card->link, sim_now(),
                                                 legacy_service(network, SCI_LINE_US, lines)) +
                                       legacy_service(network, SCI_BASE_US, 1));
}

bool sci_interrupt_delivered(const struct sci_interrupt_message *message, const char *what)
{
    struct legacy_packet packet = {.source = message->card->endpoint,
                                   .target = message->to->endpoint,
                                   .bytes = SCI_LINE_BYTES + message->length,
                                   .what = what};

    return legacy_transmit(message->card->devices->network, &packet) == LEGACY_DELIVERED;
}
