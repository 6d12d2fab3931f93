/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Work queues: descriptors are posted, complete in the order of posting, and are taken back. */
#include "via.h"

#include <assert.h>
#include <glib.h>

void via_queue_init(struct via_queue *queue, struct via_vi *vi, bool receive, struct via_cq *cq)
{
    *queue = (struct via_queue){.vi = vi, .receive = receive, .cq = cq, .id = sim_new_ids(1)};
    if (cq != NULL)
        cq->users++;
}

static VIP_DESCRIPTOR *pop(struct via_queue *queue)
{
    struct via_work *work = queue->first;
    VIP_DESCRIPTOR *descriptor = work->descriptor;

    assert(queue->count > 0);
    queue->first = work->next;
    if (queue->open == work)
        queue->open = work->next;
    if (queue->first == NULL)
        queue->last = NULL;
    queue->count--;
    g_free(work);
    return descriptor;
}

void via_queue_free(struct via_queue *queue)
{
    while (queue->first != NULL)
        pop(queue);
    if (queue->cq != NULL) {
        assert(queue->cq->users > 0);
        queue->cq->users--;
    }
}

/* ---- completion ------------------------------------------------------------------------------ */

struct call {
    struct via_process *process;
    VIP_VI_NOTIFY_HANDLER handler;
    void *context, *nic, *vi;
    VIP_DESCRIPTOR *descriptor;
};

static void run_call(void *arg)
{
    struct call call = *(struct call *)arg;

    call.handler(call.context, call.nic, call.vi, call.descriptor);
    sim_settle();
    via_thread_over(call.process);
}

/* The handler that waits, if any, gets the first descriptor. */
static void notify(struct via_queue *queue)
{
    struct via_vi *vi = queue->vi;
    struct call *call;

    if (queue->handler == NULL || queue->first == NULL || !queue->first->done)
        return;
    call = g_new(struct call, 1);
    *call = (struct call){vi->nic->process, queue->handler, queue->context,
                          vi->nic->handle,  vi->handle,     pop(queue)};
    queue->handler = NULL;
    if (!via_process_thread(vi->nic->process, run_call, call))
        g_free(call);
}

void via_queue_complete(struct via_queue *queue, uint32_t status, uint64_t bytes)
{
    struct via_work *work = queue->open;

    assert(work != NULL && !work->done && (status & VIP_STATUS_DONE) == 0);
    work->done = true;
    queue->open = work->next;
    if (queue->receive)
        work->descriptor->Control.Length = (uint32_t)bytes;
    work->descriptor->Control.Status = status | VIP_STATUS_DONE;
    if (queue->cq != NULL)
        via_cq_push(queue->cq, queue->vi, queue->receive);
    notify(queue);
    via_process_wake(queue->vi->nic->process);
}

static uint32_t operation(const struct via_queue *queue, const VIP_DESCRIPTOR *descriptor)
{
    if (queue->receive)
        return VIP_STATUS_OP_RECEIVE;
    return (descriptor->Control.Control & VIP_CONTROL_OP_MASK) == VIP_CONTROL_OP_RDMAWRITE
               ? VIP_STATUS_OP_RDMA_WRITE
               : VIP_STATUS_OP_SEND;
}

void via_queue_flush(struct via_queue *queue)
{
    while (queue->open != NULL)
        via_queue_complete(
            queue, operation(queue, queue->open->descriptor) | VIP_STATUS_DESC_FLUSHED_ERROR, 0);
}

/* ---- posting --------------------------------------------------------------------------------- */

const VIP_DATA_SEGMENT *via_descriptor_data(const VIP_DESCRIPTOR *descriptor, unsigned *count)
{
    const VIP_DATA_SEGMENT *first =
        (const VIP_DATA_SEGMENT *)((const char *)descriptor + sizeof(VIP_CONTROL_SEGMENT));
    bool rdma = (descriptor->Control.Control & VIP_CONTROL_OP_MASK) != VIP_CONTROL_OP_SENDRECV;

    *count = descriptor->Control.SegCount - (rdma && descriptor->Control.SegCount != 0);
    return first + rdma;
}

static bool format_is_valid(const VIP_DESCRIPTOR *descriptor, bool receive)
{
    unsigned control = descriptor->Control.Control;
    unsigned op = control & VIP_CONTROL_OP_MASK;

    if ((control & ~(VIP_CONTROL_OP_MASK | VIP_CONTROL_IMMEDIATE | VIP_CONTROL_QFENCE)) != 0 ||
        descriptor->Control.Reserved != 0 || descriptor->Control.SegCount > VIA_SEGMENTS_MAX)
        return false;
    if (receive)
        return op == VIP_CONTROL_OP_SENDRECV;
    return op == VIP_CONTROL_OP_SENDRECV ||
           (op == VIP_CONTROL_OP_RDMAWRITE && descriptor->Control.SegCount >= 1);
}

uint32_t via_descriptor_check(const struct via_vi *vi, const struct via_work *work, bool receive,
                              uint64_t *bytes)
{
    const VIP_DESCRIPTOR *descriptor = work->descriptor;
    const VIP_DATA_SEGMENT *data;
    unsigned count, i;

    *bytes = 0;
    if (!via_region_covers(vi->nic, work->handle, vi->ptag, (uint64_t)(uintptr_t)descriptor,
                           sizeof(VIP_CONTROL_SEGMENT)))
        return VIP_STATUS_PROTECTION_ERROR;
    if (!format_is_valid(descriptor, receive))
        return VIP_STATUS_FORMAT_ERROR;
    if (!via_region_covers(vi->nic, work->handle, vi->ptag, (uint64_t)(uintptr_t)descriptor,
                           sizeof(VIP_CONTROL_SEGMENT) +
                               descriptor->Control.SegCount * sizeof(VIP_DATA_SEGMENT)))
        return VIP_STATUS_PROTECTION_ERROR;
    data = via_descriptor_data(descriptor, &count);
    for (i = 0; i < count; i++) {
        *bytes += data[i].Length;
        if (data[i].Length != 0 && !via_region_covers(vi->nic, data[i].Handle, vi->ptag,
                                                      data[i].Data.AddressBits, data[i].Length))
            return VIP_STATUS_PROTECTION_ERROR;
    }
    if (!receive &&
        (*bytes != descriptor->Control.Length || *bytes > vi->attributes.MaxTransferSize))
        return VIP_STATUS_LENGTH_ERROR;
    return 0;
}

static VIP_RETURN post(VIP_VI_HANDLE handle, VIP_DESCRIPTOR *descriptor, VIP_MEM_HANDLE memory,
                       bool receive)
{
    struct via_vi *vi = via_vi_get(handle);
    const struct legacy_network *network;
    struct via_queue *queue;
    struct via_work *work;

    if (vi == NULL || descriptor == NULL || (uintptr_t)descriptor % VIP_DESCRIPTOR_ALIGNMENT != 0)
        return VIP_INVALID_PARAMETER;
    network = vi->nic->process->devices->network;
    queue = receive ? &vi->receive : &vi->send;
    if (queue->count >= (uint32_t)network->values[VIA_MAX_DESCRIPTORS])
        return VIP_ERROR_RESOURCE;
    sim_spend(legacy_service(network, receive ? VIA_POST_RECEIVE : VIA_POST, 1));
    sim_settle();
    vi = via_vi_get(handle);
    if (vi == NULL) /* its process went meanwhile */
        return VIP_INVALID_PARAMETER;
    work = g_new0(struct via_work, 1);
    work->descriptor = descriptor;
    work->handle = memory;
    descriptor->Control.Status = 0;
    if (queue->last != NULL)
        queue->last->next = work;
    else
        queue->first = work;
    queue->last = work;
    if (queue->open == NULL)
        queue->open = work;
    queue->count++;
    if (vi->state == VIP_STATE_ERROR || (!receive && vi->state != VIP_STATE_CONNECTED))
        via_queue_flush(queue);
    else if (!receive)
        via_send(vi, work);
    return VIP_SUCCESS;
}

VIP_RETURN VipPostSend(VIP_VI_HANDLE ViHandle, VIP_DESCRIPTOR *DescriptorPtr,
                       VIP_MEM_HANDLE MemoryHandle)
{
    return post(ViHandle, DescriptorPtr, MemoryHandle, false);
}

VIP_RETURN VipPostRecv(VIP_VI_HANDLE ViHandle, VIP_DESCRIPTOR *DescriptorPtr,
                       VIP_MEM_HANDLE MemoryHandle)
{
    return post(ViHandle, DescriptorPtr, MemoryHandle, true);
}

/* ---- taking back ----------------------------------------------------------------------------- */

/* A queue that stays empty as its VI is in error has nothing to wait for. */
static bool is_ready(const void *what)
{
    const struct via_queue *queue = what;

    if (queue->first != NULL)
        return queue->first->done;
    return queue->vi->state == VIP_STATE_ERROR;
}

static VIP_RETURN take(struct via_queue *queue, VIP_DESCRIPTOR **descriptor)
{
    *descriptor = queue->first != NULL ? pop(queue) : NULL;
    if (*descriptor == NULL || ((*descriptor)->Control.Status & VIP_STATUS_ERROR_MASK) != 0)
        return VIP_DESCRIPTOR_ERROR;
    return VIP_SUCCESS;
}

static struct via_queue *queue_of(VIP_VI_HANDLE handle, bool receive)
{
    struct via_vi *vi = via_vi_get(handle);

    if (vi == NULL)
        return NULL;
    return receive ? &vi->receive : &vi->send;
}

static VIP_RETURN poll(struct via_queue *queue, VIP_DESCRIPTOR **descriptor)
{
    const struct sim_wait wait = {
        .text = "a queue of VIA", .what = queue, .id = queue != NULL ? queue->id : 0};

    if (queue == NULL || descriptor == NULL)
        return VIP_INVALID_PARAMETER;
    if (!sim_poll(&wait, is_ready,
                  legacy_service(queue->vi->nic->process->devices->network, VIA_POLL, 1)))
        return VIP_NOT_DONE;
    return take(queue, descriptor);
}

VIP_RETURN VipSendDone(VIP_VI_HANDLE ViHandle, VIP_DESCRIPTOR **DescriptorPtr)
{
    return poll(queue_of(ViHandle, false), DescriptorPtr);
}

VIP_RETURN VipRecvDone(VIP_VI_HANDLE ViHandle, VIP_DESCRIPTOR **DescriptorPtr)
{
    return poll(queue_of(ViHandle, true), DescriptorPtr);
}

/* Completions of a queue that is attached to a completion queue are waited for there. */
static VIP_RETURN wait_for(VIP_VI_HANDLE handle, bool receive, VIP_ULONG timeout,
                           VIP_DESCRIPTOR **descriptor)
{
    static const struct sim_wait sending = {.text = "the send queue of a VI"};
    static const struct sim_wait receiving = {.text = "the receive queue of a VI"};
    struct via_queue *queue = queue_of(handle, receive);
    sim_time_t deadline = via_deadline(timeout);

    if (queue == NULL || descriptor == NULL)
        return VIP_INVALID_PARAMETER;
    if (queue->cq != NULL)
        return VIP_ERROR_RESOURCE;
    while (!is_ready(queue)) {
        if (!via_process_wait(queue->vi->nic->process, deadline, receive ? &receiving : &sending))
            return VIP_TIMEOUT;
        queue = queue_of(handle, receive);
        if (queue == NULL)
            return VIP_INVALID_PARAMETER;
    }
    sim_spend(legacy_service(queue->vi->nic->process->devices->network, VIA_WAIT, 1));
    return take(queue, descriptor);
}

VIP_RETURN VipSendWait(VIP_VI_HANDLE ViHandle, VIP_ULONG Timeout, VIP_DESCRIPTOR **DescriptorPtr)
{
    return wait_for(ViHandle, false, Timeout, DescriptorPtr);
}

VIP_RETURN VipRecvWait(VIP_VI_HANDLE ViHandle, VIP_ULONG Timeout, VIP_DESCRIPTOR **DescriptorPtr)
{
    return wait_for(ViHandle, true, Timeout, DescriptorPtr);
}

/* ---- notification, once ---------------------------------------------------------------------- */

static VIP_RETURN set_handler(struct via_queue *queue, void *context, VIP_VI_NOTIFY_HANDLER handler)
{
    if (queue == NULL || handler == NULL)
        return VIP_INVALID_PARAMETER;
    if (queue->handler != NULL || queue->cq != NULL)
        return VIP_ERROR_RESOURCE;
    queue->handler = handler;
    queue->context = context;
    notify(queue);
    return VIP_SUCCESS;
}

VIP_RETURN VipSendNotify(VIP_VI_HANDLE ViHandle, VIP_PVOID Context, VIP_VI_NOTIFY_HANDLER Handler)
{
    return set_handler(queue_of(ViHandle, false), Context, Handler);
}

VIP_RETURN VipRecvNotify(VIP_VI_HANDLE ViHandle, VIP_PVOID Context, VIP_VI_NOTIFY_HANDLER Handler)
{
    return set_handler(queue_of(ViHandle, true), Context, Handler);
}
