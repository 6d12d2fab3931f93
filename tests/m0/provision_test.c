/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Receive queues that are filled from pools. Every transport runs these. */
#include "lib/arith.h"
#include "lib/finject.h"
#include "pools.h"

static struct m0_net_buffer_pool pool, second;

/* ---- machines and pools ---------------------------------------------------------------------- */

M0_TEST(m0_100_attach)
{
    struct machine *a;

    pool_up(&pool, A, 1, 4, 1);
    pool_up(&second, B, 1, 4, 1);
    a = machine(A);
    assert_int_equal(m0_net_tm_pool_attach(&a->tm, &second, &rig_callbacks, 1000, 1, 0), -EINVAL);
    pool_down(&second, B);
    pool_up(&second, A, 1, 4, 1);
    assert_int_equal(m0_net_tm_pool_attach(&a->tm, &second, &rig_callbacks, 1000, 1, 0), 0);
    assert_int_equal(m0_net_tm_pool_attach(&a->tm, &pool, &rig_callbacks, 1000, 1, 3), 0);
    assert_int_equal(machine_start(a, address(A, 1)), 0);
    pass(SIM_MS);
    assert_int_equal(second.nbp_free, 4);
    assert_int_equal(pool.nbp_free, 1);
    machine_free(a);
    pool_down(&pool, A);
    pool_down(&second, A);
}
M0_TEST_IN(m0_100_attach_after_start, .unbalanced = true)
{
    struct machine *a;

    pool_up(&pool, A, 1, 4, 1);
    a = machine_up(A, 1);
    VIOLATES(m0_net_tm_pool_attach(&a->tm, &pool, &rig_callbacks, 1000, 1, 0));
}

static void send_some(struct machine *from, struct m0_net_buffer *nb, int tmid, unsigned count)
{
    unsigned i, before;

    for (i = 0; i < count; i++) {
        before = completion_count;
        assert_int_equal(send_to(from, nb, 50 + i, address(B, tmid)), 0);
        wait_completions(before + 2);
    }
}

static void received_from(const struct m0_net_buffer_pool *expected, unsigned count)
{
    unsigned i, received = 0;

    for (i = 0; i < completion_count; i++)
        if (completions[i].qtype == M0_NET_QT_MSG_RECV) {
            assert_ptr_equal(completions[i].nb->nb_pool, expected);
            received++;
        }
    assert_int_equal(received, count);
    forget_completions();
}

M0_TEST(m0_101_two_machines_share_a_pool)
{
    struct machine *from = machine_up(A, 1), *one, *two;
    struct m0_net_buffer *nb = buffer(A, 4096);

    pool_up(&pool, B, 1, 8, 1);
    one = pooled(B, 1, &pool);
    two = pooled(B, 2, &pool);
    assert_int_equal(pool.nbp_free, 4);
    on_completion = give_back;
    send_some(from, nb, 1, 20);
    send_some(from, nb, 2, 20);
    received_from(&pool, 40);
    assert_int_equal(pool.nbp_free, 4);
    machine_free(one);
    machine_free(two);
    pool_down(&pool, B);
}
M0_TEST(m0_101_two_pools_do_not_mix)
{
    struct machine *from = machine_up(A, 1), *one, *two;
    struct m0_net_buffer *nb = buffer(A, 4096);

    pool_up(&pool, B, 1, 4, 1);
    pool_up(&second, B, 1, 4, 1);
    one = pooled(B, 1, &pool);
    two = pooled(B, 2, &second);
    on_completion = give_back;
    send_some(from, nb, 1, 20);
    received_from(&pool, 20);
    send_some(from, nb, 2, 20);
    received_from(&second, 20);
    machine_free(one);
    machine_free(two);
    pool_down(&pool, B);
    pool_down(&second, B);
}

static size_t at_state, at_broadcast;
static struct machine *watched;
static void note_state(struct machine *machine)
{
    at_state = queued(machine);
}
static bool note_broadcast(struct m0_clink *clink)
{
    (void)clink;
    at_broadcast = queued(watched);
    return true;
}

M0_TEST(m0_102_filled_between_event_and_broadcast)
{
    struct m0_clink clink;

    pool_up(&pool, A, 1, 8, 1);
    watched = attached(A, &pool, 1);
    watched->on_state = note_state;
    at_state = at_broadcast = 99;
    m0_clink_init(&clink, note_broadcast);
    m0_clink_add_lock(&watched->tm.ntm_chan, &clink);
    assert_int_equal(machine_start(watched, address(A, 1)), 0);
    pass(SIM_MS);
    assert_int_equal(at_state, 0);
    assert_int_equal(at_broadcast, 2);
    m0_clink_del_lock(&clink);
    m0_clink_fini(&clink);
    machine_free(watched);
    pool_down(&pool, A);

    pool_up(&pool, A, 1, 1, 1); /* fewer than the length */
    watched = pooled(A, 1, &pool);
    assert_int_equal(queued(watched), 1);
    machine_free(watched);
    pool_down(&pool, A);
}

M0_TEST(m0_103_fields_of_provisioned_buffers)
{
    struct m0_net_buffer *nb;
    struct machine *a;
    unsigned count = 0;

    pool_up(&pool, A, 1, 8, 1);
    a = attached(A, &pool, 3);
    assert_int_equal(machine_start(a, address(A, 1)), 0);
    pass(SIM_MS);
    m0_tl_for(m0_net_tm, &a->tm.ntm_q[M0_NET_QT_MSG_RECV], nb)
    {
        count++;
        assert_ptr_equal(nb->nb_callbacks, &rig_callbacks);
        assert_int_equal(nb->nb_qtype, M0_NET_QT_MSG_RECV);
        assert_int_equal(nb->nb_min_receive_size, 1000);
        assert_int_equal(nb->nb_max_receive_msgs, 3);
        assert_ptr_equal(nb->nb_pool, &pool);
        assert_null(nb->nb_ep);
        assert_true(nb->nb_timeout == M0_TIME_NEVER);
    }
    m0_tl_endfor;
    assert_int_equal(count, 2);
    machine_free(a);
    pool_down(&pool, A);
}

/* ---- when ------------------------------------------------------------------------------------ */

static size_t lengths[32];
static unsigned lengths_seen;
static void note_length(const struct m0_net_buffer_event *event)
{
    if (event->nbe_buffer->nb_pool == NULL)
        return;
    lengths[lengths_seen++] = queued(watched);
    give_back(event);
}

M0_TEST(m0_104_filled_before_the_callback)
{
    struct machine *from = machine_up(A, 1);
    struct m0_net_buffer *nb = buffer(A, 4096);
    unsigned i;

    pool_up(&pool, B, 1, 8, 1);
    watched = pooled(B, 1, &pool);
    lengths_seen = 0;
    on_completion = note_length;
    send_some(from, nb, 1, 10);
    assert_int_equal(lengths_seen, 10);
    for (i = 0; i < 10; i++)
        assert_int_equal(lengths[i], 2);
    machine_free(watched);
    pool_down(&pool, B);
}

/* The queue may be longer than it is, but it is filled by the last of four messages only. */
M0_TEST(m0_105_retained_events_fill_nothing)
{
    struct machine *from = machine_up(A, 1);
    struct m0_net_buffer *nb = buffer(A, 4096);

    pool_up(&pool, B, 1, 8, 1);
    watched = attached(B, &pool, 4);
    m0_net_tm_pool_length_set(&watched->tm, 1);
    assert_int_equal(machine_start(watched, address(B, 1)), 0);
    pass(SIM_MS);
    watched->tm.ntm_recv_queue_min_length = 5;
    lengths_seen = 0;
    on_completion = note_length;
    send_some(from, nb, 1, 4);
    assert_int_equal(lengths_seen, 4);
    assert_int_equal(lengths[0], 1);
    assert_int_equal(lengths[1], 1);
    assert_int_equal(lengths[2], 1);
    assert_int_equal(lengths[3], 5);
    machine_free(watched);
    pool_down(&pool, B);
}

M0_TEST(m0_106_an_empty_pool)
{
    struct m0_net_buffer *kept;
    struct machine *a;

    pool_up(&pool, A, 1, 4, 1);
    kept = take(&pool, ANY);
    a = pooled(A, 1, &pool);
    assert_int_equal(deficit(a), 0);
    m0_net_tm_pool_length_set(&a->tm, 5);
    assert_int_equal(pool.nbp_free, 0);
    assert_int_equal(deficit(a), 2);
    assert_int_equal(failures(a), 2);
    m0_net_tm_pool_length_set(&a->tm, 6);
    assert_int_equal(deficit(a), 3);
    assert_int_equal(failures(a), 3);
    m0_net_tm_pool_length_set(&a->tm, 5);
    assert_int_equal(deficit(a), 2);
    m0_net_tm_pool_length_set(&a->tm, 6);
    assert_int_equal(deficit(a), 3);
    assert_int_equal(failures(a), 4); /* it grew by one again */
    put_back(&pool, kept, ANY);
    pass(SIM_MS);
    assert_int_equal(deficit(a), 2);
    assert_int_equal(failures(a), 4);
    machine_free(a);
    pool_down(&pool, A);
}

/* The machine is locked while a buffer comes back: put neither waits for it nor fills its queue.
 * A thread of the domain does, the same one for both machines. */
M0_TEST(m0_107_m0_114_put_takes_no_lock_of_a_machine)
{
    struct port_thread *provisioner;
    struct m0_net_buffer *kept, *other;
    struct machine *a, *b;

    pool_up(&pool, A, 1, 3, 1);
    kept = take(&pool, ANY);
    other = take(&pool, ANY);
    a = pooled(A, 1, &pool);
    assert_int_equal(deficit(a), 1);
    below_thread = NULL;
    assert_null(take(&pool, ANY)); /* at once */
    m0_mutex_lock(&a->tm.ntm_mutex);
    m0_mutex_lock(&a->tm.ntm_dom->nd_mutex);
    put_back(&pool, kept, ANY);
    assert_int_equal(pool.nbp_free, 1);
    pass(SIM_S);
    m0_mutex_unlock(&a->tm.ntm_dom->nd_mutex);
    m0_mutex_unlock(&a->tm.ntm_mutex);
    pass(SIM_MS);
    assert_int_equal(deficit(a), 0);
    assert_int_equal(pool.nbp_free, 0);
    provisioner = below_thread;
    assert_non_null(provisioner);
    assert_ptr_not_equal(provisioner, port_thread_self());

    b = pooled(A, 2, &pool);
    assert_int_equal(deficit(b), 2);
    below_thread = NULL;
    put_back(&pool, other, ANY);
    pass(SIM_MS);
    assert_int_equal(deficit(b), 1);
    assert_ptr_equal(below_thread, provisioner);
    machine_free(a);
    machine_free(b);
    pool_down(&pool, A);
}

/* One that misses nothing is locked all the time; the other one is filled. */
M0_TEST(m0_108_machines_without_deficit_are_not_locked)
{
    struct machine *full, *missing;
    struct m0_net_buffer *kept;

    pool_up(&pool, A, 1, 4, 1);
    full = pooled(A, 1, &pool);
    kept = take(&pool, ANY);
    missing = pooled(A, 2, &pool);
    assert_int_equal(deficit(full), 0);
    assert_int_equal(deficit(missing), 1);
    m0_mutex_lock(&full->tm.ntm_mutex);
    put_back(&pool, kept, ANY);
    pass(SIM_MS);
    assert_int_equal(deficit(missing), 0);
    m0_mutex_unlock(&full->tm.ntm_mutex);
    machine_free(full);
    machine_free(missing);
    pool_down(&pool, A);
}

enum { SHARERS = 3, THREADS = 4, STEPS = 100 };
static struct machine *sharers[SHARERS];

static void use_at_random(void *argument)
{
    uint64_t state = (uintptr_t)argument;
    struct m0_net_buffer *held[2] = {NULL, NULL};
    unsigned i, k;

    for (i = 0; i < STEPS; i++) {
        uint64_t dice = m0_rnd64(&state);

        k = dice >> 60 & 1;
        if ((dice >> 50 & 3) == 0) {
            m0_net_tm_pool_length_set(&sharers[(dice >> 40) % SHARERS]->tm, 1 + (dice >> 30) % 5);
        } else if (held[k] == NULL) {
            held[k] = take(&pool, (uint32_t)((dice >> 20) % COLOURS));
        } else {
            put_back(&pool, held[k], (uint32_t)((dice >> 20) % COLOURS));
            held[k] = NULL;
        }
        pass((dice >> 10 & 7) * SIM_US);
    }
    for (k = 0; k < 2; k++)
        if (held[k] != NULL)
            put_back(&pool, held[k], ANY);
}

M0_TEST(m0_109_nobody_starves)
{
    struct port_thread *threads[THREADS];
    unsigned round, i;

    pool_up(&pool, A, 1, 10, 1);
    for (i = 0; i < SHARERS; i++)
        sharers[i] = pooled(A, (int)i + 1, &pool);
    for (round = 0; round < 50; round++) {
        for (i = 0; i < THREADS; i++)
            threads[i] = port_thread_start("user", use_at_random,
                                           (void *)(uintptr_t)(round * THREADS + i + 1));
        for (i = 0; i < THREADS; i++)
            port_thread_join(threads[i]);
        pass(SIM_MS);
        for (i = 0; i < SHARERS; i++)
            assert_true(deficit(sharers[i]) == 0 || pool.nbp_free == 0);
    }
    for (i = 0; i < SHARERS; i++)
        machine_free(sharers[i]);
    pool_down(&pool, A);
}

M0_TEST(m0_110_the_length_changes)
{
    struct machine *from = machine_up(B, 1);
    struct m0_net_buffer *nb = buffer(B, 4096);
    unsigned i;

    pool_up(&pool, A, 1, 8, 1);
    watched = pooled(A, 1, &pool);
    m0_net_tm_pool_length_set(&watched->tm, 5);
    assert_int_equal(queued(watched), 5); /* at once */
    m0_net_tm_pool_length_set(&watched->tm, 1);
    assert_int_equal(queued(watched), 5);
    lengths_seen = 0;
    on_completion = note_length;
    for (i = 0; i < 6; i++) {
        unsigned before = completion_count;

        assert_int_equal(send_to(from, nb, 10, address(A, 1)), 0);
        wait_completions(before + 2);
        assert_int_equal(queued(watched), i < 4 ? 4 - i : 1);
    }
    machine_free(watched);
    pool_down(&pool, A);
}
M0_TEST_IN(m0_110_no_length_of_zero, .unbalanced = true)
{
    struct machine *a;

    pool_up(&pool, A, 1, 4, 1);
    a = pooled(A, 1, &pool);
    VIOLATES(m0_net_tm_pool_length_set(&a->tm, 0));
}

/* ---- stop ------------------------------------------------------------------------------------ */

static uint32_t free_at_stop;
static int64_t deficit_at_stop;
static void note_stop(struct machine *machine)
{
    free_at_stop = pool.nbp_free;
    deficit_at_stop = deficit(machine);
}

static void stop_brings_all_back(bool abort)
{
    struct machine *a;

    pool_up(&pool, A, 1, 4, 1);
    a = pooled(A, 1, &pool);
    m0_net_tm_pool_length_set(&a->tm, 7);
    assert_int_equal(deficit(a), 3);
    a->on_state = note_stop;
    machine_stop(a, abort);
    assert_int_equal(free_at_stop, 4);
    assert_int_equal(deficit_at_stop, 0);
    assert_int_equal(completion_count, 0);
    machine_free(a);
    pool_down(&pool, A);
}
M0_TEST(m0_111_abort_brings_all_back)
{
    stop_brings_all_back(true);
}
M0_TEST(m0_111_stop_brings_all_back)
{
    stop_brings_all_back(false);
}
static bool slow;
static void slowly_once(const struct m0_net_buffer_event *event)
{
    if (slow && event->nbe_buffer->nb_qtype == M0_NET_QT_MSG_RECV)
        pass(5 * SIM_MS);
    slow = slow && event->nbe_buffer->nb_qtype != M0_NET_QT_MSG_RECV;
    give_back(event);
}

M0_TEST(m0_111_a_last_message_while_stopping)
{
    struct machine *a, *b = machine_up(B, 2);
    unsigned i;

    pool_up(&pool, A, 1, 4, 1);
    a = pooled(A, 1, &pool);
    a->on_state = note_stop;
    slow = true;
    on_completion = slowly_once;
    for (i = 0; i < 2; i++)
        assert_int_equal(send_to(b, buffer(B, 4096), 100, address(A, 1)), 0);
    pass(2 * SIM_MS);
    assert_int_equal(completion_count, 3); /* the first of two callbacks is running */
    host(A);
    machine_stop(a, false);
    for (i = 0; i < completion_count; i++)
        assert_int_equal(completions[i].status, 0);
    received_from(&pool, 2);
    assert_true(free_at_stop == 4 && deficit_at_stop == 0);
    machine_free(a);
    pool_down(&pool, A);
}
M0_TEST(m0_111_a_failed_start_takes_nothing)
{
    struct machine *a;

    pool_up(&pool, A, 1, 4, 1);
    machine_up(A, 1);
    a = attached(A, &pool, 1);
    a->on_state = note_stop;
    assert_int_equal(machine_start(a, address(A, 1)), -EADDRINUSE);
    assert_int_equal(a->last, M0_NET_TM_FAILED);
    assert_int_equal(free_at_stop, 4);
    assert_int_equal(deficit_at_stop, 0);
    machine_free(a);
    pool_down(&pool, A);
}

M0_TEST(m0_112_filled_while_started_only)
{
    struct m0_net_buffer *waiting = buffer(A, 4096), *kept;
    struct machine *a;

    pool_up(&pool, A, 1, 4, 1);
    a = attached(A, &pool, 1);
    m0_net_tm_pool_length_set(&a->tm, 3);
    assert_int_equal(pool.nbp_free, 4); /* INITIALIZED */
    kept = take(&pool, ANY);
    assert_int_equal(m0_net_tm_start(&a->tm, address(A, 1)), 0);
    assert_int_equal(a->tm.ntm_state, M0_NET_TM_STARTING);
    m0_net_tm_pool_length_set(&a->tm, 2);
    put_back(&pool, kept, ANY);
    assert_int_equal(pool.nbp_free, 4);
    machine_wait(a, M0_NET_TM_STARTED);
    pass(SIM_MS);
    assert_int_equal(pool.nbp_free, 2);

    assert_int_equal(passive(a, waiting, M0_NET_QT_PASSIVE_BULK_RECV, 0), 0);
    assert_int_equal(m0_net_tm_stop(&a->tm, false), 0);
    pass(SIM_S);
    assert_int_equal(a->tm.ntm_state, M0_NET_TM_STOPPING);
    assert_int_equal(pool.nbp_free, 4);
    kept = take(&pool, ANY);
    put_back(&pool, kept, ANY);
    pass(SIM_S);
    assert_int_equal(pool.nbp_free, 4);
    assert_true(m0_net_buffer_del(waiting, &a->tm));
    machine_wait(a, M0_NET_TM_STOPPED);
    machine_free(a);
    pool_down(&pool, A);
}

M0_TEST(m0_113_buffers_by_hand_beside)
{
    struct machine *from = machine_up(A, 1), *to;
    struct m0_net_buffer *nb = buffer(A, 4096), *own[2] = {buffer(B, 4096), buffer(B, 4096)};
    unsigned i, from_pool = 0;

    pool_up(&pool, B, 1, 8, 1);
    to = pooled(B, 1, &pool);
    for (i = 0; i < 2; i++)
        assert_int_equal(receive(to, own[i], 4096, 1), 0);
    assert_int_equal(queued(to), 4);
    on_completion = give_back;
    send_some(from, nb, 1, 20);
    for (i = 0; i < completion_count; i++)
        from_pool += completions[i].nb->nb_pool == &pool;
    assert_int_equal(from_pool + count_completions(own[0]) + count_completions(own[1]), 20);
    assert_int_equal(count_completions(own[0]), 1);
    assert_int_equal(count_completions(own[1]), 1);
    assert_int_equal(receive(to, own[0], 4096, 1), 0);
    forget_completions();
    machine_stop(to, true);
    assert_int_equal(completion_count, 1);
    assert_int_equal(completion_of(own[0], 0)->status, -ECANCELED);
    machine_free(to);
    pool_down(&pool, B);
}

static void let_adds_fail(struct machine *machine)
{
    (void)machine;
    m0_fi_enable("nlx_core_new_blessed_bevs", "fail");
}

/* A buffer that cannot be added stays in the pool, and is tried again without any event. */
M0_TEST(m0_117_provisioning_tries_again)
{
    struct machine *a;

    pool_up(&pool, A, 1, 4, 1);
    a = attached(A, &pool, 1);
    a->on_state = let_adds_fail;
    assert_int_equal(machine_start(a, address(A, 1)), 0);
    pass(SIM_MS);
    assert_int_equal(deficit(a), 1); /* one could still be added */
    assert_int_equal(pool.nbp_free, 3);
    pass(10 * SIM_S);
    assert_int_equal(deficit(a), 1);
    m0_fi_disable("nlx_core_new_blessed_bevs", "fail");
    a->on_state = NULL;
    pass(2 * SIM_S);
    assert_int_equal(deficit(a), 0);
    assert_int_equal(pool.nbp_free, 2);
    machine_free(a);
    pool_down(&pool, A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(m0_100_attach),
        cmocka_unit_test(m0_100_attach_after_start),
        cmocka_unit_test(m0_101_two_machines_share_a_pool),
        cmocka_unit_test(m0_101_two_pools_do_not_mix),
        cmocka_unit_test(m0_102_filled_between_event_and_broadcast),
        cmocka_unit_test(m0_103_fields_of_provisioned_buffers),
        cmocka_unit_test(m0_104_filled_before_the_callback),
        cmocka_unit_test(m0_106_an_empty_pool),
        cmocka_unit_test(m0_107_m0_114_put_takes_no_lock_of_a_machine),
        cmocka_unit_test(m0_108_machines_without_deficit_are_not_locked),
        cmocka_unit_test(m0_109_nobody_starves),
        cmocka_unit_test(m0_110_the_length_changes),
        cmocka_unit_test(m0_110_no_length_of_zero),
        cmocka_unit_test(m0_111_abort_brings_all_back),
        cmocka_unit_test(m0_111_stop_brings_all_back),
        cmocka_unit_test(m0_111_a_last_message_while_stopping),
        cmocka_unit_test(m0_111_a_failed_start_takes_nothing),
        cmocka_unit_test(m0_112_filled_while_started_only),
        cmocka_unit_test(m0_113_buffers_by_hand_beside),
        cmocka_unit_test(m0_105_retained_events_fill_nothing),
        cmocka_unit_test(m0_117_provisioning_tries_again),
    };
    size_t count = ARRAY_SIZE(tests);

    if (rig_flavour == RIG_MEMORY)
        count -= 2; /* a buffer takes one message there, and adding does not fail */
    return _cmocka_run_group_tests("tests", tests, count, NULL, NULL);
}
