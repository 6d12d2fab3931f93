/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Runs small programs of a test in the place of a scenario's workloads. */
#ifndef TESTS_UNIT_RANK_PROGRAMS_H
#define TESTS_UNIT_RANK_PROGRAMS_H

#include "cluster/cluster.h"
#include "verdict/verdict.h"

#define US 1000000ull
#define MS (1000 * US)

typedef int program_main(struct rank *rank);

/* The jobs of the scenario execute `mains`, in its order. NULL: the job's own workload. The result
 * (json_decref), or a failed test. */
json_t *programs_result(const char *text, program_main *const mains[], uint64_t seed);
/* Prints problems and frees the result. */
json_int_t programs_exit(json_t *result);
json_int_t programs_run(const char *text, program_main *const mains[]); /* with seed 1 */

#define FABRIC "fabric: {preset: mini2}\n"
#define ONE(fields) FABRIC "jobs: [{name: a, nodes: 0-1, workload: barrier" fields "}]\n"

json_int_t programs_run_one(program_main *main); /* the scenario is ONE("") */

bool programs_never(const void *arg); /* false: a condition that is never met */
/* Whether the rank's variable of its environment has this number. */
bool programs_variable_is(const char *name, unsigned long value);

/* 0, or a failure of the rank that names the line. */
#define SAYS(rank, condition) \
    ((condition) ? 0 : rank_fail(rank, "%s:%d: %s", __FILE__, __LINE__, #condition))

#endif
