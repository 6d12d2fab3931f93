/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Fabrics (fabric.c) and domains (domain.c), and their extended operations (ops_*.c). */
#ifndef GNIP_DOMAIN_H
#define GNIP_DOMAIN_H

#include "params.h"
#include "port/list.h"

struct gnip_fabric {
    struct fid_fabric fid;
    struct gnip_ctx *ctx;
    struct gnip_refs refs;
    uint32_t bound_datagrams, wildcard_datagrams; /* a cm_nic that is opened later copies them */
    int32_t datagram_timeout; /* ms; -1: none */
    bool strict; /* results are those of libfabric's man pages, not of its own provider gni */
    struct port_mutex lock; /* protects what follows */
    struct gnip_params params; /* of domains that are opened later */
    struct port_mutex msg_lock; /* protects what follows */
    struct port_link msg_requests; /* at passive endpoints (msg_listen.c) */
};
int gnip_fabric_open(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context);

struct gnip_mr_cache;

struct gnip_domain {
    struct fid_domain fid;
    struct gnip_fabric *fabric;
    struct gnip_ctx *ctx;
    struct gnip_auth *auth;
    struct gnip_refs refs;
    struct gnip_params params;
    uint32_t api_version;
    uint32_t addr_format;
    uint64_t mr_mode; /* as the domain was opened */
    bool vmdh; /* keys are the user's, addresses are offsets */
    enum fi_threading threading;
    enum fi_progress control_progress, data_progress;
    struct port_mutex lock; /* protects what follows */
    struct gnip_cm_nic *cm_nic; /* of all endpoints that are not bound; NULL: not opened so far */
    struct gnip_nic *mr_nic; /* registers memory; NULL: not opened so far */
    struct gnip_mr_cache *mr_cache; /* NULL: not made so far */
    bool paused; /* "domain ops 3": no operation is accepted; atomic */
    bool suspended; /* it has released its objects of GNI (ops_quiesce.c) */
    struct port_link ctx_link; /* ctx->domains */
    struct port_link ces, ce_operations; /* collective engine (ops_ce.c) */
    struct port_link eps; /* gnip_ep.domain_link */
    struct port_link cqs; /* gnip_cq.domain_link */
    uint32_t cqs_opened;
    struct port_link cm_nics; /* gnip_cm_nic.domain_link; under ctx->lock */
};
/* One thread uses all objects of this domain, so its EPs and CQs need no locks. */
static inline bool gnip_single(const struct gnip_domain *domain)
{
    return domain->threading == FI_THREAD_DOMAIN && domain->control_progress != FI_PROGRESS_AUTO &&
           domain->data_progress != FI_PROGRESS_AUTO;
}
int gnip_domain_open(struct fid_fabric *fabric, struct fi_info *info, struct fid_domain **domain,
                     void *context);
/* The credentials of a key in an object's attributes; no bytes: the domain's. 0 or -errno. */
int gnip_domain_auth(const struct gnip_domain *domain, const uint8_t *key, size_t bytes,
                     struct gnip_auth **auth);
int gnip_fabric_ops(struct fid *fid, const char *name, uint64_t flags, void **ops, void *context);
int gnip_domain_ops(struct fid *fid, const char *name, uint64_t flags, void **ops, void *context);
int gnip_ep_ops(struct fid *fid, const char *name, uint64_t flags, void **ops, void *context);
/* The NIC with this number in the order of "domain ops 2"; NULL: none. ctx->lock is not held. */
struct gnip_nic *gnip_domain_nic(struct gnip_domain *domain, uint32_t index);

#endif
