/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* m0_net and its ping over the transport in memory; 0 or the line of what does not hold. */
#ifndef JACQUARD_TESTS_M0_PING_CASES_H
#define JACQUARD_TESTS_M0_PING_CASES_H

#define M0_RUN_CASES(X)                 \
    X(all_queues_work_in_memory)        \
    X(nobody_answers)                   \
    X(an_address_is_used_once)          \
    X(a_machine_stops_before_it_starts) \
    X(receive_queues_are_filled_from_a_pool)

#define M0_RUN_DECLARE(name) int name(void);
M0_RUN_CASES(M0_RUN_DECLARE)

/* A simulated process ends m0_net itself. */
void ping_end(void);
#define M0_AFTER ping_end

#endif
