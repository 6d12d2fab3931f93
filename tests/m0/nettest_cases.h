/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The self-test of m0_net over the transport in memory; 0 or the line of what does not hold. */
#ifndef JACQUARD_TESTS_M0_NETTEST_CASES_H
#define JACQUARD_TESTS_M0_NETTEST_CASES_H

#define M0_RUN_CASES(X)               \
    X(m0_158_e2e_14_echoes_in_memory) \
    X(m0_158_e2e_15_pairs_in_memory)  \
    X(a_node_has_one_test)            \
    X(a_node_that_is_not_there)       \
    X(options_that_are_not_possible)  \
    X(moments_are_exact)              \
    X(commands_are_read_as_written)   \
    X(lines_of_names_and_values)

#define M0_RUN_DECLARE(name) int name(void);
M0_RUN_CASES(M0_RUN_DECLARE)

/* A simulated process ends m0_net itself. */
void nettest_end(void);
#define M0_AFTER nettest_end

#endif
