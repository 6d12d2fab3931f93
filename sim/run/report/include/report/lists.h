/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What there is to choose from, for --list-workloads, --list-presets, --list-params. */
#ifndef JACQUARD_RUN_LISTS_H
#define JACQUARD_RUN_LISTS_H

#include <glib.h>
#include <jansson.h>

json_t *workloads_json(void);
json_t *presets_json(void);
json_t *params_json(void);
void workloads_print(GString *out);
void presets_print(GString *out);
void params_print(GString *out);

#endif
