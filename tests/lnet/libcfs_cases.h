/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What kernel code takes from libcfs; 0 or the line of what does not hold. */
#ifndef JACQUARD_TESTS_LNET_LIBCFS_CASES_H
#define JACQUARD_TESTS_LNET_LIBCFS_CASES_H

#define M0_RUN_CASES(X)                                  \
    X(lnet_99_failures_that_a_test_asks_for)             \
    X(lnet_99_a_failure_that_takes_time)                 \
    X(lnet_99_a_race_of_two_threads)                     \
    X(lnet_99_a_hash_table_grows_and_shrinks)            \
    X(lnet_99_iterations_of_a_hash_table)                \
    X(lnet_99_chains_of_a_hash_table_without_references) \
    X(lnet_99_a_hash_table_of_several_threads)           \
    X(lnet_99_messages_by_their_masks)                   \
    X(lnet_99_messages_that_come_too_often)              \
    X(lnet_99_pointers_in_messages)                      \
    X(lnet_99_texts_and_numbers_of_libcfs)               \
    X(lnet_99_expressions_of_numbers)                    \
    X(lnet_99_arguments_are_evaluated_once)              \
    X(lnet_99_memory_and_partitions_of_libcfs)           \
    X(lnet_99_tables_of_partitions)                      \
    X(lnet_99_the_date)

#define M0_RUN_DECLARE(name) int name(void);
M0_RUN_CASES(M0_RUN_DECLARE)

#endif
