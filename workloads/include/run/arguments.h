/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Between a runner of workloads (sim/run, hw) and the one look-up of arguments that both link
 * (workloads/support/arguments.c). Not for workloads.
 */
#ifndef JACQUARD_RUN_ARGUMENTS_H
#define JACQUARD_RUN_ARGUMENTS_H

#include "run/workload.h"

struct value {
    uint64_t number; /* ARG_COUNT, ARG_BYTES, ARG_TIME (ps), ARG_BOOL (0, 1); in sim-run the index
                        of a choice */
    double real; /* ARG_REAL; for the other numbers the same, converted */
    const char *text; /* ARG_CHOICE: the chosen word */
};

/* The runner has these; both live as long as the rank. */
const struct workload *rank_workload(const struct rank *rank);
const struct value *rank_values(const struct rank *rank); /* in the order of the workload's args */

#endif
