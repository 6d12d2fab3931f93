/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Helpers of the tests of failing collectives. */
#include "ce_error_frame.h"

#include <string.h>

void describe(struct tree *tree, uint64_t reduction_id)
{
    tree_describe(tree, 0, GNI_FMA_CE_IADD, 0, reduction_id, 1, 0);
}

void join(struct tree *tree, uint64_t reduction_id)
{
    describe(tree, reduction_id);
    tree_post(tree);
    complete(tree->domain.source, &tree->descr);
}

void expect_sum(struct tree *tree, uint64_t sum)
{
    assert_rc(tree_wait(tree), GNI_RC_SUCCESS);
    assert_int_equal(tree->result->result1, sum);
}

void expect_event(struct tree *tree, unsigned status, unsigned type, uint64_t reduction_id)
{
    gni_cq_entry_t event;

    assert_rc(GNI_CqWaitEvent(tree->events, UINT64_MAX, &event), GNI_RC_TRANSACTION_ERROR);
    assert_int_equal(GNI_CQ_GET_STATUS(event), status);
    assert_int_equal(GNI_CQ_GET_CE_ID(event), tree->ce_id);
    assert_int_equal(GNI_CQ_GET_TRANS_TYPE(event), type);
    assert_int_equal(GNI_CQ_GET_REDUCTN_ID(event), reduction_id);
}

void inject_fault(enum sim_fault_action action, uint32_t source, uint32_t target, uint32_t kind)
{
    struct sim_fault_rule rule = packet_rule(action, kind);

    rule.source = source;
    rule.target = target;
    packet_rule_add(&rule);
}

void drop(uint32_t source, uint32_t target, uint32_t kind)
{
    inject_fault(SIM_FAULT_DROP, source, target, kind);
}

void drop_join_of_engine(struct machine *machine)
{
    drop(1, 0, NET_REQUEST);
}
