/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Pieces of data that processes hand to each other, and what they have to be when they arrive. The
 * sender books a piece with its digest, and the receiver finds it there.
 */
#include <string.h>

#include "cluster/port_fiber.h"
#include "engine/ledger.h"

struct sent {
    struct port_piece piece; /* the key; `rule` is not part of it */
    uint64_t digest, length;
};

static guint piece_hash(gconstpointer key)
{
    const struct port_piece *piece = key;
    uint64_t hash = piece->channel;

    hash = (hash ^ piece->from) * UINT64_C(0x9e3779b97f4a7c15);
    hash = (hash ^ piece->to ^ (uint64_t)piece->link << 32) * UINT64_C(0x9e3779b97f4a7c15);
    hash = (hash ^ piece->message ^ (uint64_t)piece->number << 40) * UINT64_C(0x9e3779b97f4a7c15);
    return (guint)(hash >> 32);
}

static gboolean piece_equal(gconstpointer one, gconstpointer other)
{
    const struct port_piece *a = one, *b = other;

    return a->book == b->book && a->channel == b->channel && a->from == b->from && a->to == b->to &&
           a->link == b->link && a->message == b->message && a->number == b->number;
}

uint64_t port_piece_digest(const void *bytes, size_t length)
{
    return sim_ledger_digest(bytes, length, 0);
}

void port_piece_sent(const struct port_piece *piece, const void *bytes, size_t length)
{
    struct cluster *cluster = port_self()->rank->job->cluster;
    struct sent *sent = g_new(struct sent, 1);

    if (cluster->pieces == NULL)
        cluster->pieces = g_hash_table_new_full(piece_hash, piece_equal, NULL, g_free);
    *sent = (struct sent){*piece, port_piece_digest(bytes, length), length};
    port_book_count(piece->book, 1, 0);
    if (g_hash_table_contains(cluster->pieces, piece))
        port_book_violation(piece->book, "a piece was sent twice");
    g_hash_table_replace(cluster->pieces, &sent->piece, sent);
}

void port_piece_received(const struct port_piece *piece, const void *bytes, size_t length)
{
    struct cluster *cluster = port_self()->rank->job->cluster;
    const struct sent *sent =
        cluster->pieces != NULL ? g_hash_table_lookup(cluster->pieces, piece) : NULL;

    if (sent == NULL) {
        port_book_violation(piece->book, "a piece was received that nobody has sent");
        return;
    }
    if (sent->length != length || sent->digest != port_piece_digest(bytes, length))
        port_book_violation(piece->book, sent->piece.rule);
    port_book_count(piece->book, 0, 1);
    g_hash_table_remove(cluster->pieces, piece);
}

/* Connections that broke, processes that ended: nobody has promised that these arrive. */
void port_pieces_end(struct cluster *cluster)
{
    GHashTableIter place;
    gpointer value;

    if (cluster->pieces == NULL)
        return;
    g_hash_table_iter_init(&place, cluster->pieces);
    while (g_hash_table_iter_next(&place, NULL, &value)) /* only counted: any order */
        sim_ledger_count_lost(&cluster->books[((struct sent *)value)->piece.book], 1);
    g_clear_pointer(&cluster->pieces, g_hash_table_unref);
}
