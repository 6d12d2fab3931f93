/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Suspending and resuming jobs: checklist item 130. */
#include "job_frame.h"

#include <string.h>

/* ---- suspending ------------------------------------------------------------------------------ */

static void open_side(struct rank *rank, struct side *side)
{
    memset(memory[rank->id], (int)rank->id + 1, BYTES);
    side_open(rank, side, memory[rank->id], BYTES, GNI_CDM_MODE_ERR_NO_KILL);
}

static gni_post_descriptor_t describe(const struct side *side, gni_post_type_t type, uint64_t bytes)
{
    return side_describe(side, type, 0, 0, bytes);
}

static gni_return_t suspend(uint32_t timeout)
{
    return GNI_SuspendJob(0, MACHINE_JOB, MACHINE_PTAG, MACHINE_COOKIE, timeout);
}

static gni_return_t resume(void)
{
    return GNI_ResumeJob(0, MACHINE_JOB, MACHINE_PTAG, MACHINE_COOKIE);
}

static void suspend_codes_main(struct rank *rank)
{
    assert_rc(GNI_SuspendJob(0, MACHINE_JOB, 0, MACHINE_COOKIE, 1), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_SuspendJob(0, MACHINE_JOB, MACHINE_PTAG, 5, 1), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_ResumeJob(0, MACHINE_JOB, 0, MACHINE_COOKIE), GNI_RC_INVALID_PARAM);
    if (!rank->machine->privileged) {
        assert_rc(suspend(1), GNI_RC_PERMISSION_ERROR);
        assert_rc(resume(), GNI_RC_PERMISSION_ERROR);
        return;
    }
    assert_rc(GNI_SuspendJob(7, MACHINE_JOB, MACHINE_PTAG, MACHINE_COOKIE, 1),
              GNI_RC_INVALID_PARAM);
    assert_rc(GNI_SuspendJob(0, MACHINE_JOB + 1, MACHINE_PTAG, MACHINE_COOKIE, 1),
              GNI_RC_INVALID_PARAM);
    assert_rc(GNI_SuspendJob(0, MACHINE_JOB, 99, MACHINE_COOKIE, 1), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_ResumeJob(0, MACHINE_JOB, 99, MACHINE_COOKIE), GNI_RC_INVALID_PARAM);
    assert_rc(resume(), GNI_RC_INVALID_STATE);
    assert_ok(suspend(0)); /* nothing is in flight */
    assert_rc(suspend(0), GNI_RC_INVALID_STATE);
    assert_ok(resume());
    assert_rc(resume(), GNI_RC_INVALID_STATE);
    /* A service, which belongs to no job. */
    assert_ok(GNI_ConfigureJob(0, 0, PTAG, COOKIE, NULL));
    assert_rc(GNI_SuspendJob(0, 0, PTAG, COOKIE, 0), GNI_RC_ERROR_RESOURCE);
}

static void ugni_130_suspending_is_privileged(void **state)
{
    run(suspend_codes_main, 1, false);
    run(suspend_codes_main, 1, true);
}

static uint64_t requests(const struct rank *rank)
{
    struct aries_counters counters;

    aries_get_counters(rank->machine->fabric, &counters);
    return counters.request_packets;
}

/* The drivers' own: sessions are matched though both ends stand still. */
static void datagrams_main(struct rank *rank)
{
    char in[4] = {'a', 'b', 'c', (char)rank->id}, out[4] = {0};
    gni_post_state_t state;
    struct side side;
    uint32_t pe, id;

    open_side(rank, &side);
    assert_ok(suspend(0));
    machine_barrier(rank);
    assert_ok(GNI_EpPostData(side.ep, in, sizeof in, out, sizeof out));
    assert_ok(GNI_EpPostDataWait(side.ep, 100, &state, &pe, &id));
    assert_int_equal(state, GNI_POST_COMPLETED);
    assert_int_equal(id, rank->id ^ 1);
    assert_int_equal(out[3], rank->id ^ 1);
    assert_ok(resume());
    machine_barrier(rank);
}

static void ugni_130_datagrams_of_a_suspended_job(void **state)
{
    run(datagrams_main, 2, true);
}

/* Posts return and wait; another job of the node goes on; nothing fails, whatever the time. */
static void suspended_main(struct rank *rank)
{
    static const gni_post_type_t types[] = {GNI_POST_FMA_PUT, GNI_POST_RDMA_PUT, GNI_POST_FMA_GET,
                                            GNI_POST_RDMA_GET};
    gni_post_descriptor_t descr[8], foreign, *collected;
    gni_mem_handle_t handle, foreign_handle;
    struct domain other;
    gni_ep_handle_t other_ep;
    gni_cq_entry_t event;
    sim_time_t began;
    uint64_t before;
    struct side side;
    unsigned i;

    open_side(rank, &side);
    domain_open_as(&other, 50 + rank->id, MACHINE_PTAG_OTHER, MACHINE_COOKIE_OTHER, 0);
    handle = domain_register(&other, memory[rank->id], BYTES, NULL, 0);
    machine_barrier(rank);
    publish(rank, handle, memory[rank->id]);
    foreign_handle = published_handle(rank, rank->id ^ 1);
    if (rank->id == 0) {
        descr[0] = describe(&side, GNI_POST_RDMA_PUT, BYTES); /* in flight: 108 us */
        assert_ok(post(side.ep, &descr[0]));
        sim_sleep_until(sim_clock_read() + 20 * SIM_US);
        began = sim_clock_read();
        assert_ok(suspend(1000));
        assert_took(sim_clock_read() - began, 0, 50 * SIM_US); /* chunks, not the whole of it */
        before = requests(rank);
        for (i = 1; i < 8; i++) {
            descr[i] = describe(&side, types[i % 4], 4096);
            assert_ok(post(side.ep, &descr[i]));
        }
        sim_sleep_until(sim_clock_read() + 20 * SIM_S); /* longer than every timer */
        assert_rc(GNI_CqGetEvent(side.domain.source, &event), GNI_RC_NOT_DONE);
        assert_int_equal(requests(rank), before + 1); /* that of rank 1 */
        assert_int_equal(memory[1][BYTES - 1], 2);
        assert_ok(GNI_EpCreate(other.nic, other.source, &other_ep));
        assert_ok(GNI_EpBind(other_ep, aries_nic_address(rank->machine->fabric, 1), 51));
        foreign = describe_put(GNI_POST_FMA_PUT, memory[0], handle, side.peer_address,
                               foreign_handle, 64);
        assert_ok(post(other_ep, &foreign));
        complete(other.source, &foreign);
        began = sim_clock_read();
        assert_ok(resume());
        for (i = 0; i < 8; i++)
            assert_ok(
                GNI_GetCompleted(side.domain.source, good_event(side.domain.source), &collected));
        assert_took(sim_clock_read() - began, 0, SIM_MS);
        assert_int_equal(memory[1][BYTES - 1], 1);
    } else {
        /* Requests of other nodes are served meanwhile. */
        descr[0] = describe(&side, GNI_POST_FMA_GET, 64);
        sim_sleep_until(sim_clock_read() + SIM_S);
        descr[0].local_addr += 4096;
        assert_ok(post(side.ep, &descr[0]));
        complete(side.domain.source, &descr[0]);
        assert_int_equal(memory[1][4096], 1);
    }
    machine_barrier(rank);
    domain_close(&other);
    domain_close(&side.domain);
}

static void ugni_130_a_suspended_job_stands_still(void **state)
{
    run(suspended_main, 2, true);
}

struct launcher {
    struct rank *rank;
    struct sim_fiber *fiber;
    gni_return_t result;
    sim_time_t at;
    bool ended;
};

static void launcher_fiber(void *argument)
{
    struct launcher *launcher = argument;

    launcher->result = suspend(2000);
    sim_settle();
    launcher->at = sim_now();
    launcher->ended = true;
}

static void start(struct rank *rank, struct launcher *launcher)
{
    *launcher = (struct launcher){.rank = rank};
    launcher->fiber = sim_fiber_start(launcher_fiber, launcher, "launcher", sim_clock_read());
    aries_process_bind(rank->process, launcher->fiber);
    sim_sleep_until(sim_clock_read() + SIM_MS);
}

/* A request that was lost is in flight until its timer has found it: 4 s. */
static void drain_main(struct rank *rank)
{
    gni_post_descriptor_t descr;
    struct launcher launcher;
    sim_time_t began;
    struct side side;

    open_side(rank, &side);
    if (rank->id == 0) {
        packet_fault(SIM_FAULT_DROP, NET_REQUEST, 0);
        descr = describe(&side, GNI_POST_FMA_PUT, 64);
        assert_ok(post(side.ep, &descr));
        began = sim_clock_read();
        start(rank, &launcher);
        assert_rc(suspend(0), GNI_RC_INVALID_STATE); /* one at a time */
        aries_process_interrupt(rank->process, launcher.fiber);
        assert_true(machine_soon(&launcher.ended));
        assert_rc(launcher.result, GNI_RC_NOT_DONE);
        assert_rc(resume(), GNI_RC_INVALID_STATE);
        start(rank, &launcher);
        sim_sleep_until(began + 2100 * SIM_MS);
        assert_true(launcher.ended);
        assert_rc(launcher.result, GNI_RC_TIMEOUT);
        assert_rc(suspend(0), GNI_RC_TIMEOUT);
        assert_ok(suspend(UINT32_MAX));
        assert_in_range(sim_clock_read() - began, 4000 * SIM_MS, 4010 * SIM_MS);
        assert_int_equal(complete_failed(side.domain.source, &descr), A_STATUS_ORB_TIMEOUT);
        assert_ok(resume());
        assert_ok(post(side.ep, &descr));
        complete(side.domain.source, &descr);
    }
    machine_barrier(rank);
    domain_close(&side.domain);
}

static void ugni_130_suspending_waits_for_what_is_in_flight(void **state)
{
    run(drain_main, 2, true);
}

/* When the job or its node ends, requests that were held back end, too. */
static void gone_main(struct rank *rank)
{
    gni_post_descriptor_t descr;
    struct side side;

    open_side(rank, &side);
    if (rank->id == 0) {
        assert_ok(suspend(0));
        descr = describe(&side, GNI_POST_FMA_PUT, 4096);
        assert_ok(post(side.ep, &descr));
        sim_sleep_until(sim_clock_read() + SIM_S);
        assert_int_equal(memory[1][0], 2);
        domain_close(&side.domain);
        sim_sleep_until(sim_clock_read() + SIM_S);
        /* The NIC executes the transaction that was submitted before. */
        assert_int_equal(memory[1][0], 1);
        domain_open(rank, &side.domain, 0);
        assert_rc(resume(), GNI_RC_INVALID_STATE);
    } else {
        sim_sleep_until(sim_clock_read() + 3 * SIM_S);
    }
    machine_barrier(rank);
    domain_close(&side.domain);
}

static void ugni_130_the_end_of_a_suspended_job(void **state)
{
    run(gone_main, 2, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ugni_130_suspending_is_privileged),
        cmocka_unit_test(ugni_130_datagrams_of_a_suspended_job),
        cmocka_unit_test(ugni_130_a_suspended_job_stands_still),
        cmocka_unit_test(ugni_130_suspending_waits_for_what_is_in_flight),
        cmocka_unit_test(ugni_130_the_end_of_a_suspended_job),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
