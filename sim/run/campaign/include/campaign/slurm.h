/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A campaign as job arrays of Slurm. No task opens the SQLite file: its locks are not reliable on
 * every shared file system. A task writes its results as batches, files that appear whole in a
 * folder beside the SQLite file; the one process that has the writer's lock adds them to it.
 */
#ifndef JACQUARD_CAMPAIGN_SLURM_H
#define JACQUARD_CAMPAIGN_SLURM_H

#include "campaign/drive.h"
#include "campaign/store.h"

#define CAMPAIGN_ARRAY_MAX 1000u /* tasks of one array; Slurm's default limit is 1,001 */

struct campaign_slurm {
    uint64_t chunk; /* runs of a task; 0: as many as make 200 tasks */
    unsigned processes; /* of a task: its --cpus-per-task */
    const char *partition; /* NULL: Slurm's default */
    char *const *options; /* further options of sbatch, up to NULL; may be NULL */
};

/*
 * Submits the runs that have no result: `done` has a byte for each run. *tasks: how many were
 * submitted. The jobs are noted in the store. False: *error (g_free) is a line.
 */
bool campaign_slurm_submit(const struct campaign_slurm *slurm, const struct campaign_plan *plan,
                           struct campaign_store *store, const uint8_t *done, uint64_t *tasks,
                           char **error);
/* How many tasks of the store's jobs wait or run. False: squeue cannot be asked. */
bool campaign_slurm_active(struct campaign_store *store, uint64_t *tasks, char **error);

/*
 * In a task: does the runs of chunk `index` of the file `chunks` and writes batches. Returns the
 * exit code of the task: 0 when each run has a result, whatever it is; 2: *error.
 */
int campaign_slurm_task(const struct campaign_plan *plan, const struct campaign_version *version,
                        const char *chunks, uint64_t index, unsigned processes, char **error);

/* Adds the batches that have come to the store, and deletes them. *added: new rows. */
bool campaign_slurm_collect(const struct campaign_plan *plan, struct campaign_store *store,
                            const struct campaign_version *version, bool mix, size_t *added,
                            char **error);
/* Whether batches have come. */
bool campaign_slurm_has_batches(const char *results);
/* Deletes the batches and the folder. */
void campaign_slurm_clear(const struct campaign_store *store);

#endif
