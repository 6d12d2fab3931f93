/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Errors of transactions: checklist items 87, 90, 91 and 92. */
#include "fixture.h"

#include <stdlib.h>
#include <string.h>
#include "nic/cq_entry.h"
#include "nic/interface.h"

#define BYTES 8192u

static uint8_t memory[MACHINE_RANKS][BYTES] __attribute__((aligned(4096)));

static void open_side(struct rank *rank, struct side *side, uint32_t modes)
{
    memset(memory[rank->id], 0, BYTES);
    side_open(rank, side, memory[rank->id], BYTES, modes);
}

static gni_post_descriptor_t describe(const struct side *side, gni_post_type_t type, uint64_t bytes)
{
    return side_describe(side, type, 0, 4096, bytes);
}

/* ---- item 87 --------------------------------------------------------------------------------- */

/* A NIC whose transactions all end with one status. */
static struct failing {
    struct sim_event event;
    struct aries_work work;
    uint8_t status;
} failing;

static void fail_now(struct sim_event *event)
{
    failing.work.done(failing.work.context, failing.status, ARIES_CQ_CPLTN_DREQ, false);
}

static void failing_submit(struct gni_nic *nic, const struct aries_work *work)
{
    sim_spend(work->cpu);
    failing.work = *work;
    failing.event.fire = fail_now;
    sim_event_schedule(&failing.event, sim_local_time() + SIM_US);
}

static void failing_submit_chain(struct gni_nic *nic, const struct aries_work *works,
                                 uint32_t count)
{
    failing_submit(nic, works);
}

static const struct aries_nic_ops failing_ops = {failing_submit, failing_submit_chain};

static void statuses_main(struct rank *rank)
{
    static const gni_post_type_t types[] = {GNI_POST_FMA_PUT, GNI_POST_RDMA_PUT, GNI_POST_FMA_GET,
                                            GNI_POST_CQWRITE};
    gni_post_descriptor_t descr, *collected;
    struct side side;
    gni_return_t result;
    gni_cq_entry_t event;
    char text[64];
    unsigned status;

    open_side(rank, &side, GNI_CDM_MODE_DUAL_EVENTS);
    rank->process->nic->ops = &failing_ops;
    for (status = 1; status < 64; status++) {
        failing.status = (uint8_t)status;
        descr = describe(&side, types[status % 4], 8);
        descr.post_id = status;
        assert_ok(post(side.ep, &descr));
        assert_int_equal(complete_failed(side.domain.source, &descr), status);
        assert_int_equal(descr.post_id, status);
        assert_int_equal(descr.cq_mode_complete, GNI_CQMODE_GLOBAL_EVENT);
        assert_ok(GNI_EpIdle(side.ep));
    }
    failing.status = A_STATUS_AT_PF_INV;
    descr = describe(&side, GNI_POST_FMA_PUT, 8);
    assert_ok(post(side.ep, &descr));
    event = next_event(side.domain.source, &result);
    assert_ok(GNI_CqErrorStr(event, text, sizeof text));
    assert_string_equal(text, "SOURCE_SSID:AT_PF_INV:CPLTN_DREQ");
    assert_rc(GNI_GetCompleted(side.domain.source, event, &collected), GNI_RC_TRANSACTION_ERROR);
    /* One error event for each that was asked for. */
    descr = describe(&side, GNI_POST_RDMA_PUT, 8);
    descr.cq_mode = GNI_CQMODE_DUAL_EVENTS;
    assert_ok(post(side.ep, &descr));
    assert_int_equal(complete_failed(side.domain.source, &descr), A_STATUS_AT_PF_INV);
    assert_int_equal(complete_failed(side.domain.source, &descr), A_STATUS_AT_PF_INV);
    assert_ok(GNI_EpUnbind(side.ep));
    rank->process->nic->ops = &aries_hw_nic_ops;
}

static void ugni_87_ugni_88_every_status(void **state)
{
    machine_run(&(struct machine){.ranks = 1, .main = statuses_main});
}

/* ---- item 90 --------------------------------------------------------------------------------- */

static void lose_first_request(struct machine *machine)
{
    struct sim_fault_rule rule = packet_rule(SIM_FAULT_DROP, NET_REQUEST);

    rule.source = 0;
    packet_rule_add(&rule);
}

static void repost_main(struct rank *rank)
{
    struct side side;
    gni_post_descriptor_t descr;
    gni_return_t result;
    gni_cq_entry_t event;
    gni_post_descriptor_t *collected;
    uint32_t recoverable = 0;

    open_side(rank, &side, 0);
    if (rank->id == 0) {
        memset(side.memory, 0x21, 4096);
        descr = describe(&side, *(const gni_post_type_t *)rank->machine->argument, 4096);
        assert_ok(post(side.ep, &descr));
        event = next_event(side.domain.source, &result);
        assert_rc(result, GNI_RC_TRANSACTION_ERROR);
        assert_rc(GNI_GetCompleted(side.domain.source, event, &collected),
                  GNI_RC_TRANSACTION_ERROR);
        assert_ptr_equal(collected, &descr);
        assert_ok(GNI_CqErrorRecoverable(event, &recoverable));
        assert_int_equal(recoverable, 1);
        assert_ok(post(side.ep, collected));
        complete(side.domain.source, &descr);
    }
    machine_barrier(rank);
    if (rank->id == 1)
        assert_int_equal(side.memory[BYTES - 1], 0x21);
}

static void ugni_90_repost_after_an_error(void **state)
{
    static const gni_post_type_t types[] = {GNI_POST_FMA_PUT, GNI_POST_RDMA_PUT};
    unsigned i;

    for (i = 0; i < 2; i++)
        machine_run(&(struct machine){.main = repost_main,
                                      .prepare = lose_first_request,
                                      .argument = (void *)(uintptr_t)&types[i]});
}

/* ---- item 91 --------------------------------------------------------------------------------- */

struct policy {
    uint32_t modes;
    uint16_t cq_mode;
    bool kill; /* the global switch */
    bool dies; /* expected */
    bool survived;
};

static void policy_main(struct rank *rank)
{
    struct policy *policy = rank->machine->argument;
    const gni_mem_handle_t none = {0, 0};
    struct side side;
    gni_post_descriptor_t descr;

    open_side(rank, &side, policy->modes);
    if (rank->id == 0) {
        descr = describe(&side, GNI_POST_FMA_PUT, 8);
        descr.remote_mem_hndl = none;
        descr.cq_mode = policy->cq_mode;
        assert_ok(post(side.ep, &descr));
        if (policy->cq_mode & GNI_CQMODE_GLOBAL_EVENT)
            assert_int_equal(complete_failed(side.domain.source, &descr), A_STATUS_AT_MDD_INV);
        sim_sleep_until(sim_clock_read() + SIM_MS);
        policy->survived = true;
    }
    machine_barrier(rank);
    assert_false(rank->killed);
}

static void ugni_91_kill_policy(void **state)
{
    struct policy policies[] = {
        {GNI_CDM_MODE_ERR_NO_KILL, GNI_CQMODE_SILENT, true, false, false},
        {GNI_CDM_MODE_ERR_NO_KILL, GNI_CQMODE_GLOBAL_EVENT, true, false, false},
        {GNI_CDM_MODE_ERR_ALL_KILL, GNI_CQMODE_SILENT, true, true, false},
        {GNI_CDM_MODE_ERR_ALL_KILL, GNI_CQMODE_GLOBAL_EVENT, true, true, false},
        {0, GNI_CQMODE_SILENT, true, true, false},
        {0, GNI_CQMODE_GLOBAL_EVENT, true, false, false},
        {0, GNI_CQMODE_SILENT, false, false, false},
        {GNI_CDM_MODE_ERR_ALL_KILL, GNI_CQMODE_GLOBAL_EVENT, false, false, false},
    };
    unsigned i;

    for (i = 0; i < sizeof policies / sizeof policies[0]; i++) {
        machine_run(&(struct machine){.main = policy_main,
                                      .argument = &policies[i],
                                      .param = {"aries.fault.kill"},
                                      .value = {policies[i].kill}});
        assert_int_equal(policies[i].survived, !policies[i].dies);
    }
}

/* ---- item 92 --------------------------------------------------------------------------------- */

static void dead_peer_main(struct rank *rank)
{
    static const gni_post_type_t types[] = {GNI_POST_FMA_PUT,  GNI_POST_RDMA_PUT, GNI_POST_FMA_GET,
                                            GNI_POST_RDMA_GET, GNI_POST_AMO,      GNI_POST_CQWRITE};
    struct side side;
    gni_post_descriptor_t descr;
    sim_time_t before;
    unsigned i, status;

    open_side(rank, &side, 0);
    if (rank->id == 1) {
        machine_barrier(rank); /* never left: the node dies */
        fail();
    }
    descr = describe(&side, GNI_POST_RDMA_PUT, 4096); /* in flight when it happens */
    assert_ok(post(side.ep, &descr));
    aries_node_crash(rank->machine->fabric, 1);
    assert_false(aries_node_alive(rank->machine->fabric, 1));
    assert_true(rank->machine->rank[1].killed);
    complete_failed(side.domain.source, &descr);
    for (i = 0; i < 6; i++) {
        descr = describe(&side, types[i], 8);
        descr.amo_cmd = GNI_FMA_ATOMIC_FADD;
        before = sim_clock_read();
        assert_ok(post(side.ep, &descr));
        status = complete_failed(side.domain.source, &descr);
        assert_true(status == A_STATUS_ENDPOINT_UNREACHABLE || status == A_STATUS_SSID_TIMEOUT ||
                    status == A_STATUS_ORB_TIMEOUT);
        assert_true(sim_clock_read() - before < 30 * SIM_S);
    }
    /* Nobody ever lived there. */
    assert_ok(GNI_EpUnbind(side.ep));
    assert_ok(GNI_EpBind(side.ep, (1u << 18) - 1, 1));
    descr = describe(&side, GNI_POST_FMA_PUT, 8);
    assert_ok(post(side.ep, &descr));
    assert_int_equal(complete_failed(side.domain.source, &descr), A_STATUS_PE_BOUNDS_ERR);
}

static void ugni_92_dead_peer(void **state)
{
    machine_run(&(struct machine){.main = dead_peer_main});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ugni_87_ugni_88_every_status),
        cmocka_unit_test(ugni_90_repost_after_an_error),
        cmocka_unit_test(ugni_91_kill_policy),
        cmocka_unit_test(ugni_92_dead_peer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
