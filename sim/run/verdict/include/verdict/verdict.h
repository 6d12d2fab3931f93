/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Whether a run did what its scenario expects. */
#ifndef JACQUARD_RUN_VERDICT_H
#define JACQUARD_RUN_VERDICT_H

#include "cluster/cluster.h"
#include "engine/finding.h"

enum { EXIT_HOLDS = 0, EXIT_BROKEN = 1, EXIT_BAD_INPUT = 2, EXIT_STUCK = 3 };

/* The verdict alone: an array for "expectations" and the exit code. */
json_t *verdict_json(const struct cluster *cluster, int *exit_code);
const char *verdict_outcome_name(const struct cluster *cluster);
/* Whether an expectation allows the findings of a rule. An error that none allows fails the run. */
bool verdict_finding_allowed(const struct cluster *cluster, const struct sim_finding_rule *rule);
/* Whether the rule was broken, and makes the run fail. */
bool verdict_finding_fails(const struct cluster *cluster, const struct sim_finding_rule *rule);
bool verdict_job_failed(const struct job *job);

/*
 * story.c: how a run came to fail, in order of time: the fault that was injected, the transfer that
 * it hit, the rank that failed by it or the chain of ranks that wait for it. An array of texts,
 * empty if no rank failed or waits. *signature (g_free) is the same without numbers, so that runs
 * with the same cause have the same one; NULL if the array is empty.
 */
json_t *verdict_story_json(const struct cluster *cluster, char **signature);
/* The text with each number replaced by "N". g_free it. */
char *verdict_without_numbers(const char *text);

#endif
