/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Collectives whose nodes, processes or handles go away: checklist item 126. */
#include "ce_error_frame.h"
#include "full.h"

#include <string.h>

/* ---- nodes and processes that go away -------------------------------------------------------- */

static void crash_now(struct sim_event *event);
static struct crash {
    struct sim_event event;
    struct aries_fabric *fabric;
    uint32_t node;
} crash = {.event = {crash_now}};

static void crash_now(struct sim_event *event)
{
    aries_node_crash(crash.fabric, crash.node);
}

/* Dies some time after all have joined: before, while and after results travel. */
static void crash_main(struct rank *rank)
{
    sim_time_t after = *(const sim_time_t *)rank->machine->argument;
    struct tree tree;
    uint32_t polls;

    tree_open(rank, &tree, 2, GNI_CE_MODE_CQE_ONCOMP);
    if (rank->id == 0) {
        crash.fabric = rank->machine->fabric;
        sim_event_schedule(&crash.event, sim_now() + after);
    }
    describe(&tree, 5);
    tree.descr.cq_mode = GNI_CQMODE_SILENT;
    tree_post(&tree);
    for (polls = 0; polls < 1000 && GNI_CeCheckResult(tree.result, 0) == GNI_RC_NOT_DONE; polls++)
        sim_sleep_until(sim_local_time() + 10 * SIM_MS);
    if (rank->id % 2 == 0 && tree.leads)
        assert_ok(GNI_CeDestroy(tree.ce));
    domain_close(&tree.domain);
}

static void nodes_die_in_mid_reduction(void **state)
{
    sim_time_t after;
    uint32_t node;

    for (node = 0; node < 7; node += 3)
        for (after = 0; after < 4 * SIM_US; after += 4 * SIM_US / test_seeds(24, 24)) {
            crash.node = node;
            machine_run(&(struct machine){
                .ranks = 7, .unbalanced = true, .argument = &after, .main = crash_main});
        }
}

/* ---- engines without a queue: error events report failures ----------------------------------- */

/* The next error event of the category, or its absence. */
static bool error_event(gni_err_handle_t errors, uint8_t category, uint16_t code)
{
    gni_error_event_t event;

    while (GNI_GetErrorEvent(errors, &event) == GNI_RC_SUCCESS)
        if (event.error_category == category && event.error_code == code &&
            event.ptag == MACHINE_PTAG)
            return true;
    return false;
}

/*
 * The node whose rank has joined dies; with two channels, the node of the upper or of the lower
 * one.
 */
static void unheard_main(struct rank *rank)
{
    bool queue = *(const bool *)rank->machine->argument;
    gni_err_handle_t errors;
    struct tree tree;

    tree_prepare(rank, &tree, 1);
    if (!queue) {
        assert_ok(GNI_CqDestroy(tree.events));
        tree.events = NULL;
    }
    tree_configure(&tree, 0);
    assert_ok(GNI_SubscribeErrors(tree.domain.nic, 0, GNI_ERRMASK_TRANSACTION, 0, &errors));
    machine_barrier(rank);
    if (rank->id == crash.node)
        join(&tree, 5);
    machine_barrier(rank);
    if (rank->id == crash.node) {
        crash.fabric = rank->machine->fabric;
        sim_event_schedule(&crash.event, sim_now());
        return;
    }
    sim_sleep_until(sim_local_time() + SIM_MS);
    join(&tree, 5); /* its own engine is there */
    sim_sleep_until(sim_local_time() + 20 * SIM_S);
    /* The root's result for the dead engine, or the join of the engine below the dead one. */
    assert_int_equal(error_event(errors, GNI_ERRMASK_TRANSACTION, A_STATUS_ORB_TIMEOUT), !queue);
    if (queue)
        expect_event(&tree, A_STATUS_ORB_TIMEOUT, rank->id == 0 ? 2 : 1, 5);
    domain_close(&tree.domain);
}

static void ugni_126_engines_without_a_queue(void **state)
{
    static const bool queues[] = {false, true};
    size_t i;

    for (crash.node = 0; crash.node < 2; crash.node++)
        for (i = 0; i < 2; i++)
            machine_run(&(struct machine){.ranks = 2,
                                          .unbalanced = true,
                                          .argument = (void *)&queues[i],
                                          .main = unheard_main});
}

/*
 * The tree is reconfigured while a join is in flight, so only an error event can report its
 * failure.
 */
static void forgotten_main(struct rank *rank)
{
    gni_err_handle_t errors;
    struct tree tree;

    tree_open(rank, &tree, 1, 0);
    assert_ok(GNI_SubscribeErrors(tree.domain.nic, 0, GNI_ERRMASK_TRANSACTION, 0, &errors));
    join(&tree, 5);
    if (rank->id == 1) {
        assert_ok(GNI_CeDestroy(tree.ce));
        sim_sleep_until(sim_local_time() + 20 * SIM_S);
        assert_true(error_event(errors, GNI_ERRMASK_TRANSACTION, A_STATUS_ORB_TIMEOUT));
    }
    tree_close(&tree);
}

static void ugni_126_engines_that_are_gone(void **state)
{
    machine_run(
        &(struct machine){.ranks = 2, .prepare = drop_join_of_engine, .main = forgotten_main});
}

/* Ranks end one by one, with joins of others on the way and results to come. */
static void leave_main(struct rank *rank)
{
    uint32_t polls;
    struct tree tree;

    tree_open(rank, &tree, 2, 0);
    describe(&tree, 5);
    tree.descr.cq_mode = GNI_CQMODE_SILENT;
    tree_post(&tree);
    if (rank->id == *(const uint32_t *)rank->machine->argument) {
        domain_close(&tree.domain);
        return;
    }
    for (polls = 0; polls < 300 && GNI_CeCheckResult(tree.result, 0) == GNI_RC_NOT_DONE; polls++)
        sim_sleep_until(sim_local_time() + SIM_US);
    domain_close(&tree.domain);
}

static void ranks_leave_in_mid_reduction(void **state)
{
    uint32_t who;

    for (who = 0; who < 8; who++)
        machine_run(&(struct machine){
            .ranks = 8, .ranks_per_node = 2, .argument = &who, .main = leave_main});
}

/* ---- handles in any order -------------------------------------------------------------------- */

static void destroy_main(struct rank *rank)
{
    uint32_t order = *(const uint32_t *)rank->machine->argument, i;
    struct tree tree;

    tree_open(rank, &tree, 1, GNI_CE_MODE_CQE_ONCOMP);
    describe(&tree, 5);
    tree_post(&tree);
    sim_spend(order * 100 * SIM_NS);
    for (i = 0; i < 4; i++)
        switch ((order >> 2 * i) & 3) {
        case 0:
            GNI_CeDestroy(tree.ce);
            break;
        case 1:
            GNI_EpDestroy(tree.leaf);
            break;
        case 2:
            GNI_CqDestroy(tree.events);
            break;
        default:
            GNI_MemDeregister(tree.domain.nic, &tree.handle);
        }
    assert_rc(GNI_PostFma(NULL, &tree.descr), GNI_RC_INVALID_PARAM);
    sim_spend(SIM_US);
    domain_close(&tree.domain);
    assert_rc(GNI_CeDestroy(tree.ce), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_CeConfigure(tree.ce, &tree.leaf, 1, NULL, NULL, 0), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_EpSetCeAttr(tree.leaf, 0, 0, GNI_CE_CHILD_PE), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_CeCreate(tree.domain.nic, &tree.ce), GNI_RC_INVALID_PARAM);
}

static void handles_die_in_any_order(void **state)
{
    uint32_t order;

    for (order = 0; order < 256; order += 15 / (uint32_t)test_seeds(3, 3))
        machine_run(&(struct machine){.ranks = 2, .argument = &order, .main = destroy_main});
}

/* ---- the same every time --------------------------------------------------------------------- */

static void storm_main(struct rank *rank)
{
    struct tree tree;
    uint32_t i;

    tree_open(rank, &tree, 3, GNI_CE_MODE_CQE_ONCOMP);
    for (i = 0; i < 20; i++) {
        join(&tree, i);
        expect_sum(&tree, rank->machine->ranks);
    }
    tree_close(&tree);
}

static void runs_repeat(void **state)
{
    struct machine first = {.ranks = 24, .ranks_per_node = 3, .main = storm_main}, second = first;

    machine_run(&first);
    machine_run(&second);
    assert_int_equal(first.digest, second.digest);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_die_in_mid_reduction),
        cmocka_unit_test(ugni_126_engines_without_a_queue),
        cmocka_unit_test(ugni_126_engines_that_are_gone),
        cmocka_unit_test(ranks_leave_in_mid_reduction),
        cmocka_unit_test(handles_die_in_any_order),
        cmocka_unit_test(runs_repeat),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
