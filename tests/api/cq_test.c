/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Completion queues: checklist items 44 to 53. */
#include "fixture.h"

#include <stdlib.h>
#include <string.h>

#define MS_PS 1000000000ull

static uint64_t memory[MACHINE_RANKS][64];

/* Sender (rank 0) and receiver (rank 1) with a destination queue of the test's own. */
struct watched {
    struct domain domain;
    gni_cq_handle_t cq; /* destination queue of the registration */
    gni_mem_handle_t handle;
    gni_ep_handle_t ep;
};

static void open_side(struct rank *rank, struct watched *side, uint32_t entries, gni_cq_mode_t mode)
{
    domain_open(rank, &side->domain, 0);
    assert_ok(GNI_CqCreate(side->domain.nic, entries, 0, mode, NULL, NULL, &side->cq));
    side->handle = domain_register(&side->domain, memory[rank->id], sizeof memory[0], side->cq, 0);
    publish(rank, side->handle, memory[rank->id]);
    side->ep = domain_connect(rank, &side->domain, rank->id ^ 1);
}

/* A PUT with remote event; collects the local one. */
static void notify(struct rank *rank, struct watched *side, uint32_t remote_event)
{
    uint32_t peer = rank->id ^ 1;
    gni_post_descriptor_t descr =
        describe_put(GNI_POST_FMA_PUT, &memory[rank->id][0], side->handle,
                     published_address(rank, peer) + 8, published_handle(rank, peer), 8);

    descr.cq_mode |= GNI_CQMODE_REMOTE_EVENT;
    assert_ok(GNI_EpSetEventData(side->ep, 0, remote_event));
    assert_ok(post(side->ep, &descr));
    complete(side->domain.source, &descr);
}

/* ---- items 44, 53 ---------------------------------------------------------------------------- */

static void empty_main(struct rank *rank)
{
    struct watched side;
    gni_cq_entry_t event;
    unsigned i;

    open_side(rank, &side, 1, GNI_CQ_NOBLOCK);
    assert_rc(GNI_CqGetEvent(side.cq, &event), GNI_RC_NOT_DONE);
    assert_rc(GNI_CqTestEvent(side.cq), GNI_RC_NOT_DONE);
    assert_rc(GNI_CqGetEvent(side.cq, NULL), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_CqGetEvent(NULL, &event), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_CqTestEvent(NULL), GNI_RC_INVALID_PARAM);
    machine_barrier(rank);
    notify(rank, &side, 0xcafe);
    machine_barrier(rank);
    for (i = 0; i < 3; i++)
        assert_ok(GNI_CqTestEvent(side.cq)); /* takes nothing away */
    assert_ok(GNI_CqGetEvent(side.cq, &event));
    assert_int_equal(GNI_CQ_GET_INST_ID(event), 0xcafe);
    assert_rc(GNI_CqTestEvent(side.cq), GNI_RC_NOT_DONE);
    assert_rc(GNI_CqGetEvent(side.cq, &event), GNI_RC_NOT_DONE);
}

static void ugni_44_empty_queue(void **state)
{
    machine_run(&(struct machine){.main = empty_main});
}

static void modes_main(struct rank *rank)
{
    struct domain domain;
    gni_cq_handle_t cq;

    domain_open(rank, &domain, 0);
    assert_rc(GNI_CqCreate(domain.nic, 8, 0, GNI_CQ_BLOCKING | GNI_CQ_EMULATED, NULL, NULL, &cq),
              GNI_RC_INVALID_PARAM);
    assert_rc(GNI_CqCreate(domain.nic, 0, 0, GNI_CQ_NOBLOCK, NULL, NULL, &cq),
              GNI_RC_INVALID_PARAM);
    assert_rc(GNI_CqCreate(domain.nic, 8, 0, GNI_CQ_NOBLOCK, NULL, NULL, NULL),
              GNI_RC_INVALID_PARAM);
    assert_rc(GNI_CqCreate(NULL, 8, 0, GNI_CQ_NOBLOCK, NULL, NULL, &cq), GNI_RC_INVALID_PARAM);
    assert_ok(GNI_CqCreate(domain.nic, 40000, 0, GNI_CQ_BLOCKING, NULL, NULL, &cq));
    assert_ok(GNI_CqCreate(domain.nic, 1, 0, GNI_CQ_NOBLOCK, NULL, NULL, &cq));
    assert_rc(GNI_CqCreate(domain.nic, 1, 0, GNI_CQ_NOBLOCK, NULL, NULL, &cq),
              GNI_RC_ERROR_RESOURCE); /* the machine of this test has four */
}

static void ugni_53_queue_modes(void **state)
{
    machine_run(&(struct machine){
        .ranks = 1, .main = modes_main, .param = {"aries.nic.cqs"}, .value = {4}});
}

/* ---- items 45, 46, 48 ------------------------------------------------------------------------ */

static void no_block_main(struct rank *rank)
{
    struct watched side;
    gni_cq_entry_t event;
    uint32_t which;

    open_side(rank, &side, 8, GNI_CQ_NOBLOCK);
    assert_rc(GNI_CqWaitEvent(side.cq, 1, &event), GNI_RC_ERROR_RESOURCE);
    assert_rc(GNI_CqVectorWaitEvent(&side.cq, 1, 1, &event, &which), GNI_RC_ERROR_RESOURCE);
    assert_rc(GNI_CqVectorMonitor(&side.cq, 1, 1, &which), GNI_RC_ERROR_RESOURCE);
    assert_rc(GNI_CqVectorMonitor(&side.cq, 0, 1, &which), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_CqVectorMonitor(NULL, 1, 1, &which), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_CqInterruptMask(side.cq), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_CqInterruptUnmask(side.cq), GNI_RC_INVALID_PARAM);
}

static void ugni_45_ugni_48_waits_need_a_blocking_queue(void **state)
{
    machine_run(&(struct machine){.ranks = 1, .main = no_block_main});
}

static void expect_timeout(gni_cq_handle_t cq, uint64_t milliseconds)
{
    sim_time_t before = sim_clock_read();
    gni_cq_entry_t event;

    assert_rc(GNI_CqWaitEvent(cq, milliseconds, &event), GNI_RC_TIMEOUT);
    assert_in_range(sim_clock_read() - before, milliseconds * MS_PS,
                    milliseconds * MS_PS + MS_PS / 100);
}

static void wait_main(struct rank *rank)
{
    struct watched side;
    gni_cq_handle_t both[2], dead;
    gni_cq_entry_t event;
    uint32_t which = 9;
    sim_time_t before;

    machine_simulated();
    open_side(rank, &side, 8, GNI_CQ_BLOCKING);
    if (rank->id == 0) {
        sim_sleep_until(100 * MS_PS);
        notify(rank, &side, 1);
        sim_sleep_until(200 * MS_PS);
        notify(rank, &side, 2);
        sim_sleep_until(300 * MS_PS);
        notify(rank, &side, 3);
        machine_barrier(rank);
        return;
    }
    assert_ok(GNI_CqCreate(side.domain.nic, 8, 0, GNI_CQ_BLOCKING, NULL, NULL, &dead));
    both[0] = dead;
    both[1] = side.cq;
    expect_timeout(side.cq, 0);
    expect_timeout(side.cq, 5);
    /* The first event, in a wait without end. */
    assert_ok(GNI_CqWaitEvent(side.cq, (uint64_t)-1, &event));
    assert_int_equal(GNI_CQ_GET_INST_ID(event), 1);
    assert_in_range(sim_clock_read(), 100 * MS_PS, 101 * MS_PS);
    /* The second, of a vector. */
    assert_rc(GNI_CqVectorMonitor(both, 2, 1, &which), GNI_RC_TIMEOUT);
    assert_ok(GNI_CqVectorMonitor(both, 2, (uint64_t)-1, &which));
    assert_int_equal(which, 1);
    assert_in_range(sim_clock_read(), 200 * MS_PS, 201 * MS_PS);
    assert_ok(GNI_CqVectorMonitor(both, 2, 0, &which)); /* takes nothing away */
    before = sim_clock_read();
    assert_ok(GNI_CqWaitEvent(side.cq, 1000, &event)); /* there already: at once */
    assert_in_range(sim_clock_read() - before, 0, MS_PS / 1000);
    assert_int_equal(GNI_CQ_GET_INST_ID(event), 2);
    /* Masks. */
    assert_ok(GNI_CqInterruptMask(side.cq));
    assert_ok(GNI_CqInterruptMask(side.cq));
    assert_rc(GNI_CqVectorMonitor(both, 2, (uint64_t)-1, &which), GNI_RC_NOT_DONE);
    assert_rc(GNI_CqVectorWaitEvent(both, 2, (uint64_t)-1, &event, &which), GNI_RC_NOT_DONE);
    assert_ok(GNI_CqInterruptUnmask(side.cq));
    assert_rc(GNI_CqVectorMonitor(both, 2, (uint64_t)-1, &which), GNI_RC_NOT_DONE);
    assert_ok(GNI_CqInterruptUnmask(side.cq));
    assert_rc(GNI_CqInterruptUnmask(side.cq), GNI_RC_NOT_DONE);
    /* The third. */
    assert_ok(GNI_CqVectorWaitEvent(both, 2, 1000, &event, &which));
    assert_int_equal(which, 1);
    assert_int_equal(GNI_CQ_GET_INST_ID(event), 3);
    assert_rc(GNI_CqVectorWaitEvent(both, 2, 1, &event, &which), GNI_RC_TIMEOUT);
    machine_barrier(rank);
}

static void ugni_45_ugni_46_ugni_48_waiting(void **state)
{
    machine_run(&(struct machine){.main = wait_main});
}

/* A wait ends if its queue is destroyed. */
struct waiter {
    struct rank *rank;
    struct domain *domain;
    gni_cq_handle_t cq;
    gni_return_t result;
    bool ended;
};

static void waiter_fiber(void *argument)
{
    struct waiter *waiter = argument;
    gni_cq_entry_t event;

    waiter->result = GNI_CqWaitEvent(waiter->cq, (uint64_t)-1, &event);
    waiter->ended = true;
}

static void dying_main(struct rank *rank)
{
    struct domain domain;
    struct waiter waiters[2] = {{.domain = &domain}, {.domain = &domain}};
    unsigned i;

    domain_open(rank, &domain, 0);
    for (i = 0; i < 2; i++) {
        assert_ok(GNI_CqCreate(domain.nic, 8, 0, GNI_CQ_BLOCKING, NULL, NULL, &waiters[i].cq));
        aries_process_bind(rank->process, sim_fiber_start(waiter_fiber, &waiters[i], "waiter",
                                                          sim_clock_read() + MS_PS));
    }
    sim_sleep_until(sim_clock_read() + 2 * MS_PS);
    assert_ok(GNI_CqDestroy(waiters[0].cq));
    assert_ok(GNI_CdmDestroy(domain.cdm));
    for (i = 0; i < 2; i++) {
        assert_true(machine_soon(&waiters[i].ended));
        assert_rc(waiters[i].result, GNI_RC_INVALID_PARAM);
    }
}

static void ugni_45_wait_ends_with_its_queue(void **state)
{
    machine_run(&(struct machine){.ranks = 1, .main = dying_main});
}

/* ---- item 49 --------------------------------------------------------------------------------- */

struct calls {
    unsigned count;
    gni_cq_entry_t last;
};

static void handler(gni_cq_entry_t *event, void *context)
{
    struct calls *calls = context;

    calls->count++;
    calls->last = *event;
}

static void handler_main(struct rank *rank)
{
    struct calls calls = {0};
    struct domain domain;
    gni_cq_handle_t cq;
    gni_ep_handle_t ep;
    gni_post_descriptor_t descr, *collected;
    gni_mem_handle_t handle, none = {0, 0};
    gni_return_t result;
    gni_cq_entry_t event;

    domain_open(rank, &domain, 0);
    assert_ok(GNI_CqCreate(domain.nic, 8, 0, GNI_CQ_BLOCKING, handler, &calls, &cq));
    handle = domain_register(&domain, memory[0], sizeof memory[0], NULL, 0);
    assert_ok(GNI_EpCreate(domain.nic, cq, &ep));
    assert_ok(GNI_EpBind(ep, domain.address, 3));
    assert_rc(GNI_CqGetEvent(cq, &event), GNI_RC_NOT_DONE);
    assert_rc(GNI_CqWaitEvent(cq, 1, &event), GNI_RC_TIMEOUT);
    assert_int_equal(calls.count, 0);
    descr = describe_put(GNI_POST_FMA_PUT, memory[0], handle, (uintptr_t)&memory[0][8], handle, 8);
    assert_ok(post(ep, &descr));
    event = good_event(cq);
    assert_int_equal(calls.count, 1);
    assert_true(calls.last == event);
    assert_ok(GNI_GetCompleted(cq, event, &collected));
    descr = describe_put(GNI_POST_FMA_PUT, memory[0], none, 0, none, 8);
    assert_ok(post(ep, &descr));
    event = next_event(cq, &result);
    assert_rc(result, GNI_RC_TRANSACTION_ERROR);
    assert_int_equal(calls.count, 2);
    assert_true(calls.last == event);
    descr = describe_put(GNI_POST_FMA_PUT, memory[0], handle, (uintptr_t)&memory[0][8], handle, 8);
    assert_ok(post(ep, &descr));
    assert_ok(GNI_CqWaitEvent(cq, 10, &event));
    assert_int_equal(calls.count, 3);
    assert_true(calls.last == event);
}

static void ugni_49_handler_runs_per_entry(void **state)
{
    machine_run(&(struct machine){.ranks = 1, .main = handler_main});
}

/* ---- items 50, 51 ---------------------------------------------------------------------------- */

#define FLOOD 610

/* As libfabric tests it: more events than a queue of one entry (that is, one page) holds. */
static void overrun_main(struct rank *rank)
{
    uint64_t usable = rank->machine->value[0] != 0 ? 1 : 511;
    struct watched side;
    gni_cq_entry_t event;
    uint32_t i, errors = 0, seen = 0;
    gni_return_t result;

    open_side(rank, &side, 1, GNI_CQ_NOBLOCK);
    if (rank->id == 0) {
        for (i = 0; i < FLOOD; i++) {
            memory[0][0] = i;
            notify(rank, &side, i);
        }
        machine_barrier(rank);
        machine_barrier(rank);
        notify(rank, &side, 7777);
        machine_barrier(rank);
        return;
    }
    machine_barrier(rank);
    assert_int_equal(memory[1][1], FLOOD - 1); /* the data came, all of it */
    while ((result = GNI_CqGetEvent(side.cq, &event)) != GNI_RC_NOT_DONE) {
        assert_int_equal(GNI_CQ_GET_INST_ID(event), seen);
        seen++;
        assert_int_equal(GNI_CQ_OVERRUN(event), result == GNI_RC_ERROR_RESOURCE);
        errors += result == GNI_RC_ERROR_RESOURCE;
        if (seen == usable - 1)
            assert_rc(GNI_CqTestEvent(side.cq), GNI_RC_ERROR_RESOURCE);
    }
    assert_int_equal(seen, usable);
    assert_int_equal(errors, 1);
    assert_rc(GNI_CqTestEvent(side.cq), GNI_RC_NOT_DONE);
    machine_barrier(rank);
    machine_barrier(rank);
    assert_ok(GNI_CqGetEvent(side.cq, &event));
    assert_int_equal(GNI_CQ_GET_INST_ID(event), 7777);
}

static void ugni_50_overrun_is_reported_once(void **state)
{
    machine_run(&(struct machine){.main = overrun_main});
}

static void ugni_50_overrun_of_an_exact_queue(void **state)
{
    machine_run(
        &(struct machine){.main = overrun_main, .param = {"aries.nic.cq_exact"}, .value = {1}});
}

/* A rule at the fault point loses every event of rank 1's destination queues. */
static void lose_events(struct machine *machine)
{
    const struct sim_fault_rule rule = {
        .label = strdup("overrun"),
        .action = SIM_FAULT_DROP,
        .until = SIM_NEVER,
        .probability = 1,
        .skip = 1,
        .count_max = 1,
        .source = SIM_FAULT_ANY,
        .target = 1,
        .between = {SIM_FAULT_ANY, SIM_FAULT_ANY},
        .kind = 1,
    };

    assert_non_null(sim_fault_rule_add(sim_fault_point_find("aries.cq"), &rule));
}

static void injected_main(struct rank *rank)
{
    struct watched side;
    gni_cq_entry_t event;

    open_side(rank, &side, 8, GNI_CQ_NOBLOCK);
    if (rank->id == 0) {
        notify(rank, &side, 1);
        notify(rank, &side, 2); /* the fault hits this one */
        notify(rank, &side, 3);
        machine_barrier(rank);
        machine_barrier(rank);
        aries_cq_force_overrun(rank->machine->fabric, 1);
        machine_barrier(rank);
        return;
    }
    machine_barrier(rank);
    assert_rc(GNI_CqGetEvent(side.cq, &event), GNI_RC_ERROR_RESOURCE);
    assert_int_equal(GNI_CQ_GET_INST_ID(event), 1);
    assert_ok(GNI_CqGetEvent(side.cq, &event));
    assert_int_equal(GNI_CQ_GET_INST_ID(event), 3);
    assert_rc(GNI_CqGetEvent(side.cq, &event), GNI_RC_NOT_DONE);
    machine_barrier(rank);
    machine_barrier(rank);
    assert_rc(GNI_CqGetEvent(side.cq, &event), GNI_RC_ERROR_RESOURCE);
    assert_true(GNI_CQ_OVERRUN(event));
    assert_rc(GNI_CqGetEvent(side.cq, &event), GNI_RC_NOT_DONE);
}

static void ugni_50_overrun_can_be_injected(void **state)
{
    machine_run(&(struct machine){.main = injected_main, .prepare = lose_events});
}

#ifndef UNREAD_EVENTS
#define UNREAD_EVENTS 100000u
#endif

static void unread_main(struct rank *rank)
{
    struct watched side;
    uint32_t i;

    open_side(rank, &side, 2, GNI_CQ_NOBLOCK);
    for (i = 0; rank->id == 0 && i < UNREAD_EVENTS; i++)
        notify(rank, &side, i);
    machine_barrier(rank);
}

static void ugni_51_unread_queue_never_blocks_senders(void **state)
{
    machine_run(&(struct machine){.main = unread_main});
}

/* ---- item 52 --------------------------------------------------------------------------------- */

static void purpose_main(struct rank *rank)
{
    struct domain domain, other;
    gni_mem_handle_t handle;
    gni_ep_handle_t ep, second;
    gni_post_descriptor_t descr;
    gni_cq_handle_t early;

    domain_open(rank, &domain, 0);
    domain_open_as(&other, 500, MACHINE_PTAG, MACHINE_COOKIE, 0);
    handle = domain_register(&domain, memory[0], sizeof memory[0], domain.target, 0);
    /* A destination queue as a source. */
    assert_ok(GNI_EpCreate(domain.nic, domain.target, &ep));
    assert_rc(GNI_EpBind(ep, domain.address, 1), GNI_RC_INVALID_PARAM);
    second = domain_connect(rank, &domain, 0);
    descr = describe_put(GNI_POST_RDMA_PUT, memory[0], handle, (uintptr_t)memory[0], handle, 8);
    descr.src_cq_hndl = domain.target;
    assert_rc(post(second, &descr), GNI_RC_INVALID_PARAM);
    descr.src_cq_hndl = other.source;
    assert_rc(post(second, &descr), GNI_RC_INVALID_PARAM);
    /* A source queue as a destination: bound, or named by a post. */
    assert_rc(GNI_MemRegister(domain.nic, (uintptr_t)memory[0], 8, domain.source, 0, -1, &handle),
              GNI_RC_INVALID_PARAM);
    assert_ok(GNI_CqCreate(domain.nic, 8, 0, GNI_CQ_NOBLOCK, NULL, NULL, &early));
    descr.src_cq_hndl = early;
    assert_ok(post(second, &descr));
    complete(early, &descr);
    assert_rc(GNI_MemRegister(domain.nic, (uintptr_t)memory[0], 8, early, 0, -1, &handle),
              GNI_RC_INVALID_PARAM);
    assert_rc(GNI_MemRegister(domain.nic, (uintptr_t)memory[0], 8, other.target, 0, -1, &handle),
              GNI_RC_INVALID_PARAM);
    /* Destroyed while a registration names it: later events are lost without a trace. */
    assert_ok(GNI_EpDestroy(ep));
    assert_ok(GNI_CqDestroy(domain.target));
    descr = describe_put(GNI_POST_FMA_PUT, memory[0], handle, (uintptr_t)&memory[0][4], handle, 8);
    descr.cq_mode |= GNI_CQMODE_REMOTE_EVENT;
    assert_ok(post(second, &descr));
    complete(domain.source, &descr);
    assert_ok(GNI_MemDeregister(domain.nic, &handle));
}

static void ugni_52_queues_serve_one_purpose(void **state)
{
    machine_run(&(struct machine){.ranks = 1, .main = purpose_main});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ugni_44_empty_queue),
        cmocka_unit_test(ugni_45_ugni_48_waits_need_a_blocking_queue),
        cmocka_unit_test(ugni_45_ugni_46_ugni_48_waiting),
        cmocka_unit_test(ugni_45_wait_ends_with_its_queue),
        cmocka_unit_test(ugni_49_handler_runs_per_entry),
        cmocka_unit_test(ugni_50_overrun_is_reported_once),
        cmocka_unit_test(ugni_50_overrun_of_an_exact_queue),
        cmocka_unit_test(ugni_50_overrun_can_be_injected),
        cmocka_unit_test(ugni_51_unread_queue_never_blocks_senders),
        cmocka_unit_test(ugni_52_queues_serve_one_purpose),
        cmocka_unit_test(ugni_53_queue_modes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
