/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Objects of the support library that programs of others use and m0_net does not; 0 or the line of
 * what does not hold. */
#ifndef JACQUARD_TESTS_M0_OBJECTS_CASES_H
#define JACQUARD_TESTS_M0_OBJECTS_CASES_H

#define M0_RUN_CASES(X)                           \
    X(m0_159_buffers_are_compared_and_copied)     \
    X(m0_159_texts_become_buffers_and_come_back)  \
    X(m0_159_integers_have_the_order_of_bytes)    \
    X(m0_159_brands_show_the_type)                \
    X(m0_159_readers_share_and_a_writer_excludes) \
    X(m0_159_a_timer_calls_once_at_its_time)      \
    X(m0_159_a_stopped_timer_does_not_call)       \
    X(m0_159_stopping_waits_for_the_function)     \
    X(m0_159_threads_are_attached_to_a_locality)  \
    X(m0_159_a_server_with_timers_for_its_connections)

#define M0_RUN_DECLARE(name) int name(void);
M0_RUN_CASES(M0_RUN_DECLARE)

#endif
