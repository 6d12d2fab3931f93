/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Completion queues: an entry for each completion of the queues that are attached. */
#include "via.h"

#include <assert.h>
#include <glib.h>

struct via_cq *via_cq_get(VIP_CQ_HANDLE handle)
{
    return via_handle_get(via_process_of(handle), VIA_HANDLE_CQ, handle);
}

VIP_RETURN VipCreateCQ(VIP_NIC_HANDLE NicHandle, VIP_ULONG EntryCount, VIP_CQ_HANDLE *CQHandle)
{
    struct via_nic *nic = via_nic_get(NicHandle);
    struct via_cq *cq;

    if (nic == NULL || EntryCount == 0 || CQHandle == NULL)
        return VIP_INVALID_PARAMETER;
    if (EntryCount > VIA_CQ_ENTRIES_MAX ||
        nic->cq_count >= (uint32_t)nic->process->devices->network->values[VIA_MAX_CQ])
        return VIP_ERROR_RESOURCE;
    cq = g_new0(struct via_cq, 1);
    cq->nic = nic;
    cq->id = sim_new_ids(1);
    cq->room = (uint32_t)EntryCount;
    cq->entries = g_new(struct via_entry, cq->room);
    cq->handle = via_handle_new(nic->process, VIA_HANDLE_CQ, cq);
    cq->next = nic->cqs;
    nic->cqs = cq;
    nic->cq_count++;
    *CQHandle = cq->handle;
    return VIP_SUCCESS;
}

void via_cq_free(struct via_cq *cq)
{
    struct via_cq **place = &cq->nic->cqs;

    while (*place != cq)
        place = &(*place)->next;
    *place = cq->next;
    cq->nic->cq_count--;
    via_handle_free(cq->nic->process, cq->handle);
    g_free(cq->entries);
    g_free(cq);
}

VIP_RETURN VipDestroyCQ(VIP_CQ_HANDLE CQHandle)
{
    struct via_cq *cq = via_cq_get(CQHandle);

    if (cq == NULL)
        return VIP_INVALID_PARAMETER;
    if (cq->users != 0)
        return VIP_ERROR_RESOURCE;
    via_cq_free(cq);
    return VIP_SUCCESS;
}

VIP_RETURN VipResizeCQ(VIP_CQ_HANDLE CQHandle, VIP_ULONG EntryCount)
{
    struct via_cq *cq = via_cq_get(CQHandle);
    struct via_entry *entries;
    uint32_t i;

    if (cq == NULL || EntryCount == 0)
        return VIP_INVALID_PARAMETER;
    if (EntryCount > VIA_CQ_ENTRIES_MAX || EntryCount < cq->count)
        return VIP_ERROR_RESOURCE;
    entries = g_new(struct via_entry, EntryCount);
    for (i = 0; i < cq->count; i++)
        entries[i] = cq->entries[(cq->first + i) % cq->room];
    g_free(cq->entries);
    cq->entries = entries;
    cq->first = 0;
    cq->room = (uint32_t)EntryCount;
    return VIP_SUCCESS;
}

/* ---- notification ---------------------------------------------------------------------------- */

struct call {
    struct via_process *process;
    VIP_CQ_NOTIFY_HANDLER handler;
    void *context, *nic;
    struct via_entry entry;
};

static void run_call(void *arg)
{
    struct call call = *(struct call *)arg;

    call.handler(call.context, call.nic, call.entry.vi, call.entry.receive);
    sim_settle();
    via_thread_over(call.process);
}

static struct via_entry pop(struct via_cq *cq)
{
    struct via_entry entry = cq->entries[cq->first];

    assert(cq->count > 0);
    cq->first = (cq->first + 1) % cq->room;
    cq->count--;
    return entry;
}

static void notify(struct via_cq *cq)
{
    struct call *call;

    if (cq->handler == NULL || cq->count == 0)
        return;
    call = g_new(struct call, 1);
    *call = (struct call){cq->nic->process, cq->handler, cq->context, cq->nic->handle, pop(cq)};
    cq->handler = NULL;
    if (!via_process_thread(cq->nic->process, run_call, call))
        g_free(call);
}

VIP_RETURN VipCQNotify(VIP_CQ_HANDLE CQHandle, VIP_PVOID Context, VIP_CQ_NOTIFY_HANDLER Handler)
{
    struct via_cq *cq = via_cq_get(CQHandle);

    if (cq == NULL || Handler == NULL)
        return VIP_INVALID_PARAMETER;
    if (cq->handler != NULL)
        return VIP_ERROR_RESOURCE;
    cq->handler = Handler;
    cq->context = Context;
    notify(cq);
    return VIP_SUCCESS;
}

/* ---- entries --------------------------------------------------------------------------------- */

void via_cq_push(struct via_cq *cq, struct via_vi *vi, bool receive)
{
    if (cq->count == cq->room) {
        via_error(cq->nic, vi, cq, NULL, VIP_RESOURCE_CQ, VIP_ERROR_VI_OVERRUN);
        return;
    }
    cq->entries[(cq->first + cq->count++) % cq->room] =
        (struct via_entry){.vi = vi->handle, .receive = receive};
    notify(cq);
}

static bool is_ready(const void *what)
{
    return ((const struct via_cq *)what)->count != 0;
}

static VIP_RETURN take(struct via_cq *cq, VIP_VI_HANDLE *vi, VIP_BOOLEAN *receive)
{
    struct via_entry entry = pop(cq);

    *vi = entry.vi;
    *receive = entry.receive;
    return VIP_SUCCESS;
}

VIP_RETURN VipCQDone(VIP_CQ_HANDLE CQHandle, VIP_VI_HANDLE *ViHandle, VIP_BOOLEAN *RecvQueue)
{
    struct via_cq *cq = via_cq_get(CQHandle);
    const struct sim_wait wait = {
        .text = "completion queue of VIA", .what = cq, .id = cq != NULL ? cq->id : 0};

    if (cq == NULL || ViHandle == NULL || RecvQueue == NULL)
        return VIP_INVALID_PARAMETER;
    if (!sim_poll(&wait, is_ready, legacy_service(cq->nic->process->devices->network, VIA_POLL, 1)))
        return VIP_NOT_DONE;
    return take(cq, ViHandle, RecvQueue);
}

VIP_RETURN VipCQWait(VIP_CQ_HANDLE CQHandle, VIP_ULONG Timeout, VIP_VI_HANDLE *ViHandle,
                     VIP_BOOLEAN *RecvQueue)
{
    static const struct sim_wait wait = {.text = "completion queue of VIA"};
    struct via_cq *cq = via_cq_get(CQHandle);
    sim_time_t deadline = via_deadline(Timeout);

    if (cq == NULL || ViHandle == NULL || RecvQueue == NULL)
        return VIP_INVALID_PARAMETER;
    while (cq->count == 0) {
        if (!via_process_wait(cq->nic->process, deadline, &wait))
            return VIP_TIMEOUT;
        cq = via_cq_get(CQHandle); /* another thread may have destroyed it */
        if (cq == NULL)
            return VIP_INVALID_PARAMETER;
    }
    sim_spend(legacy_service(cq->nic->process->devices->network, VIA_WAIT, 1));
    return take(cq, ViHandle, RecvQueue);
}
