/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* fi_open_ops() of a domain. */
#include "ce.h"
#include "domain.h"
#include "gnip.h"
#include "mr.h"
#include "params.h"

static struct gnip_domain *domain_of(struct fid *fid)
{
    return fid != NULL && fid->fclass == FI_CLASS_DOMAIN
               ? gnip_container(fid, struct gnip_domain, fid.fid)
               : NULL;
}

static int set_value(struct fid *fid, dom_ops_val_t which, void *value)
{
    struct gnip_domain *domain = domain_of(fid);
    int rc = -FI_EINVAL;

    if (domain == NULL)
        return -FI_EINVAL;
    port_mutex_lock(&domain->lock);
    /* The cache cannot be replaced while it has entries. */
    if (which != GNI_MR_CACHE || domain->mr_cache == NULL)
        rc = gnip_params_set(&domain->params, which, value);
    port_mutex_unlock(&domain->lock);
    return rc;
}

static int get_value(struct fid *fid, dom_ops_val_t which, void *value)
{
    struct gnip_domain *domain = domain_of(fid);
    int rc;

    if (domain == NULL)
        return -FI_EINVAL;
    port_mutex_lock(&domain->lock);
    rc = gnip_params_get(&domain->params, which, value);
    port_mutex_unlock(&domain->lock);
    return rc;
}

static int flush_cache(struct fid *fid)
{
    struct gnip_domain *domain = domain_of(fid);

    return domain != NULL ? gnip_mr_cache_flush(domain) : -FI_EINVAL;
}

static const struct fi_gni_ops_domain ops_1 = {
    .set_val = set_value, .get_val = get_value, .flush_cache = flush_cache};

int gnip_domain_ops(struct fid *fid, const char *name, uint64_t flags, void **ops, void *context)
{
    PORT_CALL("fi_open_ops");
    if (domain_of(fid) == NULL || name == NULL || ops == NULL)
        return -FI_EINVAL;
    if (strcmp(name, FI_GNI_DOMAIN_OPS_1) == 0)
        *ops = (void *)&ops_1;
    else if (strcmp(name, FI_GNI_DOMAIN_OPS_2) == 0)
        *ops = (void *)&gnip_dom2_ops;
    else if (strcmp(name, FI_GNI_DOMAIN_OPS_3) == 0)
        *ops = (void *)&gnip_dom3_ops;
    else
        return -FI_EINVAL;
    return 0;
}
