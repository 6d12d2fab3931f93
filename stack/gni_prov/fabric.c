/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A fabric: domains, event queues, passive endpoints and wait sets are opened from it. */
#include <stdlib.h>

#include "ctx.h"
#include "domain.h"
#include "eq.h"
#include "gnip.h"
#include "nosys.h"
#include "params.h"
#include "pep.h"
#include "wait.h"
#include "port/list.h"

#define BOUND_DATAGRAMS 128
#define WILDCARD_DATAGRAMS 4

static void end(struct gnip_refs *refs)
{
    struct gnip_fabric *fabric = gnip_container(refs, struct gnip_fabric, refs);
    struct gnip_ctx *ctx = fabric->ctx;

    port_mutex_destroy(&fabric->msg_lock);
    port_mutex_destroy(&fabric->lock);
    free(fabric);
    gnip_ctx_put(ctx);
}

static int close_fabric(struct fid *fid)
{
    PORT_CALL("fi_close");
    struct gnip_fabric *fabric = gnip_container(fid, struct gnip_fabric, fid.fid);
    int rc = gnip_refs_closable(&fabric->refs, fabric->strict);

    if (rc == 0)
        gnip_refs_close(&fabric->refs, end);
    return rc;
}

static int open_domain2(struct fid_fabric *fabric, struct fi_info *info, struct fid_domain **domain,
                        uint64_t flags, void *context)
{
    PORT_CALL("fi_domain2");
    return flags != 0 ? -FI_EBADFLAGS : gnip_domain_open(fabric, info, domain, context);
}

static const struct fi_ops fabric_fid_ops = {
    .size = sizeof(struct fi_ops),
    .close = close_fabric,
    .bind = gnip_no_bind,
    .control = gnip_no_control,
    .ops_open = gnip_fabric_ops,
};

static const struct fi_ops_fabric fabric_ops = {
    .size = sizeof(struct fi_ops_fabric),
    .domain = gnip_domain_open,
    .passive_ep = gnip_pep_open,
    .eq_open = gnip_eq_open,
    .wait_open = gnip_wait_open,
    .trywait = gnip_trywait,
    .domain2 = open_domain2,
};

int gnip_fabric_open(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context)
{
    PORT_CALL("fi_fabric");
    struct gnip_fabric *opened;
    struct gnip_place place;

    if (attr == NULL || fabric == NULL)
        return -FI_EINVAL;
    if (attr->name == NULL || strcmp(attr->name, GNIP_NAME) != 0 || gnip_place_find(&place) != 0)
        return -FI_ENODATA;
    opened = calloc(1, sizeof(*opened));
    if (opened == NULL)
        return -FI_ENOMEM;
    opened->ctx = gnip_ctx_get();
    if (opened->ctx == NULL) {
        free(opened);
        return -FI_ENOMEM;
    }
    opened->fid.fid.fclass = FI_CLASS_FABRIC;
    opened->fid.fid.context = context;
    opened->fid.fid.ops = (struct fi_ops *)&fabric_fid_ops;
    opened->fid.ops = (struct fi_ops_fabric *)&fabric_ops;
    opened->fid.api_version = attr->api_version;
    opened->bound_datagrams = BOUND_DATAGRAMS;
    opened->wildcard_datagrams = WILDCARD_DATAGRAMS;
    opened->datagram_timeout = -1;
    opened->strict = gnip_params_strict();
    port_mutex_init(&opened->lock);
    port_mutex_init(&opened->msg_lock);
    port_list_init(&opened->msg_requests);
    gnip_params_init(&opened->params);
    *fabric = &opened->fid;
    return 0;
}
