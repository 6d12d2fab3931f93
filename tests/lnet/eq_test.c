/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Event queues. */
#include "world.h"

static char memory[256];

static void nothing(struct lnet_event *event)
{
    (void)event;
}

/* An event in a queue: a descriptor is bound and unlinked. */
static void raise_event(struct lnet_handle_eq eq)
{
    struct lnet_md md = {.start = memory, .length = 8, .threshold = 1, .eq_handle = eq};
    struct lnet_handle_md handle;

    assert_int_equal(LNetMDBind(md, LNET_UNLINK, &handle), 0);
    assert_int_equal(LNetMDUnlink(handle), 0);
}

TEST(lnet_10_allocation)
{
    struct lnet_handle_eq eq, ring;
    struct lnet_event event;
    unsigned i;

    assert_int_equal(LNetEQAlloc(0, NULL, &eq), -EINVAL);
    assert_int_equal(LNetEQAlloc(0, nothing, &eq), 0);
    assert_int_equal(LNetEQAlloc(5, NULL, &ring), 0);
    for (i = 0; i < 8; i++)
        raise_event(ring);
    for (i = 0; i < 8; i++)
        assert_int_equal(LNetEQGet(ring, &event), 1);
    assert_int_equal(LNetEQGet(ring, &event), 0);
    assert_int_equal(LNetEQFree(eq), 0);
    assert_int_equal(LNetEQFree(ring), 0);
}

TEST(lnet_11_free)
{
    struct lnet_md md = {.start = memory, .length = 8, .threshold = 1};
    struct lnet_handle_md handle;

    assert_int_equal(LNetEQAlloc(8, NULL, &md.eq_handle), 0);
    assert_int_equal(LNetMDBind(md, LNET_UNLINK, &handle), 0);
    assert_int_equal(LNetEQFree(md.eq_handle), -EBUSY);
    assert_int_equal(LNetMDUnlink(handle), 0);
    assert_int_equal(LNetEQFree(md.eq_handle), 0);
    assert_int_equal(LNetEQFree(md.eq_handle), -ENOENT);
}

TEST(lnet_12_order)
{
    struct lnet_handle_eq eq;
    struct lnet_event event;
    unsigned i;

    assert_int_equal(LNetEQAlloc(8, NULL, &eq), 0);
    assert_int_equal(LNetEQGet(eq, &event), 0);
    for (i = 1; i <= 20; i++) {
        raise_event(eq);
        raise_event(eq);
        assert_int_equal(LNetEQGet(eq, &event), 1);
        assert_int_equal(event.sequence, 2 * i - 1);
        assert_int_equal(LNetEQGet(eq, &event), 1);
        assert_int_equal(event.sequence, 2 * i);
    }
    assert_int_equal(LNetEQFree(eq), 0);
}

TEST(lnet_13_overflow)
{
    struct lnet_handle_eq eq;
    struct lnet_event event;
    unsigned i;

    assert_int_equal(LNetEQAlloc(8, NULL, &eq), 0);
    for (i = 0; i < 9; i++)
        raise_event(eq);
    assert_int_equal(LNetEQGet(eq, &event), -EOVERFLOW);
    assert_int_equal(event.sequence, 9); /* it replaced the one that was expected */
    for (i = 0; i < 3; i++)
        raise_event(eq);
    for (i = 10; i < 13; i++) {
        assert_int_equal(LNetEQGet(eq, &event), 1);
        assert_int_equal(event.sequence, i);
    }
    assert_int_equal(LNetEQGet(eq, &event), 0);
    assert_int_equal(LNetEQFree(eq), 0);
}

static struct lnet_handle_eq polled[2];

static void raiser(void *arg)
{
    (void)arg;
    raise_event(polled[1]);
}

static void freer(void *arg)
{
    (void)arg;
    assert_int_equal(LNetEQFree(polled[1]), 0);
}

TEST(lnet_14_poll)
{
    struct lnet_handle_eq dead;
    struct lnet_event event;
    sim_time_t before;
    int which = 7;

    assert_int_equal(LNetEQAlloc(4, NULL, &polled[0]), 0);
    assert_int_equal(LNetEQAlloc(4, NULL, &polled[1]), 0);
    assert_int_equal(LNetEQAlloc(4, NULL, &dead), 0);
    assert_int_equal(LNetEQFree(dead), 0);

    assert_int_equal(LNetEQPoll(polled, 0, 0, &event, &which), -ENOENT);
    assert_int_equal(LNetEQPoll(&dead, 1, 0, &event, &which), -ENOENT);
    pass(SIM_MS);
    before = sim_now();
    assert_int_equal(LNetEQPoll(polled, 2, 0, &event, &which), 0);
    assert_int_equal(sim_now(), before);
    assert_int_equal(LNetEQPoll(polled, 2, 25, &event, &which), 0); /* jiffies: milliseconds */
    assert_in_range(sim_now() - before, 25 * SIM_MS, 25 * SIM_MS + SIM_US);

    before = sim_now();
    sim_fiber_start(raiser, NULL, "raiser", before + 5 * SIM_MS);
    assert_int_equal(LNetEQPoll(polled, 2, 100, &event, &which), 1);
    assert_int_equal(which, 1);
    assert_in_range(sim_now() - before, 5 * SIM_MS, 5 * SIM_MS + SIM_US);
    raise_event(polled[0]);
    raise_event(polled[1]);
    assert_int_equal(LNetEQPoll(polled, 2, MAX_SCHEDULE_TIMEOUT, &event, &which), 1);
    assert_int_equal(which, 0);
    assert_int_equal(LNetEQWait(polled[1], &event), 1);

    /* A queue that is freed while another thread polls it: noticed when an event wakes the poll. */
    sim_fiber_start(freer, NULL, "freer", sim_local_time() + SIM_MS);
    before = sim_local_time();
    assert_int_equal(LNetEQPoll(polled, 2, 10, &event, &which), -ENOENT);
    assert_in_range(sim_now() - before, SIM_MS, 11 * SIM_MS);
}

static unsigned called;
static void *last_user;

static void count_call(struct lnet_event *event)
{
    called++;
    last_user = event->md.user_ptr;
}

TEST(lnet_15_callback)
{
    struct lnet_md md = {.start = memory, .length = 8, .threshold = 1};
    struct lnet_handle_md handle;
    unsigned i;

    called = 0;
    assert_int_equal(LNetEQAlloc(0, count_call, &md.eq_handle), 0);
    for (i = 0; i < 1000; i++) {
        md.user_ptr = &memory[i % 256];
        assert_int_equal(LNetMDBind(md, LNET_UNLINK, &handle), 0);
        assert_int_equal(LNetMDUnlink(handle), 0);
        assert_int_equal(called, i + 1);
        assert_ptr_equal(last_user, md.user_ptr);
    }
    assert_int_equal(LNetEQFree(md.eq_handle), 0);
}

TEST(both_callback_and_ring)
{
    struct lnet_handle_eq eq;
    struct lnet_event event;

    called = 0;
    assert_int_equal(LNetEQAlloc(2, count_call, &eq), 0);
    raise_event(eq);
    assert_int_equal(called, 1);
    assert_int_equal(LNetEQGet(eq, &event), 1);
    assert_int_equal(event.sequence, 1);
    assert_int_equal(LNetEQFree(eq), 0);
}

static void call_lnet(struct lnet_event *event)
{
    struct lnet_process_id id;

    (void)event;
    (void)LNetGetId(0, &id);
}

static void naughty(void *arg)
{
    struct lnet_handle_eq eq;

    (void)arg;
    on(B);
    assert_int_equal(LNetEQAlloc(0, call_lnet, &eq), 0);
    raise_event(eq);
    fail_msg("a call from a callback returned");
}

TEST_IN(lnet_16_call_from_callback, .unbalanced = true)
{
    struct sim_fiber *fiber = sim_fiber_start(naughty, NULL, "naughty", sim_local_time());

    pass(SIM_US);
    assert_non_null(panic_of(B));
    assert_string_equal(panic_of(B),
                        "LNetGetId: LNet was called from the callback of an event queue");
    assert_null(panic_of(A));
    sim_fiber_kill(fiber);
}

static void too_early(void *arg)
{
    struct lnet_process_id id;

    (void)arg;
    on(B);
    (void)LNetGetId(0, &id);
    fail_msg("the call returned");
}

TEST_IN(not_initialised, .not_started = true)
{
    struct sim_fiber *fiber = sim_fiber_start(too_early, NULL, "early", sim_local_time());

    pass(SIM_US);
    assert_string_equal(panic_of(B), "LNetGetId: LNet is not initialised");
    sim_fiber_kill(fiber);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lnet_10_allocation),     cmocka_unit_test(lnet_11_free),
        cmocka_unit_test(lnet_12_order),          cmocka_unit_test(lnet_13_overflow),
        cmocka_unit_test(lnet_14_poll),           cmocka_unit_test(lnet_15_callback),
        cmocka_unit_test(both_callback_and_ring), cmocka_unit_test(lnet_16_call_from_callback),
        cmocka_unit_test(not_initialised),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
