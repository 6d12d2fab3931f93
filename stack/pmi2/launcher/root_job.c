/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "root_job.h"

#include <assert.h>

struct pmrun_root_job *pmrun_root_job_new(const struct pmi2_job_info *info, char *const *programs)
{
    struct pmrun_root_job *job = g_new0(struct pmrun_root_job, 1);
    uint32_t i;

    job->size = info->size;
    job->apps = info->apps;
    job->node_of = g_memdup2(info->node_of, info->size * sizeof(uint32_t));
    job->app_size = g_memdup2(info->app_size, info->apps * sizeof(uint32_t));
    job->program_of = g_strdupv((char **)programs);
    job->pids = g_new0(pid_t, info->size);
    job->errors = g_new0(int, info->size);
    job->is_over = g_new0(uint8_t, info->size);
    job->statuses = g_new(int, info->size);
    for (i = 0; i < info->size; i++)
        job->statuses[i] = -1;
    return job;
}

void pmrun_root_job_free(gpointer data)
{
    struct pmrun_root_job *job = data;

    g_free(job->id);
    g_free(job->node_of);
    g_free(job->app_size);
    g_strfreev(job->program_of);
    g_free(job->pids);
    g_free(job->statuses);
    g_free(job->errors);
    g_free(job->is_over);
    g_free(job);
}

const char *pmrun_root_job_program(const struct pmrun_root_job *job, uint32_t rank)
{
    uint32_t app = 0, end = job->app_size[0];

    assert(rank < job->size && job->apps > 0);

    while (rank >= end && app + 1 < job->apps)
        end += job->app_size[++app];
    return job->program_of[app];
}
