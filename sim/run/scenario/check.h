/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Between the parts of the check: checks that need more than one field. Each part fills in what it
 * found. */
#ifndef JACQUARD_RUN_CHECK_H
#define JACQUARD_RUN_CHECK_H

#include "scenario/scenario.h"

bool scenario_check_fabric(struct scenario *scenario, char **error);
bool scenario_check_jobs(struct scenario *scenario, const struct scenario_options *options,
                         char **error);
/* The number of the network of that name; NULL: the first one. `record` has the field `network`. */
bool scenario_find_network(const struct scenario *scenario, const struct tree *record,
                           const char *path, const char *name, uint32_t *index, char **error);
bool scenario_check_faults(struct scenario *scenario, char **error);
bool scenario_check_lnet(struct scenario *scenario, char **error);
bool scenario_check_expectations(struct scenario *scenario, char **error);

/* Always false. The message names the line of `field` of `record`, or the record's, and the path of
 * the field. */
bool scenario_refuse(char **error, const struct tree *record, const char *path, const char *field,
                     const char *what);
bool scenario_refuse_free(char **error, const struct tree *record, const char *path,
                          const char *field, char *what); /* frees what */

/* Whether it is a list (or mapping, by `type`) of texts; false: *error says what is `allowed`. */
bool scenario_check_texts(const struct tree *texts, enum tree_type type, const char *field,
                          const char *allowed, const char *path, char **error);

/* At most 60 letters, digits, - and _, starting with a letter. */
bool scenario_is_word(const char *text);

#endif
