/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The collective engine when something goes wrong: checklist items 123 and 38 (aries), lost
 * packets, lost nodes, handles destroyed in any order. */
#include "ce_tree.h"

#include <string.h>

/* ---- joins that are refused --------------------------------------------------------------------
 */

/* Describes a join of 1 for the sum, silent or with an event. */
static void describe(struct tree *tree, uint64_t reduction_id)
{
    tree_describe(tree, 0, GNI_FMA_CE_IADD, 0, reduction_id, 1, 0);
}

static void expect_refused(struct tree *tree, unsigned status, const char *text)
{
    gni_post_descriptor_t *collected;
    uint32_t recoverable = 7;
    gni_cq_entry_t event;
    gni_return_t result;
    char buffer[128];

    tree_post(tree);
    event = next_event(tree->domain.source, &result);
    assert_rc(result, GNI_RC_TRANSACTION_ERROR);
    assert_int_equal(GNI_CQ_GET_STATUS(event), status);
    assert_int_equal(GNI_CQ_GET_TYPE(event), GNI_CQ_EVENT_TYPE_POST);
    assert_ok(GNI_CqErrorStr(event, buffer, sizeof buffer));
    assert_string_equal(buffer, text);
    assert_ok(GNI_CqErrorRecoverable(event, &recoverable));
    assert_int_equal(recoverable, 0);
    assert_rc(GNI_GetCompleted(tree->domain.source, event, &collected), GNI_RC_TRANSACTION_ERROR);
    assert_ptr_equal(collected, &tree->descr);
    assert_int_equal(tree->descr.status, GNI_RC_TRANSACTION_ERROR);
    assert_rc(GNI_CeCheckResult(tree->result, 0), GNI_RC_NOT_DONE);
}

static void join(struct tree *tree, uint64_t reduction_id)
{
    describe(tree, reduction_id);
    tree_post(tree);
    complete(tree->domain.source, &tree->descr);
}

static void expect_sum(struct tree *tree, uint64_t sum)
{
    assert_rc(tree_wait(tree), GNI_RC_SUCCESS);
    assert_int_equal(tree->result->result1, sum);
}

static void mismatch_main(struct rank *rank)
{
    struct tree tree;

    tree_open(rank, &tree, 1, 0);
    if (rank->id == 0)
        join(&tree, 5);
    machine_barrier(rank);
    if (rank->id == 1) {
        describe(&tree, 6);
        expect_refused(&tree, A_STATUS_CE_REDUCTION_ID_MISMATCH,
                       "SOURCE_SSID:CE_REDUCTION_ID_MISMATCH:CPLTN_DREQ");
        join(&tree, 5); /* the other's reduction goes on */
    }
    expect_sum(&tree, 2);
    tree_close(&tree);
}

static void ugni_123_reduction_id_mismatch(void **state)
{
    machine_run(&(struct machine){.ranks = 2, .ranks_per_node = 2, .main = mismatch_main});
}

static void duplicate_main(struct rank *rank)
{
    struct tree tree;

    tree_open(rank, &tree, 1, 0);
    if (rank->id == 1) {
        join(&tree, 5);
        expect_refused(&tree, A_STATUS_CE_JOIN_DUPLICATE,
                       "SOURCE_SSID:CE_JOIN_DUPLICATE:CPLTN_DREQ");
        tree.descr.ce_red_id = 6; /* the next one is too early, too */
        expect_refused(&tree, A_STATUS_CE_JOIN_DUPLICATE,
                       "SOURCE_SSID:CE_JOIN_DUPLICATE:CPLTN_DREQ");
    }
    machine_barrier(rank);
    if (rank->id == 0)
        join(&tree, 5);
    expect_sum(&tree, 2);
    tree_close(&tree);
}

static void aries_38_duplicate_join(void **state)
{
    machine_run(&(struct machine){.ranks = 2, .main = duplicate_main});
}

static void refused_main(struct rank *rank)
{
    struct domain other;
    struct tree tree, other_tag;

    tree_open(rank, &tree, 1, 0);
    if (rank->id != 1)
        join(&tree, 5);
    machine_barrier(rank);
    if (rank->id == 1) { /* child 1 of its engine, of which child 2 is the other node's */
        /* As a child that the engine does not have, and as one that is no process. */
        describe(&tree, 5);
        assert_ok(GNI_EpSetCeAttr(tree.leaf, 0, 9, GNI_CE_CHILD_PE));
        expect_refused(&tree, A_STATUS_CE_JOIN_CHILD_INV,
                       "SOURCE_SSID:CE_JOIN_CHILD_INV:CPLTN_DREQ");
        assert_ok(GNI_EpSetCeAttr(tree.leaf, 0, 2, GNI_CE_CHILD_PE));
        expect_refused(&tree, A_STATUS_CE_JOIN_CHILD_INV,
                       "SOURCE_SSID:CE_JOIN_CHILD_INV:CPLTN_DREQ");
        /* To channels that are in no tree. */
        assert_ok(GNI_EpSetCeAttr(tree.leaf, 1, 1, GNI_CE_CHILD_PE));
        expect_refused(&tree, A_STATUS_CE_OPERATION_UNEXPECTED,
                       "SOURCE_SSID:CE_OPERATION_UNEXPECTED:CPLTN_DREQ");
        assert_ok(GNI_EpSetCeAttr(tree.leaf, 1234567, 1, GNI_CE_CHILD_PE));
        expect_refused(&tree, A_STATUS_CE_OPERATION_UNEXPECTED,
                       "SOURCE_SSID:CE_OPERATION_UNEXPECTED:CPLTN_DREQ");
        /* Another command, another number of operands. */
        assert_ok(GNI_EpSetCeAttr(tree.leaf, 0, 1, GNI_CE_CHILD_PE));
        tree.descr.ce_cmd = GNI_FMA_CE_IADD_S;
        expect_refused(&tree, A_STATUS_CE_JOIN_INCONSISTENT,
                       "SOURCE_SSID:CE_JOIN_INCONSISTENT:CPLTN_DREQ");
        tree.descr.ce_cmd = GNI_FMA_CE_IADD;
        tree.descr.ce_mode = GNI_CEMODE_TWO_OP;
        expect_refused(&tree, A_STATUS_CE_JOIN_INCONSISTENT,
                       "SOURCE_SSID:CE_JOIN_INCONSISTENT:CPLTN_DREQ");
        /* With another protection tag. */
        other_tag = tree;
        domain_open_as(&other, 9, MACHINE_PTAG_OTHER, MACHINE_COOKIE_OTHER,
                       GNI_CDM_MODE_ERR_NO_KILL);
        other_tag.domain = other;
        other_tag.leaf = tree_ep(&other_tag, 0, 0, 1, GNI_CE_CHILD_PE);
        other_tag.descr.ce_mode = 0;
        expect_refused(&other_tag, A_STATUS_CE_PROTECTION_ERR,
                       "SOURCE_SSID:CE_PROTECTION_ERR:CPLTN_DREQ");
        domain_close(&other);
        join(&tree, 5);
    }
    expect_sum(&tree, 4);
    tree_close(&tree);
}

static void joins_are_refused(void **state)
{
    machine_run(&(struct machine){.ranks = 4, .ranks_per_node = 2, .main = refused_main});
}

/* ---- engines whose join is refused -------------------------------------------------------------
 */

static void expect_event(struct tree *tree, unsigned status, unsigned type, uint64_t reduction_id)
{
    gni_cq_entry_t event;

    assert_rc(GNI_CqWaitEvent(tree->events, UINT64_MAX, &event), GNI_RC_TRANSACTION_ERROR);
    assert_int_equal(GNI_CQ_GET_STATUS(event), status);
    assert_int_equal(GNI_CQ_GET_CE_ID(event), tree->ce_id);
    assert_int_equal(GNI_CQ_GET_TRANS_TYPE(event), type);
    assert_int_equal(GNI_CQ_GET_REDUCTN_ID(event), reduction_id);
}

static void expect_failed(struct tree *tree, unsigned status, uint64_t reduction_id)
{
    assert_rc(tree_wait(tree), GNI_RC_TRANSACTION_ERROR);
    assert_false(GNI_CE_RES_STATUS_OK(tree->result));
    assert_int_equal(GNI_CE_RES_GET_STATUS(tree->result), status);
    assert_int_equal(GNI_CE_RES_GET_RED_ID(tree->result), reduction_id);
    assert_int_equal(tree->result->result1, 0);
}

static void engine_mismatch_main(struct rank *rank)
{
    struct tree tree;

    tree_open(rank, &tree, 1, GNI_CE_MODE_CQE_ONERR);
    if (rank->id < 2)
        join(&tree, 5);
    machine_barrier(rank);
    if (rank->id >= 2) {
        join(&tree, 6); /* its own engine has nothing against it */
        expect_failed(&tree, A_STATUS_CE_REDUCTION_ID_MISMATCH, 6);
        if (tree.leads)
            expect_event(&tree, A_STATUS_CE_REDUCTION_ID_MISMATCH, 1, 6);
        machine_barrier(rank);
        join(&tree, 5);
    } else {
        machine_barrier(rank);
    }
    expect_sum(&tree, 4);
    tree_close(&tree);
}

static void ugni_123_mismatch_of_engines(void **state)
{
    machine_run(&(struct machine){.ranks = 4, .ranks_per_node = 2, .main = engine_mismatch_main});
}

/* ---- results that find no memory ---------------------------------------------------------------
 */

static void no_memory_main(struct rank *rank)
{
    gni_mem_handle_t handle;
    struct tree tree;

    tree_open(rank, &tree, 1, GNI_CE_MODE_CQE_ONERR);
    handle = tree.handle;
    if (rank->id == 1) {
        join(&tree, 5);
        assert_ok(GNI_MemDeregister(tree.domain.nic, &handle));
    }
    machine_barrier(rank);
    if (rank->id == 0) {
        join(&tree, 5);
        expect_sum(&tree, 2);
        expect_event(&tree, A_STATUS_AT_MDD_INV, 2, 5);
    }
    machine_barrier(rank);
    assert_rc(GNI_CeCheckResult(tree.result, 0), rank->id == 0 ? GNI_RC_SUCCESS : GNI_RC_NOT_DONE);
    tree_close(&tree);
}

static void result_without_memory(void **state)
{
    machine_run(&(struct machine){.ranks = 2, .ranks_per_node = 2, .main = no_memory_main});
}

static void nowhere_main(struct rank *rank)
{
    gni_ep_handle_t child, parent;
    struct tree tree;

    tree_prepare(rank, &tree, 1);
    assert_ok(GNI_EpCreate(tree.domain.nic, tree.domain.source, &parent));
    assert_ok(GNI_EpBind(parent, 0x3ffff, 3)); /* there is no such node */
    assert_ok(GNI_EpSetCeAttr(parent, 0, 0, GNI_CE_CHILD_VCE));
    child = tree_ep(&tree, 0, 0, 0, GNI_CE_CHILD_PE);
    assert_ok(GNI_CeConfigure(tree.ce, &child, 1, parent, tree.events, 0));
    join(&tree, 5);
    expect_failed(&tree, A_STATUS_PE_BOUNDS_ERR, 5);
    expect_event(&tree, A_STATUS_PE_BOUNDS_ERR, 1, 5);
    tree_close(&tree);
}

static void parent_nowhere(void **state)
{
    machine_run(&(struct machine){.ranks = 1, .main = nowhere_main});
}

/* ---- lost packets ------------------------------------------------------------------------------
 */

static void strike(enum sim_fault_action action, uint32_t source, uint32_t target, uint32_t kind)
{
    struct sim_fault_rule rule = packet_rule(action, kind);

    rule.source = source;
    rule.target = target;
    packet_rule_add(&rule);
}

static void drop(uint32_t source, uint32_t target, uint32_t kind)
{
    strike(SIM_FAULT_DROP, source, target, kind);
}

/* One node: the first request is a join, the first response that of a join. */
static void drop_join(struct machine *machine)
{
    drop(0, 0, NET_REQUEST);
}

static void lost_join_main(struct rank *rank)
{
    uint32_t recoverable = 0;
    gni_post_descriptor_t *collected;
    gni_cq_entry_t event;
    gni_return_t result;
    struct tree tree;

    tree_open(rank, &tree, 1, 0);
    describe(&tree, 5);
    tree_post(&tree);
    event = next_event(tree.domain.source, &result);
    assert_rc(result, GNI_RC_TRANSACTION_ERROR);
    assert_int_equal(GNI_CQ_GET_STATUS(event), A_STATUS_ORB_TIMEOUT);
    assert_ok(GNI_CqErrorRecoverable(event, &recoverable));
    assert_int_equal(recoverable, 1);
    assert_rc(GNI_GetCompleted(tree.domain.source, event, &collected), GNI_RC_TRANSACTION_ERROR);
    assert_rc(GNI_CeCheckResult(tree.result, 0), GNI_RC_NOT_DONE);
    tree_post(&tree); /* as it says: again */
    complete(tree.domain.source, &tree.descr);
    expect_sum(&tree, 1);
    tree_close(&tree);
}

static void lost_join_is_repeated(void **state)
{
    machine_run(&(struct machine){.ranks = 1, .prepare = drop_join, .main = lost_join_main});
}

static void drop_response(struct machine *machine)
{
    drop(0, 0, NET_RESPONSE);
}

/* An error does not mean: not joined. */
static void lost_response_main(struct rank *rank)
{
    struct tree tree;

    tree_open(rank, &tree, 1, 0);
    describe(&tree, 5);
    tree_post(&tree);
    assert_int_equal(complete_failed(tree.domain.source, &tree.descr), A_STATUS_ORB_TIMEOUT);
    assert_rc(GNI_CeCheckResult(tree.result, 0), GNI_RC_SUCCESS);
    assert_int_equal(tree.result->result1, 1);
    tree_close(&tree);
}

static void lost_response(void **state)
{
    machine_run(
        &(struct machine){.ranks = 1, .prepare = drop_response, .main = lost_response_main});
}

/* Two nodes, the second one's engine below the first's. */
static void drop_join_of_engine(struct machine *machine)
{
    drop(1, 0, NET_REQUEST);
}

static void lost_join_of_engine_main(struct rank *rank)
{
    struct tree tree;

    tree_open(rank, &tree, 1, 0);
    join(&tree, 5);
    if (rank->id == 1) {
        expect_failed(&tree, A_STATUS_ORB_TIMEOUT, 5);
        expect_event(&tree, A_STATUS_ORB_TIMEOUT, 1, 5);
        join(&tree, 5); /* the root still waits */
    }
    expect_sum(&tree, 2);
    tree_close(&tree);
}

static void lost_join_of_engine(void **state)
{
    machine_run(&(struct machine){
        .ranks = 2, .prepare = drop_join_of_engine, .main = lost_join_of_engine_main});
}

static void drop_response_to_engine(struct machine *machine)
{
    drop(0, 1, NET_RESPONSE);
}

/* The result came all the same, and the next reduction is not disturbed. */
static void lost_response_to_engine_main(struct rank *rank)
{
    struct tree tree;

    tree_open(rank, &tree, 1, 0);
    join(&tree, 5);
    expect_sum(&tree, 2);
    join(&tree, 6);
    expect_sum(&tree, 2);
    if (rank->id == 1)
        expect_event(&tree, A_STATUS_ORB_TIMEOUT, 1, 5);
    machine_barrier(rank);
    join(&tree, 7);
    expect_sum(&tree, 2);
    tree_close(&tree);
}

static void lost_response_to_engine(void **state)
{
    machine_run(&(struct machine){
        .ranks = 2, .prepare = drop_response_to_engine, .main = lost_response_to_engine_main});
}

static void drop_result(struct machine *machine)
{
    drop(0, 1, NET_REQUEST);
}

/* Whoever is above hears of it; those below wait, until they give up: a new tree helps. */
static void lost_result_main(struct rank *rank)
{
    struct tree tree;

    tree_open(rank, &tree, 1, 0);
    join(&tree, 5);
    if (rank->id == 0) {
        expect_sum(&tree, 2);
        expect_event(&tree, A_STATUS_ORB_TIMEOUT, 2, 5);
    }
    machine_barrier(rank);
    if (rank->id == 1) {
        assert_rc(GNI_CeCheckResult(tree.result, 0), GNI_RC_NOT_DONE);
        describe(&tree, 6);
        expect_refused(&tree, A_STATUS_CE_JOIN_DUPLICATE,
                       "SOURCE_SSID:CE_JOIN_DUPLICATE:CPLTN_DREQ");
    }
    tree_configure(&tree, 0);
    machine_barrier(rank);
    join(&tree, 7);
    expect_sum(&tree, 2);
    tree_close(&tree);
}

static void lost_result(void **state)
{
    machine_run(&(struct machine){.ranks = 2, .prepare = drop_result, .main = lost_result_main});
}

static void corrupt_all(struct machine *machine)
{
    strike(SIM_FAULT_CORRUPT, 0, 0, NET_REQUEST);
}

static void corrupt_main(struct rank *rank)
{
    struct tree tree;

    tree_open(rank, &tree, 1, 0);
    describe(&tree, 5);
    tree_post(&tree);
    assert_int_equal(complete_failed(tree.domain.source, &tree.descr), A_STATUS_DATA_ERR);
    join(&tree, 5);
    expect_sum(&tree, 1);
    tree_close(&tree);
}

static void poisoned_join(void **state)
{
    machine_run(&(struct machine){.ranks = 1, .prepare = corrupt_all, .main = corrupt_main});
}

/* ---- nodes and processes that go away ----------------------------------------------------------
 */

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
        for (after = 0; after < 4 * SIM_US; after += 170 * SIM_NS) {
            crash.node = node;
            machine_run(&(struct machine){
                .ranks = 7, .unbalanced = true, .argument = &after, .main = crash_main});
        }
}

/* ---- engines without a queue: what fails is told by error events -------------------------------
 */

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

/* The node dies whose rank has joined; of two, the upper one or the lower one. */
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

/* Its tree is taken apart while its join is on the way: nobody else could be told. */
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

/* ---- handles in any order ----------------------------------------------------------------------
 */

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

    for (order = 0; order < 256; order += 5)
        machine_run(&(struct machine){.ranks = 2, .argument = &order, .main = destroy_main});
}

/* ---- the same every time -----------------------------------------------------------------------
 */

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
        cmocka_unit_test(ugni_123_reduction_id_mismatch),
        cmocka_unit_test(ugni_123_mismatch_of_engines),
        cmocka_unit_test(aries_38_duplicate_join),
        cmocka_unit_test(joins_are_refused),
        cmocka_unit_test(result_without_memory),
        cmocka_unit_test(parent_nowhere),
        cmocka_unit_test(lost_join_is_repeated),
        cmocka_unit_test(lost_response),
        cmocka_unit_test(lost_join_of_engine),
        cmocka_unit_test(lost_response_to_engine),
        cmocka_unit_test(lost_result),
        cmocka_unit_test(poisoned_join),
        cmocka_unit_test(nodes_die_in_mid_reduction),
        cmocka_unit_test(ugni_126_engines_without_a_queue),
        cmocka_unit_test(ugni_126_engines_that_are_gone),
        cmocka_unit_test(ranks_leave_in_mid_reduction),
        cmocka_unit_test(handles_die_in_any_order),
        cmocka_unit_test(runs_repeat),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
