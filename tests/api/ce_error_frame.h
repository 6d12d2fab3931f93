/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Helpers of the tests of failing collectives. */
#ifndef JACQUARD_TESTS_CE_ERROR_FRAME_H
#define JACQUARD_TESTS_CE_ERROR_FRAME_H

#include "ce_tree.h"

/* Describes a join of 1 for the sum, silent or with an event. */
void describe(struct tree *tree, uint64_t reduction_id);
void join(struct tree *tree, uint64_t reduction_id);
void expect_sum(struct tree *tree, uint64_t sum);
void expect_event(struct tree *tree, unsigned status, unsigned type, uint64_t reduction_id);
void inject_fault(enum sim_fault_action action, uint32_t source, uint32_t target, uint32_t kind);
void drop(uint32_t source, uint32_t target, uint32_t kind);
/* Two nodes, the second one's engine below the first's. */
void drop_join_of_engine(struct machine *machine);

#endif
