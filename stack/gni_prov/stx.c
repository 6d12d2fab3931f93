/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Shared transmit contexts: a NIC that several endpoints use for sending. */
#include <stdlib.h>

#include "domain.h"
#include "gnip.h"
#include "info.h"
#include "nic.h"
#include "nosys.h"
#include "sep.h"

static void end(struct gnip_refs *refs)
{
    struct gnip_stx *stx = gnip_container(refs, struct gnip_stx, refs);

    gnip_nic_put(stx->nic);
    gnip_unref(&stx->domain->refs);
    free(stx);
}

static int close_stx(struct fid *fid)
{
    PORT_CALL("fi_close");
    struct gnip_stx *stx = gnip_container(fid, struct gnip_stx, fid.fid);
    int rc = gnip_refs_closable(&stx->refs, stx->domain->fabric->strict);

    if (rc == 0)
        gnip_refs_close(&stx->refs, end);
    return rc;
}

static ssize_t cancel(fid_t fid, void *context)
{
    PORT_CALL("fi_cancel");
    return -FI_ENOSYS;
}

static const struct fi_ops stx_fid_ops = {
    .size = sizeof(struct fi_ops),
    .close = close_stx,
    .bind = gnip_no_bind,
    .control = gnip_no_control,
    .ops_open = gnip_no_ops_open,
};

static const struct fi_ops_ep stx_ops = {
    .size = sizeof(struct fi_ops_ep),
    .cancel = cancel,
    .getopt = gnip_no_getopt,
    .setopt = gnip_no_setopt,
    .tx_ctx = gnip_no_tx_ctx,
    .rx_ctx = gnip_no_rx_ctx,
    .rx_size_left = gnip_no_size_left,
    .tx_size_left = gnip_no_size_left,
};

int gnip_stx_open(struct fid_domain *domain_fid, struct fi_tx_attr *attr, struct fid_stx **stx_fid,
                  void *context)
{
    PORT_CALL("fi_stx_context");
    struct gnip_domain *domain = gnip_container(domain_fid, struct gnip_domain, fid);
    struct gnip_stx *stx;
    int rc;

    if (stx_fid == NULL || !gnip_tx_attr_fits(attr))
        return -FI_EINVAL;
    stx = calloc(1, sizeof(*stx));
    if (stx == NULL)
        return -FI_ENOMEM;
    rc = gnip_nic_get(domain, domain->auth, UINT32_MAX, false, &stx->nic);
    if (rc != 0) {
        free(stx);
        return rc;
    }
    stx->fid.fid.fclass = FI_CLASS_STX_CTX;
    stx->fid.fid.context = context;
    stx->fid.fid.ops = (struct fi_ops *)&stx_fid_ops;
    stx->fid.ops = (struct fi_ops_ep *)&stx_ops;
    stx->domain = domain;
    stx->auth = domain->auth;
    gnip_ref(&domain->refs);
    *stx_fid = &stx->fid;
    return 0;
}
