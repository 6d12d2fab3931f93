/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Endpoints: the peers of a communication domain. */
#include "api/findings.h"
#include "api/front.h"

#include <assert.h>

#define PE_ADDR_BITS 18

static bool ep_ok(const struct gni_ep *ep)
{
    return aries_handle_ok(ep, ARIES_MAGIC_EP);
}

static void release_all(struct gni_nic *nic);

gni_return_t GNI_EpCreate(gni_nic_handle_t nic_hndl, gni_cq_handle_t src_cq_hndl,
                          gni_ep_handle_t *ep_hndl)
{
    struct aries_process *process;
    struct gni_ep *ep;

    if (!aries_handle_ok(nic_hndl, ARIES_MAGIC_NIC) || ep_hndl == NULL)
        return GNI_RC_INVALID_PARAM;
    if (src_cq_hndl != NULL &&
        (!aries_handle_ok(src_cq_hndl, ARIES_MAGIC_CQ) || src_cq_hndl->nic != nic_hndl))
        return GNI_RC_INVALID_PARAM;
    process = nic_hndl->process;
    if (process->ep_slab == NULL)
        process->ep_slab = aries_ep_slab_create(&process->fabric->objects->eps, aries_smsg_ep_free);
    ep = aries_ep_slab_new(process->ep_slab);
    if (ep == NULL)
        return GNI_RC_ERROR_NOMEM;
    ep->magic = ARIES_MAGIC_EP;
    ep->remote_addr = ep->remote_id = ARIES_UNBOUND;
    ep->refs = 1;
    ep->id = sim_new_ids(2);
    ep->nic = nic_hndl;
    ep->cq = src_cq_hndl;
    aries_list_init(&ep->return_link);
    aries_list_add(&nic_hndl->eps, &ep->nic_link);
    aries_nic_on_detach(nic_hndl, ARIES_DETACH_CONNECTIONS, release_all);
    if (ep->cq != NULL) {
        ep->cq->ep_count++;
        aries_cq_ref(ep->cq);
    }
    *ep_hndl = ep;
    sim_spend(aries_timing_of(nic_hndl)->cold_ep_create);
    sim_idle_break();
    return GNI_RC_SUCCESS;
}

gni_return_t GNI_EpSetEventData(gni_ep_handle_t ep_hndl, uint32_t local_event,
                                uint32_t remote_event)
{
    if (!ep_ok(ep_hndl))
        return GNI_RC_INVALID_PARAM;
    ep_hndl->local_event = local_event;
    ep_hndl->remote_event = remote_event;
    sim_idle_break();
    return GNI_RC_SUCCESS;
}

gni_return_t GNI_EpBind(gni_ep_handle_t ep_hndl, uint32_t remote_addr, uint32_t remote_id)
{
    if (!ep_ok(ep_hndl) || aries_ep_bound(ep_hndl))
        return GNI_RC_INVALID_PARAM;
    if (ep_hndl->cq != NULL && ep_hndl->cq->has_mr)
        return GNI_RC_INVALID_PARAM;
    /*
     * An unbound endpoint has all ones in both fields. The driver accepts these values here, and
     * the endpoint stays unbound.
     */
    if (remote_addr >> PE_ADDR_BITS != 0 &&
        !(remote_addr == ARIES_UNBOUND && remote_id == ARIES_UNBOUND))
        return GNI_RC_INVALID_PARAM;
    ep_hndl->remote_addr = remote_addr;
    ep_hndl->remote_id = remote_id;
    ep_hndl->local_event = remote_id;
    ep_hndl->remote_event = ep_hndl->nic->inst_id;
    ep_hndl->remote = aries_pe_resolve(ep_hndl->nic, remote_addr);
    if (ep_hndl->cq != NULL)
        ep_hndl->cq->has_source = true;
    sim_spend(aries_timing_of(ep_hndl->nic)->cold_ep_bind);
    sim_idle_break();
    return GNI_RC_SUCCESS;
}

gni_return_t GNI_EpIdle(gni_ep_handle_t ep_hndl)
{
    if (!ep_ok(ep_hndl))
        return GNI_RC_INVALID_PARAM;
    sim_spend(aries_timing_of(ep_hndl->nic)->cold_ep_bind);
    /* Only another thread can have made an idle endpoint busy. */
    if (ep_hndl->outstanding > 0 || ep_hndl->connected || ep_hndl->datagram != NULL ||
        ep_hndl->nic->process->fibers_count > 1)
        sim_settle();
    if (ep_hndl->outstanding > 0 || aries_datagram_pending(ep_hndl))
        return GNI_RC_NOT_DONE;
    return GNI_RC_SUCCESS;
}

static void unbind(struct gni_ep *ep)
{
    aries_smsg_ep_release(ep);
    ep->remote_addr = ep->remote_id = ARIES_UNBOUND;
    ep->remote = NULL;
    ep->ce_child_type = GNI_CE_CHILD_UNUSED;
}

gni_return_t GNI_EpUnbind(gni_ep_handle_t ep_hndl)
{
    gni_return_t idle = GNI_EpIdle(ep_hndl);

    if (idle != GNI_RC_SUCCESS)
        return idle;
    unbind(ep_hndl);
    sim_idle_break();
    return GNI_RC_SUCCESS;
}

static void ep_release(struct gni_ep *ep)
{
    struct aries_list *link;

    /* The transactions continue, and GNI_GetCompleted accepts their events. */
    for (link = ep->nic->cqs.next; ep->outstanding > 0 && link != &ep->nic->cqs; link = link->next)
        aries_requests_forget(sim_container_of(link, struct gni_cq, nic_link), ep);
    aries_datagrams_ep_release(ep);
    unbind(ep);
    if (ep->cq != NULL) {
        assert(ep->cq->ep_count > 0);
        ep->cq->ep_count--;
        aries_cq_unref(ep->cq);
    }
    aries_list_remove(&ep->nic_link);
    ep->magic = 0;
    ep->datagram = ep->nic->process->ep_slab;
    aries_ep_unref(ep);
}

void aries_ep_unref(struct gni_ep *ep)
{
    assert(ep->refs > 0);
    if (--ep->refs > 0)
        return;
    aries_smsg_ep_free(ep);
    aries_ep_slab_delete(ep->datagram, ep);
}

static void release_all(struct gni_nic *nic)
{
    while (!aries_list_empty(&nic->eps))
        ep_release(sim_container_of(nic->eps.next, struct gni_ep, nic_link));
}

gni_return_t GNI_EpDestroy(gni_ep_handle_t ep_hndl)
{
    if (!ep_ok(ep_hndl))
        return GNI_RC_INVALID_PARAM;
    sim_settle();
    sim_idle_break();
    aries_findings_ep_destroyed(ep_hndl);
    aries_findings_datagrams(ep_hndl->nic, ep_hndl);
    ep_release(ep_hndl);
    return GNI_RC_SUCCESS;
}
