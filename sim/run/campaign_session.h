/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* One call of sim-run campaign that runs something. */
#ifndef JACQUARD_RUN_CAMPAIGN_SESSION_H
#define JACQUARD_RUN_CAMPAIGN_SESSION_H

#include <glib.h>

/* The command line. Zero or NULL: not given. */
struct campaign_options {
    gboolean help, restart, mix, check, quiet, schema, reference, slurm, no_wait, json, csv;
    gchar *page; /* where to write the report page */
    gchar *partition;
    gchar **sbatch; /* further options of sbatch, up to NULL */
    gint processes; /* at a time */
    gint chunk; /* runs of a task of Slurm */
    /* in a task */
    gchar *task; /* the file with the chunks */
    gint task_base; /* the chunk of the array's task 0 */
};

/* Runs what has no result yet of the campaign `file`, or checks it, or does a task of it. Prints
 * what there is to say. Returns the exit code. `program`: the version of sim-run. */
int campaign_session_run(const struct campaign_options *options, const char *file,
                         const char *program);

/*
 * Adds what Slurm's tasks have written to the results, if no other process does. What cannot be
 * added stays: running the campaign says why. `file`: the campaign; `results`: its SQLite file.
 */
void campaign_session_collect(const char *file, const char *results, const char *program);

#endif
