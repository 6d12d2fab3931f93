/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* fi_open_ops() of an endpoint. */
#include "domain.h"
#include "ep.h"
#include "gnip.h"
#include "lock.h"
#include "onesided.h"

static struct gnip_ep *ep_of(struct fid *fid)
{
    if (fid == NULL || (fid->fclass != FI_CLASS_EP && fid->fclass != FI_CLASS_TX_CTX &&
                        fid->fclass != FI_CLASS_RX_CTX))
        return NULL;
    return gnip_ep_of(gnip_container(fid, struct fid_ep, fid));
}

static int set_value(struct fid *fid, ep_ops_val_t which, void *value)
{
    struct gnip_ep *ep = ep_of(fid);
    int rc = -FI_EINVAL;

    if (ep == NULL || which != GNI_HASH_TAG_IMPL || value == NULL || *(uint32_t *)value > 1)
        return -FI_EINVAL;
    gnip_lock(&ep->lock);
    if (!ep->tx_enabled && !ep->rx_enabled) { /* the stores are made after that */
        ep->hashed = *(uint32_t *)value != 0;
        rc = 0;
    }
    gnip_unlock(&ep->lock);
    return rc;
}

static int get_value(struct fid *fid, ep_ops_val_t which, void *value)
{
    const struct gnip_ep *ep = ep_of(fid);

    if (ep == NULL || which != GNI_HASH_TAG_IMPL || value == NULL)
        return -FI_EINVAL;
    *(uint32_t *)value = ep->hashed;
    return 0;
}

static const struct fi_gni_ops_ep ops_1 = {
    .set_val = set_value, .get_val = get_value, .native_amo = gnip_native_amo};

int gnip_ep_ops(struct fid *fid, const char *name, uint64_t flags, void **ops, void *context)
{
    PORT_CALL("fi_open_ops");
    if (ep_of(fid) == NULL || name == NULL || ops == NULL || strcmp(name, FI_GNI_EP_OPS_1) != 0)
        return -FI_EINVAL;
    *ops = (void *)&ops_1;
    return 0;
}
