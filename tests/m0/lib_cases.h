/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The support library of m0_net, by functions that return 0 or the line of a condition that does
 * not hold: POSIX threads and fibers run the same ones.
 */
#ifndef JACQUARD_TESTS_M0_RUN_CASES_H
#define JACQUARD_TESTS_M0_RUN_CASES_H

#define M0_RUN_CASES(X)                        \
    X(lists_keep_order)                        \
    X(typed_lists_check_and_iterate)           \
    X(bitmaps_find_first_bits)                 \
    X(vectors_are_walked_and_copied)           \
    X(times_saturate)                          \
    X(references_release_once)                 \
    X(a_mutex_is_locked_for_its_owner_only)    \
    X(conditions_time_out_and_wake_in_order)   \
    X(events_between_add_and_wait_are_counted) \
    X(signals_go_round_and_broadcasts_to_all)  \
    X(callbacks_consume_or_leave_pending)      \
    X(groups_gather_pending_events)            \
    X(threads_start_and_end)                   \
    X(confinement_needs_an_existing_processor) \
    X(failures_are_injected_as_armed)

#define M0_RUN_DECLARE(name) int name(void);
M0_RUN_CASES(M0_RUN_DECLARE)

#define M0_BREAKS
/* Breaks a precondition; does not return. */
void m0_lib_break_a_precondition(void);

#endif
