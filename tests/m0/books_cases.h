/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The ledger's books of m0_net: what keeps them, and programs and defects that do not. */
#ifndef JACQUARD_TESTS_M0_BOOKS_CASES_H
#define JACQUARD_TESTS_M0_BOOKS_CASES_H

#define M0_RUN_CASES(X) X(everything_ends)

/* In a simulation: what the ledger says. Those after the third plant a defect of the driver or the
 * transport. */
#define M0_UNBALANCED(X)                                                                \
    X(a_buffer_is_kept_from_its_pool, "m0.pool: a.0: 1 are open at the end")            \
    X(buffers_are_queued_at_the_end, "m0.buffer: a.1: 2 are open at the end")           \
    X(a_passive_buffer_is_never_used, "m0.desc: a.0: 1 are open at the end")            \
    X(a_page_stays_pinned, "m0.pin: 2 events handed in, but 0 delivered")               \
    X(a_buffer_has_two_final_events, "m0.buffer: a.0: more have ended than have begun") \
    X(an_event_is_not_delivered, "m0.message: a.0: 1 are open at the end")              \
    X(an_event_is_delivered_twice, "m0.message: a.1: more have ended than have begun")  \
    X(slots_stay_reserved, "m0.slot: a.0: 2 are open at the end")                       \
    X(slots_are_released_twice, "m0.slot: a.1: more have ended than have begun")        \
    X(a_machine_stays_in_the_driver, "m0.machine: 2 events handed in, but 0 delivered")

#define M0_RUN_DECLARE(name, ...) int name(void);
M0_RUN_CASES(M0_RUN_DECLARE)
M0_UNBALANCED(M0_RUN_DECLARE)

#endif
