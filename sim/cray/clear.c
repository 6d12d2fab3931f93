/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The end of a process, for a host. Not part of the single libraries. */
#include "clear.h"

#include "cray/host.h"

void cray_process_clear(struct cray_process *process)
{
    alps_request_free(process->alps);
    udreg_caches_free(process->udreg);
    xpmem_forget(process);
    process->alps = NULL;
    process->udreg = NULL;
}
