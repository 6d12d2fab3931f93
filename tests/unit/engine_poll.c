/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Polling: windows, and that parking is exact. Random programs of fibers that poll cycles of
 * queues, disturbed by random arrivals, must notice the same things at the same times whether idle
 * polls are simulated or not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "engine/random.h"
#include "engine/sim.h"
#include "full.h"

/* ---- one queue, by hand ---------------------------------------------------------------------- */

static struct sim_fiber *poller;
static bool full;
static sim_time_t polled_until[8];
static bool found[8];

static bool is_full(const void *what)
{
    return full;
}

static const struct sim_wait one_queue = {.text = "queue", .what = &full};

static void poll_four_times(void *arg)
{
    int i;

    sim_spend(1000);
    for (i = 0; i < 4; i++) {
        found[i] = sim_poll(&one_queue, is_full, 100);
        polled_until[i] = sim_local_time();
        sim_clock_read(); /* no parking */
    }
}

static void fill_queue(struct sim_event *event)
{
    full = true;
    sim_wake(poller);
}

static void run_four(sim_time_t fill_at)
{
    static const struct sim_options options = {.seed = 1};
    struct sim_event fill_event = {fill_queue};

    full = false;
    sim_init(&options);
    poller = sim_fiber_start(poll_four_times, NULL, "poller", 0);
    sim_event_schedule(&fill_event, fill_at);
    assert_int_equal(sim_run(), SIM_DONE);
    sim_fini();
}

static void a_poll_watches_its_window(void **state)
{
    run_four(1150); /* inside the second window */
    assert_true(!found[0] && polled_until[0] == 1100);
    assert_true(found[1] && polled_until[1] == 1150);
    assert_true(found[2] && polled_until[2] == 1150);
}

static void the_end_of_a_window_belongs_to_the_next(void **state)
{
    run_four(1200);
    assert_true(!found[1] && polled_until[1] == 1200);
    assert_true(found[2] && polled_until[2] == 1200);
}

static void what_is_there_is_found_at_once(void **state)
{
    run_four(400);
    assert_true(found[0] && polled_until[0] == 1000);
}

static void a_spurious_wake_does_not_end_a_poll(void **state)
{
    static const struct sim_options options = {.seed = 1};
    struct sim_event fill_event = {fill_queue};

    /* fill_queue wakes, but is_full is taken back before anybody looks */
    sim_init(&options);
    full = false;
    poller = sim_fiber_start(poll_four_times, NULL, "poller", 0);
    sim_event_schedule(&fill_event, 500); /* while the fiber settles */
    assert_int_equal(sim_run(), SIM_DONE);
    assert_true(found[0] && polled_until[0] == 1000);
    sim_fini();
}

static int polls_made;

static void poll_until_full(void *arg)
{
    do
        polls_made++;
    while (!sim_poll(&one_queue, is_full, 100));
    polled_until[0] = sim_local_time();
}

static void idle_polls_cost_nothing(void **state)
{
    static const struct sim_options options = {.seed = 1};
    struct sim_event fill_event = {fill_queue};

    sim_init(&options);
    full = false;
    polls_made = 0;
    poller = sim_fiber_start(poll_until_full, NULL, "poller", 0);
    sim_event_schedule(&fill_event, SIM_S + 12345);
    assert_int_equal(sim_run(), SIM_DONE);
    assert_true(polled_until[0] == SIM_S + 12345);
    assert_true(polls_made < 64);
    assert_true(sim_core.events_fired < 64);
    sim_fini();
}

static bool locked;
static int checks_of_lock, found_locked;

/* The second poll of each turn is made with a lock. */
static void poll_with_a_lock(void *arg)
{
    bool got;

    do {
        polls_made++;
        sim_poll(&one_queue, is_full, 100);
        sim_hold();
        locked = true;
        got = sim_poll(&one_queue, is_full, 100);
        locked = false;
        sim_release();
    } while (!got);
}

static void check_lock(struct sim_event *event)
{
    found_locked += locked;
    if (++checks_of_lock < 50)
        sim_event_schedule(event, sim_now() + 10 * SIM_US + 100);
    else
        fill_queue(event);
}

/* The fiber is idle, and others still get the lock. */
static void a_holder_is_parked_elsewhere(void **state)
{
    static const struct sim_options options = {.seed = 1};
    struct sim_event looker = {check_lock};

    full = locked = false;
    checks_of_lock = found_locked = polls_made = 0;
    sim_init(&options);
    poller = sim_fiber_start(poll_with_a_lock, NULL, "poller", 0);
    sim_event_schedule(&looker, 10 * SIM_US);
    assert_int_equal(sim_run(), SIM_DONE);
    assert_int_equal(checks_of_lock, 50);
    assert_int_equal(found_locked, 0);
    assert_in_range(polls_made, 2, 100); /* of 5,000 turns */
    sim_fini();
}

static void a_parked_fiber_is_a_deadlock_when_nobody_wakes_it(void **state)
{
    static const struct sim_options options = {.seed = 1};

    sim_init(&options);
    full = false;
    poller = sim_fiber_start(poll_until_full, NULL, "poller", 0);
    assert_int_equal(sim_run(), SIM_DEADLOCK);
    sim_fini();
}

/* ---- memory that changes at the end of a poll ------------------------------------------------ */

static bool flag, other_flag;
static sim_time_t flag_seen;
static uint32_t empty_polls;

static void set_flag(struct sim_event *event)
{
    flag = true;
    sim_wake(poller);
}

/* Something else happens at the same time. */
static void set_other_flag(struct sim_event *event)
{
    other_flag = true;
}

/* Two polls of 100 each; the flag is read after the second one. */
static void poll_until_flag(void *arg)
{
    static const struct sim_wait first = {.text = "queue", .what = &full, .id = 1},
                                 second = {.text = "queue", .what = &full, .id = 2};

    do {
        sim_poll(&first, is_full, 100);
        sim_poll_count(&empty_polls);
        sim_poll(&second, is_full, 100);
    } while (sim_behind() || !flag);
    flag_seen = sim_local_time();
}

static void run_until_flag(sim_time_t at, bool no_parking)
{
    const struct sim_options options = {.seed = 1, .no_parking = no_parking};
    struct sim_event flag_event = {set_flag}, other_event = {set_other_flag};

    full = flag = other_flag = false;
    empty_polls = 0;
    sim_init(&options);
    poller = sim_fiber_start(poll_until_flag, NULL, "poller", 0);
    sim_event_schedule(&other_event, at);
    sim_event_schedule(&flag_event, at);
    assert_int_equal(sim_run(), SIM_DONE);
    assert_true(other_flag);
    sim_fini();
}

/* A pass ends at each multiple of 200. What happens then belongs to that pass. */
static void memory_changes_at_the_end_of_a_poll(void **state)
{
    sim_time_t at, seen;
    uint32_t counted;

    for (at = 9980; at <= 10220; at += 10) {
        run_until_flag(at, true);
        seen = flag_seen;
        counted = empty_polls;
        assert_int_equal(seen, (at + 199) / 200 * 200);
        run_until_flag(at, false);
        assert_int_equal(flag_seen, seen);
        assert_int_equal(empty_polls, counted);
        assert_int_equal(counted, seen / 200);
    }
}

/* ---- memory that is written while nobody reads it -------------------------------------------- */

#define WRITES 100

static uint32_t writes;

static void write_memory(struct sim_event *event)
{
    sim_written(poller);
    if (++writes < WRITES)
        sim_event_schedule(event, sim_now() + 5050);
    else
        fill_queue(event);
}

static void poll_only_queues(void *arg)
{
    sim_queues_only_begin();
    poll_until_full(arg);
    sim_queues_only_end();
}

static int polls_while_written(void (*main)(void *arg), bool no_parking)
{
    const struct sim_options options = {.seed = 1, .no_parking = no_parking};
    struct sim_event write = {write_memory};

    full = false;
    polls_made = 0;
    writes = 0;
    sim_init(&options);
    poller = sim_fiber_start(main, NULL, "poller", 0);
    sim_event_schedule(&write, 50000);
    assert_int_equal(sim_run(), SIM_DONE);
    assert_int_equal(polled_until[0], 50000 + (WRITES - 1) * 5050);
    sim_fini();
    return polls_made;
}

static void only_a_reader_of_memory_is_woken_by_writes(void **state)
{
    assert_in_range(polls_while_written(poll_only_queues, false), 1, 40);
    assert_in_range(polls_while_written(poll_until_full, false), WRITES * 16, WRITES * 20);
    assert_in_range(polls_while_written(poll_only_queues, true), WRITES * 50, WRITES * 64);
}

/* ---- how often a fiber is suspended ---------------------------------------------------------- */

#define LATER_POLLS 50

/* Each poll begins later than now, and in the meantime something else happens. */
static void poll_later(void *arg)
{
    int i;

    for (i = 0; i < LATER_POLLS; i++) {
        sim_idle_break();
        sim_spend(100);
        sim_poll(&one_queue, is_full, 100);
    }
    polled_until[0] = sim_local_time();
}

static void disturb(struct sim_event *event)
{
    sim_notify(poller);
    if (sim_now() < 200 * LATER_POLLS)
        sim_event_schedule(event, sim_now() + 10);
}

/* One event of its own for each poll, although it is notified twenty times. */
static void a_poll_suspends_once(void **state)
{
    static const struct sim_options options = {.seed = 1};
    struct sim_event other = {disturb};

    full = false;
    sim_init(&options);
    poller = sim_fiber_start(poll_later, NULL, "poller", 0);
    sim_event_schedule(&other, 0);
    assert_int_equal(sim_run(), SIM_DONE);
    assert_int_equal(polled_until[0], 200 * LATER_POLLS);
    assert_in_range(sim_core.events_fired, 21 * LATER_POLLS, 21 * LATER_POLLS + 4);
    sim_fini();
}

/* ---- random programs ------------------------------------------------------------------------- */

#define FIBERS 4
#define CYCLE 8
#define NOTICED 4000

struct poll_step {
    int queue;
    sim_time_t cost, gap; /* the gap is spent after a fruitless poll */
};

struct program {
    struct sim_fiber *fiber;
    struct poll_step steps[CYCLE];
    int length;
    sim_time_t success;
    bool sends;
    bool same_poll; /* it says that it repeats one poll, which it does */
    uint32_t queues[CYCLE]; /* number of entries in each */
    struct sim_random random;
    struct {
        sim_time_t time;
        int queue; /* not the step: steps that poll the same at the same distances are the same poll
                    */
    } noticed[NOTICED];
    int noticed_count;
};

struct arrival {
    struct sim_event event;
    struct program *to;
    int queue;
    int hops; /* how often a fiber that noticed an entry sends on */
    bool spurious;
};

static struct program programs[FIBERS];
static int fibers;
static struct arrival arrivals[FIBERS * NOTICED];
static int arrivals_used;
static sim_time_t grain;

static bool not_empty(const void *what)
{
    return *(const uint32_t *)what > 0;
}

static void arrive(struct sim_event *event)
{
    struct arrival *arrival = (struct arrival *)event;

    if (arrival->spurious) {
        sim_wake(arrival->to->fiber);
        return;
    }
    arrival->to->queues[arrival->queue]++;
    sim_notify(arrival->to->fiber);
}

static void send(struct program *to, int queue, int hops, bool spurious, sim_time_t at)
{
    struct arrival *arrival;

    if (arrivals_used == FIBERS * NOTICED)
        return;
    arrival = &arrivals[arrivals_used++];
    *arrival = (struct arrival){{arrive}, to, queue, hops, spurious};
    sim_event_schedule(&arrival->event, at);
}

static void follow(void *arg)
{
    struct program *program = arg;
    bool said = false;
    int at = 0;

    for (;;) {
        const struct poll_step *step = &program->steps[at];
        const struct sim_wait wait = {
            .text = "queue", .what = &program->queues[step->queue], .id = (uint32_t)step->queue};

        bool full_now;

        if (program->same_poll && !said)
            sim_same_poll_begin();
        full_now = sim_poll(&wait, not_empty, step->cost);
        if (program->same_poll && full_now)
            sim_same_poll_end();
        said = !full_now;
        if (!full_now) {
            sim_spend(step->gap);
        } else if (program->noticed_count < NOTICED) {
            program->noticed[program->noticed_count].time = sim_local_time();
            program->noticed[program->noticed_count++].queue = step->queue;
            program->queues[step->queue]--;
            sim_spend(program->success);
            if (program->sends && sim_random_chance(&program->random, 0.7)) {
                struct program *to =
                    &programs[sim_random_below(&program->random, (uint64_t)fibers)];

                sim_settle();
                send(to, (int)sim_random_below(&program->random, CYCLE), 0, false,
                     sim_now() + grain * sim_random_below(&program->random, 200));
            }
        }
        at = (at + 1) % program->length;
    }
}

/* The seed determines the whole program. same_poll: each fiber polls one queue, and says so. */
static void simulate(uint64_t seed, bool no_parking, bool same_poll)
{
    struct sim_options options = {.seed = seed, .time_limit = 2 * SIM_US, .no_parking = no_parking};
    struct sim_random random;
    int i, j;

    sim_random_init(&random, seed, "poll", 0);
    sim_init(&options);
    memset(programs, 0, sizeof programs);
    arrivals_used = 0;
    fibers = 1 + (int)sim_random_below(&random, FIBERS);
    grain = sim_random_chance(&random, 0.5) ? 10 : 1; /* 10: many things happen at equal times */
    for (i = 0; i < fibers; i++) {
        struct program *program = &programs[i];
        bool uniform = sim_random_chance(&random, 0.5);

        program->same_poll = same_poll;
        program->length = same_poll ? 1 : 1 + (int)sim_random_below(&random, CYCLE);
        program->success = grain * sim_random_below(&random, 20);
        program->sends = sim_random_chance(&random, 0.7);
        sim_random_init(&program->random, seed, "program", (uint64_t)i);
        for (j = 0; j < program->length; j++) {
            program->steps[j].queue =
                (int)sim_random_below(&random, sim_random_chance(&random, 0.5) ? 2 : CYCLE);
            program->steps[j].cost = uniform ? 10 : grain * (1 + sim_random_below(&random, 9));
            program->steps[j].gap = uniform || sim_random_chance(&random, 0.5)
                                        ? 0
                                        : grain * sim_random_below(&random, 9);
        }
        program->fiber =
            sim_fiber_start(follow, program, "program", grain * sim_random_below(&random, 9));
    }
    for (i = 0; i < 300; i++)
        send(&programs[sim_random_below(&random, (uint64_t)fibers)],
             (int)sim_random_below(&random, CYCLE), 3, sim_random_chance(&random, 0.2),
             grain * sim_random_below(&random, 2000000 / 4 / grain));
    sim_run();
    sim_fini();
}

/* Returns how often something was noticed. */
static uint64_t compare_parked(uint64_t seed, bool same_poll)
{
    static struct program real[FIBERS];
    uint64_t noticed = 0;
    int i, j;

    simulate(seed, true, same_poll);
    memcpy(real, programs, sizeof real);
    simulate(seed, false, same_poll);
    for (i = 0; i < fibers; i++) {
        assert_int_equal(programs[i].noticed_count, real[i].noticed_count);
        for (j = 0; j < real[i].noticed_count; j++) {
            assert_true(programs[i].noticed[j].time == real[i].noticed[j].time);
            assert_int_equal(programs[i].noticed[j].queue, real[i].noticed[j].queue);
        }
        noticed += (uint64_t)real[i].noticed_count;
    }
    return noticed;
}

static void parking_is_exact(void **state)
{
    static const uint64_t special[] = {832, 1112, 1202, 3255, 5025, 5147};
    uint64_t seeds = (uint64_t)test_seeds(100, 300), k, noticed = 0;

    for (k = 0; k < seeds; k++)
        noticed += compare_parked(k + 1, false);
    /* These poll one queue for different times at the same distances. */
    for (k = 0; k < sizeof special / sizeof *special; k++)
        noticed += compare_parked(special[k], false);
    assert_true(noticed > 33 * seeds);
}

static void parking_of_one_repeated_poll_is_exact(void **state)
{
    uint64_t seeds = (uint64_t)test_seeds(150, 600), seed, noticed = 0;

    for (seed = 1; seed <= seeds; seed++)
        noticed += compare_parked(seed, true);
    assert_true(noticed > 16 * seeds);
}

static void poll_the_same(void *arg)
{
    sim_same_poll_begin();
    poll_until_full(arg);
    sim_same_poll_end();
}

static void one_repeated_poll_parks_at_its_second(void **state)
{
    assert_int_equal(polls_while_written(poll_the_same, false), 2);
    assert_in_range(polls_while_written(poll_the_same, true), WRITES * 50, WRITES * 64);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_poll_watches_its_window),
        cmocka_unit_test(the_end_of_a_window_belongs_to_the_next),
        cmocka_unit_test(what_is_there_is_found_at_once),
        cmocka_unit_test(a_spurious_wake_does_not_end_a_poll),
        cmocka_unit_test(idle_polls_cost_nothing),
        cmocka_unit_test(a_holder_is_parked_elsewhere),
        cmocka_unit_test(a_parked_fiber_is_a_deadlock_when_nobody_wakes_it),
        cmocka_unit_test(memory_changes_at_the_end_of_a_poll),
        cmocka_unit_test(only_a_reader_of_memory_is_woken_by_writes),
        cmocka_unit_test(a_poll_suspends_once),
        cmocka_unit_test(parking_is_exact),
        cmocka_unit_test(parking_of_one_repeated_poll_is_exact),
        cmocka_unit_test(one_repeated_poll_parks_at_its_second),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
