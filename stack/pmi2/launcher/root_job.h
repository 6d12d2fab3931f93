/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The root's record of a job's ranks. */
#ifndef JACQUARD_PMRUN_ROOT_JOB_H
#define JACQUARD_PMRUN_ROOT_JOB_H

#include <glib.h>
#include <stdint.h>
#include <sys/types.h>

#include "pmi2/server.h"

struct pmrun_root_job {
    char *id;
    uint64_t spawn; /* id of the spawn to be answered; 0: none, or it was */
    uint32_t size, reported, started, ended;
    uint32_t *node_of;
    char **program_of; /* name of each executable, and its ranks in order */
    uint32_t *app_size;
    uint32_t apps;
    pid_t *pids;
    int *statuses; /* as of waitpid; -1: it has not ended or did not begin */
    int *errors; /* errno of what was not started */
    uint8_t *is_over; /* ended, or never started */
    int failed; /* errno of the first that was not started */
    gboolean ending, spawned;
    int status; /* for pmrun's exit */
    gboolean has_status;
};
struct pmrun_root_job *pmrun_root_job_new(const struct pmi2_job_info *info, char *const *programs);
void pmrun_root_job_free(gpointer job);
/* The executable that a rank runs. */
const char *pmrun_root_job_program(const struct pmrun_root_job *job, uint32_t rank);

#endif
