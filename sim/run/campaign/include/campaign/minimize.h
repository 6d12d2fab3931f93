/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Reduces a failing scenario to a small one that fails in the same way. */
#ifndef JACQUARD_CAMPAIGN_MINIMIZE_H
#define JACQUARD_CAMPAIGN_MINIMIZE_H

#include "campaign/campaign.h"

struct campaign_minimize {
    const char *file; /* of the scenario */
    const char *out; /* folder for the scenario, made if it is missing; NULL: the working folder */
};

/*
 * Repeats the run with less: fewer faults (by `only`), jobs and ranks, smaller counts and sizes in
 * the workloads' arguments. It keeps what ends with the same exit code and the same signature, and
 * writes that scenario. The result has "scenario" (the file), "sentence", "signature", "runs" and
 * "result" (of the smallest run). NULL: *error (g_free) is a line, and *status says whether the
 * scenario does not fail (EXIT_BAD_INPUT) or the file cannot be written (EXIT_BROKEN).
 */
json_t *campaign_minimize(const struct campaign_minimize *options, const struct scenario *scenario,
                          campaign_run run, int *status, char **error);
/* For people. */
void campaign_minimize_print(const json_t *result, GString *out);

#endif
