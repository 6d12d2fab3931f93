/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Stand-ins of the provider's findings: these tests have no port that wants any. */
#include "findings.h"

void gnip_findings_watch(struct gnip_req *req)
{
    (void)req;
}

void gnip_findings_compare(const struct gnip_req *req)
{
    (void)req;
}

void gnip_findings_unwatch(struct gnip_req *req)
{
    (void)req;
}

void gnip_findings_cq_closes(struct gnip_cq *cq)
{
    (void)cq;
}

void gnip_findings_mr_closes(const struct gnip_mr *mr)
{
    (void)mr;
}
