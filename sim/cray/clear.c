/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The release of a process's state, for a host. The separate libraries do not contain it. */
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
