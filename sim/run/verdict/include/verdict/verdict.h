/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Whether a run did what its scenario expects. */
#ifndef JACQUARD_RUN_VERDICT_H
#define JACQUARD_RUN_VERDICT_H

#include "cluster/cluster.h"

enum { EXIT_HOLDS = 0, EXIT_BROKEN = 1, EXIT_BAD_INPUT = 2, EXIT_STUCK = 3 };

/* The verdict alone: an array for "expectations" and the exit code. */
json_t *verdict_json(const struct cluster *cluster, int *exit_code);
const char *verdict_outcome_name(const struct cluster *cluster);
bool verdict_job_failed(const struct job *job);

#endif
