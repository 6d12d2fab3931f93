/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <stdlib.h>
#include <string.h>
#include "api.h"
#include "nic/mem_handle.h"

/* ---- handles --------------------------------------------------------------------------------- */

struct object {
    void *handle;
    enum kind kind;
    uint32_t process, domain;
    uint32_t peer; /* node of an endpoint's peer */
    uint8_t ptag;
    bool alive;
};

static struct object objects[RANKS * (RECORDS_MAX + 64)];
static uint32_t objects_count; /* number 0 means none */

static struct object *find(enum kind kind, const void *handle)
{
    uint32_t i;

    for (i = objects_count; i-- > 1;)
        if (objects[i].alive && objects[i].kind == kind && objects[i].handle == handle)
            return &objects[i];
    return NULL;
}

uint32_t model_made(enum kind kind, void *handle, uint32_t process, uint32_t domain)
{
    struct object *object = &objects[objects_count];

    if (handle == NULL)
        die("success, but no handle");
    if (find(kind, handle) != NULL)
        die("a handle that is in use was given out again");
    if (objects_count >= sizeof(objects) / sizeof(objects[0]))
        die("too many objects");
    *object = (struct object){handle, kind, process, domain, UINT32_MAX, 0, true};
    if (kind == CDM)
        object->domain = objects_count;
    else if (domain == 0)
        die("something was made from a handle that is not alive");
    objects_count++;
    return object->domain;
}

void model_gone(enum kind kind, void *handle)
{
    struct object *object = find(kind, handle);
    uint32_t i;

    if (object == NULL)
        die("a handle that is not alive was accepted");
    object->alive = false;
    for (i = 1; i < objects_count && kind == CDM; i++)
        if (objects[i].domain == object->domain)
            objects[i].alive = false;
}

void model_process_gone(uint32_t process)
{
    uint32_t i;

    for (i = 1; i < objects_count; i++)
        if (objects[i].process == process)
            objects[i].alive = false;
}

void model_bound(const void *ep, uint32_t node)
{
    find(EP, ep)->peer = node;
}

uint32_t model_peer(const void *ep)
{
    const struct object *object = find(EP, ep);

    return object != NULL ? object->peer : UINT32_MAX;
}

void *model_visible(enum kind kind, void *handle, uint32_t process)
{
    const struct object *object = handle != NULL ? find(kind, handle) : NULL;

    return object == NULL || object->process == process ? handle : NULL;
}

void *model_any(enum kind kind, uint32_t process)
{
    uint32_t i;

    for (i = 1; i < objects_count; i++)
        if (objects[i].alive && objects[i].kind == kind && objects[i].process == process)
            return objects[i].handle;
    return NULL;
}

uint32_t model_domain(enum kind kind, const void *handle)
{
    const struct object *object = handle != NULL ? find(kind, handle) : NULL;

    return object != NULL ? object->domain : 0;
}

uint8_t model_ptag(uint32_t domain)
{
    return objects[domain].ptag;
}

void model_attached(uint32_t domain, uint8_t ptag)
{
    objects[domain].ptag = ptag;
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* All regions that a triple of node, tag and MDH has named, and all writes through it. */
struct region {
    uint32_t node, mdh;
    uint8_t ptag;
    bool vmdh;
    uint64_t base; /* address of its first byte; 0: offsets */
    gni_mem_segment_t piece; /* its bytes from `offset` on */
    uint64_t offset;
};

struct write {
    uint32_t node, mdh;
    uint8_t ptag;
    bool vmdh, message;
    uint64_t address, bytes;
};

static struct region regions[RANKS * RECORDS_MAX * 3];
static struct write writes[RANKS * RECORDS_MAX * 8];
static uint32_t regions_count, writes_count;
static uint8_t written[RANKS][ARENA_BYTES]; /* 1: a call may have written this byte */

static uint8_t pattern(uint32_t process, uint32_t at)
{
    return (uint8_t)(0x40 + process * 37 + at * 11 + (at >> 8) * 3);
}

/* A new mailbox must be zero. */
static bool starts_zero(uint32_t at)
{
    return at / PAGE == MAILBOX_PAGE;
}

void model_begin(void)
{
    uint32_t i, at;

    objects_count = 1;
    regions_count = writes_count = 0;
    memset(written, 0, sizeof(written));
    for (i = 0; i < RANKS; i++)
        for (at = 0; at < ARENA_BYTES; at++)
            world.process[i].arena[at] = starts_zero(at) ? 0 : pattern(i, at);
}

void model_registered(uint32_t node, uint8_t ptag, const gni_mem_handle_t *handle, uint64_t base,
                      const gni_mem_segment_t *pieces, uint32_t count, bool read_only)
{
    uint64_t offset = 0;
    uint32_t i;

    for (i = 0; i < count && !read_only; i++) {
        if (regions_count >= sizeof(regions) / sizeof(regions[0]))
            die("too many regions");
        regions[regions_count++] = (struct region){
            .node = node,
            .mdh = aries_mem_handle_mdh(handle),
            .ptag = ptag,
            .vmdh = (aries_mem_handle_flags(handle) & ARIES_MEM_VMDH) != 0,
            .base = base,
            .piece = pieces[i],
            .offset = offset,
        };
        offset += pieces[i].length;
    }
}

static bool is_mailbox(uint64_t from, uint64_t to)
{
    uint32_t i;

    for (i = 0; i < RANKS; i++) {
        uint64_t first = (uintptr_t)world.process[i].arena + MAILBOX_PAGE * PAGE;

        if (from < first + PAGE && to > first)
            return true;
    }
    return false;
}

void model_writes(uint32_t node, uint8_t ptag, const gni_mem_handle_t *handle, uint64_t address,
                  uint64_t bytes, bool message)
{
    if (writes_count >= sizeof(writes) / sizeof(writes[0]))
        die("too many writes");
    writes[writes_count++] = (struct write){
        .node = node,
        .mdh = aries_mem_handle_mdh(handle),
        .ptag = ptag,
        .vmdh = (aries_mem_handle_flags(handle) & ARIES_MEM_VMDH) != 0,
        .message = message,
        .address = aries_mem_handle_offset(handle, address),
        .bytes = bytes,
    };
}

static void mark(uint64_t from, uint64_t to)
{
    uint32_t i;

    for (i = 0; i < RANKS; i++) {
        uint64_t first = (uintptr_t)world.process[i].arena, last = first + ARENA_BYTES;

        if (from < last && to > first && from < to) {
            uint64_t begin = from < first ? first : from, end = to > last ? last : to;

            memset(&written[i][begin - first], 1, end - begin);
        }
    }
}

void model_stores(uint32_t process, const void *address, uint64_t bytes)
{
    mark((uintptr_t)address, (uintptr_t)address + bytes);
}

/* The part of a write that lies in a region. */
static void apply(const struct write *write, const struct region *region)
{
    uint64_t first = write->address - region->base, last = first + write->bytes, begin, end;

    if (write->node != region->node || write->mdh != region->mdh || write->ptag != region->ptag ||
        write->vmdh != region->vmdh)
        return;
    if (last < first) { /* it begins before the region, or wraps around */
        mark(region->piece.address, region->piece.address + region->piece.length);
        return;
    }
    begin = first > region->offset ? first - region->offset : 0;
    end = last > region->offset ? last - region->offset : 0;
    if (end > region->piece.length)
        end = region->piece.length;
    if (begin < end) {
        if (!write->message &&
            is_mailbox(region->piece.address + begin, region->piece.address + end))
            world.trampled = true;
        mark(region->piece.address + begin, region->piece.address + end);
    }
}

void model_end(void)
{
    uint32_t i, j, at;

    for (i = 0; i < writes_count; i++)
        for (j = 0; j < regions_count; j++)
            apply(&writes[i], &regions[j]);
    for (i = 0; i < RANKS; i++)
        for (at = 0; at < ARENA_BYTES; at++) {
            uint8_t byte = world.process[i].arena[at];

            if (!written[i][at] && byte != (starts_zero(at) ? 0 : pattern(i, at)))
                die("byte 0x%x of process %u was written by nobody", at, i);
            note(byte);
        }
}
