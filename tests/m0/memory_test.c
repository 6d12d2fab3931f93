/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the transport in memory does in its own way, and what it does like the other transports. */
#include "net/bulk_mem.h"
#include "rig.h"

#define IN M0_NET_QT_PASSIVE_BULK_RECV
#define OUT M0_NET_QT_PASSIVE_BULK_SEND
#define READ M0_NET_QT_ACTIVE_BULK_RECV
#define WRITE M0_NET_QT_ACTIVE_BULK_SEND

/* The status of a message of 100 bytes from a to the address. */
static int status_of_send(struct machine *a, const char *where)
{
    struct m0_net_buffer *nb = buffer(A, 4096);
    int status;

    assert_int_equal(send_to(a, nb, 100, where), 0);
    pass(SIM_S);
    status =
        completion_of(nb, count_completions(nb) - 1)->status; /* the address may be an old one */
    buffer_free(nb);
    return status;
}

/* ---- limits and addresses -------------------------------------------------------------------- */

M0_TEST(m0_162_limits)
{
    struct m0_net_domain *dom = domain(A);
    struct m0_net_buffer nb = {.nb_flags = 0};
    uint32_t i;

    assert_int_equal(m0_net_domain_get_max_buffer_size(dom), 1 << 22);
    assert_int_equal(m0_net_domain_get_max_buffer_segment_size(dom), 1 << 18);
    assert_int_equal(m0_net_domain_get_max_buffer_segments(dom), 16);
    assert_int_equal(m0_bufvec_alloc_aligned(&nb.nb_buffer, 17, 4096, 12), 0);
    assert_int_equal(m0_net_buffer_register(&nb, dom), -EFBIG);
    nb.nb_buffer.ov_vec.v_nr = 16;
    assert_int_equal(m0_net_buffer_register(&nb, dom), 0);
    m0_net_buffer_deregister(&nb, dom);
    nb.nb_buffer.ov_vec.v_count[3] = (1 << 18) + 1;
    assert_int_equal(m0_net_buffer_register(&nb, dom), -EFBIG);
    nb.nb_buffer.ov_vec.v_count[3] = 0;
    assert_int_equal(m0_net_buffer_register(&nb, dom), -EINVAL);
    nb.nb_buffer.ov_vec.v_nr = 17;
    for (i = 0; i < 17; i++)
        nb.nb_buffer.ov_vec.v_count[i] = 4096;
    m0_bufvec_free_aligned(&nb.nb_buffer, 12);
}

M0_TEST(m0_162_addresses)
{
    static const char *const malformed[] = {
        "",           "10.0.0.1",    "10.0.0.1:", "10.0.0:12", "10.0.0.256:12", "10.0.0.1:65536",
        "10.0.0.1:0", "10.0.0.1:12x"};
    struct machine *a = machine_up(A, 1);
    struct m0_net_end_point *ep, *again;
    unsigned i;

    host(A);
    assert_int_equal(m0_net_end_point_create(&ep, &a->tm, NULL), -ENOSYS);
    for (i = 0; i < ARRAY_SIZE(malformed); i++) {
        assert_int_equal(m0_net_end_point_create(&ep, &a->tm, malformed[i]), -EINVAL);
        assert_int_equal(machine_start(machine(A), malformed[i]), -EINVAL);
    }
    ep = end_point(a, "10.0.0.7:12");
    again = end_point(a, "10.0.0.7:12");
    assert_ptr_equal(ep, again);
    assert_string_equal(ep->nep_addr, "10.0.0.7:12");
    m0_net_end_point_put(ep);
    m0_net_end_point_put(again);
}

/* Its only failure of a start that an event tells: the address is in use. */
M0_TEST(m0_162_m0_13_m0_14_a_failed_machine_starts_anew)
{
    struct machine *other = machine_up(A, 1), *a = machine(A);

    assert_int_equal(machine_start(a, address(A, 1)), -EADDRINUSE);
    assert_int_equal(a->last, M0_NET_TM_FAILED);
    assert_null(a->tm.ntm_ep);
    pass(100 * SIM_S);
    assert_int_equal(a->states, 1);
    m0_net_tm_fini(&a->tm);
    assert_int_equal(m0_net_tm_init(&a->tm, domain(A)), 0);
    machine_stop(other, true);
    assert_int_equal(machine_start(a, address(A, 1)), 0);
}
M0_TEST_IN(m0_162_m0_14_a_failed_machine_does_not_stop, .unbalanced = true)
{
    struct machine *a = machine(A);

    machine_up(A, 1);
    assert_int_equal(machine_start(a, address(A, 1)), -EADDRINUSE);
    VIOLATES(m0_net_tm_stop(&a->tm, true));
}

M0_TEST(m0_24_confinement_is_not_supported)
{
    struct machine *a = machine(A);
    struct m0_bitmap map;

    assert_int_equal(m0_bitmap_init(&map, 8), 0);
    m0_bitmap_set(&map, 1, true);
    assert_int_equal(m0_net_tm_confine(&a->tm, &map), -ENOSYS);
    m0_bitmap_fini(&map);
}

M0_TEST(m0_162_threads)
{
    struct machine *a = machine_up(A, 1), *b = machine(B);
    struct m0_net_buffer *to[20];
    unsigned i;

    assert_int_equal(m0_net_bulk_mem_tm_get_num_threads(&b->tm), 1);
    m0_net_bulk_mem_tm_set_num_threads(&b->tm, 4);
    assert_int_equal(m0_net_bulk_mem_tm_get_num_threads(&b->tm), 4);
    assert_int_equal(machine_start(b, address(B, 2)), 0);
    for (i = 0; i < 20; i++) {
        to[i] = buffer(B, 4096);
        assert_int_equal(receive(b, to[i], 4096, 1), 0);
    }
    for (i = 0; i < 20; i++)
        assert_int_equal(status_of_send(a, address(B, 2)), 0);
    for (i = 0; i < 20; i++)
        assert_int_equal(count_completions(to[i]), 1);
}

/* ---- messages -------------------------------------------------------------------------------- */

M0_TEST(m0_162_a_message_that_nobody_takes)
{
    struct machine *a = machine_up(A, 1), *same_domain = machine_up(A, 5), *stopped;
    struct m0_net_buffer *to = buffer(A, 4096);

    assert_int_equal(status_of_send(a, address(B, 9)), -ENETUNREACH);
    stopped = machine_up(B, 3);
    machine_stop(stopped, true);
    assert_int_equal(status_of_send(a, address(B, 3)), -ENETUNREACH);
    assert_int_equal(receive(same_domain, to, 4096, 1), 0);
    assert_int_equal(status_of_send(a, address(A, 5)), -ENETUNREACH);
    assert_int_equal(count_completions(to), 0);
}

static unsigned errors;
static int error_status;
static void note_error(const struct m0_net_tm_event *event)
{
    if (event->nte_type != M0_NET_TEV_ERROR)
        return;
    errors++;
    error_status = event->nte_status;
}
static const struct m0_net_tm_callbacks noting_errors = {.ntc_event_cb = note_error};

M0_TEST(m0_162_m0_26_no_receive_buffer)
{
    struct machine *a = machine_up(A, 1), *b = machine_up(B, 2);
    const struct m0_net_tm_callbacks *usual = b->tm.ntm_callbacks;

    errors = 0;
    b->tm.ntm_callbacks = &noting_errors;
    assert_int_equal(status_of_send(a, address(B, 2)), -ENOBUFS);
    b->tm.ntm_callbacks = usual;
    assert_int_equal(errors, 1);
    assert_int_equal(error_status, -ENOBUFS);
    assert_int_equal(stats(b, M0_NET_QT_MSG_RECV).nqs_num_f_events, 1);
    assert_int_equal(b->tm.ntm_state, M0_NET_TM_STARTED);
}

M0_TEST(m0_162_a_message_that_is_too_large)
{
    struct machine *a = machine_up(A, 1), *b = machine_up(B, 2);
    struct m0_net_buffer *small = buffer(B, 99), *large = buffer(B, 4096);

    assert_int_equal(receive(b, small, 99, 1), 0);
    assert_int_equal(receive(b, large, 4096, 1), 0);
    assert_int_equal(status_of_send(a, address(B, 2)), -EMSGSIZE);
    assert_int_equal(completion_of(small, 0)->status, -EMSGSIZE);
    assert_int_equal(status_of_send(a, address(B, 2)), 0);
    assert_int_equal(completion_of(large, 0)->length, 100);
}

M0_TEST(m0_162_m0_28_m0_42_m0_43_m0_73_one_message_for_a_buffer)
{
    struct machine *a = machine_up(A, 1), *b = machine_up(B, 2);
    struct m0_net_buffer *to = buffer(B, 4096), *from = buffer(A, 4096);
    struct m0_net_end_point *ep = end_point(a, address(B, 2));

    to->nb_length = 17;
    assert_int_equal(receive(b, to, 100, 10), 0);
    paint(from, 0, 300, 1);
    assert_int_equal(send_to(a, from, 300, address(B, 2)), 0);
    assert_int_equal(m0_atomic64_get(&ep->nep_ref.ref_cnt), 2); /* with the buffer's own one */
    wait_completions(2);
    pass(SIM_MS);
    assert_int_equal(m0_atomic64_get(&ep->nep_ref.ref_cnt), 1);
    m0_net_end_point_put(ep);
    expect_paint(to, 0, 300, 1);
    assert_int_equal(completion_of(to, 0)->length, 300);
    assert_int_equal(completion_of(to, 0)->flags & M0_NET_BUF_QUEUED, 0);
    assert_true(completion_of(to, 0)->never);
    assert_string_equal(completion_of(to, 0)->ep, address(A, 1));
    assert_int_equal(to->nb_length, 17);
    assert_int_equal(stats(b, M0_NET_QT_MSG_RECV).nqs_total_bytes, 300);
    assert_int_equal(stats(b, M0_NET_QT_MSG_RECV).nqs_max_bytes, 300);
    assert_int_equal(stats(a, M0_NET_QT_MSG_SEND).nqs_total_bytes, 300);
    assert_int_equal(status_of_send(a, address(B, 2)), -ENOBUFS);
}

static struct machine *again_machine;
static unsigned again_left;
static void add_again(const struct m0_net_buffer_event *event)
{
    struct m0_net_buffer *nb = event->nbe_buffer;
    struct m0_net_end_point *ep = NULL;

    if (nb->nb_qtype != M0_NET_QT_MSG_RECV || event->nbe_status != 0 || again_left-- == 0)
        return;
    assert_int_equal(nb->nb_flags, M0_NET_BUF_REGISTERED);
    assert_int_equal(m0_net_buffer_add(nb, &again_machine->tm), 0);
    assert_int_equal(m0_net_end_point_create(&ep, &again_machine->tm, address(A, 77)), 0);
    m0_net_end_point_put(ep);
}

M0_TEST(m0_44_m0_29_a_callback_adds_its_buffer)
{
    struct machine *a = machine_up(A, 1);
    struct m0_net_buffer *to = buffer(B, 4096);
    unsigned i;

    again_machine = machine_up(B, 2);
    again_left = 10;
    on_completion = add_again;
    assert_int_equal(receive(again_machine, to, 4096, 1), 0);
    for (i = 0; i < 10; i++)
        assert_int_equal(status_of_send(a, address(B, 2)), 0);
    assert_int_equal(count_completions(to), 10);
    assert_int_equal(stats(again_machine, M0_NET_QT_MSG_RECV).nqs_num_adds, 11);
    /* Each time it waited for the message, about a second. */
    assert_in_range(stats(again_machine, M0_NET_QT_MSG_RECV).nqs_time_in_queue,
                    UINT64_C(8) * M0_TIME_ONE_SECOND, UINT64_C(10) * M0_TIME_ONE_SECOND);
}

M0_TEST(m0_30_m0_40_cancel)
{
    struct machine *b = machine_up(B, 2);
    struct m0_net_buffer *nb = buffer(B, 4096);

    host(B);
    assert_false(m0_net_buffer_del(nb, &b->tm));
    assert_int_equal(receive(b, nb, 4096, 1), 0);
    assert_true(m0_net_buffer_del(nb, &b->tm));
    assert_true(m0_net_buffer_del(nb, &b->tm));
    pass(SIM_S);
    assert_int_equal(completion_count, 1);
    assert_int_equal(completion_of(nb, 0)->status, -ECANCELED);
    assert_int_equal(stats(b, M0_NET_QT_MSG_RECV).nqs_num_f_events, 1);
    assert_false(m0_net_buffer_del(nb, &b->tm));
    assert_int_equal(nb->nb_flags, M0_NET_BUF_REGISTERED);
}

/* ---- bulk ------------------------------------------------------------------------------------ */

static int status_of_bulk(struct machine *a, struct m0_net_buffer *nb, enum m0_net_queue_type qtype,
                          size_t bytes, const struct m0_net_buf_desc *desc)
{
    unsigned before = count_completions(nb);

    assert_int_equal(active(a, nb, qtype, bytes, desc), 0); /* errors come as events */
    pass(SIM_S);
    assert_int_equal(count_completions(nb), before + 1);
    return completion_of(nb, before)->status;
}

M0_TEST(m0_162_codes_of_bulk)
{
    struct machine *a = machine_up(A, 1), *b = machine_up(B, 2);
    struct m0_net_buffer *mine = buffer(A, 4096), *theirs = buffer(B, 8192);
    struct m0_net_buf_desc desc = {0}, cut;

    paint(theirs, 0, 5000, 1);
    assert_int_equal(passive(b, theirs, OUT, 3000), 0);
    assert_int_equal(m0_net_desc_copy(&theirs->nb_desc, &desc), 0);
    cut = desc;
    cut.nbd_len--;
    assert_int_equal(status_of_bulk(a, mine, READ, 0, &cut), -EINVAL);
    assert_int_equal(status_of_bulk(a, mine, WRITE, 100, &desc), -EPERM);
    assert_int_equal(count_completions(theirs), 0);
    assert_int_equal(status_of_bulk(a, mine, READ, 0, &desc), 0);
    expect_paint(mine, 0, 3000, 1);
    assert_int_equal(completion_of(theirs, 0)->status, 0);
    assert_int_equal(status_of_bulk(a, mine, READ, 0, &desc), -ENOENT);
    m0_net_desc_free(&desc);

    assert_int_equal(passive(b, theirs, OUT, 5000), 0); /* more than the reader has room for */
    assert_int_equal(status_of_bulk(a, mine, READ, 0, &theirs->nb_desc), -EFBIG);
    assert_int_equal(completion_of(theirs, 1)->status, -EFBIG);

    paint(mine, 0, 4096, 2);
    assert_int_equal(passive(b, theirs, IN, 0), 0);
    assert_int_equal(status_of_bulk(a, mine, WRITE, 4096, &theirs->nb_desc), 0);
    assert_int_equal(completion_of(theirs, 2)->length, 4096);
    expect_paint(theirs, 0, 4096, 2);
}

M0_TEST(m0_15_m0_18_stop)
{
    struct machine *b = machine_up(B, 2);
    struct m0_net_buffer *in = buffer(B, 4096), *out = buffer(B, 4096), *to = buffer(B, 4096);

    assert_int_equal(receive(b, to, 4096, 1), 0);
    assert_int_equal(passive(b, in, IN, 0), 0);
    assert_int_equal(passive(b, out, OUT, 10), 0);
    host(B);
    assert_int_equal(m0_net_tm_stop(&b->tm, false), 0);
    pass(10 * SIM_S);
    assert_int_equal(b->states, 1); /* the passive ones wait */
    assert_int_equal(completion_of(to, 0)->status, -ECANCELED);
    assert_true(m0_net_buffer_del(in, &b->tm));
    assert_true(m0_net_buffer_del(out, &b->tm));
    machine_wait(b, M0_NET_TM_STOPPED);
    assert_int_equal(completion_count, 3);
    forget_completions();

    b = machine_up(B, 2);
    assert_int_equal(receive(b, to, 4096, 1), 0);
    assert_int_equal(passive(b, in, IN, 0), 0);
    assert_int_equal(passive(b, out, OUT, 10), 0);
    machine_stop(b, true);
    assert_int_equal(completion_count, 3);
    assert_int_equal(completion_of(in, 0)->status, -ECANCELED);
    assert_int_equal(stats(b, IN).nqs_num_dels, 1);
}

/* ---- events that the application would deliver ------------------------------------------------
 */

M0_TEST(m0_119_m0_162_synchronous_delivery_is_accepted)
{
    struct machine *a = machine_up(A, 1), *b = machine(B);
    struct m0_net_buffer *to = buffer(B, 4096);

    assert_int_equal(m0_net_buffer_event_deliver_synchronously(&b->tm), 0);
    assert_int_equal(machine_start(b, address(B, 2)), 0);
    assert_int_equal(receive(b, to, 4096, 1), 0);
    assert_int_equal(status_of_send(a, address(B, 2)), 0);
    assert_int_equal(count_completions(to), 1); /* without any request */
    assert_ptr_not_equal(completion_of(to, 0)->thread, port_thread_self());
    host(B);
    assert_false(m0_net_buffer_event_pending(&b->tm));
    m0_net_buffer_event_notify(&b->tm, &b->tm.ntm_chan);
    m0_net_buffer_event_deliver_all(&b->tm);
    assert_int_equal(count_completions(to), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(m0_162_limits),
        cmocka_unit_test(m0_162_addresses),
        cmocka_unit_test(m0_24_confinement_is_not_supported),
        cmocka_unit_test(m0_162_m0_13_m0_14_a_failed_machine_starts_anew),
        cmocka_unit_test(m0_162_m0_14_a_failed_machine_does_not_stop),
        cmocka_unit_test(m0_162_threads),
        cmocka_unit_test(m0_162_a_message_that_nobody_takes),
        cmocka_unit_test(m0_162_m0_26_no_receive_buffer),
        cmocka_unit_test(m0_162_a_message_that_is_too_large),
        cmocka_unit_test(m0_162_m0_28_m0_42_m0_43_m0_73_one_message_for_a_buffer),
        cmocka_unit_test(m0_44_m0_29_a_callback_adds_its_buffer),
        cmocka_unit_test(m0_30_m0_40_cancel),
        cmocka_unit_test(m0_162_codes_of_bulk),
        cmocka_unit_test(m0_15_m0_18_stop),
        cmocka_unit_test(m0_119_m0_162_synchronous_delivery_is_accepted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
