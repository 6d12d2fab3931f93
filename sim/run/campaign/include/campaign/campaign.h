/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Many runs of one scenario: seeds, combinations of a sweep, or both. Each run is a process of its
 * own, as many at a time as there are cores.
 */
#ifndef JACQUARD_RUN_CAMPAIGN_H
#define JACQUARD_RUN_CAMPAIGN_H

#include "report/report.h"

#define CAMPAIGN_RUNS_MAX 1000000u

struct campaign {
    const char *file;
    const char *text; /* the scenario, as if `file` contained it; NULL: what `file` contains */
    const struct override *overrides; /* of the command line: before those of the sweep */
    size_t override_count;
    uint64_t first_seed, last_seed;
    bool seeds; /* else the scenario's own seed */
    unsigned parallel;
    const char *out; /* folder for one folder per run; NULL: none. It exists. */
    struct progress *progress;
    /* from the scenario */
    size_t axes;
    const struct tree *const *axis; /* lists of values; key: path */
};

/* One run: its axes' values and seed are in *overrides. Used in the child. */
typedef json_t *(*campaign_run)(const struct campaign *campaign, const struct override *overrides,
                                size_t count, const char *name, char **error);

/* The override for one value of a sweep; messages name its file and line. */
struct override campaign_override(const struct tree *axis, const struct tree *value);
uint64_t campaign_size(const struct campaign *campaign);

/*
 * Does all runs. The result has "runs" (each with "run": its name, "set", "seed", then the run's
 * result, or "error"), "digest" of all and "summary"; "exit" is 0 when all hold, else 1; 2 when
 * every run was bad input.
 */
json_t *campaign_execute(const struct campaign *campaign, campaign_run run);

/*
 * Runs the seeds from `first` to `last` until one fails, a few for each core at a time. False: all
 * hold. The campaign's own seeds are not used; its progress is not shown.
 */
bool campaign_first_failure(const struct campaign *campaign, uint64_t first, uint64_t last,
                            campaign_run run, uint64_t *seed);

/*
 * The failed runs by cause: a list of objects with "signature", "count", and of the first of them
 * "run", "seed" (if there are seeds), "exit" and "problem". In the order of the first runs.
 */
json_t *campaign_groups_json(const json_t *runs);
void campaign_groups_print(const json_t *groups, GString *out);

/* A table for people. */
void campaign_print(const struct campaign *campaign, const json_t *result, bool color,
                    GString *out);

#endif
