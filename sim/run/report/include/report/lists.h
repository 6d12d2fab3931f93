/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The lists of --list-workloads, --list-presets and --list-params. */
#ifndef JACQUARD_RUN_LISTS_H
#define JACQUARD_RUN_LISTS_H

#include <glib.h>
#include <jansson.h>

json_t *report_workloads_json(void);
json_t *report_presets_json(void);
json_t *report_params_json(void);
json_t *report_rules_json(void); /* of findings */
void report_workloads_print(GString *out);
void report_presets_print(GString *out);
void report_params_print(GString *out);
void report_rules_print(GString *out);

#endif
