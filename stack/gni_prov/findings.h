/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The rules of libfabric that an application may break: docs/findings.md describes each. The checks
 * run only where the port wants findings (port_checks), which is in simulations.
 */
#ifndef GNIP_FINDINGS_H
#define GNIP_FINDINGS_H

#include "gnip.h"

/*
 * The operation reads a buffer of the application until its completion: remembers the content.
 * ep->lock is held, and ep->checks is set.
 */
void gnip_findings_watch(struct gnip_req *req) __attribute__((cold));
/* The watched operation ends with success: compares the buffers. */
void gnip_findings_compare(const struct gnip_req *req) __attribute__((cold));
void gnip_findings_unwatch(struct gnip_req *req) __attribute__((cold));

/* The application closes the object: records what it leaves behind. */
void gnip_findings_cq_closes(struct gnip_cq *cq);
void gnip_findings_ep_closes(struct gnip_ep *ep);
void gnip_findings_mr_closes(const struct gnip_mr *mr);
/* For port_at_wait: the operation that the process has waited for the longest. */
void gnip_findings_process_waits(char *text, size_t size);
/* For port_at_end: the same for all objects that the process has not closed. */
void gnip_findings_process_ends(void);

#endif
