/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A run ends at its limits, whether events, the clock of a fiber, or polling advance the time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "engine/sim.h"

static bool progresses;
static sim_time_t step;
static int ticks;

static void again(struct sim_event *event)
{
    if (progresses)
        sim_progress();
    sim_event_schedule(event, sim_now() + step);
}

static void spin(void *arg)
{
    for (;;) {
        sim_spend(step);
        sim_settle();
        if (progresses)
            sim_progress();
    }
}

static bool never(const void *what)
{
    return false;
}

/* Reads the clock, so it is never parked; nothing is in the queue. */
static void poll_clock(void *arg)
{
    static const struct sim_wait wait = {.text = "nothing"};

    for (;;) {
        sim_clock_read();
        sim_poll(&wait, never, step);
    }
}

static void tick(void *arg)
{
    ticks++;
}

static enum sim_outcome run(const struct sim_options *options, void (*fiber)(void *))
{
    struct sim_event event = {again};
    enum sim_outcome outcome;

    sim_init(options);
    if (fiber != NULL)
        assert_non_null(sim_fiber_start(fiber, NULL, "f", 0));
    else
        sim_event_schedule(&event, 0);
    outcome = sim_run();
    return outcome;
}

static void (*const movers[])(void *) = {NULL, spin, poll_clock};

static void virtual_time_limit(void **state)
{
    const struct sim_options options = {.seed = 1, .time_limit = 50 * SIM_US};
    size_t i;

    progresses = false;
    step = 100 * SIM_NS;
    for (i = 0; i < 3; i++) {
        assert_int_equal(run(&options, movers[i]), SIM_TIME_LIMIT);
        assert_true(sim_now() == 50 * SIM_US);
        sim_fini();
    }
}

static void no_progress_for_some_virtual_time(void **state)
{
    const struct sim_options options = {
        .seed = 1, .no_progress_limit = 80 * SIM_US, .time_limit = 10 * SIM_MS};
    size_t i;

    step = 10 * SIM_NS;
    for (i = 0; i < 3; i++) {
        progresses = false;
        assert_int_equal(run(&options, movers[i]), SIM_NO_PROGRESS);
        assert_true(sim_now() >= 80 * SIM_US && sim_now() <= 91 * SIM_US);
        sim_fini();
    }
    for (i = 0; i < 2; i++) {
        progresses = true;
        assert_int_equal(run(&options, movers[i]), SIM_TIME_LIMIT);
        sim_fini();
    }
}

static void no_progress_for_many_events(void **state)
{
    const struct sim_options options = {.seed = 1, .no_progress_events = 300000, .tick = tick};

    progresses = false;
    step = 0; /* time stands still */
    ticks = 0;
    assert_int_equal(run(&options, NULL), SIM_NO_PROGRESS);
    assert_true(sim_core.events_fired >= 300000 && sim_core.events_fired <= 400000);
    assert_true(ticks >= 4);
    sim_fini();
    step = 1;
    assert_int_equal(run(&options, poll_clock), SIM_NO_PROGRESS);
    sim_fini();
}

static void an_event_at_the_limit_still_fires(void **state)
{
    const struct sim_options options = {.seed = 1, .time_limit = 100};

    progresses = false;
    step = 50;
    assert_int_equal(run(&options, NULL), SIM_TIME_LIMIT);
    assert_true(sim_core.events_fired == 3); /* 0, 50, 100 */
    sim_fini();
}

static void at_its_time(struct sim_event *event)
{
}

/* Sleeps beyond every limit, which end early. */
static void cut_short(void *arg)
{
    struct sim_timer *timers = arg;
    size_t i;

    for (i = 0; i < 10; i++)
        sim_timer_arm(&timers[i], (i + 1) * SIM_S);
    for (i = 0; i < 10; i++)
        sim_timer_cancel(&timers[i]);
}

static void cancelled_timers_are_no_future(void **state)
{
    const struct sim_options options = {
        .seed = 1, .no_progress_limit = 80 * SIM_US, .time_limit = 100 * SIM_S};
    struct sim_timer timers[10] = {{.event.fire = at_its_time}};

    sim_init(&options);
    assert_non_null(sim_fiber_start(cut_short, timers, "f", 0));
    assert_int_equal(sim_run(), SIM_DONE);
    assert_true(sim_now() < 80 * SIM_US);
    sim_fini();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(virtual_time_limit),
        cmocka_unit_test(no_progress_for_some_virtual_time),
        cmocka_unit_test(no_progress_for_many_events),
        cmocka_unit_test(cancelled_timers_are_no_future),
        cmocka_unit_test(an_event_at_the_limit_still_fires),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
