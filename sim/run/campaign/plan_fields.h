/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef JACQUARD_CAMPAIGN_PLAN_FIELDS_H
#define JACQUARD_CAMPAIGN_PLAN_FIELDS_H

#include "campaign/plan.h"

extern const struct schema campaign_schema; /* a struct campaign_plan */

/* The default of `results`: beside the campaign file, with its name. g_free it. */
char *campaign_plan_default_results(const char *file);

#endif
