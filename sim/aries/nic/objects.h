/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Memory of the objects behind handles. It is type-stable: memory of a queue is only reused for
 * queues. So the magic number of a stale handle can still be read, and a completion that arrives
 * after its queue was destroyed finds a dead queue.
 */
#ifndef JACQUARD_ARIES_OBJECTS_H
#define JACQUARD_ARIES_OBJECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gni_ep;

/*
 * A class of objects, defined by the file that implements it. The fabric creates a slab for each
 * class with its first object.
 */
struct aries_class {
    size_t size;
    /*
     * The object begins with the 32-bit magic number of a handle, which is 0 while the object is
     * free.
     */
    bool handle;
    /* Frees the memory that an object holds; also called for free objects. NULL: it holds none. */
    void (*discard)(void *object);
};
struct aries_slab {
    const struct aries_class *class;
    void *free;
    struct aries_slab_chunk *chunks;
    struct aries_slab *next; /* slab of the next class of the fabric */
};

/*
 * Endpoints. UCX uses the low 24 bits of a handle as event data and hash key, so they must be
 * unique among all endpoints of a process. All endpoints of a fabric come from one range that
 * starts at a multiple of 16 MiB (so the bits are the same in every run) and is assigned by pages.
 * A process never holds two pages that are equal modulo 16 MiB.
 */
struct aries_ep_arena {
    void (*discard)(struct gni_ep *ep); /* called for endpoints whose transactions never ended */
    char *base;
    size_t mapped;
    uint32_t next; /* first page that was never assigned */
    struct aries_ep_page *free;
    struct aries_ep_slab *orphans; /* slabs of processes that have ended */
};

struct aries_ep_slab { /* of one process */
    struct aries_ep_arena *arena;
    struct gni_ep *free;
    uint32_t *pages;
    uint32_t pages_count;
    uint32_t used; /* endpoints */
    bool orphan; /* the process has ended, but transactions still refer to its endpoints */
    struct aries_ep_slab *next;
};

struct aries_ep_slab *aries_ep_slab_create(struct aries_ep_arena *arena,
                                           void (*discard)(struct gni_ep *ep));
struct gni_ep *aries_ep_slab_new(struct aries_ep_slab *slab); /* zeroed; NULL: none left */
void aries_ep_slab_delete(struct aries_ep_slab *slab, struct gni_ep *ep);
/* The process ends: its slab is freed with the last of its endpoints. */
void aries_ep_slab_abandon(struct aries_ep_slab *slab);
void aries_ep_arena_free(struct aries_ep_arena *arena);

struct aries_objects { /* of a fabric */
    struct aries_slab *slabs;
    struct aries_ep_arena eps;
};

void *aries_object_new(struct aries_objects *objects, const struct aries_class *class); /* zeroed */
/*
 * Frees the memory that the object holds, and makes the object available for the next one of its
 * class.
 */
void aries_object_delete(struct aries_objects *objects, const struct aries_class *class,
                         void *object);
/* Visits all objects behind handles except endpoints, including free objects. */
void aries_handles_each(struct aries_objects *objects, void (*visit)(void *object));
void aries_objects_free(struct aries_objects *objects);

#endif
