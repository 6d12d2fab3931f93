/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The test services: ping, and bulk read and write with a check of the data. */
#include <errno.h>
#include <string.h>

#include "internal.h"

#define PATTERN 0xeeb0eeb1eeb2eeb3ull
#define POISON 0xbeefbeefbeefbeefull

void *lst_pages_alloc(uint32_t bytes)
{
    return port_pages_alloc(bytes, PAGE_SIZE);
}

void lst_pages_free(void *memory, uint32_t bytes)
{
    port_pages_free(memory, bytes);
}

bool lst_brw_valid(uint32_t bytes, uint32_t offset)
{
    return bytes != 0 && bytes <= LST_BYTES_MAX && offset < PAGE_SIZE && offset % 8 == 0 &&
           offset + bytes <= LST_BYTES_MAX;
}

/* ---- data ------------------------------------------------------------------------------------ */

static void write_words(uint8_t *at, uint32_t bytes, uint64_t word)
{
    uint32_t i;

    for (i = 0; i + 8 <= bytes; i += 8)
        memcpy(at + i, &word, 8);
    memcpy(at + i, &word, bytes - i);
}

static bool has_words(const uint8_t *at, uint32_t bytes, uint64_t word)
{
    uint32_t i;

    for (i = 0; i + 8 <= bytes; i += 8)
        if (memcmp(at + i, &word, 8) != 0)
            return false;
    return memcmp(at + i, &word, bytes - i) == 0;
}

/* A simple check covers the first and last eight bytes of each PAGE_SIZE bytes of data, wherever
 * they lie in memory: the two sides may have different offsets. */
void lst_brw_fill(void *memory, uint32_t bytes, uint32_t check)
{
    uint8_t *base = memory;
    uint32_t at;

    if (check == LST_CHECK_FULL)
        write_words(base, bytes, PATTERN);
    if (check != LST_CHECK_SIMPLE)
        return;
    for (at = 0; at < bytes; at += PAGE_SIZE) {
        uint32_t part = bytes - at < PAGE_SIZE ? bytes - at : (uint32_t)PAGE_SIZE,
                 edge = part < 8 ? part : 8;
        write_words(base + at, edge, PATTERN);
        write_words(base + at + part - edge, edge, PATTERN);
    }
}

void lst_brw_poison(void *memory, uint32_t bytes)
{
    write_words(memory, bytes, POISON);
}

bool lst_brw_good(const void *memory, uint32_t bytes, uint32_t check)
{
    const uint8_t *base = memory;
    uint32_t at;

    if (check == LST_CHECK_FULL)
        return has_words(base, bytes, PATTERN);
    if (check != LST_CHECK_SIMPLE)
        return true;
    for (at = 0; at < bytes; at += PAGE_SIZE) {
        uint32_t part = bytes - at < PAGE_SIZE ? bytes - at : (uint32_t)PAGE_SIZE,
                 edge = part < 8 ? part : 8;
        if (!has_words(base + at, edge, PATTERN) ||
            !has_words(base + at + part - edge, edge, PATTERN))
            return false;
    }
    return true;
}

/* ---- services -------------------------------------------------------------------------------- */

void lst_ping_handle(struct lst_server_rpc *rpc)
{
    bool good = rpc->request.ping.magic == LST_PING_MAGIC;

    if (!good)
        rpc->node->session.ping_errors++;
    rpc->reply.ping_answer.status = good ? 0 : EBADMSG;
    rpc->reply.ping_answer.magic = LST_PING_MAGIC;
    rpc->reply.ping_answer.sequence = rpc->request.ping.sequence;
    lst_server_reply(rpc);
}

static void brw_moved(struct lst_server_rpc *rpc)
{
    uint32_t bytes = rpc->request.brw.bytes, check = rpc->request.brw.check;

    if (rpc->bulk_status != 0) {
        rpc->reply.status = (uint32_t)-rpc->bulk_status;
    } else if (rpc->request.brw.operation == LST_WRITE &&
               !lst_brw_good(rpc->bulk_memory, bytes, check)) {
        rpc->node->session.brw_errors++;
        rpc->reply.status = EBADMSG;
    }
    lst_server_reply(rpc);
}

/* Buffers stay with the RPC, because its next request has the same size most often. */
static bool buffer(struct lst_server_rpc *rpc, uint32_t bytes)
{
    if (rpc->bulk_memory != NULL && rpc->bulk_bytes >= bytes)
        return true;
    if (rpc->bulk_memory != NULL)
        lst_pages_free(rpc->bulk_memory, rpc->bulk_bytes);
    rpc->bulk_bytes = bytes;
    rpc->bulk_memory = lst_pages_alloc(bytes);
    return rpc->bulk_memory != NULL;
}

void lst_brw_handle(struct lst_server_rpc *rpc)
{
    uint32_t bytes = rpc->request.brw.bytes, operation = rpc->request.brw.operation,
             check = rpc->request.brw.check;

    if (bytes == 0 || bytes > LST_BYTES_MAX || (operation != LST_READ && operation != LST_WRITE)) {
        rpc->reply.status = EINVAL;
    } else if ((rpc->request.features & LST_FEATURE_BYTES) == 0 && bytes % PAGE_SIZE != 0) {
        rpc->reply.status = EINVAL;
    } else if (!buffer(rpc, bytes)) {
        rpc->reply.status = ENOMEM;
    } else {
        if (operation == LST_READ)
            lst_brw_fill(rpc->bulk_memory, bytes, check);
        else if (check != LST_CHECK_NONE)
            lst_brw_poison(rpc->bulk_memory, bytes);
        rpc->bulk_done = brw_moved;
        lst_server_bulk(rpc, operation == LST_WRITE, rpc->request.brw.bulk_bits, bytes);
        return;
    }
    lst_server_reply(rpc);
}
