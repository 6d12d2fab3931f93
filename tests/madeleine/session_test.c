/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Sessions: how processes that differ find out, what the start refuses, waiting by a hook. */
#define _GNU_SOURCE
#include <poll.h>

#include "ranks.h"

/* ---- processes that differ ------------------------------------------------------------------- */

static void other_levels(p_mad_madeleine_t session, int rank)
{
    ((struct mad_session *)session)->check = rank == 1 ? 2 : 0;
    CHECK(mad_open_channel(session, 0) == NULL);
    ranks_barrier();
    CHECK(ranks_failures(MAD_ECONFIG) == 3);
    ((struct mad_session *)session)->check = 0;
    CHECK(mad_open_channel(session, 0) != NULL);
}

static void mad_28_check_levels_that_differ(void **state)
{
    ranks_run(3, "tcp", other_levels);
    assert_int_equal(ranks_all_failures(), 3);
}

static void other_adapters(p_mad_madeleine_t session, int rank)
{
    CHECK(mad_open_channel(session, rank == 2 ? 1 : 0) == NULL);
    ranks_barrier();
    CHECK(ranks_failures(MAD_ECONFIG) == 3);
    ranks_barrier();
    CHECK(mad_open_named_channel(session, rank == 1 ? "one" : "two", 0) == NULL);
    ranks_barrier();
    CHECK(ranks_failures(MAD_ECONFIG) == 6);
    CHECK(mad_open_named_channel(session, "three", 1) != NULL);
}

static void mad_81_channels_in_another_order(void **state)
{
    ranks_run(3, "tcp,shm", other_adapters);
    assert_int_equal(ranks_all_failures(), 6);
}

/* ---- what the start refuses ------------------------------------------------------------------ */

static int codes[65];

static void on_failure(const mad_failure_t *failure, void *arg)
{
    (void)arg;
    codes[failure->code]++;
}

static void mad_78_a_driver_that_does_not_exist(void **state)
{
    p_mad_adapter_set_t set = mad_adapter_set_init(2, mad_TCP, NULL, mad_VIA, NULL);

    mad_set_failure_handler(on_failure, NULL);
    assert_null(mad_init(NULL, NULL, NULL, set));
    assert_int_equal(codes[MAD_ENOTSUP], 1);
    mad_adapter_set_free(set);
    assert_null(mad_get_madeleine());
}

static void mad_86_mad_83_sessions_of_one_process(void **state)
{
    mad_set_failure_handler(on_failure, NULL);
    for (int i = 0; i < 3; i++) {
        p_mad_adapter_set_t set = mad_adapter_set_init(1, mad_LOOP, NULL);
        p_mad_madeleine_t session = mad_init(NULL, NULL, NULL, set);
        p_mad_channel_t channel;

        assert_non_null(session);
        assert_ptr_equal(mad_get_madeleine(), session);
        assert_int_equal(session->configuration.size, 1);
        assert_ptr_equal(session->configuration_pointer, &session->configuration);
        channel = mad_open_channel(session, 0);
        ranks_send(channel, 0, 41 + i);
        assert_int_equal(ranks_receive(channel, NULL), 41 + i);
        assert_ptr_equal(mad_get_channel(session, (char[]){"ch0"}), channel);
        assert_null(mad_init(NULL, NULL, NULL, set)); /* there is a session */
        assert_int_equal(codes[MAD_ESTATE], i + 1);
        mad_exit(session);
        mad_adapter_set_free(set);
    }
    assert_int_equal(codes[MAD_EINVAL], 0);
}

static int calls, fail_at;

static int may_fail(void)
{
    return ++calls == fail_at ? MAD_EBOOT : MAD_OK;
}

static int put(struct mad_boot *boot, const char *key, const char *value)
{
    return may_fail();
}

static int fence(struct mad_boot *boot)
{
    return may_fail();
}

/* There are other values than the own ones nowhere. */
static int get(struct mad_boot *boot, int rank, const char *key, char *value, size_t size)
{
    snprintf(value, size, "%s", strncmp(key, "mad.x", 5) == 0 ? "" : "value");
    return may_fail();
}

static void close_boot(struct mad_boot *boot)
{
    free(boot);
}

/* The process manager stops answering at each of the calls of a start. */
static void a_process_manager_that_fails(void **state)
{
    static const struct mad_boot_ops ops = {put, fence, get, close_boot};
    const struct mad_session_options options = {.drivers = mad_drivers};
    int failed = 0;

    mad_set_failure_handler(on_failure, NULL);
    for (fail_at = 1; fail_at < 6; fail_at++) {
        struct mad_boot *boot = calloc(1, sizeof(*boot));

        assert_non_null(boot);
        *boot = (struct mad_boot){.ops = &ops, .size = 2, .rank = 1, .job = "job"};
        calls = 0;
        codes[MAD_EBOOT] = 0;
        assert_null(mad_session_start(boot, &options));
        failed += codes[MAD_EBOOT];
    }
    assert_int_equal(failed, 5);
}

/* ---- waiting --------------------------------------------------------------------------------- */

static int waits;

static int counted_wait(void *arg, mad_event_t *event, int64_t timeout_ns)
{
    __atomic_fetch_add((int *)arg, 1, __ATOMIC_SEQ_CST);
    return mad_wait_sleeping.wait(NULL, event, timeout_ns);
}

static void to_and_fro(p_mad_madeleine_t session, int rank)
{
    p_mad_channel_t channel = mad_open_channel(session, 0);

    for (int i = 0; i < 200; i++) {
        if (i % 2 == rank)
            ranks_send(channel, 1 - rank, i);
        else
            CHECK(ranks_receive(channel, NULL) == i);
    }
}

/* TH4: what waits for a network waits by the hook, which a program may replace. */
static void all_waiting_goes_through_the_hook(void **state)
{
    const struct mad_wait_ops counted = {.yield = mad_wait_sleeping.yield, .wait = counted_wait};

    for (int i = 0; i < 2; i++) {
        waits = 0;
        mad_set_wait_ops(&counted, &waits);
        ranks_run_clean(2, i == 0 ? "tcp" : "shm", to_and_fro);
        mad_set_wait_ops(&mad_wait_busy, NULL);
        ranks_run_clean(2, i == 0 ? "tcp" : "shm", to_and_fro);
        mad_set_wait_ops(NULL, NULL);
        assert_true(waits > 0); /* how many, depends on who runs when */
    }
}

/* ---- transfer methods ------------------------------------------------------------------------ */

static int chosen(p_mad_channel_t channel, size_t length, mad_send_mode_t send,
                  mad_receive_mode_t receive)
{
    p_mad_connection_t out = channel->output_connection[0];
    const mad_driver_interface_t *interface = channel->adapter->driver->interface;

    return interface->choice != NULL ? (int)interface->choice(out, length, send, receive)->id : 0;
}

static void choices(p_mad_madeleine_t session, int rank)
{
    p_mad_channel_t channel;

    for (int adapter = 0; adapter < 3; adapter++) {
        channel = mad_open_channel(session, adapter);
        CHECK(channel != NULL);
        for (mad_send_mode_t send = S; send <= C; send++)
            for (mad_receive_mode_t receive = E; receive <= R; receive++) {
                CHECK(chosen(channel, 1, send, receive) == 0);
                CHECK(chosen(channel, 4095, send, receive) == 0);
                CHECK(chosen(channel, 4096, send, receive) == 0);
                CHECK(chosen(channel, 4097, send, receive) == (adapter == 1));
                CHECK(chosen(channel, 1 << 30, send, receive) == (adapter == 1));
            }
    }
}

static void mad_53_the_choice_of_each_driver(void **state)
{
    ranks_run_clean(1, "tcp,shm,loop", choices);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mad_28_check_levels_that_differ),
        cmocka_unit_test(mad_81_channels_in_another_order),
        cmocka_unit_test(mad_78_a_driver_that_does_not_exist),
        cmocka_unit_test(mad_86_mad_83_sessions_of_one_process),
        cmocka_unit_test(a_process_manager_that_fails),
        cmocka_unit_test(all_waiting_goes_through_the_hook),
        cmocka_unit_test(mad_53_the_choice_of_each_driver),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
