/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A domain: one set of credentials, and the objects that are opened with it. */
#include <stdlib.h>

#include "av.h"
#include "ce.h"
#include "cm_nic.h"
#include "cntr.h"
#include "cq.h"
#include "ctx.h"
#include "domain.h"
#include "ep.h"
#include "gnip.h"
#include "mr.h"
#include "nic.h"
#include "nosys.h"
#include "onesided.h"
#include "sep.h"
#include "wait.h"
#include "port/list.h"

#define MR_ALL (FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY)

static void end(struct gnip_refs *refs)
{
    struct gnip_domain *domain = gnip_container(refs, struct gnip_domain, refs);

    port_mutex_lock(&domain->ctx->lock);
    port_list_remove(&domain->ctx_link);
    port_mutex_unlock(&domain->ctx->lock);
    gnip_ce_domain_close(domain);
    if (domain->cm_nic != NULL)
        gnip_cm_nic_close(domain->cm_nic);
    gnip_mr_cache_free(domain);
    if (domain->mr_nic != NULL)
        gnip_nic_put(domain->mr_nic);
    gnip_unref(&domain->fabric->refs);
    port_mutex_destroy(&domain->lock);
    free(domain);
}

static int close_domain(struct fid *fid)
{
    PORT_CALL("fi_close");
    struct gnip_domain *domain = gnip_container(fid, struct gnip_domain, fid.fid);
    int rc = gnip_refs_closable(&domain->refs, domain->fabric->strict);

    if (rc == 0)
        gnip_refs_close(&domain->refs, end);
    return rc;
}

static int open_srx(struct fid_domain *domain, struct fi_rx_attr *attr, struct fid_ep **rx_ep,
                    void *context)
{
    PORT_CALL("fi_srx_context");
    return -FI_ENOSYS;
}

static int query_collective(struct fid_domain *domain, enum fi_collective_op op,
                            struct fi_collective_attr *attr, uint64_t flags)
{
    PORT_CALL("fi_query_collective");
    return -FI_ENOSYS;
}

static int open_endpoint2(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep,
                          uint64_t flags, void *context)
{
    PORT_CALL("fi_endpoint2");
    return flags != 0 ? -FI_EBADFLAGS : gnip_endpoint(domain, info, ep, context);
}

static const struct fi_ops domain_fid_ops = {
    .size = sizeof(struct fi_ops),
    .close = close_domain,
    .bind = gnip_no_bind,
    .control = gnip_no_control,
    .ops_open = gnip_domain_ops,
};

static const struct fi_ops_domain domain_ops = {
    .size = sizeof(struct fi_ops_domain),
    .av_open = gnip_av_open,
    .cq_open = gnip_cq_open,
    .endpoint = gnip_endpoint,
    .scalable_ep = gnip_scalable_ep,
    .cntr_open = gnip_cntr_open,
    .poll_open = gnip_poll_open,
    .stx_ctx = gnip_stx_open,
    .srx_ctx = open_srx,
    .query_atomic = gnip_query_atomic,
    .query_collective = query_collective,
    .endpoint2 = open_endpoint2,
};

/* ---- opening --------------------------------------------------------------------------------- */

static bool mr_mode_known(const struct gnip_domain *domain)
{
    uint64_t mode = domain->mr_mode;

    if (FI_VERSION_LT(domain->api_version, FI_VERSION(1, 5)))
        return mode == FI_MR_UNSPEC || mode == FI_MR_BASIC;
    return mode == 0 || mode == FI_MR_BASIC || (mode & ~(uint64_t)FI_MR_LOCAL) == MR_ALL ||
           (mode & ~(uint64_t)FI_MR_LOCAL) == FI_MR_MMU_NOTIFY;
}

static int take_attributes(struct gnip_domain *domain, const struct fi_info *info)
{
    const struct fi_domain_attr *attr = info->domain_attr;

    domain->addr_format = info->addr_format == FI_ADDR_STR ? FI_ADDR_STR : FI_ADDR_GNI;
    domain->threading = FI_THREAD_SAFE;
    domain->control_progress = domain->data_progress = FI_PROGRESS_AUTO;
    if (attr == NULL)
        return 0;
    domain->mr_mode = (uint64_t)(uint32_t)attr->mr_mode;
    if (!mr_mode_known(domain))
        return -FI_EINVAL;
    /*
     * No other mode: an application that did not ask for registration must not get 192 keys of its
     * own choice.
     */
    domain->vmdh = (domain->mr_mode & FI_MR_MMU_NOTIFY) != 0;
    if (attr->threading != FI_THREAD_UNSPEC)
        domain->threading = attr->threading;
    if (attr->control_progress != FI_PROGRESS_UNSPEC)
        domain->control_progress = attr->control_progress;
    if (attr->data_progress != FI_PROGRESS_UNSPEC)
        domain->data_progress = attr->data_progress;
    return 0;
}

int gnip_domain_open(struct fid_fabric *fabric_fid, struct fi_info *info,
                     struct fid_domain **domain_fid, void *context)
{
    PORT_CALL("fi_domain");
    struct gnip_fabric *fabric = gnip_container(fabric_fid, struct gnip_fabric, fid);
    const struct fi_domain_attr *attr;
    struct gnip_domain *domain;
    int rc;

    if (info == NULL || domain_fid == NULL)
        return -FI_EINVAL;
    domain = calloc(1, sizeof(*domain));
    if (domain == NULL)
        return -FI_ENOMEM;
    domain->fabric = fabric;
    domain->ctx = fabric->ctx;
    domain->api_version = fabric->fid.api_version;
    attr = info->domain_attr;
    rc = take_attributes(domain, info);
    if (rc == 0)
        rc = gnip_domain_auth(domain, attr != NULL ? attr->auth_key : NULL,
                              attr != NULL ? attr->auth_key_size : 0, &domain->auth);
    if (rc != 0) {
        free(domain);
        return rc;
    }
    port_mutex_lock(&fabric->lock);
    domain->params = fabric->params;
    port_mutex_unlock(&fabric->lock);
    port_mutex_init(&domain->lock);
    port_list_init(&domain->ces);
    port_list_init(&domain->ce_operations);
    port_list_init(&domain->eps);
    port_list_init(&domain->cqs);
    port_list_init(&domain->cm_nics);
    domain->fid.fid.fclass = FI_CLASS_DOMAIN;
    domain->fid.fid.context = context;
    domain->fid.fid.ops = (struct fi_ops *)&domain_fid_ops;
    domain->fid.ops = (struct fi_ops_domain *)&domain_ops;
    domain->fid.mr = (struct fi_ops_mr *)&gnip_mr_ops;
    gnip_ref(&fabric->refs);
    port_mutex_lock(&domain->ctx->lock);
    port_list_append(&domain->ctx->domains, &domain->ctx_link);
    port_mutex_unlock(&domain->ctx->lock);
    *domain_fid = &domain->fid;
    return 0;
}
