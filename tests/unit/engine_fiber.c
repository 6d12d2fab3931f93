/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Fibers: local time, waiting, waking, killing, deadlock reports. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "engine/sim.h"

static char text[4096]; /* what happened, in order */

static void say(const char *what)
{
    size_t length = strlen(text);

    snprintf(text + length, sizeof text - length, "%s@%llu ", what,
             (unsigned long long)sim_local_time());
}

static int setup(void **state)
{
    static const struct sim_options options = {.seed = 1};

    text[0] = '\0';
    sim_init(&options);
    return 0;
}

static int teardown(void **state)
{
    sim_fini();
    return 0;
}

static void fire_say(struct sim_event *event)
{
    say("event");
}

/* ---- local time ------------------------------------------------------------------------------ */

static void spender(void *arg)
{
    say("start");
    sim_spend(30);
    say("spent");
    assert_true(sim_now() == 10);
    sim_settle();
    assert_true(sim_now() == 40);
    say("settled");
    sim_sleep_until(100);
    say("slept");
    sim_sleep_until(50);
    say("no-sleep");
}

static void spending_moves_the_local_clock_only(void **state)
{
    struct sim_event at_20 = {fire_say}, at_40 = {fire_say}, at_45 = {fire_say};

    sim_fiber_start(spender, NULL, "spender", 10);
    sim_event_schedule(&at_20, 20);
    sim_event_schedule(&at_40, 40);
    sim_event_schedule(&at_45, 45);
    assert_int_equal(sim_run(), SIM_DONE);
    assert_string_equal(
        text, "start@10 spent@40 event@20 event@40 settled@40 event@45 slept@100 no-sleep@100 ");
}

static void hurried(void *arg)
{
    int i;

    for (i = 0; i < 1000; i++) {
        sim_spend(5);
        sim_settle();
    }
}

static void nothing_due_means_no_event_and_no_switch(void **state)
{
    struct sim_event late = {fire_say};

    sim_fiber_start(hurried, NULL, "hurried", 0);
    sim_event_schedule(&late, SIM_S);
    assert_int_equal(sim_run(), SIM_DONE);
    assert_true(sim_core.events_fired == 2);
    assert_true(sim_core.fiber_switches == 2);
}

static int order[16], order_count;

static void in_order(void *arg)
{
    order[order_count++] = (int)(intptr_t)arg;
    sim_sleep_until(sim_now() + 10);
    order[order_count++] = (int)(intptr_t)arg + 10;
}

static void fibers_of_equal_time_run_in_order_of_start(void **state)
{
    int i;

    order_count = 0;
    for (i = 0; i < 4; i++)
        sim_fiber_start(in_order, (void *)(intptr_t)i, "f", 5);
    assert_int_equal(sim_run(), SIM_DONE);
    for (i = 0; i < 4; i++) {
        assert_int_equal(order[i], i);
        assert_int_equal(order[i + 4], i + 10);
    }
}

/* ---- waiting --------------------------------------------------------------------------------- */

static struct sim_fiber *waiter_fiber;
static bool condition;

static void waiter(void *arg)
{
    static const struct sim_wait wait = {.text = "the condition"};
    sim_time_t deadline = *(sim_time_t *)arg;

    while (!condition) {
        if (!sim_wait_until(deadline, &wait)) {
            say("timeout");
            return;
        }
        say("woken");
    }
}

static void wake(struct sim_event *event)
{
    sim_wake(waiter_fiber);
    sim_wake(waiter_fiber);
    say("wake");
}

static void satisfy(struct sim_event *event)
{
    condition = true;
    wake(event);
}

static void a_wait_ends_by_waking(void **state)
{
    struct sim_event spurious = {wake}, real = {satisfy};
    sim_time_t deadline = SIM_NEVER;

    condition = false;
    waiter_fiber = sim_fiber_start(waiter, &deadline, "waiter", 0);
    sim_event_schedule(&spurious, 10);
    sim_event_schedule(&real, 20);
    assert_int_equal(sim_run(), SIM_DONE);
    assert_string_equal(text, "wake@10 woken@10 wake@20 woken@20 ");
}

static void a_wait_ends_at_its_deadline(void **state)
{
    struct sim_event spurious = {wake}, late = {satisfy};
    sim_time_t deadline = 15;

    condition = false;
    waiter_fiber = sim_fiber_start(waiter, &deadline, "waiter", 0);
    sim_event_schedule(&spurious, 10);
    sim_event_schedule(&late, 20);
    assert_int_equal(sim_run(), SIM_DONE);
    assert_string_equal(text, "wake@10 woken@10 timeout@15 wake@20 ");
}

static void busy_then_wait(void *arg)
{
    static const struct sim_wait wait = {.text = "the condition"};

    assert_false(condition);
    sim_spend(50); /* the condition comes true while this is settled */
    while (!condition) {
        say(sim_wait_until(SIM_NEVER, &wait) ? "woken" : "timeout");
    }
}

static void a_wake_during_settling_is_not_lost(void **state)
{
    struct sim_event real = {satisfy};

    condition = false;
    waiter_fiber = sim_fiber_start(busy_then_wait, NULL, "waiter", 0);
    sim_event_schedule(&real, 20);
    assert_int_equal(sim_run(), SIM_DONE);
    assert_string_equal(text, "wake@20 woken@50 ");
}

/* ---- ping-pong between fibers ---------------------------------------------------------------- */

static struct sim_fiber *players[2];
static int ball, hits;

static void player(void *arg)
{
    static const struct sim_wait wait = {.text = "ball"};
    int me = (int)(intptr_t)arg;

    while (hits < 1000) {
        while (ball != me && hits < 1000)
            sim_wait_until(SIM_NEVER, &wait);
        sim_spend(10);
        sim_settle();
        hits++;
        ball = !me;
        sim_wake(players[!me]);
    }
}

static void fibers_wake_each_other(void **state)
{
    int i;

    ball = hits = 0;
    for (i = 0; i < 2; i++)
        players[i] = sim_fiber_start(player, (void *)(intptr_t)i, "player", 0);
    assert_int_equal(sim_run(), SIM_DONE);
    assert_true(sim_now() >= 10000);
}

/* ---- ends ------------------------------------------------------------------------------------ */

static void describe(const void *what, char *buffer, size_t size)
{
    snprintf(buffer, size, " %s", (const char *)what);
}

static void forever(void *arg)
{
    const struct sim_wait wait = {.text = "completion of", .describe = describe, .what = arg};

    sim_spend(7);
    for (;;)
        sim_wait_until(SIM_NEVER, &wait);
}

static void collect(const char *name, const char *why, sim_time_t since, void *arg)
{
    size_t length = strlen(text);

    snprintf(text + length, sizeof text - length, "[%s: %s since %llu]", name, why,
             (unsigned long long)since);
}

static void deadlock_is_found_and_explained(void **state)
{
    sim_fiber_start(forever, (void *)"put 1", "rank 0", 0);
    sim_fiber_start(in_order, NULL, "rank 1", 0);
    sim_fiber_start(forever, (void *)"put 2", "rank 2", 3);
    order_count = 0;
    assert_int_equal(sim_run(), SIM_DEADLOCK);
    sim_for_each_waiter(collect, NULL);
    assert_string_equal(
        text, "[rank 0: completion of put 1 since 7][rank 2: completion of put 2 since 10]");
}

static void a_killed_fiber_never_runs_again(void **state)
{
    struct sim_fiber *fibers[3];

    fibers[0] = sim_fiber_start(forever, (void *)"a", "rank 0", 0);
    fibers[1] = sim_fiber_start(in_order, NULL, "never starts", 100);
    fibers[2] = sim_fiber_start(in_order, NULL, "ends", 0);
    order_count = 0;
    sim_fiber_kill(fibers[1]);
    assert_int_equal(sim_run(), SIM_DEADLOCK);
    assert_int_equal(order_count, 2);
    sim_fiber_kill(fibers[0]);
    sim_fiber_kill(fibers[0]);
    sim_fiber_kill(fibers[2]);
    sim_wake(fibers[0]);
    sim_wake(fibers[2]);
    assert_int_equal(sim_run(), SIM_DONE);
    sim_for_each_waiter(collect, NULL);
    assert_string_equal(text, "");
}

/* The event runs on the stack of the very fiber that it kills, and starts another. */
static void kill_and_start(struct sim_event *event)
{
    sim_fiber_kill(waiter_fiber);
    order_count = 0;
    sim_fiber_start(in_order, NULL, "heir", sim_now());
    say("killed");
}

static void a_fiber_may_be_killed_under_its_own_event_loop(void **state)
{
    struct sim_event killer = {kill_and_start}, after = {fire_say};

    waiter_fiber = sim_fiber_start(forever, (void *)"a", "victim", 0);
    sim_event_schedule(&killer, 20);
    sim_event_schedule(&after, 20);
    assert_int_equal(sim_run(), SIM_DONE);
    assert_int_equal(order_count, 2);
    assert_string_equal(text, "killed@20 event@20 ");
}

static int generations;

static void short_lived(void *arg)
{
    char page[3000];

    memset(page, generations, sizeof page);
    generations++;
    sim_sleep_until(sim_now() + 5);
    if (generations < 5000)
        sim_fiber_start(short_lived, NULL, "next", sim_now());
    assert_true(page[17] == page[2999]);
}

static void stacks_are_reused(void **state)
{
    static const struct sim_options options = {.seed = 1, .fibers_max = 8};

    sim_fini();
    sim_init(&options);
    generations = 0;
    sim_fiber_start(short_lived, NULL, "first", 0);
    assert_int_equal(sim_run(), SIM_DONE);
    assert_int_equal(generations, 5000);
}

static void too_many_fibers_are_refused(void **state)
{
    static const struct sim_options options = {.seed = 1, .fibers_max = 2};

    sim_fini();
    sim_init(&options);
    assert_non_null(sim_fiber_start(forever, (void *)"a", "1", 0));
    assert_non_null(sim_fiber_start(forever, (void *)"a", "2", 0));
    assert_null(sim_fiber_start(forever, (void *)"a", "3", 0));
}

static void names_and_owners(void **state)
{
    char name[] = "rank 17";
    struct sim_fiber *fiber = sim_fiber_start(forever, (void *)"a", name, 0);

    name[0] = 'x';
    assert_string_equal(sim_fiber_name(fiber), "rank 17");
    assert_null(sim_fiber_owner(fiber));
    sim_fiber_set_owner(fiber, name);
    assert_ptr_equal(sim_fiber_owner(fiber), name);
    assert_null(sim_fiber_program(fiber));
    sim_fiber_set_program(fiber, &fiber);
    assert_ptr_equal(sim_fiber_program(fiber), &fiber);
    assert_ptr_equal(sim_fiber_owner(fiber), name);
}

static void stopper(void *arg)
{
    sim_stop();
    say("stopped");
    sim_spend(10);
    sim_settle();
    say("resumed");
}

static void a_fiber_may_stop_the_run(void **state)
{
    sim_fiber_start(stopper, NULL, "stopper", 5);
    assert_int_equal(sim_run(), SIM_DONE);
    assert_string_equal(text, "stopped@5 ");
    assert_int_equal(sim_run(), SIM_DONE);
    assert_string_equal(text, "stopped@5 resumed@15 ");
}

static void wake_and_stop(struct sim_event *event)
{
    satisfy(event);
    sim_stop();
}

static void who_was_woken_before_a_stop_runs_after_it(void **state)
{
    struct sim_event stop = {wake_and_stop};
    sim_time_t deadline = SIM_NEVER;

    condition = false;
    waiter_fiber = sim_fiber_start(waiter, &deadline, "waiter", 0);
    sim_event_schedule(&stop, 10);
    assert_int_equal(sim_run(), SIM_DONE);
    assert_string_equal(text, "wake@10 ");
    assert_int_equal(sim_run(), SIM_DONE);
    assert_string_equal(text, "wake@10 woken@10 ");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(spending_moves_the_local_clock_only),
        TEST(nothing_due_means_no_event_and_no_switch),
        TEST(fibers_of_equal_time_run_in_order_of_start),
        TEST(a_wait_ends_by_waking),
        TEST(a_wait_ends_at_its_deadline),
        TEST(a_wake_during_settling_is_not_lost),
        TEST(fibers_wake_each_other),
        TEST(deadlock_is_found_and_explained),
        TEST(a_killed_fiber_never_runs_again),
        TEST(a_fiber_may_be_killed_under_its_own_event_loop),
        TEST(stacks_are_reused),
        TEST(too_many_fibers_are_refused),
        TEST(names_and_owners),
        TEST(a_fiber_may_stop_the_run),
        TEST(who_was_woken_before_a_stop_runs_after_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
