/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Runs the jobs of a scenario with functions of a test in the place of the scenario's workloads. */
#ifndef JACQUARD_TESTS_UNIT_RUN_JOBS_H
#define JACQUARD_TESTS_UNIT_RUN_JOBS_H

#include <stdbool.h>
#include <stdint.h>
#include <jansson.h>
#include "cluster/cluster.h"
#include "verdict/verdict.h"

#define US 1000000ull
#define MS (1000 * US)

#define FABRIC "fabric: {preset: mini2}\n"
#define ONE(fields) FABRIC "jobs: [{name: a, nodes: 0-1, workload: barrier" fields "}]\n"

typedef int program_main(struct rank *rank);

/*
 * Runs the scenario; its jobs execute `mains`, in the order of the file, and NULL stands for the
 * job's own workload. Fails the test if the scenario is refused. The caller frees the result.
 */
json_t *jobs_run_seed(const char *text, program_main *const mains[], uint64_t seed);
/* The exit code of a result, which is freed; prints its problems if the scenario does not hold. */
json_int_t jobs_exit(json_t *result);
json_int_t jobs_run(const char *text, program_main *const mains[]);
json_int_t jobs_run_one(program_main *main); /* one job of two nodes */

bool jobs_never(const void *arg); /* a condition for rank_wait that never holds */
bool jobs_environment_is(const char *name, unsigned long value); /* of the rank that calls */

/* In a program: 0 if the condition holds; otherwise the rank fails with the condition as its text.
 */
#define SAYS(rank, condition) \
    ((condition) ? 0 : rank_fail(rank, "%s:%d: %s", __FILE__, __LINE__, #condition))

#endif
