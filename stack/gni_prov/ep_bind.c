/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* fi_ep_bind: the objects that each direction of an endpoint may have, and the order of calls. */
#include "av.h"
#include "cntr.h"
#include "cq.h"
#include "domain.h"
#include "ep.h"
#include "eq.h"
#include "gnip.h"
#include "nic.h"
#include "sep.h"

#define CNTR_TX (FI_SEND | FI_READ | FI_WRITE)
#define CNTR_RX (FI_RECV | FI_REMOTE_READ | FI_REMOTE_WRITE)

static bool enabled(const struct gnip_ep *ep, uint64_t directions)
{
    return ((directions & FI_TRANSMIT) && ep->tx_enabled) ||
           ((directions & FI_RECV) && ep->rx_enabled);
}

static int bind_cq(struct gnip_ep *ep, struct gnip_cq *cq, uint64_t flags, uint64_t directions)
{
    uint64_t wanted = flags & (FI_TRANSMIT | FI_RECV);
    bool selective = (flags & FI_SELECTIVE_COMPLETION) != 0;

    if (flags & ~(uint64_t)(FI_TRANSMIT | FI_RECV | FI_SELECTIVE_COMPLETION))
        return -FI_EBADFLAGS;
    if (enabled(ep, wanted))
        return -FI_EOPBADSTATE;
    if ((wanted & ~directions) || cq->domain != ep->domain ||
        ((wanted & FI_TRANSMIT) && ep->send_cq != NULL) ||
        ((wanted & FI_RECV) && ep->recv_cq != NULL))
        return -FI_EINVAL;
    if (wanted == 0) /* as libfabric's own provider: nothing is bound */
        return flags == 0 && !ep->domain->fabric->strict ? 0 : -FI_EINVAL;
    if (wanted & FI_TRANSMIT) {
        ep->send_cq = cq;
        ep->tx_selective = selective;
        gnip_ref(&cq->refs);
    }
    if (wanted & FI_RECV) {
        ep->recv_cq = cq;
        ep->rx_selective = selective;
        gnip_ref(&cq->refs);
    }
    return 0;
}

/* The direction of an event may be enabled already: the other context of a scalable endpoint. */
static int bind_event(struct gnip_ep *ep, struct gnip_cntr **place, struct gnip_cntr *cntr,
                      uint64_t direction)
{
    int rc = enabled(ep, direction) ? gnip_ep_join(ep, &cntr->progress) : 0;

    if (rc != 0)
        return rc;
    gnip_ref(&cntr->refs);
    gnip_lock(&ep->lock);
    *place = cntr;
    if (enabled(ep, direction))
        gnip_ep_set_allowed(ep);
    gnip_unlock(&ep->lock);
    return 0;
}

/*
 * A context of a scalable endpoint takes the events of both directions: they are those of the
 * endpoint that both contexts of its index share.
 */
static int bind_cntr(struct gnip_ep *ep, struct gnip_cntr *cntr, uint64_t flags,
                     uint64_t directions)
{
    struct gnip_cntr **places[] = {&ep->send_cntr,  &ep->recv_cntr,  &ep->read_cntr,
                                   &ep->write_cntr, &ep->rread_cntr, &ep->rwrite_cntr};
    static const uint64_t events[] = {FI_SEND,  FI_RECV,        FI_READ,
                                      FI_WRITE, FI_REMOTE_READ, FI_REMOTE_WRITE};
    const unsigned count = sizeof events / sizeof events[0];
    uint64_t wanted = (flags & CNTR_TX ? FI_TRANSMIT : 0) | (flags & CNTR_RX ? FI_RECV : 0);
    unsigned i;
    int rc = 0;

    if (flags & ~(uint64_t)(CNTR_TX | CNTR_RX))
        return -FI_EBADFLAGS;
    if (enabled(ep, wanted & directions))
        return -FI_EOPBADSTATE;
    if (wanted == 0 || cntr->domain != ep->domain)
        return -FI_EINVAL;
    for (i = 0; i < count; i++)
        if ((flags & events[i]) && *places[i] != NULL)
            return -FI_EINVAL;
    for (i = 0; i < count && rc == 0; i++)
        if (flags & events[i])
            rc = bind_event(ep, places[i], cntr, events[i] & CNTR_TX ? FI_TRANSMIT : FI_RECV);
    return rc;
}

static int bind_av(struct gnip_ep *ep, struct gnip_av *av)
{
    if (ep->sep != NULL && ep->av == av) /* both contexts of an index bind it */
        return 0;
    if (enabled(ep, FI_TRANSMIT | FI_RECV))
        return -FI_EOPBADSTATE;
    if (av->domain != ep->domain || ep->av != NULL)
        return -FI_EINVAL;
    ep->av = av;
    gnip_ref(&av->refs);
    return 0;
}

static int bind_eq(struct gnip_ep *ep, struct gnip_eq *eq)
{
    if (enabled(ep, FI_TRANSMIT | FI_RECV))
        return -FI_EOPBADSTATE;
    if (eq->fabric != ep->domain->fabric || ep->eq != NULL)
        return -FI_EINVAL;
    ep->eq = eq;
    gnip_ref(&eq->refs);
    return 0;
}

static int bind_stx(struct gnip_ep *ep, struct gnip_stx *stx)
{
    if (stx->domain != ep->domain || stx->auth != ep->auth)
        return -FI_EINVAL;
    if (!ep->shared_tx || ep->nic != NULL)
        return -FI_EOPBADSTATE;
    ep->stx = stx;
    gnip_ref(&stx->refs);
    ep->nic = stx->nic;
    gnip_nic_ref(ep->nic);
    return 0;
}

int gnip_ep_bind(struct gnip_ep *ep, struct fid *object, uint64_t flags, uint64_t directions)
{
    if (object == NULL)
        return -FI_EINVAL;
    switch (object->fclass) {
    case FI_CLASS_CQ:
        return bind_cq(ep, gnip_container(object, struct gnip_cq, fid.fid), flags, directions);
    case FI_CLASS_CNTR:
        return bind_cntr(ep, gnip_container(object, struct gnip_cntr, fid.fid), flags, directions);
    case FI_CLASS_MR:
        return -FI_ENOSYS;
    case FI_CLASS_AV:
    case FI_CLASS_EQ:
    case FI_CLASS_STX_CTX:
        break;
    default:
        return -FI_EINVAL;
    }
    if (flags != 0)
        return -FI_EBADFLAGS;
    if (object->fclass == FI_CLASS_AV)
        return bind_av(ep, gnip_container(object, struct gnip_av, fid.fid));
    if (object->fclass == FI_CLASS_EQ)
        return bind_eq(ep, gnip_container(object, struct gnip_eq, fid.fid));
    return bind_stx(ep, gnip_container(object, struct gnip_stx, fid.fid));
}
