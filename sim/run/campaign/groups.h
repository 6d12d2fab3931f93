/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Why a run failed. */
#ifndef JACQUARD_CAMPAIGN_GROUPS_H
#define JACQUARD_CAMPAIGN_GROUPS_H

#include <jansson.h>

/* The first problem of the result of a run that failed. */
const char *campaign_problem(const json_t *run);
/* What runs with the same cause have in common: the result's signature, or the problem without its
 * numbers. g_free it. */
char *campaign_signature(const json_t *run);

#endif
