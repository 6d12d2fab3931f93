/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Slabs of handles; see objects.h. */
#include "nic/objects.h"

#include <assert.h>
#include <glib.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

#define CHUNK_OBJECTS 32u

struct slab_chunk {
    struct slab_chunk *next;
    uint64_t objects[] __attribute__((aligned(SIM_LINE)));
};

struct free_object {
    uint32_t magic; /* 0 */
    struct free_object *next;
};

void *lines_new(size_t bytes)
{
    size_t whole = (bytes + SIM_LINE - 1) & ~(size_t)(SIM_LINE - 1);
    void *memory = aligned_alloc(SIM_LINE, whole);

    if (memory == NULL)
        g_error("out of memory for %zu bytes", whole);
    return memset(memory, 0, whole);
}

static char *object_at(const struct slab *slab, struct slab_chunk *chunk, unsigned index)
{
    return (char *)chunk->objects + index * slab->size;
}

void *slab_new(struct slab *slab)
{
    struct free_object *object = slab->free;

    assert(slab->size >= sizeof(*object) && slab->size % sizeof(void *) == 0);
    if (object == NULL) {
        struct slab_chunk *chunk = lines_new(sizeof(*chunk) + CHUNK_OBJECTS * slab->size);
        unsigned index = CHUNK_OBJECTS;

        chunk->next = slab->chunks;
        slab->chunks = chunk;
        while (index-- > 0)
            slab_delete(slab, object_at(slab, chunk, index));
        object = slab->free;
    }
    slab->free = object->next;
    return memset(object, 0, slab->size);
}

sim_cold void slab_delete(struct slab *slab, void *object)
{
    struct free_object *link = object;

    link->magic = 0;
    link->next = slab->free;
    slab->free = link;
}

void slab_each(struct slab *slab, void (*visit)(void *object))
{
    struct slab_chunk *chunk;
    unsigned index;

    for (chunk = slab->chunks; chunk != NULL; chunk = chunk->next)
        for (index = 0; index < CHUNK_OBJECTS; index++)
            visit(object_at(slab, chunk, index));
}

void slab_free(struct slab *slab)
{
    struct slab_chunk *chunk = slab->chunks;

    while (chunk != NULL) {
        struct slab_chunk *next = chunk->next;

        free(chunk);
        chunk = next;
    }
    slab->chunks = NULL;
    slab->free = NULL;
}
