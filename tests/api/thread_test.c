/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Several threads of one process: checklist items 17, 46, 47, 54 and 104. A thread is a fiber.
 * Other threads run only while it is inside a call, where the library must keep its state
 * consistent.
 */
#include "fixture.h"

#include <string.h>
#include "nic/interface.h"

#define THREADS 6
#define POSTS 200
#define BYTES 4096u

static uint8_t memory[2][THREADS][BYTES] __attribute__((aligned(4096)));

struct thread {
    struct rank *rank;
    struct domain *domain;
    struct sim_fiber *fiber;
    gni_cq_handle_t cq;
    gni_ep_handle_t ep;
    gni_return_t result;
    uint32_t index, which, count;
    uint64_t id;
    sim_time_t at;
    bool ended;
};

static struct sim_fiber *spawn(struct rank *rank, void (*main)(void *argument), void *argument)
{
    struct sim_fiber *fiber = sim_fiber_start(main, argument, "thread", sim_clock_read());

    aries_process_bind(rank->process, fiber);
    return fiber;
}

static void start(struct thread *thread, struct rank *rank, struct domain *domain,
                  void (*main)(void *argument))
{
    thread->rank = rank;
    thread->domain = domain;
    thread->ended = false;
    thread->fiber = spawn(rank, main, thread);
}

static void end(struct thread *thread)
{
    sim_settle();
    thread->at = sim_now();
    thread->ended = true;
    aries_process_unbind(thread->rank->process, thread->fiber);
}

static void sleep_for(sim_time_t time)
{
    sim_sleep_until(sim_clock_read() + time);
}

static void monitor(void *argument)
{
    struct thread *thread = argument;

    thread->result = GNI_CqVectorMonitor(&thread->cq, 1, (uint64_t)-1, &thread->which);
    end(thread);
}

static void wait_event(void *argument)
{
    struct thread *thread = argument;
    gni_cq_entry_t event;

    thread->result = GNI_CqWaitEvent(thread->cq, (uint64_t)-1, &event);
    end(thread);
}

static void vector_wait(void *argument)
{
    struct thread *thread = argument;
    gni_cq_entry_t event;

    thread->result = GNI_CqVectorWaitEvent(&thread->cq, 1, (uint64_t)-1, &event, &thread->which);
    end(thread);
}

static void probe_wait(void *argument)
{
    struct thread *thread = argument;

    thread->result = GNI_PostdataProbeWaitById(thread->domain->nic, UINT32_MAX, &thread->id);
    end(thread);
}

/* An event in a queue, by a CQ write of the process to itself. */
static void ring(struct domain *domain, gni_ep_handle_t self, gni_mem_handle_t region)
{
    gni_post_descriptor_t descr = {
        .type = GNI_POST_CQWRITE, .cq_mode = GNI_CQMODE_GLOBAL_EVENT, .remote_mem_hndl = region};

    assert_ok(post(self, &descr));
    complete(domain->source, &descr);
}

/* ---- signals and cancellation ---------------------------------------------------------------- */

static void signals_main(struct rank *rank)
{
    static void (*const waits[])(void *) = {monitor, wait_event, vector_wait};
    static const gni_return_t expected[] = {GNI_RC_INVALID_STATE, GNI_RC_NOT_DONE, GNI_RC_NOT_DONE};
    struct thread thread = {0}, second = {0};
    struct domain domain;
    gni_mem_handle_t region;
    gni_ep_handle_t self;
    gni_cq_entry_t event;
    unsigned i;

    domain_open(rank, &domain, 0);
    assert_ok(GNI_CqCreate(domain.nic, 8, 0, GNI_CQ_BLOCKING, NULL, NULL, &thread.cq));
    second.cq = thread.cq;
    region = domain_register(&domain, memory[0], BYTES, thread.cq, 0);
    self = domain_connect(rank, &domain, 0);
    for (i = 0; i < 3; i++) {
        start(&thread, rank, &domain, waits[i]);
        sleep_for(SIM_MS);
        assert_false(thread.ended);
        aries_process_interrupt(rank->process, thread.fiber);
        assert_true(machine_soon(&thread.ended));
        assert_rc(thread.result, expected[i]);
        /* An entry that is there wins over a signal. */
        ring(&domain, self, region);
        start(&thread, rank, &domain, waits[i]);
        aries_process_interrupt(rank->process, thread.fiber);
        assert_true(machine_soon(&thread.ended));
        assert_ok(thread.result);
        if (i == 0)
            assert_ok(GNI_CqGetEvent(thread.cq, &event)); /* a monitor takes nothing */
        assert_rc(GNI_CqGetEvent(thread.cq, &event), GNI_RC_NOT_DONE);
    }
    /* A signal is for one thread. */
    start(&thread, rank, &domain, monitor);
    start(&second, rank, &domain, monitor);
    sleep_for(SIM_MS);
    aries_process_interrupt(rank->process, second.fiber);
    assert_true(machine_soon(&second.ended));
    assert_false(thread.ended);
    /* All that monitor a queue wake. */
    start(&second, rank, &domain, monitor);
    sleep_for(SIM_MS);
    ring(&domain, self, region);
    assert_true(machine_soon(&thread.ended));
    assert_ok(thread.result);
    assert_true(machine_soon(&second.ended));
    assert_ok(second.result);
    domain_close(&domain);
}

static void ugni_46_signals_end_waits(void **state)
{
    machine_run(&(struct machine){.ranks = 1, .main = signals_main});
}

static void cancel_main(struct rank *rank)
{
    static void (*const waits[])(void *) = {monitor, wait_event, vector_wait};
    struct thread thread = {0};
    struct domain domain;
    gni_mem_handle_t region;
    gni_ep_handle_t self;
    gni_cq_entry_t event;
    unsigned i;

    domain_open(rank, &domain, 0);
    self = domain_connect(rank, &domain, 0);
    for (i = 0; i < 3; i++) {
        assert_ok(GNI_CqCreate(domain.nic, 8, 0, GNI_CQ_BLOCKING, NULL, NULL, &thread.cq));
        region = domain_register(&domain, memory[0], BYTES, thread.cq, 0);
        start(&thread, rank, &domain, waits[i]);
        sleep_for(SIM_MS);
        aries_process_unbind(rank->process, thread.fiber); /* pthread_cancel */
        sim_fiber_kill(thread.fiber);
        ring(&domain, self, region);
        assert_false(thread.ended);
        assert_ok(GNI_CqWaitEvent(thread.cq, (uint64_t)-1, &event));
        start(&thread, rank, &domain, waits[i]); /* its successor */
        sleep_for(SIM_MS);
        ring(&domain, self, region);
        assert_true(machine_soon(&thread.ended));
        assert_ok(thread.result);
        assert_ok(GNI_MemDeregister(domain.nic, &region));
        assert_ok(GNI_CqDestroy(thread.cq));
    }
    domain_close(&domain);
}

static void ugni_47_cancelled_threads_leave_nothing_locked(void **state)
{
    machine_run(&(struct machine){.ranks = 1, .main = cancel_main});
}

static void data_wait(void *argument)
{
    struct thread *thread = argument;
    gni_post_state_t state;
    uint32_t pe, id;

    thread->result = GNI_EpPostDataWait(thread->ep, UINT32_MAX, &state, &pe, &id);
    end(thread);
}

static void datagram_signals_main(struct rank *rank)
{
    static void (*const waits[])(void *) = {probe_wait, data_wait};
    struct thread thread = {0};
    struct domain domain;
    unsigned i;

    domain_open(rank, &domain, 0);
    thread.ep = domain_connect(rank, &domain, 1);
    assert_ok(GNI_EpPostData(thread.ep, NULL, 0, NULL, 0)); /* rank 1 never answers */
    for (i = 0; i < 2; i++) {
        start(&thread, rank, &domain, waits[i]);
        sleep_for(SIM_MS);
        assert_false(thread.ended);
        aries_process_interrupt(rank->process, thread.fiber);
        assert_true(machine_soon(&thread.ended));
        assert_rc(thread.result, GNI_RC_TIMEOUT);
    }
    domain_close(&domain);
}

static void cancel_datagram_main(struct rank *rank)
{
    static void (*const waits[])(void *) = {probe_wait, data_wait};
    struct thread thread = {0};
    struct domain domain;
    unsigned i;

    for (i = 0; i < 2; i++) {
        domain_open(rank, &domain, 0);
        thread.ep = domain_connect(rank, &domain, 1);
        assert_ok(GNI_EpPostData(thread.ep, NULL, 0, NULL, 0)); /* rank 1 never answers */
        start(&thread, rank, &domain, waits[i]);
        sleep_for(SIM_MS);
        aries_process_unbind(rank->process, thread.fiber);
        sim_fiber_kill(thread.fiber);
        assert_false(thread.ended);
        domain_close(&domain);
        if (rank->machine->fabric != NULL) /* a live fabric shows no process */
            assert_true(aries_list_empty(&rank->machine->fabric->datagrams));
    }
    /* A thread that is not cancelled gets an error when its domain is destroyed and made again. */
    domain_open(rank, &domain, 0);
    start(&thread, rank, &domain, probe_wait);
    sleep_for(SIM_MS);
    domain_close(&domain);
    domain_open(rank, &domain, 0);
    assert_true(machine_soon(&thread.ended));
    assert_rc(thread.result, GNI_RC_INVALID_PARAM);
    domain_close(&domain);
}

static void idle_peer_main(struct rank *rank)
{
    if (rank->id == 0)
        ((void (*)(struct rank * rank)) rank->machine->argument)(rank);
}

static void ugni_102_signals_end_datagram_waits(void **state)
{
    machine_run(
        &(struct machine){.main = idle_peer_main, .argument = (void *)datagram_signals_main});
}

static void ugni_104_cancelled_threads_hold_no_datagrams(void **state)
{
    machine_run(
        &(struct machine){.main = idle_peer_main, .argument = (void *)cancel_datagram_main});
}

/* ---- posting --------------------------------------------------------------------------------- */

static void poster(void *argument)
{
    struct thread *thread = argument;
    struct rank *rank = thread->rank;
    uint8_t *mine = memory[0][thread->index];
    gni_mem_handle_t handle = published_handle(rank, 0);
    gni_post_descriptor_t descr, *collected;
    gni_return_t result;
    gni_cq_entry_t event;

    for (thread->count = 0; thread->count < POSTS; thread->count++) {
        memset(mine, (int)(thread->count + thread->index), BYTES);
        descr = describe_put(thread->count % 2 ? GNI_POST_FMA_PUT : GNI_POST_RDMA_PUT, mine, handle,
                             published_address(rank, 1) + thread->index * BYTES,
                             published_handle(rank, 1), BYTES);
        assert_ok(post(thread->ep, &descr));
        if (thread->index % 2 == 0) {
            result = GNI_CqWaitEvent(thread->cq, (uint64_t)-1, &event);
            assert_ok(result);
        } else {
            while (GNI_CqTestEvent(thread->cq) == GNI_RC_NOT_DONE)
                ;
            assert_ok(GNI_CqGetEvent(thread->cq, &event));
        }
        assert_ok(GNI_GetCompleted(thread->cq, event, &collected));
        assert_ptr_equal(collected, &descr);
        assert_memory_equal(memory[1][thread->index], mine, BYTES);
    }
    end(thread);
}

/*
 * Threads post through endpoints of their own on one NIC, some blocking, some polling, while others
 * are blocked in a monitor and in a datagram probe of the same NIC. No lock is anywhere.
 */
static void posting_main(struct rank *rank)
{
    struct thread threads[THREADS] = {{0}}, probe = {0}, watch = {0};
    gni_ep_handle_t peer_ep, wild;
    gni_post_state_t state;
    struct domain domain;
    uint32_t addr, id;
    char in = 'x', out;
    unsigned i;

    domain_open(rank, &domain, 0);
    publish(rank, domain_register(&domain, memory[rank->id], sizeof memory[0], NULL, 0),
            memory[rank->id]);
    if (rank->id == 0) {
        assert_ok(GNI_CqCreate(domain.nic, 8, 0, GNI_CQ_BLOCKING, NULL, NULL, &watch.cq));
        start(&watch, rank, &domain, monitor);
        assert_ok(GNI_EpCreate(domain.nic, NULL, &wild));
        assert_ok(GNI_EpPostDataWId(wild, &in, 1, &out, 1, 77));
        start(&probe, rank, &domain, probe_wait);
        for (i = 0; i < THREADS; i++) {
            threads[i].index = i;
            assert_ok(GNI_CqCreate(domain.nic, 8, 0, i % 2 ? GNI_CQ_NOBLOCK : GNI_CQ_BLOCKING, NULL,
                                   NULL, &threads[i].cq));
            assert_ok(GNI_EpCreate(domain.nic, threads[i].cq, &threads[i].ep));
            assert_ok(GNI_EpBind(threads[i].ep, aries_nic_address(rank->machine->fabric, 1), 1));
            start(&threads[i], rank, &domain, poster);
        }
        sleep_for(20 * SIM_MS);
        for (i = 0; i < THREADS; i++) {
            assert_true(machine_soon(&threads[i].ended));
            assert_int_equal(threads[i].count, POSTS);
        }
        assert_true(machine_soon(&probe.ended)); /* rank 1's datagram came meanwhile */
        assert_ok(probe.result);
        assert_int_equal(probe.id, 77);
        assert_ok(GNI_EpPostDataTestById(wild, 77, &state, &addr, &id));
        assert_int_equal(state, GNI_POST_COMPLETED);
        assert_false(watch.ended);
    } else {
        sleep_for(50 * SIM_US);
        peer_ep = domain_connect(rank, &domain, 0);
        assert_ok(GNI_EpPostData(peer_ep, &in, 1, &out, 1));
        assert_ok(GNI_EpPostDataWait(peer_ep, UINT32_MAX, &state, &addr, &id));
        assert_int_equal(state, GNI_POST_COMPLETED);
    }
    machine_barrier(rank);
    domain_close(&domain); /* wakes the monitor */
    if (rank->id == 0) {
        assert_true(machine_soon(&watch.ended));
        assert_rc(watch.result, GNI_RC_INVALID_PARAM);
    }
}

static void ugni_54_ugni_104_threads_of_one_nic(void **state)
{
    machine_run(&(struct machine){.ranks = 2, .main = posting_main});
}

/* A NIC handle for each thread: no order between them at all. */
static void own_domain(void *argument)
{
    struct thread *thread = argument;
    struct rank *rank = thread->rank;
    struct domain domain;
    gni_post_descriptor_t descr;
    gni_mem_handle_t handle;
    gni_ep_handle_t ep;
    uint64_t *words = (uint64_t *)memory[0][thread->index];

    domain_open_as(&domain, 100 + thread->index, MACHINE_PTAG, MACHINE_COOKIE, 0);
    handle = domain_register(&domain, words, BYTES, NULL, 0);
    ep = domain_connect(rank, &domain, 0);
    words[0] = thread->index;
    for (thread->count = 0; thread->count < POSTS; thread->count++) {
        words[0]++;
        descr = describe_put(GNI_POST_FMA_PUT, &words[0], handle, (uintptr_t)&words[1], handle, 8);
        assert_ok(post(ep, &descr));
        complete(domain.source, &descr);
        assert_int_equal(words[1], words[0]);
    }
    domain_close(&domain);
    end(thread);
}

static void own_domains_main(struct rank *rank)
{
    struct thread threads[THREADS] = {{0}};
    unsigned i;

    for (i = 0; i < THREADS; i++) {
        threads[i].index = i;
        start(&threads[i], rank, NULL, own_domain);
    }
    sleep_for(SIM_S);
    for (i = 0; i < THREADS; i++) {
        assert_true(machine_soon(&threads[i].ended));
        assert_int_equal(threads[i].count, POSTS);
    }
}

static void ugni_17_threads_with_nics_of_their_own(void **state)
{
    machine_run(&(struct machine){.ranks = 1, .main = own_domains_main});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ugni_46_signals_end_waits),
        cmocka_unit_test(ugni_47_cancelled_threads_leave_nothing_locked),
        cmocka_unit_test(ugni_102_signals_end_datagram_waits),
        cmocka_unit_test(ugni_104_cancelled_threads_hold_no_datagrams),
        cmocka_unit_test(ugni_54_ugni_104_threads_of_one_nic),
        cmocka_unit_test(ugni_17_threads_with_nics_of_their_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
