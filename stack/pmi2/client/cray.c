/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Cray's extensions of PMI-1: collectives of bytes go through the space of keys, as base64. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pmi.h"
#include "pmi1.h"

/* The version that the library reports: one of Cray's last, because programs require a minimum.
 */
enum { VERSION_MAJOR = 5, VERSION_MINOR = 0, VERSION_REVISION = 17 };

/* Of bytes; as text one byte less than a value may have, as Hydra cuts the last one. */
enum { CHUNK = (PMI2_VALUE_MAX - 1) / 4 * 3 };

/* ---- base64 -----------------------------------------------------------------------------------*/

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static void to_text(const uint8_t *bytes, size_t length, char *text)
{
    size_t i;

    for (i = 0; i < length; i += 3) {
        uint32_t word = (uint32_t)bytes[i] << 16;

        if (i + 1 < length)
            word |= (uint32_t)bytes[i + 1] << 8;
        if (i + 2 < length)
            word |= bytes[i + 2];
        *text++ = digits[word >> 18];
        *text++ = digits[word >> 12 & 63];
        *text++ = digits[word >> 6 & 63];
        *text++ = digits[word & 63];
    }
    *text = '\0';
}

/* False: not the text of so many bytes. */
static bool to_bytes(const char *text, uint8_t *bytes, size_t length)
{
    uint32_t word = 0;
    size_t i, at = 0;

    if (strlen(text) != (length + 2) / 3 * 4)
        return false;
    for (i = 0; text[i] != '\0'; i++) {
        const char *digit = strchr(digits, text[i]);

        if (digit == NULL)
            return false;
        word = word << 6 | (uint32_t)(digit - digits);
        if (i % 4 != 3)
            continue;
        for (int shift = 16; shift >= 0 && at < length; shift -= 8)
            bytes[at++] = (uint8_t)(word >> shift);
    }
    return true;
}

/* ---- collectives ------------------------------------------------------------------------------*/

/* A server that shows puts at the fence only may see the same keys again. */
static void name_chunk(const struct pmi2_client *client, const struct pmi1_state *state, int rank,
                       size_t chunk, char key[PMI2_KEY_MAX + 1])
{
    snprintf(key, PMI2_KEY_MAX + 1, "cray-gather-%u-%d-%zu",
             client->caps & PMI2_CAP_STRICT_FENCE ? 0 : state->collectives, rank, chunk);
}

static int put_bytes(struct pmi2_client *client, const struct pmi1_state *state,
                     const uint8_t *bytes, size_t length)
{
    char key[PMI2_KEY_MAX + 1], text[PMI2_VALUE_MAX + 1];
    size_t at, size;
    int code = PMI_SUCCESS;

    for (at = 0; at < length && code == PMI_SUCCESS; at += CHUNK) {
        size = length - at < CHUNK ? length - at : CHUNK;
        name_chunk(client, state, client->rank, at / CHUNK, key);
        to_text(bytes + at, size, text);
        code = pmi2_put(client, key, text, 0);
    }
    return code;
}

static int get_bytes(struct pmi2_client *client, const struct pmi1_state *state, int rank,
                     uint8_t *bytes, size_t length)
{
    char key[PMI2_KEY_MAX + 1], text[PMI2_VALUE_MAX + 1];
    size_t at, size, needed;
    int code;

    for (at = 0; at < length; at += CHUNK) {
        size = length - at < CHUNK ? length - at : CHUNK;
        name_chunk(client, state, rank, at / CHUNK, key);
        code = pmi2_get(client, NULL, rank, key, text, sizeof(text), &needed);
        if (code != PMI_SUCCESS)
            return code;
        if (!to_bytes(text, bytes + at, size))
            return PMI_ERR_INVALID_LENGTH; /* the ranks do not agree about it */
    }
    return PMI_SUCCESS;
}

/* Which rank's part comes at place `index`: anything but the order of ranks, the same every time.
 */
static int rank_at(const struct pmi2_client *client, int index)
{
    return (index + 1) % client->size;
}

/* Lengths of all: `lengths`, or `length` of each. */
static int gather(const uint8_t *in, size_t length, uint8_t *out, const int *lengths)
{
    struct pmi2_client *client = pmi2_enter();
    struct pmi1_state *state;
    int code, i, rank;

    if (client == NULL)
        return PMI_ERR_INIT;
    state = pmi2_pmi1_state_get(client, &code);
    for (i = 0; code == PMI_SUCCESS && lengths != NULL && i < client->size; i++)
        if (lengths[i] < 0)
            code = PMI_ERR_INVALID_LENGTH;
    if (code == PMI_SUCCESS && lengths != NULL && (size_t)lengths[client->rank] != length)
        code = PMI_ERR_INVALID_LENGTH;
    if (code == PMI_SUCCESS)
        state->collectives++;
    if (code == PMI_SUCCESS)
        code = put_bytes(client, state, in, length);
    if (code == PMI_SUCCESS)
        code = pmi2_fence(client, false);
    for (i = 0; code == PMI_SUCCESS && i < client->size; i++, out += length) {
        rank = rank_at(client, i);
        if (lengths != NULL)
            length = (size_t)lengths[rank];
        code = get_bytes(client, state, rank, out, length);
    }
    pmi2_leave(client);
    return code;
}

static int check(const void *in, const void *out, int len)
{
    if (!pmi2_client_is_open())
        return PMI_ERR_INIT;
    if (in == NULL || out == NULL)
        return PMI_ERR_INVALID_ARG;
    return len >= 0 ? PMI_SUCCESS : PMI_ERR_INVALID_LENGTH;
}

int PMI_Allgather(void *in, void *out, int len)
{
    PORT_CALL(__func__);
    int code = check(in, out, len);

    return code == PMI_SUCCESS ? gather(in, (size_t)len, out, NULL) : code;
}

int PMI_Allgatherv(void *in, int len, void *out, int *all_lens)
{
    PORT_CALL(__func__);
    int code = check(in, all_lens != NULL ? out : NULL, len);

    return code == PMI_SUCCESS ? gather(in, (size_t)len, out, all_lens) : code;
}

int PMI_Bcast(void *buf, int len)
{
    PORT_CALL(__func__);
    struct pmi2_client *client;
    struct pmi1_state *state;
    int code = check(buf, buf, len);

    if (code != PMI_SUCCESS)
        return code;
    client = pmi2_enter();
    if (client == NULL)
        return PMI_ERR_INIT;
    state = pmi2_pmi1_state_get(client, &code);
    if (code == PMI_SUCCESS)
        state->collectives++;
    if (code == PMI_SUCCESS && client->rank == 0)
        code = put_bytes(client, state, buf, (size_t)len);
    if (code == PMI_SUCCESS)
        code = pmi2_fence(client, false);
    if (code == PMI_SUCCESS && client->rank != 0)
        code = get_bytes(client, state, 0, buf, (size_t)len);
    pmi2_leave(client);
    return code;
}

/* ---- what is where ----------------------------------------------------------------------------*/

int PMI_Get_nid(int rank, int *nid)
{
    PORT_CALL(__func__);
    struct pmi2_client *client = pmi2_enter();
    struct pmi1_state *state;
    int code;

    if (client == NULL)
        return PMI_ERR_INIT;
    state = pmi2_pmi1_state_get(client, &code);
    if (code == PMI_SUCCESS && (nid == NULL || rank < 0 || rank >= client->size))
        code = PMI_ERR_INVALID_ARG;
    if (code == PMI_SUCCESS)
        code = pmi2_pmi1_nodes(client, state);
    if (code == PMI_SUCCESS)
        *nid = (int)state->node_of[rank];
    pmi2_leave(client);
    return code;
}

int PMI_Get_nidlist_ptr(void **nidlist)
{
    PORT_CALL(__func__);
    struct pmi2_client *client = pmi2_enter();
    struct pmi1_state *state;
    int code;

    _Static_assert(sizeof(int) == sizeof(uint32_t), "the list is an array of int");
    if (client == NULL)
        return PMI_ERR_INIT;
    state = pmi2_pmi1_state_get(client, &code);
    if (code == PMI_SUCCESS && nidlist == NULL)
        code = PMI_ERR_INVALID_ARG;
    if (code == PMI_SUCCESS)
        code = pmi2_pmi1_nodes(client, state);
    if (code == PMI_SUCCESS)
        *nidlist = state->node_of;
    pmi2_leave(client);
    return code;
}

int PMI_Get_pes_on_smp(int ranks[], int length)
{
    PORT_CALL(__func__);

    return PMI_Get_clique_ranks(ranks, length);
}

int PMI_Get_app_size(int *size)
{
    PORT_CALL(__func__);

    return PMI_Get_size(size);
}

int PMI_Get_rank_in_app(int *rank)
{
    PORT_CALL(__func__);

    return PMI_Get_rank(rank);
}

int PMI_Get_numpes_on_smp(int *num)
{
    PORT_CALL(__func__);

    return PMI_Get_clique_size(num);
}

int PMI_Get_numpes_in_app_on_smp(int *num)
{
    PORT_CALL(__func__);

    return PMI_Get_clique_size(num);
}

int PMI_Get_version(char *version, int length)
{
    PORT_CALL(__func__);
    char text[32];

    snprintf(text, sizeof(text), "%d.%d.%d", VERSION_MAJOR, VERSION_MINOR, VERSION_REVISION);
    return pmi2_pmi1_copy_text(text, version, length);
}

int PMI_Get_version_info(int *major, int *minor, int *revision)
{
    PORT_CALL(__func__);

    if (major == NULL || minor == NULL || revision == NULL)
        return PMI_ERR_INVALID_ARG;
    *major = VERSION_MAJOR;
    *minor = VERSION_MINOR;
    *revision = VERSION_REVISION;
    return PMI_SUCCESS;
}
