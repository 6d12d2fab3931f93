/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Between a runner of workloads (sim/run, hw) and what both link: the look-up of arguments
 * (workloads/support/arguments.c) and the parser of values (workloads/support/value.c). Not for
 * workloads.
 */
#ifndef JACQUARD_RUN_ARGUMENTS_H
#define JACQUARD_RUN_ARGUMENTS_H

#include "run/workload.h"

struct value {
    uint64_t
        number; /* ARG_COUNT, ARG_BYTES, ARG_TIME (ps), ARG_BOOL (0, 1), the index of a choice */
    double real; /* ARG_REAL; for the other numbers the same, converted */
    const char *text; /* ARG_CHOICE: the chosen word */
};

/*
 * Parses `text`, which must outlive the value: "4KiB", "10us", "0.5", "on", "put". minimum,
 * maximum: texts in the type's own syntax, NULL: the type's limits; choices: "put|get". False: it
 * is not of the type, or outside the limits.
 */
bool wl_value_parse(enum arg_type type, const char *text, const char *minimum, const char *maximum,
                    const char *choices, struct value *value);

/* The runner has these; both live as long as the rank. */
const struct workload *rank_workload(const struct rank *rank);
const struct value *rank_values(const struct rank *rank); /* in the order of the workload's args */

#endif
