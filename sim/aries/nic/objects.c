/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Slabs of handles; see objects.h. */
#include "nic/objects.h"

#include <assert.h>
#include <glib.h>
#include <stdlib.h>
#include <string.h>

#include "nic/fabric.h"

#define CHUNK_OBJECTS 32u

struct aries_slab_chunk {
    struct aries_slab_chunk *next;
    uint64_t objects[] __attribute__((aligned(SIM_LINE)));
};

struct free_object {
    uint32_t magic; /* 0 */
    struct free_object *next;
};

void *aries_lines_new(size_t bytes)
{
    size_t whole = (bytes + SIM_LINE - 1) & ~(size_t)(SIM_LINE - 1);
    void *memory = aligned_alloc(SIM_LINE, whole);

    if (memory == NULL)
        g_error("out of memory for %zu bytes", whole);
    return memset(memory, 0, whole);
}

static char *object_at(const struct aries_slab *slab, struct aries_slab_chunk *chunk,
                       unsigned index)
{
    return (char *)chunk->objects + index * slab->class->size;
}

static struct aries_slab *slab_of(struct aries_objects *objects, const struct aries_class *class)
{
    struct aries_slab *slab = objects->slabs;

    while (slab != NULL && slab->class != class)
        slab = slab->next;
    return slab;
}

static sim_cold struct aries_slab *slab_create(struct aries_objects *objects,
                                               const struct aries_class *class)
{
    struct aries_slab *slab = g_new0(struct aries_slab, 1);

    assert(class->size >= sizeof(struct free_object) && class->size % sizeof(void *) == 0);
    slab->class = class;
    slab->next = objects->slabs;
    objects->slabs = slab;
    return slab;
}

static void push_free(struct aries_slab *slab, void *object)
{
    struct free_object *link = object;

    link->magic = 0;
    link->next = slab->free;
    slab->free = link;
}

void *aries_object_new(struct aries_objects *objects, const struct aries_class *class)
{
    struct aries_slab *slab = slab_of(objects, class);
    struct free_object *object;

    if (slab == NULL)
        slab = slab_create(objects, class);
    if (slab->free == NULL) {
        struct aries_slab_chunk *chunk =
            aries_lines_new(sizeof(*chunk) + CHUNK_OBJECTS * class->size);
        unsigned index = CHUNK_OBJECTS;

        chunk->next = slab->chunks;
        slab->chunks = chunk;
        while (index-- > 0)
            push_free(slab, object_at(slab, chunk, index));
    }
    object = slab->free;
    slab->free = object->next;
    return memset(object, 0, class->size);
}

sim_cold void aries_object_delete(struct aries_objects *objects, const struct aries_class *class,
                                  void *object)
{
    struct aries_slab *slab = slab_of(objects, class);

    assert(slab != NULL && slab->chunks != NULL);
    if (class->discard != NULL)
        class->discard(object);
    push_free(slab, object);
}

static void slab_each(const struct aries_slab *slab, void (*visit)(void *object))
{
    struct aries_slab_chunk *chunk;
    unsigned index;

    for (chunk = slab->chunks; chunk != NULL; chunk = chunk->next)
        for (index = 0; index < CHUNK_OBJECTS; index++)
            visit(object_at(slab, chunk, index));
}

void aries_handles_each(struct aries_objects *objects, void (*visit)(void *object))
{
    const struct aries_slab *slab;

    for (slab = objects->slabs; slab != NULL; slab = slab->next)
        if (slab->class->handle)
            slab_each(slab, visit);
}

static void slab_free(struct aries_slab *slab)
{
    while (slab->chunks != NULL) {
        struct aries_slab_chunk *next = slab->chunks->next;

        free(slab->chunks);
        slab->chunks = next;
    }
    g_free(slab);
}

void aries_objects_free(struct aries_objects *objects)
{
    struct aries_slab *slab;

    /* An object may hold memory of another class, so all are emptied before any is freed. */
    for (slab = objects->slabs; slab != NULL; slab = slab->next)
        if (slab->class->discard != NULL)
            slab_each(slab, slab->class->discard);
    while (objects->slabs != NULL) {
        slab = objects->slabs;
        objects->slabs = slab->next;
        slab_free(slab);
    }
    aries_ep_arena_free(&objects->eps);
}
