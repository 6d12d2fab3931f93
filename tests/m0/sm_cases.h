/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* State machines, and vectors of extents and pages, as the layer of remote procedure calls uses
 * them; 0 or the line of what does not hold. */
#ifndef JACQUARD_TESTS_M0_SM_CASES_H
#define JACQUARD_TESTS_M0_SM_CASES_H

#define M0_RUN_CASES(X)                         \
    X(m0_159_a_machine_goes_through_its_states) \
    X(m0_159_states_that_lead_on)               \
    X(m0_159_waiting_for_a_state)               \
    X(m0_159_traps_run_under_the_lock)          \
    X(m0_159_the_last_trap_runs_first)          \
    X(m0_159_a_timer_of_a_group)                \
    X(m0_159_a_state_that_takes_too_long)       \
    X(m0_159_descriptions_are_extended)         \
    X(m0_159_extents_are_walked_and_joined)     \
    X(m0_159_pages_with_a_place)                \
    X(m0_159_memory_in_segments_is_compared)

#define M0_RUN_DECLARE(name) int name(void);
M0_RUN_CASES(M0_RUN_DECLARE)

#endif
