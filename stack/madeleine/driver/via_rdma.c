/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Link 2 of VIA: the receiver registers its blocks and sends an array of their addresses, the
 * sender writes into them in pieces of at most 32 KiB. The last piece carries immediate data, so
 * that the receiver sees it. An array has 32 blocks; longer groups take several rounds.
 */
#include <string.h>

#include "via.h"

static unsigned round_of(p_mad_buffer_t first)
{
    unsigned count = 0;

    for (; first != NULL && count < MVIA_ROUND; first = first->next)
        count++;
    return count;
}

static p_mad_buffer_t behind(p_mad_buffer_t first, unsigned count)
{
    while (count-- != 0)
        first = first->next;
    return first;
}

/* ---- sending --------------------------------------------------------------------------------- */

static int wait_for_addresses(struct mvia_peer *peer, unsigned count, VIP_ADDRESS_SEGMENT *array)
{
    struct mvia_vi *vi = mad_via_out(peer, 2);
    VIP_DESCRIPTOR *descriptor;
    int error = mad_via_wait(vi, &descriptor);
    struct mvia_frame *frame = (struct mvia_frame *)descriptor;

    if (error == MAD_OK && (descriptor->Control.ImmediateData != count ||
                            descriptor->Control.Length != count * sizeof(*array))) {
        mad_via_lost(peer, MAD_EWIRE, "the peer expects another number of blocks",
                     (int)descriptor->Control.ImmediateData);
        error = MAD_EWIRE;
    }
    if (error == MAD_OK) {
        memcpy(array, frame->data, count * sizeof(*array));
        return mad_via_post_receive(vi, frame);
    }
    if (frame != NULL)
        mad_via_frame_free(peer->channel->adapter, frame);
    return error;
}

/* All of a block; with the last one comes the number of blocks. */
static int write_block(struct mvia_peer *peer, struct mvia_list *list, const mad_buffer_t *buffer,
                       const VIP_ADDRESS_SEGMENT *target, unsigned count)
{
    VIP_DESCRIPTOR *descriptor = (VIP_DESCRIPTOR *)list;
    size_t at = 0, part;
    int error = MAD_OK;

    while (error == MAD_OK && at < buffer->length) {
        bool last = buffer->length - at <= MVIA_TRANSFER_MAX;

        part = last ? buffer->length - at : MVIA_TRANSFER_MAX;
        list->control = (VIP_CONTROL_SEGMENT){
            .SegCount = 2, .Control = VIP_CONTROL_OP_RDMAWRITE, .Length = (VIP_UINT32)part};
        if (last && count != 0) {
            list->control.Control |= VIP_CONTROL_IMMEDIATE;
            list->control.ImmediateData = count;
        }
        descriptor->DS[0].Remote = *target;
        descriptor->DS[0].Remote.Data.AddressBits += at;
        list->data[1].Data.Address = (char *)buffer->buffer + at;
        list->data[1].Handle = mad_via_memory(buffer);
        list->data[1].Length = (VIP_UINT32)part;
        error = mad_via_send_descriptor(mad_via_out(peer, 2), descriptor, list->handle,
                                        last && count != 0);
        at += part;
    }
    return error;
}

static int send_round(struct mvia_peer *peer, struct mvia_list *list, p_mad_buffer_t buffer,
                      unsigned count)
{
    VIP_ADDRESS_SEGMENT array[MVIA_ROUND];
    int error = wait_for_addresses(peer, count, array);

    for (unsigned i = 0; error == MAD_OK && i < count; i++, buffer = buffer->next)
        error = write_block(peer, list, buffer, &array[i], i + 1 == count ? count : 0);
    return error;
}

int mad_via_rdma_send(struct mvia_peer *peer, p_mad_buffer_t first)
{
    struct mvia_list *list = mad_via_list(peer->channel->adapter);
    p_mad_buffer_t buffer = first, each;
    int error = list != NULL ? mad_via_announce(peer) : MAD_ENOMEM;
    bool registered;

    if (error == MAD_OK)
        error = mad_via_register_group(peer, first, false);
    registered = error == MAD_OK;
    while (error == MAD_OK && buffer != NULL) {
        unsigned count = round_of(buffer);

        error = send_round(peer, list, buffer, count);
        buffer = behind(buffer, count);
    }
    for (each = first; error == MAD_OK && each != NULL; each = each->next)
        each->bytes_read = each->bytes_written;
    if (registered)
        mad_via_deregister_group(peer, first);
    if (list != NULL)
        mad_via_list_free(peer->channel->adapter, list);
    return error;
}

/* ---- receiving ------------------------------------------------------------------------------- */

static int receive_round(struct mvia_peer *peer, p_mad_buffer_t buffer, unsigned count)
{
    struct mvia_adapter *adapter = peer->channel->adapter;
    struct mvia_vi *vi = mad_via_in(peer, 2);
    struct mvia_frame *end = mad_via_frame(adapter), *frame = mad_via_frame(adapter);
    VIP_DESCRIPTOR *descriptor = NULL;
    VIP_ADDRESS_SEGMENT *array;
    int error;

    if (end == NULL || frame == NULL)
        return MAD_ENOMEM;
    error = mad_via_post_receive(vi, end);
    array = (VIP_ADDRESS_SEGMENT *)frame->data;
    for (unsigned i = 0; i < count; i++, buffer = buffer->next) {
        memset(&array[i], 0, sizeof(array[i]));
        array[i].Data.Address = buffer->buffer;
        array[i].Handle = mad_via_memory(buffer);
    }
    if (error == MAD_OK)
        error = mad_via_send_frame(vi, frame, count * (uint32_t)sizeof(*array), true, count);
    mad_via_frame_free(adapter, frame);
    if (error != MAD_OK)
        return error;
    error = mad_via_wait(vi, &descriptor);
    if (error == MAD_OK && descriptor->Control.ImmediateData != count) {
        mad_via_lost(peer, MAD_EWIRE, "another number of blocks was written",
                     (int)descriptor->Control.ImmediateData);
        error = MAD_EWIRE;
    }
    if (descriptor != NULL)
        mad_via_frame_free(adapter, end);
    return error;
}

int mad_via_rdma_receive(struct mvia_peer *peer, p_mad_buffer_t first)
{
    p_mad_buffer_t buffer = first, each;
    int error = mad_via_register_group(peer, first, true);
    bool registered = error == MAD_OK;

    while (error == MAD_OK && buffer != NULL) {
        unsigned count = round_of(buffer);

        error = receive_round(peer, buffer, count);
        buffer = behind(buffer, count);
    }
    for (each = first; error == MAD_OK && each != NULL; each = each->next)
        each->bytes_written = each->length;
    if (registered)
        mad_via_deregister_group(peer, first);
    return error;
}
