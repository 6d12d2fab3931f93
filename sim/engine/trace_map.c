/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A hash table from two words to one, for the writer of traces, which looks up several keys for
 * each point. It uses open addressing: an entry is in the table itself, so a look-up touches one
 * cache line and an insertion allocates nothing. The tables of GLib and uthash have a node or a
 * boxed key for each entry.
 */
#include "trace_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "engine/random.h"

struct sim_trace_map_slot {
    uint64_t a, b, value;
    bool taken;
};

void *sim_trace_grow(void *array, size_t count, size_t size)
{
    size_t capacity;

    if ((count & (count - 1)) != 0) /* full only at powers of two (and 0) */
        return array;
    capacity = count == 0 ? 1 : 2 * count;
    array = reallocarray(array, capacity, size);
    if (array == NULL)
        abort();
    memset((char *)array + count * size, 0, (capacity - count) * size);
    return array;
}

static struct sim_trace_map_slot *probe(const struct sim_trace_map *map, uint64_t a, uint64_t b)
{
    size_t i = sim_mix(a ^ sim_mix(b + 0x9e3779b97f4a7c15ull)) & map->mask;

    assert((map->mask & (map->mask + 1)) == 0 && map->used <= map->mask); /* a slot is free */
    while (map->slots[i].taken && (map->slots[i].a != a || map->slots[i].b != b))
        i = (i + 1) & map->mask;
    return &map->slots[i];
}

static void resize(struct sim_trace_map *map, size_t size)
{
    struct sim_trace_map bigger = {.mask = size - 1, .used = map->used};
    size_t i;

    bigger.slots = calloc(size, sizeof *bigger.slots);
    if (bigger.slots == NULL)
        abort();
    for (i = 0; map->slots != NULL && i <= map->mask; i++)
        if (map->slots[i].taken)
            *probe(&bigger, map->slots[i].a, map->slots[i].b) = map->slots[i];
    free(map->slots);
    *map = bigger;
}

uint64_t *sim_trace_map_at(struct sim_trace_map *map, uint64_t a, uint64_t b)
{
    struct sim_trace_map_slot *slot;

    if (map->slots == NULL || 2 * map->used > map->mask)
        resize(map, map->slots == NULL ? 16 : 2 * (map->mask + 1));
    slot = probe(map, a, b);
    if (!slot->taken) {
        *slot = (struct sim_trace_map_slot){.a = a, .b = b, .taken = true};
        map->used++;
    }
    return &slot->value;
}

void sim_trace_map_free(struct sim_trace_map *map)
{
    free(map->slots);
    *map = (struct sim_trace_map){0};
}
