/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The event queue against a reference: a list that is searched for the least (time, order of
 * pushing). Every distribution runs with several seeds, with cancellations, and with a clock that
 * also moves between events.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "engine/random.h"
#include "queue.h"

#define STEPS 60000
#define PENDING_MAX 4000

struct item {
    struct sim_timer timer; /* its event serves plain entries */
    sim_time_t time;
    uint64_t order;
    uint32_t heap; /* position in the reference, UINT32_MAX: not in it */
};

static struct sim_queue queue;
static struct item items[PENDING_MAX];
static struct item *heap[PENDING_MAX];
static uint32_t heap_count;
static uint64_t order;
static struct sim_random rnd;

/* ---- the reference: a binary heap of items by (time, order) ---- */

static bool before(const struct item *a, const struct item *b)
{
    return a->time != b->time ? a->time < b->time : a->order < b->order;
}

static void heap_set(uint32_t at, struct item *item)
{
    heap[at] = item;
    item->heap = at;
}

static void heap_sift(uint32_t at)
{
    struct item *item = heap[at];
    uint32_t child;

    for (; at > 0 && before(item, heap[(at - 1) / 2]); at = (at - 1) / 2)
        heap_set(at, heap[(at - 1) / 2]);
    for (; (child = 2 * at + 1) < heap_count; at = child) {
        if (child + 1 < heap_count && before(heap[child + 1], heap[child]))
            child++;
        if (before(item, heap[child]))
            break;
        heap_set(at, heap[child]);
    }
    heap_set(at, item);
}

static void heap_remove(struct item *item)
{
    uint32_t at = item->heap;
    struct item *last = heap[--heap_count];

    item->heap = UINT32_MAX;
    if (last != item) {
        heap_set(at, last);
        heap_sift(at);
    }
}

static void push(struct item *item, sim_time_t time, bool timer)
{
    item->time = time;
    item->order = order++;
    heap_set(heap_count++, item);
    heap_sift(heap_count - 1);
    if (timer)
        sim_queue_timer_arm(&queue, &item->timer, time);
    else
        sim_queue_push(&queue, time, (uintptr_t)&item->timer.event);
}

/* ---- distributions: delay from now ---- */

static sim_time_t exponential(void)
{
    return (sim_time_t)sim_random_exponential(&rnd, 1e6);
}

static sim_time_t near_future(void)
{
    return sim_random_chance(&rnd, 0.9) ? sim_random_below(&rnd, 2000)
                                        : sim_random_below(&rnd, 10000000);
}

static sim_time_t bimodal(void)
{
    return (sim_random_chance(&rnd, 0.5) ? 1000 : 1000000000) + sim_random_below(&rnd, 500);
}

static sim_time_t bursts(void)
{
    return (sim_random_below(&rnd, 8) * 65536);
}

static sim_time_t zero(void)
{
    return 0;
}

static sim_time_t constant(void)
{
    return 4096;
}

/* Every level of the wheel, up to the end of time. */
static sim_time_t wide(void)
{
    return sim_random_next(&rnd) >> (8 + sim_random_below(&rnd, 56));
}

static sim_time_t dense(void)
{
    return sim_random_below(&rnd, 300);
}

static const struct {
    const char *name;
    sim_time_t (*delay)(void);
} distributions[] = {
    {"exponential", exponential},
    {"near_future", near_future},
    {"bimodal", bimodal},
    {"bursts", bursts},
    {"zero", zero},
    {"constant", constant},
    {"wide", wide},
    {"dense", dense},
};

static struct item *free_item(void)
{
    uint32_t at = (uint32_t)sim_random_below(&rnd, PENDING_MAX);

    while (items[at].heap != UINT32_MAX)
        at = (at + 1) % PENDING_MAX;
    return &items[at];
}

static sim_time_t add(sim_time_t now, sim_time_t delay)
{
    return delay < SIM_NEVER - 1 - now ? now + delay : SIM_NEVER - 1;
}

/*
 * Random pushes, pops, cancellations and moves of the clock around `target` pending entries; every
 * pop must give what the reference gives.
 */
static void compare(sim_time_t (*delay)(void), uint32_t target, double timers, double cancel,
                    uint64_t seed)
{
    sim_time_t now = 0;
    uint32_t i;

    sim_random_init(&rnd, seed, "queue", target);
    sim_queue_init(&queue);
    heap_count = 0;
    order = 0;
    for (i = 0; i < PENDING_MAX; i++)
        items[i] = (struct item){.heap = UINT32_MAX};
    for (i = 0; i < STEPS || heap_count > 0; i++) {
        bool draining = i >= STEPS, grow = heap_count < target;

        assert_true(queue.words == 0 || queue.last <= now); /* invariant 3 */

        if (!draining && heap_count < PENDING_MAX - 1 &&
            sim_random_chance(&rnd, grow ? 0.8 : 0.4)) {
            push(free_item(), add(now, delay()), sim_random_chance(&rnd, timers));
            continue;
        }
        if (heap_count > 0 && sim_random_chance(&rnd, cancel)) {
            struct item *victim = heap[sim_random_below(&rnd, heap_count)];

            if (victim->timer.entry != NULL) {
                sim_queue_timer_cancel(&queue, &victim->timer);
                assert_null(victim->timer.entry);
                heap_remove(victim);
            }
            continue;
        }
        if (sim_random_chance(&rnd, 0.1)) { /* the clock moves in place */
            sim_time_t until = add(now, delay() / 2 + 1);

            assert_true(sim_queue_horizon(&queue) <= (heap_count > 0 ? heap[0]->time : SIM_NEVER));
            if (queue.head == queue.tail)
                sim_queue_fill(&queue, until);
            now = until < sim_queue_horizon(&queue) ? until : sim_queue_horizon(&queue);
            if (heap_count > 0 && now > heap[0]->time)
                now = heap[0]->time;
            if (now == SIM_NEVER)
                now = until;
            continue;
        }
        if (sim_queue_ready(&queue, SIM_NEVER)) {
            sim_time_t time = queue.head->time;
            struct sim_event *event = sim_queue_pop(&queue);
            struct item *least = heap[0];

            if (event == NULL)
                continue; /* cancelled */
            assert_true(heap_count > 0);
            assert_ptr_equal(event, &least->timer.event);
            assert_true(time == least->time);
            assert_null(least->timer.entry);
            now = time;
            heap_remove(least);
        } else {
            assert_int_equal(heap_count, 0);
        }
    }
    while (sim_queue_ready(&queue, SIM_NEVER))
        assert_null(sim_queue_pop(&queue));
    assert_true(sim_queue_empty(&queue));
    assert_true(queue.count == 0 && queue.cancelled == 0);
    sim_queue_fini(&queue);
}

static void order_is_that_of_a_stable_sort(void **state)
{
    static const uint32_t targets[] = {1, 10, 70, 400, 3500};
    size_t i, j;
    uint64_t seed;

    for (i = 0; i < sizeof distributions / sizeof *distributions; i++)
        for (j = 0; j < sizeof targets / sizeof *targets; j++)
            for (seed = 1; seed <= 2; seed++) {
                compare(distributions[i].delay, targets[j], 0, 0, seed);
                compare(distributions[i].delay, targets[j], 0.5, 0.1, seed);
            }
}

static void mostly_cancelled_timers(void **state)
{
    size_t i;

    for (i = 0; i < sizeof distributions / sizeof *distributions; i++)
        compare(distributions[i].delay, 3000, 1.0, 0.45, 7);
}

/*
 * The memory of a cancelled timer may be freed at once, and many cancelled timers do not fill the
 * queue.
 */
static void cancelled_timers_are_thrown_out(void **state)
{
    struct sim_timer *timer;
    int i;

    sim_queue_init(&queue);
    for (i = 0; i < 200000; i++) {
        timer = calloc(1, sizeof *timer);
        sim_queue_timer_arm(&queue, timer, 1000000000ull + (uint64_t)i % 977);
        sim_queue_timer_cancel(&queue, timer);
        free(timer);
    }
    assert_true(queue.count <= 2048);
    while (sim_queue_ready(&queue, SIM_NEVER))
        assert_null(sim_queue_pop(&queue));
    sim_queue_fini(&queue);
}

/* A million equal times, and one that comes before and one after. */
static void large_bursts_stay_in_order(void **state)
{
    enum { COUNT = 200000 };
    static struct sim_event events[COUNT + 2];
    uint32_t i;

    sim_queue_init(&queue);
    for (i = 0; i < COUNT; i++)
        sim_queue_push(&queue, 123456789, (uintptr_t)&events[i]);
    sim_queue_push(&queue, 123456790, (uintptr_t)&events[COUNT]);
    sim_queue_push(&queue, 123456788, (uintptr_t)&events[COUNT + 1]);
    assert_true(sim_queue_ready(&queue, SIM_NEVER));
    assert_ptr_equal(sim_queue_pop(&queue), &events[COUNT + 1]);
    for (i = 0; i <= COUNT; i++) {
        assert_true(sim_queue_ready(&queue, SIM_NEVER));
        assert_ptr_equal(sim_queue_pop(&queue), &events[i]);
    }
    assert_false(sim_queue_ready(&queue, SIM_NEVER));
    sim_queue_fini(&queue);
}

static void the_end_of_time_is_an_ordinary_time(void **state)
{
    static struct sim_event events[300];
    uint32_t i;

    sim_queue_init(&queue);
    for (i = 0; i < 300; i++)
        sim_queue_push(&queue, SIM_NEVER - (i < 3 ? 0 : 1), (uintptr_t)&events[i]);
    for (i = 3; i < 303; i++) {
        assert_true(sim_queue_ready(&queue, SIM_NEVER));
        assert_ptr_equal(sim_queue_pop(&queue), &events[i % 300]);
    }
    assert_false(sim_queue_ready(&queue, SIM_NEVER));
    sim_queue_fini(&queue);
}

/* The width, in bits, of the slots after a while with 400 pending entries whose delays are up to
 * 2^bits ps. */
static uint32_t width_after(unsigned bits)
{
    static struct sim_event events[400];
    struct sim_event *event;
    uint32_t width, i;
    sim_time_t now = 0;

    sim_random_init(&rnd, 1, "width", bits);
    sim_queue_init(&queue);
    for (i = 0; i < 400; i++)
        sim_queue_push(&queue, sim_random_below(&rnd, 1ull << bits), (uintptr_t)&events[i]);
    for (i = 0; i < 20000; i++) {
        assert_true(sim_queue_ready(&queue, SIM_NEVER));
        assert_true(queue.head->time >= now);
        now = queue.head->time;
        event = sim_queue_pop(&queue);
        sim_queue_push(&queue, now + sim_random_below(&rnd, 1ull << bits), (uintptr_t)event);
    }
    width = queue.width;
    sim_queue_fini(&queue);
    return width;
}

/* 400 entries in 2^b ps are one in 2^(b - 8.6): slots hold 3 to 12 of them. */
static void slots_are_as_wide_as_entries_are_dense(void **state)
{
    unsigned bits;

    for (bits = 12; bits <= 36; bits += 4)
        assert_in_range(width_after(bits), bits - 9, bits - 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_is_that_of_a_stable_sort),
        cmocka_unit_test(mostly_cancelled_timers),
        cmocka_unit_test(cancelled_timers_are_thrown_out),
        cmocka_unit_test(large_bursts_stay_in_order),
        cmocka_unit_test(the_end_of_time_is_an_ordinary_time),
        cmocka_unit_test(slots_are_as_wide_as_entries_are_dense),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
