/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the receiver's kernel does with a message: it fills a posted receive, or registered memory.
 */
#include "via.h"

#include <assert.h>
#include <string.h>

/* The sender of a message on a reliable service learns its end. */
static void answer(struct via_message *message, uint32_t status)
{
    struct via_vi *vi = via_vi_number(message->devices, message->from);

    if (vi == NULL || vi->era != message->era || !via_is_reliable(vi))
        return;
    via_sent(message, status);
    if (status != 0)
        via_vi_break(vi, true);
}

/* It is not placed. */
static void refuse(struct via_message *message, struct via_vi *vi, uint32_t status)
{
    sim_ledger_settle(&message->entry, SIM_LEDGER_ERROR);
    answer(message, status);
    if (via_is_reliable(vi))
        via_vi_break(vi, true);
}

static void deliver(struct via_message *message)
{
    sim_ledger_deliver(&message->entry, message->length,
                       sim_ledger_digest(message->data, message->length, 0));
    sim_ledger_settle(&message->entry, SIM_LEDGER_OK);
    answer(message, 0);
}

static void no_receive(struct via_message *message, struct via_vi *vi)
{
    message->devices->network->counters.dropped++;
    via_error(vi->nic, vi, NULL, NULL, VIP_RESOURCE_VI, VIP_ERROR_RECVQ_EMPTY);
    refuse(message, vi, VIP_STATUS_REMOTE_DESC_ERROR);
}

/* Ends the first posted receive. */
static void receive_done(struct via_message *message, struct via_vi *vi, uint32_t status)
{
    VIP_DESCRIPTOR *descriptor = vi->receive.open->descriptor;

    if (message->immediate) {
        descriptor->Control.ImmediateData = message->immediate_data;
        status |= VIP_STATUS_IMMEDIATE;
    }
    via_queue_complete(&vi->receive, status,
                       (status & VIP_STATUS_ERROR_MASK) == 0 ? message->length : 0);
}

static void scatter(const struct via_message *message, const VIP_DESCRIPTOR *descriptor)
{
    unsigned count, i;
    const VIP_DATA_SEGMENT *data = via_descriptor_data(descriptor, &count);
    uint64_t at = 0, part;

    for (i = 0; i < count && at < message->length; i++) {
        part = message->length - at < data[i].Length ? message->length - at : data[i].Length;
        memcpy(data[i].Data.Address, message->data + at, part);
        at += part;
    }
    assert(at == message->length);
}

static void place_send(struct via_message *message, struct via_vi *vi)
{
    uint32_t status;
    uint64_t room;

    if (vi->receive.open == NULL) {
        no_receive(message, vi);
        return;
    }
    status = via_descriptor_check(vi, vi->receive.open, true, &room);
    if (status == 0 && message->length > room)
        status = VIP_STATUS_LENGTH_ERROR;
    if (status != 0) {
        receive_done(message, vi, VIP_STATUS_OP_RECEIVE | status);
        refuse(message, vi, VIP_STATUS_REMOTE_DESC_ERROR);
        return;
    }
    scatter(message, vi->receive.open->descriptor);
    receive_done(message, vi, VIP_STATUS_OP_RECEIVE);
    deliver(message);
}

static void place_rdma(struct via_message *message, struct via_vi *vi)
{
    const struct via_region *region = via_region_get(vi->nic, message->remote_handle);

    if (!vi->attributes.EnableRdmaWrite || region == NULL || !region->write ||
        !via_region_covers(vi->nic, message->remote_handle, vi->ptag, message->remote_address,
                           message->length)) {
        via_error(vi->nic, vi, NULL, NULL, VIP_RESOURCE_VI, VIP_ERROR_RDMAW_PROT);
        refuse(message, vi, VIP_STATUS_RDMA_PROT_ERROR);
        return;
    }
    if (message->immediate && vi->receive.open == NULL && via_is_reliable(vi)) {
        no_receive(message, vi);
        return;
    }
    /* The address came as a number. */
    if (message->length !=
        0) /* NOLINTNEXTLINE(performance-no-int-to-ptr): descriptors have numbers */
        memcpy((void *)(uintptr_t)message->remote_address, message->data, message->length);
    if (message->immediate && vi->receive.open != NULL) {
        receive_done(message, vi, VIP_STATUS_OP_REMOTE_RDMA_WRITE);
    } else if (message->immediate) {
        message->devices->network->counters.dropped++;
        via_error(vi->nic, vi, NULL, NULL, VIP_RESOURCE_VI, VIP_ERROR_RECVQ_EMPTY);
    }
    deliver(message);
}

void via_place(struct via_message *message)
{
    struct via_vi *vi = via_vi_number(message->devices, message->to);

    if (vi == NULL || vi->state != VIP_STATE_CONNECTED || vi->peer != message->from) {
        sim_ledger_settle(&message->entry, SIM_LEDGER_ABANDONED);
        answer(message, VIP_STATUS_TRANSPORT_ERROR);
        return;
    }
    if (message->lost) {
        via_error(vi->nic, vi, NULL, NULL, VIP_RESOURCE_VI, VIP_ERROR_RDMAW_ABORT);
        sim_ledger_settle(&message->entry, SIM_LEDGER_ERROR);
        return;
    }
    if (message->kind == VIA_RDMA_WRITE)
        place_rdma(message, vi);
    else
        place_send(message, vi);
}
