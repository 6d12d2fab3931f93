/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "trace_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define LANES_FIRST 4u

static sim_time_t free_from(const struct sim_trace_lane *lane)
{
    return lane->open && lane->end > lane->last ? lane->end : lane->last;
}

static sim_time_t lower(sim_time_t a, sim_time_t b)
{
    return a < b ? a : b;
}

/* Lanes that do not exist yet are free from time 0 on. */
static void grow(struct sim_trace_lanes *lanes)
{
    uint32_t capacity = lanes->capacity == 0 ? LANES_FIRST : 2 * lanes->capacity, i;

    lanes->lane = reallocarray(lanes->lane, capacity, sizeof *lanes->lane);
    lanes->free_from = reallocarray(lanes->free_from, 2 * (size_t)capacity, sizeof(sim_time_t));
    if (lanes->lane == NULL || lanes->free_from == NULL)
        abort();
    memset(lanes->lane + lanes->capacity, 0, (capacity - lanes->capacity) * sizeof *lanes->lane);
    lanes->capacity = capacity;
    for (i = 0; i < capacity; i++)
        lanes->free_from[capacity + i] = free_from(&lanes->lane[i]);
    for (i = capacity - 1; i > 0; i--)
        lanes->free_from[i] = lower(lanes->free_from[2 * i], lanes->free_from[2 * i + 1]);
}

uint32_t sim_trace_lanes_find(struct sim_trace_lanes *lanes, sim_time_t time)
{
    uint32_t i = 1;

    while (lanes->capacity == 0 || lanes->free_from[1] > time)
        grow(lanes);
    while (i < lanes->capacity)
        i = lanes->free_from[2 * i] <= time ? 2 * i : 2 * i + 1;
    i -= lanes->capacity;
    assert(i < lanes->capacity && i <= lanes->count); /* the lowest free lane leaves no gap */
    if (i >= lanes->count)
        lanes->count = i + 1;
    return i;
}

void sim_trace_lanes_update(struct sim_trace_lanes *lanes, uint32_t index)
{
    uint32_t i = lanes->capacity + index;

    assert(index < lanes->count && lanes->count <= lanes->capacity);
    lanes->free_from[i] = free_from(&lanes->lane[index]);
    for (i /= 2; i > 0; i /= 2)
        lanes->free_from[i] = lower(lanes->free_from[2 * i], lanes->free_from[2 * i + 1]);
}

void sim_trace_lanes_free(struct sim_trace_lanes *lanes)
{
    free(lanes->lane);
    free(lanes->free_from);
    *lanes = (struct sim_trace_lanes){0};
}
