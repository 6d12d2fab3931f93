/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Virtual interfaces: creation, attributes, the end of a connection. */
#include "via.h"

#include <assert.h>
#include <glib.h>

struct via_vi *via_vi_get(VIP_VI_HANDLE handle)
{
    return via_handle_get(via_process_of(handle), VIA_HANDLE_VI, handle);
}

static bool is_one_bit(VIP_RELIABILITY_LEVEL level)
{
    return level != 0 && (level & (level - 1)) == 0;
}

VIP_RETURN via_attributes_check(const struct via_nic *nic, const VIP_VI_ATTRIBUTES *attributes)
{
    struct via_ptag *ptag;
    unsigned supported = (unsigned)nic->process->devices->network->values[VIA_RELIABILITY];

    if (!is_one_bit(attributes->ReliabilityLevel) ||
        (attributes->ReliabilityLevel & supported) == 0)
        return VIP_INVALID_RELIABILITY_LEVEL;
    if (attributes->MaxTransferSize == 0 || attributes->MaxTransferSize > VIA_TRANSFER_MAX)
        return VIP_INVALID_MTU;
    if (attributes->QoS != NULL)
        return VIP_INVALID_QOS;
    if (!via_ptag_find(nic, attributes->Ptag, &ptag))
        return VIP_INVALID_PTAG;
    return attributes->EnableRdmaRead ? VIP_INVALID_RDMAREAD : VIP_SUCCESS;
}

/* ---- creation -------------------------------------------------------------------------------- */

static void number_vi(struct via_devices *devices, struct via_vi *vi)
{
    if (devices->vi_count == devices->vi_room) {
        devices->vi_room = devices->vi_room * 2 + 64;
        devices->vis = g_renew(struct via_vi *, devices->vis, devices->vi_room);
    }
    vi->number = devices->vi_count;
    devices->vis[devices->vi_count++] = vi;
}

/* The queue of a handle that may be NULL. False: it is none of the NIC's. */
static bool find_cq(const struct via_nic *nic, VIP_CQ_HANDLE handle, struct via_cq **cq)
{
    *cq = handle != NULL ? via_cq_get(handle) : NULL;
    return handle == NULL || (*cq != NULL && (*cq)->nic == nic);
}

VIP_RETURN VipCreateVi(VIP_NIC_HANDLE NicHandle, VIP_VI_ATTRIBUTES *ViAttributes,
                       VIP_CQ_HANDLE SendCQHandle, VIP_CQ_HANDLE RecvCQHandle,
                       VIP_VI_HANDLE *ViHandle)
{
    struct via_nic *nic = via_nic_get(NicHandle);
    struct via_cq *send, *receive;
    struct via_vi *vi;
    VIP_RETURN rc;

    if (nic == NULL || ViAttributes == NULL || ViHandle == NULL ||
        !find_cq(nic, SendCQHandle, &send) || !find_cq(nic, RecvCQHandle, &receive))
        return VIP_INVALID_PARAMETER;
    rc = via_attributes_check(nic, ViAttributes);
    if (rc != VIP_SUCCESS)
        return rc;
    if (nic->vi_count >= (uint32_t)nic->process->devices->network->values[VIA_MAX_VI])
        return VIP_ERROR_RESOURCE;
    vi = g_new0(struct via_vi, 1);
    vi->nic = nic;
    vi->attributes = *ViAttributes;
    via_ptag_find(nic, ViAttributes->Ptag, &vi->ptag);
    via_ptag_use(vi->ptag);
    vi->state = VIP_STATE_IDLE;
    via_queue_init(&vi->send, vi, false, send);
    via_queue_init(&vi->receive, vi, true, receive);
    vi->handle = via_handle_new(nic->process, VIA_HANDLE_VI, vi);
    number_vi(nic->process->devices, vi);
    vi->next = nic->vis;
    nic->vis = vi;
    nic->vi_count++;
    *ViHandle = vi->handle;
    return VIP_SUCCESS;
}

/* Tells the other end of a connection that it is over. */
static void notify_peer(struct via_vi *vi)
{
    if (vi->state != VIP_STATE_CONNECTED || vi->nic->process->devices->ending)
        return;
    via_send_control(vi->nic->process->devices, VIA_DISCONNECT, vi->nic->process->endpoint,
                     vi->peer_endpoint, vi->number, vi->peer, 0, VIP_SUCCESS);
}

void via_vi_free(struct via_vi *vi)
{
    struct via_devices *devices = vi->nic->process->devices;
    struct via_vi **place = &vi->nic->vis;

    notify_peer(vi);
    via_connect_forget(vi);
    via_peer_forget(vi);
    via_queue_free(&vi->send);
    via_queue_free(&vi->receive);
    assert(devices->vis[vi->number] == vi);
    via_ptag_unuse(vi->ptag);
    devices->vis[vi->number] = NULL;
    while (*place != vi)
        place = &(*place)->next;
    *place = vi->next;
    vi->nic->vi_count--;
    via_handle_free(vi->nic->process, vi->handle);
    g_free(vi);
}

VIP_RETURN VipDestroyVi(VIP_VI_HANDLE ViHandle)
{
    struct via_vi *vi = via_vi_get(ViHandle);

    if (vi == NULL)
        return VIP_INVALID_PARAMETER;
    if (vi->state != VIP_STATE_IDLE)
        return VIP_INVALID_STATE;
    if (vi->send.count != 0 || vi->receive.count != 0)
        return VIP_ERROR_RESOURCE; /* descriptors that were not taken back */
    via_vi_free(vi);
    return VIP_SUCCESS;
}

/* ---- attributes ------------------------------------------------------------------------------ */

VIP_RETURN VipQueryVi(VIP_VI_HANDLE ViHandle, VIP_VI_STATE *State, VIP_VI_ATTRIBUTES *ViAttributes,
                      VIP_BOOLEAN *ViSendQEmpty, VIP_BOOLEAN *ViRecvQEmpty)
{
    const struct via_vi *vi = via_vi_get(ViHandle);

    if (vi == NULL || State == NULL || ViAttributes == NULL || ViSendQEmpty == NULL ||
        ViRecvQEmpty == NULL)
        return VIP_INVALID_PARAMETER;
    *State = vi->state;
    *ViAttributes = vi->attributes;
    *ViSendQEmpty = vi->send.count == 0;
    *ViRecvQEmpty = vi->receive.count == 0;
    return VIP_SUCCESS;
}

VIP_RETURN VipSetViAttributes(VIP_VI_HANDLE ViHandle, VIP_VI_ATTRIBUTES *ViAttributes)
{
    struct via_vi *vi = via_vi_get(ViHandle);
    VIP_RETURN rc;

    if (vi == NULL || ViAttributes == NULL)
        return VIP_INVALID_PARAMETER;
    if (vi->state != VIP_STATE_IDLE)
        return VIP_INVALID_STATE;
    rc = via_attributes_check(vi->nic, ViAttributes);
    if (rc != VIP_SUCCESS)
        return rc;
    via_ptag_unuse(vi->ptag);
    via_ptag_find(vi->nic, ViAttributes->Ptag, &vi->ptag);
    via_ptag_use(vi->ptag);
    vi->attributes = *ViAttributes;
    return VIP_SUCCESS;
}

/* ---- the end of a connection ----------------------------------------------------------------- */

void via_vi_break(struct via_vi *vi, bool reported)
{
    if (vi->state != VIP_STATE_CONNECTED)
        return;
    vi->state = VIP_STATE_ERROR;
    vi->era++;
    via_queue_flush(&vi->send);
    via_queue_flush(&vi->receive);
    if (reported)
        via_error(vi->nic, vi, NULL, NULL, VIP_RESOURCE_VI, VIP_ERROR_CONN_LOST);
    via_process_wake(vi->nic->process);
}

VIP_RETURN VipDisconnect(VIP_VI_HANDLE ViHandle)
{
    struct via_vi *vi = via_vi_get(ViHandle);

    if (vi == NULL)
        return VIP_INVALID_PARAMETER;
    if (vi->state != VIP_STATE_CONNECTED && vi->state != VIP_STATE_ERROR)
        return VIP_INVALID_STATE;
    notify_peer(vi);
    via_peer_forget(vi);
    vi->state = VIP_STATE_IDLE;
    vi->era++;
    via_queue_flush(&vi->send);
    via_queue_flush(&vi->receive);
    via_process_wake(vi->nic->process);
    return VIP_SUCCESS;
}
