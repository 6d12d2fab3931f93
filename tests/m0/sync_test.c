/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Synchronous delivery: callbacks run where the application asks for them. */
#include "rig.h"

static struct machine *synchronous(unsigned node, int tmid)
{
    struct machine *machine_ = machine(node);

    assert_int_equal(m0_net_buffer_event_deliver_synchronously(&machine_->tm), 0);
    assert_false(machine_->tm.ntm_bev_auto_deliver);
    assert_int_equal(machine_start(machine_, address(node, tmid)), 0);
    return machine_;
}

static struct machine *a, *b; /* b is synchronous, and has posted `to` for many messages */
static struct m0_net_buffer *to, *from;

static void begin(void)
{
    a = machine_up(A, 1);
    b = synchronous(B, 2);
    to = buffer(B, 65536);
    from = buffer(A, 4096);
    assert_int_equal(receive(b, to, 4096, 100), 0);
}

static void one_message(void)
{
    assert_int_equal(send_to(a, from, 100, address(B, 2)), 0);
    pass(SIM_MS);
    host(B);
}

M0_TEST_IN(m0_119_too_late, .unbalanced = true)
{
    struct machine *late = machine_up(A, 1);

    VIOLATES(m0_net_buffer_event_deliver_synchronously(&late->tm));
}
M0_TEST_IN(m0_119_twice, .unbalanced = true)
{
    struct machine *twice = machine(A);

    assert_int_equal(m0_net_buffer_event_deliver_synchronously(&twice->tm), 0);
    VIOLATES(m0_net_buffer_event_deliver_synchronously(&twice->tm));
}

M0_TEST(m0_120_m0_123_callbacks_on_the_caller)
{
    unsigned i;

    begin();
    assert_false(m0_net_buffer_event_pending(&b->tm));
    for (i = 0; i < 5; i++)
        one_message();
    pass(100 * SIM_S);
    assert_null(completion_of(to, 0));
    assert_true(m0_net_buffer_event_pending(&b->tm));
    m0_net_buffer_event_deliver_all(&b->tm);
    assert_int_equal(count_completions(to), 5);
    for (i = 0; i < 5; i++)
        assert_ptr_equal(completion_of(to, i)->thread, port_thread_self());
    assert_false(m0_net_buffer_event_pending(&b->tm));
}

static void deliver(void *argument)
{
    (void)argument;
    m0_net_buffer_event_deliver_all(&b->tm);
}
static void slowly(const struct m0_net_buffer_event *event)
{
    if (event->nbe_buffer == to)
        pass(SIM_MS);
}

M0_TEST(m0_121_two_deliver)
{
    struct port_thread *thread;
    unsigned i;

    begin();
    m0_net_buffer_event_deliver_all(&b->tm); /* nothing */
    for (i = 0; i < 10; i++)
        one_message();
    on_completion = slowly;
    thread = port_thread_start("deliver", deliver, NULL);
    m0_net_buffer_event_deliver_all(&b->tm);
    port_thread_join(thread);
    assert_int_equal(count_completions(to), 10);
    for (i = 1; i < 10; i++) {
        unsigned k;

        for (k = 0; k < i; k++)
            assert_int_not_equal(completion_of(to, k)->offset, completion_of(to, i)->offset);
    }
}

static unsigned more;
static void send_more(const struct m0_net_buffer_event *event)
{
    if (event->nbe_buffer != to || more == 0)
        return;
    more--;
    one_message();
}

M0_TEST(m0_122_events_during_delivery)
{
    begin();
    more = 3;
    on_completion = send_more;
    one_message();
    m0_net_buffer_event_deliver_all(&b->tm);
    assert_int_equal(count_completions(to), 4);
}

/* ---- notification ---------------------------------------------------------------------------- */

struct channel {
    struct m0_mutex guard;
    struct m0_chan chan;
    struct m0_clink clink;
};

static void channel_open(struct channel *channel)
{
    m0_mutex_init(&channel->guard);
    m0_chan_init(&channel->chan, &channel->guard);
    m0_clink_init(&channel->clink, NULL);
    m0_clink_add_lock(&channel->chan, &channel->clink);
}

static void channel_close(struct channel *channel)
{
    m0_clink_del_lock(&channel->clink);
    m0_clink_fini(&channel->clink);
    m0_chan_fini_lock(&channel->chan);
    m0_mutex_fini(&channel->guard);
}

static bool signalled(struct channel *channel)
{
    return m0_chan_timedwait(&channel->clink, m0_time_from_now(20, 0));
}

M0_TEST(m0_124_notify_of_what_is_there)
{
    struct channel channel;
    m0_time_t began;

    begin();
    channel_open(&channel);
    one_message();
    began = m0_time_now();
    m0_net_buffer_event_notify(&b->tm, &channel.chan);
    assert_true(signalled(&channel));
    assert_true(m0_time_now() - began < M0_TIME_ONE_MSEC);
    assert_false(signalled(&channel));
    channel_close(&channel);
}

M0_TEST(m0_125_one_signal_for_a_request)
{
    struct channel channel;

    begin();
    channel_open(&channel);
    m0_net_buffer_event_notify(&b->tm, &channel.chan);
    assert_false(signalled(&channel));
    one_message();
    assert_true(signalled(&channel));
    one_message();
    assert_false(signalled(&channel));
    assert_null(completion_of(to, 0));
    m0_net_buffer_event_deliver_all(&b->tm);
    assert_int_equal(count_completions(to), 2);
    channel_close(&channel);
}

M0_TEST(m0_126_the_later_channel_counts)
{
    struct channel one, two;

    begin();
    channel_open(&one);
    channel_open(&two);
    m0_net_buffer_event_notify(&b->tm, &one.chan);
    pass(SIM_S);
    m0_net_buffer_event_notify(&b->tm, &two.chan);
    one_message();
    assert_true(signalled(&two));
    assert_false(signalled(&one));
    channel_close(&one);
    channel_close(&two);
}

M0_TEST(m0_127_own_and_foreign_channels)
{
    struct m0_clink clink;
    struct channel channel;

    begin();
    m0_clink_init(&clink, NULL);
    m0_clink_add_lock(&b->tm.ntm_chan, &clink);
    m0_net_buffer_event_notify(&b->tm, &b->tm.ntm_chan);
    one_message();
    assert_true(m0_chan_timedwait(&clink, m0_time_from_now(1, 0)));
    m0_clink_del_lock(&clink);
    m0_clink_fini(&clink);

    channel_open(&channel);
    m0_mutex_lock(&channel.guard);
    m0_net_buffer_event_notify(&b->tm, &channel.chan);
    pass(SIM_S); /* the signal waits for the guard */
    assert_true(m0_net_buffer_event_pending(&b->tm));
    m0_net_buffer_event_deliver_all(&b->tm);
    m0_mutex_unlock(&channel.guard);
    assert_true(signalled(&channel));
    channel_close(&channel);
}

/* The event thread is about to signal the channel when the application takes it back. */
M0_TEST(m0_127_a_channel_that_is_taken_back)
{
    struct channel channel;

    begin();
    channel_open(&channel);
    m0_mutex_lock(&channel.guard);
    m0_net_buffer_event_notify(&b->tm, &channel.chan);
    one_message();
    pass(SIM_S); /* the signal waits for the guard */
    m0_mutex_unlock(&channel.guard);
    m0_net_buffer_event_notify(&b->tm, NULL);
    assert_true(m0_chan_trywait(&channel.clink));
    channel_close(&channel);
    m0_net_buffer_event_deliver_all(&b->tm);
    one_message();
    pass(SIM_S); /* nobody signals it */
    m0_net_buffer_event_deliver_all(&b->tm);
    assert_int_equal(count_completions(to), 2);
}

M0_TEST(m0_128_a_spurious_signal)
{
    struct channel channel;

    begin();
    channel_open(&channel);
    m0_net_buffer_event_notify(&b->tm, &channel.chan);
    one_message();
    m0_net_buffer_event_deliver_all(&b->tm); /* another reason woke the loop */
    assert_true(signalled(&channel));
    assert_false(m0_net_buffer_event_pending(&b->tm));
    m0_net_buffer_event_deliver_all(&b->tm);
    assert_int_equal(count_completions(to), 1);
    m0_net_buffer_event_notify(&b->tm, &channel.chan);
    one_message();
    assert_true(signalled(&channel));
    m0_net_buffer_event_deliver_all(&b->tm);
    assert_int_equal(count_completions(to), 2);
    channel_close(&channel);
}

M0_TEST(m0_129_timeouts_become_pending)
{
    struct m0_net_buffer *late = buffer(B, 4096);

    begin();
    late->nb_timeout = m0_time_from_now(5, 0);
    assert_int_equal(receive(b, late, 4096, 1), 0);
    pass(40 * SIM_S);
    assert_null(completion_of(late, 0));
    host(B);
    assert_true(m0_net_buffer_event_pending(&b->tm));
    m0_net_buffer_event_deliver_all(&b->tm);
    assert_int_equal(completion_of(late, 0)->status, -ETIMEDOUT);
}

M0_TEST(m0_130_m0_131_stop_without_help)
{
    begin();
    assert_true(b->on_worker && b->last == M0_NET_TM_STARTED);
    one_message();
    machine_stop(b, true);
    assert_int_equal(count_completions(to), 2);
    assert_int_equal(completion_of(to, 0)->status, 0);
    assert_int_equal(completion_of(to, 1)->status, -ECANCELED);
    assert_ptr_not_equal(completion_of(to, 1)->thread, port_thread_self());
}

M0_TEST(m0_131_stop_with_help)
{
    begin();
    one_message();
    host(B);
    assert_int_equal(m0_net_tm_stop(&b->tm, true), 0);
    m0_net_buffer_event_deliver_all(&b->tm);
    assert_int_equal(count_completions(to), 2);
    assert_ptr_equal(completion_of(to, 1)->thread, port_thread_self());
    machine_wait(b, M0_NET_TM_STOPPED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(m0_119_too_late),
        cmocka_unit_test(m0_119_twice),
        cmocka_unit_test(m0_120_m0_123_callbacks_on_the_caller),
        cmocka_unit_test(m0_121_two_deliver),
        cmocka_unit_test(m0_122_events_during_delivery),
        cmocka_unit_test(m0_124_notify_of_what_is_there),
        cmocka_unit_test(m0_125_one_signal_for_a_request),
        cmocka_unit_test(m0_126_the_later_channel_counts),
        cmocka_unit_test(m0_127_own_and_foreign_channels),
        cmocka_unit_test(m0_127_a_channel_that_is_taken_back),
        cmocka_unit_test(m0_128_a_spurious_signal),
        cmocka_unit_test(m0_129_timeouts_become_pending),
        cmocka_unit_test(m0_130_m0_131_stop_without_help),
        cmocka_unit_test(m0_131_stop_with_help),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
