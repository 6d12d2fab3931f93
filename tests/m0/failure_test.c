/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Failures: of LNet's calls, in transit, of memory; registration; races of cancellation. */
#include "lib/finject.h"
#include "net/lnet/linux_kernel/klnet_core.h"
#include "rig.h"

enum { MIB = 1 << 20 };
#define IN M0_NET_QT_PASSIVE_BULK_RECV
#define OUT M0_NET_QT_PASSIVE_BULK_SEND
#define READ M0_NET_QT_ACTIVE_BULK_RECV
#define WRITE M0_NET_QT_ACTIVE_BULK_SEND

/* ---- registration ---------------------------------------------------------------------------- */

static int registered(uint32_t segments, const m0_bcount_t *counts, void *const *starts)
{
    struct m0_net_buffer nb = {
        .nb_buffer = {{segments, (m0_bcount_t *)(uintptr_t)counts}, (void **)(uintptr_t)starts}};
    int rc;

    host(A);
    rc = m0_net_buffer_register(&nb, domain(A));
    assert_int_equal(nb.nb_flags, rc == 0 ? M0_NET_BUF_REGISTERED : 0);
    if (rc == 0)
        m0_net_buffer_deregister(&nb, domain(A));
    else
        assert_null(nb.nb_dom); /* it may be registered after correction */
    return rc;
}

M0_TEST(m0_31_m0_32_shapes)
{
    static uint8_t memory[258 * 4096] __attribute__((aligned(4096)));
    static m0_bcount_t counts[257];
    static void *starts[257];
    unsigned i;

    for (i = 0; i < 257; i++) {
        counts[i] = 4096;
        starts[i] = memory + 4096 * i;
    }
    assert_int_equal(registered(256, counts, starts), 0);
    assert_int_equal(registered(257, counts, starts), -EFBIG);
    counts[3] = 4097;
    assert_int_equal(registered(5, counts, starts), -EFBIG);
    counts[3] = 0;
    assert_int_equal(registered(5, counts, starts), -EINVAL);
    counts[3] = 4000; /* a hole */
    assert_int_equal(registered(5, counts, starts), -EINVAL);
    assert_int_equal(registered(4, counts, starts), 0); /* a short last one */
    counts[3] = 4096;
    starts[3] = NULL;
    assert_int_equal(registered(5, counts, starts), -EINVAL);
    starts[3] = memory + 3 * 4096 + 8;
    counts[3] = 4088;
    assert_int_equal(registered(5, counts, starts), -EINVAL);
    starts[3] = memory + 3 * 4096;
    counts[3] = 4096;
    starts[0] = memory + 96;
    counts[0] = 4000;
    assert_int_equal(registered(5, counts, starts), 0); /* an unaligned begin */
    starts[0] = memory + 100; /* with the first segment on two pages 257 fragments */
    counts[0] = 4096;
    assert_int_equal(registered(256, counts, starts), -EFBIG);
}

M0_TEST_IN(m0_34_deregistering_a_queued_buffer, .unbalanced = true)
{
    struct machine *a = machine_up(A, 1);
    struct m0_net_buffer *nb = buffer(A, 4096);

    assert_int_equal(receive(a, nb, 4096, 1), 0);
    VIOLATES(m0_net_buffer_deregister(nb, domain(A)));
}
M0_TEST_IN(m0_35_an_unregistered_buffer, .unbalanced = true)
{
    struct machine *a = machine_up(A, 1);
    struct m0_net_buffer *nb = buffer(A, 4096);

    m0_net_buffer_deregister(nb, domain(A));
    VIOLATES(receive(a, nb, 4096, 1));
}
M0_TEST_IN(m0_35_another_domain, .unbalanced = true)
{
    struct machine *a = machine_up(A, 1);
    struct m0_net_buffer *nb = buffer(B, 4096);

    VIOLATES(receive(a, nb, 4096, 1));
}
M0_TEST_IN(m0_35_not_started, .unbalanced = true)
{
    struct machine *a = machine(A);
    struct m0_net_buffer *nb = buffer(A, 4096);

    VIOLATES(receive(a, nb, 4096, 1));
}

/* ---- calls that fail ------------------------------------------------------------------------- */

static int no_memory(struct nlx_kcore_transfer_mc *ktm, const struct nlx_core_buffer *cb,
                     struct nlx_kcore_buffer *kb, struct lnet_md *umd)
{
    (void)ktm, (void)cb, (void)kb, (void)umd;
    return -ENOMEM;
}

/* The buffer is idle, no event comes, nothing is left in LNet, and it works the next time. */
static void expect_idle(struct machine *machine, struct m0_net_buffer *nb,
                        enum m0_net_queue_type qtype)
{
    unsigned before = completion_count;

    assert_int_equal(nb->nb_flags, M0_NET_BUF_REGISTERED);
    pass(SIM_S);
    assert_int_equal(completion_count, before);
    assert_int_equal(stats(machine, qtype).nqs_num_adds, 0);
    assert_int_equal(stats(machine, qtype).nqs_num_f_events, 0);
    machine_stop(machine, false);
}

/*
 * An operation that LNet refuses: the add says so. In batched mode it has returned before, and an
 * event says so.
 */
static void expect_refused(int rc, int status, struct machine *machine, struct m0_net_buffer *nb)
{
    unsigned before = count_completions(nb);

    if (rig_flavour == RIG_USER_BATCHED) {
        assert_int_equal(rc, 0);
        wait_completions(completion_count + 1);
        assert_int_equal(completion_of(nb, before)->status, status);
        assert_string_equal(completion_of(nb, before)->ep, "");
    } else {
        assert_int_equal(rc, status);
        assert_null(nb->nb_desc.nbd_data); /* item 97 */
        assert_int_equal(nb->nb_desc.nbd_len, 0);
    }
    assert_int_equal(nb->nb_flags, M0_NET_BUF_REGISTERED);
    assert_int_equal(machine->tm.ntm_state, M0_NET_TM_STARTED);
}

M0_TEST(m0_38_m0_39_m0_146_attach_fails)
{
    struct machine *a = machine_up(A, 1), *b = machine_up(A, 2);
    struct m0_net_buffer *nb = buffer(A, 4096);

    nlx_kcore_iv._nlx_kcore_LNetMDAttach = no_memory;
    expect_refused(receive(a, nb, 4096, 1), -ENOMEM, a, nb);
    expect_refused(passive(a, nb, IN, 0), -ENOMEM, a, nb);
    expect_refused(passive(a, nb, OUT, 10), -ENOMEM, a, nb);
    if (rig_flavour != RIG_USER_BATCHED)
        expect_idle(a, nb, M0_NET_QT_MSG_RECV);
    expect_idle(b, nb, IN);
}

/* The descriptor stays with the buffer. */
static void expect_refused_active(struct machine *machine, struct m0_net_buffer *nb,
                                  enum m0_net_queue_type qtype, size_t bytes,
                                  const struct m0_net_buf_desc *desc, int status)
{
    unsigned before = completion_count;
    int rc = active(machine, nb, qtype, bytes, desc);

    if (rig_flavour == RIG_USER_BATCHED) {
        assert_int_equal(rc, 0);
        wait_completions(before + 1);
        rc = completions[before].status;
    }
    assert_int_equal(rc, status);
    assert_int_equal(nb->nb_flags, M0_NET_BUF_REGISTERED);
}

M0_TEST(m0_38_m0_39_put_and_get_fail)
{
    struct machine *a = machine_up(A, 1), *b = machine_up(B, 2);
    struct m0_net_buffer *nb = buffer(A, 4096), *in = buffer(B, 4096), *out = buffer(B, 4096);
    unsigned late = rig_flavour == RIG_USER_BATCHED ? 3 : 0; /* refusals with an event */

    assert_int_equal(passive(b, in, IN, 0), 0);
    assert_int_equal(passive(b, out, OUT, 10), 0);
    lnet_node_fail_nid(lnet_of(A), tcp(B), -1); /* LNetPut and LNetGet fail with a bound MD */
    expect_refused(send_to(a, nb, 10, address(B, 2)), -EIO, a, nb);
    m0_net_desc_free(&nb->nb_desc);
    expect_refused_active(a, nb, WRITE, 10, &in->nb_desc, -EIO);
    expect_refused_active(a, nb, READ, 0, &out->nb_desc, -EIO);
    pass(SIM_S);
    assert_int_equal(completion_count, late);
    lnet_node_fail_nid(lnet_of(A), tcp(B), 0);
    assert_int_equal(active(a, nb, READ, 0, &out->nb_desc), 0);
    wait_completions(late + 2);
    assert_int_equal(stats(a, WRITE).nqs_num_adds, late / 3);
    assert_int_equal(stats(a, READ).nqs_num_adds, late / 3 + 1);
    assert_int_equal(stats(a, M0_NET_QT_MSG_SEND).nqs_num_adds, late / 3);
}

static int refusal;
static int refuse_attach(struct nlx_kcore_transfer_mc *ktm, const struct nlx_core_buffer *cb,
                         struct nlx_kcore_buffer *kb, struct lnet_md *umd)
{
    (void)ktm, (void)cb, (void)kb, (void)umd;
    return refusal;
}

/* Whatever LNet's calls return, the add returns. */
M0_TEST(m0_38_each_code_of_lnet)
{
    static const int codes[] = {-EIO, -ENOENT, -ENOMEM, -EINVAL, -ENETDOWN};
    const struct nlx_kcore_interceptable_subs original = nlx_kcore_iv;
    struct machine *a = machine_up(A, 1), *b = machine_up(B, 2);
    struct m0_net_buffer *nb = buffer(A, 4096), *in = buffer(B, 4096), *out = buffer(B, 4096);
    unsigned i;

    assert_int_equal(passive(b, in, IN, 0), 0);
    assert_int_equal(passive(b, out, OUT, 10), 0);
    nlx_kcore_iv._nlx_kcore_LNetMDAttach = refuse_attach;
    nlx_kcore_iv._nlx_kcore_LNetPut = refuse_attach;
    nlx_kcore_iv._nlx_kcore_LNetGet = refuse_attach;
    for (i = 0; i < sizeof(codes) / sizeof(*codes); i++) {
        refusal = codes[i];
        expect_refused(receive(a, nb, 4096, 1), refusal, a, nb);
        expect_refused(passive(a, nb, IN, 0), refusal, a, nb);
        expect_refused(passive(a, nb, OUT, 10), refusal, a, nb);
        expect_refused(send_to(a, nb, 10, address(B, 2)), refusal, a, nb);
        expect_refused_active(a, nb, WRITE, 10, &in->nb_desc, refusal);
        expect_refused_active(a, nb, READ, 0, &out->nb_desc, refusal);
        m0_net_desc_free(&nb->nb_desc);
    }
    nlx_kcore_iv = original;
    assert_int_equal(active(a, nb, READ, 0, &out->nb_desc), 0);
    pass(SIM_MS);
    assert_int_equal(completion_of(out, 0)->status, 0);
}

/* Each allocation of an add fails once: for slots, the descriptor, and what LNet is given. */
M0_TEST(m0_38_no_memory)
{
    static const enum m0_net_queue_type queues[] = {M0_NET_QT_MSG_RECV, IN, OUT};
    struct machine *a = machine_up(A, 1);
    struct m0_net_buffer *nb[3];
    unsigned i, n, failed = 0;
    int rc;

    for (i = 0; i < 3; i++) {
        nb[i] = buffer(A, 4096);
        for (n = 0, rc = -1; rc != 0; n++) {
            m0_fi_enable_off_n_on_m("m0_alloc", "fail_allocation", n, 1000);
            rc =
                i == 0 ? receive(a, nb[i], 4096, 1) : passive(a, nb[i], queues[i], i == 1 ? 0 : 10);
            m0_fi_disable("m0_alloc", "fail_allocation");
            if (rc == 0)
                break;
            assert_int_equal(rc, -ENOMEM);
            assert_int_equal(nb[i]->nb_flags, M0_NET_BUF_REGISTERED);
            assert_null(nb[i]->nb_desc.nbd_data);
            failed++;
        }
        assert_int_equal(stats(a, queues[i]).nqs_num_adds, 1);
    }
    assert_true(failed > 1);
    pass(SIM_S);
    assert_int_equal(completion_count, 0);
}

M0_TEST(m0_38_no_event_slots)
{
    struct machine *a = machine_up(A, 1);
    struct m0_net_buffer *nb = buffer(A, 65536);

    m0_fi_enable("nlx_core_new_blessed_bevs", "fail");
    assert_int_equal(receive(a, nb, 1, 100), -ENOMEM);
    assert_int_equal(machine_start(machine(A), address(A, 7)), -ENOMEM); /* item 13, row 9 */
    m0_fi_disable("nlx_core_new_blessed_bevs", "fail");
    assert_int_equal(nb->nb_flags, M0_NET_BUF_REGISTERED);
    machine_up(A, 7); /* the address is free */
    assert_int_equal(receive(a, nb, 1, 100), 0);
    host(A);
    assert_true(m0_net_buffer_del(nb, &a->tm));
    wait_completions(1);
}

/* The driver reports an error: by the event, unchanged. */
M0_TEST_IN(m0_72_errors_of_the_driver, .unbalanced = true)
{
    struct machine *a = machine_up(A, 1);
    struct m0_net_buffer *nb = buffer(A, 4096);

    wire.send_error = -ENOMEM;
    assert_int_equal(send_to(a, nb, 10, address(B, 2)), 0);
    wait_completions(1);
    assert_int_equal(completions[0].status, -ENOMEM);
    wire.send_error = 0;
}

/* ---- races ----------------------------------------------------------------------------------- */

/* A message is on the wire when its buffer is cancelled: either result, once. */
M0_TEST(m0_41_cancel_while_sending)
{
    struct machine *a = machine_up(A, 1), *b = machine_up(B, 2);
    struct m0_net_buffer *from = buffer(A, 4096), *to = buffer(B, 4096);

    assert_int_equal(receive(b, to, 4096, 1), 0);
    wire.hold = true;
    assert_int_equal(send_to(a, from, 10, address(B, 2)), 0);
    host(A);
    assert_true(m0_net_buffer_del(from, &a->tm));
    pass(SIM_S);
    assert_int_equal(completion_count, 0);
    wire.hold = false;
    wire_release(1);
    wait_completions(2);
    pass(SIM_S);
    assert_int_equal(completion_count, 2);
    assert_int_equal(completion_of(from, 0)->status, -ECANCELED); /* though the message arrived */
    assert_int_equal(completion_of(to, 0)->status, 0);
}

/* The cancellation meets a message at any point of its way. */
M0_TEST(m0_41_cancel_at_any_time)
{
    struct machine *a = machine_up(A, 1), *b = machine_up(B, 2);
    struct m0_net_buffer *from = buffer(A, 4096), *to = buffer(B, 4096);
    unsigned won = 0, lost = 0, i;

    for (i = 0; i < 60; i++) {
        forget_completions();
        assert_int_equal(receive(b, to, 4096, 1), 0);
        assert_int_equal(send_to(a, from, 10, address(B, 2)), 0);
        pass(i * 50 * SIM_NS);
        host(B);
        m0_net_buffer_del(to, &b->tm);
        wait_completions(2);
        pass(SIM_MS);
        assert_int_equal(completion_count, 2);
        assert_int_equal(completion_of(from, 0)->status, 0);
        won += completion_of(to, 0)->status == 0;
        lost += completion_of(to, 0)->status == -ECANCELED;
        assert_int_equal(completion_of(to, 0)->flags, M0_NET_BUF_REGISTERED);
    }
    assert_int_equal(won + lost, 60);
    assert_true(won > 5 && lost > 5);
}

M0_TEST(m0_51_nids)
{
    static const struct {
        const char *text;
        uint64_t nid;
    } nids[] = {{"10.72.49.14@o2ib", 0x000500000a48310e},
                {"192.168.96.128@tcp1", 0x00020001c0a86080},
                {"0@lo", 0x0009000000000000},
                {"17@gni", 0x000d000000000011},
                {"1.2.3.4@tcp", 0x0002000001020304}};
    char text[M0_NET_LNET_NIDSTR_SIZE];
    uint64_t nid;
    unsigned i;

    for (i = 0; i < 5; i++) {
        assert_int_equal(nlx_kcore_nidstr_decode(nids[i].text, &nid), 0);
        assert_true(nid == nids[i].nid);
        assert_int_equal(nlx_kcore_nidstr_encode(nid, text), 0);
        assert_string_equal(text, nids[i].text);
    }
    assert_int_equal(nlx_kcore_nidstr_decode("1.2.3.4", &nid), 0);
    assert_true(nid == nids[4].nid);
}

/* The REPLY overtakes the SEND of its GET: the test driver holds the completion of the request. */
static struct lnet_event saved;
static int hold_send(struct nlx_kcore_transfer_mc *ktm, const struct nlx_core_buffer *cb,
                     struct nlx_kcore_buffer *kb, struct lnet_md *umd)
{
    (void)ktm, (void)cb, (void)umd;
    memset(&saved, 0, sizeof(saved));
    saved.md.user_ptr = kb;
    return 0;
}

void nlx_kcore_eq_cb(struct lnet_event *event);

static void event(enum lnet_event_kind kind, int status, unsigned length, bool unlinked)
{
    saved.type = kind;
    saved.status = status;
    saved.mlength = length;
    saved.unlinked = unlinked;
    nlx_kcore_eq_cb(&saved);
    pass(SIM_MS);
}

M0_TEST(m0_90_m0_91_the_two_events_of_a_get)
{
    struct machine *a = machine_up(A, 1), *b = machine_up(B, 2);
    struct m0_net_buffer *near = buffer(A, 4096), *far = buffer(B, 4096);
    struct m0_net_buf_desc desc;

    assert_int_equal(passive(b, far, OUT, 100), 0);
    assert_int_equal(m0_net_desc_copy(&far->nb_desc, &desc), 0);
    nlx_kcore_iv._nlx_kcore_LNetGet = hold_send;
    assert_int_equal(active(a, near, READ, 0, &desc), 0); /* REPLY, then SEND */
    event(LNET_EVENT_REPLY, 0, 77, false);
    assert_int_equal(completion_count, 0);
    event(LNET_EVENT_SEND, 0, 0, true);
    assert_int_equal(completion_count, 1);
    assert_int_equal(completions[0].status, 0);
    assert_int_equal(completions[0].length, 77);
    assert_int_equal(active(a, near, READ, 0, &desc), 0); /* SEND, then REPLY */
    event(LNET_EVENT_SEND, 0, 0, false);
    assert_int_equal(completion_count, 1);
    event(LNET_EVENT_REPLY, -EIO, 0, true);
    assert_int_equal(completion_count, 2);
    assert_int_equal(completions[1].status, -EIO);
    assert_int_equal(active(a, near, READ, 0, &desc), 0); /* unlinked with the SEND */
    event(LNET_EVENT_SEND, 0, 0, true);
    assert_int_equal(completion_count, 3);
    assert_int_equal(completions[2].status, -ECANCELED);
    assert_int_equal(active(a, near, READ, 0, &desc), 0); /* the SEND failed */
    event(LNET_EVENT_SEND, -EHOSTUNREACH, 0, true);
    assert_int_equal(completion_count, 4);
    assert_int_equal(completions[3].status, -EHOSTUNREACH);
    m0_net_desc_free(&desc);
}

/* Messages in flight into one buffer end in another order than their places in it. */
static int hold_attach(struct nlx_kcore_transfer_mc *ktm, const struct nlx_core_buffer *cb,
                       struct nlx_kcore_buffer *kb, struct lnet_md *umd)
{
    return hold_send(ktm, cb, kb, umd);
}

static void arrives(unsigned offset, unsigned length, unsigned tmid, int status, bool unlinked)
{
    saved.offset = offset;
    saved.hdr_data = (uint64_t)tmid << 52 | 42;
    saved.initiator = id_of(tcp(C));
    event(LNET_EVENT_PUT, status, length, unlinked);
}

M0_TEST(m0_80_messages_end_out_of_order)
{
    struct machine *b = machine_up(B, 2);
    struct m0_net_buffer *to = buffer(B, 16384);

    nlx_kcore_iv._nlx_kcore_LNetMDAttach = hold_attach;
    assert_int_equal(receive(b, to, 2048, 3), 0);
    arrives(2000, 1000, 6, 0, false);
    arrives(3000, 1500, 7, 0, false);
    arrives(0, 2000, 5, -EIO, false); /* D-27: failed in transit, nobody's event */
    arrives(0, 2000, 5, 0, true);
    assert_int_equal(completion_count, 3);
    assert_int_equal(completions[0].offset, 2000);
    assert_int_equal(completions[1].offset, 3000);
    assert_int_equal(completions[1].length, 1500);
    assert_string_equal(completions[1].ep, address(C, 7));
    assert_int_equal(completions[2].offset, 0);
    assert_string_equal(completions[2].ep, address(C, 5));
    assert_true((completions[0].flags & completions[1].flags & M0_NET_BUF_QUEUED) != 0);
    assert_int_equal(completions[2].flags, M0_NET_BUF_REGISTERED);
    assert_int_equal(stats(b, M0_NET_QT_MSG_RECV).nqs_num_f_events, 1);
}

/* The memory for the sender's end point is missing. */
M0_TEST(m0_82_no_memory_for_the_sender)
{
    struct machine *b = machine_up(B, 2);
    struct m0_net_buffer *to = buffer(B, 16384);

    nlx_kcore_iv._nlx_kcore_LNetMDAttach = hold_attach;
    assert_int_equal(receive(b, to, 2048, 3), 0);
    m0_fi_enable("xo_ep_new", "fail");
    arrives(0, 10, 5, 0, false);
    assert_int_equal(completion_count, 0);
    assert_int_equal(to->nb_flags, M0_NET_BUF_REGISTERED | M0_NET_BUF_QUEUED);
    assert_int_equal(stats(b, M0_NET_QT_MSG_RECV).nqs_num_f_events, 1);
    arrives(10, 10, 5, 0, true);
    assert_int_equal(completion_count, 1);
    assert_int_equal(completions[0].status, -ENOMEM);
    assert_string_equal(completions[0].ep, "");
    m0_fi_disable("xo_ep_new", "fail");
}

M0_TEST(m0_13_no_memory_for_the_own_end_point)
{
    m0_fi_enable("xo_ep_new", "fail");
    assert_int_equal(machine_start(machine(A), address(A, 1)), -ENOMEM);
    m0_fi_disable("xo_ep_new", "fail");
    machine_up(A, 1);
}

/* A stop waits for the machine's lock while the start is at work: STARTED is not reported. */
static void stop_it(void *machine)
{
    assert_int_equal(m0_net_tm_stop(&((struct machine *)machine)->tm, true), 0);
}

M0_TEST(m0_16_stop_during_the_start)
{
    struct machine *a = machine(A);
    struct nlx_kcore_host *here = nlx_kcore_host_current();
    struct port_thread *thread;

    m0_mutex_lock(&here->kh_mutex); /* the start needs it to take its address */
    assert_int_equal(m0_net_tm_start(&a->tm, address(A, 1)), 0);
    pass(SIM_MS);
    thread = port_thread_start("stop", stop_it, a);
    pass(SIM_MS);
    assert_int_equal(a->states, 0);
    m0_mutex_unlock(&here->kh_mutex);
    port_thread_join(thread);
    machine_wait(a, M0_NET_TM_STOPPED);
    assert_int_equal(a->states, 1);
    assert_null(a->tm.ntm_ep);
    machine_up(A, 1); /* its address is free */
}

/* ---- the same seed, the same run ------------------------------------------------------------- */

static uint64_t digest;
static void exchange(void)
{
    struct machine *a = machine_up(A, -1), *b = machine_up(B, -1);
    struct m0_net_buffer *from[8], *to = buffer(B, 65536);
    unsigned i;

    digest = 0;
    for (i = 0; i < 8; i++)
        from[i] = buffer(A, 4096);
    assert_int_equal(receive(b, to, 4096, 100), 0);
    for (i = 0; i < 80; i++) {
        if (i % 8 == 0)
            wait_completions(2 * i);
        assert_int_equal(send_to(a, from[i % 8], i + 1, b->started_as), 0);
    }
    wait_completions(160);
    for (i = 0; i < completion_count; i++)
        digest = digest * 31 + (uint64_t)completions[i].at * 7 + completions[i].time +
                 completions[i].offset;
    digest = digest * 31 + stats(b, M0_NET_QT_MSG_RECV).nqs_time_in_queue;
}

static void m0_163_runs_are_equal(void **state)
{
    uint64_t first;

    (void)state;
    rig_run(exchange, &(struct world){.nodes = 3});
    first = digest;
    rig_run(exchange, &(struct world){.nodes = 3});
    assert_true(first == digest && digest != 0);
}

/* Item 57: LNet has no interface but the loopback, or does not run. */
M0_TEST_IN(m0_57_no_network, .not_started = true, .settings = {{"networks", "lo"}})
{
    assert_int_equal(machine_start(machine(A), address(A, 1)), -ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(m0_31_m0_32_shapes),
        cmocka_unit_test(m0_34_deregistering_a_queued_buffer),
        cmocka_unit_test(m0_35_an_unregistered_buffer),
        cmocka_unit_test(m0_35_another_domain),
        cmocka_unit_test(m0_35_not_started),
        cmocka_unit_test(m0_38_m0_39_m0_146_attach_fails),
        cmocka_unit_test(m0_38_m0_39_put_and_get_fail),
        cmocka_unit_test(m0_38_each_code_of_lnet),
        cmocka_unit_test(m0_38_no_memory),
        cmocka_unit_test(m0_38_no_event_slots),
        cmocka_unit_test(m0_72_errors_of_the_driver),
        cmocka_unit_test(m0_41_cancel_while_sending),
        cmocka_unit_test(m0_41_cancel_at_any_time),
        cmocka_unit_test(m0_51_nids),
        cmocka_unit_test(m0_90_m0_91_the_two_events_of_a_get),
        cmocka_unit_test(m0_80_messages_end_out_of_order),
        cmocka_unit_test(m0_82_no_memory_for_the_sender),
        cmocka_unit_test(m0_13_no_memory_for_the_own_end_point),
        cmocka_unit_test(m0_16_stop_during_the_start),
        cmocka_unit_test(m0_163_runs_are_equal),
        cmocka_unit_test(m0_57_no_network),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
