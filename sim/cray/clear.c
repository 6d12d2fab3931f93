/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The release of a process's state, for a host. The separate libraries do not contain it. */
#include "clear.h"

#include "cray/host.h"

void cray_process_clear(struct cray_process *process)
{
    cray_alps_request_free(process->alps);
    cray_udreg_caches_free(process->udreg);
    cray_xpmem_forget(process);
    process->alps = NULL;
    process->udreg = NULL;
}
