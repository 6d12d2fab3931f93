/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A folder of results that appears as a whole: files are written into a sibling
 * "DIR.partial-<pid>", which is renamed at the end. */
#ifndef JACQUARD_RUN_OUTPUT_H
#define JACQUARD_RUN_OUTPUT_H

#include <jansson.h>
#include "scenario/tree.h"

struct output {
    char *folder, *partial;
    bool force;
};

/* False: *error (g_free); nothing was created. A folder that holds files is refused without
 * `force`. */
bool report_output_begin(struct output *output, const char *folder, bool force, char **error);
/* metrics.json (the whole result), ledger.json and scenario.yaml (as run) in `folder`, which
 * exists. */
bool report_output_write(const char *folder, const json_t *result, const struct tree *scenario,
                         char **error);
bool report_output_json(const char *path, const json_t *json, char **error);
/* Renames the folder. False: *error. Frees *output in both cases. */
bool report_output_commit(struct output *output, char **error);
/* Removes what was written. */
void report_output_abort(struct output *output);

#endif
