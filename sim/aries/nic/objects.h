/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Memory of the objects behind handles. It is type-stable: what was a queue is only ever a queue
 * again, so that the magic number of a handle that its owner kept too long can still be read, and a
 * completion that arrives after its queue died finds a dead queue.
 */
#ifndef JACQUARD_ARIES_OBJECTS_H
#define JACQUARD_ARIES_OBJECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gni_ep;

/*
 * A class of objects. The file that defines the class has its description; the fabric keeps a slab
 * for each class from its first object on.
 */
struct aries_class {
    size_t size;
    bool handle; /* begins with the 32-bit magic number of a handle, which is 0 while it is free */
    /* Frees what an object holds; also called for free objects. NULL: it holds nothing. */
    void (*discard)(void *object);
};
struct aries_slab {
    const struct aries_class *class;
    void *free;
    struct aries_slab_chunk *chunks;
    struct aries_slab *next; /* of another class of the same fabric */
};

/*
 * Endpoints. UCX uses the low 24 bits of a handle as event data and hash key, so the endpoints of
 * one process must differ there, now and as long as they live. All of a fabric come from one range
 * that starts at a multiple of 16 MiB (the bits are the same in every run) and is handed out by
 * pages; a process never holds two pages that are equal modulo 16 MiB.
 */
struct aries_ep_arena {
    void (*discard)(struct gni_ep *ep); /* for endpoints whose transactions never ended */
    char *base;
    size_t mapped;
    uint32_t next; /* first page that nobody had yet */
    struct aries_ep_page *free;
    struct aries_ep_slab *orphans; /* of processes that have ended */
};

struct aries_ep_slab { /* of one process */
    struct aries_ep_arena *arena;
    struct gni_ep *free;
    uint32_t *pages;
    uint32_t pages_count;
    uint32_t used; /* endpoints */
    bool orphan; /* the process has ended; transactions still name its endpoints */
    struct aries_ep_slab *next;
};

struct aries_ep_slab *aries_ep_slab_create(struct aries_ep_arena *arena,
                                           void (*discard)(struct gni_ep *ep));
struct gni_ep *aries_ep_slab_new(struct aries_ep_slab *slab); /* zeroed; NULL: none left */
void aries_ep_slab_delete(struct aries_ep_slab *slab, struct gni_ep *ep);
/* The process ends: its slab goes with the last of its endpoints. */
void aries_ep_slab_abandon(struct aries_ep_slab *slab);
void aries_ep_arena_free(struct aries_ep_arena *arena);

struct aries_objects { /* of a fabric */
    struct aries_slab *slabs;
    struct aries_ep_arena eps;
};

void *aries_object_new(struct aries_objects *objects, const struct aries_class *class); /* zeroed */
/* Frees what the object holds, and makes its memory available to the next one of its class. */
void aries_object_delete(struct aries_objects *objects, const struct aries_class *class,
                         void *object);
/* All objects behind handles but endpoints, free ones too. */
void aries_handles_each(struct aries_objects *objects, void (*visit)(void *object));
void aries_objects_free(struct aries_objects *objects);

#endif
