/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Endpoints: opening, enabling, closing. ep_name.c gives them addresses. */
#include "av.h"
#include "bounce.h"
#include "ce.h"
#include "cm_nic.h"
#include "cntr.h"
#include "cq.h"
#include "domain.h"
#include "ep.h"
#include "eq.h"
#include "gnip.h"
#include "findings.h"
#include "lock.h"
#include "match.h"
#include "message.h"
#include "mr.h"
#include "msg_ep.h"
#include "nic.h"
#include "progress.h"
#include "req.h"
#include "sep.h"
#include "vc.h"
#include "waitable.h"
#include "watch.h"
#include <stdlib.h>
#include "port/list.h"

#define SIZE_DEFAULT 500u
#define MIN_MULTI_RECV 64

/* ---- opening --------------------------------------------------------------------------------- */

/* A capability without a direction means both directions. */
static uint64_t all_directions(uint64_t caps)
{
    const uint64_t one_sided = FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;

    if ((caps & (FI_MSG | FI_TAGGED)) && !(caps & (FI_SEND | FI_RECV)))
        caps |= FI_SEND | FI_RECV;
    if ((caps & (FI_RMA | FI_ATOMIC)) && !(caps & one_sided))
        caps |= one_sided;
    return caps;
}

static uint32_t size_or_default(size_t size)
{
    if (size == 0)
        return SIZE_DEFAULT;
    return size > UINT16_MAX + 1u ? UINT16_MAX + 1u : (uint32_t)size;
}

static void take_attributes(struct gnip_ep *ep)
{
    const struct fi_info *info = ep->info;

    ep->type = info->ep_attr->type;
    ep->caps = all_directions(info->caps);
    ep->allowed = ep->caps | FI_INJECT;
    ep->directed = (ep->caps & FI_DIRECTED_RECV) && ep->type != FI_EP_MSG;
    ep->source = (ep->caps & FI_SOURCE) != 0;
    ep->source_err = ep->source && (ep->caps & FI_SOURCE_ERR);
    ep->rma_event = (ep->caps & FI_RMA_EVENT) != 0;
    ep->notify_flags_only = (info->mode & FI_NOTIFY_FLAGS_ONLY) != 0;
    ep->shared_tx = info->ep_attr->tx_ctx_cnt == FI_SHARED_CONTEXT;
    ep->tx_flags = info->tx_attr != NULL ? info->tx_attr->op_flags : 0;
    ep->rx_flags = info->rx_attr != NULL ? info->rx_attr->op_flags : 0;
    ep->tx_size = size_or_default(info->tx_attr != NULL ? info->tx_attr->size : 0);
    ep->rx_size = size_or_default(info->rx_attr != NULL ? info->rx_attr->size : 0);
    ep->min_multi_recv = MIN_MULTI_RECV;
}

static void set_fids(struct gnip_ep *ep, void *context);

static void init_lists(struct gnip_ep *ep)
{
    bool elided = gnip_single(ep->domain);

    gnip_lock_init(&ep->lock, elided);
    gnip_lock_init(&ep->fired_lock, elided);
    gnip_waitable_init(&ep->room, false);
    port_list_init(&ep->vcs);
}

static void fini_lists(struct gnip_ep *ep)
{
    gnip_waitable_fini(&ep->room);
    gnip_lock_fini(&ep->fired_lock);
    gnip_lock_fini(&ep->lock);
}

static void release(struct gnip_ep *ep)
{
    if (ep->nic != NULL)
        gnip_nic_put(ep->nic);
    gnip_ep_detach(ep);
    fini_lists(ep);
    fi_freeinfo(ep->info);
    free(ep);
}

int gnip_ep_new(struct gnip_domain *domain, struct fi_info *info, struct gnip_sep *sep,
                uint32_t index, void *context, struct gnip_ep **made)
{
    struct gnip_ep *ep = calloc(1, sizeof *ep);
    int rc;

    if (ep == NULL)
        return -FI_ENOMEM;
    ep->domain = domain;
    ep->sep = sep;
    ep->sep_index = index;
    ep->info = fi_dupinfo(info);
    if (ep->info == NULL) {
        free(ep);
        return -FI_ENOMEM;
    }
    ep->info->handle = NULL; /* it belongs to the caller */
    take_attributes(ep);
    init_lists(ep);
    rc = gnip_domain_auth(domain, ep->info->ep_attr->auth_key, ep->info->ep_attr->auth_key_size,
                          &ep->auth);
    if (rc == 0)
        rc = gnip_ep_attach(ep);
    if (rc == 0 && ep->type == FI_EP_MSG)
        rc = gnip_msg_ep_open(ep, info);
    if (rc != 0) {
        release(ep);
        return rc;
    }
    set_fids(ep, context);
    gnip_ref(&domain->refs);
    port_mutex_lock(&domain->lock);
    port_list_append(&domain->eps, &ep->domain_link);
    port_mutex_unlock(&domain->lock);
    gnip_cm_nic_add_ep(ep->cm_nic, ep);
    *made = ep;
    return 0;
}

int gnip_endpoint(struct fid_domain *domain, struct fi_info *info, struct fid_ep **fid,
                  void *context)
{
    PORT_CALL("fi_endpoint");
    struct gnip_ep *ep;
    int rc;

    if (info == NULL || fid == NULL || info->ep_attr == NULL)
        return -FI_EINVAL;
    if (info->ep_attr->type != FI_EP_RDM && info->ep_attr->type != FI_EP_DGRAM &&
        info->ep_attr->type != FI_EP_MSG)
        return -FI_EINVAL;
    rc = gnip_ep_new(gnip_container(domain, struct gnip_domain, fid), info, NULL, 0, context, &ep);
    if (rc == 0)
        *fid = &ep->fid;
    return rc;
}

/* ---- enabling -------------------------------------------------------------------------------- */

/* The progress list of an object. NULL: there is no object. */
static struct gnip_progress_list *of_cq(struct gnip_cq *cq)
{
    return cq == NULL ? NULL : &cq->progress;
}

static struct gnip_progress_list *of_cntr(struct gnip_cntr *cntr)
{
    return cntr == NULL ? NULL : &cntr->progress;
}

#define PROGRESS_LISTS 5

static void progress_lists_of(struct gnip_ep *ep, uint64_t direction,
                              struct gnip_progress_list **lists)
{
    bool sends = direction == FI_TRANSMIT;

    lists[0] = of_cq(sends ? ep->send_cq : ep->recv_cq);
    lists[1] = of_cntr(sends ? ep->send_cntr : ep->recv_cntr);
    lists[2] = of_cntr(sends ? ep->write_cntr : ep->rwrite_cntr);
    lists[3] = of_cntr(sends ? ep->read_cntr : ep->rread_cntr);
    lists[4] = ep->eq == NULL ? NULL : &ep->eq->progress;
}

static void leave_progress_lists(struct gnip_ep *ep, uint64_t direction)
{
    struct gnip_progress_list *lists[PROGRESS_LISTS];
    unsigned i;

    progress_lists_of(ep, direction, lists);
    for (i = 0; i < PROGRESS_LISTS; i++) {
        if (lists[i] == NULL)
            continue;
        gnip_progress_list_remove(lists[i], ep->nic, NULL);
        gnip_progress_list_remove(lists[i], NULL, ep->cm_nic);
    }
}

int gnip_ep_join(struct gnip_ep *ep, struct gnip_progress_list *list)
{
    int rc;

    if (list == NULL)
        return 0;
    rc = gnip_progress_list_add(list, ep->nic, NULL);
    if (rc != 0)
        return rc;
    rc = gnip_progress_list_add(list, NULL, ep->cm_nic);
    if (rc != 0)
        gnip_progress_list_remove(list, ep->nic, NULL);
    return rc;
}

static int join_progress_lists(struct gnip_ep *ep, uint64_t direction)
{
    struct gnip_progress_list *lists[PROGRESS_LISTS];
    unsigned i;
    int rc = 0;

    progress_lists_of(ep, direction, lists);
    for (i = 0; i < PROGRESS_LISTS && rc == 0; i++)
        rc = gnip_ep_join(ep, lists[i]);
    if (rc == 0)
        return 0;
    for (i--; i-- > 0;) {
        if (lists[i] == NULL)
            continue;
        gnip_progress_list_remove(lists[i], ep->nic, NULL);
        gnip_progress_list_remove(lists[i], NULL, ep->cm_nic);
    }
    return rc;
}

void gnip_ep_set_allowed(struct gnip_ep *ep)
{
    uint64_t missing = 0;

    if (ep->send_cq == NULL)
        missing = (ep->send_cntr == NULL ? FI_SEND : 0) | (ep->write_cntr == NULL ? FI_WRITE : 0) |
                  (ep->read_cntr == NULL ? FI_READ : 0);
    if (ep->recv_cq == NULL && ep->recv_cntr == NULL)
        missing |= FI_RECV;
    ep->allowed = (ep->caps & ~missing) | FI_INJECT;
}

/* Checks the objects that the directions of its capabilities need. */
static int complete(const struct gnip_ep *ep, uint64_t directions, bool strict)
{
    if (ep->type == FI_EP_MSG && ep->eq == NULL)
        return -FI_ENOEQ;
    if (ep->type != FI_EP_MSG && ep->av == NULL && strict)
        return -FI_ENOAV;
    if (ep->nic == NULL) /* no STX was bound */
        return -FI_EINVAL;
    if (!strict)
        return 0;
    if ((directions & FI_TRANSMIT) && (ep->caps & (FI_SEND | FI_READ | FI_WRITE)) &&
        ep->send_cq == NULL && ep->send_cntr == NULL && ep->read_cntr == NULL &&
        ep->write_cntr == NULL)
        return -FI_ENOCQ;
    if ((directions & FI_RECV) && (ep->caps & FI_RECV) && ep->recv_cq == NULL &&
        ep->recv_cntr == NULL)
        return -FI_ENOCQ;
    return 0;
}

/* Buckets of a store: many for GNI_HASH_TAG_IMPL; a few for tagged messages cost nothing. */
#define HASHED_BITS 7
#define TAGGED_BITS 4

static int make_stores(struct gnip_ep *ep)
{
    if (ep->tagged == NULL)
        ep->tagged = gnip_match_new(ep->hashed ? HASHED_BITS : TAGGED_BITS, ep->directed);
    if (ep->untagged == NULL)
        ep->untagged = gnip_match_new(ep->hashed ? HASHED_BITS : 0, ep->directed);
    return ep->tagged == NULL || ep->untagged == NULL ? -FI_ENOMEM : 0;
}

static int enable_direction(struct gnip_ep *ep, uint64_t direction)
{
    int rc = join_progress_lists(ep, direction);

    if (rc != 0)
        return rc;
    gnip_lock(&ep->lock);
    if (direction == FI_TRANSMIT) {
        ep->tx_flags |= ep->tx_selective ? 0 : FI_COMPLETION;
        ep->tx_enabled = true;
    } else {
        ep->rx_flags |= ep->rx_selective ? 0 : FI_COMPLETION;
        ep->rx_enabled = true;
    }
    gnip_unlock(&ep->lock);
    return 0;
}

/* The other direction could not be enabled: the call has no effect. */
static void disable_transmit(struct gnip_ep *ep)
{
    gnip_lock(&ep->lock);
    ep->tx_enabled = false;
    gnip_unlock(&ep->lock);
    leave_progress_lists(ep, FI_TRANSMIT);
}

static bool has_descriptor(const struct gnip_waitable *waitable)
{
    for (; waitable != NULL; waitable = waitable->set)
        if (waitable->event >= 0)
            return true;
    return false;
}

static bool is_slept_on(const struct gnip_ep *ep)
{
    const struct gnip_cntr *cntrs[] = {ep->send_cntr, ep->write_cntr, ep->read_cntr};
    unsigned i;

    for (i = 0; i < sizeof cntrs / sizeof cntrs[0]; i++)
        if (cntrs[i] != NULL && has_descriptor(&cntrs[i]->wait))
            return true;
    return ep->send_cq != NULL && has_descriptor(&ep->send_cq->wait);
}

int gnip_ep_enable(struct gnip_ep *ep, uint64_t directions, bool strict)
{
    int rc;

    if (((directions & FI_TRANSMIT) && ep->tx_enabled) ||
        ((directions & FI_RECV) && ep->rx_enabled))
        return -FI_EOPBADSTATE;
    rc = complete(ep, directions, strict || ep->domain->fabric->strict);
    gnip_ep_set_allowed(ep);
    ep->slept_on = is_slept_on(ep);
    ep->checks = port_checks();
    if (rc == 0)
        rc = make_stores(ep);
    if (rc == 0)
        rc = gnip_mr_prepare(ep);
    if (rc == 0)
        rc = gnip_cm_nic_enable(ep->cm_nic);
    if (rc == 0 && ep->eq != NULL)
        gnip_watch_begin(ep->nic);
    if (rc == 0 && (directions & FI_TRANSMIT))
        rc = enable_direction(ep, FI_TRANSMIT);
    if (rc == 0 && (directions & FI_RECV)) {
        rc = enable_direction(ep, FI_RECV);
        if (rc != 0 && (directions & FI_TRANSMIT))
            disable_transmit(ep);
    }
    return rc;
}

/* ---- closing --------------------------------------------------------------------------------- */

static void unbind(struct gnip_ep *ep)
{
    struct gnip_cntr *cntrs[] = {ep->send_cntr, ep->recv_cntr,   ep->write_cntr,
                                 ep->read_cntr, ep->rwrite_cntr, ep->rread_cntr};
    unsigned i;

    for (i = 0; i < sizeof cntrs / sizeof cntrs[0]; i++)
        if (cntrs[i] != NULL)
            gnip_unref(&cntrs[i]->refs);
    if (ep->send_cq != NULL)
        gnip_unref(&ep->send_cq->refs);
    if (ep->recv_cq != NULL)
        gnip_unref(&ep->recv_cq->refs);
    if (ep->av != NULL)
        gnip_unref(&ep->av->refs);
    if (ep->eq != NULL) {
        gnip_eq_forget(ep->eq, &ep->fid.fid);
        gnip_unref(&ep->eq->refs);
    }
    if (ep->stx != NULL)
        gnip_unref(&ep->stx->refs);
}

/*
 * Closes the EP. Queued operations and posted receives end without entries; the function waits for
 * transactions of the NIC. After gnip_vcs_close only the progress lists of its CQs refer to the EP,
 * and they find nothing to do for it.
 */
int gnip_ep_close(struct gnip_ep *ep)
{
    struct gnip_domain *domain = ep->domain;

    if (gnip_busy(&ep->refs))
        return -FI_EBUSY;
    gnip_vcs_drain(ep);
    if (ep->type == FI_EP_MSG)
        gnip_msg_ep_close(ep);
    port_mutex_lock(&domain->lock);
    port_list_remove(&ep->domain_link);
    port_mutex_unlock(&domain->lock);
    if (gnip_unlikely(ep->checks))
        gnip_findings_ep_closes(ep);
    gnip_lock(&ep->lock);
    ep->closing = true;
    gnip_trigger_drop(ep);
    gnip_unlock(&ep->lock);
    gnip_vcs_close(ep);
    gnip_ce_ep_close(ep);
    gnip_cm_nic_remove_ep(ep->cm_nic, ep);
    if (ep->tx_enabled)
        leave_progress_lists(ep, FI_TRANSMIT);
    if (ep->rx_enabled)
        leave_progress_lists(ep, FI_RECV);
    gnip_unexpected_free_all(ep);
    gnip_req_pool_free(ep);
    gnip_bounce_free_all(ep);
    gnip_match_free(ep->tagged);
    gnip_match_free(ep->untagged);
    unbind(ep);
    release(ep);
    gnip_unref(&domain->refs);
    return 0;
}

static int close_ep(struct fid *fid)
{
    PORT_CALL("fi_close");
    return gnip_ep_close(gnip_container(fid, struct gnip_ep, fid.fid));
}

/* ---- the object ------------------------------------------------------------------------------ */

static struct gnip_ep *ep_of(struct fid *fid)
{
    return gnip_ep_of(gnip_container(fid, struct fid_ep, fid));
}

static int bind_ep(struct fid *fid, struct fid *object, uint64_t flags)
{
    PORT_CALL("fi_bind");
    return gnip_ep_bind(ep_of(fid), object, flags, FI_TRANSMIT | FI_RECV);
}

/* The flags contain exactly one direction. */
static int flags_control(struct gnip_ep *ep, uint64_t *flags, bool set)
{
    uint64_t direction, *of;

    if (flags == NULL)
        return -FI_EINVAL;
    direction = *flags & (FI_TRANSMIT | FI_RECV);
    if (direction != FI_TRANSMIT && direction != FI_RECV)
        return -FI_EINVAL;
    of = direction == FI_TRANSMIT ? &ep->tx_flags : &ep->rx_flags;
    gnip_lock(&ep->lock);
    if (!set)
        *flags = *of;
    else if (direction == FI_TRANSMIT)
        *of = gnip_tx_flags(ep, *flags & ~direction);
    else
        *of = (*flags & ~direction) | (ep->rx_selective ? 0 : FI_COMPLETION);
    gnip_unlock(&ep->lock);
    return 0;
}

static int control_ep(struct fid *fid, int command, void *argument)
{
    PORT_CALL("fi_control");
    struct gnip_ep *ep = ep_of(fid);

    switch (command) {
    case FI_ENABLE:
        return gnip_ep_enable(ep, FI_TRANSMIT | FI_RECV, false);
    case FI_GETOPSFLAG:
        return flags_control(ep, argument, false);
    case FI_SETOPSFLAG:
        return flags_control(ep, argument, true);
    default:
        return -FI_ENOSYS;
    }
}

static const struct fi_ops ep_fid_ops = {
    .size = sizeof(struct fi_ops),
    .close = close_ep,
    .bind = bind_ep,
    .control = control_ep,
    .ops_open = gnip_ep_ops,
};

static void set_fids(struct gnip_ep *ep, void *context)
{
    struct fid_ep *fid = &ep->fid;
    bool msg = ep->type == FI_EP_MSG;

    fid->fid.fclass = FI_CLASS_EP;
    fid->fid.context = context;
    fid->fid.ops = (struct fi_ops *)(uintptr_t)&ep_fid_ops;
    fid->ops = (struct fi_ops_ep *)(uintptr_t)&gnip_ep_ops_table;
    fid->cm = (struct fi_ops_cm *)(uintptr_t)(msg ? &gnip_msg_cm_ops : &gnip_ep_cm_ops);
    fid->msg = (struct fi_ops_msg *)(uintptr_t)&gnip_msg_ops;
    fid->rma = (struct fi_ops_rma *)(uintptr_t)&gnip_rma_ops;
    fid->tagged = (struct fi_ops_tagged *)(uintptr_t)&gnip_tagged_ops;
    fid->atomic = (struct fi_ops_atomic *)(uintptr_t)&gnip_atomic_ops;
}
