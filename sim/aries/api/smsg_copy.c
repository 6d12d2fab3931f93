/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Copies of SMSG messages whose bytes the NIC may need again; see smsg_connection.h. */
#include "api/smsg_connection.h"

#include <assert.h>
#include <stdlib.h>

#define COPY_LEAST 64u /* bytes of class 0; each further class has twice as many */
#define COPY_CLASSES 12u
#define COPY_CHUNK (64u << 10)
_Static_assert(COPY_LEAST << (COPY_CLASSES - 1) >= ARIES_SMSG_UNIT + GNI_SMSG_MAX_SIZE,
               "the largest class holds the largest record");

struct copy_chunk {
    struct copy_chunk *next;
    uint64_t bytes[];
};

/* Global, because only one simulation runs at a time. */
static struct {
    struct aries_smsg_copy *free[COPY_CLASSES];
    struct copy_chunk *chunks;
} copies;

static void copies_free(struct aries_fabric *fabric)
{
    struct copy_chunk *chunk;

    (void)fabric;
    while ((chunk = copies.chunks) != NULL) {
        copies.chunks = chunk->next;
        free(chunk);
    }
    memset(copies.free, 0, sizeof(copies.free));
}

static sim_cold bool copies_make(struct aries_fabric *fabric, uint16_t class)
{
    size_t each = sizeof(struct aries_smsg_copy) + (COPY_LEAST << class);
    size_t count = each < COPY_CHUNK ? COPY_CHUNK / each : 1, i;
    struct copy_chunk *chunk = malloc(sizeof(*chunk) + count * each);

    if (chunk == NULL)
        return false;
    chunk->next = copies.chunks;
    copies.chunks = chunk;
    aries_fabric_on_end(fabric, ARIES_END_MEMORY, copies_free);
    for (i = 0; i < count; i++) {
        struct aries_smsg_copy *copy =
            (struct aries_smsg_copy *)((uint8_t *)chunk->bytes + i * each);

        copy->class = class;
        copy->next = copies.free[class];
        copies.free[class] = copy;
    }
    return true;
}

struct aries_smsg_copy *aries_smsg_copy_new(struct aries_fabric *fabric, uint32_t bytes)
{
    uint16_t class = 0;
    struct aries_smsg_copy *copy;

    while (COPY_LEAST << class < bytes)
        class ++;
    assert(class < COPY_CLASSES);
    if (copies.free[class] == NULL && !copies_make(fabric, class))
        return NULL;
    copy = copies.free[class];
    copies.free[class] = copy->next;
    return copy;
}

void aries_smsg_copy_free(struct aries_request *request)
{
    struct aries_smsg_copy *copy = request->copy;

    if (copy == NULL)
        return;
    request->copy = NULL;
    copy->next = copies.free[copy->class];
    copies.free[copy->class] = copy;
}
