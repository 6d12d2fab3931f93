/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Events, timers and sim_run without fibers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "engine/sim.h"
#include "engine/trace.h"

#define LOG_MAX 64

static struct {
    int who;
    sim_time_t when;
} fired[LOG_MAX];
static int fired_count;

struct probe {
    struct sim_timer timer;
    int who;
    sim_time_t again; /* 0: no, else the delay after which it schedules itself */
};

static void note(struct sim_event *event)
{
    struct probe *probe = (struct probe *)event;

    assert_true(fired_count < LOG_MAX);
    fired[fired_count].who = probe->who;
    fired[fired_count++].when = sim_now();
    assert_null(sim_fiber_self());
    assert_true(sim_local_time() == sim_now());
    if (probe->again != 0) {
        sim_event_schedule(event, sim_now() + probe->again);
        probe->again = 0;
    }
}

static int setup(void **state)
{
    static const struct sim_options options = {.seed = 1};

    fired_count = 0;
    sim_init(&options);
    return 0;
}

static int teardown(void **state)
{
    sim_fini();
    return 0;
}

static void probe_init(struct probe *probe, int who)
{
    *probe = (struct probe){.timer.event.fire = note, .who = who};
}

static void equal_times_fire_as_scheduled(void **state)
{
    struct probe probes[6];
    int i;

    for (i = 0; i < 6; i++)
        probe_init(&probes[i], i);
    for (i = 0; i < 3; i++) {
        sim_event_schedule(&probes[2 * i].timer.event, 500);
        sim_timer_arm(&probes[2 * i + 1].timer, 500);
    }
    assert_int_equal(sim_run(), SIM_DONE);
    assert_int_equal(fired_count, 6);
    for (i = 0; i < 6; i++) {
        assert_int_equal(fired[i].who, i);
        assert_true(fired[i].when == 500);
    }
    assert_true(sim_core.events_fired == 6);
}

static void an_event_may_schedule_itself(void **state)
{
    struct probe probe;

    probe_init(&probe, 1);
    probe.again = 7 * SIM_NS;
    sim_event_schedule(&probe.timer.event, 3 * SIM_NS);
    assert_int_equal(sim_run(), SIM_DONE);
    assert_int_equal(fired_count, 2);
    assert_true(fired[1].when == 10 * SIM_NS);
    assert_true(sim_now() == 10 * SIM_NS);
}

static void an_event_scheduled_twice_fires_twice(void **state)
{
    struct probe probe;

    probe_init(&probe, 4);
    sim_event_schedule(&probe.timer.event, 20);
    sim_event_schedule(&probe.timer.event, 10);
    assert_int_equal(sim_run(), SIM_DONE);
    assert_int_equal(fired_count, 2);
    assert_true(fired[0].when == 10 && fired[1].when == 20);
}

static void timers_move_and_stop(void **state)
{
    struct probe moved, cancelled, both;

    probe_init(&moved, 1);
    probe_init(&cancelled, 2);
    probe_init(&both, 3);
    sim_timer_arm(&moved.timer, 100);
    sim_timer_arm(&moved.timer, 900);
    sim_timer_arm(&cancelled.timer, 300);
    assert_true(sim_timer_armed(&cancelled.timer));
    sim_timer_cancel(&cancelled.timer);
    assert_false(sim_timer_armed(&cancelled.timer));
    sim_timer_cancel(&cancelled.timer);
    sim_timer_arm(&both.timer, 50);
    sim_timer_cancel(&both.timer);
    sim_timer_arm(&both.timer, 60);
    assert_int_equal(sim_run(), SIM_DONE);
    assert_int_equal(fired_count, 2);
    assert_true(fired[0].who == 3 && fired[0].when == 60);
    assert_true(fired[1].who == 1 && fired[1].when == 900);
    assert_false(sim_timer_armed(&moved.timer));
}

static struct sim_timer *victim;

static void cancel_and_free(struct sim_event *event)
{
    sim_timer_cancel(victim);
    free(victim);
}

static void a_cancelled_timer_may_be_freed_at_once(void **state)
{
    struct sim_event event = {cancel_and_free};

    victim = malloc(sizeof *victim);
    *victim = (struct sim_timer){.event.fire = note};
    sim_event_schedule(&event, 10);
    sim_timer_arm(victim, 10);
    assert_int_equal(sim_run(), SIM_DONE);
    assert_int_equal(fired_count, 0);
}

static void stop(struct sim_event *event)
{
    sim_stop();
}

static void stop_ends_the_run_and_it_can_go_on(void **state)
{
    struct sim_event stopper = {stop};
    struct probe same, later;

    probe_init(&same, 1);
    probe_init(&later, 2);
    sim_event_schedule(&stopper, 10);
    sim_event_schedule(&same.timer.event, 10);
    sim_event_schedule(&later.timer.event, SIM_S);
    assert_int_equal(sim_run(), SIM_DONE);
    assert_int_equal(fired_count, 0);
    assert_true(sim_now() == 10);
    sim_event_schedule(&stopper, SIM_MS);
    assert_int_equal(sim_run(), SIM_DONE);
    assert_int_equal(fired_count, 1);
    assert_int_equal(sim_run(), SIM_DONE);
    assert_int_equal(fired_count, 2);
    assert_true(fired[1].when == SIM_S);
}

static void a_new_simulation_starts_from_nothing(void **state)
{
    struct probe left;

    probe_init(&left, 1);
    sim_event_schedule(&left.timer.event, 10);
    sim_run();
    sim_event_schedule(&left.timer.event, 20);
    teardown(state);
    setup(state);
    assert_true(sim_now() == 0 && sim_core.events_fired == 0 && sim_digest() == 0);
    assert_int_equal(sim_run(), SIM_DONE);
    assert_int_equal(fired_count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(equal_times_fire_as_scheduled, setup, teardown),
        cmocka_unit_test_setup_teardown(an_event_may_schedule_itself, setup, teardown),
        cmocka_unit_test_setup_teardown(an_event_scheduled_twice_fires_twice, setup, teardown),
        cmocka_unit_test_setup_teardown(timers_move_and_stop, setup, teardown),
        cmocka_unit_test_setup_teardown(a_cancelled_timer_may_be_freed_at_once, setup, teardown),
        cmocka_unit_test_setup_teardown(stop_ends_the_run_and_it_can_go_on, setup, teardown),
        cmocka_unit_test_setup_teardown(a_new_simulation_starts_from_nothing, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
