/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A reduction in progress: minimize.c tries, minimize_faults.c and minimize_jobs.c say what. */
#ifndef JACQUARD_CAMPAIGN_MINIMIZER_H
#define JACQUARD_CAMPAIGN_MINIMIZER_H

#include "campaign/minimize.h"

struct minimizer {
    const struct campaign_minimize *options;
    campaign_run run;
    struct tree *best; /* the smallest scenario that fails in the same way */
    json_t *result; /* of `best` */
    char *signature; /* of the first run */
    json_int_t exit;
    unsigned runs;
};

/* Takes over the tree. True: it fails in the same way and is the best one now. */
bool campaign_minimize_try(struct minimizer *minimizer, struct tree *tree);
/* A copy of the tree with another value. NULL: the tree has no such place. */
struct tree *campaign_minimize_with(const struct tree *tree, const char *path, const char *value);
bool campaign_minimize_try_set(struct minimizer *minimizer, const char *path, const char *value);
size_t campaign_minimize_items(const struct tree *tree, const char *key); /* of a list */
/* Removes items of a list that the failure does not need. */
void campaign_minimize_list(struct minimizer *minimizer, const char *key, size_t least);

/* minimize_faults.c: delta debugging of the faults that were injected */
void campaign_minimize_faults(struct minimizer *minimizer);
/* Takes over the tree, which runs less. A smaller run has its failing subject elsewhere: tries the
 * first ones, too. */
bool campaign_minimize_try_smaller(struct minimizer *minimizer, struct tree *tree);
void campaign_minimize_subject(
    struct minimizer *minimizer); /* the first subject that does, of one fault */

/* minimize_jobs.c: ranks, counts and sizes */
void campaign_minimize_jobs(struct minimizer *minimizer);

#endif
