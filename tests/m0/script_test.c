/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What an application does, from begin to end: scripts E2E-1 to E2E-4, E2E-6, E2E-8, E2E-9,
 * E2E-12 and E2E-13 of item 158. The server is on node A.
 */
#include "lib/arith.h"
#include "hosts.h"
#include "pools.h"

enum { MIB = 1 << 20, SERVER = 1, CLIENT = 2 };

static struct m0_net_buffer_pool pool;
static struct machine *server;

static struct machine *with_pool(int tmid, m0_bcount_t min, uint32_t msgs)
{
    struct machine *result = machine(A);

    m0_net_tm_colour_set(&result->tm, 0);
    assert_int_equal(m0_net_tm_pool_attach(&result->tm, &pool, &rig_callbacks, min, msgs, 2), 0);
    assert_int_equal(machine_start(result, address(A, tmid)), 0);
    pass(SIM_MS);
    return result;
}

/* ---- messages -------------------------------------------------------------------------------- */

static unsigned received;
static struct m0_net_buffer *filled;

static void eight_in_a_buffer(const struct m0_net_buffer_event *event)
{
    struct m0_net_buffer *nb = event->nbe_buffer;

    if (nb->nb_qtype != M0_NET_QT_MSG_RECV)
        return;
    assert_int_equal(event->nbe_status, 0);
    assert_int_equal(event->nbe_offset, 2048 * received);
    assert_int_equal(event->nbe_length, 2048);
    assert_string_equal(event->nbe_ep->nep_addr, address(B, CLIENT));
    expect_paint(nb, event->nbe_offset, 2048, received + 1);
    assert_true(filled == NULL || filled == nb);
    filled = nb;
    assert_int_equal(nb->nb_msgs_received, ++received);
    assert_int_equal((nb->nb_flags & M0_NET_BUF_QUEUED) != 0, received < 8);
    if (received < 8) {
        assert_int_equal(pool.nbp_free, 2);
        return;
    }
    assert_int_equal(queued(server), 2); /* it was filled before */
    assert_int_equal(pool.nbp_free, 1);
    put_back(&pool, nb, 0);
    assert_int_equal(pool.nbp_free, 2);
}

static uint32_t free_at_stop;
static void note_stop(struct machine *machine)
{
    if (machine->last == M0_NET_TM_STOPPED)
        free_at_stop = pool.nbp_free;
}

M0_TEST(m0_158_e2e_1_messages_into_buffers_of_a_pool)
{
    struct machine *client;
    struct m0_net_buffer *nb;
    uint32_t dropped;
    unsigned i;

    pool_up(&pool, A, 1, 4, 4);
    server = with_pool(SERVER, 2048, 8);
    assert_int_equal(queued(server), 2);
    assert_int_equal(pool.nbp_free, 2);
    client = machine_up(B, CLIENT);
    nb = buffer(B, 4096);
    received = 0;
    filled = NULL;
    on_completion = eight_in_a_buffer;
    for (i = 0; i < 8; i++) {
        paint(nb, 0, 2048, i + 1);
        assert_int_equal(send_to(client, nb, 2048, address(A, SERVER)), 0);
        wait_completions(2 * i + 2);
    }
    assert_int_equal(received, 8);

    dropped = counters(A).lct_common.lcc_drop_count;
    assert_int_equal(send_to(client, nb, 2049, address(A, SERVER)), 0);
    wait_completions(17);
    pass(SIM_S);
    /* The driver of gni asks the receiver first, and so knows that it takes nothing. */
    assert_int_equal(completion_of(nb, 8)->status, rig_net == GNILND ? -ENOENT : 0);
    assert_int_equal(received, 8);
    assert_int_equal(counters(A).lct_common.lcc_drop_count, dropped + 1);

    free_at_stop = 0;
    server->on_state = note_stop;
    machine_stop(server, true);
    assert_int_equal(received, 8);
    assert_int_equal(free_at_stop, 4);
    machine_free(server);
    pool_down(&pool, A);
}

static void four_and_again(const struct m0_net_buffer_event *event)
{
    struct m0_net_buffer *nb = event->nbe_buffer;

    if (nb->nb_qtype != M0_NET_QT_MSG_RECV || event->nbe_status != 0)
        return;
    assert_int_equal(event->nbe_offset, 2048 * (received % 4));
    received++;
    assert_int_equal((nb->nb_flags & M0_NET_BUF_QUEUED) != 0, received % 4 != 0);
    if (received % 4 == 0)
        assert_int_equal(m0_net_buffer_add(nb, &server->tm), 0);
}

M0_TEST(m0_158_e2e_2_messages_without_a_pool)
{
    struct machine *client = machine_up(B, CLIENT);
    struct m0_net_buffer *nb = buffer(B, 4096), *to = buffer(A, 16384);
    unsigned i;

    server = machine_up(A, SERVER);
    received = 0;
    on_completion = four_and_again;
    assert_int_equal(receive(server, to, 2048, 4), 0);
    for (i = 0; i < 8; i++) {
        assert_int_equal(send_to(client, nb, 2048, address(A, SERVER)), 0);
        wait_completions(2 * i + 2);
    }
    assert_int_equal(received, 8);
    assert_int_equal(stats(server, M0_NET_QT_MSG_RECV).nqs_num_adds, 3);
}

enum { KEPT = 4, MESSAGES = 100 };

/* Four buffers are registered once; the receiver gets each message once, in order. */
M0_TEST(m0_158_e2e_3_messages_from_buffers_that_are_kept)
{
    struct machine *client = machine_up(B, CLIENT);
    struct m0_net_buffer *own[KEPT], *to[2] = {buffer(A, 65536), buffer(A, 65536)};
    struct m0_net_end_point *ep;
    unsigned i, k, expected = 0, sent[KEPT] = {0};

    server = machine_up(A, SERVER);
    for (i = 0; i < 2; i++)
        assert_int_equal(receive(server, to[i], 1000, 50), 0);
    for (i = 0; i < KEPT; i++)
        own[i] = buffer(B, 4096);
    ep = end_point(client, address(A, SERVER));
    for (i = 0; i < MESSAGES; i++) {
        k = i % KEPT;
        while (count_completions(own[k]) < sent[k])
            pass(10 * SIM_US);
        paint(own[k], 0, 900, i);
        own[k]->nb_qtype = M0_NET_QT_MSG_SEND;
        own[k]->nb_length = 900;
        own[k]->nb_ep = ep;
        assert_int_equal(add(client, own[k]), 0);
        sent[k]++;
    }
    wait_completions(2 * MESSAGES);
    pass(SIM_MS);
    assert_int_equal(m0_atomic64_get(&ep->nep_ref.ref_cnt), 1);
    m0_net_end_point_put(ep);
    for (i = 0; i < completion_count; i++) {
        const struct completion *c = &completions[i];

        assert_int_equal(c->status, 0);
        if (c->qtype == M0_NET_QT_MSG_RECV)
            expect_paint(c->nb, c->offset, 900, expected++);
    }
    assert_int_equal(expected, MESSAGES);
}

/* The end of one page, a whole one, the begin of a third: three places in memory, each message. */
M0_TEST(m0_158_e2e_4_messages_from_new_buffers)
{
    static uint8_t header[4096] __attribute__((aligned(4096)));
    static uint8_t payload[4096] __attribute__((aligned(4096)));
    static uint8_t trailer[4096] __attribute__((aligned(4096)));
    struct machine *client = machine_up(B, CLIENT);
    struct m0_net_buffer *to = buffer(A, 65536);
    m0_bcount_t counts[3] = {100, 4096, 300};
    void *starts[3] = {header + 3996, payload, trailer};
    unsigned i;

    server = machine_up(A, SERVER);
    assert_int_equal(receive(server, to, 4496, 10), 0);
    for (i = 0; i < 10; i++) {
        struct m0_net_buffer nb = {.nb_buffer = {{3, counts}, starts},
                                   .nb_callbacks = &rig_callbacks};
        m0_bindex_t offset;

        memset(header, (int)(3 * i + 1), 4096);
        memset(payload, (int)(3 * i + 2), 4096);
        memset(trailer, (int)(3 * i + 3), 4096);
        host(B);
        assert_int_equal(m0_net_buffer_register(&nb, domain(B)), 0);
        assert_int_equal(send_to(client, &nb, 4496, address(A, SERVER)), 0);
        wait_completions(2 * i + 2);
        host(B);
        m0_net_buffer_deregister(&nb, domain(B));
        offset = completion_of(to, i)->offset;
        assert_int_equal(completion_of(to, i)->length, 4496);
        assert_int_equal(*at(to, offset), 3 * i + 1);
        assert_int_equal(*at(to, offset + 99), 3 * i + 1);
        assert_int_equal(*at(to, offset + 100), 3 * i + 2);
        assert_int_equal(*at(to, offset + 4195), 3 * i + 2);
        assert_int_equal(*at(to, offset + 4196), 3 * i + 3);
        assert_int_equal(*at(to, offset + 4495), 3 * i + 3);
    }
}

/* ---- bulk ------------------------------------------------------------------------------------ */

enum { BULKS = 8 };

static void free_descriptor(const struct m0_net_buffer_event *event)
{
    struct m0_net_buffer *nb = event->nbe_buffer;

    if (nb->nb_pool == NULL)
        return;
    m0_net_desc_free(&nb->nb_desc);
    put_back(&pool, nb, 0);
}

M0_TEST(m0_158_e2e_6_bulk_of_a_server)
{
    struct machine *client = machine_up(B, CLIENT);
    struct m0_net_buffer *theirs[BULKS], *mine[BULKS];
    unsigned round, i;

    server = machine_up(A, SERVER);
    pool_up(&pool, A, 1, BULKS, 256);
    for (i = 0; i < BULKS; i++)
        theirs[i] = buffer(B, MIB);
    for (round = 0; round < 2; round++) { /* the server reads, then it writes */
        forget_completions();
        on_completion = free_descriptor;
        below_calls = 0;
        for (i = 0; i < BULKS; i++) {
            paint(theirs[i], 0, MIB, i);
            assert_int_equal(
                passive(client, theirs[i],
                        round == 0 ? M0_NET_QT_PASSIVE_BULK_SEND : M0_NET_QT_PASSIVE_BULK_RECV,
                        MIB),
                0);
        }
        host(A);
        for (i = 0; i < BULKS; i++) {
            assert_non_null(mine[i] = take(&pool, ANY));
            mine[i]->nb_callbacks = &rig_callbacks;
        }
        assert_int_equal(below_calls, 1);
        assert_null(take(&pool, ANY));
        for (i = 0; i < BULKS; i++) {
            paint(mine[i], 0, MIB, 100 + i);
            assert_int_equal(
                active(server, mine[i],
                       round == 0 ? M0_NET_QT_ACTIVE_BULK_RECV : M0_NET_QT_ACTIVE_BULK_SEND, MIB,
                       &theirs[i]->nb_desc),
                0);
        }
        wait_completions(2 * BULKS);
        assert_int_equal(pool.nbp_free, BULKS);
        for (i = 0; i < BULKS; i++) {
            assert_int_equal(completion_of(round == 0 ? mine[i] : theirs[i], 0)->length, MIB);
            expect_paint(round == 0 ? mine[i] : theirs[i], 0, MIB, round == 0 ? i : 100 + i);
        }
    }

    /* The call refuses a descriptor that is damaged or does not fit the operation; no event comes.
     */
    {
        struct m0_net_buffer *nb = buffer(A, 4096);
        struct m0_net_buf_desc desc = {0};

        forget_completions();
        assert_int_equal(passive(client, theirs[0], M0_NET_QT_PASSIVE_BULK_SEND, 5000), 0);
        assert_int_equal(active(server, nb, M0_NET_QT_ACTIVE_BULK_SEND, 10, &theirs[0]->nb_desc),
                         -EPERM);
        assert_int_equal(active(server, nb, M0_NET_QT_ACTIVE_BULK_RECV, 0, &theirs[0]->nb_desc),
                         -EFBIG);
        assert_int_equal(m0_net_desc_copy(&theirs[0]->nb_desc, &desc), 0);
        desc.nbd_data[9] ^= 4;
        assert_int_equal(active(server, nb, M0_NET_QT_ACTIVE_BULK_RECV, 0, &desc), -EINVAL);
        desc.nbd_data[9] ^= 4;
        desc.nbd_len--;
        assert_int_equal(active(server, nb, M0_NET_QT_ACTIVE_BULK_RECV, 0, &desc), -EINVAL);
        desc.nbd_len++;
        m0_net_desc_free(&desc);
        pass(SIM_S);
        assert_int_equal(count_completions(nb), 0);
        assert_int_equal(nb->nb_flags, M0_NET_BUF_REGISTERED);
    }
    pool_down(&pool, A);
}

/* ---- addresses ------------------------------------------------------------------------------- */

static struct machine *any(int expected)
{
    struct machine *result = machine(A);

    assert_null(result->tm.ntm_ep);
    assert_int_equal(machine_start(result, address(A, -1)), 0);
    assert_string_equal(result->started_as, address(A, expected));
    assert_string_equal(result->tm.ntm_ep->nep_addr, address(A, expected));
    return result;
}

/* Eight addresses, so that they come to an end. */
M0_TEST(m0_158_e2e_8_addresses_of_tools)
{
    struct m0_net_domain other = {.nd_xprt = NULL};
    struct machine *first, *second;
    struct m0_net_end_point *ep;

    hosts[A].kh_limits.kl_tmid_min = 4088;
    first = any(4095);
    second = any(4094);
    any(4093);
    any(4092);
    machine_free(second);
    any(4094);
    machine_up(A, 4091);
    any(4090);
    any(4089);
    host(A);
    assert_int_equal(m0_net_domain_init(&other, rig_xprt), 0);
    rig_domain(&other);
    rig_other_domain = &other;
    second = machine(A);
    assert_int_equal(machine_start(second, address(A, 4095)), -EADDRINUSE);
    machine_free(second);
    rig_other_domain = NULL;
    host(A);
    m0_net_domain_fini(&other);
    any(4088);
    assert_int_equal(machine_start(machine(A), address(A, -1)), -EADDRNOTAVAIL);
    assert_int_equal(m0_net_end_point_create(&ep, &first->tm, address(A, -1)), -EINVAL);
}

/* ---- a request handler ----------------------------------------------------------------------- */

enum { LOAD = 1000 };

static struct m0_mutex fom_guard, net_guard;
static struct m0_chan fom_chan, net_chan;
static unsigned foms_ready, foms_run, signals, requests;
static struct port_thread *loop_thread;
static bool delivering;

static bool note_signal(struct m0_clink *clink)
{
    (void)clink;
    signals++;
    return false; /* the group sees it, too */
}

static void in_the_loop(const struct m0_net_buffer_event *event)
{
    if (event->nbe_buffer->nb_qtype != M0_NET_QT_MSG_RECV || event->nbe_status != 0)
        return;
    assert_ptr_equal(port_thread_self(), loop_thread);
    assert_true(delivering);
    received++;
    if ((event->nbe_buffer->nb_flags & M0_NET_BUF_QUEUED) == 0)
        assert_int_equal(m0_net_buffer_add(event->nbe_buffer, &server->tm), 0);
}

static void make_foms_ready(void *argument)
{
    uint64_t state = 5;
    unsigned i;

    (void)argument;
    for (i = 0; i < LOAD; i++) {
        pass(m0_rnd(200, &state) * SIM_US);
        foms_ready++;
        m0_chan_signal_lock(&fom_chan);
    }
}

static void send_load(void *argument)
{
    struct machine *client = argument;
    struct m0_net_buffer *nb = buffer(B, 4096);
    uint64_t state = 6;
    unsigned i;

    for (i = 0; i < LOAD; i++) {
        pass(m0_rnd(200, &state) * SIM_US);
        assert_int_equal(send_to(client, nb, 100, address(A, SERVER)), 0);
        while (count_completions(nb) <= i)
            pass(10 * SIM_US);
    }
}

static void channel_open(struct m0_chan *chan, struct m0_mutex *guard)
{
    m0_mutex_init(guard);
    m0_chan_init(chan, guard);
}

M0_TEST(m0_158_e2e_9_m0_128_the_loop_of_a_request_handler)
{
    struct machine *client = machine_up(B, CLIENT);
    struct m0_net_buffer *to[4];
    struct m0_clink group, net;
    struct port_thread *foms, *load;
    uint64_t switches;
    unsigned i;

    server = machine(A);
    if (server->tm.ntm_bev_auto_deliver)
        assert_int_equal(m0_net_buffer_event_deliver_synchronously(&server->tm), 0);
    rig_synchronous = false; /* this thread is the application */
    assert_int_equal(machine_start(server, address(A, SERVER)), 0);
    for (i = 0; i < 4; i++) {
        to[i] = buffer(A, 65536);
        assert_int_equal(receive(server, to[i], 4096, 10), 0);
    }
    channel_open(&fom_chan, &fom_guard);
    channel_open(&net_chan, &net_guard);
    m0_clink_init(&group, NULL);
    m0_clink_attach(&net, &group, note_signal);
    m0_clink_add_lock(&fom_chan, &group);
    m0_clink_add_lock(&net_chan, &net);
    foms_ready = foms_run = signals = requests = received = 0;
    loop_thread = port_thread_self();
    on_completion = in_the_loop;
    foms = port_thread_start("foms", make_foms_ready, NULL);
    load = port_thread_start("load", send_load, client);
    while (received < LOAD || foms_run < LOAD) {
        host(A);
        while (foms_ready == foms_run && !m0_net_buffer_event_pending(&server->tm)) {
            requests++;
            m0_net_buffer_event_notify(&server->tm, &net_chan);
            m0_chan_wait(&group);
        }
        for (; foms_run < foms_ready; foms_run++) {
            delivering = true; /* an extra call: a signal under way finds nothing */
            m0_net_buffer_event_deliver_all(&server->tm);
            delivering = false;
        }
        delivering = true;
        m0_net_buffer_event_deliver_all(&server->tm);
        delivering = false;
    }
    port_thread_join(foms);
    port_thread_join(load);
    assert_int_equal(received, LOAD);
    assert_int_equal(foms_run, LOAD);
    assert_in_range(signals, 1, requests);

    /* With both channels quiet nothing runs but the ticks of the machines. */
    switches = sim_core.fiber_switches;
    pass(150 * SIM_S);
    if (rig_net != GNILND && !rig_routed) /* whose drivers have ticks, too */
        assert_in_range(sim_core.fiber_switches - switches, 1, 2 * (150 + 150 / 15 + 10) + 10);
    m0_clink_del_lock(&net);
    m0_clink_del_lock(&group);
    m0_clink_fini(&net);
    m0_clink_fini(&group);
    on_completion = NULL;
    machine_stop(server, true); /* the loop has ended, and the end comes anyway */
    m0_chan_fini_lock(&fom_chan);
    m0_chan_fini_lock(&net_chan);
    m0_mutex_fini(&fom_guard);
    m0_mutex_fini(&net_guard);
}

/* ---- too few buffers ------------------------------------------------------------------------- */

static struct m0_net_buffer *withheld[8];
static unsigned withheld_count;
static void withhold(const struct m0_net_buffer_event *event)
{
    if (event->nbe_buffer->nb_pool != NULL)
        withheld[withheld_count++] = event->nbe_buffer;
}

M0_TEST(m0_158_e2e_12_a_pool_that_is_empty)
{
    struct machine *client = machine_up(B, CLIENT), *one, *two;
    struct m0_net_buffer *nb = buffer(B, 4096);
    unsigned i;

    pool_up(&pool, A, 1, 3, 1);
    one = with_pool(10, 4096, 1);
    two = with_pool(11, 4096, 1);
    assert_int_equal(deficit(one) + deficit(two), 1);
    withheld_count = 0;
    on_completion = withhold;
    for (i = 0; i < 3; i++) {
        assert_int_equal(send_to(client, nb, 10, address(A, i < 2 ? 10 : 11)), 0);
        wait_completions(2 * i + 2);
    }
    assert_int_equal(withheld_count, 3);
    assert_int_equal(deficit(one), 2);
    assert_int_equal(deficit(two), 2);
    assert_int_equal(stats(one, M0_NET_QT_MSG_RECV).nqs_num_f_events +
                         stats(two, M0_NET_QT_MSG_RECV).nqs_num_f_events,
                     4);
    not_empty_calls = 0;
    host(A);
    put_back(&pool, withheld[0], 0);
    assert_int_equal(not_empty_calls, 1);
    assert_int_equal(pool.nbp_free, 1);
    pass(SIM_MS);
    assert_int_equal(pool.nbp_free, 0);
    assert_int_equal(deficit(one) + deficit(two), 3);
    put_back(&pool, withheld[1], 0);
    put_back(&pool, withheld[2], 0);
    assert_int_equal(not_empty_calls, 2); /* the second of them found one there */
    pass(SIM_MS);
    assert_int_equal(pool.nbp_free, 0);
    assert_int_equal(deficit(one) + deficit(two), 1);
    m0_net_tm_pool_length_set(&one->tm, 1);
    m0_net_tm_pool_length_set(&two->tm, 1);
    assert_int_equal(pool.nbp_free, 0); /* no buffer leaves its queue */
    on_completion = NULL;
    machine_free(one);
    machine_free(two);
    pool_down(&pool, A);
}

/* ---- time ------------------------------------------------------------------------------------ */

M0_TEST(m0_158_e2e_13_timeouts)
{
    struct machine *client;
    struct m0_net_buffer *nb[3] = {buffer(B, 4096), buffer(B, 4096), buffer(B, 4096)};
    struct m0_net_buffer *theirs = buffer(A, 4096);
    sim_time_t begin;
    unsigned i;

    server = machine_up(A, SERVER);
    host(B);
    m0_net_lnet_dom_set_timeout_tick(domain(B), M0_TIME_ONE_SECOND);
    client = machine_up(B, CLIENT);
    assert_int_equal(passive(server, theirs, M0_NET_QT_PASSIVE_BULK_SEND, 100), 0);
    assert_true(m0_net_buffer_del(theirs, &server->tm));
    wait_completions(1); /* its descriptor is stale now */
    begin = sim_local_time();
    for (i = 0; i < 3; i++)
        nb[i]->nb_timeout = m0_time_from_now(1, 0);
    assert_int_equal(receive(client, nb[0], 4096, 1), 0);
    assert_int_equal(passive(client, nb[1], M0_NET_QT_PASSIVE_BULK_RECV, 0), 0);
    assert_int_equal(active(client, nb[2], M0_NET_QT_ACTIVE_BULK_RECV, 0, &theirs->nb_desc), 0);
    wait_completions(4);
    for (i = 0; i < 3; i++) {
        assert_int_equal(completion_of(nb[i], 0)->status, -ETIMEDOUT);
        assert_true(completion_of(nb[i], 0)->never);
        assert_in_range(completion_of(nb[i], 0)->at - begin, SIM_S, 3 * SIM_S);
    }
    assert_int_equal(receive(client, nb[0], 4096, 1), 0);
    assert_true(m0_net_buffer_del(nb[0], &client->tm));
    m0_net_buffer_del(nb[0], &client->tm);
    wait_completions(5);
    pass(SIM_S);
    assert_int_equal(count_completions(nb[0]), 2);
    assert_int_equal(completion_of(nb[0], 1)->status, -ECANCELED);
    nb[0]->nb_timeout = m0_time_now() - 1;
    assert_int_equal(receive(client, nb[0], 4096, 1), -ETIME);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(m0_158_e2e_1_messages_into_buffers_of_a_pool),
        cmocka_unit_test(m0_158_e2e_2_messages_without_a_pool),
        cmocka_unit_test(m0_158_e2e_3_messages_from_buffers_that_are_kept),
        cmocka_unit_test(m0_158_e2e_4_messages_from_new_buffers),
        cmocka_unit_test(m0_158_e2e_6_bulk_of_a_server),
        cmocka_unit_test(m0_158_e2e_8_addresses_of_tools),
        cmocka_unit_test(m0_158_e2e_9_m0_128_the_loop_of_a_request_handler),
        cmocka_unit_test(m0_158_e2e_12_a_pool_that_is_empty),
        cmocka_unit_test(m0_158_e2e_13_timeouts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
