/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "engine_rivals.h"

#include <stdbool.h>
#include <stdlib.h>

/* ---- binary heap of malloc'd events ---------------------------------------------------------- */

struct event {
    uint64_t time, order;
    void *what;
};

static struct {
    struct event **at;
    uint64_t count, capacity, order;
} heap;

static bool earlier(const struct event *a, const struct event *b)
{
    return a->time != b->time ? a->time < b->time : a->order < b->order;
}

static void heap_init(uint64_t pending, double mean_delay)
{
    heap.capacity = 64;
    heap.at = malloc(heap.capacity * sizeof *heap.at);
    heap.count = heap.order = 0;
}

static void heap_push(uint64_t time, void *what)
{
    struct event *event = malloc(sizeof *event);
    uint64_t at = heap.count++;

    *event = (struct event){time, heap.order++, what};
    if (heap.count > heap.capacity)
        heap.at = realloc(heap.at, (heap.capacity *= 2) * sizeof *heap.at);
    for (; at > 0 && earlier(event, heap.at[(at - 1) / 2]); at = (at - 1) / 2)
        heap.at[at] = heap.at[(at - 1) / 2];
    heap.at[at] = event;
}

static void *heap_pop(uint64_t *time)
{
    struct event *least, *last;
    uint64_t at = 0, child;
    void *what;

    if (heap.count == 0)
        return NULL;
    least = heap.at[0];
    last = heap.at[--heap.count];
    for (; (child = 2 * at + 1) < heap.count; at = child) {
        if (child + 1 < heap.count && earlier(heap.at[child + 1], heap.at[child]))
            child++;
        if (earlier(last, heap.at[child]))
            break;
        heap.at[at] = heap.at[child];
    }
    heap.at[at] = last;
    *time = least->time;
    what = least->what;
    free(least);
    return what;
}

static void heap_fini(void)
{
    while (heap.count > 0)
        free(heap.at[--heap.count]);
    free(heap.at);
}

const struct rival bench_rival_heap = {"binary heap, malloc'd events", heap_init, heap_push,
                                       heap_pop, heap_fini};

/* ---- 4-ary heap of entries ------------------------------------------------------------------- */

static struct {
    struct event *at;
    uint64_t count, capacity, order;
} heap4;

static void heap4_init(uint64_t pending, double mean_delay)
{
    heap4.capacity = 64;
    heap4.at = malloc(heap4.capacity * sizeof *heap4.at);
    heap4.count = heap4.order = 0;
}

static void heap4_push(uint64_t time, void *what)
{
    struct event event = {time, heap4.order++, what};
    uint64_t at = heap4.count++;

    if (heap4.count > heap4.capacity)
        heap4.at = realloc(heap4.at, (heap4.capacity *= 2) * sizeof *heap4.at);
    for (; at > 0 && earlier(&event, &heap4.at[(at - 1) / 4]); at = (at - 1) / 4)
        heap4.at[at] = heap4.at[(at - 1) / 4];
    heap4.at[at] = event;
}

static void *heap4_pop(uint64_t *time)
{
    struct event least, last;
    uint64_t at = 0, child, best, end;

    if (heap4.count == 0)
        return NULL;
    least = heap4.at[0];
    last = heap4.at[--heap4.count];
    for (; (child = 4 * at + 1) < heap4.count; at = best) {
        end = child + 4 < heap4.count ? child + 4 : heap4.count;
        for (best = child++; child < end; child++)
            if (earlier(&heap4.at[child], &heap4.at[best]))
                best = child;
        if (earlier(&last, &heap4.at[best]))
            break;
        heap4.at[at] = heap4.at[best];
    }
    heap4.at[at] = last;
    *time = least.time;
    return least.what;
}

static void heap4_fini(void)
{
    free(heap4.at);
}

const struct rival bench_rival_heap4 = {"4-ary heap", heap4_init, heap4_push, heap4_pop,
                                        heap4_fini};

/* ---- calendar queue -------------------------------------------------------------------------- */

struct day_event {
    uint64_t time;
    void *what;
    struct day_event *next;
};

static struct {
    struct day_event **days, *free;
    uint64_t mask, width, count, today, day_end;
} calendar;

static void calendar_init(uint64_t pending, double mean_delay)
{
    uint64_t days = 2;

    while (days < pending)
        days *= 2;
    calendar.mask = days - 1;
    calendar.width = (uint64_t)(3 * mean_delay / (double)pending) + 1;
    calendar.days = calloc(days, sizeof *calendar.days);
    calendar.free = NULL;
    calendar.count = calendar.today = 0;
    calendar.day_end = calendar.width;
}

static void calendar_push(uint64_t time, void *what)
{
    struct day_event **at = &calendar.days[time / calendar.width & calendar.mask],
                     *event = calendar.free;

    if (event != NULL)
        calendar.free = event->next;
    else
        event = malloc(sizeof *event);
    while (*at != NULL && (*at)->time <= time)
        at = &(*at)->next;
    *event = (struct day_event){time, what, *at};
    *at = event;
    calendar.count++;
}

/* No day of a whole year had an event: go to the day of the earliest. */
static void calendar_jump(void)
{
    uint64_t day, least = UINT64_MAX;

    for (day = 0; day <= calendar.mask; day++)
        if (calendar.days[day] != NULL && calendar.days[day]->time < least)
            least = calendar.days[day]->time;
    calendar.today = least / calendar.width & calendar.mask;
    calendar.day_end = (least / calendar.width + 1) * calendar.width;
}

static void *calendar_pop(uint64_t *time)
{
    struct day_event *event;
    uint64_t tried = 0;

    if (calendar.count == 0)
        return NULL;
    while ((event = calendar.days[calendar.today]) == NULL || event->time >= calendar.day_end) {
        calendar.today = (calendar.today + 1) & calendar.mask;
        calendar.day_end += calendar.width;
        if (tried++ > calendar.mask)
            calendar_jump();
    }
    calendar.days[calendar.today] = event->next;
    *time = event->time;
    event->next = calendar.free;
    calendar.free = event;
    calendar.count--;
    return event->what;
}

static void calendar_fini(void)
{
    struct day_event *event;
    uint64_t time;

    while (calendar_pop(&time) != NULL)
        ;
    while ((event = calendar.free) != NULL) {
        calendar.free = event->next;
        free(event);
    }
    free(calendar.days);
}

const struct rival bench_rival_calendar = {"calendar, ideal width", calendar_init, calendar_push,
                                           calendar_pop, calendar_fini};
