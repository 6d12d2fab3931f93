/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * "domain ops 2": the collective engine of the NIC, its statistics, and the handles of GNI.
 *
 * An endpoint stands for one edge of a tree. GNI describes edges by endpoints of its own. Those of
 * the connections are not used for it: each edge gets one, on the NIC of the channel.
 */
#include <stdlib.h>

#include "bounce.h"
#include "ce.h"
#include "ctx.h"
#include "domain.h"
#include "ep.h"
#include "gnip.h"
#include "lock.h"
#include "name.h"
#include "nic.h"
#include "req.h"
#include "txd.h"
#include "vc.h"
#include "port/list.h"

struct channel { /* a channel of the engine */
    struct port_link link; /* gnip_domain.ces */
    struct gnip_nic *nic;
    gni_ce_handle_t ce;
    uint32_t id;
};

struct gnip_ce_edge { /* protected by the EP's lock */
    uint32_t device_addr, cdm_id; /* address of the peer */
    uint32_t ce_id, child_id;
    gni_ce_child_t type;
    gni_ep_handle_t poster; /* the endpoint that posts operands; NULL: none so far */
    struct operation *operation; /* NULL: none */
};

struct operation {
    struct port_link link; /* in gnip_domain.ce_operations */
    struct gnip_ep *ep;
    void *context;
    gni_ce_result_t *result;
    bool joined; /* the event of the operands has come */
    gni_return_t status; /* of that event */
};

static struct gnip_domain *domain_of(struct fid *fid)
{
    return fid != NULL && fid->fclass == FI_CLASS_DOMAIN
               ? gnip_container(fid, struct gnip_domain, fid.fid)
               : NULL;
}

static struct gnip_ep *ep_of(struct fid *fid)
{
    if (fid == NULL || (fid->fclass != FI_CLASS_EP && fid->fclass != FI_CLASS_TX_CTX))
        return NULL;
    return gnip_container(fid, struct gnip_ep, fid.fid);
}

/* The error for lack of resources, after which libfabric's callers may repeat the call. */
static int result_of(gni_return_t rc)
{
    return rc == GNI_RC_ERROR_RESOURCE ? -FI_EAGAIN : -gnip_errno(rc);
}

/* ---- channels -------------------------------------------------------------------------------- */

/* domain->lock is held. */
static struct channel *find_channel(struct gnip_domain *domain, uint32_t id)
{
    struct port_link *link;

    for (link = domain->ces.next; link != &domain->ces; link = link->next) {
        struct channel *channel = gnip_container(link, struct channel, link);

        if (channel->id == id)
            return channel;
    }
    return NULL;
}

static int ce_open(struct fid *fid, const struct fid_ep *ep_fid, uint32_t *ce_id)
{
    struct gnip_domain *domain = domain_of(fid);
    struct gnip_ep *ep = ep_fid != NULL ? ep_of((struct fid *)&ep_fid->fid) : NULL;
    struct channel *channel;
    gni_return_t rc;

    if (domain == NULL || ep == NULL || ep->domain != domain || ep->nic == NULL || ce_id == NULL)
        return -FI_EINVAL;
    channel = calloc(1, sizeof(*channel));
    if (channel == NULL)
        return -FI_ENOMEM;
    channel->nic = ep->nic;
    gnip_lock(&channel->nic->lock);
    rc = GNI_CeCreate(channel->nic->gni, &channel->ce);
    if (rc == GNI_RC_SUCCESS)
        rc = GNI_CeGetId(channel->ce, &channel->id);
    gnip_unlock(&channel->nic->lock);
    if (rc != GNI_RC_SUCCESS) {
        free(channel);
        return result_of(rc);
    }
    gnip_nic_ref(channel->nic);
    port_mutex_lock(&domain->lock);
    port_list_append(&domain->ces, &channel->link);
    port_mutex_unlock(&domain->lock);
    *ce_id = channel->id;
    return 0;
}

static void close_channel(struct channel *channel)
{
    gnip_lock(&channel->nic->lock);
    GNI_CeDestroy(channel->ce);
    gnip_unlock(&channel->nic->lock);
    gnip_nic_put(channel->nic);
    free(channel);
}

static int ce_close(struct fid *fid, uint32_t ce_id)
{
    struct gnip_domain *domain = domain_of(fid);
    struct channel *channel;

    if (domain == NULL)
        return -FI_EINVAL;
    port_mutex_lock(&domain->lock);
    channel = find_channel(domain, ce_id);
    if (channel != NULL)
        port_list_remove(&channel->link);
    port_mutex_unlock(&domain->lock);
    if (channel == NULL)
        return -FI_EINVAL;
    close_channel(channel);
    return 0;
}

void gnip_ce_domain_close(struct gnip_domain *domain)
{
    struct port_link *link;

    while ((link = port_list_pop(&domain->ces)) != NULL)
        close_channel(gnip_container(link, struct channel, link));
}

/* ---- edges ----------------------------------------------------------------------------------- */

static int find_peer(const struct gnip_ep *ep, struct gnip_name *peer)
{
    if (ep->type == FI_EP_MSG) {
        if (ep->conn_state != GNIP_CONNECTED || ep->msg_vc == NULL)
            return -FI_ENOTCONN;
        *peer = ep->msg_vc->peer;
        return 0;
    }
    if (ep->info == NULL || ep->info->dest_addr == NULL)
        return -FI_ENOTCONN;
    return gnip_name_read(peer, ep->info->addr_format, ep->info->dest_addr);
}

/* Makes the endpoint of GNI for the edge. The NIC's lock is held. */
static gni_return_t make(struct gnip_nic *nic, const struct gnip_ce_edge *edge,
                         gni_ep_handle_t *made)
{
    gni_return_t rc = GNI_EpCreate(nic->gni, nic->tx_cq, made);

    if (rc != GNI_RC_SUCCESS)
        return rc;
    rc = GNI_EpBind(*made, edge->device_addr, edge->cdm_id);
    if (rc == GNI_RC_SUCCESS)
        rc = GNI_EpSetCeAttr(*made, edge->ce_id, edge->child_id, edge->type);
    if (rc != GNI_RC_SUCCESS) {
        GNI_EpDestroy(*made);
        *made = NULL;
    }
    return rc;
}

static void drop_poster(struct gnip_ep *ep, struct gnip_ce_edge *edge)
{
    if (edge->poster == NULL)
        return;
    gnip_lock(&ep->nic->lock);
    GNI_EpDestroy(edge->poster);
    gnip_unlock(&ep->nic->lock);
    edge->poster = NULL;
}

static int ce_attach(struct fid *fid, uint32_t ce_id, uint32_t child_id, int child_type)
{
    struct gnip_ep *ep = ep_of(fid);
    struct gnip_ce_edge *edge;
    struct gnip_name peer;
    int rc;

    if (ep == NULL || ep->nic == NULL || child_id >= GNI_CE_MAX_CHILDREN ||
        (child_type != GNI_CE_CHILD_VCE && child_type != GNI_CE_CHILD_PE))
        return -FI_EINVAL;
    gnip_lock(&ep->lock);
    rc = find_peer(ep, &peer);
    if (rc == 0 && ep->ce_edge == NULL) {
        ep->ce_edge = calloc(1, sizeof(*ep->ce_edge));
        rc = ep->ce_edge == NULL ? -FI_ENOMEM : 0;
    } else if (rc == 0 && ep->ce_edge->operation != NULL) {
        rc = -FI_EBUSY;
    }
    if (rc == 0) {
        edge = ep->ce_edge;
        drop_poster(ep, edge);
        edge->device_addr = peer.device_addr;
        edge->cdm_id = peer.cdm_id;
        edge->ce_id = ce_id;
        edge->child_id = child_id;
        edge->type = (gni_ce_child_t)child_type;
    }
    gnip_unlock(&ep->lock);
    return rc;
}

/* The present edge of an endpoint. False: it has none. */
static bool edge_of(struct fid_ep *fid, const struct gnip_domain *domain, struct gnip_ce_edge *edge)
{
    struct gnip_ep *ep = fid != NULL ? ep_of(&fid->fid) : NULL;
    bool has = false;

    if (ep == NULL || ep->domain != domain)
        return false;
    gnip_lock(&ep->lock);
    has = ep->ce_edge != NULL;
    if (has)
        *edge = *ep->ce_edge;
    gnip_unlock(&ep->lock);
    return has;
}

/*
 * Describes the tree to the engine as the endpoints define it. domain->lock is held, so the channel
 * stays.
 */
static gni_return_t configure(const struct channel *channel, const struct gnip_ce_edge *edges,
                              size_t children, bool parent, uint32_t modes)
{
    gni_ep_handle_t eps[GNI_CE_MAX_CHILDREN + 1];
    size_t count = children + parent, made;
    gni_return_t rc = GNI_RC_SUCCESS;

    gnip_lock(&channel->nic->lock);
    for (made = 0; made < count && rc == GNI_RC_SUCCESS; made += rc == GNI_RC_SUCCESS)
        rc = make(channel->nic, &edges[made], &eps[made]);
    if (rc == GNI_RC_SUCCESS)
        rc = GNI_CeConfigure(channel->ce, eps, (uint32_t)children, parent ? eps[children] : NULL,
                             NULL, modes);
    while (made > 0)
        GNI_EpDestroy(eps[--made]);
    gnip_unlock(&channel->nic->lock);
    return rc;
}

static int ce_configure(struct fid *fid, uint32_t ce_id, struct fid_ep **children, size_t n,
                        struct fid_ep *parent, uint32_t modes)
{
    struct gnip_domain *domain = domain_of(fid);
    struct gnip_ce_edge edges[GNI_CE_MAX_CHILDREN + 1];
    const struct channel *channel;
    size_t i;
    int rc = -FI_EINVAL;

    if (domain == NULL || children == NULL || n == 0 || n > GNI_CE_MAX_CHILDREN)
        return -FI_EINVAL;
    for (i = 0; i < n; i++)
        if (!edge_of(children[i], domain, &edges[i]))
            return -FI_EINVAL;
    if (parent != NULL && !edge_of(parent, domain, &edges[n]))
        return -FI_EINVAL;
    port_mutex_lock(&domain->lock);
    channel = find_channel(domain, ce_id);
    if (channel != NULL)
        rc = result_of(configure(channel, edges, n, parent != NULL, modes));
    port_mutex_unlock(&domain->lock);
    return rc;
}

/* ---- reductions ------------------------------------------------------------------------------ */

static void joined(struct gnip_txd *txd, gni_return_t status)
{
    struct gnip_req *req = txd->req;
    struct gnip_ep *ep = req->ep;
    struct operation *operation = req->u.amo.result;
    const struct fi_cq_tagged_entry entry = {
        .op_context = req->context,
        .flags = FI_ATOMIC | FI_WRITE,
    };

    gnip_lock(&ep->lock);
    operation->status = status;
    __atomic_store_n(&operation->joined, true, __ATOMIC_RELEASE);
    if (ep->closing)
        gnip_req_put(req);
    else if (status == GNI_RC_SUCCESS)
        gnip_req_complete(req, &entry, FI_ADDR_NOTAVAIL);
    else
        gnip_req_error(req, gnip_errno(status), gnip_errno(status));
    gnip_unlock(&ep->lock);
    gnip_txd_put(txd->nic, txd);
}

static gni_return_t post(struct gnip_ep *ep, struct gnip_txd *txd, const struct gni_ce_op *op)
{
    struct gnip_ce_edge *edge = ep->ce_edge;
    gni_return_t rc = GNI_RC_SUCCESS;

    txd->transfer->post.type = GNI_POST_CE;
    txd->transfer->post.cq_mode = GNI_CQMODE_GLOBAL_EVENT;
    txd->transfer->post.dlvr_mode = GNI_DLVMODE_PERFORMANCE;
    txd->transfer->post.ce_cmd = (gni_ce_cmd_type_t)op->command;
    txd->transfer->post.ce_mode = op->mode;
    txd->transfer->post.ce_red_id = op->reduction;
    txd->transfer->post.first_operand = op->operand[0];
    txd->transfer->post.second_operand = op->operand[1];
    gnip_lock(&ep->nic->lock);
    if (edge->poster == NULL)
        rc = make(ep->nic, edge, &edge->poster);
    if (rc == GNI_RC_SUCCESS)
        rc = GNI_PostFma(edge->poster, &txd->transfer->post);
    gnip_unlock(&ep->nic->lock);
    return rc;
}

/* Allocates the operation with all that it needs, or nothing. ep->lock is held. */
static int start(struct gnip_ep *ep, const struct gni_ce_op *op, struct operation *operation)
{
    struct gnip_req *req = gnip_req_get(ep, GNIP_REQ_AMO, true);
    struct gnip_txd *txd = req != NULL ? gnip_txd_get_transfer(ep->nic) : NULL;
    gni_return_t rc = GNI_RC_ERROR_RESOURCE;

    gnip_assert_held(&ep->lock);
    if (txd != NULL) {
        memset(&txd->transfer->post, 0, sizeof(txd->transfer->post));
        operation->result = gnip_bounce_get(ep, &txd->transfer->post.local_mem_hndl);
    }
    if (txd != NULL && operation->result != NULL) {
        memset(operation->result, 0, sizeof(*operation->result));
        req->context = operation->context;
        req->flags = gnip_tx_flags(ep, ep->tx_flags);
        req->u.amo.result = operation;
        txd->req = req;
        txd->done = joined;
        txd->transfer->post.local_addr = (uint64_t)(uintptr_t)operation->result;
        rc = post(ep, txd, op);
    }
    if (rc == GNI_RC_SUCCESS)
        return 0;
    if (operation->result != NULL)
        gnip_bounce_put(ep, operation->result);
    if (txd != NULL)
        gnip_txd_put(ep->nic, txd);
    if (req != NULL)
        gnip_req_put(req);
    return result_of(rc);
}

static int ce_post(struct fid_ep *fid, const struct gni_ce_op *op, void *context)
{
    struct gnip_ep *ep = fid != NULL ? ep_of(&fid->fid) : NULL;
    struct operation *operation;
    int rc = 0;

    if (ep == NULL || op == NULL)
        return -FI_EINVAL;
    operation = calloc(1, sizeof(*operation));
    if (operation == NULL)
        return -FI_ENOMEM;
    operation->ep = ep;
    operation->context = context;
    port_mutex_lock(&ep->domain->lock);
    gnip_lock(&ep->lock);
    if (!ep->tx_enabled || ep->closing)
        rc = -FI_EOPBADSTATE;
    else if (ep->ce_edge == NULL || ep->ce_edge->type != GNI_CE_CHILD_PE)
        rc = -FI_EINVAL;
    else if (ep->ce_edge->operation != NULL || ep->domain->paused)
        rc = -FI_EAGAIN;
    else
        rc = start(ep, op, operation);
    if (rc == 0) {
        ep->ce_edge->operation = operation;
        port_list_append(&ep->domain->ce_operations, &operation->link);
    }
    gnip_unlock(&ep->lock);
    port_mutex_unlock(&ep->domain->lock);
    if (rc != 0)
        free(operation);
    return rc;
}

/* Frees the operation. domain->lock and ep->lock are held. */
static void end(struct operation *operation)
{
    struct gnip_ep *ep = operation->ep;

    gnip_bounce_put(ep, operation->result);
    ep->ce_edge->operation = NULL;
    port_list_remove(&operation->link);
    free(operation);
}

/* The operation with this context; adds a reference to its NIC for the caller. NULL: none. */
static struct operation *find(struct gnip_domain *domain, const void *context,
                              struct gnip_nic **nic)
{
    struct operation *found = NULL;
    struct port_link *link;

    port_mutex_lock(&domain->lock);
    for (link = domain->ce_operations.next; link != &domain->ce_operations; link = link->next) {
        struct operation *operation = gnip_container(link, struct operation, link);

        if (operation->context != context)
            continue;
        found = operation;
        *nic = operation->ep->nic;
        gnip_nic_ref(*nic);
        break;
    }
    port_mutex_unlock(&domain->lock);
    return found;
}

/* No lock is held: in a simulation a poll of a missing result may take time. */
static gni_return_t status_of(const struct operation *operation)
{
    if (!__atomic_load_n(&operation->joined, __ATOMIC_ACQUIRE))
        return GNI_RC_NOT_DONE;
    if (operation->status != GNI_RC_SUCCESS)
        return operation->status;
    return GNI_CeCheckResult(operation->result, sizeof(*operation->result));
}

static int ce_check(struct fid *fid, void *context, struct gni_ce_result *result)
{
    struct gnip_domain *domain = domain_of(fid);
    struct operation *operation;
    struct gnip_nic *nic;
    struct gnip_ep *ep;
    gni_return_t status;
    uint32_t polls = 0;

    if (domain == NULL || result == NULL)
        return -FI_EINVAL;
    operation = find(domain, context, &nic);
    if (operation == NULL)
        return -FI_ENOENT;
    ep = operation->ep;
    status = status_of(operation);
    if (status == GNI_RC_NOT_DONE) {
        gnip_nic_progress(nic, &polls);
    } else {
        *result = *operation->result;
        port_mutex_lock(&domain->lock);
        gnip_lock(&ep->lock);
        end(operation);
        gnip_unlock(&ep->lock);
        port_mutex_unlock(&domain->lock);
    }
    gnip_nic_put(nic);
    if (status == GNI_RC_NOT_DONE)
        return -FI_EAGAIN;
    return status == GNI_RC_SUCCESS ? 0 : -FI_EIO;
}

void gnip_ce_suspend(struct gnip_ep *ep)
{
    gnip_assert_held(&ep->lock);
    if (ep->ce_edge != NULL)
        drop_poster(ep, ep->ce_edge);
}

bool gnip_ce_busy(const struct gnip_ep *ep)
{
    const struct operation *operation = ep->ce_edge != NULL ? ep->ce_edge->operation : NULL;

    gnip_assert_held(&ep->lock);
    return operation != NULL && !operation->joined;
}

void gnip_ce_ep_close(struct gnip_ep *ep)
{
    struct gnip_domain *domain = ep->domain;
    struct gnip_ce_edge *edge = ep->ce_edge;
    struct port_timer timer;
    uint32_t polls;
    bool over;

    if (edge == NULL)
        return;
    port_timer_start(&timer, UINT64_MAX);
    for (;;) {
        port_mutex_lock(&domain->lock);
        gnip_lock(&ep->lock);
        over = edge->operation == NULL || edge->operation->joined;
        if (over && edge->operation != NULL)
            end(edge->operation);
        gnip_unlock(&ep->lock);
        port_mutex_unlock(&domain->lock);
        if (over)
            break;
        polls = 0;
        gnip_nic_progress(ep->nic, &polls);
        port_idle(&timer, polls > 0);
    }
    port_timer_stop(&timer);
    drop_poster(ep, edge);
    ep->ce_edge = NULL;
    free(edge);
}

/* ---- statistics and handles ------------------------------------------------------------------ */

/* With a reference. NULL: there is none. */
struct gnip_nic *gnip_domain_nic(struct gnip_domain *domain, uint32_t index)
{
    struct port_link *link, *head = &domain->auth->nics;
    struct gnip_nic *nic = NULL;

    port_mutex_lock(&domain->ctx->lock);
    for (link = head->next; link != head && index > 0; link = link->next)
        index--;
    if (link != head) {
        nic = gnip_container(link, struct gnip_nic, auth_link);
        nic->refs++;
    }
    port_mutex_unlock(&domain->ctx->lock);
    return nic;
}

static int use_nic(struct fid *fid, uint32_t index, struct gnip_nic **nic)
{
    struct gnip_domain *domain = domain_of(fid);

    *nic = domain != NULL ? gnip_domain_nic(domain, index) : NULL;
    return *nic != NULL ? 0 : -FI_EINVAL;
}

static int nic_stat(struct fid *fid, uint32_t index, int stat, uint32_t *value)
{
    struct gnip_nic *nic;
    gni_return_t rc;

    if (value == NULL || stat < 0 || use_nic(fid, index, &nic) != 0)
        return -FI_EINVAL;
    gnip_lock(&nic->lock);
    rc = GNI_GetNicStat(nic->gni, (gni_statistic_t)stat, value);
    gnip_unlock(&nic->lock);
    gnip_nic_put(nic);
    return -gnip_errno(rc);
}

static int nic_stat_reset(struct fid *fid, uint32_t index, int stat)
{
    struct gnip_nic *nic;
    gni_return_t rc;

    if (stat < 0 || use_nic(fid, index, &nic) != 0)
        return -FI_EINVAL;
    gnip_lock(&nic->lock);
    rc = GNI_ResetNicStat(nic->gni, (gni_statistic_t)stat);
    gnip_unlock(&nic->lock);
    gnip_nic_put(nic);
    return -gnip_errno(rc);
}

static int raw(struct fid *fid, uint32_t index, struct gni_nic **handle, struct gni_cdm **cdm)
{
    struct gnip_nic *nic;

    if (use_nic(fid, index, &nic) != 0)
        return -FI_EINVAL;
    if (handle != NULL)
        *handle = nic->gni;
    if (cdm != NULL)
        *cdm = nic->cdm;
    gnip_nic_put(nic);
    return 0;
}

const struct fi_gni_ops_dom2 gnip_dom2_ops = {
    .ce_open = ce_open,
    .ce_attach = ce_attach,
    .ce_configure = ce_configure,
    .ce_post = ce_post,
    .ce_check = ce_check,
    .ce_close = ce_close,
    .nic_stat = nic_stat,
    .nic_stat_reset = nic_stat_reset,
    .raw = raw,
};
