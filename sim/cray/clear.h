/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Each library frees the state that it keeps for a process. NULL has no effect. */
#ifndef JACQUARD_CRAY_CLEAR_H
#define JACQUARD_CRAY_CLEAR_H

struct alps_request;
struct cray_process;
struct udreg_cache;

void cray_alps_request_free(struct alps_request *request);
void cray_udreg_caches_free(
    struct udreg_cache *first); /* calls no functions of the process, which has ended */
void cray_xpmem_forget(const struct cray_process *owner); /* its segments and rights */

#endif
