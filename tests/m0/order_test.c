/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Messages and replies that end in another order than they began, made by the driver of the tests;
 * memory that is missing when a message has arrived; buffers that are freed in their callbacks;
 * hosts on which LNet does not run.
 */
#include "lib/finject.h"
#include "rig.h"

#define OUT M0_NET_QT_PASSIVE_BULK_SEND
#define READ M0_NET_QT_ACTIVE_BULK_RECV

/* ---- several messages in a buffer ------------------------------------------------------------ */

enum { MESSAGES = 3 };
static const struct {
    unsigned tmid, bytes, offset;
} messages[MESSAGES] = {{5, 2000, 0}, {6, 1000, 2000}, {7, 1500, 3000}};
static struct machine *senders[MESSAGES], *receiver;
static struct m0_net_buffer *from[MESSAGES], *to;

static void senders_up(void)
{
    unsigned i;

    receiver = machine_up(B, 2);
    to = buffer(B, 16384);
    for (i = 0; i < MESSAGES; i++) {
        senders[i] = machine_up(i == 1 ? C : A, (int)messages[i].tmid);
        from[i] = buffer(senders[i]->node, 4096);
    }
}

/* All are matched with the buffer, and none has all of its data. */
static void messages_begin(void)
{
    unsigned i;

    forget_completions();
    paint(to, 0, 16384, 99);
    assert_int_equal(receive(receiver, to, 2048, MESSAGES), 0);
    wire.hold_received = true;
    for (i = 0; i < MESSAGES; i++) {
        paint(from[i], 0, messages[i].bytes, i);
        assert_int_equal(send_to(senders[i], from[i], messages[i].bytes, address(B, 2)), 0);
        wait_completions(i + 1); /* of the sender */
        pass(SIM_MS);
    }
    wire.hold_received = false;
    assert_int_equal(wire.receiving, MESSAGES);
    assert_int_equal(count_completions(to), 0);
}

static void expect_message(const struct completion *event, unsigned i, bool last)
{
    assert_non_null(event);
    assert_int_equal(event->status, 0);
    assert_int_equal(event->offset, messages[i].offset);
    assert_int_equal(event->length, messages[i].bytes);
    assert_string_equal(event->ep, senders[i]->tm.ntm_ep->nep_addr);
    assert_int_equal(event->flags, M0_NET_BUF_REGISTERED | (last ? 0 : M0_NET_BUF_QUEUED));
    expect_paint(to, messages[i].offset, messages[i].bytes, i);
}

M0_TEST(m0_80_messages_end_in_each_order)
{
    static const unsigned orders[][MESSAGES] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                                {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    unsigned i, k, n, place;

    senders_up();
    for (i = 0; i < 6; i++) {
        messages_begin();
        for (k = 0; k < MESSAGES; k++) {
            for (place = orders[i][k], n = 0; n < k; n++) /* among those that are left */
                place -= orders[i][n] < orders[i][k];
            wire_received(place, 0);
            pass(SIM_MS);
            assert_int_equal(count_completions(to), k + 1);
            expect_message(completion_of(to, k), orders[i][k], k == MESSAGES - 1);
        }
    }
    assert_int_equal(stats(receiver, M0_NET_QT_MSG_RECV).nqs_num_f_events, 0);
    assert_int_equal(stats(receiver, M0_NET_QT_MSG_RECV).nqs_num_s_events, 18);
}

/* D-27: a message that fails in transit while others go on is nobody's event. */
M0_TEST(m0_80_one_fails_in_transit)
{
    senders_up();
    messages_begin();
    wire_received(1, -EIO);
    pass(SIM_MS);
    assert_int_equal(count_completions(to), 0);
    wire_received(1, 0); /* the third */
    pass(SIM_MS);
    expect_message(completion_of(to, 0), 2, false);
    wire_received(0, 0);
    pass(SIM_MS);
    expect_message(completion_of(to, 1), 0, true);
    assert_int_equal(count_completions(to), 2);
    assert_int_equal(stats(receiver, M0_NET_QT_MSG_RECV).nqs_num_f_events, 1);
}

/* The memory for the sender's end point is missing when the event is delivered. */
M0_TEST(m0_82_no_memory_for_senders)
{
    struct m0_net_qstats now;

    senders_up();
    messages_begin();
    m0_fi_enable("xo_ep_new", "fail");
    wire_received(2, 0);
    wire_received(0, 0);
    pass(SIM_MS);
    assert_int_equal(count_completions(to), 0);
    assert_int_equal(to->nb_flags, M0_NET_BUF_REGISTERED | M0_NET_BUF_QUEUED);
    assert_int_equal(stats(receiver, M0_NET_QT_MSG_RECV).nqs_num_f_events, 2);
    wire_received(0, 0);
    pass(SIM_MS);
    m0_fi_disable("xo_ep_new", "fail");
    assert_int_equal(count_completions(to), 1);
    assert_int_equal(completion_of(to, 0)->status, -ENOMEM);
    assert_string_equal(completion_of(to, 0)->ep, "");
    assert_int_equal(completion_of(to, 0)->flags, M0_NET_BUF_REGISTERED);
    now = stats(receiver, M0_NET_QT_MSG_RECV);
    assert_int_equal(now.nqs_num_f_events, 3);
    assert_int_equal(now.nqs_num_s_events, 0);
}

/* ---- the two events of a read ---------------------------------------------------------------- */

static struct machine *near_machine, *far_machine;
static struct m0_net_buffer *near, *far;

static void read_begins(void)
{
    if (near_machine == NULL) {
        near_machine = machine_up(A, 1);
        far_machine = machine_up(B, 2);
        near = buffer(A, 4096);
        far = buffer(B, 4096);
    }
    forget_completions();
    paint(near, 0, 4096, 1);
    paint(far, 0, 100, 2);
    assert_int_equal(passive(far_machine, far, OUT, 100), 0);
    assert_int_equal(active(near_machine, near, READ, 0, &far->nb_desc), 0);
}

static void reads_begin(void)
{
    near_machine = NULL;
}

M0_TEST(m0_90_the_reply_before_the_send)
{
    const struct completion *event;

    reads_begin();
    wire.hold_done = true; /* also of the reply at its sender */
    read_begins();
    pass(SIM_S);
    assert_int_equal(completion_count, 0);
    wire.hold_done = false;
    wire_done();
    wait_completions(2);
    pass(SIM_S);
    assert_int_equal(completion_count, 2);
    event = completion_of(near, 0);
    assert_int_equal(event->status, 0);
    assert_int_equal(event->length, 100);
    assert_int_equal(event->flags, M0_NET_BUF_REGISTERED);
    expect_paint(near, 0, 100, 2);
    assert_int_equal(completion_of(far, 0)->status, 0);

    wire.hold_done = wire.hold_received = true; /* the reply fails, then the SEND comes */
    read_begins();
    pass(SIM_S);
    assert_int_equal(wire.receiving, 1);
    wire_received(0, -EIO);
    pass(SIM_S);
    assert_int_equal(count_completions(near), 0);
    wire.hold_done = wire.hold_received = false;
    wire_done();
    wait_completions(2);
    pass(SIM_S);
    assert_int_equal(completion_count, 2);
    assert_int_equal(completion_of(near, 0)->status, -EIO);
    assert_int_equal(completion_of(near, 0)->length, 0);
}

M0_TEST(m0_91_a_cancel_during_the_send)
{
    reads_begin();
    wire.hold = true; /* the GET arrives, and its reply finds nothing */
    read_begins();
    pass(SIM_S);
    host(A);
    assert_true(m0_net_buffer_del(near, &near_machine->tm));
    pass(SIM_S);
    assert_int_equal(completion_count, 0);
    wire.hold = false;
    wire_release(1);
    wait_completions(2);
    pass(SIM_S);
    assert_int_equal(completion_count, 2);
    assert_int_equal(completion_of(near, 0)->status, -ECANCELED);
    assert_int_equal(completion_of(near, 0)->flags, M0_NET_BUF_REGISTERED);
    assert_int_equal(completion_of(far, 0)->status, 0);
    expect_paint(near, 0, 4096, 1);

    wire.hold = true; /* the GET is lost */
    read_begins();
    pass(SIM_S);
    host(A);
    assert_true(m0_net_buffer_del(near, &near_machine->tm));
    wire.hold = false;
    wire.swallow = true;
    wire_release(1);
    wait_completions(1);
    pass(SIM_S);
    wire.swallow = false;
    assert_int_equal(completion_count, 1);
    assert_int_equal(completion_of(near, 0)->status, -ECANCELED);
}

/* ---- buffers that end with their callback ---------------------------------------------------- */

/* Layers above free a buffer in the callback of its last event; the checks of builds that check
 * forbid it. */
static unsigned freed;

static void free_it(const struct m0_net_buffer_event *event)
{
    struct m0_net_buffer *nb = event->nbe_buffer;

    assert_int_equal(nb->nb_flags, M0_NET_BUF_REGISTERED);
    m0_net_desc_free(&nb->nb_desc);
    m0_net_buffer_deregister(nb, nb->nb_dom);
    m0_bufvec_free_aligned(&nb->nb_buffer, 12);
    memset(nb, 0xee, sizeof(*nb));
    free(nb);
    freed++;
}

static struct m0_net_buffer *short_lived(unsigned node)
{
    static const struct m0_net_buffer_callbacks callbacks = {
        .nbc_cb = {free_it, free_it, free_it, free_it, free_it, free_it}};
    struct m0_net_buffer *nb = calloc(1, sizeof(*nb));

    assert_int_equal(m0_bufvec_alloc_aligned(&nb->nb_buffer, 2, 4096, 12), 0);
    host(node);
    assert_int_equal(m0_net_buffer_register(nb, domain(node)), 0);
    nb->nb_callbacks = &callbacks;
    return nb;
}

static void freed_in_their_callback(void)
{
    struct machine *a = machine_up(A, 1), *b = machine_up(B, 2);
    struct m0_net_buffer *nb;
    struct m0_net_buf_desc desc;
    unsigned i;

    freed = 0;
    for (i = 0; i < 20; i++) {
        assert_int_equal(receive(b, short_lived(B), 4096, 1), 0);
        assert_int_equal(send_to(a, short_lived(A), 4096, address(B, 2)), 0);
        nb = short_lived(B);
        assert_int_equal(passive(b, nb, i % 2 == 0 ? OUT : M0_NET_QT_PASSIVE_BULK_RECV, 8192), 0);
        assert_int_equal(m0_net_desc_copy(&nb->nb_desc, &desc), 0);
        assert_int_equal(
            active(a, short_lived(A), i % 2 == 0 ? READ : M0_NET_QT_ACTIVE_BULK_SEND, 8192, &desc),
            0);
        m0_net_desc_free(&desc);
        nb = short_lived(B); /* cancelled */
        assert_int_equal(receive(b, nb, 4096, 1), 0);
        host(B);
        assert_true(m0_net_buffer_del(nb, &b->tm));
        pass(SIM_S);
        assert_int_equal(freed, 5 * (i + 1));
    }
    assert_int_equal(receive(b, short_lived(B), 4096, 1), 0);
    machine_stop(b, true);
    assert_int_equal(freed, 101);
}

/* It is skipped here, because skip() must not leave the fiber of the test's body. */
static void m0_44_m0_159_freed_in_their_callback(void **state)
{
    (void)state;
    if (M0_EXPENSIVE_CHECKS)
        skip();
    rig_run(freed_in_their_callback, &(struct world){.nodes = 3});
}

/* ---- hosts without LNet ---------------------------------------------------------------------- */

static void nothing_starts(void)
{
    static const char *const nids[] = {"10.0.0.1@tcp", "10.1.0.1@o2ib", "0@gni"};
    char where[80];
    char **list;
    unsigned i;

    for (i = 0; i < 6; i++) {
        struct machine *a = machine(A);

        snprintf(where, sizeof(where), "%s:12345:42:%s", nids[i / 2], i % 2 == 0 ? "1" : "*");
        assert_int_equal(machine_start(a, where), -ENOENT);
        assert_int_equal(a->tm.ntm_state, M0_NET_TM_FAILED);
        assert_int_equal(a->states, 1);
        assert_null(a->tm.ntm_ep);
        machine_free(a);
    }
    assert_int_equal(m0_net_lnet_ifaces_get(domain(A), &list), 0);
    for (i = 0; list[i] != NULL; i++)
        assert_string_equal(list[i], "0@lo");
    m0_net_lnet_ifaces_put(domain(A), &list);
    assert_null(list);
}

M0_TEST_IN(m0_57_the_loopback_only, .not_started = true, .settings = {{"networks", "lo"}})
{
    nothing_starts();
}

/* The driver of the only network does not start, and so LNet does not, until it does. */
M0_TEST_IN(m0_57_lnet_does_not_start, .not_started = true, .settings = {{"networks", "tcp(eth0)"}})
{
    struct m0_net_domain other = {.nd_xprt = NULL};
    char **list;

    wire.startup_error = -ENETDOWN;
    nothing_starts();
    assert_int_equal(machine_start(machine(A), "0@lo:12345:42:1"), -ENOENT);
    assert_int_equal(m0_net_lnet_ifaces_get(domain(A), &list), 0);
    assert_null(list[0]);
    m0_net_lnet_ifaces_put(domain(A), &list);
    wire.startup_error = 0;
    assert_int_equal(m0_net_domain_init(&other, rig_xprt), 0); /* the next one tries again */
    assert_int_equal(machine_start(machine(A), "10.0.0.1@tcp:12345:42:1"), 0);
    m0_net_domain_fini(&other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(m0_80_messages_end_in_each_order),
        cmocka_unit_test(m0_80_one_fails_in_transit),
        cmocka_unit_test(m0_82_no_memory_for_senders),
        cmocka_unit_test(m0_90_the_reply_before_the_send),
        cmocka_unit_test(m0_91_a_cancel_during_the_send),
        cmocka_unit_test(m0_44_m0_159_freed_in_their_callback),
        cmocka_unit_test(m0_57_the_loopback_only),
        cmocka_unit_test(m0_57_lnet_does_not_start),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
