/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * rank_exchange() and rank_allgather(). Each rank puts its part as texts, in pieces, and calls a
 * fence among the surviving ranks. The parts are not read by one request for each pair of ranks:
 * the server gives access to the committed values, like a process manager with a segment that all
 * ranks of a node share.
 */
#include <string.h>

#include "oob.h"
#include "pmi2.h"

/* As base64 below PMI2_VALUE_MAX, with the number of the exchange before it. */
enum { PIECE = 720, KEY_BYTES = 48 };

/* printf() would need more than a kilobyte of the rank's stack. */
static char *put_number(char *at, uint64_t number)
{
    if (number >= 10)
        at = put_number(at, number / 10);
    *at = (char)('0' + number % 10);
    return at + 1;
}

static void name_piece(char key[KEY_BYTES], uint32_t rank, size_t piece)
{
    static const char name[] = "-exchange-";
    char *at = key + sizeof(name) - 1;

    memcpy(key, name, sizeof(name) - 1);
    at = put_number(at, rank);
    *at++ = '-';
    *put_number(at, piece) = '\0';
}

/* "<generation> <base64>" */
static char *make_value(uint64_t generation, const uint8_t *bytes, size_t length)
{
    char *text = g_base64_encode(bytes, length), *value = g_malloc(strlen(text) + 24), *at;

    at = put_number(value, generation);
    *at++ = ' ';
    memcpy(at, text, strlen(text) + 1);
    g_free(text);
    return value;
}

static bool join(struct rank *rank)
{
    int spawned, size, id, appnum;

    if (pmi_rank_get(rank)->line != NULL)
        return true;
    rank->pmi->opened_by_exchange = true;
    return PMI2_Init(&spawned, &size, &id, &appnum) == PMI2_SUCCESS;
}

bool pmi_publish(struct rank *rank, const void *mine, size_t bytes, uint64_t generation)
{
    const uint8_t *from = mine;
    char key[KEY_BYTES], *value;
    int code = PMI2_SUCCESS;
    size_t at;

    if (!join(rank))
        return false;
    for (at = 0; at < bytes && code == PMI2_SUCCESS; at += PIECE) {
        value = make_value(generation, from + at, MIN(bytes - at, (size_t)PIECE));
        name_piece(key, rank->id, at / PIECE);
        code = PMI2_KVS_Put(key, value);
        g_free(value);
    }
    return code == PMI2_SUCCESS && PMI2X_KVS_Fence_survivors() == PMI2_SUCCESS;
}

/* Copies one piece of one rank, unless it belongs to an older exchange or has another size. */
static void read_piece(struct pmi2_slice value, uint64_t generation, uint8_t *to, size_t bytes)
{
    char text[PMI2_VALUE_MAX + 1], *end;
    gsize length;
    guchar *decoded;

    memcpy(text, value.at, value.length);
    text[value.length] = '\0';
    if (strtoull(text, &end, 10) != generation || *end != ' ')
        return;
    decoded = g_base64_decode(end + 1, &length);
    memcpy(to, decoded, MIN(length, bytes));
    g_free(decoded);
}

void pmi_collect(const struct rank *rank, uint64_t generation, uint8_t *all, size_t bytes)
{
    const struct job *job = rank->job;
    const struct pmi2_server *core = oob_server_of(job->cluster->oob, rank->node)->core;
    char key[KEY_BYTES];
    struct pmi2_slice value;
    uint32_t other;
    size_t at;

    for (other = 0; other < job->rank_count; other++) {
        for (at = 0; at < bytes; at += PIECE) {
            name_piece(key, other, at / PIECE);
            if (pmi2_server_committed(core, job->pmi_id, (struct pmi2_slice){key, strlen(key)},
                                      &value))
                read_piece(value, generation, all + other * bytes + at,
                           MIN(bytes - at, (size_t)PIECE));
        }
    }
}
