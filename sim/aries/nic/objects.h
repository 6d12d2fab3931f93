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

/* Objects begin with a 32-bit word that is 0 while they are free. */
struct slab {
    size_t size;
    void *free;
    struct slab_chunk *chunks;
};

void *slab_new(struct slab *slab); /* zeroed */
void slab_delete(struct slab *slab, void *object);
void slab_each(struct slab *slab, void (*visit)(void *object)); /* free ones too */
void slab_free(struct slab *slab);

/*
 * Endpoints. UCX uses the low 24 bits of a handle as event data and hash key, so the endpoints of
 * one process must differ there, now and as long as they live. All of a fabric come from one range
 * that starts at a multiple of 16 MiB (the bits are the same in every run) and is handed out by
 * pages; a process never holds two pages that are equal modulo 16 MiB.
 */
struct ep_arena {
    char *base;
    size_t mapped;
    uint32_t next; /* first page that nobody had yet */
    struct ep_page *free;
    struct aries_ep_slab *orphans; /* of processes that have ended */
};

struct aries_ep_slab { /* of one process */
    struct ep_arena *arena;
    struct gni_ep *free;
    uint32_t *pages;
    uint32_t pages_count;
    uint32_t used; /* endpoints */
    bool orphan; /* the process has ended; transactions still name its endpoints */
    struct aries_ep_slab *next;
};

struct aries_ep_slab *ep_slab_create(struct ep_arena *arena);
struct gni_ep *ep_slab_new(struct aries_ep_slab *slab); /* zeroed; NULL: none left */
void ep_slab_delete(struct aries_ep_slab *slab, struct gni_ep *ep);
/* The process ends: its slab goes with the last of its endpoints. */
void ep_slab_abandon(struct aries_ep_slab *slab);
/* `discard` is called for what is left: endpoints whose transactions never ended. */
void ep_arena_free(struct ep_arena *arena, void (*discard)(struct gni_ep *ep));

struct aries_objects {
    struct slab cdms, nics, cqs, mrs, msgqs, ces, ce_notes, channels, errors;
    struct ep_arena eps;
};

#endif
