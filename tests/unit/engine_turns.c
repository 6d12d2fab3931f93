/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Queues of a plain process that are polled in turn: who looks, and how often. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "engine/sim.h"

struct sim_wall sim_wall;
_Thread_local char sim_wall_self;

struct queue {
    uint32_t last_poll, events;
};

static struct queue tx, rx, *comes_to; /* which queue the next look finds something for */
static unsigned polls_of_fabric;

void sim_wall_poll(void)
{
    sim_wall.turns++;
    polls_of_fabric++;
    if (comes_to != NULL)
        comes_to->events++;
    comes_to = NULL;
}

static bool has_events(const void *what)
{
    return ((const struct queue *)what)->events != 0;
}

/* As a completion queue does it. */
static bool poll_slowly(struct queue *queue)
{
    const struct sim_wait wait = {.text = "an event", .what = queue};

    if (queue->events == 0 && !sim_poll_turn(&wait, has_events, 0, &queue->last_poll))
        return false;
    queue->events--;
    sim_poll_found(&queue->last_poll);
    return true;
}

/* The same where what can be told at a glance is. */
static bool poll_fast(struct queue *queue)
{
    return (queue->events != 0 || !sim_poll_served(&queue->last_poll)) && poll_slowly(queue);
}

/* All events of both, tx first; how many. */
static unsigned pass(bool (*poll)(struct queue *queue))
{
    unsigned found = 0;

    while (poll(&tx))
        found++;
    while (poll(&rx))
        found++;
    return found;
}

static unsigned polls_of_pass(bool (*poll)(struct queue *queue), struct queue *brings)
{
    unsigned before = polls_of_fabric;

    comes_to = brings;
    assert_int_equal(pass(poll), brings != NULL);
    return polls_of_fabric - before;
}

static void begin(void)
{
    tx = rx = (struct queue){.last_poll = sim_wall.turns};
    pass(poll_slowly);
}

static void passes_poll_once(bool (*poll)(struct queue *queue))
{
    struct queue *const brings[] = {NULL, &tx, NULL, &tx, &tx, NULL, NULL};
    unsigned i;

    begin();
    for (i = 0; i < sizeof(brings) / sizeof(*brings); i++)
        assert_int_equal(polls_of_pass(poll, brings[i]), 1);
}

static void test_one_poll_serves_a_pass(void **state)
{
    passes_poll_once(poll_slowly);
    passes_poll_once(poll_fast);
}

/* Else what a look brings for tx is found a pass later: the other queue has looked after it. */
static void test_a_queue_that_had_events_polls_the_next_time(void **state)
{
    begin();
    while (poll_slowly(&rx)) /* now it is rx that looks */
        ;
    assert_false(poll_slowly(&tx));
    comes_to = &tx;
    assert_false(poll_slowly(&rx));
    assert_int_equal(pass(poll_slowly), 1); /* without a look of its own */

    comes_to = &tx;
    assert_true(poll_slowly(&tx)); /* by its own look */
    assert_false(poll_slowly(&tx));
    assert_false(poll_slowly(&rx));
}

static void test_no_poll_after_an_event(void **state)
{
    unsigned before;

    begin();
    tx.events = 1;
    before = polls_of_fabric;
    assert_int_equal(pass(poll_fast), 1);
    assert_int_equal(polls_of_fabric, before);
}

static void test_a_single_queue_polls_each_time(void **state)
{
    unsigned i, before;

    begin();
    poll_fast(&rx);
    before = polls_of_fabric;
    for (i = 0; i < 5; i++)
        poll_fast(&rx);
    assert_int_equal(polls_of_fabric - before, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_poll_serves_a_pass),
        cmocka_unit_test(test_a_queue_that_had_events_polls_the_next_time),
        cmocka_unit_test(test_no_poll_after_an_event),
        cmocka_unit_test(test_a_single_queue_polls_each_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
