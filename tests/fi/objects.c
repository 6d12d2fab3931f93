/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "objects.h"

#include <stdbool.h>

static int bind_one(struct fid_ep *ep, struct fid *object, uint64_t flags, const char *name,
                    const char **call)
{
    *call = name;
    return object != NULL ? fi_ep_bind(ep, object, flags) : 0;
}

int fi_objects_endpoint(const struct fi_objects *objects, struct fid_ep **ep, const char **call)
{
    bool one_cq = objects->tx_cq == objects->rx_cq;
    uint64_t flags = objects->cq_flags;
    int status;

    *call = "fi_endpoint";
    status = fi_endpoint(objects->domain, objects->info, ep, NULL);
    if (status == 0)
        status = bind_one(*ep, FI_OBJECT(objects->eq), 0, "fi_ep_bind (EQ)", call);
    if (status == 0)
        status = bind_one(*ep, FI_OBJECT(objects->tx_cq),
                          (one_cq ? FI_TRANSMIT | FI_RECV : FI_TRANSMIT) | flags,
                          "fi_ep_bind (transmit CQ)", call);
    if (status == 0 && !one_cq)
        status = bind_one(*ep, FI_OBJECT(objects->rx_cq), FI_RECV | flags,
                          "fi_ep_bind (receive CQ)", call);
    if (status == 0)
        status = bind_one(*ep, FI_OBJECT(objects->av), 0, "fi_ep_bind (AV)", call);
    return status;
}

int fi_objects_close(struct fid *const *fids, size_t count, size_t *failed)
{
    int first = 0, status;
    size_t i;

    for (i = 0; i < count; i++) {
        status = fids[i] != NULL ? fi_close(fids[i]) : 0;
        if (status != 0 && first == 0) {
            first = status;
            *failed = i;
        }
    }
    return first;
}
