/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Joins that are refused, results without memory and lost packets: checklist items 123 and 38
 * (aries). */
#include "ce_error_frame.h"

#include <string.h>

/* ---- joins that are refused ------------------------------------------------------------------ */

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

/* ---- engines whose join is refused ----------------------------------------------------------- */

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

/* ---- results that find no memory ------------------------------------------------------------- */

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

/* ---- lost packets ---------------------------------------------------------------------------- */

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

/* The channel above gets an event. The children wait until they give up; a new tree helps. */
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
    inject_fault(SIM_FAULT_CORRUPT, 0, 0, NET_REQUEST);
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
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
