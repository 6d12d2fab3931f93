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
    uint32_t looked, events;
};

static struct queue tx, rx, *comes_to; /* which queue the next look finds something for */
static unsigned looks;

void sim_wall_poll(void)
{
    sim_wall.turns++;
    looks++;
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

    if (queue->events == 0 && !sim_poll_turn(&wait, has_events, 0, &queue->looked))
        return false;
    queue->events--;
    sim_poll_found(&queue->looked);
    return true;
}

/* The same where what can be told at a glance is. */
static bool poll_at_a_glance(struct queue *queue)
{
    return (queue->events != 0 || !sim_poll_served(&queue->looked)) && poll_slowly(queue);
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

static unsigned looks_of_pass(bool (*poll)(struct queue *queue), struct queue *brings)
{
    unsigned before = looks;

    comes_to = brings;
    assert_int_equal(pass(poll), brings != NULL);
    return looks - before;
}

static void begin(void)
{
    tx = rx = (struct queue){.looked = sim_wall.turns};
    pass(poll_slowly);
}

static void passes_look_once(bool (*poll)(struct queue *queue))
{
    struct queue *const brings[] = {NULL, &tx, NULL, &tx, &tx, NULL, NULL};
    unsigned i;

    begin();
    for (i = 0; i < sizeof(brings) / sizeof(*brings); i++)
        assert_int_equal(looks_of_pass(poll, brings[i]), 1);
}

static void test_one_look_serves_a_pass(void **state)
{
    passes_look_once(poll_slowly);
    passes_look_once(poll_at_a_glance);
}

/* Else what a look brings for tx is found a pass later: the other queue has looked after it. */
static void test_who_finds_looks_the_next_time(void **state)
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

static void test_no_look_behind_an_event(void **state)
{
    unsigned before;

    begin();
    tx.events = 1;
    before = looks;
    assert_int_equal(pass(poll_at_a_glance), 1);
    assert_int_equal(looks, before);
}

static void test_who_is_alone_looks_each_time(void **state)
{
    unsigned i, before;

    begin();
    poll_at_a_glance(&rx);
    before = looks;
    for (i = 0; i < 5; i++)
        poll_at_a_glance(&rx);
    assert_int_equal(looks - before, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_look_serves_a_pass),
        cmocka_unit_test(test_who_finds_looks_the_next_time),
        cmocka_unit_test(test_no_look_behind_an_event),
        cmocka_unit_test(test_who_is_alone_looks_each_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
