/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The end of a process and of a job, for a host. Not part of the single libraries. */
#include "clear.h"

#include "cray/host.h"
#include "pmi/pmi_state.h"

void cray_process_clear(struct cray_process *process)
{
    pmi_state_free(process->pmi);
    alps_request_free(process->alps);
    udreg_caches_free(process->udreg);
    xpmem_forget(process);
    process->pmi = NULL;
    process->alps = NULL;
    process->udreg = NULL;
}

void cray_job_clear(struct cray_job *job)
{
    pmi_kvs_free(job->kvs);
    job->kvs = NULL;
}
