/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A campaign file: which scenarios run with which seeds and settings (docs/campaigns.md). */
#ifndef JACQUARD_CAMPAIGN_PLAN_H
#define JACQUARD_CAMPAIGN_PLAN_H

#include <jansson.h>
#include "scenario/scenario.h"

#define CAMPAIGN_PLAN_RUNS_MAX 10000000u
#define CAMPAIGN_SETTINGS_MAX 64u /* of one run */

/* Seeds without a gap. */
struct campaign_seeds {
    uint64_t first, last;
};

/* An item of `runs`, as written. */
struct campaign_block {
    const struct tree *at;
    const struct tree *scenario; /* a file, or a list of files */
    const struct tree *set, *sweep; /* mappings; NULL: not given */
    const char *seeds; /* NULL: the scenario's own seed */
};

/* One scenario of a block: its runs have consecutive numbers. */
struct campaign_part {
    const struct campaign_block *block;
    const char *name; /* the scenario's file as the campaign names it */
    char *file; /* that can be opened */
    struct scenario *scenario; /* as it was checked; owns the values of its own sweep */
    const struct tree **axes; /* lists of values; key: path */
    size_t axis_count;
    struct campaign_seeds *seeds; /* at least one; first == last == own seed if none are given */
    size_t seeds_count;
    bool own_seed; /* no seeds were given */
    uint64_t seed_total; /* of all ranges */
    uint64_t first, count; /* numbers of its runs */
};

struct campaign_plan {
    /* read by the tables; `at` is the whole document */
    const struct tree *at;
    const char *name, *description, *results;
    const struct tree *set; /* for all runs */
    struct record_list blocks;
    /* made from them */
    struct tree *tree;
    char *file;
    struct campaign_part *parts;
    size_t part_count;
    uint64_t size; /* number of runs */
    char *digest; /* SHA-256 of the campaign file and of its scenarios: what a resumed campaign
                     must have */
};

/* One run of a plan. */
struct campaign_run_description {
    const struct campaign_part *part;
    uint64_t seed;
    struct override overrides[CAMPAIGN_SETTINGS_MAX + 1]; /* settings in order, then the seed */
    size_t count;
    char seed_text[24]; /* the seed's override points here */
};

/*
 * Reads and checks a campaign and all its scenarios with each value of their sweeps. NULL: *error
 * (g_free) is one line "file:line: field: what; allowed". Free it with campaign_plan_free().
 */
struct campaign_plan *campaign_plan_load(const char *path, char **error);
void campaign_plan_free(struct campaign_plan *plan);

/* Describes run `number`, which is below plan->size. The description points into the plan. */
void campaign_plan_describe(const struct campaign_plan *plan, uint64_t number,
                            struct campaign_run_description *description);
/* Path and value of each setting of the run, without the seed. json_decref it. */
json_t *campaign_plan_settings(const struct campaign_run_description *description);

/*
 * The file with the results of a campaign: `path` itself if it is one, else what the campaign file
 * `path` says, without a check of its scenarios. NULL: *error (g_free) is a line. g_free it.
 */
char *campaign_results_path(const char *path, char **error);

/* The JSON schema (draft 7) of a campaign file, made from the tables. json_decref it. */
json_t *campaign_plan_schema(void);
/* The tables of the fields as Markdown, for docs/campaigns.md. g_free it. */
char *campaign_plan_reference(void);

#endif
