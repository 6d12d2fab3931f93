/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* How often the user flavour crosses to the driver: items 142 to 148. */
#include "user.h"

#include "net/lnet/lnet_ioctl.h"

enum { BURST = 16 };

static uint64_t driver_calls(unsigned node)
{
    struct nlx_dd_stats stats;
    uint64_t sum = 0;
    unsigned i;

    nlx_dd_stats_get(drivers[node], &stats);
    for (i = 0; i <= M0_LNET_IOC_MAX_NR; i++)
        sum += stats.ds_verbs[i];
    return sum;
}

static uint64_t driver_calls_of(unsigned node, unsigned cmd)
{
    struct nlx_dd_stats stats;

    nlx_dd_stats_get(drivers[node], &stats);
    return stats.ds_verbs[_IOC_NR(cmd)];
}

/* A machine whose events the test delivers, so that no thread crosses by itself. */
static struct machine *machine_by_hand(unsigned node, int tmid, bool batched)
{
    struct machine *result;

    m0_net_lnet_dom_set_batched(domain(node), batched);
    result = machine(node);
    assert_int_equal(m0_net_buffer_event_deliver_synchronously(&result->tm), 0);
    assert_int_equal(machine_start(result, address(node, tmid)), 0);
    pass(SIM_MS);
    return result;
}

static unsigned completions_on(unsigned node)
{
    unsigned i, count = 0;

    for (i = 0; i < completion_count; i++)
        count += completions[i].nb->nb_app_private == (void *)(uintptr_t)node;
    return count;
}

static void deliver(struct machine *machine, unsigned count)
{
    unsigned before = completions_on(machine->node);

    host(machine->node);
    assert_true(m0_net_buffer_event_pending(&machine->tm));
    m0_net_buffer_event_deliver_all(&machine->tm);
    assert_int_equal(completions_on(machine->node), before + count);
}

/* Sends from B; each has ended when this returns. */
static void send_burst(struct machine *b, struct m0_net_buffer **out, const char *where)
{
    unsigned before = completion_count, i;

    for (i = 0; i < BURST; i++)
        assert_int_equal(send_to(b, out[i], 100, where), 0);
    wait_completions(before + BURST);
    pass(SIM_MS);
}

M0_TEST(m0_3_limits_without_calls)
{
    struct m0_net_domain *dom = domain(A);
    uint64_t before = driver_calls(A);

    assert_int_equal(m0_net_domain_get_max_buffer_size(dom), 1048576);
    assert_int_equal(m0_net_domain_get_max_buffer_segment_size(dom), 4096);
    assert_int_equal(m0_net_domain_get_max_buffer_segments(dom), 256);
    assert_int_equal(m0_net_domain_get_max_buffer_desc_size(dom), 48);
    assert_int_equal(driver_calls(A), before);
}

M0_TEST(m0_143_immediate)
{
    struct machine *a = machine_by_hand(A, 1, false), *b = machine_up(B, 2);
    struct m0_net_buffer *in[BURST], *out[BURST];
    uint64_t before;
    unsigned i;

    for (i = 0; i < BURST; i++) {
        in[i] = buffer(A, 4096);
        out[i] = buffer(B, 4096);
    }
    for (i = 0; i < BURST; i++) {
        before = driver_calls(A) - driver_calls_of(A, M0_LNET_BEV_BLESS_N);
        assert_int_equal(receive(a, in[i], 4096, 1), 0);
        assert_int_equal(driver_calls(A) - driver_calls_of(A, M0_LNET_BEV_BLESS_N), before + 1);
    }
    assert_int_equal(driver_calls_of(A, M0_LNET_BUF_MSG_RECV), BURST);
    send_burst(b, out, address(A, 1));
    before = driver_calls(A);
    deliver(a, BURST); /* from a sender that was not known: item 147 */
    assert_false(m0_net_buffer_event_pending(&a->tm));
    assert_int_equal(driver_calls(A), before);
}

M0_TEST(m0_147_slots_in_blocks)
{
    struct machine *a = machine_by_hand(A, 1, false);
    struct m0_net_buffer *nb = buffer(A, 65536);
    uint64_t before = driver_calls_of(A, M0_LNET_BEV_BLESS_N);

    assert_int_equal(before, 1); /* the first two slots */
    assert_int_equal(receive(a, nb, 100, 100), 0); /* 101 slots, one of them the consumer's */
    assert_int_equal(driver_calls_of(A, M0_LNET_BEV_BLESS_N), before + 4);
    host(A);
    assert_true(m0_net_buffer_del(nb, &a->tm));
    pass(SIM_MS);
    deliver(a, 1);
    assert_int_equal(receive(a, nb, 100, 100), 0); /* the ring does not shrink */
    assert_int_equal(driver_calls_of(A, M0_LNET_BEV_BLESS_N), before + 4);
    assert_int_equal(driver_calls_of(A, M0_LNET_BEV_BLESS), 0);
}

static struct machine *server;
static struct m0_net_buffer *replies[4 * BURST];
static unsigned replied, reply_count = BURST;

/* Answers a request and posts its buffer again. */
static void serve(const struct m0_net_buffer_event *event)
{
    struct m0_net_buffer *nb = event->nbe_buffer, *reply;

    if (nb->nb_tm != &server->tm || nb->nb_qtype != M0_NET_QT_MSG_RECV)
        return;
    reply = replies[replied++ % reply_count];
    reply->nb_qtype = M0_NET_QT_MSG_SEND;
    reply->nb_length = 50;
    reply->nb_ep = event->nbe_ep;
    assert_int_equal(m0_net_buffer_add(reply, &server->tm), 0);
    assert_int_equal(m0_net_buffer_add(nb, &server->tm), 0);
}

/* As many bursts' operations as the submission ring takes, and twice as many. */
static void batches_fill_the_ring(unsigned bursts)
{
    struct machine *a = machine_by_hand(A, 1, true), *b;
    struct m0_net_buffer *in[4 * BURST], *out[BURST], *nb;
    unsigned count = bursts * BURST, round, i;
    uint64_t before, blessed;

    b = machine_up(B, 2);
    server = a;
    for (i = 0; i < 2 * count; i++) {
        nb = buffer(B, 4096);
        assert_int_equal(receive(b, nb, 4096, 1), 0);
        assert_int_equal(receive(b, buffer(B, 4096), 4096, 1), 0);
    }
    for (i = 0; i < BURST; i++)
        out[i] = buffer(B, 4096);
    for (i = 0; i < count; i++) {
        in[i] = buffer(A, 4096);
        replies[i] = buffer(A, 4096);
        assert_int_equal(receive(a, in[i], 4096, 1), 0);
    }
    reply_count = count;
    for (round = 0; round < 3; round++) {
        on_completion = NULL;
        replied = 0;
        for (i = 0; i < bursts; i++) {
            forget_completions();
            send_burst(b, out, address(A, 1));
        }
        on_completion = serve;
        before = driver_calls(A);
        blessed = driver_calls_of(A, M0_LNET_BEV_BLESS_N);
        host(A);
        m0_net_buffer_event_deliver_all(&a->tm); /* and sends that ended meanwhile */
        blessed = driver_calls_of(A, M0_LNET_BEV_BLESS_N) - blessed;
        assert_in_range(blessed, 0, round == 0 ? bursts : 0);
        assert_in_range(driver_calls(A) - before - blessed, 1, 2);
        pass(SIM_MS);
        host(A);
        m0_net_buffer_event_deliver_all(&a->tm);
        assert_false(m0_net_buffer_event_pending(&a->tm));
        assert_int_equal(stats(a, M0_NET_QT_MSG_SEND).nqs_num_s_events, (round + 1) * count);
    }
    on_completion = NULL;
    reply_count = BURST;
}

M0_TEST(m0_144_32_messages_fill_the_ring)
{
    batches_fill_the_ring(2);
}

M0_TEST(m0_144_64_messages_are_twice_the_ring)
{
    batches_fill_the_ring(4);
}

M0_TEST(m0_144_batches)
{
    struct machine *a = machine_by_hand(A, 1, true), *b;
    struct m0_net_buffer *in[BURST], *out[BURST], *back[BURST];
    unsigned round, i;

    b = machine_up(B, 2);
    server = a;
    replied = 0;
    for (i = 0; i < BURST; i++) {
        in[i] = buffer(A, 4096);
        replies[i] = buffer(A, 4096);
        out[i] = buffer(B, 4096);
        back[i] = buffer(B, 4096);
        assert_int_equal(receive(a, in[i], 4096, 1), 0);
    }
    for (round = 0; round < 10; round++) {
        uint64_t before, blessed;

        on_completion = NULL;
        for (i = 0; i < BURST; i++)
            assert_int_equal(receive(b, back[i], 4096, 1), 0);
        forget_completions();
        send_burst(b, out, address(A, 1));
        on_completion = serve;
        before = driver_calls(A);
        blessed = driver_calls_of(A, M0_LNET_BEV_BLESS_N);
        deliver(a, BURST);
        blessed = driver_calls_of(A, M0_LNET_BEV_BLESS_N) - blessed;
        assert_in_range(blessed, 0, round == 0 ? 1 : 0); /* the ring has grown once */
        assert_int_equal(driver_calls(A) - before, 1 + blessed); /* 32 operations together */
        pass(SIM_MS);
        deliver(a, BURST); /* the answers were sent */
        wait_completions(4 * BURST); /* and have arrived */
    }
    on_completion = NULL;
    for (i = M0_LNET_BUF_MSG_RECV; i <= M0_LNET_BUF_PASSIVE_SEND; i++)
        assert_int_equal(driver_calls_of(A, i), 0);
}

/* The event thread delivers: what callbacks add goes with its next wait. */
M0_TEST(m0_144_batches_of_the_event_thread)
{
    struct machine *b;
    struct m0_net_buffer *in[BURST], *out[BURST], *back[BURST];
    unsigned i;

    m0_net_lnet_dom_set_batched(domain(A), true);
    server = machine_up(A, 1);
    b = machine_up(B, 2);
    replied = 0;
    for (i = 0; i < BURST; i++) {
        in[i] = buffer(A, 4096);
        replies[i] = buffer(A, 4096);
        out[i] = buffer(B, 4096);
        back[i] = buffer(B, 4096);
        assert_int_equal(receive(server, in[i], 4096, 1), 0);
        assert_int_equal(receive(b, back[i], 4096, 1), 0);
    }
    on_completion = serve;
    for (i = 0; i < BURST; i++)
        assert_int_equal(send_to(b, out[i], 100, address(A, 1)), 0);
    wait_completions(4 * BURST);
    on_completion = NULL;
    assert_in_range(driver_calls_of(A, M0_LNET_SQ_SUBMIT_AND_WAIT), 1, 2 * BURST);
    assert_int_equal(driver_calls_of(A, M0_LNET_SQ_SUBMIT), BURST); /* the receives at first */
    for (i = M0_LNET_BUF_MSG_RECV; i <= M0_LNET_BUF_PASSIVE_SEND; i++)
        assert_int_equal(driver_calls_of(A, i), 0);
}

M0_TEST(m0_145_what_submits)
{
    struct machine *a = machine_by_hand(A, 1, true);
    struct m0_net_buffer *nb[70], *passive_nb = buffer(A, 4096);
    uint64_t before;
    unsigned i;

    for (i = 0; i < 70; i++)
        nb[i] = buffer(A, 4096);
    /* Slots for all: from here on no call makes new ones. */
    assert_int_equal(receive(a, nb[0], 1, 100), 0);
    before = driver_calls(A);
    assert_int_equal(receive(a, nb[1], 4096, 1), 0);
    assert_int_equal(driver_calls(A), before + 1); /* alone */
    host(A);
    m0_net_lnet_tm_batch_begin(&a->tm);
    m0_net_lnet_tm_batch_begin(&a->tm);
    assert_int_equal(receive(a, nb[2], 4096, 1), 0);
    m0_net_lnet_tm_batch_end(&a->tm);
    assert_int_equal(driver_calls(A), before + 1); /* inside of a batch */
    m0_net_lnet_tm_batch_end(&a->tm);
    assert_int_equal(driver_calls(A), before + 2); /* at its end */

    m0_net_lnet_tm_batch_begin(&a->tm);
    assert_int_equal(receive(a, nb[3], 4096, 1), 0);
    assert_int_equal(passive(a, passive_nb, M0_NET_QT_PASSIVE_BULK_SEND, 10), 0);
    assert_int_equal(driver_calls(A), before + 3); /* a passive buffer does not wait */
    assert_int_equal(receive(a, nb[4], 4096, 1), 0);
    assert_true(m0_net_buffer_del(nb[4], &a->tm)); /* submitted, then cancelled */
    assert_int_equal(driver_calls(A), before + 5);
    m0_net_lnet_tm_batch_end(&a->tm);
    assert_int_equal(driver_calls(A), before + 5);
    pass(SIM_MS);
    deliver(a, 1);
    assert_int_equal(completion_of(nb[4], 0)->status, -ECANCELED);
}

/* What waits in the ring when the machine stops was submitted, and is cancelled. */
M0_TEST(m0_145_before_a_stop)
{
    struct machine *a;
    struct m0_net_buffer *nb = buffer(A, 4096);

    m0_net_lnet_dom_set_batched(domain(A), true);
    a = machine_up(A, 1);
    host(A);
    m0_net_lnet_tm_batch_begin(&a->tm);
    assert_int_equal(receive(a, nb, 4096, 1), 0);
    machine_stop(a, true);
    wait_completions(1);
    assert_int_equal(completion_of(nb, 0)->status, -ECANCELED);
    assert_in_range(driver_calls_of(A, M0_LNET_SQ_SUBMIT), 1, 2);
}

M0_TEST(m0_145_a_full_ring)
{
    struct machine *a = machine_by_hand(A, 1, true);
    struct m0_net_buffer *nb[70];
    uint64_t before;
    unsigned i;

    for (i = 0; i < 70; i++)
        nb[i] = buffer(A, 4096);
    before = driver_calls_of(A, M0_LNET_SQ_SUBMIT);
    host(A);
    m0_net_lnet_tm_batch_begin(&a->tm);
    for (i = 0; i < 70; i++) {
        assert_int_equal(receive(a, nb[i], 4096, 1), 0);
        assert_int_equal(driver_calls_of(A, M0_LNET_SQ_SUBMIT), before + (i >= 64));
    }
    m0_net_lnet_tm_batch_end(&a->tm);
    assert_int_equal(driver_calls_of(A, M0_LNET_SQ_SUBMIT), before + 2);
}

/* Item 148: the thread does not wait while there are events. */
M0_TEST(m0_148_events_before_the_wait)
{
    struct machine *a = machine_by_hand(A, 1, false), *b = machine_up(B, 2);
    struct m0_net_buffer *in = buffer(A, 4096), *out = buffer(B, 4096);
    struct m0_chan chan;
    struct m0_mutex guard;
    struct m0_clink clink;
    sim_time_t began;

    m0_mutex_init(&guard);
    m0_chan_init(&chan, &guard);
    m0_clink_init(&clink, NULL);
    m0_clink_add_lock(&chan, &clink);
    assert_int_equal(receive(a, in, 4096, 1), 0);
    assert_int_equal(send_to(b, out, 100, address(A, 1)), 0);
    wait_completions(1);
    pass(SIM_MS);
    host(A);
    assert_true(m0_net_buffer_event_pending(&a->tm));
    began = sim_local_time();
    m0_net_buffer_event_notify(&a->tm, &chan);
    assert_true(m0_chan_timedwait(&clink, m0_time_from_now(1, 0)));
    assert_true(sim_local_time() - began < SIM_MS);
    assert_int_equal(driver_calls_of(A, M0_LNET_BUF_EVENT_WAIT), 0);
    m0_clink_del_lock(&clink);
    m0_clink_fini(&clink);
    m0_chan_fini_lock(&chan);
    m0_mutex_fini(&guard);
    deliver(a, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(m0_3_limits_without_calls),
        cmocka_unit_test(m0_143_immediate),
        cmocka_unit_test(m0_147_slots_in_blocks),
        cmocka_unit_test(m0_144_batches),
        cmocka_unit_test(m0_144_32_messages_fill_the_ring),
        cmocka_unit_test(m0_144_64_messages_are_twice_the_ring),
        cmocka_unit_test(m0_144_batches_of_the_event_thread),
        cmocka_unit_test(m0_145_what_submits),
        cmocka_unit_test(m0_145_before_a_stop),
        cmocka_unit_test(m0_145_a_full_ring),
        cmocka_unit_test(m0_148_events_before_the_wait),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
